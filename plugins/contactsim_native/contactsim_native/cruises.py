"""Arcs with their guards in C++: steps as long as nothing happens in them."""

from __future__ import annotations

from functools import lru_cache
from itertools import groupby
from math import hypot, isnan

import numpy as np

from contactsim.contact.limits import LEAP
from contactsim.contact_dynamics import contact_flow, rigid_flow
from contactsim.contact_dynamics import zero as contacts_zero
from contactsim.contact_dynamics.engines import CompiledWatch, PlainGuards, PlainMeeting
from contactsim.contact_dynamics.rigid_guards import SIDE
from contactsim.hybrid import event_location, guard_minima, guard_samples, stepper, stiff_arcs
from contactsim.hybrid import zero as hybrid_zero
from contactsim.hybrid.course import Course, Landing, Passed
from contactsim.hybrid.flow import Look
from contactsim.hybrid.integrators import tables853
from contactsim.hybrid.segments import LARGEST853, Interpolant853
from contactsim.multibody.configuration_space import CHART_RADIUS
from contactsim.multibody.kinematics.bound_robot import TURN
from contactsim.multibody.plain_robot import PlainContact, PlainMargin, PlainReach, PlainRobot, PlainSolid

from . import _native
from .rules import filled
from .solids import native_sharp, native_solid

GAPS = {"gap": 1.0, "clear": -1.0}  # and the sign with which they count
PUSHES = {"release": 1.0, "return": -1.0}
GUARDS = ("gap", "force", "cone", "forces", "slow", "stop", "fast", "jam", "turn")
GOES_ON = (
    "t",
    "fresh",
    "step",
    "proposed",
    "natural",
    "approach",
    "expandable",
    "in_haste",
    "held_steps",
    "loose_steps",
    "began",
    "faded",
    "short_step",
    "fades",
    "tried",
    "asked",
    "fastest",
    "way",
)
GIVEN = (
    "bound",
    "rtol",
    "atol",
    "max_step",
    "path_rtol",
    "path_atol",
    "automatic",
    "patience",
    "enough",
    "most",
    "clearance",
)
Array = np.ndarray


def _row(table: Array) -> Array:
    return np.ascontiguousarray(table, dtype=float).ravel()


@lru_cache(maxsize=1)
def method() -> _native.Dop853:
    """The tables of DOP853, of methods for short steps, and those by which guards are seen in samples of its steps."""
    tables = (
        *(tables853.COEFFICIENTS, tables853.TIMES, tables853.ERROR3, tables853.ERROR5, tables853.DENSE, LARGEST853),
        *(guard_samples.NODES, guard_samples.TO_SERIES, guard_samples.GRID),
        *(guard_samples.TO_GRID, guard_samples.TO_SLOPES),
    )
    lower = [_native.Lower(*(_row(table) for table in own)) for own in (tables853.THIRD, tables853.FIFTH)]
    return _native.Dop853(*(_row(table) for table in tables), *lower)


@lru_cache(maxsize=1)
def stiff_method() -> _native.Radau9:
    """The tables of Radau9, its polynomials written as the dense outputs of DOP853 are."""
    from contactsim.hybrid.integrators import collocation, tables_radau9  # which only stiff arcs need

    own, stages = tables_radau9, collocation.STAGES
    return _native.Radau9(
        nodes=own.NODES,
        inverse=_row(own.INVERSE),
        estimate=own.ESTIMATE,
        to_parts=_row(np.linalg.inv(Interpolant853.parts(own.NODES)[:stages].T)),
        rate=float(own.MODES.rates[0].real),
        between=own.BETWEEN,
        safety=own.SAFETY,
        growth=own.GROWTH,
        shrinkage=own.SHRINKAGE,
        enough=own.ENOUGH,
        fresh=own.FRESH,
        converged=own.CONVERGED,
        relaxed=own.RELAXED,
        least_share=own.LEAST_SHARE,
        iterations=own.ITERATIONS,
        order=own.ORDER,
    )


