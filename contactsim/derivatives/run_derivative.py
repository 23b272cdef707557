"""First-order behaviour of everything around a trajectory: arcs and events, chained."""

from __future__ import annotations

import math
import warnings
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.linalg import block_diag

from ..common.arrays import Array
from ..common.doors import NAME, NUMBERS, custom, door
from ..common.doors import several as series
from ..common.lazy import lazy
from ..common.representation import Brief, counted, several, span
from ..common.threads import one_thread
from ..errors import InputError, NonDifferentiableError
from ..hybrid.differences import map_derivative
from ..hybrid.integrators import AUTOMATIC, demand
from ..hybrid.manifold import Euclidean
from ..hybrid.mode_directions import directions, projector
from ..hybrid.system import CLOCK, HybridSystem
from ..hybrid.tolerances import Tolerances
from ..hybrid.trajectory import Event, Trajectory
from .contract import EventDerivative, Word
from .crossing_orders import EventData
from .event_linearization import LATER, Node, Parameters, Recorded
from .panel import Panel, applied, matrices
from .variational import ArcVariation
from .zero import SAME

MOST_CONES = 5040  # words whose cones are listed
LONGEST_WORD = 64  # guards that one variation meets at an event, at most


class EventLinearization:
    """Derivative of one event: variations of the state behind it by those before it.

    Args:
        data: the event, as derivatives need it.
        panel: the event derivatives that are asked about it.
        events: what the trajectory says happened; several where a reset made other guards jump.
    """

    def __init__(self, data: EventData, panel: Panel, events: tuple[Event, ...]) -> None:
        self.data, self.events = data, events
        self._panel = panel

    @property
    def time(self) -> float:
        """Time [s]."""
        return self.data.time

    @property
    def contacts(self) -> tuple[str, ...]:
        """Names of the contacts that changed or fired."""
        return tuple(dict.fromkeys(name for event in self.events for name in event.contacts))

    def __repr__(self) -> str:
        return f"EventLinearization({self.time:.9g} s, {several(self.contacts or ('no contacts',))})"

    @lazy
    def _pieces(self) -> Mapping[Word, Array]:
        with one_thread():
            return self._panel.ask(self.data, lambda plugin: matrices(plugin, self.data))

    def pieces(self) -> dict[Any, Array]:
        """{word: matrix (n_post, n_pre)}: one matrix for each order in which the guards may be met.

        A word names the guards by contact; a contact may occur in it more than once.

        Raises:
            NonDifferentiableError: the words end in different states.
        """
        return {self.data.spelled(word): matrix for word, matrix in self._pieces.items()}

    def cones(self) -> dict[Any, Array]:
        """{word: rows A (k, n_pre)}: a variation dx before the event takes the word where A dx <= 0 [s].

        Raises:
            NonDifferentiableError: there are too many words to list.
        """
        words = self.data.ways.words(MOST_CONES)
        if words is None:
            raise NonDifferentiableError(
                f"the guards that fall together at t = {self.time:.9g} s may be met in more than {MOST_CONES} orders;"
                " their cones are not listed, take directions, lin(dx)"
            )
        return {self.data.spelled(word): path.cone for word, path in words.items()}

    @lazy
    def differentiable(self) -> bool:
        """True where one matrix describes the event: on all variations that the mode before it allows."""
        try:
            first, *others = self._pieces.values()
        except NonDifferentiableError:
            return False
        if any(m.shape != first.shape for m in others):
            return False
        apart, size = [m - first for m in others], SAME * max(1.0, float(np.abs(first).max()))
        if all(np.abs(by).max() <= size for by in apart):
            return True
        return all(np.abs(by @ self._allowed).max(initial=0.0) <= size for by in apart)

    @property
    def _allowed(self) -> Array:
        """Basis (n_pre, r) of the variations that the constraints of the mode before the event allow."""
        node = self.data.root
        basis = directions(projector(node.system, node.mode, node.t, node.x))
        return block_diag(basis, np.eye(len(node.parameters.names)))

    @property
    def saltation(self) -> Array:
        """The one matrix (n_post, n_pre) of the event.

        Feet that slip in step stop at once by the constraints of their mode. Which is said to stop first makes a
        difference to variations only that this mode does not allow: these are mapped as by any one of the orders.

        Raises:
            NonDifferentiableError: several orders of what happens at once lead to different matrices.
        """
        pieces = self._pieces
        if not self.differentiable:
            names = ", ".join(self.contacts) or "several guards"
            raise NonDifferentiableError(
                f"{names} change together at t = {self.time:.9g} s, and the derivative has {len(pieces)} linear pieces;"
                " take a direction, lin(dx), or look at the pieces of this event",
                event=self,
            )
        return next(iter(pieces.values()))

    def apply(self, dx: Array) -> Array:
        """Variations (n_post,) or (m, n_post) after the event of `dx` (n_pre,) or (m, n_pre) before it."""
        dx = np.asarray(dx, dtype=float)
        with one_thread():
            out = self._panel.ask(self.data, lambda plugin: applied(plugin, self.data, np.atleast_2d(dx)))
        return out[0] if dx.ndim == 1 else out

    def orders(self, dx: Array) -> list[Any]:
        """The word that each variation (m, n_pre) before the event takes: its contacts in the order they are met.

        Variations of one word are mapped by one matrix, that of `pieces`; where the words are too many to list all of
        them, these are still known.

        Raises:
            NonDifferentiableError: guards are met again and again.
        """
        return [self._order(row) for row in np.atleast_2d(np.asarray(dx, dtype=float))]

    def _order(self, variation: Array) -> Any:
        ways, node = self.data.ways, self.data.root
        word: list[Any] = []
        while groups := ways.ahead(node):
            if len(word) > LONGEST_WORD:
                raise NonDifferentiableError(
                    f"guards are met again and again at t = {self.time:.9g} s; the run has no derivative there"
                )
            first = groups[int((node.arrivals(groups) @ variation).argmin())]
            word.append(first)
            passage = ways.passage(node, first)
            node, variation = passage.node, passage.apply(variation[None])[0]
        return self.data.spelled(tuple(word))

    @property
    def reset(self) -> Array:
        """D_x R (n_post, n_pre) of the reset alone, with the time of the event held: what is wrong to use in its place.

        The saltation matrix differs from it where a perturbed run meets the event earlier or later.
        """
        return reduce(lambda matrix, event: _reset_derivative(event) @ matrix, self.events, np.eye(self.data.root.dim))

    @property
    def is_identity(self) -> bool:
        """True where the event leaves every variation as it is."""
        if not self.differentiable or self.saltation.shape[0] != self.saltation.shape[1]:
            return False
        return bool(np.abs(self.saltation - np.eye(len(self.saltation))).max() <= SAME)

    @property
    def eigenvalues(self) -> Array:
        """Eigenvalues (n,) of the saltation matrix, largest first; the state must keep its dimension.

        Raises:
            NonDifferentiableError: there is no single matrix.
            InputError: the state changes its dimension.
        """
        values = np.linalg.eigvals(self._square("eigenvalues"))
        return values[np.argsort(-np.abs(values))]

    @property
    def blocks(self) -> dict[str, Array]:
        """The blocks "qq", "qv", "vq", "vv" of the matrix of a mechanical system (Kong and others, Table II).

        Raises:
            InputError: the state is not made of positions and velocities, or changes its dimension.
        """
        s = self._square("blocks of positions and velocities")
        own = self.data.root.system.nv
        n = len(s) // 2 if own is None else own
        if len(s) < 2 * n or (own is None and len(s) % 2):
            raise InputError(f"a state of {len(s)} numbers has no blocks of positions and velocities; use 'saltation'")
        return {"qq": s[:n, :n], "qv": s[:n, n : 2 * n], "vq": s[n : 2 * n, :n], "vv": s[n : 2 * n, n : 2 * n]}

    def _square(self, wanted: str) -> Array:
        matrix = self.saltation
        if matrix.shape[0] != matrix.shape[1]:
            raise InputError(
                f"the event at t = {self.time:.9g} s takes {matrix.shape[1]} numbers to {matrix.shape[0]} and has no"
                f" {wanted}; use 'saltation'"
            )
        return matrix


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
    the run are variations of the state behind an event there (an impact at once, a changed parameter). Those that miss
    what the mode there holds are followed by what remains of them once it holds again, see `regained`.

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
        self._parameters = Parameters(parameters)
        self.tolerances = tolerances or Tolerances(rtol=1e-8, atol=1e-10)
        self.integrator = integrator
        self._panel = _panel(plugins)
        self.t0, self.t1 = trajectory.arcs[0].t0, trajectory.arcs[-1].t1
        self._matrices: dict[Stretch, Array] = {}
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
        data = _event_data(events, behind, goes_on, tolerances, self._parameters)
        self._panel.ask(data, lambda plugin: plugin)  # one of them accepts it
        return EventLinearization(data, self._panel, events)

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

        Raises:
            NonDifferentiableError: an event between them has no single matrix.
        """
        stretches = self.stretches(t0, t1)
        n = self._dim_at(self.t0 if t0 is None else t0)
        extra = len(self._parameters.names)
        variations = self._begin(t0)
        with one_thread():
            for stretch in stretches:
                own = stretch.piece.saltation if isinstance(stretch.piece, EventLinearization) else self.along(stretch)
                variations = own @ variations
        return variations[: len(variations) - extra, :n]

    @lazy
    def radius(self) -> float:
        """Largest perturbation of the start for which the derivative holds: up to it, events keep their order.

        The smallest (t_b - t_a) / |D (t_b - t_a)| of two events that follow each other, to first order, in the norm of
        tangent vectors; infinity where there are fewer than two.

        Raises:
            NonDifferentiableError: an event has no single matrix.
        """
        variations, n = self._start, self.dim
        before: tuple[float, Array] | None = None
        least = math.inf
        for stretch in self.stretches():
            if not isinstance(stretch.piece, EventLinearization):
                variations = self.along(stretch) @ variations
                continue
            data = stretch.piece.data
            later = (data.root.arrivals(data.groups) @ variations)[:, :n]
            if before is not None:
                change = max(float(np.linalg.norm(row - other)) for row in later for other in before[1])
                least = min(least, (data.time - before[0]) / change) if change > 0.0 else least
            before, variations = (data.time, later), stretch.piece.saltation @ variations
        return least

    def along(self, stretch: Stretch) -> Array:
        """Matrix of an arc, or of a part of it; each is computed once."""
        if stretch not in self._matrices:
            assert isinstance(stretch.piece, ArcVariation)
            identity = np.eye(stretch.piece.dim)
            with one_thread():
                self._matrices[stretch] = stretch.piece.propagate(stretch.t0, stretch.t1, identity)
        return self._matrices[stretch]

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
        matrix = block_diag(own, np.eye(len(self.carried)))
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
        arc, names = self.trajectory.arcs[0], self._parameters.names
        system, x = arc.system, arc(arc.t0)
        matrix = np.eye(self.dim + len(names))
        if system.prepared(self.t0, x) is x:
            return matrix
        space = self._first.space
        matrix[: self.dim, : self.dim] = map_derivative(lambda y: system.prepared(self.t0, y), space, x, space)
        matrix[: self.dim, self.dim :] = self._parameters.derivative(
            system, lambda other: space.difference(x, other.prepared(self.t0, x))
        )
        return matrix

    def _dim_at(self, t: float) -> int:
        arc = self.trajectory.arc_at(t)
        space = arc.system.space(arc.mode)
        return space.dim if space else len(arc(t))

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
        warnings.warn(
            f"dx moves '{held.names[k]}' {way} what it touches at t = {t:.6g} s; the derivative is that of the nearest"
            " state in which it touches: take directions that keep it there, such as the columns of lin.tangent()",
            stacklevel=3,
        )

    def apply(self, variations: Array, t0: float | None = None, t1: float | None = None) -> Array:
        """Variations (m, n_end + p) of `variations` (m, n_start + p) of the state and of the parameters."""
        variations = variations @ self._begin(t0).T
        for stretch in self.stretches(t0, t1):
            if isinstance(stretch.piece, EventLinearization):
                variations = stretch.piece.apply(variations)
            else:
                variations = variations @ self.along(stretch).T
        return variations

    def matrices(self, times: Sequence[float]) -> list[Array]:
        """Discrete transition matrices between successive `times`, with the events inside (Kong and others, eq. 33)."""
        grid = [float(t) for t in times]
        return [self.matrix(a, b) for a, b in pairwise(grid)]

    @door(name=custom("a name of a parameter, such as 'gravity'", NAME.take))
    def parameter(self, name: str) -> Array:
        """D x(T) / D p (n_end,) of a parameter by name, or of the initial time, "t0", with the state there held.

        Through a simultaneous event it is one-sided: the derivative for a parameter that grows. Where `Simulation.set`
        changed the parameter in the course of the run, all its values grow alike.

        Raises:
            InputError: the system has no such parameter.
        """
        if name == "t0":
            return -self.apply(self._first.field(self.t0)[None])[0, : -len(self.carried) or None]
        self._tell_of((name,))
        return self._by_parameters((name,)).apply(np.append(np.zeros(self.dim), 1.0)[None])[0, :-1]

    @door(names=series(NAME, words="names of parameters, such as ['gravity']"))
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
        now, left = variations @ self._start.T, list(times)
        found: list[Array] = []
        for stretch in self.stretches(None, max(times, default=self.t0)):
            piece = stretch.piece
            if isinstance(piece, EventLinearization):
                now = piece.apply(now)
                continue
            inside = [t for t in left if t < stretch.t1]
            with one_thread():
                *at, end = piece.through([stretch.t0, *inside, stretch.t1], now.T)[1:]
            found, now, left = found + [value.T for value in at], end.T, left[len(inside) :]
        return found + [now] * len(left)

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
                warnings.warn(
                    f"'{name}' moves the ground of '{held.names[k]}', which touches it at t = {t:.6g} s, away or into"
                    " it; the derivative is that of a start which goes along to the nearest state in touch",
                    stacklevel=4,
                )

    def _by_parameters(self, names: tuple[str, ...]) -> RunDerivative:
        """The same run with parameters carried along."""
        if names == self._parameters.names:
            return self
        for name in names:
            self.trajectory.system.parameter(name)
        return RunDerivative(self.trajectory, names, self.tolerances, self.integrator, self._panel)


def _event_data(
    events: tuple[Event, ...], behind: HybridSystem, goes_on: bool, tolerances: Tolerances, parameters: Parameters
) -> EventData:
    """An event of a run, from the records that were made at its instant; `behind` is the system after them.

    `goes_on` says that an arc follows it: then no guard jumped behind the last of the records.

    Guards that reach zero at the same instant without having fired belong to it where their contact took part in what
    happened; the others that are close to zero are met later by the run, in an event of their own.
    """
    first, last = events[0], events[-1]
    system, t, x, mode = first.system, first.time, first.x_pre, first.mode_pre
    took_part = {*first.contacts, *first.impulses}
    clock = first.fired & {CLOCK}
    met, reaches = set(first.fired - clock), {}
    at_start = Node(system, t, x, mode, tolerances, parameters)
    for name, value, rounding in at_start.near() if met else ():
        if name in met or (system.guard_label(name) in took_part and at_start.is_zero(name, value, rounding)):
            met.add(name)
            reaches[name] = 2.0 * abs(value)
        else:
            reaches[name] = LATER
    recorded = None
    if first.fired == clock | met and behind is system and first.transition.derivative is not None:
        recorded = Recorded(first.transition, goes_on and last is first)
    root = at_start.met(clock | met, behind, bool(clock), reaches, recorded)
    groups = system.separable(t, x, mode, frozenset(met)) if met else ()
    after = Node(behind, t, last.x_post, last.mode_post, tolerances, parameters)
    return EventData(root, groups + ((clock,) if clock or not groups else ()), after)


def _reset_derivative(event: Event) -> Array:
    """D_x R (n_post, n_pre) of one event."""
    if event.transition.derivative is not None:
        return event.transition.derivative()
    system, after = event.system, event.x_post

    def reset(x: Array) -> Array:
        return system.transition(event.time, x, event.mode_pre, event.fired).x

    before = system.space(event.mode_pre) or Euclidean(len(event.x_pre))
    return map_derivative(reset, before, event.x_pre, system.space(event.mode_post) or Euclidean(len(after)))


def _panel(plugins: Sequence[EventDerivative] | Panel | None) -> Panel:
    """The event derivatives that are asked: those given, or all that are registered."""
    if plugins is None:
        return Panel.registered()
    if isinstance(plugins, Panel):
        return plugins
    return Panel((type(plugin).__name__, plugin) for plugin in plugins)
