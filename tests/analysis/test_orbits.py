"""Periodic orbits of robots, on manifolds and constraints, sections, and searches that fail."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from builders import G, back_to, sphere
from reference_systems import BallOnTable, Given, rimless_wheel, simplest_walker, stick_slip, vibrating_table

import contactsim as cs

PERIOD = 1e-9  # s, of an orbit with the residual 1e-9 that is allowed by default
MULTIPLIER = 1e-8  # of runs with rtol 1e-11
LOOSE = 1e-6  # s, and multipliers, of an orbit with the residual 1e-7
LIOUVILLE = 1e-4  # relative: a small multiplier from the errors of a matrix of size one
ON_SECTION = 1e-12  # of the state itself, Newton's steps keep it
START = 1e-7  # two runs to one point of an orbit that was searched for, the residual 1e-9 amplified
NEUTRAL = 1e-5  # a double multiplier one is good to the square root of the error of the matrix
VAN_DER_POL = 6.663286859323130  # period of x'' - (1 - x^2) x' + x = 0 (e.g. Amore, Boyd, Fernandez 2018)
Array = np.ndarray


# --- manifolds and constraints ----------------------------------------------------------------------------------------
def test_ball_that_bounces_for_ever() -> None:
    """In space, with its orientation: only its height and vertical speed change; everything is neutral."""
    system = cs.ContactSystem(sphere(friction=0.0, restitution=1.0))
    turned = np.array([0.1, 0.2, 0.3, np.sqrt(1 - 0.14)])
    guess = cs.State([0.3, -0.2, 0.6, *turned], np.zeros(6))
    orbit = cs.find_periodic_orbit(system, guess, 0.6)
    height = orbit.x0.q[2] - 0.1 + 0.5 * float(orbit.x0.v[:3] @ orbit.x0.v[:3]) / G
    assert orbit.period == pytest.approx(2.0 * np.sqrt(2.0 * height / G), abs=PERIOD)
    np.testing.assert_allclose(np.abs(orbit.multipliers), 1.0, atol=NEUTRAL)
    assert not orbit.stable


def rolling_oscillator() -> cs.ContactSystem:
    """Van der Pol's oscillator as a mass that slides on the ground without friction."""
    gap = cs.Gap(
        gap=lambda t, q: q[1],
        normal=lambda t, q: np.array([0.0, 1.0]),
        tangent=lambda t, q: np.array([[1.0, 0.0]]),
        friction=0.0,
        restitution=0.0,
        bias=lambda t, q, v: np.zeros(2),
        name="ground",
    )
    return cs.ContactSystem(
        cs.Mechanism(
            n=2,
            mass=lambda q: np.eye(2),
            force=lambda t, q, v: np.array([(1.0 - q[0] ** 2) * v[0] - q[0], -G]),
            contacts=[gap],
        )
    )


def test_orbit_on_a_constraint_that_holds_all_the_time() -> None:
    """The directions that the ground takes away have the multiplier zero, and the start stays on the ground."""
    loose = cs.Tolerances(rtol=1e-8, atol=1e-10)
    start = cs.State([1.8, 0.0], [-0.5, 0.0])
    orbit = cs.find_periodic_orbit(rolling_oscillator(), start, 6.6, tolerances=loose, accuracy=1e-7)
    assert orbit.period == pytest.approx(VAN_DER_POL, abs=LOOSE)
    assert orbit.x0.q[1] == orbit.x0.v[1] == 0.0
    assert orbit.multipliers[0] == pytest.approx(1.0, abs=LOOSE)
    t = np.linspace(0.0, orbit.period, 501)[:-1]
    x = np.array([orbit.trajectory(at).q[0] for at in t])
    product = np.exp(orbit.period * np.mean(1.0 - x**2))  # of the multipliers: Liouville
    assert orbit.multipliers[1] == pytest.approx(product, rel=LIOUVILLE)
    np.testing.assert_allclose(orbit.multipliers[2:], 0.0, atol=MULTIPLIER)
    assert orbit.stable


# --- sections ---------------------------------------------------------------------------------------------------------
def test_section_as_a_plane() -> None:
    case = rimless_wheel()
    orbit = cs.find_periodic_orbit(case.system, [0.1, 0.6], 1.1, section=([1.0, 0.0], 0.0))
    assert orbit.x0[0] == pytest.approx(0.0, abs=ON_SECTION)
    assert orbit.period == pytest.approx(case.time, abs=PERIOD)
    np.testing.assert_allclose(orbit.return_map, [[0.5]], atol=MULTIPLIER)
    np.testing.assert_allclose(orbit.section_multipliers, [0.5], atol=MULTIPLIER)


