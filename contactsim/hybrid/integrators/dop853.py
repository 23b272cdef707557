"""Dormand and Prince's method of eighth order, with a dense output that is quick at single times."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.integrate import DOP853, DenseOutput

from ...common.arrays import Array


class Interpolant853(DenseOutput):
    """SciPy's dense output of a step of DOP853 for one time as a single product; events are located with it.

        y(t) = y_old + s F_0 + s (1 - s) F_1 + s^2 (1 - s) F_2 + ...,  s = (t - t_old) / h.

    Source: Hairer, Norsett, Wanner, Solving Ordinary Differential Equations I, II.6 and the code dop853.f there.
    """

    def __init__(self, given: Any) -> None:
        super().__init__(given.t_old, given.t)
        self._given, self._step, self._y_old, self.F = given, given.h, given.y_old, given.F

    def __call__(self, t: Any) -> Array:
        """State (n,) at a time, or (n, m) at times (m,)."""
        if not isinstance(t, float):
            return self._given(t)
        s = (t - self.t_old) / self._step
        r = 1.0 - s
        b = s * r
        c, d = b * s, b * b
        e, f = d * s, d * b
        return self._y_old + np.array((s, b, c, d, e, f, f * s)) @ self.F


class Dop853(DOP853):
    """SciPy's DOP853, with `Interpolant853`."""

    def _dense_output_impl(self) -> Interpolant853:
        return Interpolant853(super()._dense_output_impl())
