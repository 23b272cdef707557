"""The contact problem on plain arrays: which contacts open, stick or slip, and with what forces.

Rows come contact by contact, each with its normal row first and then d_t = 0, 1 or 2 tangential rows. With the Delassus
matrix G and the free motion w0, forces (or impulses) lam and accelerations (or velocities) w obey

    w = G lam + w0
    0 <= w_n  _|_  lam_n >= 0
    STICK: w_t = 0 and |lam_t| <= mu_s lam_n
    SLIP:  lam_t = -mu_k lam_n s, with s given where the contact slides already, else w_t = kappa s, kappa >= 0

(Signorini's and Coulomb's laws, Leine and Nijmeijer 2004; the circular cone, no pyramid). Where a normal force is
given that acts in any case, as in the expansion of an impact, Signorini's law holds for what comes on top of it.

A first guess of the modes is solved directly and corrected contact by contact; where that runs in circles, sweeps over
the contacts propose the modes, and then a sequence of convex problems does. What is returned was always solved directly
with its modes and meets its residuals. Where forces are not unique, the smallest ones are taken, in least squares;
where those leave their cones, the ones with the largest least margin among all that leave the motion as it is, and
then, where contacts slip redundantly, among all that keep the closed contacts closed.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from math import hypot
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.linalg.lapack import dgecon, dgesv, dgetrs

from ..errors import NoAdmissibleModeError
from .algebra import RANK
from .modes import Mode
from .sweeps import FEW_ROUNDS, ROUNDS, swept

if TYPE_CHECKING:
    from scipy.sparse import csc_matrix

Array = np.ndarray
Direction = Array | None

TOLERANCE = 1e-9  # forces and motions are zero below this fraction of the largest of their kind
NEWTON_STEPS = 40
QUICK_STEPS = 12  # of Newton's method on modes that may be wrong; from a good start it takes four to six
ALIGNMENTS = 3  # rounds over the contacts in which each slip direction is turned alone, where Newton's method fails
FOLLOWED = 12  # times that slip directions are turned to those of their motion, before Newton's method is tried again
AGREEMENTS = 40  # times that they are turned to the motion under forces of largest margin; mostly three are enough
COMPASS = 12  # directions tried in such a turn
PROPOSALS = 100
REGULAR = 1e-9  # reciprocal condition above which a matrix is regular without a look at its singular values
CLAMPED = 1e-6  # weight of small forces against their margin, where that has no bound; both relative
EXHAUSTIVE = 6  # with at most this many contacts all modes are tried before giving up


@dataclass(frozen=True)
class ContactProblem:
    """Data of one contact problem.

    Attributes:
        delassus: G (m, m), J M^-1 J^T.
        free: w0 (m,), motion of the contacts without contact forces.
        dims: rows of each contact, 1 + d_t.
        friction: kinetic coefficients (n,).
        static_friction: static coefficients (n,), at least the kinetic ones.
        sliding: unit slip direction (d_t,) of each contact that slides, None where its slip velocity is zero.
        guess: modes to try first; where several modes are admissible, those nearest to the guess are found.
        directions: unit slip directions to start from, for contacts that begin to slip.
        names: names of the contacts, for messages.
        slack: what counts as zero of each open contact's normal motion, for one whose force has just fallen to zero
            as closely as the time of an event can be met; empty: nothing.
        given: normal force of each contact that acts in any case: 0 <= w_n  _|_  lam_n - given >= 0, with the friction
            of the whole lam_n; empty: none.
        lifted: contacts that stick or slip under their given normal force while they part, to be tried first.
    """

    delassus: Array
    free: Array
    dims: tuple[int, ...]
    friction: Array
    static_friction: Array
    sliding: tuple[Direction, ...]
    guess: tuple[Mode, ...] | None = None
    directions: tuple[Direction, ...] | None = None
    names: tuple[str, ...] = ()
    slack: tuple[float, ...] = ()
    given: tuple[float, ...] = ()
    lifted: frozenset[int] = frozenset()

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """Index of the normal row of each contact."""
        return tuple(int(k) for k in np.cumsum((0, *self.dims[:-1])))

    def normal(self, i: int) -> int:
        """Row of the normal of contact `i`."""
        return self.starts[i]

    def tangent(self, i: int) -> slice:
        """Tangential rows of contact `i`."""
        return slice(self.starts[i] + 1, self.starts[i] + self.dims[i])

    def part(self, i: int) -> slice:
        """All rows of contact `i`."""
        return slice(self.starts[i], self.starts[i] + self.dims[i])

    @cached_property
    def speed(self) -> float:
        """Largest motion that the problem starts with, or that the given forces cause."""
        largest = float(np.abs(self.free).max(initial=1e-300))
        if not self.given:
            return largest
        normals = list(self.starts)
        return max(largest, float(np.abs(self.delassus[:, normals] * np.array(self.given)).max()))

    def least(self, i: int) -> float:
        """Normal force of contact `i` that acts in any case."""
        return self.given[i] if self.given else 0.0


@dataclass(frozen=True)
class ContactSolution:
    """Modes, forces and motion that satisfy a contact problem.

    Attributes:
        modes: OPEN, STICK or SLIP of each contact.
        forces: lam (m,).
        motion: w (m,).
        directions: unit slip direction of each slipping contact, else None.
        unique: whether the forces are the only ones; the motion always is, unless contacts slip redundantly.
        residuals: {law: largest violation}, in the unit of w or lam.
        lifted: contacts that stick or slip under their given normal force while they part.
    """

    modes: tuple[Mode, ...]
    forces: Array
    motion: Array
    directions: tuple[Direction, ...]
    unique: bool
    residuals: Mapping[str, float]
    lifted: frozenset[int] = frozenset()


def solve(problem: ContactProblem, guess: tuple[Mode, ...] | None = None) -> ContactSolution:
    """Modes and forces of all contacts together.

    Raises:
        NoAdmissibleModeError: no combination of modes satisfies the law; the problem is attached.
    """
    if not problem.dims:
        return ContactSolution((), np.empty(0), np.empty(0), (), True, {})
    first = guess or problem.guess or _plain_guess(problem)
    solution = _pivot(problem, first, problem.directions, quick=True)
    if solution is None:
        forces = swept(problem, FEW_ROUNDS)
        solution = _pivot(*_read_modes(problem, forces), quick=True)
    if solution is None:
        proposed = _propose(problem)
        solution = _pivot(*proposed, quick=True) or _sweep(problem, forces)
        solution = solution or _pivot(problem, first, problem.directions) or _pivot(*proposed)
    if solution is None and len(problem.dims) <= EXHAUSTIVE:
        candidates = ((tried, solve_modes(tried, modes, slips)) for tried, modes, slips in _all_modes(problem))
        solution = next((found for tried, found in candidates if not broken(tried, found)), None)
    if solution is None:
        names = ", ".join(problem.names) or f"{len(problem.dims)} contacts"
        jammed = any(slip is not None for slip in problem.sliding)
        why = "(Painleve)" if jammed else "within what the search tries"
        raise NoAdmissibleModeError(
            f"no combination of open, stick and slip of {names} satisfies Coulomb's law {why}; lower the friction"
            " or give the contact compliance",
            contact_problem=problem,
        )
    return _held(problem, first, solution)


def _held(problem: ContactProblem, guess: tuple[Mode, ...], solution: ContactSolution) -> ContactSolution:
    """The solution with contacts put back to stick that were guessed to, where static friction admits that, too.

    Between the two coefficients both modes are admissible at rest; the search may have passed through slip.
    """
    if solution.lifted != problem.lifted:
        problem = replace(problem, lifted=solution.lifted)
    for i, mode in enumerate(solution.modes):
        if guess[i] is not Mode.STICK or mode is not Mode.SLIP or problem.static_friction[i] == problem.friction[i]:
            continue
        modes = (*solution.modes[:i], Mode.STICK, *solution.modes[i + 1 :])
        stuck = solve_modes(problem, modes, solution.directions)
        if not broken(problem, stuck):
            solution = stuck
    return solution


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
    if not unique and _least_margin(problem, modes, forces) < 0.0:
        forces = _admissible(problem, modes, forces, *_basis(problem, modes, slips))
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


# --- one set of modes ---------------------------------------------------------------------------------------------


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
    return all(float(motion[problem.tangent(i)] @ slips[i]) >= -_scale(motion) for i in spatial)  # type: ignore[operator]


def _agreed(
    problem: ContactProblem, modes: tuple[Mode, ...], slips: list[Direction], spatial: list[int], forces: Array
) -> Array:
    """Forces of largest margin whose motion has the slip directions that they were chosen with.

    Where contacts slip redundantly, which of the forces act decides on the motion along the ground.
    """
    for _ in range(AGREEMENTS):
        motion = problem.delassus @ forces + problem.free
        aside = _asides(problem, slips, spatial, forces)[0].T @ motion
        if np.abs(aside).max(initial=0.0) <= TOLERANCE * problem.speed:
            break
        for i in spatial:
            slip = motion[problem.tangent(i)]
            size = hypot(*slip)
            slips[i] = slip / size if size > 0.0 else slips[i]
        forces = _linear(problem, modes, slips)[0]
        if _least_margin(problem, modes, forces) < 0.0:
            forces = _admissible(problem, modes, forces, *_basis(problem, modes, slips))
    return forces


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
    floor = 1e-14 * problem.speed
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
        turn = np.linalg.lstsq(jacobian, -across, rcond=1e-14)[0]
        turn *= min(1.0, 0.7 / max(float(np.abs(turn).max()), 1e-300))
        for angle, i in zip(turn, spatial, strict=True):
            slips[i] = _rotate(slips[i], float(angle))  # type: ignore[arg-type]
        forces, unique = _linear(problem, modes, slips)
        if np.abs(turn).max() < 1e-15:
            return forces, unique, True
    motion = problem.delassus @ forces + problem.free
    across = _asides(problem, slips, spatial, forces)[0].T @ motion
    return forces, unique, bool(np.abs(across).max() <= _scale(motion))


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


# --- forces that are not unique -----------------------------------------------------------------------------------


def _least_margin(problem: ContactProblem, modes: tuple[Mode, ...], forces: Array) -> float:
    return min(cone_margins(problem, modes, forces), default=np.inf)


def cone_margins(problem: ContactProblem, modes: tuple[Mode, ...], forces: Array) -> list[float]:
    """How far the force of each closed contact lies inside its cone [N]."""
    margins = []
    for i, mode in enumerate(modes):
        if mode is Mode.OPEN:
            continue
        normal = float(forces[problem.normal(i)])
        if i not in problem.lifted:
            margins.append(normal - problem.least(i))
        if mode is Mode.STICK and problem.dims[i] > 1:
            margins.append(problem.static_friction[i] * normal - hypot(*forces[problem.tangent(i)]))
    return margins


def _admissible(
    problem: ContactProblem, modes: tuple[Mode, ...], forces: Array, basis: Array, rows: list[int]
) -> Array:
    """Among all forces with the same motion, those whose least cone margin is largest.

    Where none of them is admissible, all forces that keep the constrained rows still: contacts that slip redundantly
    leave the motion a choice, too (those that stick do not: where a symmetric form vanishes, so does its gradient).
    """
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
            if _least_margin(problem, modes, found) >= -_scale(found):
                return found
    return forces if best is None else best


def largest_margin(problem: ContactProblem, modes: tuple[Mode, ...], forces: Array, null: Array) -> Array:
    """Forces `forces` + `null` @ y whose least cone margin is largest: a small cone program.

    Variables (y, r); maximise r subject to mu_s lam_n - r in the second-order cone of lam_t, and lam_n >= r. Contacts
    that clamp a body may press as hard as they like: there r ends at the largest of `forces`, with a small y.
    """
    scale = max(float(np.abs(forces).max()), max(problem.given, default=0.0), 1e-12)
    width = null.shape[1]
    blocks, right, cones = [], [], []
    for i, mode in enumerate(modes):
        if mode is Mode.OPEN:
            continue
        n, t = problem.normal(i), problem.tangent(i)
        if i not in problem.lifted:
            blocks.append(np.append(null[n], -1.0)[None, :])
            right.append(forces[n : n + 1] - problem.least(i))
            cones.append((False, 1))
        if mode is Mode.STICK and problem.dims[i] > 1:
            mu = problem.static_friction[i]
            top = np.append(mu * null[n], -1.0)
            blocks.append(np.vstack([top, np.column_stack([null[t], np.zeros(problem.dims[i] - 1)])]))
            right.append(np.append(mu * forces[n], forces[t]))
            cones.append((True, problem.dims[i]))
    objective = np.append(np.zeros(width), -1.0)
    matrix, limits = -np.vstack(blocks), np.concatenate(right) / scale
    best = _clarabel(None, objective, matrix, limits, cones)
    if best is None:
        held = CLAMPED * np.diag(np.append(np.ones(width), 0.0))
        matrix, limits = np.vstack([matrix, -objective]), np.append(limits, 1.0)
        best = _clarabel(held, objective, matrix, limits, [*cones, (False, 1)])
    return forces if best is None else forces + scale * (null @ best[:width])


def _clarabel(
    quadratic: Array | None, linear: Array, matrix: Array, right: Array, cones: list[tuple[bool, int]]
) -> Array | None:
    """Minimiser of x^T P x / 2 + c^T x, right - matrix x in the cones: second-order (True) or non-negative (False).

    None where there is none, since x may grow for ever.
    """
    import clarabel
    from scipy.sparse import csc_matrix

    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    kinds = [clarabel.SecondOrderConeT(n) if second else clarabel.NonnegativeConeT(n) for second, n in cones]
    upper = _nothing(len(linear)) if quadratic is None else csc_matrix(np.triu(quadratic))
    solver = clarabel.DefaultSolver(upper, linear, csc_matrix(matrix), right, kinds, settings)
    found = solver.solve()
    endless = found.status in (clarabel.SolverStatus.DualInfeasible, clarabel.SolverStatus.AlmostDualInfeasible)
    return None if endless or not np.isfinite(found.x).all() else np.asarray(found.x)


@cache
def _nothing(n: int) -> csc_matrix:
    """The empty sparse matrix (n, n)."""
    from scipy.sparse import csc_matrix

    return csc_matrix((n, n))


# --- the search for modes -----------------------------------------------------------------------------------------


def _plain_guess(problem: ContactProblem) -> tuple[Mode, ...]:
    return tuple(Mode.STICK if s is None else Mode.SLIP for s in problem.sliding)


def _pivot(
    problem: ContactProblem,
    modes: tuple[Mode, ...],
    directions: tuple[Direction, ...] | None = None,
    quick: bool = False,
) -> ContactSolution | None:
    """Correct the modes of violated contacts, all at once at first and then one at a time, until none is left."""
    seen: set[tuple[tuple[Mode, ...], frozenset[int]]] = set()
    one_at_a_time = False
    for _ in range(8 * len(modes) + 8):
        solution = solve_modes(problem, modes, directions, quick)
        violations = broken(problem, solution)
        if not violations:
            return solution
        if (modes, problem.lifted) in seen:
            if one_at_a_time:
                return None
            one_at_a_time, seen = True, set()
        seen.add((modes, problem.lifted))
        worst = max(violations, key=lambda i: violations[i].size)
        chosen = {worst: violations[worst]} if one_at_a_time else violations
        modes, directions = _corrected(problem, solution, chosen)
        lifted = problem.lifted.difference(chosen) | {i for i, found in chosen.items() if found.lifted}
        if lifted != problem.lifted:
            problem = replace(problem, lifted=frozenset(lifted))
    return None


class _Violation(NamedTuple):
    """How far a contact is from its law, relative to the problem, and what to try instead."""

    size: float
    mode: Mode
    lifted: bool = False


def _corrected(
    problem: ContactProblem, solution: ContactSolution, chosen: Mapping[int, _Violation]
) -> tuple[tuple[Mode, ...], tuple[Direction, ...]]:
    modes, directions = list(solution.modes), list(solution.directions)
    for i, better in chosen.items():
        begins = better.mode is Mode.SLIP and modes[i] is not Mode.SLIP
        modes[i] = better.mode
        if begins and problem.sliding[i] is None:
            tangential = solution.forces[problem.tangent(i)]
            length = hypot(*tangential)
            directions[i] = -tangential / length if length > 0.0 else None
    return tuple(modes), tuple(directions)


def _scale(values: Array) -> float:
    return TOLERANCE * max(float(np.abs(values).max(initial=0.0)), 1e-300)


def broken(problem: ContactProblem, solution: ContactSolution) -> dict[int, _Violation]:
    """The contacts that break the law in these modes."""
    found: dict[int, _Violation] = {}
    free = problem.speed
    force = max(float(np.abs(solution.forces).max()), 1e-300)
    for i, mode in enumerate(solution.modes):
        n, t, tiny = problem.normal(i), problem.tangent(i), TOLERANCE
        closing = Mode.STICK if problem.sliding[i] is None else Mode.SLIP
        if mode is Mode.OPEN:
            if solution.motion[n] < -max(tiny * free, problem.slack[i] if problem.slack else 0.0):
                found[i] = _Violation(-solution.motion[n] / free, closing)
            continue
        least, lifted = problem.least(i), i in problem.lifted
        parts = (mode, True) if least > 0.0 else (Mode.OPEN, False)
        if lifted and solution.motion[n] < -tiny * free:
            found[i] = _Violation(-solution.motion[n] / free, mode)
        elif not lifted and abs(solution.motion[n]) > 10.0 * tiny * free:  # a singular system that has no solution
            found[i] = _Violation(abs(solution.motion[n]) / free, *parts)
        elif not lifted and solution.forces[n] - least < -tiny * force:
            found[i] = _Violation((least - solution.forces[n]) / force, *parts)
        elif mode is Mode.STICK and problem.dims[i] > 1:
            excess = hypot(*solution.forces[t]) - problem.static_friction[i] * solution.forces[n]
            creep = hypot(*solution.motion[t])  # of a singular system that has no solution
            if excess > tiny * force:
                found[i] = _Violation(excess / force, Mode.SLIP, lifted)
            elif creep > 10.0 * tiny * free:
                found[i] = _Violation(creep / free, Mode.SLIP, lifted)
        elif mode is Mode.SLIP and problem.sliding[i] is None and problem.dims[i] > 1:
            motion, slip = solution.motion[t], solution.directions[i]
            along = float(motion @ slip)
            if along < -tiny * free or hypot(*(motion - along * slip)) > 10.0 * tiny * free:  # type: ignore[operator]
                found[i] = _Violation(hypot(*motion) / free, Mode.STICK, lifted)
    return found


def _propose(problem: ContactProblem) -> tuple[ContactProblem, tuple[Mode, ...], tuple[Direction, ...]]:
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
        if np.abs(forces - previous).max() <= 1e-8 * np.abs(forces).max(initial=1e-300):
            break
    return _read_modes(problem, forces + pushed)


def _sweep(problem: ContactProblem, forces: Array) -> ContactSolution | None:
    """The solution in the modes that further sweeps over the contacts lead to; None where they lead to none."""
    for rounds in ROUNDS:
        forces = swept(problem, rounds, forces)
        proposed = _read_modes(problem, forces)
        if (solution := _pivot(*proposed, quick=True) or _pivot(*proposed)) is not None:
            return solution
    return None


def _cone_program(problem: ContactProblem, linear: Array) -> Array:
    """Minimiser of lam^T G lam / 2 + linear^T lam over cones |lam_t| <= mu lam_n; half-lines where contacts slide."""
    size = max(float(np.abs(linear).max()), 1e-300)
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
    found = _clarabel(problem.delassus / weight, linear / size, -np.vstack(rows), np.array(right), cones)
    return np.zeros(len(linear)) if found is None else found * (size / weight)


def _read_modes(
    problem: ContactProblem, forces: Array
) -> tuple[ContactProblem, tuple[Mode, ...], tuple[Direction, ...]]:
    """Modes that forces of moderate accuracy belong to: zero, inside the cone, or on its boundary."""
    modes, directions, lifted = [], [], set()
    largest = float(np.abs(forces).max(initial=1e-300))
    for i, slip in enumerate(problem.sliding):
        normal, tangential = forces[problem.normal(i)], forces[problem.tangent(i)]
        size, least = hypot(*tangential), problem.least(i)
        inside = size < problem.friction[i] * normal * (1.0 - 1e-6)
        barely = normal - least <= 1e-7 * largest
        if barely and least > 0.0:
            lifted.add(i)
        mode = Mode.OPEN if barely and not least > 0.0 else Mode.STICK if slip is None and inside else Mode.SLIP
        modes.append(Mode.STICK if mode is Mode.SLIP and problem.dims[i] == 1 else mode)
        directions.append(-tangential / size if mode is Mode.SLIP and size > 0.0 else None)
    return replace(problem, lifted=frozenset(lifted)), tuple(modes), tuple(directions)


def _all_modes(
    problem: ContactProblem,
) -> Iterator[tuple[ContactProblem, tuple[Mode, ...], tuple[Direction, ...]]]:
    """Every combination of modes, in the plane with both directions of each slip."""
    for chosen in itertools.product(*(_choices(problem, i) for i in range(len(problem.dims)))):
        lifted = frozenset(i for i, (_, parts, _) in enumerate(chosen) if parts)
        tried = replace(problem, lifted=lifted) if lifted else problem
        yield tried, tuple(mode for mode, _, _ in chosen), tuple(slip for _, _, slip in chosen)


def _choices(problem: ContactProblem, i: int) -> list[tuple[Mode, bool, Direction]]:
    """(mode, whether it is lifted, direction to start from) that contact `i` may have."""
    dim, given = problem.dims[i], problem.sliding[i] is not None
    ways: list[tuple[Mode, Direction]] = [] if given else [(Mode.STICK, None)]
    if given or dim == 3:
        ways.append((Mode.SLIP, None))
    elif dim == 2:
        ways += [(Mode.SLIP, np.ones(1)), (Mode.SLIP, -np.ones(1))]
    closed = [(mode, False, slip) for mode, slip in ways]
    if problem.least(i) > 0.0:
        return closed + [(mode, True, slip) for mode, slip in ways]
    return [*closed, (Mode.OPEN, False, None)]


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
