"""The old address of drawings of models: `common.drawing`."""

from .common.drawing import Arrow, Box, Drawing, Polyline, Rod, Sphere, Spring, level, newton_per_metre
from .viewing.viewers import export_html, export_mp4, export_png, view

__all__ = [
    "Arrow",
    "Box",
    "Drawing",
    "Polyline",
    "Rod",
    "Sphere",
    "Spring",
    "export_html",
    "export_mp4",
    "export_png",
    "level",
    "newton_per_metre",
    "view",
]
