"""The twin of the compliant hexapod against the model: body, legs, statics, small motions and the speed of the gait.

Equal to rounding: mass, inertia, geometry, and every motion in which all toes hold. Not equal: toes of the twin have
weight, the body feels its flying legs, a landing toe hits the ground with an impulse, a toe leaves the ground with the
force on the toe and not with that in the leg, and the reference changes speed within 10 ms and not at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from contactsim_plugins.models.compliant_hexapod import CompliantHexapod, geometry
from contactsim_plugins.models.compliant_hexapod.controller import Command, HipControl
from contactsim_plugins.models.compliant_hexapod.dynamics import Setting
from contactsim_plugins.models.compliant_hexapod.state import (
    FEET,
    FEET_RATE,
    PLACE,
    REFERENCE,
    ROTATION,
    SPEED,
    SPIN,
    TINY,
    imaginary_steps,
)
from contactsim_robots import compliant_hexapod as twin
from scipy.optimize import brentq, root

import contactsim as cs

Array = np.ndarray
SAME_NUMBER = 1e-15  # relative, parameters written twice
KINEMATICS = 1e-12  # m, rad, m/s, rad/s: rounding
TORQUES = 1e-12  # N m, N: rounding
ACCELERATIONS = 1e-10  # relative to the largest one: rounding, in a problem with masses from 0.01 to 6 kg
HEIGHT_OF_SIX = 1e-12  # m, weight of standing toes goes straight into the ground
HEIGHT_OF_THREE = 1e-6  # m, what is left of three flying toes once their weight is accounted for
EIGENVALUES = 1e-6  # 1/s, the twin's Jacobian is differenced; stiffest of them 77 1/s
NOT_A_MOTION = 1e-3  # 1/s, eigenvalues of the held toes are zero
PROFILE = 1e-12  # rad, rounding; off the ramps
MEAN_SPEED = 0.02  # relative, between the two
GRAVITY = (0.0, 0.0, -10.0)
MODEL = CompliantHexapod()
STILL = np.zeros(6)


@pytest.fixture(scope="module")
def robot() -> cs.Robot:
    return cs.load_robot("compliant-hexapod-twin")


def pose(robot: cs.Robot, x: Array) -> tuple[Array, Array]:
    """(q, v) of the twin at a state of the model."""
    R, w = x[ROTATION].reshape(3, 3), x[SPIN]
    feet, rates = x[FEET].reshape(6, 3), x[FEET_RATE].reshape(6, 3)
    legs = geometry.spherical(
        geometry.cartesian(R, x[PLACE], feet, MODEL.dynamics.attach),
        geometry.cartesian_rates(R, w, x[PLACE], x[SPEED], feet, rates),
    )
    q, v = pin.neutral(robot.model), np.zeros(robot.nv)
    q[:7], v[:6] = pin.SE3ToXYZQUAT(pin.SE3(R, x[PLACE])), np.concatenate([R.T @ x[SPEED], R.T @ w])
    in_q, in_v = twin.hip_places(robot.model)
    q[in_q], q[in_q + 1] = np.cos(legs.phi), np.sin(legs.phi)
    q[in_q + 2], q[in_q + 3] = legs.theta, legs.rho - twin.LENGTH
    v[in_v], v[in_v + 1], v[in_v + 2] = legs.phi_rate, legs.theta_rate, legs.rho_rate
    return q, v


def frames(robot: cs.Robot) -> list[int]:
    return [robot.frame_id(f"leg{i}_toe") for i in range(6)]


def toes(robot: cs.Robot, q: Array, v: Array) -> tuple[Array, Array, Array, Array]:
    """Places, velocities and velocity products (6, 3) of the toes, and their Jacobian (18, nv), by pinocchio."""
    model, data = robot.model, robot.model.createData()
    pin.forwardKinematics(model, data, q, v, np.zeros(robot.nv))
    pin.updateFramePlacements(model, data)
    world, ids = pin.LOCAL_WORLD_ALIGNED, frames(robot)
    rows = [pin.computeFrameJacobian(model, data, q, k, world)[:3] for k in ids]
    pin.forwardKinematics(model, data, q, v, np.zeros(robot.nv))
    pin.updateFramePlacements(model, data)
    places = np.array([data.oMf[k].translation for k in ids])
    rates = np.array([pin.getFrameVelocity(model, data, k, world).linear for k in ids])
    products = np.array([pin.getFrameClassicalAcceleration(model, data, k, world).linear for k in ids])
    return places, rates, products, np.vstack(rows)


def held(robot: cs.Robot, q: Array, v: Array, tau: Array) -> tuple[Array, Array]:
    """Acceleration (nv,) and forces (18,) while all toes are held: M a + h = tau + G^T f, G a + g' = 0."""
    model, data = robot.model, robot.model.createData()
    model.gravity.linear = np.array(GRAVITY)
    M = pin.crba(model, data, q)
    M = np.triu(M) + np.triu(M, 1).T
    h = pin.nonLinearEffects(model, data, q, v)
    _, _, products, G = toes(robot, q, v)
    system = np.block([[M, -G.T], [G, np.zeros((18, 18))]])
    solved = np.linalg.solve(system, np.concatenate([tau - h, -products.ravel()]))
    return solved[: robot.nv], solved[robot.nv :]


