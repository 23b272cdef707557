"""The viewer: three functions, and the class under which they are registered."""

from __future__ import annotations

import math
import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, final

from contactsim.errors import InputError

from . import browser
from .protocols import SessionLike, TrajectoryLike, marks

if TYPE_CHECKING:
    from .scene import Scene


@dataclass(frozen=True)
class _PageOptions:
    """Options of a page; see `export_html`."""

    fps: float = 60.0
    speed: float = 1.0
    linearization: Any | None = None
    spreads: Sequence[Any] = ()
    sight: Sequence[float] | None = None
    zoom: float = 1.0
    show: Sequence[str] = ()
    hide: Sequence[str] = ()
    curves: Sequence[Any] = ()
    ghosts: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("fps", "speed", "zoom"):
            _positive(name, getattr(self, name))
        if self.sight is not None:
            sight = [float(x) for x in self.sight]
            if len(sight) != 3 or not all(map(math.isfinite, sight)) or not any(sight):
                raise InputError(f"sight = {self.sight!r} must be a direction (x, y, z) from the robot to the camera")

    @property
    def step(self) -> float:
        """Seconds of the run between two frames."""
        return self.speed / self.fps


def export_html(
    traj: TrajectoryLike,
    path: str | os.PathLike[str],
    *,
    fps: float = 60.0,
    speed: float = 1.0,
    linearization: Any | None = None,
    spreads: Sequence[Any] = (),
    sight: Sequence[float] | None = None,
    zoom: float = 1.0,
    show: Sequence[str] = (),
    hide: Sequence[str] = (),
    curves: Sequence[Any] = (),
    ghosts: Mapping[str, Any] = MappingProxyType({}),
) -> Path:
    """Write one offline HTML file in which the robot (or what a system draws) moves; returns its path.

    Args:
        traj: the run to show; its robot needs a pinocchio model, or its system a method `drawing`.
        path: the file to write.
        fps: frames a second on the screen.
        speed: seconds of the run played in a second; 0.1 is slow motion.
        linearization: `contactsim.linearize(traj)`; the list of events then tells the norm of each saltation matrix.
        spreads: clouds of perturbed states of a Robot to show, as `lin.spread(...)` makes them.
        sight: direction (x, y, z) from what is shown to the camera, z up; None: from the front and the side.
        zoom: how much closer than usual the camera is.
        show: groups that are seen when the page opens: "forces", "cones", "impulses", "traces", or a spread's name.
        hide: groups that are not.
        ghosts: {name: run} of other runs that are shown beside this one, in glass, at the same times.
        curves: what is plotted below the picture, as `contactsim.viewing.curves` makes them of a system.

    Raises:
        InputError: there is no geometry to show, the folder does not exist, or a number is not positive.
    """
    file = _writable(path)
    chosen = _PageOptions(
        fps, speed, linearization, tuple(spreads), sight, zoom, tuple(show), tuple(hide), tuple(curves), ghosts
    )
    file.write_text(_page(traj, chosen), encoding="utf-8")
    return file


def view(traj: TrajectoryLike, open_browser: bool = True, **options: Any) -> None:
    """Play the trajectory in the browser in real time, until Ctrl-C; `open_browser=False` only prints the address.

    The other options, and the errors, are those of `export_html`.
    """
    from . import server

    server.show(_page(traj, _page_options(options)), open_browser)


def live(
    session: SessionLike,
    open_browser: bool = True,
    port: int = 0,
    *,
    show: Sequence[str] = (),
    hide: Sequence[str] = (),
) -> Any:
    """Show a simulation in the browser while it runs, with controls, until Ctrl-C; returns the run.

    One that is not played yet is played from the first look on.

    Args:
        session: a `contactsim.viewing.session.Session`.
        open_browser: False only prints the address.
        port: where the page is served, on this machine only; 0: any that is free.
        show: groups that are seen when the page opens: "forces", "cones", "impulses" or "traces".
        hide: groups that are not.

    Raises:
        InputError: its system has no geometry to show, or no such group.
    """
    from .live import Live
    from .server import announce

    with Live(session, port, not session.moment.playing, show, hide) as page:
        announce(page.address, open_browser)
        return session.run()


def beside(session: SessionLike, port: int = 0, *, show: Sequence[str] = (), hide: Sequence[str] = ()) -> Any:
    """A simulation on a live page, run in a thread of its own: has an `address`, and `close` ends it.

    Args:
        session, port, show, hide: as of `live`.

    Raises:
        InputError: its system has no geometry to show, or no such group.
    """
    from .live import Live

    return Live(session, port, not session.moment.playing, show, hide).start()


