"""Compliant laws: smooth motion with ground forces, and the surfaces at which contacts touch and leave."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..errors import SingularError
from ..hybrid import Array, Flow, Transition
from .dynamics import solve_mass
from .modes import ContactState, Mode, Phase, SystemMode

if TYPE_CHECKING:
    from ..contracts import CompliantLaw
    from .system import ContactSystem


class CompliantFlow(Flow):
    """Motion with the forces of a compliant law on the closed contacts: M a = f + J^T lam(g, z, memory).

    A contact touches where its gap falls through zero, is released where its normal force falls through zero, and is
    open again where its gap rises through zero; a released contact whose force would rise again closes.
    """

    def __init__(self, system: ContactSystem, mode: SystemMode) -> None:
        self._system, self._mode = system, mode
        self._law: CompliantLaw = system.law  # type: ignore[assignment]
        self._watched = tuple(i for i, s in enumerate(mode.contacts) if s.closed or s.phase is Phase.RELEASED)
        kinds = {Mode.CLOSED: ("release",), Mode.OPEN: ("gap",)}
        self._guards = tuple(
            (kind, i)
            for i, s in enumerate(mode.contacts)
            for kind in (("clear", "return") if s.phase is Phase.RELEASED else kinds[s.mode])
        )
        self.guard_names = self._guards

    def contact_forces(self, t: float, x: Array) -> dict[int, Array]:
        """{contact: force along its rows} of touching and released contacts, as the law gives them."""
        forces: dict[int, Array] = self._evaluate(t, x)[0]
        return forces

    def field(self, t: float, x: Array) -> Array:
        """Rate (v, a, z') of the state."""
        system, nq, nv = self._system, self._system.nq, self._system.nv
        forces, rates, terms, where = self._evaluate(t, x)
        total = terms.force.copy()
        if (applied := system.applied_force(t, x)) is not None:
            total += applied
        for i in self._mode.closed:
            total += forces[i] @ terms.rows[where[i]]
        memory = system.memory_rate(t, x)
        if rates.size:
            memory[-rates.size :] = rates.ravel()
        try:
            acceleration = solve_mass(terms.mass, total)
        except SingularError:  # a trial step went too far
            acceleration = np.full(nv, np.nan)
        return np.concatenate([x[nq : nq + nv], acceleration, memory])

    def guards(self, t: float, x: Array) -> Array:
        """Guard values in the order of `guard_names`."""
        gaps = self._system.mechanism.gaps(t, x[: self._system.nq])
        forces = self.contact_forces(t, x) if self._watched else {}
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
        return self._system.mechanism.longest_step(x[nq : nq + self._system.nv])

    def next_time(self, t: float) -> float:
        """Next sampling instant of the controller."""
        return self._system.next_time(t)

    def _evaluate(self, t: float, x: Array):  # type: ignore[no-untyped-def]
        system, nq, nv = self._system, self._system.nq, self._system.nv
        q, v = x[:nq], x[nq : nq + nv]
        terms = system.mechanism.terms(t, q, v, self._watched)
        gaps = system.mechanism.gaps(t, q)
        memory = system.law_memory(x)
        rates = np.zeros_like(memory)
        forces, where, start = {}, {}, 0
        for i in self._watched:
            where[i] = slice(start, start + system.mechanism.dims[i])
            start = where[i].stop
            friction = float(system.friction[i])
            forces[i], rates[i] = self._law.force(float(gaps[i]), terms.rates[where[i]], memory[i], friction)
        return forces, rates, terms, where


class CompliantContacts:
    """The discrete side of a ContactSystem with a compliant law: the state never jumps."""

    def __init__(self, system: ContactSystem) -> None:
        self._system = system

    def flow(self, mode: SystemMode) -> Flow:
        """Field and guards of a mode."""
        return CompliantFlow(self._system, mode)

    def forces(self, t: float, x: Array, mode: SystemMode) -> dict[int, Array]:
        """{contact: force along its rows} of the closed contacts."""
        forces = CompliantFlow(self._system, mode).contact_forces(t, x)
        return {i: forces[i] for i in mode.closed}

    def start(self, t: float, x: Array) -> Transition:
        """Contacts inside the ground are closed (or released, where the law would pull); the others are open."""
        gaps = self._system.mechanism.gaps(t, x[: self._system.nq])
        inside = SystemMode(tuple(ContactState(Mode.CLOSED) if gap < 0.0 else ContactState() for gap in gaps))
        forces = self.forces(t, x, inside)
        released = ContactState(Mode.OPEN, Phase.RELEASED)
        states = tuple(
            released if state.closed and forces[i][0] < 0.0 else state for i, state in enumerate(inside.contacts)
        )
        return Transition(x, SystemMode(states))

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
        return Transition(x, replace(mode, contacts=tuple(states)), changes)
