"""Robots of gymnasium that fall on all their geoms, and stay outside of the ground."""

from __future__ import annotations

import warnings
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from dropped_robots import GYMNASIUM, within_limits

import contactsim as cs

pytest.importorskip("mujoco")
NAMES = ("ant", "humanoid", "walker2d", "half_cheetah")
END, SPEED = 2.0, 0.6  # s, rad/s of the start


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_robot_falls_on_all_its_geoms(name: str) -> None:
    """Let go limp and in motion, it comes down on whatever is lowest."""
    source = next(one for one in GYMNASIUM if Path(one.path).stem == name)
    spec = find_spec(source.package)
    if spec is None or spec.origin is None:
        pytest.skip(f"{source.package} is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        robot = cs.Robot.from_mjcf(Path(spec.origin).parent / source.path, contacts="all")
    assert not any(pair.reason == "it has no contact points" for pair in robot.left_out)
    v = SPEED * np.random.default_rng(len(name)).normal(size=robot.nv)
    run = cs.simulate(cs.ContactSystem(robot), cs.State(within_limits(robot), v), (0.0, END))
    assert run.status.complete, run.message
    run.check()
    touched = {contact for event in run.events for contact in event.contacts}
    assert len(touched & {point.name for point in robot.contacts}) >= 2
