"""Events by a compiled engine: what it is handed of them, and what is made of its answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np

from ..common.arrays import Array
from ..common.lazy import Late, dataclass
from ..contact.laws import RigidLaw
from ..contact.modes import IDLE, OPEN, Phase, SystemMode
from ..contact.zero import GAINED
from .contact_rows import (
    NOT_UNIQUE,
    ContactEvent,
    Happened,
    Impact,
    PostEvent,
    as_before,
    bouncing_until,
    impact_notes,
    laid_out,
    problem_of,
)
from .engines import (
    CompiledEvents,
    PassedEvent,
    PassedStage,
    PlainEvent,
    PlainEvents,
    Resolved,
    ResolvedImpact,
    ResolvedStage,
)
from .plain_arc import plain_arc
from .world import World

if TYPE_CHECKING:
    from ..contact import impact as impact_law
    from ..contact import problem as contact_problems
    from ..contact.impact import ImpactSolution, ImpactStage
    from ..contact.problem import ContactProblem
else:  # only derivatives ask for the stages of an impact
    impact_law, contact_problems = Late("contactsim.contact.impact"), Late("contactsim.contact.problem")

IMPACTS: Mapping[str | None, Literal["newton", "poisson"]] = {
    "newton": "newton",
    "poisson": "poisson",
    "energetic": "poisson",
}  # that engines know, by the plain name of a law
KINDS = ("gap", "force", "cone", "stop")  # of guards that events tell apart


def compiled_resolution(world: World) -> CompiledResolution | None:
    """The events of a world by its engine; None where Python knows more of them."""
    law, engine = world.law, world.compiled_engine
    known_as = law.plain() if engine is not None and isinstance(law, RigidLaw) else None
    if engine is None or not isinstance(law, RigidLaw) or known_as not in IMPACTS or world.curves:
        return None
    contacts = len(world.mechanism.dims)
    arc = plain_arc(world, SystemMode((OPEN,) * contacts)) if contacts == world.count else None
    if arc is None:
        return None
    tolerances = world.tolerances
    coefficients = world.friction, world.static_friction, np.asarray(world.restitution)
    zeros = tolerances.speed, tolerances.slip_speed, tolerances.hop, tolerances.force
    events = engine.events(PlainEvents(arc, IMPACTS[known_as], world.tangent_rows, *coefficients, *zeros))
    contacts_of = enumerate(arc.robot.contacts)  # of features on hills others may take over
    known = frozenset(i for i, contact in contacts_of if contact is not None and contact.feature is None)
    return None if events is None else CompiledResolution(world, law, known_as, events, known)


@dataclass(frozen=True)
class CompiledResolution:
    """The events of one world, as far as an engine knows them.

    Args:
        world, law, known_as: the world, its law, and the plain name of that.
        events: its events by the engine.
        known: contacts that the engine knows.
    """

    world: World
    law: RigidLaw
    known_as: str | None
    events: CompiledEvents
    known: frozenset[int]

    def resolve(self, x: Array, event: ContactEvent) -> PostEvent | None:
        """What an event leads to; None: Python has to tell."""
        kinds, mode, touching = event.kinds, event.mode, event.touching
        if event.struck or event.following or event.slowest is not None or not self.known.issuperset(touching):
            return None
        if mode.turns or -1 in kinds:
            return None
        fired = [kinds.get(i, "") for i in touching]
        named = tuple([kind if kind in KINDS else kind and "other" for kind in fired])
        states = tuple([mode.contacts[i] for i in touching])
        found = self.events.resolve(PlainEvent(event.t, x, touching, states, named, mode.redundant))
        return None if found is None or self._gains(touching, found) else self.told(x, event, found)

    def low(self, t: float, x: Array, lowest: float) -> list[tuple[int, float, float]] | None:
        """Contacts whose gaps are at most `lowest` [m], with gap and rate; None where the engine does not know all."""
        return self.events.low(t, x, lowest) if len(self.known) == self.world.count else None

    def derivative(self, happened: Happened) -> Array | None:
        """D_x R (dim, dim) of an event with its outcome held; None: Python has to tell."""
        impact, closed = happened.impact, happened.after.closed
        struck = () if impact is None else impact.contacts
        if not self.known.issuperset(struck + closed):
            return None
        before, after = (tuple([mode.contacts[i] for i in closed]) for mode in (happened.mode, happened.after))
        stages = None if impact is None else self._passed(impact)
        if (impact is not None and stages is None) or not happened.left.keys() <= set(closed):
            return None
        if impact is None and before == after and all(state.phase is not Phase.INCIPIENT for state in after):
            return np.eye(self.world.tangent_size)  # nothing comes to rest
        left = [happened.left.get(i, np.zeros(self.world.mechanism.dims[i])) for i in closed] if happened.left else []
        parts = struck, stages or (), closed, before, after, left, happened.after.redundant
        event = PassedEvent(happened.t, happened.x, happened.x_post, *parts)
        found = self.events.derivative(event)
        if found is None or len(found) == self.world.tangent_size:
            return found
        whole = np.eye(self.world.tangent_size)
        whole[: len(found), : len(found)] = found
        return whole

    def _passed(self, impact: Impact) -> tuple[PassedStage, ...] | None:
        """The stages of an impact; None where neighbouring states take others, or impulses are not unique."""
        solution, kept = impact.solution, self.world.kept_rows(impact.contacts)
        if solution.kink or any(stage.balanced or not stage.solution.unique for stage in solution.stages):
            return None
        found = []
        for stage in solution.stages:
            along, of = np.zeros(len(impact.along)), stage.solution
            along[kept] = stage.impulses
            found.append(PassedStage(along, of.modes, of.directions, of.lifted, stage.rebound, stage.share))
        return tuple(found)

    def _gains(self, touching: tuple[int, ...], found: Resolved) -> bool:
        """Whether impacts of Poisson's law gain energy, or hops may, which another law does not let them."""
        if self.known_as != "energetic" or len(set(self.world.restitution[list(touching)].tolist())) <= 1:
            return False
        struck = found.impact
        return bool(found.bouncing) or (struck is not None and struck.work > GAINED * struck.turnover)

    def told(self, x: Array, event: ContactEvent, found: Resolved) -> PostEvent:
        """The answer of the engine, as Python has it."""
        world, x = self.world, x.copy()
        world.v(x)[:] = found.velocity
        after = self._mode(x, event, found)
        notes: tuple[str, ...] = () if found.unique else (NOT_UNIQUE,)
        residuals, impact = {f"mode {law}": value for law, value in found.residuals.items()}, None
        if (struck := found.impact) is not None:
            impact, told = self._impact(event, struck), [stage.residuals for stage in struck.stages]
            residuals = {f"impact {law}": max(one[law] for one in told) for law in told[0]} | residuals
            unique = all(stage.unique for stage in struck.stages)
            redundant = None if unique else impact.solution
            notes = impact_notes(self.law, struck.work, struck.turnover, struck.energy, redundant) + notes
        return PostEvent(x, after, impact, found.left, residuals, notes)

    def _mode(self, x: Array, event: ContactEvent, found: Resolved) -> SystemMode:
        before = event.mode
        states = [OPEN if state.enabled else IDLE for state in before.contacts]
        for i in event.apart:
            states[i] = before.contacts[i]
        for i, state in zip(event.touching, found.states, strict=True):
            if state.closed:
                enabled = before.contacts[i].enabled
                state = state if enabled else replace(state, enabled=False)
                states[i] = as_before(self.world, i, x, state, before)
        after = SystemMode(tuple(states), not found.unique or event.loosely_apart, before.latched, before.waiting)
        return after if found.rest is None else bouncing_until(event.t + found.rest, after, set(found.bouncing))

    def _impact(self, event: ContactEvent, struck: ResolvedImpact) -> Impact:
        """The impact; its stages are made where derivatives ask for them."""
        world, touching = self.world, event.touching
        where = laid_out([(i, world.mechanism.dims[i]) for i in touching])
        along = np.zeros(max(part.stop for part in where.values()))
        along[world.kept_rows(touching)] = sum(stage.impulses for stage in struck.stages)
        return Impact(touching, partial(_solution, world, touching, struck, self.known_as == "newton"), where, along)


