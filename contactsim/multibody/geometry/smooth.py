"""Ellipsoids against other bodies: strictly convex and smooth, they touch at one point, which moves on smoothly.

A solid B with faces, edges and corners (rounded or not) has one smooth feature for each of these, and likewise a
cylinder or cone for its side, ends, rims and tip (see `surfaces`); which of them is nearest is the region of the
contact, as for a sphere. They hand over to each other where the nearest point leaves the face, side or edge, or the
normal leaves those of the edge, rim or corner: there both have the same point and normal. The closest points are roots
of the equations in `closest_points`, found in real numbers to rounding; one step of Newton's method in complex ones
gives their derivatives.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from ...common.arrays import Array
from ...common.lazy import dataclass
from ...errors import SingularError
from ..zero import FAR_BODIES, TIED
from .closest_points.ellipsoids import on_ring, on_slant
from .closest_points.features import Ellipsoid, Feature, Plane, Ring, Slant
from .closest_points.search import closest
from .cylinders import Drum, Taper
from .features import Place, poses_of, turned_back
from .hulls import Hull
from .nearest_features import RootedFeatures
from .shapes import Region
from .surfaces import Surface, surface_of

STEPS = 100  # from feature to feature on the way to the nearest one


@dataclass(frozen=True, eq=False)
class SmoothOnSolid(RootedFeatures):
    """An ellipsoid or sphere around the origin of A against a solid.

    Attributes:
        own: what A is, in its axes.
        other: what B is: one feature, a polyhedron, rounded or not, or a cylinder or cone.
        reach: largest distance of B from its origin [m]; None: it has no end.
    """

    own: Feature
    other: Feature | Hull | Drum | Taper
    reach: float | None
    radius_a: float = 0.0

    @cached_property
    def radii(self) -> Array:
        """Of A (3,) [m]."""
        return self.own.radii if isinstance(self.own, Ellipsoid) else np.full(3, self.own.offset)

    @property
    def extent_a(self) -> float:  # type: ignore[override]
        """The largest radius."""
        return float(self.radii.max())

    @property
    def extent_b(self) -> float | None:  # type: ignore[override]
        """Of the solid."""
        return self.reach

    # --- features of B ------------------------------------------------------------------------------------------

    @cached_property
    def surface(self) -> Surface:
        """B by its features."""
        return surface_of(self.other)

    def _towards(self, place: Place, feature: Feature) -> Array:
        """A vector on the side of A, in the world: its centre from the feature."""
        if isinstance(feature, Plane):
            return np.asarray(place.R_b @ feature.normal)
        way = place.o_a - place.o_b - place.R_b @ feature.centre
        slides = feature.slides @ place.R_b.T
        return np.asarray(way - slides.T @ (slides @ way))

    def _features(self, region: Region) -> tuple[Feature, Feature]:
        return self.own, self.surface.feature(region)

    def _root(self, place: Place, region: Region) -> Array:
        """The y of one place; where the centres are the same, there is none."""
        feature, poses = self.surface.feature(region), poses_of(place)
        if isinstance(feature, Slant | Ring):
            assert isinstance(self.own, Ellipsoid)
            search = on_slant if isinstance(feature, Slant) else on_ring
            y = search(self.own, feature, poses)  # type: ignore[arg-type]
            if y is None:
                raise SingularError("an ellipsoid and a side or rim have no one closest point: they are far inside")
            return y
        return closest(self.own, feature, poses, self._towards(place, feature)).nearest.y

    # --- the contract -------------------------------------------------------------------------------------------

    def region(self, place: Place) -> Region:
        """The nearest feature: from that of the centre on, over the sides that the nearest point is beyond."""
        region = self.surface.start(place.R_b.T @ (place.o_a - place.o_b))
        for _ in range(STEPS if self.sides(region) else 0):
            least, side = min((float(self.margin(place, region, side)), side) for side in self.sides(region))
            if least >= -TIED:
                break
            region = self.surface.beyond(region, side)
        return region

    def open_gap(self, place: Place) -> float:
        """The distance; far away, that of the centre less the largest radius."""
        if self.reach is not None:
            apart = self.surface.distance(place.R_b.T @ (place.o_a - place.o_b)) - self.extent_a
            if apart > FAR_BODIES * (self.reach + self.extent_a):
                return apart
        return float(self.gap(place, self.region(place)))

    def sides(self, region: Region) -> tuple[int, ...]:
        """Those of the surface."""
        return self.surface.sides(region)

    def margin(self, place: Place, region: Region, side: int) -> Array:
        """How far the nearest point of the feature is from its end; of normals, at the least radius."""
        nearest = self._settled(place, region)[0]
        n = turned_back(place.R_b, nearest.normal)
        x = turned_back(place.R_b, nearest.x_b - place.o_b) - self.surface.rounding * n
        return self.surface.margin(region, side, x, n, float(self.radii.min()))

    def beyond(self, region: Region, side: int) -> Region | None:
        """That of the surface."""
        return self.surface.beyond(region, side)

    def bend(self, place: Place, speed: float, spin: float, duration: float) -> float:
        """(v + w r_max)^2 / r_min with the largest and the least radius of curvature of A."""
        return float(bend_of(self.radii.min(), self.radii.max(), speed, spin))


def bend_of(least: Array, most: Array, speed: Array | float, spin: Array | float) -> Array:
    """(v + w r_max)^2 / r_min with the largest and the least radius of curvature of an ellipsoid, of its radii."""
    return (speed + spin * most * most / least) ** 2 * most / (least * least)
