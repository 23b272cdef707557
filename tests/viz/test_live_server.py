"""The server of the live page: who gets in, what is listened to, and that nothing of it stays behind."""

from __future__ import annotations

import asyncio
import gc
import http.client
import json
import logging
import math
import os
import random
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from contactsim_viz import messages
from contactsim_viz.live import SHARE, Live
from contactsim_viz.server import THREAD, Server
from tornado.httpclient import HTTPClientError, HTTPRequest
from tornado.websocket import websocket_connect
from viz_sessions import PATIENCE, on_a_page, standing, until, walking

from contactsim.errors import InputError


@pytest.fixture(scope="module")
def live() -> Iterator[Live]:
    with on_a_page(standing(end=0.05)) as live:
        yield live


def speak(live: Live, *said: str | bytes, origin: str | None = "", host: str = "") -> list[Any]:
    """Connect as a page does, say something, and return the texts that were answered up to the first picture."""
    port = live.address.rsplit(":", 1)[1].strip("/")
    own = f"127.0.0.1:{port}"
    headers = {"Host": host or own} | ({} if origin is None else {"Origin": origin or f"http://{own}"})

    async def talk() -> list[Any]:
        client = await websocket_connect(HTTPRequest(f"ws://{own}/live", headers=headers))
        for one in said:
            await client.write_message(one, binary=isinstance(one, bytes))
        heard = []
        while (answer := await asyncio.wait_for(client.read_message(), PATIENCE)) is not None:
            if isinstance(answer, str):
                heard.append(json.loads(answer))
            done = {"refused"} if said else {"panel"}
            if heard and heard[-1]["type"] in done:
                break
        client.close()
        return heard

    return asyncio.run(talk())


def get(live: Live, path: str, host: str) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection("127.0.0.1", int(live.address.rsplit(":", 1)[1].strip("/")))
    connection.request("GET", path, headers={"Host": host})
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer


# --- who gets in ----------------------------------------------------------------------------------


def test_it_listens_on_the_loopback_address_only(live: Live) -> None:
    port = live._server.port
    assert {found.getsockname()[0] for found in live._server._sockets} == {"127.0.0.1"}
    others = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)} - {"127.0.0.1"}
    for address in others - {f"127.0.{k}.1" for k in (0, 1)}:
        with pytest.raises(OSError):
            socket.create_connection((address, port), timeout=2.0)


@pytest.mark.parametrize("path", ["/", "/meshcat.js", "/live"])
@pytest.mark.parametrize("host", ["example.org", "127.0.0.1", "127.0.0.1:1", "localhost.example.org:80"])
def test_a_name_that_was_made_to_point_here_gets_nothing(live: Live, path: str, host: str) -> None:
    assert get(live, path, host).status == 403


def test_the_page_may_load_nothing_from_elsewhere(live: Live) -> None:
    answer = get(live, "/", live._server.hosts[0])
    policy = answer.headers["Content-Security-Policy"]
    assert answer.status == 200
    assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
    assert not re.search(r"https?:|\*", policy)
    assert get(live, "/../pyproject.toml", live._server.hosts[0]).status == 404


@pytest.mark.parametrize("origin", ["http://example.org", "null", "file://", "http://127.0.0.1:1", None])
def test_a_page_of_another_site_cannot_connect(live: Live, origin: str | None, caplog: Any) -> None:
    with pytest.raises(HTTPClientError) as refused:
        speak(live, origin=origin)
    assert refused.value.code == 403


def test_its_own_page_is_told_what_there_is(live: Live) -> None:
    heard = speak(live)
    assert [told["type"] for told in heard] == ["hello", "take", "panel"]
    names = {control["name"] for control in heard[-1]["controls"]}
    assert {"contact.friction", "contact.restitution", "controller.kp"} <= names
    assert heard[-1]["law"] == "coulomb" and "spring-damper" in heard[-1]["laws"]


# --- what is listened to --------------------------------------------------------------------------

