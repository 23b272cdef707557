"""The search for the point of an outline that is nearest to hills, without a contact that asks for it."""

from __future__ import annotations

import numpy as np
import pytest

import contactsim as cs
from contactsim.errors import SingularError
from contactsim.multibody.geometry.features import Place
from contactsim.multibody.geometry.nearest_on_hills import NearestPoint, Outline

HILLS = cs.terrain.Sinusoid(0.1, 2.0, 1.5)
TOP = np.array([np.pi / 4.0, 0.0, 0.1])
HALF = 0.2  # m, of the edge


def edge(radius: float = 0.0) -> Outline:
    """An edge along y, with its middle at the origin of its body."""
    into, room, samples = np.array([[1.0], [-1.0]]), np.full(2, HALF), np.linspace(-HALF, HALF, 5)[:, None]
    along, none = np.array([[0.0, 1.0, 0.0]]), np.zeros((0, 3))
    return Outline(HILLS, np.zeros(3), along, into, room, none, samples, 0.25 * HALF, radius, 0.0, 0.01)


def above(height: float, aside: float = 0.0) -> Place:
    """A place above the top of a hump, aside along the edge."""
    return Place(np.eye(3), np.add(TOP, [0.0, aside, height]), np.eye(3), np.zeros(3))


@pytest.mark.parametrize("radius", [0.0, 0.05])
def test_above_the_top_of_a_hump_the_point_below_is_nearest(radius: float) -> None:
    """By symmetry, as far as the edge is moved along itself; M is the curvature k of the hump over 1 + k height."""
    aside, height = 0.1, radius + 0.001
    here, of = above(height, aside), edge(radius)
    found = NearestPoint(of).own(here)
    assert found is not None
    np.testing.assert_allclose(found.core, np.add(TOP, [0.0, 0.0, height]), rtol=0.0, atol=1e-12)
    assert found.way[0] == pytest.approx(-aside, abs=1e-12)
    assert of.gap_of(found) == pytest.approx(height - radius, abs=1e-12)
    bend = 0.1 * 1.5**2
    assert of.bent_at(here.R_a, found)[0, 0] == pytest.approx(bend / (1.0 + height * bend), rel=1e-9)


def test_beyond_its_ends_only_what_is_held_has_a_point() -> None:
    search, here = NearestPoint(edge()), above(0.0, HALF + 0.01)
    assert search.own(here) is None
    assert search.held(here).way[0] == pytest.approx(-HALF - 0.01, abs=1e-12)


def test_well_above_the_ground_nothing_is_looked_for() -> None:
    search, here = NearestPoint(edge()), above(1.0)
    distance, near = search.clearance(here)
    assert not near and 0.0 < distance < 1.0
    assert not search.looked(here).starts
    with pytest.raises(SingularError, match="is not found"):
        search.held(here)
