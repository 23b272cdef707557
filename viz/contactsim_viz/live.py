"""A session on a live page: shown while it runs, and steered by the requests of its page.

The thread that computes paints a picture when one was asked for, between two steps, which takes it about a
millisecond. The server's thread asks some thirty times a second, as long as a page looks on, and sends the last picture
to each page that has drawn the one before: a slow page gets fewer pictures, and the run does not wait for it.
"""

from __future__ import annotations

import html
import json
import logging
import math
import secrets
import struct
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, final
from urllib.parse import parse_qs

import numpy as np

from contactsim.errors import InputError

from . import messages, page
from .about import coloured, plain
from .curves import History
from .picture import Picture, pack, painter
from .protocols import SessionLike
from .scene import MODE_COLOURS, switched
from .server import Client, Server

logger = logging.getLogger(__name__)

PERIOD = 1.0 / 30.0  # seconds between two pictures
SOONEST = 0.9 * PERIOD  # between two pictures for one page: one that has just missed a turn need not wait for the next
SHARE = 0.06  # of the time of the thread that computes, at most, is spent on pictures
SILENCE = 1.0  # seconds after which a page that does not answer is sent a picture all the same
_COMMAND, _PICTURE, _SAMPLES = 0, 1, 2  # kinds of binary messages
_MOST_WORDS = 1000  # entries of the list of events that a page is sent at a time
_PANEL = '<button class="sheets" data-sheet="panel" aria-pressed="true" title="what can be changed">controls</button>'
_DRAG = "; with the shift key, drag it: a spring pulls it while time goes on"


@dataclass
class Known:
    """State of a page, as told so far: numbers of commands, nodes and entries, and the latest take, panel and picture,
    when that was sent [s], whether the page has yet to draw it, and numbers of samples and modes of its curves."""

    commands: int = 0
    nodes: int = 0
    take: int = -1
    entries: int = 0
    panel: int = -1
    picture: int = -1
    sent: float = -math.inf
    waits: bool = False
    samples: int = 0
    modes: int = 0
    curves_of: int = -1


