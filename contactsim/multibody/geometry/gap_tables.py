"""Open gaps of many contacts at once: those of one kind of features in arrays.

`tables` sorts contacts into tables. What has none of its own is asked one by one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from copy import copy
from typing import Any

import numpy as np

from ...common.arrays import Array
from ...hybrid.flow import Look, Looks
from ..zero import ARC, DEEP, FAR_BODIES, LOOSE, OFF, PARALLEL_EDGES, PARALLEL_RIMS, RIM
from .closest_points.search import RimsAbove, across_axis
from .cone_sides import SENSES, ConeAndLine, ConeSideOnLine, bend_of_side, crossed
from .cylinder_points import StandingPoint, standing_gaps
from .cylinders import Drum
from .edges import RISE, EdgeOnEdge, EdgeTable, Lines, of_segments
from .features import Bodies, FeaturePair, Place, PointOnSolid, at, dot
from .hill_features import FlatOnHills
from .hulls import Hull
from .nearest_on_hills import clearances
from .rims import BEGINS, SMOOTHLY, Endless, Face, Lined, RimOnPart
from .shapes import Ball, Block, HalfSpace, touchable
from .smooth import SmoothOnSolid, bend_of


class GapTable(ABC):
    """Contacts of one kind.

    Args:
        pairs: their features (k,).
        solids: the places (k, 2) of A and B of each among the poses that are given later.
    """

    def __init__(self, pairs: Sequence[FeaturePair], solids: Array) -> None:
        self._pairs, (self._a, self._b) = pairs, solids.reshape(-1, 2).T

    def some(self, own: Array) -> GapTable:
        """The table of some of the contacts."""
        return type(self)([self._pairs[k] for k in own.tolist()], np.column_stack([self._a[own], self._b[own]]))

    @abstractmethod
    def gaps(self, R: Array, o: Array) -> Array:
        """Open gaps (k,) [m] where the solids have the axes R (solids, 3, 3) and origins o (solids, 3)."""

    def _inside(self, points: Array | None, R: Array, o: Array) -> Array:
        """Points (k, 3) of A, or its origins, in axes of B."""
        way = o[self._a] - o[self._b]
        if points is not None:
            way = way + (R[self._a] @ points[..., None])[..., 0]
        return np.asarray((way[:, None, :] @ R[self._b])[:, 0])

    def bends(self, R: Array, o: Array, speed: Array, spin: Array, duration: float) -> Array:
        """`FeaturePair.bend` (k,) of each, of speeds and spins (k,)."""
        places = map(Place, R[self._a], o[self._a], R[self._b], o[self._b])
        numbers = zip(self._pairs, places, speed.tolist(), spin.tolist(), strict=True)
        return np.array([pair.bend(place, fast, turn, duration) for pair, place, fast, turn in numbers])

    def loose(self, R: Array, o: Array) -> Array:
        """Mask (k,) of contacts so close to touching in another way than they do that bounds say little of them."""
        return np.zeros(len(self._pairs), dtype=bool)

    def looks(self, R: Array, o: Array, V: Array, chosen: Array) -> Looks:
        """Open gaps of some contacts (n,) and their rates, with the twists V (solids, 6) at the world's origin."""
        return Looks.of([self._look(R, o, V, k) for k in chosen.tolist()])

    def _look(self, R: Array, o: Array, V: Array, k: int) -> Look:
        a, b, pair, still = self._a[k], self._b[k], self._pairs[k], np.zeros(6)
        place = Place(R[a], o[a], R[b], o[b])
        region, gap = pair.open_region(place), pair.open_gap(place)
        piece = pair.piece(place, region)
        if piece is None and pair.passing:
            return Look(gap, 0.0, None, apart=not pair.lifted(place))
        met = pair.meet(Bodies(*place, V[a], V[b], still, still), region)
        return Look(gap, float(met.n @ at(V[a] - V[b], met.x)), piece)


class OneByOne(GapTable):
    """Contacts without arrays of their own."""

    def gaps(self, R: Array, o: Array) -> Array:
        """Asked one by one."""
        places = map(Place, R[self._a], o[self._a], R[self._b], o[self._b])
        return np.array([pair.open_gap(place) for pair, place in zip(self._pairs, places, strict=True)])


