"""Contact points read off a robot's links and collision geometry."""

from __future__ import annotations

import re
import warnings
from collections.abc import Container, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import pinocchio as pin

from ...errors import InputError
from ..contact_point import ContactPoint
from ..model_checks import link_frame

FOOT = re.compile(r"(^|[_\-/])(foot|feet|toe|sole)([_\-/]|\d*$)", re.IGNORECASE)
CHOICES = ("auto", "all", "feet")
MOST = 6  # names that a warning lists one by one
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


def automatic_contacts(model: Any, source: Any, choice: str = "auto") -> tuple[ContactPoint, ...]:
    """Contact points of a robot, with a warning of the geometry that has none, or only some of its points.

    sphere: its centre, with its radius. Box: eight corners. Capsule: the two ends of its axis, with its radius.
    Cylinder: four points on each rim. Mesh: up to eight extreme points; in "auto" on links that carry no other link.
    Feet whose geometry cannot be read are points at the origin of their link, with a warning. Links that stand still
    have none.

    Args:
        model: pinocchio's model.
        source: its collision geometry, see `load_geometry`.
        choice: "all" geometry, that of links named as "feet", or "auto": the feet where there are any, else all.

    Raises:
        InputError: the choice is another one, there are no feet, or a mesh is missing.
    """
    if choice not in CHOICES:
        raise InputError(f"contacts is '{choice}'; give {', '.join(map(repr, CHOICES))} or a list of ContactPoint")
    feet = [frame.name for frame in model.frames if frame.type == pin.FrameType.BODY and FOOT.search(frame.name)]
    if choice == "feet" and not feet:
        raise InputError(f"no link of robot '{model.name}' is named as a foot; give contacts='all' or a list")
    feet = [] if choice == "all" else feet
    collision = _collision(model, source, needed=not feet)
    by_link: dict[str, list[Any]] = {}
    for geometry in collision.geometryObjects if collision is not None else ():
        by_link.setdefault(model.frames[geometry.parentFrame].name, []).append(geometry)
    moving = {link: model.frames[link_frame(model, link)].parentJoint > 0 for link in (*feet, *by_link)}
    chosen = [link for link in feet or by_link if moving[link]]
    points: list[ContactPoint] = []
    for link in chosen:
        points += _link_points(model, link, by_link.get(link, []), named=bool(feet), whole=choice == "all")
    shown = {link: shapes for link, shapes in by_link.items() if moving[link]}
    _tell(model, shown, set(chosen), choice)
    return tuple(points)


def _collision(model: Any, source: Any, needed: bool) -> Any:
    try:
        return load_geometry(model, source)
    except InputError as error:
        if needed:
            raise
        warnings.warn(f"{error}; its feet are taken as points", stacklevel=5)
        return None


def _tell(model: Any, by_link: Mapping[str, Sequence[Any]], chosen: Container[str], choice: str) -> None:
    """Warn of geometry of moving links that cannot touch, or only by some points of its meshes."""
    gone, rough = [], []
    for link, geometries in by_link.items():
        for geometry in geometries:
            count = len(shape_points(geometry, choice == "all" or _is_leaf(model, link))) if link in chosen else 0
            name = f"link '{link}' ({_kind(geometry)})"
            if not count:
                gone.append(name)
            elif hasattr(geometry.geometry, "vertices"):
                rough.append(f"link '{link}' ({count})")
    parts = [f"leave out {listed(gone)}"] if gone else []
    parts += [f"take only extreme points of the meshes of {listed(rough)}"] if rough else []
    if parts:
        other = "" if choice == "all" else "contacts='all', or "
        remedy = f"give {other}a list of ContactPoint for others"
        warnings.warn(f"the contacts '{choice}' of robot '{model.name}' {' and '.join(parts)}; {remedy}", stacklevel=5)


def _kind(geometry: Any) -> str:
    shape = geometry.geometry
    return "mesh" if hasattr(shape, "vertices") else type(shape).__name__.lower()


def listed(names: Sequence[str]) -> str:
    """Names in a row, the first few of many."""
    shown = ", ".join(names[:MOST])
    return shown if len(names) <= MOST else f"{shown} and {len(names) - MOST} more"


def _is_leaf(model: Any, link: str) -> bool:
    """True for a link that carries no other moving one."""
    return not model.children[model.frames[link_frame(model, link)].parentJoint]


def _link_points(model: Any, link: str, geometries: Sequence[Any], named: bool, whole: bool) -> list[ContactPoint]:
    frame = link_frame(model, link)
    leaf = whole or _is_leaf(model, link)
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
        return _mesh_points(np.asarray(shape.vertices()))  # pinocchio has scaled them
    return []


def _mesh_points(vertices: np.ndarray) -> list[tuple[np.ndarray, float]]:
    corners = np.array(list(product((-1.0, 1.0), repeat=3)))
    indices = np.unique(np.argmax(vertices @ corners.T, axis=0))
    return [(vertices[i], 0.0) for i in indices[:EXTREMES]]
