"""What does the check of a run cost, against the run?

Processor time of `Trajectory.check()`, which looks at each step in five places, on whatever engine is installed.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
from common import fastest, line

import contactsim as cs

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from landings import DURATION, landing
from thirty_scenes import standing

ROUNDS = 5


def thrown(body: cs.Robot, terrain: cs.terrain.Terrain, duration: float) -> cs.Trajectory:
    """A body that falls, slides and tips."""
    system = cs.ContactSystem(body, terrain=terrain)
    q, v = body.nominal.copy(), np.zeros(body.nv)
    q[:3], v[:6] = (0.1, 0.05, 0.25), (0.5, -0.3, 0.0, 0.5, 0.2, 0.1)
    return cs.simulate(system, cs.State(q, v), (0.0, duration))


def main() -> None:
    """Robots that stand, land and walk, and bodies."""
    lands = landing("solo12", 0)
    stands = cs.State(standing(lands.system.robot, 0.0), np.zeros(lands.system.robot.nv))
    walk, hills = cs.load_scene("hexapod"), cs.terrain.Sinusoid(0.02, 5.0, 4.0)
    box, cylinder = cs.Robot.box(1.0, (0.2, 0.1, 0.1), friction=0.4), cs.Robot.cylinder(1.0, 0.05, 0.2, friction=0.4)
    runs = {
        f"solo12 stands, {DURATION:g} s": lambda: cs.simulate(lands.system, stands, (0.0, DURATION)),
        f"solo12 lands, {DURATION:g} s": lands.run,
        "hexapod walks, 1 s": lambda: walk.simulate(1.0),
        "a box on the flat, 0.4 s": lambda: thrown(box, cs.terrain.Flat(), 0.4),
        "a cylinder on hills, 0.4 s": lambda: thrown(cylinder, hills, 0.4),
    }
    for name, run in runs.items():
        found = run()
        ran, checked = fastest([run, found.check], ROUNDS, time.process_time)
        line(f"check / run, {name}", f"{1e3 * checked:.1f} / {1e3 * ran:.1f} ms", checked / ran, None)


if __name__ == "__main__":
    main()
