"""Ellipsoids against other bodies: strictly convex and smooth, they touch at one point, which moves on smoothly.

A solid B with faces, edges and corners (rounded or not) has one smooth feature for each of these; which of them is
nearest is the region of the contact, as for a sphere. Face, edge and corner hand over to each other where the nearest
point leaves the face or the edge, or the normal leaves those of the edge or corner: there both have the same point and
normal. The closest points are roots of the equations in `closest_points`, found in real numbers to rounding; one step
of Newton's method in complex ones gives their derivatives.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...common.arrays import Array
from ..zero import FAR_BODIES, TIED
from .closest_points.equations import Nearest, Pose, Settled, drift, settled
from .closest_points.features import Ellipsoid, Feature, Line, Plane, Point
from .closest_points.search import closest
from .features import Bodies, FeaturePair, Meet, Place, turned_back
from .hulls import EDGE, FACE, Hull
from .shapes import Region

KEPT = 8  # closest points, of so many regions and places
STEPS = 100  # from feature to feature on the way to the nearest one


@dataclass(frozen=True, eq=False)
class SmoothOnSolid(FeaturePair):
    """An ellipsoid or sphere around the origin of A against a solid.

    Attributes:
        own: what A is, in its axes.
        other: what B is: one feature, or a polyhedron, rounded or not.
        reach: largest distance of B from its origin [m]; None: it has no end.
    """

    own: Feature
    other: Feature | Hull
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
    def _pieces(self) -> dict[Region, Feature]:
        return {}

    def _piece(self, region: Region) -> Feature:
        """The feature of B in a region."""
        if not isinstance(self.other, Hull):
            return self.other
        if region not in self._pieces:
            solid, r, (kind, k) = self.other.solid, self.other.rounding, region
            found: Feature
            if kind == FACE:
                found = Plane(solid.normals[k] * solid.offsets[k], solid.normals[k], r)
            elif kind == EDGE:
                found = Line(solid.vertices[solid.edges[k, 0]], solid.directions[k], r)
            else:
                found = Point(solid.vertices[k], r)
            self._pieces[region] = found
        return self._pieces[region]

    def _towards(self, place: Place, feature: Feature) -> Array:
        """A vector on the side of A, in the world: its centre from the feature."""
        if isinstance(feature, Plane):
            return np.asarray(place.R_b @ feature.normal)
        way = place.o_a - place.o_b - place.R_b @ feature.centre
        slides = feature.slides @ place.R_b.T
        return np.asarray(way - slides.T @ (slides @ way))

    @cached_property
    def _found(self) -> dict[Any, tuple[Nearest, Settled]]:
        """Closest points of the last places: gap, region, its margins, rows and frame ask for the same ones."""
        return {}

    def _nearest(self, place: Place, region: Region) -> tuple[Nearest, Settled]:
        """Closest points of one place, as they are found and with their sides, derivative and points to rounding."""
        key = region, *(np.asarray(part).tobytes() for part in place)
        found = self._found.get(key)
        if found is None:
            feature = self._piece(region)
            poses = Pose(place.R_a, place.o_a), Pose(place.R_b, place.o_b)
            nearest = closest(self.own, feature, poses, self._towards(place, feature)).nearest
            found = nearest, settled(self.own, feature, poses, nearest.y)
            if len(self._found) >= KEPT:
                self._found.clear()
            self._found[key] = found
        return found

    def _settled(self, place: Place | Bodies, region: Region) -> tuple[Feature, Settled]:
        """The same for places with leading axes and complex steps around one place."""
        lead, feature = place.o_a.shape[:-1], self._piece(region)
        here = Place(*(part.real.reshape(-1, *part.shape[len(lead) :])[0] for part in place[:4]))
        nearest, found = self._nearest(here, region)
        if not lead and not any(map(np.iscomplexobj, place[:4])):
            return feature, found
        poses = Pose(place.R_a, place.o_a), Pose(place.R_b, place.o_b)
        return feature, settled(self.own, feature, poses, np.broadcast_to(nearest.y, (*lead, len(nearest.y))))

    # --- the contract -------------------------------------------------------------------------------------------

    def gap(self, place: Place, region: Region) -> Array:
        """The signed distance from the feature of the region."""
        return self._settled(place, region)[1][0].gap

    def meet(self, bodies: Bodies, region: Region) -> Meet:
        """Point, normal and rates: see `closest_points.equations`."""
        feature, found = self._settled(bodies, region)
        rates = drift(self.own, feature, found, (bodies.V_a, bodies.V_b))
        return Meet(found[0].x_a, rates.x_a, found[0].normal, rates.normal)

    def region(self, place: Place) -> Region:
        """The nearest feature: from that of the centre on, over the sides that the nearest point is beyond."""
        if not isinstance(self.other, Hull):
            return ()
        region = self.other.region(place.R_b.T @ (place.o_a - place.o_b))
        for _ in range(STEPS):
            least, side = min((float(self.margin(place, region, side)), side) for side in self.other.sides(region))
            if least >= -TIED:
                break
            region = self.other.beyond(region, side)
        return region

    def open_gap(self, place: Place) -> float:
        """The distance; far away, that of the centre less the largest radius."""
        if isinstance(self.other, Hull) and self.reach is not None:
            p = place.R_b.T @ (place.o_a - place.o_b)
            apart = float(self.other.distance(p, self.other.region(p))) - self.extent_a
            if apart > FAR_BODIES * (self.reach + self.extent_a):
                return apart
        return float(self.gap(place, self.region(place)))

    def sides(self, region: Region) -> tuple[int, ...]:
        """Those of the polyhedron."""
        return self.other.sides(region) if isinstance(self.other, Hull) else ()

    def margin(self, place: Place, region: Region, side: int) -> Array:
        """Within a face or along an edge, how far the nearest point of the core is; of normals, at the least radius."""
        assert isinstance(self.other, Hull)
        solid, (kind, k) = self.other.solid, region
        nearest = self._settled(place, region)[1][0]
        n = turned_back(place.R_b, nearest.normal)
        x = turned_back(place.R_b, nearest.x_b - place.o_b) - self.other.rounding * n
        if kind == FACE:
            edge, which = solid.edges_of_faces[k][side - 1]
            return (x - solid.vertices[solid.edges[edge, 0]]) @ solid.into[edge, which]
        scale = float(self.radii.min())
        if kind == EDGE:
            if side <= 2:
                return -scale * (n @ solid.into[k, side - 1])
            along = (x - solid.vertices[solid.edges[k, 0]]) @ solid.directions[k]
            return along if side == 3 else solid.lengths[k] - along
        edge, sense = solid.edges_of_vertices[k][side - 1]
        return -scale * sense * (n @ solid.directions[edge])

    def beyond(self, region: Region, side: int) -> Region | None:
        """That of the polyhedron."""
        assert isinstance(self.other, Hull)
        return self.other.beyond(region, side)

    def bend(self, place: Place, speed: float, spin: float, duration: float) -> float:
        """(v + w r_max)^2 / r_min with the largest and the least radius of curvature of A."""
        return float(bend_of(self.radii.min(), self.radii.max(), speed, spin))


def bend_of(least: Array, most: Array, speed: Array | float, spin: Array | float) -> Array:
    """(v + w r_max)^2 / r_min with the largest and the least radius of curvature of an ellipsoid, of its radii."""
    return (speed + spin * most * most / least) ** 2 * most / (least * least)
