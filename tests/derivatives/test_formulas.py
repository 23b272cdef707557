"""Saltation matrices and B-derivatives on plain arrays: closed forms, published numbers, and simulated neighbours."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import permutations

import numpy as np
import pytest
from bouligand_representation import BouligandRepresentation
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

from contactsim.derivatives.saltation import bouligand, bouligand_pieces, is_identity, saltation_matrix
from contactsim.errors import InputError, NonDifferentiableError, TransversalityError

# What is compared, and why the figure is what it is; all arrays are of the order of 1.
CLOSED_FORM = 1e-12  # a dozen operations from the same data
SLOPE = 1e-10  # the ball's state before the impact is rounded at 1e-13 of its 10 m/s, quotients add digits
AGREEMENT = 1e-10  # four computations of the same map; the simulation divides its rounding by a size of 0.01
DIFFERENCES = 1e-8  # central differences, step 1e-5: curvature and rounding 1e-10 each, times what multiplies them
QUOTIENT = 1e-5  # one-sided difference quotients, step 1e-6: first order in it, times second derivatives
MATRICES = 1e-9  # central differences of a linear map, which divide the simulation's rounding by a step of 1e-3
PUBLISHED = 1e-10  # values printed with 11 decimals

G = 9.81
SURFACE = 1e-13  # the simulation counts a point as across a surface from here on
Field = Callable[[np.ndarray], np.ndarray]
agree = partial(np.testing.assert_allclose, rtol=0.0)
small_problems = st.tuples(st.integers(0, 10**6), st.integers(2, 5), st.integers(0, 3))  # seed, n, d - n
given_problems = settings(derandomize=True, deadline=None, max_examples=60)


# --- saltation matrix ----------------------------------------------------------------------------------------------


def ball_before(angle: float) -> np.ndarray:
    """Velocity of a falling ball where it meets the slope."""
    return np.array([0.5, -0.125 - G * 0.969850710632744]) if angle == np.pi / 4 else np.array([0.3, -2.0])


def sliding(angle: float, inputs: np.ndarray) -> np.ndarray:
    """Saltation matrix of a plastic impact into sliding; tutorial, eqs. (43) to (50)."""
    s, c = np.sin(angle), np.cos(angle)
    along = np.array([[c * c, -c * s], [-c * s, s * s]])
    v, force = ball_before(angle), inputs - [0.0, G]
    DxR = np.block([[np.eye(2), np.zeros((2, 2))], [np.zeros((2, 2)), along]])
    return saltation_matrix(np.r_[v, force], np.r_[along @ v, along @ force], DxR, np.array([s, c, 0.0, 0.0]))


def sticking(angle: float) -> np.ndarray:
    """Saltation matrix of a plastic impact into rest; tutorial, eqs. (47), (48), (53), (54)."""
    before = np.r_[ball_before(angle), 0.0, -G]
    return saltation_matrix(before, np.zeros(4), np.diag([1.0, 1, 0, 0]), [np.sin(angle), np.cos(angle), 0, 0])


@pytest.mark.parametrize("inputs", [(0.0, 0.0), (1.5, -0.7)])
@pytest.mark.parametrize("angle", [np.pi / 4, 0.3, -0.9, 0.0])
def test_ball_slides_on_a_slope(angle: float, inputs: tuple[float, float]) -> None:
    s, c = np.sin(angle), np.cos(angle)
    block = np.array([[c**2, -c * s], [-c * s, s**2]])  # eq. (52)
    Xi = sliding(angle, np.array(inputs))
    agree(Xi, np.kron(np.eye(2), block), atol=SLOPE)  # eq. (51)
    agree(Xi[:2, :2] @ [s, c], 0.0, atol=SLOPE)  # eq. (57)
    agree(Xi[:2, :2] @ [-c, s], [-c, s], atol=SLOPE)


@pytest.mark.parametrize("angle", [np.pi / 4, 0.3, -0.9, 0.0])
def test_ball_sticks_to_a_slope(angle: float) -> None:
    s, c = np.sin(angle), np.cos(angle)
    v1, v2 = ball_before(angle)
    block = np.array([[v2 * c, -v1 * c], [-v2 * s, v1 * s]]) / (v2 * c + v1 * s)  # eq. (56)
    Xi = sticking(angle)
    agree(Xi, np.kron(np.diag([1.0, 0.0]), block), atol=SLOPE)  # eq. (55)
    agree(Xi[:2, :2] @ [v1, v2], 0.0, atol=SLOPE)  # eq. (58)
    agree(Xi[:2, :2] @ [-c, s], [-c, s], atol=SLOPE)


def test_ball_on_a_slope_has_the_reference_numbers() -> None:
    """45 degrees, ground y = 1 - x, from (0.25, 5, 0.5, -0.125), over 1.1 s."""

    def drift(time: float) -> np.ndarray:
        return np.eye(4) + time * np.eye(4, k=2)

    impact = 0.969850710632744
    slide = drift(1.1 - impact) @ sliding(np.pi / 4, np.zeros(2)) @ drift(impact)
    half = [[0.5, -0.5], [-0.5, 0.5]]
    agree(slide, np.kron([[1.0, 1.1], [0.0, 1.0]], half), atol=SLOPE)
    stick = sticking(np.pi / 4)[:2, :2]
    expected = [[1.0547091714148, 0.0547091714148], [-1.0547091714148, -0.0547091714148]]
    agree(stick, expected, atol=SLOPE)


def test_ball_on_a_vibrating_table() -> None:
    """Guard q - A sin(w t), Newton's law on the relative velocity: the published matrix of its period-1 orbit."""
    A, w, e, t, v = 0.0027, 20.0 * np.pi, 0.5, 0.0042971414883010, -0.4905
    rebound = -e * v + (1 + e) * A * w * np.cos(w * t)
    Xi = saltation_matrix(
        np.array([v, -G]),
        np.array([rebound, -G]),
        np.diag([1.0, -e]),
        np.array([1.0, 0.0]),
        np.array([0.0, -(1 + e) * A * w**2 * np.sin(w * t)]),
        -A * w * np.cos(w * t),
    )
    agree(Xi, [[-0.5, 0.0], [15.97910695282, -0.5]], atol=PUBLISHED)


