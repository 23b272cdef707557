"""Joint limits are unilateral constraints: a joint lands on them, rests there, and leaves."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

import contactsim as cs

G = 9.81


def lift(lower: float, upper: float, mass: float = 2.0) -> cs.Robot:
    """A mass on a vertical slide with the given limits [m]."""
    model = pin.Model()
    joint = model.addJoint(
        0,
        pin.JointModelPZ(),
        pin.SE3.Identity(),
        "slide",
        np.array([100.0]),
        np.array([100.0]),
        np.array([lower]),
        np.array([upper]),
    )
    model.appendBodyToJoint(joint, pin.Inertia(mass, np.zeros(3), np.eye(3) * 0.01), pin.SE3.Identity())
    return cs.Robot(model, contacts=[])


def test_joint_falls_on_its_limit_and_rests_there() -> None:
    traj = cs.simulate(cs.ContactSystem(lift(-0.5, 2.0)), cs.State([0.7], [0.0]), (0.0, 1.0))
    (event,) = traj.events
    assert event.constraints == ("limit:slide/lower",) and event.contacts == ()
    assert event.time == pytest.approx(np.sqrt(2 * 1.2 / G), abs=1e-10)
    np.testing.assert_allclose(event.impulses["limit:slide/lower"], 2.0 * G * event.time, atol=1e-9)
    np.testing.assert_allclose([traj.final.q, traj.final.v], [[-0.5], [0.0]], atol=1e-10)
    assert traj.mode_at(1.0) == {} and traj.forces(1.0) == {}
    traj.check()


def test_joint_leaves_its_limit_when_it_is_pulled_away() -> None:
    """A pull 20 t exceeds the weight at t = m g / 20."""
    system = cs.ContactSystem(lift(-0.5, 0.5), controller=lambda t, q, v: np.array([20.0 * t]))
    traj = cs.simulate(system, cs.State([-0.5], [0.0]), (0.0, 1.5))
    leave = 2.0 * G / 20.0
    assert traj.events[0].time == pytest.approx(leave, abs=1e-9)
    np.testing.assert_allclose(traj.final.q, -0.5 + 20.0 * (1.5 - leave) ** 3 / 12.0, atol=1e-9)


def test_both_limits_and_none() -> None:
    up = cs.State([0.0], [5.0])
    traj = cs.simulate(cs.ContactSystem(lift(-0.5, 0.5)), up, (0.0, 0.3))
    assert traj.events[0].constraints == ("limit:slide/upper",)
    assert not cs.simulate(cs.ContactSystem(lift(-0.5, 0.5), joint_limits=False), up, (0.0, 0.3)).events


def test_start_beyond_a_limit_is_refused() -> None:
    with pytest.raises(cs.InputError, match=r"joint 'slide' starts 0\.1 beyond its upper limit"):
        cs.simulate(cs.ContactSystem(lift(-0.5, 0.5)), cs.State([0.6], [0.0]), (0.0, 0.1))


def test_limit_and_feet_together() -> None:
    """A hopper's leg folds onto its limit while its foot stands: both constraints hold."""
    model = pin.Model()
    body = model.addJoint(0, pin.JointModelPZ(), pin.SE3.Identity(), "height")
    model.appendBodyToJoint(body, pin.Inertia(3.0, np.zeros(3), np.eye(3) * 0.1), pin.SE3.Identity())
    place = pin.SE3(np.eye(3), np.array([0.0, 0.0, -0.4]))
    limits = [np.array([value]) for value in (50.0, 50.0, 0.0, 0.2)]
    leg = model.addJoint(body, pin.JointModelPZ(), place, "leg", *limits)
    model.appendBodyToJoint(leg, pin.Inertia(0.5, np.zeros(3), np.eye(3) * 0.01), pin.SE3.Identity())
    model.addFrame(pin.Frame("foot", leg, 0, pin.SE3.Identity(), pin.FrameType.BODY))
    robot = cs.Robot(model, [cs.ContactPoint("foot")])
    traj = cs.simulate(cs.ContactSystem(robot), cs.State([0.7, 0.1], [0.0, 0.0]), (0.0, 1.0))
    traj.check()
    final = traj.final
    np.testing.assert_allclose([final.q[0], final.q[1]], [0.2, 0.2], atol=1e-9)
    np.testing.assert_allclose(traj.forces(1.0)["foot"], [0.0, 0.0, 3.5 * G], atol=1e-8)


def test_joint_bounces_off_its_limit_and_the_bounce_is_differentiated() -> None:
    """With u the speed of impact after a fall from h, t1 its time and s the time since: q = low + e u s - g s^2 / 2."""
    e, end, height = 0.5, 0.9, 1.2
    system = cs.ContactSystem(lift(-0.5, 2.0)).with_parameter("limit.restitution", e)
    traj = cs.simulate(system, cs.State([height - 0.5], [0.0]), (0.0, end))
    u, t1 = np.sqrt(2 * G * height), np.sqrt(2 * height / G)
    s = end - t1
    (event,) = traj.events
    np.testing.assert_allclose([event.state_pre.v[0], event.state_post.v[0]], [-u, e * u], atol=1e-9)
    np.testing.assert_allclose(traj.final.q, -0.5 + e * u * s - 0.5 * G * s**2, atol=1e-9)
    lin = cs.linearize(traj)
    np.testing.assert_allclose(lin.matrix()[0, 0], (e * G * s + G * s) / u - e, atol=1e-8)
    np.testing.assert_allclose(lin.matrix()[1, 0], (e * G + G) / u, atol=1e-8)
    np.testing.assert_allclose(lin.parameter("limit.slide/lower.restitution"), [u * s, u], atol=1e-7)


def test_restitution_of_limits_by_name() -> None:
    system = cs.ContactSystem(lift(-0.5, 0.5))
    one = system.with_parameter("limit.slide/lower.restitution", 0.3)
    assert one.parameter("limit.slide/lower.restitution") == 0.3
    assert one.parameter("limit.slide/upper.restitution") == 0.0
    with pytest.raises(cs.InputError, match=r"the limits differ in 'restitution'; name one of them: limit\.NAME"):
        one.parameter("limit.restitution")
    with pytest.raises(cs.InputError, match="no joint limit 'slide'; there are slide/lower, slide/upper"):
        system.with_parameter("limit.slide.restitution", 0.3)
    with pytest.raises(cs.InputError, match=r"no parameter 'limit\.friction'"):
        system.with_parameter("limit.friction", 0.3)
    with pytest.raises(cs.InputError, match=r"restitution is 1\.5; give a number from 0 to 1"):
        system.with_parameter("limit.restitution", 1.5)
    with pytest.raises(cs.InputError, match="the system has no contacts"):
        system.parameter("contact.restitution")


def test_limits_without_a_range_are_ignored_in_the_nominal_configuration_too() -> None:
    """It was moved to the upper one of limits that are swapped."""
    robot = lift(1.0, -0.5)
    np.testing.assert_array_equal(robot.nominal, [0.0])
    with pytest.warns(UserWarning, match=r"joint 'slide' has no range \(1.0 to -0.5\); its limits are ignored"):
        cs.ContactSystem(robot)
