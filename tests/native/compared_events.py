"""Each event of a run in one compiled call, against what Python makes of it, and its derivative."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import contactsim as cs
from contactsim.contact_dynamics.compiled_resolution import CompiledResolution
from contactsim.contact_dynamics.outcome_sensitivity import OutcomeSensitivity
from contactsim.contact_dynamics.resolution import Resolution

STATE = 1e-10  # of two ways to one state behind an event
MATRIX = 1e-9  # of two ways to its derivative, relative to the largest number


@dataclass
class Compared:
    """How many events were asked for, and how many of them the engine answered; then the same of derivatives."""

    asked: int = 0
    answered: int = 0
    differentiated: int = 0
    known: int = 0


def compared(monkeypatch: pytest.MonkeyPatch) -> Compared:
    """Compare all events from now on, and all derivatives that are asked of them."""
    counts, within = Compared(), False
    resolve, by_state = CompiledResolution.resolve, OutcomeSensitivity.by_state

    def resolved(self: CompiledResolution, x: np.ndarray, event: Any) -> Any:
        nonlocal within
        found = resolve(self, x, event)
        if within:  # Python asks, too, of the hops behind an event
            return found
        counts.asked, within = counts.asked + 1, True
        if found is not None:
            counts.answered += 1
            expected = Resolution(self.world)._outcome(x, event)
            assert np.abs(found.x - expected.x).max() < STATE
            assert [state.mode for state in found.mode.contacts] == [state.mode for state in expected.mode.contacts]
            assert found.residuals.keys() == expected.residuals.keys()
        within = False
        return found

    def differentiated(self: OutcomeSensitivity, happened: Any) -> Any:
        found = by_state(self, happened)
        counts.differentiated += 1
        if self._compiled(happened) is not None:
            counts.known += 1
            expected = self.derivative(*happened)
            assert np.abs(found - expected).max() < MATRIX * np.abs(expected).max()
        return found

    monkeypatch.setattr(CompiledResolution, "resolve", resolved)
    monkeypatch.setattr(cs.ContactSystem, "journey", lambda system, departure: None)  # each is asked for by itself
    monkeypatch.setattr(OutcomeSensitivity, "by_state", differentiated)
    return counts
