"""Files of a run: written while it goes on, and at its end also where the disk is full."""

from __future__ import annotations

import secrets
import shutil
import tempfile
import time as clock
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.markup import escape

from ..common.terminal import interruptible, terminal
from ..errors import StorageError
from ..hybrid.trajectory import Trajectory
from ..io.netcdf import save

NAME = "run.nc"
SHARE = 0.1  # of the time of a run that is spent on checkpoints, at most


class Checkpoints:
    """What was computed so far, written every now and then; a process that is killed leaves that.

    Args:
        folder: of the files: the last run in NAME, those before it beside it.
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
            write(runs(), self._folder, self._text)
        except StorageError as error:
            if not self._told:
                terminal(error=True).print(f"note: no checkpoint: {escape(str(error))}", soft_wrap=True)
            self._told = True
        now = clock.monotonic()
        self._next = now + max(self._period, (now - began) / SHARE)


def write(runs: Sequence[Trajectory], folder: Path, text: str) -> list[Path]:
    """Write the runs of a session in their order, the last as NAME.

    Raises:
        StorageError: the disk is full, or does not let write.
    """
    file = folder / NAME
    names = [file.with_name(f"{file.stem}-{k}{file.suffix}") for k in range(1, len(runs))]
    return [save(run, path, text) for run, path in zip(runs, [*names, file], strict=True)]


def write_somewhere(runs: Sequence[Trajectory], folder: Path, text: str) -> list[Path]:
    """Write finished runs; where that fails, below the folder of temporary files, and say so. Ctrl-C waits for it.

    Raises:
        StorageError: there is no room there, either.
    """
    with interruptible(lambda: None):
        try:
            return write(runs, folder, text)
        except StorageError as error:
            refused = error
        elsewhere = Path(tempfile.gettempdir()) / f"contactsim-{folder.name}-{secrets.token_hex(4)}"
        try:
            elsewhere.mkdir()
            files = write(runs, elsewhere, text)
        except (StorageError, OSError) as error:
            shutil.rmtree(elsewhere, ignore_errors=True)
            raise StorageError(f"{refused}; nor is there room in {elsewhere.parent}") from error
    told = f"contactsim: {refused}; the run is kept in {elsewhere}"
    terminal(error=True).print(escape(told), soft_wrap=True)
    return files
