"""Turns a trajectory into the drawing commands of a meshcat page.

Tree of the page (z up, metres): `/world` holds everything and moves so that the robot stays before the camera;
under it `robot/<joint>/<geometry>`, `ground`, `contacts/<name>/{open,stick,slip}`, `forces/<name>/{shaft,head}`.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from .motion import MODES, Motion, smooth
from .reads import Array, ContactLike, RobotLike
from .shapes import UNBOUNDED, Y_TO_Z, Json, colour_code, column_major, cylinder, draw, floats, mesh, paint, sphere

Command = dict[str, Any]

MODE_COLOURS = {"OPEN": "#9aa5b1", "STICK": "#12b76a", "SLIP": "#f79009"}
FORCE_COLOUR = "#d6336c"

_CAMERA_FOV = 32.0  # degrees, vertical
_CAMERA_DIRECTION = np.array([1.0, -1.25, 0.62])  # from the robot to the camera, z up
_SUN_DIRECTION = np.array([0.55, -0.75, 1.6])
_BOUNDLESS = 1e6  # metres; a floor, or a mesh that is empty
_FOLLOW_BEYOND = 0.25  # travel, in robot sizes, above which the camera follows


@dataclass(frozen=True)
class Scene:
    """Drawing commands and what the page says beside them.

    Attributes:
        commands: meshcat commands in drawing order; the last one is the animation.
        force_scale: newton per metre of a force arrow, None for a robot without contacts.
    """

    commands: list[Command]
    force_scale: float | None


@dataclass(frozen=True)
class _Frame:
    """Lengths and directions that everything drawn refers to.

    Attributes:
        size: diagonal of the robot in the first frame, metres.
        target: (n, 3) point before the camera in each frame, world axes, metres.
        ground: (point (3,), unit normal (3,)) of a flat ground, or None.
    """

    size: float
    target: Array
    ground: tuple[Array, Array] | None

    @property
    def normal(self) -> Array:
        return np.array([0.0, 0.0, 1.0]) if self.ground is None else self.ground[1]


def build(traj: Any, motion: Motion) -> Scene:
    """Draw the robot, the ground, the contacts and their forces, and animate them along `motion`."""
    robot = traj.system.robot
    frame = _frame(robot, traj.system.terrain, motion)
    force_scale = _force_scale(motion, frame.size)
    commands = [*_stage(frame), *_ground(frame), *_robot(robot, frame.size)]
    commands += [command for contact in robot.contacts for command in _contact(contact, frame)]
    tracks = {"/world": [_track("position", "vector3", motion.time, -frame.target)]}
    tracks |= _robot_tracks(robot, motion)
    for index, contact in enumerate(robot.contacts):
        tracks |= _contact_tracks(node_name(contact.name), index, motion)
        tracks |= _force_tracks(node_name(contact.name), index, motion, force_scale, frame.size)
    return Scene([*commands, _animation(tracks, motion.duration)], force_scale if robot.contacts else None)


def node_name(name: str) -> str:
    """A joint's, geometry's or contact's name as one step of a path."""
    return name.replace("/", "_") or "_"


# --- commands -------------------------------------------------------------------------------------


def _object(path: str, drawn: Json) -> Command:
    return {"type": "set_object", "path": path, "object": drawn}


def _transform(path: str, matrix: Array) -> Command:
    return {"type": "set_transform", "path": path, "matrix": column_major(matrix)}


def _property(path: str, name: str, value: Any) -> Command:
    return {"type": "set_property", "path": path, "property": name, "value": value}


def _track(name: str, kind: str, time: Array, values: Array) -> Json:
    return {"name": f".{name}", "type": kind, "times": floats(time), "values": floats(values)}


def _switch(time: Array, on: np.ndarray) -> Json:
    """A visibility track with a key wherever it changes; `on` (m,) holds from each of `time` (m,) to the next."""
    keep = np.append(True, on[1:] != on[:-1])
    return {"name": ".visible", "type": "bool", "times": floats(time[keep]), "values": [bool(x) for x in on[keep]]}


def _animation(tracks: dict[str, list[Json]], duration: float) -> Command:
    # Equal durations keep the clips together when they repeat; times are seconds, hence one frame a second.
    clip = {"fps": 1, "name": "run", "duration": max(duration, 1e-3)}
    animations = [{"path": path, "clip": {**clip, "tracks": found}} for path, found in tracks.items()]
    options = {"play": True, "repetitions": float("inf")}
    return {"type": "set_animation", "animations": animations, "options": options, "path": ""}


# --- measures -------------------------------------------------------------------------------------


