"""Parameters for which an orbit attracts best."""

from __future__ import annotations

import pytest
from reference_systems import compass_gait, compass_model, compass_robot, compass_to_robot, later
from test_continuation import swapped
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
    """The mass of the hip and the place of the legs' mass."""
    own = compass_robot()

    def walker(hip: float, b: float) -> cs.ContactSystem:
        robot = cs.Robot(compass_model(mH=hip, a=1.0 - b, b=b), contacts=own.robot.contacts)
        return cs.ContactSystem(robot, terrain=own.terrain)

    case = later(compass_gait(), 0.2)
    walk = cs.find_periodic_orbit(own, compass_to_robot(case.x), case.time, symmetry=swapped)
    bounds = {"hip": (5.0, 20.0), "b": (0.35, 0.65)}
    found = cs.stabilise(walk, bounds, walker, start=[10.0, 0.5], target=0.75 * 0.5798)
    assert found.radius <= 0.75 * found.radii[0]
    assert found.orbit.stable


def test_mistakes_are_told() -> None:
    orbit = bouncing(0.003)
    with pytest.raises(cs.InputError, match="outside of the bounds"):
        cs.stabilise(orbit, {"amplitude": (0.004, 0.005)})
    with pytest.raises(cs.InputError, match=r"give \{name: \(least, greatest\)\}"):
        cs.stabilise(orbit, {"amplitude": (0.005, 0.004)})
