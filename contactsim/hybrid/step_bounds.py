"""How far a step leads at most, from the polynomial that its method gives for what lies between its ends."""

from __future__ import annotations

from functools import cache

import numpy as np

from ..common.arrays import Array
from .chart_path import chebyshev_basis, chebyshev_derivative
from .flow import Path
from .segments import Chain, Interpolant853, Segment, values
from .tolerances import Tolerances

# The most that each of the functions comes to with which `Interpolant853` is written, over a step, and 1.001 times its
# steepest slope by the share of it, looked at in 2000 parts (`tests/hybrid/test_paths.py`).
LARGEST853 = np.array(
    [
        [1.0, 0.25, 0.148148120375, 0.0625, 0.03456, 0.015625, 0.008393003760563823],
        [
            *(1.0010000000002275, 1.0004995, 0.9999992502499999, 0.19264214469500407),
            *(0.13571072696424993, 0.053719169858641135, 0.03361655124780897),
        ],
    ]
)

# Any other interpolant is a polynomial of no higher degree than that of LSODA, and known by as many points.
DEGREE = 12
POINTS = 0.5 + 0.5 * np.cos(np.pi * (np.arange(DEGREE + 1) + 0.5) / (DEGREE + 1))


@cache
def _from_points() -> tuple[Array, Array]:
    """Series of a polynomial, and those of its slope by s, from its values at POINTS."""
    to_series = np.linalg.inv(chebyshev_basis(2.0 * POINTS - 1.0, DEGREE))
    return to_series, 2.0 * chebyshev_derivative(np.eye(DEGREE + 1)) @ to_series


def path(segment: Segment, tolerances: Tolerances) -> Path:
    """Bounds of the way along a step."""
    moved, rate = _extent(segment)
    start = segment(segment.t0) if segment.start is None else segment.start

    def error() -> Array:
        return segment.miss * (tolerances.atol + tolerances.rtol * (np.abs(segment.origin) + moved))

    return Path(segment.t0, segment.t1 - segment.t0, start, moved, rate, error, segment)


def _extent(segment: Segment) -> tuple[Array, Array]:
    """Largest change since the start of a step (dim,), and largest rate (dim,), in the chart.

    |sum F_k b_k| <= sum |F_k| max |b_k| for the functions b_k of an interpolant.
    """
    chart = segment.chart
    if isinstance(chart, Chain):
        parts = [_extent(piece) for piece in chart.pieces]
        return np.sum([moved for moved, _ in parts], axis=0), np.max([rate for _, rate in parts], axis=0)
    if isinstance(chart, Interpolant853):
        moved, slope = LARGEST853 @ np.abs(chart.F)
        return moved, slope / abs(chart.t - chart.t_old)
    duration = segment.t1 - segment.t0
    times = segment.t0 + duration * POINTS
    found, (to_series, to_slopes) = values(chart, times), _from_points()
    moved = 2.0 * np.abs(to_series[1:] @ found).sum(axis=0)
    return moved, np.abs(to_slopes @ found).sum(axis=0) / duration
