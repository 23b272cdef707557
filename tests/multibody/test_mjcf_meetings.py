"""Geoms of an MJCF file meet other bodies with their whole shape, where MuJoCo's rules let them."""

from __future__ import annotations

from itertools import combinations_with_replacement
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from test_mjcf import plane, robot_of, world
from tolerances import CLOSEST_POINT

import contactsim as cs
from contactsim.multibody.geometry.pair_kinematics import PairKinematics
from contactsim.multibody.geometry.pairing import resolved

Array = np.ndarray
pytest.importorskip("mujoco")

GEOMS = {
    "sphere": 'type="sphere" size="0.1"',
    "capsule": 'type="capsule" size="0.05 0.15"',
    "cylinder": 'type="cylinder" size="0.08 0.12"',
    "ellipsoid": 'type="ellipsoid" size="0.05 0.1 0.15"',
    "box": 'type="box" size="0.1 0.05 0.15"',
}
ROBOTS = {
    "sphere": lambda: cs.Robot.sphere(1.0, 0.1),
    "capsule": lambda: cs.Robot.capsule(1.0, 0.05, 0.3),
    "cylinder": lambda: cs.Robot.cylinder(1.0, 0.08, 0.24),
    "ellipsoid": lambda: cs.Robot.ellipsoid(1.0, (0.05, 0.1, 0.15)),
    "box": lambda: cs.Robot.box(1.0, (0.2, 0.1, 0.3)),
}


def body(name: str, geom: str, position: str = "0 0 0", more: str = "") -> str:
    """A free body of a file."""
    return f'<body name="{name}" pos="{position}"><freejoint/><geom name="{name}" {geom} mass="1" {more}/></body>'


def between(robot: cs.Robot, q: Array) -> Array:
    """The gaps of all contacts between bodies, in rising order."""
    mechanism = cs.ContactSystem(robot).mechanism
    gaps = mechanism.gaps(0.0, q)
    return np.sort([gap for gap, name in zip(gaps, mechanism.names, strict=False) if name in mechanism.pair_names])


@pytest.mark.filterwarnings("ignore:part .* meets other parts")
@pytest.mark.parametrize(("one", "two"), [*combinations_with_replacement(GEOMS, 2)])
def test_they_meet_as_bodies_of_their_own_do(tmp_path: Path, one: str, two: str) -> None:
    """The same features of both, at the same distances, as of two robots that were merged."""
    read = robot_of(tmp_path, world(body("one", GEOMS[one], "0 0 1") + body("two", GEOMS[two], "0 0 2")))
    merged = cs.Robot.merge([ROBOTS[one](), ROBOTS[two]()], names=["one", "two"])
    rng = np.random.default_rng(len(one) + 10 * len(two))
    for _ in range(3):
        q = merged.space.integrate(read.nominal, rng.uniform(-1.0, 1.0, 12))
        found, expected = between(read, q), between(merged, q)
        assert len(found) == len(expected) > 0
        np.testing.assert_allclose(found, expected, rtol=0, atol=CLOSEST_POINT)


def test_far_from_touching_a_gap_may_be_less_but_is_never_zero(tmp_path: Path) -> None:
    """Gaps that are computed together are those of one contact alone, or positive lower bounds of them."""
    disc = 'type="cylinder" size="0.1 0.004"'
    robot = robot_of(tmp_path, world(body("disc", disc, "0 0 0") + body("other", GEOMS["capsule"], "0 0 0.1")))
    found, rng = PairKinematics(robot.model, [one.kinematics for one in resolved(robot)]), np.random.default_rng(7)
    for _ in range(200):
        q = robot.space.integrate(robot.nominal, np.concatenate([np.zeros(6), rng.uniform(-0.2, 0.2, 6)]))
        together = found.gaps(q, {})
        alone = np.array([found.gap(q, k) for k in range(len(together))])
        assert (together <= alone + CLOSEST_POINT).all()
        assert (np.abs(together - alone) <= CLOSEST_POINT)[together <= 0.0].all()


# --- which geoms ------------------------------------------------------------------------------------------------

ROD, EGG = GEOMS["capsule"], GEOMS["ellipsoid"]


