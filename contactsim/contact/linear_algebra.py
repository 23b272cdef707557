"""Linear algebra with mass matrices."""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dposv

from ..common.arrays import Array
from ..errors import SingularError
from .zero import RANK


def solve_mass(mass: Array, right: Array, overwrite: bool = False) -> Array:
    """M^-1 right, by Cholesky's factors, for M (n, n) and `right` (n,) or (n, k).

    Args:
        mass: M, of which the upper triangle is read.
        right: the right sides.
        overwrite: whether `right` may be overwritten.

    Raises:
        SingularError: M is not positive definite.
    """
    _, solved, info = dposv(mass, right, overwrite_b=overwrite)
    if info:
        raise SingularError("the mass matrix is not positive definite; check masses and inertias")
    return solved


def smallest_change(mass: Array, rows: Array, target: Array) -> tuple[Array, Array]:
    """Smallest change dx (n,), in the metric of M, with C dx = `target` (k,), and its multipliers (k,).

    M^-1 C^T (C M^-1 C^T)^+ target, with the rows C (k, n); dependent rows share their multipliers in least squares.
    """
    solved = solve_mass(mass, rows.T)
    multipliers = np.linalg.lstsq(rows @ solved, target, rcond=RANK)[0]
    return solved @ multipliers, multipliers


def projector(mass: Array, rows: Array) -> Array:
    """M^-1 C^T (C M^-1 C^T)^+ (n, k): the smallest change of velocity, in the metric of M, that changes C v by one."""
    solved = solve_mass(mass, rows.T)
    return solved @ pseudo_inverse(rows @ solved)


def pseudo_inverse(matrix: Array) -> Array:
    """Moore and Penrose's inverse, with small singular values as zero."""
    return np.linalg.pinv(matrix, rcond=RANK)
