"""Linkages that the tests share, and the equation of motion of those that one angle describes.

Links lie in the x-z plane and turn about +y, so a bar at the angle phi points along (cos phi, -sin phi).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.integrate import solve_ivp

import contactsim as cs

DATA = Path(__file__).parent / "data"
G = 9.81
Array = np.ndarray

CRANK, COUPLER, ROCKER, GROUND = 0.2, 0.5, 0.4, 0.45  # lengths of four_bar.urdf [m]
RADIUS, ROD = 0.15, 0.4  # of slider_crank.urdf [m]
PIN = cs.LoopClosure("coupler", "rocker", (COUPLER, 0.0, 0.0), (ROCKER, 0.0, 0.0), name="pin")
WRIST = cs.LoopClosure("rod", "slider", (ROD, 0.0, 0.0), name="wrist_pin")


def four_bar(pin: cs.LoopClosure = PIN, **options) -> cs.ContactSystem:
    return cs.ContactSystem(cs.Robot.from_urdf(DATA / "four_bar.urdf", root="fixed"), loops=[pin], **options)


def slider_crank(**options) -> cs.ContactSystem:
    return cs.ContactSystem(cs.Robot.from_urdf(DATA / "slider_crank.urdf", root="fixed"), loops=[WRIST], **options)


def five_bar_leg(root: str = "planar", friction: float = 0.6, restitution: float = 0.0, **options) -> cs.ContactSystem:
    """A trunk on a leg of two thighs and two shanks, whose hips are held by springs and dampers."""
    foot = cs.ContactPoint("front_shank", (0, 0, -0.3), friction=friction, restitution=restitution, name="foot")
    robot = cs.Robot.from_urdf(DATA / "five_bar_leg.urdf", root=root, contacts=[foot])
    first = robot.nv - 4
    hips, angles = [first, first + 2], [robot.nq - 4, robot.nq - 2]

    def springs(t: float, q: Array, v: Array) -> Array:
        torque = np.zeros(robot.nv)
        torque[hips] = -60.0 * (q[angles] - [-0.6, 0.6]) - 1.0 * v[hips]
        return torque

    pin = cs.LoopClosure("front_shank", "rear_shank", (0, 0, -0.3), (0, 0, -0.3), name="foot_pin")
    return cs.ContactSystem(robot, loops=[pin], controller=springs, **options)


def above_ground(system: cs.ContactSystem, height: float = 0.5, speed: float = 0.3) -> cs.State:
    """The five-bar leg in the air, moving forward."""
    robot = system.robot
    q, v = robot.nominal.copy(), np.zeros(robot.nv)
    q[1 if robot.nq == 7 else 2] = height
    q[-4:] = [-0.6, 0.9, 0.6, -0.9]
    v[0] = speed
    return system.close(q, v)


# --- one angle --------------------------------------------------------------------------------------------------
def along(angle: float) -> Array:
    return np.array([np.cos(angle), np.sin(angle)])


def across(angle: float) -> Array:
    return np.array([-np.sin(angle), np.cos(angle)])


Reduced = Callable[[float], tuple[float, float, float]]  # angle -> inertia, its derivative, force of gravity


def _bar_on_crank(radius: float, length: float, mass: float, a: float, b: float, k: float, dk: float) -> Array:
    """What a bar of the angle b at the end of a crank of the angle a adds; k = db/da, dk = dk/da."""
    cos, sin = np.cos(a - b), np.sin(a - b)
    inertia = radius**2 + length**2 / 3 * k**2 + radius * length * k * cos
    slope = 2 * length**2 / 3 * k * dk + radius * length * (dk * cos - k * sin * (1 - k))
    return mass * np.array([inertia, slope, G * (radius * np.cos(a) + length / 2 * k * np.cos(b))])


def four_bar_angles(a: float) -> tuple[float, float]:
    """Absolute angles of coupler and rocker of the branch on which the tests run (circles that meet)."""
    reach = np.array([GROUND, 0.0]) - CRANK * along(a)
    far = float(np.linalg.norm(reach))
    b = np.arctan2(reach[1], reach[0]) - np.arccos((COUPLER**2 + far**2 - ROCKER**2) / (2 * COUPLER * far))
    tip = COUPLER * along(b) - reach
    return float(b), float(np.arctan2(tip[1], tip[0]))


def four_bar_reduced(a: float) -> tuple[float, float, float]:
    b, c = four_bar_angles(a)
    matrix = np.column_stack([COUPLER * across(b), -ROCKER * across(c)])
    k, m = np.linalg.solve(matrix, -CRANK * across(a))
    dk, dm = np.linalg.solve(matrix, CRANK * along(a) + COUPLER * along(b) * k**2 - ROCKER * along(c) * m**2)
    crank = 0.5 * np.array([CRANK**2 / 3, 0.0, G * CRANK / 2 * np.cos(a)])
    rocker = 0.8 * np.array([ROCKER**2 / 3 * m**2, 2 * ROCKER**2 / 3 * m * dm, G * ROCKER / 2 * m * np.cos(c)])
    return tuple(crank + rocker + _bar_on_crank(CRANK, COUPLER, 1.0, a, b, k, dk))


def slider_crank_reduced(a: float) -> tuple[float, float, float]:
    b = -np.arcsin(RADIUS / ROD * np.sin(a))
    k = -RADIUS * np.cos(a) / (ROD * np.cos(b))
    dk = (RADIUS * np.sin(a) + ROD * np.sin(b) * k**2) / (ROD * np.cos(b))
    speed = -RADIUS * np.sin(a) - ROD * np.sin(b) * k
    change = -RADIUS * np.cos(a) - ROD * (np.cos(b) * k**2 + np.sin(b) * dk)
    crank = 0.4 * np.array([RADIUS**2 / 3, 0.0, G * RADIUS / 2 * np.cos(a)])
    slider = 0.6 * np.array([speed**2, 2 * speed * change, 0.0])
    return tuple(crank + slider + _bar_on_crank(RADIUS, ROD, 0.7, a, b, k, dk))


def one_angle(reduced: Reduced, angle: float, speed: float, duration: float) -> tuple[float, float]:
    """Angle and speed after `duration` of I w' + I' w^2 / 2 = Q."""

    def rate(t: float, y: Array) -> list[float]:
        inertia, slope, force = reduced(y[0])
        return [y[1], (force - 0.5 * slope * y[1] ** 2) / inertia]

    found = solve_ivp(rate, (0.0, duration), [angle, speed], method="DOP853", rtol=1e-13, atol=1e-13)
    return float(found.y[0, -1]), float(found.y[1, -1])
