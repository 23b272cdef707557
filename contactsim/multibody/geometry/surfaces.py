"""What ellipsoids meet: bodies by their smooth features, of which a region says which one is nearest.

Behind each side of a region lies another one, with the same point and normal where they meet.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property

import numpy as np

from ...common.arrays import Array
from ...common.lazy import dataclass
from .closest_points.features import Feature, Line, Plane, Point, Ring, Slant
from .cylinders import CAP, EDGE, TIP, UP, Drum, Taper
from .hulls import EDGE as RIDGE
from .hulls import FACE, Hull
from .shapes import Region, Shape, length_of


class Surface(ABC):
    """A body of smooth features.

    Attributes:
        rounding: how far its surface lies outside of these [m].
    """

    rounding: float = 0.0

    @abstractmethod
    def feature(self, region: Region) -> Feature:
        """That of a region."""

    def start(self, p: Array) -> Region:
        """A region that a point (3,) is near to."""
        return ()

    def distance(self, p: Array) -> float:
        """Of a point outside [m]."""
        return -np.inf

    def sides(self, region: Region) -> tuple[int, ...]:
        """On which it can be left."""
        return ()

    def beyond(self, region: Region, side: int) -> Region:
        """What is behind a side."""
        raise NotImplementedError

    def margin(self, region: Region, side: int, x: Array, n: Array, scale: float) -> Array:
        """How far (...) a point x (..., 3) of the feature with outward normal n is from a side [m].

        Args:
            region, side: which.
            x, n: in axes of the body.
            scale: of normals, as a way [m].
        """
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Whole(Surface):
    """One feature."""

    only: Feature

    def feature(self, region: Region) -> Feature:
        """The only one."""
        return self.only


@dataclass(frozen=True, eq=False)
class _Shaped(Surface):
    """A body whose regions are those of its distance function."""

    shape: Shape

    @cached_property
    def _known(self) -> dict[Region, Feature]:
        return {}

    def feature(self, region: Region) -> Feature:
        """Made once."""
        if region not in self._known:
            self._known[region] = self._made(region)
        return self._known[region]

    @abstractmethod
    def _made(self, region: Region) -> Feature:
        """The feature of a region."""

    def start(self, p: Array) -> Region:
        """That of the point itself."""
        return self.shape.region(p)

    def distance(self, p: Array) -> float:
        """By the shape."""
        return float(self.shape.distance(p, self.shape.region(p)))

    def sides(self, region: Region) -> tuple[int, ...]:
        """Those of the shape."""
        return self.shape.sides(region)

    def beyond(self, region: Region, side: int) -> Region:
        """Likewise."""
        return self.shape.beyond(region, side)


@dataclass(frozen=True, eq=False)
class Faceted(_Shaped):
    """Faces, edges and corners of a polyhedron, rounded or not."""

    shape: Hull

    @property
    def rounding(self) -> float:  # type: ignore[override]
        """Of the hull."""
        return self.shape.rounding

    def _made(self, region: Region) -> Feature:
        solid, r, (kind, k) = self.shape.solid, self.shape.rounding, region
        if kind == FACE:
            return Plane(solid.normals[k] * solid.offsets[k], solid.normals[k], r)
        if kind == RIDGE:
            return Line(solid.vertices[solid.edges[k, 0]], solid.directions[k], r)
        return Point(solid.vertices[k], r)

    def margin(self, region: Region, side: int, x: Array, n: Array, scale: float) -> Array:
        """Within a face or along an edge; of edges and corners by the normal."""
        solid, (kind, k) = self.shape.solid, region
        if kind == FACE:
            edge, which = solid.edges_of_faces[k][side - 1]
            return (x - solid.vertices[solid.edges[edge, 0]]) @ solid.into[edge, which]
        if kind == RIDGE:
            if side <= 2:
                return -scale * (n @ solid.into[k, side - 1])
            along = (x - solid.vertices[solid.edges[k, 0]]) @ solid.directions[k]
            return along if side == 3 else solid.lengths[k] - along
        edge, sense = solid.edges_of_vertices[k][side - 1]
        return -scale * sense * (n @ solid.directions[edge])


@dataclass(frozen=True, eq=False)
class Turned(_Shaped):
    """Side, ends and rims of a cylinder or cone, and its tip."""

    shape: Drum | Taper

    @property
    def sine(self) -> float:
        """s of n . b = s on the side, b the axis."""
        return self.shape.radius / self.shape.slant if isinstance(self.shape, Taper) else 0.0

    def _made(self, region: Region) -> Feature:
        radius, half, (kind, end) = self.shape.radius, self.shape.half, region
        if kind == CAP:
            return Plane(end * half * UP, end * UP)
        if kind == EDGE:
            return Ring(end * half * UP, UP, radius)
        if kind == TIP:
            return Point(half * UP)
        return Slant(half * UP, UP, self.sine) if isinstance(self.shape, Taper) else Line(np.zeros(3), UP, radius)

    def margin(self, region: Region, side: int, x: Array, n: Array, scale: float) -> Array:
        """Across the axis on an end, along the side, and by the normal of a rim or tip."""
        kind, end = region
        if kind == CAP:
            return self.shape.radius - length_of(x[..., :2])[..., 0]
        if kind == TIP:
            return scale * (n[..., 2] - self.sine)
        if kind == EDGE:
            if side == 3:
                return scale * (end * n[..., 2] + self.sine)
            return scale * (n[..., :2] * x[..., :2]).sum(axis=-1) / self.shape.radius
        return (self.shape.half - (1.0 if side > 0 else -1.0) * x[..., 2]) / np.sqrt(1.0 - self.sine**2)


def surface_of(other: Feature | Hull | Drum | Taper) -> Surface:
    """Of one feature, a polyhedron, or a cylinder or cone."""
    if isinstance(other, Hull):
        return Faceted(other)
    return Turned(other) if isinstance(other, Drum | Taper) else Whole(other)