PRE, POST = np.array([-1.4, -0.3, 0.7]), np.array([-0.6, 2.1])


def moving_guard(t: float, x: np.ndarray) -> float:
    return x[0] + np.sin(x[1] + 0.3 * t) + 0.5 * x[2] ** 2 + 0.2 * t


def moving_reset(t: float, x: np.ndarray) -> np.ndarray:
    return np.array([x[0] * x[1] + np.cos(2.0 * t) * x[2], np.exp(0.3 * x[2]) + t * x[0]])


def through_the_event(x: np.ndarray, sign: float) -> np.ndarray:
    """State at t = 0.5 from `x` at t = -0.5: constant fields, a nonlinear guard and reset from R^3 to R^2."""
    t = brentq(lambda t: sign * moving_guard(t, x + (t + 0.5) * PRE), -0.5, 0.5, xtol=1e-15, rtol=1e-15)
    return moving_reset(t, x + (t + 0.5) * PRE) + (0.5 - t) * POST


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_guard_and_reset_that_depend_on_time(sign: float) -> None:
    start, h = np.array([0.6, 0.2, 0.1]), 1e-5
    t = brentq(lambda t: moving_guard(t, start + (t + 0.5) * PRE), -0.5, 0.5, xtol=1e-15, rtol=1e-15)
    x = start + (t + 0.5) * PRE
    bend = np.cos(x[1] + 0.3 * t)
    Xi = saltation_matrix(
        PRE,
        POST,
        np.array([[x[1], x[0], np.cos(2.0 * t)], [t, 0.0, 0.3 * np.exp(0.3 * x[2])]]),
        sign * np.array([1.0, bend, x[2]]),
        np.array([-2.0 * np.sin(2.0 * t) * x[2], x[0]]),
        sign * (0.3 * bend + 0.2),
    )
    steps = h * np.eye(3)
    columns = [(through_the_event(start + s, sign) - through_the_event(start - s, sign)) / (2 * h) for s in steps]
    agree(Xi, np.transpose(columns), atol=DIFFERENCES)


