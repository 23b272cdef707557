"""The curves of a run, as the offline page is told of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from contactsim.errors import ContactSimError

from .about import contact_colours, plain
from .motion import MODES
from .packing import arrays
from .protocols import ArcLike, Array, CurvesLike
from .scene import Scene
from .shapes import Json

_MOST_TIMES = 4000  # at which curves are sampled, about: those of a long run are coarser


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
