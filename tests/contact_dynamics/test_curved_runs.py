"""Runs of capsules, cylinders and ellipsoids on the ground: closed forms, independent integration, derivatives."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq
from scipy.spatial.transform import Rotation
from tolerances import PRECESSION, ROCKING, ROLLED, THROUGH_SHAPES

import contactsim as cs

G = 9.81
UP = np.array([0.0, 0.0, 1.0])
FINE = cs.Tolerances(rtol=1e-10, atol=1e-12)


def state(turn, place, velocity=(0.0, 0.0, 0.0), spin=(0.0, 0.0, 0.0)):
    """A free body whose velocity and spin are given in world axes."""
    R = np.asarray(turn)
    q = np.concatenate([place, Rotation.from_matrix(R).as_quat()])
    return cs.State(q, np.concatenate([R.T @ np.asarray(velocity, float), R.T @ np.asarray(spin, float)]))


ON_SIDE = Rotation.from_rotvec([0.5 * np.pi, 0.0, 0.0]).as_matrix()  # its axis along y


def test_a_cylinder_rolls_on():
    """At a constant speed, without an event."""
    system = cs.ContactSystem(cs.Robot.cylinder(2.0, 0.1, 0.3, friction=0.5))
    traj = cs.simulate(system, state(ON_SIDE, (0, 0, 0.1), (1.0, 0, 0), (0, 10.0, 0)), (0.0, 0.5))
    assert not traj.events
    assert traj.final_x[:3] == pytest.approx([0.5, 0.0, 0.1], abs=ROLLED)
    traj.check()


@pytest.mark.parametrize("shape", ["cylinder", "capsule"])
def test_rolls_down_a_slope(shape):
    """s = g sin(a) t^2 / 2 / (1 + I / m r^2)."""
    angle, time = 0.3, 0.5
    body = getattr(cs.Robot, shape)(1.5, 0.1, 0.3, friction=0.6)
    n = np.array([np.sin(angle), 0.0, np.cos(angle)])
    turn = Rotation.from_rotvec([0, angle, 0]).as_matrix() @ ON_SIDE
    system = cs.ContactSystem(body, terrain=cs.terrain.Slope(angle))
    traj = cs.simulate(system, state(turn, 0.1 * n), (0.0, time))
    inertia = body.model.inertias[1].inertia[2, 2] / (1.5 * 0.1**2)
    way = 0.5 * G * np.sin(angle) * time**2 / (1.0 + inertia)
    assert traj.final_x[:3] == pytest.approx(0.1 * n + way * np.array([n[2], 0.0, -n[0]]), abs=ROLLED)
    traj.check()


def test_eulers_disk():
    """Steady precession with its centre at rest: the rate follows from the balance of moments; energy stays."""
    mass, radius, length, tilt = 0.5, 0.1, 0.02, 0.5
    disk = cs.Robot.cylinder(mass, radius, length, friction=5.0)
    across, along = np.diag(disk.model.inertias[1].inertia)[[0, 2]]
    axis = np.array([np.sin(tilt), 0.0, np.cos(tilt)])
    low = np.array([np.cos(tilt), 0.0, -np.sin(tilt)])
    arm = radius * low - 0.5 * length * axis  # from the centre to the lowest point of the rim

    def spin(rate):  # rate z + nu axis, along the arm: centre and point of contact are at rest
        side = np.cross(axis, arm)
        return rate * UP - float(rate * np.cross(UP, arm) @ side / (side @ side)) * axis

    def imbalance(rate):
        w = spin(rate)
        momentum = across * w + (along - across) * axis * (axis @ w)
        return (np.cross(arm, mass * G * UP) - rate * np.cross(UP, momentum))[1]

    rate = brentq(imbalance, 1.0, 500.0, xtol=1e-14)
    R = np.column_stack([low, np.cross(axis, low), axis])
    system = cs.ContactSystem(disk)
    traj = cs.simulate(system, state(R, (0, 0, -arm[2]), spin=spin(rate)), (0.0, 0.25))
    assert not traj.events
    q = traj.final_x[:7]
    there = Rotation.from_quat(q[3:]).as_matrix()[:, 2]
    assert q[:3] == pytest.approx([0.0, 0.0, -arm[2]], abs=PRECESSION)
    turned = Rotation.from_rotvec([0.0, 0.0, 0.25 * rate]).apply(axis)
    assert there == pytest.approx(turned, abs=PRECESSION)
    energies = [system.energy(x) for x in (traj.arcs[0].segments[0].base, traj.final_x)]
    assert energies[1] == pytest.approx(energies[0], rel=PRECESSION)
    assert traj.check()["energy balance [relative]"] < PRECESSION


def test_an_ellipsoid_rocks():
    """In the plane, rolling without slip: one equation in its angle, integrated on its own."""
    mass, a, c = 1.0, 0.2, 0.1
    egg = cs.Robot.ellipsoid(mass, (a, 0.15, c), friction=2.0)
    inertia = egg.model.inertias[1].inertia[1, 1]

    def height(p):  # of the centre, and its derivative: the arm of the contact point along x
        h = np.sqrt((a * np.sin(p)) ** 2 + (c * np.cos(p)) ** 2)
        slope = (a * a - c * c) * np.sin(p) * np.cos(p) / h
        bend = (a * a - c * c) * np.cos(2.0 * p) / h - slope**2 / h
        return h, slope, bend

    def rate(_, y):  # T = (I + m (h^2 + h'^2)) w^2 / 2, V = m g h
        p, w = y
        h, slope, bend = height(p)
        return [w, -(mass * slope * (h + bend) * w * w + mass * G * slope) / (inertia + mass * (h * h + slope**2))]

    start = 0.6
    system = cs.ContactSystem(egg)
    turn = Rotation.from_rotvec([0.0, start, 0.0]).as_matrix()
    traj = cs.simulate(system, state(turn, (0, 0, height(start)[0])), (0.0, 0.8), tolerances=FINE)
    assert not traj.events
    expected = solve_ivp(rate, (0.0, 0.8), [start, 0.0], method="DOP853", rtol=1e-12, atol=1e-13).y[0, -1]
    axis = Rotation.from_quat(traj.final_x[3:7]).as_matrix()[:, 0]
    assert np.arctan2(-axis[2], axis[0]) == pytest.approx(expected, abs=ROCKING)
    assert traj.final_x[2] == pytest.approx(height(expected)[0], abs=ROCKING)
    traj.check()


@pytest.mark.parametrize(("angle", "start", "rate"), [(0.2, 0.6, 0.0), (0.0, 0.0, 3.0)])
def test_a_cone_rolls_about_its_tip(angle, start, rate):
    """On its side: a pendulum on a slope, at a constant rate on level ground.

    With the half angle a of the tip, T = 3 m h^2 (1 + 5 cos(a)^2) w^2 / 40, and the centre of mass is 3 h / 4 away.
    Source: L. Landau and E. Lifshitz, Mechanics, section 32, problem 7.
    """
    radius, height, time = 0.05, 0.15, 0.5
    half = np.arctan2(radius, height)
    down, up = np.array([np.cos(angle), 0.0, -np.sin(angle)]), np.array([np.sin(angle), 0.0, np.cos(angle)])

    def along(turned):  # the line on which it lies, and its axis, from the tip on
        line = np.cos(turned) * down + np.sin(turned) * np.cross(up, down)
        return line, np.cos(half) * line + np.sin(half) * up

    line, axis = along(start)
    spin = -rate / np.tan(half) * line
    R = np.column_stack([np.cross(np.cross(up, line), -axis), np.cross(up, line), -axis])
    velocity = np.cross(spin, 0.5 * height * axis)
    cone = cs.Robot.cone(0.4, radius, height, friction=5.0)
    system = cs.ContactSystem(cone, terrain=cs.terrain.Slope(angle) if angle else cs.terrain.Flat())
    begin = state(R, 0.5 * height * axis, velocity, spin)
    traj = cs.simulate(system, begin, (0.0, time), tolerances=FINE)
    assert traj.status.complete and not traj.events
    pull = 5.0 * G * np.cos(half) * np.sin(angle) / (height * (1.0 + 5.0 * np.cos(half) ** 2))

    def pendulum(_, y):
        return [y[1], -pull * np.sin(y[0])]

    turned = solve_ivp(pendulum, (0.0, time), [start, rate], method="DOP853", rtol=1e-12, atol=1e-13).y[0, -1]
    expected = along(turned)[1]
    assert traj.final_x[:3] == pytest.approx(0.5 * height * expected, abs=ROLLED)
    assert -Rotation.from_quat(traj.final_x[3:7]).as_matrix()[:, 2] == pytest.approx(expected, abs=ROLLED)
    traj.check()


def test_a_cylinder_stands_and_tips():
    """On a slope it stands while its weight is over the polygon of its rim's points, and falls where it is beyond."""
    for angle, stands in ((0.25, True), (0.35, False)):  # tan^-1 of R cos(pi/8) .. R over half its length: 0.30 .. 0.32
        tower = cs.Robot.cylinder(1.0, 0.1, 0.6, friction=1.0)
        turn = Rotation.from_rotvec([0, angle, 0]).as_matrix()
        system = cs.ContactSystem(tower, terrain=cs.terrain.Slope(angle))
        traj = cs.simulate(system, state(turn, 0.3 * turn[:, 2]), (0.0, 0.5))
        moved = float(np.linalg.norm(traj.final_x[:3] - 0.3 * turn[:, 2]))
        assert (moved < 1e-9) == stands
        traj.check()
        if not stands:  # its rim has taken over
            assert {name for name, mode in traj.mode_at(0.5).items() if mode is not cs.Mode.OPEN} == {"cylinder/0"}