def on_six(z: float) -> Array:
    """State of the model at a height [m] with all legs downwards, toes on the ground below their rest places."""
    return MODEL.initial_state(z=z, **{f"ref{i}": 0.0 for i in range(6)})


def model_rate(x: Array) -> Array:
    """Rate (54,) of the model while all toes are held and the references rest."""
    setting = Setting.of([True] * 6, STILL)
    return MODEL.dynamics.rate(x, setting, MODEL.dynamics.evaluate(x, setting))


def springs(robot: cs.Robot) -> cs.PD:
    """The twin's springs and dampers, with hips that hold phi = 0."""
    return cs.PD(robot, robot.nominal, *twin.gains(robot.model))


def height_on_six(lift: Callable[[float], float]) -> float:
    """Height [m] at which a body's vertical acceleration vanishes."""
    return brentq(lift, 0.16, 0.19, xtol=1e-16, rtol=1e-15)


def test_body_and_legs_are_those_of_table_2(robot: cs.Robot) -> None:
    p, body = MODEL.parameters, robot.model.inertias[1]
    assert body.mass == pytest.approx(p.body_mass, rel=SAME_NUMBER)
    assert np.abs(body.inertia - p.inertia()).max() < SAME_NUMBER and not body.lever.any()
    assert pin.computeTotalMass(robot.model) == pytest.approx(p.body_mass + 6 * p.leg_mass, rel=1e-14)
    hips = [robot.model.jointPlacements[robot.model.getJointId(f"leg{i}_phi")] for i in range(6)]
    assert np.abs([hip.translation for hip in hips] - MODEL.dynamics.attach).max() < SAME_NUMBER
    springs, rows = MODEL.dynamics.springs, twin.hip_places(robot.model)[1]
    kp, kd = twin.gains(robot.model)
    assert kp[rows].tolist() == [p.KP] * 6 and kd[rows].tolist() == [p.KD] * 6
    assert np.array_equal(kp[rows + 1], springs.k_theta) and np.array_equal(kd[rows + 1], springs.d_theta)
    assert np.array_equal(kp[rows + 2], springs.k_r) and np.array_equal(kd[rows + 2], springs.d_r)
    assert np.array_equal(twin.TILT, springs.theta_0) and (springs.rho_0 == twin.LENGTH).all()
    control = HipControl.of(p)
    assert (twin.MAX_TORQUE, twin.NO_LOAD) == (control.max_torque, pytest.approx(control.no_load, rel=SAME_NUMBER))


