"""Runs beside one that no derivative makes better: a lift-off that is not there yet."""

from __future__ import annotations

import numpy as np
import pytest
from documented import example
from thrust import ball, in_flight

import contactsim as cs
from contactsim.control.descent import better_neighbour
from contactsim.control.problem import Problem

FINE = cs.Tolerances(rtol=1e-10, atol=1e-11)
COUNT, DT, R, FINAL, GOAL = 10, 0.1, 5e-4, 100.0, 1.0
REST = cs.State([0.0], [0.0])
COST = cs.QuadraticCost(np.zeros((2, 2)), R * np.eye(1), FINAL * np.eye(2), cs.State([GOAL], [0.0]))


def optimised(samples: int) -> cs.Plan:
    """From a ball that lies on the ground, whose thrust is none: no derivative says that more of it lifts the ball."""
    return cs.ilqr(ball(0.0), REST, COST, np.zeros((COUNT, 1)), DT, samples=samples, tolerances=FINE)


def in_the_air() -> float:
    """Least cost of a flight from the start on, by least squares."""
    by_inputs, without = in_flight(COUNT, DT, 0.0, 0.0)
    F = np.vstack([np.sqrt(R * DT) * np.eye(COUNT), np.sqrt(FINAL) * by_inputs])
    b = np.concatenate([np.zeros(COUNT), np.sqrt(FINAL) * (np.array([GOAL, 0.0]) - without)])
    u = np.linalg.lstsq(F, b, rcond=None)[0]
    assert u[0] > 9.81, "it lifts off at once"
    return float(0.5 * np.sum((F @ u - b) ** 2))


def test_a_ball_that_lies_is_lifted_by_samples_alone() -> None:
    lying, lifted = optimised(0), optimised(8)
    assert lying.converged and lying.iterations == 0 and lying.cost == pytest.approx(0.5 * FINAL * GOAL**2)
    assert lifted.moves and not lying.moves
    assert lifted.converged and lifted.cost == pytest.approx(in_the_air(), rel=1e-8)


def test_the_same_is_found_again() -> None:
    one, two = optimised(8), optimised(8)
    assert np.array_equal(one.U, two.U) and one.costs == two.costs


def test_beside_the_best_run_there_is_no_better_one() -> None:
    plan = optimised(8)
    free = (np.full(1, -np.inf), np.full(1, np.inf))
    problem = Problem(ball(0.0), REST, None, COST, np.arange(COUNT + 1) * DT, DT, free, FINE)
    best = problem.run(plan.U)
    policy = problem.linearized(best, 0).policy(0.0, problem.room(best.U))
    assert better_neighbour(problem, best, policy, 8, np.random.default_rng(1)) is None


@pytest.mark.slow
def test_the_hopper_leaves_rigid_ground_and_reaches_its_goal() -> None:
    """Steps alone end in a minimum at 3.81, the foot on the ground until 0.46 s."""
    pytest.importorskip("mujoco")
    hopper = example("hopper")
    plan = hopper.jump(hopper.hopper(), samples=8)
    assert plan.moves and plan.cost < 0.05
    assert abs(plan.trajectory.final.q[0] - hopper.HIGHER) < 1e-3
