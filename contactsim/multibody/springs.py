"""Forces of the joints themselves: springs, dampers, and what carries a part of the weight of bodies.

    f = - D v - K (q (-) q_0) - sum of J_k^T gamma_k m_k g,

with q (-) q_0 the number of a hinge or slide, the rotation vector of a ball joint, and of a free joint position in
world axes and rotation vector: these forces have a potential. gamma is the share of a body's
weight that something carries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pinocchio as pin

from ..common.arrays import Array
from .kinematics.plane_ground import simple_model
from .workspace import Workspace

ROTATIONS = {"JointModelSpherical": 0, "JointModelFreeFlyer": 3}  # where the rotation of a joint begins in q and in v


@dataclass(frozen=True)
class Lift:
    """A part of a body's weight that something carries, such as a counterweight.

    Attributes:
        joint: the joint that moves the body, by pinocchio's number.
        mass: the mass that is carried [kg].
        place: its centre on the joint [m].
    """

    joint: int
    mass: float
    place: tuple[float, float, float]


@dataclass(frozen=True, eq=False)
class Springs:
    """Springs and counterweights of a robot.

    Attributes:
        stiffness: of each joint (nv,) [N m/rad, N/m].
        rest: the configuration (nq,) in which they are slack.
        lifts: weights that something carries.
    """

    stiffness: Array
    rest: Array
    lifts: tuple[Lift, ...] = ()


def joined(parts: Sequence[tuple[Any, Springs | None]], joints: Sequence[int]) -> Springs | None:
    """The springs of a model whose coordinates are those of its parts one after the other; None where none has any.

    Args:
        parts: model and springs of each.
        joints: how many joints of the whole come before those of each part.
    """
    if all(springs is None for _, springs in parts):
        return None
    stiffness, rest, lifts = [np.zeros(0)], [np.zeros(0)], []
    for (part, springs), before in zip(parts, joints, strict=True):
        stiffness.append(np.zeros(part.nv) if springs is None else springs.stiffness)
        rest.append(pin.neutral(part) if springs is None else springs.rest)
        lifts += [Lift(lift.joint + int(before), lift.mass, lift.place) for lift in (springs.lifts if springs else ())]
    return Springs(np.concatenate(stiffness), np.concatenate(rest), tuple(lifts))


class Passive:
    """What dampers, springs and counterweights of a model do at a state.

    Args:
        model: pinocchio's model, with the gravity under which it is.
        springs: None: it has dampers only.
    """

    def __init__(self, model: Any, springs: Springs | None) -> None:
        self.damping = np.array(model.damping)
        self._damped = bool(self.damping.any())
        self._plain: tuple[Array, Array] = np.zeros(0, dtype=int), np.zeros(0, dtype=int)
        self._stiffness, self._slack, self._turns = np.zeros(0), np.zeros(0), list[Turn]()
        self._carried: Workspace | None = None
        if springs is not None:
            self._sort(model, springs)
            self._carried = Workspace(_carried(model, springs.lifts)) if springs.lifts else None

    def _sort(self, model: Any, springs: Springs) -> None:
        """The springs of plain joints, and those of joints with a rotation."""
        plain = []
        for joint in list(model.joints)[1:]:
            stiffness = springs.stiffness[joint.idx_v : joint.idx_v + joint.nv]
            if not stiffness.any():
                continue
            if joint.shortname() in ROTATIONS:
                self._turns.append(Turn(joint, stiffness, springs.rest[joint.idx_q : joint.idx_q + joint.nq]))
            elif joint.nq == joint.nv:
                plain += [(joint.idx_q + k, joint.idx_v + k) for k in range(joint.nv)]
        if plain:
            self._plain = np.array([q for q, _ in plain]), np.array([v for _, v in plain])
            self._stiffness, self._slack = springs.stiffness[self._plain[1]], springs.rest[self._plain[0]]

    def __bool__(self) -> bool:
        return self._damped or self.conservative

    @property
    def conservative(self) -> bool:
        """True if there are forces with a potential."""
        return bool(len(self._stiffness) or self._turns or self._carried is not None)

    def force(self, q: Array, v: Array) -> Array:
        """Generalised force (nv,)."""
        force = -self.damping * v
        if len(self._stiffness):
            force[self._plain[1]] -= self._stiffness * (q[self._plain[0]] - self._slack)
        for turn in self._turns:
            force[turn.v] -= turn.stiffness * turn.stretch(q)
        if self._carried is not None:
            force += pin.computeGeneralizedGravity(self._carried.model, self._carried.data, q)
        return force

    def energy(self, q: Array) -> float:
        """Energy of springs and counterweights [J]."""
        stretch = q[self._plain[0]] - self._slack
        energy = 0.5 * float(self._stiffness @ (stretch * stretch))
        energy += sum(0.5 * float(turn.stiffness @ turn.stretch(q) ** 2) for turn in self._turns)
        if self._carried is not None:
            energy -= float(pin.computePotentialEnergy(self._carried.model, self._carried.data, q))
        return energy

    def stiffness(self, q: Array) -> Array:
        """- df/dq (nv, nv) along tangent directions of q."""
        matrix = np.zeros((len(self.damping), len(self.damping)))
        matrix[self._plain[1], self._plain[1]] = self._stiffness
        for turn in self._turns:
            matrix[turn.v, turn.v] = turn.stiffness[:, None] * turn.stretch_jacobian(q)
        if self._carried is not None:
            matrix -= pin.computeGeneralizedGravityDerivatives(self._carried.model, self._carried.data, q)
        return matrix


class Turn:
    """The spring of a ball joint or of a free joint."""

    def __init__(self, joint: Any, stiffness: Array, rest: Array) -> None:
        self._first, self._at = ROTATIONS[joint.shortname()], joint.idx_q
        self.v = slice(joint.idx_v, joint.idx_v + joint.nv)
        self.stiffness, self._rest = stiffness.copy(), rest[: self._first].copy()
        self._slack = pin.Quaternion(rest[self._first :]).toRotationMatrix()

    def _pose(self, q: Array) -> tuple[Array, Array, Array]:
        """Displacement (3 or 0,) in axes of the body, rotation (3, 3), and that from slack (3, 3)."""
        first, at = self._first, self._at
        rotation = pin.Quaternion(q[at + first : at + first + 4]).toRotationMatrix()
        moved = rotation.T @ (q[at : at + first] - self._rest) if first else np.zeros(0)
        return moved, rotation, self._slack.T @ rotation

    def stretch(self, q: Array) -> Array:
        """Displacement in axes of the body, and rotation vector (nv of the joint,)."""
        moved, _, turned = self._pose(q)
        return np.concatenate([moved, pin.log3(turned)])

    def stretch_jacobian(self, q: Array) -> Array:
        """Its derivative along the joint's own velocities."""
        moved, _, turned = self._pose(q)
        size, first = self._first + 3, self._first
        matrix = np.zeros((size, size))
        if first:
            matrix[:3, :3], matrix[:3, 3:] = np.eye(3), pin.skew(moved)
        matrix[first:, first:] = pin.Jlog3(turned)
        return matrix


def _carried(model: Any, lifts: Sequence[Lift]) -> Any:
    """A model of the weights that something carries."""
    weights = pin.Model(model)
    for k in range(model.njoints):
        weights.inertias[k] = pin.Inertia.Zero()
    for lift in lifts:
        weights.inertias[lift.joint] += pin.Inertia(lift.mass, np.array(lift.place), np.zeros((3, 3)))
    simple = simple_model(weights)
    return weights if simple is None else simple[0]
