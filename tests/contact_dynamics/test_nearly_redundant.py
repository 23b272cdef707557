"""Feet whose forces are nearly redundant: the equations for these magnify their rounding."""

from __future__ import annotations

import numpy as np
import pytest
from planar_legs import planar_legs, rolled

import contactsim as cs
from contactsim.contact.modes import ContactState, Mode, SystemMode
from contactsim.contact_dynamics.rigid_arc import prepare
from contactsim.contact_dynamics.rigid_flow import RigidFlow
from contactsim.contact_dynamics.zero import OF_FORCE

FEET = 4
AHEAD = np.arange(1, 41) * 1e-13  # s, within which the margin changes by less than its rounding


def standing(roll: float) -> tuple[RigidFlow, np.ndarray]:
    """The flow of the robot on all feet, with a trunk that is so far from level [rad], and its state."""
    robot, q = planar_legs(), rolled(roll)
    system = cs.ContactSystem(robot, controller=cs.PD(robot, q, kp=80.0, kd=4.0))
    contacts = len(system.world.mechanism.all_names)
    mode = SystemMode((ContactState(Mode.STICK),) * FEET + (ContactState(),) * (contacts - FEET), redundant=True)
    x = np.concatenate([q, np.zeros(robot.nv)])
    return RigidFlow(prepare(system.world, mode)).rebased(0.0, x), x


@pytest.mark.parametrize("roll", [2.5e-4, 3e-4, 1e-3, 3e-3])
def test_the_guard_of_their_margin_knows_how_well_it_is_known(roll: float) -> None:
    """To the rounding of a number over the share of their least singular value: 1e-10 to 3e-8 here."""
    flow, x = standing(roll)
    space, rate = flow.arc.world.space, np.array(flow.field(0.0, x))
    begin = flow.guards(0.0, x)[-1]
    values = [flow.guards(float(t), space.integrate(x, t * rate))[-1] for t in AHEAD]
    assert flow.guard_names[-1] == ("forces", -1) and flow.guard_rounding is not None
    assert np.abs(np.array(values) - begin).max() < flow.guard_rounding[-1]


def test_what_is_redundant_or_clearly_not_is_known_as_usual() -> None:
    for roll in (0.0, 0.05):
        flow, x = standing(roll)
        largest = np.abs(flow.motion(0.0, x).forces).max()
        usual = OF_FORCE * flow.arc.world.tolerances.force * largest
        assert flow.guard_rounding is not None
        assert flow.guard_rounding[-1] == pytest.approx(usual)
