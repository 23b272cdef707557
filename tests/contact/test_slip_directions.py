"""Slip directions of contacts that begin to slip, where no directions are those of their motion."""

from __future__ import annotations

import numpy as np
import pytest
from contact_oracle import law_violation

from contactsim.contact.limits import LEAP
from contactsim.contact.modes import Mode
from contactsim.contact.problem import ContactProblem, ContactSolution
from contactsim.contact.solvers import slip_directions
from contactsim.contact.solvers.pivot import GivenModes, solve_modes
from contactsim.contact.stick_slip_choice import solve

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


def near_a_jam(rng: np.random.Generator, left: float) -> tuple[ContactProblem, np.ndarray, np.ndarray]:
    """Two contacts, one sliding, the other beginning to slip, that have `left` of their determinant: with the solution.

    Forces and direction are chosen, and the free motion such that they solve the problem. The friction of what slides
    is that at which the determinant of the normal motion under the normal forces is `left` of that without.
    """
    rows = rng.normal(size=(6, 6))
    delassus = rows @ rows.T
    sliding, direction = (np.array([np.cos(a), np.sin(a)]) for a in rng.uniform(-np.pi, np.pi, 2))
    mu = 0.8

    def columns(friction: float) -> np.ndarray:
        return np.array([[1.0, *(-friction * sliding), 0, 0, 0], [0, 0, 0, 1.0, *(-mu * direction)]]).T

    def determinant(friction: float) -> float:
        return float(np.linalg.det((delassus @ columns(friction))[[0, 3]]))

    smooth = float(np.linalg.det(delassus[np.ix_([0, 3], [0, 3])]))
    rate = determinant(1.0) - determinant(0.0)  # it is linear in the friction of one contact
    friction = (left * smooth - determinant(0.0)) / rate
    forces = columns(friction) @ rng.uniform(0.5, 2.0, 2)
    motion = np.r_[0.0, rng.normal(size=2), 0.0, rng.uniform(0.5, 2.0) * direction]
    free = motion - delassus @ forces
    coefficients = np.array([friction, mu])
    return ContactProblem(delassus, free, (3, 3), coefficients, coefficients, (sliding, None)), forces, direction


@pytest.mark.parametrize("left", [1e-5, 0.0, -1e-5])
def test_directions_are_followed_through_a_jam(left: float) -> None:
    """The forces of given directions have a pole beside the solution; forces and directions together are regular."""
    rng, leaps, asked = np.random.default_rng(0), 0, 0
    while asked < 30:
        problem, forces, direction = near_a_jam(rng, left)
        if problem.friction[0] < 0.0:
            continue
        asked += 1
        turn = 1e-3
        before = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]]) @ direction
        modes = GivenModes(problem, (Mode.SLIP, Mode.SLIP))
        alone = modes.solve([problem.sliding[0], before], held=True)[1][1]
        leaps += np.linalg.norm(alone - direction) > LEAP  # type: ignore[operator]
        found, slips, _ = modes.solve([problem.sliding[0], before], held=True, before=forces * (1.0 + turn))
        if np.linalg.norm(alone - direction) > LEAP:  # type: ignore[operator]
            np.testing.assert_allclose(slips[1], direction, atol=1e-9)
            np.testing.assert_allclose(found, forces, rtol=1e-7, atol=1e-7)
    assert leaps > 5


def hardly_closing() -> list[ContactProblem]:
    """Contacts that slide and hardly close, and one of a leg of bolt of whose directions Newton's method finds that
    which pulls, on the other side of a pole of the forces.
    """
    delassus = [
        [32.82196, -4.497792, -19.362156],
        [-4.497792, 13.553568, 12.063123],
        [-19.362156, 12.063123, 61.091937],
    ]
    free, mu = np.array([-4.904924e-09, -1.231726e-01, -1.486929e-01]), np.array([1.846176])
    problems, rng = [ContactProblem(np.array(delassus), free, (3,), mu, mu, (None,))], np.random.default_rng(5)
    for _ in range(PROBLEMS):
        rows, mu, free = rng.normal(size=(3, 4)), rng.uniform(1.0, 4.0, 1), rng.normal(size=3)
        free[0] = -(10.0 ** rng.uniform(-9.0, -6.0))
        problems.append(ContactProblem(rows @ rows.T, free, (3,), mu, mu, (None,)))
    return problems


def test_one_contact_always_has_a_solution() -> None:
    """Coulomb's law has one wherever some velocity lies inside the dual cones, so for any regular G, mu and w.

    Source: Acary, Cadoux, Lemarechal and Malick, A formulation of the linear discrete Coulomb friction problem via
        convex optimization, 2011.
    """
    for problem in hardly_closing():
        solution = solve(problem)
        assert law_violation(problem, solution.forces) <= 1e-6
