"""Bounces that accumulate (Zeno): when the last of infinitely many comes."""

from __future__ import annotations

from math import isfinite, sqrt
from typing import TYPE_CHECKING

from ..errors import NoAdmissibleModeError
from ..hybrid import Array
from .modes import SystemMode

if TYPE_CHECKING:
    from .rigid import RigidContacts

HOPS = 60  # hops that are followed one by one; what comes behind is summed as a geometric series
STALLED = 40  # hops in succession that take no time: contacts that pass an impact to and fro; what follows takes none
SLOW = 20.0  # hops that start with this many times the smallest speed told from zero are not followed


def time_to_rest(contacts: RigidContacts, t: float, x: Array, mode: SystemMode, hopping: set[int]) -> float | None:
    """Time [s] from now until the last of the ever smaller hops of contacts that are on the ground at (t, x).

    The hops are so small that the configuration, and with it mass, rows and applied forces, stands still meanwhile:
    the velocities change by constant accelerations between impacts. Hops are followed one by one, each by the law of
    the system; those left at the end follow in a geometric series. None: the hops do not become smaller.

    Args:
        contacts: the contacts of the system.
        t, x, mode: when, where and how the first hop begins; the contacts in `hopping` are open.
        hopping: contacts that leave the ground now, to come back.
    """
    follow = _Hops(contacts, t, x, mode, hopping)
    durations: list[float] = []
    first = follow.speed()
    while len(durations) < HOPS and follow.speed() > SLOW * contacts.smallest_speed:
        try:
            duration = follow.next()
        except NoAdmissibleModeError:  # at a configuration that the run itself may leave in time
            return None
        if duration is None:
            return None
        durations.append(duration)
        if len(durations) >= STALLED and not any(durations[-STALLED:]):
            return float(sum(durations)) if follow.speed() < first else None
    half = len(durations) // 2
    if half == 0 or follow.speed() >= first:
        return None if half else 0.0
    before, after = sum(durations[-2 * half : -half]), sum(durations[-half:])
    if not after < before:
        return None
    ratio = after / before
    return float(sum(durations) + after * ratio / (1.0 - ratio))


class _Hops:
    """Contacts that hop at a frozen configuration."""

    def __init__(self, contacts: RigidContacts, t: float, x: Array, mode: SystemMode, hopping: set[int]) -> None:
        self._contacts, self._t, self._x, self._mode = contacts, t, x, mode
        self._gaps = dict.fromkeys(hopping, 0.0)
        self._move()

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
        times = {
            i: _return(self._gaps[i], rate, bend)
            for i, rate, bend in zip(sorted(self._gaps), self._rates, self._bend, strict=True)
        }
        landing = min(times, key=lambda i: times[i])
        duration = times[landing]
        if not isfinite(duration):
            return None
        for i, rate, bend in zip(sorted(self._gaps), self._rates, self._bend, strict=True):
            self._gaps[i] = 0.0 if i == landing else self._gaps[i] + (rate + 0.5 * bend * duration) * duration
        self._x = self._contacts.accelerated(self._x, duration * self._acceleration)
        before = set(self._mode.closed)
        self._x, self._mode = self._contacts.land(self._t, self._x, self._mode, landing)
        left = before - set(self._mode.closed)
        self._gaps = {i: gap for i, gap in self._gaps.items() if i not in self._mode.closed} | dict.fromkeys(left, 0.0)
        self._move()
        return duration


def _return(gap: float, rate: float, bend: float) -> float:
    """The first time > 0 at which gap + rate t + bend t^2 / 2 falls through zero; infinity if it does not."""
    discriminant = rate * rate - 2.0 * bend * gap
    if discriminant < 0.0 or (bend >= 0.0 and rate >= 0.0):
        return float("inf")
    root = sqrt(discriminant)
    return (rate + root) / -bend if bend < 0.0 else 2.0 * gap / (root - rate)
