"""Where a guard falls through zero: watched between the ends of a step, located, and gathered with its companions."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import replace

import numpy as np

from ..common.arrays import Array
from ..common.lazy import NamedTuple, dataclass
from ..errors import OutsideError, StepSizeError
from .course import Course, Landing
from .flow import Flow, GuardBounds, Look, Looks
from .guard_minima import MANY, Bottom, Bounds, Fall, ManyBounds, clear_together, first_fall
from .guard_samples import (
    NODES,
    PARABOLA,
    Samples,
    bent,
    dip_between,
    dipping,
    falling,
    is_hidden,
    quiet,
    straight,
    unresolved,
)
from .segments import Segment, path
from .stepper import EXACT, Stepper
from .tolerances import Tolerances
from .zero import AT_ONCE, GUESS, LANDED, ONE_INSTANT, ROOT, SHALLOW, UNITS_A_SECOND

# Step of the differences that give the slope of a guard, relative to the step of the integrator, but no less than so
# many tolerances of an event's time: over less of a short step, gaps of low hops change by less than their rounding.
SLOPE, SHORTEST_SLOPE = 1e-4, 1e3
SOON = 4.0  # times its mean speed that a guard may have at the end of a step
FAR = 1e-3  # share of a step by which it may miss an event for a straight line to tell where that was
CORRECTIONS = 8  # of an event's time on true steps; two are the rule


class LandingError(Exception):
    """A step does not show its guards, or the corrections of an event's time do not converge.

    Args:
        segment: the step; a shorter one may.
    """

    def __init__(self, segment: Segment) -> None:
        super().__init__()
        self.segment = segment


@dataclass(frozen=True)
class Crossing:
    """A guard that fires within a step: its index, the bracket of its zero, and the level it falls to."""

    guard: int
    before: float
    after: float
    level: float


def _retry_within(stepper: Stepper, segment: Segment, error: OutsideError) -> None:
    """Try a shorter step than one that led out of where the system is defined; the error where there is none."""
    try:
        stepper.retry(segment)
    except StepSizeError:
        raise error from None


def _bow(segment: Segment, t: float) -> float:
    """Share of its error by which an interpolant may be off: at both ends it has the values and rates of its step."""
    share = (t - segment.t0) / (segment.t1 - segment.t0)
    return (4.0 * share * (1.0 - share)) ** 2


class Known(NamedTuple):
    """Guards at one state, and how well they are known there.

    Attributes:
        names: of the guards.
        values, rounding, band: of each (ng,).
    """

    names: tuple[Hashable, ...]
    values: Array
    rounding: Array
    band: Array

    @classmethod
    def of(cls, flow: Flow, t: float, values: Array, rounding: Array, bands: Array | float) -> Known:
        """Those of a flow at a time: none is known better than that is, and a band holds what is rounding."""
        paces = UNITS_A_SECOND if flow.guard_paces is None else flow.guard_paces
        rounding = np.maximum(rounding, paces * np.spacing(abs(t)))
        return cls(flow.guard_names, values, rounding, np.maximum(bands, rounding))

    def below(self) -> frozenset[Hashable]:
        """Guards below their band."""
        below = self.values < -self.band
        return frozenset([self.names[k] for k in np.flatnonzero(below).tolist()]) if below.any() else frozenset()


class Watch:
    """The guards of one flow: which are armed, and which fire first.

    A guard is armed once it has been above its rounding since the flow began. An armed guard fires where it falls
    through zero. One not armed started at zero, or below it by less than its band: it fires where it falls back to
    where it started, or below that by its rounding if it never rose.

    Attributes:
        values: the guards where the next step starts.
        known: the guards where the flow began.
        at_once: whether the guard that fired last had not risen since the flow began: an event that follows at once.
        from_zero: whether it was zero where the flow began: the event leads back over the surface of the one before.
    """

    def __init__(self, flow: Flow, t: float, x: Array, tolerances: Tolerances) -> None:
        self._flow, self._tolerances, self._window = flow, tolerances, tolerances.event_time
        self._way = 0.0
        self._begin(t, x)
        self.at_once = self.from_zero = bool((self.values < -self.band).any())

    def _begin(self, t: float, x: Array) -> None:
        """Watch the guards from (t, x) on."""
        flow, tolerances = self._flow, self._tolerances
        self.values = np.array(flow.guards(t, x.copy()), dtype=float)
        if flow.begun is not None:
            self.values = flow.begun(t, x, self.values)
        given = flow.guard_rounding
        rounding = np.full(len(self.values), tolerances.rearm) if given is None else given
        bands = tolerances.jump if flow.guard_bands is None else flow.guard_bands
        self.known = Known.of(flow, t, self.values, rounding, bands)
        self.rounding, self.band = self.known.rounding, self.known.band
        self._floor = np.minimum(self.values, 0.0)
        self._highest = self.values.copy()
        smooth = flow.guard_smooth
        self._smooth = np.ones(len(self.values), dtype=bool) if smooth is None else smooth
        self._singular = np.zeros(len(self.values), dtype=bool)
        self._singular[flow.guards_singular] = True
        self._moved = np.ones(len(self.values), dtype=bool)  # by the motion alone
        self._moved[flow.guards_given] = False
        self._all_risen = False
        self._samples: Samples | None = None
        self._first_values = self.values.copy()

    def fired_at_start(self) -> frozenset[Hashable]:
        """Guards that lie below zero where the flow starts: they jumped there, without a crossing."""
        return Known(self._flow.guard_names, self.values, self.rounding, self.band).below()

    def look_through(self, segment: Segment, until: float) -> tuple[list[Crossing], float | None]:
        """Guards that fire within a step from the present state, each with the bracket of its first zero.

        Also a time before all of these, if there is one, that a true step has to lead to, since the interpolant does
        not show there whether a guard is below zero.

        Args:
            segment: the step.
            until: the time up to which it is looked at [s].
        """
        if not len(self.values):
            return [], None
        seen = self._sample(segment)
        suspects = self._reached(seen)
        if not seen.certain.all():
            shown = seen.values[1:].min(axis=0) <= 0.0
            if seen.full:
                with np.errstate(invalid="ignore"):  # a guard that is infinite does not fire
                    too_long = segment.t1 - segment.t0 > LANDED * self._window
                    if too_long and np.any(self._smooth & ~seen.certain & unresolved(seen.values)):
                        raise LandingError(segment)
                    shown |= dipping(seen.values).any(axis=0)
            suspects = np.union1d(suspects, np.flatnonzero(shown & ~seen.certain))
        suspects = suspects[~self._clear(segment, seen, suspects, until)]
        hits = [hit for guard in suspects if (hit := self._first(segment, seen, int(guard), until)) is not None]
        falls = [hit for hit in hits if isinstance(hit, Crossing)]
        bottom = min((hit.t for hit in hits if isinstance(hit, Bottom)), default=None)
        if bottom is not None and any(fall.before < bottom for fall in falls):
            bottom = None
        return falls, bottom

    def accept(self, segment: Segment) -> None:
        """Go on from the end of a step in which nothing fired."""
        if len(self.values):
            samples = self._sample(segment).values
            self._highest = np.maximum(self._highest, samples.max(axis=0))
            self.values = samples[-1]

    def embark(self, course: Course) -> None:
        """Tell a compiled engine where the guards are."""
        course.values, course.highest = np.array(self.values), np.array(self._highest)
        course.floor, course.rounding, course.band = self._floor, self.rounding, self.band
        course.clearance, course.way = self._flow.clearance, self._way

    def disembark(self, course: Course) -> None:
        """Go on from where it left them: at the end of its last step in which nothing fired."""
        self.values, self._highest, self._way = course.values, course.highest, course.way

    def landed(self, landing: Landing) -> frozenset[Hashable]:
        """The guards that fire where a compiled engine ended its last step, for one of them or at a bound."""
        if landing.leader >= 0:
            self.at_once = landing.at_once
            self.from_zero = bool(self._first_values[landing.leader] <= self.band[landing.leader])
        return self._names(np.array(landing.fired, dtype=int))

    def _sample(self, segment: Segment) -> Samples:
        """What is seen of the guards in a step; that of the last step is kept."""
        if self._samples is None or self._samples.segment is not segment:
            if len(follow := self._flow.guards_follow):
                self.values = self.values.copy()
                start = segment(segment.t0) if segment.start is None else segment.start
                self.values[follow] = self._flow.some_guards(segment.t0, start, follow)
            bounds = self._flow.guard_bounds(path(segment, self._tolerances)) if self._flow.bounded_guards else None
            certain = self._searched(bounds)
            self._samples = Samples(segment, *self._looks(segment, certain), certain, bounds)
        return self._samples

    def _searched(self, bounds: GuardBounds | None) -> Array:
        """Guards (ng,) with bounds; those that have hardly risen since the flow began are sampled all the same.

        Whether such a guard fires hangs on how high it rises. Which guards have bounds may change from step to step.
        """
        certain = np.zeros(len(self.values), dtype=bool)
        if bounds is None:
            return certain
        if not self._all_risen:
            risen = self._highest - self._floor > AT_ONCE * self.rounding
            self._all_risen = bool(risen.all())
            certain[bounds.guards] = risen[bounds.guards]
        else:
            certain[bounds.guards] = True
        return certain

    def _looks(self, segment: Segment, certain: Array) -> tuple[Array, Array]:
        """Times of a step, and the guards there (times, ng): only at its ends where all of them are certain.

        So it is where the step is short for the motion and the others stay far above zero. Where others are sampled
        closer, those that both ends and the middle show well enough are on a parabola.
        """
        last = self._at(segment, segment.t1) if segment.guards is None else segment.guards
        ends = np.array([self.values, last])
        if certain.all():
            return np.array([segment.t0, segment.t1]), ends
        known = self._flow.bounded_steps and not self._is_forced(segment)
        if known and segment.miss <= EXACT and (certain | (quiet(ends) & self._moved)).all():
            return np.array([segment.t0, segment.t1]), ends
        middle = 0.5 * (segment.t0 + segment.t1)
        early = np.array([self.values, self._at(segment, middle), last])
        hidden = np.ones(len(last), dtype=bool)
        if known:
            hidden = ~(certain | self._shown(segment, early))
            if not hidden.any():
                return np.array([segment.t0, middle, segment.t1]), early
            hidden |= ~((early > 0.0) & (early < np.inf)).all(axis=0)
        times = segment.t0 + (segment.t1 - segment.t0) * NODES
        times[-1] = segment.t1
        values, asked = np.empty((len(times), len(last))), np.flatnonzero(hidden)
        values[:, ~hidden] = PARABOLA @ early[:, ~hidden]
        values[0], values[-1] = early[0], early[2]
        for k in range(1, len(times) - 1):
            t = float(times[k])
            values[k, asked] = self._flow.some_guards(t, segment(t), asked)
        return times, values

    def _is_forced(self, segment: Segment) -> bool:
        """Whether what acts by the time bends in a step, at the state where it begins."""
        if (forcing := self._flow.forcing) is None:
            return False
        start = segment(segment.t0) if segment.start is None else segment.start
        times = (segment.t0 + (segment.t1 - segment.t0) * NODES).tolist()
        return bent(np.array([forcing(t, start) for t in times]))

    def _shown(self, segment: Segment, early: Array) -> Array:
        """Which guards samples (3, ng) at both ends of a step and in its middle show well enough.

        A step that is short for the motion changes them straight. None passes a singular place, not even to and fro,
        and keeps its tolerance: what falls towards one is seen to stay above it by less. Three samples show too little
        of a user's function, which time may swing.
        """
        shown = quiet(early) | (self._singular & falling(early))
        return self._moved & (shown | (self._smooth & straight(early)) if segment.miss <= EXACT else shown)

    def _at(self, segment: Segment, t: float) -> Array:
        return np.array(self._flow.guards(t, segment(t).copy()), dtype=float)

    def _one(self, segment: Segment, t: float, guard: int) -> float:
        return float(self._flow.some_guards(t, segment(t), np.array([guard]))[0])

    def _reached(self, seen: Samples) -> Array:
        """Guards with bounds that could have been at zero between the ends of a step."""
        if seen.bounds is None:
            return np.empty(0, dtype=int)
        guards, speed, at_least, _ = seen.bounds
        first, last = seen.values[0, guards], seen.values[-1, guards]
        if at_least is not None:
            first, last = at_least(first), at_least(last)
        return guards[first + last <= speed * (seen.segment.t1 - seen.segment.t0)]

    def _first(self, segment: Segment, seen: Samples, guard: int, until: float) -> Crossing | Bottom | None:
        """Where a guard fires in a step, by its samples until it is armed, and for certain after that."""
        times, values = seen.times, seen.values[:, guard]
        bounded = seen.bounds is not None and guard in seen.bounds.guards
        highest = float(self._highest[guard])
        for k in range(1, len(times)):
            armed, before = highest > self.rounding[guard], float(times[k - 1])
            if armed and bounded:
                return self._search(segment, seen, guard, before, until)
            level = self._level(guard, highest)
            if values[k] <= level:
                return Crossing(guard, before, float(times[k]), level)
            if armed and seen.full:
                dip = dip_between(lambda t: self._one(segment, t, guard), segment, values, k)
                if dip is not None:
                    return Crossing(guard, float(times[np.searchsorted(times, dip) - 1]), dip, level)
            highest = max(highest, float(values[k]))
        return None

    def _level(self, guard: int, highest: float) -> float:
        """Value at which a guard fires that has risen to `highest` since the flow began."""
        floor, rounding = float(self._floor[guard]), float(self.rounding[guard])
        if highest > rounding:
            return 0.0
        return floor if highest > floor + rounding else floor - rounding

    def _clear(self, segment: Segment, seen: Samples, suspects: Array, until: float) -> Array:
        """Mask (k,) of suspects that do not fall in a step before `until`, where many are looked at together."""
        found, end = np.zeros(len(suspects), dtype=bool), min(until, segment.t1)
        if seen.bounds is None or len(suspects) < MANY or segment.t0 >= end:
            return found
        armed = self._highest[suspects] > self.rounding[suspects]
        own = np.flatnonzero(armed & np.isin(suspects, seen.bounds.guards))
        if len(own) < MANY:
            return found
        guards = suspects[own]
        numbers = np.searchsorted(seen.bounds.guards, guards)
        bend, error = seen.bounds.closer(numbers)
        least = np.maximum(SHALLOW * self._tolerances.gap, self.rounding[guards])
        bounds = ManyBounds(seen.bounds.speed[numbers], bend, error, lambda t: _bow(segment, t), least)

        def look(t: float, places: Array) -> Looks:
            return self._flow.guard_motions(t, segment(t), guards[places])

        found[own] = clear_together(look, segment.t0, end, bounds)
        return found

    def _search(
        self, segment: Segment, seen: Samples, guard: int, start: float, until: float
    ) -> Crossing | Bottom | None:
        """Where a guard with known bounds falls below zero in a step after `start`, if it does."""
        end = min(until, segment.t1)
        if seen.bounds is None or start >= end:
            return None
        k = int(np.searchsorted(seen.bounds.guards, guard))
        bend, error = (float(part[0]) for part in seen.bounds.closer(np.array([k])))

        def missed(t: float) -> float:
            return error * _bow(segment, t)

        def look(t: float) -> Look:
            return self._flow.guard_motions(t, segment(t), np.array([guard])).one(0)

        least = max(SHALLOW * self._tolerances.gap, float(self.rounding[guard]))
        bounds = Bounds(float(seen.bounds.speed[k]), bend, missed, least)
        found = first_fall(look, (start, look(start)), (end, look(end)), bounds)
        return Crossing(guard, found.before, found.after, 0.0) if isinstance(found, Fall) else found

    def pass_step(self, stepper: Stepper, segment: Segment, bound: float) -> tuple[Segment | None, frozenset[Hashable]]:
        """The step, ended early by the first guard that fires in it, and the guards that fire there.

        None where the step ran too far past a singular stop, or out of where the system is defined, or is too long to
        show a guard, or what acts by the time: a shorter one is to be tried, from where it began. What fires within
        `Tolerances.event_time` of `bound` [s], at which the run stops or something else happens, fires at that instant.
        """
        self._flow = stepper.flow  # its references may have been renewed
        if self._flow.forcing is not None and is_hidden(self._flow.forcing, segment):
            stepper.retry(segment)
            return None, frozenset()
        try:
            segment = self._with_room(stepper, segment)
            passed, fired = self._locate(stepper, segment)
            if fired and 0.0 < bound - passed.t1 <= self._window:
                passed = stepper.land(passed, bound)
        except LandingError as error:
            stepper.retry(error.segment)
            return None, frozenset()
        except StepSizeError:
            stepper.retry(segment)
            return None, frozenset()
        except OutsideError as error:
            _retry_within(stepper, segment, error)
            return None, frozenset()
        if not fired and passed.t1 >= bound:
            fired = self._imminent(passed)
        if not fired:
            self.accept(passed)
        return passed, fired

    def _with_room(self, stepper: Stepper, segment: Segment) -> Segment:
        """The step, where no guard that is left out can have fallen in it; others join the watch at its start."""
        flow = self._flow
        if flow.widened is None or flow.clearance == math.inf:
            return segment
        along = path(segment, self._tolerances)
        stepper.flow, self._way = flow.widened(along, self._way)
        if stepper.flow is flow:
            return segment
        self._flow = stepper.flow
        self._join(flow.guard_names, along.t, along.start)
        return replace(segment, guards=None)

    def _join(self, before: Sequence[Hashable], t: float, x: Array) -> None:
        """Watch further guards from (t, x) on; `before` are those that were watched until there."""
        old, number = self.__dict__.copy(), {name: k for k, name in enumerate(self._flow.guard_names)}
        places = np.array([number[name] for name in before], dtype=int)
        self._begin(t, x)
        for name in ("values", "rounding", "band", "_floor", "_highest", "_first_values"):
            getattr(self, name)[places] = old[name]

    def _imminent(self, segment: Segment) -> frozenset[Hashable]:
        """Guards that are at zero within the accuracy of an event's time, or but for their rounding."""
        if not len(self.values):
            return frozenset()
        seen = self._sample(segment)
        rounding = np.where(seen.certain, self.rounding, 0.0)
        if not self._soon(seen, seen.values[-1], rounding).any():
            return frozenset()
        with np.errstate(invalid="ignore"):
            slopes = self._slopes(segment, segment.t1)
            highest = np.maximum(self._highest, seen.values[:-1].max(axis=0))
            there = seen.values[-1] <= np.maximum(-slopes * self._window, rounding)
            return self._names(np.flatnonzero((highest > self.rounding) & (slopes < 0.0) & there))

    def ahead(self, segment: Segment) -> frozenset[Hashable]:
        """Guards that fall to zero within what counts as one instant behind a step, as they fell in it.

        They are asked for where no further step can be made: friction that jams as a slip comes to rest leaves forces
        of which hardly a digit is known.
        """
        if not len(self.values):
            return frozenset()
        first, last = self._sample(segment).values[[0, -1]]
        fall = (first - last) * ONE_INSTANT * self._window / (segment.t1 - segment.t0)
        return self._names(np.flatnonzero((self._highest > self.rounding) & (fall > 0.0) & (last <= fall)))

    def _locate(self, stepper: Stepper, segment: Segment) -> tuple[Segment, frozenset[Hashable]]:
        """Step exactly to the first guard that fires; the others that fire there come with it.

        The zero of the interpolant is a first guess only: the time is then corrected on true steps (secant). A step
        that ran on past the event may have hidden an earlier one: what was landed on is looked at in the same way, but
        where it is a part of that step. So is a step to where a guard is close to zero.
        """
        fired: frozenset[Hashable] = frozenset()
        until = segment.t1
        while True:
            found, bottom = self.look_through(segment, until)
            if bottom is not None:
                segment, fired = stepper.land(segment, bottom), frozenset()
                until = segment.t1
                continue
            if fired:
                found = self._fallen(segment, found, until)
            if not found:
                return segment, fired
            step = segment
            leader, time = self._earliest(step, found)
            segment, fired = self._land(stepper, step, leader, time)
            if segment.t1 >= step.t1 or (segment.chart is step.chart and not self._passed(segment, leader.guard)):
                return segment, fired
            until = segment.t1 - self._window

    def _passed(self, segment: Segment, leader: int) -> bool:
        """Whether another guard than that landed on is far below zero: it fell before, unseen."""
        values = self._at(segment, segment.t1) if segment.guards is None else segment.guards
        fell = (self._highest > self.rounding) & (values < -self.band)
        fell[leader] = False
        return bool(fell.any())

    def _earliest(self, segment: Segment, found: list[Crossing]) -> tuple[Crossing, float]:
        """The crossing that comes first, and its time: where several guards fall, time is halved for all together."""
        early, late = segment.t0, segment.t1
        while len(found) > 1 and late - early > self._window:
            middle = 0.5 * (early + late)
            fallen = self._fallen(segment, found, middle)
            found, early, late = (fallen, early, middle) if fallen else (found, middle, late)
        hit = found[0]
        hit = replace(hit, before=max(hit.before, early), after=min(hit.after, late))
        return self._risen(segment, hit, self._zero(segment, hit))

    def _risen(self, segment: Segment, hit: Crossing, time: float) -> tuple[Crossing, float]:
        """The crossing with its `time`, at the level to which a guard returns that rose between two samples."""
        if hit.level == 0.0:
            return hit, time
        middle = 0.5 * (hit.before + time)
        top = max(self._one(segment, middle, hit.guard), float(self._highest[hit.guard]))
        level = self._level(hit.guard, top)
        if level <= hit.level:
            return hit, time
        hit = Crossing(hit.guard, middle, time, level)
        return hit, self._zero(segment, hit)

    def _fallen(self, segment: Segment, found: list[Crossing], time: float) -> list[Crossing]:
        """Those of the crossings whose guards have fallen by `time`."""
        found = [hit for hit in found if hit.before < time]
        if not found:
            return []
        return [hit for hit in found if hit.after <= time or self._one(segment, time, hit.guard) <= hit.level]

    def _land(
        self, stepper: Stepper, segment: Segment, leader: Crossing, time: float
    ) -> tuple[Segment, frozenset[Hashable]]:
        time = max(time, float(np.nextafter(segment.t0, np.inf)))
        early, late = self._beside(segment, time)
        slope = (self._one(segment, late, leader.guard) - self._one(segment, early, leader.guard)) / (late - early)
        landed, values = self._correct(stepper, segment, leader, time, slope)
        shown = landed.chart is segment.chart and time > 0.5 * (segment.t0 + segment.t1)  # by samples before the event
        seen = self._sample(segment if shown else landed)
        highest = np.maximum(self._highest, seen.values[seen.times < time].max(axis=0))
        self.at_once = bool((highest - self._floor <= AT_ONCE * self.rounding)[leader.guard])
        self.from_zero = bool(self._first_values[leader.guard] <= self.band[leader.guard])
        together = self._soon(seen, values, self.rounding) & (highest > self.rounding)
        together[leader.guard] = False
        if together.any():
            slopes = self._slopes(segment, time)
            together &= (slopes < 0.0) & (values <= np.maximum(-slopes * self._window, self.rounding))
        together[leader.guard] = True
        return landed, self._names(np.flatnonzero(together))

    def _soon(self, seen: Samples, values: Array, rounding: Array) -> Array:
        """Mask (ng,) of guards that may fall to zero within the accuracy of an event's time, as fast as in a step."""
        with np.errstate(invalid="ignore", divide="ignore"):  # of samples at one time: as fast as can be
            speed = (np.abs(np.diff(seen.values, axis=0)) / np.diff(seen.times)[:, None]).max(axis=0)
            if seen.bounds is not None:
                speed[seen.bounds.guards] = np.maximum(speed[seen.bounds.guards], seen.bounds.speed)
            return np.asarray(values <= SOON * speed * self._window + rounding)

    def _correct(
        self, stepper: Stepper, segment: Segment, leader: Crossing, time: float, slope: float
    ) -> tuple[Segment, Array]:
        """A step that ends where the leading guard is at its level, and the guards there.

        By secants through true steps. A step that ran far past the zero shows it better by its own interpolant. A guard
        so steep that it misses its band within the accuracy of an event's time is met as closely as time is known.
        """
        guard, above, below = leader.guard, segment.t0, math.inf
        last: tuple[float, float] | None = None
        landed = segment
        for _ in range(CORRECTIONS):
            landed = stepper.cut(landed, time) if stepper.is_exact(landed, time) else stepper.land(segment, time)
            values = self._at(landed, time) if landed.guards is None else landed.guards
            error = float(values[guard] - leader.level)
            if last is not None and abs(time - last[0]) > self._window:
                slope = (error - last[1]) / (time - last[0])
            correction = -error / slope if slope else 0.0
            met = abs(correction) <= LANDED * self._window
            if (met and abs(error) <= self.band[guard]) or abs(error) <= self.rounding[guard]:
                return landed, values
            last = time, error
            if error > 0.0:
                above, time = time, time + correction
            elif -correction > FAR * (time - segment.t0) and self._one(landed, above, guard) > leader.level:
                below, time = time, self._zero(landed, Crossing(guard, above, time, leader.level))
            else:
                below, time = time, time + correction
            if not above < time < below:
                time = 0.5 * (above + below)
            if not above < time < below or time > segment.t1:
                break
        if met:
            return landed, values
        raise LandingError(segment)

    def _zero(self, segment: Segment, hit: Crossing) -> float:
        def guard(t: float) -> float:
            return self._one(segment, t, hit.guard) - hit.level

        if guard(hit.before) <= 0.0:
            return hit.before
        if guard(hit.after) > 0.0:
            raise LandingError(segment)
        from scipy.optimize import brentq  # which takes long to import

        return float(brentq(guard, hit.before, hit.after, xtol=GUESS * self._window, rtol=ROOT))

    def _slopes(self, segment: Segment, time: float) -> Array:
        early, late = self._beside(segment, time)
        return (self._at(segment, late) - self._at(segment, early)) / (late - early)

    def _beside(self, segment: Segment, time: float) -> tuple[float, float]:
        """Two times of a step, closely around one, between which slopes are differenced."""
        h = max(SLOPE * (segment.t1 - segment.t0), SHORTEST_SLOPE * self._window)
        return max(segment.t0, time - h), min(segment.t1, time + h)

    def _names(self, guards: Array) -> frozenset[Hashable]:
        return frozenset(self._flow.guard_names[int(g)] for g in guards)
