"""Commands to a meshcat page: objects, their places, and tracks along which they move."""

from __future__ import annotations

from typing import Any

import numpy as np

from .protocols import Array
from .shapes import Y_TO_Z, Json, closed, colour_code, column_major, cylinder, mesh, paint, rod

Command = dict[str, Any]

_OVER = 5  # place in the order of drawing, behind all that is not seen through


def node_name(name: str) -> str:
    """A joint's, geometry's or contact's name as one step of a path."""
    return name.replace("/", "_") or "_"


def put(path: str, drawn: Json) -> Command:
    """Draw an object at a node."""
    return {"type": "set_object", "path": path, "object": drawn}


def place(path: str, matrix: Array) -> Command:
    """Put a node at the (4, 4) `matrix`."""
    return {"type": "set_transform", "path": path, "matrix": column_major(matrix)}


def set_property(path: str, name: str, value: Any) -> Command:
    """Set a property of a node."""
    return {"type": "set_property", "path": path, "property": name, "value": value}


def track(name: str, kind: str, time: Array, values: Array) -> Json:
    """A track with the keys `values` (n, k) at the times `time` (n,), in a straight line from key to key.

    Times are in double precision, so that a mode begins at the very time of its event; values in single precision.
    """
    keys = np.ascontiguousarray(values, dtype=np.float32).ravel()
    return {"name": f".{name}", "type": kind, "times": np.asarray(time, dtype=np.float64), "values": keys}


def switch(time: Array, on: np.ndarray) -> Json:
    """A visibility track with a key wherever it changes; `on` (m,) holds from each of `time` (m,) to the next."""
    keep = np.append(True, on[1:] != on[:-1])
    times = np.asarray(time, dtype=np.float64)[keep]
    return {"name": ".visible", "type": "bool", "times": times, "values": np.asarray(on[keep], dtype=np.uint8)}


def animation(tracks: dict[str, list[Json]], duration: float) -> Command:
    """Play {path: tracks} over and over; the page does it, and not meshcat, whose times are in single precision."""
    animations = [{"path": path, "clip": {"tracks": found}} for path, found in tracks.items()]
    return {"type": "set_animation", "animations": animations, "duration": max(duration, 1e-3), "path": ""}


def arrow(path: str, colour: str, shaft: float, head: float, tip: float) -> list[Command]:
    """Shaft and head of an arrow along z: their radii, and the length of the head, in metres.

    It is seen through what lies before it: the force on a foot runs along the leg, and often inside of it.
    """
    material = closed(glowing(colour)) | {"depthTest": False, "transparent": True}
    return [
        put(f"{path}/shaft", rod(shaft, material, renderOrder=_OVER)),
        put(f"{path}/head", mesh(cylinder(head, 0.0, tip), material, Y_TO_Z, renderOrder=_OVER)),
    ]


def unit(vector: Array) -> Array:
    """The vector with length one."""
    return vector / np.linalg.norm(vector)


def placed(position: Array, rotation: Array) -> Array:
    """The (4, 4) matrix of a position (3,) and a rotation (3, 3)."""
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = rotation, position
    return matrix


def facing(normal: Array) -> Array:
    """Rotation whose z axis is `normal` and whose x axis stays above the world's x axis."""
    across = unit(np.cross(normal, [1.0, 0.0, 0.0]) if abs(normal[0]) < 0.9 else np.cross(normal, [0.0, 0.0, -1.0]))
    return np.column_stack([np.cross(across, normal), across, normal])


def turn_from_z(vectors: Array) -> Array:
    """Unit quaternions (n, 4), x y z w, of the shortest turn from the z axis to each of `vectors` (n, 3)."""
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    along = np.where(length > 0.0, vectors / np.where(length > 0.0, length, 1.0), [0.0, 0.0, 1.0])
    turn = np.column_stack([-along[:, 1], along[:, 0], np.zeros(len(along)), 1.0 + along[:, 2]])
    turn[turn[:, 3] < 1e-9] = [1.0, 0.0, 0.0, 0.0]
    return turn / np.linalg.norm(turn, axis=1, keepdims=True)


def rgba(code: str, opacity: float = 1.0) -> Array:
    """The display colour (4,) in [0, 1] of "#rrggbb"."""
    return np.array([*(int(code[k : k + 2], 16) / 255 for k in (1, 3, 5)), opacity])


def glowing(code: str, opacity: float = 1.0) -> Json:
    """A material that is seen in the shade, too."""
    colour = rgba(code, opacity)
    return paint(colour, emissive=colour_code(colour), emissiveIntensity=0.45)
