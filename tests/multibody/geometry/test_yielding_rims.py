"""Rims under laws that give way: gaps and rows of one contact with all of another body."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pinocchio as pin
import pytest

from contactsim.multibody.geometry.cylinder_pairs import yielding_on
from contactsim.multibody.geometry.features import Bodies, Place
from contactsim.multibody.geometry.rims import Face, Ridge
from contactsim.multibody.geometry.solids import Solid
from contactsim.multibody.geometry.yielding_rims import YieldingRim
from contactsim.multibody.zero import BULGE, OFF

Array = np.ndarray
RADIUS, HALF = 0.1, 0.1  # m, of the drum whose lower rim presses
THICKNESS = BULGE * RADIUS
DRUM = Solid("drum", "cylinder", (RADIUS, 2.0 * HALF))
STILL = np.zeros(6)
ROW = 1e-6  # relative, differences of gaps that are known to 1e-17 m
RATE = 1e-5  # relative, differences of places and normals
CORNERS = tuple((x, y, z) for x in (-0.4, 0.5) for y in (-0.3, 0.4) for z in (-0.2, 0.1))
BASES = {
    "box": (Solid("base", "box", (1.0, 0.8, 0.2)), 0.1, np.eye(3)),
    "hull": (Solid("base", "hull", vertices=(*CORNERS, (0.0, 0.0, -0.5))), 0.1, np.eye(3)),
    "half_space": (Solid("base", "half_space"), 0.0, np.eye(3)),
}


def lower_rim(base: Solid) -> YieldingRim:
    """The contact of the lower rim of the drum with a base."""
    rim = dict(yielding_on(DRUM, base))["drum/rim0+base"]
    assert isinstance(rim, YieldingRim)
    return rim


def placed(name: str, depth: float, tilt: float, aside: Array, towards: float) -> Callable[[Array], Place]:
    """The drum with its low side a depth below the top of a base, moved by twists at its centre from there."""
    _, top, R_b = BASES[name]
    R = pin.exp3(tilt * np.array([np.cos(towards), np.sin(towards), 0.0]))
    centre = np.array([*aside, top + HALF * np.cos(tilt) + RADIUS * np.sin(tilt) - depth])
    return lambda twist: Place(pin.exp3(twist[3:]) @ R, centre + twist[:3], R_b, np.zeros(3))


def places(name: str, seed: int) -> list[tuple[float, Callable[[Array], Place]]]:
    """Tilts, and places that touch: of any tilt from none on, over faces and edges."""
    rng, found, features = np.random.default_rng(seed), [], lower_rim(BASES[name][0])
    while len(found) < 12:
        tilt = float(10.0 ** rng.uniform(-6.0, -0.3)) * (len(found) > 0)
        aside = rng.uniform(-1.0, 1.0, 2) * (0.55 if name in ("box", "hull") else 0.2)
        place = placed(name, float(10.0 ** rng.uniform(-5.0, -3.3)), tilt, aside, float(rng.uniform(0.0, 6.3)))
        if -0.01 < features.open_gap(place(STILL)) < 0.0:
            found.append((tilt, place))
    return found


def gap_at(features: YieldingRim, place: Place) -> float:
    return float(features.gap(place, features.region(place)))


@pytest.mark.parametrize("name", BASES)
def test_rows_are_gradients_of_gaps(name: str) -> None:
    """n and (x - c) x n, whatever part touches: power is the rate of what the spring keeps."""
    features = lower_rim(BASES[name][0])
    for tilt, place in places(name, 0):
        here = place(STILL)
        met = features.meet(Bodies(*here, *np.zeros((4, 6))), features.region(here))
        row = np.r_[met.n, np.cross(met.x - here.o_a, met.n)]
        step = 1e-7 * max(tilt, 1e-4)
        found = [gap_at(features, place(step * e)) - gap_at(features, place(-step * e)) for e in np.eye(6)]
        assert np.array(found) / (2.0 * step) == pytest.approx(row, abs=ROW + 1e-16 / step)
        assert features.open_gap(here) == pytest.approx(gap_at(features, here), abs=1e-15)


@pytest.mark.parametrize("name", BASES)
def test_rates_of_points_and_normals(name: str) -> None:
    """Against differences along a motion, in which they run over the rim by R / BULGE for each radian."""
    features, rng = lower_rim(BASES[name][0]), np.random.default_rng(1)
    for tilt, place in places(name, 2):
        here, way, step = place(STILL), rng.normal(size=6), 1e-6 * max(tilt, 1e-4)
        region = features.region(here)
        ahead, behind = place(step * way), place(-step * way)
        if not region == features.region(ahead) == features.region(behind):
            continue
        twist = np.r_[way[:3] - np.cross(way[3:], here.o_a), way[3:]]
        met = features.meet(Bodies(*here, twist, STILL, STILL, STILL), region)
        both = [features.meet(Bodies(*there, *np.zeros((4, 6))), region) for there in (ahead, behind)]
        for known, one, two in ((met.x_rate, both[0].x, both[1].x), (met.n_rate, both[0].n, both[1].n)):
            loose = RATE * (1.0 + np.abs(known).max()) + 1e-13 / step
            assert (one - two) / (2.0 * step) == pytest.approx(known, abs=loose)


def test_gaps_of_a_disc_on_a_face() -> None:
    """-(d + b) where it lies flat; with sine s and cosine c of its tilt its middle is sqrt(R^2 s^2 + b^2 c^2) above."""
    features = lower_rim(BASES["box"][0])
    for tilt in (0.0, 1e-6, 1e-4, 1e-2, 0.5):
        place = placed("box", 1e-3, tilt, np.array([0.05, -0.02]), 0.4)(STILL)
        s, c = np.sin(tilt), np.cos(tilt)
        assert features.open_gap(place) == pytest.approx(
            RADIUS * s - 1e-3 - np.hypot(RADIUS * s, THICKNESS * c), abs=1e-15
        )


def test_a_rim_over_an_edge_is_as_deep_as_the_edge_is_inside_its_disc() -> None:
    """A disc that overhangs and is tilted about an edge touches that along its own axis, halfway along the chord."""
    features = lower_rim(BASES["box"][0])
    tilt, out, depth = 0.05, 0.04, 2e-4  # its axis is `out` beyond the edge x = 0.5, which is lower there
    R = pin.exp3(tilt * np.array([0.0, 1.0, 0.0]))
    axis, along = R[:, 2], R[:, 0]
    middle = np.array([0.5, 0.1, 0.1]) + out * along - depth * axis
    place = Place(R, middle + HALF * axis, np.eye(3), np.zeros(3))
    touching, _ = features._nearest(place)
    assert touching is not None
    assert isinstance(features.parts[touching.number], Ridge)
    bulge = THICKNESS * np.sqrt(1.0 - (out / RADIUS) ** 2)
    assert touching.gap == pytest.approx(-depth - bulge, rel=1e-4)
    met = features.meet(Bodies(*place, *np.zeros((4, 6))), features.region(place))
    assert met.n == pytest.approx(axis, abs=1e-3)
    assert met.x[1] == pytest.approx(0.1, abs=1e-6)


@pytest.mark.parametrize(("tilt", "depth"), [(1e-5, 1e-4), (2e-3, 1e-4), (0.1, 3e-4)])
def test_gaps_and_normals_go_on_from_part_to_part(tilt: float, depth: float) -> None:
    """Across an edge of a box: gaps change by no more than the way does."""
    features, parts = lower_rim(BASES["box"][0]), set()
    last, step = None, 2e-4
    for out in np.arange(0.37, 0.52, step):  # where the low side comes to the edge x = 0.5
        place = placed("box", depth, tilt, np.array([out, 0.03]), 0.5 * np.pi + 0.3)(STILL)
        touching, _ = features._nearest(place)
        assert touching is not None
        met = features.meet(Bodies(*place, *np.zeros((4, 6))), features.region(place))
        parts.add(type(features.parts[touching.number]))
        if last is not None:
            assert abs(touching.gap - last[0]) < 1.01 * step
            assert np.abs(met.n - last[1]).max() < 2e-2
        last = touching.gap, met.n
    assert parts == {Face, Ridge}


def test_rims_that_are_nearest_are_no_farther_than_told() -> None:
    """Bounds of gaps of what does not touch never exceed how far the bodies are apart, by samples of the drum."""
    rng, angles, seen = np.random.default_rng(3), np.linspace(0.0, 2.0 * np.pi, 60), 0
    rim = RADIUS * np.column_stack([np.cos(angles), np.sin(angles), np.zeros(60)])
    drum = np.concatenate([rim + np.array([0.0, 0.0, z]) for z in np.linspace(-HALF, HALF, 9)])
    for name, (base, _, R_b) in BASES.items():
        features, shape = lower_rim(base), base.shape
        for _ in range(40):
            place = Place(pin.exp3(rng.normal(size=3)), rng.uniform(-0.6, 0.6, 3), R_b, np.zeros(3))
            points = (drum @ place.R_a.T + place.o_a - place.o_b) @ place.R_b
            away = np.array([float(shape.distance(p, shape.region(p))) for p in points])
            if away.min() > 0.05 and away.argmin() < 60:
                seen += 1
                assert features.open_gap(place) <= away.min() + OFF, name
    assert seen > 20
