"""Plugins by name, found through entry points and imported only when asked for.

The groups ``contactsim.GROUP`` are those of GROUPS. The built-in plugins are registered exactly as a third party's.
The entry point of a group's name in ``contactsim.contracts`` is a function found -> reasons for which what was found
breaks the contract of the group: so every floor judges the plugins that it asks for, and nothing unjudged is loaded.
What these functions have in common follows the registry, and how entry points are read stands at the end.
"""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, lru_cache, reduce
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import find_spec
from pathlib import Path
from types import FunctionType
from typing import Any

from ..errors import PluginError
from .lazy import NamedTuple, dataclass, difflib
from .telling import tell

GROUPS = (
    "contact_laws",
    "event_derivatives",
    "models",
    "controllers",
    "integrators",
    "terrains",
    "robots",
    "viewers",
    "formats",
    "plots",
    "engines",
)
CONTRACTS = "contracts"  # the group in which each of the others has its contract
PREFIX = "contactsim."
FILE = "entry_points.txt"
METADATA = (".dist-info", ".egg-info")  # ends of the folders in which installers leave what they know


@dataclass(frozen=True)
class PluginInfo:
    """One registered plugin: ``error`` is empty when it loads, else the reason why it does not."""

    group: str
    name: str
    target: str
    distribution: str
    error: str = ""


@cache
def _entries() -> Mapping[str, tuple[EntryPoint, ...]]:
    """{group: its entry points by name}; the environment is read once, when a plugin is first asked for."""
    everything = list(entry_points())
    found = {}
    for group in (*GROUPS, CONTRACTS):
        # A project seen under two names (installed and on sys.path) lists the same entry twice: keep one of each.
        unique = {(entry.name, entry.value): entry for entry in everything if entry.group == group}
        found[group] = tuple(sorted(unique.values(), key=lambda entry: entry.name))
    return found


def names(group: str) -> list[str]:
    """Names registered in a group, sorted; nothing is imported."""
    return sorted({entry.name for entry in _entries().get(group, ())})


def load(group: str, name: str) -> Any:
    """Import the plugin `name` of `group` and return what its entry point names.

    Raises:
        PluginError: the name is unknown (the known ones are listed), belongs to two plugins (both are named),
            its import fails (with the reason), or it breaks the contract of its group.
    """
    entry = _entry(group, name)
    plugin = _imported(entry)
    breach = _breach if isinstance(plugin, type | FunctionType) else _first_breach
    if reason := breach(_contract(group), plugin):
        raise PluginError(f"{entry} {reason}")
    return plugin


def _entry(group: str, name: str) -> EntryPoint:
    """The one entry point of a name in a group."""
    found = [entry for entry in _entries().get(group, ()) if entry.name == name]
    if not found:
        known, close = ", ".join(names(group)) or "none", difflib.get_close_matches(name, names(group), n=1)
        perhaps = f", perhaps '{close[0]}'" if close else ""
        raise PluginError(f"no plugin '{name}' in contactsim.{group}{perhaps}; registered there: {known}")
    if len(found) > 1:
        both = " and ".join(f"{entry.value} ({entry.distribution})" for entry in found)
        raise PluginError(f"the name '{name}' in contactsim.{group} is claimed by {both}; uninstall or rename one")
    return found[0]


def _imported(entry: EntryPoint) -> Any:
    """The object that an entry point names."""
    try:
        return entry.load()
    except (Exception, SystemExit) as error:
        reason = f"{type(error).__name__}: {error}"
        raise PluginError(f"{entry} fails on import with {reason}; mend or uninstall it") from error


def _contract(group: str) -> Callable[[Any], Iterable[str]]:
    """The reasons for which something is no plugin of a group; a group that has none of it loads nothing."""
    if group not in names(CONTRACTS):
        raise PluginError(
            f"no contract of contactsim.{group} is installed, so none of its plugins is loaded; install contactsim"
            " anew, from its source with: pip install -e ."
        )
    return _imported(_entry(CONTRACTS, group))  # type: ignore[no-any-return]


def _first_breach(contract: Callable[[Any], Iterable[str]], plugin: Any) -> str:
    """The first reason for which a plugin breaks its contract; empty: it keeps it."""
    return next(iter(contract(plugin)), "")


_breach = lru_cache(maxsize=256)(_first_breach)  # of classes and functions: what does not change is judged once


def load_all(group: str) -> Iterator[tuple[str, Any]]:
    """(name, plugin) of every plugin of a group that loads; of each one that does not, its reason is a warning."""
    for name in names(group):
        try:
            yield name, load(group, name)
        except PluginError as error:
            tell(str(error))


def name_of(group: str, plugin: Any) -> str:
    """The name under which a plugin of a group is registered; empty where it is not."""
    home = getattr(plugin, "__module__", "")  # which is asked first, so that others need not be loaded
    for _, name in sorted({(entry.module != home, entry.name) for entry in _entries().get(group, ())}):
        try:
            if load(group, name) is plugin:
                return name
        except PluginError:  # another plugin is broken
            continue
    return ""


def homes(group: str) -> list[Path]:
    """Folders in which the modules of a group's plugins lie; of a package, the folder it lies in.

    The modules themselves are not imported; those that cannot be found are left out.
    """
    found: dict[Path, None] = {}
    for entry in _entries().get(group, ()):
        try:
            spec = find_spec(entry.module)
        except (ImportError, ValueError):  # a parent package fails
            continue
        if spec is not None and spec.origin:
            file = Path(spec.origin)
            found[file.parent.parent if spec.submodule_search_locations else file.parent] = None
    return list(found)