def met(robot: cs.Robot) -> set[frozenset[str]]:
    """The couples of bodies that have pairs."""
    frames = {solid.name: solid.frame for solid in robot.solids}
    sides = [[name.removesuffix("/edges") for name in (pair.first, pair.second)] for pair in robot.pairs]
    owners = [[frames.get(name, name.partition("/")[0]) for name in names] for names in sides]
    return {frozenset(names) for names in owners}


@pytest.mark.parametrize(
    ("more", "contact", "expected"),
    [
        ("", "", True),
        ('contype="2" conaffinity="2"', "", False),
        ('contype="2" conaffinity="1"', "", True),
        ("", '<contact><exclude body1="one" body2="two"/></contact>', False),
        ('contype="2" conaffinity="2"', '<contact><pair geom1="one" geom2="two"/></contact>', True),
    ],
)
def test_rules_of_the_file_hold(tmp_path: Path, more: str, contact: str, expected: bool) -> None:
    robot = robot_of(tmp_path, world(body("one", ROD, "0 0 1") + body("two", EGG, "0 0 2", more), contact))
    assert met(robot) == ({frozenset(("one", "two"))} if expected else set())
    assert bool(robot.left_out) is not expected


ARM = f"""<body name="base"><geom name="base" {ROD}/>
  <body name="arm" pos="1 0 0"><joint axis="0 1 0"/><geom name="arm" {ROD} mass="1"/>
    <body name="hand" pos="1 0 0"><joint axis="0 1 0"/><geom name="hand" {ROD} mass="1"/>
      <body name="tip" pos="1 0 0"><joint axis="0 1 0"/><geom name="tip" {ROD} mass="1"/></body></body></body></body>
"""


def test_one_tree_meets_others_but_itself_by_pairs_alone(tmp_path: Path) -> None:
    """Bodies of one tree are left out, and told; those that a <pair> names are not, nor is the world."""
    contact = '<contact><pair geom1="arm" geom2="tip" friction="0.3 0.3 0 0 0"/></contact>'
    robot = robot_of(tmp_path, world(ARM + body("egg", EGG, "9 0 0"), contact), contacts="all")
    links = ("base", "arm", "hand", "tip")
    expected = {frozenset(("universe" if link == "base" else link, "egg")) for link in links}
    expected |= {frozenset(("arm", "tip")), *(frozenset(("universe", link)) for link in links[1:])}
    assert {frozenset("universe" if part == "base" else part for part in couple) for couple in met(robot)} == expected
    frictions = {pair.friction for pair in robot.pairs if {pair.first[:3], pair.second[:3]} == {"arm", "tip"}}
    assert frictions == {0.3}
    reasons = {frozenset((pair.first, pair.second)): pair.reason for pair in robot.left_out}
    assert reasons[frozenset(("arm", "hand"))] == "parent and child in the file"
    assert reasons[frozenset(("hand", "tip"))] == "parent and child in the file"


def test_a_wall_is_met_by_what_touches_the_ground(tmp_path: Path) -> None:
    wall = '<geom name="wall" type="plane" size="1 1 1" pos="2 0 0" zaxis="-1 0 0"/>'
    leg = f'<body name="leg" pos="0 0 -0.3"><joint axis="0 1 0"/><geom name="foot" {GEOMS["sphere"]} mass="1"/></body>'
    text = world(plane() + wall + f'<body name="trunk" pos="0 0 1"><freejoint/><geom {EGG} mass="1"/>{leg}</body>')
    assert met(robot_of(tmp_path, text)) == {frozenset(("leg", "universe"))}
    assert met(robot_of(tmp_path, text, contacts="all")) == {frozenset((b, "universe")) for b in ("leg", "trunk")}


def test_friction_of_all_features_is_that_of_the_two_geoms(tmp_path: Path) -> None:
    one = body("one", GEOMS["box"], "0 0 1", 'friction="0.2 0.01 0.02" condim="6"')
    two = body("two", ROD, "0 0 2", 'friction="0.5 0.03 0.01"')
    robot = robot_of(tmp_path, world(one + two))
    assert {pair.friction for pair in robot.pairs} == {0.5}
    moments = {(pair.torsion, pair.rolling) for pair in robot.pairs if not pair.first.endswith("/edges")}
    assert moments == {(0.0, 0.0)}  # as of edges, which take over
    (pair,) = robot_of(tmp_path, world(one + two.replace(ROD, GEOMS["sphere"]))).pairs
    assert (pair.torsion, pair.rolling) == (0.03, 0.02)
    prior = robot_of(tmp_path, world(one.replace("condim", 'priority="1" condim') + two))
    assert {pair.friction for pair in prior.pairs} == {0.2}


