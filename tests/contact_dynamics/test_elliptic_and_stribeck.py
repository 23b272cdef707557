"""Friction with two coefficients, and friction that depends on the slip speed, under rigid laws."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from builders import point_mass
from differenced_runs import largest_error
from scipy.integrate import solve_ivp

import contactsim as cs
from contactsim import Mode
from contactsim.contact.impact import ImpactSolution, newton
from contactsim.contact.laws import RigidLaw
from contactsim.contact.stick_slip_choice import solve

FINE = cs.Tolerances(rtol=1e-11, atol=1e-13)
MASS, RADIUS, G = 2.0, 0.1, 9.81
INERTIA = 0.4 * MASS * RADIUS**2
CONES = np.array([0.5, 0.2])
AXIS = (1.0, 0.3, 0.0)


def elliptic_ball() -> cs.Robot:
    return cs.Robot.sphere(MASS, RADIUS, friction=tuple(CONES), friction_axis=AXIS)


def rotation(quaternion: np.ndarray) -> np.ndarray:
    x, y, z, w = quaternion
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + 2.0 * w * cross + 2.0 * cross @ cross


def sliding_ball(_: float, y: np.ndarray) -> np.ndarray:
    """f = -N diag(mu^2) v / |diag(mu) v| in the axes of the ball, by Newton's and Euler's equations."""
    quaternion, v, w = y[3:7], y[7:10], y[10:13]
    first = (rotation(quaternion) @ AXIS)[:2]
    first /= np.linalg.norm(first)
    axes = np.array([first, [-first[1], first[0]]])
    arm = np.array([0.0, 0.0, -RADIUS])
    slip = axes @ (v + np.cross(w, arm))[:2]
    force = np.append(-MASS * G * axes.T @ (CONES**2 * slip) / np.linalg.norm(CONES * slip), 0.0)
    vector, scalar = quaternion[:3], quaternion[3]
    turned = 0.5 * np.append(scalar * w + np.cross(w, vector), -w @ vector)
    return np.concatenate([v, turned, force / MASS, np.cross(arm, force) / INERTIA])


def test_an_elliptic_cone_slides_on_the_path_of_its_ordinary_differential_equation() -> None:
    robot, velocity, spin = elliptic_ball(), [2.0, 1.0, 0.0], [0.0, 0.0, 3.0]
    q = np.array([0.0, 0.0, RADIUS, 0.0, 0.0, 0.0, 1.0])
    traj = cs.simulate(cs.ContactSystem(robot), cs.State(q, [*velocity, *spin]), (0.0, 0.12), tolerances=FINE)
    path = solve_ivp(sliding_ball, (0.0, 0.12), [*q, *velocity, *spin], "DOP853", rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(traj.q[-1], path.y[:7, -1], atol=1e-10)
    traj.check()


@pytest.mark.parametrize("angle", [0.0, 0.7, np.pi / 2])
def test_a_body_on_a_slope_sticks_up_to_the_edge_of_the_ellipse(angle: float) -> None:
    """A force along the direction (c, s) is held up to N / |(c / mu_1, s / mu_2)|."""
    robot = point_mass()
    point = replace(robot.contacts[0], friction=tuple(CONES))
    direction = np.array([np.cos(angle), np.sin(angle), 0.0])
    most = G / np.linalg.norm(direction[:2] / CONES)
    for share, mode in ((0.999, Mode.STICK), (1.001, Mode.SLIP)):
        pull = share * most * direction
        system = cs.ContactSystem(cs.Robot(robot.model, [point]), controller=lambda t, q, v, pull=pull: pull)
        traj = cs.simulate(system, cs.State(np.zeros(3), np.zeros(3)), (0.0, 0.1))
        assert traj.mode_at(0.05)["point"] is mode
        held = -pull if mode is Mode.STICK else traj.forces(0.05)["point"]
        np.testing.assert_allclose(traj.forces(0.05)["point"][:2], held[:2], atol=1e-9)
        traj.check()


def test_derivatives_with_an_elliptic_cone() -> None:
    state = cs.State([0.0, 0.0, 0.12, 0.0, 0.0, 0.0, 1.0], [2.0, 1.0, 0.0, 0.0, 0.0, 3.0])
    assert largest_error(cs.ContactSystem(elliptic_ball()), state, 0.12, 1, ["contact.friction"]) < 1e-6


def test_what_an_elliptic_cone_is_refused_for() -> None:
    with pytest.raises(cs.InputError, match="give two numbers from zero up, or one for both"):
        cs.ContactPoint("foot", friction=(0.5, -0.1))
    along = cs.Robot.sphere(1.0, 0.1, friction=(0.5, 0.2), friction_axis=(0, 0, 1))
    q = along.nominal.copy()
    q[2] = 0.1
    with pytest.raises(cs.SimulationError, match="friction_axis of contact 'ball' came to point along its normal"):
        cs.simulate(cs.ContactSystem(along), cs.State(q, np.zeros(6)), (0.0, 0.1))
    with pytest.warns(UserWarning, match="no elliptic cones; the larger coefficients of ball hold in all directions"):
        cs.ContactSystem(elliptic_ball(), law="hunt-crossley")


def test_coefficients_that_a_compliant_law_leaves_out_are_told() -> None:
    """Restitution and Stribeck speeds were left out without a word."""
    bouncing = cs.Robot.sphere(1.0, 0.1, restitution=0.5)
    with pytest.warns(UserWarning, match="HuntCrossley has no restitution; the coefficients of ball are left out"):
        cs.ContactSystem(bouncing, law="hunt-crossley")
    falling = cs.Robot.sphere(1.0, 0.1, friction=0.2, static_friction=0.4, stribeck=0.1)
    with pytest.warns(UserWarning, match="LuGre has no Stribeck speeds of contacts; those of ball are left out"):
        cs.ContactSystem(falling, law="lugre")
    gap = cs.Gap(lambda t, q: q[0], lambda t, q: np.ones(1), restitution=0.5, name="tip")
    mechanism = cs.Mechanism(1, lambda q: np.eye(1), lambda t, q, v: np.array([-G]), [gap])
    with pytest.warns(UserWarning, match="no restitution; the coefficients of tip"):
        cs.ContactSystem(mechanism, law="hunt-crossley")


# --- blades: friction in one direction --------------------------------------------------------------------------------
AHEAD, TURNED = 0.1, 0.05  # m from the blade to the centre of mass; kg m^2 about it
BODY = f"""<robot name="sleigh"><link name="body"><inertial><origin xyz="{AHEAD} 0 0"/><mass value="1"/>
<inertia ixx="1" iyy="1" izz="{TURNED}" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>"""


def sleigh(grip: float) -> cs.ContactSystem:
    """Chaplygin's: a blade, and two supports without friction."""
    blade = cs.ContactPoint("body", name="blade", friction=(0.0, grip))
    supports = [
        cs.ContactPoint("body", (0.2, y, 0.0), friction=0.0, name=name) for y, name in ((0.1, "l"), (-0.1, "r"))
    ]
    return cs.ContactSystem(cs.Robot.from_urdf(BODY, contacts=[blade, *supports]))


