"""Signed distances of whole convex bodies: closed forms, and that no normal of any is better than the one found."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations_with_replacement

import numpy as np
import pinocchio as pin
import pytest
from scipy.optimize import brentq

from contactsim.multibody.geometry import convex
from contactsim.multibody.geometry.closest_points.equations import Pose
from contactsim.multibody.geometry.convex import Convex
from contactsim.multibody.geometry.polyhedra import polyhedron_of_box, polyhedron_of_hull, prism

Array = np.ndarray
EXACT = 1e-13  # m, against closed forms
BETTER = 1e-12  # m, by which a normal nearby may be better than the one found: rounding
HERE = Pose(np.eye(3), np.zeros(3))


def distance(a: Convex, b: Convex, at: Pose, enough: float = 0.0) -> float:
    return convex.distance((a, b), (HERE, at), enough)


def at(x: float, y: float, z: float, turn: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> Pose:
    return Pose(pin.exp3(np.array(turn)), np.array([x, y, z]))


def box(*sides: float) -> Convex:
    return convex.polyhedron(polyhedron_of_box(sides))


# --- closed forms ---------------------------------------------------------------------------------------------------
def test_rounded_bodies_overlap_by_their_radii() -> None:
    ball, capsule = convex.ball(0.2), convex.capsule(0.1, 0.6)
    across = at(0.0, 0.15, 0.0, (0.0, np.pi / 2, 0.0))
    assert distance(ball, convex.ball(0.3), at(0.3, 0.0, 0.35)) == pytest.approx(np.hypot(0.3, 0.35) - 0.5, abs=EXACT)
    assert distance(ball, capsule, at(0.25, 0.1, 0.1)) == pytest.approx(np.hypot(0.25, 0.1) - 0.3, abs=EXACT)
    assert distance(ball, capsule, at(0.1, 0.1, -0.45)) == pytest.approx(np.sqrt(0.0425) - 0.3, abs=EXACT)
    assert distance(capsule, capsule, across) == pytest.approx(0.15 - 0.2, abs=EXACT)
    assert distance(capsule, capsule, at(0.15, 0.1, 0.2)) == pytest.approx(np.hypot(0.15, 0.1) - 0.2, abs=EXACT)


def test_cylinders_touch_by_sides_rims_and_ends() -> None:
    radius, length, tilt = 0.2, 0.5, 0.3
    cylinder, cube = convex.cylinder(radius, length), box(1.0, 1.0, 1.0)
    low = radius * np.sin(tilt) + 0.5 * length * np.cos(tilt)  # of a rim below the centre
    beside = at(0.0, 0.39, 0.0, (0.0, 1.0, 0.0))
    assert distance(cylinder, cylinder, beside) == pytest.approx(0.39 - 0.4, abs=EXACT)
    assert distance(cylinder, cylinder, at(0.1, 0.0, 0.48)) == pytest.approx(0.48 - 0.5, abs=EXACT)
    assert distance(cube, cylinder, at(0.0, 0.0, 0.69, (np.pi / 2, 0, 0))) == pytest.approx(0.69 - 0.7, abs=EXACT)
    assert distance(cube, cylinder, at(0.1, 0.0, 0.74)) == pytest.approx(0.74 - 0.75, abs=EXACT)
    assert distance(cube, cylinder, at(0, 0, 0.78, (tilt, 0, 0))) == pytest.approx(0.78 - 0.5 - low, abs=EXACT)
    beyond = at(0.5 + 0.12, 0.0, 0.5 + 0.14, (np.pi / 2, 0, 0))  # its side on an edge
    assert distance(cube, cylinder, beyond) == pytest.approx(np.hypot(0.12, 0.14) - radius, abs=EXACT)


def test_an_ellipsoid_is_as_low_as_its_support_function() -> None:
    radii, turn = np.array([0.1, 0.2, 0.3]), (0.3, 0.4, 0.5)
    low = np.linalg.norm(radii * pin.exp3(np.array(turn))[2])
    body, cube = convex.ellipsoid(radii), box(1.0, 1.0, 1.0)
    for height in (low - 1e-9, low - 0.01):
        assert distance(body, cube, at(0.0, 0.0, -0.5 - height, (0, 0, 0))) < 0.0
        found = convex.distance((body, cube), (at(0, 0, height, turn), at(0, 0, -0.5)), 0.0)
        assert found == pytest.approx(height - low, abs=EXACT)


def test_boxes_that_touch_with_their_faces_are_not_inside_each_other() -> None:
    """Coal's normal is any there; all faces are looked at."""
    one, two = box(0.2, 0.2, 0.1), box(0.2, 0.2, 0.1)
    assert distance(one, two, at(-0.2, 0.03, 1e-8)) == pytest.approx(0.0, abs=EXACT)
    assert distance(one, two, at(-0.2 + 1e-6, 0.0, 0.0)) == pytest.approx(-1e-6, abs=EXACT)


# --- against all other normals ----------------------------------------------------------------------------------------
KINDS: dict[str, Callable[[np.random.Generator], Convex]] = {
    "ball": lambda rng: convex.ball(rng.uniform(0.1, 0.4)),
    "capsule": lambda rng: convex.capsule(rng.uniform(0.05, 0.2), rng.uniform(0.1, 0.4)),
    "cylinder": lambda rng: convex.cylinder(rng.uniform(0.05, 0.2), rng.uniform(0.1, 0.4)),
    "ellipsoid": lambda rng: convex.ellipsoid(rng.uniform(0.1, 0.4, 3)),
    "box": lambda rng: box(*rng.uniform(0.1, 0.4, 3).tolist()),
    "hull": lambda rng: convex.polyhedron(polyhedron_of_hull(tuple(map(tuple, 0.2 * rng.normal(size=(9, 3)))))),
    "mesh": lambda rng: convex.hull_of(0.2 * rng.normal(size=(40, 3))) or convex.ball(0.1),
}


