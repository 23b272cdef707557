"""The charts of steps as polynomials: what files keep, and what compiled code follows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.polynomial import chebyshev
from scipy.integrate import DenseOutput

from ..common.arrays import Array
from ..common.representation import Brief
from .chart_path import ChartPath
from .integrators.dop853 import Interpolant853
from .segments import Chain, Segment

MANY = 16  # degree that fits the smooth dense output of a method that does not tell its own


@dataclass(frozen=True, repr=False)
class Polynomial(Brief):
    """A chart over one step: sum of c_k T_k(s) with s in [-1, 1] from `t0` to `t1`; coefficients (degree + 1, dim)."""

    t0: float
    t1: float
    coefficients: Array

    def __call__(self, t: float) -> Array:
        """Chart coordinates (dim,) at `t`."""
        if len(self.coefficients) == 1:
            return self.coefficients[0].copy()
        s = ((t - self.t0) - (self.t1 - t)) / (self.t1 - self.t0)
        return chebyshev.chebval(s, self.coefficients)


def polynomial(segment: Segment) -> Polynomial:
    """The chart of a step as a polynomial: it is one, so its values at the Chebyshev nodes say it all."""
    chart, t0, t1 = segment.chart, segment.t0, segment.t1
    if isinstance(chart, Polynomial):
        return chart
    if t1 == t0:
        return Polynomial(t0, t1, np.asarray(chart(t0))[None])
    nodes, transform = _nodes(_degree(chart) + 1)
    times = t0 + (t1 - t0) * 0.5 * (1.0 + nodes)
    values = chart(times).T if isinstance(chart, DenseOutput) else np.array([chart(t) for t in times])
    return Polynomial(t0, t1, transform @ values)


def _nodes(count: int) -> tuple[Array, Array]:
    """Chebyshev's nodes (count,), and the matrix from values there to the coefficients."""
    angles = np.pi * (np.arange(count) + 0.5) / count
    transform = 2.0 / count * np.cos(np.outer(np.arange(count), angles))
    transform[0] *= 0.5
    return np.cos(angles), transform


def _degree(chart: Callable[[float], Array]) -> int:
    """Degree of SciPy's dense outputs: DOP853, the Runge-Kutta methods and Radau, LSODA, BDF."""
    if hasattr(chart, "F"):
        return len(chart.F)
    if hasattr(chart, "Q"):
        return int(chart.Q.shape[1])
    if hasattr(chart, "yh"):
        return int(chart.yh.shape[1]) - 1
    return int(getattr(chart, "order", MANY))


NODES_853, FROM_VALUES_853 = _nodes(8)
FROM_PARTS_853 = FROM_VALUES_853 @ Interpolant853.parts(0.5 * (1.0 + NODES_853)).T  # (8, 7)


def chart_path(steps: Sequence[Segment]) -> ChartPath:
    """The path of some steps."""
    pieces = [(step, *piece) for step in steps for piece in _pieces(step)]
    series = [found.coefficients for _, _, found in pieces]
    table = np.zeros((len(pieces), max(map(len, series)), series[0].shape[1]))
    for row, own in zip(table, series, strict=True):
        row[: len(own)] = own
    return ChartPath(
        np.array([(found.t0, found.t1) for _, _, found in pieces]),
        np.array([start for _, start, _ in pieces]),
        np.array([(step.t0, step.t1) for step, _, _ in pieces]),
        np.array([step.base for step, _, _ in pieces]),
        table,
    )


def _pieces(step: Segment) -> Iterator[tuple[float, Polynomial]]:
    """The polynomials of a step, each with the time from which it holds."""
    if isinstance(step.chart, Chain):
        for piece in step.chart.pieces:
            yield from _pieces(piece)
    elif isinstance(step.chart, Interpolant853):
        chart = step.chart
        coefficients = FROM_PARTS_853 @ chart.F
        coefficients[0] += chart.y_old
        yield step.t0, Polynomial(chart.t_old, chart.t, coefficients)
    else:
        yield step.t0, polynomial(step)