class Smooths(GapTable):
    """Ellipsoids and balls against solids. Of bodies that are far apart, the distance of balls around both stands."""

    def __init__(self, pairs: Sequence[SmoothOnSolid], solids: Array) -> None:
        super().__init__(pairs, solids)
        self._own = np.array([pair.extent_a for pair in pairs])
        self._endless = np.array([pair.reach is None for pair in pairs])
        self._other = np.array([pair.reach or 0.0 for pair in pairs])
        self._radii = np.array([pair.radii for pair in pairs]).T

    def gaps(self, R: Array, o: Array) -> Array:
        """One by one only where they are near; of half-spaces, the distance of the centre less the largest radius."""
        way = o[self._a] - o[self._b]
        apart = np.where(self._endless, (way * R[self._b][..., 2]).sum(axis=1), np.linalg.norm(way, axis=1))
        found = apart - self._own - self._other
        for k in np.flatnonzero(found <= FAR_BODIES * (self._own + self._other)).tolist():
            found[k] = self._pairs[k].open_gap(Place(R[self._a[k]], o[self._a[k]], R[self._b[k]], o[self._b[k]]))
        return found

    def bends(self, R: Array, o: Array, speed: Array, spin: Array, duration: float) -> Array:
        """See `SmoothOnSolid.bend`."""
        return np.asarray(bend_of(self._radii.min(axis=0), self._radii.max(axis=0), speed, spin))


class Edges(GapTable):
    """Edges against edges."""

    def __init__(self, pairs: Sequence[EdgeOnEdge], solids: Array) -> None:
        super().__init__(pairs, solids)
        self._table = EdgeTable(pairs, solids)

    def some(self, own: Array) -> Edges:
        """Cut out of the arrays."""
        table = copy(self)
        table._pairs, table._a, table._b = [self._pairs[k] for k in own.tolist()], self._a[own], self._b[own]
        table._table = self._table.some(own)
        return table

    def gaps(self, R: Array, o: Array) -> Array:
        """See `edges`."""
        return self._table.gaps(R, o)

    def loose(self, R: Array, o: Array) -> Array:
        """See `edges`."""
        return self._table.loose(R, o)

    def bends(self, R: Array, o: Array, speed: Array, spin: Array, duration: float) -> Array:
        """See `EdgeOnEdge.bend`."""
        return self._table.bends(R, o, speed, spin, duration)

    def looks(self, R: Array, o: Array, V: Array, chosen: Array) -> Looks:
        """See `edges`."""
        return self._table.looks(R, o, V, chosen)


class Rims(OneByOne):
    """Rims of cylinders: far from another one, the distance of the capsules around both stands for the gap."""

    def __init__(self, pairs: Sequence[Any], solids: Array) -> None:
        super().__init__(pairs, solids)
        self._extents = np.array([pair.arm if isinstance(pair, RimOnPart) else pair.extent_a for pair in pairs])
        self._last: tuple[tuple[bytes, bytes], Array, Array] | None = None
        self._prepare(pairs)

    def _prepare(self, pairs: Sequence[Any]) -> None:
        self._half = np.array([(pair.rim.half, pair.part.half) for pair in pairs])
        self._around = np.array([pair.rim.radius + pair.part.radius for pair in pairs])
        self._far = FAR_BODIES * self._around

    def _away(self, R: Array, o: Array) -> Array:
        """Bounds (k,) of the distances."""
        axes = [R[k][..., 2] * half[:, None] for k, half in zip((self._a, self._b), self._half.T, strict=True)]
        ends = o[self._a] - axes[0], 2.0 * axes[0], o[self._b] - axes[1], 2.0 * axes[1]
        return np.asarray(of_segments(Lines.of(*ends)) - self._around)

    def _looked(self, R: Array, o: Array) -> tuple[Array, Array]:
        """Open gaps (k,), and which touch with these features or are far apart (k,); what was found last is kept."""
        last, here = self._last, (R.tobytes(), o.tobytes())
        if last is None or last[0] != here:
            found, known = self._away(R, o), np.ones(len(self._pairs), dtype=bool)
            own = np.flatnonzero(found <= self._far)
            if len(own):
                found[own], known[own] = self._closely(R, o, found, own)
            self._last = last = here, found, known
        return last[1:]

    def _closely(self, R: Array, o: Array, away: Array, own: Array) -> tuple[Array, Array]:
        """The same of those that are near (n,)."""
        places = [Place(R[a], o[a], R[b], o[b]) for a, b in zip(self._a[own], self._b[own], strict=True)]
        looked = [self._pairs[k].looked(place) for k, place in zip(own.tolist(), places, strict=True)]  # type: ignore[attr-defined]
        gaps, touch = zip(*looked, strict=True)
        return np.array(gaps), np.array(touch)

    def gaps(self, R: Array, o: Array) -> Array:
        """Of those that are near one by one."""
        return self._looked(R, o)[0].copy()

    def looks(self, R: Array, o: Array, V: Array, chosen: Array) -> Looks:
        """Likewise: those that are far, or nearer by other features, cannot fire as they are."""
        away = self._away(R, o)
        return Looks.of([self._seen(R, o, V, k, float(away[k])) for k in chosen.tolist()])

    def _seen(self, R: Array, o: Array, V: Array, k: int, away: float) -> Look:
        if away > self._far[k]:
            return Look(away, 0.0, None, apart=True)
        a, b, pair, still = self._a[k], self._b[k], self._pairs[k], np.zeros(6)
        place = Place(R[a], o[a], R[b], o[b])
        gap, touch = pair.looked(place)  # type: ignore[attr-defined]
        if not touch or pair.lifted(place):
            return Look(gap, 0.0, None, apart=not touch)
        region = pair.region(place)
        met = pair.meet(Bodies(*place, V[a], V[b], still, still), region)
        return Look(gap, float(met.n @ at(V[a] - V[b], met.x)), region)

    def loose(self, R: Array, o: Array) -> Array:
        """Those that are near touching in another way."""
        gaps, known = self._looked(R, o)
        return ~known & (gaps < LOOSE * self._extents)


