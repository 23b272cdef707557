"""Derivatives through the events of rolling and torsional friction, against differences of the simulation."""

from __future__ import annotations

import numpy as np
import pytest
from differenced_runs import largest_error

import contactsim as cs

BOUND = 1e-6


def thrown(velocity: object, spin: object, height: float = 0.15) -> cs.State:
    return cs.State([0.0, 0.0, height, 0.0, 0.0, 0.0, 1.0], np.concatenate([velocity, spin]))


def ball(**coefficients: float) -> cs.Robot:
    return cs.Robot.sphere(2.0, 0.1, friction=0.5, **coefficients)


def test_through_the_impact_and_the_stops_of_both_spins() -> None:
    system = cs.ContactSystem(ball(rolling=0.02, torsion=0.01))
    parameters = ["contact.rolling", "contact.ball.torsion", "gravity"]
    assert largest_error(system, thrown([0.4, 0.2, 0], [1, 1, 5.0]), 0.35, 1, parameters) < BOUND


@pytest.mark.slow_in_python
def test_through_breaking_away() -> None:
    system = cs.ContactSystem(ball(rolling=0.01), controller=lambda t, q, v: np.array([0, 0, 0, 0.3 * t, 0.2 * t, 0]))
    assert largest_error(system, thrown([0, 0, 0], [0, 0, 0], 0.11), 1.0, 1, ["contact.rolling"]) < BOUND


@pytest.mark.slow
def test_on_hills_and_on_another_ball() -> None:
    hills = cs.ContactSystem(ball(rolling=0.02, torsion=0.01), terrain=cs.terrain.Sinusoid(0.05, 0.3, 0.2))
    assert largest_error(hills, thrown([0.4, 0.2, 0], [1, 1, 5.0], 0.25), 0.5) < BOUND
    big = cs.Robot.sphere(5.0, 0.5, "big", friction=0.6, torsion=0.01)
    small = cs.Robot.sphere(0.5, 0.1, "small", friction=0.6, rolling=0.01)
    both = cs.Robot.merge([big, small], names=["big", "small"])
    q, v = both.pack(
        {
            "big": ([0, 0, 0.505, 0, 0, 0, 1], np.zeros(6)),
            "small": ([0.02, 0.03, 1.13, 0, 0, 0, 1], [0, 0, 0, 1, 2, 3.0]),
        }
    )
    assert largest_error(cs.ContactSystem(both), cs.State(q, v), 0.2) < BOUND
