"""Every code block of README.md, CONTRIBUTING.md and docs/ runs: in the order of its page, in an empty folder.

Python blocks of a page share one namespace. A block with a title is a file of that name. TOML is a scene, or a part of
one, and is built. Of shell commands those of contactsim run, over a short time where they name none; `pip install -e`
registers the plugins of a package of the page; other programs must be ones that are known here.
"""

from __future__ import annotations

import importlib
import re
import shlex
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import typer

import contactsim as cs
from contactsim.cli import command as cli
from contactsim.common import registry
from contactsim.io import scene

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
FENCE = re.compile(r"^```(\w*)([^\n]*)\n(.*?)^```[ ]*$", re.MULTILINE | re.DOTALL)
TITLE = re.compile(r'title="([^"]+)"')
INCLUDED = re.compile(r"^--8<--\n(.+)\n--8<--$", re.MULTILINE)
PLACEHOLDER = re.compile(r"\b[A-Z]{3,}\b")  # DATE, NAME: what a reader fills in

SHORT = "0.02"  # s, of a run whose line names no time
GIVEN = {  # files that readers are thought to have
    "robot.urdf": ROOT / "robots/contactsim_robots/hexapod.urdf",
    "arm.urdf": ROOT / "tests/data/slider_crank.urdf",
    "four_bar.urdf": ROOT / "tests/data/four_bar.urdf",
    "runner.rc": ROOT / "plugins/contactsim_plugins/models/examples/slip.rc",
}
LANGUAGES = {"python", "toml", "bash", "c", "text", ""}
PROGRAMS = {"contactsim", "pip", "pytest", "python", "source", "mkdocs", "ruff", "mypy"}


class Block(NamedTuple):
    """A fenced block: the line of its page where its code begins, counted from one."""

    language: str
    title: str
    code: str
    line: int


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    for found in FENCE.finditer(text):
        title = TITLE.search(found[2])
        code = INCLUDED.sub(lambda include: (DOCS / include[1]).read_text(encoding="utf-8"), found[3])
        yield Block(found[1], title[1] if title else "", code, text[: found.start(3)].count("\n") + 1)


class Reader:
    """Someone who does what a page says, in the present folder."""

    def __init__(self, page: Path) -> None:
        self._page = page
        self._names: dict[str, Any] = {"__name__": "page"}

    def do(self, block: Block) -> None:
        assert block.language in LANGUAGES, f"nobody runs '{block.language}'"
        if block.title:
            self._write(block)
        elif block.language == "python":
            code = "\n" * (block.line - 1) + block.code  # so that a traceback shows the line of the page
            exec(compile(code, str(self._page), "exec"), self._names)
        elif block.language == "bash":
            for line in block.code.replace("\\\n", " ").splitlines():
                for command in line.split("&&"):
                    self._type(shlex.split(command, comments=True))
        elif block.language == "toml":
            build(block.code)

    def _write(self, block: Block) -> None:
        path = Path(block.title)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.code, encoding="utf-8")
        if path.suffix == ".toml" and path.name != "pyproject.toml":
            build(block.code)
        elif path.suffix == ".py":
            compile(block.code, str(path), "exec")
        importlib.invalidate_caches()

    def _type(self, words: list[str]) -> None:
        while words and re.fullmatch(r"[A-Z_]+=\S*", words[0]):  # a variable for one command
            words = words[1:]
        if not words:
            return
        assert words[0] in PROGRAMS, f"nobody knows the program '{words[0]}'"
        if words[0] == "pip":
            install(words)
        if words[0] != "contactsim":
            return
        parse(words[1:])
        if runs(words[1:]):
            timed = words[1] != "run" or "--time" in words
            assert cli.execute(words[1:] if timed else [*words[1:], "--time", SHORT]) == 0, " ".join(words)


def build(text: str) -> None:
    """A scene, or a part of one, that of the hexapod."""
    whole = not {"robot", "bodies"}.isdisjoint(tomllib.loads(text))
    built = scene.build(scene.parse(text, [] if whole else ["robot.name=hexapod"]))
    cs.Simulation(built.system, built.state, **built.options).advance(0.005)


def install(words: list[str]) -> None:
    """What `pip install -e` tells Python about a package of the page; without one, contactsim itself is meant."""
    assert words[:3] == ["pip", "install", "-e"] and len(words) == 4, f"nobody runs {shlex.join(words)}"
    folder, _, extras = words[3].partition("[")
    if not Path(folder, "pyproject.toml").exists():
        own = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        assert not extras or set(extras.rstrip("]").split(",")) <= own["optional-dependencies"].keys()
        return
    project = tomllib.loads(Path(folder, "pyproject.toml").read_text(encoding="utf-8"))["project"]
    sources = next(place for place in (Path(folder, "src"), Path(folder)) if place.is_dir())
    told = sources / f"{project['name'].replace('-', '_')}-0.dist-info"
    told.mkdir()
    (told / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: 0\n")
    points = [
        f"[{group}]\n" + "".join(f"{name} = {what}\n" for name, what in found.items())
        for group, found in project["entry-points"].items()
    ]
    (told / "entry_points.txt").write_text("\n".join(points))
    sys.path.insert(0, str(sources.resolve()))  # `here` restores it
    importlib.invalidate_caches()
    registry._entries.cache_clear()


def parse(words: list[str]) -> None:
    """There is such a command with such options."""
    group: Any = typer.main.get_command(cli.app)
    if words and words[0] in group.commands:
        group.commands[words[0]].make_context(words[0], words[1:])
    else:
        assert set(words) <= {"--help", "--version", "COMMAND"}


def runs(words: list[str]) -> bool:
    """Whether a command is run here: not what opens a browser, has gaps to fill in, or is tested elsewhere."""
    if any(PLACEHOLDER.search(word) for word in words) or {"--view", "--png", "--mp4"} & set(words):
        return False
    if words[0] == "view" and "--html" not in words:
        return False
    return words[0] != "check" or words[1] not in registry.names("contact_laws")  # tests/laws, tests/cli


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder but for GIVEN, importable; what was imported or registered from it is forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    for name, source in GIVEN.items():
        (tmp_path / name).write_bytes(source.read_bytes())
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]
    registry._entries.cache_clear()


def pages() -> list[Any]:
    return [pytest.param(page, id=str(page.relative_to(ROOT))) for page in PAGES if any(blocks(page))]


@pytest.mark.parametrize("page", pages())
def test_the_blocks_of_a_page_run(page: Path, here: Path) -> None:
    reader = Reader(page)
    for block in blocks(page):
        reader.do(block)


def test_no_fence_is_overlooked() -> None:
    for page in PAGES:
        fences = re.findall(r"^\s*```", page.read_text(encoding="utf-8"), re.MULTILINE)
        assert len(fences) == 2 * len(list(blocks(page))), page


def test_a_block_that_fails_is_told_with_its_line(here: Path) -> None:
    page = here / "page.md"
    page.write_text("# A page\n\n```python\nx = 1\n```\n\n```python\nx / 0\n```\n")
    reader = Reader(page)
    with pytest.raises(ZeroDivisionError) as told:
        for block in blocks(page):
            reader.do(block)
    assert told.traceback[-1].lineno == 7  # counted from zero
