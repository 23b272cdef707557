"""Contracts of models, integrators, file formats and plots: reasons for which what was found is none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..common.registry import has_schema, is_kind, keeps_methods, makes_itself, takes


def model(found: Any) -> Iterator[str]:
    """Breaches of the contract of `contactsim.models`."""
    from .charts import Model, ModelParameters, ModelState

    if not is_kind(found, Model):
        yield f"is {found!r}; let it name a subclass of Model"
        return
    yield from keeps_methods(
        found, Model, ("field", "boundaries", "reset", "validate", "record", "next_time", "jacobian")
    )
    yield from has_schema(found, "Parameters", ModelParameters)
    yield from has_schema(found, "State", ModelState)
    yield from makes_itself(found)


def integrator(found: Any) -> Iterator[str]:
    """Breaches of the contract of `contactsim.integrators`."""
    from scipy.integrate import OdeSolver

    if not is_kind(found, OdeSolver):
        yield f"is {found!r}; let it name a subclass of scipy.integrate.OdeSolver"


def run_format(found: Any) -> Iterator[str]:
    """Breaches of the contract of `contactsim.formats`; the name of a format is the suffix of its files."""
    if not all(_takes_two(getattr(found, name, None)) for name in ("save", "load")):
        yield f"is {found!r}; let it name a module or an object with save(trajectory, path) and load(path, system)"


def plot(found: Any) -> Iterator[str]:
    """Breaches of the contract of `contactsim.plots`; the name says of what: a trajectory, a linearization."""
    if not callable(found) or not takes(found, 1):
        yield f"is {found!r}; let it name a function of what is drawn that returns a figure of matplotlib"


def _takes_two(function: Any) -> bool:
    return callable(function) and takes(function, 2)
