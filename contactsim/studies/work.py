"""The work of each run of a sweep: a scene with some of its keys changed, or a function."""

from __future__ import annotations

import functools
import hashlib
import inspect
import json
import pickle
import textwrap
import time
import types
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

import numpy as np

from ..common.arrays import Array
from ..common.lazy import dataclass
from ..common.threads import one_thread
from ..errors import ContactSimError, InputError
from ..hybrid.outcomes import Status
from ..hybrid.trajectory import Trajectory

PENDING, FINISHED, STOPPED, FAILED, LOST = range(5)
STATUSES = ("pending", "finished", "stopped", "failed", "lost")
LONGEST = 500  # characters of a message that are kept
DRAWN = ("rng", "seed")  # arguments by which a function is given the random numbers of its run
NOISE = 0.01  # m/s, rad/s: of the velocity at the start, where nothing else differs between samples


@dataclass(frozen=True)
class Result:
    """One run of a sweep.

    Attributes:
        number: of the run.
        status: FINISHED; STOPPED: it ended early, with outputs; FAILED: on an error; LOST: with its worker.
        message: why it ended early.
        outputs: {name: number or array}.
        seconds: how long it took.
    """

    number: int
    status: int
    message: str = ""
    outputs: Mapping[str, Array] = field(default_factory=dict)
    seconds: float = 0.0


class Work(ABC):
    """The work done with the values of a run; it goes to the workers pickled."""

    @property
    @abstractmethod
    def hash(self) -> str:
        """By what a sweep that is gone on with knows its own work again."""

    @abstractmethod
    def compute(self, values: Mapping[str, Any], seed: np.random.SeedSequence) -> tuple[int, str, Mapping[str, Any]]:
        """Status, message and outputs of one run."""

    @abstractmethod
    def refuse(self, first: Mapping[str, Any], last: Mapping[str, Any]) -> None:
        """Raise an InputError where neither the values of the first run can be read nor those of the last."""

    def result(self, number: int, values: Mapping[str, Any], seed: np.random.SeedSequence) -> Result:
        """One run, whatever becomes of it."""
        began = time.perf_counter()
        try:
            status, message, found = self.compute(values, seed)
            outputs = {name: _numbers(name, value) for name, value in found.items()}
        except Exception as error:
            said = str(error) if isinstance(error, ContactSimError) else f"{type(error).__name__}: {error}"
            status, message, outputs = FAILED, said, {}
        return Result(number, status, message[:LONGEST], outputs, time.perf_counter() - began)


def _numbers(name: str, value: Any) -> Array:
    try:
        found = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"the output '{name}' is a {type(value).__name__}; return numbers or arrays of them") from None
    return found


# --- scenes ---------------------------------------------------------------------------------------------------------
def _first_event(traj: Trajectory) -> float:
    return traj.events[0].time if traj.events else float("nan")


def _impulse(traj: Trajectory) -> float:
    return float(sum(np.linalg.norm(impulse) for event in traj.events for impulse in event.impulses.values()))


OUTPUTS: Mapping[str, Callable[[Trajectory], Any]] = {
    "final_q": lambda traj: traj.final.q,
    "final_v": lambda traj: traj.final.v,
    "final_x": lambda traj: traj.final_x,
    "final_time": lambda traj: traj.arcs[-1].t1,
    "event_count": lambda traj: len(traj.events),
    "first_event": _first_event,
    "total_impulse": _impulse,
    "final_energy": lambda traj: traj.energy(traj.arcs[-1].t1),
    "evaluations": lambda traj: traj.evaluations,
}
OF_CONTACTS, OF_MODELS = ("final_q", "final_v", "final_time", "event_count"), ("final_x", "final_time", "event_count")


