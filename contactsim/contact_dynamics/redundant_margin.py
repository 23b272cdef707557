"""The margin of contacts that stick redundantly: how it changes with what forces depend on."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..common.arrays import Array
from ..common.lazy import NamedTuple
from ..contact.linear_algebra import kernel, solve_mass
from ..contact.redundant_forces import widest
from ..contact.zero import EDGE
from .rigid_arc import Accelerations, References, RigidArc
from .rigid_sensitivity import sensitivity_under


class LargestMargin(NamedTuple):
    """Forces of redundant contacts at a state.

    Attributes:
        forces: (m,), those whose least cone margin is largest.
        slope: (m,), the derivative of that margin along forces that obey the mode as the state changes.
        friction: {contact: that by its coefficient of static friction [N]}.
    """

    forces: Array
    slope: Array
    friction: Mapping[int, float]

    @staticmethod
    def of(arc: RigidArc, t: float, x: Array, motion: Accelerations) -> LargestMargin | None:
        """Those at a state; None where contacts slip, or their guard looks at the smallest forces, which are inside."""
        world = arc.world
        if arc.given is None or arc.slips or world.loops or world.latched:
            return None
        terms, kept, none = arc.terms(t, world.q(x), world.v(x)), arc.kept, (None,) * len(arc.closed)
        rows = terms.rows[kept]
        given = arc.given.at(rows @ solve_mass(terms.mass, rows.T), np.zeros(len(rows)), none)
        basis, held = given.basis(none)
        null = basis @ kernel(given.problem.delassus[held] @ basis)
        found = widest(given.problem, given.modes, motion.forces[kept], null)
        if found is None or abs(found.margin - motion.margin) > EDGE * float(np.abs(found.forces).max()):
            return None
        forces, slope = motion.forces.copy(), np.zeros(arc.size)
        forces[kept], slope[kept] = found.forces, found.slope
        return LargestMargin(forces, slope, {arc.closed[i]: by for i, by in found.by_friction.items()})

    def by_state(self, arc: RigidArc, t: float, x: Array, references: References, motion: Accelerations) -> Array:
        """D_x (dim,) of the margin."""
        under = Accelerations(motion.acceleration, motion.rates, lambda: self.forces)
        found = sensitivity_under(arc, t, x, references, under)
        assert found is not None  # as nothing slips
        return self.slope @ found.forces_x
