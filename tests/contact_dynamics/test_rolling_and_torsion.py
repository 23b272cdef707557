"""Rolling and torsional friction: discs of their own beside the cone, against closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from builders import planar_joint

import contactsim as cs
from contactsim import Mode

MASS, RADIUS, G = 2.0, 0.1, 9.81
INERTIA = 0.4 * MASS * RADIUS**2
FINE = cs.Tolerances(rtol=1e-11, atol=1e-13)


def ball(**coefficients: float) -> cs.Robot:
    return cs.Robot.sphere(MASS, RADIUS, **({"friction": 0.5} | coefficients))


def on_ground(robot: cs.Robot, velocity: object = (0, 0, 0), spin: object = (0, 0, 0)) -> cs.State:
    q = robot.nominal.copy()
    q[2] = RADIUS
    return cs.State(q, np.concatenate([velocity, spin]))


def rolling_at(velocity: np.ndarray) -> np.ndarray:
    return np.cross([0.0, 0.0, 1.0], velocity) / RADIUS


def test_a_spinning_ball_stops_at_the_closed_form_time() -> None:
    """I w' = -torsion m g."""
    torsion, spin = 0.01, 10.0
    robot = ball(torsion=torsion)
    traj = cs.simulate(cs.ContactSystem(robot), on_ground(robot, spin=(0, 0, spin)), (0.0, 1.0))
    (stop,) = traj.events
    assert stop.transitions == {"ball/torsion": (Mode.SLIP, Mode.STICK)}
    assert stop.time == pytest.approx(INERTIA * spin / (torsion * MASS * G), abs=1e-12)
    assert traj.mode_at(0.1) == {"ball": Mode.STICK, "ball/torsion": Mode.SLIP}
    np.testing.assert_allclose(traj.forces(0.1)["ball/torsion"], [0.0, 0.0, -torsion * MASS * G], atol=1e-12)
    np.testing.assert_allclose(traj.forces(0.9)["ball/torsion"], 0.0, atol=1e-12)
    assert np.abs(traj.v[-1]).max() < 1e-12
    traj.check()


def test_a_ball_rolls_to_rest_at_the_closed_form_rate() -> None:
    """m v' = -f, I w' = f r - rolling N, w = v / r:  v' = -(rolling g / r) / (1 + I / (m r^2))."""
    rolling, start = 0.002, np.array([1.0, 0.5, 0.0])
    robot = ball(rolling=rolling)
    state = on_ground(robot, start, rolling_at(start))
    traj = cs.simulate(cs.ContactSystem(robot), state, (0.0, 9.0), tolerances=FINE)
    rate, speed = rolling * G / RADIUS / 1.4, float(np.linalg.norm(start))
    (stop,) = traj.events
    assert stop.transitions == {"ball/rolling": (Mode.SLIP, Mode.STICK)}
    assert stop.time == pytest.approx(speed / rate, abs=1e-9)
    np.testing.assert_allclose(traj.q[-1][:2], start[:2] * speed / (2.0 * rate), atol=1e-9)
    assert traj.mode_at(1.0)["ball"] is Mode.STICK
    traj.check()


@pytest.mark.parametrize(("angle", "holds"), [(0.19, True), (0.21, False)])
def test_a_ball_stays_on_a_slope_below_the_threshold(angle: float, holds: bool) -> None:
    """It rolls where tan(angle) > rolling / r = 0.2."""
    robot = ball(rolling=0.02)
    system = cs.ContactSystem(robot, terrain=cs.terrain.Slope(angle=angle))
    q = robot.nominal.copy()
    q[:3] = RADIUS * np.array([np.sin(angle), 0.0, np.cos(angle)])
    traj = cs.simulate(system, cs.State(q, np.zeros(6)), (0.0, 2.0))
    moved = 0.0 if holds else 0.5 * G * (np.sin(angle) - 0.2 * np.cos(angle)) / 1.4 * 2.0**2
    np.testing.assert_allclose(traj.q[-1][:3] - q[:3], moved * np.array([np.cos(angle), 0, -np.sin(angle)]), atol=1e-9)
    assert traj.mode_at(1.0) == {"ball": Mode.STICK, "ball/rolling": Mode.STICK if holds else Mode.SLIP}
    traj.check()


def test_the_moment_grows_with_a_push_until_the_ball_breaks_away() -> None:
    """A torque c t is held up to rolling m g; what holds it is friction of rolling alone."""
    rolling, slope = 0.01, 0.3
    robot = ball(rolling=rolling)
    system = cs.ContactSystem(robot, controller=lambda t, q, v: np.array([0, 0, 0, slope * t, 0, 0]))
    traj = cs.simulate(system, on_ground(robot), (0.0, 0.8))
    (away,) = traj.events
    assert away.transitions == {"ball/rolling": (Mode.STICK, Mode.SLIP)}
    assert away.time == pytest.approx(rolling * MASS * G / slope, abs=1e-9)
    np.testing.assert_allclose(traj.forces(0.3)["ball/rolling"], [-slope * 0.3, 0.0, 0.0], atol=1e-10)
    traj.check()


def test_an_impact_takes_spin_within_the_disc() -> None:
    """Of an impulse P along the normal, a spin above torsion P / I loses that much at once."""
    robot = ball(torsion=0.01)
    q = robot.nominal.copy()
    q[2] = RADIUS + 0.1
    traj = cs.simulate(cs.ContactSystem(robot), cs.State(q, [0, 0, 0, 0, 0, 20.0]), (0.0, 0.2))
    fall = np.sqrt(2.0 * G * 0.1)
    hit = traj.events[0]
    assert hit.impulses["ball"][2] == pytest.approx(MASS * fall, rel=1e-9)
    assert hit.impulses["ball/torsion"][2] == pytest.approx(-0.01 * MASS * fall, rel=1e-9)
    assert traj(hit.time).v[5] == pytest.approx(20.0 - 0.01 * MASS * fall / INERTIA, rel=1e-9)
    traj.check()


