"""The variational equation along one arc of a trajectory."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

import numpy as np

from ..common.arrays import Array
from ..common.lazy import lazy, scipy
from ..errors import NonDifferentiableError, SimulationError, StepSizeError
from ..hybrid.chart_path import ChartPath
from ..hybrid.differences import tangent_derivative
from ..hybrid.flow import Flow
from ..hybrid.integrators import AUTOMATIC, method
from ..hybrid.integrators.collocation import solve_linear
from ..hybrid.integrators.interpolation import Interpolated, Series, Smooth, solve_explicit
from ..hybrid.manifold import Euclidean
from ..hybrid.mode_directions import flow_at
from ..hybrid.segments import Interpolant853, chart_path, starts_of
from ..hybrid.system import HybridSystem
from ..hybrid.tolerances import Tolerances
from ..hybrid.trajectory import Arc
from ..hybrid.zero import NEAR_EDGE
from .event_linearization import Parameters

PANEL = 16  # steps of a run over which the matrix of variations is interpolated at once
MOST_EXPLICIT = 100.0  # a rate, and the time for which it is followed explicitly
# Explicit steps to begin with where variations change by as much as they are; longer ones err by more than they say.
FIRST_STEPS = 3.0
LEFT_OUT = 0.1  # of a row of it, and an error of a step in it, relative to the accuracy of the variations
LOOKS = 12  # steps of an arc at which it is looked at whether they are stiff


class ArcVariation:
    """First-order behaviour of the states around one arc.

    A variation dx(t) in the tangent space at x(t) obeys d(dx)/dt = D_x f dx - ad(f) dx + D_p f dp, which is integrated
    along the stored arc with its own error control (Parker and Chua 1989, ch. 4; the bracket is that of the Lie group).

    Args:
        arc: the arc.
        parameters: what else variations are taken of, and whether of what the mode remembers; both follow the state,
            these last, and stay constant.
        tolerances: rtol and atol of the variations.
        integrator: name of the method of `dense`; `propagate` takes that of `collocation`, and so does "automatic" on
            arcs that are stiff.
    """

    def __init__(self, arc: Arc, parameters: Parameters, tolerances: Tolerances, integrator: str) -> None:
        self.arc = arc
        self._parameters = parameters
        self._tolerances, self._method, self._automatic = tolerances, method(integrator), integrator == AUTOMATIC
        self.t0, self.t1 = arc.t0, arc.t1
        self.space = arc.system.space(arc.mode) or Euclidean(len(arc(arc.t0)))
        self.remembered = tuple(parameters.remembered(arc.system, arc.mode))
        self.dim = self.space.dim + len(self.remembered) + len(parameters.names)
        self._flows: dict[int, Flow] = {}  # by segment, with the references that hold there
        self._segment = -1
        self._others: tuple[int, dict[int, tuple[HybridSystem, Flow]]] = (-1, {})
        self._last: tuple[float, Array, Array] | None = None

    @lazy
    def _starts(self) -> list[float]:
        """Times at which the steps begin [s]."""
        return starts_of(self.arc.segments)

    @lazy
    def _flow(self) -> Flow:
        """The flow with the references of the segment that was asked last."""
        return self.arc.system.flow(self.arc.mode)

    def state(self, t: float) -> Array:
        """Plain state on the arc; the flow's references are renewed where a new step begins."""
        k = max(bisect_right(self._starts, t) - 1, 0)
        segment = self.arc.segments[k]
        if k != self._segment:
            if k not in self._flows:
                self._flows[k] = self._flow.rebased(segment.t0, segment(segment.t0))
            self._flow, self._segment = self._flows[k], k
        return segment(t)

    def field(self, t: float) -> Array:
        """F (dim,) at a time of the arc, zero for what stays constant."""
        field = np.zeros(self.dim)
        field[: self.space.dim] = self._flow.field(t, self.state(t))
        return field

    def input_matrix(self, t: float) -> Array | None:
        """D_u f (dim, nu), or None where the system has no inputs."""
        x = self.state(t)
        return self._flow.input_matrix(t, x)

    def matrices(self, t: float) -> tuple[Array, Array]:
        """A = D_x f - ad(f) (n, n) and D_p f (n, dim - n), by what stays constant, at a time of the arc."""
        if self._last is None or self._last[0] != t:
            self._last = (t, *self._matrices(t))
        return self._last[1:]

    def _matrices(self, t: float) -> tuple[Array, Array]:
        x = self.state(t)
        try:
            jacobian = self._flow.jacobian(t, x)
        except np.linalg.LinAlgError as error:
            raise NonDifferentiableError(
                f"the derivative of the motion is not known at t = {t:.9g} s: {error}; start a little elsewhere"
            ) from None
        if jacobian is None:
            jacobian = tangent_derivative(lambda point: self._flow.field(t, point), self.space, x)
        bracket = self.space.bracket(self._flow.field(t, x))
        matrix = jacobian if bracket is None else jacobian - bracket
        if not self.remembered:
            return matrix, self._by_parameters(t, x)
        remembered = self.arc.system.by_remembered(self._flow, t, x)
        return matrix, np.hstack([remembered, self._by_parameters(t, x)])

    def _by_parameters(self, t: float, x: Array) -> Array:
        names = self._parameters.names
        if not names:
            return np.zeros((self.space.dim, 0))
        known = self.arc.system.field_by_parameters(self._flow, t, x, names)
        columns = [known[name] if name in known else self._by_parameter(t, x, name) for name in names]
        return np.column_stack(columns)

    def _by_parameter(self, t: float, x: Array, name: str) -> Array:
        """D_p f (n,) by one parameter, differenced."""
        start = self.arc.segments[self._segment]
        if self._others[0] != self._segment:
            self._others = self._segment, {}
        flows = self._others[1]

        def field(system: HybridSystem) -> Array:
            kept = flows.get(id(system))
            if kept is None or kept[0] is not system:
                kept = flows[id(system)] = system, flow_at(system, self.arc.mode, start.t0, start(start.t0))
            return np.array(kept[1].field(t, x), dtype=float)

        return Parameters((name,)).derivative(self.arc.system, field)[:, 0]

    def propagate(self, t0: float, t1: float, variations: Array) -> Array:
        """Variations (dim, m) at `t1` of those at `t0`, both times of the arc."""
        return self.through([t0, t1], variations)[-1]

    def through(self, times: Sequence[float], variations: Array) -> list[Array]:
        """Variations (dim, m) at each of some rising times of the arc, of those at the first one.

        Where the matrix of the equation is smooth it is interpolated; elsewhere, and where the motion is stiff, the
        equation is solved by collocation, as it is by a compiled engine.
        """
        found = [variations]
        for t0, t1 in pairwise(times):
            found.append(self._between(t0, t1, found[-1]))
        return found

    def _between(self, t0: float, t1: float, variations: Array) -> Array:
        now, tolerances = variations, (self._tolerances.rtol, self._tolerances.atol)
        if t1 > t0 and self._flow.propagated is not None and not self._parameters.names:
            compiled = self._flow.propagated(self._path, t0, t1, variations, tolerances)
            if compiled is not None:
                return compiled
        for piece in self._pieces(t0, t1):
            start, end = max(piece.t0, t0), min(piece.t1, t1)
            if piece.series is None:
                now = self._by_steps(start, end, now)
                continue
            try:
                now = self._in_series(piece.series, start, end, now)
            except StepSizeError:
                now = self._by_steps(start, end, now)  # which says in time itself where it cannot be followed
        return now

    def _in_series(self, series: Series, t0: float, t1: float, variations: Array) -> Array:
        """Variations at `t1`, in the scale of an interpolated matrix."""
        first, last = series.scale.place(t0), series.scale.place(t1)
        rate, length = series.rate, last - first
        errors = LEFT_OUT * self._tolerances.rtol, LEFT_OUT * self._tolerances.atol
        if rate * length > MOST_EXPLICIT:
            return solve_linear(series, first, last, variations, *errors, length / PANEL)
        return solve_explicit(series, first, last, variations, *errors, length / max(FIRST_STEPS * rate * length, 1.0))

    def _pieces(self, t0: float, t1: float) -> Iterator[Smooth]:
        """The intervals with the interpolated matrix that have more than an end in common with one."""
        for panel in self._panels:
            if panel.t1 > t0 and panel.t0 < t1:
                yield from (piece for piece in panel.pieces if piece.t1 > t0 and piece.t0 < t1)

    @lazy
    def _panels(self) -> list[Interpolated]:
        """The matrix, interpolated over some steps of the run at a time."""
        edges = [*self._starts, self.t1]
        cuts = [*range(0, len(self._starts), PANEL), len(self._starts)]
        accuracy = LEFT_OUT * self._tolerances.rtol
        own = [self.arc.system.parameter_scale(name) for name in self._parameters.names]
        sizes = np.concatenate([np.ones(self.dim - len(own)), own])
        return [Interpolated(self.matrix, edges[a : b + 1], accuracy, sizes) for a, b in pairwise(cuts)]

    def _by_steps(self, t0: float, t1: float, variations: Array) -> Array:
        """Variations (dim, m) at `t1` by collocation."""
        first = self.arc.segments[max(bisect_right(self._starts, t0) - 1, 0)]
        tolerances = self._tolerances
        step = max(first.t1 - t0, 0.1 * (first.t1 - first.t0))
        return solve_linear(self.matrix, t0, t1, variations, tolerances.rtol, tolerances.atol, step, scale=self._step)

    @lazy
    def _path(self) -> ChartPath:
        return chart_path(self.arc.segments)

    def _step(self, t: float) -> float:
        """Length of the step of the run at a time [s]."""
        segment = self.arc.segments[max(bisect_right(self._starts, t) - 1, 0)]
        return segment.t1 - segment.t0

    @lazy
    def stiff(self) -> bool:
        """True where the run took steps that are too long for explicit methods, since the motion decays so fast."""
        segments = self.arc.segments
        for k in np.unique(np.linspace(0, len(segments) - 1, LOOKS).astype(int)):
            duration = segments[k].t1 - segments[k].t0
            if duration > 0.0 and not isinstance(segments[k].chart, Interpolant853):
                rates = np.linalg.eigvals(self.matrices(segments[k].t1)[0]).real
                if float(-rates.min()) * duration > NEAR_EDGE:
                    return True
        return False

    def _by_collocation(self, t0: float, t1: float, variations: Array) -> Callable[[float], Array]:
        """t -> variations (dim, m), each by a step from the last one that leads no further."""
        tolerances, passed = self._tolerances, [(t0, variations)]
        solve_linear(self.matrix, t0, t1, variations, tolerances.rtol, tolerances.atol, None, passed)
        times = [t for t, _ in passed]

        def value(t: float) -> Array:
            start, known = passed[max(bisect_right(times, t) - 1, 0)]
            if t <= start:
                return known
            return solve_linear(self.matrix, start, t, known, tolerances.rtol, tolerances.atol)

        return value

    def matrix(self, t: float) -> Array:
        """A with the columns of what stays constant: (dim, dim)."""
        matrix, by_constants = self.matrices(t)
        if not by_constants.shape[1]:
            return matrix
        n = self.space.dim
        whole = np.zeros((self.dim, self.dim))
        whole[:n, :n], whole[:n, n:] = matrix, by_constants
        return whole

    def dense(self, t0: float, t1: float, variations: Array):  # type: ignore[no-untyped-def]
        """t -> variations (dim, m) between `t0` and `t1`."""
        n = self.space.dim
        fixed, width = variations[n:], variations.shape[1]
        if t1 == t0:
            return lambda t: variations
        if self._automatic and self.stiff:
            return self._by_collocation(t0, t1, variations)

        def rate(t: float, flat: Array) -> Array:
            matrix, by_constants = self.matrices(t)
            out = matrix @ flat.reshape(n, width)
            if len(fixed):
                out += by_constants @ fixed
            return out.ravel()

        solution = scipy.integrate.solve_ivp(
            rate,
            (t0, t1),
            variations[:n].ravel(),
            method=self._method,
            dense_output=True,
            rtol=self._tolerances.rtol,
            atol=self._tolerances.atol,
        )
        if not solution.success:
            raise SimulationError(f"the variations between t = {t0:.6g} s and {t1:.6g} s diverge ({solution.message})")
        return lambda t: np.vstack([solution.sol(t).reshape(n, width), fixed])
