"""How many pictures a second does a browser show of the hexapod, live, with its contacts and arrows?

The demonstration walks at the pace of the clock on a live page in Chromium without a window. Counted are the pictures
that the page drew, the first seconds left out: in these it settles on a quality that the machine can draw. Without a
graphics card the processor draws, and shares its cores with the run.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from common import line
from contactsim_viz.live import Live

import contactsim as cs
from contactsim.io import scene
from contactsim.viewing.session import Session

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "viz"))
from viz_browser import Browser

SETTLE, WATCH = 6.0, 6.0  # s of looking on
TARGET = 30.0  # pictures a second
RENDERER = "renderer_of(document.createElement('canvas').getContext('webgl'))"


def main() -> None:
    """Count the pictures of a page that looks on."""
    built = scene.build(scene.parse('robot = {name = "hexapod"}'))
    session = Session(cs.Simulation(built.system, built.state, **built.options), end=60.0, title="hexapod")
    with Browser() as browser, Live(session).start() as live:
        tab = browser.open(live.address)
        tab.until("page.pictures > 0")
        session.play()
        time.sleep(SETTLE)
        before, began = tab.ask("page.rendered"), time.perf_counter()
        time.sleep(WATCH)
        rate = (tab.ask("page.rendered") - before) / (time.perf_counter() - began)
        drawn_by = tab.ask(RENDERER)
        line("pictures of the live hexapod", f"drawn by {drawn_by}", rate, TARGET, " a second", at_least=True)


if __name__ == "__main__":
    main()
