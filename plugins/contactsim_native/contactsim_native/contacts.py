"""Contact problems in C++: quick pivoting, and sweeps."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from contactsim.contact import limits, zero
from contactsim.contact.compiled import CompiledSolver, Directions, Pivoted, PlainProblem, Unknown
from contactsim.contact.modes import Mode

from . import _native

MODES = (Mode.OPEN, Mode.STICK, Mode.SLIP)
NUMBERS = {mode: number for number, mode in enumerate(MODES)}
LAYOUTS = 256  # of contacts, whose arrays are kept
SOLVED, NONE, NOT_UNIQUE = 0, 1, 3
SINGULAR, CLEAR_RANK = 1e-13, 1e-7  # share of a matrix that is rounding, and that surely is none; between: not known
STILL = 1e-9  # share of what forces push by up to which changes of them move nothing
Array = np.ndarray
FORCES = _native.ForceRules(
    outside=zero.OUTSIDE,
    residual=zero.RANK,
    accuracy=limits.ACCURACY,
    smallest_force=zero.SMALLEST_FORCE,
    settled=zero.SETTLED,
    apart=limits.PLANES_APART,
    steps=limits.CONE_STEPS,
)
REDUNDANCY = _native.Redundancy(
    regular=zero.REGULAR,
    rank=SINGULAR,
    clear=CLEAR_RANK,
    still=STILL,
    forces=FORCES,
    tolerance=zero.TOLERANCE,
    nothing=zero.NOTHING,
)
RULES = _native.PivotRules(
    tolerance=zero.TOLERANCE,
    creep=zero.CREEP,
    lost=zero.LOST,
    regular=zero.REGULAR,
    rank=SINGULAR,
    clear_rank=CLEAR_RANK,
    across=zero.ACROSS,
    across_singular=zero.ACROSS_SINGULAR,
    turned=zero.TURNED,
    nothing=zero.NOTHING,
    farthest_turn=limits.FARTHEST_TURN,
    stalled_turn=limits.STALLED_TURN,
    runaway=limits.RUNAWAY,
    still=zero.STILL,
    barely=zero.BARELY,
    inside=zero.INSIDE,
    on_circle=limits.ON_CIRCLE,
    clear=zero.CLEAR,
    hangs=zero.HANGS,
    blown_up=limits.BLOWN_UP,
    quick_steps=limits.QUICK_STEPS,
    newton_steps=limits.NEWTON_STEPS,
    followed=limits.FOLLOWED,
    sweeps=list(limits.FEW_SWEEPS),
    inner=limits.INNER,
    agreements=limits.AGREEMENTS,
    singly=limits.SINGLY,
    few_rounds=limits.FEW_ROUNDS,
    forces=FORCES,
)


def _directions(given: Directions, count: int) -> tuple[Array, Array]:
    """Directions (count, 2), and whether each is known (count,)."""
    found, known = np.zeros((count, 2)), np.zeros(count, np.intc)
    for i, direction in enumerate(given):
        if direction is not None:
            found[i, : len(direction)], known[i] = direction, 1
    return found, known


@lru_cache(LAYOUTS)
def _layout(widths: tuple[int, ...]) -> tuple[Array, Array, Array, Array]:
    """Arrays that are only read: widths (count,), and of contacts without slack that do not slide these three."""
    return np.array(widths, dtype=np.intc), np.zeros(len(widths)), *reversed(_directions((), len(widths)))


@lru_cache(LAYOUTS)
def _numbers(modes: tuple[Mode, ...]) -> Array:
    """Modes as the extension has them, in an array that is only read."""
    return np.array([NUMBERS[mode] for mode in modes], np.intc)


def _arrays(problem: PlainProblem) -> tuple[Array, ...]:
    """The problem as the extension takes it."""
    count = len(problem.widths)
    widths, slack, slides, sliding = _layout(problem.widths)
    if any([slip is not None for slip in problem.sliding]):
        sliding, slides = _directions(problem.sliding, count)
    friction = np.ascontiguousarray(problem.friction, dtype=float)
    of_impact = problem.static_friction is problem.friction
    return (
        np.ascontiguousarray(problem.delassus, dtype=float),
        np.ascontiguousarray(problem.free, dtype=float),
        widths,
        friction,
        friction if of_impact else np.ascontiguousarray(problem.static_friction, dtype=float),
        np.array(problem.slack, dtype=float) if problem.slack else slack,
        slides,
        sliding,
    )


def _made(problem: PlainProblem) -> tuple[_native.ContactProblem, tuple[Array, ...]]:
    """The problem as the extension has it, and the arrays that it looks at."""
    arrays = _arrays(problem)
    return _native.ContactProblem(*arrays), arrays


class _Search:
    """Arrays of a search, which the extension reads its start from and writes what it finds to."""

    def __init__(self, problem: PlainProblem, modes: tuple[Mode, ...], directions: Directions | None) -> None:
        self._widths = problem.widths
        self._modes = _numbers(modes).copy()
        self._ways, self._directed = _directions(directions or (), len(modes))
        self._forces = np.empty(len(problem.free))
        self.arrays = self._modes, self._ways, self._directed, self._forces

    def found(self, ending: int, undecided: bool = False) -> Pivoted | None:
        """What was found; None where corrections ran in circles.

        Raises:
            Unknown: the extension does not tell.
        """
        if ending == NONE:
            return None
        if ending not in (SOLVED, NOT_UNIQUE):
            raise Unknown
        known, modes = self._directed.tolist(), tuple([MODES[k] for k in self._modes.tolist()])
        slips: Directions = (None,) * len(modes)
        if any(known):
            ways = zip(known, self._ways, self._widths, strict=True)
            slips = tuple([(way if width == 2 else way[:width]) if is_known else None for is_known, way, width in ways])
        return Pivoted(modes, self._forces, slips, ending == SOLVED, undecided)


class NativeSolver(CompiledSolver):
    """Contacts without resistances, and without forces that are given."""

    def pivot(
        self, problem: PlainProblem, modes: tuple[Mode, ...], directions: Directions | None, singly: bool = True
    ) -> Pivoted | None:
        """Admissible modes, corrected from those given; None where the corrections run in circles."""
        (own, _kept), search = _made(problem), _Search(problem, modes, directions)
        return search.found(_native.pivot(own, RULES, singly, *search.arrays))

    def chosen(
        self, problem: PlainProblem, modes: tuple[Mode, ...], directions: Directions | None, evenly: bool
    ) -> Pivoted:
        """Modes and forces of contacts that move each other, from a guess."""
        search = _Search(problem, modes, directions)
        found = search.found(*_native.search(*_arrays(problem), RULES, evenly, *search.arrays))
        if found is None:
            raise Unknown
        return found

    def is_admissible(self, problem: PlainProblem, modes: tuple[Mode, ...]) -> bool | None:
        """Whether modes are admissible, wherever contacts begin to slip in them; None where it is not told."""
        own, _kept = _made(problem)
        chosen = _numbers(modes).copy()
        found: bool | None = _native.in_modes(own, RULES, chosen, *_directions((None,) * len(modes), len(modes)))
        return found

    def swept(self, problem: PlainProblem, rounds: int, forces: Array) -> Array:
        """Forces (m,) after `rounds` sweeps from `forces`."""
        own, _kept = _made(problem)
        found = np.array(forces, dtype=float)
        if not _native.sweep(own, RULES, rounds, found):
            raise Unknown
        return found
