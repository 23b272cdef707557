"""The distance from a cylinder, by its side, its two flat ends and its two rims."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...common.arrays import Array
from ..zero import RIM
from .shapes import Region, Shape, length_of, turning

SIDE, CAP, EDGE = 1, 2, 3  # regions (SIDE, 0), (CAP, s) and (EDGE, s) of the rim, at the end with the sign s
ACROSS = np.diag([1.0, 1.0, 0.0])


@dataclass(frozen=True)
class Drum(Shape):
    """A cylinder along z around the origin: the distance to its side, an end or a rim; inside, to what is nearest.

    Attributes:
        radius, half: its radius, and half of its length [m].
    """

    radius: float
    half: float

    @property
    def extent(self) -> float:  # type: ignore[override]
        """Of its rims."""
        return float(np.hypot(self.radius, self.half))

    def region(self, p: Array, inner: Array | None = None) -> Region:
        """What is nearest; of a point without radius, side and ends reach RIM beyond the rims."""
        beyond = np.array([np.hypot(p[0], p[1]) - self.radius, abs(p[2]) - self.half])
        outside = beyond > (0.0 if inner is None else RIM)
        end = 1 if p[2] >= 0.0 else -1
        if outside.all():
            return EDGE, end
        to_side = outside[0] or (not outside[1] and beyond[0] >= beyond[1])
        return (SIDE, 0) if to_side else (CAP, end)

    def faced(self, region: Region) -> bool:
        """On an end."""
        return region[0] == CAP

    def _offset(self, p: Array, region: Region) -> Array:
        """From the axis, or from the nearest point of a rim, to p."""
        radial = p @ ACROSS
        if region[0] == SIDE:
            return radial
        return p - self.radius * radial / length_of(radial) - region[1] * self.half * np.array([0.0, 0.0, 1.0])

    def distance(self, p: Array, region: Region) -> Array:
        """From the axis, less the radius; beyond an end; from a rim."""
        kind, end = region
        if kind == CAP:
            return end * p[..., 2] - self.half
        return length_of(self._offset(p, region))[..., 0] - (self.radius if kind == SIDE else 0.0)

    def normal(self, p: Array, region: Region) -> Array:
        """Away from the axis, along it, or away from the rim."""
        kind, end = region
        if kind == CAP:
            return np.broadcast_to(np.array([0.0, 0.0, float(end)]), p.shape)
        offset = self._offset(p, region)
        return offset / length_of(offset)

    def normal_rate(self, p: Array, rate: Array, region: Region) -> Array:
        """Zero on an end; about the axis, or about the point of the rim, which moves along."""
        kind, _ = region
        if kind == CAP:
            return np.zeros_like(rate)
        radial, across = p @ ACROSS, rate @ ACROSS
        if kind == SIDE:
            return turning(radial, across)
        return turning(self._offset(p, region), rate - self.radius * turning(radial, across))

    def curvature(self, radius: float) -> float:
        """That about a rim of a sphere outside; of a point, that about the axis."""
        return 1.0 / radius if radius > 0.0 else 1.0 / self.radius

    def piece(self, region: Region, radius: float) -> Region | None:
        """A sphere's normal is continuous all around; a point passes a rim as sharply as it comes near."""
        if radius > 0.0:
            return ()
        return None if region[0] == EDGE else region

    def sides(self, region: Region) -> tuple[int, ...]:
        """3 and -3: the ends, of the side; 1: the rim, of an end; 1 and 3: end and side, of a rim."""
        return {SIDE: (-3, 3), CAP: (1,), EDGE: (1, 3)}[region[0]]

    def margin(self, p: Array, region: Region, side: int, rim: float) -> Array:
        """Along the axis or across it."""
        kind, end = region
        if kind == SIDE:
            return self.half - (1 if side > 0 else -1) * p[..., 2] + rim
        if kind == EDGE and side == 3:
            return end * p[..., 2] - self.half + rim
        inside = self.radius - length_of(p @ ACROSS)[..., 0]
        return (inside if kind == CAP else -inside) + rim

    def beyond(self, region: Region, side: int) -> Region:
        """The rim, or from there the end or the side."""
        kind, end = region
        if kind == SIDE:
            return EDGE, 1 if side > 0 else -1
        if kind == CAP:
            return EDGE, end
        return (CAP, end) if side == 1 else (SIDE, 0)
