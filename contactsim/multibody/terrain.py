"""Ground surfaces: a signed distance, its derivatives, and the velocity of the surface (belt, paddle)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import cos, isfinite, sin

import numpy as np

from ..errors import InputError

Array = np.ndarray


@dataclass(frozen=True)
class Surface:
    """The ground near k points, in the world frame.

    Attributes:
        distance: signed distance phi (k,) [m], positive above ground.
        normal: its gradient n (k, 3), unit.
        hessian: its second derivative (k, 3, 3) [1/m]; zero on a plane.
        distance_rate: d phi/dt at a fixed point (k,) [m/s].
        normal_rate: d n/dt at a fixed point (k, 3) [1/s].
        distance_acceleration: d2 phi/dt2 at a fixed point (k,) [m/s^2].
        velocity: velocity (k, 3) of the ground's material at the surface [m/s].
        acceleration: its rate (k, 3) at a fixed point [m/s^2].
    """

    distance: Array
    normal: Array
    hessian: Array
    distance_rate: Array
    normal_rate: Array
    distance_acceleration: Array
    velocity: Array
    acceleration: Array


class Terrain(ABC):
    """The ground. A plane answers `plane`; a curved or moving ground answers None there and gives its `surface`."""

    @abstractmethod
    def plane(self) -> tuple[Array, Array] | None:
        """A point (3,) and the unit normal (3,) of the ground where it is a fixed plane, else None."""

    @abstractmethod
    def surface(self, t: float, points: Array) -> Surface:
        """The ground near `points` (k, 3) at time `t`."""

    def belt(self) -> Array:
        """Constant velocity (3,) of the surface of a plane [m/s]."""
        return np.zeros(3)


class Plane(Terrain):
    """A fixed plane whose surface may move along itself at a constant velocity."""

    def __init__(self, point: Array, normal: Array, velocity: Array) -> None:
        self._point, self._normal, self._velocity = point, normal, velocity

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


class Flat(Plane):
    """Level ground at a height [m], with a surface velocity (2,) [m/s] for a belt."""

    def __init__(self, height: float = 0.0, velocity: tuple[float, float] = (0.0, 0.0)) -> None:
        if not isfinite(height):
            raise InputError(f"the height of the ground is {height}; give a finite number in metres")
        super().__init__(np.array([0.0, 0.0, height]), np.array([0.0, 0.0, 1.0]), np.array([*velocity, 0.0]))
        self.height = height


class Slope(Plane):
    """A plane through the origin, inclined by `angle` [rad] against level ground and falling towards `downhill`.

    Args:
        angle: inclination in [0, pi/2) [rad].
        downhill: horizontal direction (2,) in which the ground falls.
    """

    def __init__(self, angle: float, downhill: tuple[float, float] = (1.0, 0.0)) -> None:
        if not 0.0 <= angle < np.pi / 2:
            raise InputError(f"the angle of the slope is {angle}; give radians in [0, pi/2)")
        length = float(np.hypot(*downhill))
        if not length > 0.0:
            raise InputError(f"the downhill direction {downhill} has no length; give a horizontal direction (x, y)")
        x, y = downhill[0] / length, downhill[1] / length
        normal = np.array([sin(angle) * x, sin(angle) * y, cos(angle)])
        super().__init__(np.zeros(3), normal, np.zeros(3))
        self.angle, self.downhill = angle, (x, y)


def tangents(normal: Array, motions: Array) -> Array:
    """Orthonormal tangent directions (d_t, 3) of a surface with unit `normal`, within the span of `motions` (r, 3).

    A mechanism that moves in a plane has one tangent direction, one that moves along the normal has none.
    """
    inside = motions - np.outer(motions @ normal, normal)
    if len(motions) == 3:  # the world's x axis, laid onto the surface, comes first
        first = np.array([1.0, 0.0, 0.0]) - normal[0] * normal
        if np.linalg.norm(first) < 0.5:
            first = np.array([0.0, 1.0, 0.0]) - normal[1] * normal
        first /= np.linalg.norm(first)
        return np.array([first, np.cross(normal, first)])
    _, values, directions = np.linalg.svd(inside)
    kept = directions[: int(np.sum(values > 1e-9))]
    signs = np.where(kept[np.arange(len(kept)), np.abs(kept).argmax(axis=1)] < 0.0, -1.0, 1.0)
    return kept * signs[:, None]
