"""Dormand and Prince's method of eighth order, with a dense output that is quick at single times."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.integrate import DOP853

from ...common.arrays import Array
from ..flow import Stages
from ..segments import Interpolant853
from .tables853 import BRIEF, COEFFICIENTS, FIFTH, MAX_FACTOR, MIN_FACTOR, OFF, OVERSHOT, SAFETY, THIRD, TIMES, Lower


class Dop853(DOP853):
    """SciPy's DOP853, with `Interpolant853` and with stages that call the rate directly.

    The method, its coefficients and its choice of steps are SciPy's, but for steps far beyond the edge of stability.
    The loop over the stages is written out, on views that are made once, since an event-driven run takes most of its
    time there.
    """

    K: Array
    B: Array
    t: float
    y: Array
    f: Array
    t_old: float
    y_old: Array
    h_abs: float
    h_previous: float

    def __init__(
        self, fun: Callable[[float, Array], Array], t0: float, y0: Array, t_bound: float, **options: Any
    ) -> None:
        super().__init__(fun, t0, y0, t_bound, **options)
        self._rate = fun
        stages = zip(self.A[1:], self.C[1:].tolist(), strict=True)
        self._stages = [(s, self.K[:s].T, a[:s].copy(), c) for s, (a, c) in enumerate(stages, start=1)]
        self._all, self._last = self.K[:-1].T, self.y
        self.whole: Stages | None = None  # the rates of a step by one call
        self.evaluations = 0  # made so
        self.lower: Lower | None = None  # that is tried first for the next step, as it is short
        self._taken: tuple[Lower, Array] | None = None  # by which the last step was made, and its rates
        self._points = np.empty_like(self.K_extended)
        extra = zip(self.A_EXTRA, self.C_EXTRA.tolist(), strict=True)
        self._extra = [(s, self.K_extended[:s].T, a[:s].copy(), c) for s, (a, c) in enumerate(extra, start=len(self.K))]

    def _step_impl(self) -> tuple[bool, str | None]:
        t, y, scale_old = self.t, self.y, np.abs(self.y)
        smallest = 10.0 * abs(float(np.nextafter(t, self.direction * np.inf)) - t)
        length = min(max(self.h_abs, smallest), self.max_step)
        rejected = False
        fits = self.lower is THIRD or (self.lower is FIFTH and self.whole is None)  # whose stages cost less by one call
        if self.lower is not None and fits and length >= smallest and self._lower_step(self.lower, length):
            return True, None
        self._taken = None
        while True:
            if length < smallest:
                return False, self.TOO_SMALL_STEP
            end = t + length * self.direction
            if self.direction * (end - self.t_bound) > 0:
                end = self.t_bound
            h = end - t
            length = abs(h)
            y_new, f_new = self._stepped(t, y, h)
            scale = self.atol + np.maximum(scale_old, np.abs(y_new)) * self.rtol
            error = self._estimate_error_norm(self.K, h, scale)
            if error < 1.0 and not self._overshoots(y_new, h, scale):
                break
            length *= MIN_FACTOR if error < 1.0 else max(MIN_FACTOR, SAFETY * error**self.error_exponent)  # or NaN
            rejected = True
        factor = MAX_FACTOR if error == 0.0 else min(MAX_FACTOR, SAFETY * error**self.error_exponent)
        self.h_previous, self.y_old = h, y
        self.t, self.y, self.f = end, y_new, f_new
        self.h_abs = length * (min(1.0, factor) if rejected else factor)
        return True, None

    def _overshoots(self, y_new: Array, h: float, scale: Array) -> bool:
        """Whether a step is too long for a decay, though its error seems to be small: its dense output is not.

        What a decay leaves from the start of an arc may be almost nothing: then the end of a step far beyond the edge
        of stability is well, but not the rates of its stages, which the dense output weighs with large numbers.
        """
        apart, moved = self.K[-1] - self.K[-2], y_new - self._last
        distance, rates = float(moved @ moved), float(apart @ apart)
        if not (distance > 0.0 and rates * h * h > OVERSHOT**2 * distance):
            return False
        missed = h * apart / scale
        return float(missed @ missed) > OFF**2 * len(scale)

    def _lower_step(self, method: Lower, length: float) -> bool:
        """A step by a method of a lower order, whose error is far below the tolerance; False: it is too long for that.

        Four or seven evaluations, with its dense output, take the place of fifteen.
        Source: Hairer, Norsett, Wanner, Solving Ordinary Differential Equations I, II.1 and II.5 f.
        """
        t, y, count, rows = self.t, self.y, len(method.times) - 1, method.coefficients
        end = t + length * self.direction
        if self.direction * (end - self.t_bound) > 0:
            end = self.t_bound
        h, rates = end - t, np.empty((count + 1, len(y)))
        rates[0] = self.f
        for s in range(1, count):
            self._last = y + h * (rows[s, :s] @ rates[:s])
            rates[s] = self._rate(t + method.times[s] * h, self._last)
        y_new = y + h * (rows[count, :count] @ rates[:count])
        rates[count] = self._rate(end, y_new)
        scale = self.atol + np.maximum(np.abs(y), np.abs(y_new)) * self.rtol
        missed = h * (method.missed @ rates) / scale
        if not float(missed @ missed) <= BRIEF**2 * len(y):
            return False
        self.K[0], self.K[-2], self.K[-1] = rates[0], rates[-2], rates[-1]
        self.h_previous, self.y_old, self._taken = h, y, (method, rates)
        self.t, self.y, self.f = end, y_new, rates[-1]
        self.h_abs = MAX_FACTOR * abs(h)
        return True

    def _stepped(self, t: float, y: Array, h: float) -> tuple[Array, Array]:
        """State and rate at the end of a step of length `h`; the rates of all stages are left in K."""
        rate, K = self._rate, self.K
        K[0] = self.f
        if self.whole is not None:
            points, end = self._points, len(K)
            self._run(self.whole, t, y, h, 1, end)
            self._last = points[end - 2]
            return points[end - 1].copy(), K[-1].copy()
        for s, before, a, c in self._stages:
            at = np.dot(before, a)
            at *= h
            at += y
            K[s] = rate(t + c * h, at)
        self._last = at
        y_new = np.dot(self._all, self.B)
        y_new *= h
        y_new += y
        f_new = rate(t + h, y_new)
        K[-1] = f_new
        return y_new, f_new

    def _run(self, whole: Stages, t: float, y: Array, h: float, first: int, last: int) -> None:
        """The rates of some stages, into K."""
        self.evaluations += last - first
        whole(COEFFICIENTS, TIMES, t, h, y, self.K_extended, self._points, first, last)

    @property
    def reach(self) -> float:
        """Estimate of h |lambda| in the last step, by the two rates at its end: stability ends at some six.

        Source: Hairer and Wanner, Solving Ordinary Differential Equations II, IV.2, and the code dop853.f.
        """
        apart, moved = self.K[-1] - self.K[-2], self.y - self._last
        distance = float(moved @ moved)
        return abs(self.h_previous) * float(np.sqrt(float(apart @ apart) / distance)) if distance > 0.0 else 0.0

    def _dense_output_impl(self) -> Interpolant853:
        K, h, f_old = self.K_extended, self.h_previous, self.K_extended[0]
        if self._taken is not None:
            method, rates = self._taken
            rise, parts = self.y - self.y_old, np.zeros((len(self.D) + 3, len(self.y)))
            parts[0], parts[1], parts[2] = rise, h * rates[0] - rise, 2.0 * rise - h * (rates[0] + rates[-1])
            parts[3] = h * (method.bend @ rates)
            return Interpolant853(self.t_old, self.t, self.y_old, parts)
        if self.whole is not None:
            self._run(self.whole, self.t_old, self.y_old, h, len(self.K), len(K))
        for s, before, a, c in self._extra if self.whole is None else ():
            K[s] = self._rate(self.t_old + c * h, self.y_old + h * np.dot(before, a))
        rise = self.y - self.y_old
        F = np.empty((len(self.D) + 3, len(rise)))
        F[0], F[1], F[2] = rise, h * f_old - rise, 2.0 * rise - h * (self.f + f_old)
        np.dot(self.D, K, out=F[3:])
        F[3:] *= h
        return Interpolant853(self.t_old, self.t, self.y_old, F)
