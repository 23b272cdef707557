"""Where the frames of a robot are, and how they move: what sensors and samples of a run read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pinocchio as pin

from ...common.arrays import Array
from ..forest import Computing, Workspace
from ..robot_model import RobotModel

PARTS = {
    "JointModelFreeFlyer": (("x", "y", "z", "qx", "qy", "qz", "qw"), ("vx", "vy", "vz", "wx", "wy", "wz")),
    "JointModelSpherical": (("qx", "qy", "qz", "qw"), ("wx", "wy", "wz")),
    "JointModelPlanar": (("x", "y", "cos", "sin"), ("vx", "vy", "wz")),
    "JointModelTranslation": (("x", "y", "z"), ("vx", "vy", "vz")),
}


class FrameMotion(NamedTuple):
    """Motion of a frame, in its own axes.

    Attributes:
        rotation: (3, 3), of its axes to those of the world.
        angular: velocity (3,) [rad/s].
        linear: velocity (3,) of its origin [m/s].
        acceleration: (3,) of its origin as a point of the body [m/s^2].
    """

    rotation: Array
    angular: Array
    linear: Array
    acceleration: Array


class FrameKinematics(Computing):
    """Poses and motions of the frames of a robot, by their names."""

    def __init__(self, robot: RobotModel) -> None:
        self._robot, self._workspace = robot, Workspace(robot.model)

    def poses(self, q: Array, frames: Sequence[str]) -> dict[str, Array]:
        """{frame: (4, 4), from its axes to those of the world} at a configuration (nq,) [m].

        Raises:
            InputError: there is no such frame.
        """
        data = self._data
        indices = {name: self._robot.frame_id(name) for name in frames}
        data.forward_kinematics(q)
        return {name: data.update_frame_placement(k).homogeneous.copy() for name, k in indices.items()}

    def motion(self, q: Array, v: Array, a: Array, frame: str) -> FrameMotion:
        """Motion of a frame at a configuration (nq,), velocity (nv,) and acceleration (nv,).

        Raises:
            InputError: there is no such frame.
        """
        data, index = self._data, self._robot.frame_id(frame)
        data.forward_kinematics(q, v, a)
        rotation = np.array(data.update_frame_placement(index).rotation)
        moving = data.frame_velocity(index, pin.LOCAL)
        acceleration = data.frame_acceleration(index, pin.LOCAL).linear
        return FrameMotion(rotation, np.array(moving.angular), np.array(moving.linear), np.array(acceleration))


def coordinate_names(model: Any) -> tuple[list[str], list[str]]:
    """Names of the numbers of a configuration (nq,) and of a velocity (nv,): that of the joint, and which of several.

    A free joint has x, y, z, qx, qy, qz, qw and vx, vy, vz, wx, wy, wz, in pinocchio's order; a joint that turns
    without end cos and sin; a joint made of several the kind of each: px, pz, ry.
    """
    q_names: list[str] = []
    v_names: list[str] = []
    for name, joint in list(zip(model.names, model.joints, strict=True))[1:]:
        q_parts, v_parts = _parts(joint)
        q_names += [f"{name}.{part}" if part else name for part in q_parts]
        v_names += [f"{name}.{part}" if part else name for part in v_parts]
    return q_names, v_names


def _parts(joint: Any) -> tuple[Sequence[str], Sequence[str]]:
    """Parts of the coordinates of a joint; an empty name where there is one only."""
    kind = joint.shortname()
    if kind in PARTS:
        return PARTS[kind]
    if kind == "JointModelComposite":
        inner = [own.shortname().removeprefix("JointModel").lower() for own in joint.extract().joints]
        if len(inner) == joint.nq == joint.nv:
            return inner, inner
    if joint.nq == 2 and joint.nv == 1:
        return ("cos", "sin"), ("",)
    return _numbered(joint.nq), _numbered(joint.nv)


def _numbered(count: int) -> list[str]:
    return [""] if count == 1 else [str(k) for k in range(count)]


def turning_joints(model: Any) -> dict[str, tuple[int, int, int]]:
    """{joint: (first of its numbers in q, how many, its number in v)} of the joints of one degree of freedom."""
    joints = list(zip(model.names, model.joints, strict=True))[1:]
    return {name: (joint.idx_q, joint.nq, joint.idx_v) for name, joint in joints if joint.nv == 1}
