"""The last corner of a face that slides off an edge passes that edge without touching it."""

import warnings

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
