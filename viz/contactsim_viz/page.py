"""Packs a scene and meshcat's own script into one offline HTML file."""

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

from contactsim.errors import InputError

from .about import coloured
from .curves import packed
from .packing import share, tracks
from .protocols import CurvesLike, TrajectoryLike
from .readout import details
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
