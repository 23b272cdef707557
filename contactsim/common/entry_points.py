"""Entry points of the groups `contactsim.*`, read from the folders of `sys.path`.

They are those of `importlib.metadata.entry_points`, which brings readers of e-mail and of archives along: a quarter of
what a first run may take. It is asked where distributions may lie elsewhere than in folders: in an archive or an egg,
or where a finder of its own tells them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from functools import reduce
from importlib import import_module
from importlib.machinery import PathFinder
from typing import Any, NamedTuple

PREFIX = "contactsim."
FILE = "entry_points.txt"
METADATA = (".dist-info", ".egg-info")  # ends of the folders in which installers leave what they know


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

    def load(self) -> Any:
        """What it names, imported."""
        module, attributes = self._parts()
        return reduce(getattr, filter(None, attributes.split(".")), import_module(module))

    def _parts(self) -> tuple[str, str]:
        module, _, attributes = self.value.partition("[")[0].partition(":")  # without the names of extras
        return module.strip(), attributes.strip()


def entry_points() -> Iterator[EntryPoint]:
    """Those of all distributions; of two of one name the first on `sys.path` counts."""
    known: set[str] = set()
    for distribution, text in _in_folders() if _all_in_folders() else _told():
        if distribution not in known:
            known.add(distribution)
            yield from _parsed(text, distribution)


def _all_in_folders() -> bool:
    finders = [finder for finder in sys.meta_path if hasattr(finder, "find_distributions")]
    return finders == [PathFinder] and not any(os.path.isfile(path) or path.endswith(".egg") for path in sys.path)


def _in_folders() -> Iterator[tuple[str, str]]:
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
        with open(file, encoding="utf-8") as stream:
            return stream.read()
    except OSError:  # most distributions have none
        return ""


def _told() -> Iterator[tuple[str, str]]:
    """The same, from whatever tells of distributions."""
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
