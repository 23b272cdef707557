"""Cylinders, and meshes of files as convex hulls, where they meet other bodies."""

from __future__ import annotations

import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from test_bodies import FINE, pose
from test_edges import OFF, REST, STAYS, on_fixed

import contactsim as cs
from contactsim.multibody.geometry.cylinders import Drum
from contactsim.multibody.geometry.mesh_hulls import MeshHull
from contactsim.multibody.geometry.polyhedra import outermost, polyhedron_of_hull, prism, pyramid

Array = np.ndarray
R, LENGTH, SIDES = 0.1, 0.3, 12
LYING = pin.exp3(np.array([0.0, np.pi / 2, 0.0]))
told = pytest.mark.filterwarnings("ignore:part .* meets other parts with")

MESHED = """<robot name="tool">
  <link name="base"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><origin xyz="0 0 0.05"/><geometry><mesh filename="{mesh}" scale="0.2 0.2 0.1"/></geometry></collision>
  </link>
</robot>"""


def cylinder(**coefficients: float) -> cs.Robot:
    return cs.Robot.cylinder(1.0, R, LENGTH, **{"friction": 0.5, **coefficients})


def rests(world: cs.Robot, q: Array, height: float, end: float = 0.5) -> cs.Trajectory:
    state = cs.State(*world.pack({"body": (q, np.zeros(6))}))
    run = cs.simulate(cs.ContactSystem(world, OFF), state, (0.0, end), tolerances=FINE)
    assert run.status.complete, run.message
    run.check()
    assert abs(run.final.q[2] - height) <= REST and np.abs(run.final.v).max() <= REST
    return run


@told
@pytest.mark.parametrize(("turn", "height"), [((0, 0, 0), 0.5 * LENGTH), ((0, np.pi / 2, 0), R)])
def test_a_cylinder_stands_and_lies_on_a_box(turn: tuple[float, ...], height: float) -> None:
    """It falls by 2 cm, over the edge of the box: upright, or lying on the edge and on the rim of its other end."""
    world = on_fixed((1.0, 1.0, 0.1), cylinder())
    run = rests(world, pose(0.45, 0, height + 0.02, np.array(turn)), height)
    assert abs(run.events[0].time - np.sqrt(2 * 0.02 / 9.81)) <= STAYS


@told
def test_a_cylinder_across_a_cylinder_rests_on_it() -> None:
    base, place = (
        cs.Robot.cylinder(1.0, R, 0.4, root="fixed"),
        pin.SE3(pin.exp3(np.array([0, np.pi / 2, 0])), np.zeros(3)),
    )
    world = cs.Robot.merge([base, cylinder()], names=["base", "body"], placements=[place, None])
    rests(world, pose(0, 0, 2 * R + 0.02, np.array([np.pi / 2, 0, 0])), 2 * R)


@told
@pytest.mark.parametrize(("turn", "height"), [((0, 0, 0), 0.5 * LENGTH), ((0, np.pi / 2, 0), R)])
def test_a_cylinder_stands_and_lies_on_a_standing_one(turn: tuple[float, ...], height: float) -> None:
    """It falls by 2 cm on the end of a wider one: flat, or with its side across that."""
    base = cs.Robot.cylinder(1.0, 2 * R, 0.1, root="fixed", friction=0.5)
    place = pin.SE3(np.eye(3), np.array([0.0, 0.0, -0.05]))
    world = cs.Robot.merge([base, cylinder()], names=["base", "body"], placements=[place, None])
    rests(world, pose(0.01, 0, height + 0.02, np.array(turn)), height)


@told
def test_a_ball_meets_the_cylinder_as_it_is() -> None:
    """On the side it rolls at R + r above the axis, not at the distance of the prism."""
    base, place = (
        cs.Robot.cylinder(1.0, R, 0.4, root="fixed"),
        pin.SE3(pin.exp3(np.array([0, np.pi / 2, 0])) @ pin.exp3(np.array([0, 0, 0.1])), np.zeros(3)),
    )
    ball = cs.Robot.sphere(1.0, 0.05)
    world = cs.Robot.merge([base, ball], names=["base", "body"], placements=[place, None])
    rests(world, pose(0, 0, R + 0.05 + 0.01), R + 0.05, 0.2)


def test_what_is_round_meets_ellipsoids_as_it_is() -> None:
    """No stand-in is told; an end that lies flat stands on as many points as is said."""
    egg, cone = cs.Robot.ellipsoid(1.0, (0.1, 0.2, 0.3)), cs.Robot.cone(1.0, R, LENGTH, friction=0.5)
    assert not cone.left_out
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fine = cs.Robot.merge([egg, cylinder(), cone], cylinder_sides=32)
        world = on_fixed((1.0, 1.0, 0.1), cone)
    assert Counter(solid.kind for solid in fine.solids) == {"ellipsoid": 1, "cylinder": 1, "cone": 1}
    assert len(fine.solids[1].polyhedron.vertices) == 64
    rests(world, pose(0.45, 0, 0.5 * LENGTH + 0.01), 0.5 * LENGTH, 0.2)


def test_a_pyramid() -> None:
    """It has the tip of the cone, and its volume."""
    solid = pyramid(R, LENGTH, SIDES)
    assert (len(solid.vertices), len(solid.edges), len(solid.loops)) == (13, 24, 13)
    assert solid.volume == pytest.approx(SIDES * R**2 * np.sin(2 * np.pi / SIDES) * LENGTH / 6)
    assert solid.centre == pytest.approx([0.0, 0.0, -0.25 * LENGTH])


