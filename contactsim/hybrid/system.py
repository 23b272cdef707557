"""The contract of a hybrid system: smooth flows on manifolds, joined by transitions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from .flow import Flow
from .manifold import Manifold
from .tolerances import Tolerances

if TYPE_CHECKING:
    from .trajectory import Event, Trajectory

Array = np.ndarray
NOTHING: Mapping[str, Any] = MappingProxyType({})


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
