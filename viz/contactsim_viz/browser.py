"""A headless browser that shows one page and takes pictures of it, through pipes: no port is opened."""

from __future__ import annotations

import base64
import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Literal, TypeVar

from contactsim.errors import ContactSimError, InputError

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--hide-scrollbars",
)
_TIMEOUT = 60.0  # seconds of waiting for an answer
_TRIES = 2  # browsers that are started for a page, one after another: on a full machine one hangs or ends now and then
# The browser reads commands from file 3 and answers on file 4.
_PIPES = 'exec "$0" "$@" 3<&0 4>&1 0</dev/null 1>&2'
_LAST_WORDS = 2000  # characters of what a browser said that are kept
_JPEG_QUALITY = 95  # per cent
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
_DRAWN = """new Promise((done) => {
  viewer.set_dirty();
  requestAnimationFrame(() => requestAnimationFrame(() => done(true)));
})"""


T = TypeVar("T")


class BrowserFailure(ContactSimError):
    """A browser hung or ended; another may not."""


def find_browser() -> str | None:
    """Path of the first browser of `BROWSERS` that is installed."""
    return next((found for found in map(shutil.which, BROWSERS) if found), None)


def demand_browser(what: str) -> str:
    """Path of the browser that `what` (as in "a picture") needs.

    Raises:
        InputError: none is installed.
    """
    browser = find_browser()
    if browser is None:
        raise InputError(f"{what} needs Chromium or Google Chrome; install one, for example: apt install chromium")
    return browser


def work_on(browser: str, address: str, width: int, height: int, work: Callable[[Tab], T]) -> T:
    """The result of `work` on the page at an address, which is shown `width` x `height` pixels large and ready.

    Where a browser hangs or ends, the work is begun once more with another.

    Raises:
        ContactSimError: the page failed, or the second browser did as well.
    """
    for turn in range(1, _TRIES + 1):
        try:
            with _opened(browser, width, height) as tab:
                tab.show(address)
                return work(tab)
        except BrowserFailure:
            if turn == _TRIES:
                raise
    raise AssertionError("a browser is tried at least once")


@contextmanager
def _opened(browser: str, width: int, height: int) -> Iterator[Tab]:
    """A browser with one empty page; it ends with the `with`."""
    with tempfile.TemporaryDirectory(prefix="contactsim-", ignore_cleanup_errors=True) as folder:
        flags = [*FLAGS, "--remote-debugging-pipe", f"--user-data-dir={folder}/profile"]
        command = ["sh", "-c", _PIPES, browser, *flags, f"--window-size={width},{height}", "about:blank"]
        pipe = subprocess.PIPE
        with (
            tempfile.TemporaryFile() as said,
            subprocess.Popen(
                command, stdin=pipe, stdout=pipe, stderr=said, bufsize=0, start_new_session=True
            ) as process,
        ):
            assert process.stdin is not None and process.stdout is not None
            watch = _Watch(process)
            try:
                tab = Tab(process.stdin, process.stdout, watch)
                tab.open(width, height)
                yield tab
            except BrowserFailure as failure:
                failure.problem["said"] = _last_output(said)
                raise
            finally:
                watch.cancel()
                _end(process)


def _last_output(said: IO[bytes]) -> str:
    said.seek(0)
    return said.read().decode(errors="replace")[-_LAST_WORDS:]


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
        self._timer = threading.Timer(_TIMEOUT, self._time_out)
        self._timer.daemon = True
        self._timer.start()

    def cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _time_out(self) -> None:
        self.ended = True
        _end(self._process)


class Tab:
    """A page of a browser, asked through its pipes."""

    def __init__(self, commands: IO[bytes], answers: IO[bytes], watch: _Watch) -> None:
        self._commands, self._answers, self._watch = commands, answers, watch
        self._number, self._session = 0, ""
        self._rest = b""

    def open(self, width: int, height: int) -> None:
        """Take hold of an empty page of that size."""
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.ask("Page.enable")
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.ask("Emulation.setDeviceMetricsOverride", **size)

    def show(self, address: str) -> None:
        """Open a page of the viewer and wait until it is drawn."""
        self.ask("Page.navigate", url=address)
        self.value(_READY)
        self.value(_AWAKE)

    def value(self, expression: str) -> Any:
        """Value of a JavaScript expression, or of what it promises."""
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise ContactSimError(
                "the page failed before its picture was taken; open it to see", said=json.dumps(answer)
            )
        return answer["result"].get("value")

    def picture(self, kind: Literal["jpeg", "png"]) -> bytes:
        """Picture of the page after its next frame."""
        self.value(_DRAWN)
        options = {"quality": _JPEG_QUALITY} if kind == "jpeg" else {}
        return base64.b64decode(self.ask("Page.captureScreenshot", format=kind, **options)["data"])

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command and wait for its answer."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        self._watch.start()
        try:
            write(self._commands, json.dumps(message).encode() + b"\0")
            while (answer := self._next()).get("id") != self._number:
                pass
        except BrokenPipeError:
            raise self._gone() from None
        finally:
            self._watch.cancel()
        if "error" in answer:
            raise BrowserFailure(f"the browser refused {method}; run it again", said=json.dumps(answer["error"]))
        return answer["result"]

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            part = os.read(self._answers.fileno(), 1 << 20)
            if not part:
                raise self._gone()
            self._rest += part
        line, _, self._rest = self._rest.partition(b"\0")
        return json.loads(line)

    def _gone(self) -> BrowserFailure:
        if self._watch.ended:
            return BrowserFailure(f"{_TRIES} browsers gave no answer within {_TIMEOUT:g} s each; run it again")
        return BrowserFailure("the browser ended before the picture was taken; run it again")


def write(pipe: IO[bytes], data: bytes) -> None:
    """Write all of it; the pipe has no buffer, since one could not be emptied when the other end is gone."""
    while data:
        data = data[pipe.write(data) :]


def address_of(page: Path, fragment: str) -> str:
    """Address of a page in a file; the `fragment` is what follows its #."""
    return f"{page.resolve().as_uri()}#{fragment}"


def take_picture(page: Path, picture: Path, moment: float, width: int, height: int) -> None:
    """Save what `page` shows at a time of the run as a PNG of `width` x `height` pixels.

    Raises:
        InputError: no browser is installed.
        ContactSimError: the browser took no picture (its last words are in `problem`).
    """
    address = address_of(page, f"t={moment!r}&still")
    picture.write_bytes(work_on(demand_browser("a picture"), address, width, height, lambda tab: tab.picture("png")))
