"""Names of robots, from the catalogues that plugins register; no robot is made, and pinocchio not imported."""

from __future__ import annotations

import warnings
from typing import Any

from ..common import registry


def robot_entries() -> dict[str, Any]:
    """Entries of all registered catalogues by name."""
    entries: dict[str, Any] = {}
    for name, catalogue in registry.load_all("robots"):
        try:
            entries.update(catalogue())
        except Exception as error:  # a broken catalogue does not stop the others
            reason = f"{type(error).__name__}: {error}"
            warnings.warn(f"the catalogue '{name}' of contactsim.robots fails with {reason}", stacklevel=3)
    return entries
