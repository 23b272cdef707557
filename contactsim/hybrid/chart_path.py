"""The steps of an arc as plain arrays: the states along it, for compiled code."""

from __future__ import annotations

import numpy as np

from ..common.arrays import Array
from ..common.dataclass import dataclass


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
        first = max(int(np.searchsorted(self.start, t0, side="right")) - 1, 0)
        first = int(np.searchsorted(self.step[:, 0], self.step[first, 0]))
        last = max(int(np.searchsorted(self.start, t1, side="right")), first + 1)
        kept = slice(first, last)
        return ChartPath(self.interval[kept], self.start[kept], self.step[kept], self.base[kept], self.series[kept])
