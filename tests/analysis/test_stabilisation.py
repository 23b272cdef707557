"""Parameters for which an orbit attracts best."""

from __future__ import annotations

import numpy as np
import pytest
from compass_steps import multipliers
from reference_systems import CompassGait, compass_gait, later
from test_orbit_family import E, bouncing

import contactsim as cs


def test_bounce_attracts_no_better_than_its_restitution() -> None:
    """mu_1 mu_2 = e^2: two real multipliers are moved until they are equal, or a complex pair."""
    found = cs.stabilise(bouncing(0.0037), {"amplitude": (0.0028, 0.0038)}, target=E + 0.01)
    assert found.radii[0] > 0.75
    assert found.radius == pytest.approx(E, abs=0.01)
    assert found.orbit.system.parameter("amplitude") == found.values["amplitude"]


@pytest.mark.slow
def test_walk_is_steadier_by_a_quarter_with_other_legs() -> None:
    """The mass of the hip and the place of the legs' mass; multipliers as SciPy alone finds them."""
    case = later(compass_gait(), 0.2)
    walk = cs.find_periodic_orbit(case.system, case.x, case.time)
    bounds = {"hip": (5.0, 20.0), "b": (0.25, 0.65)}
    found = cs.stabilise(
        walk, bounds, lambda hip, b: CompassGait(mH=hip, a=1.0 - b, b=b), start=[10.0, 0.5], survey=5, max_steps=6
    )
    assert found.radii[0] == pytest.approx(0.57982, abs=1e-5)
    assert found.radius <= 0.72 * found.radii[0]
    struck = cs.simulate(found.orbit.system, found.orbit.x0, (0.0, found.orbit.period)).events[0].x_post
    own = multipliers(struck[[0, 2, 3]], found.values["hip"], found.values["b"])
    assert np.abs(own).max() == pytest.approx(found.radius, rel=1e-6)


def test_mistakes_are_told() -> None:
    orbit = bouncing(0.003)
    with pytest.raises(cs.InputError, match="outside of the bounds"):
        cs.stabilise(orbit, {"amplitude": (0.004, 0.005)})
    with pytest.raises(cs.InputError, match=r"give \{name: \(least, greatest\)\}"):
        cs.stabilise(orbit, {"amplitude": (0.005, 0.004)})
