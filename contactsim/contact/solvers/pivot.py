"""The contact problem in given modes: a linear system, and Newton's method for unknown slip directions.

Where forces are not unique, the smallest ones are taken, in least squares; where those leave their cones, the ones with
the largest least margin among all that leave the motion as it is, and then, where contacts slip redundantly, among all
that keep the closed contacts closed.
"""

from __future__ import annotations

from math import atan2, hypot

import numpy as np
from scipy.linalg.lapack import dgecon, dgesv, dgetrs

from ...common.arrays import Array
from ..linear_algebra import RANK
from ..modes import Mode
from ..problem import NOTHING, TOLERANCE, ContactProblem, ContactSolution, Direction, rounding
from ..redundant_forces import admissible, least_margin

NEWTON_STEPS = 40
QUICK_STEPS = 12  # of Newton's method on modes that may be wrong; from a good start it takes four to six
FARTHEST_TURN = 0.7  # rad, of a slip direction in one of its steps
SETTLED = 1e-15  # rad: turns below it are rounding
ACROSS = 1e-14  # motion across a slip direction, relative to the largest motion, that is rounding
ALIGNMENTS = 3  # rounds over the contacts in which each slip direction is turned alone, where Newton's method fails
FOLLOWED = 12  # times that slip directions are turned to those of their motion, before Newton's method is tried again
AGREEMENTS = 40  # times that they are turned to the motion under forces of largest margin; mostly three are enough
COMPASS = 12  # directions tried in such a turn
REGULAR = 1e-9  # reciprocal condition above which a matrix is regular without a look at its singular values


def solve_modes(
    problem: ContactProblem,
    modes: tuple[Mode, ...],
    directions: tuple[Direction, ...] | None = None,
    quick: bool = False,
) -> ContactSolution:
    """Forces in given modes, admissible or not: a linear system, and Newton's method for unknown slip directions.

    Where that fails, directions are looked for one by one, unless it is to be `quick`: the modes may be wrong.
    """
    slips = list(directions or problem.directions or (None,) * len(modes))
    for i, mode in enumerate(modes):
        if mode is not Mode.SLIP or problem.dims[i] == 1:
            slips[i] = None
        elif (given := problem.sliding[i]) is not None:
            slips[i] = np.asarray(given)
        elif slips[i] is None:
            slips[i] = _free_direction(problem, i)
    unknown = [i for i, s in enumerate(slips) if s is not None and problem.sliding[i] is None]
    forces, unique = _linear(problem, modes, slips)
    if unknown:
        forces, unique = _turn(problem, modes, slips, unknown, forces, unique, quick)
    if not unique and least_margin(problem, modes, forces) < 0.0:
        forces = admissible(problem, modes, forces, *_basis(problem, modes, slips))
        forces = _agreed(problem, modes, slips, [i for i in unknown if problem.dims[i] == 3], forces)
    motion = problem.delassus @ forces + problem.free
    return ContactSolution(
        modes,
        forces,
        motion,
        tuple(slips),
        unique,
        _residuals(problem, modes, forces, motion, slips),
        problem.lifted,
    )


def _basis(problem: ContactProblem, modes: tuple[Mode, ...], slips: list[Direction]) -> tuple[Array, list[int]]:
    """Matrix E (m, k) from unknowns to forces, and the k rows of the motion that must vanish."""
    rows: list[int] = []
    sliding: list[tuple[int, int]] = []  # contact, column of its normal force
    for i, mode in enumerate(modes):
        if mode is Mode.OPEN:
            continue
        start, held = problem.starts[i], i not in problem.lifted
        if held:
            if slips[i] is not None:
                sliding.append((i, len(rows)))
            rows.append(start)
        if mode is Mode.STICK:
            rows.extend(range(start + 1, start + problem.dims[i]))
    basis = np.zeros((len(problem.free), len(rows)))
    basis[rows, range(len(rows))] = 1.0
    for i, column in sliding:
        basis[problem.tangent(i), column] = -problem.friction[i] * slips[i]  # type: ignore[operator]
    return basis, rows


def _known_forces(problem: ContactProblem, slips: list[Direction]) -> Array | None:
    """Forces (m,) of the contacts that part under their given normal force, less the friction of those that stick."""
    if not problem.lifted:
        return None
    known = np.zeros(len(problem.free))
    for i in problem.lifted:
        known[problem.normal(i)] = problem.least(i)
        slip = slips[i]
        if slip is not None:
            known[problem.tangent(i)] = -problem.friction[i] * problem.least(i) * slip
    return known