def survey() -> list[PluginInfo]:
    """Every registered plugin, each loaded once on its own; a broken one is listed with its reason."""
    result = []
    for group in GROUPS:
        for entry in _entries().get(group, ()):
            try:
                load(group, entry.name)
                error = ""
            except PluginError as failure:
                error = str(failure)
            result.append(PluginInfo(group, entry.name, entry.value, entry.distribution, error))
    return result


# --- what contracts have in common ------------------------------------------------------------------------------


def is_kind(found: Any, kind: type) -> bool:
    """True where what was found is a subclass of `kind`."""
    return isinstance(found, type) and issubclass(found, kind)


def keeps_methods(found: Any, kind: type, methods: tuple[str, ...]) -> Iterator[str]:
    """Methods that are missing, and those whose arguments are not the contract's."""
    missing = sorted(getattr(found, "__abstractmethods__", ()))
    if missing:
        yield f"is the class {found.__name__} without {', '.join(missing)}; write what {kind.__name__} leaves open"
    for name in (name for name in methods if hasattr(kind, name)):
        expected = list(inspect.signature(getattr(kind, name)).parameters)[1:]
        own = getattr(found, name)
        if not callable(own) or not takes(own, 1 + len(expected)):
            call = f"{name}({', '.join(expected)})"
            yield f"has a method {found.__name__}.{name} that cannot be called as {call}; mend its arguments"


def takes(function: Any, count: int) -> bool:
    """True for a function that can be called with `count` positional arguments, and where that cannot be told."""
    try:
        inspect.signature(function).bind(*(None for _ in range(count)))
    except TypeError:
        return False
    except ValueError:  # a built-in function that does not tell
        return True
    return True


def has_schema(found: Any, name: str, base: type) -> Iterator[str]:
    """An attribute that is no subclass of the schema that stands for it."""
    if not is_kind(getattr(found, name), base):
        yield f"has {found.__name__}.{name} = {getattr(found, name)!r}; make it a subclass of {base.__name__}"


def makes_itself(found: Any) -> Iterator[str]:
    """A plugin asked for by name alone is made without arguments."""
    try:
        found()
    except Exception as error:
        yield f"cannot be made as {found.__name__}() ({type(error).__name__}: {error}); give each parameter a default"


# --- entry points -----------------------------------------------------------------------------------------------
# They are those of `importlib.metadata.entry_points`, which brings readers of e-mail and of archives along: a quarter
# of what a first run may take. They are read from the folders of `sys.path`; `importlib.metadata` is asked where
# distributions may lie elsewhere: in an archive or an egg, or where a finder of its own tells them.


class EntryPoint(NamedTuple):
    """A name that a distribution registers in a group.

    Attributes:
        group, name: where, without the groups' prefix, and as what.
        value: "module:attribute", or a module alone.
        distribution: its name.
    """

    group: str
    name: str
    value: str
    distribution: str

    @property
    def module(self) -> str:
        """Name of the module in which it lies."""
        return self._parts()[0]

    def __str__(self) -> str:
        return f"the plugin '{self.name}' ({self.value} of {self.distribution})"

    def load(self) -> Any:
        """The object that it names, imported."""
        module, attributes = self._parts()
        return reduce(getattr, filter(None, attributes.split(".")), import_module(module))

    def _parts(self) -> tuple[str, str]:
        module, _, attributes = self.value.partition("[")[0].partition(":")  # without the names of extras
        return module.strip(), attributes.strip()


def entry_points() -> Iterator[EntryPoint]:
    """Those of all distributions; of two of one name the first on `sys.path` counts."""
    known: set[str] = set()
    for distribution, text in _from_folders() if _all_in_folders() else _from_metadata():
        if distribution not in known:
            known.add(distribution)
            yield from _parsed(text, distribution)


def _all_in_folders() -> bool:
    finders = [finder for finder in sys.meta_path if hasattr(finder, "find_distributions")]
    return finders == [PathFinder] and not any(os.path.isfile(path) or path.endswith(".egg") for path in sys.path)


def _from_folders() -> Iterator[tuple[str, str]]:
    """(name as installers compare it, text of its entry points) of each distribution."""
    for path in sys.path:
        try:
            folders = [name for name in os.listdir(path or ".") if name.endswith(METADATA)]
        except OSError:
            continue
        for folder in folders:
            name = folder.rpartition(".")[0].partition("-")[0]
            yield _normal(name), _text(os.path.join(path, folder, FILE))


def _text(file: str) -> str:
    try:
        with open(file, "rb", buffering=0) as stream:
            found = stream.read()
    except OSError:  # most distributions have none
        return ""
    return found.decode() if PREFIX.encode() in found else ""


def _from_metadata() -> Iterator[tuple[str, str]]:
    """The same of all distributions, wherever they lie."""
    from importlib.metadata import distributions

    for found in distributions():
        yield _normal(found.name or "unknown"), found.read_text(FILE) or ""


def _normal(name: str) -> str:
    return name.replace("_", "-").replace(".", "-").lower()


def _parsed(text: str, distribution: str) -> Iterable[EntryPoint]:
    """The lines "name = value" of the sections "[contactsim.GROUP]"."""
    group = ""
    for line in map(str.strip, text.splitlines() if PREFIX in text else ()):
        if line.startswith("["):
            group = line.strip("[]")
        elif line and not line.startswith("#") and group.startswith(PREFIX):
            name, _, value = line.partition("=")
            yield EntryPoint(group.removeprefix(PREFIX), name.strip(), value.strip(), distribution)
