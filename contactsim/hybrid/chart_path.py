"""The steps of an arc as plain arrays: the states along it, for compiled code; and Chebyshev polynomials for tables.

Each run has these tables, and the module of numpy that knows the polynomials brings those of five other families along.
"""

from __future__ import annotations

import numpy as np

from ..common.arrays import Array
from ..common.lazy import dataclass


@dataclass(frozen=True, eq=False)
class ChartPath:
    """The steps of an arc as Chebyshev series of chart coordinates; a step may be several pieces.

    Attributes:
        interval: [t0, t1] of each series (pieces, 2) [s].
        start: time from which it holds (pieces,) [s].
        step: start and end of the step of the run that it is a piece of (pieces, 2) [s].
        base: state around which its chart is (pieces, size).
        series: coefficients (pieces, powers, dim).
    """

    interval: Array
    start: Array
    step: Array
    base: Array
    series: Array

    def between(self, t0: float, t1: float) -> ChartPath:
        """The steps that are at least partly between two times."""
        if t0 <= self.start[0] and t1 >= self.start[-1]:
            return self
        first = max(int(np.searchsorted(self.start, t0, side="right")) - 1, 0)
        first = int(np.searchsorted(self.step[:, 0], self.step[first, 0]))
        last = max(int(np.searchsorted(self.start, t1, side="right")), first + 1)
        kept = slice(first, last)
        return ChartPath(self.interval[kept], self.start[kept], self.step[kept], self.base[kept], self.series[kept])


def chebyshev_basis(x: Array, degree: int) -> Array:
    """T_0 to T_degree, of which T_k+1 = 2 x T_k - T_k-1, at places (n,): (n, degree + 1), degree >= 1."""
    rows = [np.ones(len(x)), np.asarray(x, dtype=float)]
    twice = 2.0 * rows[1]
    while len(rows) <= degree:
        rows.append(rows[-1] * twice - rows[-2])
    return np.stack(rows, axis=-1)


def chebyshev_derivative(series: Array) -> Array:
    """The derivatives (n, ...) of series (n + 1, ...) in them; n is at least 2.

    A term c_k T_k changes by 2 k c_k (T_k-1 + T_k-3 + ...), half of which where that ends with T_0.
    """
    left = np.array(series, dtype=float)
    found = np.empty((len(left) - 1, *left.shape[1:]))
    for k in range(len(left) - 1, 2, -1):
        found[k - 1] = 2 * k * left[k]
        left[k - 2] += k * left[k] / (k - 2)
    found[1], found[0] = 4.0 * left[2], left[1]
    return found
