"""Dense output of a run as a file holds it: each step a Chebyshev polynomial of the chart around a base state."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from ..common.arrays import Array
from ..hybrid.manifold import Euclidean, Manifold
from ..hybrid.polynomials import Polynomial, polynomial
from ..hybrid.segments import Chain, Segment
from ..hybrid.system import HybridSystem
from ..hybrid.trajectory import Trajectory
from .encoding import padded


def pieces(trajectory: Trajectory) -> dict[str, Any]:
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


def segments(
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
