"""`contactsim new-plugin`: what it writes, what it refuses, and that it is green at once in a fresh environment."""

from __future__ import annotations

import re
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

import pytest

from contactsim.cli import command as cli

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "docs" / "examples" / "my_hunt_crossley.py"
AUTHOR = 60  # lines of the author's own in the worked example
GROUPS = {
    "compliant": "contact_laws",
    "rigid": "contact_laws",
    "model": "models",
    "controller": "controllers",
    "event": "event_derivatives",
}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("kind", GROUPS)
def test_what_is_written(kind: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.execute(["new-plugin", "my-first_law", "--kind", kind]) == 0
    folder = here / "my-first_law"
    written = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    module = "src/my_first_law/__init__.py"
    assert written == ["README.md", "pyproject.toml", module, "tests/test_my_first_law.py"]
    project = tomllib.loads((folder / "pyproject.toml").read_text())
    entry = {"my-first_law": "my_first_law:MyFirstLaw"}
    assert project["project"]["entry-points"] == {f"contactsim.{GROUPS[kind]}": entry}
    source = (folder / module).read_text()
    assert "class MyFirstLaw(" in source and len(source.splitlines()) < 70
    assert not any(re.search(r"@\w+@", path.read_text()) for path in folder.rglob("*") if path.is_file())
    compile(source, module, "exec")
    assert "contactsim check my-first_law" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["2fast"], "'2fast' is no name for a package"),
        (["MyLaw"], "'MyLaw' is no name for a package"),
        (["../law"], "is no name for a package"),
        (["my law"], "is no name for a package"),
        (["x" * 61], "is no name for a package"),
        (["lambda"], "means something in Python"),
        (["random"], "means something in Python"),
        (["numpy"], "there is a Python package 'numpy' already"),
        (["contactsim"], "there is a Python package 'contactsim' already"),
        (["coulomb"], "has a plugin 'coulomb' already"),
        (["slip", "--kind", "model"], "contactsim.models has a plugin 'slip' already"),
        (["my_law", "--kind", "sticky"], "the kind is 'sticky'; give compliant, rigid, model, controller or event"),
    ],
)
def test_names_that_are_refused(
    arguments: list[str], words: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.execute(["new-plugin", *arguments]) == 2
    told = capsys.readouterr()
    assert words in told.err and len(told.err.strip().splitlines()) == 1
    assert not list(here.iterdir())


def test_nothing_is_written_over(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "my_law").mkdir()
    assert cli.execute(["new-plugin", "my_law"]) == 2
    assert "my_law is there already and is not written over" in capsys.readouterr().err
    assert not list((here / "my_law").iterdir())


# --- in a fresh environment -------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of a new environment that sees what is installed here, contactsim among it, and nothing else."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = folder / "bin" / "python"
    site = subprocess.run(
        [str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    here = dict.fromkeys([sysconfig.get_path("purelib"), *(path for path in sys.path if "site-packages" in path)])
    lines = [f"import site; site.addsitedir({path!r})\n" for path in here]
    (Path(site) / "zz_seen_from_here.pth").write_text("".join(lines))
    return python


def install(python: Path, folder: Path) -> None:
    offline = ["--no-deps", "--no-build-isolation", "--disable-pip-version-check", "-q"]
    subprocess.run([str(python), "-m", "pip", "install", *offline, "-e", str(folder)], check=True)


@pytest.mark.slow
@pytest.mark.parametrize("kind", GROUPS)
def test_the_scaffold_is_green_at_once(kind: str, fresh: Path, here: Path) -> None:
    name = f"my_{kind}"
    assert cli.execute(["new-plugin", name, "--kind", kind]) == 0
    install(fresh, here / name)
    checked = subprocess.run([str(fresh), "-m", "contactsim", "check", name], capture_output=True, text=True)
    assert (checked.returncode, checked.stderr) == (0, "")
    assert "properties hold" in checked.stdout
    if kind == "model":
        tested = subprocess.run([str(fresh), "-m", "pytest", "-q", name], capture_output=True, text=True)
        assert tested.returncode == 0, tested.stdout


@pytest.mark.slow
def test_the_worked_example_from_empty_folder_to_green(fresh: Path, here: Path) -> None:
    """Hunt and Crossley's law in a scaffold; the file in the documentation is all that its author writes."""
    own = EXAMPLE.read_text(encoding="utf-8")
    assert len(own.splitlines()) <= AUTHOR
    assert cli.execute(["new-plugin", "my_hunt_crossley"]) == 0
    (here / "my_hunt_crossley" / "src" / "my_hunt_crossley" / "__init__.py").write_text(own)
    install(fresh, here / "my_hunt_crossley")
    checked = subprocess.run(
        [str(fresh), "-m", "contactsim", "check", "my_hunt_crossley"], capture_output=True, text=True
    )
    assert (checked.returncode, checked.stderr) == (0, ""), checked.stdout
    assert "properties hold" in checked.stdout and "violated" not in checked.stdout
