"""First derivatives of the accelerations and forces of a rigid mode."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from ..common.arrays import Array
from ..common.lazy import dataclass
from ..contact.modes import Phase
from ..contact.redundant_forces import edges
from ..hybrid.differences import derivative
from ..multibody.mechanism import Differentiated, TermDerivatives, Terms
from .mode_sensitivity import Loose, ModeEquations, Turn, across, loose_forces, turned
from .rigid_arc import Accelerations, References, RigidArc, combine_with, frictions, slip_direction
from .zero import OF_TIME


@dataclass(frozen=True)
class Sensitivity:
    """Derivatives at one state in one mode, along the tangent directions of the state.

    Attributes:
        acceleration_x: of a (nv, dim).
        forces_x: of the contact forces lam (m, dim).
        rates_x: of the contact velocities z (m, dim).
        memory_x: of the rate of the controller's memory (own, dim).
    """

    acceleration_x: Array
    forces_x: Array
    rates_x: Array
    memory_x: Array


class CompiledTerms(Differentiated):
    """Derivatives of an arc's equations of motion: by its compiled engine, where there is one that has them.

    Args:
        arc: whose closed contacts all rows are of.
    """

    def __init__(self, arc: RigidArc) -> None:
        self._mechanism, self._compiled = arc.mechanism, arc.compiled
        self.nv, self.space, self._none = arc.world.nv, arc.mechanism.space, np.zeros(arc.size)

    def terms(self, t: float, q: Array, v: Array, contacts: tuple[int, ...]) -> Terms:
        """Those of the mechanism."""
        return self._mechanism.terms(t, q, v, contacts)

    def term_derivatives(
        self, t: float, q: Array, v: Array, a: Array, contacts: tuple[int, ...], forces: Array
    ) -> TermDerivatives:
        """By the engine."""
        found = self._told(q, v, a, forces)
        return self._mechanism.term_derivatives(t, q, v, a, contacts, forces) if found is None else found

    def impulse_derivatives(self, t: float, q: Array, w: Array, contacts: tuple[int, ...], impulses: Array) -> Array:
        """What M w - J^T Lam adds to the equations of motion at rest."""
        still = np.zeros(self.nv)
        found, others = self._told(q, still, w, impulses), self._told(q, still, still, self._none)
        if found is None or others is None:
            return self._mechanism.impulse_derivatives(t, q, w, contacts, impulses)
        return found.residual_q - others.residual_q

    def rate_derivatives(self, t: float, q: Array, v: Array, contacts: tuple[int, ...]) -> Array:
        """By the engine; rates depend neither on accelerations nor on forces."""
        found = None if self._compiled is None else self._compiled.rate_derivatives(q, v)
        return self._mechanism.rate_derivatives(t, q, v, contacts) if found is None else found[:, : self.nv]

    def rates_by_state(self, t: float, q: Array, v: Array, contacts: tuple[int, ...]) -> Array:
        """Derivatives (m, 2 nv) of the rates by (dq, dv)."""
        found = None if self._compiled is None else self._compiled.rate_derivatives(q, v)
        if found is not None:
            return found
        rows = self._mechanism.terms(t, q, v, contacts).rows
        return np.hstack([self._mechanism.rate_derivatives(t, q, v, contacts), rows])

    def _told(self, q: Array, v: Array, a: Array, forces: Array) -> TermDerivatives | None:
        return None if self._compiled is None else self._compiled.term_derivatives(q, v, a, forces)


def sensitivity(arc: RigidArc, t: float, x: Array, references: References, motion: Accelerations) -> Sensitivity | None:
    """Derivatives of accelerations, forces and contact velocities by the state; None where forces have kinks.

    Differentiates M a = f + J^T lam and the rows of the mode: see `mode_sensitivity`.
    """
    world = arc.world
    slips = arc.directions(references), references.straight
    found = None if arc.compiled is None else arc.compiled.driven_derivatives(t, x, *slips)
    if found is not None:
        return Sensitivity(*found, np.zeros((0, world.tangent_size)))
    if arc.compiled is not None:
        q, v, applied = world.q(x), world.v(x), world.driving.applied_jacobian(t, x)
        found = arc.compiled.derivatives(q, v, world.driving.applied_at(t, x), applied.force_x, *slips)
        if found is not None:
            return Sensitivity(*found, applied.memory_x)
    return sensitivity_under(arc, t, x, references, motion)


def sensitivity_under(
    arc: RigidArc, t: float, x: Array, references: References, motion: Accelerations
) -> Sensitivity | None:
    """The same under the forces of `motion`, whichever they are of those that move the mode alike."""
    world, nv = arc.world, arc.world.nv
    q, v = world.q(x), world.v(x)
    applied, terms = world.driving.applied_jacobian(t, x), arc.terms(t, q, v)
    forces, acceleration = motion.forces, motion.acceleration
    of_terms = CompiledTerms(arc).term_derivatives(t, q, v, acceleration, arc.closed, forces)
    force = applied.force_x
    force[:, :nv] -= of_terms.residual_q
    force[:, nv : 2 * nv] -= of_terms.residual_v
    change, rates = (np.zeros((arc.size, world.tangent_size)) for _ in range(2))
    change[:, :nv], change[:, nv : 2 * nv] = of_terms.motion_q, of_terms.motion_v
    rates[:, :nv], rates[:, nv : 2 * nv] = of_terms.rates_q, terms.rows
    turns, friction = turning(arc, terms, rates, references), frictions(arc, terms.rates)
    direct = np.zeros_like(rates)  # friction turns with the slip velocity, whatever the normal forces do
    for i, turn in turns.items():
        direct[arc.tangent[i]] = -friction[i] * forces[arc.normal[i]] * turn
    for i in arc.curved:
        part, slip = arc.tangent[i], terms.rates[arc.tangent[i]]
        direction = np.array(_direction(arc, i, terms.rates.tolist(), motion, references))
        falling = world.friction_slope(i, slip) @ rates[part]
        direct[part] = direct[part] - forces[arc.normal[i]] * np.outer(direction, falling)
    force += terms.rows.T @ direct
    equations = mode_equations(arc, terms, motion, references)
    loose = None
    if arc.mode.redundant and arc.slips:
        loose = None if arc.curved else _loose(arc, t, q, equations, forces, turns)
        if loose is None:
            return None
    acceleration_x, forces_x = equations.solve(force, change, loose)
    return Sensitivity(acceleration_x, forces_x + direct, rates, applied.memory_x)


def knows(arc: RigidArc) -> bool:
    """Whether forces follow from what they depend on besides the state, by the linear equations of the mode.

    Not where they have kinks, friction depends on the speed, or loops are closed.
    """
    unique = not (arc.mode.redundant and arc.slips)
    return unique and not (arc.curved or arc.world.loops or arc.world.latched)


def forces_by_time(arc: RigidArc, t: float, x: Array, references: References, motion: Accelerations) -> Array | None:
    """D_t lam (m,) of the contact forces at a state that is held, as what is applied, and the mechanism's own
    force, change with the time.

    None: they are not known, as where the ground moves.
    """
    world, mechanism = arc.world, arc.mechanism
    if not mechanism.autonomous or not knows(arc):
        return None
    q, v, applied = world.q(x), world.v(x), world.driving.applied_at(t, x)
    force = np.zeros((world.nv, 2 * world.nv + 1))  # by the state, of which it is not asked here, and by time
    if applied is not None:
        force[:, -1] += derivative(lambda h: world.driving.applied_at(t + h, x), OF_TIME)
    if mechanism.timed:
        force[:, -1] += derivative(lambda h: mechanism.terms(t + h, q, v, ()).force, OF_TIME)
    if not force[:, -1].any():
        return np.zeros(arc.size)
    if arc.compiled is not None and applied is not None:
        found = arc.compiled.derivatives(q, v, applied, force, arc.directions(references), references.straight)
        if found is not None:
            return found[1][:, -1]
    equations = mode_equations(arc, arc.terms(t, q, v), motion, references)
    return equations.solve(force[:, -1:], np.zeros((arc.size, 1)))[1][:, 0]


def mode_equations(arc: RigidArc, terms: Terms, motion: Accelerations, references: References) -> ModeEquations:
    """The linear equations of the mode at a state."""
    rates, turns = terms.rates.tolist(), []
    directions = [_direction(arc, i, rates, motion, references) for i, _ in arc.slips]
    for (i, column), direction in zip(arc.slips, directions, strict=True):
        if i in arc.incipient:
            turns.append(_turn(arc, i, column, np.array(direction), terms, motion))
    combine = combine_with(arc, directions, frictions(arc, terms.rates))
    return ModeEquations(terms.mass, terms.rows, arc.constrained, combine, tuple(turns), arc.mode.redundant)


def _direction(
    arc: RigidArc, i: int, rates: list[float], motion: Accelerations, references: References
) -> tuple[float, ...]:
    """Unit slip direction of a contact that slips, or begins to."""
    return tuple(motion.found[i].tolist()) if i in arc.incipient else slip_direction(arc, i, rates, references)


def _turn(arc: RigidArc, i: int, column: int, direction: Array, terms: Terms, motion: Accelerations) -> Turn:
    part = arc.tangent[i]
    slip = terms.rows[part] @ motion.acceleration + terms.bias[part]
    pull = -arc.friction[i] * float(motion.forces[arc.normal[i]])
    return Turn(part, across(direction), column, arc.friction[i], pull, float(direction @ slip))


def _loose(
    arc: RigidArc, t: float, q: Array, equations: ModeEquations, forces: Array, turns: Mapping[int, Array]
) -> Loose | None:
    """How redundant forces change within the null space; None where they are not the smallest admissible ones."""
    assert arc.given is not None
    basis = equations.combine[:, arc.kept].T
    pressed = edges(arc.given.problem, arc.given.modes, forces[arc.kept], basis)
    turned = partial(_turned_forces, arc, t, q, equations, turns)
    return Loose.of(equations, forces[arc.constrained], pressed, turned)


def _turned_forces(
    arc: RigidArc, t: float, q: Array, equations: ModeEquations, turns: Mapping[int, Array], pull: Array
) -> tuple[Array, Array]:
    """dA^T w with `pull` w held, as slip directions turn with the slip velocity, too."""
    by_q, by_turns, y = loose_forces(CompiledTerms(arc), t, q, arc.closed, equations, pull)
    by_state = np.zeros((len(pull), arc.world.tangent_size))
    by_state[:, : arc.world.nv] = by_q
    slip = equations.rows @ y
    for i, column in arc.slips:
        if i in turns:
            by_state[column] -= arc.friction[i] * slip[arc.tangent[i]] @ turns[i]
    return by_state, by_turns


def turning(arc: RigidArc, terms: Terms, rates: Array, references: References) -> dict[int, Array]:
    """{contact: derivative (2, dim) of its slip direction} where that turns with the slip velocity."""
    z, found = terms.rates.tolist(), {}
    for i, _ in arc.slips:
        if arc.mode.contacts[i].phase is Phase.FREE:
            part = arc.tangent[i]
            speed = float(np.linalg.norm(terms.rates[part]))
            found[i] = turned(np.array(slip_direction(arc, i, z, references)), speed, rates[part])
    return found