def _linear(problem: ContactProblem, modes: tuple[Mode, ...], slips: list[Direction]) -> tuple[Array, bool]:
    """Forces (m,) that make the constrained rows of the motion vanish; the smallest ones where they are not unique."""
    basis, rows = _basis(problem, modes, slips)
    known = _known_forces(problem, slips)
    if not rows:
        return np.zeros(len(problem.free)) if known is None else known, True
    right = -problem.free[rows] if known is None else -(problem.free + problem.delassus @ known)[rows]
    unknowns, unique = _solved(problem.delassus[rows] @ basis, right)
    return basis @ unknowns if known is None else known + basis @ unknowns, unique


def _solved(matrix: Array, right: Array) -> tuple[Array, bool]:
    """Solution of A x = b, refined once, and whether it is the only one; else the smallest in least squares."""
    lu, pivots, unknowns, info = dgesv(matrix, right)
    if not info and dgecon(lu, float(np.abs(matrix).sum(axis=0).max()))[0] > REGULAR:
        return unknowns + dgetrs(lu, pivots, right - matrix @ unknowns)[0], True
    unknowns, _, rank, _ = np.linalg.lstsq(matrix, right, rcond=RANK)
    if rank == len(matrix):
        return unknowns + np.linalg.solve(matrix, right - matrix @ unknowns), True
    return unknowns, False


def _turn(
    problem: ContactProblem,
    modes: tuple[Mode, ...],
    slips: list[Direction],
    unknown: list[int],
    forces: Array,
    unique: bool,
    quick: bool,
) -> tuple[Array, bool]:
    """Turn the unknown slip directions until each is that of its own motion: w_t = kappa s with kappa >= 0."""
    planar = [i for i in unknown if problem.dims[i] == 2]
    for i in planar:  # in the plane a direction is a sign: take the other one where the motion contradicts it
        motion = problem.delassus @ forces + problem.free
        if float(motion[problem.tangent(i)] @ slips[i]) < -TOLERANCE * problem.speed:  # type: ignore[operator]
            slips[i] = -slips[i]  # type: ignore[operator]
            forces, unique = _linear(problem, modes, slips)
    spatial = [i for i in unknown if problem.dims[i] == 3]
    if not spatial:
        return forces, unique
    if quick:
        return _newton(problem, modes, slips, spatial, QUICK_STEPS)[:2]
    start = [slips[i] for i in spatial]
    forces, unique, converged = _newton(problem, modes, slips, spatial)
    if not converged or not _slips_forward(problem, forces, slips, spatial):
        for i, slip in zip(spatial, start, strict=True):
            slips[i] = slip
        _follow(problem, modes, slips, spatial)
        forces, unique, converged = _newton(problem, modes, slips, spatial)
    if not converged or not _slips_forward(problem, forces, slips, spatial):
        for _ in range(ALIGNMENTS):
            for i in spatial:
                _align(problem, modes, slips, i)
        forces, unique, _ = _newton(problem, modes, slips, spatial)
    return forces, unique


def _slips_forward(problem: ContactProblem, forces: Array, slips: list[Direction], spatial: list[int]) -> bool:
    motion = problem.delassus @ forces + problem.free
    return all(float(motion[problem.tangent(i)] @ slips[i]) >= -rounding(motion) for i in spatial)  # type: ignore[operator]


def _agreed(
    problem: ContactProblem, modes: tuple[Mode, ...], slips: list[Direction], spatial: list[int], forces: Array
) -> Array:
    """Forces of largest margin whose motion has the slip directions that they were chosen with.

    Where contacts slip redundantly, which of the forces act decides on the motion along the ground. The directions are
    turned to those of the motion, and by Broyden's method where that turns them to and fro.
    """
    if not spatial:
        return forces
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
        turn = -inverse @ off
        turn *= min(1.0, FARTHEST_TURN / max(float(np.abs(turn).max()), NOTHING))
        for angle, i in zip(turn, spatial, strict=True):
            slips[i] = _rotate(slips[i], float(angle))  # type: ignore[arg-type]
        forces = _linear(problem, modes, slips)[0]
        if least_margin(problem, modes, forces) < 0.0:
            forces = admissible(problem, modes, forces, *_basis(problem, modes, slips))
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


def _follow(problem: ContactProblem, modes: tuple[Mode, ...], slips: list[Direction], spatial: list[int]) -> None:
    """Turn all slip directions some times to those of their motion, which leads to where contacts move along them."""
    for _ in range(FOLLOWED):
        motion = problem.delassus @ _linear(problem, modes, slips)[0] + problem.free
        for i in spatial:
            slip = motion[problem.tangent(i)]
            size = hypot(*slip)
            if size > 0.0:
                slips[i] = slip / size


