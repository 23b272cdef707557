"""Work of `contactsim run`: simulate a scene, keep the run also where the disk is full, and tell about it."""

from __future__ import annotations

import re
import secrets
import shutil
import tempfile
import time as clock
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from importlib.util import find_spec
from itertools import chain, count
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from rich.markup import escape
from rich.table import Table

from ..common.files import reason
from ..common.terminal import bar, interruptible, terminal
from ..contact.modes import Mode
from ..errors import CheckError, ContactSimError, InputError, StorageError
from ..hybrid.outcomes import Status
from ..hybrid.simulate import Simulation
from ..hybrid.stiff_arcs import stiffness_note
from ..hybrid.trajectory import Event, Trajectory
from ..io.netcdf import save

RUN_FILE = "run.nc"
SHARE = 0.1  # of the time of a run that is spent on checkpoints, at most


class Checkpoints:
    """What was computed so far, written every now and then; a process that is killed leaves that.

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


HEAD, TAIL = 20, 12  # events at both ends of a long table
PLOT_DPI = 200  # dots an inch, of pictures made of pixels
UNCHECKED = "not checked, so that Ctrl-C ends at once; Trajectory.load('run.nc').check() does it"
NOTHING: Mapping[str, Any] = MappingProxyType({})


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


# --- files ------------------------------------------------------------------------------------------------------


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


def pictures(
    trajectory: Trajectory,
    files: Sequence[Path | None],
    animation: Mapping[str, Any] = NOTHING,
    frame: Mapping[str, Any] = NOTHING,
) -> None:
    """Write a page, a picture and a film, as far as their `files` are given, and say where they are."""
    if not any(files):
        return
    from ..viewing.viewers import export_html, export_mp4, export_png

    exports = (export_html, export_png, export_mp4)
    for export, file, options in zip(exports, files, (animation, frame, animation), strict=True):
        if file is not None:
            wrote(export(trajectory, file, **options))


def show(trajectory: Trajectory, **options: Any) -> None:
    """Play a run in the browser."""
    from ..viewing import viewers

    viewers.view(trajectory, **options)


def demand_plots() -> None:
    """Raise InputError where matplotlib is missing."""
    if find_spec("matplotlib") is None:
        raise InputError("--plots needs matplotlib; pip install matplotlib")


def demand_viewer_tools(kinds: Sequence[str]) -> None:
    """Raise InputError where a program is missing that pictures ("png") or films ("mp4") need."""
    for kind in kinds:
        from ..viewing.viewers import demand_tools

        demand_tools(kind)


def write_plots(trajectory: Trajectory, where: Path) -> list[Path]:
    """Write what a model plots of its run, of any other run its curves over time: NAME.png, .pdf and .svg each."""
    drawn = getattr(trajectory.system, "figures", None)
    own = drawn(trajectory) if drawn is not None else {}
    return save_figures(own or {"plot": trajectory.plot()}, where)


def save_figures(figures: Mapping[str, Any], where: Path) -> list[Path]:
    """Write figures by their names: NAME.png, .pdf and .svg each, in which text stays text."""
    from matplotlib import rc_context

    files = []
    with rc_context({"pdf.fonttype": 42, "svg.fonttype": "none"}):
        for name, figure in figures.items():
            for kind in ("png", "pdf", "svg"):
                files.append(where / f"{name}.{kind}")
                figure.savefig(files[-1], dpi=PLOT_DPI)
    return files


# --- what is printed --------------------------------------------------------------------------------------------


def wrote(file: Path) -> None:
    """Say where a file is, relative to here if it lies below."""
    path = file.resolve()
    here = Path.cwd()
    terminal().print(
        f"wrote {escape(str(path.relative_to(here) if path.is_relative_to(here) else path))}", soft_wrap=True
    )


def report(trajectory: Trajectory, title: str, all_events: bool, checked: bool = True) -> bool:
    """The table of events, how the run ended, and its own residuals; whether these pass its check.

    Not `checked`, a run of which nobody knows how long it became is not looked through again, and that is told.
    """
    console = terminal()
    if trajectory.events:
        console.print(event_table(trajectory.events, title, all_events))
    else:
        console.print("no events")
    notes = [*trajectory.notes, *(note for event in trajectory.events for note in event.notes)]
    if stiff := stiffness_note(trajectory):
        notes.append(stiff)
    for note in dict.fromkeys(notes):
        console.print(f"note: {escape(note)}", soft_wrap=True)
    style = "green" if trajectory.status.complete else "bold red"
    console.print(f"[{style}]{trajectory.status.name.lower()}[/]: {escape(trajectory.message)}", soft_wrap=True)
    line, sound = residual_line(trajectory) if checked else (UNCHECKED, True)
    console.print(line, soft_wrap=True)
    return sound


def event_table(events: list[Event], title: str, everything: bool) -> Table:
    """Time, contacts, what they changed from and to, and the impulse; shortened in the middle where it is long."""
    table = Table(title=f"{escape(title)}: {len(events)} event{'s' * (len(events) != 1)}", title_justify="left")
    table.add_column(escape("time [s]"), justify="right", no_wrap=True)
    table.add_column("contacts")
    table.add_column("from -> to", no_wrap=True)
    table.add_column(escape("impulse [N s]"), justify="right", no_wrap=True)
    fill(table, [list(_rows(event)) for event in events], everything)
    return table


def fill(table: Table, blocks: list[list[tuple[str, ...]]], everything: bool) -> None:
    """Add the rows of each event; those in the middle are left out where there are many, unless `everything` is."""
    hidden = 0 if everything else max(0, len(blocks) - HEAD - TAIL)
    for number, rows in enumerate(blocks):
        if hidden and number == HEAD:
            table.add_row("...", f"{hidden} more events; --all-events prints them")
        if not hidden or number < HEAD or number >= len(blocks) - TAIL:
            for row in rows:
                table.add_row(*row)


def _rows(event: Event) -> Iterator[tuple[str, str, str, str]]:
    """One row for each kind of change at an event; the impulse is the size of the sum over its contacts.

    An impulse has three numbers at a contact and one at a joint limit (or as many as a Mechanism has rows): those of
    different length are not added up.
    """
    groups: dict[tuple[str, int], list[str]] = {}
    for name, (before, after) in event.transitions.items():
        length = np.size(event.impulses.get(name, ()))
        groups.setdefault((in_words(before, after), length), []).append(name)
    moment = f"{event.time:.9f}"
    for (change, _), names in groups.items():
        impulses = [event.impulses[name] for name in names if name in event.impulses]
        size = f"{np.linalg.norm(np.sum(impulses, axis=0)):.4g}" if impulses else ""
        yield moment, escape(", ".join(names)), change, size
        moment = ""


def in_words(before: Any, after: Any) -> str:
    """A transition in words; a contact that is open before and after it bounced."""
    words = f"{_word(before)} -> {_word(after)}"
    return f"{words} (bounce)" if before is after is Mode.OPEN else words


def _word(value: Any) -> str:
    return escape(str(getattr(value, "value", value)))


def residual_line(trajectory: Trajectory) -> tuple[str, bool]:
    """The run's own check in one line, a law that is broken named first, and whether it passes."""
    sound = True
    try:
        report, verdict = trajectory.check(), "[green]check passed[/]"
    except CheckError as error:
        sound = False
        report, verdict = error.problem["report"], f"[bold red]check failed[/]: {escape(str(error))}"
    except ContactSimError as error:
        return f"[bold red]not checked[/]: {escape(str(error))}", False
    figures = (re.sub(r"^(.*?) \[(.*)\]$", rf"\1 {float(value):.2g} \2", law) for law, value in report.items())
    told = ", ".join(escape(figure.replace(" relative", "")) for figure in figures) or "no laws to check"
    return f"{verdict}: {told}", sound
