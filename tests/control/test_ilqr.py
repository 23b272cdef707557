"""Inputs that are optimised: against dense solutions where there is no impact, and through impacts."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import lsq_linear
from thrust import ball, in_flight

import contactsim as cs

FINE = cs.Tolerances(rtol=1e-11, atol=1e-12)
SAME = 1e-8  # of inputs, against dense solutions of the same problem
R, FINAL = 5e-4, 100.0
COUNT, DT = 20, 0.02
START = cs.State([4.0], [0.0])


def cost_of(goal: float) -> cs.QuadraticCost:
    return cs.QuadraticCost(np.zeros((2, 2)), R * np.eye(1), FINAL * np.eye(2), cs.State([goal], [0.0]))


def least_squares(goal: float) -> tuple[np.ndarray, np.ndarray]:
    """The flight's problem as |F u - b|^2 / 2."""
    by_inputs, without = in_flight(COUNT, DT, 4.0, 0.0)
    F = np.vstack([np.sqrt(R * DT) * np.eye(COUNT), np.sqrt(FINAL) * by_inputs])
    return F, np.concatenate([np.zeros(COUNT), np.sqrt(FINAL) * (np.array([goal, 0.0]) - without)])


def test_a_linear_problem_takes_one_iteration() -> None:
    plan = cs.ilqr(ball(), START, cost_of(3.5), np.zeros((COUNT, 1)), DT, tolerances=FINE)
    F, b = least_squares(3.5)
    best = np.linalg.lstsq(F, b, rcond=None)[0]
    assert np.abs(plan.U[:, 0] - best).max() < SAME
    assert plan.converged and plan.iterations == 1 and plan.gradients[-1] < 1e-8
    assert plan.cost == pytest.approx(0.5 * np.sum((F @ best - b) ** 2), rel=1e-9)
    assert plan.K.shape == (COUNT, 1, 2) and plan.k.shape == (COUNT, 1)
    assert {"rollouts", "derivatives", "backward"} <= set(plan.timings)


def test_limits_hold_and_the_others_are_optimal() -> None:
    low, high = 0.0, 12.0
    plan = cs.ilqr(ball(), START, cost_of(3.5), np.zeros((COUNT, 1)), DT, limits=(low, high), tolerances=FINE)
    F, b = least_squares(3.5)
    best = lsq_linear(F, b, (low, high), tol=1e-14, max_iter=1000).x
    assert np.abs(plan.U[:, 0] - best).max() < 1e-5
    assert plan.U.min() >= low and plan.U.max() <= high
    assert (high == plan.U).any() or (low == plan.U).any(), "some limit acts"


def test_gains_bring_a_disturbed_run_back() -> None:
    plan = cs.ilqr(ball(), START, cost_of(3.5), np.zeros((COUNT, 1)), DT, tolerances=FINE)
    off = cs.State([4.1], [0.0])
    ends = {}
    for name, feedback in {"held": {}, "fed back": {"K": plan.K, "reference": plan.trajectory}}.items():
        system = ball().with_controller(cs.Inputs(plan.U, DT, **feedback))
        ends[name] = abs(cs.simulate(system, off, (0.0, COUNT * DT)).final.q[0] - plan.trajectory.final.q[0])
    assert ends["fed back"] < 0.1 * ends["held"]


def test_what_does_not_fit_is_told() -> None:
    driven = ball().with_controller(cs.Inputs(np.zeros((3, 1)), DT))
    with pytest.raises(cs.InputError, match="system of ilqr is a ContactSystem; give a ContactSystem without"):
        cs.ilqr(driven, START, cost_of(1.0), np.zeros((3, 1)), DT)
    with pytest.raises(cs.InputError, match=r"cost of ilqr is 3; give a Cost such as cs\.QuadraticCost"):
        cs.ilqr(ball(), START, 3, np.zeros((3, 1)), DT)  # type: ignore[arg-type]
    with pytest.raises(cs.InputError, match="limits has a least input above the largest"):
        cs.ilqr(ball(), START, cost_of(1.0), np.zeros((3, 1)), DT, limits=(1.0, -1.0))
    with pytest.raises(cs.InputError, match="multiple of dt"):
        cs.ilqr(ball(), START, cost_of(1.0), np.zeros((3, 1)), DT, start=0.5 * DT)
    with pytest.raises(cs.InputError, match="weights of the state"):
        wide = cs.QuadraticCost(np.eye(4), np.eye(1), np.eye(4), START)
        cs.ilqr(ball(), START, wide, np.zeros((3, 1)), DT)
    with pytest.raises(cs.InputError, match="R has the eigenvalue 0"):
        cs.QuadraticCost(np.eye(2), np.zeros((1, 1)), np.eye(2), START)


def test_a_trial_that_leaves_what_the_system_knows_is_no_step() -> None:
    """Full steps lead to a place where the user's force is none; shorter ones minimise all the same."""

    def force(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return np.zeros(1) if q[0] < 0.6 else np.full(1, np.nan)

    system = cs.ContactSystem(cs.Mechanism(n=1, mass=lambda q: np.eye(1), force=force, contacts=[]))
    goal = cs.State([1.0], [0.0])
    cost = cs.QuadraticCost(np.zeros((2, 2)), 1e-3 * np.eye(1), np.diag([10.0, 0.0]), goal)
    plan = cs.ilqr(system, cs.State([0.0], [0.0]), cost, np.zeros((4, 1)), 0.25, iterations=3)
    assert plan.cost < 0.5 * plan.costs[0]
    assert plan.trajectory.final.q[0] < 0.6
    with pytest.raises(cs.SimulationError, match="does not reach its end"):
        cs.ilqr(system, cs.State([0.0], [0.0]), cost, np.full((4, 1), 5.0), 0.25, iterations=1)
