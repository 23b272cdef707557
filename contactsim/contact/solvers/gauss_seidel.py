"""Gauss and Seidel's sweeps over the contacts of a contact problem: forces of moderate accuracy where others fail.

Contact by contact, the forces of all others held, the contact's own problem is solved,

    w_i = G_ii lam_i + r_i,   r_i = w_i(others),   Signorini's and Coulomb's laws between w_i and lam_i,

directly where it is open, sticks, or slips in a known direction, and else by the fixed point of
lam = P(lam - rho (w + mu |w_t| n)), P the projection onto the cone. The sweeps converge slowly but hardly ever run in
circles; what they are used for is to tell the modes.

Source: Jourdan, Alart and Jean, A Gauss-Seidel like algorithm to solve frictional contact problems, 1998; Acary and
    Brogliato, Numerical Methods for Nonsmooth Dynamical Systems, 2008, Sec. 13.7.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import hypot

import numpy as np

from ...common.arrays import Array
from ..problem import ContactProblem, ContactSolution
from ..zero import NOTHING, STILL
from .contract import ContactSolver, Start

RUNAWAY = 1e9  # forces this many times those of the contacts alone are those of contacts that jam: no more sweeps
INNER = 30  # steps of the fixed point of one contact that slips in an unknown direction


@dataclass(frozen=True)
class GaussSeidel(ContactSolver):
    """Sweeps over the contacts, and those who go on from the modes of their forces.

    Attributes:
        rounds: numbers of sweeps, one after the other, behind each of which the modes are looked at.
        then: who is asked for the solution in these modes, in turn.
        after: sweeps before the first of them.
    """

    rounds: tuple[int, ...]
    then: tuple[ContactSolver, ...]
    after: int = 0

    def solve(self, problem: ContactProblem, start: Start) -> ContactSolution | None:
        """The first solution that one of `then` finds."""
        forces = swept(problem, self.after) if self.after else None
        for rounds in self.rounds:
            forces = swept(problem, rounds, forces)
            modes = Start.of_forces(problem, forces)
            for solver in self.then:
                if (solution := solver.solve(problem, modes)) is not None:
                    return solution
        return None


def swept(problem: ContactProblem, rounds: int, forces: Array | None = None) -> Array:
    """Forces (m,) after `rounds` rounds over all contacts, from `forces` or from none."""
    matrix = problem.delassus
    forces = np.zeros(len(problem.free)) if forces is None else forces.copy()
    motion = matrix @ forces + problem.free
    bound = RUNAWAY * float(np.abs(problem.free).max()) / max(float(matrix.diagonal().min()), NOTHING)
    parts = [problem.part(i) for i in range(len(problem.dims))]
    for _ in range(rounds):
        before = forces.copy()
        for i, part in enumerate(parts):
            now = forces[part].copy()
            found = _alone(problem, i, matrix[part, part], motion[part] - matrix[part, part] @ now, now)
            change = found - now
            if np.any(change):
                forces[part] = found
                motion = motion + matrix[:, part] @ change
        if np.abs(forces).max() > bound:
            return before
        if np.abs(forces - before).max() <= STILL * np.abs(forces).max():
            break
    return forces


def _alone(problem: ContactProblem, i: int, block: Array, rest: Array, now: Array) -> Array:
    """Forces of contact `i` that solve its own problem; those it has, `now`, where there are none."""
    mu, slip, least = float(problem.friction[i]), problem.sliding[i], problem.least(i)
    if not block.any():
        return now  # no force moves it
    if len(rest) == 1:
        return np.array([max(least, -rest[0] / block[0, 0])])
    if slip is not None:
        direction = np.concatenate([[1.0], -mu * slip])
        lift = float(block[0] @ direction)
        return direction * max(least, -rest[0] / lift) if lift > 0.0 else now
    if least == 0.0 and rest[0] >= 0.0:
        return np.zeros(len(rest))
    stuck = _at_rest(block, rest)
    if stuck[0] >= least and hypot(*stuck[1:]) <= mu * stuck[0]:
        return stuck
    step = 1.0 / float(np.linalg.norm(block))
    for _ in range(INNER):
        motion = block @ now + rest
        motion[0] += mu * hypot(*motion[1:])
        now = _into_cone(now - step * motion, mu, least)
    return now


def _at_rest(block: Array, rest: Array) -> Array:
    """Forces that bring a contact to rest; the smallest ones where it cannot move in every direction."""
    try:
        return np.linalg.solve(block, -rest)
    except np.linalg.LinAlgError:
        return np.linalg.lstsq(block, -rest, rcond=None)[0]


def _into_cone(forces: Array, mu: float, least: float) -> Array:
    """The point of the cone |lam_t| <= mu lam_n nearest to `forces`, its normal part no less than `least`."""
    normal, size = float(forces[0]), hypot(*forces[1:])
    if size > mu * normal:
        normal = max((normal + mu * size) / (1.0 + mu * mu), 0.0)
    normal = max(normal, least)
    tangential = forces[1:] * min(1.0, mu * normal / size) if size > 0.0 else forces[1:]
    return np.concatenate([[normal], tangential])
