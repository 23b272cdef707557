"""Pinocchio's algorithms on a model, one group of trees after the other where there are many.

A tree is a root joint with all that hangs on it: a robot, a free body. Trees move each other through contacts alone, so
that mass matrix, Jacobians and derivatives have a block for each. Pinocchio's data of a model of nv velocities holds
four arrays of nv^3 numbers (60 free bodies: 1.5 GB), of several small models next to nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np
import pinocchio as pin

from ..common.arrays import Array
from ..common.lazy import NamedTuple

TOGETHER = 36  # velocities of the trees that are computed together: 1.5 MB of data, and few calls
JOINED = "JointModelMimic"  # joints that follow others, of whatever tree


class Group(NamedTuple):
    """Some trees of a model.

    Attributes:
        model: pinocchio's model of them.
        joints, frames: {number in the whole model: number here}.
        q, v: their places in a configuration and in a velocity of the whole.
    """

    model: Any
    joints: dict[int, int]
    frames: dict[int, int]
    q: slice
    v: slice


def generic(count: int, size: int) -> Array:
    """Vectors (count, size) of numbers in [-1, 1] between which no relation holds: the sines of 1, 2, 3, ... rad."""
    return np.sin(np.arange(1.0, 1.0 + count * size)).reshape(count, size)


def roots_of(model: Any) -> Array:
    """The root joint (njoints,) of each joint, 0 for the world; one for all where some follow those of other trees."""
    roots = np.arange(model.njoints)
    for i in range(1, model.njoints):
        if model.parents[i]:
            roots[i] = roots[model.parents[i]]
    return np.minimum(roots, 1) if _is_joined(model) else roots


def _is_joined(model: Any) -> bool:
    return any(joint.shortname().startswith(JOINED) for joint in model.joints)


def groups_of(model: Any) -> list[Group]:
    """The trees of a model, as many together as have TOGETHER velocities; none where that is all of it."""
    roots = [i for i in range(1, model.njoints) if model.parents[i] == 0]
    if model.nv <= TOGETHER or len(roots) < 2 or _is_joined(model):
        return []
    firsts = roots[:1]
    for root, end in zip(roots, [*roots[1:], model.njoints], strict=True):
        if _count(model, range(firsts[-1], end)) > TOGETHER and root > firsts[-1]:
            firsts.append(root)
    if len(firsts) == 1:
        return []
    ends = [*firsts[1:], model.njoints]
    return [_group(model, range(first, end)) for first, end in zip(firsts, ends, strict=True)]


def _count(model: Any, joints: Sequence[int]) -> int:
    return int(sum(model.joints[i].nv for i in joints))


def _group(model: Any, joints: range) -> Group:
    """The trees of consecutive joints; frames that are fixed to the world are those of the first group."""
    part, numbers = pin.Model(), {0: 0}
    part.gravity = pin.Motion(model.gravity)
    for i in joints:
        numbers[i] = part.addJoint(numbers[model.parents[i]], model.joints[i], model.jointPlacements[i], model.names[i])
        part.inertias[numbers[i]] = model.inertias[i]
    first, last = (model.joints[i] for i in (joints[0], joints[-1]))
    q, v = slice(first.idx_q, last.idx_q + last.nq), slice(first.idx_v, last.idx_v + last.nv)
    part.armature = np.array(model.armature[v])
    if joints[0] > 1:
        del numbers[0]
    frames = {
        k: part.addFrame(pin.Frame(frame.name, numbers[frame.parentJoint], 0, frame.placement, frame.type), False)
        for k, frame in enumerate(model.frames)
        if k and frame.parentJoint in numbers
    }
    return Group(part, numbers, frames if joints[0] > 1 else {0: 0} | frames, q, v)


def data_of(model: Any) -> ModelData | Forest:
    """Pinocchio's algorithms on a model, which is not changed any more."""
    groups = groups_of(model)
    return Forest(model, groups) if groups else ModelData(model)


