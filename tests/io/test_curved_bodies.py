"""Scenes with cylinders, capsules and ellipsoids, and runs of them that are stored."""

from __future__ import annotations

import numpy as np
import pytest
from tolerances import STORED

import contactsim as cs

SCENE = """
[[bodies]]
name = "wheel"
cylinder = {mass = 1, radius = 0.1, length = 0.05}
position = [0, 0, 0.11]
orientation = [0.7071067811865476, 0, 0, 0.7071067811865476]
velocity = [1, 0, 0]
friction = 0.3

[[bodies]]
name = "log"
capsule = {mass = 1, radius = 0.1, length = 0.4}
position = [0, 3, 0.3]

[[bodies]]
name = "egg"
ellipsoid = {mass = 1, radii = [0.1, 0.1, 0.15]}
position = [0, 6, 0.2]
spin = [0, 3, 0]

[run]
time = 0.1
"""


@pytest.mark.filterwarnings("ignore:part '.*' has collision shapes")
def test_a_scene_of_curved_bodies_is_run_and_stored(tmp_path):
    """It passes its check, and its run is read back with the same contacts."""
    path = tmp_path / "curved.toml"
    path.write_text(SCENE)
    traj = cs.load_scene(str(path)).simulate(0.1)
    traj.check()
    names = traj.system.world.mechanism.names
    assert {"wheel/wheel/0", "wheel/wheel/1/7", "log/log/1", "egg/egg"} <= set(names)
    traj.save(tmp_path / "run.nc")
    again = cs.Trajectory.load(tmp_path / "run.nc")
    assert again.system.robot.contacts == traj.system.robot.contacts
    assert np.abs(again(0.07).q - traj(0.07).q).max() < STORED