def test_geoms_that_share_an_end_or_lie_in_each_other_keep_all_of_their_surface(tmp_path: Path) -> None:
    """Two capsules of one body with a common end, a ball around that: no end is lost, and none counts twice."""
    bent = (
        '<body name="bent" pos="0 0 1"><freejoint/>'
        '<geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.05" mass="1"/>'
        '<geom type="capsule" fromto="0 0 0 0 0.3 0" size="0.05" mass="1"/>'
        '<geom type="sphere" size="0.08" mass="1"/></body>'
    )
    robot = robot_of(tmp_path, world(bent + body("box", GEOMS["box"], "0 0 2")))
    mechanism = cs.ContactSystem(robot).mechanism
    q = robot.nominal.copy()
    for place, depth in (((0.0, 0.0), 0.08), ((0.3, 0.0), 0.05), ((0.0, 0.3), 0.05), ((0.22, 0.0), 0.05)):
        q[7:10] = *place, 1.24
        gaps = mechanism.gaps(0.0, q)[[mechanism.names.index(name) for name in mechanism.pair_names]]
        assert gaps.min() == pytest.approx(0.09 - depth, abs=1e-9), place


# --- runs -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("other", ["capsule", "ellipsoid", "cylinder"])
def test_a_ball_that_is_thrown_at_a_round_body_strikes_its_surface(tmp_path: Path, other: str) -> None:
    """Without friction it loses what the law of impact says along the normal, and momentum is kept."""
    still = body("still", GEOMS[other], "0 0 0", 'friction="0" condim="1"')
    ball = body("ball", GEOMS["sphere"], "1 0.02 0.03", 'friction="0" condim="1"')
    robot = robot_of(tmp_path, world(still + ball))
    v = np.zeros(12)
    v[6] = -2.0
    traj = cs.simulate(cs.ContactSystem(robot, gravity=(0, 0, 0)), (robot.nominal, v), (0.0, 0.6))
    traj.check()
    (event,) = traj.events
    assert 1.0 - 2.0 * event.time == pytest.approx(0.15, abs=0.06)
    before, after = (momentum(robot, state) for state in (traj(0.0), traj.final))
    np.testing.assert_allclose(after, before, rtol=0, atol=1e-9)
    assert traj.final.v[6] > -1.9 and np.abs(traj.final.v[9:]).max() < 1e-12


def momentum(robot: cs.Robot, state: cs.State) -> Array:
    """Linear and angular momentum (6,) about the origin of the world."""
    data = pin.Data(robot.model)
    own = pin.computeCentroidalMomentum(robot.model, data, state.q, state.v)
    return np.concatenate([own.linear, own.angular + np.cross(data.com[0], own.linear)])


def test_a_mesh_of_the_world_carries_a_capsule(tmp_path: Path) -> None:
    """The mesh is a cube as its hull; the capsule lies on it."""
    corners = "  ".join(f"{x} {y} {z}" for x in (-1, 1) for y in (-1, 1) for z in (-1, 1))
    asset = f'<asset><mesh name="cube" vertex="{corners}" scale="0.5 0.5 0.125"/></asset>'
    rod = body("rod", ROD.replace('size="0.05 0.15"', 'fromto="-0.15 0 0 0.15 0 0" size="0.05"'), "0 0 0.2")
    robot = robot_of(tmp_path, world('<geom name="table" type="mesh" mesh="cube"/>' + rod, asset))
    traj = cs.simulate(cs.ContactSystem(robot), (robot.nominal, np.zeros(6)), (0.0, 0.5))
    traj.check()
    assert traj.final.q[2] == pytest.approx(0.175, abs=1e-9) and np.abs(traj.final.v).max() < 1e-9
