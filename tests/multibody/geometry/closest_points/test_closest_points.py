"""Closest points of smooth features: against minimisation by brute force, closed forms and finite differences."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
import pinocchio as pin
import pytest
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation
from tolerances import CLOSEST_MINIMUM, CLOSEST_POINT, CLOSEST_RATE, CLOSEST_SECOND

from contactsim.errors import SimulationError, SingularError
from contactsim.hybrid.differences import derivative
from contactsim.multibody.geometry.closest_points import search
from contactsim.multibody.geometry.closest_points.equations import Pose, drift, settled
from contactsim.multibody.geometry.closest_points.features import Circle, Ellipsoid, Line, Plane, Point
from contactsim.multibody.geometry.closest_points.search import closest

STEP = 3e-4  # of differences of fourth order, rad and m
KINDS = ("point", "line", "plane", "circle", "ellipsoid")
ALONG = {("plane", "plane"), ("plane", "line"), ("line", "plane")}  # they run along each other, or cross
PAIRS = [pair for pair in product(KINDS, KINDS) if pair not in ALONG]


def unit(rng):
    vector = rng.normal(size=3)
    return vector / np.linalg.norm(vector)


def feature(kind, rng):
    centre = 0.1 * rng.normal(size=3)
    if kind == "point":
        return Point(centre, 0.2)
    if kind == "line":
        return Line(centre, unit(rng), 0.15)
    if kind == "plane":
        return Plane(centre, unit(rng))
    if kind == "circle":
        return Circle(centre, unit(rng), 0.4)
    return Ellipsoid(centre, Rotation.random(random_state=rng.integers(1000)).as_matrix(), np.array([0.5, 0.3, 0.2]))


def scene(pair, seed):
    """Two features that are apart, their poses, and the direction from B to A."""
    rng = np.random.default_rng([seed, *map(ord, "".join(pair))])
    a, b = (feature(kind, rng) for kind in pair)
    turns = Rotation.random(2, random_state=rng.integers(1000)).as_matrix()
    poses = Pose(turns[0], 1.5 * unit(rng)), Pose(turns[1], 0.1 * rng.normal(size=3))
    towards = poses[0].o - poses[1].o
    if "circle" in pair and steepness(a, b, poses, towards) < 0.3:  # it would touch with the disc, not with its rim
        return scene(pair, seed + 10)
    return a, b, poses, towards, rng


def steepness(a, b, poses, towards):
    """The smallest sine of the angles of the normal to the axes of circles."""
    try:
        n = closest(a, b, poses, towards).nearest.normal
    except SingularError:
        return 0.0
    axes = [pose.R @ one.axis for one, pose in zip((a, b), poses, strict=True) if isinstance(one, Circle)]
    return min(float(np.linalg.norm(np.cross(n, axis))) for axis in axes)


def moved(pose, twist):
    """A pose after a screw motion about the world's origin."""
    place = pin.exp6(pin.Motion(twist[:3], twist[3:])) * pin.SE3(pose.R, pose.o)
    return Pose(place.rotation, place.translation)


