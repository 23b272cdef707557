"""Linear differential equations by collocation: a few large implicit steps, each one linear system."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.polynomial import Polynomial, legendre

from ...common.arrays import Array
from ...errors import StepSizeError
from ..zero import SMALLEST_STEP, TINY

STAGES = 5  # of a step; the method's order is 2 STAGES - 1
GROWTH, SHRINKAGE = 4.0, 0.1  # a step is at most, and at least, this many times as long as the last one
SAFETY = 0.9  # share of the step at which the error is expected to meet the tolerance
START = 1.0 / STAGES**2  # weight of what is missed at the start of a step


def _radau(stages: int) -> tuple[Array, Array, Array]:
    """Nodes c (s,), matrix a (s, s) and weights e (4, s) of the error estimate of the Radau IIA method.

    The nodes are the zeros of P_s - P_{s-1}, moved to [0, 1] (Hairer and Wanner, ODE II, IV.5). The rows of `e` are the
    method's quadrature less those without the first, the first two and the first three nodes; the last row
    extrapolates to the start of the step.
    """
    series = np.zeros(stages + 1)
    series[stages - 1 :] = -1.0, 1.0
    nodes = np.sort((legendre.legroots(series).real + 1.0) / 2.0)
    nodes[-1] = 1.0
    integrals = [_lagrange(nodes, j).integ() for j in range(stages)]
    matrix = np.array([[integral(c) - integral(0.0) for integral in integrals] for c in nodes])
    estimates = np.tile(matrix[-1], (3, 1))
    for left_out, row in enumerate(estimates, 1):
        kept = nodes[left_out:]
        coarse = [_lagrange(kept, j).integ() for j in range(len(kept))]
        row[left_out:] -= [integral(1.0) - integral(0.0) for integral in coarse]
    return nodes, matrix, np.vstack([estimates, [_lagrange(nodes, j)(0.0) for j in range(stages)]])


def _lagrange(nodes: Array, j: int) -> Polynomial:
    others = np.delete(nodes, j)
    basis = Polynomial.fromroots(others)
    return basis / basis(nodes[j])


NODES, MATRIX, ESTIMATES = _radau(STAGES)


def solve_linear(
    matrix: Callable[[float], Array],
    t0: float,
    t1: float,
    start: Array,
    rtol: float,
    atol: float,
    first_step: float | None = None,
    passed: list[tuple[float, Array]] | None = None,
) -> Array:
    """Solution (n, m) at `t1` of Y' = A(t) Y from Y(t0) = `start`, by the Radau IIA method of order 9.

    A step is one linear system for all its stages. Its error is read off how fast quadratures with more and more of
    the stages come closer: where A is smooth their distances d fall by a factor theta each, and the method's own error
    is theta^s d; where A jumps or bends within the step, or before its first stage, they do not fall, and it is d.

    Args:
        matrix: t -> A (n, n).
        t0, t1: first and last time.
        start: Y(t0) (n, m).
        rtol: error of a step relative to the row it is in.
        atol: absolute error of a step.
        first_step: length of the first step.
        passed: takes (t, Y(t)) at the end of each step.

    Raises:
        StepSizeError: the tolerance cannot be met.
    """
    t, value, size = t0, start, len(start)
    before = matrix(t0)
    step = (t1 - t0) if first_step is None else min(first_step, t1 - t0)
    while t < t1:
        last = t + step >= t1 - SMALLEST_STEP * max(1.0, abs(t1))
        step = t1 - t if last else step
        coefficients = np.array([matrix(t1 if last and c == 1.0 else t + c * step) for c in NODES])
        system = (-step * MATRIX[:, None, :, None]) * coefficients.transpose(1, 0, 2)[None]
        system = system.reshape(STAGES * size, STAGES * size)
        system[np.diag_indices(STAGES * size)] += 1.0
        stages = np.linalg.solve(system, np.tile(value, (STAGES, 1))).reshape(STAGES, size, -1)
        missed = step * np.einsum("es,snm->enm", ESTIMATES, coefficients @ stages)
        missed[-1] = START * (missed[-1] - step * before @ value)
        rows = np.abs(value).max(axis=1) + np.abs(stages[-1]).max(axis=1) + atol / rtol
        near, middle, far, first = (np.abs(missed).max(axis=2) / rows).max(axis=1).tolist()
        near = max(near, first)
        theta = min(1.0, max(near / max(middle, TINY), middle / max(far, TINY)))
        error = near * theta**STAGES
        if error <= rtol:
            t, value, before = (t1 if last else t + step), stages[-1], coefficients[-1]
            if passed is not None:
                passed.append((t, value))
        elif step <= SMALLEST_STEP * max(1.0, abs(t)):
            raise StepSizeError(f"the variations cannot be followed at t = {t:.12g} s: the run is singular there", t=t)
        step *= min(GROWTH, max(SHRINKAGE, SAFETY * (rtol / max(error, TINY)) ** (0.5 / STAGES)))
    return value
