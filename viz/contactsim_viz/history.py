"""Data that a live page plots: values of the curves at the moments shown, and the modes of contacts over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .about import contact_colours, plain
from .curves import at, described
from .protocols import CurvesLike, mode_index

_STEP = 1.0 / 30.0  # s between samples of what nobody saw
_FEW, _MOST_AT_ONCE = 3, 60  # of them: fewer are none, more are farther apart
_CODES = "otl"  # of OPEN, STICK and SLIP


@dataclass
class Take:
    """Of one take: times, rows of values, and (time, modes) wherever these change."""

    number: int = -1
    times: list[float] = field(default_factory=list)
    rows: list[bytes] = field(default_factory=list)
    modes: list[tuple[float, str]] = field(default_factory=list)
    entries: int = 0


class History:
    """Notes, in the running thread, what there is to plot; another thread may read `take` meanwhile."""

    def __init__(self, curves: Sequence[CurvesLike], names: list[str]) -> None:
        self._names, self._curves = names, curves
        self.take = Take()

    def told(self) -> dict[str, Any]:
        """Kinds of curves and names of contacts, for a page."""
        words = plain(self._names)
        return {
            "kinds": [described(one) for one in self._curves],
            "contacts": [words[name] for name in self._names],
            "contact_colours": contact_colours(self._names, self._curves),
        }

    def note(self, moment: Any, modes: dict[str, str]) -> None:
        """Keep a moment that is later than all that are kept."""
        if moment.take != self.take.number:
            self.take = Take(moment.take)
        self._note_modes(moment, modes)
        for time in self._missing(moment):
            self._sample(time, moment.arc_at(time))
        if not self.take.times or moment.time > self.take.times[-1]:
            self._sample(float(moment.time), moment.arc)

    def _missing(self, moment: Any) -> list[float]:
        """Times that were computed while nobody looked on."""
        last = self.take.times[-1] if self.take.times else float(moment.start)
        count = min(int((moment.time - last) / _STEP), _MOST_AT_ONCE)
        return np.linspace(last, moment.time, count + 1)[1:-1].tolist() if count > _FEW else []

    def _sample(self, time: float, arc: Any) -> None:
        values = at(self._curves, arc, time)
        row = np.concatenate(values) if values else np.zeros(0)
        self.take.rows.append(row.astype("<f4").tobytes())
        self.take.times.append(float(time))

    def _note_modes(self, moment: Any, modes: dict[str, str]) -> None:
        """Modes behind each event, and those that are seen where nobody told of a change."""
        take = self.take
        row = list(take.modes[-1][1]) if take.modes else []
        for entry in moment.log[take.entries :]:
            take.entries += 1
            changed = getattr(entry.event, "transitions", {})
            if not row or not changed:
                continue
            for k, name in enumerate(self._names):
                if name in changed:
                    row[k] = _CODES[mode_index(changed[name][1].name)]
            self._add(float(entry.time), "".join(row))
        seen = "".join(_CODES[("open", "stick", "slip").index(modes[name])] for name in self._names if name in modes)
        last = take.modes[-1] if take.modes else (-np.inf, "")
        if len(seen) == len(self._names) and seen != last[1] and moment.time >= last[0]:
            self._add(float(moment.time), seen)

    def _add(self, time: float, row: str) -> None:
        modes = self.take.modes
        if modes and modes[-1][0] == time:
            modes[-1] = time, row
        elif not modes or modes[-1][1] != row:
            modes.append((time, row))
