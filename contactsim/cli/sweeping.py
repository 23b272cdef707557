"""Work of `contactsim sweep`: values as they are typed, and a summary of the results."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from rich.markup import escape

from ..common.lazy import dataclass
from ..common.terminal import terminal
from ..errors import InputError
from ..io.load_scene import is_model
from ..studies.plan import SAMPLERS
from ..studies.sweep import needs_noise, sweep
from ..studies.work import FINISHED, NOISE, STATUSES, STOPPED
from . import Code

SHOWN = 5  # messages of runs that stopped early


@dataclass(frozen=True)
class Choice:
    """Options of `sweep`."""

    samples: int | None
    sampler: str
    seed: int
    noise: float | None
    scheduler: str | None
    workers: int | None


def carry_out(
    target: str,
    over: Sequence[str],
    settings: Sequence[str],
    time: float | None,
    outputs: Sequence[str] | None,
    out: Path,
    choice: Choice,
) -> int:
    """Make the sweep and tell of it."""
    if choice.sampler not in SAMPLERS:
        raise InputError(f"--sampler is '{choice.sampler}'; choose one of {', '.join(SAMPLERS)}")
    values = _apart(over)
    what = function_of(target) if ".py:" in target else target
    own = list(settings)
    if time is not None:
        own.append(f"{'finalTime' if not callable(what) and is_model(target) else 'run.time'}={time}")
    drawn = any(hasattr(given, "ppf") for given in values.values())
    screen = terminal(error=True)
    if choice.noise is None and needs_noise(what, choice.samples is not None, {"": 0} if drawn else {}):
        screen.print(f"note: samples differ in the velocity at their start, by {NOISE} m/s and rad/s; see --noise")
    data = sweep(what, values, outputs or None, out, settings=own, **asdict(choice))
    _tell(data, out)
    return Code.OK if np.any(np.isin(data.status.values, (FINISHED, STOPPED))) else Code.STOPPED


def _apart(over: Sequence[str]) -> dict[str, Any]:
    """{key: its values}, each key given once."""
    values: dict[str, Any] = {}
    for text in over:
        name, given = axis(text)
        if name in values:
            raise InputError(f"--over gives '{name}' twice; put all its values into one of them")
        values[name] = given
    return values


def axis(text: str) -> tuple[str, Any]:
    """A key and its values: START:STOP:N, START:STOP (a uniform distribution), or a,b,c.

    Raises:
        InputError: it is of no such form.
    """
    name, equals, values = (part.strip() for part in text.partition("="))
    wrong = InputError(f"--over {text} is not of the form KEY=START:STOP:N, KEY=START:STOP or KEY=a,b,c")
    if not (name and equals and values):
        raise wrong
    if ":" not in values:
        return name, _listed(values.split(","))
    parts = values.split(":")
    try:
        start, stop = float(parts[0]), float(parts[1])
        if len(parts) == 2:
            return name, _uniform(start, stop)
        count = int(parts[2])
    except ValueError:
        raise wrong from None
    if len(parts) > 3 or count < 1:
        raise wrong
    return name, np.linspace(start, stop, count)


def _uniform(start: float, stop: float) -> Any:
    from scipy.stats import uniform

    if not start < stop:
        raise ValueError
    return uniform(start, stop - start)


def _listed(texts: Sequence[str]) -> list[Any]:
    """Numbers, where all of them are; else texts."""
    try:
        return [int(text) for text in texts]
    except ValueError:
        pass
    try:
        return [float(text) for text in texts]
    except ValueError:
        return [text.strip() for text in texts]


def function_of(target: str) -> Any:
    """The function of FILE.py:FUNCTION, sent to the workers as it is.

    Raises:
        InputError: there is no such file, or no such function in it.
    """
    file, _, name = target.rpartition(":")
    path = Path(file).expanduser().resolve()
    if not path.is_file():
        raise InputError(f"there is no file {file}; check the path")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    sys.path.insert(0, str(path.parent))
    spec.loader.exec_module(module)
    function = getattr(module, name, None)
    if not callable(function):
        raise InputError(f"{file} has no function '{name}'; check its name")
    try:
        import cloudpickle
    except ImportError:
        raise InputError("sweeps need dask.distributed; install it with: pip install 'contactsim[cluster]'") from None
    cloudpickle.register_pickle_by_value(module)
    return function


def _tell(data: Any, out: Path) -> None:
    """Print how runs ended, the first messages, and where the results are."""
    screen = terminal()
    status = data.status.values.ravel()
    counts = [f"{np.sum(status == k)} {word}" for k, word in enumerate(STATUSES) if np.any(status == k)]
    screen.print(f"{status.size} runs: {', '.join(counts)}")
    told = dict.fromkeys(data.message.values.ravel()[status == STOPPED].tolist())  # those of others are warnings
    for text in list(told)[:SHOWN]:
        screen.print(f"  {escape(text)}", soft_wrap=True)
    if len(told) > SHOWN:
        screen.print(f"  and {len(told) - SHOWN} other messages, in the variable 'message'")
    axes = ", ".join(f"{name} {size}" for name, size in data.status.sizes.items())
    screen.print(f"{out}: {escape(axes)}; read it with xarray.open_zarr", soft_wrap=True)