def _frame(robot: RobotLike, terrain: Any, motion: Motion) -> _Frame:
    plane = terrain.plane()
    ground = None
    if plane is not None:
        point, normal = (np.asarray(part, dtype=np.float64) for part in plane)
        ground = point, normal / np.linalg.norm(normal)
    low, high = _extent(robot, motion)
    size = max(float(np.linalg.norm(high - low)), 1e-3)
    return _Frame(size, _target(motion, ground, size, (low + high) / 2), ground)


def _extent(robot: RobotLike, motion: Motion) -> tuple[Array, Array]:
    """Corners (3,), (3,) of the box around the robot in the first frame, without what is fixed to the world."""
    corners = [*motion.points[0], *motion.joints[0, 1:, :3]]
    for item in robot.visual_model.geometryObjects if robot.visual_model is not None else ():
        item.geometry.computeLocalAABB()
        bounds = np.array([item.geometry.aabb_local.min_, item.geometry.aabb_local.max_])
        if item.parentJoint == 0 or np.abs(bounds).max() > _BOUNDLESS:
            continue
        local = np.array(np.meshgrid(*bounds.T)).reshape(3, -1).T
        corners += list(_act(motion.joints[0, item.parentJoint], item.placement, local))
    if not corners:
        corners = [np.full(3, -0.5), np.full(3, 0.5)]
    return np.min(corners, axis=0), np.max(corners, axis=0)


def _act(joint: Array, placement: Any, local: Array) -> Array:
    import pinocchio as pin

    world = pin.XYZQUATToSE3(joint) * placement
    return local @ world.rotation.T + world.translation


def _target(motion: Motion, ground: tuple[Array, Array] | None, size: float, first: Array) -> Array:
    """Point before the camera, (n, 3): still for a robot that stays, else its smoothed middle at a steady height."""
    middle = motion.joints[:, 1:, :3].mean(axis=1) if motion.joints.shape[1] > 1 else np.zeros((len(motion.time), 3))
    middle = middle - middle[0] + first
    if float(np.ptp(middle, axis=0)[:2].max()) < _FOLLOW_BEYOND * size:
        return np.broadcast_to(first, middle.shape).copy()
    frames_per_second = (len(motion.time) - 1) / max(motion.duration, 1e-3)
    target = smooth(middle, max(0.3 * frames_per_second, 1.0))
    if ground is not None:
        level = _level(ground, target)
        target[:, 2] = level + np.mean(target[:, 2] - level)
    return target


def _level(ground: tuple[Array, Array], points: Array) -> Array:
    """Height (n,) of the ground below `points` (n, 3)."""
    point, normal = ground
    return point[2] - (points[:, :2] - point[:2]) @ normal[:2] / normal[2]


def _force_scale(motion: Motion, size: float) -> float:
    """Newton per metre of arrow, a round number, such that a typical force is a quarter of the robot long."""
    strength = np.linalg.norm(motion.forces, axis=2)
    active = strength[strength > 1e-9]
    typical = float(np.percentile(active, 80)) if active.size else 1.0
    return round_number(typical / (0.25 * size))


def round_number(value: float) -> float:
    """The nearest of 1, 2, 5, 10, 20, 50 ... (in ratio) to a positive `value`."""
    decade = 10.0 ** np.floor(np.log10(value))
    return float(min((1.0, 2.0, 5.0, 10.0), key=lambda digit: abs(np.log(value / (digit * decade)))) * decade)


# --- stage: lights, camera, ground ----------------------------------------------------------------


def _stage(frame: _Frame) -> list[Command]:
    size = frame.size
    cleared = [{"type": "delete", "path": f"/{name}"} for name in ("Grid", "Axes", "Lights")]
    sky = {"type": "HemisphereLight", "color": 0xFFFFFF, "groundColor": 0xC9CDD4, "intensity": 0.5}
    fill = {"type": "DirectionalLight", "color": 0xDCE6FF, "intensity": 0.18, "matrix": _at((-2.0, 1.0, 0.8))}
    camera = {
        "type": "PerspectiveCamera",
        "fov": _CAMERA_FOV,
        "aspect": 1.6,
        "near": 0.01 * size,
        "far": 100.0 * size,
        "position": _upright(_unit(_CAMERA_DIRECTION) * 0.48 * size / np.sin(np.radians(_CAMERA_FOV / 2))),
    }
    return [
        *cleared,
        _property("/Background", "visible", False),
        _object("/Lights/sky", {"object": sky}),
        _object("/Lights/fill", {"object": fill}),
        *(_property(f"/Lights/{name}/<object>", "castShadow", False) for name in ("sky", "fill")),
        _object("/Lights/sun", {"object": _sun(size)}),
        _object("/Cameras/default/rotated", {"object": camera}),
        _transform("/world", _placed(-frame.target[0], np.eye(3))),
    ]


