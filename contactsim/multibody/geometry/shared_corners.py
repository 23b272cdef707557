"""Corners beside what touches: an edge says all there is to say of its own corner, and a corner of that it passes.

Where a face lies on an edge and slides off it, the last corner of the face crosses that edge. Beyond the edge it is
below the plane of the next face, but outside of the body: faces hold points without radius up to RIM beyond their
edges, and would see it inside by as much as it slopes. So such a corner is hidden near an edge on which one of its own
edges lies, until that contact ends, RIM behind the corner.

So is a corner of a face on which a corner of another body lies, as both pass each other. The plane of that face parts
the two bodies, so that its corners touch the other one along its normal or not at all. But as the last of them slides
out over that corner, the side faces there would hold it from SUNK before it is beyond them on, as deep inside.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence

import numpy as np

from ...common.arrays import Array
from ..zero import NEAR_EDGE, ON_SOLID
from .edges import EdgeOnEdge
from .features import PairShape, Place, PointOnSolid
from .hulls import Hull
from .polyhedra import Polyhedron, polyhedron_of_box
from .shapes import Block, Shape


class SharedCorners:
    """The contacts of corners at the ends of edges, and of faces.

    Args:
        pairs: all contacts.
        ends: numbers (k, 2) of the solids of A and B of each.
    """

    def __init__(self, pairs: Sequence[PairShape], ends: Array) -> None:
        self._pairs, self._ends = pairs, ends.reshape(-1, 2)
        self._corners: dict[tuple[int, int], list[int]] = {}
        for k, pair in enumerate(pairs):
            if isinstance(pair.features, PointOnSolid) and pair.features.rounding == 0.0:
                self._corners.setdefault((pair.joint_a, int(self._ends[k, 1])), []).append(k)
        self._found: dict[int, list[tuple[int, bool, Array]]] = {}
        self._of_faces: dict[int, tuple[Array, Array]] = {}

    def hidden(self, closed: Iterable[int], asked: Container[int], place: Callable[[int], Place]) -> set[int]:
        """Corners that pass an edge on which one of their own edges lies, or a corner on which one of their faces does.

        Args:
            closed: the closed contacts.
            asked: corners that are looked at.
            place: where the solids of a contact are.
        """
        found = set[int]()
        for k in closed:
            features = self._pairs[k].features
            if isinstance(features, PointOnSolid) and features.rounding == 0.0:
                found.update(corner for corner in self._at_corner(k, place) if corner in asked)
            if not isinstance(features, EdgeOnEdge):
                continue
            corners = [corner for corner in self._at_ends(k, features) if corner[0] in asked]
            if not corners:
                continue
            here = place(k)
            lines = (here.R_a, here.o_a, features.one, features.a), (here.R_b, here.o_b, features.two, features.b)
            for corner, of_a, vertex in corners:
                own, other = lines if of_a else lines[::-1]
                if _distance(own[0] @ vertex + own[1], *_segment(*other)) <= NEAR_EDGE:
                    found.add(corner)
        return found

    def _at_ends(self, k: int, features: EdgeOnEdge) -> list[tuple[int, bool, Array]]:
        """(contact, whether it is a corner of A, its place in axes of that) of the ends of both edges."""
        if k not in self._found:
            pair, (one, two) = self._pairs[k], self._ends[k].tolist()
            sides = (
                (True, pair.joint_a, pair.placement_a, features.one, features.a, two),
                (False, pair.joint_b, pair.placement_b, features.two, features.b, one),
            )
            self._found[k] = [
                (corner, of_a, vertex)
                for of_a, joint, placement, solid, edge, other in sides
                for vertex in solid.vertices[solid.edges[edge]]
                for corner in self._corners.get((joint, other), ())
                if np.abs(self._pairs[corner].placement_a.translation - placement.act(vertex)).max() < ON_SOLID
            ]
        return self._found[k]

    def _at_corner(self, k: int, place: Callable[[int], Place]) -> list[int]:
        """Contacts of corners of B where a corner of A lies on B, with A."""
        if k not in self._of_faces:
            pair = self._pairs[k]
            own = [
                corner
                for (joint, _), corners in self._corners.items()
                for corner in corners
                if joint == pair.joint_b and _is_vertex(pair, self._pairs[corner])
                if _is_vertex(self._pairs[corner], pair)
            ]
            there = [pair.placement_b.actInv(self._pairs[corner].placement_a.translation) for corner in own]
            self._of_faces[k] = np.array(own, dtype=int), np.array(there).reshape(-1, 3)
        numbers, vertices = self._of_faces[k]
        if not len(numbers):
            return []
        here = place(k)
        way = vertices - here.R_b.T @ (here.o_a - here.o_b)
        return [int(corner) for corner in numbers[np.linalg.norm(way, axis=1) <= NEAR_EDGE]]


def _is_vertex(corner: PairShape, other: PairShape) -> bool:
    """Whether a corner is one of the solid that another corner touches."""
    if corner.joint_a != other.joint_b or not isinstance(other.features, PointOnSolid):
        return False
    way = _vertices(other.features.shape) - other.placement_b.actInv(corner.placement_a.translation)
    return bool((np.abs(way).max(axis=1) < ON_SOLID).any())


def _vertices(shape: Shape) -> Array:
    """The corners (k, 3) of a box or hull; none of others."""
    if isinstance(shape, Block):
        return polyhedron_of_box(shape.lengths).vertices
    return shape.solid.vertices if isinstance(shape, Hull) else np.zeros((0, 3))


def _segment(R: Array, o: Array, solid: Polyhedron, edge: int) -> tuple[Array, Array]:
    """Both ends (3,) of an edge in the world."""
    first, last = solid.vertices[solid.edges[edge]] @ R.T + o
    return first, last


def _distance(point: Array, first: Array, last: Array) -> float:
    """Distance of a point from a segment."""
    along = last - first
    share = min(max(float((point - first) @ along) / float(along @ along), 0.0), 1.0)
    return float(np.linalg.norm(point - first - share * along))
