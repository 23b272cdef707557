"""Parts of a drawing: the look of each, and its place."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from contactsim.errors import InputError

from .protocols import Array
from .shapes import Y_TO_Z, Json, box, coil, cylinder, mesh, rod, sphere, tube

_SHORTEST = 1e-9  # metres; a rod between two points that meet is as long
_HEAD, _BROAD = 8.0, 2.8  # of the radius of an arrow: length and radius of its head
FORCES = "forces"  # the group of arrows


class Look(NamedTuple):
    """Constant look of a part that moves; equal looks are one object.

    Attributes:
        kind: "sphere", "box", "rod", "spring", "line" or "head".
        sizes: the numbers that its shape needs.
        colour: "#rrggbb".
        group: what the page shows and hides with it; the node below `/world` that it is drawn under.
    """

    kind: str
    sizes: tuple[float, ...]
    colour: str
    group: str = "parts"

    def mesh(self, length: float, material: Json) -> Json:
        """The object to draw; one that stretches has the given length."""
        sizes = self.sizes
        match self.kind:
            case "sphere":
                return mesh(sphere(sizes[0]), material, np.eye(4))
            case "box":
                return mesh(box(np.array(sizes)), material, np.eye(4))
            case "spring":
                return mesh(coil(sizes[0], max(length, _SHORTEST), int(sizes[1])), material, np.eye(4))
            case "line":
                return mesh(tube(np.reshape(sizes[1:], (-1, 3)), sizes[0]), material, np.eye(4))
            case "head":
                return mesh(cylinder(_BROAD * sizes[0], 0.0, _HEAD * sizes[0]), material, Y_TO_Z)
        return rod(sizes[0], material)

    def reference(self, length: float) -> float:
        """Length of the object to draw, whose scale is one; `length` is that of its first key."""
        return max(length, _SHORTEST) if self.kind == "spring" else 1.0


class Pose(NamedTuple):
    """Place of a part.

    Attributes:
        position: (3,) of its centre or start.
        rotation: (3, 3) of a box.
        along, length: unit vector (3,) from start to end, and their distance, of what stretches.
    """

    position: Array
    rotation: Array | None = None
    along: Array | None = None
    length: float = 0.0

    def bounds(self, look: Look) -> Array:
        """Corners (2, 3) of a box around the part."""
        if look.kind == "line":
            points = np.reshape(look.sizes[1:], (-1, 3))
            return np.array([points.min(axis=0) - look.sizes[0], points.max(axis=0) + look.sizes[0]])
        if self.rotation is not None:
            reach = np.abs(self.rotation) @ np.array(look.sizes) / 2
        else:
            reach = np.full(3, look.sizes[0])
        end = self.position if self.along is None else self.position + self.length * self.along
        return np.array([np.minimum(self.position, end) - reach, np.maximum(self.position, end) + reach])


Seen = tuple[Look, Pose]


def read(parts: Mapping[str, Any], where: str) -> dict[str, Seen]:
    """Looks and poses of {name: part}; `where` ends a sentence about a mistake: "in the drawing of ... at ...".

    Raises:
        InputError: something is no part, or has a size, point or colour that cannot be drawn.
    """
    out: dict[str, Seen] = {}
    for name, part in parts.items():
        reader = _READERS.get(getattr(part, "kind", None))  # type: ignore[arg-type]
        if reader is None:
            known = "Sphere, Box, Rod, Spring, Polyline or Arrow"
            raise InputError(f"the part '{name}' {where} is {part!r}; give a {known} of contactsim.look")
        seen = reader(_Asked(part, f"of the part '{name}' {where}"))
        out |= {f"{name}/{piece}": one for piece, one in seen.items()} if isinstance(seen, dict) else {name: seen}
    return out


def groups_of(looks: Iterable[Look]) -> dict[str, tuple[str, bool]]:
    """{name: (node above it, whether it is shown at first)} of what can be shown and hidden."""
    return {FORCES: (f"/world/{FORCES}", True)} if any(look.group == FORCES for look in looks) else {}


def pieces(line: Look) -> dict[str, Seen]:
    """The rods and balls that a line is made of where it bends in the course of a run."""
    sizes, points = line.sizes[:1], np.reshape(line.sizes[1:], (-1, 3))
    bar, ball = Look("rod", sizes, line.colour), Look("sphere", sizes, line.colour)
    rods = {f"rod{k}": (bar, _stretched(a, b)) for k, (a, b) in enumerate(pairwise(points))}
    return rods | {f"joint{k}": (ball, Pose(point)) for k, point in enumerate(points)}


def finite(given: Any, what: str, *shape: int) -> Array:
    """A given array of finite numbers, or an error that begins with `what`; -1 in its shape stands for any number."""
    try:
        value = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        value = np.array(np.nan)
    fits = value.ndim == len(shape) and all(s in (-1, n) for s, n in zip(shape, value.shape, strict=True))
    if not (fits and np.isfinite(value).all()):
        wanted = " x ".join("n" if s == -1 else str(s) for s in shape) or "one"
        raise InputError(f"{what} is {given!r}; give {wanted} finite number{'s' * bool(shape)}")
    return value


class _Asked:
    """A part whose numbers are checked as they are read."""

    def __init__(self, part: Any, place: str) -> None:
        self.part, self.place = part, place

    def array(self, name: str, *shape: int) -> Array:
        return finite(getattr(self.part, name), f"the {name} {self.place}", *shape)

    def sizes(self, name: str) -> tuple[float, ...]:
        value = self.array(name, 3)
        if value.min() <= 0.0:
            raise InputError(f"the {name} {self.place} are {value.tolist()}; give positive numbers")
        return tuple(value.tolist())

    def size(self, name: str) -> float:
        value = float(self.array(name))
        if value <= 0.0:
            raise InputError(f"the {name} {self.place} is {value:g}; give a positive number")
        return value

    @property
    def colour(self) -> str:
        value = self.part.colour
        if not (isinstance(value, str) and re.fullmatch("#[0-9a-fA-F]{6}", value)):
            raise InputError(f"the colour {self.place} is {value!r}; give one as '#3b6fe0'")
        return value


def _sphere(asked: _Asked) -> Seen:
    return Look("sphere", (asked.size("radius"),), asked.colour), Pose(asked.array("centre", 3))


def _box(asked: _Asked) -> Seen:
    return Look("box", asked.sizes("sides"), asked.colour), Pose(
        asked.array("centre", 3), asked.array("rotation", 3, 3)
    )


def _between(asked: _Asked) -> Seen:
    sizes: tuple[float, ...] = (asked.size("radius"),)
    if asked.part.kind == "spring":
        sizes = (*sizes, asked.size("coils"))
    look = Look(asked.part.kind, sizes, asked.colour)
    return look, _stretched(asked.array("start", 3), asked.array("end", 3))


def _stretched(start: Array, end: Array) -> Pose:
    length = float(np.linalg.norm(end - start))
    along = (end - start) / length if length > _SHORTEST else np.array([0.0, 0.0, 1.0])
    return Pose(start, along=along, length=length)


def _arrow(asked: _Asked) -> dict[str, Seen]:
    """Its shaft and its head; nothing of one that is too short."""
    start, vector, radius = asked.array("start", 3), asked.array("vector", 3), asked.size("radius")
    length, colour = float(np.linalg.norm(vector)), asked.colour
    if length < _BROAD * radius:
        return {}
    shaft, head = Look("rod", (radius,), colour, FORCES), Look("head", (radius,), colour, FORCES)
    along = vector / length
    return {
        "shaft": (shaft, Pose(start, along=along, length=length)),
        "head": (head, Pose(start + vector, along=along, length=1.0)),
    }


def _polyline(asked: _Asked) -> Seen:
    points = asked.array("points", -1, 3)
    if len(points) < 2:
        raise InputError(f"the points {asked.place} are {len(points)}; give two or more")
    return Look("line", (asked.size("radius"), *points.ravel().tolist()), asked.colour), Pose(np.zeros(3))


_READERS: dict[str, Callable[[_Asked], Seen | dict[str, Seen]]] = {
    "sphere": _sphere,
    "box": _box,
    "rod": _between,
    "spring": _between,
    "polyline": _polyline,
    "arrow": _arrow,
}
