"""Compliant laws: smooth motion with ground forces, and the surfaces at which contacts touch and leave."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..contracts import CompliantLaw, CompliantPoint
from ..differences import derivative
from ..errors import PluginError, SingularError
from ..hybrid import Array, Flow, Transition, one_by_one
from .algebra import solve_mass
from .mechanism import Terms
from .modes import ContactState, Mode, Phase, SystemMode

if TYPE_CHECKING:
    from .system import ContactSystem

# A law without derivative is differenced, in steps relative to the values but at least to these: m, m/s, memory.
STEP, SMALLEST_GAP, SMALLEST_SPEED, SMALLEST_MEMORY = 1e-3, 1e-5, 1e-3, 1e-5


class Evaluation(NamedTuple):
    """The law at one state.

    Attributes:
        terms: equations of motion with the rows of the contacts it was evaluated at.
        points: {contact: what the law looks at}.
        forces: {contact: force along its rows (1 + d_t,)} [N].
        rates: rate of the law's memory (contacts, memory).
    """

    terms: Terms
    points: dict[int, CompliantPoint]
    forces: dict[int, Array]
    rates: Array


class CompliantFlow(Flow):
    """Motion with the forces of a compliant law on the closed contacts: M a = f + J^T lam(g, z, memory).

    A contact touches where its gap falls through zero. Under a law that pulls it is open again where its gap rises
    through zero. Else it is released where its normal force falls through zero, and open again where its gap rises
    through zero; a released contact whose force would rise again closes.
    """

    def __init__(self, system: ContactSystem, mode: SystemMode) -> None:
        self._system, self._mode, self._mechanism = system, mode, system.mechanism
        self._law: CompliantLaw = system.law  # type: ignore[assignment]
        self._watched = tuple(i for i, s in enumerate(mode.contacts) if s.closed or s.phase is Phase.RELEASED)
        self._where: dict[int, slice] = {}
        start = 0
        for i in self._watched:
            self._where[i] = slice(start, start + self._mechanism.dims[i])
            start = self._where[i].stop
        kinds = {Mode.CLOSED: ("clear",) if self._law.pulls else ("release",), Mode.OPEN: ("gap",)}
        self._guards = tuple(
            (kind, i)
            for i, s in enumerate(mode.contacts)
            for kind in (("clear", "return") if s.phase is Phase.RELEASED else kinds[s.mode])
        )
        self.guard_names = self._guards

    def contact_forces(self, t: float, x: Array) -> dict[int, Array]:
        """{contact: force along its rows} of touching and released contacts, as the law gives them."""
        return self._evaluate(t, x).forces

    def field(self, t: float, x: Array) -> Array:
        """Rate (v, a, z') of the state; NaN where a trial step went so far that it has none, to be shortened."""
        system, nq, nv = self._system, self._system.nq, self._system.nv
        try:
            found = self._evaluate(t, x)
        except SingularError:  # a trial step went too deep into hills
            return np.full(system.tangent_size, np.nan)
        memory = system.memory_rate(t, x)
        if found.rates.size:
            memory[-found.rates.size :] = found.rates.ravel()
        return np.concatenate([x[nq : nq + nv], self._acceleration(t, x, found), memory])

    def guards(self, t: float, x: Array) -> Array:
        """Guard values in the order of `guard_names`."""
        gaps = self._mechanism.gaps(t, x[: self._system.nq])
        forces = self.contact_forces(t, x) if any(kind in ("release", "return") for kind, _ in self._guards) else {}
        value = {
            "gap": lambda i: gaps[i],
            "clear": lambda i: -gaps[i],
            "release": lambda i: forces[i][0],
            "return": lambda i: -forces[i][0],
        }
        return np.array([float(value[kind](i)) for kind, i in self._guards])

    def longest_step(self, t: float, x: Array) -> float:
        """The time in which nothing turns by more than about a radian: a spinning tip must not dip unseen."""
        nq = self._system.nq
        return self._mechanism.longest_step(x[nq : nq + self._system.nv])

    def next_time(self, t: float) -> float:
        """Next sampling instant of the controller."""
        return self._system.next_time(t)

    # --- derivatives ------------------------------------------------------------------------------------------

    def jacobian(self, t: float, x: Array) -> Array:
        """D_x f (dim, dim) of the field (v, a, z') by the chain rule: with r = M a - f - J^T lam, lam held,

        M da = dtau - r_q dq - r_v dv + J^T dlam,  dlam = D (dg, dz, dmemory),  dg = w_n dq,  dz = z_q dq + J dv.
        """
        system, nq, nv = self._system, self._system.nq, self._system.nv
        q, v = x[:nq], x[nq : nq + nv]
        found = self._evaluate(t, x)
        held = np.zeros(len(found.terms.rows))
        for i in self._mode.closed:
            held[self._where[i]] = found.forces[i]
        acceleration = self._acceleration(t, x, found)
        of_terms = self._mechanism.term_derivatives(t, q, v, acceleration, self._watched, held)
        matrix = np.zeros((system.tangent_size, system.tangent_size))
        matrix[:nv, nv : 2 * nv] = np.eye(nv)
        force = np.zeros((nv, system.tangent_size))
        force[:, :nv], force[:, nv : 2 * nv] = -of_terms.residual_q, -of_terms.residual_v
        if system.controller is not None or system.pushes:
            applied = system.applied_jacobian(t, x)
            force += applied.force_x
            matrix[2 * nv : 2 * nv + len(applied.memory_x)] = applied.memory_x
        for i, change in self._law_changes(found, of_terms.rates_q).items():
            size = self._mechanism.dims[i]
            matrix[self._memory_of(i)] = change[size:]
            if self._mode.contacts[i].closed:
                force += found.terms.rows[self._where[i]].T @ change[:size]
        matrix[nv : 2 * nv] = solve_mass(found.terms.mass, force)
        return matrix

    def guard_jacobian(self, t: float, x: Array, names: Sequence[Hashable]) -> Array:
        """D_x g (len(names), dim) of the named guards: rows of gaps, and derivatives of normal forces."""
        nq, nv = self._system.nq, self._system.nv
        q, v = x[:nq], x[nq : nq + nv]
        chosen = [guard for name in names for guard in self._guards if guard == name]
        changes: dict[int, Array] = {}
        if any(kind in ("release", "return") for kind, _ in chosen):
            rates_q = self._mechanism.rate_derivatives(t, q, v, self._watched)
            changes = self._law_changes(self._evaluate(t, x), rates_q)
        matrix = np.zeros((len(chosen), self._system.tangent_size))
        for row, (kind, i) in zip(matrix, chosen, strict=True):
            if kind in ("release", "return"):
                row[:] = changes[i][0]
            else:
                row[:nv] = self._mechanism.terms(t, q, v, (i,)).rows[0]
            if kind in ("clear", "return"):
                row *= -1.0
        return matrix

    def _law_changes(self, found: Evaluation, rates_q: Array) -> dict[int, Array]:
        """{contact: derivative (1 + d_t + memory, dim) of its force and of its memory's rate} by the state."""
        nv, changes = self._system.nv, {}
        for i, point in found.points.items():
            part, size = self._where[i], self._mechanism.dims[i]
            seen = np.zeros((1 + size + self._law.memory, self._system.tangent_size))
            seen[0, :nv] = found.terms.rows[part.start]
            seen[1 : 1 + size, :nv] = rates_q[part]
            seen[1 : 1 + size, nv : 2 * nv] = found.terms.rows[part]
            seen[1 + size :, self._memory_of(i)] = np.eye(self._law.memory)
            changes[i] = law_jacobian(self._law, point) @ seen
        return changes

    def _memory_of(self, contact: int) -> slice:
        """Where the law's memory of a contact lies in the tangent state."""
        count, memory = len(self._mode.contacts), self._law.memory
        start = self._system.tangent_size - (count - contact) * memory
        return slice(start, start + memory)

    # --- the law at one state ---------------------------------------------------------------------------------

    @cached_property
    def _touching(self) -> dict[int, int]:
        """{contact: contacts that touch}; one that is released counts as if it alone came back."""
        closed = len(self._mode.closed)
        return {i: closed if self._mode.contacts[i].closed else closed + 1 for i in self._watched}

    def _evaluate(self, t: float, x: Array) -> Evaluation:
        system, nq, nv = self._system, self._system.nq, self._system.nv
        q, v = x[:nq], x[nq : nq + nv]
        terms = self._mechanism.terms(t, q, v, self._watched)
        gaps = self._mechanism.gaps(t, q)
        memory = system.law_memory(x)
        found = Evaluation(terms, {}, {}, np.zeros_like(memory))
        for i, part in self._where.items():
            friction, touching = float(system.friction[i]), self._touching[i]
            point = CompliantPoint(float(gaps[i]), terms.rates[part], memory[i], friction, touching)
            found.points[i] = point
            found.forces[i], found.rates[i] = self._law.force(point)
        return found

    def _acceleration(self, t: float, x: Array, found: Evaluation) -> Array:
        """Acceleration (nv,) under the forces of the closed contacts."""
        total = found.terms.force.copy()
        if (applied := self._system.applied_force(t, x)) is not None:
            total += applied
        for i in self._mode.closed:
            total += found.forces[i] @ found.terms.rows[self._where[i]]
        try:
            return solve_mass(found.terms.mass, total)
        except SingularError:  # a trial step went too far
            return np.full(self._system.nv, np.nan)


def law_jacobian(law: CompliantLaw, point: CompliantPoint) -> Array:
    """Derivative (1 + d_t + memory, 2 + d_t + memory) of a law: its own, or by central differences of fourth order.

    Raises:
        PluginError: the law gives an array of another shape.
    """
    size, memory = len(point.velocity), len(point.memory)
    given = law.jacobian(point)
    if given is not None:
        matrix = np.asarray(given, dtype=float)
        if matrix.shape != (size + memory, 1 + size + memory):
            raise PluginError(
                f"the jacobian of the law {type(law).__name__} has shape {matrix.shape}; return"
                f" ({size + memory}, {1 + size + memory}): force and memory rate by gap, velocity and memory"
            )
        return matrix
    values = np.concatenate(([point.gap], point.velocity, point.memory))
    smallest = np.array([SMALLEST_GAP] + [SMALLEST_SPEED] * size + [SMALLEST_MEMORY] * memory)
    steps = STEP * np.maximum(np.abs(values), smallest)

    def at(shift: Array) -> Array:
        moved = values + shift
        gap, velocity, own = float(moved[0]), moved[1 : 1 + size], moved[1 + size :]
        return np.concatenate(law.force(point._replace(gap=gap, velocity=velocity, memory=own)))

    return np.column_stack(
        [
            derivative(lambda h, e=direction: at(h * e), step)  # type: ignore[misc]
            for direction, step in zip(np.eye(len(values)), steps, strict=True)
        ]
    )


class CompliantContacts:
    """The discrete side of a ContactSystem with a compliant law: the state never jumps."""

    def __init__(self, system: ContactSystem) -> None:
        self._system = system
        self._law: CompliantLaw = system.law  # type: ignore[assignment]

    def flow(self, mode: SystemMode) -> Flow:
        """Field and guards of a mode."""
        return CompliantFlow(self._system, mode)

    def forces(self, t: float, x: Array, mode: SystemMode) -> dict[int, Array]:
        """{contact: force along its rows} of the closed contacts."""
        forces = CompliantFlow(self._system, mode).contact_forces(t, x)
        return {i: forces[i] for i in mode.closed}

    def start(self, t: float, x: Array) -> Transition:
        """Contacts inside the ground are closed (or released, where the law may not pull); the others are open."""
        gaps = self._system.mechanism.gaps(t, x[: self._system.nq])
        inside = SystemMode(tuple(ContactState(Mode.CLOSED) if gap < 0.0 else ContactState() for gap in gaps))
        if self._law.pulls:
            return Transition(x, inside)
        forces = self.forces(t, x, inside)
        released = ContactState(Mode.OPEN, Phase.RELEASED)
        states = tuple(
            released if state.closed and forces[i][0] < 0.0 else state for i, state in enumerate(inside.contacts)
        )
        return Transition(x, SystemMode(states))

    def crossing(self, t: float, x: Array, mode: SystemMode, fired: frozenset[Hashable]) -> Transition:
        """The same as `transition`, which looks at nothing but what fired."""
        return self.transition(t, x, mode, fired)

    def separable(
        self, t: float, x: Array, mode: SystemMode, names: frozenset[Hashable]
    ) -> tuple[frozenset[Hashable], ...]:
        """Each guard alone."""
        return one_by_one(names)

    def transition(self, t: float, x: Array, mode: SystemMode, fired: frozenset[Hashable]) -> Transition:
        """Modes after the guards in `fired`, each a pair (kind, contact)."""
        after = {
            "gap": ContactState(Mode.CLOSED),
            "return": ContactState(Mode.CLOSED),
            "release": ContactState(Mode.OPEN, Phase.RELEASED),
            "clear": ContactState(),
        }
        states = list(mode.contacts)
        for kind, i in (name for name in fired if isinstance(name, tuple)):
            states[i] = after[kind]
        names = self._system.mechanism.all_names
        changes: Mapping[str, tuple[Mode, Mode]] = {
            names[i]: (old.mode, new.mode)
            for i, (old, new) in enumerate(zip(mode.contacts, states, strict=True))
            if old.mode is not new.mode
        }
        identity = partial(np.eye, self._system.tangent_size)
        after_all = replace(mode, contacts=tuple(states))
        return Transition(x, after_all, changes, derivative=identity, still=True, unmoved=True)
