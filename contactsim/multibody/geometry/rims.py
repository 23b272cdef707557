"""Rims of cylinders and cones against sides, ends and rims of others, and faces and edges of polyhedra, exactly.

A cylinder is the hull of its two end discs. A disc, the side of another body between its ends, its flat ends and
its discs are parts of the bodies, so that their distance is one that contact keeps from being negative. A rim touches
where the normal leans from that of the side to that of the end; else the side or the end is nearer. The signed
distance of a disc is that of convex bodies (see `closest_points`), smooth but where its normal is along the axis: a
disc that lies flat touches with all of itself. There it hands over to the corners and edges of a polygon on its rim,
which are above it by R (1 - cos(pi / n)) times the tilt at that instant.

A contact ends a little beyond that, or where the nearest point leaves the side, end, face or edge of the other body:
others take over there at zero gap and rate, having the same normal. On a face a rim touches wherever it is lowest,
whether its normal leans to the side or to the end: the two rims of a lying cylinder are all that holds it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ...common.arrays import Array
from ...common.lazy import dataclass
from ...errors import SingularError
from ..zero import DEEP, OFF, PARALLEL_RIMS, RIM, ROUND_RIM
from .closest_points.equations import Nearest, Settled
from .closest_points.features import Circle, Feature, Line, Plane
from .closest_points.search import RimsAbove, Ruled, closest
from .convex import Convex, cone, cylinder, on_far_side, polyhedron
from .crossed_rims import BothPlaces, ByNormal, ByPlace, Crossed, OnRim
from .features import Bodies, Meet, PassingPair, Place, at, cross, dot, one_of, poses_of, turned, turned_back
from .nearest_features import around, met
from .polyhedra import Polyhedron
from .shapes import Region, length_of, turning

Z = np.array([0.0, 0.0, 1.0])
SMOOTHLY = -0.5 * ROUND_RIM, -ROUND_RIM  # m: beyond an end at which what takes over has the same normal
BEGINS, ENDS = 0.5, 0.25  # tilts in units of `Circle.flat`: a rim begins to touch above, and ends below
LIES = 4.0  # in the same units: a disc that stands on a plane is tilted by less
RISE = 1.0  # m/rad by which a rim is raised above a plane while the tilt at which it begins to touch is not reached
TINY = 1e-300
SAMPLED = 2.0 * np.pi * np.arange(48) / 48.0
AROUND = np.column_stack([np.cos(SAMPLED), np.sin(SAMPLED), np.zeros(48)])
NEARLY_FLAT = 1e-2  # sine of a tilt, over that at which a rim crosses lines, below which the place on the rim is sought
ONLY = np.zeros(1, dtype=int)
MEETING = (1,)  # the region of a contact of a rim


class Margin(NamedTuple):
    """How far (...) a contact is from an end of its features, what it begins above, and below which it ends."""

    value: Array
    begin: float
    end: float


class Part(ABC):
    """A part of a body that a rim touches.

    Attributes:
        feature: the smooth surface that it lies on.
        ends: on how many sides it ends.
        sharp: whether it is a curve, which a rim touches where both cross.
        lets_lean: whether a rim touches it with normals that lean to the side, too.
        extent: its largest distance from the origin [m].
        least: a length of the body within which its sides are told apart [m].
    """

    feature: Feature
    ends: int
    sharp: bool = False
    lets_lean: bool = False
    extent: float
    least: float

    @abstractmethod
    def margins(self, x: Array, m: Array) -> list[Margin]:
        """Of a point x (..., 3) with outward normal m (..., 3), from the ends of the part."""

    @abstractmethod
    def bent(self, radius: float, x: Array, way: float) -> float:
        """Radius of curvature with which the normal turns as a rim of a radius moves over it [m].

        Args:
            radius: of the rim [m].
            x: point (3,) where it is, in axes of the body.
            way: how far it may come from there [m].
        """

    @property
    def body(self) -> Convex | None:
        """The body that it is a part of; None of one without end."""
        return None

    def away(self, p: Array) -> float:
        """A bound of the distance of a point (3,) from it [m]."""
        return 0.0


class Lined(Part):
    """A part made of straight lines: an edge or a side.

    Attributes:
        ruled: its lines.
        middle: of its length, on the axis (3,) [m].
        half: half of its length [m].
        around: its largest distance from the axis [m].
        rows: (m, 7), of margins that are linear in point, normal and one.
        limits: what each margin begins above, and below which it ends (m, 2).
    """

    ruled: Ruled
    middle: Array
    half: float
    around: float
    rows: Array
    limits: Array

    @property
    def ends(self) -> int:  # type: ignore[override]
        """So many margins."""
        return len(self.rows)

    @property
    def feature(self) -> Feature:  # type: ignore[override]
        """Its line, or the cylinder around it."""
        return Line(self.ruled.centre, self.ruled.axis, self.ruled.radius)

    def margins(self, x: Array, m: Array) -> list[Margin]:
        """By its rows."""
        return [
            Margin(x @ row[:3] + m @ row[3:6] + row[6], *limits)
            for row, limits in zip(self.rows, self.limits.tolist(), strict=True)
        ]


class _OfCylinder(Part):
    """A part of a cylinder or cone along z.

    Attributes:
        radius, half: of the cylinder or the base, and half of its length [m].
        lean: sine of the angle by which normals of the side lean away from a rim; zero of a cylinder.
    """

    radius: float
    half: float
    lean: float

    @property
    def extent(self) -> float:  # type: ignore[override]
        """Of its rims."""
        return float(np.hypot(self.radius, self.half))

    @property
    def least(self) -> float:  # type: ignore[override]
        """The smaller one of both."""
        return min(self.radius, self.half)

    @cached_property
    def body(self) -> Convex:  # type: ignore[override]
        """The cylinder, or the cone."""
        return (cone if self.lean else cylinder)(self.radius, 2.0 * self.half)

    def bent(self, radius: float, x: Array, way: float) -> float:
        """Its own."""
        return self.radius

    def away(self, p: Array) -> float:
        """From the capsule around it."""
        return float(np.hypot(np.hypot(p[0], p[1]), max(abs(p[2]) - self.half, 0.0))) - self.radius


@dataclass(frozen=True, eq=False)
class _AroundZ(Lined, _OfCylinder):
    """A side around z, its origin half way up."""

    radius: float
    half: float

    @property
    def middle(self) -> Array:  # type: ignore[override]
        """The origin."""
        return np.zeros(3)

    @property
    def around(self) -> float:  # type: ignore[override]
        """The radius of its base."""
        return self.radius

    @cached_property
    def rows(self) -> Array:  # type: ignore[override]
        """Along its lines, from below, where the rim of a cone is, and from above, where its tip is [m]."""
        return np.array([[0.0, 0.0, sense, 0.0, 0.0, 0.0, self.half] for sense in (1.0, -1.0)]) / self.ruled.cosine


@dataclass(frozen=True, eq=False)
class Side(_AroundZ):
    """The side of a cylinder, or of a capsule, between its ends."""

    lean: float = 0.0

    @cached_property
    def ruled(self) -> Ruled:  # type: ignore[override]
        """Along z."""
        return Ruled(np.zeros(3), Z, 0.0, self.radius)

    @cached_property
    def limits(self) -> Array:  # type: ignore[override]
        """There what takes over has the same normal."""
        return np.array([SMOOTHLY, SMOOTHLY])


@dataclass(frozen=True, eq=False)
class Slope(_AroundZ):
    """The side of a cone between its tip and its rim."""

    lean: float

    @cached_property
    def ruled(self) -> Ruled:  # type: ignore[override]
        """Through its tip."""
        return Ruled(self.half * Z, Z, self.lean)

    @cached_property
    def limits(self) -> Array:  # type: ignore[override]
        """At the rim what takes over has the same normal; the other end is sharp."""
        return np.array([SMOOTHLY, (0.5 * RIM, -RIM)])

    def bent(self, radius: float, x: Array, way: float) -> float:
        """Along the normal to its axis; the tip, which it may come to, is sharp."""
        return max(float(np.hypot(x[0], x[1])) - way, 0.0) / self.ruled.cosine


@dataclass(frozen=True, eq=False)
class End(_OfCylinder):
    """A flat end of a cylinder or cone, the one with the sign `end`."""

    radius: float
    half: float
    end: float
    lean: float = 0.0
    ends = 1

    @cached_property
    def feature(self) -> Feature:  # type: ignore[override]
        """Its plane."""
        return Plane(self.end * self.half * Z, self.end * Z)

    def margins(self, x: Array, m: Array) -> list[Margin]:
        """From its rim [m]."""
        return [Margin(self.radius - length_of(x[..., :2])[..., 0], -0.5 * RIM, -RIM)]

    def bent(self, radius: float, x: Array, way: float) -> float:
        """Not at all."""
        return float("inf")


@dataclass(frozen=True, eq=False)
class Rim(_OfCylinder):
    """A rim of a cylinder, or that of a cone, with the disc inside it."""

    radius: float
    half: float
    end: float
    lean: float = 0.0
    ends = 2
    sharp = True

    @cached_property
    def feature(self) -> Circle:  # type: ignore[override]
        """Its circle."""
        return Circle(self.end * self.half * Z, Z, self.radius)

    def tilt(self, m: Array) -> Margin:
        """The sine of its tilt against the normal."""
        flat = self.feature.flat
        return Margin(length_of(m[..., :2])[..., 0], BEGINS * flat, ENDS * flat)

    def margins(self, x: Array, m: Array) -> list[Margin]:
        """Its tilt, and how far the normal leans away from that of the side, as a way [m]."""
        return [self.tilt(m), Margin(self.radius * (self.end * m[..., 2] + self.lean), *SMOOTHLY)]


class _OfPolyhedron(Part):
    """A part of a polyhedron.

    Attributes:
        solid, number: the polyhedron, and the place of the part in it.
    """

    solid: Polyhedron
    number: int

    @property
    def extent(self) -> float:  # type: ignore[override]
        """Of all vertices."""
        return self.solid.reach

    @property
    def least(self) -> float:  # type: ignore[override]
        """Least width of the polyhedron."""
        return self.solid.thickness

    @property
    def body(self) -> Convex:
        """The polyhedron."""
        return polyhedron(self.solid)


@dataclass(frozen=True, eq=False)
class Face(_OfPolyhedron):
    """A face of a polyhedron."""

    solid: Polyhedron
    number: int
    lets_lean = True

    @property
    def normal(self) -> Array:
        """Outward (3,), unit."""
        return np.asarray(self.solid.normals[self.number])

    @property
    def offset(self) -> float:
        """d of its plane, n . x = d [m]."""
        return float(self.solid.offsets[self.number])

    @cached_property
    def feature(self) -> Feature:  # type: ignore[override]
        """Its plane."""
        return Plane(self.offset * self.normal, self.normal)

    @cached_property
    def border(self) -> tuple[Array, Array]:
        """Points (k, 3) of its edges, and unit vectors (k, 3) from there into it."""
        edges = self.solid.edges_of_faces[self.number]
        starts = self.solid.vertices[[self.solid.edges[edge, 0] for edge, _ in edges]]
        return starts, np.array([self.solid.into[edge, which] for edge, which in edges])

    @property
    def ends(self) -> int:  # type: ignore[override]
        """Its edges."""
        return len(self.border[0])

    def margins(self, x: Array, m: Array) -> list[Margin]:
        """From its edges [m]."""
        return [Margin((x - start) @ into, *SMOOTHLY) for start, into in zip(*self.border, strict=True)]

    def bent(self, radius: float, x: Array, way: float) -> float:
        """Not at all."""
        return float("inf")

    def away(self, p: Array) -> float:
        """From its plane, or beyond the line of an edge."""
        starts, into = self.border
        return max(abs(float(self.normal @ p) - self.offset), float(((starts - p) * into).sum(axis=1).max()))


@dataclass(frozen=True, eq=False)
class Endless(Part):
    """The plane z = 0 of a half-space."""

    ends = 0
    lets_lean = True
    extent = float("inf")
    least = float("inf")

    @cached_property
    def feature(self) -> Feature:  # type: ignore[override]
        """The plane."""
        return Plane(np.zeros(3), Z)

    def margins(self, x: Array, m: Array) -> list[Margin]:
        """None."""
        return []

    def bent(self, radius: float, x: Array, way: float) -> float:
        """Not at all."""
        return float("inf")

    def away(self, p: Array) -> float:
        """From the plane."""
        return abs(float(p[2]))


@dataclass(frozen=True, eq=False)
class Ridge(Lined, _OfPolyhedron):
    """An edge of a polyhedron."""

    solid: Polyhedron
    number: int
    sharp = True

    @cached_property
    def ruled(self) -> Ruled:  # type: ignore[override]
        """Its line."""
        return Ruled(self.solid.vertices[self.solid.edges[self.number]].mean(axis=0), self.direction)

    @property
    def direction(self) -> Array:
        """Along it (3,), unit."""
        return np.asarray(self.solid.directions[self.number])

    @property
    def middle(self) -> Array:  # type: ignore[override]
        """Between its ends."""
        return self.ruled.centre

    @property
    def half(self) -> float:  # type: ignore[override]
        """Half of its length [m]."""
        return 0.5 * float(self.solid.lengths[self.number])

    @property
    def around(self) -> float:  # type: ignore[override]
        """Nothing."""
        return 0.0

    @cached_property
    def rows(self) -> Array:  # type: ignore[override]
        """Along it from both ends [m], and how far its normal leans away from those of both faces, at one metre."""
        found = np.zeros((4, 7))
        for row, sense in zip(found, (1.0, -1.0), strict=False):
            row[:3], row[6] = sense * self.direction, self.half - sense * (self.ruled.centre @ self.direction)
        found[2:, 3:6] = -self.solid.into[self.number]
        return found

    @cached_property
    def limits(self) -> Array:  # type: ignore[override]
        """A corner lies behind its ends."""
        return np.array([(0.5 * RIM, -RIM)] * 2 + [SMOOTHLY] * 2)

    def bent(self, radius: float, x: Array, way: float) -> float:
        """Across it the normal turns as the rim does, at twice the rate at most."""
        return 0.5 * radius

    def away(self, p: Array) -> float:
        """From the nearest of its points."""
        way = p - self.ruled.centre
        along = float(np.clip(way @ self.direction, -self.half, self.half))
        return float(np.linalg.norm(way - along * self.direction))


@dataclass(frozen=True, eq=False)
class RimOnPart(PassingPair):
    """A rim of A against a part of B; the axis of A, and that of B if it is round, are along their z."""

    rim: Rim
    part: Part
    radius_a: float = 0.0

    @property
    def arm(self) -> float:
        """Distance of the rim from the origin of A [m]."""
        return self.rim.extent

    @property
    def extent_a(self) -> float:  # type: ignore[override]
        """Of the rim."""
        return self.arm

    @property
    def extent_b(self) -> float | None:  # type: ignore[override]
        """Of the other body; None: it has no end."""
        return None if isinstance(self.part, Endless) else self.part.extent

    @property
    def deepest(self) -> float:
        """Depth from which on both sides of a body are not told apart [m]."""
        return 0.5 * min(self.rim.least, self.part.least)

    # --- closest points -----------------------------------------------------------------------------------------

    @abstractmethod
    def _nearest(self, place: Place, held: bool = False) -> Nearest | None:
        """Closest points of one place; None where there is none, or one disc would touch with its inside.

        What is `held` goes on beyond that.
        """

    @abstractmethod
    def _at(self, place: Place) -> Nearest:
        """Closest points of places with leading axes and complex steps, as they go on beyond the ends of the parts."""

    def _margins(self, place: Place, found: Nearest) -> list[Margin]:
        """Of the rim, then of the part."""
        n = found.normal
        m = -turned_back(place.R_a, n)
        x, outward = turned_back(place.R_b, found.x_b - place.o_b), turned_back(place.R_b, n)
        own = [self.rim.tilt(m)] if self.part.lets_lean else self.rim.margins(x, m)
        margins = [*own, *self.part.margins(x, outward)]
        if self.part.sharp:
            margins.append(Margin(self._crossing(place, n), PARALLEL_RIMS, 0.5 * PARALLEL_RIMS))
        return margins

    def _crossing(self, place: Place, n: Array) -> Array:
        """Sine (...) of the angle between the rim and the other rim, or the edge, where they touch with normal n."""
        along = [cross(place.R_a[..., 2], n)]
        if isinstance(self.part, Ridge):
            along.append(turned(place.R_b, self.part.direction))
        else:
            along.append(cross(place.R_b[..., 2], n))
        sizes = [np.where(size.real > 0.0, size, 1.0) for size in map(length_of, along)]
        return length_of(cross(along[0] / sizes[0], along[1] / sizes[1]))[..., 0]

    # --- the contract -------------------------------------------------------------------------------------------

    def gap(self, place: Place, region: Region) -> Array:
        """The signed distance of disc and part."""
        return self._at(place).gap

    def region(self, place: Place) -> Region:
        """The only one."""
        return MEETING

    def looked(self, place: Place) -> tuple[float, bool]:
        """The open gap, and whether they touch with these features; else it is a bound of their distance, and OFF."""
        found = self._nearest(place)
        if found is None:
            return self.away(place) + OFF, False
        touch = all(float(margin.value) > margin.begin for margin in self._margins(place, found))
        gap = float(found.gap)
        touch = touch and gap > -self.deepest and not self.on_far_side(place, gap)
        return (gap, True) if touch else (max(gap, self.away(place)) + OFF, False)

    def on_far_side(self, place: Place, gap: float) -> bool:
        """Whether they cross far below both surfaces, on the far side of a sharp body."""
        if gap >= -DEEP or self.part.body is None:
            return False
        return on_far_side((self.rim.body, self.part.body), poses_of(place), gap)

    def away(self, place: Place) -> float:
        """A bound of the distance of disc and part [m], zero at least."""
        centre = place.o_a + place.R_a @ self.rim.feature.centre - place.o_b
        return max(0.0, self.part.away(centre @ place.R_b) - self.rim.radius)

    def open_gap(self, place: Place) -> float:
        """See `looked`."""
        return self.looked(place)[0]

    def sides(self, region: Region) -> tuple[int, ...]:
        """Tilt and lean of the rim, then the ends of the part."""
        return tuple(range(2 - self.part.lets_lean + self.part.ends + self.part.sharp))

    def margin(self, place: Place, region: Region, side: int) -> Array:
        """How far it is from its end, and a little beyond it."""
        margin = self._margins(place, self._at(place))[side]
        return margin.value - margin.end

    def piece(self, place: Place, region: Region) -> Region | None:
        """Where they touch with these features."""
        return region if self.looked(place)[1] else None

    def bend(self, place: Place, speed: float, spin: float, duration: float) -> float:
        """The nearest points run over the rim the faster, the less it is tilted, and over what is round."""
        found = self._nearest(place)
        if found is None:
            return 0.0
        sine = max(float(self._margins(place, found)[0].value) - spin * duration, self.rim.feature.flat)
        own = self.rim.radius * spin * spin * (1.0 + 1.0 / sine**3)
        arm = self.rim.radius + (self.part.radius if isinstance(self.part, _OfCylinder) else 0.0)
        slide, x = speed + spin * arm / sine, turned_back(place.R_b, found.x_b - place.o_b)
        crossing, bent = 1.0, self.part.bent(self.rim.radius, x, slide * duration)
        if self.part.sharp:
            crossing = max(float(self._crossing(place, found.normal)) - spin * duration, PARALLEL_RIMS)
        return own + slide**2 / (bent * crossing**2) if bent > 0.0 else float("inf")


class RimOnPlane(RimOnPart):
    """A rim of A against a plane part of B, in closed form.

    With the axis a of A, its centre c and the normal n of the plane, the lowest point is x = c - R e, e = t / |t|,
    t = n - (a . n) a = a x (n x a); rates follow from n' = w_B x n and a' = w_A x a.
    """

    @property
    def _plane(self) -> Plane:
        assert isinstance(self.part.feature, Plane)
        return self.part.feature

    def _lowest(self, place: Place | Bodies) -> tuple[Array, Array, Array, Array]:
        """n, a, t and x (..., 3)."""
        n, axis = turned(place.R_b, self._plane.normal), place.R_a[..., 2]
        across = cross(axis, cross(n, axis))  # across the axis to rounding, however little it is
        square = dot(across, across)
        e = across / np.sqrt(np.where(square.real > 0.0, square, 1.0))
        return n, axis, across, place.o_a + turned(place.R_a, self.rim.feature.centre) - self.rim.radius * e

    @property
    def extent_a(self) -> float:  # type: ignore[override]
        """Of the rim, and by what it is raised."""
        return self.arm + RISE

    @property
    def raises(self) -> bool:
        """While the disc lies flat."""
        return True

    def tilt(self, place: Place) -> float:
        """Sine of the angle between the disc and the plane."""
        return float(length_of(self._lowest(place)[2])[0])

    def lifted(self, place: Place) -> bool:
        """While the disc lies flat, and the plane faces it."""
        return self._faces(place, BEGINS)

    def lies(self, place: Place) -> bool:
        """Whether the disc lies on the plane: that is tilted by no more than where the points of a disc end."""
        return self._faces(place, LIES)

    def _faces(self, place: Place, most: float) -> bool:
        """Whether the plane faces the disc, at a tilt of at most that many `Circle.flat`."""
        n, axis, across, _ = self._lowest(place)
        outward = self.rim.end * float(axis @ n) < 0.0
        return outward and float(length_of(across)[0]) <= most * self.rim.feature.flat

    def met_gap(self, place: Place) -> float:
        """The signed distance, whatever the tilt."""
        return float(self._at(place).gap)

    def looked(self, place: Place) -> tuple[float, bool]:
        """Likewise; a rim whose disc lies flat is raised, down to where it begins to touch, and known, too."""
        if not self.lifted(place):
            return super().looked(place)
        found = self._at(place)
        x, outward = turned_back(place.R_b, found.x_b - place.o_b), turned_back(place.R_b, found.normal)
        gap, margins = float(found.gap), self.part.margins(x, outward)
        if not all(float(margin.value) > margin.begin for margin in margins) or gap <= -self.deepest:
            return max(gap, self.away(place)) + OFF, False
        return max(gap, RISE * (BEGINS * self.rim.feature.flat - self.tilt(place))), True

    def piece(self, place: Place, region: Region) -> Region | None:
        """Where they touch with these features."""
        return None if self.lifted(place) else super().piece(place, region)

    def _at(self, place: Place) -> Nearest:
        """Its lowest point, and that of the plane below it."""
        n, _, _, x = self._lowest(place)
        gap = dot(n, x - place.o_b - turned(place.R_b, self._plane.centre))
        return Nearest(np.concatenate([n, gap], axis=-1), x, x - gap * n)

    def _nearest(self, place: Place, held: bool = False) -> Nearest:
        """The same of one place."""
        return self._at(place)

    def meet(self, bodies: Bodies, region: Region) -> Meet:
        """The lowest point, the normal of the plane, and their rates.

        Raises:
            SingularError: the disc lies flat.
        """
        n, axis, across, x = self._lowest(bodies)
        if not np.all(dot(across, across).real > 0.0):
            raise SingularError("the rim of a disc lies flat; its nearest point is not unique")
        spin_a, spin_b = bodies.V_a[..., 3:], bodies.V_b[..., 3:]
        n_rate, axis_rate = cross(spin_b, n), cross(spin_a, axis)
        turning_of = n_rate - (dot(axis_rate, n) + dot(axis, n_rate)) * axis - dot(axis, n) * axis_rate
        centre = bodies.o_a + turned(bodies.R_a, self.rim.feature.centre)
        return Meet(x, at(bodies.V_a, centre) - self.rim.radius * turning(across, turning_of), n, n_rate)


class RimOnLines(RimOnPart):
    """A rim of A against an edge or a side of B, by the angle of the normal around that: see `closest_points.search`.

    In real numbers the angle is found by Newton's method; one step of it in complex ones gives its derivatives. Where
    the disc lies nearly flat its point runs fast as the normal turns, and what makes it touch is told by the place on
    the rim instead.
    """

    part: Lined

    @cached_property
    def _search(self) -> RimsAbove:
        rim = self.rim
        return RimsAbove([self.part.ruled], np.array([rim.radius]), np.array([rim.end]), np.array([rim.lean]))

    def _angle(self, place: Place) -> float:
        """That of the normal of one place; nan where the rim has none."""
        centre = place.o_a + place.R_a @ self.rim.feature.centre - place.o_b
        angle = self._search.nearest((centre @ place.R_b)[None], (place.R_a[:, 2] @ place.R_b)[None], ONLY)[0]
        return float(angle[0])

    def _by_normal(self, place: Place | Bodies, angle: Array | float) -> ByNormal:
        """At an angle (..., 1) of the normal."""
        axis, c = place.R_a[..., 2], place.o_a + turned(place.R_a, self.rim.feature.centre)
        ruled, R = self.part.ruled, self.rim.radius
        (u, v, b), foot = (turned(place.R_b, way) for way in ruled.frame), place.o_b + turned(place.R_b, ruled.centre)
        along, a_u, a_v = dot(axis, b), dot(axis, u), dot(axis, v)
        (sine, cosine), C, S = (ruled.sine, ruled.cosine), np.cos(angle), np.sin(angle)
        e, t, a_e, a_t = C * u + S * v, C * v - S * u, C * a_u + S * a_v, C * a_v - S * a_u
        n, ahead, h, up = sine * b + cosine * e, cosine * t, sine * along + cosine * a_e, cosine * a_t
        turn = a_t * (cosine * b - sine * e) - (cosine * along - sine * a_e) * t  # n x a
        across, T = cross(axis, turn), length_of(turn)
        slope = dot(ahead, c - foot) + R * h * up / T
        bend = -cosine * dot(e, c - foot) + R * ((up * up - cosine * a_e * h) / T + (h * up) ** 2 / T**3)
        return ByNormal(slope, bend, n, c - R * across / T, foot, ahead, axis, c, h, across, T, up, R)

    def _by_place(self, place: Place | Bodies, sense: float, angle: Array | float) -> ByPlace:
        """At an angle (..., 1) of the rim, with the normal on one side of both."""
        ruled, point = self.part.ruled, OnRim.at(place.R_a, place.o_a, self.rim.feature, angle)
        b, foot = turned(place.R_b, ruled.axis), place.o_b + turned(place.R_b, ruled.centre)
        normal = Crossed(point.t, b, ruled.sine, sense)
        turn, leads, way = normal.turned(-point.r, np.zeros_like(b)), cross(b, normal.n), point.x - foot
        slope, bend = dot(leads, way), dot(cross(b, turn), way) + point.R * dot(leads, point.t)
        return ByPlace(slope, bend, normal.n, point, foot, leads, turn, normal)

    def _start(self, place: Place, found: ByNormal) -> tuple[float, float] | None:
        """The angle of the point of one place, and the side that the normal is on.

        None where the disc is tilted by more than a share of the angle at which the rim crosses the lines.
        """
        across = np.cross(np.cross(found.axis, -found.across / found.T), place.R_b @ self.part.ruled.axis)
        if found.T[0] >= NEARLY_FLAT * float(np.linalg.norm(across)):
            return None
        return _angle_of(place.R_a, place.o_a, self.rim.feature, found.x), float(np.sign(found.n @ across))

    def _solved(self, place: Place | Bodies) -> ByNormal | ByPlace:
        """Where they touch at places with leading axes and complex steps around one place."""
        here = one_of(place)
        angle = self._angle(here)
        if not np.isfinite(angle):
            raise SingularError("the rim of a disc lies flat; its nearest point is not unique")
        start = self._start(here, self._by_normal(here, angle))
        if start is not None:
            return self._nearly_flat(place, *start)
        first = self._by_normal(place, angle)
        return self._by_normal(place, angle - first.slope / first.bend)

    def _nearly_flat(self, place: Place | Bodies, angle: Array | float, sense: float) -> ByPlace:
        """The same from an angle of the rim, and the side that the normal is on, of one place: see `_start`."""
        for _ in range(2):  # the first from where the point is known but to rounding over the tilt
            step = self._by_place(place, sense, angle)
            angle = angle - step.slope / step.bend
        return self._by_place(place, sense, angle)

    def _pair(self, found: ByNormal | ByPlace) -> Nearest:
        gap = found.height - self.part.ruled.radius
        return Nearest(np.concatenate([found.n, gap], axis=-1), found.x, found.x - gap * found.n)

    def _at(self, place: Place) -> Nearest:
        return self._pair(self._solved(place))

    def _nearest(self, place: Place, held: bool = False) -> Nearest | None:
        angle = self._angle(place)
        if not np.isfinite(angle):
            return None
        found = self._by_normal(place, angle)
        start = self._start(place, found)
        return self._pair(found if start is None else self._nearly_flat(place, *start))

    def meet(self, bodies: Bodies, region: Region) -> Meet:
        """Point, normal and their rates.

        Raises:
            SingularError: the disc lies flat.
        """
        return self._solved(bodies).meet(bodies)


class RimOnRim(RimOnPart):
    """A rim of A against one of B, by their closest points: see `closest_points.equations`.

    Where a disc lies nearly flat they are told by the places on both rims.
    """

    part: Rim

    def _towards(self, place: Place) -> Array:
        """A vector on the side of A, in the world, about across both rims where they are nearest."""
        swapped = Place(place.R_b, place.o_b, place.R_a, place.o_a)
        crossed = _across(self.rim, self.part, place)
        ways = _away(self.rim, self.part, place), -_away(self.part, self.rim, swapped), crossed, -crossed
        return max(ways, key=lambda way: self._apart(place, way))

    def _apart(self, place: Place, way: Array) -> float:
        """How far the planes across a vector are apart that hold both discs."""
        n, (a, b) = way / max(float(np.linalg.norm(way)), TINY), (self.rim.feature, self.part.feature)
        x_a = place.o_a + place.R_a @ a.core(-n @ place.R_a)
        return float(n @ (x_a - place.o_b - place.R_b @ b.core(n @ place.R_b)))

    def _nearest(self, place: Place, held: bool = False) -> Nearest | None:
        """Closest points of one place; None where there is none, or one disc would touch with its inside.

        What is `held` goes on beyond that.
        """
        if not held and self._face_to_face(place):
            return None
        try:
            with np.errstate(all="ignore"):
                found = closest(self.rim.feature, self.part.feature, poses_of(place), self._towards(place)).nearest
        except (SingularError, np.linalg.LinAlgError):
            return None
        return found if np.isfinite(found.y).all() else None

    def _face_to_face(self, place: Place) -> bool:
        """Whether the nearest point of one disc to the plane of the other is inside that."""
        swapped = Place(place.R_b, place.o_b, place.R_a, place.o_a)
        return _over(self.rim, self.part, place) or _over(self.part, self.rim, swapped)

    def _settled(self, place: Place | Bodies) -> Settled | BothPlaces:
        """Closest points of places with leading axes and complex steps around one place."""
        here = one_of(place)
        nearest = self._nearest(here, held=True)
        if nearest is None:
            raise SingularError("the rim of a disc lies flat; its nearest point is not unique")
        if (both := self._placed(place, here, nearest)) is not None:
            return both
        return around((self.rim.feature, self.part.feature), place, nearest.y)

    def _placed(self, place: Place | Bodies, here: Place, found: Nearest) -> BothPlaces | None:
        """The places on both rims around those of one place; None where both discs are tilted enough."""
        tilts = [float(length_of(np.cross(R[:, 2], found.normal))[0]) for R in (here.R_a, here.R_b)]
        if min(tilts) >= NEARLY_FLAT * float(self._crossing(here, found.normal)):
            return None
        circles = self.rim.feature, self.part.feature
        poses = (place.R_a, place.o_a, circles[0]), (place.R_b, place.o_b, circles[1])
        start = (here.R_a, here.o_a, circles[0], found.x_a), (here.R_b, here.o_b, circles[1], found.x_b)
        angles: list[Array | float] = [_angle_of(*one) for one in start]
        for _ in range(2):  # the first from where the points are known but to rounding over the tilt
            both = BothPlaces.at(poses, angles, found.normal)
            angles = [angle - step for angle, step in zip(angles, both.solve(both.missed), strict=True)]
        return BothPlaces.at(poses, angles, found.normal)

    def _at(self, place: Place) -> Nearest:
        found = self._settled(place)
        if not isinstance(found, BothPlaces):
            return found[0]
        return Nearest(np.concatenate([found.n, dot(found.n, found.apart)], axis=-1), found.a.x, found.b.x)

    def meet(self, bodies: Bodies, region: Region) -> Meet:
        """Point, normal and rates."""
        found = self._settled(bodies)
        return found.meet(bodies) if isinstance(found, BothPlaces) else met(found, bodies)


def _angle_of(R: Array, o: Array, circle: Circle, x: Array) -> float:
    """Where on a circle across z a point x (3,) is."""
    out = (x - o) @ R - circle.centre
    return float(np.arctan2(out[1], out[0]))


def rim_on(rim: Rim, part: Part) -> RimOnPart:
    """A rim against a part."""
    if isinstance(part, Lined):
        return RimOnLines(rim, part)
    if isinstance(part, Rim):
        return RimOnRim(rim, part)
    return RimOnPlane(rim, part)


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


def rims_of(radius: float, length: float) -> tuple[Rim, Rim]:
    """Both rims of a cylinder, the lower one first."""
    return Rim(radius, 0.5 * length, -1.0), Rim(radius, 0.5 * length, 1.0)


def rim_of_cone(radius: float, length: float) -> Rim:
    """The rim of a cone with its tip above."""
    return Rim(radius, 0.5 * length, -1.0, radius / float(np.hypot(radius, length)))


def parts_of_cone(radius: float, length: float) -> dict[str, Part]:
    """Side and base of a cone by name."""
    half, lean = 0.5 * length, radius / float(np.hypot(radius, length))
    return {"side": Slope(radius, half, lean), "end0": End(radius, half, -1.0, lean)}


def parts_of(radius: float, length: float) -> dict[str, Part]:
    """Side and ends of a cylinder by name."""
    half = 0.5 * length
    return {"side": Side(radius, half), "end0": End(radius, half, -1.0), "end1": End(radius, half, 1.0)}


def flats_of(solid: Polyhedron) -> dict[str, Part]:
    """Faces and edges of a polyhedron by name."""
    faces = {f"face{k}": Face(solid, k) for k in range(len(solid.loops))}
    return faces | {f"edge{k}": Ridge(solid, k) for k in range(len(solid.edges))}
