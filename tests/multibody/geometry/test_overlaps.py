"""What contacts do not carry out is refused at the start or seen by the check; what is left out is listed."""

from __future__ import annotations

import warnings

import numpy as np
import pinocchio as pin
import pytest

import contactsim as cs
from contactsim.multibody.geometry.bodies import GROUND, bodies_of

Array = np.ndarray
EXACT = 1e-12  # m
LOW = cs.terrain.Flat(-10.0)  # m, a ground that nothing reaches


def pose(x: float, y: float, z: float) -> Array:
    return np.array([x, y, z, 0.0, 0.0, 0.0, 1.0])


def over_block(body: cs.Robot, height: float) -> tuple[cs.ContactSystem, cs.State]:
    """A body over a fixed block whose top is at z = 0."""
    block = cs.Robot.box(1.0, (0.4, 0.4, 0.2), name="block", root="fixed")
    place = pin.SE3(np.eye(3), np.array([0.0, 0.0, -0.1]))
    world = cs.Robot.merge([block, body], names=["block", "body"], placements=[place, None], pairs="auto")
    return cs.ContactSystem(world, LOW), cs.State(*world.pack({"body": (pose(0, 0, height), np.zeros(6))}))


BODIES = {
    "cylinder": (cs.Robot.cylinder(1.0, 0.1, 0.3, name="shape"), 0.15),  # a prism, as high
    "ellipsoid": (cs.Robot.ellipsoid(1.0, (0.1, 0.1, 0.2), name="shape"), 0.2),
    "capsule": (cs.Robot.capsule(1.0, 0.05, 0.3, name="shape"), 0.2),
    "box": (cs.Robot.box(1.0, (0.1, 0.1, 0.1), name="shape"), 0.05),
    "ball": (cs.Robot.sphere(1.0, 0.1, name="shape"), 0.1),
}


@pytest.mark.filterwarnings("ignore:part .body. (has|meets)")
@pytest.mark.parametrize("kind", BODIES)
def test_a_start_inside_is_refused_with_names_and_depth(kind: str) -> None:
    body, low = BODIES[kind]
    system, state = over_block(body, low - 0.012)
    with pytest.raises(cs.InputError, match=r"starts 0\.012 m inside '.*'; move one of the bodies away by as much"):
        cs.simulate(system, state, (0.0, 0.1))


@pytest.mark.filterwarnings("ignore:part .body. (has|meets)")
@pytest.mark.parametrize("kind", ["capsule", "ellipsoid"])
def test_the_check_sees_what_contacts_do_not_carry_out(kind: str) -> None:
    """A body that starts on the block, where a plugin of contacts does nothing, is told with its depth."""
    body, low = BODIES[kind]
    system, state = over_block(body, low)
    for t, depth in ((0.0, 0.0), (0.0, 0.003)):
        q = state.q.copy()
        q[2] -= depth
        found = system.world.mechanism.overlaps(t, q)
        assert sum(overlap.depth for overlap in found) == pytest.approx(depth, abs=EXACT)


def test_shapes_in_the_ground_are_seen() -> None:
    """A capsule on a slope, deeper by d at both ends: by its shape as by its contacts."""
    capsule = cs.Robot.capsule(1.0, 0.05, 0.3)
    system = cs.ContactSystem(capsule, cs.terrain.Slope(0.3))
    q = pose(0.0, 0.0, 0.05 / np.cos(0.3) - 0.002 / np.cos(0.3))
    q[3:7] = [0.0, np.sin(0.5 * (np.pi / 2 + 0.3)), 0.0, np.cos(0.5 * (np.pi / 2 + 0.3))]  # along the slope
    (found,) = system.world.mechanism.overlaps(0.0, q)
    assert (found.first, found.second) == ("capsule_0" if found.first.endswith("_0") else found.first, GROUND)
    assert found.depth == pytest.approx(0.002, abs=EXACT)


# --- what is left out -------------------------------------------------------------------------------------------------
def test_pairs_that_are_left_out_are_listed_with_their_reasons() -> None:
    robot = cs.load_robot("hexapod")
    reasons = {pair.reason for pair in robot.left_out}
    assert reasons == {"it touches by 1 contact point alone", "links of one robot"}
    assert len(robot.left_out) == 6 + 15
    assert str(robot.left_out[-1]).endswith(": links of one robot")