class ModelData:
    """Pinocchio's data of a model and its functions, under their names there, with this model and data.

    Attributes:
        oMi, oMf: placements of joints and frames (pin.SE3), which follow the data.
        v, a: velocities and accelerations of joints (pin.Motion), which follow the data.
    """

    def __init__(self, model: Any) -> None:
        data = pin.Data(model)  # createData() makes it twice
        self._model, self._data, self._nv = model, data, model.nv
        self._still = np.zeros(model.nv)
        self.oMi, self.oMf, self.v, self.a = data.oMi, data.oMf, data.v, data.a
        self.forward_kinematics = partial(pin.forwardKinematics, model, data)
        self.frames_forward_kinematics = partial(pin.framesForwardKinematics, model, data)
        self.update_frame_placement = partial(pin.updateFramePlacement, model, data)
        self.update_frame_placements = partial(pin.updateFramePlacements, model, data)
        self.frame_velocity = partial(pin.getFrameVelocity, model, data)
        # (frame, axes) -> Jacobian (6, nv), where joints are up to date
        self.frame_jacobian = partial(pin.getFrameJacobian, model, data) if model.nv > 1 else self._column
        # q -> M (nv, nv), its upper triangle; leaves J in the data
        self.crba = partial(pin.crba, model, data, convention=pin.Convention.WORLD)
        self.frame_acceleration = partial(pin.getFrameClassicalAcceleration, model, data)
        self.nonlinear_effects = partial(pin.nonLinearEffects, model, data)
        self.aba = partial(pin.aba, model, data)
        self.gravity = partial(pin.computeGeneralizedGravity, model, data)
        self.gravity_derivatives = partial(pin.computeGeneralizedGravityDerivatives, model, data)

    @property
    def J(self) -> Array:
        """Jacobian (6, nv) of the joints, column by column, at the world's origin."""
        return np.asarray(self._data.J.reshape(6, self._nv))

    @property
    def dJ(self) -> Array:
        """Its rate."""
        return np.asarray(self._data.dJ.reshape(6, self._nv))

    @property
    def dAdq(self) -> Array:
        """Derivatives of the accelerations of joints by q, see `plane_ground`."""
        return np.asarray(self._data.dAdq.reshape(6, self._nv))

    @property
    def dAdv(self) -> Array:
        """Their derivatives by v."""
        return np.asarray(self._data.dAdv.reshape(6, self._nv))

    def joint_jacobians(self, q: Array) -> Array:
        """J (6, nv), and places of the joints."""
        return np.asarray(pin.computeJointJacobians(self._model, self._data, q).reshape(6, self._nv))

    def joint_jacobian(self, joint: int, axes: Any) -> Array:
        """Jacobian (6, nv) of a joint, where `joint_jacobians` are up to date."""
        return np.asarray(pin.getJointJacobian(self._model, self._data, joint, axes).reshape(6, self._nv))

    def _column(self, frame: int, axes: Any) -> Array:
        """Jacobian (6, nv) of a frame in a model of one velocity, of which pinocchio makes an array (6,)."""
        return np.asarray(pin.getFrameJacobian(self._model, self._data, frame, axes).reshape(6, self._nv))

    def rnea_derivatives(self, q: Array, v: Array, a: Array) -> tuple[Array, Array]:
        """Derivatives (nv, nv) of M a + h by q and by v; views that the next call overwrites."""
        by_q, by_v, _ = pin.computeRNEADerivatives(self._model, self._data, q, v, a)
        return by_q, by_v

    def weightless_derivative(self, q: Array, w: Array) -> Array:
        """Derivative (nv, nv) of M w by q; a view that the next call overwrites."""
        return np.asarray(pin.computeRNEADerivatives(self._weightless, self._data, q, self._still, w)[0])

    def energy(self, q: Array, v: Array) -> float:
        """Kinetic and potential energy [J]."""
        kinetic = pin.computeKineticEnergy(self._without_rotors, self._data, q, v)
        return float(kinetic + 0.5 * (self._model.armature @ (v * v)) + self.potential(q))

    def potential(self, q: Array) -> float:
        """Potential energy [J]."""
        return float(pin.computePotentialEnergy(self._model, self._data, q))

    @cached_property
    def _weightless(self) -> Any:
        model = pin.Model(self._model)
        model.gravity = pin.Motion.Zero()
        return model

    @cached_property
    def _without_rotors(self) -> Any:
        """The model without armature, which pinocchio's kinetic energy forgets for hinges about an oblique axis."""
        model = pin.Model(self._model)
        model.armature = np.zeros(self._nv)
        return model


