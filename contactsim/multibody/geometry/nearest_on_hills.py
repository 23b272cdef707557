"""The point of a corner, an edge or a face that is nearest to hills, and the search for it: see `hill_features`."""

from __future__ import annotations

import math
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...common.arrays import Array
from ...common.lazy import dataclass
from ...errors import SingularError
from ..zero import OFF, RIM, SETTLED_WAY
from .features import Place, turned
from .plain_flats import CompiledFlats, PlainLowest, Searches

if TYPE_CHECKING:
    from ..terrain.hills import Hills

ROUNDS = 40  # of Newton's method; from the nearest sample some five do
KEPT = 8  # nearest points of so many places
SEEN = 0.02  # spacings of samples above the ground, and twice their sag, from which on features are well above it
HELD = 1e-9  # m: the nearest point of a closed contact is no farther off, but within trial steps
LEVEL = 1e-12  # slope of what runs level
EYE = np.eye(1)
NONE = np.zeros((0, 3))
STRAIGHT = 1.5  # times the fall to a sample that the tangent may fall: of a parabola with its least value there twice
BEYOND = 4.0  # radii of the ball around a piece up to which its nearest point is followed beyond its borders


class Nearest(NamedTuple):
    """The point of a feature nearest to the ground.

    Attributes:
        way: s (d,) [m].
        core: x (3,), without the rounding [m].
        distance: phi there [m].
        normal, hessian: N (3,) and H (3, 3) there.
    """

    way: Array
    core: Array
    distance: float
    normal: Array
    hessian: Array


@dataclass(eq=False)
class Search:
    """Where the nearest point of a feature is looked for.

    Attributes:
        low: gap of the lowest sample, or a lower bound of the gap of a feature that is well above the ground [m].
        gaps, starts: gaps [m] of samples and their ways s (d,), from the lowest on; none of what is well above it.
        normals: of the ground (n, 3) below these.
        found: what was found from some of them.
        outside: those from which nothing was found within the borders.
        told: whether a compiled engine tells of what is found: `acts`, and then `own` and `nearest` where it has them.
    """

    low: float
    gaps: list[float]
    starts: list[Array]
    normals: Array
    found: dict[int, Nearest | None] = field(default_factory=dict)
    outside: set[int] = field(default_factory=set)
    told: bool = False
    acts: bool = False
    own: Nearest | None = None
    nearest: Nearest | None = None