def ode_of_a_sleigh(grip: float, start: tuple[float, float, float], duration: float) -> np.ndarray:
    """(u, w, s, heading, x, y) of the blade, s its speed across; held where `grip` is infinite.

    The blade carries half the weight. u' = w s + a w^2, m (s' + u w + a w') = F, I w' = -a F.
    """

    def rates(_: float, y: np.ndarray) -> list[float]:
        u, w, s, heading = y[:4]
        force = TURNED * u * w / (TURNED + AHEAD**2) if np.isinf(grip) else -grip * G / 2.0 * np.sign(s)
        turning = -AHEAD * force / TURNED
        forward, across = w * s + AHEAD * w**2, force - u * w - AHEAD * turning
        c, d = np.cos(heading), np.sin(heading)
        return [forward, turning, across, w, u * c - s * d, u * d + s * c]

    start_y = [start[0], start[1], start[2], 0.0, 0.0, 0.0]
    return solve_ivp(rates, (0.0, duration), start_y, "DOP853", rtol=1e-13, atol=1e-14).y[:, -1]


@pytest.mark.parametrize(("grip", "across", "mode"), [(np.inf, 0.0, Mode.STICK), (0.1, 0.5, Mode.SLIP)])
def test_a_blade_glides_along_and_is_held_across(grip: float, across: float, mode: Mode) -> None:
    """Chaplygin's sleigh, which never slips, and one that skids, against their ordinary differential equations."""
    system = sleigh(min(grip, 5.0))
    traj = cs.simulate(
        system, cs.State([0, 0, 0, 0, 0, 0, 1], [1.0, across, 0, 0, 0, 2.0]), (0.0, 0.5), tolerances=FINE
    )
    assert not traj.events
    assert traj.mode_at(0.2)["blade"] is mode
    q, v = traj.final.q, traj.final.v
    found = [v[0], v[5], v[1], 2.0 * np.arctan2(q[5], q[6]), *q[:2]]
    np.testing.assert_allclose(found, ode_of_a_sleigh(grip, (1.0, 2.0, across), 0.5), rtol=0.0, atol=1e-11)
    traj.check()


