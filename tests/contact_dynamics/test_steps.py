"""Runs that are made step by step: inputs that are held, their order, a new start, and what sensors read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from builders import G, box, single_body, sphere

import contactsim as cs

FORCE = 1e-9  # N, m/s^2: forces and accelerations against closed forms


def slider() -> cs.ContactSystem:
    """2 kg on a prismatic joint along x, which is driven."""
    robot = cs.Robot(single_body(pin.JointModelPX(), 2.0, (1.0, 1.0, 1.0), "slide"), contacts=[])
    return cs.ContactSystem(robot)


class Table(cs.Controller):
    """Torques of a table, one row a period, besides those of another controller; held by the engine."""

    def __init__(self, rows: np.ndarray, period: float) -> None:
        self.rows, self.period, self.memory = rows, period, 0

    def torque(self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray) -> np.ndarray:
        return self.rows[min(int(t / self.period + 1e-9), len(self.rows) - 1)]


# --- inputs ---------------------------------------------------------------------------------------------------------
def test_inputs_are_held_over_each_step() -> None:
    sim = cs.Simulation(slider(), cs.State([0.0], [0.0]))
    assert sim.system.action_names == ("slide_joint",)
    x = v = 0.0
    for force, dt in ((4.0, 0.1), (-1.0, 0.25), (0.0, 0.1), (0.5, 0.3)):
        state = sim.step([force], dt)
        x, v = x + v * dt + 0.25 * force * dt**2, v + 0.5 * force * dt
        assert state.q[0] == pytest.approx(x, abs=1e-13) and state.v[0] == pytest.approx(v, abs=1e-13)
    sim.step(None, 0.2)  # goes on under what was given last
    assert sim.state.v[0] == pytest.approx(v + 0.25 * 0.2)
    assert sim.t == pytest.approx(0.95)


def test_steps_are_the_run_under_the_same_held_torques() -> None:
    walk = cs.load_scene("biped")
    rows = np.zeros((25, 4))
    rows[:, 3] = np.random.default_rng(1).normal(scale=0.3, size=25)
    system = walk.system
    assert system.action_names == ("hip_joint",)
    held = cs.ContactSystem(
        system.robot, system.terrain, system.law, Table(rows, 0.04), system.gravity, tolerances=system.tolerances
    )
    whole = cs.simulate(held, walk.state, (0.0, 1.0), **walk.options)
    sim = walk.begin()
    for row in rows:
        sim.step(row[3:], 0.04)
    assert sim.trajectory.events[-1].time == pytest.approx(whole.events[-1].time, abs=1e-11)
    assert np.abs(sim.state.q - whole.final.q).max() < 1e-11 and np.abs(sim.state.v - whole.final.v).max() < 1e-10
    sim.trajectory.check()


def test_contacts_are_sorted_out_where_the_inputs_change() -> None:
    """A block on two driven slides holds up to mu m g, then slips at once with (F - mu N) / m, and is lifted."""
    model = pin.Model()
    along = model.addJoint(0, pin.JointModelPX(), pin.SE3.Identity(), "along")
    upright = model.addJoint(along, pin.JointModelPZ(), pin.SE3.Identity(), "upright")
    model.appendBodyToJoint(upright, pin.Inertia(2.0, np.zeros(3), np.eye(3)), pin.SE3.Identity())
    model.addFrame(pin.Frame("block", upright, 0, pin.SE3.Identity(), pin.FrameType.BODY))
    robot = cs.Robot(model, contacts=[cs.ContactPoint("block", friction=0.5, name="foot")])
    sim = cs.Simulation(cs.ContactSystem(robot), cs.State([0.0, 0.0], [0.0, 0.0]))
    assert sim.system.action_names == ("along", "upright")
    sim.step([0.49 * 2.0 * G, 0.0], 0.1)
    assert sim.mode == {"foot": cs.Mode.STICK} and not sim.state.v.any()
    sim.step([12.0, -2.0], 0.1)
    speed = (12.0 - 0.5 * (2.0 * G + 2.0)) / 2.0 * 0.1
    assert sim.mode == {"foot": cs.Mode.SLIP} and sim.state.v == pytest.approx([speed, 0.0], abs=1e-12)
    sim.step([0.0, 2.0 * G + 3.0], 0.1)
    assert sim.mode == {"foot": cs.Mode.OPEN} and sim.state.v == pytest.approx([speed, 0.15], abs=1e-12)
    free = cs.ContactSystem(sphere())
    with pytest.raises(cs.InputError, match="the action, of no inputs"):
        cs.Simulation(free, cs.State([0, 0, 1, 0, 0, 0, 1], np.zeros(6))).step([1.0], 0.1)


def test_equal_inputs_cost_no_event() -> None:
    sim = cs.Simulation(slider(), cs.State([0.0], [0.0]))
    sim.step([1.0], 0.1)
    before = len(sim.events_from(0))
    sim.step([1.0], 0.1)
    sim.step(None, 0.1)
    assert len(sim.events_from(0)) == before
    sim.step(np.array([2.0]), 0.1)
    assert len(sim.events_from(0)) == before + 1


@pytest.mark.parametrize("action", [[1.0, 2.0], [np.nan], "push", [[1.0]]])
def test_wrong_inputs_are_told_and_change_nothing(action: object) -> None:
    sim = cs.Simulation(slider(), cs.State([0.0], [0.0]))
    with pytest.raises(cs.InputError, match=r"the action, of slide_joint, is .*; give 1 finite numbers"):
        sim.step(action, 0.1)
    assert sim.t == 0.0
    model = cs.load_model("slip")
    with pytest.raises(cs.InputError, match="has no inputs"):
        cs.Simulation(model, model.initial_state(y=0.9, xdot=1.0)).step([1.0], 0.1)


def test_inputs_come_back_with_the_run(tmp_path: Path) -> None:
    sim = cs.load_scene("biped").begin()
    for k in range(6):
        sim.step([0.1 * k], 0.05)
    run = sim.trajectory
    back = cs.Trajectory.load(run.save(tmp_path / "run.nc"), system=run.system.with_action(None))
    times = np.linspace(0.0, 0.3, 31)
    assert np.allclose(back.sample(times).forces["left"], run.sample(times).forces["left"], rtol=0.0, atol=1e-9)
    assert [arc.system.world.inputs for arc in back.arcs] == [arc.system.world.inputs for arc in run.arcs]


def test_controls_of_the_actuators_of_a_file(tmp_path: Path) -> None:
    pytest.importorskip("mujoco", reason="pip install -e '.[mjcf]'")
    path = tmp_path / "slide.xml"
    path.write_text(
        "<mujoco><worldbody><body><joint name='x' type='slide' axis='1 0 0'/><geom size='0.1' mass='2'"
        " contype='0' conaffinity='0'/></body></worldbody>"
        "<actuator><motor name='m' joint='x' gear='3'/></actuator></mujoco>"
    )
    robot = cs.Robot.from_mjcf(path)
    sim = cs.Simulation(cs.ContactSystem(robot, controller=cs.Actuators(robot)), cs.State([0.0], [0.0]))
    assert sim.system.action_names == ("m",)
    sim.step([2.0], 0.5)
    assert sim.state.v[0] == pytest.approx(3.0 * 2.0 / 2.0 * 0.5)


# --- a new start ----------------------------------------------------------------------------------------------------
def test_a_reset_is_a_new_simulation() -> None:
    walk = cs.load_scene("biped")
    sim, rows = walk.begin(), np.random.default_rng(2).normal(size=(10, 1))

    def episode() -> np.ndarray:
        return np.array([np.concatenate([s.q, s.v]) for s in (sim.step(row, 0.03) for row in rows)])

    first = episode()
    sim.push("left_leg", (1.0, 0.0, 0.0), 10.0)
    sim.reset()
    assert sim.t == 0.0 and not sim.events_from(0) and sim.evaluations == walk.begin().evaluations
    assert np.array_equal(episode(), first)
    sim.set("contact.friction", 1.5)
    start = cs.State(walk.state.q, 0.99 * walk.state.v)
    assert np.allclose(sim.reset(start).v, start.v, rtol=0.0, atol=1e-15)
    assert sim.system.parameter("contact.friction") == 1.5  # what was set stays
    sim.step([0.0], 0.03)
    with pytest.raises(cs.InputError, match=r"State\.q has shape"):
        sim.reset(cs.State([0.0], [0.0]))
    assert sim.t == pytest.approx(0.03)  # and the run is kept
    assert np.allclose(sim.reset().v, start.v, rtol=0.0, atol=1e-15)


# --- sensors --------------------------------------------------------------------------------------------------------
def test_an_inertial_unit_at_rest_and_in_the_air() -> None:
    system = cs.ContactSystem(box(friction=0.6), terrain=cs.terrain.Slope(0.3, (1, 0)))
    sensors = cs.Sensors(system, imu=["box"], poses=["box"])
    lean = np.array([0.0, np.sin(0.15), 0.0, np.cos(0.15)])  # as the slope
    normal = np.array([np.sin(0.3), 0.0, np.cos(0.3)])
    sim = cs.Simulation(system, cs.State(np.concatenate([0.1 * normal, lean]), np.zeros(6)))
    sim.advance(0.1)
    found = sensors(sim)
    assert found["imu.box"][3:] == pytest.approx([-G * np.sin(0.3), 0.0, G * np.cos(0.3)], abs=FORCE)
    assert found["contact_force"].sum(axis=0) == pytest.approx([0.0, 0.0, 2.0 * G], abs=1e-8)
    assert np.array_equal(found["contact_mode"], np.ones(4))
    assert found["pose.box"][:3, 2] == pytest.approx(normal, abs=1e-12)
    flying = cs.simulate(system, cs.State([0, 0, 5, 0, 0, 0, 1], [0, 0, 0, 0, 0, 2.0]), (0.0, 0.2))
    air = sensors(flying)
    assert air["imu.box"] == pytest.approx([0.0, 0.0, 2.0, 0.0, 0.0, 0.0], abs=FORCE)
    assert not air["contact_force"].any() and not air["contact_mode"].any()
    assert air.keys() == {
        "imu.box",
        "contact_force",
        "contact_mode",
        "pose.box",
        "joint_position",
        "joint_velocity",
    } - ({"joint_position", "joint_velocity"} if not sensors.joints else set())


def test_an_inertial_unit_on_a_pendulum() -> None:
    """At the bob the unit feels l theta'^2 inwards and nothing along the swing: point mass on a massless rod."""
    length = 0.7
    model = pin.Model()
    joint = model.addJoint(0, pin.JointModelRY(), pin.SE3(np.eye(3), np.array([0.0, 0.0, 2.0])), "pivot")
    place = pin.SE3(np.eye(3), np.array([0.0, 0.0, -length]))
    model.appendBodyToJoint(joint, pin.Inertia(1.0, np.zeros(3), np.zeros((3, 3))), place)
    model.addFrame(pin.Frame("bob", joint, 0, place, pin.FrameType.BODY))
    system = cs.ContactSystem(cs.Robot(model, contacts=[]))
    sensors = cs.Sensors(system, imu=["bob"])
    run = cs.simulate(system, cs.State([1.0], [0.0]), (0.0, 0.6))
    for t in (0.0, 0.2, 0.6):
        found = sensors(run, t)
        angle, rate = run(t).q[0], run(t).v[0]
        assert found["joint_position"] == pytest.approx([angle]) and found["joint_velocity"] == pytest.approx([rate])
        assert found["imu.bob"][:3] == pytest.approx([0.0, rate, 0.0], abs=FORCE)
        tension = length * rate**2 + G * np.cos(angle)
        assert found["imu.bob"][3:] == pytest.approx([0.0, 0.0, tension], abs=FORCE)
    assert sensors.vector(run, 0.2).shape == (1 + 1 + 6,)


def test_sensors_read_both_sides_of_an_impact_and_say_what_is_missing() -> None:
    system = cs.ContactSystem(sphere(restitution=0.5))
    run = cs.simulate(system, cs.State([0, 0, 0.3, 0, 0, 0, 1], np.zeros(6)), (0.0, 0.4))
    sensors = cs.Sensors(system, joints=False, poses=["ball"])
    assert list(sensors(run, run.events[0].time, side="-")) == ["contact_force", "contact_mode", "pose.ball"]
    walker = cs.load_scene("biped").system
    assert cs.Sensors(walker).joints == ("hip_joint",)
    for keywords, told in (
        ({"joints": ["knee"]}, "no joint 'knee' of one degree of freedom; there are hip_joint"),
        ({"imu": ["nose"]}, "no frame 'nose'"),
        ({"imu": "nose"}, "a list of names"),
    ):
        with pytest.raises(cs.InputError, match=told):
            cs.Sensors(walker, **keywords)
    with pytest.raises(cs.InputError, match="give the ContactSystem of a Robot"):
        cs.Sensors(cs.load_model("slip"))