def test_an_event_by_the_clock_has_the_derivative_of_its_reset() -> None:
    DxR = np.array([[1.0, 2.0], [0.0, 3.0]])
    Xi = saltation_matrix(np.ones(2), np.zeros(2), DxR, np.zeros(2), np.array([5.0, 6.0]), -1.0)
    np.testing.assert_array_equal(Xi, DxR)


def test_saltation_refuses_what_it_cannot_use() -> None:
    good = {"F_pre": np.ones(3), "F_post": np.ones(2), "DxR": np.ones((2, 3)), "Dxg": np.ones(3)}
    wrong = {"F_pre": np.ones((3, 1)), "F_post": np.ones((1, 2)), "DxR": np.ones((3, 2)), "Dxg": np.ones(2)}
    for name, value in {**wrong, "DtR": np.ones(3), "Dtg": np.ones(1)}.items():
        with pytest.raises(InputError, match=r"has shape .*; give it the shape"):
            saltation_matrix(**{**good, name: value})
    with pytest.raises(InputError, match="F_post has entries that are not finite"):
        saltation_matrix(**{**good, "F_post": np.array([1.0, np.nan])})


@pytest.mark.parametrize("Dxg", [[1.0, 0.0], [0.0, 0.0], [1.0, 1e-14]])
def test_grazing_has_no_saltation_matrix(Dxg: list[float]) -> None:
    with pytest.raises(TransversalityError, match="tangentially") as caught:
        saltation_matrix(np.array([0.0, -G]), np.zeros(2), np.eye(2), np.array(Dxg))
    assert isinstance(caught.value, NonDifferentiableError)


def test_a_guard_that_runs_with_the_state_is_grazed() -> None:
    with pytest.raises(TransversalityError, match="tangentially"):
        saltation_matrix(np.array([0.3, 0.0]), np.zeros(2), np.eye(2), np.array([1.0, 0.0]), 0.0, -0.3)


# --- B-derivative --------------------------------------------------------------------------------------------------


def random_problem(seed: int, n: int, extra: int) -> tuple[np.ndarray, Field, np.random.Generator]:
    """Normals (n, n + extra), and a field with rates between 0.5 and 2 on all 2^n sides, random along the surfaces."""
    rng = np.random.default_rng(seed)
    normals = np.eye(n, n + extra) + 0.1 * rng.normal(size=(n, n + extra))
    inverse = np.linalg.pinv(normals)
    along = rng.normal(size=(2**n, n + extra))
    table = rng.uniform(0.5, 2.0, (2**n, n)) @ inverse.T + along - along @ normals.T @ inverse.T
    return normals, lambda b: table[(b > 0) @ (1 << np.arange(n))], rng


def sampled_flow(normals: np.ndarray, field: Field, x: np.ndarray, time: float) -> np.ndarray:
    """Flow of the field that is F_b throughout side b: straight legs from surface to surface, sides by position."""
    while time > 0.0:
        heights = normals @ x
        b = np.where(heights > -SURFACE, 1, -1)
        rate = field(b)
        arrivals = (-heights / (normals @ rate))[b < 0]
        leg = min(arrivals.min(initial=np.inf), time)
        x, time = x + leg * rate, time - leg
    return x


def by_simulation(normals: np.ndarray, field: Field, dx: np.ndarray) -> np.ndarray:
    """B(dx) as a difference of runs over unit time, the middle one of which meets all surfaces at once; (43)."""
    b = np.ones(len(normals), int)
    size = 0.01 / np.linalg.norm(dx)
    end = sampled_flow(normals, field, -0.5 * field(-b) + size * dx, 1.0)
    return (end - 0.5 * field(b)) / size


@pytest.mark.parametrize("d", range(1, 9))
def test_linear_closed_form(d: int) -> None:
    """[B] (12): the field 1 - delta b has the derivative (1 - delta) / (1 + delta)."""
    delta = 0.37

    def field(b: np.ndarray) -> np.ndarray:
        return 1.0 - delta * b

    dx = np.random.default_rng(d).normal(size=(20, d))
    expected = (1 - delta) / (1 + delta) * dx
    agree(bouligand(dx, np.eye(d), field), expected, atol=CLOSED_FORM)
    agree(BouligandRepresentation(np.eye(d), field)(dx), expected, atol=CLOSED_FORM)
    if d <= 6:
        for M in bouligand_pieces(np.eye(d), field).values():
            agree(M, (1 - delta) / (1 + delta) * np.eye(d), atol=CLOSED_FORM)


