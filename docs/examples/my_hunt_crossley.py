"""Hunt and Crossley's contact: a spring that hardens with the depth, and a damper that vanishes with it."""

import numpy as np
from pydantic import Field

from contactsim import CompliantLaw, CompliantPoint, LawParameters


class MyHuntCrossleyParameters(LawParameters):
    """What can be set from scene files, with --set law.NAME=VALUE, and differentiated by."""

    stiffness: float = Field(1e6, gt=0.0, description="normal force at unit depth [N/m^exponent]")
    exponent: float = Field(1.5, ge=1.0, description="power of the depth, 3/2 of Hertz' sphere [-]")
    loss: float = Field(0.2, ge=0.0, description="loss of restitution per speed of impact [s/m]")
    slip_speed: float = Field(1e-2, gt=0.0, description="speed at which friction reaches 1/sqrt(2) of its bound [m/s]")


class MyHuntCrossley(CompliantLaw):
    """F_n = k d^p (1 + 3/2 a d'), d = -gap; F_t = -mu F_n v / s, s = sqrt(|v|^2 + v_s^2), with the slip velocity v.

    Source: Hunt and Crossley, Coefficient of restitution interpreted as damping in vibroimpact, 1975.
    """

    Parameters = MyHuntCrossleyParameters

    def force(self, point: CompliantPoint) -> tuple[np.ndarray, np.ndarray]:
        """Force, normal first [N], and the rate of the memory (there is none)."""
        normal = self._spring(point) * self.margin(point)
        direction, _ = self._slip(point)
        return np.concatenate(([normal], -point.friction * normal * direction)), point.memory

    def jacobian(self, point: CompliantPoint) -> np.ndarray:
        """Derivative of the force by (gap, velocity)."""
        p, spring, margin, size = self.parameters, self._spring(point), self.margin(point), len(point.velocity)
        direction, speed = self._slip(point)
        matrix = np.zeros((size, 1 + size))
        matrix[0, 0] = -p.exponent * p.stiffness * abs(point.gap) ** (p.exponent - 1.0) * margin
        matrix[0, 1] = -1.5 * p.loss * spring
        matrix[1:] = -point.friction * np.outer(direction, matrix[0])
        turn = (np.eye(size - 1) - np.outer(direction, direction)) / speed
        matrix[1:, 2:] -= point.friction * spring * margin * turn
        return matrix

    def margin(self, point: CompliantPoint) -> float:
        """1 + 3/2 a d': the contact is let go where it would begin to pull."""
        return 1.0 - 1.5 * self.parameters.loss * float(point.velocity[0])

    def _spring(self, point: CompliantPoint) -> float:
        """k d^p, odd beyond the ground."""
        return -self.parameters.stiffness * abs(point.gap) ** (self.parameters.exponent - 1.0) * point.gap

    def _slip(self, point: CompliantPoint) -> tuple[np.ndarray, float]:
        """Direction v / s, and s."""
        speed = float(np.sqrt(point.velocity[1:] @ point.velocity[1:] + self.parameters.slip_speed**2))
        return point.velocity[1:] / speed, speed
