"""Runs that begin in the middle of a motion, in the mode that is known there, and are read piece by piece."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Self

from ..common.arrays import Array
from .outcomes import Status
from .segments import Segment
from .simulate import Simulation
from .system import HybridSystem
from .trajectory import Event, Settings

Pieces = list[tuple[Sequence[Segment], Event | None]]  # steps of arcs, each with the event at its end


class MiddleRun(Simulation):
    """A run from a plain state in a given mode; nothing is looked at or changed there.

    Args:
        system: what moves.
        t: when [s].
        x: plain state.
        mode: of the motion there.
        settings: how the run is made.
    """

    def __init__(self, system: HybridSystem, t: float, x: Array, mode: Hashable, settings: Settings) -> None:
        self._prepare(settings, None)
        self.system, self.t0, self.t, self._first = system, t, t, x
        self._enter(mode, x)

    @classmethod
    def begun(cls, system: HybridSystem, state: Any, t0: float, **options: Any) -> Self:
        """A run from its start, as a `Simulation` with these options is."""
        run = object.__new__(cls)
        Simulation.__init__(run, system, state, t0, **options)
        return run

    def advance_past(self, t: float, end: float) -> None:
        """Go on until a step ends at `t` or behind it, as a run to `end` does."""
        while self.t < t and self.status in (Status.RUNNING, Status.INTERRUPTED):
            self.advance_to(end, lambda now: self.interrupt() if now >= t else None)

    @property
    def settings(self) -> Settings:
        """How the run is made."""
        return self._settings

    @property
    def next_step(self) -> float | None:
        """Length of a step that the motion allows here [s]; None: not known."""
        return self._stepper.natural_step

    @property
    def remarks(self) -> Sequence[str]:
        """What was told so far."""
        return self._notes

    @property
    def stopped(self) -> bool:
        """Whether it ended before it was asked to."""
        return self.status not in (Status.RUNNING, Status.INTERRUPTED, Status.FINISHED)

    def pieces(self, arc: int) -> Pieces:
        """The steps of the arcs from number `arc` on, each with the event at its end."""
        pieces: Pieces = [(own.segments, own.event) for own in self._arcs[arc:]]
        return [*pieces, (self._segments, None)]

    def at(self, arc: int, t: float) -> tuple[int, Segment | None, Array, Any]:
        """Number of the arc, step, plain state and mode at a time in the arcs from number `arc` on, after its events.

        There is no step where the run does not go on from there yet.
        """
        while arc < len(self._arcs) and (event := self._arcs[arc].event) is not None and event.time <= t:
            arc += 1
        current = arc == len(self._arcs)
        mode, steps = (self._mode, self._segments) if current else (self._arcs[arc].mode, self._arcs[arc].segments)
        step = next((step for step in steps if step.t0 <= t < step.t1), None)
        return arc, step, self._x if step is None else step(t), mode
