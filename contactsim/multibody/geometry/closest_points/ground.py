"""The points of rounded bodies that are nearest to the ground, given by its distance function, and how they move.

A rounded body has the support function h(m) = c . m + |B m| + r |m|: an ellipsoid with B = D A^T for its axes A, a
disc with B m = R a x m, a sphere or point with B = 0. (By a . m what a disc that all but lies flat has across its axis
would be lost in rounding: not so by a x m.) With phi(t, x) the signed distance from the ground and N = grad phi, the
point of the core x = o + R p(-R^T n) is nearest to the ground where n = N(t, x); the gap is phi(t, x) - r. By n, n - N
has the derivative 1 + H S, with H the second derivative of phi and S that of h: regular where the body bends more than
the hollow it lies in. Rates follow from x' = l + w x x + S (w x n - n') and n' = N_t + H x'. Second derivatives need
the third ones of phi: around each point the distance is taken as its Taylor polynomial of third order, through which
complex steps can be taken. Bodies go along the last axis but those of vectors: (..., k, 3).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ....common.arrays import Array
from ....common.lazy import dataclass
from ....errors import SingularError
from ...terrain.surface import Terrain
from ...zero import ROUGH
from .equations import Pose, cross, turn, turn_back
from .features import Circle, Ellipsoid, Feature, Point

ROUNDS = 60  # of Newton's method; some six do
LONGEST = 0.3  # rad: largest turn of the normal, or along a rim, in one round
FOLLOWED = 12  # rounds along a rim after which its lowest point is looked for all around
TILTED = 2.0  # s at the start, in units of that above which there is one lowest point, from which on it is followed
SAMPLES = 24  # places around a rim
AROUND = 2.0 * np.pi * np.arange(SAMPLES) / SAMPLES
UP = np.array([0.0, 0.0, 1.0])
NONE = np.zeros(3)


@dataclass(frozen=True, eq=False)
class Rounded:
    """Rounded bodies, each in axes of its own.

    Attributes:
        centre: c (k, 3) [m].
        root: B (k, 3, 3) [m].
        offset: r (k,) [m].
        axis, rim: of discs a (k, 3) and R (k,) [m]; zero of all others.
    """

    centre: Array
    root: Array
    offset: Array
    axis: Array
    rim: Array

    @staticmethod
    def of(features: Sequence[Feature]) -> Rounded:
        """Points, circles and ellipsoids."""
        roots = np.array([root_of(feature) for feature in features]).reshape(-1, 3, 3)
        centres = np.array([feature.centre for feature in features]).reshape(-1, 3)
        offsets = np.array([feature.offset for feature in features])
        discs = [(feature.axis, feature.radius) if isinstance(feature, Circle) else (NONE, 0.0) for feature in features]
        axes = np.array([axis for axis, _ in discs]).reshape(-1, 3)
        return Rounded(centres, roots, offsets, axes, np.array([rim for _, rim in discs]))

    def chosen(self, which: Sequence[int] | Array) -> Rounded:
        """Some of them."""
        return Rounded(*(part[which] for part in (self.centre, self.root, self.offset, self.axis, self.rim)))

    def under(self, m: Array) -> tuple[Array, Array]:
        """p (..., k, 3) at outward unit normals m, and S = dp/dm (..., k, 3, 3) there [m]."""
        along = turn(self.root, m)
        size = (along * along).sum(axis=-1, keepdims=True)
        length = np.sqrt(np.where(size.real > 0.0, size, 1.0))  # of points, and of discs that lie flat, it is zero
        arm = turn_back(self.root, along) / length
        return self.centre + arm, (self._square - arm[..., :, None] * arm[..., None, :]) / length[..., None]

    @cached_property
    def _square(self) -> Array:
        return np.asarray(np.swapaxes(self.root, -1, -2) @ self.root)


def root_of(feature: Feature) -> Array:
    """B (3, 3) of a point, a circle or an ellipsoid [m]."""
    if isinstance(feature, Circle):
        return feature.radius * cross(feature.axis, np.eye(3)).T
    if isinstance(feature, Ellipsoid):
        return np.asarray(feature.radii[:, None] * feature.axes.T)
    assert isinstance(feature, Point)
    return np.zeros((3, 3))


class GroundJet(NamedTuple):
    """The ground around k points at a time, as polynomials of y - y0 with y = (t, x).

    Attributes:
        place: x0 (k, 3) [m].
        first, second, third: derivatives (k, 4), (k, 4, 4), (k, 4, 4, 4) of phi by y.
        velocity: that of the ground's material (k, 3) [m/s], and its derivatives (k, 3, 4) and (k, 3, 4, 4).
    """

    place: Array
    first: Array
    second: Array
    third: Array
    velocity: tuple[Array, Array, Array]

    def gradient(self, x: Array) -> Array:
        """(phi_t, N) (..., k, 4) at x (..., k, 3), at the time of the jet."""
        dx = x - self.place
        return self.first + turn_back(self.second[:, 1:], dx) + 0.5 * turn(_once(self.third, dx)[..., 1:], dx)

    def curvature(self, x: Array) -> Array:
        """Second derivative (..., k, 4, 4) of phi by (t, x)."""
        return self.second + _once(self.third, x - self.place)

    def drift(self, x: Array) -> tuple[Array, Array]:
        """Velocity (..., k, 3) of the ground's material, and its derivative (..., k, 3, 4) by (t, x)."""
        dx = x - self.place
        value, first, second = self.velocity
        bent = _once(second, dx)
        return value + turn(first[..., 1:], dx) + 0.5 * turn(bent[..., 1:], dx), first + bent


