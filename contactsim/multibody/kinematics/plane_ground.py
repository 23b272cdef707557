"""First derivatives of the equations of motion of a robot on a plane, from those of inverse dynamics by pinocchio.

Notation: world axes, spatial vectors (linear, angular) at the world's origin. J_k is column k of the joint Jacobian,
w_k its angular part, jc_k = l_k + w_k x c the velocity it gives to the centre c of a contact. Along the tangent
direction k of q, all that follows joint(k) moves with the twist J_k; so for a body b after joint(k), with V and A the
velocity and acceleration of bodies, P_k = V_parent(k) x J_k, and Q_k = A_parent(k) x J_k + V_parent(k) x P_k
(pinocchio's dAdq),

    dV_b/dq_k = J_k x V_b + P_k,    dA_b/dq_k = J_k x A_b + P_k x V_b + Q_k,    dA_b/dv_k = J_k x V_b + R_k,

R_k = P_k + V_joint(k) x J_k (pinocchio's dAdv). At the centre of a contact this is, with (.)_c = linear + angular x c,

    dc'/dq_k = w_k x c' + P_kc,    dc''/dq_k = w_k x c'' + 2 P_kw x c' + Q_kc,    dc''/dv_k = 2 w_k x c' + R_kc,

and likewise of the spin, without factors 2. Rows are E (c' + r n x omega). See Carpentier and Mansard, Analytical
Derivatives of Rigid Body Dynamics Algorithms, RSS 2018.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pinocchio as pin

from ...common.arrays import Array
from ...common.lazy import NamedTuple
from ..forest import Computing, Workspace

# EPS[i, 3 j + k]: p @ EPS, as a (3, 3) matrix, is the matrix of the cross product p x .
EPS = np.array([[0, 0, 0, 0, 0, -1, 0, 1, 0], [0, 0, 1, 0, 0, 0, -1, 0, 0], [0, -1, 0, 1, 0, 0, 0, 0, 0]], dtype=float)
STACK = 21  # rows of the stack of w, P, Q, R
WITHOUT_DERIVATIVES = ("JointModelEllipsoid", "JointModelMimic")  # joints whose motion subspace turns with q


def skew(points: Array) -> Array:
    """Matrices (k, 3, 3) of the cross products with `points` (k, 3)."""
    return (points @ EPS).reshape(-1, 3, 3)


def simple_joints(joint: Any) -> list[tuple[Any, Any]]:
    """The joint as a chain of joints with a constant motion subspace, each with its placement on the one before."""
    kind = joint.shortname()
    here = pin.SE3.Identity()
    if kind == "JointModelComposite":
        parts = []
        whole = joint.extract()
        for part, placement in zip(whole.joints, whole.jointPlacements, strict=True):
            (first, at), *rest = simple_joints(part)
            parts += [(first, placement * at), *rest]
        return parts
    if kind == "JointModelSphericalZYX":
        return [(pin.JointModelRZ(), here), (pin.JointModelRY(), here), (pin.JointModelRX(), here)]
    if kind == "JointModelUniversal":
        axes = joint.extract()
        return [(pin.JointModelRevoluteUnaligned(axis), here) for axis in (axes.axis1, axes.axis2)]
    return [(joint, here)]


def simple_model(model: Any) -> tuple[Any, list[int]] | None:
    """The model with chains of simple joints in place of composite ones, and the index there of each of its joints.

    Pinocchio's derivatives take motion subspaces as constant; those of composite joints that do not commute, of
    SphericalZYX and of Universal turn with q, so that its result would be wrong by something of the order of one.
    q, v and the joint Jacobian are the same numbers. None where a joint has no such chain.
    """
    result = pin.Model()
    result.gravity, index = pin.Motion(model.gravity), [0]
    for i in range(1, model.njoints):
        parent, placement = index[model.parents[i]], model.jointPlacements[i]
        for k, (joint, at) in enumerate(simple_joints(model.joints[i])):
            if joint.shortname().startswith(WITHOUT_DERIVATIVES):
                return None
            parent = result.addJoint(parent, joint, placement * at, f"{model.names[i]}/{k}")
            placement = pin.SE3.Identity()
        result.appendBodyToJoint(parent, model.inertias[i], pin.SE3.Identity())
        index.append(parent)
    result.armature = model.armature
    return result, index


def supports(model: Any) -> Array:
    """The velocities that move each joint (joints, nv), as zeros and ones."""
    found = np.zeros((model.njoints, model.nv))
    for i in range(1, model.njoints):
        for k in list(model.supports[i])[1:]:
            joint = model.joints[k]
            found[i, joint.idx_v : joint.idx_v + joint.nv] = 1.0
    return found


def follows(model: Any) -> Array:
    """[k, m]: True where the joint of velocity k is that of velocity m or comes after it."""
    owner = np.repeat(np.arange(1, model.njoints), [joint.nv for joint in list(model.joints)[1:]])
    return supports(model)[owner] > 0.0


def add_points(model: Any, label: str, joints: Sequence[int], places: Sequence[Array] | Array) -> list[int]:
    """Add a frame at each place (3,) of a joint to a model; their indices."""
    still, kind = np.eye(3), pin.FrameType.OP_FRAME
    frames = [
        pin.Frame(f"{label}:{k}", joint, pin.SE3(still, place), kind)
        for k, (joint, place) in enumerate(zip(joints, places, strict=True))
    ]
    return [model.addFrame(frame, False) for frame in frames]


class PlaneDerivatives(Computing):
    """Derivatives of a robot's equations of motion with contacts on a plane.

    Args:
        model: simple joints only, with its gravity (see `simple_model`).
        joints: joint of each contact.
        centres: centre (nc, 3) of each contact on its joint.
        radius: radius (nc,) of each contact.
        normal: normal (3,) of the plane.
        basis: rows (d, 3) of a contact in world axes.
    """

    def __init__(
        self, model: Any, joints: Sequence[int], centres: Array, radius: Array, normal: Array, basis: Array
    ) -> None:
        self._model, self.nv = pin.Model(model), model.nv
        self._frames = add_points(self._model, "contact", joints, centres)
        self._workspace = Workspace(self._model)
        self._radius, self._basis = radius, basis
        self._rolling = skew(normal[None])[0]  # n x .
        self._still = np.zeros(self.nv)
        self._supports = supports(self._model)[list(joints)].reshape(-1, self.nv)
        self._follows = follows(self._model)
        self._chosen: dict[tuple[int, ...], _Layout] = {}

    def _row_table(self, radius: float) -> tuple[Array, Array]:
        """Factors of the stack (w, P, Q, R) in dz/dq, dz'/dq and dz'/dv: their linear and their constant part.

        Table (15, 3 d STACK) from (c, c', c'', omega, omega'), and a row (3 d STACK,).
        """
        basis, turning = self._basis, radius * self._basis @ self._rolling
        linear, constant = np.zeros((15, 3, len(basis), STACK)), np.zeros((3, len(basis), STACK))
        minus, rolling = (-np.einsum("di,jik->jdk", rows, EPS.reshape(3, 3, 3)) for rows in (basis, turning))
        centre, speed, change, spin, spin_rate = (slice(3 * k, 3 * k + 3) for k in range(5))
        w, pl, pw, ql, qw, rl, rw = (slice(3 * k, 3 * k + 3) for k in range(7))
        for block, straight, angular in ((0, pl, pw), (1, ql, qw), (2, rl, rw)):
            constant[block, :, straight], constant[block, :, angular] = basis, turning
            linear[centre, block, :, angular] = minus
        linear[speed, 0, :, w], linear[spin, 0, :, w] = minus, rolling
        linear[change, 1, :, w], linear[spin_rate, 1, :, w] = minus, rolling
        linear[speed, 1, :, pw], linear[spin, 1, :, pw] = 2.0 * minus, rolling
        linear[speed, 2, :, w], linear[spin, 2, :, w] = 2.0 * minus, rolling
        return linear.reshape(15, -1), constant.reshape(-1)

    def _force_table(self, radius: float) -> Array:
        """Table (d, 18) from a force along the rows to the cross products with F and with T = -r n x F."""
        return np.hstack([self._basis @ EPS, -radius * (self._basis @ self._rolling.T) @ EPS])

    # --- what is asked for ------------------------------------------------------------------------------------

    def inertial(self, q: Array, v: Array, a: Array) -> tuple[Array, Array]:
        """Derivatives (n, n) of M a + h by q and by v; views that the next call overwrites."""
        return self._data.rnea_derivatives(q, v, a)

    def inertial_weightless(self, q: Array, w: Array) -> Array:
        """Derivative (n, n) of M w by q; a view that the next call overwrites."""
        return self._data.weightless_derivative(q, w)

    def centres(self, contacts: tuple[int, ...]) -> Array:
        """Centres (k, 3) of the contacts, where the joints are up to date."""
        self._data.update_frame_placements()
        frames = self._choose(contacts).frames
        return np.concatenate([self._workspace.placements[frame].translation for frame in frames]).reshape(-1, 3)

    def contact_forces(self, contacts: tuple[int, ...], centres: Array, forces: Array, t: float = 0.0) -> Array:
        """Derivative (n, n) of J^T lam by q at fixed `forces` (m,), where the joint Jacobian is up to date.

        With F the force and T = -r n x F its moment about the centre, d(jc_k . F + w_k . T)/dq_m is
        w_m . (jc_k x F + w_k x T) where joint(m) is joint(k) or above it, and w_k . (jc_m x F) where it is below.
        """
        cross = np.matmul(forces.reshape(len(contacts), 1, -1), self._choose(contacts).force_table)
        return self._held_forces(contacts, centres, cross)

    def _held_forces(self, contacts: tuple[int, ...], centres: Array, crosses: Array) -> Array:
        """The same from the matrices [F x], [T x] of the forces and moments."""
        layout, k, n = self._choose(contacts), len(contacts), self.nv
        jacobian = self._data.J
        cross = crosses.reshape(k, 2, 3, 3)
        products = np.matmul(cross[:, 0], skew(centres))
        parts = np.concatenate([cross.reshape(k, 18), products.reshape(k, 9)], axis=1)
        moved = ((parts @ MOVES).reshape(-1, 6) @ jacobian).reshape(k, 2, 3, n) * layout.support[:, None, None]
        spins = (jacobian[3:] * layout.support[:, None]).reshape(-1, n)
        below, above = (spins.T @ moved[:, i].reshape(-1, n) for i in (0, 1))
        return np.where(self._follows, above.T, below)

    def rows(self, contacts: tuple[int, ...], centres: Array, v: Array, a: Array, t: float = 0.0) -> Array:
        """Derivatives (3, m, n): dz/dq, dz'/dq and dz'/dv, after `inertial` at the same v and a."""
        layout, k, n, data = self._choose(contacts), len(contacts), self.nv, self._data
        jacobian, rate, by_v = data.J, data.dJ, data.dAdv
        stack = np.concatenate([jacobian[3:], by_v - rate, data.dAdq, by_v])
        motion, spins = self._motion(contacts, centres, v, a)
        features = np.concatenate([centres, motion.reshape(k, 6), spins.reshape(k, 6)], axis=1)
        factors = np.matmul(features[:, None], layout.row_table)[:, 0] + layout.row_constant
        result = (factors.reshape(-1, STACK) @ stack).reshape(k, 3, -1, n) * layout.support[:, None, None]
        return result.transpose(1, 0, 2, 3).reshape(3, -1, n)

    def _motion(self, contacts: tuple[int, ...], centres: Array, v: Array, a: Array) -> tuple[Array, Array]:
        """c' and c'' of the centres (k, 2, 3), and omega and omega' (k, 2, 3)."""
        data = self._data
        held = self._choose(contacts).support[:, None] * np.array([v, a])
        twists = held @ data.J.T
        twists[:, 1] += held[:, 0] @ data.dJ.T
        spins = twists[:, :, 3:]
        cross = (spins @ EPS).reshape(len(contacts), 2, 3, 3)
        motion = twists[:, :, :3] + np.matmul(cross, centres[:, None, :, None])[..., 0]
        motion[:, 1] += np.matmul(cross[:, 0], motion[:, 0, :, None])[..., 0]
        return motion, spins

    def _choose(self, contacts: tuple[int, ...]) -> _Layout:
        if contacts not in self._chosen:
            radii = [float(self._radius[i]) for i in contacts]
            tables = [self._row_table(radius) for radius in radii]
            self._chosen[contacts] = _Layout(
                [self._frames[i] for i in contacts],
                self._supports[list(contacts)],
                np.array([table for table, _ in tables]),
                np.array([constant for _, constant in tables]),
                np.array([self._force_table(radius) for radius in radii]),
            )
        return self._chosen[contacts]


class _Layout(NamedTuple):
    """Constants of some contacts: frames, supports, and tables of factors."""

    frames: list[int]
    support: Array
    row_table: Array
    row_constant: Array
    force_table: Array


def _moves() -> Array:
    """Table (27, 36) from ([F x], [T x], [F x] [c x]) to factors (2, 3, 6) of J_k: jc_k x F, and that + w_k x T."""
    table = np.zeros((3, 3, 3, 2, 3, 6))
    for i in range(3):
        for j in range(3):
            table[0, i, j, :, i, j] = -1.0
            table[1, i, j, 1, i, 3 + j] = -1.0
            table[2, i, j, :, i, 3 + j] = 1.0
    return table.reshape(27, 36)


MOVES = _moves()
