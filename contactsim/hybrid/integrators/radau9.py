"""A method of high order for stiff arcs: the Radau IIA method of five stages, with the exact derivative of the arc."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.integrate import DenseOutput, Radau
from scipy.linalg.lapack import dgetrf, dgetrs, zgetrf, zgetrs

from ...common.arrays import Array
from .collocation import NODES, STAGES
from .tables_radau9 import (
    BETWEEN,
    CONVERGED,
    ENOUGH,
    ESTIMATE,
    FRESH,
    GROWTH,
    ITERATIONS,
    LEAST_SHARE,
    MODES,
    ORDER,
    RELAXED,
    SAFETY,
    SHRINKAGE,
    TO_SERIES,
    modes,
)


class _Factors:
    """The factorised matrix rate I - J of a rate, real or complex."""

    def __init__(self, rate: complex, J: Array) -> None:
        real = not rate.imag
        factorise, self._solve = (dgetrf, dgetrs) if real else (zgetrf, zgetrs)
        matrix = np.negative(J, dtype=float if real else complex)
        matrix[np.diag_indices(len(J))] += rate.real if real else rate
        self._real = real
        self._lu, self._pivots, _ = factorise(matrix, overwrite_a=True)

    def solve(self, right: Array) -> Array:
        """(rate I - J)^-1 right, of whose right side a real rate takes the real part."""
        return self._solve(self._lu, self._pivots, right.real if self._real else right)[0]


class Collocation(DenseOutput):
    """The polynomial of a step: y(t_old + s h) = y_old + q_1 s + ... + q_5 s^5.

    Args:
        t_old, t: ends of the step [s].
        y_old: state at its start (n,).
        stages: what the state has changed by at the nodes (s, n).
    """

    order = STAGES

    def __init__(self, t_old: float, t: float, y_old: Array, stages: Array) -> None:
        super().__init__(t_old, t)
        self._step, self._y_old, self._series = t - t_old, y_old, TO_SERIES @ stages

    def _call_impl(self, t: Any) -> Array:
        s = (np.asarray(t) - self.t_old) / self._step
        powers = s[..., None] ** np.arange(1, STAGES + 1)
        rise = powers @ self._series
        return self._y_old + rise if s.ndim == 0 else (self._y_old + rise).T

    @property
    def last_rate(self) -> Array:
        """Rate (n,) at the end of the step."""
        return np.arange(1, STAGES + 1) @ self._series / self._step


class Radau9(Radau):
    """The Radau IIA method of five stages: of order 9, L-stable, with a dense output and an error estimate of order 5.

        Z_i = h sum_j a_ij f(t + c_j h, y + Z_j),

    is solved by Newton's method with one derivative for all stages, one real and two complex systems of size n. Where a
    tolerance is sharp its steps are several times as long as those of methods of lower order, of which SciPy's `Radau`
    is one; arguments and attributes are those of that class, but for a derivative that is sparse.

    Decays of a slip that turns go with one over its speed, which grows or falls many times in a step. So the derivative
    at a stage is taken as J / p_i, p_i = 1 + g c_i h: its equations times p_i have J in common, and p_i in the matrix.

    Source: Hairer and Wanner, Solving Ordinary Differential Equations II, IV.8; the same, Stiff differential equations
    solved by Radau methods, J. Comp. Appl. Math. 111, 1999.

    Attributes:
        floor: rounding of the stages, in the unit of each; Newton's method has converged where it changes them by less.
        growth: g, pace at which the scale of the fastest decay grows from where a step starts [1/s]; zero: it stays.
        collocates: what tells it from other methods, where none of them is loaded.
    """

    floor: float = 0.0
    collocates = True

    t: float
    y: Array
    f: Array
    J: Array
    h_abs: float
    h_abs_old: float | None
    error_norm_old: float | None
    current_jac: bool
    sol: Any
    jac_factor: Any
    growth: float = 0.0
    _modes, _shares = MODES, np.ones(STAGES)
    _factors: list[_Factors] | None = None
    _filter: _Factors
    _factored: float = 0.0  # step of these

    def _step_impl(self) -> tuple[bool, str | None]:
        smallest = 10.0 * abs(float(np.nextafter(self.t, self.direction * np.inf)) - self.t)
        h_abs = max(self.h_abs, smallest)
        if h_abs > self.max_step:
            h_abs, self.h_abs_old, self.error_norm_old = self.max_step, None, None
        rejected = False
        while h_abs >= smallest:
            end = self.t + h_abs * self.direction
            if self.direction * (end - self.t_bound) > 0.0:
                end, self._factors = self.t_bound, None
            h = end - self.t
            h_abs = abs(h)
            found = self._newton(h)
            if found is None:
                h_abs, self._factors = 0.5 * h_abs, None
                continue
            stages, iterations, rate = found
            error = self._error(h, stages, rejected)
            safety = SAFETY * (2 * ITERATIONS + 1) / (2 * ITERATIONS + iterations)
            factor = self._factor(h_abs, error)
            if error > 1.0:
                h_abs *= max(SHRINKAGE, safety * factor)
                rejected, self._factors = True, None
                continue
            self._accept(h, end, stages, error, min(GROWTH, safety * factor), iterations > 2 and rate > FRESH)
            return True, None
        return False, self.TOO_SMALL_STEP

    def _newton(self, h: float) -> tuple[Array, int, float] | None:
        """Stages (s, n), iterations and rate of convergence; None where a shorter step is needed."""
        while True:
            if self._factors is None or self._factored != h:
                self._factorise(h)
            found = self._iterate(h)
            if found is not None or self.current_jac:
                return found
            self.J, self.current_jac, self._factors = self.jac(self.t, self.y, self.f), True, None

    def _factorise(self, h: float) -> None:
        self._factored, plain = h, not self.growth
        self._shares = np.maximum(1.0 + self.growth * h * NODES, LEAST_SHARE)
        self._modes = MODES if plain else modes(self._shares)
        self._factors = [_Factors(rate, self.J) for rate in self._modes.rates / h]
        self._filter = self._factors[0] if plain else _Factors(MODES.rates[0].real / h, self.J)

    def _iterate(self, h: float) -> tuple[Array, int, float] | None:
        times = self.t + h * NODES
        stages = np.zeros((STAGES, self.n)) if self.sol is None else self.sol(times).T - self.y
        scale = self.atol + np.abs(self.y) * self.rtol
        modes, factors = self._modes, self._factors or []
        found = modes.into @ stages
        size_before = rate = None
        for k in range(1, ITERATIONS + 1):
            fields = np.array([self.fun(t, self.y + stage) for t, stage in zip(times, stages, strict=True)])
            if not np.isfinite(fields).all():
                return None
            missed = modes.into @ (self._shares[:, None] * fields) - (modes.rates / h)[:, None] * found
            change = np.array([factor.solve(right) for factor, right in zip(factors, missed, strict=True)])
            moved = (modes.back @ change).real
            size = float(np.sqrt(np.mean((moved / scale) ** 2)))
            if 0.0 < float(np.abs(moved).max()) <= self.floor:
                return stages + moved, k, rate or 0.0
            rate = size / size_before if size_before else None
            if rate is not None and (rate >= 1.0 or rate ** (ITERATIONS - k) / (1.0 - rate) * size > CONVERGED):
                return None
            found, stages, size_before = found + change, stages + moved, size
            if size == 0.0 or (rate is not None and rate / (1.0 - rate) * size < CONVERGED):
                return stages, k, rate or 0.0
        return None

    def _error(self, h: float, stages: Array, rejected: bool) -> float:
        """Norm of the estimated error over the tolerance, at the end of the step and within it.

        That of the end is filtered from stiff parts, a second time after a rejection. The polynomial knows nothing of
        stiffness: its error is read off the rate at the start, which it does not meet. The rate there is that of the
        step before: the field itself is too sensitive to what is left of the error of a stiff state.
        """
        rest = MODES.rates[0].real / h * (ESTIMATE @ stages)
        error = self._filter.solve(self.f + rest)
        scale = self.atol + np.maximum(np.abs(self.y), np.abs(self.y + stages[-1])) * self.rtol
        norm = float(np.sqrt(np.mean((error / scale) ** 2)))
        if norm > 1.0 and (rejected or self.sol is None):
            error = self._filter.solve(self.fun(self.t, self.y + error) + rest)
            norm = float(np.sqrt(np.mean((error / scale) ** 2)))
        if self.sol is None and norm <= 1.0 and self._relaxes(h, stages[-1]):
            return np.inf
        if self.sol is not None:
            bent = BETWEEN * (h * self.sol.last_rate - TO_SERIES[0] @ stages)
            norm = max(norm, float(np.sqrt(np.mean((bent / scale) ** 2))))
        return norm if np.isfinite(norm) else np.inf

    def _relaxes(self, h: float, moved: Array) -> bool:
        """Whether the field is far stiffer where a first step starts than at its end, as where a slip begins.

        The estimate knows nothing of what such a step is too long for. Only an exact derivative is asked.
        """
        if self.jac is None or self.jac_factor is not None:
            return False
        end = self.y + moved
        there, here = self.jac(self.t + h, end, self.fun(self.t + h, end)), float(np.linalg.norm(self.J))
        return abs(h) * here > 1.0 and here > RELAXED * float(np.linalg.norm(there))

    def _factor(self, h_abs: float, error: float) -> float:
        """By how much the next step may be longer, from the last two errors (Gustafsson)."""
        if error == 0.0:
            return GROWTH
        trend = 1.0
        if self.error_norm_old and self.h_abs_old:
            trend = min(1.0, h_abs / self.h_abs_old * (self.error_norm_old / error) ** (1.0 / ORDER))
        return float(trend * error ** (-1.0 / ORDER))

    def _accept(self, h: float, end: float, stages: Array, error: float, factor: float, renew: bool) -> None:
        """Go on to the end of a step."""
        t_old, y_old = self.t, self.y
        self.h_abs_old, self.error_norm_old = abs(h), error
        self.y_old, self.t, self.y = y_old, end, y_old + stages[-1]
        self.f = self.fun(self.t, self.y)
        self.sol = Collocation(t_old, end, y_old, stages)
        factor = 1.0 if 1.0 <= factor < ENOUGH and not renew else factor
        self.h_abs = abs(h) * factor
        renew = renew and self.jac is not None
        self.current_jac = self.jac is None  # a derivative that is a constant matrix is never out of date
        if renew:
            self.J, self.current_jac = self.jac(self.t, self.y, self.f), True
        elif self.growth:
            self.J = self.J / self._shares[-1]
        if renew or factor != 1.0 or self.growth:
            self._factors = None

    def _dense_output_impl(self) -> Collocation:
        return self.sol
