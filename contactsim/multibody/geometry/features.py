"""The contract of a contact between two bodies: a feature of a solid A that meets a feature of a solid B, or all of it.

Both solids have axes of their own, at (R_a, o_a) and (R_b, o_b) in the world. A pair of features says where it touches
and along which normal (from B to A), and how fast both change, from the motion of the two bodies; all else of a contact
(rows, velocities, accelerations and their derivatives) follows from these in the same way for all shapes: see
`pair_kinematics`.

    gap g(place),    meet(bodies) -> (x, x', n, n')

must be analytic where `region` is held: `pair_kinematics` differentiates them by complex steps. What is known only as
the root of equations is found in real numbers; one step of Newton's method in complex ones then gives its derivative.
With region guards a pair says where the point of contact leaves its features.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from dataclasses import field
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ...common.arrays import Array
from ...common.lazy import dataclass
from ..kinematics.plane_ground import EPS
from ..zero import OFF, RIM, ROUND_RIM
from .closest_points.equations import Pose
from .shapes import Region, Shape

CONE = 100  # sides of a region at which a normal leaves those of a corner: this many, and the number of an edge there
NO_EDGES = np.zeros((0, 3))
KEPT = 16  # keys of which what was found is kept
Found = TypeVar("Found")


class Place(NamedTuple):
    """Where both solids are; any leading axes.

    Attributes:
        R_a, o_a: axes (..., 3, 3) and origin (..., 3) of A in the world.
        R_b, o_b: those of B.
    """

    R_a: Array
    o_a: Array
    R_b: Array
    o_b: Array


class Bodies(NamedTuple):
    """Motion of the two bodies of a pair; each a number array with any leading axes.

    Attributes:
        R_a, o_a, R_b, o_b: as of `Place`.
        V_a, V_b: spatial velocities (..., 6), linear first, at the world's origin.
        A_a, A_b: spatial accelerations (..., 6).
    """

    R_a: Array
    o_a: Array
    R_b: Array
    o_b: Array
    V_a: Array
    V_b: Array
    A_a: Array
    A_b: Array


def one_of(place: Place | Bodies) -> Place:
    """The place around which others are, with leading axes and complex steps."""
    lead = place.o_a.shape[:-1]
    return Place(*(part.real.reshape(-1, *part.shape[len(lead) :])[0] for part in place[:4]))


def poses_of(place: Place | Bodies) -> tuple[Pose, Pose]:
    """Those of A and B."""
    return Pose(place.R_a, place.o_a), Pose(place.R_b, place.o_b)


def key_of(place: Place) -> bytes:
    """By which what was found at one place is known."""
    return b"".join(np.asarray(part).tobytes() for part in place)


class Recent(dict[Hashable, Found]):
    """What was found last, by keys: gaps, regions, margins, rows and frames ask for the same places."""

    def of(self, key: Hashable, find: Callable[[], Found]) -> Found:
        """What is known of a key; else what is found now, which is kept."""
        found = self.get(key)
        if found is None:
            found = find()
            if len(self) >= KEPT:
                self.clear()
            self[key] = found
        return found


class Meet(NamedTuple):
    """Where and along which normal two bodies touch: point x (..., 3) on A, unit normal n from B to A, and rates."""

    x: Array
    x_rate: Array
    n: Array
    n_rate: Array


def crossing(a: Array) -> Array:
    """The matrix (..., 3, 3) of a x."""
    return (a @ EPS).reshape(*a.shape, 3)


def cross(a: Array, b: Array) -> Array:
    """a x b along the last axis."""
    return (crossing(a) @ b[..., None])[..., 0]


def turned(matrix: Array, vector: Array) -> Array:
    """R v."""
    return (matrix @ vector[..., None])[..., 0]


def turned_back(matrix: Array, vector: Array) -> Array:
    """R^T v."""
    return (vector[..., None, :] @ matrix)[..., 0, :]


def dot(a: Array, b: Array) -> Array:
    """a . b (..., 1)."""
    return np.asarray(np.add.reduce(a * b, axis=-1, keepdims=True))


def at(motion: Array, point: Array) -> Array:
    """Velocity (..., 3) of the material at a point, from a spatial velocity at the world's origin."""
    return motion[..., :3] + cross(motion[..., 3:], point)


