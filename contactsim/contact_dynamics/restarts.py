"""Runs that start in a given mode: modes by name, the state nearest to one, and what is wrong with one that is far."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..common.arrays import Array
from ..contact.laws import CompliantLaw
from ..contact.linear_algebra import smallest_change
from ..contact.modes import ContactState, Mode, Phase, SystemMode
from ..errors import InputError
from .contact_rows import closed_terms, resting_rows
from .world import World
from .zero import OFF_MODE

NEWTON = 20  # steps towards the ground within which a state is there


def demand_mode(world: World, mode: Any) -> SystemMode | Mapping[str, Mode]:
    """The mode that a user gave: of another run, or {contact: Mode}.

    Raises:
        InputError: it is something else, or names a contact that there is not.
    """
    names = world.mechanism.all_names
    if isinstance(mode, SystemMode):
        if len(mode.contacts) != len(names):
            raise InputError(
                f"the mode has {len(mode.contacts)} contacts and joint limits, and the system {len(names)}; give the"
                " mode of a run of this robot"
            )
        return mode
    if not isinstance(mode, Mapping):
        raise InputError(f"the mode is a {type(mode).__name__}; give {{contact: cs.Mode}}, or arc.mode of another run")
    for name, given in mode.items():
        if name not in names:
            raise InputError(f"the mode names the contact '{name}'; there are {', '.join(names) or 'none'}")
        if not isinstance(given, Mode):
            raise InputError(f"the mode of '{name}' is {given!r}; give a cs.Mode such as cs.Mode.STICK")
    return mode


def as_mode(world: World, t: float, x: Array, mode: SystemMode | Mapping[str, Mode]) -> SystemMode:
    """The mode of the engine for modes by name: contacts that are not named are open, joint limits as they are found.

    Raises:
        InputError: a contact is said to be what it cannot be under the law of the system.
    """
    if isinstance(mode, SystemMode):
        return mode
    gaps = world.mechanism.gaps(t, world.q(x))
    states: list[ContactState] = []
    for i, name in enumerate(world.mechanism.all_names):
        given = mode.get(name)
        if i >= world.count:
            states.append(_resistance_state(world, t, x, i, given, states[world.host(i)]))
            continue
        if given is None and i >= len(world.mechanism.names) and gaps[i] <= OFF_MODE:
            given = Mode.CLOSED
        states.append(_contact_state(world, t, x, i, given or Mode.OPEN, float(gaps[i])))
    return SystemMode(tuple(states))


def _contact_state(world: World, t: float, x: Array, i: int, mode: Mode, gap: float) -> ContactState:
    """State of one contact of which only the mode is known, and of a slip its present direction."""
    compliant, name = isinstance(world.law, CompliantLaw), world.mechanism.all_names[i]
    margin = world.mechanism.enabled[i]
    enabled = margin is None or float(margin(t, world.q(x), world.v(x))) > 0.0
    only_closed = compliant or i >= len(world.mechanism.names)
    if mode is Mode.OPEN:
        return ContactState(mode, Phase.RELEASED if compliant and gap < 0.0 else Phase.NONE, enabled=enabled)
    if only_closed is not (mode is Mode.CLOSED):
        wanted = "CLOSED or OPEN" if only_closed else "STICK, SLIP or OPEN"
        raise InputError(f"the mode of '{name}' is {mode!r}; under this law it is {wanted}")
    if mode is not Mode.SLIP or not world.tangent_rows[i]:
        return ContactState(mode, enabled=enabled)
    return ContactState(mode, Phase.FREE, enabled=enabled)


def _resistance_state(world: World, t: float, x: Array, i: int, given: Mode | None, host: ContactState) -> ContactState:
    """State of a resistance: what is said of it, or at rest where it does not spin; open with its host."""
    if given is not None and (given is Mode.OPEN) is host.closed:
        names = world.mechanism.all_names
        raise InputError(
            f"the mode of '{names[i]}' is {given!r}, and that of '{names[world.host(i)]}' {host.mode!r}; both are open,"
            " or neither"
        )
    if not host.closed:
        return ContactState()
    if given is None:
        rates = world.mechanism.rates(t, world.q(x), world.v(x), (i,))
        given = Mode.STICK if np.linalg.norm(rates) <= world.tolerances.speed else Mode.SLIP
    return ContactState(given, Phase.FREE if given is Mode.SLIP and world.tangent_rows[i] else Phase.NONE)


def projected(world: World, t: float, x: Array, mode: SystemMode) -> Array:
    """The state nearest to `x`, in the metric of the mass matrix, whose contacts touch and rest as the mode says.

    Newton's steps dq = M^-1 C^T (C M^-1 C^T)^+ (-g), then v likewise (Hairer and Wanner, ODE II, VII.2).

    Raises:
        InputError: there is no such state close by.
    """
    x = world.on_loops(x)
    closed = mode.closed
    if not closed or isinstance(world.law, CompliantLaw):
        return x
    mechanism, pressing = world.mechanism.within(mode.regions), world.pressing(closed)
    for _ in range(NEWTON):
        touch = closed_terms(world, t, x, closed, mode)
        gaps = mechanism.gaps(t, world.q(x))[list(pressing)]
        if np.abs(gaps).max() <= world.tolerances.drift:
            break
        normals = [touch.where[i].start for i in pressing]
        change = smallest_change(touch.terms.mass, touch.terms.rows[normals], -gaps)[0]
        x = world.on_loops(world.moved(x, mechanism.space.integrate(world.q(x), change), world.v(x)))
    else:
        names = ", ".join(mechanism.all_names[i] for i in pressing)
        raise InputError(f"no state close by lets {names} touch at once; give one nearer to the mode, or another mode")
    rows = resting_rows(world, mode, touch.where)
    if np.abs(touch.terms.rates[rows]).max() <= world.tolerances.drift:
        return x
    change = smallest_change(touch.terms.mass, touch.terms.rows[rows], -touch.terms.rates[rows])[0]
    return world.on_loops(world.moved(x, world.q(x), world.v(x) + change))


def demand_near(world: World, t: float, x: Array, mode: SystemMode) -> None:
    """Raise InputError where a state is further from its mode than accuracy explains."""
    if not mode.closed or isinstance(world.law, CompliantLaw):
        return
    touch = closed_terms(world, t, x, mode.closed, mode)
    gaps = world.mechanism.within(mode.regions).gaps(t, world.q(x))
    resting = set(resting_rows(world, mode, touch.where))
    for i in mode.closed:
        part = touch.where[i]
        rates = [abs(float(touch.terms.rates[row])) for row in range(part.start, part.stop) if row in resting]
        name, gap, fastest = world.mechanism.all_names[i], float(gaps[world.host(i)]), max(rates, default=0.0)
        if abs(gap) > OFF_MODE or fastest > OFF_MODE:
            raise InputError(
                f"contact '{name}' is {mode.contacts[i].mode.name} in the mode that is given, but its gap is"
                f" {gap:.3g} m and it moves at {fastest:.3g} m/s; give system.project(state, mode)"
            )