def _align(problem: ContactProblem, modes: tuple[Mode, ...], slips: list[Direction], i: int) -> None:
    """Turn the slip direction of contact `i` alone, the others held, to where the contact moves along it."""
    angles = np.arange(COMPASS + 1) * (2.0 * np.pi / COMPASS)
    around, along, across = [], [], []
    for angle in angles:
        around.append(np.array([np.cos(angle), np.sin(angle)]))
        slips[i] = around[-1]
        motion = (problem.delassus @ _linear(problem, modes, slips)[0] + problem.free)[problem.tangent(i)]
        along.append(float(motion @ slips[i]))
        across.append(float(motion @ _normal_to(slips[i])))
    best, turned = -np.inf, slips[i]
    for k in range(COMPASS):
        if across[k] * across[k + 1] <= 0.0 and across[k] != across[k + 1] and along[k] + along[k + 1] > best:
            best = along[k] + along[k + 1]
            part = across[k] / (across[k] - across[k + 1])
            turned = _rotate(around[k], part * (2.0 * np.pi / COMPASS))
    slips[i] = turned


def _newton(
    problem: ContactProblem,
    modes: tuple[Mode, ...],
    slips: list[Direction],
    spatial: list[int],
    steps: int = NEWTON_STEPS,
) -> tuple[Array, bool, bool]:
    """Newton's method on the angles of the unknown slip directions."""
    forces, unique = _linear(problem, modes, slips)
    floor = ACROSS * problem.speed
    for _ in range(steps):
        motion = problem.delassus @ forces + problem.free
        aside, pull = _asides(problem, slips, spatial, forces)
        across = aside.T @ motion
        if np.abs(across).max() <= floor:
            return forces, unique, True
        basis, rows = _basis(problem, modes, slips)
        if rows:
            pull += basis @ _solved(problem.delassus[rows] @ basis, -(problem.delassus[rows] @ pull))[0]
        along = [float(motion[problem.tangent(i)] @ slips[i]) for i in spatial]  # type: ignore[operator]
        jacobian = aside.T @ (problem.delassus @ pull) - np.diag(along)
        turn = np.linalg.lstsq(jacobian, -across, rcond=ACROSS)[0]
        turn *= min(1.0, FARTHEST_TURN / max(float(np.abs(turn).max()), NOTHING))
        for angle, i in zip(turn, spatial, strict=True):
            slips[i] = _rotate(slips[i], float(angle))  # type: ignore[arg-type]
        forces, unique = _linear(problem, modes, slips)
        if np.abs(turn).max() < SETTLED:
            return forces, unique, True
    motion = problem.delassus @ forces + problem.free
    across = _asides(problem, slips, spatial, forces)[0].T @ motion
    return forces, unique, bool(np.abs(across).max() <= rounding(motion))


def _asides(problem: ContactProblem, slips: list[Direction], spatial: list[int], forces: Array) -> tuple[Array, Array]:
    """Unit vectors (m, p) across the slip directions, and the forces (m, p) that a turn of each adds."""
    aside = np.zeros((len(forces), len(spatial)))
    for column, i in enumerate(spatial):
        aside[problem.tangent(i), column] = _normal_to(slips[i])
    return aside, aside * np.array([-problem.friction[i] * forces[problem.normal(i)] for i in spatial])


def _free_direction(problem: ContactProblem, i: int) -> Array:
    tangential = problem.free[problem.tangent(i)]
    length = hypot(*tangential)
    return tangential / length if length > 0.0 else np.eye(problem.dims[i] - 1)[0]


def _normal_to(direction: Direction) -> Array:
    assert direction is not None
    return np.array([-direction[1], direction[0]])


def _rotate(direction: Array, angle: float) -> Array:
    turned = np.cos(angle) * direction + np.sin(angle) * _normal_to(direction)
    return turned / hypot(*turned)


def _residuals(
    problem: ContactProblem, modes: tuple[Mode, ...], forces: Array, motion: Array, slips: list[Direction]
) -> dict[str, float]:
    """Largest violation of each law, from the definitions (not from the equations that were solved)."""
    signorini = cone = friction = 0.0
    for i, mode in enumerate(modes):
        n, t = problem.normal(i), problem.tangent(i)
        force = forces[n] - problem.least(i)
        signorini = max(signorini, -motion[n], -force, min(abs(motion[n]), abs(force)))
        if problem.dims[i] == 1:
            continue
        mu = problem.static_friction[i] if mode is Mode.STICK else problem.friction[i]
        cone = max(cone, hypot(*forces[t]) - mu * forces[n])
        if mode is Mode.STICK:
            friction = max(friction, hypot(*motion[t]))
        elif mode is Mode.SLIP:
            slip = np.asarray(slips[i])
            friction = max(friction, hypot(*(forces[t] + mu * forces[n] * slip)))
            if problem.sliding[i] is None:
                friction = max(friction, hypot(*(motion[t] - hypot(*motion[t]) * slip)))
    return {"signorini": float(signorini), "cone": max(cone, 0.0), "friction": friction}
