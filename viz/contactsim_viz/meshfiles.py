"""Reads the triangles of mesh files, each corner once: what a page repeats for each corner makes it heavy."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

from .protocols import Array

_STL_HEAD, _STL_TRIANGLE = 84, np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("more", "<u2")])
_PARALLEL = 1.0 - 1e-4  # cosine of 0.8 degrees, which are not seen: a normal and that of its triangle
_SLIVERS = 1e-4  # of a surface: triangles so thin that a file's digits do not tell their normal
_KEPT = 64  # files whose triangles are remembered: the legs of a robot share theirs


class Triangles(NamedTuple):
    """A surface.

    Attributes:
        vertices: (n, 3) in the unit of the file's user, metres.
        faces: (m, 3) indices.
        normals: (n, 3) of a smooth surface; None: its triangles are flat.
    """

    vertices: Array
    faces: np.ndarray
    normals: Array | None = None


def read(file: Path) -> Triangles | None:
    """The triangles of a binary STL or a plain Collada file; None: of another file, or one with more in it."""
    return _read(str(file), file.stat().st_mtime_ns)


@lru_cache(maxsize=_KEPT)
def _read(name: str, changed: int) -> Triangles | None:
    file = Path(name)
    reader = {".stl": _stl, ".dae": _collada}.get(file.suffix.lower())
    return None if reader is None else reader(file)


def _stl(file: Path) -> Triangles | None:
    data = file.read_bytes()
    count = int.from_bytes(data[_STL_HEAD - 4 : _STL_HEAD], "little")
    if len(data) < _STL_HEAD or len(data) != _STL_HEAD + count * _STL_TRIANGLE.itemsize:
        return None
    corners = np.frombuffer(data, _STL_TRIANGLE, count, _STL_HEAD)["corners"].reshape(-1, 3) + np.float32(0.0)
    vertices, faces = _once(corners)
    return Triangles(vertices.astype(np.float64), faces)


def _once(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Different ones of `rows` (3 m, k), and which of them the corners (m, 3) are."""
    keys = np.ascontiguousarray(rows).view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel()
    _, first, place = np.unique(keys, return_index=True, return_inverse=True)
    return rows[first], place.reshape(-1, 3)


# --- Collada --------------------------------------------------------------------------------------


def _collada(file: Path) -> Triangles | None:
    try:
        root = ET.fromstring(file.read_bytes())
        parts = list(_Collada(root).parts())
    except (ET.ParseError, KeyError, ValueError, IndexError, _Other):
        return None
    if not parts:
        return None
    corners = np.concatenate([np.concatenate(part, axis=1) for part in parts]).astype(np.float32) + np.float32(0.0)
    if _flat(corners.reshape(-1, 3, 6).astype(np.float64)):
        vertices, faces = _once(corners[:, :3])
        return Triangles(vertices.astype(np.float64), faces)
    rows, faces = _once(corners)
    return Triangles(rows[:, :3].astype(np.float64), faces, rows[:, 3:].astype(np.float64))


def _flat(corners: Array) -> bool:
    """True where the normals are those of their triangles (m, 3, 6), which then share their corners."""
    across = np.cross(corners[:, 1, :3] - corners[:, 0, :3], corners[:, 2, :3] - corners[:, 0, :3])
    length = np.linalg.norm(across, axis=1)
    share = np.abs(np.einsum("mki,mi->mk", corners[..., 3:], across))
    bent = (share < _PARALLEL * length[:, None]).any(axis=1)
    return bool(length[bent].sum() <= _SLIVERS * length.sum())


class _Other(Exception):
    """There is more in the file than is read here."""