def test_in_a_plane_a_wheel_rolls_and_does_not_spin() -> None:
    rolling = 0.01
    robot = cs.Robot.sphere(MASS, RADIUS, root=planar_joint(), friction=0.5, rolling=rolling, torsion=0.3)
    system = cs.ContactSystem(robot)
    assert system.mechanism.all_names == ("ball", "ball/rolling")
    v = 0.4
    forward = system.mechanism.terms(0.0, robot.nominal, np.zeros(3), (0, 1)).rows
    q = robot.nominal.copy()
    gap = system.gaps(cs.State(q, np.zeros(3)))["ball"]
    q[1] -= gap
    turn = -forward[1, 0] * v / forward[1, 2]
    traj = cs.simulate(system, cs.State(q, [v, 0.0, turn]), (0.0, 1.0), tolerances=FINE)
    (stop,) = traj.events
    assert stop.time == pytest.approx(v / (rolling * G / RADIUS / 1.4), abs=1e-9)
    traj.check()


def test_rolling_between_bodies_keeps_the_moment_of_momentum() -> None:
    big = cs.Robot.sphere(5.0, 0.5, "big", friction=0.6, torsion=0.02)
    small = cs.Robot.sphere(0.5, 0.1, "small", friction=0.6, rolling=0.01, torsion=0.01)
    world = cs.Robot.merge([big, small], names=["big", "small"])
    system = cs.ContactSystem(world, gravity=(0, 0, 0))
    names = system.mechanism.resistance_names
    assert "big/big+small/small/torsion" in names
    q, v = world.pack(
        {
            "big": ([0, 0, 5.0, 0, 0, 0, 1], np.zeros(6)),
            "small": ([0.02, 0.03, 5.65, 0, 0, 0, 1], [0, 0, -1.0, 1, 2, 30.0]),
        }
    )
    traj = cs.simulate(system, cs.State(q, v), (0.0, 0.1))
    assert any("big/big+small/small/torsion" in event.impulses for event in traj.events)
    traj.check()

    def spin(state: cs.State) -> np.ndarray:
        at, v = np.array([state.q[:3], state.q[7:10]]), np.array([state.v[:6], state.v[6:]])
        turns = [cs_rotation(state.q[3:7]), cs_rotation(state.q[10:14])]
        total = np.zeros(3)
        for mass, inertia, place, speed, turn in zip(
            (5.0, 0.5), (0.4 * 5 * 0.25, 0.4 * 0.5 * 0.01), at, v, turns, strict=True
        ):
            total += np.cross(place, mass * turn @ speed[:3]) + inertia * turn @ speed[3:]
        return total

    np.testing.assert_allclose(spin(traj(0.1)), spin(traj(0.0)), atol=1e-10)


def cs_rotation(quaternion: np.ndarray) -> np.ndarray:
    x, y, z, w = quaternion
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + 2.0 * w * cross + 2.0 * cross @ cross


def test_a_box_on_four_corners_sticks_in_spin_and_slip_at_once() -> None:
    robot = cs.Robot.box(1.0, (0.2, 0.3, 0.1), friction=0.3, torsion=0.01)
    q = robot.nominal.copy()
    q[2] = 0.05
    traj = cs.simulate(cs.ContactSystem(robot), cs.State(q, [0.5, 0.2, 0, 0, 0, 3.0]), (0.0, 0.5))
    assert set(traj.mode_at(0.5).values()) == {Mode.STICK, Mode.OPEN}
    traj.check()


def test_coefficients_are_parameters_and_zero_is_refused() -> None:
    robot = ball(rolling=0.02, torsion=0.01)
    system = cs.ContactSystem(robot)
    assert system.parameter("contact.ball.rolling") == 0.02
    assert system.parameters()["contact.ball.torsion"] == 0.01
    other = system.with_parameter("contact.torsion", 0.03)
    assert other.parameter("contact.torsion") == 0.03
    assert other.parameter("contact.friction") == 0.5
    with pytest.raises(cs.InputError, match="only where a contact is made without"):
        system.with_parameter("contact.rolling", 0.0)
    with pytest.raises(cs.InputError, match="no contact has rolling friction here"):
        cs.ContactSystem(ball()).parameter("contact.rolling")


def test_a_compliant_law_leaves_them_out_and_says_so() -> None:
    robot = ball(rolling=0.02)
    with pytest.warns(UserWarning, match="no rolling and torsional friction; those of ball are left out"):
        system = cs.ContactSystem(robot, law="hunt-crossley")
    assert system.mechanism.resistance_names == ()
    assert system.with_law("coulomb").mechanism.resistance_names == ("ball/rolling",)


def test_a_run_starts_in_a_mode_that_names_them() -> None:
    robot = ball(torsion=0.01)
    system = cs.ContactSystem(robot)
    state = on_ground(robot, spin=(0, 0, 3.0))
    traj = cs.simulate(system, state, (0.0, 0.1), mode={"ball": Mode.STICK})
    assert traj.mode_at(0.05) == {"ball": Mode.STICK, "ball/torsion": Mode.SLIP}
    at_rest = system.project(state, {"ball": Mode.STICK, "ball/torsion": Mode.STICK})
    assert abs(at_rest.v[5]) < 1e-12
    with pytest.raises(cs.InputError, match="both are open, or neither"):
        system.project(state, {"ball": Mode.STICK, "ball/torsion": Mode.OPEN})
