"""Rims of cylinders against sides, ends and rims of others, exactly.

A cylinder is the hull of its two end discs. A disc, the side of another cylinder between its ends, its flat ends and
its discs are parts of the bodies, so that their distance is one that contact keeps from being negative. A rim touches
where the normal leans from that of the side to that of the end; else the side or the end is nearer. The signed
distance of a disc is that of convex bodies (see `closest_points`), smooth but where its normal is along the axis: a
disc that lies flat touches with all of itself. There it hands over to the corners and edges of a polygon on its rim,
which are above it by R (1 - cos(pi / n)) times the tilt at that instant.

A contact ends a little beyond that, or where the nearest point leaves the side or the end of the other cylinder: others
take over there at zero gap and rate, having the same normal.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ...common.arrays import Array
from ...errors import SingularError
from ..zero import FLAT, OFF, PARALLEL_RIMS, RIM, ROUND_RIM
from .closest_points.equations import Nearest, Pose, drift, settled
from .closest_points.features import Circle, Feature, Line, Plane
from .closest_points.search import closest
from .features import Bodies, FeaturePair, Meet, Place, PointOnSolid, cross, turned_back
from .shapes import Region, length_of

Z = np.array([0.0, 0.0, 1.0])
SMOOTHLY = -0.5 * ROUND_RIM, -ROUND_RIM  # m: beyond an end at which what takes over has the same normal
BEGINS, ENDS = 0.5, 0.25  # tilts, in units of FLAT, from which on a rim begins to touch, and below which it ends
TINY = 1e-300
SAMPLED = 2.0 * np.pi * np.arange(48) / 48.0
AROUND = np.column_stack([np.cos(SAMPLED), np.sin(SAMPLED), np.zeros(48)])
RISE = 1.0  # m/rad by which the points on which a disc stands are raised while it is tilted
MEETING = (1,)  # the region of a contact of a rim


class Margin(NamedTuple):
    """How far (...) a contact is from an end of its features, what it begins above, and below which it ends."""

    value: Array
    begin: float
    end: float


class Part(ABC):
    """A part of a cylinder along z that a rim touches.

    Attributes:
        radius, half: of the cylinder, and half of its length [m].
        feature: the smooth surface that it lies on.
    """

    radius: float
    half: float
    feature: Feature

    @abstractmethod
    def margins(self, x: Array, m: Array) -> list[Margin]:
        """Of a point x (..., 3) with outward normal m (..., 3), from the ends of the part."""


@dataclass(frozen=True, eq=False)
class Side(Part):
    """The side of a cylinder, between its ends."""

    radius: float
    half: float

    @cached_property
    def feature(self) -> Feature:  # type: ignore[override]
        """The cylinder without ends."""
        return Line(np.zeros(3), Z, self.radius)

    def margins(self, x: Array, m: Array) -> list[Margin]:
        """Along its axis from both ends [m]."""
        return [Margin(along + self.half, *SMOOTHLY) for along in (x[..., 2], -x[..., 2])]


@dataclass(frozen=True, eq=False)
class End(Part):
    """A flat end of a cylinder, the one with the sign `end`."""

    radius: float
    half: float
    end: float

    @cached_property
    def feature(self) -> Feature:  # type: ignore[override]
        """Its plane."""
        return Plane(self.end * self.half * Z, self.end * Z)

    def margins(self, x: Array, m: Array) -> list[Margin]:
        """From its rim [m]."""
        return [Margin(self.radius - length_of(x[..., :2])[..., 0], -0.5 * RIM, -RIM)]


@dataclass(frozen=True, eq=False)
class Rim(Part):
    """A rim, with the disc inside it."""

    radius: float
    half: float
    end: float

    @cached_property
    def feature(self) -> Feature:  # type: ignore[override]
        """Its circle."""
        return Circle(self.end * self.half * Z, Z, self.radius)

    def margins(self, x: Array, m: Array) -> list[Margin]:
        """The sine of its tilt against the normal, and how far that leans away from the side's, as a way [m]."""
        tilt, lean = length_of(m[..., :2])[..., 0], self.end * self.radius * m[..., 2]
        return [Margin(tilt, BEGINS * FLAT, ENDS * FLAT), Margin(lean, *SMOOTHLY)]


