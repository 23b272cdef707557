"""Whole convex bodies by their support functions, and the signed distance of two of them, to rounding.

With h(m) = max over x in the body of m . x, two bodies A and B are apart along a unit normal n by

    g(n) = -h_A(-n) - h_B(n),    signed distance = max over n of g(n):

the distance while they are apart, and less the length of the least shift that parts them while they overlap. Every
normal gives a lower bound, so that what is told as apart is apart. Coal (GJK and EPA) finds a normal to some 1e-7; the
exact one is among those at which features near that one touch: those of faces and of crossed edges, and for all else
the roots of the closest-point equations (see `closest_points.search`).
Source: R. Schneider, Convex Bodies: The Brunn-Minkowski Theory, section 1.7.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import field
from functools import cached_property, lru_cache
from itertools import pairwise, product
from typing import TYPE_CHECKING, Any

import coal
import numpy as np

from ...common.arrays import Array
from ...common.lazy import dataclass
from ...errors import SingularError
from ..zero import DEEP, FAR_SIDE, FLAT, PARALLEL_EDGES, SETTLED, TOUCHING
from .closest_points.equations import Pose, root
from .closest_points.features import Circle, Ellipsoid, Feature, Line, Point, Slant

if TYPE_CHECKING:
    from .polyhedra import Polyhedron

Z = np.array([0.0, 0.0, 1.0])
NONE = np.zeros((0, 3))
ALL = 2.0
WIDER = 1e-5, 1e-3, 1e-1, ALL  # shares of a body's size around its farthest point in which features are looked at
MANY = 4096  # pairs of edges that are all looked at
Tried = set[tuple[int, int, bool]]  # couples of features, and how
AHEAD = 64  # poses at which a normal is tried that did for one before them
ROUNDS = 20  # of features around a normal that got better; two do
BOTH_ENDS = np.array([1.0, -1.0])  # of a cylinder, on either of which a disc may lie
SOME = 24  # features of a polyhedron around a normal that are looked at one by one


class Convex(ABC):
    """A convex body in axes of its own.

    Attributes:
        shape: coal's shape, which has the same axes.
        middle: centre (3,) of a ball around it, and `reach`, the radius of that [m].
    """

    shape: Any
    middle: Array
    reach: float

    @abstractmethod
    def support(self, m: Array) -> Array:
        """h (k,) [m] at unit directions m (k, 3)."""

    @abstractmethod
    def flats(self, m: Array, within: float) -> Array:
        """Outward normals (k, 3) of the plane faces that lie within a distance [m] of the farthest point along m."""

    @abstractmethod
    def edges(self, m: Array, within: float) -> Array:
        """Directions (k, 3) of the straight edges there, unit."""

    @abstractmethod
    def features(self, m: Array, within: float) -> Sequence[Feature]:
        """Features there by which it can touch something round."""


@dataclass(frozen=True, eq=False)
class Round(Convex):
    """A body with round features only, or with few others: their hull.

    Attributes:
        pieces: points, circles and ellipsoids whose hull it is, each with its own `offset`.
        sides: straight lines of its surface, or the cylinders around them.
        ends: outward normals (k, 3) of its plane faces.
    """

    shape: Any
    middle: Array
    reach: float
    pieces: tuple[Feature, ...]
    sides: tuple[Line | Slant, ...] = ()
    ends: Array = field(default_factory=lambda: NONE)

    def support(self, m: Array) -> Array:
        """The largest one of its pieces."""
        return np.asarray(np.maximum.reduce([_support(piece, m) for piece in self.pieces]))

    def flats(self, m: Array, within: float) -> Array:
        """All."""
        return self.ends

    def edges(self, m: Array, within: float) -> Array:
        """None: a side is no edge."""
        return NONE

    def features(self, m: Array, within: float) -> Sequence[Feature]:
        """Its pieces there, and its sides where all of them are."""
        heights = [float(_support(piece, m[None])[0]) for piece in self.pieces]
        there = [piece for piece, height in zip(self.pieces, heights, strict=True) if height >= max(heights) - within]
        return *there, *(self.sides if len(there) == len(self.pieces) else ())


def _support(piece: Feature, m: Array) -> Array:
    along = m @ piece.centre + piece.offset
    if isinstance(piece, Circle):
        return np.asarray(along + piece.radius * np.linalg.norm(m - (m @ piece.axis)[:, None] * piece.axis, axis=1))
    if isinstance(piece, Ellipsoid):
        return np.asarray(along + np.linalg.norm((m @ piece.axes) * piece.radii, axis=1))
    return np.asarray(along)


@dataclass(frozen=True, eq=False)
class Flat(Convex):
    """A convex polyhedron.

    Attributes:
        vertices: (V, 3) [m].
        loops: three vertices (F, 3) of each face; a face may be given in parts.
        normals: of the faces (F, 3), outward.
        ridges: the two vertices (E, 2) of each edge.
    """

    shape: Any
    vertices: Array
    loops: Array
    normals: Array
    ridges: Array

    @cached_property
    def middle(self) -> Array:  # type: ignore[override]
        """That of the box around it."""
        return np.asarray(0.5 * (self.vertices.min(axis=0) + self.vertices.max(axis=0)))

    @cached_property
    def reach(self) -> float:  # type: ignore[override]
        """Largest distance of a vertex from there."""
        return float(np.linalg.norm(self.vertices - self.middle, axis=1).max())

    @cached_property
    def _known(self) -> dict[Any, Any]:
        """Features that were asked for."""
        return {}

    def support(self, m: Array) -> Array:
        """That of its farthest vertex."""
        return np.asarray((m @ self.vertices.T).max(axis=1))

    def flats(self, m: Array, within: float) -> Array:
        """Of faces all of whose vertices are there."""
        return np.asarray(self.normals[self._there(m, within)[self.loops].all(axis=1)])

    def edges(self, m: Array, within: float) -> Array:
        """Likewise."""
        found = self.ridges[self._there(m, within)[self.ridges].all(axis=1)]
        along = self.vertices[found[:, 1]] - self.vertices[found[:, 0]]
        return np.asarray(along / np.linalg.norm(along, axis=1, keepdims=True))

    def features(self, m: Array, within: float) -> Sequence[Feature]:
        """Its vertices and edges there, those that are farthest along m first."""
        there, height = self._there(m, within), self.vertices @ m
        corners = np.flatnonzero(there)
        corners = corners[np.argsort(-height[corners], kind="stable")][:SOME]
        ridges = self.ridges[there[self.ridges].all(axis=1)]
        ridges = ridges[np.argsort(-height[ridges].min(axis=1), kind="stable")][:SOME]
        return *(self._corner(int(k)) for k in corners), *(self._ridge(int(u), int(w)) for u, w in ridges)

    def _corner(self, k: int) -> Point:
        return self._known.setdefault(k, Point(self.vertices[k]))  # type: ignore[no-any-return]

    def _ridge(self, u: int, w: int) -> Line:
        p, q = self.vertices[u], self.vertices[w]
        return self._known.setdefault((u, w), Line(0.5 * (p + q), (q - p) / np.linalg.norm(q - p)))

    def _there(self, m: Array, within: float) -> Array:
        height = self.vertices @ m
        return np.asarray(height >= height.max() - within)


# --- how far two of them are apart ------------------------------------------------------------------------------


def distance(bodies: tuple[Convex, Convex], poses: tuple[Pose, Pose], enough: float = TOUCHING) -> float:
    """Signed distance [m] of two bodies.

    Args:
        bodies, poses: A and B, and where they are.
        enough: a lower bound above -`enough` [m] is told without looking for a better one: they do not overlap more.
    """
    return _Search(bodies, poses).best(_ways(bodies, poses), enough)[0]


def distances(bodies: tuple[Convex, Convex], poses: tuple[Pose, Pose], enough: float = TOUCHING) -> Array:
    """The same (k,) at many poses in the order of time.

    Tried first are the way from middle to middle, the vertical, and the normal that did for an earlier pose as it
    stands in either body: where bodies are apart or at rest on each other, one of these is enough.
    """
    (a, b), (one, two) = bodies, poses
    across = one.R @ a.middle + one.o - two.R @ b.middle - two.o
    size = np.linalg.norm(across, axis=1, keepdims=True)
    found = _apart(bodies, poses, np.broadcast_to(Z, across.shape))
    found = np.maximum(found, _apart(bodies, poses, np.where(size > 0.0, across / np.where(size > 0.0, size, 1.0), Z)))
    left = np.flatnonzero(found < 0.0)
    while len(left):
        k, ahead = left[0], left[1 : 1 + AHEAD]
        there = Pose(one.R[k], one.o[k]), Pose(two.R[k], two.o[k])
        found[k], n = _Search(bodies, there).best(_ways(bodies, there), enough)
        later = Pose(one.R[ahead], one.o[ahead]), Pose(two.R[ahead], two.o[ahead])
        for pose, now in zip(later, there, strict=True):
            found[ahead] = np.maximum(found[ahead], _apart(bodies, later, pose.R @ (now.R.T @ n)))
        left = left[1:][found[left[1:]] < -enough]
    return np.asarray(found)


def _apart(bodies: tuple[Convex, Convex], poses: tuple[Pose, Pose], normals: Array) -> Array:
    """g (k,) at a normal (k, 3) for each of some poses (k,)."""
    (a, b), (one, two) = bodies, poses
    along_a = a.support(-(normals[:, None] @ one.R)[:, 0])
    along_b = b.support((normals[:, None] @ two.R)[:, 0])
    return np.asarray(np.einsum("ki,ki->k", normals, one.o - two.o) - along_a - along_b)


def on_far_side(bodies: tuple[Convex, Convex], poses: tuple[Pose, Pose], gap: float) -> bool:
    """Whether features touch with a gap [m] on the far side of a sharp body: the bodies are not inside each other."""
    return gap < -DEEP and float(_Search(bodies, poses).apart(_ways(bodies, poses)).max()) > FAR_SIDE * gap


def _ways(bodies: tuple[Convex, Convex], poses: tuple[Pose, Pose]) -> Array:
    """Unit vectors (k, 3) from B to A: the normal by Coal, which is rough where bodies are round, and two others."""
    request, result = coal.DistanceRequest(), coal.DistanceResult()
    (a, b), places = bodies, [coal.Transform3s(pose.R, pose.o) for pose in poses]
    coal.distance(a.shape, places[0], b.shape, places[1], request, result)
    across = poses[0].R @ a.middle + poses[0].o - poses[1].R @ b.middle - poses[1].o
    ways = np.array([-np.asarray(result.normal), across, Z])
    sizes = np.linalg.norm(ways, axis=1, keepdims=True)
    known = np.isfinite(sizes[:, 0]) & (sizes[:, 0] > 0.0)
    return np.asarray(ways[known] / sizes[known])


@dataclass(frozen=True)
class _Search:
    """The best normal of two bodies from a rough one."""

    bodies: tuple[Convex, Convex]
    poses: tuple[Pose, Pose]

    def best(self, normals: Array, enough: float) -> tuple[float, Array]:
        """The largest g(n) that features around the best of some normals give, then those in wider surroundings; n."""
        values = self.apart(normals)
        n, found, tried = normals[int(np.argmax(values))], float(values.max()), Tried()
        for share in WIDER:
            for _ in range(ROUNDS):
                if found >= -enough:
                    return found, n
                before = found
                for normals, gaps in self._normals(n, share, tried):
                    values = self.apart(normals)
                    k = int(np.argmax(values))
                    if values[k] > found:
                        found, n = float(values[k]), normals[k]
                        if gaps is not None and gaps[k] <= found + SETTLED and found > -DEEP:
                            return found, n  # a root of the equations between features that are the farthest ones
                if found <= before + SETTLED:
                    break
        return found, n

    def apart(self, normals: Array) -> Array:
        """g (k,) at normals (k, 3)."""
        (a, b), (one, two) = self.bodies, self.poses
        along_a, along_b = a.support(-normals @ one.R), b.support(normals @ two.R)
        return np.asarray(normals @ (one.o - two.o) - along_a - along_b)

    def _normals(self, n: Array, share: float, tried: Tried) -> Iterator[tuple[Array, Array | None]]:
        """Normals (k, 3) at which features around n touch: of faces, of crossed edges, and of others with gaps (k,)."""
        (a, b), (one, two) = self.bodies, self.poses
        ways = (-n @ one.R, share * a.reach), (n @ two.R, share * b.reach)
        flats = np.vstack([-a.flats(*ways[0]) @ one.R.T, b.flats(*ways[1]) @ two.R.T])
        if len(flats):
            yield flats, None
        edges = a.edges(*ways[0]) @ one.R.T, b.edges(*ways[1]) @ two.R.T
        if share == ALL and len(edges[0]) * len(edges[1]) > MANY:
            return
        across = np.cross(edges[0][:, None], edges[1][None]).reshape(-1, 3)
        size = np.linalg.norm(across, axis=1)
        across = across[size > PARALLEL_EDGES] / size[size > PARALLEL_EDGES, None]
        if len(across):
            yield np.vstack([across, -across]), None
        if isinstance(a, Flat) and isinstance(b, Flat):
            return
        for f, g in product(a.features(*ways[0]), b.features(*ways[1])):
            key = id(f), id(g), share == WIDER[0]
            if key not in tried:
                tried.add(key)
                if (found := self._touch(f, g, n, share == WIDER[0])) is not None:
                    endless = isinstance(f, Line | Slant) or isinstance(
                        g, Line | Slant
                    )  # beyond their ends others are farther
                    settled = not endless and self._off_axes(f, g, found[0]) > FLAT
                    yield found[0][None], found[1] if settled else None

    def _touch(self, one: Feature, two: Feature, n: Array, closely: bool) -> tuple[Array, Array] | None:
        """Normal (3,) and gap (1,) of two features around n, if they have one; `closely`: n is near it."""
        from .closest_points.search import closest

        if isinstance(one, Slant) or isinstance(two, Slant):
            return self._on_slant(one, two)
        if not closely and isinstance(one, Circle) and isinstance(two, Line):
            return self._on_line(one, two)
        if not closely and isinstance(one, Line) and isinstance(two, Circle):
            return self._on_line(two, one, -1.0)
        try:
            with np.errstate(all="ignore"):
                start = np.concatenate([n, np.zeros(1 + len(one.sines) + len(two.sines))])
                y = root(one, two, self.poses, start) if closely else closest(one, two, self.poses, n).nearest.y
        except (SingularError, np.linalg.LinAlgError):
            return self._abreast(one, two) if isinstance(one, Line) and isinstance(two, Line) else None
        if y is None or not np.isfinite(y).all():
            return None
        return y[:3] / np.linalg.norm(y[:3]), y[3:4]

    def _off_axes(self, one: Feature, two: Feature, n: Array) -> float:
        """Sine of the angle between a normal and the axes of discs: at zero g has a kink, which is no root."""
        axes = [pose.R @ f.axis for f, pose in zip((one, two), self.poses, strict=True) if isinstance(f, Circle)]
        return min((float(np.linalg.norm(np.cross(axis, n))) for axis in axes), default=ALL)

    def _on_slant(self, one: Feature, two: Feature) -> tuple[Array, Array] | None:
        """That of a sphere, ellipsoid, rim, line with what is around it, or side of a cone, and the side of a cone."""
        from .closest_points.ellipsoids import on_slant

        sense, slant, point, poses = 1.0, two, one, self.poses
        if isinstance(one, Slant):
            sense, slant, point, poses = -1.0, one, two, self.poses[::-1]
        if isinstance(slant, Slant) and isinstance(point, Slant):
            return self._slants(point, slant, poses, sense)
        if isinstance(slant, Slant) and isinstance(point, Line):
            return self._across_slant(point, slant, poses, sense)
        if isinstance(slant, Slant) and isinstance(point, Circle):
            return self._on_line(point, slant, sense)
        if isinstance(slant, Slant) and isinstance(point, Ellipsoid):
            y = on_slant(point, slant, poses)
            return None if y is None else (sense * y[:3], y[3:4])
        if not isinstance(slant, Slant) or not isinstance(point, Point):
            return None
        (at_point, at_cone) = poses
        way = (at_point.R @ point.centre + at_point.o - at_cone.o) @ at_cone.R - slant.centre
        across = way - slant.axis * (slant.axis @ way)
        if not (size := float(np.linalg.norm(across))) > 0.0:
            return None
        n = np.sqrt(1.0 - slant.sine**2) / size * across + slant.sine * slant.axis
        return sense * at_cone.R @ n, np.array([n @ way - point.offset])

    def _across_slant(
        self, line: Line, slant: Slant, poses: tuple[Pose, Pose], sense: float
    ) -> tuple[Array, Array] | None:
        """That of a line and the side of a cone across it, the better one of two: see `cone_sides`."""
        (at_line, at_cone), s = poses, slant.sine
        way = (at_line.R @ line.centre + at_line.o - at_cone.o) @ at_cone.R - slant.centre
        d, b = (at_line.R @ line.axis) @ at_cone.R, slant.axis
        D = 1.0 - float(b @ d) ** 2
        if s * s >= D:
            return None
        level, over = s * (b - (b @ d) * d) / D, np.sqrt(D - s * s) / D * np.cross(d, b)
        normals = np.array([level + over, level - over])
        n = normals[int(np.argmax(self.apart(sense * normals @ at_cone.R.T)))]
        return sense * at_cone.R @ n, np.array([n @ way - line.offset])

    def _slants(self, one: Slant, two: Slant, poses: tuple[Pose, Pose], sense: float) -> tuple[Array, Array] | None:
        """That of the sides of two cones across each other, the better one of two."""
        from .closest_points.equations import across_slants

        at_one, at_two = poses
        b, c = at_one.R @ one.axis, at_two.R @ two.axis
        way = at_one.R @ one.centre + at_one.o - at_two.R @ two.centre - at_two.o
        level, over, root = across_slants(b, one.sine, c, two.sine)
        if not float(root[0]) > 0.0:
            return None
        normals = np.array([level + over, level - over])
        n = normals[int(np.argmax(self.apart(sense * normals)))]
        return sense * n, np.array([n @ way])

    def _on_line(self, rim: Circle, line: Line | Slant, sense: float = 1.0) -> tuple[Array, Array] | None:
        """That of a rim of A on a line or side of B, or the other way round: the best, wherever the search begins."""
        from .closest_points.search import RimsAbove, Ruled, across_axis

        at_rim, at_line = self.poses if sense > 0.0 else self.poses[::-1]
        surface = Ruled(line.centre, line.axis, line.sine if isinstance(line, Slant) else 0.0, line.offset)
        centre = (at_rim.R @ rim.centre + at_rim.o - at_line.o) @ at_line.R
        axis = (at_rim.R @ rim.axis) @ at_line.R
        rims, both = RimsAbove([surface] * 2, np.full(2, rim.radius), BOTH_ENDS), np.arange(2)
        normals = rims.nearest(np.tile(centre, (2, 1)), np.tile(axis, (2, 1)), both)[1]
        normals = normals[np.isfinite(normals).all(axis=1)]
        if not len(normals):
            return None
        # A disc that is nearly flat has two, almost the same to the line, of which one is behind its body.
        found = normals[int(np.argmax(self.apart(sense * normals @ at_line.R.T)))]
        height = float(found @ (centre - line.centre)) - rim.radius * float(across_axis(found, axis)[2])
        return sense * at_line.R @ found, np.array([height - line.offset - rim.offset])

    def _abreast(self, one: Line, two: Line) -> tuple[Array, Array] | None:
        """That of parallel lines."""
        places = [turn.R @ line.centre + turn.o for line, turn in zip((one, two), self.poses, strict=True)]
        apart, axis = places[0] - places[1], self.poses[0].R @ one.axis
        apart = apart - axis * (axis @ apart)
        size = float(np.linalg.norm(apart))
        return (apart / size, np.array([size - one.offset - two.offset])) if size > 0.0 else None


# --- bodies of each kind ----------------------------------------------------------------------------------------


def ball(radius: float) -> Convex:
    """A sphere around the origin."""
    return Round(coal.Sphere(radius), np.zeros(3), radius, (Point(np.zeros(3), radius),))


def capsule(radius: float, length: float) -> Convex:
    """A capsule along z, its straight part of a length."""
    ends = tuple(Point(0.5 * sign * length * Z, radius) for sign in (-1.0, 1.0))
    return Round(
        coal.Capsule(radius, length), np.zeros(3), 0.5 * length + radius, ends, (Line(np.zeros(3), Z, radius),)
    )


def cylinder(radius: float, length: float) -> Convex:
    """A cylinder along z."""
    rims = tuple(Circle(0.5 * sign * length * Z, Z, radius) for sign in (-1.0, 1.0))
    shape, reach = coal.Cylinder(radius, length), float(np.hypot(radius, 0.5 * length))
    return Round(shape, np.zeros(3), reach, rims, (Line(np.zeros(3), Z, radius),), np.array([Z, -Z]))


def cone(radius: float, length: float) -> Convex:
    """A cone along z, its tip above, the origin half way up; of its side what points and spheres touch."""
    rim, tip = Circle(-0.5 * length * Z, Z, radius), Point(0.5 * length * Z)
    reach = float(np.hypot(radius, 0.5 * length))
    side = Slant(0.5 * length * Z, Z, radius / float(np.hypot(radius, length)))
    return Round(coal.Cone(radius, length), np.zeros(3), reach, (rim, tip), (side,), -Z[None])


def ellipsoid(radii: Sequence[float]) -> Convex:
    """An ellipsoid along the axes."""
    sizes = np.array([float(radius) for radius in radii])
    return Round(coal.Ellipsoid(*sizes), np.zeros(3), float(sizes.max()), (Ellipsoid(np.zeros(3), np.eye(3), sizes),))


@lru_cache(maxsize=1024)
def polyhedron(solid: Polyhedron) -> Convex:
    """A box or hull; of the same one the same."""
    loops = [(loop[0], one, two) for loop in solid.loops for one, two in pairwise(loop[1:])]
    whole = np.array([loop[:3] for loop in solid.loops])
    return Flat(_hull_shape(solid.vertices, loops), solid.vertices, whole, solid.normals, solid.edges)


def hull_of(points: Array) -> Convex | None:
    """The convex hull of points (k, 3), its faces as triangles; None where it has no volume."""
    from scipy.spatial import ConvexHull, QhullError  # which takes long to import

    try:
        found = ConvexHull(points)
    except (QhullError, ValueError):
        return None
    number = np.full(len(points), -1)
    number[found.vertices] = np.arange(len(found.vertices))
    faces, normals = number[found.simplices], found.equations[:, :3]
    vertices = points[found.vertices]
    turned = np.cross(vertices[faces[:, 1]] - vertices[faces[:, 0]], vertices[faces[:, 2]] - vertices[faces[:, 0]])
    faces[np.sum(turned * normals, axis=1) < 0.0] = faces[np.sum(turned * normals, axis=1) < 0.0][:, ::-1]
    ridges = np.unique(np.sort(faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1), axis=0)
    return Flat(_hull_shape(vertices, faces.tolist()), vertices, faces, normals, ridges)


def _hull_shape(vertices: Array, triangles: Sequence[Sequence[int]]) -> Any:
    places, faces = coal.StdVec_Vec3s(), coal.StdVec_Triangle()
    for vertex in vertices:
        places.append(vertex)
    for face in triangles:
        faces.append(coal.Triangle(*map(int, face)))
    return coal.Convex(places, faces)
