"""Files are written whole, where a file can be, and nothing else makes way for one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import contactsim as cs
from contactsim.common.files import write_whole


def test_what_is_no_file_is_not_replaced_by_one(tmp_path: Path) -> None:
    pipe = tmp_path / "run.nc"
    os.mkfifo(pipe)
    with pytest.raises(cs.InputError, match=r"run\.nc: it is no file, but a folder or a device; give a file"):
        write_whole(pipe, b"run")
    assert pipe.is_fifo()
    assert list(tmp_path.iterdir()) == [pipe]


def test_a_link_leads_to_what_is_written(tmp_path: Path) -> None:
    (tmp_path / "large").mkdir()
    there, link = tmp_path / "large/run.nc", tmp_path / "run.nc"
    link.symlink_to(there)
    for content in (b"first", b"second"):
        write_whole(link, content)
        assert link.is_symlink()
        assert there.read_bytes() == content
