"""Long runs in contact: nothing creeps, nothing sinks, and projection costs neither energy nor order."""

from __future__ import annotations

import numpy as np
import pytest
import tolerances as tol
from builders import G, box, planar_body
from scipy.special import ellipj, ellipk

import contactsim as cs
from contactsim.multibody.catalogue import robot_entries

Array = np.ndarray
LONG = 100.0  # s
DRIFT = 1e-9  # m, m/s: gap and slip over LONG
KEPT = 1e-7  # relative, energy over LONG
MASS, LENGTH, MOMENT, SWING = 1.3, 0.4, 0.05, 0.5  # kg, m, kg m^2, rad: the pendulum below
RATE = np.sqrt(MASS * G * LENGTH / (MOMENT + MASS * LENGTH**2))  # rad/s, of small swings


def drift(traj: cs.Trajectory) -> tuple[float, float]:
    """Largest gap and slip of the contacts, all of which stick, over the steps of a run and between them."""
    system = traj.system
    gap = slip = 0.0
    contacts = tuple(range(len(system.mechanism.names)))
    for k, arc in enumerate(arc for arc in traj.arcs if arc.t1 > arc.t0):
        assert all(state.mode is cs.Mode.STICK for state in arc.mode.contacts[: len(contacts)]), (k, arc.mode)
        for segment in arc.segments:
            for t in (0.5 * (segment.t0 + segment.t1), segment.t1):
                state = system.state(segment(t))
                gap = max(gap, float(np.abs(system.mechanism.gaps(t, state.q)[: len(contacts)]).max()))
                slip = max(slip, float(np.abs(system.mechanism.terms(t, state.q, state.v, contacts).rates).max()))
    return gap, slip


def standing(name: str) -> cs.Trajectory:
    """A robot that holds its posture with the gains of its demonstration."""
    robot, demo = cs.load_robot(name), robot_entries()[name].demo
    assert demo is not None
    gains = demo(robot.model)
    system = cs.ContactSystem(robot, controller=cs.PD(robot, kp=gains.kp, kd=gains.kd))
    return cs.simulate(system, cs.State(robot.nominal, np.zeros(robot.nv)), (0.0, LONG))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hexapod", "solo12"])
def test_a_robot_that_stands_for_100_s_does_not_creep(name: str) -> None:
    traj = standing(name)
    assert traj.status.complete, traj.message
    gap, slip = drift(traj)
    assert gap < DRIFT and slip < DRIFT


def test_a_box_that_stands_for_100_s_does_not_creep() -> None:
    start = cs.State([0, 0, 0.1, 0, 0, 0, 1], np.zeros(6))
    traj = cs.simulate(cs.ContactSystem(box(friction=0.5)), start, (0.0, LONG))
    gap, slip = drift(traj)
    assert gap < DRIFT and slip < DRIFT
    np.testing.assert_allclose(traj.final.q, start.q, rtol=0, atol=tol.CREEP)


def hanging() -> cs.ContactSystem:
    """A physical pendulum that hangs from a foot on the ground, its centre of mass below."""
    return cs.ContactSystem(planar_body(MASS, MOMENT, {"foot": (0.0, LENGTH)}, 2.0, 0.0))


def at_angle(angle: float) -> cs.State:
    """The pendulum at rest, its foot at the origin."""
    return cs.State([-LENGTH * np.sin(angle), -LENGTH * np.cos(angle), angle], np.zeros(3))


def closed_form(t: Array) -> Array:
    """Angle (n,) of a pendulum let go at SWING: sin(theta / 2) = k sn(K + w t, k), k = sin(SWING / 2)."""
    k = np.sin(SWING / 2)
    return 2 * np.arcsin(k * ellipj(ellipk(k**2) + RATE * t, k**2)[0])


@pytest.mark.slow
def test_a_pendulum_that_swings_for_100_s_in_a_contact_keeps_energy_and_foot() -> None:
    system = hanging()
    traj = cs.simulate(system, at_angle(SWING), (0.0, LONG))
    assert traj.status.complete and not traj.events
    gap, slip = drift(traj)
    assert gap < DRIFT and slip < DRIFT
    energies = np.array([system.mechanism.energy(q, v) for q, v in zip(traj.q, traj.v, strict=True)])
    swung = MASS * G * LENGTH * (1 - np.cos(SWING))
    assert np.ptp(energies) < KEPT * swung
    traj.check()


@pytest.mark.parametrize("name", ["DOP853", "RK45"])
def test_projection_keeps_the_order_of_the_integrator(name: str) -> None:
    """Error over number of steps, against Jacobi's elliptic functions."""
    t = np.linspace(0.0, 3.0, 31)
    errors, steps = [], []
    for rtol in {"DOP853": (1e-5, 1e-9), "RK45": (1e-6, 1e-9)}[name]:
        accuracy = cs.Tolerances(rtol=rtol, atol=rtol)
        traj = cs.simulate(hanging(), at_angle(SWING), (0.0, 3.0), integrator=name, tolerances=accuracy)
        errors.append(np.abs([traj(at).q[2] for at in t] - closed_form(t)).max())
        steps.append(sum(len(arc.segments) for arc in traj.arcs))
        assert errors[-1] < 100 * rtol
        gap, slip = drift(traj)
        assert gap < max(DRIFT, rtol) and slip < max(DRIFT, 10 * rtol)
    assert np.log(errors[0] / errors[1]) / np.log(steps[1] / steps[0]) > tol.ORDER[name]


@pytest.mark.parametrize("steps", [150])
def test_projection_keeps_the_order_of_fixed_steps(steps: int) -> None:
    """Halved steps of Runge and Kutta's method of fourth order leave a sixteenth of the error."""
    errors = []
    for n in (steps, 2 * steps):
        accuracy = cs.Tolerances(max_step=3.0 / n)
        traj = cs.simulate(hanging(), at_angle(SWING), (0.0, 3.0), integrator="RK4", tolerances=accuracy)
        errors.append(abs(traj.final.q[2] - float(closed_form(np.array(3.0)))))
    assert np.log2(errors[0] / errors[1]) > 3.7
