"""The cloud of a landing, as the command makes it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from rich.markup import escape

from ..analysis.landing import landing
from ..analysis.linearization import linearize
from ..common.terminal import terminal
from ..errors import ContactSimError
from ..hybrid.trajectory import Trajectory
from ..viewing.spread_figure import plot_landing
from .job import save_figures

SLOWLY = 0.01  # seconds of the run in a second of the page: a landing is soon over


def spread(trajectory: Trajectory, folder: Path) -> tuple[dict[str, Any], float | None, list[Path]]:
    """Options of pictures that show the cloud with and without saltation, when it is behind, and files of its figure.

    A run without a landing that has a derivative leaves nothing behind but the reason.
    """
    try:
        lin = linearize(trajectory)
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
