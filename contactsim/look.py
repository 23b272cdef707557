"""Pictures of a run, drawn by the registered viewer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from . import registry
from .trajectory import Trajectory


def view(trajectory: Trajectory, viewer: str = "meshcat", **options: Any) -> None:
    """Play a run live in the browser."""
    registry.load("viewers", viewer)().view(trajectory, **options)


def export_html(trajectory: Trajectory, path: str | Path, viewer: str = "meshcat", **options: Any) -> Path:
    """Write a run as one offline page; returns its path."""
    return registry.load("viewers", viewer)().export_html(trajectory, path, **options)


def export_png(trajectory: Trajectory, path: str | Path, viewer: str = "meshcat", **options: Any) -> Path:
    """Write a picture of a run; returns its path."""
    return registry.load("viewers", viewer)().export_png(trajectory, path, **options)
