"""What is known of guards where they are located."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import contactsim as cs
from contactsim.hybrid.event_location import Watch
from contactsim.hybrid.flow import GuardBounds, Looks
from contactsim.hybrid.segments import Interpolant853, Segment

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


class Crossed(cs.Flow):
    """Two guards of a state that is the time: the second one is below zero for a while, which no look before shows."""

    guard_names = ("first", "hidden")
    bounded_guards = True

    def field(self, t: float, x: Array) -> Array:
        return np.ones(1)

    def guards(self, t: float, x: Array) -> Array:
        return np.array([FIRST - x[0], min(HIDDEN - x[0], 0.1) if x[0] < FIRST + 0.005 else 0.1])

    def guard_bounds(self, path: object) -> GuardBounds:
        return GuardBounds(np.arange(2), 2.0 * np.ones(2), None, lambda n: (np.zeros(len(n)), np.zeros(len(n))))

    def guard_motions(self, t: float, x: Array, guards: Array) -> Looks:
        hidden = guards == 1
        rates, pieces = np.where(hidden, 0.0, -1.0), [None if k else () for k in guards]
        return Looks(self.guards(t, x)[guards], rates, pieces, hidden & (self.guards(t, x)[guards] > 0.0))


class OfOneStep:
    """A stepper of a step that may be cut wherever it is wanted."""

    def is_exact(self, segment: Segment, t: float) -> bool:
        return True

    def cut(self, segment: Segment, t: float) -> Segment:
        return replace(segment, t1=t, end=segment(t), guards=Crossed().guards(t, segment(t)))


FIRST, HIDDEN = 0.65, 0.64  # within the step, between two looks at a guard that is apart


def test_a_guard_that_fell_before_the_one_landed_on_is_met_where_it_fell() -> None:
    """However briefly: where the first guard is met, the hidden one is far below zero."""
    flow, parts = Crossed(), np.zeros((7, 1))
    parts[0] = 1.0
    step = Segment(0.0, 1.0, np.zeros(1), Interpolant853(0.0, 1.0, np.zeros(1), parts), cs.Euclidean(1))
    watch = Watch(flow, 0.0, np.zeros(1), cs.Tolerances())
    passed, fired = watch._locate(OfOneStep(), step)  # type: ignore[arg-type]
    assert fired == {"hidden"}
    assert passed.t1 == pytest.approx(HIDDEN, abs=1e-11)