def _once(tensor: Array, dx: Array) -> Array:
    """Derivatives (k, i, j, 4) along dx (..., k, 3): (..., k, i, j)."""
    return (tensor[..., 1:] @ dx[..., None, :, None])[..., 0]


def jet_at(terrain: Terrain, t: float, x: Array, third: bool) -> GroundJet:
    """The ground around x (k, 3); without `third` its third derivatives are left out, as zeros."""
    none, k = np.zeros(len(x)), len(x)
    near = terrain.near(t, x, none)
    bends, turns = np.zeros((k, 4, 4, 4)), np.zeros((k, 3, 4, 4))
    if third:
        bends, turns = terrain.third(t, x, none)
    velocity = np.broadcast_to(near.velocity, (k, 3)), near.velocity_change, turns
    return GroundJet(x, near.gradient, near.curvature, bends, velocity)


class OverGround(NamedTuple):
    """The nearest points of bodies over ground: its normals n (..., k, 3), and points x (..., k, 3) of the cores."""

    normal: Array
    core: Array


def placed(body: Rounded, pose: Pose, n: Array) -> tuple[Array, Array]:
    """Points of the cores (..., k, 3) and S (..., k, 3, 3) in the world, under normals n of the ground."""
    R, o = pose
    p, S = body.under(-turn_back(R, n))
    return o + turn(R, p), R @ S @ np.swapaxes(R, -1, -2)


def lowest(body: Rounded, pose: Pose, terrain: Terrain, t: float, near: bool = False) -> OverGround:
    """The points of bodies with the normal of the ground below them: at any height, the nearest ones on it.

    Args:
        body, pose: them.
        terrain, t: the ground, at a time [s].
        near: take the normal at the nearest point of the ground, not at the one right below.

    Raises:
        SingularError: they are not found: a body lies in a hollow that bends more than itself, or, where `near`, the
            rim of a disc on a hump on which the disc lies flat.
    """
    discs = np.flatnonzero(body.rim)
    if not len(discs):
        return _of_round_bodies(body, pose, terrain, t, near)
    rims = _of_rims(body.chosen(discs), Pose(pose.R[discs], pose.o[discs]), terrain, t, near)
    others = np.flatnonzero(body.rim == 0.0)
    if not len(others):
        return rims
    rest = _of_round_bodies(body.chosen(others), Pose(pose.R[others], pose.o[others]), terrain, t, near)
    n, core = np.empty((2, *body.centre.shape))
    n[discs], core[discs] = rims
    n[others], core[others] = rest
    return OverGround(n, core)


def _of_round_bodies(body: Rounded, pose: Pose, terrain: Terrain, t: float, near: bool) -> OverGround:
    n, last = np.broadcast_to(UP, body.centre.shape), np.inf
    for _ in range(ROUNDS):
        core, S = placed(body, pose, n)
        normal, hessian = _ground_below(terrain, t, core, near)
        step = -np.linalg.solve(np.eye(3) + hessian @ S, (n - normal)[..., None])[..., 0]
        sizes = np.linalg.norm(step, axis=-1, keepdims=True)
        size = float(sizes.max(initial=0.0))
        if size < ROUGH and (size == 0.0 or size >= last):
            return OverGround(n, core)
        n, last = n + step * np.minimum(1.0, LONGEST / np.maximum(sizes, LONGEST)), size
        n = n / np.linalg.norm(n, axis=-1, keepdims=True)
    place = _words(core[int(np.argmax(sizes))])
    raise SingularError(
        f"the point of a body nearest to the ground near ({place}) m is not found; it bends less than the ground"
    )


