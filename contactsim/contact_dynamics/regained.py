"""What becomes of a state that misses what its rigid mode holds, to first order.

A foot that stands and is given a velocity e slips, hops or presses on, but for a time in proportion to e, and stands
again. Until then its forces have changed the velocities by M^-1 D^T L, with the force directions D of the mode,
whatever their course was, and C v = 0 holds again: L is determined, and places have moved by e^2 alone. So

    dv+ = dv - M^-1 D^T (C M^-1 D^T)^+ (C dv + D_q z dq).

That is the impact of a plastic collision where contacts stick; where they slip, D is not C. No such thing holds for
places: a foot that is lifted by e falls for a time like e^(1/2), and one below the ground is no state at all. They are
those of the nearest state that touches, in the metric of M (Hairer and Wanner, ODE II, VII.2).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..common.arrays import Array
from ..contact.linear_algebra import projector
from ..contact.modes import Mode
from ..hybrid.abilities import Held
from .rigid_sensitivity import mode_equations
from .zero import SMALLEST

if TYPE_CHECKING:
    from .rigid_flow import RigidFlow


def held(flow: RigidFlow, t: float, x: Array) -> Held:
    """The constraints of the closed contacts of a flow at a state on them."""
    arc, world = flow.arc, flow.arc.world
    q, v, nv = world.q(x), world.v(x), world.nv
    terms, pressing = arc.terms(t, q, v), np.array(world.pressing(arc.closed), dtype=int)
    normals = terms.rows[[arc.normal[i] for i in pressing.tolist()]]
    equations = mode_equations(arc, terms, flow.motion(t, x), flow.references)
    constrained = terms.rows[arc.constrained]
    rates_q = arc.mechanism.rate_derivatives(t, q, v, arc.closed)[arc.constrained]
    places, count = projector(terms.mass, normals), len(pressing)
    velocities = projector(terms.mass, constrained, equations.combine @ terms.rows)
    rows = np.zeros((count + len(constrained), world.tangent_size))
    rows[:count, :nv], rows[count:, :nv], rows[count:, nv : 2 * nv] = normals, rates_q, constrained
    pull = np.zeros(rows.T.shape)
    pull[:nv, :count], pull[nv : 2 * nv, count:] = places, velocities
    pull[nv : 2 * nv, :count] = -velocities @ rates_q @ places

    def misses(system: Any) -> Array:
        mechanism = system.world.mechanism.within(arc.mode.regions)
        gaps = mechanism.gaps_of(t, q, pressing)
        return np.concatenate([gaps, mechanism.rates(t, q, v, arc.closed)[arc.constrained]])

    names = world.mechanism.all_names
    by_rates = np.zeros((arc.size, world.tangent_size))
    by_rates[arc.constrained] = rows[count:]
    loose = {names[i]: by_rates[arc.tangent[i]] for i in _loose(flow, t, x)}
    return Held(tuple(names[i] for i in pressing.tolist()), rows, pull, misses, loose)


def _loose(flow: RigidFlow, t: float, x: Array) -> list[int]:
    """Contacts that stick beyond the cone of kinetic friction, where their forces are unique."""
    arc, world = flow.arc, flow.arc.world
    if arc.mode.redundant or not (world.static_friction > world.friction).any():
        return []
    forces, found = flow.motion(t, x).forces, []
    for i in world.pressing(arc.closed):
        if arc.mode.contacts[i].mode is Mode.STICK and world.tangent_rows[i]:
            tangential = float(np.linalg.norm(forces[arc.tangent[i]]))
            if tangential > world.friction[i] * forces[arc.normal[i]] * (1.0 + SMALLEST):
                found.append(i)
    return found