@pytest.mark.parametrize("before", [0.02, 1e-4])
def test_section_just_before_an_event(before: float) -> None:
    case = rimless_wheel()
    angle = case.system.slope + case.system.half - before
    orbit = cs.find_periodic_orbit(case.system, [angle, 1.5], case.time, section=([1.0, 0.0], angle))
    assert orbit.x0[0] == pytest.approx(angle, abs=ON_SECTION)
    np.testing.assert_allclose(orbit.section_multipliers, [0.5], atol=MULTIPLIER)


def test_section_at_an_event_is_refused() -> None:
    case = rimless_wheel()
    with pytest.raises(cs.ConvergenceError, match=r"an event .* lies there; give a start"):
        cs.find_periodic_orbit(case.system, case.x, case.time, section=([1.0, 0.0], case.x[0]))


def test_multipliers_do_not_depend_on_the_section() -> None:
    case = simplest_walker("short")
    guess = np.array([0.0, -0.1, -0.05, -0.3])
    start = cs.simulate(case.system, case.x, (0.0, 1.5)).final_x
    found = [
        cs.find_periodic_orbit(case.system, start + 1e-3 * guess, case.time, section)
        for section in (None, lambda x: x[0] - start[0], ([0.0, 1.0, 0.0, 0.0], start[1]))
    ]
    for orbit in found:
        np.testing.assert_allclose(orbit.section_multipliers[:2], case.multipliers[:2], atol=MULTIPLIER)
        assert orbit.return_map.shape == (3, 3)


def test_field_is_the_direction_of_the_multiplier_one() -> None:
    case = stick_slip()
    orbit = cs.find_periodic_orbit(case.system, case.x + np.array([0.05, -0.1]), case.time)
    field = orbit.flow
    assert field is not None
    np.testing.assert_allclose(orbit.monodromy @ field, field, atol=MULTIPLIER)


def test_clock_of_the_system() -> None:
    """The period is not searched for, and the return map is the monodromy matrix."""
    case = vibrating_table()
    orbit = cs.find_periodic_orbit(case.system, case.x, case.time, fixed_period=True, t0=case.t0)
    assert orbit.period == case.time
    assert orbit.flow is None
    np.testing.assert_array_equal(orbit.return_map, orbit.monodromy)
    moved = orbit.t0 - case.t0
    x = cs.simulate(case.system, case.x, (case.t0, orbit.t0)).final_x
    assert moved > 0.0
    np.testing.assert_allclose(orbit.x0, x, atol=START)


# --- symmetries -------------------------------------------------------------------------------------------------------
class Runner(cs.Model):
    """A ball with a way x: at the ground vx -> c + vx/2 and vy -> 2 - vy/2, on an orbit vx = 2c, vy = 4 m/s there."""

    class Parameters(cs.ModelParameters):
        pace: float = 1.0
        hills: float = 0.0

    class State(cs.ModelState):
        x: float = 0.0
        y: float = 8.0 / G
        vx: float = 2.0
        vy: float = 0.0

    def field(self, t: float, s: Array, chart: str) -> Array:
        return np.array([s[2], s[3], self.parameters.hills * np.sin(s[0]), -G])

    def boundaries(self, chart: str) -> tuple[cs.Boundary, ...]:
        return (cs.Boundary("ground", lambda t, s: s[1]),)

    def reset(self, t: float, s: Array, chart: str, fired: frozenset) -> cs.Transition:
        return cs.Transition(np.array([s[0], s[1], self.parameters.pace + 0.5 * s[2], 2.0 - 0.5 * s[3]]), chart)

    def start(self, t: float, s: Array) -> cs.Transition:
        return cs.Transition(s, "air")


def way_taken_away(s: Array) -> Array:
    return np.array([0.0, *s[1:]])


@pytest.mark.parametrize("section", [None, lambda s: s[3]], ids=["none", "apex"])
@pytest.mark.parametrize("pace", [1.0, 10.0, 1e4])
def test_multipliers_where_a_symmetry_takes_a_motion_away(pace: float, section: object) -> None:
    """vx' = c + vx/2; the touch-down speed u' = 2 + u/2; x comes back to zero."""
    start = np.array([0.0, 8.0 / G, 2.0 * pace, 0.0])
    orbit = cs.find_periodic_orbit(Runner(pace=pace), start, 8.0 / G, section, symmetry=way_taken_away)
    np.testing.assert_allclose(orbit.multipliers, [1.0, 0.5, 0.5, 0.0], atol=NEUTRAL)
    np.testing.assert_allclose(orbit.section_multipliers, [0.5, 0.5, 0.0], atol=MULTIPLIER)
    assert orbit.stable


