"""Modes, names and rows of unequal length as a file of a run holds them, and back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..common.arrays import Array
from ..contact.modes import ContactState, Mode, Phase, SystemMode


def coded(value: Any) -> str:
    """Modes, guard names and changes as JSON text."""
    return json.dumps(_encode(value))


def decoded(text: Any) -> Any:
    """The value that `coded` was given; sequences come back as tuples."""
    return _decode(json.loads(str(text)))


def _decode(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_decode(item) for item in value)
    if not isinstance(value, dict):
        return value
    if "@" in value:
        return Mode[value["@"]]
    if "@mode" in value:
        states = (
            ContactState(Mode(m), Phase[p], tuple(d), e, until, tuple(region))
            for m, p, d, e, until, region in (state + [None, []][len(state) - 4 :] for state in value["@mode"])
        )
        latched = tuple((k, tuple(held)) for k, held in value.get("latched", ()))
        return SystemMode(tuple(states), value["redundant"], latched, tuple(value.get("waiting", ())))
    return {key: _decode(item) for key, item in value.items()}


def _encode(value: Any) -> Any:
    """The value as JSON has it: tuples are lists there, and what JSON lacks carries a tag."""
    if isinstance(value, SystemMode):
        contacts = [
            [s.mode.value, s.phase.name, list(s.direction), s.enabled, s.until, list(s.region)] for s in value.contacts
        ]
        mode = {"@mode": contacts, "redundant": value.redundant}
        latches = {"latched": [[k, list(held)] for k, held in value.latched], "waiting": list(value.waiting)}
        return mode | {name: told for name, told in latches.items() if told}
    if isinstance(value, Mode):
        return {"@": value.name}
    if isinstance(value, Mapping):
        return {str(key): _encode(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [_encode(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    return value if value is None or isinstance(value, (bool, int, float, str)) else repr(value)


def texts(values: Iterable[Any]) -> Array:
    """Values as an array of texts."""
    return np.array(list(values), dtype=str)


def stack(mappings: Sequence[Mapping[str, Any]], rank: int) -> tuple[Array, list[str]]:
    """Values of many mappings as (mapping, key[, number]), NaN where a mapping lacks a key; and the keys."""
    keys = list(dict.fromkeys(key for mapping in mappings for key in mapping))
    widest = max((np.size(value) for mapping in mappings for value in mapping.values()), default=1)
    result = np.full((len(mappings), len(keys), widest)[: 2 + rank], np.nan)
    for row, mapping in zip(result, mappings, strict=True):
        for key, value in mapping.items():
            if rank:
                row[keys.index(key), : np.size(value)] = value
            else:
                row[keys.index(key)] = value
    return result, keys


def unstack(values: Array, keys: Iterable[Any]) -> dict[str, Any]:
    """One mapping of those that `stack` was given, without what it lacks."""
    found = {str(key): np.atleast_1d(value) for key, value in zip(keys, values, strict=True)}
    return {key: value[~np.isnan(value)] for key, value in found.items() if not np.all(np.isnan(value))}


def padded(rows: Sequence[Array]) -> Array:
    """Rows of unequal length as a table, padded with NaN."""
    width = max((len(row) for row in rows), default=0)
    table = np.full((len(rows), width), np.nan)
    for line, row in zip(table, rows, strict=True):
        line[: len(row)] = row
    return table


def trimmed(row: Array) -> Array:
    """A state without the NaN that pads it."""
    return row[: len(row) - int(np.argmin(np.isnan(row[::-1])))] if len(row) else row