@pytest.mark.parametrize(("n", "extra"), [(1, 0), (1, 3), (2, 0), (2, 2), (3, 1), (4, 0), (5, 3), (6, 1)])
def test_four_computations_agree(n: int, extra: int) -> None:
    normals, field, rng = random_problem(10 * n + extra, n, extra)
    dx = rng.normal(size=(200, n + extra))
    represented, pieces = BouligandRepresentation(normals, field), bouligand_pieces(normals, field)
    assert list(pieces) == list(permutations(range(n))) == list(represented.cones())
    orders = represented.order(dx)
    after = bouligand(dx, normals, field)
    agree(represented(dx), after, atol=AGREEMENT)
    for direction, result, order in zip(dx, after, orders, strict=True):
        agree(pieces[tuple(order)] @ direction, result, atol=AGREEMENT)
        agree(by_simulation(normals, field, direction), result, atol=AGREEMENT)


def test_pieces_are_the_derivatives_of_the_flow_inside_their_cones() -> None:
    """The whole matrix by central differences of simulated runs: what [B] (57) has to be."""
    normals, field, _ = random_problem(7, 3, 1)
    represented, pieces = BouligandRepresentation(normals, field), bouligand_pieces(normals, field)
    for order, generators in represented.cones().items():
        inside = generators.sum(axis=0)
        assert tuple(represented.order(inside)) == order
        steps = 1e-3 * np.eye(4)
        columns = [
            (by_simulation(normals, field, inside + s) - by_simulation(normals, field, inside - s)) / 2e-3
            for s in steps
        ]
        agree(pieces[order], np.transpose(columns), atol=MATRICES)


def test_one_surface_has_its_saltation_matrix() -> None:
    normals, field, rng = random_problem(3, 1, 2)
    before, after = field(np.array([-1])), field(np.array([1]))
    Xi = saltation_matrix(before, after, np.eye(3), normals[0])
    agree(bouligand_pieces(normals, field)[(0,)], Xi, atol=CLOSED_FORM)
    dx = rng.normal(size=3)
    agree(bouligand(dx, normals, field), Xi @ dx, atol=CLOSED_FORM)


@given_problems
@given(small_problems)
def test_positive_homogeneity(problem: tuple[int, int, int]) -> None:
    normals, field, rng = random_problem(*problem)
    dx, factor = rng.normal(size=(10, normals.shape[1])), rng.uniform(0.0, 100.0)
    for B in (lambda dx: bouligand(dx, normals, field), BouligandRepresentation(normals, field)):
        agree(B(factor * dx), factor * B(dx), atol=100.0 * AGREEMENT)
        np.testing.assert_array_equal(B(0.0 * dx), 0.0)


@given_problems
@given(small_problems)
def test_linearity_along_the_field_and_along_all_surfaces(problem: tuple[int, int, int]) -> None:
    normals, field, rng = random_problem(*problem)
    n, d = normals.shape
    first, last = field(-np.ones(n, int)), field(np.ones(n, int))
    represented = BouligandRepresentation(normals, field)
    free = rng.normal(size=d)
    free -= np.linalg.pinv(normals) @ (normals @ free)
    dx, shift = rng.normal(size=(10, d)), rng.normal()
    for B in (lambda dx: bouligand(dx, normals, field), represented):
        agree(B(first), last, atol=AGREEMENT)
        agree(B(-first), -last, atol=AGREEMENT)
        agree(B(dx + shift * first + free), B(dx) + shift * last + free, atol=AGREEMENT)
    for M in list(bouligand_pieces(normals, field).values())[:6]:
        agree(M @ (first + free), last + free, atol=AGREEMENT)
    agree(represented.projector @ (first + free), first + free, atol=AGREEMENT)
    assert np.trace(represented.projector) == pytest.approx(d - n + 1, abs=AGREEMENT)


