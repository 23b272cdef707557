"""A finished run against its own laws: residuals of gap, force, friction, impacts and energy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, cast

import numpy as np

from ..common.arrays import Array
from ..common.lazy import dataclass
from ..contact.laws import RigidLaw
from ..contact.linear_algebra import solve_mass
from ..contact.modes import Mode, SystemMode
from ..hybrid.segments import Segment
from ..hybrid.trajectory import Arc, Trajectory
from ..multibody.mechanism import GivenNormals
from ..multibody.zero import AGREES
from .contact_flow import ContactFlow
from .momentum_audit import broken, unexplained
from .rigid_flow import RigidFlow
from .world import World, overlaps
from .zero import MOVING, NO_ENERGY, NO_FORCE, NO_SPEED

# A step is looked at where its work is integrated (Gauss and Legendre), and at its end.
POINTS, WEIGHTS = np.polynomial.legendre.leggauss(4)

CLOSURE = "opening of loops [m]"
JUMPS = "impulses of jumps [relative]"
LEAPS = "leaps of places [m]"
NORMALS = "normals off the gradients of gaps [relative]"  # functions of a user
MOMENTUM = "momentum balance [relative]"
LIMITS = {  # of motions at up to 1 m/s or rad/s; places and speeds of faster ones are known in proportion
    "penetration [m]": 1e-9,
    "pulling force [relative]": 1e-8,
    "friction cone [relative]": 1e-8,
    "sliding friction [relative]": 1e-8,
    "slip of sticking contacts [m/s]": 1e-8,
    "impact law [relative]": 1e-8,
    JUMPS: 1e-8,
    LEAPS: 1e-9,
    MOMENTUM: 1e-6,
    "energy balance [relative]": 1e-6,
    CLOSURE: 1e-9,
    NORMALS: AGREES,
}
OF_FORCES = tuple(LIMITS)[1:5]
OF_MOTION = ("penetration [m]", "slip of sticking contacts [m/s]")


def audit(world: World, trajectory: Trajectory) -> tuple[Mapping[str, float], Mapping[str, float]]:
    """Largest violation of each law over all steps, and its limit.

    Forces are compared with the largest force of the run (of contacts, or of gravity and motion), impulses and
    velocities of an impact with its largest, by its share of the largest impulse of the run, energies with the energy
    that was exchanged. The balance is E(t1) - E(t0) = work of controller, pushes and contacts - joint damping + the
    energy of the impacts. That of momentum is v(t1) - v(t0) = integral of M^-1 (all forces) along the arcs, relative to
    what those but the contacts' would change of the velocities; jumps are those of `momentum_audit`.
    """
    worst = _Worst()
    work = moved = 0.0
    for arc in trajectory.arcs:
        if arc.t1 > arc.t0:  # an instant that events passed through is not lived in
            done, size = _look_at(arc, worst)
            work, moved = work + done, moved + size
    energy = {MOMENTUM: worst.momentum(), JUMPS: unexplained(trajectory), LEAPS: broken(trajectory)}
    energy |= {"energy balance [relative]": _imbalance(world, trajectory, work, moved)}
    if (off := _normal_errors(world, trajectory)) > 0.0:
        energy |= {NORMALS: off}
    if CLOSURE in worst.violations:
        energy = {CLOSURE: worst.violations[CLOSURE]} | energy
    if not isinstance(world.law, RigidLaw):
        return energy, LIMITS
    limits = LIMITS | {law: LIMITS[law] * max(1.0, worst.speed) for law in OF_MOTION}
    return worst.report() | {"impact law [relative]": _impact_residual(trajectory)} | energy, limits


@dataclass
class _Worst:
    """The largest violations seen so far, with the largest force [N, N m] and speed [m/s, rad/s].

    `missed` is what forces have left of the changes of the velocity (nv,) so far, `turned` the largest changes that
    forces other than those of contacts would have made [m/s, rad/s].
    """

    force: float = NO_FORCE
    speed: float = 0.0
    violations: dict[str, float] = field(default_factory=lambda: dict.fromkeys(list(LIMITS)[:5], 0.0))
    missed: Array | float = 0.0
    turned: float = NO_SPEED

    def see(self, law: str, value: float) -> None:
        self.violations[law] = max(self.violations.get(law, 0.0), value)

    def pass_by(self, change: Array, by_forces: Array, without_contacts: float) -> None:
        """Take a step: how its velocity has changed, should have by all forces, and would have without contacts."""
        self.missed = self.missed + (change - by_forces)
        self.turned += without_contacts

    def momentum(self) -> float:
        return float(np.abs(self.missed).max(initial=0.0)) / max(self.turned, self.speed)

    def report(self) -> dict[str, float]:
        return {law: v / self.force if "relative" in law else v for law, v in self.violations.items()}


def _look_at(arc: Arc, worst: _Worst) -> tuple[float, float]:
    """Work along an arc, of all forces but the conservative ones, and the integral of its absolute value [J]."""
    system: Any = arc.system  # the one it ran in: parameters and pushes may change in the course of a run
    mode, flow = cast(SystemMode, arc.mode), system.flow(arc.mode)
    world: World = system.world.latched_as(mode.latched)
    done = size = 0.0
    for segment in arc.segments:
        flow = flow.rebased(segment.t0, segment(segment.t0))  # as the run did, whose slip directions go on from there
        half, by_forces, without = 0.5 * (segment.t1 - segment.t0), np.zeros(world.nv), 0.0
        for point, weight in zip((*POINTS, 1.0), (*WEIGHTS, 0.0), strict=True):
            t = segment.t0 + half * (1.0 + point) if weight else segment.t1
            power, accelerations = _look_here(world, flow, mode, t, segment, worst)
            done, size = done + weight * half * power, size + weight * half * abs(power)
            by_forces += weight * half * accelerations[:, 0]
            without += weight * half * float(np.abs(accelerations[:, 1]).max(initial=0.0))
        worst.pass_by(world.v(segment(segment.t1)) - world.v(segment(segment.t0)), by_forces, without)
    return done, size


def _look_here(
    world: World, flow: ContactFlow, mode: SystemMode, t: float, segment: Segment, worst: _Worst
) -> tuple[float, Array]:
    """See the violations at one time; returns the power of what is not conservative [W], and accelerations (nv, 2).

    These are M^-1 of all forces, with those of the contacts as they are told, however the run has found it; and without
    those of the contacts.
    """
    x = segment(t)
    q, v = world.q(x), world.v(x)
    if world.closed_loops is not None:
        worst.see(CLOSURE, max(world.closed_loops.loops.openings(q).values()))
    terms = world.mechanism.within(mode.regions).terms(t, q, v, mode.closed)
    worst.speed = max(worst.speed, float(np.abs(v).max(initial=0.0)))
    worst.force = max(worst.force, float(np.abs(terms.force).max(initial=0.0)))
    if isinstance(flow, RigidFlow):
        _see_gaps(world, mode, t, x, worst)
        forces = _see_forces(world, flow, mode, t, segment, worst)
    else:
        found = flow.contact_forces(t, x)  # type: ignore[attr-defined]
        forces = np.concatenate([found[i] for i in mode.closed]) if mode.closed else np.zeros(0)
    power, force = world.mechanism.working_power(t, q, v), terms.force
    if (applied := world.applied_at(t, x)) is not None:
        power, force = power + float(applied @ v), force + applied
    both = np.column_stack([force + terms.rows.T @ forces, force])
    # The rows give J v; the rates, relative to moving ground, would miss the power of the ground.
    return power + float(forces @ (terms.rows @ v)), solve_mass(terms.mass, both)


def _see_gaps(world: World, mode: SystemMode, t: float, x: Array, worst: _Worst) -> None:
    mechanism, q, law = world.mechanism.within(mode.regions), world.q(x), "penetration [m]"
    closed = np.array([i for i in mode.closed if i < world.count], dtype=int)
    asked = np.union1d(mechanism.near(t, q, mechanism.vicinity), closed)
    gaps = mechanism.gaps_of(t, q, asked)
    depths = np.where(np.isin(asked, closed), np.abs(gaps), -gaps)
    for k in np.flatnonzero(depths > worst.violations[law]).tolist():
        state = mode.contacts[int(asked[k])]
        if state.closed or state.enabled:
            worst.see(law, float(depths[k]))
    for found in overlaps(world, t, x):
        worst.see(law, found.depth)


def _see_forces(world: World, flow: RigidFlow, mode: SystemMode, t: float, segment: Segment, worst: _Worst) -> Array:
    """See the laws of the forces at a time; returns the forces (m,).

    What ends a step may fall by more within the tolerance of its time than a force may miss, such as the cone of one
    contact while the slip of another one turns. There a law is violated only where it is so that much earlier, too.
    """
    forces, found = _of_forces(world, flow, mode, t, segment(t))
    worst.force = max(worst.force, float(np.abs(forces).max(initial=0.0)))
    if t == segment.t1 and max(found.values()) > world.tolerances.force * worst.force:
        before = max(segment.t0, min(t - world.tolerances.event_time, float(np.nextafter(t, segment.t0))))
        _, earlier = _of_forces(world, flow, mode, before, segment(before))
        found = {law: min(value, earlier[law]) for law, value in found.items()}
    for law, value in found.items():
        worst.see(law, value)
    return forces


def _of_forces(world: World, flow: RigidFlow, mode: SystemMode, t: float, x: Array) -> tuple[Array, dict[str, float]]:
    """Forces (m,) at a state, and {law: the largest violation by them [N], or by what sticks [m/s]}."""
    forces = flow.rebased(t, x).motion(t, x).forces
    rates = world.mechanism.within(mode.regions).terms(t, world.q(x), world.v(x), mode.closed).rates
    found = dict.fromkeys(OF_FORCES, 0.0)

    def see(law: str, value: float) -> None:
        found[law] = max(found[law], value)

    start, normals = 0, dict[int, float]()
    for i in mode.closed:
        part = slice(start, start + world.mechanism.dims[i])
        start, tangents = part.stop, world.tangents(i, part)
        if world.heads[i]:
            normals[i] = float(forces[part.start])
            see("pulling force [relative]", -normals[i])
        normal, tangential, slip = normals[world.host(i)], forces[tangents], rates[tangents]
        if not world.tangent_rows[i]:
            continue
        size, speed = float(np.linalg.norm(tangential)), float(np.linalg.norm(slip))
        if mode.contacts[i].mode is Mode.STICK:
            see("friction cone [relative]", size - float(world.static_friction[i]) * normal)
            see("slip of sticking contacts [m/s]", speed)
            continue
        bound = world.friction_at(i, slip) * normal
        see("friction cone [relative]", abs(size - bound))
        if speed > MOVING * world.tolerances.slip_speed:
            see("sliding friction [relative]", float(np.linalg.norm(tangential + bound * slip / speed)))
    return forces, found


def _normal_errors(world: World, trajectory: Trajectory) -> float:
    """How far normals of contacts are off the gradients of their gaps in events of theirs, at most."""
    mechanism, worst = world.mechanism, 0.0
    if not isinstance(mechanism, GivenNormals):
        return worst
    for event in trajectory.events:
        own = [name in event.contacts for name in mechanism.names]
        errors = mechanism.normal_errors(event.time, world.q(event.x_pre))
        worst = max(worst, float(errors[own].max(initial=0.0)))
    return worst


def _impact_residual(trajectory: Trajectory) -> float:
    """Largest violation of the law in an impact, relative to its own scale, by its share of the largest impulse."""
    events = [event for event in trajectory.events if any(law.startswith("impact") for law in event.residuals)]
    sizes = [max([float(np.abs(value).max()) for value in event.impulses.values()], default=0.0) for event in events]
    largest, worst = max(sizes, default=0.0), 0.0
    for event, size in zip(events, sizes, strict=True):
        violation = max(value for law, value in event.residuals.items() if law.startswith("impact"))
        worst = max(worst, violation * size / largest if size else violation)
    return worst


def _imbalance(world: World, trajectory: Trajectory, work: float, moved: float) -> float:
    """Error of the energy balance, relative to the energy exchanged in the run and to the kinetic energy in it."""

    def energy(x: Array) -> float:
        return world.mechanism.energy(world.q(x), world.v(x))

    def kinetic(x: Array) -> float:
        return energy(x) - world.mechanism.energy(world.q(x), np.zeros(world.nv))

    jumps = [energy(e.x_post) - energy(e.x_pre) for arc in trajectory.arcs if (e := arc.event) is not None]
    start, end = energy(trajectory.arcs[0].segments[0].base), energy(trajectory.final_x)
    exchanged = moved + sum(map(abs, jumps))
    in_motion = max(kinetic(segment(segment.t1)) for arc in trajectory.arcs for segment in arc.segments)
    scale = max(exchanged, in_motion, abs(end - start), abs(start), NO_ENERGY)
    return abs(end - start - work - sum(jumps)) / scale
