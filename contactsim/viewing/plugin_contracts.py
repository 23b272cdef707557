"""The contract of viewers: reasons for which what an entry point names is none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def viewer(found: Any) -> Iterator[str]:
    """Breaches of the contract of `contactsim.viewers`."""
    missing = [name for name in ("view", "export_html", "export_png") if not callable(getattr(found, name, None))]
    if not isinstance(found, type) or missing:
        yield f"is {found!r}; let it name a class with view, export_html and export_png"
