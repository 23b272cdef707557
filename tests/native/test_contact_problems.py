"""Contact problems of the compiled engine against those in Python; skipped where it is not installed."""

import importlib
import pickle
from dataclasses import replace

import numpy as np
import pytest
from builders import heap_impact

from contactsim.contact.compiled import PlainProblem, Unknown
from contactsim.contact.even_sharing import motion_is_a_choice, shared_evenly
from contactsim.contact.impact import newton
from contactsim.contact.modes import Mode
from contactsim.contact.problem import ContactProblem, ContactSolution
from contactsim.contact.redundant_forces import least_margin
from contactsim.contact.solvers.contract import Start
from contactsim.contact.solvers.gauss_seidel import swept
from contactsim.contact.solvers.pivot import GivenModes, Pivot, solve_modes, violations
from contactsim.contact.stick_slip_choice import slips_without_motion, solve
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


def test_where_one_contact_begins_to_slip_modes_are_judged_as_in_python() -> None:
    """Newton's method finds no direction in most of those that are broken: all directions are looked at then."""
    rng, solver, told = np.random.default_rng(7), contacts.NativeSolver(), {True: 0, False: 0, None: 0}
    for _ in range(600):
        problem = drawn(rng)
        begins = [i for i, dim in enumerate(problem.dims) if dim == 3 and problem.sliding[i] is None]
        if not begins:
            continue
        modes = [
            Mode.OPEN if rng.random() < 0.5 else Mode.STICK if slip is None else Mode.SLIP for slip in problem.sliding
        ]
        modes[begins[0]] = Mode.SLIP
        found = solver.is_admissible(plain(problem), tuple(modes))
        told[found] += 1
        assert found is None or found == (not violations(solve_modes(problem, tuple(modes))))
    assert told[True] > 20
    assert told[False] > 300
    assert told[None] < 0.02 * sum(told.values())


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


def as_python_has_it(found: ContactSolution, expected: ContactSolution) -> None:
    """One motion; of many forces the smallest, or those whose least margin is largest, up to where that is flat.

    Where slips begin redundantly, or without motion, forces may be many that do the same. Whether a contact that does
    not move slips is left to what puts such contacts back to stick.
    """
    problem, modes = expected.problem, expected.modes
    assert np.abs(found.motion - expected.motion).max() <= SAME * problem.speed
    found.verify()
    if found.modes != modes and (slips_without_motion(found) or slips_without_motion(expected)):
        return
    assert (found.modes, found.unique) == (modes, expected.unique)
    size = np.abs(expected.forces).max()
    smallest = GivenModes(problem, modes).forces([None] * len(modes)).forces if Mode.SLIP not in modes else None
    unique = found.unique and not slips_without_motion(expected)
    if unique or (smallest is not None and least_margin(problem, modes, smallest) >= 0.0):
        assert np.abs(found.forces - expected.forces).max() <= SAME * size
    if Mode.SLIP not in modes:
        apart = least_margin(problem, modes, found.forces) - least_margin(problem, modes, expected.forces)
        assert abs(apart) <= SAME * size


def test_redundant_forces_are_those_of_python() -> None:
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
        as_python_has_it(ContactSolution(problem, *found), expected)
    assert compared > 80
    assert told > 30
    resting = plate()
    one, two = solve(resting), solve(replace(resting, compiled=solver))
    assert one.modes == two.modes
    assert not two.unique
    assert np.abs(one.forces - two.forces).max() < SAME * np.abs(one.forces).max()


def test_impacts_of_redundant_contacts_are_those_of_python() -> None:
    rng, solver, none = np.random.default_rng(12), contacts.NativeSolver(), np.zeros(4)
    compared, many = 0, 0
    for _ in range(100):
        thrown = plate(rng)
        compiled, python = newton(replace(thrown, compiled=solver), none), newton(thrown, none)
        found, expected = compiled.solution, python.solution
        assert np.abs(compiled.after - python.after).max() <= SAME * thrown.speed
        assert (found.modes, found.undecided) == (expected.modes, expected.undecided)
        compared, many = compared + 1, many + (not found.unique)
        as_python_has_it(found, expected)
    assert compared == 100
    assert many > 50


def test_impulses_that_leave_the_motion_no_choice_move_as_they_were_found() -> None:
    rng, solver, redundant = np.random.default_rng(13), contacts.NativeSolver(), 0
    for _ in range(200):
        thrown = plate(rng)
        try:
            alone, shared = (solver.chosen(plain(thrown), (Mode.STICK,) * 4, None, evenly) for evenly in (False, True))
        except Unknown:
            continue
        found = ContactSolution(thrown, *alone)
        if motion_is_a_choice(found):
            continue
        redundant += not found.unique
        assert not shared.undecided
        assert np.abs(thrown.delassus @ (shared.forces - alone.forces)).max() <= SAME * thrown.speed
        assert np.abs(shared_evenly(found).motion - found.motion).max() <= SAME * thrown.speed
    assert redundant > 30