def points_of(one, pose):
    """A point of the core of a feature, in the world, as a function of numbers, and how many these are."""
    if isinstance(one, Point):
        return (lambda u: pose.o + pose.R @ one.centre), 0
    if isinstance(one, Line | Plane):
        return (lambda u: pose.o + pose.R @ (one.centre + u @ one.slides)), len(one.slides)
    if isinstance(one, Circle):
        first = np.cross(one.axis, [0.3, 0.5, -0.8])
        first /= np.linalg.norm(first)
        across = np.array([first, np.cross(one.axis, first)])
        around = lambda u: one.radius * np.array([np.cos(u[0]), np.sin(u[0])]) @ across  # noqa: E731
        return (lambda u: pose.o + pose.R @ (one.centre + around(u))), 1

    def on_ellipsoid(u):
        ball = np.array([np.cos(u[0]) * np.cos(u[1]), np.sin(u[0]) * np.cos(u[1]), np.sin(u[1])])
        return pose.o + pose.R @ (one.centre + one.axes @ (one.radii * ball))

    return on_ellipsoid, 2


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_distance_is_the_smallest_one(pair):
    """No pair of points of the two cores is nearer, from any of eight starts; the largest plane distance is the gap."""
    a, b, poses, towards, rng = scene(pair, 0)
    found = closest(a, b, poses, towards).nearest
    if "plane" in pair:  # infinite: it cuts the other core, maybe; the gap is that of the farthest point
        plane, other, sign = (a, b, -1.0) if pair[0] == "plane" else (b, a, 1.0)
        pose, over = (poses[0], poses[1]) if pair[0] == "plane" else (poses[1], poses[0])
        n = pose.R @ plane.normal
        n = n * np.sign(n @ (over.o - pose.o))
        at, count = points_of(other, over)
        height = lambda u: n @ (at(u) - pose.o - pose.R @ plane.centre)  # noqa: E731
        tries = [minimize(height, rng.uniform(-3, 3, count), tol=1e-14).fun for _ in range(8)] if count else [height(0)]
        expected = min(tries) - other.offset
        assert sign * found.normal @ n == pytest.approx(1.0, abs=CLOSEST_POINT)
    else:
        (at, m), (bt, k) = points_of(a, poses[0]), points_of(b, poses[1])
        distance = lambda u: np.linalg.norm(at(u[:m]) - bt(u[m:]))  # noqa: E731
        tries = (
            [minimize(distance, rng.uniform(-2, 2, m + k), tol=1e-14).fun for _ in range(8)]
            if m + k
            else [distance([])]
        )
        expected = min(tries) - a.offset - b.offset
    assert found.gap == pytest.approx(expected, abs=CLOSEST_MINIMUM)
    assert np.abs(found.x_a - found.x_b - found.gap * found.normal).max() < CLOSEST_POINT


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_rates_are_those_of_moved_bodies(pair):
    """n' and x_A' against central differences of the closest points along screw motions of both bodies."""
    for seed in range(3):
        a, b, poses, towards, rng = scene(pair, seed)
        found = closest(a, b, poses, towards).nearest
        twists = rng.normal(size=(2, 6))
        rates = drift(settled(a, b, poses, found.y), (twists[0], twists[1]))

        def there(h, a=a, b=b, poses=poses, twists=twists, n=found.normal):
            near = closest(a, b, tuple(moved(p, h * V) for p, V in zip(poses, twists, strict=True)), n).nearest
            return np.concatenate([near.normal, near.x_a])

        exact = np.concatenate(rates)
        assert np.abs(derivative(there, STEP) - exact).max() < CLOSEST_RATE * max(1.0, float(np.abs(exact).max()))


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_second_derivatives_by_a_complex_step(pair):
    """A complex step through one Newton step and the rates is the derivative of the rates by the poses."""
    a, b, poses, towards, rng = scene(pair, 1)
    found = closest(a, b, poses, towards).nearest
    twists, along = rng.normal(size=(2, 6)), rng.normal(size=(2, 6))
    h = 1e-30

    def stepped(pose, V):
        return Pose(pose.R + 1j * h * np.cross(V[3:], pose.R.T).T, pose.o + 1j * h * (V[:3] + np.cross(V[3:], pose.o)))

    at = tuple(stepped(p, V) for p, V in zip(poses, along, strict=True))
    exact = drift(settled(a, b, at, found.y.astype(complex)), (twists[0], twists[1]))

    def rates_there(e):
        there = tuple(moved(p, e * V) for p, V in zip(poses, along, strict=True))
        y = closest(a, b, there, found.normal).nearest.y
        return np.concatenate(drift(settled(a, b, there, y), (twists[0], twists[1])))

    second = np.concatenate(exact).imag / h
    assert np.abs(derivative(rates_there, STEP) - second).max() < CLOSEST_SECOND * max(1.0, float(np.abs(second).max()))


def test_closed_forms():
    """Cylinder on its rim above a plane; an ellipsoid above one; crossed capsules; a ball beside a rim."""
    tilt, level = 0.3, Pose(np.eye(3), np.zeros(3))
    up = Plane(np.zeros(3), np.array([0.0, 0.0, 1.0]))
    turned = Pose(Rotation.from_rotvec([tilt, 0, 0]).as_matrix(), np.array([0.2, 0.1, 1.0]))
    rim = closest(Circle(np.array([0, 0, -0.5]), np.array([0, 0, 1.0]), 0.25), up, (turned, level), turned.o).nearest
    assert rim.gap == pytest.approx(1.0 - 0.5 * np.cos(tilt) - 0.25 * np.sin(tilt), abs=CLOSEST_POINT)
    radii = np.array([0.5, 0.3, 0.2])
    egg = closest(Ellipsoid(np.zeros(3), np.eye(3), radii), up, (turned, level), turned.o).nearest
    height = np.sqrt((0.3 * np.sin(tilt)) ** 2 + (0.2 * np.cos(tilt)) ** 2)
    assert egg.gap == pytest.approx(1.0 - height, abs=CLOSEST_POINT)
    x = np.array([1.0, 0, 0])
    one, two = Line(np.zeros(3), x, 0.1), Line(np.zeros(3), np.array([0, 1.0, 0]), 0.2)
    crossed = closest(one, two, (Pose(np.eye(3), np.array([3.0, -2.0, 0.5])), level), np.array([0, 0, 1.0])).nearest
    assert crossed.gap == pytest.approx(0.2, abs=CLOSEST_POINT)
    assert np.concatenate(crossed.slides(1)) == pytest.approx([-3.0, -2.0], abs=CLOSEST_POINT)
    beside = closest(
        Point(np.array([0.6, 0, 0.4]), 0.1), Circle(np.zeros(3), np.array([0, 0, 1.0]), 0.3), (level,) * 2, x
    )
    assert beside.nearest.gap == pytest.approx(0.4, abs=CLOSEST_POINT)


