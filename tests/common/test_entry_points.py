"""Entry points: those that importlib.metadata tells, wherever distributions lie."""

from __future__ import annotations

import importlib
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

from contactsim.common.registry import PREFIX, EntryPoint, entry_points

TEXT = """
[console_scripts]
other = other:main
[contactsim.contact_laws]
# a remark
soft = laws : Soft
hard=laws.hard:Kinds.Hard [extra]
"""


def told() -> set[tuple[str, str, str]]:
    found = (entry for one in metadata.distributions() for entry in one.entry_points)
    return {(e.group.removeprefix(PREFIX), e.name, e.value) for e in found if e.group.startswith(PREFIX)}


def read() -> set[tuple[str, str, str]]:
    return {(entry.group, entry.name, entry.value) for entry in entry_points()}


def put(place: Path, folder: str, text: str = TEXT) -> None:
    info = place / folder
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: own-laws\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(text)


def test_those_of_this_environment() -> None:
    assert ("contact_laws", "coulomb", "contactsim_plugins.laws.coulomb:Coulomb") in read()
    assert read() == told()


@pytest.mark.parametrize("folder", ["own_laws-1.0.dist-info", "Own.Laws.egg-info"])
def test_a_folder(folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, folder)
    monkeypatch.syspath_prepend(str(tmp_path))
    own = {entry.name: entry for entry in entry_points() if entry.distribution == "own-laws"}
    assert own["soft"] == EntryPoint("contact_laws", "soft", "laws : Soft", "own-laws")
    assert own["soft"].module == "laws" and own["hard"].module == "laws.hard"
    assert read() == told()


def test_the_first_of_two_of_one_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for place, name in (("second", "late"), ("first", "early")):
        put(tmp_path / place, "own_laws-1.0.dist-info", f"[contactsim.robots]\n{name} = laws:found\n")
        monkeypatch.syspath_prepend(str(tmp_path / place))
    assert [entry.name for entry in entry_points() if entry.distribution == "own-laws"] == ["early"]


def test_an_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path / "inside", "own_laws-1.0.dist-info")
    with zipfile.ZipFile(tmp_path / "laws.zip", "w") as archive:
        for file in (tmp_path / "inside").rglob("*"):
            archive.write(file, file.relative_to(tmp_path / "inside"))
    monkeypatch.syspath_prepend(str(tmp_path / "laws.zip"))
    importlib.invalidate_caches()
    assert {"soft", "hard"} <= {entry.name for entry in entry_points() if entry.distribution == "own-laws"}
    assert read() == told()


def test_what_an_entry_point_names() -> None:
    assert EntryPoint("plots", "path", "pathlib:Path.cwd [all]", "own").load()() == Path.cwd()
    assert EntryPoint("formats", "whole", "pathlib", "own").load().Path is Path
