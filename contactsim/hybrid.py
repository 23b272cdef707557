"""The contract of a hybrid system: smooth flows on manifolds, joined by transitions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .errors import InputError, SimulationError
from .tolerances import Tolerances

if TYPE_CHECKING:
    from .trajectory import Event, Trajectory

Array = np.ndarray
NOTHING: Mapping[str, Any] = MappingProxyType({})


class Manifold(ABC):
    """The space a state lives in: `size` numbers describe a point, `dim` numbers a tangent vector."""

    size: int
    dim: int

    @abstractmethod
    def integrate(self, x: Array, dx: Array) -> Array:
        """Point reached from `x` (size,) along the tangent vector `dx` (dim,): x (+) dx."""

    @abstractmethod
    def difference(self, x0: Array, x1: Array) -> Array:
        """Tangent vector (dim,) that leads from `x0` to `x1`: x1 (-) x0."""

    @abstractmethod
    def chart_rate(self, dx: Array, rate: Array) -> Array:
        """Rate (dim,) of the chart coordinate dx of x0 (+) dx that moves with the body rate `rate` (dim,): dexp^-1."""

    def within_chart(self, dx: Array) -> bool:
        """Whether the chart is still well conditioned at `dx`; where it is not, a new one is started."""
        return True

    def bracket(self, rate: Array) -> Array | None:
        """Matrix ad(rate) (dim, dim) of the Lie bracket: a variation obeys d(dx)/dt = D_x f dx - ad(f) dx.

        None where tangent vectors commute, as in R^n.
        """
        return None


class Euclidean(Manifold):
    """R^n: points and tangent vectors are plain arrays."""

    def __init__(self, dim: int) -> None:
        self.size = self.dim = dim

    def integrate(self, x: Array, dx: Array) -> Array:
        """Sum of `x` and `dx`."""
        return x + dx

    def difference(self, x0: Array, x1: Array) -> Array:
        """Difference of `x1` and `x0`."""
        return x1 - x0

    def chart_rate(self, dx: Array, rate: Array) -> Array:
        """The rate itself: the chart of a vector space is flat."""
        return rate


@dataclass(frozen=True)
class Finding:
    """What a flow finds wrong with a state.

    Attributes:
        reason: what is wrong, and what to do about it.
        fatal: True: the run ends there; False: it goes on, and notes the reason once.
    """

    reason: str
    fatal: bool = False


class Path(NamedTuple):
    """How far a step can lead, in tangent coordinates: bounds that hold all along it.

    Attributes:
        t: time of its start [s].
        duration: its length [s].
        start: state at its start.
        moved: largest change of the state since then (dim,).
        rate: largest rate of the state (dim,).
        error: () -> by what the interpolated state may miss the true one (dim,).
    """

    t: float
    duration: float
    start: Array
    moved: Array
    rate: Array
    error: Callable[[], Array]


class GuardBounds(NamedTuple):
    """How fast some of the guards can change along a step.

    Attributes:
        guards: which (k,), among `Flow.guard_names`.
        speed: bounds of |g'| (k,).
        at_least: values (k,) -> lower bounds of the same sign, of which `speed` holds; None: the values themselves.
        closer: number among `guards` -> bound of |g''| between two looks that name the same piece, and by what an
            interpolated value may miss the true one.
    """

    guards: Array
    speed: Array
    at_least: Callable[[Array], Array] | None
    closer: Callable[[int], tuple[float, float]]


class Look(NamedTuple):
    """A guard at one time: its value and its rate along the motion.

    Attributes:
        piece: the piece on which the guard is smooth; None: neither rate nor `GuardBounds.bend` say anything here.
    """

    value: float
    rate: float
    piece: Hashable | None


class Flow(ABC):
    """The smooth motion in one mode, and the guards that end it.

    A guard fires where it falls through zero, in the half-open interval t0 < t <= t1 of a step. One that starts a
    flow at zero, or as close below it as its band, is armed only after it has risen above its rounding, and fires
    where it falls further; one that starts below its band has jumped there and fires at once.
    """

    guard_names: tuple[Hashable, ...] = ()
    guard_smooth: Array | None = None  # (ng,) whether a guard is smooth along a step; None: all are
    guards_follow: bool = False  # whether `rebase` changes the values of guards
    bounded_guards: bool = False  # whether `guard_bounds` knows how fast some of the guards can change
    bounded_steps: bool = False  # whether `longest_step` keeps guards from swinging within a step
    guard_rounding: Array | None = None  # (ng,) in the unit of each guard; None: Tolerances.rearm
    guard_bands: Array | None = None  # (ng,) in the unit of each guard; None: Tolerances.jump

    @abstractmethod
    def field(self, t: float, x: Array) -> Array:
        """Rate of the state at (t, x) in tangent coordinates (dim,)."""

    def guards(self, t: float, x: Array) -> Array:
        """Guard values (ng,), positive inside the mode."""
        return np.empty(0)

    def guard_bounds(self, path: Path) -> GuardBounds:
        """Bounds of the guards along a step: those that have some cannot dip below zero unseen."""
        raise NotImplementedError

    def guard_motion(self, t: float, x: Array, guard: int) -> Look:
        """One of the guards that `guard_bounds` bounds, with its rate."""
        raise NotImplementedError

    def places(self, names: Sequence[Hashable]) -> list[int]:
        """Where the named guards stand among `guard_names`.

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
        """How far a step from (t, x) may go at most: across it, guards are known by a few samples."""
        return float("inf")

    def rebase(self, t: float, x: Array) -> None:  # noqa: B027 - optional
        """Called where a step starts: references that let field and guards run on past a zero are renewed here."""

    def project(self, t: float, x: Array) -> Array:
        """The nearest state that satisfies the constraints of the mode; `x` itself where it already does."""
        return x

    def singular(self, t: float, x: Array) -> SimulationError | None:
        """Why no step leads on from (t, x), where the integrator found none; None: nothing is known."""
        return None

    def validate(self, t: float, x: Array) -> Sequence[Finding]:
        """What is wrong with a state in this mode, after an event or at the end of a step; empty: it is fine."""
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


