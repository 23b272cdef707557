"""What the check of a run sees at the ends of its steps."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from contactsim.contact_dynamics import energy_audit

CONE = "friction cone [relative]"


@pytest.mark.parametrize(("slope", "seen"), [(1e11, 0.0), (1e7, 0.0), (1e2, 1e-6)])
def test_a_cone_that_is_left_within_the_tolerance_of_a_time_is_kept(
    monkeypatch: pytest.MonkeyPatch, slope: float, seen: float
) -> None:
    end = 0.37

    def of_forces(world: Any, flow: Any, mode: Any, t: float, x: Any) -> Any:
        beyond = max(0.0, 1e-6 + slope * (t - end))  # zero just before the end, if it is steep
        return np.array([1.0]), dict.fromkeys(energy_audit.OF_FORCES, 0.0) | {CONE: beyond}

    class Step(SimpleNamespace):
        def __call__(self, t: float) -> float:
            return t

    monkeypatch.setattr(energy_audit, "_of_forces", of_forces)
    worst: Any = energy_audit._Worst()
    world: Any = SimpleNamespace(tolerances=SimpleNamespace(force=1e-9, event_time=1e-12))
    step: Any = Step(t0=0.36, t1=end)
    energy_audit._see_forces(world, None, None, end, step, worst)  # type: ignore[arg-type]
    assert worst.violations[CONE] == pytest.approx(seen, rel=1e-3)
