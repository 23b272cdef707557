"""The derivative of one event, as the plugins for event derivatives answer, asked in their order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from typing import Any, TypeVar

import numpy as np

from ..common import registry
from ..common.arrays import Array
from ..common.lazy import lazy, scipy
from ..common.representation import several
from ..common.telling import tell
from ..common.threads import one_thread
from ..errors import ContactSimError, InputError, NonDifferentiableError, PluginError
from ..hybrid.differences import map_derivative
from ..hybrid.mode_directions import directions, projector, space_of
from ..hybrid.system import CLOCK, HybridSystem
from ..hybrid.tolerances import Tolerances
from ..hybrid.trajectory import Event
from .contract import EventDerivative, Word
from .crossing_orders import ONE_BY_ONE, EventData, together
from .event_linearization import Node, Parameters, Recorded
from .zero import SAME

T = TypeVar("T")
LAST = {"saltation": 1, "bouligand": 2}  # the built-in ones, asked behind those of third parties
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
        self._panel, self._public = panel, self

    @property
    def time(self) -> float:
        """Time [s]."""
        return self.data.time

    @property
    def remembers(self) -> bool:
        """Whether the mode before or behind it remembers something."""
        node = self.data.root
        after = self.data.after or node
        return bool(node.system.remembered(node.mode) or after.system.remembered(after.mode))

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
                f"{self._together} in more than {MOST_CONES} orders, whose cones are not listed; take directions,"
                f" lin(dx), or {ONE_BY_ONE}"
            )
        return {self.data.spelled(word): path.cone for word, path in words.items()}

    @lazy
    def differentiable(self) -> bool:
        """True where one matrix describes the event: on all variations that the mode before it allows."""
        try:
            first, *others = self._pieces.values()
        except NonDifferentiableError:
            return False
        if not others:
            return True
        if any(m.shape != first.shape for m in others):
            return False
        apart, size = [m - first for m in others], SAME * max(1.0, float(np.abs(first).max()))
        if all(np.abs(by).max() <= size for by in apart):
            return True
        return all(np.abs(by @ self._allowed).max(initial=0.0) <= size for by in apart)

    @property
    def _together(self) -> str:
        """What changes at its instant, as the begin of a sentence."""
        return together(self.contacts, self.time)

    @property
    def _allowed(self) -> Array:
        """Basis (n_pre, r) of the variations that the constraints of the mode before the event allow."""
        node = self.data.root
        basis = directions(projector(node.system, node.mode, node.t, node.x))
        return scipy.linalg.block_diag(basis, np.eye(node.dim - len(basis)))

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
            raise NonDifferentiableError(
                f"{self._together}, and which changes first decides the derivative: it is no single matrix, but has"
                f" {len(pieces)} linear pieces; take a direction, lin(dx), or one of the exception's"
                f" problem['event'].pieces(), or {ONE_BY_ONE}",
                event=self._public,
            )
        return next(iter(pieces.values()))

    def matrix_of(self, variations: Array) -> Array:
        """The one matrix (n_post, n_pre) that maps some variations (n_pre, m), in columns.

        That is `saltation`, or, where none of them takes any order, that of runs which meet all at once.

        Raises:
            NonDifferentiableError: as `saltation`.
        """
        try:
            return self.saltation
        except NonDifferentiableError:
            if (passage := self.data.in_step(variations.T)) is None:
                raise
            return passage.matrix

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


class RememberingEvent(EventLinearization):
    """The derivative of an event of modes that remember numbers, which are varied with the state.

    A plugin may answer for the state alone: what is remembered is then that of the B-derivative.

    Args:
        panel: as of the event.
        alone: the event as plugins know it, of the state alone.
    """

    def __init__(self, panel: Panel, alone: EventLinearization) -> None:
        data = alone.data.with_memory()
        super().__init__(data, panel.of_memory(data), alone.events)
        self._public = alone
        self._alone = None if self._panel is panel else alone

    @property
    def saltation(self) -> Array:
        """The one matrix (n_post, n_pre) of the event."""
        found = super().saltation
        return found if self._alone is None else self.apply(np.eye(self.data.root.dim)).T

    def apply(self, dx: Array) -> Array:
        """Variations (n_post,) or (m, n_post) after the event of `dx` (n_pre,) or (m, n_pre) before it."""
        found = super().apply(dx)
        if self._alone is None:
            return found
        before, behind = _of_state(self.data.root), _of_state(self.data.after or self.data.root)
        alone = np.zeros_like(dx)
        alone[..., before] = dx[..., before]
        found[..., behind] += self._alone.apply(dx[..., before]) - super().apply(alone)[..., behind]
        return found


def _of_state(node: Node) -> Array:
    """Places of a variation (dim,) that are not of what is remembered."""
    size, count = node.space.dim, len(node.remembered)
    return np.r_[0:size, size + count : node.dim]


def event_data(
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
    met = first.fired - clock
    at_start = Node(system, t, x, mode, tolerances, parameters, asked=min(met, key=str) if met else None)
    if met and took_part:
        met |= at_start.joining(took_part, met)
    recorded = None
    if first.fired == clock | met and behind is system and first.transition.derivative is not None:
        recorded = Recorded(first.transition, goes_on and last is first)
    root = at_start.met(clock | met, behind, bool(clock), recorded)
    groups = system.separable(t, x, mode, met) if met else ()
    after = Node(behind, t, last.x_post, last.mode_post, tolerances, parameters)
    return EventData(root, groups + ((clock,) if clock or not groups else ()), after)


def _reset_derivative(event: Event) -> Array:
    """D_x R (n_post, n_pre) of one event."""
    if event.transition.derivative is not None:
        return event.transition.derivative()
    system = event.system

    def reset(x: Array) -> Array:
        return system.transition(event.time, x, event.mode_pre, event.fired).x

    before, behind = space_of(system, event.mode_pre, event.x_pre), space_of(system, event.mode_post, event.x_post)
    return map_derivative(reset, before, event.x_pre, behind)


# --- plugins ----------------------------------------------------------------------------------------------------


class Misshapen(Exception):
    """A plugin's answer is not of the form that its contract demands."""