HOSTILE = [
    "",
    "play",
    "[]",
    "null",
    '{"do": "shutdown"}',
    '{"do": "play", "and": 1}',
    '{"do": "speed", "value": "1"}',
    '{"do": "speed", "value": NaN}',
    '{"do": "speed", "value": 1e999}',
    '{"do": "speed", "value": true}',
    '{"do": "speed", "value": -1}',
    '{"do": "seek", "time": null}',
    '{"do": "event", "step": 2}',
    '{"do": "push", "force": [1, 2]}',
    '{"do": "push", "force": [1, 2, 1e300]}',
    '{"do": "push", "force": [1, 2, 3], "body": "base"}',
    '{"do": "set", "name": "__class__", "value": 1}',
    '{"do": "set", "name": "law.stiffness", "value": 1}',
    '{"do": "set", "name": {"a": 1}, "value": 1}',
    '{"do": "law", "name": "os:system"}',
    '{"do": "rtol", "value": 0}',
    '{"do": "set", "name": "' + 300 * "x" + '", "value": 1}',
    b"\x00\x01",
]


@pytest.mark.parametrize("said", HOSTILE, ids=[str(number) for number in range(len(HOSTILE))])
def test_a_hostile_message_is_refused_and_logged(live: Live, said: str | bytes, caplog: Any) -> None:
    until(lambda: not live.session.playing)
    before = live.session.simulation.t, list(live.session.log), live.session.system
    with caplog.at_level(logging.WARNING, "contactsim_viz.live"):
        heard = speak(live, said)
    assert heard[-1]["type"] == "refused" and heard[-1]["reason"]
    assert "Traceback" not in caplog.text and [r for r in caplog.records if r.name == "contactsim_viz.live"]
    assert (live.session.simulation.t, list(live.session.log), live.session.system) == before
    assert not live.session.playing


def test_a_message_that_is_too_long_ends_the_connection_and_not_the_run(live: Live) -> None:
    until(lambda: not live.session.playing)
    heard = speak(live, '{"do": "play"' + messages.LONGEST * " " + "}")
    assert "refused" not in {told["type"] for told in heard}
    assert speak(live)[-1]["type"] == "panel"
    assert not live.session.playing


@pytest.mark.parametrize("text", ['{"do":"set","name":"k","value":1}', '{"do":"speed","value":2}'])
def test_whole_numbers_are_numbers(text: str) -> None:
    assert isinstance(messages.read(text).value, float)


def test_what_is_no_text_is_no_message() -> None:
    with pytest.raises(InputError, match="no text"):
        messages.read(b"{}")


# --- what stays behind ----------------------------------------------------------------------------


def is_free(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=PATIENCE).close()
    except OSError:
        return True
    return False


def threads() -> set[str]:
    return {thread.name for thread in threading.enumerate()} & {THREAD, "contactsim-session"}


def test_nothing_stays_behind_a_close() -> None:
    before = set(threading.enumerate())
    with on_a_page(walking()) as live:
        port = live._server.port
        assert not is_free(port)
        assert threads() == {THREAD, "contactsim-session"}
    assert set(threading.enumerate()) <= before
    assert is_free(port)
    live.close()  # a second time


def test_nothing_stays_behind_an_exception() -> None:
    before = set(threading.enumerate())
    with pytest.raises(ZeroDivisionError), on_a_page(walking()) as live:
        raise ZeroDivisionError
    assert set(threading.enumerate()) <= before
    assert is_free(live._server.port)


def test_nothing_is_started_for_what_cannot_be_drawn() -> None:
    import numpy as np

    import contactsim as cs
    from contactsim.viewing.session import Session

    class Falling(cs.Flow):
        def field(self, t: float, x: np.ndarray) -> np.ndarray:
            return -np.ones(1)

    class System(cs.HybridSystem):
        def flow(self, mode: Any) -> cs.Flow:
            return Falling()

        def start(self, t: float, x: np.ndarray) -> cs.Transition:
            return cs.Transition(x, 0)

        def transition(self, t: float, x: np.ndarray, mode: Any, fired: Any) -> cs.Transition:
            return cs.Transition(x, mode)

    before = set(threading.enumerate())
    with pytest.raises(InputError, match="a System has no geometry to show"):
        Live(Session(cs.Simulation(System(), np.zeros(1))))
    assert set(threading.enumerate()) <= before


def test_a_taken_port_is_an_error_and_leaves_nothing() -> None:
    before = set(threading.enumerate())
    with Server({}) as server, pytest.raises(OSError):
        Server({}, port=server.port)
    assert set(threading.enumerate()) <= before


