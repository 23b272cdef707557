"""Bodies that touch each other on their ground: the contacts of a BoundRobot, those of pairs, then joint limits.

Contacts between bodies are features of their shapes, each with regions, frames and bodies.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Self

import numpy as np

from ...common.arrays import Array
from ...common.lazy import lazy
from ...contact.modes import SystemMode
from ...hybrid.flow import Look, Looks
from ..forest import roots_of
from ..geometry.features import PointOnSolid
from ..geometry.pair_kinematics import PairKinematics
from ..geometry.pairing import ResolvedPair, resolved
from ..geometry.shapes import Region
from ..geometry.solids import FACETED
from ..mechanism import ContactMechanism, GapBounds, JointPath, Shortcut, TermDerivatives, Terms
from ..plain_robot import PlainContact, PlainRobot
from ..terrain import Terrain
from .around import Around
from .bound_robot import BoundRobot
from .bound_shapes import BoundShapes

if TYPE_CHECKING:
    from ..robot_model import RobotModel
    from .reach import Reach


def with_yielding_discs(mechanism: ContactMechanism) -> ContactMechanism:
    """The mechanism of a robot under laws that give way: see `CurvedContact.yielding`, and `yielding_rims`."""
    return mechanism._yielding() if isinstance(mechanism, BoundShapes | BoundWorld) else mechanism


class PairFeatures(Around):
    """A robot on its ground, with pairs of features from the contact `_first` on, up to `_behind`."""

    inner: BoundRobot | BoundShapes | BoundWorld
    _pairs: PairKinematics
    _regions: dict[int, Region]
    _first: int
    _behind: int
    has_regions = True

    @property
    def pair_kinematics(self) -> PairKinematics:
        """Kinematics of the contacts between bodies."""
        return self._pairs

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


MANY = 500  # plain contacts between bodies from which on those that are far are not looked at one by one


def _is_plain(pair: ResolvedPair) -> bool:
    from ..geometry.plain_pairs import is_plain

    return is_plain(pair.kinematics.features)


class BoundWorld(PairFeatures):
    """A robot, or several, with contacts between bodies: a BoundRobot with further rows.

    Contacts are numbered: ground, pairs, joint limits. The rows of a pair are those of `pairing`.

    Attributes:
        reach: how far its joints reach; None: that is not known.
    """

    reach: Reach | None

    def __init__(self, robot: RobotModel, terrain: Terrain, gravity: Array, joint_limits: bool) -> None:
        kind: type[BoundRobot | BoundShapes] = BoundShapes if robot.is_curved else BoundRobot
        ground = kind(robot, terrain, gravity, joint_limits)
        self._pair(robot, ground, resolved(robot))

    def _pair(self, robot: RobotModel, ground: BoundRobot | BoundShapes, pairs: Sequence[ResolvedPair]) -> None:
        """Contacts between bodies, besides those on the ground."""
        self._robot, self._pairs = robot, PairKinematics(robot.model, [pair.kinematics for pair in pairs])
        self._join(ground, pairs, roots_of(robot.model))
        self.pair_names = tuple(pair.name for pair in pairs)
        if ground.reach is not None and (len(pairs) >= MANY or not all(map(_is_plain, pairs))):
            features = [pair.kinematics.features for pair in pairs]
            held = [
                own.extent_b is not None and pair.enabled is None for own, pair in zip(features, pairs, strict=True)
            ]
            self.skippable, self.vicinity = self._first + np.flatnonzero(held), self._pairs.vicinity
            measured = np.array([own.is_distance for own in features])
            self.unmeasured = self.skippable[~measured[held]]

    def _yielding(self) -> BoundWorld:
        """The same under laws that give way."""
        inner = self.inner
        assert isinstance(inner, BoundRobot | BoundShapes)
        ground = inner._yielding() if isinstance(inner, BoundShapes) else inner
        if not any(solid.kind in FACETED for solid in self._robot.solids):
            return self
        found = object.__new__(BoundWorld)
        found._pair(self._robot, ground, resolved(self._robot, yielding=True))
        return found

    def _join(self, inner: BoundRobot | BoundShapes | BoundWorld, pairs: Sequence[ResolvedPair], roots: Array) -> None:
        """What is known of an inner mechanism, with pairs between its contacts and the limits of its joints."""
        self.adopt(inner)
        self.inner, self._regions, self.reach = inner, dict[int, Region](), inner.reach
        first = self._first = len(inner.names)
        self._behind = first + len(pairs)
        self.names, self.constraint_names = inner.names + tuple(pair.name for pair in pairs), inner.constraint_names
        features = [pair.kinematics.features for pair in pairs]
        self.passing = inner.passing | {first + k for k, feature in enumerate(features) if feature.passing}
        self.kinked = inner.kinked | {first + k for k, feature in enumerate(features) if feature.kinked}
        self.holding = inner.holding | {first + k for k, feature in enumerate(features) if feature.holds}
        self.raised = inner.raised | {first + k for k, feature in enumerate(features) if feature.raises}
        self.has_regions = True
        self.dims = inner.dims[:first] + (self._pairs.frame.rows,) * len(pairs) + inner.dims[first:]
        self.friction = np.insert(inner.friction, first, [pair.friction for pair in pairs])
        self.static_friction = np.insert(inner.static_friction, first, [pair.static_friction for pair in pairs])
        self.restitution = np.insert(inner.restitution, first, [pair.restitution for pair in pairs])
        self.enabled = inner.enabled[:first] + tuple(pair.enabled for pair in pairs) + inner.enabled[first:]
        assert inner.trees is not None
        ends = roots[[[pair.kinematics.joint_a, pair.kinematics.joint_b] for pair in pairs]]
        self.trees = inner.trees._replace(contacts=np.insert(inner.trees.contacts, first, ends, axis=0))

    def _split(self, contacts: tuple[int, ...]) -> tuple[tuple[int, ...], list[int], int]:
        """Contacts of the ground by their own numbers, pairs by theirs, and the rows of the points of the ground."""
        points = tuple(i for i in contacts if i < self._first)
        limits = tuple(i - self._behind + self._first for i in contacts if i >= self._behind)
        pairs = [i - self._first for i in contacts if self._first <= i < self._behind]
        return points + limits, pairs, sum(self.dims[i] for i in points)

    # --- equations of motion ----------------------------------------------------------------------------------

    def gaps(self, t: float, q: Array) -> Array:
        """Distances to the ground, between bodies [m], then of the joints to their limits."""
        return np.insert(self.inner.gaps(t, q), self._first, self._pairs.gaps(q, self._regions))

    def gaps_of(self, t: float, q: Array, contacts: Array) -> Array:
        """Those of some contacts."""
        paired = (contacts >= self._first) & (contacts < self._behind)
        found = np.empty(len(contacts))
        if not paired.all():
            others = contacts[~paired]
            own = np.where(others < self._first, others, others - self._behind + self._first)
            found[~paired] = self.inner.gaps_of(t, q, own)
        if paired.any():
            found[paired] = self._pairs.gaps(q, self._regions, contacts[paired] - self._first)
        return found

    def met_gaps(self, t: float, q: Array, contacts: Array) -> Array:
        """Those of raised ones where they are met, on the ground and between bodies."""
        paired = contacts >= self._first
        found = np.empty(len(contacts))
        if not paired.all():
            found[~paired] = self.inner.met_gaps(t, q, contacts[~paired])
        if paired.any():
            found[paired] = self._pairs.met_gaps(q, contacts[paired] - self._first)
        return found

    def near(self, t: float, q: Array, distance: float) -> Array:
        """Contacts on the ground, limits, and pairs of bodies that are no farther from each other than that [m]."""
        if not len(self.skippable):
            return np.arange(len(self.dims))
        pairs = self._first + self._pairs.near(q, distance)
        return np.concatenate([np.arange(self._first), pairs, np.arange(self._behind, len(self.dims))])

    def gap_bounds(self, contacts: Array) -> Callable[[JointPath], GapBounds] | None:
        """Bounds of gaps to the ground, between bodies, and of the limits."""
        grounded, chosen, _ = self._split(tuple(contacts.tolist()))
        of_ground, reach = self.inner.gap_bounds(np.array(grounded, dtype=int)), self.inner.reach
        if of_ground is None or reach is None or not chosen:
            return of_ground
        of_pairs = self._pairs.gap_bounds(reach, chosen)
        first = int(np.sum(contacts < self._first))
        own = np.arange(first, first + len(chosen))

        def bounds(path: JointPath) -> GapBounds:
            ground, pairs = of_ground(path), of_pairs(path)

            def at_least(gaps: Array) -> Array:
                others, mine = np.delete(gaps, own), gaps[own]
                others = others if ground.at_least is None else ground.at_least(others)
                return np.insert(others, first, mine if pairs.at_least is None else pairs.at_least(mine))

            def closer() -> tuple[Array, Array]:
                both = zip(ground.closer(), pairs.closer(), strict=True)
                bend, error = (np.insert(one, first, other) for one, other in both)
                return bend, error

            speed = np.insert(ground.speed, first, pairs.speed)
            known = (
                None if pairs.known is None else np.insert(np.ones(len(ground.speed), dtype=bool), first, pairs.known)
            )
            certain = ground.at_least is None and pairs.at_least is None
            return GapBounds(speed, None if certain else at_least, closer, known)

        return bounds

    def approach(self, path: JointPath) -> float:
        """By how much bodies come closer to each other along a path."""
        assert self.inner.reach is not None
        return self._pairs.approach(self.inner.reach, path)

    def meeting(self, path: JointPath, at: Callable[[float], Array]) -> tuple[Array, Array]:
        """Contacts of bodies that may touch along a path, and by how much these come closer to each other."""
        assert self.inner.reach is not None
        pairs, ways = self._pairs.meeting(self.inner.reach, path, at)
        return self._first + pairs, ways

    def gap_motion(self, t: float, q: Array, v: Array, contact: int) -> Look:
        """The gap of a contact and its rate."""
        if self._first <= contact < self._behind:
            k = contact - self._first
            return self._pairs.gap_motion(q, v, k, self._regions.get(k), self._regions)
        return self.inner.gap_motion(t, q, v, self._on_ground(contact))

    def gap_motions(self, t: float, q: Array, v: Array, contacts: Array) -> Looks:
        """Several gaps and their rates, those of pairs together."""
        paired = (contacts >= self._first) & (contacts < self._behind)
        if not paired.any():
            return ContactMechanism.gap_motions(self, t, q, v, contacts)
        own = self._pairs.gap_motions(q, v, contacts[paired] - self._first, self._regions)
        if paired.all():
            return own
        others = ContactMechanism.gap_motions(self, t, q, v, contacts[~paired])
        order = np.argsort(np.concatenate([np.flatnonzero(paired), np.flatnonzero(~paired)]))
        return own.joined(others).some(order)

    def paces(self, q: Array, v: Array, a: Array, contacts: Array) -> Array:
        """Bounds of the rates of the gaps of pairs, and of theirs."""
        paired = (contacts >= self._first) & (contacts < self._behind)
        found = np.full((2, len(contacts)), np.inf)
        if paired.any():
            found[:, paired] = self._pairs.paces(q, v, a, contacts[paired] - self._first)
        return found

    def terms(self, t: float, q: Array, v: Array, contacts: tuple[int, ...]) -> Terms:
        """M, forces and rows; those of pairs between those of the ground and those of the limits."""
        ground, pairs, points = self._split(contacts)
        terms = self.inner.terms(t, q, v, ground)
        if not pairs:
            return terms
        rows, rates, bias = self._pairs.rows(q, v, pairs, self._regions_at(q, pairs))
        return Terms(
            terms.mass,
            terms.force,
            _inserted(terms.rows, points, rows),
            _inserted(terms.rates, points, rates),
            _inserted(terms.bias, points, bias),
        )

    # --- derivatives ------------------------------------------------------------------------------------------

    def term_derivatives(
        self, t: float, q: Array, v: Array, a: Array, contacts: tuple[int, ...], forces: Array
    ) -> TermDerivatives:
        """Those of the ground, with the pairs' own; by differences where a joint has no analytic ones."""
        ground, pairs, points = self._split(contacts)
        if pairs and not self._pairs.derivable:
            return super().term_derivatives(t, q, v, a, contacts, forces)
        part = slice(points, points + self._pairs.frame.rows * len(pairs))
        found = self.inner.term_derivatives(t, q, v, a, ground, np.delete(forces, part))
        if not pairs:
            return found
        regions = self._regions_at(q, pairs)
        moved, rows = self._pairs.derivatives(q, v, a, pairs, regions, forces[part])
        own = (found.rates_q, found.motion_q, found.motion_v)
        joined = (_inserted(one, points, other) for one, other in zip(own, rows, strict=True))
        return TermDerivatives(found.residual_q - moved, found.residual_v, *joined)

    def impulse_derivatives(self, t: float, q: Array, w: Array, contacts: tuple[int, ...], impulses: Array) -> Array:
        """That of the ground, less the derivative of what the pairs' impulses add."""
        ground, pairs, points = self._split(contacts)
        if pairs and not self._pairs.derivable:
            return super().impulse_derivatives(t, q, w, contacts, impulses)
        part = slice(points, points + self._pairs.frame.rows * len(pairs))
        found = self.inner.impulse_derivatives(t, q, w, ground, np.delete(impulses, part))
        if not pairs:
            return found
        still = np.zeros(self.nv)
        return found - self._pairs.derivatives(q, still, still, pairs, self._regions_at(q, pairs), impulses[part])[0]

    def rate_derivatives(self, t: float, q: Array, v: Array, contacts: tuple[int, ...]) -> Array:
        """Those of the ground and of the pairs."""
        ground, pairs, points = self._split(contacts)
        if pairs and not self._pairs.derivable:
            return super().rate_derivatives(t, q, v, contacts)
        found = self.inner.rate_derivatives(t, q, v, ground)
        if not pairs:
            return found
        none = np.zeros(self._pairs.frame.rows * len(pairs))
        rows = self._pairs.derivatives(q, v, np.zeros(self.nv), pairs, self._regions_at(q, pairs), none)[1]
        return _inserted(found, points, rows[0])

    # --- what users see ---------------------------------------------------------------------------------------

    def world_force(self, t: float, q: Array, contact: int, force: Array) -> Array:
        """The force in world axes (3,); of a pair that on the body of its point, opposite to that on the solid."""
        if not self._first <= contact < self._behind:
            return self.inner.world_force(t, q, self._on_ground(contact), force)
        k = contact - self._first
        return force @ self._pairs.frame_at(q, k, self._regions_at(q, [k])[0])[0]

    def validate(self, q: Array) -> None:
        """Raise InputError where `q` is not a configuration, or bodies meet across the plane in which they move."""
        self.inner.validate(q)
        if self._pairs.frame.rows < 3:
            for k, pair in enumerate(self._pairs.pairs):
                if isinstance(pair.features, PointOnSolid):
                    self._pairs.frame.demand(self._pairs.frame_at(q, k, self._pairs.region(q, k))[0][0], pair.name)

    @lazy
    def _plain_robot(self) -> PlainRobot | None:
        """That of the robot on its ground, with those contacts between bodies that are plain."""
        from ..geometry.plain_pairs import plain_arms, plain_frame, plain_pairs

        ground = self.inner.plain_robot
        if ground is None:
            return None
        pairs, frame = self._pairs.pairs, plain_frame(self._pairs.frame, len(ground.ground.basis))
        unknown: tuple[PlainContact | None, ...] = (None,) * len(pairs)
        between = unknown if frame is None else plain_pairs(pairs, self._pairs.model, self.reach)
        contacts = ground.contacts[: self._first] + between + ground.contacts[self._first :]
        arms = None if self.reach is None else plain_arms(pairs, self.reach)
        return replace(ground, contacts=contacts, frame=frame, arms=arms)

    def shortcut(self, mode: SystemMode) -> Shortcut | None:
        """That of the robot on its ground, where no bodies touch each other."""
        if any(self._first <= i < self._behind for i in mode.closed):
            return None
        states = tuple(mode.contacts)
        return self.inner.shortcut(SystemMode(states[: self._first] + states[self._behind :], mode.redundant))

    def lowest_points(self, q: Array) -> Array:
        """Points of the ground contacts nearest to the plane of the ground [m]."""
        return self.inner.lowest_points(q)

    def touch_points(self, q: Array) -> Array:
        """Points (points, 3) at which the points of bodies touch others, or would [m]."""
        count = sum(isinstance(pair.features, PointOnSolid) for pair in self._pairs.pairs)
        found = [self._pairs.frame_at(q, k, self._pairs.region(q, k))[1] for k in range(count)]
        return np.array(found).reshape(count, 3)


def _inserted(rows: Array, place: int, own: Array) -> Array:
    """`own` between the first `place` rows and the rest."""
    return np.concatenate([rows[:place], own, rows[place:]])
