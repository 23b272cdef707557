"""Robots by name: two hexapods and a biped of our own, and those of example-robot-data where it is installed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib import import_module

from .entry import Demo, RobotEntry

__all__ = ["Demo", "RobotEntry", "catalogue"]

OWN = {"hexapod": "hexapod", "biped": "biped", "compliant-hexapod-twin": "compliant_hexapod"}  # and their modules


class Catalogue(Mapping[str, RobotEntry]):
    """Our own robots, each imported where it is asked for, and the others, whose table is read where one is."""

    def __getitem__(self, name: str) -> RobotEntry:
        if name in OWN:
            entry: RobotEntry = import_module(f".{OWN[name]}", __name__).ENTRY
            return entry
        return self._others[name]

    def __iter__(self) -> Iterator[str]:
        yield from OWN
        yield from self._others

    def __len__(self) -> int:
        return len(OWN) + len(self._others)

    @cached_property
    def _others(self) -> dict[str, RobotEntry]:
        from . import example_data

        return {entry.name: entry for entry in example_data.entries()}


def catalogue() -> Catalogue:
    """Every robot that is available here, by name; files are found but not read."""
    return Catalogue()
