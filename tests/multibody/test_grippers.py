"""A hand out of a URDF that grips and lifts: boxes and rods as fingers, a box, a cylinder and a hull in between."""

from __future__ import annotations

import numpy as np
import pytest
from test_bodies import pose

import contactsim as cs

Array = np.ndarray
LIFT, RISES = 0.05, 0.5  # m, s
MASS = 0.2  # kg

LINK = """
  <link name="{name}">
    <inertial><mass value="{mass}"/><inertia ixx="1e-3" iyy="1e-3" izz="1e-3" ixy="0" ixz="0" iyz="0"/></inertial>
    {shapes}
  </link>
  <joint name="{name}_slide" type="prismatic">
    <parent link="{parent}"/><child link="{name}"/><origin xyz="{origin}"/><axis xyz="{axis}"/>
    <limit lower="-1" upper="1" effort="50" velocity="1"/>
  </joint>"""
BOX = '<collision><origin xyz="0 0 -0.05"/><geometry><box size="0.02 0.05 0.06"/></geometry></collision>'
ROD = """<collision><origin xyz="0 0 -0.05" rpy="1.5707963267948966 0 0"/>
      <geometry><cylinder radius="0.01" length="0.04"/></geometry></collision>"""


def hand(fingers: str) -> cs.Robot:
    """A palm that slides upwards with two fingers that slide along x."""
    palm = LINK.format(name="palm", mass=0.5, shapes="", parent="stand", origin="0 0 0.25", axis="0 0 1")
    left, right = (
        LINK.format(name=name, mass=0.1, shapes=fingers, parent="palm", origin=f"{x} 0 -0.15", axis="1 0 0")
        for name, x in (("left", -0.1), ("right", 0.1))
    )
    text = f'<robot name="hand"><link name="stand"/>{palm}{left}{right}</robot>'
    return cs.Robot.from_urdf(text, root="fixed", contacts=[])


def bodies() -> dict[str, tuple[cs.Robot, float, float]]:
    """{name: body, half of its width between the fingers, height of its origin over the table}."""
    rng = np.random.default_rng(3)
    points = [(x, y, z) for x in (-0.02, 0.02) for y in (-0.03, 0.03) for z in (-0.03, 0.03)]
    points += [(0.0, 0.0, 0.05), (0.0, 0.045, float(rng.uniform(-0.01, 0.01)))]
    return {
        "box": (cs.Robot.box(MASS, (0.04, 0.06, 0.06), friction=0.8), 0.02, 0.03),
        "cylinder": (cs.Robot.cylinder(MASS, 0.025, 0.06, friction=0.8), 0.025 * np.cos(np.pi / 12), 0.03),
        "hull": (cs.Robot.hull(MASS, points, friction=0.8), 0.02, 0.03),
    }


@pytest.mark.filterwarnings("ignore:part .* meets other parts with")
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "fingers"),
    [("box", BOX), ("cylinder", BOX), ("hull", BOX), ("box", ROD)],
    ids=["box", "cylinder", "hull", "box by rods"],
)
def test_a_hand_grips_and_lifts(name: str, fingers: str) -> None:
    """The fingers close with 10 N, then the palm rises by 5 cm: the body comes along, and does not slip."""
    body, half, height = bodies()[name]
    table = cs.Robot.box(1.0, (0.4, 0.4, 0.1), root="fixed", friction=0.8)
    world = cs.Robot.merge(
        [hand(fingers), table, body], names=["hand", "table", "body"], placements=[None, (0.0, 0.0, -0.05), None]
    )

    def control(t: float, q: Array, v: Array) -> Array:
        share = min(max((t - 0.2) / RISES, 0.0), 1.0)
        goal = LIFT * share * share * (3.0 - 2.0 * share)
        weight = 9.81 * (0.5 + 0.2 + MASS)
        tau = np.zeros(world.nv)
        tau[0] = weight + 2000.0 * (goal - q[0]) - 60.0 * v[0]
        tau[1:3] = 10.0 - 20.0 * v[1], -10.0 - 20.0 * v[2]
        return tau

    end, closed = 2.0, 0.1 - half - 0.01 - 1e-3  # a millimetre before the fingers touch
    start = world.pack(
        {"hand": (np.array([0.0, closed, -closed]), np.zeros(3)), "body": (pose(0, 0, height), np.zeros(6))}
    )
    run = cs.simulate(cs.ContactSystem(world, controller=control), cs.State(*start), (0.0, end))
    assert run.status.complete, run.message
    run.check()
    before, after = (world.unpack(run(t))["body"][0] for t in (0.15, end))
    risen = world.unpack(run.final)["hand"][0][0]
    assert risen > 0.9 * LIFT
    assert abs(after[2] - before[2] - risen) < 1e-3
    names = {part for held, mode in run.mode_at(end).items() if mode is not cs.Mode.OPEN for part in held.split("+")}
    assert not any(part.startswith("table") for part in names)
