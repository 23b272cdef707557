"""Warnings that point at the user's own line, however deep in the package they arise."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

PACKAGE = str(Path(__file__).parents[1])


def tell(message: str) -> None:
    """Warn, at the line outside of this package that led here."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, stacklevel=level)
