"""Regulators along runs: the algebraic equation, the cost of closed loops, and the limits at events."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from builders import planar_mechanism, point_mass
from reference_systems import BallOnTable, Given
from scipy.integrate import quad_vec
from scipy.linalg import solve_continuous_are

import contactsim as cs
from contactsim.analysis.riccati import Riccati, riccati

STEADY = 1e-8  # relative: what is left of the final weight after 30 s, and rtol 1e-10
EXACT = 1e-9  # relative to the largest entry: variations with TIGHT tolerances
COST = 2e-3  # relative: second difference of the cost with steps of 1e-3, where one run has met an event and one not
FREE = 1e-7  # relative: with inputs that cost 1e14 they are not used
UNDISTURBED = 1e-7  # m, m/s: a controlled run against its reference, both with rtol 1e-10
BETTER = (
    0.9  # cost and distance of gains that know of the events, relative to those of gains that do not (0.77 to 0.35)
)
SECOND_ORDER = 0.02  # relative: cost of a disturbance of 2 cm against its quadratic form
ACCURATE = cs.Tolerances(rtol=1e-10, atol=1e-12)
Array = np.ndarray


@dataclass(frozen=True)
class Driven(cs.HybridSystem):
    """x' = A x + B u without events."""

    A: Array
    B: Array

    def flow(self, mode: str) -> cs.Flow:
        flow = Given(lambda t, x: self.A @ x, {}, lambda t, x: self.A)
        flow.input_matrix = lambda t, x: self.B  # type: ignore[method-assign]
        return flow

    def transition(self, t: float, x: Array, mode: str, fired: frozenset) -> cs.Transition:
        raise AssertionError("it has no events")

    def start(self, t: float, x: Array) -> cs.Transition:
        return cs.Transition(x, "moving")


def driven(seed: int = 0, n: int = 4, inputs: int = 2) -> Driven:
    rng = np.random.default_rng(seed)
    return Driven(rng.normal(size=(n, n)), rng.normal(size=(n, inputs)))


def bouncing(end: float) -> tuple[cs.ContactSystem, cs.Linearization]:
    """A ball with thrust that bounces on level ground from one metre, with the run that nobody disturbs."""
    system = cs.ContactSystem(planar_mechanism(1.0, 0.1, {"ball": (0.0, 0.0)}, friction=0.0, restitution=0.7))
    traj = cs.simulate(system, cs.State([0.0, 1.0, 0.0], [0.2, 0.0, 0.0]), (0.0, end), tolerances=ACCURATE)
    return system, cs.linearize(traj, tolerances=ACCURATE)


NOTHING = np.zeros((6, 6))
FINAL = np.diag([100.0, 100.0, 0.0, 100.0, 100.0, 0.0])


# --- smooth arcs ------------------------------------------------------------------------------------------------------
def test_long_arc_ends_in_the_algebraic_equation() -> None:
    system, Q, R = driven(), np.diag([1.0, 2.0, 0.5, 1.0]), np.array([[1.0, 0.2], [0.2, 0.5]])
    lin = cs.linearize(cs.simulate(system, np.zeros(4), (0.0, 30.0)), tolerances=ACCURATE)
    found = lin.riccati(Q, R, np.zeros((4, 4)))
    P = solve_continuous_are(system.A, system.B, Q, R)
    np.testing.assert_allclose(found.P[0], P, rtol=0, atol=STEADY * P.max())
    np.testing.assert_allclose(found.value(1.234), P, rtol=0, atol=STEADY * P.max())
    K = np.linalg.solve(R, system.B.T @ P)
    np.testing.assert_allclose(found.gain(0.0), K, rtol=0, atol=STEADY * P.max())
    np.testing.assert_array_equal(found.t, lin.trajectory.t)
    assert found.K.shape == (len(found.t), 2, 4)


def test_weight_as_a_function_of_time() -> None:
    """Without any use of the input, P(0) is the integral of Phi^T Q Phi."""
    system = Driven(np.array([[0.0, 1.0], [0.0, 0.0]]), np.zeros((2, 1)))
    lin = cs.linearize(cs.simulate(system, np.zeros(2), (0.0, 2.0)), tolerances=ACCURATE)
    found = lin.riccati(lambda t: np.diag([t, 0.0]), [[1.0]], np.zeros((2, 2)))
    np.testing.assert_allclose(found.P[0], [[2.0, 8.0 / 3.0], [8.0 / 3.0, 4.0]], rtol=EXACT)