@dataclass(frozen=True, eq=False)
class RimOnPart(FeaturePair):
    """A rim of A against a part of B; both bodies have their axes along their z."""

    rim: Rim
    part: Part
    radius_a: float = 0.0

    @property
    def passing(self) -> bool:
        """Always."""
        return True

    @property
    def takes_over(self) -> bool:
        """Always."""
        return True

    @property
    def extent_a(self) -> float:  # type: ignore[override]
        """Of the rim."""
        return float(np.hypot(self.rim.radius, self.rim.half))

    @property
    def extent_b(self) -> float:  # type: ignore[override]
        """Of the rims of the other cylinder."""
        return float(np.hypot(self.part.radius, self.part.half))

    @property
    def deepest(self) -> float:
        """Depth from which on both sides of a body are not told apart [m]."""
        return 0.5 * min(self.rim.radius, self.rim.half, self.part.radius, self.part.half)

    # --- closest points -----------------------------------------------------------------------------------------

    def _towards(self, place: Place) -> Array:
        """A vector on the side of A, in the world; of two rims, about across both of them where they are nearest."""
        other = self.part.feature
        if isinstance(other, Plane):
            return np.asarray(place.R_b @ other.normal)
        if isinstance(self.part, Rim):
            swapped = Place(place.R_b, place.o_b, place.R_a, place.o_a)
            crossed = _across(self.rim, self.part, place)
            ways = _away(self.rim, self.part, place), -_away(self.part, self.rim, swapped), crossed, -crossed
            return max(ways, key=lambda way: self._apart(place, way))
        way = place.o_a + place.R_a @ self.rim.feature.centre - place.o_b - place.R_b @ other.centre
        slides = other.slides @ place.R_b.T
        return np.asarray(way - slides.T @ (slides @ way))

    def _apart(self, place: Place, way: Array) -> float:
        """How far the planes across a vector are apart that hold both discs."""
        n, (a, b) = way / max(float(np.linalg.norm(way)), TINY), (self.rim.feature, self.part.feature)
        x_a = place.o_a + place.R_a @ a.core(-n @ place.R_a)
        return float(n @ (x_a - place.o_b - place.R_b @ b.core(n @ place.R_b)))

    def _nearest(self, place: Place, held: bool = False) -> Nearest | None:
        """Closest points of one place; None where there is none, or one disc would touch with its inside.

        What is `held` goes on beyond that.
        """
        if not held and isinstance(self.part, Rim) and self._face_to_face(place):
            return None
        poses = Pose(place.R_a, place.o_a), Pose(place.R_b, place.o_b)
        try:
            with np.errstate(all="ignore"):
                found = closest(self.rim.feature, self.part.feature, poses, self._towards(place)).nearest
        except (SingularError, np.linalg.LinAlgError):
            return None
        return found if np.isfinite(found.y).all() else None

    def _face_to_face(self, place: Place) -> bool:
        """Whether the nearest point of one disc to the plane of the other is inside that."""
        assert isinstance(self.part, Rim)
        swapped = Place(place.R_b, place.o_b, place.R_a, place.o_a)
        return _over(self.rim, self.part, place) or _over(self.part, self.rim, swapped)

    def _settled(self, place: Place | Bodies) -> tuple:
        """Closest points of places with leading axes and complex steps around one place."""
        lead = place.o_a.shape[:-1]
        here = Place(*(part.real.reshape(-1, *part.shape[len(lead) :])[0] for part in place[:4]))
        nearest = self._nearest(here, held=True)
        if nearest is None:
            raise SingularError("the rim of a disc lies flat; its nearest point is not unique")
        poses = Pose(place.R_a, place.o_a), Pose(place.R_b, place.o_b)
        y = np.broadcast_to(nearest.y, (*lead, len(nearest.y)))
        return settled(self.rim.feature, self.part.feature, poses, y)

    def _margins(self, place: Place, found: Nearest) -> list[Margin]:
        """Of the rim, then of the part."""
        n = found.normal
        m = -turned_back(place.R_a, n)
        x, outward = turned_back(place.R_b, found.x_b - place.o_b), turned_back(place.R_b, n)
        own = self.rim.margins(turned_back(place.R_a, found.x_a - place.o_a), m)
        margins = [*own, *self.part.margins(x, outward)]
        if isinstance(self.part, Rim):
            margins.append(Margin(self._crossing(place, n), PARALLEL_RIMS, 0.5 * PARALLEL_RIMS))
        return margins

    def _crossing(self, place: Place, n: Array) -> Array:
        """Sine (...) of the angle between the rims where they touch; n is along both of their normals there."""
        along = [cross(axis, n) for axis in (place.R_a[..., 2], place.R_b[..., 2])]
        sizes = [np.where(size.real > 0.0, size, 1.0) for size in map(length_of, along)]
        return length_of(cross(along[0] / sizes[0], along[1] / sizes[1]))[..., 0]

    # --- the contract -------------------------------------------------------------------------------------------

    def gap(self, place: Place, region: Region) -> Array:
        """The signed distance of disc and part."""
        return self._settled(place)[0].gap

    def meet(self, bodies: Bodies, region: Region) -> Meet:
        """Point, normal and rates: see `closest_points.equations`."""
        found = self._settled(bodies)
        rates = drift(self.rim.feature, self.part.feature, found, (bodies.V_a, bodies.V_b))
        return Meet(found[0].x_a, rates.x_a, found[0].normal, rates.normal)

    def region(self, place: Place) -> Region:
        """The only one."""
        return MEETING

    def looked(self, place: Place) -> tuple[float, bool]:
        """The open gap, and whether they touch with these features; else it is a bound of their distance, and OFF."""
        found = self._nearest(place)
        if found is None:
            return OFF, False
        touch = all(float(margin.value) > margin.begin for margin in self._margins(place, found))
        gap = float(found.gap)
        touch = touch and gap > -self.deepest
        return (gap, True) if touch else (max(gap, 0.0) + OFF, False)

    def open_gap(self, place: Place) -> float:
        """See `looked`."""
        return self.looked(place)[0]

    def sides(self, region: Region) -> tuple[int, ...]:
        """Tilt and lean of the rim, then the ends of the part."""
        return {Side: (0, 1, 2, 3), End: (0, 1, 2), Rim: (0, 1, 2, 3, 4)}[type(self.part)]

    def margin(self, place: Place, region: Region, side: int) -> Array:
        """How far it is from its end, and a little beyond it."""
        margin = self._margins(place, self._settled(place)[0])[side]
        return margin.value - margin.end

    def piece(self, place: Place, region: Region) -> Region | None:
        """Where they touch with these features."""
        return region if self.looked(place)[1] else None

    def bend(self, place: Place, speed: float, spin: float, duration: float) -> float:
        """The nearest points run over the rim the faster, the less it is tilted, and over what is round."""
        found = self._nearest(place)
        if found is None:
            return 0.0
        sine = max(float(self._margins(place, found)[0].value) - spin * duration, FLAT)
        own = self.rim.radius * spin * spin * (1.0 + 1.0 / sine**3)
        if isinstance(self.part, End):
            return own
        crossing = 1.0
        if isinstance(self.part, Rim):
            crossing = max(float(self._crossing(place, found.normal)) - spin * duration, PARALLEL_RIMS)
        return own + (speed + spin * (self.rim.radius + self.part.radius) / sine) ** 2 / (
            self.part.radius * crossing**2
        )


