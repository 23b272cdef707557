"""Position servos of robots: the torques of PD, with setpoints as inputs."""

from __future__ import annotations

import numpy as np
import pytest

import contactsim as cs


def test_servos_pull_as_pd_does() -> None:
    robot = cs.load_robot("solo12")
    kp = np.linspace(5.0, 20.0, 12)
    served = robot.with_servos(kp, 0.3)
    assert [actuator.name for actuator in served.actuators] == list(robot.model.names)[2:]
    assert [actuator.home for actuator in served.actuators] == robot.nominal[7:].tolist()
    assert not robot.actuators
    rng = np.random.default_rng(0)
    q = robot.space.integrate(robot.nominal, 0.3 * rng.normal(size=18))
    v, goal = rng.normal(size=18), robot.nominal.copy()
    goal[7:] += 0.1 * rng.normal(size=12)
    pd = cs.ContactSystem(robot, controller=cs.PD(robot, reference=goal, kp=np.r_[np.zeros(6), kp], kd=0.3))
    held = cs.ContactSystem(served, controller=cs.Inputs(goal[None, 7:], 0.02))
    x = held.prepared(0.0, held.pack(cs.State(q, v)))
    expected = pd.world.driving.applied_at(0.0, pd.pack(cs.State(q, v)))
    np.testing.assert_allclose(held.world.driving.applied_at(0.0, x), expected, rtol=0, atol=1e-12)


def test_servos_are_refused_where_they_hold_nothing() -> None:
    robot = cs.load_robot("biped")
    with pytest.raises(cs.InputError, match=r"kp has shape \(3,\); the robot has 1 actuated joints"):
        robot.with_servos([1.0, 2.0, 3.0], 0.1)
    with pytest.raises(cs.InputError, match="kd"):
        robot.with_servos(1.0, -0.1)
    ball = cs.Robot.sphere(mass=1.0, radius=0.1)
    with pytest.raises(cs.InputError, match="made of parts"):
        cs.Robot.merge([robot, ball]).with_servos(1.0, 0.1)
