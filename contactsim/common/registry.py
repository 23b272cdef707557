"""Plugins by name, found through entry points and imported only when asked for.

The groups ``contactsim.GROUP`` are those of GROUPS. The built-in plugins are registered exactly as a third party's.
The entry point of a group's name in ``contactsim.contracts`` is a function found -> reasons for which what was found
breaks the contract of the group: so every floor judges the plugins that it asks for, and nothing unjudged is loaded.
What these functions have in common stands at the end.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path
from types import FunctionType
from typing import Any

from ..errors import PluginError
from .entry_points import EntryPoint, entry_points

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
        raise PluginError(f"{_told(entry)} {reason}")
    return plugin


def _entry(group: str, name: str) -> EntryPoint:
    """The one entry point of a name in a group."""
    found = [entry for entry in _entries().get(group, ()) if entry.name == name]
    if not found:
        known = ", ".join(names(group)) or "none"
        raise PluginError(f"no plugin '{name}' in contactsim.{group}; registered there: {known}")
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
        raise PluginError(f"{_told(entry)} fails on import with {reason}; mend or uninstall it") from error


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


def _told(entry: EntryPoint) -> str:
    return f"the plugin '{entry.name}' ({entry.value} of {entry.distribution})"


def load_all(group: str) -> Iterator[tuple[str, Any]]:
    """(name, plugin) of every plugin of a group that loads; of each one that does not, its reason is a warning."""
    for name in names(group):
        try:
            yield name, load(group, name)
        except PluginError as error:
            warnings.warn(str(error), stacklevel=3)


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