def _over(rim: Rim, other: Rim, place: Place) -> bool:
    """Whether the point of a rim that is nearest to the plane of another is inside that, on either side of it."""
    x, axis = _lowest(rim, other, place), place.R_b[:, 2]
    return float(np.linalg.norm(x - axis * (axis @ x))) < other.radius


def _away(rim: Rim, other: Rim, place: Place) -> Array:
    """To that point from the nearest one of the other rim."""
    x, axis = _lowest(rim, other, place), place.R_b[:, 2]
    across = x - axis * (axis @ x)
    return np.asarray(x - other.radius * across / max(float(np.linalg.norm(across)), TINY))


def _across(rim: Rim, other: Rim, place: Place) -> Array:
    """A vector (3,) across two rims of A and B where they are nearest to each other, by samples."""
    x_a = place.o_a + (rim.feature.centre + rim.radius * AROUND) @ place.R_a.T
    x_b = place.o_b + (other.feature.centre + other.radius * AROUND) @ place.R_b.T
    i, j = np.unravel_index(int(np.argmin(np.linalg.norm(x_a[:, None] - x_b, axis=2))), (len(AROUND), len(AROUND)))
    return np.cross(place.R_a @ np.cross(Z, AROUND[i]), place.R_b @ np.cross(Z, AROUND[j]))


def _lowest(rim: Rim, other: Rim, place: Place) -> Array:
    """The point (3,) of a rim of A that is nearest to the plane of one of B, from the centre of that, in the world."""
    axis, centre = place.R_b[:, 2], place.o_b + place.R_b @ other.feature.centre
    own = place.o_a + place.R_a @ rim.feature.centre
    n = axis if float(axis @ (own - centre)) >= 0.0 else -axis
    return np.asarray(own + place.R_a @ (rim.feature.core(-n @ place.R_a) - rim.feature.centre) - centre)


@dataclass(frozen=True, eq=False)
class StandingPoint(PointOnSolid):
    """A point of the rim of A on which it stands on a face of B: it is raised by RISE times the tilt beyond FLAT.

    Attributes:
        axis: that of A (3,), in axes of A.
    """

    axis: Array = field(default_factory=lambda: Z)
    extent_a: float = RISE

    def _tilt(self, place: Place) -> float:
        return float(np.linalg.norm(np.cross(place.R_a @ self.axis, place.R_b[:, 2])))

    def open_gap(self, place: Place) -> float:
        """The distance and what it is raised by."""
        return super().open_gap(place) + RISE * max(0.0, self._tilt(place) - FLAT)

    def piece(self, place: Place, region: Region) -> Region | None:
        """That of the solid, while A stands."""
        return super().piece(place, region) if self._tilt(place) <= FLAT else None


def rims_of(radius: float, length: float) -> tuple[Rim, Rim]:
    """Both rims of a cylinder, the lower one first."""
    return Rim(radius, 0.5 * length, -1.0), Rim(radius, 0.5 * length, 1.0)


def parts_of(radius: float, length: float) -> dict[str, Part]:
    """Side and ends of a cylinder by name."""
    half = 0.5 * length
    return {"side": Side(radius, half), "end0": End(radius, half, -1.0), "end1": End(radius, half, 1.0)}
