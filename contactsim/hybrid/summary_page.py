"""A run in a cell of a notebook: its summary, a strip of its modes over time, and a table of its events, as HTML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ..common.representation import counted

if TYPE_CHECKING:
    from .samples import Piece

COLOURS = {"open": "#e4e7ec", "stick": "#12b76a", "slip": "#f79009", "closed": "#12b76a"}
OTHERS = ("#3b6fe0", "#7a3ff2", "#f79009", "#12b76a", "#e5484d", "#98a2b3")  # of modes that are no contact's
WIDTH, ROW, LABEL = 640, 16, 90  # px
MOST_EVENTS, MOST_ROWS = 12, 24


class Told(Protocol):
    """What is read of an event."""

    @property
    def time(self) -> float:
        """When [s]."""

    @property
    def transitions(self) -> Mapping[str, tuple[Any, Any]]:
        """{contact: (before, after)}."""

    @property
    def impulses(self) -> Mapping[str, Any]:
        """{contact: impulse}."""


def page(title: str, arcs: Sequence[Piece], events: Sequence[Told], status: str, message: str, evaluations: int) -> str:
    """The HTML of a run; it needs no script and nothing from elsewhere."""
    first, last = arcs[0].t0, arcs[-1].t1
    facts = f"{first:.6g} to {last:.6g} s, {counted(len(events), 'event')}, {evaluations} evaluations, {status}"
    told = "" if status == "FINISHED" else f"<div>{escape(message)}</div>"
    return f"<div><div><b>{escape(title)}</b>: {facts}</div>{told}{strip(arcs, first, last)}{table(events)}</div>"


def strip(arcs: Sequence[Piece], first: float, last: float) -> str:
    """Modes over time, a row for each contact, or one for all of a system without contacts."""
    rows = rows_of(arcs)
    shown = dict(list(rows.items())[:MOST_ROWS])
    scale = WIDTH / max(last - first, 1e-300)
    others: dict[str, str] = {}
    bars = []
    for k, (name, pieces) in enumerate(shown.items()):
        bars.append(f'<text x="0" y="{k * ROW + 12}" font-size="11" fill="currentColor">{escape(name[:14])}</text>')
        for start, end, word in pieces:
            colour = COLOURS.get(word) or others.setdefault(word, OTHERS[len(others) % len(OTHERS)])
            place = f'x="{LABEL + (start - first) * scale:.2f}" y="{k * ROW + 2}" width="{(end - start) * scale:.2f}"'
            about = f"{escape(name)}: {escape(word)}, {start:.6g} to {end:.6g} s"
            bars.append(f'<rect {place} height="{ROW - 4}" fill="{colour}"><title>{about}</title></rect>')
    more = f"<div>and {len(rows) - MOST_ROWS} more contacts</div>" if len(rows) > MOST_ROWS else ""
    size = f'width="{LABEL + WIDTH}" height="{ROW * len(shown)}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">{"".join(bars)}</svg>{more}'


def rows_of(arcs: Sequence[Piece]) -> dict[str, list[tuple[float, float, str]]]:
    """{contact: pieces (start, end, mode)}, pieces of one mode joined."""
    rows: dict[str, list[tuple[float, float, str]]] = {}
    for arc in arcs:
        named = arc.system.named_modes(arc.mode)
        for name, mode in (named if isinstance(named, Mapping) else {"mode": named}).items():
            word = str(getattr(mode, "value", mode))
            pieces = rows.setdefault(name, [])
            if pieces and pieces[-1][2] == word and pieces[-1][1] == arc.t0:
                pieces[-1] = (pieces[-1][0], arc.t1, word)
            elif arc.t1 > arc.t0:
                pieces.append((arc.t0, arc.t1, word))
    return rows


def table(events: Sequence[Told]) -> str:
    """The first events: time, contacts, what they changed from and to, and the size of the impulse."""
    if not events:
        return ""
    head = "<tr><th>t [s]</th><th>contact</th><th>from</th><th>to</th><th>impulse [N s]</th></tr>"
    lines = [line for event in events[:MOST_EVENTS] for line in _lines(event)]
    more = f"<div>and {counted(len(events) - MOST_EVENTS, 'more event')}</div>" if len(events) > MOST_EVENTS else ""
    return f"<table>{head}{''.join(lines)}</table>{more}"


def _lines(event: Told) -> list[str]:
    lines = []
    for k, (name, pair) in enumerate(event.transitions.items()):
        before, after = (escape(str(getattr(mode, "value", mode))) for mode in pair)
        impulse = event.impulses.get(name)
        size = "" if impulse is None else f"{float(np.linalg.norm(impulse)):.4g}"
        time = f"{event.time:.6f}" if k == 0 else ""
        lines.append(f"<tr><td>{time}</td><td>{escape(name)}</td><td>{before}</td><td>{after}</td><td>{size}</td></tr>")
    return lines
