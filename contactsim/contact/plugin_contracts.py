"""The contract of contact laws: reasons for which what an entry point names is none."""

from __future__ import annotations

from collections.abc import Iterator
from inspect import getattr_static
from typing import Any

from ..common.lazy import Elsewhere
from ..common.registry import has_schema, is_kind, keeps_methods, makes_itself
from .laws import CompliantLaw, RigidLaw

LARGEST_MEMORY = 100  # numbers a contact; more is a mistake in the declaration


def contact_law(found: Any) -> Iterator[str]:
    """Breaches of the contract of `contactsim.contact_laws`."""
    kinds = {
        RigidLaw: ("impact", "select", "friction", "moments", "sliding_friction"),
        CompliantLaw: ("force", "jacobian", "margin"),
    }
    kind = next((kind for kind in kinds if is_kind(found, kind)), None)
    if kind is None:
        yield f"is {found!r}; let it name a subclass of RigidLaw or CompliantLaw"
        return
    yield from keeps_methods(found, kind, kinds[kind])
    if not isinstance(getattr_static(found, "Parameters"), Elsewhere):  # whose schema is asked for where it is needed
        from .law_parameters import LawParameters

        yield from has_schema(found, "Parameters", LawParameters)
    if kind is CompliantLaw:
        yield from _declarations(found)
    yield from makes_itself(found)


def _declarations(found: Any) -> Iterator[str]:
    if not isinstance(found.memory, int) or isinstance(found.memory, bool) or not 0 <= found.memory <= LARGEST_MEMORY:
        yield f"declares memory = {found.memory!r}; give the count of its internal states of a contact, a whole number"
    if not isinstance(found.pulls, bool):
        yield f"declares pulls = {found.pulls!r}; give True or False"
