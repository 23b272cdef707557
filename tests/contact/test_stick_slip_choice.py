"""Mode selection against the enumeration of all modes, on plain arrays; no engine, no integrator."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
import tolerances as tol
from builders import random_tree
from contact_oracle import Found, enumerate_modes, law_violation, rows

from contactsim.contact.modes import Mode
from contactsim.contact.problem import ContactProblem, ContactSolution
from contactsim.contact.solvers.pivot import GivenModes, solve_modes
from contactsim.contact.stick_slip_choice import solve
from contactsim.errors import ContactSimError

Array = np.ndarray
BATCH = 25  # problems of one test


# --- problems ------------------------------------------------------------------------------------------------------
def problem_of(
    rng: np.random.Generator, G: Array, free: Array, dims: tuple[int, ...], slide: float, mu_max: float, equal: bool
) -> ContactProblem:
    """Random coefficients, and a given slip direction for about the fraction `slide` of the contacts."""
    n = len(dims)
    friction = rng.uniform(0.1, mu_max, size=n)
    static = friction if equal else friction * rng.uniform(1.0, 1.4, size=n)
    sliding = tuple(direction(rng, d - 1) if d > 1 and rng.random() < slide else None for d in dims)
    return ContactProblem(G, free, dims, friction, static, sliding)


def direction(rng: np.random.Generator, size: int) -> Array:
    vector = rng.normal(size=size)
    return vector / np.linalg.norm(vector)


def random_dims(rng: np.random.Generator, most: int = 4) -> tuple[int, ...]:
    n = int(rng.integers(1, most + 1))
    return tuple(int(d) for d in rng.choice([1, 2, 3, 3, 3], size=n))


def random_delassus(rng: np.random.Generator, m: int) -> Array:
    rows_of_jacobian = rng.normal(size=(m, m + 6))
    return rows_of_jacobian @ rows_of_jacobian.T / (m + 6)


def abstract_problem(rng: np.random.Generator) -> ContactProblem:
    """A random positive definite Delassus matrix and a random free motion that mostly closes."""
    dims = random_dims(rng)
    free = rng.normal(size=sum(dims))
    problem = problem_of(rng, random_delassus(rng, sum(dims)), free, dims, 0.4, 0.7, rng.random() < 0.6)
    for n, _ in rows(problem):
        free[n] -= 0.7
    return problem


def planted_problem(rng: np.random.Generator) -> tuple[ContactProblem, Array]:
    """A problem made from its solution: modes, forces and motion are drawn first. Returns it with those forces."""
    dims = random_dims(rng)
    problem = problem_of(rng, random_delassus(rng, sum(dims)), np.ones(sum(dims)), dims, 0.4, 0.6, True)
    forces, motion = np.zeros(sum(dims)), np.zeros(sum(dims))
    for i, (n, t) in enumerate(rows(problem)):
        given = problem.sliding[i]
        kind = rng.choice(["open", "slip"] if given is not None else ["open", "stick", "slip"])
        if kind == "open":
            motion[n], motion[t] = rng.uniform(0.1, 1.0), rng.normal(size=dims[i] - 1)
            continue
        forces[n] = rng.uniform(0.2, 2.0)
        if dims[i] == 1:
            continue
        s = given if given is not None else direction(rng, dims[i] - 1)
        if kind == "stick":
            forces[t] = rng.uniform(0.0, 0.95) * problem.friction[i] * forces[n] * s
        else:
            forces[t] = -problem.friction[i] * forces[n] * s
            motion[t] = rng.normal(size=dims[i] - 1) if given is not None else rng.uniform(0.1, 1.0) * s
    return replace(problem, free=motion - problem.delassus @ forces), forces


def robot_problem(rng: np.random.Generator) -> ContactProblem:
    """Independent contacts on random bodies of a random robot in a random state, at the level of accelerations."""
    while True:
        problem = any_robot_problem(rng)
        if np.linalg.cond(problem.delassus) < 1e8:
            return problem


def any_robot_problem(rng: np.random.Generator) -> ContactProblem:
    model = random_tree(int(rng.integers(10_000)), bodies=int(rng.integers(5, 10)))
    data = model.createData()
    q = pin.integrate(model, pin.neutral(model), rng.normal(size=model.nv))
    v = 0.3 * rng.normal(size=model.nv)
    n = int(rng.integers(1, 5))
    joints = rng.choice(np.arange(1, model.njoints), size=min(n, model.njoints - 1), replace=False)
    J, bias = point_rows(model, data, q, v, [(int(j), 0.2 * rng.normal(size=3)) for j in joints])
    M = pin.crba(model, data, q)
    M = np.triu(M) + np.triu(M, 1).T
    drift = pin.nonLinearEffects(model, data, q, v)
    free = J @ np.linalg.solve(M, 2.0 * rng.normal(size=model.nv) - drift) + bias
    G = J @ np.linalg.solve(M, J.T)
    return problem_of(rng, (G + G.T) / 2, free, (3,) * len(joints), 0.5, 0.6, rng.random() < 0.5)


def point_rows(
    model: pin.Model, data: pin.Data, q: Array, v: Array, points: list[tuple[int, Array]]
) -> tuple[Array, Array]:
    """Normal (z) and tangential (x, y) rows of points fixed to joints, and their bias accelerations."""
    pin.forwardKinematics(model, data, q, v, np.zeros(model.nv))
    pin.computeJointJacobians(model, data, q)
    J, bias = [], []
    for joint, offset in points:
        place = pin.SE3(data.oMi[joint].rotation, data.oMi[joint].act(offset))
        local = pin.SE3(np.eye(3), offset)
        jacobian = local.toActionMatrixInverse() @ pin.getJointJacobian(model, data, joint, pin.ReferenceFrame.LOCAL)
        twist, spatial = local.actInv(data.v[joint]), local.actInv(data.a[joint])
        acceleration = spatial.linear + np.cross(twist.angular, twist.linear)
        order = [2, 0, 1]
        J.append((place.rotation @ jacobian[:3])[order])
        bias.append((place.rotation @ acceleration)[order])
    return np.vstack(J), np.concatenate(bias)


def box_problem(rng: np.random.Generator) -> ContactProblem:
    """Two to four corners of one box on the ground (12 rows on 6 freedoms): pushed, at rest or sliding straight."""
    mass, size = rng.uniform(0.5, 3.0), rng.uniform(0.2, 0.6, size=3)
    inertia = mass / 12 * (np.sum(size**2) - size**2)
    corners = [np.array([sx, sy, -1.0]) * size / 2 for sx in (-1, 1) for sy in (-1, 1)]
    chosen = sorted(rng.choice(4, size=int(rng.integers(2, 5)), replace=False))
    J = np.vstack([np.hstack([np.eye(3), -pin.skew(corners[k])])[[2, 0, 1]] for k in chosen])
    inverse = np.diag(1 / np.array([mass, mass, mass, *inertia]))
    wrench = np.array([0, 0, -9.81 * mass, 0, 0, 0]) + mass * rng.normal(size=6) * [3, 3, 3, 0.5, 0.5, 0.5]
    friction = np.full(len(chosen), rng.uniform(0.2, 0.6))
    slides = rng.random() < 0.3
    sliding = (direction(rng, 2) if slides else None,) * len(chosen)
    return ContactProblem(J @ inverse @ J.T, J @ inverse @ wrench, (3,) * len(chosen), friction, friction, sliding)


# --- comparison ----------------------------------------------------------------------------------------------------
def words(problem: ContactProblem, modes: tuple[Mode, ...]) -> tuple[str, ...]:
    """Modes as words; a contact without friction rows is only open or closed."""
    return tuple(
        mode.name if dim > 1 or mode is Mode.OPEN else "CLOSED" for mode, dim in zip(modes, problem.dims, strict=True)
    )


def motion_scale(problem: ContactProblem) -> float:
    return float(np.abs(problem.free).max())


def assert_law(problem: ContactProblem, solution: ContactSolution) -> None:
    motion = problem.delassus @ solution.forces + problem.free
    np.testing.assert_allclose(solution.motion, motion, rtol=0, atol=1e-12 * motion_scale(problem))
    assert law_violation(problem, solution.forces) < tol.PROBLEM_LAW
    of_force = max(float(np.abs(solution.forces).max()), 1e-300)
    for i, (n, t) in enumerate(rows(problem)):
        if solution.modes[i] is Mode.OPEN:
            np.testing.assert_array_equal(solution.forces[n], 0.0)
            np.testing.assert_array_equal(solution.forces[t], 0.0)
        elif solution.modes[i] is Mode.SLIP and problem.dims[i] > 1:
            s = solution.directions[i]
            np.testing.assert_allclose(np.linalg.norm(s), 1.0, rtol=0, atol=1e-12)
            pull = -problem.friction[i] * solution.forces[n] * s
            np.testing.assert_allclose(solution.forces[t], pull, rtol=0, atol=tol.PROBLEM_LAW * of_force)
            if problem.sliding[i] is not None:
                np.testing.assert_array_equal(s, problem.sliding[i])
        elif solution.modes[i] is Mode.STICK and problem.dims[i] > 1:
            assert problem.sliding[i] is None
            assert np.abs(solution.motion[t]).max() < tol.PROBLEM_LAW * motion_scale(problem)
    assert max(solution.residuals.values()) < tol.PROBLEM_LAW * max(of_force, motion_scale(problem))


def nearest(problem: ContactProblem, solution: ContactSolution, found: list[Found]) -> float:
    """Distance of the motion to the nearest one that the oracle found, relative to the problem's scale."""
    return min(float(np.abs(solution.motion - other.motion).max()) for other in found) / motion_scale(problem)


