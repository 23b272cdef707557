"""How many pictures a second does a browser show of the hexapod, and what does one cost?

A finished run is played from its page at 800 x 500 pixels, all of them the picture, and then as the page opens, with
its curves and the list of events; after that the demonstration walks live. All of it in Chromium without a window.
Counted are the pictures that a page drew, the first seconds left out: in these it settles on a quality that the machine
can draw. Processor time is that of all processes of the browser. Without a graphics card the processor draws.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from common import line
from contactsim_viz.live import Live

import contactsim as cs
from contactsim.io import scene
from contactsim.viewing.session import Session

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "viz"))
from viz_browser import Browser

END = 3.0  # s of the run that is played
SETTLE, WATCH = 8.0, 8.0  # s of looking on
TARGET = 30.0  # pictures a second
MOST = 1000.0 / TARGET  # ms of processor time for a picture
SIZE = {"width": 800, "height": 500}
ONLY_PICTURE = "[...document.body.children].forEach((part) => { part.hidden = part.id !== 'pane'; })"
COUNT = """window.pictures = 0;
(() => { const drawn = view.drawn.bind(view); view.drawn = () => { window.pictures += 1; drawn(); }; })();"""
RENDERER = "by_processor() ? 'drawn by the processor' : 'drawn by a graphics card'"
TICK = os.sysconf("SC_CLK_TCK")


def spent(process: int) -> float:
    """Processor time of a process and all below it [s]."""
    children: dict[int, list[int]] = {}
    times: dict[int, float] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            told = (folder / "stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue  # it has ended
        children.setdefault(int(told[1]), []).append(int(folder.name))
        times[int(folder.name)] = (int(told[11]) + int(told[12])) / TICK
    found = [process]
    for one in found:
        found += children.get(one, [])
    return sum(times.get(one, 0.0) for one in found)


def watched(browser: Browser, tab: Any, counted: str) -> tuple[float, float]:
    """Pictures a second, and processor time of each [ms]."""
    time.sleep(SETTLE)
    own = browser._process.pid
    before, busy, began = tab.ask(counted), spent(own), time.perf_counter()
    time.sleep(WATCH)
    count, busy, took = tab.ask(counted) - before, spent(own) - busy, time.perf_counter() - began
    return count / took, 1e3 * busy / max(count, 1)


def told(name: str, tab: Any, rate: float, cost: float) -> None:
    """Two lines of the table."""
    wide, high = tab.ask("[el('pane').clientWidth, el('pane').clientHeight]")
    load = f"{wide} x {high}, quality {tab.ask('view.quality.level')} of 0 to 6, load {os.getloadavg()[0]:.1f}"
    line(f"pictures of {name}", f"{tab.ask(RENDERER)}; {load}", rate, TARGET, " a second", at_least=True)
    line("... processor time of one", "all processes of the browser", cost, MOST, " ms")


def playback(browser: Browser) -> None:
    """A finished run."""
    run = cs.load_scene("hexapod").simulate(END)
    with tempfile.TemporaryDirectory() as folder:
        page = cs.export_html(run, Path(folder) / "page.html")
        for name, prepare in (("a finished run", ONLY_PICTURE), ("the same, with curves and events", "0")):
            tab = browser.open(f"{page.as_uri()}#t=0")
            tab.call("Emulation.setDeviceMetricsOverride", **SIZE, deviceScaleFactor=1, mobile=False)
            tab.until("document.body.classList.contains('ready')")
            tab.ask(f"{prepare}; {COUNT} viewer.animator.play()")
            told(name, tab, *watched(browser, tab, "pictures"))
            tab.close()


def live(browser: Browser) -> None:
    """A run that is computed meanwhile."""
    built = scene.build(scene.parse('robot = {name = "hexapod"}'))
    session = Session(cs.Simulation(built.system, built.state, **built.options), end=60.0, title="hexapod")
    with Live(session).start() as page:
        tab = browser.open(page.address)
        tab.until("page.pictures > 0")
        session.play()
        rate, cost = watched(browser, tab, "page.rendered")
        told("the live hexapod", tab, rate, cost)


if __name__ == "__main__":
    with Browser() as browser:
        playback(browser)
        live(browser)
