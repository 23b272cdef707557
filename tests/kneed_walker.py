"""A passive walker with knees that lock: as a multibody with latches, and as two hybrid charts of angles.

Point masses: mh at the hip, mt on each thigh, b2 below the hip, ms on each shank, b1 below the knee. Angles are those
of the stance leg, the swing thigh and the swing shank against the vertical. In the first chart the swing knee is free;
it locks where thigh and shank are in line. In the second the legs are straight; it ends at heel strike, where the legs
change their parts and the knee of the new swing leg is free.

Source of the numbers: Chen, Passive dynamic walking with knees, 2007.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin
from builders import planar_joint

import contactsim as cs

Array = np.ndarray

G, SLOPE = 9.81, 0.0504
A1, B1, A2, B2 = 0.375, 0.125, 0.175, 0.325
SHANK, THIGH = A1 + B1, A2 + B2
LEG = SHANK + THIGH
HIP, MT, MS = 0.5, 0.5, 0.05
START = np.array([0.1877, -0.2884, -0.2884, -1.1014, -0.0399, -0.0399])
# Each point mass as (m, arms): it is at the stance foot + the sum of arm_j (-sin q_j, cos q_j).
MASSES = (
    (MS, (A1, 0.0, 0.0)),
    (MT, (SHANK + A2, 0.0, 0.0)),
    (HIP, (LEG, 0.0, 0.0)),
    (MT, (LEG, -B2, 0.0)),
    (MS, (LEG, -THIGH, -B1)),
)
FOOT = np.array([LEG, -THIGH, -SHANK])


def equations(q: Array, v: Array) -> tuple[Array, Array]:
    """M and the forces h of M q'' = h."""
    m = np.array([mass for mass, _ in MASSES])
    arms = np.array([arm for _, arm in MASSES])
    coupling = np.einsum("i,ij,ik->jk", m, arms, arms)
    apart = q[:, None] - q[None, :]
    return coupling * np.cos(apart), -(coupling * np.sin(apart)) @ v**2 + G * (m @ arms) * np.sin(q)


LOCKED = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])  # q of three angles from two


def foot_height(q: Array) -> float:
    """Of the swing foot above the slope [m]."""
    x, z = -FOOT @ np.sin(q), FOOT @ np.cos(q)
    return float(z * np.cos(SLOPE) + x * np.sin(SLOPE))


class TwoCharts(cs.Model):
    """The walker as two charts, "free" and "locked", both with three angles and their rates."""

    class State(cs.ModelState):
        """Angles and rates."""

        stance: float = START[0]
        thigh: float = START[1]
        shank: float = START[2]
        stance_rate: float = START[3]
        thigh_rate: float = START[4]
        shank_rate: float = START[5]

    def start(self, t: float, x: Any) -> cs.Transition:
        return cs.Transition(x, "locked" if x[1] == x[2] and x[4] == x[5] and x[0] < 0.1 else "free")

    def field(self, t: float, x: Array, chart: Any) -> Array:
        q, v = x[:3], x[3:]
        mass, force = equations(q, v)
        if chart == "free":
            return np.concatenate([v, np.linalg.solve(mass, force)])
        reduced = np.linalg.solve(LOCKED.T @ mass @ LOCKED, LOCKED.T @ force)
        return np.concatenate([v, LOCKED @ reduced])

    def boundaries(self, chart: Any) -> tuple[cs.Boundary, ...]:
        if chart == "free":
            return (cs.Boundary("knee", lambda t, x: x[1] - x[2]),)
        return (cs.Boundary("heel", lambda t, x: foot_height(x[:3]) if x[0] < 0.0 else 1.0, smooth=False),)

    def reset(self, t: float, x: Array, chart: Any, fired: frozenset) -> cs.Transition:
        q, v = x[:3], x[3:]
        if chart == "free":
            mass, _ = equations(q, v)
            v = LOCKED @ np.linalg.solve(LOCKED.T @ mass @ LOCKED, LOCKED.T @ mass @ v)
            return cs.Transition(np.concatenate([q[[0, 1, 1]], v]), "locked")
        after = heel_strike(q, v)
        return cs.Transition(np.concatenate([q[[1, 0, 0]], after[[1, 0, 0]]]), "free")


def heel_strike(q: Array, v: Array) -> Array:
    """Rates (2,) of the old stance leg and the old swing leg, both straight, behind the impact of the swing foot."""
    arms = np.array([arm for _, arm in MASSES]) @ LOCKED
    legs, rates = q[:2], v[:2]
    directions = np.array([-np.cos(legs), -np.sin(legs)])  # of d(-sin, cos)

    def jacobian(arm: Array) -> Array:
        return np.hstack([np.eye(2), directions * arm])

    mass = sum(m * jacobian(arm).T @ jacobian(arm) for (m, _), arm in zip(MASSES, arms, strict=True))
    before, foot = np.concatenate([[0.0, 0.0], rates]), jacobian(FOOT @ LOCKED)
    solved = np.linalg.solve(mass, foot.T)
    return (before - solved @ np.linalg.solve(foot @ solved, foot @ before))[2:]


# --- the multibody ----------------------------------------------------------------------------------------------------
def point(mass: float, below: float) -> pin.Inertia:
    return pin.Inertia(mass, np.array([0.0, 0.0, -below]), np.zeros((3, 3)))


class Ahead:
    """How far a leg is in front of the other, less 0.1 [rad]: a foot that swings past touches nothing."""

    def __init__(self, side: int) -> None:
        self.side = side

    def __call__(self, t: float, q: Array, v: Array) -> float:
        left, right = angles_of_legs(q)
        return self.side * (left - right) - 0.1


def angles_of_legs(q: Array) -> tuple[float, float]:
    """Angles of the thighs as of the charts, turned about -y."""
    return -float(q[2]), -float(q[2] + q[4])


def multibody() -> cs.Robot:
    """Planar root on the left thigh at the hip, left knee, right hip, right knee."""
    model = pin.Model()
    root = model.addJoint(0, planar_joint(), pin.SE3.Identity(), "root")
    model.appendBodyToJoint(root, point(HIP, 0.0) + point(MT, B2), pin.SE3.Identity())
    down = pin.SE3(np.eye(3), np.array([0.0, 0.0, -THIGH]))
    knee = model.addJoint(root, pin.JointModelRY(), down, "knee_l")
    model.appendBodyToJoint(knee, point(MS, B1), pin.SE3.Identity())
    hip = model.addJoint(root, pin.JointModelRY(), pin.SE3.Identity(), "hip_r")
    model.appendBodyToJoint(hip, point(MT, B2), pin.SE3.Identity())
    other = model.addJoint(hip, pin.JointModelRY(), down, "knee_r")
    model.appendBodyToJoint(other, point(MS, B1), pin.SE3.Identity())
    feet = []
    for side, (name, joint) in zip((1, -1), (("left", knee), ("right", other)), strict=True):
        model.addFrame(pin.Frame(name, joint, 0, pin.SE3.Identity(), pin.FrameType.BODY))
        feet.append(cs.ContactPoint(name, offset=(0, 0, -SHANK), friction=9.0, name=name, enabled=Ahead(side)))
    return cs.Robot(model, feet, name="kneed walker")


def walker() -> cs.ContactSystem:
    """The walker on its slope, with knees that lock in line and open where the other foot comes down."""
    knees = [
        cs.Latch(joint="knee_l", direction=-1, opens_at="right", closed=True),
        cs.Latch(joint="knee_r", direction=-1, opens_at="left"),
    ]
    return cs.ContactSystem(multibody(), terrain=cs.terrain.Slope(angle=SLOPE), latches=knees)


def embedded(x: Array) -> cs.State:
    """State of the multibody for one of the charts, the left foot at the origin."""
    (stance, thigh, shank), (w, w_thigh, w_shank) = x[:3], x[3:]
    q = [-LEG * np.sin(stance), LEG * np.cos(stance), -stance, 0.0, stance - thigh, thigh - shank]
    v = [-LEG * np.cos(stance) * w, -LEG * np.sin(stance) * w, -w, 0.0, w - w_thigh, w_thigh - w_shank]
    return cs.State(q, v)


def angles(q: Array, v: Array) -> Array:
    """State of the charts for one of the multibody, with the left leg as the stance leg."""
    turned = [np.array([-x[2], -x[2] - x[4], -x[2] - x[4] - x[5]]) for x in (q, v)]
    return np.concatenate(turned)


def swapped(x: Array) -> Array:
    """The plain state (q, v) with left and right changed, and the right foot at the origin."""
    (q, v), legs = (x[:6], x[6:]), []
    for y in (q, v):
        right = y[2] + y[4]
        legs.append([y[0], y[1], right, y[5], -y[4], y[3]])
    thigh, shank = q[2] + q[4], q[2] + q[4] + q[5]
    foot = np.array([-THIGH * np.sin(thigh) - SHANK * np.sin(shank), -THIGH * np.cos(thigh) - SHANK * np.cos(shank)])
    return np.concatenate([-foot, legs[0][2:], legs[1]])
