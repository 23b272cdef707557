"""A world whose configuration stands still: bodies that contacts move, with their mass, rows and forces held.

Hops too low to be followed are over before anything has moved. What they need of a world are the equations of motion
of the contacts that take part, once: from there on M, J and all other forces are constant, velocities z change by J dv,
and contacts on other bodies have no part in it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..common.arrays import Array
from ..common.lazy import NamedTuple
from ..contact.modes import SystemMode
from ..hybrid.manifold import Euclidean
from ..multibody.mechanism import ContactMechanism, Terms, TermsOf
from .contact_rows import ContactTerms, closed_terms
from .islands import together
from .world import World


class Standstill(NamedTuple):
    """A world that stands still, and where a motion in it begins.

    Attributes:
        world: the bodies and contacts that take part, with numbers of their own.
        x: their velocities (n,): a state of that world has nothing else.
        mode: the mode of these contacts.
        contacts: their numbers in the world that moves.
    """

    world: World
    x: Array
    mode: SystemMode
    contacts: tuple[int, ...]


def standstill(world: World, t: float, x: Array, mode: SystemMode, hopping: set[int]) -> Standstill:
    """The world at (t, x), as far as the contacts `hopping` and the closed ones of a mode move each other.

    Of a world of several trees of joints: in one tree, all contacts do.
    """
    contacts, velocities = together(world, world.with_resistances({*mode.closed, *hopping}), hopping)
    touch = closed_terms(world, t, x, contacts, mode)
    terms, applied, v = touch.terms, world.driving.applied_at(t, x), world.v(x)[velocities]
    held = Terms(
        terms.mass[velocities[:, None], velocities],
        (terms.force if applied is None else terms.force + applied)[velocities],
        terms.rows[:, velocities],
        terms.rates,
        terms.bias,
    )
    own = list(contacts)
    still = replace(
        world,
        mechanism=StillMechanism(world.mechanism, contacts, held, touch, v),
        loops=(),
        controller=None,
        pushes=(),
        latches=(),
        latched=(),
        action=None,
        own_friction=(world.own_friction[0][own], world.own_friction[1][own]),
        restitution=world.restitution[own],
    )
    return Standstill(still, v, SystemMode(tuple([mode.contacts[i] for i in own]), mode.redundant), contacts)


class StillMechanism(ContactMechanism):
    """Contacts of a mechanism that does not move any more, with the equations of motion that it has there.

    Args:
        mechanism: what stands still.
        contacts: its contacts that take part, rising.
        terms: their equations of motion, with all forces that act.
        touch: where the rows of each contact lie.
        v: velocities (n,) at which the rates are those of `terms`.
    """

    nq = 0

    def __init__(
        self, mechanism: ContactMechanism, contacts: tuple[int, ...], terms: Terms, touch: ContactTerms, v: Array
    ) -> None:
        self._terms = terms
        self._begin = terms.rates - terms.rows @ v
        self._rows = [touch.where[i] for i in contacts]
        self.nv, self.space = len(v), Euclidean(0)
        points, count = len(mechanism.names), len(mechanism.dims) - len(mechanism.hosts)
        names = mechanism.all_names
        self.names = tuple([names[i] for i in contacts if i < points])
        self.constraint_names = tuple([names[i] for i in contacts if points <= i < count])
        self.resistance_names = tuple([names[i] for i in contacts if i >= count])
        self.hosts = tuple([contacts.index(mechanism.hosts[i - count]) for i in contacts if i >= count])
        self.dims = tuple([mechanism.dims[i] for i in contacts])
        self.enabled = (None,) * len(contacts)
        own = list(contacts)
        self.friction, self.static_friction = mechanism.friction[own], mechanism.static_friction[own]
        self.restitution = mechanism.restitution[own]

    def terms(self, t: float, q: Array, v: Array, contacts: tuple[int, ...]) -> Terms:
        """The equations of motion with the rows of `contacts`, of which the velocities alone change."""
        return self.prepared(contacts)(t, q, v)

    def prepared(self, contacts: tuple[int, ...]) -> TermsOf:
        """The same, with the rows chosen once."""
        chosen = [row for i in contacts for row in range(self._rows[i].start, self._rows[i].stop)]
        mass, force, rows, _, bias = self._terms
        rows, begin, bias = rows[chosen], self._begin[chosen], bias[chosen]
        return lambda t, q, v: Terms(mass, force, rows, begin + rows @ v, bias)

    def gaps(self, t: float, q: Array) -> Array:
        """Zero: all of them are on the ground."""
        return np.zeros(len(self.dims) - len(self.hosts))

    def world_force(self, t: float, q: Array, contact: int, force: Array) -> Array:
        """The force along its rows: a standstill has no axes of its own."""
        return force

    def energy(self, q: Array, v: Array) -> float:
        """Kinetic energy [J]."""
        return 0.5 * float(v @ self._terms.mass @ v)

    def working_power(self, t: float, q: Array, v: Array) -> float:
        """Power [W] of all forces that are held."""
        return float(self._terms.force @ v)
