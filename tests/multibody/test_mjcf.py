"""MJCF element by element: springs, joints, friction, ground, equalities, actuators, and what is told and left."""

from __future__ import annotations

import copy
import pickle
import re
import sys
import warnings
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
import tolerances as tol
from scipy.integrate import solve_ivp

import contactsim as cs
from contactsim.hybrid.differences import tangent_derivative
from contactsim.hybrid.manifold import Euclidean
from contactsim.multibody.terrain import Flat, NoGround, Plane, Slope

Array = np.ndarray

STATES = 5
DERIVATIVE = 1e-6  # relative, against differences
GEARED = 1e-8  # rad, rad/s: coupled joints against their one equation
TIGHT = cs.Tolerances(rtol=1e-10, atol=1e-12)

SPRUNG = """
<mujoco>
  <option gravity="0.3 -0.2 -9.0"/>
  <worldbody>
    <body name="trunk" pos="0 0 1" quat="0.9 0.1 -0.2 0.3">
      <freejoint/>
      <geom type="box" size="0.2 0.1 0.05" mass="3"/>
      <body name="arm" pos="0.2 0 0" gravcomp="0.7">
        <joint name="shoulder" type="ball" stiffness="5" damping="0.2" armature="0.03" pos="0 0.02 0.01"/>
        <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.02" mass="0.5"/>
        <body name="hand" pos="0.3 0 0">
          <joint name="slide" type="slide" axis="1 0 0" ref="0.05" springref="0.1" stiffness="30" damping="1"/>
          <joint name="twist" type="hinge" axis="0.3 1 0" ref="20" springref="40" stiffness="2" pos="0 0 0.01"/>
          <joint name="wrist" type="hinge" axis="0 -1 0" armature="0.01"/>
          <geom type="sphere" size="0.05" mass="0.2" pos="0.03 0 0"/>
        </body>
      </body>
    </body>
    <body name="floating" pos="2 0 1">
      <joint type="free" stiffness="11" damping="0.3"/>
      <geom type="ellipsoid" size="0.2 0.1 0.3" mass="2" pos="0.1 0.02 0"/>
    </body>
  </worldbody>
  <keyframe><key name="home" qpos="0 0 2  0 1 0 0  1 0 0 0  0.1 0.2 0.3  2 1 1  1 0 0 0"/></keyframe>
</mujoco>
"""


