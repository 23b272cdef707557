"""Rows of contacts on curved and moving ground, and the derivatives of the equations of motion with them.

Notation as in `derivatives`; y = (t, c) with y' = (1, c'), phi the distance of the ground, n = grad phi, H its Hessian,
e(n) the tangents, V(y) the velocity of the ground's material. The rows of a sphere of radius r about c are

    z_n = n . c' + phi_t,   z_t = e s,   s = c' + r n x omega - V,

whose rates are, with n' = n_t + H c' and e' = (De) n',

    z_n' = n . c'' + y' . phi_yy y',   z_t' = e s' + e' s,   s' = c'' + r (n x omega' + n' x omega) - V_y y'.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...common.arrays import Array
from ...common.lazy import NamedTuple
from ..terrain.surface import Surface, Terrain
from .plane_ground import EPS, PlaneDerivatives, skew
from .tangents import Tangents

EYE = np.eye(3)


class PointKinematics(NamedTuple):
    """Centres of contacts (k, 3) and how they move: velocity, spin, and their rates."""

    centre: Array
    speed: Array
    spin: Array
    change: Array
    spin_rate: Array


def rows(
    ground: Surface, tangents: Tangents, radius: Array, jacobians: Array, motion: PointKinematics
) -> tuple[Array, Array, Array]:
    """Rows (m, n), contact velocities (m,) and bias (m,) of k contacts.

    Args:
        ground: the ground near the centres.
        tangents: how tangents follow the normal.
        radius: radii (k,).
        jacobians: Jacobians (k, 6, n) of the centres, linear and angular, world axes.
        motion: velocities, and the accelerations that the velocities alone cause.
    """
    n, k = ground.normal, len(radius)
    turned, n_rate = tangents.at(n), _normal_rate(ground, motion)
    turn = radius[:, None, None] * skew(n)
    slip, slip_rate = _slip(ground, turn, radius[:, None, None] * skew(n_rate), motion)
    point = jacobians[:, :3] + turn @ jacobians[:, 3:]
    frame = np.concatenate([n[:, None], turned.axes], axis=1)
    rates, bias = _apply(frame, slip), _apply(frame, slip_rate)
    rates[:, 0] = (n * motion.speed).sum(axis=1) + ground.distance_rate
    bias[:, 0] = (n * motion.change + (n_rate + ground.normal_rate) * motion.speed).sum(axis=1)
    bias[:, 0] += ground.distance_acceleration
    bias[:, 1:] += _apply(_apply(turned.first.reshape(k, -1, 3), n_rate).reshape(k, -1, 3), slip)
    return (frame @ point).reshape(k * frame.shape[1], -1), rates.ravel(), bias.ravel()


def rates(ground: Surface, tangents: Tangents, radius: Array, speed: Array, spin: Array) -> Array:
    """Contact velocities (m,) of k contacts alone, by the velocities (k, 3) of their centres and their spins (k, 3)."""
    n = ground.normal
    frame = np.concatenate([n[:, None], tangents.at(n).axes], axis=1)
    found = _apply(frame, speed - ground.velocity + _apply(radius[:, None, None] * skew(n), spin))
    found[:, 0] = (n * speed).sum(axis=1) + ground.distance_rate
    return found.ravel()


def _normal_rate(ground: Surface, motion: PointKinematics) -> Array:
    """n' (k, 3) at the moving centres."""
    return ground.normal_rate + _apply(ground.hessian, motion.speed)


def _slip(ground: Surface, turn: Array, turn_rate: Array, motion: PointKinematics) -> tuple[Array, Array]:
    """Velocity s (k, 3) of the contact points' material against the ground, and its rate; `turn` is r n x (k, 3, 3)."""
    slip = motion.speed - ground.velocity + _apply(turn, motion.spin)
    drift = ground.acceleration
    if ground.velocity_gradient is not None:
        drift = drift + _apply(ground.velocity_gradient, motion.speed)
    return slip, motion.change - drift + _apply(turn, motion.spin_rate) + _apply(turn_rate, motion.spin)


