"""The twin of the compliant hexapod against the model: body, legs, statics, small motions and the speed of the gait.

Equal to rounding: mass, inertia, geometry, and every motion in which all toes hold. Not equal: toes of the twin have
weight, the body feels its flying legs, a landing toe hits the ground with an impulse, a toe leaves the ground with the
force on the toe and not with that in the leg, and the reference changes speed within 10 ms and not at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import hexapod_legs
import numpy as np
import pinocchio as pin
import pytest
from contactsim_plugins.models.compliant_hexapod import CompliantHexapod, geometry
from contactsim_plugins.models.compliant_hexapod.controller import HipControl
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
from contactsim.io import scene

Array = np.ndarray
SUM = 1e-14  # relative, sums of a few numbers
SAME_NUMBER = 1e-15  # relative, parameters written twice
KINEMATICS = 1e-12  # m, rounding
RATES = 1e-11  # rad/s, m/s: rounding, of quotients by a leg of 0.1 m
TORQUES = 1e-12  # N m, of hips; of springs times their stiffness: rounding
ACCELERATIONS = 1e-10  # relative to the largest one: rounding, in a problem with masses from 0.01 to 6 kg
HEIGHT_OF_SIX = 1e-12  # m, weight of standing toes goes straight into the ground
HEIGHT_OF_THREE = 1e-6  # m, what is left of three flying toes once their weight is accounted for
EIGENVALUES = 1e-6  # 1/s, the twin's Jacobian is differenced; the largest is 128 1/s
NOT_A_MOTION = 1e-3  # 1/s, eigenvalues of the held toes are zero
PROFILE = 1e-12  # rad, rounding; off the ramps
BALANCED = 1e-9  # N m, N, m: what a solver of the statics leaves
PRINTED = 1e-3  # Hz, 1/s, m/s: figures of the docstrings
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
        hexapod_legs.cartesian(R, x[PLACE], feet, MODEL.dynamics.attach),
        hexapod_legs.cartesian_rates(R, w, x[PLACE], x[SPEED], feet, rates),
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
    assert pin.computeTotalMass(robot.model) == pytest.approx(p.body_mass + 6 * p.leg_mass, rel=SUM)
    hips = [robot.model.jointPlacements[robot.model.getJointId(f"leg{i}_phi")] for i in range(6)]
    assert np.abs([hip.translation for hip in hips] - MODEL.dynamics.attach).max() < SAME_NUMBER
    springs, rows = MODEL.dynamics.springs, twin.hip_places(robot.model)[1]
    kp, kd = twin.gains(robot.model)
    assert kp[rows].tolist() == [p.KP] * 6 and kd[rows].tolist() == [p.KD] * 6
    assert np.array_equal(kp[rows + 1], springs.k_theta) and np.array_equal(kd[rows + 1], springs.d_theta)
    assert np.array_equal(kp[rows + 2], springs.k_r) and np.array_equal(kd[rows + 2], springs.d_r)
    assert np.array_equal(twin.TILT, springs.theta_0) and (springs.rho_0 == twin.LENGTH).all()
    control = HipControl.of(p)
    assert control.max_torque == twin.MAX_TORQUE
    assert control.no_load == pytest.approx(twin.NO_LOAD, rel=SAME_NUMBER)


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
        leg = hexapod_legs.cartesian(R, r, places, MODEL.dynamics.attach)
        leg_rate = hexapod_legs.cartesian_rates(R, R @ v[3:6], r, R @ v[:3], places, rates)
        found = geometry.spherical(leg, leg_rate)
        assert np.abs(found.phi_rate - v[in_v]).max() < RATES
        assert np.abs(found.theta_rate - v[in_v + 1]).max() < RATES
        assert np.abs(found.rho_rate - v[in_v + 2]).max() < RATES


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
        assert np.abs(tau[in_v + 1] - angular).max() < TORQUES * twin.STIFFNESS[1]
        assert np.abs(tau[in_v + 2] - radial).max() < TORQUES * twin.STIFFNESS[2]


def test_reference_is_the_models_but_where_its_speed_changes(robot: cs.Robot) -> None:
    """The model's references are taken from its own run; off the ramps both agree."""
    model = CompliantHexapod(direction="negated")
    gait = replace(twin.drive(robot.model).tripods, direction=-1.0)
    run = cs.simulate(model, model.initial_state(), (0.0, 1.0))
    for t in np.linspace(0.0, 1.0, 97):
        if min(abs(t - change) for change in (0.2, 0.3, 0.7, 0.8)) > 0.5 * gait.ramp:
            turn = run.arc_at(t)(t)[REFERENCE] - gait.angles(t)[0]
            assert np.abs(np.sin(0.5 * turn)).max() < PROFILE


