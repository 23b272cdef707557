"""Bounds of the speed of a robot's points from that of its joints: for a step, no matter where in it.

A link turns no faster than the joints before it do together, Omega = sum of w, and its angular acceleration is at most
sum of w' + Omega^2 / 2 (the cross products of the joints' rates, pair by pair). A point is reached along segments of
constant length l, each fixed to a link, and slides by u where a joint translates; so

    |c'| <= sum (Omega l + u),    |c''| <= sum ((alpha + Omega^2) l + u' + 2 Omega u).

These are sums of norms: no direction is looked at, and nothing can exceed them.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pinocchio as pin

from ...common.arrays import Array
from ..forest import data_of
from ..mechanism import JointPath
from .plane_ground import simple_model

if TYPE_CHECKING:
    from ..plain_robot import PlainReach

PLACED = {"JointModelFreeFlyer": 3, "JointModelPlanar": 2, "JointModelTranslation": 3}  # q that say where a joint is


class Sway:
    """Bounds along a step for all joints of a model.

    Attributes:
        spin: angular velocity of each joint's body (joints,) [rad/s].
        speed: velocity of its origin (joints,) [m/s].
        twist, push: angular acceleration [rad/s^2] of its body and acceleration [m/s^2] of its origin (joints,).
    """

    def __init__(self, reach: Reach, path: JointPath) -> None:
        self._reach, self._path = reach, path
        squares = path.speed * path.speed
        self.spin = reach.before @ np.sqrt(reach.turns @ squares)
        self._carried = self.spin[reach.parent]
        self._slide = np.sqrt(reach.slides @ squares)
        self._length = reach.length + np.sqrt(reach.places @ (path.q * path.q)) + path.duration * self._slide
        self.speed = reach.before @ (self._carried * self._length + self._slide)

    @cached_property
    def twist(self) -> Array:
        """Sum of the joints' angular accelerations, and the cross products of their velocities."""
        changes = np.sqrt(self._reach.turns @ self._path.acceleration**2)
        return self._reach.before @ changes + 0.5 * self.spin * self.spin

    @cached_property
    def push(self) -> Array:
        """Along the segments before each joint, and of the joints that slide."""
        carried = self.twist[self._reach.parent] + self._carried * self._carried
        sliding = np.sqrt(self._reach.slides @ self._path.acceleration**2) + 2.0 * self.spin * self._slide
        return self._reach.before @ (carried * self._length + sliding)

    def speeds(self, joints: Array, arms: Array) -> Array:
        """Bounds of the velocities of points at distances `arms` from the origins of `joints`."""
        return self.speed[joints] + self.spin[joints] * arms

    def accelerations(self, joints: Array, arms: Array) -> Array:
        """Bounds of their accelerations."""
        return self.push[joints] + (self.twist[joints] + self.spin[joints] ** 2) * arms

    def errors(self) -> Sway:
        """As a velocity, what the path's error moves: to first order, which is all that matters of an error."""
        return Sway(self._reach, self._path._replace(speed=self._path.error(), duration=0.0))


class Reach:
    """The segments of a robot, and the joints that move each of them.

    Args:
        model: pinocchio's model, of simple joints only (see `simple_model`).
        index: the number there of each joint of the robot's own model.

    Attributes:
        index: the same (robot's joints,).
        parent: the joint before each joint (joints,).
        before: [j, k] whether joint k moves the body of joint j (joints, joints).
        length: from the origin of the joint before to the place of each joint (joints,) [m].
        slides, turns: squares of the translation and rotation (joints, nv) per velocity.
        places: squares of the way (joints, nq) by which each configuration number moves the origin of a joint.
    """

    def __init__(self, model: Any, index: list[int]) -> None:
        count = model.njoints
        self.index = np.array(index)
        self.parent = np.array(model.parents)
        self.parent[0] = 0
        self.before = np.zeros((count, count))
        for j in range(1, count):
            self.before[j, list(model.supports[j])[1:]] = 1.0
        self.length = np.array([float(np.linalg.norm(place.translation)) for place in model.jointPlacements])
        self.slides, self.turns = self._motions(model)
        self.places = self._places(model)

    def plain(self) -> PlainReach:
        """Its arrays, for compiled engines."""
        from ..plain_robot import PlainReach

        return PlainReach(self.parent, self.length, self.slides, self.turns, self.places)

    @staticmethod
    def _motions(model: Any) -> tuple[Array, Array]:
        """Squares of the translation and rotation per velocity (2, joints, nv): of a simple joint they are constant."""
        data = data_of(model)
        data.joint_jacobians(pin.neutral(model))
        found = np.zeros((2, model.njoints, model.nv))
        for j in range(1, model.njoints):
            joint = model.joints[j]
            part = slice(joint.idx_v, joint.idx_v + joint.nv)
            columns = data.joint_jacobian(j, pin.ReferenceFrame.LOCAL)[:, part] ** 2
            found[0, j, part], found[1, j, part] = columns[:3].sum(axis=0), columns[3:].sum(axis=0)
        return found[0], found[1]

    def _places(self, model: Any) -> Array:
        """Squares of the way (joints, nq) by which each configuration number moves the origin of a joint."""
        found = np.zeros((model.njoints, model.nq))
        for j in range(1, model.njoints):
            joint = model.joints[j]
            if joint.nq == joint.nv == 1:
                found[j, joint.idx_q] = self.slides[j, joint.idx_v]
            else:
                found[j, joint.idx_q : joint.idx_q + PLACED.get(joint.shortname(), 0)] = 1.0
        return found


def reach_of(model: Any) -> Reach | None:
    """The reach of a robot; None where it has a joint without a constant motion subspace."""
    simple = simple_model(model)
    return None if simple is None else Reach(*simple)
