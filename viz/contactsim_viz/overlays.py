"""The layers of `layers` on the live page: the same objects below the same paths, one moment at a time.

A page that plays a finished run knows it all and is told of it in tracks. The live page is told rows: an overlay looks
at the run so far, and says where its nodes are at the moment that is shown. The row of a node has eleven numbers; NaN
leaves what it stands for as it is:

    x, y, z [m]   quaternion x, y, z, w   scale along x, y, z   visible (0 or 1)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from . import layers
from .commands import Command, facing, node_name, place, placed, put, turn_from_z, unit
from .figure import Figure, ground_way
from .motion import MODES
from .protocols import Array, MomentLike
from .shapes import mesh
from .sketch import quaternions
from .stage import Frame, round_number

COLUMNS = 11
PLACE, TURN, SCALE, VISIBLE = slice(0, 3), slice(3, 7), slice(7, 10), 10
_SHORTEST = 1e-6  # metres; an arrow without length cannot be drawn
_FALL = 0.1  # of a robot's size: height of a fall whose impulse, on half of its contacts, has an arrow of LONGEST
_HURRY = 1.0  # seconds of the run in a second for which flashes are long enough in a run that goes as fast as it can
_GRID = 1.0 / 60.0  # seconds between two looks at a contact that slips
_KEPT = 100  # events whose impulses are remembered
_MOST_BANDS = 200  # of all traces together; the oldest go first


def unchanged_rows(count: int) -> Array:
    """Rows (count, COLUMNS) that leave everything as it is."""
    return np.full((count, COLUMNS), np.nan)


def fill_arrows(rows: Array, vectors: Array, length: Array) -> None:
    """Let arrows have the directions of `vectors` (n, 3) and a `length` (n,) [m].

    The `rows` (n, 3, COLUMNS) are those of each arrow, of its shaft and of its head.
    """
    if not len(rows):
        return
    still = np.zeros((len(length), 2))
    rows[:, 0, TURN] = turn_from_z(vectors)
    rows[:, 1, SCALE] = np.column_stack([still + 1.0, np.maximum(length, _SHORTEST)])
    rows[:, 2, PLACE] = np.column_stack([still, length])


@dataclass(frozen=True)
class View:
    """View of a robot at a moment.

    Attributes:
        moment: of the session.
        points: (nc, 3) where the contacts touch, or would, metres.
        normals: (nc, 3) of the ground there.
        modes: (nc,) indices into `MODES`.
    """

    moment: MomentLike
    points: Array
    normals: Array
    modes: np.ndarray


class Overlay(ABC):
    """A layer that is shown and hidden as a whole.

    Attributes:
        name, path: what it is called in the page, and the node above it.
        shown: whether it is seen when the page opens.
        nodes: paths of the nodes that its rows are for; it may grow.
    """

    name: str
    path: str
    shown = True
    nodes: list[str]
    _commands: list[Command]

    @property
    def legend(self) -> Mapping[str, str]:
        """{word: "#rrggbb"} of its colours."""
        return {}

    def fresh(self, moment: MomentLike) -> list[Command]:
        """Commands for all that was not drawn before: everything, once."""
        commands, self._commands = self._commands, []
        return commands

    @abstractmethod
    def rows(self, view: View) -> Array:
        """Rows (number of its nodes, COLUMNS)."""


def overlays(figure: Figure, system: Any, frame: Frame) -> list[Overlay]:
    """All of a robot; none where it has no contacts."""
    if not figure.names:
        return []
    found: list[Overlay] = [Impulses(figure, system, frame)]
    if figure.grounded:
        found.append(Traces(figure, frame))
        if getattr(system, "friction", None) is not None:
            found.insert(0, Cones(figure, frame))
    return found


class Cones(Overlay):
    """Friction cones, of the coefficients that hold at the moment."""

    name, path, shown = "cones", "/world/cones", False

    def __init__(self, figure: Figure, frame: Frame) -> None:
        self._size, self._count, self._turns = frame.size, figure.grounded, frame.ground is None
        self.nodes, self._commands = [], []
        for name in figure.names[: self._count]:
            path = f"{self.path}/{node_name(name)}"
            self.nodes += [path, f"{path}/stick", f"{path}/slip"]
            self._commands.append(place(path, placed(np.zeros(3), facing(frame.normal))))
            for mode, colour in (("stick", layers.STICK_CONE), ("slip", layers.SLIP_CONE)):
                node = f"{path}/{mode}"
                self._commands += [put(node, layers.cone(1.0, frame.size, colour)), layers.shadowless(node)]

    def rows(self, view: View) -> Array:
        """Each contact has a cone of its mode, if it is closed and rubs."""
        system, count = view.moment.arc.system, self._count
        rows = unchanged_rows(3 * count).reshape(count, 3, COLUMNS)
        rows[:, 0, PLACE] = view.points[:count]
        if self._turns:
            rows[:, 0, TURN] = turn_from_z(view.normals[:count])
        friction = np.column_stack([system.static_friction[:count], system.friction[:count]])
        scales = layers.slant(friction.ravel(), self._size) / layers.slant(np.ones(1), self._size)
        rows[:, 1:, SCALE] = scales.reshape(count, 2, 3)
        closed = view.modes[:count, None] == [MODES.index("STICK"), MODES.index("SLIP")]
        rows[:, 1:, VISIBLE] = closed & (friction > 0.0)
        return rows.reshape(-1, COLUMNS)


class Impulses(Overlay):
    """The last impulse of each contact, for as long as it flashes."""

    name, path = "impulses", "/world/impulses"
    _PARTS = ("", "/arrow", "/arrow/shaft", "/arrow/head", "/ring")

    def __init__(self, figure: Figure, system: Any, frame: Frame) -> None:
        self._figure = figure
        gravity = float(np.linalg.norm(getattr(system, "gravity", 0.0))) or 9.81
        share = figure.mass / max(1.0, len(figure.names) / 2)
        typical = share * np.sqrt(2.0 * gravity * _FALL * frame.size) or 1.0
        self.newton = round_number(typical / (layers.LONGEST * frame.size))  # newton seconds per metre of arrow
        self._faintest = layers.FAINTEST * self.newton * layers.LONGEST * frame.size
        self.nodes, self._commands = [], []
        for name in map(node_name, figure.names):
            self.nodes += [f"{self.path}/{name}{part}" for part in self._PARTS]
            self._commands += layers.flash(f"{self.path}/{name}", frame)
        self._places = {name: k for k, name in enumerate(figure.names)}
        self._known: dict[int, tuple[Any, dict[str, layers.Hit]]] = {}  # by the event's id, with the event

    @property
    def legend(self) -> Mapping[str, str]:
        """Length of its arrows."""
        return {layers.impulse_words(self.newton): layers.IMPULSE_COLOUR}

    def rows(self, view: View) -> Array:
        """Arrows of the last impulses, and rings that widen."""
        moment = view.moment
        lasts = layers.FLASH * (moment.speed if np.isfinite(moment.speed) else _HURRY)
        rows = unchanged_rows(len(self.nodes)).reshape(-1, len(self._PARTS), COLUMNS)
        rows[:, 0, VISIBLE] = 0.0
        for name, hit in self._last(moment, lasts).items():
            row = rows[self._places[name]]
            row[0, PLACE], row[0, VISIBLE] = hit.point, 1.0
            fill_arrows(row[None, 1:4], hit.impulse[None], np.array([np.linalg.norm(hit.impulse) / self.newton]))
            row[4, TURN] = turn_from_z(hit.normal[None])[0]
            row[4, SCALE] = layers.FLASHES_FROM + (1.0 - layers.FLASHES_FROM) * (moment.time - hit.time) / lasts
        return rows.reshape(-1, COLUMNS)

    def _last(self, moment: MomentLike, lasts: float) -> dict[str, layers.Hit]:
        """{contact: what it took last}, of those that are still to be seen."""
        log, found = moment.log, dict[str, layers.Hit]()
        for k in range(bisect_right(log, moment.time, key=lambda entry: entry.time) - 1, -1, -1):
            if log[k].time <= moment.time - lasts or len(found) == len(self._places):
                break
            if log[k].event is not None:
                found = self._hits(log[k].event) | found
        return found

    def _hits(self, event: Any) -> dict[str, layers.Hit]:
        """Impulses strong enough to flash; those of the last events are kept."""
        key = id(event)
        if key not in self._known:
            hits = layers.hits_of(event, self._figure.robot)
            strong = {name: hit for name, hit in hits.items() if np.linalg.norm(hit.impulse) >= self._faintest}
            self._known = {**dict(list(self._known.items())[-_KEPT:]), key: (event, strong)}
        return self._known[key][1]


class Band(NamedTuple):
    """A piece of a trace: from when to when it was laid [s], from where (3,), and the row of its node."""

    begun: float
    time: float
    begin: Array
    row: Array


class Traces(Overlay):
    """The ways that contacts slipped, in straight bands that are laid as the run goes on and go with the ground."""

    name, path = "traces", "/world/traces"

    def __init__(self, figure: Figure, frame: Frame) -> None:
        self._figure, self._frame = figure, frame
        self.nodes = [self.path]
        plane = {"type": "PlaneGeometry", "width": 1.0, "height": layers.WIDTH * frame.size}
        self._drawn = mesh(plane, layers.trace_paint(), np.eye(4))
        self._start_again(-1, 0.0)

    def _start_again(self, take: int, time: float) -> None:
        self._take, self._reached, self._entries = take, time, 0
        self._bands: list[Band] = []
        self._trails: list[list[Band]] = [[] for _ in range(self._figure.grounded)]  # the same, by contact
        self._begun: dict[int, tuple[float, Array]] = {}  # when and where the piece of a contact begins that is to come

    def fresh(self, moment: MomentLike) -> list[Command]:
        """Lay bands up to the last time that was computed; nodes for them, of which those of the oldest are taken."""
        if moment.take != self._take:
            self._start_again(moment.take, moment.start)
        for time, system, x, mode in self._passed(moment):
            self._look(time, system, x, mode)
        commands: list[Command] = []
        while len(self.nodes) <= min(len(self._bands) + len(self._begun), _MOST_BANDS):
            self.nodes.append(f"{self.path}/{len(self.nodes)}")
            commands += [place(self.nodes[-1], placed(np.zeros(3), np.eye(3))), put(self.nodes[-1], self._drawn)]
        return commands

    def rows(self, view: View) -> Array:
        """The last bands that were laid by then, and those that are being laid."""
        rows, moment = unchanged_rows(len(self.nodes)), view.moment
        laid, way = rows[1:], ground_way(moment.arc.system.terrain, moment.time)
        rows[0, PLACE], laid[:, VISIBLE] = way, 0.0
        count = bisect_right(self._bands, moment.time, key=lambda band: band.time)
        shown = [band.row for band in self._bands[max(0, count - len(laid)) : count]] + self._growing(view, way)
        if shown:
            laid[: len(shown)] = shown[-len(laid) :]
        return rows

    def _passed(self, moment: MomentLike) -> Iterator[tuple[float, Any, Array, Any]]:
        """(time, system, state, mode) on a grid since the last look, and on both sides of each event."""
        grid = self._reached + _GRID * np.arange(1, int((moment.head - self._reached) / _GRID) + 1)
        looks: list[tuple[float, Any]] = [(float(t), None) for t in grid]
        looks += [(entry.time, entry.event) for entry in moment.log[self._entries :] if entry.event is not None]
        self._entries, self._reached = len(moment.log), float(grid[-1]) if len(grid) else self._reached
        for time, event in sorted(looks, key=lambda look: look[0]):
            if event is None:
                arc = moment.arc_at(time)
                yield time, arc.system, arc(time), arc.mode
            else:
                yield time, event.system, event.x_pre, event.mode_pre
                yield time, event.system, event.x_post, event.mode_post

    def _look(self, time: float, system: Any, x: Array, mode: Any) -> None:
        """Begin pieces where contacts slip, and lay those that are long enough or at their end."""
        slips = self._figure.modes(system, mode)[: self._figure.grounded] == MODES.index("SLIP")
        if not slips.any() and not self._begun:
            return
        q = self._figure.configuration(system, x)
        points, normals = self._figure.touch(q, system.terrain, time)
        points -= ground_way(system.terrain, time)
        for k, slipping in enumerate(slips):
            begun, begin = self._begun.get(k, (time, points[k]))
            way = float(np.linalg.norm(points[k] - begin)) / self._frame.size
            if way >= layers.CHUNK or (not slipping and way > layers.LEAST):
                band = Band(begun, time, begin, self._band(begin, points[k], normals[k]))
                self._bands.append(band)
                self._trails[k].append(band)
                del self._begun[k]
            if slipping:
                self._begun.setdefault(k, (time, points[k]))
            else:
                self._begun.pop(k, None)

    def _growing(self, view: View, way: Array) -> list[Array]:
        """Rows from where the pieces of the moment begin to where their contacts are."""
        rows, time = [], view.moment.time
        for k, (mode, trail) in enumerate(zip(view.modes, self._trails, strict=False)):
            if mode != MODES.index("SLIP"):
                continue
            point = view.points[k] - way
            place = bisect_right(trail, time, key=lambda band: band.time)
            to_come = (trail[place].begun, trail[place].begin) if place < len(trail) else self._begun.get(k)
            begun, begin = to_come or (time, point)
            if begun <= time and np.linalg.norm(point - begin) > layers.LEAST * self._frame.size:
                rows.append(self._band(begin, point, view.normals[k]))
        return rows

    def _band(self, begin: Array, end: Array, normal: Array) -> Array:
        """Row (COLUMNS,) of a band between two points of the ground."""
        row = np.empty(COLUMNS)
        length = float(np.linalg.norm(end - begin))
        across = unit(np.cross(normal, end - begin))
        turn = np.column_stack([np.cross(across, normal), across, normal])
        row[PLACE], row[TURN] = (begin + end) / 2 + layers.LIFT * self._frame.size * normal, quaternions(turn[None])[0]
        row[SCALE], row[VISIBLE] = (length, 1.0, 1.0), 1.0
        return row
