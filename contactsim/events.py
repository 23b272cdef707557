"""Where a guard falls through zero: watched between the ends of a step, located, and gathered with its companions."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, replace

import numpy as np
from numpy.polynomial import chebyshev
from scipy.optimize import brentq, minimize_scalar

from .errors import StepSizeError
from .hybrid import Array, Flow
from .integrators import Segment, Stepper
from .tolerances import Tolerances

# A step is watched at Chebyshev-Lobatto points; the interpolating polynomial of a guard through them shows, on a
# finer grid, whether it may dip below zero in between. Where it comes within DIP of its own range, the guard itself
# is minimised there.
NODES = 0.5 * (1.0 - np.cos(np.pi * np.arange(6) / 5))
GRID = np.linspace(0.0, 1.0, 26)[1:-1]
TO_SERIES = np.linalg.inv(chebyshev.chebvander(2 * NODES - 1, 5))
TO_GRID = chebyshev.chebvander(2 * GRID - 1, 5) @ TO_SERIES
UNRESOLVED = 0.05  # share of the two highest Chebyshev coefficients above which six samples do not show a guard
DIP = 1e-2
FLAT = 1e-9  # a guard that swings by less than this in a step, in its unit, needs no closer look
QUIET = 2.0  # a step in which every guard stays this many times its own change above zero is not looked at closer
UNITS_A_SECOND = 10.0  # a guard may change so fast; it is known no better than the time of an event then
BOTTOM = 1e-9  # to which the time is found where a guard is least [s]
SLOPE = 1e-4  # step of the differences that give the slope of a guard, relative to the step of the integrator
GUESS = 1e-3  # share of `Tolerances.event_time` to which the zero of an interpolant is found
LANDED = 0.1  # share of it to which an event is then met on true steps
ROOT = 1e-15  # relative accuracy of a zero in time: brentq takes no less than four roundings
AT_ONCE = 3.0  # units of rounding of a guard that it does not rise above between events that follow at once
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


class Watch:
    """The guards of one flow: which are armed, and which fire first.

    A guard is armed once it has been above its rounding since the flow began. An armed guard fires where it falls
    through zero. One not armed started at zero, or below it by less than its band: it fires where it falls back to
    where it started, or below that by its rounding if it never rose.

    Attributes:
        values: the guards where the next step starts.
        at_once: whether the guard that fired last had not risen since the flow began: an event that follows at once.
        from_zero: whether it was zero where the flow began: the event leads back over the surface of the one before.
    """

    def __init__(self, flow: Flow, t: float, x: Array, tolerances: Tolerances) -> None:
        self._flow, self._window = flow, tolerances.event_time
        self.values = np.asarray(flow.guards(t, x), dtype=float)
        given = flow.guard_rounding
        rounding = np.full(len(self.values), tolerances.rearm) if given is None else given
        self.rounding = np.maximum(rounding, UNITS_A_SECOND * np.spacing(abs(t)))
        bands = tolerances.jump if flow.guard_bands is None else flow.guard_bands
        self.band = np.maximum(bands, self.rounding)
        self._floor = np.minimum(self.values, 0.0)
        self._highest = self.values.copy()
        self._sampled: tuple[Segment, Array, Array] | None = None
        self._first_values = self.values
        self.at_once = self.from_zero = bool(np.any(self.values < -self.band))

    def fired_at_start(self) -> frozenset[Hashable]:
        """Guards that lie below zero where the flow starts: they jumped there, without a crossing."""
        return self._names(np.flatnonzero(self.values < -self.band))

    def crossings(self, segment: Segment) -> list[Crossing]:
        """Guards that fire within a step from the present state, each with the bracket of its first zero."""
        if not len(self.values):
            return []
        times, samples = self._sample(segment)
        if len(times) < len(NODES):
            return []
        with np.errstate(invalid="ignore"):  # a guard that is infinite does not fire
            if self._unresolved(samples):
                raise LandingError(segment)
            suspects = np.flatnonzero(self._may_fire(samples))
        return [hit for guard in suspects if (hit := self._first(segment, times, samples[:, guard], int(guard)))]

    def _unresolved(self, samples: Array) -> bool:
        """Whether a guard may swing through zero between the samples: a step that is too long for it."""
        series = np.abs(TO_SERIES @ samples)
        swing = series[1:].sum(axis=0)
        rough = series[4] + series[5] > UNRESOLVED * swing
        if self._flow.guard_smooth is not None:
            rough &= self._flow.guard_smooth
        return bool(np.any(rough & (samples.min(axis=0) <= 2.0 * swing) & (swing > FLAT)))

    def accept(self, segment: Segment) -> None:
        """Go on from the end of a step in which nothing fired."""
        if len(self.values):
            _, samples = self._sample(segment)
            self._highest = np.maximum(self._highest, samples.max(axis=0))
            self.values = samples[-1]

    def _sample(self, segment: Segment) -> tuple[Array, Array]:
        """The times at which a step is looked at, and the guards there (times, ng); those of the last step are kept."""
        if self._sampled is None or self._sampled[0] is not segment:
            if self._flow.guards_follow:
                self.values = self._at(segment, segment.t0)
            middle = 0.5 * (segment.t0 + segment.t1)
            last = self._at(segment, segment.t1) if segment.guards is None else segment.guards
            early = np.array([self.values, self._at(segment, middle), last])
            low = early.min(axis=0)
            if self._flow.bounded_steps and np.all(low > QUIET * (early.max(axis=0) - low)):
                self._sampled = (segment, np.array([segment.t0, middle, segment.t1]), early)
            else:
                times = segment.t0 + (segment.t1 - segment.t0) * NODES
                inner = [self._at(segment, t) for t in times[1:-1]]
                times[-1] = segment.t1
                self._sampled = (segment, times, np.array([self.values, *inner, early[-1]]))
        return self._sampled[1:]

    def _at(self, segment: Segment, t: float) -> Array:
        return np.asarray(self._flow.guards(t, segment(t)), dtype=float)

    def _may_fire(self, samples: Array) -> Array:
        low = samples[1:].min(axis=0)
        dip = (TO_GRID @ samples).min(axis=0)
        slack = DIP * (samples.max(axis=0) - samples.min(axis=0))
        return (low <= 0.0) | ((dip <= slack) & (dip < np.minimum(samples[0], samples[-1])))

    def _first(self, segment: Segment, times: Array, values: Array, guard: int) -> Crossing | None:
        highest = float(self._highest[guard])
        for k in range(1, len(times)):
            level = self._level(guard, highest)
            if values[k] <= level:
                return Crossing(guard, float(times[k - 1]), float(times[k]), level)
            armed = highest > self.rounding[guard]
            if armed and (low := self._dip(segment, times, values, k, guard)) is not None:
                return Crossing(guard, float(times[k - 1]), low, level)
            highest = max(highest, float(values[k]))
        return None

    def _level(self, guard: int, highest: float) -> float:
        """Value at which a guard fires that has risen to `highest` since the flow began."""
        floor, rounding = float(self._floor[guard]), float(self.rounding[guard])
        if highest > rounding:
            return 0.0
        return floor if highest > floor + rounding else floor - rounding

    def _dip(self, segment: Segment, times: Array, values: Array, k: int, guard: int) -> float | None:
        """A time between two positive samples at which the guard is negative, if there is one."""
        inside = (NODES[k - 1] < GRID) & (NODES[k] > GRID)
        if not inside.any() or (TO_GRID[inside] @ values).min() >= min(values[k - 1], values[k]):
            return None
        best = minimize_scalar(
            lambda t: self._at(segment, t)[guard],
            bounds=(times[k - 1], times[k]),
            method="bounded",
            options={"xatol": BOTTOM},
        )
        return float(best.x) if best.fun <= 0.0 else None

    def pass_step(self, stepper: Stepper, segment: Segment) -> tuple[Segment | None, frozenset[Hashable]]:
        """The step, ended early by the first guard that fires in it, and the guards that fire there.

        None where the step ran too far past a singular stop, or is too long to show a guard: a shorter one is to be
        tried, from where it began.
        """
        try:
            found = self.crossings(segment)
            if found:
                return self._locate(stepper, segment, found)
        except LandingError as error:
            stepper.retry(error.segment)
            return None, frozenset()
        except StepSizeError:
            stepper.retry(segment)
            return None, frozenset()
        self.accept(segment)
        return segment, frozenset()

    def _locate(self, stepper: Stepper, segment: Segment, found: list[Crossing]) -> tuple[Segment, frozenset[Hashable]]:
        """Step exactly to the first of the crossings found; the guards that fire there come with it.

        The zero of the interpolant is a first guess only: the time is then corrected on true steps (secant). A step
        that ran on past the event may have hidden an earlier one: what was landed on is looked at in the same way.
        """
        while True:
            landed, fired = self._land(stepper, segment, *self._earliest(segment, found))
            if landed.t1 >= segment.t1:
                return landed, fired
            found = self._fallen(landed, self.crossings(landed), landed.t1 - self._window)
            if not found:
                return landed, fired
            segment = landed

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
        top = max(float(self._at(segment, middle)[hit.guard]), float(self._highest[hit.guard]))
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
        values = self._at(segment, time)
        return [hit for hit in found if hit.after <= time or values[hit.guard] <= hit.level]

    def _land(
        self, stepper: Stepper, segment: Segment, leader: Crossing, time: float
    ) -> tuple[Segment, frozenset[Hashable]]:
        time = max(time, float(np.nextafter(segment.t0, np.inf)))
        slopes = self._slopes(segment, time)
        landed, values = self._correct(stepper, segment, leader, time, float(slopes[leader.guard]))
        margin = np.maximum(-slopes * self._window, self.rounding)
        highest = np.maximum(self._highest, self._sample(landed)[1][:-1].max(axis=0))
        self.at_once = bool((highest - self._floor <= AT_ONCE * self.rounding)[leader.guard])
        self.from_zero = bool(self._first_values[leader.guard] <= self.band[leader.guard])
        together = (highest > self.rounding) & (slopes < 0.0) & (values <= margin)
        together[leader.guard] = True
        return landed, self._names(np.flatnonzero(together))

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
            elif -correction > FAR * (time - segment.t0) and self._at(landed, above)[guard] > leader.level:
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
            return float(self._at(segment, t)[hit.guard]) - hit.level

        if guard(hit.before) <= 0.0:
            return hit.before
        if guard(hit.after) > 0.0:
            raise LandingError(segment)
        return float(brentq(guard, hit.before, hit.after, xtol=GUESS * self._window, rtol=ROOT))

    def _slopes(self, segment: Segment, time: float) -> Array:
        h = max(SLOPE * (segment.t1 - segment.t0), float(np.spacing(time)))
        early, late = max(segment.t0, time - h), min(segment.t1, time + h)
        return (self._at(segment, late) - self._at(segment, early)) / (late - early)

    def _names(self, guards: Array) -> frozenset[Hashable]:
        return frozenset(self._flow.guard_names[int(g)] for g in guards)