@given_problems
@given(small_problems, st.data())
def test_continuity_across_cones(problem: tuple[int, int, int], data: st.DataObject) -> None:
    """On the face that two cones share, both matrices and the algorithm give the same."""
    normals, field, rng = random_problem(*problem)
    n, d = normals.shape
    represented, pieces = BouligandRepresentation(normals, field), bouligand_pieces(normals, field)
    order = tuple(data.draw(st.permutations(range(n))))
    k = data.draw(st.integers(0, n - 2))
    neighbour = (*order[:k], order[k + 1], order[k], *order[k + 2 :])
    cones = represented.cones()
    weights = rng.uniform(0.1, 1.0, n - 1)
    weights[k] = 0.0  # the one generator that the neighbour does not have
    face = weights @ cones[order] + represented.projector @ rng.normal(size=d)
    agree(cones[order][:k], cones[neighbour][:k], atol=AGREEMENT)
    agree(pieces[order] @ face, pieces[neighbour] @ face, atol=AGREEMENT)
    agree(bouligand(face, normals, field), pieces[order] @ face, atol=AGREEMENT)
    agree(represented(face), pieces[order] @ face, atol=AGREEMENT)


def test_the_inside_of_a_cone_crosses_in_its_order() -> None:
    normals, field, rng = random_problem(11, 4, 2)
    represented = BouligandRepresentation(normals, field)
    for order, generators in represented.cones().items():
        dx = rng.uniform(0.1, 1.0, 3) @ generators + represented.projector @ rng.normal(size=6)
        assert tuple(represented.order(dx)) == order


def test_sample_points_meet_the_surfaces_at_time_0_or_1() -> None:
    """[B] (33) to (35): and they end, after unit time, in their images."""
    normals, field, _ = random_problem(5, 3, 2)
    represented = BouligandRepresentation(normals, field)
    for b, point, image in zip(represented.sides, represented.points, represented.images, strict=True):
        at = np.where(b > 0, 0.0, 1.0)
        agree(normals @ point + at * (normals @ field(b)), 0.0, atol=AGREEMENT)
        agree(sampled_flow(normals, field, point, 1.0), image, atol=AGREEMENT)
        agree(np.linalg.pinv(normals) @ normals @ point, point, atol=AGREEMENT)


def test_flows_over_a_simultaneous_event_of_a_nonlinear_field() -> None:
    """[B] (3) and (10): one-sided difference quotients of a curved flow tend to B at first order."""

    def field(b: np.ndarray) -> np.ndarray:
        return np.array([1.0 + 0.4 * (b[0] > 0) * (b[1] > 0), 1.5 - 0.6 * (b[0] > 0), 0.3 * b[1]])

    def end(x: np.ndarray) -> np.ndarray:
        bent = np.array([x[0], x[1], x[2] + x[0] * x[1]])  # the piecewise constant flow in curved coordinates
        y = sampled_flow(np.eye(2, 3), field, bent, 1.0)
        return np.array([y[0], y[1], y[2] - y[0] * y[1]])

    def bend(x: np.ndarray) -> np.ndarray:
        return np.eye(3) + np.outer([0, 0, 1], [x[1], x[0], 0])

    start = -0.5 * field(np.array([-1, -1]))
    start[2] -= start[0] * start[1]
    for dx in np.random.default_rng(2).normal(size=(10, 3)):
        expected = np.linalg.solve(bend(end(start)), bouligand(bend(start) @ dx, np.eye(2, 3), field))
        quotient = (end(start + 1e-6 * dx) - end(start)) / 1e-6
        agree(quotient, expected, atol=QUOTIENT)


def test_fields_are_evaluated_once_for_each_side() -> None:
    normals, field, rng = random_problem(4, 6, 0)
    seen: list[tuple[int, ...]] = []

    def counted(b: np.ndarray) -> np.ndarray:
        assert np.issubdtype(b.dtype, np.integer)
        seen.append(tuple(b))
        return field(b)

    bouligand(rng.normal(size=(500, 6)), normals, counted)
    assert len(seen) == len(set(seen)) <= 2**6
    seen.clear()
    bouligand(rng.normal(size=6), normals, counted)
    assert len(seen) == 7