# --- events -----------------------------------------------------------------------------------------------------------
def test_without_inputs_worth_their_price_it_is_the_final_weight_carried_back() -> None:
    _, lin = bouncing(1.3)
    found = lin.riccati(NOTHING, 1e14 * np.eye(3), FINAL)
    matrix = lin.matrix()
    expected = matrix.T @ FINAL @ matrix
    np.testing.assert_allclose(found.P[0], expected, rtol=0, atol=FREE * expected.max())


def test_limits_at_an_event() -> None:
    _, lin = bouncing(0.7)
    found, event = lin.riccati(NOTHING, np.eye(3), FINAL), lin.events[0]
    left, right = found.value(event.time, "-"), found.value(event.time)
    expected = event.saltation.T @ right @ event.saltation
    np.testing.assert_allclose(left, expected, rtol=0, atol=EXACT * expected.max())
    before, after = np.flatnonzero(found.t == event.time)
    np.testing.assert_allclose(found.P[before], left, rtol=0, atol=EXACT * left.max())
    np.testing.assert_allclose(found.P[after], right, rtol=0, atol=EXACT * right.max())
    np.testing.assert_allclose(found.K[before], found.gain(event.time, "-"), atol=EXACT * left.max())
    assert np.abs(found.gain(event.time, "-") - found.gain(event.time)).max() > 1.0


def test_value_is_the_cost_of_the_closed_loop() -> None:
    """Second differences of final cost and effort of runs that are disturbed in height and speed."""
    system, lin = bouncing(0.7)
    R = np.eye(3)
    gains = lin.riccati(NOTHING, R, FINAL)
    for k, h in ((1, 1e-3), (4, 1e-3)):
        costs = [closed_loop(system, lin, gains, R, sign * h * np.eye(6)[k])[0] for sign in (-1.0, 1.0)]
        assert sum(costs) / h**2 == pytest.approx(gains.P[0][k, k], rel=COST)


def closed_loop(
    system: cs.ContactSystem, lin: cs.Linearization, gains: Riccati, R: Array, dx: Array
) -> tuple[float, float]:
    """Cost of a run that starts off by `dx` and is controlled, and its distance from the reference at the end."""
    controller = cs.Tracking(gains)
    disturbed = cs.ContactSystem(system.robot, controller=controller)
    reference = lin.trajectory
    start = reference.arcs[0](0.0) + dx
    traj = cs.simulate(disturbed, cs.State(start[:3], start[3:]), (0.0, lin.t1), tolerances=ACCURATE)
    traj.check()

    def effort(t: float) -> float:
        state = traj(t)
        u = controller.torque(t, state.q, state.v, state.z)
        return 0.5 * float(u @ R @ u)

    off = traj.final_x - reference.final_x
    times = sorted({event.time for event in (*traj.events, *reference.events)})
    spent = quad_vec(effort, 0.0, lin.t1, epsabs=1e-12, epsrel=1e-6, limit=100, points=times)[0]
    return 0.5 * float(off @ FINAL @ off) + spent, float(np.linalg.norm(off))


@pytest.mark.parametrize("end", [0.6, 1.3])
@pytest.mark.parametrize("dz", [-0.02, 0.02])
def test_gains_that_know_of_the_events_do_better(end: float, dz: float) -> None:
    """Against those with D_x R in place of the saltation matrix: lower cost, and closer to the reference."""
    system, lin = bouncing(end)
    R, dx = 10.0 * np.eye(3), np.array([0.0, dz, 0.0, 0.0, 0.0, 0.0])
    aware = lin.riccati(NOTHING, R, FINAL)
    unaware = riccati(lin, NOTHING, R, FINAL, across=lambda event: event.events[0].transition.derivative())
    cost, off = closed_loop(system, lin, aware, R, dx)
    cost_without, off_without = closed_loop(system, lin, unaware, R, dx)
    assert cost < BETTER * cost_without
    assert off < BETTER * off_without
    assert cost == pytest.approx(0.5 * dx @ aware.P[0] @ dx, rel=SECOND_ORDER)


def test_undisturbed_run_is_left_alone() -> None:
    system, lin = bouncing(0.7)
    _, off = closed_loop(system, lin, lin.riccati(NOTHING, np.eye(3), FINAL), np.eye(3), np.zeros(6))
    assert off < UNDISTURBED