def test_a_skid_stops_across_and_goes_on_along() -> None:
    """A point that slides under (0, mu) loses its speed across at mu g, and none of the other."""
    robot = point_mass()
    point = replace(robot.contacts[0], friction=(0.0, 0.3))
    system = cs.ContactSystem(cs.Robot(robot.model, [point]))
    traj = cs.simulate(system, cs.State(np.zeros(3), [1.0, 0.6, 0.0]), (0.0, 0.5))
    (stop,) = traj.events
    assert stop.time == pytest.approx(0.6 / (0.3 * G), abs=1e-12)
    np.testing.assert_allclose(traj.final.v, [1.0, 0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(traj.final.q, [0.5, 0.5 * 0.6**2 / (0.3 * G), 0.0], atol=1e-12)


@pytest.mark.parametrize(("friction", "across"), [((0.0, 0.5), 1.0), ((0.0, 0.5), 0.1), ((0.3, 0.0), 1.0)])
def test_derivatives_of_blades(friction: tuple[float, float], across: float) -> None:
    """Through the impact of a ball that skids, of one whose skid ends, and across the other axis."""
    ball = cs.Robot.sphere(MASS, RADIUS, friction=friction, friction_axis=AXIS)
    state = cs.State([0.0, 0.0, 0.12, 0.0, 0.0, 0.0, 1.0], [2.0, across, 0.0, 0.0, 0.0, 3.0])
    assert largest_error(cs.ContactSystem(ball), state, 0.12, 1, ["contact.friction"]) < 1e-6


def test_omnidirectional_wheels_roll_as_their_kinematics_say() -> None:
    """Three wheels whose rims glide along their axles: r w_k = n_k . v + L w_z, in any direction at once."""
    arm, radius = 0.2, 0.05
    angles = 2.0 * np.pi / 3.0 * np.arange(3)
    links = "".join(
        f'''<link name="w{k}"><inertial><mass value="0.2"/><inertia ixx="1e-4" iyy="1e-4" izz="2e-4" ixy="0" ixz="0"
        iyz="0"/></inertial></link><joint name="j{k}" type="continuous"><parent link="base"/><child link="w{k}"/>
        <origin xyz="{arm * np.cos(a)} {arm * np.sin(a)} 0"/><axis xyz="{np.cos(a)} {np.sin(a)} 0"/></joint>'''
        for k, a in enumerate(angles)
    )
    moments = '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
    base = f'<link name="base"><inertial><mass value="3"/>{moments}</inertial></link>'
    axles = [(float(np.cos(a)), float(np.sin(a)), 0.0) for a in angles]
    rims = [
        cs.ContactRim(f"w{k}", name=f"w{k}", axis=axle, rim=radius, friction=(0.0, 0.9), friction_axis=axle)
        for k, axle in enumerate(axles)
    ]
    robot = cs.Robot.from_urdf(f'<robot name="omni">{base}{links}</robot>', contacts=rims)
    q, v = robot.nominal.copy(), np.zeros(robot.nv)
    q[2] = radius
    twist = np.array([0.3, -0.2, 1.5])
    across = np.array([[-np.sin(a), np.cos(a), arm] for a in angles])
    v[:2], v[5], v[6:] = twist[:2], twist[2], -across @ twist / radius
    traj = cs.simulate(cs.ContactSystem(robot), cs.State(q, v), (0.0, 1.0))
    assert set(traj.mode_at(0.5).values()) == {Mode.STICK}
    final = traj.final.v
    np.testing.assert_allclose(final[6:], -across @ final[[0, 1, 5]] / radius, atol=1e-9)
    assert (
        np.abs(final[6:] - v[6:]).max() > 0.1
    )  # a base that turns, and keeps its momentum, turns its wheels in other ways
    traj.check()


# --- friction that falls with the slip speed --------------------------------------------------------------------------
BLOCK, SPRING, BELT = 1.0, 20.0, 0.1
KINETIC, STATIC, FALL = 0.2, 0.4, 0.08


def oscillator() -> cs.ContactSystem:
    """A block on a belt, held by a spring: y is its place relative to the belt."""
    block = cs.Gap(
        gap=lambda t, q: q[1],
        normal=lambda t, q: np.array([0.0, 1.0]),
        tangent=lambda t, q: np.array([[1.0, 0.0]]),
        friction=KINETIC,
        static_friction=STATIC,
        stribeck=FALL,
        name="block",
    )
    return cs.ContactSystem(
        cs.Mechanism(
            n=2,
            mass=lambda q: BLOCK * np.eye(2),
            force=lambda t, q, v: np.array([-SPRING * (q[0] + BELT * t), -BLOCK * G]),
            contacts=[block],
        )
    )


def stick_and_slip(end: float) -> tuple[list[float], float]:
    """Times of the events of the oscillator, phase by phase, and where it ends."""

    def mu(slip: float) -> float:
        return KINETIC + (STATIC - KINETIC) * np.exp(-((slip / FALL) ** 2))

    def stop(_: float, y: np.ndarray) -> float:
        return float(BELT - y[1])

    stop.terminal, stop.direction = True, -1.0  # type: ignore[attr-defined]
    times, t, place, speed = [], 0.0, 0.0, 0.0
    while t < end:
        path = solve_ivp(
            lambda _, y: [y[1], (-SPRING * y[0] + mu(y[1] - BELT) * BLOCK * G) / BLOCK],
            (t, end),
            [place, speed],
            "DOP853",
            events=stop,
            rtol=1e-12,
            atol=1e-14,
        )
        t, place = path.t[-1], path.y[0, -1]
        if t >= end:
            break
        times.append(t)
        away = STATIC * BLOCK * G / SPRING
        t, place, speed = t + (away - place) / BELT, away, BELT
        if t >= end:
            return times, away - BELT * (t - end)
        times.append(t)
    return times, place


def test_a_friction_oscillator_comes_to_its_limit_cycle() -> None:
    end = 8.0
    traj = cs.simulate(oscillator(), cs.State([0.0, 0.0], [-BELT, 0.0]), (0.0, end), tolerances=FINE)
    times, place = stick_and_slip(end)
    np.testing.assert_allclose([event.time for event in traj.events], times, atol=1e-9)
    assert traj.q[-1][0] + BELT * end == pytest.approx(place, abs=1e-9)
    away = [event.time for event in traj.events if event.transitions["block"] == (Mode.STICK, Mode.SLIP)]
    assert away[1] - away[0] == pytest.approx(times[3] - times[1], abs=1e-9)
    traj.check()


def test_an_impact_takes_the_coefficient_of_the_slip_behind_it() -> None:
    robot = cs.Robot.sphere(MASS, RADIUS, friction=0.1, static_friction=0.3, stribeck=0.5)
    state = cs.State([0.0, 0.0, 0.15, 0.0, 0.0, 0.0, 1.0], [2.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    traj = cs.simulate(cs.ContactSystem(robot), state, (0.0, 0.12))
    hit = traj.events[0]
    after = traj(hit.time).v
    slip = after[0] - RADIUS * after[4]
    wanted = 0.1 + 0.2 * np.exp(-((slip / 0.5) ** 2))
    assert slip > 0.1
    assert -hit.impulses["ball"][0] == pytest.approx(wanted * hit.impulses["ball"][2], rel=1e-9)
    traj.check()


def test_derivatives_with_friction_that_falls() -> None:
    robot = cs.Robot.sphere(MASS, RADIUS, friction=0.3, static_friction=0.5, stribeck=0.5)
    state = cs.State([0.0, 0.0, 0.15, 0.0, 0.0, 0.0, 1.0], [3.0, 0.5, 0.0, 3.0, 1.0, 1.0])
    names = ["contact.friction", "contact.static_friction"]
    assert largest_error(cs.ContactSystem(robot), state, 0.15, 1, names) < 1e-6


@pytest.mark.slow
def test_derivatives_through_stick_and_slip_on_a_belt() -> None:
    robot = point_mass()
    point = replace(robot.contacts[0], friction=KINETIC, static_friction=STATIC, stribeck=FALL)
    system = cs.ContactSystem(
        cs.Robot(robot.model, [point]),
        terrain=cs.terrain.Flat(velocity=(BELT, 0.0)),
        controller=lambda t, q, v: np.array([-SPRING * q[0], -5.0 * q[1], 0.0]),
    )
    state = cs.State([0.05, 0.02, 0.01], [0.0, 0.03, 0.0])
    assert largest_error(system, state, 3.2, 1, ["contact.static_friction"]) < 1e-6


class Falling(RigidLaw):
    """A law of a third party: friction falls with the speed of every slip, and every contact resists spinning."""

    speed_dependent = True

    def impact(self, problem, restitution):  # type: ignore[no-untyped-def]
        return ImpactSolution((newton(problem, restitution),))

    def select(self, problem):  # type: ignore[no-untyped-def]
        return solve(problem)

    def moments(self, torsion, rolling):  # type: ignore[no-untyped-def]
        return torsion + 0.01, rolling

    def sliding_friction(self, square, kinetic, static, speed):  # type: ignore[no-untyped-def]
        return static / (1.0 + square), -static / (1.0 + square) ** 2


def test_a_law_of_a_third_party_chooses_its_rows_and_its_curve() -> None:
    robot = cs.Robot.sphere(MASS, RADIUS, friction=0.4)
    system = cs.ContactSystem(robot, law=Falling())
    assert system.mechanism.resistance_names == ("ball/torsion",)
    state = cs.State([0.0, 0.0, 0.1, 0.0, 0.0, 0.0, 1.0], [2.0, 0.0, 0.0, 0.0, 0.0, 5.0])
    traj = cs.simulate(system, state, (0.0, 0.05))
    now, force = traj(0.04), traj.forces(0.04)
    turn = rotation(now.q[3:7])
    slip = np.linalg.norm((turn @ now.v[:3] + np.cross(turn @ now.v[3:], [0.0, 0.0, -RADIUS]))[:2])
    assert np.linalg.norm(force["ball"][:2]) == pytest.approx(0.4 / (1.0 + slip**2) * MASS * G, rel=1e-9)
    assert force["ball/torsion"][2] == pytest.approx(-0.01 * MASS * G, rel=1e-9)
    traj.check()
