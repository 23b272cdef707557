"""Warnings that point at the user's own line, however deep in the package they arise."""

from __future__ import annotations

import sys
import warnings

OURS = {"contactsim", "contactsim_plugins", "contactsim_robots", "contactsim_viz", "contactsim_native"}


def tell(message: str) -> None:
    """Warn, at the line outside of our packages that led here."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).partition(".")[0] in OURS:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, stacklevel=level)
