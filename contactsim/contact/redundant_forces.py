"""Forces of redundant contacts: among many that do the same, those farthest inside their cones."""

from __future__ import annotations

from math import hypot

import numpy as np

from ..common.arrays import Array
from .modes import Mode
from .problem import ContactProblem, islands, rows_of
from .zero import RANK, SMALLEST_FORCE, rounding

CLAMPED = 1e-6  # weight of small forces against their margin, where that has no bound; both relative


def least_margin(problem: ContactProblem, modes: tuple[Mode, ...], forces: Array) -> float:
    """The least of the cone margins; infinite where all contacts are open."""
    return min(cone_margins(problem, modes, forces), default=np.inf)


def cone_margins(problem: ContactProblem, modes: tuple[Mode, ...], forces: Array) -> list[float]:
    """Distance of the force of each closed contact from the edge of its cone, negative outside [N]."""
    margins = []
    for i, mode in enumerate(modes):
        if mode is Mode.OPEN:
            continue
        normal = float(forces[problem.normal(i)])
        if i < problem.count and i not in problem.lifted:
            margins.append(normal - problem.least(i))
        if mode is Mode.STICK and problem.widths[i]:
            margins.append(problem.static_friction[i] * normal - hypot(*forces[problem.tangent(i)]))
    return margins


def admissible(problem: ContactProblem, modes: tuple[Mode, ...], forces: Array, basis: Array, rows: list[int]) -> Array:
    """Among all forces with the same motion, those whose least cone margin is largest.

    Where none of them is admissible, all forces that keep the constrained rows still: contacts that slip redundantly
    leave the motion a choice, too (those that stick do not: where a symmetric form vanishes, so does its gradient).
    Contacts that do not push each other's bodies are looked at apart, and left alone where their margins are positive.
    """
    for island in islands(problem, [i for i, mode in enumerate(modes) if mode is not Mode.OPEN]):
        own = tuple(mode if i in island else Mode.OPEN for i, mode in enumerate(modes))
        if least_margin(problem, own, forces) >= 0.0:
            continue
        moved = np.any(basis[rows_of(problem, island)] != 0.0, axis=0)
        forces = _admissible_alone(problem, own, forces, basis[:, moved], rows)
    return forces


def _admissible_alone(
    problem: ContactProblem, modes: tuple[Mode, ...], forces: Array, basis: Array, rows: list[int]
) -> Array:
    """`admissible` of contacts that push each other."""
    best = None
    images = [problem.delassus @ basis]
    if Mode.SLIP in modes:
        images.append(problem.delassus[rows] @ basis)
    for image in images:
        _, values, directions = np.linalg.svd(image)
        free = directions[np.sum(values > RANK * values[0]) :].T
        if free.shape[1]:
            found = largest_margin(problem, modes, forces, basis @ free)
            best = found if best is None else best
            if least_margin(problem, modes, found) >= -rounding(found):
                return found
    return forces if best is None else best


def largest_margin(problem: ContactProblem, modes: tuple[Mode, ...], forces: Array, null: Array) -> Array:
    """Forces `forces` + `null` @ y whose least cone margin is largest: a small cone program.

    Variables (y, r); maximise r subject to mu_s lam_n - r in the second-order cone of lam_t, and lam_n >= r. Contacts
    that clamp a body may press as hard as they like: there r ends at the largest of `forces`, with a small y.
    """
    from .cone_program import minimiser

    closed = rows_of(problem, [i for i, mode in enumerate(modes) if mode is not Mode.OPEN])
    scale = max(float(np.abs(forces[closed]).max()), max(problem.given, default=0.0), SMALLEST_FORCE)
    width = null.shape[1]
    blocks, right, cones = [], [], []
    for i, mode in enumerate(modes):
        if mode is Mode.OPEN:
            continue
        n, t = problem.normal(i), problem.tangent(i)
        if i < problem.count and i not in problem.lifted:
            blocks.append(np.append(null[n], -1.0)[None, :])
            right.append(forces[n : n + 1] - problem.least(i))
            cones.append((False, 1))
        if mode is Mode.STICK and problem.widths[i]:
            mu = problem.static_friction[i]
            top = np.append(mu * null[n], -1.0)
            blocks.append(np.vstack([top, np.column_stack([null[t], np.zeros(problem.widths[i])])]))
            right.append(np.append(mu * forces[n], forces[t]))
            cones.append((True, 1 + problem.widths[i]))
    objective = np.append(np.zeros(width), -1.0)
    matrix, limits = -np.vstack(blocks), np.concatenate(right) / scale
    best = minimiser(None, objective, matrix, limits, cones)
    if best is None:
        held = CLAMPED * np.diag(np.append(np.ones(width), 0.0))
        matrix, limits = np.vstack([matrix, -objective]), np.append(limits, 1.0)
        best = minimiser(held, objective, matrix, limits, [*cones, (False, 1)])
    return forces if best is None else forces + scale * (null @ best[:width])
