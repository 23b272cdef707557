"""Files of pictures and pages are what their names say."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest
from contactsim_viz import viewer

import contactsim as cs


def test_pictures_and_pages_end_in_what_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    traj = cs.load_scene("biped").simulate(0.02)
    with pytest.raises(cs.InputError, match=r"run\.jpg'; give the path of a file that ends in \.png"):
        cs.export_png(traj, Path("run.jpg"))
    with pytest.raises(cs.InputError, match=r"run\.pdf'; give the path of a file that ends in \.html"):
        cs.export_html(traj, "run.pdf")
    assert cs.export_html(traj, "run.HTML").is_file()


@pytest.mark.parametrize("name", ["export_html", "export_png", "export_mp4"])
def test_options_of_the_viewer_are_told_where_they_are_given(name: str) -> None:
    options = {*inspect.signature(getattr(viewer, name)).parameters} - {"traj", "path", "options"}
    told = set(re.findall(r"`(\w+)`", inspect.getdoc(getattr(cs, name)) or ""))
    assert options <= told
