"""Sliding along a surface at which the fields of two modes point at each other (Filippov)."""

from __future__ import annotations

import copy
from collections.abc import Hashable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..common.arguments import arguments
from ..common.arrays import Array
from ..common.lazy import dataclass
from ..errors import SimulationError
from .differences import derivative, tangent_derivative
from .flow import Finding, Flow
from .manifold import Euclidean, Manifold
from .system import Dynamics, HybridSystem, Transition, completed, one_by_one
from .zero import ON_SURFACE

UNCHANGED = (  # abilities of a system that are the same where it slides
    *("preferred_integrator", "preferred_tolerances", "tolerances", "nv", "pushes", "action_names"),
    *(
        "state",
        "pack",
        "prepared",
        "prepared_by_state",
        "parameter",
        "forces",
        "loop_forces",
        "audit",
        "jump_that_breaks",
    ),
)
CORRECTIONS = 3  # Newton steps back onto the surface; it is followed to rounding, so one is the rule


@dataclass(frozen=True)
class Sliding:
    """Mode of a run along the surface between two modes.

    Attributes:
        first, second: the modes on both sides.
        leaving: guard of the first that leads to the second; the surface is its zero.
        returning: guard of the second that leads to the first.
    """

    first: Hashable
    second: Hashable
    leaving: Hashable
    returning: Hashable

    def __str__(self) -> str:
        return f"sliding between {self.first} and {self.second}"


class Filippov(HybridSystem):
    """A hybrid system that slides along surfaces instead of switching without end.

    Where a guard g leads from mode A to mode B without a jump of the state, and the field of B points back, the run
    goes on along g = 0 with Filippov's convex combination of both fields,

        f = a f_A + (1 - a) f_B,    a = r_B / (r_B - r_A),    r = D_t g + D_x g f,

    as long as r_A < 0 < r_B, and then on into the mode whose field leads away. Derivatives hold through both ends.
    Of several surfaces at once the field is not unique: such a run stops.

    Source: Filippov, Differential Equations with Discontinuous Righthand Sides, 1988, Sec. 4; di Bernardo et al.,
    Piecewise-smooth Dynamical Systems, 2008, eq. (2.33) to (2.35).

    Args:
        system: any hybrid system; what this class does not say, the system does.
    """

    @arguments()
    def __init__(self, system: Dynamics) -> None:
        system = completed(system)
        self.system = system
        for name in UNCHANGED:
            if getattr(type(self), name) is getattr(HybridSystem, name):  # not what a class of one's own says
                setattr(self, name, getattr(system, name))

    def __getattr__(self, name: str) -> Any:
        if name == "system":  # while a copy is being made
            raise AttributeError(name)
        return getattr(self.system, name)

    def flow(self, mode: Hashable) -> Flow:
        """Field and guards of a mode of the system, or of sliding between two."""
        return SlidingFlow(self, mode) if isinstance(mode, Sliding) else self.system.flow(mode)

    def start(self, t: float, x: Array) -> Transition:
        """Start of the system."""
        return self.system.start(t, x)

    def transition(self, t: float, x: Array, mode: Hashable, fired: frozenset[Hashable]) -> Transition:
        """Transition of the system, or the begin or end of sliding."""
        if not isinstance(mode, Sliding):
            return self._into_sliding(t, x, mode, fired, self.system.transition(t, x, mode, fired))
        leaves = [name for name in fired if isinstance(name, tuple) and name[0] == "into"]
        if leaves:
            after = mode.first if leaves[0][1] == "first" else mode.second
            return self._turned(x, mode, after)
        sides = {name[0] for name in fired if isinstance(name, tuple)} or {"first"}
        side = "first" if "first" in sides else "second"
        inner = frozenset(name[1] if isinstance(name, tuple) else name for name in fired)
        from_mode = mode.first if side == "first" else mode.second
        return self.system.transition(t, x, from_mode, inner)

    def _into_sliding(
        self, t: float, x: Array, mode: Hashable, fired: frozenset[Hashable], then: Transition
    ) -> Transition:
        if len(fired) != 1 or then.mode == mode or not np.array_equal(then.x, x):
            return then
        (leaving,) = fired
        returning = self._way_back(t, x, mode, then.mode)
        if returning is None:
            return then
        sliding = Sliding(mode, then.mode, leaving, returning)
        outward, back = SlidingFlow(self, sliding).rates(t, x)
        if not outward < 0.0 < back:
            return then
        return self._turned(x, mode, sliding)

    def _turned(self, x: Array, mode: Hashable, after: Hashable) -> Transition:
        identity = partial(_identity, self.space(mode), x)
        return Transition(x, after, {"mode": (mode, after)}, derivative=identity, still=True, unmoved=True)

    def _way_back(self, t: float, x: Array, mode: Hashable, other: Hashable) -> Hashable | None:
        """The guard of the other mode that is at zero here, falls, and leads back."""
        flow = self.system.flow(other).rebased(t, x)
        values = flow.guards(t, x)
        for name, value in zip(flow.guard_names, values, strict=True):
            if abs(value) > ON_SURFACE:
                continue
            back = self.system.transition(t, x, other, frozenset({name}))
            if back.mode == mode and np.array_equal(back.x, x):
                return name
        return None

    def separable(
        self, t: float, x: Array, mode: Hashable, names: frozenset[Hashable]
    ) -> tuple[frozenset[Hashable], ...]:
        """Guards as the system groups them; while sliding, one by one."""
        return one_by_one(names) if isinstance(mode, Sliding) else self.system.separable(t, x, mode, names)

    def guard_label(self, name: Hashable) -> str:
        """A guard as a user reads it."""
        if isinstance(name, tuple) and name and name[0] in ("first", "second", "into"):
            return "end of sliding" if name[0] == "into" else self.system.guard_label(name[1])
        return self.system.guard_label(name)

    def with_parameter(self, name: str, value: float) -> Filippov:
        """A copy with one parameter of the system changed."""
        return Filippov(self.system.with_parameter(name, value))

    def space(self, mode: Hashable) -> Manifold | None:
        """Manifold of the states in a mode; both sides of a surface share it."""
        return self.system.space(mode.first if isinstance(mode, Sliding) else mode)

    def named_modes(self, mode: Any) -> Any:
        """A mode as the system names it; that of sliding is its own name."""
        return mode if isinstance(mode, Sliding) else self.system.named_modes(mode)

    def energy(self, x: Array, mode: Any) -> float | None:
        """Energy of the system; while sliding that of the first mode."""
        return self.system.energy(x, mode.first if isinstance(mode, Sliding) else mode)

    def with_push(self, frame: str, force: Any, end: float, point: Any = (0.0, 0.0, 0.0)) -> Filippov:
        """A copy whose system is pushed."""
        return Filippov(self.system.with_push(frame, force, end, point))

    def without_pushes(self, t: float) -> Filippov:
        """A copy without the pushes that end at `t` or before."""
        return Filippov(self.system.without_pushes(t))

    def with_action(self, action: Any) -> Filippov:
        """A copy whose system has these inputs."""
        changed = self.system.with_action(action)
        return self if changed is self.system else Filippov(changed)


