"""A neighbour of a run, to first order, by the derivative along the run."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..analysis.spread import carried
from ..common.arguments import arguments, numbers
from ..common.arrays import Array
from ..common.lazy import dataclass
from ..derivatives.run_derivative import RunDerivative
from ..hybrid.trajectory import Trajectory

PERIOD = 1.0 / 120.0  # between two times at which it is computed [s]


@dataclass(frozen=True)
class Neighbour:
    """A run beside another one, to be drawn beside it: x(t) + dx(t).

    Attributes:
        system: of the run.
        t: (n,) times, both sides of each event among them [s].
        x: (n, nx) plain states.
    """

    system: Any
    t: Array
    x: Array

    def __call__(self, t: float) -> Any:
        """State at the last of the times that is not later than `t`."""
        return self.system.state(self.x[max(int(np.searchsorted(self.t, t, side="right")) - 1, 0)])


@arguments(dx=numbers(None, words="a vector (n,) in tangent coordinates"))
def neighbour(lin: RunDerivative, dx: Any, corrected: bool = True) -> Neighbour:
    """The run from the start x0 + dx, to first order through the events.

    Args:
        lin: the linearized run.
        dx: (n,) perturbation of the start in tangent coordinates (dq, dv, dz).
        corrected: True: by saltation matrices and B-derivatives; False: by the resets alone, for comparison.

    Returns:
        Something to give to `export_html(..., ghosts={name: neighbour})`.
    """
    trajectory: Trajectory = lin.trajectory
    start, end = trajectory.arcs[0].t0, trajectory.arcs[-1].t1
    times = np.linspace(start, end, int(np.ceil((end - start) / PERIOD)) + 1)
    moments, states = [], []
    for t, x, owner, variations in carried(lin, np.asarray(dx, dtype=float)[None], times, corrected):
        space = owner.space(trajectory.arc_at(t).mode)
        moments.append(t)
        states.append(space.integrate(x, variations[0]))
    return Neighbour(trajectory.system, np.array(moments), np.array(states))
