"""Corners, edges and faces of bodies, rounded or not, against hills: ground that is curved and stays as it is.

With the signed distance phi of the ground, N = grad phi, H its second derivative, and the directions A (d, 3) along
which a feature runs (none of a corner, one of an edge, two of a face), the point x = o + R (p + A^T s) of it that is
nearest to the ground, and how it moves, obey

    A N = 0,    (A H A^T) s' = -(w x A) N - A H v,    n = N,    n' = H x',

where v is the velocity of the material at x. Where the radius r + c s of what is rounded grows along an edge, as the
balls in a cone do along its axis, by the sine c of the angle between side and axis, the first of these is A N = c, and
the others stay as they are. It is a least distance where M = A H A^T is positive definite, lies within
the borders of the feature, and where the body leaves the ground along each direction e that leads on from the feature
(from a corner along its edges, from an edge into its faces): e . N > 0. There the next feature takes over: towards it
the distance falls by (e . N)^2 / (2 S), S = e H e - (A H e)^T M^-1 (A H e), to its least value at the way -(e . N) / S,
so that both have one point, one normal and one gap where e . N = 0. A feature ends RIM behind that place and the next
one begins half of RIM behind it. Where S vanishes, on ground that is ruled along e, the next feature has no point of
its own: it lies on the ground where its ends do, which hold it.

Nearly parallel to a ridge that is straight, at a yaw y, M = k y^2 is small: the hump below an edge of length L is
M L^2 / 8 high, and its point runs from end to end while the body rocks by M L, at up to 1.2 sqrt(g / h) where that
is h high.
So an edge has a point of its own where its hump is higher than STRAIGHT_HUMP, M > `least`; below that its ends hold it.
As M rises those that touch do LATER, the edge is hidden meanwhile, and takes over from all of them, wherever its point
is; as M falls they come to the ground at the same M, and the edge ends LATER.

Long edges and wide faces are cut into pieces, features of their own that hand over to each other at their ends, so that
an edge can lie on several humps. One piece has one point: where a ground has two humps below a piece, it is that of the
higher one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...common.arrays import Array
from ...errors import SingularError
from ..zero import OFF, RIM, SETTLED_WAY
from .features import Bodies, Meet, PassingPair, Place, at, cross, turned
from .plain_flats import CompiledFlats, PlainFlat, PlainLowest, Searches
from .shapes import Region

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
ONWARD = 100  # sides of the directions that lead on: this many, and the number of the direction
ACTING: Region = (0,)  # the one region of what is closed
OPEN: Region = (1,)  # the one of what is open
BENT = 51  # side on which an edge or a face becomes straight
LATER = 0.1  # share of a bend, or a tilt, by which what is closed ends later than the other one begins
NEARLY = 1.25  # bends in units of the least up to which an edge may take over from its ends, wherever it touches
TINY_WAY = 1e-12  # m: a corner or edge that lies on the ground tilts by this much of its own, in radii of curvature


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


def _key(place: Place) -> bytes:
    return bytes(np.asarray(place.R_a).tobytes() + np.asarray(place.o_a).tobytes())


def _pose(place: Place) -> Array:
    """R, row by row, and o (1, 12)."""
    return np.concatenate([place.R_a.ravel(), place.o_a])[None]


def _as_nearest(found: PlainLowest) -> Nearest:
    way, core, distance, normal, hessian = found
    return Nearest(np.array(way), np.array(core), distance, np.array(normal), np.array(hessian).reshape(3, 3))


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


class Settled(NamedTuple):
    """The same at places (...,) around one, analytic: A (..., d, 3) in the world, s, x, phi, N, H and M."""

    along: Array
    way: Array
    core: Array
    distance: Array
    normal: Array
    hessian: Array
    bend: Array


def _ends_edges(self: FlatOnHills) -> bool:
    """Whether edges begin at it."""
    return not len(self.along)


def _runs_along(self: FlatOnHills, place: Place) -> Array | None:
    """Direction (3,) of an edge whose own point is one with those of its ends: it has hardly begun to act."""
    if len(self.along) != 1 or (found := self._own(place)) is None or self._stands_out(place, found, NEARLY):
        return None
    side = self._at(place, found).along[0] - self.taper * found.normal
    return np.asarray(side / np.linalg.norm(side))


@dataclass(frozen=True, eq=False)
class FlatOnHills(PassingPair):
    """A corner, an edge or a face of A, or a piece of one, against hills; these stand for B, at the world's origin.

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
        leasts: the same (k,) of S towards the features that begin here.
        among: the features of its robot that a compiled engine may search for, and its number there; None: none does.
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
    leasts: Sequence[float] = ()
    among: tuple[Searches, int] | None = None

    extent_b = None

    @property
    def skippable(self) -> bool:
        """Always: it is a distance, but for OFF."""
        return True

    @property
    def radius_a(self) -> float:  # type: ignore[override]
        """Of what is rounded."""
        return self.radius

    @cached_property
    def points(self) -> Array:
        """The samples (n, 3), in axes of A."""
        return np.asarray(self.centre + self.samples @ self.along)

    @cached_property
    def extent_a(self) -> float:  # type: ignore[override]
        """Of its samples, and of what is rounded."""
        return float((np.linalg.norm(self.points, axis=1) + self.radii).max())

    @cached_property
    def radii(self) -> Array:
        """Of what is rounded, at the samples (n,) [m]."""
        return np.full(len(self.samples), self.radius) + self.taper * self.samples.sum(axis=1)

    @cached_property
    def _widest(self) -> Array:
        """The largest of these (1,) [m]."""
        return self.radii.max(keepdims=True)

    def _radius(self, way: Array) -> Array:
        """Of what is rounded, at ways (..., d) [m]."""
        return np.asarray(self.radius + self.taper * way.sum(axis=-1))

    @cached_property
    def ball(self) -> tuple[Array, float]:
        """Middle (3,), in axes of A, and radius of a ball around it, without the rounding there [m]."""
        middle = 0.5 * (self.points.min(axis=0) + self.points.max(axis=0))
        return middle, (1.0 + self.taper) * float(np.linalg.norm(self.points - middle, axis=1).max())

    @cached_property
    def _sag(self) -> float:
        """By how much it may be nearer to the ground between samples [m]."""
        growth = self.ground.growth(0.0, 0.0, self._widest)
        assert growth is not None
        return 0.5 * float(growth.curvature[0]) * self.spacing**2

    # --- by a compiled engine -----------------------------------------------------------------------------------

    def plain(self) -> PlainFlat:
        """Itself as plain data."""
        parts = self.centre, self.along, self.into, self.room, self.onward, self.samples, self.spacing, self.radius
        return PlainFlat("plain", *parts, self.taper, self.least, tuple(self.leasts), None)

    @property
    def _compiled(self) -> tuple[CompiledFlats, int] | None:
        found = None if self.among is None else self.among[0].compiled
        return None if self.among is None or found is None else (found, self.among[1])

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

    # --- the nearest point --------------------------------------------------------------------------------------

    @property
    def _runs(self) -> Array:
        """A (n, d, 3), or (d, 3) where it is one, at the samples, in axes of A."""
        return self.along

    def _laid(self, R: Array, way: Array) -> tuple[Array, Array]:
        """A (..., d, 3) in the world at ways s (..., d), and the points there from the origin of A (..., 3)."""
        along = self.along @ np.swapaxes(R, -1, -2)
        return along, turned(R, self.centre) + (way[..., None, :] @ along)[..., 0, :]

    def _bent(self, R: Array, way: Array, along: Array, normal: Array, hessian: Array) -> Array:
        """M (..., d, d), how the slopes along the feature change."""
        return along @ hessian @ np.swapaxes(along, -1, -2)

    def _onward(self, R: Array, way: Array) -> list[Array]:
        """Directions (..., 3) in the world of the features that begin at ways s (..., d)."""
        return [turned(R, direction) for direction in self.onward]

    @cached_property
    def _beside(self) -> Array:
        """Mask (n, n) of samples that lie next to each other."""
        apart = np.linalg.norm(self._ways, axis=-1)
        return np.asarray((apart <= 2.01 * self.spacing) & ~np.eye(len(apart), dtype=bool))

    @cached_property
    def _known(self) -> dict[bytes, Search]:
        """What was found at the last places: gap, its region, margins, rows and frame ask for the same ones."""
        return {}

    def _looked(self, place: Place) -> Search:
        """Where the nearest point is looked for at a place."""
        key = _key(place)
        if key not in self._known:
            found = self._told(place)
            if found is not None:
                return self._keep(key, found)
            points = self.points @ place.R_a.T + place.o_a
            gaps = self.ground.gaps(0.0, points, self.radii)
            normals = self.ground.normals_below(0.0, points, self.radii)
            self.tell(place, gaps, normals)
        return self._known[key]

    def tell(self, place: Place, gaps: Array, normals: Array) -> None:
        """What the ground is at the samples, their gaps (n,) and normals (n, 3), asked of many features at a time."""
        key = _key(place)
        if key not in self._known:
            self._keep(key, self._begun(place, gaps, normals))

    def _keep(self, key: bytes, found: Search) -> Search:
        if len(self._known) >= KEPT:
            self._known.clear()
        self._known[key] = found
        return found

    def _begun(self, place: Place, gaps: Array, normals: Array) -> Search:
        """With each of the samples from which the distance does not go on falling to one of those beside it."""
        lowest = int(np.argmin(gaps))
        low = float(self.ground.at_least(gaps[[lowest]], self._widest)[0])
        if len(self.along) and low > 2.0 * self._sag + SEEN * self.spacing:
            return Search(low - self._sag, [], [], normals[:0])
        slopes = ((self._runs @ place.R_a.T) @ normals[..., None])[..., 0] - self.taper
        tangents, lower = (self._ways @ slopes[..., None])[..., 0], gaps - gaps[:, None]
        on = self._beside & (tangents < 0.0) & (lower < 0.0) & (tangents >= STRAIGHT * lower)
        starts = np.flatnonzero(~on.any(axis=1))
        starts = starts[np.argsort(gaps[starts])]
        ways = [self.samples[k] for k in starts.tolist()]
        return Search(float(gaps[lowest]), gaps[starts].tolist(), ways, normals[starts])

    def _leads(self, place: Place, search: Search, k: int) -> bool:
        """Whether one of the starts may lead to a point with which the feature acts."""
        return True

    @cached_property
    def _ways(self) -> Array:
        """Ways (n, n, d) from each of the samples to each."""
        return np.asarray(self.samples - self.samples[:, None])

    def _gap(self, found: Nearest) -> float:
        return found.distance - float(self._radius(found.way))

    def _inside(self, found: Nearest) -> float:
        """How far a point is within the borders [m]."""
        return float((self.into @ found.way + self.room).min(initial=np.inf))

    def _reached(self, place: Place, search: Search, k: int, within: bool = False) -> Nearest | None:
        """The point of least distance that is found from one of the starts; `within`: one within the borders counts."""
        if k not in search.found and not (within and k in search.outside):
            found = self._from(place, search.starts[k], within)
            if within and found is None:
                search.outside.add(k)
            else:
                search.found[k] = found
        return search.found.get(k)

    def _own(self, place: Place) -> Nearest | None:
        """The nearest one of the points within its borders; None: there is none."""
        search, least = self._looked(place), None
        if search.told:
            return search.own
        for k, gap in enumerate(search.gaps):
            if least is not None and gap - self._sag > self._gap(least):
                break
            found = self._reached(place, search, k, within=True) if self._leads(place, search, k) else None
            if found is not None and self._inside(found) > 0.5 * RIM and self._stands_out(place, found, 1.0):
                least = found if least is None or self._gap(found) < self._gap(least) else least
        return least

    def _nearest(self, place: Place) -> Nearest:
        """The point of a closed contact, which touches, within its borders or beyond.

        Of several that touch it is that in its borders, or closest to them: others are those of its neighbours.

        Raises:
            SingularError: it is not found.
        """
        search, least, rank = self._looked(place), None, (True, np.inf)
        if search.told:
            search.nearest = search.nearest or self._told_nearest(place)
            return search.nearest or replace(self, among=None)._nearest(place)
        for k in sorted(range(len(search.gaps)), key=lambda k: abs(search.gaps[k])):
            found = self._reached(place, search, k)
            if found is None:
                continue
            off, outside = abs(self._gap(found)), max(-self._inside(found), 0.0)
            own = off > HELD, outside if off <= HELD else off
            if own < rank:
                least, rank = found, own
            if off <= HELD and outside <= RIM:
                break
        if least is None:
            where = ", ".join(f"{c:.4g}" for c in place.R_a @ self.centre + place.o_a)
            raise SingularError(
                f"the point of an edge or a face near ({where}) m that is nearest to the ground is not found; make the"
                " hills smoother, or the bodies smaller"
            )
        return least

    def _from(self, place: Place, way: Array, within: bool = False) -> Nearest | None:
        """Newton's method from one of the samples, downhill where the distance is not convex.

        No step is longer than `spacing`, and than half of that each time that the way turns back. `within` says that
        points out of the borders do not count: a way that goes on outwards, behind a step beyond them, is given up. A
        least distance within them has a sample so close that the way from there does not leave.
        """
        farthest, inside = self.spacing if within else BEYOND * self.ball[1], 0.0
        last, limit = np.inf, self.spacing
        before, least = np.zeros(len(way)), (1.0 if within else 0.5) * self.least
        for _ in range(ROUNDS):
            along, arm = self._laid(place.R_a, way)
            core = place.o_a + arm
            try:
                ground = self.ground.near(0.0, core[None], self._radius(way)[None])
            except SingularError:  # it is too high above the ground, or too deep in it, for one nearest point
                return None
            normal, hessian = ground.normal[0], ground.hessian[0]
            here = Nearest(way, core, float(ground.distance[0]), normal, hessian)
            if not len(way):
                return here
            slope, bend = along @ normal - self.taper, self._bent(place.R_a, way, along, normal, hessian)
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
            was, inside = inside, self._inside(here._replace(way=way))
            if inside < -farthest and inside < was:
                return None
        return None

    def _stands_out(self, place: Place, here: Nearest, share: float) -> bool:
        """Whether the ground bends by more than a share of the least bend there."""
        return not len(here.way) or float(_lowest(self._at(place, here).bend)) > share * self.least

    def _at(self, place: Place | Bodies, here: Nearest) -> Settled:
        along = self._laid(place.R_a, here.way)[0]
        bend = self._bent(place.R_a, here.way, along, here.normal, here.hessian)
        return Settled(along, here.way, here.core, np.array(here.distance), here.normal, here.hessian, bend)

    def _settled(self, place: Place | Bodies, region: Region = ACTING) -> Settled:
        """The nearest point at places with leading axes and complex steps around one place."""
        lead = place.o_a.shape[:-1]
        R, o = (part.real.reshape(-1, *part.shape[len(lead) :])[0] for part in place[:2])
        real = Place(R, o, np.eye(3), np.zeros(3))
        own = self._own(real) if region == OPEN else None
        here = self._nearest(real) if own is None else own
        if not lead and not np.iscomplexobj(place.R_a) and not np.iscomplexobj(place.o_a):
            return self._at(place, here)
        third = self.ground.third(0.0, here.core[None], self._radius(here.way)[None]).distance[0, 1:, 1:, 1:]
        along, arm = self._laid(place.R_a, here.way)
        normal, hessian = _grown(here, third, place.o_a + arm)
        bend = self._bent(place.R_a, here.way, along, normal, hessian)
        way = here.way - np.linalg.solve(bend, (along @ normal[..., None]) - self.taper)[..., 0]
        along, arm = self._laid(place.R_a, way)
        core = place.o_a + arm
        normal, hessian = _grown(here, third, core)
        bend, apart = self._bent(place.R_a, way, along, normal, hessian), core - here.core
        distance = here.distance + apart @ here.normal + 0.5 * (apart * (apart @ here.hessian)).sum(axis=-1)
        return Settled(along, way, core, distance, normal, hessian, bend)

    # --- the contract -------------------------------------------------------------------------------------------

    def gap(self, place: Place, region: Region) -> Array:
        """phi(x) - r."""
        found = self._settled(place, region)
        return found.distance - self._radius(found.way)

    def meet(self, bodies: Bodies, region: Region) -> Meet:
        """See the equations above; the point on A is x - r n."""
        found = self._settled(bodies, region)
        spin = bodies.V_a[..., 3:]
        carried = at(bodies.V_a, found.core)
        turning = cross(np.broadcast_to(spin[..., None, :], found.along.shape), found.along)
        right = turning @ found.normal[..., None] + found.along @ turned(found.hessian, carried)[..., None]
        slide = -np.linalg.solve(found.bend, right)[..., 0]
        core_rate = carried + (slide[..., None, :] @ found.along)[..., 0, :]
        n_rate, radius = turned(found.hessian, core_rate), self._radius(found.way)[..., None]
        growth = self.taper * slide.sum(axis=-1)[..., None]
        x_rate = core_rate - radius * n_rate - growth * found.normal
        return Meet(found.core - radius * found.normal, x_rate, found.normal, n_rate)

    def region(self, place: Place) -> Region:
        """The one there is."""
        return ACTING

    def open_region(self, place: Place) -> Region:
        """That in which the point within its borders counts, and none beyond them that touches, of another feature."""
        return OPEN

    def acts(self, place: Place) -> bool:
        """Whether it has a nearest point of its own, and no other feature is nearer there.

        Of an edge or a face well above the ground that is not asked.
        """
        high = bool(len(self.along)) and not self._clearance(place)[1]
        return not high and self._acting(place) is not None

    ends_edges = property(_ends_edges)
    runs_along = _runs_along

    def _free(self, settled: Settled, place: Place) -> bool:
        """Whether the features that begin here leave it to this one."""
        return all(self._clear(settled, place.R_a, k, False) > 0.0 for k in range(len(self.onward)))

    def _clearance(self, place: Place) -> tuple[float, bool]:
        if (compiled := self._compiled) is not None and (
            seen := compiled[0].looks([compiled[1]], _pose(place))
        ) is not None:
            return float(seen[0, 0]), bool(seen[0, 1])
        middle, span = self.ball
        centre, radius = (place.R_a @ middle + place.o_a)[None], np.array([self.radius])
        distance, near = clearances(self.ground, centre, np.array([span]), radius)
        return float(distance[0]), bool(near[0])

    def _acting(self, place: Place) -> Nearest | None:
        found = self._own(place)
        if (search := self._looked(place)).told:
            return found if search.acts else None
        if found is None or (len(self.along) == 2 and found.normal @ place.R_a @ np.cross(*self.along) >= 0.0):
            return None  # it has none, or is seen from inside its body
        settled = self._at(place, found)
        return found if self._free(settled, place) else None

    def open_gap(self, place: Place) -> float:
        """The distance of the ball around it where that is well above the ground; else `near_gap`."""
        distance, near = self._clearance(place)
        return self.near_gap(place) if near else distance

    def near_gap(self, place: Place) -> float:
        """The distance where it acts; else at least as little as it may be between samples, and OFF.

        What is in the ground by more is below zero, whether it acts or not, if it is not rounded (the ends of what is
        rounded may stand out of the body): features of which each acts for a moment only, as in a long step of a body
        in flight, do not hide that it falls in.
        """
        found = self._acting(place)
        if found is not None:
            return self._gap(found)
        low = self._looked(place).low
        return low if self._sunk(low) else max(low - self._sag, 0.0) + OFF

    def _sunk(self, low: float) -> bool:
        return low < -OFF and not self.radius

    def lifted(self, place: Place) -> bool:
        """Whether it is in the ground where it does not act: it has no point then that could be another one's."""
        return self._clearance(place)[1] and self._sunk(self._looked(place).low) and self._acting(place) is None

    def sides(self, region: Region) -> tuple[int, ...]:
        """Its borders, from 1 on, the directions that lead on from it, and its bend."""
        bent = (BENT,) if len(self.along) else ()
        return *range(1, len(self.room) + 1), *range(ONWARD, ONWARD + len(self.onward)), *bent

    def margin(self, place: Place, region: Region, side: int) -> Array:
        """Distance of the nearest point from a border, and RIM; or what tells of another feature that is nearer.

        Of its bend: M / least, less that from which on it is straight, in radii of curvature.
        """
        found = self._settled(place)
        if side == BENT:
            return (_lowest(found.bend) / self.least - (1.0 - LATER)) / self.ground.curvature
        if side >= ONWARD:
            return self._clear(found, place.R_a, side - ONWARD, True)
        return found.way @ self.into[side - 1] + self.room[side - 1] + RIM

    def _clear(self, found: Settled, R: Array, k: int, closed: bool) -> Array:
        """(e . N + S RIM) / curvature, where the ground bends along e [m]; half of RIM while it is open.

        It is zero where the next feature touches that far from where it begins, or nearer. Where S is less than the
        least bend of that one, or LATER more while it is closed, it is not passed: what is left of that stands for
        e . N.
        """
        e = self._onward(R, found.way)[k]
        across = turned(found.hessian, e)
        mixed = (found.along @ across[..., None])[..., 0]
        bend = (e * across).sum(axis=-1) - (mixed * np.linalg.solve(found.bend, mixed[..., None])[..., 0]).sum(axis=-1)
        rising, curvature = (e * found.normal).sum(axis=-1), self.ground.curvature
        rising = rising - self.taper * float(np.linalg.norm(self.onward[k]))
        rim, straight = (RIM, 1.0 + LATER) if closed else (0.5 * RIM, 1.0)
        straight = (straight - bend / self.leasts[k]) / curvature
        risen = (rising + rim * bend) / curvature + TINY_WAY
        return np.where(straight.real > risen.real, straight, risen)

    def piece(self, place: Place, region: Region) -> Region | None:
        """Where it acts."""
        return region if self.acts(place) else None

    def bend(self, place: Place, speed: float, spin: float, duration: float) -> float:
        """k v^2 + (k v + w)^2 / m with the curvature k of the ground and half of the least curvature m along it."""
        growth = self.ground.growth(0.0, 0.0, self._widest)
        assert growth is not None
        most = float(growth.curvature[0])
        if not len(self.along):
            return most * speed * speed
        found, least = self._own(place), self.least
        if found is not None:
            least = max(0.5 * float(np.linalg.eigvalsh(self._at(place, found).bend)[0]), least)
        return most * speed * speed + (most * speed + spin) ** 2 / least


def _lowest(bend: Array) -> Array:
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


def _grown(here: Nearest, third: Array, core: Array) -> tuple[Array, Array]:
    """N and H at points (..., 3) around one, by Taylor's polynomial."""
    way = core - here.core
    bent = (third @ way[..., None, :, None])[..., 0]
    return here.normal + way @ here.hessian + 0.5 * turned(bent, way), here.hessian + bent
