"""The engine has no unit of mass or length of its own: a box thrown on its corners at any scale is the same run."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import contactsim as cs

FIRST = 12  # events before corners rattle, whose order may hang on the last bit
SAME = 1e-9  # s and relative, of these events
AT_REST = 1e-6  # relative, where it comes to rest


@cache
def thrown(mass: float, size: float = 1.0) -> cs.Trajectory:
    """A box of `mass` [kg], `size` [m] and its time sqrt(size) s: falls on a corner, tumbles and comes to rest."""
    edges = size * np.array([0.2, 0.3, 0.1])
    system = cs.ContactSystem(cs.Robot.box(mass=mass, size=edges, friction=0.4, restitution=0.2))
    q = np.array([0.0, 0.0, 0.4 * size, 0.1, 0.2, 0.05, np.sqrt(1.0 - 0.0525)])
    speed, spin = np.sqrt(size), 1.0 / np.sqrt(size)
    v = np.array([speed, 0.3 * speed, 0.0, spin, 2.0 * spin, 0.5 * spin])
    return cs.simulate(system, cs.State(q, v), (0.0, 2.0 * np.sqrt(size)))


@pytest.mark.parametrize(
    "mass", [1e-9, *(pytest.param(mass, marks=pytest.mark.slow_in_python) for mass in (1e-6, 1e-3, 1e3)), 1e9]
)
def test_mass_changes_forces_and_nothing_else(mass: float) -> None:
    other, one = thrown(mass), thrown(1.0)
    other.check()
    for here, there in zip(other.events[:FIRST], one.events[:FIRST], strict=True):
        assert here.transitions == there.transitions and abs(here.time - there.time) < SAME
        whole, wanted = (sum(event.impulses.values(), np.zeros(3)) for event in (here, there))
        np.testing.assert_allclose(whole / mass, wanted, rtol=0, atol=SAME)
    np.testing.assert_allclose(other.final.q, one.final.q, rtol=0, atol=AT_REST)


@pytest.mark.parametrize("size", [1e-3, 1e-2, 1e2])
def test_a_box_of_any_size_passes_its_check(size: float) -> None:
    other, one = thrown(size**3, size), thrown(1.0)
    other.check()
    np.testing.assert_allclose(other.final.q[:3] / size, one.final.q[:3], rtol=0, atol=1e-5)


def test_a_check_is_not_blind_to_heavy_bodies() -> None:
    from dataclasses import replace

    heavy = cs.solve_contacts(np.eye(3) / 1e9, [-1.0, 0.0, 0.0], 0.5, restitution=0.0)
    heavy.verify()
    with pytest.raises(cs.CheckError, match="signorini"):  # 1e-4 m/s into the ground, beside impulses of 1e9 N s
        replace(heavy, forces=heavy.forces * (1.0 - 1e-4)).verify()
