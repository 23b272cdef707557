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
    assert re.search(said, why_no_step("no step leads on", flow, Euclidean(1), 0.0, np.array([state])))


class Creeping(cs.HybridSystem):
    """x' = -sign(x), which no event tells: from zero on steps are as long as the tolerance."""

    def flow(self, mode: str) -> cs.Flow:
        return Line(lambda t, x: -float(np.sign(x)))

    def transition(self, t: float, x: np.ndarray, mode: str, fired: frozenset) -> cs.Transition:
        raise AssertionError

    def start(self, t: float, x: np.ndarray) -> cs.Transition:
        return cs.Transition(x, "falls")


def test_a_run_that_creeps_on_is_ended() -> None:
    """It had gone on for hours: 1e-10 s a step."""
    run = cs.simulate(Creeping(), np.array([1e-3]), (0.0, 1e3))
    assert run.status is cs.Status.STEP_TOO_SMALL
    assert re.search(r"1\d\d\d steps led only .* a field jumps there by 2", run.message)
    assert run.t[-1] >= 1e-3


def test_forces_beyond_all_measure_end_a_run_and_are_told() -> None:
    """Their squares overflow, so that the estimate of a first step is zero."""
    robot = cs.Robot.sphere(1.0, 0.1)
    start = cs.State([0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0], np.zeros(6))
    for size in (1e160, 1e300):
        system = cs.ContactSystem(robot, controller=lambda t, q, v, size=size: np.full(6, size))
        with np.errstate(all="ignore"):
            run = cs.simulate(system, start, (0.0, 0.1))
        assert run.status is cs.Status.STEP_TOO_SMALL
        assert "no step meets the tolerance at t = " in run.message
