"""Points of the rims of cylinders that stand on flat faces, and corners and round ends of others on cylinders.

A disc that lies flat on a face touches with all of itself; corners of a polygon on its rim hold it. While it is tilted
its rim touches, see `rims`, and these points are raised by the tilt, so that none fires where the rim passes it.
"""

from __future__ import annotations

from dataclasses import field
from functools import cached_property

import numpy as np

from ...common.arrays import Array
from ...common.lazy import dataclass
from ..zero import FLAT, ROUND_RIM, SUNK
from .cylinders import SIDE, Drum, Taper
from .edges import RISE
from .features import CONE, Place, PointOnSolid, dot, turned, turned_back
from .hulls import Hull
from .rims import Z
from .shapes import Block, Region

TILT = -CONE  # side of a region at which a disc that stands is tilted off its points
STANDS = 2.0  # tilt at which closed points of a disc end, in units of that at which open ones begin to hold it


@dataclass(frozen=True, eq=False)
class StandingPoint(PointOnSolid):
    """A point of the rim of A on which it stands on a plane face of B, raised by RISE times the tilt beyond `flat`.

    A closed one ends at STANDS times that tilt. Elsewhere on B it does not touch: the gap is how far the point is from
    the planes of the faces, raised likewise.

    Attributes:
        axis: outward from the end of A that stands (3,), in axes of A.
        flat: tilt up to which points hold the disc, see `Circle.flat` [rad].
    """

    axis: Array = field(default_factory=lambda: -Z)
    flat: float = FLAT
    extent_a: float = RISE

    @cached_property
    def planes(self) -> tuple[Array, Array]:
        """Outward normals n (F, 3) and offsets d (F,) of the faces of B, n . x <= d inside."""
        if isinstance(self.shape, Hull):
            return self.shape.solid.normals, self.shape.solid.offsets
        if isinstance(self.shape, Block):
            return np.vstack([np.eye(3), -np.eye(3)]), np.tile(self.shape.half, 2)
        if isinstance(self.shape, Drum):
            return np.array([Z, -Z]), np.full(2, self.shape.half)
        if isinstance(self.shape, Taper):
            return -Z[None], np.full(1, self.shape.half)
        return Z[None], np.zeros(1)

    def raised(self, place: Place, normal: Array) -> Array:
        """By how much (...) [m], over faces of B with normals (..., 3) in axes of B."""
        outward = place.R_b.T @ (place.R_a @ self.axis)
        return np.asarray(RISE * np.maximum(0.0, np.linalg.norm(normal + outward, axis=-1) - self.flat))

    @property
    def raises(self) -> bool:
        """While the disc is tilted."""
        return True

    def met_gap(self, place: Place) -> float:
        """The distance from the face before which it is, whatever the tilt; else the open one."""
        region = self.region(place)
        return float(self.gap(place, region)) if self.shape.faced(region) else self.open_gap(place)

    def sides(self, region: Region) -> tuple[int, ...]:
        """Those of the solid, and the tilt."""
        return (*super().sides(region), TILT)

    def margin(self, place: Place, region: Region, side: int) -> Array:
        """Of the tilt: how far it is from where points cease to hold the disc [rad]."""
        if side != TILT:
            return super().margin(place, region, side)
        p, axis = turned_back(place.R_b, place.o_a - place.o_b), turned(place.R_a, self.axis)
        leaning = turned(place.R_b, self.shape.normal(p, region)) + axis
        square = dot(leaning, leaning)[..., 0]
        return np.asarray(STANDS * self.flat - np.where(square.real > 0.0, np.sqrt(square + (square.real == 0.0)), 0.0))

    def beyond(self, region: Region, side: int) -> Region | None:
        """None behind the tilt: others take over."""
        return None if side == TILT else super().beyond(region, side)

    def _stands(self, place: Place, region: Region) -> bool:
        if not self.shape.faced(region):
            return False
        return float(self.raised(place, self.shape.normal(place.R_b.T @ (place.o_a - place.o_b), region))) == 0.0

    def open_gap(self, place: Place) -> float:
        """The distance from the face on which it stands, else see `standing_gaps`."""
        region = self.region(place)
        if self._stands(place, region):
            return float(self.gap(place, region))
        (normals, offsets), p = self.planes, place.R_b.T @ (place.o_a - place.o_b)
        aside = np.asarray(np.linalg.norm(p[:2]) - self.width)
        return float(standing_gaps(normals @ p - offsets, self.raised(place, normals), aside))

    @property
    def width(self) -> float:
        """Radius of B, if it is a cylinder or cone [m]; of others the faces say all."""
        return self.shape.radius if isinstance(self.shape, Drum | Taper) else np.inf

    def piece(self, place: Place, region: Region) -> Region | None:
        """That of the solid, while A stands."""
        return super().piece(place, region) if self._stands(place, region) else None


