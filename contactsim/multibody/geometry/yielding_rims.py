"""Discs that press on other bodies under laws that give way: one contact of each rim with all of a body, at any tilt.

Under rigid laws a rim touches face by face and edge by edge, and hands over to points where its disc lies flat. What
presses by its depth must not jump there. So a rim is a spheroid of radius R and half thickness b = R BULGE: at the
normal n, with h = n . a and t = n - h a = a x (n x a), its lowest point along n is

    x = c - (R^2 t + b^2 h a) / T,    T = sqrt(R^2 |t|^2 + b^2 h^2),

for the centre c and the axis a, smooth across the disc that has no tilt. Over a plane n . y = d of the other body its
gap is n . x - d. Over straight lines (an edge, or the side of a round body, see `yielding_rounds`)

    g(f) = n(f) . (c - p) - T - r

is largest where both are nearest, among the normals of the edge, and those that point into the body of the rim. Where
the lowest point leaves a face over its edge, g' is zero at the end of the normals of that edge: there both have one
point, one normal and one gap, and so they are one contact, the regions of which are the faces and edges. The row of its
normal is the gradient of the gap, as of all contacts (see `pair_kinematics`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ...common.arrays import Array
from ...common.lazy import dataclass
from ..zero import BULGE, DEEP, FAR_BODIES, OFF, PARALLEL_EDGES
from .closest_points.features import Ellipsoid, Feature, Plane
from .features import (
    Bodies,
    Meet,
    PassingPair,
    Place,
    Recent,
    at,
    cross,
    dot,
    key_of,
    one_of,
    turned,
    turned_back,
)
from .nearest_features import RootedFeatures
from .rims import TINY, Endless, Part, Ridge, Rim
from .shapes import Region

SAMPLES = np.linspace(0.0, 1.0, 33)  # of the normals of lines, among which the largest gap is looked for
ROUNDS = 100  # of Newton's method or halving to it; some ten do
TURNED = 1e-15  # rad: a step that is rounding


class Touching(NamedTuple):
    """Which part of the other body is nearest: its number and gap, and y of the closest points of an edge."""

    number: int
    gap: float
    y: Array


class Hills(NamedTuple):
    """g over the angle f of normals s b + c (u cos f + v sin f), by w = c - p and the axis a in axes (u, v, b)."""

    way: tuple[float, float, float]
    lean: tuple[float, float, float]
    sine: float
    cosine: float
    radius: float

    def height(self, angles: Array) -> tuple[Array, Array]:
        """g + r (k,) and h (k,) at angles (k,)."""
        C, S = self.cosine * np.cos(angles), self.cosine * np.sin(angles)
        n, a = np.stack([C, S, np.full_like(C, self.sine)], axis=-1), np.array(self.lean)
        return n @ np.array(self.way) - lowest(self.radius, n, np.broadcast_to(a, n.shape)).T[..., 0], n @ a

    def slopes(self, angle: float) -> tuple[float, float]:
        """g' and g''."""
        C, S = self.cosine * math.cos(angle), self.cosine * math.sin(angle)
        (w_u, w_v, _), (a_u, a_v, a_b) = self.way, self.lean
        h, up, bent = C * a_u + S * a_v + self.sine * a_b, C * a_v - S * a_u, -C * a_u - S * a_v
        s, square = self.sine, self.radius**2 * (1.0 - BULGE**2)
        across = (S * a_b - s * a_v) ** 2 + (s * a_u - C * a_b) ** 2 + (C * a_v - S * a_u) ** 2
        T = self.radius * math.sqrt(across + (BULGE * h) ** 2)
        first = C * w_v - S * w_u + square * h * up / T
        second = -C * w_u - S * w_v + square * ((up * up + h * bent) / T + square * (h * up) ** 2 / T**3)
        return first, second

    def highest(self, low: float, high: float) -> float:
        """The angle between two, at which g rises and falls, where it is largest."""
        angle = 0.5 * (low + high)
        for _ in range(ROUNDS):
            first, second = self.slopes(angle)
            low, high = (angle, high) if first > 0.0 else (low, angle)
            there = angle - first / second if second < 0.0 else low
            there = there if low < there < high else 0.5 * (low + high)
            if abs(there - angle) <= TURNED:
                return there
            angle = there
        return angle


class Normals(NamedTuple):
    """Normals of an edge: axes u, v, b (3, 3), and the angle f up to which they go from u to v."""

    frame: Array
    span: float


