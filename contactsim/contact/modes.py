"""Contact modes: what a user sees of them, and the data the engine carries along."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from typing import Any, overload

import numpy as np

from ..common.lazy import dataclass, lazy


class Single(Enum):
    """Words of which there is one object each: they are hashed as such, which costs a tenth of Enum's own way."""

    __hash__ = object.__hash__


class Mode(Single):
    """State of one contact."""

    OPEN = "open"
    STICK = "stick"
    SLIP = "slip"
    CLOSED = "closed"  # a joint at its limit, or a contact on compliant ground, which does not tell stick from slip

    def __repr__(self) -> str:
        return f"Mode.{self.name}"


class Phase(Single):
    """The way in which the slip direction of a sliding contact is found.

    FREE: it is the direction of the slip velocity. DIRECTED: it is held (always so in the plane, and in space while a
    contact comes to rest). INCIPIENT: it is the direction of the slip acceleration, the limit of the slip direction
    just after break-away. RELEASED: compliant ground that has not sprung back yet. BURIED: inside compliant ground
    without touching it, where the contact was enabled; it has to come out first. NONE: nothing to say.
    """

    NONE = 0
    FREE = 1
    DIRECTED = 2
    INCIPIENT = 3
    RELEASED = 4
    BURIED = 5


@dataclass(frozen=True)
class ContactState:
    """Mode of one contact with its data.

    Attributes:
        mode: how the contact moves.
        phase: how its slip direction is found.
        direction: unit slip direction (d_t numbers), where the phase holds one.
        enabled: whether it may close.
        until: time [s] at which bounces too small to be followed come to their end; None: it does not bounce. Until
            then the contact moves as its mode says, with the mean force of the bounces.
        region: where on the other body a closed contact touches: on which face, edge or corner of a box.
        held_below: slip speed [m/s] below which its direction is held, where it turned when it was held by the speed of
            the tolerances; None: that one.
    """

    mode: Mode = Mode.OPEN
    phase: Phase = Phase.NONE
    direction: tuple[float, ...] = ()
    enabled: bool = True
    until: float | None = None
    region: tuple[int, ...] = ()
    held_below: float | None = None

    def slow(self, usual: float) -> float:
        """Slip speed [m/s] below which its direction is held, where the tolerances say `usual`."""
        return usual if self.held_below is None else self.held_below

    @property
    def closed(self) -> bool:
        """True where the contact carries a force."""
        return self.mode is not Mode.OPEN

    @property
    def shown(self) -> Mode:
        """The mode as events tell it: open until the last bounce."""
        return self.mode if self.until is None else Mode.OPEN


class States(Sequence[ContactState]):
    """States of very many contacts, almost all of which are open: only the others are kept, by their numbers.

    Args:
        states: of all.
    """

    def __init__(self, states: Sequence[ContactState]) -> None:
        self._count = len(states)
        self.others = {i: state for i, state in enumerate(states) if state is not OPEN and state != OPEN}

    def changed(self, changes: Mapping[int, ContactState]) -> States:
        """The same with other states of some contacts."""
        found = copy.copy(self)
        found.others = {i: state for i, state in (self.others | dict(changes)).items() if state != OPEN}
        return found

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[ContactState]:
        states = [OPEN] * self._count
        for i, state in self.others.items():
            states[i] = state
        return iter(states)

    @overload
    def __getitem__(self, index: int) -> ContactState: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[ContactState, ...]: ...
    def __getitem__(self, index: int | slice) -> ContactState | tuple[ContactState, ...]:
        if isinstance(index, slice):
            return tuple(self)[index]
        if not -self._count <= index < self._count:
            raise IndexError(index)
        return self.others.get(int(index) % self._count, OPEN)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, States):
            return isinstance(other, Sequence) and tuple(self) == tuple(other)
        return self._count == other._count and self.others == other.others

    __hash__ = None  # type: ignore[assignment]


OPEN, IDLE = ContactState(), ContactState(enabled=False)
VERY_MANY = 1000  # contacts of which only those that are not open are kept
Latched = tuple[tuple[int, tuple[float, ...]], ...]  # (number of a closed latch, what it holds)


