"""Hops that are too low to be followed: contacts that slip rub all the same while others come to rest."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

import contactsim as cs

FEET = np.array([(0.15, 0.0, -0.05), (-0.1, 0.1, -0.05), (-0.1, -0.1, -0.05)])  # m, from the centre
FALL = 0.3  # rad/s, turn about the line of the first two feet with which the third one comes down
TIGHT = cs.Tolerances(rtol=1e-11, atol=1e-13)
FOLLOWED, STOPPED = 1e-15, 1e-8  # m, heights below which hops are not followed
END_OF_BOUNCES = 1e-11  # s, what the geometric series of what is left is known to
BEHIND_BOUNCES = 1e-8  # derivatives, whose runs are as exact as TIGHT
SHARES = (3e-4, 1e-3, 3e-3)  # restitution: the third foot leaves at up to 1.5e-4 m/s, 6e-10 m high, for 8e-5 s


def slid(restitution: float, hop: float) -> cs.Trajectory:
    """A plate that slides and turns on two of its feet while the third one lands and hops."""
    model = pin.Model()
    joint = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "root")
    model.appendBodyToJoint(joint, pin.Inertia.FromBox(2.0, 0.3, 0.2, 0.1), pin.SE3.Identity())
    model.addFrame(pin.Frame("body", joint, 0, pin.SE3.Identity(), pin.FrameType.OP_FRAME))
    rebounds = (0.0, 0.0, restitution)
    points = [
        cs.ContactPoint("body", offset=tuple(foot), friction=0.5, restitution=e, name=f"foot{k}")
        for k, (foot, e) in enumerate(zip(FEET, rebounds, strict=True))
    ]
    system = cs.ContactSystem(cs.Robot(model, contacts=points), tolerances=cs.Tolerances(hop=hop))
    line = (FEET[1] - FEET[0]) / np.linalg.norm(FEET[1] - FEET[0])
    turn = pin.exp3(0.005 * line)
    q = np.r_[0.0, 0.0, -(turn @ FEET[0])[2], pin.Quaternion(turn).coeffs()]
    spin = FALL * -line
    slide = np.array([1.0, 0.2, 0.0]) - np.cross(spin, turn @ FEET[0])
    start = cs.State(q, np.r_[turn.T @ slide, turn.T @ spin])
    return cs.simulate(system, start, (0.0, 0.04), tolerances=TIGHT)


def test_what_a_stopped_hop_misses_goes_with_the_square_of_its_duration() -> None:
    """Without the friction of the feet that slip meanwhile it would go with the duration."""
    missed = []
    for share in SHARES:
        followed, stopped = slid(share, FOLLOWED), slid(share, STOPPED)
        assert len(followed.events) > len(stopped.events)
        missed.append(np.abs(followed.final_x - stopped.final_x).max())
    assert np.diff(np.log(missed)) / np.diff(np.log(SHARES)) == pytest.approx([2.0, 2.0], abs=0.1)
    assert missed[-1] <= 1e-8


def test_its_derivative_misses_as_little() -> None:
    """Without how the impulse that stops it turns, with its friction, it would go with the duration."""
    missed = []
    for share in SHARES:
        one, other = (cs.linearize(slid(share, hop)).matrix() for hop in (FOLLOWED, STOPPED))
        missed.append(np.abs(one - other).max())
    assert np.diff(np.log(missed)) / np.diff(np.log(SHARES)) == pytest.approx([2.0, 2.0], abs=0.1)
    assert missed[-1] <= 5e-6


def test_a_tolerance_that_is_the_systems_is_not_taken_by_a_run_alone() -> None:
    """It had no effect, and nothing said so."""
    robot = cs.Robot.sphere(1.0, 0.1, restitution=0.5)
    state, finer = cs.State([0.0, 0.0, 0.2, 0.0, 0.0, 0.0, 1.0], np.zeros(6)), cs.Tolerances(rtol=1e-9, hop=1e-9)
    with pytest.raises(cs.InputError, match="own tolerance 'hop' = 1e-13, and not by the 1e-09 that the run is given"):
        cs.simulate(cs.ContactSystem(robot), state, (0.0, 0.1), tolerances=finer)
    cs.simulate(cs.ContactSystem(robot, tolerances=finer), state, (0.0, 0.1), tolerances=finer)
    cs.simulate(cs.ContactSystem(robot, tolerances=finer), state, (0.0, 0.1), tolerances=cs.Tolerances(rtol=1e-9))


def thrown_ball(hop: float, engine: str = "python") -> cs.Trajectory:
    """A ball with spin that falls, sticks at its first bounce, and rolls from there on."""
    ball = cs.Robot.sphere(2.0, 0.1, friction=0.4, restitution=0.5)
    system = cs.ContactSystem(ball, tolerances=cs.Tolerances(hop=hop))
    start = cs.State([0.0, 0.0, 0.15, 0.0, 0.0, 0.0, 1.0], [1.0, 0.4, -1.0, 3.0, 2.0, 5.0])
    return cs.simulate(system, start, (0.0, 0.5), tolerances=TIGHT, engine=engine)


@pytest.mark.parametrize("hop", [1e-13, 1e-9])
def test_bounces_of_a_body_that_turns_end_in_time(hop: float) -> None:
    """Its velocities are told along axes that turn with it, by as much as gravity changes them."""
    speed, g = np.sqrt(1.0 + 2.0 * 9.81 * 0.05), 9.81  # at the first impact, 0.05 m below the start
    end = (speed - 1.0) / g + speed / g * 2.0 * 0.5 / (1.0 - 0.5)
    assert thrown_ball(hop).events[-1].time == pytest.approx(end, abs=END_OF_BOUNCES)


def test_compiled_bounces_of_a_body_that_turns_end_in_time() -> None:
    pytest.importorskip("contactsim_native._native")
    ends = [thrown_ball(1e-9, engine).events[-1].time for engine in ("python", "native")]
    assert ends[0] == pytest.approx(ends[1], abs=END_OF_BOUNCES)


def skidding_ball(hop: float, engine: str) -> cs.Trajectory:
    """A ball that slides on when it has come to rest on the ground."""
    ball = cs.Robot.sphere(1.0, 0.05, friction=0.05, restitution=0.3)
    system = cs.ContactSystem(ball, tolerances=cs.Tolerances(hop=hop))
    start = cs.State([0.1, 0.1, 0.12, 0.0, 0.0, 0.0, 1.0], [1.5, 0.1, -0.3, 1.0, 2.0, 0.5])
    return cs.simulate(system, start, (0.0, 0.3), tolerances=TIGHT, engine=engine)


@pytest.mark.parametrize("engine", ["python", "native"])
def test_derivatives_behind_bounces_know_how_friction_turns_meanwhile(engine: str) -> None:
    """They were off by 4e-3 by the coefficient of friction, and by 1e-4 by the start."""
    if engine == "native":
        pytest.importorskip("contactsim_native._native")
    runs = [skidding_ball(hop, engine) for hop in (1e-13, 1e-9)]
    assert runs[0].mode_at(0.3) == runs[1].mode_at(0.3) == {"ball": cs.Mode.SLIP}
    assert len(runs[0].events) > len(runs[1].events)
    one, other = map(cs.linearize, runs)
    assert np.abs(one.matrix() - other.matrix()).max() <= BEHIND_BOUNCES
    assert np.abs(one.parameter("contact.friction") - other.parameter("contact.friction")).max() <= BEHIND_BOUNCES


def test_derivatives_behind_bounces_do_not_hang_on_which_are_followed() -> None:
    """They were off by the speed of the first hop that is not, 7e-3 of the largest entry for 1e-9 m."""
    one, other = (cs.linearize(thrown_ball(hop)) for hop in (FOLLOWED, 1e-9))
    size = np.abs(one.matrix()).max()
    assert np.abs(one.matrix() - other.matrix()).max() <= BEHIND_BOUNCES * size
    by_restitution = other.parameter("contact.restitution")  # it rolls from the first impact on, whatever follows
    assert np.abs(by_restitution).max() <= BEHIND_BOUNCES
