"""Variations that bring several guards to zero at one instant: they take no order, and have a derivative."""

from __future__ import annotations

import numpy as np
import pytest

import contactsim as cs

Array = np.ndarray
G, HALF, FALL, END = 9.81, 0.05, 0.1, 0.25  # m/s^2, m, m, s
FINE = cs.Tolerances(rtol=1e-10, atol=1e-12)


def fallen(restitution: float, fall: float = FALL, v: Array | None = None) -> cs.Trajectory:
    """A box that falls flat onto its four corners, and slides."""
    box = cs.Robot.box(1.0, (0.2, 0.3, 2.0 * HALF), friction=0.5, restitution=restitution)
    q = np.array([0.0, 0.0, HALF + fall, 0.0, 0.0, 0.0, 1.0])
    v = np.array([0.3, 0.0, 0.0, 0.0, 0.0, 0.0]) if v is None else v
    return cs.simulate(cs.ContactSystem(box), cs.State(q, v), (0.0, END), tolerances=FINE)


def height(restitution: float, fall: complex) -> Array:
    """Of the centre at the end, and how fast it rises [m, m/s]: a ball's."""
    speed = np.sqrt(2.0 * G * fall)
    left, speed = END - speed / G, restitution * speed
    while left.real > 2.0 * speed.real / G and speed.real > 0.0:
        left, speed = left - 2.0 * speed / G, restitution * speed
    return np.array([HALF + speed * left - 0.5 * G * left**2, speed - G * left])


@pytest.mark.parametrize("restitution", [0.3, 0.6])
def test_a_box_that_falls_flat_bounces_as_a_ball_does(restitution: float) -> None:
    """Each corner alone would turn it, and orders end apart; none of the runs that start higher takes one."""
    run = fallen(restitution)
    assert all(len(event.fired) == 4 for event in run.events)
    dx = np.zeros(12)
    dx[2] = 1.0
    found = cs.linearize(run)(dx)
    expected = height(restitution, FALL + 1e-30j).imag / 1e-30
    np.testing.assert_allclose(found[[2, 8]], expected, rtol=1e-8)


@pytest.mark.parametrize("k", [0, 1, 2])
def test_one_that_slides_stops_further_on(k: int) -> None:
    """Varied in its velocity: the friction of its landing is that of all corners at once."""
    lin, dv, h = cs.linearize(fallen(0.0)), np.zeros(6), 1e-5
    dv[k] = 1.0
    ends = [fallen(0.0, v=np.array([0.3, 0.0, 0.0, 0.0, 0.0, 0.0]) + s * h * dv).final for s in (1.0, -1.0)]
    by_differences = np.concatenate([(ends[0].q - ends[1].q)[:3], (ends[0].v - ends[1].v)[:3]]) / (2.0 * h)
    found = lin(np.concatenate([np.zeros(6), dv]))
    np.testing.assert_allclose(found[[0, 1, 2, 6, 7, 8]], by_differences, atol=1e-7)


@pytest.mark.parametrize("k", [3, 4, 9, 10])
def test_what_tilts_it_is_refused(k: int) -> None:
    lin, dx = cs.linearize(fallen(0.3)), np.zeros(12)
    dx[k] = 1.0
    with pytest.raises(cs.NonDifferentiableError, match="change together"):
        lin(dx)
    with pytest.raises(cs.NonDifferentiableError, match="change together"):
        lin(np.eye(12)[[2, k]])
    with pytest.raises(cs.NonDifferentiableError, match="change together"):
        lin.matrix()


def test_a_matrix_of_starts_that_cannot_part_them() -> None:
    """A plank whose tilt a slider takes: all that is left to vary is how high it is."""
    joints = '<joint name="{0}" type="{1}"><parent link="{2}"/><child link="{3}"/><axis xyz="0 0 1"/>{4}</joint>'
    mass = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    limit = '<limit lower="-10" upper="10" effort="1" velocity="1"/>'
    lift = joints.format("lift", "prismatic", "base", "plank", limit)
    text = f'<robot name="lift"><link name="base"/><link name="plank">{mass}</link>{lift}</robot>'
    corners = [(x, y, 0.0) for x in (-0.1, 0.1) for y in (-0.1, 0.1)]
    feet = [cs.ContactPoint("plank", place, restitution=0.5, name=f"foot{k}") for k, place in enumerate(corners)]
    robot = cs.Robot.from_urdf(text, contacts=feet, root="fixed")
    run = cs.simulate(cs.ContactSystem(robot), cs.State([FALL], [0.0]), (0.0, END), tolerances=FINE)
    expected = height(0.5, FALL + 1e-30j).imag / 1e-30
    np.testing.assert_allclose(cs.linearize(run).matrix()[:, 0], expected, rtol=1e-8)
