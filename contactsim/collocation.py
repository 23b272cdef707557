"""Linear differential equations by collocation: a few large implicit steps, each one linear system."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.polynomial import Polynomial, legendre

from .errors import StepSizeError
from .hybrid import Array

STAGES = 5
GROWTH = 4.0  # a step is at most this many times as long as the last one
SAFETY = 0.9
SMALLEST = 1e-14  # shortest step, relative to the time or, near zero, to one second


def _radau(stages: int) -> tuple[Array, Array, Array]:
    """Nodes c (s,), matrix a (s, s) and weights e (s,) of the error estimate of the Radau IIA method.

    The nodes are the zeros of P_s - P_{s-1}, moved to [0, 1] (Hairer and Wanner, ODE II, IV.5). With `e` a quadrature
    without the first node is taken from the method's own.
    """
    series = np.zeros(stages + 1)
    series[stages - 1 :] = -1.0, 1.0
    nodes = np.sort((legendre.legroots(series).real + 1.0) / 2.0)
    nodes[-1] = 1.0
    integrals = [_lagrange(nodes, j).integ() for j in range(stages)]
    matrix = np.array([[integral(c) - integral(0.0) for integral in integrals] for c in nodes])
    coarse = [_lagrange(nodes[1:], j).integ() for j in range(stages - 1)]
    estimate = matrix[-1].copy()
    estimate[1:] -= [integral(1.0) - integral(0.0) for integral in coarse]
    return nodes, matrix, estimate


def _lagrange(nodes: Array, j: int) -> Polynomial:
    others = np.delete(nodes, j)
    basis = Polynomial.fromroots(others)
    return basis / basis(nodes[j])


NODES, MATRIX, ESTIMATE = _radau(STAGES)


def solve_linear(
    matrix: Callable[[float], Array],
    t0: float,
    t1: float,
    start: Array,
    rtol: float,
    atol: float,
    first_step: float | None = None,
) -> Array:
    """Solution (n, m) at `t1` of Y' = A(t) Y from Y(t0) = `start`, by the Radau IIA method of order 9.

    A step is one linear system for all its stages. What it misses of the quadrature of order 4 that uses the same
    stages has the size of h^5; its square has the order h^10 of the method's own error and serves as its estimate.

    Args:
        matrix: t -> A (n, n).
        t0, t1: first and last time.
        start: Y(t0) (n, m).
        rtol: error of a step relative to the row it is in.
        atol: absolute error of a step.
        first_step: length of the first step.

    Raises:
        StepSizeError: the tolerance cannot be met.
    """
    t, value, size = t0, start, len(start)
    step = (t1 - t0) if first_step is None else min(first_step, t1 - t0)
    while t < t1:
        last = t + step >= t1 - SMALLEST * max(1.0, abs(t1))
        step = t1 - t if last else step
        coefficients = np.array([matrix(t1 if last and c == 1.0 else t + c * step) for c in NODES])
        system = (-step * MATRIX[:, None, :, None]) * coefficients.transpose(1, 0, 2)[None]
        system = system.reshape(STAGES * size, STAGES * size)
        system[np.diag_indices(STAGES * size)] += 1.0
        stages = np.linalg.solve(system, np.tile(value, (STAGES, 1))).reshape(STAGES, size, -1)
        missed = step * np.einsum("s,snm->nm", ESTIMATE, coefficients @ stages)
        rows = np.abs(value).max(axis=1) + np.abs(stages[-1]).max(axis=1) + atol / rtol
        error = float((np.abs(missed).max(axis=1) / rows).max()) ** 2
        if error <= rtol:
            t, value = (t1 if last else t + step), stages[-1]
        elif step <= SMALLEST * max(1.0, abs(t)):
            raise StepSizeError(f"the variations cannot be followed at t = {t:.12g} s: the run is singular there", t=t)
        step *= min(GROWTH, max(0.1, SAFETY * (rtol / max(error, 1e-300)) ** (0.5 / STAGES)))
    return value
