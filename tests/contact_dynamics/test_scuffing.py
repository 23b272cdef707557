"""Legs that scuff: feet at one place, hops too low to be followed, and matrices that friction makes singular.

What stopped runs here was no paradox: a contact that hops by less than `Tolerances.hop` was held on the ground, while
another slid by less than the hop's speed.
"""

from __future__ import annotations

from dataclasses import replace
from importlib.metadata import files

import numpy as np
import pytest

import contactsim as cs
from contactsim.io.load_scene import load_scene


def feet_together(mu: float, rate: float, lean: float) -> tuple[cs.ContactSystem, cs.State]:
    """The compass walker with both feet at one place of level ground, the left one at rest; its legs open at `rate`."""
    robot = cs.load_robot("biped")
    feet = [replace(foot, friction=mu, enabled=None) for foot in robot.contacts]
    system = cs.ContactSystem(cs.Robot(robot.model, feet))
    q, v = np.array([0.0, np.cos(lean), lean, 0.0]), np.array([0.0, 0.0, 0.1, rate])
    rows = system.world.mechanism.terms(0.0, q, np.zeros(4), (0,)).rows
    v[:2] = -np.linalg.solve(rows[:, :2], rows[:, 2:] @ v[2:])
    return system, cs.State(q, v)


@pytest.mark.parametrize(("mu", "rate", "lean"), [(0.6, 1e-3, 0.3), (0.6, -0.1, -0.3), (0.8, 0.01, 0.5)])
def test_feet_at_one_place_go_on(mu: float, rate: float, lean: float) -> None:
    traj = cs.simulate(*feet_together(mu, rate, lean), (0.0, 0.3))
    assert traj.status is cs.Status.FINISHED and not any(event.jammed for event in traj.events)
    traj.check()


@pytest.mark.parametrize("hop", [1e-15, 1e-13, 1e-11])
def test_the_height_of_hops_does_not_decide_whether_a_run_goes_on(hop: float) -> None:
    made, state = feet_together(0.6, 1e-3, 0.3)
    ends = []
    for lowest in (hop, 0.1 * hop):
        system = cs.ContactSystem(made.robot, tolerances=cs.Tolerances(hop=lowest))
        traj = cs.simulate(system, state, (0.0, 0.2))
        assert traj.status is cs.Status.FINISHED
        ends.append(np.concatenate([traj.final.q, traj.final.v]))
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-5)


def walk_without_margins(mu: float, end: float = 1.5) -> cs.Trajectory:
    """The walker's gait down its slope, with feet that touch wherever they are: the swinging one scuffs."""
    demo, robot = load_scene("biped"), cs.load_robot("biped")
    feet = [replace(foot, friction=mu, enabled=None) for foot in robot.contacts]
    system = cs.ContactSystem(cs.Robot(robot.model, feet), demo.system.world.terrain)
    return cs.simulate(system, demo.state, (0.0, end))


@pytest.mark.parametrize("mu", [0.6, 0.8, 1.0, 2.0])
def test_a_walker_without_margins_scuffs_and_goes_on(mu: float) -> None:
    traj = walk_without_margins(mu)
    assert traj.status is cs.Status.FINISHED
    traj.check()


def test_forces_that_stay_bounded_lead_through_a_singular_matrix() -> None:
    """Two feet slide alike: friction leaves the difference of their forces free there, but not the sum.

    The run ends before 1.35 s, where legs that lie on each other part faster than any rate: rounding decides there
    which foot goes on to slide.
    """
    traj = walk_without_margins(0.3, 1.34)
    assert traj.status is cs.Status.FINISHED and any(("jam", -1) in event.fired for event in traj.all_events)
    assert not any(event.jammed for event in traj.events)
    traj.check()


def test_a1_by_its_file_passes_where_a_hop_of_its_knee_was_held() -> None:
    (path,) = (f for f in files("example-robot-data") or () if str(f).endswith("/a1.urdf"))
    traj = load_scene(str(path.locate())).simulate(0.4)
    assert traj.status is cs.Status.FINISHED
    traj.check()
