"""Events of a rigid law: which contacts take part in what a guard begins, and the record of what came of it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from math import hypot
from typing import TYPE_CHECKING, Any

import numpy as np

from ..common.arrays import Array
from ..common.lazy import Late, lazy
from ..contact.modes import ContactState, Latched, Mode, Phase, SystemMode, unit
from ..errors import InputError
from ..hybrid.flow import Flow
from ..hybrid.system import LIMIT, LOOP, Transition
from ..hybrid.zero import ONE_INSTANT
from ..multibody.mechanism import GROUND
from .contact_rows import ContactEvent, Happened, Impact, PostEvent, bounces_ended, closed_terms, laid_out, let_go
from .resolver import Resolver
from .rigid_arc import closed_forces, prepare
from .rigid_flow import flow_of
from .rigid_guards import SEAMLESS, SIDE
from .world import World, overlaps
from .zero import ASIDE, LEAVE, PARALLEL, ROUNDED, SAME_RATE

if TYPE_CHECKING:
    from ..contact import linear_algebra
    from ..hybrid.journeys import Departure, Journey
    from .journeys import Passage
    from .latching import LatchEvents
    from .outcome_sensitivity import OutcomeSensitivity
    from .variables import Neighbourhood
else:  # a compiled engine solves for itself
    linear_algebra = Late("contactsim.contact.linear_algebra")

INNER = {"slow", "fast", "turn", "enable"}  # kinds of guards behind which only the engine sees a change


class RigidContacts:
    """The discrete side of a ContactSystem with a rigid law."""

    def __init__(self, world: World) -> None:
        self._world, self._resolver = world, Resolver(world)
        self._latched: dict[int, RigidContacts] = {}
        self._passages: dict[int | None, Passage | None] = {}  # by the rank of the loops

    @lazy
    def neighbourhood(self) -> Neighbourhood:
        """The worlds beside its own by parameters."""
        from .variables import Neighbourhood

        return Neighbourhood(self._world)

    @lazy
    def _sensitivity(self) -> OutcomeSensitivity:
        from .outcome_sensitivity import OutcomeSensitivity

        return OutcomeSensitivity(self._world, self.neighbourhood, self._resolver.derivative)

    @property
    def _passage(self) -> Passage | None:
        """The runs of the world by its engine; None: they are Python's."""
        if self._world.compiled_engine is None:
            return None
        rank = self._resolver.rank
        if rank not in self._passages:
            from .journeys import Passage, passage_of

            known = self._resolver.compiled
            compiled = passage_of(self._world, known)
            found = None if compiled is None or known is None else Passage(self._world, self, known, compiled)
            self._passages[rank] = found
        return self._passages[rank]

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_passages": {}}

    def journey(self, system: Any, departure: Departure) -> Journey | None:
        """The run of a system from a departure on, see `hybrid.abilities.Engines`."""
        return None if self._passage is None else self._passage.journey(system, departure)

    def under(self, latched: Latched) -> RigidContacts:
        """The same while some latches are closed."""
        world = self._world.latched_as(latched)
        if world is self._world:
            return self
        known = self._latched.get(id(world))
        if known is None or known._world is not world:
            known = self._latched[id(world)] = RigidContacts(world)
        return known

    def flow(self, mode: SystemMode) -> Flow:
        """Field and guards of a mode; what is laid out of them is kept with the arcs of the world."""
        return flow_of(prepare(self._world.latched_as(mode.latched), mode))

    def forces(self, t: float, x: Array, mode: SystemMode) -> dict[int, Array]:
        """{contact: force along its rows} of the closed contacts."""
        return closed_forces(self._world.latched_as(mode.latched), t, x, mode)

    # --- start and transition ---------------------------------------------------------------------------------

    def start(self, t: float, x: Array) -> Transition:
        """Initial modes; an approaching contact that touches is an impact at once.

        Raises:
            InputError: a contact that may close lies inside the ground, or bodies that meet are inside each other.
        """
        mechanism = self._world.mechanism
        closed = tuple(k for k, latch in enumerate(self._world.latches) if latch.closed)
        if closed and not self._world.latched:
            from .latching import with_closed

            own = self.under(with_closed(self._world, x, (), closed))
            own._world.mechanism.begin(own._world.q(x), own._world.v(x))  # type: ignore[attr-defined]
            return own.start(t, x)
        inside = [o for o in overlaps(self._world, t, x) if o.depth > self._world.tolerances.start_depth]
        for overlap in inside:
            if overlap.second != GROUND:
                raise InputError(_overlap(f"{overlap.first}+{overlap.second}", overlap.depth))
        gaps = mechanism.gaps(t, self._world.q(x))
        enabled = [self._may_close(i, t, x) and i not in self._world.silenced for i in range(len(gaps))]
        for i, gap in enumerate(gaps):
            if enabled[i] and gap < -self._world.tolerances.start_depth:
                name = mechanism.all_names[i]
                raise InputError(_overlap(name, -gap) if name in mechanism.pair_names else _too_deep(name, -gap))
        for overlap in inside:
            raise InputError(_in_ground(overlap.first, overlap.depth))
        resistances = (ContactState(),) * len(mechanism.hosts)
        states = tuple(ContactState(enabled=on) for on in enabled) + resistances
        waiting: tuple[int, ...] = ()
        if self._world.latches:
            from .latching import waiting_at

            waiting = waiting_at(self._world, t, x)
        before = SystemMode(states, latched=self._world.latched, waiting=waiting)
        touching = tuple(i for i, gap in enumerate(gaps) if enabled[i] and gap <= self._world.tolerances.start_depth)
        event = ContactEvent(t, before, self._world.with_resistances(touching), {})
        transition = self.recorded(x, event, self._resolver.resolve(x, event))
        return transition if transition.impulses else replace(transition, changes={}, impulses={})

    def restart(self, t: float, x: Array, mode: SystemMode | Mapping[str, Mode]) -> Transition:
        """The start in a given mode: as it is, or for modes by name as the law goes on with what touches and moves so.

        Raises:
            InputError: the state is not one of that mode, or an open contact lies inside the ground.
        """
        from .restarts import as_mode, demand_near, projected

        known = as_mode(self._world, t, x, mode)
        demand_near(self._world, t, x, known)
        x = projected(self._world, t, x, known)
        gaps = self._world.mechanism.gaps(t, self._world.q(x))
        for i, state in enumerate(known.contacts[: self._world.count]):
            if not state.closed and state.enabled and gaps[i] < -self._world.tolerances.start_depth:
                raise InputError(_too_deep(self._world.mechanism.all_names[i], -gaps[i]))
        if isinstance(mode, SystemMode):
            return Transition(x, mode)
        return Transition(x, self._resolver.own.going_on(t, x, known))

    def transition(
        self, t: float, x: Array, mode: SystemMode, fired: frozenset[Hashable], alone: bool = False
    ) -> Transition:
        """State and modes after the guards in `fired`, each a pair (kind, contact).

        With `alone`, open contacts that touch the ground but have not fired are left out: they are still to come.
        """
        if mode.latched != self._world.latched:
            return self.under(mode.latched).transition(t, x, mode, fired, alone)
        # In the order of their names: of a contact whose cone and force vanish together, the force counts.
        kinds = {i: kind for kind, i in sorted(name for name in fired if isinstance(name, tuple))}
        if self._world.latches and kinds:
            from .latching import KINDS, events_of

            latching = events_of(self._world, t, x, mode, kinds)
            kinds = {i: kind for i, kind in kinds.items() if kind not in KINDS}
            mode = replace(mode, waiting=latching.waiting)
            if latching:
                return self._latch(t, x, mode, kinds, latching, alone)
            if not kinds:
                identity = partial(np.eye, self._world.tangent_size)
                return Transition(x, mode, derivative=identity, still=True, unmoved=True)
        if "enable" in kinds.values():
            mode = self._enable(t, x, mode, kinds)
        if mode.limits:
            mode, ended = bounces_ended(t, mode)
            if ended and not kinds:
                return self._come_to_rest(x, mode, ended)
        if kinds and set(kinds.values()) <= INNER:
            return self._turn_phase(t, x, mode, kinds)
        beyond, following = set[int](), dict[int, int]()
        if any(kind.startswith(SIDE) for kind in kinds.values()):
            mode, beyond = self._change_regions(mode, kinds)
            following = self._taking_over(x, mode, beyond)
            beyond |= self._ending_with(x, mode, following)
        touching = {*mode.closed, *(i for i, kind in kinds.items() if kind == "gap"), *following}
        if not alone:
            touching |= self._near(t, x, mode)
        event = ContactEvent(t, mode, self._world.with_resistances(touching - beyond), kinds, following=following)
        return self.recorded(x, event, self._resolver.resolve(x, event))

    def _latch(
        self, t: float, x: Array, mode: SystemMode, kinds: Mapping[int, str], latching: LatchEvents, alone: bool
    ) -> Transition:
        """State and modes behind an instant at which latches close, then contacts land, and then latches open."""
        from .latching import changes, held, held_derivative, impulses, with_closed, without
        from .variables import Time

        closed = with_closed(self._world, x, mode.latched, latching.closing)
        first = self.under(closed)
        struck = held(first._world, t, x) if latching.closing else x
        touching = {*mode.closed, *(i for i, kind in kinds.items() if kind == "gap")}
        if not alone:
            touching |= self._near(t, x, mode)
        quiet = first._world.silenced
        touching -= quiet
        now = replace(_with_enabled(mode, dict.fromkeys(quiet, False)), latched=closed)
        event = ContactEvent(t, now, self._world.with_resistances(touching), kinds, struck=bool(latching.closing))
        then = first._resolver.resolve(struck, event)
        last, after = first.under(without(closed, latching.opening)), then
        if latching.opening:
            heard = {i: self._may_close(i, t, then.x) for i in quiet - last._world.silenced}
            freed = replace(_with_enabled(then.mode, heard), latched=last._world.latched)
            gaps = last._world.mechanism.gaps(t, last._world.q(then.x))
            again = {i for i, on in heard.items() if on and gaps[i] <= self._world.tolerances.start_depth}
            resting = self._world.with_resistances({*freed.closed, *again})
            after = last._resolver.resolve(then.x, ContactEvent(t, freed, resting, {}))
        told = first.recorded(struck, event, then)

        def by_state_and_time() -> Array:
            times = [(Time(contacts._world, t),) for contacts in (first, last)]
            happened = Happened(t, struck, then.impact, then.x, now, then.mode, then.left)
            jacobian = first._sensitivity.derivative(*happened, times[0])
            if latching.closing:
                jacobian[:, :-1] = jacobian[:, :-1] @ held_derivative(self._world, first._world, t, x)
            if latching.opening:
                happened = Happened(t, then.x, after.impact, after.x, then.mode, after.mode, after.left)
                behind = last._sensitivity.derivative(*happened, times[1])
                jacobian = behind[:, :-1] @ jacobian
                jacobian[:, -1] += behind[:, -1]
            return jacobian

        borne = {name.removeprefix(LOOP): value for name, value in told.impulses.items()}
        own = impulses(self._world, first._world, x, struck) if latching.closing else {}
        own = {name: value + borne.get(name, 0.0) for name, value in own.items()}
        shown = {f"{LOOP}{name}" for name in own}
        return replace(
            told,
            x=after.x,
            mode=after.mode,
            changes=self._changes(mode, after.mode, kinds, told.impulses) | changes(self._world, latching),
            impulses={**{name: value for name, value in told.impulses.items() if name not in shown}, **own},
            residuals={**told.residuals, **after.residuals},
            notes=told.notes + tuple(note for note in after.notes if note not in told.notes),
            derivative=lambda: by_state_and_time()[:, :-1],
            by_time=lambda: by_state_and_time()[:, -1],
            by_parameters=None,
            unmoved=False,
        )

    def _come_to_rest(self, x: Array, mode: SystemMode, ended: tuple[int, ...]) -> Transition:
        """The last of infinitely many bounces: the contacts move on as they did in the mean."""
        names = tuple(self._world.mechanism.all_names[i] for i in ended)
        changes = {name: (Mode.OPEN, mode.contacts[i].mode) for name, i in zip(names, ended, strict=True)}
        identity = partial(np.eye, self._world.tangent_size)
        return Transition(x, mode, changes, derivative=identity, still=True, unmoved=True, accumulated=names)

    def _near(self, t: float, x: Array, mode: SystemMode) -> set[int]:
        """Open contacts that reach the ground at this instant, whether they fired or not.

        By time, not by distance: at the end of a rattle feet come down at 1e-5 m/s, 1e-11 m in a long microsecond.
        A contact at rest has no such time: it touches where its gap is within `Tolerances.gap`, as closed ones drift.
        One that touches where a closed one does takes over where that ends, not before.
        """
        world, rounding = self._world, self._world.place_rounding(x)
        window = ONE_INSTANT * world.tolerances.event_time
        low = self._low(t, x, mode, max(world.tolerances.gap, rounding))
        near = {
            i for i, gap, rate in low if gap <= rounding + window * abs(rate) or abs(rate) <= world.tolerances.speed
        }
        return near - {j for _, j in self._one_with(x, mode, mode.closed)} if near else near

    def _low(self, t: float, x: Array, mode: SystemMode, lowest: float) -> list[tuple[int, float, float]]:
        """Open contacts whose gaps are at most `lowest` [m], with gap and rate."""
        world, mechanism, states = self._world, self._world.mechanism, mode.contacts
        known = self._resolver.compiled
        if known is not None and (told := known.low(t, x, lowest)) is not None:
            return [one for one in told if states[one[0]].enabled and states[one[0]].mode is Mode.OPEN]
        q = world.q(x)
        asked = mechanism.near(t, q, max(lowest, mechanism.vicinity))
        gaps = dict(zip(asked.tolist(), mechanism.gaps_of(t, q, asked).tolist(), strict=True))
        low = tuple(i for i, gap in gaps.items() if gap <= lowest and states[i].enabled and states[i].mode is Mode.OPEN)
        if not low:
            return []
        rates = mechanism.rates(t, q, world.v(x), low)
        starts = laid_out([(i, mechanism.dims[i]) for i in low])
        return [(i, gaps[i], float(rates[starts[i].start])) for i in low]

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
        stops = frozenset(name for name in pairs if name[0] == "stop" and self._world.widths[name[1]] == 2)
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
        held = terms.rows[[where[i].start for i in self._world.pressing(mode.closed)]]
        groups: list[tuple[Array, set[Hashable]]] = []
        for name in names:
            n = where[name[1]].start
            row = terms.rows[n]
            free = row - linear_algebra.pseudo_inverse(held) @ (held @ row) if len(held) else row
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
        states, ended = dict[int, ContactState](), set()
        for i, kind in kinds.items():
            if kind.startswith(SIDE):
                side, state = int(kind.removeprefix(SIDE)), mode.contacts[i]
                behind = self._world.mechanism.region_beyond(i, state.region, side)
                if behind is None:
                    ended.add(i)
                else:
                    states[i] = replace(state, region=behind)
        return mode.changed(states), ended

    def _one_with(self, x: Array, mode: SystemMode, closed: Iterable[int]) -> list[tuple[int, int]]:
        """Closed contacts, each with another one that touches where it does, and takes over where it ends."""
        mechanism, q = self._world.mechanism, self._world.q(x)
        return [(i, j) for i in closed for j in mechanism.taking_over(q, i, mode.contacts[i].region)]

    def _taking_over(self, x: Array, mode: SystemMode, ended: set[int]) -> dict[int, int]:
        """{contact: the one that ends} of open contacts that go on where others end."""
        found, states = {j: i for i, j in self._one_with(x, mode, sorted(ended))}, mode.contacts
        return {j: i for j, i in found.items() if states[j].enabled and not states[j].closed}

    def _ending_with(self, x: Array, mode: SystemMode, following: Mapping[int, int]) -> set[int]:
        """Closed contacts that touch where one does that takes over: those behind them are one with it, too."""
        return {i for i, j in self._one_with(x, mode, mode.closed) if j in following} if following else set()

    def _may_close(self, i: int, t: float, x: Array) -> bool:
        margin = self._world.mechanism.enabled[i]
        return margin is None or float(margin(t, self._world.q(x), self._world.v(x))) > 0.0

    def _enable(self, t: float, x: Array, mode: SystemMode, kinds: Mapping[int, str]) -> SystemMode:
        states = dict[int, ContactState]()
        for i in (i for i, kind in kinds.items() if kind == "enable"):
            states[i] = replace(mode.contacts[i], enabled=not mode.contacts[i].enabled)
            if states[i].enabled and (gap := float(self._world.mechanism.gaps(t, self._world.q(x))[i])) < 0.0:
                name = self._world.mechanism.all_names[i]
                raise InputError(
                    f"contact '{name}' is enabled at t = {t:.6g} s while it is {-gap:.3g} m inside the ground; let its"
                    " 'enabled' margin rise only above ground"
                )
        return mode.changed(states)

    def _turn_phase(self, t: float, x: Array, mode: SystemMode, kinds: Mapping[int, str]) -> Transition:
        """Changes that only the engine sees: how a slip direction is found, and which contacts may close."""
        identity = partial(np.eye, self._world.tangent_size)
        turning = {i: kind for i, kind in kinds.items() if kind != "enable"}
        if not turning:
            return Transition(x, mode, derivative=identity, still=True, unmoved=True, seamless=True)
        arc = prepare(self._world, mode)
        rates = arc.velocities(t, x)
        states = dict[int, ContactState]()
        for i, kind in turning.items():
            z = rates[arc.tangent[i]].tolist()
            leaves = LEAVE * mode.contacts[i].slow(self._world.tolerances.slip_speed)
            slow = kind == "turn" or (kind == "slow" and hypot(*z) < leaves)
            phase = Phase.DIRECTED if slow else Phase.FREE
            state = mode.contacts[i]
            states[i] = replace(state, phase=phase, direction=unit(z) if slow else ())
            aside = state.phase is Phase.DIRECTED and np.dot(z, state.direction) < ASIDE * hypot(*z)
            if kind == "fast" and aside and self._resolver.own.throws_to_rest(t, x, mode, i):
                states[i] = let_go(state, hypot(*z), self._world.tolerances.slip_speed)
        seamless = SEAMLESS.issuperset(kinds.values())
        return Transition(x, mode.changed(states), derivative=identity, still=True, unmoved=True, seamless=seamless)

    # --- the record of an event ---------------------------------------------------------------------------------

    def recorded(self, x: Array, event: ContactEvent, then: PostEvent) -> Transition:
        """The event, as trajectories and derivatives have it."""
        t, impact = event.t, then.impact
        impulses = {} if impact is None else self._impulses(t, then.x, impact, then.left)
        mode = event.mode if then.mode == event.mode else then.mode  # one object, which is equal to itself at once
        changes = self._changes(event.mode, mode, event.kinds, impulses)
        happened = Happened(t, x, impact, then.x, event.mode, then.mode, then.left)
        return Transition(
            then.x,
            mode,
            changes,
            impulses,
            then.residuals,
            then.notes,
            partial(self._by_state, happened),
            partial(self._by_time, happened),
            None if then.jammed else partial(self._by_parameters, happened),
            still=self._world.mechanism.autonomous,
            unmoved=impact is None,
            jammed=tuple(self._world.mechanism.all_names[i] for i in then.jammed),
        )

    def _by_state(self, happened: Happened) -> Array:
        return self._sensitivity.by_state(happened)

    def _by_time(self, happened: Happened) -> Array:
        return self._sensitivity.by_time(happened)

    def _by_parameters(self, happened: Happened, names: tuple[str, ...]) -> dict[str, Array]:
        return self._sensitivity.by_parameters(happened, names)

    def _impulses(self, t: float, x: Array, impact: Impact, left: Mapping[int, Array]) -> dict[str, Array]:
        """{name: impulse} of an impact with those `left` when it settles, and those of closed loops under both."""
        mechanism, q, names = self._world.mechanism, self._world.q(x), self._world.mechanism.all_names
        total = {}
        for i, part in impact.where.items():
            if impact.along[part].any():
                total[names[i]] = mechanism.world_force(t, q, i, impact.along[part])
        if not total:
            return {}
        least = ROUNDED * float(np.abs(impact.along).max())
        for i, impulse in left.items():
            if names[i] in total or np.abs(impulse).max(initial=0.0) > least:
                settling = mechanism.world_force(t, q, i, impulse)
                total[names[i]] = total.get(names[i], 0.0) + settling
        return total if self._world.closed_loops is None else total | self._loop_impulses(t, x, impact, left)

    def _loop_impulses(self, t: float, x: Array, impact: Impact, left: Mapping[int, Array]) -> dict[str, Array]:
        """Impulses of closed loops under those of an impact, and under those `left` when it settles."""
        mechanism = self._world.closed_loops
        assert mechanism is not None
        contacts = tuple(sorted({*impact.contacts, *left}))
        where = laid_out([(i, mechanism.dims[i]) for i in contacts])
        along = np.zeros(max(part.stop for part in where.values()))
        for i, part in impact.where.items():
            along[where[i]] = impact.along[part]
        for i, impulse in left.items():
            along[where[i]] += impulse
        return mechanism.loop_impulses(t, self._world.q(x), contacts, along)

    def _changes(
        self, before: SystemMode, after: SystemMode, kinds: Mapping[int, str], impulses: Mapping[str, Any]
    ) -> dict[str, tuple[Mode, Mode]]:
        if before is after and not impulses and "gap" not in kinds.values():
            return {}
        numbers, found = self._numbers, {}
        hit = {numbers[name] for name in impulses if name in numbers} | {
            i for i, kind in kinds.items() if kind == "gap"
        }
        for i in sorted({*before.closed, *after.closed, *hit}):
            old, new = before.contacts[i].shown, after.contacts[i].shown
            if old is not new or i in hit:
                found[self._world.mechanism.all_names[i]] = old, new
        return found

    @lazy
    def _numbers(self) -> dict[str, int]:
        """{name: number} of all contacts."""
        return {name: i for i, name in enumerate(self._world.mechanism.all_names)}


