"""Configurations stay on their manifold, and the integrator keeps its order there."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pinocchio as pin
import pytest
import tolerances as tol
from builders import random_inertia, single_body
from scipy.integrate import solve_ivp
from scipy.optimize import brentq
from scipy.special import ellipj

import contactsim as cs


def every_kind_of_joint() -> pin.Model:
    """A chain whose joints all have configurations with a constraint: free-flyer, spherical, planar, continuous."""
    rng = np.random.default_rng(3)
    model = pin.Model()
    model.name = "chain"
    parent = 0
    kinds = {
        "root": pin.JointModelFreeFlyer(),
        "ball": pin.JointModelSpherical(),
        "plane": pin.JointModelPlanar(),
        "wheel": pin.JointModelRUBY(),
        "second_wheel": pin.JointModelRUBX(),
    }
    for name, joint in kinds.items():
        placement = pin.SE3(pin.exp3(rng.normal(size=3)), 0.2 * rng.normal(size=3))
        parent = model.addJoint(parent, joint, placement if parent else pin.SE3.Identity(), name)
        model.appendBodyToJoint(parent, random_inertia(rng), pin.SE3.Identity())
    return model


def norms(model: pin.Model, q: np.ndarray) -> list[float]:
    """Lengths of all parts of `q` that have length one."""
    parts = []
    for joint in list(model.joints)[1:]:
        own = q[joint.idx_q : joint.idx_q + joint.nq]
        name = joint.shortname()
        if "FreeFlyer" in name:
            parts.append(own[3:7])
        elif "Planar" in name:
            parts.append(own[2:4])
        elif "Spherical" in name or "RUB" in name:
            parts.append(own)
    return [float(np.linalg.norm(part)) for part in parts]


@pytest.mark.parametrize("integrator", ["DOP853", "RK45", "Radau"])
def test_norms_are_kept(integrator: str) -> None:
    model = every_kind_of_joint()
    rng = np.random.default_rng(4)
    q = pin.integrate(model, pin.neutral(model), rng.normal(size=model.nv))
    v = rng.normal(size=model.nv)
    tolerances = cs.Tolerances() if integrator == "DOP853" else cs.Tolerances(rtol=1e-5, atol=1e-7)
    robot = cs.Robot(model, contacts=[])
    traj = cs.simulate(
        cs.ContactSystem(robot, joint_limits=False),
        cs.State(q, v),
        (0.0, 1.0),
        integrator=integrator,
        tolerances=tolerances,
    )
    assert len(norms(model, q)) == 5
    samples = [*traj.q, traj.final.q, *(traj(t).q for t in np.linspace(0.0, 1.0, 101))]
    worst = max(abs(norm - 1.0) for sample in samples for norm in norms(model, sample))
    assert worst < tol.ON_MANIFOLD


def test_norms_are_kept_in_contact() -> None:
    """A ball rolls for 20 s: hundreds of turns, and the quaternion is one."""
    model = single_body(pin.JointModelFreeFlyer(), 1.0, (0.004, 0.004, 0.004), "ball")
    robot = cs.Robot(model, contacts=[cs.ContactPoint("ball", radius=0.1, friction=0.5, name="ball")])
    start = cs.State([0, 0, 0.1, 0, 0, 0, 1], [2.0, 0, 0, 0, 0, 0])
    traj = cs.simulate(cs.ContactSystem(robot), start, (0.0, 20.0))
    assert max(abs(np.linalg.norm(q[3:7]) - 1.0) for q in traj.q) < tol.ON_MANIFOLD
    slide = 4.0 / (7 * 0.5 * 9.81)
    place = 2.0 * slide - 0.5 * 9.81 * slide**2 / 2 + 10 / 7 * (20.0 - slide)
    assert traj.final.q[0] == pytest.approx(place, abs=20 * tol.SLIDE_TO_ROLL)


# --- a torque-free asymmetric top ----------------------------------------------------------------------------------
MOMENTS = np.array([0.9, 0.6, 0.35])
SPIN = np.array([0.7, 0.2, 4.0])
END = 3.0


def top(joint: str) -> tuple[cs.ContactSystem, cs.State]:
    if joint == "free_flyer":
        model = single_body(pin.JointModelFreeFlyer(), 1.0, MOMENTS, "top")
        state = cs.State([0, 0, 0, 0, 0, 0, 1], [0.3, -0.2, 0.1, *SPIN])
    else:
        model = single_body(pin.JointModelSpherical(), 1.0, MOMENTS, "top")
        state = cs.State([0, 0, 0, 1], SPIN)
    return cs.ContactSystem(cs.Robot(model, contacts=[]), gravity=(0, 0, 0), joint_limits=False), state


def reference_attitude() -> tuple[np.ndarray, np.ndarray]:
    """Rotation matrix and spin of the top at END: Euler's equations, integrated much more tightly than any run."""

    def rate(t: float, x: np.ndarray) -> np.ndarray:
        R, w = x[:9].reshape(3, 3), x[9:]
        return np.concatenate([(R @ pin.skew(w)).ravel(), np.cross(MOMENTS * w, w) / MOMENTS])

    start = np.concatenate([np.eye(3).ravel(), SPIN])
    solution = solve_ivp(rate, (0.0, END), start, method="DOP853", rtol=3e-14, atol=1e-15, max_step=0.02)
    return solution.y[:9, -1].reshape(3, 3), solution.y[9:, -1]


