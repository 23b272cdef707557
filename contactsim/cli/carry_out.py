"""A run from its begin to its files, as `contactsim run` makes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..common.files import held
from ..errors import StorageError
from ..hybrid.trajectory import Trajectory
from . import Code, job
from .job import Checkpoints, write_somewhere


@dataclass(frozen=True)
class Wishes:
    """What is to come of a run.

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


def carry_out(work: job.Job, out: Path | None, wishes: Wishes) -> Code:
    """Run, write, tell.

    Raises:
        InputError: the folder cannot be made, or another run is writing to it.
        StorageError: there is no room for the run anywhere.
    """
    if wishes.plots or wishes.spread:
        job.demand_plots()
    job.demand_viewer_tools(wishes.kinds)
    folder = job.folder(out, work.title)
    with held(folder):
        checkpoints = Checkpoints(folder, work.text, wishes.checkpoint)
        runs = (job.watch if wishes.view else job.simulate)(work.simulation, work.end, work.title, checkpoints)
        trajectory = runs[-1]
        try:
            files = write_somewhere(runs, folder, work.text)
        except StorageError:
            job.report(trajectory, work.title, wishes.all_events, checked=not wishes.view)
            raise
        sound = _write_the_rest(work, trajectory, files, wishes)
    if wishes.view is None and work.view:
        job.show(trajectory, **work.animation)
    if files[-1].parent != folder:
        return Code.MISTAKE
    return Code.OK if trajectory.status.complete and sound else Code.STOPPED


def _write_the_rest(work: job.Job, trajectory: Trajectory, files: Sequence[Path], wishes: Wishes) -> bool:
    """The report, and all files but those of the runs; whether all is sound and whole."""
    folder = files[-1].parent
    sound = job.report(trajectory, work.title, wishes.all_events, checked=not wishes.view)
    for path in (*files, *work.write(trajectory, folder)):
        job.wrote(path)
    if wishes.linearize:
        from .derivative_report import linearize

        sound = linearize(trajectory, files[-1], wishes.all_events) and sound
    animation, frame = work.animation, work.frame
    if wishes.spread:
        from .derivative_report import spread

        beside, moment, figures = spread(trajectory, folder)
        animation, frame = {**animation, **beside}, {"t": moment, **frame, **beside}
        for path in figures:
            job.wrote(path)
    pictures = [folder / f"run.{kind}" if kind in wishes.kinds else None for kind in ("html", "png", "mp4")]
    job.pictures(trajectory, pictures, animation, frame)
    for path in job.write_plots(trajectory, folder) if wishes.plots else ():
        job.wrote(path)
    return sound
