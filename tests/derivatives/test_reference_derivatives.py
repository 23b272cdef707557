"""Published multipliers and matrices of walkers, balls and oscillators, by the linearization of their runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from builders import TIGHT
from reference_systems import (
    ORBITS,
    Case,
    SlipHopper,
    compass_foot,
    compass_gait,
    compass_robot,
    compass_to_robot,
    later,
    rimless_wheel,
    robot_to_compass,
    siconos_ball,
    slip_hopper,
    slope_ball,
    slope_robot,
    slope_to_robot,
    stick_slip,
    vibrating_table,
)

import contactsim as cs
from contactsim.hybrid.differences import derivative

# A run and its variations with TIGHT tolerances are good to about 1e-12; resets without a derivative are differenced.
MATRIX = 2e-10  # entries of saltation and flow matrices, of size up to 12, published with 12 to 15 digits
BY_TIME = 1e-9  # saltation of the vibrating table: a clock of 10 Hz, differenced with steps of 1e-4 s
MULTIPLIER = 1e-9  # eigenvalues of those, published with 12 digits and more
PERIOD = 1e-10  # s, of an orbit that was searched for with rtol 1e-11
FIXED_POINT = 1e-9  # its state just after its event, the residual allowed by default
NEUTRAL = 1e-5  # a double multiplier one is good to the square root of the error of the matrix

Array = np.ndarray


def linearized(case: Case, share: float = 1.0) -> cs.Linearization:
    tight, span = cs.Tolerances(**TIGHT), (case.t0, case.t0 + share * case.time)
    return cs.linearize(cs.simulate(case.system, case.x, span, tolerances=tight), tolerances=tight)


def assert_has(found: Array, published: tuple[complex, ...], atol: float) -> None:
    """Every published multiplier is among those found, as often as it is published."""
    left = list(found)
    for value in published:
        k = int(np.argmin(np.abs(np.array(left) - value)))
        assert abs(left.pop(k) - value) <= atol, (value, found)


# --- events and flows -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("make", "atol"), [(compass_gait, MATRIX), (rimless_wheel, MATRIX), (vibrating_table, BY_TIME)]
)
def test_saltation_matrix_of_the_event(make: Callable[[], Case], atol: float) -> None:
    case = make()
    lin = linearized(case, 1.1)
    event = min(lin.events, key=lambda event: abs(event.time - case.t0 - case.time))
    np.testing.assert_allclose(event.saltation, case.matrices["saltation"], rtol=0, atol=atol)


def test_flow_of_the_siconos_ball_after_three_impacts() -> None:
    case = siconos_ball()
    np.testing.assert_allclose(linearized(case).matrix(), case.matrices["flow"], rtol=0, atol=MATRIX)


def slope_linearization(sticks: bool, as_robot: bool) -> tuple[cs.Linearization, list[int]]:
    """The ball on the slope, plain or as a robot, with the indices of its (x, y, x', y')."""
    case = slope_ball(sticks)
    if not as_robot:
        return linearized(case), [0, 1, 2, 3]
    tight = cs.Tolerances(**TIGHT)
    traj = cs.simulate(slope_robot(sticks), slope_to_robot(case.x), (0.0, case.time), tolerances=tight)
    return cs.linearize(traj, tolerances=tight), [0, 2, 3, 5]


@pytest.mark.parametrize("as_robot", [False, True], ids=["plain", "robot"])
def test_ball_that_slides_on_the_slope(as_robot: bool) -> None:
    lin, kept = slope_linearization(False, as_robot)
    matrix = lin.matrix()[np.ix_(kept, kept)]
    np.testing.assert_allclose(matrix, slope_ball(False).matrices["flow"], rtol=0, atol=MATRIX)


@pytest.mark.parametrize("as_robot", [False, True], ids=["plain", "robot"])
def test_ball_that_sticks_to_the_slope(as_robot: bool) -> None:
    lin, kept = slope_linearization(True, as_robot)
    block = lin.events[0].saltation[np.ix_(kept[:2], kept[:2])]
    np.testing.assert_allclose(block, slope_ball(True).matrices["saltation, positions"], rtol=0, atol=MATRIX)


def test_monodromy_of_the_stick_slip_oscillator() -> None:
    case = stick_slip()
    np.testing.assert_allclose(linearized(case).matrix(), case.matrices["flow"], rtol=0, atol=MATRIX)


def test_map_of_the_hopper_from_apex_to_apex() -> None:
    """At the apex the field has no part along x' and y, so the map is a block of the flow's matrix."""
    case = slip_hopper()
    matrix = linearized(case).matrix()[np.ix_([2, 1], [2, 1])]
    np.testing.assert_allclose(matrix, case.matrices["map"], rtol=0, atol=MATRIX)
    assert_has(np.linalg.eigvals(matrix), case.multipliers, MULTIPLIER)


@pytest.mark.parametrize("name", [name for name in ORBITS if name != "slip hopper"])
@pytest.mark.parametrize("share", [0.2, 0.6])
def test_multipliers_from_any_point_of_the_orbit(name: str, share: float) -> None:
    """The monodromy matrix of an autonomous system has the multiplier one besides those of the return map."""
    case = ORBITS[name]()
    along = () if name == "vibrating table" else (1.0,)
    matrix = linearized(later(case, share)).matrix()
    published = tuple(value for value in case.multipliers if value) + along
    lost = (0.0,) * (len(matrix) - len(published))
    assert_has(np.linalg.eigvals(matrix), published + lost, MULTIPLIER)


# --- the compass gait as a robot --------------------------------------------------------------------------------------
def test_heel_strike_of_the_robot_is_that_of_the_plain_walker() -> None:
    case, tight = compass_gait(), cs.Tolerances(**TIGHT)
    traj = cs.simulate(compass_robot(), compass_to_robot(case.x), (0.0, 0.8), tolerances=tight)
    strike = cs.linearize(traj, tolerances=tight).events[0]
    before, after = strike.events[0].state_pre, strike.events[0].state_post
    x = robot_to_compass(before, "left")

    def state(step: Array) -> Array:
        moved = compass_to_robot(x + step, "left", compass_foot(before, "left"))
        return np.concatenate([moved.q, moved.v])

    def coordinates(step: Array) -> Array:
        return robot_to_compass(cs.State(after.q + step[:4], after.v + step[4:]), "right")

    up = np.transpose([derivative(lambda h, e=e: state(h * e)) for e in np.eye(4)])
    down = np.transpose([derivative(lambda h, e=e: coordinates(h * e)) for e in np.eye(8)])
    np.testing.assert_allclose(down @ strike.saltation @ up, case.matrices["saltation"], rtol=0, atol=MATRIX)


def swapped(state: cs.State) -> cs.State:
    """The other leg as the stance leg, back at the place of the first."""
    return compass_to_robot(robot_to_compass(state, "right"), "left")


def brought_back(state: cs.State, slope: float = 0.0525) -> cs.State:
    place = compass_foot(state, "left", slope) * np.array([np.cos(slope), -np.sin(slope)])
    return cs.State(np.r_[state.q[:2] - place, state.q[2:]], state.v)


@pytest.mark.parametrize(("symmetry", "steps"), [(swapped, 1), (brought_back, 2)])
def test_robot_finds_the_compass_gait(symmetry: Callable[[cs.State], cs.State], steps: int) -> None:
    case = later(compass_gait(), 0.2)
    guess = case.x + np.array([0.005, -0.004, 0.01, 0.01])
    orbit = cs.find_periodic_orbit(
        compass_robot(), compass_to_robot(guess), 1.01 * steps * case.time, symmetry=symmetry
    )
    assert orbit.period == pytest.approx(steps * case.time, abs=PERIOD)
    strike = orbit.trajectory.events[0]
    np.testing.assert_allclose(robot_to_compass(strike.state_post, "right"), compass_gait().x, atol=FIXED_POINT)
    assert_has(orbit.section_multipliers, tuple(np.array(case.multipliers) ** steps), MULTIPLIER)
    assert orbit.stable


# --- searched for from guesses that are off ---------------------------------------------------------------------------
def shifted_back(x: Array) -> Array:
    return np.array([0.0, *x[1:4], x[4] - x[0]])


def energy_of_hop(x: Array) -> Any:
    hopper, case = SlipHopper(), slip_hopper()
    return (hopper.gravity * (x[1] - case.x[1]) + (x[2:4] @ x[2:4] - case.x[2:4] @ case.x[2:4]) / 2.0) / 10.0


SEARCHES: dict[str, tuple[list[float], float, dict[str, Any]]] = {
    "compass gait": ([0.005, -0.002, 0.01, 0.01], 1.03, {}),
    "rimless wheel": ([0.02, 0.1], 1.03, {}),
    "simplest walker, long": ([0.002, 0.004, -0.001, 0.0005], 1.01, {}),
    "simplest walker, short": ([0.002, 0.004, -0.001, 0.0005], 1.01, {}),
    "vibrating table": ([1e-4, 0.03], 1.0, {"fixed_period": True}),
    "stick-slip": ([0.1, -0.1], 1.02, {}),
    "slip hopper": ([0.0, 0.01, 0.01, 0.0, 0.0], 1.0, {"symmetry": shifted_back, "section": energy_of_hop}),
}


@pytest.fixture(scope="module", params=SEARCHES)
def search(request: pytest.FixtureRequest) -> tuple[str, Case, cs.PeriodicOrbit]:
    """An orbit found from a guess that is off in all states and in the period."""
    case = ORBITS[request.param]()
    off, factor, options = SEARCHES[request.param]
    orbit = cs.find_periodic_orbit(case.system, case.x + off, factor * case.time, t0=case.t0, **options)
    return request.param, case, orbit


def test_search_reaches_the_published_orbit(search: tuple[str, Case, cs.PeriodicOrbit]) -> None:
    _, case, orbit = search
    assert orbit.period == pytest.approx(case.time, abs=PERIOD)
    kept = list(case.repeats)
    ends = [event.x_post[kept] for event in orbit.trajectory.events]
    assert min(float(np.abs(end - case.x[kept]).max()) for end in ends) <= FIXED_POINT
    assert orbit.residual <= FIXED_POINT


def test_search_finds_the_published_multipliers(search: tuple[str, Case, cs.PeriodicOrbit]) -> None:
    name, case, orbit = search
    atol = MULTIPLIER if name != "slip hopper" else NEUTRAL
    assert_has(orbit.section_multipliers, case.multipliers[: len(orbit.section_multipliers)], atol)
    assert orbit.stable == (name not in ("simplest walker, short", "slip hopper"))
    lost = orbit.multipliers == 0.0
    assert np.all(orbit.exponents[lost].real == -np.inf)
    rates = np.exp(orbit.exponents[~lost] * orbit.period)
    np.testing.assert_allclose(rates, orbit.multipliers[~lost], rtol=0, atol=MULTIPLIER)


def test_hopper_keeps_its_energy_as_a_neutral_direction() -> None:
    """Without a section the search keeps to the energy near its guess: a family of orbits, the multiplier one."""
    case = slip_hopper()
    orbit = cs.find_periodic_orbit(
        case.system, case.x + np.array([0, 0.01, 0.01, 0, 0]), case.time, symmetry=shifted_back
    )
    assert orbit.residual <= FIXED_POINT
    assert abs(orbit.section_multipliers[1] - 1.0) <= NEUTRAL
    assert abs(orbit.period - case.time) > 1e-3
    assert not orbit.stable


def test_return_map_on_the_section_of_the_apex() -> None:
    case = slip_hopper()
    orbit = cs.find_periodic_orbit(
        case.system,
        case.x + np.array([0, 0.005, 0.005, 0, 0]),
        case.time,
        section=lambda x: (energy_of_hop(x), x[3]),
        symmetry=shifted_back,
    )
    np.testing.assert_allclose(orbit.x0[:4], case.x[:4], rtol=0, atol=FIXED_POINT)
    assert_has(orbit.section_multipliers, case.multipliers, MULTIPLIER)
