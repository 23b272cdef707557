"""Resets by parameters, analytically, against differences of the resets themselves."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from builders import sphere
from differenced_runs import largest_error
from measured_runs import crate, leg

import contactsim as cs
from contactsim.hybrid.differences import derivative

STEP = 1e-3  # of a parameter, relative to its value
ERROR = 1e-8  # absolute, and relative to the largest entry
Array = np.ndarray


def differenced(event: cs.Event, name: str) -> Array:
    """D_p R (dim,) with the outcome held, by differences of fourth order."""
    value, space = event.system.parameter(name), event.system.space()

    def outcome(h: float) -> Array:
        system = event.system.with_parameter(name, value + h)
        then = system.transition(event.time, event.x_pre, event.mode_pre, event.fired)
        assert system.named_modes(then.mode) == system.named_modes(event.mode_post)
        return space.difference(event.x_post, then.x)

    return np.asarray(derivative(outcome, STEP * value))


def agree(system: cs.ContactSystem, start: cs.State, end: float, names: list[str]) -> list[float]:
    """Compare all events of a run; the largest derivative by each name."""
    found = dict.fromkeys(names, 0.0)
    for event in cs.simulate(system, start, (0.0, end)).all_events:
        if event.transition.by_parameters is None:
            continue
        known = event.transition.by_parameters(tuple(names))
        assert set(known) == set(names)
        for name in names:
            expected = differenced(event, name)
            size = float(np.abs(expected).max())
            assert np.abs(known[name] - expected).max() <= ERROR * max(1.0, size), (name, event)
            found[name] = max(found[name], size)
    return list(found.values())


def test_a_ball_slips_at_its_bounces() -> None:
    system = cs.ContactSystem(sphere(friction=0.12, restitution=0.6))
    start = cs.State([0, 0, 0.4, 0, 0, 0, 1.0], [2.0, 0.3, 0, 0, 0, 4.0])
    friction, restitution, inertia, mass = agree(
        system, start, 0.6, ["contact.friction", "contact.restitution", "body.ball.inertia_scale", "body.ball.mass"]
    )
    assert friction > 1.0 and restitution > 1.0 and inertia > 0.1
    assert mass < ERROR  # of a free body it has no part in that


def test_a_leg_strikes_the_ground() -> None:
    known = leg()
    names = [*known.names, "body.lf_femur.inertia_scale", "gravity", "controller.kp"]
    assert min(agree(known.system, known.start, 0.115, names)[:4]) > 0.05


@pytest.mark.parametrize("law", ["coulomb", "poisson", "energetic", "sequential"])
def test_a_box_tumbles_on_its_corners(law: str) -> None:
    known = crate()
    names = [*known.names[:2], "body.box.inertia_scale"]
    assert min(agree(known.system.with_law(law), known.start, 0.23, names)) > 0.1


@pytest.mark.parametrize(
    ("terrain", "name"),
    [(cs.terrain.Slope(angle=0.2), "terrain.angle"), (cs.terrain.Sinusoid(0.02, 3.0, 2.0), "terrain.a1")],
)
def test_the_ground_turns_under_a_box(terrain: cs.terrain.Terrain, name: str) -> None:
    known = crate()
    system = cs.ContactSystem(known.system.robot, terrain=terrain)
    assert min(agree(system, known.start, 0.2, [name, "contact.friction"])) > 0.1


def test_what_comes_to_rest_on_ground_that_turns() -> None:
    robot = cs.Robot.capsule(mass=0.5, radius=0.05, length=0.2, friction=0.6)
    system = cs.ContactSystem(robot, terrain=cs.terrain.Slope(angle=0.1))
    turn = pin.Quaternion(pin.exp3(np.array([0.0, 1.4, 0.0]))).coeffs()
    start = cs.State(np.r_[0.0, 0.0, 0.14, turn], [0.2, 0.1, 0.0, 0.5, 0.3, -0.4])
    kinds = [event.transitions for event in cs.simulate(system, start, (0.0, 0.2)).events]
    assert (cs.Mode.SLIP, cs.Mode.STICK) in kinds[-1].values()
    names = ["terrain.angle", "contact.friction", "body.capsule.mass"]
    assert largest_error(system, start, 0.2, 0, names, step=1e-3) < ERROR


def test_what_is_not_known_is_left_out() -> None:
    known = crate()
    system = known.system.with_parameter("contact.restitution", 0.0)  # the end of its range
    run = cs.simulate(system, known.start, (0.0, 0.19))
    event = next(event for event in run.all_events if event.impulses)
    assert set(event.transition.by_parameters(("contact.restitution", "contact.friction"))) == {"contact.friction"}