@lru_cache(maxsize=1)
def thresholds() -> _native.Thresholds:
    """The thresholds of the modules whose choices are made in C++."""
    found = _native.Thresholds()
    values = {
        "safety": tables853.SAFETY,
        "min_factor": tables853.MIN_FACTOR,
        "max_factor": tables853.MAX_FACTOR,
        "overshot": tables853.OVERSHOT,
        "off": tables853.OFF,
        "chart_radius": CHART_RADIUS,
        "turn": TURN,
        "within_reach": stepper.WITHIN_REACH,
        "short_step": stepper.SHORT,
        "beyond": stepper.BEYOND,
        "first_share": stepper.FIRST_SHARE,
        "brief": tables853.BRIEF,
        "briefly": stepper.BRIEFLY,
        "shortly": stepper.SHORTLY,
        "near_edge": hybrid_zero.NEAR_EDGE,
        "fading": hybrid_zero.FADING,
        "loose": stiff_arcs.LOOSE,
        "held": stiff_arcs.HELD,
        "held_fast": stiff_arcs.HELD_FAST,
        "grown": stiff_arcs.GROWN,
        "few": stiff_arcs.FEW,
        "many": stiff_arcs.FAR,
        "growing": stiff_arcs.GROWING,
        "easy": hybrid_zero.EASY,
        "rounded": hybrid_zero.ROUNDED,
        "spent_stiffly": stepper.SPENT,
        "exact": stepper.EXACT,
        "cut": stepper.CUT,
        "spent": stepper.SPENT_853,
        "at_once": hybrid_zero.AT_ONCE,
        "flat": hybrid_zero.FLAT,
        "unresolved": guard_samples.UNRESOLVED,
        "bent": guard_samples.BENT,
        "look": guard_samples.LOOK,
        "stray": guard_samples.STRAY,
        "noise": guard_samples.NOISE,
        "most_looks": guard_samples.MOST_LOOKS,
        "room": contact_flow.ROOM,
        "monotone": guard_samples.MONOTONE,
        "quiet": guard_samples.QUIET,
        "dip": guard_samples.DIP,
        "shallow": hybrid_zero.SHALLOW,
        "approach": contacts_zero.APPROACH,
        "close_to_stop": contacts_zero.CLOSE_TO_STOP,
        "away": contacts_zero.AWAY,
        "leave": contacts_zero.LEAVE,
        "no_speed": contacts_zero.NO_SPEED,
        "fastest": contacts_zero.FASTEST,
        "jolt": contacts_zero.JOLT,
        "jammed": contacts_zero.JAMMED,
        "near_jam": contacts_zero.NEAR_JAM,
        "turning": contacts_zero.TURNING,
        "no_force": contacts_zero.NO_FORCE,
        "leap": LEAP,
        "slope": event_location.SLOPE,
        "shortest_slope": event_location.SHORTEST_SLOPE,
        "soon": event_location.SOON,
        "far": event_location.FAR,
        "landed": hybrid_zero.LANDED,
        "guess": hybrid_zero.GUESS,
        "lowest": hybrid_zero.LOWEST,
        "corrections": event_location.CORRECTIONS,
        "sooner": stepper.SOONER,
        "behind": stepper.BEHIND,
        "all_but": rigid_flow.ALL_BUT,
        "expanding": _native.Expanding(
            longer=contacts_zero.LONGER,
            probe_time=contacts_zero.PROBE[0],
            probe_turn=contacts_zero.PROBE[1],
            least_turn=contacts_zero.LEAST_TURN,
            middle=contacts_zero.MIDDLE,
            turns=contacts_zero.TURNS,
        ),
        "looking": _native.Looking(
            looks=guard_minima.LOOKS,
            parts_apart=guard_minima.PARTS_APART,
            least=guard_minima.LEAST,
            most=guard_minima.MOST,
            seen=guard_minima.SEEN,
        ),
    }
    return filled(found, values)


@lru_cache(maxsize=64)
def native_reach(reach: PlainReach) -> _native.Reach:
    """The reach of a robot as the extension has it."""
    return _native.Reach(
        reach.parent.tolist(), _row(reach.length), _row(reach.slides), _row(reach.turns), _row(reach.places)
    )


@lru_cache(maxsize=64)
def native_gaps(robot: PlainRobot) -> _native.Gaps:
    """The contacts of a robot as the extension has them; one that it does not know has no guard, and no events."""
    gaps, places = _native.Gaps(), dict[PlainSolid, float]()
    for contact in robot.contacts:
        if contact is None or contact.is_limit:
            known = contact or PlainContact(-1, np.zeros(3), velocity=0)
            gaps.add_limit(known.velocity, known.sign, known.coordinate, known.bound)
            continue
        if contact.idle is not None:
            gaps.add_idle(contact.idle)
            continue
        centre = contact.centre.tolist()
        arm = hypot(*centre) + (0.0 if contact.edges is None else contact.edges.extent)
        arm += 0.0 if contact.met is None else contact.met.extent
        sphere = contact.joint, centre, contact.radius, contact.host, arm
        if contact.feature is not None:
            from .flats import native_feature  # which only robots on hills need

            arm += 0.0 if contact.feature.corner else contact.feature.extent
            assert robot.ground.hills is not None
            gaps.add_feature(*sphere[:-1], arm, native_feature(contact.feature, robot.ground.hills))
            continue
        if contact.round is not None:
            from .rounds import native_round  # which only robots with rims or ellipsoids need

            gaps.add_round(*sphere[:-1], contact.round.extent, native_round(contact.round))
            continue
        if (solid := contact.other) is None:
            gaps.add_point(*sphere)
            continue
        if solid not in places:
            places[solid] = hypot(*solid.place.tolist())
        if contact.met is not None:
            from .features import native_met  # which only bodies besides balls, boxes, hulls and capsules need

            own = contact.joint, centre, contact.host, arm, native_solid(solid), native_met(contact.met)
            gaps.add_features(*own, solid.host, places[solid])
            continue
        gaps.add_pair(*sphere, native_solid(solid), native_sharp(contact), solid.host, places[solid])
    gaps.gather()
    return gaps