@dataclass(frozen=True, eq=False)
class Outline:
    """Where a corner, an edge or a face of a body lies, or a piece of one, whose nearest point to hills is looked for.

    Attributes:
        ground: the hills.
        centre: p (3,), in axes of A [m].
        along: A (d, 3), unit vectors at right angles; of a face they turn counter-clockwise, seen from outside.
        into, room: unit vectors (m, d) and numbers (m,): within its borders into . s + room > 0. Of the side of a cone
            s counts along its axis, and these along the side: they are shorter.
        onward: directions e (k, 3) of the features that begin here, unit vectors at right angles to `along`; from the
            tip of a cone along its axis, as far as it is a unit along the side.
        samples: ways s (n, d) on it among which the nearest point is looked for.
        spacing: no point of it is farther from a sample [m].
        radius: of what is rounded around it, where s = 0 [m].
        taper: c, by which that grows along an edge, and along the edges that begin at a corner.
        least: of M, below which the ground is straight along it: it does not act [1/m].
    """

    ground: Hills
    centre: Array
    along: Array
    into: Array
    room: Array
    onward: Array
    samples: Array
    spacing: float
    radius: float = 0.0
    taper: float = 0.0
    least: float = 0.0

    @cached_property
    def points(self) -> Array:
        """The samples (n, 3), in axes of A."""
        return np.asarray(self.centre + self.samples @ self.along)

    @cached_property
    def radii(self) -> Array:
        """Of what is rounded, at the samples (n,) [m]."""
        return np.full(len(self.samples), self.radius) + self.taper * self.samples.sum(axis=1)

    @cached_property
    def widest(self) -> Array:
        """The largest of these (1,) [m]."""
        return self.radii.max(keepdims=True)

    def radius_at(self, way: Array) -> Array:
        """Of what is rounded, at ways (..., d) [m]."""
        return np.asarray(self.radius + self.taper * way.sum(axis=-1))

    @cached_property
    def ball(self) -> tuple[Array, float]:
        """Middle (3,), in axes of A, and radius of a ball around it, without the rounding there [m]."""
        middle = 0.5 * (self.points.min(axis=0) + self.points.max(axis=0))
        return middle, (1.0 + self.taper) * float(np.linalg.norm(self.points - middle, axis=1).max())

    @cached_property
    def sag(self) -> float:
        """By how much it may be nearer to the ground between samples [m]."""
        growth = self.ground.growth(0.0, 0.0, self.widest)
        assert growth is not None
        return 0.5 * float(growth.curvature[0]) * self.spacing**2

    @property
    def runs(self) -> Array:
        """A (n, d, 3), or (d, 3) where it is one, at the samples, in axes of A."""
        return self.along

    @cached_property
    def ways(self) -> Array:
        """Ways (n, n, d) from each of the samples to each."""
        return np.asarray(self.samples - self.samples[:, None])

    @cached_property
    def beside(self) -> Array:
        """Mask (n, n) of samples that lie next to each other."""
        apart = np.linalg.norm(self.ways, axis=-1)
        return np.asarray((apart <= 2.01 * self.spacing) & ~np.eye(len(apart), dtype=bool))

    def laid(self, R: Array, way: Array) -> tuple[Array, Array]:
        """A (..., d, 3) in the world at ways s (..., d), and the points there from the origin of A (..., 3)."""
        along = self.along @ np.swapaxes(R, -1, -2)
        return along, turned(R, self.centre) + (way[..., None, :] @ along)[..., 0, :]

    def bent(self, R: Array, way: Array, along: Array, normal: Array, hessian: Array) -> Array:
        """M (..., d, d), how the slopes along the feature change."""
        return along @ hessian @ np.swapaxes(along, -1, -2)

    def bent_at(self, R: Array, here: Nearest) -> Array:
        """M (d, d) at a point of it, where it is turned by R."""
        along = self.laid(R, here.way)[0]
        return self.bent(R, here.way, along, here.normal, here.hessian)

    def stands_out(self, R: Array, here: Nearest, share: float = 1.0) -> bool:
        """Whether the ground bends by more than a share of the least bend there."""
        return not len(here.way) or float(lowest_bend(self.bent_at(R, here))) > share * self.least

    def leads(self, place: Place, search: Search, k: int) -> bool:
        """Whether one of the starts may lead to a point with which the feature acts."""
        return True

    def gap_of(self, found: Nearest) -> float:
        """How far a point is from the ground, with the rounding there [m]."""
        return found.distance - float(self.radius_at(found.way))

    def inside(self, found: Nearest) -> float:
        """How far a point is within the borders [m]."""
        return float((self.into @ found.way + self.room).min(initial=np.inf))


