"""The field of a rigid mode by parameters: what they change of the forces, and the accelerations that follow.

With r = M a - f - J^T lam the equations of motion, a and lam held, and C a + c = 0 the rows of the mode, a parameter p
that leaves the ground where it is changes the accelerations by M da - D^T du = -D_p r, C da = 0. Masses, inertias and
gravity enter r linearly, so that central differences of r are exact; friction enters it as the force of what slips.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..common.arrays import Array
from ..contact.modes import Mode
from ..hybrid.differences import derivative
from ..multibody.mechanism import Terms
from .rigid_arc import RigidArc
from .rigid_flow import RigidFlow
from .rigid_sensitivity import mode_equations
from .world import World

GROUPS = ("contact", "law", "body", "gravity", "controller")  # parameters that leave the ground where it is


def by_parameter(
    flow: RigidFlow, t: float, x: Array, name: str, varied: Callable[[float], World], step: float
) -> Array:
    """D_p f (dim,) of the field (v, a, z') by a parameter of one of GROUPS.

    Args:
        flow: the flow, with its references.
        t: time [s].
        x: plain state.
        name: of the parameter.
        varied: change of the parameter -> the world with it.
        step: size of differences.
    """
    arc, nv = flow.arc, flow.arc.world.nv
    out = np.zeros(arc.world.tangent_size)
    group = name.partition(".")[0]
    force = {
        "contact": _of_friction,
        "law": _of_friction,
        "body": _of_masses,
        "gravity": _of_masses,
        "controller": _of_drive,
    }[group](flow, t, x, varied, step)
    if force.any():
        equations = mode_equations(arc, _terms(flow, t, x), flow.motion(t, x), flow.references)
        out[nv : 2 * nv] = equations.solve(force[:, None], np.zeros((arc.size, 1)))[0][:, 0]
    if group == "controller" and arc.world.memory:
        out[2 * nv :] = derivative(lambda h: varied(h).memory_rate(t, x), step)
    return out


def _terms(flow: RigidFlow, t: float, x: Array) -> Terms:
    return flow.arc.terms(t, flow.arc.world.q(x), flow.arc.world.v(x))


def _of_friction(flow: RigidFlow, t: float, x: Array, varied: Callable[[float], World], step: float) -> Array:
    """The friction of what slips grows with its coefficient: lam_t / mu dmu."""
    arc = flow.arc
    slipping = [i for i in arc.closed if arc.mode.contacts[i].mode is Mode.SLIP and arc.world.tangent_rows[i]]
    force = np.zeros(arc.world.nv)
    if not slipping:
        return force
    more, less = varied(step).friction, varied(-step).friction
    motion, rows = flow.motion(t, x), _terms(flow, t, x).rows
    for i in slipping:
        change = float(more[i] - less[i]) / (2.0 * step)
        if change:
            part = arc.tangent[i]
            force += change / float(arc.world.friction[i]) * (motion.forces[part] @ rows[part])
    return force


def _of_masses(flow: RigidFlow, t: float, x: Array, varied: Callable[[float], World], step: float) -> Array:
    """-D_p (M a - f), of which M and f are linear in masses, inertias and gravity."""
    arc, acceleration = flow.arc, flow.motion(t, x).acceleration
    q, v = arc.world.q(x), arc.world.v(x)

    def residual(world: World) -> Array:
        terms = world.mechanism.terms(t, q, v, arc.closed)
        applied = world.applied_at(t, x)
        return terms.mass @ acceleration - terms.force - (0.0 if applied is None else applied)

    return np.asarray((residual(varied(-step)) - residual(varied(step))) / (2.0 * step))


def _of_drive(flow: RigidFlow, t: float, x: Array, varied: Callable[[float], World], step: float) -> Array:
    """What the controller applies more."""
    return np.asarray(derivative(lambda h: varied(h).applied_at(t, x), step))


def knows(arc: RigidArc, name: str) -> bool:
    """Whether it is done here: not where forces have kinks, friction depends on the speed, or loops are closed."""
    plain = not (arc.incipient or arc.curved or arc.mode.redundant or arc.world.loops or arc.world.latched)
    return plain and name.partition(".")[0] in GROUPS
