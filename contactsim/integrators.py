"""One smooth arc: adaptive steps of a SciPy method in a chart of the state's manifold, with dense output."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.integrate import BDF, DOP853, LSODA, RK23, RK45, DenseOutput, OdeSolver, Radau

from . import registry
from .errors import InputError, SimulationError, StepSizeError
from .hybrid import Array, Euclidean, Flow, Manifold
from .stiff import Radau9
from .tolerances import Tolerances


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
        self._step, self._y_old = t - t_old, y_old
        rise, first, last = y - y_old, self._step * f_old, self._step * f
        self._powers = np.array([first, 3.0 * rise - 2.0 * first - last, first + last - 2.0 * rise])

    def _call_impl(self, t: Any) -> Array:
        s = (np.asarray(t) - self.t_old) / self._step
        one, two, three = self._powers if s.ndim == 0 else self._powers[:, :, None]
        rise = s * (one + s * (two + s * three))
        return self._y_old + rise if s.ndim == 0 else self._y_old[:, None] + rise


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


METHODS: dict[str, type[OdeSolver]] = {
    "DOP853": Dop853,
    "RK45": RK45,
    "RK23": RK23,
    "RK4": RK4,
    "Radau": Radau,
    "Radau9": Radau9,
    "BDF": BDF,
    "LSODA": LSODA,
}

IMPLICIT = ("Radau", "Radau9", "BDF", "LSODA")  # methods that use the derivative of the rate
FIRM = ("LSODA",)  # methods that keep the longest step they were made with
SHORTER = 0.5  # share of it below which a longest step makes a new start of such a method worth its while

# A step is asked for this share of the tolerance, so that the dense output, one order below the step, stays within it.
STEP_SHARE = 0.1
SHORT = 0.05  # share of the step that the tolerance allows: to the eighth power, what DOP853's interpolant misses of it
SPENT_853, SPENT = 8, 3  # orders in the step by which DOP853, and any other method at least, foretell an error
SLIVER = 1e-9  # share of a fixed step by which the last one may be longer, instead of leaving that much to another


def method(name: str, tolerances: Tolerances | None = None) -> type[OdeSolver]:
    """The stepper class called `name`, of SciPy, of this module or of a plugin.

    Raises:
        InputError: no such method (the known ones are listed), or `tolerances` give no step to one with a fixed step.
    """
    if name not in METHODS and name in (plugins := registry.names("integrators")):
        return registry.load("integrators", name)
    if name not in METHODS:
        raise InputError(f"no integrator '{name}'; choose one of {', '.join([*METHODS, *plugins])}")
    if name == "RK4" and tolerances is not None and math.isinf(tolerances.max_step):
        raise InputError(NO_STEP)
    return METHODS[name]


@dataclass(frozen=True)
class Segment:
    """One accepted step: the state at any t in [t0, t1] is base (+) chart(t).

    A fresh step also knows the state at its end and the guards there.

    Attributes:
        start: the state at its start.
        miss: how much of the tolerance of a step its interpolant misses at most, by the estimate of the method.
    """

    t0: float
    t1: float
    base: Array
    chart: Callable[[float], Array]
    space: Manifold
    end: Array | None = None
    guards: Array | None = None
    start: Array | None = None
    miss: float = 1.0

    @property
    def origin(self) -> Array:
        """Chart coordinates of its start (dim,)."""
        return self.chart._y_old if isinstance(self.chart, Interpolant853) else self.chart(self.t0)

    def __call__(self, t: float) -> Array:
        """State (size,) at `t` by the step's own interpolant; at its end that of the step itself."""
        if t == self.t1 and self.end is not None:
            return self.end
        return self.space.integrate(self.base, self.chart(t))