def _words(place: Array) -> str:
    return ", ".join(f"{c:.4g}" for c in place)


def _ground_below(terrain: Terrain, t: float, core: Array, near: bool) -> tuple[Array, Array]:
    """Normals (k, 3) of the ground, and their derivatives (k, 3, 3) by the points."""
    heights = None if near else terrain.heights(t, core[:, :2])
    if heights is None:
        ground = terrain.near(t, core, np.zeros(len(core)))
        return ground.normal, ground.hessian
    ground = terrain.near(t, np.column_stack([core[:, :2], heights]), np.zeros(len(core)))
    by_place = np.zeros((len(core), 3, 3))  # the place below moves along the surface
    by_place[:, 0, 0] = by_place[:, 1, 1] = 1.0
    by_place[:, 2, :2] = -ground.normal[:, :2] / ground.normal[:, 2:]
    return ground.normal, ground.hessian @ by_place


# --- rims of discs ------------------------------------------------------------------------------------------------


def _of_rims(body: Rounded, pose: Pose, terrain: Terrain, t: float, near: bool) -> OverGround:
    """The points of rims: the one that is found downhill where it is the only one, else one of those all around."""
    rims = _Rims(pose.o + turn(pose.R, body.centre), turn(pose.R, body.axis), body.rim, terrain, t, near)
    growth, angle = terrain.growth(t, 0.0, body.offset), np.zeros(len(body.rim))
    only = np.full(len(angle), np.inf) if growth is None else body.rim * growth.curvature  # s above which it is alone
    alone = rims.look(angle).lean > TILTED * only
    if len(tilted := np.flatnonzero(alone)):
        angle[tilted], seen, settled = rims.chosen(tilted).followed(angle[tilted])
        alone[tilted] = settled & (seen.lean > only[tilted])
    among = np.flatnonzero(~alone)
    if len(among):
        doubtful = rims.chosen(among)
        angle[among] = replace(doubtful, near=False).lowest(angle[among])
        if near:
            angle[among] = doubtful.nearest(angle[among])
    seen = rims.look(angle)
    return OverGround(seen.normal, seen.core)


class _Seen(NamedTuple):
    """Points of rims (k, 3), the ground's normals there, N . e', s and s + R e' . H e' (k,)."""

    core: Array
    normal: Array
    slope: Array
    lean: Array
    bend: Array


