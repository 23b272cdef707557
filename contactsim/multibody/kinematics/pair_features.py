"""Contacts between bodies as features of their shapes: regions, frames and bodies of each."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Self

from ...common.arrays import Array
from ..geometry.pair_kinematics import PairKinematics
from ..geometry.shapes import Region
from .around import Around
from .bound_robot import BoundRobot
from .bound_shapes import BoundShapes


class PairFeatures(Around):
    """A robot on its ground, with pairs of features from the contact `_first` on, up to `_behind`."""

    inner: BoundRobot | BoundShapes
    _pairs: PairKinematics
    _regions: dict[int, Region]
    _first: int
    _behind: int
    has_regions = True

    def _regions_at(self, q: Array, pairs: list[int]) -> list[Region]:
        return self._pairs.regions(q, self._regions, pairs)

    def _on_ground(self, contact: int) -> int:
        """The number that the mechanism of the ground gives to one of its contacts."""
        return contact if contact < self._first else contact - self._behind + self._first

    def within(self, regions: Mapping[int, Region]) -> Self:
        """The same with the regions of some contacts held, in which their distance goes on smoothly beyond its end."""
        held = copy.copy(self)
        held.inner = self.inner.within({i: region for i, region in regions.items() if i < self._first})
        held._regions = {i - self._first: region for i, region in regions.items() if i >= self._first}
        return held

    def region(self, q: Array, contact: int) -> Region:
        """Region of the solid of a pair in which its point is; () where that makes no difference."""
        if not self._first <= contact < self._behind:
            return self.inner.region(q, self._on_ground(contact))
        return self._pairs.region(q, contact - self._first)

    def region_sides(self, contact: int, region: Region) -> tuple[int, ...]:
        """The sides on which a region can be left."""
        if contact < self._first:
            return self.inner.region_sides(contact, region)
        return self._pairs.pairs[contact - self._first].features.sides(region)

    def region_margin(self, q: Array, contact: int, region: Region, side: int) -> float:
        """Distance from leaving a region on a side [m]."""
        if contact < self._first:
            return self.inner.region_margin(q, contact, region, side)
        return self._pairs.margin(q, contact - self._first, region, side)

    def region_gradient(self, q: Array, contact: int, region: Region, side: int) -> Array:
        """Derivative (nv,) of that distance."""
        if contact < self._first:
            return self.inner.region_gradient(q, contact, region, side)
        return self._pairs.margin_gradient(q, contact - self._first, region, side)

    def region_beyond(self, contact: int, region: Region, side: int) -> Region | None:
        """The region behind a side; None where the contact ends there, as a point does that runs off a face."""
        if contact < self._first:
            return self.inner.region_beyond(contact, region, side)
        return self._pairs.pairs[contact - self._first].features.beyond(region, side)

    def taking_over(self, q: Array, contact: int, region: Region) -> tuple[int, ...]:
        """Open contacts that touch where one that ends does."""
        if not self._first <= contact < self._behind:
            return ()
        return tuple(self._first + k for k in self._pairs.taking_over(q, contact - self._first, region))

    def joints_of(self, contact: int) -> tuple[int, int]:
        """Joints of the bodies of a pair, or of a contact on the ground."""
        if not self._first <= contact < self._behind:
            return self.inner.joints_of(self._on_ground(contact))
        pair = self._pairs.pairs[contact - self._first]
        return pair.joint_a, pair.joint_b

    def frame_motion(self, t: float, q: Array, v: Array, contact: int) -> tuple[Array, Array]:
        """Frame of a contact in world axes, and its rate."""
        if self._first <= contact < self._behind:
            k = contact - self._first
            return self._pairs.frame_motion(q, v, k, self._regions_at(q, [k])[0])
        return self.inner.frame_motion(t, q, v, self._on_ground(contact))
