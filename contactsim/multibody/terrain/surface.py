"""The contract of a ground: a signed distance with its derivatives, and the velocity of the ground's material."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...common.arrays import Array
from ...common.doors import REAL, numbers
from ...errors import InputError
from ...hybrid.differences import derivative

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
        smooth: False: it has edges or steps, where its distance or normal jumps, and is smooth between them only. The
            conformance kit compares derivatives away from them, and asks for none of runs. No event marks an edge.
    """

    moving: bool = True
    smooth: bool = True

    @abstractmethod
    def plane(self) -> tuple[Array, Array] | None:
        """A point (3,) and the unit normal (3,) of the ground where it is a fixed plane, else None."""

    @abstractmethod
    def surface(self, t: float, points: Array) -> Surface:
        """The ground near `points` (k, 3) at time `t`."""

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
