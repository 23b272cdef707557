"""Linear equations whose matrix is interpolated: against closed forms, and what is not smooth is told."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import expm

from contactsim.hybrid.integrators.interpolation import Interpolated, Scale, Series, solve_explicit

Array = np.ndarray
ROTATING = np.array([[-1.0, 3.0], [-4.0, -0.5]])
SPIN = np.array([[0.0, -1.0], [1.0, 0.0]])


def rotating(t: float) -> Array:
    """R(t) B R(t)^T: in the frame that turns with it, y' = (B - S) y."""
    R = expm(SPIN * t)
    return np.asarray(R @ ROTATING @ R.T)


def solution(t: float) -> Array:
    return np.asarray(expm(SPIN * t) @ expm((ROTATING - SPIN) * t))


def _value(series: Series, t: float) -> Array:
    """A(t) of a series."""
    place = series.scale.place(t)
    return np.asarray(series(place) / series.scale.slope(place))


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
        value = solve_explicit(piece.series, -1.0, 1.0, value, rtol, 1e-3 * rtol, 0.1)
    np.testing.assert_allclose(value, solution(2.0), atol=30.0 * rtol)
    assert len(calls) <= 80


def test_points_of_a_series_are_evaluated_once() -> None:
    calls = []

    def matrix(t: float) -> Array:
        calls.append(t)
        return rotating(t)

    (piece,) = Interpolated(matrix, [0.0, 1.0], 1e-8, np.ones(2)).pieces
    assert piece.series is not None and len(piece.series.terms) == 9
    assert len(calls) == len(set(calls)) == 9
    np.testing.assert_allclose(_value(piece.series, 0.37), rotating(0.37), atol=1e-8)


def test_a_jump_stays_without_a_series() -> None:
    jumping = Interpolated(lambda t: np.array([[1.0 if t < 0.3 else 2.0]]), [0.0, 0.25, 0.5, 1.0], 1e-8, np.ones(1))
    assert [(piece.t0, piece.t1) for piece in jumping.pieces if piece.series is None] == [(0.25, 0.5)]


def test_intervals_that_need_too_many_terms_are_halved() -> None:
    def matrix(t: float) -> Array:
        return np.array([[1.0 / (0.1 + (t - 3.0) ** 2)]])

    found = Interpolated(matrix, np.linspace(0.0, 8.0, 33).tolist(), 1e-8, np.ones(1)).pieces
    assert len(found) > 1
    for piece in found:
        assert piece.series is not None
        t = 0.3 * piece.t0 + 0.7 * piece.t1
        np.testing.assert_allclose(_value(piece.series, t), matrix(t), rtol=1e-7)


def test_the_rate_is_the_largest_eigenvalue() -> None:
    matrix = np.array([[0.0, 1.0, 0.0], [-1e6, -10.0, 0.0], [5.0, 0.0, -3.0]])
    rate = Series(Scale(0.0, 1.0), matrix[None]).rate
    assert rate == pytest.approx(np.abs(np.linalg.eigvals(matrix)).max(), rel=1.5)
    assert rate >= np.abs(np.linalg.eigvals(matrix)).max() * 0.999


# --- time as an exponential -------------------------------------------------------------------------------------------
@pytest.mark.parametrize("middle", [1.0 + 1e-6, 1.3, 1.5, 1.9, 2.0 - 1e-6])
def test_scale_leads_through_its_middle_and_back(middle: float) -> None:
    scale = Scale.through(1.0, middle, 2.0)
    assert [scale.time(s) for s in (-1.0, 0.0, 1.0)] == pytest.approx([1.0, middle, 2.0], abs=1e-15)
    for s in np.linspace(-1.0, 1.0, 9).tolist():
        assert scale.place(scale.time(s)) == pytest.approx(s, abs=1e-7)
        if abs(s) < 1.0:
            slope = (scale.time(s + 1e-5) - scale.time(s - 1e-5)) / 2e-5
            assert scale.slope(s) == pytest.approx(slope, rel=1e-4, abs=1e-10)


@pytest.mark.parametrize("power", [0.5, 2.0, 7.0])
def test_steps_that_shrink_towards_a_singularity_share_a_series(power: float) -> None:
    """y' = -p y / (t* - t): y falls as (t* - t)^p over five decades, with a few evaluations of the matrix a step."""
    calls = []

    def matrix(t: float) -> Array:
        calls.append(t)
        return np.array([[-power / (1.0 - t), 1.0], [0.0, 0.0]])

    edges = [1.0 - 10.0 ** (-k / 3.0) for k in range(16)]
    value = np.eye(2)
    for piece in Interpolated(matrix, edges, 1e-10, np.ones(2)).pieces:
        assert piece.series is not None
        value = solve_explicit(piece.series, -1.0, 1.0, value, 1e-10, 1e-13, 0.1)
    assert value[0, 0] == pytest.approx((1.0 - edges[-1]) ** power, rel=1e-8, abs=1e-13)
    assert len(calls) <= 4 * len(edges)


def test_constant_matrix_is_one_of_time_itself() -> None:
    """However uneven the steps are."""
    (piece,) = Interpolated(lambda t: ROTATING, [0.0, 0.01, 0.3, 2.0], 1e-9, np.ones(2)).pieces
    assert piece.series is not None and piece.series.scale.growth == 0.0
    np.testing.assert_allclose(
        solve_explicit(piece.series, -1.0, 1.0, np.eye(2), 1e-12, 1e-14, 0.1), expm(2.0 * ROTATING)
    )


def test_kinks_between_steps_do_not_ask_for_more_terms() -> None:
    """A matrix whose steps join with kinks of 1e-8, as those of a run do, is no less smooth than the run."""
    calls = []

    def matrix(t: float) -> Array:
        calls.append(t)
        return np.array([[np.cos(t) + 1e-8 * abs(np.sin(8.0 * np.pi * t))]])

    (piece,) = Interpolated(matrix, np.linspace(0.0, 1.0, 9).tolist(), 1e-10, np.ones(1)).pieces
    assert piece.series is not None
    assert len(calls) <= 17
    np.testing.assert_allclose(_value(piece.series, 0.61), np.cos(0.61), atol=2e-8)