@dataclass(frozen=True)
class SceneWork(Work):
    """Runs of a scene, or of a model, with settings "key=value".

    Attributes:
        source: TOML of a scene; of a model its name or its init file.
        model: whether it is a model.
        settings: that hold for all runs.
        outputs: names of OUTPUTS, or functions of the trajectory by their names, or one that returns a table of them.
        noise: standard deviation of what is added to the velocity at the start [m/s, rad/s].
        told: hash of what the scene builds.
    """

    source: str
    model: bool
    settings: tuple[str, ...]
    outputs: Any
    noise: float
    told: str

    @property
    def hash(self) -> str:
        """Of the scene as it is built, its robot's file included, of the outputs and of the noise."""
        return _digest(self.told, fingerprint(self.outputs), repr(self.noise))

    def refuse(self, first: Mapping[str, Any], last: Mapping[str, Any]) -> None:
        """Read the first run; where that fails the last one, which may fail as well, then."""
        try:
            self._read(first)
        except InputError:
            self._read(last)

    def _read(self, values: Mapping[str, Any]) -> None:
        if self.model:
            built(self.source, True, self._settings(values))
        else:
            from ..io import scene

            scene.parse(self.source, self._settings(values))

    def _settings(self, values: Mapping[str, Any]) -> tuple[str, ...]:
        return (*self.settings, *(setting(name, value) for name, value in values.items()))

    def compute(self, values: Mapping[str, Any], seed: np.random.SeedSequence) -> tuple[int, str, Mapping[str, Any]]:
        """Build the scene with its values, simulate it, and read its outputs."""
        run = built(self.source, self.model, self._settings(values))
        state = run.state
        if self.noise:
            state = _shaken(run.system, state, self.noise * np.random.default_rng(seed).standard_normal(run.system.nv))
        traj = type(run)(run.title, run.system, state, run.span, run.options).simulate()
        status = FINISHED if traj.status is Status.FINISHED else STOPPED
        return status, "" if status == FINISHED else traj.message, read_outputs(self.outputs, traj)


def setting(name: str, value: Any) -> str:
    """A key with its value as scenes read it."""
    return f"{name}={value if isinstance(value, str) else json.dumps(value)}"


def _shaken(system: Any, state: Any, change: Array) -> Any:
    return type(state)(state.q, state.v + change, state.z)


@functools.lru_cache(maxsize=8)
def built(source: str, model: bool, settings: tuple[str, ...]) -> Any:
    """The run of a scene's text, or of a model; the last ones are kept, for draws that differ in their start only."""
    if model:
        from ..io.load_scene import read_model

        return read_model(source, settings).prepared()
    from ..io import scene

    return scene.build(scene.parse(source, settings))


def read_outputs(outputs: Any, traj: Trajectory) -> Mapping[str, Any]:
    """The outputs of a run: by names, by functions with names, or by one function that returns a table."""
    if callable(outputs):
        return _table(outputs(traj))
    if isinstance(outputs, Mapping):
        return {name: function(traj) for name, function in outputs.items()}
    return {name: OUTPUTS[name](traj) for name in outputs}


# --- functions ------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class FunctionWork(Work):
    """Calls of a function with the values as keywords; where it takes `seed` or `rng`, with those of the run.

    Attributes:
        function: (**values) -> {name: number or array}, or one of these alone, called "value".
        outputs: names that are kept of what it returns; None: all.
    """

    function: Callable[..., Any]
    outputs: tuple[str, ...] | None

    @property
    def hash(self) -> str:
        """Of the source of the function and of those of its module that it calls."""
        return _digest(fingerprint(self.function), repr(self.outputs))

    def refuse(self, first: Mapping[str, Any], last: Mapping[str, Any]) -> None:
        """Which values it takes only the function knows; its arguments are known."""
        try:
            signature = inspect.signature(self.function)
        except (TypeError, ValueError):  # of some functions written in C
            return
        try:
            signature.bind(**{name: None for name in DRAWN if name in signature.parameters} | dict(first))
        except TypeError as error:
            raise InputError(
                f"the values are not those that the function takes, {signature} ({error}); name them as its arguments"
            ) from None

    def compute(self, values: Mapping[str, Any], seed: np.random.SeedSequence) -> tuple[int, str, Mapping[str, Any]]:
        """Call it."""
        own = inspect.signature(self.function).parameters
        given = dict(values)
        if "rng" in own:
            given["rng"] = np.random.default_rng(seed)
        if "seed" in own and "seed" not in given:
            given["seed"] = int(seed.generate_state(1, np.uint64)[0])
        found = _table(self.function(**given))
        if self.outputs is not None:
            if missing := [name for name in self.outputs if name not in found]:
                raise InputError(f"the function returns no '{missing[0]}'; it returns {', '.join(found) or 'nothing'}")
            found = {name: found[name] for name in self.outputs}
        return FINISHED, "", found


def _table(found: Any) -> Mapping[str, Any]:
    return {str(name): value for name, value in found.items()} if isinstance(found, Mapping) else {"value": found}


