"""Contacts whose guard of forces fires where they lift off nowhere: they clearly pull, or velocities have jumped."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from builders import single_body
from planar_legs import planar_legs

import contactsim as cs
from contactsim.contact.modes import ContactState, Mode, Phase, SystemMode
from contactsim.contact_dynamics.rigid_arc import closed_forces
from contactsim.errors import NoAdmissibleModeError

Array = np.ndarray
HEIGHT = 0.3  # m
FIRED = frozenset({("force", 2)})
EXACT = 1e-9


def stool(friction: float, seed: int) -> cs.ContactSystem:
    """A body of 1 kg on three legs under a constant wrench that is not small."""
    wrench = np.random.default_rng(seed).uniform(-1.0, 1.0, 6) * np.repeat([10.0, 3.0], 3)
    places = [(0.2 * np.cos(a), 0.2 * np.sin(a), -HEIGHT) for a in 2.0 * np.pi * np.arange(3) / 3.0]
    legs = [cs.ContactPoint("body", place, friction=friction, name=f"leg{k}") for k, place in enumerate(places)]
    robot = cs.Robot(single_body(pin.JointModelFreeFlyer(), 1.0, (0.01, 0.01, 0.01), "body"), contacts=legs)
    return cs.ContactSystem(robot, controller=lambda t, q, v: wrench)


def standing(v: Array) -> Array:
    """The state (13,) in which all legs touch."""
    return np.concatenate([[0.0, 0.0, HEIGHT, 0.0, 0.0, 0.0, 1.0], v])


def held(angle: float) -> ContactState:
    return ContactState(Mode.SLIP, Phase.DIRECTED, (float(np.cos(angle)), float(np.sin(angle))))


def misses(system: cs.ContactSystem, x: Array, mode: SystemMode) -> float | None:
    """By how much what follows breaks Signorini's law; None where only an impact without collision leads on."""
    try:
        then = system.transition(0.0, x, mode, FIRED)
    except NoAdmissibleModeError:
        return None
    return then.residuals.get("mode signorini", 0.0)


def test_one_that_clearly_pulls_does_not_open_into_the_ground() -> None:
    """Its friction was turned round, as where others stop that turn its slip: its mode had ended before."""
    missed = []
    for seed in range(150):
        system, x = stool(1.5, seed), standing(np.zeros(6))
        first, second = np.random.default_rng(seed).uniform(0.0, 2.0 * np.pi, 2)
        mode = SystemMode((ContactState(Mode.STICK), held(first), held(second)))
        normal = [float(force[0]) for force in closed_forces(system.world, 0.0, x, mode).values()]
        if min(normal[:2]) > 0.0 > -1.0 > normal[2]:
            missed.append(misses(system, x, mode))
    found = [one for one in missed if one is not None]
    assert len(found) > 20 and max(found) <= EXACT


def test_one_that_clearly_pushes_behind_an_impact_does_not_open_into_the_ground() -> None:
    """Its force was zero before the impact; what it is behind it says nothing of what a lift-off left."""
    mode, missed = SystemMode((ContactState(Mode.SLIP, Phase.FREE),) * 3), []
    for seed in range(50):
        rng = np.random.default_rng(seed)
        x = standing(np.concatenate([rng.normal(size=2), [-0.1], rng.normal(size=3)]))
        missed.append(misses(stool(0.8, seed), x, mode))
    found = [one for one in missed if one is not None]
    assert len(found) > 40 and max(found) <= EXACT


@pytest.mark.slow
def test_a_stop_that_turns_the_friction_of_what_slips_beside_it_fulfils_all_laws() -> None:
    """What one foot's stop leaves moves another one that slips on by 500 times as much, and its force pulls then."""
    robot = planar_legs()
    system = cs.ContactSystem(robot, controller=cs.PD(robot, robot.nominal, kp=80.0, kd=4.0))
    v = 0.1 * np.random.default_rng(0).normal(size=robot.nv)
    run = cs.simulate(system, cs.State(robot.nominal, v), (0.0, 0.3))
    assert max(event.residuals.get("mode signorini", 0.0) for event in run.all_events) < EXACT
    run.check()