@dataclass(frozen=True)
class Transition:
    """What an event does to a state: the state and mode after it, and a record of what happened.

    Attributes:
        x: state after the event (size of the new mode's space,).
        mode: mode after the event.
        changes: {name: (before, after)} of what changed; empty for an event that only the engine sees.
        impulses: {contact: (3,) or (d,) newton second}.
        residuals: {law: largest violation}.
        notes: sentences worth telling the user (a non-unique force, an impact that gains energy).
        derivative: () -> D_x R (dim_post, dim_pre) of the reset x_post = R(t, x_pre) with its outcome held; None: to be
            differenced.
        still: whether the reset does not depend on time, D_t R = 0; else that is differenced.
        unmoved: whether the reset leaves the state alone, whatever the parameters are, D_p R = 0.
        accumulated: names of what came to rest here after infinitely many events (Zeno).
    """

    x: Array
    mode: Hashable
    changes: Mapping[str, tuple[Any, Any]] = field(default_factory=lambda: NOTHING)
    impulses: Mapping[str, Array] = field(default_factory=lambda: NOTHING)
    residuals: Mapping[str, float] = field(default_factory=lambda: NOTHING)
    notes: tuple[str, ...] = ()
    derivative: Callable[[], Array] | None = None
    still: bool = False
    unmoved: bool = False
    accumulated: tuple[str, ...] = ()


CLOCK = "clock"  # the name under which an instant given by `Flow.next_time` fires
LIMIT, LOOP = "limit:", "loop:"  # begin the names of joint limits and loops in transitions; they are no contacts


@dataclass(frozen=True)
class Push:
    """A force on a frame that lasts until a time; a Simulation takes it away then.

    Attributes:
        frame: name of the frame.
        force: (3,) [N] in world axes.
        point: (3,) [m] in the frame.
        end: when it ends [s].
    """

    frame: str
    force: Array
    point: Array
    end: float


def one_by_one(names: frozenset[Hashable]) -> tuple[frozenset[Hashable], ...]:
    """Each name in a group of its own."""
    return tuple(frozenset({name}) for name in sorted(names, key=str))


