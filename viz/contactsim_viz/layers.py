"""Layers over a robot: friction cones, impulses that flash, traces of slipping, and other runs, translucent.

Each layer is a group of nodes below one path, which the page shows and hides as a whole:
`/world/cones/<name>/<k>`, `/world/impulses/<name>`, `/world/traces/<name>/<k>`. Inside, only visibility and poses move.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import cycle, pairwise
from typing import Any, NamedTuple

import numpy as np

from contactsim.errors import InputError

from .commands import (
    Command,
    arrow,
    facing,
    glowing,
    node_name,
    place,
    placed,
    put,
    rgba,
    set_property,
    switch,
    track,
    turn_from_z,
)
from .figure import Figure, ground_ways, touch_points
from .motion import MODES, SampledPoses
from .protocols import Array, RobotLike, marks
from .shapes import UNBOUNDED, Y_TO_Z, Json, colour_code, cylinder, draw, mesh, paint, raised, triangles
from .stage import Frame, round_number

IMPULSE_COLOUR, STICK_CONE, SLIP_CONE, TRACE_COLOUR = "#7a3ff2", "#12b76a", "#f79009", "#f79009"

_SLANT = 0.16  # of a robot's size: side of a friction cone
_GLASS = 0.2  # opacity of a cone
GHOST_COLOURS = ("#3b6fe0", "#e5484d", "#7a3ff2", "#0e9384")
_GHOST_GLASS = 0.38  # opacity of another run: the same robot under another friction or from another start
LONGEST = 0.3  # of a robot's size: arrow of a strong impulse
FLASH = 0.3  # seconds on the screen that an impulse is seen
FAINTEST = 5e-3  # of the strongest impulse, below which none flashes: the last of many small bounces
_RING = 0.09  # of a robot's size: radius of the ring that a flash ends with
FLASHES_FROM = 0.35  # of its last size: the ring at first
WIDTH, LIFT = 0.016, 0.0015  # of a robot's size: width of a trace, and its height above ground
CHUNK = 0.02  # of a robot's size: length of a trace that appears at once
_MOST_CHUNKS = 500  # of all traces together; more are made longer
LEAST = 1e-3  # of a robot's size: a slip that is shorter leaves no trace


@dataclass(frozen=True)
class Layer:
    """A group of nodes that is shown and hidden as a whole.

    Attributes:
        name: what it is called in the page.
        path: node above them all.
        commands: what is drawn.
        tracks: {path: tracks} along which it moves.
        shown: whether it is seen when the page opens.
        legend: {word: "#rrggbb"} of its colours.
    """

    name: str
    path: str
    commands: Sequence[Command]
    tracks: Mapping[str, list[Json]]
    shown: bool = True
    legend: Mapping[str, str] | None = None


Draw = Callable[[Any, SampledPoses, Frame], Layer | None]


def friction_cones(traj: Any, motion: SampledPoses, frame: Frame) -> Layer | None:
    """The cone of forces that each closed contact may take, its axis along the normal of the ground.

    The half angle is arctan of the static coefficient while the contact sticks, of the kinetic one while it slips.
    """
    shapes: list[Command] = []
    tracks: dict[str, list[Json]] = {}
    coefficients = _coefficients(traj, motion)
    if coefficients is None:
        return None
    for index, contact in enumerate(traj.system.robot.contacts):
        path = f"/world/cones/{node_name(contact.name)}"
        tracks[path] = [
            track("position", "vector3", motion.time, motion.points[:, index]),
            turning(motion.time, motion.normals[:, index]),
        ]
        for number, (mode, colour) in enumerate((("STICK", STICK_CONE), ("SLIP", SLIP_CONE))):
            closed = motion.modes[:, index] == MODES.index(mode)
            values = coefficients[:, index, number]
            for k, value in enumerate(np.unique(values[closed & (values > 0.0)])):
                node = f"{path}/{mode.lower()}{k}"
                shapes += [put(node, cone(float(value), frame.size, colour)), shadowless(node)]
                tracks[node] = [switch(motion.mode_time, closed & (values == value))]
    return Layer("cones", "/world/cones", shapes, tracks, shown=False) if shapes else None


def cone(friction: float, size: float, colour: str) -> Json:
    """An open cone, tip at the origin, around the z axis."""
    radius, _, height = (float(x) for x in slant(np.array([friction]), size)[0])
    shape = cylinder(0.0, radius, height) | {"openEnded": True}
    return mesh(shape, glowing(colour, _GLASS) | {"depthWrite": False}, raised(height / 2) @ Y_TO_Z)


def slant(friction: Array, size: float) -> Array:
    """Radii along x and y, and heights, (n, 3), of cones with coefficients (n,), whose sides are equally long."""
    angle = np.arctan(friction)
    return _SLANT * size * np.column_stack([np.sin(angle), np.sin(angle), np.cos(angle)])


def shadowless(path: str) -> Command:
    """Let a node that is drawn cast no shadow."""
    return set_property(f"{path}/<object>", "castShadow", False)


def _coefficients(traj: Any, motion: SampledPoses) -> Array | None:
    """Static and kinetic coefficients (m, nc, 2) that hold from each time of `mode_time`; None: nobody knows them."""
    if not hasattr(traj, "arc_at") or not hasattr(traj.system, "friction"):
        return None
    count, middles = len(traj.system.robot.contacts), motion.middles + motion.start
    systems = [traj.arc_at(float(t)).system for t in middles]
    known = {id(s): np.column_stack([s.static_friction[:count], s.friction[:count]]) for s in systems}
    return np.array([known[id(system)] for system in systems])


def turning(time: Array, normals: Array) -> Json:
    """Track of turns from the z axis to `normals` (n, 3); one key where they stay."""
    still = bool((normals == normals[0]).all())
    keys = slice(0, 1) if still else slice(None)
    return track("quaternion", "quaternion", time[keys], turn_from_z(normals[keys]))


# --- impulses -------------------------------------------------------------------------------------


def impulses(traj: Any, motion: SampledPoses, frame: Frame) -> Layer | None:
    """An arrow that flashes where a contact took an impulse, and a ring that widens on the ground."""
    found = _hits(traj, motion)
    strongest = max((float(np.linalg.norm(hit.impulse)) for hits in found.values() for hit in hits), default=0.0)
    if strongest <= 0.0:
        return None
    found = {
        name: kept
        for name, hits in found.items()
        if (kept := [hit for hit in hits if np.linalg.norm(hit.impulse) >= FAINTEST * strongest])
    }
    newton = round_number(strongest / (LONGEST * frame.size))
    shapes: list[Command] = []
    tracks: dict[str, list[Json]] = {}
    for name, hits in found.items():
        path = f"/world/impulses/{node_name(name)}"
        shapes += flash(path, frame)
        tracks |= _flashing(path, hits, motion, 1.0 / newton)
    return Layer("impulses", "/world/impulses", shapes, tracks, legend={impulse_words(newton): IMPULSE_COLOUR})


class Hit(NamedTuple):
    """Impulse that a contact took at an event.

    Attributes:
        time: of the run [s].
        point: (3,) where, metres.
        impulse: (3,) newton second, world axes.
        normal: (3,) of the ground; between two bodies the impulse itself.
    """

    time: float
    point: Array
    impulse: Array
    normal: Array


def hits_of(event: Any, robot: RobotLike) -> dict[str, Hit]:
    """{contact: what it took} at an event."""
    places = {contact.name: k for k, contact in enumerate(marks(robot))}
    given = {n: np.asarray(p, dtype=float) for n, p in getattr(event, "impulses", {}).items() if n in places}
    given = {name: p for name, p in given.items() if p.shape == (3,) and p.any()}
    if not given:
        return {}
    time = float(event.time)
    points, normals = touch_points(robot, np.asarray(event.state_pre.q), event.system.terrain, time)
    count = len(robot.contacts)
    return {
        name: Hit(time, points[places[name]], p, normals[places[name]] if places[name] < count else p)
        for name, p in given.items()
    }


def _hits(traj: Any, motion: SampledPoses) -> dict[str, list[Hit]]:
    """{contact: what it took in the order of time, counted from the start}."""
    out: dict[str, list[Hit]] = {}
    for event in traj.events:
        for name, hit in hits_of(event, traj.system.robot).items():
            out.setdefault(name, []).append(hit._replace(time=hit.time - motion.start))
    return out


def flash(path: str, frame: Frame) -> list[Command]:
    """The arrow of an impulse, and the ring on the ground below it."""
    size = frame.size
    ring = {
        "type": "RingGeometry",
        "innerRadius": 0.78 * _RING * size,
        "outerRadius": _RING * size,
        "thetaSegments": 48,
    }
    return [
        *arrow(f"{path}/arrow", IMPULSE_COLOUR, 0.009 * size, 0.024 * size, 0.06 * size),
        place(f"{path}/ring", placed(np.zeros(3), facing(frame.normal))),
        put(f"{path}/ring", mesh(ring, glowing(IMPULSE_COLOUR, 0.8), raised(LIFT * size))),
        shadowless(f"{path}/ring"),
    ]


def impulse_words(newton: float) -> str:
    """Words of the legend for arrows of so many newton seconds per metre."""
    return f"impulse, 1 m = {newton:g} N s"


def _flashing(path: str, hits: Sequence[Hit], motion: SampledPoses, scale: float) -> dict[str, Any]:
    """Tracks of one contact's arrow and ring: still through each flash, moved where they are not seen."""
    starts = np.array([hit.time for hit in hits])
    ends = np.minimum(starts + FLASH * motion.speed, np.append(starts[1:], np.inf))
    ends = np.nextafter(ends, -np.inf)
    keep = ends > starts
    points, pushes, normals = (np.array([hit[k] for hit in hits])[keep] for k in (1, 2, 3))
    time = np.column_stack([starts[keep], ends[keep]]).ravel()
    twice = np.repeat(np.arange(len(points)), 2)
    length = scale * np.linalg.norm(pushes, axis=1)
    along = np.column_stack([np.ones((len(length), 2)), length])
    tips = np.column_stack([np.zeros((len(length), 2)), length])
    seen = np.concatenate([[0.0], time]), np.append(False, np.arange(len(time)) % 2 == 0)
    first = 1 if time[0] <= 0.0 else 0
    shown = switch(seen[0][first:], seen[1][first:])
    widths = np.tile([[FLASHES_FROM] * 3, [1.0] * 3], (len(points), 1))
    return {
        path: [track("position", "vector3", time, points[twice]), shown],
        f"{path}/arrow": [track("quaternion", "quaternion", time, turn_from_z(pushes)[twice])],
        f"{path}/arrow/shaft": [track("scale", "vector3", time, along[twice])],
        f"{path}/arrow/head": [track("position", "vector3", time, tips[twice])],
        f"{path}/ring": [track("scale", "vector3", time, widths), turning(time, normals[twice])],
    }


