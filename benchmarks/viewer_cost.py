"""How much does a viewer slow a run down?

The hexapod of the catalogue walks as fast as it can be computed: alone, and on a live page which another process looks
at and which takes every picture at once, some thirty a second with all joints, contacts and forces. Compared is the
processor time of the whole process, with painting and sending: it bounds the slow-down, since only one thread of Python
computes at a time, and does not count what else the machine does.
"""

from __future__ import annotations

import asyncio
import math
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from urllib.parse import urlsplit

from common import line
from contactsim_viz.live import Live
from tornado.httpclient import HTTPRequest
from tornado.websocket import websocket_connect

import contactsim as cs
from contactsim.io import scene
from contactsim.viewing.session import Moment, Session

END, ROUNDS = 2.0, 8  # s of the run, and how often
PICTURE = b"\x01\0\0\0"  # how the message of a picture begins


def simulation() -> cs.Simulation:
    """The demonstration of the hexapod."""
    built = scene.build(scene.parse('robot = {name = "hexapod"}'))
    return cs.Simulation(built.system, built.state, **built.options)


async def look(address: str) -> None:
    """Be a page that draws in no time."""
    place = urlsplit(address).netloc
    client = await websocket_connect(HTTPRequest(f"ws://{place}/live", headers={"Origin": f"http://{place}"}))
    while (message := await client.read_message()) is not None:
        if isinstance(message, bytes) and message.startswith(PICTURE):
            await client.write_message('{"do": "seen"}')


def least(jobs: tuple[Callable[[], None], ...]) -> list[float]:
    """Least processor time of each job [s]; they take turns, and the first round warms up."""
    rounds: list[list[float]] = []
    for _ in range(ROUNDS + 1):
        rounds.append([])
        for job in jobs:
            began = time.process_time()
            job()
            rounds[-1].append(time.process_time() - began)
    return [min(times) for times in zip(*rounds[1:], strict=True)]


def main() -> None:
    """Run alone and looked at, in turns."""
    first = simulation()
    start = first.state
    session = Session(first, END, math.inf, playing=False)
    ended = threading.Event()
    pictures: list[float] = []
    with Live(session) as live:
        paint = session.observe

        def observe(moment: Moment) -> None:
            paint(moment)
            pictures.append(time.perf_counter())
            if not moment.playing and moment.head >= END:
                ended.set()

        session.observe = observe
        viewer = subprocess.Popen([sys.executable, __file__, live.address])
        live.start()
        while not live._clients:
            time.sleep(0.01)

        def shown() -> None:
            ended.clear()
            session.drop()
            ended.wait()

        def alone() -> None:
            first.anew(first.system, start, 0.0).advance_to(END)

        without, attached = least((alone, shown))
        began = time.perf_counter()
        shown()
        seconds = time.perf_counter() - began
        rate = sum(moment > began for moment in pictures) / seconds
    viewer.wait()
    measured = f"{attached:.2f} / {without:.2f} s, {rate:.0f} pictures a second"
    line("run of the hexapod with a viewer attached / alone", measured, attached / without, 1.1)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        asyncio.run(look(sys.argv[1]))
    else:
        main()
