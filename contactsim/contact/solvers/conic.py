"""Modes proposed by a sequence of convex programs over the friction cones."""

from __future__ import annotations

from math import hypot

import numpy as np

from ...common.arrays import Array
from ...common.lazy import dataclass
from ..cone_program import minimiser
from ..problem import ContactProblem, ContactSolution
from ..zero import NOTHING, STEADY
from .contract import ContactSolver, Start

PROPOSALS = 100  # programs of a sequence, at most


@dataclass(frozen=True)
class Conic(ContactSolver):
    """A sequence of convex programs, and `then` what goes on from the modes of their forces."""

    then: ContactSolver

    def solve(self, problem: ContactProblem, start: Start) -> ContactSolution | None:
        """The solution that `then` finds from the modes proposed."""
        for modes in Start.read_off(problem, proposed(problem)):
            if (solution := self.then.solve(problem, modes)) is not None:
                return solution
        return None


def proposed(problem: ContactProblem) -> Array:
    """Forces (m,) of moderate accuracy, by a sequence of convex programs.

    With De Saxce's change of variables, Coulomb's law of a contact reads w + mu |w_t| n in K*, lam in K, orthogonal.
    For given sizes mu |w_t| that is a quadratic program over the friction cones; the sizes are then renewed (Acary and
    others 2011). What sliding contacts add to the others' motion, which is not symmetric, is renewed with them.
    """
    forces, offset = np.zeros(len(problem.free)), np.zeros(len(problem.free))
    pushed = np.zeros(len(problem.free))
    for _ in range(PROPOSALS):
        previous = forces
        forces = _cone_program(problem, problem.free + problem.delassus @ pushed + offset)
        for i, slip in enumerate(problem.sliding):
            if slip is not None:
                pushed[problem.tangent(i)] = -problem.friction[i] * forces[problem.normal(i)] * slip
        motion = problem.delassus @ (forces + pushed) + problem.free
        offset[:] = 0.0
        for i, slip in enumerate(problem.sliding):
            if slip is None:
                offset[problem.normal(i)] += problem.friction[i] * hypot(*motion[problem.tangent(i)])
        if np.abs(forces - previous).max() <= STEADY * np.abs(forces).max(initial=NOTHING):
            break
    return forces + pushed


def _cone_program(problem: ContactProblem, linear: Array) -> Array:
    """Minimiser of lam^T G lam / 2 + linear^T lam over cones |lam_t| <= mu lam_n; half-lines where contacts slide.

    The tangential forces of contacts that slide are no variables: bounded by zero on both sides they would leave the
    cones without an inside, on which the method lives.
    """
    size = max(float(np.abs(linear).max()), NOTHING)
    weight = float(np.trace(problem.delassus)) / len(linear)
    forces = np.zeros(len(linear))
    if weight == 0.0:
        return forces  # no force moves anything
    unit, kept = np.eye(len(linear)), np.ones(len(linear), dtype=bool)
    rows, cones, right = [], [], []
    for i, slip in enumerate(problem.sliding):
        n, t = problem.normal(i), problem.tangent(i)
        cone = slip is None and problem.widths[i] > 0
        if cone:
            scaled = unit[[n, *range(t.start, t.stop)]]
            scaled[0] *= problem.friction[i]
            rows.append(scaled)
            cones.append((True, len(scaled)))
            right += [0.0] * len(scaled)
        else:
            kept[t] = False
        if i < problem.count and (not cone or problem.least(i) > 0.0):
            rows.append(unit[n : n + 1])
            cones.append((False, 1))
            right.append(-problem.least(i) * weight / size)
    quadratic, matrix = problem.delassus[np.ix_(kept, kept)] / weight, -np.vstack(rows)[:, kept]
    found = minimiser(quadratic, linear[kept] / size, matrix, np.array(right), cones)
    if found is not None:
        forces[kept] = found * (size / weight)
    return forces