def _sun(size: float) -> Json:
    reach = 1.6 * size
    lens = {
        "type": "OrthographicCamera",
        "left": -reach,
        "right": reach,
        "top": reach,
        "bottom": -reach,
        "near": 0.1 * size,
        "far": 9.0 * size,
    }
    return {
        "type": "DirectionalLight",
        "color": 0xFFF6E8,
        "intensity": 0.52,
        "matrix": _at(_unit(_SUN_DIRECTION) * 4.0 * size),
        "shadow": {"camera": lens, "mapSize": [4096, 4096], "bias": -0.0005, "normalBias": 0.002 * size, "radius": 4},
    }


def _unit(vector: Array) -> Array:
    return vector / np.linalg.norm(vector)


def _at(position: Any) -> list[float]:
    return column_major(_placed(np.asarray(position, dtype=np.float64), np.eye(3)))


def _upright(point: Array) -> list[float]:
    """A point of the z-up world in the y-up axes of the page's camera."""
    return [float(point[0]), float(point[2]), float(-point[1])]


def _placed(position: Array, rotation: Array) -> Array:
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = rotation, position
    return matrix


_GROUND_VERTEX = """
varying vec2 here;
varying vec3 world;
void main() {
  here = position.xy;
  vec4 placed = modelMatrix * vec4(position, 1.0);
  world = placed.xyz;
  gl_Position = projectionMatrix * viewMatrix * placed;
}"""

# Lines of constant width on the screen, fading with distance from the robot and where they would flicker.
_GROUND_FRAGMENT = """
uniform float cell;
uniform float reach;
varying vec2 here;
varying vec3 world;
float grid(vec2 p, float width) {
  vec2 pixel = fwidth(p);
  vec2 near = abs(fract(p - 0.5) - 0.5) / pixel;
  float line = 1.0 - min(min(near.x, near.y) / width, 1.0);
  return line * (1.0 - smoothstep(0.15, 0.5, max(pixel.x, pixel.y)));
}
void main() {
  float fine = grid(here / cell, 1.1);
  float bold = grid(here / (5.0 * cell), 1.4);
  float line = max(0.34 * fine, 0.62 * bold);
  float fade = 1.0 - smoothstep(0.05 * reach, reach, length(world));
  vec3 colour = mix(vec3(0.97, 0.98, 1.0), vec3(0.52, 0.59, 0.70), line);
  gl_FragColor = vec4(colour, max(0.6, line) * fade);
}"""


def _ground(frame: _Frame) -> list[Command]:
    """A grid that follows the slope, and a second plane that takes the shadows; nothing where it is not flat."""
    if frame.ground is None:
        return []
    point, normal = frame.ground
    reach = 7.0 * frame.size
    half = 2.0 * reach + float(np.abs(frame.target - point).max())
    plane = {"type": "PlaneGeometry", "width": 2 * half, "height": 2 * half}
    grid = {
        "type": "ShaderMaterial",
        "uniforms": {
            "cell": {"type": "f", "value": round_number(0.12 * frame.size)},
            "reach": {"type": "f", "value": reach},
        },
        "vertexShader": _GROUND_VERTEX,
        "fragmentShader": _GROUND_FRAGMENT,
        "extensions": {"derivatives": True},
        "transparent": True,
        "depthWrite": False,
    }
    shade = {"type": "ShadowMaterial", "color": 0x101828, "opacity": 0.32, "transparent": True, "depthWrite": False}
    return [
        _transform("/world/ground", _placed(point, _facing(normal))),
        _object("/world/ground/grid", mesh(plane, grid, np.eye(4), renderOrder=-2)),
        _object("/world/ground/shadow", mesh(plane, shade, np.eye(4), renderOrder=-1)),
    ]


def _facing(normal: Array) -> Array:
    """Rotation whose z axis is `normal` and whose x axis stays above the world's x axis."""
    across = _unit(np.cross(normal, [1.0, 0.0, 0.0]) if abs(normal[0]) < 0.9 else np.cross(normal, [0.0, 0.0, -1.0]))
    return np.column_stack([np.cross(across, normal), across, normal])


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
        path = f"{_joint_path(robot, item.parentJoint)}/{node_name(item.name)}"
        commands += [_transform(path, np.asarray(item.placement.homogeneous, dtype=np.float64)), _object(path, drawn)]
    return commands


def _stick_figure(robot: RobotLike, size: float) -> list[Command]:
    """A ball at each joint and a rod to the joint before it: for a model without geometry."""
    commands = []
    for index in range(1, robot.model.njoints):
        path = _joint_path(robot, index)
        ball = mesh(sphere(0.03 * size), paint(_rgba("#344054")), np.eye(4))
        commands.append(_object(f"{path}/joint", ball))
        offset = robot.model.jointPlacements[index].translation
        length = float(np.linalg.norm(offset))
        parent = robot.model.parents[index]
        if parent == 0 or length == 0.0:
            continue
        rod = f"{_joint_path(robot, parent)}/to_{node_name(robot.model.names[index])}"
        thin = cylinder(0.015 * size, 0.015 * size, length)
        commands += [
            _transform(rod, _placed(offset / 2, _facing(offset / length))),
            _object(rod, mesh(thin, paint(_rgba("#98a2b3")), Y_TO_Z)),
        ]
    return commands


