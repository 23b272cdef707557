"""Impact laws on plain arrays and in runs: hypotheses, energy, published cases, and their derivatives."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
import tolerances as tol
from builders import frictionless_gap, planar_body, planar_mechanism, single_body
from contactsim_plugins.laws.coulomb import Coulomb
from contactsim_plugins.laws.poisson import Energetic, Poisson
from contactsim_plugins.laws.sequential import Sequential
from hypothesis import given, settings
from hypothesis import strategies as st

import contactsim as cs
from contactsim.contact.impact import ImpactSolution
from contactsim.contact.modes import ContactState, Mode, SystemMode
from contactsim.contact.problem import ContactProblem
from contactsim.contact_dynamics.contact_rows import ContactEvent, closed_terms
from contactsim.contact_dynamics.variables import Parameter

Array = np.ndarray
LAWS = {"coulomb": Coulomb, "poisson": Poisson, "energetic": Energetic, "sequential": Sequential}
GAIN = 1e-9  # work that counts as none, relative to the work of all rows
STEP = 2e-5  # of those differences
DIFFERENCE = 1e-6  # of a derivative against central differences of whole runs, relative to its largest entry


# --- plain arrays --------------------------------------------------------------------------------------------------
def random_problem(seed: int, most: int = 3, dim: int | None = None, mu_max: float = 2.0) -> ContactProblem | None:
    """Random contacts on a random mass matrix, redundant ones among them; None where nothing approaches."""
    rng = np.random.default_rng([21, seed])
    n, d = int(rng.integers(1, most + 1)), dim or int(rng.integers(1, 4))
    jacobian = rng.normal(size=(n * d, int(rng.integers(max(d, n), n * d + 3))))
    motion = jacobian @ rng.normal(size=jacobian.shape[1])
    mu = rng.uniform(0.0, mu_max, size=n)
    problem = ContactProblem(jacobian @ jacobian.T / (n * d), motion, (d,) * n, mu, mu, (None,) * n)
    return problem if motion[::d].min() < -1e-6 else None


def violation_of_expansion(problem: ContactProblem, solution: ImpactSolution, e: Array) -> float:
    """Largest violation of the laws of both phases, from their definitions, relative to the problem."""
    compressed, expanded = solution.stages
    worst = 0.0
    for stage, least in ((compressed, np.zeros(len(e))), (expanded, e * compressed.impulses[list(problem.starts)])):
        for i, mu in enumerate(problem.friction):
            n, t = problem.normal(i), problem.tangent(i)
            extra, normal = stage.impulses[n] - least[i], stage.impulses[n]
            worst = max(worst, -extra, -stage.after[n], min(abs(extra), abs(stage.after[n])))
            pull, slip = np.linalg.norm(stage.impulses[t]), np.linalg.norm(stage.after[t])
            against = float(stage.impulses[t] @ stage.after[t]) + pull * slip
            worst = max(worst, pull - mu * normal, min(slip, abs(pull - mu * normal)), min(against, slip))
    size = max(1.0, np.abs(problem.free).max(), *(np.abs(stage.impulses).max() for stage in solution.stages))
    return worst / size


@pytest.mark.parametrize("seed", range(40))
def test_poisson_s_two_phases_obey_their_laws(seed: int) -> None:
    problem = random_problem(seed)
    if problem is None:
        return
    e = np.random.default_rng(seed).uniform(0.1, 1.0, size=len(problem.dims))
    solution = Poisson().impact(problem, e)
    assert len(solution.stages) == 2
    assert violation_of_expansion(problem, solution, e) < tol.PROBLEM_LAW
    total = problem.free + problem.delassus @ solution.impulses
    np.testing.assert_allclose(solution.motion, total, rtol=0, atol=1e-9 * np.abs(problem.free).max())


@settings(max_examples=60, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10**6), equal=st.booleans(), e=st.floats(0.0, 1.0))
def test_laws_that_never_gain_energy(seed: int, equal: bool, e: float) -> None:
    """Up to three contacts with friction up to 2 and any restitution, redundant ones among them."""
    problem = random_problem(seed)
    if problem is None:
        return
    n = len(problem.dims)
    restitution = np.full(n, e) if equal else np.random.default_rng(seed).uniform(0.0, 1.0, size=n)
    laws = [Energetic()] + [Poisson()] * (equal or problem.dims[0] == 1)
    for law in laws:
        solution = law.impact(problem, restitution)
        assert solution.work <= GAIN * solution.turnover
        assert min(solution.motion[list(problem.starts)]) >= -1e-8 * np.abs(problem.free).max()


@pytest.mark.parametrize("seed", range(12))
def test_collisions_in_sequence_never_gain_energy(seed: int) -> None:
    problem = random_problem(500 + seed, mu_max=1.0)
    if problem is None:
        return
    e = np.random.default_rng(seed).uniform(0.2, 1.0, size=len(problem.dims))
    solution = Sequential(collisions=100).impact(problem, e)
    assert solution.work <= GAIN * solution.turnover
    assert min(solution.motion[list(problem.starts)]) >= -1e-8 * np.abs(problem.free).max()


def test_kane_s_impact_gains_energy_under_newton_s_law_only() -> None:
    """It slips on landing, elastic, and friction stops it: the work (w(-) + w(+))^T lam / 2 is w_t(-) lam_t / 2."""
    G, before, mu = np.array([[2.0, 1.2], [1.2, 1.0]]), np.array([-1.0, -0.5]), np.array([1.5])
    problem = ContactProblem(G, before, (2,), mu, mu, (None,))
    works = {name: law().impact(problem, np.ones(1)).work for name, law in LAWS.items()}
    impulse = np.linalg.solve(G, [2.0, 0.5])
    assert abs(impulse[1]) < mu * impulse[0]
    assert works["coulomb"] == pytest.approx(-0.25 * impulse[1], abs=1e-14)
    assert works["coulomb"] > 0.6
    assert max(works[name] for name in ("poisson", "energetic", "sequential")) < 0.0


WEAKENED = (72, 480, 568)  # of 1500 random pairs of rows, the first three on which Poisson's law gains energy


@pytest.mark.parametrize("seed", WEAKENED)
def test_expansion_is_weakened_where_coefficients_differ(seed: int) -> None:
    """Poisson's law gains with e = (0, 1) at two contacts with friction; weakened, the impact does no work at all."""
    problem, e = rows_problem(seed), np.array([0.0, 1.0])
    gains, kept = Poisson().impact(problem, e), Energetic().impact(problem, e)
    assert gains.work > 1e-3 * gains.turnover
    assert kept.stages[1].balanced
    assert 0.0 < kept.stages[1].share[1] < 1.0
    assert abs(kept.work) <= 1e-12 * kept.turnover


