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
from dataclasses import replace

import numpy as np

from ..common.lazy import dataclass
from .modes import Mode
from .problem import ContactProblem, Direction, islands, part_of
from .solvers.pivot import solve_modes, violations
from .zero import CLEAR


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


def indeterminate(
    problem: ContactProblem, modes: tuple[Mode, ...], directions: tuple[Direction, ...]
) -> tuple[Paradox, ...]:
    """Sliding contacts for which leaving and sliding on are both admissible, one contact at a time.

    Args:
        problem: the contact problem.
        modes: that were chosen for it.
        directions: in which contacts begin to slip there: the others are looked for from these.
    """
    parts = islands(problem)
    if len(parts) == 1:
        return _indeterminate(problem, modes, directions)
    found = []
    for own in parts:
        part = part_of(problem, own), tuple(modes[i] for i in own), tuple(directions[i] for i in own)
        found += [replace(paradox, contact=own[paradox.contact]) for paradox in _indeterminate(*part)]
    return tuple(found)


def _indeterminate(
    problem: ContactProblem, modes: tuple[Mode, ...], directions: tuple[Direction, ...]
) -> tuple[Paradox, ...]:
    """The same of contacts that move each other."""
    found = []
    for i, mode in enumerate(modes[: problem.count]):
        if problem.sliding[i] is None:
            continue
        other = Mode.SLIP if mode is Mode.OPEN else Mode.OPEN
        turned = solve_modes(problem, problem.with_hosts((*modes[:i], other, *modes[i + 1 :])), directions)
        if violations(turned):
            continue
        chosen = solve_modes(problem, modes, directions)
        open_, closed = (chosen, turned) if mode is Mode.OPEN else (turned, chosen)
        n = problem.normal(i)
        motion, force = float(open_.motion[n]), float(closed.forces[n])
        if motion > CLEAR * float(np.abs(open_.motion).max()) and force > CLEAR * float(np.abs(closed.forces).max()):
            found.append(Paradox(i, mode, motion, force))
    return tuple(found)


def sentence(paradoxes: tuple[Paradox, ...], names: tuple[str, ...], friction: Mapping[int, float]) -> str:
    """The note on an indeterminate choice."""
    parts = [
        f"contact '{names[k]}' may leave with {one.motion:.4g} m/s^2 or slide under {one.force:.4g} N"
        f" (mobility {one.mobility:.4g}/kg, friction {friction[k]:.4g})"
        for k, one in ((paradox.contact, paradox) for paradox in paradoxes)
    ]
    chosen = "leaves" if paradoxes[0].mode is Mode.OPEN else "slides"
    return f"the motion is indeterminate (Painleve): {', '.join(parts)}; here it {chosen}"
