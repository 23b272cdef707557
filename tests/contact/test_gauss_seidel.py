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
from contactsim.contact.solvers.gauss_seidel import Sweeps, ahead, least_broken, swept
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


def dominoes_impact(name: str) -> ContactProblem:
    """An edge of one of five fallen dominoes strikes the next: 13 or 17 contacts, G of rank 26 of 39 or 29 of 51."""
    with np.load(Path(__file__).parents[1] / "data" / f"{name}.npz") as data:
        count = len(data["free"]) // 3
        friction, none = np.full(count, 0.3), (None,) * count
        return ContactProblem(data["G"], data["free"], (3,) * count, friction, friction, none)


@pytest.mark.parametrize("name", ["dominoes_impact", "drifting_dominoes"])
def test_what_slips_redundantly_is_solved_where_no_system_of_modes_tells_the_forces(name: str) -> None:
    """All in all there is a solution: bodies may part (Acary and others 2011), so that none may be refused."""
    problem = dominoes_impact(name)
    start = Start((Mode.STICK,) * problem.count)
    assert all(solver.solve(problem, start) is None for solver in list(in_order())[:-1])
    solution = solve(problem)
    assert law_violation(problem, solution.forces) < tol.PROBLEM_LAW
    assert solution.residual < 1e-11 and not solution.unique
    assert {Mode.OPEN, Mode.STICK, Mode.SLIP} == set(solution.modes)


def test_forces_that_drift_along_what_moves_nothing_are_led_to_their_end() -> None:
    """Two contacts of the 17 give 7e-12 of their impulse away in a round: 60,000 rounds bring them to no rest."""
    problem = dominoes_impact("drifting_dominoes")
    assert least_broken(problem, swept(problem, 1000)).residual > 1e-8
    steps = [swept(problem, 500)]
    for _ in range(2):
        steps.append(swept(problem, 50, steps[-1]))
    led = swept(problem, 300, ahead(problem, *steps))
    assert least_broken(problem, led).residual < 1e-10


def test_changes_that_shrink_evenly_are_summed_up_to_their_limit() -> None:
    problem = dominoes_impact("dominoes_impact")
    limit, apart = np.ones(len(problem.free)), np.linspace(-1e-3, 1e-3, len(problem.free))
    steps = [limit + 0.9**k * apart for k in range(3)]
    np.testing.assert_allclose(ahead(problem, *steps), limit, rtol=0, atol=1e-14)


def test_sweeps_that_find_no_rest_are_no_solution() -> None:
    problem = dominoes_impact("drifting_dominoes")
    assert Sweeps(0).solve(problem, Start((Mode.STICK,) * problem.count)) is None


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
