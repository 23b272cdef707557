"""Contact modes: what a user sees of them, and the data the engine carries along."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from ..common.lazy import lazy


class Mode(Enum):
    """State of one contact."""

    OPEN = "open"
    STICK = "stick"
    SLIP = "slip"
    CLOSED = "closed"  # a joint at its limit, or a contact on compliant ground, which does not tell stick from slip

    def __repr__(self) -> str:
        return f"Mode.{self.name}"


class Phase(Enum):
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
    """

    mode: Mode = Mode.OPEN
    phase: Phase = Phase.NONE
    direction: tuple[float, ...] = ()
    enabled: bool = True
    until: float | None = None
    region: tuple[int, ...] = ()

    @property
    def closed(self) -> bool:
        """True where the contact carries a force."""
        return self.mode is not Mode.OPEN

    @property
    def shown(self) -> Mode:
        """The mode as events tell it: open until the last bounce."""
        return self.mode if self.until is None else Mode.OPEN


Latched = tuple[tuple[int, tuple[float, ...]], ...]  # (number of a closed latch, what it holds)


@dataclass(frozen=True)
class SystemMode:
    """Mode of a ContactSystem: the states of its contacts in order, and the latches that are closed.

    `redundant` says that the constraint forces of the closed contacts are not unique; `waiting` are the open latches
    whose function has to rise above zero before it can close them.
    """

    contacts: tuple[ContactState, ...]
    redundant: bool = False
    latched: Latched = ()
    waiting: tuple[int, ...] = ()

    def __hash__(self) -> int:
        return self._hash

    @lazy
    def _hash(self) -> int:
        states = tuple(self.contacts[i] for i in self.closed)  # there may be very many open ones
        return hash((self.closed, states, self.redundant, self.latched, self.waiting))

    def __getstate__(self) -> dict[str, Any]:  # strings have another hash in each process
        return {name: value for name, value in self.__dict__.items() if name != "_hash"}

    @lazy
    def closed(self) -> tuple[int, ...]:
        """Indices of the closed contacts."""
        return tuple([i for i, state in enumerate(self.contacts) if state.mode is not Mode.OPEN])

    @lazy
    def limits(self) -> tuple[float, ...]:
        """Times [s] at which bounces come to their end."""
        return tuple(state.until for state in self.contacts if state.until is not None)

    @lazy
    def regions(self) -> dict[int, tuple[int, ...]]:
        """{contact: region} of the closed contacts that have one."""
        return {i: state.region for i, state in enumerate(self.contacts) if state.closed and state.region}

    def __str__(self) -> str:
        return "(" + ", ".join(state.mode.value for state in self.contacts) + ")"


def unit(vector: np.ndarray) -> tuple[float, ...]:
    """Direction of a vector as a tuple; empty for the zero vector."""
    length = float(np.linalg.norm(vector))
    return tuple(float(c) / length for c in vector) if length > 0.0 else ()
