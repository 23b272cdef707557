"""Thresholds by their names, as the extension has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

Rules = TypeVar("Rules")


def filled(rules: Rules, values: Mapping[str, Any]) -> Rules:
    """The rules with these values."""
    for name, value in values.items():
        setattr(rules, name, value)
    return rules
