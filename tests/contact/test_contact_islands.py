"""Contacts that do not move each other are solved apart, and the solution is that of all together."""

from dataclasses import replace

import numpy as np
import pytest

from contactsim.contact import stick_slip_choice
from contactsim.contact.linear_algebra import components, delassus, smallest_change, solve_mass
from contactsim.contact.modes import Mode
from contactsim.contact.problem import ContactProblem, islands, joined, part_of
from contactsim.contact.stick_slip_choice import solve


def problem(seed: int, hosted: bool = False) -> ContactProblem:
    """Three bodies with two contacts each, in mixed order, one of them with a resistance."""
    rng = np.random.default_rng(seed)
    dims, bodies = [3] * 6, [0, 1, 2, 0, 1, 2]
    if hosted:
        dims, bodies = [*dims, 1], [*bodies, 1]
    owner = np.repeat(bodies, dims)
    rows = rng.normal(size=(len(owner), 24)) * (owner[:, None] == np.repeat([0, 1, 2], 8))
    count = len(dims)
    return ContactProblem(
        delassus=rows @ rows.T,
        free=rng.normal(size=len(owner)),
        dims=tuple(dims),
        friction=np.full(count, 0.2),
        static_friction=np.full(count, 0.3),
        sliding=(None, np.array([0.6, 0.8]), *[None] * (count - 2)),
        names=tuple("abcdefg"[:count]),
        hosts=(4,) if hosted else (),
    )


def test_components_are_those_that_links_connect() -> None:
    assert components([5, 1, 3, 2], [(1, 2), (2, 5)]) == [[5, 1, 2], [3]]


@pytest.mark.parametrize("hosted", [False, True])
def test_islands_are_sets_that_do_not_move_each_other(hosted: bool) -> None:
    given = problem(0, hosted)
    assert islands(given) == [[0, 3], [1, 4, 6] if hosted else [1, 4], [2, 5]]
    assert islands(given, [0, 1, 4]) == [[0], [1, 4]]
    if hosted:
        part = part_of(given, [1, 4, 6])
        assert part.hosts == (1,) and part.count == 2 and part.names == ("b", "e", "g")
        np.testing.assert_array_equal(part.sliding[0], given.sliding[1])


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("rebounds", [False, True])
def test_solution_is_that_of_all_together(seed: int, rebounds: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    given = problem(seed, hosted=seed % 2 == 1)
    if rebounds:
        normals = given.free[list(given.starts)]
        given = replace(given, rebound=tuple(np.maximum(-0.5 * normals, 0.0).tolist()))
    found = solve(given)
    found.verify()
    monkeypatch.setattr(stick_slip_choice, "islands", lambda asked: [list(range(len(asked.dims)))])
    whole = solve(given)
    assert found.modes == whole.modes and found.unique == whole.unique and len({*found.modes}) > 1
    np.testing.assert_allclose(found.forces, whole.forces, rtol=0, atol=1e-9 * np.abs(whole.forces).max())


def test_no_modes_are_sought_in_rounding() -> None:
    given = problem(1)
    owner, rng = np.repeat(range(6), 3), np.random.default_rng(6)
    free = np.where(np.isin(owner, [0, 3]), given.free, 1e-13 * rng.normal(size=18))
    found = solve(replace(given, free=free, sliding=(None,) * 6))
    quiet = [1, 2, 4, 5]
    assert {found.modes[i] for i in quiet} == {Mode.STICK} and not found.forces[np.isin(owner, quiet)].any()
    assert found.forces[np.isin(owner, [0, 3])].any()


def test_what_is_given_and_lifted_stays_with_its_contact() -> None:
    given = replace(problem(3), given=(0.0, 0.1, 0.2, 0.3, 0.4, 0.5), lifted=frozenset({4, 5}), slack=tuple(range(6)))
    part = part_of(given, [1, 4])
    assert part.given == (0.1, 0.4) and part.lifted == {1} and part.slack == (1, 4)
    parts = islands(given)
    solutions = [solve(part_of(problem(3), own)) for own in parts]
    whole = joined(problem(3), parts, solutions)
    assert whole.modes == solve(problem(3)).modes and whole.modes[4] in Mode


def test_large_mass_matrices_are_solved_block_by_block() -> None:
    rng, count = np.random.default_rng(5), 20
    mass = np.zeros((6 * count, 6 * count))
    for k in range(count):
        root = rng.normal(size=(6, 6))
        mass[6 * k : 6 * k + 6, 6 * k : 6 * k + 6] = root @ root.T + np.eye(6)
    rows = np.zeros((40, 6 * count))
    for row, (one, other) in enumerate(rng.integers(0, count, size=(40, 2))):
        rows[row, 6 * one : 6 * one + 6], rows[row, 6 * other : 6 * other + 6] = rng.normal(size=(2, 6))
    rows[7] = 2.0 * rows[3]  # redundant
    inverse = np.linalg.inv(mass)
    np.testing.assert_allclose(delassus(mass, rows), rows @ inverse @ rows.T, rtol=0, atol=1e-10)
    np.testing.assert_allclose(solve_mass(mass, rows.T), inverse @ rows.T, rtol=0, atol=1e-10)
    target = rows @ rng.normal(size=6 * count)
    change, multipliers = smallest_change(mass, rows, target)
    np.testing.assert_allclose(rows @ change, target, rtol=0, atol=1e-9)
    dense = np.linalg.pinv(rows @ inverse @ rows.T, rcond=1e-10) @ target
    np.testing.assert_allclose(multipliers, dense, rtol=0, atol=1e-8)
