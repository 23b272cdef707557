"""Convex programs over second-order cones, by Clarabel."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ..common.arrays import Array
from .limits import ACCURACY

if TYPE_CHECKING:
    from scipy.sparse import csc_matrix

# Of the steps towards the optimum: with less, redundant contacts stop it a hundredth of their forces before the end.
REFINED, REFINEMENTS = 1e-15, 30


def minimiser(
    quadratic: Array | None, linear: Array, matrix: Array, right: Array, cones: list[tuple[bool, int]]
) -> Array | None:
    """Minimiser of x^T P x / 2 + c^T x, right - matrix x in the cones: second-order (True) or non-negative (False).

    None where there is none, since x may grow for ever.
    """
    found = minimum(quadratic, linear, matrix, right, cones)
    return None if found is None else found[0]


def minimum(
    quadratic: Array | None, linear: Array, matrix: Array, right: Array, cones: list[tuple[bool, int]]
) -> tuple[Array, Array] | None:
    """The minimiser, and multipliers z of its cones: P x + c + matrix^T z = 0, z in the dual cones."""
    import clarabel

    upper = _nothing(len(linear)) if quadratic is None else _sparse(np.triu(quadratic))
    solver = clarabel.DefaultSolver(upper, linear, _sparse(matrix), right, _kinds(tuple(cones)), _settings())
    found = solver.solve()
    endless = found.status in (clarabel.SolverStatus.DualInfeasible, clarabel.SolverStatus.AlmostDualInfeasible)
    return None if endless or not np.isfinite(found.x).all() else (np.asarray(found.x), np.asarray(found.z))


@cache
def _settings() -> Any:
    import clarabel

    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = ACCURACY
    settings.iterative_refinement_reltol = settings.iterative_refinement_abstol = REFINED
    settings.iterative_refinement_max_iter = REFINEMENTS
    return settings


@cache
def _kinds(cones: tuple[tuple[bool, int], ...]) -> list[Any]:
    import clarabel

    return [clarabel.SecondOrderConeT(n) if second else clarabel.NonnegativeConeT(n) for second, n in cones]


def _sparse(matrix: Array) -> csc_matrix:
    """A dense matrix by columns, without its zeros; SciPy's own way takes twice as long."""
    from scipy.sparse import csc_matrix

    columns, rows = np.nonzero(matrix.T)
    ends = np.concatenate([[0], np.cumsum(np.bincount(columns, minlength=matrix.shape[1]))])
    return csc_matrix((matrix.T[columns, rows], rows, ends), shape=matrix.shape)


@cache
def _nothing(n: int) -> csc_matrix:
    """The empty sparse matrix (n, n)."""
    from scipy.sparse import csc_matrix

    return csc_matrix((n, n))
