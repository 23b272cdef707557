"""Every law of the shelf on every kind of body: two seconds, and the run's own check."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from builders import box, lifted, sphere

import contactsim as cs
from contactsim import registry, scene
from contactsim.contracts import CompliantLaw

TIME = 2.0  # s
BODIES = {"box": box, "sphere": sphere}
ROBOTS = ("hexapod", "biped", "solo12")
LAWS = registry.names("contact_laws")


def thrown(name: str) -> tuple[cs.Robot, cs.State]:
    """A body above the ground, tilted, turning and moving sideways."""
    robot = BODIES[name]()
    q, v = lifted(robot, 0.1), np.array([0.3, 0.0, -0.5, 0.5, -0.3, 0.2])
    q[3:7] = pin.Quaternion(pin.exp3(np.array([0.2, 0.1, 0.3]))).coeffs()
    return robot, cs.State(q, v)


def check(traj: cs.Trajectory) -> None:
    assert traj.status is cs.Status.FINISHED, traj.message
    assert traj.t[-1] == TIME
    assert traj.events
    traj.check()
    if isinstance(traj.system.law, CompliantLaw) and not traj.system.law.pulls:
        normals = [force[2] for t in np.linspace(0.0, TIME, 101) for force in traj.forces(t).values()]
        assert min(normals) >= 0.0


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("body", BODIES)
def test_bodies(body: str, law: str) -> None:
    robot, state = thrown(body)
    check(cs.simulate(cs.ContactSystem(robot, law=law), state, (0.0, TIME)))


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("name", ROBOTS)
def test_robots(name: str, law: str) -> None:
    """In their own demonstration; solo12, which has none, is dropped with its motors holding its pose."""
    given = {"robot": {"name": name}, "law": {"name": law}}
    if name == "solo12":
        given |= {"controller": {"kind": "pd", "kp": 30.0, "kd": 0.8}, "start": {"height": 0.05}}
    built = scene.build(scene.assemble(given))
    check(cs.simulate(built.system, built.state, (0.0, TIME), **built.options))
