"""Parameters of a system from what was measured of its runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..analysis.parameter_family import is_system, member
from ..common.arguments import ANY_NUMBERS, COUNT, NAME, POSITIVE, REAL, arguments, function, optional, several
from ..common.arrays import Array
from ..common.lazy import dataclass, scipy
from ..common.representation import Brief
from ..derivatives.run_derivative import RunDerivative
from ..errors import ContactSimError, InputError
from ..hybrid.differences import tangent_derivative
from ..hybrid.mode_directions import space_of
from ..hybrid.outcomes import Status
from ..hybrid.simulate import simulate
from ..hybrid.system import HybridSystem
from ..hybrid.tolerances import TOLERANCES, Tolerances
from ..hybrid.trajectory import Trajectory

NAMES = several(NAME, "a list of names of parameters")
UNTOLD = 1e-10  # effect of a parameter of its own size, relative to the largest one, that is rounding
BLIND = 1e-8  # singular values of the scaled Jacobian below this share of the largest belong to what cannot be told
PART = 0.05  # entries of a direction that is told are at least this large
HORIZONS = (0.2, 0.4, 0.6, 0.8)  # shares of the measurements that are fitted first, roughly
ROUGH = 1e-2  # relative decrease of the sum of squares at which that ends
FORESEEN = 2.0  # mean square of what is new in a part, relative to that of what was fitted, with which it needs no fit
OF_ROUGH_RUNS = Tolerances(rtol=1e-5, atol=1e-7)  # where the user gives none: derivatives do without exact runs
OF_VARIATIONS = Tolerances(rtol=1e-3, atol=1e-6)  # of the Jacobian, by which steps are directed,
OF_ROUGH_VARIATIONS = Tolerances(rtol=1e-2, atol=1e-5)  # and of those of rough fits
# Change of all values, relative to their sizes, over which a Jacobian is kept: where J is off by a share, a root of
# J^T r is off by that share of a standard deviation.
KEPT, KEPT_ROUGHLY = 1e-3, 1e-2


@dataclass(frozen=True, repr=False)
class Fit(Brief):
    """Parameters that fit what was measured best.

    Attributes:
        values: {name: value}.
        covariance: of the values (k, k), s^2 (J^T J)^+ with the variance s^2 of the weighted residuals; infinite on the
            diagonal for parameters that take part in what cannot be identified.
        residuals: measured less computed, weighted (N,).
        unidentified: {name: share} of each combination of parameters that changes nothing of what was measured.
        runs: simulations that were made.
        derivatives: of them those of which a Jacobian was taken, each in one pass for all parameters.
        trajectory: the run with the values.
        system: the system with them.
        message: how the search ended, and what cannot be identified.
    """

    values: Mapping[str, float]
    covariance: Array
    residuals: Array
    unidentified: tuple[Mapping[str, float], ...]
    runs: int
    derivatives: int
    trajectory: Trajectory
    system: HybridSystem
    message: str

    @property
    def deviations(self) -> dict[str, float]:
        """Standard deviations {name: sigma} of the values."""
        return dict(zip(self.values, np.sqrt(np.diag(self.covariance)).tolist(), strict=True))


@arguments(
    names=NAMES,
    times=ANY_NUMBERS,
    measured=ANY_NUMBERS,
    output=optional(function("a function of the state that returns what was measured")),
    t0=REAL,
    tolerances=optional(TOLERANCES),
    accuracy=POSITIVE,
    max_runs=COUNT,
)
def fit(
    system_of: Any,
    names: Sequence[str],
    times: Any,
    measured: Any,
    state: Any,
    *,
    start: Any = None,
    output: Callable[[Any], Any] | None = None,
    sigma: Any = 1.0,
    t0: float = 0.0,
    tolerances: Tolerances | None = None,
    accuracy: float = 1e-8,
    max_runs: int = 100,
) -> Fit:
    """Parameters with which a run comes closest to what was measured, in least squares.

    Minimises sum |(z_k - h(x(t_k; p))) / sigma|^2 by scipy's trust-region method, with the exact Jacobian by all
    parameters in one pass along the run, through its events; that of values which differ by less than a thousandth is
    kept. The first fifth of the measurements is fitted roughly, then two fifths and so on: a run that is far off has
    lost count of the bounces at its end, and is in step where it is only a little longer than one that fits. A
    part that is met as well as the one before needs no fit. Values that the system refuses (a negative mass) make a
    step shorter.

    Args:
        system_of: the system, whose parameters are changed by name and give the first values; or (*values) -> system.
        names: of the parameters (k).
        times: of the measurements (T,) [s], none before `t0`.
        measured: (T, m) what `output` returns, where NaN was not measured; or plain states (T, size).
        state: the start, the same for all values, or a function of the system.
        start: first values (k,); None: those of the system.
        output: h(state) -> (m,); None: the state itself, its difference taken on the manifold.
        sigma: standard deviation of the noise, one for all or (m,); what is left over scales the covariance.
        t0: time of the start [s].
        tolerances: of the runs.
        accuracy: relative change of values and of the sum of squares at which the search ends.
        max_runs: runs at most.

    Returns:
        `values`, `covariance`, `runs`, and in `unidentified` and `message` what the measurements do not tell.

    Raises:
        InputError: sizes do not fit, there is no such parameter, or the run with the first values stops early.
    """
    return _Search(system_of, names, times, measured, state, start, output, sigma, t0, tolerances).fitted(
        accuracy, max_runs
    )


class _NothingLeft(Exception):
    """A search has come to values that no step makes better by more than its accuracy."""

    def __init__(self, **found: Any) -> None:
        super().__init__()
        self.result = scipy.optimize.OptimizeResult(
            message="No step lowers the sum of squares by more than the accuracy.", **found
        )


class _Search:
    """Residuals and Jacobians of runs, each run made once."""

    def __init__(
        self,
        system_of: Any,
        names: Sequence[str],
        times: Array,
        measured: Array,
        state: Any,
        start: Any,
        output: Callable[[Any], Any] | None,
        sigma: Any,
        t0: float,
        tolerances: Tolerances | None,
    ) -> None:
        self._system_of, self._names, self._state, self._output = system_of, tuple(names), state, output
        self._times, self._t0, self._tolerances = np.atleast_1d(times), t0, tolerances
        self._first = self._first_values(start)
        self._measured = np.atleast_1d(measured)
        self._check()
        self._measured = self._measured.reshape(len(self._times), -1)
        self._weights = 1.0 / np.asarray(ANY_NUMBERS.check("sigma", sigma), dtype=float)
        self.runs = self.derivatives = 0
        self._known: tuple[Array, Trajectory | None] | None = None
        self._own: Tolerances | None = None
        self._residuals = np.empty(0)  # those that were asked for last
        self._taken: tuple[Array, float, Array] | None = None  # the last Jacobian: its values, squares there, itself
        self._accuracy = 0.0  # of the search

    def _first_values(self, start: Any) -> Array:
        if start is not None:
            given = np.atleast_1d(np.asarray(ANY_NUMBERS.check("start", start), dtype=float))
            if given.shape != (len(self._names),):
                raise InputError(f"start has shape {given.shape}; give one value for each of {', '.join(self._names)}")
            return given
        if not is_system(self._system_of):
            raise InputError("system_of is a function, which has no values to begin with; give start=[...]")
        return np.array([self._system_of.parameter(name) for name in self._names])

    def _check(self) -> None:
        if not self._names:
            raise InputError("there are no names of parameters; give one at least")
        if np.any(np.diff(self._times) <= 0.0) or self._times[0] < self._t0 or not np.isfinite(self._times).all():
            raise InputError(f"the times have to grow, and to begin at t0 = {self._t0:.6g} s or later; sort them")
        if len(self._measured) != len(self._times):
            raise InputError(f"measured has {len(self._measured)} rows; give one for each of {len(self._times)} times")

    # --- runs -------------------------------------------------------------------------------------------------

    def system(self, values: Array) -> HybridSystem:
        """The system with some values."""
        return member(self._system_of, self._names, tuple(values.tolist()))

    def run(self, values: Array) -> Trajectory:
        """The run with some values.

        Raises:
            ContactSimError: it stops early, or the system refuses the values.
        """
        if self._known is not None and np.array_equal(self._known[0], values):
            return self._known[1]  # type: ignore[return-value]
        system = self.system(values)
        state = self._state(system) if callable(self._state) else self._state
        self.runs += 1
        end = max(float(self._times[-1]), np.nextafter(self._t0, np.inf))
        run = simulate(system, state, (self._t0, end), tolerances=self._tolerances or self._own)
        if run.status is not Status.FINISHED:
            raise InputError(f"the run with {self._told(values)} stops: {run.message}")
        self._known = values.copy(), run
        return run

    def _told(self, values: Array) -> str:
        return ", ".join(f"{name} = {value:.6g}" for name, value in zip(self._names, values, strict=True))

    def residuals(self, values: Array) -> Array:
        """Measured less computed, weighted (N,); infinity where there is no run."""
        try:
            run = self.run(values)
        except ContactSimError:
            if self._known is None:
                raise
            return np.full(int(np.isfinite(self._measured).sum()), np.inf)
        rows = [self._missed(run, t, z) for t, z in zip(self._times, self._measured, strict=True)]
        self._residuals = self._kept(np.array(rows))
        return self._residuals

    def _missed(self, run: Trajectory, t: float, z: Array) -> Array:
        """z (-) h(x(t)) (m,)."""
        arc = run.arc_at(t)
        x = arc(t)
        if self._output is not None:
            return z - self._told_by(run, x, len(z))
        if len(z) != len(x):
            raise InputError(f"measured has {len(z)} columns, and a state {len(x)} numbers; give output=h(state)")
        if not np.isfinite(z).all():
            raise InputError("a state was measured in part, and has no difference; give output=h(state)")
        return space_of(arc.system, arc.mode, x).difference(x, z)

    def _told_by(self, run: Trajectory, x: Array, size: int) -> Array:
        assert self._output is not None
        given: Any = self._output(run.system.state(x))
        found = np.atleast_1d(np.asarray(given, dtype=float))
        if found.shape != (size,):
            raise InputError(f"output(state) has shape {found.shape}, and a row of measured {(size,)}")
        return found

    def _kept(self, rows: Array) -> Array:
        """The entries (N, ...) of rows (T, m, ...) that were measured, weighted."""
        weights = self._weights if self._weights.ndim == 0 else self._weights.reshape(-1, *[1] * (rows.ndim - 2))
        flat = (rows * weights).reshape(-1, *rows.shape[2:])
        mask = np.isfinite(self._measured).ravel() if self._output is not None else slice(None)
        return np.asarray(flat[mask])

    def jacobian(self, values: Array) -> Array:
        """D_p of the residuals (N, k); the last one where the values are close by, or a rough fit ends with them.

        Raises:
            _NothingLeft: no step from there is worth a run.
        """
        squares = float(self._residuals @ self._residuals)
        if self._taken is None or not self._will_do(values, squares, *self._taken[:2]):
            self._taken = values.copy(), squares, self._jacobian(values)
        J = self._taken[2]
        if _worth(J, self._residuals) <= self._accuracy * squares:
            raise _NothingLeft(x=values.copy(), fun=self._residuals, jac=J)
        return J

    def _will_do(self, values: Array, squares: float, before: Array, squares_before: float) -> bool:
        """True where a Jacobian at the values `before`, with that sum of squares, is good enough."""
        if self._own is not None and squares_before - squares < ROUGH * squares_before:
            return True
        kept = KEPT if self._own is None else KEPT_ROUGHLY
        return bool(np.all(np.abs(values - before) <= kept * np.abs(before)))

    def _jacobian(self, values: Array) -> Array:
        """The same, taken along the run."""
        run = self.run(values)
        self.derivatives += 1
        tolerances = OF_VARIATIONS if self._own is None else OF_ROUGH_VARIATIONS
        variations = RunDerivative(run, self._names, tolerances).parameters(self._names, self._times)
        J = self._kept(np.array([self._row(run, t, dx) for t, dx in zip(self._times, variations, strict=True)]))
        relative = np.linalg.norm(J, axis=0) * np.maximum(np.abs(values), np.abs(self._first))
        J[:, relative <= UNTOLD * relative.max(initial=0.0)] = 0.0  # rounding, which scaling would make a direction
        return J

    def _row(self, run: Trajectory, t: float, dx: Array) -> Array:
        """-D h dx (m, k)."""
        if self._output is None:
            return -dx
        arc = run.arc_at(t)
        x = arc(t)
        space, size = space_of(arc.system, arc.mode, x), self._measured.shape[1]
        return -tangent_derivative(lambda point: self._told_by(run, point, size), space, x) @ dx

    # --- the search -------------------------------------------------------------------------------------------

    def _searched(self, values: Array, accuracy: float, most: int) -> Any:
        """Least squares of what is measured within the present horizon."""
        self.run(values)
        self._taken, self._accuracy = None, accuracy
        try:
            return scipy.optimize.least_squares(
                self.residuals,
                values,
                self.jacobian,
                x_scale="jac",
                xtol=accuracy,
                ftol=accuracy,
                gtol=accuracy,
                max_nfev=most,
            )
        except _NothingLeft as found:
            return found.result

    def _foreseen(self, values: Array, fitted: int) -> bool:
        """True where the rows after the first `fitted` ones are met as well as these, in the mean square."""
        missed = self.residuals(values)
        first = fitted * len(missed) // len(self._times)
        if self._output is not None:
            first = int(np.isfinite(self._measured[:fitted]).sum())
        old, new = missed[:first], missed[first:]
        return bool(new @ new * len(old) <= FORESEEN * (old @ old) * len(new))

    def fitted(self, accuracy: float, most: int) -> Fit:
        """The best values."""
        whole, values = (self._times, self._measured), self._first
        self._own, fitted = OF_ROUGH_RUNS, 0
        for share in HORIZONS:
            count = int(share * len(whole[0]))
            if count > len(self._names):
                self._times, self._measured, self._known = whole[0][:count], whole[1][:count], None
                if not fitted or not self._foreseen(values, fitted):
                    values, fitted = self._searched(values, ROUGH, most).x, count
        self._times, self._measured, self._known, self._own = *whole, None, None
        found = self._searched(values, accuracy, most)
        values, J = found.x, found.jac
        covariance, blind = _spread(J, found.fun)
        unidentified = tuple(_combination(self._names, direction) for direction in blind)
        lost = "; ".join(", ".join(f"{name} ({share:.2g})" for name, share in u.items()) for u in unidentified)
        message = found.message if not lost else f"{found.message} What was measured does not tell {lost}."
        return Fit(
            dict(zip(self._names, values.tolist(), strict=True)),
            covariance,
            found.fun,
            unidentified,
            self.runs,
            self.derivatives,
            self.run(values),
            self.system(values),
            message,
        )


def _worth(J: Array, residuals: Array) -> float:
    """By how much the step of Gauss and Newton is foreseen to lower the sum of squares."""
    scale = np.linalg.norm(J, axis=0)
    scaled = J / np.where(scale > 0.0, scale, 1.0)
    return float(residuals @ (scaled @ np.linalg.lstsq(scaled, residuals, rcond=BLIND)[0]))


def _spread(J: Array, residuals: Array) -> tuple[Array, Array]:
    """Covariance (k, k) of the values, and the directions (b, k) that the residuals do not tell."""
    scale = np.linalg.norm(J, axis=0)
    scale = np.where(scale > 0.0, scale, 1.0)
    _, values, V = np.linalg.svd(J / scale, full_matrices=True)
    values = np.append(values, np.zeros(len(V) - len(values)))
    told = values > BLIND * max(float(values[0]), np.finfo(float).tiny)
    variance = float(residuals @ residuals) / max(len(residuals) - int(told.sum()), 1)
    root = V[told].T / values[told] / scale[:, None]
    covariance = variance * root @ root.T
    blind = V[~told] / scale
    blind = blind / np.linalg.norm(blind, axis=1, keepdims=True)
    lost = np.any(np.abs(blind) > PART, axis=0)
    covariance[lost, lost] = np.inf
    return covariance, blind


def _combination(names: Sequence[str], direction: Array) -> dict[str, float]:
    return {name: float(part) for name, part in zip(names, direction, strict=True) if abs(part) > PART}
