"""Feet that skim the ground between two steps are caught, and a touch without speed has no derivative."""

from __future__ import annotations

import numpy as np
import pytest
from builders import planar_body
from scipy.optimize import brentq

import contactsim as cs

DEPTH = 1e-6  # m, to which a tip would dip below the ground
ARM = 0.5  # m, from the centre of the rod to its tip


def rotor(spin: float, phase: float, depth: float) -> tuple[cs.ContactSystem, cs.State]:
    """A rod that spins weightlessly about its centre; its tip would dip `depth` below the ground once a turn."""
    rod = planar_body(1.0, 0.1, {"tip": (0.0, -ARM)}, 0.0, 0.5)
    system = cs.ContactSystem(rod, gravity=(0.0, 0.0, 0.0))
    return system, cs.State([0.0, ARM - depth, phase], [0.0, 0.0, spin])


@pytest.mark.parametrize("seed", range(12))
def test_a_fast_tip_that_skims_the_ground_is_caught(seed: int) -> None:
    """The tip's gap is ARM - DEPTH - ARM cos(angle): it is met on the way down, at the first dip."""
    rng = np.random.default_rng(seed)
    spin, phase = rng.choice([-1.0, 1.0]) * 10 ** rng.uniform(0.0, 2.5), rng.uniform(0.3, 2 * np.pi - 0.3)
    system, start = rotor(spin, phase, DEPTH)
    way = (2 * np.pi - phase) if spin > 0 else phase
    first = (way - np.arccos(1 - DEPTH / ARM)) / abs(spin)
    traj = cs.simulate(system, start, (0.0, 1.5 * way / abs(spin)))
    assert traj.events, "the dip was missed"
    assert traj.events[0].time == pytest.approx(first, abs=1e-8)
    traj.check()


@pytest.mark.parametrize("seed", range(6))
def test_a_fast_tip_that_clears_the_ground_touches_nothing(seed: int) -> None:
    rng = np.random.default_rng(seed)
    spin, phase = 10 ** rng.uniform(0.0, 2.5), rng.uniform(0.3, 2 * np.pi - 0.3)
    system, start = rotor(spin, phase, -DEPTH)
    assert not cs.simulate(system, start, (0.0, 4 * np.pi / spin)).events


def gaps_of(system: cs.ContactSystem, run: cs.Trajectory, t: float) -> np.ndarray:
    return system.mechanism.gaps(t, run(t).q)[: len(system.mechanism.names)]


@pytest.mark.parametrize("name", ["hexapod", "solo12", "biped"])
@pytest.mark.parametrize("seed", range(2))
def test_a_foot_of_a_tumbling_robot_that_skims_the_ground_is_caught(name: str, seed: int) -> None:
    """Weightless and free, a robot's lowest foot passes through a lowest height; the ground is put 1e-6 m above it."""
    rng = np.random.default_rng(seed)
    robot = cs.load_robot(name)
    far = cs.ContactSystem(robot, terrain=cs.terrain.Flat(-50.0), gravity=(0, 0, 0), joint_limits=False)
    q, v = np.array(robot.nominal), 3.0 * rng.normal(size=robot.nv)
    planar = robot.model.joints[1].nv == 3
    v[: 2 if planar else 3] = 0.0
    free = cs.simulate(far, cs.State(q, v), (0.0, 1.0))
    times = np.linspace(0.0, 1.0, 2001)
    heights = np.array([gaps_of(far, free, t) for t in times]) - 50.0
    lowest = heights.min(axis=1)
    k = int(np.argmin(lowest))
    if k in (0, len(times) - 1):
        pytest.skip("the lowest height is at an end of this run")
    foot = int(np.argmin(heights[k]))
    fine = np.linspace(times[k - 1], times[k + 1], 2001)
    depths = np.array([gaps_of(far, free, t)[foot] for t in fine]) - 50.0
    bottom = float(depths.min())
    dip = lambda t: float(gaps_of(far, free, t)[foot]) - 50.0 - (bottom + DEPTH)  # noqa: E731
    first = brentq(dip, times[k - 1] - 0.05, fine[int(np.argmin(depths))], xtol=1e-12)
    ground = cs.terrain.Flat(bottom + DEPTH)
    near = cs.ContactSystem(robot, terrain=ground, gravity=(0, 0, 0), joint_limits=False)
    run = cs.simulate(near, cs.State(q, v), (0.0, float(times[k])))
    assert run.events, "the dip was missed"
    assert run.events[0].time == pytest.approx(first, abs=1e-5)
    assert far.mechanism.names[foot] in run.events[0].contacts


def test_a_touch_without_speed_has_no_derivative() -> None:
    """A tip that reaches the ground at its lowest point, to rounding: what it meets there is refused."""
    refused = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        spin = 10 ** rng.uniform(0.0, 1.5)
        system, start = rotor(spin, rng.uniform(1.0, 5.0), 3e-13)
        run = cs.simulate(system, start, (0.0, 2 * np.pi / spin))
        if not run.events:  # a dip that is rounding may be taken for none
            continue
        with pytest.raises(cs.TransversalityError, match="tangentially"):
            cs.linearize(run).matrix()
        refused += 1
    assert refused
