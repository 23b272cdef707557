"""Drawings of models: shapes, arrows and lines at one instant.

A `Robot` is drawn from its geometry. Any other hybrid system is drawn where it has a method

    drawing(t, x, chart) -> Drawing

that says what it looks like at one instant; `Model` has it, and gives None until a model says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any, ClassVar

import numpy as np

from .lazy import dataclass

DARK, PLAIN, LIGHT = "#344054", "#98a2b3", "#d0d5dd"
BLUE, GREEN, RED, ORANGE, PINK = "#3b6fe0", "#12b76a", "#e5484d", "#f79009", "#d6336c"


@dataclass(frozen=True, eq=False)
class Sphere:
    """A ball.

    Attributes:
        centre: (3,) in the world [m].
        radius: [m].
        colour: "#rrggbb".
    """

    kind: ClassVar[str] = "sphere"
    centre: Any
    radius: float
    colour: str = PLAIN


@dataclass(frozen=True, eq=False)
class Box:
    """A box.

    Attributes:
        centre: (3,) in the world [m].
        sides: (3,) lengths along the box's own axes [m].
        rotation: (3, 3) the box's axes as columns, in the world.
        colour: "#rrggbb".
    """

    kind: ClassVar[str] = "box"
    centre: Any
    sides: Any
    rotation: Any = field(default_factory=lambda: np.eye(3))
    colour: str = PLAIN


@dataclass(frozen=True, eq=False)
class Rod:
    """A round bar between two points.

    Attributes:
        start, end: (3,) in the world [m].
        radius: [m].
        colour: "#rrggbb".
    """

    kind: ClassVar[str] = "rod"
    start: Any
    end: Any
    radius: float
    colour: str = PLAIN


@dataclass(frozen=True, eq=False)
class Spring:
    """A coil spring between two points, which shortens and lengthens with them.

    Attributes:
        start, end: (3,) in the world [m].
        radius: of the coil [m].
        coils: number of turns.
        colour: "#rrggbb".
    """

    kind: ClassVar[str] = "spring"
    start: Any
    end: Any
    radius: float
    coils: int = 7
    colour: str = PLAIN


@dataclass(frozen=True, eq=False)
class Polyline:
    """A line of constant thickness through points, as many of them at all times.

    Attributes:
        points: (n, 3) in the world [m].
        radius: half the thickness [m].
        colour: "#rrggbb".
    """

    kind: ClassVar[str] = "polyline"
    points: Any
    radius: float
    colour: str = PLAIN


@dataclass(frozen=True, eq=False)
class Arrow:
    """An arrow, such as that of a force; the page shows and hides all of them together, as "forces".

    One that is shorter than its head is wide is not drawn.

    Attributes:
        start: (3,) in the world [m].
        vector: (3,) from there to the tip [m].
        radius: of the shaft [m].
        colour: "#rrggbb".
    """

    kind: ClassVar[str] = "arrow"
    start: Any
    vector: Any
    radius: float
    colour: str = PINK


Part = Sphere | Box | Rod | Spring | Polyline | Arrow


@dataclass(frozen=True, eq=False)
class Drawing:
    """Picture of a system at one instant; metres, z up.

    Parts may move, stretch, come and go. Sizes and colours may change, too, but have few values over a run: each is an
    object of its own on the page.

    Attributes:
        parts: {name: part}.
        focus: (3,) what the camera follows; None: the middle of the parts.
        caption: the chart in words; empty: as Python prints it.
        legend: {word: colour}, as at the first instant.
        ground: heights (...) below points (..., 2), as at the first instant; None: no ground.
        sight: (3,) from what is followed towards the camera, as at the first instant.
    """

    parts: Mapping[str, Part]
    focus: Any = None
    caption: str = ""
    legend: Mapping[str, str] = field(default_factory=dict)
    ground: Callable[[np.ndarray], np.ndarray] | None = None
    sight: Any = (1.0, -1.25, 0.62)


def newton_per_metre(force: float, length: float) -> float:
    """A scale of arrows, with one digit, under which a `force` [N] is about a `length` [m] long."""
    return float(f"{force / length:.0e}")


def level(points: np.ndarray) -> np.ndarray:
    """Heights (...) of level ground at z = 0 below points (..., 2) [m]."""
    return np.zeros(np.shape(points)[:-1])
