"""Linear algebra with mass matrices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np

from ..common.arrays import Array
from ..common.lazy import scipy
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
    _, solved, info = scipy.linalg.lapack.dposv(mass, right, overwrite_b=overwrite)
    if info:
        raise SingularError(INDEFINITE)
    return solved


def _solve_blocks(mass: Array, right: Array) -> Array:
    """The same block by block, for bodies that do not hang on each other: a tenth of the work with sixty of them."""
    solved = np.zeros_like(right)
    for part in _blocks(mass):
        if right.ndim == 1:
            solved[part] = _solve(mass[part, part], right[part])
        elif len(own := np.flatnonzero(right[part].any(axis=0))):
            solved[part, own] = _solve(mass[part, part], right[part, own])
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


def _solve(mass: Array, right: Array) -> Array:
    _, solved, info = scipy.linalg.lapack.dposv(mass, right)
    if info:
        raise SingularError(INDEFINITE)
    return np.asarray(solved)


def _blocks(mass: Array) -> list[slice]:
    """Blocks along the diagonal of M."""
    return [slice(start, end) for start, end in pairwise([0, *_block_ends(mass)])]


def delassus(mass: Array, rows: Array) -> Array:
    """J M^-1 J^T (m, m), of the rows J (m, n): block by block of a large M, of the rows that reach it."""
    if len(mass) < LARGE:
        return np.asarray(rows @ solve_mass(mass, rows.T))
    found = np.zeros((len(rows), len(rows)))
    for part in _blocks(mass):
        own = np.flatnonzero(rows[:, part].any(axis=1))
        if len(own):
            reached = rows[own, part]
            found[own[:, None], own] += reached @ _solve(mass[part, part], reached.T)
    return found


def components(nodes: Sequence[int], links: Iterable[tuple[int, int]]) -> list[list[int]]:
    """Sets of nodes that links connect, each in the order of the nodes, the one with the first of them first."""
    above = {node: node for node in nodes}

    def top(node: int) -> int:
        while above[node] != node:
            above[node] = above[above[node]]
            node = above[node]
        return node

    for one, other in links:
        above[top(one)] = top(other)
    found: dict[int, list[int]] = {}
    for node in nodes:
        found.setdefault(top(node), []).append(node)
    return list(found.values())


def _apart(matrix: Array) -> list[list[int]]:
    """Rows of a matrix (m, m) of symmetric pattern, in sets that no entries join."""
    return components(range(len(matrix)), zip(*(k.tolist() for k in np.nonzero(np.triu(matrix, 1))), strict=True))


def smallest_change(mass: Array, rows: Array, target: Array, along: Array | None = None) -> tuple[Array, Array]:
    """Smallest change dx (n,), in the metric of M, with C dx = `target` (k,), and its multipliers (k,).

    M^-1 C^T (C M^-1 C^T)^+ target, with the rows C (k, n); dependent rows share their multipliers in least squares.
    Other forces than these rows, `along` D (k, n), change it by M^-1 D^T (C M^-1 D^T)^+ target.
    """
    if along is not None or len(mass) < LARGE:
        solved = solve_mass(mass, (rows if along is None else along).T)
        multipliers = np.linalg.lstsq(rows @ solved, target, rcond=RANK)[0]
        return solved @ multipliers, multipliers
    matrix, multipliers = delassus(mass, rows), np.empty(len(rows))
    for own in _apart(matrix):
        multipliers[own] = np.linalg.lstsq(matrix[np.ix_(own, own)], target[own], rcond=RANK)[0]
    return solve_mass(mass, rows.T @ multipliers), multipliers


def projector(mass: Array, rows: Array, along: Array | None = None) -> Array:
    """M^-1 C^T (C M^-1 C^T)^+ (n, k): the smallest change of velocity, in the metric of M, that changes C v by one.

    Other forces than these rows, `along` D (k, n), change it by M^-1 D^T (C M^-1 D^T)^+.
    """
    solved = solve_mass(mass, (rows if along is None else along).T)
    return solved @ pseudo_inverse(rows @ solved)


def pseudo_inverse(matrix: Array) -> Array:
    """Moore and Penrose's inverse, with small singular values as zero."""
    return np.linalg.pinv(matrix, rcond=RANK)


def kernel(matrix: Array) -> Array:
    """An orthonormal basis (n, k) of what a matrix (m, n) maps to zero, with small singular values as zero."""
    _, values, directions = np.linalg.svd(matrix)
    return np.asarray(directions[np.sum(values > RANK * values[0]) :].T)
