"""What an event tells of an impact whose impulses are not unique."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from contactsim_plugins.laws.coulomb import Coulomb

from contactsim.contact.impact import ImpactSolution, ImpactStage, newton
from contactsim.contact.problem import ContactProblem
from contactsim.contact_dynamics.contact_rows import impact_notes

CORNERS = np.array([[0.2, 0.1], [-0.2, 0.1], [-0.2, -0.1], [0.2, -0.1]])


def landed(spin: float) -> ImpactStage:
    """A plate of 1 kg lands flat on its corners, sliding, with a spin [rad/s]."""
    rows = np.vstack([[[0, 0, 1, y, -x, 0], [1, 0, 0, 0, 0, -y], [0, 1, 0, 0, 0, x]] for x, y in CORNERS])
    G, mu = rows / [1.0, 1.0, 1.0, 0.003, 0.013, 0.017] @ rows.T, np.full(4, 0.3)
    return newton(ContactProblem(G, rows @ [1.0, 0, -1.0, 0, 0, spin], (3,) * 4, mu, mu, (None,) * 4), np.zeros(4))


@pytest.mark.parametrize(("spin", "told"), [(0.0, "not unique; the smallest ones"), (5.0, "contacts that yield alike")])
def test_several_outcomes_are_told_of_where_the_motion_is_a_choice(spin: float, told: str) -> None:
    (note,) = impact_notes(Coulomb(), 0.0, 0.0, 1.0, ImpactSolution((landed(spin),)))
    assert told in note


@pytest.mark.parametrize("unique", [False, True])
def test_it_is_said_where_no_rule_decides(unique: bool) -> None:
    """Of impulses that are unique in their modes, too."""
    stage = landed(5.0)
    undecided = replace(stage, solution=replace(stage.solution, undecided=True, unique=unique))
    (note,) = impact_notes(Coulomb(), 0.0, 0.0, 1.0, ImpactSolution((undecided,)))
    assert "no rule says which" in note and "rounding may decide" in note
