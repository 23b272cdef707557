"""Latches: joints and bodies that events hold together and let go, against independent integration."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from differenced_runs import largest_error
from kneed_walker import START, TwoCharts, angles, embedded, swapped, walker
from scipy.integrate import solve_ivp

import contactsim as cs
from contactsim import Mode

FINE = cs.Tolerances(rtol=1e-11, atol=1e-13)
G, THIGH_MASS, SHANK_MASS, LENGTH, C1, C2, I1, I2 = 9.81, 1.0, 0.7, 0.5, 0.25, 0.2, 0.02, 0.01
X0 = cs.State([0.8, 0.6], [0.0, 0.0])


def leg() -> cs.Robot:
    """A double pendulum: a hip, a thigh, a knee and a shank."""
    model = pin.Model()
    hip = model.addJoint(0, pin.JointModelRY(), pin.SE3.Identity(), "hip")
    model.appendBodyToJoint(hip, pin.Inertia(THIGH_MASS, np.array([0, 0, -C1]), I1 * np.eye(3)), pin.SE3.Identity())
    down = pin.SE3(np.eye(3), np.array([0.0, 0.0, -LENGTH]))
    knee = model.addJoint(hip, pin.JointModelRY(), down, "knee")
    model.appendBodyToJoint(knee, pin.Inertia(SHANK_MASS, np.array([0, 0, -C2]), I2 * np.eye(3)), pin.SE3.Identity())
    for name, joint in (("thigh", hip), ("shank", knee)):
        model.addFrame(pin.Frame(name, joint, 0, pin.SE3.Identity(), pin.FrameType.BODY))
    return cs.Robot(model, [], name="leg")


def mass(q: np.ndarray) -> np.ndarray:
    a = SHANK_MASS * LENGTH * C2 * np.cos(q[1])
    lower = I2 + SHANK_MASS * C2**2
    return np.array([[I1 + THIGH_MASS * C1**2 + SHANK_MASS * LENGTH**2 + lower + 2 * a, lower + a], [lower + a, lower]])


def bias(q: np.ndarray, v: np.ndarray) -> np.ndarray:
    s = SHANK_MASS * LENGTH * C2 * np.sin(q[1])
    low = SHANK_MASS * C2 * np.sin(q[0] + q[1])
    gravity = G * np.array([(THIGH_MASS * C1 + SHANK_MASS * LENGTH) * np.sin(q[0]) + low, low])
    return gravity + np.array([-s * (2 * v[0] + v[1]) * v[1], s * v[0] ** 2])


def free(_: float, y: np.ndarray) -> np.ndarray:
    return np.concatenate([y[2:], np.linalg.solve(mass(y[:2]), -bias(y[:2], y[2:]))])


def locked(_: float, y: np.ndarray) -> list[float]:
    return [y[1], -bias(np.array([y[0], 0.0]), np.array([y[1], 0.0]))[0] / mass(np.zeros(2))[0, 0]]


def integrated(field, span, y, **more):  # type: ignore[no-untyped-def]
    return solve_ivp(field, span, y, "DOP853", rtol=1e-12, atol=1e-13, **more)


def in_line(_: float, y: np.ndarray) -> float:
    return float(y[1])


in_line.terminal, in_line.direction = True, -1.0  # type: ignore[attr-defined]


def test_a_knee_locks_and_opens_as_two_pendulums_do() -> None:
    system = cs.ContactSystem(leg(), latches=cs.Latch(joint="knee", direction=-1, opens=0.9))
    traj = cs.simulate(system, X0, (0.0, 1.2), tolerances=FINE)
    swing = integrated(free, (0.0, 2.0), [*X0.q, *X0.v], events=in_line)
    end = swing.y[:, -1]
    rate = (mass(end[:2]) @ end[2:])[0] / mass(end[:2])[0, 0]
    straight = integrated(locked, (swing.t[-1], 0.9), [end[0], rate]).y[:, -1]
    last = integrated(free, (0.9, 1.2), [straight[0], 0.0, straight[1], 0.0]).y[:, -1]
    assert [event.transitions["knee"] for event in traj.events] == [
        (Mode.OPEN, Mode.CLOSED),
        (Mode.CLOSED, Mode.OPEN),
    ]
    assert traj.events[0].time == pytest.approx(swing.t[-1], abs=1e-11)
    torque = (mass(end[:2]) @ (np.array([rate, 0.0]) - end[2:]))[1]
    np.testing.assert_allclose(traj.events[0].impulses["knee"], [torque], atol=1e-10)
    np.testing.assert_allclose(np.concatenate([traj.q[-1], traj.v[-1]]), last, atol=1e-10)
    assert traj.mode_at(0.5)["knee"] is Mode.CLOSED
    assert "knee" in traj.loop_forces(0.5)
    traj.check()


@pytest.mark.parametrize(
    "latch",
    [
        cs.Latch(joint="knee", direction=-1, opens=lambda t, q, v: q[0] + 0.3),
        cs.Latch(joint="knee", hold=True, closes=lambda t, q, v: q[0], opens=lambda t, q, v: q[0] + 0.3),
        cs.Latch(joint="knee", hold=True, closes=lambda t, q, v: q[0], strength=0.8),
    ],
    ids=["value", "hold", "strength"],
)
def test_derivatives_through_closing_and_opening(latch: cs.Latch) -> None:
    system = cs.ContactSystem(leg(), latches=[latch])
    assert largest_error(system, X0, 0.8, 1, ["gravity", "body.shank.mass"]) < 1e-6


def test_a_latch_that_is_not_enabled_waits_for_the_next_time() -> None:
    late = cs.Latch(joint="knee", direction=-1, enabled=lambda t, q, v: t - 1.0)
    traj = cs.simulate(cs.ContactSystem(leg(), latches=late), X0, (0.0, 3.0))
    (event,) = traj.events
    assert event.time > 1.0
    assert traj(event.time).q[1] == pytest.approx(0.0, abs=1e-9)


def test_a_probe_docks_at_touch_down_and_keeps_the_momenta() -> None:
    """Two free balls: the contact closes the latch, and they go on as one body."""
    world = cs.Robot.merge(
        [cs.Robot.sphere(3.0, 0.3, "station"), cs.Robot.sphere(1.0, 0.1, "probe", friction=0.2)],
        names=["station", "probe"],
    )
    contact = next(name for name in cs.ContactSystem(world).mechanism.names if "+" in name)
    station, probe = ("station/station", "probe/probe")
    dock = cs.Latch(frame_a=station, frame_b=probe, hold=True, closes_at=contact, opens=0.8, name="dock")
    system = cs.ContactSystem(world, gravity=(0, 0, 0), latches=dock)
    q, v = world.pack(
        {
            "station": ([0, 0, 5, 0, 0, 0, 1], np.zeros(6)),
            "probe": ([0.1, 0.0, 5.8, 0, 0, 0, 1], [0, 0, -1.0, 0.5, 0, 0]),
        }
    )
    traj = cs.simulate(system, cs.State(q, v), (0.0, 1.0))
    assert traj.mode_at(0.7)["dock"] is Mode.CLOSED
    assert traj.mode_at(0.9)["dock"] is Mode.OPEN
    apart = [np.linalg.norm(traj(t).q[:3] - traj(t).q[7:10]) for t in (0.5, 0.6, 0.7)]
    np.testing.assert_allclose(apart, apart[0], atol=1e-9)
    traj.check()
    with pytest.raises(cs.NonDifferentiableError, match="holds frames where it finds them"):
        cs.linearize(traj).matrix()


def test_what_a_latch_is_refused_for() -> None:
    for arguments, sentence in (
        ({"joint": "knee", "frame_a": "thigh", "frame_b": "shank"}, "holds a joint and frames; give joint=, or"),
        ({"joint": "knee", "frame_a": "thigh"}, "holds a joint and frames; give joint=, or frame_a= and frame_b="),
        ({}, "holds neither a joint nor two frames"),
        ({"joint": "knee", "hold": True}, "nothing closes latch 'knee'"),
        ({"joint": "knee", "direction": 0}, "has direction 0; give 1 or -1"),
    ):
        with pytest.raises(cs.InputError, match=sentence):
            cs.Latch(**arguments)
    for latch, sentence in (
        (cs.Latch(joint="ankle"), "ankle"),
        (cs.Latch(joint="knee", opens_at="foot"), "waits for the contact 'foot'; there are none"),
    ):
        with pytest.raises(cs.InputError, match=sentence):
            cs.ContactSystem(leg(), latches=latch)
    with pytest.raises(cs.InputError, match="latches close by the impact of a rigid law"):
        cs.ContactSystem(leg(), law="hunt-crossley", latches=cs.Latch(joint="knee"))
    with pytest.raises(cs.InputError, match="apart"):
        apart = cs.Latch(frame_a="thigh", frame_b="shank", kind="pose", closes=0.1)
        cs.simulate(cs.ContactSystem(leg(), latches=apart), X0, (0.0, 0.2))


def test_a_run_with_latches_is_stored_and_read(tmp_path: Path) -> None:
    system = cs.ContactSystem(leg(), latches=cs.Latch(joint="knee", direction=-1, opens=0.9))
    traj = cs.simulate(system, X0, (0.0, 0.6))
    traj.save(tmp_path / "run.nc")
    again = cs.Trajectory.load(tmp_path / "run.nc")
    assert again.mode_at(0.5) == traj.mode_at(0.5)
    np.testing.assert_allclose(again(0.5).q, traj(0.5).q, atol=1e-12)
    went_on = cs.Simulation(again.system, again(0.6), mode=again.arcs[-1].mode)
    assert went_on.mode["knee"] is Mode.CLOSED


@pytest.mark.slow_in_python
def test_a_kneed_walker_walks_as_its_two_charts_do() -> None:
    charts = TwoCharts()
    fine = cs.Tolerances(rtol=1e-11, atol=1e-12)
    run = cs.simulate(charts, START, (0.0, 3.5), tolerances=fine)
    strike = next(event.time for event in run.events if event.time > 2.5 and event.transitions["chart"][1] == "free")
    orbit = cs.find_periodic_orbit(charts, run(strike + 0.05), 0.5643)
    body, state = walker(), embedded(orbit.x0)
    step = cs.simulate(body, state, (0.0, orbit.period), tolerances=fine)
    after = swapped(np.concatenate([step.q[-1], step.v[-1]]))
    np.testing.assert_allclose(angles(after[:6], after[6:]), orbit.x0, atol=1e-9)
    own = cs.find_periodic_orbit(body, state, orbit.period, symmetry=swapped_state)
    assert own.period == pytest.approx(orbit.period, abs=1e-9)
    wanted = sorted(orbit.multipliers, key=lambda value: (-round(abs(value), 6), value.imag))[:4]
    found = sorted(own.multipliers, key=lambda value: (-round(abs(value), 6), value.imag))
    np.testing.assert_allclose(found[:4], wanted, atol=1e-6)
    assert max(abs(value) for value in found[4:]) < 1e-6
    step.check()


def swapped_state(x: object) -> object:
    if isinstance(x, cs.State):
        whole = swapped(np.concatenate([x.q, x.v]))
        return cs.State(whole[:6], whole[6:])
    return swapped(x)  # type: ignore[arg-type]
