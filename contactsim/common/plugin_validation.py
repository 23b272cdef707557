"""Whether what an entry point names keeps the contract of its group; asked once, when a plugin is loaded."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

from ..contact.laws import CompliantLaw, LawParameters, RigidLaw
from ..derivatives.contract import EventDerivative
from ..hybrid.charts import Model, ModelParameters, ModelState
from ..io.ground_table import GroundTable

LARGEST_MEMORY = 100  # numbers a contact; more is a mistake in the declaration


def breach(group: str, found: Any) -> str:
    """How `found` breaks the contract of the entry-point group `contactsim.GROUP`; empty: it keeps it."""
    return next(CONTRACTS[group](found), "")


def _law(found: Any) -> Iterator[str]:
    kinds = {RigidLaw: ("impact", "select", "friction"), CompliantLaw: ("force", "jacobian", "margin")}
    kind = next((kind for kind in kinds if _is_kind(found, kind)), None)
    if kind is None:
        yield f"is {found!r}; let it name a subclass of RigidLaw or CompliantLaw"
        return
    yield from _class(found, kind, kinds[kind])
    yield from _schema(found, "Parameters", LawParameters)
    if kind is CompliantLaw:
        yield from _declarations(found)
    yield from _makes_itself(found)


def _declarations(found: Any) -> Iterator[str]:
    if not isinstance(found.memory, int) or isinstance(found.memory, bool) or not 0 <= found.memory <= LARGEST_MEMORY:
        yield f"declares memory = {found.memory!r}; give the count of its internal states of a contact, a whole number"
    if not isinstance(found.pulls, bool):
        yield f"declares pulls = {found.pulls!r}; give True or False"


def _derivative(found: Any) -> Iterator[str]:
    if not _is_kind(found, EventDerivative):
        yield f"is {found!r}; let it name a subclass of EventDerivative"
        return
    yield from _class(found, EventDerivative, ("accepts", "apply", "pieces"))
    yield from _makes_itself(found)


def _model(found: Any) -> Iterator[str]:
    if not _is_kind(found, Model):
        yield f"is {found!r}; let it name a subclass of Model"
        return
    yield from _class(found, Model, ("field", "boundaries", "reset", "validate", "record", "next_time", "jacobian"))
    yield from _schema(found, "Parameters", ModelParameters)
    yield from _schema(found, "State", ModelState)
    yield from _makes_itself(found)


def _catalogue(found: Any) -> Iterator[str]:
    if not callable(found) or not _takes(found, 0):
        yield f"is {found!r}; let it name a function without arguments that returns {{name: entry}}"


def _viewer(found: Any) -> Iterator[str]:
    missing = [name for name in ("view", "export_html", "export_png") if not callable(getattr(found, name, None))]
    if not isinstance(found, type) or missing:
        yield f"is {found!r}; let it name a class with view, export_html and export_png"


def _controller(found: Any) -> Iterator[str]:
    if not callable(found) or not _takes(found, 1):
        yield f"is {found!r}; let it name a function (robot, **parameters) that returns a controller"


def _integrator(found: Any) -> Iterator[str]:
    from scipy.integrate import OdeSolver

    if not _is_kind(found, OdeSolver):
        yield f"is {found!r}; let it name a subclass of scipy.integrate.OdeSolver"


def _terrain(found: Any) -> Iterator[str]:
    if not _is_kind(found, GroundTable):
        yield f"is {found!r}; let it name a subclass of GroundTable"
        return
    yield from _class(found, GroundTable, ("build",))


CONTRACTS: dict[str, Callable[[Any], Iterator[str]]] = {
    "contact_laws": _law,
    "event_derivatives": _derivative,
    "models": _model,
    "controllers": _controller,
    "integrators": _integrator,
    "terrains": _terrain,
    "robots": _catalogue,
    "viewers": _viewer,
}


# --- what the contracts share -----------------------------------------------------------------------------------------


def _is_kind(found: Any, kind: type) -> bool:
    return isinstance(found, type) and issubclass(found, kind)


def _class(found: Any, kind: type, methods: tuple[str, ...]) -> Iterator[str]:
    """Methods that are missing, and those whose arguments are not the contract's."""
    missing = sorted(getattr(found, "__abstractmethods__", ()))
    if missing:
        yield f"is the class {found.__name__} without {', '.join(missing)}; write what {kind.__name__} leaves open"
    for name in (name for name in methods if hasattr(kind, name)):
        expected = list(inspect.signature(getattr(kind, name)).parameters)[1:]
        own = getattr(found, name)
        if not callable(own) or not _takes(own, 1 + len(expected)):
            call = f"{name}({', '.join(expected)})"
            yield f"has a method {found.__name__}.{name} that cannot be called as {call}; mend its arguments"


def _takes(function: Any, count: int) -> bool:
    """Whether a function can be called with `count` positional arguments; yes where that cannot be told."""
    try:
        inspect.signature(function).bind(*(None for _ in range(count)))
    except TypeError:
        return False
    except ValueError:  # a built-in function that does not tell
        return True
    return True


def _schema(found: Any, name: str, base: type) -> Iterator[str]:
    if not _is_kind(getattr(found, name), base):
        yield f"has {found.__name__}.{name} = {getattr(found, name)!r}; make it a subclass of {base.__name__}"


def _makes_itself(found: Any) -> Iterator[str]:
    """A plugin asked for by name alone is made without arguments."""
    try:
        found()
    except Exception as error:
        yield f"cannot be made as {found.__name__}() ({type(error).__name__}: {error}); give each parameter a default"