@dataclass(frozen=True)
class SystemMode:
    """Mode of a ContactSystem: the states of its contacts in order, and the latches that are closed.

    `redundant` says that the constraint forces of the closed contacts are not unique; `waiting` are the open latches
    whose function has to rise above zero before it can close them.
    """

    contacts: Sequence[ContactState]
    redundant: bool = False
    latched: Latched = ()
    waiting: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if len(self.contacts) >= VERY_MANY and not isinstance(self.contacts, States):
            object.__setattr__(self, "contacts", States(self.contacts))
        self.__dict__["closed"] = self._closed()  # which every mode is asked for

    def __hash__(self) -> int:
        return self._hash

    def _marked(self) -> Iterable[tuple[int, ContactState]]:
        """Contacts by their numbers with their states, among them all that are not as open ones are at first."""
        return sorted(self.contacts.others.items()) if isinstance(self.contacts, States) else enumerate(self.contacts)

    def changed(self, changes: Mapping[int, ContactState], **parts: Any) -> SystemMode:
        """The mode with other states of some contacts, and other parts."""
        if isinstance(self.contacts, States):
            return replace(self, contacts=self.contacts.changed(changes), **parts)
        states = list(self.contacts)
        for i, state in changes.items():
            states[i] = state
        if parts:
            return replace(self, contacts=tuple(states), **parts)
        return SystemMode(tuple(states), self.redundant, self.latched, self.waiting)

    @lazy
    def _hash(self) -> int:
        states = tuple(self.contacts[i] for i in self.closed)  # there may be very many open ones
        return hash((self.closed, states, self.redundant, self.latched, self.waiting))

    def __getstate__(self) -> dict[str, Any]:  # strings have another hash in each process
        return {name: value for name, value in self.__dict__.items() if name not in ("_hash", "pattern")}

    @lazy
    def pattern(self) -> SystemMode:
        """The mode without directions of slips and ends of bounces; itself where it has none."""
        said = {
            i: ContactState(state.mode, state.phase, (), state.enabled, None, state.region)
            for i, state in self._marked()
            if state.direction or state.until is not None
        }
        return self.changed(said) if said else self

    @lazy
    def closed(self) -> tuple[int, ...]:
        """Indices of the closed contacts."""
        return self._closed()  # of modes that were stored without

    def _closed(self) -> tuple[int, ...]:
        open_ = Mode.OPEN
        return tuple([i for i, state in self._marked() if state.mode is not open_])

    @lazy
    def limits(self) -> tuple[float, ...]:
        """Times [s] at which bounces come to their end."""
        return tuple([state.until for _, state in self._marked() if state.until is not None])

    @lazy
    def turns(self) -> bool:
        """Whether the direction of a slip is held below a speed of its own only."""
        return any(state.held_below is not None for _, state in self._marked())

    @lazy
    def held(self) -> dict[int, tuple[float, ...]]:
        """{contact: direction of its slip} of those that slip along one that is held, and could turn."""
        return {
            i: state.direction
            for i in self.closed
            if (state := self.contacts[i]).phase is Phase.DIRECTED and len(state.direction) == 2
        }

    @lazy
    def regions(self) -> dict[int, tuple[int, ...]]:
        """{contact: region} of the closed contacts that have one."""
        return {i: state.region for i in self.closed if (state := self.contacts[i]).region}

    def __str__(self) -> str:
        if isinstance(self.contacts, States):
            closed = ", ".join(f"{i}: {self.contacts[i].mode.value}" for i in self.closed)
            return f"({closed or 'open'})"
        return "(" + ", ".join(state.mode.value for state in self.contacts) + ")"


def unit(vector: Sequence[float] | np.ndarray) -> tuple[float, ...]:
    """Direction of a vector as a tuple; empty for the zero vector."""
    numbers, squares = [float(c) for c in vector], 0.0
    for c in numbers:  # one after the other as in the compiled engine: by no kernel of a processor, and not by `sum`
        squares += c * c
    length = math.sqrt(squares)
    return tuple([c / length for c in numbers]) if length > 0.0 else ()
