"""Two feet at one place, and bodies that hardly resist turning."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

import contactsim as cs

G = 9.81
SAME = 1e-9  # m, rad and their rates: what the height below which hops are not followed may change of a run
FORCE = 1e-7  # of the weight, contact forces of a thin body


def walker(mu: float, masses: tuple[float, float], inertia: float) -> cs.Robot:
    """A hip that moves in a vertical plane, and two legs of one metre."""
    model, place = pin.Model(), pin.SE3.Identity()
    across = model.addJoint(0, pin.JointModelPX(), place, "x")
    hip = model.addJoint(across, pin.JointModelPZ(), place, "z")
    model.appendBodyToJoint(hip, pin.Inertia(masses[0], np.zeros(3), 0.1 * np.eye(3)), place)
    points = []
    for side in "LR":
        leg = model.addJoint(hip, pin.JointModelRY(), place, f"leg{side}")
        body = pin.Inertia(masses[1], np.array([0.0, 0.0, -0.5]), inertia * np.eye(3))
        model.appendBodyToJoint(leg, body, place)
        foot = pin.SE3(np.eye(3), np.array([0.0, 0.0, -1.0]))
        model.addFrame(pin.Frame(f"foot{side}", leg, foot, pin.FrameType.OP_FRAME))
        points.append(cs.ContactPoint(f"foot{side}", friction=mu, restitution=0.0))
    return cs.Robot(model, contacts=points)


CLOSING = [  # friction, masses, inertia of a leg, q, v: legs that close at 1e-3 rad/s
    (0.6, (16.954, 7.4015), 0.012446, (0.0, -0.123854, -0.123844), (-0.001, 0.0005, -0.0005)),
    (0.8, (11.649, 6.3930), 0.005624, (0.0, -0.241697, -0.241707), (0.0, -0.0005, 0.0005)),
    (1.0, (3.6186, 9.8456), 0.001019, (0.0, -0.321971, -0.321981), (-0.001, -0.0005, 0.0005)),
]


@pytest.mark.parametrize("case", CLOSING)
def test_feet_whose_hops_end_come_to_stand_together(case: tuple) -> None:
    """Where both slide and touch no mode is admissible; they hop in turn, and stick when the hops have ended."""
    mu, masses, inertia, (x, *angles), (fall, *turns) = case
    robot = walker(mu, masses, inertia)
    start = cs.State(np.array([x, max(np.cos(angles)), *angles]), np.array([0.0, fall, *turns]))
    ends = []
    for hop in (1e-10, 1e-12, 1e-14):
        run = cs.simulate(cs.ContactSystem(robot, tolerances=cs.Tolerances(hop=hop)), start, (0.0, 0.03))
        assert run.status.complete, run.message
        run.check()
        assert set(run.mode_at(0.03).values()) == {cs.Mode.STICK}
        ends.append(np.concatenate([run.final.q, run.final.v]))
    assert np.ptp(ends, axis=0).max() <= SAME


@pytest.mark.parametrize("inertia", [1e-6, 1e-9, 1e-10])
@pytest.mark.parametrize("centre", [(0.3, 0.0, 0.4), (0.1, 0.05, 0.4)])
def test_a_thin_body_sticks(inertia: float, centre: tuple[float, float, float]) -> None:
    """A point mass on a rod that falls over: the ground pushes along the rod, by m g cos(angle) at rest."""
    model, arm = pin.Model(), np.array(centre)
    joint = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "root")
    model.appendBodyToJoint(joint, pin.Inertia(1.0, arm, inertia * np.eye(3)), pin.SE3.Identity())
    model.addFrame(pin.Frame("foot", joint, pin.SE3.Identity(), pin.FrameType.OP_FRAME))
    robot = cs.Robot(model, contacts=[cs.ContactPoint("foot", friction=0.9)])
    run = cs.simulate(cs.ContactSystem(robot), cs.State(np.r_[np.zeros(6), 1.0], np.zeros(6)), (0.0, 0.01))
    run.check()
    along = arm / np.linalg.norm(arm)
    expected = G * along[2] * along
    assert np.abs(run.forces(0.0)["foot"] - expected).max() <= (FORCE + 2.0 * inertia / float(arm @ arm)) * G
