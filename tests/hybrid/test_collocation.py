"""Linear equations by collocation: what a step misses, and whether it tells."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import contactsim as cs
from contactsim.hybrid.integrators.collocation import defect_of, fastest, radau, solve_linear


@pytest.mark.parametrize("stages", [2, 3, 5, 6, 8])
def test_a_defect_at_the_start_is_carried_to_the_end_as_a_decay_carries_it(stages: int) -> None:
    """y' = -z y + M(t) / M(0) from zero, M being the polynomial that vanishes at the nodes."""
    nodes, defect = radau(stages).nodes, defect_of(stages)
    for decay in (0.5, 2.0, 0.9 * defect.worst):

        def missed(t: float, y: np.ndarray, z: float = decay) -> np.ndarray:
            return -z * y + np.prod(1.0 - t / nodes)

        end = solve_ivp(missed, (0.0, 1.0), [0.0], "DOP853", rtol=1e-12, atol=1e-15).y[0, -1]
        assert defect.carried(decay) == pytest.approx(abs(end), rel=1e-3, abs=1e-12)
    faster = [defect.carried(share * defect.worst) for share in np.linspace(0.05, 3.0, 30)]
    assert np.all(np.diff(faster) >= -1e-3 * max(faster))  # of all decays up to one the worst counts


@pytest.mark.parametrize("stages", [2, 3, 5])
def test_of_slow_motion_a_method_of_more_stages_carries_a_higher_power(stages: int) -> None:
    carried = defect_of(stages).carried
    assert np.log2(carried(0.02) / carried(0.01)) == pytest.approx(stages - 1, abs=0.02)


def test_no_eigenvalue_is_larger_than_the_bound_and_units_hardly_matter() -> None:
    random = np.random.default_rng(7)
    for n in (1, 3, 12):
        for _ in range(20):
            matrix = random.normal(size=(n, n))
            bound = fastest(matrix)
            assert np.abs(np.linalg.eigvals(matrix)).max() <= bound * (1.0 + 1e-12)
            units = 10.0 ** random.uniform(-1.0, 1.0, n)
            assert fastest(units[:, None] * matrix / units) == pytest.approx(bound, rel=0.3)
    assert fastest(np.zeros((3, 3))) == 0.0


@pytest.mark.parametrize("rtol", [1e-6, 1e-8, 1e-10])
@pytest.mark.parametrize("pace", [3.0, 20.0, 100.0])
@pytest.mark.parametrize("decay", [10.0, 100.0, 1000.0])
def test_what_decays_fast_is_as_accurate_as_it_was_asked_for(decay: float, pace: float, rtol: float) -> None:
    """Estimates which hold where a motion is smooth let one of these miss eighty times its tolerance."""

    def matrix(t: float) -> np.ndarray:
        return np.array([[-decay * (1.0 + 0.5 * np.sin(pace * t)), decay], [0.0, 0.0]])

    exact = solve_linear(matrix, 0.0, 1.0, np.eye(2), 1e-13, 1e-16)
    found = solve_linear(matrix, 0.0, 1.0, np.eye(2), rtol, 1e-3 * rtol)
    assert np.abs(found - exact).max() < 5.0 * rtol


def test_where_the_equation_is_singular_is_told_with_what_to_do() -> None:
    with pytest.raises(
        cs.StepSizeError, match=r"followed at t = 0\.99.* s: the run is singular there; let what a function"
    ):
        solve_linear(lambda t: np.array([[2.0 / (1.0 - t) ** 2]]), 0.0, 2.0, np.eye(1), 1e-8, 1e-12)
