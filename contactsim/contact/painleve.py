"""Painleve's paradoxes: with much friction a sliding contact may have no admissible mode, or more than one.

A contact that slides along s feels its own normal force through p = (G_nn - mu G_nt s), what a unit of it adds to the
normal acceleration, with the others held. Where p > 0 there is exactly one of leaving and sliding on. Where friction
turns the contact into the ground, p < 0, there is none if the free normal acceleration w is negative (inconsistent),
and both are admissible if it is positive (indeterminate).

Source: Painleve 1895; Genot and Brogliato, New results on Painleve paradoxes, Eur. J. Mech. A 18, 1999; Leine and
Nijmeijer, Dynamics and Bifurcations of Non-Smooth Mechanical Systems, 2004, Sec. 5.5.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import hypot, inf, isfinite
from typing import NamedTuple

import numpy as np

from ..common.arrays import Array
from .impact import ImpactSolution, ImpactStage, compression
from .jam import Jam, impact_without_collision
from .modes import Mode
from .problem import ContactProblem, ContactSolution
from .solvers.pivot import solve_modes, violations
from .zero import CLEAR, SHIFT

STIFFER = 4.0  # by which some contacts are stiffer, to see whether an impact without collision hangs on that
NO_DERIVATIVE = (
    "it is an impact without collision (Painleve), in which contacts jam under forces that grow beyond bounds"
)
IN_SEVERAL_WAYS = (
    "the impact without collision may begin in several ways; the fastest of those that forces begin is taken"
)


@dataclass(frozen=True)
class Paradox:
    """A sliding contact that may leave as well as slide on.

    Attributes:
        contact: its index in the problem.
        mode: what was chosen.
        motion: normal acceleration with which it would leave [m/s^2].
        force: normal force under which it would slide on [N].
    """

    contact: int
    mode: Mode
    motion: float
    force: float

    @property
    def mobility(self) -> float:
        """p [1/kg], negative."""
        return -self.motion / self.force


def indeterminate(problem: ContactProblem, modes: tuple[Mode, ...]) -> tuple[Paradox, ...]:
    """Sliding contacts for which leaving and sliding on are both admissible, one contact at a time."""
    found = []
    for i, mode in enumerate(modes[: problem.count]):
        if problem.sliding[i] is None:
            continue
        other = Mode.SLIP if mode is Mode.OPEN else Mode.OPEN
        turned = solve_modes(problem, problem.with_hosts((*modes[:i], other, *modes[i + 1 :])))
        if violations(turned):
            continue
        chosen = solve_modes(problem, modes)
        open_, closed = (chosen, turned) if mode is Mode.OPEN else (turned, chosen)
        n = problem.normal(i)
        motion, force = float(open_.motion[n]), float(closed.forces[n])
        if motion > CLEAR * float(np.abs(open_.motion).max()) and force > CLEAR * float(np.abs(closed.forces).max()):
            found.append(Paradox(i, mode, motion, force))
    return tuple(found)


class Jammed(NamedTuple):
    """An impact without collision.

    Attributes:
        solution: the impact; it has no derivative.
        contacts: those that jam: they take an impulse though none approaches.
        notes: sentences on what it does, and whether it is unique.
    """

    solution: ImpactSolution
    contacts: tuple[int, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Followed(ContactSolution):
    """Impulses along which slip was followed: friction obeys the slip of each moment, and not that at their end."""

    @cached_property
    def residuals(self) -> Mapping[str, float]:
        """{law: largest violation}: of lam_n >= 0, and of |lam_t| <= mu lam_n, relative to the largest force."""
        problem, forces = self.problem, self.forces / self.problem.force(self.forces)
        pulls = max([-float(forces[n]) for n, _ in problem.rows], default=0.0)
        beyond = [hypot(*forces[t]) - mu * forces[n] for (n, t), mu in zip(problem.rows, problem.friction, strict=True)]
        return {"signorini": max(pulls, 0.0), "cone": float(max([0.0, *beyond]))}


def jammed(problem: ContactProblem, drive: Array, stiffness: Array, rest: float) -> Jammed | None:
    """An impact without collision: what slides under forces that grow beyond bounds is followed in the impulse.

    It is the limit of stiff compliant contacts, which compress while friction slows them down; nothing rebounds. With
    several contacts it is followed at three ratios of their stiffnesses: the first of them counts, the others tell
    whether the end hangs on it.

    Args:
        problem: velocities of the contacts before it in `free`, none of which approaches.
        drive: their accelerations (m,) without contact forces.
        stiffness: of each contact (n,); only ratios count.
        rest: speed up to which a contact is at rest [m/s].

    Returns:
        The impact; None where nothing jams, or its end is not found.

    Source: `contactsim.contact.jam`.
    """
    found = impact_without_collision(problem, drive, stiffness, rest)
    if found is None:
        return None
    solution = _impact(problem, found, rest)
    contacts = tuple([i for i, n in enumerate(problem.starts) if found.impulses[n] > 0.0])
    notes = [IN_SEVERAL_WAYS] if found.ways > 1 else []
    apart = max([_apart(problem, drive, one, rest, solution) for one in _others(stiffness)], default=0.0)
    if apart > SHIFT * float(np.abs(problem.free).max(initial=0.0)):
        where = f"the velocities end {apart:.2g} m/s away" if isfinite(apart) else "it comes to no end"
        notes.append(
            f"the impact without collision is not unique: with other stiffnesses of its contacts, four to one, {where}"
        )
    return Jammed(solution, contacts, tuple(notes))


def _impact(problem: ContactProblem, found: Jam, rest: float) -> ImpactSolution:
    """The impact as its law has it, and behind it what stops contacts that still approach."""
    count, none = len(problem.dims), np.zeros(len(problem.dims))
    after = problem.free + problem.delassus @ found.impulses
    modes = tuple([_mode_after(problem, i, found, after, rest) for i in range(count)])
    path = Followed(problem, modes, found.impulses, (None,) * count, True)
    stages = [ImpactStage(path, problem.free, after, none, none)]
    if after[list(problem.starts)].min() < -rest:
        stages.append(compression(replace(problem, free=after)))
    return ImpactSolution(tuple(stages), NO_DERIVATIVE)


def _mode_after(problem: ContactProblem, i: int, found: Jam, after: Array, rest: float) -> Mode:
    if after[problem.normal(i)] > rest:
        return Mode.OPEN
    return Mode.STICK if i in found.resting else Mode.SLIP


def _others(stiffness: Array) -> list[Array]:
    """Other ratios of stiffnesses: every second contact is stiffer, and then the rest of them."""
    second = np.arange(len(stiffness)) % 2 == 1
    return [np.where(chosen, STIFFER * stiffness, stiffness) for chosen in (second, ~second)] if second.any() else []


def _apart(problem: ContactProblem, drive: Array, stiffness: Array, rest: float, solution: ImpactSolution) -> float:
    """By how much the velocities end elsewhere with another stiffness; infinite where they come to no end."""
    found = impact_without_collision(problem, drive, stiffness, rest)
    if found is None:
        return inf
    return float(np.abs(_impact(problem, found, rest).motion - solution.motion).max())


def sentence(paradoxes: tuple[Paradox, ...], names: tuple[str, ...], friction: Mapping[int, float]) -> str:
    """The note on an indeterminate choice."""
    parts = [
        f"contact '{names[k]}' may leave with {one.motion:.4g} m/s^2 or slide under {one.force:.4g} N"
        f" (mobility {one.mobility:.4g}/kg, friction {friction[k]:.4g})"
        for k, one in ((paradox.contact, paradox) for paradox in paradoxes)
    ]
    chosen = "leaves" if paradoxes[0].mode is Mode.OPEN else "slides"
    return f"the motion is indeterminate (Painleve): {', '.join(parts)}; here it {chosen}"
