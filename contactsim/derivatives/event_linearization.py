"""Neighbouring runs at an event: the guards that they meet at zero there, and the states behind each of them.

A run and its neighbours are compared at equal times, so a variation carries what a neighbour gains by meeting a guard
earlier or later: F+ - D_x R F- for each second (Kong and others, eq. 9). Variations may be followed by those of
parameters p, which no event changes; then guards and resets are differentiated by them as well.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Set
from typing import Any

import numpy as np

from ..common.arrays import Array
from ..common.lazy import NamedTuple, dataclass, lazy
from ..common.representation import Brief
from ..errors import InputError, NonDifferentiableError, SimulationError, TransversalityError
from ..hybrid.differences import derivative, map_derivative, one_sided_derivative, tangent_derivative
from ..hybrid.event_location import Known, Watch
from ..hybrid.flow import Flow, Met
from ..hybrid.manifold import Manifold
from ..hybrid.mode_directions import field_at, flow_at, space_of
from ..hybrid.system import CLOCK, HybridSystem, Transition
from ..hybrid.tolerances import Tolerances
from ..hybrid.zero import ONE_INSTANT, TINY
from .saltation import is_identity, length, saltation_of
from .zero import FALLING, GRAZE, SHARPEST

JUMPS = 20  # guards that jump below zero one after the other, without time passing
LATER = -1.0  # reach of a guard close to zero that the run meets in an event of its own, a little later
TIME_STEP = 2e-5  # differences by time [s]
SHORTER = 1.0, 1e-2, 1e-4  # shares of it, where a feature does not touch as long as that
SMOOTH = 1e-2  # share of the time within which a guard is smooth, in differences of fourth order
PARAMETER_STEP = 1e-4  # of a parameter, relative to `HybridSystem.parameter_scale`


@dataclass(frozen=True)
class Parameters:
    """Parameters of a system by name, with respect to which variations are followed.

    Attributes:
        names: their names.
        memory: whether variations are followed of what modes remember, too; see `hybrid.abilities.Memories`.
    """

    names: tuple[str, ...] = ()
    memory: bool = False

    def remembered(self, system: HybridSystem, mode: Any) -> dict[Hashable, Any]:
        """{name: value} of the numbers that a mode remembers and that are followed."""
        return dict(system.remembered(mode)) if self.memory else {}

    def derivative(self, system: HybridSystem, function: Callable[[HybridSystem], Array]) -> Array:
        """D_p (m, len(names)) of a function of the system; there is at least one name."""
        return np.array([_by_parameter(system, name, function) for name in self.names]).T


NO_PARAMETERS = Parameters()


def _by_parameter(system: HybridSystem, name: str, function: Callable[[HybridSystem], Array]) -> Array:
    """D_p (m,) of a function of the system; one-sided where the parameter is at the end of its range.

    Raises:
        InputError: its range is too narrow for a step to either side.
    """
    value = system.parameter(name)
    step = PARAMETER_STEP * system.parameter_scale(name)

    def at(h: float) -> Array:
        return function(system.with_parameter(name, value + h))

    for h in (step, -step):
        try:
            system.with_parameter(name, value - 2.0 * h)
        except InputError:
            system.with_parameter(name, value + 4.0 * h)
            return np.asarray(one_sided_derivative(at, h))
    return np.asarray(derivative(at, step))


@dataclass(frozen=True, repr=False)
class Passage(Brief):
    """The way from one node through a group of guards to the next.

    Attributes:
        node: the node behind.
        matrix: saltation matrix (dim_post, dim).
        jump: (F_post - F_pre - D_t R) / (D_t g + D_x g F_pre) (dim,); None where the reset is not the identity.
        gradient: D g (dim,) of the guard.
    """

    node: Node
    matrix: Array
    jump: Array | None
    gradient: Array

    def apply(self, dx: Array) -> Array:
        """Variations (m, dim_post) behind of `dx` (m, dim); O(m dim) where the reset leaves them alone."""
        if self.jump is None:
            return dx @ self.matrix.T
        return dx + np.outer(dx @ self.gradient, self.jump)


class Recorded(NamedTuple):
    """The record that a run made of an event.

    Attributes:
        transition: its record.
        last: whether the run went on from there: no guard jumped.
    """

    transition: Transition
    last: bool


class Node:
    """A state in a mode at the time of an event, with the guards that are at zero there.

    Args:
        system: the hybrid system.
        t: time of the event [s].
        x: plain state (size,).
        mode: mode of the system.
        tolerances: what counts as one instant.
        parameters: what else variations are taken of.
        behind: the system behind the event, where that is another one (a parameter was set, a push began or ended).
        fired: all guards that fired here in the run itself, if it met an event here.
        clock: whether something by the clock is still to come at this instant.
        root: the node at which the run met its event here, if this one lies behind that.
        asked: the guard whose derivative will be asked for, if one will be.
    """

    def __init__(
        self,
        system: HybridSystem,
        t: float,
        x: Array,
        mode: Hashable,
        tolerances: Tolerances,
        parameters: Parameters = NO_PARAMETERS,
        behind: HybridSystem | None = None,
        fired: frozenset[Hashable] | None = None,
        clock: bool = False,
        root: Node | None = None,
        asked: Hashable | None = None,
    ) -> None:
        self.system, self.t, self.x, self.mode = system, t, x, mode
        self.tolerances, self.parameters = tolerances, parameters
        self._behind, self.fired = behind or system, fired
        self._recorded: Recorded | None = None
        self.clock, self._root, self._asked = clock, root, asked
        self._gradients: dict[Hashable, Array] = {}
        self._by_states: dict[Hashable, Array] = {}
        self._rates: dict[Hashable, float] = {}
        self._slopes: dict[Hashable, float] = {}  # of the guards by time

    def met(
        self,
        fired: frozenset[Hashable],
        behind: HybridSystem,
        clock: bool,
        recorded: Recorded | None,
    ) -> Node:
        """The node of an event that the run met here, with what is known of the guards; as the arguments of a node.

        Args:
            fired, behind, clock: as those of a node.
            recorded: what the run made of it, where that can be taken as it is; None: it is worked out again.
        """
        node = object.__new__(type(self))
        node.__dict__.update(self.__dict__)
        node.fired, node._behind, node.clock, node._recorded = fired, behind, clock, recorded
        return node

    @lazy
    def flow(self) -> Flow:
        """Field and guards of the mode."""
        return flow_at(self.system, self.mode, self.t, self.x)

    @lazy
    def _begun(self) -> Flow:
        """The flow of the mode, not from here on: of which `_met` is asked, and beyond that its layout alone."""
        return self.system.flow(self.mode)

    @lazy
    def _met(self) -> Met | None:
        """What the flow tells of the state at once; None: it is asked for each part."""
        return (
            None if "flow" in self.__dict__ or self._begun.met is None else self._begun.met(self.t, self.x, self._asked)
        )

    @property
    def _names(self) -> tuple[Hashable, ...]:
        """Names of the guards."""
        return self.flow.guard_names if self._met is None else self._begun.guard_names

    @lazy
    def space(self) -> Manifold:
        """Manifold of the states in the mode."""
        return space_of(self.system, self.mode, self.x)

    @lazy
    def field(self) -> Array:
        """F (dim,)."""
        if "flow" in self.__dict__:  # which only guards need
            return np.asarray(self.flow.field(self.t, self.x), dtype=float)
        if self._met is not None:
            return self._met.field
        return np.asarray(field_at(self.system, self.mode, self.t, self.x), dtype=float)

    @property
    def dim(self) -> int:
        """Numbers of a variation: of the state, of what the mode remembers, and of the parameters."""
        return self.space.dim + len(self.remembered) + len(self.parameters.names)

    @lazy
    def remembered(self) -> dict[Hashable, Any]:
        """{name: value} of what the mode remembers, where that is followed."""
        return self.parameters.remembered(self.system, self.mode)

    @lazy
    def watch(self) -> Known:
        """The guards here."""
        if self._met is None:
            return Watch(self.flow, self.t, self.x, self.tolerances).known
        return Known.of(self._begun, self.t, self._met.values, *self._met.accuracy())

    # --- guards -----------------------------------------------------------------------------------------------

    def gradient(self, name: Hashable) -> Array:
        """D g (dim,) of a guard along the state, what is remembered and the parameters; zero for the clock."""
        if name == CLOCK:
            return np.zeros(self.dim)
        if name not in self._gradients:
            parts = [self.by_state(name)]
            if self.remembered:
                parts.append(self.system.by_remembered(self.flow, self.t, self.x, name))
            if self.parameters.names:
                parts.append(self._by_parameters(name))
            self._gradients[name] = np.concatenate(parts) if len(parts) > 1 else parts[0]
        return self._gradients[name]

    def by_state(self, name: Hashable) -> Array:
        """D_x g of a guard along the state alone; zero for the clock."""
        if name == CLOCK:
            return np.zeros(self.space.dim)
        if name not in self._by_states:
            self._by_states[name] = self._differentiated(name)
        return self._by_states[name]

    def _differentiated(self, name: Hashable) -> Array:
        if name == self._asked and self._met is not None and self._met.row is not None:
            return self._met.row
        given = self.flow.guard_jacobian(self.t, self.x, (name,))
        if given is not None:
            return np.asarray(given, dtype=float)[0]
        k = self.flow.guard_names.index(name)
        return tangent_derivative(lambda x: np.asarray(self.flow.guards(self.t, x))[k : k + 1], self.space, self.x)[0]

    def _by_parameters(self, name: Hashable) -> Array:
        names = self.parameters.names
        k = self.flow.guard_names.index(name)
        known = self.system.guard_by_parameters(self.flow, self.t, self.x, name, names)

        def guard(system: HybridSystem) -> Array:
            return np.asarray(flow_at(system, self.mode, self.t, self.x).guards(self.t, self.x))[k : k + 1]

        columns = [known[p] if p in known else Parameters((p,)).derivative(self.system, guard)[0, 0] for p in names]
        return np.array(columns)

    def by_time(self, name: Hashable) -> float:
        """D_t g of a guard [1/s times its unit]; -1 for the clock."""
        if name == CLOCK:
            return -1.0
        if name not in self._slopes:
            self._slopes[name] = self._slope(name)
        return self._slopes[name]

    def _slope(self, name: Hashable) -> float:
        if name == self._asked and self._met is not None and self._met.by_time is not None:
            return self._met.by_time
        k, still = self.flow.guard_names.index(name), self.flow.guard_still
        if still is not None and still[k]:
            return 0.0
        by_time = self.flow.guard_by_time
        known = None if by_time is None else by_time(self.t, self.x, name)
        return float(self._by_time[k]) if known is None else known

    @lazy
    def _by_time(self) -> Array:
        """D_t g (ng,) of all guards."""
        smooth_for = self.flow.smooth_for
        step = TIME_STEP if smooth_for is None else min(TIME_STEP, SMOOTH * smooth_for())
        return np.asarray(derivative(lambda h: self.flow.guards(self.t + h, self.x), step))

    def rate(self, name: Hashable) -> float:
        """Total rate D_t g + D_x g F of a guard along the flow."""
        if name not in self._rates:
            self._rates[name] = self.by_time(name) + float(self.by_state(name) @ self.field)
        return self._rates[name]

    def arrivals(self, groups: tuple[frozenset[Hashable], ...]) -> Array:
        """Rows a (len(groups), dim): a variation dx brings the group there a dx [s] later."""
        names = [min(group, key=str) if group else CLOCK for group in groups]
        return np.array([-self.gradient(name) / self.rate(name) for name in names]).reshape(len(groups), self.dim)

    def pending(self) -> tuple[frozenset[Hashable], ...]:
        """Groups of guards that are at zero and falling: those that a neighbouring run meets next."""
        falling = frozenset(name for name, value, rounding in self.near() if self.is_zero(name, value, rounding))
        groups = self.system.separable(self.t, self.x, self.mode, falling) if falling else ()
        return (*groups, frozenset({CLOCK})) if self.clock else groups

    def near(self) -> list[tuple[Hashable, float, float]]:
        """Guards that fall and are within their band around zero, with their value and its rounding."""
        return [found for found in self._near if self._falls(found[0])]

    @lazy
    def _near(self) -> list[tuple[Hashable, float, float]]:
        """The same of guards that fall or rise. Of a guard whose band has no end, its rounding counts."""
        watch, names = self.watch, self._names
        band = np.where(np.isfinite(watch.band), watch.band, watch.rounding)
        within = np.flatnonzero(np.abs(watch.values) <= band).tolist()
        return [(names[k], float(watch.values[k]), float(watch.rounding[k])) for k in within]

    def joining(self, labels: Set[str], fired: frozenset[Hashable]) -> frozenset[Hashable]:
        """Guards with such labels that are met here beside those that fired."""
        beside = [found for found in self._near if found[0] not in fired]
        own = [found for found in beside if self.system.guard_label(found[0]) in labels]
        return frozenset([found[0] for found in own if self._falls(found[0]) and self.is_zero(*found)])

    def reach(self, name: Hashable) -> float:
        """How far from zero a guard may be that is at zero in the run itself; LATER: it is not."""
        if self._root is not None:
            return self._root.reach(name)
        return 0.0 if self.fired is None else self._reaches.get(name, 0.0)

    @lazy
    def _reaches(self) -> dict[Hashable, float]:
        """That of the guards that are near where the run met its event."""
        met = (self.fired or frozenset()) - {CLOCK}
        return {name: 2.0 * abs(value) if name in met else LATER for name, value, _ in self.near()} if met else {}

    def is_zero(self, name: Hashable, value: float, rounding: float) -> bool:
        """True where a guard of this value is met at this instant: it reaches zero within the accuracy of its time."""
        reach = self.reach(name)
        if reach == LATER:
            return False
        return abs(value) <= max(reach, rounding + ONE_INSTANT * self.tolerances.event_time * abs(self.rate(name)))

    def _falls(self, name: Hashable) -> bool:
        scale = length(self.by_state(name)) * length(self.field)
        return self.rate(name) < -FALLING * max(scale, TINY)

    # --- what lies behind -------------------------------------------------------------------------------------

    def cross(self, fired: frozenset[Hashable]) -> tuple[Node, Array]:
        """The node behind the guards in `fired`, and the saltation matrix (dim_post, dim) of the way there."""
        passage = self.passage(fired)
        return passage.node, passage.matrix

    def passage(self, fired: frozenset[Hashable]) -> Passage:
        """The way through the guards in `fired`; guards that the reset puts below zero fire at once, with it.

        Raises:
            TransversalityError: the guard is met tangentially.
        """
        node, reset, reset_t = self._reset(fired)
        for _ in range(JUMPS):
            jumped = frozenset() if self._went_on(fired) else node.watch.below()
            if not jumped:
                break
            node, after, after_t = node._reset(jumped)
            reset, reset_t = after @ reset, after[: len(after_t), : len(reset_t)] @ reset_t + after_t
        else:
            raise NonDifferentiableError(f"guards fire without end at t = {self.t:.9g} s; there is no derivative there")
        plain = is_identity(reset)
        begins = any(self.remembered.get(name) != value for name, value in node.remembered.items())
        if (self._is_seamless(fired) and not begins) or self._by_clock(fired):
            # When a neighbour meets it makes no difference.
            nothing = np.zeros(self.dim)
            return Passage(node, reset, nothing if plain else None, nothing)
        name = min(fired, key=str)
        self._demand_transversal(name)
        F_pre, F_post, DtR = self.field, node.field, reset_t
        if len(F_pre) < self.dim or len(F_post) < node.dim:  # the rest stands still
            F_pre, F_post, DtR = _filled(F_pre, self.dim), _filled(F_post, node.dim), _filled(DtR, node.dim)
        try:
            matrix = saltation_of(F_pre, F_post, reset, self.gradient(name), DtR, self.by_time(name))
        except TransversalityError as error:
            label = self.system.guard_label(name)
            raise TransversalityError(f"at t = {self.t:.9g} s, {label}: {error}", **error.problem) from None
        jump = (F_post - F_pre - DtR) / self.rate(name) if plain else None
        return Passage(node, matrix, jump, self.gradient(name))

    def demand_crossing(self, fired: frozenset[Hashable]) -> None:
        """Raise where the guards in `fired` are met tangentially, so that it is not known when a neighbour meets them.

        Raises:
            TransversalityError: they are.
        """
        if not self._by_clock(fired):
            self._demand_transversal(min(fired, key=str))

    def _by_clock(self, fired: frozenset[Hashable]) -> bool:
        """True where every neighbour meets the guards in `fired` at the time of the event."""
        return fired <= {CLOCK} or self._jumped(fired)

    def _is_itself(self, system: HybridSystem, t: float, x: Array, fired: frozenset[Hashable]) -> bool:
        """True for the event of the run itself, and not for a varied one."""
        return fired == self.fired and x is self.x and t == self.t and system is self.system

    def _went_on(self, fired: frozenset[Hashable]) -> bool:
        """True where the run is known to have gone on behind these guards, without any that jumped."""
        return self._recorded is not None and self._recorded.last and fired == self.fired

    def _is_seamless(self, fired: frozenset[Hashable]) -> bool:
        """True where the run itself met these guards, and moves on as if it had not."""
        return self._went_on(fired) and self._recorded is not None and self._recorded.transition.seamless

    def _jumped(self, fired: frozenset[Hashable]) -> bool:
        """True for guards below zero already: they fire where the state is, not where a neighbour meets them."""
        return fired <= self.watch.below()

    def _demand_transversal(self, name: Hashable) -> None:
        """Raise where a guard touches zero and rises again: within rounding a graze looks like a slow crossing.

        With the curvature g'' > 0 of a guard along the flow, its rate is not known below sqrt(2 g'' rounding). A graze
        is curved on both sides; a slip that began within the step before is so on that side alone.
        """
        if name == CLOCK or self.fired is None or name not in self.fired:
            return
        rate = self.rate(name)
        rounding = float(self.watch.rounding[self._names.index(name)])
        if rate < 0.0 and rate**2 > GRAZE * 2.0 * SHARPEST * rounding:
            return
        curvature = self._curvature(name, -1.0)
        if rate < 0.0 and (curvature <= 0.0 or rate**2 > GRAZE * 2.0 * curvature * rounding):
            return
        curvature = min(curvature, self._curvature(name, 1.0))
        graze = rate**2 <= GRAZE * 2.0 * abs(curvature) * rounding
        if rate >= 0.0 or (curvature > 0.0 and graze):
            how = "tangentially" if graze or rate == 0.0 else "while it rises"
            known = ", as good as zero" if graze else ""
            raise TransversalityError(
                f"at t = {self.t:.9g} s {self.system.guard_label(name)} meets its guard {how} (at {rate:.3g} a"
                f" second{known}); a run beside it misses the event, and there is no derivative",
                rate=rate,
            )

    def _curvature(self, name: Hashable, sense: float) -> float:
        """g'' of a guard, before or behind the event, over a time within which it is defined."""
        for share in SHORTER:
            h = sense * share * TIME_STEP
            try:
                return (self._moved(h, name).rate(name) - self.rate(name)) / h
            except SimulationError as error:
                undefined = error
        raise undefined

    def _moved(self, h: float, name: Hashable) -> Node:
        """The node a little later or earlier, without an event; of which the guard `name` is asked."""
        t, x = self.t + h, self.space.integrate(self.x, h * self.field)
        node = Node(self.system, t, x, self.mode, self.tolerances, asked=name)
        if node._met is None and self.flow.beside is not None:
            node.__dict__["flow"] = self.flow.beside(t, x)
        return node

    def _reset(self, fired: frozenset[Hashable]) -> tuple[Node, Array, Array]:
        """The node after the reset, D R with what is remembered and the parameters, and D_t R of all but these."""
        transition = self._pass(self._behind, self.t, self.x, fired)
        node = Node(
            self._behind,
            self.t,
            transition.x,
            transition.mode,
            self.tolerances,
            self.parameters,
            clock=self.clock and CLOCK not in fired,
            root=self._root or self,
        )
        size, behind, extra = self.space.dim, node.space.dim, len(self.parameters.names)
        if self.dim == size and node.dim == behind:
            matrix = np.array(self._reset_by_state(transition, fired, node), dtype=float)
            return node, matrix, self._reset_by_time(transition, fired, node)
        matrix = np.zeros((node.dim, self.dim))
        if extra:  # first, since it may find what is asked for by the state as well
            matrix[:behind, -extra:] = self._reset_by_parameters(transition, fired, node)
            matrix[-extra:, -extra:] = np.eye(extra)
        matrix[:behind, :size] = self._reset_by_state(transition, fired, node)
        by_time = self._reset_by_time(transition, fired, node)
        if node.remembered:
            by_time = np.append(by_time, self._remember(node, matrix, by_time, transition.still))
        return node, matrix, by_time

    def _remember(self, node: Node, matrix: Array, by_time: Array, still: bool) -> Array:
        """Rows of D R (dim_post, dim), in place, of what the mode behind remembers; and their D_t R.

        What was remembered before goes on to be; what begins to be is that of the state behind, x_post.
        """
        system, behind, known = node.system, node.space.dim, list(self.remembered)
        rows, begun = matrix[behind : behind + len(node.remembered)], []
        for k, (name, value) in enumerate(node.remembered.items()):
            if self.remembered.get(name) == value:
                rows[k, self.space.dim + known.index(name)] = 1.0
            else:
                begun.append(k)
        found = np.zeros(len(rows))
        if not begun:
            return found
        by_state = system.remembered_by_state(node.t, node.x, node.mode)
        if by_state is None:
            at = node.space
            by_state = tangent_derivative(lambda x: system.remembered_at(node.t, x, node.mode), at, node.x)
        rows[begun] = by_state[begun] @ matrix[:behind]
        if not still:
            by_clock = derivative(lambda h: system.remembered_at(node.t + h, node.x, node.mode), TIME_STEP)
            found[begun] = (by_state @ by_time + by_clock)[begun]
        if self.parameters.names:
            directly = self.parameters.derivative(system, lambda s: s.remembered_at(node.t, node.x, node.mode))
            rows[begun, -len(self.parameters.names) :] += directly[begun]
        return found

    def _pass(self, system: HybridSystem, t: float, x: Array, fired: frozenset[Hashable]) -> Transition:
        """The event as the run itself met it, or as a neighbouring one does that meets only some of the guards here."""
        if self._recorded is not None and self._is_itself(system, t, x, fired):
            return self._recorded.transition
        follow = system.transition if fired == self.fired else system.crossing
        return follow(t, x, self.mode, fired)

    def _reset_by_state(self, transition: Transition, fired: frozenset[Hashable], node: Node) -> Array:
        if transition.derivative is not None:
            return transition.derivative()

        def reset(x: Array) -> Array:
            return self._outcome(self._pass(self._behind, self.t, x, fired), node)

        return map_derivative(reset, self.space, self.x, node.space)

    def _reset_by_parameters(self, transition: Transition, fired: frozenset[Hashable], node: Node) -> Array:
        """D_p R (dim_post, p); there is at least one parameter."""
        names, columns = self.parameters.names, np.zeros((node.space.dim, len(self.parameters.names)))
        known = {} if transition.by_parameters is None else transition.by_parameters(names)

        def reset(system: HybridSystem) -> Array:
            return node.space.difference(node.x, self._outcome(self._pass(system, self.t, self.x, fired), node))

        for k, name in enumerate(names):
            if name in known:
                columns[:, k] = known[name]
            elif not transition.unmoved:
                columns[:, k] = Parameters((name,)).derivative(self._behind, reset)[:, 0]
        return columns

    def _reset_by_time(self, transition: Transition, fired: frozenset[Hashable], node: Node) -> Array:
        if transition.still or not fired or fired == {CLOCK}:
            return np.zeros(node.space.dim)
        if transition.by_time is not None:
            return transition.by_time()

        def reset(h: float) -> Array:
            moved = self._outcome(self._pass(self._behind, self.t + h, self.x, fired), node)
            return node.space.difference(node.x, moved)

        return np.asarray(derivative(reset, TIME_STEP))

    def _outcome(self, transition: Transition, node: Node) -> Array:
        """The state after a varied reset, which must lead to the same kind of state."""
        named = self._behind.named_modes
        if len(transition.x) != len(node.x) or named(transition.mode) != named(node.mode):
            raise NonDifferentiableError(
                f"the event at t = {self.t:.9g} s ends in another mode, {transition.mode} instead of {node.mode}, for"
                " states close by; it lies on the boundary between the two"
            )
        return transition.x


def _filled(vector: Array, size: int) -> Array:
    """A vector followed by zeros up to a size."""
    found = np.zeros(size)
    found[: len(vector)] = vector
    return found


def with_memory(node: Node) -> Node:
    """The same node for variations of what modes remember, too, with what is known of the state."""
    found = object.__new__(type(node))
    found.__dict__.update(node.__dict__)
    found.__dict__.pop("remembered", None)
    found.parameters, found._gradients = Parameters(node.parameters.names, memory=True), {}
    return found
