"""Round bodies under laws that give way: the one contact of both, by their distance, its regions and its rows."""

from __future__ import annotations

from itertools import product

import numpy as np
import pinocchio as pin
import pytest
from scipy.optimize import brentq, minimize

from contactsim.multibody.geometry.cylinder_pairs import yielding_on, yielding_round
from contactsim.multibody.geometry.features import Bodies, Place
from contactsim.multibody.geometry.solids import Solid
from contactsim.multibody.geometry.yielding_rounds import ELSEWHERE, ONE_WAY_OUT, OTHER, OWN, RoundOnRound
from contactsim.multibody.zero import BULGE

Array = np.ndarray
STILL = np.zeros(6)
SOLIDS = {
    "drum": Solid("drum", "cylinder", (0.1, 0.2)),
    "coin": Solid("coin", "cylinder", (0.1, 0.02)),
    "cone": Solid("cone", "cone", (0.1, 0.2)),
    "capsule": Solid("capsule", "capsule", (0.05, 0.2)),
}
COUPLES = [couple for couple in product(SOLIDS, repeat=2) if couple[0] != "capsule"]
DEPTH = 3e-4  # m
SEARCHED = 1e-8  # m, to which a search without derivatives finds the largest distance beside the kinks of that
ROW, RATE = 1e-6, 1e-5  # relative, differences of gaps, and of places and normals


def both(one: str, two: str) -> RoundOnRound:
    """The contact of two bodies, of which the first is no capsule."""
    a, b = SOLIDS[one], SOLIDS[two]
    found = dict(yielding_on(a, b) if b.kind == "capsule" else yielding_round(a, b)[0])
    features = found[f"{one}/whole+{two}"]
    assert isinstance(features, RoundOnRound)
    return features


def support(solid: Solid, m: Array) -> Array:
    """How far (k,) a body is out along directions m (k, 3) in its axes, its discs spheroids."""
    radius, half = solid.size[0], 0.5 * solid.size[1]
    if solid.kind == "capsule":
        return half * np.abs(m[:, 2]) + radius * np.linalg.norm(m, axis=1)
    disc = radius * np.sqrt(m[:, 0] ** 2 + m[:, 1] ** 2 + (BULGE * m[:, 2]) ** 2)
    if solid.kind == "cone":
        return np.maximum(disc - half * m[:, 2], half * m[:, 2])
    return disc + half * np.abs(m[:, 2])


def distance(one: str, two: str, place: Place) -> float:
    """The largest of what any normal tells, by samples, and a search from the best of them without derivatives."""
    rng, axes = np.random.default_rng(0), np.concatenate([place.R_a[:, 2:].T, place.R_b[:, 2:].T])
    around = np.concatenate([1e-3 * rng.normal(size=(200, 3)) + sense * axis for axis in axes for sense in (1, -1)])
    n = np.concatenate([rng.normal(size=(4000, 3)), around, axes, -axes])

    def told(ways: Array) -> Array:
        n = ways / np.linalg.norm(ways, axis=1)[:, None]
        out = support(SOLIDS[one], -n @ place.R_a) + support(SOLIDS[two], n @ place.R_b)
        return np.asarray(n @ (place.o_a - place.o_b) - out)

    heights = told(n)
    options = {"xatol": 1e-13, "fatol": 1e-16, "maxfev": 4000, "maxiter": 4000}
    starts = n[np.argsort(-heights)[:4]]
    found = [minimize(lambda way: -told(way[None])[0], s, method="Nelder-Mead", options=options) for s in starts]
    return max(float(heights.max()), *(-float(one.fun) for one in found))


def touching(one: str, two: str, rng: np.random.Generator, depth: float = DEPTH) -> Place:
    """Both a depth inside each other, to a thousandth of it, turned at random, in half of the cases by little."""
    R_a, R_b = (pin.exp3(rng.choice([1.5, 1e-2]) * rng.normal(size=3)) for _ in range(2))
    features, way = both(one, two), rng.normal(size=3)
    way /= np.linalg.norm(way)

    def place(away: float) -> Place:
        return Place(R_a, away * way, R_b, np.zeros(3))

    far = features.extent_a + features.extent_b
    return place(brentq(lambda away: features.open_gap(place(away)) + depth, 1e-3, far, xtol=1e-3 * depth))