def written(folder: Path, text: str, name: str = "robot.xml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def robot_of(folder: Path, text: str, **given: Any) -> cs.Robot:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return cs.Robot.from_mjcf(written(folder, text), **given)


def world(body: str, more: str = "") -> str:
    return f"<mujoco><worldbody>{body}</worldbody>{more}</mujoco>"


def ball(name: str = "ball", height: float = 1.0, more: str = "") -> str:
    joint = f'<freejoint name="{name}_root"/>'
    return f'<body name="{name}" pos="0 0 {height}">{joint}<geom name="{name}" size="0.1" mass="1" {more}/></body>'


def plane(more: str = "") -> str:
    return f'<geom name="floor" type="plane" size="5 5 1" {more}/>'


# --- joints and springs -----------------------------------------------------------------------------------------
def in_body_axes(m: Any, d: Any, vector: Array) -> Array:
    """MuJoCo's velocities with those of free joints in axes of their bodies."""
    found = np.array(vector)
    for k in np.flatnonzero(m.jnt_type == 0):
        first = m.jnt_dofadr[k]
        found[first : first + 3] = d.xmat[m.jnt_bodyid[k]].reshape(3, 3).T @ found[first : first + 3]
    return found


def of_mujoco(m: Any, qpos: Array, qvel: Array) -> tuple[Array, Array, Array]:
    """(q, v, a) of MuJoCo's forward dynamics without constraints, in our coordinates."""
    d = mujoco.MjData(m)
    d.qpos, d.qvel = qpos, qvel
    m.opt.disableflags |= 1
    mujoco.mj_forward(m, d)
    q = np.array(d.qpos)
    a = in_body_axes(m, d, d.qacc)
    v = in_body_axes(m, d, d.qvel)
    for k in range(m.njnt):
        kind, first = m.jnt_type[k], m.jnt_qposadr[k]
        if kind < 2:
            at = first + (3 if kind == 0 else 0)
            q[at : at + 4] = np.roll(q[at : at + 4], -1)
        if kind == 0:  # the body's axes turn
            v_at = m.jnt_dofadr[k]
            a[v_at : v_at + 3] -= np.cross(v[v_at + 3 : v_at + 6], v[v_at : v_at + 3])
    return q, v, a


CURVED = SPRUNG.replace('stiffness="5" damping="0.2"', 'stiffness="5 2 3" damping="0.2 0.1 0.3"')
CURVED = CURVED.replace('stiffness="30" damping="1"', 'stiffness="30 9 50" damping="1 0.2 0.3"')
CURVED = CURVED.replace('stiffness="11" damping="0.3"', 'stiffness="11 3 4" damping="0.3"')


def states(m: Any) -> list[tuple[Array, Array]]:
    rng, found = np.random.default_rng(3), []
    for _ in range(STATES):
        qpos = np.array(m.qpos0)
        mujoco.mj_integratePos(m, qpos, 0.7 * rng.normal(size=m.nv), 1.0)
        found.append((qpos, rng.normal(size=m.nv)))
    return found


@pytest.mark.parametrize("text", [SPRUNG, CURVED])
def test_accelerations_with_springs_of_all_joints(tmp_path: Path, text: str) -> None:
    robot = robot_of(tmp_path, text, contacts=[])
    m = mujoco.MjModel.from_xml_string(text)
    mechanism = cs.ContactSystem(robot, joint_limits=False).mechanism
    for qpos, qvel in states(m):
        q, v, expected = of_mujoco(m, qpos, qvel)
        terms = mechanism.terms(0.0, q, v, ())
        found = np.linalg.solve(terms.mass, terms.force)
        np.testing.assert_allclose(found, expected, rtol=0, atol=tol.MJCF_FORCE * np.abs(expected).max())


def test_names_home_and_springs(tmp_path: Path) -> None:
    robot = robot_of(tmp_path, SPRUNG, contacts=[])
    joints = ["trunk_free", "shoulder", "slide", "twist", "wrist", "floating_free"]
    assert list(robot.model.names)[1:] == joints
    np.testing.assert_allclose(robot.nominal[:7], [0, 0, 2, 1, 0, 0, 0])
    np.testing.assert_allclose(robot.nominal[7:11], [0, 0, 0, 1])
    np.testing.assert_allclose(robot.springs, [*[0] * 6, 5, 5, 5, 30, 2, 0, *[11] * 6])
    np.testing.assert_allclose(robot.gravity, [0.3, -0.2, -9.0])


@pytest.mark.parametrize("text", [SPRUNG, CURVED])
def test_derivatives_with_springs(tmp_path: Path, text: str) -> None:
    robot = robot_of(tmp_path, text, contacts=[])
    mechanism = cs.ContactSystem(robot, joint_limits=False).mechanism
    m = mujoco.MjModel.from_xml_string(text)
    rng = np.random.default_rng(0)
    for qpos, qvel in states(m)[:2]:
        q, v, _ = of_mujoco(m, qpos, qvel)
        a = rng.normal(size=robot.nv)
        found = mechanism.term_derivatives(0.0, q, v, a, (), np.zeros(0))

        def residual(point: Array, v: Array = v, a: Array = a) -> Array:
            terms = mechanism.terms(0.0, point, v, ())
            return terms.mass @ a - terms.force

        expected = tangent_derivative(residual, robot.space, q)
        np.testing.assert_allclose(found.residual_q, expected, rtol=0, atol=DERIVATIVE * np.abs(expected).max())

        def by_velocity(v: Array, q: Array = q, a: Array = a) -> Array:
            terms = mechanism.terms(0.0, q, v, ())
            return terms.mass @ a - terms.force

        expected = tangent_derivative(by_velocity, Euclidean(robot.nv), v)
        np.testing.assert_allclose(found.residual_v, expected, rtol=0, atol=DERIVATIVE * np.abs(expected).max())


@pytest.mark.parametrize("damped", [SPRUNG, CURVED])
def test_energy_of_springs_is_kept(tmp_path: Path, damped: str) -> None:
    text = re.sub(' damping="[^"]*"', "", damped)
    robot = robot_of(tmp_path, text, contacts=[])
    system = cs.ContactSystem(robot, joint_limits=False)
    m = mujoco.MjModel.from_xml_string(text)
    q, v, _ = of_mujoco(m, *states(m)[0])
    traj = cs.simulate(system, (q, v), (0.0, 0.2), tolerances=TIGHT)
    before, after = (float(system.mechanism.energy(s.q, s.v)) for s in (traj(0.0), traj.final))
    assert after == pytest.approx(before, abs=1e-8)
    traj.check()


@pytest.mark.parametrize("size", ["0.1", "0.1 0.1 0.1"])
def test_springs_pull_on_bodies_that_stick(tmp_path: Path, size: str) -> None:
    """A ball that rolls and a box that stands, with a sprung arm: contact problems, modes and energy agree."""
    shape = "sphere" if " " not in size else "box"
    text = world(
        plane('friction="2"')
        + f'<body name="base" pos="0 0 0.1"><freejoint/><geom type="{shape}" size="{size}" mass="5"/>'
        + '<body pos="0 0 0.3"><joint axis="0 1 0" stiffness="3" springref="15" armature="0.01"/>'
        + '<geom name="tip" size="0.02" pos="0 0 0.2" mass="0.3" contype="0" conaffinity="0"/></body></body>'
    )
    robot = robot_of(tmp_path, text)
    traj = cs.simulate(cs.ContactSystem(robot), (robot.nominal, np.zeros(robot.nv)), (0.0, 0.4))
    assert cs.Mode.STICK in traj.mode_at(0.2).values() and abs(traj.final.q[-1]) > 0.1
    traj.check()


def test_half_cheetah_weighs_what_its_file_says(tmp_path: Path) -> None:
    robot = robot_of(tmp_path, world(ball(), "").replace("<mujoco>", '<mujoco><compiler settotalmass="14"/>'))
    assert sum(inertia.mass for inertia in robot.model.inertias) == pytest.approx(14.0)


def test_a_range_of_a_slide_is_in_metres(tmp_path: Path) -> None:
    body = '<body><joint name="s" type="slide" range="-0.1 0.2" limited="true"/><geom size="0.1" mass="1"/></body>'
    robot = robot_of(tmp_path, world(body))
    assert (robot.model.lowerPositionLimit[0], robot.model.upperPositionLimit[0]) == (-0.1, 0.2)


def test_two_robots_with_springs_in_one_world(tmp_path: Path) -> None:
    robot = robot_of(tmp_path, SPRUNG, contacts=[])
    both = cs.Robot.merge([cs.Robot.sphere(1.0, 0.1), robot], names=["ball", "robot"])
    alone, merged = (cs.ContactSystem(r, joint_limits=False) for r in (robot, both))
    m = mujoco.MjModel.from_xml_string(SPRUNG)
    q, v, _ = of_mujoco(m, *states(m)[0])
    q_all, v_all = both.pack({"robot": (q, v)})
    one, two = (s.mechanism.terms(0.0, *at, ()) for s, at in ((alone, (q, v)), (merged, (q_all, v_all))))
    np.testing.assert_allclose(two.force[6:], one.force, rtol=0, atol=1e-10)
    np.testing.assert_allclose(merged.gravity, robot.gravity)


def test_check_knows_the_power_of_dampers(tmp_path: Path) -> None:
    robot = robot_of(tmp_path, CURVED, contacts=[])
    v = np.random.default_rng(0).normal(size=robot.nv)
    cs.simulate(cs.ContactSystem(robot, joint_limits=False), (robot.nominal, v), (0.0, 0.3)).check()


def test_copies_keep_springs(tmp_path: Path) -> None:
    robot = robot_of(tmp_path, SPRUNG, contacts=[])
    system, v = cs.ContactSystem(robot, joint_limits=False), np.arange(1.0, robot.nv + 1.0)
    expected = system.mechanism.terms(0.0, robot.nominal, v, ()).force
    for other in (copy.deepcopy(system), pickle.loads(pickle.dumps(system)), system.with_parameter("gravity", 5.0)):
        found = other.mechanism.terms(0.0, robot.nominal, v, ()).force
        same = bool(other.gravity[2] == system.gravity[2])
        assert np.array_equal(found, expected) is same


def test_armature_of_a_free_joint_is_told(tmp_path: Path) -> None:
    text = world(ball().replace("<freejoint name", '<joint type="free" armature="0.5" name'))
    with pytest.warns(UserWarning, match=r"the armature in translation of joint 'ball_root'"):
        robot = cs.Robot.from_mjcf(written(tmp_path, text))
    assert robot.model.armature.tolist() == [0, 0, 0, 0.5, 0.5, 0.5]


def test_a_stored_run_keeps_springs(tmp_path: Path) -> None:
    robot = robot_of(tmp_path, SPRUNG, contacts=[])
    sim = cs.Simulation(cs.ContactSystem(robot, joint_limits=False), (robot.nominal, np.zeros(robot.nv)))
    sim.advance_to(0.05)
    again = cs.Simulation.resume(cs.Trajectory.load(sim.trajectory.save(tmp_path / "run.nc")))
    for run in (sim, again):
        run.advance_to(0.1)
    np.testing.assert_allclose(again.state.q, sim.state.q, rtol=0, atol=1e-9)
    at = (0.0, sim.state.q, sim.state.v, ())
    assert np.array_equal(again.system.mechanism.terms(*at).force, sim.system.mechanism.terms(*at).force)
    np.testing.assert_array_equal(again.system.robot.springs, robot.springs)


# --- ground and gravity -----------------------------------------------------------------------------------------
def test_ground_of_the_file(tmp_path: Path) -> None:
    level = robot_of(tmp_path, world(plane('pos="0 0 0.3"') + ball()))
    assert isinstance(level.terrain, Flat) and level.terrain.height == 0.3
    tilted = robot_of(tmp_path, world(plane('euler="0 10 0"') + ball()))
    assert isinstance(tilted.terrain, Slope) and tilted.terrain.angle == pytest.approx(np.deg2rad(10))
    np.testing.assert_allclose(tilted.terrain.downhill, (1.0, 0.0), atol=1e-12)
    aside = robot_of(tmp_path, world(plane('euler="0 10 0" pos="0 0 0.2"') + ball()))
    assert type(aside.terrain) is Plane
    np.testing.assert_allclose(aside.terrain.plane()[1], tilted.terrain.plane()[1], atol=1e-12)
    assert isinstance(robot_of(tmp_path, world(ball())).terrain, NoGround)


def test_a_system_takes_gravity_and_ground_of_the_file(tmp_path: Path) -> None:
    text = world(plane('pos="0 0 0.3"') + ball()).replace("<mujoco>", '<mujoco><option gravity="0 0 -2"/>')
    robot = robot_of(tmp_path, text)
    system = cs.ContactSystem(robot)
    np.testing.assert_array_equal(system.gravity, [0.0, 0.0, -2.0])
    traj = cs.simulate(system, (robot.nominal, np.zeros(6)), (0.0, 2.0))
    assert traj.events[0].time == pytest.approx(np.sqrt(2 * 0.6 / 2.0), abs=1e-9)
    other = cs.ContactSystem(robot, Flat(), gravity=(0.0, 0.0, -9.81))
    assert other.terrain.height == 0.0 and other.gravity[2] == -9.81


def test_without_ground_it_falls_for_ever(tmp_path: Path) -> None:
    robot = robot_of(tmp_path, world(ball()))
    traj = cs.simulate(cs.ContactSystem(robot), (robot.nominal, np.zeros(6)), (0.0, 3.0))
    assert not traj.events and traj.final.q[2] == pytest.approx(1.0 - 0.5 * 9.81 * 9.0)
    again = cs.Trajectory.load(traj.save(tmp_path / "run.nc"))
    assert isinstance(again.system.terrain, NoGround)


def test_a_system_of_a_urdf_has_the_usual_ground() -> None:
    system = cs.ContactSystem(cs.Robot.sphere(1.0, 0.1))
    assert isinstance(system.terrain, Flat) and system.gravity.tolist() == [0.0, 0.0, -9.81]


def test_a_box_of_the_world_carries_a_ball(tmp_path: Path) -> None:
    table = '<geom name="table" type="box" size="0.5 0.5 0.1" pos="0 0 0.4" friction="0.3"/>'
    robot = robot_of(tmp_path, world(plane() + table + ball(height=0.7, more='friction="0.2"')))
    (pair,) = robot.pairs
    assert pair.friction == 0.3
    traj = cs.simulate(cs.ContactSystem(robot), (robot.nominal, np.zeros(6)), (0.0, 1.0))
    assert traj.final.q[2] == pytest.approx(0.6, abs=1e-9)
    assert traj.mode_at(0.9)[pair.name] is not cs.Mode.OPEN


# --- friction ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("floor", "foot", "expected"),
    [
        ('friction="0.4"', 'friction="0.7"', 0.7),
        ('friction="0.4" priority="1"', 'friction="0.7"', 0.4),
        ('friction="0.4" condim="1"', 'friction="0.7" condim="1"', 0.0),
        ('friction="0.4" condim="1"', 'friction="0.7" condim="3"', 0.7),
        ('friction="0.4" condim="1" priority="2"', 'friction="0.7"', 0.0),
    ],
)
def test_friction_combines_as_in_mujoco(tmp_path: Path, floor: str, foot: str, expected: float) -> None:
    (point,) = robot_of(tmp_path, world(plane(floor) + ball(more=foot))).contacts
    assert point.friction == expected


