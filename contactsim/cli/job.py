"""A run of `contactsim run` from its start to its files: simulated or watched, and kept also where the disk is full."""

from __future__ import annotations

import secrets
import shutil
import tempfile
import time as clock
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from datetime import datetime
from importlib.util import find_spec
from itertools import chain, count
from pathlib import Path
from typing import Any

from rich.markup import escape

from ..common.files import held, reason
from ..common.lazy import dataclass
from ..common.terminal import bar, interruptible, terminal
from ..errors import ContactSimError, InputError, StorageError
from ..hybrid.outcomes import Status
from ..hybrid.simulate import Simulation
from ..hybrid.trajectory import Trajectory
from ..io.netcdf import save
from . import Code, report

RUN_FILE = "run.nc"
SHARE = 0.1  # of the time of a run that is spent on checkpoints, at most


class Checkpoints:
    """Checkpoints: the part computed so far, written every now and then; a process that is killed leaves that.

    Args:
        folder: of the files: the last run in RUN_FILE, those before it beside it.
        text: the scene (TOML) of the run.
        period: how often [s on the wall]; less often where writing takes more than SHARE of the time, and never where
            it is zero.
    """

    def __init__(self, folder: Path, text: str, period: float) -> None:
        self._folder, self._text, self._period = folder, text, period
        self._next, self._told = clock.monotonic() + period, False

    def look(self, runs: Callable[[], Sequence[Trajectory]]) -> None:
        """Write the runs where it is time to."""
        began = clock.monotonic()
        if not self._period or began < self._next:
            return
        try:
            write_runs(runs(), self._folder, self._text)
        except StorageError as error:
            if not self._told:
                terminal(error=True).print(f"note: no checkpoint: {escape(str(error))}", soft_wrap=True)
            self._told = True
        now = clock.monotonic()
        self._next = now + max(self._period, (now - began) / SHARE)


def write_runs(runs: Sequence[Trajectory], folder: Path, text: str) -> list[Path]:
    """Write the runs of a session in their order, the last as RUN_FILE.

    Raises:
        StorageError: the disk is full, or does not let write.
    """
    file = folder / RUN_FILE
    names = [file.with_name(f"{file.stem}-{k}{file.suffix}") for k in range(1, len(runs))]
    return [save(run, path, text) for run, path in zip(runs, [*names, file], strict=True)]


def write_somewhere(runs: Sequence[Trajectory], folder: Path, text: str) -> list[Path]:
    """Write finished runs; where that fails, below the folder of temporary files, and say so. Ctrl-C waits for it.

    Raises:
        StorageError: there is no room there, either.
    """
    with interruptible(lambda: None):
        try:
            return write_runs(runs, folder, text)
        except StorageError as error:
            refused = error
        elsewhere = Path(tempfile.gettempdir()) / f"contactsim-{folder.name}-{secrets.token_hex(4)}"
        try:
            elsewhere.mkdir()
            files = write_runs(runs, elsewhere, text)
        except (StorageError, OSError) as error:
            shutil.rmtree(elsewhere, ignore_errors=True)
            raise StorageError(f"{refused}; nor is there room in {elsewhere.parent}") from error
    told = f"contactsim: {refused}; the run is kept in {elsewhere}"
    terminal(error=True).print(escape(told), soft_wrap=True)
    return files


@dataclass(frozen=True)
class Job:
    """A run that is ready to start.

    Attributes:
        title: what it is called.
        simulation: at its start.
        end: when it ends [s].
        text: its scene file (TOML); empty for a model.
        write: writes what a model leaves behind besides run.nc: (trajectory, folder) -> files.
        view: whether the run itself asks for the viewer.
        animation: keyword arguments of `view` and `export_html`, such as fps.
        frame: keyword arguments of `export_png`, such as width and height.
    """

    title: str
    simulation: Simulation
    end: float
    text: str
    write: Callable[[Trajectory, Path], tuple[Path, ...]] = lambda trajectory, folder: ()
    view: bool = False
    animation: Mapping[str, Any] = field(default_factory=dict)
    frame: Mapping[str, Any] = field(default_factory=dict)


