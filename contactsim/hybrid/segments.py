"""Accepted steps, with the state anywhere in them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ..common.arrays import Array
from .integrators.dop853 import Interpolant853
from .manifold import Manifold

PARTS = 7  # of the dense output of DOP853


@dataclass(frozen=True)
class Segment:
    """One accepted step: the state at any t in [t0, t1] is base (+) chart(t).

    A fresh step also knows the state at its end and the guards there.

    Attributes:
        start: the state at its start.
        miss: how much of the tolerance of a step its interpolant misses at most, by the estimate of the method.
    """

    t0: float
    t1: float
    base: Array
    chart: Callable[[float], Array]
    space: Manifold
    end: Array | None = None
    guards: Array | None = None
    start: Array | None = None
    miss: float = 1.0

    @property
    def origin(self) -> Array:
        """Chart coordinates of its start (dim,)."""
        return self.chart.y_old if isinstance(self.chart, Interpolant853) else self.chart(self.t0)

    def __call__(self, t: float) -> Array:
        """State (size,) at `t` by the step's own interpolant; at its end that of the step itself."""
        if t == self.t1 and self.end is not None:
            return self.end
        return self.space.integrate(self.base, self.chart(t))


def segments_of(record: Array, space: Manifold) -> list[Segment]:
    """The steps of a record (k, .) of a compiled engine, see `Passed`; their arrays are views of it."""
    size, dim = space.size, space.dim
    ends = np.cumsum([4, size, size, size, dim, PARTS * dim]).tolist()
    bases, starts, finals, origins, parts = (slice(*pair) for pair in pairwise(ends))
    found = []
    for row in record:
        t0, t1, miss, until = row[:4].tolist()
        chart = Interpolant853(t0, until, row[origins], row[parts].reshape(PARTS, dim))
        found.append(Segment(t0, t1, row[bases], chart, space, row[finals], row[ends[-1] :], row[starts], miss))
    return found


@dataclass(frozen=True)
class Chain:
    """The charts of several steps, one after the other, as one."""

    pieces: tuple[Segment, ...]

    def __call__(self, t: float) -> Array:
        """Chart coordinates (dim,) at `t`, by the first step that reaches it."""
        ends = [piece.t1 for piece in self.pieces[:-1]]
        return self.pieces[bisect_left(ends, t)].chart(t)
