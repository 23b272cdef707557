"""From the inputs of a robot to generalised forces: torques of its actuated joints, or actuators of its file."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from ..common.arrays import Array
from ..errors import InputError
from ..hybrid.manifold import Manifold
from ..multibody.actuators import Actuators
from ..multibody.controllers import Controller, holds


class Drive(ABC):
    """Generalised forces of inputs.

    Attributes:
        count: numbers of inputs nu.
        memory: numbers of own state (integrators and filters of actuators).
        ranges: least and largest value of each input (nu, 2).
        driven: the velocity that each input drives (nu,), where they are its torques; else None.
    """

    driven: Array | None = None
    count: int
    memory: int
    ranges: Array

    @abstractmethod
    def force(self, u: Array, q: Array, v: Array, z: Array) -> Array:
        """Generalised forces (nv,)."""

    @abstractmethod
    def force_jacobian(self, u: Array, q: Array, v: Array, z: Array) -> Array:
        """D force (nv, 2 nv + nu + memory) along tangent directions of q, then v, u, z."""

    def rate(self, u: Array, z: Array) -> Array:
        """Rates (memory,) of the own state."""
        return np.zeros(0)

    def rate_jacobian(self, u: Array, z: Array) -> Array:
        """D rate (memory, nu + memory)."""
        return np.zeros((0, self.count))


class JointTorques(Drive):
    """Inputs are the generalised forces on the actuated joints, in the order of their velocities.

    Args:
        actuated: which velocities (nv,) are driven.
    """

    def __init__(self, actuated: Array) -> None:
        self._select, self.driven = np.eye(len(actuated))[:, actuated], np.flatnonzero(actuated)
        self.count, self.memory = self._select.shape[1], 0
        self.ranges = np.tile([-np.inf, np.inf], (self.count, 1))

    def force(self, u: Array, q: Array, v: Array, z: Array) -> Array:
        """The inputs on their joints."""
        return self._select @ u

    def force_jacobian(self, u: Array, q: Array, v: Array, z: Array) -> Array:
        """Constant."""
        return np.hstack([np.zeros((len(v), 2 * len(v))), self._select])


class FileActuators(Drive):
    """Inputs are the controls of a robot's actuators, in the order of its file.

    Args:
        robot: a Robot of an MJCF file that has some.
    """

    def __init__(self, robot: Any) -> None:
        self._own = Actuators(robot)
        self.count, self.memory, self.ranges = len(robot.actuators), self._own.memory, self._own.ranges

    def force(self, u: Array, q: Array, v: Array, z: Array) -> Array:
        """Forces of all actuators."""
        return self._own.pull(u, q, v, z)

    def force_jacobian(self, u: Array, q: Array, v: Array, z: Array) -> Array:
        """Analytic; zero where a range cuts."""
        return self._own.pull_jacobian(u, q, v, z)

    def rate(self, u: Array, z: Array) -> Array:
        """Rates of integrators and filters."""
        return self._own.activation_rate(u, z)

    def rate_jacobian(self, u: Array, z: Array) -> Array:
        """Analytic."""
        return self._own.activation_jacobian(u, z)


def drive_of(robot: Any) -> Drive:
    """The drive of a robot or mechanism: actuators of its file where it has some, else its actuated joints."""
    if getattr(robot, "actuators", ()):
        return FileActuators(robot)
    return JointTorques(np.asarray(getattr(robot, "actuated", np.ones(robot.nv, dtype=bool))))


class HeldInputs(Controller):
    """Inputs held between samples: the state z of the controller is the inputs u, followed by what actuators hold.

    Attributes:
        inputs: numbers of inputs nu.
    """

    inputs: int
    _drive: Drive | None = None

    @property
    def _driven(self) -> Drive:
        if self._drive is None:
            own = type(self).__name__
            raise InputError(f"{own} drive nothing yet; give them to a ContactSystem as its controller")
        return self._drive

    @holds
    def torque(self, t: float, q: Array, v: Array, z: Array) -> Array:
        """Generalised forces of the inputs that are held."""
        return self._driven.force(z[: self.inputs], q, v, z[self.inputs :])

    def rate(self, t: float, q: Array, v: Array, z: Array) -> Array:
        """Rates of what actuators hold; inputs stand still."""
        return np.concatenate([np.zeros(self.inputs), self._driven.rate(z[: self.inputs], z[self.inputs :])])

    def torque_jacobian(self, t: float, q: Array, v: Array, z: Array, space: Manifold) -> Array:
        """That of the drive."""
        return self._driven.force_jacobian(z[: self.inputs], q, v, z[self.inputs :])

    def rate_jacobian(self, t: float, q: Array, v: Array, z: Array, space: Manifold) -> Array:
        """That of the drive."""
        matrix = np.zeros((self.memory, 2 * len(v) + self.memory))
        matrix[self.inputs :, 2 * len(v) :] = self._driven.rate_jacobian(z[: self.inputs], z[self.inputs :])
        return matrix
