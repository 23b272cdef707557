"""Runs from event to event in C++."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from contactsim.common.lazy import dataclass
from contactsim.contact.modes import ContactState
from contactsim.contact_dynamics import zero as contacts_zero
from contactsim.contact_dynamics.engines import (
    CompiledJourney,
    CompiledPassage,
    PassedArc,
    PlainPassage,
    Resolved,
)
from contactsim.hybrid import simulate, stepper
from contactsim.hybrid import zero as hybrid_zero
from contactsim.hybrid.course import Course
from contactsim.hybrid.flow import CLOCK
from contactsim.hybrid.journeys import Departure
from contactsim.hybrid.tolerances import Tolerances
from contactsim.multibody.zero import ULPS

from . import _native
from .cruises import GIVEN, GOES_ON, GUARDS, method, native_gaps, native_reach, passed_of, thresholds
from .events import OPEN, NativeEvents, numbers_of
from .rules import filled

NAMES = (*GUARDS, "push", "enable")  # of the kinds of guards, by their numbers
NUMBERS = {name: number for number, name in enumerate(NAMES)}
OPEN_MARKS = [0.0, 0.0, 0.0, 0.0, 1.0, math.inf]  # of almost all contacts
Array = np.ndarray


def journey_rules(tolerances: Tolerances) -> _native.JourneyRules:
    """The thresholds of the modules whose choices are made in C++, and the tolerances of a world."""
    rules = _native.JourneyRules()
    for name in ("rearm", "start_depth", "jump", "gap", "event_time", "slip_speed", "drift", "speed"):
        setattr(rules, name, getattr(tolerances, name))
    values = {
        "pace": hybrid_zero.UNITS_A_SECOND,
        "place_units": ULPS,
        "at_stop": contacts_zero.AT_STOP,
        "of_slip_speed": contacts_zero.OF_SLIP_SPEED,
        "sideways": contacts_zero.ASIDE,
        "of_turning": contacts_zero.OF_TURNING,
        "one_instant": hybrid_zero.ONE_INSTANT,
        "begun": contacts_zero.BEGUN,
        "aside": contacts_zero.STRAIGHT,
        "lasting": hybrid_zero.LASTING,
        "at_jam": contacts_zero.AT_JAM,
        "closer": contacts_zero.CLOSER,
        "expanded": stepper.EXPANDED,
        "no_time": hybrid_zero.NO_TIME,
        "events_at_one_instant": simulate.EVENTS_AT_ONE_INSTANT,
        "events_to_and_fro": simulate.EVENTS_TO_AND_FRO,
    }
    return filled(rules, values)


def marks_of(states: Sequence[ContactState]) -> Array:
    """Standing, phase, direction, whether it may close, and the end of its bounces, of each contact (nc, 6)."""
    return np.array(
        [[*numbers_of(state), state.enabled, math.inf if state.until is None else state.until] for state in states],
        dtype=float,
    ).reshape(-1, 6)


@dataclass(frozen=True, eq=False)
class NativePassage(CompiledPassage):
    """The runs of a world.

    Args:
        events: its events.
        passage: the runs as the extension has them.
    """

    events: NativeEvents
    passage: _native.Passage

    @classmethod
    def of(cls, events: NativeEvents, plain: PlainPassage) -> NativePassage:
        """The runs of a world of whose events the extension knows already."""
        robot, rules = plain.robot, journey_rules(plain.tolerances)
        passage = _native.Passage(events.world, native_gaps(robot), robot.turning.tolist(), plain.jams, rules)
        if robot.reach is not None:
            passage.set_reach(native_reach(robot.reach))
        for i, margin in enumerate(plain.enabling):
            if margin is not None:
                passage.enable(i, margin.constant, margin.sines)
        return cls(events, passage)

    def journey(self, departure: Departure, states: Sequence[ContactState]) -> CompiledJourney | None:
        """Events from a departure on."""
        course, own = departure.course, _native.Course()
        own.straight = contacts_zero.STRAIGHT
        for name in (*GIVEN, *GOES_ON):
            setattr(own, name, getattr(course, name))
        found = _native.travel(
            self.passage,
            method(),
            thresholds(),
            own,
            course.x,
            marks_of(states),
            [(NUMBERS[name[0]], name[1]) for name in departure.fired if name != CLOCK],
            CLOCK in departure.fired,
            departure.entered,
            departure.at_once,
            departure.from_zero,
            departure.at_one_instant,
            departure.to_and_fro,
            [marks_of(mode.contacts) for mode in departure.between],
            departure.most,
        )
        error = found.take_error()
        if found.count:
            return NativeJourney(self.events, found, course, error)
        if error is not None and not isinstance(error, Exception):
            raise error  # no fault of a function, which Python would ask again
        return None


class NativeJourney(CompiledJourney):
    """What happened from a departure on.

    Args:
        events: the events of the world.
        found: what the extension tells.
        course: of the departure.
        error: what a user's function raised behind what it tells.
    """

    def __init__(self, events: NativeEvents, found: Any, course: Course, error: BaseException | None) -> None:
        self._events, self._found = events, found
        self._told: dict[int, PassedArc] = {}  # what was asked for is mostly asked for again
        self.count, self.evaluations = found.count, found.evaluations
        self.at_one_instant, self.to_and_fro = found.at_one_instant, found.to_and_fro
        self.first_step = found.first_step if found.first_step > 0.0 else None
        self.begun = None
        own = found.course
        if error is not None or found.begun:
            self.begun = course, passed_of(own, found.last_record, error, None)
        if found.begun:
            for name in GOES_ON:
                setattr(course, name, getattr(own, name))
            course.x, course.base, course.y, course.rate, course.values, course.highest, *known = found.arrays
            course.floor, course.rounding, course.band = known

    def event(self, number: int) -> PassedArc:
        """One of the events."""
        known = self._told.get(number)
        if known is None:
            known = self._told[number] = self._event(number)
        return known

    def _event(self, number: int) -> PassedArc:
        t, before, behind, fired, clock, touching, marks = self._found.event(number)
        rows = enumerate(marks.tolist())
        states = tuple([OPEN if own == OPEN_MARKS else self._events.state(i, own) for i, own in rows])
        names = [(NAMES[kind], contact) for kind, contact in fired]
        return PassedArc(t, before, behind, frozenset([*names, CLOCK] if clock else names), tuple(touching), states)

    def resolved(self, number: int) -> Resolved | None:
        """What the law made of it."""
        outcome = self._found.outcome(number)
        return None if outcome is None else self._events.resolved(self.event(number).touching, outcome)

    def steps(self, number: int) -> Array:
        """The record of the arc behind it."""
        record: Array = self._found.record(number)
        return record
