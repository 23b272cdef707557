"""Reports of a run: its events and residuals on the console, and its pictures and figures in files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from rich.markup import escape
from rich.table import Table

from ..common.terminal import terminal
from ..contact.modes import Mode
from ..errors import CheckError, ContactSimError
from ..hybrid.stiff_arcs import stiffness_note
from ..hybrid.trajectory import Event, Trajectory

HEAD, TAIL = 20, 12  # events at both ends of a long table
NOTES = 8  # that are printed of many: heaps tell for each of their modes whose forces are not unique
PLOT_DPI = 200  # dots an inch, of pictures made of pixels
UNCHECKED = "not checked, so that Ctrl-C ends at once; Trajectory.load('run.nc').check() does it"
NOTHING: Mapping[str, Any] = MappingProxyType({})


def wrote(file: Path) -> None:
    """Say where a file is, relative to here if it lies below."""
    path = file.resolve()
    here = Path.cwd()
    terminal().print(
        f"wrote {escape(str(path.relative_to(here) if path.is_relative_to(here) else path))}", soft_wrap=True
    )


def report_run(trajectory: Trajectory, title: str, all_events: bool, checked: bool = True) -> bool:
    """The table of events, how the run ended, and its own residuals; whether these pass its check.

    Not `checked`, a run of which nobody knows how long it became is not looked through again, and that is told.
    """
    console = terminal()
    if trajectory.events:
        console.print(event_table(trajectory.events, title, all_events))
    else:
        console.print("no events")
    found = [*trajectory.notes, *(note for event in trajectory.events for note in event.notes)]
    if stiff := stiffness_note(trajectory):
        found.append(stiff)
    notes = list(dict.fromkeys(found))
    for note in notes if all_events else notes[:NOTES]:
        console.print(f"note: {escape(note)}", soft_wrap=True)
    if not all_events and len(notes) > NOTES:
        console.print(f"note: {len(notes) - NOTES} more notes; --all-events prints them")
    style = "green" if trajectory.status.complete else "bold red"
    console.print(f"[{style}]{trajectory.status.name.lower()}[/]: {escape(trajectory.message)}", soft_wrap=True)
    line, sound = residual_line(trajectory) if checked else (UNCHECKED, True)
    console.print(line, soft_wrap=True)
    return sound


def event_table(events: list[Event], title: str, everything: bool) -> Table:
    """Time, contacts, what they changed from and to, and the impulse; shortened in the middle where it is long."""
    table = Table(title=f"{escape(title)}: {len(events)} event{'s' * (len(events) != 1)}", title_justify="left")
    table.add_column(escape("time [s]"), justify="right", no_wrap=True)
    table.add_column("contacts", min_width=12, overflow="fold")
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


# --- pictures and figures ---------------------------------------------------------------------------------------


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
