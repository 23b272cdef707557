"""Forces of the joints themselves: springs, dampers, and what carries a part of the weight of bodies.

    f = - D(v) - K(q (-) q_0) - sum of J_k^T gamma_k m_k g,    K(x) = (k + k_1 r + k_2 r^2) x,    D(v) likewise,

with q (-) q_0 the number x = r of a hinge or slide, the rotation vector of a ball joint, and of a free joint position
in world axes and rotation vector, r their length: springs have a potential. Dampers take r = |v| of each velocity.
gamma is the share of a body's weight that something carries.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pinocchio as pin

from ..common.arrays import Array
from ..common.lazy import dataclass
from .forest import Workspace
from .kinematics.plane_ground import simple_model

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
        stiffness: k of each joint (nv,) [N m/rad, N/m].
        rest: the configuration (nq,) in which they are slack.
        curve: k_1 and k_2 (nv, 2).
        drag: those of dampers (nv, 2), whose linear part is the model's `damping`.
        lifts: weights that something carries.
    """

    stiffness: Array
    rest: Array
    curve: Array
    drag: Array
    lifts: tuple[Lift, ...] = ()


def joined(parts: Sequence[tuple[Any, Springs | None]], joints: Sequence[int]) -> Springs | None:
    """The springs of a model whose coordinates are those of its parts one after the other; None where none has any.

    Args:
        parts: model and springs of each.
        joints: how many joints of the whole come before those of each part.
    """
    if all(springs is None for _, springs in parts):
        return None
    own = [_slack(part) if springs is None else springs for part, springs in parts]
    arrays = ([getattr(springs, name) for springs in own] for name in ("stiffness", "rest", "curve", "drag"))
    lifts = [
        Lift(lift.joint + before, lift.mass, lift.place)
        for springs, before in zip(own, joints, strict=True)
        for lift in springs.lifts
    ]
    stiffness, rest, curve, drag = (np.concatenate(array) for array in arrays)
    return Springs(stiffness, rest, curve, drag, tuple(lifts))


def _slack(model: Any) -> Springs:
    """No springs."""
    none = np.zeros((model.nv, 2))
    return Springs(np.zeros(model.nv), pin.neutral(model), none, none)


class Passive:
    """Forces of dampers, springs and counterweights of a model at a state.

    Args:
        model: pinocchio's model, with the gravity under which it is.
        springs: None: it has dampers only.
    """

    def __init__(self, model: Any, springs: Springs | None) -> None:
        self._damping, self._drag = np.array(model.damping), np.zeros((0, 2))
        self._plain: tuple[Array, Array] = np.zeros(0, dtype=int), np.zeros(0, dtype=int)
        self._stiffness, self._curve, self._slack = np.zeros(0), np.zeros((0, 2)), np.zeros(0)
        self._turns = list[Turn]()
        self._carried: Workspace | None = None
        if springs is not None:
            self._sort(model, springs)
            self._drag = springs.drag if springs.drag.any() else self._drag
            self._carried = Workspace(_carried(model, springs.lifts)) if springs.lifts else None

    def _sort(self, model: Any, springs: Springs) -> None:
        """The springs of plain joints, and those of joints with a rotation."""
        plain = []
        for joint in list(model.joints)[1:]:
            part = slice(joint.idx_v, joint.idx_v + joint.nv)
            if not (springs.stiffness[part].any() or springs.curve[part].any()):
                continue
            if joint.shortname() in ROTATIONS:
                self._turns.append(Turn(joint, springs))
            elif joint.nq == joint.nv:
                plain += [(joint.idx_q + k, joint.idx_v + k) for k in range(joint.nv)]
        if plain:
            self._plain = np.array([q for q, _ in plain]), np.array([v for _, v in plain])
            self._stiffness, self._curve = springs.stiffness[self._plain[1]], springs.curve[self._plain[1]]
            self._slack = springs.rest[self._plain[0]]

    def __bool__(self) -> bool:
        springs = bool(len(self._stiffness) or self._turns or self._carried is not None)
        return springs or bool(self._damping.any() or len(self._drag))

    @property
    def plain(self) -> tuple[tuple[int, int, float, float], ...] | None:
        """(q, v, stiffness, rest) of its springs; None where it is more than linear springs of plain coordinates."""
        if self._turns or self._carried is not None or len(self._drag) or self._curve.any():
            return None
        where = zip(*(part.tolist() for part in self._plain), strict=True)
        pairs = zip(where, self._stiffness.tolist(), self._slack.tolist(), strict=True)
        return tuple((q, v, stiffness, rest) for (q, v), stiffness, rest in pairs)

    def force(self, q: Array, v: Array) -> Array:
        """Generalised force (nv,)."""
        force = self._dragged(v)
        if len(self._stiffness):
            stretch = q[self._plain[0]] - self._slack
            force[self._plain[1]] -= _pull(self._stiffness, self._curve, stretch) * stretch
        for turn in self._turns:
            force[turn.v] += turn.force(q)
        if self._carried is not None:
            force += self._carried.data.gravity(q)
        return force

    def _dragged(self, v: Array) -> Array:
        """Force of the dampers (nv,)."""
        if not len(self._drag):
            return -self._damping * v
        return -_pull(self._damping, self._drag, np.abs(v)) * v

    def power(self, v: Array) -> float:
        """Power of the dampers [W], not positive."""
        return float(self._dragged(v) @ v)

    def drag_slope(self, v: Array) -> Array:
        """- df/dv (nv,), by which each velocity drags on itself."""
        return _slope(self._damping, self._drag, np.abs(v)) if len(self._drag) else self._damping

    def energy(self, q: Array) -> float:
        """Energy of springs and counterweights [J]."""
        stretch = q[self._plain[0]] - self._slack
        energy = float(_potential(self._stiffness, self._curve, stretch).sum())
        energy += sum(turn.energy(q) for turn in self._turns)
        if self._carried is not None:
            energy -= self._carried.data.potential(q)
        return energy

    def stiffness(self, q: Array) -> Array:
        """- df/dq (nv, nv) along tangent directions of q."""
        matrix = np.zeros((len(self._damping), len(self._damping)))
        stretch = q[self._plain[0]] - self._slack
        matrix[self._plain[1], self._plain[1]] = _slope(self._stiffness, self._curve, stretch)
        for turn in self._turns:
            matrix[turn.v, turn.v] = turn.slope(q)
        if self._carried is not None:
            matrix -= self._carried.data.gravity_derivatives(q)
        return matrix


