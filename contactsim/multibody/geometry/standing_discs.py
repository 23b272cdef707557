"""Discs that stand on plane faces by points of their rims: while some of these are closed, all of them hold it.

A disc lies flat up to a tilt (`Circle.flat`); closed points end at STANDS times that, open ones begin below it. While
some are closed the disc stands: none of its points is raised by the tilt, and its rim, which may be below the chord
between two of them by the radius times the tilt times 1 - cos(pi / n), is off.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ...common.arrays import Array
from .cylinder_points import StandingPoint
from .features import PairShape
from .rims import RimOnPlane

SAME = 1e-9  # m, and of unit vectors: centres and axes of discs that are one


class Disc(NamedTuple):
    """What of a disc meets the plane faces of a solid: numbers of the contacts of its rim, and of its points."""

    rims: frozenset[int]
    points: frozenset[int]


class StandingDiscs:
    """Which of some contacts are of one disc and one solid.

    Args:
        pairs: the contacts.
    """

    def __init__(self, pairs: Sequence[PairShape]) -> None:
        self._discs: dict[int, Disc] = {}
        points = [k for k, pair in enumerate(pairs) if isinstance(pair.features, StandingPoint)]
        rims = [k for k, pair in enumerate(pairs) if isinstance(pair.features, RimOnPlane)]
        axes = {k: _axis(pairs[k]) for k in points}
        found: list[tuple[list[int], list[int]]] = []
        for k in points:
            own = next((own for _, own in found if _same_disc(pairs, axes, k, own[0])), None)
            if own is None:
                found.append(([i for i in rims if _is_on(pairs[k], axes[k], pairs[i])], [k]))
            else:
                own.append(k)
        for of_rim, of_disc in found:
            self._discs.update(dict.fromkeys(of_disc, Disc(frozenset(of_rim), frozenset(of_disc))))

    @property
    def numbers(self) -> dict[int, int]:
        """Of contacts that belong to a disc, rims and points, its number."""
        found = dict[int, int]()
        for number, disc in enumerate(dict.fromkeys(self._discs.values())):
            found.update(dict.fromkeys((*disc.rims, *disc.points), number))
        return found

    def standing(self, closed: Collection[int]) -> Disc:
        """Rims that are off and points that are not raised while some contacts are closed, but for these."""
        discs = {self._discs[k] for k in closed if k in self._discs} if self._discs else set()
        own = frozenset(closed)
        return Disc(
            frozenset[int]().union(*(disc.rims for disc in discs)) - own,
            frozenset[int]().union(*(disc.points for disc in discs)) - own,
        )


def _axis(pair: PairShape) -> Array:
    assert isinstance(pair.features, StandingPoint)
    return np.asarray(pair.placement_a.rotation @ pair.features.axis)


def _same_solid(one: PairShape, two: PairShape) -> bool:
    same = one.joint_a == two.joint_a and one.joint_b == two.joint_b
    return same and np.array_equal(one.placement_b.homogeneous, two.placement_b.homogeneous)


def _same_disc(pairs: Sequence[PairShape], axes: Mapping[int, Array], k: int, i: int) -> bool:
    if not _same_solid(pairs[k], pairs[i]) or np.abs(axes[k] - axes[i]).max() > SAME:
        return False
    return abs(float(axes[k] @ (pairs[k].placement_a.translation - pairs[i].placement_a.translation))) < SAME


def _is_on(point: PairShape, axis: Array, rim: PairShape) -> bool:
    """Whether a point on which a disc stands is one of a rim."""
    features = rim.features
    assert isinstance(features, RimOnPlane)
    own = features.rim.end * rim.placement_a.rotation[:, 2]
    if not _same_solid(point, rim) or np.abs(own - axis).max() > SAME:
        return False
    way = point.placement_a.translation - rim.placement_a.act(features.rim.feature.centre)
    return abs(float(axis @ way)) < SAME and abs(float(np.linalg.norm(way)) - features.rim.radius) < SAME