@dataclass(frozen=True, eq=False)
class _Rims:
    """Rims over ground at a time: centres and axes (k, 3) in the world, and radii (k,)."""

    centre: Array
    axis: Array
    radius: Array
    terrain: Terrain
    t: float
    near: bool

    def chosen(self, which: Array) -> _Rims:
        """Some of them, as often as they are named."""
        return replace(self, centre=self.centre[which], axis=self.axis[which], radius=self.radius[which])

    @cached_property
    def _across(self) -> tuple[Array, Array]:
        """Unit vectors (k, 3) across the axes from which angles count: downhill where the rims are tilted, and e'."""
        first = cross(self.axis, np.eye(3)[np.argmin(np.abs(self.axis), axis=-1)])
        down = self.axis * self.axis[:, 2:] - UP
        sizes = np.linalg.norm(down, axis=-1, keepdims=True)
        first = np.where(sizes > ROUGH, down / np.maximum(sizes, ROUGH), first)
        ahead = cross(self.axis, first)
        ahead = ahead / np.linalg.norm(ahead, axis=-1, keepdims=True)
        return cross(ahead, self.axis), ahead

    def look(self, angle: Array) -> _Seen:
        """The rims at angles (k,)."""
        (u, v), C, S = self._across, np.cos(angle)[:, None], np.sin(angle)[:, None]
        e, ahead = C * u + S * v, C * v - S * u
        core = self.centre + self.radius[:, None] * e
        normal, hessian = _ground_below(self.terrain, self.t, core, self.near)
        slope, lean = (normal * ahead).sum(axis=-1), -(normal * e).sum(axis=-1)
        return _Seen(core, normal, slope, lean, lean + self.radius * (ahead * turn(hessian, ahead)).sum(axis=-1))

    def followed(self, angle: Array) -> tuple[Array, _Seen, Array]:
        """Angles (k,) downhill from given ones, and which of them (k,) are settled."""
        last = np.full(len(self.radius), np.inf)
        for _ in range(FOLLOWED):
            seen = self.look(angle)
            step = _downhill(seen)
            settled = (np.abs(step) < ROUGH) & ((step == 0.0) | (np.abs(step) >= last)) & (seen.bend > 0.0)
            if settled.all():
                break
            angle, last = np.where(settled, angle, angle + step), np.abs(step)
        return angle, seen, settled

    def nearest(self, angle: Array) -> Array:
        """Angles (k,) of the nearest points, from those right above the ground.

        Raises:
            SingularError: there is none by these, or it is on a hump.
        """
        angle, seen, settled = self.followed(angle)
        astray = ~settled | (seen.lean <= 0.0)
        if astray.any():
            place = _words(seen.core[int(np.argmax(astray))])
            raise SingularError(
                f"no point of the rim of a disc near ({place}) m is the nearest to the ground: the disc is flat on it;"
                " give it a smaller radius, or the ground less curvature"
            )
        return angle

    def lowest(self, otherwise: Array) -> Array:
        """Angles (k,) of the least distances whose s is largest; `otherwise` of rims that run level all around."""
        count = len(self.radius)
        everywhere = self.chosen(np.repeat(np.arange(count), SAMPLES))
        slope = everywhere.look(np.tile(AROUND, count)).slope.reshape(count, SAMPLES)
        own, begin = np.nonzero((slope < 0.0) & (np.roll(slope, -1, axis=1) >= 0.0))
        if not len(own):
            return otherwise
        ahead = slope[own, (begin + 1) % SAMPLES]
        way = AROUND[1] * slope[own, begin] / (slope[own, begin] - ahead)
        angle, lean = self.chosen(own)._between(AROUND[begin], AROUND[begin] + way, AROUND[begin] + AROUND[1])
        order = np.argsort(lean, kind="stable")  # of each rim the last one stays
        found = otherwise.copy()
        found[own[order]] = angle[order]
        return found

    def _between(self, low: Array, angle: Array, high: Array) -> tuple[Array, Array]:
        """Angles (k,) at which the slopes pass from below zero to above, and s there, from guesses."""
        last, settled = high - low, np.zeros(len(low), dtype=bool)
        for _ in range(ROUNDS):
            seen = self.look(angle)
            low, high = np.where(seen.slope < 0.0, angle, low), np.where(seen.slope < 0.0, high, angle)
            step = _downhill(seen)
            settled |= (np.abs(step) < ROUGH) & ((step == 0.0) | (np.abs(step) >= last)) & (seen.bend > 0.0)
            if settled.all():
                break
            onward = angle + step
            inside = (low - ROUGH <= onward) & (onward <= high + ROUGH) & (seen.bend > 0.0)
            angle = np.where(settled, angle, np.where(inside, onward, 0.5 * (low + high)))
            last = np.abs(step)
        return angle, seen.lean


def _downhill(seen: _Seen) -> Array:
    """Newton's steps (k,) along rims; where the distance is not convex the longest ones downhill."""
    newton = -seen.slope / np.where(seen.bend > 0.0, seen.bend, 1.0)
    return np.where(seen.bend > 0.0, np.clip(newton, -LONGEST, LONGEST), -LONGEST * np.sign(seen.slope))


# --- how they move ------------------------------------------------------------------------------------------------


def settled_over(body: Rounded, pose: Pose, jet: GroundJet, start: OverGround) -> tuple[OverGround, Array]:
    """The nearest points by one step of Newton's method, with S there: at poses with a complex step the solution."""
    n = start.normal
    core, S = placed(body, pose, n)
    off = n - jet.gradient(core)[..., 1:]
    n = n - np.linalg.solve(np.eye(3) + jet.curvature(core)[..., 1:, 1:] @ S, off[..., None])[..., 0]
    core, S = placed(body, pose, n)
    return OverGround(n, core), S


def drift_over(found: OverGround, S: Array, bend: Array, twist: Array) -> tuple[Array, Array]:
    """Rates of the normals (..., k, 3) and of the points of the cores, with the bodies' twists V (..., k, 6).

    Args:
        found, S: nearest points, see `settled_over`.
        bend: second derivatives (..., k, 4, 4) of phi by (t, x) there.
        twist: linear first, at the world's origin.
    """
    n, core = found
    spin, hessian = twist[..., 3:], bend[..., 1:, 1:]
    carried = twist[..., :3] + cross(spin, core) + turn(S, cross(spin, n))
    right = bend[..., 0, 1:] + turn(hessian, carried)
    n_rate = np.linalg.solve(np.eye(3) + hessian @ S, right[..., None])[..., 0]
    return n_rate, carried - turn(S, n_rate)
