"""Scene files with several robots and free bodies."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from test_scene import BOX, built, refused
from typer.testing import CliRunner

import contactsim as cs
from contactsim.cli.command import app
from contactsim.io import scene

BALLS = """
    [contact]
    friction = 0.6
    restitution = 0.2
    [[bodies]]
    name = "a"
    sphere = {mass = 0.5, radius = 0.1}
    position = [0, 0, 0.1]
    velocity = [2, 0, 0]
    spin = [0, 0, 3]
    orientation = [0.6, 0, 0, 0.8]
    restitution = 0.5
    [[bodies]]
    name = "b"
    box = {mass = 2, size = [0.3, 0.2, 0.2]}
    position = [1, 0.02, 0.1]
    [[bodies]]
    name = "wall"
    box = {mass = 1, size = [0.1, 1, 1]}
    position = [2, 0, 0.5]
    fixed = true
    [[pairs]]
    first = "a"
    second = "b"
    restitution = 0.9
    [run]
    time = 0.6
"""


def test_bodies_alone() -> None:
    made = built(BALLS)
    robot, state = made.system.robot, made.state
    assert list(robot.parts) == ["a", "b", "wall"]
    turn = pin.XYZQUATToSE3(state.q[:7]).rotation
    assert np.allclose(turn @ state.v[:3], [2, 0, 0])
    assert np.allclose(turn @ state.v[3:6], [0, 0, 3])
    read = made.system.parameter
    assert (read("contact.a/a.restitution"), read("contact.a/a+b/b.restitution")) == (0.5, 0.9)
    assert (read("contact.b/b/0.restitution"), read("contact.a/a+wall/wall.restitution")) == (0.2, 0.2)
    assert read("contact.b/b/0.friction") == 0.6
    assert "a/a+wall/wall" in made.system.mechanism.pair_names


def test_settings_reach_pairs_and_bodies() -> None:
    made = built(BALLS, "contact.a/a+b/b.friction=0.05", "body.b/b.mass=4", "contact.b/b/0.friction=0.3")
    assert made.system.parameter("contact.a/a+b/b.friction") == 0.05
    assert made.system.parameter("body.b/b.mass") == 4.0
    assert made.system.parameter("contact.b/b/0.friction") == 0.3


def test_robots_stand_beside_each_other_and_hold_themselves() -> None:
    made = built("""
        [robot]
        name = "hexapod"
        [controller]
        kind = "pd"
        [robots.other]
        name = "hexapod"
        shift = [1.0, 0.5]
        height = 0.03
    """)
    parts = made.system.robot.parts
    assert list(parts) == ["hexapod", "other"]
    own = parts["other"]
    q = made.state.q[own.q]
    assert np.allclose(q[:2] - own.robot.nominal[:2], [1.0, 0.5])
    assert own.robot.contact_positions(q)[:, 2].min() == pytest.approx(0.03)
    assert {"hexapod.kp_scale", "other.kp_scale"} <= set(made.system.controller.parameters())
    run = cs.simulate(made.system, made.state, (0.0, 0.12), **made.options)
    assert run.status.complete
    run.check()


def test_text_of_a_world_reads_back() -> None:
    parsed = scene.parse(BALLS)
    again = scene.parse(parsed.text())
    assert again == parsed
    assert parsed.title == "a+b+wall"


def test_files_of_further_robots_are_relative_to_the_scene(tmp_path: Path) -> None:
    (tmp_path / "box.urdf").write_text(BOX)
    made = built('[robots.a]\nfile = "box.urdf"\n[robots.b]\nfile = "box.urdf"\nshift = [1, 0]', folder=tmp_path)
    assert made.system.nv == 12
    assert made.state.q[2] == pytest.approx(scene.DROP + 0.1)
    assert [pair.name for pair in made.system.robot.pairs][:2] == ["a/box/0+b/box", "a/box/1+b/box"]


def test_mistakes_are_named() -> None:
    body = '[[bodies]]\nname = "a"\nposition = [0, 0, 1]\n'
    assert "give one of sphere = {...}, box" in refused(body)
    ball = body + "sphere = {mass = 1, radius = 0.1}\n"
    assert "of the world are called 'a'" in refused(ball + ball)
    assert "velocity" in refused(ball + "fixed = true\nvelocity = [1, 0, 0]")
    assert "no solid shape goes by 'c'" in refused(ball + '[[pairs]]\nfirst = "a"\nsecond = "c"')
    assert "a robot is required" in refused("[run]\ntime = 1")
    assert "controller and start go with [robot]" in refused(ball + '[controller]\nkind = "pd"')
    assert "pairs go with" in refused('robot = {name = "hexapod"}\n[[pairs]]\nfirst = "a"\nsecond = "b"')
    assert "no contact 'x'" in refused(ball + "[contact.x]\nfriction = 1")


def test_a_world_runs_from_the_command_line_and_loads_with_its_scene(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "world.toml").write_text(BALLS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(os.environ, "COLUMNS", "160")
    done = CliRunner().invoke(app, ["run", "world.toml", "--html", "--out", "out"])
    assert done.exit_code == 0, done.output
    assert "a/a+b/b" in done.output
    assert "check passed" in done.output
    page = (tmp_path / "out" / "run.html").read_text(encoding="utf-8")
    assert len(page) > 10_000
    run = cs.Trajectory.load(tmp_path / "out" / "run.nc")
    hit = next(event for event in run.events if "a/a+b/b" in event.impulses)
    assert hit.impulses["a/a+b/b"][0] < 0.0  # on the ball, which came along +x
    run.check()


def test_short_names_reach_the_scenes_own_robot() -> None:
    """What a scene says of its robot holds when bodies are added to it."""
    text = 'robot = {name = "hexapod"}\n[contact.lf]\nfriction = 0.2\n[body.lf_tibia]\nmass = 0.08\n'
    ball = '[[bodies]]\nname = "ball"\nsphere = {mass = 0.4, radius = 0.05}\nposition = [0.8, 0.0, 0.05]\n'
    alone, world = (scene.build(scene.parse(given)).system for given in (text, text + ball))
    assert alone.parameter("contact.lf.friction") == world.parameter("contact.hexapod/lf.friction") == 0.2
    assert alone.parameter("body.lf_tibia.mass") == world.parameter("body.hexapod/lf_tibia.mass") == 0.08
