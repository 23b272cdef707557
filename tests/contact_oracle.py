"""An oracle for contact problems: every combination of modes is tried, and the law is checked from its definition.

Nothing here is shared with the engine. A slip direction in space that is not given is found by Newton's method from
many starting angles at once; forces that are not unique are moved into their cones by alternating projections.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from contactsim.contact.modes import Mode
from contactsim.contact.problem import ContactProblem

Array = np.ndarray
EPS = 1e-9  # relative: what counts as zero when a candidate is judged


@dataclass(frozen=True)
class Found:
    """One combination of modes that satisfies the law, with its forces and motion."""

    modes: tuple[Mode, ...]
    forces: Array
    motion: Array


def rows(problem: ContactProblem) -> list[tuple[int, slice]]:
    """Normal row and tangential rows of each contact."""
    starts = np.cumsum([0, *problem.dims[:-1]])
    return [(int(s), slice(int(s) + 1, int(s) + d)) for s, d in zip(starts, problem.dims, strict=True)]


def scales(problem: ContactProblem, forces: Array) -> tuple[float, float]:
    """Size of motions and of forces."""
    return max(np.abs(problem.free).max(), 1e-300), max(np.abs(forces).max(), 1e-300)


def law_violation(problem: ContactProblem, forces: Array) -> float:
    """Largest relative violation of Signorini's and Coulomb's laws by `forces`, with the modes they imply."""
    w = problem.delassus @ forces + problem.free
    of_motion, of_force = scales(problem, forces)
    worst = 0.0
    for i, (n, t) in enumerate(rows(problem)):
        normal, pull = forces[n] / of_force, np.linalg.norm(forces[t]) / of_force
        gap_rate, slip = w[n] / of_motion, w[t] / of_motion
        worst = max(worst, -normal, -gap_rate, min(abs(normal), abs(gap_rate)))
        if problem.dims[i] == 1:
            continue
        slipping = np.linalg.norm(
            forces[t] / of_force + problem.friction[i] * normal * slip_direction(problem, i, slip)
        )
        if problem.sliding[i] is not None:
            worst = max(worst, slipping)
            continue
        sticking = max(np.linalg.norm(slip), pull - problem.static_friction[i] * normal)
        opening = max(pull, abs(normal))
        worst = max(worst, min(sticking, slipping, opening))
    return worst


def slip_direction(problem: ContactProblem, i: int, slip: Array) -> Array:
    given = problem.sliding[i]
    if given is not None:
        return np.asarray(given)
    return slip / max(np.linalg.norm(slip), 1e-300)


def enumerate_modes(problem: ContactProblem, seed: int = 0, free_slip: bool = True) -> list[Found]:
    """All combinations of modes that satisfy the law, with their forces; several where the law allows several.

    Without `free_slip` a contact at rest only opens or sticks; redundant contacts need that, because slip directions
    are not isolated there.
    """
    rng = np.random.default_rng(seed)
    choices = []
    for dim, given in zip(problem.dims, problem.sliding, strict=True):
        if dim == 1:
            choices.append((Mode.OPEN, Mode.STICK))
        elif given is not None:
            choices.append((Mode.OPEN, Mode.SLIP))
        else:
            choices.append((Mode.OPEN, Mode.STICK, Mode.SLIP) if free_slip else (Mode.OPEN, Mode.STICK))
    found: list[Found] = []
    for modes in itertools.product(*choices):
        for forces in candidates(problem, modes, rng):
            if admissible(problem, modes, forces):
                motion = problem.delassus @ forces + problem.free
                if all(other.modes != modes or not np.allclose(other.forces, forces, atol=1e-6) for other in found):
                    found.append(Found(modes, forces, motion))
    return found


def candidates(problem: ContactProblem, modes: tuple[Mode, ...], rng: np.random.Generator) -> list[Array]:
    """Forces that satisfy the equations of the modes (not yet the inequalities)."""
    free_slips = [
        i for i, mode in enumerate(modes) if mode is Mode.SLIP and problem.sliding[i] is None and problem.dims[i] > 1
    ]
    planar = [i for i in free_slips if problem.dims[i] == 2]
    spatial = [i for i in free_slips if problem.dims[i] == 3]
    result = []
    for signs in itertools.product((-1.0, 1.0), repeat=len(planar)):
        fixed = {i: np.array([sign]) for i, sign in zip(planar, signs, strict=True)}
        for i, given in enumerate(problem.sliding):
            if modes[i] is Mode.SLIP and given is not None:
                fixed[i] = np.asarray(given)
        for angles in converged_angles(problem, modes, fixed, spatial, rng):
            result.extend(solve_linear(problem, modes, fixed, spatial, angles))
    return result


def system(
    problem: ContactProblem, modes: tuple[Mode, ...], fixed: dict[int, Array], spatial: list[int], angles: Array
) -> tuple[Array, Array]:
    """Equations A lam = b of the modes for a stack of angles (k, n_spatial): A (k, m, m), b (m,)."""
    m = len(problem.free)
    A = np.zeros((len(angles), m, m))
    b = np.zeros(m)
    for i, (n, t) in enumerate(rows(problem)):
        if modes[i] is Mode.OPEN:
            A[:, n, n] = 1.0
            A[:, t, t] = np.eye(problem.dims[i] - 1)
            continue
        A[:, n], b[n] = problem.delassus[n], -problem.free[n]
        if modes[i] is Mode.STICK:
            A[:, t], b[t] = problem.delassus[t], -problem.free[t]
            continue
        A[:, t, t] = np.eye(problem.dims[i] - 1)
        if i in spatial:
            angle = angles[:, spatial.index(i)]
            A[:, t, n] = problem.friction[i] * np.column_stack([np.cos(angle), np.sin(angle)])
        else:
            A[:, t, n] = problem.friction[i] * fixed[i]
    return A, b


def converged_angles(
    problem: ContactProblem,
    modes: tuple[Mode, ...],
    fixed: dict[int, Array],
    spatial: list[int],
    rng: np.random.Generator,
) -> Array:
    """Angles (k, n_spatial) at which every free slip direction is that of its own motion, from many starts at once."""
    k = len(spatial)
    if k == 0:
        return np.zeros((1, 0))
    if k <= 2:
        angles = np.array(list(itertools.product(np.arange(8) * np.pi / 4, repeat=k))) + 0.1
    else:
        angles = rng.uniform(0, 2 * np.pi, size=(64, k))
    size, settled = float(np.abs(problem.free).max()), []
    for round_ in range(25):
        step, residual = newton_step(problem, modes, fixed, spatial, angles)
        angles, off = angles - step, np.abs(residual).max(axis=1)
        settled.append(angles[off < 1e-13 * size])
        going = off >= 1e-13 * size
        if round_ == 14:  # what is not in sight of a solution by now never will be
            going &= off < 1e-1 * size
        angles, off = angles[going], off[going]
        if not len(angles):
            break
    angles = np.mod(np.concatenate([*settled, angles[off < 1e-10 * size]]), 2 * np.pi)
    return angles[np.unique(np.round(angles, 6), axis=0, return_index=True)[1]] if len(angles) else angles


def newton_step(
    problem: ContactProblem, modes: tuple[Mode, ...], fixed: dict[int, Array], spatial: list[int], angles: Array
) -> tuple[Array, Array]:
    """One damped Newton step for a stack of angles, and the motion across each slip direction before it."""
    table, k = rows(problem), len(spatial)
    A, b = system(problem, modes, fixed, spatial, angles)
    inverse = np.linalg.inv(A)
    lam = inverse @ b
    w = lam @ problem.delassus.T + problem.free
    along = np.stack([np.cos(angles), np.sin(angles)], axis=-1)  # (stack, contact, 2)
    across = np.stack([-np.sin(angles), np.cos(angles)], axis=-1)
    residual, jacobian = np.empty((len(angles), k)), np.empty((len(angles), k, k))
    for column, j in enumerate(spatial):
        n, t = table[j]
        source = problem.friction[j] * lam[:, [n]] * across[:, column]
        d_w = -np.einsum("kij,kj->ki", inverse[:, :, t], source) @ problem.delassus.T
        for line, i in enumerate(spatial):
            jacobian[:, line, column] = np.sum(d_w[:, table[i][1]] * across[:, line], axis=1)
        residual[:, column] = np.sum(w[:, t] * across[:, column], axis=1)
        jacobian[:, column, column] -= np.sum(w[:, t] * along[:, column], axis=1)
    jacobian += 1e-14 * np.abs(problem.free).max() * np.eye(k)
    step = np.linalg.solve(jacobian, residual[:, :, None])[:, :, 0]
    return step * np.minimum(1.0, 0.5 / np.maximum(np.abs(step).max(axis=1), 1e-300))[:, None], residual


def solve_linear(
    problem: ContactProblem, modes: tuple[Mode, ...], fixed: dict[int, Array], spatial: list[int], angles: Array
) -> list[Array]:
    A, b = system(problem, modes, fixed, spatial, angles[None])
    forces, _, rank, _ = np.linalg.lstsq(A[0], b, rcond=1e-10)
    of_motion, of_force = scales(problem, forces)
    if np.abs(A[0] @ forces - b).max() > EPS * max(of_motion, of_force):
        return []
    if rank == len(b):
        return [forces]
    kernel = np.linalg.svd(A[0])[2][rank:]
    if np.abs(problem.delassus @ kernel.T).max() > 1e-8 * np.abs(problem.delassus).max():
        return [forces]  # the motion is not unique either: only the smallest forces are looked at
    return [forces, into_cones(problem, modes, forces, kernel)]


def into_cones(problem: ContactProblem, modes: tuple[Mode, ...], forces: Array, kernel: Array) -> Array:
    """Forces in `forces` + span(kernel) inside the cones of the sticking contacts, by alternating projections."""
    table = [(n, t, problem.static_friction[i], modes[i]) for i, (n, t) in enumerate(rows(problem))]
    lam = forces.copy()
    for _ in range(400):
        target = lam.copy()
        for n, t, mu, mode in table:
            if mode is Mode.STICK:
                target[n], target[t] = on_cone(lam[n], lam[t], 0.999 * mu)
            elif mode is Mode.SLIP:
                target[n] = max(lam[n], 0.0)
        if np.abs(target - lam).max() <= 1e-14 * np.abs(lam).max():
            break
        lam = forces + kernel.T @ (kernel @ (target - forces))
    return lam


def on_cone(normal: float, tangential: Array, mu: float) -> tuple[float, Array]:
    """Nearest point of the cone |t| <= mu n."""
    length = float(np.linalg.norm(tangential))
    if length <= mu * normal:
        return normal, tangential
    if mu * length <= -normal:
        return 0.0, 0.0 * tangential
    height = (normal + mu * length) / (1 + mu * mu)
    return height, mu * height * tangential / length


def admissible(problem: ContactProblem, modes: tuple[Mode, ...], forces: Array) -> bool:
    """Whether forces that satisfy the equations of the modes also satisfy their inequalities."""
    w = problem.delassus @ forces + problem.free
    of_motion, of_force = scales(problem, forces)
    for i, (n, t) in enumerate(rows(problem)):
        if w[n] < -EPS * of_motion or forces[n] < -EPS * of_force:
            return False
        if modes[i] is Mode.STICK and problem.dims[i] > 1:
            if np.linalg.norm(forces[t]) > problem.static_friction[i] * forces[n] + EPS * of_force:
                return False
        elif modes[i] is Mode.SLIP and problem.sliding[i] is None:
            against = forces[t] @ w[t] if np.linalg.norm(forces[t]) else -1.0
            if against > EPS * of_force * of_motion:
                return False
    return law_violation(problem, forces) < 10 * EPS
