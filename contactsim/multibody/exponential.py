"""The inverse differential of the exponential map of SE(3), to rounding at every angle.

Pinocchio's Jlog3 and Jlog6 lose digits between rotations of 1e-5 and 1e-2: they are off by up to 5e-9 there, which an
integrator at a tight tolerance takes for the motion's own roughness. With w a rotation vector and a = |w|,

    dexp^-1 = 1 + [w] / 2 + c [w]^2,    c = (1 - (a / 2) cot(a / 2)) / a^2 = 1/12 + a^2/720 + a^4/30240 + ...

on body velocities; and SE(3) is SO(3) over dual numbers, w + eps v with v the displacement.
Source: Iserles, Munthe-Kaas, Norsett, Zanna, Lie-group methods, Acta Numerica 2000, eq. 2.46; Park and Bobrow 2005.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt, tan

Triple = tuple[float, float, float]

SMALL = 0.25  # squared angle [rad^2] below which the series is taken, to rounding
# |B_2n| / (2n)! for n = 1, 2, ...: c = sum of them times a^(2n - 2)
SERIES = (
    1 / 12, 1 / 720, 1 / 30240, 1 / 1209600, 1 / 47900160, 691 / 1307674368000, 1 / 74724249600,
    3617 / 10670622842880000,
)  # fmt: skip


def _cross(a: Triple, b: Triple) -> Triple:
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


def unturning(square: float) -> tuple[float, float]:
    """c and c' / a, by the squared angle."""
    if square < SMALL:
        c = slope = 0.0
        for n in range(len(SERIES) - 1, 0, -1):
            c = c * square + SERIES[n]
            slope = slope * square + 2 * n * SERIES[n]
        return c * square + SERIES[0], slope
    angle = sqrt(square)
    cot = 1.0 / tan(0.5 * angle)
    c = (1.0 - 0.5 * angle * cot) / square
    return c, ((0.25 * angle * (1.0 + cot * cot) - 0.5 * cot) / square - 2.0 * c / angle) / angle


def spin_in_chart(w: Sequence[float], rate: Sequence[float]) -> Triple:
    """Rate (3,) of a rotation vector `w` (3,) at an angular velocity (3,) in body axes [rad/s]."""
    x, y, z = turned = _cross((w[0], w[1], w[2]), (rate[0], rate[1], rate[2]))
    c, _ = unturning(w[0] * w[0] + w[1] * w[1] + w[2] * w[2])
    u = _cross((w[0], w[1], w[2]), turned)
    return rate[0] + 0.5 * x + c * u[0], rate[1] + 0.5 * y + c * u[1], rate[2] + 0.5 * z + c * u[2]


def twist_in_chart(motion: Sequence[float], rate: Sequence[float]) -> tuple[float, float, float, float, float, float]:
    """Rate (6,) of exponential coordinates (v, w) (6,) at a twist (linear, angular) (6,) in body axes."""
    v, w = (motion[0], motion[1], motion[2]), (motion[3], motion[4], motion[5])
    linear, spin = (rate[0], rate[1], rate[2]), (rate[3], rate[4], rate[5])
    c, slope = unturning(w[0] * w[0] + w[1] * w[1] + w[2] * w[2])
    slope *= v[0] * w[0] + v[1] * w[1] + v[2] * w[2]
    turned, moved, across = _cross(w, spin), _cross(w, linear), _cross(v, spin)
    twice = _cross(w, turned)
    a, b, d = _cross(w, moved), _cross(w, across), _cross(v, turned)
    return (
        linear[0] + 0.5 * (moved[0] + across[0]) + c * (a[0] + b[0] + d[0]) + slope * twice[0],
        linear[1] + 0.5 * (moved[1] + across[1]) + c * (a[1] + b[1] + d[1]) + slope * twice[1],
        linear[2] + 0.5 * (moved[2] + across[2]) + c * (a[2] + b[2] + d[2]) + slope * twice[2],
        spin[0] + 0.5 * turned[0] + c * twice[0],
        spin[1] + 0.5 * turned[1] + c * twice[1],
        spin[2] + 0.5 * turned[2] + c * twice[2],
    )
