"""Modes corrected contact by contact, and the contact problem in given modes: a linear system."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from math import hypot, inf

import numpy as np

from ...common.arrays import Array
from ...common.lazy import NamedTuple, dataclass, lazy, scipy
from ..compiled import Unknown
from ..limits import FEW_ROUNDS, LEAP
from ..modes import Mode
from ..problem import ContactProblem, ContactSolution, Direction
from ..redundant_forces import Wanted, admissible, least_margin
from ..zero import CREEP, LOST, NOTHING, RANK, REGULAR, TOLERANCE, rounding
from .contract import ContactSolver, Start
from .slip_directions import Factors, GivenForces, agreed, continued, farthest, free_direction, turned


@dataclass(frozen=True)
class Pivot(ContactSolver):
    """Modes of contacts that break the law corrected, all at once at first and then one at a time, until none is left.

    Attributes:
        quick: unknown slip directions are found by Newton's method alone, since the modes may be wrong.
        singly: of more contacts than so many, modes are not corrected one at a time, nor often all at once.
    """

    quick: bool = False
    singly: float = inf

    def solve(self, problem: ContactProblem, start: Start) -> ContactSolution | None:
        """The solution to which corrections of the modes in `start` lead; None where they run in circles."""
        singly = len(problem.dims) <= self.singly or bool(problem.given)
        if self.quick and not start.lifted and problem.compiled is not None:
            with suppress(Unknown):
                return _compiled(problem, start, singly)
        modes = problem.with_hosts(start.modes) if problem.hosts else start.modes
        directions, lifted = start.directions, start.lifted
        seen: set[tuple[tuple[Mode, ...], frozenset[int]]] = set()
        one_at_a_time = False
        for _ in range(8 * len(modes) + 8 if singly else FEW_ROUNDS):
            if lifted != problem.lifted:
                problem = replace(problem, lifted=lifted)
            solution = solve_modes(problem, modes, directions, self.quick)
            found = violations(solution)
            if not found:
                return solution
            if (modes, lifted) in seen:
                if one_at_a_time or not singly:
                    return None
                one_at_a_time, seen = True, set()
            seen.add((modes, lifted))
            worst = max(found, key=lambda i: found[i].size)
            modes, directions, lifted = corrected(solution, {worst: found[worst]} if one_at_a_time else found)
        return None


def _compiled(problem: ContactProblem, start: Start, singly: bool) -> ContactSolution | None:
    """What a compiled engine makes of quick pivoting.

    Raises:
        Unknown: there is none, or it leaves this problem to Python.
    """
    plain = problem.plain
    if plain is None or problem.compiled is None:
        raise Unknown
    found = problem.compiled.pivot(plain, start.modes, start.directions, singly)
    return None if found is None else ContactSolution(problem, *found)


class Violation(NamedTuple):
    """The distance of a contact from its law, relative to the problem, and the mode to try instead."""

    size: float
    mode: Mode
    lifted: bool = False


def violations(solution: ContactSolution) -> dict[int, Violation]:
    """The contacts that break the law in the modes of a solution."""
    problem, forces, motion = solution.problem, solution.forces, solution.motion
    found: dict[int, Violation] = {}
    free, tiny = problem.speed, TOLERANCE
    force = max(float(np.abs(forces).max()), NOTHING)
    # A thin body turns fast under a small force: what remains of two large motions is known to their rounding only.
    held = max(CREEP * free, LOST * float((np.abs(problem.delassus) @ np.abs(forces)).max()))
    for i, (mode, (n, _)) in enumerate(zip(solution.modes, problem.rows, strict=True)):
        closing = Mode.STICK if problem.sliding[i] is None else Mode.SLIP
        if mode is Mode.OPEN:
            if i < problem.count and motion[n] < -max(tiny * free, problem.slack[i] if problem.slack else 0.0):
                found[i] = Violation(-motion[n] / free, closing)
            continue
        if i >= problem.count:
            if (resisting := _of_friction(solution, i, held, force)) is not None:
                found[i] = resisting
            continue
        least, lifted = problem.given[i] if problem.given else 0.0, i in problem.lifted
        parts = (mode, True) if least > 0.0 else (Mode.OPEN, False)
        if lifted and motion[n] < -tiny * free:
            found[i] = Violation(-motion[n] / free, mode)
        elif not lifted and abs(motion[n]) > held:  # a singular system that has no solution
            found[i] = Violation(abs(motion[n]) / free, *parts)
        elif not lifted and forces[n] - least < -tiny * force:
            found[i] = Violation((least - forces[n]) / force, *parts)
        elif (rubbing := _of_friction(solution, i, held, force)) is not None:
            found[i] = rubbing._replace(lifted=lifted)
    return found


def _of_friction(solution: ContactSolution, i: int, held: float, force: float) -> Violation | None:
    """The violation of Coulomb's law at contact `i`, which is closed; None where it obeys.

    Args:
        solution: of the problem in its modes.
        i: the contact.
        held: motion that counts as none.
        force: the largest of the forces.
    """
    problem, free = solution.problem, solution.problem.speed
    if not problem.widths[i]:
        return None
    n, t = problem.rows[i]
    tangential, motion = solution.forces[t], solution.motion[t]
    if solution.modes[i] is Mode.STICK:
        excess = hypot(*tangential) - problem.static_friction[i] * solution.forces[n]
        creep = hypot(*motion)  # of a singular system that has no solution
        if excess > TOLERANCE * force:
            return Violation(excess / force, Mode.SLIP)
        return Violation(creep / free, Mode.SLIP) if creep > held else None
    if problem.sliding[i] is not None:
        return None
    slip = solution.directions[i]
    along = float(motion @ slip)
    if along < -TOLERANCE * free or hypot(*(motion - along * slip)) > held:  # type: ignore[operator]
        return Violation(hypot(*motion) / free, Mode.STICK)
    return None


def corrected(solution: ContactSolution, chosen: dict[int, Violation]) -> Start:
    """The next start, with other modes for the chosen contacts."""
    problem, modes, directions = solution.problem, list(solution.modes), list(solution.directions)
    for i, better in chosen.items():
        begins = better.mode is Mode.SLIP and modes[i] is not Mode.SLIP
        modes[i] = better.mode
        if begins and problem.sliding[i] is None:
            tangential = solution.forces[problem.tangent(i)]
            length = hypot(*tangential)
            directions[i] = -tangential / length if length > 0.0 else None
    lifted = problem.lifted.difference(chosen) | {i for i, found in chosen.items() if found.lifted}
    return Start(problem.with_hosts(tuple(modes)), tuple(directions), frozenset(lifted))


def solve_modes(
    problem: ContactProblem,
    modes: tuple[Mode, ...],
    directions: Sequence[Direction] | None = None,
    quick: bool = False,
) -> ContactSolution:
    """Forces in given modes, admissible or not."""
    forces, slips, unique = GivenModes(problem, modes).solve(directions, quick)
    return ContactSolution(problem, modes, forces, slips, unique)


@dataclass(frozen=True)
class GivenModes:
    """The linear system of a contact problem in given modes, for any slip directions.

    With the rows C of the motion that must vanish, and forces lam = lam_0 + E y that obey the friction of the modes,

        (C G E) y = -C (w0 + G lam_0).

    Where forces are not unique, the smallest ones are taken, in least squares; where those leave their cones, the ones
    with the largest least margin among all that leave the motion as it is, and then, where contacts slip redundantly,
    among all that keep the closed contacts closed. Of a mode that is held, and where slips are to be found, these are
    the smallest admissible ones instead.
    """

    problem: ContactProblem
    modes: tuple[Mode, ...]

    def at(
        self, delassus: Array, free: Array, sliding: tuple[Direction, ...], friction: Array | None = None
    ) -> GivenModes:
        """The same modes in another state: for a field that asks at every evaluation, without preparing them anew."""
        other = object.__new__(GivenModes)
        pattern, rows, slipping = self._pattern
        if friction is not None:
            slipping = [(i, column, part, float(friction[i])) for i, column, part, _ in slipping]
        problem = self.problem.at(delassus, free, sliding, friction)
        other.__dict__.update(problem=problem, modes=self.modes, _pattern=(pattern, rows, slipping))
        return other

    def solve(
        self,
        directions: Sequence[Direction] | None = None,
        quick: bool = False,
        held: bool = False,
        before: Array | None = None,
    ) -> tuple[Array, tuple[Direction, ...], bool]:
        """Forces (m,), slip directions, and whether the forces are the only ones.

        Unknown slip directions are found by Newton's method from `directions`, and where that fails one by one, unless
        it is to be `quick`. In a mode that is `held`, they may go on to where a contact moves against its direction;
        where they leap, those are taken to which the forces `before` (m,), of a state close by, lead without a leap.
        """
        problem, slips, unknown = self.problem, list(directions or self.problem.directions or ()), []
        slips = slips or [None] * len(self.modes)
        for i, mode in enumerate(self.modes):
            if mode is not Mode.SLIP or not problem.widths[i]:
                slips[i] = None
            elif (slip := problem.sliding[i]) is not None:
                slips[i] = np.asarray(slip)
            else:
                slips[i] = free_direction(problem, i) if slips[i] is None else slips[i]
                unknown.append(i)
        given = self.forces(slips)
        if unknown:
            begin, spatial = list(slips), [i for i in unknown if problem.widths[i] == 2]
            given = turned(self, slips, unknown, given, quick, held)
            if before is not None and farthest(begin, slips, spatial) > LEAP:
                followed = continued(self, begin, spatial, before)
                slips, given = (begin, followed) if followed is not None else (slips, given)
        forces, unique = given.forces, given.unique
        if not unique and least_margin(problem, self.modes, forces) < 0.0:
            turning = [i for i in unknown if problem.widths[i] == 2]
            smallest = held or bool(turning)
            forces = self.inside(forces, slips, smallest)
            forces = agreed(self, slips, turning, forces, smallest)
        return forces, tuple(slips), unique

    def forces(self, slips: Sequence[Direction]) -> GivenForces:
        """Forces (m,) that make the constrained rows vanish, the smallest ones where there are others."""
        problem = self.problem
        basis, rows, slipping = self._pattern
        if slipping:
            basis, rows = self.basis(slips)
        known = self._known(slips) if problem.lifted else None
        if not rows:
            return GivenForces(np.zeros(len(problem.free)) if known is None else known, True, basis, None)
        right = -problem.free[rows] if known is None else -(problem.free + problem.delassus @ known)[rows]
        unknowns, factors, unique = _solved(self._held @ basis, right)
        forces = basis @ unknowns
        return GivenForces(forces if known is None else known + forces, unique, basis, factors)

    def response(self, given: GivenForces, pushed: Array) -> Array:
        """Forces (m, p) that keep the constrained rows still where others move the contacts by `pushed` (m, p)."""
        rows = self._pattern[1]
        if not rows:
            return np.zeros_like(pushed)
        right = -pushed[rows]
        if given.factors is not None:
            return given.basis @ scipy.linalg.lapack.dgetrs(*given.factors, right)[0]
        return given.basis @ _solved(self._held @ given.basis, right)[0]

    def inside(self, forces: Array, slips: Sequence[Direction], smallest: bool = False) -> Array:
        """Admissible forces beside redundant ones: of the largest margin, or the smallest where motion is a choice."""
        wanted = Wanted.SMALLEST if smallest else Wanted.SAME_MOTION
        return admissible(self.problem, self.modes, forces, *self.basis(slips), wanted)

    def widest(self, forces: Array, slips: Sequence[Direction]) -> float:
        """The least cone margin of redundant forces, or the largest that others have where it is as good as none."""
        found = admissible(self.problem, self.modes, forces, *self.basis(slips), Wanted.WIDEST, rounding(forces))
        return least_margin(self.problem, self.modes, found)

    def share(self, slips: Sequence[Direction]) -> float:
        """The least singular value of C G E that is not zero, as a share of the largest."""
        basis, rows = self.basis(slips)
        values = np.linalg.svd(self._held @ basis, compute_uv=False) if rows else np.ones(1)
        return float(values[values > RANK * values[0]].min(initial=values[0]) / max(values[0], NOTHING))

    def basis(self, slips: Sequence[Direction]) -> tuple[Array, list[int]]:
        """The matrix E (m, k), and the k rows of the motion that must vanish."""
        pattern, rows, slipping = self._pattern
        if not slipping:
            return pattern, rows
        basis = pattern.copy()
        for i, column, tangents, friction in slipping:
            basis[tangents, column] = -friction * slips[i]  # type: ignore[operator]
        return basis, rows

    @property
    def rows(self) -> list[int]:
        """The k rows of the motion that must vanish."""
        return self._pattern[1]

    @lazy
    def _held(self) -> Array:
        """The rows (k, m) of G whose motion must vanish."""
        return self.problem.delassus[self._pattern[1]]

    @lazy
    def _pattern(self) -> tuple[Array, list[int], list[tuple[int, int, slice, float]]]:
        """E without friction, the rows that vanish, and of those that slip (contact, column of its normal force, ...).

        With the tangential rows and the friction of these.
        """
        problem = self.problem
        rows: list[int] = []
        columns: dict[int, int] = {}  # of the normal force of each contact, among the unknowns
        slipping: list[tuple[int, int, slice, float]] = []
        for i, mode in enumerate(self.modes):
            if mode is Mode.OPEN:
                continue
            (n, t), host = problem.rows[i], problem.host(i) if problem.hosts else i
            if host not in problem.lifted:
                if host == i:
                    columns[i] = len(rows)
                    rows.append(n)
                if mode is Mode.SLIP and problem.widths[i]:
                    slipping.append((i, columns[host], t, float(problem.friction[i])))
            if mode is Mode.STICK:
                rows.extend(range(t.start, t.stop))
        pattern = np.zeros((len(problem.free), len(rows)))
        pattern[rows, range(len(rows))] = 1.0
        return pattern, rows, slipping

    def _known(self, slips: Sequence[Direction]) -> Array:
        """Forces lam_0 (m,) of contacts that part under their given normal force; friction only of those that slip."""
        problem, known = self.problem, np.zeros(len(self.problem.free))
        for i in range(len(self.modes)):
            if problem.host(i) not in problem.lifted:
                continue
            known[problem.normal(i)] = problem.least(i)
            slip = slips[i]
            if slip is not None:
                known[problem.tangent(i)] = -problem.friction[i] * problem.least(i) * slip
        return known


def _solved(matrix: Array, right: Array) -> tuple[Array, Factors | None, bool]:
    """Solution of A x = b, refined once, the factors of A, and whether it is the only one; else the least squares."""
    lu, pivots, unknowns, info = scipy.linalg.lapack.dgesv(matrix, right)
    if not info and scipy.linalg.lapack.dgecon(lu, scipy.linalg.lapack.dlange("1", matrix))[0] > REGULAR:
        return unknowns + scipy.linalg.lapack.dgetrs(lu, pivots, right - matrix @ unknowns)[0], (lu, pivots), True
    unknowns, _, rank, _ = np.linalg.lstsq(matrix, right, rcond=RANK)
    if rank == len(matrix):
        return unknowns + np.linalg.solve(matrix, right - matrix @ unknowns), None, True
    return unknowns, None, False
