"""How fast points of a robot can move at most, from what its joints do: for a step, no matter where in it.

A link turns no faster than the joints before it do together, Omega = sum of w, and its angular acceleration is at most
sum of w' + Omega^2 / 2 (the cross products of the joints' rates, pair by pair). A point is reached along segments of
constant length l, each fixed to a link, and slides by u where a joint translates; so

    |c'| <= sum (Omega l + u),    |c''| <= sum ((alpha + Omega^2) l + u' + 2 Omega u).

These are sums of norms: no direction is looked at, and nothing can exceed them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pinocchio as pin

from ...hybrid import Array
from ..mechanism import JointPath
from .derivatives import simple_model

PLACED = {"JointModelFreeFlyer": 3, "JointModelPlanar": 2, "JointModelTranslation": 3}  # q that say where a joint is


class Sway(NamedTuple):
    """Bounds along a step for all joints of a model.

    Attributes:
        spin, twist: angular velocity [rad/s] and acceleration [rad/s^2] of each joint's body (joints,).
        speed, push: velocity [m/s] and acceleration [m/s^2] of its origin (joints,).
    """

    spin: Array
    twist: Array
    speed: Array
    push: Array

    def of_points(self, joints: Array, arms: Array) -> tuple[Array, Array]:
        """Bounds of velocity and acceleration of points at distances `arms` from the origins of `joints`."""
        spin = self.spin[joints]
        return self.speed[joints] + spin * arms, self.push[joints] + (self.twist[joints] + spin * spin) * arms


class Reach:
    """The segments of a robot, and the joints that move each of them.

    Args:
        model: pinocchio's model; its joints must be chains of simple ones (see `simple_model`).
        index: the number there of each joint of the robot's own model.
    """

    def __init__(self, model: Any, index: list[int]) -> None:
        count = model.njoints
        self.index = np.array(index)
        self._parent = np.array(model.parents)
        self._parent[0] = 0
        self._before = np.zeros((count, count))  # [j, k]: joint k moves the body of joint j
        for j in range(1, count):
            self._before[j, list(model.supports[j])[1:]] = 1.0
        self._length = np.array([float(np.linalg.norm(place.translation)) for place in model.jointPlacements])
        self._slides, self._turns = self._motions(model)
        self._placed = self._places(model)

    @staticmethod
    def _motions(model: Any) -> tuple[Array, Array]:
        """Squares of the translation and rotation per velocity (2, joints, nv): of a simple joint they are constant."""
        data = model.createData()
        pin.computeJointJacobians(model, data, pin.neutral(model))
        found = np.zeros((2, model.njoints, model.nv))
        for j in range(1, model.njoints):
            joint = model.joints[j]
            part = slice(joint.idx_v, joint.idx_v + joint.nv)
            columns = pin.getJointJacobian(model, data, j, pin.ReferenceFrame.LOCAL).reshape(6, model.nv)[:, part] ** 2
            found[0, j, part], found[1, j, part] = columns[:3].sum(axis=0), columns[3:].sum(axis=0)
        return found[0], found[1]

    def _places(self, model: Any) -> Array:
        """Squares of the way (joints, nq) by which each configuration number moves the origin of a joint."""
        found = np.zeros((model.njoints, model.nq))
        for j in range(1, model.njoints):
            joint = model.joints[j]
            if joint.nq == joint.nv == 1:
                found[j, joint.idx_q] = self._slides[j, joint.idx_v]
            else:
                found[j, joint.idx_q : joint.idx_q + PLACED.get(joint.shortname(), 0)] = 1.0
        return found

    def sway(self, path: JointPath) -> Sway:
        """Bounds for all joints along a path."""
        v2, a2 = path.speed * path.speed, path.acceleration * path.acceleration
        turn, slide = np.sqrt(self._turns @ v2), np.sqrt(self._slides @ v2)
        spin = self._before @ turn
        twist = self._before @ np.sqrt(self._turns @ a2) + 0.5 * spin * spin
        length = self._length + np.sqrt(self._placed @ (path.q * path.q)) + slide * path.duration
        carried = spin[self._parent]
        speed = carried * length + slide
        push = (twist[self._parent] + carried * carried) * length
        push += np.sqrt(self._slides @ a2) + 2.0 * spin * slide
        return Sway(spin, twist, self._before @ speed, self._before @ push)

    def shift(self, path: JointPath) -> Array:
        """How far the origin of each joint is off (joints,) [m], and its body turned [rad], if q is off by the error.

        To first order, which is all that matters of an error: the speed of a motion that makes it in one second.
        """
        still = path._replace(speed=path.error, acceleration=np.zeros_like(path.error), duration=0.0)
        sway = self.sway(still)
        return np.array([sway.speed, sway.spin])


def reach_of(model: Any) -> Reach | None:
    """The reach of a robot; None where it has a joint without a constant motion subspace."""
    simple = simple_model(model)
    return None if simple is None else Reach(*simple)
