"""A hand with its own meshes that grips and lifts, and a hexapod that lands on boxes."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from test_bodies import pose
from test_grippers import LIFT, MASS, RISES, bodies

import contactsim as cs

Array = np.ndarray
PALM, GRIP = 0.147, 12.0  # m, of the hand's origin over the table; N
TURN = pin.exp3(np.array([0.0, 0.0, np.pi / 2])) @ pin.exp3(np.array([np.pi, 0.0, 0.0]))
DOWN = pin.SE3(TURN, np.array([0.0, 0.0, PALM]))


def panda_hand() -> cs.Robot:
    """Hand and fingers of the Panda arm, with their own meshes, on a slide along the hand's axis; up is positive."""
    spec = find_spec("pybullet_data")
    if spec is None or spec.origin is None:
        pytest.skip("pybullet_data is not installed")
    folder = Path(spec.origin).parent / "franka_panda"
    text = (folder / "panda.urdf").read_text()
    kinds = (("link", "hand"), ("link", "leftfinger"), ("link", "rightfinger"))
    links = [re.search(rf'<link name="panda_{name}">.*?</link>', text, re.S) for _, name in kinds]
    joints = [re.search(rf'<joint name="panda_finger_joint{k}" type.*?</joint>', text, re.S) for k in (1, 2)]
    slide = (
        '<joint name="lift" type="prismatic"><parent link="stand"/><child link="panda_hand"/><axis xyz="0 0 -1"/>'
        '<limit lower="-1" upper="1" effort="100" velocity="1"/></joint>'
    )
    parts = "\n".join(found.group() for found in (*links, *joints) if found is not None)
    parts = re.sub(r"<mimic[^>]*>", "", parts)
    robot = f'<robot name="panda_hand"><link name="stand"/>{slide}{parts}</robot>'
    return cs.Robot.from_urdf(robot, root="fixed", contacts=[], package_dirs=[folder])


@pytest.mark.filterwarnings("ignore:part .* meets other parts with")
@pytest.mark.slow
@pytest.mark.parametrize("name", ["box", "cylinder", "hull"])
def test_a_panda_hand_grips_and_lifts(name: str) -> None:
    """Its fingers close, then the hand rises by 5 cm: the body comes along, and does not slip."""
    body, half, height = bodies()[name]
    robot = panda_hand()
    table = cs.Robot.box(1.0, (0.4, 0.4, 0.1), root="fixed", friction=0.8)
    world = cs.Robot.merge(
        [robot, table, body], names=["hand", "table", "body"], placements=[DOWN, (0.0, 0.0, -0.05), None]
    )
    weight = 9.81 * (sum(inertia.mass for inertia in robot.model.inertias) + MASS)

    def control(t: float, q: Array, v: Array) -> Array:
        share = min(max((t - 0.2) / RISES, 0.0), 1.0)
        goal = LIFT * share * share * (3.0 - 2.0 * share)
        tau = np.zeros(world.nv)
        tau[0] = weight + 2000.0 * (goal - q[0]) - 60.0 * v[0]
        tau[1:3] = -GRIP - 20.0 * v[1:3]
        return tau

    opened = half + 1.2e-3  # the fingers' tips are nearly a millimetre away
    start = world.pack(
        {"hand": (np.array([0.0, opened, opened]), np.zeros(3)), "body": (pose(0, 0, height), np.zeros(6))}
    )
    run = cs.simulate(cs.ContactSystem(world, controller=control), cs.State(*start), (0.0, 2.0))
    assert run.status.complete, run.message
    run.check()
    before, after = (world.unpack(run(t))["body"][0] for t in (0.15, 2.0))
    risen = world.unpack(run.final)["hand"][0][0]
    assert risen > 0.9 * LIFT
    assert abs(after[2] - before[2] - risen) < 1e-3
    held = {part for held, mode in run.mode_at(2.0).items() if mode is not cs.Mode.OPEN for part in held.split("+")}
    assert not any(part.startswith("table") for part in held)


@pytest.mark.slow
def test_a_hexapod_lands_on_boxes() -> None:
    """Its feet come down on a floor, on a fixed step and on two loose boxes, and it stands on them."""
    robot = cs.load_robot("hexapod")
    feet = dict(zip([point.name for point in robot.contacts], robot.contact_positions(robot.nominal), strict=True))
    floor = cs.Robot.box(1.0, (2.0, 2.0, 0.1), root="fixed", friction=0.7)
    step = cs.Robot.box(1.0, (0.2, 0.2, 0.02), root="fixed", friction=0.7)
    loose = [cs.Robot.box(0.5, (0.12, 0.1, h), friction=0.7) for h in (0.015, 0.025)]
    places = [feet["lf"][:2], feet["rm"][:2], feet["lr"][:2]]
    world = cs.Robot.merge(
        [robot, floor, step, *loose],
        names=["hexapod", "floor", "step", "one", "two"],
        placements=[None, (0.0, 0.0, -0.05), (*places[0], 0.01), None, None],
    )
    hold = world.parts["hexapod"].drive(cs.PD(robot, robot.nominal, kp=150.0, kd=6.0))
    q = robot.nominal.copy()
    q[2] += 0.05
    rests = {
        name: (pose(*place, 0.5 * h, np.array([0.0, 0.0, turn])), np.zeros(6))
        for name, place, h, turn in (("one", places[1], 0.015, 0.3), ("two", places[2], 0.025, -0.5))
    }
    start = world.pack({"hexapod": (q, np.zeros(robot.nv)), **rests})
    run = cs.simulate(cs.ContactSystem(world, cs.terrain.NoGround(), controller=hold), cs.State(*start), (0.0, 2.0))
    assert run.status.complete, run.message
    run.check()
    closed = {name for name, mode in run.mode_at(2.0).items() if mode is not cs.Mode.OPEN}
    for part in ("step", "one", "two"):
        assert any(name.startswith("hexapod/") and f"+{part}/" in name for name in closed), part
    assert np.abs(run.final.v).max() < 1e-2