@final
class Live:
    """A session on a page of its own.

    Args:
        session: what is shown.
        port: where the page is served; 0: any that is free.
        plays: the session is played when a page has drawn it for the first time.
        show, hide: groups that are seen when the page opens, and those that are not.

    Raises:
        InputError: the session's system has no geometry to show, or no such group.
    """

    period = PERIOD

    def __init__(
        self,
        session: SessionLike,
        port: int = 0,
        plays: bool = False,
        show: Sequence[str] = (),
        hide: Sequence[str] = (),
    ) -> None:
        self.session, self._plays = session, plays
        self._painter = painter(session.moment)
        self._wished = switched(self._painter.groups, show, hide)
        self._id = secrets.token_hex(8)
        self._commands = [pack(command) for command in self._painter.scene.commands]
        self._picture, self._soonest = (0, b""), 0.0
        self._computes = 0.0, 0.0  # between these times of the running thread it paints nothing, where it is late
        self._history = History(session.curves, list(self._painter.about.get("contacts", {})))
        self._panel, self._panel_number = self._describe(), 0
        self._of_panel = self._state_of_panel()
        self._words: tuple[int, list[dict[str, Any]]] = session.take, [_described_entry(entry) for entry in session.log]
        self._clients: set[Client] = set()
        session.observe = self._observe
        self._server = Server(self._files(), self, port)
        self._thread: threading.Thread | None = None

    @property
    def address(self) -> str:
        """Address of the page."""
        return self._server.address

    @property
    def groups(self) -> dict[str, tuple[str, bool]]:
        """Groups that can be shown and hidden so far, as wished."""
        return self._painter.groups | self._wished

    def start(self) -> Live:
        """Run the session in a thread of its own; `close` ends it."""
        self._thread = threading.Thread(target=self.session.run, name="contactsim-session", daemon=True)
        self._thread.start()
        return self

    def close(self) -> None:
        """End the session and the page, and free the port."""
        self.session.close()
        self._server.close()
        if self._thread is not None:
            self._thread.join()

    def __enter__(self) -> Live:
        return self

    def __exit__(self, *given: object) -> None:
        self.close()

    @property
    def painted(self) -> int:
        """Number of the last picture; the page tells the one that it has drawn."""
        return self._picture[0]

    def _files(self) -> dict[str, tuple[bytes, str]]:
        title = html.escape(self.session.title or "contactsim")
        parts = {"@TITLE@": title, "@LEGEND@": page.legend(self._painter.scene), "@PANEL@": _PANEL, "@DRAG@": _DRAG}
        text = page.filled("live.html", parts)
        content = text.encode("utf-8"), "text/html; charset=utf-8"
        script = page.bundle().encode("utf-8"), "text/javascript; charset=utf-8"
        return {"/": content, "/index.html": content, "/meshcat.js": script, "/favicon.ico": (b"", "image/x-icon")}

    # --- in the running thread --------------------------------------------------------------------------------

    def _observe(self, moment: Any) -> None:
        """Paint what there is to see, and note how long that took: the next picture waits until many times as much was
        computed, where the run does not keep up with its clock; by the wall clock alone, other work would not count."""
        began = time.thread_time()
        if (
            moment.playing
            and (moment.late or math.isinf(moment.speed))
            and self._computes[0] <= began < self._computes[1]
        ):
            return
        self._paint(moment)
        ended = time.thread_time()
        rest = (ended - began) / SHARE
        self._computes = ended, ended + rest
        self._soonest = time.monotonic() + rest if moment.playing else 0.0

    def _paint(self, moment: Any) -> None:
        """Paint what there is to see, and note what is new to be told."""
        try:
            picture = self._painter.paint(moment)
        except InputError as error:
            logger.warning("no picture at t = %.6g s: %s", moment.time, error)
            return
        self._commands += [pack(command) for command in picture.commands]
        self._history.note(moment, dict(picture.modes))
        if moment.take != self._words[0]:
            self._words = moment.take, []
        entries = self._words[1]
        entries += [_described_entry(entry) for entry in self.session.log[len(entries) :]]
        if (state := self._state_of_panel()) != self._of_panel:
            self._of_panel, self._panel = state, self._describe()
            self._panel_number += 1
        number = self._picture[0] + 1
        self._picture = number, _packed(number, moment, picture, self._joints(moment))

    def _joints(self, moment: Any) -> dict[str, float]:
        """Places of the joints that can be set, for a page in which time stands still."""
        if moment.playing or not self.session.joints:
            return {}
        q = moment.arc.system.state(moment.x).q
        return {joint.name: round(float(q[joint.place]), 6) for joint in self.session.joints}

    def _state_of_panel(self) -> tuple[Any, ...]:
        simulation = self.session.simulation
        return self.session.controls, id(simulation), simulation.tolerances.rtol

    def _describe(self) -> str:
        session = self.session
        return json.dumps(
            {
                "type": "panel",
                "controls": [
                    asdict(control) | {"label": control.label, "unit": control.unit} for control in session.controls
                ],
                "joints": _described_joints(session.joints),
                "laws": session.laws,
                "law": session.law if session.laws else "",
                "rtol": session.simulation.tolerances.rtol,
                "weight": session.weight,
            }
        )

    # --- in the server's thread -------------------------------------------------------------------------------

    def opened(self, client: Client, query: str) -> None:
        """Tell a page that has come what there is; one that comes back knows a part of it."""
        known = client.known = Known()
        asked = parse_qs(query)
        if asked.get("id") == [self._id]:
            number = asked.get("commands", ["0"])[0]
            known.commands = min(int(number), len(self._commands)) if number.isdecimal() else 0
        hello = {
            "type": "hello",
            "id": self._id,
            "size": self._painter.size,
            "colours": {mode.lower(): code for mode, code in MODE_COLOURS.items()},
            "about": coloured(self._painter.about, self.session.curves),
            "newton": self._painter.scene.force_scale,
            "curves": self._history.told(),
        }
        client.send(json.dumps(hello))
        self._clients.add(client)
        self.session.refresh()
        self._send_new(client, time.monotonic())

    def received(self, client: Client, message: str | bytes) -> None:
        """Apply a request of a page; a message that is none is refused, logged, and answered."""
        try:
            request = messages.read(message)
            if isinstance(request, messages.Seen):
                self._seen(client)
            else:
                request.apply(self.session)
        except InputError as error:
            logger.warning("%s (%r)", error, message[:200])
            client.send(json.dumps({"type": "refused", "reason": str(error)}))

    def _seen(self, client: Client) -> None:
        client.known.waits = False
        self._send_new(client, time.monotonic())
        if self._plays:
            self._plays = False
            self.session.play()

    def closed(self, client: Client) -> None:
        """Forget a page; the run goes on."""
        self._clients.discard(client)

    def tick(self) -> None:
        """Send what is new, and ask for the next picture."""
        now = time.monotonic()
        for client in tuple(self._clients):
            self._send_new(client, now)
        if self._clients and now >= self._soonest:
            self.session.want()

    def _send_new(self, client: Client, now: float) -> None:
        known: Known = client.known
        if now - known.sent < (SILENCE if known.waits else SOONEST):
            return
        number, picture = self._picture
        if not picture or number == known.picture:
            return
        self._send_words(client, known)
        for command in self._commands[known.commands :]:
            client.send(struct.pack("<I", _COMMAND) + command)
        known.commands = len(self._commands)
        if known.nodes < len(self._painter.nodes):
            fresh = self._painter.nodes[known.nodes :]
            told = {"type": "nodes", "from": known.nodes, "paths": fresh, "groups": self.groups}
            client.send(json.dumps(told))
            known.nodes += len(fresh)
        self._send_samples(client, known)
        client.send(picture)
        known.picture, known.sent, known.waits = number, now, True

    def _send_samples(self, client: Client, known: Known) -> None:
        """Send the new samples of the curves, as far as they belong to the take that the page was told of."""
        take = self._history.take
        if take.number != known.take:
            return
        if known.curves_of != take.number:
            known.curves_of, known.samples, known.modes = take.number, 0, 0
        count, modes = len(take.rows), take.modes[known.modes :]
        if count == known.samples and not modes:
            return
        head = {"times": take.times[known.samples : count], "modes": modes}
        client.send(_framed(_SAMPLES, head, b"".join(take.rows[known.samples : count])))
        known.samples, known.modes = count, known.modes + len(modes)

    def _send_words(self, client: Client, known: Known) -> None:
        take, entries = self._words
        if take != known.take:
            known.take, known.entries = take, 0
            client.send(json.dumps({"type": "take", "number": take}))
        while known.entries < len(entries):
            part = entries[known.entries : known.entries + _MOST_WORDS]
            client.send(json.dumps({"type": "entries", "list": part}))
            known.entries += len(part)
        if known.panel != self._panel_number:
            known.panel = self._panel_number
            client.send(self._panel)