def test_friction_of_a_pair(tmp_path: Path) -> None:
    pair = '<contact><pair geom1="floor" geom2="ball" friction="0.15 0.15 0.1 0.1 0.1"/></contact>'
    (point,) = robot_of(tmp_path, world(plane() + ball(more='contype="0" conaffinity="0"'), pair)).contacts
    assert point.friction == 0.15


@pytest.mark.parametrize(
    ("text", "count"),
    [
        (world(plane() + ball(more='contype="2" conaffinity="2"')), 0),
        (world(plane() + ball(), '<contact><exclude body1="world" body2="ball"/></contact>'), 0),
        (world(plane() + ball()).replace("<mujoco>", '<mujoco><option><flag contact="disable"/></option>'), 0),
        (world(plane() + ball(more='contype="2" conaffinity="1"')), 1),
    ],
)
def test_what_the_file_keeps_from_the_ground_does_not_touch_it(tmp_path: Path, text: str, count: int) -> None:
    assert len(robot_of(tmp_path, text).contacts) == count


def test_a_pair_of_two_balls(tmp_path: Path) -> None:
    """They meet once, and only where the file names them."""
    text = world(ball("one", 1.0) + ball("two", 2.0), '<contact><pair geom1="one" geom2="two"/></contact>')
    robot = robot_of(tmp_path, text)
    assert [pair.name for pair in robot.pairs] == ["one+two"]
    v = np.zeros(12)
    v[8] = -1.0
    traj = cs.simulate(cs.ContactSystem(robot, gravity=(0, 0, 0)), (robot.nominal, v), (0.0, 1.0))
    np.testing.assert_allclose(traj.final.v[[2, 8]], -0.5, atol=1e-9)


