"""Mechanisms that are made around another one: what they do not change is the inner one's."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Self

from ...common.arrays import Array
from ...hybrid.flow import Look, Looks
from ..mechanism import ContactMechanism, GapBounds, JointPath, Overlap


class SameShapes(ContactMechanism):
    """Shapes and their regions are those of the inner mechanism."""

    inner: ContactMechanism

    def overlaps(self, t: float, q: Array) -> list[Overlap]:
        """Bodies that are inside each other or in the ground."""
        return self.inner.overlaps(t, q)

    @property
    def shapeless(self) -> bool:
        """Whether no shapes are watched."""
        return self.inner.shapeless

    def overlaps_along(self, times: Array, joints: Array) -> list[Overlap]:
        """Those at times (k,), where the joints are placed."""
        return self.inner.overlaps_along(times, joints)

    def joint_places(self, q: Array) -> Array:
        """Axes and origin of each joint."""
        return self.inner.joint_places(q)

    def all_joints(self, plain: Array) -> Array:
        """Those, by those of its `plain_robot`."""
        return self.inner.all_joints(plain)

    def region(self, q: Array, contact: int) -> tuple[int, ...]:
        """The region in which a contact touches."""
        return self.inner.region(q, contact)

    def within(self, regions: Mapping[int, tuple[int, ...]]) -> Self:
        """The same with the regions of some contacts held."""
        inner = self.inner.within(regions)
        if inner is self.inner:
            return self
        held = copy.copy(self)
        held.inner = inner
        return held

    def region_sides(self, contact: int, region: tuple[int, ...]) -> tuple[int, ...]:
        """The sides on which a region can be left."""
        return self.inner.region_sides(contact, region)

    def region_margin(self, q: Array, contact: int, region: tuple[int, ...], side: int) -> float:
        """Distance from leaving a region on a side."""
        return self.inner.region_margin(q, contact, region, side)

    def region_gradient(self, q: Array, contact: int, region: tuple[int, ...], side: int) -> Array:
        """Derivative (nv,) of that distance."""
        return self.inner.region_gradient(q, contact, region, side)

    def region_beyond(self, contact: int, region: tuple[int, ...], side: int) -> tuple[int, ...] | None:
        """The region behind a side; None where the contact ends there."""
        return self.inner.region_beyond(contact, region, side)

    def met_gaps(self, t: float, q: Array, contacts: Array) -> Array:
        """Gaps of raised contacts where they are met."""
        return self.inner.met_gaps(t, q, contacts)

    def taking_over(self, q: Array, contact: int, region: tuple[int, ...]) -> tuple[int, ...]:
        """Open contacts that touch where one that ends does."""
        return self.inner.taking_over(q, contact, region)


class Around(SameShapes):
    """A mechanism around an inner one."""

    def adopt(self, inner: ContactMechanism) -> None:
        """Take over what is known of the inner mechanism."""
        self.nq, self.nv, self.space = inner.nq, inner.nv, inner.space
        self.names, self.constraint_names, self.pair_names = inner.names, inner.constraint_names, inner.pair_names
        self.passing, self.kinked, self.has_regions = inner.passing, inner.kinked, inner.has_regions
        self.raised, self.holding = inner.raised, inner.holding
        self.skippable, self.unmeasured, self.vicinity = inner.skippable, inner.unmeasured, inner.vicinity
        self.resistance_names, self.hosts = inner.resistance_names, inner.hosts
        self.dims, self.enabled, self.restitution = inner.dims, inner.enabled, inner.restitution
        self.friction, self.static_friction = inner.friction, inner.static_friction
        self.timed = inner.timed
        self.bounded_steps, self.autonomous, self.trees = inner.bounded_steps, inner.autonomous, inner.trees

    def joints_of(self, contact: int) -> tuple[int, int]:
        """Joints of the first body of a contact and of what it touches."""
        return self.inner.joints_of(contact)

    def frame_motion(self, t: float, q: Array, v: Array, contact: int) -> tuple[Array, Array]:
        """Frame (1 + d_t, 3) of a contact in world axes, and its rate."""
        return self.inner.frame_motion(t, q, v, contact)

    def gaps(self, t: float, q: Array) -> Array:
        """Distances (nc,) of all contacts to the ground [m]."""
        return self.inner.gaps(t, q)

    def gaps_of(self, t: float, q: Array, contacts: Array) -> Array:
        """Those of some contacts."""
        return self.inner.gaps_of(t, q, contacts)

    def near(self, t: float, q: Array, distance: float) -> Array:
        """Contacts that touch, or may once bodies are closer by that [m]."""
        return self.inner.near(t, q, distance)

    def constraint_gaps(self, t: float, q: Array) -> Array:
        """Distances of the joints to their limits [rad, m]."""
        return self.inner.constraint_gaps(t, q)

    def by_time(self, t: float, q: Array, v: Array) -> Array:
        """What time alone may change."""
        return self.inner.by_time(t, q, v)

    def gap_bounds(self, contacts: Array) -> Callable[[JointPath], GapBounds] | None:
        """Bounds of the speed of gaps along a path."""
        return self.inner.gap_bounds(contacts)

    def approach(self, path: JointPath) -> float:
        """By how much bodies come closer to each other along a path."""
        return self.inner.approach(path)

    def meeting(self, path: JointPath, at: Callable[[float], Array]) -> tuple[Array, Array]:
        """Contacts of bodies that may touch along a path, and by how much these come closer to each other."""
        return self.inner.meeting(path, at)

    def gap_motion(self, t: float, q: Array, v: Array, contact: int) -> Look:
        """A gap and its rate."""
        return self.inner.gap_motion(t, q, v, contact)

    def gap_motions(self, t: float, q: Array, v: Array, contacts: Array) -> Looks:
        """Several gaps and their rates."""
        return self.inner.gap_motions(t, q, v, contacts)

    def paces(self, q: Array, v: Array, a: Array, contacts: Array) -> Array:
        """Bounds of the rates of gaps, and of theirs."""
        return self.inner.paces(q, v, a, contacts)

    def world_force(self, t: float, q: Array, contact: int, force: Array) -> Array:
        """A contact force as the user sees it."""
        return self.inner.world_force(t, q, contact, force)

    def energy(self, q: Array, v: Array) -> float:
        """Kinetic and potential energy [J]; closed loops and contacts between bodies add none."""
        return self.inner.energy(q, v)

    def working_power(self, t: float, q: Array, v: Array) -> float:
        """Power [W] of what the energy does not hold."""
        return self.inner.working_power(t, q, v)

    def longest_step(self, v: Array) -> float:
        """Time in which nothing turns by more than about a radian [s]."""
        return self.inner.longest_step(v)

    def generalised_force(self, q: Array, frame: str, force: Array, point: Array) -> Array:
        """J^T f (nv,) of a force (3,) in world axes at a point (3,) of a frame."""
        return self.inner.generalised_force(q, frame, force, point)

    def validate(self, q: Array) -> None:
        """Raise InputError where `q` is not a configuration of the robot."""
        self.inner.validate(q)
