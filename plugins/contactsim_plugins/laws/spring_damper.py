"""A compliant law: a spring and a damper along the normal, and friction smooth in the slip velocity."""

from __future__ import annotations

import numpy as np
from pydantic import Field

from contactsim.contact.law_parameters import LawParameters
from contactsim.contact.laws import CompliantLaw, CompliantPoint, PlainForce


class SpringDamperParameters(LawParameters):
    """Parameters of the spring-damper law."""

    stiffness: float = Field(2e4, gt=0.0, description="normal stiffness [N/m]")
    damping: float = Field(2e2, ge=0.0, description="normal damping [N s/m]")
    slip_speed: float = Field(1e-3, gt=0.0, description="speed at which friction reaches 1/sqrt(2) of its bound [m/s]")


class SpringDamper(CompliantLaw):
    """Kelvin and Voigt's ground: lam_n = -k g - c z_n, released where that falls to zero.

    Friction: lam_t = -mu lam_n z_t / s, s = sqrt(|z_t|^2 + v_s^2), which never leaves the Coulomb cone.
    """

    Parameters = SpringDamperParameters
    integrator = "Radau9"  # slow slip is stiff: mu lam_n / (m v_s) a second

    def force(self, point: CompliantPoint) -> tuple[np.ndarray, np.ndarray]:
        """Force along the normal and against the slip; no memory."""
        normal, direction, _ = self._parts(point)
        return np.concatenate(([normal], -point.friction * normal * direction)), point.memory

    def jacobian(self, point: CompliantPoint) -> np.ndarray:
        """d lam_n = -k dg - c dz_n; d lam_t = -mu (w d lam_n + lam_n (I - w w^T) / s dz_t), w = z_t / s."""
        normal, direction, speed = self._parts(point)
        size = len(point.velocity)
        matrix = np.zeros((size, 1 + size))
        matrix[0, :2] = -self.parameters.stiffness, -self.parameters.damping
        matrix[1:] = -point.friction * np.outer(direction, matrix[0])
        matrix[1:, 2:] -= point.friction * normal / speed * (np.eye(size - 1) - np.outer(direction, direction))
        return matrix

    def plain(self, friction: float, static_friction: float, touching: int) -> PlainForce | None:
        """Its numbers; those of a law derived from it are not known."""
        if type(self) is not SpringDamper:
            return None
        p = self.parameters
        return PlainForce(p.stiffness, damping=p.damping, friction=friction, slip_speed=p.slip_speed)

    def _parts(self, point: CompliantPoint) -> tuple[float, np.ndarray, float]:
        """Normal force, z_t / s and s."""
        p, slip = self.parameters, point.velocity[1:]
        speed = float(np.sqrt(slip @ slip + p.slip_speed**2))
        return -p.stiffness * point.gap - p.damping * float(point.velocity[0]), slip / speed, speed
