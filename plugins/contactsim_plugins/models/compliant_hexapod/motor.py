"""Motors and battery: what the hip torques cost, worked out from a finished run.

Source: SimSect manual, 5.1.6 and 5.1.7.
"""

from __future__ import annotations

import numpy as np

from contactsim.common.arrays import Array

from .parameters import HexapodParameters

# Hours to exhaustion against constant current of Panasonic's valve-regulated lead-acid batteries, series LC-R, at
# 25 degrees C to 1.6 V a cell, as tabulated in the data sheet of the LC-R061R3P (1.3 Ah at the 20 hour rate):
# https://manualshelf.com/manual/panasonic/lc-r061r3p/datasheet-english.html, table "(Ampere/Battery)", row 4.8 V.
# The curve of the 12 V, 2.2 Ah battery (Figure 7b of the manual) is a picture; here its currents are those of the
# smaller battery of the series, in proportion to the capacity.
TABULATED_CAPACITY = 1.3  # Ah
TABULATED_HOURS = np.array([3.0 / 60, 5.0 / 60, 10.0 / 60, 0.25, 20.0 / 60, 0.5, 0.75, 1, 1.5, 2, 3, 4, 5, 6, 10, 20])
TABULATED_AMPERES = np.array(
    [7.02, 5.53, 3.59, 2.67, 2.22, 1.64, 1.16, 0.921, 0.632, 0.488, 0.361, 0.276, 0.228, 0.183, 0.121, 0.0655]
)
SMALLEST_CURRENT = 1e-30  # A; a battery without load lasts for ever


def armature_current(torque: Array, parameters: HexapodParameters) -> Array:
    """Motor currents i = tau k_g / K_tau [A] of hip torques [N m].

    The print has i = tau / (K_tau k_g) for a ratio of 33:1; Table 2 has k_g = 0.0333.
    """
    return torque * parameters.gear_ratio / parameters.torque_constant


def armature_voltage(torque: Array, speed: Array, parameters: HexapodParameters) -> Array:
    """Motor voltages v = i r_a + phi' / (K_w k_g) [V] of hip torques [N m] at hip speeds phi' [rad/s].

    The print multiplies by K_w; its unit in Table 2, rad/(V s), wants a division.
    """
    drop = armature_current(torque, parameters) * parameters.armature_resist
    return drop + speed / (parameters.speed_constant * parameters.gear_ratio)


def discharge_time(current: Array, capacity: float = 2.2) -> Array:
    """Time f(i) [s] for which a lead-acid battery of `capacity` [Ah] gives a constant current [A].

    Between the tabulated points log f is linear in log i; beyond them it goes on as at their end.
    """
    amperes = np.log(TABULATED_AMPERES[::-1] * capacity / TABULATED_CAPACITY)
    hours = np.log(TABULATED_HOURS[::-1])
    i = np.log(np.maximum(np.asarray(current, dtype=float), SMALLEST_CURRENT))
    k = np.clip(np.searchsorted(amperes, i) - 1, 0, len(amperes) - 2)
    slope = (hours[k + 1] - hours[k]) / (amperes[k + 1] - amperes[k])
    return 3600.0 * np.exp(hours[k] + slope * (i - amperes[k]))


def charge_left(t: Array, current: Array, capacity: float = 2.2) -> Array:
    """Share C(t) (N,) left of a battery's charge: C' = -1 / f(sum |i|), C = 1 at the start.

    Args:
        t: times (N,) [s], growing; those of both sides of a jump are the same.
        current: sum of the absolute motor currents (N,) [A].
        capacity: of the battery [Ah].
    """
    drain = 1.0 / discharge_time(current, capacity)
    return 1.0 - np.concatenate([[0.0], np.cumsum(0.5 * (drain[1:] + drain[:-1]) * np.diff(t))])


def battery_life(t: Array, current: Array, capacity: float = 2.2) -> float:
    """Time [s] from the start of a record, as for `charge_left`, at which C = 0; it is repeated until then."""
    left = charge_left(t, current, capacity)
    spent = 1.0 - left[-1]
    if not spent > 0.0:
        return float("inf")
    whole = np.floor(1.0 / spent)
    rest = 1.0 - whole * spent
    k = min(int(np.searchsorted(1.0 - left, rest, side="left")), len(left) - 1)
    if k == 0:
        return float(whole * (t[-1] - t[0]))
    share = (rest - (1.0 - left[k - 1])) / (left[k - 1] - left[k]) if left[k] < left[k - 1] else 0.0
    return float(whole * (t[-1] - t[0]) + t[k - 1] - t[0] + share * (t[k] - t[k - 1]))
