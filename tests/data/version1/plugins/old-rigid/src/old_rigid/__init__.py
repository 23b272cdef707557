"""old-rigid: a rigid contact law for contactsim."""

import numpy as np
from pydantic import Field

from contactsim_plugins.laws.coulomb import Coulomb, CoulombParameters


class OldRigidParameters(CoulombParameters):
    """What can be set from scene files, with --set law.NAME=VALUE, and differentiated by."""

    share: float = Field(0.5, ge=0.0, le=1.0, description="part of the contacts' friction that acts, as on wet ground [-]")


class OldRigid(Coulomb):
    """Signorini's condition, Newton's restitution and Coulomb's cone, with a part of the contacts' friction.

    A rigid law answers two questions about all touching contacts together, and may say what their coefficients are:

        impact(problem, restitution)   velocities before an impact -> impulses
        select(problem)                accelerations without contact forces -> modes and forces
        friction(kinetic, static)      coefficients of the contact points -> those that hold

    Here the first two are Coulomb's; see contactsim.RigidLaw for what they are given and return.
    """

    Parameters = OldRigidParameters

    def friction(self, kinetic: np.ndarray, static: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients (n,) that hold under this law."""
        return self.parameters.share * kinetic, self.parameters.share * static
