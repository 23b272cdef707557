"""Pictures of a run, drawn by the registered viewer; `common.drawing` has the words for what a model looks like."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..common import registry
from ..common.arguments import NAME, PATH, arguments, custom
from ..common.telling import tell
from ..errors import InputError
from ..hybrid.trajectory import Trajectory
from .curves import curves
from .notebooks import cell_of, in_notebook, live_cell_of

if TYPE_CHECKING:
    from .session import Session


def _written(given: Any) -> Any:
    if Path(PATH.take(given)).is_dir():
        raise ValueError
    return given


def _ending(*suffixes: str) -> Any:
    """A path of a file that ends in one of the suffixes, or has none."""

    def take(given: Any) -> Any:
        if Path(_written(given)).suffix.lower() not in ("", *suffixes):
            raise ValueError
        return given

    return custom(f"the path of a file that ends in {suffixes[0]}", take)


WRITTEN = custom("the path of a file, which is no folder", _written)
PAGE, PICTURE = _ending(".html", ".htm"), _ending(".png")


@arguments(viewer=NAME)
def view(what: Any, state: Any = None, *, viewer: str = "meshcat", **options: Any) -> Any:
    """Show a run, or run a system while it is shown, in the browser until Ctrl-C; in a notebook in its cell, at once.

    Args:
        what: a Trajectory to play; or a system, a Simulation or a Session to run in real time, with controls in the
            page.
        state: where a system starts; by default a robot in its nominal pose above ground, or a model's own start.
        viewer: name of the viewer.
        options: of the viewer, such as `open_browser`; in a notebook `height`, of the page in its cell [px].

    Returns:
        None for a Trajectory, else the run that was made. In a notebook the page that the cell shows: a `Cell`, or a
        `LiveCell` whose session goes on until its `close()`.

    Raises:
        InputError: `what` is something else, or has no geometry to show.
    """
    shown = registry.load("viewers", viewer)()
    inline = in_notebook()
    if hasattr(what, "arcs"):
        if inline:
            return cell_of(shown, _drawable(what), _with_curves(shown, what, options))
        return shown.view(_drawable(what), **_with_curves(shown, what, options))
    if not hasattr(shown, "live"):
        raise InputError(f"the viewer '{viewer}' shows finished runs only; give it a Trajectory")
    if inline and hasattr(shown, "beside"):
        return live_cell_of(shown, _session(what, state), options)
    return shown.live(_session(what, state), **options)


def _session(what: Any, state: Any) -> Session:
    from .session import Session, begin

    if isinstance(what, Session):
        return what
    return Session(begin(what, state), title=_title(what), playing=False)


def _title(what: Any) -> str:
    system = getattr(what, "system", what)
    return getattr(getattr(system, "robot", None), "name", "") or type(system).__name__


class _WithoutForces(Trajectory):
    """A stored run whose forces nobody knows: it is drawn without them."""

    def forces(self, t: float, side: str = "+") -> dict[str, np.ndarray]:
        """None."""
        return {}


def _with_curves(shown: Any, trajectory: Any, options: dict[str, Any]) -> dict[str, Any]:
    """The options, and for a viewer that plots what there is to plot of the run."""
    if not getattr(shown, "plots_curves", False) or not isinstance(trajectory, Trajectory):
        return options
    return {"curves": curves(trajectory.system), **options}


def _drawable(trajectory: Trajectory) -> Trajectory:
    """The run itself, or without its forces where they need a controller that the file names only."""
    if not hasattr(trajectory, "system"):
        raise InputError(f"a {type(trajectory).__name__} cannot be drawn; give a Trajectory, which simulate returns")
    if not isinstance(trajectory, Trajectory):  # a record of somebody else's that is read like one
        return trajectory
    first = trajectory.arcs[0]
    try:
        first.system.forces(first.t0, first(first.t0), first.mode)
    except InputError as error:
        tell(f"drawn without forces: {error}")
        return _WithoutForces(**{item.name: getattr(trajectory, item.name) for item in fields(trajectory)})
    return trajectory


@arguments(path=PAGE, viewer=NAME)
def export_html(trajectory: Trajectory, path: str | Path, viewer: str = "meshcat", **options: Any) -> Path:
    """Write a run as one offline page; returns its path.

    Args:
        trajectory: the run; of a robot, or of a system that draws itself.
        path: the file to write.
        viewer: name of the viewer.
        options: of the viewer. Of "meshcat": `fps`, frames a second (60); `speed`, seconds of the run in a second (1);
            `sight`, a direction (x, y, z) from what is shown to the camera, and `zoom` (1); `show` and `hide`, names
            of groups ("forces", "cones", "impulses", "traces") that are seen when the page opens, or not; `ghosts`,
            {name: run} of other runs, in glass; `linearization`, that of the run, for the list of events; `spreads`,
            what `Linearization.spread` returns; `curves`, what is plotted below, by default of the system.

    Raises:
        InputError: there is nothing to draw, the file cannot be written, or an option is out of range.
        PluginError: there is no such viewer.
    """
    shown = registry.load("viewers", viewer)()
    return shown.export_html(_drawable(trajectory), path, **_with_curves(shown, trajectory, options))


@arguments(path=PICTURE, viewer=NAME)
def export_png(trajectory: Trajectory, path: str | Path, viewer: str = "meshcat", **options: Any) -> Path:
    """Write a picture of a run; returns its path.

    Args:
        trajectory, path, viewer: as of `export_html`.
        options: of the viewer. Of "meshcat": `t`, the time [s], by default the middle of the run; `width` (1280) and
            `height` (800) in pixels; and those of `export_html`.

    Raises:
        InputError: no browser is found (Chromium or Chrome), `t` is outside the run, or a reason of `export_html`.
    """
    shown = registry.load("viewers", viewer)()
    return shown.export_png(_drawable(trajectory), path, **_with_curves(shown, trajectory, options))


@arguments(path=WRITTEN, viewer=NAME)
def export_mp4(trajectory: Trajectory, path: str | Path, viewer: str = "meshcat", **options: Any) -> Path:
    """Write a film of a run; returns its path.

    Args:
        trajectory, path, viewer: as of `export_html`.
        options: of the viewer. Of "meshcat": `fps`, frames a second (30); `width` (1280) and `height` (800) in pixels,
            even; and those of `export_html`.

    Raises:
        InputError: the viewer makes no films, or a program that it needs is missing.
    """
    shown = registry.load("viewers", viewer)()
    if not hasattr(shown, "export_mp4"):
        raise InputError(f"the viewer '{viewer}' makes no films; write a page with export_html")
    return shown.export_mp4(_drawable(trajectory), path, **_with_curves(shown, trajectory, options))


def demand_tools(kind: str) -> None:
    """Ask the viewer for the programs that a picture ("png") or a film ("mp4") needs, before a long run is begun.

    Raises:
        InputError: one of them is missing.
    """
    demand = getattr(registry.load("viewers", "meshcat"), "demand_tools", None)
    if demand is not None:
        demand(kind)
