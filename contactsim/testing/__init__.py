"""The conformance kit: the contract of a plugin, tried property by property.

`check_plugin`, by name, and `check_contact_law` and `check_model` return a `Report`; `contactsim check NAME` prints it,
and `pytest --pyargs contactsim.testing --contactsim-law NAME` makes a test of each property. A property that does
not hold is reported with the smallest failing state and its number.

Importing this package costs nothing: pytest imports it wherever contactsim is installed.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

_HOMES = {
    "Outcome": "report",
    "Report": "report",
    "check_contact_law": "kit",
    "check_model": "kit",
    "check_plugin": "kit",
    "properties": "kit",
    "check_property": "kit",
}
__all__ = ["Outcome", "Report", "check_contact_law", "check_model", "check_plugin", "check_property", "properties"]

if TYPE_CHECKING:
    from .kit import check_contact_law, check_model, check_plugin, check_property, properties
    from .report import Outcome, Report


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'contactsim.testing' has no attribute '{name}'")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)


def __dir__() -> list[str]:
    return __all__