def test_balls_of_a_file_meet_unless_it_excludes_them(tmp_path: Path) -> None:
    """Momentum goes over where they meet, with the larger friction; a box that floats meets a ball through the ball."""
    one, two = ball("one", 1.0, 'friction="0.3"'), ball("two", 2.0, 'friction="0.1"')
    box = '<body name="box" pos="3 0 0"><freejoint/><geom name="box" type="box" size="1 1 1" mass="1"/></body>'
    robot = robot_of(tmp_path, world(one + two + box))
    names = {pair.name: pair.friction for pair in robot.pairs}
    assert names == {"one+two": 0.3, "one+box": 1.0, "two+box": 1.0}
    exclude = '<contact><exclude body1="one" body2="two"/></contact>'
    assert len(robot_of(tmp_path, world(one + two + box, exclude)).pairs) == 2
    v = np.zeros(18)
    v[8] = -1.0
    traj = cs.simulate(cs.ContactSystem(robot, gravity=(0, 0, 0)), (robot.nominal, v), (0.0, 1.0))
    np.testing.assert_allclose(traj.final.v[[2, 8]], -0.5, atol=1e-9)


def test_a_tree_without_feet_stands_on_all_its_geoms(tmp_path: Path) -> None:
    robot = robot_of(tmp_path, FEET.replace("</worldbody>", ball().replace("0 0 1.0", "3 0 1") + "</worldbody>"))
    assert [point.name for point in robot.contacts] == ["trunk", "ball"]


