"""References in polynomials: the function that they follow, waypoints, what is outside, and what is refused."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from scipy.interpolate import CubicSpline

import contactsim as cs
from contactsim.multibody.catalogue import robot_entries

ARM = """<robot name="arm">
 <link name="base"/>
 <link name="upper"><inertial><mass value="1"/><origin xyz="0 0 -0.2"/>
  <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
 <link name="lower"><inertial><mass value="0.5"/><origin xyz="0 0 -0.2"/>
  <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
 <joint name="shoulder" type="{kind}"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
  <limit lower="-9" upper="9" effort="100" velocity="100"/></joint>
 <joint name="elbow" type="revolute"><parent link="upper"/><child link="lower"/><origin xyz="0 0 -0.4"/>
  <axis xyz="0 1 0"/><limit lower="-9" upper="9" effort="100" velocity="100"/></joint>
</robot>"""
Parts = tuple[np.ndarray, np.ndarray, np.ndarray]


def arm(kind: str = "revolute") -> cs.Robot:
    return cs.Robot(pin.buildModelFromXML(ARM.format(kind=kind)), ())


def wave(t: float) -> Parts:
    """Two joints, one of which breaks in its acceleration at 0.5 s."""
    late = max(t - 0.5, 0.0)
    q, v = np.array([np.sin(3.0 * t), late**3]), np.array([3.0 * np.cos(3.0 * t), 3.0 * late**2])
    return q, v, np.array([np.exp(-t), 0.0])


def worst(one: cs.PiecewiseReference, other: object, times: np.ndarray) -> float:
    return max(float(np.abs(a - b).max()) for t in times for a, b in zip(one(t), other(t), strict=True))


def test_it_is_the_function_between_breaks() -> None:
    fitted = cs.PiecewiseReference.fit(wave, [0.0, 0.5, 2.0])
    assert worst(fitted, wave, np.linspace(0.0, 2.0, 777)) < 2e-11
    assert worst(cs.PiecewiseReference.fit(wave, [0.0, 0.5, 2.0], accuracy=1e-6), wave, np.linspace(0, 2, 77)) < 1e-5


def test_a_controller_tells_of_the_same_pieces_each_time() -> None:
    """Compiled engines keep what they have made of them by this one object."""
    fitted = cs.PiecewiseReference.fit(wave, [0.0, 0.5, 2.0])
    gains = [cs.PD(arm(), fitted).plain() for _ in range(2)]
    assert gains[0] is not None and gains[1] is not None and gains[0].pieces is not None
    assert gains[0].pieces is gains[1].pieces
    assert gains[0].pieces.coefficients is fitted.coefficients


def test_before_its_start_and_behind_its_end_it_holds_the_posture() -> None:
    fitted = cs.PiecewiseReference.fit(wave, [0.0, 0.5, 2.0])
    for outside, end in ((-1.0, 0.0), (7.0, 2.0)):
        q, v, tau = fitted(outside)
        assert np.abs(q - wave(end)[0]).max() < 1e-11 and np.abs(tau - wave(end)[2]).max() < 1e-11
        assert not v.any()


def test_it_repeats_from_one_of_its_breaks() -> None:
    period = 2.0 * np.pi / 3.0

    def started(t: float) -> Parts:
        return (*(part[:1] if t >= 1.0 else np.zeros(1) for part in wave(t)[:2]), np.ones(1))

    fitted = cs.PiecewiseReference.fit(started, [0.0, 1.0, 1.0 + period], repeat=1.0)
    times = np.linspace(0.0, 20.0, 777)
    assert worst(fitted, started, times[np.abs(times - 1.0) > 1e-9]) < 2e-11


@pytest.mark.parametrize("kind", ["revolute", "continuous"])
def test_waypoints_are_joined_by_the_cubic_spline_of_the_joints(kind: str) -> None:
    robot, times = arm(kind), [0.0, 0.4, 1.0, 1.5]
    angles = np.array([[0.0, 0.0], [2.0, 0.5], [4.0, -0.2], [5.5, 0.0]])
    first = angles[:, :1] if kind == "revolute" else np.column_stack([np.cos(angles[:, 0]), np.sin(angles[:, 0])])
    fitted, spline = cs.PiecewiseReference.through(robot, times, np.hstack([first, angles[:, 1:]])), None
    spline = CubicSpline(times, angles, bc_type="clamped")
    for t in np.linspace(0.0, 1.5, 101):
        q, v, tau = fitted(t)
        there = spline(t)
        expected = there[:1] if kind == "revolute" else [np.cos(there[0]), np.sin(there[0])]
        assert np.abs(q - np.r_[expected, there[1:]]).max() < 1e-10
        assert np.abs(v - spline(t, 1)).max() < 1e-10
        assert not tau.any()


def test_waypoints_that_repeat_go_round_smoothly() -> None:
    robot = arm("continuous")
    angles = np.array([0.0, 2.0, 4.0, 2.0 * np.pi])
    q = np.column_stack([np.cos(angles), np.sin(angles), np.sin(angles)])
    fitted = cs.PiecewiseReference.through(robot, [0.0, 0.3, 0.7, 1.0], q, repeat=True)
    assert worst(fitted, lambda t: fitted(t + 5.0), np.linspace(0.001, 0.999, 50)) < 1e-11
    h = 1e-6
    for t in (1.0, 3.0):
        before, after = fitted(t - h)[1], fitted(t + h)[1]
        assert np.abs(before - after).max() < 1e-3
        assert abs(before[0]) > 1.0, "it does not stop there"


def test_a_run_that_follows_it_is_the_run_that_follows_the_function() -> None:
    robot = arm()
    finals = []
    for reference in (wave, cs.PiecewiseReference.fit(wave, [0.0, 0.5, 2.0])):
        system = cs.ContactSystem(robot, controller=cs.PD(robot, reference, kp=40.0, kd=2.0))
        finals.append(cs.simulate(system, cs.State(np.zeros(2), np.zeros(2)), (0.0, 2.0), tolerances=TIGHT).final)
    assert np.abs(finals[0].q - finals[1].q).max() < 1e-9
    assert np.abs(finals[0].v - finals[1].v).max() < 1e-8


TIGHT = cs.Tolerances(rtol=1e-10, atol=1e-12)


def test_the_walk_of_the_hexapod_is_its_closed_form() -> None:
    scene = cs.load_scene("hexapod")
    make = robot_entries()["hexapod"].demo
    assert make is not None
    demo = make(scene.system.robot.model)
    assert demo.reference is not None and demo.breaks is not None
    fitted = cs.PiecewiseReference.fit(demo.reference, *demo.breaks)
    assert worst(fitted, demo.reference, np.random.default_rng(1).uniform(0.0, 7.0, 1500)) < 1e-11


def test_what_cannot_be_followed_is_refused() -> None:
    fit = cs.PiecewiseReference.fit
    with pytest.raises(cs.InputError, match=r"times of a reference .*; give two or more finite times that grow"):
        fit(wave, [0.0, 2.0, 1.0])
    with pytest.raises(cs.InputError, match=r"repeat = 0.7 s is none of the breaks before the last"):
        fit(wave, [0.0, 0.5, 2.0], repeat=0.7)
    with pytest.raises(cs.InputError, match=r"not smooth between 0 and 2 s, near 0\.[45].* name the time in breaks"):
        fit(lambda t: (np.array([abs(t - 0.4999)]), np.zeros(1), np.zeros(1)), [0.0, 2.0])
    with pytest.raises(cs.InputError, match=r"waypoints q of .* of shape \(2, 3\) .*; give an array \(2, 2\)"):
        cs.PiecewiseReference.through(arm(), [0.0, 1.0], np.zeros((2, 3)))
    with pytest.raises(cs.InputError, match=r"the last of the waypoints q is not the first"):
        cs.PiecewiseReference.through(arm(), [0.0, 1.0], [[0.0, 0.0], [1.0, 0.0]], repeat=True)
    robot = cs.load_robot("hexapod")
    raised = robot.nominal + 0.1 * (np.arange(robot.nq) == 2)
    with pytest.raises(cs.InputError, match=r"waypoints q move the joint 'root_joint', which has 6 degrees of freedom"):
        cs.PiecewiseReference.through(robot, [0.0, 1.0], [robot.nominal, raised])
