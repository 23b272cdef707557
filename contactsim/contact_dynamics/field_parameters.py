"""The motion in a rigid mode by parameters: accelerations and forces, and the guards that look at them.

With r = M a - f - J^T lam the equations of motion and z' = J a + c the motion of the contacts, a and lam held,
parameters change both by M da - D^T du = -D_p r, C da = -D_p z' on the rows C of the mode. Masses, inertias and gravity
enter r linearly, so that central differences of it are exact; friction enters it as the force of what slips; ground
moves the rows.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..common.arrays import Array
from ..common.lazy import NamedTuple
from ..contact.modes import unit
from ..multibody.mechanism import Terms
from .rigid_flow import RigidFlow
from .rigid_guards import SIDE
from .rigid_sensitivity import mode_equations, turning
from .variables import Beside
from .world import World

Besides = Mapping[str, Beside]


class ByParameters(NamedTuple):
    """Derivatives at a state that is held, by k parameters.

    Attributes:
        acceleration: of a (nv, k).
        forces: of the contact forces lam (m, k).
        rates: of the contact velocities z (m, k).
    """

    acceleration: Array
    forces: Array
    rates: Array


def field_by_parameters(flow: RigidFlow, t: float, x: Array, besides: Besides) -> dict[str, Array]:
    """{name: D_p f (dim,)} of the field (v, a, z').

    Args:
        flow: the flow, with its references, of an arc that is known.
        t: time [s].
        x: plain state.
        besides: the worlds with other values of each parameter.
    """
    nv, world = flow.arc.world.nv, flow.arc.world
    found, columns = {}, by_parameters(flow, t, x, besides).acceleration
    for k, (name, beside) in enumerate(besides.items()):
        found[name] = np.zeros(world.tangent_size)
        found[name][nv : 2 * nv] = columns[:, k]
        if world.memory and name.startswith("controller."):
            found[name][2 * nv :] = beside.derivative(lambda other: other.driving.memory_rate(t, x))
    return found


def by_parameters(flow: RigidFlow, t: float, x: Array, besides: Besides) -> ByParameters:
    """Derivatives of accelerations, forces and contact velocities."""
    arc, count = flow.arc, len(besides)
    force, change, rates, direct = (np.zeros((size, count)) for size in (arc.world.nv, *[arc.size] * 3))
    for k, (name, beside) in enumerate(besides.items()):
        group = name.partition(".")[0]
        if group in ("body", "gravity"):
            force[:, k] = _of_masses(flow, t, x, beside)
        elif group == "controller":
            force[:, k] = beside.derivative(lambda world: world.driving.applied_at(t, x))
        elif group == "terrain":
            force[:, k], change[:, k], rates[:, k] = _of_ground(flow, t, x, beside)
        elif arc.slips and beside.friction.any():
            direct[:, k] = _of_friction(flow, t, x, beside)
    if not any(part.any() for part in (force, change, rates, direct)):
        return ByParameters(force, change, rates)
    terms, motion = _terms(flow, t, x), flow.motion(t, x)
    if rates.any():
        for i, turn in turning(arc, terms, rates, flow.references).items():
            direct[arc.tangent[i]] -= arc.friction[i] * motion.forces[arc.normal[i]] * turn
    equations = mode_equations(arc, terms, motion, flow.references)
    acceleration, forces = equations.solve(force + terms.rows.T @ direct, change)
    return ByParameters(acceleration, forces + direct, rates)


def _terms(flow: RigidFlow, t: float, x: Array) -> Terms:
    return flow.arc.terms(t, flow.arc.world.q(x), flow.arc.world.v(x))


def _of_masses(flow: RigidFlow, t: float, x: Array, beside: Beside) -> Array:
    """-D_p (M a - f) (nv,), of which M and f are linear in masses, inertias and gravity."""
    acceleration = flow.motion(t, x).acceleration
    q, v = flow.arc.world.q(x), flow.arc.world.v(x)

    def residual(world: World) -> Array:
        terms = world.mechanism.terms(t, q, v, ())
        return terms.mass @ acceleration - terms.force

    return -beside.slope(residual)


def _of_friction(flow: RigidFlow, t: float, x: Array, beside: Beside) -> Array:
    """Friction (m,) of what slips grows with its coefficient: lam_t / mu dmu."""
    arc, forces, direct = flow.arc, flow.motion(t, x).forces, np.zeros(flow.arc.size)
    for i, _ in arc.slips:
        part = arc.tangent[i]
        direct[part] = float(beside.friction[i]) / float(arc.world.friction[i]) * forces[part]
    return direct


def _of_ground(flow: RigidFlow, t: float, x: Array, beside: Beside) -> tuple[Array, Array, Array]:
    """What ground changes: the force D_p J^T lam (nv,), the motion D_p z' (m,) and the velocities D_p z (m,)."""
    arc, motion = flow.arc, flow.motion(t, x)
    q, v = arc.world.q(x), arc.world.v(x)

    def there(world: World) -> Array:
        terms = world.mechanism.within(arc.mode.regions).terms(t, q, v, arc.closed)
        return np.column_stack([terms.rows, terms.rows @ motion.acceleration + terms.bias, terms.rates])

    found = beside.derivative(there)
    return found[:, :-2].T @ motion.forces, found[:, -2], found[:, -1]


# --- guards ---------------------------------------------------------------------------------------------------------


def guard_by_parameters(flow: RigidFlow, t: float, x: Array, guard: tuple[str, int], besides: Besides) -> Array | None:
    """D_p g (k,) of a guard by its name; None: it is known by its value only."""
    arc, (kind, i) = flow.arc, guard
    ground = [name.startswith("terrain.") for name in besides]
    if kind == "gap":
        gap = np.array([i])
        return np.array(
            [
                beside.derivative(lambda world: world.mechanism.gaps_of(t, arc.world.q(x), gap)[0]) if on else 0.0
                for on, beside in zip(ground, besides.values(), strict=True)
            ]
        )
    if kind.startswith(SIDE):
        return None if any(ground) else np.zeros(len(besides))
    if kind == "forces" and not any(ground):
        return _largest_margin(flow, t, x, besides)
    if kind not in ("force", "cone", "slow", "fast", "stop"):
        return None
    found, part = by_parameters(flow, t, x, besides), arc.tangent[i]
    if kind == "force":
        return found.forces[arc.normal[i]]
    if kind == "cone":
        return _cone(flow, t, x, i, found, besides)
    if kind == "fast":
        return -np.array(unit(_terms(flow, t, x).rates[part])) @ found.rates[part]
    direction = flow.references.slip[i] if kind == "slow" else arc.mode.contacts[i].direction
    return np.array(direction) @ found.rates[part]


def _cone(flow: RigidFlow, t: float, x: Array, i: int, found: ByParameters, besides: Besides) -> Array:
    """Derivative (k,) of the margin mu lam_n - |lam_t| of a contact that sticks."""
    arc, forces = flow.arc, flow.motion(t, x).forces
    normal, tangential = forces[arc.normal[i]], forces[arc.tangent[i]]
    friction = np.array([beside.static_friction[i] for beside in besides.values()])
    margin = friction * normal + arc.world.static_friction[i] * found.forces[arc.normal[i]]
    return margin - np.array(unit(tangential)) @ found.forces[arc.tangent[i]] if np.any(tangential) else margin


def _largest_margin(flow: RigidFlow, t: float, x: Array, besides: Besides) -> Array | None:
    """That of the margin of contacts that stick redundantly, where it is known."""
    from .redundant_margin import LargestMargin

    margin = LargestMargin.of(flow.arc, t, x, flow.motion(t, x))
    if margin is None:
        return None
    frictions = np.array([beside.static_friction for beside in besides.values()])
    by_friction = frictions[:, list(margin.friction)] @ np.array(list(margin.friction.values()))
    return by_friction + margin.slope @ by_parameters(flow, t, x, besides).forces
