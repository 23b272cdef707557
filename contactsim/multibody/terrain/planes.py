"""Grounds that are planes, at rest or as belts, and the tangent directions of surfaces."""

from __future__ import annotations

from math import cos, sin

import numpy as np

from ...common.doors import door, number, tuples
from ...errors import InputError
from ..zero import ABYSS, DOWN, MOTION
from .surface import Array, Growth, Surface, Terrain, Third, finite, unknown_parameter


class Plane(Terrain):
    """A fixed plane whose surface may move along itself at a constant velocity."""

    moving = False

    def __init__(self, point: Array, normal: Array, velocity: Array) -> None:
        numbers = (np.asarray(given, dtype=float) for given in (point, normal, velocity))
        self._point, self._normal, self._velocity = numbers

    def plane(self) -> tuple[Array, Array]:
        """The point and the unit normal it was made from."""
        return self._point, self._normal

    def belt(self) -> Array:
        """Velocity of the surface, in the plane."""
        return self._velocity

    def surface(self, t: float, points: Array) -> Surface:
        """Distance to the plane; everything that would bend or move it is zero."""
        k = len(points)
        zeros, normals = np.zeros((k, 3)), np.tile(self._normal, (k, 1))
        still = np.zeros(k)
        belt = np.tile(self._velocity, (k, 1))
        distance = (points - self._point) @ self._normal
        return Surface(distance, normals, np.zeros((k, 3, 3)), still, zeros, still, belt, zeros)

    def gaps(self, t: float, centres: Array, radii: Array) -> Array:
        """Distances (k,) of spheres from the plane [m]."""
        return (centres - self._point) @ self._normal - radii

    def growth(self, t: float, duration: float, radii: Array) -> Growth:
        """A plane adds nothing to the motion of a sphere."""
        return Growth(0.0, 0.0, np.zeros(len(radii)))

    def approach(self, t: float, centre: Array, radius: float) -> tuple[float, Array]:
        """The distance from the plane, along its normal."""
        return float((centre - self._point) @ self._normal) - radius, np.array([0.0, *self._normal])

    def third(self, t: float, centres: Array, radii: Array) -> Third:
        """Nothing: a plane is flat, and its belt runs at the same speed everywhere."""
        return Third(np.zeros((len(centres), 4, 4, 4)), np.zeros((len(centres), 3, 4, 4)))

    def heights(self, t: float, points: Array) -> Array | None:
        """Heights below points (..., 2); None of a plane that is upright or overhead."""
        if not self._normal[2] > 0.0:
            return None
        return self._point[2] - (points - self._point[:2]) @ self._normal[:2] / self._normal[2]


class Flat(Plane):
    """Level ground at a height [m], with a surface velocity (2,) [m/s] for a belt."""

    def __init__(self, height: float = 0.0, velocity: tuple[float, float] = (0.0, 0.0)) -> None:
        self.height = float(finite("the height of the ground", height))
        belt = finite("the velocity of the ground", velocity, (2,))
        super().__init__(np.array([0.0, 0.0, self.height]), np.array([0.0, 0.0, 1.0]), np.array([*belt, 0.0]))

    def parameters(self) -> dict[str, float]:
        """height [m]."""
        return {"height": self.height}

    def with_parameter(self, name: str, value: float) -> Flat:
        """Level ground at another height."""
        if name != "height":
            raise unknown_parameter(self, name)
        return Flat(value, (self._velocity[0], self._velocity[1]))


class Slope(Plane):
    """A plane through the origin, inclined by `angle` [rad] against level ground and falling towards `downhill`.

    Args:
        angle: inclination in [0, pi/2) [rad].
        downhill: horizontal direction (2,) in which the ground falls.
    """

    @door(angle=number("radians in [0, pi/2)", ge=0.0, lt=np.pi / 2), downhill=tuples(2))
    def __init__(self, angle: float, downhill: tuple[float, float] = (1.0, 0.0)) -> None:
        length = float(np.hypot(*downhill))
        if not length > 0.0:
            raise InputError(f"the downhill direction {downhill} has no length; give a horizontal direction (x, y)")
        x, y = downhill[0] / length, downhill[1] / length
        normal = np.array([sin(angle) * x, sin(angle) * y, cos(angle)])
        super().__init__(np.zeros(3), normal, np.zeros(3))
        self.angle, self.downhill = angle, (x, y)

    def parameters(self) -> dict[str, float]:
        """angle [rad]."""
        return {"angle": self.angle}

    def with_parameter(self, name: str, value: float) -> Slope:
        """A slope of another angle."""
        if name != "angle":
            raise unknown_parameter(self, name)
        return Slope(value, self.downhill)


class NoGround(Plane):
    """No ground: a plane so far below that nothing reaches it, and that is not drawn."""

    def __init__(self) -> None:
        super().__init__(np.array([0.0, 0.0, -ABYSS]), np.array([0.0, 0.0, 1.0]), np.zeros(3))

    def heights(self, t: float, points: Array) -> Array | None:
        """None: there is nothing to draw."""
        return None


def rise(normal: Array) -> Array:
    """1 + n_z (...,) of unit normals (..., 3), without cancellation where they point down."""
    z = normal[..., 2]
    if np.all(z > 0.0):
        return 1.0 + z
    return np.where(z > 0.0, 1.0 + z, (normal[..., :2] ** 2).sum(axis=-1) / (1.0 - np.minimum(z, 0.0)))


def level_axes(normal: Array) -> Array:
    """The world's x and y axes (2, 3), turned the shortest way from upwards to `normal`.

    t_i = x_i - n_i / (1 + n_z) (e_z + n). They turn smoothly with the normal, except where it points straight down.
    """
    if not float(rise(normal)) > DOWN:
        return np.array([[1.0, 0.0, 0.0], [0.0, -1.0, 0.0]])
    middle = normal + np.array([0.0, 0.0, 1.0])
    return np.eye(3)[:2] - np.outer(normal[:2] / rise(normal), middle)


def tangents(normal: Array, motions: Array) -> Array:
    """Orthonormal tangent directions (d_t, 3) of a surface with unit `normal`, within the span of `motions` (r, 3).

    A mechanism that moves in a plane has one tangent direction, one that moves along the normal has none.
    """
    inside = motions - np.outer(motions @ normal, normal)
    if len(motions) == 3:
        return level_axes(normal)
    _, values, directions = np.linalg.svd(inside)
    kept = directions[: int(np.sum(values > MOTION))]
    signs = np.where(kept[np.arange(len(kept)), np.abs(kept).argmax(axis=1)] < 0.0, -1.0, 1.0)
    return kept * signs[:, None]
