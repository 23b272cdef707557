"""Impacts without collision against closed forms, and against stiff contacts followed in time."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import contactsim as cs
from contactsim.contact.compressions import Beginning, Micro, Rub
from contactsim.contact.impact import newton
from contactsim.contact.jam import impact_without_collision, jammed
from contactsim.contact.problem import ContactProblem

REST = 1e-10  # m/s


def problem(
    delassus: np.ndarray, velocity: list[float] | np.ndarray, friction: list[float], dims: tuple[int, ...]
) -> ContactProblem:
    mu = np.array(friction)
    return ContactProblem(np.array(delassus), np.array(velocity), dims, mu, mu, (None,) * len(dims))


def rod_on_its_tip(angle: float, inertia: float) -> np.ndarray:
    """G of a rod of mass 1 kg and half length 1 m, rows J_n = (0, 1, -cos), J_t = (1, 0, sin)."""
    rows = np.array([[0.0, 1.0, -np.cos(angle)], [1.0, 0.0, np.sin(angle)]])
    return rows @ np.diag([1.0, 1.0, 1.0 / inertia]) @ rows.T


def routh(delassus: np.ndarray, slip: float, mu: float) -> np.ndarray:
    """Impulse (2,) by Routh's construction: along the line of slip to the line of no slip, and along that to w_n = 0.

    It sticks there: p < 0 is mu > G_nn / |G_nt|, which is at least |G_nt| / G_tt, the friction that sticking asks for.
    """
    along = np.array([1.0, -mu * np.sign(slip)])
    slipping = -slip / float(delassus[1] @ along) * along
    sticking = np.array([1.0, -delassus[1, 0] / delassus[1, 1]])
    assert abs(sticking[1]) <= mu
    return slipping - float(delassus[0] @ slipping) / float(delassus[0] @ sticking) * sticking


def test_the_sliding_rod_follows_routh() -> None:
    rng, seen = np.random.default_rng(5), 0
    while seen < 20:
        delassus = rod_on_its_tip(rng.uniform(0.6, 1.4), rng.choice([0.05, 1.0 / 3.0, 1.0]))
        mu, slip = rng.uniform(0.5, 4.0), -rng.uniform(1e-3, 30.0)
        if delassus[0] @ [1.0, mu] >= 0.0:
            continue
        seen += 1
        found = impact_without_collision(
            problem(delassus, [0.0, slip], [mu], (2,)), np.array([-9.81, 0.0]), np.ones(1), REST
        )
        assert found is not None and found.resting == (0,) and found.ways == 1
        np.testing.assert_allclose(found.impulses, routh(delassus, slip, mu), rtol=1e-9)


def test_a_contact_that_parts_fast_has_no_say() -> None:
    """A ceiling from which the rod falls away: the jam pushes the rod up again, but does not bring it back there."""
    angle, inertia, mu, slip = 1.1, 1.0 / 3.0, 1.5, -2.0
    rows = np.array([[0.0, 1.0, -np.cos(angle)], [1.0, 0.0, np.sin(angle)], [0.0, -1.0, 0.0]])
    delassus = rows @ np.diag([1.0, 1.0, 1.0 / inertia]) @ rows.T
    assert delassus[0, :2] @ [1.0, mu] < 0.0
    asked = problem(delassus, [0.0, slip, 100.0], [mu, 0.0], (2, 1))
    found = impact_without_collision(asked, np.array([-9.81, 0.0, 9.81]), np.ones(2), REST)
    assert found is not None and found.resting == (0,)
    np.testing.assert_allclose(found.impulses, [*routh(delassus[:2, :2], slip, mu), 0.0], rtol=1e-9)


def test_a_contact_in_space_follows_its_hodograph() -> None:
    """dw / dLam_n = G (1, -mu w_t / |w_t|) from w_n = 0 to w_n = 0 again: its slip turns, and may end or not."""
    rng, stuck = np.random.default_rng(1), []
    while len(stuck) < 8:
        root = rng.normal(size=(3, 3))
        delassus, mu, slip = root @ root.T + 0.05 * np.eye(3), rng.uniform(0.5, 2.0), rng.normal(size=2)
        if delassus[0] @ [1.0, *(-mu * slip / np.linalg.norm(slip))] >= 0.0:
            continue
        asked = problem(delassus, [0.0, *slip], [mu], (3,))
        found = impact_without_collision(asked, np.array([-9.81, 0.0, 0.0]), np.ones(1), REST)
        assert found is not None
        motion = asked.free + delassus @ found.impulses
        np.testing.assert_allclose(motion, _hodograph(delassus, mu, slip), atol=5e-8)
        stuck.append(found.resting == (0,))
    assert any(stuck) and not all(stuck)


def test_the_series_of_a_beginning_solves_its_equations() -> None:
    """d/dt y(a exp(r t)) = f(y): two feet that jam in space while one of them sticks or a joint is at its limit."""
    rng, orders = np.random.default_rng(3), []
    while len(orders) < 8:
        root, slip = rng.normal(size=(7, 7)), rng.normal(size=(2, 2))
        if len(orders) % 2:
            slip[1] = 0.0
        delassus, mu = root @ root.T + 0.05 * np.eye(7), np.array([*rng.uniform(0.5, 2.0, 2), 0.0])
        asked = problem(delassus, [0.0, *slip[0], 0.0, *slip[1], 0.0], list(mu), (3, 3, 1))
        micro = Micro(asked, np.array([1.0, 0.5, 2.0]), 1e-9)
        for way in micro.growing(asked.free, -np.ones(7)):
            rubs = {i: micro.rub_of(i, asked.free) for i in np.flatnonzero(way.depths).tolist()}
            if len(rubs) < 2 or any(rub.sticks and micro.margin(i, way.forces) < 1e-6 for i, rub in rubs.items()):
                continue  # a resting contact that begins to slip does so in a direction that is held
            series = Beginning(micro, way, rubs)
            size = series.largest
            state, change = series.at(size), (series.at(1.0001 * size) - series.at(0.9999 * size)) / 2e-4
            motion = asked.free + delassus @ state[3:]
            rate = np.concatenate([-motion[micro.normals], micro.forces(state[:3], motion, rubs)])
            moving = [*rubs, *range(3, 10)]
            np.testing.assert_allclose(way.rate * change[moving], rate[moving], atol=2e-8 * float(np.abs(rate).max()))
            linear = size * np.concatenate([way.depths, way.forces / way.rate])
            orders.append(float(np.abs(state - linear).max() / np.abs(linear).max()))
    assert max(orders) > 1e-3


def test_what_rests_slips_by_the_forces_and_not_by_its_rounding() -> None:
    """Two feet jam in space, one of which rests, and may begin to slip: in which direction no rounding says."""
    rng, begun = np.random.default_rng(5), 0
    while begun < 6:
        root, slip = rng.normal(size=(6, 6)), rng.normal(size=2)
        delassus, mu, drive = root @ root.T + 0.05 * np.eye(6), rng.uniform(0.5, 2.0, 2), -np.ones(6)
        found = []
        for rest in (np.zeros(2), *(1e-17 * rng.normal(size=(3, 2)))):
            asked = problem(delassus, [0.0, *slip, 0.0, *rest], list(mu), (3, 3))
            found.append(impact_without_collision(asked, drive, np.ones(2), REST))
        if found[0] is None:
            assert all(one is None for one in found)
            continue
        begun += bool((found[0].impulses[[0, 3]] > 1e-3).all())
        for one in found[1:]:
            assert one is not None
            np.testing.assert_allclose(one.impulses, found[0].impulses, atol=1e-7 * np.abs(found[0].impulses).max())


def test_the_derivative_of_a_compression_is_that_of_differences() -> None:
    rng = np.random.default_rng(4)
    root = rng.normal(size=(7, 7))
    asked = problem(root @ root.T, rng.normal(size=7), [0.7, 0.9, 0.0], (3, 3, 1))
    micro, state = Micro(asked, np.array([1.0, 0.5, 2.0]), 1e-9), np.abs(rng.normal(size=10))
    for rubs in ({0: Rub(False), 1: Rub(True), 2: Rub(False, np.zeros(0))}, {0: Rub(False, np.array([0.6, 0.8]))}):

        def rate(y: np.ndarray, rubs: dict[int, Rub] = rubs) -> np.ndarray:
            motion = asked.free + asked.delassus @ y[3:]
            return np.concatenate([-motion[micro.normals], micro.forces(y[:3], motion, rubs)])

        differences = [(rate(state + 1e-6 * unit) - rate(state - 1e-6 * unit)) / 2e-6 for unit in np.eye(10)]
        found = micro.jacobian(state[:3], asked.free + asked.delassus @ state[3:], rubs)
        np.testing.assert_allclose(found, np.array(differences).T, atol=1e-7)


def _hodograph(delassus: np.ndarray, mu: float, slip: np.ndarray) -> np.ndarray:
    """Velocity (3,) at its end, with friction that falls to zero below 1e-8 of slip velocity."""

    def rate(_: float, w: np.ndarray) -> np.ndarray:
        return delassus @ np.array([1.0, *(-mu * w[1:] / np.sqrt(w[1:] @ w[1:] + 1e-16))])

    def ended(_: float, w: np.ndarray) -> float:
        return float(w[0])

    ended.terminal, ended.direction = True, 1.0  # type: ignore[attr-defined]
    span, start = (0.0, 100.0), [-1e-13, *slip]
    run = solve_ivp(rate, span, start, "Radau", events=ended, rtol=1e-9, atol=1e-12)
    assert run.status == 1
    return run.y[:, -1]


# --- two contacts -----------------------------------------------------------------------------------------------------
def plank() -> ContactProblem:
    """A plank of mass 1 kg, high above the ground on two feet ahead of its centre, on which it slides: both jam."""
    rows = np.array([row for x in (-0.4, -0.5) for row in ([0.0, 1.0, x], [1.0, 0.0, 1.0])])
    delassus = rows @ np.diag([1.0, 1.0, 12.0]) @ rows.T
    return problem(delassus, [0.0, -1.0, 0.0, -1.0], [0.8] * 2, (2, 2))


DRIVE = np.array([-9.81, 0.0, -9.81, 0.0])


def in_time(asked: ContactProblem, stiffness: tuple[float, float], ease: float) -> np.ndarray:
    """Motion (m,) behind two springs, followed in time from what finite forces begin to the end of a compression.

    Friction falls to zero below 1e-7 m/s of slip; `ease` is what finite forces do in the time of the springs.
    """
    mu, k = asked.friction, np.array(stiffness)

    def motion(t: float, y: np.ndarray) -> np.ndarray:
        return asked.free + asked.delassus @ y[2:] + ease * t * DRIVE

    def rate(t: float, y: np.ndarray) -> np.ndarray:
        w, pressed = motion(t, y), k * np.maximum(y[:2], 0.0)
        rubbing = -mu * pressed * np.tanh(w[1::2] / 1e-7)
        return np.array([-w[0], -w[2], pressed[0], rubbing[0], pressed[1], rubbing[1]])

    def ended(t: float, y: np.ndarray) -> float:
        return float(np.max(motion(t, y)[::2]))

    ended.terminal, ended.direction = True, 1.0  # type: ignore[attr-defined]
    run = solve_ivp(rate, (0.0, 1e3), np.zeros(6), "LSODA", events=ended, rtol=1e-9, atol=1e-12)
    assert run.status == 1
    return asked.free + asked.delassus @ run.y[2:, -1]


@pytest.mark.parametrize("stiffness", [(1.0, 1.0), (4.0, 1.0)])
def test_two_contacts_follow_stiff_springs_in_the_ratio_of_their_stiffnesses(stiffness: tuple[float, float]) -> None:
    asked = plank()
    found = impact_without_collision(asked, DRIVE, np.array(stiffness), REST)
    assert found is not None
    motion = asked.free + asked.delassus @ found.impulses
    missed = [float(np.abs(in_time(asked, stiffness, ease) - motion).max()) for ease in (1e-5, 1e-7)]
    assert missed[1] < 0.05 * missed[0] and missed[1] < 2e-5


def test_an_end_that_hangs_on_the_ratio_of_stiffnesses_is_said_not_to_be_unique() -> None:
    found = jammed(plank(), DRIVE, np.ones(2), REST)
    assert found is not None and found.contacts == (0, 1) and any("not unique" in note for note in found.notes)
    solution = found.solution
    assert solution.residuals["signorini"] <= 1e-12 and solution.residuals["cone"] <= 1e-12
    assert solution.motion[::2].min() >= -1e-12 and solution.work < 0.0 and solution.kink


def test_what_grows_but_to_and_fro_is_no_impact_without_collision() -> None:
    """The two feet of a plank of which one is pressed down by the other: A has no real negative eigenvalue."""
    rows = np.array([row for x in (-0.3, -0.6) for row in ([0.0, 1.0, x], [1.0, 0.0, 1.0])])
    asked = problem(rows @ np.diag([1.0, 1.0, 12.0]) @ rows.T, [0.0, -1.0, 0.0, -1.0], [0.6] * 2, (2, 2))
    assert jammed(asked, DRIVE, np.ones(2), REST) is None


def test_one_contact_is_unique_whatever_its_stiffness() -> None:
    delassus = rod_on_its_tip(1.1, 1.0 / 3.0)
    found = jammed(problem(delassus, [0.0, -2.0], [1.4], (2,)), np.array([-9.81, 0.0]), np.ones(1), REST)
    assert found is not None and found.notes == ()
    np.testing.assert_allclose(found.solution.motion, 0.0, atol=1e-14)


def test_nothing_jams_where_friction_is_small() -> None:
    delassus = rod_on_its_tip(1.1, 1.0 / 3.0)
    asked = problem(delassus, [0.0, -2.0], [0.3], (2,))
    assert impact_without_collision(asked, np.array([-9.81, 0.0]), np.ones(1), REST) is None


def test_what_rests_already_takes_no_impulse() -> None:
    asked = problem(rod_on_its_tip(1.1, 1.0 / 3.0), [0.0, 0.0], [1.4], (2,))
    found = impact_without_collision(asked, np.array([-9.81, 0.0]), np.ones(1), REST)
    assert found is not None and found.resting == (0,)
    np.testing.assert_array_equal(found.impulses, 0.0)


def test_no_impact_without_collision_pulls() -> None:
    """A foot that hardly slides and one that slides fast, of solo12: the compression followed ends in a pull."""
    rows = """
        15.6385130 6.49229685 -12.2200648 0.282328582 -0.341335758 -0.0665038765
        6.49229685 20.8509975 9.87491602 0.360004037 0.303404924 -0.0320121574
        -12.2200648 9.87491602 31.1364947 -0.0947500113 -0.192965369 0.00112029768
        0.282328582 0.360004037 -0.0947500113 24.3069299 3.01481918 2.76145390
        -0.341335758 0.303404924 -0.192965369 3.01481918 2.80554364 -6.65013602
        -0.0665038765 -0.0320121574 0.00112029768 2.76145390 -6.65013602 45.8077654"""
    delassus = np.array([line.split() for line in rows.split("\n")[1:]], dtype=float)
    before = np.array([3.91331412e-12, 6.05339494e-06, -5.40126951e-06, -6.34561848e-15, 0.323486012, 0.0914429933])
    drive = np.array([-100.27214367, 54.86103432, -51.47349435, -15.72674984, 14.20854713, 2.89543275])
    for mu in (1.2022979, 1.2072224, 1.22, 1.3):
        asked = problem(delassus, before, [mu, mu], (3, 3))
        found = impact_without_collision(asked, drive, np.ones(2), REST)
        assert found is None or found.impulses[[0, 3]].min() >= -1e-9 * np.abs(found.impulses).max()


# --- what is said where there is no mode ------------------------------------------------------------------------------
def test_painleve_is_named_where_the_matrix_of_the_sliding_contacts_shows_it() -> None:
    delassus = rod_on_its_tip(1.1, 1.0 / 3.0)
    with pytest.raises(
        cs.NoAdmissibleModeError, match=r"\(Painleve\), as each of them shows: friction drives contact 0"
    ):
        cs.solve_contacts(delassus, [-9.81, 0.0], [1.4], sliding=[[-1.0]])


def test_newton_s_law_without_a_solution_names_that_of_poisson() -> None:
    """A link on a hinge strikes with its tip: friction jams it, so that it cannot rebound (0.5 of 1 m/s)."""
    rows = np.array([[-0.6], [-0.8]])
    asked = problem(3.0 * rows @ rows.T, [-0.6, -0.8], [1.3], (2,))
    with pytest.raises(cs.NoAdmissibleModeError, match=r"Newton's law .* restitution 0\.5 .* law='poisson'"):
        newton(asked, np.array([0.5]))
    assert newton(asked, np.zeros(1)).impulses[0] > 0.0
