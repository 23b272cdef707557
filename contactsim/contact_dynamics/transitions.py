"""Events of a rigid law: impacts, and the choice of modes of all touching contacts together."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..common.arrays import Array
from ..common.user_calls import UserCall
from ..contact.impact import ImpactSolution
from ..contact.laws import RigidLaw
from ..contact.linear_algebra import pseudo_inverse, smallest_change, solve_mass
from ..contact.modes import ContactState, Mode, Phase, SystemMode, unit
from ..contact.painleve import Jammed, jammed
from ..contact.problem import ContactProblem
from ..errors import InputError, NoAdmissibleModeError
from ..hybrid.flow import Flow
from ..hybrid.system import LIMIT, Transition
from ..hybrid.zero import ONE_INSTANT
from ..multibody.kinematics.closed_loops import ClosedMechanism
from .contact_rows import (
    ContactEvent,
    ContactTerms,
    Impact,
    closed_forces,
    closed_terms,
    laid_out,
    motion_in,
    resting_rows,
)
from .mode_choice import Choice, ModeChoice
from .outcome_sensitivity import OutcomeSensitivity
from .rigid_arc import contact_problem, prepare, problem_of
from .rigid_flow import SIDE, RigidFlow
from .world import World
from .zeno import time_to_rest
from .zero import GAIN, LEAVE, LOWEST, MORE_FRICTION, OF_HOPS, PARALLEL, SAME_RATE, SPACING

NO_MODE = "no mode is admissible for what slides (Painleve): the run goes on by an impact without collision of {}"
JAMS = (
    "friction makes the forces of what slides grow beyond bounds (dynamic jam, Painleve): the run goes on by an impact"
    " without collision of {}"
)
JAMS_AT_MOST = 8  # impacts without collision one after the other, each of which takes energy
INNER = {"slow", "fast", "turn", "enable"}  # kinds of guards behind which only the engine sees a change


class PostEvent(NamedTuple):
    """What an event leads to.

    Attributes:
        x, mode: state and mode in which it ends.
        impact: the impact in it; None: there is none.
        left: {contact: impulse along its rows} that brings to rest what the mode says is at rest.
        residuals: {law: largest violation}.
        notes: sentences worth telling.
        jammed: contacts that take part in an impact without collision.
    """

    x: Array
    mode: SystemMode
    impact: Impact | None
    left: Mapping[int, Array]
    residuals: Mapping[str, float]
    notes: tuple[str, ...]
    jammed: tuple[int, ...] = ()


class RigidContacts:
    """The discrete side of a ContactSystem with a rigid law."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._law: RigidLaw = world.law  # type: ignore[assignment]
        self._choice, self._sensitivity = ModeChoice(world, self._law), OutcomeSensitivity(world)

    def flow(self, mode: SystemMode) -> Flow:
        """Field and guards of a mode."""
        return RigidFlow(prepare(self._world, mode))

    def forces(self, t: float, x: Array, mode: SystemMode) -> dict[int, Array]:
        """{contact: force along its rows} of the closed contacts."""
        return closed_forces(self._world, t, x, mode)

    # --- start and transition ---------------------------------------------------------------------------------

    def start(self, t: float, x: Array) -> Transition:
        """Initial modes; an approaching contact that touches is an impact at once.

        Raises:
            InputError: a contact that may close lies inside the ground.
        """
        mechanism = self._world.mechanism
        gaps = mechanism.gaps(t, self._world.q(x))
        enabled = [self._may_close(i, t, x) for i in range(len(gaps))]
        for i, gap in enumerate(gaps):
            if enabled[i] and gap < -self._world.tolerances.start_depth:
                name = mechanism.all_names[i]
                raise InputError(_overlap(name, -gap) if name in mechanism.pair_names else _too_deep(name, -gap))
        before = SystemMode(tuple(ContactState(enabled=on) for on in enabled))
        touching = tuple(i for i, gap in enumerate(gaps) if enabled[i] and gap <= self._world.tolerances.start_depth)
        event = ContactEvent(t, before, touching, {})
        transition = self._record(x, event, self._resolve(x, event))
        return transition if transition.impulses else replace(transition, changes={}, impulses={})

    def transition(
        self, t: float, x: Array, mode: SystemMode, fired: frozenset[Hashable], alone: bool = False
    ) -> Transition:
        """State and modes after the guards in `fired`, each a pair (kind, contact).

        With `alone`, open contacts that touch the ground but have not fired are left out: they are still to come.
        """
        # In the order of their names: of a contact whose cone and force vanish together, the force counts.
        kinds = {i: kind for kind, i in sorted(name for name in fired if isinstance(name, tuple))}
        if "enable" in kinds.values():
            mode = self._enable(t, x, mode, kinds)
        if mode.limits:
            mode, ended = self._end_bounces(t, mode)
            if ended and not kinds:
                return self._come_to_rest(x, mode, ended)
        if kinds and set(kinds.values()) <= INNER:
            return self._turn_phase(t, x, mode, kinds)
        beyond = set[int]()
        if any(kind.startswith(SIDE) for kind in kinds.values()):
            mode, beyond = self._change_regions(mode, kinds)
        touching = {*mode.closed, *(i for i, kind in kinds.items() if kind == "gap")}
        if not alone:
            touching |= self._near(t, x, mode)
        event = ContactEvent(t, mode, tuple(sorted(touching - beyond)), kinds)
        return self._record(x, event, self._resolve(x, event))

    def _end_bounces(self, t: float, mode: SystemMode) -> tuple[SystemMode, tuple[int, ...]]:
        """The mode without the bounces that have come to their end, and the contacts which did."""
        ended = tuple(i for i, state in enumerate(mode.contacts) if state.until is not None and state.until <= t)
        if not ended:
            return mode, ()
        states = (replace(state, until=None) if i in ended else state for i, state in enumerate(mode.contacts))
        return replace(mode, contacts=tuple(states)), ended

    def _come_to_rest(self, x: Array, mode: SystemMode, ended: tuple[int, ...]) -> Transition:
        """The last of infinitely many bounces: the contacts move on as they did in the mean."""
        names = tuple(self._world.mechanism.all_names[i] for i in ended)
        changes = {name: (Mode.OPEN, mode.contacts[i].mode) for name, i in zip(names, ended, strict=True)}
        identity = partial(np.eye, self._world.tangent_size)
        return Transition(x, mode, changes, derivative=identity, still=True, unmoved=True, accumulated=names)

    def _near(self, t: float, x: Array, mode: SystemMode) -> set[int]:
        """Open contacts that reach the ground at this instant, whether they fired or not.

        By time, not by distance: at the end of a rattle feet come down at 1e-5 m/s, 1e-11 m in a long microsecond.
        """
        world, mechanism = self._world, self._world.mechanism
        q, v, window = world.q(x), world.v(x), ONE_INSTANT * world.tolerances.event_time
        gaps, rounding = mechanism.gaps(t, q), world.place_rounding(x)
        close = [i for i, s in enumerate(mode.contacts) if s.enabled and not s.closed]
        close = [i for i in close if gaps[i] <= max(world.tolerances.gap, rounding)]
        rates = mechanism.rates(t, q, v, tuple(close))
        starts = laid_out([(i, mechanism.dims[i]) for i in close])
        return {i for i in close if gaps[i] <= rounding + window * abs(float(rates[starts[i].start]))}

    def crossing(self, t: float, x: Array, mode: SystemMode, fired: frozenset[Hashable]) -> Transition:
        """State and modes after the guards in `fired`, while other open contacts that touch are still to come."""
        return self.transition(t, x, mode, fired, alone=True)

    def separable(
        self, t: float, x: Array, mode: SystemMode, names: frozenset[Hashable]
    ) -> tuple[frozenset[Hashable], ...]:
        """Guards one by one, but for those that every neighbouring run meets together.

        These are contacts in space that come to rest at one instant, and contacts that land at one instant because the
        closed contacts leave them no other way, like the two corners of an edge that is parallel to the ground.
        """
        pairs = {name for name in names if isinstance(name, tuple)}
        stops = frozenset(name for name in pairs if name[0] == "stop" and self._world.mechanism.dims[name[1]] == 3)
        landing = sorted((name for name in pairs if name[0] == "gap"), key=str)
        groups = self._landing_together(t, x, mode, landing) if len(landing) > 1 else [frozenset({n}) for n in landing]
        stops |= {name for name in pairs if name[0] in ("slow", "fast", "turn")}  # these alone change no force
        groups += [frozenset({name}) for name in sorted(names - stops - set(landing), key=str)]
        return (*((stops,) if stops else ()), *groups)

    def _landing_together(self, t: float, x: Array, mode: SystemMode, names: list) -> list[frozenset[Hashable]]:
        """Contacts whose gaps close in proportion in every motion that the closed contacts allow.

        Their normals agree up to what is held, and so do their rates, which differ where grounds move apart.
        """
        terms, where = closed_terms(self._world, t, x, tuple(sorted({*mode.closed, *(i for _, i in names)})))
        held = terms.rows[[where[i].start for i in mode.closed]]
        groups: list[tuple[Array, set[Hashable]]] = []
        for name in names:
            n = where[name[1]].start
            row = terms.rows[n]
            free = row - pseudo_inverse(held) @ (held @ row) if len(held) else row
            size = float(np.linalg.norm(free))
            if size <= PARALLEL * float(np.linalg.norm(row)):  # closed contacts hold it already
                groups.append((np.zeros(len(row) + 1), {name}))
                continue
            way = np.append(free, 0.0) / size
            way[-1] = terms.rates[n] / size
            home = next((members for other, members in groups if _parallel(way, other)), None)
            if home is None:
                groups.append((way, {name}))
            else:
                home.add(name)
        return [frozenset(members) for _, members in groups]

    def _change_regions(self, mode: SystemMode, kinds: Mapping[int, str]) -> tuple[SystemMode, set[int]]:
        """The mode with the regions behind the sides that were passed, and the contacts that end there."""
        states, ended = list(mode.contacts), set()
        for i, kind in kinds.items():
            if kind.startswith(SIDE):
                side = int(kind.removeprefix(SIDE))
                behind = self._world.mechanism.region_beyond(i, states[i].region, side)
                if behind is None:
                    ended.add(i)
                else:
                    states[i] = replace(states[i], region=behind)
        return replace(mode, contacts=tuple(states)), ended

    def _may_close(self, i: int, t: float, x: Array) -> bool:
        margin = self._world.mechanism.enabled[i]
        return margin is None or float(margin(t, self._world.q(x), self._world.v(x))) > 0.0

    def _enable(self, t: float, x: Array, mode: SystemMode, kinds: Mapping[int, str]) -> SystemMode:
        states = list(mode.contacts)
        for i in (i for i, kind in kinds.items() if kind == "enable"):
            states[i] = replace(states[i], enabled=not states[i].enabled)
            gap = float(self._world.mechanism.gaps(t, self._world.q(x))[i])
            if states[i].enabled and gap < 0.0:
                name = self._world.mechanism.all_names[i]
                raise InputError(
                    f"contact '{name}' is enabled at t = {t:.6g} s while it is {-gap:.3g} m inside the ground; let its"
                    " 'enabled' margin rise only above ground"
                )
        return replace(mode, contacts=tuple(states))

    def _turn_phase(self, t: float, x: Array, mode: SystemMode, kinds: Mapping[int, str]) -> Transition:
        """Changes that only the engine sees: how a slip direction is found, and which contacts may close."""
        terms, where = closed_terms(self._world, t, x, mode.closed)
        states = list(mode.contacts)
        for i, kind in kinds.items():
            if kind == "enable":
                continue
            z = terms.rates[where[i]][1:]
            slow = kind == "turn" or (kind == "slow" and np.linalg.norm(z) < LEAVE * self._world.tolerances.slip_speed)
            phase = Phase.DIRECTED if slow else Phase.FREE
            states[i] = replace(states[i], phase=phase, direction=unit(z) if slow else ())
        identity = partial(np.eye, self._world.tangent_size)
        return Transition(x, replace(mode, contacts=tuple(states)), derivative=identity, still=True, unmoved=True)

    # --- impact, then selection -------------------------------------------------------------------------------

    def _resolve(self, x: Array, event: ContactEvent) -> PostEvent:
        """Impact where a touching contact approaches, then modes for the contacts that stay in touch.

        Where no mode is admissible, a law that jams goes on with an impact without collision.
        """
        if "jam" in event.kinds.values():
            try:
                return self._unjammed(x, event, JAMS)
            except NoAdmissibleModeError:  # forces that stay bounded lead through
                return self._outcome(x, event)
        try:
            return self._outcome(x, event)
        except NoAdmissibleModeError:
            if not self._law.jams or event.slowest is not None:
                raise
        return self._unjammed(x, event, NO_MODE)

    def _outcome(self, x: Array, event: ContactEvent) -> PostEvent:
        """State and modes after an event."""
        then, touch, at_rest = self._struck(x, event)
        return self._settled(then, event, touch, self._staying(event, touch), at_rest)

    def _struck(self, x: Array, event: ContactEvent) -> tuple[PostEvent, ContactTerms, set[int]]:
        """State behind the impact, if a contact approaches; the equations there, and the contacts at rest."""
        t, touching, slow = event.t, event.touching, self._world.tolerances.speed
        touch = closed_terms(self._world, t, x, touching)
        normals = [touch.where[i].start for i in touching]
        at_rest = self._stopping(event) if "stop" in event.kinds.values() else set[int]()
        if not any(rate < -slow for rate in touch.terms.rates[normals].tolist()):
            return PostEvent(x, event.mode, None, {}, {}, ()), touch, at_rest
        impact, change = self._impact(event, touch)
        notes = self._gain(touch.terms.mass, self._world.v(x), impact.solution)
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
        """The touching contacts that do not leave."""
        rates = touch.terms.rates
        return {i for i in event.touching if float(rates[touch.where[i].start]) <= self._world.tolerances.speed}

    # --- impacts without collision ----------------------------------------------------------------------------

    def _unjammed(self, x: Array, event: ContactEvent, why: str) -> PostEvent:
        """State and modes after an event at which contacts jam: the impact, if there is one, then those without.

        Args:
            x: state before it.
            event: what happens.
            why: the sentence that tells of it, with a place for the names of the contacts.
        """
        then, touch, at_rest = self._struck(x, event)
        for _ in range(JAMS_AT_MOST):
            then, touch, at_rest = self._after_jam(then, event, touch, at_rest, why)
            try:
                return self._settled(then, event, touch, self._staying(event, touch), at_rest)
            except NoAdmissibleModeError as error:
                last = error
        raise last

    def _after_jam(
        self, before: PostEvent, event: ContactEvent, touch: ContactTerms, at_rest: set[int], why: str
    ) -> tuple[PostEvent, ContactTerms, set[int]]:
        """State behind one more impact without collision, the equations there, and the contacts at rest."""
        found, problem = self._jammed(before.x, event, touch, at_rest)
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

    def _jammed(
        self, x: Array, event: ContactEvent, touch: ContactTerms, at_rest: set[int]
    ) -> tuple[Jammed, ContactProblem]:
        """The impact without collision of the touching contacts, and its problem.

        At the guard of a jam the matrix of the sliding contacts is just about to lose its regularity; with a little
        more friction it has lost it.
        """
        world, terms, touching, tolerances = self._world, touch.terms, event.touching, self._world.tolerances
        applied = world.applied_at(event.t, x)
        force = terms.force if applied is None else terms.force + applied
        problem = contact_problem(world, terms, force, touching, (None,) * len(touching))
        rates = terms.rates[world.kept_rows(touching)]
        moving = replace(problem, free=rates, static_friction=problem.friction)
        stiffness = self._stiffness(problem)
        for more in (0.0, *MORE_FRICTION) if "jam" in event.kinds.values() else (0.0,):
            mu = (1.0 + more) * problem.friction
            asked = replace(moving, friction=mu, static_friction=mu)
            found = jammed(asked, problem.free, stiffness, tolerances.speed)
            if found is not None:
                return found, problem
        raise NoAdmissibleModeError(
            f"no mode of {', '.join(problem.names)} is admissible at t = {event.t:.12g} s, and no compression of"
            " them grows steadily to an impact without collision; lower the friction or give the contact compliance",
            contact_problem=problem,
        )

    def _stiffness(self, problem: ContactProblem) -> Array:
        """Relative stiffness (n,) of touching contacts: the same for all; that of a joint's limit swings as fast."""
        mobility = np.diag(problem.delassus)[list(problem.starts)]
        limits = np.array([name.startswith(LIMIT) for name in problem.names], dtype=bool)
        usual = float(np.mean(mobility[~limits])) if not limits.all() else 1.0
        return np.where(limits, usual / mobility, 1.0)

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
        residuals, leaving = dict(given.residuals), {*event.touching} - staying
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
            settled, left, stopped = self._settle(still, choice.mode, terms)
            left |= {i: left[i] + impulse if i in left else impulse for i, impulse in first.items()}
            stopped -= at_rest
            hopping = self._hopping(event, settled, choice.mode, leaving) if leaving else set()
            if not stopped and not hopping:
                break
            if hopping and not bouncing and event.slowest is None:
                rest = time_to_rest(self, t, settled, choice.mode, hopping)
            if hopping and not stopped and flown is None:
                flown = choice, settled, left
                fastest = max(float(touch.terms.rates[touch.where[i].start]) for i in hopping)
            at_rest, staying, bouncing = at_rest | stopped, staying | hopping, bouncing | hopping
            leaving = leaving - hopping
        after = choice.mode if rest is None else _bouncing_until(float(t + rest), choice.mode, bouncing)
        return given._replace(x=settled, mode=after, left=left, residuals=residuals, notes=given.notes + choice.notes)

    def _no_faster(self, touch: ContactTerms, contacts: set[int], speed: float) -> set[int]:
        """Those of the contacts that slide no faster than low hops begin: what stops the ones stops the others."""
        rates = touch.terms.rates
        size = {i: float(np.linalg.norm(rates[touch.where[i]][1:])) for i in contacts}
        return {i for i in contacts if self._world.tangent_rows[i] and size[i] <= OF_HOPS * speed}

    def _stops_within(self, rest: float | None, t: float, x: Array, mode: SystemMode) -> set[int]:
        """Contacts that slide in a mode and come to rest in it before its hops do: with them, at their end."""
        sliding = [i for i in mode.closed if mode.contacts[i].phase in (Phase.DIRECTED, Phase.FREE)]
        if rest is None or not sliding:
            return set()
        terms, where = closed_terms(self._world, t, x, tuple(sliding), mode)
        bend = terms.rows @ motion_in(self._world, t, x, mode)[1].acceleration + terms.bias
        slips = {i: slice(where[i].start + 1, where[i].stop) for i in sliding}
        speeds = {i: float(np.linalg.norm(terms.rates[part])) for i, part in slips.items()}
        return {i for i, part in slips.items() if speeds[i] ** 2 <= -rest * float(terms.rates[part] @ bend[part])}

    def _brought_to_rest(
        self, event: ContactEvent, x: Array, touch: ContactTerms, staying: set[int], at_rest: set[int]
    ) -> tuple[Array, ContactTerms, dict[int, Array]]:
        """The state in which what comes to rest is so, its equations of motion, and {contact: impulse} that this took.

        Held slip directions leave up to the slip speed. Where contacts stick redundantly, their accelerations agree
        with each other at rest only: |x_1 - x_2| of two points of a body has no rate, but its second one is theirs.
        """
        world, rests = self._world, sorted(staying & at_rest)
        starts = {i: touch.where[i].start for i in staying}
        rows = [starts[i] + k for i in rests for k in range(1 + world.tangent_rows[i])]
        if not rows or np.abs(touch.terms.rates[rows]).max() <= world.tolerances.speed:
            return x, touch, {}
        rows = sorted({*rows, *starts.values()})
        change, multipliers = smallest_change(touch.terms.mass, touch.terms.rows[rows], -touch.terms.rates[rows])
        along = np.zeros(len(touch.terms.rates))
        along[rows] = multipliers
        still = self.accelerated(x, change)
        impulses = {i: along[touch.where[i]] for i in staying}
        return still, closed_terms(world, event.t, still, event.touching), impulses

    def _record(self, x: Array, event: ContactEvent, then: PostEvent) -> Transition:
        """The event, as trajectories and derivatives have it."""
        t, impact = event.t, then.impact
        impulses = {} if impact is None else self._impulses(t, then.x, impact, then.left)
        changes = self._changes(event.mode, then.mode, event.kinds, impulses)
        derivative = partial(self._sensitivity.by_state, t, x, impact, then.x, event.mode, then.mode)
        time_invariant = self._world.mechanism.autonomous
        return Transition(
            then.x,
            then.mode,
            changes,
            impulses,
            then.residuals,
            then.notes,
            derivative,
            time_invariant,
            unmoved=impact is None,
            jammed=tuple(self._world.mechanism.all_names[i] for i in then.jammed),
        )

    def _impulses(self, t: float, x: Array, impact: Impact, left: Mapping[int, Array]) -> dict[str, Array]:
        """{name: impulse} of an impact with those `left` when it settles, and those of closed loops under both."""
        mechanism, q, names = self._world.mechanism, self._world.q(x), self._world.mechanism.all_names
        total = {}
        for i, part in impact.where.items():
            if impact.along[part].any():
                total[names[i]] = mechanism.world_force(t, q, i, impact.along[part])
        if not total:
            return {}
        for i, impulse in left.items():
            settling = mechanism.world_force(t, q, i, impulse)
            total[names[i]] = total.get(names[i], 0.0) + settling
        return total | self._loop_impulses(t, x, impact, left) if isinstance(mechanism, ClosedMechanism) else total

    def _loop_impulses(self, t: float, x: Array, impact: Impact, left: Mapping[int, Array]) -> dict[str, Array]:
        """Impulses of closed loops under those of an impact, and under those `left` when it settles."""
        mechanism = self._world.mechanism
        assert isinstance(mechanism, ClosedMechanism)
        contacts = tuple(sorted({*impact.contacts, *left}))
        where = laid_out([(i, mechanism.dims[i]) for i in contacts])
        along = np.zeros(max(part.stop for part in where.values()))
        for i, part in impact.where.items():
            along[where[i]] = impact.along[part]
        for i, impulse in left.items():
            along[where[i]] += impulse
        return mechanism.loop_impulses(t, self._world.q(x), contacts, along)

    def _gain(self, mass: Array, v_pre: Array, solution: ImpactSolution) -> tuple[str, ...]:
        """What is to be told of an impact: that it gains energy, or that its impulses are not unique.

        Work is counted relative to the ground, which may move.
        """
        notes: tuple[str, ...] = ()
        work = solution.work
        if work > GAIN * 0.5 * float(v_pre @ mass @ v_pre) and work > GAIN * solution.turnover:
            law = type(self._law).__name__
            notes += (
                f"the impact gains {work:.3g} J of energy under the law {law}, which does not exclude that;"
                " lower the restitution or the friction, or take law='energetic'",
            )
        if not all(stage.solution.unique for stage in solution.stages):
            notes += (
                "the impulses of the impact are not unique; the smallest ones, or those with the largest margin, act",
            )
        return notes

    def _stopping(self, event: ContactEvent) -> set[int]:
        """Contacts that come to rest: those that stopped, and with them those in space that are about to.

        The corners of a box that slides and spins stop all at one instant; below the slip speed their held directions
        would bring them to rest one after the other.
        """
        mode, stopped = event.mode, {i for i, kind in event.kinds.items() if kind == "stop"}
        spatial = {i for i in mode.closed if self._world.mechanism.dims[i] == 3}
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

    @property
    def smallest_speed(self) -> float:
        """Relative speed below which contacts are at rest [m/s]."""
        return self._world.tolerances.speed

    def gap_motion(self, t: float, x: Array, mode: SystemMode, contacts: tuple[int, ...]) -> tuple[Array, Array, Array]:
        """Acceleration (nv,) in a mode, and with it the first and second rates (k,) of the gaps of `contacts`."""
        acceleration = motion_in(self._world, t, x, mode)[1].acceleration
        terms, where = closed_terms(self._world, t, x, contacts)
        normals = [where[i].start for i in contacts]
        return acceleration, terms.rates[normals], terms.rows[normals] @ acceleration + terms.bias[normals]

    def accelerated(self, x: Array, change: Array) -> Array:
        """The state with a change (nv,) of its velocity."""
        x = x.copy()
        self._world.v(x)[:] += change
        return x

    def land(self, t: float, x: Array, mode: SystemMode, landing: set[int], slowest: float) -> tuple[Array, SystemMode]:
        """State and mode behind the impact of the contacts `landing`; what leaves at up to `slowest` [m/s] stays."""
        touching = tuple(sorted({*mode.closed, *landing}))
        then = self._resolve(x, ContactEvent(t, mode, touching, dict.fromkeys(landing, "gap"), slowest))
        return then.x, then.mode

    def _impact(self, event: ContactEvent, touch: ContactTerms) -> tuple[Impact, Array]:
        """The impact of all touching contacts, and the change of the velocities by it: M (v+ - v-) = J^T Lam."""
        world, terms, touching = self._world, touch.terms, event.touching
        kept = world.kept_rows(touching)
        rows = terms.rows[kept]
        solved = solve_mass(terms.mass, rows.T)
        problem = problem_of(world, touching, rows @ solved, terms.rates[kept], (None,) * len(touching))
        problem = replace(problem, static_friction=problem.friction)
        with UserCall("the contact law", type(self._law).__name__, event.t):
            solution = self._law.impact(problem, world.restitution[list(touching)])
        return self._impact_of(touching, solution, touch), solved @ solution.impulses

    def _impact_of(self, touching: tuple[int, ...], solution: ImpactSolution, touch: ContactTerms) -> Impact:
        """An impact with its impulses along all rows."""
        along = np.zeros(len(touch.terms.rates))
        along[self._world.kept_rows(touching)] = solution.impulses
        return Impact(touching, solution, touch.where, along)

    def _settle(self, x: Array, mode: SystemMode, touch: ContactTerms) -> tuple[Array, dict[int, Array], set[int]]:
        """Remove what rounding, a hop or a held slip direction leave of velocities that the new mode says are zero.

        Returns the state, {contact: impulse along its rows} that this took, and the contacts that are said to slide,
        but have no slip velocity left since others stick.
        """
        if not mode.closed:
            return x, {}, set()
        terms, where = touch.of(mode.closed)
        rows, rates, impulses = resting_rows(self._world, mode, where), terms.rates, dict[int, Array]()
        if np.any(rates[rows]):
            change, multipliers = smallest_change(terms.mass, terms.rows[rows], -rates[rows])
            x, rates = self.accelerated(x, change), rates + terms.rows @ change
            along = np.zeros(len(rates))
            along[rows] = multipliers
            impulses = {i: along[where[i]] for i in mode.closed}
        sliding = [i for i in mode.closed if mode.contacts[i].phase in (Phase.DIRECTED, Phase.FREE)]
        speed = self._world.tolerances.speed
        return x, impulses, {i for i in sliding if np.linalg.norm(rates[where[i]][1:]) <= speed}

    def _changes(
        self, before: SystemMode, after: SystemMode, kinds: Mapping[int, str], impulses: Mapping[str, Any]
    ) -> dict[str, tuple[Mode, Mode]]:
        names = self._world.mechanism.all_names
        return {
            names[i]: (old.shown, new.shown)
            for i, (old, new) in enumerate(zip(before.contacts, after.contacts, strict=True))
            if old.shown is not new.shown or kinds.get(i) == "gap" or names[i] in impulses
        }


def _bouncing_until(t: float, mode: SystemMode, contacts: set[int]) -> SystemMode:
    """The mode with the bounces of those `contacts` that are closed in it to end at `t`."""
    states = (
        replace(state, until=t) if i in contacts and state.closed else state for i, state in enumerate(mode.contacts)
    )
    return replace(mode, contacts=tuple(states))


def _parallel(way: Array, other: Array) -> bool:
    """Whether two gaps close alike: unit normals, followed by the rates along them."""
    alike = way[:-1] @ other[:-1] > 1.0 - PARALLEL
    return bool(alike and abs(way[-1] - other[-1]) <= SAME_RATE * max(abs(way[-1]), abs(other[-1])))


def _overlap(name: str, depth: float) -> str:
    first, _, second = name.partition("+")
    return f"'{first}' starts {depth:.3g} m inside '{second}'; move one of the bodies away by as much"


def _too_deep(name: str, depth: float) -> str:
    if name.startswith(LIMIT):
        joint, _, side = name.removeprefix(LIMIT).rpartition("/")
        return f"joint '{joint}' starts {depth:.3g} beyond its {side} limit; move it inside, or set joint_limits=False"
    return f"contact '{name}' starts {depth:.3g} m inside the ground; raise the robot by as much"
