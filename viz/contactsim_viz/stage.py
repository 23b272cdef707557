"""The stage of everything drawn: the lights, the camera that follows, the ground."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from contactsim.errors import InputError

from .commands import Command, facing, place, placed, put, set_property, unit
from .motion import smooth
from .protocols import Array
from .shapes import Json, column_major, mesh, triangles

CAMERA_DIRECTION = np.array([1.0, -1.25, 0.62])  # from the robot to the camera, z up
_CAMERA_FOV = 32.0  # degrees, vertical
_NARROWEST = 1.35  # width by height of a window from which a page does not move its camera back
_MARGIN = 0.04  # of the picture that stays free around what is shown
_SUN_DIRECTION = np.array([0.55, -0.75, 1.6])
_FOLLOW_BEYOND = 0.25  # travel, in robot sizes, above which the camera follows
_LAZINESS = 0.3  # seconds over which the camera averages
_PLANE_REACH, _SURFACE_REACH = 7.0, 4.5  # where the ground has faded away, in robot sizes
_VERTICES = 20_000  # of a surface, about
_FINEST = 2e-3  # step of the heights of a surface, in robot sizes
_FLAT = 1e-9  # height above a plane that makes no hill, in robot sizes

Plane = tuple[Array, Array]  # a point (3,) and the unit normal (3,)
Heights = Callable[[Array], Array]  # heights (...) below points (..., 2)


@dataclass(frozen=True)
class Frame:
    """Lengths and directions that everything drawn refers to.

    Attributes:
        size: diagonal of what is drawn, metres.
        target: (n, 3) point before the camera in each frame, world axes, metres.
        ground: the plane of a flat ground, or None.
        sight: (3,) direction from the target to the camera.
        zoom: how much closer than usual the camera is.
        around: (m, 3) points around the target, in the axes of the world, that are to be in the picture; None: those
            of a ball of nearly that size.
    """

    size: float
    target: Array
    ground: Plane | None
    sight: Array = field(default_factory=lambda: CAMERA_DIRECTION)
    zoom: float = 1.0
    around: Array | None = None

    def seen(self, sight: Any | None, zoom: float) -> Frame:
        """The same, seen from another direction (None: the same one) and distance."""
        own = self.sight if sight is None else np.asarray(sight, dtype=np.float64)
        return replace(self, sight=own, zoom=zoom)

    @property
    def distance(self) -> float:
        """From the target to the camera, metres."""
        usual = 0.48 * self.size / np.sin(np.radians(_CAMERA_FOV / 2))
        return max(usual, 0.0 if self.around is None else _distance(self.around, unit(self.sight))) / self.zoom

    @property
    def normal(self) -> Array:
        """Unit normal (3,) of a flat ground; else upwards."""
        return np.array([0.0, 0.0, 1.0]) if self.ground is None else self.ground[1]


def _distance(points: Array, sight: Array) -> float:
    """From the target to a camera in the direction `sight`, in whose picture all `points` (m, 3) around it are.

    A point x to the right, y above and z towards the camera is seen if |y| < (d - z) tan(fov / 2), and |x| likewise.
    """
    x, y, z = (points @ axes_of(sight)).T
    high = np.tan(np.radians(_CAMERA_FOV / 2)) / (1.0 + _MARGIN)
    return float((z + np.maximum(np.abs(y), np.abs(x) / _NARROWEST) / high).max())


def axes_of(sight: Array) -> Array:
    """Axes of the picture as columns (3, 3): to the right, upwards, and the unit vector `sight` towards the camera."""
    right = unit(np.cross([0.0, 1e-9, 1.0], sight))
    return np.column_stack([right, np.cross(sight, right), sight])


def follow(middle: Array, duration: float, size: float, ground: Plane | None = None) -> Array:
    """Point before the camera, (n, 3): still before something that stays, else the `middle` (n, 3) of it, smoothed.

    The frames have equal duration, `duration` seconds in all; above a `ground` the camera keeps a steady height.
    """
    if float(np.ptp(middle, axis=0)[:2].max()) < _FOLLOW_BEYOND * size:
        return np.broadcast_to(middle[0], middle.shape).copy()
    frames_per_second = (len(middle) - 1) / max(duration, 1e-3)
    target = smooth(middle, max(_LAZINESS * frames_per_second, 1.0))
    if ground is not None:
        height = _level(ground, target)
        target[:, 2] = height + np.mean(target[:, 2] - height)
    return target


def _level(ground: Plane, points: Array) -> Array:
    """Height (n,) of the ground below `points` (n, 3)."""
    point, normal = ground
    return point[2] - (points[:, :2] - point[:2]) @ normal[:2] / normal[2]


def round_number(value: float) -> float:
    """The nearest of 1, 2, 5, 10, 20, 50 ... (in ratio) to a positive `value`."""
    decade = 10.0 ** np.floor(np.log10(value))
    return float(min((1.0, 2.0, 5.0, 10.0), key=lambda digit: abs(np.log(value / (digit * decade)))) * decade)


# --- lights and camera ----------------------------------------------------------------------------


def stage(frame: Frame) -> list[Command]:
    """Lights and camera."""
    size = frame.size
    cleared = [{"type": "delete", "path": f"/{name}"} for name in ("Grid", "Axes", "Lights")]
    sky = {"type": "HemisphereLight", "color": 0xFFFFFF, "groundColor": 0xC9CDD4, "intensity": 0.5}
    fill = {"type": "DirectionalLight", "color": 0xDCE6FF, "intensity": 0.18, "matrix": _at((-2.0, 1.0, 0.8))}
    x, y, z = (unit(frame.sight) * frame.distance).tolist()
    camera = {
        "type": "PerspectiveCamera",
        "fov": _CAMERA_FOV,
        "aspect": 1.6,
        "near": 0.01 * size,
        "far": 100.0 * size,
        "position": [x, z, -y],  # the page's camera has y upwards
    }
    return [
        *cleared,
        set_property("/Background", "visible", False),
        put("/Lights/sky", {"object": sky}),
        put("/Lights/fill", {"object": fill}),
        *(set_property(f"/Lights/{name}/<object>", "castShadow", False) for name in ("sky", "fill")),
        put("/Lights/sun", {"object": _sun(size)}),
        put("/Cameras/default/rotated", {"object": camera}),
        place("/world", placed(-frame.target[0], np.eye(3))),
    ]


def _sun(size: float) -> Json:
    reach = 1.6 * size
    lens = {"type": "OrthographicCamera", "left": -reach, "right": reach, "top": reach, "bottom": -reach}
    lens |= {"near": 0.1 * size, "far": 9.0 * size}
    return {
        "type": "DirectionalLight",
        "color": 0xFFF6E8,
        "intensity": 0.52,
        "matrix": _at(unit(_SUN_DIRECTION) * 4.0 * size),
        "shadow": {"camera": lens, "mapSize": [4096, 4096], "bias": -0.0005, "normalBias": 0.002 * size, "radius": 4},
    }


def _at(position: Any) -> list[float]:
    return column_major(placed(np.asarray(position, dtype=np.float64), np.eye(3)))


# --- ground ---------------------------------------------------------------------------------------

_GROUND_VERTEX = """
varying vec2 here;
varying vec3 world;
varying float light;
void main() {
  here = position.xy;
  world = (modelMatrix * vec4(position, 1.0)).xyz;
  light = 1.0 + dot(normalize(normal) - vec3(0.0, 0.0, 1.0), vec3(0.30, -0.41, 0.86));
  gl_Position = projectionMatrix * modelViewMatrix * vec4(position, 1.0);
}"""

# Lines of constant width on the screen, fading with distance from the robot and where they would flicker.
_GROUND_FRAGMENT = """
uniform float cell;
uniform float reach;
uniform float opaque;
uniform float bright;
varying vec2 here;
varying vec3 world;
varying float light;
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
  gl_FragColor = vec4(colour * bright * min(light, 1.06), max(opaque, line) * fade);
}"""


def ground_plane(frame: Frame) -> list[Command]:
    """A grid that follows the slope, and a second plane that takes the shadows; nothing where it is not flat."""
    if frame.ground is None:
        return []
    point, normal = frame.ground
    reach = _PLANE_REACH * frame.size
    half = 2.0 * reach + float(np.abs(frame.target - point).max())
    plane = {"type": "PlaneGeometry", "width": 2 * half, "height": 2 * half}
    return [place("/world/ground", placed(point, facing(normal))), _ground(plane, frame.size, reach, solid=False)]


def ground_surface(frame: Frame, heights: Heights) -> Command:
    """Hills below the way of the camera, with a grid on them, and their shadows."""
    reach = _SURFACE_REACH * frame.size
    points = _below(frame.target, reach)
    z = _rounded(_heights(heights, points), _FINEST * frame.size)
    x, y = points[:, 0, 0], points[0, :, 1]
    slopes = np.stack([*np.gradient(z, x, y), -np.ones(z.shape)], axis=-1)
    normals = _rounded(-slopes / np.linalg.norm(slopes, axis=-1, keepdims=True), 2.0 * _FINEST).reshape(-1, 3)
    index = np.arange(z.size).reshape(z.shape)
    a, b, c, d = index[:-1, :-1], index[1:, :-1], index[1:, 1:], index[:-1, 1:]
    faces = np.concatenate([np.stack([a, b, c], -1).reshape(-1, 3), np.stack([a, c, d], -1).reshape(-1, 3)])
    vertices = np.concatenate([points, z[..., None]], axis=-1).reshape(-1, 3)
    return _ground(triangles(vertices, faces, normals), frame.size, reach, solid=True)


def _rounded(values: Array, step: float) -> Array:
    """Values to the next smaller power of two below `step`: what ends in zero bits is packed well."""
    power = 2.0 ** np.floor(np.log2(step))
    return np.round(values / power) * power


def plane_of(heights: Heights, target: Array, size: float) -> Plane | None:
    """The plane that a ground is below the points `target` (n, 3) and around them; None where it has hills."""
    points = _below(target, _PLANE_REACH * size, 2_000).reshape(-1, 2)
    middle = points.mean(axis=0)
    columns = np.column_stack([np.ones(len(points)), points - middle])
    z = _heights(heights, points)
    level, *slope = np.linalg.lstsq(columns, z, rcond=None)[0]
    if np.abs(columns @ [level, *slope] - z).max() > _FLAT * size:
        return None
    return np.array([*middle, level]), unit(np.array([-slope[0], -slope[1], 1.0]))


def _heights(heights: Heights, points: Array) -> Array:
    z = np.asarray(heights(points), dtype=np.float64)
    if z.shape not in ((), points.shape[:-1]) or not np.isfinite(z).all():
        raise InputError(
            f"the ground of the drawing has heights of shape {z.shape} below points of shape {points.shape}, or some"
            " that are not finite; let it give a finite height below each point"
        )
    return np.broadcast_to(z, points.shape[:-1])


def _below(target: Array, reach: float, count: int = _VERTICES) -> Array:
    """A grid of some `count` points (nx, ny, 2) of the horizontal plane, up to `reach` from `target` (n, 3)."""
    low, high = target[:, :2].min(axis=0) - reach, target[:, :2].max(axis=0) + reach
    spacing = np.sqrt(np.prod(high - low) / count)
    x, y = (np.linspace(a, b, int((b - a) / spacing) + 2) for a, b in zip(low, high, strict=True))
    return np.stack(np.meshgrid(x, y, indexing="ij"), axis=-1)


def _ground(geometry: Json, size: float, reach: float, solid: bool) -> Command:
    """Grid and shadow on one geometry."""
    grid = {
        "type": "ShaderMaterial",
        "uniforms": {
            "cell": {"type": "f", "value": round_number(0.12 * size)},
            "reach": {"type": "f", "value": reach},
            "opaque": {"type": "f", "value": 1.0 if solid else 0.6},
            "bright": {"type": "f", "value": 0.92 if solid else 1.0},
        },
        "vertexShader": _GROUND_VERTEX,
        "fragmentShader": _GROUND_FRAGMENT,
        "extensions": {"derivatives": True},
        "transparent": True,
        "depthWrite": solid,
    }
    shade = {"type": "ShadowMaterial", "color": 0x101828, "opacity": 0.32, "transparent": True, "depthWrite": False}
    shade |= {"polygonOffset": True, "polygonOffsetFactor": -1.0, "polygonOffsetUnits": -4.0}
    drawn = mesh(geometry, shade, np.eye(4), renderOrder=-1)
    drawn["materials"].append({"uuid": "grid", **grid})
    lines = {"type": "Mesh", "geometry": "geometry", "material": "grid", "renderOrder": -2}
    drawn["object"]["children"] = [lines]
    return put("/world/ground/grid", drawn)
