"""The gait of a run of the compliant hexapod in numbers: when legs stand, their duty factors, and torques at the hips.

Source: SimSect manual, 5.2.1 (duty factors), 5.1.6 (torque limits).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from contactsim import InputError
from contactsim.common.arrays import Array
from contactsim.common.lazy import NamedTuple

from .motor import armature_current
from .parameters import LEGS

if TYPE_CHECKING:
    from contactsim import Trajectory

Interval = tuple[float, float]
WHOLE = 1e-9  # relative, a run this much shorter than whole cycles has them


def stances(trajectory: Trajectory) -> tuple[tuple[Interval, ...], ...]:
    """Intervals (start, end) [s] in which each of the six legs stands, one after the other: six tuples of them."""
    found: list[list[Interval]] = [[] for _ in range(LEGS)]
    for arc in trajectory.arcs:
        stance = arc.system.flow(arc.mode).chart.stance  # type: ignore[attr-defined]
        for leg in np.flatnonzero(stance):
            intervals = found[leg]
            if intervals and intervals[-1][1] == arc.t0:
                intervals[-1] = intervals[-1][0], arc.t1
            elif arc.t1 > arc.t0:
                intervals.append((arc.t0, arc.t1))
    return tuple(tuple(intervals) for intervals in found)


def whole_cycles(trajectory: Trajectory) -> Interval:
    """The last whole periods t_c of the controller in a run [s]; all of a run that is shorter than one."""
    first, last = trajectory.arcs[0].t0, trajectory.arcs[-1].t1
    period = trajectory.system.parameter("cycle_time")
    count = np.floor((last - first) / period * (1.0 + WHOLE))
    return (max(last - count * period, first), last) if count else (first, last)


def duty_factors(trajectory: Trajectory, span: Interval | None = None) -> Array:
    """Share of time (6,) for which each leg stands.

    Args:
        trajectory: the run.
        span: from when to when [s]; None: the last whole cycles, see `whole_cycles`.

    Raises:
        InputError: the span is empty or leaves the run.
    """
    t0, t1 = span or whole_cycles(trajectory)
    if not trajectory.arcs[0].t0 <= t0 < t1 <= trajectory.arcs[-1].t1:
        raise InputError(
            f"the span ({t0}, {t1}) s of the duty factors is empty or leaves the run, which covers"
            f" [{trajectory.arcs[0].t0}, {trajectory.arcs[-1].t1}] s; give one within it"
        )
    held = [sum(max(min(end, t1) - max(start, t0), 0.0) for start, end in legs) for legs in stances(trajectory)]
    return np.array(held) / (t1 - t0)


class HipTorques(NamedTuple):
    """Torques of the hips along a run, with what the motors could give at that speed.

    Attributes:
        t: times (N,): ends of steps, both sides of events [s].
        torque: (N, 6) [N m].
        lower, upper: limits (N, 6) [N m].
        current: armature currents (N, 6) [A].
    """

    t: Array
    torque: Array
    lower: Array
    upper: Array
    current: Array

    @property
    def saturated(self) -> Array:
        """Share of the time (6,) for which the torque of each hip is at a limit; zero for a run without duration."""
        at_limit = (self.torque <= self.lower) | (self.torque >= self.upper)
        duration = max(self.t[-1] - self.t[0], np.finfo(float).tiny)
        return np.trapezoid(at_limit.astype(float), self.t, axis=0) / duration


def hip_torques(trajectory: Trajectory) -> HipTorques:
    """Torques, their limits and currents at the ends of the steps of a run: peaks are shorter than many a period."""
    rows = []
    for arc in trajectory.arcs:
        model, flow = arc.system, arc.system.flow(arc.mode)
        for t, x in arc.sample(None, arc.t0):
            found = flow.evaluate(x)  # type: ignore[attr-defined]
            lower, upper = model.dynamics.control.limits(found.legs.phi_rate)  # type: ignore[attr-defined]
            current = armature_current(found.hip, model.parameters)  # type: ignore[attr-defined]
            rows.append((t, found.hip, lower, upper, current))
    return HipTorques(*(np.array(column) for column in zip(*rows, strict=True)))
