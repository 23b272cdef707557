"""Runs of boxes and capsules whose edges, faces and sides touch hills, with their derivatives."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from scipy.integrate import solve_ivp
from tolerances import THROUGH_SHAPES

import contactsim as cs

G, MASS, HALF = 9.81, 2.0, 0.03
HIGH, WAVES = 0.1, 1.5
TOP = np.pi / 2.0 / WAVES
RIDGES = cs.terrain.Sinusoid(HIGH, WAVES, 0.0)


def plank(length: float, **coefficients: float) -> cs.Robot:
    return cs.Robot.box(MASS, (length, 0.3, 2.0 * HALF), **coefficients)


def rocking(spin: float) -> cs.State:
    """A plank that lies across the top of a ridge and rolls there."""
    q = np.array([TOP, 0.0, HIGH + HALF, 0.0, 0.0, 0.0, 1.0])
    return cs.State(q, [-HALF * spin, 0.0, 0.0, 0.0, -spin, 0.0])


def rolled(length: float, spin: float, duration: float) -> tuple[np.ndarray, float]:
    """Centre (2,) and angle of a plank that rolls on a ridge, by Lagrange's equation of its one coordinate.

    It touches at the place u of the ground, by the arc s(u) from its middle, where u = TOP and s = 0 at first: with the
    tangent t and the normal n of the ground, c = p(u) + b n - s t, c' = -theta' (b t + s n).
    """
    inertia = MASS * (length**2 + 4.0 * HALF**2) / 12.0

    def slope(u: float) -> tuple[float, float, float]:
        sine, cosine = HIGH * np.sin(WAVES * u), HIGH * np.cos(WAVES * u)
        return WAVES * cosine, -(WAVES**2) * sine, -(WAVES**3) * cosine

    def rates(_: float, y: np.ndarray) -> list[float]:
        u, speed, s = y
        d, dd, ddd = slope(u)
        w = np.sqrt(1.0 + d * d)
        theta, theta_u = dd / w**2, ddd / w**2 - 2.0 * d * dd**2 / w**4
        arm = inertia + MASS * (HALF**2 + s**2)  # kinetic energy: arm (theta' u')^2 / 2
        arm_u = 2.0 * MASS * s * w
        mass, mass_u = arm * theta**2, arm_u * theta**2 + 2.0 * arm * theta * theta_u
        lift = -theta * (HALF * d + s) / w * MASS * G
        return [speed, (-0.5 * mass_u * speed**2 - lift) / mass, w * speed]

    start = [TOP, spin / slope(TOP)[1], 0.0]
    u, _, s = solve_ivp(rates, (0.0, duration), start, rtol=1e-12, atol=1e-13, method="DOP853").y[:, -1]
    d = slope(u)[0]
    t, n = np.array([1.0, d]) / np.hypot(1.0, d), np.array([-d, 1.0]) / np.hypot(1.0, d)
    return np.array([u, HIGH * np.sin(WAVES * u)]) + HALF * n - s * t, float(np.arctan(d))


@pytest.mark.slow_in_python
@pytest.mark.filterwarnings("error")
def test_a_plank_rocks_on_a_ridge() -> None:
    """Its long edges touch the ridge, no corner does; it rolls as the equation of its one coordinate says."""
    system = cs.ContactSystem(plank(1.0, friction=1.2), terrain=RIDGES)
    traj = cs.simulate(system, rocking(0.5), (0.0, 0.3))
    traj.check()
    assert not traj.events
    names = system.world.mechanism.names
    closed = [names[i] for i in traj.arcs[0].mode.closed]
    assert len(closed) == 2 and all("edge" in name for name in closed)
    centre, angle = rolled(1.0, 0.5, 0.3)
    assert np.allclose(traj.final.q[[0, 2]], centre, atol=1e-10)
    assert 2.0 * np.arctan2(-traj.final.q[4], traj.final.q[6]) == pytest.approx(angle, abs=1e-10)


@pytest.mark.filterwarnings("error")
def test_a_plank_lies_across_two_humps() -> None:
    """Each long edge touches both, with one of its pieces each: half of the weight on either hump."""
    waves = 8.0
    apart = 2.0 * np.pi / waves
    board = cs.Robot.box(MASS, (1.2, 0.1, 2.0 * HALF), friction=0.5)
    system = cs.ContactSystem(board, terrain=cs.terrain.Sinusoid(0.05, waves, 0.0))
    q = np.array([0.5 * np.pi / waves + 0.5 * apart, 0.0, 0.05 + HALF, 0.0, 0.0, 0.0, 1.0])
    traj = cs.simulate(system, cs.State(q, np.zeros(6)), (0.0, 1.0))
    traj.check()
    assert np.allclose(traj.final.q, q, atol=1e-9)
    assert len(traj.arcs[-1].mode.closed) == 4


@pytest.mark.slow_in_python
def test_edges_hand_over_to_corners_and_back_without_impact() -> None:
    """A short plank rolls to its end, where its corners hold it, and back; the derivative goes through that."""
    system = cs.ContactSystem(plank(0.3, friction=1.5), terrain=RIDGES)
    traj = cs.simulate(system, rocking(3.0), (0.0, 0.065))
    traj.check()
    assert [sorted(kind[:4] for kind, _ in event.fired) for event in traj.events] == [["side", "side"]] * 2
    assert not any(event.transition.impulses for event in traj.events)
    names = [[system.world.mechanism.names[i] for i in arc.mode.closed] for arc in traj.arcs]
    assert ["edge" in name for closed in names for name in closed] == [True, True, False, False, True, True]


@pytest.mark.slow
def test_the_derivative_through_an_edge_that_hands_over_to_its_corner() -> None:
    system, spin, h = cs.ContactSystem(plank(0.3, friction=1.5), terrain=RIDGES), 3.0, 1e-4
    tight = cs.Tolerances(rtol=1e-11, atol=1e-12)

    def run(by: float) -> cs.Trajectory:
        return cs.simulate(system, rocking(spin + by), (0.0, 0.03), tolerances=tight)

    traj, space = run(0.0), system.world.space
    way = np.concatenate([np.zeros(6), [-HALF, 0.0, 0.0, 0.0, -1.0, 0.0]])
    wanted = (space.difference(traj.final_x, run(h).final_x) - space.difference(traj.final_x, run(-h).final_x)) / (
        2 * h
    )
    assert len(traj.events) == 1
    assert np.abs(cs.linearize(traj)(way) - wanted).max() < THROUGH_SHAPES


def test_the_derivative_of_a_plate_that_rolls_with_its_face_on_a_hump() -> None:
    plate = cs.Robot.box(MASS, (0.8, 0.6, 2.0 * HALF), friction=1.0)
    system = cs.ContactSystem(plate, terrain=cs.terrain.Sinusoid(HIGH, WAVES, WAVES))
    spin, h, tight = np.array([0.5, -0.4, 0.3]), 1e-4, cs.Tolerances(rtol=1e-11, atol=1e-12)

    def run(by: float) -> cs.Trajectory:
        turning = spin + by * np.array([1.0, 2.0, -1.0])
        q = np.array([TOP, 0.0, HIGH + HALF, 0.0, 0.0, 0.0, 1.0])
        state = cs.State(q, [*np.cross(turning, [0.0, 0.0, HALF]), *turning])
        return cs.simulate(system, state, (0.0, 0.02), tolerances=tight)

    traj, space = run(0.0), system.world.space
    way = np.concatenate([np.zeros(6), np.cross([1.0, 2.0, -1.0], [0.0, 0.0, HALF]), [1.0, 2.0, -1.0]])
    wanted = (space.difference(traj.final_x, run(h).final_x) - space.difference(traj.final_x, run(-h).final_x)) / (
        2 * h
    )
    assert [system.world.mechanism.names[i] for i in traj.arcs[0].mode.closed] == ["box/face5"]
    assert np.abs(cs.linearize(traj)(way) - wanted).max() < 1e-7


def test_a_capsule_lies_across_a_ridge() -> None:
    """Its side holds it, where its ends are in the air on both sides."""
    body = cs.Robot.capsule(1.0, 0.05, 0.8, friction=0.9)
    system = cs.ContactSystem(body, terrain=RIDGES)
    lying = pin.Quaternion(pin.utils.rpyToMatrix(0.0, np.pi / 2.0, 0.0)).coeffs()
    q = np.array([TOP, 0.0, HIGH + 0.05, *lying])
    traj = cs.simulate(system, cs.State(q, np.zeros(6)), (0.0, 0.5))
    traj.check()
    assert np.allclose(traj.final.q[:3], q[:3], atol=1e-9)
    assert [system.world.mechanism.names[i] for i in traj.arcs[-1].mode.closed] == ["capsule/edge0"]


def test_a_face_that_starts_inside_a_hump_is_refused() -> None:
    system = cs.ContactSystem(plank(0.4), terrain=RIDGES)
    q = np.array([TOP, 0.0, HIGH + HALF - 1e-4, 0.0, 0.0, 0.0, 1.0])
    with pytest.raises(cs.InputError, match=r"starts 0\.0001 m inside the ground"):
        cs.simulate(system, cs.State(q, np.zeros(6)), (0.0, 0.01))


def test_an_edge_in_the_ground_that_does_not_act_is_no_point_of_a_closed_one() -> None:
    """A box fell onto a corner; in a trial step an edge was in the ground, with no nearest point: the run ended."""
    ground = cs.terrain.Sinusoid(0.02, 5.0, 0.0)
    system = cs.ContactSystem(cs.Robot.box(1.0, (0.12, 0.1, 0.06), friction=0.6), terrain=ground)
    rng = np.random.default_rng([1, 11])
    axis, angle, place = rng.normal(size=3), rng.uniform(0, 3), rng.uniform(-1, 1, 2)
    q = [*place, 0.2, *np.sin(0.5 * angle) * axis / np.linalg.norm(axis), np.cos(0.5 * angle)]
    traj = cs.simulate(system, cs.State(q, [*0.2 * rng.normal(size=3), *rng.normal(size=3)]), (0.0, 0.22))
    assert traj.status is cs.Status.FINISHED
    assert len(traj.all_events) > 1
