"""Calls of users' functions: a failure in one ends the run, with its name, its place and the time."""

from __future__ import annotations

import dis
import os
import pickle
from collections.abc import Callable
from math import isfinite
from pathlib import Path
from types import FunctionType, MethodType, TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import CallbackError, ContactSimError, InputError
from .arguments import FAR  # no state of a run is as far, but one of a trial step
from .arrays import Array
from .lazy import Late, dataclass

if TYPE_CHECKING:
    import traceback
else:
    traceback = Late("traceback")  # of a failure alone

ENGINE = Path(__file__).parent.parent
PYTHON, PACKAGES = Path(os.__file__).parent, Path(np.__file__).parent.parent
FRAMES = frozenset({"locals", "vars", "eval", "exec", "_getframe", "currentframe", "stack"})  # tell arguments unnamed
LIBRARIES = tuple(PACKAGES / name for name in ("numpy", "scipy", "pinocchio"))


class UserCall:
    """Around a call of a user's function: what it raises becomes a CallbackError that names it and the time.

    Errors of the engine are let through: they say already what is wrong and what to do.

    Args:
        kind: what is called, "the controller".
        whom: its name, or an object whose repr is its name.
        t: time [s].
    """

    __slots__ = ("_kind", "_t", "_whom")

    def __init__(self, kind: str, whom: object, t: float) -> None:
        self._kind, self._whom, self._t = kind, whom, t

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None or isinstance(error, ContactSimError) or not isinstance(error, Exception):
            return
        raise CallbackError(
            f"{self._kind} {self._whom!r} fails at t = {self._t:.6g} s with {failure(error, trace)}; mend the function",
            t=self._t,
        ) from error


def failure(error: BaseException, trace: TracebackType | None) -> str:
    """What was raised in a function of the user's, and in which line of theirs."""
    text = str(error).partition("\n")[0]
    told = f"{type(error).__name__}: {text}" if text else type(error).__name__
    last = _users_line(traceback.extract_tb(trace))
    return told + (f" (in {last.name}, line {last.lineno} of {last.filename})" if last else "")


def _users_line(trace: traceback.StackSummary) -> traceback.FrameSummary | None:
    """The innermost line that a user wrote: not of the engine, nor of a library that the user's line has called.

    None: no line of the user's raised, but what it returned was found wrong here.
    """
    return next((frame for frame in reversed(trace) if not _is_library(Path(frame.filename))), None)


def _is_library(file: Path) -> bool:
    if any(file.is_relative_to(place) for place in (ENGINE, *LIBRARIES)):
        return True
    return file.is_relative_to(PYTHON) and "site-packages" not in file.parts


def real(given: Any) -> Array:
    """Answer of a function as an array of floating-point numbers.

    Raises:
        TypeError: it is complex, or no number at all.
    """
    values = np.asarray(given)
    if values.dtype.kind not in "fiub":
        what = "complex numbers" if values.dtype.kind == "c" else f"{type(given).__name__}"
        raise TypeError(f"it returns {what}, not real numbers")
    return values.astype(float, copy=False)


def answer(kind: str, whom: object, what: str, given: Any, shape: tuple[int, ...], t: float, at: Array) -> Array:
    """Answer of a user's function as finite numbers of a shape (axes of length one are forgiven).

    Where the state `at` which it was asked is beyond FAR, its value need not be finite: a trial step went too far.

    Raises:
        CallbackError: it is something else.
    """
    with UserCall(kind, whom, t):
        values = real(given)
    if values.shape != shape:
        if [n for n in values.shape if n != 1] != [n for n in shape if n != 1]:
            raise CallbackError(
                f"{kind} {whom!r} returns {what} of shape {values.shape} at t = {t:.6g} s; return {shape}", t=t
            )
        values = values.reshape(shape)
    if not isfinite(values.sum()) and not np.isfinite(values).all() and np.all(np.abs(at) < FAR):
        place = int(np.argmin(np.isfinite(values)))
        raise CallbackError(
            f"{kind} {whom!r} returns {what} with {values.flat[place]} at index {place}, at t = {t:.6g} s; return"
            " finite numbers",
            t=t,
        )
    return values


def reads(function: Callable[..., Any], argument: int) -> bool:
    """True where a function may depend on its positional argument of this number.

    False only of a function in Python whose code never loads it, nor looks at its own frame: `lambda t, q: q[0]` does
    not read 0. What has no such code, or takes its arguments in one, counts as reading.
    """
    if isinstance(function, MethodType):
        return reads(function.__func__, argument + 1)
    if not isinstance(function, FunctionType) or argument >= function.__code__.co_argcount:
        return True
    code, name = function.__code__, function.__code__.co_varnames[argument]
    if name in code.co_cellvars or not FRAMES.isdisjoint(code.co_names):
        return True
    loads = (one.argval for one in dis.get_instructions(code) if one.opname.startswith("LOAD_FAST"))
    return any(name in (loaded if isinstance(loaded, tuple) else (loaded,)) for loaded in loads)


@dataclass(frozen=True)
class Margin:
    """The `enabled` function (t, q, v) -> margin of a contact, with its failures told."""

    contact: str
    function: Callable[[float, Array, Array], float]

    def __call__(self, t: float, q: Array, v: Array) -> float:
        """The margin."""
        kind = "the function 'enabled' of contact"
        try:
            given = self.function(t, q.copy(), v.copy())
        except Exception:
            with UserCall(kind, self.contact, t):
                raise
        if type(given) is float and isfinite(given):
            return given
        return float(answer(kind, self.contact, "a margin", given, (), t, q))


def margin(contact: str, function: Callable[[float, Array, Array], float] | None) -> Margin | None:
    """The `enabled` function of a contact, with its failures told; None where it has none."""
    return None if function is None else Margin(contact, function)


def demand_picklable(what: str, thing: Any) -> None:
    """Raise InputError where something of the user's cannot be pickled, to be sent to another process.

    Raises:
        InputError: it cannot; functions that are written in a line or inside of another one are of this kind.
    """
    try:
        pickle.dumps(thing)
    except Exception as error:
        reason = str(error).partition("\n")[0]
        raise InputError(
            f"{what} cannot be pickled ({reason}); define it by name at the top of a module, or as a class with"
            " __call__"
        ) from error
