"""Curves of a run on a page: packed at once for the offline one, noted moment by moment for the live one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from contactsim.errors import ContactSimError

from .about import contact_colours, plain
from .motion import MODES
from .packing import arrays
from .protocols import ArcLike, Array, CurvesLike, mode_index
from .scene import Scene
from .shapes import Json

_MOST_TIMES = 4000  # at which curves are sampled, about: those of a long run are coarser
_STEP = 1.0 / 30.0  # s between samples of what nobody saw
_FEW, _MOST_AT_ONCE = 3, 60  # of them: fewer are none, more are farther apart
_CODES = "otl"  # of OPEN, STICK and SLIP


def sampled(found: Sequence[CurvesLike], arcs: Sequence[ArcLike], step: float) -> tuple[Array, list[Array]]:
    """Times (n,) along arcs, both ends of each among them, at least every `step` seconds, and values (n, k) of each."""
    times: list[float] = []
    rows: list[list[Array]] = [[] for _ in found]
    for arc in arcs:
        if arc.t1 <= arc.t0:
            continue
        for t in np.linspace(arc.t0, arc.t1, max(2, int(np.ceil((arc.t1 - arc.t0) / step)) + 1)).tolist():
            times.append(t)
            for row, values in zip(rows, at(found, arc, t), strict=True):
                row.append(values)
    return np.array(times), [
        np.reshape(row, (len(times), len(one.names))) for row, one in zip(rows, found, strict=True)
    ]


def at(found: Sequence[CurvesLike], arc: ArcLike, t: float) -> list[Array]:
    """Values of each at a time; NaN of one that cannot be computed there."""
    out = []
    for one in found:
        try:
            out.append(np.asarray(one.of(arc, t), dtype=float))
        except ContactSimError:
            out.append(np.full(len(one.names), np.nan))
    return out


def described(one: CurvesLike) -> dict[str, Any]:
    """Kind, unit, names, plain words and colours of curves."""
    words = plain(one.names)
    told = {"kind": one.kind, "unit": one.unit, "names": list(one.names), "colours": list(one.colours)}
    return told | {"words": [words[name] for name in one.names]}


def packed(traj: Any, scene: Scene, found: Sequence[CurvesLike], step: float) -> Json:
    """Curves, modes of contacts, and what they are called; times are those of the run, and not behind its start."""
    times, values = np.zeros(0), list[Array]()
    if found:
        arcs = list(traj.arcs)
        times, values = sampled(found, arcs, max(step, (arcs[-1].t1 - arcs[0].t0) / _MOST_TIMES))
    names = [] if scene.modes is None else list(scene.modes.names)
    mode_times, modes = (np.zeros(0), np.zeros((0, 0))) if scene.modes is None else _changes(scene)
    mode_times = mode_times + float(traj.t[0])
    data, places = arrays(
        [times, mode_times, modes.astype(np.uint8).ravel(), *(value.astype(np.float32).ravel() for value in values)]
    )
    words = plain(names)
    return data | {
        "kinds": [described(one) for one in found],
        "contacts": [words[name] for name in names],
        "colours": contact_colours(names, found),
        "times": places[0],
        "mode_times": places[1],
        "modes": places[2],
        "values": places[3:],
        "mode_words": [mode.lower() for mode in MODES],
    }


def _changes(scene: Scene) -> tuple[np.ndarray, np.ndarray]:
    """The rows of modes that differ from the ones before them."""
    assert scene.modes is not None
    rows = scene.modes.modes
    keep = np.append(True, (rows[1:] != rows[:-1]).any(axis=1)) if len(rows) else np.zeros(0, dtype=bool)
    return scene.modes.times[keep], rows[keep]


# --- the live page ---------------------------------------------------------------------------------


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
