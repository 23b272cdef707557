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

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ...common.arrays import Array
from ...common.lazy import dataclass
from ..zero import OFF, RIM
from .features import Bodies, Meet, PassingPair, Place, at, cross, turned
from .nearest_on_hills import Nearest, NearestPoint, Outline, lowest_bend
from .plain_flats import PlainFlat, Searches
from .shapes import Region

ONWARD = 100  # sides of the directions that lead on: this many, and the number of the direction
ACTING: Region = (0,)  # the one region of what is closed
OPEN: Region = (1,)  # the one of what is open
BENT = 51  # side on which an edge or a face becomes straight
LATER = 0.1  # share of a bend, or a tilt, by which what is closed ends later than the other one begins
NEARLY = 1.25  # bends in units of the least up to which an edge may take over from its ends, wherever it touches
TINY_WAY = 1e-12  # m: a corner or edge that lies on the ground tilts by this much of its own, in radii of curvature


class Settled(NamedTuple):
    """The same at places (...,) around one, analytic: A (..., d, 3) in the world, s, x, phi, N, H and M."""

    along: Array
    way: Array
    core: Array
    distance: Array
    normal: Array
    hessian: Array
    bend: Array


@dataclass(frozen=True, eq=False)
class FlatOnHills(Outline, PassingPair):
    """A corner, an edge or a face of A, or a piece of one, against hills; these stand for B, at the world's origin.

    Attributes:
        those of `Outline`, and
        leasts: the same (k,) of S towards the features that begin here.
        among: the features of its robot that a compiled engine may search for, and its number there; None: none does.
    """

    leasts: Sequence[float] = ()
    among: tuple[Searches, int] | None = None

    extent_b = None

    @property
    def is_distance(self) -> bool:
        """Always: it is a distance, but for OFF."""
        return True

    @property
    def radius_a(self) -> float:  # type: ignore[override]
        """Of what is rounded."""
        return self.radius

    @cached_property
    def extent_a(self) -> float:  # type: ignore[override]
        """Of its samples, and of what is rounded."""
        return float((np.linalg.norm(self.points, axis=1) + self.radii).max())

    def plain(self) -> PlainFlat:
        """Itself as plain data."""
        parts = self.centre, self.along, self.into, self.room, self.onward, self.samples, self.spacing, self.radius
        return PlainFlat("plain", *parts, self.taper, self.least, tuple(self.leasts), None)

    @cached_property
    def search(self) -> NearestPoint:
        """Its nearest point to the ground."""
        return NearestPoint(self, self.among)

    def _onward(self, R: Array, way: Array) -> list[Array]:
        """Directions (..., 3) in the world of the features that begin at ways s (..., d)."""
        return [turned(R, direction) for direction in self.onward]

    def _at(self, place: Place | Bodies, here: Nearest) -> Settled:
        along = self.laid(place.R_a, here.way)[0]
        bend = self.bent(place.R_a, here.way, along, here.normal, here.hessian)
        return Settled(along, here.way, here.core, np.array(here.distance), here.normal, here.hessian, bend)

    def _settled(self, place: Place | Bodies, region: Region = ACTING) -> Settled:
        """The nearest point at places with leading axes and complex steps around one place."""
        lead = place.o_a.shape[:-1]
        R, o = (part.real.reshape(-1, *part.shape[len(lead) :])[0] for part in place[:2])
        real = Place(R, o, np.eye(3), np.zeros(3))
        own = self.search.own(real) if region == OPEN else None
        here = self.search.held(real) if own is None else own
        if not lead and not np.iscomplexobj(place.R_a) and not np.iscomplexobj(place.o_a):
            return self._at(place, here)
        third = self.ground.third(0.0, here.core[None], self.radius_at(here.way)[None]).distance[0, 1:, 1:, 1:]
        along, arm = self.laid(place.R_a, here.way)
        normal, hessian = _grown(here, third, place.o_a + arm)
        bend = self.bent(place.R_a, here.way, along, normal, hessian)
        way = here.way - np.linalg.solve(bend, (along @ normal[..., None]) - self.taper)[..., 0]
        along, arm = self.laid(place.R_a, way)
        core = place.o_a + arm
        normal, hessian = _grown(here, third, core)
        bend, apart = self.bent(place.R_a, way, along, normal, hessian), core - here.core
        distance = here.distance + apart @ here.normal + 0.5 * (apart * (apart @ here.hessian)).sum(axis=-1)
        return Settled(along, way, core, distance, normal, hessian, bend)

    # --- the contract -------------------------------------------------------------------------------------------

    def gap(self, place: Place, region: Region) -> Array:
        """phi(x) - r."""
        found = self._settled(place, region)
        return found.distance - self.radius_at(found.way)

    def meet(self, bodies: Bodies, region: Region) -> Meet:
        """See the equations above; the point on A is x - r n."""
        found = self._settled(bodies, region)
        spin = bodies.V_a[..., 3:]
        carried = at(bodies.V_a, found.core)
        turning = cross(np.broadcast_to(spin[..., None, :], found.along.shape), found.along)
        right = turning @ found.normal[..., None] + found.along @ turned(found.hessian, carried)[..., None]
        slide = -np.linalg.solve(found.bend, right)[..., 0]
        core_rate = carried + (slide[..., None, :] @ found.along)[..., 0, :]
        n_rate, radius = turned(found.hessian, core_rate), self.radius_at(found.way)[..., None]
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
        high = bool(len(self.along)) and not self.search.clearance(place)[1]
        return not high and self._acting(place) is not None

    @property
    def ends_edges(self) -> bool:
        """Whether edges begin at it."""
        return not len(self.along)

    def runs_along(self, place: Place) -> Array | None:
        """Direction (3,) of an edge whose own point is one with those of its ends: it has hardly begun to act."""
        if len(self.along) != 1 or (found := self.search.own(place)) is None:
            return None
        if self.stands_out(place.R_a, found, NEARLY):
            return None
        side = self._at(place, found).along[0] - self.taper * found.normal
        return np.asarray(side / np.linalg.norm(side))

    def _free(self, settled: Settled, place: Place) -> bool:
        """Whether the features that begin here leave it to this one."""
        return all(self._clear(settled, place.R_a, k, False) > 0.0 for k in range(len(self.onward)))

    def _acting(self, place: Place) -> Nearest | None:
        found = self.search.own(place)
        if (search := self.search.looked(place)).told:
            return found if search.acts else None
        if found is None or (len(self.along) == 2 and found.normal @ place.R_a @ np.cross(*self.along) >= 0.0):
            return None  # it has none, or is seen from inside its body
        settled = self._at(place, found)
        return found if self._free(settled, place) else None

    def open_gap(self, place: Place) -> float:
        """The distance of the ball around it where that is well above the ground; else `near_gap`."""
        distance, near = self.search.clearance(place)
        return self.near_gap(place) if near else distance

    def near_gap(self, place: Place) -> float:
        """The distance where it acts; else at least as little as it may be between samples, and OFF.

        What is in the ground by more is below zero, whether it acts or not, if it is not rounded (the ends of what is
        rounded may stand out of the body): features of which each acts for a moment only, as in a long step of a body
        in flight, do not hide that it falls in.
        """
        found = self._acting(place)
        if found is not None:
            return self.gap_of(found)
        low = self.search.looked(place).low
        return low if self._sunk(low) else max(low - self.sag, 0.0) + OFF

    def _sunk(self, low: float) -> bool:
        return low < -OFF and not self.radius

    def lifted(self, place: Place) -> bool:
        """Whether it is in the ground where it does not act: it has no point then that could be another one's."""
        near = self.search.clearance(place)[1]
        return near and self._sunk(self.search.looked(place).low) and self._acting(place) is None

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
            return (lowest_bend(found.bend) / self.least - (1.0 - LATER)) / self.ground.curvature
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
        growth = self.ground.growth(0.0, 0.0, self.widest)
        assert growth is not None
        most = float(growth.curvature[0])
        if not len(self.along):
            return most * speed * speed
        found, least = self.search.own(place), self.least
        if found is not None:
            least = max(0.5 * float(np.linalg.eigvalsh(self.bent_at(place.R_a, found))[0]), least)
        return most * speed * speed + (most * speed + spin) ** 2 / least


def _grown(here: Nearest, third: Array, core: Array) -> tuple[Array, Array]:
    """N and H at points (..., 3) around one, by Taylor's polynomial."""
    way = core - here.core
    bent = (third @ way[..., None, :, None])[..., 0]
    return here.normal + way @ here.hessian + 0.5 * turned(bent, way), here.hessian + bent
