"""What a finished run changed of its velocities, held against the impulses and forces that it tells of."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Any, cast

import numpy as np

from ..common.arrays import Array
from ..common.lazy import dataclass
from ..contact.linear_algebra import smallest_change, solve_mass
from ..contact.modes import Mode, SystemMode
from ..hybrid.trajectory import Event, Trajectory
from ..multibody.mechanism import ContactMechanism
from ..multibody.zero import ONE_POINT
from .contact_rows import laid_out
from .rigid_guards import SIDE
from .world import World
from .zero import LEAVE, NO_ENERGY

Largest = tuple[float, Event | None]  # a violation, and the event in which it is


def unexplained(trajectory: Trajectory) -> Largest:
    """The largest part of a velocity's jump that no impulse of its event explains, in the norm of the kinetic energy.

    Of M (v+ - v-) - J^T Lam, with the impulses Lam that the event tells of; closed loops and latches bear what they
    have to. Relative to the largest velocity of the run at an event, in the same norm.
    """
    missed, where, largest = 0.0, None, sqrt(NO_ENERGY)
    for event in trajectory.all_events:
        jump = _Jump.of(event)
        largest = max(largest, jump.size)
        if jump.change.any() and not (own := jump.missed()) <= missed:
            missed, where = own, event
    return missed / largest, where


def broken(trajectory: Trajectory) -> Largest:
    """The largest leap of a place [m, rad] in an event, or of the state from there to where the run goes on.

    What a latch takes hold of may be off its place by the time of events; it is put there.
    """
    worst, where = 0.0, None
    for arc, following in zip(trajectory.arcs, [*trajectory.arcs[1:], None], strict=True):
        world, last, leap = cast(Any, arc.system).world, arc.segments[-1](arc.t1), 0.0
        if (event := arc.event) is not None:
            last = event.x_post
            if not {Mode.CLOSED} & {after for _, after in event.transitions.values()}:
                moved = world.space.difference(event.x_pre, event.x_post)[: world.nv]
                leap = float(np.abs(moved).max(initial=0.0))
        if following is not None:
            gone_on = world.space.difference(last, following.segments[0](following.t0))[: 2 * world.nv]
            leap = max(leap, float(np.abs(gone_on).max(initial=0.0)))
        if not leap <= worst:
            worst, where = leap, event
    return worst, where


@dataclass(frozen=True)
class _Jump:
    """The velocity's jump in an event."""

    world: World
    event: Event
    q: Array
    change: Array
    mechanism: ContactMechanism
    mass: Array
    size: float

    @classmethod
    def of(cls, event: Event) -> _Jump:
        """With the world while all latches hold that take part, and the norm of the velocity at it."""
        system, before, after = cast(Any, event.system), _mode(event.mode_pre), _mode(event.mode_post)
        held = {} if before is None or after is None else dict(before.latched) | dict(after.latched)
        world: World = system.world.latched_as(tuple(sorted(held.items())))
        regions = {k: region for mode in (after, before) if mode is not None for k, region in mode.regions.items()}
        q, mechanism = world.q(event.x_post), world.mechanism.within(regions)
        mass = mechanism.terms(event.time, q, np.zeros(world.nv), ()).mass
        velocities = world.v(event.x_pre), world.v(event.x_post)
        size = max(_norm(mass @ v, v) for v in velocities)
        return cls(world, event, q, velocities[1] - velocities[0], mechanism, mass, size)

    def missed(self) -> float:
        """The norm of what the impulses leave of the jump."""
        numbers = {name: i for i, name in enumerate(self.mechanism.all_names)}
        struck = [numbers[name] for name in self.event.impulses if name in numbers]
        left = self.mass @ self.change
        if struck:
            left = left - self._impulse(sorted(struck))
        left = self.mechanism.admissible_force(self.q, left)
        if not self.event.impulses:
            left = left - self._settled(left)
        return _norm(left, solve_mass(self.mass, left))

    def _impulse(self, struck: Sequence[int]) -> Array:
        """J^T Lam (nv,) of the contacts and resistances that took an impulse."""
        rows, where = self._rows(struck)
        along = np.zeros(len(rows))
        for i in struck:
            unit = np.eye(self.mechanism.dims[i])
            axes = [self.mechanism.world_force(self.event.time, self.q, i, row) for row in unit]
            told = self.event.impulses[self.mechanism.all_names[i]]
            along[where[i]] = np.linalg.lstsq(np.array(axes).T, told, rcond=None)[0]
        return np.asarray(rows.T @ along)

    def _settled(self, left: Array) -> Array:
        """Impulses (nv,) that take away what a slip or a hop leaves when it counts as none; zero where it is more.

        They may move what slips on by more, but not along the rows on which they act.
        """
        modes = _mode(self.event.mode_pre), _mode(self.event.mode_post)
        touching = {i for mode in modes if mode is not None for i in mode.closed}
        none = LEAVE * self.world.tolerances.slip_speed
        if any(isinstance(name, tuple) and str(name[0]).startswith(SIDE) for name in self.event.fired):
            # What takes over is up to ONE_POINT beyond what stood still, and may open at once.
            touching |= self._brushed()
            none += ONE_POINT * float(np.abs(self.world.v(self.event.x_pre)).max(initial=0.0))
        if not touching:
            return np.zeros(len(left))
        rows, where = self._rows(sorted(touching))
        little, slips_on = np.abs(rows @ self.change) <= none, np.zeros(len(rows), dtype=bool)
        for i in touching:
            if all(mode is not None and mode.contacts[i].mode is Mode.SLIP for mode in modes):
                slips_on[where[i].start + self.world.heads[i] : where[i].stop] = True
        if not np.all(little | slips_on):
            return np.zeros(len(left))
        rows = rows[little]
        found, _ = smallest_change(self.mass, rows, rows @ solve_mass(self.mass, left))
        return np.asarray(self.mass @ found)

    def _brushed(self) -> set[int]:
        """Contacts that are at zero."""
        near = self.mechanism.near(self.event.time, self.q, self.mechanism.vicinity)
        gaps = self.mechanism.gaps_of(self.event.time, self.q, near)
        return set(near[np.abs(gaps) <= self.world.tolerances.gap].tolist())

    def _rows(self, contacts: Sequence[int]) -> tuple[Array, Any]:
        mechanism, chosen = self.mechanism, tuple(contacts)
        rows = mechanism.terms(self.event.time, self.q, np.zeros(self.world.nv), chosen).rows
        return rows, laid_out([(i, mechanism.dims[i]) for i in chosen])


def _mode(given: Any) -> SystemMode | None:
    return given if isinstance(given, SystemMode) else None


def _norm(momentum: Array, velocity: Array) -> float:
    return sqrt(max(float(momentum @ velocity), 0.0))
