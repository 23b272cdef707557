"""The stages written out against SciPy's own."""

from __future__ import annotations

import numpy as np
from scipy.integrate import DOP853

from contactsim.hybrid.integrators.dop853 import Dop853


def swing(t: float, y: np.ndarray) -> np.ndarray:
    return np.array([y[1], -np.sin(y[0]) - 0.1 * y[1] + np.cos(3.0 * t)])


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
