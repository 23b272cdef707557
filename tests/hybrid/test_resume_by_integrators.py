"""Runs of systems that are no robots, stopped anywhere, go on under each integrator as if they had not been."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from test_filippov import START, Oscillator
from test_resume import same, stops_near_events

import contactsim as cs


@pytest.mark.parametrize("integrator", ["DOP853", "RK45", "Radau"])
def test_every_integrator(integrator: str) -> None:
    system = cs.Filippov(Oscillator())
    whole = cs.simulate(system, START, (0.0, 9.0), integrator=integrator)
    for stop in (1.0, 7.0):  # in the middle of an arc, away from where the step to an event would be cut short
        simulation = cs.Simulation.resume(cs.simulate(system, START, (0.0, stop), integrator=integrator))
        simulation.advance_to(9.0)
        same(whole, simulation.trajectory)


@pytest.mark.parametrize("integrator", ["DOP853", "RK45", "RK23", "RK4", "Radau", "Radau9", "BDF", "LSODA", None])
def test_every_integrator_wherever_it_is_stopped(tmp_path: Path, integrator: str | None) -> None:
    system, end = Oscillator(0.1), 3.6
    tolerances = cs.Tolerances(rtol=1e-6, atol=1e-8, max_step=0.1 if integrator == "RK4" else np.inf)
    options = {"integrator": integrator, "tolerances": tolerances}
    whole = cs.simulate(system, START, (0.0, end), **options)

    def goes_on(begun: cs.Trajectory) -> None:
        simulation = cs.Simulation.resume(begun)
        simulation.advance_to(end)
        same(whole, simulation.trajectory)

    for stop in (stops := stops_near_events(whole, end, [0, -1])):
        half = cs.simulate(system, START, (0.0, stop), **options)
        goes_on(half)
        if stop in stops[-2:]:
            goes_on(cs.Trajectory.load(half.save(tmp_path / "half.nc"), system=system))
