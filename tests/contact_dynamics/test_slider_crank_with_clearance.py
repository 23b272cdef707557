"""Slider-crank with a slider that has clearance: Flores, Leine and Glocker, Multibody System Dynamics 23, 2010.

An open chain of three revolute joints; the four corners of the slider touch the walls of its guide.
"""

from __future__ import annotations

import numpy as np
import pytest
import tolerances as tol
from builders import G

import contactsim as cs

Array = np.ndarray

CRANK, ROD = 0.153, 0.306  # lengths [m]
HALF_LENGTH, HALF_HEIGHT, CLEARANCE = 0.05, 0.025, 0.001  # of the slider, and what it has on either side [m]
MASSES, MOMENTS = (0.038, 0.038, 0.076), (7.4e-5, 5.9e-4, 2.7e-6)  # kg, kg m^2
PUBLISHED_SPEED = 1e-8  # rad/s, of 150
CORNERS = {"rear_top": (-1, 1), "front_top": (1, 1), "rear_bottom": (-1, -1), "front_bottom": (1, -1)}


def corner(name: str, along: int, side: int, restitution: float, friction: float) -> cs.Gap:
    """A corner and the wall that it can touch, at `side` times half the height of the guide."""

    def gap(t: float, q: Array) -> float:
        height = CRANK * np.sin(q[0]) + ROD * np.sin(q[1])
        height += along * HALF_LENGTH * np.sin(q[2]) + side * HALF_HEIGHT * np.cos(q[2])
        return HALF_HEIGHT + CLEARANCE - side * height

    def normal(t: float, q: Array) -> Array:
        turn = along * HALF_LENGTH * np.cos(q[2]) - side * HALF_HEIGHT * np.sin(q[2])
        return -side * np.array([CRANK * np.cos(q[0]), ROD * np.cos(q[1]), turn])

    def tangent(t: float, q: Array) -> Array:
        turn = -along * HALF_LENGTH * np.sin(q[2]) - side * HALF_HEIGHT * np.cos(q[2])
        return np.array([[-CRANK * np.sin(q[0]), -ROD * np.sin(q[1]), turn]])

    return cs.Gap(gap, normal, tangent, friction=friction, restitution=restitution, name=name)


def mechanism(restitution: float = 0.4, friction: float = 0.01) -> cs.Mechanism:
    """Absolute angles of crank, rod and slider; the slider is pinned to the rod at its centre of mass."""
    crank, rod, slider = MASSES
    far = rod / 2 + slider  # what moves with the far end of the rod
    weights = [(crank / 2 + rod + slider) * G * CRANK, far * G * ROD]

    def mass(q: Array) -> Array:
        coupling = far * CRANK * ROD * np.cos(q[0] - q[1])
        first = MOMENTS[0] + crank * CRANK**2 / 4 + (rod + slider) * CRANK**2
        second = MOMENTS[1] + rod * ROD**2 / 4 + slider * ROD**2
        return np.array([[first, coupling, 0.0], [coupling, second, 0.0], [0.0, 0.0, MOMENTS[2]]])

    def force(t: float, q: Array, v: Array) -> Array:
        turning = far * CRANK * ROD * np.sin(q[0] - q[1])
        return np.array(
            [
                -turning * v[1] ** 2 - weights[0] * np.cos(q[0]),
                turning * v[0] ** 2 - weights[1] * np.cos(q[1]),
                0.0,
            ]
        )

    gaps = [corner(name, *place, restitution, friction) for name, place in CORNERS.items()]
    return cs.Mechanism(3, mass, force, gaps)


def test_the_slider_meets_its_guide_with_two_corners_at_once() -> None:
    tight = cs.Tolerances(rtol=1e-12, atol=1e-13)
    start = cs.State(np.zeros(3), [150.0, -75.0, 0.0])
    traj = cs.simulate(cs.ContactSystem(mechanism()), start, (0.0, 0.003), tolerances=tight)
    event = traj.events[0]
    assert event.time == pytest.approx(0.0026925027520, abs=tol.PUBLISHED_TIME)
    assert set(event.contacts) == {"rear_top", "front_top"}
    np.testing.assert_allclose(event.state_pre.v, [109.5576815432, -49.3307899619, 0.0], rtol=0, atol=PUBLISHED_SPEED)
    np.testing.assert_allclose(event.state_post.v, [108.7245800018, -52.8422904203, 0.0], rtol=0, atol=PUBLISHED_SPEED)
