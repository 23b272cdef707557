"""The backward pass: a quadratic model of the cost to go, and the inputs that minimise it within their box."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..common.arrays import Array
from ..common.lazy import NamedTuple, scipy
from .costs import Expansion

PROJECTED_NEWTON = 100  # steps of a box-constrained step
HALVINGS = 30  # of a step along the bent path of the box
ARMIJO = 0.1  # share of the promised decrease that a step along that path has to keep
SETTLED = 1e-12  # projected gradient of the quadratic model, relative to its own gradient, that counts as zero


class Policy(NamedTuple):
    """Inputs for the next iteration: u + a k - K dx.

    Attributes:
        k: changes (N, nu) of the inputs.
        K: gains (N, nu, n).
        slope, bend: the model promises that a step of size a changes the cost by a slope + a^2 bend / 2.
        curvature: second derivatives (N, nu, nu) of the cost still to come by the inputs, Q_uu with its damping.
    """

    k: Array
    K: Array
    slope: float
    bend: float
    curvature: Array


def gradient(stages: Sequence[Expansion], end: Expansion, A: Array, B: Array) -> Array:
    """Derivative (N, nu) of the whole cost by the inputs: l_u + B^T p, p_k = l_x + A^T p_{k+1}."""
    costate, rows = end.x, []
    for stage, a, b in zip(reversed(stages), A[::-1], B[::-1], strict=True):
        rows.append(stage.u + b.T @ costate)
        costate = stage.x + a.T @ costate
    return np.array(rows[::-1])


def backward(
    stages: Sequence[Expansion], end: Expansion, A: Array, B: Array, damping: float, box: tuple[Array, Array]
) -> Policy | None:
    """Riccati's recursion with the values of the stages; None where the model has no minimum with this damping.

    Q_uu = l_uu + B^T V B + damping, k = argmin within the box, K = Q_uu^-1 Q_ux for the inputs that are free.
    Source: Tassa, Mansard and Todorov, Control-limited differential dynamic programming, 2014.

    Args:
        stages, end: expansions of the cost.
        A, B: the run in discrete time.
        damping: added to the diagonal of Q_uu [cost per input^2].
        box: least and largest change of each input (N, nu).
    """
    V_x, V_xx = end.x, end.xx
    count, nu, n = B.shape[0], B.shape[2], A.shape[2]
    k, K, slope, bend = np.zeros((count, nu)), np.zeros((count, nu, n)), 0.0, 0.0
    curvature = np.zeros((count, nu, nu))
    for i in reversed(range(count)):
        stage, a, b = stages[i], A[i], B[i]
        Q_x, Q_u = stage.x + a.T @ V_x, stage.u + b.T @ V_x
        Q_xx, Q_uu, Q_ux = stage.xx + a.T @ V_xx @ a, stage.uu + b.T @ V_xx @ b, stage.ux + b.T @ V_xx @ a
        curvature[i] = Q_uu + damping * np.eye(nu)
        found = box_step(curvature[i], Q_u, box[0][i], box[1][i])
        if found is None:
            return None
        k[i], free, factor = found
        if free.any():
            K[i][free] = scipy.linalg.cho_solve(factor, Q_ux[free])
        slope += float(k[i] @ Q_u)
        bend += float(k[i] @ Q_uu @ k[i])
        V_x = Q_x - K[i].T @ Q_uu @ k[i] - K[i].T @ Q_u + Q_ux.T @ k[i]
        V_xx = Q_xx + K[i].T @ Q_uu @ K[i] - K[i].T @ Q_ux - Q_ux.T @ K[i]
        V_xx = 0.5 * (V_xx + V_xx.T)
    return Policy(k, K, slope, bend, curvature)


def box_step(H: Array, g: Array, lower: Array, upper: Array) -> tuple[Array, Array, tuple[Array, bool]] | None:
    """The minimum of (1/2) x'H x + g'x within lower <= x <= upper, by projected Newton steps.

    Returns x (n,), which of its numbers are free (n,), and Cholesky's factor of H among these; None where H is not
    positive definite.
    """
    try:
        factor = scipy.linalg.cho_factor(H)
    except (scipy.linalg.LinAlgError, ValueError):
        return None
    free = np.ones(len(g), dtype=bool)
    x = -scipy.linalg.cho_solve(factor, g)
    if (x >= lower).all() and (x <= upper).all():
        return x, free, factor
    x = np.clip(x, lower, upper)
    for _ in range(PROJECTED_NEWTON):
        slope = g + H @ x
        free = ~(((x <= lower) & (slope > 0.0)) | ((x >= upper) & (slope < 0.0)))
        if not free.any():
            break
        factor = scipy.linalg.cho_factor(H[np.ix_(free, free)])
        if np.abs(slope[free]).max() <= SETTLED * np.abs(g).max():
            break
        step = np.zeros(len(g))
        step[free] = -scipy.linalg.cho_solve(factor, slope[free])
        x = _along_the_box(H, g, x, step, lower, upper)
    return x, free, factor


def _along_the_box(H: Array, g: Array, x: Array, step: Array, lower: Array, upper: Array) -> Array:
    """A point on the path of a step that is bent by the box, which is enough lower."""

    def value(at: Array) -> float:
        return float(0.5 * at @ H @ at + g @ at)

    here, slope, share = value(x), g + H @ x, 1.0
    for _ in range(HALVINGS):
        there = np.clip(x + share * step, lower, upper)
        if value(there) - here <= ARMIJO * float(slope @ (there - x)):
            return there
        share *= 0.5
    return x
