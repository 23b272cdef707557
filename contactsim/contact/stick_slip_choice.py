"""The contact problem: which contacts open, stick or slip, and with what forces.

The laws are those of `contact_problem.py`. A first guess of the modes is solved directly and corrected contact by
contact; where that runs in circles, sweeps over the contacts propose the modes, and then a sequence of convex problems
does. What is returned was always solved directly with its modes and meets its residuals.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import hypot, prod
from typing import NamedTuple

import numpy as np

from ..common.arrays import Array
from ..errors import NoAdmissibleModeError
from .modes import Mode
from .problem import NOTHING, TOLERANCE, ContactProblem, ContactSolution, Direction
from .proposals import propose, read_modes
from .redundant_forces import least_margin
from .solvers.gauss_seidel import FEW_ROUNDS, ROUNDS, swept
from .solvers.pivot import solve_modes

__all__ = ["ContactProblem", "ContactSolution", "Direction", "broken", "slips_without_motion", "solve"]

CREEP = 10.0 * TOLERANCE  # motion of a held contact, relative to the largest, that a singular system leaves
HELD = 1e-6  # least margin, relative to the largest force, with which a contact is said to stick that need not slip
EXHAUSTIVE = 16384  # with at most this many combinations of modes all are tried before giving up: in some seconds


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
        solution = _pivot(*read_modes(problem, forces), quick=True)
    if solution is None:
        proposed = propose(problem)
        solution = _pivot(*proposed, quick=True) or _sweep(problem, forces)
        solution = solution or _pivot(problem, first, problem.directions) or _pivot(*proposed)
    few = prod(len(_choices(problem, i)) for i in range(len(problem.dims))) <= EXHAUSTIVE
    if solution is None and few:
        candidates = ((tried, solve_modes(tried, modes, slips)) for tried, modes, slips in _all_modes(problem))
        solution = next((found for tried, found in candidates if not broken(tried, found)), None)
    if solution is None:
        names = ", ".join(problem.names) or f"{len(problem.dims)} contacts"
        jammed = any(slip is not None for slip in problem.sliding)
        why = "(Painleve)" if jammed and few else "within what the search tries"
        raise NoAdmissibleModeError(
            f"no combination of open, stick and slip of {names} satisfies Coulomb's law {why}; lower the friction"
            " or give the contact compliance",
            contact_problem=problem,
        )
    return _held(problem, first, solution)


def _held(problem: ContactProblem, guess: tuple[Mode, ...], solution: ContactSolution) -> ContactSolution:
    """The solution with contacts put back to stick that may.

    Between the two coefficients both modes are admissible at rest, and the search may have passed through slip where
    the guess was to stick. And a force between two contacts of one body along their line moves nothing: with all
    friction at one of them it is said to slip, but its slip has no direction. A contact that breaks away begins to slip
    without motion, too, but as one that sticks it has no margin left.
    """
    if solution.lifted != problem.lifted:
        problem = replace(problem, lifted=solution.lifted)
    slipping = [i for i, m in enumerate(solution.modes) if m is Mode.SLIP and problem.sliding[i] is None]
    still = slips_without_motion(problem, solution)
    together = [still] if len(still) > 1 else []
    for group in (*together, *([i] for i in still)):
        stuck = _sticking(problem, solution, group)
        if stuck is not None and not stuck.unique and _has_margin(problem, stuck):
            solution = stuck
    for i in slipping:
        if guess[i] is Mode.STICK and problem.static_friction[i] != problem.friction[i]:
            solution = _sticking(problem, solution, [i]) or solution
    return solution


def slips_without_motion(problem: ContactProblem, solution: ContactSolution) -> list[int]:
    """The contacts that are said to begin to slip, but do not move along the ground."""
    return [
        i
        for i, mode in enumerate(solution.modes)
        if mode is Mode.SLIP and problem.sliding[i] is None
        if hypot(*solution.motion[problem.tangent(i)]) <= CREEP * problem.speed
    ]


def _sticking(problem: ContactProblem, solution: ContactSolution, group: list[int]) -> ContactSolution | None:
    """The solution with the contacts of a group sticking; None where that is not admissible."""
    modes = tuple(Mode.STICK if i in group else mode for i, mode in enumerate(solution.modes))
    stuck = solve_modes(problem, modes, solution.directions)
    return None if broken(problem, stuck) else stuck


def _has_margin(problem: ContactProblem, solution: ContactSolution) -> bool:
    return least_margin(problem, solution.modes, solution.forces) > HELD * float(np.abs(solution.forces).max())


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


def broken(problem: ContactProblem, solution: ContactSolution) -> dict[int, _Violation]:
    """The contacts that break the law in these modes."""
    found: dict[int, _Violation] = {}
    free = problem.speed
    force = max(float(np.abs(solution.forces).max()), NOTHING)
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
        elif not lifted and abs(solution.motion[n]) > CREEP * free:  # a singular system that has no solution
            found[i] = _Violation(abs(solution.motion[n]) / free, *parts)
        elif not lifted and solution.forces[n] - least < -tiny * force:
            found[i] = _Violation((least - solution.forces[n]) / force, *parts)
        elif mode is Mode.STICK and problem.dims[i] > 1:
            excess = hypot(*solution.forces[t]) - problem.static_friction[i] * solution.forces[n]
            creep = hypot(*solution.motion[t])  # of a singular system that has no solution
            if excess > tiny * force:
                found[i] = _Violation(excess / force, Mode.SLIP, lifted)
            elif creep > CREEP * free:
                found[i] = _Violation(creep / free, Mode.SLIP, lifted)
        elif mode is Mode.SLIP and problem.sliding[i] is None and problem.dims[i] > 1:
            motion, slip = solution.motion[t], solution.directions[i]
            along = float(motion @ slip)
            if along < -tiny * free or hypot(*(motion - along * slip)) > CREEP * free:  # type: ignore[operator]
                found[i] = _Violation(hypot(*motion) / free, Mode.STICK, lifted)
    return found


def _sweep(problem: ContactProblem, forces: Array) -> ContactSolution | None:
    """The solution in the modes that further sweeps over the contacts lead to; None where they lead to none."""
    for rounds in ROUNDS:
        forces = swept(problem, rounds, forces)
        proposed = read_modes(problem, forces)
        if (solution := _pivot(*proposed, quick=True) or _pivot(*proposed)) is not None:
            return solution
    return None


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
