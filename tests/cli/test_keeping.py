"""What a run leaves behind when it is stopped, killed, run twice at a time, or finds the disk full."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import contactsim as cs
from contactsim.cli import command as cli
from contactsim.cli import job
from contactsim.common import files
from contactsim.io.netcdf import save
from contactsim.viewing import viewers
from contactsim.viewing.session import Session

START = [sys.executable, "-c", "from contactsim.cli.command import main; main()"]
SAVES = "import contactsim as cs\nrun = cs.load_scene('slip').simulate(0.1)\nfor _ in range(3): run.save('run.nc')"
LONG = ["run", "biped", "--time", "100000", "--out", "o"]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    return tmp_path


def begun(here: Path, ready: Callable[[], bool], *options: str) -> subprocess.Popen[str]:
    """A long run that has got as far as is wished."""
    pipe = subprocess.PIPE
    process = subprocess.Popen([*START, *LONG, *options], stdout=pipe, stderr=pipe, text=True, cwd=here)
    while not ready():
        assert process.poll() is None
        time.sleep(0.05)
    return process


def full_disk(monkeypatch: pytest.MonkeyPatch, *places: Path) -> None:
    """Files below these places cannot be put where they belong."""
    replace = os.replace

    def refuse(source: Path, target: Path) -> None:
        if any(place in Path(target).resolve().parents for place in places):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        replace(source, target)

    monkeypatch.setattr(files.os, "replace", refuse)


# --- stopped ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_run_is_kept(here: Path, number: signal.Signals) -> None:
    process = begun(here, (here / "o" / "run.nc").exists, "--checkpoint", "0.1")
    process.send_signal(number)
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 3
    assert "interrupted" in out
    run = cs.Trajectory.load(here / "o" / "run.nc")
    assert run.t[-1] > 0.0
    assert run.status is cs.Status.INTERRUPTED and "interrupted" in run.message


def test_a_run_that_is_killed_leaves_its_last_checkpoint(here: Path) -> None:
    """It can be read, and goes on."""
    process = begun(here, (here / "o" / "run.nc").exists, "--checkpoint", "0.1")
    process.kill()
    process.communicate(timeout=60)
    run = cs.Trajectory.load(here / "o" / "run.nc")
    assert run.status is cs.Status.RUNNING and run.t[-1] > 0.0
    walk = cs.load_scene("biped")
    going_on = cs.Simulation.resume(cs.Trajectory.load(here / "o" / "run.nc", system=walk.system))
    going_on.advance(0.1)
    assert going_on.status is cs.Status.FINISHED


def test_checkpoints_take_a_share_of_the_time(monkeypatch: pytest.MonkeyPatch, here: Path) -> None:
    """Every period; a write that lasts 3 s is followed by 30 s without one; none are written where that is wished."""
    now = [0.0]
    written = []
    monkeypatch.setattr(job.clock, "monotonic", lambda: now[0])

    def write(*_: object) -> None:
        written.append(now[0])
        now[0] += 3.0

    monkeypatch.setattr(job, "write_runs", write)
    often, never = job.Checkpoints(here, "", 10.0), job.Checkpoints(here, "", 0.0)
    while now[0] < 90.0:
        often.look(lambda: [])
        never.look(lambda: [])
        now[0] += 1.0
    assert written == [10.0, 43.0, 76.0]


# --- two at a time ----------------------------------------------------------------------------------------------------
def test_a_folder_is_written_to_by_one_run(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    process = begun(here, (here / "o" / "run.nc").exists, "--checkpoint", "0.1")
    try:
        assert cli.execute(["run", "biped", "--time", "0.01", "--out", "o"]) == 2
        assert "another run is writing to the folder o; wait for it, or give another with --out" in (
            capsys.readouterr().err
        )
    finally:
        process.kill()
        process.communicate(timeout=60)
    assert cli.execute(["run", "biped", "--time", "0.01", "--out", "o"]) == 0
    assert cs.Trajectory.load("o/run.nc").t[-1] == 0.01


def test_a_file_is_whole_whoever_writes_it(here: Path) -> None:
    """Two that write one file at a time: each to a file of its own."""
    run = cs.load_scene("slip").simulate(0.1)
    first = save(run, here / "run.nc").read_bytes()
    writes = [subprocess.Popen([sys.executable, "-c", SAVES], cwd=here) for _ in range(2)]
    assert [process.wait(timeout=120) for process in writes] == [0, 0]
    assert (here / "run.nc").read_bytes() == first
    assert [path.name for path in here.iterdir()] == ["run.nc"]


# --- the disk is full -------------------------------------------------------------------------------------------------
def test_what_was_there_stays_where_the_disk_is_full(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = cs.load_scene("slip").simulate(0.1)
    first = run.save("run.nc").read_bytes()
    full_disk(monkeypatch, here)
    with pytest.raises(cs.StorageError, match=r"cannot write run.nc \(No space left on device\); make room there"):
        run.save("run.nc")
    assert Path("run.nc").read_bytes() == first
    assert [path.name for path in here.iterdir()] == ["run.nc"]


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of temporary files."""
    folder = tmp_path_factory.mktemp("other")
    monkeypatch.setattr(job.tempfile, "tempdir", str(folder))
    return folder