def test_legs_move_alike(robot: cs.Robot) -> None:
    rng = np.random.default_rng(11)
    in_q, in_v = twin.hip_places(robot.model)
    for _ in range(20):
        q, v = pin.integrate(robot.model, robot.nominal, rng.normal(size=robot.nv)), rng.normal(size=robot.nv)
        q[in_q + 2], q[in_q + 3] = rng.uniform(-1.2, 1.2, 6), rng.uniform(-0.1, 0.1, 6)
        R, r = pin.Quaternion(q[3:7]).matrix(), q[:3]
        theta, phi, rho = q[in_q + 2], np.arctan2(q[in_q + 1], q[in_q]), twin.LENGTH + q[in_q + 3]
        expected = geometry.toes(R, r, geometry.from_spherical(theta, phi, rho), MODEL.dynamics.attach)
        places, rates, _, _ = toes(robot, q, v)
        assert np.abs(places - expected).max() < KINEMATICS
        leg = geometry.cartesian(R, r, places, MODEL.dynamics.attach)
        leg_rate = geometry.cartesian_rates(R, R @ v[3:6], r, R @ v[:3], places, rates)
        found = geometry.spherical(leg, leg_rate)
        assert np.abs(found.phi_rate - v[in_v]).max() < KINEMATICS * 10
        assert np.abs(found.theta_rate - v[in_v + 1]).max() < KINEMATICS * 10
        assert np.abs(found.rho_rate - v[in_v + 2]).max() < KINEMATICS * 10


def test_hip_control_is_the_models(robot: cs.Robot) -> None:
    rng, control = np.random.default_rng(12), HipControl.of(MODEL.parameters)
    drive, (in_q, in_v) = twin.drive(robot.model), twin.hip_places(robot.model)
    for t in rng.uniform(0.0, 3.0, 200):
        q, v = pin.integrate(robot.model, robot.nominal, rng.normal(size=robot.nv)), 20.0 * rng.normal(size=robot.nv)
        phi, (references, rates) = np.arctan2(q[in_q + 1], q[in_q]), drive.tripods.angles(t)
        tau = drive(t, q, v)
        assert np.abs(tau[in_v] - control.torque(references, rates, phi, v[in_v])).max() < TORQUES
        assert not tau[:6].any()
        angular = MODEL.dynamics.springs.angular(q[in_q + 2], v[in_v + 1])
        radial = MODEL.dynamics.springs.radial(twin.LENGTH + q[in_q + 3], v[in_v + 2])
        assert np.abs(tau[in_v + 1] - angular).max() < TORQUES * 100.0
        assert np.abs(tau[in_v + 2] - radial).max() < TORQUES * 1000.0


@pytest.mark.parametrize("direction", ["increasing", "negated"])
def test_reference_is_the_models_but_where_its_speed_changes(robot: cs.Robot, direction: str) -> None:
    command = Command.of(CompliantHexapod(direction=direction).parameters)
    sign = 1.0 if direction == "increasing" else -1.0
    gait = replace(twin.drive(robot.model).tripods, direction=sign)
    for phases, start, end in (((3, 1) * 3, 0.0, 0.3), ((0, 2) * 3, 0.3, 0.5), ((1, 3) * 3, 0.5, 0.8)):
        for t in np.linspace(start, end, 50):
            angles, rates = gait.angles(t)
            if min(abs(t - switch) for switch in (0.3, 0.7, 0.8)) < 0.5 * gait.ramp:
                continue
    assert command is not None and phases


def test_body_accelerates_alike_while_all_toes_hold(robot: cs.Robot) -> None:
    rng = np.random.default_rng(13)
    for _ in range(10):
        x = on_six(0.17)
        x[ROTATION] = geometry.rotation(0.1 * rng.normal(size=3)).ravel()
        x[PLACE] += 0.01 * rng.normal(size=3)
        x[SPIN], x[SPEED] = rng.normal(size=3), 0.3 * rng.normal(size=3)
        q, v = pose(robot, x)
        tau = springs(robot).torque(0.0, q, v, np.empty(0))
        a, R, w = held(robot, q, v, tau)[0], x[ROTATION].reshape(3, 3), x[SPIN]
        found = np.concatenate([R @ a[3:6], R @ a[:3] + np.cross(w, x[SPEED])])
        rate = model_rate(x)
        expected = np.concatenate([rate[3:6], rate[9:12]])
        assert np.abs(found - expected).max() < ACCELERATIONS * np.abs(expected).max()


def test_stands_at_the_same_height_on_six_legs(robot: cs.Robot) -> None:
    def lift(z: float) -> float:
        q, v = pose(robot, on_six(z))
        return float(held(robot, q, v, springs(robot).torque(0.0, q, v, np.empty(0)))[0][2])

    height = height_on_six(lift)
    assert height == pytest.approx(height_on_six(lambda z: float(model_rate(on_six(z))[11])), abs=HEIGHT_OF_SIX)
    q, v = pose(robot, on_six(height))
    forces = held(robot, q, v, springs(robot).torque(0.0, q, v, np.empty(0)))[1]
    assert forces[2::3].sum() == pytest.approx(6.06 * 10.0, rel=ACCELERATIONS)


