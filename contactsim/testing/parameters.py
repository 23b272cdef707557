"""Properties of a plugin's parameters: a schema that says what they are and refuses what they cannot be."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import nan
from typing import Any, get_args

import numpy as np
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from ..common.arrays import Array
from ..contact.laws import CompliantLaw, ContactLaw
from ..errors import InputError
from . import compliant_laws
from .probe import Probe
from .report import Outcome

UNKNOWN = "no_such_parameter"
BEYOND = {"gt": 0.0, "ge": -1.0, "lt": 0.0, "le": 1.0}  # what is added to a bound to lie just outside
FACTORS = (-1.0, 0.0, 0.1, 10.0)  # of a default: values that are refused, or under which the law keeps its promises
# Promises that a law keeps whatever its parameters are; the cone is none, since viscous friction leaves it.
PROMISES = ("finite answers", "no force at positive gap", "no pulling", "bears a load", "friction never gains energy")
PLACES = 30  # random states of each promise
ALIVE = (10.0, 0.1, 0.0, -1.0, 2.0)  # factors of a default, of which one at least changes an answer

Make = Callable[..., Any]
Answers = Callable[[Any], Iterator[Array]]


def schema(name: str, model: type[BaseModel], make: Make) -> Outcome:
    """The fields of a schema are described, and it refuses what they cannot be."""
    fault = next(_faults(model, make), "")
    return Outcome(name, not fault, message=fault)


def _faults(model: type[BaseModel], make: Make) -> Iterator[str]:
    for key, field in model.model_fields.items():
        if not field.description:
            yield f"the parameter '{key}' has no description; write Field(..., description='what it is [unit]')"
        if field.is_required():
            yield f"the parameter '{key}' has no default; give one, so that the plugin can be made by its name alone"
    yield from _refusal(make, UNKNOWN, 1.0, "an unknown parameter")
    for key, field in model.model_fields.items():
        if not _is_number(field):
            continue
        yield from _refusal(make, key, nan, "not a number")
        yield from _refusal(make, key, "glue", "a text")
        for kind, bound in _bounds(field):
            yield from _refusal(make, key, bound + BEYOND[kind], "out of its range")


def _refusal(make: Make, key: str, value: Any, what: str) -> Iterator[str]:
    """A fault, where a value is taken, or refused without naming it."""
    try:
        make(**{key: value})
    except InputError as error:
        if key not in str(error):
            yield f"the error for '{key}' = {value!r} does not name it: {error}"
    except Exception as error:
        yield (
            f"the parameter '{key}' = {value!r} raises {type(error).__name__} ({error}) instead of an InputError; leave"
            " the check to the schema"
        )
    else:
        yield f"the parameter '{key}' = {value!r} is accepted, though it is {what}; let the schema refuse it"


def _is_number(field: FieldInfo) -> bool:
    kinds = get_args(field.annotation) or (field.annotation,)
    return any(kind in (int, float) for kind in kinds) and isinstance(field.default, int | float)


def _bounds(field: FieldInfo) -> Iterator[tuple[str, float]]:
    for limit in field.metadata:
        for kind in BEYOND:
            if isinstance(bound := getattr(limit, kind, None), int | float):
                yield kind, float(bound)


def promises(name: str, law: CompliantLaw) -> Outcome:
    """The law keeps its promises under every value of a parameter that its schema accepts."""
    kind = type(law)
    given = law.parameters.model_dump()
    for key, field in kind.Parameters.model_fields.items():
        for factor in FACTORS if _is_number(field) else ():
            value = factor * (given[key] or 1.0)
            try:
                other = kind(**given | {key: value})
            except InputError:
                continue
            for promise in PROMISES:
                found = compliant_laws.outcome(promise, Probe(other), PLACES)
                if found.holds is False:
                    message = (
                        f"'{key}' = {value:.6g} is accepted, but then {found.message}; bound it in its Field (gt, ge,"
                        " lt, le)"
                    )
                    return Outcome(name, False, found.figure, found.limit, found.unit, message, found.state)
    return Outcome(name, True)


def rebuilt(name: str, law: CompliantLaw) -> Outcome:
    """A law that is made again from its parameters, as `with_parameter` does, is the same."""
    again = Probe(type(law)(**law.parameters.model_dump()))
    probe, worst = Probe(law), 0.0
    for state in probe.domain().states(PLACES):
        worst = max(worst, float(np.nanmax(np.abs(probe.force(state) - again.force(state)), initial=0.0)))
    message = "a law that is made again from its parameters has another force; keep everything in the schema"
    return Outcome(name, worst == 0.0, worst, 0.0, "N", message if worst else "")


def alive(name: str, law: ContactLaw, answers: Answers) -> Outcome:
    """Every number among the parameters changes an answer of the law, by itself or beside others that are not zero.

    `answers` is law -> its answers (numbers,), one state after the other.
    """
    kind, given = type(law), law.parameters.model_dump()
    numbers = [key for key, field in kind.Parameters.model_fields.items() if _is_number(field)]
    started = _without_zeros(kind, given, numbers)
    for key in numbers:
        bounds = [bound for _, bound in _bounds(kind.Parameters.model_fields[key])]
        changes = _changes(given, started, key, bounds)
        pairs = ((_made(kind, base), _made(kind, base | {key: value})) for base, value in changes)
        if not any(a is not None and b is not None and _differ(answers(a), answers(b)) for a, b in pairs):
            text = f"the parameter '{key}' changes nothing that the law answers; let the law use it, or take it out"
            return Outcome(name, False, message=text)
    return Outcome(name, True)


def _without_zeros(kind: Make, given: dict[str, Any], numbers: list[str]) -> dict[str, Any]:
    """The parameters with those at zero at other values: what multiplies zero would seem to have no effect."""
    found = dict(given)
    for key in numbers:
        tried = (found | {key: value} for value in (0.1, 1.0)) if not found[key] else ()
        found = next((values for values in tried if _made(kind, values) is not None), found)
    return found


def _changes(
    given: dict[str, Any], started: dict[str, Any], key: str, bounds: list[float]
) -> Iterator[tuple[dict[str, Any], float]]:
    """(parameters, another value of one of them): multiples of what it is, and the ends of its range."""
    for base in (given, started) if started != given else (given,):
        others = [*(factor * (base[key] or 1.0) for factor in ALIVE), *bounds]
        yield from ((base, type(base[key])(value)) for value in others)


def _made(kind: Make, values: dict[str, Any]) -> Any:
    try:
        return kind(**values)
    except InputError:
        return None


def _differ(first: Iterator[Array], second: Iterator[Array]) -> bool:
    """True at the first two answers that differ."""
    return any(not np.array_equal(a, b, equal_nan=True) for a, b in zip(first, second, strict=True))
