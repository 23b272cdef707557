"""Lines of random scenes: what the run of each took, how far it came and how it ended; written as they come.

A line has the seed, status, seconds of processor time, of motion, and of the motion asked for, events, evaluations,
what the check says, the engine that computed, and what was said. A run over its budget is TOO_SLOW.
"""

from __future__ import annotations

import argparse
import csv
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import contactsim as cs
from contactsim.contact_dynamics.engines import PYTHON, chosen, engine

MOST_EVENTS = 5000
Watching = Callable[[float], None]


@dataclass(frozen=True)
class Scene:
    """A system, where it starts, and until when it runs [s]."""

    label: str
    system: cs.ContactSystem
    start: cs.State
    end: float


@contextmanager
def at_most(budget: float) -> Iterator[None]:
    """Ends what is inside by a TimeoutError when it has taken so much processor time [s], wherever it is then."""

    def end(number: int, frame: object) -> None:
        raise TimeoutError(f"stopped after {budget:g} s")

    signal.signal(signal.SIGPROF, end)
    signal.setitimer(signal.ITIMER_PROF, budget, 1.0)  # again, should it be caught there
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)


def line(
    seed: int, budget: float, scene: Callable[[int], Scene], run: Callable[[cs.Simulation, Scene, Watching], None]
) -> list[Any]:
    """The line of a scene.

    Args:
        seed: of the scene.
        budget: processor time of its run [s].
        scene: makes it.
        run: advances it to its end, telling the time after each step.
    """
    case = scene(seed)
    begun = time.process_time()

    def watch(t: float) -> None:
        if time.process_time() - begun > budget:
            raise TimeoutError(f"stopped at t = {t:.6g} s; {simulation.held_up()}")

    simulation = cs.Simulation(case.system, case.start, max_events=MOST_EVENTS)
    status, said = "", ""
    try:
        run(simulation, case, watch)
    except Exception as error:
        status = "TOO_SLOW" if isinstance(error, TimeoutError) else type(error).__name__
        said = f": {error}"
    took, done = time.process_time() - begun, simulation.trajectory
    if not status:
        status, said = done.status.name, "" if done.status.complete else f": {done.message}"
    counts = len(done.all_events), done.evaluations
    return [seed, status, took, float(done.t[-1]), case.end, *counts, checked(done), engine_in_use(), case.label + said]


def engine_in_use() -> str:
    """The name of the engine that runs take here: one that does not load leaves them to Python."""
    name = chosen(None)
    return PYTHON if engine(name) is None else name


def checked(run: cs.Trajectory) -> str:
    """What a run's check says."""
    try:
        run.check()
    except cs.ContactSimError as error:
        return f"failed: {error}"[:160]
    return "passed"


def written(description: str | None, count: int, line_of: Callable[[int, float], list[Any]]) -> Iterator[list[Any]]:
    """The lines of scenes by (seed, processor time), as the command line asks for them; each is written to its file."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=count)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--budget", type=float, default=60.0, help="processor time a scene [s]")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    with given.out.open("w", newline="") as file:
        writer = csv.writer(file)
        for seed in range(given.first, given.first + given.count):
            row = line_of(seed, given.budget)
            writer.writerow(row)
            file.flush()
            print(*(f"{part:.3g}" if isinstance(part, float) else part for part in row), file=sys.stderr)
            yield row
