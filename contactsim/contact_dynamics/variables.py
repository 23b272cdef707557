"""What the equations of contact depend on besides the state: time, and parameters."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from ..common.arrays import Array
from ..common.lazy import NamedTuple, dataclass
from ..errors import InputError
from ..hybrid.differences import derivative
from . import parameters
from .contact_rows import laid_out
from .world import World
from .zero import OF_TIME, PARAMETER_STEP

GROUPS = ("contact", "limit", "law", "body", "gravity", "terrain", "controller")  # of parameters whose part is known


class TermChanges(NamedTuple):
    """Derivatives by a variable of what contacts have at a state that is held.

    Attributes:
        gaps: (m,), each where the normal row of its contact is; the other entries mean nothing.
        rows: of J (m, nv).
        rates: of the contact velocities (m,).
        mass: of M (nv, nv).
    """

    gaps: Array
    rows: Array
    rates: Array
    mass: Array


class Variable(ABC):
    """A variable by which events are differentiated while the state is held."""

    @abstractmethod
    def changes(self, q: Array, v: Array, contacts: tuple[int, ...]) -> TermChanges:
        """Those of the rows of `contacts` at (q, v): smooth, whatever modes and slips are."""

    @property
    @abstractmethod
    def friction(self) -> Array:
        """Derivative (nc,) of the coefficients of kinetic friction."""

    @property
    @abstractmethod
    def restitution(self) -> Array:
        """Derivative (nc,) of the coefficients of restitution."""


@dataclass(frozen=True)
class Time(Variable):
    """The time, by which ground may move.

    Attributes:
        world: what stands on it.
        t: the instant [s].
    """

    world: World
    t: float

    def changes(self, q: Array, v: Array, contacts: tuple[int, ...]) -> TermChanges:
        """What moving ground changes: its own velocity, and how that and its normals change."""
        terms = self.world.mechanism.terms(self.t, q, v, contacts)
        rows, rates = np.zeros_like(terms.rows), np.zeros_like(terms.rates)
        if not self.world.mechanism.autonomous:

            def moved(h: float) -> Array:
                there = self.world.mechanism.terms(self.t + h, q, v, contacts)
                return np.column_stack([there.rows, there.rates])

            found = derivative(moved, OF_TIME)
            rows, rates = found[:, :-1], found[:, -1]
        return TermChanges(terms.rates - terms.rows @ v, rows, rates, np.zeros_like(terms.mass))

    @property
    def friction(self) -> Array:
        """None."""
        return np.zeros_like(self.world.friction)

    @property
    def restitution(self) -> Array:
        """None."""
        return np.zeros_like(self.world.restitution)


@dataclass(frozen=True, eq=False)
class Beside:
    """Worlds with a parameter a little larger and smaller.

    Attributes:
        world: the world itself.
        step: of the parameter.
        worlds: {number of steps: world}, -2, -1, 1 and 2.
    """

    world: World
    step: float
    worlds: Mapping[int, World]

    def derivative(self, of: Callable[[World], Any]) -> Array:
        """That of a function of the world, by differences of fourth order."""
        return np.asarray(derivative(lambda h: of(self.worlds[round(h / self.step)]), self.step))

    def slope(self, of: Callable[[World], Any]) -> Array:
        """That of what is linear in the parameter, exactly."""
        return np.asarray((of(self.worlds[1]) - of(self.worlds[-1])) / (2.0 * self.step))

    @cached_property
    def friction(self) -> Array:
        """Derivative (nc,) of the coefficients of kinetic friction."""
        return self.slope(lambda world: world.friction)

    @cached_property
    def static_friction(self) -> Array:
        """Derivative (nc,) of the coefficients of static friction."""
        return self.slope(lambda world: world.static_friction)

    @cached_property
    def restitution(self) -> Array:
        """Derivative (nc,) of the coefficients of restitution."""
        return self.slope(lambda world: world.restitution)

    @cached_property
    def moves(self) -> bool:
        """Whether bodies or their ground depend on the parameter."""
        return any(world.mechanism is not self.world.mechanism for world in self.worlds.values())


class Neighbourhood:
    """The worlds beside one by its parameters, each made once.

    Args:
        world: the one.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._known: dict[str, Beside | None] = {}

    def by(self, name: str) -> Beside | None:
        """Those by a parameter; None at the end of its range, or where it acts in ways of the law's own."""
        if name not in self._known:
            self._known[name] = self._made(name)
        return self._known[name]

    def _made(self, name: str) -> Beside | None:
        world, (group, _, rest) = self._world, name.partition(".")
        if group not in GROUPS or (group == "law" and rest in type(world.law.parameters).model_fields):
            return None
        value = parameters.read(world, name)
        step = PARAMETER_STEP * parameters.scale(world, name, value)
        try:
            worlds = {k: world.changed(**parameters.changes(world, name, value + k * step)) for k in (-2, -1, 1, 2)}
        except InputError:  # at the end of its range
            return None
        return Beside(world, step, worlds)


@dataclass(frozen=True)
class Parameter(Variable):
    """A parameter at an instant.

    Attributes:
        beside: the worlds with other values of it.
        t: the instant [s].
    """

    beside: Beside
    t: float

    def changes(self, q: Array, v: Array, contacts: tuple[int, ...]) -> TermChanges:
        """By differences of fourth order; of masses, which enter linearly, they are exact."""
        world, nv = self.beside.world, len(v)
        where = laid_out([(i, world.mechanism.dims[i]) for i in contacts])
        count = sum(part.stop - part.start for part in where.values())
        if not self.beside.moves:
            return TermChanges(np.zeros(count), np.zeros((count, nv)), np.zeros(count), np.zeros((nv, nv)))
        pressing = np.array(world.pressing(contacts), int)
        heads = [where[i].start for i in pressing]

        def there(other: World) -> Array:
            mechanism, gaps = other.mechanism, np.zeros((count, 1))
            terms = mechanism.terms(self.t, q, v, contacts)
            gaps[heads, 0] = mechanism.gaps_of(self.t, q, pressing)
            own = np.zeros((nv, 2))
            return np.vstack([np.column_stack([terms.rows, terms.rates, gaps]), np.column_stack([terms.mass, own])])

        found = self.beside.derivative(there)
        return TermChanges(found[:count, -1], found[:count, :nv], found[:count, nv], found[count:, :nv])

    @property
    def friction(self) -> Array:
        """That of the kinetic coefficients."""
        return self.beside.friction

    @property
    def restitution(self) -> Array:
        """That of the coefficients of restitution."""
        return self.beside.restitution
