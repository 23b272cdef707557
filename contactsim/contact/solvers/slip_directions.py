"""Slip directions of contacts that begin to slip: w_t = kappa s with kappa >= 0 and lam_t = -mu lam_n s.

In the plane a direction is a sign. In space Newton's method turns all directions until each is that of its own motion;
where it fails they are turned one by one.
"""

from __future__ import annotations

from math import atan2, hypot
from typing import Protocol

import numpy as np

from ...common.arrays import Array
from ..modes import Mode
from ..problem import ContactProblem, Direction
from ..redundant_forces import least_margin
from ..zero import ACROSS, NOTHING, TOLERANCE, TURNED, rounding

NEWTON_STEPS = 40
QUICK_STEPS = 12  # of Newton's method on modes that may be wrong; from a good start it takes four to six
FARTHEST_TURN = 0.7  # rad, of a slip direction in one of its steps
ALIGNMENTS = 3  # rounds over the contacts in which each slip direction is turned alone, where Newton's method fails
FOLLOWED = 12  # times that slip directions are turned to those of their motion, before Newton's method is tried again
AGREEMENTS = 40  # times that they are turned to the motion under forces of largest margin; mostly three are enough
COMPASS = 12  # directions tried in such a turn


class Equations(Protocol):
    """The linear system of a problem in given modes, for any slip directions."""

    @property
    def problem(self) -> ContactProblem:
        """The contact problem."""
        ...

    @property
    def modes(self) -> tuple[Mode, ...]:
        """Mode of each contact."""
        ...

    def forces(self, slips: list[Direction]) -> tuple[Array, bool]:
        """Forces (m,) that make the constrained rows of the motion vanish, and whether they are the only ones."""
        ...

    def response(self, slips: list[Direction], push: Array) -> Array:
        """Forces (m, p) that keep the constrained rows as they are under other forces `push` (m, p), and these."""
        ...

    def inside(self, forces: Array, slips: list[Direction]) -> Array:
        """Redundant forces moved to where their least cone margin is largest."""
        ...


def free_direction(problem: ContactProblem, i: int) -> Array:
    """Direction in which contact `i` would slip without forces."""
    tangential = problem.free[problem.tangent(i)]
    length = hypot(*tangential)
    return tangential / length if length > 0.0 else np.eye(problem.dims[i] - 1)[0]


def turned(
    equations: Equations, slips: list[Direction], unknown: list[int], forces: Array, unique: bool, quick: bool
) -> tuple[Array, bool]:
    """Forces with each unknown direction in `slips` turned until it is that of its own motion.

    Without `quick`, directions are followed and then aligned one by one where Newton's method fails.
    """
    problem = equations.problem
    for i in (i for i in unknown if problem.dims[i] == 2):
        motion = problem.delassus @ forces + problem.free
        if float(motion[problem.tangent(i)] @ slips[i]) < -TOLERANCE * problem.speed:  # type: ignore[operator]
            slips[i] = -slips[i]  # type: ignore[operator]
            forces, unique = equations.forces(slips)
    spatial = [i for i in unknown if problem.dims[i] == 3]
    if not spatial:
        return forces, unique
    if quick:
        return _newton(equations, slips, spatial, forces, unique, QUICK_STEPS)[:2]
    start = [slips[i] for i in spatial]
    forces, unique, converged = _newton(equations, slips, spatial, forces, unique)
    if not converged or not _slips_forward(problem, slips, spatial, forces):
        for i, slip in zip(spatial, start, strict=True):
            slips[i] = slip
        _follow(equations, slips, spatial)
        forces, unique, converged = _newton(equations, slips, spatial, *equations.forces(slips))
    if not converged or not _slips_forward(problem, slips, spatial, forces):
        for _ in range(ALIGNMENTS):
            for i in spatial:
                _align(equations, slips, i)
        forces, unique, _ = _newton(equations, slips, spatial, *equations.forces(slips))
    return forces, unique


def agreed(equations: Equations, slips: list[Direction], spatial: list[int], forces: Array) -> Array:
    """Forces of largest margin whose motion has the slip directions that they were chosen with.

    Where contacts slip redundantly, which of the forces act decides on the motion along the ground. The directions are
    turned to those of the motion, and by Broyden's method where that turns them to and fro.
    """
    if not spatial:
        return forces
    problem = equations.problem
    off, turn, inverse = np.zeros(0), np.zeros(0), -np.eye(len(spatial))
    for _ in range(AGREEMENTS):
        motion = problem.delassus @ forces + problem.free
        aside = _asides(problem, slips, spatial, forces)[0].T @ motion
        if np.abs(aside).max() <= TOLERANCE * problem.speed:
            break
        before, off = off, _off(problem, slips, spatial, motion)
        if len(turn):
            change = inverse @ (off - before)
            inverse = inverse + np.outer(turn - change, turn @ inverse) / _nonzero(float(turn @ change))
        turn = _bounded(-inverse @ off)
        _rotate(slips, spatial, turn)
        forces = equations.forces(slips)[0]
        if least_margin(problem, equations.modes, forces) < 0.0:
            forces = equations.inside(forces, slips)
    return forces