def improved(search: convex._Search, rng: np.random.Generator) -> float:
    """The best g that a search over the sphere finds, without a word of features."""
    normals = rng.normal(size=(4000, 3))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    best = normals[int(np.argmax(search.apart(normals)))]
    width = 0.05
    while width > 1e-9:
        around = best + width * rng.normal(size=(60, 3))
        around = np.vstack([best, around / np.linalg.norm(around, axis=1, keepdims=True)])
        k = int(np.argmax(search.apart(around)))
        best, width = around[k], width if k else 0.6 * width
    return float(search.apart(best[None])[0])


@pytest.mark.parametrize("depth", [1e-8, pytest.param(1e-3, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kinds", list(combinations_with_replacement(KINDS, 2)), ids="-".join)
def test_no_normal_is_better(kinds: tuple[str, str], depth: float) -> None:
    rng = np.random.default_rng([list(KINDS).index(kind) for kind in kinds])
    bodies = KINDS[kinds[0]](rng), KINDS[kinds[1]](rng)
    turns, way = [pin.exp3(rng.normal(size=3)) for _ in range(2)], rng.normal(size=3)
    way /= np.linalg.norm(way)

    def at(along: float) -> tuple[Pose, Pose]:
        return Pose(turns[0], np.zeros(3)), Pose(turns[1], along * way)

    # they overlap by the depth somewhere on the way
    along = brentq(lambda along: convex.distance(bodies, at(along), depth) + depth, 0.0, 3.0, xtol=1e-13)
    poses = at(along)
    found = convex.distance(bodies, poses, 0.0)
    assert found == pytest.approx(-depth, rel=1e-3)
    assert improved(convex._Search(bodies, poses), rng) <= found + BETTER


def test_an_ellipsoid_at_a_corner_is_not_told_by_the_line_of_an_edge_that_ends_there() -> None:
    """It touches a corner of a thin prism; beyond the end of an edge, the line through that is 3.6 mm inside of it."""
    disc = convex.polyhedron(prism(0.1, 0.008, 12)), Pose(np.eye(3), np.zeros(3))
    turn = pin.exp3(np.array([0.73787675, 0.48727042, 0.15464765]))
    egg = convex.ellipsoid((0.2, 0.09, 0.11)), Pose(turn, np.array([0.03733791, -0.11594891, 0.11850416]))
    for (one, at_one), (two, at_two) in ((disc, egg), (egg, disc)):
        assert -2e-9 < convex.distance((one, two), (at_one, at_two)) < 0.0


@pytest.mark.parametrize("tilt", [2e-6, 3e-5])
def test_a_disc_nearly_flat_on_an_edge_is_as_deep_as_its_rim(tilt: float) -> None:
    """An end of a chord is lowest; the line from behind the disc, almost as high, is not."""
    radius, aside, beyond, depth = 0.07, 0.05, 0.02, 1e-9
    chord = np.sqrt(radius**2 - aside**2)
    turn = at(0, 0, 0, (-0.6, 0.0, 0.0)).R @ at(0, 0, 0, (0.0, -tilt, 0.0)).R
    touched = np.array([0.2 + beyond - chord, 0.2, 0.1])  # of an edge along x that ends at 0.2
    centre = touched - turn @ np.array([-chord, aside, -0.05 + depth])
    bodies = convex.cylinder(radius, 0.1), box(0.4, 0.4, 0.2)
    for sense in (1.0, -1.0):  # with its lower or upper end
        poses = Pose(turn @ np.diag([1.0, sense, sense]), centre), HERE
        assert convex.distance(bodies, poses, 0.0) == pytest.approx(-depth, rel=1e-3)
        assert convex.distance(bodies[::-1], poses[::-1], 0.0) == pytest.approx(-depth, rel=1e-3)


def test_a_corner_under_a_disc_is_no_root_where_that_is_tilted() -> None:
    """A corner is 1.9e-7 m above the plane of a disc, of which the rim touches an edge: they are 1.3e-12 m deep."""
    points = (
        (0.02934515097850453, 0.06183847922171377, 0.04141092369887986),
        (-0.0021425399939086617, -0.0035744390627173686, 0.07989138193673598),
        (-0.046453492345941975, 0.06381014664722214, -0.013051369036446554),
        (-0.005944952480950163, 0.046511977011093206, 0.06481738605126545),
        (-0.016327173309077413, -0.03390178769697445, 0.070598103392971),
        (-0.056864450644101276, 0.05625433838919405, 0.0013724668806995863),
        (-0.03750440007061851, -0.06853679981818803, -0.01720834233808164),
        (0.03570323443836077, 0.028469179707631184, -0.0656870219861888),
        (0.025409170697515866, 0.049834354285934475, -0.05719188034475232),
    )
    turn, place = (
        (1.7716568537686603, -1.1846519827730397, 1.1381814911742518),
        (0.00019661017219656154, 0.11260775590740697, 0.041575348720097646),
    )
    bodies = convex.cylinder(0.06974859221378005, 0.09751988552098742), convex.polyhedron(polyhedron_of_hull(points))
    placed = at(*place, turn)
    for seed in (13, 17, 21):  # Coal's normal is another one in each
        around = pin.exp3(np.random.default_rng(seed).normal(size=3))
        poses = Pose(around @ placed.R, around @ placed.o), Pose(around, np.zeros(3))
        assert -3e-12 < convex.distance(bodies, poses, 0.0) < 0.0
