"""Links of one robot that meet each other: with their whole shape, by the rules of their file, with derivative."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

import contactsim as cs

Array = np.ndarray
SHAPES = {
    "box": '<box size="0.1 0.08 0.06"/>',
    "sphere": '<sphere radius="0.05"/>',
    "cylinder": '<cylinder radius="0.04" length="0.1"/>',
}


def link(name: str, shape: str, place: str = "0 0 0", mass: float = 1.0) -> str:
    """A link with a shape; without one it is a ring of wire."""
    geometry = f'<collision><origin xyz="{place}"/><geometry>{SHAPES[shape]}</geometry></collision>' if shape else ""
    inertia = '<inertia ixx="0.004" iyy="0.005" izz="0.003" ixy="0" ixz="0" iyz="0"/>'
    return f'<link name="{name}">{geometry}<inertial><mass value="{mass}"/>{inertia}</inertial></link>'


def joint(name: str, parent: str, child: str, kind: str, place: str, axis: str) -> str:
    limit = '<limit lower="-9" upper="9" effort="1" velocity="9"/>'
    ends = f'<parent link="{parent}"/><child link="{child}"/>'
    return f'<joint name="{name}" type="{kind}">{ends}<origin xyz="{place}"/><axis xyz="{axis}"/>{limit}</joint>'


def tongs(one: str, two: str) -> str:
    """A palm without shape, on which two fingers of 1 and 2 kg slide towards each other along x."""
    fingers = joint("a", "palm", "left", "prismatic", "-0.3 0 0", "1 0 0")
    fingers += joint("b", "palm", "right", "prismatic", "0.3 0 0", "1 0 0")
    return f'<robot name="tongs">{link("palm", "")}{link("left", one)}{link("right", two, mass=2.0)}{fingers}</robot>'


def three(two: str = "box") -> str:
    """A chain of three links whose ends have shapes, and the middle, too."""
    links = link("upper", "box", "0 0 0.1") + link("middle", "sphere") + link("lower", two, "0.08 0 0.1")
    joints = joint("hip", "upper", "middle", "revolute", "0.15 0 0", "0 1 0")
    joints += joint("knee", "middle", "lower", "revolute", "0.15 0 0", "0.1 1 0.05")
    return f'<robot name="three">{links}{joints}</robot>'


def of_text(text: str) -> cs.Robot:
    return cs.Robot.from_urdf(text, "free_flyer", contacts=[], self_contacts=True)


HALF = {"box": 0.05, "sphere": 0.05, "cylinder": 0.04}  # along x


@pytest.mark.parametrize(("one", "two"), [("box", "box"), ("box", "sphere"), ("cylinder", "cylinder")])
def test_fingers_of_one_hand_meet_in_closed_form(one: str, two: str) -> None:
    """1 kg at 0.5 m/s meets 2 kg at -0.4 m/s where the shapes touch, and both go on at -0.1 m/s."""
    hand = cs.Robot.from_urdf(tongs(one, two), "fixed", contacts=[], self_contacts=True)
    system = cs.ContactSystem(hand, terrain=cs.terrain.NoGround(), gravity=(0, 0, 0))
    run = cs.simulate(system, (np.zeros(2), np.array([0.5, -0.4])), (0.0, 1.0))
    run.check()
    met = (0.6 - HALF[one] - HALF[two]) / 0.9
    assert run.events[0].time == pytest.approx(met, abs=1e-12)
    np.testing.assert_allclose(run.final.v, -0.1, rtol=0, atol=1e-12)
    np.testing.assert_allclose(run.final.q, [0.5 * met - 0.1 * (1 - met), -0.4 * met - 0.1 * (1 - met)], atol=1e-12)


def test_without_being_asked_for_links_pass_and_are_told() -> None:
    robot = cs.Robot.from_urdf(tongs("box", "box"), "fixed", contacts=[])
    assert robot.pairs == () and len(robot.left_out) > 0


def test_neighbours_are_left_out_also_over_links_without_shape() -> None:
    """The ends of a chain meet, not the middle and its ends; a link without shape does not part two neighbours."""
    robot = of_text(three())
    apart = {(frozenset((pair.first, pair.second)), pair.reason) for pair in robot.left_out if pair.second != "ground"}
    ends = ({"upper", "middle"}, {"middle", "lower"})
    assert apart == {(frozenset(names), "neighbouring links") for names in ends}
    bare = three().replace(link("middle", "sphere"), link("middle", ""))
    with pytest.raises(cs.InputError, match="no two of its links"):
        of_text(bare)


def test_links_inside_each_other_in_the_nominal_pose_are_left_out() -> None:
    """Of a robot that floats, too: its own joints hold them there."""
    robot = of_text(three().replace('xyz="0.15 0 0"', 'xyz="-0.03 0 0"'))
    reasons = {frozenset((pair.first, pair.second)): pair.reason for pair in robot.left_out}
    assert reasons[frozenset(("upper", "lower"))] == "inside each other in the nominal pose" and robot.pairs == ()


# --- rates and derivatives --------------------------------------------------------------------------------------

GEOMS = {
    "box": 'type="box" size="0.05 0.04 0.03"',
    "sphere": 'type="sphere" size="0.05"',
    "capsule": 'type="capsule" size="0.03 0.04"',
    "cylinder": 'type="cylinder" size="0.04 0.05"',
    "ellipsoid": 'type="ellipsoid" size="0.05 0.04 0.03"',
}
ENDS = [("box", "box"), ("capsule", "cylinder"), ("sphere", "box"), ("ellipsoid", "capsule"), ("capsule", "capsule")]


def floating(folder: Path, one: str, two: str) -> cs.Robot:
    """A chain of three bodies that floats, its ends with shapes, which can fold onto each other."""
    pytest.importorskip("mujoco")
    inertia = '<inertial mass="1" pos="0 0 0.02" diaginertia="0.004 0.005 0.003"/>'
    (folder / "chain.xml").write_text(
        f"""<mujoco><worldbody><body><freejoint/>{inertia}<geom {GEOMS[one]} pos="0 0 0.1"/>
        <body pos="0.15 0 0"><joint axis="0 1 0"/>{inertia}
        <body pos="0.15 0 0"><joint axis="0.1 1 0.05"/>{inertia}<geom {GEOMS[two]} pos="0.08 0 0.1"/>
        </body></body></body></worldbody></mujoco>"""
    )
    return cs.Robot.from_mjcf(folder / "chain.xml", contacts="all", self_contacts=True)


def momentum(robot: cs.Robot, state: cs.State) -> Array:
    """Linear momentum and angular momentum about the origin of the world (6,)."""
    data = robot.model.createData()
    own = pin.computeCentroidalMomentum(robot.model, data, state.q, state.v)
    return np.concatenate([own.linear, own.angular + np.cross(data.com[0], own.linear)])


END = 0.74  # s


def folded_run(robot: cs.Robot, dx: Array | None = None) -> cs.Trajectory:
    """In free flight the knee folds until both ends meet."""
    system = cs.ContactSystem(robot, terrain=cs.terrain.NoGround(), gravity=(0, 0, 0))
    q, v = robot.nominal.copy(), np.array([0.1, -0.2, 0.1, 0.3, -0.2, 0.1, -2.0, -2.4])
    if dx is not None:
        q, v = robot.space.integrate(q, dx[: robot.nv]), v + dx[robot.nv :]
    return cs.simulate(system, (q, v), (0.0, END))


@pytest.mark.parametrize(("one", "two"), ENDS)
def test_ends_of_a_floating_chain_strike_each_other_and_keep_momentum(tmp_path: Path, one: str, two: str) -> None:
    robot = floating(tmp_path, one, two)
    run = folded_run(robot)
    run.check()
    assert run.events and run.events[0].time < END - 0.02
    assert max((over.depth for over in run.system.world.mechanism.overlaps(END, run.final.q)), default=0.0) < 1e-8
    np.testing.assert_allclose(momentum(robot, run.final), momentum(robot, run(0.0)), rtol=0, atol=1e-9)


@pytest.mark.parametrize(("one", "two"), ENDS)
def test_their_derivative_equals_differences(tmp_path: Path, one: str, two: str) -> None:
    robot = floating(tmp_path, one, two)
    run = folded_run(robot)
    found, step = cs.linearize(run).matrix(), 1e-5
    for k in range(0, 2 * robot.nv, 3):
        dx = step * np.eye(2 * robot.nv)[k]
        ahead, behind = (folded_run(robot, sense * dx).final for sense in (1.0, -1.0))
        change = np.concatenate([robot.space.difference(behind.q, ahead.q), ahead.v - behind.v]) / (2.0 * step)
        np.testing.assert_allclose(found[:, k], change, rtol=0, atol=1e-5 * max(1.0, np.abs(change).max()))


# --- files ------------------------------------------------------------------------------------------------------

BALL = 'type="sphere" size=".1"'
MJCF = f"""<mujoco><worldbody>
<body name="a" pos="0 0 1"><freejoint/><geom name="ga" {BALL} friction="0.3"/>
 <body name="b" pos=".3 0 0"><joint axis="0 1 0"/><geom name="gb" {BALL}/>
  <body name="c" pos=".3 0 0"><joint axis="0 1 0"/><geom name="gc" {BALL} friction="0.7"/>
   <body name="d" pos=".3 0 0"><joint axis="0 1 0"/><geom name="gd" {BALL}/></body></body></body></body></worldbody>
