"""Turns a trajectory into the drawing commands of a meshcat page.

Tree of the page (z up, metres): `/world` holds everything and moves so that the robot stays before the camera;
under it `robot/<joint>/<geometry>`, `ground`, `contacts/<name>/{open,stick,slip}`, `forces/<name>/{shaft,head}`, and
what the layers of `layers` and `spread` add.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from contactsim.errors import InputError

from .about import about, collision_paths, joint_path
from .commands import (
    Command,
    animation,
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
from .figure import ground_ways
from .layers import Draw, turning
from .motion import MODES, SampledPoses
from .protocols import Array, ContactLike, RobotLike, marks
from .shapes import UNBOUNDED, Y_TO_Z, Json, closed, cylinder, draw, mesh, paint, sphere
from .stage import Frame, Plane, follow, ground_plane, ground_surface, round_number, stage

MODE_COLOURS = {"OPEN": "#9aa5b1", "STICK": "#12b76a", "SLIP": "#f79009"}
FORCE_COLOUR, COLLISION_COLOUR = "#d6336c", "#2e90fa"

_MOST_MEASURED = 60  # frames in which it is measured how far a robot reaches
_BOUNDLESS = 1e6  # metres; a floor, or a mesh that is empty


@dataclass(frozen=True)
class ModeRows:
    """Modes of contacts: row k of `modes` (m, nc), indices into `MODES`, holds from `times[k]` [s] after the start."""

    names: Sequence[str]
    times: Array
    modes: np.ndarray


@dataclass(frozen=True)
class Scene:
    """Drawing commands and what the page says beside them.

    Attributes:
        commands: meshcat commands in drawing order; the last one is the animation.
        legend: {word: "#rrggbb"}.
        force_scale: newton per metre of a force arrow; None: there are none.
        captions: (seconds after the start, words that hold from there).
        groups: {name: (node above it, whether it is shown at first)} of what can be shown and hidden.
        about: what a page tells of bodies and contacts; see `about.about`.
        modes: times (m,) behind the start, and modes (m, nc) that hold from there, of `names`; None: there are none.
    """

    commands: list[Command]
    legend: Mapping[str, str] = field(default_factory=dict)
    force_scale: float | None = None
    captions: Sequence[tuple[float, str]] = ()
    groups: Mapping[str, tuple[str, bool]] = field(default_factory=dict)
    about: Mapping[str, Any] = field(default_factory=dict)
    modes: ModeRows | None = None


def switched(
    groups: Mapping[str, tuple[str, bool]], show: Sequence[str], hide: Sequence[str]
) -> dict[str, tuple[str, bool]]:
    """The groups of a scene, shown and hidden as wished."""
    out = dict(groups)
    for names, seen in ((show, True), (hide, False)):
        for name in names:
            if name not in out:
                known = ", ".join(out) or "none"
                raise InputError(f"this run has no group '{name}' to show or hide; there are {known}")
            out[name] = (out[name][0], seen)
    return out


def build(
    traj: Any,
    motion: SampledPoses,
    layers: Sequence[Draw] = (),
    sight: Sequence[float] | None = None,
    zoom: float = 1.0,
) -> Scene:
    """Draw the robot, the ground, the contacts and their forces, and animate them along `motion`.

    `layers` draw more over it; `sight` (3,) is the direction to the camera, which is `zoom` times closer than usual.
    """
    robot = traj.system.robot
    frame = measure(robot, traj.system.terrain, motion).seen(sight, zoom)
    force_scale = _force_scale(motion, frame.size)
    surface = hills(traj, frame)
    commands = [*stage(frame), *ground_plane(frame), *surface, *_robot(robot, frame.size), *_collisions(robot)]
    commands += [command for contact in marks(robot) for command in _contact(contact, frame)]
    tracks = {"/world": [track("position", "vector3", motion.time, -frame.target)]}
    tracks |= _robot_tracks(robot, motion)
    if surface:
        tracks |= _ground_tracks(traj.system.terrain, motion)
    for index, contact in enumerate(marks(robot)):
        tracks |= _contact_tracks(node_name(contact.name), index, motion)
        tracks |= _force_tracks(node_name(contact.name), index, motion, force_scale, frame.size)
    drawn = [layer for draw in layers if (layer := draw(traj, motion, frame)) is not None]
    for layer in drawn:
        commands += layer.commands
        tracks |= layer.tracks
    commands.append(animation(tracks, motion.duration))
    groups = {layer.name: (layer.path, layer.shown) for layer in drawn}
    legend = {word: code for layer in drawn for word, code in (layer.legend or {}).items()}
    told = about(robot, frame.size)
    if not marks(robot):
        return Scene(commands, legend, groups=groups, about=told)
    legend = {mode.lower(): code for mode, code in MODE_COLOURS.items()} | legend
    rows = ModeRows([contact.name for contact in marks(robot)], motion.mode_time, motion.modes)
    groups = {"forces": ("/world/forces", True)} | groups
    return Scene(commands, legend, force_scale, groups=groups, about=told, modes=rows)


def hills(traj: Any, frame: Frame) -> list[Command]:
    """Ground that is no fixed plane, as it is at the start, where it says how high it is."""
    heights: Any = getattr(traj.system.terrain, "heights", None)
    if frame.ground is not None or heights is None:
        return []
    start = float(traj.t[0])
    if heights(start, frame.target[:1, :2]) is None:
        return []
    return [ground_surface(frame, partial(heights, start))]


def _ground_tracks(terrain: Any, motion: SampledPoses) -> dict[str, list[Json]]:
    """The way of a ground that moves as a whole."""
    ways = ground_ways(terrain, motion.time + motion.start)
    if not np.ptp(ways, axis=0).any():
        return {}
    return {"/world/ground": [track("position", "vector3", motion.time, ways - ways[0])]}


# --- measures -------------------------------------------------------------------------------------


def measure(robot: RobotLike, terrain: Any, motion: SampledPoses) -> Frame:
    """Size, ground and way of a robot."""
    plane = terrain.plane()
    ground: Plane | None = None
    if plane is not None:
        point, normal = (np.asarray(part, dtype=np.float64) for part in plane)
        ground = point, normal / np.linalg.norm(normal)
    boxes = _boxes(robot)
    first = _corners(boxes, motion, 0)
    low, high = first.min(axis=0), first.max(axis=0)
    size = max(float(np.linalg.norm(high - low)), 1e-3)
    middle = motion.joints[:, 1:, :3].mean(axis=1) if motion.joints.shape[1] > 1 else np.zeros((len(motion.time), 3))
    target = _evenly(middle - middle[0] + (low + high) / 2, motion.time, size, ground)
    shown = np.unique(np.linspace(0, len(target) - 1, min(_MOST_MEASURED, len(target))).astype(int))
    around = np.concatenate([_corners(boxes, motion, k) - target[k] for k in shown])
    centre = (around.min(axis=0) + around.max(axis=0)) / 2
    return Frame(size, target + centre, ground, around=around - centre)


def _evenly(middle: Array, time: Array, size: float, ground: Plane | None) -> Array:
    """The way that `follow` makes of the one through `middle` (n, 3) at any times (n,), at the same times."""
    even = np.linspace(time[0], time[-1], len(time))
    way = np.column_stack([np.interp(even, time, column) for column in middle.T])
    target = follow(way, float(time[-1] - time[0]), size, ground)
    return np.column_stack([np.interp(time, even, column) for column in target.T])


def _boxes(robot: RobotLike) -> list[tuple[int, Array]]:
    """(joint, corners (8, 3) in its axes) of the box around each visual that is not fixed to the world."""
    found = []
    for item in robot.visual_model.geometryObjects if robot.visual_model is not None else ():
        item.geometry.computeLocalAABB()
        bounds = np.array([item.geometry.aabb_local.min_, item.geometry.aabb_local.max_])
        if item.parentJoint == 0 or np.abs(bounds).max() > _BOUNDLESS:
            continue
        local = np.array(np.meshgrid(*bounds.T)).reshape(3, -1).T
        found.append((item.parentJoint, local @ item.placement.rotation.T + item.placement.translation))
    return found


def _corners(boxes: Sequence[tuple[int, Array]], motion: SampledPoses, k: int) -> Array:
    """Points (m, 3) of a frame around all that is drawn of a robot: contacts, joints, and the corners of `boxes`."""
    import pinocchio as pin

    places = {joint: pin.XYZQUATToSE3(motion.joints[k, joint]) for joint, _ in boxes}
    corners = [local @ places[joint].rotation.T + places[joint].translation for joint, local in boxes]
    found = np.concatenate([motion.points[k], motion.joints[k, 1:, :3], *corners])
    return found if len(found) else np.array([[-0.5] * 3, [0.5] * 3])


def _force_scale(motion: SampledPoses, size: float) -> float:
    """Newton per metre of arrow, a round number: a typical force is a quarter of the robot long, few are above 0.6."""
    strength = np.linalg.norm(motion.forces, axis=2)
    active = strength[strength > 1e-9]
    typical, large = np.percentile(active, (80, 98)) if active.size else (1.0, 1.0)
    return round_number(float(max(typical / (0.25 * size), large / (0.6 * size))))


# --- robot ----------------------------------------------------------------------------------------


def _robot(robot: RobotLike, size: float) -> list[Command]:
    if robot.visual_model is None or not len(robot.visual_model.geometryObjects):
        return _stick_figure(robot, size)
    commands = []
    for item in robot.visual_model.geometryObjects:
        if type(item.geometry).__name__ in UNBOUNDED:
            continue
        drawn = draw(item)
        if drawn is None:
            kind = type(item.geometry).__name__
            missing = f"its mesh file {item.meshPath} is missing"
            reason = missing if hasattr(item.geometry, "num_tris") else f"a {kind} cannot be shown"
            warnings.warn(f"'{item.name}' is not drawn: {reason}", stacklevel=2)
            continue
        path = f"{joint_path(robot, item.parentJoint)}/{node_name(item.name)}"
        commands += [place(path, np.asarray(item.placement.homogeneous, dtype=np.float64)), put(path, drawn)]
    return commands


def _collisions(robot: RobotLike) -> list[Command]:
    """The collision shapes in glass, which are not seen at first; what cannot be drawn is left out."""
    glass = glowing(COLLISION_COLOUR, 0.4) | {"depthWrite": False}
    commands = []
    for path, item in collision_paths(robot).items():
        drawn = draw(item, glass)
        if drawn is not None:
            commands += [place(path, np.asarray(item.placement.homogeneous, dtype=np.float64)), put(path, drawn)]
            commands += [set_property(f"{path}/<object>", "castShadow", False), set_property(path, "visible", False)]
    return commands


def _stick_figure(robot: RobotLike, size: float) -> list[Command]:
    """A ball at each joint and a rod to the joint before it: for a model without geometry."""
    commands = []
    for index in range(1, robot.model.njoints):
        path = joint_path(robot, index)
        ball = mesh(sphere(0.03 * size), paint(rgba("#344054")), np.eye(4))
        commands.append(put(f"{path}/joint", ball))
        offset = robot.model.jointPlacements[index].translation
        length = float(np.linalg.norm(offset))
        parent = robot.model.parents[index]
        if parent == 0 or length == 0.0:
            continue
        rod = f"{joint_path(robot, parent)}/to_{node_name(robot.model.names[index])}"
        thin = cylinder(0.015 * size, 0.015 * size, length)
        commands += [
            place(rod, placed(offset / 2, facing(offset / length))),
            put(rod, mesh(thin, paint(rgba("#98a2b3")), Y_TO_Z)),
        ]
    return commands


def _robot_tracks(robot: RobotLike, motion: SampledPoses) -> dict[str, list[Json]]:
    return {
        joint_path(robot, index): [
            track("position", "vector3", motion.time, motion.joints[:, index, :3]),
            track("quaternion", "quaternion", motion.time, motion.joints[:, index, 3:]),
        ]
        for index in range(1, robot.model.njoints)
    }


# --- contacts -------------------------------------------------------------------------------------


def _contact(contact: ContactLike, frame: Frame) -> list[Command]:
    """A coloured pad for each mode, and the arrow of the force."""
    name, size = node_name(contact.name), frame.size
    own = float(contact.radius)
    radius = max(min(1.35 * own, 0.6 * own + 0.026 * size), 0.026 * size)  # seen beside a foot, and not as a plate
    pad = cylinder(radius, radius, 0.16 * radius)
    ball = sphere(0.42 * radius)
    return [
        place(f"/world/contacts/{name}", placed(np.zeros(3), facing(frame.normal))),
        put(f"/world/contacts/{name}/open", mesh(ball, glowing(MODE_COLOURS["OPEN"], 0.75), np.eye(4))),
        put(f"/world/contacts/{name}/stick", mesh(pad, closed(glowing(MODE_COLOURS["STICK"])), Y_TO_Z)),
        put(f"/world/contacts/{name}/slip", mesh(pad, closed(glowing(MODE_COLOURS["SLIP"])), Y_TO_Z)),
        *arrow(f"/world/forces/{name}", FORCE_COLOUR, 0.0065 * size, 0.018 * size, 0.055 * size),
    ]


def _contact_tracks(name: str, index: int, motion: SampledPoses) -> dict[str, list[Json]]:
    """Place of a contact, how it lies on the ground, and its mode."""
    path, time = f"/world/contacts/{name}", motion.time
    way = track("position", "vector3", time, motion.points[:, index])
    return {path: [way, turning(time, motion.normals[:, index])]} | {
        f"{path}/{mode.lower()}": [switch(motion.mode_time, motion.modes[:, index] == number)]
        for number, mode in enumerate(MODES)
    }


def _force_tracks(name: str, index: int, motion: SampledPoses, scale: float, size: float) -> dict[str, list[Json]]:
    time, force = motion.time, motion.forces[:, index]
    length = np.linalg.norm(force, axis=1) / scale
    path = f"/world/forces/{name}"
    still = np.zeros((len(length), 2))
    along, end = np.column_stack([still + 1.0, np.maximum(length, 1e-6)]), np.column_stack([still, length])
    shown = (motion.modes[:, index] != 0) & (np.interp(motion.mode_time, time, length) > 0.01 * size)
    return {
        path: [
            track("position", "vector3", time, motion.points[:, index]),
            track("quaternion", "quaternion", time, turn_from_z(force)),
            switch(motion.mode_time, shown),
        ],
        f"{path}/shaft": [track("scale", "vector3", time, along)],
        f"{path}/head": [track("position", "vector3", time, end)],
    }
