"""Optimal inputs through rigid contact against the same problem on ground that gives way: iterations, time and cost.

The hopper of docs/examples/hopper.py jumps 0.3 m, and the ball of ball_with_thrust.py bounces once on its way down.
Under each law `cs.ilqr` begins with the same inputs. What was found on soft ground is then run on rigid ground, too:
the cost that counts. The ball is optimised by MuJoCo's steps and their derivatives, too (`control_mujoco.py`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import NamedTuple

import numpy as np
from common import line
from control_mujoco import SteppedBall

import contactsim as cs
from contactsim.common import registry
from contactsim.control.descent import Descent, Ends
from contactsim.control.problem import Problem

sys.path.insert(0, str(Path(__file__).parents[1] / "docs" / "examples"))

import ball_with_thrust
import hopper

TOLERANCES = cs.Tolerances(rtol=1e-7, atol=1e-9)
SOFT = {"hopper": (2e3, 2e4), "ball": (2e3, 2e4)}  # N / m^1.5
TOUCH = (2e-2, 2e-3)  # s: how long a bounce lasts under MuJoCo
DAMPING = {"hopper": 1.0, "ball": 0.06}  # s/m; of the ball so that it rebounds with three quarters of some 9 m/s


class Task(NamedTuple):
    """A problem of optimal control.

    Attributes:
        system: on rigid ground.
        state: where it starts.
        cost: what is minimised.
        U: inputs to begin with.
        dt: how long each is held [s].
        samples: of runs beside one that gets no better, on rigid ground.
    """

    system: cs.ContactSystem
    state: cs.State
    cost: cs.QuadraticCost
    U: np.ndarray
    dt: float
    samples: int = 0

    def solved(self, law: object) -> tuple[cs.Plan, float]:
        """The plan under a law, and the processor time it took [s]."""
        start = process_time()
        system = self.system if law is None else self.system.with_law(law)
        samples = self.samples if law is None else 0
        plan = cs.ilqr(
            system, self.state, self.cost, self.U, self.dt, improvement=1e-5, samples=samples, tolerances=TOLERANCES
        )
        return plan, process_time() - start

    @property
    def problem(self) -> Problem:
        """On rigid ground, without limits."""
        times, free = np.arange(len(self.U) + 1) * self.dt, np.full(self.U.shape[1], np.inf)
        return Problem(self.system, self.state, None, self.cost, times, self.dt, (-free, free), TOLERANCES)

    def on_rigid_ground(self, U: np.ndarray) -> float:
        """Cost of inputs there."""
        run = self.problem.run(U)
        return np.inf if run is None else run.cost


def jump() -> Task:
    """The hopper's."""
    system = hopper.hopper()
    stand = np.array(system.world.robot.nominal)
    weight = np.array([-9.81 * hopper.BODY])
    goal = cs.State(stand + np.array([hopper.HIGHER, 0.0]), np.zeros(2))
    final = np.diag([2000.0, 1000.0, 10.0, 1.0])
    cost = cs.QuadraticCost(np.zeros((4, 4)), 1e-4 * np.eye(1), final, goal, weight)
    return Task(system, cs.State(stand, np.zeros(2)), cost, np.tile(weight, (25, 1)), hopper.DT, samples=8)


def bounce() -> Task:
    """The ball's."""
    return Task(ball_with_thrust.ball(), ball_with_thrust.START, ball_with_thrust.COST, np.zeros((25, 1)), 1.0 / 25)


def beside_mujoco(task: Task, rigid: cs.Plan, time: float) -> None:
    """A line for each duration of a bounce."""
    for touch in TOUCH:
        problem = SteppedBall(task.problem, touch)
        start = process_time()
        plan = Descent(problem, task.U, Ends(100, 1e-8, 1e-5)).minimise()
        other = process_time() - start
        found = task.on_rigid_ground(plan.U)
        measured = (
            f"{rigid.iterations} / {plan.iterations} iterations, {time:.2f} / {other:.2f} s; cost {rigid.cost:.4g}"
            f" / {plan.cost:.4g}, {found:.4g} where run on rigid ground"
        )
        line(f"ilqr of the ball: rigid / MuJoCo, bounces of {1e3 * touch:.0f} ms", measured, time / other)


def main() -> None:
    """A line for each task and stiffness, or for the tasks that are named."""
    tasks: dict[str, Callable[[], Task]] = {"ball": bounce, "hopper": jump}
    soft = registry.load("contact_laws", "hunt-crossley")
    for name in sys.argv[1:] or tasks:
        task = tasks[name]()
        rigid, time = task.solved(None)
        for stiffness in SOFT[name]:
            plan, other = task.solved(soft(stiffness=stiffness, damping=DAMPING[name]))
            found = task.on_rigid_ground(plan.U)
            measured = (
                f"{rigid.iterations} / {plan.iterations} iterations, {time:.1f} / {other:.1f} s; cost {rigid.cost:.4g}"
                f" / {plan.cost:.4g}, {found:.4g} where run on rigid ground"
            )
            line(f"ilqr of the {name}: rigid / Hunt-Crossley {stiffness:.0e} N/m^1.5", measured, time / other)
        if name == "ball":
            beside_mujoco(task, rigid, time)


if __name__ == "__main__":
    main()
