"""The derivative of a run as the command computes, prints and stores it, and the cloud of its landing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from rich.markup import escape
from rich.progress import track
from rich.table import Table

from ..analysis.linearization import Linearization
from ..analysis.linearization import linearize as derivative_of
from ..common.arrays import Array
from ..common.terminal import terminal
from ..derivatives.linearized_event import EventLinearization
from ..errors import ContactSimError, NonDifferentiableError
from ..hybrid.trajectory import Trajectory
from ..io.netcdf_derivatives import EventSummary, save_linearization, summary
from .report import fill, in_words, save_figures

EIGENVALUES = 3  # of a saltation matrix, the largest
REASONS = 5  # sentences on matrices that do not exist


def linearize(trajectory: Trajectory, file: Path, all_events: bool) -> bool:
    """The derivative of the run: printed, and added to its file; whether it was not interrupted."""
    console = terminal(error=True)
    try:
        lin = derivative_of(trajectory)
        visible = dict.fromkeys(lin.events)
        summaries: dict[EventLinearization, EventSummary] = {}
        for stretch in track(
            lin.stretches(), "linearizing", console=console, transient=True, disable=not console.is_terminal
        ):
            if not isinstance(stretch.piece, EventLinearization):
                lin.along(stretch)
            elif stretch.piece in visible:
                summaries[stretch.piece] = summary(stretch.piece)
        report_linearization(lin, summaries, all_events)
        save_linearization(lin, file, summaries)
    except KeyboardInterrupt:
        console.print("the linearization was interrupted; the run itself is kept")
        return False
    except ContactSimError as error:
        terminal().print(f"[bold red]no linearization[/]: {escape(str(error))}", soft_wrap=True)
        return True
    terminal().print("the matrices are in the group 'linearization' of the file")
    return True


def report_linearization(
    lin: Linearization, summaries: Mapping[EventLinearization, EventSummary], all_events: bool
) -> None:
    """The table of saltation matrices, why some do not exist, and the matrix of the whole run."""
    console = terminal()
    if summaries:
        table = Table(title="saltation matrices", title_justify="left")
        for heading, justify in (("time [s]", "right"), ("contacts", "left"), ("from -> to", "left")):
            table.add_column(escape(heading), justify=justify, no_wrap=heading != "contacts")  # type: ignore[arg-type]
        for heading in ("norm", "|eigenvalues|", "pieces"):
            table.add_column(heading, justify="right", no_wrap=True)
        fill(table, [[_saltation_row(event, found)] for event, found in summaries.items()], all_events)
        console.print(table)
    reasons = dict.fromkeys(found.reason for found in summaries.values() if found.reason)
    for reason in reasons if all_events else list(reasons)[:REASONS]:
        console.print(f"none: {escape(reason)}", soft_wrap=True)
    if not all_events and len(reasons) > REASONS:
        console.print(f"none: {len(reasons) - REASONS} more such events; --all-events prints them")
    broken = [event.time for event, found in summaries.items() if found.saltation is None]
    start = broken[-1] if broken else lin.t0
    if broken:
        console.print("the matrix of the whole run does not exist; that behind the last such event:")
    try:
        console.print(_matrix_line(lin.matrix(start), start, lin.t1))
        tangent = lin.tangent(start)
        console.print(
            f"{tangent.shape[1]} of {tangent.shape[0]} directions at {start:.6g} s keep the mode of that moment"
        )
    except NonDifferentiableError as error:  # at an event that the table does not show
        console.print(f"none: {escape(str(error))}", soft_wrap=True)


def _saltation_row(event: EventLinearization, found: EventSummary) -> tuple[str, ...]:
    changes = (change for part in event.events for change in part.transitions.values())
    words = ", ".join(dict.fromkeys(in_words(before, after) for before, after in changes))
    row = (f"{event.time:.9f}", escape(", ".join(event.contacts)), words)
    if found.saltation is None:
        return (*row, "none", "", "" if found.pieces is None else str(found.pieces))
    square = found.saltation.shape[0] == found.saltation.shape[1]
    largest = np.abs(event.eigenvalues[:EIGENVALUES]) if square else ()
    values = "identity" if event.is_identity else ", ".join(f"{value:.4g}" for value in largest)
    return (*row, f"{_norm(found.saltation):.4g}", values, str(found.pieces))


def _matrix_line(matrix: Array, t0: float, t1: float) -> str:
    line = f"D x({t1:.6g} s) / D x({t0:.6g} s): {matrix.shape[0]} x {matrix.shape[1]}, norm {_norm(matrix):.4g}"
    if matrix.shape[0] != matrix.shape[1]:
        return line
    return f"{line}, spectral radius {float(np.abs(np.linalg.eigvals(matrix)).max(initial=0.0)):.4g}"


def _norm(matrix: Array) -> float:
    return float(np.linalg.norm(matrix, 2)) if matrix.size else 0.0


SLOWLY = 0.01  # seconds of the run in a second of the page: a landing is soon over


def spread(trajectory: Trajectory, folder: Path) -> tuple[dict[str, Any], float | None, list[Path]]:
    """Options of pictures that show the cloud with and without saltation, when it is behind, and files of its figure.

    A run without a landing that has a derivative leaves nothing behind but the reason.
    """
    from ..analysis.landing import landing
    from ..viewing.plots import plot_landing

    try:
        lin = derivative_of(trajectory)
        clouds = [landing(lin, corrected=kind) for kind in (True, False)]
    except ContactSimError as error:
        terminal().print(f"[bold red]no cloud of a landing[/]: {escape(str(error))}", soft_wrap=True)
        return {}, None, []
    count = len(Counter(clouds[0].orders))
    terminal().print(
        f"a cloud through the landing at t = {clouds[0].t[len(clouds[0].t) // 2]:.6g} s: {count} orders of touch-downs,"
        " a linear piece and a colour each"
    )
    look = {"spreads": clouds, "linearization": lin, "speed": SLOWLY, "hide": [clouds[1].name]}
    return look, float(clouds[0].t[-1]), save_figures({"spread": plot_landing(clouds[0])}, folder)