# --- odd input --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("weights", "sentence"),
    [
        ((np.eye(3), np.eye(2), np.eye(4)), r"on the arc that ends at t = 1 s: Q has shape \(3, 3\)"),
        ((lambda t: np.eye(2), np.eye(2), np.eye(4)), r"Q\(1 s\) has shape \(2, 2\)"),
        ((-np.eye(4), np.eye(2), np.eye(4)), "Q has the negative eigenvalue -1"),
        ((np.eye(4), np.eye(3), np.eye(4)), r"R has shape \(3, 3\); here it needs \(2, 2\)"),
        ((np.eye(4), np.zeros((2, 2)), np.eye(4)), "R has the eigenvalue 0; give a positive definite matrix"),
        ((np.eye(4), np.eye(2), np.ones((4, 3))), r"Q_final has shape \(4, 3\)"),
        ((np.eye(4), np.eye(2), np.triu(np.ones((4, 4)))), "Q_final is not symmetric"),
    ],
)
def test_weights_that_cannot_be_used(weights: tuple, sentence: str) -> None:
    lin = cs.linearize(cs.simulate(driven(), np.zeros(4), (0.0, 1.0)))
    with pytest.raises(cs.InputError, match=sentence):
        lin.riccati(*weights)


def test_system_without_inputs() -> None:
    lin = cs.linearize(cs.simulate(BallOnTable(0.5), [1.0, 0.0], (0.0, 0.2)))
    with pytest.raises(cs.InputError, match=r"BallOnTable has no inputs in the mode air at t = 0 s; let Flow.input_m"):
        lin.riccati(np.eye(2), [[1.0]], np.eye(2))
    traj = cs.simulate(cs.ContactSystem(point_mass()), cs.State([0, 0, 1], [0, 0, 0]), (0.0, 0.1))
    with pytest.raises(cs.InputError, match="ContactSystem has no inputs"):
        cs.linearize(traj).riccati(np.eye(6), [[1.0]], np.eye(6))


def test_time_outside_the_run() -> None:
    lin = cs.linearize(cs.simulate(driven(), np.zeros(4), (0.0, 1.0)))
    with pytest.raises(cs.InputError, match=r"t = 2\.0 lies outside the run"):
        lin.riccati(np.eye(4), np.eye(2), np.eye(4)).gain(2)


def test_tracking_of_what_is_damped_too_fast_to_be_continued_back_as_far() -> None:
    """A mass that is damped at a thousand per second grows as fast backwards in time: the arc is continued by less."""
    ground = cs.Gap(lambda t, q: q[0], lambda t, q: np.array([1.0, 0.0]), name="ball")
    robot = cs.Mechanism(2, lambda q: np.diag([1.0, 0.002]), lambda t, q, v: np.array([-9.81, -2.0 * v[1]]), [ground])
    start = cs.State([0.5, 0.0], [0.0, 1.0])
    run = cs.simulate(cs.ContactSystem(robot), start, (0.0, 0.6))
    gains = cs.linearize(run).riccati(np.eye(4), np.eye(2), np.eye(4))
    with pytest.raises(cs.SimulationError, match="its motion ends before; extend it by less"):
        cs.Tracking(gains, reach=0.25 * (0.6 - run.events[0].time))
    again = cs.simulate(cs.ContactSystem(robot, controller=cs.Tracking(gains)), start, (0.0, 0.6))
    np.testing.assert_allclose(again.final_x, run.final_x, atol=UNDISTURBED)


def test_tracking_refuses_what_it_cannot_follow() -> None:
    plain = cs.linearize(cs.simulate(driven(), np.zeros(4), (0.0, 1.0))).riccati(np.eye(4), np.eye(2), np.eye(4))
    with pytest.raises(cs.InputError, match="follows runs of a ContactSystem, not of a Driven"):
        cs.Tracking(plain)
    system, lin = bouncing(0.6)
    with pytest.raises(cs.InputError, match="reach of Tracking is -1"):
        cs.Tracking(lin.riccati(NOTHING, np.eye(3), FINAL), reach=-1)
    held = cs.ContactSystem(system.robot, controller=cs.Sampled(lambda t, q, v: np.zeros(3), 0.05, 3))
    run = cs.linearize(cs.simulate(held, cs.State([0.0, 1.0, 0.0], [0.2, 0.0, 0.0]), (0.0, 0.2)))
    with pytest.raises(cs.InputError, match="without memory"):
        cs.Tracking(run.riccati(np.zeros((9, 9)), np.eye(3), np.zeros((9, 9))))
