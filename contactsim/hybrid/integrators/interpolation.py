"""Linear differential equations whose matrix is smooth: it is interpolated between few evaluations.

A matrix that costs a Jacobian of a robot is evaluated at Chebyshev's points alone, as many as its smoothness asks for;
the equation with the interpolated matrix, whose solution needs finer steps, costs products of small matrices.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.integrate._ivp import dop853_coefficients

from ...common.arrays import Array
from ...errors import StepSizeError
from ..zero import SMALLEST_STEP, TINY
from .dop853 import MAX_FACTOR, MIN_FACTOR, SAFETY

DEGREES = (2, 4, 8, 16)  # of the series of a matrix: their points contain each other
TERMS = 2  # the last ones, which tell how much is left out: the entries of a matrix may be even
DECAY = 0.1  # of the last terms from one degree to the next, from 1 to the second one, above which it is not smooth
ORDER = 8
STAGES = len(dop853_coefficients.B)
WEIGHTS, ERRORS = dop853_coefficients.B, np.vstack([dop853_coefficients.E5, dop853_coefficients.E3])
ROWS = [np.ascontiguousarray(row[:s]) for s, row in enumerate(dop853_coefficients.A[:STAGES])]
TIMES = dop853_coefficients.C[:STAGES]


@dataclass(frozen=True)
class Series:
    """A matrix on an interval by Chebyshev's polynomials.

    Attributes:
        t0, t1: the interval.
        terms: coefficients (k, n, n).
    """

    t0: float
    t1: float
    terms: Array

    def __call__(self, t: float) -> Array:
        """The matrix (n, n) at a time of the interval."""
        return self.at(np.array([t]))[0]

    @property
    def rate(self) -> float:
        """About the largest rate [1/s] of Y' = A Y: |A^16|^(1/16) in the middle of the interval."""
        power = self(0.5 * (self.t0 + self.t1))
        size = np.abs(power).max() + TINY
        power = power / size
        for _ in range(4):
            power = power @ power
        return float(size * np.abs(power).sum(axis=1).max() ** 0.0625)

    def at(self, times: Array) -> Array:
        """The matrix (m, n, n) at times (m,) of the interval."""
        count, n, _ = self.terms.shape
        place = np.clip((2.0 * times - self.t0 - self.t1) / (self.t1 - self.t0), -1.0, 1.0)
        basis = np.cos(np.outer(np.arccos(place), np.arange(count)))
        return np.asarray((basis @ self.terms.reshape(count, -1)).reshape(-1, n, n))


class Smooth(NamedTuple):
    """An interval with the series of the matrix there; None where the matrix is not smooth enough to have one."""

    t0: float
    t1: float
    series: Series | None


