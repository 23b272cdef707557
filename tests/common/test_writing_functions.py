"""Functions of a user's may write on the arrays that they are given, and answer with one array again and again."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import contactsim as cs

WEIGHT = np.array([0.0, -9.81])


def spoil(*given: Any) -> None:
    """Write on what is an array of these."""
    for one in given:
        if isinstance(one, np.ndarray):
            one += 0.37


def plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function itself."""
    return function


def spoiling(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, which writes on all that it is given, and fills one array with its answers."""
    kept: list[Any] = []

    def written(*given: Any) -> Any:
        answer = function(*given)
        spoil(*given)
        if not isinstance(answer, np.ndarray):
            return answer
        if not kept:
            kept.append(answer.copy())
        kept[0][...] = answer
        return kept[0]

    return written


def on_a_hill(written: Callable) -> cs.Trajectory:
    """A mass on a spring that bounces and slides on a hill; its mass matrix depends on the place."""
    hill = cs.Gap(
        written(lambda t, q: q[1] + 0.1 * np.sin(q[0])),
        written(lambda t, q: np.array([0.1 * np.cos(q[0]), 1.0])),
        written(lambda t, q: np.array([[1.0, -0.1 * np.cos(q[0])]])),
        friction=0.3,
        restitution=0.5,
        enabled=written(lambda t, q, v: 3.0 - q[1]),
    )
    mass = cs.Mechanism(
        2,
        written(lambda q: np.diag([2.0, 1.0 + 0.1 * q[0] ** 2])),
        written(lambda t, q, v: WEIGHT - np.array([3.0 * q[0], 0.1 * v[1]])),
        [hill],
        potential=written(lambda q: 9.81 * q[1] + 1.5 * q[0] ** 2),
    )
    return cs.simulate(cs.ContactSystem(mass), cs.State([0.1, 1.0], [0.5, 0.0]), (0.0, 1.5))


def driven(controller: Any) -> cs.Trajectory:
    """The biped under a controller."""
    robot = cs.load_robot("biped")
    x = cs.load_scene("biped").state
    system = cs.ContactSystem(robot, cs.terrain.Slope(0.0525), controller=controller)
    return cs.simulate(system, x, (0.0, 0.8))


def brake(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Torques (nv,) that slow the hip down a little."""
    return -0.05 * np.array([0.0, 0.0, 0.0, v[3]])


def by_function(written: Callable) -> cs.Trajectory:
    return driven(written(brake))


def by_samples(written: Callable) -> cs.Trajectory:
    return driven(cs.Sampled(written(brake), 0.01, 4))


class Remembering(cs.Controller):
    """The brake by a filtered speed."""

    memory = 1

    def __init__(self, written: Callable) -> None:
        self._torque = written(lambda t, q, v, z: np.array([0.0, 0.0, 0.0, -0.05 * z[0]]))
        self._rate = written(lambda t, q, v, z: 20.0 * (v[3:] - z))

    def torque(self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray) -> np.ndarray:
        return self._torque(t, q, v, z)

    def rate(self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray) -> np.ndarray:
        return self._rate(t, q, v, z)


def by_memory(written: Callable) -> cs.Trajectory:
    return driven(Remembering(written))


class Ball(cs.Model):
    """A ball that bounces in air."""

    class Parameters(cs.ModelParameters):
        pass

    class State(cs.ModelState):
        height: float = 1.0
        speed: float = 0.0

    written: Callable = staticmethod(plain)

    def field(self, t: float, x: np.ndarray, chart: Any) -> np.ndarray:
        return self.fall(t, x)

    def boundaries(self, chart: Any) -> tuple[cs.Boundary, ...]:
        gradient = type(self).written(lambda t, x: np.array([1.0, 0.0]))
        return (cs.Boundary("ground", type(self).written(lambda t, x: x[0]), gradient=gradient),)

    def reset(self, t: float, x: np.ndarray, chart: Any, fired: Any) -> cs.Transition:
        return cs.Transition(self.bounce(x), "air")

    def start(self, t: float, x: np.ndarray) -> cs.Transition:
        return cs.Transition(x, "air")


def ball_of(written: Callable) -> type[Ball]:
    """The class of balls whose functions are `written` ones."""
    own = {
        "written": staticmethod(written),
        "fall": staticmethod(written(lambda t, x: np.array([x[1], -9.81 - 0.1 * x[1]]))),
        "bounce": staticmethod(in_place if written is spoiling else lambda x: np.array([x[0], -0.8 * x[1]])),
    }
    return type("OwnBall", (Ball,), own)


def in_place(x: np.ndarray) -> np.ndarray:
    """The state after a bounce, in the array of the one before it."""
    x[1] *= -0.8
    return x


def of_a_model(written: Callable) -> cs.Trajectory:
    return cs.simulate(ball_of(written)(), np.array([1.0, 0.0]), (0.0, 1.2))


class Air(cs.Flow):
    """The same ball by the contract of hybrid systems."""

    guard_names = ("ground",)

    def __init__(self, written: Callable) -> None:
        self._field = written(lambda t, x: np.array([x[1], -9.81 - 0.1 * x[1]]))
        self._guards = written(lambda t, x: x[:1].copy())

    def field(self, t: float, x: np.ndarray) -> np.ndarray:
        return self._field(t, x)

    def guards(self, t: float, x: np.ndarray) -> np.ndarray:
        return self._guards(t, x)


class Bounces(cs.HybridSystem):
    def __init__(self, written: Callable) -> None:
        self._air = Air(written)
        self._bounce = in_place if written is spoiling else lambda x: np.array([x[0], -0.8 * x[1]])

    def flow(self, mode: Any) -> cs.Flow:
        return self._air

    def transition(self, t: float, x: np.ndarray, mode: Any, fired: Any) -> cs.Transition:
        return cs.Transition(self._bounce(x), "air", {"ball": ("down", "up")})

    def start(self, t: float, x: np.ndarray) -> cs.Transition:
        return cs.Transition(x, "air")


def of_a_system(written: Callable) -> cs.Trajectory:
    return cs.simulate(Bounces(written), np.array([1.0, 0.0]), (0.0, 1.2))


RUNS = (on_a_hill, by_function, by_samples, by_memory, of_a_model, of_a_system)


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.__name__)
def test_what_functions_write_on_leaves_the_run_as_it_is(run: Callable) -> None:
    clean, written = run(plain), run(spoiling)
    assert written.status is clean.status is cs.Status.FINISHED
    assert len(clean.events) == len(written.events) > 0
    for own, other in zip(clean.events, written.events, strict=True):
        assert own.time == other.time
        np.testing.assert_array_equal(own.x_pre, other.x_pre)
        np.testing.assert_array_equal(own.x_post, other.x_post)
    for own, other in zip(clean.arcs, written.arcs, strict=True):
        middle = 0.5 * (own.t0 + own.t1)
        np.testing.assert_array_equal(own(middle), other(middle))


