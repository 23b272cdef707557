"""What was written before the engine was refactored is still read, gone on with, differentiated and kept to."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import version1
from version1 import FILES, KEPT

import contactsim as cs

Array = np.ndarray
STORED = 1e-12  # of what a file holds
FORCE = 1e-7  # relative, of forces computed from what it holds
GONE_ON = 1e-9  # m, rad, their rates, and s
DERIVATIVE = 1e-7  # relative
SEVERAL = "several outcomes"
PLUGINS = sorted(path.name for path in (FILES / "plugins").iterdir() if (path / "pyproject.toml").is_file())


def expected(name: str) -> dict[str, Any]:
    return json.loads((FILES / f"{name}.json").read_text(encoding="utf-8"))


def compare(found: dict[str, Any], due: dict[str, Any], near: float) -> None:
    """Words are the same, and numbers are near.

    Of an impact with several outcomes another one was told of then: what is behind it is not compared.
    """
    for word in ("status", "events"):
        assert found[word] == due[word]
    until = next((t for t, notes in zip(found["times"], found["notes"], strict=True) if SEVERAL in notes), np.inf)
    if until < np.inf:
        found, due = before(found, until), before(due, until)
    for number in ("times", "after", "at", "states", "final"):
        for one, other in zip(found[number], due[number], strict=True):
            np.testing.assert_allclose(one, other, rtol=0, atol=near, err_msg=number)
    for here, there in zip(found["forces"], due["forces"], strict=True):
        assert here.keys() == there.keys()
        size = max((float(np.abs(force).max()) for force in there.values()), default=0.0)
        for name, force in there.items():
            np.testing.assert_allclose(here[name], force, rtol=0, atol=FORCE * max(size, 1.0), err_msg=name)


def before(told: dict[str, Any], until: float) -> dict[str, Any]:
    """What was told of a run before a time [s]."""
    events, times = sum(t < until for t in told["times"]), sum(t < until for t in told["at"])
    assert times > 0
    kept = {name: told[name][:events] for name in ("times", "after")}
    return kept | {name: told[name][:times] for name in ("at", "states", "forces")} | {"final": []}


@pytest.mark.parametrize("name", KEPT)
def test_a_stored_run_is_the_run(name: str) -> None:
    compare(version1.told(version1.load(name)), expected(name)["run"], STORED)


@pytest.mark.parametrize("name", KEPT)
def test_a_stored_run_goes_on(name: str) -> None:
    run = version1.gone_on(version1.load(name), KEPT[name].end)
    compare(version1.told(run), expected(name)["gone_on"], GONE_ON)


@pytest.mark.parametrize("name", KEPT)
def test_a_stored_run_is_differentiated(name: str) -> None:
    found, due = version1.derived(version1.load(name)), expected(name)["derivative"]
    assert found.keys() == due.keys()
    if "error" in due:
        assert found == due
    else:
        size = float(np.abs(due["along"]).max())
        np.testing.assert_allclose(found["along"], due["along"], rtol=0, atol=DERIVATIVE * size)


def test_a_stored_run_knows_its_scene() -> None:
    """Its controller and its feet are those of the scene, which is in the file."""
    run = version1.load("walk/run")
    assert run.system.parameter("contact.friction") == 0.9
    assert [point.enabled is not None for point in run.system.robot.contacts] == [True, True]


def test_a_session_leaves_what_was_turned() -> None:
    run = version1.load("session_pushed")
    assert [arc.system.parameter("contact.friction") for arc in (run.arc_at(0.005), run.arc_at(0.02))] == [0.8, 0.6]


def test_a_stored_mechanism_asks_for_its_functions() -> None:
    with pytest.raises(cs.InputError, match="functions of its Mechanism are not stored"):
        cs.Trajectory.load(FILES / "mechanism.nc")


# --- plugins ----------------------------------------------------------------------------------------------------------
def installed(plugin: str, where: Path) -> dict[str, str]:
    """An environment in which a plugin is found as if it were installed."""
    project = tomllib.loads((FILES / "plugins" / plugin / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    folder = where / f"{plugin.replace('-', '_')}-{project['version']}.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {plugin}\nVersion: {project['version']}\n")
    (group, entries), *_ = project["entry-points"].items()
    lines = [f"[{group}]", *(f"{name} = {target}" for name, target in entries.items())]
    (folder / "entry_points.txt").write_text("\n".join(lines) + "\n")
    paths = [str(FILES / "plugins" / plugin / "src"), str(where), *filter(None, [os.environ.get("PYTHONPATH")])]
    return os.environ | {"PYTHONPATH": os.pathsep.join(paths)}


@pytest.mark.parametrize("plugin", PLUGINS)
def test_a_plugin_of_then_passes_its_own_test(plugin: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-o", "addopts=", "-p", "no:cacheprovider", "--rootdir"]
    tests = FILES / "plugins" / plugin
    done = subprocess.run(
        [*command, str(tests), str(tests / "tests")],
        env=installed(plugin, tmp_path) | {"PYTHONDONTWRITEBYTECODE": "1"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout and "no tests ran" not in done.stdout


def test_kinds_of_plugins() -> None:
    assert PLUGINS == ["old-compliant", "old-model", "old-rigid", "old-stages"]
