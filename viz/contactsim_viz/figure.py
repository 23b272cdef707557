"""Places of a robot's joints and contacts at one moment, their modes, and how the ground lies below them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .protocols import Array, RobotLike, mark_positions, marks, mode_index

_ASIDE = 1e-5  # metres: how far from a point the ground is looked at for its slope
_ROUNDS = 3  # in which the point of a round contact that is nearest to a hill is found
_UP = np.array([0.0, 0.0, 1.0])


class Figure:
    """Reads states of one robot.

    Attributes:
        robot: it.
        names: of its contacts on the ground, and then of those between bodies.
        grounded: number of those on the ground.
    """

    def __init__(self, robot: RobotLike) -> None:
        self.robot = robot
        self.names = [contact.name for contact in marks(robot)]
        self.grounded = len(robot.contacts)

    def configuration(self, system: Any, x: Array) -> Array:
        """Configuration (nq,) of a plain state."""
        return np.asarray(system.state(x).q, dtype=np.float64)

    def joints(self, q: Array) -> Array:
        """Joint placements (nj, 7): position, and unit quaternion x, y, z, w."""
        return self.robot.joint_placements(q)

    def touch(self, q: Array, terrain: Any, t: float) -> tuple[Array, Array]:
        """Points (nc, 3) [m] where the contacts touch, and the normals (nc, 3) there; see `touch_points`."""
        return touch_points(self.robot, q, terrain, t)

    def modes(self, system: Any, mode: Any) -> np.ndarray:
        """Indices (nc,) into `MODES`."""
        named = system.named_modes(mode)
        return np.array([mode_index(named[name].name) for name in self.names], dtype=np.intp)

    @property
    def mass(self) -> float:
        """Of all bodies, kilograms."""
        import pinocchio as pin

        return float(pin.computeTotalMass(self.robot.model))


def touch_points(robot: RobotLike, q: Array, terrain: Any, t: float) -> tuple[Array, Array]:
    """Points (nc, 3) [m] where contacts touch, or would, and the unit normals (nc, 3) of the ground there.

    A round contact touches at its centre less its radius along the normal. Contacts between bodies come last; they
    have normals upwards.
    """
    points = mark_positions(robot, q)
    normals, count = np.tile(_UP, (len(points), 1)), len(robot.contacts)
    radii = np.array([contact.radius for contact in robot.contacts])[:, None]
    if not count:
        return points, normals
    centres = points[:count] + radii * _UP
    for _ in range(_ROUNDS if radii.any() and flat_normal(terrain) is None else 1):
        normals[:count] = ground_normals(terrain, t, points[:count])
        points[:count] = centres - radii * normals[:count]
    return points, normals


def flat_normal(terrain: Any) -> Array | None:
    """Unit normal (3,) of ground that is a fixed plane; else None."""
    plane = terrain.plane()
    return None if plane is None else np.asarray(plane[1], dtype=np.float64) / np.linalg.norm(plane[1])


def ground_normals(terrain: Any, t: float, points: Array) -> Array:
    """Unit normals (n, 3) of the ground below `points` (n, 3), by its slopes; upwards where nobody knows.

    The point of a hill that is nearest to a contact high above it need not be unique; the one below it is.
    """
    normal = flat_normal(terrain)
    if normal is not None:
        return np.broadcast_to(normal, points.shape)
    around = points[:, None, :2] + _ASIDE * np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    heights: Any = getattr(terrain, "heights", None)
    z = None if heights is None else heights(t, around)
    if z is None:
        return np.broadcast_to(_UP, points.shape)
    slopes = np.column_stack([z[:, 0] - z[:, 1], z[:, 2] - z[:, 3]]) / (2.0 * _ASIDE)
    normals = np.column_stack([-slopes, np.ones(len(points))])
    return normals / np.linalg.norm(normals, axis=1, keepdims=True)


def ground_way(terrain: Any, t: float) -> Array:
    """Displacement (3,) of a ground that moves as a whole at `t`, metres."""
    displacement: Any = getattr(terrain, "displacement", None)
    return np.zeros(3) if displacement is None else np.asarray(displacement(t), dtype=np.float64)


def ground_ways(terrain: Any, times: Sequence[float] | Array) -> Array:
    """The same (n, 3) for each of `times` (n,)."""
    return np.array([ground_way(terrain, float(t)) for t in times])
