"""Packs a scene and meshcat's own script into one offline HTML file, with modes, energy and impulses in words."""

from __future__ import annotations

import base64
import gzip
import html
import json
import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from contactsim.errors import ContactSimError, InputError

from .about import coloured
from .curves import packed
from .motion import MODES, SampledPoses
from .packing import share, tracks
from .protocols import Array, CurvesLike, TrajectoryLike
from .scene import FORCE_COLOUR, Scene

_MOST_TICKS = 400  # more events than this would paint the time line grey
_MOST_LINES = 1000  # of the list of events
_SCRIPTS = ("common.js", "quality.js", "player.js", "plots.js", "view.js")
_SHARED = {"@STYLE@": "page.css"} | {f"@{name.upper()}@": f"{name}.html" for name in ("bar", "tools", "side", "sheets")}
_LONGEST_WORD = 60  # of a value in it, in characters


def write(
    scene: Scene,
    traj: TrajectoryLike,
    title: str,
    step: float,
    speed: float,
    linearization: Any | None = None,
    curves: Sequence[CurvesLike] = (),
) -> str:
    """The page as text, with the events of the run; those of its `linearization` say what they do to variations.

    Frames are `step` seconds apart, of which `speed` are played in a second.
    """
    import umsgpack

    commands, meshes, uses = share(scene.commands[:-1])
    messages = (umsgpack.packb(command, force_float_precision="single") for command in commands)
    # no date: equal runs give equal pages
    packed_commands = (gzip.compress(message, compresslevel=6, mtime=0) for message in messages)
    start, events = float(traj.t[0]), list(traj.events)
    more = details(traj, linearization)
    run = {
        "commands": [base64.b64encode(part).decode("ascii") for part in packed_commands],
        "meshes": meshes,
        "uses": uses,
        "tracks": tracks(scene.commands[-1]),
        "curves": packed(traj, scene, curves, step),
        "start": start,
        "step": step,
        "speed": speed,
        "events": [float(event.time - start) for event in events] if len(events) <= _MOST_TICKS else [],
        "count": len(events),
        # Times behind the start, as the tracks have them: to go there is to be behind the event. And as they are.
        "log": [
            (float(event.time - start), float(event.time), words, more[id(event)])
            for event in events[:_MOST_LINES]
            if (words := told(event))
        ],
        "captions": list(scene.captions),
        "groups": dict(scene.groups),
        "about": coloured(scene.about, curves),
        "newton": scene.force_scale,
    }
    parts = {
        "@TITLE@": html.escape(title),
        "@LEGEND@": legend(scene),
        "@RUN@": json.dumps(run).replace("</", "<\\/"),
        "@MESHCAT@": bundle(),
        "@PANEL@": "",
        "@DRAG@": "",
    }
    return filled("page.html", parts)


def filled(name: str, parts: Mapping[str, str]) -> str:
    """A page of this package with {mark: text} put in, and what all pages share."""
    marks = {mark: _file(other) for mark, other in _SHARED.items()} | dict(parts)
    marks["@SHARED@"] = "\n".join(map(_file, _SCRIPTS))
    pattern = re.compile("|".join(marks))

    def put(text: str) -> str:
        """Marks inside of shared parts are put in, too; what comes from outside is taken as it is."""
        return pattern.sub(lambda found: put(marks[found[0]]) if found[0] in _SHARED else marks[found[0]], text)

    return put(_file(name))


def _file(name: str) -> str:
    return files(__package__).joinpath("web", name).read_text(encoding="utf-8")


def told(event: Any) -> str:
    """Changes at an event: names with the same change together, and what needs no name, the chart, without."""
    groups: dict[str, list[str]] = {}
    for name, (before, after) in getattr(event, "transitions", {}).items():
        groups.setdefault(f"{_word(before)} \u2192 {_word(after)}", []).append(name)
    return "; ".join(
        change if names == ["chart"] else f"{', '.join(names)}: {change}" for change, names in groups.items()
    )


def _word(value: Any) -> str:
    text = str(getattr(value, "value", value))
    return text if len(text) <= _LONGEST_WORD else f"{text[: _LONGEST_WORD - 1]}\u2026"


def legend(scene: Scene) -> str:
    """Legend of a scene: the meaning of its colours, and the scale of its arrows."""
    words = [
        f'<span><i style="background:{html.escape(code)}"></i>{html.escape(word)}</span>'
        for word, code in scene.legend.items()
    ]
    if scene.force_scale is None:
        return "".join(words)
    arrow = f'<i class="force" style="background:{FORCE_COLOUR}"></i>'
    return "".join([*words, f"<span>{arrow}force, 1 m = {scene.force_scale:g} N</span>"])


def bundle() -> str:
    """Meshcat's script."""
    # Found without importing meshcat, which would bring IPython and a socket library for one text file.
    found = find_spec("meshcat")
    for folder in found.submodule_search_locations or () if found is not None else ():
        script = Path(folder) / "viewer" / "dist" / "main.min.js"
        if script.is_file():
            return script.read_text(encoding="utf-8")
    raise InputError("meshcat is not installed (or lacks its viewer script); install it with: pip install meshcat")


# --- words beside the picture ----------------------------------------------------------------------


def modes_in_words(names: Sequence[str], motion: SampledPoses) -> list[tuple[float, str]]:
    """(seconds after the start, mode of all contacts from there) wherever it changes: "stick: lf, lr; slip: rm"."""
    keep = np.append(True, (motion.modes[1:] != motion.modes[:-1]).any(axis=1)) if names else np.zeros(0, dtype=bool)
    return [(float(motion.mode_time[k]), _mode_words(names, motion.modes[k])) for k in np.flatnonzero(keep)]


def _mode_words(names: Sequence[str], row: np.ndarray) -> str:
    groups = {mode: [name for name, m in zip(names, row, strict=True) if MODES[m] == mode] for mode in MODES}
    if len(groups["OPEN"]) == len(names):
        return "in the air"
    return "; ".join(f"{mode.lower()}: {', '.join(groups[mode])}" for mode in MODES[1:] if groups[mode])


def details(traj: TrajectoryLike, linearization: Any | None) -> dict[int, str]:
    """{id of an event: its impulse, and what it does to variations of the state where a linearization is given}."""
    if linearization is not None and linearization.trajectory is not traj:
        raise InputError("the linearization is that of another run; give linearize(traj) of the one that is shown")
    pieces = {} if linearization is None else {id(e): piece for piece in linearization.all_events for e in piece.events}
    out = {}
    for event in traj.events:
        words = [_impulse(getattr(event, "impulses", {})), _saltation(pieces.get(id(event)))]
        out[id(event)] = " · ".join(word for word in words if word)
    return out


def _impulse(impulses: Mapping[str, Array]) -> str:
    """Size of the sum of the impulses of all contacts; those of other lengths, of joint limits, are not added up."""
    found = [np.atleast_1d(np.asarray(p, dtype=float)) for p in impulses.values()]
    total = [p for p in found if p.shape == found[0].shape] if found else []
    return f"impulse {np.linalg.norm(np.sum(total, axis=0)):.3g} N s" if total else ""


def _saltation(piece: Any | None) -> str:
    if piece is None:
        return ""
    try:
        if not piece.differentiable:
            return f"{len(piece.pieces())} linear pieces"
        return "no saltation" if piece.is_identity else f"‖Ξ‖ = {np.linalg.norm(piece.saltation, 2):.3g}"
    except ContactSimError:
        return "no derivative"
