"""Motor and battery of the compliant hexapod against the formulas worked by hand."""

from __future__ import annotations

import numpy as np
import pytest
from contactsim_plugins.models.compliant_hexapod import CompliantHexapod, motor

import contactsim as cs

BY_HAND = 1e-12  # relative, the same formula worked once more
TRAPEZE = 1e-4  # relative, the life of a battery under a current that ripples, from its samples


def test_current_and_voltage() -> None:
    parameters = CompliantHexapod().parameters
    current = motor.armature_current(np.array([3.0]), parameters)
    assert current == pytest.approx(3.0 * 0.0333 / 16.3e-3, rel=BY_HAND)
    voltage = motor.armature_voltage(np.array([3.0]), np.array([2.0]), parameters)
    assert voltage == pytest.approx(current * 1.34 + 2.0 / (61.261056 * 0.0333), rel=BY_HAND)


def test_discharge_curve_goes_through_its_table_and_falls() -> None:
    assert motor.discharge_time(0.921 * 2.2 / 1.3) == pytest.approx(3600.0, rel=BY_HAND)
    assert motor.discharge_time(0.0655 * 2.2 / 1.3) == pytest.approx(20 * 3600.0, rel=BY_HAND)
    assert (np.diff(motor.discharge_time(np.geomspace(0.01, 50.0, 200))) < 0.0).all()
    assert motor.discharge_time(2.0, capacity=4.4) == pytest.approx(motor.discharge_time(1.0), rel=BY_HAND)


def test_battery_empties_at_the_zero_crossing() -> None:
    t = np.linspace(0.0, 10.0, 101)
    steady = np.full(101, 2.0)
    assert motor.battery_life(t, steady) == pytest.approx(motor.discharge_time(2.0), rel=BY_HAND)
    long = np.linspace(0.0, 2.0 * motor.discharge_time(2.0), 101)
    assert motor.battery_life(long, steady) == pytest.approx(motor.discharge_time(2.0), rel=BY_HAND)
    ripple = np.where(t < 5.0, 1.0, 3.0)
    mean = 0.5 * (1.0 / motor.discharge_time(1.0) + 1.0 / motor.discharge_time(3.0))
    assert motor.battery_life(t, ripple) == pytest.approx(1.0 / mean, rel=2e-2)
    assert motor.battery_life(t, np.zeros(101)) > 1e9


def test_currents_of_a_run_empty_the_battery_in_a_few_hours() -> None:
    model = CompliantHexapod()
    traj = cs.simulate(
        model, model.initial_state(), (0.0, 1.0), integrator="RK4", tolerances=cs.Tolerances(max_step=1.25e-3)
    )
    record = model.auxiliary(traj)
    total = sum(np.abs(record[f"current{i}"]) for i in range(6))
    np.testing.assert_allclose(record["total_current"], total, rtol=BY_HAND)
    life = motor.battery_life(traj.t, record["total_current"])
    assert 600.0 < life < 4 * 3600.0
    finer = np.repeat(traj.t, 2)[1:]
    assert motor.battery_life(finer, np.repeat(record["total_current"], 2)[:-1]) == pytest.approx(life, rel=0.05)
