"""Orbits that move with a parameter: their sensitivity, and the derivatives of their multipliers.

The runs that these take are those of a `Shooting`, which an orbit brings along.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eig

from ..common.arrays import Array
from ..common.representation import Brief
from ..errors import ConvergenceError, NonDifferentiableError
from .zero import CORE, FOLDED, RANK, SIMPLE

STEP = 1e-3  # of a parameter, relative to its scale, for differences of exact matrices
CORRECTIONS = 12  # Newton's steps from a predicted orbit
EXACT = 1e-11  # residual of a corrected orbit, below which no step makes it smaller


@dataclass(frozen=True, repr=False)
class Bordered(Brief):
    """Linear equations of an orbit that moves with a parameter p: matrix (y, dT, dp) = -residual.

    The start moves by dx = directions y + moved dp.

    Attributes:
        directions: basis (n, r) of what the mode allows at the start.
        moved: by how much the constraints of the mode move with the parameter (n,).
        matrix: derivatives (m, r + 2) of the residual.
        residual: (m,).
    """

    directions: Array
    moved: Array
    matrix: Array
    residual: Array


def slope(equations: Bordered, name: str) -> tuple[Array, float]:
    """dx0 (n,) and dT by a parameter, with the smallest change of x0.

    Raises:
        NonDifferentiableError: the orbit folds there, and has neighbours on one side of the parameter only.
    """
    matrix, by_parameter = equations.matrix[:, :-1], equations.matrix[:, -1]
    found = np.linalg.lstsq(matrix, -by_parameter, rcond=RANK)[0]
    missed = float(np.linalg.norm(matrix @ found + by_parameter))
    if missed > FOLDED * max(1.0, float(np.linalg.norm(by_parameter))):
        raise NonDifferentiableError(
            f"the orbit has no derivative by '{name}': it folds there, and has neighbours on one side only; follow"
            " it by cs.continue_orbit"
        )
    return equations.directions @ found[:-1] + equations.moved, float(found[-1])


def corrected(shooting: Any, shot: Any, accuracy: float) -> Any:
    """The orbit near a shot, by Newton's method without damping.

    Raises:
        ConvergenceError: there is none close by.
    """
    for _ in range(CORRECTIONS):
        if shot.error <= EXACT:
            break
        dx, dT, _ = shooting.newton(shot).step(0.0)
        nearer = shooting.stepped(shot, dx, dT)
        if shot.error <= accuracy and nearer.error >= 0.5 * shot.error:
            break
        shot = nearer
    if shot.error <= accuracy:
        return shot
    raise ConvergenceError(f"no orbit was found close by: the residual stays at {shot.error:.3g}", residual=shot.error)


def neighbour(shooting: Any, shot: Any, name: str, dp: float, slopes: tuple[Array, float], accuracy: float) -> Any:
    """(shooting, shot) of the orbit of the system whose parameter differs by `dp`."""
    system = shooting.system
    other = shooting.of(system.with_parameter(name, system.parameter(name) + dp))
    guess = other.stepped(shot, dp * slopes[0], dp * slopes[1])
    return other, corrected(other, guess, accuracy)


def monodromy(shooting: Any, shot: Any) -> Array:
    """M (n, n) on what the mode at the start allows."""
    d = shooting.derivative(shot)
    return np.asarray(d.monodromy @ d.allowed)


def monodromy_derivative(shooting: Any, shot: Any, name: str, accuracy: float) -> tuple[Array, Array]:
    """dM / dp (n, n) along the family of orbits, and an estimate of its error (n, n).

    Differences of exact matrices at p +- h and p +- 2 h; the error is that of the difference of second order.
    """
    h = STEP * shooting.system.parameter_scale(name)
    slopes = slope(shooting.bordered(shot, name), name)
    near, far = (_difference(shooting, shot, name, step, slopes, accuracy) for step in (h, 2.0 * h))
    best = (4.0 * near - far) / 3.0
    return best, np.abs(best - near)


def _difference(shooting: Any, shot: Any, name: str, h: float, slopes: tuple[Array, float], accuracy: float) -> Array:
    sides = [monodromy(*neighbour(shooting, shot, name, dp, slopes, accuracy)) for dp in (h, -h)]
    return np.asarray((sides[0] - sides[1]) / (2.0 * h))


def multiplier_derivatives(matrix: Array, change: Array, error: Array) -> tuple[Array, Array]:
    """d mu / dp (k,) of the eigenvalues of a matrix, largest first, for its change (n, n), and their errors (k,).

    d mu = l^H dM r / (l^H r) with left and right eigenvectors (Magnus 1985). Multipliers that an event makes zero stay
    zero. One that is not simple has no derivative: NaN.
    """
    values, left, right = eig(matrix, left=True, right=True)
    order = np.lexsort((-values.imag, -np.abs(values)))
    found, errors = np.zeros(len(values), dtype=complex), np.zeros(len(values))
    for place, k in enumerate(order[: _core(matrix)]):
        l, r = left[:, k].conj(), right[:, k]  # noqa: E741 - the usual letters
        overlap = l @ r
        simple = abs(overlap) > SIMPLE
        found[place] = l @ change @ r / overlap if simple else np.nan
        errors[place] = np.abs(l) @ error @ np.abs(r) / abs(overlap) if simple else np.nan
    return found, errors


def _core(matrix: Array) -> int:
    """How many eigenvalues are not zero: the dimension of what all powers of the matrix keep."""
    basis, size = np.eye(len(matrix)), float(np.linalg.norm(matrix, 2))
    for _ in range(len(matrix)):
        image, values, _ = np.linalg.svd(matrix @ basis, full_matrices=False)
        if np.all(values > CORE * size):
            break
        basis = image[:, values > CORE * size]
    return basis.shape[1]