def simulate(simulation: Simulation, t1: float, title: str, checkpoints: Checkpoints | None = None) -> list[Trajectory]:
    """The run up to `t1` [s]; Ctrl-C and failures keep what was computed, its status and message tell of them."""

    def go() -> Trajectory:
        with bar(simulation.t, t1) as tick, _stoppable(tick) as told:

            def after_step(t: float) -> None:
                if checkpoints is not None:
                    checkpoints.look(lambda: [simulation.trajectory])
                told(t)

            simulation.advance_to(t1, after_step)
        return simulation.trajectory

    return [_kept(go, lambda: simulation, title)]


def with_ghosts(work: Job, others: Mapping[str, Job]) -> Job:
    """The job with other runs, by what they are called, which are simulated and shown beside it."""
    ghosts = {name: simulate(other.simulation, other.end, name)[-1] for name, other in others.items()}
    beside = {"ghosts": ghosts}
    return replace(work, animation={**work.animation, **beside}, frame={**work.frame, **beside})


def watch(
    simulation: Simulation,
    t1: float,
    title: str,
    checkpoints: Checkpoints | None = None,
    open_browser: bool = True,
) -> list[Trajectory]:
    """The runs while somebody looks on in the browser, until Ctrl-C.

    It starts with the first look, pauses at `t1` [s], and goes on if it is let.

    What is returned was made since it was last started: one run for each contact law that it had, in their order.
    """
    from ..viewing.session import Session
    from ..viewing.viewers import view

    def after_step(t: float) -> None:
        if checkpoints is not None:
            checkpoints.look(lambda: session.runs)

    session = Session(simulation, t1, title=title, playing=False, after_step=after_step)

    def go() -> Trajectory:
        view(session, open_browser=open_browser)
        return session.trajectory

    last = _kept(go, lambda: session.simulation, title, lambda: session.begun)
    return [*session.runs[:-1], last]


def _kept(
    go: Callable[[], Trajectory],
    simulation: Callable[[], Simulation],
    title: str,
    begun: Callable[[], bool] = lambda: True,
) -> Trajectory:
    """The run that `go` returns; interrupted or failed after its begin, as far as it was computed."""
    began = clock.perf_counter()
    try:
        trajectory = go()
    except KeyboardInterrupt:
        why = simulation().held_up()
        trajectory = _ended(simulation(), Status.INTERRUPTED, "The run was interrupted", f" ({why})." if why else ".")
    except ContactSimError as error:
        if not begun() or (isinstance(error, InputError) and simulation().t == simulation().t0):
            raise  # there is nothing to keep
        trajectory = replace(simulation().trajectory, status=Status.FAILED, message=str(error))
    except Exception as error:
        traceback.print_exc()
        trajectory = _ended(simulation(), Status.FAILED, f"{type(error).__name__}", f": {error}")
    reached = f"{trajectory.arcs[-1].t1:.6g} s simulated in {clock.perf_counter() - began:.3g} s"
    terminal(error=True).print(f"{escape(title)}: {reached}, {trajectory.evaluations} evaluations")
    return trajectory


def _ended(simulation: Simulation, status: Status, what: str, reason: str = ".") -> Trajectory:
    message = f"{what} at t = {simulation.t:.6g} s{reason}"
    return replace(simulation.trajectory, status=status, message=message)


@contextmanager
def _stoppable(tick: Callable[[float], None]) -> Iterator[Callable[[float], None]]:
    """A `tick` that ends the run after the step in which Ctrl-C was pressed."""
    asked: list[bool] = []

    def told(t: float) -> None:
        tick(t)
        if asked:
            raise KeyboardInterrupt

    with interruptible(lambda: asked.append(True)):
        yield told


