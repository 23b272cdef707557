"""The contract of engines: reasons for which what an entry point names is none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..common.registry import is_kind, keeps_methods, makes_itself
from .engines import INTERFACE, Engine


def engine(found: Any) -> Iterator[str]:
    """Breaches of the contract of `contactsim.engines`."""
    if not is_kind(found, Engine):
        yield f"is {found!r}; let it name a subclass of Engine"
        return
    if found.interface != INTERFACE:
        yield f"was made for interface {found.interface} of engines, and this is {INTERFACE}; install it anew"
        return
    yield from keeps_methods(found, Engine, ("compiled",))
    yield from makes_itself(found)
