"""Covariances along runs against closed forms and against scattered runs."""

from __future__ import annotations

import os

import numpy as np
import pytest
from builders import TIGHT, G, planar_body
from reference_systems import BallOnTable, SimplestWalker, rimless_wheel, slope_ball

import contactsim as cs

EXACT = 1e-9  # relative to the largest entry: variations with TIGHT tolerances
ERRORS = 5.0  # a sample covariance may be off by so many of its standard errors, plus
CURVED = 0.02  # this share of its entries, for what first order leaves out at the scatter used here
SLOW = os.environ.get("CONTACTSIM_SLOW") == "1"
Array = np.ndarray


def linearized(system: cs.HybridSystem, x: object, end: float) -> cs.Linearization:
    tight = cs.Tolerances(**TIGHT)
    return cs.linearize(cs.simulate(system, x, (0.0, end), tolerances=tight), tolerances=tight)


def assert_close(found: Array, expected: Array) -> None:
    np.testing.assert_allclose(found, expected, rtol=0, atol=EXACT * np.abs(expected).max())


def spread(seed: int, n: int, scale: float = 1.0) -> Array:
    root = scale * np.random.default_rng(seed).normal(size=(n, n))
    return root @ root.T


# --- closed forms -----------------------------------------------------------------------------------------------------
def falling(t: float, P: Array, w: float) -> Array:
    """Covariance of q'' = -g + white noise of density w."""
    phi = np.array([[1.0, t], [0.0, 1.0]])
    return phi @ P @ phi.T + w * np.array([[t**3 / 3.0, t**2 / 2.0], [t**2 / 2.0, t]])


@pytest.mark.parametrize("w", [None, 0.0, 0.3])
def test_free_fall_at_every_sample(w: float | None) -> None:
    lin, P0 = linearized(BallOnTable(0.5), [100.0, 0.0], 2.0), spread(0, 2)
    found = lin.covariance(P0, None if w is None else np.diag([0.0, w]))
    np.testing.assert_array_equal(found.t, lin.trajectory.t)
    for t, P in zip(found.t, found.P, strict=True):
        assert_close(P, falling(t, P0, w or 0.0))
    assert_close(found.final, found.P[-1])


def test_noise_as_a_function_of_time() -> None:
    """Noise 2 t on the velocity: its variance grows by t^2."""
    lin = linearized(BallOnTable(0.5), [100.0, 0.0], 2.0)
    found = lin.covariance(np.zeros((2, 2)), lambda t: np.diag([0.0, 2.0 * t]))
    np.testing.assert_allclose(found.P[:, 1, 1], found.t**2, atol=EXACT * 4)


def test_both_sides_of_an_impact_and_noise_through_it() -> None:
    lin, P0, w = linearized(BallOnTable(0.9), [1.0, 0.0], 0.8), spread(1, 2), 0.2
    found = lin.covariance(P0, np.diag([0.0, w]))
    fall = np.sqrt(2.0 / G)
    before, after = np.flatnonzero(found.t == lin.events[0].time)
    saltation = np.array([[-0.9, 0.0], [1.9 * G / (G * fall), -0.9]])
    saltation[1, 0] = -(1.9 * G) / (-G * fall)
    assert_close(found.P[before], falling(fall, P0, w))
    assert_close(found.P[after], saltation @ falling(fall, P0, w) @ saltation.T)
    assert_close(found.final, falling(0.8 - fall, found.P[after], w))


def test_without_noise_it_is_the_matrix_of_the_run() -> None:
    case = rimless_wheel()
    lin, P0 = linearized(case.system, case.x, 3.0), spread(2, 2)
    assert len(lin.events) == 2
    assert_close(lin.covariance(P0).final, lin.matrix() @ P0 @ lin.matrix().T)


# --- scattered runs ---------------------------------------------------------------------------------------------------
def assert_samples(states: Array, P: Array) -> None:
    """The sample covariance of `states` (N, n) agrees with `P`."""
    found = np.cov(states.T)
    error = np.sqrt((np.outer(np.diag(P), np.diag(P)) + P**2) / len(states))
    size = np.sqrt(np.outer(np.diag(P), np.diag(P)))
    assert np.all(np.abs(found - P) <= ERRORS * error + CURVED * size + 1e-15), (found, P)


@pytest.mark.parametrize("sticks", [False, True], ids=["slides", "sticks"])
def test_balls_scattered_above_the_slope(sticks: bool) -> None:
    """10^5 balls by the closed form of their flight."""
    case, P0 = slope_ball(sticks), spread(3, 4, 0.003)
    x = np.random.default_rng(4).multivariate_normal(case.x, P0, size=100_000)
    height, closing = x[:, 0] + x[:, 1] - 1.0, x[:, 2] + x[:, 3]
    t = (closing + np.sqrt(closing**2 + 2.0 * G * height)) / G
    place = x[:, :2] + x[:, 2:] * t[:, None]
    place[:, 1] -= 0.5 * G * t**2
    rest = (case.time - t)[:, None]
    down = np.array([1.0, -1.0])
    speed = 0.0 * rest if sticks else 0.5 * (x[:, 2] - x[:, 3] + G * t)[:, None]
    pull = 0.0 if sticks else 0.5 * G
    states = np.hstack([place + down * (speed * rest + 0.5 * pull * rest**2), down * (speed + pull * rest)])
    assert_samples(states, linearized(case.system, case.x, case.time).covariance(P0).final)