def test_whole_bodies_that_are_paired_are_watched() -> None:
    ball, box = cs.Robot.sphere(1.0, 0.1), cs.Robot.box(1.0, (0.1, 0.1, 0.1))
    world = cs.Robot.merge([ball, box, box], names=["ball", "one", "two"], pairs=[])
    assert {pair.reason for pair in world.left_out} == {"no pair was given for them"} and len(world.left_out) == 3
    paired = world.with_pairs([cs.ContactPair("ball", "one")])
    assert [(pair.first, pair.second) for pair in paired.left_out] == [("ball/ball", "two/box"), ("one/box", "two/box")]
    corner = world.with_pairs([cs.ContactPair("one/box/0", "two")])
    assert any("some of its points alone" in pair.reason for pair in corner.left_out)
    auto = cs.Robot.merge([ball, box, box], names=["ball", "one", "two"])
    assert auto.left_out == () and len(bodies_of(auto).pairs) == 3 and len(bodies_of(auto).above_ground) == 3


def test_a_margin_leaves_out() -> None:
    box = cs.Robot.box(1.0, (0.1, 0.1, 0.1), enabled=lambda t, q, v: -1.0)
    assert [str(pair) for pair in box.left_out] == ["box + ground: their contacts close only where a margin allows"]


MJCF = """<mujoco><worldbody><geom name="floor" type="plane" size="1 1 1"/>
<body name="a" pos="0 0 1"><freejoint/><geom name="ga" type="sphere" size=".1"/>
 <body name="b" pos=".3 0 0"><joint axis="0 1 0"/><geom name="gb" type="sphere" size=".1"/>
  <body name="c" pos=".3 0 0"><joint axis="0 1 0"/><geom name="gc" type="sphere" size=".1"/></body></body></body>
<body name="d" pos="0 1 1"><freejoint/><geom name="gd" type="sphere" size=".1" contype="0" conaffinity="2"/></body>
<body name="e" pos="0 2 1"><freejoint/><geom name="ge" type="sphere" size=".1"/></body></worldbody>
<contact><exclude body1="a" body2="e"/></contact></mujoco>"""


def test_pairs_that_an_mjcf_file_keeps_apart_are_told(tmp_path) -> None:  # type: ignore[no-untyped-def]
    pytest.importorskip("mujoco")
    path = tmp_path / "balls.xml"
    path.write_text(MJCF)
    with pytest.warns(UserWarning, match="contacts between moving bodies"):
        robot = cs.Robot.from_mjcf(path)
    reasons = {frozenset((pair.first, pair.second)): pair.reason for pair in robot.left_out}
    told = {tuple(sorted(names)): reason for names, reason in reasons.items()}
    assert told["a", "b"] == told["b", "c"] == "parent and child in the file"
    assert told["a", "c"] == "bodies of one tree of the file"
    assert told["a", "e"] == "excluded by the file (<exclude>)"
    assert told["a", "d"] == told["d", "ground"] == "contype and conaffinity of the file keep them apart"
    assert ("b", "e") not in told and ("c", "e") not in told


BEND = 0.5  # 1/m, of a hump along x
HUMP = cs.terrain.Function(lambda t, x, y: -0.5 * BEND * x * x, curvature=BEND)


def test_boxes_on_curved_ground_that_meet_it_with_corners_alone_are_told_once_with_the_height_of_humps() -> None:
    """Under compliant laws, and under all of them cylinders."""
    box = cs.Robot.box(1.0, (0.4, 0.2, 0.1))
    with pytest.warns(UserWarning, match="only the corners, ends or rims touch it") as told:
        cs.ContactSystem(box, terrain=HUMP, law="hunt-crossley")
    assert len(told) == 1 and "'box'" in str(told[0].message)
    most = float(str(told[0].message).partition("up to ")[2].split()[0])
    depth = 0.5 * BEND * 0.2**2  # on its four corners, over the hump
    assert depth < most < 4.0 * depth
    with pytest.warns(UserWarning, match="of 'cylinder' only the corners, ends or rims touch it"):
        cs.ContactSystem(cs.Robot.cylinder(1.0, 0.1, 0.3), terrain=HUMP)


