"""The viewer: three functions, and the class under which they are registered."""

from __future__ import annotations

import math
import os
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from contactsim.errors import InputError

from . import snapshot
from .reads import SessionLike, TrajectoryLike

if TYPE_CHECKING:
    from .scene import Scene


def export_html(traj: TrajectoryLike, path: str | os.PathLike[str], *, fps: float = 60.0, speed: float = 1.0) -> Path:
    """Write one offline HTML file in which the robot (or what a system draws) moves.

    Args:
        traj: the run to show; its robot needs a pinocchio model, or its system a method `drawing`.
        path: the file to write.
        fps: frames a second on the screen.
        speed: seconds of the run played in a second; 0.1 is slow motion.

    Returns:
        the file that was written.

    Raises:
        InputError: there is no geometry to show, the folder does not exist, or a number is not positive.
    """
    file = _writable(path)
    file.write_text(_page(traj, fps, speed), encoding="utf-8")
    return file


def view(traj: TrajectoryLike, open_browser: bool = True, *, fps: float = 60.0) -> None:
    """Play the trajectory in the browser in real time, until Ctrl-C.

    Args:
        traj: the run to show; its robot needs a pinocchio model, or its system a method `drawing`.
        open_browser: False only prints the address.
        fps: frames a second on the screen.
    """
    from . import serve

    serve.show(_page(traj, fps, 1.0), open_browser)


def live(session: SessionLike, open_browser: bool = True, port: int = 0) -> Any:
    """Show a simulation in the browser while it runs, with controls, until Ctrl-C.

    Args:
        session: a `contactsim.session.Session`.
        open_browser: False only prints the address.
        port: where the page is served, on this machine only; 0: any that is free.

    Returns:
        the run.

    Raises:
        InputError: its system has no geometry to show.
    """
    from . import live as page

    return page.show(session, open_browser, port)


def export_png(
    traj: TrajectoryLike,
    path: str | os.PathLike[str],
    t: float | None = None,
    width: int = 1280,
    height: int = 800,
) -> Path:
    """Write a picture of the trajectory at one time; needs Chromium or Google Chrome.

    Args:
        traj: the run to show; its robot needs a pinocchio model, or its system a method `drawing`.
        path: the file to write.
        t: time in seconds, the middle of the run by default.
        width: pixels.
        height: pixels.

    Returns:
        the file that was written.

    Raises:
        InputError: no browser is found, `t` lies outside the run, or a reason of `export_html`.
    """
    start, end = float(traj.t[0]), float(traj.t[-1])
    moment = (start + end) / 2 if t is None else float(t)
    if not start <= moment <= end:
        raise InputError(f"t = {moment:g} s lies outside the run, which lasts from {start:g} s to {end:g} s")
    _positive("width", width)
    _positive("height", height)
    file = _writable(path)
    with tempfile.TemporaryDirectory(prefix="contactsim-") as folder:
        page = export_html(traj, Path(folder) / "page.html")
        snapshot.take(page, file, f"t={moment!r}&still", width, height)
    return file


@final
class MeshcatViewer:
    """The viewer as a plugin: the module's functions under one name."""

    export_html = staticmethod(export_html)
    export_png = staticmethod(export_png)
    live = staticmethod(live)
    view = staticmethod(view)


def _page(traj: TrajectoryLike, fps: float, speed: float) -> str:
    from . import page

    _positive("fps", fps)
    _positive("speed", speed)
    built, title = _scene(traj, speed / fps)
    return page.write(built, traj, title, speed / fps, speed)


def _scene(traj: TrajectoryLike, step: float) -> tuple[Scene, str]:
    """What is drawn, and what it is called."""
    from . import motion, scene, sketch

    robot = getattr(traj.system, "robot", None)
    model = getattr(robot, "model", None)
    if model is not None:
        return scene.build(traj, motion.sample(traj, step)), model.name or "robot"
    if hasattr(traj.system, "drawing"):
        words = re.findall("[A-Z]?[^A-Z]+|[A-Z]+", type(traj.system).__name__)
        return sketch.build(sketch.sample(traj, step)), " ".join(words).lower()
    kind = type(traj.system if robot is None else robot).__name__
    raise InputError(
        f"the {kind} of this run has no geometry to show; plot its states, build it as a Robot, or give"
        f" {type(traj.system).__name__} a method drawing(t, x, chart) that returns a contactsim.look.Drawing"
    )


def _positive(name: str, value: float) -> None:
    if not (math.isfinite(value) and value > 0):
        raise InputError(f"{name} = {value!r} must be a positive number")


def _writable(path: str | os.PathLike[str]) -> Path:
    file = Path(path)
    if not file.parent.is_dir():
        raise InputError(f"cannot write {file}: the folder {file.parent} does not exist; create it first")
    return file
