"""Abilities of hybrid systems beyond the contract: each a few methods with defaults, which stand for having none.

A `HybridSystem` has them all; a class of one's own that only keeps the contract may add any method of them by its name.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import field
from typing import Any, Protocol, Self

import numpy as np

from ..common.arguments import NUMBERS
from ..common.arrays import Array
from ..common.lazy import dataclass, lazy
from ..common.representation import Brief
from ..errors import InputError
from .flow import NOTHING, Transition
from .manifold import Manifold
from .tolerances import Tolerances


@dataclass(frozen=True, repr=False)
class Push(Brief):
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


class Preferences:
    """Settings with which it is best run.

    Attributes:
        preferred_integrator: the integrator for runs whose user names none; None: that of `simulate`.
        preferred_tolerances: the accuracy for runs whose user gives none; None: that of `simulate`.
    """

    preferred_integrator: str | None = None
    preferred_tolerances: Tolerances | None = None


class States:
    """The user's form of the plain arrays that flows work on, and the start of a run."""

    def state(self, x: Array) -> Any:
        """The state as the user sees it; here the plain array."""
        return x

    def pack(self, state: Any) -> Array:
        """A user's state as the plain array that flows work on; the inverse of `state`."""
        return np.asarray(NUMBERS.check("the state", state))

    def prepared(self, t: float, x: Array) -> Array:
        """A user's state with what the system sets itself where a run starts, such as the sample of a controller."""
        return x

    def initial_state(self) -> Any:
        """Start that is taken where the user names none; None: it has no start of its own."""
        return None


class Restarts:
    """The start of a run in the middle of another one, and how a start hangs on what a user gives."""

    def restart(self, t: float, x: Array, mode: Any) -> Transition:
        """The start at (t, x) in a mode that the user gives; here it is taken as it is.

        Raises:
            InputError: the state is not one of that mode.
        """
        return Transition(x, mode)

    def prepared_by_state(self, t: float, x: Array) -> Array | None:
        """D_x (dim, dim) of what is `prepared` of a user's state, of which memory may be missing; None: differenced."""
        return None


class Engines:
    """What its arcs are computed by."""

    def on_engine(self, name: str) -> Self:
        """A copy whose arcs run on the engine of a name; here there is Python alone.

        Raises:
            InputError: there is no such engine, or not for this system.
        """
        if name != "python":
            raise InputError(
                f"a {type(self).__name__} runs on the engine 'python' alone, not on '{name}'; leave it out"
            )
        return self

    def journey(self, departure: Any) -> Any:
        """From a `journeys.Departure` on, event after event by a compiled engine as far as it knows them: a `Journey`.

        None: it does not know the first of them.
        """
        return None


class Spaces:
    """The spaces that its states live in.

    Attributes:
        nv: numbers of a velocity where tangent vectors are (dq, dv, ...) with as many dq; None: it is half of them.
    """

    nv: int | None = None

    def space(self, mode: Hashable) -> Manifold | None:
        """Manifold of the states in a mode; None: R^n with the dimension of the state at hand."""
        return None


class _Passes(Protocol):
    def transition(self, t: float, x: Array, mode: Hashable, fired: frozenset[Hashable]) -> Transition: ...


@dataclass(frozen=True, repr=False)
class Held(Brief):
    """The constraints of a mode to first order, at a state that keeps them: those of places, then those of velocities.

    Attributes:
        names: what touches, one for each constraint of places (k,).
        rows: their derivatives by the state (m, n), those of places first.
        pull: (n, m), by what a state is moved, for each unit that it misses them, until the mode holds again.
        loose: {what stays at rest by static friction alone: its rows (d, n)}: moved, it slips on, however little.
        misses: system -> (m,), by how much this state misses them there: those of a system with other parameters.
    """

    names: tuple[str, ...]
    rows: Array
    pull: Array
    misses: Callable[[Any], Array]
    loose: Mapping[str, Array] = field(default_factory=dict)

    @property
    def gaps(self) -> Array:
        """Derivatives (k, n) of the constraints of places."""
        return self.rows[: len(self.names)]

    @lazy
    def regained(self) -> Array:
        """(n, n): what remains of a variation once the mode holds again; those that keep its constraints remain."""
        return np.eye(len(self.pull)) - self.pull @ self.rows