def standing_gaps(above: Array, raised: Array, aside: Array) -> Array:
    """Least distance (...) of points from standing on faces, from how far (..., F) they are above these, and raised.

    A point on the plane of a face, or as little below it as contacts may start, touches it where it is not above any
    other one, nor `aside` (...) of a cylinder.
    """
    outside = np.maximum(above.max(axis=-1), aside)[..., None]
    apart = np.where((outside <= 0.0) & (above > -SUNK), above, np.maximum(np.abs(above), outside))
    return np.asarray((apart + raised).min(axis=-1))


@dataclass(frozen=True, eq=False)
class CornerOnRound(PointOnSolid):
    """A corner of a box or hull, or a round end of a capsule, on a cylinder or cone.

    On the side of that edges of A take over.
    """

    @property
    def takes_over(self) -> bool:
        """Always."""
        return True

    def _local(self, place: Place) -> Array:
        return turned_back(place.R_b, place.o_a - place.o_b)

    def margin(self, place: Place, region: Region, side: int) -> Array:
        """Towards an edge of A on the side of B: the way to its point nearest to the axis of B, as with other cores."""
        found = super().margin(place, region, side)
        if side < CONE or region[0] != SIDE:
            return found
        assert isinstance(self.shape, Drum | Taper)
        p = self._local(place)
        n, edge = turned(place.R_b, self.shape.normal(p, region)), turned(place.R_a, self.edges[side - CONE])
        return self.shape.side_radius(p) * dot(n, edge)[..., 0] + ROUND_RIM

    def bend(self, place: Place, speed: float, spin: float, duration: float) -> float:
        """See `bend_on_taper`."""
        return bend_on_taper(self, place, speed, duration)


def bend_on_taper(pair: PointOnSolid, place: Place, speed: float, duration: float) -> float:
    """Of a point or sphere: a point is about the side of a cone as far as it is from the axis; it may come nearer."""
    shape = pair.shape
    if pair.rounding > 0.0 or not isinstance(shape, Taper):
        return shape.curvature(pair.rounding) * speed * speed
    if shape.faced(pair.region(place)):
        return 0.0
    left = float(shape.side_radius(place.R_b.T @ (place.o_a - place.o_b))) - speed * duration
    return speed * speed / left if left > 0.0 else np.inf


@dataclass(frozen=True, eq=False)
class ConeTip(PointOnSolid):
    """The tip of a cone: on what is round its side takes over where the normal leaves those of the tip.

    On a flat face it takes over where a cone that lies there slides over the edge.

    Attributes:
        axis: from the tip into the cone (3,), in axes of A.
        sine: of half the angle at the tip.
    """

    axis: Array = field(default_factory=lambda: -Z)
    sine: float = 0.0

    @property
    def takes_over(self) -> bool:
        """Always."""
        return True

    def sides(self, region: Region) -> tuple[int, ...]:
        """Those of the solid, then the side of the cone on what is round."""
        own = self.shape.sides(region)
        return (*own, CONE) if self.rounding > 0.0 or self._on_side(region) else own

    def _on_side(self, region: Region) -> bool:
        """Whether that of B is the side of a cylinder or cone."""
        return isinstance(self.shape, Drum | Taper) and region[0] == SIDE

    def margin(self, place: Place, region: Region, side: int) -> Array:
        """Towards the side: the way along it, where it falls most, to its point nearest to the core of B."""
        if side != CONE:
            return super().margin(place, region, side)
        p, axis = turned_back(place.R_b, place.o_a - place.o_b), turned(place.R_a, self.axis)
        n = turned(place.R_b, self.shape.normal(p, region))
        h = dot(n, axis)
        across = dot(n - h * axis, n - h * axis)
        falls = self.sine * np.sqrt(np.where(across.real > 0.0, across, 0.0))
        slope = np.sqrt(1.0 - self.sine**2) * h - falls
        if self._on_side(region):
            assert isinstance(self.shape, Drum | Taper)
            return self.shape.side_radius(p) * slope[..., 0] + ROUND_RIM
        return (self.shape.distance(p, region) + self.shape.rounding) * slope[..., 0] + ROUND_RIM

    def bend(self, place: Place, speed: float, spin: float, duration: float) -> float:
        """See `bend_on_taper`."""
        return bend_on_taper(self, place, speed, duration)
