"""Slip directions of contacts that begin to slip, where no directions are those of their motion."""

from __future__ import annotations

import numpy as np
import pytest

from contactsim.contact.modes import Mode
from contactsim.contact.problem import ContactProblem, ContactSolution
from contactsim.contact.solvers import slip_directions
from contactsim.contact.solvers.pivot import solve_modes

PROBLEMS = 200
SHARE = 1.0 + 1e-9  # rounding of a motion


def against(solution: ContactSolution) -> float:
    """The largest motion of a contact off its slip direction, or against it."""
    found = []
    for (_, tangent), slip in zip(solution.problem.rows, solution.directions, strict=True):
        motion = solution.motion[tangent]
        along = float(motion @ slip)
        found.append(np.hypot(min(along, 0.0), np.linalg.norm(motion - along * slip)))
    return float(max(found))


def test_where_no_directions_agree_those_are_taken_that_miss_least(monkeypatch: pytest.MonkeyPatch) -> None:
    """Newton's method alone is the first of the ways that are tried: the others must not lead to what is worse."""
    monkeypatch.setattr(slip_directions, "QUICK_STEPS", slip_directions.NEWTON_STEPS)
    rng, missed = np.random.default_rng(0), 0
    for _ in range(PROBLEMS):
        count = int(rng.integers(2, 5))
        rows, free = rng.normal(size=(3 * count, 3 * count + 6)), rng.normal(size=3 * count)
        free[::3] -= 0.7
        mu = rng.uniform(0.3, 1.5, size=count)
        problem = ContactProblem(rows @ rows.T / len(rows.T), free, (3,) * count, mu, mu, (None,) * count)
        modes = (Mode.SLIP,) * count
        thorough, quick = (against(solve_modes(problem, modes, quick=only_newton)) for only_newton in (False, True))
        missed += thorough > 1e-6
        assert thorough <= SHARE * quick + 1e-12
    assert missed > PROBLEMS // 4
