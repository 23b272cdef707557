"""Sides of cones across straight edges, axes of capsules and cylinders, and each other, in closed form.

The side of a cone is made of lines through its tip, and has the normals m with m . b = s, b the axis towards the tip
and s the sine of half the angle there. It touches a line of direction d where the normal n = -m from the line to the
cone is across that: with n . d = 0, n . b = -s and D = 1 - (b . d)^2, K = sqrt(D - s^2),

    n = (-s (b - (b . d) d) +- K d x b) / D,    gap = n . (p - q) - r,

p the tip, q a point of the line and r the radius around it. The line of the side that touches is p + t l with
l = -(b + s n) / c, c the cosine; it crosses the other one at the sine K / c. A line that is steeper than the side,
D < s^2, touches the tip or the rim instead, which take over at the ends of the side, as corners do at those of an edge.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from ...common.arrays import Array
from ...common.lazy import dataclass
from ..zero import ARC, DEEP, FAR_BODIES, OFF, PARALLEL_EDGES, RIM
from .closest_points.equations import Settled, across_slants, settled
from .closest_points.features import Slant
from .convex import Convex, capsule, cone, on_far_side, polyhedron
from .edges import Lines, of_segments
from .features import Bodies, Meet, PassingPair, Place, at, cross, dot, poses_of, turned
from .nearest_features import NearestFeatures
from .polyhedra import Polyhedron
from .rims import SMOOTHLY, Margin, Z
from .shapes import Region

TIP, RIM_END, FIRST, LAST = range(4)  # sides on which such a contact can be left
SENSES = (1, -1)


class _Crossed(NamedTuple):
    """The side of a cone across a line, with leading axes: see the head of this module.

    Attributes:
        b, p: axis and tip of the cone (..., 3); d, q: direction and middle of the line (..., 3).
        along, D, K: b . d, 1 - (b . d)^2 and the root (..., 1).
        n, w: the normal, and n x d (..., 3).
        down: l (..., 3).
        t, u: where both are nearest, from the tip and from the middle (..., 1) [m].
    """

    b: Array
    p: Array
    d: Array
    q: Array
    along: Array
    D: Array
    K: Array
    n: Array
    w: Array
    down: Array
    t: Array
    u: Array


class ConeAndLine(NamedTuple):
    """Cones and lines, each a number or array (k, 1) or (k, 3).

    Attributes:
        sine, cosine, half: of half the angle at the tip, and half of the height [m].
        middle, direction: of the line, in axes of B.
    """

    sine: Array | float
    cosine: Array | float
    half: Array | float
    middle: Array
    direction: Array


def crossed(shape: ConeAndLine, place: Place | Bodies, sense: Array | int) -> _Crossed:
    """How the side of a cone crosses a line, in a sense (..., 1), at places with leading axes."""
    s, c, half, middle, direction = shape
    b, d = place.R_a[..., 2], turned(place.R_b, direction)
    p, q = place.o_a + half * b, place.o_b + turned(place.R_b, middle)
    along = dot(b, d)
    D = 1.0 - along * along
    K = np.sqrt(np.where((D - s * s).real > 0.0, D - s * s, 1.0))
    n = (sense * K * cross(d, b) - s * (b - along * d)) / np.where(D.real > 0.0, D, 1.0)
    w, down = cross(n, d), -(b + s * n) / c
    t = sense * c * dot(p - q, w) / K
    return _Crossed(b, p, d, q, along, D, K, n, w, down, t, dot(p + t * down - q, d))


@dataclass(frozen=True, eq=False)
class ConeSideOnLine(PassingPair):
    """The side of a cone along z (A), its origin half way up, against an edge of a polyhedron or a capsule (B).

    Its region is the sense of the second part of its normal.

    Attributes:
        radius, half: of the base of the cone, and half of its height [m].
        solid, number: polyhedron and edge; the core of a capsule has one.
        around: radius around the edge [m].
    """

    radius: float
    half: float
    solid: Polyhedron
    number: int
    around: float = 0.0
    radius_a: float = 0.0

    @cached_property
    def slant(self) -> float:
        """From the tip to the rim [m]."""
        return float(np.hypot(self.radius, 2.0 * self.half))

    @property
    def sine(self) -> float:
        """s."""
        return self.radius / self.slant

    @property
    def cosine(self) -> float:
        """c."""
        return 2.0 * self.half / self.slant

    @property
    def extent_a(self) -> float:  # type: ignore[override]
        """Of its rim."""
        return float(np.hypot(self.radius, self.half))

    @property
    def extent_b(self) -> float:  # type: ignore[override]
        """Of the ends of the edge, and what is around it."""
        return float(self.solid.arms[self.number]) + self.around

    @property
    def tip(self) -> tuple[float, float]:
        """From how far from the tip on it begins to touch, and below which it ends [m]."""
        return SMOOTHLY if self.around else (0.5 * RIM, -RIM)

    @property
    def length(self) -> float:
        """Of the edge [m]."""
        return float(self.solid.lengths[self.number])

    @property
    def deepest(self) -> float:
        """Depth from which on both sides of a body are not told apart [m]."""
        return 0.5 * min(self.radius, self.half, self.around or self.solid.thickness)

    @cached_property
    def _bodies(self) -> tuple[Convex, Convex]:
        other = capsule(self.around, self.length) if self.around else polyhedron(self.solid)
        return cone(self.radius, 2.0 * self.half), other

    @cached_property
    def shape(self) -> ConeAndLine:
        """What its geometry is made of."""
        middle = self.solid.vertices[self.solid.edges[self.number]].mean(axis=0)
        return ConeAndLine(self.sine, self.cosine, self.half, middle, self.solid.directions[self.number])

    def _crossed(self, place: Place | Bodies, sense: int) -> _Crossed:
        return crossed(self.shape, place, sense)

    def _crosses(self, place: Place) -> bool:
        """Whether some of its lines lie across the other one."""
        along = float(place.R_a[:, 2] @ place.R_b @ self.solid.directions[self.number])
        return 1.0 - along * along - self.sine**2 > (PARALLEL_EDGES * self.cosine) ** 2

    def _margins(self, found: _Crossed) -> list[Margin]:
        """From the tip and the rim along the side, and from both ends of the edge, in the order of the sides [m]."""
        t, u = found.t[..., 0], found.u[..., 0]
        others = self.slant - t, 0.5 * self.length + u, 0.5 * self.length - u
        return [Margin(t, *self.tip), *(Margin(value, *SMOOTHLY) for value in others)]

    def gap(self, place: Place, region: Region) -> Array:
        """n . (p - q) - r."""
        found = self._crossed(place, region[0])
        return dot(found.n, found.p - found.q)[..., 0] - self.around

    def meet(self, bodies: Bodies, region: Region) -> Meet:
        """The point of the side, the normal, and their rates."""
        sense, s, c = region[0], self.sine, self.cosine
        b, p, d, q, along, D, K, n, w, down, t, _ = self._crossed(bodies, sense)
        b_rate, d_rate = cross(bodies.V_a[..., 3:], b), cross(bodies.V_b[..., 3:], d)
        p_rate, apart = at(bodies.V_a, p), p - q
        apart_rate = p_rate - at(bodies.V_b, q)
        turn = dot(b_rate, d) + dot(b, d_rate)
        K_rate, D_rate = -along * turn / K, -2.0 * along * turn
        over = sense * (K_rate * cross(d, b) + K * (cross(d_rate, b) + cross(d, b_rate)))
        n_rate = (over - s * (b_rate - turn * d - along * d_rate) - D_rate * n) / D
        w_rate, down_rate = cross(n_rate, d) + cross(n, d_rate), -(b_rate + s * n_rate) / c
        t_rate = (sense * c * (dot(apart_rate, w) + dot(apart, w_rate)) - t * K_rate) / K
        return Meet(p + t * down, p_rate + t_rate * down + t * down_rate, n, n_rate)

    def _missed(self, place: Place, found: _Crossed) -> float:
        """By how much a normal misses the arc of the edge; zero around a capsule."""
        return float((self.solid.into[self.number] @ place.R_b.T @ found.n).max())

    def _best(self, place: Place) -> tuple[int, _Crossed, float, float]:
        """The sense that suits the edge best, or of the larger gap; all that crosses there, the gap, and the miss."""
        both = []
        for sense in SENSES:
            found = self._crossed(place, sense)
            gap = float(found.n @ (found.p - found.q)) - self.around
            both.append((sense, found, gap, max(self._missed(place, found), 0.0)))
        one, two = both
        return one if (one[3], -one[2]) <= (two[3], -two[2]) else two

    def region(self, place: Place) -> Region:
        """The sense that suits the edge best."""
        return (self._best(place)[0],)

    def looked(self, place: Place) -> tuple[float, bool]:
        """The open gap, and whether they touch with these features; else it is a bound of their distance, and OFF."""
        if not self._crosses(place):
            return self.away(place) + OFF, False
        _, found, gap, miss = self._best(place)
        touch = all(float(margin.value) > margin.begin for margin in self._margins(found)) and miss <= ARC
        touch = touch and gap > -self.deepest and not self.on_far_side(place, gap)
        return (gap, True) if touch else (max(gap, self.away(place)) + OFF, False)

    def on_far_side(self, place: Place, gap: float) -> bool:
        """Whether they cross far below both surfaces, on the far side of a sharp body."""
        return gap < -DEEP and on_far_side(self._bodies, poses_of(place), gap)

    def away(self, place: Place) -> float:
        """A bound of the distance of the cone and the edge [m], zero at least."""
        first, last = self.solid.vertices[self.solid.edges[self.number]] @ place.R_b.T + place.o_b
        axis = place.R_a[:, 2]
        lines = Lines.of(place.o_a - self.half * axis, 2.0 * self.half * axis, first, last - first)
        return max(0.0, float(of_segments(lines)) - self.radius - self.around)

    def open_gap(self, place: Place) -> float:
        """See `looked`."""
        return self.looked(place)[0]

    def sides(self, region: Region) -> tuple[int, ...]:
        """Tip and rim, and both ends of the edge."""
        return TIP, RIM_END, FIRST, LAST

    def margin(self, place: Place, region: Region, side: int) -> Array:
        """How far it is from its end, and a little beyond it [m]."""
        margin = self._margins(self._crossed(place, region[0]))[side]
        return margin.value - margin.end

    def piece(self, place: Place, region: Region) -> Region | None:
        """Where they touch with these features."""
        return region if self.looked(place)[1] else None

    def bend(self, place: Place, speed: float, spin: float, duration: float) -> float:
        """The normal turns, and the contact slides along the side and around it, the faster the less they cross."""
        along = float(place.R_a[:, 2] @ place.R_b @ self.solid.directions[self.number])
        square = np.array(1.0 - along * along - self.sine**2)
        return float(bend_of_side(square, self.slant, self.shape, speed, spin, duration))


def bend_of_side(
    square: Array, slant: Array | float, shape: ConeAndLine, speed: Array | float, spin: Array | float, duration: float
) -> Array:
    """See `ConeSideOnLine.bend`, of K^2 (...) and lengths of the sides (...) [m]."""
    s, c = (np.asarray(part).reshape(np.shape(square)) for part in (shape.sine, shape.cosine))
    root = np.sqrt(np.maximum(square, 0.0))
    K = np.maximum(root - spin * duration / np.maximum(root, PARALLEL_EDGES), PARALLEL_EDGES)
    turn = spin / K
    return np.asarray(2.0 * turn * speed + spin * (c * speed / K + slant * s / c * turn))


@dataclass(frozen=True, eq=False)
class ConeSideOnCone(NearestFeatures, PassingPair):
    """The sides of two cones along z, their origins half way up, across each other.

    Their normals are those of `closest_points.equations.across_slants`, the closest points those of its equations. The
    region is the sense of the second part of the normal.

    Attributes:
        radius, height: of the cone A [m].
        other_radius, other_height: of the cone B [m].
    """

    radius: float
    height: float
    other_radius: float
    other_height: float
    radius_a: float = 0.0

    @cached_property
    def sides_of(self) -> tuple[Slant, Slant]:
        """Both sides."""
        sizes = (self.radius, self.height), (self.other_radius, self.other_height)
        one, two = (Slant(0.5 * height * Z, Z, radius / float(np.hypot(radius, height))) for radius, height in sizes)
        return one, two

    @cached_property
    def slants(self) -> tuple[float, float]:
        """From the tips to the rims [m]."""
        return float(np.hypot(self.radius, self.height)), float(np.hypot(self.other_radius, self.other_height))

    @property
    def extent_a(self) -> float:  # type: ignore[override]
        """Of its rim."""
        return float(np.hypot(self.radius, 0.5 * self.height))

    @property
    def extent_b(self) -> float:  # type: ignore[override]
        """Likewise."""
        return float(np.hypot(self.other_radius, 0.5 * self.other_height))

    @property
    def deepest(self) -> float:
        """Depth from which on both sides of a body are not told apart [m]."""
        return 0.5 * min(self.radius, self.height, self.other_radius, self.other_height)

    @cached_property
    def _bodies(self) -> tuple[Convex, Convex]:
        return cone(self.radius, self.height), cone(self.other_radius, self.other_height)

    def _across(self, place: Place | Bodies) -> tuple[Array, Array, Array]:
        one, two = self.sides_of
        return across_slants(place.R_a[..., 2], one.sine, place.R_b[..., 2], two.sine)

    def _settled(self, place: Place | Bodies, region: Region) -> Settled:
        """In closed form: see the head of this module."""
        (one, two), (level, over, _) = self.sides_of, self._across(place)
        n = level + region[0] * over
        apart = place.o_a + turned(place.R_a, one.centre) - place.o_b - turned(place.R_b, two.centre)
        axes = place.R_a[..., 2], place.R_b[..., 2]
        # apart + s_A (b_A + sine_A n) = s_B (b_B - sine_B n) + g n, of which both brackets are along the sides.
        along = np.stack([axes[0] + one.sine * n, two.sine * n - axes[1], -n], axis=-1)
        slides = np.linalg.solve(along, -apart[..., None])[..., 0]
        y = np.concatenate([n, slides[..., 2:], slides[..., :2]], axis=-1)
        return settled(one, two, poses_of(place), y)

    def _crosses(self, place: Place) -> bool:
        """Whether some of their lines lie across each other."""
        square = float(self._across(place)[2][0])
        return square > (PARALLEL_EDGES * self.cosine) ** 2

    @property
    def cosine(self) -> float:
        """The product of both."""
        one, two = self.sides_of
        return float(np.sqrt((1.0 - one.sine**2) * (1.0 - two.sine**2)))

    def _margins(self, found: Settled) -> list[Margin]:
        """From tip and rim of A, then of B, along the sides [m]."""
        margins = []
        for slant, slide, length in zip(self.sides_of, (4, 5), self.slants, strict=True):
            t = -found[0].y[..., slide] * np.sqrt(1.0 - slant.sine**2)
            margins += [Margin(t, *SMOOTHLY), Margin(length - t, *SMOOTHLY)]
        return margins

    def _best(self, place: Place) -> tuple[int, Settled]:
        """The sense of the larger gap, which is that of the bodies, and the closest points."""
        both = [(sense, self._settled(place, (sense,))) for sense in SENSES]
        return max(both, key=lambda one: float(one[1][0].gap))

    def region(self, place: Place) -> Region:
        """The sense of the larger gap."""
        return (self._best(place)[0] if self._crosses(place) else SENSES[0],)

    def looked(self, place: Place) -> tuple[float, bool]:
        """The open gap, and whether they touch with these features; else it is a bound of their distance, and OFF."""
        away = self.away(place)
        if away > FAR_BODIES * (self.radius + self.other_radius) or not self._crosses(place):
            return away + OFF, False
        found = self._best(place)[1]
        gap = float(found[0].gap)
        touch = all(float(margin.value) > margin.begin for margin in self._margins(found)) and gap > -self.deepest
        touch = touch and not on_far_side(self._bodies, poses_of(place), gap)
        return (gap, True) if touch else (max(gap, away) + OFF, False)

    def away(self, place: Place) -> float:
        """A bound of the distance of both bodies [m], zero at least."""
        axes = self.height * place.R_a[:, 2], self.other_height * place.R_b[:, 2]
        lines = Lines.of(place.o_a - 0.5 * axes[0], axes[0], place.o_b - 0.5 * axes[1], axes[1])
        return max(0.0, float(of_segments(lines)) - self.radius - self.other_radius)

    def open_gap(self, place: Place) -> float:
        """See `looked`."""
        return self.looked(place)[0]

    def sides(self, region: Region) -> tuple[int, ...]:
        """Tip and rim of both."""
        return 0, 1, 2, 3

    def margin(self, place: Place, region: Region, side: int) -> Array:
        """How far it is from its end, and a little beyond it [m]."""
        margin = self._margins(self._settled(place, region))[side]
        return margin.value - margin.end

    def piece(self, place: Place, region: Region) -> Region | None:
        """Where they touch with these features."""
        return region if self.looked(place)[1] else None

    def bend(self, place: Place, speed: float, spin: float, duration: float) -> float:
        """The normal turns, and the contact slides along the sides and around them, the faster the less they cross."""
        root = np.sqrt(max(float(self._across(place)[2][0]), 0.0))
        K = max(float(root) - 2.0 * spin * duration / max(float(root), PARALLEL_EDGES), PARALLEL_EDGES)
        turn, arm = (
            2.0 * spin / K,
            max(self.slants) * max(self.radius / self.height, self.other_radius / self.other_height),
        )
        return 2.0 * turn * speed + spin * (speed / K + arm * turn)
