"""`cs.solve_contacts` on plain arrays: closed forms, published problems, and the laws from their definitions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tolerances as tol
from contact_oracle import enumerate_modes
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls

import contactsim as cs
from contactsim.contact.stick_slip_choice import in_order

Array = np.ndarray
OPEN, STICK, SLIP = cs.Mode.OPEN, cs.Mode.STICK, cs.Mode.SLIP
DATA = Path(__file__).parents[1] / "data"
EXACT = 1e-12  # of a closed form, whose numbers are about one
SAME_FORCE = 1e-6  # relative, of two ways to the same forces


def violation(G: Array, free: Array, mu: Array, dim: int, forces: Array, e: Array | float = 0.0) -> float:
    """Largest violation of Signorini's and Coulomb's laws, of maximum dissipation too, relative to the problem."""
    n = len(free) // dim
    lam, w = forces.reshape(n, dim), (G @ forces + free).reshape(n, dim)
    size, speed = max(np.abs(forces).max(), 1e-300), max(np.abs(free).max(), 1e-300)
    normal, leaves = lam[:, 0] / size, (w[:, 0] - np.maximum(-e * free[::dim], 0.0)) / speed
    pull, slip = np.linalg.norm(lam[:, 1:], axis=1) / size, np.linalg.norm(w[:, 1:], axis=1) / speed
    power = np.sum(lam[:, 1:] * w[:, 1:], axis=1) / (size * speed)
    cone = np.minimum(np.abs(leaves), np.abs(normal))  # one of the two vanishes
    return float(
        max(
            (-normal).max(), (-leaves).max(), cone.max(), (pull - mu * normal).max(), (power + mu * normal * slip).max()
        )
    )


def point_rows(point: Array) -> Array:
    """Rows n, t1, t2 (3, 6) of a point of a free body, on ground below it."""
    x, y, z = point
    return np.array([[0, 0, 1, y, -x, 0], [1, 0, 0, 0, z, -y], [0, 1, 0, -z, 0, x]], dtype=float)


CORNERS = np.vstack([point_rows(np.array([x, y, -0.5])) for x in (-1.0, 1.0) for y in (-1.0, 1.0)])
LEVERAGE = np.diag(1.0 / np.array([2.0, 2.0, 2.0, 0.8, 0.8, 0.8]))  # M^-1 of a box of 2 kg
BOX = CORNERS @ LEVERAGE @ CORNERS.T


def box(force: tuple[float, float, float], **options: Any) -> cs.ContactSolution:
    """The box on its four corners under a force at its centre, and gravity."""
    wrench = np.array([*force, 0.0, 0.0, 0.0]) - [0.0, 0.0, 2.0 * 9.81, 0.0, 0.0, 0.0]
    return cs.solve_contacts(BOX, CORNERS @ LEVERAGE @ wrench, 0.5, **options)


def rod(normal: float, **options: Any) -> cs.ContactSolution:
    """Painleve's rod, 1.1 rad steep, that slides on its tip with mu = 1.4 (Genot and Brogliato 1999)."""
    c, s = np.cos(1.1), np.sin(1.1)
    G = np.array([[1.0 + 3.0 * c * c, 3.0 * s * c], [3.0 * s * c, 1.0 + 3.0 * s * s]])
    return cs.solve_contacts(G, [normal, 0.0], [1.4], sliding=[[2.0]], **options)


# --- closed forms ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("free", "e", "mode", "forces", "motion"),
    [
        ([-1.0, 0.3, 0.4], None, SLIP, [1.0, -0.24, -0.32], [0.0, 0.06, 0.08]),
        ([-1.0, 0.18, 0.24], None, STICK, [1.0, -0.18, -0.24], [0.0, 0.0, 0.0]),
        ([1.0, 0.3, 0.4], None, OPEN, [0.0, 0.0, 0.0], [1.0, 0.3, 0.4]),
        ([-1.0, 0.3, 0.4], 0.5, STICK, [1.5, -0.3, -0.4], [0.5, 0.0, 0.0]),
        ([-1.0, 0.6, 0.8], 0.5, SLIP, [1.5, -0.36, -0.48], [0.5, 0.24, 0.32]),
        ([1.0, 0.3, 0.4], 0.5, OPEN, [0.0, 0.0, 0.0], [1.0, 0.3, 0.4]),
        ([-1.0, 0.5], None, SLIP, [1.0, -0.4], [0.0, 0.1]),
        ([-1.0, -0.3], None, STICK, [1.0, 0.3], [0.0, 0.0]),
        ([-1.0], 0.25, STICK, [1.25], [0.25]),
    ],
)
def test_a_point_mass(
    free: list[float], e: float | None, mode: cs.Mode, forces: list[float], motion: list[float]
) -> None:
    solution = cs.solve_contacts(np.eye(len(free)), free, [0.4], e)
    assert solution.modes == (mode,)
    assert solution.unique
    np.testing.assert_allclose(solution.forces, forces, rtol=0, atol=EXACT)
    np.testing.assert_allclose(solution.motion, motion, rtol=0, atol=EXACT)
    assert solution.residual == max(solution.residuals.values()) < EXACT
    assert solution.verify() is solution.residuals


