"""Linear algebra with mass matrices."""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dposv

from ..common.arrays import Array
from ..errors import SingularError
from .zero import RANK

LARGE = 96  # size of M from which it is looked at whether it has blocks
BLOCK = 24  # size to which small blocks are joined: fewer calls
INDEFINITE = "the mass matrix is not positive definite; check masses and inertias"


def solve_mass(mass: Array, right: Array, overwrite: bool = False) -> Array:
    """M^-1 right, by Cholesky's factors, for M (n, n) and `right` (n,) or (n, k).

    Args:
        mass: M, of which the upper triangle is read.
        right: the right sides.
        overwrite: whether `right` may be overwritten.

    Raises:
        SingularError: M is not positive definite.
    """
    if len(mass) >= LARGE:
        return _solve_blocks(mass, right)
    _, solved, info = dposv(mass, right, overwrite_b=overwrite)
    if info:
        raise SingularError(INDEFINITE)
    return solved


def _solve_blocks(mass: Array, right: Array) -> Array:
    """The same block by block, for bodies that do not hang on each other: a tenth of the work with sixty of them."""
    solved, start = np.empty_like(right), 0
    for end in _block_ends(mass):
        part = slice(start, end)
        _, solved[part], info = dposv(mass[part, part], right[part])
        if info:
            raise SingularError(INDEFINITE)
        start = end
    return solved


def _block_ends(mass: Array) -> list[int]:
    """Where the blocks along the diagonal of M end, small ones joined."""
    count = len(mass)
    furthest = count - 1 - np.argmax(mass[:, ::-1] != 0.0, axis=1)  # of the entries of each row
    ends = 1 + np.flatnonzero(np.maximum.accumulate(furthest) == np.arange(count))
    joined, start = list[int](), 0
    for end in ends.tolist():
        if end - start >= BLOCK or end == count:
            joined.append(end)
            start = end
    return joined


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