class NearestPoint:
    """The point of an outline that is nearest to the ground: how far it is, and the search for it, place by place.

    Args:
        of: the outline.
        among: the features of its robot that a compiled engine may search for, and its number there; None: none does.
    """

    def __init__(self, of: Outline, among: tuple[Searches, int] | None = None) -> None:
        self.of, self._among = of, among
        self._known: dict[bytes, Search] = {}  # at the last places: gap, margins, rows and frame ask for the same ones

    def clearance(self, place: Place) -> tuple[float, bool]:
        """A lower bound of the distance of the ball around it [m], and whether it is near the ground."""
        if (compiled := self._compiled) is not None and (
            seen := compiled[0].looks([compiled[1]], _pose(place))
        ) is not None:
            return float(seen[0, 0]), bool(seen[0, 1])
        middle, span = self.of.ball
        centre, radius = (place.R_a @ middle + place.o_a)[None], np.array([self.of.radius])
        distance, near = clearances(self.of.ground, centre, np.array([span]), radius)
        return float(distance[0]), bool(near[0])

    def looked(self, place: Place) -> Search:
        """Where the nearest point is looked for at a place."""
        key = _key(place)
        if key not in self._known:
            found = self._told(place)
            if found is not None:
                return self._keep(key, found)
            ground, points, radii = self.of.ground, self.of.points @ place.R_a.T + place.o_a, self.of.radii
            self.tell(place, ground.gaps(0.0, points, radii), ground.normals_below(0.0, points, radii))
        return self._known[key]

    def tell(self, place: Place, gaps: Array, normals: Array) -> None:
        """What the ground is at the samples, their gaps (n,) and normals (n, 3), asked of many features at a time."""
        key = _key(place)
        if key not in self._known:
            self._keep(key, self._begun(place, gaps, normals))

    def own(self, place: Place) -> Nearest | None:
        """The nearest one of the points within its borders; None: there is none."""
        of, search, least = self.of, self.looked(place), None
        if search.told:
            return search.own
        for k, gap in enumerate(search.gaps):
            if least is not None and gap - of.sag > of.gap_of(least):
                break
            found = self._reached(place, search, k, within=True) if of.leads(place, search, k) else None
            if found is not None and of.inside(found) > 0.5 * RIM and of.stands_out(place.R_a, found):
                least = found if least is None or of.gap_of(found) < of.gap_of(least) else least
        return least

    def held(self, place: Place) -> Nearest:
        """The point of a closed contact, which touches, within its borders or beyond.

        Of several that touch it is that in its borders, or closest to them: others are those of its neighbours.

        Raises:
            SingularError: it is not found.
        """
        search, least, rank = self.looked(place), None, (True, np.inf)
        if search.told:
            search.nearest = search.nearest or self._told_nearest(place)
            return search.nearest or NearestPoint(self.of).held(place)
        for k in sorted(range(len(search.gaps)), key=lambda k: abs(search.gaps[k])):
            found = self._reached(place, search, k)
            if found is None:
                continue
            off, outside = abs(self.of.gap_of(found)), max(-self.of.inside(found), 0.0)
            own = off > HELD, outside if off <= HELD else off
            if own < rank:
                least, rank = found, own
            if off <= HELD and outside <= RIM:
                break
        if least is None:
            where = ", ".join(f"{c:.4g}" for c in place.R_a @ self.of.centre + place.o_a)
            raise SingularError(
                f"the point of an edge or a face near ({where}) m that is nearest to the ground is not found; make the"
                " hills smoother, or the bodies smaller"
            )
        return least

    @property
    def _compiled(self) -> tuple[CompiledFlats, int] | None:
        found = None if self._among is None else self._among[0].compiled
        return None if self._among is None or found is None else (found, self._among[1])

    def _told(self, place: Place) -> Search | None:
        """What a compiled engine sees at a place; None: Python looks."""
        if (compiled := self._compiled) is None or (seen := compiled[0].look(compiled[1], _pose(place))) is None:
            return None
        low, acts, own = seen
        return Search(low, [], [], NONE, told=True, acts=acts, own=None if own is None else _as_nearest(own))

    def _told_nearest(self, place: Place) -> Nearest | None:
        compiled = self._compiled
        found = None if compiled is None else compiled[0].nearest(compiled[1], _pose(place))
        return None if found is None else _as_nearest(found)

    def _keep(self, key: bytes, found: Search) -> Search:
        if len(self._known) >= KEPT:
            self._known.clear()
        self._known[key] = found
        return found

    def _begun(self, place: Place, gaps: Array, normals: Array) -> Search:
        """With each of the samples from which the distance does not go on falling to one of those beside it."""
        of, lowest = self.of, int(np.argmin(gaps))
        low = float(of.ground.at_least(gaps[[lowest]], of.widest)[0])
        if len(of.along) and low > 2.0 * of.sag + SEEN * of.spacing:
            return Search(low - of.sag, [], [], normals[:0])
        slopes = ((of.runs @ place.R_a.T) @ normals[..., None])[..., 0] - of.taper
        tangents, lower = (of.ways @ slopes[..., None])[..., 0], gaps - gaps[:, None]
        on = of.beside & (tangents < 0.0) & (lower < 0.0) & (tangents >= STRAIGHT * lower)
        starts = np.flatnonzero(~on.any(axis=1))
        starts = starts[np.argsort(gaps[starts])]
        ways = [of.samples[k] for k in starts.tolist()]
        return Search(float(gaps[lowest]), gaps[starts].tolist(), ways, normals[starts])

    def _reached(self, place: Place, search: Search, k: int, within: bool = False) -> Nearest | None:
        """The point of least distance that is found from one of the starts; `within`: one within the borders counts."""
        if k not in search.found and not (within and k in search.outside):
            found = self._from(place, search.starts[k], within)
            if within and found is None:
                search.outside.add(k)
            else:
                search.found[k] = found
        return search.found.get(k)

    def _from(self, place: Place, way: Array, within: bool = False) -> Nearest | None:
        """Newton's method from one of the samples, downhill where the distance is not convex.

        No step is longer than `spacing`, and than half of that each time that the way turns back. `within` says that
        points out of the borders do not count: a way that goes on outwards, behind a step beyond them, is given up. A
        least distance within them has a sample so close that the way from there does not leave.
        """
        of, last, limit = self.of, np.inf, self.of.spacing
        farthest, inside = of.spacing if within else BEYOND * of.ball[1], 0.0
        before, least = np.zeros(len(way)), (1.0 if within else 0.5) * of.least
        for _ in range(ROUNDS):
            along, arm = of.laid(place.R_a, way)
            core = place.o_a + arm
            try:
                ground = of.ground.near(0.0, core[None], of.radius_at(way)[None])
            except SingularError:  # it is too high above the ground, or too deep in it, for one nearest point
                return None
            normal, hessian = ground.normal[0], ground.hessian[0]
            here = Nearest(way, core, float(ground.distance[0]), normal, hessian)
            if not len(way):
                return here
            slope, bend = along @ normal - of.taper, of.bent(place.R_a, way, along, normal, hessian)
            values, axes = (bend[0], EYE) if len(way) == 1 else np.linalg.eigh(bend)
            steps = -(axes.T @ slope)
            downhill = limit * np.sign(steps) * (np.abs(steps) > LEVEL)
            steps = np.where(values > least, steps / np.maximum(values, least), downhill)
            size = math.sqrt(float(steps @ steps))
            if size <= SETTLED_WAY or (size <= RIM and size >= last):
                return here if values[0] > least else None
            step = axes @ (steps * min(1.0, limit / size))
            limit *= 0.5 if step @ before < 0.0 else 1.0
            way, last, before = way + step, size, step
            was, inside = inside, of.inside(here._replace(way=way))
            if inside < -farthest and inside < was:
                return None
        return None