def test_a_planar_contact_whose_friction_turns_it() -> None:
    """Coupled rows: w_n = 2 lam_n + lam_t - 1 and w_t = lam_n + 2 lam_t + 4 with lam_t = -0.5 lam_n."""
    solution = cs.solve_contacts([[2.0, 1.0], [1.0, 2.0]], [-1.0, 4.0], 0.5, dims=2)
    np.testing.assert_allclose(solution.forces, [2 / 3, -1 / 3], rtol=0, atol=EXACT)
    np.testing.assert_allclose(solution.motion, [0.0, 4.0], rtol=0, atol=EXACT)


def test_a_box_rests_on_four_corners_whose_forces_are_not_unique() -> None:
    solution = box((3.0, 0.0, 0.0))
    assert solution.modes == (STICK,) * 4
    assert not solution.unique
    np.testing.assert_allclose(solution.motion, 0.0, atol=EXACT)
    np.testing.assert_allclose(CORNERS.T @ solution.forces, [-3.0, 0.0, 2.0 * 9.81, 0.0, 0.0, 0.0], rtol=0, atol=1e-11)
    assert violation(BOX, solution.problem.free, np.full(4, 0.5), 3, solution.forces) < tol.PROBLEM_LAW


def test_a_box_slides_off_when_pushed_beyond_its_friction() -> None:
    """All its corners move with (12 - mu m g) / m."""
    solution = box((12.0, 0.0, 0.0))
    assert solution.modes == (SLIP,) * 4
    np.testing.assert_allclose(solution.motion.reshape(4, 3), [[0.0, (12.0 - 9.81) / 2.0, 0.0]] * 4, rtol=0, atol=1e-11)


def test_a_box_is_lifted() -> None:
    solution = box((0.0, 0.0, 20.62))
    assert solution.modes == (OPEN,) * 4
    assert solution.unique
    np.testing.assert_allclose(solution.motion[::3], 0.5, rtol=0, atol=EXACT)


def test_two_contacts_at_one_place_share_their_force() -> None:
    G = np.kron(np.ones((2, 2)), np.eye(3))
    solution = cs.solve_contacts(G, [-1.0, 0.2, 0.0] * 2, 0.5)
    np.testing.assert_allclose(solution.forces, [0.5, -0.1, 0.0] * 2, rtol=0, atol=EXACT)
    assert not solution.unique


def test_no_contacts_at_all() -> None:
    solution = cs.solve_contacts(np.zeros((0, 0)), [], 0.5)
    assert solution.modes == ()
    assert solution.unique
    assert solution.residual == 0.0


# --- no solution, and several ----------------------------------------------------------------------------------------
def test_painleve_s_rod_has_no_solution() -> None:
    with pytest.raises(cs.NoAdmissibleModeError, match="Painleve"):
        rod(-9.81)


def test_painleve_s_rod_has_two_solutions() -> None:
    """With p = G_nn - mu G_nt it may leave with 9.81, or slide on under -9.81 / p."""
    leaves, slides = rod(9.81, guess=[OPEN]), rod(9.81)
    assert (leaves.modes, slides.modes) == ((OPEN,), (SLIP,))
    assert not leaves.unique
    assert not slides.unique
    c, s = np.cos(1.1), np.sin(1.1)
    mobility = 1.0 + 3.0 * c * c - 1.4 * 3.0 * s * c
    assert slides.forces[0] == pytest.approx(-9.81 / mobility, rel=EXACT)
    assert leaves.motion[0] == 9.81


