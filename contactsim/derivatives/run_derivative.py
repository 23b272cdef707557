"""The derivative of a run: those of its arcs and events, chained."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ..common.arguments import NAME, NUMBERS, arguments, custom, several
from ..common.arrays import Array
from ..common.lazy import dataclass, lazy, scipy
from ..common.representation import Brief, counted, span
from ..common.telling import tell
from ..common.threads import one_thread
from ..errors import InputError, NonDifferentiableError
from ..hybrid.differences import map_derivative
from ..hybrid.integrators import AUTOMATIC, demand
from ..hybrid.mode_directions import directions, projector, space_of
from ..hybrid.system import HybridSystem
from ..hybrid.tolerances import Tolerances
from ..hybrid.trajectory import Event, Trajectory
from .contract import EventDerivative
from .event_linearization import Parameters
from .linearized_event import EventLinearization, Panel, RememberingEvent, event_data, panel_of
from .saltation import is_identity
from .variational import ArcVariation
from .zero import SAME

Piece = ArcVariation | EventLinearization


@dataclass(frozen=True, repr=False)
class Stretch(Brief):
    """A piece of a run between two times: an arc, or an event (for which both are its time)."""

    piece: Piece
    t0: float
    t1: float


class RunDerivative:
    """Derivative of a run with respect to where it started, and to parameters.

    Variations live in the tangent space of the state: (dq, dv, dz), 2 nv numbers without memory. Those at the start of
    the run are variations of the state behind an event there (an impact at once, a changed parameter); parameters act
    in that impact, too. Those that miss what the mode there holds are followed by what remains of them once it holds
    again, see `regained`.

    Args:
        trajectory: the run.
        parameters: names of parameters whose variations follow those of the state.
        tolerances: rtol and atol of the variational equation.
        integrator: method of what is followed at all times of an arc, covariances and gains; matrices and directions
            are by collocation.
        plugins: event derivatives to take, in the order in which they are asked; None: all that are registered. One
            that fails is named in a warning and set aside.
    """

    def __init__(
        self,
        trajectory: Trajectory,
        parameters: tuple[str, ...] = (),
        tolerances: Tolerances | None = None,
        integrator: str = AUTOMATIC,
        plugins: Sequence[EventDerivative] | Panel | None = None,
    ) -> None:
        if not isinstance(trajectory, Trajectory):
            raise InputError(f"linearize needs a Trajectory, not a {type(trajectory).__name__}; run simulate first")
        demand(integrator, tolerances or Tolerances())
        self.trajectory = trajectory
        self._parameters, self._all = Parameters(parameters), Parameters(parameters, memory=True)
        self.tolerances = tolerances or Tolerances(rtol=1e-8, atol=1e-10)
        self.integrator = integrator
        self._panel = panel_of(plugins)
        self.t0, self.t1 = trajectory.arcs[0].t0, trajectory.arcs[-1].t1
        self._matrices: dict[Stretch, Array] = {}
        self._remembering: dict[Piece, Piece] = {}
        self.pieces: tuple[Piece, ...] = tuple(self._collect())

    def __repr__(self) -> str:
        system, where = type(self.trajectory.system).__name__, span(self.t0, self.t1)
        dims, events = counted(self.dim, "direction"), counted(len(self.events), "event")
        return f"{type(self).__name__}({system}, {where}, {dims}, {events})"

    # --- the pieces of a run ----------------------------------------------------------------------------------

    def _collect(self) -> list[Piece]:
        arcs, k = self.trajectory.arcs, 0
        pieces: list[Piece] = []
        while k < len(arcs):
            arc = arcs[k]
            if arc.t1 > arc.t0:
                pieces.append(ArcVariation(arc, self._parameters, self.tolerances, self.integrator))
            last = k
            while last + 1 < len(arcs) and arcs[last + 1].t0 == arcs[last + 1].t1 and arcs[last + 1].event:
                last += 1
            events = tuple(a.event for a in arcs[k : last + 1] if a.event is not None)
            if k == 0 and arc.t0 == arc.t1 and not events[0].fired:  # what `start` did to the given state
                events = events[1:]
            if events:
                behind = arcs[last + 1].system if last + 1 < len(arcs) else events[-1].system
                pieces.append(self._event(events, behind, goes_on=last + 1 < len(arcs)))
            k = last + 1
        return pieces

    def _event(self, events: tuple[Event, ...], behind: Any, goes_on: bool) -> EventLinearization:
        first = events[0]
        tolerances = first.system.tolerances or self.tolerances
        data = event_data(events, behind, goes_on, tolerances, self._parameters)
        self._panel.ask(data, lambda plugin: plugin)  # one of them accepts it
        return EventLinearization(data, self._panel, events)

    def with_memory(self, piece: Piece) -> Piece:
        """A piece as variations follow it: with what its modes remember, see `hybrid.abilities.Memories`."""
        if piece not in self._remembering:
            found: Piece = piece
            if isinstance(piece, ArcVariation):
                if piece.arc.system.remembered(piece.arc.mode):
                    found = ArcVariation(piece.arc, self._all, self.tolerances, self.integrator)
            elif piece.remembers:
                found = RememberingEvent(self._panel, piece)
            self._remembering[piece] = found
        return self._remembering[piece]

    def followed(self, t0: float | None = None, t1: float | None = None) -> Iterator[Stretch]:
        """`stretches` of pieces with what their modes remember, of which variations at the start are zero."""
        return map(self.with_memory_in, self.stretches(t0, t1))

    def with_memory_in(self, stretch: Stretch) -> Stretch:
        """A stretch of a piece `with_memory`."""
        return Stretch(self.with_memory(stretch.piece), stretch.t0, stretch.t1)

    def remembers(self, t0: float) -> bool:
        """Whether the mode at a time remembers something, which neighbours in the same state may have otherwise."""
        system, _, _, mode = self._place(t0)
        return bool(system.remembered(mode))

    def widened(self, variations: Array, t0: float | None) -> Array:
        """Variations (m, n + p) with zeros (m, n + k + p) for what the mode at a time remembers."""
        system, _, _, mode = self._place(t0)
        count, n = len(system.remembered(mode)), variations.shape[1] - len(self.carried)
        return np.insert(variations, [n] * count, 0.0, axis=1) if count else variations

    def narrowed(self, variations: Array, t1: float | None) -> Array:
        """Variations (m, n + p) at a time without what the mode there remembers."""
        n, extra = self._dim_at(self.t1 if t1 is None else t1), len(self.carried)
        count = variations.shape[1] - n - extra
        return np.delete(variations, range(n, n + count), axis=1) if count else variations

    @lazy
    def dim(self) -> int:
        """Numbers of a variation of the state at the start."""
        return self._dim_at(self.t0)

    @lazy
    def _first(self) -> ArcVariation:
        return next(piece for piece in self.pieces if isinstance(piece, ArcVariation))

    @property
    def all_events(self) -> list[EventLinearization]:
        """Every event, also those that changed nothing a user can see."""
        return [piece for piece in self.pieces if isinstance(piece, EventLinearization)]

    @property
    def carried(self) -> tuple[str, ...]:
        """Names of the parameters that are carried with the state; those of `linearize` carry none."""
        return self._parameters.names

    @property
    def events(self) -> list[EventLinearization]:
        """For each event of `trajectory.events` (but one at the start) its linearization."""
        home = {id(event): piece for piece in self.all_events for event in piece.events}
        return [home[id(event)] for event in self.trajectory.events if id(event) in home]

    def stretches(self, t0: float | None = None, t1: float | None = None) -> list[Stretch]:
        """The pieces between two times, in order; at the time of an event both limits lie behind it.

        Raises:
            InputError: the times lie outside the run, or in the wrong order.
        """
        start, end = self.t0 if t0 is None else float(t0), self.t1 if t1 is None else float(t1)
        if self.t0 <= end < start <= self.t1:
            raise InputError(f"the times {start} and {end} s are in the wrong order; give the earlier one first")
        if not self.t0 <= start <= end <= self.t1:
            raise InputError(f"[{start}, {end}] s is not part of the run, which covers [{self.t0}, {self.t1}] s")
        found, (begins, ends) = [], self._edges
        first = 0 if t0 is None else bisect_right(ends, start)  # both edges rise from piece to piece
        for piece in self.pieces[first : bisect_right(begins, end)]:
            if isinstance(piece, EventLinearization):
                found.append(Stretch(piece, piece.time, piece.time))
            elif piece.t1 > start and piece.t0 < end:
                found.append(Stretch(piece, max(piece.t0, start), min(piece.t1, end)))
        return found

    @lazy
    def _edges(self) -> tuple[list[float], list[float]]:
        """Times at which the pieces begin and end."""
        spans = [(p.time, p.time) if isinstance(p, EventLinearization) else (p.t0, p.t1) for p in self.pieces]
        return [begin for begin, _ in spans], [end for _, end in spans]

    # --- the derivative ---------------------------------------------------------------------------------------

    def matrix(self, t0: float | None = None, t1: float | None = None) -> Array:
        """D x(t1) / D x(t0) (n_end, n_start) in tangent coordinates; by default from start to end of the run.

        What the mode at `t0` remembers from before, such as the direction of a slow slip, is held.

        Raises:
            NonDifferentiableError: an event between them has no single matrix.
        """
        stretches = list(self.followed(t0, t1))
        n = self._dim_at(self.t0 if t0 is None else t0)
        variations = self.widened(self._begin(t0).T, t0).T
        with one_thread():
            for stretch in stretches:
                event = stretch.piece if isinstance(stretch.piece, EventLinearization) else None
                own = self.along(stretch) if event is None else event.matrix_of(variations)
                if not is_identity(own):
                    variations = own @ variations
        variations = self.narrowed(variations.T, t1).T
        return variations[: len(variations) - len(self.carried), :n]

    @lazy
    def radius(self) -> float:
        """Largest perturbation of the start for which the derivative holds: up to it, events keep their order.

        The smallest (t_b - t_a) / |D (t_b - t_a)| of two events that follow each other, to first order, in the norm of
        tangent vectors; infinity where there are fewer than two.

        Raises:
            NonDifferentiableError: an event has no single matrix.
        """
        variations, n = self.widened(self._start.T, None).T, self.dim
        before: tuple[float, Array] | None = None
        least = math.inf
        for stretch in self.followed():
            if not isinstance(stretch.piece, EventLinearization):
                variations = self.along(stretch) @ variations
                continue
            data = stretch.piece.data
            later = (data.root.arrivals(data.groups) @ variations)[:, :n]
            if before is not None:
                change = max(float(np.linalg.norm(row - other)) for row in later for other in before[1])
                least = min(least, (data.time - before[0]) / change) if change > 0.0 else least
            before, variations = (data.time, later), stretch.piece.matrix_of(variations) @ variations
        return least

    def along(self, stretch: Stretch) -> Array:
        """Matrix of an arc, or of a part of it; each is computed once."""
        found = self._matrices.get(stretch)
        if found is None:
            assert isinstance(stretch.piece, ArcVariation)
            identity = np.eye(stretch.piece.dim)
            with one_thread():
                found = self._matrices[stretch] = stretch.piece.propagate(stretch.t0, stretch.t1, identity)
        return found

    def regained(self, t0: float | None = None) -> Array:
        """(n, n): what remains of a variation at a time (None: of the start) once the mode there holds again.

        `matrix(t0)` and `lin(dx, t0)` begin with it. It keeps variations that keep the constraints of the mode: what
        touches stays in touch, what sticks at rest. Those of velocities that do not are exact, too: what is pushed
        hops or slips until it stands again, for a time in proportion to the push. Of places the nearest ones that
        touch are taken, which `lin(dx)` tells.
        """
        return self._regained(t0)[: self._dim_at(self.t0 if t0 is None else t0)][:, : -len(self.carried) or None]

    def tangent(self, t0: float | None = None) -> Array:
        """Orthonormal basis (n, r) of the variations at a time (None: of the start) that keep its mode."""
        return directions(self.regained(t0))

    def _place(self, t0: float | None) -> tuple[HybridSystem, float, Array, Any]:
        """System, time, state and mode that variations at a time are of."""
        first = self.pieces[0] if t0 is None and self.pieces else None
        if isinstance(first, EventLinearization):
            node = first.data.root
            return node.system, node.t, node.x, node.mode
        t0 = self.t0 if t0 is None else t0
        arc = self.trajectory.arc_at(t0) if first is None else first.arc
        return arc.system, t0, arc(t0), arc.mode

    def _regained(self, t0: float | None) -> Array:
        """`regained` of the state and of the parameters, which may move what the mode holds."""
        system, t, x, mode = self._place(t0)
        held = system.held(t, x, mode)
        own = projector(system, mode, t, x) if held is None else held.regained
        matrix = scipy.linalg.block_diag(own, np.eye(len(self.carried)))
        if held is not None and self.carried:
            matrix[: len(own), len(own) :] = -held.pull @ self._parameters.derivative(system, held.misses)
        return matrix

    def _begin(self, t0: float | None) -> Array:
        """Derivative of the state from which a run is followed, by what is varied."""
        return self._start if t0 is None else self._regained(t0)

    @lazy
    def _start(self) -> Array:
        """Derivative of the state from which the whole run is followed, by the user's state and the parameters."""
        return self._regained(None) @ self._prepared

    @property
    def _prepared(self) -> Array:
        """Derivative of the state a run starts with by the user's state and the parameters."""
        arc, names, space = self.trajectory.arcs[0], self._parameters.names, self._first.space
        system, x = arc.system, self._given
        matrix = np.eye(self.dim + len(names))
        is_prepared = system.prepared(self.t0, x) is not x
        if is_prepared:
            own = system.prepared_by_state(self.t0, x)
            if own is None:
                own = map_derivative(lambda y: system.prepared(self.t0, y), space, x, space)
            matrix[: self.dim, : self.dim] = own
        for k, name in enumerate(names):
            matrix[: self.dim, self.dim + k] = self._start_by_parameter(system, x, name, is_prepared)
        return matrix

    @property
    def _given(self) -> Array:
        """The state that the user gave; that of the start, sampled, where the run does not tell it."""
        arc = self.trajectory.arcs[0]
        if self.trajectory.given is not None:
            return self.trajectory.given
        x = arc(arc.t0)
        own = arc.system.prepared_by_state(self.t0, x) if arc.system.prepared(self.t0, x) is not x else None
        if own is not None and own[2 * (arc.system.nv or 0) :, 2 * (arc.system.nv or 0) :].any():
            tell(
                "the run does not tell the memory with which it began: the derivative of its first sample is taken at"
                " the memory that it made; make the run again",
            )
        return x

    def _start_by_parameter(self, system: HybridSystem, x: Array, name: str, is_prepared: bool) -> Array:
        """D_p (n,) of what a run makes of the user's state `x`: it prepares it, and an impact may throw it at once."""
        parameter, thrown = Parameters((name,)), self.trajectory.arcs[0].event
        if thrown is None or thrown.fired or not thrown.transition.impulses:
            if not is_prepared:
                return np.zeros(self.dim)
            space = self._first.space
            at = system.prepared(self.t0, x)
            moved = parameter.derivative(system, lambda other: space.difference(at, other.prepared(self.t0, x)))
            return moved[:, 0]
        reset = thrown.transition
        known = {} if is_prepared or reset.by_parameters is None else reset.by_parameters((name,))
        if name in known:
            return known[name]
        space, mode = space_of(system, reset.mode, reset.x), system.named_modes(reset.mode)

        def outcome(other: HybridSystem) -> Array:
            start = other.start(self.t0, x)
            if other.named_modes(start.mode) != mode:
                raise NonDifferentiableError(
                    f"the impact with which the run starts at t = {self.t0:.9g} s ends in another mode where '{name}'"
                    " differs a little; it lies on the boundary between the two"
                )
            return space.difference(reset.x, start.x)

        return parameter.derivative(system, outcome)[:, 0]

    def _dim_at(self, t: float) -> int:
        arc = self.trajectory.arc_at(t)
        return space_of(arc.system, arc.mode, arc(t)).dim

    def __call__(self, dx: Any, t0: float | None = None, t1: float | None = None) -> Array:
        """Directional (Bouligand) derivative: variations (n_end,) or (m, n_end) of `dx` (n_start,) or (m, n_start).

        Raises:
            NonDifferentiableError: neighbouring runs end in states apart from each other.
        """
        try:
            given = np.asarray(dx, dtype=float)
        except (TypeError, ValueError):
            raise InputError("dx is not an array of numbers; give a tangent vector, or several of one size") from None
        n = self._dim_at(self.t0 if t0 is None else t0)
        if given.shape[-1:] != (n,) or given.ndim > 2:
            raise InputError(f"dx has shape {given.shape}; give a tangent vector ({n},), or several (m, {n})")
        if not np.all(np.isfinite(given)):
            raise InputError("dx holds NaN or infinity; give finite numbers")
        self._tell(np.atleast_2d(given), t0)
        extra = np.zeros((1 if given.ndim == 1 else len(given), len(self._parameters.names)))
        out = self.apply(np.hstack([np.atleast_2d(given), extra]), t0, t1)
        out = out[:, : out.shape[1] - extra.shape[1]]
        return out[0] if given.ndim == 1 else out

    def _tell(self, variations: Array, t0: float | None) -> None:
        """Warn of a variation (m, n) that moves what touches off its ground, or into it.

        Raises:
            NonDifferentiableError: it moves what static friction alone holds.
        """
        system, t, x, mode = self._place(t0)
        held = system.held(t, x, mode)
        if held is None or not (len(held.gaps) and len(variations)):
            return
        sizes = SAME * np.linalg.norm(variations, axis=1)
        for name, rows in held.loose.items():
            if (np.linalg.norm(variations @ rows.T, axis=1) > sizes).any():
                raise NonDifferentiableError(
                    f"dx moves '{name}', which sticks by static friction alone at t = {t:.6g} s: neighbours slip on and"
                    " end elsewhere; take directions that keep it at rest, such as the columns of lin.tangent()"
                )
        moved = variations @ held.gaps.T
        row, k = np.unravel_index(int(np.abs(moved).argmax()), moved.shape)
        if abs(moved[row, k]) <= sizes[row]:
            return
        way = "off" if moved[row, k] > 0.0 else "into"
        tell(
            f"dx moves '{held.names[k]}' {way} what it touches at t = {t:.6g} s; the derivative is that of the nearest"
            " state in which it touches: take directions that keep it there, such as the columns of lin.tangent()",
        )

    def apply(self, variations: Array, t0: float | None = None, t1: float | None = None) -> Array:
        """Variations (m, n_end + p) of `variations` (m, n_start + p) of the state and of the parameters."""
        variations = self.widened(variations @ self._begin(t0).T, t0)
        for stretch in self.followed(t0, t1):
            if isinstance(stretch.piece, EventLinearization):
                variations = stretch.piece.apply(variations)
            else:
                variations = variations @ self.along(stretch).T
        return self.narrowed(variations, t1)

    def matrices(self, times: Sequence[float]) -> list[Array]:
        """Discrete transition matrices between successive `times`, with the events inside (Kong and others, eq. 33)."""
        grid = [float(t) for t in times]
        return [self.matrix(a, b) for a, b in pairwise(grid)]

    @arguments(name=custom("a name of a parameter, such as 'gravity'", NAME.take))
    def parameter(self, name: str) -> Array:
        """D x(T) / D p (n_end,) of a parameter by name, or of the initial time, "t0", with the state there held.

        The state given to the run is held: an impact with which it starts is differentiated along.
        Through a simultaneous event it is one-sided: the derivative for a parameter that grows. Where `Simulation.set`
        changed the parameter in the course of the run, all its values grow alike.

        Raises:
            InputError: the system has no such parameter.
        """
        if name == "t0":
            return -self.apply(self._first.field(self.t0)[None])[0, : -len(self.carried) or None]
        self._tell_of((name,))
        return self._by_parameters((name,)).apply(np.append(np.zeros(self.dim), 1.0)[None])[0, :-1]

    @arguments(names=several(NAME, words="names of parameters, such as ['gravity']"))
    def parameters(self, names: Sequence[str], times: Any = None) -> Array:
        """D x(t) / D p (T, n, p) of parameters by name, all in one pass along the run.

        Each as `parameter` says. Rigid modes, their guards and resets are differentiated analytically by coefficients,
        masses, gravity, ground and parameters of the controller, all else (closed loops, parameters of a law) by
        differences.

        Args:
            names: of the parameters (p,).
            times: rising, in the run (T,) [s]; behind what happens at each. None: its end alone.

        Raises:
            InputError: the system has no such parameter, or the times lie outside the run or fall.
        """
        grid = [self.t1] if times is None else np.asarray(NUMBERS.check("the times", times), dtype=float).tolist()
        if any(b < a for a, b in pairwise(grid)) or (grid and grid[0] < self.t0):
            raise InputError("the times of parameters fall, or begin before the run; give them in their order")
        self._tell_of(tuple(names))
        other, count = self._by_parameters(tuple(names)), len(names)
        start = np.hstack([np.zeros((count, self.dim)), np.eye(count)])
        return np.array([rows[:, : rows.shape[1] - count].T for rows in other._through(grid, start)])

    def _through(self, times: Sequence[float], variations: Array) -> list[Array]:
        """Variations (m, n + p) behind what happens at each of some rising times, of those at the start of the run."""
        now, left = self.widened(variations @ self._start.T, None), list(times)
        found: list[Array] = []
        for stretch in self.followed(None, max(times, default=self.t0)):
            piece = stretch.piece
            if isinstance(piece, EventLinearization):
                now = piece.apply(now)
                continue
            inside = [t for t in left if t < stretch.t1]
            with one_thread():
                *at, end = piece.through([stretch.t0, *inside, stretch.t1], now.T)[1:]
            found += [self.narrowed(value.T, t) for t, value in zip(inside, at, strict=True)]
            now, left = end.T, left[len(inside) :]
        return found + [self.narrowed(now, t) for t in left]

    def _tell_of(self, names: tuple[str, ...]) -> None:
        """Warn of a parameter that moves the ground off what touches it at the start, or into it."""
        system, t, x, mode = self._place(None)
        held = system.held(t, x, mode)
        if held is None or not len(held.gaps):
            return
        for name in names:
            moved = Parameters((name,)).derivative(system, held.misses)[: len(held.gaps), 0]
            k = int(np.abs(moved).argmax())
            if abs(moved[k]) * system.parameter_scale(name) > SAME:
                tell(
                    f"'{name}' moves the ground of '{held.names[k]}', which touches it at t = {t:.6g} s, away or into"
                    " it; the derivative is that of a start which goes along to the nearest state in touch",
                )

    def _by_parameters(self, names: tuple[str, ...]) -> RunDerivative:
        """The same run with parameters carried along."""
        if names == self._parameters.names:
            return self
        for name in names:
            self.trajectory.system.parameter(name)
        return RunDerivative(self.trajectory, names, self.tolerances, self.integrator, self._panel)
