"""The tables of Chebyshev polynomials against numpy's, to the bit."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.polynomial import chebyshev

from contactsim.hybrid.chart_path import chebyshev_basis, chebyshev_derivative


@pytest.mark.parametrize("degree", [1, 4, 5, 12])
def test_values_are_those_of_numpy(degree: int) -> None:
    x = np.linspace(-1.0, 1.0, 23)
    np.testing.assert_array_equal(chebyshev_basis(x, degree), chebyshev.chebvander(x, degree))


@pytest.mark.parametrize("shape", [(3,), (6,), (6, 6), (13,), (13, 4)])
def test_derivatives_are_those_of_numpy(shape: tuple[int, ...]) -> None:
    series = np.random.default_rng(0).normal(size=shape)
    np.testing.assert_array_equal(chebyshev_derivative(series), chebyshev.chebder(series))
