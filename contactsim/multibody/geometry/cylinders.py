"""The distances from a cylinder and a cone, by their sides, flat ends and rims, and by the tip of a cone."""

from __future__ import annotations

import numpy as np

from ...common.arrays import Array
from ...common.lazy import dataclass
from ..zero import RIM
from .shapes import Region, Shape, length_of, turning

SIDE, CAP, EDGE = 1, 2, 3  # regions (SIDE, 0), (CAP, s) and (EDGE, s) of the rim, at the end with the sign s
TIP = 4  # (TIP, 1)
ACROSS = np.diag([1.0, 1.0, 0.0])
UP = np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True)
class _Round(Shape):
    """What is round about z, with a rim at one of its ends or both."""

    radius: float
    half: float

    @property
    def extent(self) -> float:  # type: ignore[override]
        """Of its rims."""
        return float(np.hypot(self.radius, self.half))

    def faced(self, region: Region) -> bool:
        """On an end."""
        return region[0] == CAP

    def side_radius(self, p: Array) -> Array:
        """Radius of curvature (...) about the axis of what is as far from the side as p [m]."""
        return length_of(p @ ACROSS)[..., 0]

    def _from_rim(self, p: Array, end: int) -> Array:
        """From the nearest point of the rim of an end, 1 above and -1 below, to p."""
        radial = p @ ACROSS
        return p - self.radius * radial / length_of(radial) - end * self.half * UP

    def _about_rim(self, p: Array, rate: Array, end: int) -> Array:
        """Rate of the normal of a rim, about its nearest point, which moves along."""
        return turning(self._from_rim(p, end), rate - self.radius * turning(p @ ACROSS, rate @ ACROSS))


@dataclass(frozen=True)
class Drum(_Round):
    """A cylinder along z around the origin: the distance to its side, an end or a rim; inside, to what is nearest.

    Attributes:
        radius, half: its radius, and half of its length [m].
    """

    def region(self, p: Array, inner: Array | None = None) -> Region:
        """What is nearest; of a point without radius, side and ends reach RIM beyond the rims."""
        beyond = np.array([np.hypot(p[0], p[1]) - self.radius, abs(p[2]) - self.half])
        outside = beyond > (0.0 if inner is None else RIM)
        end = 1 if p[2] >= 0.0 else -1
        if outside.all():
            return EDGE, end
        to_side = outside[0] or (not outside[1] and beyond[0] >= beyond[1])
        return (SIDE, 0) if to_side else (CAP, end)

    def _offset(self, p: Array, region: Region) -> Array:
        """From the axis, or from the nearest point of a rim, to p."""
        return p @ ACROSS if region[0] == SIDE else self._from_rim(p, region[1])

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
        return turning(p @ ACROSS, rate @ ACROSS) if kind == SIDE else self._about_rim(p, rate, region[1])

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


@dataclass(frozen=True)
class Taper(_Round):
    """A cone along z, its tip above, the origin half way up.

    In the half-plane of a point, rho from the axis and z above the origin, its side is a line through the tip: the
    point is c rho + s (z - half) above that, and s rho - c (z - half) along it from the tip, s and c the sine and
    cosine of half the angle at the tip.

    Attributes:
        radius, half: of its base, and half of its height [m].
    """

    @property
    def slant(self) -> float:
        """From the tip to the rim [m]."""
        return float(np.hypot(self.radius, 2.0 * self.half))

    @property
    def _turn(self) -> tuple[float, float]:
        """s and c."""
        return self.radius / self.slant, 2.0 * self.half / self.slant

    def side_radius(self, p: Array) -> Array:
        """That along the normal, rho / c."""
        return super().side_radius(p) / self._turn[1]

    def _along(self, p: Array) -> Array:
        """From the tip along the side (...) [m]."""
        (s, c), rho = self._turn, length_of(p @ ACROSS)[..., 0]
        return s * rho - c * (p[..., 2] - self.half)

    def region(self, p: Array, inner: Array | None = None) -> Region:
        """What is nearest; of a point without radius, side and base reach RIM beyond rim and tip."""
        side, along, low = float(self.distance(p, (SIDE, 0))), float(self._along(p)), -self.half - float(p[2])
        rim = 0.0 if inner is None else RIM
        if low > rim:
            return (CAP, -1) if np.hypot(p[0], p[1]) <= self.radius + rim else (EDGE, -1)
        if along < -rim:
            return TIP, 1
        if side <= 0.0 and low > side:
            return CAP, -1
        return (EDGE, -1) if side > 0.0 and along > self.slant + rim else (SIDE, 0)

    def _offset(self, p: Array, region: Region) -> Array:
        """From the tip, or from the nearest point of the rim, to p."""
        return p - self.half * UP if region[0] == TIP else self._from_rim(p, -1)

    def distance(self, p: Array, region: Region) -> Array:
        """Above the side, below the base, from the rim or the tip."""
        kind, _ = region
        if kind == CAP:
            return -p[..., 2] - self.half
        if kind == SIDE:
            s, c = self._turn
            return c * length_of(p @ ACROSS)[..., 0] + s * (p[..., 2] - self.half)
        return length_of(self._offset(p, region))[..., 0]

    def normal(self, p: Array, region: Region) -> Array:
        """Across the side, downward, or away from the rim or the tip."""
        kind, _ = region
        if kind == CAP:
            return np.broadcast_to(np.array([0.0, 0.0, -1.0]), p.shape)
        if kind == SIDE:
            (s, c), radial = self._turn, p @ ACROSS
            return c * radial / length_of(radial) + s * UP
        offset = self._offset(p, region)
        return offset / length_of(offset)

    def normal_rate(self, p: Array, rate: Array, region: Region) -> Array:
        """Zero on the base; about the axis, the tip, or the point of the rim, which moves along."""
        kind, _ = region
        if kind == CAP:
            return np.zeros_like(rate)
        if kind == TIP:
            return turning(self._offset(p, region), rate)
        return self._turn[1] * turning(p @ ACROSS, rate @ ACROSS) if kind == SIDE else self._about_rim(p, rate, -1)

    def curvature(self, radius: float) -> float:
        """That about a point, as large as about the side: rho is c times the radius of a sphere there, at least."""
        return 1.0 / radius if radius > 0.0 else np.inf

    def piece(self, region: Region, radius: float) -> Region | None:
        """A sphere's normal is continuous all around; a point passes rim and tip as sharply as it comes near."""
        if radius > 0.0:
            return ()
        return None if region[0] in (EDGE, TIP) else region

    def sides(self, region: Region) -> tuple[int, ...]:
        """3, -3: tip and rim, of the side; 1: the rim, of the base; 1, 3: base and side, of the rim; -3: of the tip."""
        return {SIDE: (-3, 3), CAP: (1,), EDGE: (1, 3), TIP: (-3,)}[region[0]]

    def margin(self, p: Array, region: Region, side: int, rim: float) -> Array:
        """Along the side, or across the axis."""
        kind, _ = region
        if side == 1:
            inside = self.radius - length_of(p @ ACROSS)[..., 0]
            return (inside if kind == CAP else -inside) + rim
        ahead = self.slant - self._along(p) if (kind, side) in ((SIDE, -3), (EDGE, 3)) else self._along(p)
        return (ahead if kind == SIDE else -ahead) + rim

    def beyond(self, region: Region, side: int) -> Region:
        """What is behind it."""
        kind, _ = region
        if kind == SIDE:
            return (TIP, 1) if side == 3 else (EDGE, -1)
        if kind == CAP:
            return EDGE, -1
        return (CAP, -1) if side == 1 else (SIDE, 0)
