"""Standing configurations: feet on the floor, and the gains that keep a robot there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .entry import Array, Demo

SETTLED = 1e-13
"""Largest height of a settled foot point above the floor, m."""
SETTLING_STEPS = 20


@dataclass(frozen=True)
class Hold:
    """Reference that stays at one configuration, without feed-forward."""

    q: Array
    nv: int

    def __call__(self, t: float) -> tuple[Array, Array, Array]:
        """Evaluate (q_ref, v_ref, tau_ff)."""
        return self.q, np.zeros(self.nv), np.zeros(self.nv)


def foot_heights(model: Any, q: Array, feet: Iterable[Mapping[str, Any]]) -> Array:
    """Height of the lowest point of each foot above the floor z = 0, m."""
    return _heights(model, model.createData(), q, feet)


def raise_to_floor(model: Any, q: Array, feet: Iterable[Mapping[str, Any]]) -> Array:
    """Lift or lower a free-flying root until the lowest foot point lies at z = 0."""
    raised = q.copy()
    raised[2] -= foot_heights(model, q, feet).min()
    return raised


def settle(model: Any, q: Array, feet: tuple[Mapping[str, Any], ...]) -> Array:
    """Put all feet of a free-flying robot on the floor by the smallest change of its posture.

    Newton's method on heights(q (+) dq) = 0 with steps of least norm, in which the root and all joints move.
    Where no posture has every foot on the floor, the lowest one is put there.
    """
    import pinocchio as pin

    data = pin.Data(model)
    q = raise_to_floor(model, q, feet)
    for _ in range(SETTLING_STEPS):
        heights = _heights(model, data, q, feet)
        if np.abs(heights).max() < SETTLED:
            break
        rows = np.array([_height_row(model, data, q, foot) for foot in feet])
        q = pin.integrate(model, q, -np.linalg.lstsq(rows, heights, rcond=1e-6)[0])
    return raise_to_floor(model, q, feet)


def standing_demo(model: Any, q: Array, drop: float, time: float, feet: tuple[Mapping[str, Any], ...]) -> Demo:
    """Drop a free-flying robot from `drop` metres and hold its posture."""
    raised = q.copy()
    raised[2] += drop
    kp, kd = standing_gains(model, q, feet)
    return Demo(raised, np.zeros(model.nv), time, reference=Hold(q, model.nv), kp=kp, kd=kd)


def standing_gains(model: Any, q: Array, feet: Iterable[Mapping[str, Any]]) -> tuple[Array, Array]:
    """Stiffness and damping that hold a posture: legs by the robot's weight, the other joints by their own inertia.

    A leg joint resists three times the toppling moment per radian, m g h with h the height of the centre of mass, with
    the time constant 0.1 sqrt(h / g). Any other joint is a critically damped oscillator of 20 rad/s.
    """
    import pinocchio as pin

    data = pin.Data(model)
    inertia = np.diag(pin.crba(model, data, q)).copy()
    mass = pin.computeTotalMass(model)
    height = pin.centerOfMass(model, data, q)[2]
    gravity = np.linalg.norm(model.gravity.linear)
    kp, kd = 400.0 * inertia, 40.0 * inertia
    legs = _leg_joints(model, feet)
    kp[legs] = 3.0 * mass * gravity * height
    kd[legs] = 0.1 * kp[legs] * np.sqrt(height / gravity)
    kp[:6] = kd[:6] = 0.0
    return kp, kd


def _leg_joints(model: Any, feet: Iterable[Mapping[str, Any]]) -> list[int]:
    """Velocity indices of the joints between the root and a foot, the root's excluded."""
    ends = [model.frames[_frame(model, foot)].parentJoint for foot in feet]
    joints = {joint for end in ends for joint in model.supports[end] if joint > 1}
    return sorted(model.idx_vs[joint] + k for joint in joints for k in range(model.nvs[joint]))


def _frame(model: Any, foot: Mapping[str, Any]) -> int:
    return int(model.getFrameId(foot["frame"]))


def _heights(model: Any, data: Any, q: Array, feet: Iterable[Mapping[str, Any]]) -> Array:
    import pinocchio as pin

    pin.framesForwardKinematics(model, data, q)
    return np.array([data.oMf[_frame(model, foot)].act(np.array(foot["offset"]))[2] - foot["radius"] for foot in feet])


def _height_row(model: Any, data: Any, q: Array, foot: Mapping[str, Any]) -> Array:
    """Derivative of a foot's height by the configuration's tangent, (nv,)."""
    import pinocchio as pin

    frame = _frame(model, foot)
    jacobian = pin.computeFrameJacobian(model, data, q, frame, pin.LOCAL_WORLD_ALIGNED)
    arm = data.oMf[frame].rotation @ np.array(foot["offset"])
    row: Array = jacobian[2] + arm[1] * jacobian[3] - arm[0] * jacobian[4]
    return row