def moved(place: Place, twist: Array) -> Place:
    """A moved by a twist at its origin."""
    return place._replace(R_a=pin.exp3(twist[3:]) @ place.R_a, o_a=place.o_a + twist[:3])


def gap_in(features: RoundOnRound, place: Place, region: tuple[int, ...]) -> float:
    return float(features.gap(place, region))


@pytest.mark.parametrize("couple", COUPLES, ids="-".join)
def test_the_gap_is_the_distance_of_both(couple: tuple[str, str]) -> None:
    """By an independent search; and the normal of the region is the best one."""
    rng, features = np.random.default_rng(1), both(*couple)
    for _ in range(4):
        place = touching(*couple, rng)
        expected, found = distance(*couple, place), features.open_gap(place)
        assert -1e-12 < found - expected < SEARCHED
        assert gap_in(features, place, features.region(place)) == pytest.approx(found, abs=1e-13)
        assert min(float(features.margin(place, features.region(place), side)) for side in (OWN, OTHER)) > 0.0
        assert float(features.margin(place, features.region(place), ELSEWHERE)) > 0.0


@pytest.mark.parametrize("couple", COUPLES, ids="-".join)
def test_rows_are_gradients_and_rates_those_of_points_and_normals(couple: tuple[str, str]) -> None:
    """n and (x - o) x n are the derivative of the gap in a region; x' and n' are differences along a motion."""
    rng, features, step = np.random.default_rng(2), both(*couple), 1e-9
    for _ in range(3):
        place, way = touching(*couple, rng), rng.normal(size=6)
        region = features.region(place)
        met = features.meet(Bodies(*place, *np.zeros((4, 6))), region)
        row = np.r_[met.n, np.cross(met.x - place.o_a, met.n)]
        slopes = [
            gap_in(features, moved(place, step * e), region) - gap_in(features, moved(place, -step * e), region)
            for e in np.eye(6)
        ]
        assert np.array(slopes) / (2.0 * step) == pytest.approx(row, abs=ROW)
        twist = np.r_[way[:3] - np.cross(way[3:], place.o_a), way[3:]]
        rates = features.meet(Bodies(*place, twist, STILL, STILL, STILL), region)
        ends = [
            features.meet(Bodies(*moved(place, sense * step * way), *np.zeros((4, 6))), region) for sense in (1, -1)
        ]
        for known, one, two in ((rates.x_rate, ends[0].x, ends[1].x), (rates.n_rate, ends[0].n, ends[1].n)):
            assert (one - two) / (2.0 * step) == pytest.approx(known, abs=RATE * (1.0 + np.abs(known).max()))


def seam(features: RoundOnRound, here: Place, there: Place) -> tuple[Place, tuple[int, ...], tuple[int, ...]]:
    """Where on the way from one place to another the region changes, to rounding, and both regions."""
    before, low, high = features.region(here), 0.0, 1.0
    for _ in range(44):
        middle = 0.5 * (low + high)
        place = here._replace(o_a=here.o_a + middle * (there.o_a - here.o_a))
        low, high = (middle, high) if features.region(place) == before else (low, middle)
    place = here._replace(o_a=here.o_a + high * (there.o_a - here.o_a))
    return place, before, features.region(place)


@pytest.mark.parametrize(("one", "two"), [("drum", "drum"), ("drum", "capsule"), ("coin", "cone")])
def test_features_beside_each_other_have_one_gap_and_normal_where_one_ends(one: str, two: str) -> None:
    """To rounding; where another normal is as good, one gap at least."""
    features, rng, count = both(one, two), np.random.default_rng(6), 0
    for _ in range(40):
        here, way = touching(one, two, rng), 0.03 * rng.normal(size=3)
        n = features.meet(Bodies(*here, *np.zeros((4, 6))), features.region(here)).n
        there = here._replace(o_a=here.o_a + way - n * (n @ way))
        if features.region(there) == features.region(here):
            continue
        place, before, after = seam(features, here, there)
        first, second = (features.meet(Bodies(*place, *np.zeros((4, 6))), region) for region in (before, after))
        assert gap_in(features, place, before) == pytest.approx(gap_in(features, place, after), abs=1e-12)
        if np.linalg.norm(first.n - second.n) < ONE_WAY_OUT:
            assert first.n == pytest.approx(second.n, abs=1e-6)
            assert first.x == pytest.approx(second.x, abs=1e-6)
            count += 1
        if count == 3:
            return
    raise AssertionError("no region ends")
