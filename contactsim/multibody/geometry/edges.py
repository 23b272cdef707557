"""Edges of convex polyhedra against each other.

Two edges p + s a and q + t b (s, t from 0 to 1) that are not parallel have the common normal n = +-(a x b) / |a x b|
and the distance n . (p - q). They touch as features of their bodies where n is normal to both bodies there (their arcs
of the Gauss map cross) and the nearest points lie between the ends; else a vertex or a face is nearer, and the gap of
the pair is the distance of the two segments, or how far they have to turn for that, which is never negative, and OFF.

The sense of n is the region of such a contact, its sides are the ends of the edges. An arc is never left through its
end by a contact that is held: there one of the edges lies in a face of the other body, whose vertices or other edges
come down on it.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from copy import copy
from typing import NamedTuple

import numpy as np

from ...common.arrays import Array
from ...common.lazy import dataclass
from ...hybrid.flow import Looks
from ..zero import ARC, BESIDE, DEEP, FAR_BODIES, FLAT, LOOSE, OFF, PARALLEL_EDGES, RIM, ROUND_RIM
from .convex import on_far_side, polyhedron
from .features import Bodies, Meet, PassingPair, Place, at, cross, dot, poses_of, turned
from .polyhedra import Polyhedron
from .shapes import Region

RISE = 1.0  # m/rad by which points and edges on which a disc stands are raised while it is tilted


class Lines(NamedTuple):
    """Two lines p + s a and q + t b, where they are nearest to each other, and the determinant of these equations."""

    p: Array
    a: Array
    q: Array
    b: Array
    s: Array
    t: Array
    det: Array

    @staticmethod
    def of(p: Array, a: Array, q: Array, b: Array) -> Lines:
        """Solves a . r = b . r = 0 for r = p + s a - q - t b; parallel lines are as near everywhere."""
        aa, ab, bb, gap = dot(a, a), dot(a, b), dot(b, b), p - q
        ar, br, det = dot(a, gap), dot(b, gap), aa * bb - ab * ab
        det = np.where(det.real <= PARALLEL_EDGES**2 * (aa * bb).real, aa * bb, det)
        return Lines(p, a, q, b, (ab * br - bb * ar) / det, (aa * br - ab * ar) / det, det)

    @property
    def apart(self) -> Array:
        """r from the nearest point of the second line to that of the first."""
        return self.p + self.s * self.a - self.q - self.t * self.b


@dataclass(frozen=True, eq=False)
class EdgeOnEdge(PassingPair):
    """Edge number `a` of polyhedron `one` against edge number `b` of polyhedron `two`.

    At its ends it takes over: a corner has its point, and where a face lies there its normal, too.

    Attributes:
        radius_a, radius_b: of what is rounded around the edges [m].
        blunt: whether that ends with the edge, as the side of a cylinder does, not in a sphere.
        standing: axis (3,) of the disc on whose rim edge `a` lies, in axes of A: it holds the disc while that lies flat
            on edge `b`, and is raised by RISE times the sine of the angle between both beyond FLAT; None: it is none.
    """

    one: Polyhedron
    a: int
    two: Polyhedron
    b: int
    radius_a: float = 0.0
    radius_b: float = 0.0
    blunt: bool = False
    standing: Array | None = None

    @property
    def is_distance(self) -> bool:
        """Where it is none of a cylinder: see `_off`."""
        return not self.blunt

    @property
    def rounding(self) -> float:
        """Distance at which the edges touch [m]."""
        return self.radius_a + self.radius_b

    @property
    def rim(self) -> float:
        """How far beyond their ends they are held [m]."""
        return ROUND_RIM if self.rounding > 0.0 else RIM

    @property
    def held(self) -> float:
        """How far from their ends they begin to touch [m]: where corners are still over faces, or hand over to them."""
        return -0.5 * ROUND_RIM if self.rounding > 0.0 else 0.5 * BESIDE

    @property
    def deepest(self) -> float:
        """Distance of the edges, against the sense of their normal, from which on they are not told apart [m]."""
        return -0.5 * min(self.one.thickness, self.two.thickness)

    @property
    def extent_a(self) -> float:  # type: ignore[override]
        """Of the ends of its edge, and what is rounded, or by which it is raised."""
        return self._arm + (0.0 if self.standing is None else RISE)

    @property
    def _arm(self) -> float:
        return float(self.one.arms[self.a]) + self.radius_a

    @property
    def lever(self) -> float:
        """Arm at which the directions of arcs miss each other [m]."""
        return min(self._arm, self.extent_b)

    @property
    def extent_b(self) -> float:  # type: ignore[override]
        """Likewise."""
        return float(self.two.arms[self.b]) + self.radius_b

    def _lines(self, place: Place | Bodies) -> Lines:
        (u, w), (y, z) = self.one.vertices[self.one.edges[self.a]], self.two.vertices[self.two.edges[self.b]]
        p, q = turned(place.R_a, u) + place.o_a, turned(place.R_b, y) + place.o_b
        return Lines.of(p, turned(place.R_a, w - u), q, turned(place.R_b, z - y))

    def gap(self, place: Place, region: Region) -> Array:
        """n . (p - q) - r_a - r_b."""
        lines = self._lines(place)
        return dot(_normal(lines, region[0])[0], lines.p - lines.q)[..., 0] - self.rounding

    def meet(self, bodies: Bodies, region: Region) -> Meet:
        """See `meet_of_edges`."""
        return meet_of_edges(self._lines(bodies), bodies, region[0], self.radius_a)

    def _arcs(self, place: Place) -> tuple[Lines, Arcs, bool]:
        """The lines, how they lie to each other, and whether they touch as features of their bodies."""
        lines = self._lines(place)
        arcs = _arcs(lines, turned(place.R_a, self.one.into[self.a]), turned(place.R_b, self.two.into[self.b]))
        lengths = np.array([self.one.lengths[self.a], self.two.lengths[self.b]])
        held = np.array(self.held)
        touch = bool(_touch(lines, lengths, arcs, np.array(self.deepest), held))
        return lines, arcs, touch and not self.on_far_side(place, float(arcs.distance))

    def on_far_side(self, place: Place, distance: float) -> bool:
        """Whether edges of sharp bodies cross far below both surfaces, and the bodies are not inside each other.

        Of the side of a cylinder and a sharp edge, whether this is nearer to an end of the cylinder than to its side.
        """
        if self.blunt and self.standing is None and not self.radius_b:
            share = float(self._lines(place).s[0])
            end = min(share, 1.0 - share) * float(self.one.lengths[self.a])
            return self.radius_a - distance > max(end, 0.0) + DEEP
        if distance >= -DEEP or self.rounding or not (len(self.one.loops) and len(self.two.loops)):
            return False
        return on_far_side((polyhedron(self.one), polyhedron(self.two)), poses_of(place), distance)

    def _raised(self, place: Place, lines: Lines) -> float:
        """By how much it is raised [m]."""
        if self.standing is None:
            return 0.0
        return float(_raised(lines, place.R_a @ self.standing))

    def region(self, place: Place) -> Region:
        """The sense of the normal that suits both bodies best."""
        return (int(self._arcs(place)[1].sense),)

    def open_gap(self, place: Place) -> float:
        """That along the normal where they touch as features of their bodies, else the distance of segments and OFF."""
        lines, arcs, touch = self._arcs(place)
        raised = self._raised(place, lines)
        if touch and not raised:
            return float(arcs.distance) - self.rounding
        off = float(_off(lines, arcs, np.array(self.lever))) - self.rounding
        return (max(off, 0.0) if self.blunt or raised else off) + raised + OFF

    def sides(self, region: Region) -> tuple[int, ...]:
        """The ends of both edges."""
        return -1, 1, -2, 2

    def margin(self, place: Place, region: Region, side: int) -> Array:
        """Distance along an edge from its end, and `rim` beyond it."""
        lines = self._lines(place)
        share = (lines.s if abs(side) == 1 else lines.t)[..., 0]
        length = self.one.lengths[self.a] if abs(side) == 1 else self.two.lengths[self.b]
        return (share if side < 0 else 1.0 - share) * length + self.rim

    def piece(self, place: Place, region: Region) -> Region | None:
        """Where they touch as features of their bodies."""
        lines, _, touch = self._arcs(place)
        return region if touch and not self._raised(place, lines) else None

    def bend(self, place: Place, speed: float, spin: float, duration: float) -> float:
        """Normal and point of contact turn and slide faster the more nearly parallel the edges are."""
        lines = self._lines(place)
        sine = float(_normal(lines, 1.0)[1][0]) / float(self.one.lengths[self.a] * self.two.lengths[self.b])
        return 2.0 * spin * speed / max(sine - spin * duration, PARALLEL_EDGES)


def meet_of_edges(lines: Lines, bodies: Bodies, sense: Array | float, radius: Array | float) -> Meet:
    """x = p + s a - r_a n, with s' from the derivatives of a . r = b . r = 0.

    Args:
        lines: of both edges (...).
        bodies: their motion.
        sense: of the normal, 1 or -1; or (..., 1).
        radius: of what is rounded around the edges of A [m]; or (..., 1).
    """
    p, a, q, b, s, t, det = lines
    V, W = bodies.V_a, bodies.V_b
    a_rate, b_rate = cross(V[..., 3:], a), cross(W[..., 3:], b)
    n, length = _normal(lines, sense)
    turning = sense * (cross(a_rate, b) + cross(a, b_rate)) / length
    n_rate = turning - n * dot(n, turning)
    apart, drift = lines.apart, at(V, p) + s * a_rate - at(W, q) - t * b_rate
    one, two = -dot(a_rate, apart) - dot(a, drift), -dot(b_rate, apart) - dot(b, drift)
    ab, bb = dot(a, b), dot(b, b)
    s_rate = (bb * one - ab * two) / det
    x_rate = at(V, p) + s * a_rate + s_rate * a - radius * n_rate
    return Meet(p + s * a - radius * n, x_rate, n, n_rate)


class Arcs(NamedTuple):
    """How two edges lie to each other: sense of the normal, distance along it, and by how much it misses their arcs."""

    sense: Array
    distance: Array
    miss: Array
    sine: Array


def _normal(lines: Lines, sense: Array | float) -> tuple[Array, Array]:
    """The unit normal in a sense, and |a x b|."""
    across = cross(lines.a, lines.b)
    length = np.sqrt(dot(across, across))
    length = np.where(length.real == 0.0, 1.0, length)
    return sense * across / length, length


def _arcs(lines: Lines, into_a: Array, into_b: Array) -> Arcs:
    """Of unit vectors (..., 2, 3) from the edges into their faces."""
    n, length = _normal(lines, 1.0)
    along_a, along_b = (into_a @ n[..., None])[..., 0], (into_b @ n[..., None])[..., 0]
    up = np.maximum(along_b.max(axis=-1), -along_a.min(axis=-1))
    down = np.maximum(-along_b.min(axis=-1), along_a.max(axis=-1))
    apart = dot(n, lines.p - lines.q)[..., 0]
    sense = np.where((up < down) | ((up == down) & (apart >= 0.0)), 1.0, -1.0)
    sine = (length / np.sqrt(dot(lines.a, lines.a) * dot(lines.b, lines.b)))[..., 0]
    return Arcs(sense, sense * apart, np.minimum(up, down), sine)


def _raised(lines: Lines, axis: Array) -> Array:
    """By how much (...) edges on rims of discs are raised, with the axes (..., 3) of these [m]."""
    leaning = np.abs(dot(lines.b, axis)) / np.sqrt(dot(lines.b, lines.b))
    return np.asarray(RISE * np.maximum(0.0, leaning[..., 0] - FLAT))


def _touch(lines: Lines, lengths: Array, arcs: Arcs, deepest: Array, held: Array) -> Array:
    """Where edges touch as features of their bodies: no vertex is nearer, nor are they seen from the far side."""
    s, t = lines.s[..., 0], lines.t[..., 0]
    ends = [s * lengths[0], (1.0 - s) * lengths[0], t * lengths[1], (1.0 - t) * lengths[1]]
    inside = np.minimum.reduce(np.broadcast_arrays(*ends)) > held
    return inside & (arcs.miss <= ARC) & (arcs.sine > PARALLEL_EDGES) & (arcs.distance > deepest)


def of_segments(lines: Lines) -> Array:
    """Distance (...) of two segments. Source: Ericson, Real-Time Collision Detection, 2005, section 5.1.9."""
    p, a, q, b = lines[:4]
    aa, ab, bb, gap = dot(a, a), dot(a, b), dot(b, b), p - q
    ar, br = dot(a, gap), dot(b, gap)
    t = np.clip((ab * np.clip(lines.s, 0.0, 1.0) + br) / bb, 0.0, 1.0)
    s = np.clip((ab * t - ar) / aa, 0.0, 1.0)
    return np.linalg.norm(gap + s * a - t * b, axis=-1)


def _off(lines: Lines, arcs: Arcs, lever: Array) -> Array:
    """How far (...) edges are from touching as features of their bodies [m].

    It is the distance of the segments, or that by which the directions of the arcs miss a x b, at a lever: both change
    no faster than the points of the bodies move against each other.
    """
    return np.maximum(of_segments(lines), lever * arcs.sine * arcs.miss)


OF_PAIRS = (
    *("_a", "_b", "_ends_a", "_ends_b", "_into_a", "_into_b", "_radius", "_radius_a", "_held", "_blunt"),
    *("_lever", "_stands", "_axis", "_deepest", "_couple"),
)


class EdgeTable:
    """Many pairs of edges in arrays, to be computed together.

    Of bodies whose boxes are well apart, the distance of the boxes stands for all gaps: cost grows with the number of
    bodies that are close to each other.

    Args:
        pairs: the pairs (k,).
        solids: for each of them the places of A and B among the poses that are given later.
    """

    def __init__(self, pairs: Sequence[EdgeOnEdge], solids: Array) -> None:
        ends = solids.reshape(-1, 2)
        self._pairs, (self._a, self._b) = pairs, ends.T
        self._ends_a = np.array([p.one.vertices[p.one.edges[p.a]] for p in pairs]).reshape(-1, 2, 3)
        self._ends_b = np.array([p.two.vertices[p.two.edges[p.b]] for p in pairs]).reshape(-1, 2, 3)
        self._into_a = np.array([p.one.into[p.a] for p in pairs]).reshape(-1, 2, 3)
        self._into_b = np.array([p.two.into[p.b] for p in pairs]).reshape(-1, 2, 3)
        self._lengths = np.array([[p.one.lengths[p.a], p.two.lengths[p.b]] for p in pairs]).reshape(-1, 2).T
        self._radius, self._radius_a = np.array([(p.rounding, p.radius_a) for p in pairs]).reshape(-1, 2).T
        self._held = np.array([p.held for p in pairs])
        self._blunt = np.array([p.blunt for p in pairs], dtype=bool)
        self._lever = np.array([p.lever for p in pairs])
        self._stands = np.array([p.standing is not None for p in pairs], dtype=bool)
        self._axis = np.array([np.zeros(3) if p.standing is None else p.standing for p in pairs]).reshape(-1, 3)
        self._deepest = np.array([p.deepest for p in pairs])
        self._bodies, first, self._couple = np.unique(ends, axis=0, return_index=True, return_inverse=True)
        self._couple = self._couple.ravel()
        couples = [pairs[k] for k in first]
        self._reach = np.array([p.one.reach + p.two.reach for p in couples])
        self._around = np.array([p.rounding for p in couples])
        self._middle = np.array([(p.one.box[0], p.two.box[0]) for p in couples]).reshape(-1, 2, 3)
        self._half = np.array([(p.one.box[1], p.two.box[1]) for p in couples]).reshape(-1, 2, 3)
        self._last: tuple[tuple[bytes, bytes], Array, Array] | None = None

    def some(self, own: Array) -> EdgeTable:
        """The table of some of the pairs."""
        table = copy(self)
        table._pairs = [self._pairs[k] for k in own.tolist()]
        for name in OF_PAIRS:
            setattr(table, name, getattr(self, name)[own])
        table._lengths, table._last = self._lengths[:, own], None
        return table

    def _near(self, R: Array, o: Array) -> tuple[Array, Array]:
        """Edges (n,) of bodies that are close to each other, and by how much the boxes of all are apart (k,).

        Boxes are apart by the most that they are along one of their axes.
        """
        a, b = self._bodies.T
        middle_a, middle_b = ((R[k] @ self._middle[:, i, :, None])[..., 0] + o[k] for i, k in enumerate((a, b)))
        turn, way = np.abs(R[a].transpose(0, 2, 1) @ R[b]), middle_b - middle_a
        along_a = np.abs((way[:, None, :] @ R[a])[:, 0]) - self._half[:, 0] - (turn @ self._half[:, 1, :, None])[..., 0]
        along_b = np.abs((way[:, None, :] @ R[b])[:, 0]) - self._half[:, 1] - (self._half[:, 0, None] @ turn)[:, 0]
        apart = np.maximum(along_a.max(axis=1), along_b.max(axis=1)) - self._around
        return np.flatnonzero((apart <= FAR_BODIES * self._reach)[self._couple]), apart[self._couple]

    def _lines(self, R: Array, o: Array, own: Array) -> Lines:
        a, b = self._a[own], self._b[own]
        ends_a, ends_b = self._ends_a[own] @ R[a].transpose(0, 2, 1), self._ends_b[own] @ R[b].transpose(0, 2, 1)
        p, q = ends_a[:, 0] + o[a], ends_b[:, 0] + o[b]
        return Lines.of(p, ends_a[:, 1] - ends_a[:, 0], q, ends_b[:, 1] - ends_b[:, 0])

    def _looked(self, R: Array, o: Array) -> tuple[Array, Array]:
        """Open gaps (k,), and where edges touch as features of their bodies or are far apart (k,).

        What was found last is kept: a step ends where the next one begins.
        """
        last, here = self._last, (R.tobytes(), o.tobytes())
        if last is None or last[0] != here:
            own, found = self._near(R, o)
            known = np.ones(len(found), dtype=bool)
            found[own], known[own] = self._closely(R, o, own)[:2]
            self._last = last = here, found, known
        return last[1:]

    def _closely(self, R: Array, o: Array, own: Array) -> tuple[Array, Array, Lines, Arcs]:
        """Open gaps (n,) of some pairs, where they touch as features of their bodies, and how they lie."""
        lines = self._lines(R, o, own)
        into_a = self._into_a[own] @ R[self._a[own]].transpose(0, 2, 1)
        into_b = self._into_b[own] @ R[self._b[own]].transpose(0, 2, 1)
        arcs = _arcs(lines, into_a, into_b)
        touch = _touch(lines, self._lengths[:, own], arcs, self._deepest[own], self._held[own])
        least = np.where(self._blunt[own], self._radius[own], 0.0) - DEEP
        for k in np.flatnonzero(touch & (arcs.distance < least)).tolist():
            a, b = self._a[own[k]], self._b[own[k]]
            place = Place(R[a], o[a], R[b], o[b])
            touch[k] = not self._pairs[own[k]].on_far_side(place, float(arcs.distance[k]))
        off = _off(lines, arcs, self._lever[own]) - self._radius[own]
        raised = np.zeros(len(own))
        if self._stands.any():
            axes = (R[self._a[own]] @ self._axis[own, :, None])[..., 0]
            raised = np.where(self._stands[own], _raised(lines, axes), 0.0)
            touch &= raised == 0.0
        off = np.where(self._blunt[own] | (raised > 0.0), np.maximum(off, 0.0), off) + raised + OFF
        return np.where(touch, arcs.distance - self._radius[own], off), touch, lines, arcs

    def looks(self, R: Array, o: Array, V: Array, own: Array) -> Looks:
        """Open gaps (n,) of some pairs, their rates, pieces, and which do not touch as features; see `Look`.

        The rate is n . (u_A - u_B), of the material of both bodies at the point of contact, with twists V (solids, 6).
        """
        gaps, touch, lines, arcs = self._closely(R, o, own)
        n = _normal(lines, 1.0)[0] * arcs.sense[:, None]
        x = lines.p + lines.s * lines.a - self._radius_a[own, None] * n
        rates = dot(n, at(V[self._a[own]] - V[self._b[own]], x))[:, 0]
        senses = arcs.sense.astype(int).tolist()
        pieces: list[Hashable | None] = [
            (sense,) if here else None for sense, here in zip(senses, touch.tolist(), strict=True)
        ]
        return Looks(gaps, np.where(touch, rates, 0.0), pieces, ~touch)

    def gaps(self, R: Array, o: Array) -> Array:
        """Open gaps (k,) [m] where the solids have the axes R (solids, 3, 3) and origins o (solids, 3)."""
        return self._looked(R, o)[0].copy()

    def loose(self, R: Array, o: Array) -> Array:
        """Mask (k,) of edges that do not touch as features, but nearly so, as those do that share an end."""
        gaps, known = self._looked(R, o)
        return ~known & (gaps < LOOSE * self._lever)

    def bends(self, R: Array, o: Array, speed: Array, spin: Array, duration: float) -> Array:
        """`EdgeOnEdge.bend` (k,) of each, of speeds and spins (k,)."""
        own, sine = self._near(R, o)[0], np.zeros(len(self._a))
        sine[own] = _normal(self._lines(R, o, own), 1.0)[1][:, 0] / (self._lengths[0] * self._lengths[1])[own]
        return 2.0 * spin * speed / np.maximum(sine - spin * duration, PARALLEL_EDGES)