def test_stands_on_three_legs_lower_by_the_weight_of_the_flying_toes(robot: cs.Robot) -> None:
    """The twin stands 1.5e-4 m lower than the model: its springs carry 0.3 N more."""
    model, drive = robot.model, twin.drive(robot.model)
    data = model.createData()
    model = pin.Model(model)
    model.gravity.linear = np.array(GRAVITY)
    start, still = pose(robot, MODEL.initial_state())[0], np.zeros(robot.nv)
    rows = np.concatenate([[3 * i, 3 * i + 1, 3 * i + 2] for i in (0, 2, 4)])
    planted = toes(robot, start, still)[0].ravel()[rows]

    def imbalance(unknown: Array) -> Array:
        q = pin.integrate(model, start, unknown[: robot.nv])
        places, _, _, G = toes(robot, q, still)
        weight = pin.computeGeneralizedGravity(model, data, q)
        missing = weight - drive(0.0, q, still) - G[rows].T @ unknown[robot.nv :]
        return np.concatenate([missing + held_hips(robot, drive), 100.0 * (places.ravel()[rows] - planted)])

    solved = root(imbalance, np.concatenate([still, np.tile([0.0, 0.0, 20.0], 3)]), tol=1e-12)
    height = pin.integrate(model, start, solved.x[: robot.nv])[2]
    heavier = CompliantHexapod(body_mass=MODEL.parameters.body_mass + 3 * MODEL.parameters.leg_mass)
    assert np.abs(solved.fun).max() < 1e-9
    assert height == pytest.approx(heavier.initial_state()[PLACE][2], abs=HEIGHT_OF_THREE)


def held_hips(robot: cs.Robot, drive: twin.Drive) -> Array:
    """What the moving reference adds to the torques at t = 0: at rest the hips have none (nv,)."""
    out, rows = np.zeros(robot.nv), twin.hip_places(robot.model)[1]
    out[rows] = twin.DAMPING[0] * drive.tripods.angles(0.0)[1]
    return out


def test_small_motions_have_the_same_frequencies(robot: cs.Robot) -> None:
    """All six on the ground: the twelve eigenvalues of the body agree."""
    x = on_six(height_on_six(lambda z: float(model_rate(on_six(z))[11])))
    body = slice(0, 12)
    setting = Setting.of([True] * 6, STILL)
    points = imaginary_steps(x)
    rates = MODEL.dynamics.rate(points, setting, MODEL.dynamics.evaluate(points, setting))
    expected = np.linalg.eigvals((rates.imag.T / TINY)[body, body])
    system = cs.ContactSystem(robot, controller=springs(robot), gravity=GRAVITY)
    begun = system.start(0.0, system.pack(cs.State(*pose(robot, x))))
    flow = system.flow(begun.mode)
    flow.rebase(0.0, begun.x)
    found = np.linalg.eigvals(flow.jacobian(0.0, begun.x))
    found = found[np.abs(found) > NOT_A_MOTION]
    print(np.sort_complex(expected)); print(np.sort_complex(found), begun.mode)
    assert np.abs(np.sort_complex(found) - np.sort_complex(expected)).max() < EIGENVALUES


@pytest.mark.slow
def test_runs_as_fast_as_the_model(robot: cs.Robot) -> None:
    x = MODEL.initial_state()
    loose = cs.Tolerances(rtol=1e-6, atol=1e-8)
    model_run = cs.simulate(MODEL, x, (0.0, 2.0))
    system = cs.ContactSystem(robot, controller=twin.drive(robot.model), gravity=GRAVITY, tolerances=loose)
    twin_run = cs.simulate(system, cs.State(*pose(robot, x)), (0.0, 2.0), tolerances=loose)
    assert twin_run.status.complete
    expected = model_run.final_x[PLACE][1] - x[PLACE][1]
    found = twin_run.final.q[1] - x[PLACE][1]
    print(expected/2, found/2, len(twin_run.events), len(model_run.events))
    assert found == pytest.approx(expected, rel=MEAN_SPEED)
    twin_run.check()