class RimsOnFaces(Rims):
    """Rims of cylinders against faces: far from these, the distance of the ball around a disc from them."""

    def _prepare(self, pairs: Sequence[RimOnPart]) -> None:
        self._far = FAR_BODIES * self._extents
        self._radius = np.array([pair.rim.radius for pair in pairs])
        self._flat = np.array([pair.rim.feature.flat for pair in pairs])
        self._centre = np.array([pair.rim.feature.centre for pair in pairs])
        faces = [pair.part for pair in pairs if isinstance(pair.part, Face)]
        self._planes = np.array([np.append(face.normal, face.offset) for face in faces]).reshape(-1, 4)
        most = max((face.ends for face in faces), default=0)
        self._borders = np.zeros((len(faces), most, 2, 3))  # what is beyond their ends is never outside
        for row, face in zip(self._borders, faces, strict=True):
            row[: face.ends] = np.stack(face.border, axis=1)

    def _away(self, R: Array, o: Array) -> Array:
        """See `Face.away`."""
        p = self._inside(self._centre, R, o)
        starts, into = self._borders[:, :, 0], self._borders[:, :, 1]
        outside = ((starts - p[:, None]) * into).sum(axis=-1).max(axis=-1, initial=0.0)
        above = (p * self._planes[:, :3]).sum(axis=1) - self._planes[:, 3]
        return np.asarray(np.maximum(np.abs(above), outside) - self._radius)

    def bends(self, R: Array, o: Array, speed: Array, spin: Array, duration: float) -> Array:
        """See `RimOnPart.bend`."""
        normals = (R[self._b] @ self._planes[:, :3, None])[..., 0]
        tilts = np.linalg.norm(np.cross(R[self._a][..., 2], normals), axis=1) - spin * duration
        return np.asarray(self._radius * spin * spin * (1.0 + 1.0 / np.maximum(tilts, self._flat) ** 3))