class Panel:
    """Event derivatives in the order in which they are asked.

    A plugin that raises anything but an error of the engine's, or whose answer has the wrong form, is set aside for
    the run, with a warning that names it; the next one that accepts the event answers.

    Args:
        plugins: (name, plugin) of each, in order.
    """

    def __init__(self, plugins: Iterable[tuple[str, EventDerivative]]) -> None:
        self._plugins = list(plugins)
        self._failed: PluginError | None = None

    @classmethod
    def registered(cls) -> Panel:
        """All that are registered: those of third parties, the saltation matrix, the general B-derivative."""
        kinds = dict(registry.load_all("event_derivatives"))
        panel = cls(())
        for name in sorted(kinds, key=lambda name: LAST.get(name, 0)):
            try:
                panel._plugins.append((name, kinds[name]()))
            except Exception as error:
                panel._warn(name, error)
        return panel

    def ask(self, data: EventData, question: Callable[[EventDerivative], T]) -> T:
        """The answer of the first plugin that accepts an event, and does not fail.

        Raises:
            NonDifferentiableError: no plugin accepts the event, or the one that does says that there is no derivative.
            PluginError: those that accept it all fail.
        """
        for name, plugin in tuple(self._plugins):
            try:
                if plugin.accepts(data):
                    return question(plugin)
            except ContactSimError:  # of the engine, of a user's function, or that there is no derivative
                raise
            except Exception as error:
                self._warn(name, error)
                self._plugins.remove((name, plugin))
        if self._failed is not None:
            raise self._failed
        raise NonDifferentiableError(f"no event derivative accepts the event at t = {data.time:.9g} s")

    def of_memory(self, data: EventData) -> Panel:
        """The panel for an event with what is remembered: itself, or the B-derivative if the first speaks of less."""
        plugin = self.ask(data, lambda plugin: plugin)
        if any(name in LAST for name, own in self._plugins if own is plugin):
            return self
        try:
            applied(plugin, data, np.zeros((1, data.root.dim)))
        except ContactSimError:
            return self
        except Exception:
            general = registry.load("event_derivatives", "bouligand")
            return Panel([("bouligand", general())])
        return self

    def _warn(self, name: str, error: Exception) -> None:
        reason = str(error) if isinstance(error, Misshapen) else f"it raises {type(error).__name__}: {error}"
        text = f"the event derivative '{name}' fails, {reason}; mend or uninstall it"
        self._failed = PluginError(text)
        self._failed.__cause__ = error
        tell(f"{text} (it is set aside, the next one that accepts the event is asked)")


def panel_of(plugins: Sequence[EventDerivative] | Panel | None) -> Panel:
    """The event derivatives that are asked: those given, or all that are registered."""
    if plugins is None:
        return Panel.registered()
    if isinstance(plugins, Panel):
        return plugins
    return Panel((type(plugin).__name__, plugin) for plugin in plugins)


def applied(plugin: EventDerivative, data: EventData, dx: Array) -> Array:
    """Variations (m, n_post) behind the event, by a plugin, of those (m, n_pre) before it.

    Raises:
        Misshapen: it is something else.
    """
    found = _numbers("apply", plugin.apply(data, dx))
    wanted = (len(dx), _behind(data))
    if found.shape != wanted:
        raise Misshapen(f"apply returns the shape {found.shape} for variations {dx.shape} and should return {wanted}")
    return found


def matrices(plugin: EventDerivative, data: EventData) -> Mapping[Word, Array]:
    """The linear pieces of a plugin, each of shape (n_post, n_pre).

    Raises:
        Misshapen: they are something else.
    """
    pieces, wanted = plugin.pieces(data), (_behind(data), data.root.dim)
    if not isinstance(pieces, Mapping) or not pieces:
        raise Misshapen(f"pieces returns {type(pieces).__name__} without a piece and should return {{word: matrix}}")
    found = {word: _numbers("pieces", matrix) for word, matrix in pieces.items()}
    for matrix in found.values():
        if matrix.shape != wanted:
            raise Misshapen(f"pieces returns a matrix of shape {matrix.shape} and should return {wanted}")
    return found


def _behind(data: EventData) -> int:
    return data.after.dim if data.after is not None else data.root.dim


def _numbers(method: str, answer: object) -> Array:
    try:
        return np.asarray(answer, dtype=float)
    except (TypeError, ValueError):
        raise Misshapen(f"{method} returns {type(answer).__name__} and should return an array of numbers") from None