def test_without_friction_one_contact_rebounds_with_its_coefficient() -> None:
    problem = ContactProblem(np.array([[0.7]]), np.array([-2.0]), (1,), np.zeros(1), np.zeros(1), (None,))
    for law in LAWS.values():
        assert law().impact(problem, np.array([0.6])).motion[0] == pytest.approx(1.2, abs=1e-14)


# --- balls in a row ------------------------------------------------------------------------------------------------
def balls(count: int, e: float) -> cs.Mechanism:
    """Equal balls of size 1 on a line."""

    def between(k: int) -> cs.Gap:
        way = np.zeros(count)
        way[k], way[k + 1] = -1.0, 1.0
        return frictionless_gap(lambda q: q[k + 1] - q[k] - 1.0, way, e, f"{k}-{k + 1}")

    gaps = [between(k) for k in range(count - 1)]
    return cs.Mechanism(count, lambda q: np.eye(count), lambda t, q, v: np.zeros(count), gaps)


@pytest.mark.parametrize(
    ("law", "e", "expected"),
    [
        ("coulomb", 1.0, (-1 / 3, 2 / 3, 2 / 3)),
        ("coulomb", 0.0, (1 / 3, 1 / 3, 1 / 3)),
        ("poisson", 1.0, (-1 / 3, 2 / 3, 2 / 3)),
        ("poisson", 0.0, (1 / 3, 1 / 3, 1 / 3)),
        ("energetic", 0.5, (0.0, 0.5, 0.5)),
        ("sequential", 1.0, (0.0, 0.0, 1.0)),
        ("sequential", 0.5, (0.203125, 0.234375, 0.5625)),
        ("sequential", 0.0, (1 / 3, 1 / 3, 1 / 3)),
    ],
)
def test_three_balls(law: str, e: float, expected: tuple[float, float, float]) -> None:
    """All at once: ((1 - 2e)/3, (1 + e)/3, (1 + e)/3); in sequence as in reference_cases."""
    system = cs.ContactSystem(balls(3, e), law=law)
    traj = cs.simulate(system, cs.State([-0.25, 1.0, 2.0], [1.0, 0.0, 0.0]), (0.0, 0.4))
    np.testing.assert_allclose(traj.events[0].state_post.v, expected, rtol=0, atol=tol.RATIO)
    assert traj.events[0].time == pytest.approx(0.25, abs=tol.PUBLISHED_TIME)