class RimsOnLines(Rims):
    """Rims of cylinders against edges and sides: far from these, the distance of the ball around a disc from them."""

    def _prepare(self, pairs: Sequence[RimOnPart]) -> None:
        parts = [pair.part for pair in pairs if isinstance(pair.part, Lined)]
        self._far = FAR_BODIES * self._extents
        self._radius, self._end = np.array([(pair.rim.radius, pair.rim.end) for pair in pairs]).reshape(-1, 2).T
        self._lean = np.array([pair.rim.lean for pair in pairs])
        self._flat = np.array([pair.rim.feature.flat for pair in pairs])
        self._centre = np.array([pair.rim.feature.centre for pair in pairs])
        self._deepest = np.array([pair.deepest for pair in pairs])
        self._foot, self._axes, self._middle = (
            np.array([(p.ruled.centre, p.ruled.axis, p.middle) for p in parts]).reshape(-1, 3, 3).transpose(1, 0, 2)
        )
        numbers = [(p.half, p.ruled.radius, p.around, p.sharp) for p in parts]
        self._halves, self._rounding, self._around, sharp = np.array(numbers).reshape(-1, 4).T
        self._sharp = sharp.astype(bool)
        self._above = RimsAbove([part.ruled for part in parts], self._radius, self._end, self._lean)
        most = max((part.ends for part in parts), default=0)
        self._rows, self._begin = np.zeros((len(parts), most, 7)), np.zeros((len(parts), most))
        self._rows[..., 6] = 1.0
        for k, part in enumerate(parts):
            self._rows[k, : part.ends], self._begin[k, : part.ends] = part.rows, part.limits[:, 0]

    def _away(self, R: Array, o: Array) -> Array:
        """From the middle of the rim to the nearest point of the segment of the lines."""
        way = self._inside(self._centre, R, o) - self._middle
        along = np.clip((way * self._axes).sum(axis=1), -self._halves, self._halves)
        return np.linalg.norm(way - along[:, None] * self._axes, axis=1) - self._radius - self._around

    def _closely(self, R: Array, o: Array, away: Array, own: Array) -> tuple[Array, Array]:
        """See `RimOnPart.looked`, of those that are near (n,)."""
        centre = self._inside(self._centre, R, o)[own]
        axis = (R[self._a[own]][:, None, :, 2] @ R[self._b[own]])[:, 0]
        n = self._above.nearest(centre, axis, own)[1]
        h, across, tilt = across_axis(n, axis)
        radius = self._radius[own]
        with np.errstate(all="ignore"):
            gap = (n * (centre - self._foot[own])).sum(axis=1) - radius * tilt - self._rounding[own]
            x = centre - (radius / tilt)[:, None] * across - gap[:, None] * n
            rows, rim = self._rows[own], np.cross(axis, n)
            value = (rows[..., :3] @ x[..., None])[..., 0] + (rows[..., 3:6] @ n[..., None])[..., 0] + rows[..., 6]
            touch = (
                (value > self._begin[own]).all(axis=1) & (tilt > BEGINS * self._flat[own]) & (gap > -self._deepest[own])
            )
            touch &= radius * (self._lean[own] - self._end[own] * h) > SMOOTHLY[0]
            crossing = np.linalg.norm(np.cross(rim, self._axes[own]), axis=1) / tilt
            touch &= ~self._sharp[own] | (crossing > PARALLEL_RIMS)
        for k in np.flatnonzero(touch & (gap < -DEEP)).tolist():
            a, b, pair = self._a[own[k]], self._b[own[k]], self._pairs[own[k]]
            touch[k] = not pair.on_far_side(Place(R[a], o[a], R[b], o[b]), float(gap[k]))  # type: ignore[attr-defined]
        off = np.maximum(np.where(np.isfinite(gap), gap, 0.0), np.maximum(away[own], 0.0)) + OFF
        return np.where(touch, gap, off), touch

    def bends(self, R: Array, o: Array, speed: Array, spin: Array, duration: float) -> Array:
        """See `RimOnPart.bend`; of those that are far, at the least tilt and crossing."""
        slide = speed + spin * (self._radius + self._around) / self._flat
        bent = np.where(self._sharp, 0.5 * self._radius * PARALLEL_RIMS**2, self._rounding)
        with np.errstate(divide="ignore", invalid="ignore"):  # the tip of a cone is sharp
            found = self._radius * spin * spin * (1.0 + 1.0 / self._flat**3) + slide**2 / bent
        for k in np.flatnonzero(self._away(R, o) <= self._far).tolist():
            place = Place(R[self._a[k]], o[self._a[k]], R[self._b[k]], o[self._b[k]])
            found[k] = self._pairs[k].bend(place, float(speed[k]), float(spin[k]), duration)
        return np.asarray(found)


