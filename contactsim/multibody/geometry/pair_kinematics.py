"""Kinematics of contacts between bodies: a feature of a solid A of one body against one of a solid B, or all of it.

Notation: world axes, spatial vectors (linear l, angular w) at the world's origin. A pair of features (see `features`)
gives the point x at which both bodies are touched, the unit normal n from B to A, and x' and n'. With dV = V_A - V_B,

    u = dV_l + dV_w x x,    z = E u,    z' = E' u + E u',    u' = dA_l + dA_w x x + dV_w x x',

where u is the velocity at x of the material of A relative to that of B, and E = (n, t1, t2). Since n . (w x n) = 0, the
normal row is the exact gradient of the gap. Rows are E (dJ_l + dJ_w x x), so a force F on A at x meets -F on B at the
same x: momentum and moment of momentum are kept to rounding.

Derivatives: of the bodies' motion from pinocchio (see `derivatives` for dV/dq and the like), through the contact by a
complex step, which has no difference to lose digits in: Im f(x + i h dx) / h with h = 1e-30 (Squire and Trapp, 1998).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pinocchio as pin

from ...common.arrays import Array
from ...errors import InputError
from ...hybrid.flow import Look, Looks
from ..forest import Computing, Workspace
from ..kinematics.plane_ground import follows, simple_model, supports
from ..kinematics.reach import Reach, Sway
from ..mechanism import GapBounds, JointPath
from ..zero import ASIDE, FAR_BODIES, MOTION, NEARING, OFF
from .couples import Couples
from .features import Bodies, Meet, PairShape, Place, at, cross, crossing, turned
from .gap_tables import GapTable, tables
from .met_together import MetTogether
from .rims import RimOnPlane
from .shapes import Region
from .shared_corners import SharedCorners
from .standing_discs import StandingDiscs
from .takeovers import Takeovers

MOST_TIMES = 200  # at which bodies are looked at along a step
SETS = 8  # of contacts whose tables are kept
FEW = 8  # open contacts up to which gaps are asked for one by one
CLEARLY = 1e-2  # a direction in which bodies move by so much of their largest motion is one of their directions
COMPLEX_STEP = 1e-30  # its square is lost in rounding, whatever it is added to
# The frame of a normal n is (N0, E1, E2) turned the short way from N0 to n: smooth but at n = -N0, a direction that
# has no meaning in any scene.
N0, TANGENTS = np.array([2.0, 3.0, 6.0]) / 7.0, np.array([[3.0, -6.0, 2.0], [6.0, 2.0, -3.0]]) / 7.0
AXES = np.vstack([TANGENTS, N0])


class Touch(NamedTuple):
    """A contact of two bodies: point x (..., 3), frame E (..., d, 3), velocities z, rates z' (..., d), and E'.

    The spatial velocity of A relative to B has the component W (..., d, 6) of it along the frame: z = W dV.
    """

    x: Array
    E: Array
    W: Array
    z: Array
    z_rate: Array
    E_rate: Array


def motion_cross(a: Array, b: Array) -> Array:
    """The bracket (w x l' + l x w', w x w') of spatial velocities (..., 6)."""
    linear = cross(a[..., 3:], b[..., :3]) + cross(a[..., :3], b[..., 3:])
    return np.concatenate([linear, cross(a[..., 3:], b[..., 3:])], axis=-1)


def _norms(vectors: Array) -> Array:
    return np.linalg.norm(vectors, axis=1)


def _norm(vector: Array) -> float:
    return float(np.linalg.norm(vector))


class Frame:
    """Frames (n, t...) of normals, among the directions in which bodies can move at all.

    In space the frame is turned along with n from a fixed one; in a plane with normal m it is (n, m x n); along a line
    it is n alone.

    Attributes:
        rows: number of the directions.
        across: m; None in space and along a line.
    """

    def __init__(self, motions: Array) -> None:
        self.rows = len(motions)
        self.across = np.cross(motions[0], motions[1]) if self.rows == 2 else None
        self._motions = motions

    def holds(self, n: Array) -> bool:
        """Whether a normal lies in the plane (or line) of the motions."""
        return self.rows == 3 or float(np.linalg.norm(n - self._motions.T @ (self._motions @ n))) <= ASIDE

    def demand(self, n: Array, name: str) -> None:
        """Raise InputError where a normal does not lie in the plane (or line) of the motions."""
        if not self.holds(n):
            where = "line" if self.rows == 1 else "plane"
            raise InputError(
                f"contact '{name}': the normal {np.round(n, 6)} is not in the {where} in which its bodies move; give"
                " them free roots, or place them in one"
            )

    def __call__(self, n: Array, n_rate: Array) -> tuple[Array, Array]:
        """E (..., d, 3) and its rate."""
        if self.rows == 1:
            return n[..., None, :], n_rate[..., None, :]
        if self.across is not None:
            along = [cross(np.broadcast_to(self.across, k.shape), k) for k in (n, n_rate)]
            return np.stack([n, along[0]], axis=-2), np.stack([n_rate, along[1]], axis=-2)
        # t_i = b_i - p_i (N0 + n), p_i = n . b_i / (1 + n . N0), for the tangents b_i of N0.
        by_axes, by_axes_rate = turned(AXES, n), turned(AXES, n_rate)
        share = 1.0 / (1.0 + by_axes[..., 2:])
        part = by_axes[..., :2] * share
        part_rate = (by_axes_rate[..., :2] - part * by_axes_rate[..., 2:]) * share
        part, part_rate, both = part[..., None], part_rate[..., None], (N0 + n)[..., None, :]
        E = np.concatenate([n[..., None, :], TANGENTS - part * both], axis=-2)
        rates = part_rate * both + part * n_rate[..., None, :]
        return E, np.concatenate([n_rate[..., None, :], -rates], axis=-2)


def touch(meet: Meet, frame: Frame, relative: Array, change: Array) -> Touch:
    """A contact, from the velocity and acceleration (..., 6) of A relative to B; analytic in all of them.

    W = (E, -E [x]), z = W dV, z' = W' dV + W dA with [x] w = x x w.
    """
    x, x_rate, n, n_rate = meet
    (E, E_rate), arm, arm_rate = frame(n, n_rate), crossing(x), crossing(x_rate)
    W = np.concatenate([E, -E @ arm], axis=-1)
    W_rate = np.concatenate([E_rate, -(E_rate @ arm + E @ arm_rate)], axis=-1)
    return Touch(x, E, W, turned(W, relative), turned(W_rate, relative) + turned(W, change), E_rate)


class _Closed(NamedTuple):
    """Closed pairs with the regions in which they are held, in the order of their kinds.

    Attributes:
        features: where they touch.
        order: the places of the pairs as they are asked for among them (k,); None: they are the same.
        ends: solids A and B (2, k).
        moved: velocities that move each of them (2, k, nv).
        relative: those that move A, less those that move B (k, 1, nv).
        still: the accelerations of bodies that have none (2, k, 6).
    """

    features: MetTogether
    order: Array | None
    ends: Array
    moved: Array
    relative: Array
    still: Array


def touch_of(pair: PairShape, frame: Frame, bodies: Bodies, region: Region) -> Touch:
    """The contact of a pair; analytic in `bodies`."""
    return touch(pair.features.meet(bodies, region), frame, bodies.V_a - bodies.V_b, bodies.A_a - bodies.A_b)


def _met_gaps(pairs: PairKinematics, q: Array, chosen: Array) -> Array:
    """Gaps of some pairs (k,) as they go on from where they are met [m]."""
    pairs._data.forward_kinematics(q)
    return np.array([pairs._met_gap(k) for k in chosen.tolist()])


class PairKinematics(Computing):
    """Gaps, rows and derivatives of all contacts between the bodies of a model.

    Args:
        model: pinocchio's model.
        pairs: the contacts.
    """

    def __init__(self, model: Any, pairs: Sequence[PairShape]) -> None:
        self.model, self.pairs, self.nv = pin.Model(model), tuple(pairs), model.nv
        self._workspace = Workspace(self.model)
        self._still = np.zeros(self.nv)
        self._supports = supports(self.model)
        self.frame = Frame(_motions(self.model, self._data, self.pairs, self._supports))
        self._simple = simple_model(model)
        self._follows = follows(self._simple[0] if self._simple else model)  # parts of a joint follow each other
        self._solids, self._ends = solids_of(self.pairs)
        self._all = np.arange(len(self.pairs))
        self._cut: dict[bytes, list[tuple[Array, GapTable]]] = {}
        self._last: tuple[tuple[tuple[int, ...], tuple[Region, ...]], _Closed] | None = None

    @cached_property
    def _simple_workspace(self) -> Workspace:
        assert self._simple is not None
        return Workspace(self._simple[0])

    @property
    def derivable(self) -> bool:
        """True if pinocchio can derive the motion of all joints."""
        return self._simple is not None

    # --- gaps -------------------------------------------------------------------------------------------------

    def _poses(self) -> tuple[Array, Array]:
        """Axes (solids, 3, 3) and origins (solids, 3) of all solids, where the joints are up to date."""
        joints, (turns, shifts) = self._solids
        placed = list(self._data.oMi)
        R = np.array([place.rotation for place in placed])[joints]
        o = np.array([place.translation for place in placed])[joints]
        return R @ turns, (R @ shifts[..., None])[..., 0] + o

    def _place(self, k: int) -> Place:
        """Where both solids of pair `k` are, where the joints are up to date."""
        pair, data = self.pairs[k], self._data
        return place_of(data.oMi[pair.joint_a] * pair.placement_a, data.oMi[pair.joint_b] * pair.placement_b)

    @cached_property
    def _tables(self) -> list[tuple[Array, GapTable]]:
        """Tables of all pairs, each with the pairs that are in it."""
        return tables([pair.features for pair in self.pairs], self._ends)

    def _tables_of(self, chosen: Array) -> list[tuple[Array, GapTable]]:
        """Tables of the pairs `chosen`, each with the places of its own among them; those of the last sets are kept."""
        if len(chosen) == len(self.pairs) and np.array_equal(chosen, self._all):
            return self._tables
        key = chosen.tobytes()
        found = self._cut.get(key)
        if found is None:
            (table, place), found = (part[chosen] for part in self._rows_of_tables), []
            for number in np.unique(table).tolist():
                mine = np.flatnonzero(table == number)
                found.append((mine, self._tables[number][1].some(place[mine])))
            if len(self._cut) >= SETS:
                self._cut = {}
            self._cut[key] = found
        return found

    @cached_property
    def _rows_of_tables(self) -> tuple[Array, Array]:
        """The table of each pair, and its place there."""
        table, place = np.empty((2, len(self.pairs)), dtype=int)
        for k, (own, _) in enumerate(self._tables):
            table[own], place[own] = k, np.arange(len(own))
        return table, place

    def gaps(self, q: Array, regions: Mapping[int, Region], chosen: Array | None = None) -> Array:
        """Distances of the pairs `chosen` (k,), or of all [m]; those of pairs in `regions` as they go on from there."""
        chosen = self._all if chosen is None else chosen
        if not len(chosen):
            return np.empty(0)
        self._data.forward_kinematics(q)
        if len(chosen) <= FEW + len(regions) and sum(k not in regions for k in chosen.tolist()) <= FEW:
            gaps = np.array([self._gap(k, regions.get(k)) for k in chosen.tolist()])
        else:
            (R, o), gaps = self._poses(), np.empty(len(chosen))
            for own, table in self._tables_of(chosen):
                gaps[own] = table.gaps(R, o)
            if regions:
                for place in np.flatnonzero(np.isin(chosen, list(regions))).tolist():
                    k = int(chosen[place])
                    gaps[place] = self._gap(k, regions[k])
        hidden = self._hidden(chosen, gaps, regions)
        gaps[hidden] = np.maximum(gaps[hidden], 0.0) + OFF
        off, standing = self._on_standing_discs(chosen, regions)
        gaps[off] = np.maximum(gaps[off], 0.0) + OFF
        for place in standing:
            gaps[place] = self._met_gap(int(chosen[place]))
        return gaps

    met_gaps = _met_gaps

    def _met_gap(self, k: int) -> float:
        return self.pairs[k].features.met_gap(self._place(k))

    @cached_property
    def _discs(self) -> StandingDiscs:
        return StandingDiscs(self.pairs)

    def _on_standing_discs(self, chosen: Array, regions: Mapping[int, Region]) -> tuple[list[int], list[int]]:
        """Places among `chosen` of rims of discs that stand, on planes that these lie on, and of their points."""
        disc = self._discs.standing(regions)
        numbers = chosen.tolist()
        rims = [place for place, k in enumerate(numbers) if k in disc.rims and self._lies(k)] if disc.rims else []
        return rims, [place for place, k in enumerate(numbers) if k in disc.points] if disc.points else []

    def _lies(self, k: int) -> bool:
        """Whether the rim of a disc that stands does so on the plane of pair `k`."""
        features = self.pairs[k].features
        assert isinstance(features, RimOnPlane)
        return features.lies(self._place(k))

    @cached_property
    def _takeovers(self) -> Takeovers:
        return Takeovers(self.pairs)

    @cached_property
    def _shared_corners(self) -> SharedCorners:
        return SharedCorners(self.pairs, self._ends)

    def _hidden(self, chosen: Array, gaps: Array, regions: Mapping[int, Region]) -> Array:
        """Places (k,) among `chosen` of open pairs that touch where a closed one does; joints are up to date."""
        if not regions:
            return np.zeros(0, dtype=int)
        hidden = self._shared_corners.hidden(regions, set(chosen.tolist()) - regions.keys(), self._place)
        near = chosen[(gaps < OFF) & self._takeovers.beside(regions)[chosen]]
        if len(near):
            hidden.update(self._takeovers.with_same(regions, near.tolist(), self._place))
        return np.flatnonzero(np.isin(chosen, list(hidden))) if hidden else np.zeros(0, dtype=int)

    def taking_over(self, q: Array, k: int, region: Region) -> list[int]:
        """Pairs that touch where pair `k` does: they take over where it ends."""
        beside = np.flatnonzero(self._takeovers.beside([k]))
        near = beside[self.gaps(q, {}, beside) < OFF]
        return self._takeovers.with_same({k: region}, near.tolist(), self._place)

    def _gap(self, k: int, region: Region | None) -> float:
        """The gap of a pair as it goes on in a region, or is while it is open, where the joints are up to date."""
        features, place = self.pairs[k].features, self._place(k)
        return features.open_gap(place) if region is None else float(features.gap(place, region))

    def region(self, q: Array, k: int) -> Region:
        """The region in which pair `k` is."""
        self._data.forward_kinematics(q)
        return self.pairs[k].features.region(self._place(k))

    def regions(self, q: Array, known: Mapping[int, Region], chosen: Sequence[int]) -> list[Region]:
        """The regions of pairs: those that are `known`, or in which they are."""
        asked = [k for k in chosen if k not in known and not self.pairs[k].features.one_region]
        if asked:
            self._data.forward_kinematics(q)
        found = {k: self.pairs[k].features.region(self._place(k)) for k in asked}
        return [known.get(k) or found.get(k, ()) for k in chosen]

    def margin(self, q: Array, k: int, region: Region, side: int) -> float:
        """Distance of pair `k` from leaving a region on a side [m]."""
        self._data.forward_kinematics(q)
        return float(self.pairs[k].features.margin(self._place(k), region, side))

    def margin_gradient(self, q: Array, k: int, region: Region, side: int) -> Array:
        """Derivative (nv,) of `margin` by q."""
        pair = self.pairs[k]
        jacobian = self._data.joint_jacobians(q).T
        moved = [mask[:, None] * jacobian for mask in (self._supports[pair.joint_a], self._supports[pair.joint_b])]
        here = self._place(k)
        steps = [*_turning(moved[0], here.R_a, here.o_a), *_turning(moved[1], here.R_b, here.o_b)]
        place = Place(*(x + 1j * COMPLEX_STEP * dx for x, dx in zip(here, steps, strict=True)))
        return np.asarray(pair.features.margin(place, region, side).imag / COMPLEX_STEP)

    # --- how fast gaps can change -----------------------------------------------------------------------------

    @cached_property
    def _sizes(self) -> tuple[Array, Array, Array, Array, Array]:
        """Joints (2, k) and arms (2, k) of A and B, extents (k,) of A, which are passing and kinked, of all pairs."""
        pairs = self.pairs
        joints = np.array([[pair.joint_a, pair.joint_b] for pair in pairs], dtype=int).reshape(-1, 2).T
        shifts = self._solids[1][1]
        arms = np.linalg.norm(shifts, axis=1)[self._ends].reshape(-1, 2).T.copy()
        extents = np.array([pair.features.extent_a for pair in pairs])
        arms[0] += extents
        passing, kinked = (np.array([getattr(p.features, what) for p in pairs], bool) for what in ("passing", "kinked"))
        return joints, arms, extents, passing, kinked

    def gap_bounds(self, reach: Reach, chosen: Sequence[int]) -> Callable[[JointPath], GapBounds]:
        """Bounds of the gaps of the pairs `chosen` along a path: in axes of B, p = R_b^T (x - o_b) has

        |p'| <= |x'| + |o_b'| + w |p|,    |p''| <= |x''| + |o_b''| + (w' + w^2) |p| + 2 w |p'|

        for points x of A, and |p| is at most that of what touches of B, but for the distance to it.
        """
        own = np.array(chosen)
        ends, arms, extents, passing, kinked = (part[..., own] for part in self._sizes)
        joints = reach.index[ends]

        def at_least(gaps: Array) -> Array:
            return np.where(kinked & (gaps > OFF), gaps - OFF, gaps)

        def bounds(path: JointPath) -> GapBounds:
            sway = Sway(reach, path)
            self._data.forward_kinematics(path.q)
            R, o = self._poses()
            both = sway.speeds(joints, arms).sum(axis=0)  # of x and of o_b
            a, b = self._ends[own].T
            far = np.linalg.norm(o[a] - o[b], axis=1) + extents + path.duration * both
            spin = sway.spin[joints[1]]
            speed = both + spin * far

            def closer() -> tuple[Array, Array]:
                bend = sway.accelerations(joints, arms).sum(axis=0)
                bend += (sway.twist[joints[1]] + spin * spin) * far + 2.0 * spin * speed
                turn = sway.spin[joints].sum(axis=0)
                for part, table in self._tables_of(own):
                    bend[part] += table.bends(R, o, speed[part], turn[part], path.duration)
                errors = sway.errors()
                return bend, errors.speeds(joints, arms).sum(axis=0) + errors.spin[joints[1]] * far

            if not passing.any():
                return GapBounds(speed, None, closer)
            known = np.ones(len(own), dtype=bool)
            for part, table in self._tables_of(own):
                known[part] = ~table.loose(R, o)
            return GapBounds(speed, at_least, closer, known)

        return bounds

    @cached_property
    def _arms(self) -> Array:
        """Largest distance (joints,) of what touches others from the origin of each joint [m]."""
        arms, shifts = np.zeros(self.model.njoints), np.linalg.norm(self._solids[1][1], axis=1)
        for pair, (a, b) in zip(self.pairs, self._ends.tolist(), strict=True):
            arms[pair.joint_a] = max(arms[pair.joint_a], shifts[a] + pair.features.extent_a)
            arms[pair.joint_b] = max(arms[pair.joint_b], shifts[b] + (pair.features.extent_b or 0.0))
        return arms

    @cached_property
    def _couples(self) -> Couples:
        return Couples(self.pairs, self._ends)

    def _joints(self) -> tuple[Array, Array]:
        """Axes (joints, 3, 3) and origins (joints, 3) of all joints, where these are up to date."""
        placed = list(self._data.oMi)
        return np.array([place.rotation for place in placed]), np.array([place.translation for place in placed])

    def near(self, q: Array, distance: float) -> Array:
        """Pairs (k,) of bodies that are no farther from each other than that, by boxes around them [m]."""
        couples = self._couples
        self._data.forward_kinematics(q)
        close = ~couples.apart(*self._joints(), distance)
        return np.sort(np.concatenate([couples.endless, couples.bounded[close[couples.of]]]))

    def meeting(self, reach: Reach, path: JointPath, at: Callable[[float], Array]) -> tuple[Array, Array]:
        """Pairs (k,) of bodies that may touch along a path `at` (t) -> q, and their way to each other there (k,) [m].

        Bodies are looked at at many times; between two of these they come no closer than their speed allows.
        """
        couples = self._couples
        ways = path.duration * Sway(reach, path).speeds(reach.index[couples.joints], couples.arms).sum(axis=1)
        count = int(np.clip(np.ceil(ways.max(initial=0.0) / self.vicinity), 1, MOST_TIMES))
        reached, between = np.zeros(len(ways), dtype=bool), 0.5 * ways / count + NEARING
        for k in range(count):
            self._data.forward_kinematics(at(path.t + (k + 0.5) / count * path.duration))
            reached |= ~couples.apart(*self._joints(), between)
        met = reached[couples.of]
        return couples.bounded[met], ways[couples.of[met]]

    @cached_property
    def vicinity(self) -> float:
        """Gap from which on contacts are worth a look of their own, where others are not looked at [m]."""
        return FAR_BODIES * float(np.median(self._arms[self._arms > 0.0]))

    def approach(self, reach: Reach, path: JointPath) -> float:
        """Bound of how much closer any points of two bodies come along a path [m]."""
        speeds = np.sort(Sway(reach, path).speeds(reach.index, self._arms))
        return path.duration * float(speeds[-2:].sum())

    def gap(self, q: Array, k: int, region: Region | None = None) -> float:
        """The gap of one pair [m], as it goes on in a region or is while it is open."""
        self._data.forward_kinematics(q)
        return self._gap(k, region)

    def _standing_look(self, q: Array, v: Array, k: int, regions: Mapping[int, Region]) -> Look | None:
        """The gap of a rim or point of a disc that stands, and its rate; None of others."""
        rims, points = self._on_standing_discs(np.array([k]), regions)
        if rims:
            return Look(max(self._gap(k, None), 0.0) + OFF, 0.0, None, apart=True)
        if not points:
            return None
        held = self.pairs[k].features.region(self._place(k))
        gap = self._met_gap(k)
        return Look(gap, float(self.rows(q, v, [k], [held])[1][0]), held)

    def gap_motion(
        self, q: Array, v: Array, k: int, region: Region | None = None, regions: Mapping[int, Region] | None = None
    ) -> Look:
        """The gap of a pair, and its rate, while those in `regions` are closed."""
        self._data.forward_kinematics(q)
        features, place = self.pairs[k].features, self._place(k)
        held = features.open_region(place) if region is None else region
        piece = features.piece(place, held)
        if region is None and regions and (look := self._standing_look(q, v, k, regions)) is not None:
            return look
        gap = features.open_gap(place) if region is None else float(features.gap(place, held))
        if piece is None and features.passing:
            return Look(gap, 0.0, None, apart=not features.lifted(place))
        return Look(gap, float(self.rows(q, v, [k], [held])[1][0]), piece)

    def _twists(self, motions: Any) -> Array:
        """Twists V (solids, 6) of all solids at the world's origin, or their rates, from those of the joints."""
        moving = zip(self._data.oMi, motions, strict=True)
        return np.array([place.act(motion).vector for place, motion in moving])[self._solids[0]]

    def paces(self, q: Array, v: Array, a: Array, chosen: Array) -> Array:
        """Bounds (2, k) of how fast any point of A moves relative to B [m/s], and how that changes [m/s^2]."""
        self._data.forward_kinematics(q, v, a)
        V, A = self._twists(self._data.v), self._twists(self._data.a)
        one, two = self._ends[chosen].T
        c, extents = self._poses()[1][one], self._sizes[2][chosen]

        def most(twist: Array) -> Array:
            return np.asarray(_norms(at(twist, c)) + _norms(twist[:, 3:]) * extents)

        speed, spin = most(V[one] - V[two]), _norms(V[:, 3:])
        turned = [cross(V[k, 3:], at(V[k], c)) for k in (one, two)]
        change = most(A[one] - A[two]) + _norms(turned[0] - turned[1]) + (spin[one] ** 2 + spin[two] ** 2) * extents
        return np.array([speed, change + 2.0 * spin[two] * speed])

    def gap_motions(self, q: Array, v: Array, chosen: Array, regions: Mapping[int, Region]) -> Looks:
        """The gaps of open pairs (k,) and their rates, while those in `regions` are closed."""
        self._data.forward_kinematics(q, v)
        V, (R, o) = self._twists(self._data.v), self._poses()
        table, place = (part[chosen] for part in self._rows_of_tables)
        values, rates = np.empty(len(chosen)), np.zeros(len(chosen))
        pieces, apart = np.empty(len(chosen), dtype=object), np.zeros(len(chosen), dtype=bool)
        for number in np.unique(table).tolist():
            mine = np.flatnonzero(table == number)
            found = self._tables[number][1].looks(R, o, V, place[mine])
            values[mine], rates[mine], apart[mine] = found.values, found.rates, found.apart
            pieces[mine] = found.pieces
        hidden = self._hidden(chosen, values, regions)
        values[hidden], rates[hidden] = np.maximum(values[hidden], 0.0) + OFF, 0.0
        pieces[hidden], apart[hidden] = None, True
        off, standing = self._on_standing_discs(chosen, regions)
        for place in off + standing:
            look = self._standing_look(q, v, int(chosen[place]), regions)
            assert look is not None
            values[place], rates[place], pieces[place], apart[place] = look
        return Looks(values, rates, pieces.tolist(), apart)

    # --- rows -------------------------------------------------------------------------------------------------

    def rows(self, q: Array, v: Array, chosen: Sequence[int], regions: Sequence[Region]) -> tuple[Array, Array, Array]:
        """Rows J (m, nv), velocities z and bias accelerations (m,) of the pairs `chosen`."""
        data, closed = self._data, self._closed(chosen, regions)
        jacobian = data.joint_jacobians(q)
        one, two = closed.ends
        V = (closed.moved * v) @ jacobian.T
        if self._unbent:
            A = closed.still
        else:
            data.forward_kinematics(q, v, self._still)
            A = self._twists(data.a)[closed.ends]
        R, o = self._poses()
        meet = closed.features(Bodies(R[one], o[one], R[two], o[two], *V, *A))
        found = touch(meet, self.frame, V[0] - V[1], A[0] - A[1])
        rows = (found.W.reshape(-1, 6) @ jacobian).reshape(*found.E.shape[:2], -1)
        rows *= closed.relative
        z, z_rate = found.z, found.z_rate
        if closed.order is not None:
            rows, z, z_rate = rows[closed.order], z[closed.order], z_rate[closed.order]
        return rows.reshape(-1, self.nv), z.ravel(), z_rate.ravel()

    @cached_property
    def _unbent(self) -> bool:
        """Whether joints have no acceleration of their own: all of them are free, and none is on another's body."""
        joints, parents = list(self.model.joints)[1:], list(self.model.parents)[1:]
        return not any(parents) and all(joint.shortname() == "JointModelFreeFlyer" for joint in joints)

    def _closed(self, chosen: Sequence[int], regions: Sequence[Region]) -> _Closed:
        """What closed pairs have for as long as they are; that of the last time is kept, since a mode lasts."""
        key = tuple(chosen), tuple(regions)
        if self._last is None or self._last[0] != key:
            features = MetTogether([self.pairs[k].features for k in chosen], regions)
            ends = self._ends[np.array(chosen, dtype=int)[features.order]].T
            moved = self._supports[self._solids[0][ends]]
            order = None if features.in_order else np.argsort(features.order)
            relative = (moved[0] - moved[1])[:, None, :]
            self._last = key, _Closed(features, order, ends, moved, relative, np.zeros((*ends.shape, 6)))
        return self._last[1]

    def frame_at(self, q: Array, k: int, region: Region) -> tuple[Array, Array]:
        """The frame (d, 3) of a pair, and the point (3,) at which it touches."""
        self._data.forward_kinematics(q)
        zero = np.zeros(6)
        found = touch_of(self.pairs[k], self.frame, Bodies(*self._place(k), zero, zero, zero, zero), region)
        return found.E, found.x

    def frame_motion(self, q: Array, v: Array, k: int, region: Region) -> tuple[Array, Array]:
        """The frame (d, 3) of a pair, and its rate."""
        data, pair, zero = self._data, self.pairs[k], np.zeros(6)
        data.forward_kinematics(q, v)
        V, W = (data.oMi[joint].act(data.v[joint]).vector for joint in (pair.joint_a, pair.joint_b))
        found = touch_of(pair, self.frame, Bodies(*self._place(k), V, W, zero, zero), region)
        return found.E, found.E_rate

    # --- derivatives ------------------------------------------------------------------------------------------

    def derivatives(
        self, q: Array, v: Array, a: Array, chosen: Sequence[int], regions: Sequence[Region], forces: Array
    ) -> tuple[Array, Array]:
        """Derivatives at held `forces` (m,): (n, n) of J^T lam by q, and (3, m, n) dz/dq, dz'/dq, dz'/dv."""
        assert self._simple is not None
        index, data = self._simple[1], self._simple_workspace.data
        data.rnea_derivatives(q, v, a)  # its dAdv differs from that of the kinematics alone
        n, dim = self.nv, self.frame.rows
        moved, rows = np.zeros((n, n)), np.zeros((3, dim * len(chosen), n))
        for i, (k, region) in enumerate(zip(chosen, regions, strict=True)):
            part = slice(dim * i, dim * (i + 1))
            pair = self.pairs[k]
            joints = index[pair.joint_a], index[pair.joint_b]
            seeds = _Seeds(self, data, pair, joints, v, a)
            at_q, at_v = (
                touch_of(pair, self.frame, seeds.stepped(by), region) for by in (seeds.along_q(), seeds.along_v())
            )
            rows[0, part], rows[1, part] = at_q.z.imag.T / COMPLEX_STEP, at_q.z_rate.imag.T / COMPLEX_STEP
            rows[2, part] = at_v.z_rate.imag.T / COMPLEX_STEP
            moved += self._force_derivative(pair, data.J, at_q, forces[part])
        return moved, rows

    def _force_derivative(self, pair: PairShape, jacobian: Array, at_q: Touch, forces: Array) -> Array:
        """Derivative of J^T lam, J = dJ^T W with the wrench W = (F, x x F), F = E^T lam.

        d(J_k . W)/dq_m = J_k . dW/dq_m + (J_m x J_k) . W, the last where joint(m) moves joint(k).
        """
        force = forces @ at_q.E
        wrench = np.concatenate([force, cross(at_q.x, force)], axis=-1)
        change, (F, T) = wrench.imag / COMPLEX_STEP, np.split(wrench[0].real, 2)
        linear, angular = jacobian[:3].T, jacobian[3:].T
        bent = np.hstack([np.cross(F, angular), np.cross(F, linear) + np.cross(T, angular)])
        relative = jacobian * (self._supports[pair.joint_a] - self._supports[pair.joint_b])
        return relative.T @ change.T + (relative.T @ bent.T) * self._follows


class _Seeds:
    """Motion of the two bodies of a pair, and how it changes along each tangent direction.

    See `derivatives`: dV_b/dq_k = J_k x V_b + P_k, dA_b/dq_k = J_k x A_b + P_k x V_b + Q_k, dA_b/dv_k = J_k x V_b + R_k
    for the k that move body b.
    """

    def __init__(
        self, owner: PairKinematics, data: Any, pair: PairShape, joints: tuple[int, int], v: Array, a: Array
    ) -> None:
        self._columns = [part.T for part in (data.J, data.dAdv - data.dJ, data.dAdq, data.dAdv)]
        masks = [owner._supports[joint] for joint in (pair.joint_a, pair.joint_b)]
        self._masks = [mask[:, None] for mask in masks]
        jacobian, rate = data.J, data.dJ
        V = [jacobian @ (mask * v) for mask in masks]
        A = [jacobian @ (mask * a) + rate @ (mask * v) for mask in masks]
        place = place_of(data.oMi[joints[0]] * pair.placement_a, data.oMi[joints[1]] * pair.placement_b)
        self._base = Bodies(*place, *V, *A)

    def stepped(self, change: Bodies) -> Bodies:
        """The motion with the complex step of each direction on it."""
        return Bodies(*(x + 1j * COMPLEX_STEP * dx for x, dx in zip(self._base, change, strict=True)))

    def along_q(self) -> Bodies:
        """Derivative by q, direction by direction (n, ...)."""
        J, P, Q, _ = self._columns
        base, (a, b) = self._base, self._masks
        places = [*_turning(a * J, base.R_a, base.o_a), *_turning(b * J, base.R_b, base.o_b)]
        V = [mask * (motion_cross(J, V) + P) for mask, V in ((a, base.V_a), (b, base.V_b))]
        A = [
            mask * (motion_cross(J, A) + motion_cross(P, V) + Q)
            for mask, V, A in ((a, base.V_a, base.A_a), (b, base.V_b, base.A_b))
        ]
        return Bodies(*places, *V, *A)

    def along_v(self) -> Bodies:
        """Derivative by v."""
        J, _, _, by_v = self._columns
        base, (a, b) = self._base, self._masks
        A = [mask * (motion_cross(J, V) + by_v) for mask, V in ((a, base.V_a), (b, base.V_b))]
        axes, still = np.zeros((len(J), 3, 3)), np.zeros((len(J), 3))
        return Bodies(axes, still, axes, still, a * J, b * J, *A)


def place_of(one: Any, two: Any) -> Place:
    """Where two solids are, from their placements (pin.SE3)."""
    return Place(one.rotation, one.translation, two.rotation, two.translation)


def _turning(twists: Array, R: Array, o: Array) -> tuple[Array, Array]:
    """Changes (n, 3, 3) and (n, 3) of axes and origin of a solid that moves with each of the twists (n, 6)."""
    axes = np.stack([cross(twists[:, 3:], R[:, k]) for k in range(3)], axis=-1)
    return axes, twists[:, :3] + cross(twists[:, 3:], o)


def solids_of(pairs: Sequence[PairShape]) -> tuple[tuple[Array, tuple[Array, Array]], Array]:
    """All solids once, as (joints, (rotations, translations)), and the places among them of A and B of each pair."""
    numbers: dict[tuple[int, bytes], int] = {}
    solids, ends = list[tuple[int, Any]](), np.empty((len(pairs), 2), dtype=int)
    for k, pair in enumerate(pairs):
        for end, (joint, place) in enumerate(((pair.joint_a, pair.placement_a), (pair.joint_b, pair.placement_b))):
            key = joint, place.homogeneous.tobytes()
            if key not in numbers:
                numbers[key] = len(solids)
                solids.append((joint, place))
            ends[k, end] = numbers[key]
    turns = np.array([place.rotation for _, place in solids]).reshape(-1, 3, 3)
    shifts = np.array([place.translation for _, place in solids]).reshape(-1, 3)
    return (np.array([joint for joint, _ in solids], dtype=int), (turns, shifts)), ends


def _motions(model: Any, data: Any, pairs: Sequence[PairShape], moved: Array) -> Array:
    """Orthonormal directions (r, 3), r = 1, 2, 3, in which the bodies of the pairs can move against each other."""
    rng, known = np.random.default_rng(0), np.zeros((3, 3))
    directions, values = np.eye(3), np.zeros(3)
    places = {(p.joint_a, p.joint_b, p.placement_a.translation.tobytes()): p for p in pairs}.values()
    for _ in range(3):
        q = pin.integrate(model, pin.neutral(model), rng.uniform(-1.0, 1.0, model.nv))
        jacobian = data.joint_jacobians(q)
        for pair in places:
            relative = jacobian * (moved[pair.joint_a] - moved[pair.joint_b])
            c = data.oMi[pair.joint_a].act(pair.placement_a.translation)
            moves = relative[:3] + np.cross(relative[3:].T, c).T
            directions, values, _ = np.linalg.svd(np.hstack([known, moves]), full_matrices=False)
            known = directions * values
            if values[2] > CLEARLY * values[0]:
                return np.eye(3)
    return directions[:, values > MOTION * max(float(values.max()), MOTION)].T
