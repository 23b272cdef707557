"""Bodies that touch hills with their edges and faces, besides their corners, which are contact points.

Contacts are numbered: those of the inner mechanism, edges and faces, then joint limits. Corners keep the rows that they
have; when they end and when others take over from them is the matter of features of their own, see `hill_features`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Self

import numpy as np

from ...common.arrays import Array
from ...common.lazy import lazy
from ...hybrid.flow import Look
from ..forest import roots_of
from ..geometry.features import PairShape
from ..geometry.hill_features import ACTING, FlatOnHills
from ..geometry.hill_pieces import OnHills, carried, corners_of, features_of
from ..geometry.pair_kinematics import PairKinematics
from ..geometry.pairing import ResolvedPair
from ..geometry.plain_flats import Compile, Searches
from ..geometry.shapes import Region
from ..mechanism import ContactMechanism, GapBounds, JointPath, kinetic_of, static_of
from ..terrain.hills import Hills
from ..zero import OFF
from .bound_robot import BoundRobot
from .bound_shapes import BoundShapes
from .bound_world import BoundWorld

if TYPE_CHECKING:
    from ..plain_robot import PlainFeature, PlainRobot
    from ..robot_model import RobotModel
    from ..terrain import Terrain

Inner = BoundRobot | BoundShapes | BoundWorld


def with_edges_on_hills(
    mechanism: ContactMechanism, robot: RobotModel, terrain: Terrain, compile_: Compile | None = None
) -> ContactMechanism:
    """The mechanism of a robot with contacts for the edges and faces of its bodies on hills, if there are any.

    Args:
        mechanism: that without them.
        robot, terrain: the robot and its ground.
        compile_: compiles their searches for nearest points; None: Python looks.
    """
    bodies = carried(robot, terrain)
    if not bodies:
        return mechanism
    assert isinstance(terrain, Hills)
    assert isinstance(mechanism, (BoundRobot, BoundShapes, BoundWorld))
    found = BoundHills(mechanism, robot, terrain, bodies, Searches(terrain.plain_hills(), compile_))
    return found if found.same_rows else mechanism


def _without(inner: Inner, contacts: Sequence[int]) -> Inner:
    """The mechanism where some curved contacts never touch, as others are in their place."""
    if isinstance(inner, BoundShapes):
        return inner._without(contacts)
    found = copy.copy(inner)
    if isinstance(found, BoundWorld):
        found.inner = _without(found.inner, contacts)
    return found


def _among(searches: Searches, pair: PairShape) -> PairShape:
    """A feature among those that are searched for together."""
    assert isinstance(pair.features, FlatOnHills)
    return replace(pair, features=replace(pair.features, among=(searches, searches.add(pair.features.plain()))))


def _plain_feature(pair: PairShape, corner: bool) -> PlainFeature:
    from ..plain_robot import PlainFeature

    features, at = pair.features, pair.placement_a
    assert isinstance(features, FlatOnHills)
    extent = features.extent_a
    return PlainFeature(features.plain(), np.array(at.rotation), np.array(at.translation), extent, corner)


class BoundHills(BoundWorld):
    """A robot on hills, some of whose bodies touch these with edges and faces.

    Args:
        inner: its mechanism, on the same ground.
        robot, terrain: these.
        bodies: those whose edges and faces meet the ground.
        searches: who looks for the nearest points of these.
    """

    def __init__(
        self,
        inner: Inner,
        robot: RobotModel,
        terrain: Hills,
        bodies: Sequence[OnHills],
        searches: Searches,
    ) -> None:
        features, corners, points, replaced = list[ResolvedPair](), list[PairShape](), list[int](), list[int]()
        for body in bodies:
            point = robot.contacts[(*body.points, *body.rims)[0]]
            numbers = kinetic_of(point), static_of(point), point.restitution
            pairs = [_among(searches, pair) for pair in features_of(body, terrain)]
            features += [ResolvedPair(pair, *numbers, None) for pair in pairs]
            corners += [_among(searches, pair) for pair in corners_of(body, terrain)]
            points += body.points
            replaced += body.rims
        self._pairs = PairKinematics(robot.model, [*(pair.kinematics for pair in features), *corners])
        self._join(_without(inner, replaced) if replaced else inner, features, roots_of(robot.model))
        self._own = *points, *replaced
        self._corners = {point: len(features) + k for k, point in enumerate(points)}
        self.kinked |= self._corners.keys()

    @lazy
    def _plain_robot(self) -> PlainRobot | None:
        """That of the robot on its ground, with edges, faces, rims and corners."""
        from ..geometry.plain_pairs import plain_frame
        from ..plain_robot import PlainContact, plain_joints

        ground, joints = self.inner.plain_robot, plain_joints(self._pairs.model)
        if ground is None or joints is None or ground.ground.hills is None:
            return None
        frame = plain_frame(self._pairs.frame, len(ground.ground.basis))
        if frame is None or (ground.frame is not None and not np.array_equal(frame.across, ground.frame.across)):
            return None
        number, contacts = joints[1], list(ground.contacts)
        hosts = [-1] * len(number) if self.reach is None else self.reach.index.tolist()
        for point, corner in self._corners.items():
            known = contacts[point]
            assert known is not None
            contacts[point] = replace(known, feature=_plain_feature(self._pairs.pairs[corner], corner=True))
        own = []
        for pair in self._pairs.pairs[: self._behind - self._first]:
            feature = _plain_feature(pair, corner=False)
            numbers = number[pair.joint_a], feature.place, pair.features.radius_a
            own.append(PlainContact(*numbers, host=hosts[pair.joint_a], feature=feature))
        contacts[self._first : self._first] = own
        return replace(ground, contacts=tuple(contacts), frame=frame)

    @property
    def same_rows(self) -> bool:
        """Whether edges and faces can have rows along the directions in which corners have theirs."""
        return all(self._pairs.frame.rows == self.dims[i] for i in self._own)

    def near(self, t: float, q: Array, distance: float) -> Array:
        """Those of the inner mechanism, and all edges and faces."""
        inner, own = self.inner.near(t, q, distance), np.arange(self._first, self._behind)
        before = inner < self._first
        return np.concatenate([inner[before], own, inner[~before] + len(own)])

    def approach(self, path: JointPath) -> float:
        """By how much other bodies come closer to each other along a path."""
        return self.inner.approach(path)

    def meeting(self, path: JointPath, at: Callable[[float], Array]) -> tuple[Array, Array]:
        """Contacts of other bodies that may touch along a path, and by how much these come closer to each other."""
        return self.inner.meeting(path, at)

    # --- corners ----------------------------------------------------------------------------------------------

    def within(self, regions: Mapping[int, Region]) -> Self:
        """Closed corners are known to the edges and faces."""
        held = super().within({i: region for i, region in regions.items() if i not in self._corners})
        held._regions |= {self._corners[i]: region for i, region in regions.items() if i in self._corners}
        return held

    def region(self, q: Array, contact: int) -> Region:
        """The one region of a corner, else that of the contact."""
        return ACTING if contact in self._corners else super().region(q, contact)

    def region_sides(self, contact: int, region: Region) -> tuple[int, ...]:
        """The edges that lead on from a corner, else the sides on which a region can be left."""
        corner = self._corners.get(contact)
        if corner is None:
            return super().region_sides(contact, region)
        return self._pairs.pairs[corner].features.sides(region)

    def region_margin(self, q: Array, contact: int, region: Region, side: int) -> float:
        """How far an edge is from taking over from a corner, else the distance from leaving a region [m]."""
        corner = self._corners.get(contact)
        if corner is None:
            return super().region_margin(q, contact, region, side)
        return self._pairs.margin(q, corner, region, side)

    def region_gradient(self, q: Array, contact: int, region: Region, side: int) -> Array:
        """Derivative (nv,) of that."""
        corner = self._corners.get(contact)
        if corner is None:
            return super().region_gradient(q, contact, region, side)
        return self._pairs.margin_gradient(q, corner, region, side)

    def region_beyond(self, contact: int, region: Region, side: int) -> Region | None:
        """None of a corner: edges take over."""
        return None if contact in self._corners else super().region_beyond(contact, region, side)

    def taking_over(self, q: Array, contact: int, region: Region) -> tuple[int, ...]:
        """Corners, edges and faces that touch where one of them that ends does."""
        own = self._corners.get(contact, contact - self._first)
        if contact not in self._corners and not self._first <= contact < self._behind:
            return self.inner.taking_over(q, self._on_ground(contact), region)
        points = {corner: point for point, corner in self._corners.items()}
        return tuple(points.get(k, self._first + k) for k in self._pairs.taking_over(q, own, region))

    # --- gaps -------------------------------------------------------------------------------------------------

    def gaps(self, t: float, q: Array) -> Array:
        """Distances to the ground and between bodies [m], then of the joints to their limits."""
        own = self._pairs.gaps(q, self._regions, np.arange(self._behind - self._first))
        return np.insert(self._raised(q, self.inner.gaps(t, q), np.arange(self._first)), self._first, own)

    def gaps_of(self, t: float, q: Array, contacts: Array) -> Array:
        """Those of some contacts."""
        return self._raised(q, super().gaps_of(t, q, contacts), contacts)

    def _raised(self, q: Array, gaps: Array, contacts: Array) -> Array:
        """The gaps of some contacts, where those of open corners that do not act are raised by OFF."""
        places = [k for k, i in enumerate(contacts.tolist()) if self._open(i) and gaps[k] < OFF]
        if places:
            corners = np.array([self._corners[i] for i in contacts[places].tolist()])
            order = np.argsort(corners)
            own = self._pairs.gaps(q, self._regions, corners[order])
            gaps = gaps.copy()
            gaps[np.array(places)[order]] += np.where(own >= OFF, OFF, 0.0)
        return gaps

    def _open(self, contact: int) -> bool:
        """Whether a contact is a corner that is open."""
        return contact in self._corners and self._corners[contact] not in self._regions

    def gap_motion(self, t: float, q: Array, v: Array, contact: int) -> Look:
        """The gap of a contact, and its rate."""
        look = super().gap_motion(t, q, v, contact)
        if not self._open(contact):
            return look
        gap = float(self._raised(q, np.array([look.value]), np.array([contact]))[0])
        return look if gap == look.value else Look(gap, 0.0, None, apart=True)

    def gap_bounds(self, contacts: Array) -> Callable[[JointPath], GapBounds] | None:
        """Those of all, where corners may be raised."""
        found = super().gap_bounds(contacts)
        if found is None:
            return None
        corners, bounds_of = np.isin(contacts, list(self._corners)), found

        def bounds(path: JointPath) -> GapBounds:
            known = bounds_of(path)

            def at_least(gaps: Array) -> Array:
                low = np.where(corners & (gaps > OFF), gaps - OFF, gaps)
                return low if known.at_least is None else known.at_least(low)

            return known._replace(at_least=at_least)

        return bounds