class ConeSides(Rims):
    """Sides of cones across lines: far from these, the distance of the segments less both radii."""

    def _prepare(self, pairs: Sequence[ConeSideOnLine]) -> None:
        self._far = FAR_BODIES * self._extents
        shapes = [pair.shape for pair in pairs]
        sines, cosines, halves = (_column([shape[k] for shape in shapes]) for k in range(3))
        lines = [np.array([shape[k] for shape in shapes]).reshape(-1, 3) for k in (3, 4)]
        self._shape = ConeAndLine(sines, cosines, halves, *lines)
        self._radius, self._rounding = np.array([(pair.radius, pair.around) for pair in pairs]).reshape(-1, 2).T
        self._into = np.array([pair.solid.into[pair.number] for pair in pairs]).reshape(-1, 2, 3)
        self._length, self._slant, self._deepest = (
            np.array([(pair.length, pair.slant, pair.deepest) for pair in pairs]).reshape(-1, 3).T
        )
        self._tip = np.array([pair.tip[0] for pair in pairs])

    def _away(self, R: Array, o: Array) -> Array:
        """See `ConeSideOnLine.away`."""
        axis = R[self._a][..., 2] * 2.0 * self._shape.half
        way = (R[self._b] @ (self._length[:, None] * self._shape.direction)[..., None])[..., 0]
        middle = (R[self._b] @ self._shape.middle[..., None])[..., 0] + o[self._b]
        lines = Lines.of(o[self._a] - 0.5 * axis, axis, middle - 0.5 * way, way)
        return np.asarray(of_segments(lines) - self._radius - self._rounding)

    def _closely(self, R: Array, o: Array, away: Array, own: Array) -> tuple[Array, Array]:
        """See `ConeSideOnLine.looked`, of those that are near (n,)."""
        a, b = self._a[own], self._b[own]
        place, shape = Place(R[a], o[a], R[b], o[b]), ConeAndLine(*(np.asarray(part)[own] for part in self._shape))
        into, both = self._into[own] @ R[b].transpose(0, 2, 1), []
        for sense in SENSES:
            found = crossed(shape, place, sense)
            gap = dot(found.n, found.p - found.q)[:, 0] - self._rounding[own]
            miss = np.maximum((into @ found.n[..., None])[..., 0].max(axis=1), 0.0)
            both.append((gap, miss, found.t[:, 0], found.u[:, 0]))
        (gap, miss, *_), (second, missed, *_) = both
        first = (miss < missed) | ((miss == missed) & (gap >= second))
        gap, miss, t, u = (np.where(first, one, two) for one, two in zip(*both, strict=True))
        root = found.D[:, 0] - shape.sine[:, 0] ** 2  # type: ignore[index]
        crosses = root > (PARALLEL_EDGES * shape.cosine[:, 0]) ** 2  # type: ignore[index]
        inside = np.minimum(self._slant[own] - t, 0.5 * self._length[own] - np.abs(u)) > SMOOTHLY[0]
        touch = crosses & inside & (t > self._tip[own]) & (miss <= ARC) & (gap > -self._deepest[own])
        for k in np.flatnonzero(touch & (gap < -DEEP)).tolist():
            pair = self._pairs[own[k]]
            touch[k] = not pair.on_far_side(Place(*(part[k] for part in place)), float(gap[k]))  # type: ignore[attr-defined]
        least = np.maximum(away[own], 0.0)
        return np.where(touch, gap, np.where(crosses, np.maximum(gap, least), least) + OFF), touch

    def bends(self, R: Array, o: Array, speed: Array, spin: Array, duration: float) -> Array:
        """See `ConeSideOnLine.bend`."""
        axes = R[self._a][..., 2], (R[self._b] @ self._shape.direction[..., None])[..., 0]
        square = 1.0 - (axes[0] * axes[1]).sum(axis=1) ** 2 - self._shape.sine[:, 0] ** 2  # type: ignore[index]
        return np.asarray(bend_of_side(square, self._slant, self._shape, speed, spin, duration))


class Points(GapTable):
    """Spheres and points against solids of one class."""

    def __init__(self, pairs: Sequence[PointOnSolid], solids: Array) -> None:
        super().__init__(pairs, solids)
        self._radius = np.array([pair.radius for pair in pairs])
        self._curvature = np.array([pair.shape.curvature(pair.rounding) for pair in pairs])

    def bends(self, R: Array, o: Array, speed: Array, spin: Array, duration: float) -> Array:
        """Curvature times the square of the speed."""
        return self._curvature * speed * speed


