"""Where hybrid systems, contact problems and robots meet: flows, transitions, energy audits."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeGuard

if TYPE_CHECKING:
    from ..hybrid.system import HybridSystem
    from .contact_system import ContactSystem


def is_contact_system(system: HybridSystem) -> TypeGuard[ContactSystem]:
    """True for a ContactSystem; pinocchio is imported no sooner than somebody asks."""
    if not hasattr(system, "world"):
        return False
    from .contact_system import ContactSystem

    return isinstance(system, ContactSystem)
