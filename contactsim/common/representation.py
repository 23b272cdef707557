"""Short texts for what holds arrays and whole runs: what a prompt, a log and a debugger print."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import fields
from typing import Any

import numpy as np

FEW = 6  # numbers of an array, or entries of a table, that are printed
LONGEST = 80  # characters of any other value


class Brief:
    """Base of dataclasses (with ``repr=False``) whose `repr` is one line, whatever they hold."""

    def __repr__(self) -> str:
        shown = (field.name for field in fields(self) if field.repr)  # type: ignore[arg-type]
        return f"{type(self).__name__}({', '.join(f'{name}={brief(getattr(self, name))}' for name in shown)})"


def brief(value: Any) -> str:
    """A value in one line: arrays and tables with many entries by their size, functions by their name."""
    if isinstance(value, np.ndarray):
        few = value.ndim <= 1 and value.size <= FEW
        return np.array2string(value, precision=6, separator=", ") if few else f"array {value.shape}"
    if isinstance(value, np.generic):
        return repr(value.item())
    if isinstance(value, str):
        return repr(value) if len(value) <= LONGEST else repr(value[: LONGEST - 3] + "...")
    if isinstance(value, (Mapping, Sequence, Set)):
        return _entries(value)
    if callable(value) and hasattr(value, "__qualname__"):
        return str(value.__qualname__)
    text = " ".join(repr(value).split())
    return text if len(text) <= LONGEST else f"{type(value).__name__}(...)"


def _entries(table: Any) -> str:
    text = ""
    if len(table) <= FEW and isinstance(table, Mapping):
        text = "{" + ", ".join(f"{key!r}: {brief(entry)}" for key, entry in table.items()) + "}"
    elif len(table) <= FEW:
        text = "(" + ", ".join(brief(entry) for entry in table) + ")"
    return text if 0 < len(text) <= LONGEST else f"{type(table).__name__} of {len(table)}"


def span(t0: float, t1: float) -> str:
    """A stretch of time in words."""
    return f"{t0:.9g} to {t1:.9g} s"


def counted(count: int, what: str) -> str:
    """A number of things: "1 event", "2 events"."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def with_values(thing: Any, values: Mapping[str, Any]) -> str:
    """A thing by its class and what can be set in it: "Slope(angle=0.05)"."""
    words = [
        f"{name}={value:g}" if isinstance(value, float) else f"{name}={brief(value)}" for name, value in values.items()
    ]
    return f"{type(thing).__name__}({several(words)})"


def several(words: Sequence[str]) -> str:
    """The first of some words, and how many more there are."""
    more = len(words) - FEW
    return ", ".join(words[:FEW]) + (f" and {more} more" if more > 0 else "")