def _described_entry(entry: Any) -> dict[str, Any]:
    """An entry of the list of events; what somebody changed is told apart."""
    text = page.told(entry.event) if entry.event is not None else entry.text
    return {"time": float(entry.time), "text": text, "own": entry.event is None}


def _packed(number: int, moment: Any, picture: Picture, joints: dict[str, float]) -> bytes:
    """A picture as the page reads it: what is told of the moment, and its rows (float32)."""
    energy = moment.energy
    names = ("time", "start", "head", "playing", "take", "note", "ended", "rate", "late")
    head = {name: getattr(moment, name) for name in names} | {
        "number": number,
        "speed": moment.speed if np.isfinite(moment.speed) else None,
        "energy": None if energy is None or not np.isfinite(energy) else energy,
        "caption": picture.caption,
        "modes": picture.modes,
        "focus": [float(value) for value in picture.focus],
        "joints": joints,
    }
    return _framed(_PICTURE, head, picture.rows.astype("<f4").tobytes())


def _framed(kind: int, head: dict[str, Any], body: bytes) -> bytes:
    """A binary message: its kind, length of the head, the head (JSON, padded to four bytes), the body."""
    text = json.dumps(head).encode("utf-8")
    text += b" " * (-len(text) % 4)
    return struct.pack("<II", kind, len(text)) + text + body


def _described_joints(joints: Sequence[Any]) -> list[dict[str, Any]]:
    words = plain([joint.name for joint in joints])
    return [asdict(joint) | {"words": words[joint.name]} for joint in joints]
