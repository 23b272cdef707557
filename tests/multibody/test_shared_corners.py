"""The last corner of a face that slides off an edge, or a corner, passes that without touching it."""

import warnings
from functools import lru_cache

import numpy as np
import pinocchio as pin
import pytest

import contactsim as cs
from contactsim.multibody.geometry.hulls import FACE, Hull
from contactsim.multibody.geometry.polyhedra import polyhedron_of_hull
from contactsim.multibody.zero import RIM

SIZE = np.array([0.2, 0.1, 0.04])


def brick(size, name, kind, **options):
    if kind == "box":
        return cs.Robot.box(1.0, tuple(size), name=name, friction=0.0, **options)
    corners = 0.5 * np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * size
    corners[corners[:, 2] < 0.0, 0] *= 0.8  # the sides slope
    return cs.Robot.hull(1.0, corners.tolist(), name=name, friction=0.0, **options)


def on_edge(kind, tilt, yaw, way):
    """A brick that lies with its lower face on the edge of a table; its last corner hangs over by `way`."""
    table = brick((0.4, 0.4, 0.1), "table", kind, root="fixed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        body = cs.Robot.box(1.0, tuple(SIZE), friction=0.0)
        world = cs.Robot.merge([table, body], ["table", "brick"], placements=[(0.0, 0.0, -0.05), None])
    system = cs.ContactSystem(world, terrain=cs.terrain.Flat(-2.0))
    slope = pin.utils.rotate("y", tilt)
    turn, down = slope @ pin.utils.rotate("z", yaw), slope[:, 0]
    corners = [turn @ (0.5 * SIZE * (x, y, -1)) for x in (-1, 1) for y in (-1, 1)]
    last = max(corners, key=lambda corner: corner @ down)
    return system, pin.SE3ToXYZQUAT(pin.SE3(turn, (0.2, 0.0, 0.0) + way * down - last)), turn.T @ down


@pytest.mark.parametrize("kind", ["box", "hull"])
@pytest.mark.parametrize("yaw", [0.0, 0.3])
def test_a_face_slides_off_an_edge(kind, yaw):
    way, speed = 1e-5, 0.01
    system, place, down = on_edge(kind, 0.3, yaw, way)
    run = cs.simulate(system, cs.State(place, np.r_[-speed * down, np.zeros(3)]), (0.0, 2.0 * way / speed))
    assert run.status is cs.Status.FINISHED, run.message
    first = run.events[0]
    assert all(guard.startswith("side") for guard, _ in first.fired)
    assert np.array_equal(first.x_pre, first.x_post)
    there = pin.XYZQUATToSE3(run(first.time).q)
    corners = [there.act(0.5 * SIZE * (x, y, -1)) for x in (-1, 1) for y in (-1, 1)]
    assert min(np.hypot(x - 0.2, z) for x, _, z in corners) < 3e-7
    depths = [over.depth for t in run.t for over in system.world.mechanism.overlaps(t, run(t).q)]
    assert max(depths, default=0.0) < 1e-9


def test_a_face_holds_a_point_as_far_as_its_contact_lasts():
    """A flat roof: beyond the ridge a point is below the plane of the other side for longer than RIM."""
    roof = [(x, y, 0.0) for x in (-1.0, 1.0) for y in (-1.0, 1.0)] + [(x, 0.0, 0.1) for x in (-1.0, 1.0)]
    solid = Hull(polyhedron_of_hull(tuple(roof)))
    along = np.array([0.0, 1.0, 0.1]) / np.hypot(1.0, 0.1)  # up the side at y < 0, and beyond its end
    face = int(np.argmax(solid.solid.normals @ np.cross((1.0, 0.0, 0.0), along)))
    for way in RIM * np.array([-2.0, 0.5, 0.9, 1.1, 2.0, 4.0]):
        p = np.array([0.0, 0.0, 0.1]) + way * along
        held = solid.region(p, np.array([0.0, -0.5, 1.0])) == (FACE, face)
        margins = [solid.margin(p, (FACE, face), k, RIM) for k in solid.sides((FACE, face))]
        assert held == (min(margins) >= 0.0), way


def slab(size, name, kind, **options):
    if kind == "box":
        return cs.Robot.box(1.0, tuple(size), name=name, friction=0.0, **options)
    corners = 0.5 * np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * size
    return cs.Robot.hull(1.0, corners.tolist(), name=name, friction=0.0, **options)


@lru_cache
def off_a_corner(kind, offset):
    """A slab whose lower face slides along the diagonal of a table off its corner; its own last one misses that so."""
    size = np.array([0.2, 0.2, 0.04])
    table = slab((0.4, 0.4, 0.1), "table", kind, root="fixed")
    world = cs.Robot.merge([table, slab(size, "slab", kind)], placements=[(-0.2, -0.2, -0.05), None])
    system = cs.ContactSystem(world, terrain=cs.terrain.Flat(-2.0))
    turn = pin.Quaternion.FromTwoVectors(np.array([0.0, 0.0, 1.0]), np.array([0.3, 0.3, 1.0])).toRotationMatrix()
    down, aside = np.array([1.0, 1.0, -0.6]) / np.sqrt(2.36), np.array([0.0, 1.0, -0.3])
    place = pin.SE3(turn, -1e-5 * down + offset * aside - 0.5 * turn @ (size * (-1, -1, -1)))
    start = cs.State(pin.SE3ToXYZQUAT(place), np.r_[0.01 * turn.T @ down, np.zeros(3)])
    return cs.simulate(system, start, (0.0, 2e-3))


@pytest.mark.parametrize("kind", ["box", "hull"])
@pytest.mark.parametrize("offset", [0.0, 1e-13, 1e-12, 1e-11, 1e-9])
def test_a_face_slides_off_a_corner(kind, offset):
    run, beside = off_a_corner(kind, offset), off_a_corner(kind, 1e-10)
    assert run.status is cs.Status.FINISHED, run.message
    assert [tuple(event.transitions) for event in run.events] == [("table/table/corner7+slab/slab",)]
    first = run.events[0]
    assert all(guard.startswith("side") for guard, _ in first.fired)
    assert np.array_equal(first.x_pre, first.x_post)
    assert np.allclose(run.final.q, beside.final.q, rtol=0.0, atol=1e-8)
    depths = [over.depth for t in run.t for over in run.system.world.mechanism.overlaps(t, run(t).q)]
    assert max(depths, default=0.0) < 1e-9


def bar_on_table(kind, beside, height, roll=0.0):
    """A tilted bar as wide as a table, one low corner of which is beside it, and as high above as is told."""
    bar = np.array((0.2, 0.4, 0.04))
    table = slab((0.4, 0.4, 0.1), "table", kind, root="fixed")
    world = cs.Robot.merge(
        [table, cs.Robot.box(1.0, tuple(bar), friction=0.0)], ["table", "bar"], placements=[(0, 0, -0.05), None]
    )
    turn = pin.utils.rotate("x", -roll) @ pin.utils.rotate("y", 0.3)
    corner = turn @ (0.5 * bar * (1, 1, -1))
    place = np.array([0.0, 0.2 + beside, height]) - (0.0, *corner[1:])
    return cs.ContactSystem(world, terrain=cs.terrain.Flat(-2.0)), pin.SE3ToXYZQUAT(pin.SE3(turn, place)), turn


BESIDE = [-1e-12, 1e-12, 3e-10, 1e-9, 2e-8, 4.9e-8, 9e-8, 2e-7]  # m: of one corner of the bar; the other is over it


@pytest.mark.parametrize("beside", BESIDE)
@pytest.mark.parametrize("kind", ["box", "hull"])
def test_nothing_passes_between_a_corner_and_an_edge(kind, beside):
    """The end that is below the table is seen by its corner or by its edge, however close it is to both."""
    for depth in (1e-10, 4e-9, 8e-8, 3e-7, 5e-6):
        system, place, _ = bar_on_table(kind, beside, -depth, roll=1e-3)
        deepest = min(system.gaps(cs.State(place, np.zeros(6))).values())
        assert deepest == pytest.approx(-depth, rel=1e-3, abs=1e-9)


@pytest.mark.parametrize("beside", BESIDE)
@pytest.mark.parametrize("kind", ["box", "hull"])
def test_an_edge_that_comes_down_beside_a_face_meets_its_border(kind, beside):
    """One corner of a bar misses the table: less beside it than points are held, where its edge crosses that of it."""
    system, place, turn = bar_on_table(kind, beside, 1e-3)
    run = cs.simulate(system, cs.State(place, np.r_[turn.T @ (0.0, 0.0, -0.1), np.zeros(3)]), (0.0, 0.05))
    assert run.status is cs.Status.FINISHED, run.message
    run.check()
    assert abs(run.final.v[3]) < 1e-6  # it does not roll off over the corner that lies on the table
    depths = [over.depth for t in run.t for over in system.world.mechanism.overlaps(t, run(t).q)]
    assert max(depths, default=0.0) < 2e-9
