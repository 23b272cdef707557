"""All combinations of modes, one after the other: the last resort, and the proof that there is no solution."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from math import prod

import numpy as np

from ...common.lazy import dataclass
from ..modes import Mode
from ..problem import ContactProblem, ContactSolution, Direction
from .contract import ContactSolver, Start
from .pivot import solve_modes, violations

EXHAUSTIVE = 16384  # combinations that are tried before giving up: in some seconds


@dataclass(frozen=True)
class Enumerate(ContactSolver):
    """Every combination of modes, where there are at most `most` of them; `quick` as for `Pivot`."""

    most: int = EXHAUSTIVE
    quick: bool = False

    def proves(self, problem: ContactProblem) -> bool:
        """True where the combinations of a problem are few enough to be tried all."""
        return prod(len(_choices(problem, i)) for i in range(len(problem.dims))) <= self.most

    def solve(self, problem: ContactProblem, start: Start) -> ContactSolution | None:
        """The first admissible combination, in the order STICK, SLIP, OPEN."""
        return next(self.all(problem), None)

    def all(self, problem: ContactProblem) -> Iterator[ContactSolution]:
        """Every admissible combination, in the plane with both directions of each slip; none where they are many."""
        if not self.proves(problem):
            return
        for chosen in itertools.product(*(_choices(problem, i) for i in range(len(problem.dims)))):
            lifted = frozenset(i for i, (_, parts, _) in enumerate(chosen) if parts)
            tried = replace(problem, lifted=lifted) if lifted else problem
            if any((chosen[host][0] is Mode.OPEN) != (chosen[i][0] is Mode.OPEN) for i, host in _resistances(problem)):
                continue
            modes, slips = tuple(mode for mode, _, _ in chosen), tuple(slip for _, _, slip in chosen)
            solution = solve_modes(tried, modes, slips, self.quick)
            if not violations(solution):
                yield solution


def _choices(problem: ContactProblem, i: int) -> list[tuple[Mode, bool, Direction]]:
    """(mode, whether it is lifted, direction to start from) that contact `i` may have."""
    width, given = problem.widths[i], problem.sliding[i] is not None
    ways: list[tuple[Mode, Direction]] = [] if given else [(Mode.STICK, None)]
    if given or width == 2:
        ways.append((Mode.SLIP, None))
    elif width == 1:
        ways += [(Mode.SLIP, np.ones(1)), (Mode.SLIP, -np.ones(1))]
    closed = [(mode, False, slip) for mode, slip in ways]
    if problem.least(i) > 0.0 and i < problem.count:
        return closed + [(mode, True, slip) for mode, slip in ways]
    return [*closed, (Mode.OPEN, False, None)]


def _resistances(problem: ContactProblem) -> list[tuple[int, int]]:
    """(resistance, its host)."""
    return list(enumerate(problem.hosts, problem.count))
