"""Pinocchio's own dynamics of sticking contacts against the rows of the same contacts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import contactsim as cs
from contactsim.contact.modes import ContactState, Mode, SystemMode


def mechanism_of(name: str, radius: float | None, slope: float):
    robot = cs.load_robot(name)
    if radius is not None:
        robot = robot.with_contacts([replace(point, radius=radius) for point in robot.contacts])
    return robot, cs.ContactSystem(robot, cs.terrain.Slope(slope)).mechanism


@pytest.mark.parametrize("radius", [None, 0.0, 0.03])
@pytest.mark.parametrize("slope", [0.0, 0.2])
@pytest.mark.parametrize("closed", [(0,), (0, 3), (0, 1, 2, 3)])
def test_sticking_feet_by_both_ways(radius: float | None, slope: float, closed: tuple[int, ...]) -> None:
    robot, mechanism = mechanism_of("solo12", radius, slope)
    rng = np.random.default_rng(len(closed))
    states = tuple(ContactState(Mode.STICK) if i in closed else ContactState() for i in range(len(mechanism.all_names)))
    quick = mechanism.shortcut(SystemMode(states))
    assert quick is not None
    for _ in range(5):
        q = robot.space.integrate(robot.nominal, 0.3 * rng.normal(size=robot.nv))
        v, applied = 3.0 * rng.normal(size=robot.nv), rng.normal(size=robot.nv)
        terms = mechanism.terms(0.0, q, v, closed)
        mass = np.triu(terms.mass) + np.triu(terms.mass, 1).T
        free, moved = np.linalg.solve(mass, terms.force + applied), np.linalg.solve(mass, terms.rows.T)
        wanted = np.linalg.solve(terms.rows @ moved, -(terms.rows @ free + terms.bias))
        acceleration, forces = quick(q, v, applied)
        size = np.abs(free).max()
        np.testing.assert_allclose(acceleration, free + moved @ wanted, atol=1e-11 * size)
        np.testing.assert_allclose(forces(), wanted, atol=1e-11 * np.abs(wanted).max())
        np.testing.assert_allclose(mechanism.rates(0.0, q, v, closed), terms.rates, atol=1e-13 * np.abs(v).max())
