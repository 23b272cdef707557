"""Meshes of robot files as convex hulls, for contacts with other bodies, and what these miss or add."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pinocchio as pin

from ...errors import InputError
from ..contact_point import ContactPoint
from ..zero import NOTHING_ADDED
from .pairs import HULL_CORNERS
from .polyhedra import Points, outermost, polyhedron_of_hull
from .solids import Solid, items_of


class MeshHull(NamedTuple):
    """The hull of a mesh.

    Attributes:
        solid: it.
        added: share of the volume of the mesh by which that of the hull is larger; NaN where the mesh is not closed.
        missed: how far the mesh lies outside of it [m].
        item: name of the mesh in its geometry model.
    """

    solid: Solid
    added: float
    missed: float
    item: str

    @property
    def surplus(self) -> float:
        """`added` in per cent, of a mesh that is its own hull, but for rounding, and of one that is not closed zero."""
        return 100.0 * self.added if self.added > NOTHING_ADDED else 0.0


def mesh_hulls(robot: Any, corners: int = HULL_CORNERS) -> list[MeshHull]:
    """Hulls of the collision meshes of a robot, but of flat ones, and of links that touch with round points or hulls.

    Args:
        robot: a RobotModel.
        corners: the most that a hull may have.
    """
    done = {point.frame for point in robot.contacts if type(point) is ContactPoint and point.radius > 0.0}
    done |= {solid.frame for solid in robot.solids if solid.kind == "hull"}
    frames, items = robot.model.frames, items_of(robot.collision_model)
    return hulls_of(robot.model, [item for item in items if frames[item.parentFrame].name not in done], corners)


def hulls_of(model: Any, items: Sequence[Any], corners: int = HULL_CORNERS) -> list[MeshHull]:
    """Hulls of the meshes with a volume among the objects of a geometry model, see `mesh_hulls`."""
    found = list[tuple[str, Any, Points, float, float, str]]()
    for item in items:
        if not is_mesh(item):
            continue
        frame = model.frames[item.parentFrame]
        vertices = np.asarray(item.geometry.vertices(), dtype=float)
        points, missed, volume = _reduced(vertices.tobytes(), corners)
        if points:
            own = abs(float(item.geometry.computeVolume()))
            added = volume / own - 1.0 if own else np.nan
            found.append((frame.name, frame.placement.actInv(item.placement), points, added, missed, item.name))
    names, hulls = [name for name, *_ in found], []
    for k, (name, place, points, added, missed, item) in enumerate(found):
        x, y, z, *turn = (float(number) for number in pin.SE3ToXYZQUAT(place))
        label = f"{name}/mesh" if names.count(name) == 1 else f"{name}/mesh{names[:k].count(name)}"
        solid = Solid(name, "hull", (), (x, y, z), (turn[0], turn[1], turn[2], turn[3]), label, vertices=points)
        hulls.append(MeshHull(solid, added, missed, item))
    return hulls


def is_mesh(item: Any) -> bool:
    """Whether an object of a geometry model is a mesh."""
    return hasattr(item.geometry, "vertices") and hasattr(item.geometry, "computeVolume")


@lru_cache(maxsize=256)
def _reduced(vertices: bytes, corners: int) -> tuple[Points, float, float]:
    """Corners of the hull, how far other points are outside of it, and its volume; none of a flat mesh."""
    chosen, missed = outermost(np.frombuffer(vertices).reshape(-1, 3), corners)
    points: Points = tuple((float(x), float(y), float(z)) for x, y, z in chosen)
    try:
        return points, missed, polyhedron_of_hull(points).volume
    except InputError:
        return (), 0.0, 0.0