def assert_agrees(problem: ContactProblem) -> ContactSolution | None:
    """The engine's answer is one that enumeration finds; where there is none, it says so."""
    found = enumerate_modes(problem)
    try:
        solution = solve(problem)
    except ContactSimError as error:
        admissible = [[mode.name for mode in other.modes] for other in found]
        assert not found, f"the engine says '{error}', enumeration finds {admissible}"
        return None
    assert_law(problem, solution)
    if not found:  # a slip direction that Newton's method missed; the law has decided
        return solution
    assert nearest(problem, solution, found) < tol.PROBLEM_MOTION
    names = words(problem, solution.modes)
    matches = [other for other in found if words(problem, other.modes) == names]
    assert matches or len({words(problem, other.modes) for other in found}) > 1, (names, [f.modes for f in found])
    return solution


@pytest.mark.parametrize("batch", range(6))
def test_random_delassus_matrices(batch: int) -> None:
    rng = np.random.default_rng([1, batch])
    for _ in range(BATCH):
        assert_agrees(abstract_problem(rng))


@pytest.mark.parametrize("batch", range(4))
def test_planted_solutions_are_found(batch: int) -> None:
    rng = np.random.default_rng([2, batch])
    for _ in range(BATCH):
        problem, forces = planted_problem(rng)
        assert law_violation(problem, forces) < 1e-12
        solution = assert_agrees(problem)
        assert solution is not None


