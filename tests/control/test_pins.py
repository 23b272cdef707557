"""The bounce with thrust (mass 1, e 0.75, from 4 m at rest to 1 m at rest in 1 s) against direct solutions.

With the time of the bounce given, the problem is one of quadratic programming, by linear equations; that time is then
found by scipy between any two samples.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from thrust import G, ball

import contactsim as cs
from contactsim.control.pins import arrival, held_at, impacts
from contactsim.control.problem import Problem
from contactsim.hybrid.system import CLOCK

FINE = cs.Tolerances(rtol=1e-11, atol=1e-12)
R, FINAL, E, HIGH, GOAL = 5e-4, 100.0, 0.75, 4.0, 1.0
START, END = cs.State([HIGH], [0.0]), cs.State([GOAL], [0.0])
AS_DIRECT = 1e-9  # relative: cost against the direct solution
COST = cs.QuadraticCost(np.zeros((2, 2)), R * np.eye(1), FINAL * np.eye(2), END)


@dataclass(frozen=True)
class Direct:
    """The problem with `count` inputs and one bounce, at a given time."""

    count: int

    def cost(self, bounce: float) -> float:
        return self.solved(bounce)[0]

    def solved(self, bounce: float) -> tuple[float, np.ndarray]:
        """Least cost with the bounce at a time, and its inputs: a quadratic programme with one equation."""
        before, after = self._reach(0.0, bounce), self._reach(bounce, 1.0)
        left, v = 1.0 - bounce, -G * bounce
        ends = np.array([-E * before[1] * left + after[0], -E * before[1] + after[1]])
        missed = np.array([-E * v * left - 0.5 * G * left**2 - GOAL, -E * v - G * left])
        H = R / self.count * np.eye(self.count) + FINAL * ends.T @ ends
        system = np.block([[H, before[:1].T], [before[:1], np.zeros((1, 1))]])
        falls = HIGH - 0.5 * G * bounce**2
        u = np.linalg.solve(system, np.append(-FINAL * ends.T @ missed, -falls))[:-1]
        return 0.5 * R / self.count * u @ u + 0.5 * FINAL * np.sum((ends @ u + missed) ** 2), u

    def _reach(self, start: float, end: float) -> np.ndarray:
        """Height and speed (2, count) at `end` by each input after `start`."""
        edges = np.clip(np.arange(self.count + 1) / self.count, start, end)
        low, high = edges[:-1], edges[1:]
        return np.array([((end - low) ** 2 - (end - high) ** 2) / 2, high - low])

    def best(self) -> tuple[float, float]:
        """Least cost of all, and the time of its bounce: scipy's between each two samples."""
        found = []
        for k in range(self.count // 2, self.count - 1):
            edges = (k / self.count, (k + 1) / self.count)
            inside = minimize_scalar(self.cost, bounds=edges, method="bounded", options={"xatol": 1e-12})
            found += [(inside.fun, inside.x), *((self.cost(edge), edge) for edge in edges)]
        return min(found)


def problem(count: int) -> Problem:
    free = (np.full(1, -np.inf), np.full(1, np.inf))
    return Problem(ball(), START, None, COST, np.arange(count + 1) * (1.0 / count), 1.0 / count, free, FINE)


def optimised(U: np.ndarray) -> cs.Plan:
    return cs.ilqr(ball(), START, COST, U, 1.0 / len(U), improvement=0.0, tolerances=FINE)


def demand_the_best(plan: cs.Plan, count: int) -> None:
    least, bounce = Direct(count).best()
    assert plan.converged and plan.gradients[-1] < 1e-8
    assert plan.cost == pytest.approx(least, rel=AS_DIRECT)
    assert plan.trajectory.events[0].time == pytest.approx(bounce, abs=1e-6)
    assert np.abs(plan.U[:, 0] - Direct(count).solved(bounce)[1]).max() < 1e-4
    assert len(plan.trajectory.events) == 1


def test_the_direct_cost_is_that_of_a_run() -> None:
    cost, u = Direct(20).solved(0.67)
    rollout = problem(20).run(u[:, None])
    assert rollout.cost == pytest.approx(cost, rel=1e-9)
    assert rollout.trajectory.events[0].time == pytest.approx(0.67, abs=1e-9)


def test_the_time_of_an_impact_by_inputs() -> None:
    u, h = Direct(20).solved(0.67)[1][:, None], 1e-4
    of = problem(20)
    found = arrival(of.linearized(of.run(u), 0), 0, of.times)
    assert found.interval == 13 and found.time == pytest.approx(0.67, abs=1e-9)
    step = np.zeros_like(u)
    step[13] = h
    times = [of.run(u + sign * step).trajectory.events[0].time for sign in (1, -1)]
    assert found.u[0] == pytest.approx((times[0] - times[1]) / (2 * h), abs=1e-9)


def test_an_impact_is_held_at_a_sample_at_a_kink() -> None:
    """Both sides have a gradient there, of which a mean vanishes: the least cost with the bounce at that sample."""
    of = problem(20)
    start = of.run(Direct(20).solved(0.67)[1][:, None])
    found = held_at(of, (start, of.linearized(start, 0)), 0, 13, 20)
    assert impacts(found.model)[0].time == of.times[13]
    assert np.abs(found.gradient).max() < 1e-10 and 0.0 < found.share < 1.0
    assert np.abs(found.model.gradient()).max() > 1e-5
    assert found.rollout.cost == pytest.approx(Direct(20).cost(of.times[13]), rel=AS_DIRECT)


def test_from_sample_to_sample_to_the_best_one() -> None:
    demand_the_best(optimised(Direct(12).solved(0.73)[1][:, None]), 12)


@pytest.mark.slow
def test_few_inputs_end_at_a_kink_that_is_a_minimum() -> None:
    """Of twelve inputs the least cost lies between samples; from no thrust a minimum at a sample comes first."""
    plan, direct, near = optimised(np.zeros((12, 1))), Direct(12), 1e-4
    bounce = plan.trajectory.events[0].time
    assert plan.converged and plan.gradients[-1] < 1e-8 and len(plan.trajectory.events) == 1
    assert plan.cost == pytest.approx(direct.cost(bounce), rel=AS_DIRECT)
    assert plan.cost < min(direct.cost(bounce - near), direct.cost(bounce + near))


@pytest.mark.slow
@pytest.mark.parametrize("count", [50, 251])
def test_the_bounce_from_no_thrust_at_all(count: int) -> None:
    demand_the_best(optimised(np.zeros((count, 1))), count)


def test_an_impulse_at_a_sample_alone_has_no_time_to_be_held() -> None:
    """A sample that jams a contact comes when it comes; only impacts that a guard announces are counted."""

    def event(*groups: frozenset) -> SimpleNamespace:
        return SimpleNamespace(events=[SimpleNamespace(impulses={"foot": 1.0})], data=SimpleNamespace(groups=groups))

    sample, landing, both = frozenset({CLOCK}), frozenset({"gap"}), (frozenset({"gap"}), frozenset({CLOCK}))
    events = [event(sample), event(landing), event(*both)]
    model: Any = SimpleNamespace(lin=SimpleNamespace(all_events=events))
    assert impacts(model) == events[1:]
