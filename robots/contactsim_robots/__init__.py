"""Robots by name: two hexapods and a biped of our own, and those of example-robot-data where it is installed."""

from __future__ import annotations

from . import biped, compliant_hexapod, example_data, hexapod
from .entry import Demo, RobotEntry

__all__ = ["Demo", "RobotEntry", "catalogue"]


def catalogue() -> dict[str, RobotEntry]:
    """Every robot that is available here, by name; files are found but not read."""
    entries = (hexapod.ENTRY, biped.ENTRY, compliant_hexapod.ENTRY, *example_data.entries())
    return {entry.name: entry for entry in entries}