def test_the_sides_of_cones_that_do_not_fit_into_hollows_are_told_and_those_of_others_meet_them() -> None:
    """The balls that touch a side along the rim are larger than that."""
    ridges = cs.terrain.Sinusoid(0.02, 15.0, 0.0)  # whose hollows bend by 4.5 / m
    for radius, fits in ((0.1, True), (0.19, False)):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            system = cs.ContactSystem(cs.Robot.cone(1.0, radius, 0.3), terrain=ridges)
        assert any("of 'cone' only the corners" in str(one.message) for one in told) != fits
        assert any("cone/edge0" in name for name in system.world.mechanism.names) == fits


def test_long_bodies_on_short_waves_are_told() -> None:
    waves = cs.terrain.Sinusoid(0.01, 40.0, 0.0)
    with pytest.warns(UserWarning, match="of 'box' are long for the waves of the ground"):
        cs.ContactSystem(cs.Robot.box(1.0, (1.0, 0.2, 0.1)), terrain=waves)


@pytest.mark.filterwarnings("error")
def test_a_box_that_starts_over_a_hump_with_its_edges_in_it_is_refused() -> None:
    system, depth = cs.ContactSystem(cs.Robot.box(1.0, (0.4, 0.2, 0.1)), terrain=HUMP), 0.5 * BEND * 0.2**2
    with pytest.raises(cs.InputError, match=f"starts {depth:.3g} m inside the ground"):
        cs.simulate(system, cs.State(pose(0.0, 0.0, 0.05 - depth), np.zeros(6)), (0.0, 0.01))


@pytest.mark.filterwarnings("error")
def test_other_grounds_and_shapes_are_not_warned_of() -> None:
    waves, box = cs.terrain.Sinusoid(0.02, 2.0, 2.0), cs.Robot.box(1.0, (0.2, 0.1, 0.1))
    middle = cs.ContactPoint(box.contacts[0].frame, offset=(0.0, 0.0, -0.05), name="middle")
    cs.ContactSystem(box, terrain=cs.terrain.Slope(0.1))
    cs.ContactSystem(box, terrain=cs.terrain.Sinusoid(0.0, 2.0, 2.0))
    cs.ContactSystem(box.with_contacts([*box.contacts, middle]), terrain=waves)
    cs.ContactSystem(cs.Robot.sphere(1.0, 0.1), terrain=waves)


LIES = [0.0, np.sin(np.pi / 4.0), 0.0, np.cos(np.pi / 4.0)]
MOVED = cs.terrain.Moving(cs.terrain.Sinusoid(0.1, 1.5, 0.0), cs.terrain.Oscillation((0.0, 0.0, 0.01), 1.0))


@pytest.mark.filterwarnings("ignore:the ground is curved")
@pytest.mark.parametrize(
    ("shape", "ground"),
    [
        (cs.Robot.capsule(1.0, 0.05, 0.8), MOVED),
        (cs.Robot.cylinder(1.0, 0.05, 0.8), cs.terrain.Sinusoid(0.1, 1.5, 0.0)),
    ],
)
def test_sides_in_a_hump_are_measured(shape: cs.Robot, ground: cs.terrain.Terrain) -> None:
    """The check was content with ends that touch, where the side was centimetres in a ridge between them."""
    system, depth = cs.ContactSystem(shape, terrain=ground), 0.03
    q = np.array([np.pi / 3.0, 0.0, 0.15 - depth, *LIES])
    (found,) = system.world.mechanism.overlaps(0.0, q)
    assert found.second == GROUND and found.depth == pytest.approx(depth, abs=EXACT)
    with pytest.raises(cs.InputError, match="inside the ground"):
        cs.simulate(system, cs.State(q, np.zeros(6)), (0.0, 0.1))


@pytest.mark.filterwarnings("ignore:the ground is curved")
def test_the_slope_and_the_base_of_a_cone_in_a_hump_are_measured() -> None:
    system = cs.ContactSystem(cs.Robot.cone(1.0, 0.1, 0.4), terrain=HUMP)
    standing = pose(0.0, 0.0, 0.2 - 1e-3)
    (found,) = system.world.mechanism.overlaps(0.0, standing)
    assert found.depth == pytest.approx(1e-3, abs=EXACT)