def test_an_impact_that_may_jam_has_two_solutions() -> None:
    """It leaves the ground, but friction at its tip could as well stop it: lam = -G^-1 w0 lies in the cone of 5."""
    c, s = np.cos(1.1), np.sin(1.1)
    G = np.array([[1.0 + 3.0 * c * c, 3.0 * s * c], [3.0 * s * c, 1.0 + 3.0 * s * s]])
    for guess, mode in (([STICK], STICK), ([OPEN], OPEN)):
        solution = cs.solve_contacts(G, [1.0, 8.0], [5.0], guess=guess)
        assert solution.modes == (mode,)
        assert not solution.unique
    assert cs.solve_contacts(G, [1.0, 8.0], [1.0]).unique


def test_what_no_force_moves_has_no_solution() -> None:
    for rows in (1, 3):
        with pytest.raises(cs.NoAdmissibleModeError):
            cs.solve_contacts(np.zeros((rows, rows)), -np.ones(rows), [0.5])


@pytest.mark.parametrize("seed", range(30))
def test_unique_says_what_enumeration_says(seed: int) -> None:
    rng = np.random.default_rng([61, seed])
    n, mu = int(rng.integers(1, 3)), rng.uniform(0.2, 3.0)
    J = rng.normal(size=(2 * n, 2 * n + 1))
    solution = cs.solve_contacts(J @ J.T, J @ rng.normal(size=2 * n + 1), mu, dims=2)
    assert solution.unique == (len(enumerate_modes(solution.problem)) == 1)


# --- published and stored problems -----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "force"),
    [
        ("FrictionContact3D_1c.dat", (0.0656956828977383, -0.00367861490680676, -0.00544307081355929)),
        ("Rover11035.dat", (3.85556492612845, 1.07507931887663, 2.47552844841739)),
    ],
)
def test_siconos_problems(name: str, force: tuple[float, float, float]) -> None:
    numbers = [float(word) for word in (DATA / name).read_text().split()][7:20]
    solution = cs.solve_contacts(np.reshape(numbers[:9], (3, 3)), numbers[9:12], numbers[12:])
    np.testing.assert_allclose(solution.forces, force, rtol=0, atol=tol.PUBLISHED_FORCE * np.abs(force).max())


def stored(name: str, key: str | None = None) -> dict[str, Any]:
    data = json.loads((DATA / name).read_text())
    return data[key] if key else data


@pytest.mark.parametrize("seed", json.loads((DATA / "hard_impacts.json").read_text()))
@pytest.mark.parametrize("e", [None, 0.4])
def test_hard_impacts(seed: str, e: float | None) -> None:
    data = stored("hard_impacts.json", seed)
    G, free, mu = (np.array(data[key]) for key in ("delassus", "free", "friction"))
    solution = cs.solve_contacts(G, free, mu, e, dims=data["dims"])
    solution.verify()
    if {*data["dims"]} == {3}:
        assert violation(G, free, mu, 3, solution.forces, e or 0.0) < tol.PROBLEM_LAW


def test_redundant_slip() -> None:
    data = stored("redundant_slip.json")
    solution = cs.solve_contacts(
        data["delassus"],
        data["free"],
        data["friction"],
        dims=data["dims"],
        sliding=data["sliding"],
        guess=[cs.Mode(value) for value in data["guess"]],
    )
    assert not solution.unique
    solution.verify()


# --- random problems -------------------------------------------------------------------------------------------------
@settings(max_examples=80, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 10**6),
    count=st.integers(1, 6),
    dim=st.sampled_from([1, 2, 3]),
    freedoms=st.integers(1, 12),
    most=st.sampled_from([0.0, 0.3, 1.0]),
    e=st.sampled_from([None, 0.0, 0.6, 1.0]),
)
def test_laws_hold_for_random_impacts(
    seed: int, count: int, dim: int, freedoms: int, most: float, e: float | None
) -> None:
    """Singular matrices among them: with fewer freedoms than rows."""
    rng = np.random.default_rng([62, seed])
    J, mu = rng.normal(size=(count * dim, freedoms)), rng.uniform(0.0, most, size=count)
    G, free = J @ J.T, J @ rng.normal(size=freedoms)
    try:
        solution = cs.solve_contacts(G, free, mu, e)
    except cs.NoAdmissibleModeError:
        assert e  # without rebound there always is a solution; rebounds may ask for what redundant contacts cannot do
        return
    np.testing.assert_array_equal(solution.motion, G @ solution.forces + free)
    assert violation(G, free, mu * (dim > 1), dim, solution.forces, e or 0.0) < 10.0 * tol.PROBLEM_LAW
    solution.verify(10.0 * tol.PROBLEM_LAW)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10**6), count=st.integers(1, 8), spare=st.integers(-2, 3))
