"""The choice of modes: which contacts open, stick or slip, and with what forces.

The laws are those of `contactsim.contact.problem`. Solvers are tried in the order of one table; what is returned was
solved directly with its modes, or by sweeps to rounding where forces are not unique, and meets its residuals.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, combinations, islice
from math import hypot

import numpy as np

from ..errors import NoAdmissibleModeError
from .compiled import CompiledSolver, Unknown
from .limits import FEW_SWEEPS, LEAPS, SINGLY
from .modes import Mode
from .problem import ContactProblem, ContactSolution, islands, joined, part_of
from .redundant_forces import least_margin
from .solvers.contract import ContactSolver, Start
from .solvers.pivot import Pivot, solve_modes, violations
from .zero import CLEAR, CREEP, TOLERANCE

MINORS = 4096  # that are looked at for Painleve's paradox: in some tens of milliseconds
FIRST, QUICK, THOROUGH = Pivot(quick=True, singly=SINGLY), Pivot(quick=True), Pivot()


def in_order() -> Iterator[ContactSolver]:
    """All solvers, in the order in which they are tried.

    Mostly the guess is right, or nearly so. Where its corrections run in circles, or are many of many contacts, few
    sweeps tell the modes, then convex programs, then many sweeps; slip directions that Newton's method misses are
    looked for one by one after that. Last come forces that sweeps find, where no system of the modes tells them.
    """
    return chain((FIRST,), _behind_the_first())


def _behind_the_first() -> Iterator[ContactSolver]:
    """Those that are tried where the first one finds nothing, each loaded when its turn comes."""
    from .solvers.gauss_seidel import GaussSeidel, Sweeps

    yield GaussSeidel(FEW_SWEEPS, (QUICK,))
    from .solvers.conic import Conic

    yield Conic(QUICK)
    yield GaussSeidel((600, 600), (QUICK, THOROUGH), after=sum(FEW_SWEEPS))
    yield THOROUGH
    yield Conic(THOROUGH)
    from .solvers.enumerate import Enumerate

    yield Enumerate()
    yield Sweeps(LEAPS)


def solve(
    problem: ContactProblem,
    guess: tuple[Mode, ...] | None = None,
    solvers: tuple[ContactSolver, ...] | None = None,
    evenly: bool = False,
) -> ContactSolution:
    """Modes and forces of all contacts together, by the first of the solvers that finds any; None: all `in_order`.

    With `evenly`, of several motions of redundant contacts that of contacts that yield alike: see `even_sharing`.

    Raises:
        NoAdmissibleModeError: no combination of modes satisfies the law; the problem is attached.
    """
    if problem.rebound:
        shifted = solve(problem.shifted, guess, solvers, evenly)
        return replace(shifted, problem=replace(problem, lifted=shifted.lifted))
    if not problem.dims:
        return ContactSolution(problem, (), np.empty(0), (), True)
    parts = islands(problem)
    if len(parts) > 1:
        asked = problem if guess is None else replace(problem, guess=guess)
        return joined(
            problem, parts, [_told(_quiet(part_of(asked, own), problem.speed), solvers, evenly) for own in parts]
        )
    return _told(problem if guess is None else replace(problem, guess=guess), solvers, evenly)


def _told(problem: ContactProblem, solvers: tuple[ContactSolver, ...] | None, evenly: bool) -> ContactSolution:
    """The solution of contacts that move each other, and if it is to be shared `evenly` that one of several."""
    if solvers is None and problem.compiled is not None:
        compiled = _compiled(problem, problem.compiled, evenly)
        if compiled is not None:
            return compiled
    solution = _alone(problem, solvers)
    if not evenly or (solution.unique and Mode.OPEN not in solution.modes):
        return solution
    from .even_sharing import shared_evenly

    return shared_evenly(solution)


def _compiled(problem: ContactProblem, solver: CompiledSolver, evenly: bool) -> ContactSolution | None:
    """The same by a compiled engine; None where it leaves this problem to Python."""
    plain = problem.plain
    if plain is None:
        return None
    try:
        found = solver.chosen(plain, _guess(problem), problem.directions, evenly)
    except Unknown:
        return None
    return ContactSolution(problem, *found)


def _quiet(part: ContactProblem, speed: float) -> ContactProblem:
    """An island, at rest where its motion is rounding beside the largest of all: no modes are sought in that."""
    if part.given or np.abs(part.free).max() > TOLERANCE * speed:
        return part
    return replace(part, free=np.zeros(len(part.free)))


def _alone(problem: ContactProblem, solvers: tuple[ContactSolver, ...] | None) -> ContactSolution:
    """The same of contacts that move each other."""
    start = Start(_guess(problem), problem.directions, problem.lifted)
    solution = FIRST.solve(problem, start) if solvers is None else None
    if solution is None:
        others = _behind_the_first() if solvers is None else solvers
        solution = next((found for one in others if (found := one.solve(problem, start)) is not None), None)
    if solution is not None:
        return _held(solution, start.modes) if Mode.SLIP in solution.modes else solution
    tried = tuple(in_order()) if solvers is None else solvers
    raise NoAdmissibleModeError(_why_none(problem, start, tried), contact_problem=problem)


def _guess(problem: ContactProblem) -> tuple[Mode, ...]:
    """The modes that a problem is told to begin with; without any contacts go on as they move."""
    return problem.guess or tuple([Mode.STICK if slip is None else Mode.SLIP for slip in problem.sliding])


def _why_none(problem: ContactProblem, start: Start, solvers: tuple[ContactSolver, ...]) -> str:
    """The sentence on a problem for which no solver finds modes, each claim of which was looked at.

    It names Painleve where the matrix of the contacts that slide shows it, and friction where there is a solution
    without.
    """
    names = ", ".join(problem.names) or f"{len(problem.dims)} contacts"
    none = f"no combination of open, stick and slip of {names} satisfies Coulomb's law"
    proof = (
        "as each of them shows" if any(solver.proves(problem) for solver in solvers) else "within what the search tries"
    )
    driven = driven_into_the_ground(problem)
    if driven:
        into = ", ".join(problem.names[i] if problem.names else f"contact {i}" for i in driven)
        why = f" (Painleve), {proof}: friction drives {into} into the ground as it slides"
        return f"{none}{why}; lower the friction or give the contact compliance"
    zero = np.zeros(len(problem.friction))
    smooth = replace(problem, friction=zero, static_friction=zero)
    if any(solver.solve(smooth, start) is not None for solver in solvers):
        return f"{none}, {proof}; without friction there is one: lower the friction or give the contact compliance"
    return f"{none}, {proof}, nor without friction; look at the masses, the inertias and the places of the contacts"


def driven_into_the_ground(problem: ContactProblem) -> tuple[int, ...]:
    """The fewest contacts whose matrix of normal motion under normal forces shows Painleve's paradox; empty: none does.

        A = (G_nn - mu G_nt s)   has a principal minor that is not positive

    with friction of the contacts that slide, along s. Where all are positive (a P-matrix), normal forces exist and are
    unique for any free motion (Cottle, Pang and Stone, The Linear Complementarity Problem, 1992, Thm. 3.3.7). With
    many contacts only the minors of a few of them are looked at.
    """
    rubbing = {i for i, slip in enumerate(problem.sliding) if slip is not None and problem.friction[i] > 0.0}
    if not rubbing:
        return ()
    columns = problem.delassus[:, list(problem.starts)].copy()
    for i in rubbing:
        columns[:, problem.host(i)] -= problem.friction[i] * (
            problem.delassus[:, problem.tangent(i)] @ problem.sliding[i]
        )
    rubbing = {problem.host(i) for i in rubbing}
    matrix, count = columns[list(problem.starts)], problem.count
    smooth = problem.delassus[np.ix_(problem.starts, problem.starts)]
    sets = (chosen for size in range(1, count + 1) for chosen in combinations(range(count), size))
    for members in islice((chosen for chosen in sets if rubbing.intersection(chosen)), MINORS):
        block = np.ix_(members, members)
        usual = float(np.linalg.det(smooth[block]))
        if usual > 0.0 and float(np.linalg.det(matrix[block])) <= TOLERANCE * usual:
            return members
    return ()


def _held(solution: ContactSolution, guess: tuple[Mode, ...]) -> ContactSolution:
    """The solution with contacts put back to stick that may.

    Between the two coefficients both modes are admissible at rest, and the search may have passed through slip where
    the guess was to stick. And a force between two contacts of one body along their line moves nothing: with all
    friction at one of them it is said to slip, but its slip has no direction. Nor has that of a body on four corners of
    which two are found to bear it, squeezed against each other, and one that does not move to be open. A contact that
    breaks away begins to slip without motion, too, but as one that sticks it has no margin left.
    """
    problem = solution.problem
    slipping = [i for i, m in enumerate(solution.modes) if m is Mode.SLIP and problem.sliding[i] is None]
    still = slips_without_motion(solution)
    idle = _open_without_motion(solution) if still else []
    together = [group for group in ([*still, *idle] if idle else [], still) if len(group) > 1]
    for group in (*together, *([i] for i in still)):
        stuck = _sticking(solution, group)
        if stuck is not None and not stuck.unique and _has_margin(stuck):
            solution = stuck
    for i in slipping:
        if guess[i] is Mode.STICK and problem.static_friction[i] != problem.friction[i]:
            solution = _sticking(solution, [i]) or solution
    return solution


def slips_without_motion(solution: ContactSolution) -> list[int]:
    """The contacts that are said to begin to slip, but do not move along the ground."""
    problem = solution.problem
    return [
        i
        for i, mode in enumerate(solution.modes)
        if mode is Mode.SLIP and problem.sliding[i] is None
        if hypot(*solution.motion[problem.tangent(i)]) <= CREEP * problem.speed
    ]


def _open_without_motion(solution: ContactSolution) -> list[int]:
    """The contacts that are said to be open, but do not move at all."""
    problem = solution.problem
    return [
        i
        for i, mode in enumerate(solution.modes[: problem.count])
        if mode is Mode.OPEN and problem.sliding[i] is None
        if float(np.abs(solution.motion[problem.part(i)]).max()) <= CREEP * problem.speed
    ]


def _sticking(solution: ContactSolution, group: list[int]) -> ContactSolution | None:
    """The solution with the contacts of a group sticking; None where that is not admissible."""
    modes = tuple(Mode.STICK if i in group else mode for i, mode in enumerate(solution.modes))
    modes = solution.problem.with_hosts(modes)
    stuck = solve_modes(solution.problem, modes, solution.directions)
    return None if violations(stuck) else stuck


def _has_margin(solution: ContactSolution) -> bool:
    """True where contacts are clearly inside their cones, so that they are said to stick though they may slip."""
    margin = least_margin(solution.problem, solution.modes, solution.forces)
    return margin > CLEAR * float(np.abs(solution.forces).max())
