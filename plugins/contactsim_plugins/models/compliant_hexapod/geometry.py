"""Coordinates of the legs: toes in the world, hips in the body, spherical leg coordinates, and their rates.

Frames: W is the inertial world, B the body; R turns B into W, w is the angular velocity in W. A leg points from its
hip, at `attach` in B, to its toe, at `feet` in W. Arrays may have leading axes (...) that hold many states at once.

Source: SimSect manual, 5.1.8, with the misprints mended that are noted where they stand.
"""

from __future__ import annotations

import numpy as np

from contactsim.common.arrays import Array
from contactsim.common.lazy import NamedTuple


class Spherical(NamedTuple):
    """Legs in spherical body coordinates, each (..., 6).

    Attributes:
        theta: sideways angle out of the plane across the hip axis [rad].
        phi: angle about the hip axis, zero downwards, counted towards +y [rad].
        rho: length [m].
        theta_rate, phi_rate, rho_rate: their rates [rad/s, rad/s, m/s].
        swing: distance of the toe from the hip axis, rho cos(theta) = sqrt(y^2 + z^2) [m].
    """

    theta: Array
    phi: Array
    rho: Array
    theta_rate: Array
    phi_rate: Array
    rho_rate: Array
    swing: Array


# LEVI_CIVITA[3 i + j, k] is the sign of the permutation (i, j, k): sums over it are cross products.
LEVI_CIVITA = np.zeros((9, 3))
LEVI_CIVITA[[5, 6, 1], [0, 1, 2]] = 1.0
LEVI_CIVITA[[7, 2, 3], [0, 1, 2]] = -1.0
TO_SKEW = np.ascontiguousarray(-LEVI_CIVITA.T)


def skew(w: Array) -> Array:
    """Matrix J(w) (..., 3, 3) of the cross product: J(w) a = w x a."""
    return (w @ TO_SKEW).reshape(*w.shape[:-1], 3, 3)


def axial(S: Array) -> Array:
    """sum a x b (..., 3) of S = sum a b^T (..., 3, 3)."""
    return S.reshape(*S.shape[:-2], 9) @ LEVI_CIVITA


def angle(y: Array, x: Array) -> Array:
    """arctan2(y, x) (...) [rad]; an infinitesimal imaginary part is carried along (complex-step derivatives)."""
    if not np.iscomplexobj(y):
        return np.arctan2(y, x)
    u, v = np.real(x), np.real(y)
    return np.arctan2(v, u) + 1j * (u * np.imag(y) - v * np.imag(x)) / (u * u + v * v)


def spherical(v: Array, v_rate: Array) -> Spherical:
    """Spherical coordinates and rates of legs v (..., 6, 3) with rates v' (..., 6, 3).

        theta = arctan(x / sqrt(C))    theta' = (D + A z) / (sqrt(C) F) = (C x' - x B) / (sqrt(C) F)
        phi = arctan2(y, -z)           phi' = (y z' - z y') / C
        rho = sqrt(F)                  rho' = E / sqrt(F)

    with B = y y' + z z', C = y^2 + z^2, E = x x' + B, F = x^2 + C. The print has sqrt(C F) under theta'.
    """
    x, y, z = v[..., 0], v[..., 1], v[..., 2]
    x1, y1, z1 = v_rate[..., 0], v_rate[..., 1], v_rate[..., 2]
    B, C = y * y1 + z * z1, y * y + z * z
    F = x * x + C
    swing, rho = np.sqrt(C), np.sqrt(F)
    return Spherical(
        angle(x, swing),
        angle(y, -z),
        rho,
        (C * x1 - x * B) / (swing * F),
        (y * z1 - z * y1) / C,
        (x * x1 + B) / rho,
        swing,
    )


def from_spherical(theta: Array, phi: Array, rho: Array) -> Array:
    """Legs in body axes (..., 6, 3): v = rho (sin theta, cos theta sin phi, -cos theta cos phi) [m]."""
    swing = rho * np.cos(theta)
    return np.stack([rho * np.sin(theta), swing * np.sin(phi), -swing * np.cos(phi)], axis=-1)


def toes(R: Array, r: Array, v: Array, attach: Array) -> Array:
    """Toes in the world (..., 6, 3): f = R (v + a) + r [m]."""
    return (v + attach) @ np.swapaxes(R, -1, -2) + r[..., None, :]


def rotation(turn: Array) -> Array:
    """exp(J(turn)) (..., 3, 3): rotation about the axis of `turn` (..., 3) by its length [rad] (Rodrigues)."""
    square = np.sum(turn * turn, axis=-1)[..., None, None]
    angle = np.sqrt(square)
    J = skew(turn)
    return np.eye(3) + np.sinc(angle / np.pi) * J + 0.5 * np.sinc(0.5 * angle / np.pi) ** 2 * (J @ J)
