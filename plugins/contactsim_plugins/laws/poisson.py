"""Poisson's impact law in two stages, and the form of it that never gains energy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.optimize import brentq

from contactsim.contact.impact import ImpactSolution, ImpactStage, compression, expansion
from contactsim.contact.problem import ContactProblem
from contactsim.contact.zero import GAINED
from contactsim_plugins.laws.coulomb import Coulomb

WEAKENING = 1e-15  # how closely the factor of a weakened expansion is found


class Poisson(Coulomb):
    """Contacts compress until none approaches, and give back the fraction e of the normal impulse of each.

    Compression:  0 <= z_n(C)  _|_  Lam_n(C) >= 0
    Expansion:    0 <= z_n(+)  _|_  Lam_n(E) - e Lam_n(C) >= 0
    Friction:     |Lam_t| <= mu Lam_n in each of the two, against the slip velocity at its end; none is given back.

    Without friction a single contact rebounds with e, as under Newton's law; with friction or several contacts it does
    not. With one e for all contacts no impact gains energy, whatever the friction: with f(Lam) = z(C)^T Lam +
    Lam^T G Lam / 2, the expansion's work f(Lam(E)) is at most f(e Lam(C)), since f is convex and friction resists, and

        work <= (1 + e) z(C)^T Lam(C) - (1 - e^2) / 2 Lam(C)^T G Lam(C) <= 0.

    Without friction that holds for coefficients that differ, too, with the largest of them as e. With friction at
    contacts whose coefficients differ it may gain energy, which the notes of the event say then.

    Source: Glocker and Pfeiffer, Multiple impacts with friction in rigid multibody systems, Nonlinear Dynamics 7, 1995.
    """

    def impact(self, problem: ContactProblem, restitution: np.ndarray) -> ImpactSolution:
        """Compression and expansion of all touching contacts together."""
        compressed = compression(problem)
        if not np.any(restitution * compressed.impulses[list(problem.starts)] > 0.0):
            return ImpactSolution((compressed,))
        return ImpactSolution((compressed, self.expand(problem, compressed, restitution)))

    def plain(self) -> str | None:
        """Engines know it and the law `energetic`, but not what another law derived from it makes of impacts."""
        own, expansions = type(self), {Poisson.expand: "poisson", Energetic.expand: "energetic"}
        known = own.impact is Poisson.impact and own.select is Poisson.select
        return expansions.get(own.expand) if known else None

    def expand(self, problem: ContactProblem, compressed: ImpactStage, restitution: np.ndarray) -> ImpactStage:
        """The second stage."""
        return expansion(problem, compressed, restitution)


class Energetic(Poisson):
    """Poisson's law, its expansion weakened by a common factor where it would do more work than compression has taken.

    Expansion:  0 <= z_n(+)  _|_  Lam_n(E) - k e Lam_n(C) >= 0, with k in [0, 1] as large as it may be for
                the work (z(-) + z(C))^T Lam(C) / 2 + (z(C) + z(+))^T Lam(E) / 2 of all contacts to be at most zero.

    Such a k exists, since k = 0 does no work in expansion and compression only takes. It is 1 wherever Poisson's law
    gains nothing, so always where the contacts share one e. This is Stronge's hypothesis, that what is released is
    bounded by what was stored, for all contacts together. On ground that moves, work is counted relative to it.

    Source: Stronge, Rigid body collisions with friction, Proc. R. Soc. Lond. A 431, 1990; as in `Poisson`.
    """

    def expand(self, problem: ContactProblem, compressed: ImpactStage, restitution: np.ndarray) -> ImpactStage:
        """The second stage, weakened where it has to be."""

        def tried(factor: float) -> ImpactSolution:
            return ImpactSolution((compressed, expansion(problem, compressed, factor * restitution)))

        whole = tried(1.0)
        if whole.work <= GAINED * whole.turnover:
            return whole.stages[1]
        factor = brentq(lambda k: tried(k).work, 0.0, 1.0, xtol=WEAKENING, rtol=4.0 * np.finfo(float).eps)
        return replace(tried(factor).stages[1], balanced=True)
