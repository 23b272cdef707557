"""Parameters by name: what can be changed, what a change does, and derivatives of a run with respect to each."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from builders import TIGHT, planar_mechanism, point_mass, random_tree, sphere
from tolerances import PARAMETER

import contactsim as cs
from contactsim.io import scene

Array = np.ndarray
STEP = 1e-3  # of a parameter in differences of runs, relative to its size or, where it is smaller, to one


def leg() -> cs.Robot:
    """A block that slides along a rail (x, z) with a thigh and a shank hinged below it; the foot is a point."""
    model = pin.Model()
    model.name = "leg"
    hip = model.addJoint(0, pin.JointModelPX(), pin.SE3.Identity(), "rail_x")
    _link(model, hip, 0.1, 0.0, 0.001, "carriage")
    hip = model.addJoint(hip, pin.JointModelPZ(), pin.SE3.Identity(), "rail_z")
    _link(model, hip, 2.0, 0.0, 0.01, "block")
    thigh = model.addJoint(hip, pin.JointModelRY(), pin.SE3.Identity(), "hip")
    _link(model, thigh, 0.6, -0.1, 0.004, "thigh")
    knee = pin.SE3(np.eye(3), np.array([0.0, 0.0, -0.25]))
    shank = model.addJoint(thigh, pin.JointModelRY(), knee, "knee")
    _link(model, shank, 0.4, -0.12, 0.003, "shank")
    place = pin.SE3(np.eye(3), np.array([0.0, 0.0, -0.25]))
    model.addFrame(pin.Frame("foot", shank, 0, place, pin.FrameType.BODY))
    contact = cs.ContactPoint("foot", friction=0.3, name="foot")
    return cs.Robot(model, [contact], nominal=np.array([0.0, 0.45, 0.4, -0.8]))


def _link(model: pin.Model, joint: int, mass: float, height: float, moment: float, name: str) -> None:
    inertia = pin.Inertia(mass, np.array([0.01, 0.0, height]), moment * np.eye(3))
    model.appendBodyToJoint(joint, inertia, pin.SE3.Identity())
    model.addFrame(pin.Frame(name, joint, 0, pin.SE3.Identity(), pin.FrameType.BODY))


class Swing(cs.Controller):
    """A spring on the joints of the leg, with a stiffness and an amplitude of its own."""

    def __init__(self, stiffness: float = 60.0, amplitude: float = 0.3) -> None:
        self.own = {"stiffness": stiffness, "amplitude": amplitude}

    def parameters(self) -> dict[str, float]:
        return self.own

    def with_parameter(self, name: str, value: float) -> Swing:
        return Swing(**self.own | {name: value})

    def torque(self, t: float, q: Array, v: Array, z: Array) -> Array:
        goal = np.array([0.0, 0.0, 0.4, -0.8 + self.own["amplitude"] * math.sin(5.0 * t)])
        return np.array([0, 0, 1, 1]) * (self.own["stiffness"] * (goal - q) - 2.0 * v)


def tight(system: cs.ContactSystem, start: cs.State, end: float) -> cs.Trajectory:
    return cs.simulate(system, start, (0.0, end), tolerances=cs.Tolerances(**TIGHT))


def differenced(run: cs.Trajectory, start: cs.State, name: str) -> Array:
    """D x(T) / D p by central differences of fourth order of whole runs."""
    system, value = run.system, run.system.parameter(name)
    step = STEP * max(1.0, abs(value))

    def moved(k: int) -> Array:
        final = tight(system.with_parameter(name, value + k * step), start, float(run.t[-1])).final_x
        return system.space().difference(run.final_x, final)

    return (8.0 * (moved(1) - moved(-1)) - (moved(2) - moved(-2))) / (12.0 * step)


def exact(run: cs.Trajectory) -> cs.Linearization:
    return cs.linearize(run, tolerances=cs.Tolerances(rtol=1e-11, atol=1e-12))


def agree(one: Array, other: Array) -> None:
    assert np.abs(one - other).max() <= PARAMETER * np.abs(other).max(), (one, other)


def check(system: cs.ContactSystem, start: cs.State, end: float, *names: str) -> None:
    """Derivatives by parameters are those of differences."""
    run = tight(system, start, end)
    derivative = exact(run)
    for name in names:
        agree(derivative.parameter(name), differenced(run, start, name))


# --- derivatives ----------------------------------------------------------------------------------------------------
LEG = [
    "contact.foot.friction",
    "body.shank.mass",
    "body.shank.inertia_scale",
    "controller.kp_scale",
    "controller.kd.hip",
    "gravity",
]
LIKE_THEM = ["contact.friction", "body.block.mass", "controller.kd_scale", "controller.kp.knee"]


def touch_down_slip_and_stop() -> tuple[cs.ContactSystem, cs.State, float]:
    robot = leg()
    system = cs.ContactSystem(robot, controller=cs.PD(robot, kp=[0, 0, 60.0, 42.0], kd=2.0))
    return system, cs.State([0.0, 0.47, 0.35, -0.75], [1.2, 0.0, 0.0, 0.0]), 0.42


@cache
def leg_run() -> tuple[cs.Trajectory, cs.Linearization]:
    run = tight(*touch_down_slip_and_stop())
    return run, exact(run)


def test_the_run_of_the_leg_touches_down_slips_and_stops() -> None:
    run, _ = leg_run()
    words = [f"{a.value} -> {b.value}" for event in run.events for a, b in event.transitions.values()]
    assert {"open -> slip", "slip -> stick"} <= set(words), words
    assert {type(event.time) for event in run.all_events} == {float}


@pytest.mark.parametrize("name", [*LEG, *(pytest.param(name, marks=pytest.mark.slow_in_python) for name in LIKE_THEM)])
def test_a_leg_through_touch_down_slip_and_stop(name: str) -> None:
    run, derivative = leg_run()
    agree(derivative.parameter(name), differenced(run, touch_down_slip_and_stop()[1], name))


def test_a_leg_that_breaks_loose() -> None:
    robot = leg()
    system = cs.ContactSystem(robot, controller=cs.PD(robot, kp=[0, 0, 150.0, 105.0], kd=2.0))
    start = cs.State([0.0, 0.47, 0.35, -0.75], [0.35, 0.0, 0.0, 0.0])
    check(system, start, 0.2, "contact.friction", "body.block.mass", "controller.kp.knee")


def test_a_sampled_controller() -> None:
    robot = leg()
    system = cs.ContactSystem(robot, controller=cs.PD(robot, kp=60.0, kd=2.0, period=0.002))
    start = cs.State([0.0, 0.47, 0.35, -0.75], [1.2, 0.0, 0.0, 0.0])
    check(system, start, 0.05, "body.block.mass", "gravity")


def test_restitution_of_a_bounce() -> None:
    system = cs.ContactSystem(point_mass(restitution=0.6))
    start = cs.State([0, 0, 0.3], [1.0, 0.5, 0.0])
    check(system, start, 0.5, "contact.restitution")


def test_parameters_that_a_controller_declares() -> None:
    names, system = ("controller.stiffness", "controller.amplitude"), cs.ContactSystem(leg(), controller=Swing())
    start = cs.State([0.0, 0.48, 0.4, -0.8], [0.3, 0.0, 0.0, 0.0])
    check(system, start, 0.35, *names)
    for name in names:
        assert system.parameter(name) == cs.ContactSystem(leg(), controller=Swing()).parameter(name)


@pytest.mark.parametrize("name", ["contact.friction", "body.ball.mass", "body.ball.inertia_scale", "gravity"])
def test_a_ball_that_slides_into_rolling(name: str) -> None:
    """Its final velocity has a closed form, v0 / (1 + s 2/5) with s the inertia_scale, whatever friction and weight."""
    system, start = cs.ContactSystem(sphere(friction=0.3)), cs.State([0, 0, 0.1, 0, 0, 0, 1], [1.0, 0, 0, 0, 0, 0])
    run = tight(system, start, 0.5)
    by_name = exact(run).parameter(name)
    agree(by_name, differenced(run, start, name)) if name != "body.ball.mass" else None
    final = cs.simulate(system, start, (0.0, 0.5)).final
    turn = pin.Quaternion(final.q[3:]).toRotationMatrix()
    dv = turn @ (by_name[6:9] + np.cross(by_name[3:6], final.v[:3]))
    expected = {"body.ball.inertia_scale": -0.4 / 1.4**2}.get(name, 0.0)
    np.testing.assert_allclose(dv, [expected, 0, 0], atol=1e-8)


def test_the_hexapod_with_its_motors_through_a_touch_down() -> None:
    robot = cs.load_robot("hexapod")
    system = cs.ContactSystem(robot, controller=cs.PD(robot, kp=150.0, kd=6.0))
    q = robot.nominal.copy()
    q[2] += 0.015
    q[3:7] = pin.Quaternion(pin.exp3(np.array([0.03, 0.02, 0.0]))).coeffs()
    start = cs.State(q, np.zeros(robot.nv))
    check(system, start, 0.026, "controller.kp", "body.body.mass")


# --- what a change does ---------------------------------------------------------------------------------------------
def test_a_heavier_body_keeps_its_centre_and_its_radii_of_gyration() -> None:
    robot = cs.Robot(random_tree(3), [])
    heavy = robot.with_body_parameter("joint_2", "mass", 7.0)
    joint = robot.bodies["joint_2"]
    one, other = robot.model.inertias[joint], heavy.model.inertias[joint]
    assert other.mass == 7.0
    np.testing.assert_allclose(other.lever, one.lever)
    np.testing.assert_allclose(other.inertia / other.mass, one.inertia / one.mass)
    flat = heavy.with_body_parameter("joint_2", "inertia_scale", 2.0)
    flat = flat.with_body_parameter("joint_2", "inertia_scale", 3.0)
    np.testing.assert_allclose(flat.model.inertias[joint].inertia, 3.0 * other.inertia)
    assert flat.body_parameter("joint_2", "inertia_scale") == 3.0
    assert flat.model.inertias[joint].mass == 7.0


def test_systems_do_not_share_what_was_changed() -> None:
    system, *_ = touch_down_slip_and_stop()
    before = system.parameters()
    for name, value in before.items():
        changed = system.with_parameter(name, 1.3 * value + 0.01)
        assert changed.parameter(name) == pytest.approx(1.3 * value + 0.01), name
        assert changed.with_parameter(name, value).parameter(name) == pytest.approx(value)
    assert system.parameters() == before


def test_what_all_contacts_share_is_listed() -> None:
    """By the name that derivatives take; where contacts differ there is none."""
    ball = sphere(friction=0.4, restitution=0.3)
    point = replace(ball.contacts[0], rolling=0.01)
    system = cs.ContactSystem(ball.with_contacts([point]))
    shared = {name: value for name, value in system.parameters().items() if name.count(".") == 1}
    told = {
        "contact.friction": 0.4,
        "contact.static_friction": 0.4,
        "contact.restitution": 0.3,
        "contact.rolling": 0.01,
    }
    assert shared == told | {"terrain.height": 0.0}
    two = ball.with_contacts([ball.contacts[0], replace(ball.contacts[0], name="other", friction=0.2)])
    names = cs.ContactSystem(two).parameters()
    assert "contact.restitution" in names and not {"contact.friction", "contact.rolling", "limit.restitution"} & set(
        names
    )
    assert "limit.restitution" in cs.load_scene("hexapod").system.parameters()


def test_the_derivative_by_a_shared_coefficient_is_the_sum_of_those_of_its_contacts() -> None:
    box = cs.ContactSystem(cs.Robot.box(1.0, (0.2, 0.3, 0.1), friction=0.4, restitution=0.2))
    turn = pin.Quaternion(pin.exp3(np.array([0.2, 0.1, 0.05]))).coeffs()
    start = cs.State(np.r_[0.0, 0.0, 0.2, turn], [0.5, 0.2, -0.5, 1.0, 0.5, 2.0])
    run = tight(box, start, 0.2)
    assert len({name for event in run.events for name in event.contacts}) > 2
    lin, single = exact(run), [f"contact.{name}.friction" for name in box.mechanism.names]
    by_shared = lin.parameter("contact.friction")
    agree(by_shared, differenced(run, start, "contact.friction"))
    agree(by_shared, lin.parameters(single)[0].sum(axis=1))


def test_gravity_keeps_its_direction() -> None:
    system = cs.ContactSystem(point_mass(), gravity=(3.0, 0.0, -4.0))
    assert system.parameter("gravity") == 5.0
    np.testing.assert_allclose(system.with_parameter("gravity", 10.0).gravity, [6.0, 0.0, -8.0])
    run = cs.simulate(system.with_parameter("gravity", 10.0), cs.State([0, 0, 9.0], np.zeros(3)), (0.0, 0.5))
    np.testing.assert_allclose(run.final.v, [3.0, 0.0, -4.0], atol=1e-9)


def test_gains_of_a_pd() -> None:
    robot = leg()
    hold = cs.PD(robot, kp=[0, 0, 60.0, 30.0], kd=2.0)
    system = cs.ContactSystem(robot, controller=hold)
    assert (system.parameter("controller.kp.hip"), system.parameter("controller.kp_scale")) == (60.0, 1.0)
    twice = system.with_parameter("controller.kp_scale", 2.0)
    assert (twice.parameter("controller.kp.hip"), twice.parameter("controller.kp.knee")) == (120.0, 60.0)
    same = system.with_parameter("controller.kp", 40.0)
    assert same.parameter("controller.kp") == same.parameter("controller.kp.knee") == 40.0
    assert hold.parameters()["kp.knee"] == 30.0


def test_a_parameter_set_in_mid_run() -> None:
    simulation = cs.Simulation(cs.ContactSystem(point_mass()), cs.State([0, 0, 9.0], np.zeros(3)))
    simulation.advance(0.1)
    simulation.set("gravity", 5.0)
    simulation.advance(0.1)
    assert simulation.state.v[2] == pytest.approx(-0.981 - 0.5, abs=1e-9)


# --- scenes ---------------------------------------------------------------------------------------------------------
def test_scenes_take_the_same_names() -> None:
    settings = ["body.body.mass=3", "body.lf_coxa.inertia_scale=1.5", "gravity=1.6", "controller.kp_scale=2"]
    built = scene.build(scene.assemble({"robot": {"name": "hexapod"}}, [*settings, "controller.kd.rf_knee=4"]))
    plain = scene.build(scene.assemble({"robot": {"name": "hexapod"}})).system
    system = built.system
    assert (system.parameter("body.body.mass"), system.parameter("body.lf_coxa.inertia_scale")) == (3.0, 1.5)
    np.testing.assert_allclose(system.gravity, [0, 0, -1.6])
    joint = next(name for name in plain.parameters() if name.startswith("controller.kp."))
    assert system.parameter(joint) == pytest.approx(2.0 * plain.parameter(joint))
    again = scene.build(scene.parse(scene.assemble({"robot": {"name": "hexapod"}}, settings).text())).system
    assert again.parameter("body.body.mass") == 3.0


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("body.body.mass=-1", ["body.body.mass"]),
        ("body.paw.mass=1", ["paw", "lf_coxa"]),
        ("body.body.colour=1", ["colour", "mass, inertia_scale"]),
        ("controller.kp_scale=0", ["kp_scale"]),
        ("controller.kp.toe=3", ["kp.toe", "PD"]),
        ("gravity=-9", ["gravity"]),
    ],
)
def test_mistakes_in_scenes(setting: str, words: list[str]) -> None:
    with pytest.raises(cs.InputError) as caught:
        scene.build(scene.assemble({"robot": {"name": "hexapod"}}, [setting]))
    for word in words:
        assert word in str(caught.value)
    assert "\n" not in str(caught.value)


# --- mistakes -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("body.toe.mass", 1.0, ["toe", "carriage, block, thigh, shank"]),
        ("body.foot.mass", 1.0, ["foot", "'shank'"]),
        ("body.block.mass", 0.0, ["body.block.mass", "positive"]),
        ("body.block.mass", math.nan, ["body.block.mass", "finite"]),
        ("body.block.volume", 1.0, ["volume", "body.NAME.mass", "carriage, block"]),
        ("body.mass", 1.0, ["body.NAME.mass"]),
        ("controller.ki", 1.0, ["ki", "PD", "kp.knee"]),
        ("controller.kp.toe", 1.0, ["kp.toe", "kp.knee"]),
        ("controller.kp", math.inf, ["kp", "finite"]),
        ("controller.kd_scale", -1.0, ["kd_scale", "positive"]),
        ("gravity", 0.0, ["gravity", "positive"]),
        ("gravity.z", 1.0, ["gravity.z", "contact.friction", "body.NAME.mass", "controller.kp", "gravity"]),
        ("weight", 1.0, ["weight", "contact.friction", "law", "gravity"][:2]),
    ],
)
def test_unknown_names_and_values_out_of_range(name: str, value: float, words: list[str]) -> None:
    system, *_ = touch_down_slip_and_stop()
    with pytest.raises(cs.InputError) as caught:
        system.with_parameter(name, value)
    for word in words:
        assert word in str(caught.value), str(caught.value)


def test_a_derivative_at_the_end_of_a_range_is_one_sided_or_none() -> None:
    """Restitution of an impact that ends in rest has none; a bounce with e = 1 has one; friction of zero has none."""
    start = cs.State([0, 0, 0.1], [0.3, 0, 0])
    elastic = cs.ContactSystem(point_mass(friction=0.0, restitution=1.0))
    run = cs.simulate(elastic, start, (0.0, 0.2), tolerances=cs.Tolerances(**TIGHT))
    fall = math.sqrt(0.2 / 9.81)
    found = cs.linearize(run).parameter("contact.restitution")
    np.testing.assert_allclose(found[[2, 5]], [9.81 * fall * (0.2 - fall), 9.81 * fall], rtol=1e-7)
    with pytest.raises(cs.InputError, match=r"'contact\.friction' is zero, and runs with friction have other modes"):
        cs.linearize(run).parameter("contact.friction")
    rest = cs.simulate(cs.ContactSystem(point_mass()), start, (0.0, 0.2))
    with pytest.raises(cs.NonDifferentiableError, match="another mode"):
        cs.linearize(rest).parameter("contact.restitution")


def test_what_is_not_there() -> None:
    mechanism = cs.ContactSystem(planar_mechanism(1.0, 0.1, {"foot": (0.1, -0.2)}, 0.3, 0.2))
    with pytest.raises(cs.InputError, match="Mechanism"):
        mechanism.parameter("gravity")
    with pytest.raises(cs.InputError, match=r"no parameter 'body\.a\.mass'; there are contact\.friction"):
        mechanism.parameter("body.a.mass")
    with pytest.raises(cs.InputError, match=r"no parameter 'controller\.kp'"):
        mechanism.with_parameter("controller.kp", 1.0)
    with pytest.raises(cs.InputError, match="no direction"):
        cs.ContactSystem(point_mass(), gravity=(0, 0, 0)).parameter("gravity")
    pushed = cs.ContactSystem(point_mass(), controller=lambda t, q, v: np.zeros(3))
    with pytest.raises(cs.InputError, match="<lambda>"):
        pushed.with_parameter("controller.kp", 1.0)
    with pytest.raises(cs.InputError, match="no mass"):
        _massless().with_body_parameter("hub", "mass", 1.0)


def _massless() -> cs.Robot:
    model = leg().model.copy()
    hub = model.addJoint(model.njoints - 1, pin.JointModelRX(), pin.SE3.Identity(), "hub_joint")
    model.addFrame(pin.Frame("hub", hub, 0, pin.SE3.Identity(), pin.FrameType.BODY))
    model.armature = np.append(np.zeros(model.nv - 1), 0.1)
    return cs.Robot(model, [])


def test_a_scene_file_on_disk_with_bodies(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text('gravity = 3.7\n[robot]\nname = "biped"\n[body.left_leg]\nmass = 0.2\n')
    system = scene.build(scene.read(tmp_path / "s.toml")).system
    assert system.parameter("body.left_leg.mass") == 0.2
    assert system.parameter("gravity") == pytest.approx(3.7)


# --- the guide ------------------------------------------------------------------------------------------------------
def test_the_derivatives_of_the_readme(capsys: pytest.CaptureFixture[str]) -> None:
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    (example,) = [part for part in map(_code, readme.split("```python\n")[1:]) if "linearize" in part]
    names: dict[str, object] = {}
    exec(compile(example, "README.md", "exec"), names)
    assert names["lin"].matrix().shape == (8, 8)  # type: ignore[attr-defined]
    assert "left" in capsys.readouterr().out


def _code(part: str) -> str:
    return part.split("```")[0]


def test_friction_where_a_corner_begins_to_slip_at_the_edge_of_its_cone() -> None:
    """With a little more friction it would slip back: the forces of its mode go on smoothly there, to no other root."""
    robot = cs.Robot.box(2.0, (0.4, 0.3, 0.2), friction=1.2, restitution=0.0)
    q = np.array(robot.nominal)
    q[:7] = pin.SE3ToXYZQUAT(pin.SE3(pin.exp3(np.array([0.05, 0.9, 0.1])), q[:3]))
    q[2] += 0.25 - robot.contact_positions(q)[:, 2].min()
    system = cs.ContactSystem(robot, terrain=cs.terrain.Slope(0.6, (1.0, 0.0)))
    start, accuracy, step = cs.State(q, [0.8, 0.1, -0.5, 0.2, 3.0, 0.1]), cs.Tolerances(rtol=1e-9, atol=1e-11), 5e-4

    def end(mu: float) -> cs.Trajectory:
        return cs.simulate(system.with_parameter("contact.friction", mu), start, (0.0, 0.5), tolerances=accuracy)

    middle, more, less = (end(1.2 + sign * step) for sign in (0, 1, -1))
    assert any(cs.Mode.SLIP in change for event in middle.events for change in event.transitions.values())
    found = np.ravel(cs.linearize(middle).parameter("contact.friction"))
    space, x = system.space(), middle.final_x
    differences = (space.difference(x, more.final_x) - space.difference(x, less.final_x)) / (2.0 * step)
    assert np.abs(found - differences).max() <= PARAMETER * np.abs(differences).max()