FEET = world(
    plane()
    + '<body name="trunk" pos="0 0 1"><freejoint/><geom type="box" size="0.1 0.1 0.1" mass="1"/>'
    + '<geom name="left_foot" size="0.05" pos="0 0 -0.2"/></body>'
)


@pytest.mark.parametrize(("choice", "count"), [("auto", 1), ("feet", 1), ("all", 9)])
def test_choice_of_contacts(tmp_path: Path, choice: str, count: int) -> None:
    assert len(robot_of(tmp_path, FEET, contacts=choice).contacts) == count


def test_choices_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(cs.InputError, match="contacts is 'some'; give 'auto', 'all', 'feet' or a list"):
        robot_of(tmp_path, FEET, contacts="some")
    with pytest.raises(cs.InputError, match=r"no geom or body of robot\.xml is named as a foot"):
        robot_of(tmp_path, world(ball()), contacts="feet")


# --- equalities -------------------------------------------------------------------------------------------------
PENDULUMS = """
<mujoco><worldbody>
  <body name="one"><joint name="a" axis="0 1 0" ref="10"/><geom size="0.05" pos="0 0 -0.3" mass="1"/></body>
  <body name="two" pos="1 0 0"><joint name="b" axis="0 1 0"/><geom size="0.05" pos="0 0 -0.5" mass="2"/></body>
</worldbody>
<tendon><fixed name="both"><joint joint="a" coef="1"/><joint joint="b" coef="-2"/></fixed></tendon>
<equality>EQUALITY</equality></mujoco>
"""
EQUAL = (
    '<joint joint1="a" joint2="b" polycoef="0.1 2 0 0 0"/>',
    '<tendon tendon1="both" polycoef="0.1 0 0 0 0"/>',
)


