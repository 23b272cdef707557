"""Slip directions that modes hold, as neighbouring runs hold others.

Below the slip speed s of the tolerances a contact slips on along the direction d that it had there. A neighbour takes
over another one, turned by the angle w / s,

    w = s d_ . dz / |z|,   d_ a quarter turn on from d,

and friction -mu lam_n d with it: it turns by -mu lam_n d_ w / s as long as the direction is held. The slip stops where
d . z = 0, which that moves by d_ . z w / s. So w [m/s] is of the size of variations of velocities.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import atan2

import numpy as np

from ..common.arrays import Array
from ..common.lazy import NamedTuple
from ..contact.modes import SystemMode
from ..hybrid.differences import derivative
from .mode_sensitivity import across
from .rigid_arc import RigidArc, frictions, held_speeds, prepare
from .rigid_flow import RigidFlow, margin_row
from .rigid_guards import SIDE
from .rigid_sensitivity import CompiledTerms, mode_equations
from .world import World

FlowOf = Callable[[SystemMode], RigidFlow]
UNMOVED = ("gap", "slow", "fast", "enable")  # guards that friction does not enter


def turns(world: World, t: float, x: Array, mode: SystemMode) -> Array:
    """Turn w (k,) [m/s] from each direction that a mode holds to that of the slip velocity at a state."""
    arc = prepare(world, mode)
    rates = arc.velocities(t, x)
    angles = []
    for i, held in mode.held.items():
        z, d = rates[arc.tangent[i]], np.array(held)
        angles.append(atan2(across(d) @ z, d @ z))
    return held_speeds(world, mode) * np.array(angles)


def turns_by_state(world: World, t: float, x: Array, mode: SystemMode) -> Array:
    """D_x (k, dim) of `turns` where the slip velocities have these directions."""
    arc, nv = prepare(world, mode), world.nv
    q, v = world.q(x), world.v(x)
    rates, by_state = arc.velocities(t, x), CompiledTerms(arc).rates_by_state(t, q, v, arc.closed)
    found = np.zeros((len(mode.held), world.tangent_size))
    for row, (i, held) in zip(found, mode.held.items(), strict=True):
        part, d = arc.tangent[i], np.array(held)
        aside = across(d) / float(d @ rates[part])
        row[: 2 * nv] = aside @ by_state[part]
    return held_speeds(world, mode)[:, None] * found


def field_by_turns(flow: RigidFlow, t: float, x: Array, other: FlowOf) -> Array:
    """Derivative (dim, k) of the field by the turns w of the directions that its mode holds.

    Args:
        flow: the flow, with its references.
        t: time [s].
        x: plain state.
        other: mode -> the flow of another mode there.
    """
    world, nv, size = flow.arc.world, flow.arc.world.nv, flow.arc.world.tangent_size
    if flow.arc.mode.redundant:
        return _differenced(world, flow.arc.mode, lambda mode: other(mode).field(t, x))
    found = np.zeros((size, len(flow.arc.mode.held)))
    found[nv : 2 * nv] = _by_turns(flow, t, x).acceleration
    return found


def guard_by_turns(flow: RigidFlow, t: float, x: Array, guard: tuple[str, int], other: FlowOf) -> Array:
    """Derivative (k,) of a guard by the same turns; arguments as those of `field_by_turns`."""
    (kind, i), world, held = guard, flow.arc.world, flow.arc.mode.held
    if kind in UNMOVED or kind.startswith(SIDE):
        return np.zeros(len(held))
    if kind == "stop":
        z = flow.arc.velocities(t, x)[flow.arc.tangent[i]]
        moved = np.array([float(across(np.array(d)) @ z) if k == i else 0.0 for k, d in held.items()])
        return moved / held_speeds(world, flow.arc.mode)
    if kind in ("force", "cone") and not flow.arc.mode.redundant:
        return np.asarray(margin_row(flow, kind, i, t, x, _by_turns(flow, t, x).forces))
    place = flow.guard_names.index(guard)
    return _differenced(world, flow.arc.mode, lambda mode: np.asarray(other(mode).guards(t, x))[place])


class _Turned(NamedTuple):
    """Derivatives of accelerations (nv, k) and of contact forces (m, k)."""

    acceleration: Array
    forces: Array


def _by_turns(flow: RigidFlow, t: float, x: Array) -> _Turned:
    arc, world, motion = flow.arc, flow.arc.world, flow.motion(t, x)
    q, v = world.q(x), world.v(x)
    terms, nv = arc.terms(t, q, v), world.nv
    direct = _friction_by_turns(arc, motion.forces, terms.rates)
    force = terms.rows.T @ direct
    if arc.compiled is not None:
        columns = np.hstack([np.zeros((nv, 2 * nv)), force])
        applied = world.driving.applied_at(t, x)
        slips = arc.directions(flow.references), flow.references.straight
        found = arc.compiled.derivatives(q, v, applied, columns, *slips)
        if found is not None:
            return _Turned(found[0][:, 2 * nv :], found[1][:, 2 * nv :] + direct)
    equations = mode_equations(arc, terms, motion, flow.references)
    acceleration, forces = equations.solve(force, np.zeros_like(direct))
    return _Turned(acceleration, forces + direct)


def _friction_by_turns(arc: RigidArc, forces: Array, rates: Array) -> Array:
    """What friction (m, k) changes by as its direction turns, whatever the normal forces do."""
    found, friction = np.zeros((arc.size, len(arc.mode.held))), frictions(arc, rates)
    for column, (i, held) in enumerate(arc.mode.held.items()):
        found[arc.tangent[i], column] = -friction[i] * forces[arc.normal[i]] * across(np.array(held))
    return found / held_speeds(arc.world, arc.mode)


def _differenced(world: World, mode: SystemMode, function: Callable[[SystemMode], Array]) -> Array:
    """Derivative (..., k) of a function of the mode by each turn."""

    def turned(i: int, angle: float) -> Array:
        d = np.array(mode.held[i])
        direction = np.cos(angle) * d + np.sin(angle) * across(d)
        return function(mode.changed({i: replace(mode.contacts[i], direction=tuple(direction.tolist()))}))

    columns = [derivative(lambda angle, i=i: turned(i, angle)) for i in mode.held]  # type: ignore[misc]
    return np.stack(columns, axis=-1) / held_speeds(world, mode)
