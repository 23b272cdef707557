"""How far is a whole run from the least that it could take in one process?

The limit is the number of evaluations that the first version of the engine made, times one call of
`pin.constraintDynamics` with all contact points of the robot, which is compiled code. Everything that a run does beyond
that counts: stages, guards, dense output, controllers in Python, events. Both are processor time of one process.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import run as solo12_run
from common import constrained_dynamics, fastest, line

import contactsim as cs

CALLS, ROUNDS = 300, 7
FIRST = {"solo12, feet round, PD, 2 s": 1912, "hexapod, its demonstration": 22_554, "biped, its demonstration": 2054}
WANTED = {"solo12, feet round, PD, 2 s": 4.0, "hexapod, its demonstration": 8.0, "biped, its demonstration": None}


def constrained(robot: cs.Robot) -> Callable[[], None]:
    """Some calls of pinocchio's constrained dynamics, every contact of the robot held as a point."""
    dynamics, q, v = constrained_dynamics(robot), robot.nominal, np.full(robot.nv, 0.1)

    def job() -> None:
        for _ in range(CALLS):
            dynamics(q, v)

    return job


def demonstration(name: str) -> tuple[cs.Robot, Callable[[], object]]:
    """What `contactsim run NAME` computes."""
    scene = cs.load_scene(name)
    duration = {"hexapod": 3.0, "biped": 5.0}[name]
    return scene.system.robot, lambda: scene.simulate(duration)


def main() -> None:
    """Each run against its limit."""
    system, start = solo12_run.scene(False)
    runs = {
        "solo12, feet round, PD, 2 s": (system.robot, lambda: solo12_run.simulate(system, start)),
        "hexapod, its demonstration": demonstration("hexapod"),
        "biped, its demonstration": demonstration("biped"),
    }
    for name, (robot, job) in runs.items():
        spent, calls = fastest([job, constrained(robot)], ROUNDS if "solo" in name else 3, time.process_time)
        limit = FIRST[name] * calls / CALLS
        measured = f"{1e3 * spent:.0f} ms / {FIRST[name]} evaluations x {1e6 * calls / CALLS:.1f} us"
        line(f"run of {name} / its limit", measured, spent / limit, WANTED[name])


if __name__ == "__main__":
    main()
