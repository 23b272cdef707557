"""A robot with curved contacts on its ground, rims and ellipsoids, besides points and spheres."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ...common.arrays import Array
from ...common.lazy import lazy
from ...contact.modes import SystemMode
from ...hybrid.flow import Look, Looks
from ..contact_point import ContactPoint
from ..geometry.shapes import Region
from ..mechanism import ContactMechanism, GapBounds, JointPath, Shortcut, TermDerivatives, Terms
from ..terrain import Terrain
from .around import Around
from .bound_robot import BoundRobot
from .curved_contacts import OFF, CurvedKinematics, curved
from .reach import Sway

if TYPE_CHECKING:
    from ..plain_robot import PlainRobot
    from ..robot_model import RobotModel


def _met_gaps(mechanism: BoundShapes, t: float, q: Array, contacts: Array) -> Array:
    """Of rims and fixed points of discs, where the tilt would raise them, too."""
    return mechanism._curved.met_gaps(t, q)[[mechanism._number[i] for i in contacts.tolist()]]


class BoundShapes(Around):
    """A BoundRobot some of whose contacts are curved; contacts keep their numbers.

    For the BoundRobot a curved contact is a point at its centre, of which only the name and the directions of motion
    count.

    `_acting` are the own numbers of those that can touch.

    Attributes:
        idle: contacts that never touch, as others are in their place.
    """

    inner: BoundRobot

    def __init__(self, robot: RobotModel, terrain: Terrain, gravity: Array, joint_limits: bool) -> None:
        self.inner = inner = BoundRobot(robot, terrain, gravity, joint_limits)
        self.adopt(inner)
        self.has_regions, self.reach = True, inner.reach
        self._where = [i for i, point in enumerate(robot.contacts) if type(point) is not ContactPoint]
        self._number = {i: k for k, i in enumerate(self._where)}
        contacts = []
        for i in self._where:
            point = robot.contacts[i]
            frame = robot.model.frames[robot.frame_id(point.frame)]
            contacts.append(curved(point, frame.placement, int(frame.parentJoint), terrain))
        self._take(CurvedKinematics(robot.model, contacts, terrain, inner.tangents))
        self._plain = terrain.constant_normal() is not None
        self._held = frozenset[int]()
        self.idle = frozenset[int]()
        self._acting = np.arange(len(self._where))

    def _take(self, curved: CurvedKinematics) -> None:
        """The kinematics of the curved contacts, and what is known by it."""
        self._curved, (self._sizes, self._radii) = curved, curved.sizes()
        self.raised = frozenset(i for i, contact in zip(self._where, curved.contacts, strict=True) if contact.ends)

    def _yielding(self) -> BoundShapes:
        """The same on ground that gives way: see `CurvedContact.yielding`."""
        curved = self._curved.yielding()
        if curved is None:
            return self
        found = copy.copy(self)
        found.__dict__.pop("_plain_robot", None)  # which knows what touches
        found._take(curved)
        return found

    def _without(self, contacts: Sequence[int]) -> BoundShapes:
        """The same where some curved contacts never touch."""
        found = copy.copy(self)
        found.__dict__.pop("_plain_robot", None)  # which knows what touches
        found.idle = frozenset(contacts)
        found._acting = np.array([k for i, k in self._number.items() if i not in found.idle], dtype=int)
        return found

    def _split(self, contacts: tuple[int, ...]) -> tuple[tuple[int, ...], list[int], Array]:
        """Contacts that are not curved, the curved ones by their own numbers, and the mask (m,) of their rows."""
        others = tuple(i for i in contacts if i not in self._number)
        mask = np.concatenate([np.full(self.dims[i], i in self._number) for i in contacts] or [np.zeros(0, bool)])
        return others, [self._number[i] for i in contacts if i in self._number], mask.astype(bool)

    # --- regions ----------------------------------------------------------------------------------------------

    def within(self, regions: Mapping[int, Region]) -> BoundShapes:
        """The same with the gaps of closed contacts as they go on beyond their ends."""
        held = copy.copy(self)
        held._held = frozenset(self._number[i] for i in regions if i in self._number)
        return held

    def region(self, q: Array, contact: int) -> Region:
        """The one region of a rim or of its points."""
        k = self._number.get(contact)
        return () if k is None else self._curved.contacts[k].region

    def region_sides(self, contact: int, region: Region) -> tuple[int, ...]:
        """The tilt."""
        return (1,)

    def region_margin(self, q: Array, contact: int, region: Region, side: int) -> float:
        """How far the tilt of the disc is from where the contact ends."""
        return self._curved.margin(q, self._number[contact])

    def region_gradient(self, q: Array, contact: int, region: Region, side: int) -> Array:
        """Derivative (nv,) of that."""
        return self._curved.margin_gradient(q, self._number[contact])

    def region_beyond(self, contact: int, region: Region, side: int) -> Region | None:
        """None: the contact ends there, and others take over."""
        return None

    # --- gaps -------------------------------------------------------------------------------------------------

    def gaps(self, t: float, q: Array) -> Array:
        """Distances of the contacts to the ground [m], then of the joints to their limits."""
        gaps = self.inner.gaps(t, q)
        curved = np.full(len(self._where), OFF)
        if len(self._acting):
            curved[self._acting] = self._curved.gaps(t, q, self._held)[self._acting]
        gaps[self._where] = curved
        return gaps

    def gaps_of(self, t: float, q: Array, contacts: Array) -> Array:
        """Those of some contacts."""
        others = np.isin(contacts, self._where, invert=True)
        return self.inner.gaps_of(t, q, contacts) if others.all() else self.gaps(t, q)[contacts]

    met_gaps = _met_gaps

    def gap_bounds(self, contacts: Array) -> Callable[[JointPath], GapBounds] | None:
        """Those of the robot; the speed of curved ones on a plane is that of their farthest points."""
        others, chosen, _ = self._split(tuple(contacts.tolist()))
        if not chosen:
            return self.inner.gap_bounds(contacts)
        inner = self.inner.gap_bounds(np.array(others, dtype=int))
        if inner is None or self.reach is None or not (self._plain or set(chosen).isdisjoint(self._acting.tolist())):
            return None
        own, acting = np.isin(contacts, self._where), np.isin(chosen, self._acting)
        hosts = self.reach.index[np.array([self._curved.contacts[k].joint for k in chosen])]
        arms, radii, reach, terrain = self._sizes[chosen], self._radii[chosen], self.reach, self.inner.terrain

        def bounds(path: JointPath) -> GapBounds:
            ground, sway = inner(path), Sway(reach, path)
            moving = terrain.growth(path.t, path.duration, np.zeros(1))
            assert moving is not None
            speed = np.empty(len(contacts))
            speed[~own], speed[own] = ground.speed, np.where(acting, sway.speeds(hosts, arms) + moving.speed, 0.0)

            def closer() -> tuple[Array, Array]:
                bend, error = np.empty(len(contacts)), np.empty(len(contacts))
                bend[~own], error[~own] = ground.closer()
                # The nearest point moves over the body by no more than its spin times its radius of curvature.
                bend[own] = sway.accelerations(hosts, arms) + radii * sway.spin[hosts] ** 2 + moving.acceleration
                error[own] = sway.errors().speeds(hosts, arms)
                bend[own], error[own] = np.where(acting, bend[own], 0.0), np.where(acting, error[own], 0.0)
                return bend, error

            def at_least(gaps: Array) -> Array:
                assert ground.at_least is not None
                found = gaps.copy()
                found[~own] = ground.at_least(gaps[~own])
                return found

            return GapBounds(speed, None if ground.at_least is None else at_least, closer)

        return bounds

    def gap_motion(self, t: float, q: Array, v: Array, contact: int) -> Look:
        """The gap of a contact, and its rate."""
        k = self._number.get(contact)
        if k is None:
            return self.inner.gap_motion(t, q, v, contact)
        if contact in self.idle:
            return Look(OFF, 0.0, ("off",))
        return self._curved.gap_motion(t, q, v, k, self._held)

    def gap_motions(self, t: float, q: Array, v: Array, contacts: Array) -> Looks:
        """One by one."""
        return ContactMechanism.gap_motions(self, t, q, v, contacts)

    @lazy
    def _plain_robot(self) -> PlainRobot | None:
        """That of the robot, with its curved contacts; None where one of these may touch hills."""
        from ..plain_robot import PlainContact

        known = self.inner.plain_robot
        if known is None or (len(self._acting) and known.ground.hills is not None):
            return None
        contacts, idle = list(known.contacts), PlainContact(-1, np.zeros(3), idle=OFF)
        for i, k in self._number.items():
            point, extent, bend = contacts[i], float(self._sizes[k]), float(self._radii[k])
            assert point is not None
            centre, own = self._curved.contacts[k].feature.centre, self._curved.plain(k, extent, bend)
            contacts[i] = idle if i in self.idle else replace(point, centre=centre, round=own)
        return replace(known, contacts=tuple(contacts))

    # --- equations of motion ----------------------------------------------------------------------------------

    def terms(self, t: float, q: Array, v: Array, contacts: tuple[int, ...]) -> Terms:
        """M, forces and rows."""
        others, chosen, mask = self._split(contacts)
        terms = self.inner.terms(t, q, v, others)
        if not chosen:
            return terms
        rows, rates, bias = self._curved.rows(t, q, v, chosen)
        own = (terms.rows, terms.rates, terms.bias)
        joined = (_joined(mask, one, other) for one, other in zip(own, (rows, rates, bias), strict=True))
        return Terms(terms.mass, terms.force, *joined)

    def rates(self, t: float, q: Array, v: Array, contacts: tuple[int, ...]) -> Array:
        """Contact velocities (m,)."""
        others, chosen, mask = self._split(contacts)
        rates = self.inner.rates(t, q, v, others)
        return _joined(mask, rates, self._curved.rows(t, q, v, chosen)[1]) if chosen else rates

    # --- derivatives ------------------------------------------------------------------------------------------

    def term_derivatives(
        self, t: float, q: Array, v: Array, a: Array, contacts: tuple[int, ...], forces: Array
    ) -> TermDerivatives:
        """Those of the robot with those of curved contacts; by differences where a joint has no analytic ones."""
        others, chosen, mask = self._split(contacts)
        if chosen and not self._curved.derivable:
            return super().term_derivatives(t, q, v, a, contacts, forces)
        found = self.inner.term_derivatives(t, q, v, a, others, forces[~mask])
        if not chosen:
            return found
        moved, rows = self._curved.derivatives(t, q, v, a, chosen, forces[mask])
        own = (found.rates_q, found.motion_q, found.motion_v)
        joined = (_joined(mask, one, other) for one, other in zip(own, rows, strict=True))
        return TermDerivatives(found.residual_q - moved, found.residual_v, *joined)

    def impulse_derivatives(self, t: float, q: Array, w: Array, contacts: tuple[int, ...], impulses: Array) -> Array:
        """That of the robot, less the derivative of what curved contacts add."""
        others, chosen, mask = self._split(contacts)
        if chosen and not self._curved.derivable:
            return super().impulse_derivatives(t, q, w, contacts, impulses)
        found = self.inner.impulse_derivatives(t, q, w, others, impulses[~mask])
        if not chosen:
            return found
        still = np.zeros(self.nv)
        return found - self._curved.derivatives(t, q, still, still, chosen, impulses[mask])[0]

    def rate_derivatives(self, t: float, q: Array, v: Array, contacts: tuple[int, ...]) -> Array:
        """Those of all contacts."""
        others, chosen, mask = self._split(contacts)
        if chosen and not self._curved.derivable:
            return super().rate_derivatives(t, q, v, contacts)
        found = self.inner.rate_derivatives(t, q, v, others)
        if not chosen:
            return found
        none = np.zeros(int(mask.sum()))
        return _joined(mask, found, self._curved.derivatives(t, q, v, np.zeros(self.nv), chosen, none)[1][0])

    # --- what users see ---------------------------------------------------------------------------------------

    def frame_motion(self, t: float, q: Array, v: Array, contact: int) -> tuple[Array, Array]:
        """Frame of a contact, and its rate: by differences, where the body is curved and the ground, too."""
        if self._plain or contact not in self._number:
            return self.inner.frame_motion(t, q, v, contact)
        return ContactMechanism.frame_motion(self, t, q, v, contact)

    def world_force(self, t: float, q: Array, contact: int, force: Array) -> Array:
        """The force in world axes (3,)."""
        k = self._number.get(contact)
        if k is None:
            return self.inner.world_force(t, q, contact, force)
        return force @ self._curved.frame_at(t, q, k)[0] if np.any(force) else np.zeros(3)

    def shortcut(self, mode: SystemMode) -> Shortcut | None:
        """That of the robot, where no curved contact is closed."""
        return None if any(i in self._number for i in mode.closed) else self.inner.shortcut(mode)

    def lowest_points(self, q: Array) -> Array:
        """Points of the contacts nearest to the plane of the ground [m]."""
        points = self.inner.lowest_points(q)
        points[self._where] = self._curved.lowest_points(q)
        return points


def _joined(mask: Array, others: Array, curved: Array) -> Array:
    """Rows of both kinds, in the order of their contacts."""
    both = np.empty((len(mask), *others.shape[1:]))
    both[~mask], both[mask] = others, curved
    return both
