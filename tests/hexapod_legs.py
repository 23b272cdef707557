"""Legs of the compliant hexapod in body axes with their rates and second derivatives, by the formulas of the manual.

The model works out the same in fewer products; it needs no second derivatives.

Source: SimSect manual, 5.1.8, with the misprints mended that are noted where they stand.
"""

from __future__ import annotations

import numpy as np
from contactsim_plugins.models.compliant_hexapod.geometry import skew

from contactsim.common.arrays import Array


def cartesian(R: Array, r: Array, feet: Array, attach: Array) -> Array:
    """Legs in body axes (..., 6, 3): v = R^-1 (f - r) - a [m]."""
    return (feet - r[..., None, :]) @ R - attach


def cartesian_rates(R: Array, w: Array, r: Array, r_rate: Array, feet: Array, feet_rate: Array) -> Array:
    """Rates of the legs in body axes (..., 6, 3): v' = R^-1 (f' - r' - R' (v + a)), R' = J(w) R [m/s]."""
    arms = feet - r[..., None, :]
    return (feet_rate - r_rate[..., None, :] + arms @ skew(w)) @ R


def cartesian_accelerations(
    R: Array, w: Array, w_rate: Array, arms: Array, v_rate: Array, r_second: Array, feet_second: Array
) -> Array:
    """Second derivatives of the legs in body axes (..., 6, 3): R^-1 (f'' - r'' - R'' (v + a) - 2 R' v') [m/s^2].

    R'' = J(w') R + J(w) R'; `arms` (..., 6, 3) are R (v + a) = f - r in the world. The last term is twice R' times
    the Cartesian leg velocity (the print leaves open which velocity is meant).
    """
    turn = skew(w)
    second = skew(w_rate) + turn @ turn
    coriolis = 2.0 * (v_rate @ np.swapaxes(turn @ R, -1, -2))
    return (feet_second - r_second[..., None, :] - arms @ np.swapaxes(second, -1, -2) - coriolis) @ R


def spherical_accelerations(v: Array, v_rate: Array, v_second: Array) -> tuple[Array, Array, Array]:
    """Second derivatives theta'', phi'', rho'' (..., 6) of the spherical leg coordinates.

        phi'' = [2 B (z y' - y z') - C (z y'' - y z'')] / C^2
        rho'' = [-4 E^2 + 4 F (x'^2 + y'^2 + z'^2 + x x'' + y y'' + z z'')] / (4 F^(3/2))

    and theta'' as printed. The print lacks the bracket of phi'', and has the wrong sign before rho''.
    """
    x, y, z = v[..., 0], v[..., 1], v[..., 2]
    x1, y1, z1 = v_rate[..., 0], v_rate[..., 1], v_rate[..., 2]
    x2, y2, z2 = v_second[..., 0], v_second[..., 1], v_second[..., 2]
    A, B, C = z * x1 - x * z1, y * y1 + z * z1, y * y + z * z
    D, E, F = y * y * x1 - x * y * y1, x * x1 + B, x * x + C
    across = y1 * y1 + z1 * z1 + y * y2 + z * z2
    theta = (-2.0 * x * (A * z + D) ** 2 + F * (3.0 * B * B * x - 2.0 * B * C * x1 + C * C * x2 - C * x * across)) / (
        C**1.5 * F**2
    )
    phi = (2.0 * B * (z * y1 - y * z1) - C * (z * y2 - y * z2)) / C**2
    rho = (-4.0 * E * E + 4.0 * F * (x1 * x1 + x * x2 + across)) / (4.0 * F**1.5)
    return theta, phi, rho
