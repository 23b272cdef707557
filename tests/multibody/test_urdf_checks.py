"""What a URDF says that cannot be meant is refused with its place; what looks like a mistake is told."""

from __future__ import annotations

import difflib
import warnings

import pytest

import contactsim as cs
from contactsim.multibody.robot_files.urdf_checks import ALIKE, ELEMENTS, OF_OTHERS

URDF = """<robot name="brick"><link name="brick">
  <inertial><mass value="1.5"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>
  <collision><geometry><box size="0.2 0.2 0.2"/></geometry></collision></link>
  <link name="arm"><inertial><origin xyz="0 0 0.1" rpy="0 0 0"/><mass value="0.5"/>
  <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
  <collision><geometry><cylinder radius="0.02" length="0.3"/></geometry></collision></link>
  <joint name="hinge" type="revolute"><origin xyz="0 0 0.1"/><parent link="brick"/><child link="arm"/>
  <axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="10" velocity="5"/><dynamics damping="0.1" friction="0"/>
  </joint></robot>
"""
ARM = "link 'arm' in the text of the URDF"
HINGE = "joint 'hinge' in the text of the URDF"
INERTIA = 'ixx="0.01" iyy="0.01" izz="0.01"'


def changed(before: str, after: str) -> str:
    assert before in URDF
    return URDF.replace(before, after)


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (
            'length="0.3"',
            'length="-0.3"',
            f"the <cylinder> of a <collision> of {ARM} has length='-0.3'; give a number that",
        ),
        ('size="0.2 0.2 0.2"', 'size="0.2 -1 0.2"', "has size='0.2 -1 0.2'; give 3 numbers that are zero or positive"),
        (
            "<cylinder",
            '<sphere radius="1"/><cylinder',
            f"a <collision> of {ARM} has two shapes; give it one <geometry>",
        ),
        ('<cylinder radius="0.02" length="0.3"/>', "", f"a <collision> of {ARM} has no shape"),
        ('<cylinder radius="0.02" length="0.3"/>', "<mesh/>", f"the <mesh> of a <collision> of {ARM} has no filename"),
        ('<cylinder radius="0.02" length="0.3"/>', '<mesh scale="1"/>', "has scale='1'; give 3 finite numbers"),
        ('value="0.5"', 'value="1e300"', f"the <mass> of {ARM} has value='1e300'; give a number of a size below 1e"),
        ('value="0.5"', 'value="-0.5"', f"the <mass> of {ARM} has value='-0.5'; give a number that is zero or"),
        ('value="0.5"', 'val="0.5"', f"the <mass> of {ARM} has val=, which URDF does not know; write value=, or leave"),
        ('<mass value="0.5"/>', "", f"the <inertial> of {ARM} has no <mass>; give it one"),
        (INERTIA, 'ixx="0.01" iyy="0.01"', f"the <inertia> of {ARM} has no izz; give a finite number"),
        ('xyz="0 0 0.1" rpy', 'xyz="0 0,1" rpy', f"the <origin> of {ARM} has xyz='0 0,1'; give 3 finite numbers"),
        (
            "<limit",
            '<mass value="1"/><limits a="1"/><limit',
            f"{HINGE} has the element <limits>; write <limit>, or leave",
        ),
        (
            "<limit",
            '<limit lower="0" effort="1" velocity="1"/><limit',
            f"{HINGE} has two <limit>; leave one of them out",
        ),
        ('lower="-1"', 'lower="2"', f"the <limit> of {HINGE} has lower='2' above upper='1'; swap them"),
        (
            "</robot>",
            '<link name="lost"/></robot>',
            "links 'brick', 'lost' in the text of the URDF hang on no joint, .* one first link; join them by a <joint>",
        ),
        ('lower="-1"', 'lower="-1,5"', f"the <limit> of {HINGE} has lower='-1,5'; give a finite number"),
        (
            'effort="10"',
            'effort="-1"',
            f"the <limit> of {HINGE} has effort='-1'; give a number that is zero or positive",
        ),
        ('velocity="5"', "", f"the <limit> of {HINGE} has no velocity; give a number that is zero or positive"),
        (
            'damping="0.1"',
            'damping="-0.1"',
            f"the <dynamics> of {HINGE} has damping='-0.1'; give a number that is zero",
        ),
        (
            'friction="0"',
            'friction="-1"',
            f"the <dynamics> of {HINGE} has friction='-1'; give a number that is zero or",
        ),
        (
            '<axis xyz="0 1 0"/>',
            '<axis xyz="0 0 0"/>',
            f"the <axis> of {HINGE} has xyz='0 0 0'; give a direction, such",
        ),
        ('<axis xyz="0 1 0"/>', '<axis rpy="0 1 0"/>', f"the <axis> of {HINGE} has no xyz; give 3 finite numbers"),
        ('type="revolute"', 'type="spherical"', f"{HINGE} has the type 'spherical'; give revolute, continuous, "),
        (
            '<parent link="brick"/>',
            '<parent link="bricks"/>',
            f"{HINGE} has the parent link 'bricks', .* ones are brick",
        ),
        ('<robot name="brick">', "<robot>", "the text of the URDF has no name; write <robot name="),
        ('<link name="arm">', "<link>", "the text of the URDF has a link without a name; give it one"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_its_place(before: str, after: str, words: str) -> None:
    with pytest.raises(cs.InputError, match=words) as refused:
        cs.Robot.from_urdf(changed(before, after), root="free_flyer")
    assert "\n" not in str(refused.value)


def test_a_hinge_without_limits_and_a_robot_without_masses_are_refused() -> None:
    limit = '<limit lower="-1" upper="1" effort="10" velocity="5"/>'
    with pytest.raises(
        cs.InputError, match=f"{HINGE} is revolute and has no <limit>; give it one, or make a hinge con"
    ):
        cs.Robot.from_urdf(changed(limit, ""), root="free_flyer")
    bare = '<robot name="r"><link name="a"/><link name="b"/><joint name="j" type="continuous"><parent link="a"/>'
    with pytest.raises(cs.InputError, match="no link of the text of the URDF has a mass; give an <inertial> to each"):
        cs.Robot.from_urdf(f'{bare}<child link="b"/></joint></robot>', root="fixed")


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (
            'lower="-1" upper="1"',
            'lower="-90" upper="90"',
            f"the limits of {HINGE} are more than two turns; if they are meant in degrees, give them in radians",
        ),
        (
            '<cylinder radius="0.02" length="0.3"/>',
            '<capsule radius="0.02" length="0.3"/>',
            "the <capsule> of a <collision> of link 'arm' in the text of the URDF is left out: URDF has the shapes",
        ),
        ('size="0.2 0.2 0.2"', 'size="0.2 0.2 0"', "the <box> of a <collision> of link 'brick' .* has a size of zero;"),
    ],
)
def test_what_looks_like_a_mistake_is_told(before: str, after: str, words: str) -> None:
    with pytest.warns(UserWarning, match=words):
        cs.Robot.from_urdf(changed(before, after), root="free_flyer")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('lower="-1" upper="1"', 'lower="-9.42" upper="1e16"'),  # three halves of a turn; none at all
        ('<cylinder radius="0.02" length="0.3"/>', '<sphere radius="0"/>'),  # a point, as some robots' feet
        ('<axis xyz="0 1 0"/>', '<axis xyz="0 1 0"/><axis xyz="0 1 0"/>'),  # twice the same
    ],
)
def test_what_real_files_say_is_taken_without_a_word(before: str, after: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cs.Robot.from_urdf(changed(before, after), root="free_flyer")


COEFFICIENTS = '<contact><lateral_friction value="0.3"/><stiffness value="9"/></contact><inertial><origin xyz="0 0 0.1"'
GAZEBO = '<gazebo reference="arm"><mu1>0.7</mu1></gazebo></robot>'


def test_coefficients_of_contact_of_other_programs_are_told() -> None:
    for text, words in (
        (changed('<inertial><origin xyz="0 0 0.1"', COEFFICIENTS), "the lateral_friction of link 'arm' in the text of"),
        (
            changed("</robot>", GAZEBO),
            "the mu1 of link 'arm' in the text of the URDF is not read.* give contact.friction",
        ),
    ):
        with pytest.warns(UserWarning, match=words):
            cs.Robot.from_urdf(text, root="free_flyer")
        with warnings.catch_warnings():  # contacts by hand have their own
            warnings.simplefilter("error")
            cs.Robot.from_urdf(text, root="free_flyer", contacts=[cs.ContactPoint("arm")])


@pytest.mark.parametrize("known", ELEMENTS.values())
def test_what_others_put_into_a_urdf_is_no_known_element_misspelt(known: tuple[str, ...]) -> None:
    assert not [name for name in OF_OTHERS if difflib.get_close_matches(name, known, n=1, cutoff=ALIKE)]