def test_without_friction_it_is_a_linear_complementarity_problem(seed: int, count: int, spare: int) -> None:
    """The motion is that of the least kinetic energy: min |J^T lam + v|, lam >= 0, by non-negative least squares."""
    rng = np.random.default_rng([63, seed])
    J, v = rng.normal(size=(count, max(count + spare, 1))), rng.normal(size=max(count + spare, 1))
    expected = nnls(J.T, -v)[0]
    solution = cs.solve_contacts(J @ J.T, J @ v, 0.0, dims=1)
    np.testing.assert_allclose(J.T @ solution.forces, J.T @ expected, rtol=0, atol=1e-9 * np.abs(v).max())
    if spare >= 0:
        assert solution.unique
        scale = max(1.0, np.abs(expected).max())
        np.testing.assert_allclose(solution.forces, expected, rtol=0, atol=SAME_FORCE * scale)


@pytest.mark.parametrize("solver", list(in_order()), ids=lambda solver: type(solver).__name__)
@pytest.mark.parametrize("seed", range(4))
def test_every_solver_alone_finds_the_solution(solver: Any, seed: int) -> None:
    rng = np.random.default_rng([64, seed])
    J = rng.normal(size=(9, 40))
    G, free = J @ J.T, J @ rng.normal(size=40)
    first, alone = cs.solve_contacts(G, free, 0.3), cs.solve_contacts(G, free, 0.3, solvers=[solver])
    assert alone.modes == first.modes
    np.testing.assert_allclose(alone.forces, first.forces, rtol=0, atol=SAME_FORCE * np.abs(first.forces).max())


def test_a_solution_that_is_none_says_so() -> None:
    from dataclasses import replace

    solution = replace(cs.solve_contacts(np.eye(3), [-1.0, 0.3, 0.0], 0.5), forces=np.array([0.5, -0.3, 0.0]))
    assert solution.residuals == pytest.approx({"signorini": 0.5, "cone": 0.1, "friction": 0.0})
    with pytest.raises(cs.CheckError, match="signorini"):
        solution.verify()


# --- what cannot be asked --------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"G": np.ones((3, 2))}, "'G' has shape (3, 2)"),
        ({"G": "none"}, "give an array of real numbers"),
        ({"G": np.triu(np.ones((3, 3)))}, "not symmetric"),
        ({"G": -np.eye(3)}, "positive semidefinite"),
        ({"G": np.full((3, 3), np.inf)}, "'G' holds inf"),
        ({"free": [1.0, 2.0]}, "'free' has shape (2,)"),
        ({"free": [1.0, np.nan, 0.0]}, "'free' holds nan"),
        ({"friction": -0.1}, "'friction' is -0.1"),
        ({"friction": [0.1, 0.2]}, "'friction' has shape (2,)"),
        ({"G": np.eye(6), "free": np.ones(6), "friction": [0.5]}, "'friction' has 1 entries for 6 rows of G"),
        ({"restitution": 1.5}, "'restitution' is 1.5"),
        ({"restitution": [0.1, 0.2]}, "'restitution' has shape (2,)"),
        ({"dims": 2}, "1, 2 or 3"),
        ({"dims": (1, 1)}, "1, 2 or 3"),
        ({"dims": 4}, "1, 2 or 3"),
        ({"G": np.eye(4), "free": np.ones(4)}, "1, 2 or 3"),
        ({"sliding": []}, "'sliding' has 0 entries"),
        ({"sliding": [[1.0]]}, "'sliding' has a velocity of shape (1,)"),
        ({"guess": [OPEN, OPEN]}, "'guess' is"),
    ],
)
def test_mistakes_are_told_in_one_sentence(changed: dict[str, Any], words: str) -> None:
    asked: dict[str, Any] = {"G": np.eye(3), "free": [-1.0, 0.2, 0.0], "friction": 0.5, **changed}
    with pytest.raises(cs.InputError) as caught:
        cs.solve_contacts(**asked)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