@pytest.mark.parametrize("equality", EQUAL)
def test_joints_that_an_equality_couples(tmp_path: Path, equality: str) -> None:
    """a - a_0 = 0.1 + 2 b: one equation of motion, of b."""
    robot = robot_of(tmp_path, PENDULUMS.replace("EQUALITY", equality), contacts=[])
    ref, system = np.deg2rad(10.0), cs.ContactSystem(robot)
    start = system.close([ref + 0.9, 0.4], [1.0, 0.5])
    traj = cs.simulate(system, start, (0.0, 1.0), tolerances=TIGHT)

    ball_of = 0.4 * 0.05**2
    one, two = 1.0 * (0.3**2 + ball_of), 2.0 * (0.5**2 + ball_of)

    def rate(t: float, x: Array) -> list[float]:
        a = 0.1 + 2.0 * x[0]
        moment = -9.81 * (2.0 * 1.0 * 0.3 * np.sin(a) + 2.0 * 0.5 * np.sin(x[0]))
        return [x[1], moment / (4.0 * one + two)]

    exact = solve_ivp(rate, (0, 1), [start.q[1], start.v[1]], rtol=1e-12, atol=1e-13, method="DOP853").y[:, -1]
    np.testing.assert_allclose([traj.final.q[1], traj.final.v[1]], exact, atol=GEARED)
    assert traj.final.q[0] - ref == pytest.approx(0.1 + 2.0 * traj.final.q[1], abs=GEARED)
    traj.check()


def test_a_coupling_that_is_made_by_hand(tmp_path: Path) -> None:
    robot = robot_of(tmp_path, PENDULUMS.replace("EQUALITY", EQUAL[0]), contacts=[])
    loose = robot_of(tmp_path, PENDULUMS.replace("EQUALITY", ""), contacts=[])
    coupling = cs.JointCoupling(("a", "b"), (1.0, -2.0), 0.1 + np.deg2rad(10.0))
    mine, theirs = cs.ContactSystem(loose, loops=[coupling]), cs.ContactSystem(robot)
    start = theirs.close([1.0, 0.4], [1.0, 0.5])
    one, two = (cs.simulate(system, start, (0.0, 0.5)) for system in (mine, theirs))
    np.testing.assert_allclose(one.final.q, two.final.q, atol=1e-12)
    lin = cs.linearize(one)
    assert np.isfinite(lin.matrix()).all()
    with pytest.raises(cs.InputError, match="has 2 joints and 1 factors"):
        cs.JointCoupling(("a", "b"), (1.0,))
    with pytest.raises(cs.InputError, match="has no joint 'c'"):
        cs.ContactSystem(loose, loops=[cs.JointCoupling(("a", "c"), (1.0, 1.0))])


HELD = """
<mujoco><worldbody>
  <body name="one" pos="0 0 1" euler="10 20 30"><freejoint/><geom size="0.1" pos="0.1 0 0" mass="1"/>
    <site name="s" pos="0.3 0.1 0" euler="0 40 0"/></body>
  <body name="two" pos="0.5 0.2 1.1" euler="50 0 -20"><joint type="ball"/><geom size="0.1" pos="0.2 0 0" mass="1"/>
    <site name="t" pos="0 0.2 0.1"/></body>
</worldbody><equality>EQUALITY</equality></mujoco>
"""


@pytest.mark.parametrize(
    ("equality", "kind"),
    [
        ('<weld body1="one" body2="two"/>', "pose"),
        ('<weld body1="one" body2="two" anchor="0.1 0.2 0.3"/>', "pose"),
        ('<connect body1="one" body2="two" anchor="0.1 0.2 0.3"/>', "point"),
        ('<weld body1="two"/>', "pose"),
    ],
)
def test_bodies_that_are_held_together_are_so_in_the_file(tmp_path: Path, equality: str, kind: str) -> None:
    robot = robot_of(tmp_path, HELD.replace("EQUALITY", equality), contacts=[])
    system = cs.ContactSystem(robot)
    assert [loop.kind for loop in robot.loops] == [kind]
    assert max(system.mechanism.loops.openings(robot.nominal).values()) < 1e-12


def test_sites_that_are_held_together(tmp_path: Path) -> None:
    """As MuJoCo has them: the distance of the two is the residual of its constraint."""
    text = HELD.replace("EQUALITY", '<connect site1="s" site2="t"/>')
    robot = robot_of(tmp_path, text, contacts=[])
    m = mujoco.MjModel.from_xml_string(text)
    d = mujoco.MjData(m)
    mujoco.mj_forward(m, d)
    (apart,) = cs.ContactSystem(robot).mechanism.loops.openings(robot.nominal).values()
    assert apart == pytest.approx(np.linalg.norm(d.site_xpos[0] - d.site_xpos[1]))


# --- actuators --------------------------------------------------------------------------------------------------
DRIVEN = PENDULUMS.replace("<equality>EQUALITY</equality>", "<actuator>ACTUATORS</actuator>")
SERVO = '<position name="servo" joint="a" kp="20" kv="1" ctrlrange="-1 1" forcerange="-5 5"/>'
MOTOR = '<motor name="motor" joint="b" gear="3"/>'


