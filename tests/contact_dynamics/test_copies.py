"""Copies, pickles and threads: results are equal to the bit."""

from __future__ import annotations

import copy
import pickle
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np
import pytest

import contactsim as cs

Case = tuple[cs.ContactSystem, cs.State, float]


def sine(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """A controller of the user's, at the top of a module."""
    torque = np.zeros(len(v))
    torque[-1] = 0.2 * np.sin(9.0 * t)
    return torque


def ball() -> Case:
    robot = cs.Robot.sphere(1.0, 0.1, friction=0.5, restitution=0.4)
    return cs.ContactSystem(robot), cs.State([0, 0, 0.2, 0, 0, 0, 1.0], [1.0, 0, 0, 0, 3.0, 0]), 0.4


def ball_on_hills() -> Case:
    robot = cs.Robot.sphere(1.0, 0.1, friction=0.5)
    ground = cs.terrain.Sinusoid(0.05, 2.0, 1.5)
    return cs.ContactSystem(robot, ground), cs.State([0, 0, 0.3, 0, 0, 0, 1.0], [0.5, 0.2, 0, 0, 0, 0]), 0.4


def two_bodies() -> Case:
    ball, box = cs.Robot.sphere(1.0, 0.1, name="a"), cs.Robot.box(2.0, (0.3, 0.3, 0.1), name="b")
    robot = cs.Robot.merge([ball, box], names=["a", "b"])
    q = [0, 0, 0.3, 0, 0, 0, 1.0, 0.05, 0, 0.06, 0, 0, 0, 1.0]
    return cs.ContactSystem(robot), cs.State(q, np.zeros(12)), 0.3


def biped() -> Case:
    robot = cs.load_robot("biped")
    q = robot.nominal.copy()
    q[1] += 0.03
    return cs.ContactSystem(robot, controller=cs.PD(robot, period=0.01)), cs.State(q, np.zeros(robot.nv)), 0.3


def biped_walks() -> Case:
    """Down its slope, past a step."""
    scene = cs.load_scene("biped")
    return scene.system, scene.state, 0.9


def driven_biped() -> Case:
    robot = cs.load_robot("biped")
    q = robot.nominal.copy()
    q[1] += 0.03
    return cs.ContactSystem(robot, controller=cs.Sampled(sine, 0.02, robot.nv)), cs.State(q, np.zeros(robot.nv)), 0.3


def solo12() -> Case:
    robot = cs.load_robot("solo12")
    q = robot.nominal.copy()
    q[2] += 0.05
    return cs.ContactSystem(robot, controller=cs.PD(robot, kp=10.0, kd=0.4)), cs.State(q, np.zeros(robot.nv)), 0.12


def compliant_ball() -> Case:
    robot = cs.Robot.sphere(1.0, 0.1, friction=0.5)
    return cs.ContactSystem(robot, law="lugre"), cs.State([0, 0, 0.12, 0, 0, 0, 1.0], [1.0, 0, 0, 0, 0, 0]), 0.15


CASES = (ball, ball_on_hills, two_bodies, biped, driven_biped, solo12, compliant_ball)


def ran(system: Any, state: Any, end: float) -> tuple[np.ndarray, list[float]]:
    """Where a run ends, and when its events were."""
    trajectory = cs.simulate(system, state, (0.0, end))
    return trajectory.final_x, [event.time for event in trajectory.all_events]


def same(found: tuple[np.ndarray, list[float]], wanted: tuple[np.ndarray, list[float]]) -> bool:
    return np.array_equal(found[0], wanted[0]) and found[1] == wanted[1]


@pytest.mark.parametrize("case", CASES)
def test_deep_copies_and_pickles_run_alike(case: Callable[[], Case]) -> None:
    system, state, end = case()
    wanted = ran(system, state, end)
    assert wanted[1], "nothing happens in this run"
    for other in (copy.deepcopy(system), copy.copy(system), pickle.loads(pickle.dumps(system))):
        assert same(ran(other, state, end), wanted)
        assert same(ran(other.with_parameter("gravity", 9.81), state, end), wanted)
    assert same(ran(system, state, end), wanted), "the original was disturbed"


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda run: pickle.loads(pickle.dumps(run))])
@pytest.mark.parametrize("case", [biped_walks, ball])
def test_copies_of_runs_have_the_same_derivative(
    case: Callable[[], Case], copied: Callable[[cs.Trajectory], cs.Trajectory]
) -> None:
    system, start, duration = case()
    run = cs.simulate(system, start, (0.0, duration))
    other = copied(run)
    assert [event.time for event in other.events] == [event.time for event in run.events] != []
    np.testing.assert_array_equal(cs.linearize(other).matrix(), cs.linearize(run).matrix())


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda lin: pickle.loads(pickle.dumps(lin))])
@pytest.mark.parametrize("case", [biped_walks, ball])
def test_copies_of_derivatives_are_the_same(
    case: Callable[[], Case], copied: Callable[[cs.Linearization], cs.Linearization]
) -> None:
    system, start, duration = case()
    lin = cs.linearize(cs.simulate(system, start, (0.0, duration)))
    early = copied(lin)  # before anything was asked of it
    np.testing.assert_array_equal(early.matrix(), lin.matrix())
    np.testing.assert_array_equal(copied(lin).parameter("gravity"), lin.parameter("gravity"))


