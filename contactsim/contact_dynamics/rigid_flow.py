"""The smooth motion in one contact mode of a rigid law, and the guards that end it, as a `Flow`."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ..common.arrays import Array
from ..common.lazy import Late
from ..common.user_calls import UserCall
from ..contact.modes import unit
from ..errors import NoAdmissibleModeError, SimulationError, SingularError
from ..hybrid.chart_path import ChartPath
from ..hybrid.course import Course, Passed
from ..hybrid.flow import Cruise, Finding, Look, Looks, Met, Path, Stages
from ..hybrid.guard_minima import time_to_fall
from ..hybrid.zero import TINY
from .contact_flow import ContactFlow
from .contact_rows import contact_problem, laid_out
from .rigid_arc import (
    Accelerations,
    Guards,
    References,
    RigidArc,
    RigidField,
    accelerations,
    held_speeds,
    largest_other,
    sliding,
)
from .rigid_guards import OF_SLIPS, SIDE, WITH_ACCELERATIONS, Margin, guards_of, plain_guards
from .zero import (
    APPROACH,
    AT_JAM,
    AWAY,
    BEGUN,
    CLOSE_TO_STOP,
    CLOSER,
    FASTEST,
    JAM,
    JAMMED,
    JOLT,
    LEAVE,
    NEAR_JAM,
    NO_FORCE,
    NO_SPEED,
    OF_SLIP_SPEED,
    STRAIGHT,
    TURNING,
    TURNS,
)

if TYPE_CHECKING:
    from ..contact import linear_algebra
    from ..multibody.kinematics.closed_loops import ClosedMechanism
    from .engines import CompiledArc, CompiledWatch
    from .rigid_sensitivity import Sensitivity
else:  # a compiled engine solves for itself
    linear_algebra = Late("contactsim.contact.linear_algebra")

WATCHES = 8  # compiled, of a pattern, that are kept
WATCHED = 2000  # contacts up to which a compiled arc watches all, near or far
ALL_BUT = 1.5  # slip speeds at which one step more ends a slip in space
TOGETHER = 32  # open contacts whose motion is looked at together
NOTHING = np.zeros(0, dtype=int)


def _nearing(flow: RigidFlow, t: float, x: Array, duration: float, accuracy: float) -> RigidFlow:
    """Slips in space that come to their stop turn so fast that the equations of motion stand almost still."""
    arc, world = flow.arc, flow.arc.world
    if not flow._free or arc.given is not None or arc.curved or arc.compiled is not None or world.memory:
        return flow
    if sum(arc.tangent[i].stop - arc.tangent[i].start for i in flow._free) > TURNS:
        return flow
    rates = flow._terms(t, x).rates
    if min(_size(rates[arc.tangent[i]]) for i in flow._free) <= ALL_BUT * world.tolerances.slip_speed:
        return flow
    from .expanded_arc import expanded

    found = expanded(arc, t, x, flow.references, flow.motion(t, x), duration / APPROACH, accuracy)
    return flow if found is None else flow.changed(_expansion=found, is_expanded=True, spent=found.evaluations)


def _slowing(flow: RigidFlow, t: float, x: Array) -> float:
    """A slip turns at the rate mu lam_n G_tt / |z_t|: d|z_t|/dt / |z_t| of the slowest one."""
    if not flow._free:
        return 0.0
    rates, change = flow._contact_motion(t, x)
    slowest = min((flow.arc.tangent[i] for i in flow._free), key=lambda part: _size(rates[part]))
    z = rates[slowest]
    return float(z @ change[slowest]) / max(float(z @ z), NO_SPEED**2)


def _longest_step(flow: RigidFlow, t: float, x: Array) -> float:
    """As the motion of the robot allows; and no slip in space grows to more than a few times its speed."""
    growing = (AWAY * speed / growth for _, speed, growth in flow._free_slips(t, x) if growth > 0.0)
    return min([ContactFlow.longest_step(flow, t, x), *growing])


def _guard_by_time(flow: RigidFlow, t: float, x: Array, name: Hashable) -> float | None:
    """That of a margin of forces, as what is applied changes with the time; None of others, to be differenced."""
    kind, i = cast("tuple[str, int]", name)
    if kind not in ("force", "cone", "forces"):
        return None
    from .rigid_sensitivity import forces_by_time

    motion = flow.motion(t, x)
    if motion.by_time is None:
        motion.by_time = (forces_by_time(flow.arc, t, x, flow.references, motion),)
    forces = motion.by_time[0]
    if forces is None or kind != "forces":
        return None if forces is None else float(margin_row(flow, kind, i, t, x, forces))
    from .redundant_margin import LargestMargin

    margin = LargestMargin.of(flow.arc, t, x, motion)
    return None if margin is None else float(margin.slope @ forces)


def _first_rate(flow: RigidFlow, t: float, x: Array) -> Array:
    """F (dim,) of the flow that goes on from (t, x), whose guards nobody asks for."""
    return flow._referred(t, x).field(t, x)


def _met(flow: RigidFlow, t: float, x: Array, name: Hashable | None) -> Met | None:
    """By the compiled arc, where slips have the directions of their velocities and all contacts are watched."""
    arc, world, table = flow.arc, flow.arc.world, flow.table
    apart = arc.incipient or arc.mode.redundant or world.memory or arc.mechanism.raised
    watch = None if apart or flow.clearance < math.inf else flow._kept_watch()
    if watch is None:
        return None
    k = -1 if name is None else table.names.index(cast("tuple[str, int]", name))
    found = watch.met(t, x, flow._directions.copy(), flow.references.straight, k)
    if found is None:
        return None
    accuracy = partial(_accuracy, flow, x, found.pressing, found.others)
    field = np.concatenate([world.v(x), found.acceleration])
    return Met(found.values, accuracy, field, found.row, _steady_slope(flow, k, found.steady))


def _accuracy(flow: RigidFlow, x: Array, largest: float, others: float, share: float = 1.0) -> tuple[Array, Array]:
    """Rounding and band of each guard by state and forces: forces are known relative to the largest of them only."""
    world, table = flow.arc.world, flow.table
    rounding, band = table.rounding.copy(), table.band.copy()
    rounding[table.of_places] = world.place_rounding(x)
    if table.look_at_forces:
        rounding[table.of_forces] = band[table.of_forces] = world.force_rounding(largest, others, share)
    return rounding, band


def _steady_slope(flow: RigidFlow, k: int, steady: bool) -> float | None:
    """D_t g of a guard that does not depend on the time; None of others."""
    mechanism, table = flow.arc.mechanism, flow.table
    if k < 0:
        return None
    of_forces = table.names[k][0] in ("force", "cone")
    still = of_forces and steady and mechanism.autonomous and not mechanism.timed
    return 0.0 if still or table.still[k] else None


def _beside(flow: RigidFlow, t: float, x: Array) -> RigidFlow:
    """The flow with references of (t, x)."""
    found = flow._referred(t, x)
    found.smooth_for = found._smooth_for(t, x)
    return found


def _begun(flow: RigidFlow, t: float, x: Array, values: Array) -> Array:
    """Contacts that are met where their gaps cease to be raised go on from where they are."""
    raised, world, table = flow.arc.mechanism.raised, flow.arc.world, flow.table
    if not raised or table.limits is not None:
        return values
    low = table.gaps[values[table.gaps] <= world.tolerances.gap].tolist()
    met = [k for k in low if table.names[k][1] in raised]
    if met:
        values = values.copy()
        contacts = np.array([table.names[k][1] for k in met], dtype=int)
        values[met] = np.minimum(values[met], flow.arc.mechanism.met_gaps(t, world.q(x), contacts))
    return values


def _cruises_stiffly(flow: RigidFlow) -> bool:
    """Whether its compiled arc takes the steps of the stiff method, too."""
    return flow._watch is not None and flow._watch.stiff


class RigidFlow(RigidField, ContactFlow):
    """An arc of a rigid law with what its slips remember; it is never changed: `rebased` gives the one that goes on.

    Args:
        arc: the mode, prepared.
    """

    def __init__(self, arc: RigidArc) -> None:
        super().__init__(arc)
        skips = len(arc.mechanism.skippable) > 0 and not _watches_all(arc)
        self._watched = np.zeros(0, dtype=int)  # of the contacts that are skippable those that are looked at
        self._lay_out(guards_of(arc, self._watched if skips else None))
        self.clearance = 0.0 if skips else math.inf
        self._based: tuple[float, bytes] | None = None  # where it was rebased last
        self._sense = 1.0  # of the determinant of the contacts that slide, where the arc begins; 0: at a jam
        self._compiled_watch: tuple[CompiledWatch | None] | None = None
        self._jam_window = arc.world.tolerances.event_time  # s, within which a jam counts as reached

    def __getstate__(self) -> dict[str, Any]:
        """What is copied and saved: without what was computed at the last state, and without the engine's own."""
        return {**super().__getstate__(), "_known": None, "_seen": None, "_compiled_watch": None}

    @property
    def compiled_arc(self) -> CompiledArc | None:
        """The compiled arc, without its guards."""
        return self.arc.compiled

    @property
    def slip_directions(self) -> Array:
        """Those of its closed contacts (closed, 2), as its step began."""
        return self.arc.directions(self.references)

    def _lay_out(self, table: Guards) -> None:
        """Take over guards."""
        arc, self.table = self.arc, table
        self.guard_names = self.table.names
        self.guard_paces, self.guard_smooth, self.guard_still = table.paces, table.smooth, table.still
        self.guards_given = table.given
        self.guards_follow = self.guards_singular = np.array(table.places.get("slow", ()), dtype=int)
        ContactFlow.__init__(self, arc.world, arc.mechanism, self.table.gaps, self.table.gap_contacts)

    # --- the contract of a flow -------------------------------------------------------------------------------

    nearing, slowing, guard_by_time, first_rate = _nearing, _slowing, _guard_by_time, _first_rate
    longest_step, begun = _longest_step, _begun
    beside, met = _beside, _met
    cruises_stiffly = property(_cruises_stiffly)  # type: ignore[assignment]

    def stages(self, base: Array) -> Stages | None:
        """Those of the compiled arc, where there is one; where slips begin, Python knows more of them.

        So it does of redundant contacts, where it is not clear which forces act, or whether they are redundant at all,
        and of what is wrong where hills have no point nearest to a contact.
        """
        arc, compiled, plain = self.arc, self.arc.compiled, self.arc.mechanism.plain_robot
        if compiled is None or arc.incipient:
            return None
        found = compiled.stages(base, self._directions, self.references.straight)
        on_hills = plain is not None and plain.ground.hills is not None
        return partial(self._stages, found, base) if on_hills or arc.mode.redundant else found

    def _stages(self, compiled: Stages, base: Array, *step: Any) -> None:
        """Whole steps whose stages are Python's from the first one on that the compiled arc does not know."""
        compiled(*step)
        A, C, t, h, y, K, points, first, last = step
        known = np.isfinite(K[first:last]).all(axis=1)
        space = self.arc.world.space
        for s in range(first + int(known.argmin()), last) if not known.all() else ():
            points[s] = y + h * (A[s, :s] @ K[:s])
            size = float(points[s] @ points[s])
            if math.isfinite(size * size):  # so is what is quadratic in it
                K[s] = space.chart_rate(points[s], self.field(t + C[s] * h, space.integrate(base, points[s])))

    @property
    def cruise(self) -> Cruise | None:  # type: ignore[override]
        """That of the compiled arc with its guards, where there is one."""
        return None if self._watch is None else self._cruise

    def _cruise(self, course: Course) -> Passed:
        assert self._watch is not None
        return self._watch.cruise(course, self._directions.copy(), self.references.straight)

    @property
    def _watch(self) -> CompiledWatch | None:
        """The compiled arc with its guards, made once it is known how well these are known; None: there is none."""
        if self._compiled_watch is None and self.guard_rounding is not None:
            self._compiled_watch = (self._kept_watch(),)
        return self._compiled_watch[0] if self._compiled_watch else None

    @property
    def _still_watch(self) -> CompiledWatch | None:
        """The same where the ground stands still: it tells gaps without a time."""
        return self._watch if self.arc.mechanism.autonomous else None

    def _kept_watch(self) -> CompiledWatch | None:
        if self.arc.compiled is None or self.arc.mode.turns:
            return None
        begun = [tuple(direction.tolist()) for direction in self.arc.incipient.values()]
        watched = self._watched.tobytes() if self.clearance < math.inf else None
        key, known = (self._sense, self._jam_window, watched, *begun), self.arc.pattern.watches
        if key not in known:
            if len(known) >= WATCHES:
                known.clear()
            left = self._left_out(self.arc.mechanism.skippable) if self.clearance < math.inf else NOTHING
            plain = plain_guards(self.arc, self.table, left, self._sense, self._jam_window)
            known[key] = None if plain is None else self.arc.compiled.watched(plain)
        return known[key]

    def guards(self, t: float, x: Array) -> Array:
        """Guard values in the order of `guard_names`."""
        if (watch := self._watch) is not None:
            found = watch.guards(t, x, self._directions, self.references.straight)
            if found is not None:
                return found
        table, mechanism, q = self.table, self.arc.mechanism, x[: self.arc.world.nq]
        values = np.empty(len(table.names))
        if table.limits is not None:
            values[table.gaps] = mechanism.constraint_gaps(t, q)[table.limits]
        elif len(table.gaps):
            values[table.gaps] = mechanism.gaps_of(t, q, table.gap_contacts)
        motion = self.motion(t, x) if table.look_at_forces else None
        if motion is not None:
            forces = np.append(motion.forces, 0.0)
            values[table.forces] = forces[table.normals]
            if len(table.cones):
                normal, one, two = forces[table.cone_rows].T
                values[table.cones] = table.cone_friction * normal - np.sqrt(one * one + two * two)
        if table.others:
            rates = self._rates(t, x, motion)
            for k, kind, i in table.others:
                values[k] = motion.margin if kind == "forces" and motion else self._guard(kind, i, t, x, rates)
        return values

    def some_guards(self, t: float, x: Array, guards: Array) -> Array:
        """Some of the guards (k,): only those of forces need these."""
        chosen = [self.table.names[guard] for guard in guards.tolist()]
        kinds, watch = {kind for kind, _ in chosen}, self._watch
        if kinds == {"gap"} and (seen := self._seen_gaps(x, guards)) is not None:
            return np.array([gap for gap, _ in seen])
        if watch is not None or not kinds.isdisjoint(WITH_ACCELERATIONS):
            return self.guards(t, x)[guards]
        world, mechanism, values = self.arc.world, self.arc.mechanism, np.empty(len(chosen))
        gaps = np.array([kind == "gap" for kind, _ in chosen], dtype=bool)
        if gaps.any():
            values[gaps] = self._gaps(t, world.q(x), np.array([i for kind, i in chosen if kind == "gap"], dtype=int))
        slips = not kinds.isdisjoint(OF_SLIPS)
        rates = mechanism.rates(t, world.q(x), world.v(x), self.arc.closed) if slips else None
        for k in np.flatnonzero(~gaps).tolist():
            kind, i = chosen[k]
            values[k] = self._guard(kind, i, t, x, rates)
        return values

    def _gaps(self, t: float, q: Array, contacts: Array) -> Array:
        mechanism = self.arc.mechanism
        limits = contacts - len(mechanism.names)
        if limits.min() >= 0:
            return np.asarray(mechanism.constraint_gaps(t, q)[limits])
        return mechanism.gaps_of(t, q, contacts)

    def _rates(self, t: float, x: Array, motion: Accelerations | None) -> Array | None:
        """Contact velocities, where a guard looks at them."""
        if motion is not None and self.arc.shortcut is None:
            return motion.rates
        return self._terms(t, x).rates if self.arc.slips else None

    def _guard(self, kind: str, i: int, t: float, x: Array, rates: Array | None) -> float:
        """A guard that is neither a gap nor a margin of forces."""
        arc, world = self.arc, self.arc.world
        if kind == "enable":
            return Margin(world, arc.mode, i)(t, x)
        if kind.startswith(SIDE):
            side = int(kind.removeprefix(SIDE))
            return arc.mechanism.region_margin(world.q(x), i, arc.mode.contacts[i].region, side)
        if kind in ("close", "open", "arm"):
            return self._latch_guard(kind, i - len(world.mechanism.dims), t, x)
        if kind == "jam":
            return self._jam_margin(t, x) if self._sense else 1.0
        assert rates is not None
        z, slow = rates[arc.tangent[i]], arc.mode.contacts[i].slow(world.tolerances.slip_speed)
        if kind == "fast":  # smooth where the slip stops, too
            return 0.5 * (LEAVE * slow - float(z @ z) / (LEAVE * slow))
        if kind == "turn":
            return self._beginning(i, t, x)
        if kind == "slow":
            return float(z @ self.references.slip[i]) - slow
        return float(z @ np.array(arc.mode.contacts[i].direction))

    def _latch_guard(self, kind: str, k: int, t: float, x: Array) -> float:
        """What a latch has left until it closes, or opens: by its function, or by its strength."""
        world = self.arc.world
        latch, q, v = world.latches[k], world.q(x), world.v(x)
        guard = latch.opening() if kind == "open" else latch.closing(world.robot)
        left = math.inf
        if guard is not None:
            with UserCall("the function of latch", latch.name, t):
                left = float(guard(t, q.copy(), v.copy())) * (-1.0 if kind == "arm" else 1.0)
        if kind == "open" and latch.strength is not None:
            mechanism, motion = cast("ClosedMechanism", self.arc.mechanism), self.motion(t, x)
            applied = world.driving.given_force(t, x)
            borne = mechanism.loop_forces(t, q, v, motion.acceleration, self.arc.closed, motion.forces, applied)
            left = min(left, latch.strength - float(np.linalg.norm(borne[latch.name][:3])))
        return left

    def guard_motions(self, t: float, x: Array, guards: Array) -> Looks:
        """Gaps and their rates."""
        if (seen := self._seen_gaps(x, guards)) is not None:
            return Looks.of(look for _, look in seen)
        world = self.arc.world
        contacts = np.array([self.table.names[guard][1] for guard in guards.tolist()], dtype=int)
        return self.arc.mechanism.gap_motions(t, world.q(x), world.v(x), contacts)

    def _seen_gaps(self, x: Array, guards: Array) -> list[tuple[float, Look]] | None:
        """Guards that are gaps, and looks at them, by the compiled arc; None: it does not tell."""
        if (watch := self._still_watch) is None:
            return None
        seen = [watch.gap(x, guard) for guard in guards.tolist()]
        return None if None in seen else cast("list[tuple[float, Look]]", seen)

    def validate(self, t: float, x: Array) -> Sequence[Finding]:
        """Notes also that the contact forces of the mode are not unique, and the motion perhaps neither."""
        arc, found = self.arc, super().validate(t, x)
        if not arc.mode.redundant:
            return found
        names = ", ".join(arc.mechanism.all_names[i] for i in arc.closed)
        if arc.slips:
            said = ", and where contacts slip the motion need not be either; the smallest admissible ones act"
        else:
            said = "; the smallest ones act, or those with the largest margin"
        return (*found, Finding(f"the forces of {names} are not unique{said}"))

    def next_time(self, t: float) -> float:
        """Next sampling instant of the controller, or the next end of bounces."""
        return min([self.arc.world.driving.next_time(t), *(limit for limit in self.arc.mode.limits if limit > t)])

    def rebased(self, t: float, x: Array) -> RigidFlow:
        """The flow from (t, x) on: its references are the present slip directions, along which it runs on past a stop.

        Where it starts it also says how well its guards are known.
        """
        place = t, x.tobytes()
        if self.guard_rounding is not None and not self.arc.incipient and (not self._free or self._based == place):
            return self
        flow = self._referred(t, x)
        if flow.clearance == 0.0:
            flow = flow._watching(t, x, self.arc.mechanism.vicinity)
        if flow.guard_rounding is None:
            if ("jam", -1) in flow.guard_names:
                flow._sense, flow._jam_window = flow._ahead_of_jam(t, x)
            flow.guard_rounding, flow.guard_bands = flow._known_to(t, x)
        flow.smooth_for = flow._smooth_for(t, x)
        return flow

    def _smooth_for(self, t: float, x: Array) -> Callable[[], float] | None:
        """`smooth_for` of a flow that begins at (t, x)."""
        turned = self.arc.slips and not self.arc.mechanism.autonomous
        return partial(_smooth_for, self.arc, t, x) if turned else None

    def _referred(self, t: float, x: Array) -> RigidFlow:
        """The flow with references of (t, x)."""
        slip, incipient, goes_on = dict(self.references.slip), self.references.incipient, bool(self._free)
        if self._free:
            rates = self._slips(t, x)
            for i in self._free:
                z, before = rates[self.arc.tangent[i]].tolist(), slip.get(i)
                goes_on &= before is not None and z[0] * before[0] + z[1] * before[1] > 0.0
                slip[i] = unit(z) or before or (1.0, 0.0)
        # What slips on along its reference moves as it did under the one before.
        known = self._known if goes_on and not incipient else None
        references = replace(self.references, slip=slip) if self._free else self.references
        flow = self.changed(references=references, _known=known, _based=(t, x.tobytes()))
        if flow._expansion is not None and flow._expansion_is_off(t, x):
            flow = flow.changed(_expansion=None, is_expanded=False, _known=None)
        if incipient:
            motion = flow.motion(t, x)
            found = replace(flow.references, incipient={**incipient, **motion.found}, forces=motion.forces)
            flow = flow.changed(references=found, _known=None)
        return flow

    def _watching(self, t: float, x: Array, clearance: float) -> RigidFlow:
        """With the gaps of all contacts that are within that, or the usual, distance [m]."""
        clearance = max(clearance, self.arc.mechanism.vicinity)
        return self._joined_by(t, x, self._left_out(self._near(t, x, clearance))).changed(clearance=clearance)

    def _near(self, t: float, x: Array, distance: float) -> Array:
        """Contacts (k,), rising, whose gaps are at most that, and near ones whose gaps are no distances [m]."""
        mechanism, compiled, plain = self.arc.mechanism, self.arc.compiled, self.arc.mechanism.plain_robot
        if compiled is not None and plain is not None and plain.knows_all:
            found = compiled.near(t, x, distance)
            if found is not None:
                return found
        q = self.arc.world.q(x)
        return self._lower_than(distance, t, q, mechanism.near(t, q, distance))

    def _lower_than(self, distance: Array | float, t: float, q: Array, contacts: Array) -> Array:
        """Those of some contacts (k,) whose gaps are at most that, or no distances [m]."""
        low = self.arc.mechanism.gaps_of(t, q, contacts) <= distance
        return contacts[low | np.isin(contacts, self.arc.mechanism.unmeasured)]

    def _meeting(self, path: Path, contacts: Array, ways: Array) -> RigidFlow:
        """With the gaps of those that are no farther from closing than they fall at most."""
        near = self._left_out(contacts)
        ways = ways[np.searchsorted(contacts, near)]
        near = self._lower_than(ways, path.t, self.arc.world.q(path.start), near)
        return self._joined_by(path.t, path.start, near) if len(near) else self

    def _left_out(self, contacts: Array) -> Array:
        """Those of some contacts, rising, that are open and not looked at."""
        skippable = self.arc.mechanism.skippable
        places = np.minimum(np.searchsorted(skippable, contacts), len(skippable) - 1)
        left = contacts[skippable[places] == contacts]
        return left[~np.isin(left, np.concatenate([self._watched, np.array(self.arc.closed, dtype=int)]))]

    def _joined_by(self, t: float, x: Array, contacts: Array) -> RigidFlow:
        """With the gaps of some contacts (k,) that were left out."""
        flow = self.changed(_watched=np.union1d(self._watched, contacts), _compiled_watch=None)
        flow._lay_out(guards_of(self.arc, flow._watched))
        if self.guard_rounding is not None:
            flow.guard_rounding, flow.guard_bands = flow._known_to(t, x)
        return flow

    def towards_singular(self, t: float, x: Array) -> float:
        """No slip in space is followed past its stop, where its direction has none, and the field breaks."""
        longest = math.inf
        for i, speed, growth in self._free_slips(t, x):
            slow = self.arc.mode.contacts[i].slow(self.arc.world.tolerances.slip_speed)
            if growth < 0.0 and speed > slow:
                ahead = speed - slow
                ahead = ahead + 0.5 * slow if ahead <= CLOSE_TO_STOP * slow else APPROACH * ahead
                longest = min(longest, -ahead / growth)
        return longest

    def _free_slips(self, t: float, x: Array) -> Iterator[tuple[int, float, float]]:
        """(contact, speed [m/s], d speed / dt [m/s^2]) of those that slip in a direction of their own."""
        if not self._free:
            return
        rates, change = self._contact_motion(t, x)
        for i in self._free:
            z, along = rates[self.arc.tangent[i]], change[self.arc.tangent[i]]
            speed = float(np.linalg.norm(z))
            yield i, speed, float(z @ along) / speed if speed else 0.0

    def _expansion_is_off(self, t: float, x: Array) -> bool:
        """Whether the expansion misses the motion at (t, x), where a step begins."""
        expansion, world = self._expansion, self.arc.world
        assert expansion is not None
        if not expansion.holds(t):
            return True
        return expansion.is_off(t, world.v(x), self.references, accelerations(self.arc, t, x, self.references))

    def soonest(self, t: float, x: Array, horizon: float) -> float:
        """By the rates and accelerations of the gaps and of the slips whose direction is held.

        Gaps are asked in the order in which they could be closed at the soonest, as the bodies move.
        """
        world, mechanism = self.arc.world, self.arc.mechanism
        q, v = world.q(x), world.v(x)
        asked = self.table.gap_contacts if self.table.limits is None else np.zeros(0, dtype=int)
        gaps = mechanism.gaps_of(t, q, asked)
        close, passing = np.flatnonzero(gaps <= horizon * FASTEST), mechanism.passing
        close = close[[i not in passing for i in asked[close].tolist()]] if len(close) else close
        asked, gaps = asked[close], gaps[close]
        times = np.zeros(len(asked))
        if len(asked) > TOGETHER:
            pace, haste = mechanism.paces(q, v, self.motion(t, x).acceleration, asked)
            known, above = np.isfinite(pace), np.maximum(gaps, 0.0)
            pace, haste, above = pace[known], haste[known], above[known]
            times[known] = 2.0 * above / np.maximum(pace + np.sqrt(pace * pace + 2.0 * haste * above), TINY)
        order = np.argsort(times, kind="stable")
        found = math.inf
        for first in range(0, max(len(order), 1), TOGETHER):
            part = order[first : first + TOGETHER]
            if first and times[part[0]] > min(found, horizon):
                break
            near = dict(sorted(zip(asked[part].tolist(), gaps[part].tolist(), strict=True)))
            found = min(found, self._first_of(t, x, near, horizon, {} if first else self.arc.held))
        return found

    def _first_of(
        self, t: float, x: Array, gaps: Mapping[int, float], horizon: float, held: Mapping[int, tuple[float, ...]]
    ) -> float:
        """Time [s] in which the first of some gaps is closed, or of the slips of held direction stops; or infinity."""
        world, mechanism, open_ = self.arc.world, self.arc.mechanism, list(gaps)
        q, v = world.q(x), world.v(x)
        where = laid_out([(i, mechanism.dims[i]) for i in open_])
        speeds = self._speeds(t, q, v, tuple(open_))
        reach = [horizon * (2.0 * abs(float(speeds[where[i].start])) + horizon * JOLT) for i in open_]
        near = [i for i, within in zip(open_, reach, strict=True) if gaps[i] <= within]
        asked = tuple(sorted({*near, *held}))
        if not asked:
            return math.inf
        terms, where = mechanism.terms(t, q, v, asked), laid_out([(i, mechanism.dims[i]) for i in asked])
        change = terms.rows @ self.motion(t, x).acceleration + terms.bias
        normals = [where[i].start for i in near]
        motions = list(
            zip([gaps[i] for i in near], terms.rates[normals].tolist(), change[normals].tolist(), strict=True)
        )
        for i, direction in held.items():
            s, part = np.array(direction), world.tangents(i, where[i])
            motions.append((float(s @ terms.rates[part]), float(s @ change[part]), 0.0))
        return min((time for motion in motions if (time := time_to_fall(*motion)) > 0.0), default=math.inf)

    def _speeds(self, t: float, q: Array, v: Array, contacts: tuple[int, ...]) -> Array:
        """Velocities (m,) of open contacts; NaN of those so high above hills that they are not known."""
        mechanism = self.arc.mechanism
        if not contacts:
            return np.zeros(0)
        try:
            return mechanism.rates(t, q, v, contacts)
        except SingularError:
            if len(contacts) == 1:
                return np.full(mechanism.dims[contacts[0]], math.nan)
        return np.concatenate([self._speeds(t, q, v, (i,)) for i in contacts])

    def stiff_for(self, t: float, x: Array) -> float:
        """A slip that has just begun turns at the rate mu lam_n G_tt / |z_t|, until it is faster: |z_t| / |z_t|'.

        One that speeds up straight does not: its direction is held, see `fitted`. Where the contacts are redundant, a
        compiled engine takes hundreds of explicit steps in the time of the derivative by which this is looked at.
        """
        if not self._free or (self.arc.mode.redundant and self._watch is not None):
            return 0.0
        begun = BEGUN * self.arc.world.tolerances.slip_speed
        rates = self._slips(t, x)
        slow = {i: z for i in self._free if 0.0 < math.hypot(*(z := rates[self.arc.tangent[i]]).tolist()) < begun}
        if not slow:
            return 0.0
        change = self._contact_motion(t, x)[1]
        along = {i: change[self.arc.tangent[i]] for i in slow}
        turning = [i for i, z in slow.items() if _aside(z, along[i]) > STRAIGHT]
        return min((float(slow[i] @ slow[i]) / max(abs(float(slow[i] @ along[i])), TINY) for i in turning), default=0.0)

    def fitted(self, stiff: bool) -> RigidFlow:
        """Slips that leave their direction by next to nothing run straight, but in arcs that are stiff."""
        straight = 0.0 if stiff else STRAIGHT
        if not self._free or self.references.straight == straight:
            return self
        return self.changed(references=replace(self.references, straight=straight), _known=None)

    def project(self, t: float, x: Array) -> Array:
        """Back onto the gaps and velocities of the closed contacts, where they are off by more than the drift.

        M-orthogonal: dq = M^-1 C^T (C M^-1 C^T)^+ (-g), likewise for the velocity (Hairer and Wanner, ODE II, VII.2).
        """
        arc, world = self.arc, self.arc.world
        x = world.on_loops(x)
        if not arc.closed:
            return x
        if (watch := self._still_watch) is not None:
            found = watch.projected(x, self._directions, self.references.straight)
            if found is not None:
                return found
        tolerance = world.tolerances.drift
        q, v = world.q(x), world.v(x)
        pressing = np.array(world.pressing(arc.closed), dtype=int)
        gaps, rates = arc.mechanism.gaps_of(t, q, pressing), arc.mechanism.rates(t, q, v, arc.closed)
        off = np.abs(gaps).max() > tolerance
        if not off and np.abs(rates[arc.constrained]).max() <= tolerance:
            return x
        terms = self._terms(t, x)
        if off:
            normals = terms.rows[[arc.normal[i] for i in pressing]]
            q = arc.mechanism.space.integrate(q, linear_algebra.smallest_change(terms.mass, normals, -gaps)[0])
            terms = arc.terms(t, q, v)
        v = (
            v
            + linear_algebra.smallest_change(terms.mass, terms.rows[arc.constrained], -terms.rates[arc.constrained])[0]
        )
        return world.moved(x, q, v)

    def singular(self, t: float, x: Array) -> SimulationError | None:
        """Dynamic jam (Painleve): sliding contacts whose friction makes their forces infinite or undetermined.

        C M^-1 D^T, which gives the forces, becomes singular where C M^-1 C^T, the same without friction, is not: the
        forces grow without bound, or the free normal acceleration vanishes with it and no step leads past.
        Source: Genot and Brogliato, New results on Painleve paradoxes, 1999.
        """
        from .rigid_sensitivity import mode_equations

        arc, world = self.arc, self.arc.world
        if not arc.slips or arc.mode.redundant:
            return None
        terms = self._terms(t, x)
        delassus = (terms.rows @ linear_algebra.solve_mass(terms.mass, terms.rows.T))[arc.constrained]
        combine = mode_equations(arc, terms, self.motion(t, x), self.references).combine
        rubbing, smooth = delassus @ combine.T, delassus[:, arc.constrained]
        least, usual = (float(np.linalg.svd(matrix, compute_uv=False)[-1]) for matrix in (rubbing, smooth))
        if least > JAM * usual:
            return None
        names = ", ".join(arc.mechanism.all_names[i] for i, _ in arc.slips)
        applied = world.driving.applied_at(t, x)
        force = terms.force if applied is None else terms.force + applied
        slips = {i: terms.rates[arc.tangent[i]] for i in arc.closed}
        problem = contact_problem(world, terms, force, arc.closed, sliding(arc, terms, self.references), slips)
        remedy = "lower the friction or give the contact compliance"
        if not getattr(world.law, "jams", False):
            remedy = f"take law.painleve = 'impact', {remedy}"
        return NoAdmissibleModeError(
            f"friction makes the forces of the sliding contacts {names} singular at t = {t:.12g} s (dynamic jam,"
            f" Painleve); {remedy}",
            contact_problem=problem,
            t=t,
        )

    def _beginning(self, i: int, t: float, x: Array) -> float:
        """How much more a contact that begins to slip accelerates than TURNING times what its friction would cause.

        Relative to both of them, so that it stays bounded where the contact lifts off and has no friction left. Where
        it falls through zero, no slip goes on in the direction of its acceleration: it comes to rest again.
        """
        arc, terms, motion = self.arc, self._terms(t, x), self.motion(t, x)
        part, direction = arc.tangent[i], motion.found.get(i, self.references.incipient[i])
        rows = terms.rows[part]
        along = float(direction @ (rows @ motion.acceleration + terms.bias[part]))
        mobility = float(np.sum(rows * linear_algebra.solve_mass(terms.mass, rows.T).T)) / len(rows)
        friction = arc.friction[i] * abs(float(motion.forces[arc.normal[i]])) * mobility
        return (along - TURNING * friction) / max(math.hypot(along, friction), NO_FORCE * mobility)

    def _ahead_of_jam(self, t: float, x: Array) -> tuple[float, float]:
        """Sense of the determinant where the arc begins, zero if it begins at a jam; and the window of its guard [s].

        An arc that begins within the usual window of a jam is followed closer to it.
        """
        regularity, usual = self._regularity(t, x), self.arc.world.tolerances.event_time
        left = abs(regularity) - JAMMED
        if left <= AT_JAM * JAMMED:
            return 0.0, usual
        turning = self._turning(t, x) if left <= NEAR_JAM else 0.0
        window = usual if left - usual * turning > AT_JAM * JAMMED else CLOSER * left / turning
        return float(np.sign(regularity)), window

    def _jam_margin(self, t: float, x: Array) -> float:
        """What is left until contacts jam; slow slips may turn into that in less time than is resolved."""
        left = self._sense * self._regularity(t, x) - JAMMED
        return left if left > NEAR_JAM else left - self._jam_window * self._turning(t, x)

    def _turning(self, t: float, x: Array) -> float:
        """Rate of the fastest turn of a slip that is free to turn [rad/s]; zero where there is none."""
        if not self._free:
            return 0.0
        rates, change = self._contact_motion(t, x)
        parts = [self.arc.tangent[i] for i in self._free]
        return max(_size(change[part]) / max(_size(rates[part]), NO_SPEED) for part in parts)

    def _regularity(self, t: float, x: Array) -> float:
        """What friction leaves of the determinant of the closed contacts; one where it cannot be known."""
        regularity = self.motion(t, x).regularity
        return 1.0 if regularity is None else regularity()

    def _known_to(self, t: float, x: Array) -> tuple[Array, Array]:
        """Rounding and band of each guard, where the flow begins."""
        world, table, largest, others, share = self.arc.world, self.table, 0.0, 0.0, 1.0
        if table.look_at_forces:
            motion = self.motion(t, x)
            largest = float(np.abs(motion.forces).max(initial=0.0))
            others = largest_other(world, t, x, self._terms(t, x)) if motion.others is None else motion.others
            share = motion.known if self.arc.mode.redundant else 1.0
        rounding, band = _accuracy(self, x, largest, others, share)
        if self.arc.incipient:
            # What begins to slip was set to rest. In a singular configuration no impulse removes all of a velocity:
            # what is left of it has not jumped, and the slip accelerates away from it.
            starting = [k for k in table.places.get("stop", ()) if table.names[k][1] in self.arc.incipient]
            band[starting] = world.tolerances.slip_speed
        if self.arc.mode.turns:
            states = self.arc.mode.contacts
            slips = [k for kind in ("slow", "fast") for k in table.places.get(kind, ())]
            own = [OF_SLIP_SPEED * states[table.names[k][1]].slow(world.tolerances.slip_speed) for k in slips]
            rounding[slips] = band[slips] = own
        return rounding, band

    # --- derivatives ------------------------------------------------------------------------------------------

    def jacobian(self, t: float, x: Array) -> Array | None:
        """D_x f (dim, dim), analytic where users' functions are; None where forces have kinks."""
        found = self._sensitivity(t, x)
        if found is None:
            return None
        world, nv = self.arc.world, self.arc.world.nv
        jacobian = np.zeros((world.tangent_size, world.tangent_size))
        jacobian[range(nv), range(nv, 2 * nv)] = 1.0
        jacobian[nv : 2 * nv] = found.acceleration_x
        if world.memory:
            jacobian[2 * nv : 2 * nv + len(found.memory_x)] = found.memory_x
        return jacobian

    def propagated(
        self, path: ChartPath, t0: float, t1: float, variations: Array, accuracy: tuple[float, float]
    ) -> Array | None:
        """By the compiled arc, where there is one that knows it; with turns of directions behind those of the state."""
        compiled, size = self.arc.compiled, self.arc.world.tangent_size
        if compiled is None:
            return None
        slips = self.slip_directions, self.references.straight
        if len(variations) == size:
            return compiled.propagated(path, t0, t1, variations, accuracy, *slips)
        turned, angles = variations[size:], variations[size:] / held_speeds(self.arc.world, self.arc.mode)[:, None]
        found = compiled.propagated(path, t0, t1, np.vstack([variations[:size], angles]), accuracy, *slips)
        return None if found is None else np.vstack([found[:size], turned])

    def guard_jacobian(self, t: float, x: Array, names: Sequence[Hashable]) -> Array | None:
        """D_x g (len(names), dim); None where one of them is known by its value only."""
        chosen = [self.table.names[k] for k in self.places(names)]
        if any(kind in ("enable", "jam", "turn", "close", "open", "arm") for kind, _ in chosen):
            return None
        if any(kind == "forces" for kind, _ in chosen):
            row = self._margin_row(t, x) if len(chosen) == 1 else None
            return None if row is None else row[None]
        found = None
        if any(kind != "gap" and not kind.startswith(SIDE) for kind, _ in chosen):
            found = self._sensitivity(t, x)
            if found is None:
                return None
        rows = [self._guard_row(kind, i, t, x, found) for kind, i in chosen]
        return np.array(rows).reshape(len(rows), self.arc.world.tangent_size)

    def _margin_row(self, t: float, x: Array) -> Array | None:
        """Derivative (dim,) of the margin of redundant forces; None: it is known by its value only."""
        from .redundant_margin import LargestMargin

        motion = self.motion(t, x)
        found = LargestMargin.of(self.arc, t, x, motion)
        return None if found is None else found.by_state(self.arc, t, x, self.references, motion)

    def _guard_row(self, kind: str, i: int, t: float, x: Array, found: Sensitivity | None) -> Array:
        """Derivative (dim,) of a guard."""
        arc, world = self.arc, self.arc.world
        row = np.zeros(world.tangent_size)
        if kind == "gap":
            row[: world.nv] = arc.mechanism.gap_gradient(t, world.q(x), world.v(x), i)
            return row
        if kind.startswith(SIDE):
            region, side = arc.mode.contacts[i].region, int(kind.removeprefix(SIDE))
            row[: world.nv] = arc.mechanism.region_gradient(world.q(x), i, region, side)
            return row
        assert found is not None
        if kind in ("force", "cone"):
            return margin_row(self, kind, i, t, x, found.forces_x)
        rates = found.rates_x[arc.tangent[i]]
        if kind == "fast":
            slow = arc.mode.contacts[i].slow(world.tolerances.slip_speed)
            return -self._terms(t, x).rates[arc.tangent[i]] @ rates / (LEAVE * slow)
        direction = self.references.slip[i] if kind == "slow" else arc.mode.contacts[i].direction
        return np.array(direction) @ rates

    def input_matrix(self, t: float, x: Array) -> Array:
        """D_u f (dim, nu) for generalised forces u on the actuated joints."""
        from .rigid_sensitivity import mode_equations

        arc, world, nv = self.arc, self.arc.world, self.arc.world.nv
        terms = self._terms(t, x)
        select = arc.mechanism.admissible_force(world.q(x), np.eye(nv)[:, world.actuated])
        equations = mode_equations(arc, terms, self.motion(t, x), self.references)
        acceleration, _ = equations.solve(select, np.zeros((arc.size, select.shape[1])))
        matrix = np.zeros((world.tangent_size, select.shape[1]))
        matrix[nv : 2 * nv] = acceleration
        return matrix

    def _sensitivity(self, t: float, x: Array) -> Sensitivity | None:
        """Derivatives at (t, x), kept with the accelerations there."""
        from .rigid_sensitivity import sensitivity

        motion = self.motion(t, x)
        if motion.derivatives is None:
            motion.derivatives = (sensitivity(self.arc, t, x, self.references, motion),)
        return motion.derivatives[0]