def test_actuators_and_their_parameters(tmp_path: Path) -> None:
    robot = robot_of(tmp_path, DRIVEN.replace("ACTUATORS", SERVO + MOTOR), contacts=[])
    q, v, z = np.array([0.1, 0.0]), np.array([0.2, 0.0]), np.zeros(0)
    driven = cs.Actuators(robot, {"servo": 0.2, "motor": 2.0})
    np.testing.assert_allclose(driven.torque(0.0, q, v, z), [20 * 0.1 - 0.2, 6.0])
    assert driven.parameters() == {"ctrl.servo": 0.2, "ctrl.motor": 2.0}
    cut_off = driven.with_parameter("ctrl.servo", 9.0)
    np.testing.assert_allclose(cut_off.torque(0.0, q, v, z), [5.0, 6.0])
    np.testing.assert_allclose(driven.torque(0.0, q, v, z), [20 * 0.1 - 0.2, 6.0])
    timed = cs.Actuators(robot, lambda t, q, v: [t, -t])
    np.testing.assert_allclose(timed.torque(0.5, q, v, z), [5.0, -1.5])
    traj = cs.simulate(cs.ContactSystem(robot, controller=driven), (q, v), (0.0, 0.1))
    assert np.isfinite(cs.linearize(traj).parameter("controller.ctrl.motor")).all()


def test_a_run_under_actuators_with_memory(tmp_path: Path) -> None:
    """An integrator, a filter through a tendon, and a damper: half a second as by MuJoCo's RK4."""
    drives = (
        '<intvelocity name="i" joint="a" kp="3" actrange="-2 2"/><damper name="d" joint="a" kv="0.5" ctrlrange="0 1"/>'
        '<general name="f" tendon="both" dyntype="filter" dynprm="0.05" gainprm="0.7" gear="2"/>'
    )
    text = DRIVEN.replace("ACTUATORS", drives).replace("<worldbody>", '<option integrator="RK4"/><worldbody>')
    robot, m = robot_of(tmp_path, text, contacts=[]), mujoco.MjModel.from_xml_string(text)
    m.opt.timestep, d = 1e-4, mujoco.MjData(m)
    d.ctrl, d.qpos = [0.8, 0.6, -0.4], [0.5, 0.2]
    start = cs.State(d.qpos, np.zeros(2), np.zeros(2))
    mujoco.mj_step(m, d, nstep=5000)
    traj = cs.simulate(cs.ContactSystem(robot, controller=cs.Actuators(robot, [0.8, 0.6, -0.4])), start, (0.0, 0.5))
    np.testing.assert_allclose(traj.final.q, d.qpos, rtol=0, atol=tol.MJCF_MOTION)
    np.testing.assert_allclose(traj.final.z, d.act, rtol=0, atol=tol.MJCF_MOTION)


def test_an_activation_stays_in_its_range(tmp_path: Path) -> None:
    drive = '<intvelocity name="i" joint="a" kp="3" actrange="-0.1 0.1"/>'
    robot = robot_of(tmp_path, DRIVEN.replace("ACTUATORS", drive), contacts=[])
    start = cs.State(robot.nominal, np.zeros(2), np.zeros(1))
    traj = cs.simulate(cs.ContactSystem(robot, controller=cs.Actuators(robot, [1.0])), start, (0.0, 0.3))
    assert traj.final.z[0] == pytest.approx(0.1, abs=1e-6)


def test_which_joints_are_actuated(tmp_path: Path) -> None:
    assert robot_of(tmp_path, DRIVEN.replace("ACTUATORS", MOTOR), contacts=[]).actuated.tolist() == [False, True]
    assert robot_of(tmp_path, DRIVEN.replace("ACTUATORS", ""), contacts=[]).actuated.tolist() == [True, True]


def test_mistakes_about_actuators(tmp_path: Path) -> None:
    robot = robot_of(tmp_path, DRIVEN.replace("ACTUATORS", SERVO + MOTOR), contacts=[])
    with pytest.raises(cs.InputError, match="there is no actuator 'serbo'; there are servo, motor"):
        cs.Actuators(robot, {"serbo": 1.0})
    with pytest.raises(cs.InputError, match="give 2 finite numbers, or a function"):
        cs.Actuators(robot, [1.0])
    with pytest.raises(cs.InputError, match="has no actuators of a file"):
        cs.Actuators(cs.Robot.sphere(1.0, 0.1))
    with pytest.raises(cs.InputError, match="returned the shape"):
        cs.Actuators(robot, lambda t, q, v: [1.0]).torque(0.0, np.zeros(2), np.zeros(2), np.zeros(0))


