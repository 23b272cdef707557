"""Runs of many bodies in groups: bodies that do not come near each other for a while run by themselves.

Time is looked at in windows. For each of them it is guessed which bodies may meet in it; each set of those, a group, is
a hybrid system of its own with steps and events of its own, so that an event costs what its group costs, and goes on
from window to window as long as its bodies stay the same. Then the ways of all bodies in the window are looked at:
groups with bodies that may have met, by bounds of their speeds, are put together and run once more from where the
window begins. So no meeting is missed, and what is kept are runs of groups that know of nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..common.arguments import arguments, instance, optional
from ..common.arrays import Array
from ..contact.linear_algebra import solve_mass
from ..contact.modes import ContactState, SystemMode
from ..hybrid.middle import MiddleRun
from ..hybrid.outcomes import Status
from ..hybrid.segments import Segment
from ..hybrid.simulate import OPTIONS, PROGRESS, Accumulation, Progress, checked_span
from ..hybrid.tolerances import Tolerances
from ..hybrid.trajectory import Settings, Trajectory
from .contact_system import ContactSystem
from .crowds import GROUND_PART, Couple, Crowd, Crowds, joined_by
from .joined_runs import JoinedRun, Strand

WINDOWS = 20  # of a run, where bodies are not near each other
LOOKS = 8  # times within the longest window at which is guessed who is near, the ends of shorter ones among them
FINEST = 8  # times the shortest window is the longest
DEARER = 1.5  # times the work of the smallest groups that those of a longer window may cost
HALVED = 6  # times that a window is halved where bodies may have met by bounds of their ways


class Group:
    """Bodies that run together.

    Args:
        crowd: the bodies.
        run: theirs.
        redundant: whether their forces are not unique at first.
    """

    def __init__(self, crowd: Crowd, run: MiddleRun, redundant: bool) -> None:
        self.crowd, self.run, self.redundant = crowd, run, redundant
        self._arc = 0  # number of the arc where the window begins
        # Number of its last arc, the step there that is cut, and what takes its place; None: it has not ended.
        self._landed: tuple[int, Segment, MiddleRun] | None = None

    @property
    def evaluations(self) -> int:
        """Field evaluations so far."""
        return self.run.evaluations + (self._landed[2].evaluations if self._landed else 0)

    def state(self, t: float) -> Array:
        """Its plain state at a time, as its steps interpolate it."""
        return self.run.at(self._arc, t)[2]

    def mode(self, t: float) -> SystemMode:
        """Its mode at a time."""
        mode: SystemMode = self.run.at(self._arc, t)[3]
        return mode

    def land(self, t: float) -> tuple[Array, Any]:
        """Plain state and mode at a time, at which the group ends: the step that leads beyond it is cut there."""
        arc, step, x, mode = self.run.at(self._arc, t)
        if step is None or step.t0 == t:
            return x, mode
        settings = replace(self.run.settings, first_step=t - step.t0)
        last = MiddleRun(self.crowd.system, step.t0, step(step.t0), mode, settings)
        last.advance_to(t)
        self._landed = arc, step, last
        _, _, x, mode = last.at(0, t)
        return x, mode

    def strand(self) -> Strand:
        """What it does from the begin of the window on."""
        pieces = self.run.pieces(self._arc)
        if self._landed is not None:
            arc, cut, last = self._landed
            first, *others = last.pieces(0)
            kept = [step for step in pieces[arc - self._arc][0] if step.t1 <= cut.t0]
            pieces = [*pieces[: arc - self._arc], ([*kept, *first[0]], first[1]), *others]
        return Strand(self.crowd, pieces, self.redundant)

    def passed(self, strand: Strand) -> None:
        """What is known of it until now was taken over."""
        self._arc, self.redundant = self._arc + strand.passed, strand.redundant

    def steps(self, t: float, t1: float) -> list[Segment]:
        """Its steps between two times."""
        return [step for steps, _ in self.run.pieces(self._arc) for step in steps if step.t1 > t and step.t0 < t1]


class GroupRun:
    """A run of many bodies in groups, window by window.

    Args:
        whole: the system of all bodies.
        x: plain state at the start.
        t0, end: first and last time [s].
        options: as of `Simulation`.

    Attributes:
        t: time until which groups have not met each other unseen [s].
    """

    def __init__(self, whole: ContactSystem, x: Array, t0: float, end: float, options: dict[str, Any]) -> None:
        self._crowds, self._world, self._end = Crowds(whole), whole.world, end
        self.t, self._longest = t0, (end - t0) / WINDOWS
        self.notes, self._spent = list[str](), 0
        self.status, self.message = Status.RUNNING, Status.RUNNING.value
        still = np.zeros(self._world.robot.model.njoints)
        crowds, self._groups = self._crowds.split(self._crowds.meetings.near(self._world.q(x), still)), list[Group]()
        mode, x = SystemMode((ContactState(),) * len(self._world.mechanism.dims)), x.copy()
        for crowd in crowds:
            own = crowd.part(x)
            run = MiddleRun.begun(crowd.system, crowd.system.state(own), t0, **options)
            first = next((event for _, event in run.pieces(0) if event is not None), None)
            own_mode, own = (run.at(0, t0)[3], run.at(0, t0)[2]) if first is None else (first.mode_pre, first.x_pre)
            assert isinstance(own_mode, SystemMode)
            crowd.put(x, own)
            redundant = mode.redundant or own_mode.redundant
            mode = mode.changed(crowd.changes(crowd.mode(mode, False), own_mode), redundant=redundant)
            self._groups.append(Group(crowd, run, own_mode.redundant))
        self._settings: Settings = self._groups[0].run.settings
        self._joined = JoinedRun(whole, t0, x, mode)

    def advance(self) -> None:
        """One window."""
        t, (t1, near) = self.t, self._window()
        groups = self._arranged(self._groups, [*near, *self._inseparable()])
        tried = [*self._groups, *groups]
        while True:
            for group in groups:
                group.run.advance_past(t1, self._end)
            last = min([t1, *(group.run.t for group in groups if group.run.stopped)])
            met = self._met(groups, t, last)
            if not met:
                break
            groups = self._arranged(groups, [*met, *_couples(group.crowd for group in groups)])
            tried += groups
        self._take()
        self._spent += sum(group.evaluations for group in dict.fromkeys(tried) if group not in groups)
        self._groups, self.t = groups, last
        self._look_for_an_end()

    def _look_for_an_end(self) -> None:
        stopped = [group.run for group in self._groups if group.run.stopped and group.run.t <= self.t]
        if stopped:
            self.status, self.message = stopped[0].status, stopped[0].message
        elif len(self._joined.events) >= self._settings.max_events:
            self.status, self.message = Status.TOO_MANY_EVENTS, Status.TOO_MANY_EVENTS.value
        elif self.t >= self._end:
            self.status, self.message = Status.FINISHED, Status.FINISHED.value

    def _take(self) -> None:
        """Take what the groups did until now over into the run of the whole."""
        strands = [group.strand() for group in self._groups]
        self._joined.extend(strands, self.t)
        for group, strand in zip(self._groups, strands, strict=True):
            group.passed(strand)
            self.notes += [note for note in group.run.remarks if note not in self.notes]

    def trajectory(self, record_period: float | None) -> Trajectory:
        """The run so far."""
        self._take()
        whole, evaluations = self._crowds.whole, self._spent + sum(group.evaluations for group in self._groups)
        arcs, events, notes = self._joined.arcs, self._joined.events, tuple(self.notes)
        return Trajectory(whole, arcs, events, self.status, self.message, record_period, evaluations, notes)

    # --- groups -----------------------------------------------------------------------------------------------

    def _inseparable(self) -> list[Couple]:
        """Couples of the groups whose forces are not unique: which of their parts have such forces is not asked."""
        return _couples(group.crowd for group in self._groups if group.mode(self.t).redundant)

    def _arranged(self, before: Sequence[Group], couples: Iterable[Couple]) -> list[Group]:
        """The groups that couples make from now on: those of them that are there go on."""
        known = {id(group.crowd): group for group in before}
        crowds, groups = self._crowds.split(couples), list[Group]()
        for crowd in crowds:
            groups.append(known[id(crowd)] if id(crowd) in known else self._begun(crowd))
        return groups

    def _begun(self, crowd: Crowd) -> Group:
        """A new group, made of the bodies of others."""
        names, x = set(crowd.moving), np.zeros_like(self._joined.x)
        mode, steps, redundant = self._joined.mode, list[float](), False
        for group in (group for group in self._groups if not names.isdisjoint(group.crowd.moving)):
            own, own_mode = group.land(self.t)
            group.crowd.put(x, own)
            mode = mode.changed(group.crowd.changes(group.crowd.mode(mode, False), own_mode))
            redundant, step = redundant or own_mode.redundant, group.run.next_step
            steps += [] if step is None else [step]
        settings = replace(self._settings, first_step=min(steps, default=None))
        begun = crowd.mode(mode, redundant)
        return Group(crowd, MiddleRun(crowd.system, self.t, crowd.part(x), begun, settings), redundant)

    # --- who is near ------------------------------------------------------------------------------------------

    def _window(self) -> tuple[float, set[Couple]]:
        """End of the next window [s], and the parts that are near each other until then.

        It is the longest one whose groups cost little more than those of the shortest one.
        """
        length = min(self._longest, self._end - self.t)
        found, ends = set[Couple](), list[tuple[float, set[Couple], int]]()
        for k, near in enumerate(self._foreseen(np.linspace(0.0, length, LOOKS + 1))):
            found = found | near
            if k and LOOKS % k == 0 and LOOKS // k <= FINEST:
                sets = self._crowds.sets([*found, *self._inseparable()])
                ends.append((self.t + k / LOOKS * length, found, sum(len(own) ** 2 for own in sets)))
        t1, found, _ = [end for end in ends if end[2] <= DEARER * ends[0][2]][-1]
        return (self._end if self._end - t1 < 0.5 * self._longest / FINEST else t1), found

    def _foreseen(self, times: Array) -> Iterator[set[Couple]]:
        """Parts that are near each other after some times, if those that touch go on straight, and the others fall."""
        world, x = self._world, np.empty_like(self._joined.x)
        touching, held = set[Couple](), set[str]()
        for group in self._groups:
            group.crowd.put(x, group.state(self.t))
            touching |= group.crowd.touching(group.mode(self.t))
        held.update(name for couple in touching for name in couple)
        touching = {couple for couple in touching if GROUND_PART not in couple}
        q, v, still = world.q(x), world.v(x), np.zeros(world.robot.model.njoints)
        fall = self._fall(q, v, held)
        for time in times.tolist():
            ahead = world.mechanism.space.integrate(q, time * (v + 0.5 * time * fall))
            yield touching | self._crowds.meetings.near(ahead, still)

    def _fall(self, q: Array, v: Array, held: set[str]) -> Array:
        """Accelerations (nv,) of parts that fall, zero of those that touch something."""
        terms = self._world.mechanism.terms(self.t, q, v, ())
        found = np.array(solve_mass(terms.mass, terms.force))
        for part in self._world.robot.parts.values():
            if part.name in held:
                found[part.v] = 0.0
        return found

    def _met(self, groups: Sequence[Group], t: float, t1: float) -> set[Couple]:
        """Parts of different groups that may have met between two times, by bounds of the ways of all bodies."""
        if t1 <= t:
            return set()
        holds = joined_by(group.crowd for group in groups)
        steps = [(group.crowd, group.steps(t, t1)) for group in groups]
        return self._met_within(steps, {c for c in self._crowds.meetings.all() if not holds(c)}, t, t1, HALVED)

    def _met_within(
        self, steps: list[tuple[Crowd, list[Segment]]], asked: set[Couple], t: float, t1: float, halved: int
    ) -> set[Couple]:
        """The same of some couples; where they may have met both halves of the time are looked at."""
        names, middle = {name for couple in asked for name in couple}, 0.5 * (t + t1)
        x, ways = np.zeros_like(self._joined.x), np.zeros((2, self._world.robot.model.njoints))
        chosen = [(crowd, own) for crowd, own in steps if not names.isdisjoint(crowd.moving)]
        for crowd, own in chosen:
            for step in own:
                for half, (begin, end) in enumerate(((t, middle), (middle, t1))):
                    first, last = max(step.t0, begin), min(step.t1, end)
                    if last > first:
                        ways[half, crowd.joints] += crowd.ways(step, first, last, self._crowds.meetings.arms)
                if step.t0 <= middle <= step.t1:
                    crowd.put(x, step(middle))
        q = self._world.q(x)
        found = self._crowds.meetings.near(self._whole(q, names), ways.max(axis=0)) & asked
        if not found or not halved:
            return found
        early = self._met_within(chosen, found, t, middle, halved - 1)
        return early | self._met_within(chosen, found - early, middle, t1, halved - 1)

    def _whole(self, q: Array, names: set[str]) -> Array:
        """A configuration in which those parts are where they are, and others somewhere."""
        for part in self._world.robot.parts.values():
            if part.name not in names:
                q[part.q] = self._world.robot.nominal[part.q]
        return q


def _couples(crowds: Iterable[Crowd]) -> list[Couple]:
    """Couples that hold some crowds together."""
    found: list[Couple] = []
    for crowd in crowds:
        first = crowd.moving[0]
        found += [(first, other) for other in (*crowd.moving[1:], *sorted(crowd.standing))]
    return found


@arguments(
    system=instance(ContactSystem, "a ContactSystem"),
    progress=optional(PROGRESS),
    **OPTIONS,
)
def simulate_groups(
    system: ContactSystem,
    state: Any,
    span: tuple[float, float],
    *,
    integrator: str | None = None,
    tolerances: Tolerances | None = None,
    record_period: float | None = None,
    max_events: int = 100_000,
    accumulation: Accumulation = "pass",
    progress: Progress | None = None,
    engine: str | None = None,
) -> Trajectory:
    """Run many bodies in groups: bodies that are not near each other for a while run by themselves.

    The time of such a run grows with the number of bodies where they lie in groups of a few, while in a run of the
    whole each event restarts the step of all bodies. What comes out is a trajectory of the whole: its arcs, events,
    checks and derivatives are those of any other, the equations of motion being those of the whole. It agrees with
    `simulate` to the tolerances, as the steps are others; variations that would lift a body off what it rests on, or
    press it in, are let go by an event of its group, and not by one of any other body. It cannot be resumed.

    Args:
        system: a world of several bodies (Robot.merge) under a rigid law, without controller, loops and springs.
        state: as of `simulate`.
        span: first and last time [s].
        integrator, tolerances, record_period, max_events, accumulation, engine: as of `simulate`.
        progress: is given the time after each window.

    Returns:
        The trajectory.

    Raises:
        KeyboardInterrupt: as it was pressed; its attribute `trajectory` keeps what was computed.
        InputError: parts of the system know of each other by more than their contacts, or what is given cannot be used.
    """
    t0, t1 = checked_span(span)
    options = {
        "integrator": integrator,
        "tolerances": tolerances,
        "max_events": max_events,
        "accumulation": accumulation,
        "engine": engine,
    }
    whole = system if engine is None else system.on_engine(engine)
    x = system.pack(state)
    system.validate(x)
    run = GroupRun(whole, x, t0, t1, options)
    try:
        while run.status is Status.RUNNING:
            run.advance()
            if progress is not None:
                progress(run.t)
    except KeyboardInterrupt as pressed:
        run.status, run.message = Status.INTERRUPTED, Status.INTERRUPTED.value
        pressed.trajectory = run.trajectory(record_period)  # type: ignore[attr-defined]
        raise
    return run.trajectory(record_period)