# --- traces ---------------------------------------------------------------------------------------


def slip_traces(traj: Any, motion: SampledPoses, frame: Frame) -> Layer | None:
    """A ribbon along the way that each contact slipped; it grows as the contact moves, and goes with the ground."""
    ways = ground_ways(traj.system.terrain, motion.time + motion.start)
    on_ground, count = replace(motion, points=motion.points - ways[:, None]), len(traj.system.robot.contacts)
    slips = [slip for index in range(count) for slip in _slips(on_ground, index, frame.size)]
    length = sum(float(np.linalg.norm(np.diff(points, axis=0), axis=1).sum()) for _, _, points, _ in slips)
    chunk = max(CHUNK * frame.size, length / _MOST_CHUNKS)
    shapes: list[Command] = []
    tracks: dict[str, list[Json]] = {}
    names = [node_name(contact.name) for contact in traj.system.robot.contacts]
    for index, times, points, normal in slips:
        for first, last in pairwise(_cuts(points, chunk)):
            path = f"/world/traces/{names[index]}/{len(shapes)}"
            part = slice(first, last + 1)
            shapes.append(put(path, _ribbon(points[part], normal[part], frame.size)))
            tracks[path] = [switch(np.array([0.0, times[last]]), np.array([False, True]))] if times[last] > 0.0 else []
    if ways.any():
        tracks["/world/traces"] = [track("position", "vector3", motion.time, ways)]
    return Layer("traces", "/world/traces", shapes, {path: t for path, t in tracks.items() if t}) if shapes else None