class _Collada:
    """The geometries of a document (COLLADA 1.4.1), placed as its scene places them."""

    def __init__(self, root: ET.Element) -> None:
        for element in root.iter():
            element.tag = element.tag.rsplit("}", 1)[-1]
        self._root = root
        self._named = {element.get("id"): element for element in root.iter() if element.get("id")}
        unit = root.find("asset/unit")
        self._metre = 1.0 if unit is None else float(unit.get("meter", "1"))

    def parts(self) -> Iterator[tuple[Array, Array]]:
        """Corners (3 m, 3) [m] and normals (3 m, 3) of each piece."""
        for scene in self._root.iter("visual_scene"):
            for node in scene.findall("node"):
                yield from self._below(node, np.diag([self._metre] * 3 + [1.0]))

    def _below(self, node: ET.Element, outer: Array) -> Iterator[tuple[Array, Array]]:
        place = outer @ _place(node)
        turn = np.linalg.inv(place[:3, :3]).T
        for child in node:
            if child.tag in ("instance_controller", "instance_node"):
                raise _Other
            if child.tag == "node":
                yield from self._below(child, place)
            if child.tag == "instance_geometry":
                for corners, normals in self._pieces(self._at(child.get("url", ""))):
                    turned = normals @ turn.T
                    length = np.linalg.norm(turned, axis=1, keepdims=True)
                    yield corners @ place[:3, :3].T + place[:3, 3], turned / np.where(length > 0.0, length, 1.0)

    def _at(self, address: str) -> ET.Element:
        return self._named[address.removeprefix("#")]

    def _pieces(self, geometry: ET.Element) -> Iterator[tuple[Array, Array]]:
        # Lines have no surface, and are not drawn.
        for kind in ("polygons", "trifans", "tristrips", "spline"):
            if geometry.find(f".//{kind}") is not None:
                raise _Other
        for piece in (*geometry.iter("triangles"), *geometry.iter("polylist")):
            inputs = {given.get("semantic"): given for given in piece.findall("input")}
            text = piece.findtext("p")
            if not text or "NORMAL" not in inputs:
                raise _Other
            width = 1 + max(int(given.get("offset", "0")) for given in inputs.values())
            index = np.array(text.split(), dtype=np.intp).reshape(-1, width)[_fans(piece.findtext("vcount"))]
            position = self._at(inputs["VERTEX"].get("source", "")).find("input[@semantic='POSITION']")
            if position is None:
                raise _Other
            found = (self._numbers(position), self._numbers(inputs["NORMAL"]))
            offsets = [int(inputs[name].get("offset", "0")) for name in ("VERTEX", "NORMAL")]
            yield found[0][index[:, offsets[0]]], found[1][index[:, offsets[1]]]

    def _numbers(self, given: ET.Element) -> Array:
        source = self._at(given.get("source", ""))
        return np.array((source.findtext("float_array") or "").split(), dtype=np.float64).reshape(-1, 3)


def _fans(counts: str | None) -> np.ndarray | slice:
    """Corners that make triangles, where polygons have `counts` of them: each polygon is a fan around its first."""
    if counts is None:
        return slice(None)
    count = np.array(counts.split(), dtype=np.intp)
    first = np.repeat(np.cumsum(count) - count, count - 2)
    step = np.arange(len(first)) - np.repeat(np.cumsum(count - 2) - (count - 2), count - 2)
    return np.column_stack([first, first + step + 1, first + step + 2]).ravel()


def _place(node: ET.Element) -> Array:
    """Matrix (4, 4) of a node's own transformations."""
    place = np.eye(4)
    for child in node:
        numbers = np.array((child.text or "").split(), dtype=np.float64) if child.tag in _MOVES else np.empty(0)
        if child.tag in _MOVES:
            place = place @ _MOVES[child.tag](numbers)
        elif child.tag in ("lookat", "skew"):
            raise _Other
    return place


def _rotation(numbers: Array) -> Array:
    """Matrix (4, 4) of an axis and an angle in degrees."""
    matrix = np.eye(4)
    turn = np.radians(numbers[3]) * numbers[:3] / np.linalg.norm(numbers[:3])
    matrix[:3, :3] = Rotation.from_rotvec(turn).as_matrix()
    return matrix


def _translation(numbers: Array) -> Array:
    matrix = np.eye(4)
    matrix[:3, 3] = numbers
    return matrix


_MOVES = {
    "matrix": lambda numbers: numbers.reshape(4, 4),
    "translate": _translation,
    "rotate": _rotation,
    "scale": lambda numbers: np.diag([*numbers, 1.0]),
}