class FeaturePair(ABC):
    """A feature of A that meets B: one contact, smooth while its region is held.

    Attributes:
        radius_a: how far the surface of A lies from the point that the pair is computed with [m].
        extent_a: largest distance of what touches of A from the origin of A [m].
        extent_b: that of B from the origin of B; None: it has no end.
        holds: whether a closed one is held in its region under laws that give way, too, up to the sides of that.
    """

    radius_a: float
    extent_a: float
    extent_b: float | None
    holds = False

    @property
    def passing(self) -> bool:
        """Whether it is told of while it is closed only, as it passes; its open gap jumps where others are nearer."""
        return False

    @property
    def kinked(self) -> bool:
        """Whether its open gap jumps or bends sharply."""
        return self.passing

    @property
    def is_distance(self) -> bool:
        """Whether its open gap is lost no faster than points of its bodies approach each other, wherever they are."""
        return False

    @property
    def one_region(self) -> bool:
        """Whether there is one region only."""
        return type(self).region is FeaturePair.region

    @property
    def takes_over(self) -> bool:
        """Whether it takes over from others of its bodies at one point and normal, and they from it."""
        return False

    @abstractmethod
    def gap(self, place: Place, region: Region) -> Array:
        """Distance (...) [m], negative inside; smooth in a region, beyond the end of it as well."""

    @abstractmethod
    def meet(self, bodies: Bodies, region: Region) -> Meet:
        """Point and normal of contact, and their rates."""

    def region(self, place: Place) -> Region:
        """The region in which the pair is, of one place; () where there is one only."""
        return ()

    def open_region(self, place: Place) -> Region:
        """That in which it is met while it is open."""
        return self.region(place)

    def open_gap(self, place: Place) -> float:
        """The gap of a pair that is open, of one place: zero or negative only where the features touch or overlap."""
        return float(self.gap(place, self.region(place)))

    def sides(self, region: Region) -> tuple[int, ...]:
        """Names of the sides on which a region can be left."""
        return ()

    def margin(self, place: Place, region: Region, side: int) -> Array:
        """How far (...) the point of contact is from leaving its region on a side [m]."""
        raise NotImplementedError

    def beyond(self, region: Region, side: int) -> Region | None:
        """The region behind a side; None where the contact ends there."""
        return None

    def piece(self, place: Place, region: Region) -> Region | None:
        """Key of the piece on which the open gap is `gap`, with the bound of its bend; None: it is not, or has none."""
        return ()

    @property
    def raises(self) -> bool:
        """Whether its open gap is raised where it does not act, down to where it does."""
        return False

    def lifted(self, place: Place) -> bool:
        """Whether its open gap is raised at one place, where it could touch else."""
        return False

    @property
    def ends_edges(self) -> bool:
        """Whether edges begin at it that can be too straight to act between their ends."""
        return False

    def runs_along(self, place: Place) -> Array | None:
        """Direction (3,) of an edge that is one with its ends, as it is nearly too straight to act; None of others."""
        return None

    def met_gap(self, place: Place) -> float:
        """The gap of one place as it goes on from where it is met: not raised."""
        return self.open_gap(place)

    def bend(self, place: Place, speed: float, spin: float, duration: float) -> float:
        """Bound of what the second derivative of the gap has besides the accelerations of the bodies.

        Args:
            place: where a step begins.
            speed: bound of the relative velocity of the points that touch [m/s].
            spin: bound of the relative angular velocity [rad/s].
            duration: of the step [s].
        """
        return 0.0


class PassingPair(FeaturePair):
    """Features that are told of while they are closed only: elsewhere others are nearer, which hand over to them."""

    @property
    def passing(self) -> bool:
        """Always."""
        return True

    @property
    def takes_over(self) -> bool:
        """Always."""
        return True