def crowded(rng: np.random.Generator) -> ContactProblem:
    """Up to eight contacts of all widths on a body of few freedoms that falls; some of them slide."""
    dims = tuple(rng.choice([1, 2, 3, 3, 3], size=rng.integers(3, 9)).tolist())
    rows, count = sum(dims), len(dims)
    freedoms = int(rng.integers(2, max(3, rows - 1)))
    jacobian, twist = rng.normal(size=(rows, freedoms)), rng.normal(size=freedoms)
    starts = np.cumsum((0, *dims[:-1]))
    jacobian[starts] *= 0.3
    jacobian[starts, 0], twist[0] = 1.0, -3.0
    ways = [rng.normal(size=dim - 1) for dim in dims]
    sliding = tuple(way / np.linalg.norm(way) if len(way) and rng.random() < 0.2 else None for way in ways)
    friction = rng.uniform(0.1, 1.2, count)
    return ContactProblem(jacobian @ jacobian.T, jacobian @ twist, dims, friction, friction, sliding)


def test_forces_with_the_largest_margin_move_what_those_of_python_move() -> None:
    """Where these quick corrections run in circles in one of the two, a flat optimum may lead the other out of them."""
    rng, solver, told, apart = np.random.default_rng(8), contacts.NativeSolver(), 0, 0
    for _ in range(200):
        problem = crowded(rng)
        start = Start(tuple(Mode.STICK if slip is None else Mode.SLIP for slip in problem.sliding))
        try:
            found = solver.pivot(plain(problem), start.modes, None)
        except Unknown:
            continue
        expected = Pivot(quick=True).solve(problem, start)
        if found is None or expected is None or found.modes != expected.modes:
            apart += (found is None) != (expected is None) or found is not None
        else:
            as_python_has_it(ContactSolution(problem, *found), expected)
            told += not found.unique
    assert told > 40
    assert apart < 4


def leaning(push: float, friction: float) -> ContactProblem:
    """The plate pushed along x by `push`, with most of its weight on the first two corners."""
    problem, mu = plate(), np.full(4, friction)
    free = problem.free.copy()
    free[::3] += np.array([0.0, 0.0, 9.0, 9.0])
    free[1::3] = push
    return replace(problem, free=free, friction=mu, static_friction=mu)


@pytest.mark.parametrize("compiled", [False, True])
def test_friction_is_shared_so_that_all_corners_are_as_far_from_slipping(compiled: bool) -> None:
    """Two corners carry N1 = 2.4525 each, two N2 = 0.2025; the least mu N - T is largest where all are the same.

    T1 + T2 = 0.125 holds the push of 0.25; the smallest forces share it alike and leave the cones of the latter two.
    """
    mu, first, second = 0.05, 2.4525, 0.2025
    margin = 0.5 * (mu * (first + second) - 0.125)
    problem = replace(leaning(0.25, mu), compiled=contacts.NativeSolver() if compiled else None)
    found = Pivot(quick=True).solve(problem, Start((Mode.STICK,) * 4))
    assert found is not None
    assert not found.unique
    margins = mu * found.forces[::3] - np.linalg.norm(found.forces.reshape(4, 3)[:, 1:], axis=1)
    assert np.abs(margins - margin).max() < SWEPT
    assert np.abs(found.motion).max() < SWEPT


def test_impulses_of_very_different_size_are_found_without_python() -> None:
    problem = heap_impact().shifted
    solver = contacts.NativeSolver()
    modes, forces, *_ = solver.chosen(plain(problem), (Mode.STICK,) * problem.count, None, False)
    expected = solve(problem)
    assert modes == expected.modes
    assert np.abs(forces - expected.forces).max() < SAME * np.abs(expected.forces).max()


def test_what_it_does_not_know_is_solved_in_python() -> None:
    """A body between two contacts, which may clamp it as hard as they like: no margin is the largest."""
    solver, friction = contacts.NativeSolver(), np.full(2, 0.5)
    rows = np.array([[0.0, 0, 1], [1, 0, 0], [0, 1, 0], [0, 0, -1], [1, 0, 0], [0, 1, 0]])
    clamped = ContactProblem(rows @ rows.T, rows @ [0.1, 0.0, -9.81], (3, 3), friction, friction, (None, None))
    with pytest.raises(Unknown):
        solver.pivot(plain(clamped), (Mode.STICK,) * 2, None)
    one, two = solve(clamped), solve(replace(clamped, compiled=solver))
    assert one.modes == two.modes
    assert not two.unique
    assert np.abs(one.forces - two.forces).max() < SAME * np.abs(one.forces).max()
