"""One body modelled twice, as a pinocchio model and as a textbook mechanism, gives one run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import tolerances as tol
from builders import (
    TIGHT,
    modes_between_events,
    pendulum,
    pendulum_mechanism,
    planar_body,
    planar_mechanism,
)

import contactsim as cs


def assert_same_run(
    robot: cs.Robot, mechanism: cs.Mechanism, state: cs.State, end: float, names: Sequence[str], least_events: int
) -> cs.Trajectory:
    runs = [
        cs.simulate(cs.ContactSystem(model), state, (0.0, end), tolerances=cs.Tolerances(**TIGHT))
        for model in (robot, mechanism)
    ]
    first, second = runs
    assert first.status == second.status
    assert len(first.events) == len(second.events) >= least_events
    for one, other in zip(first.events, second.events, strict=True):
        assert abs(one.time - other.time) < tol.BOTH_WAYS
        assert sorted(one.contacts) == sorted(other.contacts)
        assert dict(one.transitions) == dict(other.transitions)
        np.testing.assert_allclose(one.state_post.q, other.state_post.q, rtol=0, atol=tol.BOTH_WAYS)
        np.testing.assert_allclose(one.state_post.v, other.state_post.v, rtol=0, atol=10 * tol.BOTH_WAYS)
    assert modes_between_events(first, names) == modes_between_events(second, names)
    for t in np.linspace(0.0, end, 33):
        if min((abs(t - event.time) for event in first.events), default=1.0) > 1e-6:
            np.testing.assert_allclose(first(t).q, second(t).q, rtol=0, atol=tol.BOTH_WAYS)
            np.testing.assert_allclose(first(t).v, second(t).v, rtol=0, atol=10 * tol.BOTH_WAYS)
    return first


def test_pendulum_bounces_off_the_floor() -> None:
    args = (1.2, 1.2, 0.144, 1.0, 0.1, 0.8)  # mass, length, moment, height of the pivot, friction, restitution
    start = cs.State([1.4], [0.0])
    traj = assert_same_run(pendulum(*args), pendulum_mechanism(*args), start, 2.0, ["tip"], 3)
    for event in traj.events:
        np.testing.assert_allclose(event.state_post.v, -0.8 * event.state_pre.v, rtol=1e-9)


def test_rod_falls_slides_and_comes_to_rest() -> None:
    """A leaning rod lands on one end with plastic impacts, slides, and slaps down on the other."""
    half, mass = 0.5, 0.8
    points = {"left": (-half, 0.0), "right": (half, 0.0)}
    args = (mass, mass * (2 * half) ** 2 / 12, points, 0.3, 0.0)
    start = cs.State([0.0, 0.6, 0.5], [0.7, 0.0, -0.4])
    traj = assert_same_run(planar_body(*args), planar_mechanism(*args), start, 1.5, ["left", "right"], 2)
    assert traj.mode_at(1.5) == {"left": cs.Mode.STICK, "right": cs.Mode.STICK}
    assert abs(traj.final.q[1]) < tol.GAP


def test_box_is_thrown_tumbles_and_comes_to_rest() -> None:
    b, h, mass = 0.25, 0.15, 1.5
    points = {"left": (-b, -h), "right": (b, -h)}
    args = (mass, mass * ((2 * b) ** 2 + (2 * h) ** 2) / 12, points, 0.4, 0.3)
    start = cs.State([0.0, 0.5, 0.25], [1.5, 0.3, 0.5])
    assert_same_run(planar_body(*args), planar_mechanism(*args), start, 0.475, ["left", "right"], 5)


def test_box_rocks_on_its_corners() -> None:
    b, h, mass = 0.25, 0.6, 2.0
    points = {"left": (-b, -h), "right": (b, -h)}
    args = (mass, mass * (b**2 + h**2) / 3, points, 0.9, 0.0)
    tilt = 0.15
    place = [b * np.cos(tilt) - h * np.sin(tilt), b * np.sin(tilt) + h * np.cos(tilt)]
    start = cs.State([-place[0], place[1], tilt], np.zeros(3))
    assert_same_run(planar_body(*args), planar_mechanism(*args), start, 1.5, ["left", "right"], 2)
