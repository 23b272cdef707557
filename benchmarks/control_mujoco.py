"""The ball of ball_with_thrust.py under MuJoCo: the same descent and backward pass, derivatives of its own steps.

Between two samples the run is that of `mj_step`, and A and B are products of the differences of `mjd_transitionFD`. The
ground is a spring and damper of MuJoCo's (`solref`), whose damping ratio lets the ball rebound with three quarters of
its speed.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import mujoco
import numpy as np

import contactsim as cs
from contactsim.analysis.discrete import Discrete
from contactsim.control.costs import Expansion
from contactsim.control.problem import Model, Problem, Rollout

REBOUND = 0.75
RATIO = float(-np.log(REBOUND) / np.hypot(np.pi, np.log(REBOUND)))  # of the damping: exp(-pi z / sqrt(1 - z^2)) = 0.75
STEPS = 50  # of MuJoCo while the ball touches
DIFFERENCE = 1e-6
XML = """
<mujoco>
  <option timestep="{step}" gravity="0 0 -9.81" iterations="200" tolerance="1e-14" integrator="implicitfast"/>
  <default><geom solref="{time} {ratio}" solimp="0.9999 0.9999 0.001" condim="1"/></default>
  <worldbody>
    <geom type="plane" size="5 5 .1"/>
    <body pos="0 0 0.1"><joint name="z" type="slide" axis="0 0 1"/><geom type="sphere" size="0.1" mass="1"/></body>
  </worldbody>
  <actuator><motor joint="z"/></actuator>
</mujoco>
"""


class SteppedBall(Problem):
    """The problem with the ball's runs by MuJoCo; a trajectory is its states (N + 1, 2) at the samples.

    Args:
        problem: on rigid ground.
        touch: how long a bounce lasts [s].
    """

    def __init__(self, problem: Problem, touch: float) -> None:
        super().__init__(
            problem.system,
            problem.state,
            None,
            problem.cost,
            problem.times,
            problem.dt,
            problem.box,
            problem.tolerances,
        )
        self.count = max(round(problem.dt / (touch / STEPS)), 1)
        rate = np.pi / (touch * np.sqrt(1.0 - RATIO**2))  # of the undamped spring [1/s]
        text = XML.format(step=problem.dt / self.count, time=1.0 / (rate * RATIO), ratio=RATIO)
        self.model = mujoco.MjModel.from_xml_string(text)
        self.data = mujoco.MjData(self.model)

    def run(self, U: np.ndarray, K: np.ndarray | None = None, about: Any = None) -> Rollout:
        """The run under inputs, with feedback about another one."""
        with self.timed("rollouts"):
            self._begin()
            states, applied = [self._state()], []
            for k, u in enumerate(U):
                u = u if K is None else u - K[k] @ (states[-1] - about[k])
                applied.append(np.clip(u, *self.box))
                self.data.ctrl[:] = applied[-1]
                mujoco.mj_step(self.model, self.data, self.count)
                states.append(self._state())
        return self._priced(np.array(states), np.array(applied))

    def _begin(self) -> None:
        mujoco.mj_resetData(self.model, self.data)
        self.data.qpos[:], self.data.qvel[:] = self.state.q, self.state.v

    def _state(self) -> np.ndarray:
        return np.concatenate([self.data.qpos, self.data.qvel])

    def _priced(self, states: np.ndarray, U: np.ndarray) -> Rollout:
        cost: Any = self.cost
        stages = [
            _quadratic(self.dt * cost.Q, x, self.dt * cost.R, u, cost.goal(0.0))
            for x, u in zip(states[:-1], U, strict=True)
        ]
        end = _quadratic(cost.Q_final, states[-1], np.zeros((0, 0)), np.zeros(0), cost.goal(0.0))
        return Rollout(states, U, stages, end, sum(stage.value for stage in stages) + end.value)  # type: ignore[arg-type]

    def linearized(self, rollout: Rollout, iteration: int, turn: int = 0) -> Model:
        """Products of the derivatives of all steps between two samples."""
        A, B, part, by_input = [], [], np.zeros((2, 2)), np.zeros((2, 1))
        with self.timed("derivatives"):
            self._begin()
            for u in rollout.U:
                self.data.ctrl[:] = u
                whole, driven = np.eye(2), np.zeros((2, 1))
                for _ in range(self.count):
                    mujoco.mjd_transitionFD(self.model, self.data, DIFFERENCE, True, part, by_input, None, None)
                    mujoco.mj_step(self.model, self.data)
                    whole, driven = part @ whole, part @ driven + by_input
                A.append(whole)
                B.append(driven)
        nothing: Any = SimpleNamespace(all_events=[])
        return Model(nothing, Discrete(self.times, np.array(A), np.array(B)), rollout.stages, rollout.end, 1)


def _quadratic(weight: np.ndarray, x: np.ndarray, by_input: np.ndarray, u: np.ndarray, goal: cs.State) -> Expansion:
    away = x - np.concatenate([goal.q, goal.v])
    value = 0.5 * float(away @ weight @ away + u @ by_input @ u)
    return Expansion(value, weight @ away, by_input @ u, weight, by_input, np.zeros((len(u), len(x))))
