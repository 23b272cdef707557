"""Runs that a compiled engine follows from event to event: from where on, and what it tells of them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from ..common.arrays import Array
from ..common.lazy import NamedTuple
from .course import Course, Passed
from .system import HybridSystem
from .trajectory import Arc, Event


class Departure(NamedTuple):
    """Where an arc of a run has ended in an event.

    Attributes:
        course: that of the arc behind the event, as it begins; its state is that before the event.
        mode: before the event.
        fired: names of the guards that fired.
        entered: when the arc before it began [s].
        at_once, from_zero: as of the `Watch` along that.
        at_one_instant, to_and_fro: events in a row that would end the run if they went on.
        between: the modes between which the last of these led; empty where the event does not follow at once.
        most: events, after which a run looks up again.
        system: of the run, which may have one of contacts inside.
    """

    course: Course
    mode: Hashable
    fired: frozenset[Hashable]
    entered: float
    at_once: bool
    from_zero: bool
    at_one_instant: int
    to_and_fro: int
    between: tuple[Hashable, ...]
    most: int
    system: HybridSystem


class Journey(NamedTuple):
    """Events one after the other, and the arcs between them.

    Attributes:
        events: the first of them is that of the departure.
        arcs: between them: one less, each ended by the next event.
        t, mode, x: behind the last event, which is not made for that: its time [s], and where it led.
        evaluations: of the field.
        first_step: of the arc behind the last event [s].
        at_one_instant, to_and_fro: as of a departure, behind the last event.
        begun: the course of the arc behind it, and the first steps of that; None: it is not begun.
    """

    events: Sequence[Event]
    arcs: Sequence[Arc]
    t: float
    mode: Hashable
    x: Array
    evaluations: int
    first_step: float | None
    at_one_instant: int
    to_and_fro: int
    begun: tuple[Course, Passed] | None
