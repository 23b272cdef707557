"""The backward pass against dense solutions of the same quadratic problems."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import block_diag
from scipy.optimize import lsq_linear

from contactsim.control.backward import backward, box_step, gradient
from contactsim.control.costs import Expansion

SAME = 1e-9
FREE = (np.full((6, 2), -np.inf), np.full((6, 2), np.inf))


def problem(seed: int = 0):
    """Six steps of a linear system with three states and two inputs, and a quadratic cost about zero."""
    rng = np.random.default_rng(seed)
    A, B = rng.normal(size=(6, 3, 3)), rng.normal(size=(6, 3, 2))
    stages = []
    for _ in range(6):
        half = rng.normal(size=(3, 3))
        root = rng.normal(size=(2, 2))
        stages.append(
            Expansion(
                0.0, rng.normal(size=3), rng.normal(size=2), half @ half.T, root @ root.T + np.eye(2), np.zeros((2, 3))
            )
        )
    end = Expansion(0.0, rng.normal(size=3), np.zeros(0), np.eye(3), np.zeros((0, 0)), np.zeros((0, 3)))
    return A, B, stages, end


def dense(A, B, stages, end):
    """Hessian and gradient of the cost by all inputs, with the states eliminated."""
    maps = [np.zeros((3, 12))]
    for k in range(6):
        step = A[k] @ maps[-1]
        step[:, 2 * k : 2 * k + 2] += B[k]
        maps.append(step)
    H = block_diag(*(s.uu for s in stages)) + sum(m.T @ s.xx @ m for m, s in zip(maps, stages, strict=False))
    g = np.concatenate([s.u for s in stages]) + sum(m.T @ s.x for m, s in zip(maps, stages, strict=False))
    return H + maps[-1].T @ end.xx @ maps[-1], g + maps[-1].T @ end.x


def followed(policy, A, B):
    """Inputs of a policy from dx = 0."""
    dx, rows = np.zeros(3), []
    for k in range(6):
        rows.append(policy.k[k] - policy.K[k] @ dx)
        dx = A[k] @ dx + B[k] @ rows[-1]
    return np.concatenate(rows)


@pytest.mark.parametrize("seed", range(3))
def test_it_minimises_the_whole_quadratic_cost(seed: int) -> None:
    A, B, stages, end = problem(seed)
    H, g = dense(A, B, stages, end)
    policy = backward(stages, end, A, B, 0.0, FREE)
    best = -np.linalg.solve(H, g)
    assert np.abs(followed(policy, A, B) - best).max() < SAME
    assert policy.slope + 0.5 * policy.bend == pytest.approx(0.5 * g @ best, rel=SAME)
    assert np.abs(gradient(stages, end, A, B).ravel() - g).max() < SAME


def test_without_a_minimum_there_is_no_policy() -> None:
    A, B, stages, end = problem()
    stages[2] = stages[2]._replace(uu=-1e4 * np.eye(2))
    assert backward(stages, end, A, B, 0.0, FREE) is None
    assert backward(stages, end, A, B, 1e5, FREE) is not None


@pytest.mark.parametrize("seed", range(20))
def test_a_step_in_a_box_is_that_of_scipy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    root, g = rng.normal(size=(5, 5)), rng.normal(size=5)
    H = root @ root.T + 0.1 * np.eye(5)
    lower, upper = -rng.uniform(0.0, 1.0, 5), rng.uniform(0.0, 1.0, 5)
    x, free, _ = box_step(H, g, lower, upper)
    factor = np.linalg.cholesky(H).T
    expected = lsq_linear(factor, -np.linalg.solve(factor.T, g), (lower, upper), tol=1e-14).x
    assert np.abs(x - expected).max() < 1e-6
    assert (free == ((x > lower) & (x < upper))).all()