@pytest.mark.parametrize("case", [ball, ball_on_hills, two_bodies, biped, solo12])
def test_threads_on_one_system_run_alike(case: Callable[[], Case]) -> None:
    system, state, end = case()
    starts = [cs.State(state.q, state.v + 0.05 * k) for k in range(4)]
    wanted = [ran(system, start, end) for start in starts]
    found: dict[int, Any] = {}

    def work(k: int) -> None:
        found[k] = ran(system, starts[k], end)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert all(same(found[k], wanted[k]) for k in range(4))


def test_another_process_runs_alike() -> None:
    jobs = [case() for case in (biped, two_bodies)]
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        found = [pool.submit(ran, *job).result() for job in jobs]
    assert all(same(one, ran(*job)) for one, job in zip(found, jobs, strict=True))


def test_a_function_that_cannot_be_pickled_is_named() -> None:
    robot = cs.load_robot("biped")
    system = cs.ContactSystem(robot, controller=lambda t, q, v: np.zeros(robot.nv))
    with pytest.raises(cs.InputError, match=r"the controller .* cannot be pickled"):
        pickle.dumps(system)
    copy.deepcopy(system)
    point = cs.ContactPoint(robot.contacts[0].frame, name="toe", enabled=lambda t, q, v: 1.0)
    with pytest.raises(cs.InputError, match="'enabled' of contact 'toe' cannot be pickled"):
        pickle.dumps(cs.ContactSystem(robot.with_contacts([point])))
    falling = cs.Mechanism(1, lambda q: np.eye(1), lambda t, q, v: np.zeros(1))
    with pytest.raises(cs.InputError, match="a function of the Mechanism cannot be pickled"):
        pickle.dumps(cs.ContactSystem(falling))


class Named(cs.ContactSystem):
    """A system with an attribute of its own."""

    def __init__(self, robot: cs.Robot, colour: str) -> None:
        super().__init__(robot)
        self.colour = colour


def test_attributes_of_a_class_of_ones_own_are_copied() -> None:
    system = Named(cs.Robot.sphere(1.0, 0.1), "red")
    system.colour = "blue"
    others = copy.deepcopy(system), pickle.loads(pickle.dumps(system)), system.with_parameter("gravity", 5.0)
    assert [type(other) for other in others] == [Named] * 3
    assert [other.colour for other in others] == ["blue"] * 3


def test_a_part_that_is_set_is_refused() -> None:
    system = ball()[0]
    with pytest.raises(AttributeError, match="make another system, or take with_parameter"):
        system.tolerances = cs.Tolerances()