@pytest.mark.parametrize(("moving", "out"), [(1, (0, 0, 0, 0, 1)), (2, (0, 0, 0, 1, 1)), (3, (0, 0, 1, 1, 1))])
def test_newton_s_cradle_in_sequence(moving: int, out: tuple[int, ...]) -> None:
    """As many balls leave as arrive, each with the speed 1."""
    start = [k - 0.3 if k < moving else float(k) for k in range(5)]
    traj = cs.simulate(
        cs.ContactSystem(balls(5, 1.0), law="sequential"),
        cs.State(start, [1.0] * moving + [0.0] * (5 - moving)),
        (0.0, 0.5),
    )
    np.testing.assert_allclose(traj.final.v, out, rtol=0, atol=tol.RATIO)


@pytest.mark.parametrize("law", ["coulomb", "poisson", "energetic"])
def test_column_of_beads(law: str) -> None:
    """Siconos BeadColumn: ten beads of radius 0.005 dropped by 0.05, e = 1, all contacts at once."""
    count, radius, g = 10, 0.005, 9.81

    def between(k: int) -> cs.Gap:
        way = np.zeros(count)
        way[k] = 1.0
        if k:
            way[k - 1] = -1.0
        rest = (2.0 if k else 1.0) * radius
        return frictionless_gap(lambda q: way @ q - rest, way, 1.0, f"bead_{k}")

    beads = cs.Mechanism(
        count, lambda q: np.eye(count), lambda t, q, v: np.full(count, -g), [between(k) for k in range(count)]
    )
    start = cs.State([0.05 + (2 * k + 1) * radius for k in range(count)], np.zeros(count))
    traj = cs.simulate(cs.ContactSystem(beads, law=law), start, (0.0, 0.12))
    landing = next(event for event in traj.events if event.impulses)
    assert landing.time == pytest.approx(0.100963755469230, abs=tol.PUBLISHED_TIME)
    np.testing.assert_allclose(landing.state_post.v, 0.990454441153151, rtol=0, atol=tol.RATIO)


# --- rocking block, robots that land -------------------------------------------------------------------------------
@pytest.mark.parametrize("law", ["coulomb", "poisson", "energetic", "sequential"])
def test_housner_s_block_under_each_law(law: str) -> None:
    """e = 0 and no slip: in one impact the block goes over to its other corner with 1 - 3/2 sin^2(alpha)."""
    b, h = 0.25, 1.0
    block = planar_mechanism(1.0, (b * b + h * h) / 3, {"left": (-b, -h), "right": (b, -h)}, 1.0, 0.0)
    tilt = -0.1
    start = cs.State([b * np.cos(tilt) - h * np.sin(tilt), b * np.sin(-tilt) + h * np.cos(tilt), tilt], np.zeros(3))
    traj = cs.simulate(cs.ContactSystem(block, law=law), start, (0.0, 1.2))
    impact = next(event for event in traj.events if event.impulses)
    if law == "sequential":  # first the right corner alone, then the left one, then the right one again ...
        assert 0.0 < impact.state_post.v[2] / impact.state_pre.v[2] < 1.0
        return
    ratio = impact.state_post.v[2] / impact.state_pre.v[2]
    assert ratio == pytest.approx(0.911764705882353, abs=tol.RATIO)
    assert impact.transitions["left"] == (Mode.STICK, Mode.OPEN)


