"""The contracts on small systems that are not robots: a ball, a runner, a point on compliant ground, clocks, jumps."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from builders import point_mass
from scipy.optimize import brentq

import contactsim as cs
from contactsim.hybrid.stepper import Stepper

G = 9.81


class Air(cs.Flow):
    """Free flight of (height, speed) above ground, which is a guard."""

    guard_names = ("ground",)

    def field(self, t: float, x: np.ndarray) -> np.ndarray:
        return np.array([x[1], -G])

    def guards(self, t: float, x: np.ndarray) -> np.ndarray:
        return x[:1]


class Ball(cs.HybridSystem):
    """A ball that bounces with restitution `e`."""

    def __init__(self, e: float) -> None:
        self.e = e

    def flow(self, mode: str) -> cs.Flow:
        return Air()

    def transition(self, t: float, x: np.ndarray, mode: str, fired: frozenset) -> cs.Transition:
        return cs.Transition(np.array([x[0], -self.e * x[1]]), mode, {"ball": (mode, mode)})

    def start(self, t: float, x: np.ndarray) -> cs.Transition:
        if x[0] < 0.0:
            raise cs.InputError(f"the ball starts {-x[0]} m below ground; raise it")
        return cs.Transition(x, "air")


def test_bouncing_ball() -> None:
    traj = cs.simulate(Ball(0.5), [1.0, 0.0], (0.0, 1.3))
    time, speed = np.sqrt(2.0 / G), np.sqrt(2.0 * G)
    for event in traj.events[:5]:
        assert event.time == pytest.approx(time, abs=1e-10)
        speed *= 0.5
        time += 2.0 * speed / G
    assert traj.status is cs.Status.FINISHED and traj.t[-1] == 1.3
    assert traj.x.shape == (len(traj.t), 2)


class BareBall:
    """The same ball by the three methods alone, with its weight besides."""

    def __init__(self, e: float, weight: float = G) -> None:
        self.e, self.weight = e, weight

    def flow(self, mode: str) -> cs.Flow:
        return Air()

    transition, start = Ball.transition, Ball.start

    def energy(self, x: np.ndarray, mode: str) -> float:
        return float(self.weight * x[0] + 0.5 * x[1] ** 2)

    def parameter(self, name: str) -> float:
        return self.e

    def with_parameter(self, name: str, value: float) -> BareBall:
        return BareBall(value)


def test_three_methods_are_a_hybrid_system(tmp_path: Path) -> None:
    """Without a base class: simulated, checked, stepped, stored and linearized as one that has it."""
    bare, whole = (cs.simulate(system, [1.0, 0.0], (0.0, 1.3)) for system in (BareBall(0.5), Ball(0.5)))
    np.testing.assert_array_equal(bare.final, whole.final)
    assert bare.check() == {} and bare.system.weight == G and bare.energy(0.0) == pytest.approx(G)
    assert pickle.loads(pickle.dumps(bare.system)).weight == copy.deepcopy(bare.system).weight == G
    again = cs.Trajectory.load(bare.save(tmp_path / "run.nc"), system=BareBall(0.5))
    np.testing.assert_allclose(again.x, bare.x, atol=1e-14)
    fall = np.sqrt(2.0 / G)
    once = cs.simulate(BareBall(0.5), [1.0, 0.0], (0.0, 0.6))
    lin = cs.linearize(once)
    # h = e v0 s - g s^2 / 2 and h' = e v0 - g s, a time s = T - t behind the impact with v0 = g t, t = sqrt(2 h0 / g)
    late, slope = 0.6 - fall, 1.0 / (G * fall)
    expected = [(0.5 * G * late - 0.5 * G * fall + G * late) * slope, 1.5 * G * slope]
    np.testing.assert_allclose(lin.matrix()[:, 0], expected, rtol=1e-9)
    np.testing.assert_allclose(lin.parameter("e"), [G * fall * late, G * fall], rtol=1e-6)
    simulation = cs.Simulation(BareBall(0.5), [1.0, 0.0])
    simulation.set("e", 0.25)
    simulation.advance(0.6)
    assert simulation.state[1] == pytest.approx(0.25 * G * fall - G * late, rel=1e-9)


def test_what_is_no_hybrid_system_is_told_in_a_sentence() -> None:
    with pytest.raises(cs.InputError, match=r"a str is no hybrid system, it has no flow, transition, start"):
        cs.simulate("slip", [1.0, 0.0], (0.0, 1.0))
    with pytest.raises(cs.InputError, match="the class BareBall is given; give one of its instances"):
        cs.simulate(BareBall, [1.0, 0.0], (0.0, 1.0))


def test_both_sides_of_a_jump_and_exact_samples() -> None:
    traj = cs.simulate(Ball(0.5), [1.0, 0.0], (0.0, 1.0), record_period=0.1)
    (first, *_) = traj.events
    sides = np.flatnonzero(traj.t == first.time)
    np.testing.assert_allclose(traj.x[sides, 1], [-np.sqrt(2 * G), 0.5 * np.sqrt(2 * G)], rtol=1e-12)
    assert set(np.round(0.1 * np.arange(11), 12)) <= set(np.round(traj.t, 12))
    np.testing.assert_allclose(traj(first.time, side="-"), [0.0, -np.sqrt(2 * G)], atol=1e-12)
    np.testing.assert_allclose(traj(first.time), [0.0, 0.5 * np.sqrt(2 * G)], atol=1e-12)
    np.testing.assert_allclose(traj(0.2), [1.0 - G * 0.02, -0.2 * G], rtol=1e-13)


def test_step_by_step_is_the_same_run() -> None:
    whole = cs.simulate(Ball(0.7), [1.0, 0.3], (0.0, 2.0))
    simulation = cs.Simulation(Ball(0.7), [1.0, 0.3])
    for _ in range(20):
        simulation.advance(0.1)
    assert simulation.t == pytest.approx(2.0, abs=1e-14)
    np.testing.assert_allclose(simulation.state, whole.final, atol=1e-11)
    assert [e.time for e in simulation.trajectory.events] == pytest.approx([e.time for e in whole.events], abs=1e-12)


def test_largest_number_of_events_keeps_what_was_computed() -> None:
    traj = cs.simulate(Ball(0.5), [1.0, 0.0], (0.0, 2.0), max_events=3)
    assert traj.status is cs.Status.TOO_MANY_EVENTS and "max_events" in traj.message
    assert len(traj.events) == 3 and 0.0 < traj.t[-1] < 2.0


def test_invalid_start_is_refused() -> None:
    with pytest.raises(cs.InputError, match="below ground"):
        cs.simulate(Ball(0.5), [-1.0, 0.0], (0.0, 1.0))


# --- a spring-loaded inverted pendulum ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Stance:
    """Standing with the foot at `foot`."""

    foot: float


class Flying(cs.Flow):
    guard_names = ("touchdown",)

    def __init__(self, runner: Runner) -> None:
        self._height = runner.length * np.cos(runner.angle)

    def field(self, t: float, x: np.ndarray) -> np.ndarray:
        return np.array([x[2], x[3], 0.0, -10.0])

    def guards(self, t: float, x: np.ndarray) -> np.ndarray:
        return np.array([x[1] - self._height])


class Standing(cs.Flow):
    guard_names = ("liftoff",)

    def __init__(self, runner: Runner, foot: float) -> None:
        self._runner, self._foot = runner, foot

    def field(self, t: float, x: np.ndarray) -> np.ndarray:
        leg = np.array([x[0] - self._foot, x[1]])
        length = np.hypot(*leg)
        force = self._runner.stiffness * (self._runner.length - length) / self._runner.mass * leg / length
        return np.array([x[2], x[3], force[0], force[1] - 10.0])

    def guards(self, t: float, x: np.ndarray) -> np.ndarray:
        return np.array([self._runner.length - np.hypot(x[0] - self._foot, x[1])])


class Runner(cs.HybridSystem):
    """SLIP with a constant angle of attack (pab47's slipHopper.m: m = 100, k = 1e4, g = 10, l = 1, 5 degrees)."""

    mass, stiffness, length, angle = 100.0, 1e4, 1.0, np.deg2rad(5.0)

    def flow(self, mode: str | Stance) -> cs.Flow:
        return Standing(self, mode.foot) if isinstance(mode, Stance) else Flying(self)

    def transition(self, t: float, x: np.ndarray, mode: str | Stance, fired: frozenset) -> cs.Transition:
        after = "flight" if isinstance(mode, Stance) else Stance(float(x[0] + self.length * np.sin(self.angle)))
        return cs.Transition(x, after, {"leg": (type(mode).__name__, type(after).__name__)})

    def start(self, t: float, x: np.ndarray) -> cs.Transition:
        return cs.Transition(x, "flight")


def test_runner_repeats_its_published_gait() -> None:
    speed, apex, period = 0.513806075894484, 1.238312718078524, 0.836957108399169
    traj = cs.simulate(Runner(), [0.0, apex, speed, 0.0], (0.0, 3 * period))
    assert len(traj.events) == 6
    for k in (1, 2, 3):
        x = traj(k * period)
        np.testing.assert_allclose([x[1], x[2], x[3]], [apex, speed, 0.0], rtol=0, atol=2e-8)


# --- compliant ground ---------------------------------------------------------------------------------------------


def test_point_on_compliant_ground() -> None:
    """m g'' = -k g - c g' - m G: touch-down, the release where the damper would pull, and rest."""
    from contactsim_plugins.laws.spring_damper import SpringDamper

    mass, stiffness, damping = 2.0, 800.0, 8.0
    law = SpringDamper(stiffness=stiffness, damping=damping)
    traj = cs.simulate(
        cs.ContactSystem(point_mass(mass=mass, friction=0.0), law=law), cs.State([0, 0, 0.1], np.zeros(3)), (0.0, 20.0)
    )
    touch = np.sqrt(0.2 / G)
    decay, ring = damping / (2 * mass), np.sqrt(stiffness / mass - (damping / (2 * mass)) ** 2)
    rest, speed = mass * G / stiffness, -G * touch

    def gap(t: float) -> float:
        return -rest + np.exp(-decay * t) * (rest * np.cos(ring * t) + (speed + decay * rest) / ring * np.sin(ring * t))

    def force(t: float, h: float = 1e-6) -> float:
        return -stiffness * gap(t) - damping * (gap(t + h) - gap(t - h)) / (2 * h)

    release = touch + brentq(force, 0.05, 1.5 * np.pi / ring, xtol=1e-12)
    assert [
        event.transitions["mass" if "mass" in event.transitions else "point"][0].name for event in traj.events[:2]
    ] == [
        "OPEN",
        "CLOSED",
    ]
    assert traj.events[0].time == pytest.approx(touch, abs=1e-10)
    assert traj.events[1].time == pytest.approx(release, abs=1e-8)
    assert traj.final.q[2] == pytest.approx(-rest, abs=1e-8)
    assert traj.check()["energy balance [relative]"] < 1e-6


# --- time events and jumps of a guard -------------------------------------------------------------------------------


class Ramp(cs.Flow):
    """x' = slope; a tick each half second; the guard `limit - x` may lie below zero where the flow begins."""

    guard_names = ("limit",)

    def __init__(self, slope: float, limit: float) -> None:
        self._slope, self._limit = slope, limit

    def field(self, t: float, x: np.ndarray) -> np.ndarray:
        return np.array([self._slope])

    def guards(self, t: float, x: np.ndarray) -> np.ndarray:
        return np.array([self._limit - x[0]])

    def next_time(self, t: float) -> float:
        return 0.5 * (np.floor(2.0 * t) + 1.0)


class Clockwork(cs.HybridSystem):
    """Each tick doubles the slope and lowers the limit, which jumps past the state at the second tick."""

    def flow(self, mode: tuple[float, float]) -> cs.Flow:
        return Ramp(*mode)

    def transition(self, t: float, x: np.ndarray, mode: tuple[float, float], fired: frozenset) -> cs.Transition:
        if "limit" in fired:
            return cs.Transition(x, (-1.0, np.inf), {"limit": (mode, "down")})
        return cs.Transition(x, (2.0 * mode[0], mode[1] - 1.0), {"tick": (mode, "next")})

    def start(self, t: float, x: np.ndarray) -> cs.Transition:
        return cs.Transition(x, (1.0, 3.0))


def test_clock_and_a_guard_that_jumps() -> None:
    traj = cs.simulate(Clockwork(), [0.0], (0.0, 1.25))
    assert [(event.time, *event.transitions) for event in traj.events] == [(0.5, "tick"), (1.0, "tick"), (1.0, "limit")]
    np.testing.assert_allclose(traj.final, 1.5 - 0.25, atol=1e-14)


def test_guard_that_dips_below_zero_between_two_steps() -> None:
    """A guard that is positive at both ends of one long step and barely negative in between is caught."""

    class Skim(cs.Flow):
        guard_names = ("skim",)

        def field(self, t: float, x: np.ndarray) -> np.ndarray:
            return np.ones(1)

        def guards(self, t: float, x: np.ndarray) -> np.ndarray:
            return np.array([(x[0] - 0.7) ** 2 - 1e-6])

    class Once(cs.HybridSystem):
        def flow(self, mode: str) -> cs.Flow:
            return Skim()

        def transition(self, t: float, x: np.ndarray, mode: str, fired: frozenset) -> cs.Transition:
            return cs.Transition(x + 0.01, mode, {"skim": ("before", "after")})

        def start(self, t: float, x: np.ndarray) -> cs.Transition:
            return cs.Transition(x, "only")

    traj = cs.simulate(Once(), [0.0], (0.0, 2.0))
    assert [event.time for event in traj.events] == pytest.approx([0.699], abs=1e-10)


def test_failing_field_keeps_the_run_up_to_there() -> None:
    class Broken(Air):
        def field(self, t: float, x: np.ndarray) -> np.ndarray:
            if t > 0.2:
                raise ZeroDivisionError("a user's mistake")
            return super().field(t, x)

    class Falling(Ball):
        def flow(self, mode: str) -> cs.Flow:
            return Broken()

    with pytest.raises(ZeroDivisionError) as caught:
        cs.simulate(Falling(0.5), [1.0, 0.0], (0.0, 1.0))
    kept = caught.value.trajectory
    assert kept.status is cs.Status.FAILED and 0.0 < kept.t[-1] <= 0.2


def test_ctrl_c_hands_over_what_was_computed() -> None:
    def press(t: float) -> None:
        if t > 0.2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        cs.simulate(Ball(0.5), [1.0, 0.0], (0.0, 1.0), tolerances=cs.Tolerances(max_step=0.1), progress=press)
    kept = caught.value.trajectory
    assert kept.status is cs.Status.INTERRUPTED and 0.2 < kept.t[-1] < 1.0
    assert np.array_equal(kept(np.array([0.0, 0.1])), [kept(0.0), kept(0.1)])


def test_singular_field_stops_with_a_status() -> None:
    class Blowup(Air):
        guard_names = ()

        def field(self, t: float, x: np.ndarray) -> np.ndarray:
            return np.array([x[0] ** 2, 0.0])

        def guards(self, t: float, x: np.ndarray) -> np.ndarray:
            return np.empty(0)

    class Exploding(Ball):
        def flow(self, mode: str) -> cs.Flow:
            return Blowup()

    traj = cs.simulate(Exploding(0.5), [1.0, 0.0], (0.0, 2.0))
    assert traj.status in (cs.Status.STEP_TOO_SMALL, cs.Status.FAILED)
    assert traj.t[-1] == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("law", ["coulomb", "spring-damper"])
def test_a_flow_knows_its_guards_by_name(law: str) -> None:
    """A name that no guard has is refused: a row that is left out would shift all others."""
    system = cs.ContactSystem(cs.Robot.sphere(1.0, 0.1, "ball"), law=law)
    x = system.pack(cs.State([0.0, 0.0, 0.3, 0.0, 0.0, 0.0, 1.0], np.zeros(6)))
    flow = system.flow(system.start(0.0, x).mode)
    assert flow.guard_jacobian(0.0, x, flow.guard_names).shape == (len(flow.guard_names), 12)
    with pytest.raises(cs.InputError, match=r"no guard \('gap', 7\); there are"):
        flow.guard_jacobian(0.0, x, (("gap", 7),))


# --- trial steps ---------------------------------------------------------------------------------------------------
class Drag(cs.Flow):
    """Speed under cubic drag, x' = -x^3; a field that says so where it is asked beyond the finite numbers."""

    def field(self, t: float, x: np.ndarray) -> np.ndarray:
        if not np.isfinite(x).all():
            raise cs.SimulationError("the drag is not finite")
        return -(x**3)


def test_a_trial_step_that_leaves_the_finite_numbers_is_taken_again_shorter() -> None:
    stepper = Stepper(Drag(), cs.Euclidean(1), 0.0, np.array([1e3]), "DOP853", cs.Tolerances(), first_step=1.0)
    while stepper.t < 1.0:
        stepper.step(1.0)
    assert stepper.x[0] == pytest.approx(1e3 / np.sqrt(1.0 + 2e6), rel=1e-7)


class Fenced(cs.Flow):
    """x' = rate(x), defined within (0, 2) only."""

    def __init__(self, rate: Callable[[np.ndarray], np.ndarray]) -> None:
        self._rate = rate

    def field(self, t: float, x: np.ndarray) -> np.ndarray:
        if not 0.0 < x[0] < 2.0:
            raise cs.SimulationError(f"x = {x[0]:.3g} is outside of the fence")
        return self._rate(x)


@pytest.mark.parametrize("method", ["DOP853", "RK45", "Radau9", "Radau"])
def test_a_trial_step_that_leaves_the_field_is_taken_again_shorter(method: str) -> None:
    """x' = -x: a first step of 10 s has stages far below zero, where nothing is defined."""
    stepper = Stepper(Fenced(np.negative), cs.Euclidean(1), 0.0, np.ones(1), method, cs.Tolerances(), first_step=10.0)
    while stepper.t < 10.0:
        stepper.step(10.0)
    assert stepper.x[0] == pytest.approx(np.exp(-10.0), abs=1e-9)


def test_a_step_whose_interpolant_is_no_number_is_taken_again_from_its_start() -> None:
    stepper = Stepper(Fenced(np.negative), cs.Euclidean(1), 0.0, np.ones(1), "DOP853", cs.Tolerances(), first_step=0.1)
    first = stepper.step(1.0)
    last = stepper.step(1.0)
    stepper.retry(replace(last, chart=lambda t: np.full(1, np.nan)))
    assert stepper.t == first.t1
    assert stepper.x == first.end
    assert stepper.step_size == 0.25 * (last.t1 - last.t0)


def test_a_motion_that_leaves_the_field_ends_with_its_sentence() -> None:
    """x' = 1 comes to the fence at t = 1, and steps lead up to it."""
    stepper = Stepper(Fenced(np.ones_like), cs.Euclidean(1), 0.0, np.ones(1), "DOP853", cs.Tolerances(), first_step=0.3)
    with pytest.raises(cs.SimulationError, match="outside of the fence"):
        while stepper.t < 2.0:
            stepper.step(2.0)
    assert stepper.t == pytest.approx(1.0, abs=1e-9)
