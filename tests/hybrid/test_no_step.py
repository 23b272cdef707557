"""What is said of a state from which no step leads on: jumps, singularities and stiff fields are told apart."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

import contactsim as cs
from contactsim.hybrid.manifold import Euclidean
from contactsim.hybrid.outcomes import why_no_step


class Line(cs.Flow):
    """A field (1,) and a guard by functions of (t, x)."""

    guard_names = ("guard",)

    def __init__(self, rate: Callable[[float, float], float], guard: Callable[[float], float] = lambda x: 1.0) -> None:
        self._rate, self._guard = rate, guard

    def field(self, t: float, x: np.ndarray) -> np.ndarray:
        return np.array([self._rate(t, float(x[0]))])

    def guards(self, t: float, x: np.ndarray) -> np.ndarray:
        return np.array([self._guard(float(x[0]))])


@pytest.mark.parametrize(
    ("flow", "state", "said"),
    [
        (Line(lambda t, x: 1.0 if x <= 0.0 else -1.0), 0.0, "a field jumps"),
        (Line(lambda t, x: 1.0, lambda x: 1.0 if x <= 0.0 else -1.0), 0.0, "a guard jumps"),
        (Line(lambda t, x: x * x), 1e9, "grows at 2e\\+09 1/s there, as before a singularity"),
        (Line(lambda t, x: -1e8 * x), 1.0, "changes at 1e\\+08 1/s there; where that is stiff"),
        (Line(lambda t, x: float("nan")), 1.0, "not finite"),
    ],
)
def test_the_cause_is_looked_at(flow: cs.Flow, state: float, said: str) -> None:
    assert re.search(said, why_no_step(flow, Euclidean(1), 0.0, np.array([state])))