def jacobi_spin(t: float) -> np.ndarray:
    """Spin of the top in closed form (Landau and Lifshitz, section 37), for A > B > C, about the axis of least moment.

    The phase at t = 0 is found from the start, so that only the constants of motion enter.
    """
    A, B, C = MOMENTS
    energy2 = MOMENTS @ SPIN**2
    square = MOMENTS**2 @ SPIN**2
    # Landau's order is I1 < I2 < I3; the top spins about its first axis, M^2 < 2 E I2.
    I1, I2, I3 = C, B, A
    w3, w2, w1 = (
        np.sqrt((square - energy2 * I1) / (I3 * (I3 - I1))),
        np.sqrt((square - energy2 * I1) / (I2 * (I2 - I1))),
        np.sqrt((energy2 * I3 - square) / (I1 * (I3 - I1))),
    )
    speed = np.sqrt((I2 - I1) * (energy2 * I3 - square) / (I1 * I2 * I3))
    m = (I3 - I2) * (square - energy2 * I1) / ((I2 - I1) * (energy2 * I3 - square))

    def at(phase: float, sign: float) -> np.ndarray:
        sn, cn, dn, _ = ellipj(phase, m)
        return np.array([w3 * cn, sign * w2 * sn, w1 * dn])

    grid = np.linspace(0.0, 12.0, 4001)
    for sign in (1.0, -1.0):
        for a, b in pairwise(grid):
            fa, fb = at(a, sign)[0] - SPIN[0], at(b, sign)[0] - SPIN[0]
            if fa * fb <= 0:
                phase = brentq(lambda p, sign=sign: at(p, sign)[0] - SPIN[0], a, b, xtol=1e-15)
                rate = np.cross(MOMENTS * SPIN, SPIN) / MOMENTS
                ahead = (at(phase + 1e-6 * speed, sign) - at(phase - 1e-6 * speed, sign)) / 2e-6
                if np.allclose(at(phase, sign), SPIN, atol=1e-9) and np.allclose(ahead, rate, atol=1e-6):
                    return at(phase + speed * t, sign)
    raise AssertionError("the start is not on the closed form's orbit")


def test_the_reference_of_the_top_agrees_with_jacobi_s_functions() -> None:
    np.testing.assert_allclose(reference_attitude()[1], jacobi_spin(END), rtol=0, atol=tol.TOP_REFERENCE)


@pytest.mark.parametrize("joint", ["free_flyer", "spherical"])
@pytest.mark.parametrize("integrator", ["DOP853", "RK45"])
def test_order_is_kept_on_the_manifold(integrator: str, joint: str) -> None:
    """The error of the attitude falls with the tolerance, and with the number of steps at the order of the method."""
    R_end, spin_end = reference_attitude()
    system, state = top(joint)
    rtols = 10.0 ** -np.arange(4, 12) if integrator == "DOP853" else 10.0 ** -np.arange(3, 9)
    steps, errors = [], []
    for rtol in rtols:
        tolerances = cs.Tolerances(rtol=rtol, atol=rtol * 1e-1)
        traj = cs.simulate(system, state, (0.0, END), integrator=integrator, tolerances=tolerances)
        quaternion = traj.final.q[-4:]
        turn = pin.log3(R_end.T @ pin.Quaternion(quaternion / np.linalg.norm(quaternion)).toRotationMatrix())
        errors.append(np.linalg.norm(turn) + np.linalg.norm(traj.final.v[-3:] - spin_end))
        steps.append(len(traj.t))
    steps, errors = np.array(steps), np.array(errors)
    assert np.all(errors < 3e3 * rtols)
    assert errors[-1] < 1e-3 * errors[0]
    slope = np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert slope < -tol.ORDER[integrator], (slope, dict(zip(steps, errors, strict=True)))
