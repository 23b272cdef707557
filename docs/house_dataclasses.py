"""The site shows the fields of the house's dataclasses as those of the standard library's."""

from __future__ import annotations

from typing import Any

from griffe import Alias, Extension


class Dataclasses(Extension):
    """Follows the decorator of the house to the one that griffe knows."""

    def on_alias_instance(self, *, alias: Alias, **more: Any) -> None:
        """An import of a module."""
        if alias.target_path == "contactsim.common.dataclass.dataclass":
            alias.target_path = "dataclasses.dataclass"