@pytest.mark.slow
def test_a_cylinder_rocks_to_rest():
    """Tipped a little it falls back on the points of its rim, and from there on the other side, lower each time."""
    cylinder = cs.Robot.cylinder(1.0, 0.1, 0.2, friction=1.0)
    turn = Rotation.from_rotvec([0.0, 0.02, 0.0]).as_matrix()
    place = np.array([0.0, 0.0, 0.1 * np.cos(0.02) + 0.1 * np.sin(0.02)])
    traj = cs.simulate(cs.ContactSystem(cylinder), state(turn, place), (0.0, 0.2))
    assert traj.events
    traj.check()
    highest = np.abs(Rotation.from_quat(traj.final_x[3:7]).as_rotvec()[:2]).max()
    assert highest < 0.02


LANDINGS = {
    "cylinder on its rim": (cs.Robot.cylinder(1.0, 0.1, 0.3, friction=0.5), 0.2, cs.terrain.Flat()),
    "cylinder that slides": (cs.Robot.cylinder(1.0, 0.1, 0.3, friction=0.1), 0.2, cs.terrain.Slope(0.1)),
    "capsule": (cs.Robot.capsule(1.0, 0.1, 0.3, friction=0.5), 0.26, cs.terrain.Flat()),
    "ellipsoid that bounces": (
        cs.Robot.ellipsoid(1.0, (0.2, 0.15, 0.1), friction=0.5, restitution=0.4),
        0.2,
        cs.terrain.Flat(),
    ),
    "ellipsoid on hills": (
        cs.Robot.ellipsoid(1.0, (0.2, 0.15, 0.1), friction=0.5),
        0.2,
        cs.terrain.Sinusoid(0.05, 2.0, 1.5),
    ),
}


