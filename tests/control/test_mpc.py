"""A receding horizon on the ball with thrust: it holds a height, and its gains are its derivative."""

from __future__ import annotations

import numpy as np
import pytest
from thrust import ball

import contactsim as cs

COST = cs.QuadraticCost(np.diag([50.0, 1.0]), 1e-2 * np.eye(1), np.diag([50.0, 5.0]), cs.State([1.0], [0.0]), [9.81])
DT = 0.05


def controlled(**options) -> tuple[cs.ContactSystem, cs.MPC]:
    mpc = cs.MPC(ball(), COST, 8, DT, U=[9.81], **options)
    return ball().with_controller(mpc), mpc


def test_it_holds_a_height() -> None:
    system, mpc = controlled()
    run = cs.simulate(system, cs.State([1.2], [0.0]), (0.0, 1.0))
    assert abs(run.final.q[0] - 1.0) < 0.02 and abs(run.final.v[0]) < 0.1
    assert len(mpc.answers) == 21 and not mpc.failures
    assert all(plan.iterations <= 2 for plan in mpc.plans[1:]), "plans start from the last one"


def test_limits_hold() -> None:
    system, mpc = controlled(limits=(0.0, 12.0))
    run = cs.simulate(system, cs.State([1.5], [0.0]), (0.0, 0.5))
    applied = np.array([run(k * DT).z[0] for k in range(10)])
    assert applied.min() >= 0.0 and applied.max() <= 12.0
    assert all(plan.U.max() <= 12.0 for plan in mpc.plans)


def test_a_run_is_the_same_again_and_its_derivative_is_that_of_the_gains() -> None:
    system, mpc = controlled()
    start = cs.State([1.2], [0.0])
    run = cs.simulate(system, start, (0.0, 0.2))
    count = len(mpc.answers)
    assert np.array_equal(cs.simulate(system, start, (0.0, 0.2)).final_x, run.final_x)
    assert len(mpc.answers) == count
    ends = []
    for h in (1e-4, -1e-4):
        other, _ = controlled()
        ends.append(cs.simulate(other, cs.State([1.2 + h], [0.0]), (0.0, 0.2)).final.q[0])
    column = cs.linearize(run).matrix()[0, 0]
    assert column == pytest.approx((ends[0] - ends[1]) / 2e-4, abs=1e-3)


def test_what_does_not_fit_is_told() -> None:
    with pytest.raises(cs.InputError, match="system of MPC is a ContactSystem; give a ContactSystem without"):
        cs.MPC(controlled()[0], COST, 8, DT)
    with pytest.raises(cs.InputError, match="U of MPC has shape"):
        cs.MPC(ball(), COST, 8, DT, U=np.zeros((5, 1)))
    with pytest.raises(cs.InputError, match="horizon of MPC is 0"):
        cs.MPC(ball(), COST, 0, DT)
    with pytest.raises(cs.InputError, match="other joints or inputs than its model"):
        cs.ContactSystem(cs.load_robot("biped"), controller=cs.MPC(ball(), COST, 8, DT))
