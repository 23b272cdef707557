"""Contact problems of the compiled engine against those in Python; skipped where it is not installed."""

import importlib
import pickle
from dataclasses import replace

import numpy as np
import pytest

from contactsim.contact.compiled import PlainProblem, Unknown
from contactsim.contact.modes import Mode
from contactsim.contact.problem import ContactProblem, ContactSolution
from contactsim.contact.solvers.contract import Start
from contactsim.contact.solvers.gauss_seidel import swept
from contactsim.contact.solvers.pivot import Pivot
from contactsim.contact.stick_slip_choice import solve
from contactsim.errors import NoAdmissibleModeError

pytest.importorskip("contactsim_native._native")
contacts = importlib.import_module("contactsim_native.contacts")

SAME = 1e-8  # of forces, relative to the largest: rounding by a condition of up to 1e7
SWEPT = 1e-9


def drawn(rng: np.random.Generator) -> ContactProblem:
    """Contacts in space, in the plane and without friction on a body of some freedoms; some of them slide."""
    dims = tuple(rng.choice([1, 2, 3, 3, 3], size=rng.integers(1, 6)).tolist())
    rows = sum(dims)
    jacobian = rng.normal(size=(rows, rng.integers(rows, rows + 6)))
    count = len(dims)
    kinetic = rng.uniform(0.1, 1.2, count)
    sliding = []
    for dim in dims:
        way = rng.normal(size=dim - 1)
        sliding.append(way / np.linalg.norm(way) if dim > 1 and rng.random() < 0.3 else None)
    free = rng.normal(size=rows)
    starts = np.cumsum((0, *dims[:-1]))
    free[starts] -= 1.0
    static = kinetic * rng.choice([1.0, 1.3], count)
    return ContactProblem(jacobian @ jacobian.T, free, dims, kinetic, static, tuple(sliding))


def plain(problem: ContactProblem) -> PlainProblem:
    found = replace(problem, compiled=contacts.NativeSolver()).plain
    assert found is not None
    return found


def start_of(problem: ContactProblem, rng: np.random.Generator) -> Start:
    choices = [Mode.OPEN, Mode.STICK, Mode.SLIP]
    return Start(tuple(choices[k] for k in rng.integers(0, 3, len(problem.dims))))


def test_pivoting_is_that_of_python() -> None:
    rng, solver, compared, none = np.random.default_rng(4), contacts.NativeSolver(), 0, 0
    for _ in range(400):
        problem = drawn(rng)
        start = start_of(problem, rng)
        expected = Pivot(quick=True).solve(problem, start)
        try:
            pivoted = solver.pivot(plain(problem), start.modes, None)
        except Unknown:
            continue
        found = None if pivoted is None else ContactSolution(problem, *pivoted)
        assert (found is None) == (expected is None)
        if found is None or expected is None:
            none += 1
            continue
        compared += 1
        assert found.modes == expected.modes
        assert np.abs(found.forces - expected.forces).max() <= SAME * np.abs(expected.forces).max()
        pairs = zip(found.directions, expected.directions, strict=True)
        assert all((a is None) == (b is None) and (a is None or np.abs(a - b).max() < SAME) for a, b in pairs)
        found.verify()
    assert compared > 250
    assert none > 5


def test_sweeps_are_those_of_python() -> None:
    rng, solver = np.random.default_rng(5), contacts.NativeSolver()
    for _ in range(60):
        problem, rounds = drawn(rng), int(rng.integers(1, 40))
        expected = swept(problem, rounds)
        found = solver.swept(plain(problem), rounds, np.zeros(len(problem.free)))
        assert np.abs(found - expected).max() <= SWEPT * max(np.abs(expected).max(), 1e-12)


def test_whole_solutions_agree_and_problems_are_pickled_without_the_engine() -> None:
    rng, solver = np.random.default_rng(6), contacts.NativeSolver()
    for _ in range(60):
        problem = drawn(rng)
        compiled = replace(problem, compiled=solver)
        assert pickle.loads(pickle.dumps(compiled)).compiled is None
        try:
            expected = solve(problem)
        except NoAdmissibleModeError:
            with pytest.raises(NoAdmissibleModeError):
                solve(compiled)
            continue
        found = solve(compiled)
        assert found.modes == expected.modes
        assert np.abs(found.forces - expected.forces).max() <= SAME * np.abs(expected.forces).max()


def plate(rng: np.random.Generator | None = None) -> ContactProblem:
    """A plate on its four corners, of which only six combinations of forces do anything; one that is thrown down."""
    corners = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    rows = np.vstack([[[0, 0, 1, y, -x, 0], [1, 0, 0, 0, 0, -y], [0, 1, 0, 0, 0, x]] for x, y in corners])
    twist = np.array([0.3, 0.0, -9.81, 0.0, 0.0, 0.0])
    if rng is not None:
        twist = np.concatenate([0.5 * rng.normal(size=2), [-1.5], 0.5 * rng.normal(size=3)])
    friction = np.full(4, 0.5)
    return ContactProblem(rows @ rows.T, rows @ twist, (3,) * 4, friction, friction, (None,) * 4)


def test_the_smallest_of_redundant_forces_are_those_of_python() -> None:
    rng, solver, compared, told = np.random.default_rng(7), contacts.NativeSolver(), 0, 0
    for _ in range(150):
        problem = plate(rng)
        start = start_of(problem, rng) if rng.random() < 0.5 else Start((Mode.STICK,) * 4)
        try:
            found = solver.pivot(plain(problem), start.modes, None)
        except Unknown:
            continue
        expected = Pivot(quick=True).solve(problem, start)
        assert (found is None) == (expected is None)
        if found is None or expected is None:
            continue
        compared, told = compared + 1, told + (not found.unique)
        assert (found.modes, found.unique) == (expected.modes, expected.unique)
        assert np.abs(found.forces - expected.forces).max() <= SAME * np.abs(expected.forces).max()
    assert compared > 20
    assert told > 5
    resting = plate()
    one, two = solve(resting), solve(replace(resting, compiled=solver))
    assert one.modes == two.modes
    assert not two.unique
    assert np.abs(one.forces - two.forces).max() < SAME * np.abs(one.forces).max()


def test_what_it_does_not_know_is_solved_in_python() -> None:
    """Corners that hardly carry leave their cones under the smallest forces, and others take over their friction."""
    problem, solver = plate(), contacts.NativeSolver()
    free = problem.free.copy()
    free[::3] += np.array([0.0, 0.0, 9.0, 9.0])
    leaning = replace(problem, free=free, friction=0.05 * np.ones(4), static_friction=0.05 * np.ones(4))
    with pytest.raises(Unknown):
        solver.pivot(plain(leaning), (Mode.STICK,) * 4, None)
    one, two = solve(leaning), solve(replace(leaning, compiled=solver))
    assert one.modes == two.modes
    assert not two.unique
    assert np.abs(one.forces - two.forces).max() < SAME * np.abs(one.forces).max()
