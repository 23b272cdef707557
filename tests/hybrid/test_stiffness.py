"""Runs whose steps stability holds short are told to be stiff; runs whose steps accuracy sets are not."""

from __future__ import annotations

import numpy as np
import pytest

import contactsim as cs
from contactsim.hybrid.stiff_arcs import stiffness_note


def damped(rate: float, integrator: str, time: float = 1.0) -> cs.Trajectory:
    """x' = v, v' = -x - rate v, whose fast decay is at `rate`."""
    pendulum = cs.Mechanism(n=1, mass=lambda q: np.eye(1), force=lambda t, q, v: -q - rate * v, contacts=[])
    return cs.simulate(
        cs.ContactSystem(pendulum), cs.State(np.ones(1), np.zeros(1)), (0.0, time), integrator=integrator
    )


@pytest.mark.parametrize("integrator", ["DOP853", "RK45"])
def test_a_stiff_run_is_told_with_its_rate(integrator: str) -> None:
    note = stiffness_note(damped(2e4, integrator))
    assert "stiff" in note and integrator in note and "Radau9" in note
    assert "decay rate of 2e+04 1/s" in note


def test_others_are_not() -> None:
    assert stiffness_note(damped(2e4, "Radau9")) == ""
    assert stiffness_note(damped(0.1, "DOP853", 2000.0)) == ""  # many steps, which the oscillation asks for