class NativeWatch(CompiledWatch):
    """A contact mode and its guards in C++.

    Args:
        plain: the robot as plain data.
        robot, mode, drive: the same, the mode, and what drives it, as the extension has them.
        guards: the guards.
        stiff: whether it knows its derivative, which stiff steps need.
    """

    def __init__(
        self,
        plain: PlainRobot,
        robot: _native.Robot,
        mode: _native.ContactMode,
        drive: _native.Drive,
        guards: PlainGuards,
        stiff: bool,
    ) -> None:
        self.stiff = stiff
        self._arc = arc = _native.Arc(robot, mode, drive, plain.turning.tolist())
        parts = guards.kinds, guards.contacts, guards.closed, guards.friction, guards.directions, guards.margins
        for sense, run in groupby(zip(*parts, strict=True), key=lambda guard: GAPS.get(guard[0])):
            if sense is not None:
                arc.add_gaps(native_gaps(plain), [number for _, number, *_ in run], sense)
                continue
            for kind, _, closed, friction, direction, margin in run:
                if isinstance(margin, PlainMargin):
                    arc.add_sines(margin.constant, margin.sines)
                elif margin is not None:
                    arc.add_margin(margin)
                elif kind.startswith(SIDE):
                    arc.add_side(closed, int(kind.removeprefix(SIDE)))
                elif kind in PUSHES:
                    arc.add_push(closed, PUSHES[kind])
                else:
                    arc.add_guard(GUARDS.index(kind), closed, friction, *direction)
        if plain.knows_all and len(guards.left_out):
            arc.leave_out(native_gaps(plain), guards.left_out.tolist())
        if plain.reach is not None:
            arc.set_reach(native_reach(plain.reach), [] if plain.arms is None else plain.arms.tolist())
        for name in ("limits_alone", "slip_speed", "drift", "gap", "event_time", "sense", "window"):
            setattr(arc, name, getattr(guards, name))
        self._count, self._nv = len(guards.kinds), plain.nv

    def guards(self, t: float, x: Array, directions: Array, straight: float) -> Array | None:
        """Values of all guards; None where rows depend on each other."""
        values = np.empty(self._count)
        found = _native.guards(self._arc, thresholds(), directions, straight, t, x, values)
        return values if found else None

    def met(self, t: float, x: Array, directions: Array, straight: float, guard: int) -> PlainMeeting | None:
        """Guards, motion, and the derivative of one guard."""
        values, acceleration, row = np.empty(self._count), np.empty(self._nv), np.empty(2 * self._nv)
        given = self._arc, thresholds(), directions, straight, t, x, guard
        told = _native.meet(*given, values, acceleration, row)
        if told is None:
            return None
        known, *others = told
        return PlainMeeting(values, acceleration, row if known else None, *others)

    def gap(self, x: Array, guard: int) -> tuple[float, Look] | None:
        """A gap, and as it is looked at in steps; None where there is no ground."""
        gap, value, rate, smooth, piece, apart = _native.gap(self._arc, x, guard)
        if isnan(gap) or isnan(value):
            return None
        return gap, Look(value, rate, ((piece,) if piece else ()) if smooth else None, apart)

    def projected(self, x: Array, directions: Array, straight: float) -> Array | None:
        """A state put back onto the constraints."""
        moved = np.array(x)
        found = _native.projected(self._arc, directions, straight, moved)
        return None if found is None else moved if found else x

    def cruise(self, course: Course, directions: Array, straight: float) -> Passed:
        """Steps as long as nothing happens in them."""
        own = _native.Course()
        own.straight = straight
        for name in (*GIVEN, *GOES_ON):
            setattr(own, name, getattr(course, name))
        arrays = course.x, course.base, course.y, course.rate, course.values, course.highest
        given = *arrays, course.floor, course.rounding, course.band, directions
        if course.stiff and course.kept is None:
            course.kept = _native.Radau(stiff_method())
        record, error = _native.cruise(self._arc, method(), course.kept, thresholds(), own, *given)
        for name in GOES_ON:
            setattr(course, name, getattr(own, name))
        return passed_of(own, record, error, course.kept.derivative() if own.asks else None)


def passed_of(own: _native.Course, record: Array, error: BaseException | None, asked: Array | None) -> Passed:
    """The steps of a course, by their record."""
    landing = Landing(tuple(own.fired), own.leader, own.at_once) if own.located else None
    return Passed(record, own.pending, landing, own.suspected, own.hemmed, own.evaluations, error, asked)
