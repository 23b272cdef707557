"""Two round bodies that give way: cylinders, cones and capsules on each other, one contact of both by their distance.

Each of them is the hull of two pieces on its axis: of two discs, which are spheroids (see `yielding_rims`), of a disc
and the tip, or of two balls. With the support function h(m) = max over both pieces of m . c + T(m) the distance is

    g = max over unit n of  n . (o_A - o_B) - h_A(-n) - h_B(n),

inside, where it is negative, the least way that parts them. It is continuous wherever both are. The largest n has one
piece of each body, or both of one, or of both: these nine are the regions, ends (0 and 1) and side (2) of A and B.
Where a piece hands over to the side beside it, both have one point, one normal and one gap: g and its gradient go on
without a jump, and there is nothing to hand over but the name. Where two normals far from each other are as good, the
least way out is another one from there on: depth and stored energy are the same, normal and point jump. Both are
events: a contact is held in its region, in which its gap goes on smoothly beyond the end of that, and has three sides,
the ends of the features of A and B and the other normals.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from ...common.arrays import Array
from ...common.lazy import dataclass
from ...errors import SimulationError, SingularError
from ..zero import BULGE, FAR_BODIES, OFF, PARALLEL_EDGES, ROUND_RIM, TIED
from .closest_points.equations import Pose, Settled, across_slants, settled, side
from .closest_points.features import Ellipsoid, Feature, Line, Point, Slant
from .closest_points.search import closest
from .features import PassingPair, Place, Recent, key_of, one_of, poses_of, turned_back
from .nearest_features import RootedFeatures, around
from .rims import Z
from .shapes import Region
from .yielding_rims import SAMPLES, Hills, spheroid

SIDE = 2  # beside the pieces 0, below, and 1
OWN, OTHER, ELSEWHERE = 1, 2, 3  # sides on which a region can be left: ends of the features of A, of B, other normals
ONE_WAY_OUT = 1e-3  # rad: normals that are nearer are of one maximum
BEYOND = 0.1  # lengths of a body by which another piece may be farther out at the normals among which one is held
POLISHES = 6  # steps of Newton's method to a normal, until they grow


@dataclass(frozen=True, eq=False)
class RoundBody:
    """A cylinder, cone or capsule around z, its middle at the origin.

    Attributes:
        kind: which one.
        radius: of its discs, or around its line [m].
        half: half of the distance of its pieces [m].
    """

    kind: str
    radius: float
    half: float

    @cached_property
    def ends(self) -> tuple[Feature, Feature]:
        """The pieces below and above."""
        low, high = -self.half * Z, self.half * Z
        if self.kind == "capsule":
            return Point(low, self.radius), Point(high, self.radius)
        return spheroid(low, self.radius), Point(high) if self.kind == "cone" else spheroid(high, self.radius)

    @cached_property
    def sine(self) -> float:
        """s of the normals of its side, m . z = s: those with which both pieces are as far out."""
        if self.kind != "cone":
            return 0.0
        return self.radius / float(np.sqrt(4.0 * self.half**2 + self.radius**2 * (1.0 - BULGE**2)))

    @cached_property
    def side(self) -> Feature:
        """The lines between both pieces."""
        if self.kind == "cone":
            return Slant(self.half * Z, Z, self.sine)
        return Line(np.zeros(3), Z, self.radius)

    @cached_property
    def span(self) -> tuple[float, float]:
        """From where to where points of the side are [m]."""
        bulge = (BULGE * self.radius) ** 2 / (2.0 * self.half) if self.kind == "cone" else 0.0
        return -self.half + bulge, self.half

    @property
    def reach(self) -> float:
        """Its largest distance from the origin [m]."""
        return self.half + self.radius if self.kind == "capsule" else float(np.hypot(self.half, self.radius))

    def feature(self, number: int) -> Feature:
        """A piece, or the side."""
        return self.side if number == SIDE else self.ends[number]

    def out(self, m: Array) -> tuple[Array, Array]:
        """How far (...) the pieces are out along m (..., 3), in its axes [m]."""
        across = m[..., 0] ** 2 + m[..., 1] ** 2
        heights = []
        for end in self.ends:
            if isinstance(end, Ellipsoid):
                size = self.radius * np.sqrt(across + (BULGE * m[..., 2]) ** 2)
            else:
                size = np.sqrt(across + m[..., 2] ** 2) * end.offset
            heights.append(m[..., 2] * end.centre[2] + size)
        return heights[0], heights[1]

    def lead(self, number: int, m: Array) -> Array:
        """By how much (...) a piece is farther out than the other one [m]."""
        low, high = self.out(m)
        return low - high if number == 0 else high - low

    def within(self, slide: Array) -> Array:
        """How far (...) a point of the side is from its nearer end, by its slide [m]."""
        low, high = self.span
        height = self.side.centre[2] + (1.0 - self.sine**2) * slide
        return np.where(height.real < 0.5 * (low + high), height - low, high - height)


class Candidate(NamedTuple):
    """A region with a normal n (3,) that is the best in it, in the world, and the distance along that [m]."""

    region: Region
    n: Array
    gap: float


def region_of(own: int, other: int) -> Region:
    """By the numbers of both features."""
    return (1 + 3 * own + other,)


def numbers_of(region: Region) -> tuple[int, int]:
    """Of both features."""
    return divmod(region[0] - 1, 3)


@dataclass(frozen=True, eq=False)
class RoundOnRound(RootedFeatures, PassingPair):
    """A round body A on a round body B under laws that give way: see the head of this module."""

    a: RoundBody
    b: RoundBody
    radius_a: float = 0.0
    holds = True

    @property
    def extent_a(self) -> float:  # type: ignore[override]
        """Of all of A."""
        return self.a.reach

    @property
    def extent_b(self) -> float:  # type: ignore[override]
        """Of all of B."""
        return self.b.reach

    @property
    def takes_over(self) -> bool:
        """It hands over to no other contact."""
        return False

    # --- the best normals of the regions ------------------------------------------------------------------------

    def _along(self, place: Place, n: Array) -> float:
        """The distance along a normal n (3,) [m]."""
        out = max(self.a.out(-n @ place.R_a)), max(self.b.out(n @ place.R_b))
        return float(n @ (place.o_a - place.o_b)) - float(out[0]) - float(out[1])

    def _candidates(self, place: Place) -> list[Candidate]:
        """Those of all regions that have one."""
        found = [(region_of(SIDE, SIDE), n) for n in self._across(place)]
        for k in range(2):
            found += [(region_of(k, SIDE), n) for n in self._over(place, k)]
            found += [(region_of(SIDE, k), n) for n in self._under(place, k)]
        starts = [n for _, n in found] + self._starts(place)
        for i in range(2):
            for j in range(2):
                found += [(region_of(i, j), n) for n in self._between(place, i, j, starts)]
        return [Candidate(region, n, self._along(place, n)) for region, n in found if self._are_out(place, region, n)]

    def _are_out(self, place: Place, region: Region, n: Array) -> bool:
        """Whether the pieces of a region are those of their bodies that are farther out along a normal (3,).

        Else others are better there.
        """
        i, j = numbers_of(region)
        own = i == SIDE or float(self.a.lead(i, -n @ place.R_a)) >= -ROUND_RIM
        return own and (j == SIDE or float(self.b.lead(j, n @ place.R_b)) >= -ROUND_RIM)

    def _of_region(self, place: Place, region: Region) -> Array | None:
        """The best normal (3,) of a region, which may be beyond its end."""
        i, j = numbers_of(region)
        if i == j == SIDE:
            found = self._across(place)
        elif j == SIDE:
            found = self._over(place, i, BEYOND)
        elif i == SIDE:
            found = self._under(place, j, BEYOND)
        else:
            starts = [*self._across(place), *self._over(place, i, BEYOND), *self._under(place, j, BEYOND)]
            found = self._between(place, i, j, starts + self._starts(place))
        return max(found, key=lambda n: self._along(place, n), default=None)

    def _starts(self, place: Place) -> list[Array]:
        """Normals from which those between two pieces are looked for, besides those of sides: the axes."""
        axes = place.R_a[:, 2], place.R_b[:, 2]
        return [sense * axis for axis in axes for sense in (1.0, -1.0)]

    def _across(self, place: Place) -> list[Array]:
        """Of both sides: two normals, where they are not along each other."""
        level, over, square = across_slants(place.R_a[:, 2], self.a.sine, place.R_b[:, 2], self.b.sine)
        return [level + over, level - over] if float(square[0]) > PARALLEL_EDGES**2 else []

    def _over(self, place: Place, k: int, slack: float = 0.0) -> list[Array]:
        """Of a piece of A over the side of B."""
        return _over_side((self.a, self.b), k, poses_of(place), slack)

    def _under(self, place: Place, k: int, slack: float = 0.0) -> list[Array]:
        """Of a piece of B under the side of A."""
        return [-n for n in _over_side((self.b, self.a), k, poses_of(place)[::-1], slack)]

    def _between(self, place: Place, i: int, j: int, starts: list[Array]) -> list[Array]:
        """Of two pieces: from the best of some normals on, and from the best axis, by which a flat disc is touched.

        From elsewhere the search can lead through a disc, which is thin, to its far side.
        """
        one, two = self.a.ends[i], self.b.ends[j]
        c = place.o_a + place.R_a @ one.centre - place.o_b - place.R_b @ two.centre
        if isinstance(one, Point) and isinstance(two, Point):
            size = float(np.linalg.norm(c))
            return [c / size] if size > 0.0 else []
        found, poses = [], poses_of(place)
        for towards in self._from(place, i, j, starts):
            try:
                found.append(polished(one, two, poses, closest(one, two, poses, towards).nearest.y))
            except (SingularError, SimulationError, np.linalg.LinAlgError):
                continue
        return found

    def _from(self, place: Place, i: int, j: int, starts: list[Array]) -> list[Array]:
        """The best of some normals (3,), and the best axis, if it is another one and about as good."""
        best, axis = (self._start(place, i, j, np.array(ways)) for ways in (starts, self._starts(place)))
        lower = self._along(place, axis) < self._along(place, best) - BEYOND * self.a.radius
        beside = lower or not self._are_out(place, region_of(i, j), axis)
        return [best] if beside or np.array_equal(best, axis) else [best, axis]

    def _start(self, place: Place, i: int, j: int, ways: Array) -> Array:
        """The best of some normals (k, 3) for two pieces: one at which they are about farthest out, if there is one."""
        own, other = -ways @ place.R_a, ways @ place.R_b
        heights = ways @ (place.o_a - place.o_b) - self.a.out(own)[i] - self.b.out(other)[j]
        late = np.minimum(self.a.lead(i, own) / self.a.half, self.b.lead(j, other) / self.b.half)
        heights[late < min(-2.0 * BEYOND, float(late.max()))] = -np.inf
        return np.asarray(ways[int(np.argmax(heights))])

    # --- closest points -----------------------------------------------------------------------------------------

    @cached_property
    def _known(self) -> Recent[list[Candidate]]:
        """The candidates at the last places."""
        return Recent()

    def _all(self, place: Place) -> list[Candidate]:
        return self._known.of(key_of(place), lambda: self._candidates(place))

    def _best(self, place: Place) -> Candidate:
        """The candidate of the largest distance; of such with one normal that which is farthest from its ends."""
        found = self._all(place)
        best = max(found, key=lambda one: one.gap)
        same = [one for one in found if one.gap >= best.gap - TIED and one.n @ best.n > 1.0 - 0.5 * ONE_WAY_OUT**2]
        return best if len(same) == 1 else max(same, key=lambda one: self._inside(place, one))

    def _inside(self, place: Place, one: Candidate) -> float:
        """How far a candidate is from the ends of its features [m]."""
        found = self._at(place, one.region, one.n)
        return min(float(margin) for margin in self._margins(place, one.region, found))

    def _features(self, region: Region) -> tuple[Feature, Feature]:
        i, j = numbers_of(region)
        return self.a.feature(i), self.b.feature(j)

    def _at(self, place: Place, region: Region, n: Array) -> Settled:
        features = self._features(region)
        return around(features, place, unknowns(*features, poses_of(place), n))

    def _root(self, place: Place, region: Region) -> Array:
        """Of the best normal of the region."""
        n = self._of_region(place, region)
        if n is None:
            raise SingularError("two round bodies run along each other; their closest points are not unique")
        return self._at(place, region, n)[0].y

    def _margins(self, place: Place, region: Region, found: Settled) -> list[Array]:
        """How far (...) from the ends of the features of A and of B [m]."""
        nearest, margins = found[0], []
        i, j = numbers_of(region)
        slides = nearest.slides(len(self.a.feature(i).slides))
        sides = (self.a, i, place.R_a, -nearest.normal), (self.b, j, place.R_b, nearest.normal)
        for (body, number, R, m), slide in zip(sides, slides, strict=True):
            margins.append(body.within(slide[..., 0]) if number == SIDE else body.lead(number, turned_back(R, m)))
        return margins

    # --- the contract -------------------------------------------------------------------------------------------

    def _apart(self, place: Place) -> float:
        """The distance of the balls around both [m]."""
        return float(np.linalg.norm(place.o_a - place.o_b)) - self.a.reach - self.b.reach

    def region(self, place: Place) -> Region:
        """That of the best normal."""
        return self._best(place).region

    def open_gap(self, place: Place) -> float:
        """The distance; far away, that of balls around both, and OFF."""
        apart = self._apart(place)
        return apart + OFF if self._is_far(apart) else self._best(place).gap

    def _is_far(self, apart: float) -> bool:
        return apart > FAR_BODIES * (self.a.reach + self.b.reach)

    def sides(self, region: Region) -> tuple[int, ...]:
        """The ends of the features of A and of B, and other normals that are as good."""
        return OWN, OTHER, ELSEWHERE

    def margin(self, place: Place, region: Region, side: int) -> Array:
        """How far it is from an end, and a little beyond it, or by how much better it is than all other normals [m]."""
        if side != ELSEWHERE:
            return self._margins(place, region, self._settled(place, region))[side - OWN] + ROUND_RIM
        found, here = self._settled(place, region)[0], one_of(place)
        n = found.normal.real.reshape(-1, 3)[0]
        others = [one for one in self._all(here) if one.n @ n < 1.0 - 0.5 * ONE_WAY_OUT**2]
        if not others:
            return np.full(place.o_a.shape[:-1], self.a.reach + self.b.reach) + 0.0 * found.gap
        best = max(others, key=lambda one: one.gap)
        # along a normal that is the best one only the places of the pieces count
        return found.gap - self._straight(place, best) + TIED

    def _straight(self, place: Place, one: Candidate) -> Array:
        """The distance along the normal of a candidate at places around one at which that is the best."""
        y = self._at(one_of(place), one.region, one.n)[0].y
        return around(self._features(one.region), place, y)[0].gap

    def piece(self, place: Place, region: Region) -> Region | None:
        """The same, unless they are far from each other."""
        return None if self._is_far(self._apart(place)) else region

    def bend(self, place: Place, speed: float, spin: float, duration: float) -> float:
        """Nothing is said: points run over rims and sides as fast as these are nearly along each other."""
        return float("inf")


def polished(a: Feature, b: Feature, poses: tuple[Pose, Pose], y: Array) -> Array:
    """The normal (3,) near y to rounding, which the point on a flat disc is far more sensitive to than the distance."""
    last = np.inf
    for _ in range(POLISHES):
        there = settled(a, b, poses, y)[0].y
        step = float(np.abs(there[:3] - y[:3]).max())
        if not step < last:
            break
        y, last = there, step
    return np.asarray(y[:3])


def unknowns(a: Feature, b: Feature, poses: tuple[Pose, Pose], n: Array) -> Array:
    """y of closest points with the normal n (3,): what is left across it is taken up by the slides."""
    one, two = side(a, poses[0], -n), side(b, poses[1], n)
    apart = one.p - two.p - (one.r + two.r) * n
    columns = np.vstack([n, -one.D - a.sines[:, None] * n, two.D - b.sines[:, None] * n])
    solved = np.linalg.lstsq(columns.T, apart, rcond=None)[0]
    return np.concatenate([n, solved])


def _over_side(bodies: tuple[RoundBody, RoundBody], k: int, poses: tuple[Pose, Pose], slack: float) -> list[Array]:
    """The best of the normals (3,) of the side of the second body for a piece of the first, in the world; or none.

    Among those at which the piece is not farther in than the other one of its body by more than `slack` lengths.
    """
    (body, other), (pose, on) = bodies, poses
    piece, sine = body.ends[k], other.sine
    cosine = float(np.sqrt(1.0 - sine**2))
    w = on.R.T @ (pose.o + pose.R @ piece.centre - on.o) - other.side.centre
    if isinstance(piece, Point):
        angle = float(np.arctan2(w[1], w[0]))
        return [on.R @ np.array([cosine * np.cos(angle), cosine * np.sin(angle), sine])]
    lean, angles = on.R.T @ pose.R[:, 2], 2.0 * np.pi * SAMPLES
    hills = Hills(tuple(w.tolist()), tuple(lean.tolist()), sine, cosine, body.radius)  # type: ignore[arg-type]
    n = np.column_stack([cosine * np.cos(angles), cosine * np.sin(angles), np.full(len(angles), sine)])
    heights = hills.height(angles)[0]
    heights[body.lead(k, -n @ on.R.T @ pose.R) < -2.0 * slack * body.half] = -np.inf
    best = int(np.argmax(heights))
    low, high = float(angles[best] - angles[1]), float(angles[best] + angles[1])
    if not np.isfinite(heights[best]) or not hills.slopes(low)[0] > 0.0 > hills.slopes(high)[0]:
        return []
    angle = hills.highest(low, high)
    return [on.R @ np.array([cosine * np.cos(angle), cosine * np.sin(angle), sine])]