<contact><exclude body1="a" body2="d"/></contact></mujoco>"""


def test_bodies_of_one_tree_of_mjcf_meet_by_the_rules_of_the_file(tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    path = tmp_path / "chain.xml"
    path.write_text(MJCF)
    with pytest.warns(UserWarning, match="self_contacts has them"):
        cs.Robot.from_mjcf(path, contacts="all")
    robot = cs.Robot.from_mjcf(path, contacts="all", self_contacts=True)
    assert {(pair.first, pair.second, pair.friction) for pair in robot.pairs} == {("a", "c", 0.7), ("b", "d", 1.0)}
    assert {pair.reason for pair in robot.left_out} == {
        "parent and child in the file",
        "excluded by the file (<exclude>)",
    }
    with pytest.raises(cs.InputError, match="not a list"):
        cs.Robot.from_mjcf(path, contacts=[cs.ContactPoint("a")], self_contacts=True)


def test_a_scene_asks_for_them(tmp_path: Path) -> None:
    (tmp_path / "tongs.urdf").write_text(tongs("box", "sphere"))
    scene = '[robot]\nfile = "tongs.urdf"\nroot = "fixed"\ncontacts = []\nself_contacts = true\n'
    (tmp_path / "hand.toml").write_text(scene)
    assert cs.load_scene(tmp_path / "hand.toml").system.robot.pairs
    (tmp_path / "named.toml").write_text('[robot]\nname = "hexapod"\nself_contacts = true\n')
    with pytest.raises(cs.InputError, match="self_contacts"):
        cs.load_scene(tmp_path / "named.toml")
