"""Contacts between bodies as plain arrays: spheres of radius greater than zero that touch spheres or boxes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from ..plain_robot import PlainContact, PlainFrame, PlainSolid, plain_joints
from .features import FeaturePair, PairShape, PointOnSolid
from .pair_kinematics import N0, TANGENTS, Frame
from .shapes import Ball, Block

if TYPE_CHECKING:
    from ..kinematics.reach import Reach


def is_plain(features: FeaturePair) -> TypeGuard[PointOnSolid]:
    """Whether a sphere of its own, which is no rounded corner of a body, meets a sphere or a box."""
    if type(features) is not PointOnSolid or features.radius == 0.0:
        return False
    return type(features.shape) in (Ball, Block) and features.corners and not len(features.edges)


def plain_frame(frame: Frame, directions: int) -> PlainFrame | None:
    """The frame of contacts between bodies; None where these and the ground differ in their number of directions."""
    if frame.rows != directions:
        return None
    return PlainFrame(N0, TANGENTS, np.zeros(3) if frame.across is None else frame.across)


def plain_pairs(pairs: Sequence[PairShape], model: Any, reach: Reach | None) -> tuple[PlainContact | None, ...]:
    """Contacts between bodies; None where one is not plain, or its sphere does not move."""
    joints = plain_joints(model)
    if joints is None:
        return (None,) * len(pairs)
    hosts = [-1] * model.njoints if reach is None else reach.index.tolist()
    return tuple([_plain_pair(pair, joints[1], hosts) for pair in pairs])


def _plain_pair(pair: PairShape, number: Sequence[int], hosts: Sequence[int]) -> PlainContact | None:
    features, one, two = pair.features, pair.joint_a, pair.joint_b
    if not is_plain(features) or not one:
        return None
    shape, at = features.shape, pair.placement_b
    solid = PlainSolid(
        joint=number[two],
        turn=np.array(at.rotation),
        place=np.array(at.translation),
        radius=shape.radius if isinstance(shape, Ball) else 0.0,
        half=shape.half if isinstance(shape, Block) else None,
        host=hosts[two],
    )
    centre = np.array(pair.placement_a.translation)
    return PlainContact(number[one], centre, features.radius, host=hosts[one], other=solid)
