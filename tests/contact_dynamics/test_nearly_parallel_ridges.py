"""Bodies with straight sides on straight ridges that they are nearly parallel to: wheels on a washboard."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

import contactsim as cs
from contactsim.multibody.zero import STRAIGHT_HUMP

HIGH, WAVES, RADIUS, LENGTH = 0.02, 5.0, 0.1, 0.2
WASHBOARD = cs.terrain.Sinusoid(HIGH, WAVES, 0.0)
BEND = HIGH * WAVES**2
TOP = np.pi / 2.0 / WAVES
DEEP = 1e-8  # m
BODIES = {
    "cylinder": cs.Robot.cylinder(1.0, RADIUS, LENGTH, friction=0.8),
    "capsule": cs.Robot.capsule(1.0, RADIUS, LENGTH, friction=0.8),
    "box": cs.Robot.box(1.0, (0.2, 0.2, 0.2), friction=0.8),
}


def yaw_of(hump: float) -> float:
    """At which the hump below the side is so high where the ground bends most: h = k y^2 L^2 / 8."""
    return float(np.sqrt(8.0 * hump / (BEND / (1.0 + RADIUS * BEND))) / LENGTH)


def turned(yaw: float, tilt: float = 0.0) -> np.ndarray:
    R = pin.utils.rpyToMatrix(0.0, 0.0, yaw) @ pin.utils.rpyToMatrix(np.pi / 2.0 + tilt, 0.0, 0.0)
    return np.asarray(pin.Quaternion(R).coeffs())


def turned_back(q: np.ndarray, vector: np.ndarray) -> np.ndarray:
    return np.asarray(pin.Quaternion(q[3:]).matrix().T @ vector)


def closed(system: cs.ContactSystem, traj: cs.Trajectory) -> list[str]:
    return sorted(system.world.mechanism.names[i].split(".")[0] for i in traj.arcs[-1].mode.closed)


@pytest.mark.parametrize(("share", "held"), [(0.5, ["cylinder/rim0", "cylinder/rim1"]), (2.0, ["cylinder/edge0"])])
def test_the_ends_of_a_side_hold_it_where_its_hump_is_none(share: float, held: list[str]) -> None:
    """On the crest the hump below the side of a cylinder is k y^2 L^2 / 8 high."""
    system = cs.ContactSystem(BODIES["cylinder"], terrain=WASHBOARD)
    q = np.array([TOP, 0.0, HIGH + RADIUS, *turned(yaw_of(share * STRAIGHT_HUMP))])
    traj = cs.simulate(system, cs.State(q, np.zeros(6)), (0.0, 1e-3))
    assert traj.status.complete, traj.message
    traj.check()
    assert closed(system, traj) == held


def test_a_side_rocks_on_a_hump_as_its_closed_form_says() -> None:
    """I phi'' = -m g phi / M, M = k y^2 / (1 + k r): the point that touches is phi / M from the middle.

    That is without the rolling about its axis that goes with it, by which it is 1.4 % slower.
    """
    yaw = yaw_of(10.0 * STRAIGHT_HUMP)
    bend = BEND / (1.0 + RADIUS * BEND) * yaw**2
    system = cs.ContactSystem(BODIES["cylinder"], terrain=WASHBOARD)
    inertia = RADIUS**2 / 4.0 + LENGTH**2 / 12.0
    inertia += RADIUS**2  # it rolls about the ground
    spin = 0.3 * bend * 0.5 * LENGTH * np.sqrt(9.81 / (bend * inertia))  # up to 0.3 of the way to an end
    q = np.array([TOP, 0.0, HIGH + RADIUS, *turned(yaw)])
    period = 2.0 * np.pi / np.sqrt(9.81 / (bend * inertia))
    w = turned_back(q, np.array([spin, 0.0, 0.0]))
    start = cs.State(q, [*np.cross(w, turned_back(q, np.array([0.0, 0.0, RADIUS]))), *w])
    traj = cs.simulate(system, start, (0.0, period))
    assert traj.status.complete, traj.message
    assert not traj.events
    rates = [traj(t).v[3] for t in period * np.array([0.0, 0.25, 0.5, 1.0])]
    assert np.allclose(rates, w[0] * np.array([1.0, 0.0, -1.0, 1.0]), atol=0.03 * abs(w[0]))
    assert traj.check()["penetration [m]"] < DEEP


@pytest.mark.parametrize(
    ("body", "yaw", "tilt", "end"),
    [
        pytest.param("cylinder", 1e-5, 0.0, 0.3, marks=pytest.mark.slow_in_python),
        ("cylinder", 1e-4, 0.0, 0.3),
        pytest.param("cylinder", 1e-4, 1e-6, 0.3, marks=pytest.mark.slow_in_python),
        pytest.param("capsule", 1e-4, 0.0, 0.3, marks=pytest.mark.slow),
        pytest.param("box", 1e-4, 0.0, 0.03, marks=pytest.mark.slow_in_python),
        pytest.param("box", 0.0, 1e-4, 0.055, marks=pytest.mark.slow_in_python),
    ],
)
def test_a_wheel_goes_over_a_washboard(body: str, yaw: float, tilt: float, end: float) -> None:
    """The cylinder ended at 0.23 s: the point of its side that touches ran from end to end.

    The box ended where an edge took over from one of two corners, at 0.026 and 0.049 s: it takes over from both.
    """
    system = cs.ContactSystem(BODIES[body], terrain=WASHBOARD)
    q = np.array([0.0, 0.0, 1.05 * RADIUS + 0.005, *turned(yaw, tilt)])
    traj = cs.simulate(system, cs.State(q, [1.0, 0.0, 0.0, 0.0, 0.0, 0.0]), (0.0, end))
    assert traj.status.complete, traj.message
    assert traj.check()["penetration [m]"] < DEEP


def wheel(yaw: float) -> tuple[cs.ContactSystem, cs.State]:
    """That of the washboard, thrown along it."""
    q = np.array([0.0, 0.0, 1.05 * RADIUS + 0.005, *turned(yaw)])
    return cs.ContactSystem(BODIES["cylinder"], terrain=WASHBOARD), cs.State(q, [1.0, 0.0, 0.0, 0.0, 0.0, 0.0])


@pytest.mark.slow_in_python
def test_a_wheel_that_stands_on_its_ends_has_a_derivative() -> None:
    fine = cs.Tolerances(rtol=1e-11, atol=1e-13)
    system, start = wheel(5e-5)
    model = BODIES["cylinder"].model
    along = np.random.default_rng(0).normal(size=12)
    along /= np.linalg.norm(along)

    def end(size: float) -> cs.State:
        moved = cs.State(pin.integrate(model, start.q, size * along[:6]), start.v + size * along[6:])
        return cs.simulate(system, moved, (0.0, 0.1), tolerances=fine)(0.1)

    step = 1e-5
    ahead, behind = end(step), end(-step)
    expected = np.concatenate([pin.difference(model, behind.q, ahead.q), ahead.v - behind.v]) / (2.0 * step)
    found = cs.linearize(cs.simulate(system, start, (0.0, 0.1), tolerances=fine))(along)
    assert np.allclose(found, expected, rtol=0.0, atol=1e-7 * np.abs(expected).max())