def test_return_map_is_that_of_differences() -> None:
    """From a point across w to the time at which sigma of the run is across it again."""
    orbit = cs.find_periodic_orbit(Runner(), [0.0, 0.5, 2.0, 2.5], 8.0 / G, symmetry=way_taken_away)
    basis = np.linalg.svd(orbit.normal[None])[2][1:].T

    def returned(x: Array) -> Array:
        fall = (x[3] + np.sqrt(x[3] ** 2 + 2.0 * G * x[1])) / G
        up, vx = 2.0 - 0.5 * (x[3] - G * fall), 1.0 + 0.5 * x[2]

        def at(t: float) -> Array:
            return np.array([0.0, up * t - 0.5 * G * t * t, vx, up - G * t])

        t = orbit.period - fall
        for _ in range(8):  # Newton
            rate = np.array([0.0, up - G * t, 0.0, -G])
            t -= orbit.normal @ (at(t) - orbit.x0) / (orbit.normal @ rate)
        return at(t)

    h = 1e-6
    columns = [(returned(orbit.x0 + h * e) - returned(orbit.x0 - h * e)) / (2.0 * h) for e in basis.T]
    np.testing.assert_allclose(orbit.return_map, basis.T @ np.array(columns).T, atol=MULTIPLIER)


def test_symmetry_that_does_not_hold() -> None:
    """On hills another way is another motion: the state comes back once, and not again."""
    with pytest.raises(cs.ConvergenceError, match=r"second one ends .* away, .*give a symmetry that maps") as caught:
        cs.find_periodic_orbit(Runner(hills=0.3), Runner().initial_state(), 8.0 / G, symmetry=way_taken_away)
    assert caught.value.problem["residual"] > NEUTRAL


class TwoBalls(cs.Model):
    """Two balls; ball k leaves the ground with u[k] / 2 - vy / 2, on an orbit with u[k]."""

    class Parameters(cs.ModelParameters):
        first: float = 4.0
        second: float = 4.0

    class State(cs.ModelState):
        a: float = 0.5
        b: float = 0.7
        va: float = 2.4
        vb: float = -1.6

    def field(self, t: float, s: Array, chart: str) -> Array:
        return np.array([s[2], s[3], -G, -G])

    def boundaries(self, chart: str) -> tuple[cs.Boundary, ...]:
        return cs.Boundary("a", lambda t, s: s[0]), cs.Boundary("b", lambda t, s: s[1])

    def reset(self, t: float, s: Array, chart: str, fired: frozenset) -> cs.Transition:
        s, speeds = s.copy(), (self.parameters.first, self.parameters.second)
        for k in (k for k, name in enumerate("ab") if name in fired):
            s[2 + k] = 0.5 * speeds[k] - 0.5 * s[2 + k]
        return cs.Transition(s, chart)

    def start(self, t: float, s: Array) -> cs.Transition:
        return cs.Transition(s, "air")


def swapped_balls(s: Array) -> Array:
    return s[[1, 0, 3, 2]]


def test_swap_of_two_that_differ_is_no_symmetry() -> None:
    """Both fall alike at the start: only the second half of the period shows that they bounce differently."""
    start, half = TwoBalls().initial_state(), 4.0 / G
    orbit = cs.find_periodic_orbit(TwoBalls(), start, half, symmetry=swapped_balls)
    assert orbit.period == pytest.approx(half, abs=PERIOD)
    np.testing.assert_allclose(np.sort(orbit.section_multipliers.real), [-1.0, -np.sqrt(0.5), np.sqrt(0.5)], atol=LOOSE)
    with pytest.raises(cs.ConvergenceError, match="give a symmetry that maps every motion to a motion"):
        cs.find_periodic_orbit(TwoBalls(second=5.0), start, half, symmetry=swapped_balls)


def test_clock_that_was_not_told() -> None:
    case = vibrating_table()
    with pytest.raises(cs.ConvergenceError, match=r"comes back wrong by .*; give fixed_period=True"):
        cs.find_periodic_orbit(case.system, case.x, case.time, t0=case.t0)
    with pytest.raises(cs.ConvergenceError, match=r"second one ends .* away; give the period of the system's clock"):
        cs.find_periodic_orbit(case.system, case.x, 0.93 * case.time, fixed_period=True, t0=case.t0)


# --- families ---------------------------------------------------------------------------------------------------------
class Kepler(cs.Model):
    """A planet: to each energy E belongs the period 2 pi / (-2 E)^1.5."""

    class State(cs.ModelState):
        x: float = 1.0
        y: float = 0.0
        vx: float = 0.0
        vy: float = 1.1

    def field(self, t: float, s: Array, chart: str) -> Array:
        return np.array([s[2], s[3], *(-s[:2] / np.hypot(*s[:2]) ** 3)])

    def boundaries(self, chart: str) -> tuple[cs.Boundary, ...]:
        return ()

    def reset(self, t: float, s: Array, chart: str, fired: frozenset) -> cs.Transition:
        raise AssertionError("it has no boundaries")

    def start(self, t: float, s: Array) -> cs.Transition:
        return cs.Transition(s, "orbit")