class Stepper:
    """Adaptive steps along one flow.

    The method sees chart coordinates dx around `base`: x = base (+) dx, so the state stays on its manifold whatever
    the method, and the method keeps its order (Munthe-Kaas' form with the exact inverse differential). A new chart is
    started where the old one gets far from its origin or where the state was projected.
    """

    def __init__(
        self,
        flow: Flow,
        space: Manifold,
        t: float,
        x: Array,
        name: str,
        tolerances: Tolerances,
        first_step: float | None,
    ) -> None:
        self.flow, self.space, self.tolerances = flow, space, tolerances
        self._method, self._implicit, self._firm = method(name), name in IMPLICIT, name in FIRM
        self.evaluations, self._longest = 0, math.inf
        self.step_size = first_step
        self._restart(t, x, math.inf)

    def _restart(self, t: float, x: Array, bound: float) -> None:
        self.t, self.x, self._base = t, x, x
        self._bound = bound
        self._solver: OdeSolver | None = None

    def _flat_rate(self, t: float, dx: Array) -> Array:
        """What `_rate` is in R^n."""
        return self._field(t, self._base + dx)

    def _rate(self, t: float, dx: Array) -> Array:
        return self.space.chart_rate(dx, self._field(t, self.space.integrate(self._base, dx)))

    def _field(self, t: float, x: Array) -> Array:
        """The rate (dim,); NaN where a trial step has left the finite numbers, so that a shorter one is tried."""
        self.evaluations += 1
        return self.flow.field(t, x) if math.isfinite(x.sum()) else np.full(self.space.dim, math.nan)

    def _jacobian(self, t: float, dx: Array) -> Array:
        """Derivative (dim, dim) of the rate in the chart, D_x f - ad(f) / 2; exact at the origin of the chart."""
        x = self.space.integrate(self._base, dx)
        matrix = np.asarray(self.flow.jacobian(t, x), dtype=float)
        bracket = self.space.bracket(self.flow.field(t, x))
        return matrix if bracket is None else matrix - 0.5 * bracket

    def _longest_step(self) -> float:
        return min(self.tolerances.max_step, self.flow.longest_step(self.t, self.x))

    def _new_solver(self, bound: float, first_step: float | None) -> OdeSolver:
        if first_step is not None:
            first_step = min(first_step, bound - self.t)
        limits: dict[str, Any] = {
            "rtol": STEP_SHARE * self.tolerances.rtol,
            "atol": STEP_SHARE * self.tolerances.atol,
            "max_step": self.tolerances.max_step,
        }
        rate = self._flat_rate if type(self.space) is Euclidean else self._rate
        if self._firm:
            limits["max_step"] = self._longest = self._longest_step()
        if self._implicit and self.flow.jacobian(self.t, self.x) is not None:
            limits["jac"] = self._jacobian
        return self._method(rate, self.t, np.zeros(self.space.dim), bound, first_step=first_step, **limits)

    def step(self, bound: float) -> Segment:
        """Take one step towards `bound`, never past it.

        Raises:
            StepSizeError: the tolerance cannot be met with a step that still moves the time.
        """
        self.flow.rebase(self.t, self.x)
        longest = self._longest_step()
        if self._solver is None or bound != self._bound or (self._firm and longest < SHORTER * self._longest):
            self._restart(self.t, self.x, bound)
            self._solver = self._new_solver(bound, self.step_size)
        self._solver.max_step = longest
        t0, base, start = self.t, self._base, self.x
        segment = self._advance(self._solver, t0, base, start)
        if self._solver.t < bound:  # the last step of a solver is cut short by the bound: not a measure of the motion
            self.step_size = getattr(self._solver, "h_abs", None) or self.step_size
        self.t, self.x = segment.t1, segment(segment.t1)
        if not self.space.within_chart(self._solver.y):
            self._restart(self.t, self.x, bound)
        return segment

    def land(self, segment: Segment, t: float) -> Segment:
        """Integrate again from the start of `segment` to exactly `t`: the end is a step's, not an interpolant's."""
        self.t, self.x = segment.t0, segment(segment.t0)
        self._restart(self.t, self.x, t)
        solver = self._new_solver(t, t - self.t)
        first = self._advance(solver, self.t, self._base, self.x)
        pieces = [first]
        while solver.t < t:
            pieces.append(self._advance(solver, solver.t, self._base))
        chart, last = Chain(tuple(pieces)), pieces[-1]
        landed = first if last is first else Segment(first.t0, t, self._base, chart, self.space, last.end, last.guards)
        self._solver = None
        self.t, self.x = t, landed(t)
        return landed

    def is_exact(self, segment: Segment, t: float) -> bool:
        """Whether a step is so short for the motion that its interpolant at `t` within it is as exact as its end."""
        within = segment.t0 < t < segment.t1 <= segment.t0 + SHORT * (self.step_size or 0.0)
        return within and isinstance(segment.chart, Interpolant853)

    def cut(self, segment: Segment, t: float) -> Segment:
        """The part of a step up to `t`, by its interpolant."""
        self.t, self.x = t, segment(t)
        return replace(segment, t1=t, end=self.x, guards=np.asarray(self.flow.guards(t, self.x), dtype=float))

    def retry(self, segment: Segment) -> None:
        """Go back to the start of `segment`, to step on from there with a quarter of its length.

        Raises:
            StepSizeError: the step would be too short to move the time.
        """
        self.step_size = 0.25 * (segment.t1 - segment.t0)
        if self.step_size <= self.tolerances.min_step * max(1.0, abs(segment.t0)):
            raise StepSizeError(f"no step ends at the event at t = {segment.t0:.12g} s; the motion is singular there")
        self._restart(segment.t0, segment(segment.t0), math.inf)

    def project(self) -> bool:
        """Put the state back on the constraints of its mode; the chart is moved with it, so that the method goes on."""
        x = self.flow.project(self.t, self.x)
        if x is self.x:
            return False
        if self._solver is None:
            self._restart(self.t, x, math.inf)
        else:
            self.x, self._base = x, self.space.integrate(x, -self._solver.y)
        return True

    def _advance(self, solver: OdeSolver, t0: float, base: Array, start: Array | None = None) -> Segment:
        with np.errstate(over="ignore", invalid="ignore"):  # a trial step that went too far is not taken
            message = solver.step()
        if solver.status == "failed":
            raise StepSizeError(
                f"the step at t = {t0:.12g} s fell below the smallest one ({message}); the motion is singular or stiff"
                " there: try integrator='Radau', or look for a force that jumps without an event",
                t=t0,
            )
        if not np.all(np.isfinite(solver.y)):
            raise SimulationError(f"the state became infinite or NaN at t = {solver.t:.12g} s", t=t0)
        # The method evaluated the field last where the step ends: there the guards cost next to nothing now.
        end = self.space.integrate(base, solver.y)
        guards = np.asarray(self.flow.guards(solver.t, end), dtype=float)
        dense = solver.dense_output()
        return Segment(t0, solver.t, base, dense, self.space, end, guards, start, _missed(solver, solver.t - t0))


def _missed(solver: OdeSolver, step: float) -> float:
    """The part of its tolerance that a step spent, by the length that the method proposes for the next one."""
    following = getattr(solver, "h_abs", None)
    if not following:
        return 1.0
    return min(1.0, (step / following) ** (SPENT_853 if isinstance(solver, DOP853) else SPENT))


@dataclass(frozen=True)
class Chain:
    """The charts of several steps, one after the other, as one."""

    pieces: tuple[Segment, ...]

    def __call__(self, t: float) -> Array:
        """Chart coordinates (dim,) at `t`, by the first step that reaches it."""
        ends = [piece.t1 for piece in self.pieces[:-1]]
        return self.pieces[bisect_left(ends, t)].chart(t)
