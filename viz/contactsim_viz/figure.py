"""Where a robot's joints and contacts are at one moment, and in which modes."""

from __future__ import annotations

from typing import Any

import numpy as np

from .motion import mode_index
from .reads import Array, RobotLike, mark_positions, marks
from .stage import Frame


class Figure:
    """Reads states of one robot.

    Attributes:
        robot: it.
        names: of its contacts on the ground, and then of those between bodies.
        grounded: number of those on the ground.
    """

    def __init__(self, robot: RobotLike) -> None:
        import pinocchio as pin

        self.robot = robot
        self.names = [contact.name for contact in marks(robot)]
        self.grounded = len(robot.contacts)
        self._data, self._pin = robot.model.createData(), pin

    def configuration(self, system: Any, x: Array) -> Array:
        """Configuration (nq,) of a plain state."""
        return np.asarray(system.state(x).q, dtype=np.float64)

    def joints(self, q: Array) -> Array:
        """Joint placements (nj, 7): position, and unit quaternion x, y, z, w."""
        self._pin.forwardKinematics(self.robot.model, self._data, q)
        return np.array([self._pin.SE3ToXYZQUAT(placement) for placement in self._data.oMi])

    def points(self, q: Array) -> Array:
        """Where the contacts are (nc, 3), world frame, metres."""
        return mark_positions(self.robot, q)

    def modes(self, system: Any, mode: Any) -> np.ndarray:
        """Indices (nc,) into `MODES`."""
        named = system.named_modes(mode)
        return np.array([mode_index(named[name].name) for name in self.names], dtype=np.intp)

    @property
    def mass(self) -> float:
        """Of all bodies, kilograms."""
        return float(self._pin.computeTotalMass(self.robot.model))


def ground_normals(terrain: Any, t: float, points: Array, frame: Frame) -> Array:
    """Unit normals (n, 3) of the ground at `points` (n, 3)."""
    if frame.ground is not None or not len(points) or not hasattr(terrain, "surface"):
        return np.broadcast_to(frame.normal, points.shape)
    return np.asarray(terrain.surface(t, points).normal, dtype=np.float64)
