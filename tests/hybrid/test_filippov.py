"""Sliding between two modes: recognised where it is not asked for, and followed where it is."""

from __future__ import annotations

import numpy as np
import pytest

import contactsim as cs

BELT, DRY = 0.2, 0.5  # speed of the belt; largest friction, and with unit mass and stiffness the largest stretch


class Side(cs.Flow):
    """A mass on a spring, on a belt: (x, v), with friction that depends on the sign of v - BELT only."""

    def __init__(self, sign: int, friction: float) -> None:
        self.sign, self.friction = sign, friction
        self.guard_names = ("slower",) if sign > 0 else ("faster",)

    def field(self, t: float, x: np.ndarray) -> np.ndarray:
        return np.array([x[1], -x[0] - self.sign * self.friction])

    def guards(self, t: float, x: np.ndarray) -> np.ndarray:
        return np.array([self.sign * (x[1] - BELT)])


class Oscillator(cs.HybridSystem):
    """Modes +1 and -1: the mass is faster or slower than the belt."""

    def __init__(self, friction: float = DRY) -> None:
        self.friction = friction

    def flow(self, mode: int) -> cs.Flow:
        return Side(mode, self.friction)

    def transition(self, t: float, x: np.ndarray, mode: int, fired: frozenset) -> cs.Transition:
        return cs.Transition(x, -mode, {"mass": (mode, -mode)}, unmoved=True, still=True)

    def start(self, t: float, x: np.ndarray) -> cs.Transition:
        return cs.Transition(x, 1 if x[1] > BELT else -1)

    def parameter(self, name: str) -> float:
        return self.friction

    def with_parameter(self, name: str, value: float) -> Oscillator:
        return Oscillator(value)


START = np.array([0.8, -0.1])
STATE = 1e-9  # of states and times against closed forms


def closed_form(x0: float, v0: float) -> tuple[float, float, float]:
    """Slower than the belt, x'' = -(x - DRY): time and place where v = BELT, and the time at which it lets go."""
    radius, phase = np.hypot(x0 - DRY, v0), np.arctan2(-v0, x0 - DRY)
    angle = np.arcsin(-BELT / radius) % (2 * np.pi)  # x - DRY = radius cos, v = -radius sin
    candidates = [angle, (np.pi - angle) % (2 * np.pi)]
    stop = min((a - phase) % (2 * np.pi) for a in candidates)
    place = DRY + radius * np.cos(phase + stop)
    return stop, place, stop + (DRY - place) / BELT


def test_sliding_follows_the_surface_and_leaves_where_it_must() -> None:
    traj = cs.simulate(cs.Filippov(Oscillator()), START, (0.0, 12.0))
    assert traj.status is cs.Status.FINISHED
    stop, place, go = closed_form(*START)
    first, second = traj.events[:2]
    assert first.time == pytest.approx(stop, abs=STATE) and second.time == pytest.approx(go, abs=STATE)
    assert str(first.mode_post) == "sliding between -1 and 1" and second.mode_post == -1
    np.testing.assert_allclose(first.x_post, [place, BELT], atol=STATE)
    half = 0.5 * (stop + go)
    np.testing.assert_allclose(traj(half), [place + BELT * (half - stop), BELT], atol=STATE)
    np.testing.assert_allclose(second.x_post, [DRY, BELT], atol=STATE)
    quarter = (
        second.time + np.pi / 2
    )  # it goes on along a circle about (DRY, 0), which touches the surface where it left
    np.testing.assert_allclose(traj(quarter), [DRY + BELT, 0.0], atol=STATE)


def test_derivative_of_a_run_that_slides() -> None:
    """It forgets the speed at once, and the place when it lets go: what remains is a shift of time."""
    tight = cs.Tolerances(rtol=1e-11, atol=1e-12)

    def end(start: np.ndarray, friction: float = DRY) -> np.ndarray:
        return cs.simulate(cs.Filippov(Oscillator(friction)), start, (0.0, 6.0), tolerances=tight).final

    lin = cs.linearize(cs.simulate(cs.Filippov(Oscillator()), START, (0.0, 6.0), tolerances=tight))
    h = 1e-5
    differences = np.array([(end(START + h * e) - end(START - h * e)) / (2 * h) for e in np.eye(2)]).T
    np.testing.assert_allclose(lin.matrix(), differences, atol=1e-8)
    assert np.linalg.matrix_rank(lin.matrix(), tol=1e-9) == 1
    by_friction = (end(START, DRY + h) - end(START, DRY - h)) / (2 * h)
    np.testing.assert_allclose(lin.parameter("friction"), by_friction, atol=1e-8)