def _off(problem: ContactProblem, slips: list[Direction], spatial: list[int], motion: Array) -> Array:
    """Angles (p,) from the slip directions to those of the motion [rad]."""
    angles = []
    for i in spatial:
        moved, slip = motion[problem.tangent(i)], slips[i]
        angles.append(atan2(float(_normal_to(slip) @ moved), float(slip @ moved)))  # type: ignore[operator]
    return np.array(angles)


def _nonzero(value: float) -> float:
    return value if abs(value) > NOTHING else NOTHING


def _slips_forward(problem: ContactProblem, slips: list[Direction], spatial: list[int], forces: Array) -> bool:
    """True where no contact slips against its direction."""
    motion = problem.delassus @ forces + problem.free
    return all(float(motion[problem.tangent(i)] @ slips[i]) >= -rounding(motion) for i in spatial)  # type: ignore[operator]


def _newton(
    equations: Equations,
    slips: list[Direction],
    spatial: list[int],
    forces: Array,
    unique: bool,
    steps: int = NEWTON_STEPS,
) -> tuple[Array, bool, bool]:
    """Newton's method on the angles of the slip directions in space, whose `forces` are known; whether it converged."""
    problem = equations.problem
    floor = ACROSS * problem.speed
    for _ in range(steps):
        motion = problem.delassus @ forces + problem.free
        aside, pull = _asides(problem, slips, spatial, forces)
        across = aside.T @ motion
        if np.abs(across).max() <= floor:
            return forces, unique, True
        along = [float(motion[problem.tangent(i)] @ slips[i]) for i in spatial]  # type: ignore[operator]
        jacobian = aside.T @ (problem.delassus @ equations.response(slips, pull)) - np.diag(along)
        turn = _bounded(np.linalg.lstsq(jacobian, -across, rcond=ACROSS)[0])
        _rotate(slips, spatial, turn)
        forces, unique = equations.forces(slips)
        if np.abs(turn).max() < TURNED:
            return forces, unique, True
    motion = problem.delassus @ forces + problem.free
    across = _asides(problem, slips, spatial, forces)[0].T @ motion
    return forces, unique, bool(np.abs(across).max() <= rounding(motion))


def _follow(equations: Equations, slips: list[Direction], spatial: list[int]) -> None:
    """Turn all slip directions some times to those of their motion, which leads to where contacts move along them."""
    problem = equations.problem
    for _ in range(FOLLOWED):
        motion = problem.delassus @ equations.forces(slips)[0] + problem.free
        for i in spatial:
            slip = motion[problem.tangent(i)]
            size = hypot(*slip)
            if size > 0.0:
                slips[i] = slip / size


def _align(equations: Equations, slips: list[Direction], i: int) -> None:
    """Turn the slip direction of contact `i` alone, the others held, to where the contact moves along it."""
    problem = equations.problem
    angles = np.arange(COMPASS + 1) * (2.0 * np.pi / COMPASS)
    around, along, across = [], [], []
    for angle in angles:
        around.append(np.array([np.cos(angle), np.sin(angle)]))
        slips[i] = around[-1]
        motion = (problem.delassus @ equations.forces(slips)[0] + problem.free)[problem.tangent(i)]
        along.append(float(motion @ slips[i]))
        across.append(float(motion @ _normal_to(slips[i])))
    best, found = -np.inf, slips[i]
    for k in range(COMPASS):
        if across[k] * across[k + 1] <= 0.0 and across[k] != across[k + 1] and along[k] + along[k + 1] > best:
            best = along[k] + along[k + 1]
            part = across[k] / (across[k] - across[k + 1])
            found = _rotated(around[k], part * (2.0 * np.pi / COMPASS))
    slips[i] = found


def _asides(problem: ContactProblem, slips: list[Direction], spatial: list[int], forces: Array) -> tuple[Array, Array]:
    """Unit vectors (m, p) across the slip directions, and the forces (m, p) that a turn of each adds."""
    aside = np.zeros((len(forces), len(spatial)))
    for column, i in enumerate(spatial):
        aside[problem.tangent(i), column] = _normal_to(slips[i])
    return aside, aside * np.array([-problem.friction[i] * forces[problem.normal(i)] for i in spatial])


def _bounded(turn: Array) -> Array:
    """Turns (p,), all of them shortened where one is too far."""
    return turn * min(1.0, FARTHEST_TURN / max(float(np.abs(turn).max()), NOTHING))


def _rotate(slips: list[Direction], spatial: list[int], turn: Array) -> None:
    for angle, i in zip(turn, spatial, strict=True):
        slips[i] = _rotated(slips[i], float(angle))


def _rotated(direction: Direction, angle: float) -> Array:
    found = np.cos(angle) * direction + np.sin(angle) * _normal_to(direction)
    return found / hypot(*found)


def _normal_to(direction: Direction) -> Array:
    assert direction is not None
    return np.array([-direction[1], direction[0]])