class Constraints:
    """What its modes hold, for derivatives by starts that miss it."""

    def held(self, t: float, x: Array, mode: Any) -> Held | None:
        """What a mode holds at a state on its constraints; None: what the flow's `project` says of them."""
        return None


class Neighbours:
    """Events as neighbouring runs meet them, for derivatives through them.

    Attributes:
        tolerances: what counts as zero at its events, for their derivatives; None: what `linearize` is given.
    """

    tolerances: Tolerances | None = None

    def crossing(self: _Passes, t: float, x: Array, mode: Hashable, fired: frozenset[Hashable]) -> Transition:
        """Transition of a neighbouring run that meets the guards in `fired` first of several which are at zero here.

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


class Words:
    """Modes and guards in the user's words.

    Attributes:
        absent_mode: mode of a contact that `named_modes` leaves out.
    """

    absent_mode: Any = None

    def named_modes(self, mode: Any) -> Any:
        """A mode as the user sees it: {contact: Mode} of a system with contacts, here the mode itself."""
        return mode

    def guard_label(self, name: Hashable) -> str:
        """A guard as a user reads it."""
        return str(name)

    def why_so_many(self, events: Sequence[Any]) -> str | None:
        """Cause of so many events, from the last `Event`s of a run that has too many; None: nothing is known."""
        return None

    def contradiction(self, times: Array) -> str | None:
        """Where what time moves is not as its rates say, at or between rising times [s], in words; None: nowhere."""
        return None


class Parameters:
    """Parameters by name, which runs change and derivatives are taken by."""

    def parameter(self, name: str) -> float:
        """Value of a parameter by name.

        Raises:
            InputError: no such parameter.
        """
        raise InputError(f"{type(self).__name__} has no parameter '{name}'; it has none")

    def with_parameter(self, name: str, value: float) -> Self:
        """A copy with one parameter changed.

        Raises:
            InputError: no such parameter, or its value is out of range.
        """
        raise InputError(f"{type(self).__name__} has no parameter '{name}'; it has none")

    def parameter_scale(self, name: str) -> float:
        """Change of a parameter that counts as large, relative to which derivatives by it take their steps."""
        return max(1.0, abs(self.parameter(name)))


class Sensitivities:
    """What parameters change of its flows, where the system knows it: what it leaves out is differenced."""

    def field_by_parameters(self, flow: Any, t: float, x: Array, names: tuple[str, ...]) -> Mapping[str, Array]:
        """{name: D_p f (dim,)} of the field of one of its flows at (t, x)."""
        return {}

    def guard_by_parameters(
        self, flow: Any, t: float, x: Array, guard: Hashable, names: tuple[str, ...]
    ) -> Mapping[str, float]:
        """{name: D_p g} of a guard of one of its flows at (t, x)."""
        return {}


class Memories:
    """Numbers that its modes remember of where they began, such as a direction along which friction goes on to act.

    Neighbouring runs remember others, so that they are varied with the state. Two modes in which a number of the same
    name has the same value, on both sides of an event, remember it from before; any other was set behind the event.
    """

    def remembered(self, mode: Any) -> Mapping[Hashable, Any]:
        """{name: value} of the numbers (k) that a mode remembers, each of one that can be compared; here none."""
        return {}

    def remembered_at(self, t: float, x: Array, mode: Any) -> Array:
        """What the mode would remember if it began at (t, x), as coordinates (k,) that are zero for what it does."""
        return np.zeros(len(self.remembered(mode)))

    def remembered_by_state(self, t: float, x: Array, mode: Any) -> Array | None:
        """D_x (k, dim) of `remembered_at` where the mode began; None: it is differenced."""
        return None

    def by_remembered(self, flow: Any, t: float, x: Array, guard: Hashable = None) -> Array:
        """Derivatives by these coordinates of the field (dim, k) of one of its flows, or of one of its guards (k,)."""
        raise InputError(f"a {type(self).__name__} remembers numbers in its modes; give it a by_remembered, too")


class Forces:
    """Forces and energy of a state."""

    def forces(self, t: float, x: Array, mode: Any) -> dict[str, Array] | None:
        """{contact: force} at a state; None: the system has no contacts."""
        return None

    def loop_forces(self, t: float, x: Array, mode: Any) -> dict[str, Array] | None:
        """{loop: force} at a state; None: the system has no bodies whose loops could be closed."""
        return None

    def applied_force(self, t: float, x: Array) -> Array | None:
        """What a user's function applies at a state (nv,); None: there is no such function."""
        return None

    def energy(self, x: Array, mode: Any) -> float | None:
        """Energy of a state [J]; None: the system does not know it."""
        return None