def _with_enabled(mode: SystemMode, enabled: Mapping[int, bool]) -> SystemMode:
    """The mode with some contacts open, and enabled or not."""
    return mode.changed({i: ContactState(enabled=on) for i, on in enabled.items()}) if enabled else mode


def _parallel(way: Array, other: Array) -> bool:
    """Whether two gaps close alike: unit normals, followed by the rates along them."""
    alike = way[:-1] @ other[:-1] > 1.0 - PARALLEL
    return bool(alike and abs(way[-1] - other[-1]) <= SAME_RATE * max(abs(way[-1]), abs(other[-1])))


def _overlap(name: str, depth: float) -> str:
    first, _, second = name.partition("+")
    return f"'{first}' starts {depth:.3g} m inside '{second}'; move one of the bodies away by as much"


def _in_ground(name: str, depth: float) -> str:
    return f"'{name}' starts {depth:.3g} m inside the ground by its shape; raise it by as much"


def _too_deep(name: str, depth: float) -> str:
    if name.startswith(LIMIT):
        joint, _, side = name.removeprefix(LIMIT).rpartition("/")
        return f"joint '{joint}' starts {depth:.3g} beyond its {side} limit; move it inside, or set joint_limits=False"
    return f"contact '{name}' starts {depth:.3g} m inside the ground; raise the robot by as much"
