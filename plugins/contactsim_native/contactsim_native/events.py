"""Events in C++: impacts, the choice of modes, and hops too low to be followed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from contactsim.common.lazy import dataclass
from contactsim.contact.modes import ContactState, Mode, Phase
from contactsim.contact_dynamics import zero as contacts_zero
from contactsim.contact_dynamics.engines import (
    CompiledEvents,
    CompiledPassage,
    PassedEvent,
    PassedStage,
    PlainEvent,
    PlainEvents,
    PlainPassage,
    Resolved,
    ResolvedImpact,
    ResolvedStage,
)

from . import _native
from .contacts import CLEAR_RANK, MODES, NUMBERS, REDUNDANCY, RULES, SINGULAR
from .cruises import native_gaps
from .rules import filled
from .solids import padded

STANDINGS = (Mode.OPEN, Mode.STICK, Mode.SLIP, Mode.CLOSED)
PHASES = (Phase.NONE, Phase.FREE, Phase.DIRECTED, Phase.INCIPIENT)
KINDS = {"": 0, "gap": 1, "force": 2, "cone": 3, "stop": 4, "other": 5}
IMPACTS = {"newton": 0, "poisson": 1}
LAWS = ("signorini", "cone", "friction")
STANDING = {mode: float(number) for number, mode in enumerate(STANDINGS)}
PHASE = {phase: float(number) for number, phase in enumerate(PHASES)}
OPEN, STICK, CLOSED = ContactState(), ContactState(Mode.STICK), ContactState(Mode.CLOSED)
WITHOUT_DIRECTION = {  # by standing and phase: these are made once
    (0, 0): OPEN,
    (1, 0): STICK,
    (2, 0): ContactState(Mode.SLIP),
    (2, 1): ContactState(Mode.SLIP, Phase.FREE),
    (3, 0): CLOSED,
}
PLAIN = [1.0, math.inf]  # of a contact that may close, and does not bounce
Array = np.ndarray


def event_rules(world: PlainEvents) -> _native.EventRules:
    """The thresholds of the modules whose choices are made in C++, and the tolerances of a world."""
    rules = _native.EventRules(RULES)
    values = {
        "redundancy": REDUNDANCY,
        "rank": SINGULAR,
        "clear_rank": CLEAR_RANK,
        "speed": world.speed,
        "slip_speed": world.slip_speed,
        "leave": contacts_zero.LEAVE,
        "slowest": contacts_zero.SLOWEST,
        "thrown": contacts_zero.THROWN,
        "hop": world.hop,
        "force": world.force,
        "straight": contacts_zero.STRAIGHT,
        "of_force": contacts_zero.OF_FORCE,
        "least_force": contacts_zero.LEAST_FORCE,
        "no_force": contacts_zero.NO_FORCE,
        "less": contacts_zero.LESS,
        "at_edge": contacts_zero.AT_EDGE,
        "most_off": contacts_zero.MOST_OFF,
        "spacing": contacts_zero.SPACING,
        "lowest": contacts_zero.LOWEST,
        "together": contacts_zero.TOGETHER,
        "alike": contacts_zero.ALIKE,
        "lesser": contacts_zero.LESSER,
        "slow": contacts_zero.SLOW,
        "hops": contacts_zero.HOPS,
        "stalled": contacts_zero.STALLED,
        "longest_cycle": contacts_zero.LONGEST_CYCLE,
    }
    return filled(rules, values)


def numbers_of(state: ContactState) -> list[float]:
    """Standing, phase and direction of a contact as the extension has them."""
    return [STANDING[state.mode], PHASE[state.phase], *(*state.direction, 0.0, 0.0)[:2]]


def given_stage(stage: PassedStage) -> tuple[Any, ...]:
    """A stage of an impact as the extension has it."""
    contacts = []
    for i, (mode, slip) in enumerate(zip(stage.modes, stage.directions, strict=True)):
        direction = () if slip is None else slip.tolist()
        contacts.append([NUMBERS[mode], len(direction) > 0, *(*direction, 0.0, 0.0)[:2], i in stage.lifted])
    return stage.impulses.tolist(), contacts, stage.rebound.tolist(), stage.share.tolist()


@dataclass(frozen=True, eq=False)
class NativeEvents(CompiledEvents):
    """The events of a world.

    Args:
        world: as the extension has it.
        drive: what drives its robot, whose functions of Python it keeps.
        tangents: tangential rows of each contact, with or without friction.
        nv: numbers of a velocity.
    """

    world: _native.TouchingWorld
    drive: _native.Drive
    tangents: tuple[int, ...]
    nv: int

    @classmethod
    def of(cls, plain: PlainEvents, robot: _native.Robot, mode: _native.ContactMode, drive: _native.Drive) -> Any:
        """The events of a world, of whose robot and drive the extension knows already."""
        law = IMPACTS[plain.impact]
        world, own = _native.TouchingWorld(robot, mode, drive, event_rules(plain), law), plain.arc.robot
        coefficients = (plain.friction, plain.static_friction, plain.restitution)
        world.take(native_gaps(own), list(plain.tangents), *(np.array(column, dtype=float) for column in coefficients))
        width = len(own.ground.basis) - 1
        widths = tuple([width if contact is not None and not contact.is_limit else 0 for contact in own.contacts])
        return cls(world, drive, widths, own.nv)

    def resolve(self, event: PlainEvent) -> Resolved | None:
        """Impact, modes and low hops."""
        states = [numbers_of(state) for state in event.states]
        kinds = [KINDS[kind] for kind in event.kinds]
        regions = [padded(state.region) for state in event.states]
        found = _native.resolve(self.world, event.t, event.x, event.touching, states, regions, kinds, event.redundant)
        return None if found is None else self.resolved(event.touching, found)

    def resolved(self, touching: tuple[int, ...], found: Any) -> Resolved:
        """An outcome of the extension for the contacts that touch."""
        residuals = {} if found.residuals is None else dict(zip(LAWS, found.residuals, strict=True))
        return Resolved(
            found.velocity,
            tuple([self.state(i, state) for i, state in zip(touching, found.states, strict=True)]),
            found.unique,
            residuals,
            self._left(touching, found),
            tuple([touching[k] for k in found.bouncing]),
            found.rest if found.rest >= 0.0 else None,
            self._impact(touching, found) if found.struck else None,
        )

    def derivative(self, event: PassedEvent) -> Array | None:
        """D R by (dq, dv), its outcome held."""
        size = 2 * self.nv
        found = np.empty((size, size))
        stages = [given_stage(stage) for stage in event.stages]
        states = ([numbers_of(state) for state in part] for part in (event.before, event.after))
        left = np.concatenate([np.zeros(0), *event.left]).tolist()
        known = _native.differentiate_event(
            self.world,
            event.t,
            event.x,
            event.x_post,
            event.struck,
            stages,
            event.closed,
            *states,
            left,
            event.redundant,
            found,
        )
        return found if known else None

    def low(self, t: float, x: Array, lowest: float) -> list[tuple[int, float, float]] | None:
        """Contacts near to closing."""
        return _native.low(self.world, t, x, lowest)

    def state(self, i: int, given: Sequence[float]) -> ContactState:
        """A contact by its standing, phase and direction; then whether it may close, and the end of its bounces."""
        standing, phase, one, two, *others = given
        if others and others != PLAIN:
            enabled, until = others
            own = self.state(i, given[:4])
            return replace(own, enabled=enabled > 0.0, until=until if until < math.inf else None)
        known = WITHOUT_DIRECTION.get((standing, phase))
        if known is not None:
            return known
        return ContactState(STANDINGS[int(standing)], PHASES[int(phase)], (one, two)[: self.tangents[i]])

    def passage(self, world: PlainPassage) -> CompiledPassage:
        """Runs from event to event."""
        from .journeys import NativePassage

        return NativePassage.of(self, world)

    def _left(self, touching: tuple[int, ...], found: Any) -> dict[int, Array]:
        """{contact: impulse along its rows} by which contacts were brought to rest."""
        settled = found.settled
        if not settled:
            return {}
        left, start, parts = found.left, 0, []
        for i in touching:
            parts.append(left[start : start + 1 + self.tangents[i]])
            start += 1 + self.tangents[i]
        return {touching[k]: parts[k] for k in settled}

    def _impact(self, touching: tuple[int, ...], found: Any) -> ResolvedImpact:
        stages = tuple([self._stage(touching, stage) for stage in found.struck])
        return ResolvedImpact(found.struck_matrix, stages, *found.struck_work)

    def _stage(self, touching: tuple[int, ...], stage: tuple[Any, ...]) -> ResolvedStage:
        before, impulses, chosen, lifted, unique, residuals = stage
        modes, slips = [], []
        for i, (mode, directed, *direction) in zip(touching, chosen, strict=True):
            modes.append(MODES[mode])
            slips.append(np.array(direction[: self.tangents[i]]) if directed else None)
        told = dict(zip(LAWS, residuals, strict=True))
        return ResolvedStage(before, impulses, tuple(modes), tuple(slips), frozenset(lifted), unique, told)
