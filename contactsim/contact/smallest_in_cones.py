"""The smallest of all forces within their cones, on plain arrays, to rounding."""

from __future__ import annotations

import numpy as np

from ..common.arrays import Array
from .limits import CONE_STEPS, PLANES_APART
from .zero import OUTSIDE, RANK, SETTLED, SMALLEST_FORCE


class Cone:
    """One cone of a problem: forces values + rows @ y, of which the first is at least as large as the others together.

    Attributes:
        planes: tangent planes (n,) behind which the forces are to stay, in directions that are apart: of those that
            hardly differ, which together tell the forces less well than one, the latest.
    """

    def __init__(self, rows: Array, values: Array, second_order: bool) -> None:
        self._rows, self._values = rows, values
        self.planes = list[Array]() if second_order else [np.ones(1)]
        self._size = np.inf

    def off(self, y: Array) -> float:
        """How far the forces at y are outside; the plane that touches the cone there is noted."""
        top, *aside = self._values + self._rows @ y
        if not aside:
            return -float(top)
        self._size = float(np.linalg.norm(aside))
        if self._size > SMALLEST_FORCE:
            plane = np.append(1.0, -np.array(aside) / self._size)
            self.planes = [one for one in self.planes if np.linalg.norm(one - plane) > PLANES_APART] + [plane]
        elif not self.planes:
            self.planes = [np.eye(len(self._values))[0]]
        return self._size - float(top)

    def inequalities(self) -> list[tuple[Array, float]]:
        """Rows a (k,) and bounds b of the planes: a @ y >= b."""
        return [(plane @ self._rows, -float(plane @ self._values)) for plane in self.planes]

    def bends(self, multipliers: Array) -> Array:
        """Rows F (j, k): -F^T F is the second derivative of the distance from the edge, times its multiplier."""
        if self._size <= SMALLEST_FORCE or not multipliers.any() or len(self._values) == 1:
            return np.zeros((0, self._rows.shape[1]))
        along, rows = self.planes[-1][1:], self._rows[1:]
        return float(np.sqrt(multipliers.sum() / self._size)) * (rows - np.outer(along, along @ rows))


def smallest_in_cones(cones: list[Cone], size: int) -> Array | None:
    """The smallest y (size,) whose forces lie in all cones; None where there is none that rounding tells.

    By sequential quadratic programming: the distances g_i of the forces from the edges are concave, so with multipliers
    u_i of planes that touch the cones at the y_k so far, the next one minimises |y|^2 + |F (y - y_k)|^2 within these
    planes, F^T F the sum of -u_i times the second derivatives of g_i (Nocedal and Wright, "Numerical Optimization",
    2006, algorithm 18.1). All planes lie outside of the cones: where nothing is behind them, nothing is in the cones.
    """
    y, bends, before, step = np.zeros(size), np.zeros((0, size)), np.inf, np.inf
    for k in range(CONE_STEPS):
        off = max(cone.off(y) for cone in cones)
        settled = k == 0 or step <= SETTLED
        if settled and (off <= OUTSIDE or 0.5 * before < off <= RANK):
            return y
        rows = [cone.inequalities() for cone in cones]
        matrix, bounds = (np.array(parts) for parts in zip(*(row for own in rows for row in own), strict=True))
        found = _least_distance(matrix, bounds, y, bends)
        if found is None and len(bends):  # sharp bends make a way long that is not
            found = _least_distance(matrix, bounds, y, bends[:0])
        if found is None:
            return None
        last, before = y, off
        y, multipliers = found
        step = float(np.linalg.norm(y - last) / (np.linalg.norm(y) or 1.0))
        shares = np.split(multipliers, np.cumsum([len(own) for own in rows])[:-1])
        bends = np.vstack([cone.bends(own) for cone, own in zip(cones, shares, strict=True)])
    return None


def _least_distance(matrix: Array, bounds: Array, y: Array, bends: Array) -> tuple[Array, Array] | None:
    """The z (k,) with A z >= b that minimises |z|^2 + |F (z - y)|^2, and its multipliers; None where none is told.

    In coordinates w = R (z - c), with R^T R = 1 + F^T F and c = (1 + F^T F)^-1 F^T F y, it is that of least |w|. By
    non-negative least squares, to rounding: of the u >= 0 that minimises |(B^T u, d^T u - 1)|, the residual (r, s) has
    w = -r / s and multipliers -u / s (Lawson and Hanson, "Solving Least Squares Problems", 1974, chapter 23).
    """
    from scipy.linalg import solve_triangular
    from scipy.optimize import nnls

    root = np.linalg.qr(np.vstack([np.eye(len(y)), bends]), mode="r")
    centre = solve_triangular(root, solve_triangular(root, bends.T @ (bends @ y), trans=1))
    inner, right = solve_triangular(root, matrix.T, trans=1), bounds - matrix @ centre
    system, target = np.vstack([inner, right]), np.append(np.zeros(len(y)), 1.0)
    try:
        u, _ = nnls(system, target)
    except RuntimeError:  # it runs in circles
        return None
    residual = system @ u - target
    least = -residual[-1]
    return None if least <= RANK else (centre + solve_triangular(root, residual[:-1] / least), u / least)
