"""Optimal inputs through rigid contact against the same problem on ground that gives way: iterations, time and cost.

The hopper of docs/examples/hopper.py jumps 0.3 m, and the ball of ball_with_thrust.py bounces once on its way down.
Under each law `cs.ilqr` begins with the same inputs. What was found on soft ground is then run on rigid ground, too:
the cost that counts. The ball is optimised by MuJoCo's steps and their derivatives, too (`control_mujoco.py`).

Solo12 does what its programs in docs/examples do: it jumps, and recovers from a push. On soft ground the same problems
begin with the same inputs.
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
import push_recovery
import solo12_jump

TOLERANCES = cs.Tolerances(rtol=1e-7, atol=1e-9)
SOFT = {"hopper": (2e3, 2e4), "ball": (2e3, 2e4)}  # N / m^1.5
GROUND = {"solo12": 2e4, "push": 2e4}  # N / m^1.5: feet sink in by some millimetres
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


class Robot(NamedTuple):
    """What a robot does.

    Attributes:
        solved: law -> plans of all stages; None: on rigid ground.
        system, state, cost: rigid ground, the start, and what the last stage minimises.
        dt: how long inputs are held in it [s].
    """

    solved: Callable[[object], list[cs.Plan]]
    system: cs.ContactSystem
    state: cs.State
    cost: cs.QuadraticCost
    dt: float

    def told(self, name: str, soft: Callable[..., object]) -> None:
        """A line."""
        start = process_time()
        rigid = self.solved(None)
        middle = process_time()
        plans = self.solved(soft(stiffness=GROUND[name], damping=1.0))
        time, other = middle - start, process_time() - middle
        task = Task(self.system, self.state, self.cost, plans[-1].U, self.dt)
        found = task.on_rigid_ground(plans[-1].U)
        measured = (
            f"{sum(p.iterations for p in rigid)} / {sum(p.iterations for p in plans)} iterations, {time:.0f} /"
            f" {other:.0f} s; cost {rigid[-1].cost:.4g} / {plans[-1].cost:.4g}, {found:.4g} where run on rigid ground"
        )
        line(f"ilqr of {name}: rigid / Hunt-Crossley {GROUND[name]:.0e} N/m^1.5", measured, time / other)


def leap() -> Robot:
    """Solo12 jumps."""
    system, state, torques = solo12_jump.stand(cs.load_robot("solo12"))

    def solved(law: object) -> list[cs.Plan]:
        ground = system if law is None else system.with_law(law)
        return solo12_jump.jump(ground, state, torques, law is None)

    return Robot(solved, system, state, solo12_jump.cost(state, 2e4, len(torques)), solo12_jump.DT)


def recovery() -> Robot:
    """Solo12 recovers from a push."""
    system, state = push_recovery.stand()
    pushed, cost = push_recovery.pushed(state), push_recovery.cost(state)
    count = round(push_recovery.DURATION / push_recovery.DT)

    def solved(law: object) -> list[cs.Plan]:
        ground, U = system if law is None else system.with_law(law), np.tile(state.q[7:], (count, 1))
        tolerances = push_recovery.ROUGH
        return [cs.ilqr(ground, pushed, cost, U, push_recovery.DT, iterations=5, tolerances=tolerances)]

    return Robot(solved, system, pushed, cost, push_recovery.DT)


def main() -> None:
    """A line for each task and stiffness, or for the tasks that are named."""
    tasks: dict[str, Callable[[], Task]] = {"ball": bounce, "hopper": jump}
    robots: dict[str, Callable[[], Robot]] = {"solo12": leap, "push": recovery}
    soft = registry.load("contact_laws", "hunt-crossley")
    for name in sys.argv[1:] or (*tasks, *robots):
        if name in robots:
            robots[name]().told(name, soft)
            continue
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