@pytest.mark.parametrize("share", [0.7, 1.02, 1.2])
def test_an_orbit_of_a_family_is_the_one_that_was_given(share: float) -> None:
    """The guess of the period may be wrong: the state is that of the guess, not of another orbit nearby."""
    start = Kepler().initial_state()
    period = 2.0 * np.pi / (2.0 - 1.1**2) ** 1.5
    orbit = cs.find_periodic_orbit(Kepler(), start, share * period)
    assert orbit.period == pytest.approx(period, abs=LOOSE)
    np.testing.assert_allclose(orbit.x0, start, atol=START)


def test_another_orbit_of_a_family_on_demand() -> None:
    def energy(s: Array) -> float:
        return 0.5 * (s[2] ** 2 + s[3] ** 2) - 1.0 / np.hypot(s[0], s[1]) + 0.5

    orbit = cs.find_periodic_orbit(Kepler(), Kepler().initial_state(), 8.0, lambda s: [s[1], energy(s)])
    assert orbit.period == pytest.approx(2.0 * np.pi, abs=LOOSE)


# --- searches that fail -----------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Spiral(cs.HybridSystem):
    """x'' + 0.2 x' + x = 0."""

    def flow(self, mode: str) -> cs.Flow:
        return Given(lambda t, x: np.array([x[1], -x[0] - 0.2 * x[1]]), {})

    def transition(self, t: float, x: Array, mode: str, fired: frozenset) -> cs.Transition:
        raise AssertionError("it has no events")

    def start(self, t: float, x: Array) -> cs.Transition:
        return cs.Transition(x, "moving")


def test_equilibrium_is_no_orbit() -> None:
    with pytest.raises(cs.ConvergenceError, match="equilibrium of Spiral") as caught:
        cs.find_periodic_orbit(Spiral(), [0.3, 0.0], 6.0)
    np.testing.assert_allclose(caught.value.problem["x0"], 0.0, atol=LOOSE)


def test_ball_that_comes_to_rest_has_no_orbit() -> None:
    with pytest.raises(cs.ConvergenceError, match=r"no periodic orbit of BallOnTable|stops at") as caught:
        cs.find_periodic_orbit(BallOnTable(0.5), [1.0, 0.0], 0.8, max_iterations=8)
    assert caught.value.problem["period"] > 0.0


def test_too_few_iterations_leave_the_best_point() -> None:
    case = simplest_walker("long")
    with pytest.raises(cs.ConvergenceError, match="the residual stays at") as caught:
        cs.find_periodic_orbit(case.system, case.x + 0.002, case.time, max_iterations=1)
    problem = caught.value.problem
    assert problem["residual"] > 0.0
    orbit = cs.find_periodic_orbit(case.system, problem["x0"], problem["period"])
    assert orbit.period == pytest.approx(case.time, abs=PERIOD)


def test_symmetry_that_changes_the_kind_of_state() -> None:
    with pytest.raises(cs.ConvergenceError, match="ends in a state of 1 numbers and starts in one of 2"):
        cs.find_periodic_orbit(Spiral(), [0.3, 0.0], 6.0, symmetry=lambda x: x[:1])


@pytest.mark.parametrize("period", [0.0, -1.0, np.nan, np.inf, "long", None])
def test_period_that_is_none(period: object) -> None:
    with pytest.raises(cs.InputError, match=r"period_guess .* is .*; give a positive number"):
        cs.find_periodic_orbit(Spiral(), [0.3, 0.0], period)


def test_guess_that_is_no_state() -> None:
    with pytest.raises(cs.InputError, match="State"):
        cs.find_periodic_orbit(rolling_oscillator(), cs.State([1.0], [0.0]), 6.0)
    with pytest.raises(cs.InputError, match="inside"):
        cs.find_periodic_orbit(rolling_oscillator(), cs.State([1.0, -0.1], [0.0, 0.0]), 6.0)


def test_twice_the_period_is_an_orbit_too() -> None:
    """Its end is near an event, and no later place of the run is known to come back: what cannot move need not."""
    walk = cs.load_scene("biped")
    place = walk.simulate(0.1).final

    once, twice = (cs.find_periodic_orbit(walk.system, place, guess, symmetry=back_to(place)) for guess in (1.47, 2.94))
    assert twice.period == pytest.approx(2.0 * once.period, rel=1e-9)
    largest = sorted(abs(once.multipliers))[-2]
    assert sorted(abs(twice.multipliers))[-2] == pytest.approx(largest**2, rel=1e-6)
