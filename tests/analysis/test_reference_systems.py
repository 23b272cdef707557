"""Published periodic orbits and flows: the systems of `reference_systems` repeat the numbers they are known by."""

from __future__ import annotations

import numpy as np
import pytest
from builders import TIGHT
from reference_systems import (
    ORBITS,
    Case,
    compass_foot,
    compass_gait,
    compass_robot,
    compass_to_robot,
    later,
    robot_to_compass,
    robot_to_slope,
    siconos_ball,
    slope_ball,
    slope_robot,
    slope_to_robot,
    stick_slip,
    vibrating_table,
)
from scipy.optimize import brentq

import contactsim as cs

# The published digits stop at 1e-14 to 1e-13; a run with TIGHT tolerances adds about 1e-13 a period.
RETURN_TIME = 1e-12  # s (sqrt(l / g) for the simplest walker), the event that ends the first period
RETURN_STATE = 1e-12  # in the units of the state, after that event
SHIFTED = 2e-12  # two states one period apart: an error of the first event is multiplied by up to 4.2
ROBOT = 1e-12  # s, m, rad, rad/s: period, step and state of the first step of the robot
ROBOT_LATER = 1e-11  # the same over eight steps, each of which starts from the one before
BOTH_WAYS = 1e-12  # robot against hybrid system
EXACT = 1e-15  # a map between two sets of coordinates and back
IMPACT_TIME = 1e-13  # s, impacts that have a closed form
PUBLISHED = 1e-12  # places and speeds along an orbit, quoted with 13 digits and more


def run(case: Case, share: float = 1.0) -> cs.Trajectory:
    return cs.simulate(case.system, case.x, (case.t0, case.t0 + share * case.time), tolerances=cs.Tolerances(**TIGHT))


def closing_event(case: Case, traj: cs.Trajectory) -> cs.Event:
    return min(traj.events, key=lambda event: abs(event.time - case.t0 - case.time))


@pytest.mark.parametrize("name", ORBITS)
def test_orbit_returns_after_its_period(name: str) -> None:
    case = ORBITS[name]()
    event = closing_event(case, run(case, 1.1))
    kept = list(case.repeats)
    assert event.time - case.t0 == pytest.approx(case.time, abs=RETURN_TIME)
    np.testing.assert_allclose(event.x_post[kept], case.x[kept], rtol=0, atol=RETURN_STATE)


@pytest.mark.parametrize("name", ORBITS)
@pytest.mark.parametrize("share", [0.05, 0.45, 0.9])
def test_orbit_repeats_between_its_events(name: str, share: float) -> None:
    case = later(ORBITS[name](), share)
    kept = list(case.repeats)
    traj = run(case)
    assert traj.status is cs.Status.FINISHED
    np.testing.assert_allclose(traj.final_x[kept], case.x[kept], rtol=0, atol=SHIFTED)


@pytest.mark.parametrize("name", ORBITS)
def test_jacobians_of_the_flows_are_those_of_the_fields(name: str) -> None:
    case = ORBITS[name]()
    for arc in run(case).arcs:
        t = 0.5 * (arc.t0 + arc.t1)
        x, flow, h = arc(t), case.system.flow(arc.mode), 1e-6
        jacobian = flow.jacobian(t, x)
        if jacobian is not None:
            steps = h * np.eye(len(x))
            differences = [(flow.field(t, x + step) - flow.field(t, x - step)) / (2 * h) for step in steps]
            np.testing.assert_allclose(jacobian, np.transpose(differences), rtol=0, atol=1e-8)


# --- compass gait ---------------------------------------------------------------------------------------------------
def test_compass_gait_steps_as_far_as_published() -> None:
    case = compass_gait()
    before = closing_event(case, run(case, 1.1)).x_pre
    assert 2.0 * np.sin(abs(before[1] - before[0]) / 2) == pytest.approx(case.values["step"], abs=PUBLISHED)


@pytest.mark.parametrize("stance", ["left", "right"])
def test_compass_coordinates_and_back(stance: str) -> None:
    x = compass_gait().x
    state = compass_to_robot(x, stance, foot=0.3)
    np.testing.assert_allclose(robot_to_compass(state, stance), x, rtol=0, atol=EXACT)
    assert compass_foot(state, stance) == pytest.approx(0.3, abs=EXACT)