def _solution(world: World, touching: tuple[int, ...], struck: ResolvedImpact, newton: bool) -> ImpactSolution:
    """The stages of an impact under Newton's law, or Poisson's."""
    problem = problem_of(world, touching, struck.delassus, struck.stages[0].before, (None,) * len(touching))
    return impact_law.ImpactSolution(_stages(problem, struck, world.restitution[list(touching)], newton))


def _stages(problem: ContactProblem, struck: ResolvedImpact, share: Array, newton: bool) -> tuple[ImpactStage, ...]:
    """Newton's stage, or compression and the expansion that gives back a share (n,) of its normal impulses."""
    first, *others = struck.stages
    starts, none = list(problem.starts), np.zeros(len(share))
    approach = problem.free[starts]
    e = np.where(approach < 0.0, share, 0.0) if newton else none
    rebound = tuple((-e * approach).tolist()) if np.any(e) else ()
    kinetic = problem.friction  # of impacts, at which what sticks does so within that
    found = [_stage(replace(problem, static_friction=kinetic, rebound=rebound), first, e, none)]
    for second in others:
        given = tuple((share * np.maximum(first.impulses[starts], 0.0)).tolist())
        expanding = replace(problem, static_friction=kinetic, free=second.before, given=given, lifted=second.lifted)
        found.append(_stage(expanding, second, none, share))
    return tuple(found)


def _stage(problem: ContactProblem, found: ResolvedStage, rebound: Array, share: Array) -> ImpactStage:
    solution = contact_problems.ContactSolution(problem, found.modes, found.impulses, found.directions, found.unique)
    return impact_law.ImpactStage(solution, found.before, solution.motion, rebound, share)