# --- by what they are known again -----------------------------------------------------------------------------------
def _digest(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


def fingerprint(thing: Any) -> str:
    """Hash of names, or of functions: their source, that of what they call in their module, and what they hold."""
    return _digest(*_told(thing, set()))


def _told(thing: Any, seen: set[int]) -> list[str]:
    """Texts that say what a function, or a value that it holds, is."""
    if id(thing) in seen:
        return []
    if isinstance(thing, functools.partial):
        return [*_told(thing.func, seen), *_told(thing.args, seen), *_told(thing.keywords, seen)]
    if isinstance(thing, types.MethodType):
        return [*_told(thing.__func__, seen), *_told(thing.__self__, seen)]
    if isinstance(thing, Mapping):
        return [text for key in thing for text in (repr(key), *_told(thing[key], seen))]
    if isinstance(thing, list | tuple):
        return [f"{len(thing)}", *(text for item in thing for text in _told(item, seen))]
    if isinstance(thing, np.ndarray):
        return [repr((thing.shape, str(thing.dtype))), hashlib.sha256(thing.tobytes()).hexdigest()]
    if isinstance(thing, types.FunctionType):
        seen.add(id(thing))
        return _of_function(thing, seen)
    if thing is None or isinstance(thing, str | bytes | int | float | complex | type):
        return [repr(thing)]
    seen.add(id(thing))
    held = vars(thing) if hasattr(thing, "__dict__") else pickle.dumps(thing).hex()
    return [_source(type(thing)), *_told(held, seen)]


def _of_function(function: types.FunctionType, seen: set[int]) -> list[str]:
    """Its source, its defaults, what it closes over, and the functions of its own module that it names."""
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    named = [function.__globals__.get(name) for name in function.__code__.co_names]
    own = [item for item in named if isinstance(item, types.FunctionType) and item.__module__ == function.__module__]
    parts = (function.__defaults__, function.__kwdefaults__, cells, own)
    return [_source(function), *(text for part in parts for text in _told(part, seen))]


def _source(thing: Any) -> str:
    try:
        return textwrap.dedent(inspect.getsource(thing))
    except (OSError, TypeError):  # typed at a prompt, say
        code = getattr(thing, "__code__", None)
        return repr(thing) if code is None else repr((code.co_code, code.co_names, _constants(code)))


def _constants(code: types.CodeType) -> list[Any]:
    return [_constants(own) if isinstance(own, types.CodeType) else repr(own) for own in code.co_consts]


# --- what is given --------------------------------------------------------------------------------------------------
def work_of(target: Any, settings: Sequence[str], outputs: Any, noise: float) -> Work:
    """The work of a scene by name, file or Scene text, or of a function.

    Raises:
        InputError: there is no such scene, or outputs, settings or noise do not fit it.
    """
    if callable(target):
        if settings or noise:
            raise InputError(
                "settings and noise belong to scenes; a function takes its values and draws its own numbers"
            )
        return FunctionWork(target, _names_of_function(outputs))
    from ..io.load_scene import is_model, load_scene, read_scene

    what = str(target)
    run, model = load_scene(what, settings), is_model(what)
    if model and noise:
        raise InputError(f"noise belongs to robots, and {what} is a model; draw a key of it instead")
    if model:
        what = str(Path(what).resolve()) if Path(what).suffix else what
    source = what if model else read_scene(what, settings).text()
    given = tuple(settings) if model else ()
    return SceneWork(source, model, given, _checked(outputs, model), noise, _told_of(run))


def _told_of(run: Any) -> str:
    """A digest of what a scene builds: system, with the text of its robot's file, start, time and options."""
    from ..io.netcdf import description_of

    start = run.system.pack(run.state).tolist()
    options = {name: repr(value) for name, value in run.options.items()}
    return _digest(json.dumps([description_of(run.system), start, run.span, options], sort_keys=True))


def _names_of_function(outputs: Any) -> tuple[str, ...] | None:
    if outputs is None:
        return None
    if isinstance(outputs, str) or not all(isinstance(name, str) for name in outputs):
        raise InputError("outputs of a function are a list of names of what it returns, or None for all")
    return tuple(outputs)


def _checked(outputs: Any, model: bool) -> Any:
    if outputs is None:
        return OF_MODELS if model else OF_CONTACTS
    if callable(outputs):
        return outputs
    if isinstance(outputs, Mapping) and all(callable(function) for function in outputs.values()):
        return dict(outputs)
    names = (outputs,) if isinstance(outputs, str) else tuple(outputs)
    for name in names:
        if name not in OUTPUTS:
            raise InputError(f"there is no output '{name}'; there are {', '.join(OUTPUTS)}, or give a function")
    return names


def batch(pickled: bytes, jobs: Sequence[tuple[int, Mapping[str, Any], np.random.SeedSequence]]) -> list[Result]:
    """Runs one after the other: what a worker does."""
    work = _unpickled(pickled)
    with one_thread():
        return [work.result(number, values, seed) for number, values, seed in jobs]


@functools.lru_cache(maxsize=4)
def _unpickled(pickled: bytes) -> Work:
    return pickle.loads(pickled)  # type: ignore[no-any-return]
