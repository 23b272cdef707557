"""Bounces that accumulate (Zeno): when the last of infinitely many comes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import inf, isfinite, sqrt
from typing import Protocol

import numpy as np

from ..common.arrays import Array
from ..common.lazy import NamedTuple
from ..contact.laws import RigidLaw
from ..contact.modes import SystemMode
from ..errors import NoAdmissibleModeError
from ..hybrid.guard_minima import time_to_fall
from ..hybrid.trajectory import Event
from .contact_rows import Impact, PostEvent
from .world import World
from .zero import ALIKE, HOPS, LESSER, LONGEST_CYCLE, SLOW, STALLED, TOGETHER

ELASTIC = 0.95  # restitution from which on a contact takes hundreds of bounces to come to rest


class Landing(Protocol):
    """What bounces need of the contacts of a world."""

    @property
    def smallest_speed(self) -> float:
        """Relative speed below which contacts are at rest [m/s]."""

    def pressing(self, mode: SystemMode) -> tuple[int, ...]:
        """The closed contacts of a mode, without their resistances."""

    def gap_motion(self, t: float, x: Array, mode: SystemMode, contacts: tuple[int, ...]) -> tuple[Array, Array, Array]:
        """Acceleration (nv,) in a mode, and with it the first and second rates (k,) of the gaps of `contacts`."""

    def at_standstill(self, t: float, x: Array, contacts: tuple[int, ...], acceleration: Array) -> Array:
        """The acceleration (nv,) under which contacts of bodies that do not turn move as they do under this one."""

    def accelerated(self, x: Array, change: Array) -> Array:
        """The state with a change (nv,) of its velocity."""

    def velocities(self, t: float, x: Array, contacts: tuple[int, ...]) -> Array:
        """Velocities (m,) of contacts, along all their rows."""

    def land(
        self, t: float, x: Array, mode: SystemMode, landing: set[int], slowest: float, known: Impact | None = None
    ) -> PostEvent:
        """What the impact of the contacts `landing` leads to; what leaves at up to `slowest` [m/s] stays.

        `known` is an impact of the same contacts in the same mode: what it was is tried first.
        """


def time_to_rest(contacts: Landing, t: float, x: Array, mode: SystemMode, hopping: set[int]) -> float | None:
    """Time [s] from now until the last of the ever smaller hops of contacts that are on the ground at (t, x).

    The hops are so small that the configuration, and with it mass, rows and applied forces, stands still meanwhile:
    the velocities change by constant accelerations between impacts. Hops are followed one by one, each by the law of
    the system; those left at the end follow in a geometric series. None: the hops do not become smaller.

    Args:
        contacts: the contacts of the world.
        t, x, mode: when, where and how the first hop begins; the contacts in `hopping` are open.
        hopping: contacts that leave the ground now, to come back.
    """
    follow = _Hops(contacts, t, x, mode, hopping)
    durations: list[float] = []
    speeds = [follow.speed()]
    while len(durations) < HOPS:
        if speeds[-1] <= SLOW * contacts.smallest_speed:
            return float(sum(durations)) + _left_of_slow(durations, speeds)
        try:
            duration = follow.next()
        except NoAdmissibleModeError:  # at a configuration that the run itself may leave in time
            return None
        if duration is None:
            return None
        durations.append(duration)
        speeds.append(follow.speed())
        if (alike := follow.alike()) is not None:
            return _all_alike(durations, *alike) if speeds[-1] < speeds[0] else None
        if (left := _left_of_series(durations, speeds)) is not None:
            return float(sum(durations)) + left
        if len(durations) >= STALLED and not any(durations[-STALLED:]):
            return float(sum(durations)) if speeds[-1] < speeds[0] else None
    before, after = sum(durations[: HOPS // 2]), sum(durations[HOPS // 2 :])
    if speeds[-1] >= speeds[0] or after >= before:
        return None
    ratio = after / before
    return float(sum(durations) + after * ratio / (1.0 - ratio))


def _left_of_slow(durations: list[float], speeds: list[float]) -> float:
    """What is left of hops [s] too slow to be followed, each shorter in the ratio of the last two speeds.

    So it does not matter whether rounding lets one more of them be followed.
    """
    ratio = speeds[-1] / speeds[-2] if len(speeds) > 1 else 0.0
    return durations[-1] * ratio / (1.0 - ratio) if 0.0 < ratio < 1.0 else 0.0


def _all_alike(durations: list[float], count: int, ratio: float) -> float:
    """Duration of all hops [s] where the last `count` of them lead back to the state before, smaller in a `ratio`.

    Newton's and Coulomb's laws do not change where all velocities are scaled by r, nor do flights under constant
    accelerations where gaps are scaled by r^2 and times by r. So the next hops are those again, r times as long, and so
    on: T + c r / (1 - r), with the duration c of the cycle. Hops of no time go on to take none.
    """
    cycle = sum(durations[-count:])
    return float(sum(durations) + (cycle * ratio / (1.0 - ratio) if cycle else 0.0))


def _left_of_series(durations: list[float], speeds: list[float]) -> float | None:
    """What is left of a geometric series of hops [s], where they repeat in one ratio < 1, each or in a short cycle.

    At a configuration that stands still, hops look alike in any scale, so that they come to do so where they shrink;
    the largest of the `speeds` shrinks with them, unless another contact is still off the ground.
    """
    for cycle in range(1, min(LONGEST_CYCLE, len(durations) // 3) + 1):
        first, before, last = (durations[-(k + 1) * cycle : len(durations) - k * cycle] for k in (2, 1, 0))
        if not all(first) or not all(before):
            continue
        ratios = [b / a for a, b in zip(first + before, before + last, strict=True)]
        ratios.append(speeds[-1] / speeds[-1 - cycle])
        low, high = min(ratios), max(ratios)
        if high < 1.0 and high - low <= ALIKE * (1.0 - high) ** 2:
            return sum(last) * high / (1.0 - high)
    return None


def bounces_on(world: World, events: Sequence[Event]) -> str | None:
    """What bounces on and on by the `events`, in a sentence; None where no (almost) elastic contact does.

    Where something damps the motion, an elastic contact hops ever lower and faster: its speed v falls exponentially in
    time, and the number of hops grows as 1 / v. With restitution e < 1 they end, after log(v / v_end) / log(1 / e).
    """
    landings = Counter(name for event in events for name in event.fired if isinstance(name, tuple) and name[0] == "gap")
    if not landings or not isinstance(world.law, RigidLaw):
        return None
    guard, count = landings.most_common(1)[0]
    contact, restitution = guard[1], float(world.restitution[guard[1]])
    if count < 2 or restitution < ELASTIC:
        return None
    hits = [event for event in events if guard in event.fired]
    duration, last = (hits[-1].time - hits[0].time) / (count - 1), hits[-1]
    q, v = world.q(last.x_pre), world.v(last.x_pre)
    height = abs(float(world.mechanism.terms(last.time, q, v, (contact,)).rates[0])) * duration / 4.0
    elastic, end = ("elastic", "does not come") if restitution == 1.0 else ("almost elastic", "is long in coming")
    return (
        f"'{world.mechanism.all_names[contact]}' is {elastic} (restitution {restitution:g}), hops by {height:.1g} m in"
        f" {duration:.1g} s and so {end} to rest; lower its restitution, or let it stay on the ground where it would"
        " hop less than some height, with ContactSystem(..., tolerances=Tolerances(hop=height))"
    )


class _Look(NamedTuple):
    """Contacts between two hops, all of them on the ground.

    Attributes:
        clock: time since the first hop [s].
        mode: the mode.
        hopping: contacts that are off the ground.
        heights: squares of the speeds with which these would fall from where they are (k,) [m^2/s^2].
        bend: accelerations of their gaps (k,).
        velocities: of all contacts, along all their rows (m,).
        speed: see `_Hops.speed`.
    """

    clock: float
    mode: SystemMode
    hopping: tuple[int, ...]
    heights: Array
    bend: Array
    velocities: Array
    speed: float

    def ratio_to(self, before: _Look) -> float | None:
        """The ratio r < 1 in which all velocities are those of `before`, and gaps by r^2; None: there is none.

        Where no time has passed since then, it may be one.
        """
        if not before.speed or self.hopping != before.hopping or self.mode.pattern != before.mode.pattern:
            return None
        ratio = self.speed / before.speed
        off = ALIKE * (1.0 - ratio) ** 2 if self.clock > before.clock else ALIKE
        differences = (
            (self.velocities - ratio * before.velocities, self.velocities),
            (self.heights - ratio**2 * before.heights, self.speed**2),
            (self.bend - before.bend, before.bend),
        )
        alike = all(np.abs(apart).max() <= off * np.abs(scale).max() for apart, scale in differences)
        return ratio if alike and ratio < 1.0 + off else None


class _Hops:
    """Contacts that hop at a frozen configuration."""

    def __init__(self, contacts: Landing, t: float, x: Array, mode: SystemMode, hopping: set[int]) -> None:
        self._contacts, self._t, self._x, self._mode = contacts, t, x, mode
        self._gaps = dict.fromkeys(hopping, 0.0)
        self._impacts: dict[tuple[frozenset[int], frozenset[int]], Impact | None] = {}  # of what landed, and stood
        self._clock, self._all = 0.0, tuple(sorted({*mode.closed, *hopping}))
        self._move()
        self._looks = [self._look()]

    def _look(self) -> _Look:
        hopping = tuple(sorted(self._gaps))
        heights = 2.0 * np.abs(self._bend) * [self._gaps[i] for i in hopping]
        velocities = self._contacts.velocities(self._t, self._x, self._all)
        return _Look(self._clock, self._mode, hopping, heights, self._bend, velocities, self.speed())

    def alike(self) -> tuple[int, float] | None:
        """How many of the last hops led back to the state before them, and its ratio to that; None: none did."""
        now = self._looks[-1]
        for count in range(1, min(LONGEST_CYCLE, len(self._looks) - 1) + 1):
            ratio = now.ratio_to(self._looks[-1 - count])
            if ratio is not None:
                return count, ratio
        return None

    def _move(self) -> None:
        """Rates and accelerations of the gaps of the contacts that are off the ground."""
        self._acceleration, self._rates, self._bend = self._contacts.gap_motion(
            self._t, self._x, self._mode, tuple(sorted(self._gaps))
        )

    def speed(self) -> float:
        """The largest speed at which a contact leaves the ground or comes back to it."""
        speeds = [
            sqrt(max(rate * rate - 2.0 * bend * self._gaps[i], 0.0))
            for i, rate, bend in zip(sorted(self._gaps), self._rates, self._bend, strict=True)
        ]
        return max(speeds, default=0.0)

    def next(self) -> float | None:
        """Go on to behind the next impact: the time it takes; None where no contact comes back."""
        slowest = LESSER * self.speed()
        times = {
            i: time_to_fall(self._gaps[i], rate, bend)
            for i, rate, bend in zip(sorted(self._gaps), self._rates, self._bend, strict=True)
        }
        duration = min(times.values(), default=inf)
        if not isfinite(duration):
            return None
        landing = {i for i, time in times.items() if time - duration <= TOGETHER * duration}
        for i, rate, bend in zip(sorted(self._gaps), self._rates, self._bend, strict=True):
            self._gaps[i] = 0.0 if i in landing else self._gaps[i] + (rate + 0.5 * bend * duration) * duration
        acceleration = self._contacts.at_standstill(self._t, self._x, self._all, self._acceleration)
        self._x = self._contacts.accelerated(self._x, duration * acceleration)
        before = set(self._contacts.pressing(self._mode))
        alike = frozenset(landing), frozenset(before)
        then = self._contacts.land(self._t, self._x, self._mode, landing, slowest, self._impacts.get(alike))
        self._x, self._mode, self._impacts[alike] = then.x, then.mode, then.impact
        left = before - set(self._contacts.pressing(self._mode))
        self._gaps = {i: gap for i, gap in self._gaps.items() if i not in self._mode.closed} | dict.fromkeys(left, 0.0)
        self._clock += duration
        self._move()
        self._looks.append(self._look())
        return duration
