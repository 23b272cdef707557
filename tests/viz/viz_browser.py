"""A real browser without a window, driven through its DevTools socket: pages are opened, clicked and asked."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import tempfile
import time
from collections.abc import Callable
from typing import Any

from contactsim_viz import browser
from tornado.websocket import WebSocketClientConnection, websocket_connect

PATIENCE = 60.0  # s, for a machine with much else to do
GLANCE = 0.05  # s between two looks
LARGEST = 64 * 2**20  # bytes of an answer
PAINTED = "performance.getEntriesByType('paint').length > 0"  # before that, a browser may drop what is clicked
# Where an element is when it stands still from one frame to the next; window.hit then tells what is clicked.
AT_REST = """new Promise((done) => {
  const found = document.querySelector(SELECTOR);
  found.scrollIntoView({block: "nearest"});
  const look = (before) => {
    const {x, y, width, height} = found.getBoundingClientRect(), now = JSON.stringify([x, y, width, height]);
    if (now === before) done({x, y, width, height});
    else requestAnimationFrame(() => look(now));
  };
  const note = (event) => { window.hit = found.contains(event.target) ? "it" : "another"; };
  window.hit = "";
  addEventListener("click", note, {once: true, capture: true});
  look("");
})"""


class Browser:
    """Chromium, for as long as a `with` lasts."""

    def __enter__(self) -> Browser:
        self._folder = tempfile.TemporaryDirectory(prefix="contactsim-", ignore_cleanup_errors=True)
        found = browser.find_browser()
        assert found is not None
        command = [found, *browser.FLAGS, f"--user-data-dir={self._folder.name}", "--remote-debugging-port=0"]
        self._process = subprocess.Popen(
            [*command, "--window-size=1280,800", "about:blank"], stderr=subprocess.PIPE, text=True
        )
        said = ""
        for line in self._process.stderr:
            said += line
            if found_address := re.search(r"ws://\S+", line):
                break
        else:
            raise AssertionError(f"the browser does not start: {said[-2000:]}")
        self._loop = asyncio.new_event_loop()
        self._socket = self._wait(lambda: websocket_connect(found_address[0], max_message_size=LARGEST))
        self._number, self._said = 0, {}
        self.tabs: dict[str, Tab] = {}
        return self

    def __exit__(self, *given: object) -> None:
        self._process.kill()
        self._process.wait()
        self._process.stderr.close()
        self._loop.run_until_complete(self._hang_up())
        self._loop.close()
        self._folder.cleanup()

    async def _hang_up(self) -> None:
        self._socket.close()
        await asyncio.sleep(0)

    def _wait(self, begin: Callable[[], Any]) -> Any:
        async def wait() -> Any:
            return await asyncio.wait_for(begin(), PATIENCE)

        return self._loop.run_until_complete(wait())

    def call(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        """Send a command and return its answer; what happens meanwhile is noted in the tabs."""
        assert isinstance(self._socket, WebSocketClientConnection)
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        sent = json.dumps(message | ({"sessionId": session} if session else {}))
        self._wait(lambda: self._socket.write_message(sent))
        while True:
            text = self._wait(self._socket.read_message)
            assert text is not None, "the browser has hung up"
            answer = json.loads(text)
            if answer.get("id") == self._number:
                assert "error" not in answer, answer["error"]
                return answer["result"]
            if answer.get("sessionId") in self.tabs:
                self.tabs[answer["sessionId"]].note(answer["method"], answer["params"])

    def open(self, address: str) -> Tab:
        """A new tab that shows an address."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        tab = self.tabs[session] = Tab(self, session, target)
        for domain in ("Runtime", "Page", "Network", "Log"):
            tab.call(f"{domain}.enable")
        tab.call("Page.navigate", url=address)
        tab.until("location.href !== 'about:blank' && document.readyState === 'complete'")
        return tab


class Tab:
    """One page.

    Attributes:
        errors: what the page complained of.
        requests: addresses that it asked for.
        loads: how many times it was loaded.
    """

    def __init__(self, browser: Browser, session: str, target: str) -> None:
        self._browser, self._session, self._target = browser, session, target
        self.errors: list[str] = []
        self.requests: list[str] = []
        self.loads = 0

    def note(self, method: str, told: dict[str, Any]) -> None:
        """Keep what the browser tells of the page."""
        if method == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(told["exceptionDetails"])[:500])
        if method == "Runtime.consoleAPICalled" and told["type"] in ("error", "warning", "assert"):
            self.errors.append(json.dumps(told["args"])[:500])
        if method == "Log.entryAdded" and told["entry"]["level"] == "error":
            self.errors.append(told["entry"]["text"])
        if method == "Network.requestWillBeSent":
            self.requests.append(told["request"]["url"])
        if method == "Page.loadEventFired":
            self.loads += 1
        if method == "Network.webSocketCreated":
            self.requests.append(told["url"])

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """A command for this page."""
        return self._browser.call(method, self._session, **parameters)

    def ask(self, expression: str) -> Any:
        """Value of a JavaScript expression, or of what it promises."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def until(self, expression: str) -> Any:
        """Wait until an expression is true; returns it."""
        end = time.monotonic() + PATIENCE
        while not (value := self.ask(expression)):
            assert time.monotonic() < end, f"{expression} did not become true; the page said {self.errors}"
            time.sleep(GLANCE)
        return value

    def click(self, selector: str, along: float = 0.5) -> None:
        """Press the mouse on an element, at a share of its width, and wait until the page has noticed."""
        self.press(selector, along)()
        assert self.until("window.hit") == "it", f"something else was there when {selector} was clicked"

    def press(self, selector: str, along: float = 0.5) -> Callable[[], None]:
        """Press the mouse on an element as soon as it stands still; what is returned lets go of it."""
        self.call("Page.bringToFront")
        self.until(PAINTED)
        box = self.ask(AT_REST.replace("SELECTOR", json.dumps(selector)))
        assert box["width"] > 0, f"{selector} is not to be seen"
        at = {"x": box["x"] + along * box["width"], "y": box["y"] + box["height"] / 2}
        button = {"button": "left", "clickCount": 1}
        self.call("Input.dispatchMouseEvent", type="mouseMoved", **at)
        self.call("Input.dispatchMouseEvent", type="mousePressed", **at, **button)

        def release() -> None:
            self.call("Input.dispatchMouseEvent", type="mouseReleased", **at, **button)

        return release

    def choose(self, selector: str, value: str) -> None:
        """Choose an option of a list, as its own menu does, which a browser without a window does not show."""
        self.ask(
            f"(() => {{ const list = document.querySelector({json.dumps(selector)}); list.value = {json.dumps(value)};"
            " list.dispatchEvent(new Event('change', {bubbles: true})); })()"
        )

    def reload(self) -> None:
        """Load the page again."""
        before, end = self.loads, time.monotonic() + PATIENCE
        self.call("Page.reload")
        while self.loads == before:
            assert time.monotonic() < end, "the page is not loaded again"
            time.sleep(GLANCE)
            self._browser.call("Target.getTargets")  # what happened meanwhile is noted

    def close(self) -> None:
        """Close the page as a user does."""
        self._browser.call("Target.closeTarget", targetId=self._target)
        del self._browser.tabs[self._session]