class OnHalfSpaces(Points):
    """Against half-spaces."""

    def gaps(self, R: Array, o: Array) -> Array:
        """z - r."""
        return self._inside(None, R, o)[:, 2] - self._radius


class OnBalls(Points):
    """Against balls."""

    def __init__(self, pairs: Sequence[PointOnSolid], solids: Array) -> None:
        super().__init__(pairs, solids)
        self._reach = self._radius + [pair.shape.radius for pair in pairs]  # type: ignore[attr-defined]

    def gaps(self, R: Array, o: Array) -> Array:
        """|p| - R - r."""
        return np.asarray(np.linalg.norm(o[self._a] - o[self._b], axis=1) - self._reach)


class OnBoxes(Points):
    """Against boxes: see `Block.region` and `Block.distance`."""

    def __init__(self, pairs: Sequence[PointOnSolid], solids: Array) -> None:
        super().__init__(pairs, solids)
        self._half = np.array([pair.shape.half for pair in pairs])  # type: ignore[attr-defined]
        self._inner = np.array([pair.inner for pair in pairs])
        self._point = self._radius == 0.0

    def gaps(self, R: Array, o: Array) -> Array:
        """Outside, the distance to the nearest face, edge or corner; inside, that to the face which counts there."""
        p = self._inside(None, R, o)
        beyond = np.abs(p) - self._half
        out = beyond > np.where(self._point, RIM, 0.0)[:, None]
        found = np.sqrt(np.sum(np.where(out, beyond, 0.0) ** 2, axis=1))
        within = np.flatnonzero(~out.any(axis=1))
        if len(within):
            found[within] = self._held(R, o, p, beyond, within)
        return found - self._radius

    def _held(self, R: Array, o: Array, p: Array, beyond: Array, within: Array) -> Array:
        own, deep = beyond[within], beyond[within]
        inner = (R[self._a[within]] @ self._inner[within, :, None])[..., 0] + o[self._a[within]] - o[self._b[within]]
        inner = (inner[:, None, :] @ R[self._b[within]])[:, 0]
        sides = np.where(touchable(own), np.where(p[within] < 0.0, -inner, inner) - self._half[within], -np.inf)
        face = np.argmax(np.where(self._point[within, None], sides, deep), axis=1)
        return own[np.arange(len(own)), face]


class OnSegments(Points):
    """Against capsules: see `Hull` of a segment."""

    def __init__(self, pairs: Sequence[PointOnSolid], solids: Array) -> None:
        super().__init__(pairs, solids)
        self._half = np.array([pair.shape.solid.vertices[1, 2] for pair in pairs])  # type: ignore[attr-defined]
        self._rounding = np.array([pair.rounding for pair in pairs])
        self._sided = np.array([not pair.corners for pair in pairs])

    def gaps(self, R: Array, o: Array) -> Array:
        """The distance from the segment; with OFF at its ends where these do not count."""
        p = self._inside(None, R, o)
        held = np.clip(p[:, 2], -self._half, self._half)
        apart = np.sqrt(p[:, 0] ** 2 + p[:, 1] ** 2 + (p[:, 2] - held) ** 2) - self._rounding
        return np.where(self._sided & (np.abs(p[:, 2]) >= self._half), apart + OFF, apart)

    def loose(self, R: Array, o: Array) -> Array:
        """Those that are at an end which does not count."""
        p = self._inside(None, R, o)
        return self._sided & (np.abs(p[:, 2]) >= self._half) & (self.gaps(R, o) < LOOSE * self._half)


class OnDrums(Points):
    """Against cylinders: see `Drum`."""

    def __init__(self, pairs: Sequence[PointOnSolid], solids: Array) -> None:
        super().__init__(pairs, solids)
        sizes = [(pair.shape.radius, pair.shape.half) for pair in pairs]  # type: ignore[attr-defined]
        self._size = np.array(sizes)
        self._rim = np.where(self._radius > 0.0, 0.0, RIM)

    def gaps(self, R: Array, o: Array) -> Array:
        """Outside, the distance to side, end or rim; inside, that to the nearer of side and end."""
        p = self._inside(None, R, o)
        beyond = np.column_stack([np.hypot(p[:, 0], p[:, 1]), np.abs(p[:, 2])]) - self._size
        out = beyond > self._rim[:, None]
        apart = np.sqrt(np.sum(np.where(out, beyond, 0.0) ** 2, axis=1))
        return np.where(out.any(axis=1), apart, beyond.max(axis=1)) - self._radius


