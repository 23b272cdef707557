"""What the check of a run sees at the ends of its steps."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import contactsim as cs
from contactsim.contact_dynamics import energy_audit
from contactsim.contact_dynamics.engines import Survey

CONE = "friction cone [relative]"


@pytest.mark.parametrize(("slope", "seen"), [(1e11, 0.0), (1e7, 0.0), (1e2, 1e-6)])
def test_a_cone_that_is_left_within_the_tolerance_of_a_time_is_kept(
    monkeypatch: pytest.MonkeyPatch, slope: float, seen: float
) -> None:
    end = 0.37

    def violations(world: Any, mode: Any, times: Any, rates: Any) -> Any:
        beyond = np.maximum(0.0, 1e-6 + slope * (times - end))  # zero just before the end, if it is steep
        return {law: np.zeros_like(times) for law in energy_audit.OF_FORCES} | {CONE: beyond}

    def just_before(world: Any, flow: Any, mode: Any, step: Any) -> Any:
        return np.array(step.t1 - world.tolerances.event_time), None

    monkeypatch.setattr(energy_audit, "_violations", violations)
    monkeypatch.setattr(energy_audit, "_just_before", just_before)
    worst: Any = energy_audit._Worst()
    world: Any = SimpleNamespace(tolerances=SimpleNamespace(force=1e-9, event_time=1e-12))
    steps: Any = [SimpleNamespace(t0=0.36, t1=end)]
    times = np.array([0.36 + energy_audit.PLACES[0] * (end - 0.36)])  # in place of forces
    found = Survey(times, times, np.zeros(0), *[0.0] * 6)
    energy_audit._see_forces(world, None, None, steps, found, worst)  # type: ignore[arg-type]
    assert worst.violations[CONE] == pytest.approx(seen, rel=1e-3)


def test_a_system_knows_the_energy_of_a_state_of_a_user() -> None:
    system = cs.ContactSystem(cs.Robot.sphere(2.0, 0.1))
    state = cs.State([0, 0, 0.5, 0, 0, 0, 1], [3.0, 0, 0, 0, 0, 0])
    assert system.energy(state) == system.energy(system.pack(state)) == pytest.approx(9.0 + 2.0 * 9.81 * 0.5)
