"""Couples of bodies that may meet, by boxes around what touches of each: many features have two boxes among them.

A box stands in axes of its joint; what is fixed to the world has one for each of its solids, so that a floor of many
walls is not one large box. Two boxes are apart by the most that they are along one of their axes. Around each of them
there is a ball, too, which is far smaller than that of the box where a sphere touches.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...common.arrays import Array
from .edges import EdgeOnEdge
from .features import FeaturePair, PairShape, PointOnSolid
from .hulls import Hull
from .polyhedra import Polyhedron, corners_of_box
from .shapes import Block

UNIT = corners_of_box((2.0, 2.0, 2.0))
EVERYTHING = -1  # stands for all solids of a body that moves
Core = Polyhedron | Block | None


class Couples:
    """The couples of some pairs.

    Args:
        pairs: contacts between bodies (k,).
        ends: the places (k, 2) of their solids A and B, by which these are told apart.

    Attributes:
        joints: joints (c, 2) of each couple.
        arms: largest distances (c, 2) of what touches from the origins of these joints [m].
        endless: pairs (e,) that no boxes hold; each of them is near.
        bounded: the others (k - e,).
        of: the couple of each of these.
    """

    def __init__(self, pairs: Sequence[PairShape], ends: Array) -> None:
        endless = np.array([p.features.extent_b is None for p in pairs], dtype=bool)
        self.endless, self.bounded, boxes = np.flatnonzero(endless), np.flatnonzero(~endless), _Boxes()
        sides = np.array([boxes.around(pairs[k], ends[k]) for k in self.bounded.tolist()], dtype=int).reshape(-1, 2)
        numbers, self.of = np.unique(np.sort(sides, axis=1), axis=0, return_inverse=True)
        self.of = self.of.ravel()
        self._one, self._two = numbers.T
        joints, low, high = boxes.found()
        self._joints, self._middle, self._half = joints, 0.5 * (low + high), 0.5 * (high - low)
        self._radius = np.minimum(np.linalg.norm(self._half, axis=1), boxes.radii(self._middle))
        self.joints, self.arms = joints[numbers], (np.linalg.norm(self._middle, axis=1) + self._radius)[numbers]

    def apart(self, R: Array, o: Array, distance: Array | float) -> Array:
        """Mask (c,) of couples that are farther apart than that [m]; joints have axes R (j, 3, 3) and origins o."""
        R, o = R[self._joints], o[self._joints]
        centre = (R @ self._middle[..., None])[..., 0] + o
        way, distance = centre[self._two] - centre[self._one], np.broadcast_to(distance, self._one.shape)
        away = np.linalg.norm(way, axis=1) - self._radius[self._one] - self._radius[self._two] > distance
        near = np.flatnonzero(~away)
        if len(near):
            away[near] = self._between(R, way[near], near) > distance[near]
        return away

    def _between(self, R: Array, way: Array, near: Array) -> Array:
        """By how much the boxes of some couples (n,) are apart, along one of the axes of both."""
        one, two = self._one[near], self._two[near]
        turn = np.abs(R[one].transpose(0, 2, 1) @ R[two])
        width_one = np.minimum((self._half[one, None] @ turn)[:, 0], self._radius[one, None])
        width_two = np.minimum((turn @ self._half[two, :, None])[..., 0], self._radius[two, None])
        of_one = np.abs((way[:, None] @ R[one])[:, 0]) - self._half[one] - width_two
        of_two = np.abs((way[:, None] @ R[two])[:, 0]) - self._half[two] - width_one
        return np.maximum(of_one.max(axis=1), of_two.max(axis=1))


class _Boxes:
    """Boxes of bodies, and of the solids of the world, that grow by what is found of them."""

    def __init__(self) -> None:
        self._numbers = dict[tuple[int, int], int]()
        self._bounds = list[tuple[Array, Array]]()
        self._known = set[tuple[int, int, float]]()
        self._balls = list[list[tuple[Array, float]]]()

    def around(self, pair: PairShape, ends: Array) -> tuple[int, int]:
        """The numbers of the boxes of A and B, which hold what touches of both."""
        features = pair.features
        return (
            self._grown(pair.joint_a, pair.placement_a, int(ends[0]), *_part_a(features)),
            self._grown(pair.joint_b, pair.placement_b, int(ends[1]), *_part_b(features)),
        )

    def _grown(self, joint: int, placement: object, end: int, core: Core, around: float) -> int:
        key = joint, EVERYTHING if joint else end
        number = self._numbers.setdefault(key, len(self._numbers))
        if number == len(self._bounds):
            self._bounds.append((np.full(3, np.inf), np.full(3, -np.inf)))
            self._balls.append([])
        if (end, id(core), around) in self._known:
            return number
        self._known.add((end, id(core), around))
        if isinstance(core, Polyhedron):
            middle, half = core.box
        else:
            middle, half = np.zeros(3), np.zeros(3) if core is None else core.half
        corners = (middle + UNIT * (half + around)) @ placement.rotation.T + placement.translation  # type: ignore[attr-defined]
        centre = placement.rotation @ middle + placement.translation  # type: ignore[attr-defined]
        self._balls[number].append((centre, float(np.linalg.norm(half)) + around))
        low, high = self._bounds[number]
        self._bounds[number] = np.minimum(low, corners.min(axis=0)), np.maximum(high, corners.max(axis=0))
        return number

    def radii(self, middles: Array) -> Array:
        """Radii (b,) of balls around some points (b, 3) that hold what touches of each."""
        pairs = zip(self._balls, middles, strict=True)
        return np.array([max(float(np.linalg.norm(c - middle)) + r for c, r in balls) for balls, middle in pairs])

    def found(self) -> tuple[Array, Array, Array]:
        """Joints (b,), and lowest and highest coordinates (b, 3) in their axes."""
        joints = np.array([joint for joint, _ in self._numbers], dtype=int)
        low, high = np.array(self._bounds).reshape(-1, 2, 3).transpose(1, 0, 2)
        return joints, low, high


def _part_a(features: FeaturePair) -> tuple[Core, float]:
    """What of A has a box, and how far what touches lies outside of it at most [m]."""
    if isinstance(features, EdgeOnEdge):
        return features.one, features.radius_a
    return None, features.extent_a + features.radius_a


def _part_b(features: FeaturePair) -> tuple[Core, float]:
    """The same of B."""
    if isinstance(features, EdgeOnEdge):
        return features.two, features.radius_b
    if isinstance(features, PointOnSolid) and isinstance(features.shape, Block):
        return features.shape, features.shape.rounding
    if isinstance(features, PointOnSolid) and isinstance(features.shape, Hull):
        return features.shape.solid, features.shape.rounding
    assert features.extent_b is not None
    return None, features.extent_b
