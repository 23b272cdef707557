"""Runs beside a run that no step makes better: with other inputs their contacts begin and end in another order.

A derivative knows nothing of a lift-off that a run nearly makes, so a descent may stand still where a run with another
contact sequence, not far off, costs less. Inputs are drawn about the present ones with a covariance in proportion to
the inverse of the second derivative of the cost to come, with its feedback: far where that changes the cost little
(So, Wang and Theodorou, "Maximum entropy differential dynamic programming", 2022). The spread grows until a run is
better, or until most runs no longer reach their end.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular

from ..common.arrays import Array
from .backward import Policy
from .problem import Problem, Rollout

SPREADS = (1e-5, 1e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1)  # of the cost: what inputs add to it by the quadratic model
BETTER = 1e-2  # relative: how much less a run beside another one has to cost


def better_neighbour(
    problem: Problem, now: Rollout, policy: Policy, count: int, generator: np.random.Generator
) -> Rollout | None:
    """The cheapest of `count` runs with inputs drawn about those of a run, where it is better; None: there is none.

    Args:
        problem: what is minimised.
        now: the run.
        policy: of the backward pass about it.
        count: how many runs are made of each spread.
        generator: of random numbers.
    """
    K = policy.K[:, :, : 2 * problem.system.nv]
    factors = [np.linalg.cholesky(curvature).T for curvature in policy.curvature]
    for spread in SPREADS:
        size = np.sqrt(2.0 * spread * now.cost / now.U.size)
        draws = size * generator.normal(size=(count, *now.U.shape))
        runs = _runs(problem, now, K, [_shaped(factors, draw) for draw in draws])
        if runs is None:
            return None
        best = min(runs, key=lambda run: run.cost)
        if best.cost < (1.0 - BETTER) * now.cost:
            return best
    return None


def _shaped(factors: list[Array], draw: Array) -> Array:
    """Independent numbers (N, nu) with the covariance of the inverse of L L^T, by the factors L^T."""
    return np.array([solve_triangular(factor, row) for factor, row in zip(factors, draw, strict=True)])


def _runs(problem: Problem, now: Rollout, K: Array, changes: list[Array]) -> list[Rollout] | None:
    """The runs with changed inputs that reach their end; None where those are the lesser half."""
    found: list[Rollout] = []
    for tried, change in enumerate(changes, 1):
        run = problem.run(now.U + change, K, now.trajectory)
        found += [] if run is None else [run]
        if 2 * (tried - len(found)) > len(changes):
            return None
    return found
