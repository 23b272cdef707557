"""Distance functions of solid shapes, smooth within a region each.

A distance phi(p) is taken at points p (..., 3) in axes of the shape, with n = grad phi of unit length. Distances,
normals and their rates are analytic in p, so that a complex step through them gives their derivatives to rounding.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import numpy as np

from ...common.arrays import Array
from ...common.lazy import dataclass
from ..zero import BESIDE, RIM, SUNK

Region = tuple[int, ...]  # of a box: which side (-1, 1) of each pair of faces a point is on; 0: between them


class Shape(ABC):
    """A distance function in axes of its own.

    Attributes:
        extent: largest distance of its surface from the origin [m]; None: it has no end.
        rounding: radius of a sphere that was rolled around a core to make it; zero where faces meet in sharp edges [m].
    """

    extent: float | None = None
    rounding: float = 0.0

    def region(self, p: Array, inner: Array | None = None) -> Region:
        """The region of the point (3,), among those in which the distance is smooth; () where there is one only.

        Of a point without radius `inner` (3,) is the centre of its body.
        """
        return ()

    def cornered(self, region: Region) -> bool:
        """Whether the nearest feature in a region is a corner."""
        return False

    def faced(self, region: Region) -> bool:
        """Whether it is a plane face."""
        return False

    @abstractmethod
    def distance(self, p: Array, region: Region) -> Array:
        """phi (...) at p (..., 3), negative inside [m]."""

    @abstractmethod
    def normal(self, p: Array, region: Region) -> Array:
        """n = grad phi (..., 3)."""

    @abstractmethod
    def normal_rate(self, p: Array, rate: Array, region: Region) -> Array:
        """n' (..., 3) as p moves at `rate`: the Hessian of phi on it."""

    @abstractmethod
    def curvature(self, radius: float) -> float:
        """Bound of the second derivative of phi where a sphere of that radius is outside, in one `piece` [1/m]."""

    def piece(self, region: Region, radius: float) -> Region | None:
        """Key of the piece on which phi has this bound; None: in this region it has none."""
        return ()

    def sides(self, region: Region) -> tuple[int, ...]:
        """The sides on which a region can be left: 1, 2, 3 for x, y, z, with the sign of the motion or face."""
        return ()

    def margin(self, p: Array, region: Region, side: int, rim: float) -> Array:
        """Distance (...) of p (..., 3) from `rim` beyond the end of its region on a side, analytic."""
        raise NotImplementedError

    def beyond(self, region: Region, side: int) -> Region:
        """The region behind a side."""
        raise NotImplementedError


@dataclass(frozen=True)
class HalfSpace(Shape):
    """All below z = 0."""

    def faced(self, region: Region) -> bool:
        """Always."""
        return True

    def distance(self, p: Array, region: Region) -> Array:
        """z."""
        return p[..., 2]

    def normal(self, p: Array, region: Region) -> Array:
        """Upwards."""
        return np.broadcast_to(np.array([0.0, 0.0, 1.0]), p.shape)

    def normal_rate(self, p: Array, rate: Array, region: Region) -> Array:
        """Zero."""
        return np.zeros_like(rate)

    def curvature(self, radius: float) -> float:
        """Zero."""
        return 0.0


@dataclass(frozen=True)
class Ball(Shape):
    """A sphere around the origin."""

    radius: float

    @property
    def extent(self) -> float:  # type: ignore[override]
        """Its radius."""
        return self.radius

    def distance(self, p: Array, region: Region) -> Array:
        """|p| - r."""
        return length_of(p)[..., 0] - self.radius

    def normal(self, p: Array, region: Region) -> Array:
        """p / |p|."""
        return p / length_of(p)

    def normal_rate(self, p: Array, rate: Array, region: Region) -> Array:
        """(1 - n n^T) p' / |p|."""
        return turning(p, rate)

    def curvature(self, radius: float) -> float:
        """1 / |p|."""
        return 1.0 / (self.radius + radius)


