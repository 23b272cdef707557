"""Outcomes with redundant contacts: of several that fulfil the law, that of contacts that yield alike.

They are those of impacts, and of accelerations where contacts begin to slip: for impulses and velocities read forces
and accelerations then.

Where contacts that do the same slip, their normal impulses may be shared in many ways, each of which rubs in another
way: Signorini's and Coulomb's laws leave the motion a choice. It is made as bodies make it, which yield a little,

    w = (G + eps 1) lam + w0,   eps -> 0.

For eps > 0 impulses are unique where friction is little, and they follow the state without a leap. In the limit, with
the rows C that modes hold still, impulses lam = E y that obey their friction, and U whose columns span what C G C^T
takes to zero (by geometry alone: U^T C J = 0),

    C G E y = -C w0,   U^T y = 0:

those under a face are those of a bed of equal springs, and change linearly along it. A row c C J that hangs on those
that are held moves by -eps (c y), against the impulse that they have at its place: an open contact parts where that
would pull, and one without slip velocity slips against it where it is more than mu lam_n. Where nothing slips these are
the smallest impulses.

Source: Tikhonov's regularisation, Cottle, Pang and Stone, The Linear Complementarity Problem, 1992, Sec. 5.6.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import hypot

import numpy as np

from ..common.arrays import Array
from ..common.lazy import dataclass
from .limits import BLOWN_UP
from .linear_algebra import kernel
from .modes import Mode
from .problem import ContactProblem, ContactSolution, Direction
from .solvers.contract import Start
from .solvers.pivot import GivenModes, Violation, corrected, solve_modes, violations
from .zero import ACROSS_SINGULAR, CLEAR, CREEP, HANGS, RANK

Directions = Sequence[Direction]


def shared_evenly(solution: ContactSolution) -> ContactSolution:
    """The outcome of contacts that yield alike, of a problem without rebounds or given impulses.

    It is `solution` itself where impulses leave its motion no choice, or that of contacts that yield is the same, and
    what slips there has a speed; `undecided` says that none was found.
    """
    problem = solution.problem
    if problem.given or (solution.unique and not _others_at_rest(problem, solution)) or _moves_nothing(solution):
        return solution
    is_choice = motion_is_a_choice(solution)
    if not is_choice and not _slipping_idly(solution):
        return solution
    found = _sharing(solution)
    if found is None:
        return replace(solution, undecided=is_choice)
    off = float(np.abs(found.motion - solution.motion).max())
    same = off <= ACROSS_SINGULAR * problem.speed
    return solution if same and not _slipping_idly(solution) else found


def motion_is_a_choice(solution: ContactSolution) -> bool:
    """Whether impulses that all hold still what touches in the end move it along the ground in different ways."""
    problem = solution.problem.shifted
    modes, directions = _touching(problem, solution)
    if Mode.SLIP not in modes:  # then what moves no held row moves nothing
        return False
    basis, rows = GivenModes(problem, modes).basis(directions)
    moved = problem.delassus @ basis
    free = kernel(moved[rows]) if rows else np.zeros((0, 0))
    return bool(free.size) and float(np.abs(moved @ free).max()) > CLEAR * float(np.abs(moved).max())


def _others_at_rest(problem: ContactProblem, solution: ContactSolution) -> list[int]:
    """Open contacts that do not move along their normals."""
    if Mode.OPEN not in solution.modes:
        return []
    still, motion = ACROSS_SINGULAR * problem.speed, problem.delassus @ solution.forces + problem.free
    return [
        i
        for i, mode in enumerate(solution.modes[: problem.count])
        if mode is Mode.OPEN and abs(motion[problem.normal(i)]) <= still
        if not (problem.slack and np.isinf(problem.slack[i]))
    ]


def _moves_nothing(solution: ContactSolution) -> bool:
    """Whether impulses are rounding beside the velocities that they should change."""
    problem = solution.problem
    return float(np.abs(problem.delassus @ solution.forces).max()) <= ACROSS_SINGULAR * problem.speed


def _slipping_idly(solution: ContactSolution) -> dict[int, float]:
    """Contacts that begin to slip without speed, though pressed, and how little that is."""
    problem, idle = solution.problem, {}
    still = ACROSS_SINGULAR * problem.speed
    for i, mode in enumerate(solution.modes):
        if mode is Mode.SLIP and problem.widths[i] and problem.sliding[i] is None:
            n, speed = problem.normal(i), hypot(*solution.motion[problem.tangent(i)])
            if speed <= still < float(problem.delassus[n, n] * solution.forces[n]):
                idle[i] = speed
    return idle


def _touching(problem: ContactProblem, solution: ContactSolution) -> tuple[tuple[Mode, ...], Directions]:
    """Modes and slip directions of all that touches in the end."""
    modes, directions = list(solution.modes), list(solution.directions)
    for i in _others_at_rest(problem, solution):
        modes[i], directions[i] = _closed(problem, solution.forces, i)
    return problem.with_hosts(tuple(modes)), directions


def _closed(problem: ContactProblem, forces: Array, i: int) -> tuple[Mode, Direction]:
    """The mode in which a contact closes that moves under `forces`: it slips if it moves along the ground."""
    slip = problem.delassus[problem.tangent(i)] @ forces + problem.free[problem.tangent(i)]
    size = hypot(*slip)
    if size <= ACROSS_SINGULAR * problem.speed:
        return Mode.STICK, None
    return Mode.SLIP, slip / size


def _sharing(solution: ContactSolution) -> ContactSolution | None:
    """The limit of contacts that yield alike, by pivoting from what touches in the end; None: that runs in circles.

    Contacts at rest that slip in the limit alone are said to stick.
    """
    problem = solution.problem
    modes, directions = _touching(problem, solution)
    size, seen, one_at_a_time = problem.force(solution.forces), set[tuple[Mode, ...]](), False
    for _ in range(8 * len(modes) + 8):
        yielding = _Yielding.of(problem, modes, size)
        tried = solve_modes(yielding.problem, modes, directions)
        wrong = violations(tried) or yielding.idle(tried)
        if not wrong:
            return yielding.at_rest(tried)
        if modes in seen:
            if one_at_a_time:
                return None
            one_at_a_time, seen = True, set()
        seen.add(modes)
        worst = max(wrong, key=lambda i: wrong[i].size)
        start = corrected(tried, {worst: wrong[worst]} if one_at_a_time else wrong)
        modes, directions = _as_they_move(problem, tried, start)
    return None


def _as_they_move(problem: ContactProblem, tried: ContactSolution, start: Start) -> tuple[tuple[Mode, ...], Directions]:
    """The start, in which contacts that close go on to slip where they move."""
    modes, directions = list(start.modes), list(start.directions or ())
    for i, mode in enumerate(tried.modes):
        if mode is Mode.OPEN and modes[i] is Mode.STICK and problem.widths[i]:
            modes[i], directions[i] = _closed(problem, tried.forces, i)
    return tuple(modes), directions


@dataclass(frozen=True)
class _Yielding:
    """A problem whose held rows and those that hang on them move as those of contacts that yield alike.

    Attributes:
        problem: the problem, with other rows of G, and other free motions of these.
        given: the one that it was made of.
        creeping: contacts that slip by yielding alone.
        redundant: whether impulses of the held rows move nothing.
    """

    problem: ContactProblem
    given: ContactProblem
    creeping: list[int]
    redundant: bool

    @staticmethod
    def of(given: ContactProblem, modes: tuple[Mode, ...], size: float) -> _Yielding:
        """The problem in given modes; an impulse of `size` is said to make what yields as fast as what moves."""
        rows = GivenModes(given, modes).rows
        G, w0, speed = given.delassus, given.free, given.speed
        matrix, free = G.copy(), w0.copy()
        values, vectors = np.linalg.eigh(G[np.ix_(rows, rows)])
        clear = values > RANK * float(values.max(initial=0.0))
        held, null = vectors[:, clear], vectors[:, ~clear]
        apart = null @ (null.T @ w0[rows])
        matrix[np.ix_(rows, rows)] += float(np.trace(G)) / len(G) * (null @ null.T)
        free[rows] += apart * (BLOWN_UP if np.abs(apart).max(initial=0.0) > CREEP * speed else -1.0)
        creeping = []
        for i, own in _beside(given, modes):
            hangs = (G[np.ix_(own, rows)] @ held / values[clear]) @ held.T
            alone = np.abs(np.diag(G[np.ix_(own, own)] - hangs @ G[np.ix_(rows, own)]))
            off = np.abs(w0[own] - hangs @ w0[rows])
            if np.all(alone <= HANGS * np.diag(G[np.ix_(own, own)])) and np.all(off <= CREEP * speed):
                matrix[own], free[own] = 0.0, 0.0
                matrix[np.ix_(own, rows)] = -speed / size * hangs
                creeping += [i] if modes[i] is Mode.SLIP else []
        other = given.at(matrix, free, given.sliding, speed=speed)
        return _Yielding(other, given, creeping, bool(null.size))

    def idle(self, found: ContactSolution) -> dict[int, Violation]:
        """Contacts that slip without speed, though not by yielding: which way they go by yielding is not known."""
        return {i: Violation(v, Mode.STICK) for i, v in _slipping_idly(found).items() if i not in self.creeping}

    def at_rest(self, found: ContactSolution) -> ContactSolution:
        """The solution of the given problem, in which contacts stick that slip by yielding alone."""
        modes = tuple(Mode.STICK if i in self.creeping else mode for i, mode in enumerate(found.modes))
        slips = tuple(None if i in self.creeping else slip for i, slip in enumerate(found.directions))
        return ContactSolution(self.given, modes, found.forces, slips, found.unique and not self.redundant)


def _beside(problem: ContactProblem, modes: tuple[Mode, ...]) -> list[tuple[int, list[int]]]:
    """Contacts with rows that are looked at but not held: normals of open ones, tangents of those that slip."""
    beside = []
    for i, mode in enumerate(modes):
        n, t = problem.rows[i]
        if mode is Mode.OPEN and i < problem.count:
            beside.append((i, [n]))
        elif mode is Mode.SLIP and problem.widths[i] and problem.sliding[i] is None:
            beside.append((i, list(range(t.start, t.stop))))
    return beside
