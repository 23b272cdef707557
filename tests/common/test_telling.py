"""Warnings point at the line of the user who led there."""

from __future__ import annotations

import warnings
from inspect import currentframe

import contactsim as cs
from contactsim.common.telling import tell

GRIPPER = """<robot name="arm"><link name="world"/><link name="arm"><inertial><mass value="1"/>
  <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="hinge" type="revolute"><parent link="world"/><child link="arm"/><axis xyz="0 1 0"/>
  <limit lower="-90" upper="90" effort="1" velocity="1"/><dynamics friction="1"/></joint></robot>"""


def test_warnings_point_at_the_line_that_led_there() -> None:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        frame = currentframe()
        assert frame is not None
        line = frame.f_lineno + 1
        cs.Robot.from_urdf(GRIPPER, root="fixed", contacts=[])
    assert [str(one.message).split(" in ")[0] for one in told] == [
        "the limits of joint 'hinge'",
        "joint 'hinge' (1) has dry friction, which is not simulated; set it to zero",
    ]
    assert {(one.filename, one.lineno) for one in told} == {(__file__, line)}


def test_packages_by_others_whose_names_begin_alike_are_the_users() -> None:
    law = compile("def lead(tell): tell('told')", "contactsim_mylaw.py", "exec")
    names: dict[str, object] = {"__name__": "contactsim_mylaw"}
    exec(law, names)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        names["lead"](tell)  # type: ignore[operator]
    assert (told[0].filename, told[0].lineno) == ("contactsim_mylaw.py", 1)
