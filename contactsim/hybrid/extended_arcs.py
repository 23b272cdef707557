"""Arcs continued past their events, as if the guards that end them were not there."""

from __future__ import annotations

from itertools import count

import numpy as np
from scipy.integrate import solve_ivp

from ..common.arrays import Array
from ..errors import SimulationError
from .flow import Flow
from .manifold import Manifold
from .segments import Segment

RTOL, ATOL = 1e-9, 1e-11  # of what nobody runs through
MOST_EVALUATIONS = 500  # of a field, after which the motion does not lead on: a slip that was continued past its stop


def continued(flow: Flow, space: Manifold, t: float, x: Array, end: float) -> Segment:
    """The motion of a flow from (t, x) to `end` [s], which may lie before it, whatever its guards say.

    Raises:
        SimulationError: the flow does not lead there.
    """
    flow, asked = flow.rebased(t, x), count()
    ends = f"the arc cannot be extended from t = {t:.6g} s to {end:.6g} s: its motion ends before"

    def rate(at: float, dx: Array) -> Array:
        if next(asked) > MOST_EVALUATIONS:
            raise SimulationError(ends)
        return np.array(space.chart_rate(dx, flow.field(at, space.integrate(x, dx))))

    found = solve_ivp(rate, (t, end), np.zeros(space.dim), method="DOP853", dense_output=True, rtol=RTOL, atol=ATOL)
    if not found.success or not np.isfinite(found.y).all():
        raise SimulationError(ends)
    first, last = min(t, end), max(t, end)
    return Segment(first, last, x, found.sol, space, end=x if end < t else None)
