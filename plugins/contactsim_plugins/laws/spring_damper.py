"""A compliant law: a spring and a damper along the normal, and friction smooth in the slip velocity."""

from __future__ import annotations

import numpy as np
from pydantic import Field

from contactsim.contracts import CompliantLaw, LawParameters


class SpringDamperParameters(LawParameters):
    """Parameters of the spring-damper law."""

    stiffness: float = Field(2e4, gt=0.0, description="normal stiffness [N/m]")
    damping: float = Field(2e2, ge=0.0, description="normal damping [N s/m]")
    slip_speed: float = Field(1e-3, gt=0.0, description="speed at which friction reaches 1/sqrt(2) of its bound [m/s]")


class SpringDamper(CompliantLaw):
    """Kelvin and Voigt's ground: lam_n = -k g - c z_n, released where that falls to zero.

    Friction: lam_t = -mu lam_n z_t / sqrt(|z_t|^2 + v_s^2), which never leaves the Coulomb cone.
    """

    Parameters = SpringDamperParameters

    def force(
        self, gap: float, velocity: np.ndarray, memory: np.ndarray, friction: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Force along the normal and against the slip; no memory."""
        p = self.parameters
        normal = -p.stiffness * gap - p.damping * velocity[0]
        slip = velocity[1:]
        tangential = -friction * normal * slip / np.sqrt(slip @ slip + p.slip_speed**2)
        return np.concatenate(([normal], tangential)), memory
