"""Sweeps: a scene or a function over many values, on the workers of a cluster, into one Dataset."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..common.arguments import COUNT, FLAG, INDEX, NOT_NEGATIVE, PATH, TEXT, arguments, one_of, optional
from ..common.telling import tell
from ..common.terminal import counting
from ..errors import InputError
from ..io.load_scene import SETTINGS
from .cluster import Dispatcher, client_of, refuse_import
from .plan import SAMPLERS, Plan, plan
from .store import Store, opened
from .work import NOISE, Result, work_of

if TYPE_CHECKING:
    import xarray

PERIOD = 1.0  # s, between writes
SHOWN = 5  # messages of runs that failed
MANY = 2000  # results that are written at once, at the latest


@arguments(
    out=PATH,
    scheduler=optional(TEXT),
    samples=optional(COUNT),
    sampler=one_of(*SAMPLERS),
    seed=INDEX,
    noise=optional(NOT_NEGATIVE),
    settings=SETTINGS,
    workers=optional(COUNT),
    progress=FLAG,
)
def sweep(
    scene_or_function: Any,
    over: Mapping[str, Any] | None = None,
    outputs: Any = None,
    out: str | Path = "sweep.zarr",
    scheduler: str | None = None,
    *,
    samples: int | None = None,
    sampler: str = "random",
    seed: int = 0,
    noise: float | None = None,
    settings: Sequence[str] = (),
    workers: int | None = None,
    progress: bool = True,
) -> xarray.Dataset:
    """Run a scene or a function over all combinations of values, and keep what comes of it in a Zarr store.

    Each run is kept as soon as it is done; a sweep that was stopped, in whatever way, goes on when it is called again.
    A run that fails is recorded and told of in a warning; one whose worker dies is made again.

    Args:
        scene_or_function: what `load_scene` takes; or a function (**values) -> {name: number or array}. Where it takes
            `rng` or `seed`, it is given the random numbers of its run.
        over: {key: values}: lists are axes of the result; distributions of scipy.stats (or anything with a method ppf)
            are drawn from along the axis "sample". Keys of a scene are those of `--set`.
        outputs: of a scene names ("final_q", "final_v", "final_x", "final_time", "event_count", "first_event",
            "total_impulse", "final_energy", "evaluations"), {name: function of the trajectory}, or one function of it
            that returns a table; of a function the names that are kept. None: the common ones, or all.
        out: folder of the store.
        scheduler: address of a running scheduler of dask; None: processes on this machine.
        samples: number of draws; without distributions samples of a scene differ by `noise`.
        sampler: "random", "sobol" or "latin".
        seed: of all random numbers.
        noise: standard deviation of what is added to the velocity at the start of each run [m/s, rad/s]; by default
            0.01 for samples of a scene with nothing else to draw, else zero.
        settings: keys of the scene that hold for all runs.
        workers: processes on this machine; None: one a processor.
        progress: show a bar, where there is a terminal.

    Returns:
        An xarray.Dataset over the axes: outputs (NaN where there are none), `status` (0 pending, 1 finished, 2 stopped
        early, 3 failed, 4 lost with its worker), `message` and `seconds`.

    Raises:
        InputError: something given cannot be used, the store holds another sweep, or a package is missing.
        StorageError: the scheduler is gone.
    """
    made = _planned(over or {}, samples, sampler, seed, settings)
    shaken = noise if noise is not None else NOISE if needs_noise(scene_or_function, made.sampled, made.draws) else 0.0
    work = work_of(scene_or_function, settings, outputs, shaken)
    work.refuse(made.point(0), made.point(made.size - 1))
    known = {"function" if callable(scene_or_function) else "scene": work.hash, "sampler": sampler}
    with opened(Path(out), made, known) as store:
        if len(pending := store.pending()):
            with client_of(scheduler, workers) as client:
                note = f"dashboard of dask: {client.dashboard_link}"
                with kept(store, made.size, len(pending), progress, note) as keep:
                    Dispatcher(client, work, made, pending.tolist(), keep).run()
        _tell_failures(made, store.failures())
        return store.dataset()


def _tell_failures(made: Plan, failures: Mapping[str, Sequence[int]]) -> None:
    """Warn of runs that failed or were lost, with a place for each message."""
    if not failures:
        return
    told = [
        f"{text} ({len(numbers)}, {'the first ' if len(numbers) > 1 else ''}at {made.place(numbers[0])})"
        for text, numbers in failures.items()
    ]
    more = f"; and {len(told) - SHOWN} other messages" if len(told) > SHOWN else ""
    count = sum(map(len, failures.values()))
    said = f"{'; '.join(told[:SHOWN])}{more}"
    tell(f"{count} of {made.size} runs failed: {said}; `status` and `message` of the result say which")


def _planned(over: Mapping[str, Any], samples: int | None, sampler: str, seed: int, settings: Sequence[str]) -> Plan:
    """The plan of a sweep.

    Raises:
        InputError: a key is swept over, and set for all runs as well; or a worker asks for it.
    """
    refuse_import()
    made = plan(over, samples, sampler, seed)
    own = {setting.partition("=")[0].strip() for setting in settings}
    if both := sorted(own & {*made.axes, *made.draws}):
        raise InputError(f"'{both[0]}' is swept over, and set for all runs as well; leave out one of the two")
    return made


def needs_noise(target: Any, sampled: bool, draws: Mapping[str, Any]) -> bool:
    """True where samples of a scene would be the same without noise."""
    return not callable(target) and sampled and not draws


@contextmanager
def kept(
    store: Store, size: int, pending: int, progress: bool, note: str = ""
) -> Iterator[Callable[[list[Result]], None]]:
    """A function that takes results and writes them together, every PERIOD, and what is left at the end."""
    waiting: list[Result] = []
    last = time.monotonic()

    def flush() -> None:
        nonlocal last
        store.write(waiting)
        waiting.clear()
        last = time.monotonic()

    with counting("runs", size, size - pending, progress, note) as tick:

        def keep(results: list[Result]) -> None:
            waiting.extend(results)
            tick(len(results))
            if len(waiting) >= MANY or time.monotonic() - last > PERIOD:
                flush()

        try:
            yield keep
        finally:
            flush()