class ForestKinematics:
    """Kinematics of a model of many trees, group by group.

    Args:
        model: pinocchio's model.
        groups: its trees.
    """

    def __init__(self, model: Any, groups: Sequence[Group]) -> None:
        self._nv = model.nv
        self._parts = [(ModelData(group.model), group.q, group.v) for group in groups]
        self._frame, self._joint = [(0, 0)] * len(model.frames), [(0, 0)] * model.njoints
        for k, group in enumerate(groups):
            for frame, own in group.frames.items():
                self._frame[frame] = (k, own)
            for joint, own in group.joints.items():
                self._joint[joint] = (k, own)
        data = [part for part, _, _ in self._parts]
        self.oMi = [data[k].oMi[own] for k, own in self._joint]
        self.v = [data[k].v[own] for k, own in self._joint]
        self.a = [data[k].a[own] for k, own in self._joint]
        self.oMf = [data[k].oMf[own] for k, own in self._frame]

    def forward_kinematics(self, q: Array, *motion: Array) -> None:
        """Places of the joints; velocities and accelerations where v (nv,) and a (nv,) are given."""
        for data, at_q, at_v in self._parts:
            data.forward_kinematics(q[at_q], *[part[at_v] for part in motion])

    def frames_forward_kinematics(self, q: Array) -> None:
        """Places of joints and frames."""
        for data, at_q, _ in self._parts:
            data.frames_forward_kinematics(q[at_q])

    def update_frame_placement(self, frame: int) -> Any:
        """Place of a frame (pin.SE3)."""
        data, own = self._at(self._frame[frame])
        return data.update_frame_placement(own)

    def update_frame_placements(self) -> None:
        """Places of the frames, where joints are up to date."""
        for data, _, _ in self._parts:
            data.update_frame_placements()

    def frame_velocity(self, frame: int, axes: Any) -> Any:
        """Velocity of a frame (pin.Motion)."""
        data, own = self._at(self._frame[frame])
        return data.frame_velocity(own, axes)

    def frame_acceleration(self, frame: int, axes: Any) -> Any:
        """Acceleration of a frame as a point (pin.Motion)."""
        data, own = self._at(self._frame[frame])
        return data.frame_acceleration(own, axes)

    def _at(self, place: tuple[int, int]) -> tuple[ModelData, int]:
        return self._parts[place[0]][0], place[1]

    def frame_jacobian(self, frame: int, axes: Any) -> Array:
        """Jacobian (6, nv) of a frame."""
        k, own = self._frame[frame]
        return self._columns(k, self._parts[k][0].frame_jacobian(own, axes))

    def joint_jacobian(self, joint: int, axes: Any) -> Array:
        """Jacobian (6, nv) of a joint."""
        k, own = self._joint[joint]
        return self._columns(k, self._parts[k][0].joint_jacobian(own, axes))

    def _columns(self, k: int, jacobian: Array) -> Array:
        found = np.zeros((6, self._nv))
        found[:, self._parts[k][2]] = jacobian
        return found

    def joint_jacobians(self, q: Array) -> Array:
        """J (6, nv), and places of the joints."""
        return np.hstack([data.joint_jacobians(q[at_q]) for data, at_q, _ in self._parts])

    @property
    def J(self) -> Array:
        """Jacobian (6, nv) of the joints."""
        return np.hstack([data.J for data, _, _ in self._parts])

    @property
    def dJ(self) -> Array:
        """Its rate."""
        return np.hstack([data.dJ for data, _, _ in self._parts])

    @property
    def dAdq(self) -> Array:
        """Derivatives of the accelerations of joints by q."""
        return np.hstack([data.dAdq for data, _, _ in self._parts])

    @property
    def dAdv(self) -> Array:
        """Their derivatives by v."""
        return np.hstack([data.dAdv for data, _, _ in self._parts])