def test_overlapping_bodies_keep_their_normal():
    """Ellipsoids pushed into each other by less than their radii of curvature: the gap goes on through zero."""
    one, two = (Ellipsoid(np.zeros(3), np.eye(3), np.array([0.5, 0.3, 0.2])) for _ in range(2))
    for height in (0.41, 0.4, 0.39, 0.3):
        poses = Pose(np.eye(3), np.array([0.0, 0.0, height])), Pose(np.eye(3), np.zeros(3))
        found = closest(one, two, poses, np.array([0.1, 0.05, 1.0]))
        assert found.nearest.gap == pytest.approx(height - 0.4, abs=CLOSEST_POINT)
        assert found.nearest.normal == pytest.approx([0, 0, 1], abs=CLOSEST_RATE)
        assert found.regularity > 0.0


def test_singular_configurations_are_told():
    """Parallel lines and one centre have no normal; the regularity of equal rims side by side vanishes."""
    level, x = Pose(np.eye(3), np.zeros(3)), np.array([1.0, 0, 0])
    beside = Pose(np.eye(3), np.array([0, 1.0, 0]))
    with pytest.raises(SingularError, match="run along each other"):
        closest(Line(np.zeros(3), x), Line(np.zeros(3), x), (beside, level), np.array([0, 1.0, 0]))
    with pytest.raises(SingularError, match="centres are the same"):
        closest(Point(np.zeros(3)), Point(np.zeros(3)), (level, level), np.zeros(3))
    tall = Circle(np.zeros(3), x, 0.3)
    touching = closest(tall, Line(np.zeros(3), x, 0.7), (beside, level), np.array([0, 1.0, 0]))
    assert touching.nearest.gap == pytest.approx(0.0, abs=CLOSEST_POINT)
    assert touching.regularity == pytest.approx(1.0, abs=CLOSEST_POINT)  # an end of a cylinder on a parallel one


@pytest.mark.parametrize("number", [0, 1], ids=["A", "B"])
@pytest.mark.parametrize("sine", [1e-2, 6e-4, 1e-5, 1e-7])
def test_the_search_takes_few_rounds_where_the_normal_nears_the_axis_of_a_disc(sine, number, monkeypatch):
    # Two rims laid so that they touch with a known normal: g has a kink on the axis, into which steps used to run.
    turns = Rotation.from_euler("xy", [[0.3, 0.2], [1.0, -0.4]]).as_matrix()
    rims = [Circle(np.array([0.0, 0.0, -0.05]), np.array([0.0, 0.0, 1.0]), 0.05) for _ in range(2)]
    axis, beside = turns[number] @ [0.0, 0.0, 1.0], turns[number] @ [np.cos(0.7), np.sin(0.7), 0.0]
    n = np.sqrt(1.0 - sine**2) * axis + sine * beside
    cores = rims[0].core(-n @ turns[0]), rims[1].core(n @ turns[1])
    poses = Pose(turns[0], 1e-9 * n + turns[1] @ cores[1] - turns[0] @ cores[0]), Pose(turns[1], np.zeros(3))
    asked, sides = [], search._sides
    monkeypatch.setattr(search, "_sides", lambda *args: (asked.append(1), sides(*args))[1])
    for angle in (0.0, 1.5, 3.0, 4.5):
        asked.clear()
        start = n + 0.03 * (np.cos(angle) * beside + np.sin(angle) * np.cross(axis, beside))
        nearest = closest(*rims, poses, start).nearest
        assert len(asked) < 40, angle
        assert nearest.gap == pytest.approx(1e-9, abs=1e-15)
        # As well as the places tell it: to their rounding over the radii, and where Newton's method ends.
        np.testing.assert_allclose(nearest.normal, n, rtol=0.0, atol=1e-9)


def discs(count: int) -> Iterator[tuple[Circle, Circle, tuple[Pose, Pose], np.ndarray]]:
    """Two discs beside or above each other, many of them nearly parallel, and the way between their middles."""
    rng, z = np.random.default_rng(2), np.array([0.0, 0.0, 1.0])
    for _ in range(count):
        a, b = (Circle(np.zeros(3), z, radius) for radius in rng.uniform(0.02, 0.08, 2).tolist())
        turned = pin.exp3(rng.normal(size=3) * rng.choice([1.0, 0.1, 1e-3]))
        way = rng.normal(size=3) * rng.choice([0.05, 0.1, 0.02])
        yield a, b, (Pose(turned, way), Pose(np.eye(3), np.zeros(3))), way


def test_normals_on_the_axis_of_a_disc_are_found_in_few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two discs that are nearly parallel the axis that is nearer counts: the search ended where its steps did."""
    taken, tangents = [0], search._tangents

    def counted(n: np.ndarray, across: np.ndarray) -> np.ndarray:
        taken[0] += 1
        return tangents(n, across)

    monkeypatch.setattr(search, "_tangents", counted)
    most = 0
    for a, b, poses, way in discs(1000):
        taken[0] = 0
        with np.errstate(all="ignore"):
            search.closest(a, b, poses, way)
        most = max(most, taken[0])
    assert most <= 25


def test_a_search_that_does_not_end_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """It returned what it had."""
    monkeypatch.setattr(search, "ROUNDS", 1)
    a, b, poses, way = next(discs(1))
    with pytest.raises(SimulationError, match="closest points of a circle and a circle were not found in 1"):
        search.closest(a, b, poses, way)
