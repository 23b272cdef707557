"""Lyapunov exponents of runs: linear systems, periodic orbits, and events that take directions away."""

from __future__ import annotations

import numpy as np
import pytest
from builders import TIGHT
from reference_systems import BallOnTable, compass_gait, stick_slip, vibrating_table

import contactsim as cs

EXACT = 1e-8  # 1/s, runs with TIGHT tolerances
FINITE = 5.0  # what the logarithm of a finite run's growth differs by from its exponent's (condition of the frame)
Array = np.ndarray


def linearized(system: cs.HybridSystem, x: Array, t0: float, t1: float) -> cs.Linearization:
    tight = cs.Tolerances(**TIGHT)
    return cs.linearize(cs.simulate(system, x, (t0, t1), tolerances=tight), tolerances=tight)


@pytest.mark.parametrize("interval", [None, 0.03])
def test_sum_of_the_exponents_is_the_loss_at_the_impacts(interval: float | None) -> None:
    """Flight keeps areas; each impact multiplies them by e^2."""
    case = vibrating_table()
    lin = linearized(case.system, case.x, case.t0, case.t0 + 2.05)
    exponents = cs.lyapunov_exponents(lin, interval)
    assert exponents.sum() * (lin.t1 - lin.t0) == pytest.approx(len(lin.events) * np.log(0.25), abs=EXACT)
    assert exponents[0] >= exponents[1]


def test_exponents_of_a_periodic_orbit_are_those_of_floquet() -> None:
    """Complex multipliers share one exponent, which a finite run meets up to const / T."""
    case = vibrating_table()
    orbit = cs.find_periodic_orbit(case.system, case.x, case.time, fixed_period=True, t0=case.t0)
    lin = linearized(case.system, orbit.x0, orbit.t0, orbit.t0 + 8.0)
    np.testing.assert_allclose(cs.lyapunov_exponents(lin), orbit.exponents.real, atol=FINITE / 8.0)


def test_walker_is_neutral_along_its_orbit() -> None:
    case = compass_gait()
    run = cs.simulate(case.system, case.x, (0.0, 8.3 * case.time), tolerances=cs.Tolerances(**TIGHT))
    exponents = cs.lyapunov_exponents(run)
    assert abs(exponents[0]) < FINITE / (8.3 * case.time)
    assert np.all(exponents[1:] < -0.2)


def test_direction_that_sticking_takes_away() -> None:
    case = stick_slip()
    exponents = cs.lyapunov_exponents(linearized(case.system, case.x, 0.0, 3.0 * case.time))
    assert abs(exponents[0]) < FINITE / (3.0 * case.time)
    assert exponents[1] == -np.inf


def test_odd_input() -> None:
    case = vibrating_table()
    with pytest.raises(cs.InputError, match="the run ends where it starts"):  # it starts below the table
        cs.lyapunov_exponents(cs.simulate(case.system, case.x, (case.t0 + 1e-6, case.t0 + 1.0)))
    with pytest.raises(cs.InputError, match="interval of lyapunov_exponents is 0"):
        cs.lyapunov_exponents(cs.simulate(BallOnTable(0.5), [1.0, 0.0], (0.0, 0.1)), 0.0)
    with pytest.raises(cs.InputError, match="linearize needs a Trajectory"):
        cs.lyapunov_exponents("run")  # type: ignore[arg-type]