@pytest.mark.parametrize("run", [on_a_hill, by_memory], ids=lambda run: run.__name__)
def test_what_functions_write_on_leaves_the_check_and_the_derivative_as_they_are(run: Callable) -> None:
    clean, written = run(plain), run(spoiling)
    assert clean.check() == written.check()
    direction = cs.linearize(clean).tangent()[:, 0]
    np.testing.assert_array_equal(cs.linearize(clean)(direction), cs.linearize(written)(direction))


def test_a_law_that_writes_on_what_it_is_given_leaves_the_run_as_it_is() -> None:
    class Springs(cs.CompliantLaw):
        """A spring with a memory of its own, that may write on the point."""

        memory = 1
        written = False

        def force(self, point: Any) -> Any:
            force = np.zeros(len(point.velocity))
            force[0] = max(-2e4 * point.gap - 100.0 * point.velocity[0] + point.memory[0], 0.0)
            rate = -point.memory + point.velocity[:1]
            if self.written:
                spoil(point.velocity, point.memory)
            return force, rate

    runs = []
    for writes in (False, True):
        law = Springs()
        law.written = writes
        ball = cs.Mechanism(1, lambda q: np.eye(1), lambda t, q, v: WEIGHT[1:], [cs.Gap(*GROUND)])
        runs.append(cs.simulate(cs.ContactSystem(ball, law=law), cs.State([0.1], [0.0]), (0.0, 0.3)))
    np.testing.assert_array_equal(runs[0].final.q, runs[1].final.q)
    assert len(runs[0].events) == len(runs[1].events) > 0


GROUND = (lambda t, q: q[0], lambda t, q: np.ones(1))
