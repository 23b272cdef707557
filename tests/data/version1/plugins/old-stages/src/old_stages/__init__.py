"""old-stages: a rigid contact law for contactsim, written from the parts of those on the shelf."""

import numpy as np
from pydantic import Field

from contactsim.contracts import LawParameters, RigidLaw
from contactsim.multibody.complementarity import ContactProblem, ContactSolution, solve
from contactsim.multibody.impacts import ImpactSolution, compression, expansion, newton


class OldStagesParameters(LawParameters):
    """What can be set from scene files, with --set law.NAME=VALUE, and differentiated by."""

    share: float = Field(0.5, ge=0.0, le=1.0, description="part of the contacts' friction that acts [-]")
    stages: int = Field(2, ge=1, le=2, description="one: Newton's impacts; two: compression and expansion")


class OldStages(RigidLaw):
    """Signorini's condition, Coulomb's cone, and impacts in one stage or in two."""

    Parameters = OldStagesParameters

    def impact(self, problem: ContactProblem, restitution: np.ndarray) -> ImpactSolution:
        """Velocities before an impact -> impulses."""
        if self.parameters.stages == 1:
            return ImpactSolution((newton(problem, restitution),))
        compressed = compression(problem)
        if not np.any(restitution * compressed.impulses[list(problem.starts)] > 0.0):
            return ImpactSolution((compressed,))
        return ImpactSolution((compressed, expansion(problem, compressed, restitution)))

    def select(self, problem: ContactProblem) -> ContactSolution:
        """Accelerations without contact forces -> modes and forces."""
        return solve(problem)

    def friction(self, kinetic: np.ndarray, static: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients (n,) that hold under this law."""
        return self.parameters.share * kinetic, self.parameters.share * static
