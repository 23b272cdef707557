"""The console of the command: progress bars, and Ctrl-C (or SIGTERM) taken up where a run is whole."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


WIDE, NARROWEST = 120, 64  # columns of tables in a file or a pipe, and of those in a terminal that has fewer


def terminal(error: bool = False) -> Console:
    """The console, as wide as the terminal, and WIDE columns wide into a file or a pipe.

    In a terminal of fewer than NARROWEST columns tables are as wide as that, and its lines go round: no number is cut.
    """
    from rich.console import Console

    console = Console(stderr=error, highlight=False)
    own = console.width if console.is_terminal or "COLUMNS" in os.environ else WIDE
    return Console(stderr=error, highlight=False, width=max(own, NARROWEST))


def table(*headings: str) -> Table:
    """A table whose texts go on in the next line where they are too long, and are never cut."""
    from rich.table import Table

    made = Table()
    for heading in headings:
        made.add_column(heading, overflow="fold")
    return made


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


SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def interruptible(close: Callable[[], None]) -> Iterator[None]:
    """Ctrl-C or SIGTERM closes after the step at work, so that the run stays whole; a second one does not wait."""
    asked: list[int] = []

    def ask(number: int, frame: Any) -> None:
        if asked:
            raise KeyboardInterrupt
        asked.append(number)
        close()

    with _handled(SIGNALS, ask):
        yield


@contextmanager
def terminable() -> Iterator[None]:
    """SIGTERM raises KeyboardInterrupt, as Ctrl-C does."""

    def interrupt(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    with _handled((signal.SIGTERM,), interrupt):
        yield


@contextmanager
def _handled(signals: tuple[signal.Signals, ...], handler: Callable[[int, Any], None]) -> Iterator[None]:
    """Signals in other hands for a while; Python lets only the main thread see to that."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, handler) for number in signals}
    try:
        yield
    finally:
        for number, handled in before.items():
            signal.signal(number, handled)
