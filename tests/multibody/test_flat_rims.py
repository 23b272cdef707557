"""A disc that comes to lie flat on an edge: its rim runs along that the faster, the less it is tilted."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from contactsim.multibody.geometry.features import Bodies, Place
from contactsim.multibody.geometry.gap_tables import RimsOnLines
from contactsim.multibody.geometry.polyhedra import polyhedron_of_box
from contactsim.multibody.geometry.rims import MEETING, Ridge, Rim, RimOnLines, RimOnPart, rim_on

R = 0.1  # m
SPIN = np.array([0.3, -0.2, 0.5])  # rad/s


def _rim_above_an_edge() -> RimOnLines:
    """The lower rim of a cylinder against an upper edge of a box, along x at y = 0.2 and z = 0.1."""
    solid = polyhedron_of_box((0.4, 0.4, 0.2))
    number = int(
        np.argmax(
            [
                abs(d[0]) > 0.9 and solid.vertices[e].min(axis=0)[2] > 0 and solid.vertices[e][0][1] > 0
                for d, e in zip(solid.directions, solid.edges, strict=True)
            ]
        )
    )
    return RimOnLines(Rim(R, 0.05, -1.0), Ridge(solid, number))


@pytest.mark.parametrize("tilt", [1e-2, 1e-4, 1e-6])
def test_points_run_along_an_edge_as_the_tilt_says(tilt: float) -> None:
    """The lowest point on a chord is at its end; as the disc turns, by differences in units of its tilt."""
    rim = _rim_above_an_edge()
    turn = pin.exp3(np.array([0.3, 0.0, 0.0])) @ pin.exp3(np.array([0.0, tilt, 0.0]))
    chord = np.sqrt(R**2 - 0.04**2)  # half of it: an end of it touches
    place = np.array([0.01, 0.2, 0.1]) + turn @ np.array([0.0, 0.04, 0.05 + np.sin(tilt) * chord])
    still = np.zeros(6)

    def met(s: float) -> np.ndarray:
        R_a = pin.exp3(s * SPIN) @ turn
        o_a = pin.exp3(s * SPIN) @ place
        V_a = np.r_[np.zeros(3), SPIN]
        return np.hstack(rim.meet(Bodies(R_a, o_a, np.eye(3), np.zeros(3), V_a, still, still, still), MEETING))

    h = 1e-3 * tilt
    found, ahead, behind = met(0.0), met(h), met(-h)
    for first, second in ((slice(0, 3), slice(3, 6)), (slice(6, 9), slice(9, 12))):
        rate = (ahead[first] - behind[first]) / (2.0 * h)
        assert np.allclose(rate, found[second], rtol=1e-4, atol=1e-5 * np.abs(found[second]).max())


def _second_derivatives(rim: RimOnPart, turn: np.ndarray, place: np.ndarray, step: float = 1e-30) -> np.ndarray:
    """Those of point and normal of a disc that turns, by a complex step."""
    ahead, still = 1j * step * pin.skew(SPIN), np.zeros(6)
    moving = turn + ahead @ turn, place + ahead @ place, np.eye(3), np.zeros(3), np.r_[np.zeros(3), SPIN]
    met = rim.meet(Bodies(*moving, *[still] * 3), MEETING)
    return np.hstack([met.x_rate.imag, met.n_rate.imag]) / step


def _bending(tilt: float) -> np.ndarray:
    """Of a disc on an edge, at a tilt."""
    turn = pin.exp3(np.array([0.3, 0.0, 0.0])) @ pin.exp3(np.array([0.0, tilt, 0.0]))
    chord = np.sqrt(R**2 - 0.04**2)
    place = np.array([0.01, 0.2, 0.1]) + turn @ np.array([0.0, 0.04, 0.05 + np.sin(tilt) * chord])
    return _second_derivatives(_rim_above_an_edge(), turn, place)


def test_accelerations_have_a_limit_as_a_disc_comes_to_lie_flat() -> None:
    """Rim and edge cross there as elsewhere: nothing is divided by the tilt, or only rounding would be left."""
    limit = _bending(1e-9)
    for tilt in (1e-8, 1e-7, 1e-6, 1e-5, 1e-4):
        assert np.allclose(_bending(tilt), limit, rtol=0.0, atol=20.0 * tilt), tilt
    across = _bending(8.01e-3), _bending(7.99e-3)  # on both sides of where the place on the rim is sought
    assert np.allclose(*across, rtol=0.0, atol=4e-5)


def _bending_across(tilt: float) -> np.ndarray:
    """Of a disc above another one whose rim it crosses, nearly flat."""
    turn = pin.exp3(np.array([0.0, 0.0, 0.4])) @ pin.exp3(tilt * np.array([-0.8, 0.6, 0.0]))
    rims = rim_on(Rim(R, 0.05, -1.0), Rim(0.08, 0.05, 1.0))
    return _second_derivatives(rims, turn, np.array([0.12, 0.03, 0.1]))


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_accelerations_have_a_limit_as_discs_come_to_lie_on_each_other(side: float) -> None:
    limit = _bending_across(side * 1e-9)
    for tilt in (1e-8, 1e-7, 1e-6, 1e-5, 1e-4):
        assert np.allclose(_bending_across(side * tilt), limit, rtol=0.0, atol=20.0 * tilt), tilt
    found = [_bending_across(side * tilt) for tilt in np.linspace(5e-3, 1e-2, 21)]  # across where places are sought
    assert np.abs(np.diff(found, n=2, axis=0)).max() < 1e-4


@pytest.mark.parametrize("tilt", [1e-5, 1e-3])
def test_an_edge_that_ends_under_a_disc_is_met_from_its_own_side(tilt: float) -> None:
    """Its corner is on the disc; down the tilt it is inside, by more than the endless line would be from behind."""
    rim, ahead = _rim_above_an_edge(), 0.02
    turn = pin.exp3(np.array([-0.3, 0.0, 0.0])) @ pin.exp3(np.array([0.0, -tilt, 0.0]))
    chord = np.sqrt(R**2 - 0.04**2)
    middle = np.array([0.2 - ahead, 0.2, 0.1]) + turn @ np.array([0.0, 0.04, 0.05 - np.sin(tilt) * ahead])
    place = Place(turn, middle, np.eye(3), np.zeros(3))
    depth = tilt * (chord + ahead)
    assert np.isclose(rim.open_gap(place), -depth, rtol=2e-2)
    table = RimsOnLines([rim], np.array([[0, 1]]))
    found = table.gaps(np.array([turn, np.eye(3)]), np.array([middle, np.zeros(3)]))
    assert np.allclose(found, rim.open_gap(place), rtol=0.0, atol=1e-15)
