"""How much of a whole run is spent outside the vector field?

solo12 falls from 0.3 m onto its feet under joint PD, 2 s at rtol 1e-8. All evaluations of the field that the run makes
are noted, and made again by themselves, each in its own mode and with the controller: their time is the sum over the
modes of (evaluations x time of that mode's field), the least that the run could have taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from common import fastest, line, solo12

import contactsim as cs
from contactsim.contact_dynamics.rigid_flow import RigidFlow

DROP, END, ROUNDS = 0.3, 2.0, 25
Call = tuple[Any, float, np.ndarray]  # mode, time, state


def scene(point_feet: bool) -> tuple[cs.ContactSystem, cs.State]:
    """solo12 above the ground in its nominal posture, which the controller holds."""
    robot = solo12(point_feet)
    q = robot.nominal.copy()
    q[2] += DROP - robot.contact_positions(q)[:, 2].min()
    system = cs.ContactSystem(robot, controller=cs.PD(robot, robot.nominal, kp=10.0, kd=0.4))
    return system, cs.State(q, np.zeros(robot.nv))


def simulate(system: cs.ContactSystem, start: cs.State) -> cs.Trajectory:
    """The run that is timed."""
    return cs.simulate(system, start, (0.0, END), tolerances=cs.Tolerances(rtol=1e-8))


@contextmanager
def recorded() -> Iterator[list[Call]]:
    """Note every evaluation of the field that is made within."""
    calls: list[Call] = []
    original = RigidFlow.field

    def field(flow: RigidFlow, t: float, x: np.ndarray) -> np.ndarray:
        calls.append((flow.arc.mode, t, x.copy()))
        return original(flow, t, x)

    RigidFlow.field = field  # type: ignore[method-assign]
    try:
        yield calls
    finally:
        RigidFlow.field = original  # type: ignore[method-assign]


def replay(system: cs.ContactSystem, calls: list[Call]) -> Callable[[], None]:
    """Evaluate the field at all states of the run, and do nothing else."""
    flows = {}
    for mode, t, x in calls:
        if mode not in flows:
            flows[mode] = system.flow(mode)
            flows[mode].rebase(t, x)
    jobs = [(flows[mode], t, x) for mode, t, x in calls]

    def job() -> None:
        for flow, t, x in jobs:
            flow.field(t, x)

    return job


def main() -> None:
    """Run with round feet, as in the catalogue, and with points."""
    for point_feet in (False, True):
        system, start = scene(point_feet)
        with recorded() as calls:
            trajectory = simulate(system, start)
        assert trajectory.status is cs.Status.FINISHED, trajectory.message
        again = replay(system, calls)
        wall, fields = fastest([lambda: simulate(system, start), again], ROUNDS)  # noqa: B023
        feet = "points" if point_feet else "round"
        measured = f"{1e3 * wall:.0f} / {1e3 * fields:.0f} ms, {len(calls)} evaluations"
        line(f"run of solo12, feet {feet} / its field evaluations", measured, wall / fields, 2)


if __name__ == "__main__":
    main()