def export_png(
    traj: TrajectoryLike,
    path: str | os.PathLike[str],
    t: float | None = None,
    width: int = 1280,
    height: int = 800,
    **options: Any,
) -> Path:
    """Write a picture of the trajectory, `width` x `height` pixels, at one time; needs Chromium or Google Chrome.

    Args:
        traj, path, options: as for `export_html`.
        t: time in seconds, the middle of the run by default.
        width, height: pixels.

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
        page = export_html(traj, Path(folder) / "page.html", **options)
        browser.take_picture(page, file, moment, width, height)
    return file


def export_mp4(
    traj: TrajectoryLike,
    path: str | os.PathLike[str],
    *,
    fps: float = 30.0,
    width: int = 1280,
    height: int = 800,
    **options: Any,
) -> Path:
    """Write a film of the trajectory; needs Chromium or Google Chrome, and ffmpeg.

    Args:
        traj, path, options: as for `export_html`.
        fps: frames a second.
        width, height: pixels, even.

    Raises:
        InputError: no browser or no ffmpeg is found, or a reason of `export_html`.
    """
    from . import film

    for name, pixels in (("width", width), ("height", height)):
        _positive(name, pixels)
        if pixels % 2:
            raise InputError(f"{name} = {pixels} is odd; a film needs an even number of pixels")
    file, chosen = _writable(path), _page_options({"fps": fps, **options})
    film.demand_tools()
    duration = float(traj.t[-1]) - float(traj.t[0])
    with tempfile.TemporaryDirectory(prefix="contactsim-") as folder:
        page = Path(folder) / "page.html"
        page.write_text(_page(traj, chosen), encoding="utf-8")
        film.take(page, file, film.Reel(fps, chosen.step, duration, width, height))
    return file


def demand_tools(kind: str) -> None:
    """Raise InputError where a browser is missing for a picture ("png"), or ffmpeg as well for a film ("mp4")."""
    from . import film

    if kind == "png":
        browser.demand_browser("a picture")
    if kind == "mp4":
        film.demand_tools()


@final
class MeshcatViewer:
    """The viewer as a plugin: the module's functions under one name."""

    plots_curves = True  # `view` and `export_html` take `curves`
    demand_tools = staticmethod(demand_tools)
    export_html = staticmethod(export_html)
    export_mp4 = staticmethod(export_mp4)
    export_png = staticmethod(export_png)
    beside = staticmethod(beside)
    live = staticmethod(live)
    view = staticmethod(view)


def _page_options(options: Mapping[str, Any]) -> _PageOptions:
    """Options that came by their names."""
    known = [item.name for item in fields(_PageOptions)]
    for name in options:
        if name not in known:
            raise InputError(f"the viewer has no option '{name}'; there are {', '.join(known)}")
    return _PageOptions(**options)


def _page(traj: TrajectoryLike, chosen: _PageOptions) -> str:
    from . import page
    from .scene import switched

    built, title = _scene(traj, chosen)
    built = replace(built, groups=switched(built.groups, chosen.show, chosen.hide))
    return page.write(built, traj, title, chosen.step, chosen.speed, chosen.linearization, chosen.curves)


def _scene(traj: TrajectoryLike, chosen: _PageOptions) -> tuple[Scene, str]:
    """The thing to draw, and its title."""
    from . import sketch

    robot = getattr(traj.system, "robot", None)
    model = getattr(robot, "model", None)
    if model is not None:
        return _robot_scene(traj, chosen), getattr(robot, "name", "") or model.name or "robot"
    if hasattr(traj.system, "drawing"):
        if chosen.spreads:
            raise InputError("spreads are shown around a Robot only; leave 'spreads' empty, or plot them")
        if chosen.ghosts:
            raise InputError("other runs are shown beside that of a Robot only; leave 'ghosts' empty")
        words = re.findall("[A-Z]?[^A-Z]+|[A-Z]+", type(traj.system).__name__)
        built = sketch.build(sketch.sample(traj, chosen.step), chosen.sight, chosen.zoom)
        return built, " ".join(words).lower()
    kind = type(traj.system if robot is None else robot).__name__
    raise InputError(
        f"the {kind} of this run has no geometry to show; plot its states, build it as a Robot, or give"
        f" {type(traj.system).__name__} a method drawing(t, x, chart) that returns a contactsim.look.Drawing"
    )


def _robot_scene(traj: TrajectoryLike, chosen: _PageOptions) -> Scene:
    from . import layers, motion, page, scene
    from .spread import spread_layers

    sampled = motion.sample(traj, chosen.step, chosen.speed)
    over = (*layers.ROBOT_LAYERS, *spread_layers(chosen.spreads), *layers.ghost_layers(chosen.ghosts))
    built = scene.build(traj, sampled, over, chosen.sight, chosen.zoom)
    names = [contact.name for contact in marks(traj.system.robot)]
    return replace(built, captions=page.modes_in_words(names, sampled))


def _positive(name: str, value: float) -> None:
    if not (math.isfinite(value) and value > 0):
        raise InputError(f"{name} = {value!r} must be a positive number")


def _writable(path: str | os.PathLike[str]) -> Path:
    file = Path(path)
    if not file.parent.is_dir():
        raise InputError(f"cannot write {file}: the folder {file.parent} does not exist; create it first")
    return file