def _pull(linear: Any, further: Array, x: Any) -> Any:
    """k + k_1 x + k_2 x^2."""
    return linear + (further[..., 0] + further[..., 1] * x) * x


def _slope(linear: Any, further: Array, x: Any) -> Any:
    """Derivative of that times x."""
    return linear + (2.0 * further[..., 0] + 3.0 * further[..., 1] * x) * x


def _potential(linear: Any, further: Array, x: Any) -> Any:
    """Integral of that times x."""
    return (linear / 2.0 + (further[..., 0] / 3.0 + further[..., 1] * x / 4.0) * x) * x * x


class Turn:
    """The spring of a ball or free joint, which pulls along the displacement and about the rotation vector."""

    def __init__(self, joint: Any, springs: Springs) -> None:
        self._first, self._at = ROTATIONS[joint.shortname()], joint.idx_q
        self.v = slice(joint.idx_v, joint.idx_v + joint.nv)
        self._stiffness, self._curve = springs.stiffness[joint.idx_v], springs.curve[joint.idx_v]
        rest = springs.rest[joint.idx_q : joint.idx_q + joint.nq]
        self._rest = rest[: self._first].copy()
        self._slack = pin.Quaternion(rest[self._first :]).toRotationMatrix()

    def _stretches(self, q: Array) -> list[tuple[Array, Array]]:
        """Displacement in body axes (of a free joint) and rotation vector, (3,) each, and their derivatives (3, nv)."""
        first, at = self._first, self._at
        rotation = pin.Quaternion(q[at + first : at + first + 4]).toRotationMatrix()
        turned, found = self._slack.T @ rotation, list[tuple[Array, Array]]()
        if first:
            moved = rotation.T @ (q[at : at + 3] - self._rest)
            found.append((moved, np.hstack([np.eye(3), pin.skew(moved)])))
        found.append((pin.log3(turned), np.hstack([np.zeros((3, first)), pin.Jlog3(turned)])))
        return found

    def force(self, q: Array) -> Array:
        """Its force (nv of the joint,)."""
        pulls = [
            -_pull(self._stiffness, self._curve, np.linalg.norm(stretch)) * stretch for stretch, _ in self._stretches(q)
        ]
        return np.concatenate(pulls)

    def energy(self, q: Array) -> float:
        """Its energy [J]."""
        lengths = (np.linalg.norm(stretch) for stretch, _ in self._stretches(q))
        return float(sum(_potential(self._stiffness, self._curve, length) for length in lengths))

    def slope(self, q: Array) -> Array:
        """Minus the derivative of its force along the joint's own velocities."""
        rows = []
        for stretch, jacobian in self._stretches(q):
            length = np.linalg.norm(stretch)
            along = stretch / length if length > 0.0 else stretch
            pull = _pull(self._stiffness, self._curve, length)
            steeper = _slope(self._stiffness, self._curve, length) - pull
            rows.append((pull * np.eye(3) + steeper * np.outer(along, along)) @ jacobian)
        return np.vstack(rows)


def _carried(model: Any, lifts: Sequence[Lift]) -> Any:
    """A model of the weights that something carries."""
    weights = pin.Model(model)
    for k in range(model.njoints):
        weights.inertias[k] = pin.Inertia.Zero()
    for lift in lifts:
        weights.inertias[lift.joint] += pin.Inertia(lift.mass, np.array(lift.place), np.zeros((3, 3)))
    simple = simple_model(weights)
    return weights if simple is None else simple[0]
