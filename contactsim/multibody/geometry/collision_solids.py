"""Solids read off the collision geometry of a model."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pinocchio as pin

from .solids import Solid

GEOMETRY = {
    "Sphere": "sphere",
    "Box": "box",
    "Halfspace": "half_space",
    "Capsule": "capsule",
    "Cylinder": "cylinder",
    "Ellipsoid": "ellipsoid",
    "Cone": "cone",
}


def items_of(geometry: Any) -> list[Any]:
    """The objects of a geometry model; none where there is no model."""
    return [] if geometry is None else list(geometry.geometryObjects)


def solids_of(model: Any, items: Iterable[Any]) -> tuple[Solid, ...]:
    """Spheres, boxes, capsules, cylinders, cones, ellipsoids and half-spaces among the objects of a geometry model."""
    found: list[Solid] = []
    for item in items:
        kind = GEOMETRY.get(type(item.geometry).__name__)
        if kind is not None:
            found.append(_solid(model, item, kind))
    names = [solid.frame for solid in found]
    return tuple(
        Solid(s.frame, s.kind, s.size, s.position, s.quaternion, f"{s.frame}/{names[:k].count(s.frame)}")
        if names.count(s.frame) > 1
        else s
        for k, s in enumerate(found)
    )


def _solid(model: Any, item: Any, kind: str) -> Solid:
    frame = model.frames[item.parentFrame]
    placement = frame.placement.actInv(item.placement)
    shape = item.geometry
    size: tuple[float, ...] = ()
    if kind == "sphere":
        size = (float(shape.radius),)
    elif kind == "box":
        size = tuple(float(2.0 * side) for side in shape.halfSide)
    elif kind == "ellipsoid":
        size = tuple(float(radius) for radius in shape.radii)
    elif kind in ("capsule", "cylinder", "cone"):
        size = float(shape.radius), float(2.0 * shape.halfLength)
    else:  # all below n . x = d
        turn = pin.Quaternion.FromTwoVectors(np.array([0.0, 0.0, 1.0]), np.asarray(shape.n, float)).toRotationMatrix()
        placement = placement * pin.SE3(turn, float(shape.d) * np.asarray(shape.n, float))
    numbers = [float(number) for number in pin.SE3ToXYZQUAT(placement)]
    return Solid(frame.name, kind, size, tuple(numbers[:3]), tuple(numbers[3:]))  # type: ignore[arg-type]


def placement_of(solid: Solid) -> Any:
    """Placement of a solid on its frame (pin.SE3)."""
    return pin.XYZQUATToSE3(np.array([*solid.position, *solid.quaternion]))