class HybridSystem(ABC):
    """A system of smooth flows joined by events: what `simulate` and `linearize` need to know, and no more.

    Three methods say what it is; everything else has a default, which stands for a system that has no such thing.

    Attributes:
        preferred_integrator: the integrator for runs whose user names none; None: that of `simulate`.
        preferred_tolerances: the accuracy for runs whose user gives none; None: that of `simulate`.
        tolerances: what counts as zero at its events, for their derivatives; None: what `linearize` is given.
        nv: numbers of a velocity where tangent vectors are (dq, dv, ...) with as many dq; None: it is half of them.
        pushes: what pushes it for a while.
        law: its contact law; None: it has none.
    """

    preferred_integrator: str | None = None
    preferred_tolerances: Tolerances | None = None
    tolerances: Tolerances | None = None
    nv: int | None = None
    pushes: tuple[Push, ...] = ()
    law: Any = None

    @abstractmethod
    def flow(self, mode: Hashable) -> Flow:
        """Vector field and guards of a mode."""

    @abstractmethod
    def transition(self, t: float, x: Array, mode: Hashable, fired: frozenset[Hashable]) -> Transition:
        """State and mode after the guards named in `fired` (or CLOCK) fired together at (t, x) in `mode`."""

    @abstractmethod
    def start(self, t: float, x: Array) -> Transition:
        """Mode in which a run starts at (t, x); raises InputError where the state is not a valid one."""

    def crossing(self, t: float, x: Array, mode: Hashable, fired: frozenset[Hashable]) -> Transition:
        """What a neighbouring run meets that reaches the guards in `fired` first of several which are at zero here.

        Differs from `transition` only where that looks at what else is at zero, fired or not.
        """
        return self.transition(t, x, mode, fired)

    def separable(
        self, t: float, x: Array, mode: Hashable, names: frozenset[Hashable]
    ) -> tuple[frozenset[Hashable], ...]:
        """Guards that are zero together, in the groups that a neighbouring run meets one after the other.

        Guards belong into one group where every neighbouring run meets them together, too.
        """
        return one_by_one(names)

    def prepared(self, t: float, x: Array) -> Array:
        """A user's state with what the system sets itself where a run starts, such as the sample of a controller."""
        return x

    def guard_label(self, name: Hashable) -> str:
        """A guard as a user reads it."""
        return str(name)

    def why_so_many(self, events: Sequence[Event]) -> str | None:
        """What makes for so many events, from the last ones of a run that has too many; None: nothing is known."""
        return None

    def with_parameter(self, name: str, value: float) -> HybridSystem:
        """A copy with one parameter changed.

        Raises:
            InputError: no such parameter, or its value is out of range.
        """
        raise InputError(f"{type(self).__name__} has no parameter '{name}'; it has none")

    def parameter(self, name: str) -> float:
        """Value of a parameter by name.

        Raises:
            InputError: no such parameter.
        """
        raise InputError(f"{type(self).__name__} has no parameter '{name}'; it has none")

    def parameter_scale(self, name: str) -> float:
        """Change of a parameter that counts as large, relative to which derivatives by it take their steps."""
        return max(1.0, abs(self.parameter(name)))

    def space(self, mode: Hashable) -> Manifold | None:
        """Manifold of the states in a mode; None: R^n with the dimension of the state at hand."""
        return None

    def state(self, x: Array) -> Any:
        """The state as the user sees it; here the plain array."""
        return x

    def pack(self, state: Any) -> Array:
        """A user's state as the plain array that flows work on; the inverse of `state`."""
        return np.array(state, dtype=float)

    # --- what a run asks where its user does ------------------------------------------------------------------

    def named_modes(self, mode: Any) -> Any:
        """A mode as the user sees it: {contact: Mode} of a system with contacts, here the mode itself."""
        return mode

    def forces(self, t: float, x: Array, mode: Any) -> dict[str, Array] | None:
        """{contact: force} at a state; None: the system has no contacts."""
        return None

    def loop_forces(self, t: float, x: Array, mode: Any) -> dict[str, Array] | None:
        """{loop: force} at a state; None: the system has no bodies whose loops could be closed."""
        return None

    def energy(self, x: Array, mode: Any) -> float | None:
        """Energy of a state [J]; None: the system does not know it."""
        return None

    def audit(self, trajectory: Trajectory) -> tuple[Mapping[str, float], Mapping[str, float]]:
        """Residuals {law: largest violation} along a run of this system, and the limit of each; here there are none."""
        return NOTHING, NOTHING

    def with_push(self, frame: str, force: Any, end: float, point: Any = (0.0, 0.0, 0.0)) -> HybridSystem:
        """A copy with one more of `pushes`.

        Raises:
            InputError: there is nothing to push, or no such frame.
        """
        raise InputError(f"a {type(self).__name__} cannot be pushed; only a ContactSystem can")

    def without_pushes(self, t: float) -> HybridSystem:
        """A copy without the pushes that end at `t` or before."""
        return self

    def with_law(self, law: Any) -> HybridSystem:
        """A copy under another contact law.

        Raises:
            InputError: it has none.
        """
        raise InputError(f"a {type(self).__name__} has no contact law to change")

    def carried(self, state: Any) -> Any:
        """A user's state of a system that differs in parameters or its law, as one of this system."""
        return state

    def initial_state(self) -> Any:
        """Where it starts if its user does not say; None: it has no start of its own."""
        return None
