"""The charts of steps as polynomials, against the states of the run."""

import numpy as np
import pytest
from numpy.polynomial import chebyshev

import contactsim as cs
from contactsim.hybrid.segments import chart_path

SAME = 1e-13
METHODS = ["automatic", "DOP853", "Radau9", "RK45", "Radau", "LSODA", "BDF"]


@pytest.mark.parametrize("integrator", METHODS)
def test_a_path_has_the_states_of_its_arc(integrator: str) -> None:
    scene = cs.load_scene("biped")
    run = cs.simulate(scene.system, scene.state, (0.0, 0.3), integrator=integrator)
    for arc in run.arcs:
        if arc.t1 == arc.t0:
            continue
        whole = chart_path(arc.segments)
        middle = 0.5 * (arc.t0 + arc.t1)
        for path, times in (
            (whole, np.linspace(arc.t0, arc.t1, 17)),
            (whole.between(middle, middle), np.array([middle])),
            (whole.between(middle, arc.t1), np.linspace(middle, arc.t1, 5)),
        ):
            for t in times:
                k = max(int(np.searchsorted(path.start, t, side="right")) - 1, 0)
                t0, t1 = path.interval[k]
                chart = chebyshev.chebval(((t - t0) - (t1 - t)) / (t1 - t0), path.series[k])
                space = arc.segments[0].space
                assert np.abs(space.integrate(path.base[k], chart) - arc(t)).max() < SAME
                assert path.step[k, 0] - 1e-15 <= t <= path.step[k, 1] + 1e-15
