"""What `contactsim run` runs, as an object: by a name, a scene file, a robot's file or a model's."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from pathlib import Path

import numpy as np
import pytest

import contactsim as cs
from contactsim.io import scene

BALL = """<robot name="drop"><link name="drop">
<inertial><mass value="2"/><inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><geometry><sphere radius="0.1"/></geometry></collision></link></robot>"""

DROP = """
[robot]
file = "drop.urdf"
[contact]
restitution = 0.5
[start]
height = 0.2
[run]
time = 0.3
rtol = 1e-9
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "drop.urdf").write_text(BALL)
    (tmp_path / "drop.toml").write_text(DROP)
    return tmp_path


def same(one: cs.Trajectory, other: cs.Trajectory) -> None:
    assert [event.time for event in one.events] == [event.time for event in other.events]
    np.testing.assert_array_equal(one.final_x, other.final_x)


def test_a_robot_by_its_name() -> None:
    run = cs.load_scene("biped")
    made = scene.build(scene.parse('robot = {name = "biped"}'))
    np.testing.assert_array_equal(run.state.q, made.state.q)
    assert run.span == made.span
    same(run.simulate(0.2), cs.simulate(made.system, made.state, (0.0, 0.2), **made.options))


@pytest.mark.parametrize("kind", [str, Path])
def test_a_scene_file_with_settings(folder: Path, kind: type) -> None:
    run = cs.load_scene(kind(folder / "drop.toml"), ["contact.restitution=0"])
    assert run.system.parameter("contact.drop.restitution") == 0.0
    assert run.options["tolerances"].rtol == 1e-9
    traj = run.simulate()
    assert traj.t[-1] == 0.3
    assert len(traj.events) == 1
    same(traj, cs.simulate(run.system, run.state, (0, 0.3), **run.options))
    traj.check()


def test_a_file_of_a_robot(folder: Path) -> None:
    run = cs.load_scene(folder / "drop.urdf")
    assert run.title == "drop"
    assert run.simulate(0.05).final.q[2] == pytest.approx(0.2 - 0.5 * 9.81 * 0.05**2)


def test_options_of_a_run_are_replaced(folder: Path) -> None:
    run = cs.load_scene(folder / "drop.toml")
    traj = run.simulate(0.1, record_period=0.01)
    np.testing.assert_allclose(np.diff(traj.t), 0.01)
    assert run.options["record_period"] is None


def test_a_model_by_its_name_and_by_its_file() -> None:
    run = cs.load_scene("slip")
    assert isinstance(run.system, cs.Model)
    assert run.simulate(0.5).status.complete
    again = cs.load_scene("slip", ["finalTime=0.25"])
    assert again.span == (0.0, 0.25)
    same(again.simulate(), run.simulate(0.25))


def test_it_is_frozen_and_says_what_it_is(folder: Path) -> None:
    run = cs.load_scene(folder / "drop.toml")
    assert repr(run) == "SceneRun('drop', ContactSystem, 0.3 s)"
    with pytest.raises(FrozenInstanceError):
        run.state = None  # type: ignore[misc]


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("hexapot", "no robot or model 'hexapot'; similar names are hexapod"),
        ("missing.toml", "there is no file missing.toml; check the path"),
        ("missing.urdf", "there is no file missing.urdf; check the path"),
        ("missing.rc", "there is no file missing.rc; check the path"),
        ("robot.stl", "robot.stl is of no known kind; give the name of a robot"),
        ("a/folder", "a/folder is of no known kind"),
        ("", "give the name of a robot or model, or the path of a file"),
        (3, "source of load_scene is 3; give the name of a robot or model, or the path of a file"),
    ],
)
def test_what_cannot_be_run_is_named(source: object, told: str) -> None:
    with pytest.raises(cs.InputError, match=told.replace("(", r"\(")):
        cs.load_scene(source)  # type: ignore[arg-type]


def test_a_mistake_in_a_scene_is_named(folder: Path) -> None:
    with pytest.raises(cs.InputError, match=r"contact\.restitution is 2; give a number less than or equal to 1"):
        cs.load_scene(folder / "drop.toml", ["contact.restitution=2"])
    with pytest.raises(cs.InputError, match="no contact 'foot'; there are drop"):
        cs.load_scene(folder / "drop.toml", ["contact.foot.friction=0.2"])


@pytest.mark.parametrize("head", ["\ufeff", ""])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_files_from_other_editors_are_read(tmp_path: Path, head: str, end: str) -> None:
    """With the mark of UTF-8 at their head, and with the ends of lines of Windows."""
    scene, init = tmp_path / "scene.toml", tmp_path / "hopper.rc"
    scene.write_bytes(f'{head}[robot]\nname = "biped"\n'.replace("\n", end).encode())
    init.write_bytes(f'{head}systemName = "slip"; # the model\nfinalTime = 0.1;\n'.replace("\n", end).encode())
    assert cs.load_scene(scene).system.robot.name == "biped"
    assert cs.load_scene(init).span == (0.0, 0.1)


def test_a_folder_that_is_named_as_a_file_is_called_a_folder(tmp_path: Path) -> None:
    for name in ("robot.urdf", "scene.toml"):
        (tmp_path / name).mkdir()
        with pytest.raises(cs.InputError, match=f"{name} is a folder; give a file"):
            cs.load_scene(tmp_path / name)
