"""Hunt and Crossley's law: a spring that hardens with the depth, and a damper that vanishes with it."""

from __future__ import annotations

import numpy as np
from pydantic import Field

from contactsim.contact.law_parameters import LawParameters
from contactsim.contact.laws import CompliantLaw, CompliantPoint, PlainForce


class HuntCrossleyParameters(LawParameters):
    """Parameters of Hunt and Crossley's law."""

    stiffness: float = Field(1e6, gt=0.0, description="normal force at unit depth [N/m^exponent]")
    exponent: float = Field(1.5, ge=1.0, description="power of the depth, 3/2 of Hertz' sphere [-]")
    damping: float = Field(0.5, ge=0.0, description="loss of restitution per speed of impact, alpha [s/m]")
    slip_speed: float = Field(1e-3, gt=0.0, description="speed at which friction reaches 1/sqrt(2) of its bound [m/s]")


class HuntCrossley(CompliantLaw):
    """Force without a jump at either end: lam_n = k d^p (1 + 3/2 alpha d'), with the depth d = -g.

    A body that lands at the speed v leaves at e v, whatever its mass, k and p, by the first integral of
    m d'' = -lam_n: D (1 + e) = log((1 + D) / (1 - e D)), D = 3/2 alpha v; e = 1 - alpha v + ... where v is small.
    The contact is released where it is pulled apart faster than 1 / (3/2 alpha).

    Friction: lam_t = -mu lam_n z_t / s, s = sqrt(|z_t|^2 + v_s^2), which never leaves the Coulomb cone.

    Source: Hunt and Crossley, Coefficient of restitution interpreted as damping in vibroimpact, J. Appl. Mech. 42,
    1975; Marhefka and Orin, A compliant contact model with nonlinear damping, IEEE Trans. SMC A 29, 1999.
    """

    Parameters = HuntCrossleyParameters
    integrator = "Radau9"  # slow slip is stiff: mu lam_n / (m v_s) a second

    def force(self, point: CompliantPoint) -> tuple[np.ndarray, np.ndarray]:
        """Force along the normal and against the slip; no memory."""
        spring, _ = self._spring(point.gap)
        direction, _ = self._slip(point)
        normal = spring * self.margin(point)
        return np.concatenate(([normal], -point.friction * normal * direction)), point.memory

    def jacobian(self, point: CompliantPoint) -> np.ndarray:
        """d lam_n = -p k d^(p-1) (1 + 3/2 alpha d') dg - 3/2 alpha k d^p dz_n, and friction as of a spring-damper."""
        spring, slope = self._spring(point.gap)
        direction, speed = self._slip(point)
        size, margin = len(point.velocity), self.margin(point)
        matrix = np.zeros((size, 1 + size))
        matrix[0, :2] = -slope * margin, -1.5 * self.parameters.damping * spring
        matrix[1:] = -point.friction * np.outer(direction, matrix[0])
        turning = (np.eye(size - 1) - np.outer(direction, direction)) / speed
        matrix[1:, 2:] -= point.friction * spring * margin * turning
        return matrix

    def margin(self, point: CompliantPoint) -> float:
        """1 + 3/2 alpha d'."""
        return 1.0 - 1.5 * self.parameters.damping * float(point.velocity[0])

    def plain(self, friction: float, static_friction: float, touching: int) -> PlainForce | None:
        """Its numbers; those of a law derived from it are not known."""
        if type(self) is not HuntCrossley:
            return None
        p = self.parameters
        own = {"loss": 1.5 * p.damping, "friction": friction, "slip_speed": p.slip_speed}
        return PlainForce(p.stiffness, p.exponent, by_factor=True, **own)

    def _spring(self, gap: float) -> tuple[float, float]:
        """Force k d^p of the spring, odd beyond the ground, and its derivative by d."""
        p = self.parameters
        slope = p.stiffness * abs(gap) ** (p.exponent - 1.0)
        return -slope * gap, p.exponent * slope

    def _slip(self, point: CompliantPoint) -> tuple[np.ndarray, float]:
        """Direction z_t / s and s."""
        slip = point.velocity[1:]
        speed = float(np.sqrt(slip @ slip + self.parameters.slip_speed**2))
        return slip / speed, speed
