"""The contract of grounds of scenes: reasons for which what an entry point names is none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..common.registry import is_kind, keeps_methods
from .terrain_schema import GroundTable


def terrain(found: Any) -> Iterator[str]:
    """Breaches of the contract of `contactsim.terrains`."""
    if not is_kind(found, GroundTable):
        yield f"is {found!r}; let it name a subclass of GroundTable"
        return
    yield from keeps_methods(found, GroundTable, ("build",))
