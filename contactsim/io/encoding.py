"""Modes, names, rows of unequal length and dense output as a file of a run holds them, and back.

Each step is a Chebyshev polynomial of the chart around a base state.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..common.arrays import Array
from ..contact.modes import ContactState, Mode, Phase, SystemMode
from ..hybrid.manifold import Euclidean, Manifold
from ..hybrid.samples import padded
from ..hybrid.segments import Chain, Polynomial, Segment, polynomial
from ..hybrid.system import HybridSystem
from ..hybrid.trajectory import Trajectory


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


def trimmed(row: Array) -> Array:
    """A state without the NaN that pads it."""
    return row[: len(row) - int(np.argmin(np.isnan(row[::-1])))] if len(row) else row


def dense_group(trajectory: Trajectory) -> dict[str, Any]:
    """The group ``dense`` of a file: the steps of a run, cut where their chart is a chain of polynomials."""
    pieces: list[Polynomial] = []
    owners: list[tuple[int, int, int]] = []
    bases: dict[int, int] = {}
    states: list[Array] = []
    for a, arc in enumerate(trajectory.arcs):
        for s, segment in enumerate(arc.segments):
            if id(segment.base) not in bases:
                bases[id(segment.base)] = len(states)
                states.append(segment.base)
            parts = segment.chart.pieces if isinstance(segment.chart, Chain) else (segment,)
            pieces += [polynomial(part) for part in parts]
            owners += [(a, s, bases[id(segment.base)])] * len(parts)
    arcs, segments, used = np.array(owners).T
    return {
        "t0": ("piece", np.array([piece.t0 for piece in pieces]), {"units": "s"}),
        "t1": ("piece", np.array([piece.t1 for piece in pieces]), {"units": "s"}),
        "arc": ("piece", arcs),
        "segment": ("piece", segments, {"long_name": "number of the step in its arc"}),
        "base": ("piece", used, {"long_name": "state around which the chart is"}),
        "degree": ("piece", np.array([len(piece.coefficients) - 1 for piece in pieces])),
        "tangent_size": ("piece", np.array([piece.coefficients.shape[1] for piece in pieces])),
        "chebyshev": (("piece", "power", "tangent"), _table(pieces), {"long_name": "coefficients of the chart"}),
        "state_size": ("base_state", np.array([len(state) for state in states])),
        "states": (("base_state", "state"), padded(states)),
    }


def _table(pieces: Sequence[Polynomial]) -> Array:
    shapes = np.array([piece.coefficients.shape for piece in pieces])
    table = np.zeros((len(pieces), *shapes.max(axis=0)))
    for row, piece, (count, dim) in zip(table, pieces, shapes, strict=True):
        row[:count, :dim] = piece.coefficients
    return table


def dense_segments(
    dense: Mapping[str, Array], arcs: Mapping[str, Array], modes: Sequence[Hashable], system: HybridSystem
) -> list[list[Segment]]:
    """The steps of each arc, from the groups ``dense`` and ``arcs`` of a file.

    Raises:
        ValueError: the states do not fit the system.
    """
    bases = [state[:size].copy() for state, size in zip(dense["states"], dense["state_size"], strict=True)]
    spaces: dict[int, Manifold | None] = {int(mode): system.space(modes[mode]) for mode in np.unique(arcs["mode"])}
    result: list[dict[int, list[Segment]]] = [{} for _ in arcs["mode"]]
    for k, (arc, step) in enumerate(zip(dense["arc"], dense["segment"], strict=True)):
        t0, t1, base = float(dense["t0"][k]), float(dense["t1"][k]), bases[dense["base"][k]]
        space = spaces[int(arcs["mode"][arc])] or Euclidean(len(base))
        dim = int(dense["tangent_size"][k])
        if (space.size, space.dim) != (len(base), dim):
            raise ValueError(f"its states have {len(base)} numbers, those of the system {space.size}")
        chart = Polynomial(t0, t1, dense["chebyshev"][k][: int(dense["degree"][k]) + 1, :dim])
        result[arc].setdefault(int(step), []).append(Segment(t0, t1, base, chart, space))
    return [[_joined(parts) for _, parts in sorted(steps.items())] for steps in result]


def _joined(parts: list[Segment]) -> Segment:
    first, last = parts[0], parts[-1]
    return first if len(parts) == 1 else Segment(first.t0, last.t1, first.base, Chain(tuple(parts)), first.space)
