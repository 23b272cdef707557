"""The distance from a convex polyhedron, rounded by a radius or not, by its nearest feature.

The core of a capsule is a segment, which has one edge and no faces.

A region is (FACE, f), (EDGE, e) or (VERTEX, v): the features' Voronoi regions. A face is left across each of its
edges, an edge into its two faces and at its two ends, a vertex along each of its edges.
"""

from __future__ import annotations

import numpy as np

from ...common.arrays import Array
from ...common.lazy import dataclass
from ..zero import RIM
from .polyhedra import Polyhedron
from .shapes import Region, Shape, length_of, touchable, turning

FACE, EDGE, VERTEX = 1, 2, 3


@dataclass(frozen=True, eq=False)
class Hull(Shape):
    """A convex polyhedron: the distance to its nearest face, edge or vertex; inside, to the face that is nearest.

    Attributes:
        solid: its core.
        rounding: how far its surface lies outside of the core [m].
    """

    solid: Polyhedron
    rounding: float = 0.0

    @property
    def extent(self) -> float:  # type: ignore[override]
        """Of its vertices."""
        return self.solid.reach + self.rounding

    def region(self, p: Array, inner: Array | None = None) -> Region:
        """The nearest feature of a point (3,).

        A point without radius near the surface meets faces only, and these reach RIM beyond their edges, as `margin`
        says: not beyond the planes of their neighbours, which is further where faces meet at an angle. Of several faces
        that are as near, it meets the one on whose side its body is.
        """
        solid = self.solid
        beyond = solid.normals @ p - solid.offsets
        if len(beyond) and beyond.max() <= (0.0 if inner is None else RIM):
            near = touchable(beyond)
            if inner is None:
                return FACE, int(np.argmax(beyond))
            near &= (self._within(p) >= -RIM) | (beyond.max() <= -RIM)
            if near.any():
                return FACE, int(np.argmax(np.where(near, solid.normals @ inner - solid.offsets, -np.inf)))
        start = solid.vertices[solid.edges[:, 0]]
        along = np.sum((p - start) * solid.directions, axis=1)
        held = np.clip(along, 0.0, solid.lengths)
        apart = np.linalg.norm(p - start - held[:, None] * solid.directions, axis=1)
        edge = int(np.argmin(apart))
        if len(beyond):
            over = self._within(p)
            faces = np.where((over >= 0.0) & (beyond > 0.0), beyond, np.inf)
            if faces.min() <= apart[edge]:
                return FACE, int(np.argmin(faces))
        if 0.0 < along[edge] < solid.lengths[edge]:
            return EDGE, edge
        return VERTEX, int(solid.edges[edge, 0 if along[edge] <= 0.0 else 1])

    def _within(self, p: Array) -> Array:
        """How far (F,) a point (3,) is inside the edges of each face, in its plane."""
        solid = self.solid
        inward = np.sum((p - solid.vertices[solid.edges[:, 0]])[:, None, :] * solid.into, axis=2)  # (E, 2)
        within = np.full(len(solid.loops), np.inf)
        np.minimum.at(within, solid.sides.ravel(), inward.ravel())
        return within

    def cornered(self, region: Region) -> bool:
        """Beyond a vertex."""
        return region[0] == VERTEX

    def faced(self, region: Region) -> bool:
        """Beyond a face."""
        return region[0] == FACE

    def _offset(self, p: Array, region: Region) -> Array:
        """From the line of an edge, or from a vertex, to p."""
        kind, k = region
        if kind == VERTEX:
            return p - self.solid.vertices[k]
        own, direction = p - self.solid.vertices[self.solid.edges[k, 0]], self.solid.directions[k]
        return own - (own @ direction)[..., None] * direction

    def distance(self, p: Array, region: Region) -> Array:
        """n . p - d beyond a face; the distance to an edge or a vertex; less the rounding."""
        kind, k = region
        if kind == FACE:
            return p @ self.solid.normals[k] - self.solid.offsets[k] - self.rounding
        return length_of(self._offset(p, region))[..., 0] - self.rounding

    def normal(self, p: Array, region: Region) -> Array:
        """That of the face, or away from the edge or vertex."""
        if region[0] == FACE:
            return np.broadcast_to(self.solid.normals[region[1]], p.shape)
        offset = self._offset(p, region)
        return offset / length_of(offset)

    def normal_rate(self, p: Array, rate: Array, region: Region) -> Array:
        """Zero on a face; about an edge or vertex like that of a sphere."""
        kind, k = region
        if kind == FACE:
            return np.zeros_like(rate)
        if kind == EDGE:
            direction = self.solid.directions[k]
            rate = rate - (rate @ direction)[..., None] * direction
        return turning(self._offset(p, region), rate)

    def curvature(self, radius: float) -> float:
        """That about an edge or vertex of a sphere outside; of a point, that within a face."""
        return 1.0 / radius if radius > 0.0 else 0.0

    def piece(self, region: Region, radius: float) -> Region | None:
        """A sphere's normal is continuous all around; a point passes edges as sharply as it comes near."""
        if radius > 0.0:
            return ()
        return region if region[0] == FACE else None

    def sides(self, region: Region) -> tuple[int, ...]:
        """1 and on: the edges of a face, the two faces and the two ends of an edge, the edges of a vertex."""
        kind, k = region
        if kind == EDGE:
            return (1, 2, 3, 4) if len(self.solid.loops) else (3, 4)
        own = self.solid.edges_of_faces[k] if kind == FACE else self.solid.edges_of_vertices[k]
        return tuple(range(1, len(own) + 1))

    def margin(self, p: Array, region: Region, side: int, rim: float) -> Array:
        """Within the plane of a face, along an edge, or away from the edges of a vertex, plus the rim."""
        (kind, k), solid = region, self.solid
        if kind == FACE:
            edge, place = solid.edges_of_faces[k][side - 1]
            return (p - solid.vertices[solid.edges[edge, 0]]) @ solid.into[edge, place] + rim
        if kind == EDGE:
            own = p - solid.vertices[solid.edges[k, 0]]
            if side <= 2:
                return -(own @ solid.into[k, side - 1]) + rim
            along = own @ solid.directions[k]
            return (along if side == 3 else solid.lengths[k] - along) + rim
        edge, sense = solid.edges_of_vertices[k][side - 1]
        return -sense * ((p - solid.vertices[k]) @ solid.directions[edge]) + rim

    def beyond(self, region: Region, side: int) -> Region:
        """The edge of a face or vertex, the face or vertex of an edge."""
        (kind, k), solid = region, self.solid
        if kind == FACE:
            return EDGE, solid.edges_of_faces[k][side - 1][0]
        if kind == EDGE:
            return (FACE, int(solid.sides[k, side - 1])) if side <= 2 else (VERTEX, int(solid.edges[k, side - 3]))
        return EDGE, solid.edges_of_vertices[k][side - 1][0]
