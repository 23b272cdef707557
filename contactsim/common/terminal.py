"""The console of the command, and progress bars."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


def terminal(error: bool = False) -> Console:
    """The console, as wide as the terminal, and 120 columns wide into a file or a pipe."""
    from rich.console import Console

    console = Console(stderr=error, highlight=False)
    return (
        console if console.is_terminal or "COLUMNS" in os.environ else Console(stderr=error, highlight=False, width=120)
    )


@contextmanager
def bar(t0: float, t1: float) -> Iterator[Callable[[float], None]]:
    """A bar from `t0` to `t1` [s], if the error stream is a terminal; yields a function that is told the time."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn("simulating"), BarColumn(), TextColumn("{task.completed:.3f} of {task.total:.3f} s"))
    shown = console.is_terminal
    with Progress(*columns, TimeRemainingColumn(), console=console, transient=True, disable=not shown) as progress:
        task = progress.add_task("simulating", total=t1 - t0)
        yield lambda t: progress.update(task, completed=t - t0)


@contextmanager
def counting(
    what: str, total: int, done: int = 0, show: bool = True, note: str = ""
) -> Iterator[Callable[[int], None]]:
    """A bar over so many things, if the error stream is a terminal; yields a function that is told how many more."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not (show and console.is_terminal)) as progress:
        if note and show and console.is_terminal:
            console.print(note, soft_wrap=True)
        task = progress.add_task(what, total=total, completed=done)
        yield lambda more: progress.advance(task, more)