def margin_row(flow: RigidFlow, kind: str, i: int, t: float, x: Array, forces_x: Array) -> Array:
    """Derivative (k,) of a normal force, or of a margin of the cone, by that of the forces (m, k)."""
    normal, mu = forces_x[flow.arc.normal[i]], flow.arc.world.static_friction[i]
    if kind == "force":
        return normal
    tangential = flow.motion(t, x).forces[flow.arc.tangent[i]]
    if not np.any(tangential):  # at the apex of the cone: it closes with the normal force
        return mu * normal
    return mu * normal - np.array(unit(tangential)) @ forces_x[flow.arc.tangent[i]]


def _watches_all(arc: RigidArc) -> bool:
    """Whether a compiled arc watches all of many contacts, none of which Python has to look at."""
    known = arc.mechanism.plain_robot
    if known is None or arc.compiled is None or len(known.contacts) > WATCHED:
        return False
    return all(contact is not None and contact.edges is None for contact in known.contacts)


def flow_of(arc: RigidArc) -> RigidFlow:
    """The flow of an arc; what it has in common with those of its pattern is laid out once."""
    known: RigidFlow | None = arc.pattern.flow
    if known is None:
        known = arc.pattern.flow = RigidFlow(arc)
    return known.changed(arc=arc, references=References(incipient=arc.incipient))


def _smooth_for(arc: RigidArc, t: float, x: Array) -> float:
    """Time [s] in which moving ground turns a slow slip, and with it the friction."""
    from .variables import Time

    q, v = arc.world.q(x), arc.world.v(x)
    rates, change = arc.terms(t, q, v).rates, Time(arc.world, t).changes(q, v, arc.closed).rates
    slips = [(_size(rates[part]), _size(change[part])) for part in (arc.tangent[i] for i, _ in arc.slips)]
    slow = 0.5 * arc.world.tolerances.slip_speed
    return min([speed / by for speed, by in slips if speed > slow and by > 0.0], default=math.inf)


def _size(vector: Array) -> float:
    return float(np.linalg.norm(vector))


def _aside(slip: Array, acceleration: Array) -> float:
    """Part of a slip velocity (2,) across its acceleration [m/s]."""
    across = slip[0] * acceleration[1] - slip[1] * acceleration[0]
    return abs(float(across)) / max(_size(acceleration), TINY)
