"""A box on a table, pushed off its middle: its corners slip redundantly, under forces at the edge of their cones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import contactsim as cs
from contactsim.contact.modes import Mode
from contactsim.contact_dynamics.mode_sensitivity import ModeEquations, Turn
from contactsim.io.scene_run import SceneRun

RAIL = """<robot name="pusher"><link name="base"/>
<link name="tip"><inertial><mass value="0.5"/>
<inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><geometry><sphere radius="0.03"/></geometry></collision></link>
<joint name="rail" type="prismatic"><parent link="base"/><child link="tip"/><origin xyz="0 0 0.04"/><axis xyz="1 0 0"/>
<limit lower="-1" upper="1" effort="100" velocity="10"/></joint></robot>"""
SCENE = """
[robot]
file = "pusher.urdf"
root = "fixed"
[[bodies]]
name = "box"
box = {mass = 0.3, size = [0.1, 0.1, 0.06]}
position = [0.12, 0.01, 0.03]
[contact]
friction = 0.4
[start]
q = [0.0]
v = [0.6]
"""
DIRECTIONS = (1, 6, 7)  # that leave the box at rest: along the rail, about the vertical, and the speed of the rail
TIME = 0.5  # at which the box has come to rest [s]
STEP = 3e-5  # of differences, whose error goes with its square


@pytest.fixture
def scene(tmp_path: Path) -> SceneRun:
    (tmp_path / "pusher.urdf").write_text(RAIL)
    (tmp_path / "push.toml").write_text(SCENE)
    return cs.load_scene(str(tmp_path / "push.toml"))


@pytest.mark.slow_in_python
def test_the_derivative_of_a_push_is_that_of_its_differences(scene: SceneRun) -> None:
    """Impact on resting corners, a slip that turns, its end; the pusher's friction is at the edge of its cone."""
    system, start, space = scene.system, scene.state, scene.system.mechanism.space
    nv, sharp = len(start.v), cs.Tolerances(rtol=1e-11, atol=1e-13)

    def end(change: np.ndarray) -> cs.State:
        moved = cs.State(space.integrate(start.q, change[:nv]), start.v + change[nv:])
        return cs.simulate(system, moved, (0.0, TIME), tolerances=sharp).final

    traj = cs.simulate(system, start, (0.0, TIME), tolerances=cs.Tolerances(rtol=1e-10, atol=1e-12))
    found = cs.linearize(traj).matrix()
    assert sum(mode is Mode.SLIP for mode in traj.mode_at(0.2).values()) == 4
    for k in DIRECTIONS:
        step = STEP * np.eye(2 * nv)[k]
        ahead, behind = end(step), end(-step)
        difference = np.append(space.difference(behind.q, ahead.q), ahead.v - behind.v) / (2.0 * STEP)
        np.testing.assert_allclose(found[:, k], difference, rtol=0.0, atol=1e-5 * max(1.0, np.abs(difference).max()))


def test_two_contacts_at_one_place_that_slip_without_speed_have_no_directions() -> None:
    """Each may turn against the other one; with speed, both follow it."""

    def equations(speed: float) -> ModeEquations:
        turns = tuple(Turn(slice(n + 1, n + 3), np.array([0.0, 1.0]), n // 3, 0.4, -0.4, speed) for n in (0, 3))
        combine = np.kron(np.eye(2), [1.0, -0.4, 0.0])
        return ModeEquations(np.eye(3), np.vstack([np.eye(3)] * 2), np.array([0, 3]), combine, turns, redundant=True)

    force, motion = np.eye(3), np.zeros((6, 3))
    with pytest.raises(np.linalg.LinAlgError, match="slip directions"):
        equations(0.0).solve(force, motion)
    change, _ = equations(0.5).solve(force, motion)
    np.testing.assert_allclose(change[2], [0.0, 0.0, 0.5 / (0.5 + 2 * 0.4)], atol=1e-12)
