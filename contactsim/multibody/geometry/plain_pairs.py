"""Contacts between bodies as plain arrays.

Known are spheres of a radius greater than zero that touch spheres, capsules, boxes or hulls, points without one that
touch all of these but spheres, straight edges, axes and sides across each other, and what `plain_features` knows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ...common.arrays import Array
from ..plain_robot import PlainContact, PlainCorner, PlainEdges, PlainFrame, PlainMet, PlainSolid, plain_joints
from .edges import EdgeOnEdge
from .features import FeaturePair, PairShape, PointOnSolid
from .hulls import Hull
from .pair_kinematics import N0, TANGENTS, Frame
from .polyhedra import Polyhedron, polyhedron_of_box
from .shapes import Ball, Block, Shape

if TYPE_CHECKING:
    from ..kinematics.reach import Reach
    from .plain_features import PlainFeaturesOf


def is_plain(features: FeaturePair) -> bool:
    """Whether a sphere, a corner or an edge meets a solid: none of a cylinder or cone, which have their own rules."""
    if type(features) is EdgeOnEdge:
        return not features.blunt and features.standing is None
    if type(features) is not PointOnSolid:
        return False
    return type(features.shape) in (Block, Hull) or (type(features.shape) is Ball and features.radius > 0.0)


def _is_sharp_tip(features: FeaturePair) -> bool:
    """Whether the tip of a cone meets a box or a hull, which it does as any corner."""
    from .cylinder_points import ConeTip

    return type(features) is ConeTip and type(features.shape) in (Block, Hull) and features.rounding == 0.0


def plain_frame(frame: Frame, directions: int) -> PlainFrame | None:
    """The frame of contacts between bodies; None where these and the ground differ in their number of directions."""
    if frame.rows != directions:
        return None
    return PlainFrame(N0, TANGENTS, np.zeros(3) if frame.across is None else frame.across)


def plain_pairs(pairs: Sequence[PairShape], model: Any, reach: Reach | None) -> tuple[PlainContact | None, ...]:
    """Contacts between bodies; None where one is not plain."""
    joints = plain_joints(model)
    if joints is None:
        return (None,) * len(pairs)
    hosts = [-1] * model.njoints if reach is None else reach.index.tolist()
    blocks = {shape for pair in pairs if isinstance(shape := getattr(pair.features, "shape", None), Block)}
    boxes = {polyhedron_of_box(block.lengths): block for block in blocks}
    made = _Made(joints[1], hosts, boxes, pairs)
    return tuple([made.contact(number, pair) for number, pair in enumerate(pairs)])


def plain_arms(pairs: Sequence[PairShape], reach: Reach) -> Array:
    """Largest distance (joints,) of what touches others from the origin of each joint of the reach [m]."""
    index, arms, shifts = reach.index.tolist(), [0.0] * len(reach.parent), dict[int, float]()
    for pair in pairs:
        features = pair.features
        ends = (pair.joint_a, pair.placement_a, features.extent_a), (pair.joint_b, pair.placement_b, features.extent_b)
        for joint, at, extent in ends:  # many features of one solid share its placement
            shift = shifts.get(id(at))
            if shift is None:
                shift = shifts[id(at)] = float(np.linalg.norm(at.translation))
            arms[index[joint]] = max(arms[index[joint]], shift + (extent or 0.0))
    return np.array(arms)


class _Made:
    """Contacts, whose solids are made once each.

    Args:
        number: of each joint of the model among the plain ones.
        hosts: of each of them among those of the reach.
        boxes: the polyhedra that are boxes which points touch.
        pairs: all contacts, of which some may be of one disc.
    """

    def __init__(
        self,
        number: Sequence[int],
        hosts: Sequence[int],
        boxes: Mapping[Polyhedron, Block],
        pairs: Sequence[PairShape],
    ) -> None:
        self._number, self._hosts, self._boxes, self._pairs = number, hosts, boxes, pairs
        self._solids, self._seen = dict[Any, PlainSolid](), dict[Any, PlainSolid]()

    def contact(self, number: int, pair: PairShape) -> PlainContact | None:
        """A contact, by its number among them; None where it is not plain."""
        features, one, two = pair.features, pair.joint_a, pair.joint_b
        if isinstance(features, EdgeOnEdge):
            return self._edges(pair, features)
        if not (is_plain(features) or _is_sharp_tip(features)):
            return self._met(number, pair)
        assert isinstance(features, PointOnSolid)
        centre, corner = np.array(pair.placement_a.translation), None
        other, radius = self._of_shape(two, pair.placement_b, features.shape), features.radius
        inner = None if features.rounding > 0.0 else np.array(features.inner)
        if len(features.edges):
            turned = np.asarray(features.edges @ pair.placement_a.rotation.T)
            corner = PlainCorner(turned, features.corners)
        host = self._hosts[one]
        return PlainContact(self._number[one], centre, radius, host=host, other=other, inner=inner, corner=corner)

    def _edges(self, pair: PairShape, features: EdgeOnEdge) -> PlainContact:
        """Edges across each other."""
        own = self._solid(pair.joint_a, pair.placement_a, features.one, features.radius_a)
        other = self._solid(pair.joint_b, pair.placement_b, features.two, features.radius_b)
        lengths = features.extent_a, features.lever, features.deepest, features.held, features.rim
        ends = features.blunt, features.standing
        edges, radius = PlainEdges(own, features.a, features.b, *lengths, *ends), features.radius_a
        return PlainContact(own.joint, own.place, radius, host=own.host, other=other, edges=edges)

    @cached_property
    def _features(self) -> PlainFeaturesOf:
        from .plain_features import PlainFeaturesOf  # which only cylinders, cones and ellipsoids need

        return PlainFeaturesOf()

    @cached_property
    def _discs(self) -> dict[int, int]:
        """Of contacts that belong to a disc, its number."""
        from .standing_discs import StandingDiscs

        return StandingDiscs(self._pairs).numbers

    def _met(self, number: int, pair: PairShape) -> PlainContact | None:
        """Features that meet by functions of both places; None where they are not plain."""
        found = self._features.of(pair.features)
        if found is None:
            return None
        turn, centre = np.array(pair.placement_a.rotation), np.array(pair.placement_a.translation)
        met = PlainMet(turn, found, pair.features.extent_a, self._discs.get(number, -1))
        other = self._solid(pair.joint_b, pair.placement_b, None)
        return PlainContact(self._number[pair.joint_a], centre, host=self._hosts[pair.joint_a], other=other, met=met)

    def _of_shape(self, joint: int, at: Any, shape: Shape) -> PlainSolid:
        """A solid that a sphere or a point touches."""
        if isinstance(shape, Block):
            return self._solid(joint, at, polyhedron_of_box(shape.lengths))
        if isinstance(shape, Hull):
            return self._solid(joint, at, shape.solid, shape.rounding)
        assert isinstance(shape, Ball)
        return self._solid(joint, at, None, shape.radius)

    def _solid(self, joint: int, at: Any, hull: Polyhedron | None, radius: float = 0.0) -> PlainSolid:
        """A polyhedron, rounded by a radius or not, or a sphere; features of one solid mostly share its placement."""
        seen = joint, id(at), hull, radius
        if seen in self._seen:
            return self._seen[seen]
        known = joint, at.homogeneous.tobytes(), hull, radius
        if known not in self._solids:
            placed = self._number[joint], np.array(at.rotation), np.array(at.translation)
            box = None if hull is None else self._boxes.get(hull)
            half = None if box is None else box.half
            self._solids[known] = PlainSolid(*placed, radius, half, hull, self._hosts[joint])
        self._seen[seen] = self._solids[known]
        return self._solids[known]
