"""Grounds: planes, hills and moving ones; all are found under this name."""

from .hills import Function, HeightField, Hills, Sinusoid
from .moving import Moving, Oscillation
from .planes import Flat, NoGround, Plane, Slope, level_axes, rise, tangents
from .surface import Growth, Surface, Terrain, Third

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
