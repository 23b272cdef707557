"""What an event of a rigid law leads to, in Python: an impact where contacts approach, then modes of what stays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..common.arrays import Array
from ..common.lazy import Late
from ..common.user_calls import UserCall, answer
from ..contact.laws import RigidLaw
from ..contact.linear_algebra import delassus, smallest_change, solve_mass
from ..contact.modes import ContactState, Mode, Phase, SystemMode
from ..errors import CallbackError, NoAdmissibleModeError
from .contact_rows import (
    ContactEvent,
    ContactTerms,
    Impact,
    PostEvent,
    bouncing_until,
    closed_terms,
    impact_notes,
    let_go,
    problem_of,
    resting_rows,
    with_rubbing,
)
from .mode_choice import Choice, ModeChoice
from .rigid_arc import motion_in
from .world import World
from .zero import LEAVE, LOWEST, OF_HOPS, SLOWEST, SPACING, THROWN

if TYPE_CHECKING:
    from ..contact import impact as impact_law
    from ..contact.impact import ImpactSolution
    from ..contact.problem import ContactProblem
else:  # a compiled engine resolves impacts by itself
    impact_law = Late("contactsim.contact.impact")

NO_MODE = "no mode is admissible for what slides (Painleve): the run goes on by an impact without collision of {}"
JAMS = (
    "friction makes the forces of what slides grow beyond bounds (dynamic jam, Painleve): the run goes on by an impact"
    " without collision of {}"
)
STOPPED = (
    "friction makes the forces of what hardly slides grow beyond bounds (dynamic jam, Painleve): {} come to rest, from"
    " slips slower than those of which a direction is followed"
)
JAMS_AT_MOST = 8  # impacts without collision one after the other, each of which takes energy


class Resolution:
    """Impacts and modes by the law of one world."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._law: RigidLaw = world.law  # type: ignore[assignment]
        self._choice = ModeChoice(world, self._law)

    def resolve(self, x: Array, event: ContactEvent) -> PostEvent:
        """Impact where a touching contact approaches, then modes for the contacts that stay in touch.

        Where no mode is admissible, a law that jams goes on with an impact without collision; where that is not found
        either, slips that are slower than their directions are told come to rest.
        """
        try:
            return self._unjammed(x, event, JAMS) if "jam" in event.kinds.values() else self._outcome(x, event)
        except NoAdmissibleModeError as error:
            return self._another_way(x, event, error)

    def _another_way(self, x: Array, event: ContactEvent, error: NoAdmissibleModeError) -> PostEvent:
        """What is left where no mode is admissible: forces that stay bounded at a jam, an impact without collision,
        and rest for what is slow.
        """
        try:
            if "jam" in event.kinds.values():
                return self._outcome(x, event)
            if self._law.jams and event.slowest is None:
                return self._unjammed(x, event, NO_MODE)
        except NoAdmissibleModeError as last:
            error = last
        stopped = self._stopped(x, event) if self._law.jams else None
        if stopped is None:
            raise error
        return stopped

    def _stopped(self, x: Array, event: ContactEvent) -> PostEvent | None:
        """State and modes where what slips too slowly to have a direction comes to rest; None where nothing does."""
        try:
            then, touch, at_rest = self._struck(x, event)
        except NoAdmissibleModeError:
            return None
        staying = self._staying(event, touch)
        slow = self._slow(event, touch) & staying
        if not slow:
            return None
        names = ", ".join(self._world.mechanism.all_names[i] for i in sorted(slow))
        then = then._replace(notes=(*then.notes, STOPPED.format(names)), jammed=tuple(sorted(slow)))
        return self._settled(then, event, touch, staying, at_rest | slow)

    def _slow(self, event: ContactEvent, touch: ContactTerms) -> set[int]:
        """Contacts that slide in space so slowly that a slip which begins would not follow its own direction yet."""
        world, touching = self._world, [i for i in event.touching if self._world.widths[i] == 2]
        slow = LEAVE * world.tolerances.slip_speed
        speed = {i: float(np.linalg.norm(touch.terms.rates[world.tangents(i, touch.where[i])])) for i in touching}
        return {i for i in touching if world.tolerances.speed < speed[i] <= slow}

    def going_on(self, t: float, x: Array, mode: SystemMode) -> SystemMode:
        """The mode in which the law goes on where the closed contacts of `mode` touch, and stick or slip as it says."""
        at_rest = {i for i in mode.closed if mode.contacts[i].mode is Mode.STICK}
        event = ContactEvent(t, mode, mode.closed, {})
        touch = closed_terms(self._world, t, x, mode.closed)
        return self._choice.among(event, x, touch, mode.closed, at_rest, jumped=True).mode

    def _outcome(self, x: Array, event: ContactEvent) -> PostEvent:
        """State and modes after an event."""
        then, touch, at_rest = self._struck(x, event)
        staying = self._staying(event, touch)
        if then.impact is None and at_rest:
            event, at_rest = self._without_what_turns(event, touch, staying, at_rest)
        return self._settled(then, event, touch, staying, at_rest)

    def _struck(self, x: Array, event: ContactEvent) -> tuple[PostEvent, ContactTerms, set[int]]:
        """State behind the impact, if a contact approaches; the equations there, and the contacts at rest."""
        t, touching, slow = event.t, event.touching, self._world.tolerances.speed
        touch = closed_terms(self._world, t, x, touching)
        normals = [touch.where[i].start for i in self._world.pressing(touching) if i not in event.following]
        at_rest = self._stopping(event) if "stop" in event.kinds.values() else set[int]()
        at_rest |= {i for i, old in event.following.items() if event.mode.contacts[old].mode is Mode.STICK}
        if not (event.struck and touching) and not any(rate < -slow for rate in touch.terms.rates[normals].tolist()):
            return PostEvent(x, event.mode, None, {}, {}, ()), touch, at_rest
        impact, change = self._impact(event, touch)
        solution, v = impact.solution, self._world.v(x)
        energy = 0.5 * float(v @ touch.terms.mass @ v)
        unique = all(stage.solution.unique and not stage.solution.undecided for stage in solution.stages)
        notes = impact_notes(self._law, solution.work, solution.turnover, energy, None if unique else solution)
        return self._behind(x, event, impact, change, notes)

    def _behind(
        self, x: Array, event: ContactEvent, impact: Impact, change: Array, notes: tuple[str, ...]
    ) -> tuple[PostEvent, ContactTerms, set[int]]:
        """State behind an impact that changes the velocity, the equations there, and the contacts that it stops."""
        residuals = {f"impact {law}": value for law, value in impact.solution.residuals.items()}
        modes = impact.solution.modes
        at_rest = {i for i, mode in zip(event.touching, modes, strict=True) if mode is Mode.STICK}
        x = self.accelerated(x, change)
        touch = closed_terms(self._world, event.t, x, event.touching)
        return PostEvent(x, event.mode, impact, {}, residuals, notes), touch, at_rest

    def _staying(self, event: ContactEvent, touch: ContactTerms) -> set[int]:
        """The touching contacts that do not leave; what takes over from others touches without any velocity."""
        rates, world = touch.terms.rates, self._world
        staying = (
            i
            for i in world.pressing(event.touching)
            if i in event.following or float(rates[touch.where[i].start]) <= world.tolerances.speed
        )
        return set(world.with_resistances(staying))

    def _impact(self, event: ContactEvent, touch: ContactTerms) -> tuple[Impact, Array]:
        """The impact of all touching contacts, and the change of the velocities by it: M (v+ - v-) = J^T Lam."""
        world, terms, touching = self._world, touch.terms, event.touching
        kept = world.kept_rows(touching)
        rows = terms.rows[kept]
        matrix = delassus(terms.mass, rows)
        problem = problem_of(world, touching, matrix, terms.rates[kept], (None,) * len(touching))
        problem = replace(problem, static_friction=problem.friction)
        if event.known is not None and self._law.plain() is not None:  # other laws may solve for parts of the contacts
            first = event.known.solution.stages[0].solution
            problem = replace(problem, guess=first.modes, directions=first.directions)
        try:
            if world.curves.keys().isdisjoint(touching):
                solution = self._law.impact(problem, world.restitution[list(world.pressing(touching))])
            else:
                from .impacts import impact_by

                solution = impact_by(world, touching, problem)
        except Exception:
            with UserCall("the contact law", type(self._law).__name__, event.t):
                raise
        self._demand(solution, problem, event.t)
        change = solve_mass(terms.mass, rows.T @ solution.impulses)
        return self._impact_of(touching, solution, touch), change + self._missing(solution, terms.mass, rows, change)

    def _demand(self, solution: ImpactSolution, problem: ContactProblem, t: float) -> None:
        """Raise CallbackError where a law of the user's answers an impact with something else than finite impulses."""
        kind, name = "the contact law", type(self._law).__name__
        if not isinstance(solution, impact_law.ImpactSolution):
            raise CallbackError(
                f"{kind} {name!r} returns {type(solution).__name__} from impact() at t = {t:.6g} s; return an"
                " ImpactSolution, such as newton() of contactsim.contact.impact makes",
                t=t,
            )
        answer(kind, name, "impulses", solution.impulses, problem.free.shape, t, problem.free)

    @staticmethod
    def _missing(solution: ImpactSolution, mass: Array, rows: Array, change: Array) -> Array:
        """What a change of velocity lacks for the contacts to leave each other as Newton's law says.

        Impulses are rounded relative to their size, and a light body turns by the small difference of two large ones:
        corners that are to hop together would part.
        """
        stage, starts = solution.stages[0], solution.stages[0].solution.problem.starts
        thrown = [k for k in np.flatnonzero(stage.rebound > 0.0).tolist() if not stage.ends_open(k)]
        if len(solution.stages) > 1 or len(thrown) < 2:
            return np.zeros(len(change))
        normals = [starts[k] for k in thrown]
        missed = -(1.0 + stage.rebound[thrown]) * stage.before[normals] - rows[normals] @ change
        return smallest_change(mass, rows[normals], missed)[0]

    def _impact_of(self, touching: tuple[int, ...], solution: ImpactSolution, touch: ContactTerms) -> Impact:
        """An impact with its impulses along all rows."""
        along = np.zeros(len(touch.terms.rates))
        along[self._world.kept_rows(touching)] = solution.impulses
        return Impact(touching, solution, touch.where, along)

    # --- impacts without collision ----------------------------------------------------------------------------

    def _unjammed(self, x: Array, event: ContactEvent, why: str) -> PostEvent:
        """State and modes after an event at which contacts jam: the impact, if there is one, then those without.

        Where no impulse of the impact is admissible, since friction drives what strikes into the ground, its slip is
        followed in the impulse like that of what jams. That knows of no restitution.

        Args:
            x: state before it.
            event: what happens.
            why: the sentence that tells of it, with a place for the names of the contacts.
        """
        try:
            then, touch, at_rest = self._struck(x, event)
        except NoAdmissibleModeError:
            touch = closed_terms(self._world, event.t, x, event.touching)
            if self._rebounds(event, touch):
                raise
            then, at_rest = PostEvent(x, event.mode, None, {}, {}, ()), set[int]()
        for _ in range(JAMS_AT_MOST):
            then, touch, at_rest = self._after_jam(then, event, touch, why)
            try:
                return self._settled(then, event, touch, self._staying(event, touch), at_rest)
            except NoAdmissibleModeError as error:
                last = error
        raise last

    def _rebounds(self, event: ContactEvent, touch: ContactTerms) -> bool:
        """True where a contact approaches that would be thrown back."""
        rates, world = touch.terms.rates, self._world
        striking = [i for i in world.pressing(event.touching) if rates[touch.where[i].start] < -world.tolerances.speed]
        return bool(np.any(world.restitution[striking] > 0.0))

    def _after_jam(
        self, before: PostEvent, event: ContactEvent, touch: ContactTerms, why: str
    ) -> tuple[PostEvent, ContactTerms, set[int]]:
        """State behind one more impact without collision, the equations there, and the contacts at rest."""
        from .impacts import impact_without_collision

        found, problem = impact_without_collision(self._world, before.x, event, touch)
        rows = touch.terms.rows[self._world.kept_rows(event.touching)]
        solution = found.solution
        if before.impact is not None:
            solution = replace(solution, stages=(*before.impact.solution.stages, *solution.stages))
        impact = self._impact_of(event.touching, solution, touch)
        change = solve_mass(touch.terms.mass, rows.T) @ found.solution.impulses
        names = [self._world.mechanism.all_names[event.touching[k]] for k in found.contacts] or list(problem.names)
        told = before.notes + tuple(n for n in (why.format(", ".join(names)), *found.notes) if n not in before.notes)
        then, touch, at_rest = self._behind(before.x, event, impact, change, told)
        jams = {*before.jammed, *(event.touching[k] for k in found.contacts)}
        return then._replace(jammed=tuple(sorted(jams))), touch, at_rest

    # --- modes, and low hops -----------------------------------------------------------------------------------

    def _settled(
        self, given: PostEvent, event: ContactEvent, touch: ContactTerms, staying: set[int], at_rest: set[int]
    ) -> PostEvent:
        """Modes of what stays in touch: found anew while others come to rest by them, or hop too low to be followed.

        Args:
            given: state behind the impact, and what is known of the event.
            event: what happens.
            touch: equations of motion at that state, with the rows of all touching contacts.
            staying: contacts that do not leave.
            at_rest: those of them that come to rest.
        """
        t, x, jumped, bouncing, rest = event.t, given.x, given.impact is not None, set[int](), None
        residuals, leaving = dict(given.residuals), {*self._world.pressing(event.touching)} - staying
        fastest = 0.0  # how fast hops begin, and what is chosen where they are flown
        flown: tuple[Choice, Array, dict[int, Array]] | None = None
        while True:
            still, terms, first = self._brought_to_rest(event, x, touch, staying, at_rest)
            try:
                choice = self._choice.among(event, still, terms, tuple(sorted(staying)), at_rest, jumped)
            except NoAdmissibleModeError:
                if flown is None:
                    raise
                slow = self._stops_within(rest, t, flown[1], flown[0].mode)
                slow = (slow | self._no_faster(touch, staying, fastest)) - at_rest
                if slow:
                    at_rest = at_rest | slow
                    continue
                (choice, settled, left), bouncing, rest = flown, set(), None  # what cannot stay hops, however low
                break
            residuals |= choice.residuals
            slipping = set() if jumped else self._slipping(event, touch) - at_rest
            settled, left, stopped = self._settle(still, choice.mode, terms, slipping, bool(bouncing))
            change = self._world.v(settled) - self._world.v(x)
            if not jumped and not bouncing and (on := self._stuck_beginnings(event, touch, choice.mode, change)):
                event, at_rest = self._turned(event, on), at_rest - on.keys()
                continue
            left |= {i: left[i] + impulse if i in left else impulse for i, impulse in first.items()}
            stopped -= at_rest
            hopping = self._hopping(event, settled, choice.mode, leaving) if leaving else set()
            if not stopped and not hopping:
                break
            if hopping and not bouncing and event.slowest is None:
                rest = self._time_to_rest(t, settled, choice.mode, hopping)
            if hopping and not stopped and flown is None:
                flown = choice, settled, left
                fastest = max(float(touch.terms.rates[touch.where[i].start]) for i in hopping)
            joining = set(self._world.with_resistances(hopping))
            at_rest, staying, bouncing = at_rest | stopped, staying | joining, bouncing | joining
            leaving = leaving - hopping
        after = choice.mode if rest is None else bouncing_until(float(t + rest), choice.mode, bouncing)
        return given._replace(x=settled, mode=after, left=left, residuals=residuals, notes=given.notes + choice.notes)

    def _time_to_rest(self, t: float, x: Array, mode: SystemMode, hopping: set[int]) -> float | None:
        """Time [s] until the last of the bounces of contacts that hop, among the bodies that these move."""
        from .zeno import time_to_rest

        trees = self._world.mechanism.trees
        if trees is None or not np.ptp(trees.velocities):
            return time_to_rest(self, t, x, mode, hopping)
        from .standstill import standstill

        still = standstill(self._world, t, x, mode, hopping)
        begun = {k for k, i in enumerate(still.contacts) if i in hopping}
        return time_to_rest(Resolution(still.world), t, still.x, still.mode, begun)

    def _no_faster(self, touch: ContactTerms, contacts: set[int], speed: float) -> set[int]:
        """Those of the contacts that slide no faster than low hops begin: what stops the ones stops the others."""
        rates = touch.terms.rates
        size = {i: float(np.linalg.norm(rates[touch.where[i]][1:])) for i in self._world.pressing(contacts)}
        return {i for i in size if self._world.tangent_rows[i] and size[i] <= OF_HOPS * speed}

    def _stops_within(self, rest: float | None, t: float, x: Array, mode: SystemMode) -> set[int]:
        """Contacts that slide in a mode and come to rest in it before its hops do: with them, at their end."""
        sliding = [i for i in mode.closed if mode.contacts[i].phase in (Phase.DIRECTED, Phase.FREE)]
        if rest is None or not sliding:
            return set()
        terms, where = closed_terms(self._world, t, x, tuple(sliding), mode)
        bend = terms.rows @ motion_in(self._world, t, x, mode)[1].acceleration + terms.bias
        slips = {i: self._world.tangents(i, where[i]) for i in sliding}
        speeds = {i: float(np.linalg.norm(terms.rates[part])) for i, part in slips.items()}
        return {i for i, part in slips.items() if speeds[i] ** 2 <= -rest * float(terms.rates[part] @ bend[part])}

    def _brought_to_rest(
        self, event: ContactEvent, x: Array, touch: ContactTerms, staying: set[int], at_rest: set[int]
    ) -> tuple[Array, ContactTerms, dict[int, Array]]:
        """The state in which what comes to rest is so, its equations of motion, and {contact: impulse} that this took.

        Held slip directions leave up to the slip speed. Where contacts stick redundantly, their accelerations agree
        with each other at rest only: |x_1 - x_2| of two points of a body has no rate, but its second one is theirs.
        What sticks is held meanwhile: near a singular configuration, such as that of a level robot whose legs move in
        planes, no impulse stops all contacts, and what stops one of them would move another one.
        """
        found = self._change_to_rest(event, touch, staying, at_rest)
        if found is None:
            return x, touch, {}
        change, along = found
        x = self.accelerated(x, change)
        impulses = {i: along[touch.where[i]] for i in staying}
        return x, closed_terms(self._world, event.t, x, event.touching), impulses

    def _change_to_rest(
        self, event: ContactEvent, touch: ContactTerms, staying: set[int], at_rest: set[int]
    ) -> tuple[Array, Array] | None:
        """Change of velocity that brings contacts to rest, and its impulses along all rows; None: they are at rest."""
        world, rates = self._world, touch.terms.rates
        starts = {i: touch.where[i].start for i in staying}

        def own(i: int) -> range:
            return range(starts[i], starts[i] + world.heads[i] + world.tangent_rows[i])

        rows = [row for i in staying & at_rest for row in own(i)]
        if not rows or np.abs(rates[rows]).max() <= world.tolerances.speed:
            return None
        still = {i for i in staying - event.kinds.keys() if event.mode.contacts[i].mode is Mode.STICK}
        rows += [row for i in still if np.abs(rates[own(i)]).max() <= world.tolerances.speed for row in own(i)]
        rows = sorted({*rows, *(starts[i] for i in world.pressing(staying))})
        change, multipliers = smallest_change(touch.terms.mass, touch.terms.rows[rows], -rates[rows])
        along = np.zeros(len(rates))
        along[rows] = multipliers
        return change, along

    def throws_to_rest(self, t: float, x: Array, mode: SystemMode, i: int) -> bool:
        """Whether more than a held slip direction leaves would bring a closed contact to rest."""
        touch = closed_terms(self._world, t, x, mode.closed)
        found = self._change_to_rest(ContactEvent(t, mode, mode.closed, {i: "stop"}), touch, {*mode.closed}, {i})
        return found is not None and self._throws(touch, found[0])

    def _throws(self, touch: ContactTerms, change: Array) -> bool:
        """Whether a change of velocity is more than what held slip directions leave: of a contact, or by its energy.

        The latter tells how fast the contact that is moved the most easily would be with the energy of that change.
        """
        terms, most = touch.terms, LEAVE * self._world.tolerances.slip_speed
        moved = float(np.abs(terms.rows @ change).max(initial=0.0))
        mobility = float(np.einsum("ij,ji->i", terms.rows, solve_mass(terms.mass, terms.rows.T)).max(initial=0.0))
        return moved > most or float(change @ terms.mass @ change) * mobility > (THROWN * most) ** 2

    def _without_what_turns(
        self, event: ContactEvent, touch: ContactTerms, staying: set[int], at_rest: set[int]
    ) -> tuple[ContactEvent, set[int]]:
        """The event, and what comes to rest in it: without slips that turn where their held direction has them stop.

        What the held direction leaves of a slip is removed with it, where that takes no more than a slip that is held.
        Near a singular configuration friction hardly moves a contact along some direction, and what stops its slip
        along that one would throw the robot. Such a slip goes on, free to turn until it is `STEADIER` times slower.
        """
        stopped = {i for i in at_rest if event.kinds.get(i) == "stop"}
        about_to = at_rest - stopped - event.following.keys()
        for resting in (at_rest, at_rest - about_to) if about_to else (at_rest,):
            found = self._change_to_rest(event, touch, staying, resting)
            if found is None or not self._throws(touch, found[0]):
                return event, resting
        turning = self._moving(touch, stopped)
        return self._turned(event, turning), at_rest - about_to - turning.keys()

    def _moving(self, touch: ContactTerms, contacts: set[int]) -> dict[int, float]:
        """{contact: slip speed [m/s]} of those of the contacts in space that slide fast enough to have a direction."""
        world, rates = self._world, touch.terms.rates
        spatial = [i for i in contacts if world.widths[i] == 2]
        slips = {i: float(np.linalg.norm(rates[world.tangents(i, touch.where[i])])) for i in spatial}
        return {i: slip for i, slip in slips.items() if slip > LEAVE * SLOWEST * world.tolerances.slip_speed}

    def _turned(self, event: ContactEvent, slips: Mapping[int, float]) -> ContactEvent:
        """The event as one at which contacts slide on at some speeds, whose directions are free."""
        usual, states, free = self._world.tolerances.slip_speed, event.mode.contacts, dict[int, ContactState]()
        for i, slip in slips.items():
            free[i] = let_go(states[i], slip, usual)
        kinds = {i: kind for i, kind in event.kinds.items() if i not in slips}
        return event._replace(mode=event.mode.changed(free), kinds=kinds)

    def _stuck_beginnings(
        self, event: ContactEvent, touch: ContactTerms, mode: SystemMode, change: Array
    ) -> dict[int, float]:
        """{contact: slip speed [m/s]} of those that began to slip, and would be thrown where they stick in `mode`."""
        before, after = event.mode.contacts, mode.contacts
        begun = {i for i in event.touching if before[i].phase is Phase.INCIPIENT and after[i].mode is Mode.STICK}
        slips = self._moving(touch, begun)
        return slips if slips and self._throws(touch, change) else {}

    def _slipping(self, event: ContactEvent, touch: ContactTerms) -> set[int]:
        """Contacts that began to slip before the event, and do."""
        world, states = self._world, event.mode.contacts
        begun = [i for i in event.touching if states[i].phase is Phase.INCIPIENT]
        slips = {i: touch.terms.rates[world.tangents(i, touch.where[i])] for i in begun}
        return {i for i, z in slips.items() if np.linalg.norm(z) > world.tolerances.speed}

    def _settle(
        self, x: Array, mode: SystemMode, touch: ContactTerms, slipping: set[int], hops: bool
    ) -> tuple[Array, dict[int, Array], set[int]]:
        """Remove what rounding, a hop or a held slip direction leave of velocities that the new mode says are zero.

        Where hops are stopped, contacts that slip rub meanwhile: in all, as much as by what stops the hops at once.
        What was `slipping` keeps its velocity where it goes on so. Returns the state, {contact: impulse along its rows}
        that this took, and the contacts that are said to slide, but have no slip velocity left since others stick, or
        would slide back when hops are stopped: friction stops them on the way.
        """
        closed = tuple([i for i in mode.closed if i in touch.where])
        if not closed:
            return x, {}, set()
        terms, where = touch.of(closed)
        rates, impulses, along = terms.rates, dict[int, Array](), np.zeros(len(terms.rates))
        for rows in self._to_settle(mode, where, slipping):
            if np.any(rates[rows]):
                forces = with_rubbing(self._world, mode, terms, where, rows) if hops else np.eye(len(rates))[rows]
                pushed = forces @ terms.rows if hops else None
                change, multipliers = smallest_change(terms.mass, terms.rows[rows], -rates[rows], pushed)
                x, rates = self.accelerated(x, change), rates + terms.rows @ change
                along += multipliers @ forces
                impulses = {i: along[where[i]] for i in closed}
        sliding = [i for i in closed if mode.contacts[i].phase in (Phase.DIRECTED, Phase.FREE)]
        slips = {i: (terms.rates[part], rates[part]) for i in sliding for part in [self._world.tangents(i, where[i])]}
        slow = self._world.tolerances.speed
        stopped = {i for i, (was, z) in slips.items() if np.linalg.norm(z) <= slow or (hops and float(was @ z) < 0.0)}
        return x, impulses, stopped

    def _to_settle(self, mode: SystemMode, where: Mapping[int, slice], slipping: set[int]) -> list[list[int]]:
        """Rows whose velocities are removed one set after the other.

        All that the mode says are at rest; and then, where contacts begin to slip, only those that are held from there
        on: near a singular configuration no impulse stops both.
        """
        begin = {i for i in where if mode.contacts[i].phase is Phase.INCIPIENT}
        rows = resting_rows(self._world, mode, where)
        if not begin:
            return [rows]

        def without(contacts: set[int]) -> list[int]:
            tangents = [self._world.tangents(i, where[i]) for i in contacts]
            free = {row for part in tangents for row in range(part.start, part.stop)}
            return [row for row in rows if row not in free]

        return [without(begin & slipping), without(begin)]

    def _stopping(self, event: ContactEvent) -> set[int]:
        """Contacts that come to rest: those that stopped, and with them those in space that are about to.

        The corners of a box that slides and spins stop all at one instant; below the slip speed their held directions
        would bring them to rest one after the other.
        """
        mode, stopped = event.mode, {i for i, kind in event.kinds.items() if kind == "stop"}
        spatial = {i for i in mode.closed if self._world.widths[i] == 2}
        slow = {i for i in spatial if mode.contacts[i].phase is Phase.DIRECTED}
        return stopped | slow if stopped & spatial else stopped

    def _hopping(self, event: ContactEvent, x: Array, mode: SystemMode, leaving: set[int]) -> set[int]:
        """Contacts that leave so slowly that they would be back before their gap is more than rounding: they stay.

        Neighbouring contacts throw each other up by less and less; z_n^2 / (2 |z_n'|) is the height of a hop.
        """
        contacts, slowest = tuple(sorted(leaving)), event.slowest
        _, rates, bend = self.gap_motion(event.t, x, mode, contacts)
        height = max(self._world.tolerances.hop, self._lowest_hop(event.t, x)) if slowest is None else 0.0
        return {
            i
            for i, rate, back in zip(contacts, rates, -bend, strict=True)
            if back > 0.0 and (rate**2 <= 2 * height * back if slowest is None else rate <= slowest)
        }

    def _lowest_hop(self, t: float, x: Array) -> float:
        """Height [m] below which a hop is a matter of rounding."""
        place = float(np.abs(self._world.q(x)).max(initial=1.0))
        return max(SPACING * float(np.spacing(place)), LOWEST * float(np.spacing(abs(t))))

    # --- what bounces ask ---------------------------------------------------------------------------------------

    @property
    def smallest_speed(self) -> float:
        """Relative speed below which contacts are at rest [m/s]."""
        return self._world.tolerances.speed

    def pressing(self, mode: SystemMode) -> tuple[int, ...]:
        """The closed contacts of a mode, without their resistances."""
        return self._world.pressing(mode.closed)

    def gap_motion(self, t: float, x: Array, mode: SystemMode, contacts: tuple[int, ...]) -> tuple[Array, Array, Array]:
        """Acceleration (nv,) in a mode, and with it the first and second rates (k,) of the gaps of `contacts`."""
        acceleration = motion_in(self._world, t, x, mode)[1].acceleration
        terms, where = closed_terms(self._world, t, x, contacts)
        normals = [where[i].start for i in contacts]
        return acceleration, terms.rates[normals], terms.rows[normals] @ acceleration + terms.bias[normals]

    def at_standstill(self, t: float, x: Array, contacts: tuple[int, ...], acceleration: Array) -> Array:
        """The acceleration a' (nv,) with J a' = J a + J' v: at a configuration that stands still, J' v has no part."""
        terms, _ = closed_terms(self._world, t, x, self._world.with_resistances(set(contacts)))
        return acceleration + smallest_change(terms.mass, terms.rows, terms.bias)[0]

    def accelerated(self, x: Array, change: Array) -> Array:
        """The state with a change (nv,) of its velocity."""
        x = x.copy()
        self._world.v(x)[:] += change
        return x

    def velocities(self, t: float, x: Array, contacts: tuple[int, ...]) -> Array:
        """Velocities (m,) of contacts, along all their rows."""
        return self._world.mechanism.rates(t, self._world.q(x), self._world.v(x), contacts)

    def land(
        self, t: float, x: Array, mode: SystemMode, landing: set[int], slowest: float, known: Impact | None = None
    ) -> PostEvent:
        """What the impact of the contacts `landing` leads to; what leaves at up to `slowest` [m/s] stays."""
        touching = self._world.with_resistances({*mode.closed, *landing})
        return self.resolve(x, ContactEvent(t, mode, touching, dict.fromkeys(landing, "gap"), slowest, known=known))
