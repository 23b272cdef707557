"""What does a tilted landing cost, against the same robot that stands for as long?

Robots under joint PD: each starts a few millimetres above level ground, tilted and drifting, and lands on foot after
foot, with rattles; or it starts on its feet, at rest. Also in calls of `pin.constraintDynamics` with all contact
points of the robot, which is compiled code and the least that an evaluation could take. Times are processor time.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
from common import fastest, line
from whole_runs import CALLS, constrained

import contactsim as cs

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from landings import DURATION, GAINS, landing
from thirty_scenes import standing

SEEDS, ROUNDS = 3, 5


def main() -> None:
    """Landing against standing for each robot: runs, then derivatives."""
    for name in GAINS:
        cases = [landing(name, seed) for seed in range(SEEDS)]
        robot = cases[0].system.robot
        start = cs.State(standing(robot, 0.0), np.zeros(robot.nv))

        def stand(system: cs.ContactSystem = cases[0].system, start: cs.State = start) -> cs.Trajectory:
            return cs.simulate(system, start, (0.0, DURATION))

        runs = [case.run() for case in cases]
        still = stand()
        jobs = [constrained(robot), stand, *(case.run for case in cases)]
        calls, alone, *landed = fastest(jobs, ROUNDS, time.process_time)
        jobs = [lambda run=run: cs.linearize(run).matrix() for run in (still, *runs)]
        along, *derived = fastest(jobs, 2, time.process_time)
        call, land, derive = calls / CALLS, float(np.mean(landed)), float(np.mean(derived))
        events = "/".join(str(len(run.all_events)) for run in runs)
        line(
            f"{name} lands / stands, {DURATION:g} s",
            f"{1e3 * land:.0f} / {1e3 * alone:.0f} ms, {events} events",
            land / alone,
            10.0,
        )
        line("... its run in calls of constraintDynamics", f"stands {alone / call:.0f}", land / call, unit=" calls")
        line("... derivative / run, landing", f"{1e3 * derive:.0f} ms; stands {along / alone:.1f}x", derive / land, 3.0)


if __name__ == "__main__":
    main()