class Audit:
    """Laws that its runs obey."""

    def audit(self, trajectory: Any) -> tuple[Mapping[str, float], Mapping[str, float]]:
        """Residuals {law: largest violation} along a `Trajectory` of this system, and the limit of each; here none."""
        return NOTHING, NOTHING

    def jump_that_breaks(self, law: str, trajectory: Any) -> Any | None:
        """The `Event` that violates a law of the audit most; None where the law is one of arcs."""
        return None


class Frames:
    """Names of its coordinates, and frames of its bodies, for tables of a run."""

    def coordinate_names(self) -> tuple[list[str], list[str]] | None:
        """Names of the numbers of a configuration (nq,) and of a velocity (nv,); None: they have none."""
        return None

    def frame_poses(self, x: Array, frames: Sequence[str]) -> dict[str, Array]:
        """{frame: (4, 4), from its axes to those of the world} at a state [m].

        Raises:
            InputError: it has no bodies, or no such frame.
        """
        raise InputError(f"a {type(self).__name__} has no frames; only a Robot's ContactSystem has")


class Pushes:
    """Forces that somebody lays on a frame for a while.

    Attributes:
        pushes: what pushes it for a while.
    """

    pushes: tuple[Push, ...] = ()

    def with_push(self, frame: str, force: Any, end: float, point: Any = (0.0, 0.0, 0.0)) -> Self:
        """A copy with one more of `pushes`.

        Raises:
            InputError: there is nothing to push, or no such frame.
        """
        raise InputError(f"a {type(self).__name__} cannot be pushed; only a ContactSystem can")

    def without_pushes(self, t: float) -> Self:
        """A copy without the pushes that end at `t` or before."""
        return self


class Actions:
    """Inputs that somebody gives step by step, and that are held until the next ones.

    Attributes:
        action_names: names of the inputs (nu); empty: it has none.
    """

    action_names: tuple[str, ...] = ()

    def with_action(self, action: Any) -> Self:
        """A copy under other inputs (nu,), itself where they are what they were; None: as without any.

        Raises:
            InputError: it has no inputs, or other ones.
        """
        if action is None:
            return self
        raise InputError(f"a {type(self).__name__} has no inputs; only a ContactSystem has")


class Law:
    """A contact law that may be changed for another.

    Attributes:
        law: its contact law; None: it has none.
    """

    law: Any = None

    def with_law(self, law: Any) -> Self:
        """A copy under another contact law.

        Raises:
            InputError: it has none.
        """
        raise InputError(f"a {type(self).__name__} has no contact law to change")

    def carried(self, state: Any) -> Any:
        """A user's state of a system that differs in parameters or its law, as one of this system."""
        return state


ABILITIES = (
    Preferences,
    States,
    Restarts,
    Engines,
    Spaces,
    Constraints,
    Neighbours,
    Words,
    Parameters,
    Sensitivities,
    Memories,
    Forces,
    Frames,
    Audit,
    Pushes,
    Actions,
    Law,
)


def one_by_one(names: frozenset[Hashable]) -> tuple[frozenset[Hashable], ...]:
    """Each name in a group of its own."""
    return tuple(frozenset({name}) for name in sorted(names, key=str))