class Forest(ForestKinematics):
    """The algorithms of `ModelData` on a model of many trees."""

    def crba(self, q: Array) -> Array:
        """M (nv, nv), its upper triangle."""
        return self._diagonal([data.crba(q[at_q]) for data, at_q, _ in self._parts])

    def nonlinear_effects(self, q: Array, v: Array) -> Array:
        """h (nv,)."""
        return np.concatenate([data.nonlinear_effects(q[at_q], v[at_v]) for data, at_q, at_v in self._parts])

    def aba(self, q: Array, v: Array, tau: Array) -> Array:
        """Accelerations (nv,) under generalised forces."""
        return np.concatenate([data.aba(q[at_q], v[at_v], tau[at_v]) for data, at_q, at_v in self._parts])

    def rnea_derivatives(self, q: Array, v: Array, a: Array) -> tuple[Array, Array]:
        """Derivatives (nv, nv) of M a + h by q and by v."""
        found = [data.rnea_derivatives(q[at_q], v[at_v], a[at_v]) for data, at_q, at_v in self._parts]
        return self._diagonal([by_q for by_q, _ in found]), self._diagonal([by_v for _, by_v in found])

    def weightless_derivative(self, q: Array, w: Array) -> Array:
        """Derivative (nv, nv) of M w by q."""
        return self._diagonal([data.weightless_derivative(q[at_q], w[at_v]) for data, at_q, at_v in self._parts])

    def gravity(self, q: Array) -> Array:
        """Generalised force (nv,) that holds the weights."""
        return np.concatenate([data.gravity(q[at_q]) for data, at_q, _ in self._parts])

    def gravity_derivatives(self, q: Array) -> Array:
        """Its derivative (nv, nv)."""
        return self._diagonal([data.gravity_derivatives(q[at_q]) for data, at_q, _ in self._parts])

    def energy(self, q: Array, v: Array) -> float:
        """Kinetic and potential energy [J]."""
        return sum(data.energy(q[at_q], v[at_v]) for data, at_q, at_v in self._parts)

    def potential(self, q: Array) -> float:
        """Potential energy [J]."""
        return sum(data.potential(q[at_q]) for data, at_q, _ in self._parts)

    def _diagonal(self, blocks: Sequence[Array]) -> Array:
        found = np.zeros((self._nv, self._nv))
        for block, (_, _, at_v) in zip(blocks, self._parts, strict=True):
            found[at_v, at_v] = block
        return found


class Workspace(threading.local):
    """Pinocchio's data of a model, and what is computed in it, for the thread that asks.

    Everything computed with it is a function of its arguments: two threads that share a system never share a
    workspace, runs in one thread go through it one after the other, and a copy or a pickle of its owner begins with an
    empty one.

    Args:
        model: pinocchio's model, not changed any more.
    """

    def __init__(self, model: Any) -> None:  # called once in each thread
        self.model = model
        self.data = data_of(model)
        self.placements = self.data.oMf

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.model,)


class Computing:
    """Something that computes with a workspace of its own."""

    _workspace: Workspace

    @property
    def _data(self) -> ModelData | Forest:
        """Pinocchio's data, for the thread that asks."""
        return self._workspace.data
