"""Packs a scene and meshcat's own script into one offline HTML file."""

from __future__ import annotations

import base64
import gzip
import html
import json
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

from contactsim.errors import InputError

from .motion import Motion
from .scene import FORCE_COLOUR, MODE_COLOURS, Scene

_MOST_TICKS = 400  # more events than this would paint the time line grey


def write(scene: Scene, motion: Motion, title: str, step: float, speed: float) -> str:
    """The page as text.

    Args:
        scene: what is drawn.
        motion: what is played.
        title: heading of the page.
        step: seconds between two frames.
        speed: seconds of the run played in a second.
    """
    import umsgpack

    messages = (umsgpack.packb(command, force_float_precision="single") for command in scene.commands)
    packed = (
        gzip.compress(message, compresslevel=6, mtime=0) for message in messages
    )  # no date: equal runs give equal pages
    ticks = motion.events if len(motion.events) <= _MOST_TICKS else motion.events[:0]
    run = {
        "commands": [base64.b64encode(part).decode("ascii") for part in packed],
        "start": motion.start,
        "step": step,
        "speed": speed,
        "events": [round(float(time), 6) for time in ticks],
    }
    parts = {
        "@TITLE@": html.escape(title),
        "@LEGEND@": _legend(scene),
        "@RUN@": json.dumps(run),
        "@MESHCAT@": _bundle(),
    }
    page = files(__package__).joinpath("page.html").read_text(encoding="utf-8")
    for mark, text in parts.items():
        page = page.replace(mark, text)
    return page


def _legend(scene: Scene) -> str:
    if scene.force_scale is None:
        return ""
    words = [f'<span><i style="background:{code}"></i>{mode.lower()}</span>' for mode, code in MODE_COLOURS.items()]
    arrow = f'<i class="force" style="background:{FORCE_COLOUR}"></i>'
    return "".join([*words, f"<span>{arrow}force, 1 m = {scene.force_scale:g} N</span>"])


def _bundle() -> str:
    # Found without importing meshcat, which would bring IPython and a socket library for one text file.
    found = find_spec("meshcat")
    for folder in found.submodule_search_locations or () if found is not None else ():
        script = Path(folder) / "viewer" / "dist" / "main.min.js"
        if script.is_file():
            return script.read_text(encoding="utf-8")
    raise InputError("meshcat is not installed (or lacks its viewer script); install it with: pip install meshcat")