def test_robots_that_land_on_a_foot() -> None:
    """A body whose foot lands and sticks: it tips over the foot, from scattered heights, angles and velocities."""
    robot = planar_body(2.0, 0.1, {"foot": (0.1, -0.3)}, friction=2.0, restitution=0.0)
    system, start = cs.ContactSystem(robot), np.array([0.0, 0.4, 0.1, 0.3, 0.0, -0.5])
    P0 = spread(5, 6, 0.002)
    lin = linearized(system, cs.State(start[:3], start[3:]), 0.3)
    assert [event.transitions["foot"][1] for event in lin.trajectory.events] == [cs.Mode.STICK]
    rng, ends = np.random.default_rng(6), []
    for x in rng.multivariate_normal(start, P0, size=10_000 if SLOW else 300):
        final = cs.simulate(system, cs.State(x[:3], x[3:]), (0.0, 0.3)).final
        ends.append(np.concatenate([final.q, final.v]))
    assert_samples(np.array(ends), lin.covariance(P0).final)


# --- odd input --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("P0", "sentence"),
    [
        (np.eye(3), r"P0 has shape \(3, 3\); here it needs \(2, 2\)"),
        (1.0, r"P0 has shape \(\); here it needs"),
        ([[1.0, 0.5], [0.0, 1.0]], "P0 is not symmetric"),
        (np.diag([1.0, -1e-3]), "P0 has the negative eigenvalue"),
        (np.diag([1.0, np.nan]), "P0 holds NaN"),
        ("wide", "P0 is a str"),
    ],
)
def test_start_that_is_no_covariance(P0: object, sentence: str) -> None:
    with pytest.raises(cs.InputError, match=sentence):
        linearized(BallOnTable(0.5), [1.0, 0.0], 0.2).covariance(P0)


@pytest.mark.parametrize("noise", [np.eye(3), -np.eye(2), lambda t: np.eye(4)])
def test_noise_that_is_none(noise: object) -> None:
    with pytest.raises(cs.InputError, match=r"on the arc from t = 0 s: noise"):
        linearized(BallOnTable(0.5), [1.0, 0.0], 0.2).covariance(np.eye(2), noise)


def test_start_without_scatter_stays_without() -> None:
    case = rimless_wheel()
    assert not linearized(case.system, case.x, 1.5).covariance(np.zeros((2, 2))).P.any()


def test_event_without_a_single_matrix() -> None:
    """A box that lands flat on two corners, each of which may be first."""
    points = {"left": (-0.5, -0.2), "right": (0.5, -0.2)}
    box = planar_body(1.0, 0.25, points, friction=0.0, restitution=0.5)
    lin = linearized(cs.ContactSystem(box), cs.State([0.0, 0.3, 0.0], [0.0, -3.0, 0.0]), 0.2)
    with pytest.raises(cs.NonDifferentiableError, match="left, right change together"):
        lin.covariance(np.eye(6))


def test_samples_are_those_of_the_recorded_run() -> None:
    walker, x = SimplestWalker(), np.array([0.2003109, 0.4006218, -0.1998325, -0.0158])
    lin = cs.linearize(cs.simulate(walker, x, (0.0, 5.0), record_period=0.5))
    found = lin.covariance(np.eye(4))
    np.testing.assert_array_equal(found.t, lin.trajectory.t)
    assert found.P.shape == (len(found.t), 4, 4)


@pytest.mark.parametrize("w", [None, 1e-3])
def test_no_variance_of_what_sticks_is_negative(w: float | None) -> None:
    """A box lands on its corners and stays: neither its height nor its slip scatters, but for rounding."""
    box = cs.Robot.box(1.0, (0.2, 0.3, 0.1), friction=0.8)
    turn = np.array([0.02, 0.01, 0.0, 1.0]) / np.hypot(1.0, np.hypot(0.02, 0.01))
    start = cs.State([0, 0, 0.06, *turn], [0.3, 0.1, 0, 0.2, 0.1, 0])
    lin = cs.linearize(cs.simulate(cs.ContactSystem(box), start, (0.0, 0.3)))
    P0 = spread(3, lin.dim, 1e-3)
    found = lin.covariance(P0, None if w is None else w * np.eye(lin.dim))
    known = found.P[~np.isnan(found.P).any(axis=(1, 2))]
    assert (np.diagonal(known, axis1=1, axis2=2) >= 0.0).all()
    if w is None:
        assert_close(found.final, lin.matrix() @ P0 @ lin.matrix().T)
        assert np.linalg.eigvalsh(found.final).min() > -1e-16 * np.abs(found.final).max()
