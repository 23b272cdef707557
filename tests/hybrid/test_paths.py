"""A step leads no further, and no faster, than its bounds say, by any method."""

from __future__ import annotations

import numpy as np
import pytest

import contactsim as cs
from contactsim.common.arrays import Array
from contactsim.hybrid.integrators import METHODS
from contactsim.hybrid.integrators.radau9 import Collocation
from contactsim.hybrid.manifold import Euclidean
from contactsim.hybrid.segments import LARGEST853, Interpolant853, Segment, path
from contactsim.hybrid.stepper import Stepper

ROUNDING = 1e-15  # of states of about one
TOLERANCES = cs.Tolerances(rtol=1e-6, atol=1e-8, max_step=0.1)


class Swings(cs.Flow):
    """x'' = -w^2 x for three frequencies w."""

    SQUARES = np.array([1.0, 30.0, 900.0])

    def field(self, t: float, x: Array) -> Array:
        return np.concatenate([x[3:], -self.SQUARES * x[:3]])


def steps(name: str, count: int) -> list[Segment]:
    start = np.array([1.0, -0.5, 0.1, 0.0, 2.0, 3.0])
    stepper = Stepper(Swings(), Euclidean(6), 0.0, start, name, TOLERANCES, None)
    return [stepper.step(10.0) for _ in range(count)]


def demand_bounds(segment: Segment) -> None:
    bounds = path(segment, TOLERANCES)
    times = np.linspace(segment.t0, segment.t1, 201)
    states = np.array([segment(float(t)) for t in times])
    moved = np.abs(states - states[0]).max(axis=0)
    rate = np.abs(np.diff(states, axis=0)).max(axis=0) / (times[1] - times[0])
    assert np.all(moved <= bounds.moved + ROUNDING)
    assert np.all(rate <= bounds.rate * (1.0 + 1e-9) + ROUNDING / (times[1] - times[0]))
    np.testing.assert_allclose(bounds.start, states[0], atol=ROUNDING)
    assert np.all(bounds.rate * bounds.duration < 50.0 * (moved + 1e-6)), "a bound that says nothing"


@pytest.mark.parametrize("name", METHODS)
def test_steps_keep_to_their_bounds(name: str) -> None:
    for segment in steps(name, 12):
        demand_bounds(segment)


@pytest.mark.parametrize("name", METHODS)
def test_a_step_that_was_landed_on_keeps_to_its_bounds(name: str) -> None:
    stepper = Stepper(Swings(), Euclidean(6), 0.0, np.ones(6), name, TOLERANCES, None)
    for _ in range(3):
        segment = stepper.step(10.0)
    demand_bounds(stepper.land(segment, 0.3 * segment.t0 + 0.7 * segment.t1))


def test_a_stiff_step_is_landed_on_by_the_method_as_it_was() -> None:
    """In one step, from the stages of the last one; a new method would begin anew. Closed form as below."""
    stepper = Stepper(Swings(), Euclidean(6), 0.0, np.ones(6), "Radau9", TOLERANCES, None)
    for _ in range(4):
        segment = stepper.step(10.0)
    t, frequency = 0.1 * segment.t0 + 0.9 * segment.t1, np.sqrt(Swings.SQUARES)
    landed = stepper.land(segment, t)
    assert (landed.t0, landed.t1, stepper.t) == (segment.t0, t, t)
    assert isinstance(landed.chart, Collocation)
    exact = np.cos(frequency * t) + np.sin(frequency * t) / frequency
    assert np.abs(landed(t)[:3] - exact).max() < 10.0 * (TOLERANCES.rtol + TOLERANCES.atol)


@pytest.mark.parametrize("name", ["DOP853", "RK45", "Radau"])
def test_an_interpolant_errs_by_no_more_than_it_is_said_to(name: str) -> None:
    """The closed form x cos(w t) + x' / w sin(w t), from the start of each step."""
    frequency = np.sqrt(Swings.SQUARES)
    for segment in steps(name, 12):
        bounds, x, v = path(segment, TOLERANCES), segment(segment.t0)[:3], segment(segment.t0)[3:]
        for t in np.linspace(segment.t0, segment.t1, 21)[1:-1]:
            phase = frequency * (t - segment.t0)
            exact = x * np.cos(phase) + v / frequency * np.sin(phase)
            assert np.all(np.abs(segment(float(t))[:3] - exact) <= bounds.error()[:3] + ROUNDING)


def test_the_largest_of_the_functions_of_an_interpolant_are_those_that_are_seen() -> None:
    shares = np.linspace(0.0, 1.0, 2001)
    functions = Interpolant853.parts(shares)
    slopes = np.abs(np.gradient(functions, shares, axis=1)).max(axis=1)
    np.testing.assert_allclose(LARGEST853, [functions.max(axis=1), 1.001 * slopes], rtol=1e-12)
