"""Where many closed contacts touch, those of one kind in arrays: points on plane faces and on balls, edges on edges."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from ...common.arrays import Array
from ...common.lazy import dataclass
from .edges import EdgeOnEdge, Lines, meet_of_edges
from .features import Bodies, FeaturePair, Meet, PointOnSolid, at, cross, dot, turned
from .shapes import Ball, Region, length_of


class MetTogether:
    """Closed contacts with the regions in which they are held.

    Args:
        pairs: their features (k,).
        regions: their regions (k,).

    Attributes:
        order: their numbers (k,) in the order in which they are looked at, kind by kind.
        in_order: whether that is the order in which they were given.
    """

    def __init__(self, pairs: Sequence[FeaturePair], regions: Sequence[Region]) -> None:
        kinds: dict[Hashable, list[int]] = {}
        for k, (pair, region) in enumerate(zip(pairs, regions, strict=True)):
            kinds.setdefault(_kind(pair, region, k), []).append(k)
        self.order = np.array([k for own in kinds.values() for k in own], dtype=int)
        self.in_order = bool((np.diff(self.order) > 0).all())
        self._groups, first = list[tuple[slice, _Kind]](), 0
        for kind, own in kinds.items():
            joined = _joined(kind, [pairs[k] for k in own], [regions[k] for k in own])
            self._groups.append((slice(first, first + len(own)), joined))
            first += len(own)

    def __call__(self, bodies: Bodies) -> Meet:
        """Points, normals and rates (k, 3) of all in their order, from the motion of their bodies (k, ...)."""
        found = [kind.meet(Bodies(*[part[own] for part in bodies])) for own, kind in self._groups]
        return found[0] if len(found) == 1 else Meet(*[np.concatenate(part) for part in zip(*found, strict=True)])


@dataclass(frozen=True, eq=False)
class _Alone:
    """A contact that has no arrays."""

    pair: FeaturePair
    region: Region

    def meet(self, bodies: Bodies) -> Meet:
        found = self.pair.meet(Bodies(*(part[0] for part in bodies)), self.region)
        return Meet(*(part[None] for part in found))


@dataclass(frozen=True, eq=False)
class _OnFaces:
    """Points or spheres of radii (k, 1) on faces with the normals (k, 3) in axes of B: see `PointOnSolid.meet`."""

    normals: Array
    radius: Array

    def meet(self, bodies: Bodies) -> Meet:
        n = turned(bodies.R_b, self.normals)
        n_rate = cross(bodies.V_b[..., 3:], n)
        c = bodies.o_a
        return Meet(c - self.radius * n, at(bodies.V_a, c) - self.radius * n_rate, n, n_rate)


@dataclass(frozen=True, eq=False)
class _OnBalls:
    """Points or spheres of radii (k, 1) on balls: the normal follows the line between both centres."""

    radius: Array

    def meet(self, bodies: Bodies) -> Meet:
        c, p, c_rate = bodies.o_a, bodies.o_a - bodies.o_b, at(bodies.V_a, bodies.o_a)
        far, rate = length_of(p), c_rate - at(bodies.V_b, bodies.o_b)
        n = p / far
        n_rate = (rate - n * dot(n, rate)) / far
        return Meet(c - self.radius * n, c_rate - self.radius * n_rate, n, n_rate)


@dataclass(frozen=True, eq=False)
class _Across:
    """Edges with the ends (k, 2, 3) across others, the senses of their normals (k, 1), and what rounds them (k, 1)."""

    ends_a: Array
    ends_b: Array
    sense: Array
    radius: Array

    def meet(self, bodies: Bodies) -> Meet:
        (u, w), (y, z) = self.ends_a.transpose(1, 0, 2), self.ends_b.transpose(1, 0, 2)
        p, q = turned(bodies.R_a, u) + bodies.o_a, turned(bodies.R_b, y) + bodies.o_b
        lines = Lines.of(p, turned(bodies.R_a, w - u), q, turned(bodies.R_b, z - y))
        return meet_of_edges(lines, bodies, self.sense, self.radius)


_Kind = _Alone | _OnFaces | _OnBalls | _Across


def _kind(pair: FeaturePair, region: Region, k: int) -> Hashable:
    if isinstance(pair, EdgeOnEdge):
        return _Across
    if isinstance(pair, PointOnSolid) and isinstance(pair.shape, Ball):
        return _OnBalls
    if isinstance(pair, PointOnSolid) and pair.shape.faced(region):
        return _OnFaces
    return k


def _joined(kind: Hashable, pairs: Sequence[FeaturePair], regions: Sequence[Region]) -> _Kind:
    points = [pair for pair in pairs if isinstance(pair, PointOnSolid)]
    edges = [pair for pair in pairs if isinstance(pair, EdgeOnEdge)]
    if kind is _OnBalls:
        return _OnBalls(_column([pair.radius for pair in points]))
    if kind is _OnFaces:
        normals = [pair.shape.normal(np.zeros(3), region) for pair, region in zip(points, regions, strict=True)]
        return _OnFaces(np.array(normals), _column([pair.radius for pair in points]))
    if kind is _Across:
        return _Across(
            np.array([pair.one.vertices[pair.one.edges[pair.a]] for pair in edges]),
            np.array([pair.two.vertices[pair.two.edges[pair.b]] for pair in edges]),
            _column([region[0] for region in regions]),
            _column([pair.radius_a for pair in edges]),
        )
    return _Alone(pairs[0], regions[0])


def _column(numbers: Sequence[float]) -> Array:
    return np.array(numbers, dtype=float)[:, None]