@pytest.mark.parametrize("law", ["coulomb", "poisson", "energetic"])
@pytest.mark.parametrize("name", ["hexapod", "solo12"])
def test_robot_lands_on_all_feet(law: str, name: str) -> None:
    """One event with every foot; left and right feet take mirrored impulses; momentum is balanced, energy is lost."""
    robot = cs.load_robot(name)
    q = robot.nominal.copy()
    q[2] += 0.02
    traj = cs.simulate(cs.ContactSystem(robot, law=law), cs.State(q, np.zeros(robot.nv)), (0.0, 0.08))
    landing = next(event for event in traj.events if event.impulses)
    assert len(landing.contacts) == len(robot.contacts)
    data = robot.model.createData()
    before = pin.computeCentroidalMomentum(robot.model, data, landing.state_pre.q, landing.state_pre.v).linear.copy()
    after = pin.computeCentroidalMomentum(robot.model, data, landing.state_post.q, landing.state_post.v).linear.copy()
    total = np.sum(list(landing.impulses.values()), axis=0)
    np.testing.assert_allclose(after - before, total, rtol=0, atol=10 * tol.IMPULSE)
    assert not any("gains" in note for note in landing.notes)


# --- energy on the event -------------------------------------------------------------------------------------------
@pytest.mark.parametrize("law", LAWS)
def test_an_event_says_whether_its_impact_gains_energy(law: str) -> None:
    """An elastic rod that lands on its tip while it slips (Kane and Levinson 1985)."""
    rod = planar_body(1.0, 1 / 12, {"tip": (0.5, 0.0)}, 0.6, 1.0)
    tilt, gains = 0.9, []
    for slip in np.linspace(-2.0, 2.0, 21):
        state = cs.State([0.0, 0.5 * np.sin(tilt) + 0.05, tilt], [slip, -1.0, 0.0])
        system = cs.ContactSystem(rod, law=law)
        traj = cs.simulate(system, state, (0.0, 0.1))
        event = next(event for event in traj.events if event.impulses)
        energy = [system.mechanism.energy(side.q, side.v) for side in (event.state_pre, event.state_post)]
        gained = energy[1] > energy[0] + 1e-9
        assert gained is any("gains" in note for note in event.notes)
        gains.append(gained)
    assert any(gains) is (law == "coulomb")


# --- derivatives ---------------------------------------------------------------------------------------------------
def assert_derivative(system: cs.ContactSystem, state: cs.State, span: tuple[float, float]) -> cs.Trajectory:
    """Two directions against central differences of fourth order of whole runs that meet the same events."""
    sharp = cs.Tolerances(rtol=1e-12, atol=1e-13)
    space, x = system.space(), system.pack(state)
    traj = cs.simulate(system, state, span, tolerances=sharp)
    kinds, final = [event.fired for event in traj.events], system.pack(traj.final)
    directions = np.random.default_rng(4).normal(size=(2, space.dim))
    derivative = directions @ cs.linearize(traj, tolerances=sharp).matrix().T
    for direction, expected in zip(directions, derivative, strict=True):
        ends = []
        for k in (-2, -1, 1, 2):
            near = cs.simulate(system, system.state(space.integrate(x, k * STEP * direction)), span, tolerances=sharp)
            assert [event.fired for event in near.events] == kinds
            ends.append(space.difference(final, system.pack(near.final)))
        difference = (8 * (ends[2] - ends[1]) - (ends[3] - ends[0])) / (12 * STEP)
        np.testing.assert_allclose(expected, difference, rtol=0, atol=DIFFERENCE * np.abs(difference).max())
    return traj


