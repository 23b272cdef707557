"""How deep bodies are inside each other and in the ground, by their shapes alone: no contact or mode is asked.

The depth is the length of the least shift that parts two bodies, see `convex`; in a plane it is that of the lowest
point. Shapes whose surrounding balls are apart are not looked at; Coal and Newton's method look at the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from ...common.arrays import Array
from ...common.lazy import lazy
from ...common.telling import tell
from ..contact_point import perpendicular
from ..mechanism import GROUND, Overlap
from ..robot_model import RobotModel
from ..terrain import Terrain
from ..zero import LEAST_HUMP
from .bodies import Bodies, PlacedShape, bodies_of, depths_between
from .closest_points.equations import Pose
from .closest_points.features import Circle, Feature
from .convex import Convex, Flat, Round

SHARES = np.arange(1, 8) / 8.0  # of the way between two vertices at which curved ground is looked at
AROUND = 24  # lines of a side at which curved ground is looked at
SHOWN = 4  # names that a warning lists
MANY = 32  # vertices of a hull between which all ways are looked at


class Overlaps:
    """The depths of what is watched of a robot.

    Args:
        bodies: its shapes.
    """

    def __init__(self, bodies: Bodies) -> None:
        self._bodies = bodies
        self._joints = np.array([shape.joint for shape in bodies.shapes], dtype=int)
        self._turns = np.array([shape.placement.rotation for shape in bodies.shapes]).reshape(-1, 3, 3)
        self._shifts = np.array([shape.placement.translation for shape in bodies.shapes]).reshape(-1, 3)
        asked = {k for pair in bodies.pairs for k in pair} | set(bodies.above_ground)
        watched = {k for k in asked if not bodies.shapes[k].half_space}
        middles = [s.body.middle if k in watched else np.zeros(3) for k, s in enumerate(bodies.shapes)]
        self._middles = np.array(middles).reshape(-1, 3, 1)
        self._reach = np.array([s.body.reach if k in watched else np.inf for k, s in enumerate(bodies.shapes)])
        self._pairs = np.array(bodies.pairs, dtype=int).reshape(-1, 2)
        self._above = np.array(bodies.above_ground, dtype=int)

    def found(self, times: Array, turns: Array, places: Array, terrain: Terrain) -> Iterator[Overlap]:
        """Those that are inside each other or in the ground at times (k,).

        Args:
            times: [s].
            turns, places: axes (k, joints, 3, 3) and origins (k, joints, 3) of the joints there.
            terrain: the ground.
        """
        if not len(self._pairs) + len(self._above):
            return
        R, o = turns[:, self._joints], places[:, self._joints]
        R, o = R @ self._turns, (R @ self._shifts[..., None])[..., 0] + o
        middles = (R @ self._middles)[..., 0] + o
        a, b = self._pairs.T
        near = np.linalg.norm(middles[:, a] - middles[:, b], axis=2) < self._reach[a] + self._reach[b]
        for pair in np.flatnonzero(near.any(axis=0)).tolist():
            (i, j), some = self._pairs[pair].tolist(), near[:, pair]
            poses = Pose(R[some, i], o[some, i]), Pose(R[some, j], o[some, j])
            for depth in depths_between(self._shapes(i, j), poses).tolist():
                yield from self._overlap(i, j, depth)
        if not len(self._above):
            return
        for some in np.arange(len(times))[:, None] if terrain.moving else (np.arange(len(times)),):
            yield from self._in_ground(float(times[some[0]]), R[some], o[some], middles[some], terrain)

    def _in_ground(self, t: float, R: Array, o: Array, middles: Array, terrain: Terrain) -> Iterator[Overlap]:
        """Those in the ground where shapes have axes (k, shapes, 3, 3), origins and middles (k, shapes, 3)."""
        low = self._low(t, middles, terrain)
        for at, shape in enumerate(self._above.tolist()):
            some = np.flatnonzero(low[:, at])
            if len(some):
                placed = R[some, shape], o[some, shape], middles[some, shape]
                for depth in self._depths(shape, *placed, terrain, t).tolist():
                    yield from self._overlap(shape, None, depth)

    def _low(self, t: float, middles: Array, terrain: Terrain) -> Array:
        """Whether the balls around shapes above ground touch it (k, above)."""
        centres = middles[:, self._above]
        none = np.zeros(centres.shape[:2])  # a ball as large as a body may not fit into the hollows
        gaps = terrain.gaps(t, centres.reshape(-1, 3), none.ravel())
        return np.asarray(terrain.at_least(gaps, none.ravel()).reshape(none.shape) < self._reach[self._above])

    def _depths(self, k: int, R: Array, o: Array, middles: Array, terrain: Terrain, t: float) -> Array:
        """Depths (k,) [m] of a shape in the ground; on curved ground those of some of its points, at least."""
        normal = terrain.constant_normal()
        if normal is not None:
            heights = terrain.gaps(t, middles, np.zeros(len(middles)))
            return np.asarray(self._bodies.shapes[k].body.support(-normal @ R) - (middles - o) @ -normal - heights)
        points, radius = self._looked_at[k]
        if not len(points):
            return np.full(len(o), -1.0)
        return _deepest(terrain, t, points @ R.swapaxes(1, 2) + o[:, None], radius)

    @lazy
    def _looked_at(self) -> dict[int, tuple[Array, float]]:
        """Of each shape above ground the points at which curved ground is looked at."""
        return {k: _looked_at(self._bodies.shapes[k].body) for k in self._bodies.above_ground}

    def _shapes(self, i: int, j: int) -> tuple[PlacedShape, PlacedShape]:
        return self._bodies.shapes[i], self._bodies.shapes[j]

    def _overlap(self, i: int, j: int | None, depth: float) -> Iterator[Overlap]:
        if depth > 0.0:
            one, two = self._bodies.shapes[i], None if j is None else self._bodies.shapes[j]
            names = (one.name, GROUND) if two is None else (one.name, two.name)
            yield Overlap(*names, (one.joint, 0 if two is None else two.joint), depth)


def warn_of_humps(robot: RobotModel, terrain: Terrain, whole: bool) -> None:
    """Warn of bodies on ground that is curved of which edges, sides or faces do not meet the humps below them.

    Over a length L a hump of curvature k rises by k L^2 / 8. Bodies with more contact points than corners are left out.

    Args:
        robot, terrain: what is on what.
        whole: whether edges and faces meet hills where they can; compliant laws push at contact points alone.
    """
    from .hill_pieces import carried, more_humps

    bodies, met = bodies_of(robot), carried(robot, terrain) if whole else []
    known = {body.shape.name for body in met if body.core is not None}  # the sides of others may sink
    points = Counter(point.frame for point in robot.contacts)
    straight = [shape for k in bodies.above_ground if _corners(shape := bodies.shapes[k])]
    for shape in straight:
        points[shape.frame] -= _corners(shape)
    left = [shape for shape in straight if shape.name not in known and (shape.rimmed or points[shape.frame] <= 0)]
    growth = terrain.growth(0.0, 0.0, np.zeros(1))
    bend = np.inf if growth is None else float(growth.curvature[0])
    deepest = max((min(0.5 * bend * shape.body.reach, 1.0) * shape.body.reach for shape in left), default=0.0)
    if deepest > LEAST_HUMP:
        tell(
            f"the ground is curved, and of {_listed(left)} only the corners, ends or rims touch it: edges, sides and"
            f" faces may sink into humps between them, by up to {deepest:.2g} m where it bends most, as the check of a"
            " run measures; give them contact points between their corners by robot.with_contacts,"
            " or take ellipsoids, which touch with their whole surface",
        )
    if crowded := more_humps(met, terrain):
        tell(
            f"edges and faces of {_listed(crowded)} are long for the waves of the ground, and meet the highest hump"
            " below each piece of them alone; the check of a run measures by how much they sink into others",
        )


def _listed(shapes: Sequence[PlacedShape]) -> str:
    """Names of some shapes."""
    return ", ".join(f"'{shape.name}'" for shape in shapes[:SHOWN]) + (", ..." if len(shapes) > SHOWN else "")


def _corners(shape: PlacedShape) -> int:
    """How many corners, ends or rims a body with straight edges or sides has; none of balls and ellipsoids."""
    if isinstance(shape.hull, Flat):
        return len(shape.hull.vertices)
    return len(shape.hull.pieces) if isinstance(shape.hull, Round) and len(shape.hull.pieces) > 1 else 0


def _deepest(terrain: Terrain, t: float, points: Array, radius: float) -> Array:
    """By how much the lowest of points (k, n, 3), each rounded by a radius, are in curved ground (k,) [m]."""
    flat = points.reshape(-1, 3)
    depths = np.full(len(flat), -1.0)  # of what is not below the surface nothing more is asked
    inside = np.arange(len(flat)) if radius > 0.0 else np.flatnonzero(terrain.may_cover(t, flat))
    if len(inside):
        depths[inside] = -terrain.gaps(t, flat[inside], np.full(len(inside), radius))
    return np.asarray(depths.reshape(points.shape[:2]).max(axis=1))


def _looked_at(body: Convex) -> tuple[Array, float]:
    """Points (k, 3) of a body between those with which it touches, and by how much it is rounded there [m].

    None of balls and ellipsoids, which touch with their whole surface.
    """
    if isinstance(body, Flat):
        return _within(body), 0.0
    if not isinstance(body, Round) or len(body.pieces) != 2:
        return np.zeros((0, 3)), 0.0
    one, two = (_around(piece) for piece in body.pieces)
    sides = one + SHARES[:, None, None] * (two - one)
    discs = [piece for piece in body.pieces if isinstance(piece, Circle)]
    if not discs:
        return sides[:, 0], body.pieces[0].offset
    faces = [disc.centre + share * (_around(disc) - disc.centre) for disc in discs for share in (0.0, *SHARES)]
    return np.concatenate([sides.reshape(-1, 3), *faces]), 0.0


def _around(piece: Feature) -> Array:
    """Points (AROUND, 3) of a circle, or a point as often."""
    if not isinstance(piece, Circle):
        return np.tile(piece.centre, (AROUND, 1))
    along, angles = perpendicular(piece.axis), 2.0 * np.pi * np.arange(AROUND)[:, None] / AROUND
    return np.asarray(piece.centre + piece.radius * (np.cos(angles) * along[0] + np.sin(angles) * along[1]))


def _within(body: Flat) -> Array:
    """Points (k, 3) between the vertices of a hull: on its edges; of one with few vertices on all diagonals."""
    count = len(body.vertices)
    ends = np.array(np.triu_indices(count, 1)).T if count <= MANY else body.ridges
    p, q = body.vertices[ends[:, 0]], body.vertices[ends[:, 1]]
    return np.asarray((p[:, None] + SHARES[:, None] * (q - p)[:, None]).reshape(-1, 3))