Slip = tuple[int, Array, Array, Array]  # contact, times (k,), points (k, 3), normals (k, 3)


def _slips(motion: SampledPoses, index: int, size: float) -> list[Slip]:
    """The ways of one contact while it slips: the frames inside, and the ends in between by interpolation."""
    on = motion.modes[:, index] == MODES.index("SLIP")
    edges = np.flatnonzero(np.diff(np.concatenate([[0], on.astype(int), [0]])))
    last = motion.mode_time[-1]
    out: list[Slip] = []
    for first, end in edges.reshape(-1, 2):
        begin, until = motion.mode_time[first], motion.mode_time[end] if end < len(on) else last
        inside = motion.time[(motion.time > begin) & (motion.time < until)]
        times = np.concatenate([[begin], inside, [until]])
        points, normal = (
            np.column_stack([np.interp(times, motion.time, column) for column in values[:, index].T])
            for values in (motion.points, motion.normals)
        )
        if until > begin and np.linalg.norm(np.diff(points, axis=0), axis=1).sum() > LEAST * size:
            out.append((index, times, points, normal))
    return out


def _cuts(points: Array, chunk: float) -> list[int]:
    """Indices at which a way (k, 3) is cut into pieces of about `chunk` metres."""
    way = np.append(0.0, np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1)))
    marks = np.searchsorted(way, np.arange(chunk, way[-1], chunk))
    return sorted({0, *marks.tolist(), len(points) - 1})


