"""What does a loop of steps cost, against one call of simulate?

The demonstrations run under small random torques of all joints, which change every 10 or 20 ms: once by `sim.step`,
with and without reading all sensors, and once in one call, with a controller that holds the same torques. The run
without torques is given for comparison; it is another motion, with fewer events.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from common import fastest, line

import contactsim as cs

CASES = (
    ("hexapod", 0.01, 0.5),
    ("hexapod", 0.02, 0.5),
    ("biped", 0.01, 1.0),
    ("biped", 0.02, 1.0),
    ("solo12", 0.01, 0.5),
)
SIZE = 0.02  # N m, of the torques


class Holding(cs.Controller):
    """A table of torques, each held for a period, besides those of another controller."""

    def __init__(self, rows: np.ndarray, period: float, own: cs.Controller | None) -> None:
        self.rows, self.period, self.own, self.memory = rows, period, own, rows.shape[1]

    def sample(self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray) -> np.ndarray:
        """The row of the table."""
        return self.rows[min(int(t / self.period + 1e-9), len(self.rows) - 1)]

    def torque(self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray) -> np.ndarray:
        """The row that is held, and what the other one says now."""
        return z if self.own is None else z + self.own.torque(t, q, v, np.empty(0))

    torque.holds = True  # type: ignore[attr-defined]


def compare(name: str, dt: float, time: float) -> None:
    """One demonstration."""
    scene = cs.load_scene(name)
    system: Any = scene.system
    rows = np.zeros((round(time / dt), system.nv))
    rows[:, system.actuated] = SIZE * np.random.default_rng(0).standard_normal((len(rows), system.actuated.sum()))
    parts = (system.robot, system.terrain, system.law, Holding(rows, dt, system.controller), system.gravity)
    held = cs.ContactSystem(*parts, system.joint_limits, tolerances=system.tolerances)
    sensors = cs.Sensors(system, imu=[next(iter(system.robot.bodies))])

    def steps(read: bool) -> cs.Simulation:
        sim = scene.begin()
        for row in rows[:, system.actuated]:
            sim.step(row, dt)
            if read:
                sensors(sim)
        return sim

    def whole() -> cs.Trajectory:
        return cs.simulate(held, scene.state, (0.0, time), **scene.options)

    off = np.abs(steps(False).trajectory.final_x[: system.nq] - whole().final_x[: system.nq]).max()
    jobs = [lambda: steps(False), lambda: steps(True), whole, lambda: scene.simulate(time)]
    step, read, one, free = fastest(jobs, 3)
    question = f"{name} in steps of {1e3 * dt:.0f} ms / one run with the same inputs"
    line(
        question,
        f"same to {off:.0e}; with sensors {read / one:.2f}x; {step / free:.1f}x of one without inputs",
        step / one,
        3,
    )


if __name__ == "__main__":
    for case in CASES:
        compare(*case)
