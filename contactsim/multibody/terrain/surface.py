"""The contract of a ground, a signed distance with its derivatives and the velocity of its material; and planes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from math import cos, sin
from typing import TYPE_CHECKING, Any

import numpy as np

from ...common.arguments import REAL, arguments, number, numbers, tuples
from ...common.arrays import Array
from ...common.lazy import NamedTuple, dataclass
from ...common.representation import with_values
from ...errors import InputError
from ...hybrid.differences import derivative
from ..zero import ABYSS, DOWN, MOTION

if TYPE_CHECKING:
    from .plain_hills import PlainHills

STEP = 1e-3  # of differences of fourth order of a surface, in m and s


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
        velocity: velocity (k, 3) of the ground's material at the nearest point of the surface [m/s].
        acceleration: its rate (k, 3) at a fixed point [m/s^2].
        velocity_gradient: its derivative (k, 3, 3) along the point [1/s]; None where it is the same everywhere.
    """

    distance: Array
    normal: Array
    hessian: Array
    distance_rate: Array
    normal_rate: Array
    distance_acceleration: Array
    velocity: Array
    acceleration: Array
    velocity_gradient: Array | None = None

    @property
    def gradient(self) -> Array:
        """Derivative (k, 4) of the distance by (t, x, y, z)."""
        return np.concatenate([self.distance_rate[:, None], self.normal], axis=1)

    @property
    def curvature(self) -> Array:
        """Second derivative (k, 4, 4) of the distance by (t, x, y, z)."""
        out = np.empty((len(self.distance), 4, 4))
        out[:, 0, 0] = self.distance_acceleration
        out[:, 0, 1:] = out[:, 1:, 0] = self.normal_rate
        out[:, 1:, 1:] = self.hessian
        return out

    @property
    def velocity_change(self) -> Array:
        """Derivative (k, 3, 4) of the velocity by (t, x, y, z)."""
        out = np.zeros((len(self.distance), 3, 4))
        out[:, :, 0] = self.acceleration
        if self.velocity_gradient is not None:
            out[:, :, 1:] = self.velocity_gradient
        return out


class Third(NamedTuple):
    """Third derivatives of the distance by (t, x, y, z), for the derivative of the contacts' motion.

    Attributes:
        distance: third derivatives (k, 4, 4, 4) of the distance.
        velocity: second derivatives (k, 3, 4, 4) of the velocity of the ground.
    """

    distance: Array
    velocity: Array


class Growth(NamedTuple):
    """Bounds of the rates at which the distances of spheres from a ground change, whatever way they go.

    Attributes:
        speed, acceleration: largest ones of the ground itself [m/s, m/s^2].
        curvature: bound of the second derivative (k,) of each sphere's distance by place, where `approach` knows its
            gradient [1/m].
    """

    speed: float
    acceleration: float
    curvature: Array