def test_body_accelerates_alike_while_all_toes_hold(robot: cs.Robot) -> None:
    rng = np.random.default_rng(13)
    for _ in range(10):
        x = on_six(0.17)
        x[ROTATION] = geometry.rotation(0.05 * rng.normal(size=3)).ravel()
        x[PLACE] += 0.01 * rng.normal(size=3)
        x[SPIN], x[SPEED] = 0.3 * rng.normal(size=3), 0.1 * rng.normal(size=3)  # hips stay within their limit
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
    """The twin stands 1.115e-4 m lower than the model: its springs carry 0.3 N more."""
    model, tripods, still = pin.Model(robot.model), twin.drive(robot.model).tripods, np.zeros(robot.nv)
    model.gravity.linear = np.array(GRAVITY)
    data, hold = model.createData(), cs.PD(robot, tripods(0.0)[0], *twin.gains(model))
    start = pose(robot, MODEL.initial_state())[0]
    rows = np.concatenate([[3 * i, 3 * i + 1, 3 * i + 2] for i in (0, 2, 4)])
    planted = toes(robot, start, still)[0].ravel()[rows]

    def imbalance(unknown: Array) -> Array:
        """Joint torques, N m, and places of the standing toes, m, that are left at a posture and forces."""
        q = pin.integrate(model, start, unknown[: robot.nv])
        places, _, _, G = toes(robot, q, still)
        loads = pin.computeGeneralizedGravity(model, data, q) - hold.torque(0.0, q, still, np.empty(0))
        return np.concatenate([loads - G[rows].T @ unknown[robot.nv :], places.ravel()[rows] - planted])

    solved = root(imbalance, np.concatenate([still, np.tile([0.0, 0.0, 20.0], 3)]), tol=1e-12)
    assert np.abs(solved.fun).max() < BALANCED
    height = pin.integrate(model, start, solved.x[: robot.nv])[2]
    heavier = CompliantHexapod(body_mass=MODEL.parameters.body_mass + 3 * MODEL.parameters.leg_mass)
    assert height == pytest.approx(heavier.initial_state()[PLACE][2], abs=HEIGHT_OF_THREE)
    assert MODEL.initial_state()[PLACE][2] - height == pytest.approx(1.115e-4, abs=HEIGHT_OF_THREE)


def test_small_motions_have_the_same_frequencies(robot: cs.Robot) -> None:
    """On six held toes the twelve eigenvalues of the body agree; it bounces with 4.445 Hz and decays with 6.71 1/s."""
    x = on_six(height_on_six(lambda z: float(model_rate(on_six(z))[11])))
    jacobian = model_rate(imaginary_steps(x)).imag.T / TINY
    expected, motions = np.linalg.eig(jacobian[:12, :12])
    bounce = expected[np.abs(motions[11]).argmax()]  # in the one motion that goes straight up and down
    assert (-bounce.real, abs(bounce.imag) / (2.0 * np.pi)) == pytest.approx((6.707, 4.445), abs=PRINTED)
    system = cs.ContactSystem(robot, controller=springs(robot), gravity=GRAVITY)
    begun = system.start(0.0, system.pack(cs.State(*pose(robot, x))))
    flow = system.flow(begun.mode)
    flow.rebase(0.0, begun.x)
    found = np.linalg.eigvals(flow.jacobian(0.0, begun.x))
    found = found[np.abs(found) > NOT_A_MOTION]
    assert np.abs(np.sort_complex(found) - np.sort_complex(expected)).max() < EIGENVALUES


def demonstration(run: str = "") -> scene.SceneRun:
    return scene.build(scene.parse(f'robot = {{name = "compliant-hexapod-twin"}}\nrun = {{{run}}}'))


def test_demo_has_the_models_gravity_and_controller(robot: cs.Robot) -> None:
    """Torques of the hips at random states are those of the model's control, clipped at the motors' limits."""
    made, control = demonstration(), HipControl.of(MODEL.parameters)
    np.testing.assert_array_equal(made.system.gravity, GRAVITY)
    rng, (in_q, in_v) = np.random.default_rng(14), twin.hip_places(robot.model)
    gait, at_limit = twin.drive(robot.model).tripods, 0
    for t in rng.uniform(0.0, 2.0, 50):
        q, v = pin.integrate(robot.model, robot.nominal, rng.normal(size=robot.nv)), 20.0 * rng.normal(size=robot.nv)
        tau, (references, rates) = made.system.controller.torque(t, q, v, np.empty(0)), gait.angles(t)
        phi = np.arctan2(q[in_q + 1], q[in_q])
        assert np.abs(tau[in_v] - control.torque(references, rates, phi, v[in_v])).max() < TORQUES
        lower, upper = control.limits(v[in_v])
        assert (tau[in_v] >= lower - TORQUES).all() and (tau[in_v] <= upper + TORQUES).all()
        at_limit += int(np.sum((np.abs(tau[in_v] - lower) < TORQUES) | (np.abs(tau[in_v] - upper) < TORQUES)))
    assert at_limit > 50


def test_demo_lands_on_the_other_tripod() -> None:
    made = demonstration("time = 0.2")
    run = cs.simulate(made.system, made.state, made.span, **made.options)
    assert run.status.complete
    landed = {name for event in run.events for name, (old, _) in event.transitions.items() if old is cs.Mode.OPEN}
    assert landed == {"toe1", "toe3", "toe5"}
    run.check()


@pytest.mark.slow
def test_runs_as_fast_as_the_model(robot: cs.Robot) -> None:
    """The demonstration over two seconds, from the model's start: 0.26953 m/s, the model 0.27001 m/s, both to -y."""
    x, made = MODEL.initial_state(), demonstration()
    run = cs.simulate(made.system, cs.State(*pose(robot, x)), made.span, **made.options)
    assert run.status.complete and made.span == (0.0, 2.0)
    run.check()
    expected = cs.simulate(MODEL, x, (0.0, 2.0)).final_x[PLACE][1] - x[PLACE][1]
    assert run.final.q[1] - x[PLACE][1] == pytest.approx(expected, rel=MEAN_SPEED)
    assert 0.5 * expected == pytest.approx(-0.27001, abs=PRINTED)
