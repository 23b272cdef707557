"""Tables of `contactsim robots` and `contactsim plugins`; quick, since no robot is built."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from ..common import registry
from ..common.lazy import NamedTuple
from ..common.schemas import is_installed
from ..common.terminal import table as folding
from ..common.terminal import terminal
from ..errors import PluginError

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pydantic.fields import FieldInfo
    from rich.table import Table


def entries() -> tuple[dict[str, Any], list[str]]:
    """Entries of all catalogues of robots by name, and what is wrong with a catalogue that fails."""
    found: dict[str, Any] = {}
    faults = []
    for name in registry.names("robots"):
        try:
            found.update(registry.load("robots", name)())
        except PluginError as error:
            faults.append(str(error))
        except Exception as error:
            faults.append(f"the catalogue '{name}' of contactsim.robots fails with {type(error).__name__}: {error}")
    return found, faults


def robots() -> int:
    """Print what can be run by name: the robots, the models, and the examples of these."""
    from rich.markup import escape

    from ..io.initfile import examples

    found, faults = entries()
    table = folding("name", "root", "joints", "contacts", "demo", "description")
    table.columns[2].justify = table.columns[3].justify = "right"
    for name, entry in found.items():
        demo = "yes" if entry.demo is not None else ""
        contacts = str(len(entry.feet)) if entry.feet else "auto"
        table.add_row(escape(name), entry.root, joint_count(entry.path), contacts, demo, escape(entry.description))
    console = terminal()
    console.print(table)
    for fault in faults:
        console.print(escape(fault), style="red", soft_wrap=True)
    console.print(f"models: {', '.join(registry.names('models'))}", markup=False, soft_wrap=True)
    console.print(f"examples of them: {', '.join(examples())}", markup=False, soft_wrap=True)
    if not is_installed("example-robot-data"):
        console.print("more robots: pip install 'contactsim[robots]'", markup=False)
    return 0


def joint_count(path: Path) -> str:
    """Movable joints of a robot file, without its root; "?" where it cannot be read."""
    try:
        root = ElementTree.parse(path).getroot()
    except (OSError, ElementTree.ParseError):
        return "?"
    joints = root.findall("joint") if root.tag == "robot" else list(root.iter("joint"))
    return str(sum(joint.get("type") != "fixed" for joint in joints))


def plugins() -> int:
    """Print the plugins; one that fails is marked, with its reason below the table."""
    from rich.markup import escape

    found = registry.survey()
    table = folding("group", "name", "distribution", "target", "state")
    for plugin in found:
        state = "[red]fails[/]" if plugin.error else "[green]loads[/]"
        table.add_row(plugin.group, escape(plugin.name), plugin.distribution, escape(plugin.target), state)
    console = terminal()
    console.print(table)
    laws = [plugin.name for plugin in found if plugin.group == "contact_laws" and not plugin.error]
    console.print(parameter_table(laws))
    for plugin in found:
        if plugin.error:
            console.print(escape(plugin.error), style="red", soft_wrap=True)
    return 0


class ParameterRow(NamedTuple):
    """A parameter of a plugin as it is listed: name, default, unit, range and description."""

    name: str
    default: str
    unit: str
    range: str
    description: str


KIND = "kind"  # of a ground: the name by which it was asked for
UNIT = re.compile(r"\s*\[([^\]]*)\]\s*$")
BOUNDS = {"ge": ">=", "gt": ">", "le": "<=", "lt": "<"}


def parameter_rows(schema: type[BaseModel]) -> list[ParameterRow]:
    """The parameters of a schema; the unit is what a description ends with in brackets."""
    rows = []
    for name, field in schema.model_fields.items():
        if name == KIND:
            continue
        text = field.description or ""
        unit = UNIT.search(text)
        bounds = ", ".join(f"{BOUNDS[kind]} {value:g}" for item in field.metadata for kind, value in _bounds(item))
        plain = text[: unit.start()] if unit else text
        rows.append(ParameterRow(name, _default(field), unit[1] if unit else "", bounds, plain))
    return rows


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    number = isinstance(field.default, (int, float)) and not isinstance(field.default, bool)
    return f"{field.default:g}" if number else str(field.default)


def _bounds(item: Any) -> list[tuple[str, float]]:
    return [(kind, value) for kind in BOUNDS if (value := getattr(item, kind, None)) is not None]


def schema_of(group: str, name: str) -> type[BaseModel] | None:
    """The parameters of a plugin, of a ground the keys of its table; None where it has none to tell of."""
    plugin = registry.load(group, name)
    return plugin if group == "terrains" else getattr(plugin, "Parameters", None)


def parameter_table(plugins: list[str], group: str = "contact_laws") -> Table:
    """The parameters of plugins of a group by name; those of laws as `--set law.NAME=VALUE` takes them."""
    from rich.markup import escape

    table = folding("plugin", "parameter", "default", "unit", "range", "description")
    for name in plugins:
        schema = schema_of(group, name)
        for k, row in enumerate(parameter_rows(schema) if schema is not None else ()):
            table.add_row(*(escape(text) for text in (name if k == 0 else "", *row)))
    return table


def parameters(name: str) -> int:
    """Print the parameters of the plugins of one name: what they are called, their defaults and what they mean."""
    groups = [group for group in registry.GROUPS if name in registry.names(group)]
    if not groups:
        raise PluginError(f"no plugin '{name}'; `contactsim plugins` lists them")
    for group in groups:
        schema = schema_of(group, name)
        some = schema is not None and schema.model_fields
        terminal().print(parameter_table([name], group) if some else f"{group}: {name} has no parameters", markup=False)
    return 0
