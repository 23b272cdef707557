"""Films a page: a browser without a window shows frame after frame, and ffmpeg makes a film of them."""

from __future__ import annotations

import base64
import json
import math
import os
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from contactsim.errors import ContactSimError, InputError

from . import snapshot

_PATIENCE = 120.0  # seconds of waiting for an answer of the browser
_QUALITY = 95  # of the pictures that are handed on, per cent
_ROUNDING = 1e-6  # frames, by which a duration is longer than its frames without needing one more
_RATE_FACTOR = 20  # of the film, x264's; lower is larger and better
# The browser reads commands from file 3 and answers on file 4: no port is opened.
_PIPES = 'exec "$0" "$@" 3<&0 4>&1 0</dev/null 1>&2'
_READY = """new Promise((done) => {
  const ready = () => document.body?.classList.contains("ready");
  const look = () => ready() ? done(true) : setTimeout(look, 20);
  look();
})"""
# A browser with nothing new to draw may keep a picture back for ever: one dot, as good as unseen, moves all the time.
_AWAKE = """(() => {
  const dot = document.createElement("div");
  dot.style.cssText = "position:fixed;left:0;top:0;width:1px;height:1px;background:#fff;opacity:0.004";
  document.body.append(dot);
  let turn = 0;
  const move = () => {
    dot.style.transform = `translateX(${turn++ % 2}px)`;
    requestAnimationFrame(move);
  };
  move();
})()"""
_GO = """(() => {
  viewer.animator.seek(TIME);
  return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))));
})()"""


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
    browser, ffmpeg = snapshot.find_browser(), find_ffmpeg()
    if browser is None:
        raise InputError("a film needs Chromium or Google Chrome; install one, for example: apt install chromium")
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
    with tempfile.TemporaryDirectory(prefix="contactsim-", ignore_cleanup_errors=True) as folder:
        unfinished = Path(folder) / "film.mp4"
        with _opened(browser, folder, reel) as tab:
            tab.ask("Page.navigate", url=f"{page.resolve().as_uri()}#t={reel.times[0]!r}&still&film")
            tab.value(_READY)
            tab.value(_AWAKE)
            _encode(ffmpeg, unfinished, reel, (tab.picture(time) for time in reel.times))
        shutil.copyfile(unfinished, film)


def _encode(ffmpeg: str, film: Path, reel: Reel, pictures: Iterator[bytes]) -> None:
    source = ["-f", "image2pipe", "-c:v", "mjpeg", "-framerate", f"{reel.fps:g}", "-i", "-"]
    target = ["-c:v", "libx264", "-pix_fmt", "yuv420p", "-crf", str(_RATE_FACTOR), "-movflags", "+faststart"]
    command = [ffmpeg, "-y", "-loglevel", "error", *source, *target, str(film)]
    with tempfile.TemporaryFile() as said:
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=said, stderr=said, bufsize=0) as process:
            assert process.stdin is not None
            try:
                for picture in pictures:
                    _write(process.stdin, picture)
            except BrokenPipeError:
                pass  # it has ended, and says why
            except BaseException:
                process.kill()
                raise
        said.seek(0)
        words = said.read().decode(errors="replace")
    if process.returncode or not film.is_file():
        raise ContactSimError("ffmpeg made no film; see its last words in 'problem'", said=words)


def _write(pipe: IO[bytes], data: bytes) -> None:
    """Write all of it; the pipe has no buffer, since one could not be emptied when the other end is gone."""
    while data:
        data = data[pipe.write(data) :]


@contextmanager
def _opened(browser: str, folder: str, reel: Reel) -> Iterator[_Tab]:
    """A browser with one empty page; it ends with the `with`."""
    flags = [*snapshot.FLAGS, "--remote-debugging-pipe", f"--user-data-dir={folder}/profile"]
    command = ["sh", "-c", _PIPES, browser, *flags, f"--window-size={reel.width},{reel.height}", "about:blank"]
    pipe, silent = subprocess.PIPE, subprocess.DEVNULL
    with subprocess.Popen(
        command, stdin=pipe, stdout=pipe, stderr=silent, bufsize=0, start_new_session=True
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        watch = _Watch(process)
        try:
            tab = _Tab(process.stdin, process.stdout, watch)
            tab.open(reel.width, reel.height)
            yield tab
        finally:
            watch.cancel()
            _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a browser with all that it started, which is a group of its own."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


class _Watch:
    """Ends a browser that does not answer, and remembers (`ended`) that it did."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._timer: threading.Timer | None = None
        self.ended = False

    def start(self) -> None:
        self.cancel()
        self._timer = threading.Timer(_PATIENCE, self._lose_patience)
        self._timer.daemon = True
        self._timer.start()

    def cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _lose_patience(self) -> None:
        self.ended = True
        _end(self._process)


class _Tab:
    """A page of a browser, asked through its pipes."""

    def __init__(self, commands: IO[bytes], answers: IO[bytes], watch: _Watch) -> None:
        self._commands, self._answers, self._watch = commands, answers, watch
        self._number, self._session = 0, ""
        self._rest = b""

    def open(self, width: int, height: int) -> None:
        """Take hold of a page of that size."""
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.ask("Page.enable")
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.ask("Emulation.setDeviceMetricsOverride", **size)

    def value(self, expression: str) -> Any:
        """Value of a JavaScript expression, or of what it promises."""
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise ContactSimError("the page failed while it was filmed; open it to see", said=json.dumps(answer))
        return answer["result"].get("value")

    def picture(self, time: float) -> bytes:
        """Picture of the page at a time of the run, as JPEG."""
        self.value(_GO.replace("TIME", repr(time)))
        shot = self.ask("Page.captureScreenshot", format="jpeg", quality=_QUALITY)
        return base64.b64decode(shot["data"])

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command and wait for its answer."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        self._watch.start()
        try:
            _write(self._commands, json.dumps(message).encode() + b"\0")
            while (answer := self._next()).get("id") != self._number:
                pass
        except BrokenPipeError:
            raise self._hung_up() from None
        finally:
            self._watch.cancel()
        if "error" in answer:
            raise ContactSimError(f"the browser refused {method}; run it again", said=json.dumps(answer["error"]))
        return answer["result"]

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            part = os.read(self._answers.fileno(), 1 << 20)
            if not part:
                raise self._hung_up()
            self._rest += part
        line, _, self._rest = self._rest.partition(b"\0")
        return json.loads(line)

    def _hung_up(self) -> ContactSimError:
        if self._watch.ended:
            return ContactSimError(f"the browser gave no answer within {_PATIENCE:g} s of a film; run it again")
        return ContactSimError("the browser ended while the film was made; run it again")