def normals_of(edge: Ridge) -> Normals:
    """Those of an edge, from its first face to the second."""
    one, two = edge.solid.into[edge.number]
    first, last = (own @ other * own - other for own, other in ((one, two), (two, one)))
    first, last = first / np.linalg.norm(first), last / np.linalg.norm(last)
    return Normals(np.array([first, -one, edge.direction]), float(np.arctan2(-one @ last, first @ last)))


@dataclass(frozen=True, eq=False)
class YieldingRim(RootedFeatures, PassingPair):
    """A rim of A against the faces and edges of B, or a half-space: see the head of this module.

    Attributes:
        rim: of a cylinder or cone along the z of A.
        parts: faces and edges of B, the faces first, or the plane of a half-space.
        extent_b: largest distance of B from its origin [m]; None: it has no end.
    """

    rim: Rim
    parts: tuple[Part, ...]
    extent_b: float | None
    radius_a: float = 0.0

    @property
    def extent_a(self) -> float:  # type: ignore[override]
        """Of the rim."""
        return self.rim.extent

    @property
    def takes_over(self) -> bool:
        """It hands over to no other contact."""
        return False

    @cached_property
    def own(self) -> Ellipsoid:
        """The spheroid."""
        return spheroid(self.rim.feature.centre, self.rim.radius)

    @cached_property
    def _flat(self) -> tuple[Array, Array, Array]:
        """Numbers (F,) of the plane parts, their normals (F, 3), and d (F,) of their planes."""
        numbers = [k for k, part in enumerate(self.parts) if isinstance(part.feature, Plane)]
        planes = [self.parts[k].feature for k in numbers]
        normals = np.array([plane.normal for plane in planes])  # type: ignore[attr-defined]
        offsets = [float(n @ plane.centre) for n, plane in zip(normals, planes, strict=True)]
        return np.array(numbers, dtype=int), normals, np.array(offsets)

    @cached_property
    def normals_around(self) -> dict[int, Normals]:
        """The normals of the edges."""
        return {k: normals_of(part) for k, part in enumerate(self.parts) if isinstance(part, Ridge)}

    @cached_property
    def _edges(self) -> dict[tuple[int, int], int]:
        """Which part is the edge behind a margin of a face."""
        known = {part.number: k for k, part in enumerate(self.parts) if isinstance(part, Ridge)}
        found = {}
        for k in self._flat[0].tolist():
            part = self.parts[k]
            solid = getattr(part, "solid", None)
            if solid is not None:
                edges = solid.edges_of_faces[part.number]  # type: ignore[attr-defined]
                found.update({(k, i): known[edge] for i, (edge, _) in enumerate(edges)})
        return found

    def beside(self, k: int) -> tuple[int, ...]:
        """Which parts are behind the margins of part `k`, if it is a face."""
        margins = self.parts[k].ends if any(face == k for face, _ in self._edges) else 0
        return tuple([self._edges[k, i] for i in range(margins)])

    # --- which part is nearest ----------------------------------------------------------------------------------

    @cached_property
    def _known(self) -> Recent[tuple[Touching | None, float]]:
        """What touches at the last places."""
        return Recent()

    def _nearest(self, place: Place) -> tuple[Touching | None, float]:
        """The part that touches at one place, or would, and a bound of the distance of all others."""
        return self._known.of(key_of(place), lambda: self._looked_for(place))

    def _looked_for(self, place: Place) -> tuple[Touching | None, float]:
        c = (place.o_a + place.R_a @ self.own.centre - place.o_b) @ place.R_b
        if self.extent_b is not None:
            far = float(np.linalg.norm(c)) - self.rim.radius - self.extent_b
            if far > FAR_BODIES * (self.rim.radius + self.extent_b):
                return None, far
        flats, edges, least = self._over_flats(c, place)
        if least > FAR_BODIES * self.rim.radius:
            return None, least
        found = flats + [touching for k in edges if (touching := self._over(k, c, place)) is not None]
        return max(found, key=lambda own: own.gap, default=None), max(least, 0.0)

    def _over_flats(self, c: Array, place: Place) -> tuple[list[Touching], list[int], float]:
        """The plane part that is nearest, the edges over which those leave that are nearer, and how far all are away.

        Args:
            c: middle of the rim (3,) in axes of B.
            place: of both.
        """
        a = place.R_a[:, 2] @ place.R_b
        numbers, normals, offsets = self._flat
        low, edges = lowest(self.rim.radius, normals, np.broadcast_to(a, normals.shape)), set[int]()
        gaps = normals @ c - offsets - low.T[:, 0]
        least = float(gaps.max())
        for i in np.argsort(-gaps, kind="stable").tolist() if least <= FAR_BODIES * self.rim.radius else ():
            k, n = int(numbers[i]), normals[i]
            margins = self.parts[k].margins(c - low.way[i] - gaps[i] * n, n)
            beyond = [j for j, margin in enumerate(margins) if not float(margin.value) > margin.begin]
            if not beyond:
                return [Touching(k, float(gaps[i]), np.zeros(0))], sorted(edges), least
            edges.update(self._edges[k, j] for j in beyond)
        return [], sorted(edges), least

    def _over(self, k: int, c: Array, place: Place) -> Touching | None:
        """An edge, from the middle (3,) of the rim in axes of B; None: it is not nearest there."""
        part, a = self.parts[k], place.R_a[:, 2] @ place.R_b
        assert isinstance(part, Ridge)
        frame, span = self.normals_around[k]
        way = frame @ (c - part.middle)
        numbers = tuple(way.tolist()), tuple((frame @ a).tolist())
        angle = self._highest(Hills(*numbers, 0.0, 1.0, self.rim.radius), span)  # type: ignore[arg-type]
        if angle is None:
            return None
        n = math.cos(angle) * frame[0] + math.sin(angle) * frame[1]
        x = c - lowest(self.rim.radius, n, a).way
        gap, slide = float(n @ (x - part.middle)), float(frame[2] @ (x - part.middle))
        if not all(float(margin.value) > margin.begin for margin in part.margins(x - gap * n, n)):
            return None
        if self._side_is_nearer(part, c, a, gap):
            return None
        return Touching(k, gap, np.concatenate([place.R_b @ n, [gap, slide]]))

    def _side_is_nearer(self, part: Ridge, c: Array, a: Array, gap: float) -> bool:
        """Whether an edge that is inside the body of the rim is nearer to the side of that, which it meets there."""
        if gap >= -DEEP or self.rim.lean:
            return False
        across = cross(a, part.direction)
        size = float(np.linalg.norm(across))
        if size < PARALLEL_EDGES:
            return False
        n = across / size * math.copysign(1.0, float(across @ (c - part.middle)))
        within = all(float(margin.value) > margin.begin for margin in part.margins(c, n)[2:])
        return within and self.rim.radius - float(n @ (c - part.middle)) < -gap

    def _highest(self, hills: Hills, span: float) -> float | None:
        """The angle of the largest g among normals that point into the body of the rim; None: it has an end there."""
        angles = span * SAMPLES
        heights, h = hills.height(angles)
        heights[self.rim.end * h > self.rim.lean] = -np.inf
        best = int(np.argmax(heights))
        if not np.isfinite(heights[best]):
            return None
        step = float(angles[1])
        low, high = max(float(angles[best]) - step, 0.0), min(float(angles[best]) + step, span)
        if not hills.slopes(low)[0] > 0.0 > hills.slopes(high)[0]:
            return None
        angle = hills.highest(low, high)
        return angle if self.rim.end * float(hills.height(np.array([angle]))[1][0]) <= self.rim.lean else None

    # --- the contract -------------------------------------------------------------------------------------------

    def region(self, place: Place) -> Region:
        """The number of the part that is nearest, from one on; where none is, that of the first plane one."""
        touching, _ = self._nearest(place)
        return (1 if touching is None else touching.number + 1,)

    def open_gap(self, place: Place) -> float:
        """The gap of the part that is nearest; where none is, a bound of the distance, and OFF."""
        touching, least = self._nearest(place)
        return least + OFF if touching is None else touching.gap

    def piece(self, place: Place, region: Region) -> Region | None:
        """Where a part is nearest."""
        return None if self._nearest(place)[0] is None else region

    def _plane(self, place: Place | Bodies, region: Region) -> Plane | None:
        """A plane part; of an edge that is not nearest, that in which it lies below the rim; else None."""
        part, here = self.parts[region[0] - 1], one_of(place)
        if isinstance(part.feature, Plane):
            return part.feature
        touching, _ = self._nearest(here)
        if touching is not None and touching.number == region[0] - 1:
            return None
        assert isinstance(part, Ridge)
        c = here.R_b.T @ (here.o_a + here.R_a @ self.own.centre - here.o_b)
        way = c - part.middle - ((c - part.middle) @ part.direction) * part.direction
        return Plane(part.middle, way / max(float(np.linalg.norm(way)), TINY))

    def gap(self, place: Place, region: Region) -> Array:
        """The signed distance from a part."""
        plane = self._plane(place, region)
        if plane is None:
            return super().gap(place, region)
        n, a = turned(place.R_b, plane.normal), place.R_a[..., 2]
        T = lowest(self.rim.radius, n, a).T
        c = place.o_a + turned(place.R_a, self.own.centre)
        return (dot(n, c - place.o_b - turned(place.R_b, plane.centre)) - T)[..., 0]

    def _root(self, place: Place, region: Region) -> Array:
        """Of the part that is nearest."""
        touching, _ = self._nearest(place)
        assert touching is not None
        return touching.y

    def _features(self, region: Region) -> tuple[Feature, Feature]:
        return self.own, self.parts[region[0] - 1].feature

    def meet(self, bodies: Bodies, region: Region) -> Meet:
        """Point, normal and rates."""
        plane = self._plane(bodies, region)
        return super().meet(bodies, region) if plane is None else self._on_plane(bodies, plane)

    def _on_plane(self, bodies: Bodies, plane: Plane) -> Meet:
        """x = c - y / T with y = R^2 t + b^2 h a, n' = w_B x n and a' = w_A x a; T T' = -(R^2 - b^2) h h'."""
        n, a = turned(bodies.R_b, plane.normal), bodies.R_a[..., 2]
        n_rate, a_rate = cross(bodies.V_b[..., 3:], n), cross(bodies.V_a[..., 3:], a)
        h, h_rate = dot(n, a), dot(n_rate, a) + dot(n, a_rate)
        (T, way), square = lowest(self.rim.radius, n, a), self.rim.radius**2 * (1.0 - BULGE**2)
        y_rate = self.rim.radius**2 * n_rate - square * (h_rate * a + h * a_rate)
        c = bodies.o_a + turned(bodies.R_a, self.own.centre)
        x_rate = at(bodies.V_a, c) - y_rate / T - square * h * h_rate / T**2 * way
        return Meet(c - way, x_rate, n, n_rate)

    def bend(self, place: Place, speed: float, spin: float, duration: float) -> float:
        """The lowest point runs over the rim the faster, the less it is tilted, and over what is round."""
        touching, _ = self._nearest(place)
        if touching is None:
            return 0.0
        region, R = (touching.number + 1,), self.rim.radius
        still = np.zeros(6)
        met = self.meet(Bodies(*place, still, still, still, still), region)
        tilt = max(float(np.linalg.norm(np.cross(met.n, place.R_a[:, 2]))) - spin * duration, BULGE)
        own = R * spin * spin * (1.0 + 1.0 / tilt)
        if isinstance(self.parts[touching.number].feature, Plane):
            return own
        slide = speed + spin * R / tilt
        bent = self.parts[touching.number].bent(R, turned_back(place.R_b, met.x - place.o_b), slide * duration)
        return own + slide**2 / bent if bent > 0.0 else float("inf")


def spheroid(centre: Array, radius: float) -> Ellipsoid:
    """What a disc across z is under laws that give way."""
    return Ellipsoid(centre, np.eye(3), radius * np.array([1.0, 1.0, BULGE]))


class Lowest(NamedTuple):
    """T (..., 1) of a spheroid, and the way (..., 3) up from its lowest point to its centre [m]."""

    T: Array
    way: Array


def lowest(radius: float, n: Array, a: Array) -> Lowest:
    """Of the normal n (..., 3) and the axis a (..., 3), to rounding however little it is tilted; analytic."""
    h, across = dot(n, a), cross(a, cross(n, a))
    T = radius * np.sqrt(dot(across, across) + (BULGE * h) ** 2)
    return Lowest(T, radius**2 * (across + BULGE**2 * h * a) / T)


def yielding(rim: Rim, parts: Sequence[Part]) -> YieldingRim:
    """A rim against all those parts of a body."""
    endless = any(isinstance(part, Endless) for part in parts)
    return YieldingRim(rim, tuple(parts), None if endless else max(part.extent for part in parts))