def test_a_run_is_kept_elsewhere_where_the_disk_is_full(
    here: Path, elsewhere: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With all of its files; a checkpoint that cannot be written is told once and does not stop the run."""
    full_disk(monkeypatch, here)
    code = cli.execute(["run", "slip", "--time", "0.5", "--out", "o", "--checkpoint", "1e-3"])
    out, err = capsys.readouterr()
    (kept,) = elsewhere.iterdir()
    assert code == 2 and "finished" in out
    assert err.count("note: no checkpoint") == 1 and "No space left on device" in err
    assert f"the run is kept in {kept}" in err
    assert cs.Trajectory.load(kept / "run.nc").t[-1] == 0.5
    assert (kept / "slip.rc").exists()


def test_a_run_without_room_anywhere_is_told(
    here: Path, elsewhere: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its events are printed all the same."""
    full_disk(monkeypatch, here, elsewhere)
    code = cli.execute(["run", "slip", "--time", "0.5", "--out", "o"])
    out, err = capsys.readouterr()
    assert code == 2 and "3 events" in out
    (told,) = [line for line in err.splitlines() if line.startswith("contactsim: ")]
    assert "cannot write o/run.nc (No space left on device)" in told and f"nor is there room in {elsewhere}" in told
    assert not list(elsewhere.iterdir())


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_an_output_that_is_full_is_one_sentence(here: Path) -> None:
    with open("/dev/full", "w") as full:
        command = [*START, "run", "slip", "--time", "0.1", "--out", "o"]
        ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, cwd=here, timeout=120)
    assert ended.returncode == 2
    assert "cannot write the output (No space left on device)" in ended.stderr
    assert "Traceback" not in ended.stderr and "Exception" not in ended.stderr
    assert cs.Trajectory.load(here / "o" / "run.nc").t[-1] == 0.1


# --- a session --------------------------------------------------------------------------------------------------------
def test_a_switch_of_law_keeps_what_came_before(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One file for each law, in the order of time: run-1.nc, ..., and run.nc."""

    def play(session: Session, **_: object) -> None:
        session.begun = True
        session.simulation.advance_to(0.02)
        session._set_law("spring-damper")
        session.simulation.advance_to(0.04)

    monkeypatch.setattr(viewers, "view", play)
    cli.execute(["run", "hexapod", "--time", "0.04", "--out", "o", "--view"])
    out = capsys.readouterr().out
    assert "run-1.nc" in out and "run.nc" in out
    first, last = cs.Trajectory.load("o/run-1.nc"), cs.Trajectory.load("o/run.nc")
    assert (first.t[0], first.t[-1], last.t[0], last.t[-1]) == (0.0, 0.02, 0.02, 0.04)
    assert type(first.system.law) is not type(last.system.law)
