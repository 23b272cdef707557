"""Contracts of catalogues of robots and of controllers: reasons for which what was found is none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..common.registry import takes


def catalogue(found: Any) -> Iterator[str]:
    """Breaches of the contract of `contactsim.robots`."""
    if not callable(found) or not takes(found, 0):
        yield f"is {found!r}; let it name a function without arguments that returns {{name: entry}}"


def controller(found: Any) -> Iterator[str]:
    """Breaches of the contract of `contactsim.controllers`."""
    if not callable(found) or not takes(found, 1):
        yield f"is {found!r}; let it name a function (robot, **parameters) that returns a controller"