@dataclass(frozen=True)
class Block(Shape):
    """A box around the origin: the distance to its nearest face, edge or corner; inside, to the face that is nearest.

    Its second derivative jumps where the nearest point passes from a face to an edge, or from an edge to a corner.
    """

    lengths: tuple[float, ...]

    @property
    def extent(self) -> float:  # type: ignore[override]
        """Of its corners."""
        return float(np.linalg.norm(self.half))

    @property
    def half(self) -> Array:
        """Half of the lengths of its sides (3,)."""
        return 0.5 * np.array(self.lengths)

    def region(self, p: Array, inner: Array | None = None) -> Region:
        """The signs of those coordinates in which p lies beyond a face; at least one.

        A point without radius meets faces only, and these reach RIM beyond their edges: the corners of equal boxes on
        each other lie on the edges. Of several faces that are as near, it meets the one on whose side its body is.
        """
        place, half, rim = p.tolist(), self.half.tolist(), 0.0 if inner is None else RIM
        beyond = [abs(x) - h for x, h in zip(place, half, strict=True)]
        outside = [height > rim for height in beyond]
        if not any(outside):
            depths = beyond
            if inner is not None:
                near = touchable(np.array(beyond)).tolist()
                depths = [
                    (-c if x < 0.0 else c) - h if held else -math.inf
                    for x, c, h, held in zip(place, inner.tolist(), half, near, strict=True)
                ]
            outside[depths.index(max(depths))] = True
        return tuple([(-1 if x < 0.0 else 1) if out else 0 for x, out in zip(place, outside, strict=True)])

    def cornered(self, region: Region) -> bool:
        """Beyond three faces."""
        return all(region)

    def faced(self, region: Region) -> bool:
        """Beyond one face."""
        return _face(region) is not None

    def distance(self, p: Array, region: Region) -> Array:
        """Beyond one face: s p_i - h_i; beyond several: the distance to their edge or corner."""
        signs, face = np.array(region), _face(region)
        if face is not None:
            return signs[face] * p[..., face] - self.half[face]
        return length_of(self._offset(p, signs))[..., 0]

    def normal(self, p: Array, region: Region) -> Array:
        """That of the face, or away from the edge or corner."""
        signs = np.array(region)
        if _face(region) is not None:
            return np.broadcast_to(signs.astype(float), p.shape)
        offset = self._offset(p, signs)
        return offset / length_of(offset)

    def normal_rate(self, p: Array, rate: Array, region: Region) -> Array:
        """Zero on a face; about an edge or corner like that of a sphere."""
        signs = np.array(region)
        if _face(region) is not None:
            return np.zeros_like(rate)
        return turning(self._offset(p, signs), np.abs(signs) * rate)

    def curvature(self, radius: float) -> float:
        """That about an edge or corner of a sphere outside; of a point, that within a face."""
        return 1.0 / radius if radius > 0.0 else 0.0

    def piece(self, region: Region, radius: float) -> Region | None:
        """A sphere's normal is continuous all around; a point passes edges and corners as sharply as it comes near."""
        if radius > 0.0:
            return ()
        return region if _face(region) is not None else None

    def _offset(self, p: Array, signs: Array) -> Array:
        """From the edge or corner to p."""
        return np.abs(signs) * p - signs * self.half

    def sides(self, region: Region) -> tuple[int, ...]:
        """Between two faces both; beyond a face back to it, unless it is the only one, which is never left."""
        found: list[int] = []
        for axis, sign in enumerate(region, 1):
            if not sign:
                found += [-axis, axis]
            elif _face(region) is None:
                found.append(sign * axis)
        return tuple(found)

    def margin(self, p: Array, region: Region, side: int, rim: float) -> Array:
        """h_i - s p_i between two faces, s p_i - h_i beyond one, plus the rim."""
        axis, sign = abs(side) - 1, 1.0 if side > 0 else -1.0
        sense = 1.0 if region[axis] else -1.0
        return sense * (sign * p[..., axis] - self.half[axis]) + rim

    def beyond(self, region: Region, side: int) -> Region:
        """Beyond the face of the side, or between it and the opposite one."""
        axis, sign = abs(side) - 1, 1 if side > 0 else -1
        return tuple((0 if region[k] else sign) if k == axis else old for k, old in enumerate(region))


def touchable(beyond: Array) -> Array:
    """Which faces a point may touch whose heights (..., k) above them are at most RIM.

    Those that are as near as the nearest, but for RIM. A point outside of the solid, by more than BESIDE, is not below
    any of them: where an edge is drawn over one of the solid's, and its end comes closer to that than RIM, it is still
    below the face that lies behind, and touches it only once it has passed.
    """
    most = beyond.max(axis=-1, keepdims=True)
    return (beyond >= most - RIM) & ((most <= BESIDE) | (beyond >= -SUNK))


def _face(region: Region) -> int | None:
    """The coordinate of a face; None at edges and corners."""
    beyond = [k for k, sign in enumerate(region) if sign]
    return beyond[0] if len(beyond) == 1 else None


def length_of(p: Array) -> Array:
    """|p| (..., 1), analytic."""
    return np.sqrt((p * p).sum(axis=-1, keepdims=True))


def turning(p: Array, rate: Array) -> Array:
    """Rate (..., 3) of p / |p| as p moves at `rate`, analytic."""
    length = length_of(p)
    n = p / length
    return (rate - n * (n * rate).sum(axis=-1, keepdims=True)) / length
