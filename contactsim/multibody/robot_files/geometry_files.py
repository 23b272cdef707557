"""Contact points read off a robot's links and collision geometry."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pinocchio as pin

from ...errors import InputError
from ..contact_point import ContactPoint
from ..model_checks import link_frame

FOOT = re.compile(r"(^|[_\-/])(foot|feet|toe|sole)([_\-/]|\d*$)", re.IGNORECASE)
EXTREMES = 8  # directions in which the extreme points of a mesh are taken: the corners of a cube


def load_geometry(model: Any, source: Any) -> Any:
    """A geometry model from one, from a function of the model, or None.

    Raises:
        InputError: a mesh is missing.
    """
    if source is None or isinstance(source, pin.GeometryModel):
        return source
    try:
        return source(model)
    except (ValueError, RuntimeError) as error:
        reason = str(error).rstrip(".")
        raise InputError(
            f"the geometry of robot '{model.name}' cannot be read ({reason}); give package_dirs, or contacts by hand"
        ) from error


def automatic_contacts(model: Any, source: Any) -> tuple[ContactPoint, ...]:
    """Contact points of a robot: links named as feet where there are any, else all collision geometry of its links.

    sphere: its centre, with its radius. Box: eight corners. Capsule: the two ends of its axis, with its radius.
    Cylinder: four points on each rim. Mesh: up to eight extreme points, on links that carry no other link. Feet whose
    geometry cannot be read are points at the origin of their link, with a warning. Links that stand still have none.
    """
    feet = [frame.name for frame in model.frames if frame.type == pin.FrameType.BODY and FOOT.search(frame.name)]
    try:
        collision = load_geometry(model, source)
    except InputError as error:
        if not feet:
            raise
        warnings.warn(f"{error}; its feet are taken as points", stacklevel=4)
        collision = None
    geometries = list(collision.geometryObjects) if collision is not None else []
    by_link: dict[str, list[Any]] = {}
    for geometry in geometries:
        by_link.setdefault(model.frames[geometry.parentFrame].name, []).append(geometry)
    links = [link for link in feet or by_link if model.frames[link_frame(model, link)].parentJoint]
    points: list[ContactPoint] = []
    for link in links:
        points += _link_points(model, link, by_link.get(link, []), named=bool(feet))
    return tuple(points)


def _link_points(model: Any, link: str, geometries: Sequence[Any], named: bool) -> list[ContactPoint]:
    frame = link_frame(model, link)
    leaf = not model.children[model.frames[frame].parentJoint]
    found: list[tuple[np.ndarray, float]] = []
    for geometry in geometries:
        placement = model.frames[frame].placement.actInv(geometry.placement)
        found += [(placement.act(point), radius) for point, radius in shape_points(geometry, leaf)]
    if not found and named:
        found = [(np.zeros(3), 0.0)]
    single = len(found) == 1
    return [
        ContactPoint(link, (float(p[0]), float(p[1]), float(p[2])), radius=r, name=link if single else f"{link}/{k}")
        for k, (p, r) in enumerate(found)
    ]


def shape_points(geometry: Any, leaf: bool) -> list[tuple[np.ndarray, float]]:
    """Contact points and radii of one collision shape, in the frame of the geometry."""
    shape = geometry.geometry
    kind = type(shape).__name__
    if kind == "Sphere":
        return [(np.zeros(3), float(shape.radius))]
    if kind == "Box":
        return [(np.array(signs) * shape.halfSide, 0.0) for signs in product((-1.0, 1.0), repeat=3)]
    if kind == "Capsule":
        return [(np.array([0.0, 0.0, end * shape.halfLength]), float(shape.radius)) for end in (-1.0, 1.0)]
    if kind == "Cylinder":
        rim = [(shape.radius * c, shape.radius * s) for c, s in ((1, 0), (0, 1), (-1, 0), (0, -1))]
        return [(np.array([x, y, end * shape.halfLength]), 0.0) for end in (-1.0, 1.0) for x, y in rim]
    if leaf and hasattr(shape, "vertices"):
        return _mesh_points(np.asarray(shape.vertices()) * np.asarray(geometry.meshScale))
    return []


def _mesh_points(vertices: np.ndarray) -> list[tuple[np.ndarray, float]]:
    corners = np.array(list(product((-1.0, 1.0), repeat=3)))
    indices = np.unique(np.argmax(vertices @ corners.T, axis=0))
    return [(vertices[i], 0.0) for i in indices[:EXTREMES]]
