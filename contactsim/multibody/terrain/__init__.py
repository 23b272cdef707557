"""Grounds: planes, hills and moving ones; all are found under this name."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .surface import Flat, Growth, NoGround, Plane, Slope, Surface, Terrain, Third, level_axes, rise, tangents

if TYPE_CHECKING:
    from .heights import Function, HeightField, Sinusoid
    from .hills import Hills
    from .moving import Moving, Oscillation

__all__ = [
    "Flat",
    "Function",
    "Growth",
    "HeightField",
    "Hills",
    "Moving",
    "NoGround",
    "Oscillation",
    "Plane",
    "Sinusoid",
    "Slope",
    "Surface",
    "Terrain",
    "Third",
    "level_axes",
    "rise",
    "tangents",
]

_LATER = {"Hills": "hills", **dict.fromkeys(("Function", "HeightField", "Sinusoid"), "heights")}
_LATER |= dict.fromkeys(("Moving", "Oscillation"), "moving")


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(import_module(f".{_LATER[name]}", __name__), name)


def __dir__() -> list[str]:
    return __all__
