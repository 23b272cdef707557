"""Impacts from random scenes in which plain pivoting and the convex proposals end in no modes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import tolerances as tol
from builders import heap_impact
from contact_oracle import law_violation

from contactsim.contact.modes import Mode
from contactsim.contact.problem import ContactProblem
from contactsim.contact.solvers.contract import Start
from contactsim.contact.solvers.gauss_seidel import Sweeps, least_broken, swept
from contactsim.contact.stick_slip_choice import in_order, solve
from contactsim.errors import NoAdmissibleModeError

DATA = json.loads((Path(__file__).parents[1] / "data" / "hard_impacts.json").read_text())


def impact(seed: str) -> ContactProblem:
    data = DATA[seed]
    friction = np.array(data["friction"])
    none = (None,) * len(friction)
    dims = tuple(data["dims"])
    return ContactProblem(np.array(data["delassus"]), np.array(data["free"]), dims, friction, friction, none)


@pytest.mark.parametrize("seed", DATA)
def test_an_impact_without_restitution_has_a_solution_that_is_found(seed: str) -> None:
    problem = impact(seed)
    assert law_violation(problem, solve(problem).forces) < tol.PROBLEM_LAW


@pytest.mark.parametrize("seed", ["11", "16"])
def test_sweeps_converge_to_the_forces_that_are_found(seed: str) -> None:
    problem = impact(seed)
    expected = solve(problem).forces
    np.testing.assert_allclose(swept(problem, 5000), expected, rtol=0, atol=1e-6 * np.abs(expected).max())


def test_impulses_of_very_different_size_are_told_from_none() -> None:
    """A ball strikes a heap of balls: of the 43 contacts some carry 1e-8 of the largest impulse, and do not open."""
    problem = heap_impact()
    solution = solve(problem)
    assert law_violation(problem.shifted, solution.forces) < tol.PROBLEM_LAW
    forces = solution.forces[list(problem.starts)]
    assert ((forces > 0.0) & (forces < 1e-7 * forces.max())).any()


def dominoes_impact() -> ContactProblem:
    """An edge of one of five fallen dominoes strikes the next: 13 contacts of five bodies, G of rank 26 of 39."""
    with np.load(Path(__file__).parents[1] / "data" / "dominoes_impact.npz") as data:
        friction, none = np.full(13, 0.3), (None,) * 13
        return ContactProblem(data["G"], data["free"], (3,) * 13, friction, friction, none)


def test_what_slips_redundantly_is_solved_where_no_system_of_modes_tells_the_forces() -> None:
    """All in all there is a solution: bodies may part (Acary and others 2011), so that none may be refused."""
    problem = dominoes_impact()
    assert all(solver.solve(problem, Start((Mode.STICK,) * 13)) is None for solver in list(in_order())[:-1])
    solution = solve(problem)
    assert law_violation(problem, solution.forces) < tol.PROBLEM_LAW
    assert solution.residual < 1e-11 and not solution.unique
    assert {Mode.OPEN, Mode.STICK, Mode.SLIP} == set(solution.modes)


def test_sweeps_that_find_no_rest_are_no_solution() -> None:
    problem = dominoes_impact()
    assert Sweeps(3).solve(problem, Start((Mode.STICK,) * 13)) is None


@pytest.mark.parametrize(
    ("free", "mode"), [([1.0, 0.5, 0.0], Mode.OPEN), ([-1.0, 0.1, 0.0], Mode.STICK), ([-1.0, 2.0, 1.0], Mode.SLIP)]
)
def test_a_contact_is_in_the_mode_whose_law_it_breaks_least(free: list[float], mode: Mode) -> None:
    friction = np.array([0.5])
    problem = ContactProblem(np.eye(3), np.array(free), (3,), friction, friction, (None,))
    found = least_broken(problem, swept(problem, 10))
    assert found.modes == (mode,) and found.residual < 1e-14


def test_a_single_contact_is_solved_at_once() -> None:
    """A point on the ground: held, slipping, or thrown up."""
    for mu, free, forces in (
        (0.5, [-1.0, 0.3, 0.0], [1.0, -0.3, 0.0]),
        (0.5, [-1.0, 3.0, 0.0], [1.0, -0.5, 0.0]),
        (0.5, [1.0, 3.0, 0.0], [0.0, 0.0, 0.0]),
    ):
        friction = np.array([mu])
        problem = ContactProblem(np.eye(3), np.array(free), (3,), friction, friction, (None,))
        np.testing.assert_allclose(swept(problem, 200), forces, rtol=0, atol=1e-12)


def test_contacts_that_are_held_against_each_other_are_not_called_sticking() -> None:
    """Two coincident points whose free motions along the ground differ cannot both stick."""
    rows = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    friction = np.array([5.0, 5.0])
    free = np.array([-1.0, 0.1, -1.0, -0.1])
    problem = ContactProblem(rows @ rows.T, free, (2, 2), friction, friction, (None, None))
    try:
        solution = solve(problem, (Mode.STICK, Mode.STICK))
    except NoAdmissibleModeError:
        return
    for i, mode in enumerate(solution.modes):
        if mode is Mode.STICK:
            assert abs(solution.motion[2 * i + 1]) < tol.PROBLEM_LAW
