"""Checks that the kit makes of plugins of several kinds, and their outcome where one fails."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from math import inf
from types import MappingProxyType
from typing import Any

import numpy as np

from ..common.arrays import Array
from ..errors import CheckError, ContactSimError, InputError
from ..hybrid.differences import derivative
from ..hybrid.trajectory import Trajectory
from .report import Finding, Outcome, first_violation

UNKNOWN = "no_such_parameter"
NONE: Mapping[Any, str] = MappingProxyType({})


def outcome(
    name: str, look: Callable[[], Iterable[Finding]], limit: float, what: str, unasked: Mapping[Any, str] = NONE
) -> Outcome:
    """The outcome of a property by its findings; `what` fails where something unforeseen is raised.

    `unasked` are the errors for which the question does not arise: {error: sentence}, in which "{}" becomes the error.
    """
    try:
        return first_violation(name, look(), limit)
    except Exception as error:
        for kind, sentence in unasked.items():
            if isinstance(error, kind):
                return Outcome(name, None, message=sentence.format(error))
        known = isinstance(error, ContactSimError)
        text = str(error) if known else f"the {what} fails with {type(error).__name__}: {error}"
        return Outcome(name, False, message=text)


def named(
    table: Mapping[str, tuple[Callable[[Any], Iterable[Finding]], float]],
    subject: Any,
    what: str,
    unasked: Mapping[Any, str] = NONE,
) -> dict[str, Callable[[], Outcome]]:
    """{property: what tries it} of a subject, from {property: (subject -> findings, limit)}; the rest as `outcome`."""
    return {
        name: partial(outcome, name, partial(look, subject), limit, what, unasked)
        for name, (look, limit) in table.items()
    }


def whole(run: Trajectory) -> Iterator[Finding]:
    """A run that comes to its end and keeps its own laws."""
    yield 0.0 if run.status.complete else inf, f"the run ends at t = {run.t[-1]:.6g} s: {run.message}", {}
    try:
        run.check()
    except CheckError as error:
        yield inf, f"the run breaks its own laws: {error}", {}


def differenced(
    what: str, matrix: Array, final: Callable[[Array], Array], count: int, step: float, free: Any = 1.0
) -> Iterator[Finding]:
    """The matrix D x(end) / D x(start) of a run against differences of whole runs of fourth order.

    `final` is dx (n,) of the start -> dx (n_end,) of the end; components of the start that are not `free` stay.
    """
    rng, size = np.random.default_rng(count), max(1.0, float(np.abs(matrix).max()))
    for _ in range(count):
        direction = rng.normal(size=matrix.shape[1]) * free
        there = derivative(lambda h, e=direction: final(h * e), step)  # type: ignore[misc]
        off = float(np.abs(matrix @ direction - there).max()) / size
        yield off, f"{what} differs from differences by {off:.3g}", {}


def parameters(
    thing: Any, what: str, base: str, answer: Callable[[], Any], step: Callable[[float], float], close: float
) -> Iterator[Finding]:
    """`with_parameter` gives a copy with a parameter changed by `step` of its value, and refuses unknown ones.

    `what` the thing is derives from `base`; `answer` depends on its parameters, which are told again to `close`.
    """
    before = np.array(answer(), dtype=float)
    for name, value in thing.parameters().items():
        wanted = value + step(value)
        told = thing.with_parameter(name, wanted).parameters().get(name, np.nan)
        text = f"with_parameter('{name}', {wanted:g}) leads to {name} = {told}"
        yield 0.0 if abs(told - wanted) < close else inf, text, {}
        same = thing.parameters()[name] == value and np.array_equal(before, answer())
        yield 0.0 if same else inf, f"with_parameter('{name}', ...) changes the {what} itself; return a copy", {}
    try:
        thing.with_parameter(UNKNOWN, 1.0)
    except InputError:
        return
    yield inf, f"with_parameter('{UNKNOWN}', 1) is accepted; raise InputError, as {base} does", {}
