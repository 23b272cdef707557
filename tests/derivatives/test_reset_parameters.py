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


# --- an impact with which a run starts ------------------------------------------------------------------------------


def block(friction: float, restitution: float = 0.0) -> cs.ContactSystem:
    gap = cs.Gap(
        gap=lambda t, q: q[1],
        normal=lambda t, q: np.array([0.0, 1.0]),
        tangent=lambda t, q: np.array([[1.0, 0.0]]),
        friction=friction,
        restitution=restitution,
        name="block",
    )
    weight = np.array([0.0, -9.81])
    return cs.ContactSystem(cs.Mechanism(2, lambda q: np.eye(2), lambda t, q, v: weight, [gap]))


def test_a_block_pressed_into_the_ground_slides_less_far_by_the_friction_of_its_first_impact() -> None:
    """It falls at 1 m/s on the ground it touches and slides on: v_x = 2 - mu (1 + g t)."""
    seconds = 0.1
    lin = cs.linearize(cs.simulate(block(0.3), cs.State([0, 0], [2, -1]), (0.0, seconds)))
    expected = [-seconds - 0.5 * 9.81 * seconds**2, 0.0, -1.0 - 9.81 * seconds, 0.0]
    np.testing.assert_allclose(lin.parameter("contact.friction"), expected, atol=1e-8)
    np.testing.assert_allclose(lin.parameters(["contact.friction"], [0.0])[0, :, 0], [0, 0, -1, 0], atol=1e-10)


def test_a_block_thrown_back_at_once_flies_as_fast_as_its_restitution_says() -> None:
    lin = cs.linearize(cs.simulate(block(0.0, 0.5), cs.State([0, 0], [2, -1]), (0.0, 0.05)))
    np.testing.assert_allclose(lin.parameter("contact.restitution"), [0, 0.05, 0, 1], atol=1e-9)


@pytest.mark.parametrize("name", ["contact.friction", "contact.restitution", "body.ball.inertia_scale"])
def test_a_run_that_starts_with_an_impact_follows_its_parameters(name: str, tmp_path) -> None:
    system = cs.ContactSystem(sphere(friction=0.12, restitution=0.6))
    start, span = cs.State([0, 0, system.robot.nominal[2], 0, 0, 0, 1.0], [2.0, 0.3, -1.0, 0, 0, 4.0]), (0.0, 0.4)
    run, space, value = cs.simulate(system, start, span), system.space(), system.parameter(name)

    def end(h: float) -> Array:
        other = cs.simulate(system.with_parameter(name, value + h), start, span)
        return space.difference(run.final_x, other.final_x)

    expected = np.asarray(derivative(end, STEP * value))
    assert run.events[0].time == 0.0 and np.abs(expected).max() > 0.1
    run.save(tmp_path / "run.nc")  # a file does not keep how its impact depends on them
    for known in (run, cs.Trajectory.load(tmp_path / "run.nc", system=system)):
        np.testing.assert_allclose(cs.linearize(known).parameter(name), expected, atol=1e-6 * np.abs(expected).max())


def test_an_impact_at_the_start_that_hardly_keeps_its_mode_has_no_derivative() -> None:
    run = cs.simulate(block(0.3), cs.State([0, 0], [2, -1]), (0.0, 0.1))
    with pytest.raises(cs.NonDifferentiableError, match="the impact with which the run starts"):
        cs.linearize(run).parameter("contact.restitution")
