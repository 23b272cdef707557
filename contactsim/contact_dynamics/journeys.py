"""Runs by a compiled engine from event to event: what it is handed of a world, and what is made of its log."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

import numpy as np

from ..common.arrays import Array
from ..common.lazy import dataclass
from ..common.user_calls import Margin
from ..contact.laws import RigidLaw
from ..contact.modes import SystemMode
from ..hybrid.flow import CLOCK, Transition
from ..hybrid.journeys import Departure, Journey
from ..hybrid.segments import Segment, Steps
from ..hybrid.trajectory import Arc, Event
from ..multibody.plain_robot import PlainMargin, plain_margin
from .compiled_resolution import CompiledResolution
from .contact_rows import ContactEvent, PostEvent, bounces_ended
from .engines import CompiledJourney, CompiledPassage, PlainPassage
from .rigid_guards import SEAMLESS
from .world import World


class Contacts(Protocol):
    """Events of a world, as Python tells of them."""

    def transition(self, t: float, x: Array, mode: SystemMode, fired: frozenset[Hashable]) -> Transition:
        """What follows an event."""
        ...

    def recorded(self, x: Array, event: ContactEvent, then: PostEvent) -> Transition:
        """The record of an event of which it is known what follows."""
        ...


def passage_of(world: World, resolution: CompiledResolution | None) -> CompiledPassage | None:
    """The runs of a world by the engine that knows its events; None where Python knows more of them."""
    if resolution is None or not _is_plain(world) or (margins := _margins(world)) is None:
        return None
    if resolution.known_as == "energetic" and np.ptp(world.restitution):
        return None
    robot = world.mechanism.plain_robot
    assert robot is not None and isinstance(world.law, RigidLaw)
    return resolution.events.passage(PlainPassage(robot, margins, world.law.jams, world.tolerances))


def _is_plain(world: World) -> bool:
    """Whether all that may happen in a world are events of its own contacts with a ground that stands still."""
    mechanism = world.mechanism
    robot = mechanism.plain_robot
    if robot is None or any(contact is None or contact.other is not None for contact in robot.contacts):
        return False
    trees = mechanism.trees
    whole = trees is None or not np.ptp(trees.velocities)
    watched = mechanism.autonomous and mechanism.bounded_steps and not len(mechanism.skippable)
    return whole and watched and not (world.latches or world.curves or mechanism.has_regions)


def _margins(world: World) -> tuple[PlainMargin | None, ...] | None:
    """Margins that enable contacts, as data; None where one of them is a function that is called."""
    found: list[PlainMargin | None] = []
    for own in world.mechanism.enabled:
        margin = plain_margin(own.contact, own.function, world.nq) if isinstance(own, Margin) else None
        if own is not None and margin is None:
            return None
        found.append(margin)
    return tuple(found)


@dataclass(frozen=True)
class Passage:
    """The runs of a system.

    Args:
        world: what moves.
        contacts: its events.
        resolution: what follows events.
        compiled: its runs by the engine.
    """

    world: World
    contacts: Contacts
    resolution: CompiledResolution
    compiled: CompiledPassage

    def journey(self, system: Any, departure: Departure) -> Journey | None:
        """Events and arcs from a departure on; None: the engine does not know the first event."""
        mode = departure.mode
        assert isinstance(mode, SystemMode)
        if mode.redundant or mode.turns or self.world.driving.is_sampling(departure.course.t):
            return None
        found = self.compiled.journey(departure, mode.contacts)
        if found is None:
            return None
        log = Log(self, system, mode, found)
        event, arc = log.event, log.arc
        events = [Event.later(event, k) for k in range(found.count)]
        arcs = [Arc.later(arc, k, events[k + 1]) for k in range(found.count - 1)]
        counts, last = (found.at_one_instant, found.to_and_fro), found.event(found.count - 1)
        behind = last.t, log.mode(found.count), last.behind
        return Journey(events, arcs, *behind, found.evaluations, found.first_step, *counts, found.begun)


class Log:
    """What an engine tells of a journey, made into events and arcs where these are asked for.

    Args:
        passage: whose journey it is.
        system: that runs.
        mode: before the first event.
        found: what the engine tells.
    """

    def __init__(self, passage: Passage, system: Any, mode: SystemMode, found: CompiledJourney) -> None:
        self._passage, self._system, self._found = passage, system, found
        self._modes: dict[int, SystemMode] = {0: mode}

    def mode(self, k: int) -> SystemMode:
        """The mode before event `k`."""
        known = self._modes.get(k)
        if known is None:
            known = self._modes[k] = SystemMode(self._found.event(k - 1).states)
        return known

    def event(self, k: int) -> dict[str, Any]:
        """The attributes of an `Event`."""
        told = self._found.event(k)
        return {
            "time": told.t,
            "fired": told.fired,
            "mode_pre": self.mode(k),
            "x_pre": told.before,
            "transition": self._transition(k),
            "system": self._system,
        }

    def arc(self, k: int, end: Event) -> dict[str, Any]:
        """The attributes of the `Arc` between event `k` and the next one."""
        record, space = self._found.steps(k), self._passage.world.space
        segments: Sequence[Segment] = (Segment.instant(end.time, end.x_pre, space),)
        if len(record):
            segments = Steps()
            segments.record(record, space)
        return {"mode": self.mode(k + 1), "segments": segments, "event": end, "system": self._system}

    def _transition(self, k: int) -> Transition:
        told, resolved, mode, after = self._found.event(k), self._found.resolved(k), self.mode(k), self.mode(k + 1)
        contacts, t, x = self._passage.contacts, told.t, told.before
        if resolved is None and told.fired == {CLOCK}:
            return contacts.transition(t, x, mode, told.fired)
        if resolved is None:
            identity = partial(np.eye, self._passage.world.tangent_size)
            seamless = SEAMLESS.issuperset([name[0] for name in told.fired if isinstance(name, tuple)])
            return Transition(x, after, derivative=identity, still=True, unmoved=True, seamless=seamless)
        kinds = {i: kind for kind, i in sorted(name for name in told.fired if isinstance(name, tuple))}
        switched = {i: mode.contacts[i] for i, kind in kinds.items() if kind == "enable"}
        if switched:
            mode = mode.changed({i: replace(state, enabled=not state.enabled) for i, state in switched.items()})
        event = ContactEvent(t, bounces_ended(t, mode)[0], told.touching, kinds)
        return contacts.recorded(x, event, self._passage.resolution.told(x, event, resolved))