@dataclass(frozen=True, eq=False)
class PointOnSolid(FeaturePair):
    """A sphere or point at the origin of A against a solid.

    A corner of A ends as a contact where its normal leaves those of the corner: an edge of A touches there instead.

    Attributes:
        shape: the distance function of B.
        radius: of the sphere.
        inner: centre (3,) of the body of a point, in axes of A; it decides between faces that are as near.
        edges: directions (k, 3) of the edges of A that lead away from it, in axes of A; none of a sphere of its own.
        corners: whether it meets the corners of B; the other contact of both is the one that counts.
    """

    shape: Shape
    radius: float
    inner: Array
    extent_a: float = 0.0
    edges: Array = field(default_factory=lambda: NO_EDGES)
    corners: bool = True

    @property
    def passing(self) -> bool:
        """Where it does not meet corners."""
        return not self.corners

    @property
    def kinked(self) -> bool:
        """Where corners do not count, and of a point without radius, which a face holds up to RIM beyond its edge."""
        return self.passing or (self.rounding == 0.0 and self.shape.extent is not None)

    @property
    def is_distance(self) -> bool:
        """Always: it is a distance, but for OFF."""
        return True

    @property
    def one_region(self) -> bool:
        """Where the solid has one."""
        return type(self.shape).region is Shape.region

    @property
    def takes_over(self) -> bool:
        """Where edges of A take over from it: of what is rounded, and where a sharp corner slides over an edge."""
        return len(self.edges) > 0 or (self.rounding == 0.0 and self.shape.extent is not None)

    @property
    def rounding(self) -> float:
        """Distance at which the cores of both touch [m]."""
        return self.radius + self.shape.rounding

    @property
    def radius_a(self) -> float:  # type: ignore[override]
        """That of the sphere."""
        return self.radius

    @property
    def extent_b(self) -> float | None:  # type: ignore[override]
        """That of the solid."""
        return self.shape.extent

    def gap(self, place: Place, region: Region) -> Array:
        """phi(R_b^T (o_a - o_b)) - r."""
        return self.shape.distance(turned_back(place.R_b, place.o_a - place.o_b), region) - self.radius

    def meet(self, bodies: Bodies, region: Region) -> Meet:
        """n = R_b grad phi, x = o_a - r n; n' = w_B x n + R_b H R_b^T y with the velocity y of o_a relative to B."""
        c, R, w = bodies.o_a, bodies.R_b, bodies.V_b[..., 3:]
        p = turned_back(R, c - bodies.o_b)
        y = at(bodies.V_a - bodies.V_b, c)
        n = turned(R, self.shape.normal(p, region))
        n_rate = cross(w, n) + turned(R, self.shape.normal_rate(p, turned_back(R, y), region))
        return Meet(c - self.radius * n, at(bodies.V_a, c) - self.radius * n_rate, n, n_rate)

    def region(self, place: Place) -> Region:
        """That of the solid; of a point without radius `inner` has a say in it."""
        p = place.R_b.T @ (place.o_a - place.o_b)
        if self.rounding > 0.0:
            return self.shape.region(p)
        return self.shape.region(p, place.R_b.T @ (place.o_a + place.R_a @ self.inner - place.o_b))

    def open_gap(self, place: Place) -> float:
        """The distance; with OFF where it meets a corner that does not count."""
        region = self.region(place)
        return float(self.gap(place, region)) + (0.0 if self._counts(region) else OFF)

    def _counts(self, region: Region) -> bool:
        return self.corners or not self.shape.cornered(region)

    def sides(self, region: Region) -> tuple[int, ...]:
        """Those of the solid, then the edges of A; these lie apart where a plane face touches the corner."""
        own = self.shape.sides(region)
        if not len(self.edges) or self.shape.faced(region):
            return own
        return (*own, *(CONE + k for k in range(len(self.edges))))

    def margin(self, place: Place, region: Region, side: int) -> Array:
        """That of the solid; a point without radius is held RIM beyond the edge of a face.

        Towards an edge of A with the direction e: the way d (n . e) to the point of that edge which is nearest to the
        core of B, at the distance d, and ROUND_RIM beyond it.
        """
        p = turned_back(place.R_b, place.o_a - place.o_b)
        if side >= CONE:
            edge = turned(place.R_a, self.edges[side - CONE])
            n = turned(place.R_b, self.shape.normal(p, region))
            return (self.shape.distance(p, region) + self.shape.rounding) * dot(n, edge)[..., 0] + ROUND_RIM
        if self.rounding == 0.0:
            return self.shape.margin(p, region, side, RIM)
        return self.shape.margin(p, region, side, ROUND_RIM if self.beyond(region, side) is None else 0.0)

    def beyond(self, region: Region, side: int) -> Region | None:
        """That behind the side; None where a point without radius runs off the edge of a face, or a corner ends."""
        if self.rounding == 0.0 or side >= CONE:
            return None
        found = self.shape.beyond(region, side)
        return found if self._counts(found) else None

    def piece(self, place: Place, region: Region) -> Region | None:
        """That of the solid."""
        return self.shape.piece(region, self.rounding) if self._counts(region) else None

    def bend(self, place: Place, speed: float, spin: float, duration: float) -> float:
        """Curvature of the distance times the square of the speed."""
        return self.shape.curvature(self.rounding) * speed * speed


@dataclass(frozen=True)
class PairShape:
    """Two features that can touch, on the joints that move them.

    Attributes:
        name: of the contact.
        joint_a, placement_a: joint of solid A, and where its axes are there (pin.SE3).
        joint_b, placement_b: likewise of B.
        features: what of A meets what of B.
        always: whether they touch wherever they meet.
    """

    name: str
    joint_a: int
    placement_a: Any
    joint_b: int
    placement_b: Any
    features: FeaturePair
    always: bool = True
