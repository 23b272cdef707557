"""Ends of cylinders and cones against hills: their rims, whole or in sectors, and the faces inside them.

A rim is an edge that is bent, x = o + R (c + r e(s)) with the unit vector e across the axis a, the way s along it and
t = e', e'' = -e / r^2. What is said in `hill_features` holds of it with A = t and, since t turns,

    M = t H t - (e . N) / r,    (t . N)' = (w x t) . N + t H v + M s'.

Its points of least distance are all that a disc touches smooth hills with, but for humps inside of it: there is one
below each of the discs that are much tilted, there are two where one stands on a ridge or in a valley, more on waves
that are shorter than it. So a rim is cut into sectors, each with a point of its own, which hand over to each other
where they meet. With b = r k, where k is the largest curvature of the ground, N turns by no more than 2 b |sin(f / 2)|
over the angle f of a rim: where at a least distance -e . N = S is 1 / 0.28 of b or more, -e . N at the next one would
be less than -b, where none is. So from S = ALONE b on a rim is one contact, whole, that rolls without events.

Into its face the distance rises by -e . N, into the side of a cylinder by -a . N, into that of a cone, with the sine c
and the cosine b of the angle between it and its axis, by -(b a + c e) . N: where these vanish they take over.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from ...common.arrays import Array
from ...common.lazy import dataclass
from ..zero import RIM
from .features import Place, turned
from .hill_features import BENT, LATER, FlatOnHills, Settled
from .nearest_on_hills import Nearest, Search
from .plain_flats import PlainDisc, PlainFlat
from .shapes import Region

ALONE = 4.0  # tilts in units of r k from which on a rim has one nearest point
WHOLE = 0.8  # tilt up to which that may be; rims for which it is more are always cut
SAME = 1.0 - 1e-9  # share of half a sector from which on a sample is an end of it
TINY = 1e-6  # rad: turns of normals about which nothing is said
TILT = 50  # side on which a rim becomes one, or is cut
ROUND = 1  # side on which a face ends at its rim


@dataclass(frozen=True, eq=False)
class ArcOnHills(FlatOnHills):
    """A rim, or a sector of it; `along` is t in its middle, from where s counts.

    Attributes:
        axis: a of its disc (3,), outward, in axes of A; `centre` is that of the disc.
        rim: its radius r [m].
        alone: tilt from which on a rim touches whole, and below which its sectors do; None: they always do.
        side: sine c of the angle between the side of its body and the axis; None: that does not meet the ground.
    """

    axis: Array = None  # type: ignore[assignment]
    rim: float = 1.0
    alone: float | None = None
    side: float | None = None

    def plain(self) -> PlainFlat:
        """Itself as plain data."""
        disc = PlainDisc(self.axis, self.rim, self.alone, self.side, np.zeros(2))
        return super().plain()._replace(kind="arc", disc=disc)

    @cached_property
    def middle(self) -> Array:
        """e in its middle (3,), in axes of A."""
        return np.asarray(np.cross(self.along[0], self.axis))

    def _turned(self, way: Array) -> tuple[Array, Array]:
        """e and t (..., 3) at ways (..., 1), in axes of A."""
        angle = way / self.rim
        C, S = np.cos(angle), np.sin(angle)
        return C * self.middle + S * self.along[0], C * self.along[0] - S * self.middle

    @cached_property
    def points(self) -> Array:
        """The samples (n, 3), in axes of A."""
        return np.asarray(self.centre + self.rim * self._turned(self.samples)[0])

    @cached_property
    def extent_a(self) -> float:  # type: ignore[override]
        """That of its disc."""
        return float(np.linalg.norm(self.centre)) + self.rim

    @cached_property
    def ball(self) -> tuple[Array, float]:
        """Around its samples, with what lies between them."""
        middle, span = super().ball
        return middle, span + self.rim * (1.0 - float(np.cos(self.spacing / self.rim)))

    @cached_property
    def sag(self) -> float:
        """By how much it may be nearer to the ground between samples: it bends itself, too [m]."""
        return super().sag + 0.5 * self.spacing**2 / self.rim

    @property
    def whole(self) -> bool:
        """Whether it has no ends."""
        return not len(self.room)

    @cached_property
    def runs(self) -> Array:
        """t (n, 1, 3) at the samples, in axes of A."""
        return self._turned(self.samples)[1][:, None]

    @cached_property
    def ways(self) -> Array:
        """Ways (n, n, 1) from each of the samples to each, the short ones around a rim."""
        ways, around = super().ways, 2.0 * np.pi * self.rim
        return np.asarray(ways - around * np.round(ways / around)) if self.whole else ways

    def leads(self, place: Place, search: Search, k: int) -> bool:
        """Not where the tilt leaves it to others, nor from an end of a sector beyond which the rim is lower.

        Normals below samples differ from those at the nearest points by no more than k times the height.
        """
        curvature = self.ground.curvature
        n, doubt = search.normals[k] @ place.R_a, curvature * abs(search.gaps[k]) + TINY
        size, span = float(np.linalg.norm(n - (n @ self.axis) * self.axis)), self.spacing if self.whole else self.half
        if self.whole:
            return self.alone is None or size + doubt + 2.0 * curvature * span >= self.alone
        if self.alone is not None and size - doubt - 2.0 * curvature * span > self.alone:
            return False
        way = search.starts[k]
        inward = -np.sign(way[0]) * float(n @ self._turned(way)[1])
        return abs(way[0]) < self.half * SAME or inward <= doubt

    @property
    def half(self) -> float:
        """Half of its length [m]."""
        return float(self.room[0])

    def laid(self, R: Array, way: Array) -> tuple[Array, Array]:
        """t (..., 1, 3) in the world at ways (..., 1), and the points there from the origin of A (..., 3)."""
        e, t = self._turned(way)
        return turned(R, t)[..., None, :], turned(R, self.centre + self.rim * e)

    def bent(self, R: Array, way: Array, along: Array, normal: Array, hessian: Array) -> Array:
        """With what is due to the bend of the rim itself."""
        e = turned(R, self._turned(way)[0])
        return super().bent(R, way, along, normal, hessian) - ((e * normal).sum(axis=-1) / self.rim)[..., None, None]

    def _onward(self, R: Array, way: Array) -> list[Array]:
        e = self._turned(way)[0]
        inward = [-e] if self.side is None else [-e, -np.sqrt(1.0 - self.side**2) * self.axis - self.side * e]
        return [turned(R, direction) for direction in inward]

    def _free(self, settled: Settled, place: Place) -> bool:
        if self.alone is not None:
            beyond = float(self._tilt(settled, place.R_a)) - self.alone
            if (beyond <= 0.0) if self.whole else (beyond >= 0.0):
                return False
        return super()._free(settled, place)

    def _tilt(self, found: Settled, R: Array) -> Array:
        """-e . N (...)."""
        return -(turned(R, self._turned(found.way)[0]) * found.normal).sum(axis=-1)

    @property
    def ends_edges(self) -> bool:
        """Always: the side begins at it."""
        return True

    def runs_along(self, place: Place) -> Array | None:
        """None: it bends itself."""
        return None

    def sides(self, region: Region) -> tuple[int, ...]:
        """Its ends, its tilt, and the directions that lead on from it."""
        own = tuple(side for side in super().sides(region) if side != BENT)
        return own if self.alone is None else (*own, TILT)

    def margin(self, place: Place, region: Region, side: int) -> Array:
        """See `FlatOnHills`; how far the tilt is from where it ends, as a way of the rim [m]."""
        if side != TILT:
            return super().margin(place, region, side)
        assert self.alone is not None
        tilt = self._tilt(self._settled(place), place.R_a)
        return self.rim * (tilt - (1.0 - LATER) * self.alone if self.whole else (1.0 + LATER) * self.alone - tilt)


@dataclass(frozen=True, eq=False)
class FaceOnHills(FlatOnHills):
    """The face inside a rim, or a rectangle of it, around `off` (2,) from the centre of its disc.

    Attributes:
        rim: radius of the disc [m].
        off: from its centre to that of the rectangle, along A (2,) [m].
    """

    rim: float = 1.0
    off: Array = None  # type: ignore[assignment]

    def plain(self) -> PlainFlat:
        """Itself as plain data."""
        return super().plain()._replace(kind="face", disc=PlainDisc(np.zeros(3), self.rim, None, None, self.off))

    def inside(self, found: Nearest) -> float:
        """The same within the rim, too."""
        return min(super().inside(found), self.rim - float(np.linalg.norm(found.way + self.off)))

    def sides(self, region: Region) -> tuple[int, ...]:
        """Its borders, then its rim, and its bend."""
        return *range(1, len(self.room) + 2), BENT

    def margin(self, place: Place, region: Region, side: int) -> Array:
        """Distance of the nearest point from a border, or the rim, and RIM."""
        if side <= len(self.room) or side == BENT:
            return super().margin(place, region, side)
        ways = self._settled(place).way + self.off
        return self.rim - np.sqrt((ways * ways).sum(axis=-1)) + RIM
