"""Tilted landings of legged robots that hold a posture, and their derivatives by finite differences."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from thirty_scenes import held, standing

import contactsim as cs

Array = np.ndarray
GAINS = {"hexapod": (80.0, 1.5), "solo12": (30.0, 0.8), "go2": (80.0, 2.0), "a1": (80.0, 2.0)}  # [N m/rad, N m s/rad]
FINE = cs.Tolerances(rtol=1e-11, atol=1e-13)
DURATION = 0.3  # s
LADDER = (1e-4, 3e-5, 1e-5, 3e-6, 1e-6, 3e-7, 1e-7)  # steps of the central differences
CONVERGED = 2e-6  # of two steps that follow each other, relative to the largest entry


@dataclass(frozen=True)
class Landing:
    """A robot that falls askew from a little above its feet."""

    name: str
    system: cs.ContactSystem
    start: cs.State

    def run(self, tolerances: cs.Tolerances | None = None, duration: float = DURATION) -> cs.Trajectory:
        return cs.simulate(self.system, self.start, (0.0, duration), tolerances=tolerances or cs.Tolerances())


def landing(robot_name: str, seed: int) -> Landing:
    """The `seed`-th landing of a robot: tilted up to 0.15 rad, drifting, 2 to 12 mm above the ground."""
    rng = np.random.default_rng([seed, *robot_name.encode()])
    robot = cs.load_robot(robot_name)
    turn = rng.uniform(-0.15, 0.15, 3)
    v = np.zeros(robot.nv)
    v[:3] = *rng.uniform(-0.2, 0.2, 2), rng.uniform(-0.4, 0.0)
    v[3:6] = rng.uniform(-0.5, 0.5, 3)
    system = cs.ContactSystem(robot, controller=held(robot, *GAINS[robot_name]))
    return Landing(f"{robot_name}-{seed}", system, cs.State(standing(robot, rng.uniform(0.002, 0.012), turn), v))


def landings(count: int = 10) -> Iterator[Landing]:
    """`count` landings of each robot."""
    for name in GAINS:
        for seed in range(count):
            yield landing(name, seed)


def differences(case: Landing, directions: Array, steps: tuple[float, ...] = LADDER) -> tuple[Array, float]:
    """D x(T) along `directions` (k, n) by central differences (k, n), and how far the best two steps differ.

    The step is taken from a ladder: where two neighbours of it agree best.
    """
    space, x = case.system.space(), case.system.pack(case.start)
    middle = case.run(FINE).final_x

    def moved(dx: Array) -> Array:
        state = case.system.state(space.integrate(x, dx))
        run = cs.simulate(case.system, state, (0.0, DURATION), tolerances=FINE)
        return np.asarray(space.difference(middle, run.final_x))

    best, spread, last = None, np.inf, None
    for h in steps:
        now = np.array([(moved(h * d) - moved(-h * d)) / (2.0 * h) for d in directions])
        if last is not None:
            apart = float(np.abs(now - last).max() / max(1.0, np.abs(now).max()))
            if apart < spread:
                best, spread = now, apart
        last = now
    assert best is not None
    return best, spread