@pytest.mark.parametrize("batch", range(6))
def test_random_robots(batch: int) -> None:
    rng = np.random.default_rng([3, batch])
    for _ in range(BATCH):
        assert_agrees(robot_problem(rng))


def coupled_problem(rng: np.random.Generator) -> ContactProblem:
    """Two to four contacts, mostly at rest, with a nearly singular Delassus matrix and friction up to 0.9."""
    n = int(rng.integers(2, 5))
    m = 3 * n
    jacobian = rng.normal(size=(m, m + 1))
    free = rng.normal(size=m)
    free[::3] -= 0.5
    return problem_of(rng, jacobian @ jacobian.T / m, free, (3,) * n, 0.0 if rng.random() < 0.7 else 0.4, 0.9, True)


@pytest.mark.parametrize("batch", [106, 109, 111, 119, 129, 131])  # of 40 batches, those that held a hard one
def test_strongly_coupled_contacts(batch: int) -> None:
    rng = np.random.default_rng([9, batch])
    for _ in range(BATCH):
        assert_agrees(coupled_problem(rng))


@pytest.mark.parametrize("batch", range(4))
def test_boxes_with_redundant_contacts(batch: int) -> None:
    """Forces are not unique: the law is checked, and the acceleration where no contact begins to slip.

    Redundant contacts that slip admit a family of accelerations; with given directions only those are compared in
    which the smallest forces are admissible.
    """
    rng = np.random.default_rng([4, batch])
    for _ in range(BATCH):
        problem = box_problem(rng)
        given = problem.sliding[0] is not None
        found = enumerate_modes(problem, free_slip=False)
        if given and not found:
            continue  # the smallest forces are no proof that others fail: nothing to compare with
        solution = solve(problem)  # at rest a solution always exists
        assert_law(problem, solution)
        if found and (not given or len(problem.dims) == 2):
            assert nearest(problem, solution, found) < tol.PROBLEM_MOTION