# --- a run to its files -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RunOptions:
    """Options of the command that say what becomes of a run.

    Attributes:
        kinds: of pictures: "html", "png", "mp4".
        plots, linearize, all_events: as of the command.
        view: True: it is run in the browser; False: it is not shown, either, where its file asks for that.
        spread: whether a cloud of starts is carried through the first landing.
        checkpoint: how often what was computed is written [s on the wall]; 0: at the end.
    """

    kinds: Sequence[str]
    plots: bool
    view: bool | None
    linearize: bool
    all_events: bool
    checkpoint: float
    spread: bool = False


def carry_out(work: Job, out: Path | None, options: RunOptions) -> Code:
    """Run, write, tell.

    Raises:
        InputError: the folder cannot be made, or another run is writing to it.
        StorageError: there is no room for the run anywhere.
    """
    if options.plots or options.spread:
        demand_plots()
    demand_viewer_tools(options.kinds)
    place = folder(out, work.title)
    with held(place):
        checkpoints = Checkpoints(place, work.text, options.checkpoint)
        runs = (watch if options.view else simulate)(work.simulation, work.end, work.title, checkpoints)
        trajectory = runs[-1]
        try:
            files = write_somewhere(runs, place, work.text)
        except StorageError:
            report.report_run(trajectory, work.title, options.all_events, checked=not options.view)
            raise
        sound = _write_the_rest(work, trajectory, files, options)
    if options.view is None and work.view:
        report.show(trajectory, **work.animation)
    if files[-1].parent != place:
        return Code.MISTAKE
    return Code.OK if trajectory.status.complete and sound else Code.STOPPED


def _write_the_rest(work: Job, trajectory: Trajectory, files: Sequence[Path], options: RunOptions) -> bool:
    """Print the report and write all files but those of the runs; True where all is sound and whole."""
    folder = files[-1].parent
    sound = report.report_run(trajectory, work.title, options.all_events, checked=not options.view)
    for path in (*files, *work.write(trajectory, folder)):
        report.wrote(path)
    if options.linearize:
        from .derivative_report import linearize

        sound = linearize(trajectory, files[-1], options.all_events) and sound
    animation, frame = work.animation, work.frame
    if options.spread:
        from .derivative_report import spread

        beside, moment, figures = spread(trajectory, folder)
        animation, frame = {**animation, **beside}, {"t": moment, **frame, **beside}
        for path in figures:
            report.wrote(path)
    pictures = [folder / f"run.{kind}" if kind in options.kinds else None for kind in ("html", "png", "mp4")]
    report.pictures(trajectory, pictures, animation, frame)
    for path in report.write_plots(trajectory, folder) if options.plots else ():
        report.wrote(path)
    return sound


def folder(out: Path | None, title: str) -> Path:
    """The folder of the results, made: the one given, or a new one below runs/."""
    dated = Path("runs") / f"{title}-{datetime.now():%Y%m%d-%H%M%S}"
    names = [out] if out else chain([dated], (dated.with_name(f"{dated.name}-{k}") for k in count(2)))
    for chosen in names:
        try:
            chosen.mkdir(parents=True, exist_ok=chosen == out)
            return chosen
        except OSError as error:
            if chosen == out or not chosen.is_dir():
                raise InputError(
                    f"cannot make the folder {chosen} ({reason(error)}); give another with --out"
                ) from error
    raise AssertionError("there is no end of names")


def demand_plots() -> None:
    """Raise InputError where matplotlib is missing."""
    if find_spec("matplotlib") is None:
        raise InputError("--plots needs matplotlib; pip install matplotlib")


def demand_viewer_tools(kinds: Sequence[str]) -> None:
    """Raise InputError where a program is missing that pictures ("png") or films ("mp4") need."""
    for kind in kinds:
        from ..viewing.viewers import demand_tools

        demand_tools(kind)
