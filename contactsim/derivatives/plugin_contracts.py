"""The contract of event derivatives: reasons for which what an entry point names is none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..common.registry import is_kind, keeps_methods, makes_itself
from .contract import EventDerivative


def event_derivative(found: Any) -> Iterator[str]:
    """Breaches of the contract of `contactsim.event_derivatives`."""
    if not is_kind(found, EventDerivative):
        yield f"is {found!r}; let it name a subclass of EventDerivative"
        return
    yield from keeps_methods(found, EventDerivative, ("accepts", "apply", "pieces"))
    yield from makes_itself(found)
