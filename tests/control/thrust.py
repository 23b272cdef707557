"""A ball with thrust that bounces on level ground, as the tests of control share it."""

from __future__ import annotations

import numpy as np

import contactsim as cs

G = 9.81


def ball(restitution: float = 0.75) -> cs.ContactSystem:
    """A mass of 1 kg with one coordinate, its height."""
    gap = cs.Gap(
        gap=lambda t, q: q[0],
        normal=lambda t, q: np.ones(1),
        tangent=lambda t, q: np.zeros((0, 1)),
        friction=0.0,
        restitution=restitution,
        name="ball",
    )
    weight = np.array([-G])
    return cs.ContactSystem(cs.Mechanism(n=1, mass=lambda q: np.eye(1), force=lambda t, q, v: weight, contacts=[gap]))


def in_flight(count: int, dt: float, z: float, v: float) -> tuple[np.ndarray, np.ndarray]:
    """Last height and speed without an impact: (2, count) by the inputs, and (2,) without any."""
    after = (count - 1 - np.arange(count)) * dt
    by_inputs = np.array([dt * after + 0.5 * dt**2, np.full(count, dt)])
    T = count * dt
    return by_inputs, np.array([z + v * T - 0.5 * G * T**2, v - G * T])
