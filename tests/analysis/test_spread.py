"""Spreads: points of perturbed runs against simulated ones, with and without what saltation matrices add."""

from __future__ import annotations

import numpy as np
import pytest
from builders import TIGHT, G, point_mass, sphere
from reference_systems import BallOnTable
from touchdowns import tripod

import contactsim as cs
from contactsim.analysis.spread import ball, carried, root
from contactsim.errors import InputError, NonDifferentiableError

Array = np.ndarray
STEP = 1e-5  # of the simulated perturbations
FIRST_ORDER = 1e-3  # relative: what is left out at STEP, and the curvature of turns


@pytest.fixture(scope="module")
def landing() -> cs.Linearization:
    """A ball that falls, bounces with friction, and flies on."""
    system = cs.ContactSystem(sphere(friction=0.2, restitution=0.6))
    start = cs.State([0, 0, 0.3, 0, 0, 0, 1], [1.0, 0.3, 0, 0, 0, 0])
    return cs.linearize(cs.simulate(system, start, (0.0, 0.35), tolerances=cs.Tolerances(**TIGHT)))


def test_points_are_those_of_perturbed_runs(landing: cs.Linearization) -> None:
    run, point = landing.trajectory, (0.03, 0.0, 0.02)
    system, space = run.system, run.system.space()
    starts = np.random.default_rng(3).normal(size=(4, landing.dim))
    found = landing.spread("ball", starts, point=point)
    assert (len(run.events), found.t[-1], found.faces) == (1, run.t[-1], None)
    assert found.centre[0] == pytest.approx([0.03, 0.0, 0.32])
    for d, offset in zip(starts, found.offsets[-1], strict=True):
        ends = []
        for sign in (1.0, -1.0):
            begin = system.state(space.integrate(system.pack(run(0.0)), sign * STEP * d))
            end = cs.simulate(system, begin, (0.0, run.t[-1]), tolerances=cs.Tolerances(**TIGHT)).final
            ends.append(system.robot.point_position("ball", end.q, point))
        assert (ends[0] - ends[1]) / (2.0 * STEP) == pytest.approx(offset, rel=FIRST_ORDER, abs=FIRST_ORDER)


def test_both_sides_of_an_event_share_a_time(landing: cs.Linearization) -> None:
    found = landing.spread("ball", np.eye(landing.dim), times=[0.1, 0.3])
    moment = landing.events[0].time
    assert found.t.tolist() == [0.0, 0.1, moment, moment, 0.3, 0.35]


def test_without_saltation_a_bounce_forgets_when_it_is_met() -> None:
    """A height more at the start is a bounce later: dz' = -(1 + e) dz behind it, and the reset alone leaves it."""
    e, drop = 0.5, 0.2
    system = cs.ContactSystem(point_mass(friction=0.0, restitution=e))
    lin = cs.linearize(cs.simulate(system, cs.State([0, 0, drop], [0, 0, 0]), (0.0, 0.3)))
    up = np.eye(6)[[2]]
    speed, left = np.sqrt(2.0 * G * drop), 0.3 - np.sqrt(2.0 * drop / G)
    right, wrong = (lin.spread("mass", up, corrected=kind).offsets[-1, 0, 2] for kind in (True, False))
    assert wrong == pytest.approx(1.0)
    jump = (1.0 + e) * G / speed  # of the velocity, for each metre: the ball lands faster and later
    assert right == pytest.approx(-e + jump * left, rel=1e-6)
    assert lin.events[0].reset[5, 5] == pytest.approx(-e)


def test_a_reset_without_a_derivative_is_differenced() -> None:
    lin = cs.linearize(cs.simulate(BallOnTable(0.5), np.array([0.2, 0.0]), (0.0, 0.3)))
    assert lin.events[0].reset == pytest.approx(np.diag([1.0, -0.5]), abs=1e-9)


def test_a_ball_of_tilts_is_bent_where_three_feet_touch_down() -> None:
    case = tripod()
    lin = cs.linearize(case.run())
    half = lin.dim // 2
    starts = ball(np.eye(lin.dim)[[3, 4, 2]], 30)
    seen = np.eye(lin.dim)[half + np.array([3, 4, 2])]
    found = lin.spread("body", starts, shown=seen)
    assert found.offsets[-1] == pytest.approx(lin(starts) @ seen.T, rel=1e-6, abs=1e-9)
    assert np.abs(found.offsets[-1] + lin(-starts) @ seen.T).max() > 0.1  # not linear
    assert len(found.faces) == 2 * 30 - 4  # Euler's formula for triangles around a ball
    with pytest.raises(NonDifferentiableError, match="change together"):
        lin.spread("body", covariance=np.eye(lin.dim))


def test_covariances_are_those_of_the_state(landing: cs.Linearization) -> None:
    P0 = np.cov(np.random.default_rng(5).normal(size=(landing.dim, 40)))
    found = landing.spread("ball", covariance=P0, times=landing.trajectory.t)
    P = landing.covariance(P0)
    turn = np.eye(3)  # of the ball's frame at the end, in which its velocity is given
    x, y, z, w = landing.trajectory.final.q[3:]
    turn = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
    assert found.covariances[-1] == pytest.approx(turn @ P.final[:3, :3] @ turn.T, rel=1e-5, abs=1e-7)


def test_a_root_of_a_covariance() -> None:
    rows = np.random.default_rng(1).normal(size=(2, 5))
    P = rows.T @ rows
    found = root(P)
    assert found.shape == (2, 5)
    assert found.T @ found == pytest.approx(P, abs=1e-12)
    assert root(np.zeros((3, 3))).shape == (0, 3)


def test_points_of_a_ball_are_even() -> None:
    points = ball(np.eye(3), 500)
    assert np.linalg.norm(points, axis=1) == pytest.approx(np.ones(500))
    assert points.mean(axis=0) == pytest.approx(np.zeros(3), abs=1e-3)
    assert points.T @ points / 500 == pytest.approx(np.eye(3) / 3.0, abs=1e-3)


def test_mistakes_are_told(landing: cs.Linearization) -> None:
    with pytest.raises(InputError, match="give one of them"):
        landing.spread("ball")
    with pytest.raises(InputError, match=r"the starts have shape \(2, 3\); give finite tangent vectors \(m, 12\)"):
        landing.spread("ball", np.zeros((2, 3)))
    with pytest.raises(InputError, match="no frame 'foot'"):
        landing.spread("foot", np.zeros((1, 12)))
    with pytest.raises(InputError, match="give three rows of finite numbers"):
        landing.spread("ball", np.zeros((1, 12)), shown=np.eye(2))
    with pytest.raises(InputError, match="give three rows"):
        ball(np.eye(2))
    lin = cs.linearize(cs.simulate(BallOnTable(0.5), np.array([0.2, 0.0]), (0.0, 0.1)))
    with pytest.raises(InputError, match="spread that of a Robot"):
        lin.spread("ball", np.eye(2))
    assert len(list(carried(lin, np.eye(2), np.empty(0)))) == 2
