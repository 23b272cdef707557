"""Every law of the shelf on every kind of body: two seconds, and the run's own check.

In the normal run a selection of quick ones; all of them, some minutes on one core, with CONTACTSIM_SLOW=1.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pinocchio as pin
import pytest
from builders import box, lifted, sphere

import contactsim as cs
from contactsim.common import registry
from contactsim.contact.laws import CompliantLaw
from contactsim.io import scene

TIME = 2.0  # s
BODIES = {"box": box, "sphere": sphere}
ROBOTS = ("hexapod", "biped", "solo12")
LAWS = registry.names("contact_laws")
QUICK = {
    "sphere": set(LAWS) - {"hunt-crossley"},
    "solo12": {"coulomb", "dissipative", "energetic", "frictionless", "poisson", "spring-damper", "stribeck"},
}


def pairs(bodies: Iterable[str]) -> list[Any]:
    """All pairs of a body and a law, of which those that are not quick are marked as slow."""
    return [
        pytest.param(body, law, marks=() if law in QUICK.get(body, ()) else pytest.mark.slow, id=f"{body}-{law}")
        for body in bodies
        for law in LAWS
    ]


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


@pytest.mark.parametrize(("body", "law"), pairs(BODIES))
def test_bodies(body: str, law: str) -> None:
    robot, state = thrown(body)
    check(cs.simulate(cs.ContactSystem(robot, law=law), state, (0.0, TIME)))


@pytest.mark.parametrize(("name", "law"), pairs(ROBOTS))
def test_robots(name: str, law: str) -> None:
    """In their own demonstration; solo12, which has none, is dropped with its motors holding its pose.

    The walk of the biped needs friction: under a rigid law without it the stance foot slides away, and the margin that
    keeps the swinging foot from scuffing lets it land below the ground. There it stands, with feet that always touch.
    """
    if (name, law) == ("biped", "frictionless"):
        robot = cs.load_robot(name)
        check(
            cs.simulate(
                cs.ContactSystem(robot, law=law), cs.State(lifted(robot, 0.05), np.zeros(robot.nv)), (0.0, TIME)
            )
        )
        return
    given = {"robot": {"name": name}, "law": {"name": law}}
    if name == "solo12":
        given |= {"controller": {"kind": "pd", "kp": 30.0, "kd": 0.8}, "start": {"height": 0.05}}
    built = scene.build(scene.assemble(given))
    check(cs.simulate(built.system, built.state, (0.0, TIME), **built.options))
