"""What is known of guards where they are located."""

from __future__ import annotations

import numpy as np
import pytest

import contactsim as cs
from contactsim.hybrid.event_location import Watch

Array = np.ndarray
RISE, ROUNDING = 2.9e-5, 1e-16  # m/s, m


class Rising(cs.Flow):
    """A gap that opens so slowly that it is rounding, but over the whole of a short step."""

    guard_names = ("gap",)

    def field(self, t: float, x: Array) -> Array:
        return np.array([RISE])

    def guards(self, t: float, x: Array) -> Array:
        return np.array([x[0] + ROUNDING * np.sin(1e17 * t)])


class Open(cs.HybridSystem):
    """That gap, which opens without end."""

    def flow(self, mode: str) -> cs.Flow:
        return Rising()

    def start(self, t: float, x: Array) -> cs.Transition:
        return cs.Transition(x, "open")

    def transition(self, t: float, x: Array, mode: str, fired: frozenset) -> cs.Transition:
        raise AssertionError("nothing fires")


@pytest.mark.parametrize("span", [1e-10, 3e-10, 1e-9, 1e-8])
def test_the_slope_of_a_guard_in_a_short_step_is_no_rounding(span: float) -> None:
    """By its sign a guard at zero where a step ends is one that is met there, or has just been left."""
    run = cs.simulate(Open(), [0.0], (0.25, 0.25 + span))
    step = run.arcs[0].segments[-1]
    found = Watch(Rising(), step.t0, step(step.t0), cs.Tolerances())._slopes(step, step.t1)
    assert found == pytest.approx([RISE], rel=0.1)