def _identity(space: Manifold | None, x: Array) -> Array:
    return np.eye(space.dim if space is not None else len(x))


class SlidingFlow(Flow):
    """Motion along the surface between two modes, ended where one of their fields leads away from it."""

    def __init__(self, system: Filippov, mode: Sliding) -> None:
        self._mode = mode
        self._first, self._second = system.system.flow(mode.first), system.system.flow(mode.second)
        self._space = system.space(mode)
        self._surface = self._first.guard_names.index(mode.leaving)
        own = [k for k, name in enumerate(self._first.guard_names) if name != mode.leaving]
        others = [
            k
            for k, name in enumerate(self._second.guard_names)
            if name != mode.returning and name not in self._first.guard_names
        ]
        self._watched = (own, others)
        self.guard_names = (
            ("into", "first"),
            ("into", "second"),
            *(("first", self._first.guard_names[k]) for k in own),
            *(("second", self._second.guard_names[k]) for k in others),
        )

    def rates(self, t: float, x: Array) -> tuple[float, float]:
        """Rate of the surface's guard in the field of the first mode, and in that of the second."""
        gradient, drift = self._gradient(t, x), self._drift(t, x)
        return (
            float(drift + gradient @ self._first.field(t, x)),
            float(drift + gradient @ self._second.field(t, x)),
        )

    def field(self, t: float, x: Array) -> Array:
        """Convex combination of the fields that keeps to the surface."""
        gradient, drift = self._gradient(t, x), self._drift(t, x)
        first, second = self._first.field(t, x), self._second.field(t, x)
        outward, back = drift + gradient @ first, drift + gradient @ second
        if back == outward:
            raise SimulationError(
                f"both fields run along the surface of '{self._mode.leaving}' at t = {t:.9g} s: where a run slides is"
                " not unique there"
            )
        share = back / (back - outward)
        return share * first + (1.0 - share) * second

    def guards(self, t: float, x: Array) -> Array:
        """Rates at which both fields lead to the surface, and the other guards of both modes."""
        outward, back = self.rates(t, x)
        own, others = self._watched
        return np.concatenate([[-outward, back], self._first.guards(t, x)[own], self._second.guards(t, x)[others]])

    def next_time(self, t: float) -> float:
        """The earlier of both modes' instants."""
        return min(self._first.next_time(t), self._second.next_time(t))

    def longest_step(self, t: float, x: Array) -> float:
        """The shorter of both modes' steps."""
        return min(self._first.longest_step(t, x), self._second.longest_step(t, x))

    def rebased(self, t: float, x: Array) -> Flow:
        """The flow with the references of both modes renewed."""
        flow = copy.copy(self)
        flow._first, flow._second = self._first.rebased(t, x), self._second.rebased(t, x)
        return flow

    def project(self, t: float, x: Array) -> Array:
        """The nearest state on the surface."""
        for _ in range(CORRECTIONS):
            off = self._first.guards(t, x)[self._surface]
            if off == 0.0:
                break
            gradient = self._gradient(t, x)
            x = self._manifold(x).integrate(x, -off / float(gradient @ gradient) * gradient)
        return x

    def validate(self, t: float, x: Array) -> Sequence[Finding]:
        """Findings of the first mode."""
        return self._first.validate(t, x)

    def _manifold(self, x: Array) -> Manifold:
        return self._space or Euclidean(len(x))

    def _gradient(self, t: float, x: Array) -> Array:
        """D_x g (dim,) of the guard that is zero on the surface."""
        given = self._first.guard_jacobian(t, x, (self._mode.leaving,))
        if given is not None:
            return given[0]
        return tangent_derivative(lambda y: self._first.guards(t, y)[[self._surface]], self._manifold(x), x)[0]

    def _drift(self, t: float, x: Array) -> float:
        """D_t g."""
        return float(derivative(lambda h: self._first.guards(t + h, x)[self._surface]))
