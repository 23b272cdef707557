"""Arcs of robots on planes and hills in C++: an engine of contactsim."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from contactsim.contact.compiled import CompiledSolver
from contactsim.contact.limits import FARTHEST_TURN, NEWTON_STEPS, STALLED_TURN
from contactsim.contact.zero import ACROSS, ACROSS_SINGULAR, RANK, TURNED
from contactsim.contact_dynamics.engines import (
    CompiledArc,
    CompiledEvents,
    CompiledWatch,
    Engine,
    PlainArc,
    PlainEvents,
    PlainGuards,
    PlainMotion,
    Survey,
)
from contactsim.hybrid.chart_path import ChartPath
from contactsim.hybrid.flow import Stages
from contactsim.multibody import zero as multibody_zero
from contactsim.multibody.controllers import PlainPieces
from contactsim.multibody.mechanism import TermDerivatives
from contactsim.multibody.plain_robot import PlainRobot

from . import _native
from .contacts import REDUNDANCY, NativeSolver
from .cruises import NativeWatch, native_gaps
from .events import NativeEvents
from .solids import native_sharp, native_solid, padded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from contactsim.multibody.geometry.plain_flats import CompiledFlats, PlainFlat
    from contactsim.multibody.terrain.plain_hills import PlainHills

KINDS = ("revolute", "unbounded", "prismatic", "free_flyer", "spherical", "planar", "translation")
STATES = ("smooth", "stick", "slip", "directed", "begins")
Array = np.ndarray
TURNING = _native.Turning(
    steps=NEWTON_STEPS,
    across=ACROSS,
    turned=TURNED,
    farthest=FARTHEST_TURN,
    across_singular=ACROSS_SINGULAR,
    stalled=STALLED_TURN,
)


@lru_cache(maxsize=64)
def native_robot(robot: PlainRobot) -> _native.Robot:
    """A robot as the extension has it."""
    made = _native.Robot(robot.nq, robot.nv, robot.gravity.tolist(), robot.armature, robot.damping)
    for joint in robot.joints:
        made.add_joint(
            KINDS.index(joint.kind),
            joint.parent,
            joint.q,
            joint.v,
            joint.size,
            joint.turn.ravel().tolist(),
            joint.place.tolist(),
            joint.axis.tolist(),
            joint.mass,
            joint.centre.tolist(),
            joint.inertia.ravel().tolist(),
        )
    for spring in robot.springs:
        made.add_spring(*spring)
    if robot.loops is not None:
        for (first, there), (second, beside) in robot.loops.pins:
            made.add_pin(first, there.tolist(), second, beside.tolist())
        for parts, value in robot.loops.couplings:
            made.add_coupling(parts, value)
        made.close(-1 if robot.loops.rank is None else robot.loops.rank, RANK)
    return made


@lru_cache(maxsize=16)
def native_pieces(reference: PlainPieces) -> _native.Pieces:
    """A reference of polynomials as the extension has it."""
    again = -1 if reference.again is None else reference.again
    return _native.Pieces(reference.knots.tolist(), reference.coefficients, reference.nq, again)


def native_drive(arc: PlainArc, robot: _native.Robot) -> _native.Drive:
    """What drives a robot as the extension has it."""
    drive = _native.Drive(arc.memory)
    if arc.drive is not None:
        drive.call(robot, arc.drive)
    elif arc.holding is not None:
        drive.hold(arc.holding.first, arc.holding.velocities.tolist())
    elif arc.gains is not None:
        gains = arc.gains
        posture = np.zeros(arc.robot.nq) if gains.posture is None else np.array(gains.posture, dtype=float)
        drive.gains(robot, posture, np.array(gains.kp), np.array(gains.kd), np.array(gains.driven))
        if arc.reference is not None:
            drive.follow(robot, arc.reference)
        elif gains.pieces is not None:
            drive.follow_pieces(native_pieces(gains.pieces))
    return drive


@lru_cache(maxsize=16)
def native_hills(hills: PlainHills) -> _native.Hills:
    """Hills as the extension has them."""
    from contactsim.multibody.terrain import hills as python  # which only robots on hills need
    from contactsim.multibody.terrain.plain_hills import PlainSinusoid

    rules = _native.HillRules(
        reach=python.REACH,
        longest=python.LONGEST,
        found=multibody_zero.FOUND,
        relative=multibody_zero.RELATIVE,
        iterations=python.ITERATIONS,
        aside=multibody_zero.ASIDE,
    )
    given = hills.heights
    if isinstance(given, PlainSinusoid):
        heights = _native.Sinusoid(*given)
    else:
        heights = _native.Spline(given.x, given.y, np.ascontiguousarray(given.cells).ravel())
    across = None if hills.across is None else hills.across.tolist()
    return _native.Hills(heights, hills.curvature, list(hills.velocity), across, rules)


def on_ground(robot: PlainRobot) -> _native.ContactMode:
    """A mode of a robot on its ground, in which no contact is closed yet."""
    ground = robot.ground
    given = np.ascontiguousarray(ground.basis), ground.belt.tolist(), ground.point.tolist()
    mode = _native.ContactMode(*given, TURNING)
    if ground.motion is not None:
        mode.oscillate(list(ground.motion.amplitude), ground.motion.pace, ground.motion.phase)
    if ground.hills is not None:
        mode.on_hills(native_hills(ground.hills))
    if robot.frame is not None:
        mode.frame_pairs(*(part.tolist() for part in robot.frame))
    return mode


class NativeArc(CompiledArc):
    """A contact mode in C++.

    Args:
        arc: the mode.
    """

    def __init__(self, arc: PlainArc) -> None:
        robot = arc.robot
        self._robot, self._plain = native_robot(robot), robot
        self._mode = on_ground(robot)
        for closed in arc.closed:
            contact = closed.contact
            rigid = closed.force is None
            if contact.is_limit:
                self._mode.add_limit(contact.velocity, contact.sign, contact.coordinate, contact.bound)
            else:
                state = STATES.index(closed.state if rigid else "smooth")
                sphere = contact.joint, contact.centre.tolist(), contact.radius
                if contact.feature is not None:
                    from .flats import native_feature  # which only robots on hills need

                    assert robot.ground.hills is not None
                    own = native_feature(contact.feature, robot.ground.hills)
                    self._mode.add_feature(*sphere, own, state, closed.friction)
                elif contact.round is not None:
                    from .rounds import native_round  # which only robots with rims or ellipsoids need

                    own, region = native_round(contact.round), padded(closed.region)
                    self._mode.add_round(*sphere, own, region, state, closed.friction)
                elif contact.met is not None:
                    from .features import native_met  # which only bodies besides balls, boxes, hulls and capsules need

                    assert contact.other is not None
                    own, region = native_met(contact.met), padded(closed.region)
                    touched = native_solid(contact.other), own, region
                    self._mode.add_features(*sphere[:-1], *touched, state, closed.friction)
                elif contact.other is None:
                    self._mode.add_point(*sphere, state, closed.friction)
                else:
                    touched = native_solid(contact.other), native_sharp(contact), padded(closed.region)
                    self._mode.add_pair(*sphere, *touched, state, closed.friction)
            if closed.force is not None:
                self._mode.give_way(closed.state == "released", _native.Yielding(**closed.force._asdict()))
        self._redundant = arc.redundant
        if arc.redundant:
            self._mode.make_redundant(REDUNDANCY, [closed.static_friction for closed in arc.closed])
        self._drive = native_drive(arc, self._robot)
        features = [closed.contact.feature for closed in arc.closed]
        self._flat = any(feature is not None and not feature.corner for feature in features)
        self._varies = not (arc.drive is not None or self._flat)
        self._memory = arc.memory

    def motion(self, t: float, x: Array, directions: Array, straight: float) -> PlainMotion | None:
        """The motion at a state, under what drives it; None where it cannot tell."""
        rows = self._mode.rows
        acceleration, rates, forces, change = np.empty(self._plain.nv), np.empty(rows), np.empty(rows), np.empty(rows)
        given = self._robot, self._mode, directions, straight, self._drive, t, x
        found = _native.accelerate(*given, acceleration, rates, forces, change)
        if found is None:
            return None
        others, regularity, margin, loose = found
        return PlainMotion(acceleration, rates, forces, others, regularity, change, margin, tuple(loose))

    def near(self, t: float, x: Array, distance: float) -> Array:
        """Contacts whose gaps are at most so large, those of bodies that are apart left out."""
        return np.array(_native.near(self._robot, self._mode, native_gaps(self._plain), t, x, distance), dtype=int)

    def survey(
        self, record: Array, places: tuple[Array, Array], watched: Array, placed: bool, directions: Array
    ) -> Survey | None:
        """What the check of a run asks of its steps."""
        given = self._robot, self._mode, native_gaps(self._plain), self._drive, watched.astype(float), placed
        found = _native.survey(*given, *places, directions, np.ascontiguousarray(record))
        if found is None:
            return None
        forces, rates, by_forces, *numbers, joints = found
        shape = len(record), len(places[0])
        placed_at = joints.reshape(*shape, -1, 4, 3) if placed else None
        along = forces.reshape(*shape, self._mode.rows), rates.reshape(*shape, self._mode.rows)
        return Survey(*along, by_forces[0], *numbers, joints=placed_at)

    def slips(self, t: float, x: Array) -> Array | None:
        """Contact velocities of the closed contacts."""
        rates = np.empty(self._mode.rows)
        return rates if _native.slips(self._robot, self._mode, t, x, rates) else None

    def derivatives(
        self, q: Array, v: Array, applied: Array | None, applied_x: Array, directions: Array, straight: float
    ) -> tuple[Array, Array, Array] | None:
        """Those of acceleration, forces and contact velocities; None where rows depend on each other.

        None, too, of a ground that moves, of which the time says where it is, and where edges or faces touch hills.
        """
        if self._redundant or self._flat or self._plain.ground.motion is not None:
            return None
        columns, rows = applied_x.shape[1], self._mode.rows
        found = np.empty((len(v), columns)), np.empty((rows, columns)), np.empty((rows, columns))
        force = np.zeros(len(v)) if applied is None else applied
        given = self._robot, self._mode, directions, straight, q, v, force, np.ascontiguousarray(applied_x)
        return found if _native.derivatives(*given, *found) else None

    def driven_derivatives(
        self, t: float, x: Array, directions: Array, straight: float
    ) -> tuple[Array, Array, Array] | None:
        """The same under what drives it; None under a controller that is called back, or has memory, too."""
        if not self._varies or self._redundant or self._memory:
            return None
        nv, rows = self._plain.nv, self._mode.rows
        found = np.empty((nv, 2 * nv)), np.empty((rows, 2 * nv)), np.empty((rows, 2 * nv))
        given = self._robot, self._mode, directions, straight, self._drive, t, x
        return found if _native.driven_derivatives(*given, *found) else None

    def term_derivatives(self, q: Array, v: Array, a: Array, forces: Array) -> TermDerivatives | None:
        """Derivatives of the equations of motion; None of loops, and as of `derivatives`."""
        found, nv = self._differentiated(q, v, a, forces), self._plain.nv
        if found is None:
            return None
        residual, rates, motion = found
        return TermDerivatives(residual[:, :nv], residual[:, nv:], rates[:, :nv], motion[:, :nv], motion[:, nv:])

    def rate_derivatives(self, q: Array, v: Array) -> Array | None:
        """Derivatives (m, 2 nv) of the contact velocities by (dq, dv); None as of `term_derivatives`."""
        found = self._differentiated(q, v, np.zeros(self._plain.nv), np.zeros(self._mode.rows))
        return None if found is None else found[1]

    def _differentiated(self, q: Array, v: Array, a: Array, forces: Array) -> tuple[Array, Array, Array] | None:
        plain = self._plain
        if self._flat or plain.ground.motion is not None or plain.loops is not None:
            return None
        nv, rows = plain.nv, self._mode.rows
        residual, rates, motion = np.empty((nv, 2 * nv)), np.empty((rows, 2 * nv)), np.empty((rows, 2 * nv))
        given = self._robot, self._mode, q, v, a, forces
        return (residual, rates, motion) if _native.term_derivatives(*given, residual, rates, motion) else None

    def propagated(
        self,
        path: ChartPath,
        t0: float,
        t1: float,
        variations: Array,
        accuracy: tuple[float, float],
        directions: Array,
        straight: float,
    ) -> Array | None:
        """By collocation in C++; None under a controller that is called back, and where motions have no derivative.

        That of a redundant mode has one where no choice among its forces moves anything.
        """
        if not self._varies:
            return None
        motion = self._robot, self._mode, directions, straight, self._drive
        from .variations import propagated  # whose tables only derivatives need

        return propagated(path, t0, t1, variations, accuracy, motion)

    def watched(self, guards: PlainGuards) -> CompiledWatch:
        """The arc with its guards."""
        return NativeWatch(
            self._plain, self._robot, self._mode, self._drive, guards, self._varies and not self._redundant
        )

    def stages(self, base: Array, directions: Array, straight: float) -> Stages:
        """The rates of whole steps in the chart around a state."""
        robot, mode, drive, run = self._robot, self._mode, self._drive, _native.run_stages

        def stages(
            A: Array, C: Array, t: float, h: float, y: Array, K: Array, points: Array, first: int, last: int
        ) -> None:
            run(robot, mode, directions, straight, drive, A, C, base, t, h, y, K, points, first, last)

        return stages


def knows_gains(arc: PlainArc) -> bool:
    """Whether gains act on single angles and lengths alone."""
    if arc.gains is None:
        return True
    single = np.zeros(arc.robot.nv, dtype=bool)
    for joint in arc.robot.joints:
        single[joint.v : joint.v + joint.size] = joint.size == 1
    return not arc.gains.kp[~single].any()


class NativeEngine(Engine):
    """Robots of the usual joints with points, spheres or rims on planes or hills, under PD, held torques, any drive."""

    interface = 47  # of the engines of contactsim that it was written for
    moves_ground = knows_hills = gives_way = True

    def __init__(self) -> None:
        self._solver = NativeSolver()

    def contacts(self) -> CompiledSolver:
        """Contact problems without resistances, in C++."""
        return self._solver

    def compiled(self, arc: PlainArc) -> CompiledArc | None:
        """The arc in C++; None where gains act on joints that are no single angle or length."""
        return NativeArc(arc) if knows_gains(arc) else None

    def flats(self, flats: Sequence[PlainFlat], ground: PlainHills) -> CompiledFlats:
        """Nearest points of edges, faces and rims in C++."""
        from .flats import NativeFlats  # which only robots on hills need

        return NativeFlats(flats, native_hills(ground))

    def events(self, world: PlainEvents) -> CompiledEvents | None:
        """The events in C++; None where its arcs are not."""
        if not knows_gains(world.arc):
            return None
        robot = native_robot(world.arc.robot)
        return NativeEvents.of(world, robot, on_ground(world.arc.robot), native_drive(world.arc, robot))