def test_a_run_that_would_switch_without_end_says_so() -> None:
    traj = cs.simulate(Oscillator(), START, (0.0, 12.0))
    stop, place, _ = closed_form(*START)
    assert traj.status is cs.Status.EVENTS_WITHOUT_END
    assert traj.t[-1] == pytest.approx(stop, abs=1e-9)
    assert "'-1' and '1' lead to each other" in traj.message and "Filippov" in traj.message
    np.testing.assert_allclose(traj.final, [place, BELT], atol=STATE)


class Wordy(Oscillator):
    """The same with modes that take a page to print, and many parts that change at once."""

    def flow(self, mode: tuple[int, str]) -> cs.Flow:
        return super().flow(mode[0])

    def transition(self, t: float, x: np.ndarray, mode: tuple[int, str], fired: frozenset) -> cs.Transition:
        sign, rest = mode
        changes = {f"mass {k}": (sign, -sign) for k in range(20)}
        return cs.Transition(x, (-sign, rest), changes, unmoved=True, still=True)

    def start(self, t: float, x: np.ndarray) -> cs.Transition:
        return cs.Transition(x, (1 if x[1] > BELT else -1, "open, " * 500))


def test_a_message_names_few_of_many_parts() -> None:
    traj = cs.simulate(Wordy(), START, (0.0, 12.0))
    assert traj.status is cs.Status.EVENTS_WITHOUT_END and len(traj.message) < 600
    assert "two modes (mass 0 " in traj.message and " and 14 more) lead to each other" in traj.message


class Hysteresis(Oscillator):
    """A thermostat-like relay: it switches often, but each time after a way."""

    def flow(self, mode: int) -> cs.Flow:
        flow = Side(mode, 5.0)
        flow.guards = lambda t, x: np.array([mode * (x[1] - BELT) + 1e-6])  # type: ignore[method-assign]
        return flow


def test_switching_after_a_way_is_no_sliding() -> None:
    traj = cs.simulate(Hysteresis(), [0.0, BELT + 1e-3], (0.0, 1e-3))
    assert traj.status is cs.Status.FINISHED and len(traj.events) > 500


class Corner(cs.HybridSystem):
    """Two relays at once: x' = -sign(x), y' = -2 sign(y), in the four quadrants of the plane."""

    def flow(self, mode: tuple[int, int]) -> cs.Flow:
        class Quadrant(cs.Flow):
            guard_names = ("x", "y")

            def field(self, t: float, x: np.ndarray) -> np.ndarray:
                return -np.array([mode[0], 2.0 * mode[1]])

            def guards(self, t: float, x: np.ndarray) -> np.ndarray:
                return np.array(mode) * x

        return Quadrant()

    def transition(self, t: float, x: np.ndarray, mode: tuple[int, int], fired: frozenset) -> cs.Transition:
        signs = np.array([-1 if name in fired else 1 for name in ("x", "y")])
        return cs.Transition(x, tuple(int(s) for s in signs * mode), {"quadrant": (mode, fired)})

    def start(self, t: float, x: np.ndarray) -> cs.Transition:
        return cs.Transition(x, (1 if x[0] > 0 else -1, 1 if x[1] > 0 else -1))


def test_sliding_on_two_surfaces_at_once_stops_with_what_there_is() -> None:
    traj = cs.simulate(cs.Filippov(Corner()), [1.0, 1.0], (0.0, 2.0))
    assert traj.status is not cs.Status.FINISHED
    assert traj.t[-1] == pytest.approx(1.0, abs=1e-9)
    np.testing.assert_allclose(traj.final, [0.0, 0.0], atol=1e-9)


def test_what_the_wrapper_does_not_say_the_system_does() -> None:
    system = cs.Filippov(Oscillator(0.3))
    assert system.friction == 0.3 and system.parameter("friction") == 0.3
    assert isinstance(system.with_parameter("friction", 0.4), cs.Filippov)
    assert (
        system.guard_label(("first", "slower")) == "slower"
        and system.guard_label(("into", "first")) == "end of sliding"
    )


def test_the_wrapper_hands_on_what_a_run_asks() -> None:
    """Preferences, energy and pushes of the system inside; one that is pushed stays wrapped."""
    inner = cs.load_model("slip")
    system, x = cs.Filippov(inner), inner.initial_state()
    mode = inner.start(0.0, x).mode
    assert (system.preferred_integrator, system.nv, system.pushes) == (inner.preferred_integrator, inner.nv, ())
    assert system.energy(x, mode) == inner.energy(x, mode) and system.named_modes(mode) == mode
    with pytest.raises(cs.InputError, match="cannot be pushed"):
        system.with_push("body", (1.0, 0.0, 0.0), 0.1)
    ball = cs.Filippov(cs.ContactSystem(cs.Robot.sphere(1.0, 0.1, "ball")))
    pushed = ball.with_push("ball", (1.0, 0.0, 0.0), 0.1)
    assert isinstance(pushed, cs.Filippov) and len(pushed.pushes) == 1
    assert isinstance(pushed.without_pushes(0.1), cs.Filippov) and not pushed.without_pushes(0.1).pushes
