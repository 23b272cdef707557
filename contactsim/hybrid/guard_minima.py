"""Falls of a guard through zero between two looks at it, found for certain by values, rates, and their bounds.

With |g'| <= S and |g''| <= B, a look (t_a, g_a, g_a') leaves no room below g_a - S (t - t_a), nor below
g_a + g_a' (t - t_a) - B (t - t_a)^2 / 2; likewise a look behind. What the higher of these bounds leaves open is halved,
or cut where the guard seems lowest, until it is closed, or a look finds the guard below zero. Near a lowest value m the
pieces are some sqrt(8 m / B) long: no dip is missed, however short.

What lies between is looked at on the interpolant, which errs. Where the guard is lowest within that error of zero, the
interpolant decides nothing: a true step has to lead there.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, sqrt

import numpy as np

from ..common.arrays import Array
from ..common.lazy import NamedTuple, dataclass
from .flow import Look, Looks

LOOKS = 100  # at a guard that stays low; from then on twice the largest second derivative seen stands for all bounds
PARTS_APART = 16  # of the time between, to which a guard is followed that could not fire at either end of a part
LEAST, MOST = 0.05, 0.95  # share of a piece within which it is cut
HALVINGS = 4  # of a step in which many guards are looked at together: PARTS_APART parts
MANY = 8  # guards that are looked at together
SEEN = 2.0  # second derivatives between looks, of which the mean is known, may be this many times as large


@dataclass(frozen=True)
class Fall:
    """A guard that is above zero at `before` and not at `after` [s]."""

    before: float
    after: float


@dataclass(frozen=True)
class Bottom:
    """A time at which a guard comes so close to zero that its interpolant does not show on which side it is [s]."""

    t: float


class Bounds(NamedTuple):
    """Bounds of one guard along a step: see `GuardBounds`.

    Attributes:
        speed, bend: of |g'| and |g''|.
        error: (time) -> by what its interpolated value may be off there.
        least: a dip that is no deeper is none.
        rough: of |g''| where the guard is in no piece and not apart; infinity: none is known.
    """

    speed: float
    bend: float
    error: Callable[[float], float]
    least: float
    rough: float = inf


Placed = tuple[float, Look]  # a look and its time [s]


def first_fall(look: Callable[[float], Look], start: Placed, end: Placed, bounds: Bounds) -> Fall | Bottom | None:
    """First fall of a guard through zero between two looks, of which the first finds it above; None: it has none."""
    before, behind, looks, seen = start, [end], 0, 0.0
    short = (end[0] - start[0]) / PARTS_APART
    while behind:
        after = behind[-1]
        if after[1].value <= 0.0:
            doubtful = after[1].value > -bounds.error(after[0])
            return Bottom(after[0]) if doubtful else Fall(before[0], after[0])
        idle = before[1].apart and after[1].apart and after[0] - before[0] <= short
        if idle or _is_clear(before, after, bounds):
            before = behind.pop()
            continue
        bottom = _bottom(before, after)
        if bottom is not None and _undecided(before, after, bottom, bounds):
            return Bottom(bottom[0])
        middle = _cut(before, after, bounds, bottom)
        if not before[0] < middle < after[0]:
            before = behind.pop()
            continue
        here = look(middle)
        looks += 1
        behind.append((middle, here))
        seen = max(seen, _bend(before, behind[-1]), _bend(behind[-1], after))
        if looks >= LOOKS:
            bounds = bounds._replace(bend=min(bounds.bend, SEEN * seen), rough=SEEN * seen)
    return None


@dataclass(frozen=True)
class ManyBounds:
    """Bounds of several guards along a step, each (k,) as of `Bounds`.

    Attributes:
        error: of their interpolated values where they may be off most.
        bow: (time) -> by what share of that they may be off there.
    """

    speed: Array
    bend: Array
    error: Array
    bow: Callable[[float], float]
    least: Array

    def some(self, places: Array) -> ManyBounds:
        """Those at some places."""
        return ManyBounds(self.speed[places], self.bend[places], self.error[places], self.bow, self.least[places])


def clear_together(look: Callable[[float, Array], Looks], start: float, end: float, bounds: ManyBounds) -> Array:
    """Mask (k,) of guards that surely do not fall through zero between two times, as `first_fall` would find.

    The time between is halved for all together, as long as that leaves many; nothing is known of the others.

    Args:
        look: (time, places (n,) of the guards) -> looks at them.
        start, end: the two times [s].
        bounds: of the guards.
    """
    left, every = np.ones(len(bounds.speed), dtype=bool), np.arange(len(bounds.speed))
    pieces = [(start, _Seen(every, look(start, every)), end, _Seen(every, look(end, every)))]
    for halving in range(HALVINGS + 1):
        unclear = []
        for t0, before, t1, after in pieces:
            who = before.places[left[before.places] & np.isin(before.places, after.places)]
            a, b = before.of(who), after.of(who)
            left[who[b.values <= 0.0]] = False
            clear = _are_clear(t0, a, t1, b, bounds.some(who))
            clear |= (halving == HALVINGS) & a.apart & b.apart
            rest = who[~clear & (b.values > 0.0)]
            if len(rest):
                unclear.append((t0, before, t1, after, rest))
        if sum(left[rest].sum() for *_, rest in unclear) < MANY or halving == HALVINGS:
            for *_, rest in unclear:
                left[rest] = False
            return left
        pieces = []
        for t0, before, t1, after, rest in unclear:
            rest = rest[left[rest]]
            middle = 0.5 * (t0 + t1)
            here = _Seen(rest, look(middle, rest))
            pieces += [(t0, before, middle, here), (middle, here, t1, after)]
    return left


class _Seen(NamedTuple):
    """Looks at the guards of some places (n,), in rising order."""

    places: Array
    looks: Looks

    def of(self, places: Array) -> Looks:
        """Those at some of the places."""
        return self.looks.some(np.searchsorted(self.places, places))


def _are_clear(start: float, a: Looks, end: float, b: Looks, bounds: ManyBounds) -> Array:
    """`_is_clear` of several guards."""
    h, (speed, bend) = end - start, (bounds.speed, bounds.bend)
    smooth = np.array([one is not None and one == two for one, two in zip(a.pieces, b.pieces, strict=True)], bool)
    smooth, bend = smooth & np.isfinite(bend), np.where(np.isfinite(bend), bend, 0.0)  # where it has no bound
    apart, closing = a.values - b.values + h * (b.rates + 0.5 * bend * h), bend * h + b.rates - a.rates
    meet = np.where(closing > 0.0, np.clip(apart / np.where(closing > 0.0, closing, 1.0), 0.0, h), h)
    low, curved = 0.5 * (a.values + b.values - speed * h), a.values + meet * (a.rates - 0.5 * bend * meet)
    low = np.minimum.reduce([np.where(smooth, np.maximum(low, curved), low), a.values, b.values])
    margin = bounds.error * max(bounds.bow(t) for t in (start, end, 0.5 * (start + end)))
    sag = np.where(smooth, 0.125 * bend * h * h, 0.5 * speed * h)
    return np.asarray((low > margin) | (sag <= bounds.least))


def lowest(before: Placed, after: Placed, bounds: Bounds) -> tuple[float, float]:
    """Lower bound of a guard between two looks, and the time at which it could be so low."""
    (t, a), (end, b) = before, after
    h, speed, bend = end - t, bounds.speed, _smooth(a, b, bounds)
    low, place = 0.5 * (a.value + b.value - speed * h), 0.5 * (h + (a.value - b.value) / speed if speed > 0.0 else h)
    if bend < inf:
        # Both parabolas bend alike: they meet once, and in between each is concave.
        apart, closing = a.value - b.value + h * (b.rate + 0.5 * bend * h), bend * h + b.rate - a.rate
        meet = min(max(apart / closing, 0.0), h) if closing > 0.0 else h
        curved = a.value + meet * (a.rate - 0.5 * bend * meet)
        if curved > low:
            low, place = curved, meet
    return min(low, a.value, b.value), t + place


def _smooth(a: Look, b: Look, bounds: Bounds) -> float:
    """Bound of |g''| between two looks; infinity where they are not in one piece."""
    if a.piece != b.piece:
        return inf
    if a.piece is not None:
        return bounds.bend
    return inf if a.apart or b.apart else bounds.rough


def _is_clear(before: Placed, after: Placed, bounds: Bounds) -> bool:
    low, _ = lowest(before, after, bounds)
    if low > _margin(before[0], after[0], bounds):
        return True
    h, bend = after[0] - before[0], _smooth(before[1], after[1], bounds)
    sag = 0.125 * bend * h * h if bend < inf else 0.5 * bounds.speed * h
    return sag <= bounds.least


def _margin(start: float, end: float, bounds: Bounds) -> float:
    return max(bounds.error(start), bounds.error(end), bounds.error(0.5 * (start + end)))


def _bottom(before: Placed, after: Placed) -> tuple[float, float] | None:
    """Time and value of the least of the cubic through two looks; None: it has none in between."""
    (t, a), (end, b) = before, after
    if not a.rate < 0.0 < b.rate:
        return None
    h = end - t
    rise = (b.value - a.value) / h
    two, three = (3.0 * rise - 2.0 * a.rate - b.rate) / h, (a.rate + b.rate - 2.0 * rise) / (h * h)
    root = two * two - 3.0 * three * a.rate
    s = -a.rate / (two + sqrt(root)) if root >= 0.0 and two + sqrt(root) > 0.0 else 0.5 * h
    s = min(max(s, 0.0), h)
    return t + s, a.value + s * (a.rate + s * (two + s * three))


def _undecided(before: Placed, after: Placed, bottom: tuple[float, float], bounds: Bounds) -> bool:
    """True for a guard within the error of its interpolant to zero, known so well that no look could tell more."""
    error = bounds.error(bottom[0])
    h = after[0] - before[0]
    return abs(bottom[1]) <= error and 0.125 * bounds.bend * h * h <= error


def _cut(before: Placed, after: Placed, bounds: Bounds, bottom: tuple[float, float] | None) -> float:
    start, h = before[0], after[0] - before[0]
    place = lowest(before, after, bounds)[1] if bottom is None else bottom[0]
    return start + min(max(place - start, LEAST * h), MOST * h)


def _bend(before: Placed, after: Placed) -> float:
    """Mean second derivative between two looks."""
    return abs(after[1].rate - before[1].rate) / (after[0] - before[0])


def time_to_fall(value: float, rate: float, bend: float) -> float:
    """The first time > 0 at which value + rate t + bend t^2 / 2 falls through zero; infinity if it does not."""
    discriminant = rate * rate - 2.0 * bend * value
    if discriminant < 0.0 or (bend >= 0.0 and rate >= 0.0):
        return inf
    root = sqrt(discriminant)
    return (rate + root) / -bend if bend < 0.0 else 2.0 * value / (root - rate)
