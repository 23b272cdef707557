"""The contract of what solves contact problems, and what it may start from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from math import hypot

import numpy as np

from ...common.arrays import Array
from ...common.lazy import NamedTuple
from ..modes import Mode
from ..problem import ContactProblem, ContactSolution, Direction
from ..zero import BARELY, INSIDE, NOTHING


class Start(NamedTuple):
    """The begin of a search for modes.

    Attributes:
        modes: OPEN, STICK or SLIP of each contact.
        directions: unit slip directions of contacts that begin to slip, None where unknown.
        lifted: contacts that stick or slip under their given normal force while they part.
    """

    modes: tuple[Mode, ...]
    directions: tuple[Direction, ...] | None = None
    lifted: frozenset[int] = frozenset()

    @classmethod
    def of_forces(cls, problem: ContactProblem, forces: Array) -> Start:
        """Modes that forces (m,) of moderate accuracy belong to: zero, inside the cone, or on its boundary."""
        modes, directions, lifted = [], [], set()
        largest = float(np.abs(forces).max(initial=NOTHING))
        for i, slip in enumerate(problem.sliding):
            normal, tangential = forces[problem.normal(i)], forces[problem.tangent(i)]
            size, least = hypot(*tangential), problem.least(i)
            inside = size < problem.friction[i] * normal * (1.0 - INSIDE)
            barely = normal - least <= BARELY * largest
            if barely and least > 0.0 and i < problem.count:
                lifted.add(i)
            mode = Mode.OPEN if barely and not least > 0.0 else Mode.STICK if slip is None and inside else Mode.SLIP
            modes.append(Mode.STICK if mode is Mode.SLIP and not problem.widths[i] else mode)
            directions.append(-tangential / size if mode is Mode.SLIP and size > 0.0 else None)
        return cls(tuple(modes), tuple(directions), frozenset(lifted))

    @classmethod
    def of_contrasts(cls, problem: ContactProblem, forces: Array) -> Start:
        """Modes by which of two is farther from zero, each relative to the largest of its kind.

        These are the normal force and the normal motion, then the margin of the cone and the motion along the ground,
        one of which vanishes in a solution. It tells a contact that hardly slips from one that hardly sticks, as far as
        the forces are exact; where both vanish, it tells nothing.
        """
        largest, speed = float(np.abs(forces).max(initial=NOTHING)), problem.speed
        motion, modes, directions, lifted = problem.delassus @ forces + problem.free, [], [], set()
        for i, (slip, (n, t)) in enumerate(zip(problem.sliding, problem.rows, strict=True)):
            least, rate = problem.least(i), hypot(*motion[t])
            leaves = float(forces[n] - least) / largest < motion[n] / speed
            if leaves and least > 0.0 and i < problem.count:
                lifted.add(i)
            mode = Mode.STICK if slip is None else Mode.SLIP
            if leaves and not least > 0.0:
                mode = Mode.OPEN
            elif slip is None and problem.widths[i]:
                inside = problem.friction[i] * forces[n] - hypot(*forces[t])
                mode = Mode.STICK if inside / largest > rate / speed else Mode.SLIP
            modes.append(mode)
            directions.append(motion[t] / rate if mode is Mode.SLIP and rate > 0.0 else None)
        return cls(tuple(modes), tuple(directions), frozenset(lifted))

    @classmethod
    def read_off(cls, problem: ContactProblem, forces: Array) -> Iterator[Start]:
        """Modes by forces (m,) of moderate accuracy; then by what they contrast with, if those lead nowhere."""
        yield cls.of_forces(problem, forces)
        yield cls.of_contrasts(problem, forces)


class ContactSolver(ABC):
    """One way to solve contact problems.

    A problem holds all there is to know: redundant or singular G, contacts that slide already, and the rebounds and
    given forces of the stages of an impact (the choice of solvers takes rebounds away before it asks).
    """

    @abstractmethod
    def solve(self, problem: ContactProblem, start: Start) -> ContactSolution | None:
        """An admissible solution, from `start` if that helps; None where this way leads to none.

        The solution was solved directly in its modes, to rounding, and says whether its forces are unique.
        """

    def proves(self, problem: ContactProblem) -> bool:
        """True where there is no solution if it finds none."""
        return False
