"""What does one evaluation of solo12's vector field cost, against pinocchio's own dynamics at the same states?

Feet are points, there is no controller, everything is called from Python. Each call is given another state, since a
flow keeps its last evaluation.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pinocchio as pin
from common import constrained_dynamics, fastest, line, solo12

import contactsim as cs
from contactsim.contact.modes import ContactState, Phase, SystemMode

CALLS = 100
ROBOT = solo12(point_feet=True)
SYSTEM = cs.ContactSystem(ROBOT)
STICK, SLIP, OPEN = ContactState(cs.Mode.STICK), ContactState(cs.Mode.SLIP, Phase.FREE), ContactState()


def states() -> list[np.ndarray]:
    """Slightly different states (q, v) about a crouch in motion."""
    rng = np.random.default_rng(0)
    q = ROBOT.space.integrate(ROBOT.nominal, 0.1 * rng.normal(size=ROBOT.nv))
    v = 0.3 * rng.normal(size=ROBOT.nv)
    return [np.concatenate([q, v + 1e-3 * rng.normal(size=ROBOT.nv)]) for _ in range(CALLS)]


def field(mode: SystemMode, points: list[np.ndarray]) -> Callable[[], None]:
    """Evaluate the field of a mode at all states."""
    flow = SYSTEM.flow(mode)
    flow.rebase(0.0, points[0])

    def job() -> None:
        for x in points:
            flow.field(0.0, x)

    return job


def constraint_dynamics(pairs: list[tuple[np.ndarray, np.ndarray]]) -> Callable[[], None]:
    """pin.constraintDynamics with four fixed points at the feet."""
    dynamics = constrained_dynamics(ROBOT)

    def job() -> None:
        for q, v in pairs:
            dynamics(q, v)

    return job


def articulated_body(pairs: list[tuple[np.ndarray, np.ndarray]]) -> Callable[[], None]:
    """pin.aba."""
    model, own, tau = ROBOT.model, ROBOT.model.createData(), np.zeros(ROBOT.nv)

    def job() -> None:
        for q, v in pairs:
            pin.aba(model, own, q, v, tau)

    return job


def main() -> None:
    """Time everything in turns and print the table."""
    points = states()
    pairs = [(x[: ROBOT.nq].copy(), x[ROBOT.nq :].copy()) for x in points]
    modes = [(STICK,) * 4, (STICK, STICK, SLIP, SLIP), (OPEN,) * 4]
    jobs = [field(SystemMode(mode), points) for mode in modes]
    times = fastest([*jobs, constraint_dynamics(pairs), articulated_body(pairs)], rounds=150)
    sticking, slipping, flight, constrained, free = (1e6 * t / CALLS for t in times)
    line(
        "field, 4 feet stick / constraintDynamics", f"{sticking:.1f} / {constrained:.1f} us", sticking / constrained, 2
    )
    line(
        "field, 2 stick + 2 slip / constraintDynamics",
        f"{slipping:.1f} / {constrained:.1f} us",
        slipping / constrained,
        5,
    )
    line("field, flight / aba", f"{flight:.1f} / {free:.1f} us", flight / free, 2)


if __name__ == "__main__":
    main()
