"""Kinematics of contacts between bodies: a sphere (or point) of one body against a solid shape of another.

Notation: world axes, spatial vectors (linear l, angular w) at the world's origin. The sphere has centre c and radius r
on body A; phi is the distance function of the solid on body B, whose placement is (R, o). With n = R grad phi and
dV = V_A - V_B,

    gap g = phi(R^T (c - o)) - r,    x = c - r n,    u = dV_l + dV_w x x,    z = E u,

where x is the point at which both bodies are touched, u the velocity there of the material of A relative to that of B,
and E = (n, t1, t2). Since n . (w x n) = 0, the normal row is the exact gradient of the gap. Rows are
E (dJ_l + dJ_w x x), so a force F on A at x meets -F on B at the same x: momentum and moment of momentum are kept to
rounding. The rates are

    n' = w_B x n + R H R^T y,    y = dV_l + dV_w x c,    x' = l_A + w_A x c - r n',    z' = E' u + E u'.

Derivatives: of the bodies' motion from pinocchio (see `derivatives` for dV/dq and the like), through the contact by a
complex step, which has no difference to lose digits in: Im f(x + i h dx) / h with h = 1e-30 (Squire and Trapp, 1998).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pinocchio as pin

from ...common.arrays import Array
from ...errors import InputError
from ...hybrid.flow import Look
from ..kinematics.plane_ground import EPS, follows, simple_model, supports
from ..kinematics.reach import Reach, Sway
from ..mechanism import GapBounds, JointPath
from ..workspace import Computing, Workspace
from ..zero import ASIDE, MOTION, RIM
from .solids import Region, Shape

COMPLEX_STEP = 1e-30  # its square is lost in rounding, whatever it is added to
# The frame of a normal n is (N0, E1, E2) turned the short way from N0 to n: smooth but at n = -N0, a direction that
# has no meaning in any scene.
N0, TANGENTS = np.array([2.0, 3.0, 6.0]) / 7.0, np.array([[3.0, -6.0, 2.0], [6.0, 2.0, -3.0]]) / 7.0


@dataclass(frozen=True)
class PairShape:
    """A sphere or point against a solid, on the joints that move them.

    Attributes:
        name: of the contact.
        joint_a, centre, radius: the sphere and its joint, whose axes the centre (3,) is in.
        inner: centre (3,) of the body of the sphere, in the same axes.
        joint_b, placement, shape: the solid, and where it is on its joint (pin.SE3).
    """

    name: str
    joint_a: int
    centre: Array
    radius: float
    inner: Array
    joint_b: int
    placement: Any
    shape: Shape


class Bodies(NamedTuple):
    """Motion of the two bodies of a pair; each a number array with any leading axes.

    Attributes:
        c: centre of the sphere (..., 3).
        R, o: axes (..., 3, 3) and origin (..., 3) of the solid.
        V_a, V_b: spatial velocities (..., 6), linear first, at the world's origin.
        A_a, A_b: spatial accelerations (..., 6).
    """

    c: Array
    R: Array
    o: Array
    V_a: Array
    V_b: Array
    A_a: Array
    A_b: Array


class Touch(NamedTuple):
    """A contact of two bodies: point x (..., 3), frame E (..., d, 3), velocities z, rates z' (..., d), and E'."""

    x: Array
    E: Array
    z: Array
    z_rate: Array
    E_rate: Array


def cross(a: Array, b: Array) -> Array:
    """a x b along the last axis."""
    return ((a @ EPS).reshape(*a.shape, 3) @ b[..., None])[..., 0]


def motion_cross(a: Array, b: Array) -> Array:
    """The bracket (w x l' + l x w', w x w') of spatial velocities (..., 6)."""
    linear = cross(a[..., 3:], b[..., :3]) + cross(a[..., :3], b[..., 3:])
    return np.concatenate([linear, cross(a[..., 3:], b[..., 3:])], axis=-1)


def _norm(vector: Array) -> float:
    return float(np.linalg.norm(vector))


def _turn(matrix: Array, vector: Array) -> Array:
    return (matrix @ vector[..., None])[..., 0]


def _turn_back(matrix: Array, vector: Array) -> Array:
    return (vector[..., None, :] @ matrix)[..., 0, :]


def _dot(a: Array, b: Array) -> Array:
    return (a * b).sum(axis=-1, keepdims=True)


class Frame:
    """Frames (n, t...) of normals, among the directions in which bodies can move at all.

    In space the frame is turned along with n from a fixed one; in a plane with normal m it is (n, m x n); along a line
    it is n alone.
    """

    def __init__(self, motions: Array) -> None:
        self.rows = len(motions)
        self._across = np.cross(motions[0], motions[1]) if self.rows == 2 else None
        self._motions = motions

    def demand(self, n: Array, name: str) -> None:
        """Raise InputError where a normal does not lie in the plane (or line) of the motions."""
        off = n - self._motions.T @ (self._motions @ n)
        if self.rows < 3 and np.linalg.norm(off) > ASIDE:
            where = "line" if self.rows == 1 else "plane"
            raise InputError(
                f"contact '{name}': the normal {np.round(n, 6)} is not in the {where} in which its bodies move; give"
                " them free roots, or place them in one"
            )

    def __call__(self, n: Array, n_rate: Array) -> tuple[Array, Array]:
        """E (..., d, 3) and its rate."""
        if self.rows == 1:
            return n[..., None, :], n_rate[..., None, :]
        if self._across is not None:
            along = [cross(np.broadcast_to(self._across, k.shape), k) for k in (n, n_rate)]
            return np.stack([n, along[0]], axis=-2), np.stack([n_rate, along[1]], axis=-2)
        sum_, share = N0 + n, 1.0 / (1.0 + _dot(n, N0))
        tangents, rates = [], []
        for start in TANGENTS:
            part, part_rate = _dot(n, start) * share, _dot(n_rate, start) * share
            part_rate = part_rate - part * share * _dot(n_rate, N0)
            tangents.append(start - part * sum_)
            rates.append(-part_rate * sum_ - part * n_rate)
        return np.stack([n, *tangents], axis=-2), np.stack([n_rate, *rates], axis=-2)


def touch(pair: PairShape, frame: Frame, bodies: Bodies, region: Region) -> Touch:
    """The contact of a pair; analytic in `bodies`."""
    c, R, o, V_a, V_b, A_a, A_b = bodies
    r, relative, change = pair.radius, V_a - V_b, A_a - A_b
    p = _turn_back(R, c - o)
    y = relative[..., :3] + cross(relative[..., 3:], c)
    n = _turn(R, pair.shape.normal(p, region))
    n_rate = cross(V_b[..., 3:], n) + _turn(R, pair.shape.normal_rate(p, _turn_back(R, y), region))
    x = c - r * n
    x_rate = V_a[..., :3] + cross(V_a[..., 3:], c) - r * n_rate
    u = relative[..., :3] + cross(relative[..., 3:], x)
    u_rate = change[..., :3] + cross(change[..., 3:], x) + cross(relative[..., 3:], x_rate)
    E, E_rate = frame(n, n_rate)
    return Touch(x, E, _turn(E, u), _turn(E_rate, u) + _turn(E, u_rate), E_rate)


class PairKinematics(Computing):
    """Gaps, rows and derivatives of all contacts between the bodies of a model.

    Args:
        model: pinocchio's model.
        pairs: the contacts.
    """

    def __init__(self, model: Any, pairs: Sequence[PairShape]) -> None:
        self._model, self.pairs, self.nv = pin.Model(model), tuple(pairs), model.nv
        self._workspace = Workspace(self._model)
        self._still = np.zeros(self.nv)
        self._supports = supports(self._model)
        self.frame = Frame(_motions(self._model, self._data, self.pairs, self._supports))
        self._simple = simple_model(model)
        self._follows = follows(self._simple[0] if self._simple else model)  # parts of a joint follow each other

    @property
    def derivable(self) -> bool:
        """True if pinocchio can derive the motion of all joints."""
        return self._simple is not None

    # --- gaps -------------------------------------------------------------------------------------------------

    def _place(self, data: Any, pair: PairShape, joints: tuple[int, int]) -> tuple[Array, Array, Array]:
        """Centre of the sphere, axes and origin of the solid, where the joints are up to date."""
        solid = data.oMi[joints[1]] * pair.placement
        return data.oMi[joints[0]].act(pair.centre), solid.rotation, solid.translation

    def _inside(self, k: int) -> Array:
        """Centre of the sphere (3,) in axes of the solid, where the joints are up to date."""
        pair = self.pairs[k]
        c, R, o = self._place(self._data, pair, (pair.joint_a, pair.joint_b))
        return R.T @ (c - o)

    def gaps(self, q: Array, regions: Mapping[int, Region]) -> Array:
        """Distances (pairs,) [m]; those of the pairs in `regions` as they go on from there."""
        pin.forwardKinematics(self._model, self._data, q)
        found = np.empty(len(self.pairs))
        for k, pair in enumerate(self.pairs):
            p = self._inside(k)
            region = regions[k] if k in regions else self._region(k, p)
            found[k] = float(pair.shape.distance(p, region)) - pair.radius
        return found

    def region(self, q: Array, k: int) -> Region:
        """The region of the solid of pair `k` in which the centre of its sphere is."""
        pin.forwardKinematics(self._model, self._data, q)
        return self._region(k, self._inside(k))

    def _region(self, k: int, p: Array) -> Region:
        pair, data = self.pairs[k], self._data
        if pair.radius > 0.0:
            return pair.shape.region(p)
        solid = data.oMi[pair.joint_b] * pair.placement
        return pair.shape.region(p, solid.actInv(data.oMi[pair.joint_a].act(pair.inner)))

    def margin(self, q: Array, k: int, region: Region, side: int) -> tuple[float, Array]:
        """Distance of pair `k` from leaving a region on a side [m], and the gradient (nv,) by q."""
        pair = self.pairs[k]
        jacobian = pin.computeJointJacobians(self._model, self._data, q).reshape(6, self.nv)
        c, R, o = self._place(self._data, pair, (pair.joint_a, pair.joint_b))
        value, slope = pair.shape.margin(R.T @ (c - o), region, side, 0.0 if pair.radius > 0.0 else RIM)
        relative = jacobian * (self._supports[pair.joint_a] - self._supports[pair.joint_b])
        return value, slope @ R.T @ (relative[:3] + np.cross(relative[3:].T, c).T)

    # --- how fast gaps can change -----------------------------------------------------------------------------

    def gap_bounds(self, reach: Reach, chosen: Sequence[int]) -> Callable[[JointPath], GapBounds]:
        """Bounds of the gaps of the pairs `chosen` along a path: in axes of the solid, p = R^T (c - o) has

        |p'| <= |c'| + |o'| + w |p|,    |p''| <= |c''| + |o''| + (w' + w^2) |p| + 2 w |p'|.
        """
        pairs = [self.pairs[k] for k in chosen]
        joints = reach.index[np.array([[pair.joint_a, pair.joint_b] for pair in pairs]).T]
        arms = np.array([[_norm(pair.centre), _norm(pair.placement.translation)] for pair in pairs]).T
        curvature = np.array([pair.shape.curvature(pair.radius) for pair in pairs])

        def bounds(path: JointPath) -> GapBounds:
            sway = Sway(reach, path)
            pin.forwardKinematics(self._model, self._data, path.q)
            ends = sway.speeds(joints, arms).sum(axis=0)  # of c and of o
            far = np.array([_norm(self._inside(k)) for k in chosen]) + path.duration * ends
            spin = sway.spin[joints[1]]
            speed = ends + spin * far

            def closer() -> tuple[Array, Array]:
                bend = sway.accelerations(joints, arms).sum(axis=0) + curvature * speed * speed
                bend += (sway.twist[joints[1]] + spin * spin) * far + 2.0 * spin * speed
                errors = sway.errors()
                return bend, errors.speeds(joints, arms).sum(axis=0) + errors.spin[joints[1]] * far

            return GapBounds(speed, None, closer)

        return bounds

    def gap_motion(self, q: Array, v: Array, k: int, region: Region | None = None) -> Look:
        """The gap of a pair, and its rate."""
        pin.forwardKinematics(self._model, self._data, q)
        pair, p = self.pairs[k], self._inside(k)
        if region is None:
            region = self._region(k, p)
        gap = float(pair.shape.distance(p, region)) - pair.radius
        rate = float(self.rows(q, v, [k], [region])[1][0])
        return Look(gap, rate, pair.shape.piece(region, pair.radius))

    # --- rows -------------------------------------------------------------------------------------------------

    def rows(self, q: Array, v: Array, chosen: Sequence[int], regions: Sequence[Region]) -> tuple[Array, Array, Array]:
        """Rows J (m, nv), velocities z and bias accelerations (m,) of the pairs `chosen`."""
        model, data = self._model, self._data
        jacobian = pin.computeJointJacobians(model, data, q).reshape(6, self.nv)
        pin.forwardKinematics(model, data, q, v, self._still)
        blocks, rates, biases = [], [], []
        for k, region in zip(chosen, regions, strict=True):
            pair = self.pairs[k]
            a, b = self._supports[pair.joint_a], self._supports[pair.joint_b]
            c, R, o = self._place(data, pair, (pair.joint_a, pair.joint_b))
            drifts = [data.oMi[joint].act(data.a[joint]).vector for joint in (pair.joint_a, pair.joint_b)]
            bodies = Bodies(c, R, o, jacobian @ (a * v), jacobian @ (b * v), *drifts)
            found = touch(pair, self.frame, bodies, region)
            relative = jacobian * (a - b)
            blocks.append(found.E @ (relative[:3] + cross(relative[3:].T, found.x).T))
            rates.append(found.z)
            biases.append(found.z_rate)
        return np.concatenate(blocks), np.concatenate(rates), np.concatenate(biases)

    def frame_at(self, q: Array, k: int, region: Region) -> tuple[Array, Array]:
        """The frame (d, 3) of a pair, and the point (3,) at which it touches."""
        pin.forwardKinematics(self._model, self._data, q)
        pair, zero = self.pairs[k], np.zeros(6)
        c, R, o = self._place(self._data, pair, (pair.joint_a, pair.joint_b))
        found = touch(pair, self.frame, Bodies(c, R, o, zero, zero, zero, zero), region)
        return found.E, found.x

    def frame_motion(self, q: Array, v: Array, k: int, region: Region) -> tuple[Array, Array]:
        """The frame (d, 3) of a pair, and its rate."""
        model, data, pair, zero = self._model, self._data, self.pairs[k], np.zeros(6)
        pin.forwardKinematics(model, data, q, v)
        c, R, o = self._place(data, pair, (pair.joint_a, pair.joint_b))
        speed_a, speed_b = (data.oMi[joint].act(data.v[joint]).vector for joint in (pair.joint_a, pair.joint_b))
        found = touch(pair, self.frame, Bodies(c, R, o, speed_a, speed_b, zero, zero), region)
        return found.E, found.E_rate

    # --- derivatives ------------------------------------------------------------------------------------------

    def derivatives(
        self, q: Array, v: Array, a: Array, chosen: Sequence[int], regions: Sequence[Region], forces: Array
    ) -> tuple[Array, Array]:
        """Derivatives at held `forces` (m,): (n, n) of J^T lam by q, and (3, m, n) dz/dq, dz'/dq, dz'/dv."""
        assert self._simple is not None
        model, index = self._simple
        data = pin.Data(model)
        pin.computeRNEADerivatives(model, data, q, v, a)  # its dAdv differs from that of the kinematics alone
        n, dim = self.nv, self.frame.rows
        moved, rows = np.zeros((n, n)), np.zeros((3, dim * len(chosen), n))
        for i, (k, region) in enumerate(zip(chosen, regions, strict=True)):
            part = slice(dim * i, dim * (i + 1))
            pair = self.pairs[k]
            joints = index[pair.joint_a], index[pair.joint_b]
            seeds = _Seeds(self, data, pair, joints, v, a)
            at_q, at_v = (
                touch(pair, self.frame, seeds.stepped(by), region) for by in (seeds.along_q(), seeds.along_v())
            )
            rows[0, part], rows[1, part] = at_q.z.imag.T / COMPLEX_STEP, at_q.z_rate.imag.T / COMPLEX_STEP
            rows[2, part] = at_v.z_rate.imag.T / COMPLEX_STEP
            moved += self._force_derivative(pair, data.J.reshape(6, n), at_q, forces[part])
        return moved, rows

    def _force_derivative(self, pair: PairShape, jacobian: Array, at_q: Touch, forces: Array) -> Array:
        """Derivative of J^T lam, J = dJ^T W with the wrench W = (F, x x F), F = E^T lam.

        d(J_k . W)/dq_m = J_k . dW/dq_m + (J_m x J_k) . W, the last where joint(m) moves joint(k).
        """
        force = forces @ at_q.E
        wrench = np.concatenate([force, cross(at_q.x, force)], axis=-1)
        change, (F, T) = wrench.imag / COMPLEX_STEP, np.split(wrench[0].real, 2)
        linear, angular = jacobian[:3].T, jacobian[3:].T
        turned = np.hstack([np.cross(F, angular), np.cross(F, linear) + np.cross(T, angular)])
        relative = jacobian * (self._supports[pair.joint_a] - self._supports[pair.joint_b])
        return relative.T @ change.T + (relative.T @ turned.T) * self._follows


class _Seeds:
    """Motion of the two bodies of a pair, and how it changes along each tangent direction.

    See `derivatives`: dV_b/dq_k = J_k x V_b + P_k, dA_b/dq_k = J_k x A_b + P_k x V_b + Q_k, dA_b/dv_k = J_k x V_b + R_k
    for the k that move body b.
    """

    def __init__(
        self, owner: PairKinematics, data: Any, pair: PairShape, joints: tuple[int, int], v: Array, a: Array
    ) -> None:
        n = owner.nv
        self._columns = [part.reshape(6, n).T for part in (data.J, data.dAdv - data.dJ, data.dAdq, data.dAdv)]
        masks = [owner._supports[joint] for joint in (pair.joint_a, pair.joint_b)]
        self._masks = [mask[:, None] for mask in masks]
        jacobian, rate = data.J.reshape(6, n), data.dJ.reshape(6, n)
        V = [jacobian @ (mask * v) for mask in masks]
        A = [jacobian @ (mask * a) + rate @ (mask * v) for mask in masks]
        self._base = Bodies(*owner._place(data, pair, joints), *V, *A)

    def stepped(self, change: Bodies) -> Bodies:
        """The motion with the complex step of each direction on it."""
        return Bodies(*(x + 1j * COMPLEX_STEP * dx for x, dx in zip(self._base, change, strict=True)))

    def along_q(self) -> Bodies:
        """Derivative by q, direction by direction (n, ...)."""
        J, P, Q, _ = self._columns
        base, (a, b) = self._base, self._masks
        c = a * (J[:, :3] + cross(J[:, 3:], base.c))
        o = b * (J[:, :3] + cross(J[:, 3:], base.o))
        R = np.stack([b * cross(J[:, 3:], base.R[:, k]) for k in range(3)], axis=-1)
        V = [mask * (motion_cross(J, V) + P) for mask, V in ((a, base.V_a), (b, base.V_b))]
        A = [
            mask * (motion_cross(J, A) + motion_cross(P, V) + Q)
            for mask, V, A in ((a, base.V_a, base.A_a), (b, base.V_b, base.A_b))
        ]
        return Bodies(c, R, o, *V, *A)

    def along_v(self) -> Bodies:
        """Derivative by v."""
        J, _, _, by_v = self._columns
        base, (a, b) = self._base, self._masks
        A = [mask * (motion_cross(J, V) + by_v) for mask, V in ((a, base.V_a), (b, base.V_b))]
        still = np.zeros((len(J), 3))
        return Bodies(still, np.zeros((len(J), 3, 3)), still, a * J, b * J, *A)


def _motions(model: Any, data: Any, pairs: Sequence[PairShape], moved: Array) -> Array:
    """Orthonormal directions (r, 3), r = 1, 2, 3, in which the bodies of the pairs can move against each other."""
    rng, columns = np.random.default_rng(0), [np.zeros((3, 1))]
    for _ in range(3):
        q = pin.integrate(model, pin.neutral(model), rng.uniform(-1.0, 1.0, model.nv))
        jacobian = pin.computeJointJacobians(model, data, q).reshape(6, model.nv)
        for pair in pairs:
            relative = jacobian * (moved[pair.joint_a] - moved[pair.joint_b])
            c = data.oMi[pair.joint_a].act(pair.centre)
            columns.append(relative[:3] + np.cross(relative[3:].T, c).T)
    directions, values, _ = np.linalg.svd(np.hstack(columns), full_matrices=False)
    return directions[:, values > MOTION * max(float(values.max()), MOTION)].T
