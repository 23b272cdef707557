"""The smooth motion in one mode, the guards that end it, and the record of the transition that follows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from ..common.arguments import FLAG, NAME, arguments
from ..common.arrays import Array
from ..common.lazy import NamedTuple, dataclass
from ..common.representation import Brief
from ..errors import InputError, SimulationError
from .chart_path import ChartPath
from .course import Course, Passed


@arguments(reason=NAME, fatal=FLAG)
@dataclass(frozen=True)
class Finding:
    """A fault of a state, found by a flow.

    Attributes:
        reason: what is wrong, and what to do about it.
        fatal: True: the run ends there; False: it goes on, and notes the reason once.
    """

    reason: str
    fatal: bool = False


# The rates of an explicit Runge-Kutta method of coefficients A (s, s) and C (s,) in a chart: (A, C, t, h, y, K, points,
# first, last) writes K[i] (dim,) = rate(t + C_i h, points[i]), points[i] = y + h sum A_ij K[j], for first <= i < last.
Stages = Callable[[Array, Array, float, float, Array, Array, Array, int, int], None]

# Variations (dim, m) at t1 of those at t0 along an arc, to (rtol, atol): (path, t0, t1, variations, accuracy) -> them;
# None: to be integrated from the Jacobian.
Propagated = Callable[[ChartPath, float, float, Array, tuple[float, float]], Array | None]

# The flow as it is followed from (t, x) to a singular place that is some time [s] ahead: it may expand its field around
# that state, if velocities miss less than an accuracy by that. (t, x, time, accuracy) -> it, or the flow as it was.
Nearing = Callable[[float, Array, float, float], "Flow"]

# Steps of DOP853, or of Radau9, by an engine, from where a stepper and its watch are, as they take them, as long as
# nothing happens. The course goes along. Where no step succeeds there are none: the stepper itself has to find out why.
Cruise = Callable[[Course], Passed]


class Path(NamedTuple):
    """Bounds of a step, in tangent coordinates, that hold all along it.

    Attributes:
        t: time of its start [s].
        duration: its length [s].
        start: state at its start.
        moved: largest change of the state since then (dim,).
        rate: largest rate of the state (dim,).
        error: () -> by what the interpolated state may miss the true one (dim,).
        at: t -> the interpolated state.
    """

    t: float
    duration: float
    start: Array
    moved: Array
    rate: Array
    error: Callable[[], Array]
    at: Callable[[float], Array]


class GuardBounds(NamedTuple):
    """Bounds of the speed of some of the guards along a step.

    Attributes:
        guards: which (k,), among `Flow.guard_names`.
        speed: bounds of |g'| (k,).
        at_least: values (k,) -> lower bounds of the same sign, of which `speed` holds; None: the values themselves.
        closer: numbers (n,) among `guards` -> bounds of |g''| (n,) between two looks that name the same piece, and by
            what interpolated values may miss the true ones (n,).
    """

    guards: Array
    speed: Array
    at_least: Callable[[Array], Array] | None
    closer: Callable[[Array], tuple[Array, Array]]


class Look(NamedTuple):
    """A guard at one time: its value and its rate along the motion.

    Attributes:
        piece: the piece on which the guard is smooth; None: neither rate nor `GuardBounds.bend` say anything here.
        apart: whether it cannot fire as it is here, however low it is: between two such looks it is not followed for
            long.
    """

    value: float
    rate: float
    piece: Hashable | None
    apart: bool = False


class Looks(NamedTuple):
    """Several guards at one time, see `Look`: values and rates (k,), pieces, and which are apart (k,)."""

    values: Array
    rates: Array
    pieces: list[Hashable | None]
    apart: Array

    @staticmethod
    def of(looks: Iterable[Look]) -> Looks:
        """Looks at one guard each, together."""
        looks = list(looks)
        values, rates = (np.array([look[part] for look in looks], dtype=float) for part in (0, 1))
        return Looks(values, rates, [look.piece for look in looks], np.array([look.apart for look in looks], bool))

    def one(self, place: int) -> Look:
        """The look at one of them."""
        return Look(float(self.values[place]), float(self.rates[place]), self.pieces[place], bool(self.apart[place]))

    def joined(self, others: Looks) -> Looks:
        """These, then others."""
        values, rates = np.append(self.values, others.values), np.append(self.rates, others.rates)
        return Looks(values, rates, self.pieces + others.pieces, np.append(self.apart, others.apart))

    def some(self, places: Array) -> Looks:
        """Those at some places."""
        pieces = [self.pieces[k] for k in places.tolist()]
        return Looks(self.values[places], self.rates[places], pieces, self.apart[places])


class Met(NamedTuple):
    """A state at which guards of a mode are met, as derivatives of events look at it.

    Attributes:
        values: of the guards (ng,), as those of the flow `rebased` there.
        accuracy: () -> their rounding and bands (ng,), likewise.
        field: F (dim,).
        row: D_x g (dim,) of the guard that was asked for; None: it is not told.
        by_time: its D_t g; None: it is not told.
    """

    values: Array
    accuracy: Callable[[], tuple[Array, Array]]
    field: Array
    row: Array | None
    by_time: float | None


# (path of a step, way so far) -> the flow that watches all guards which may fire in the step, those of the flow before
# among them, and the way: by how much the guards that are left out may have fallen since they were looked at.
Widened = Callable[[Path, float], "tuple[Flow, float]"]


# (t, x) -> the pace [1/s] at which the time scale of the fastest decay grows from there on: the stiff method takes the
# decay at a later stage to be slower by so much.
Slowing = Callable[[float, Array], float]


class Flow(ABC):
    """The smooth motion in one mode, and the guards that end it.

    A guard fires where it falls through zero, in the half-open interval t0 < t <= t1 of a step. One that starts a
    flow at zero, or as close below it as its band, is armed only after it has risen above its rounding, and fires
    where it falls further; one that starts below its band has jumped there and fires at once.
    """

    stages: Callable[[Array], Stages | None] | None = None  # rates of whole steps in the chart around a state
    propagated: Propagated | None = None  # variations along an arc of this flow
    first_rate: Callable[[float, Array], Array] | None = None  # (t, x) -> F of `rebased(t, x)`, where that costs less
    # (t, x, name of a guard or None) -> all that `rebased(t, x)` tells there, where that costs less; None: it does not
    met: Callable[[float, Array, Hashable | None], Met | None] | None = None
    # (t, x) -> the flow from a state close by, whose guards are known as well as here; None: `rebased` tells it
    beside: Callable[[float, Array], Flow] | None = None
    cruise: Cruise | None = None
    cruises_stiffly: bool = False  # whether `cruise` knows the steps of the stiff method, too
    nearing: Nearing | None = None
    slowing: Slowing | None = None
    is_expanded: bool = False  # whether the field is that of an expansion
    spent: int = 0  # evaluations of the field that making the expansion took
    widened: Widened | None = None  # where guards that are far from zero may be left out
    clearance: float = float("inf")  # all that are left out were above this where they were looked at last
    # (t, x, guards there) -> guards (ng,) where a watch of them begins: those at zero as they go on from there
    begun: Callable[[float, Array, Array], Array] | None = None
    guard_names: tuple[Hashable, ...] = ()
    guard_smooth: Array | None = None  # (ng,) whether a guard is smooth along a step; None: all are
    guard_still: Array | None = None  # (ng,) whether a guard does not depend on the time; None: it is not known
    # (t, x, name of a guard) -> D_t g at a state that is held; None, here or of a guard: to be differenced
    guard_by_time: Callable[[float, Array, Hashable], float | None] | None = None
    smooth_for: Callable[[], float] | None = None  # s, within which t alone changes guards smoothly where it starts
    guards_follow: Array = np.zeros(0, dtype=int)  # guards (k,) of which `rebased` changes the values
    guards_singular: Array = np.zeros(0, dtype=int)  # guards (k,) at whose zero the field breaks: no step passes it
    guards_given: Array = np.zeros(0, dtype=int)  # guards (k,) that functions of a user's give: time may swing them
    bounded_guards: bool = False  # whether `guard_bounds` knows how fast some of the guards can change
    bounded_steps: bool = False  # whether `longest_step` keeps motion from swinging guards within a step
    forcing: Callable[[float, Array], Array | None] | None = None  # what acts at (t, x) (k,) by the time
    guard_rounding: Array | None = None  # (ng,) in the unit of each guard; None: Tolerances.rearm
    guard_paces: Array | None = None  # (ng,) units a second by which each may change; None: UNITS_A_SECOND
    guard_bands: Array | None = None  # (ng,) in the unit of each guard; None: Tolerances.jump

    @abstractmethod
    def field(self, t: float, x: Array) -> Array:
        """Rate of the state at (t, x) in tangent coordinates (dim,)."""

    def guards(self, t: float, x: Array) -> Array:
        """Guard values (ng,), positive inside the mode."""
        return np.empty(0)

    def some_guards(self, t: float, x: Array, guards: Array) -> Array:
        """Some of the guards (k,); for flows of which they cost less than all."""
        return np.asarray(self.guards(t, x.copy()), dtype=float)[guards]

    def guard_bounds(self, path: Path) -> GuardBounds:
        """Bounds of the guards along a step: those that have some cannot dip below zero unseen."""
        raise NotImplementedError

    def guard_motions(self, t: float, x: Array, guards: Array) -> Looks:
        """Some of the guards (k,) that `guard_bounds` bounds, with their rates."""
        raise NotImplementedError

    def places(self, names: Sequence[Hashable]) -> list[int]:
        """Places of the named guards among `guard_names`.

        Raises:
            InputError: there is no such guard.
        """
        if unknown := [name for name in names if name not in self.guard_names]:
            known = ", ".join(map(repr, self.guard_names)) or "none"
            raise InputError(f"the flow has no guard {unknown[0]!r}; there are {known}")
        return [self.guard_names.index(name) for name in names]

    def next_time(self, t: float) -> float:
        """First instant after `t` at which something happens by the clock alone; infinity if nothing does."""
        return float("inf")

    def longest_step(self, t: float, x: Array) -> float:
        """Longest step from (t, x): across it, guards are known by a few samples."""
        return float("inf")

    def towards_singular(self, t: float, x: Array) -> float:
        """Longest step from (t, x) towards a place where the field is singular; infinity where there is none ahead.

        It shrinks with the scale on which the field changes there, and the steps of an integrator with it.
        """
        return float("inf")

    def soonest(self, t: float, x: Array, horizon: float) -> float:
        """Time [s] from now, if it is within `horizon` [s], in which a guard is expected to fire; else infinity.

        A guess: a step that ends a little later shows the guard well.
        """
        return float("inf")

    def stiff_for(self, t: float, x: Array) -> float:
        """Time [s] for which the field decays about as fast as at (t, x), where that may be very fast; else zero.

        A hint: where it tells of many decay times, an arc begins with a method for stiff motion.
        """
        return 0.0

    def rebased(self, t: float, x: Array) -> Flow:
        """The flow that goes on from (t, x), where a step starts: itself where it remembers nothing.

        References that let field and guards run on past a zero are renewed here. A flow that is changed in place does
        so in `rebase`.
        """
        self.rebase(t, x)
        return self

    def rebase(self, t: float, x: Array) -> None:  # noqa: B027 - optional
        """The same for a flow that is changed in place."""

    def fitted(self, stiff: bool) -> Flow:
        """The flow as a `stiff` arc wants it, or any other one: itself where that is all the same.

        Where a field holds still near a point, to spare an explicit method rounding, Newton's method does not converge.
        """
        return self

    def project(self, t: float, x: Array) -> Array:
        """The nearest state that satisfies the constraints of the mode; `x` itself where it already does."""
        return x

    def singular(self, t: float, x: Array) -> SimulationError | None:
        """Reason for which no step leads on from (t, x), where the integrator found none; None: nothing is known."""
        return None

    def validate(self, t: float, x: Array) -> Sequence[Finding]:
        """Faults of a state in this mode, after an event or at the end of a step; empty: it is fine."""
        return ()

    def jacobian(self, t: float, x: Array) -> Array | None:
        """D_x f (dim, dim): field(t, x (+) dx) = field(t, x) + jacobian dx + ...; None: to be differenced."""
        return None

    def guard_jacobian(self, t: float, x: Array, names: Sequence[Hashable]) -> Array | None:
        """D_x g (len(names), dim) of the named guards, one row for each; None: to be differenced."""
        return None

    def input_matrix(self, t: float, x: Array) -> Array | None:
        """D_u f (dim, nu) with respect to the inputs of the system; None: it has none."""
        return None


class Nothing(Mapping[str, Any]):
    """The mapping without entries, of which there is one, also among copies."""

    def __getitem__(self, name: str) -> Any:
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return "{}"

    def __reduce__(self) -> str:
        return "NOTHING"


NOTHING = Nothing()
CLOCK = "clock"  # the name under which an instant given by `Flow.next_time` fires
LIMIT, LOOP = "limit:", "loop:"  # begin the names of joint limits and loops in transitions; they are no contacts


@dataclass(frozen=True, repr=False)
class Transition(Brief):
    """State and mode after an event, and a record of what happened.

    Attributes:
        x: state after the event (size of the new mode's space,).
        mode: mode after the event.
        changes: {name: (before, after)} of what changed; empty for an event that only the engine sees.
        impulses: {contact: (3,) or (d,) newton second}.
        residuals: {law: largest violation}.
        notes: sentences worth telling the user (a non-unique force, an impact that gains energy).
        derivative: () -> D_x R (dim_post, dim_pre) of the reset x_post = R(t, x_pre) with its outcome held; None: to be
            differenced.
        by_time: () -> D_t R (dim_post,) of the same reset; None: to be differenced.
        by_parameters: names -> {name: D_p R (dim_post,)} of those that are known; None, or a name that is left out: to
            be differenced.
        still: whether the reset does not depend on time, D_t R = 0.
        unmoved: whether the reset leaves the state alone, whatever the parameters are, D_p R = 0.
        seamless: whether the field behind it is the one before it, too, at this state: whether a neighbour meets the
            event sooner or later makes no difference, to first order.
        accumulated: names of what came to rest here after infinitely many events (Zeno).
        jammed: names of what takes part in an impact without collision here (Painleve).
    """

    x: Array
    mode: Hashable
    changes: Mapping[str, tuple[Any, Any]] = field(default_factory=lambda: NOTHING)
    impulses: Mapping[str, Array] = field(default_factory=lambda: NOTHING)
    residuals: Mapping[str, float] = field(default_factory=lambda: NOTHING)
    notes: tuple[str, ...] = ()
    derivative: Callable[[], Array] | None = None
    by_time: Callable[[], Array] | None = None
    by_parameters: Callable[[tuple[str, ...]], Mapping[str, Array]] | None = None
    still: bool = False
    unmoved: bool = False
    seamless: bool = False
    accumulated: tuple[str, ...] = ()
    jammed: tuple[str, ...] = ()
