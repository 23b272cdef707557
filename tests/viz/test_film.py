"""Films: a real one, frame by frame, and what is said where a program is missing or fails."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import viz_fakes as fakes
from contactsim_viz import browser, export_mp4, export_png, film

from contactsim.errors import ContactSimError, InputError

needs_film = pytest.mark.skipif(
    browser.find_browser() is None or film.find_ffmpeg() is None, reason="no Chromium, or no ffmpeg"
)


@pytest.fixture(scope="module")
def walk() -> fakes.Trajectory:
    return fakes.walk(fakes.hexapod(), duration=0.2)


def test_frames_cover_the_run() -> None:
    reel = film.Reel(fps=10.0, step=0.1, duration=0.35, width=10, height=10)
    assert reel.times == pytest.approx([0.0, 0.1, 0.2, 0.3, 0.35])
    assert film.Reel(10.0, 0.1, 0.3, 10, 10).times == pytest.approx([0.0, 0.1, 0.2, 0.3])


@needs_film
def test_a_film_has_its_frames_and_size_and_moves(walk: fakes.Trajectory, tmp_path: Path) -> None:
    made = export_mp4(walk, tmp_path / "walk.mp4", fps=20, width=320, height=200)
    raw = [film.find_ffmpeg(), "-loglevel", "error", "-i", str(made), "-f", "rawvideo", "-pix_fmt", "gray", "-"]
    pixels = subprocess.run(raw, capture_output=True, check=True).stdout
    frames = [pixels[k : k + 320 * 200] for k in range(0, len(pixels), 320 * 200)]
    assert [len(frame) for frame in frames] == [320 * 200] * 5
    first, last = frames[0], frames[-1]
    assert sum(abs(a - b) > 30 for a, b in zip(first, last, strict=True)) > 100


def test_what_is_missing_is_named(walk: fakes.Trajectory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(browser, "find_browser", lambda: "browser")
    monkeypatch.setattr(film, "find_ffmpeg", lambda: None)
    with pytest.raises(InputError, match=r"a film needs ffmpeg; install it with: pip install 'contactsim\[film\]'"):
        export_mp4(walk, tmp_path / "walk.mp4")
    monkeypatch.setattr(browser, "find_browser", lambda: None)
    with pytest.raises(InputError, match="a film needs Chromium or Google Chrome"):
        export_mp4(walk, tmp_path / "walk.mp4")
    assert not list(tmp_path.iterdir())


def test_odd_sizes_and_missing_folders_are_told(walk: fakes.Trajectory, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="width = 321 is odd"):
        export_mp4(walk, tmp_path / "walk.mp4", width=321)
    with pytest.raises(InputError, match="does not exist"):
        export_mp4(walk, tmp_path / "none" / "walk.mp4")


@needs_film
def test_an_ffmpeg_that_fails_is_told(walk: fakes.Trajectory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(film, "find_ffmpeg", lambda: "false")
    with pytest.raises(ContactSimError, match="ffmpeg made no film"):
        export_mp4(walk, tmp_path / "walk.mp4", fps=10, width=64, height=64)
    assert not list(tmp_path.iterdir())


def test_a_browser_that_ends_is_told(walk: fakes.Trajectory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(browser, "find_browser", lambda: "false")
    monkeypatch.setattr(film, "find_ffmpeg", lambda: "true")
    with pytest.raises(ContactSimError, match="the browser ended before the picture was taken"):
        export_mp4(walk, tmp_path / "walk.mp4")


@needs_film
def test_a_browser_that_does_not_answer_is_told(
    walk: fakes.Trajectory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(browser, "_TIMEOUT", 0.5)
    monkeypatch.setattr(browser, "_READY", "new Promise(() => {})")
    with pytest.raises(ContactSimError, match=r"2 browsers gave no answer within 0.5 s each"):
        export_mp4(walk, tmp_path / "walk.mp4", fps=10, width=64, height=64)
    assert not list(tmp_path.iterdir())


@needs_film
def test_a_browser_that_ends_is_followed_by_another(
    walk: fakes.Trajectory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing, mark = tmp_path / "browser", tmp_path / "tried"
    failing.write_text(f'#!/bin/sh\ntest -e {mark} && exec {browser.find_browser()} "$@"\ntouch {mark}\nexit 1\n')
    failing.chmod(0o755)
    monkeypatch.setattr(browser, "find_browser", lambda: str(failing))
    assert export_png(walk, tmp_path / "walk.png", t=0.1, width=64, height=64).stat().st_size > 0
    assert mark.exists()