def test_impact_of_a_quadruped_whose_other_feet_touch() -> None:
    """Met in a drop of go2: one foot arrives sliding, one slides, two stick; enumeration finds one answer."""
    with np.load(Path(__file__).parents[1] / "data" / "go2_impact.npz") as data:
        G, free, mu = data["delassus"], data["free"], data["friction"]
    problem = ContactProblem(G, free, (3,) * 4, mu, mu, (None,) * 4)
    assert [other.modes for other in enumerate_modes(problem)] == [(Mode.OPEN, Mode.SLIP, Mode.SLIP, Mode.OPEN)]
    assert_agrees(problem)


# --- properties ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("seed", range(20))
def test_forces_scale_with_the_free_motion(seed: int) -> None:
    problem = robot_problem(np.random.default_rng([5, seed]))
    first = solve(problem)
    for factor in (1e-4, 1e4):
        other = solve(replace(problem, free=factor * problem.free))
        assert other.modes == first.modes
        np.testing.assert_allclose(
            other.forces, factor * first.forces, rtol=0, atol=1e-7 * factor * max(1.0, np.abs(first.forces).max())
        )


@pytest.mark.parametrize("seed", range(20))
def test_order_of_the_contacts_does_not_matter(seed: int) -> None:
    rng = np.random.default_rng([6, seed])
    problem = robot_problem(rng)
    problem = replace(problem, static_friction=problem.friction)
    if len(enumerate_modes(problem)) != 1:
        return
    order = rng.permutation(len(problem.dims))
    index = np.concatenate([np.arange(3 * k, 3 * k + 3) for k in order])
    shuffled = replace(
        problem,
        delassus=problem.delassus[np.ix_(index, index)],
        free=problem.free[index],
        friction=problem.friction[order],
        static_friction=problem.static_friction[order],
        sliding=tuple(problem.sliding[k] for k in order),
    )
    first, other = solve(problem), solve(shuffled)
    assert other.modes == tuple(first.modes[k] for k in order)
    scale = max(1.0, float(np.abs(first.forces).max()))
    np.testing.assert_allclose(other.forces, first.forces[index], rtol=0, atol=1e-7 * scale)


@pytest.mark.parametrize("seed", range(20))
def test_any_guess_leads_to_the_unique_solution(seed: int) -> None:
    rng = np.random.default_rng([7, seed])
    problem = robot_problem(rng)
    problem = replace(problem, static_friction=problem.friction)
    if len(enumerate_modes(problem)) != 1:
        return
    first = solve(problem)
    for _ in range(5):
        guess = tuple(
            Mode.OPEN if rng.random() < 0.5 else (Mode.STICK if given is None else Mode.SLIP)
            for given in problem.sliding
        )
        other = solve(problem, guess)
        assert other.modes == first.modes
        np.testing.assert_allclose(other.motion, first.motion, rtol=0, atol=1e-7 * motion_scale(problem))


@pytest.mark.parametrize("seed", range(10))
def test_modes_prepared_once_give_the_same_forces_elsewhere(seed: int) -> None:
    rng = np.random.default_rng([8, seed])
    problem = robot_problem(rng)
    modes = solve(problem).modes
    other = replace(
        problem, delassus=1.1 * problem.delassus, free=problem.free + 0.1 * rng.normal(size=len(problem.free))
    )
    forces, slips, unique = GivenModes(problem, modes).at(other.delassus, other.free, other.sliding).solve()
    expected = solve_modes(other, modes)
    np.testing.assert_array_equal(forces, expected.forces)
    assert unique == expected.unique
    for slip, same in zip(slips, expected.directions, strict=True):
        np.testing.assert_array_equal(slip, same)


@pytest.mark.parametrize("pull", [0.35, 0.45])
def test_between_kinetic_and_static_friction_a_sticking_contact_sticks(pull: float) -> None:
    """A mass pressed with 1 N and pulled with 0.35 or 0.45 N, mu_k = 0.3, mu_s = 0.5: both modes are admissible."""
    problem = ContactProblem(np.eye(3), np.array([-1.0, pull, 0.0]), (3,), np.array([0.3]), np.array([0.5]), (None,))
    assert {other.modes for other in enumerate_modes(problem)} == {(Mode.STICK,), (Mode.SLIP,)}
    solution = solve(problem, (Mode.STICK,))
    assert solution.modes == (Mode.STICK,)
    np.testing.assert_allclose(solution.forces, [1.0, -pull, 0.0], rtol=0, atol=1e-12)


