"""Robots and mechanisms in contact; the only part of the engine that knows pinocchio."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeGuard

if TYPE_CHECKING:
    from ..contact_dynamics.contact_system import ContactSystem
    from ..hybrid.system import HybridSystem


def is_contact_system(system: HybridSystem) -> TypeGuard[ContactSystem]:
    """Whether a system is a ContactSystem; pinocchio is imported no sooner than somebody asks."""
    from ..contact_dynamics.contact_system import ContactSystem

    return isinstance(system, ContactSystem)
