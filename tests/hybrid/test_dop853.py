"""The stages written out against SciPy's own."""

from __future__ import annotations

import numpy as np
from scipy.integrate import DOP853, RK45
from scipy.integrate._ivp import dop853_coefficients

from contactsim.hybrid.integrators import tables853
from contactsim.hybrid.integrators.dop853 import Dop853
from contactsim.hybrid.integrators.tables853 import BRIEF, FIFTH, THIRD


def swing(t: float, y: np.ndarray) -> np.ndarray:
    return np.array([y[1], -np.sin(y[0]) - 0.1 * y[1] + np.cos(3.0 * t)])


def test_the_tables_are_those_of_scipy() -> None:
    own, theirs = tables853, dop853_coefficients
    pairs = ((own.COEFFICIENTS, theirs.A), (own.TIMES, theirs.C), (own.WEIGHTS, theirs.B))
    pairs += (FIFTH.coefficients[:6, :5], RK45.A), (FIFTH.coefficients[6, :6], RK45.B), (FIFTH.times[:6], RK45.C)
    pairs += (FIFTH.missed, RK45.E), (FIFTH.bend, RK45.P[:, 3])
    for mine, other in (*pairs, (own.ERROR3, theirs.E3), (own.ERROR5, theirs.E5), (own.DENSE, theirs.D)):
        np.testing.assert_array_equal(mine, other)


def test_steps_and_dense_output_are_those_of_scipy() -> None:
    start, options = np.array([2.0, 0.5]), {"rtol": 1e-9, "atol": 1e-11}
    own, other = Dop853(swing, 0.0, start, 20.0, **options), DOP853(swing, 0.0, start, 20.0, **options)
    while other.status == "running":
        own.step()
        other.step()
        assert (own.t, own.status) == (other.t, other.status)
        np.testing.assert_array_equal(own.y, other.y)
        mine, theirs = own.dense_output(), other.dense_output()
        times = np.linspace(other.t_old, other.t, 7)
        np.testing.assert_allclose(mine(times), theirs(times), rtol=0.0, atol=1e-14)
        np.testing.assert_allclose(mine(float(times[3])), theirs(times[3]), rtol=0.0, atol=1e-14)


def test_a_step_that_is_refused_is_shortened_as_by_scipy() -> None:
    start, options = np.array([0.0, 30.0]), {"rtol": 1e-10, "atol": 1e-12, "first_step": 1.0}
    own, other = Dop853(swing, 0.0, start, 2.0, **options), DOP853(swing, 0.0, start, 2.0, **options)
    own.step()
    other.step()
    assert own.t == other.t < 0.5
    assert own.h_abs == other.h_abs


def brief(h: float, rtol: float) -> Dop853:
    """A solver that was asked for a brief step of length `h` from the start."""
    solver = Dop853(swing, 0.0, np.array([2.0, 0.5]), 20.0, rtol=rtol, atol=1e-2 * rtol, first_step=h)
    solver.lower = THIRD
    solver.step()
    return solver


def exact(t: float) -> np.ndarray:
    solver = DOP853(swing, 0.0, np.array([2.0, 0.5]), t, rtol=1e-13, atol=1e-15)
    while solver.status == "running":
        solver.step()
    return np.asarray(solver.y)


def test_brief_steps_are_of_order_three() -> None:
    """Their error goes with h^4, that of their cubic as well; it is less than the share of the tolerance it may be."""
    long, short = brief(0.01, 1e-3), brief(0.005, 1e-3)
    missed = [np.abs(solver.y - exact(solver.t)).max() for solver in (long, short)]
    assert long.t == 0.01 and short.t == 0.005
    assert 12.0 < missed[0] / missed[1] < 18.0 and missed[0] < BRIEF * 1e-3
    cubic = long.dense_output()
    times = np.linspace(0.0, long.t, 9)
    assert max(np.abs(cubic(float(t)) - exact(float(t))).max() for t in times[1:]) < 20.0 * missed[0]
    np.testing.assert_array_equal(cubic(long.t), long.y)


def test_a_step_that_is_too_long_to_be_brief_is_one_of_order_eight() -> None:
    own = brief(0.05, 1e-9)
    other = DOP853(swing, 0.0, np.array([2.0, 0.5]), 20.0, rtol=1e-9, atol=1e-11, first_step=0.05)
    other.step()
    assert own.t == other.t
    np.testing.assert_array_equal(own.y, other.y)


def fifth(h: float, rtol: float) -> Dop853:
    """A solver that was asked for a short step of length `h` from the start."""
    solver = Dop853(swing, 0.0, np.array([2.0, 0.5]), 20.0, rtol=rtol, atol=1e-2 * rtol, first_step=h)
    solver.lower = FIFTH
    solver.step()
    return solver


def test_short_steps_are_of_order_five() -> None:
    """Their error goes with h^6, that of their dense output with h^5; the rates at both ends are those of the field."""
    long, short = fifth(0.08, 1e-4), fifth(0.04, 1e-4)
    assert long.t == 0.08 and short.t == 0.04
    missed = [np.abs(solver.y - exact(solver.t)).max() for solver in (long, short)]
    assert 50.0 < missed[0] / missed[1] < 80.0 and missed[0] < BRIEF * 1e-4
    dense = [solver.dense_output() for solver in (long, short)]
    inside = [np.abs(one(0.5 * h) - exact(0.5 * h)).max() for one, h in zip(dense, (0.08, 0.04), strict=True)]
    assert 25.0 < inside[0] / inside[1] < 40.0
    np.testing.assert_array_equal(dense[0](long.t), long.y)
    slope = (dense[0](long.t) - dense[0](long.t - 1e-6)) / 1e-6
    np.testing.assert_allclose(slope, swing(long.t, long.y), rtol=1e-5)
    np.testing.assert_array_equal(long.f, swing(long.t, long.y))
