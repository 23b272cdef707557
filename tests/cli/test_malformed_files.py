"""Malformed files and command lines: one sentence and status 2, no traceback, nothing that takes long."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from malformed_files import RC, SCENE, URDF, command_fault, load_fault, malformed, no_numbers, write

SEED = 17
COUNTS = {"toml": 80, "rc": 60, "urdf": 60, "nc": 100}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Path]]:
    folder, before = tmp_path_factory.mktemp("malformed"), Path.cwd()
    os.chdir(folder)
    yield write(folder)
    os.chdir(before)


def run(path: Path) -> list[str]:
    return ["run", str(path), "--time", "0.01", "--out", str(path.with_name("out"))]


def test_the_files_work_as_they_are(files: dict[str, Path]) -> None:
    for kind in ("toml", "rc", "urdf"):
        assert "status 0" in command_fault(run(files[kind]), must_fail=True)
    assert not load_fault(files["nc"])


@pytest.mark.parametrize("kind", COUNTS)
def test_flips_cuts_and_odd_values(kind: str, files: dict[str, Path]) -> None:
    path = files[kind].with_name(f"bad.{kind}")
    wrong = []
    for name, content in malformed(files[kind].read_bytes(), COUNTS[kind], SEED, text=kind != "nc"):
        path.write_bytes(content)
        if told := load_fault(path) if kind == "nc" else command_fault(run(path)):
            wrong.append((name, told))
    assert not wrong, "\n".join(map(str, wrong))


@pytest.mark.parametrize(("kind", "text"), [("toml", SCENE), ("rc", RC)])
def test_what_is_no_number_is_refused(kind: str, text: str, files: dict[str, Path]) -> None:
    path = files[kind].with_name(f"odd.{kind}")
    wrong = []
    for name, content in no_numbers(text):
        if name in ("kp = {}", "kd = {}"):
            continue  # a table of joints, of none
        path.write_text(content)
        if told := command_fault(["run", str(path), "--out", str(path.with_name("out"))], must_fail=True):
            wrong.append((name, told))
    assert not wrong, "\n".join(map(str, wrong))


@pytest.mark.parametrize("value", ["abc", "nan", "1e308", "-1", "inf", ""])
def test_masses_of_a_urdf_that_are_none(value: str, files: dict[str, Path]) -> None:
    path = files["urdf"].with_name("heavy.urdf")
    path.write_text(URDF.replace('mass value="1.5"', f'mass value="{value}"'))
    assert not command_fault(run(path), must_fail=True)


@pytest.mark.parametrize("kind", ["toml", "rc", "urdf", "nc", "xml"])
@pytest.mark.parametrize("content", [b"", b"\0" * 200, b"\x89PNG\r\n\x1a\n" + bytes(range(256)), b"\xff\xfe{}"])
def test_files_of_another_kind(kind: str, content: bytes, files: dict[str, Path]) -> None:
    path = files["toml"].with_name(f"foreign.{kind}")
    path.write_bytes(content)
    line = ["view", str(path), "--html", str(path.with_name("page.html"))] if kind == "nc" else run(path)
    assert not command_fault(line, must_fail=True)


LINES = [
    ["run"],
    ["run", ""],
    ["run", "."],
    ["run", "nothing-of-this-name"],
    ["run", "nowhere.toml"],
    ["run", "nowhere.urdf"],
    ["run", "a\0b.toml"],
    ["run", "scene.toml", "--time", "0"],
    ["run", "scene.toml", "--time", "-1"],
    ["run", "scene.toml", "--time", "nan"],
    ["run", "scene.toml", "--time", "inf"],
    ["run", "scene.toml", "--time", "soon"],
    ["run", "scene.toml", "--rtol", "1e30"],
    ["run", "scene.toml", "--rtol", "0"],
    ["run", "scene.toml", "--rtol", "true"],
    ["run", "scene.toml", "--law", "nothing"],
    ["run", "scene.toml", "--law", ""],
    ["run", "scene.toml", "--integrator", "Euler"],
    ["run", "scene.toml", "--out", "scene.toml"],
    ["run", "scene.toml", "--out", "scene.toml/below"],
    ["run", "scene.toml", "--out", "a\0b"],
    ["run", "scene.toml", "--nonsense"],
    *(["run", "scene.toml", "--set", setting] for setting in ("", "=", "contact", "contact.friction", "a.b.c=1", "=1")),
    *(["run", "scene.toml", "--set", f"contact.friction={x}"] for x in ("true", "-1", "nan", "inf", "text", "[1]", "")),
    *(["run", "scene.toml", "--set", f"controller.kp={x}"] for x in ("true", "-1", "nan", "1e308", "text", "[1]")),
    *(["run", "scene.toml", "--set", f"run.record_period={x}"] for x in ("0", "1e-12", "-1", "true", "text")),
    *(["run", "scene.toml", "--set", f"run.max_events={x}"] for x in ("0", "1.5", "-1", "true", "many")),
    *(["run", "hopper.rc", "--set", f"finalTime={x}"] for x in ("0", "-1", "nan", "text", "true", "", "1e308")),
    ["run", "hopper.rc", "--set", "nothing=1"],
    ["run", "hopper.rc", "--law", "coulomb"],
    ["view"],
    ["view", "nowhere.nc"],
    ["view", "scene.toml"],
    ["view", "run.nc", "--html", "nowhere/page.html"],
    ["view", "run.nc", "--html", "."],
    ["plugins", "nothing-of-this-name"],
    ["check", "nothing-of-this-name"],
    ["check", "coulomb", "--set", "nothing=1"],
    ["check", "coulomb", "--robot", "nothing-of-this-name"],
    ["new-plugin", ""],
    ["new-plugin", "a b"],
    ["new-plugin", "../up"],
    ["new-plugin", "fine", "--kind", "nothing"],
    ["nothing"],
]


@pytest.mark.parametrize("line", LINES, ids=" ".join)
def test_command_lines(line: list[str], files: dict[str, Path]) -> None:
    assert not command_fault(line, must_fail=True)