def test_break_away_with_a_jump_of_friction() -> None:
    """Pulled beyond the static cone: it slips along the pull, with the kinetic force."""
    s = np.array([0.6, -0.8])
    problem = ContactProblem(np.eye(3), np.array([-1.0, *(0.7 * s)]), (3,), np.array([0.3]), np.array([0.5]), (None,))
    solution = solve(problem, (Mode.STICK,))
    assert solution.modes == (Mode.SLIP,)
    np.testing.assert_allclose(solution.directions[0], s, rtol=0, atol=1e-12)
    np.testing.assert_allclose(solution.forces, [1.0, *(-0.3 * s)], rtol=0, atol=1e-12)
    np.testing.assert_allclose(solution.motion, [0.0, *(0.4 * s)], rtol=0, atol=1e-12)


def test_the_cone_is_round() -> None:
    """A pull of 0.49 N at 45 degrees lies inside a round cone of 0.5 and outside its inner pyramid."""
    for angle in np.linspace(0, 2 * np.pi, 17):
        pull = 0.49 * np.array([np.cos(angle), np.sin(angle)])
        mu = np.array([0.5])
        inside = solve(ContactProblem(np.eye(3), np.array([-1.0, *pull]), (3,), mu, mu, (None,)))
        assert inside.modes == (Mode.STICK,)
        outside = solve(ContactProblem(np.eye(3), np.array([-1.0, *(0.51 / 0.49 * pull)]), (3,), mu, mu, (None,)))
        assert outside.modes == (Mode.SLIP,)
        assert np.linalg.norm(outside.forces[1:]) == pytest.approx(0.5, abs=1e-12)


def test_box_at_rest_whose_smallest_forces_leave_the_cone() -> None:
    """Four corners, pushed so that least-norm forces break a cone although admissible ones exist: it sticks."""
    rng = np.random.default_rng(8)
    corners = [np.array([sx * 0.3, sy * 0.2, -0.3]) for sx in (-1, 1) for sy in (-1, 1)]
    J = np.vstack([np.hstack([np.eye(3), -pin.skew(c)])[[2, 0, 1]] for c in corners])
    inverse = np.diag([1, 1, 1, 20, 15, 12.0])
    G = J @ inverse @ J.T
    mu = np.full(4, 0.4)
    shown = 0
    for _ in range(4000):
        forces = np.zeros((4, 3))
        forces[:, 0] = rng.exponential(1.0, size=4)
        forces[:, 1:] = rng.normal(size=(4, 2))
        forces[:, 1:] *= (0.9 * 0.4 * forces[:, 0] / np.linalg.norm(forces[:, 1:], axis=1))[:, None]
        free = -G @ forces.ravel()
        smallest = np.linalg.lstsq(G, -free, rcond=1e-10)[0].reshape(4, 3)
        if np.all(np.linalg.norm(smallest[:, 1:], axis=1) <= 0.4 * smallest[:, 0]):
            continue
        solution = solve(ContactProblem(G, free, (3,) * 4, mu, mu, (None,) * 4))
        assert np.abs(solution.motion).max() < tol.PROBLEM_MOTION * np.abs(free).max()
        assert_law(ContactProblem(G, free, (3,) * 4, mu, mu, (None,) * 4), solution)
        shown += 1
        if shown == 20:
            return
    raise AssertionError("no such problem was drawn")


def test_a_box_at_rest_that_is_found_on_two_squeezed_corners_sticks_on_four() -> None:
    """Weight alone: from a guess on two opposite corners the search ends with these at the edges of their cones."""
    corners = [np.array([sx * 0.3, sy * 0.2, -0.1]) for sx in (-1, 1) for sy in (-1, 1)]
    J = np.vstack([np.hstack([np.eye(3), -pin.skew(c)])[[2, 0, 1]] for c in corners])
    G = J @ np.diag([1, 1, 1, 20, 15, 12.0]) @ J.T
    free = J @ np.array([0, 0, -9.81, 0, 0, 0])
    mu, along = np.full(4, 0.6), np.array([0.3, 0.2]) / np.hypot(0.3, 0.2)
    guess = (Mode.SLIP, Mode.OPEN, Mode.OPEN, Mode.SLIP)
    solution = solve(ContactProblem(G, free, (3,) * 4, mu, mu, (None,) * 4, guess, (-along, None, None, along)))
    assert solution.modes == (Mode.STICK,) * 4 and not solution.unique
    np.testing.assert_allclose(solution.forces.reshape(4, 3)[:, 0], 9.81 / 4, rtol=0, atol=1e-9)
