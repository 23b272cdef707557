"""Capsules that meet other bodies with their whole surface: ends, axis, and what takes over from what."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from test_bodies import FINE, check_derivative, pose
from test_edges import OFF, REST, STAYS, on_fixed

import contactsim as cs

Array = np.ndarray
LYING = np.array([0.0, np.pi / 2, 0.0])
ENERGY = 1e-9  # J, what may change where nothing rubs or strikes
ALIKE = 1e-9  # m and m/s, runs on a box and on level ground

R, L = 0.05, 0.3  # m, radius and straight part


def capsule(**coefficients: float) -> cs.Robot:
    return cs.Robot.capsule(1.0, R, L, **{"friction": 0.5, **coefficients})


def run_of(world: cs.Robot, q: Array, v: Array, end: float, tolerances: cs.Tolerances = FINE) -> cs.Trajectory:
    system = cs.ContactSystem(world, OFF)
    run = cs.simulate(system, cs.State(*world.pack({"body": (q, v)})), (0.0, end), tolerances=tolerances)
    assert run.status.complete, run.message
    run.check()
    return run


def depth_in_box(half: Array, q: Array) -> float:
    """How far a capsule is inside a box around the origin, from the distance of its axis by samples and sections."""
    place = pin.XYZQUATToSE3(q)

    def apart(s: Array) -> Array:
        points = place.translation + s[:, None] * place.rotation[:, 2]
        return np.linalg.norm(np.maximum(np.abs(points) - half, 0.0), axis=1)

    low, high = -0.5 * L, 0.5 * L
    for _ in range(12):
        s = np.linspace(low, high, 17)
        k = int(np.argmin(apart(s)))
        low, high = s[max(k - 1, 0)], s[min(k + 1, 16)]
    return R - float(apart(np.array([low, high])).min())


def test_a_capsule_on_a_box_moves_as_on_level_ground() -> None:
    """It falls tilted, strikes with one end, then the other, slides and rolls."""
    q, v = pose(0.0, 0.0, 0.15, np.array([0.3, 1.2, 0.0])), np.array([0.2, 0.5, -0.3, 1.0, 0.5, 2.0])
    on_box = run_of(on_fixed((2.0, 2.0, 0.1), capsule()), q, v, 0.2)
    alone = capsule()
    on_ground = cs.simulate(cs.ContactSystem(alone), cs.State(q, v), (0.0, 0.2), tolerances=FINE)
    assert len(on_box.events) == len(on_ground.events) > 1
    assert np.abs(on_box.final.q - on_ground.final.q).max() <= ALIKE
    assert np.abs(on_box.final.v - on_ground.final.v).max() <= ALIKE


def test_a_capsule_laid_across_a_capsule_rests_on_it() -> None:
    """It falls by h, and the axes are 2 r apart: no end is near."""
    base = cs.Robot.capsule(1.0, R, L, root="fixed", friction=0.5)
    place = pin.SE3(pin.exp3(LYING), np.zeros(3))
    world = cs.Robot.merge([base, capsule()], names=["base", "body"], placements=[place, None])
    run = run_of(world, pose(0, 0, 0.12, np.array([np.pi / 2, 0, 0])), np.zeros(6), 0.5)
    (event,) = run.events
    assert abs(event.time - np.sqrt(2 * 0.02 / 9.81)) <= STAYS
    assert np.allclose(sum(event.impulses.values()), [0, 0, -np.sqrt(2 * 9.81 * 0.02)], atol=1e-9)
    assert abs(run.final.q[2] - 2 * R) <= REST and np.abs(run.final.v).max() <= REST


def test_a_ball_runs_along_a_capsule_and_over_its_end() -> None:
    """Without friction it leaves the round end where the normal force ends: 3 cos(angle) = 2 + v^2 / (g (r + R))."""
    base = cs.Robot.capsule(1.0, R, L, root="fixed", friction=0.0)
    ball = cs.Robot.sphere(1.0, 0.1, friction=0.0)
    place = pin.SE3(pin.exp3(LYING), np.zeros(3))
    world = cs.Robot.merge([base, ball], names=["base", "body"], placements=[place, None])
    run = run_of(world, pose(0, 0, 0.15), np.array([0.3, 0, 0, 0, 0, 0]), 1.0)
    (event,) = [event for event in run.events if "body/ball+base/capsule" in event.contacts]
    x, _, z = run(event.time).q[:3]
    cosine = (2.0 + 0.3**2 / (9.81 * 0.15)) / 3.0
    assert abs(z - 0.15 * cosine) <= 1e-9 and abs(x - 0.5 * L - 0.15 * np.sqrt(1 - cosine**2)) <= 1e-9


def test_an_end_that_slides_off_a_box_hands_over_to_the_axis() -> None:
    """Flat on the top, it slides along its axis until it tips over the edge: nothing is struck, no energy is lost."""
    size = np.array([0.6, 0.4, 0.2])
    world = on_fixed(tuple(size), capsule(friction=0.0), friction=0.0)
    run = run_of(world, pose(0.1, 0.02, R, LYING), np.array([0, 0, 0.5, 0, 0, 0]), 0.6)
    names = [set(event.contacts) for event in run.events]
    assert any(any("edge" in name for name in found) for found in names)
    energies = [run.system.energy(run.system.pack(run(t))) for t in np.linspace(0.0, 0.6, 25)]
    assert np.ptp(energies) <= ENERGY
    centre = np.array([0.0, 0.0, -0.1])
    for t in np.linspace(0.0, 0.6, 61):
        q = run(t).q.copy()
        q[:3] -= centre
        assert depth_in_box(0.5 * size, q) <= 1e-9
    assert run.final.q[0] > 0.3 and run.final.v[4] > 0.5


@pytest.mark.slow_in_python
def test_derivative_where_an_end_hands_over_to_the_axis() -> None:
    """The corner that ends is met at its speed; the gap of what takes over, which only touches zero, says nothing."""
    world = on_fixed((0.6, 0.4, 0.2), capsule(friction=0.0), friction=0.0)
    state = cs.State(*world.pack({"body": (pose(0.1, 0.02, R, LYING), np.array([0, 0, 0.5, 0, 0, 0]))}))
    system, ways = cs.ContactSystem(world, OFF), np.zeros((2, 2 * world.nv))
    ways[0, 2], ways[1, world.nv + 2] = 1.0, 1.0  # along the axis: place and speed
    check_derivative(system, state, 0.6, list(ways))
    run = cs.simulate(system, state, (0.0, 0.6))
    handed = next(event for event in run.events if len(event.contacts) == 2)
    assert {kind for kind, _ in handed.fired} == {"side100"}  # 2e-11 s behind "side1", where its region changes


def thrown(seed: int) -> tuple[cs.Robot, Array, Array]:
    """A capsule thrown at the upper edges and corners of a box."""
    rng = np.random.default_rng(seed)
    given = {"friction": rng.uniform(0.1, 1.0), "restitution": (0.0, 0.4)[seed % 2]}
    world = on_fixed((0.6, 0.4, 0.2), capsule(**given), **given)
    place = rng.uniform(-0.35, 0.35), rng.uniform(-0.25, 0.25), 0.3
    return world, pose(*place, rng.normal(size=3)), rng.normal(size=6) * [0.5, 0.5, 0.5, 2, 2, 2]


@pytest.mark.parametrize("seed", [2, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 5, 6, 8, 12))])
def test_a_thrown_capsule_stays_outside(seed: int) -> None:
    world, q, v = thrown(seed)
    run = run_of(world, q, v, 0.45)
    assert run.events
    for t in np.linspace(0.0, 0.45, 91):
        here = run(t).q.copy()
        here[2] += 0.1
        assert depth_in_box(np.array([0.3, 0.2, 0.1]), here) <= 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 6, 8, 12])
def test_derivative_through_landings_and_what_takes_over(seed: int) -> None:
    world, q, v = thrown(seed)
    rng = np.random.default_rng(seed)
    state = cs.State(*world.pack({"body": (q, v)}))
    check_derivative(cs.ContactSystem(world, OFF), state, 0.42, [rng.normal(size=2 * world.nv)], step=1e-5)
