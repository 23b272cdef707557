"""Convex programs over second-order cones, by Clarabel."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from ..common.arrays import Array

if TYPE_CHECKING:
    from scipy.sparse import csc_matrix

ACCURACY = 1e-12  # of the optimum, in problems scaled to about one
# Of the steps towards it: with less, redundant contacts stop the method a hundredth of their forces before the end.
REFINED, REFINEMENTS = 1e-15, 30


def minimiser(
    quadratic: Array | None, linear: Array, matrix: Array, right: Array, cones: list[tuple[bool, int]]
) -> Array | None:
    """Minimiser of x^T P x / 2 + c^T x, right - matrix x in the cones: second-order (True) or non-negative (False).

    None where there is none, since x may grow for ever.
    """
    import clarabel
    from scipy.sparse import csc_matrix

    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = ACCURACY
    settings.iterative_refinement_reltol = settings.iterative_refinement_abstol = REFINED
    settings.iterative_refinement_max_iter = REFINEMENTS
    kinds = [clarabel.SecondOrderConeT(n) if second else clarabel.NonnegativeConeT(n) for second, n in cones]
    upper = _nothing(len(linear)) if quadratic is None else csc_matrix(np.triu(quadratic))
    solver = clarabel.DefaultSolver(upper, linear, csc_matrix(matrix), right, kinds, settings)
    found = solver.solve()
    endless = found.status in (clarabel.SolverStatus.DualInfeasible, clarabel.SolverStatus.AlmostDualInfeasible)
    return None if endless or not np.isfinite(found.x).all() else np.asarray(found.x)


@cache
def _nothing(n: int) -> csc_matrix:
    """The empty sparse matrix (n, n)."""
    from scipy.sparse import csc_matrix

    return csc_matrix((n, n))