class Standing(Points):
    """Points on which discs stand: see `StandingPoint`. Of those that do not, `standing_gaps` stands."""

    def __init__(self, pairs: Sequence[StandingPoint], solids: Array) -> None:
        super().__init__(pairs, solids)
        most = max(len(pair.planes[1]) for pair in pairs)
        self._normals, self._offsets = np.zeros((len(pairs), most, 3)), np.zeros((len(pairs), most))
        for k, (normals, offsets) in enumerate(pair.planes for pair in pairs):
            self._normals[k, : len(offsets)], self._offsets[k, : len(offsets)] = normals, offsets
            self._normals[k, len(offsets) :], self._offsets[k, len(offsets) :] = normals[0], offsets[0]
        self._axes = np.array([pair.axis for pair in pairs])
        self._widths = np.array([pair.width for pair in pairs])
        self._flat = np.array([pair.flat for pair in pairs])[:, None]

    def gaps(self, R: Array, o: Array) -> Array:
        """One by one where the disc may stand on a face."""
        p = self._inside(None, R, o)
        axes = (((R[self._a] @ self._axes[..., None])[..., 0])[:, None, :] @ R[self._b])[:, 0]
        above = (self._normals @ p[..., None])[..., 0] - self._offsets
        leaning = np.linalg.norm(self._normals + axes[:, None], axis=-1)
        raised = RISE * np.maximum(0.0, leaning - self._flat)
        found = standing_gaps(above, raised, np.hypot(p[:, 0], p[:, 1]) - self._widths)
        for k in np.flatnonzero((raised == 0.0).any(axis=1)).tolist():
            found[k] = self._pairs[k].open_gap(Place(R[self._a[k]], o[self._a[k]], R[self._b[k]], o[self._b[k]]))
        return found


class OnHulls(Points):
    """Against hulls: see `Hull`. Far from one, the largest distance from a plane of a face stands."""

    def __init__(self, pairs: Sequence[PointOnSolid], solids: Array) -> None:
        super().__init__(pairs, solids)
        shapes = [pair.shape for pair in pairs]
        kinds = list({id(shape.solid): shape.solid for shape in shapes}.values())  # type: ignore[attr-defined]
        numbers = {id(solid): k for k, solid in enumerate(kinds)}
        which = np.array([numbers[id(shape.solid)] for shape in shapes])  # type: ignore[attr-defined]
        self._groups = [(solid, np.flatnonzero(which == k)) for k, solid in enumerate(kinds)]

    def gaps(self, R: Array, o: Array) -> Array:
        """The distance to the nearest face, edge or corner."""
        p, found = self._inside(None, R, o), np.empty(len(self._pairs))
        for solid, own in self._groups:
            planes = (p[own] @ solid.normals.T - solid.offsets).max(axis=1)
            found[own] = planes - self._radius[own]
            for k in own[found[own] <= FAR_BODIES * solid.reach]:
                found[k] = self._pairs[k].open_gap(Place(R[self._a[k]], o[self._a[k]], R[self._b[k]], o[self._b[k]]))
        return found


