"""Collision-library shapes as three.js objects."""

from __future__ import annotations

import base64
import mimetypes
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from . import meshfiles
from .protocols import Array

Json = dict[str, Any]

# Rotation that takes the y axis, along which three.js builds round bodies, to the z axis of URDF and pinocchio.
Y_TO_Z = np.array([[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, -1.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]])

UNBOUNDED = ("Plane", "Halfspace")  # floors of a model file; the page draws the terrain instead

_SEGMENTS = 32
_SAME = 1e-5  # of a mesh: by how much two readers of its file may differ
_UINT8, _UINT32, _FLOAT32 = 0x12, 0x16, 0x17  # message types that the page decodes as typed arrays


def box(sides: Array) -> Json:
    """A box centred on the origin; `sides` (3,) in metres."""
    return {"type": "BoxGeometry", "width": float(sides[0]), "height": float(sides[1]), "depth": float(sides[2])}


def sphere(radius: float) -> Json:
    """A sphere centred on the origin; `radius` in metres."""
    return {"type": "SphereGeometry", "radius": radius, "widthSegments": _SEGMENTS, "heightSegments": _SEGMENTS // 2}


def cylinder(bottom: float, top: float, length: float) -> Json:
    """A cylinder or cone along y, centred on the origin; both radii and the length in metres."""
    return {
        "type": "CylinderGeometry",
        "radiusTop": top,
        "radiusBottom": bottom,
        "height": length,
        "radialSegments": _SEGMENTS,
    }


def capsule(radius: float, length: float) -> Json:
    """A cylinder of `length` along y closed by two half spheres of `radius`, in metres."""
    angles = np.linspace(-np.pi / 2, 0.0, 10)
    lower = [(radius * np.cos(a), radius * np.sin(a) - length / 2) for a in angles]
    outline = lower + [(x, -y) for x, y in reversed(lower)]
    return {
        "type": "LatheGeometry",
        "points": [{"x": float(x), "y": float(y)} for x, y in outline],
        "segments": _SEGMENTS,
        "phiStart": 0.0,
        "phiLength": 2 * np.pi,
    }


def triangles(vertices: Array, faces: np.ndarray, normals: Array | None = None) -> Json:
    """A triangle mesh: `vertices` (n, 3) in metres, `faces` (m, 3) indices, `normals` (n, 3) of a smooth one."""
    attributes = {"position": _attribute(vertices.astype(np.float32), _FLOAT32, "Float32Array")}
    if normals is not None:
        attributes["normal"] = _attribute(normals.astype(np.float32), _FLOAT32, "Float32Array")
    index = _attribute(faces.astype(np.uint32), _UINT32, "Uint32Array")
    return {"type": "BufferGeometry", "data": {"attributes": attributes, "index": index}}


def flat(vertices: Array, faces: Array) -> Json:
    """A mesh of flat triangles: its normals are those of its vertices, with which shadows are received."""
    corners = vertices[faces]
    areas = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    sums = [np.bincount(faces.ravel(), np.repeat(areas[:, k], 3), len(vertices)) for k in range(3)]
    normals = np.stack(sums, axis=1)
    length = np.linalg.norm(normals, axis=1, keepdims=True)
    return triangles(vertices, faces, normals / np.where(length > 0.0, length, 1.0))


def tube(points: Array, radius: float, sides: int = 8) -> Json:
    """A round tube of `radius` along a line through `points` (n, 3), in metres."""
    along = np.gradient(points, axis=0)
    along /= np.maximum(np.linalg.norm(along, axis=1, keepdims=True), 1e-300)
    angles = np.linspace(0.0, 2.0 * np.pi, sides, endpoint=False)
    across = carried(along)
    around = np.cross(along, across)
    normals = np.cos(angles)[:, None] * across[:, None] + np.sin(angles)[:, None] * around[:, None]
    vertices = points[:, None] + radius * normals
    k = np.arange(len(points) - 1)[:, None] * sides
    here, there = k + np.arange(sides), k + (np.arange(sides) + 1) % sides
    faces = [np.stack([here, there, there + sides], -1), np.stack([here, there + sides, here + sides], -1)]
    return triangles(vertices.reshape(-1, 3), np.concatenate(faces).reshape(-1, 3), normals.reshape(-1, 3))


def carried(along: Array) -> Array:
    """Unit vectors (n, 3) across the unit vectors `along` (n, 3), each the one before it with the least turn."""
    across = np.empty_like(along)
    last = np.cross(along[0], np.eye(3)[np.argmin(np.abs(along[0]))])
    for k, direction in enumerate(along):
        left = last - (last @ direction) * direction
        if left @ left < 1e-12:
            left = np.cross(direction, np.eye(3)[np.argmin(np.abs(direction))])
        across[k] = last = left / np.sqrt(left @ left)
    return across


def coil(radius: float, length: float, coils: int) -> Json:
    """A coil spring along z from the origin, with a straight piece at each end; all lengths in metres."""
    turn = np.linspace(0.0, 2.0 * np.pi * coils, 16 * coils + 1)
    z = np.linspace(0.15, 0.85, len(turn)) * length
    helix = np.column_stack([radius * np.cos(turn), radius * np.sin(turn), z])
    points = np.vstack([[0.0, 0.0, 0.0], [0.0, 0.0, 0.12 * length], helix, [0.0, 0.0, 0.88 * length], [0, 0, length]])
    return tube(points, 0.16 * radius, 6)


def _attribute(values: np.ndarray, code: int, kind: str) -> Json:
    return {"itemSize": 3, "type": kind, "array": extension(code, values), "normalized": False}


def extension(code: int, values: np.ndarray) -> Any:
    """An array as a message part that the page decodes without loss or overhead."""
    import umsgpack

    return umsgpack.Ext(code, values.tobytes())


def raised(height: float) -> Array:
    """The (4, 4) matrix that lifts by `height` along z, in metres."""
    matrix = np.eye(4)
    matrix[2, 3] = height
    return matrix


# Name of the shape's class -> its geometry and the matrix that places it in the shape's own frame.
PRIMITIVES: dict[str, Callable[[Any], tuple[Json, Array]]] = {
    "Box": lambda s: (box(2.0 * np.asarray(s.halfSide)), np.eye(4)),
    "Sphere": lambda s: (sphere(s.radius), np.eye(4)),
    "Ellipsoid": lambda s: (sphere(1.0), np.diag([*s.radii, 1.0])),
    "Cylinder": lambda s: (cylinder(s.radius, s.radius, 2.0 * s.halfLength), Y_TO_Z),
    "Cone": lambda s: (cylinder(s.radius, 0.0, 2.0 * s.halfLength), Y_TO_Z),
    "Capsule": lambda s: (capsule(s.radius, 2.0 * s.halfLength), Y_TO_Z),
}


def linear(channel: float) -> float:
    """Light of a display (sRGB) colour channel, both in [0, 1] (IEC 61966-2-1)."""
    return channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4


def colour_code(rgb: Array) -> int:
    """A display colour (3,) in [0, 1] as the number that three.js reads as light."""
    red, green, blue = (round(255 * linear(float(np.clip(c, 0.0, 1.0)))) for c in rgb[:3])
    return red << 16 | green << 8 | blue


def paint(rgba: Array, **more: Any) -> Json:
    """A satin material of a display colour; `rgba` (4,) in [0, 1]."""
    opacity = float(rgba[3])
    return {
        "type": "MeshStandardMaterial",
        "color": colour_code(rgba),
        "roughness": 0.55,
        "metalness": 0.08,
        "side": 2,
        "shadowSide": 1,  # the far side casts the shadow, so the near one does not speckle itself
        "opacity": opacity,
        "transparent": opacity < 1.0,
        **more,
    }


def closed(material: Json) -> Json:
    """The material on a closed surface: the inner side of an opaque one is not seen, so it is not worked out."""
    return material if material["transparent"] else material | {"side": 0}


def mesh(geometry: Json, material: Json, matrix: Array, **more: Any) -> Json:
    """One drawn object: a geometry, a material and a (4, 4) matrix that places it in its node."""
    return {
        "metadata": {"version": 4.5, "type": "Object"},
        "geometries": [{"uuid": "geometry", **geometry}],
        "materials": [{"uuid": "material", **material}],
        "object": {
            "type": "Mesh",
            "geometry": "geometry",
            "material": "material",
            "matrix": column_major(matrix),
            **more,
        },
    }


def rod(radius: float, material: Json, **more: Any) -> Json:
    """A rod of length one along z from the origin; `radius` in metres."""
    return mesh(cylinder(radius, radius, 1.0), material, raised(0.5) @ Y_TO_Z, **more)


def column_major(matrix: Array) -> list[float]:
    """A (4, 4) matrix as the 16 numbers that three.js reads."""
    return [float(x) for x in np.asarray(matrix, dtype=np.float64).T.ravel()]


def draw(item: Any, material: Json | None = None) -> Json | None:
    """A pinocchio GeometryObject as a drawn object in the frame of its own placement, of its own `material` or another.

    Primitives are sent as their parameters, meshes as their triangles, or as their file where only the page reads it.
    None: there is nothing to draw (a mesh whose file is missing, an unbounded shape).
    """
    make, smooth = PRIMITIVES.get(type(item.geometry).__name__), material or paint(item.meshColor)
    faceted = smooth | {"flatShading": True}
    if make is not None:
        geometry, matrix = make(item.geometry)
        return mesh(geometry, closed(smooth), matrix)
    file = Path(item.meshPath)
    scale = np.diag([*item.meshScale, 1.0])
    kind = file.suffix.lower().lstrip(".")
    if kind in _LOADERS and file.is_file():
        if kind == "dae" and not item.overrideMaterial and material is None:
            return _collada(file, scale)
        found = meshfiles.read(file)
        if found is not None and _agrees(found, item):
            if found.normals is None:
                return mesh(flat(found.vertices, found.faces), faceted, scale)
            return mesh(triangles(*found), smooth, scale)
        return mesh(_LOADERS[kind](file), smooth, scale)
    surface = _surface(item.geometry)
    return None if surface is None else mesh(surface, faceted, np.eye(4))


def _agrees(found: meshfiles.Triangles, item: Any) -> bool:
    """True for a surface that fills the box which the collision library puts around the same file."""
    item.geometry.computeLocalAABB()
    expected = np.array([item.geometry.aabb_local.min_, item.geometry.aabb_local.max_])
    vertices = found.vertices * np.asarray(item.meshScale)
    return bool(
        np.allclose(
            [vertices.min(axis=0), vertices.max(axis=0)], expected, rtol=0.0, atol=_SAME * np.abs(expected).max()
        )
    )


def _file_geometry(kind: str, data: Any) -> Json:
    return {"type": "_meshfile_geometry", "format": kind, "data": data}


_LOADERS: dict[str, Callable[[Path], Json]] = {
    "stl": lambda file: _file_geometry("stl", extension(_UINT8, np.frombuffer(file.read_bytes(), dtype=np.uint8))),
    "obj": lambda file: _file_geometry("obj", file.read_text(errors="replace")),
    "dae": lambda file: _file_geometry("dae", _without_uneven(file.read_text(errors="replace"), textured=False)),
}


def _collada(file: Path, matrix: Array) -> Json:
    """A Collada file with its own materials and, inlined, the pictures that lie beside it."""
    text = file.read_text(errors="replace")
    names = re.findall(r"<init_from>\s*([^<\s]+\.\w+)\s*</init_from>", text)
    found = [name for name in names if (file.parent / name).is_file()]
    text = _without_uneven(text, textured=found == names)
    return {
        "metadata": {"version": 4.5, "type": "Object"},
        "geometries": [],
        "materials": [],
        "object": {
            "type": "_meshfile_object",
            "format": "dae",
            "data": text,
            "resources": {name: _inlined(file.parent / name) for name in found if "<texture" in text},
            "matrix": column_major(matrix),
        },
    }


def _without_uneven(text: str, textured: bool) -> str:
    """Collada text whose parts can be merged, as meshcat does: all of them have a kind of vertex data, or none.

    Textures go where they cannot be shown: not every part says where they lie, or a picture is missing.
    """
    parts = [match[0] for match in re.finditer(r"<(triangles|polylist|polygons)\b.*?</\1>", text, flags=re.DOTALL)]
    for semantic in ("TEXCOORD", "COLOR"):
        input_ = f'semantic="{semantic}"'
        if not all(input_ in part for part in parts):
            text = text.replace(input_, 'semantic="UNUSED"')
            textured = textured and semantic != "TEXCOORD"
    plain = "<color>0.8 0.8 0.8 1</color>"
    return text if textured else re.sub(r"<texture\b[^>]*?(/>|>.*?</texture>)", plain, text, flags=re.DOTALL)


def _inlined(picture: Path) -> str:
    kind = mimetypes.guess_type(picture.name)[0] or "image/png"
    return f"data:{kind};base64,{base64.b64encode(picture.read_bytes()).decode('ascii')}"


def _surface(shape: Any) -> Json | None:
    """Triangles of a loaded mesh or a convex body, None for any other shape or an empty one."""
    if getattr(shape, "num_tris", 0):
        faces = [[triangle[k] for k in range(3)] for triangle in map(shape.tri_indices, range(shape.num_tris))]
        return flat(np.asarray(shape.vertices()), np.array(faces))
    if getattr(shape, "num_polygons", 0):
        faces = [[polygon[k] for k in range(3)] for polygon in map(shape.polygons, range(shape.num_polygons))]
        return flat(np.asarray(shape.points()), np.array(faces))
    return None
