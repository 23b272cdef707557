"""Regularised Coulomb friction with Stribeck's curve, on a spring and a damper along the normal."""

from __future__ import annotations

import numpy as np
from pydantic import Field

from contactsim.contact.law_parameters import LawParameters
from contactsim.contact.laws import CompliantLaw, CompliantPoint, PlainForce


class StribeckParameters(LawParameters):
    """Parameters of the Stribeck law."""

    stiffness: float = Field(2e4, gt=0.0, description="normal stiffness [N/m]")
    damping: float = Field(2e2, ge=0.0, description="normal damping [N s/m]")
    stribeck_speed: float = Field(2e-2, gt=0.0, description="speed at which 1/e of static over kinetic is left [m/s]")
    slip_speed: float = Field(1e-3, gt=0.0, description="speed at which friction reaches 1/sqrt(2) of its bound [m/s]")
    viscous: float = Field(0.0, ge=0.0, description="viscous friction relative to the normal force [s/m]")


class Stribeck(CompliantLaw):
    """Friction that falls from the static to the kinetic coefficient as the slip grows, without a jump at break-away.

        lam_n = -k g - c z_n, released where that falls to zero,
        lam_t = -lam_n (mu(|z_t|) z_t / s + b z_t),  s = sqrt(|z_t|^2 + v_s^2),
        mu(v) = mu_k + (mu_s - mu_k) exp(-(v / v_S)^2),  mu(0) = mu_s.

    The static and the kinetic coefficient are those of the contact. Without the viscous part b the force stays within
    the static cone. A slip speed v_s well below v_S shows the peak mu_s; below it the contact creeps.

    Source: Stribeck 1902; Armstrong-Helouvry, Dupont, Canudas de Wit, A survey of models, analysis tools and
    compensation methods for the control of machines with friction, Automatica 30, 1994, eq. (6).
    """

    Parameters = StribeckParameters
    integrator = "Radau9"  # slow slip is stiff: mu lam_n / (m v_s) a second

    def force(self, point: CompliantPoint) -> tuple[np.ndarray, np.ndarray]:
        """Force along the normal and against the slip; no memory."""
        normal, slip = self._normal(point), point.velocity[1:]
        direction, _ = self._direction(slip)
        mu, _ = self._coefficient(point)
        return np.concatenate(([normal], -normal * (mu * direction + self.parameters.viscous * slip))), point.memory

    def jacobian(self, point: CompliantPoint) -> np.ndarray:
        """d lam_t = (lam_t / lam_n) d lam_n - lam_n (w dmu^T + mu (I - w w^T) / s + b I) dz_t, w = z_t / s."""
        p, normal, slip = self.parameters, self._normal(point), point.velocity[1:]
        direction, speed = self._direction(slip)
        mu, slope = self._coefficient(point)
        size = len(point.velocity)
        eye = np.eye(size - 1)
        matrix = np.zeros((size, 1 + size))
        matrix[0, :2] = -p.stiffness, -p.damping
        matrix[1:] = -np.outer(mu * direction + p.viscous * slip, matrix[0])
        turning = mu / speed * (eye - np.outer(direction, direction))
        matrix[1:, 2:] -= normal * (np.outer(direction, slope) + turning + p.viscous * eye)
        return matrix

    def plain(self, friction: float, static_friction: float, touching: int) -> PlainForce | None:
        """Its numbers; those of a law derived from it are not known."""
        if type(self) is not Stribeck:
            return None
        p = self.parameters
        return PlainForce(
            p.stiffness,
            damping=p.damping,
            friction=friction,
            slip_speed=p.slip_speed,
            excess=max(static_friction - friction, 0.0),
            stribeck_speed=p.stribeck_speed,
            viscous=p.viscous,
        )

    def _normal(self, point: CompliantPoint) -> float:
        return -self.parameters.stiffness * point.gap - self.parameters.damping * float(point.velocity[0])

    def _direction(self, slip: np.ndarray) -> tuple[np.ndarray, float]:
        """Direction z_t / s and s."""
        speed = float(np.sqrt(slip @ slip + self.parameters.slip_speed**2))
        return slip / speed, speed

    def _coefficient(self, point: CompliantPoint) -> tuple[float, np.ndarray]:
        """Coefficient mu(|z_t|), and its derivative (d_t,) by the slip velocity."""
        slip = point.velocity[1:] / self.parameters.stribeck_speed
        excess = max(point.static_friction - point.friction, 0.0) * float(np.exp(-slip @ slip))
        return point.friction + excess, -2.0 * excess / self.parameters.stribeck_speed * slip
