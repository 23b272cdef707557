"""How deep convex bodies are inside each other, by their shapes alone: no contact, feature or mode is asked.

Two convex polyhedra overlap by the least shift that parts them. Its direction is the normal of a face of one of them,
or perpendicular to an edge of each (the faces of their Minkowski difference), so the depth is exact:

    depth = min over these n of max_B n . x - min_A n . x,

negative where they are apart (then its size is a lower bound of the distance). Source: Gottschalk, Separating axis
theorem, 1996. Spheres and points are as deep in a solid as its distance function says, which is the gap of their pair.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...common.arrays import Array
from ..zero import PARALLEL_EDGES
from .edges import EdgeOnEdge
from .features import PairShape
from .polyhedra import Polyhedron


class SolidPair(NamedTuple):
    """Two polyhedra, by name, on their joints."""

    names: tuple[str, str]
    joints: tuple[int, int]
    placements: tuple[Any, Any]
    solids: tuple[Polyhedron, Polyhedron]

    def reach(self) -> float:
        """Distance of their origins from which on they are apart [m]."""
        return sum(solid.reach for solid in self.solids)


def solid_pairs(pairs: Sequence[PairShape]) -> list[SolidPair]:
    """The polyhedra whose edges meet, each couple once."""
    found: dict[tuple[str, str], SolidPair] = {}
    for pair in pairs:
        features = pair.features
        if isinstance(features, EdgeOnEdge) and pair.always and not features.rounding:
            one, two = (part.rpartition("/")[0] for part in pair.name.split("+"))
            joints, placements = (pair.joint_a, pair.joint_b), (pair.placement_a, pair.placement_b)
            found.setdefault((one, two), SolidPair((one, two), joints, placements, (features.one, features.two)))
    return list(found.values())


def depths(pairs: Sequence[SolidPair], joints: Any) -> Iterator[tuple[tuple[str, str], float]]:
    """Names and depth [m] of the pairs that overlap, where the joints are placed (pin.SE3 each)."""
    for pair in pairs:
        one, two = (joints[k] * place for k, place in zip(pair.joints, pair.placements, strict=True))
        if np.linalg.norm(one.translation - two.translation) < pair.reach():
            deep = depth(pair.solids, (one.rotation, one.translation), (two.rotation, two.translation))
            if deep > 0.0:
                yield pair.names, deep


def depth(solids: tuple[Polyhedron, Polyhedron], one: tuple[Array, Array], two: tuple[Array, Array]) -> float:
    """Depth of an overlap [m] of two polyhedra with axes and origin each; negative where they are apart."""
    (a, b), (R, o), (S, p) = solids, one, two
    points_a, points_b = a.vertices @ R.T + o, b.vertices @ S.T + p
    faces_a, faces_b = a.normals @ R.T, b.normals @ S.T
    inside = a.offsets + faces_a @ o - (faces_a @ points_b.T).min(axis=1)
    other = b.offsets + faces_b @ p - (faces_b @ points_a.T).min(axis=1)
    least = float(min(inside.min(), other.min()))
    if least <= 0.0:
        return least
    across = np.cross((a.axes @ R.T)[:, None], (b.axes @ S.T)[None]).reshape(-1, 3)
    size = np.linalg.norm(across, axis=1)
    normals = across[size > PARALLEL_EDGES] / size[size > PARALLEL_EDGES, None]
    if not len(normals):
        return least
    on_a, on_b = normals @ points_a.T, normals @ points_b.T
    apart = np.minimum(on_b.max(axis=1) - on_a.min(axis=1), on_a.max(axis=1) - on_b.min(axis=1))
    return min(least, float(apart.min()))
