"""Robots of all sources fall on level ground under PD, for a second: they finish, and their checks pass."""

from __future__ import annotations

import pytest
from dropped_robots import END, SOURCES, run, scene

import contactsim as cs


@pytest.mark.slow
@pytest.mark.parametrize("name", SOURCES)
def test_a_dropped_robot_finishes_and_passes_its_check(name: str) -> None:
    source = SOURCES[name]
    if not source.found():
        pytest.skip(f"{source.package} is not installed")
    ran = run(scene(source))
    assert ran.status is cs.Status.FINISHED, ran.message
    assert ran.t[-1] == END
    ran.check()


@pytest.mark.parametrize("name", ["panda", "talos_full"])
def test_a_robot_with_mimic_joints_starts_in_its_nominal_pose(name: str) -> None:
    """Joints are moved inside their limits one by one; those that mimic others follow them."""
    robot = cs.load_robot(name)
    assert robot.loops
    cs.Simulation(cs.ContactSystem(robot, terrain=cs.terrain.Flat(-1.0)), (robot.nominal, [0.0] * robot.nv))
