"""The tables of Radau9, and what its steps are chosen by; compiled engines have them, too."""

from __future__ import annotations

import numpy as np
from numpy.polynomial import Polynomial

from ...common.arrays import Array
from ...common.lazy import NamedTuple
from .collocation import MATRIX, NODES, STAGES

SAFETY = 0.9  # share of the step at which the error is expected to meet the tolerance
GROWTH, SHRINKAGE = 8.0, 0.2  # a step is at most, and at least, this many times as long as the last one
ENOUGH = 1.2  # a step that might grow by less than this keeps its length, and with it its factorised matrices
ITERATIONS = 8  # of Newton's method for one step; a step that needs more is halved
FRESH = 1e-3  # Newton's method keeps its derivative where each iteration leaves less than this share of the error
CONVERGED = 1e-3  # share of the tolerance to which the stages are solved
RELAXED = 10.0  # times that the derivative may be larger where a first step starts than at its end
LEAST_SHARE = 0.02  # of a time scale that is left at the end of a step
SAMPLES = 201  # of a step, among which its largest error is looked for
ORDER = STAGES + 1  # power of the step that the estimated error goes with


class Modes(NamedTuple):
    """The inverse of a matrix of the method, V diag(rates) V^-1; of each pair of complex modes one, real ones first.

    Attributes:
        rates: eigenvalues (k,).
        into: rows of V^-1 (k, s).
        back: columns of V (s, k), those of pairs twice: Z = Re(back W).
    """

    rates: Array
    into: Array
    back: Array


def modes(shares: Array) -> Modes:
    """Those of the method's matrix A with its rows over `shares` (s,)."""
    rates, vectors = np.linalg.eig(shares[:, None] * INVERSE)
    kept = [*np.flatnonzero(rates.imag == 0.0), *np.flatnonzero(rates.imag > 0.0)]
    weights = np.where(rates[kept].imag == 0.0, 1.0, 2.0)
    return Modes(rates[kept], np.linalg.inv(vectors)[kept], vectors[:, kept] * weights)


def _estimate(real: float) -> Array:
    """Weights e (s,) of the stages in y^ - y1 = h f0 / real + sum e_i Z_i.

    y^ is the quadrature of order s over the start, with the weight 1 / real, and the stages.
    """
    powers = NODES ** np.arange(STAGES)[:, None]
    wanted = 1.0 / np.arange(1, STAGES + 1)
    wanted[0] -= 1.0 / real
    return np.linalg.solve(powers, wanted) @ np.linalg.inv(MATRIX) - np.eye(STAGES)[-1]


def _between() -> float:
    """Largest error of the polynomial within a step over h (y'(0) - p'(0)), what it misses of the rate at the start.

    The polynomial misses the rate as the product of (s - c_i) does, and the state as the integral of that.
    """
    missed = Polynomial.fromroots(NODES)
    error = missed.integ()
    return float(np.abs(error(np.linspace(0.0, 1.0, SAMPLES)) - error(0.0)).max() / abs(missed(0.0)))


INVERSE = np.linalg.inv(MATRIX)
MODES = modes(np.ones(STAGES))
ESTIMATE = _estimate(MODES.rates[0].real)
BETWEEN = _between()
TO_SERIES = np.linalg.inv(NODES[:, None] ** np.arange(1, STAGES + 1))  # of the polynomial through 0 and the stages
