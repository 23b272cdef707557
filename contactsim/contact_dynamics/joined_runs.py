"""Runs of parts of a world put together: one trajectory of the whole.

The state of the whole is that of its parts side by side, and so are its charts. What is known of a part between two
events of whatever part is the piece of one of its own steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..common.arrays import Array
from ..common.lazy import dataclass
from ..contact.modes import SystemMode
from ..hybrid.middle import Pieces
from ..hybrid.segments import Chain, Segment
from ..hybrid.trajectory import Arc, Event
from .contact_system import ContactSystem
from .crowds import Crowd


@dataclass(frozen=True, eq=False)
class SideBySide:
    """The charts of parts as one of the whole: coordinates (dim,) at a time.

    Attributes:
        parts: each with its step.
        dim: of the whole.
    """

    parts: tuple[tuple[Crowd, Segment], ...]
    dim: int

    def __call__(self, t: float) -> Array:
        """Coordinates at a time."""
        found = np.zeros(self.dim)
        for crowd, step in self.parts:
            crowd.put_tangent(found, step.chart(t))
        return found


class Strand:
    """What a part does within a window, read forwards.

    Args:
        crowd: the part.
        pieces: its steps within the window, arc by arc.
        redundant: whether its forces are not unique at first.

    Attributes:
        passed: number of events behind it.
    """

    def __init__(self, crowd: Crowd, pieces: Pieces, redundant: bool) -> None:
        self.crowd, self.redundant = crowd, redundant
        self._pieces = [([part for step in steps for part in _polynomials(step)], event) for steps, event in pieces]
        self.passed = 0

    @property
    def event(self) -> Event | None:
        """Its next event."""
        return self._pieces[self.passed][1]

    def pass_event(self) -> None:
        """Go on behind its next event."""
        event = self.event
        assert event is not None and isinstance(event.mode_post, SystemMode)
        self.redundant, self.passed = event.mode_post.redundant, self.passed + 1

    def ends(self, t0: float, t1: float) -> list[float]:
        """Ends of its steps between two times, at which it has no event."""
        return [step.t1 for step in self._pieces[self.passed][0] if t0 < step.t1 < t1]

    def step(self, t: float) -> Segment:
        """The step that holds a time."""
        steps = self._pieces[self.passed][0]
        return next(step for step in steps if step.t1 >= t)


class JoinedRun:
    """The trajectory of the whole as it grows.

    Args:
        whole: its system.
        t: where it begins [s].
        x, mode: plain state and mode there.
    """

    def __init__(self, whole: ContactSystem, t: float, x: Array, mode: SystemMode) -> None:
        self._whole, self._space = whole, whole.world.space
        self.t, self.x, self.mode = t, x, mode
        self._arcs, self._steps = list[Arc](), list[Segment]()

    @property
    def arcs(self) -> tuple[Arc, ...]:
        """The arcs so far."""
        if self._steps or not self._arcs:
            steps = tuple(self._steps) or (Segment.instant(self.t, self.x, self._space),)
            return (*self._arcs, Arc(self.mode, steps, None, self._whole))
        return tuple(self._arcs)

    @property
    def events(self) -> tuple[Event, ...]:
        """The events so far."""
        return tuple(arc.event for arc in self._arcs if arc.event is not None)

    def extend(self, strands: Sequence[Strand], end: float) -> None:
        """Go on to a time, by what all parts do until then."""
        while (found := _first(strands)) is not None and found[1].time <= end:
            strand, event = found
            self._go(strands, event.time)
            self._pass(strands, strand, event)
        self._go(strands, end)

    def _go(self, strands: Sequence[Strand], end: float) -> None:
        if end <= self.t:
            return
        ends = sorted({t for strand in strands for t in strand.ends(self.t, end)} | {end})
        for t1 in ends:
            middle = 0.5 * (self.t + t1)
            parts = tuple((strand.crowd, strand.step(middle)) for strand in strands)
            base, last = np.empty_like(self.x), np.empty_like(self.x)
            for crowd, step in parts:
                crowd.put(base, step.base)
                crowd.put(last, step(t1))
            chart = SideBySide(parts, self._space.dim)
            miss = max(step.miss for _, step in parts)
            self._steps.append(Segment(self.t, t1, base, chart, self._space, last, miss=miss))
            self.t, self.x = t1, last

    def _pass(self, strands: Sequence[Strand], strand: Strand, event: Event) -> None:
        """The event of a part as one of the whole."""
        crowd, transition = strand.crowd, event.transition
        assert isinstance(event.mode_pre, SystemMode) and isinstance(transition.mode, SystemMode)
        before, after = self.x.copy(), self.x.copy()
        crowd.put(before, event.x_pre)
        crowd.put(after, transition.x)
        strand.pass_event()
        changes, redundant = crowd.changes(event.mode_pre, transition.mode), any(one.redundant for one in strands)
        mode = self.mode.changed(changes, redundant=redundant)
        wide = replace(transition, **crowd.widened(transition, after, mode))
        own = Event(event.time, crowd.fired(event.fired), self.mode, before, wide, self._whole)
        steps = tuple(self._steps) or (Segment.instant(self.t, self.x, self._space),)
        self._arcs.append(Arc(self.mode, steps, own, self._whole))
        self._steps, self.x, self.mode = [], after, mode


def _polynomials(step: Segment) -> Sequence[Segment]:
    return step.chart.pieces if isinstance(step.chart, Chain) else (step,)


def _first(strands: Sequence[Strand]) -> tuple[Strand, Event] | None:
    """The part whose next event is the first, and this event; of several at one instant the first part's."""
    found: tuple[Strand, Event] | None = None
    for strand in strands:
        event = strand.event
        if event is not None and (found is None or event.time < found[1].time):
            found = strand, event
    return found