class Interpolated:
    """A matrix A(t), interpolated on an interval so well that solutions of Y' = A Y hardly change.

    What is left out of a row may change that row of a solution by a small share of its rate, or of its size over the
    interval, whichever is larger.

    Args:
        matrix: t -> A (n, n).
        edges: rising times; on the intervals between some of them the matrix may be less smooth where they meet, and
            no interval is made shorter than these.
        accuracy: that share.
        sizes: of the rows of solutions (n,).
    """

    def __init__(self, matrix: Callable[[float], Array], edges: Sequence[float], accuracy: float, sizes: Array) -> None:
        self._matrix, self._edges, self._accuracy, self._sizes = matrix, tuple(edges), accuracy, sizes
        self._known: dict[float, Array] = {}
        self.t0, self.t1 = self._edges[0], self._edges[-1]

    @cached_property
    def pieces(self) -> list[Smooth]:
        """The intervals in order, each with its series."""
        found = self._resolved(0, len(self._edges) - 1)
        self._known = {}
        return found

    def _resolved(self, first: int, last: int) -> list[Smooth]:
        """Between two edges: one series, or those of both halves where the one would need too many terms."""
        t0, t1 = self._edges[first], self._edges[last]
        left, terms = np.inf, np.empty(0)
        for degree in DEGREES:
            terms = self._terms(t0, t1, degree)
            before, left = left, self._left_out(terms, t1 - t0)
            if left <= self._accuracy:
                return [Smooth(t0, t1, Series(t0, t1, terms))]
            if degree == DEGREES[0]:  # all but its mean would be left out
                left = 1.0
            elif left > DECAY * min(before, 1.0):
                return [Smooth(t0, t1, None)]
        if last - first == 1:
            return [Smooth(t0, t1, None)]
        middle = (first + last) // 2
        return self._resolved(first, middle) + self._resolved(middle, last)

    def _terms(self, t0: float, t1: float, degree: int) -> Array:
        """Coefficients (degree + 1, n, n) of the interpolant in the extrema of Chebyshev's polynomial."""
        angles = np.pi * np.arange(degree + 1) / degree
        times = 0.5 * (t0 + t1) + 0.5 * (t1 - t0) * np.cos(angles)
        times[0], times[-1] = t1, t0
        values = np.array([self._at(float(t)) for t in times])
        transform = np.cos(np.outer(np.arange(degree + 1), angles)) * (2.0 / degree)
        transform[:, [0, -1]] *= 0.5
        transform[[0, -1]] *= 0.5
        return np.tensordot(transform, values, 1)

    def _left_out(self, terms: Array, duration: float) -> float:
        """The last terms of a series, relative to the largest of a row, or to one that would change it by its size."""
        rows = (np.abs(terms) * self._sizes).max(axis=2)
        whole = np.maximum(rows.max(axis=0), self._sizes / duration)
        return float((rows[-TERMS:].max(axis=0) / whole).max(initial=0.0))

    def _at(self, t: float) -> Array:
        if t not in self._known:
            self._known[t] = self._matrix(t)
        return self._known[t]


def solve_explicit(
    series: Series, t0: float, t1: float, start: Array, rtol: float, atol: float, first_step: float
) -> Array:
    """Solution (n, m) at `t1` of Y' = A(t) Y from Y(t0) = `start`, by the method of Dormand and Prince of order 8.

    Args:
        series: the matrix, on an interval that has both times.
        t0, t1: first and last time.
        start: Y(t0) (n, m).
        rtol: error of a step relative to the row it is in.
        atol: absolute error of a step.
        first_step: length of the first step.

    Raises:
        StepSizeError: the tolerance cannot be met.
    """
    t, value, step = t0, start, first_step
    rate = series(t0) @ start
    while t < t1:
        last = t + step >= t1 - SMALLEST_STEP * max(1.0, abs(t1))
        step = t1 - t if last else step
        end, rate_there, error = _stepped(series, t, step, value, rate, atol / rtol)
        factor = SAFETY * (rtol / max(error, TINY)) ** (1.0 / ORDER)
        if error <= rtol:
            t, value, rate = (t1 if last else t + step), end, rate_there
        elif step <= SMALLEST_STEP * max(1.0, abs(t)):
            raise StepSizeError(f"the variations cannot be followed at t = {t:.12g} s: they grow too fast", t=t)
        step *= min(MAX_FACTOR, max(MIN_FACTOR, factor))
    return value


def _stepped(
    series: Series, t: float, step: float, value: Array, rate: Array, floor: float
) -> tuple[Array, Array, float]:
    """End (n, m) of a step, the rate there, and the error relative to the rows, which are at least `floor`."""
    matrices = series.at(t + step * TIMES)
    rates = np.empty((STAGES + 1, *value.shape))
    flat = rates.reshape(STAGES + 1, -1)
    rates[0] = rate
    for s in range(1, STAGES):
        np.matmul(matrices[s], value + (step * ROWS[s] @ flat[:s]).reshape(value.shape), out=rates[s])
    end = value + (step * WEIGHTS @ flat[:STAGES]).reshape(value.shape)
    np.matmul(matrices[-1], end, out=rates[-1])  # the last stage is at the end of the step, too
    rows = np.maximum(np.abs(value).max(axis=1), np.abs(end).max(axis=1)) + floor
    missed = np.abs((ERRORS @ flat).reshape(2, *value.shape)).max(axis=2)
    fifth, third = (step * missed / rows).max(axis=1).tolist()
    return end, rates[-1], fifth**2 / max(np.hypot(fifth, 0.1 * third), TINY)