SLOW = {"ellipsoid on hills", "cylinder that slides", "ellipsoid that bounces"}


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow) if n in SLOW else n for n in LANDINGS])
def test_derivatives_of_landings(name):
    """D x(T) along a direction against Richardson's differences of whole runs."""
    body, height, ground = LANDINGS[name]
    time = 0.3
    turn = Rotation.from_rotvec([0.3, 0.5, 0.1]).as_matrix()
    begin = state(turn, (0.1, 0.05, height + 0.05), (0.3, -0.1, -0.5), (0.5, -1.0, 2.0))
    system = cs.ContactSystem(body, terrain=ground)
    traj = cs.simulate(system, begin, (0.0, time), tolerances=FINE)
    assert traj.events
    traj.check()
    space, x = system.space(), system.pack(begin)
    direction = np.random.default_rng(1).normal(size=space.dim)

    def end(h):
        run = cs.simulate(system, system.state(space.integrate(x, h * direction)), (0.0, time), tolerances=FINE)
        assert len(run.events) == len(traj.events)
        return space.difference(traj.final_x, run.final_x)

    coarse, fine = ((end(h) - end(-h)) / (2.0 * h) for h in (2e-4, 1e-4))
    expected = (4.0 * fine - coarse) / 3.0
    found = cs.linearize(traj, tolerances=FINE)(direction)
    assert np.abs(found - expected).max() < THROUGH_SHAPES * max(1.0, float(np.abs(expected).max()))
