"""The wheel: built from the checkout, installed in an environment of its own, and all that it promises is there."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
ALONE = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}
LOADS = """
from importlib.metadata import distribution
import contactsim
own = distribution("contactsim")
assert own.locate_file("contactsim/__init__.py").samefile(contactsim.__file__)
points = [point for point in own.entry_points if point.group.startswith(("contactsim.", "console", "pytest"))]
for point in points:
    assert point.load() is not None, point
names = {name for name in contactsim.__all__ if getattr(contactsim, name) is not None}
print(len(points), len(names), contactsim.__file__)
"""


@pytest.mark.slow
def test_the_wheel_alone_has_all_entry_points_and_runs(tmp_path: Path) -> None:
    pytest.importorskip("build", reason="pip install -e '.[dev]'")

    def run(*command: str) -> str:
        done = subprocess.run(command, cwd=tmp_path, env=ALONE, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path), str(ROOT))
    (wheel,) = tmp_path.glob("contactsim-*.whl")
    run(sys.executable, "-m", "venv", str(tmp_path / "env"))
    python = tmp_path / "env/bin/python"
    run(str(python), "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", str(wheel))
    # its dependencies are those of this environment, behind its own packages
    own = run(str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
    places = [sysconfig.get_path("purelib"), *(place for place in sys.path if "cmeel" in place)]
    Path(own, "dependencies.pth").write_text("\n".join(places))
    points, names, where = run(str(python), "-c", LOADS).split()
    assert int(points) > 25 and int(names) > 60 and where.startswith(str(tmp_path))
    command = str(tmp_path / "env/bin/contactsim")
    assert "sweep" in run(command, "--help")
    run(command, "run", "biped", "--time", "0.1", "--out", str(tmp_path / "biped"), "--html")
    assert (tmp_path / "biped/run.nc").stat().st_size and (tmp_path / "biped/run.html").stat().st_size
