"""What is not run again on another engine: modules that ran, and asked for none."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import engine_use
import pytest

HERE = Path(__file__).parent
MODULES = {
    "quiet": "def test_a(): pass",
    "asks": "from contactsim.contact_dynamics import engines\ndef test_a(): engines.chosen(None)\ndef test_b(): pass",
    "begins": "from contactsim.contact_dynamics import engines\nengines.chosen(None)\ndef test_a(): pass",
    "starts": "import subprocess, sys\ndef test_a(): subprocess.run([sys.executable, '-c', ''], check=True)",
    "lacks": "import pytest\ndef test_a(): pytest.importorskip('no_such_engine')",
    "slow": "import pytest\n@pytest.mark.slow\ndef test_a(): pass",
    "elsewhere": "import pytest\npytest.importorskip('no_such_engine')\ndef test_a(): pass",
}


def test_modules_that_asked_are_run_again_and_those_that_did_not_are_left_out(tmp_path: Path) -> None:
    for name in ("conftest.py", "engine_use.py"):
        shutil.copyfile(HERE / name, tmp_path / name)
    for name, text in MODULES.items():
        (tmp_path / f"test_{name}.py").write_text(text)
    env = os.environ | {engine_use.FILE: str(tmp_path / "use"), "CONTACTSIM_SLOW": "0", engine_use.ONLY: "0"}
    env.pop("PYTEST_CURRENT_TEST")  # of this test, within which none of those runs yet as they are imported

    def run(*options: str, **more: str) -> str:
        command = [sys.executable, "-m", "pytest", "-q", "-o", "addopts=", "-p", "no:cacheprovider", *options]
        done = subprocess.run(command, cwd=tmp_path, env=env | more, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run("-n", "1")  # who starts the processes that test is no test
    left = engine_use.Log(tmp_path / "use").quiet()
    assert left == {"test_quiet.py", "test_slow.py"}
    again = run("--collect-only", "test_quiet.py", "test_asks.py", "test_starts.py", **{engine_use.ONLY: "1"})
    assert [line for line in again.splitlines() if "::" in line] == [
        "test_asks.py::test_a",
        "test_asks.py::test_b",
        "test_starts.py::test_a",
    ]


def test_what_a_helper_asks_for_as_it_is_imported_is_not_that_of_one_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another module that has it, too, need not import it anew."""
    monkeypatch.delenv("PYTEST_CURRENT_TEST")
    monkeypatch.setattr(engine_use, "TESTS", tmp_path)
    asks, found = "import engine_use\nfound = engine_use.current()", {}
    with engine_use.importing("test_module.py"):
        for name in ("test_module.py", "helper.py"):
            exec(compile(asks, str(tmp_path / name), "exec"), there := {})
            found[name] = there["found"]
    assert found == {"test_module.py": "test_module.py", "helper.py": ""}


def test_nothing_is_left_out_where_an_engine_was_asked_for_outside_of_tests(tmp_path: Path) -> None:
    log = engine_use.Log(tmp_path / "use")
    log.note(engine_use.RAN, "tests/test_a.py::test_a")
    assert log.quiet() == {"tests/test_a.py"}
    log.note(engine_use.ASKED, "")
    assert log.quiet() == frozenset()