def _key(place: Place) -> bytes:
    return bytes(np.asarray(place.R_a).tobytes() + np.asarray(place.o_a).tobytes())


def _pose(place: Place) -> Array:
    """R, row by row, and o (1, 12)."""
    return np.concatenate([place.R_a.ravel(), place.o_a])[None]


def _as_nearest(found: PlainLowest) -> Nearest:
    way, core, distance, normal, hessian = found
    return Nearest(np.array(way), np.array(core), distance, np.array(normal), np.array(hessian).reshape(3, 3))


def lowest_bend(bend: Array) -> Array:
    """The least eigenvalue (...) of M (..., d, d); analytic."""
    if bend.shape[-1] == 1:
        return np.asarray(bend[..., 0, 0])
    half, mixed = 0.5 * (bend[..., 0, 0] - bend[..., 1, 1]), bend[..., 0, 1]
    return np.asarray(0.5 * (bend[..., 0, 0] + bend[..., 1, 1]) - np.sqrt(half * half + mixed * mixed))


def clearances(ground: Hills, middles: Array, spans: Array, radii: Array) -> tuple[Array, Array]:
    """Lower bounds of the distances (n,) of balls around features [m], and which of them (n,) are near the ground.

    Args:
        ground: the hills.
        middles, spans: of the balls, (n, 3) in the world, and their radii (n,) [m].
        radii: of what is rounded (n,) [m].
    """
    found = ground.at_least(ground.gaps(0.0, middles, radii), radii) - spans
    return found, found <= np.maximum(spans, OFF)
