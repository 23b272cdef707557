"""Files of pictures and pages are what their names say."""

from __future__ import annotations

from pathlib import Path

import pytest

import contactsim as cs


def test_pictures_and_pages_end_in_what_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    traj = cs.load_scene("biped").simulate(0.02)
    with pytest.raises(cs.InputError, match=r"run\.jpg'; give the path of a file that ends in \.png"):
        cs.export_png(traj, Path("run.jpg"))
    with pytest.raises(cs.InputError, match=r"run\.pdf'; give the path of a file that ends in \.html"):
        cs.export_html(traj, "run.pdf")
    assert cs.export_html(traj, "run.HTML").is_file()
