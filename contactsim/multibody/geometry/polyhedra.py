"""Convex polyhedra: vertices, faces and edges with the directions in which a neighbouring feature begins.

A segment is one without faces, the axis of a capsule: every direction across it is normal to it.

Of an edge with the faces f and g, `into` are the unit vectors of its two faces that point away from it within the
face. A direction n is normal to the body at that edge (lies on its arc of the Gauss map) where n is perpendicular to it
and n . into <= 0 for both.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from itertools import pairwise, product

import numpy as np

from ...common.arrays import Array
from ...common.lazy import dataclass
from ...errors import InputError
from ..zero import COPLANAR, FLAT_HULL

Points = tuple[tuple[float, float, float], ...]


@dataclass(frozen=True, eq=False)
class Polyhedron:
    """A convex polyhedron in axes of its own.

    Attributes:
        vertices: (V, 3) [m].
        loops: vertices of each face, counter-clockwise seen from outside.
        normals, offsets: n (F, 3) and d (F,) of its planes, n . x <= d inside.
        edges: the two vertices of each edge (E, 2).
        sides: the two faces of each edge (E, 2).
    """

    vertices: Array
    loops: tuple[tuple[int, ...], ...]
    normals: Array
    offsets: Array
    edges: Array
    sides: Array

    @cached_property
    def directions(self) -> Array:
        """Unit vectors (E, 3) along the edges."""
        along = self.vertices[self.edges[:, 1]] - self.vertices[self.edges[:, 0]]
        return np.asarray(along / np.linalg.norm(along, axis=1, keepdims=True))

    @cached_property
    def axes(self) -> Array:
        """Directions (k, 3) of the edges, each once."""
        found: list[Array] = []
        for along in self.directions:
            if all(np.linalg.norm(np.cross(along, old)) > COPLANAR for old in found):
                found.append(along)
        return np.array(found)

    @cached_property
    def lengths(self) -> Array:
        """Lengths (E,) of the edges [m]."""
        return np.linalg.norm(self.vertices[self.edges[:, 1]] - self.vertices[self.edges[:, 0]], axis=1)

    @cached_property
    def arms(self) -> Array:
        """Distances (E,) of the farther end of each edge from the origin [m]."""
        return np.linalg.norm(self.vertices, axis=1)[self.edges].max(axis=1)

    @cached_property
    def into(self) -> Array:
        """Unit vectors (E, 2, 3) from each edge into its two faces; zeros for a segment."""
        if not self.loops:
            return np.zeros((len(self.edges), 2, 3))
        found = np.cross(self.normals[self.sides], self.directions[:, None, :])
        centres = np.array([self.vertices[list(loop)].mean(axis=0) for loop in self.loops])[self.sides]
        sense = np.sum(found * (centres - self.vertices[self.edges[:, 0]][:, None, :]), axis=-1)
        return np.asarray(found * np.sign(sense)[..., None])

    @cached_property
    def edges_of_faces(self) -> tuple[tuple[tuple[int, int], ...], ...]:
        """For each face its edges, each with the place of the face among its `sides`."""
        found: list[list[tuple[int, int]]] = [[] for _ in self.loops]
        for e, sides in enumerate(self.sides.tolist()):
            for place, face in enumerate(sides):
                found[face].append((e, place))
        return tuple(map(tuple, found))

    @cached_property
    def edges_of_vertices(self) -> tuple[tuple[tuple[int, float], ...], ...]:
        """For each vertex its edges, each with the sense (1, -1) in which it leads away from there."""
        found: list[list[tuple[int, float]]] = [[] for _ in self.vertices]
        for e, (u, w) in enumerate(self.edges.tolist()):
            found[u].append((e, 1.0))
            found[w].append((e, -1.0))
        return tuple(map(tuple, found))

    @cached_property
    def box(self) -> tuple[Array, Array]:
        """Middle (3,) and half sides (3,) of the box around it, in its axes [m]."""
        low, high = self.vertices.min(axis=0), self.vertices.max(axis=0)
        return 0.5 * (low + high), 0.5 * (high - low)

    @cached_property
    def reach(self) -> float:
        """Largest distance of a vertex from the origin [m]."""
        return float(np.linalg.norm(self.vertices, axis=1).max())

    @cached_property
    def thickness(self) -> float:
        """Least width between a face and the vertex furthest from it [m]; zero for a segment."""
        if not self.loops:
            return 0.0
        return float((self.offsets - (self.vertices @ self.normals.T).min(axis=0)).min())

    @cached_property
    def volume(self) -> float:
        """[m^3]."""
        return float(sum(self._cones()[1]))

    @cached_property
    def centre(self) -> Array:
        """Centre of mass (3,) at even density."""
        centres, volumes = self._cones()
        return np.asarray(volumes @ centres / volumes.sum())

    @cached_property
    def inertia(self) -> Array:
        """Moments of inertia (3, 3) about `centre`, at a density of one.

        Source: of a tetrahedron with vertices p_k, int x x^T = V / 20 (sum p_k p_k^T + 16 c c^T), c its centroid.
        """
        second = np.zeros((3, 3))
        for corners, volume in zip(*self._tetrahedra(), strict=True):
            own = corners - self.centre
            c = own.mean(axis=0)
            second += volume / 20.0 * (own.T @ own + 16.0 * np.outer(c, c))
        return np.asarray(np.trace(second) * np.eye(3) - second)

    def _tetrahedra(self) -> tuple[Array, Array]:
        """Corners (k, 4, 3) of tetrahedra that make it up, and their volumes (k,)."""
        middle, corners = self.vertices.mean(axis=0), []
        for loop in self.loops:
            first, *rest = self.vertices[list(loop)]
            corners += [[middle, first, one, two] for one, two in pairwise(rest)]
        found = np.array(corners)
        return found, np.abs(np.linalg.det(found[:, 1:] - found[:, :1])) / 6.0

    def _cones(self) -> tuple[Array, Array]:
        corners, volumes = self._tetrahedra()
        return corners.mean(axis=1), volumes


@lru_cache(maxsize=1024)
def prism(radius: float, length: float, sides: int) -> Polyhedron:
    """A prism along z around the origin whose corners lie on the rims of a cylinder, those of the lower one first.

    The middle of its first side lies along x.
    """
    angles = 2.0 * np.pi * (np.arange(sides) - 0.5) / sides
    ring = radius * np.column_stack([np.cos(angles), np.sin(angles)])
    corners = np.vstack([np.column_stack([ring, np.full(sides, end * 0.5 * length)]) for end in (-1.0, 1.0)])
    middle = angles + np.pi / sides
    outward = np.column_stack([np.cos(middle), np.sin(middle), np.zeros(sides)])
    normals = np.vstack([[[0.0, 0.0, -1.0], [0.0, 0.0, 1.0]], outward])
    offsets = np.append([0.5 * length] * 2, np.full(sides, radius * np.cos(np.pi / sides)))
    return _of_faces(corners, normals, offsets)


@lru_cache(maxsize=1024)
def pyramid(radius: float, length: float, sides: int) -> Polyhedron:
    """A pyramid along z around the origin whose base lies in the rim of a cone, below, and its tip in that of the cone.

    The middle of its first side lies along x.
    """
    angles = 2.0 * np.pi * (np.arange(sides) - 0.5) / sides
    ring = radius * np.column_stack([np.cos(angles), np.sin(angles)])
    corners = np.vstack([np.column_stack([ring, np.full(sides, -0.5 * length)]), [[0.0, 0.0, 0.5 * length]]])
    middle, inner = angles + np.pi / sides, radius * np.cos(np.pi / sides)
    slant = float(np.hypot(length, inner))
    outward = np.column_stack([length * np.cos(middle), length * np.sin(middle), np.full(sides, inner)]) / slant
    normals = np.vstack([[[0.0, 0.0, -1.0]], outward])
    return _of_faces(corners, normals, np.append(0.5 * length, np.full(sides, 0.5 * length * inner / slant)))


def outermost(points: Array, most: int) -> tuple[Array, float]:
    """At most so many of points (n, 3) whose hull comes closest to that of all, and by how much it misses it [m].

    One after the other the point is taken that is farthest outside. Points of a flat set are returned as they are.
    """
    from scipy.spatial import ConvexHull, QhullError

    try:
        corners = points[ConvexHull(points).vertices]
    except (QhullError, ValueError):
        return points, 0.0
    if len(corners) <= most:
        return corners, 0.0
    directions = np.vstack([np.eye(3), -np.eye(3), np.array(list(product((-1.0, 1.0), repeat=3)))])
    chosen = list(dict.fromkeys(np.argmax(corners @ directions.T, axis=0).tolist()))[:most]
    while True:
        try:
            equations = ConvexHull(corners[chosen]).equations
            outside = (corners @ equations[:, :3].T + equations[:, 3]).max(axis=1)
        except (QhullError, ValueError):  # flat so far
            outside = np.linalg.norm(corners[:, None] - corners[chosen][None], axis=2).min(axis=1)
        if len(chosen) >= most:
            return corners[sorted(chosen)], float(outside.max())
        chosen.append(int(np.argmax(outside)))


@lru_cache(maxsize=1024)
def segment(length: float) -> Polyhedron:
    """A segment along z around the origin, the lower end first."""
    ends = np.array([[0.0, 0.0, -0.5 * length], [0.0, 0.0, 0.5 * length]])
    none = np.zeros((0, 3))
    return Polyhedron(ends, (), none, np.zeros(0), np.array([[0, 1]]), np.zeros((1, 0), dtype=int))


def corners_of_box(size: Sequence[float]) -> Array:
    """The corners (8, 3) of a box around the origin, the lower four first."""
    return np.array([(a, b, c) for c, a, b in product((-0.5, 0.5), repeat=3)]) * np.array(size)


@lru_cache(maxsize=1024)
def polyhedron_of_box(size: tuple[float, ...]) -> Polyhedron:
    """A box around the origin; its vertices are in the order of `corners_of_box`."""
    return _of_faces(corners_of_box(size), np.vstack([np.eye(3), -np.eye(3)]), 0.5 * np.array([*size, *size]))


@lru_cache(maxsize=1024)
def polyhedron_of_hull(points: Points) -> Polyhedron:
    """The convex hull of points (3 numbers each) [m]; triangles in one plane are one face.

    Its vertices are those of the points that are corners of it, in their order.

    Raises:
        InputError: the points lie in a plane.
    """
    from scipy.spatial import ConvexHull, QhullError  # which takes long to import, and boxes do not need

    given = np.array(points, dtype=float)
    try:
        hull = ConvexHull(given)
    except (QhullError, ValueError):
        raise InputError(
            f"the hull of {len(given)} points has no volume; give at least four that do not lie in one plane"
        ) from None
    size = float(np.ptp(given, axis=0).max())
    planes: list[Array] = []
    for plane in hull.equations:
        alike = [old for old in planes if np.abs(old[:3] - plane[:3]).max() < COPLANAR]
        if not alike:
            planes.append(plane)
    normals = np.array([plane[:3] for plane in planes])
    reach = given @ normals.T
    offsets = reach.max(axis=0)
    on = (reach > offsets - COPLANAR * size).sum(axis=1) >= 3
    solid = _of_faces(given[on], normals, offsets, COPLANAR * size)
    if not solid.thickness > FLAT_HULL * size:
        raise InputError(f"the hull of {len(given)} points is flat; make it thicker than {FLAT_HULL:g} of its size")
    return solid


def _of_faces(vertices: Array, normals: Array, offsets: Array, near: float | None = None) -> Polyhedron:
    """The polyhedron of vertices and planes: the loop of each face goes around its centre."""
    near = COPLANAR * float(np.abs(vertices).max()) if near is None else near
    loops: list[tuple[int, ...]] = []
    for normal, offset in zip(normals, offsets, strict=True):
        on = np.flatnonzero(np.abs(vertices @ normal - offset) <= near)
        own = vertices[on] - vertices[on].mean(axis=0)
        one = own[int(np.argmax(np.linalg.norm(own, axis=1)))]
        one = one / np.linalg.norm(one)
        turn = np.arctan2(own @ np.cross(normal, one), own @ one)
        loops.append(tuple(on[np.argsort(turn)].tolist()))
    owners: dict[tuple[int, int], list[int]] = {}
    for face, loop in enumerate(loops):
        for u, w in zip(loop, (*loop[1:], loop[0]), strict=True):
            owners.setdefault((min(u, w), max(u, w)), []).append(face)
    odd = [edge for edge, faces in owners.items() if len(faces) != 2]
    if odd:
        raise InputError(
            "the faces of a convex hull do not close; leave out points that are closer than rounding to another one"
        )
    return Polyhedron(
        vertices, tuple(loops), normals, offsets, np.array(list(owners), dtype=int), np.array(list(owners.values()))
    )