def test_a_point_meets_a_cone_as_it_is() -> None:
    """A ball with a point on it meets the side by both."""
    cone, ball = cs.Robot.cone(1.0, R, LENGTH, root="fixed"), cs.Robot.sphere(1.0, 0.1)
    spiked = ball.with_contacts(
        [*ball.contacts, cs.ContactPoint(ball.contacts[0].frame, (0.0, 0.0, 0.1), name="spike")]
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        world = cs.Robot.merge([cone, spiked], names=["cone", "ball"])
    mechanism = cs.ContactSystem(world).mechanism
    gaps = dict(zip(mechanism.names, mechanism.gaps(0.0, pose(2 * R, 0.0, -0.1)).tolist(), strict=True))
    slant = np.hypot(R, LENGTH)
    side = (LENGTH * 2 * R - R * 0.5 * LENGTH) / slant  # above the line through tip and rim, at the height of the spike
    assert gaps["ball/spike+cone/cone"] == pytest.approx(side, abs=1e-12)


def test_what_would_be_too_many_edges_is_left_out_and_told() -> None:
    with pytest.warns(UserWarning, match=r"collision shapes \(Cylinder\) through which other parts pass"):
        world = cs.Robot.merge([cylinder()] * 2, names=["a", "b"], cylinder_sides=100)
    assert not world.solids and not world.pairs


def test_distance_from_a_cylinder() -> None:
    """Against the nearest point by its definition, and its derivatives against differences."""
    rng, drum = np.random.default_rng(0), Drum(R, 0.5 * LENGTH)
    kinds = set[int]()
    for p in rng.uniform(-0.3, 0.3, (300, 3)):
        region, rho = drum.region(p), np.hypot(p[0], p[1])
        nearest = np.append(p[:2] * min(1.0, R / rho), np.clip(p[2], -0.5 * LENGTH, 0.5 * LENGTH))
        apart = float(np.linalg.norm(p - nearest))
        expected = apart if apart else max(rho - R, abs(p[2]) - 0.5 * LENGTH)
        assert float(drum.distance(p, region)) == pytest.approx(expected, abs=1e-15)
        steps = 1e-30 * 1j * np.eye(3)
        assert np.allclose(drum.distance(p + steps, region).imag / 1e-30, drum.normal(p, region), atol=1e-12)
        rate = rng.normal(size=3)
        moved = drum.normal(p + 1e-30j * rate, region)
        assert np.allclose(moved.imag / 1e-30, drum.normal_rate(p, rate, region), atol=1e-9)
        assert all(float(drum.margin(p, region, side, 0.0)) >= 0.0 for side in drum.sides(region) if apart)
        behind = [drum.beyond(region, side) for side in drum.sides(region)]
        assert all(region in [drum.beyond(there, side) for side in drum.sides(there)] for there in behind)
        kinds.add(region[0])
    assert len(kinds) == 3


def test_a_prism_and_the_outermost_points() -> None:
    solid = prism(R, LENGTH, SIDES)
    assert (len(solid.vertices), len(solid.edges), len(solid.loops)) == (24, 36, 14)
    assert solid.volume == pytest.approx(0.5 * SIDES * R**2 * np.sin(2 * np.pi / SIDES) * LENGTH)
    assert np.linalg.norm(solid.vertices[:, :2], axis=1) == pytest.approx(R)
    rng = np.random.default_rng(1)
    points = rng.normal(size=(400, 3))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    chosen, missed = outermost(points, 30)
    hull = polyhedron_of_hull(tuple(map(tuple, chosen.tolist())))
    assert len(chosen) == 30 and missed == pytest.approx((points @ hull.normals.T - hull.offsets).max())


def test_a_mesh_meets_others_as_its_hull(tmp_path: Path) -> None:
    """A house without its floor: a box that falls on its ridge line up is held where the roof is."""
    corners = [(-1, -1, 0), (1, -1, 0), (1, 1, 0), (-1, 1, 0), (-1, 0, 1), (1, 0, 1)]
    faces = [(1, 2, 6), (1, 6, 5), (3, 4, 5), (3, 5, 6), (1, 5, 4), (2, 3, 6), (1, 4, 3), (1, 3, 2)]
    lines = [*(f"v {x} {y} {z}" for x, y, z in corners), *(f"f {a} {b} {c}" for a, b, c in faces)]
    (tmp_path / "house.obj").write_text("\n".join(lines))
    (tmp_path / "tool.urdf").write_text(MESHED.format(mesh="house.obj"))
    house = cs.Robot.from_urdf(tmp_path / "tool.urdf", root="fixed")
    body = cs.Robot.box(1.0, (0.2, 0.5, 0.1), friction=0.5)
    with pytest.warns(UserWarning, match="with its meshes as convex hulls, which add up to 0 % to their volume"):
        world = cs.Robot.merge([house, body], names=["base", "body"])
    (solid,) = (solid for solid in world.solids if solid.kind == "hull")
    assert solid.polyhedron.volume == pytest.approx(0.5 * 0.4 * 0.4 * 0.1)
    assert len(solid.polyhedron.loops) == 5
    rests(world, pose(0, 0, 0.15 + 0.05 + 0.01), 0.2)


@pytest.mark.parametrize(("added", "told"), [(-3e-16, 0.0), (3e-16, 0.0), (np.nan, 0.0), (0.02, 2.0)])
def test_what_rounding_adds_to_a_mesh_is_not_told(added: float, told: float) -> None:
    solid = cs.Robot.hull(1.0, [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]).solids[0]
    assert MeshHull(solid, added, 0.0, "mesh").surplus == told
