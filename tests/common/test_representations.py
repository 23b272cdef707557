"""What a prompt prints of runs, events and derivatives: a line that says what they are, and no arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from builders import point_mass

import contactsim as cs
from contactsim.common.representation import brief

LONGEST = 600  # characters


@pytest.fixture(scope="module")
def run() -> cs.Trajectory:
    system = cs.ContactSystem(point_mass(), gravity=(0.0, 0.0, -10.0))
    return cs.simulate(system, cs.State([0, 0, 0.05], [0, 0, 0.0]), (0.0, 0.2))


def test_a_run_is_a_line(run: cs.Trajectory) -> None:
    assert repr(run) == f"Trajectory(ContactSystem, 0 to 0.2 s, 1 event, FINISHED, {run.evaluations} evaluations)"
    assert repr(run.events[0]) == "Event(0.1 s, point: open -> stick)"
    assert repr(run.arcs[0]).startswith("Arc(0 to 0.1 s, ") and repr(run.arcs[0]).endswith(" steps, point: open)")


def test_so_are_its_parts() -> None:
    robot = cs.Robot.sphere(1.0, 0.1)
    assert repr(robot) == "Robot('ball', nq 7, nv 6, 1 contact, 1 kg)"
    system = cs.ContactSystem(robot, law="hunt-crossley", controller=lambda t, q, v: 0.0 * v)
    text = repr(system)
    law = "HuntCrossley(stiffness=1e+06, exponent=1.5, damping=0.5, slip_speed=0.001)"
    assert text.startswith(f"ContactSystem({robot!r}, Flat(height=0), {law}, controller=test_so_are")
    assert len(text) < 250 and "0x" not in text
    gap = cs.Gap(lambda t, q: q[0], lambda t, q: np.ones(1), name="ball")
    ball = cs.Mechanism(1, lambda q: np.eye(1), lambda t, q, v: np.array([-9.81]), [gap])
    assert repr(ball) == "Mechanism(1 coordinate, 1 contact)"
    assert repr(cs.load_model("slip", body_mass=60.0)).startswith("Slip(body_mass=60, ")


def test_a_robot_is_printed_with_the_order_of_its_joints() -> None:
    robot = cs.load_robot("hexapod")
    first, head, *joints = str(robot).splitlines()
    assert first == repr(robot) and head.split() == ["joint", "q", "v,", "tau"]
    assert tuple(line.split()[0] for line in joints) == robot.joint_names
    assert robot.joint_names[:2] == ("root_joint", "lf_hip_yaw") and len(robot.joint_names) == 19
    assert joints[0].split()[1:] == ["0:7", "0:6"] and joints[-1].split()[1:] == ["24", "23"]
    for name, line in zip(robot.joint_names, joints, strict=True):
        assert int(line.split()[2].partition(":")[0]) == robot.joint_index(name)


def test_what_runs_and_what_estimates_says_where_it_is() -> None:
    system, state = cs.ContactSystem(point_mass(), gravity=(0.0, 0.0, -10.0)), cs.State([0, 0, 0.05], [0, 0, 0.0])
    simulation = cs.Simulation(system, state)
    simulation.advance(0.2)
    assert repr(simulation) == "Simulation(ContactSystem, 0 to 0.2 s, 1 event, FINISHED)"
    filt = cs.SaltedKalman(system, state, 1e-4 * np.eye(6))
    filt.predict(0.05)
    assert repr(filt) == "SaltedKalman(ContactSystem, t = 0.05 s, {'point': Mode.OPEN})"
    cost = cs.QuadraticCost(np.eye(2), np.eye(1), np.eye(2), goal=cs.State([1.0], [0.0]))
    assert repr(cost) == "QuadraticCost(weights of 2 numbers of the state and 1 input)"


def test_so_is_its_derivative(run: cs.Trajectory) -> None:
    lin = cs.linearize(run)
    assert repr(lin) == "Linearization(ContactSystem, 0 to 0.2 s, 6 directions, 1 event)"
    assert repr(lin.events[0]) == "EventLinearization(0.1 s, point)"


def test_a_long_run_of_many_contacts_too() -> None:
    robot = cs.load_robot("hexapod")
    system = cs.ContactSystem(robot)
    q = np.array(robot.nominal)
    q[2] += 0.05
    run = cs.simulate(system, cs.State(q, np.zeros(robot.nv)), (0.0, 0.15))
    lin = cs.linearize(run)
    early = cs.linearize(cs.simulate(system, cs.State(q, np.zeros(robot.nv)), (0.0, 0.01)))
    n = lin.dim
    things: list[Any] = [run, *run.all_events, *run.arcs, lin, *lin.events, *lin.stretches()]
    things += [run.events[0].transition, lin.events[0].data, early.covariance(np.eye(n))]
    things += [early.riccati(np.eye(n), np.eye(18), np.eye(n)), early.spread("lf_foot", np.eye(n))]
    for thing in things:
        text = repr(thing)
        assert len(text) <= LONGEST and "\n" not in text and type(thing).__name__ in text


def test_values_in_few_words() -> None:
    assert brief(np.zeros((3, 4))) == "array (3, 4)" and brief(np.array([1.0, 0.5])) == "[1. , 0.5]"
    assert brief(dict.fromkeys(range(9))) == "dict of 9" and brief({"a": np.float64(2.0)}) == "{'a': 2.0}"
    assert brief(brief) == "brief" and len(brief("long " * 99)) <= 82
