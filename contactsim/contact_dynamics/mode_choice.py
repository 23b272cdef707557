"""The choice of modes at rest: which of the contacts that stay in touch open, stick or slip next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..common.arrays import Array
from ..common.lazy import Late, NamedTuple, dataclass
from ..common.user_calls import UserCall
from ..contact.laws import RigidLaw
from ..contact.modes import IDLE, OPEN, ContactState, Mode, Phase, SystemMode, unit
from ..contact.zero import CLEAR, rounding
from ..errors import CallbackError, NoAdmissibleModeError
from .contact_rows import (
    NOT_UNIQUE,
    ContactEvent,
    ContactTerms,
    as_before,
    closed_terms,
    contact_problem,
    without_margin,
)
from .rigid_arc import motion_in, of_contacts
from .rigid_guards import OF_FORCES
from .world import World
from .zero import AT_EDGE, LESS, MOST_OFF

if TYPE_CHECKING:
    from ..contact import problem as contact_problems
    from ..contact import stick_slip_choice
    from ..contact.problem import ContactProblem, ContactSolution
    from ..contact.solvers import pivot
else:  # a compiled engine chooses modes by itself
    contact_problems, pivot = Late("contactsim.contact.problem"), Late("contactsim.contact.solvers.pivot")
    stick_slip_choice = Late("contactsim.contact.stick_slip_choice")


class Choice(NamedTuple):
    """The mode that was chosen, {law: violation}, and notes."""

    mode: SystemMode
    residuals: Mapping[str, float]
    notes: tuple[str, ...]


class _Before(NamedTuple):
    """The forces of contacts in the mode before, {contact: (rows,)}; what counts as none, and what clearly does [N]."""

    forces: Mapping[int, Array]
    zero: float
    clear: float

    def is_of_lift_off(self, contact: int, jumped: bool) -> bool:
        """Whether the force of a contact whose guard of forces fired is what its lift-off left.

        It may push by any amount: where a user's force jumps, events are told just before. If it clearly pulls no zero
        was met: something else turned it round, and its mode had ended before. What clearly pushes where velocities
        have `jumped` is another force than the one that was zero.
        """
        if contact not in self.forces:
            return False
        force = float(self.forces[contact][0])
        return force >= -self.clear and not (jumped and force > self.clear)


@dataclass(frozen=True)
class ModeChoice:
    """The choice of modes by the law of one world."""

    _world: World
    _law: RigidLaw

    def among(
        self,
        event: ContactEvent,
        x: Array,
        touch: ContactTerms,
        staying: tuple[int, ...],
        at_rest: set[int],
        jumped: bool,
    ) -> Choice:
        """Modes of the contacts in `staying`, whose normal velocity is zero, by the law of accelerations.

        Args:
            event: what happens.
            x: the state, with the velocities behind the impact, if there is one.
            touch: equations of motion there with the rows of all touching contacts.
            staying: contacts that do not leave.
            at_rest: those of them that come to rest.
            jumped: whether there is an impact.
        """
        t, mode, kinds, world = event.t, event.mode, event.kinds, self._world
        states = {i: OPEN if mode.contacts[i].enabled else IDLE for i in mode.closed if i not in event.apart}
        if not staying:
            return Choice(mode.changed(states, redundant=event.loosely_apart, latched=world.latched), {}, ())
        terms, where = closed_terms(world, t, x, staying, mode) if mode.regions else touch.of(staying)
        applied = world.driving.applied_at(t, x)
        force = terms.force if applied is None else terms.force + applied
        slips = {i: terms.rates[world.tangents(i, where[i])] for i in staying}
        sliding = tuple([self._slip_direction(i, mode, slips[i], at_rest, jumped) for i in staying])
        problem = contact_problem(world, terms, force, staying, sliding, slips)
        before = _Before({}, 0.0, 0.0)
        if any(kind in OF_FORCES for kind in kinds.values()):
            before = self._before(t, x, mode, terms.force, applied)
            kinds = self._by_margins(mode, kinds, before)
        guess, directions = self._guess(mode, staying, kinds, sliding, before.forces)
        asked = replace(problem, guess=guess, directions=directions)
        if "force" in kinds.values():
            asked = replace(asked, slack=self._slack(staying, mode, kinds, asked, before, jumped))
        try:
            solution = self._selected(asked, t)
            if "cone" in kinds.values():
                leaving = [k for k, i in enumerate(staying) if kinds.get(i) == "cone"]
                solution = self._leading_on(asked, solution, leaving)
        except Exception:
            with UserCall("the contact law", type(self._law).__name__, t):
                raise
        for k, i in enumerate(staying):
            state = self._contact_state(
                i, solution.modes[k], sliding[k], solution.directions[k], slips[i], mode.contacts[i]
            )
            states[i] = state if state.mode is Mode.OPEN else as_before(world, i, x, state, mode)
        residuals = {f"mode {law}": value for law, value in solution.residuals.items()}
        redundant = not solution.unique or event.loosely_apart
        after = mode.changed(states, redundant=redundant, latched=world.latched)
        told = event.slowest is None and not (solution.unique and all(slip is None for slip in sliding))
        return Choice(after, residuals, self._notes(problem, solution, staying) if told else ())

    def _selected(self, asked: ContactProblem, t: float) -> ContactSolution:
        """What the law chooses, where it is a choice."""
        solution = self._law.select(asked)
        if isinstance(solution, contact_problems.ContactSolution):
            return solution
        raise CallbackError(
            f"the contact law {type(self._law).__name__!r} returns {type(solution).__name__} from select() at"
            f" t = {t:.6g} s; return a ContactSolution, such as solve() of contactsim.contact.stick_slip_choice makes",
            t=t,
        )

    def _notes(self, problem: ContactProblem, solution: ContactSolution, staying: tuple[int, ...]) -> tuple[str, ...]:
        """Sentences on forces that are not unique, and on a choice between two motions."""
        notes: tuple[str, ...] = ()
        if not solution.unique:
            notes = (NOT_UNIQUE,)
        if any(slip is not None for slip in problem.sliding):
            from ..contact.painleve import indeterminate, sentence

            if paradoxes := indeterminate(problem, solution.modes, solution.directions):
                names = tuple(self._world.mechanism.all_names[i] for i in staying)
                notes += (sentence(paradoxes, names, dict(enumerate(problem.friction.tolist()))),)
        return notes

    def _leading_on(self, problem: ContactProblem, solution: ContactSolution, leaving: list[int]) -> ContactSolution:
        """The solution, or another where its contacts that are `leaving` their cones would not begin to slip.

        At the edge of its cone a contact slips without acceleration, or sticks within what its event is known to. That
        leads on where it slips forward as soon as there is a little less friction; where it would slip back, or sticks,
        only a solution remains that slips at once. Where contacts stuck redundantly, the forces with the largest margin
        point elsewhere than those under which one can slip; then it slips at once, as it would with less friction.
        """
        creeping = [k for k in stick_slip_choice.slips_without_motion(solution) if k in leaving]
        stuck = [k for k in leaving if solution.modes[k] is Mode.STICK and _needed(solution, k) > AT_EDGE]
        if not creeping and not stuck:
            return solution
        share = np.ones(len(problem.friction))
        share[creeping] = LESS
        share[stuck] = [LESS * _needed(solution, k) for k in stuck]
        less = replace(problem, friction=share * problem.friction, static_friction=share * problem.static_friction)
        ahead = pivot.solve_modes(less, solution.modes, solution.directions, quick=True)
        if not pivot.violations(ahead):
            at_once = pivot.solve_modes(problem, solution.modes, ahead.directions, quick=True)
            still = set(stick_slip_choice.slips_without_motion(at_once)) & set(creeping)
            leads = creeping and not pivot.violations(at_once) and not still
            return at_once if leads else solution
        try:
            other = self._law.select(less)
        except NoAdmissibleModeError:
            return solution
        return other if stuck else self._law.select(replace(problem, guess=other.modes, directions=other.directions))

    def _slip_direction(self, i: int, mode: SystemMode, z: Array, at_rest: set[int], jumped: bool) -> Array | None:
        """Direction in which a contact slides already; None where its slip velocity is zero."""
        if not self._world.tangent_rows[i] or i in at_rest:
            return None
        state = mode.contacts[i]
        if not jumped and (state.mode is Mode.STICK or state.phase is Phase.INCIPIENT):
            return None
        if not jumped and state.phase is Phase.DIRECTED:
            return np.array(state.direction)
        return np.array(unit(z)) if np.linalg.norm(z) > self._world.tolerances.speed else None

    def _before(self, t: float, x: Array, mode: SystemMode, free: Array, applied: Array | None) -> _Before:
        """Contact forces in the mode before, told beside the largest of them and of other forces.

        What counts as none is told beside the sum (nv,) of the `free` forces and those `applied`. Where that vanishes,
        as of a mass pulled up by as much as it weighs, what clearly pulls is still told beside each of them.
        """
        arc, motion = motion_in(self._world, t, x, mode)
        largest = float(np.abs(motion.forces).max(initial=0.0))
        parts = [free] if applied is None else [free + applied, free, applied]
        others = [float(np.abs(part).max(initial=0.0)) for part in parts]
        zero = self._world.force_rounding(largest, others[0], motion.known)
        return _Before(of_contacts(arc, motion.forces), zero, max(zero, CLEAR * max(largest, *others)))

    def _slack(
        self,
        staying: tuple[int, ...],
        mode: SystemMode,
        kinds: Mapping[int, str],
        problem: ContactProblem,
        before: _Before,
        jumped: bool,
    ) -> tuple[float, ...]:
        """Acceleration that the force left at a lift-off would cause, at least that of a force that is rounding.

        An event is as exact as its time is.
        """
        closed = tuple(Mode.STICK if mode.contacts[i].mode is Mode.STICK else Mode.SLIP for i in staying)
        staying = self._world.pressing(staying)
        fired = [kinds.get(i) == "force" and before.is_of_lift_off(i, jumped) for i in staying]
        return tuple(
            2.0 * max(abs(float(before.forces[i][0])), before.zero) * _mobility(problem, closed, k) if off else 0.0
            for k, (i, off) in enumerate(zip(staying, fired, strict=True))
        )

    def _by_margins(self, mode: SystemMode, kinds: Mapping[int, str], before: _Before) -> dict[int, str]:
        """The kinds with those of contacts whose margins are used up where forces are not unique.

        A contact that is at the edge of its cone because it has no force that counts any more counts as "force".
        """
        forces, zero = before.forces, before.zero
        named = without_margin(self._world, mode, forces, zero) if "forces" in kinds.values() else {}
        kinds = named | dict(kinds)
        if "cone" in kinds.values():
            kinds = {
                i: "force" if kind == "cone" and i < self._world.count and forces[i][0] <= zero else kind
                for i, kind in kinds.items()
            }
        return kinds

    def _guess(
        self,
        mode: SystemMode,
        staying: tuple[int, ...],
        kinds: Mapping[int, str],
        sliding: tuple[Array | None, ...],
        before: Mapping[int, Array],
    ) -> tuple[tuple[Mode, ...], tuple[Array | None, ...]]:
        """The present modes, with the contacts whose guards fired moved on; contacts that touch anew, to close."""
        modes, directions = [], []
        for i, slip in zip(staying, sliding, strict=True):
            state, kind = mode.contacts[i], kinds.get(i, "")
            touching = Mode.STICK if slip is None else Mode.SLIP
            direction = np.array(state.direction) if state.phase is Phase.INCIPIENT else None
            guess = {"force": Mode.OPEN, "cone": Mode.SLIP, "stop": Mode.STICK}.get(kind, touching)
            if kind == "cone":
                held = before[i][self._world.heads[i] :]  # none of it just before a force that jumps
                direction = -np.array(unit(held)) if held.any() else None
            elif kind not in ("force", "stop") and state.phase is Phase.INCIPIENT:
                guess = Mode.SLIP
            modes.append(guess)
            directions.append(direction)
        return tuple(modes), tuple(directions)

    def _contact_state(
        self, i: int, mode: Mode, sliding: Array | None, direction: Array | None, z: Array, before: ContactState
    ) -> ContactState:
        enabled = before.enabled
        if mode is Mode.OPEN:
            return ContactState(enabled=enabled)
        if len(self._world.mechanism.names) <= i < self._world.count:
            return ContactState(Mode.CLOSED)
        if not self._world.tangent_rows[i]:
            return ContactState(Mode.SLIP, enabled=enabled)
        if mode is Mode.STICK:
            return ContactState(Mode.STICK, enabled=enabled)
        planar = self._world.widths[i] == 1
        if sliding is None:
            assert direction is not None
            phase = Phase.DIRECTED if planar else Phase.INCIPIENT
            return ContactState(Mode.SLIP, phase, tuple(map(float, direction)), enabled)
        own = before.held_below
        if (
            planar
            or np.linalg.norm(z) < before.slow(self._world.tolerances.slip_speed)
            or before.phase is Phase.DIRECTED
        ):
            return ContactState(Mode.SLIP, Phase.DIRECTED, tuple(map(float, sliding)), enabled, held_below=own)
        return ContactState(Mode.SLIP, Phase.FREE, (), enabled, held_below=own)


def _needed(solution: ContactSolution, contact: int) -> float:
    """Share of its friction with which a contact at the edge of its cone clearly would not stick."""
    n, t = solution.problem.rows[contact]
    most = float(solution.problem.static_friction[contact] * solution.forces[n])
    force = float(np.linalg.norm(solution.forces[t])) - MOST_OFF * rounding(solution.forces)
    return min(max(force, 0.0) / most, 1.0) if most > 0.0 else 1.0


def _mobility(problem: ContactProblem, modes: tuple[Mode, ...], contact: int) -> float:
    """Normal acceleration of a contact by a unit of its normal force: alone, or with the others in `modes` if more.

    Where friction nearly jams those, it is far more. It is 1 / (A^-1)_nn, with the matrix A of the forces in `modes`.
    """
    n = problem.normal(contact)
    alone, push = float(problem.delassus[n, n]), problem.speed * np.eye(len(problem.free))[n]
    pushed = replace(problem, free=problem.free + push)
    answers = [pivot.solve_modes(asked, modes, problem.directions, quick=True).forces[n] for asked in (problem, pushed)]
    answer = abs(float(answers[1] - answers[0]))
    return max(alone, float(push[n]) / answer) if answer > 0.0 else alone