def test_compass_robot_walks_as_published() -> None:
    """Period, step length and state after heel strike, over eight steps."""
    case = compass_gait()
    traj = cs.simulate(compass_robot(), compass_to_robot(case.x), (0.0, 6.0), tolerances=cs.Tolerances(**TIGHT))
    assert len(traj.events) == 8
    time, place = 0.0, 0.0
    for k, strike in enumerate(traj.events):
        stance, swing = ("right", "left") if k % 2 == 0 else ("left", "right")
        assert strike.transitions == {swing: (cs.Mode.STICK, cs.Mode.OPEN), stance: (cs.Mode.OPEN, cs.Mode.STICK)}
        foot = compass_foot(strike.state_post, stance)
        error = ROBOT if k == 0 else ROBOT_LATER
        assert strike.time - time == pytest.approx(case.time, abs=error)
        assert foot - place == pytest.approx(case.values["step"], abs=error)
        np.testing.assert_allclose(robot_to_compass(strike.state_post, stance), case.x, rtol=0, atol=error)
        time, place = strike.time, foot
    traj.check()


def test_compass_robot_off_its_orbit_is_the_hybrid_system() -> None:
    """From a disturbed state through one heel strike: the robot's impact is the law of angular momentum."""
    case = later(compass_gait(), 0.1)
    x = case.x + np.array([0.02, -0.01, 0.03, 0.05])
    tolerances = cs.Tolerances(**TIGHT)
    plain = cs.simulate(case.system, x, (0.0, case.time), tolerances=tolerances)
    robot = cs.simulate(compass_robot(), compass_to_robot(x), (0.0, case.time), tolerances=tolerances)
    assert len(plain.events) == len(robot.events) == 1
    assert robot.events[0].time == pytest.approx(plain.events[0].time, abs=BOTH_WAYS)
    np.testing.assert_allclose(robot_to_compass(robot.final, "right"), plain.final_x, rtol=0, atol=BOTH_WAYS)


# --- bouncing balls -------------------------------------------------------------------------------------------------
def test_siconos_ball_bounces_three_times() -> None:
    case = siconos_ball()
    times = [event.time for event in run(case).events]
    np.testing.assert_allclose(times, case.values["impacts"], rtol=0, atol=IMPACT_TIME)


def test_vibrating_table_meets_the_ball_at_its_speed() -> None:
    case = vibrating_table()
    event = closing_event(case, run(case, 1.1))
    assert event.x_pre[1] == pytest.approx(case.values["v_pre"], abs=RETURN_STATE)


@pytest.mark.parametrize("sticks", [False, True], ids=["slides", "sticks"])
def test_ball_on_a_slope(sticks: bool) -> None:
    case = slope_ball(sticks)
    plain = run(case)
    robot = cs.simulate(
        slope_robot(sticks), slope_to_robot(case.x), (0.0, case.time), tolerances=cs.Tolerances(**TIGHT)
    )
    for traj in (plain, robot):
        assert len(traj.events) == 1
        assert traj.events[0].time == pytest.approx(case.values["impact"], abs=IMPACT_TIME)
    assert robot.events[0].transitions["point"][1] is (cs.Mode.STICK if sticks else cs.Mode.SLIP)
    np.testing.assert_allclose(robot_to_slope(robot.final), plain.final_x, rtol=0, atol=BOTH_WAYS)
    assert plain.final_x[:2].sum() == pytest.approx(1.0, abs=BOTH_WAYS)


# --- stick-slip -----------------------------------------------------------------------------------------------------
def test_stick_slip_parts_and_turning_point() -> None:
    case = stick_slip()
    stick, slip = run(case, 1.1).events
    assert stick.time == pytest.approx(case.values["slip"], abs=RETURN_TIME)
    assert slip.time - stick.time == pytest.approx(case.values["stick"], abs=RETURN_TIME)
    assert stick.x_pre[0] == pytest.approx(case.values["x_stick"], abs=PUBLISHED)
    traj = run(case)
    turn = brentq(lambda t: traj(t)[1], 0.1, 2.5, xtol=1e-13)
    assert traj(turn)[0] == pytest.approx(case.values["x_max"], abs=PUBLISHED)
