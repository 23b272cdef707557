"""Derivatives through slips that come to a stop along a direction that their mode holds, and begin anew at once."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pinocchio as pin
import pytest
from builders import point_mass

import contactsim as cs
from contactsim.contact.modes import Phase, SystemMode
from contactsim.contact_dynamics import remembered
from contactsim.contact_dynamics.rigid_flow import RigidFlow
from contactsim.hybrid.differences import tangent_derivative
from contactsim.hybrid.trajectory import Arc

MU, G = 0.3, 9.81
PULL = 1.5 * MU * G  # more than friction holds
TIGHT = cs.Tolerances(rtol=1e-12, atol=1e-14, slip_speed=1e-5)
STEP = 1e-6  # of a start [m/s]; its slip turns by far less than a radian where the direction is held
ERROR = 1e-4  # relative; 0.18 where held directions are not varied
Array = np.ndarray


def pulled() -> cs.ContactSystem:
    """A point mass pulled back along x while it slips on a plane."""
    return cs.ContactSystem(point_mass(MU), controller=lambda t, q, v: np.array([PULL, 0.0, 0.0]), tolerances=TIGHT)


def start(system: cs.ContactSystem, dv: float = 0.0) -> cs.State:
    return cs.State([0.0, 0.0, 0.0], [-0.5, 3e-5 + dv, 0.0])


def run(system: cs.ContactSystem, dv: float = 0.0, end: float = 0.2) -> cs.Trajectory:
    return cs.simulate(system, start(system, dv), (0.0, end), tolerances=TIGHT)


def held_arc(trajectory: cs.Trajectory) -> Arc:
    """The one in which a direction is held."""
    found = [arc for arc in trajectory.arcs if any(s.phase is Phase.DIRECTED for s in arc.mode.contacts)]
    assert len(found) == 1
    return found[0]


def along_x(final: Array) -> Array:
    """What the stop moves: place and velocity (2,) along the pull."""
    return np.asarray(final)[[0, 3]]


def test_a_slip_stops_and_begins_anew() -> None:
    """Its neighbours to the side stop earlier or later, as the turn of the held direction says, and friction jumps."""
    system = pulled()
    trajectory = run(system)
    assert held_arc(trajectory).t1 < 0.15
    lin = cs.linearize(trajectory)
    aside = np.eye(6)[4]
    plus, minus = (run(system, s * STEP).final_x for s in (1.0, -1.0))
    expected = along_x((plus - minus) / (2.0 * STEP))
    assert abs(expected[1]) > 1e-4
    np.testing.assert_allclose(along_x(lin(aside)), expected, rtol=ERROR)
    np.testing.assert_allclose(lin.matrix() @ aside, lin(aside), atol=1e-8)


def test_by_a_parameter() -> None:
    system, name, step = pulled(), "contact.point.friction", 1e-7
    lin, mu = cs.linearize(run(system)), system.parameter(name)
    plus, minus = (run(system.with_parameter(name, mu + s * step)).final_x for s in (1.0, -1.0))
    expected = along_x((plus - minus) / (2.0 * step))
    np.testing.assert_allclose(along_x(lin.parameter(name)), expected, rtol=1e-6)


def test_a_part_of_a_run_that_holds_a_direction() -> None:
    """What begins or ends while it is held speaks of the state alone; the parts make the whole where none does."""
    system = pulled()
    trajectory = run(system)
    lin, arc = cs.linearize(trajectory), held_arc(trajectory)
    within = 0.5 * (arc.t0 + arc.t1)
    assert lin.matrix(lin.t0, within).shape == lin.matrix(within).shape == (6, 6)
    assert lin(np.eye(6)[4], lin.t0, within).shape == (6,)
    assert lin.parameters(["gravity"], [0.01, within, 0.2]).shape == (3, 6, 1)
    assert [event.saltation.shape for event in lin.all_events] == [(6, 6)] * 3  # as a user and a plugin know them


def on_rails() -> cs.Robot:
    """A point mass on motors along x, y and z."""
    model, joint = pin.Model(), 0
    for name, kind in (("x", pin.JointModelPX()), ("y", pin.JointModelPY()), ("z", pin.JointModelPZ())):
        joint = model.addJoint(joint, kind, pin.SE3.Identity(), name)
    model.appendBodyToJoint(joint, pin.Inertia(1.0, np.zeros(3), 1e-6 * np.eye(3)), pin.SE3.Identity())
    model.addFrame(pin.Frame("mass", joint, 0, pin.SE3.Identity(), pin.FrameType.BODY))
    return cs.Robot(model, [cs.ContactPoint("mass", friction=MU, name="point")])


def test_a_sample_while_a_direction_is_held_is_told_of() -> None:
    """The product of the discrete matrices misses the turn there, by a sixth; without that instant it is right."""
    robot, steps = on_rails(), 2

    def sampled(dt: float, dv: float = 0.0) -> cs.Trajectory:
        inputs = cs.Inputs(np.tile([PULL, 0.0, 0.0], (steps, 1)), dt)
        system = cs.ContactSystem(robot, controller=inputs, tolerances=TIGHT)
        return cs.simulate(system, start(system, dv), (0.0, steps * dt), tolerances=TIGHT)

    arc = held_arc(sampled(0.05))
    dt = 0.5 * (arc.t0 + arc.t1)
    lin = cs.linearize(sampled(dt))
    expected = along_x((sampled(dt, STEP).final_x - sampled(dt, -STEP).final_x)[:6] / (2.0 * STEP))
    aside = np.eye(6)[4]
    np.testing.assert_allclose(along_x(lin.discrete([0.0, steps * dt]).A[0] @ aside), expected, rtol=ERROR)
    with pytest.warns(
        UserWarning, match=r"times\[1\] = 0.0679.* remembers its begin.*; leave this instant out of times"
    ):
        first, second = lin.discrete([0.0, dt, steps * dt]).A
    assert abs(along_x(second @ first @ aside)[1] / expected[1] - 1.0) > 0.1


def test_what_else_is_carried() -> None:
    """Covariances and exponents are those of the matrix, with what is held."""
    system = pulled()
    lin = cs.linearize(run(system))
    root = np.diag([0.0, 0.0, 0.0, 1e-3, 1e-3, 0.0])
    wanted = lin.matrix() @ root @ root.T @ lin.matrix().T
    found = lin.covariance(root @ root.T).final
    np.testing.assert_allclose(found, wanted, atol=1e-6 * float(np.abs(wanted).max()))
    assert cs.lyapunov_exponents(lin).shape == (6,)


@pytest.mark.parametrize("angle", [0.3, 2.0])
def test_turns_of_held_directions(angle: float) -> None:
    """Fields and guards by turns of the directions, against differences by modes that hold others."""
    system = pulled()
    arc = held_arc(run(system))
    t, x = arc.t0, arc(arc.t0)
    (i, _), *_ = arc.mode.held.items()
    direction = (float(np.cos(angle)), float(np.sin(angle)))
    mode = arc.mode.changed({i: replace(arc.mode.contacts[i], direction=direction)})

    def other(near: SystemMode) -> RigidFlow:
        flow = system.flow(near).rebased(t, x)
        assert isinstance(flow, RigidFlow)
        return flow

    flow = other(mode)
    field = remembered._differenced(system.world, mode, lambda near: other(near).field(t, x))
    found = system.by_remembered(flow, t, x)
    np.testing.assert_allclose(found, field, atol=1e-8 * float(np.abs(field).max()))
    for k, guard in enumerate(flow.guard_names):
        by_turn = remembered._differenced(system.world, mode, lambda near, k=k: np.asarray(other(near).guards(t, x))[k])
        np.testing.assert_allclose(system.by_remembered(flow, t, x, guard), by_turn, atol=1e-8)


def test_where_a_direction_begins() -> None:
    system = pulled()
    arc = held_arc(run(system))
    t, x = arc.t0, arc(arc.t0)
    assert np.abs(system.remembered_at(t, x, arc.mode)).max() < 1e-12
    expected = tangent_derivative(partial(system.remembered_at, t, mode=arc.mode), system.space(), x, 1e-8)
    np.testing.assert_allclose(system.remembered_by_state(t, x, arc.mode), expected, atol=1e-6)