def _joint_path(robot: RobotLike, index: int) -> str:
    return f"/world/robot/{node_name(robot.model.names[index])}"


def _robot_tracks(robot: RobotLike, motion: Motion) -> dict[str, list[Json]]:
    return {
        _joint_path(robot, index): [
            _track("position", "vector3", motion.time, motion.joints[:, index, :3]),
            _track("quaternion", "quaternion", motion.time, motion.joints[:, index, 3:]),
        ]
        for index in range(1, robot.model.njoints)
    }


# --- contacts -------------------------------------------------------------------------------------


def _rgba(code: str) -> Array:
    return np.array([*(int(code[k : k + 2], 16) / 255 for k in (1, 3, 5)), 1.0])


def _glowing(code: str, opacity: float = 1.0) -> Json:
    rgba = _rgba(code)
    rgba[3] = opacity
    return paint(rgba, emissive=colour_code(rgba), emissiveIntensity=0.45)


def _contact(contact: ContactLike, frame: _Frame) -> list[Command]:
    """A coloured pad for each mode, and the arrow of the force."""
    name, size = node_name(contact.name), frame.size
    radius = max(1.35 * float(contact.radius), 0.026 * size)
    pad = cylinder(radius, radius, 0.16 * radius)
    ball = sphere(0.42 * radius)
    rod = cylinder(0.0065 * size, 0.0065 * size, 1.0)
    tip = cylinder(0.018 * size, 0.0, 0.055 * size)
    red = _glowing(FORCE_COLOUR)
    upwards = np.eye(4)
    upwards[2, 3] = 0.5
    return [
        _transform(f"/world/contacts/{name}", _placed(np.zeros(3), _facing(frame.normal))),
        _object(f"/world/contacts/{name}/open", mesh(ball, _glowing(MODE_COLOURS["OPEN"], 0.75), np.eye(4))),
        _object(f"/world/contacts/{name}/stick", mesh(pad, _glowing(MODE_COLOURS["STICK"]), Y_TO_Z)),
        _object(f"/world/contacts/{name}/slip", mesh(pad, _glowing(MODE_COLOURS["SLIP"]), Y_TO_Z)),
        _object(f"/world/forces/{name}/shaft", mesh(rod, red, upwards @ Y_TO_Z)),
        _object(f"/world/forces/{name}/head", mesh(tip, red, Y_TO_Z)),
    ]


def _contact_tracks(name: str, index: int, motion: Motion) -> dict[str, list[Json]]:
    tracks = {f"/world/contacts/{name}": [_track("position", "vector3", motion.time, motion.points[:, index])]}
    for number, mode in enumerate(MODES):
        switch = _switch(motion.mode_time, motion.modes[:, index] == number)
        tracks[f"/world/contacts/{name}/{mode.lower()}"] = [switch]
    return tracks


def _force_tracks(name: str, index: int, motion: Motion, scale: float, size: float) -> dict[str, list[Json]]:
    time, force = motion.time, motion.forces[:, index]
    length = np.linalg.norm(force, axis=1) / scale
    path = f"/world/forces/{name}"
    along = np.stack([np.ones_like(length), np.ones_like(length), np.maximum(length, 1e-6)], axis=1)
    end = np.stack([np.zeros_like(length), np.zeros_like(length), length], axis=1)
    closed = motion.modes[:, index] != 0
    shown = closed & (np.interp(motion.mode_time, time, length) > 0.01 * size)
    return {
        path: [
            _track("position", "vector3", time, motion.points[:, index]),
            _track("quaternion", "quaternion", time, _turn_from_z(force)),
            _switch(motion.mode_time, shown),
        ],
        f"{path}/shaft": [_track("scale", "vector3", time, along)],
        f"{path}/head": [_track("position", "vector3", time, end)],
    }


def _turn_from_z(vectors: Array) -> Array:
    """Unit quaternions (n, 4), x y z w, of the shortest turn from the z axis to each of `vectors` (n, 3)."""
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = np.where(length > 0.0, vectors / np.where(length > 0.0, length, 1.0), [0.0, 0.0, 1.0])
    turn = np.column_stack([-unit[:, 1], unit[:, 0], np.zeros(len(unit)), 1.0 + unit[:, 2]])
    turn[turn[:, 3] < 1e-9] = [1.0, 0.0, 0.0, 0.0]
    return turn / np.linalg.norm(turn, axis=1, keepdims=True)
