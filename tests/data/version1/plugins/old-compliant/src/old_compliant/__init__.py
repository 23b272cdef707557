"""old-compliant: a compliant contact law for contactsim."""

import numpy as np
from pydantic import Field

from contactsim import CompliantLaw, CompliantPoint, LawParameters


class OldCompliantParameters(LawParameters):
    """What can be set from scene files, with --set law.NAME=VALUE, and differentiated by."""

    stiffness: float = Field(2e4, gt=0.0, description="normal stiffness [N/m]")
    damping: float = Field(2e2, ge=0.0, description="normal damping [N s/m]")
    slip_speed: float = Field(1e-2, gt=0.0, description="speed at which friction reaches 1/sqrt(2) of its bound [m/s]")


class OldCompliant(CompliantLaw):
    """A spring and a damper along the normal, with friction that is smooth in the slip velocity v.

    F_n = -k gap - c gap',   F_t = -mu F_n v / s,   s = sqrt(|v|^2 + v_s^2).
    """

    Parameters = OldCompliantParameters

    def force(self, point: CompliantPoint) -> tuple[np.ndarray, np.ndarray]:
        """Force, normal first [N], and the rate of the memory (there is none)."""
        normal, direction, _ = self._parts(point)
        return np.concatenate(([normal], -point.friction * normal * direction)), point.memory

    def jacobian(self, point: CompliantPoint) -> np.ndarray:
        """Derivative of the force by (gap, velocity); without this method the law is differenced."""
        normal, direction, speed = self._parts(point)
        size = len(point.velocity)
        matrix = np.zeros((size, 1 + size))
        matrix[0, :2] = -self.parameters.stiffness, -self.parameters.damping
        matrix[1:] = -point.friction * np.outer(direction, matrix[0])
        matrix[1:, 2:] -= point.friction * normal / speed * (np.eye(size - 1) - np.outer(direction, direction))
        return matrix

    def _parts(self, point: CompliantPoint) -> tuple[float, np.ndarray, float]:
        """Normal force, v / s, and s."""
        p, slip = self.parameters, point.velocity[1:]
        speed = float(np.sqrt(slip @ slip + p.slip_speed**2))
        return -p.stiffness * point.gap - p.damping * float(point.velocity[0]), slip / speed, speed
