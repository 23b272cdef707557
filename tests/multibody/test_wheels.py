"""Cylinders of robot files touch the ground with their true surface: wheels roll, feet stand, and a run says so."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import contactsim as cs

R, WIDE, SPIN, WHEEL, BODY = 0.1, 0.05, 2.5e-3, 0.5, 5.0  # m, m, kg m^2 about the axle, kg, kg
PLACES = [(0.2, 0.15), (0.2, -0.15), (-0.2, 0.15), (-0.2, -0.15)]
HIGH, SPEED = 2e-3, 1.0  # m above the ground, and m/s
ROLLING = SPEED * (BODY + 4 * WHEEL) / (BODY + 4 * WHEEL + 4 * SPIN / R**2)  # once the wheels have been set to roll


def rover() -> str:
    inertia = '<inertia ixx="{0}" ixy="0" ixz="0" iyy="{1}" iyz="0" izz="{0}"/>'
    text = f'<link name="base"><inertial><mass value="{BODY}"/>{inertia.format(0.1, 0.1)}</inertial></link>'
    for k, (x, y) in enumerate(PLACES):
        text += f"""
          <link name="wheel{k}"><inertial><mass value="{WHEEL}"/>{inertia.format(0.002, SPIN)}</inertial>
            <collision><origin rpy="{np.pi / 2} 0 0"/><geometry><cylinder radius="{R}" length="{WIDE}"/></geometry>
            </collision></link>
          <joint name="axle{k}" type="continuous"><parent link="base"/><child link="wheel{k}"/><axis xyz="0 1 0"/>
            <origin xyz="{x} {y} 0"/></joint>"""
    return f'<robot name="rover">{text}</robot>'


def mjcf() -> str:
    wheels = "".join(
        f'<body name="wheel{k}" pos="{x} {y} 0"><joint name="axle{k}" axis="0 1 0"/>'
        f'<inertial pos="0 0 0" mass="{WHEEL}" diaginertia="0.002 {SPIN} 0.002"/>'
        f'<geom type="cylinder" size="{R} {0.5 * WIDE}" euler="90 0 0" friction="0.8"/></body>'
        for k, (x, y) in enumerate(PLACES)
    )
    base = f'<inertial pos="0 0 0" mass="{BODY}" diaginertia="0.1 0.1 0.1"/>'
    body = f'<body name="base"><freejoint/>{base}{wheels}</body>'
    return f'<mujoco><worldbody><geom type="plane" size="1 1 1"/>{body}</worldbody></mujoco>'


def robot(kind: str, folder: Path) -> cs.Robot:
    if kind == "urdf":
        return cs.Robot.from_urdf(rover())
    pytest.importorskip("mujoco")
    (folder / "rover.xml").write_text(mjcf())
    return cs.Robot.from_mjcf(folder / "rover.xml")


def thrown(system: cs.ContactSystem, high: float = HIGH) -> cs.State:
    q, v = system.robot.nominal.copy(), np.zeros(system.robot.nv)
    q[2], v[0] = R + high, SPEED
    return cs.State(q, v)


@pytest.mark.parametrize("kind", ["urdf", "mjcf"])
def test_a_rover_rolls(kind: str, tmp_path: Path) -> None:
    system = cs.ContactSystem(robot(kind, tmp_path))
    run = cs.simulate(system, thrown(system), (0.0, 0.3))
    run.check()
    landed = run.events[0].time
    assert landed == pytest.approx(np.sqrt(2.0 * HIGH / 9.81), abs=1e-10)
    end = run(0.3)
    assert end.q[2] == pytest.approx(R, abs=1e-11)
    assert end.v[0] == pytest.approx(ROLLING, abs=1e-9)
    assert end.v[6:] == pytest.approx(ROLLING / R, abs=1e-8)
    assert end.q[0] == pytest.approx(SPEED * landed + ROLLING * (0.3 - landed), abs=1e-9)


def test_a_rover_rolls_over_a_washboard() -> None:
    system = cs.ContactSystem(cs.Robot.from_urdf(rover()), terrain=cs.terrain.Sinusoid(0.01, 5.0, 0.0))
    run = cs.simulate(system, thrown(system, 0.02), (0.0, 0.2))
    run.check()
    deepest = max((found.depth for found in system.mechanism.overlaps(0.2, run(0.2).q)), default=0.0)
    assert deepest < 1e-9
    assert run(0.2).q[0] > 0.15


def test_a_wheel_that_points_alone_hold_is_listed() -> None:
    given = cs.Robot.from_urdf(rover())
    corners = [
        cs.ContactPoint(f"wheel{k}", (R * np.cos(angle), y, R * np.sin(angle)), name=f"wheel{k}/{number}")
        for k in range(4)
        for number, (angle, y) in enumerate((a, y) for a in np.arange(4) * np.pi / 2 for y in (-0.02, 0.02))
    ]
    by_hand = given.with_contacts(corners)
    assert any("contact point" in left.reason for left in by_hand.left_out)  # what only its points keep apart is listed
