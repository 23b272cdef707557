"""The smallest rigid law: contacts push, and nothing else."""

from __future__ import annotations

import numpy as np

from contactsim.contact.impact import ImpactSolution, newton
from contactsim.contact.laws import RigidLaw
from contactsim.contact.problem import ContactProblem, ContactSolution
from contactsim.contact.stick_slip_choice import solve


class Frictionless(RigidLaw):
    """Signorini's condition with Newton's restitution; the friction of the contact points is ignored."""

    def impact(self, problem: ContactProblem, restitution: np.ndarray) -> ImpactSolution:
        """Newton's impact law, all touching contacts together."""
        return ImpactSolution((newton(problem, restitution),))

    def select(self, problem: ContactProblem) -> ContactSolution:
        """The contacts that stay closed, and their forces."""
        return solve(problem)

    def friction(self, kinetic: np.ndarray, static: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """No friction, whatever the contact points say."""
        return np.zeros_like(kinetic), np.zeros_like(static)

    def moments(self, torsion: np.ndarray, rolling: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """No friction of spins either."""
        return np.zeros_like(torsion), np.zeros_like(rolling)