def _apply(matrices: Array, vectors: Array) -> Array:
    """Products (k, i) of matrices (k, i, j) and vectors (k, j)."""
    return np.matmul(matrices, vectors[:, :, None])[:, :, 0]


class CurvedDerivatives(PlaneDerivatives):
    """Derivatives of a robot's equations of motion with contacts on curved or moving ground.

    Args:
        model: simple joints only, with its gravity (see `derivatives.simple_model`).
        joints: joint of each contact.
        centres: centre (nc, 3) of each contact on its joint.
        radius: radius (nc,) of each contact.
        terrain: the ground.
        tangents: how tangents follow its normal.
    """

    def __init__(
        self, model: Any, joints: Sequence[int], centres: Array, radius: Array, terrain: Terrain, tangents: Tangents
    ) -> None:
        super().__init__(model, joints, centres, radius, np.array([0.0, 0.0, 1.0]), np.eye(3)[: 1 + tangents.count])
        self._terrain, self._tangents = terrain, tangents

    def contact_forces(self, contacts: tuple[int, ...], centres: Array, forces: Array, t: float = 0.0) -> Array:
        """Derivative (n, n) of J^T lam by q at fixed `forces` (m,), where the joint Jacobian is up to date.

        With F = n lam_n + e^T lam_t and T = -r n x F this is what `PlaneDerivatives` says for F and T held, and
        jc . dF + w . dT, where dF = L dn, L = lam_n + De^T lam_t, dT = -r (dn x F + n x dF), dn = H dc.
        """
        k, radius = len(contacts), self._radius[list(contacts)]
        ground = self._terrain.near(t, centres, radius)
        n, turned, along = ground.normal, self._tangents.at(ground.normal), forces.reshape(k, -1)
        force = along[:, :1] * n + np.einsum("kd,kdi->ki", along[:, 1:], turned.axes)
        moment = -radius[:, None] * np.cross(n, force)
        held = self._held_forces(contacts, centres, np.concatenate([force @ EPS, moment @ EPS], axis=1))
        turn = along[:, :1, None] * np.eye(3) + np.einsum("kd,kdia->kia", along[:, 1:], turned.first)
        twist = radius[:, None, None] * (skew(force) - skew(n) @ turn)
        moved, spins = self._moved(contacts, centres)
        by_place = ground.hessian @ moved
        both = np.swapaxes(moved, 1, 2) @ (turn @ by_place) + np.swapaxes(spins, 1, 2) @ (twist @ by_place)
        return held + both.sum(axis=0)

    def _moved(self, contacts: tuple[int, ...], centres: Array) -> tuple[Array, Array]:
        """Velocities jc (k, 3, n) of the centres and spins w (k, 3, n) along each velocity."""
        support = self._supports[list(contacts)][:, None]
        jacobian = self._data.J
        return _at(jacobian, centres) * support, jacobian[3:] * support

    def rows(self, contacts: tuple[int, ...], centres: Array, v: Array, a: Array, t: float = 0.0) -> Array:
        """Derivatives (3, m, n): dz/dq, dz'/dq and dz'/dv, after `inertial` at the same v and a."""
        radius = self._radius[list(contacts)]
        speeds, spins = self._motion(contacts, centres, v, a)
        motion = PointKinematics(centres, speeds[:, 0], spins[:, 0], speeds[:, 1], spins[:, 1])
        factors = self._factors(t, radius, motion)
        moved, turned, by_q, by_v = self._variations(contacts, motion)
        z, z_rate = factors
        first = z[0] @ moved + z[1] @ by_q[0] + z[2] @ by_q[2]
        second = z_rate[0] @ moved
        for factor, change in zip(z_rate[1:], by_q, strict=True):
            second = second + factor @ change
        third = z_rate[1] @ moved + z_rate[2] @ by_v[0] + z_rate[3] @ turned + z_rate[4] @ by_v[1]
        return np.array([first, second, third]).reshape(3, -1, self.nv)

    def _variations(
        self, contacts: tuple[int, ...], motion: PointKinematics
    ) -> tuple[Array, Array, tuple[Array, ...], tuple[Array, ...]]:
        """jc, w, then d(c', c'', omega, omega')/dq and d(c'', omega')/dv, each (k, 3, n); see `derivatives`."""
        data, centres = self._data, motion.centre
        support = self._supports[list(contacts)][:, None]
        jacobian, by_v, by_q = data.J, data.dAdv, data.dAdq
        p = by_v - data.dJ
        moved, spins = self._moved(contacts, centres)

        def turned(vectors: Array, angular: Array = jacobian[3:]) -> Array:  # angular x vectors
            return -skew(vectors) @ angular

        speed_q = (turned(motion.speed) + _at(p, centres)) * support
        change_q = (turned(motion.change) + 2.0 * turned(motion.speed, p[3:]) + _at(by_q, centres)) * support
        spin_q = (turned(motion.spin) + p[3:]) * support
        spin_rate_q = (turned(motion.spin_rate) + turned(motion.spin, p[3:]) + by_q[3:]) * support
        change_v = (2.0 * turned(motion.speed) + _at(by_v, centres)) * support
        spin_rate_v = (turned(motion.spin) + by_v[3:]) * support
        return moved, spins, (speed_q, change_q, spin_q, spin_rate_q), (change_v, spin_rate_v)

    def _factors(self, t: float, radius: Array, motion: PointKinematics) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
        """Factors (k, 1 + d, 3) of d(c, c', omega) in dz, and of d(c, c', c'', omega, omega') in dz'."""
        ground = self._terrain.near(t, motion.centre, radius)
        third = self._terrain.third(t, motion.centre, radius)
        n, hessian, r = ground.normal, ground.hessian, radius[:, None, None]
        turned = self._tangents.at(n)
        n_rate = _normal_rate(ground, motion)
        slip, slip_rate = _slip(ground, r * skew(n), r * skew(n_rate), motion)
        along = np.concatenate([np.ones((len(n), 1)), motion.speed], axis=1)  # y'
        hessian_rate = np.einsum("kabc,kc->kab", third.distance[:, 1:, 1:], along)
        drift, drift_rate = ground.velocity_change[:, :, 1:], np.einsum("kiab,kb->kia", third.velocity[:, :, 1:], along)
        bend = np.einsum("kabc,kb,kc->ka", third.distance[:, 1:], along, along)
        e, e_rate = turned.axes, np.einsum("kdia,ka->kdi", turned.first, n_rate)
        by_slip = np.einsum("kdia,ki->kda", turned.first, slip)
        roll, roll_rate = r * (e @ skew(n)), r * (e @ skew(n_rate) + e_rate @ skew(n))
        by_rate = by_slip - r * (e @ skew(motion.spin))  # what stands before dn'
        by_normal = np.einsum("kdia,ki->kda", turned.first, slip_rate)
        by_normal += np.einsum("kdiab,kb,ki->kda", turned.second(), n_rate, slip)
        by_normal -= r * (e @ skew(motion.spin_rate) + e_rate @ skew(motion.spin))
        place = by_normal @ hessian + by_rate @ hessian_rate - e @ drift_rate - e_rate @ drift

        def both(normal: Array, tangential: Array) -> Array:
            return np.concatenate([normal[:, None], tangential], axis=1)

        nothing = np.zeros_like(n)
        z = (both(n_rate, by_rate @ hessian - e @ drift), both(n, e), both(nothing, roll))
        bent = bend + np.einsum("kij,kj->ki", hessian, motion.change)
        speed = both(2.0 * n_rate, by_rate @ hessian - e @ drift + e_rate)
        z_rate = (both(bent, place), speed, both(n, e), both(nothing, roll_rate), both(nothing, roll))
        return z, z_rate


def _at(spatial: Array, centres: Array) -> Array:
    """Linear parts (k, 3, n) at the centres (k, 3) of motions (6, n) at the origin: l + w x c."""
    return spatial[:3] - skew(centres) @ spatial[3:]