def rolling_box(e: tuple[float, float, float]) -> cs.Robot:
    """A body in space with three points, each with its own restitution."""
    model = single_body(pin.JointModelFreeFlyer(), 1.5, (0.02, 0.03, 0.04), "body")
    offsets = [(0.2, 0.1, -0.1), (-0.2, 0.15, -0.1), (0.0, -0.2, -0.1)]
    points = [
        cs.ContactPoint("body", offset, friction=0.35, restitution=value, name=f"p{k}")
        for k, (offset, value) in enumerate(zip(offsets, e, strict=True))
    ]
    return cs.Robot(model, contacts=points)


@pytest.mark.parametrize("law", LAWS)
def test_derivative_of_bounces_of_a_body_in_space(law: str) -> None:
    """Stages that stick, slip, and turn their slip, one contact a time."""
    turn = pin.exp3(np.array([0.15, -0.1, 0.3]))
    start = cs.State([0, 0, 0.35, *pin.Quaternion(turn).coeffs()], [0.4, -0.3, 0.0, 0.5, -0.8, 0.3])
    traj = assert_derivative(cs.ContactSystem(rolling_box((0.5,) * 3), law=law), start, (0.0, 0.24))
    assert sum(bool(event.impulses) for event in traj.events) >= 2


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("friction", [0.05, 0.3, 1.0])
def test_derivative_of_an_impact_beside_a_closed_corner(law: str, friction: float) -> None:
    """A plank lands on its left end, which stays down, and then on its right one, which bounces."""
    b, h, tilt = 0.4, 0.05, 0.2
    body = planar_body(1.0, 0.06, {"left": (b, -h)}, friction, 0.0)
    points = [
        cs.ContactPoint("body", offset=(sign * b, 0.0, -h), friction=friction, restitution=e, name=name)
        for name, sign, e in (("left", 1.0, 0.0), ("right", -1.0, 0.6))
    ]
    start = cs.State([0.0, b * np.sin(tilt) + h * np.cos(tilt) + 0.02, tilt], [0.3, 0.0, 0.0])
    system = cs.ContactSystem(cs.Robot(body.model, contacts=points), law=law)
    traj = assert_derivative(system, start, (0.0, 0.3))
    assert any(event.impulses and event.mode_pre.closed for event in traj.events)


def test_derivative_of_collisions_in_sequence() -> None:
    """Balls of different weight, three collisions in one impact."""
    weights = np.diag([1.0, 0.4, 2.0, 0.7])
    row = balls(4, 0.7)
    chain = cs.Mechanism(4, lambda q: weights, lambda t, q, v: np.array([0.0, 0.1, 0.0, -0.2]) * q, row.contacts)
    system = cs.ContactSystem(chain, law="sequential")
    state = cs.State([-0.25, 1.0, 2.0, 3.0], [1.0, 0.0, 0.0, 0.0])
    mode = system.start(0.0, system.pack(state)).mode
    landing = system.pack(cs.State([0.0, 1.0, 2.0, 3.0], [1.0, 0.0, 0.0, 0.0]))
    contacts = system._contacts
    event = ContactEvent(0.0, mode, (0, 1, 2), {})
    impact, _ = contacts._resolver.own._impact(event, closed_terms(system.world, 0.0, landing, event.touching))
    assert len(impact.solution.stages) >= 6
    matrix = contacts._sensitivity.by_impact(0.0, landing, impact)
    product = np.eye(4)
    for stage in impact.solution.stages[::2]:  # compression and expansion of one pair: a collision with e
        (k,) = [k for k, closing in enumerate(stage.solution.modes) if closing is not Mode.OPEN]
        way = np.zeros(4)
        way[k], way[k + 1] = -1.0, 1.0
        pull = np.linalg.solve(weights, way)
        product = (np.eye(4) - 1.7 * np.outer(pull, way) / (way @ pull)) @ product
    np.testing.assert_allclose(matrix, np.hstack([np.zeros((4, 4)), product]), rtol=0, atol=1e-9)
    assert mode.closed == (1, 2)