class Terrain(ABC):
    """The ground. A plane answers `plane`; a curved or moving ground answers None there and gives its `surface`.

    Attributes:
        moving: whether its shape or place depends on time; a ground that does not say so counts as moving.
        oscillates: whether it moves as a whole by an `Oscillation` alone, of which all rates are known.
        smooth: False: it has edges or steps, where its distance or normal jumps, and is smooth between them only. The
            conformance kit compares derivatives away from them, and asks for none of runs. No event marks an edge.
    """

    moving: bool = True
    oscillates: bool = False
    smooth: bool = True

    def __repr__(self) -> str:
        return with_values(self, self.parameters())

    @abstractmethod
    def plane(self) -> tuple[Array, Array] | None:
        """A point (3,) and the unit normal (3,) of the ground where it is a fixed plane, else None."""

    @abstractmethod
    def surface(self, t: float, points: Array) -> Surface:
        """The ground near `points` (k, 3) at time `t`."""

    def plain_hills(self) -> PlainHills | None:
        """Hills at rest that are data, which compiled engines may know; None of any other ground."""
        return None

    def belt(self) -> Array:
        """Constant velocity (3,) of the surface of a plane [m/s]."""
        return np.zeros(3)

    def constant_normal(self) -> Array | None:
        """The unit normal (3,) of a ground that has the same one everywhere and always, else None."""
        plane = self.plane()
        return None if plane is None else plane[1]

    def stays_within(self, across: Array) -> bool:
        """True if its normal never leaves the vertical plane with unit normal `across` (3,), as far as it can tell."""
        return False

    def gaps(self, t: float, centres: Array, radii: Array) -> Array:
        """Distances (k,) of spheres from the ground [m]; far from it any smooth measure of the same sign will do."""
        return self.surface(t, centres).distance - radii

    def may_cover(self, t: float, points: Array) -> Array:
        """Whether points (k, 3) may be below its surface (k,): all, where that takes as much as the gaps."""
        return np.ones(len(points), dtype=bool)

    def growth(self, t: float, duration: float, radii: Array) -> Growth | None:
        """Bounds of changing distances between `t` and `t + duration`; None: unknown, and they are sampled."""
        return None

    def at_least(self, gaps: Array, radii: Array) -> Array:
        """Lower bounds (k,) of the true distances of spheres [m] from what `gaps` says, of the same sign."""
        return gaps

    def approach(self, t: float, centre: Array, radius: float) -> tuple[float, Array | None]:
        """The gap of one sphere with its gradient (4,) by (t, x, y, z); None with it: a lower bound of the distance."""
        ground = self.surface(t, centre[None])
        return float(ground.distance[0]) - radius, ground.gradient[0]

    def near(self, t: float, centres: Array, radii: Array) -> Surface:
        """The ground near the centres (k, 3) of spheres that touch it."""
        return self.surface(t, centres)

    def third(self, t: float, centres: Array, radii: Array) -> Third:
        """Third derivatives near the centres of spheres that touch the ground; here by differences of `near`."""

        def at(h: float, axis: int) -> Array:
            shift = h * np.eye(4)[axis]
            ground = self.near(t + shift[0], centres + shift[1:], radii)
            return np.concatenate([ground.curvature, ground.velocity_change], axis=1)

        changes = [derivative(lambda h, k=axis: at(h, k), STEP) for axis in range(4)]  # type: ignore[misc]
        both = np.stack(changes, axis=-1)
        return Third(both[:, :4], both[:, 4:])

    def contradiction(self, times: Array) -> str | None:
        """Where, at or between rising times [s], its motion is not what its rates say, in words; None: nowhere seen."""
        return None

    def check_sphere(self, name: str, radius: float) -> None:  # noqa: B027 - optional
        """Raise InputError where a sphere is known not to fit into the hollows of the ground."""

    def heights(self, t: float, points: Array) -> Array | None:
        """Heights (...,) of the ground below points (..., 2) [m], to draw it; None where it cannot say."""
        return None

    def displacement(self, t: float) -> Array:
        """Displacement (3,) of the ground as a whole [m], to draw it."""
        return np.zeros(3)

    def parameters(self) -> dict[str, float]:
        """Numbers of the ground by name that may be changed; see `with_parameter`."""
        return {}

    def with_parameter(self, name: str, value: float) -> Terrain:
        """A copy with one of its `parameters` changed.

        Raises:
            InputError: there is no such parameter, or its value is out of range.
        """
        raise unknown_parameter(self, name)


def unknown_parameter(ground: Terrain, name: str) -> InputError:
    """The error for a parameter that a ground does not have."""
    known = ", ".join(ground.parameters()) or "none"
    return InputError(f"the ground {type(ground).__name__} has no parameter '{name}'; there are {known}")


def finite(what: str, value: Any, shape: tuple[int, ...] = ()) -> Array:
    """A number or an array of numbers of a shape.

    Raises:
        InputError: it is something else, or not finite.
    """
    return np.asarray((numbers(*shape) if shape else REAL).check(what, value))


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

    @arguments()
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

    @arguments(angle=number("radians in [0, pi/2)", ge=0.0, lt=np.pi / 2), downhill=tuples(2))
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
