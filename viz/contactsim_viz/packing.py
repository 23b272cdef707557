"""Packs the triangle meshes and the tracks of a page: each of them once, however many objects use it, in few bytes.

Positions are 16-bit numbers along each axis of the box around the mesh, so they are off by at most 1 / 131070 of it;
normals are 8-bit numbers. Corners come in the order in which the triangles use them first. So an index is told by how
far it lies behind the first corner that is not used yet, which is a small number, and positions by their differences;
equal bytes of all numbers lie together, which gzip likes. `unpack_mesh` of the page undoes it, and `unpack_arrays`
what is done to tracks.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
from collections.abc import Iterable

import numpy as np

from .commands import Command
from .shapes import Json, box

LEAST = 200  # vertices of a mesh that is worth it
_STEPS, _SPHERE = 65535, 127  # of a position along the box, and of a normal


def share(commands: Iterable[Command]) -> tuple[list[Command], list[Json], list[tuple[str, int]]]:
    """Take the meshes out of drawing commands.

    Returns:
        the commands, with a box in the place of each mesh; the packed meshes; (path, which of them it shows).
    """
    out: list[Command] = []
    meshes: list[Json] = []
    known: dict[bytes, int] = {}
    uses: list[tuple[str, int]] = []
    for command in commands:
        arrays = _arrays(command)
        if arrays is None:
            out.append(command)
            continue
        key = hashlib.sha256(b"".join(array.tobytes() for array in arrays)).digest()
        if key not in known:
            known[key] = len(meshes)
            meshes.append(pack(*arrays))
        uses.append((command["path"], known[key]))
        instead = {"uuid": "geometry", **box(np.ones(3))}
        out.append({**command, "object": {**command["object"], "geometries": [instead]}})
    return out, meshes, uses


def _arrays(command: Command) -> list[np.ndarray] | None:
    """Vertices, faces and, of a smooth mesh, normals of a command that draws one large mesh; else None."""
    drawn = command.get("object", {})
    geometries = drawn.get("geometries", [])
    if len(geometries) != 1 or geometries[0]["type"] != "BufferGeometry" or "children" in drawn["object"]:
        return None
    data = geometries[0]["data"]
    attributes = data["attributes"]
    vertices = np.frombuffer(attributes["position"]["array"].data, np.float32).reshape(-1, 3)
    if len(vertices) < LEAST:
        return None
    faces = np.frombuffer(data["index"]["array"].data, np.uint32).reshape(-1, 3)
    if "normal" not in attributes or drawn["materials"][0].get("flatShading"):
        return [vertices, faces]
    return [vertices, faces, np.frombuffer(attributes["normal"]["array"].data, np.float32).reshape(-1, 3)]


def pack(vertices: np.ndarray, faces: np.ndarray, normals: np.ndarray | None = None) -> Json:
    """A mesh as a page is told of it: vertices (n, 3), faces (m, 3) and, where it is smooth, normals (n, 3)."""
    order, index = _by_use(faces.ravel())
    low, high = vertices.min(axis=0).astype(np.float64), vertices.max(axis=0).astype(np.float64)
    step = np.where(high > low, high - low, 1.0) / _STEPS
    places = np.rint((vertices[order] - low) / step).astype(np.uint16)
    parts = [_planes(_behind(index)), _planes(_differences(places))]
    if normals is not None:
        parts.append(_planes(_differences(np.rint(_SPHERE * normals[order]).astype(np.int8).view(np.uint8))))
    data = gzip.compress(b"".join(parts), compresslevel=9, mtime=0)
    return {
        "data": base64.b64encode(data).decode("ascii"),
        "vertices": len(order),
        "corners": len(index),
        "low": low.tolist(),
        "step": step.tolist(),
        "smooth": normals is not None,
    }


def arrays(found: Iterable[np.ndarray]) -> tuple[Json, list[int]]:
    """Pack arrays of one dimension, equal ones once.

    Returns:
        what the page unpacks: {"data", "arrays": [(kind of number, how many)]}; for each array which of these it is.
    """
    known: dict[tuple[str, bytes], int] = {}
    kinds: list[tuple[str, int]] = []
    parts: list[bytes] = []
    places: list[int] = []
    for array in found:
        key = array.dtype.str, array.tobytes()
        if key not in known:
            known[key] = len(kinds)
            kinds.append((array.dtype.str.lstrip("<|"), len(array)))
            parts.append(_planes(array[:, None]))
        places.append(known[key])
    data = gzip.compress(b"".join(parts), compresslevel=9, mtime=0)
    return {"data": base64.b64encode(data).decode("ascii"), "arrays": kinds}, places


def tracks(command: Command) -> Json:
    """The tracks of an animation: {"data", "arrays", "list": [(path, property, which times, which values)]}."""
    named = [
        (clip["path"], one["name"].lstrip("."), one["times"], one["values"])
        for clip in command["animations"]
        for one in clip["clip"]["tracks"]
    ]
    packed, places = arrays(array for one in named for array in one[2:])
    rows = [(path, name, *places[2 * k : 2 * k + 2]) for k, (path, name, _, _) in enumerate(named)]
    return packed | {"list": rows, "duration": command["duration"]}


def _by_use(index: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The vertices in the order of their first use, and the index (k,) in terms of that."""
    used, first, place = np.unique(index, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), dtype=np.uint32)
    rank[order] = np.arange(len(order), dtype=np.uint32)
    return used[order], rank[place.ravel()]


def _behind(index: np.ndarray) -> np.ndarray:
    """Distance of each index from the first number that was not used before it; 0: it is that number."""
    following = np.maximum.accumulate(index.astype(np.int64) + 1)
    unused = np.concatenate([[0], following[:-1]])
    return (unused - index).astype(np.uint32)[:, None]


def _differences(values: np.ndarray) -> np.ndarray:
    """Each row less the one before it, in the same unsigned numbers."""
    return np.diff(values, axis=0, prepend=np.zeros((1, values.shape[1]), values.dtype))


def _planes(values: np.ndarray) -> bytes:
    """Bytes of values (n, k): all lowest bytes of the first column, then the next ones, then the next column."""
    width = values.dtype.itemsize
    return (
        np.ascontiguousarray(values.astype(values.dtype.newbyteorder("<")).T)
        .view(np.uint8)
        .reshape(values.shape[1], -1, width)
        .transpose(0, 2, 1)
        .tobytes()
    )
