"""How far would a sweep use 1,000 workers? A scheduler that is simulated, event by event, with measured times.

Batches wait for the scheduler, which hands out and takes back one after the other; workers run them. The times of
scheduler and client are those of a cluster on this machine (`measured`), those of the runs are given: landings of biped
and hexapod. Efficiency is the time of all runs over that of all workers.
"""

from __future__ import annotations

import heapq
import time

import numpy as np
from common import line

import contactsim.studies.cluster as cluster

SEED, RUNS_EACH = 0, 100  # runs for each worker


def measured(batches: int = 300) -> tuple[float, float]:
    """Seconds for each batch in scheduler and client together, and for each run in a batch of 100, on two workers."""
    with cluster.client_of(None, 2) as client:
        client.gather(client.map(np.sqrt, range(10), pure=False))
        start = time.perf_counter()
        client.gather(client.map(np.sqrt, range(batches), pure=False))
        alone = (time.perf_counter() - start) / batches
        start = time.perf_counter()
        client.gather(client.map(_many, range(batches), pure=False))
        return alone, max((time.perf_counter() - start) / batches - alone, 0.0) / 100


def _many(k: int) -> list[dict[str, np.ndarray]]:
    return [{"final_q": np.zeros(25), "final_v": np.zeros(24)} for _ in range(100)]


def efficiency(workers: int, mean: float, spread: float, batch: float, run: float) -> tuple[float, float]:
    """Efficiency of a sweep, and the share of its time in which the scheduler works."""
    rng, left, now, busy, total = np.random.default_rng(SEED), RUNS_EACH * workers, 0.0, 0.0, 0.0
    pace, under_way = cluster.Pace(workers), [(0.0, k, 0) for k in range(workers)]
    pace.runs, pace.seconds = 1, mean
    while under_way:
        free, worker, done = heapq.heappop(under_way)
        now = max(now, free) + (batch + run * done if done else 0.0)
        busy += batch + run * done if done else 0.0
        if left:
            size = min(pace.size(left), left)
            left -= size
            took = float(mean * rng.lognormal(-0.5 * spread**2, spread, size).sum())
            total += took
            heapq.heappush(under_way, (now + took, worker, size))
    return total / (workers * now), busy / now


def main() -> None:
    """Print the table."""
    batch, run = measured()
    print(f"scheduler and client: {1e3 * batch:.2f} ms a batch and {1e6 * run:.0f} us a run")
    for name, mean, spread in (("biped landing", 0.03, 0.3), ("hexapod landing", 2.0, 0.5)):
        for workers in (10, 100, 1000):
            found, busy = efficiency(workers, mean, spread, batch, run)
            line(
                f"{name} on {workers} workers, simulated",
                f"{RUNS_EACH} runs each; scheduler busy {busy:.0%}",
                found,
                unit="",
            )


if __name__ == "__main__":
    main()