def _ribbon(points: Array, normals: Array, size: float) -> Json:
    """A flat band of constant width along points (k, 3) of a surface with normals (k, 3)."""
    along = np.gradient(points, axis=0)
    across = np.cross(normals, along)
    across /= np.maximum(np.linalg.norm(across, axis=1, keepdims=True), 1e-12 * size)
    middle = points + LIFT * size * normals
    half = 0.5 * WIDTH * size * across
    vertices = np.stack([middle - half, middle + half], axis=1).reshape(-1, 3)
    k = 2 * np.arange(len(points) - 1)[:, None]
    faces = np.concatenate([k + np.array([[0, 2, 3]]), k + np.array([[0, 3, 1]])])
    return mesh(triangles(vertices, faces), trace_paint(), np.eye(4))


def trace_paint() -> Json:
    """The material of traces."""
    colour = colour_code(rgba(TRACE_COLOUR))
    return {"type": "MeshBasicMaterial", "color": colour, "side": 2, "opacity": 0.75, "transparent": True}


ROBOT_LAYERS: tuple[Draw, ...] = (friction_cones, impulses, slip_traces)


# --- other runs beside the one that is shown ------------------------------------------------------


def ghost_layers(ghosts: Mapping[str, Any]) -> tuple[Draw, ...]:
    """Painters, one for each run by its name."""
    colours = cycle(GHOST_COLOURS)
    return tuple(partial(_draw_ghost, name, run, next(colours)) for name, run in ghosts.items())


def _draw_ghost(name: str, run: Any, colour: str, traj: Any, motion: SampledPoses, frame: Frame) -> Layer:
    robot: Any = getattr(getattr(run, "system", None), "robot", None)
    if getattr(robot, "visual_model", None) is None:
        raise InputError(f"the run '{name}' cannot be shown beside another: it has no robot that is drawn")
    root = f"/world/ghosts/{node_name(name)}"
    times, joints = _poses(run, robot, motion)
    shade = rgba(colour, _GHOST_GLASS)
    glass = paint(shade, emissive=colour_code(shade), emissiveIntensity=0.35) | {"depthWrite": False}
    commands: list[Any] = []
    for item in robot.visual_model.geometryObjects:
        drawn = None if type(item.geometry).__name__ in UNBOUNDED else draw(item, glass)
        if drawn is not None:
            path = f"{root}/{node_name(robot.model.names[item.parentJoint])}/{node_name(item.name)}"
            commands += [place(path, np.asarray(item.placement.homogeneous, dtype=np.float64)), put(path, drawn)]
            commands.append(shadowless(path))
    tracks: dict[str, list[Json]] = {
        f"{root}/{node_name(robot.model.names[index])}": [
            track("position", "vector3", times, joints[:, index, :3]),
            track("quaternion", "quaternion", times, joints[:, index, 3:]),
        ]
        for index in range(1, robot.model.njoints)
    }
    return Layer(node_name(name), root, commands, tracks, legend={name: colour})


def _poses(run: Any, robot: Any, motion: SampledPoses) -> tuple[Array, Array]:
    """Times behind the start of the run that is shown, and joint placements (n, nj, 7), as far as both runs go."""
    moments = motion.time + motion.start
    moments = moments[(moments >= run.t[0]) & (moments <= run.t[-1])]
    if not len(moments):
        raise InputError("two runs beside each other share no time; give runs that do")
    figure = Figure(robot)
    return moments - motion.start, np.array([figure.joints(np.asarray(run(float(t)).q)) for t in moments])
