"""The classical method of Runge and Kutta, with a fixed step."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.integrate import DenseOutput, OdeSolver
from scipy.interpolate import CubicHermiteSpline

from ...common.arrays import Array
from ...errors import InputError
from ..zero import SLIVER


class Hermite(DenseOutput):
    """The cubic through both ends of a step with the rates there; its error is of the order h^4, as the step's sum.

    Args:
        t_old, t: ends of the step [s].
        y_old, y: states there (n,).
        f_old, f: rates there (n,).
    """

    order = 3

    def __init__(self, t_old: float, t: float, y_old: Array, y: Array, f_old: Array, f: Array) -> None:
        super().__init__(t_old, t)
        onward = 1 if t > t_old else -1  # a spline's knots rise
        self._cubic = CubicHermiteSpline((t_old, t)[::onward], (y_old, y)[::onward], (f_old, f)[::onward])

    def _call_impl(self, t: Any) -> Array:
        return np.asarray(self._cubic(t)).T


NO_STEP = "the integrator RK4 has a fixed step; give it as Tolerances(max_step=...), or in a scene as run.max_step"


class RK4(OdeSolver):
    """The classical method of Runge and Kutta, of fourth order, with the fixed step `max_step`.

    Only a first step and the last one before the bound may be shorter: those that lead to and from an event. The
    tolerances are not looked at.

    Raises:
        InputError: the step is not finite.

    Source: Hairer, Norsett, Wanner, Solving Ordinary Differential Equations I, II.1 (table 1.2).
    """

    t: float
    y: Array

    def __init__(
        self,
        fun: Callable[[float, Array], Array],
        t0: float,
        y0: Array,
        t_bound: float,
        max_step: float = math.inf,
        rtol: float = 0.0,
        atol: float = 0.0,
        first_step: float | None = None,
        vectorized: bool = False,
    ) -> None:
        if not math.isfinite(max_step):
            raise InputError(NO_STEP)
        super().__init__(fun, t0, y0, t_bound, vectorized)
        self.max_step = max_step
        self.h_abs = min(first_step or max_step, max_step)
        self.f = self.fun(self.t, self.y)
        self._before: tuple[Array, Array] = (self.y, self.f)

    def _step_impl(self) -> tuple[bool, str | None]:
        t, y, k1 = self.t, self.y, self.f
        h = self.direction * min(self.h_abs, self.max_step)
        end = t + h
        if self.direction * (end - self.t_bound) > -SLIVER * abs(h):
            end = self.t_bound
            h = end - t
        if end == t:
            return False, self.TOO_SMALL_STEP
        k2 = self.fun(t + 0.5 * h, y + 0.5 * h * k1)
        k3 = self.fun(t + 0.5 * h, y + 0.5 * h * k2)
        k4 = self.fun(end, y + h * k3)
        self._before = y, k1
        self.t, self.y = end, y + h / 6.0 * (k1 + 2.0 * (k2 + k3) + k4)
        self.f = self.fun(self.t, self.y)
        self.h_abs = self.max_step
        return True, None

    def _dense_output_impl(self) -> Hermite:
        y_old, f_old = self._before
        return Hermite(self.t_old, self.t, y_old, self.y, f_old, self.f)
