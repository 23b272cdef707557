"""The step of a compass gait from heel strike to heel strike by SciPy alone, and its multipliers by differences.

Written apart from the engine and from `reference_systems`, to confirm what these say of orbits.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.integrate import solve_ivp

G = 9.81
Array = np.ndarray


def step(z: Array, hip: float, b: float, m: float = 5.0, length: float = 1.0, slope: float = 0.0525) -> Array:
    """(stance angle, its rate, rate of the swing leg) behind a heel strike, of those behind the last one."""
    a = length - b
    own, both, coupling = m * b * b, hip * length**2 + m * (length**2 + a**2), m * length * b

    def rates(t: float, x: Array) -> list[float]:
        c, s = math.cos(x[1] - x[0]), math.sin(x[1] - x[0])
        stance = G * (hip * length + m * (length + a)) * math.sin(x[0]) - coupling * s * x[3] ** 2
        swing = -G * m * b * math.sin(x[1]) + coupling * s * x[2] ** 2
        det = both * own - (coupling * c) ** 2
        return [
            x[2],
            x[3],
            (own * stance + coupling * c * swing) / det,
            (both * swing + coupling * c * stance) / det,
        ]

    def heel(t: float, x: Array) -> float:
        return max(2.0 * slope - x[0] - x[1], slope - x[0])

    heel.terminal, heel.direction = True, -1.0  # type: ignore[attr-defined]
    start = [z[0], 2.0 * slope - z[0], z[1], z[2]]
    run = solve_ivp(rates, (0.0, 3.0), start, method="DOP853", rtol=1e-11, atol=1e-13, events=heel)
    st, sw, stance, swing = run.y[:, -1]
    c = math.cos(sw - st)
    walker = (hip * length**2 * c + 2.0 * m * a * length * c - m * a * b) * stance - m * a * b * swing
    matrix = [
        [hip * length**2 + m * (a * a + length**2 - length * b * c), m * (b * b - length * b * c)],
        [-m * length * b * c, m * b * b],
    ]
    return np.array([sw, *np.linalg.solve(matrix, [walker, -m * a * b * stance])])


def by_differences(z: Array, hip: float, b: float, h: float = 1e-5) -> Array:
    """D step (3, 3), by central differences."""
    return np.column_stack([(step(z + e, hip, b) - step(z - e, hip, b)) / (2.0 * h) for e in h * np.eye(3)])


def multipliers(z: Array, hip: float, b: float) -> Array:
    """Eigenvalues (3,) of the derivative at the fixed point near `z`, found by Newton's method."""
    for _ in range(12):
        missed = step(z, hip, b) - z
        if np.abs(missed).max() < 1e-10:
            return np.linalg.eigvals(by_differences(z, hip, b))
        z = z - np.linalg.solve(by_differences(z, hip, b) - np.eye(3), missed)
    raise AssertionError("no orbit")
