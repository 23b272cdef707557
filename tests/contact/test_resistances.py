"""Rolling and torsional friction in the contact problem: rows without a normal of their own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from contactsim.contact.impact import compression, expansion, newton
from contactsim.contact.modes import Mode
from contactsim.contact.problem import ContactProblem
from contactsim.contact.solvers.conic import Conic
from contactsim.contact.solvers.contract import ContactSolver, Start
from contactsim.contact.solvers.enumerate import Enumerate
from contactsim.contact.solvers.gauss_seidel import GaussSeidel
from contactsim.contact.solvers.pivot import Pivot
from contactsim.contact.stick_slip_choice import solve


def problem_of(rng: np.random.Generator, contacts: int, planar: bool = False) -> ContactProblem:
    """A regular problem of contacts, each with torsion (in space) and rolling."""
    own = 2 if planar else 3
    dims = (own,) * contacts + ((1,) * contacts if planar else (1,) * contacts + (2,) * contacts)
    hosts = tuple(range(contacts)) * (1 if planar else 2)
    size = sum(dims)
    root = rng.normal(size=(size, size + 3))
    free = rng.normal(size=size)
    starts = np.arange(contacts) * own
    free[starts] = -np.abs(free[starts]) + 0.3 * rng.normal(size=contacts)
    mu = np.concatenate([np.full(contacts, 0.4), rng.uniform(0.02, 0.3, len(hosts))])
    return ContactProblem(root @ root.T / size, free, dims, mu, mu, (None,) * len(dims), hosts=hosts)


def test_a_spinning_ball_under_torsion_alone() -> None:
    """One contact with a torsional row: the moment is that which stops the spin, at most torsion times the force."""
    matrix = np.diag([1.0, 1.0, 1.0, 5.0])
    for spin, mode, moment in ((0.1, Mode.STICK, -0.02), (1.0, Mode.SLIP, -0.06)):
        free = np.array([-2.0, 0.0, 0.0, spin])
        mu = np.array([0.5, 0.03])
        found = solve(ContactProblem(matrix, free, (3, 1), mu, mu, (None, None), hosts=(0,)))
        assert found.modes == (Mode.STICK, mode)
        assert found.forces[3] == pytest.approx(moment, abs=1e-14)
        found.verify()


@pytest.mark.parametrize("planar", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_each_law_holds_for_random_problems(seed: int, planar: bool) -> None:
    problem = problem_of(np.random.default_rng(seed), 2, planar)
    found = solve(problem)
    found.verify()
    for i, host in enumerate(problem.hosts, problem.count):
        assert (found.modes[i] is Mode.OPEN) == (found.modes[host] is Mode.OPEN)
        n, t = problem.rows[i]
        size, bound = np.linalg.norm(found.forces[t]), problem.friction[i] * found.forces[n]
        assert size <= bound + 1e-9
        if np.linalg.norm(found.motion[t]) > 1e-6:
            assert size == pytest.approx(bound, abs=1e-9)
            cosine = found.forces[t] @ found.motion[t] / (size * np.linalg.norm(found.motion[t])) if size else -1.0
            assert cosine == pytest.approx(-1.0, abs=1e-9)


@pytest.mark.parametrize(
    "solver", [Enumerate(), GaussSeidel((200, 2000), (Pivot(),)), Conic(Pivot())], ids=lambda one: type(one).__name__
)
@pytest.mark.parametrize("seed", range(4))
def test_the_solvers_agree(solver: ContactSolver, seed: int) -> None:
    problem = problem_of(np.random.default_rng(seed), 1)
    wanted = solve(problem)
    modes = (Mode.OPEN,) * len(problem.dims)
    found = solver.solve(problem, Start(modes))
    assert found is not None
    np.testing.assert_allclose(found.forces, wanted.forces, atol=1e-8)


def test_what_slides_already_is_rubbed_against_its_spin() -> None:
    problem = problem_of(np.random.default_rng(3), 1)
    free = problem.free.copy()
    free[0] = -5.0
    slip = np.array([0.6, -0.8])
    found = solve(replace(problem, free=free, sliding=(None, np.ones(1), slip)))
    found.verify()
    assert found.modes[1:] == (Mode.SLIP, Mode.SLIP)
    np.testing.assert_allclose(found.forces[4:6], -problem.friction[2] * found.forces[0] * slip, atol=1e-14)


def test_impulses_of_an_expansion_press_resistances_too() -> None:
    problem = problem_of(np.random.default_rng(5), 2)
    free = problem.free.copy()
    free[[0, 3]] = -1.0, -2.0
    problem = replace(problem, free=free)
    e = np.array([0.5, 0.3])
    for stages in ((newton(problem, e),), ()):
        if not stages:
            first = compression(problem)
            stages = (first, expansion(problem, first, e))
        for stage in stages:
            assert stage.solution.residual < 1e-9
