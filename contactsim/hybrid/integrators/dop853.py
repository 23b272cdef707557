"""Dormand and Prince's method of eighth order, with a dense output that is quick at single times."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.integrate import DOP853, DenseOutput
from scipy.integrate._ivp import dop853_coefficients

from ...common.arrays import Array
from ..flow import Stages

COEFFICIENTS, TIMES = np.ascontiguousarray(dop853_coefficients.A), np.ascontiguousarray(dop853_coefficients.C)
SAFETY, MIN_FACTOR, MAX_FACTOR = 0.9, 0.2, 10.0  # of the next step, from the error of this one; those of SciPy
BRIEF = 0.1  # share of the tolerance of a step by which the midpoint rule may miss one of order three
KUTTA = np.array([[0, 0, 0], [1 / 2, 0, 0], [-1, 2, 0], [1 / 6, 4 / 6, 1 / 6]])
KUTTA_TIMES = (0.0, 0.5, 1.0)


class Interpolant853(DenseOutput):
    """SciPy's dense output of a step of DOP853 for one time as a single product; events are located with it.

        y(t) = y_old + s F_0 + s (1 - s) F_1 + s^2 (1 - s) F_2 + ...,  s = (t - t_old) / h.

    Source: Hairer, Norsett, Wanner, Solving Ordinary Differential Equations I, II.6 and the code dop853.f there.
    """

    def __init__(self, t_old: float, t: float, y_old: Array, F: Array) -> None:
        super().__init__(t_old, t)
        self._step, self.y_old, self.F = t - t_old, y_old, F

    @staticmethod
    def parts(s: Any) -> Array:
        """The functions of s that F are the coefficients of (7, ...)."""
        r = 1.0 - s
        b = s * r
        c, d = b * s, b * b
        e, f = d * s, d * b
        return np.array((s, b, c, d, e, f, f * s))

    def __call__(self, t: Any) -> Array:
        """State (n,) at a time, or (n, m) at times (m,)."""
        powers = self.parts((t - self.t_old) / self._step)
        return self.y_old + powers @ self.F if powers.ndim == 1 else self.y_old[:, None] + self.F.T @ powers


class Dop853(DOP853):
    """SciPy's DOP853, with `Interpolant853` and with stages that call the rate directly.

    The method, its coefficients and its choice of steps are SciPy's; only the loop over the stages is written out, on
    views that are made once, since an event-driven run takes most of its time there.
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
        self.brief = self._was_brief = False  # whether the next step is so short that a lower order does; the last was
        self._points = np.empty_like(self.K_extended)
        extra = zip(self.A_EXTRA, self.C_EXTRA.tolist(), strict=True)
        self._extra = [(s, self.K_extended[:s].T, a[:s].copy(), c) for s, (a, c) in enumerate(extra, start=len(self.K))]

    def _step_impl(self) -> tuple[bool, str | None]:
        t, y, scale_old = self.t, self.y, np.abs(self.y)
        smallest = 10.0 * abs(float(np.nextafter(t, self.direction * np.inf)) - t)
        length = min(max(self.h_abs, smallest), self.max_step)
        rejected = False
        if self.brief and length >= smallest and self._brief_step(length):
            return True, None
        self._was_brief = False
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
            if error < 1.0:
                break
            length *= max(MIN_FACTOR, SAFETY * error**self.error_exponent)  # NaN: the shortest
            rejected = True
        factor = MAX_FACTOR if error == 0.0 else min(MAX_FACTOR, SAFETY * error**self.error_exponent)
        self.h_previous, self.y_old = h, y
        self.t, self.y, self.f = end, y_new, f_new
        self.h_abs = length * (min(1.0, factor) if rejected else factor)
        return True, None

    def _brief_step(self, length: float) -> bool:
        """A step by Kutta's method of order three, if the midpoint rule within it agrees; False: it is too long.

        The cubic of the states and rates at its ends is its dense output: four evaluations take the place of fifteen.
        Source: Hairer, Norsett, Wanner, Solving Ordinary Differential Equations I, II.1.
        """
        t, y, K = self.t, self.y, self.K
        end = t + length * self.direction
        if self.direction * (end - self.t_bound) > 0:
            end = self.t_bound
        h = end - t
        K[0] = self.f
        for s in (1, 2):
            self._last = y + h * (KUTTA[s, :s] @ K[:s])
            K[s] = self._rate(t + KUTTA_TIMES[s] * h, self._last)
        y_new = y + h * (KUTTA[3] @ K[:3])
        scale = self.atol + np.maximum(np.abs(y), np.abs(y_new)) * self.rtol
        missed = (y + h * K[1] - y_new) / scale
        if not float(missed @ missed) <= BRIEF**2 * len(y):
            return False
        K[-2], K[-1] = K[2], self._rate(end, y_new)
        self.h_previous, self.y_old, self._was_brief = h, y, True
        self.t, self.y, self.f = end, y_new, K[-1].copy()
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
        if self._was_brief:
            rise, parts = self.y - self.y_old, np.zeros((len(self.D) + 3, len(self.y)))
            parts[0], parts[1], parts[2] = rise, h * f_old - rise, 2.0 * rise - h * (self.f + f_old)
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
