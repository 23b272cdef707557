"""What `contactsim run` does: simulate a scene, keep the run, and tell about it."""

from __future__ import annotations

import re
import signal
import time as clock
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from datetime import datetime
from itertools import chain, count
from pathlib import Path
from typing import Any

import numpy as np
from rich.markup import escape
from rich.table import Table

from . import Simulation, look
from .errors import CheckError, ContactSimError, InputError, SimulationError
from .listings import terminal
from .progress import bar
from .scene import Scene, build
from .storage import save as save_run
from .trajectory import Event, Status, Trajectory

HEAD, TAIL = 20, 12  # events at both ends of a long table


def simulate(scene: Scene) -> Trajectory:
    """The run of a scene; Ctrl-C and failures keep what was computed, and its status and message tell of them.

    Raises:
        InputError: the scene cannot be built or started.
    """
    built = build(scene)
    t0, t1 = built.span
    try:
        simulation = Simulation(built.system, built.state, t0, **built.options)
    except SimulationError as error:
        raise InputError(f"the run cannot start: {error}") from error
    began = clock.perf_counter()
    status, message = None, ""
    try:
        with bar(t0, t1) as tick, _interruptible(tick) as told:
            simulation.advance_to(t1, told)
    except KeyboardInterrupt:
        status, message = Status.INTERRUPTED, f"The run was interrupted at t = {simulation.t:.6g} s."
    except ContactSimError as error:
        status, message = Status.FAILED, str(error)
    except Exception as error:
        traceback.print_exc()
        status, message = Status.FAILED, f"{type(error).__name__} at t = {simulation.t:.6g} s: {error}"
    trajectory = simulation.trajectory
    if status is not None:
        trajectory = replace(trajectory, status=status, message=message)
    reached = f"{trajectory.arcs[-1].t1:.6g} s simulated in {clock.perf_counter() - began:.3g} s"
    terminal(error=True).print(f"{escape(scene.title)}: {reached}, {trajectory.evaluations} evaluations")
    return trajectory


@contextmanager
def _interruptible(tick: Callable[[float], None]) -> Iterator[Callable[[float], None]]:
    """A Ctrl-C waits for the end of the step at work, so that the run stays whole; a second one does not wait."""
    asked: list[int] = []

    def ask(number: int, frame: Any) -> None:
        if asked:
            raise KeyboardInterrupt
        asked.append(number)

    def told(t: float) -> None:
        tick(t)
        if asked:
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, ask)
    try:
        yield told
    finally:
        signal.signal(signal.SIGINT, before)


# --- files ------------------------------------------------------------------------------------------------------


def folder(out: Path | None, title: str) -> Path:
    """The folder of the results, made: the one given, or a new one below runs/.

    Raises:
        InputError: it cannot be made.
    """
    dated = Path("runs") / f"{title}-{datetime.now():%Y%m%d-%H%M%S}"
    candidates = chain([dated], (dated.with_name(f"{dated.name}-{k}") for k in count(2)))
    chosen = out or next(candidate for candidate in candidates if not candidate.exists())
    try:
        chosen.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make the folder {chosen} ({error.strerror}); give another with --out") from error
    return chosen


def save(trajectory: Trajectory, where: Path, scene: Scene) -> Path:
    """Write run.nc with its scene."""
    return save_run(trajectory, where / "run.nc", scene.text())


def write_html(trajectory: Trajectory, where: Path, name: str = "run.html") -> Path:
    """Write an offline page."""
    return look.export_html(trajectory, where / name)


def write_png(trajectory: Trajectory, where: Path, name: str = "run.png") -> Path:
    """Write a picture."""
    return look.export_png(trajectory, where / name)


class WithoutForces(Trajectory):
    """A stored run whose forces nobody knows: it is drawn without them."""

    def forces(self, t: float, side: str = "+") -> dict[str, np.ndarray]:
        """None."""
        return {}


