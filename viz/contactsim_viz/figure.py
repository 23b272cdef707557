"""Places of a robot's joints and contacts at one moment, and their modes."""

from __future__ import annotations

from typing import Any

import numpy as np

from .ground import touch_points
from .reads import Array, RobotLike, marks, mode_index


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
        """Points (nc, 3) [m] where the contacts touch, and the normals (nc, 3) there; see `ground`."""
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