def started(folder: Path, *arguments: str) -> tuple[subprocess.Popen, int]:
    """A command that shows something, and the port on which it does."""
    environment = os.environ | {"BROWSER": "true"}
    process = subprocess.Popen(
        [sys.executable, "-m", "contactsim", *arguments],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    said = ""
    for line in process.stdout:
        said += line
        if found := re.search(r"http://127\.0\.0\.1:(\d+)/", line):
            return process, int(found[1])
    raise AssertionError(said)


@pytest.mark.parametrize("looks_on", [False, True])
def test_ctrl_c_ends_the_command_and_keeps_the_run(tmp_path: Path, looks_on: bool) -> None:
    process, port = started(tmp_path, "run", "biped", "--view", "--out", "here")
    with process:
        if looks_on:
            asyncio.run(look_on(port))
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=PATIENCE)
    assert "Traceback" not in said
    assert (tmp_path / "here" / "run.nc").is_file(), said
    assert "interrupted" in said
    assert is_free(port)


async def look_on(port: int) -> None:
    """Be a page until the run has begun."""
    origin = {"Origin": f"http://127.0.0.1:{port}"}
    client = await websocket_connect(HTTPRequest(f"ws://127.0.0.1:{port}/live", headers=origin))
    pictures = 0
    while pictures < 5:
        answer = await asyncio.wait_for(client.read_message(), PATIENCE)
        if isinstance(answer, bytes) and answer[:4] == b"\x01\0\0\0":
            pictures += 1
            await client.write_message('{"do": "seen"}')
    client.close()


def test_ctrl_c_ends_the_view_of_a_finished_run(tmp_path: Path) -> None:
    run = [sys.executable, "-m", "contactsim", "run", "biped", "--time", "0.2", "--out", "here"]
    subprocess.run(run, cwd=tmp_path, check=True, capture_output=True)
    process, port = started(tmp_path, "view", "here/run.nc")
    with process:
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=PATIENCE)
    assert (process.returncode, "Traceback" in said) == (0, False)
    assert is_free(port)


# --- pages that leave -----------------------------------------------------------------------------


@pytest.mark.parametrize("count", [10, pytest.param(100, marks=pytest.mark.slow)])
def test_pages_that_leave_say_nothing_in_the_terminal(count: int, caplog: Any, capfd: Any) -> None:
    chance = random.Random(count)

    async def leave(port: int) -> None:
        origin = {"Origin": f"http://127.0.0.1:{port}"}
        client = await websocket_connect(HTTPRequest(f"ws://127.0.0.1:{port}/live", headers=origin))
        for _ in range(chance.randrange(6)):
            if isinstance(await asyncio.wait_for(client.read_message(), PATIENCE), bytes) and chance.random() < 0.5:
                await client.write_message('{"do": "seen"}')
        client.close() if chance.random() < 0.5 else client.protocol.stream.close()

    async def all_of_them(port: int) -> None:
        for _ in range(count):
            await leave(port)
            await asyncio.sleep(0.03 * chance.random())

    with caplog.at_level(logging.ERROR), on_a_page(walking()) as live:
        asyncio.run(all_of_them(live._server.port))
        until(lambda: not live._clients)
    gc.collect()  # what was never asked for is told when it goes
    assert not caplog.records
    assert "Traceback" not in "".join(capfd.readouterr())


def test_a_run_that_is_late_is_painted_by_what_it_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 100 looks, each after 1 ms of computing, at pictures that take 2 ms: as many are painted as SHARE allows."""
    session, clock, painted = standing(), [10.0], []
    monkeypatch.setattr("contactsim_viz.live.time.thread_time", lambda: clock[0])
    with Live(session) as live:

        def paint(moment: Any) -> None:
            painted.append(clock[0])
            clock[0] += 2e-3

        monkeypatch.setattr(live, "_paint", paint)
        for late, expected in ((True, math.ceil(100 * 1e-3 / (2e-3 / SHARE))), (False, 100)):
            painted.clear()
            clock[0] += 1.0
            for _ in range(100):
                live._observe(replace(session.moment, playing=True, late=late, speed=1.0))
                clock[0] += 1e-3
            assert abs(len(painted) - expected) <= 1
        clock[0] = 1.0  # another thread takes over, whose time is its own
        live._observe(replace(session.moment, playing=True, late=True))
        assert painted[-1] == 1.0
