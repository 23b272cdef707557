"""The rigid law: Signorini's condition, Newton's restitution and Coulomb's circular cone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from contactsim.common.lazy import Elsewhere, Late
from contactsim.contact.laws import RigidLaw

if TYPE_CHECKING:
    from contactsim.contact import impact as impact_law
    from contactsim.contact import stick_slip_choice
    from contactsim.contact.problem import ContactProblem, ContactSolution
else:  # compiled engines know this law
    impact_law = Late("contactsim.contact.impact")
    stick_slip_choice = Late("contactsim.contact.stick_slip_choice")


def __getattr__(name: str) -> Any:
    if name == "CoulombParameters":  # which lay here
        from .coulomb_parameters import CoulombParameters

        return CoulombParameters
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


class Coulomb(RigidLaw):
    """Spatial Coulomb friction with a static and a kinetic coefficient, and one restitution a contact.

    Impact:   0 <= z_n(+) - e max(0, -z_n(-))  _|_  Lam_n >= 0, friction against the velocity after the impact.
    Contact:  0 <= z_n'  _|_  lam_n >= 0; STICK within mu_s, SLIP with mu_k against the slip.

    All touching contacts take part in an impact together. With friction it may gain energy (Kane's paradox), which the
    notes of the event say then; the law `energetic` does not.

    Source: Signorini 1933; Leine and Nijmeijer, Dynamics and Bifurcations of Non-Smooth Mechanical Systems, 2004.
    """

    Parameters = Elsewhere("contactsim_plugins.laws.coulomb_parameters", "CoulombParameters")  # type: ignore[assignment]

    def __init__(self, **parameters: Any) -> None:
        super().__init__(**parameters)
        if "parameters" not in vars(self):
            self.jams = True  # by default
        else:  # a law derived from this one may have parameters of its own instead
            given = self.parameters
            self.jams = isinstance(given, Coulomb.Parameters) and given.painleve == "impact"

    def plain(self) -> str | None:
        """Engines know it, but not what a law derived from it makes of impacts and modes."""
        own = type(self)
        return "newton" if own.impact is Coulomb.impact and own.select is Coulomb.select else None

    def impact(self, problem: ContactProblem, restitution: np.ndarray) -> impact_law.ImpactSolution:
        """Newton's impact law with Coulomb friction, all touching contacts together."""
        return impact_law.ImpactSolution((impact_law.newton(problem, restitution),))

    def select(self, problem: ContactProblem) -> ContactSolution:
        """Modes and forces at the level of accelerations."""
        return stick_slip_choice.solve(problem, evenly=True)