def drawable(trajectory: Trajectory) -> Trajectory:
    """The run itself, or without its forces where they need a controller that the file names only."""
    try:
        trajectory.forces(float(trajectory.t[0]))
    except InputError as error:
        terminal(error=True).print(f"drawn without forces: {escape(str(error))}", soft_wrap=True)
        return WithoutForces(**{item.name: getattr(trajectory, item.name) for item in fields(trajectory)})
    return trajectory


def show(trajectory: Trajectory) -> None:
    """Play the run in the browser until Ctrl-C."""
    look.view(trajectory)


# --- what is printed --------------------------------------------------------------------------------------------


def wrote(file: Path) -> None:
    """Say where a file is, relative to here if it lies below."""
    path = file.resolve()
    here = Path.cwd()
    terminal().print(
        f"wrote {escape(str(path.relative_to(here) if path.is_relative_to(here) else path))}", soft_wrap=True
    )


def report(trajectory: Trajectory, title: str, all_events: bool) -> None:
    """The table of events, how the run ended, and its own residuals."""
    console = terminal()
    if trajectory.events:
        console.print(event_table(trajectory.events, title, all_events))
    else:
        console.print("no events")
    for note in dict.fromkeys(note for event in trajectory.events for note in event.notes):
        console.print(f"note: {escape(note)}", soft_wrap=True)
    style = "green" if trajectory.status.complete else "bold red"
    console.print(f"[{style}]{trajectory.status.name.lower()}[/]: {escape(trajectory.message)}", soft_wrap=True)
    console.print(residual_line(trajectory), soft_wrap=True)


def event_table(events: list[Event], title: str, everything: bool) -> Table:
    """Time, contacts, what they changed from and to, and the impulse; shortened in the middle where it is long."""
    table = Table(title=f"{escape(title)}: {len(events)} event{'s' * (len(events) != 1)}", title_justify="left")
    table.add_column("time [s]", justify="right", no_wrap=True)
    table.add_column("contacts")
    table.add_column("from -> to", no_wrap=True)
    table.add_column("impulse [N s]", justify="right", no_wrap=True)
    hidden = 0 if everything else max(0, len(events) - HEAD - TAIL)
    for number, event in enumerate(events):
        if hidden and number == HEAD:
            table.add_row("...", f"{hidden} more events; --all-events prints them", "", "")
        if not hidden or number < HEAD or number >= len(events) - TAIL:
            for row in _rows(event):
                table.add_row(*row)
    return table


def _rows(event: Event) -> Iterator[tuple[str, str, str, str]]:
    """One row for each kind of change at an event; the impulse is the size of the sum over its contacts.

    An impulse has three numbers at a contact and one at a joint limit (or as many as a Mechanism has rows): those of
    different length are not added up.
    """
    groups: dict[tuple[str, str, int], list[str]] = {}
    for name, (before, after) in event.transitions.items():
        length = np.size(event.impulses.get(name, ()))
        groups.setdefault((_word(before), _word(after), length), []).append(name)
    moment = f"{event.time:.9f}"
    for (before, after, _), names in groups.items():
        impulses = [event.impulses[name] for name in names if name in event.impulses]
        size = f"{np.linalg.norm(np.sum(impulses, axis=0)):.4g}" if impulses else ""
        yield moment, escape(", ".join(names)), f"{before} -> {after}", size
        moment = ""


def _word(value: Any) -> str:
    return escape(str(getattr(value, "value", value)))


def residual_line(trajectory: Trajectory) -> str:
    """The run's own check in one line; a law that is broken is named first."""
    try:
        report, verdict = trajectory.check(), "[green]check passed[/]"
    except CheckError as error:
        report, verdict = error.problem["report"], f"[bold red]check failed[/]: {escape(str(error))}"
    except ContactSimError as error:
        return f"[bold red]not checked[/]: {escape(str(error))}"
    figures = (re.sub(r"^(.*?) \[(.*)\]$", rf"\1 {float(value):.2g} \2", law) for law, value in report.items())
    return (
        f"{verdict}: {', '.join(escape(figure.replace(' relative', '')) for figure in figures) or 'no laws to check'}"
    )
