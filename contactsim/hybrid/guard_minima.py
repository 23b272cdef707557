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
from dataclasses import dataclass
from math import inf, sqrt
from typing import NamedTuple

from .flow import Look

LOOKS = 100  # at a guard that stays low; from then on twice the largest second derivative seen stands for its bound
LOOKS_APART = 16  # at a guard that could not fire at any of them
LEAST, MOST = 0.05, 0.95  # share of a piece within which it is cut
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
    """

    speed: float
    bend: float
    error: Callable[[float], float]
    least: float


Placed = tuple[float, Look]  # a look and its time [s]


def first_fall(look: Callable[[float], Look], start: Placed, end: Placed, bounds: Bounds) -> Fall | Bottom | None:
    """First fall of a guard through zero between two looks, of which the first finds it above; None: it has none."""
    before, behind, looks, seen = start, [end], 0, 0.0
    while behind:
        after = behind[-1]
        if after[1].value <= 0.0:
            doubtful = after[1].value > -bounds.error(after[0])
            return Bottom(after[0]) if doubtful else Fall(before[0], after[0])
        idle = looks >= LOOKS_APART and before[1].apart and after[1].apart
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
            bounds = bounds._replace(bend=min(bounds.bend, SEEN * seen))
    return None


def lowest(before: Placed, after: Placed, speed: float, bend: float) -> tuple[float, float]:
    """Lower bound of a guard between two looks, and the time at which it could be so low."""
    (t, a), (end, b) = before, after
    h = end - t
    low, place = 0.5 * (a.value + b.value - speed * h), 0.5 * (h + (a.value - b.value) / speed if speed > 0.0 else h)
    if a.piece is not None and a.piece == b.piece:
        # Both parabolas bend alike: they meet once, and in between each is concave.
        apart, closing = a.value - b.value + h * (b.rate + 0.5 * bend * h), bend * h + b.rate - a.rate
        meet = min(max(apart / closing, 0.0), h) if closing > 0.0 else h
        curved = a.value + meet * (a.rate - 0.5 * bend * meet)
        if curved > low:
            low, place = curved, meet
    return min(low, a.value, b.value), t + place


def _is_clear(before: Placed, after: Placed, bounds: Bounds) -> bool:
    low, _ = lowest(before, after, bounds.speed, bounds.bend)
    if low > _margin(before[0], after[0], bounds):
        return True
    h = after[0] - before[0]
    smooth = before[1].piece is not None and before[1].piece == after[1].piece
    sag = 0.125 * bounds.bend * h * h if smooth else 0.5 * bounds.speed * h
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
    place = lowest(before, after, bounds.speed, bounds.bend)[1] if bottom is None else bottom[0]
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