# --- what is left out, and what cannot be read ------------------------------------------------------------------
LEFT_OUT = """<mujoco>
  <option timestep="0.001" density="1.2"/>
  <worldbody>
    <geom name="post" type="capsule" size="0.1 0.5"/>
    <body name="one" pos="0 0 2"><joint name="a" frictionloss="0.1"/><geom name="egg" type="ellipsoid" size="1 1 1"/>
      <site name="s"/></body>
    <body name="two" pos="9 0 2"><joint name="b" type="ball" range="0 90" limited="true"/><geom size="0.1"/>
      <site name="t"/></body>
    <body name="ghost" mocap="true"><geom size="0.1" contype="0" conaffinity="0"/></body>
  </worldbody>
  <tendon><spatial name="rope"><site site="s"/><site site="t"/></spatial></tendon>
  <actuator><motor name="winch" tendon="rope"/></actuator>
</mujoco>"""


def test_what_is_left_out_is_named_once_with_its_line(tmp_path: Path) -> None:
    with pytest.warns(UserWarning) as said:
        cs.Robot.from_mjcf(written(tmp_path, LEFT_OUT))
    (first, *others) = [str(warning.message) for warning in said]
    for part in (
        "robot.xml: not simulated are",
        "actuator 'winch' (line 12): acts neither on a joint nor on a fixed tendon",
        "the range of joint 'b' (line 7)",
        "the motion of mocap body 'ghost', which is fixed",
        "spatial tendon 'rope' (line 11)",
        "the solver's options <option>: timestep (line 2)",
        "the fluid <option>: density (line 2)",
    ):
        assert first.count(part) == 1, part
    assert len(others) == 1 and "joint 'a' (0.1) has dry friction" in others[0]


def test_nothing_is_said_where_nothing_is_left_out(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cs.Robot.from_mjcf(written(tmp_path, world(plane() + ball())))


def test_meshes_are_found_in_package_folders(tmp_path: Path) -> None:
    corners = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
    faces = [(1, 3, 2), (1, 2, 4), (1, 4, 3), (2, 3, 4)]
    (tmp_path / "elsewhere").mkdir()
    lines = [f"v {x} {y} {z}" for x, y, z in corners] + [f"f {a} {b} {c}" for a, b, c in faces]
    (tmp_path / "elsewhere" / "tetra.obj").write_text("\n".join(lines))
    body = '<body pos="0 0 1"><freejoint/><geom type="mesh" mesh="t"/></body>'
    text = world(body, '<asset><mesh name="t" file="package://tetra.obj"/></asset>')
    with pytest.raises(cs.InputError, match="cannot be read"):
        robot_of(tmp_path, text)
    with pytest.raises(cs.InputError, match=r"there is no folder .*lost"):
        robot_of(tmp_path, text, package_dirs=[tmp_path / "lost"])
    robot = robot_of(tmp_path, text, package_dirs=[tmp_path / "elsewhere"])
    assert robot.model.inertias[1].mass == pytest.approx(1000.0 / 6.0)
    assert len(robot.visual_model.geometryObjects) == 1
    assert 3 <= len(robot.contacts) <= 4


def test_folders_come_before_contacts_as_they_do_for_urdf_files(tmp_path: Path) -> None:
    path = written(tmp_path, world(plane() + ball()))
    assert cs.Robot.from_mjcf(path, None, "all").contacts == cs.Robot.from_mjcf(path, contacts="all").contacts


def test_without_mujoco_the_remedy_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(cs.InputError, match=r'pip install "contactsim\[mjcf\]"'):
        cs.Robot.from_mjcf(written(tmp_path, world(ball())))


@pytest.mark.parametrize("text", ["", "<mujoco>", "<mujoco><worldbody><body><joint/></body></worldbody></mujoco>"])
def test_files_that_cannot_be_read(tmp_path: Path, text: str) -> None:
    with pytest.raises(cs.InputError, match=r"the MJCF file .*robot\.xml cannot be read"):
        cs.Robot.from_mjcf(written(tmp_path, text))


@pytest.mark.parametrize(
    ("joint", "words"),
    [
        (
            'damping="inf"',
            r"the damping of joint 'hinge' in the MJCF file .*robot\.xml is inf; give a number that is zero",
        ),
        ('damping="-1"', "the damping of joint 'hinge' .* is -1; give a number that is zero or positive"),
        ('armature="-0.1"', "the armature of joint 'hinge' .* is -0.1; give a number that is zero or positive"),
        ('frictionloss="-1"', "the frictionloss of joint 'hinge' .* is -1; give"),
        ('stiffness="1e300"', "the stiffness of joint 'hinge' .* is 1e.300; give a finite number"),
        ('springref="inf"', r"the MJCF file .*robot\.xml has a springref of inf; give a finite number"),
    ],
)
def test_numbers_that_mujoco_takes_and_no_motion_has_are_refused(tmp_path: Path, joint: str, words: str) -> None:
    body = f'<body><joint name="hinge" {joint}/><geom size="0.1"/></body>'
    with pytest.raises(cs.InputError, match=words):
        robot_of(tmp_path, world(body))
