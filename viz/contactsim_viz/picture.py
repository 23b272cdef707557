"""Pictures of single moments: rows, as in `overlays`, with the poses of everything drawn, for a live page."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from contactsim.errors import ContactSimError, InputError

from .about import about, joint_path
from .commands import Command, node_name, place, placed, put, rgba, turn_from_z
from .figure import Figure, ground_way
from .motion import MODES, SampledPoses
from .overlays import COLUMNS, PLACE, SCALE, TURN, VISIBLE, Overlay, View, fill_arrows, overlays, unchanged_rows
from .parts import FORCES, Look, Pose, Seen, groups_of, pieces
from .protocols import Array, MomentLike
from .scene import Scene, hills, measure
from .scene import build as build_robot
from .shapes import paint
from .sketch import Sketch, drawn, quaternions, read_drawing, setting
from .sketch import measure as measure_sketch
from .stage import Frame, ground_plane, plane_of, round_number

_STANDING = 0.25  # of a robot's size: length of the arrow of its weight, shared by half of its contacts
_STRAY = 3.0  # of a robot's size, after which the ground is laid anew below it
_ROOM = 1.3  # around a drawing, of which nobody knows yet how far it will reach
_FAINT = 0.01  # of a robot's size, below which no arrow is drawn


@dataclass(frozen=True)
class Picture:
    """One moment.

    Attributes:
        rows: (n, COLUMNS), one for each node of the painter at that time.
        focus: (3,) what the camera follows, world axes, metres.
        caption: the mode in words.
        modes: {contact: "open", "stick" or "slip"}.
        commands: what is to be drawn first: new objects.
    """

    rows: Array
    focus: Array
    caption: str
    modes: Mapping[str, str]
    commands: list[Command]


class Painter(ABC):
    """Draws one session.

    Attributes:
        scene: what is drawn before the first picture.
        nodes: paths of the nodes that the rows of a picture are for; it grows.
        groups: {name: (node above it, whether it is shown at first)} of what can be shown and hidden; it grows.
        size: diagonal of what is drawn, metres.
        about: what a page tells of bodies and contacts; see `about.about`.
    """

    scene: Scene
    nodes: list[str]
    groups: dict[str, tuple[str, bool]]
    size: float
    about: Mapping[str, Any]

    @abstractmethod
    def paint(self, moment: MomentLike) -> Picture:
        """The picture of a moment.

        Raises:
            InputError: the moment cannot be drawn.
        """


def painter(moment: MomentLike) -> Painter:
    """Who draws the system of a session."""
    system = moment.arc.system
    if getattr(getattr(system, "robot", None), "model", None) is not None:
        return RobotPainter(moment)
    if hasattr(system, "drawing"):
        return SketchPainter(moment)
    kind = type(system).__name__
    raise InputError(
        f"a {kind} has no geometry to show; build it from a Robot, or give it a method drawing(t, x, chart) that"
        " returns a contactsim.look.Drawing"
    )


class RobotPainter(Painter):
    """Draws a robot with its contacts and their forces, and what lies over it."""

    def __init__(self, moment: MomentLike) -> None:
        system = moment.arc.system
        self._figure = Figure(system.robot)
        self._count = len(self._figure.names)
        motion = self._still(moment)
        self._frame = measure(system.robot, system.terrain, motion)
        self.size = self._frame.size
        self.about = about(system.robot, self.size)
        self._offset = self._frame.target[0] - self._middle(motion.joints[0])
        self._laid = self._frame.target[0]
        self._newton = round_number(self._typical_force(system) / (_STANDING * self.size))
        self._overlays: list[tuple[Overlay, list[int]]] = [
            (overlay, []) for overlay in overlays(self._figure, system, self._frame)
        ]
        self.scene = self._scene(moment, motion)
        self._hills = bool(hills(_Still(system, (moment.time,)), self._frame))
        self._way = ground_way(moment.arc.system.terrain, moment.time)

    def _scene(self, moment: MomentLike, motion: SampledPoses) -> Scene:
        """Commands that come before the first picture; their nodes are noted."""
        system = moment.arc.system
        built = build_robot(_Still(system, (moment.time,)), motion)
        self.nodes = [joint_path(system.robot, index) for index in range(1, system.robot.model.njoints)]
        for name in map(node_name, self._figure.names):
            self.nodes += [f"/world/contacts/{name}", *(f"/world/contacts/{name}/{mode.lower()}" for mode in MODES)]
            self.nodes += [f"/world/forces/{name}{part}" for part in ("", "/shaft", "/head")]
        self.nodes.append("/world/ground")
        self._own = len(self.nodes)
        legend, self.groups = dict(built.legend), dict(built.groups)
        for overlay, _ in self._overlays:
            legend |= overlay.legend
            self.groups[overlay.name] = overlay.path, overlay.shown
        commands = [*built.commands[:-1], *self._fresh(moment)]
        return Scene(commands, legend, None if built.force_scale is None else self._newton)

    def _fresh(self, moment: MomentLike) -> list[Command]:
        """Commands of overlays for what is new; its nodes come behind all others."""
        commands: list[Command] = []
        for overlay, places in self._overlays:
            commands += overlay.fresh(moment)
            new = overlay.nodes[len(places) :]
            places += range(len(self.nodes), len(self.nodes) + len(new))
            self.nodes += new
        return commands

    def paint(self, moment: MomentLike) -> Picture:
        """Forward kinematics, the forces of the ground, and what lies over them."""
        arc, figure = moment.arc, self._figure
        q = figure.configuration(arc.system, moment.x)
        joints, modes = figure.joints(q), figure.modes(arc.system, arc.mode)
        points, normals = figure.touch(q, arc.system.terrain, moment.time)
        focus = self._middle(joints) + self._offset
        commands = [*self._ground(moment, focus), *self._fresh(moment)]
        rows = unchanged_rows(len(self.nodes))
        self._fill(rows[: self._own], moment, joints, points, normals, modes)
        view = View(moment, points, normals, modes)
        for overlay, places in self._overlays:
            rows[places] = overlay.rows(view)
        shown = {name: MODES[mode].lower() for name, mode in zip(figure.names, modes, strict=True)}
        return Picture(rows, focus, "", shown, commands)

    def _fill(
        self, rows: Array, moment: MomentLike, joints: Array, points: Array, normals: Array, modes: np.ndarray
    ) -> None:
        """Rows of joints, contacts, forces and ground."""
        moving = len(joints) - 1
        rows[:moving, :7] = joints[1:]
        contacts = rows[moving:-1].reshape(self._count, -1, COLUMNS)
        contacts[:, 0, PLACE] = points
        if self._frame.ground is None and self._count:
            contacts[:, 0, TURN] = turn_from_z(normals)
        contacts[:, 1 : 1 + len(MODES), VISIBLE] = modes[:, None] == np.arange(len(MODES))
        arrows, forces = contacts[:, 1 + len(MODES) :], self._forces(moment)
        length = np.linalg.norm(forces, axis=1) / self._newton
        arrows[:, 0, PLACE] = points
        arrows[:, 0, VISIBLE] = (modes != MODES.index("OPEN")) & (length > _FAINT * self.size)
        fill_arrows(arrows, forces, length)
        if self._hills:
            rows[-1, PLACE] = ground_way(moment.arc.system.terrain, moment.time) - self._way

    def _middle(self, joints: Array) -> Array:
        return joints[1:, :3].mean(axis=0) if len(joints) > 1 else np.zeros(3)

    def _forces(self, moment: MomentLike) -> Array:
        """Forces (nc, 3); none where the contact problem has no solution at this moment."""
        try:
            found = moment.arc.system.forces(moment.time, moment.x, moment.arc.mode)
        except ContactSimError:
            return np.zeros((self._count, 3))
        return np.array([found[name] for name in self._figure.names], dtype=np.float64).reshape(self._count, 3)

    def _ground(self, moment: MomentLike, focus: Array) -> list[Command]:
        """The ground below a robot that has gone far, as it is at this moment."""
        if np.linalg.norm(focus - self._laid) < _STRAY * self.size:
            return []
        self._laid, self._way = focus, ground_way(moment.arc.system.terrain, moment.time)
        frame = Frame(self.size, focus[None], self._frame.ground)
        return [*ground_plane(frame), *hills(_Still(moment.arc.system, (moment.time,)), frame)]

    def _still(self, moment: MomentLike) -> SampledPoses:
        """A motion that stays where the session starts; its modes and forces are in the pictures."""
        q = self._figure.configuration(moment.arc.system, moment.x)
        joints = self._figure.joints(q)
        points, normals = self._figure.touch(q, moment.arc.system.terrain, moment.time)
        time, frames = np.array([0.0, 1e-3]), (2, 1, 1)
        return SampledPoses(
            start=0.0,
            time=time,
            joints=np.tile(joints, frames),
            points=np.tile(points, frames),
            normals=np.tile(normals, frames),
            forces=np.zeros((2, self._count, 3)),
            mode_time=time,
            modes=np.zeros((2, self._count), dtype=np.intp),
            events=np.empty(0),
        )

    def _typical_force(self, system: Any) -> float:
        """The share of the weight on each of half of the contacts [N]."""
        gravity = float(np.linalg.norm(getattr(system, "gravity", 9.81))) or 9.81
        return float(self._figure.mass * gravity / max(1.0, self._count / 2)) or 1.0


@dataclass(frozen=True)
class _Still:
    """Reading of a run for its drawing before it begins."""

    system: Any
    t: tuple[float, ...]


class SketchPainter(Painter):
    """Draws a system with a method `drawing`; an object is made when a part first looks like it."""

    def __init__(self, moment: MomentLike) -> None:
        first, parts = self._look(moment)
        sketch = Sketch(
            type(moment.arc.system).__name__,
            np.array([0.0, 1e-3]),
            [first, first],
            ["", ""],
            {name: [seen, seen] for name, seen in parts.items()},
            1e-3,
        )
        frame = measure_sketch(sketch)
        self._frame = replace(frame, size=_ROOM * frame.size)
        self.size = self._frame.size
        self.about = {"size": self.size}
        self.scene = Scene(setting(self._frame, first.ground), first.legend)
        self.groups = {}
        self._bent: set[str] = set()
        self._looks: dict[str, dict[Look, int]] = {}
        self._lengths: dict[str, float] = {}
        self.nodes = []
        self._middle = self._focus(first, parts) - self._frame.target[0]
        self._laid = self._frame.target[0]

    def paint(self, moment: MomentLike) -> Picture:
        """The drawing, part by part."""
        drawing, found = self._look(moment)
        parts = self._straightened(found)
        commands: list[Command] = []
        shown = [(self._index(name, look, pose, commands), look, pose) for name, (look, pose) in parts.items()]
        rows = unchanged_rows(len(self.nodes))
        rows[:, VISIBLE] = 0.0
        for index, look, pose in shown:
            self._fill(rows[index], self.nodes[index], look, pose)
        focus = self._focus(drawing, found) - self._middle
        caption = drawing.caption or str(moment.arc.mode)
        return Picture(rows, focus, caption, {}, [*commands, *self._ground(drawing, focus)])

    def _look(self, moment: MomentLike) -> tuple[Any, dict[str, Seen]]:
        drawing = drawn(moment.arc, moment.time)
        kind = type(moment.arc.system).__name__
        return drawing, read_drawing(drawing, f"the drawing of {kind} at t = {moment.time:.9g} s")

    def _focus(self, drawing: Any, parts: dict[str, Seen]) -> Array:
        if drawing.focus is not None:
            return np.asarray(drawing.focus, dtype=np.float64)
        shown = [pose.bounds(look) for look, pose in parts.values() if look.group != FORCES]
        boxes = np.array(shown or [np.zeros((2, 3))])
        return np.asarray(boxes.mean(axis=(0, 1)))

    def _straightened(self, parts: dict[str, Seen]) -> dict[str, Seen]:
        """The parts, with lines in pieces from the moment at which they first bend."""
        out: dict[str, Seen] = {}
        for name, seen in parts.items():
            known = self._looks.get(name, {})
            if seen[0].kind == "line" and known and seen[0] not in known:
                self._bent.add(name)
            bent = {f"{name}/{piece}": one for piece, one in pieces(seen[0]).items()} if name in self._bent else None
            out |= bent or {name: seen}
        return out

    def _index(self, name: str, look: Look, pose: Pose, commands: list[Command]) -> int:
        """Row of a part's look; it is drawn when it comes for the first time."""
        looks = self._looks.setdefault(name, {})
        if look not in looks:
            path = f"/world/{look.group}/{node_name(name)}/{len(looks)}"
            self.groups |= groups_of([look])
            looks[look] = len(self.nodes)
            self.nodes.append(path)
            self._lengths[path] = pose.length
            commands += [
                place(path, placed(pose.position, np.eye(3))),
                put(path, look.mesh(pose.length, paint(rgba(look.colour)))),
            ]
        return looks[look]

    def _fill(self, row: Array, path: str, look: Look, pose: Pose) -> None:
        row[PLACE], row[VISIBLE] = pose.position, 1.0
        if pose.rotation is not None:
            row[TURN] = quaternions(pose.rotation[None])[0]
        elif pose.along is not None:
            row[TURN] = turn_from_z(pose.along[None])[0]
            row[SCALE] = 1.0, 1.0, max(pose.length, 1e-9) / look.reference(self._lengths[path])

    def _ground(self, drawing: Any, focus: Array) -> list[Command]:
        """The ground below what has gone far."""
        if drawing.ground is None or np.linalg.norm(focus - self._laid) < _STRAY * self.size:
            return []
        self._laid = focus
        plane = plane_of(drawing.ground, focus[None], self.size)
        frame = Frame(self.size, focus[None], plane, self._frame.sight)
        return [command for command in setting(frame, drawing.ground) if command["path"].startswith("/world/ground")]


def pack(command: Command) -> bytes:
    """A command as the page reads it."""
    import umsgpack

    return bytes(umsgpack.packb(command, force_float_precision="single"))
