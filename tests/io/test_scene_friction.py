"""Rolling, torsion, elliptic cones, Stribeck speeds and latches in scene files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import contactsim as cs
from contactsim import Mode
from contactsim.io.scene import parse

BALL = """
[[bodies]]
name = "ball"
sphere = {mass = 2.0, radius = 0.1}
position = [0, 0, 0.1]
spin = [0, 0, 10]
torsion = 0.01

[contact]
friction = 0.5
rolling = 0.002

[terrain]
kind = "flat"
"""

GRIPPER = """
gravity = [0, 0, 0]

[[bodies]]
name = "hand"
box = {mass = 2.0, size = [0.2, 0.2, 0.05]}
position = [0, 0, 1]
velocity = [0, 0, 0.5]

[[bodies]]
name = "part"
box = {mass = 0.5, size = [0.1, 0.1, 0.1]}
position = [0, 0, 0.8]

[[latch]]
name = "clamp"
frame_a = "hand/hand"
frame_b = "part/part"
hold = true
closes = 0.1
opens = 0.5
"""


def scene_of(text: str, folder: Path) -> cs.SceneRun:
    path = folder / "scene.toml"
    path.write_text(text)
    return cs.load_scene(path)


def test_moments_of_a_scene_act(tmp_path: Path) -> None:
    scene = scene_of(BALL, tmp_path)
    assert scene.system.mechanism.resistance_names == ("ball/ball/torsion", "ball/ball/rolling")
    traj = scene.simulate(0.6)
    (stop,) = traj.events
    assert stop.time == pytest.approx(0.4 * 2.0 * 0.1**2 * 10.0 / (0.01 * 2.0 * 9.81), abs=1e-9)
    again = scene_of(BALL.replace("friction = 0.5", "friction = [0.5, 0.2]\nstribeck = 0.1"), tmp_path)
    assert again.system.friction[0] == 0.5
    assert again.system.robot.contacts[0].friction == (0.5, 0.2)


def test_a_gripper_clamps_a_part_and_lets_it_go(tmp_path: Path) -> None:
    """The momentum of the hand is shared out: 2 * 0.5 = 2.5 * 0.4."""
    traj = scene_of(GRIPPER, tmp_path).simulate(0.8)
    assert [event.transitions.get("clamp") for event in traj.events] == [
        (Mode.OPEN, Mode.CLOSED),
        (Mode.CLOSED, Mode.OPEN),
    ]
    for t in (0.3, 0.7):
        np.testing.assert_allclose(traj(t).v[[2, 8]], 0.4, atol=1e-9)
    assert traj.mode_at(0.3)["clamp"] is Mode.CLOSED
    traj.check()


def test_what_a_scene_is_refused_for(tmp_path: Path) -> None:
    fixed = BALL.replace("spin = [0, 0, 10]", "fixed = true")
    with pytest.raises(cs.InputError, match="does not move, and has one coefficient of friction"):
        scene_of(fixed, tmp_path)
    with pytest.raises(cs.InputError, match="belong to contact points, not to pairs"):
        scene_of(BALL + '\n[[pairs]]\nfirst = "ball"\nsecond = "ball"\nfriction = [0.1, 0.2]\n', tmp_path)


@pytest.mark.parametrize(
    ("friction", "told"),
    [
        ("nan", "scene: contact.friction is nan; give a finite number"),
        ("'rough'", "scene: contact.friction is 'rough'; give a number"),
        ("[0.5, -0.2]", "scene: contact.friction.1 is -0.2; give a number greater than or equal to 0"),
    ],
)
def test_a_coefficient_that_may_be_a_number_or_a_pair_is_told_of_once(friction: str, told: str) -> None:
    with pytest.raises(cs.InputError) as error:
        parse(f"[contact]\nfriction = {friction}\n")
    assert str(error.value) == told
