"""How much of what a plain pool of processes reaches does a sweep on dask reach, with the same work on two processes?

Landings of the biped and of the hexapod, each from another velocity. Blocks of them go by turns to
`ProcessPoolExecutor.map`, in chunks as large as suit it, and to the dispatcher of `cs.sweep` on a local cluster, both
of which stay up all the time. Measured are the wall clock of each block, so that both meet the same other work, and the
processor time of this process and all below it: of two processes that wait for nobody, the two give the same ratio.
The result of each run must be the same to the last bit.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context

import numpy as np
import psutil
from common import line

from contactsim.studies.cluster import Dispatcher, client_of
from contactsim.studies.plan import Plan, plan
from contactsim.studies.work import FINISHED, Result, Work, work_of

WORKERS = 2  # processes
NOISE = 0.01  # m/s, rad/s
LEAST = 0.95
CASES = {"biped": (1000, 5, 0.9, 25), "hexapod": (200, 20, 0.15, 1)}
# runs; blocks that each of the two gets, of some 5 s: short beside the drift of a machine; seconds; runs of a chunk


def one(work: Work, made: Plan, number: int) -> Result:
    """A run, as a process of the pool makes it."""
    return work.result(number, made.point(number), made.seed_of(number))


def busy() -> float:
    """Processor time of this process and all below it [s]."""
    own = psutil.Process()
    times = [one.cpu_times() for one in (own, *own.children(recursive=True))]
    return sum(found.user + found.system for found in times)


def compared(name: str, runs: int, blocks: int, seconds: float, chunk: int) -> tuple[list[float], float, float]:
    """Ratios of runs a second, dask to pool, block by block; that of processor time, pool to dask; seconds of a run."""
    work = work_of(name, (f"run.time={seconds}",), None, NOISE)
    made = plan({}, runs, "random", 0)
    found: dict[str, list[Result]] = {"pool": [], "dask": []}
    spent: dict[str, list[float]] = {"pool": [], "dask": []}
    worked = {"pool": 0.0, "dask": 0.0}
    with (
        ProcessPoolExecutor(WORKERS, mp_context=get_context("spawn")) as pool,
        client_of(None, WORKERS) as client,
    ):

        def pooled(numbers: list[int]) -> None:
            found["pool"] += pool.map(partial(one, work, made), numbers, chunksize=chunk)

        def dasked(numbers: list[int]) -> None:
            Dispatcher(client, work, made, numbers, found["dask"].extend).run()

        jobs: dict[str, Callable[[list[int]], None]] = {"pool": pooled, "dask": dasked}
        for job in jobs.values():
            job(list(range(4 * WORKERS)))  # processes start, and import what they need
        for kept in found.values():
            kept.clear()
        for k, block in enumerate(np.array_split(np.arange(runs), blocks)):
            for own in (jobs, reversed(jobs))[k % 2]:
                began, before = time.perf_counter(), busy()
                jobs[own](block.tolist())
                spent[own].append(time.perf_counter() - began)
                worked[own] += busy() - before
    demand_same(found["pool"], found["dask"], runs)
    ratios = [a / b for a, b in zip(spent["pool"], spent["dask"], strict=True)]
    each = statistics.mean(result.seconds for result in found["pool"])
    return ratios, worked["pool"] / worked["dask"], each


def demand_same(one: list[Result], other: list[Result], count: int) -> None:
    """All runs finished, and both made the same of each."""
    left, right = ({result.number: result for result in results} for results in (one, other))
    assert sorted(left) == sorted(right) == list(range(count))
    for number, result in left.items():
        assert result.status == right[number].status == FINISHED, result.message
        for name, value in result.outputs.items():
            assert np.array_equal(value, right[number].outputs[name]), (number, name)


def main(names: list[str]) -> None:
    """Print the table."""
    for name in names or list(CASES):
        runs, blocks, seconds, chunk = CASES[name]
        ratios, work, each = compared(name, runs, blocks, seconds, chunk)
        question = f"{runs} landings of the {name} on dask / ProcessPoolExecutor"
        told = f"{blocks} blocks each in turns, {min(ratios):.2f} to {max(ratios):.2f}; load {os.getloadavg()[0]:.1f}"
        line(f"{question}, runs a second", told, statistics.median(ratios), LEAST, at_least=True)
        line("... runs in a second of processor time", f"{1e3 * each:.0f} ms each", work, LEAST, at_least=True)


if __name__ == "__main__":
    main(sys.argv[1:])