@pytest.mark.parametrize("seed", WEAKENED)
def test_derivative_of_a_weakened_expansion(seed: int) -> None:
    """D v(+) against differences of the law, with a matrix of masses that depends on the configuration."""
    problem_rows = random_rows(seed)
    system = cs.ContactSystem(linear_mechanism(*problem_rows), law="energetic")
    contacts, nq = system._contacts, system.nq
    x = np.concatenate([np.zeros(nq), problem_rows[1]])

    def after(y: Array) -> Array:
        return y[nq:] + contacts._resolver.own._impact(event, closed_terms(system.world, 0.0, y, event.touching))[1]

    event = ContactEvent(0.0, SystemMode((ContactState(),) * 2), (0, 1), {})
    impact, _ = contacts._resolver.own._impact(event, closed_terms(system.world, 0.0, x, event.touching))
    assert impact.solution.stages[1].balanced
    friction = f"contact.{system.mechanism.names[1]}.friction"
    variable = Parameter(contacts.neighbourhood.by(friction), 0.0)
    matrix = contacts._sensitivity.by_impact(0.0, x, impact, (variable,))
    mu, columns = system.parameter(friction), []
    for s in (-2, -1, 1, 2):
        other = system.with_parameter(friction, mu + s * 1e-4)
        touch = closed_terms(other.world, 0.0, x, event.touching)
        columns.append(other._contacts._resolver.own._impact(event, touch)[1])
    column = (8 * (columns[2] - columns[1]) - (columns[3] - columns[0])) / 12e-4
    np.testing.assert_allclose(matrix[:, -1], column, rtol=0, atol=1e-6 * np.abs(matrix).max())
    for k, way in enumerate(np.eye(2 * nq)):
        values = [after(x + s * 1e-4 * way) for s in (-2, -1, 1, 2)]
        column = (8 * (values[2] - values[1]) - (values[3] - values[0])) / 12e-4
        np.testing.assert_allclose(matrix[:, k], column, rtol=0, atol=1e-6 * np.abs(matrix).max())


def random_rows(seed: int) -> tuple[Array, Array, Array]:
    """Rows (4, 4) of two planar contacts, a velocity and coefficients of friction."""
    rng = np.random.default_rng([22, seed])
    return rng.normal(size=(4, 4)), rng.normal(size=4), rng.uniform(0.3, 2.0, size=2)


def rows_problem(seed: int) -> ContactProblem:
    """The impact of a unit mass matrix on these rows."""
    jacobian, v, mu = random_rows(seed)
    return ContactProblem(jacobian @ jacobian.T, jacobian @ v, (2, 2), mu, mu, (None, None))


def linear_mechanism(jacobian: Array, v: Array, mu: Array) -> cs.Mechanism:
    """Two contacts with these rows at q = 0, that turn with q, and a mass matrix that grows with it."""
    bend = np.random.default_rng(7).normal(size=(4, 4, 4)) * 0.3

    def gap(k: int) -> cs.Gap:
        def rows(q: Array) -> Array:
            return jacobian[2 * k : 2 * k + 2] + bend[2 * k : 2 * k + 2] @ q

        return cs.Gap(
            gap=lambda t, q: float(rows(0.5 * q)[0] @ q),
            normal=lambda t, q: rows(q)[0],
            tangent=lambda t, q: rows(q)[1:],
            friction=float(mu[k]),
            restitution=float(k),
            name=f"c{k}",
        )

    return cs.Mechanism(4, lambda q: np.diag(1.0 + 0.2 * np.sin(q)), lambda t, q, v: np.zeros(4), [gap(0), gap(1)])


def test_collisions_that_tie_have_no_derivative() -> None:
    """Two balls hit a third one from both sides at one instant: which is first decides."""
    system = cs.ContactSystem(balls(3, 0.5), law="sequential")
    traj = cs.simulate(system, cs.State([-0.25, 1.0, 2.25], [1.0, 0.0, -1.0]), (0.0, 0.3))
    np.testing.assert_allclose(traj.final.v, [-0.5, 0.0, 0.5], rtol=0, atol=tol.RATIO)
    with pytest.raises(cs.NonDifferentiableError):
        cs.linearize(traj).matrix()
