"""Linear differential equations whose matrix is smooth: it is interpolated between few evaluations.

A matrix that costs a Jacobian of a robot is evaluated at Chebyshev's points alone, as many as its smoothness asks for;
the equation with the interpolated matrix, whose solution needs finer steps, costs products of small matrices.

The steps of a run shrink geometrically towards an instant at which its motion is singular, such as the stop of a slip,
and grow away from it. So the points lie in a scale s in [-1, 1] of its own: time is an exponential of it, by which the
middle one of some steps lies in its middle; Y' = A Y becomes dY/ds = A dt/ds Y, whose matrix is smooth there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from math import expm1, log, log1p

import numpy as np

from ...common.arrays import Array
from ...common.lazy import NamedTuple, dataclass
from ...errors import StepSizeError
from ..zero import SMALLEST_STEP, TINY
from .tables853 import COEFFICIENTS, ERROR3, ERROR5, MAX_FACTOR, MIN_FACTOR, SAFETY, STAGES, WEIGHTS
from .tables853 import TIMES as ALL_TIMES

FEWEST = 2  # degree that will do where a matrix is as good as constant,
DEGREES = (4, 8, 16, 24, 32)  # and those of other series: the points contain those of 4 and 8
FIRST = 8  # the least of them by which it is foreseen which other one will do
TERMS = 2  # the last ones, which tell how much is left out: the entries of a matrix may be even
SLOWEST = 0.9  # share of a term from one to the next from which on they do not fall
SLOWER = 10.0  # times that terms may be larger than foreseen; then they are those of kinks,
KINKS, ROUGH = 1e-6, 1e3  # and this share of a row at most, or so many times what may be left out otherwise
EVEN = 1e-3  # growth of a scale below which it is time itself
ORDER = 8
ERRORS = np.vstack([ERROR5, ERROR3])
ROWS = [np.ascontiguousarray(row[:s]) for s, row in enumerate(COEFFICIENTS[:STAGES])]
TIMES = ALL_TIMES[:STAGES]


@dataclass(frozen=True)
class Scale:
    """Time between t0 and t1 as an exponential of s in [-1, 1]: t = t0 + (t1 - t0) (e^(g (1 + s) / 2) - 1) / (e^g - 1).

    Attributes:
        t0, t1: the interval.
        growth: g, logarithm of the ratio of dt/ds at its ends; zero: t is linear.
    """

    t0: float
    t1: float
    growth: float = 0.0

    @staticmethod
    def through(t0: float, middle: float, t1: float) -> Scale:
        """The one with `middle` at s = 0; time itself where rounding leaves nothing between the ends."""
        growth = 2.0 * log((t1 - middle) / (middle - t0)) if t0 < middle < t1 else 0.0
        return Scale(t0, t1, growth if abs(growth) > EVEN else 0.0)

    def time(self, s: float) -> float:
        """t(s), exact at both ends; measured from that end where steps are shortest."""
        g, duration = abs(self.growth), self.t1 - self.t0
        if self.growth < 0.0:
            return self.t1 - duration * _grown(0.5 * g * (1.0 - s), g, 0.5 * (1.0 - s))
        return self.t0 + duration * _grown(0.5 * g * (1.0 + s), g, 0.5 * (1.0 + s)) if s < 1.0 else self.t1

    def place(self, t: float) -> float:
        """s(t)."""
        g, duration = self.growth, self.t1 - self.t0
        if g == 0.0:
            return 2.0 * (t - self.t0) / duration - 1.0
        share, sign = ((self.t1 - t) / duration, -1.0) if g < 0.0 else ((t - self.t0) / duration, 1.0)
        return sign * (2.0 * log1p(share * expm1(abs(g))) / abs(g) - 1.0)

    def slope(self, s: float) -> float:
        """dt/ds."""
        g, duration = self.growth, self.t1 - self.t0
        if g == 0.0:
            return 0.5 * duration
        along = 0.5 * g * (1.0 + s) if g > 0.0 else -0.5 * g * (1.0 - s)
        return 0.5 * duration * abs(g) * float(np.exp(along)) / expm1(abs(g))


def _grown(power: float, whole: float, share: float) -> float:
    """(e^power - 1) / (e^whole - 1), and its limit `share` where both vanish."""
    return expm1(power) / expm1(whole) if whole else share


@dataclass(frozen=True)
class Series:
    """A matrix on an interval, with dY/ds = A dt/ds Y in the scale of that, by Chebyshev's polynomials in s.

    Attributes:
        scale: time on the interval.
        terms: coefficients (k, n, n) of A dt/ds.
    """

    scale: Scale
    terms: Array

    def __call__(self, s: float) -> Array:
        """A dt/ds (n, n) at a place of the scale."""
        return self.at(np.array([s]))[0]

    @property
    def rate(self) -> float:
        """About the largest rate of dY/ds = A dt/ds Y: |A^16|^(1/16) in the middle."""
        power = self(0.0)
        size = np.abs(power).max() + TINY
        power = power / size
        for _ in range(4):
            power = power @ power
        return float(size * np.abs(power).sum(axis=1).max() ** 0.0625)

    def at(self, places: Array) -> Array:
        """A dt/ds (m, n, n) at places (m,) of the scale."""
        count, n, _ = self.terms.shape
        basis = np.cos(np.outer(np.arccos(np.clip(places, -1.0, 1.0)), np.arange(count)))
        return np.asarray((basis @ self.terms.reshape(count, -1)).reshape(-1, n, n))


class Fall(NamedTuple):
    """How the terms of a series fall.

    Attributes:
        degree: of the series.
        size: of the last terms.
        share: of a term from one to the next.
    """

    degree: int
    size: float
    share: float

    @staticmethod
    def of(sizes: Array) -> Fall:
        """Of a series by the sizes of its terms (degree + 1,), from the middle to the end."""
        degree = len(sizes) - 1
        half = degree // 2
        before, last = (max(float(sizes[k - TERMS + 1 : k + 1].max()), TINY) for k in (half, degree))
        return Fall(degree, last, min(last / before, 1.0) ** (1.0 / (degree - half)))

    @property
    def left_out(self) -> float:
        """Sum of all that follow: of a geometric series, behind the two last terms of which `size` is the larger."""
        return self.size * self.share**2 / (1.0 - min(self.share, SLOWEST))

    def at(self, degree: int) -> float:
        """Size of the last terms of a series of higher degree."""
        return float(self.size * self.share ** (degree - self.degree))

    def left_out_at(self, degree: int) -> float:
        """What that leaves out."""
        return float(self.left_out * self.share ** (degree - self.degree))


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
            no interval is made shorter than these. Where A changes fast, they lie close.
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
        found: list[Smooth] = []
        for piece in self._resolved(0, len(self._edges) - 1):
            if found and found[-1].series is None and piece.series is None:
                piece = Smooth(found.pop().t0, piece.t1, None)
            found.append(piece)
        self._known = {}
        return found

    def _resolved(self, first: int, last: int, around: Scale | None = None) -> list[Smooth]:
        """Between two edges: one series, or those of both halves where the one would need too many terms."""
        t0, t1 = self._edges[first], self._edges[last]
        scale = self._scale(first, last, around)
        series = self._series(scale)
        if series is not None:
            return [Smooth(t0, t1, series)]
        if last - first == 1:
            return [Smooth(t0, t1, None)]
        middle = (first + last) // 2
        return self._resolved(first, middle, scale) + self._resolved(middle, last, scale)

    def _scale(self, first: int, last: int, around: Scale | None) -> Scale:
        """Time between two edges, those between them evenly in it; of one interval as `around` it."""
        t0, t1 = self._edges[first], self._edges[last]
        if last - first == 1:
            middle = 0.5 * (t0 + t1) if around is None else around.time(0.5 * (around.place(t0) + around.place(t1)))
            return Scale.through(t0, middle, t1)
        if (last - first) % 2 == 0:
            return Scale.through(t0, self._edges[(first + last) // 2], t1)
        early, late = self._scale(first, last - 1, None), self._scale(first + 1, last, None)
        return Scale(t0, t1, 0.5 * (early.growth + late.growth) * (last - first) / (last - first - 1))

    def _series(self, scale: Scale) -> Series | None:
        """A series that leaves out so little, in time itself where few terms will do; None where there is none.

        Terms fall geometrically, so that those which are left out are foreseen by the last ones that are not. Where
        they fall much less, they are those of the kinks between the steps of a run, which is no better known.
        """
        even = Scale(scale.t0, scale.t1)
        terms = self._terms(even, FEWEST)
        if self._sizes_of(terms)[1:].max() <= self._accuracy:
            return Series(even, terms)
        last: Fall | None = None
        for degree in DEGREES:
            if last is not None and last.left_out_at(degree) > self._accuracy and degree < DEGREES[-1]:
                continue
            terms = self._terms(scale, degree)
            fall = Fall.of(self._sizes_of(terms))
            rough = last is not None and fall.size > SLOWER * last.at(degree)
            if fall.left_out <= self._accuracy or (rough and fall.size <= min(KINKS, ROUGH * self._accuracy)):
                return Series(scale, terms)
            if fall.size ** (DEGREES[-1] / degree) > self._accuracy:
                return None
            last = fall if degree >= FIRST else None
        return None

    def _terms(self, scale: Scale, degree: int) -> Array:
        """Coefficients (degree + 1, n, n) of the interpolant in the extrema of Chebyshev's polynomial."""
        angles = np.pi * np.arange(degree + 1) / degree
        places = np.cos(angles).tolist()
        times = [scale.t1, *(scale.time(s) for s in places[1:-1]), scale.t0]
        values = np.array([scale.slope(s) * self._at(t) for s, t in zip(places, times, strict=True)])
        transform = np.cos(np.outer(np.arange(degree + 1), angles)) * (2.0 / degree)
        transform[:, [0, -1]] *= 0.5
        transform[[0, -1]] *= 0.5
        return np.tensordot(transform, values, 1)

    def _sizes_of(self, terms: Array) -> Array:
        """Of each term (k,), relative to the largest of a row, or to one that would change it by its size."""
        rows = (np.abs(terms) * self._sizes).max(axis=2)
        whole = np.maximum(rows.max(axis=0), 0.5 * self._sizes)
        return np.asarray((rows / whole).max(axis=1, initial=0.0))

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
        t0, t1: first and last time, as places of its scale.
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
