"""Runs of a sweep on the workers of dask.distributed: in batches, and once more where a worker dies."""

from __future__ import annotations

import logging
import multiprocessing
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..common.lazy import dataclass
from ..errors import InputError, StorageError
from .plan import Plan
from .work import LOST, Result, Work, batch

TASK = 1.0  # s, that a batch of short runs is to take
MOST = 1000  # runs of a batch
AHEAD = 2  # batches for each thread that are under way
SHARES = 4  # batches for each thread, at least, that what is left is cut into: the last ones end together
PATIENCE = 60.0  # s, for a scheduler that is away to come back
UNGUARDED = "workers import the script that sweeps: let it call sweep below if __name__ == '__main__': only"
DIED = "its worker died, again and again, while it ran: of memory, perhaps; give fewer workers"
Job = tuple[int, dict[str, Any], np.random.SeedSequence]


@contextmanager
def client_of(scheduler: str | None, workers: int | None) -> Iterator[Any]:
    """A client of a scheduler that is running, or of a cluster of processes on this machine.

    Raises:
        InputError: dask.distributed is not installed, or there is no scheduler at that address.
    """
    try:
        import dask
        from distributed import Client
    except ImportError:
        raise InputError("sweeps need dask.distributed; install it with: pip install 'contactsim[cluster]'") from None
    if scheduler is None:
        with (
            dask.config.set({"distributed.worker.profile.enabled": False}),  # it takes some 6 % of long runs
            _processes(workers) as cluster,
            Client(cluster, set_as_default=False) as client,
        ):
            yield client
        return
    try:
        client = Client(scheduler, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError) as error:
        raise InputError(f"there is no scheduler at {scheduler} ({error}); start one with: dask scheduler") from error
    with client:
        yield client


def refuse_import() -> None:
    """Raise InputError in a process that a sweep of this same script started, and that is importing the script."""
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise InputError(UNGUARDED)


def _processes(workers: int | None) -> Any:
    """A cluster of processes on this machine.

    Raises:
        InputError: none of them starts.
    """
    from distributed import LocalCluster

    try:
        return LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            silence_logs=logging.CRITICAL,  # what fails is told by us, in one sentence
        )
    except RuntimeError as error:
        raise InputError(f"the workers of the sweep do not start ({str(error).rstrip('.')}); {UNGUARDED}") from error


@dataclass
class Pace:
    """The number of runs of a batch: so many that it takes TASK, and so few that there is work for all at the end."""

    threads: int
    runs: int = 0
    seconds: float = 0.0

    def note(self, results: Sequence[Result]) -> None:
        """Note the time that a batch took."""
        self.runs += len(results)
        self.seconds += sum(result.seconds for result in results)

    def size(self, left: int) -> int:
        """Runs of the next batch."""
        if not self.runs:
            return 1
        mean = max(self.seconds / self.runs, 1e-6)
        share = max(left // (SHARES * self.threads), 1)
        return int(min(max(TASK / mean, 1.0), MOST, share))


class Dispatcher:
    """The runs of a sweep under way.

    Args:
        client: of dask.
        work: what each run does.
        plan: of the sweep.
        numbers: of the runs that are to be made.
        keep: called with the results of each batch that has ended.
    """

    def __init__(
        self, client: Any, work: Work, plan: Plan, numbers: Sequence[int], keep: Callable[[list[Result]], None]
    ) -> None:
        import cloudpickle

        self._client, self._plan, self._keep = client, plan, keep
        self._pickled = cloudpickle.dumps(work)
        self._name = f"sweep-{work.hash[:8]}-{time.time_ns():x}"
        self._left = list(reversed([int(k) for k in numbers]))
        self._again: list[list[int]] = []  # batches that are made once more
        self._suspects: list[int] = []  # runs whose workers died
        self._alone = False
        self._under_way: dict[Any, list[int]] = {}
        self._count = 0

    def run(self) -> None:
        """Make all of them; what has ended is kept also where this is interrupted.

        Raises:
            InputError: the workers cannot load the work.
            StorageError: the scheduler is gone and does not come back.
        """
        from distributed import as_completed

        pace = Pace(max(sum(self._client.nthreads().values()), 1))
        ended = as_completed([], loop=self._client.loop)
        try:
            self._submit(ended, pace)
            while self._under_way:
                future = next(ended)
                self._take(future, pace)
                self._submit(ended, pace)
        finally:
            self._client.cancel(list(self._under_way), force=True)

    def _submit(self, ended: Any, pace: Pace) -> None:
        """Batches until there are enough under way."""
        while (self._left or self._again) and len(self._under_way) < AHEAD * pace.threads:
            self._send(ended, self._again.pop() if self._again else self._next(pace))
        if self._suspects and not self._under_way:
            self._alone = True
            self._send(ended, [self._suspects.pop()])

    def _send(self, ended: Any, numbers: list[int]) -> None:
        jobs: list[Job] = [(k, self._plan.point(k), self._plan.seed_of(k)) for k in numbers]
        self._count += 1
        future = self._client.submit(batch, self._pickled, jobs, key=f"{self._name}-{self._count}", pure=False)
        self._under_way[future] = numbers
        ended.add(future)

    def _next(self, pace: Pace) -> list[int]:
        size = pace.size(len(self._left))
        return [self._left.pop() for _ in range(min(size, len(self._left)))]

    def _take(self, future: Any, pace: Pace) -> None:
        """Take the results of a batch, or note its failure."""
        numbers = self._under_way.pop(future)
        if future.status == "finished":
            try:
                results = future.result()
            except Exception:  # it was lost on the way
                self._come_back(numbers)
                return
            pace.note(results)
            self._keep(results)
        elif future.status == "error":
            self._failed(numbers, future.exception())
        else:  # cancelled or lost, since the scheduler went away
            self._come_back(numbers)

    def _failed(self, numbers: list[int], error: BaseException) -> None:
        """Runs that died with their workers are made at the end, each alone; one that does so even then is lost.

        The scheduler blames all that a worker had before it, and so runs that only waited there.
        """
        if type(error).__name__ != "KilledWorker":
            place, said = self._plan.place(numbers[0]), f"{type(error).__name__}: {error}"
            raise InputError(
                f"the workers cannot do the runs, such as that at {place} ({said}); what the function needs must be"
                " installed there, as contactsim must"
            ) from error
        if not self._alone:
            self._suspects += numbers
        else:
            self._keep([Result(numbers[0], LOST, DIED)])

    def _come_back(self, numbers: list[int]) -> None:
        """Make a batch once more, as soon as the scheduler is there again."""
        end = time.monotonic() + PATIENCE
        while self._client.status != "running":
            if self._client.status == "closed" or time.monotonic() > end:
                raise StorageError("the scheduler is gone; what has ended is kept, and the same sweep goes on there")
            time.sleep(0.1)
        self._again.append(numbers)
