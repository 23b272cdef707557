"""The inverse differential of the exponential map against the power series of the differential."""

import numpy as np
import pinocchio as pin
import pytest

from contactsim.multibody.configuration_space import SMALL, dexp_coefficient, spin_in_chart, twist_in_chart

ROUNDING = 5e-15


def differential(motion: np.ndarray) -> np.ndarray:
    """dexp of body velocities (6, 6): sum of (-ad)^k / (k + 1)!"""
    moved, turned = pin.skew(motion[:3]), pin.skew(motion[3:])
    ad = np.block([[turned, moved], [np.zeros((3, 3)), turned]])
    total = term = np.eye(6)
    for k in range(1, 60):
        term = -term @ ad / (k + 1)
        total = total + term
    return total


@pytest.mark.parametrize("size", [0.0, 1e-9, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 0.28, 0.3, 1.0])
def test_rates_are_exact_at_every_angle(size: float) -> None:
    rng = np.random.default_rng(4)
    for _ in range(20):
        motion, twist = size * rng.normal(size=6), rng.normal(size=6)
        expected = np.linalg.solve(differential(motion), twist)
        found = twist_in_chart(motion.tolist(), twist.tolist())
        scale = max(1.0, float(np.abs(expected).max()))
        assert np.abs(found - expected).max() < ROUNDING * scale * (1.0 + 10.0 * size)
        motion[:3] = twist[:3] = 0.0
        spin = np.linalg.solve(differential(motion), twist)[3:]
        assert np.abs(spin_in_chart(motion[3:].tolist(), twist[3:].tolist()) - spin).max() < ROUNDING * scale * 10.0


def test_series_and_closed_form_meet() -> None:
    below, above = dexp_coefficient(SMALL * (1.0 - 1e-15)), dexp_coefficient(SMALL)
    assert below[0] == pytest.approx(above[0], rel=1e-14)
    assert below[1] == pytest.approx(above[1], rel=1e-11)  # of the closed form, which loses digits at small angles
