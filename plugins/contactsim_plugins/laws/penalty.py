"""Frictionless penalty laws: each unilateral constraint a >= 0 is a spring, with a damper, while a < 0."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from pydantic import Field

from contactsim.contact.law_parameters import LawParameters
from contactsim.contact.laws import CompliantLaw, CompliantPoint, PlainForce

STIFFNESS = Field(2e4, gt=0.0, description="normal stiffness [N/m]")
DAMPING = Field(2e2, ge=0.0, description="normal damping [N s/m]")


class ConservativeParameters(LawParameters):
    """Parameters of the conservative law."""

    stiffness: float = STIFFNESS


class DissipativeParameters(LawParameters):
    """Parameters of the dissipative laws."""

    stiffness: float = STIFFNESS
    damping: float = DAMPING


class Penalty(CompliantLaw):
    """A spring and a damper along the normal, lam_n = -k g - c z_n while g < 0, pulling too; friction is ignored."""

    pulls = True

    def force(self, point: CompliantPoint) -> tuple[np.ndarray, np.ndarray]:
        """Force along the normal; no memory."""
        force = np.zeros(len(point.velocity))
        force[0] = -self.parameters.stiffness * point.gap - self.damping(point) * point.velocity[0]
        return force, point.memory

    def jacobian(self, point: CompliantPoint) -> np.ndarray:
        """-k with respect to the gap, -c with respect to the normal velocity."""
        size = len(point.velocity)
        matrix = np.zeros((size, 1 + size))
        matrix[0, :2] = -self.parameters.stiffness, -self.damping(point)
        return matrix

    def plain(self, friction: float, static_friction: float, touching: int) -> PlainForce | None:
        """Its numbers; those of a law derived from the ones below are not known."""
        if type(self) not in (Conservative, Dissipative, SwitchedDamping):
            return None
        damping = self.damping(CompliantPoint(0.0, np.zeros(1), touching=touching))
        return PlainForce(self.parameters.stiffness, damping=damping)

    @abstractmethod
    def damping(self, point: CompliantPoint) -> float:
        """Damping coefficient c [N s/m] of a contact."""


class Conservative(Penalty):
    """A spring along the normal, lam_n = -k g while g < 0, with the potential k g^2 / 2; no friction.

    The field is continuous, and the flow differentiable, where contacts touch and leave.

    Source: Council, Revzen and Burden, Representing and computing the B-derivative, eq. (14), (15).
    """

    Parameters = ConservativeParameters

    def damping(self, point: CompliantPoint) -> float:
        """None."""
        return 0.0


class Dissipative(Penalty):
    """A spring and a damper along the normal, lam_n = -k g - c z_n while g < 0, pulling too; no friction.

    The field jumps where contacts touch and leave, by forces that do not depend on the order of several of them.

    Source: Council, Revzen and Burden, Representing and computing the B-derivative, eq. (16).
    """

    Parameters = DissipativeParameters
    integrator = "Radau9"  # damping is stiff on light feet: c / m a second

    def damping(self, point: CompliantPoint) -> float:
        """The same for every contact."""
        return self.parameters.damping


class SwitchedDamping(Penalty):
    """The dissipative law with half its damping on a contact that touches alone; no friction.

    With this switch the order of simultaneous touch-downs matters: the flow is only piecewise differentiable.

    Source: Council, Revzen and Burden, Representing and computing the B-derivative, Sec. 3.2.4.
    """

    Parameters = DissipativeParameters
    integrator = "Radau9"  # damping is stiff on light feet: c / m a second

    def damping(self, point: CompliantPoint) -> float:
        """Half of it where the contact touches alone."""
        return self.parameters.damping * (0.5 if point.touching == 1 else 1.0)