class FlatsOnHills(OneByOne):
    """Edges and faces against hills. Of those whose balls are well above the ground, the distance of these stands."""

    def __init__(self, pairs: Sequence[FlatOnHills], solids: Array) -> None:
        super().__init__(pairs, solids)
        self._ground, self._flats = pairs[0].ground, list(pairs)
        self._middles = np.array([pair.ball[0] for pair in pairs])
        self._spans = np.array([pair.ball[1] for pair in pairs])
        self._radii = np.array([pair.radius for pair in pairs])
        self._counts, self._around = np.array([len(pair.points) for pair in pairs]), [pair.radii for pair in pairs]
        self._extents = np.array([pair.extent_a for pair in pairs])
        self._numbers = [pair.among[1] for pair in pairs if pair.among is not None]

    def _told(self, near: Array, places: Sequence[Place]) -> None:
        """Tell features (k,) near the ground what that is at their samples, those of all of them at a time."""
        if len(near) < 2:
            return
        points = [
            self._flats[k].points @ place.R_a.T + place.o_a for k, place in zip(near.tolist(), places, strict=True)
        ]
        radii, together = np.concatenate([self._around[k] for k in near.tolist()]), np.concatenate(points)
        gaps, normals = self._ground.gaps(0.0, together, radii), self._ground.normals_below(0.0, together, radii)
        cuts = np.cumsum(self._counts[near])[:-1]
        parts = zip(near.tolist(), places, np.split(gaps, cuts), np.split(normals, cuts), strict=True)
        for k, place, own, below in parts:
            self._flats[k].search.tell(place, own, below)

    def _places(self, near: Array, R: Array, o: Array) -> list[Place]:
        return [Place(R[a], o[a], R[b], o[b]) for a, b in zip(self._a[near], self._b[near], strict=True)]

    def _bounds(self, R: Array, o: Array) -> tuple[Array, Array]:
        """Distances of the balls, and which of them (n,) are near."""
        middles = (R[self._a] @ self._middles[..., None])[..., 0] + o[self._a]
        found, near = clearances(self._ground, middles, self._spans, self._radii)
        return found, np.flatnonzero(near)

    def _seen(self, R: Array, o: Array) -> Array | None:
        """What a compiled engine sees of all of them (k, 4); None: Python looks."""
        among = self._flats[0].among
        if among is None or (compiled := among[0].compiled) is None:
            return None
        return compiled.looks(self._numbers, np.hstack([R[self._a].reshape(-1, 9), o[self._a]]))

    def gaps(self, R: Array, o: Array) -> Array:
        """One by one only where they are near."""
        if (seen := self._seen(R, o)) is not None:
            return seen[:, 2]
        found, near = self._bounds(R, o)
        places = self._places(near, R, o)
        self._told(near, places)
        for k, place in zip(near.tolist(), places, strict=True):
            found[k] = self._pairs[k].near_gap(place)
        return found

    def loose(self, R: Array, o: Array) -> Array:
        """Those that are near the ground, but not with a nearest point of their own."""
        if (seen := self._seen(R, o)) is not None:
            return (seen[:, 1] > 0.0) & (seen[:, 3] == 0.0) & (seen[:, 2] < LOOSE * self._extents)
        found, near = np.zeros(len(self._pairs), dtype=bool), self._bounds(R, o)[1]
        for k in near.tolist():
            place, pair = Place(R[self._a[k]], o[self._a[k]], R[self._b[k]], o[self._b[k]]), self._pairs[k]
            found[k] = not pair.acts(place) and pair.open_gap(place) < LOOSE * pair.extent_a  # type: ignore[attr-defined]
        return found


def _column(numbers: Sequence[Any]) -> Array:
    return np.array(numbers, dtype=float)[:, None]


RIMS: dict[type, type[GapTable]] = {Face: RimsOnFaces, Lined: RimsOnLines, Endless: OneByOne}
POINTS: dict[type, type[Points]] = {
    HalfSpace: OnHalfSpaces,
    Ball: OnBalls,
    Block: OnBoxes,
    Drum: OnDrums,
    Hull: OnHulls,
}


def tables(pairs: Sequence[FeaturePair], solids: Array) -> list[tuple[Array, GapTable]]:
    """Tables of contacts, each with the places of its own among them."""
    kinds: dict[Callable[..., GapTable], list[int]] = {}
    for k, pair in enumerate(pairs):
        kind: Callable[..., GapTable] = OneByOne
        if isinstance(pair, EdgeOnEdge):
            kind = Edges
        elif isinstance(pair, SmoothOnSolid):
            kind = Smooths
        elif isinstance(pair, ConeSideOnLine):
            kind = ConeSides
        elif isinstance(pair, RimOnPart):
            kind = next((kind for part, kind in RIMS.items() if isinstance(pair.part, part)), Rims)
        elif isinstance(pair, FlatOnHills):
            kind = FlatsOnHills
        elif isinstance(pair, StandingPoint):
            kind = Standing
        elif isinstance(pair, PointOnSolid):
            segment = isinstance(pair.shape, Hull) and not pair.shape.solid.loops
            kind = OnSegments if segment else POINTS.get(type(pair.shape), OneByOne)
        kinds.setdefault(kind, []).append(k)
    return [(np.array(own), kind([pairs[k] for k in own], solids[own])) for kind, own in kinds.items()]
