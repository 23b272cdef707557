"""Films of a page: a headless browser shows frame after frame, and ffmpeg makes a film of them."""

from __future__ import annotations

import math
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from contactsim.errors import ContactSimError, InputError

from .browser import Tab, address_of, demand_browser, work_on, write

_ROUNDING = 1e-6  # frames, by which a duration is longer than its frames without needing one more
_RATE_FACTOR = 20  # of the film, x264's; lower is larger and better


@dataclass(frozen=True)
class Reel:
    """Subject of a film.

    Attributes:
        fps: frames a second.
        step: seconds of the run between two frames.
        duration: of the run, seconds.
        width, height: pixels.
    """

    fps: float
    step: float
    duration: float
    width: int
    height: int

    @property
    def times(self) -> list[float]:
        """Seconds after the start at which a frame is taken."""
        count = math.ceil(self.duration / self.step - _ROUNDING) + 1
        return [min(k * self.step, self.duration) for k in range(count)]


def find_ffmpeg() -> str | None:
    """Path of ffmpeg: of the package imageio-ffmpeg, or of the machine."""
    try:
        import imageio_ffmpeg
    except ImportError:
        return shutil.which("ffmpeg")
    try:
        return str(imageio_ffmpeg.get_ffmpeg_exe())
    except RuntimeError:
        return shutil.which("ffmpeg")


def demand_tools() -> tuple[str, str]:
    """Paths of the browser and of ffmpeg."""
    browser, ffmpeg = demand_browser("a film"), find_ffmpeg()
    if ffmpeg is None:
        raise InputError("a film needs ffmpeg; install it with: pip install 'contactsim[film]'")
    return browser, ffmpeg


def take(page: Path, film: Path, reel: Reel) -> None:
    """Save a film of `page` from its first to its last moment.

    Raises:
        InputError: no browser or no ffmpeg is installed.
        ContactSimError: one of them failed; its last words are in `problem`.
    """
    browser, ffmpeg = demand_tools()
    address = address_of(page, f"t={reel.times[0]!r}&still&film")
    with tempfile.TemporaryDirectory(prefix="contactsim-") as folder:
        unfinished = Path(folder) / "film.mp4"
        work_on(
            browser, address, reel.width, reel.height, lambda tab: _encode(ffmpeg, unfinished, reel, _frames(tab, reel))
        )
        shutil.copyfile(unfinished, film)


def _frames(tab: Tab, reel: Reel) -> Iterator[bytes]:
    """Picture of each frame, as JPEG."""
    for time in reel.times:
        tab.value(f"viewer.animator.seek({time!r})")
        yield tab.picture("jpeg")


def _encode(ffmpeg: str, film: Path, reel: Reel, pictures: Iterator[bytes]) -> None:
    source = ["-f", "image2pipe", "-c:v", "mjpeg", "-framerate", f"{reel.fps:g}", "-i", "-"]
    target = ["-c:v", "libx264", "-pix_fmt", "yuv420p", "-crf", str(_RATE_FACTOR), "-movflags", "+faststart"]
    command = [ffmpeg, "-y", "-loglevel", "error", *source, *target, str(film)]
    with tempfile.TemporaryFile() as said:
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=said, stderr=said, bufsize=0) as process:
            assert process.stdin is not None
            try:
                for picture in pictures:
                    write(process.stdin, picture)
            except BrokenPipeError:
                pass  # it has ended, and says why
            except BaseException:
                process.kill()
                raise
        said.seek(0)
        words = said.read().decode(errors="replace")
    if process.returncode or not film.is_file():
        raise ContactSimError("ffmpeg made no film; see its last words in 'problem'", said=words)
