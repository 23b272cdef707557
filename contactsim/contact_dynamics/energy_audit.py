"""A finished run against its own laws: residuals of gap, force, friction, impacts and energy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import partial
from typing import Any, cast

import numpy as np

from ..common.arrays import Array
from ..common.lazy import dataclass
from ..contact.laws import RigidLaw
from ..contact.linear_algebra import solve_mass
from ..contact.modes import Mode, SystemMode
from ..hybrid.segments import Segment, Steps
from ..hybrid.trajectory import Arc, Event, Trajectory
from ..multibody.mechanism import GivenNormals
from ..multibody.zero import AGREES
from .contact_flow import ContactFlow
from .engines import Survey
from .momentum_audit import Largest, broken, unexplained
from .rigid_flow import RigidFlow
from .world import World, overlaps_along
from .zero import MOVING, NO_ENERGY, NO_FORCE, NO_SPEED

# A step is looked at where its work is integrated (Gauss and Legendre), and at its end.
POINTS, WEIGHTS = np.polynomial.legendre.leggauss(4)

PLACES = np.append(0.5 + 0.5 * POINTS, 1.0), np.append(0.5 * WEIGHTS, 0.0)  # shares of a step, and their weights
AT_ONCE = 256  # steps looked at together
MOST_PLACES = 1024  # in which bodies are

DEPTH = "penetration [m]"
CLOSURE = "opening of loops [m]"
IMPACTS = "impact law [relative]"
JUMPS = "impulses of jumps [relative]"
LEAPS = "leaps of places [m]"
NORMALS = "normals off the gradients of gaps [relative]"  # functions of a user
MOMENTUM = "momentum balance [relative]"
LIMITS = {  # of motions at up to 1 m/s or rad/s; places and speeds of faster ones are known in proportion
    DEPTH: 1e-9,
    "pulling force [relative]": 1e-8,
    "friction cone [relative]": 1e-8,
    "sliding friction [relative]": 1e-8,
    "slip of sticking contacts [m/s]": 1e-8,
    IMPACTS: 1e-8,
    JUMPS: 1e-8,
    LEAPS: 1e-9,
    MOMENTUM: 1e-6,
    "energy balance [relative]": 1e-6,
    CLOSURE: 1e-9,
    NORMALS: AGREES,
}
OF_FORCES = tuple(LIMITS)[1:5]
OF_MOTION = (DEPTH, "slip of sticking contacts [m/s]")


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
    worst.see(DEPTH, worst.bodies.depth())
    energy = {MOMENTUM: worst.momentum(), JUMPS: unexplained(trajectory)[0], LEAPS: broken(trajectory)[0]}
    energy |= {"energy balance [relative]": _imbalance(world, trajectory, work, moved)}
    if (off := _normal_errors(world, trajectory)) > 0.0:
        energy |= {NORMALS: off}
    if CLOSURE in worst.violations:
        energy = {CLOSURE: worst.violations[CLOSURE]} | energy
    if not isinstance(world.law, RigidLaw):
        return energy, LIMITS
    limits = LIMITS | {law: LIMITS[law] * max(1.0, worst.speed) for law in OF_MOTION}
    return worst.report() | {IMPACTS: _impact_residual(trajectory)[0]} | energy, limits


def jump_that_breaks(law: str, trajectory: Trajectory) -> Event | None:
    """The event that violates a law of events most; None where the law is one of arcs."""
    of_events = {JUMPS: unexplained, LEAPS: broken, IMPACTS: _impact_residual}
    return of_events[law](trajectory)[1] if law in of_events else None


class _Bodies:
    """Whole bodies in places of steps, looked at together: what is found of one place is of use at the next one."""

    def __init__(self) -> None:
        self._world: World | None = None
        self._times, self._joints = list[Array](), list[Array]()
        self._depth = 0.0

    def add(self, world: World, times: Array, joints: Array) -> None:
        """Places (k, joints, 4, 3) of the joints of a world at times (k,)."""
        if self._world is not world or sum(map(len, self._times)) > MOST_PLACES:
            self.depth()
        self._world = world
        self._times.append(times)
        self._joints.append(joints)

    def depth(self) -> float:
        """The largest depth of bodies in each other and in the ground so far [m]."""
        if self._world is not None and self._times:
            found = overlaps_along(self._world, np.concatenate(self._times), np.concatenate(self._joints))
            self._depth = max([self._depth, *(overlap.depth for overlap in found)])
            self._times, self._joints = [], []
        return self._depth


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
    bodies: _Bodies = field(default_factory=_Bodies)

    def see(self, law: str, value: float) -> None:
        self.violations[law] = float(np.maximum(self.violations.get(law, 0.0), value))  # what is no number stays so

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
    record, acting = _record(world, flow, mode, arc), _open(mode, world.count)
    done = size = 0.0
    for start in range(0, len(arc.segments), AT_ONCE):
        steps, rows = arc.segments[start : start + AT_ONCE], slice(start, start + AT_ONCE)
        # As the run did, whose slip directions go on from there.
        flow = flow.rebased(steps[0].t0, steps[0](steps[0].t0))
        found = None
        if record is not None:
            found = _compiled(world, flow, record[rows], acting, worst.bodies)
        if found is None:
            found = _Surveyor(world, mode, worst.bodies).survey(flow, steps)
        _see(world, flow, mode, steps, found, worst)
        done, size = done + found.work, size + found.moved
    return done, size


def _record(world: World, flow: ContactFlow, mode: SystemMode, arc: Arc) -> Array | None:
    """The steps of an arc as a compiled engine records them; None where it does not tell all that is asked of them."""
    if world.closed_loops is not None or mode.latched or (isinstance(flow, RigidFlow) and flow.arc.incipient):
        return None
    return (arc.segments if isinstance(arc.segments, Steps) else Steps(arc.segments)).rows()


def _compiled(world: World, flow: ContactFlow, record: Array, acting: Array, bodies: _Bodies) -> Survey | None:
    """What the compiled arc sees of the steps of a record; None where there is none, or it does not tell.

    Args:
        acting: whether each contact is open, and acts (nc,).
        bodies: takes their places in these steps, where the law is rigid: what gives way lets bodies into each other.
    """
    compiled, mechanism, shapes = flow.compiled_arc, world.mechanism, False
    if isinstance(flow, RigidFlow):
        mechanism = flow.arc.mechanism
        shapes = not mechanism.shapeless
    else:
        acting = np.zeros_like(acting)  # no depth is asked for
    if compiled is None or mechanism.plain_robot is None or not mechanism.plain_robot.knows_all:
        return None
    found = compiled.survey(record, PLACES, acting, shapes, flow.slip_directions)
    if found is not None and found.joints is not None:
        bodies.add(
            world,
            _times(record[:, :2]).ravel(),
            mechanism.all_joints(found.joints.reshape(-1, *found.joints.shape[2:])),
        )
    return found


def _times(spans: Array) -> Array:
    """Times (steps, places) at which steps (steps, 2), from start to end, are looked at [s]."""
    start, end = spans[:, :1], spans[:, 1:]
    return np.asarray(start + PLACES[0] * (end - start))


def _open(mode: SystemMode, count: int) -> Array:
    """Whether each contact is open, and acts (nc,)."""
    return np.array([state.enabled and not state.closed for state in mode.contacts[:count]], dtype=bool)


def _see(
    world: World, flow: ContactFlow, mode: SystemMode, steps: Sequence[Segment], found: Survey, worst: _Worst
) -> None:
    """See the violations in some steps."""
    worst.force, worst.speed = max(worst.force, found.force), max(worst.speed, found.speed)
    worst.see(DEPTH, found.depth)
    if found.opening is not None:
        worst.see(CLOSURE, found.opening)
    changes = [world.v(step(step.t1)) - world.v(step(step.t0)) for step in steps]
    worst.pass_by(np.sum(changes, axis=0), found.by_forces, found.without_contacts)
    if isinstance(flow, RigidFlow):
        _see_forces(world, flow, mode, steps, found, worst)


class _Surveyor:
    """Looks at steps of one mode, place by place."""

    def __init__(self, world: World, mode: SystemMode, bodies: _Bodies) -> None:
        self._world, self._mode, self._mechanism = world, mode, world.mechanism.within(mode.regions)
        self._bodies = bodies
        self._closed = np.zeros(world.count, dtype=bool)
        self._closed[[i for i in mode.closed if i < world.count]] = True
        self._acting = self._closed | _open(mode, world.count)
        self._by_forces, self._without, self._work, self._moved = np.zeros(world.nv), 0.0, 0.0, 0.0
        self._force = self._speed = self._depth = self._opening = 0.0

    def survey(self, flow: ContactFlow, steps: Sequence[Segment]) -> Survey:
        """What is seen in some steps."""
        forces, rates = list[Array](), list[Array]()
        for step in steps:
            length = step.t1 - step.t0
            flow = cast(ContactFlow, flow.rebased(step.t0, step(step.t0)))
            for share, weight in zip(*PLACES, strict=True):
                t = step.t0 + share * length if share < 1.0 else step.t1
                along, rate = self._look(flow, t, step(t), weight * length)
                forces.append(along)
                rates.append(rate)
        shape = len(steps), len(PLACES[0]), -1 if forces[0].size else 0
        integrals = self._by_forces, self._without, self._work, self._moved
        largest = self._force, self._speed, self._depth
        opening = None if self._world.closed_loops is None else self._opening
        return Survey(np.reshape(forces, shape), np.reshape(rates, shape), *integrals, *largest, opening)

    def _look(self, flow: ContactFlow, t: float, x: Array, weight: float) -> tuple[Array, Array]:
        """Forces and contact velocities (m,) at one time; the work there is taken with a weight [s]."""
        world, mode = self._world, self._mode
        q, v = world.q(x), world.v(x)
        if world.closed_loops is not None:
            self._opening = max(self._opening, *world.closed_loops.loops.openings(q).values())
        terms = self._mechanism.terms(t, q, v, mode.closed)
        self._speed = max(self._speed, float(np.abs(v).max(initial=0.0)))
        self._force = max(self._force, float(np.abs(terms.force).max(initial=0.0)))
        if isinstance(flow, RigidFlow):
            self._depth = max(self._depth, self._depth_at(t, x))
            forces = flow.rebased(t, x).motion(t, x).forces
        else:
            found = flow.contact_forces(t, x)  # type: ignore[attr-defined]
            forces = np.concatenate([found[i] for i in mode.closed]) if mode.closed else np.zeros(0)
        power, force = world.mechanism.working_power(t, q, v), terms.force
        if (applied := world.driving.applied_at(t, x)) is not None:
            power, force = power + float(applied @ v), force + applied
        # The rows give J v; the rates, relative to moving ground, would miss the power of the ground.
        power += float(forces @ (terms.rows @ v))
        changes = solve_mass(terms.mass, np.column_stack([force + terms.rows.T @ forces, force]))
        self._by_forces += weight * changes[:, 0]
        self._without += weight * float(np.abs(changes[:, 1]).max(initial=0.0))
        self._work, self._moved = self._work + weight * power, self._moved + weight * abs(power)
        return forces, terms.rates

    def _depth_at(self, t: float, x: Array) -> float:
        """The largest depth of what is open, and distance of what is closed [m]."""
        q, asked = self._world.q(x), self._closed.copy()
        asked[self._mechanism.near(t, q, self._mechanism.vicinity)] = True
        contacts = np.flatnonzero(asked & self._acting)
        gaps = self._mechanism.gaps_of(t, q, contacts)
        depths = np.where(self._closed[contacts], np.abs(gaps), -gaps)
        if not self._mechanism.shapeless:
            self._bodies.add(self._world, np.array([t]), self._mechanism.joint_places(q)[None])
        return float(np.nanmax(depths, initial=0.0))


def _see_forces(
    world: World, flow: RigidFlow, mode: SystemMode, steps: Sequence[Segment], seen: Survey, worst: _Worst
) -> None:
    """See the laws of the forces in some steps.

    What ends a step may fall by more within the tolerance of its time than a force may miss, such as the cone of one
    contact while the slip of another one turns. There a law is violated only where it is so that much earlier, too.
    """
    found = _violations(world, mode, seen.forces, seen.rates)
    worst.force = max(worst.force, float(np.abs(seen.forces).max(initial=0.0)))
    spans = np.array([(step.t0, step.t1) for step in steps])
    ends = _times(spans) == spans[:, 1:]  # (steps, places)
    at_ends = np.max([np.where(ends, violation, 0.0).max(axis=1) for violation in found.values()], axis=0)
    for k in np.flatnonzero(at_ends > world.tolerances.force * worst.force).tolist():
        earlier = _violations(world, mode, *_just_before(world, flow, mode, steps[k]))
        for law, violation in found.items():
            violation[k, ends[k]] = np.minimum(violation[k, ends[k]], earlier[law])
    for law, violation in found.items():
        worst.see(law, float(violation.max(initial=0.0)))


def _just_before(world: World, flow: RigidFlow, mode: SystemMode, step: Segment) -> tuple[Array, Array]:
    """Forces and contact velocities (m,) before the end of a step by the tolerance of its time."""
    t = max(step.t0, min(step.t1 - world.tolerances.event_time, float(np.nextafter(step.t1, step.t0))))
    x = step(t)
    forces = flow.rebased(step.t0, step(step.t0)).rebased(t, x).motion(t, x).forces
    return forces, world.mechanism.within(mode.regions).terms(t, world.q(x), world.v(x), mode.closed).rates


def _violations(world: World, mode: SystemMode, forces: Array, rates: Array) -> dict[str, Array]:
    """{law: violation (...,) by forces (..., m) [N], or by what sticks [m/s]}."""
    found = {law: np.zeros(forces.shape[:-1]) for law in OF_FORCES}
    start, normals = 0, dict[int, Array]()

    def see(law: str, violation: Array) -> None:
        np.maximum(found[law], violation, out=found[law])

    for i in mode.closed:
        part = slice(start, start + world.mechanism.dims[i])
        start, tangents = part.stop, world.tangents(i, part)
        if world.heads[i]:
            normals[i] = forces[..., part.start]
            see("pulling force [relative]", -normals[i])
        if not world.tangent_rows[i]:
            continue
        normal, tangential, slip = normals[world.host(i)], forces[..., tangents], rates[..., tangents]
        size, speed = _sizes(tangential), _sizes(slip)
        if mode.contacts[i].mode is Mode.STICK:
            see("friction cone [relative]", size - float(world.static_friction[i]) * normal)
            see("slip of sticking contacts [m/s]", speed)
            continue
        along_curve = i in world.curves  # friction falls with the speed
        friction = np.apply_along_axis(partial(world.friction_at, i), -1, slip) if along_curve else world.friction[i]
        bound = friction * normal
        see("friction cone [relative]", np.abs(size - bound))
        moving = speed > MOVING * world.tolerances.slip_speed
        against = bound / np.where(moving, speed, 1.0)
        off = _sizes(tangential + against[..., None] * slip)
        see("sliding friction [relative]", np.where(moving, off, 0.0))
    return found


def _sizes(vectors: Array) -> Array:
    """Norms (...,) of vectors (..., d)."""
    return np.asarray(np.sqrt(np.einsum("...i,...i", vectors, vectors)))


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


def _impact_residual(trajectory: Trajectory) -> Largest:
    """Largest violation of the law in an impact, relative to its own scale, by its share of the largest impulse."""
    events = [event for event in trajectory.events if any(law.startswith("impact") for law in event.residuals)]
    sizes = [max([float(np.abs(value).max()) for value in event.impulses.values()], default=0.0) for event in events]
    largest, worst, where = max(sizes, default=0.0), 0.0, None
    for event, size in zip(events, sizes, strict=True):
        violation = max(value for law, value in event.residuals.items() if law.startswith("impact"))
        violation = violation * size / largest if size else violation
        if not violation <= worst:
            worst, where = violation, event
    return worst, where


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
