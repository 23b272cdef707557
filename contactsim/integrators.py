"""One smooth arc: adaptive steps of a SciPy method in a chart of the state's manifold, with dense output."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.integrate import BDF, DOP853, LSODA, RK23, RK45, OdeSolver, Radau

from .errors import InputError, SimulationError, StepSizeError
from .hybrid import Array, Flow, Manifold
from .tolerances import Tolerances

METHODS: dict[str, type[OdeSolver]] = {
    "DOP853": DOP853,
    "RK45": RK45,
    "RK23": RK23,
    "Radau": Radau,
    "BDF": BDF,
    "LSODA": LSODA,
}

# A step is asked for this share of the tolerance, so that the dense output, one order below the step, stays within it.
STEP_SHARE = 0.1


def method(name: str) -> type[OdeSolver]:
    """The SciPy stepper class called `name`.

    Raises:
        InputError: no such method; the known ones are listed.
    """
    if name not in METHODS:
        raise InputError(f"no integrator '{name}'; choose one of {', '.join(METHODS)}")
    return METHODS[name]


@dataclass(frozen=True)
class Segment:
    """One accepted step: the state at any t in [t0, t1] is base (+) chart(t).

    A fresh step also knows the state at its end and the guards there.
    """

    t0: float
    t1: float
    base: Array
    chart: Callable[[float], Array]
    space: Manifold
    end: Array | None = None
    guards: Array | None = None

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
        self._method = method(name)
        self.evaluations = 0
        self.step_size = first_step
        self._restart(t, x, math.inf)

    def _restart(self, t: float, x: Array, bound: float) -> None:
        self.t, self.x, self._base = t, x, x
        self._bound = bound
        self._solver: OdeSolver | None = None

    def _rate(self, t: float, dx: Array) -> Array:
        self.evaluations += 1
        return self.space.chart_rate(dx, self.flow.field(t, self.space.integrate(self._base, dx)))

    def _new_solver(self, bound: float, first_step: float | None) -> OdeSolver:
        if first_step is not None:
            first_step = min(first_step, bound - self.t)
        limits = {
            "rtol": STEP_SHARE * self.tolerances.rtol,
            "atol": STEP_SHARE * self.tolerances.atol,
            "max_step": self.tolerances.max_step,
        }
        return self._method(self._rate, self.t, np.zeros(self.space.dim), bound, first_step=first_step, **limits)

    def step(self, bound: float) -> Segment:
        """Take one step towards `bound`, never past it.

        Raises:
            StepSizeError: the tolerance cannot be met with a step that still moves the time.
        """
        self.flow.rebase(self.t, self.x)
        if self._solver is None or bound != self._bound:
            self._restart(self.t, self.x, bound)
            self._solver = self._new_solver(bound, self.step_size)
        self._solver.max_step = min(self.tolerances.max_step, self.flow.longest_step(self.t, self.x))
        t0, base = self.t, self._base
        segment = self._advance(self._solver, t0, base)
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
        first = self._advance(solver, self.t, self._base)
        pieces = [first]
        while solver.t < t:
            pieces.append(self._advance(solver, solver.t, self._base))
        chart, last = Chain(tuple(pieces)), pieces[-1]
        landed = first if last is first else Segment(first.t0, t, self._base, chart, self.space, last.end, last.guards)
        self._solver = None
        self.t, self.x = t, landed(t)
        return landed

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

    def _advance(self, solver: OdeSolver, t0: float, base: Array) -> Segment:
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
        return Segment(t0, solver.t, base, solver.dense_output(), self.space, end, guards)


@dataclass(frozen=True)
class Chain:
    """The charts of several steps, one after the other, as one."""

    pieces: tuple[Segment, ...]

    def __call__(self, t: float) -> Array:
        """Chart coordinates (dim,) at `t`, by the first step that reaches it."""
        ends = [piece.t1 for piece in self.pieces[:-1]]
        return self.pieces[bisect_left(ends, t)].chart(t)
