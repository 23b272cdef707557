"""Modes proposed for a contact problem by a sequence of convex problems, and modes read from approximate forces."""

from __future__ import annotations

from dataclasses import replace
from math import hypot

import numpy as np

from ..common.arrays import Array
from .modes import Mode
from .problem import NOTHING, ContactProblem, Direction
from .solvers.conic import minimiser

PROPOSALS = 100
SETTLED = 1e-8  # change of forces, relative to the largest, at which their modes are clear
BARELY = 1e-7  # of the largest force: a contact whose force is less is open
INSIDE = 1e-6  # how far inside its cone a force sticks, relative to it


def propose(problem: ContactProblem) -> tuple[ContactProblem, tuple[Mode, ...], tuple[Direction, ...]]:
    """Modes and slip directions proposed by a sequence of convex problems, and the problem with contacts lifted.

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
        for i, slip in enumerate(problem.sliding):
            if slip is None:
                offset[problem.normal(i)] = problem.friction[i] * hypot(*motion[problem.tangent(i)])
        if np.abs(forces - previous).max() <= SETTLED * np.abs(forces).max(initial=NOTHING):
            break
    return read_modes(problem, forces + pushed)


def _cone_program(problem: ContactProblem, linear: Array) -> Array:
    """Minimiser of lam^T G lam / 2 + linear^T lam over cones |lam_t| <= mu lam_n; half-lines where contacts slide."""
    size = max(float(np.abs(linear).max()), NOTHING)
    weight = float(np.trace(problem.delassus)) / len(linear)
    unit = np.eye(len(linear))
    rows, cones, right = [], [], []
    for i, slip in enumerate(problem.sliding):
        n, t = problem.normal(i), problem.tangent(i)
        cone = slip is None and problem.dims[i] > 1
        if cone:
            scaled = unit[problem.part(i)].copy()
            scaled[0] *= problem.friction[i]
            rows.append(scaled)
            cones.append((True, problem.dims[i]))
            right += [0.0] * problem.dims[i]
        if not cone or problem.least(i) > 0.0:
            rows.append(unit[n : n + 1])
            cones.append((False, 1))
            right.append(-problem.least(i) * weight / size)
        if not cone and problem.dims[i] > 1:
            rows += [unit[t], -unit[t]]
            cones.append((False, 2 * (problem.dims[i] - 1)))
            right += [0.0] * (2 * (problem.dims[i] - 1))
    found = minimiser(problem.delassus / weight, linear / size, -np.vstack(rows), np.array(right), cones)
    return np.zeros(len(linear)) if found is None else found * (size / weight)


def read_modes(
    problem: ContactProblem, forces: Array
) -> tuple[ContactProblem, tuple[Mode, ...], tuple[Direction, ...]]:
    """Modes that forces of moderate accuracy belong to: zero, inside the cone, or on its boundary."""
    modes, directions, lifted = [], [], set()
    largest = float(np.abs(forces).max(initial=NOTHING))
    for i, slip in enumerate(problem.sliding):
        normal, tangential = forces[problem.normal(i)], forces[problem.tangent(i)]
        size, least = hypot(*tangential), problem.least(i)
        inside = size < problem.friction[i] * normal * (1.0 - INSIDE)
        barely = normal - least <= BARELY * largest
        if barely and least > 0.0:
            lifted.add(i)
        mode = Mode.OPEN if barely and not least > 0.0 else Mode.STICK if slip is None and inside else Mode.SLIP
        modes.append(Mode.STICK if mode is Mode.SLIP and problem.dims[i] == 1 else mode)
        directions.append(-tangential / size if mode is Mode.SLIP and size > 0.0 else None)
    return replace(problem, lifted=frozenset(lifted)), tuple(modes), tuple(directions)
