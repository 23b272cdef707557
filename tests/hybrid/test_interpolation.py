"""Linear equations whose matrix is interpolated: against closed forms, and what is not smooth is told."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import expm

from contactsim.hybrid.integrators.interpolation import Interpolated, Series, solve_explicit

Array = np.ndarray
ROTATING = np.array([[-1.0, 3.0], [-4.0, -0.5]])
SPIN = np.array([[0.0, -1.0], [1.0, 0.0]])


def rotating(t: float) -> Array:
    """R(t) B R(t)^T: in the frame that turns with it, y' = (B - S) y."""
    R = expm(SPIN * t)
    return np.asarray(R @ ROTATING @ R.T)


def solution(t: float) -> Array:
    return np.asarray(expm(SPIN * t) @ expm((ROTATING - SPIN) * t))


@pytest.mark.parametrize("rtol", [1e-6, 1e-9, 1e-12])
def test_rotating_matrix_is_followed_to_its_tolerance(rtol: float) -> None:
    calls = []

    def matrix(t: float) -> Array:
        calls.append(t)
        return rotating(t)

    found = Interpolated(matrix, np.linspace(0.0, 2.0, 9).tolist(), 0.1 * rtol, np.ones(2))
    value = np.eye(2)
    for piece in found.pieces:
        assert piece.series is not None
        value = solve_explicit(piece.series, piece.t0, piece.t1, value, rtol, 1e-3 * rtol, 0.1)
    np.testing.assert_allclose(value, solution(2.0), atol=30.0 * rtol)
    assert len(calls) <= 80


def test_points_of_a_series_are_evaluated_once() -> None:
    calls = []

    def matrix(t: float) -> Array:
        calls.append(t)
        return rotating(t)

    (piece,) = Interpolated(matrix, [0.0, 1.0], 1e-8, np.ones(2)).pieces
    assert piece.series is not None and len(piece.series.terms) == 17
    assert len(calls) == len(set(calls)) == 17
    np.testing.assert_allclose(piece.series(0.37), rotating(0.37), atol=1e-9)


def test_a_jump_stays_without_a_series() -> None:
    jumping = Interpolated(lambda t: np.array([[1.0 if t < 0.3 else 2.0]]), [0.0, 0.25, 0.5, 1.0], 1e-8, np.ones(1))
    assert [piece.series for piece in jumping.pieces] == [None]


def test_intervals_that_need_too_many_terms_are_halved() -> None:
    edges = np.linspace(0.0, 8.0, 33).tolist()
    found = Interpolated(lambda t: np.array([[1.0 / (3.0 + t)]]), edges, 1e-8, np.ones(1)).pieces
    assert [(piece.t0, piece.t1) for piece in found] == [(0.0, 4.0), (4.0, 8.0)]
    for piece in found:
        assert piece.series is not None
        np.testing.assert_allclose(piece.series(piece.t0 + 1.1), 1.0 / (4.1 + piece.t0), rtol=1e-8)


def test_the_rate_is_the_largest_eigenvalue() -> None:
    matrix = np.array([[0.0, 1.0, 0.0], [-1e6, -10.0, 0.0], [5.0, 0.0, -3.0]])
    rate = Series(0.0, 1.0, matrix[None]).rate
    assert rate == pytest.approx(np.abs(np.linalg.eigvals(matrix)).max(), rel=1.5)
    assert rate >= np.abs(np.linalg.eigvals(matrix)).max() * 0.999
