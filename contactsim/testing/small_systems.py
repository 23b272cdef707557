"""Small hybrid systems, each with one event whose effect on neighbouring runs is worth knowing."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import field
from itertools import combinations
from math import cos, inf, sin
from types import MappingProxyType
from typing import Any

import numpy as np

from ..common.arrays import Array
from ..common.lazy import dataclass
from ..hybrid.flow import Flow
from ..hybrid.manifold import Euclidean, Manifold
from ..hybrid.system import CLOCK, HybridSystem, Transition

Field = Callable[[float, Array], Any]
Guards = Mapping[Hashable, Callable[[float, Array], float]]
Reset = Callable[[float, Array, Any, frozenset[Hashable]], tuple[Any, Hashable]]

GRAVITY, RESTITUTION = 9.81, 0.7
STROKE, PACE = 0.02, 9.0  # of a table that moves up and down [m, rad/s]
NO_GUARDS: Guards = MappingProxyType({})


class _Flow(Flow):
    """A field and guards that are given as functions."""

    def __init__(self, function: Field, guards: Guards, instant: float) -> None:
        self._function, self._guards, self._instant = function, guards, instant
        self.guard_names = tuple(guards)

    def field(self, t: float, x: Array) -> Array:
        """The function's value."""
        return np.asarray(self._function(t, x), dtype=float)

    def guards(self, t: float, x: Array) -> Array:
        """Values of the guards."""
        return np.array([guard(t, x) for guard in self._guards.values()])

    def next_time(self, t: float) -> float:
        """The one instant of the clock."""
        return self._instant if t < self._instant else inf


@dataclass(frozen=True)
class Small(HybridSystem):
    """A system of functions of time and state, that starts in its first mode.

    Attributes:
        name: what happens in it.
        fields: {mode: field}.
        guards: {mode: {name: guard}}.
        reset: (t, x, mode, fired) -> (state, mode) behind an event.
        begin: state at t = 0.
        end: when its run ends, behind the event [s].
        sizes: {mode: numbers of the state}, where they differ from those of `begin`.
        instant: when something happens by the clock alone [s].
    """

    name: str
    fields: Mapping[Hashable, Field]
    guards: Mapping[Hashable, Guards]
    reset: Reset
    begin: tuple[float, ...]
    end: float
    sizes: Mapping[Hashable, int] = field(default_factory=dict)
    instant: float = inf

    def flow(self, mode: Hashable) -> Flow:
        """Field and guards of a mode."""
        return _Flow(self.fields[mode], self.guards.get(mode, NO_GUARDS), self.instant)

    def transition(self, t: float, x: Array, mode: Hashable, fired: frozenset[Hashable]) -> Transition:
        """Transition by `reset`."""
        after, then = self.reset(t, x, mode, fired)
        return Transition(np.asarray(after, dtype=float), then, {"event": (mode, then)})

    def start(self, t: float, x: Array) -> Transition:
        """The first mode."""
        return Transition(x, next(iter(self.fields)))

    def space(self, mode: Hashable) -> Manifold:
        """R^n."""
        return Euclidean(self.sizes.get(mode, len(self.begin)))


def _switch() -> Small:
    """A field that changes where a moving, bent line is met; the state stays."""
    return Small(
        "a switched field",
        {
            "before": lambda t, x: (1.0 + 0.3 * x[1], 0.5 - 0.2 * x[0]),
            "behind": lambda t, x: (-0.4 + 0.1 * x[1], 1.2 + 0.3 * x[0]),
        },
        {"before": {"line": lambda t, x: 0.3 + 0.1 * sin(3.0 * x[1]) + 0.4 * t - x[0]}},
        lambda t, x, mode, fired: (x, "behind"),
        (0.0, 0.1),
        1.0,
    )


def _bounce() -> Small:
    """A ball on a table that moves up and down: guard and reset depend on time."""
    return Small(
        "a bounce on a moving table",
        {"flight": lambda t, x: (x[1], -GRAVITY)},
        {"flight": {"table": lambda t, x: x[0] - STROKE * sin(PACE * t)}},
        lambda t, x, mode, fired: (
            (x[0], -RESTITUTION * x[1] + (1.0 + RESTITUTION) * STROKE * PACE * cos(PACE * t)),
            "flight",
        ),
        (0.2, -0.5),
        0.3,
    )


def _smaller() -> Small:
    """A state of three numbers that becomes one of two."""
    return Small(
        "a state that changes its size",
        {"three": lambda t, x: (1.0, x[2], -x[1]), "two": lambda t, x: (x[1], -0.5 * x[0])},
        {"three": {"gate": lambda t, x: 0.4 + 0.2 * x[1] - x[0]}},
        lambda t, x, mode, fired: ((x[0] * x[1], x[2] + sin(2.0 * t)), "two"),
        (0.0, 0.3, 1.0),
        0.8,
        {"two": 2},
    )


def _clock() -> Small:
    """A reset at a given time, whatever the state is."""
    return Small(
        "an instant of the clock",
        {"before": lambda t, x: (x[1], -x[0]), "behind": lambda t, x: (x[1], -3.0 * x[0])},
        {},
        lambda t, x, mode, fired: ((x[0] + 0.2 * sin(x[1]), -RESTITUTION * x[1]) if fired == {CLOCK} else x, "behind"),
        (0.5, 1.0),
        0.7,
        instant=0.37,
    )


def _constant(rate: Array) -> Field:
    return lambda t, x: rate


def _falling(k: int) -> Callable[[float, Array], float]:
    return lambda t, x: -float(x[k])


def _met(count: int) -> Small:
    """Guards that are met at once, each of which adds to a field without resets: 2^n pieces of space, n! orders."""
    rng = np.random.default_rng(count)
    names = tuple(f"guard {k + 1}" for k in range(count))
    modes = [frozenset(found) for size in range(count + 1) for found in combinations(names, size)]
    rates = {mode: np.append(rng.uniform(0.5, 2.0, count), rng.normal()) for mode in modes}
    rates[frozenset()][:count] = 1.0
    return Small(
        f"{'two' if count == 2 else 'three'} guards at once",
        {mode: _constant(rate) for mode, rate in rates.items()},
        {mode: {name: _falling(k) for k, name in enumerate(names) if name not in mode} for mode in modes},
        lambda t, x, mode, fired: (x, mode | fired),
        (*(-0.5,) * count, 0.0),
        1.0,
    )


def _two_bounces() -> Small:
    """Two balls that land at the same instant and know nothing of each other: one matrix, in either order."""

    def landed(t: float, x: Array, mode: Hashable, fired: frozenset[Hashable]) -> tuple[Array, Hashable]:
        after = x.copy()
        for name in fired:
            after[2 * (name == "second") + 1] *= -RESTITUTION
        return after, mode

    return Small(
        "two bounces at once",
        {"flight": lambda t, x: (x[1], -GRAVITY, x[3], -GRAVITY)},
        {"flight": {"first": lambda t, x: x[0], "second": lambda t, x: x[2]}},
        landed,
        (0.2, 0.0, 0.2, 0.0),
        0.3,
    )


SYSTEMS = tuple(make() for make in (_switch, _bounce, _smaller, _clock, lambda: _met(2), lambda: _met(3), _two_bounces))