def test_more_surfaces_than_dimensions() -> None:
    """Three surfaces in the plane: the algorithm and the products need no independent normals."""
    normals = np.array([[1.0, 0.0], [0.0, 1.0], [0.8, 0.6]])
    table = np.random.default_rng(1).uniform(0.5, 2.0, (8, 2))
    pieces = bouligand_pieces(normals, lambda b: table[(b > 0) @ [1, 2, 4]])
    dx = np.random.default_rng(2).normal(size=(50, 2))
    after = bouligand(dx, normals, lambda b: table[(b > 0) @ [1, 2, 4]])
    for direction, result in zip(dx, after, strict=True):
        gaps = [np.abs(M @ direction - result).max() for M in pieces.values()]
        assert min(gaps) < AGREEMENT


def test_no_directions() -> None:
    normals, field, _ = random_problem(1, 2, 1)
    assert bouligand(np.empty((0, 3)), normals, field).shape == (0, 3)
    assert BouligandRepresentation(normals, field)(np.empty((0, 3))).shape == (0, 3)


def test_a_surface_that_is_not_crossed_is_named() -> None:
    def field(b: np.ndarray) -> np.ndarray:
        return np.array([1.0, -0.5 if b[0] > 0 else 1.0])

    expected = r"surface 1 is not crossed forwards by the field on side b = \(\+1, -1\): its rate is -0.5"
    for compute in (bouligand_pieces, BouligandRepresentation, lambda *a: bouligand(np.array([2.0, 1.0]), *a)):
        with pytest.raises(TransversalityError, match=expected) as caught:
            compute(np.eye(2), field)
        assert caught.value.problem["surface"] == 1


def test_wrong_input_is_refused_by_name() -> None:
    normals, field, _ = random_problem(1, 2, 1)
    with pytest.raises(InputError, match=r"dx has shape \(2,\); give it the shape \(3,\)"):
        bouligand(np.ones(2), normals, field)
    with pytest.raises(InputError, match=r"normals has shape \(3,\)"):
        bouligand(np.ones(3), normals[0], field)
    with pytest.raises(InputError, match="normals has 0 rows"):
        bouligand(np.ones(3), np.empty((0, 3)), field)
    with pytest.raises(InputError, match=r"field\(b\) has shape \(2,\) for b = \(-1, -1\)"):
        bouligand(np.ones(3), normals, lambda b: np.ones(2))
    with pytest.raises(InputError, match=r"field\(b\) is not finite for b = \(-1, -1\)"):
        bouligand_pieces(normals, lambda b: np.full(3, np.inf))
    with pytest.raises(InputError, match="dx has entries that are not finite"):
        BouligandRepresentation(normals, field)(np.array([1.0, np.nan, 0.0]))


def test_what_is_too_many_says_how_many() -> None:
    def field(b: np.ndarray) -> np.ndarray:
        return np.ones(len(b))

    with pytest.raises(InputError, match=r"9! = 362880 pieces.*use bouligand"):
        bouligand_pieces(np.eye(9), field)
    with pytest.raises(InputError, match=r"9! = 362880 pieces"):
        BouligandRepresentation(np.eye(9), field).cones()
    with pytest.raises(InputError, match=r"2\^17 = 131072 sample points.*use bouligand"):
        BouligandRepresentation(np.eye(17), field)
    with pytest.raises(InputError, match="normals has 63 rows"):
        bouligand(np.ones(63), np.eye(63), field)


def test_dependent_normals_have_no_representation() -> None:
    with pytest.raises(InputError, match="the 3 normals span only 2 directions"):
        BouligandRepresentation(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), lambda b: np.ones(2))


def test_only_the_identity_is_told_to_be_one() -> None:
    """Not another permutation, nor what differs from it by rounding, nor by NaN, nor in shape."""
    turned, rounded, unknown = np.eye(4)[::-1], np.eye(4), np.eye(4)
    rounded[2, 2], unknown[1, 1] = 1.0 + np.finfo(float).eps, np.nan
    beside = np.eye(4)
    beside[0, 3] = 1e-300
    assert is_identity(np.eye(4)) and is_identity(np.zeros((0, 0)))
    assert not any(is_identity(matrix) for matrix in (turned, rounded, unknown, beside, np.eye(3, 4), np.eye(4, 3)))
