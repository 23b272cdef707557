"""Variations of a start that miss what its mode holds: what is pushed stands again, what leaves the ground is told."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import contactsim as cs
from contactsim import terrain

Array = np.ndarray
SECONDS = 0.3
# Pushes [m/s]: until it stands again takes as long as they are hard, and differences miss as much; beside smaller ones
# the rounding of many contacts counts.
NEAR, OF_FEET = 1e-6, 1e-5
AGREES = 1e-5  # relative to one


def ball() -> cs.Robot:
    return cs.Robot.sphere(1.0, 0.1)


def derivative(system: cs.ContactSystem, start: cs.State, seconds: float = SECONDS) -> cs.analysis.Linearization:
    return cs.linearize(cs.simulate(system, start, (0.0, seconds)))


def one_sided(system: cs.ContactSystem, start: cs.State, dx: Array, h: float, seconds: float = SECONDS) -> Array:
    """(x(T; x0 + h dx) - x(T; x0)) / h, without a word of a mode."""
    space, run = system.space(), cs.simulate(system, start, (0.0, seconds))
    moved = system.state(space.integrate(system.pack(start), h * dx))
    return space.difference(run.final_x, cs.simulate(system, moved, (0.0, seconds)).final_x) / h


def test_nothing_is_taken_from_variations_in_flight() -> None:
    """Exactly: differences of a projection that moves nothing would leave their rounding."""
    system = cs.ContactSystem(ball())
    lin = derivative(system, cs.State([0, 0, 0.5, 0, 0, 0, 1], [0.3, 0, 0, 0.2, 0.1, 0]), 0.1)
    np.testing.assert_array_equal(lin.regained(), np.eye(12))
    assert np.linalg.norm(lin.parameter("gravity")[:3]) == pytest.approx(0.5 * 0.1**2)  # parameters pull at nothing


def test_a_resting_ball_that_is_pushed_rolls_at_five_sevenths() -> None:
    system = cs.ContactSystem(ball())
    matrix = derivative(system, cs.State(system.robot.nominal, np.zeros(6))).matrix()
    expected = np.zeros(12)
    expected[0], expected[6] = 5 / 7 * SECONDS, 5 / 7
    expected[10] = 5 / 7 / 0.1  # rad/s, about y
    expected[4] = SECONDS * expected[10]
    assert np.abs(matrix[:, 6] - expected).max() < 1e-9


def test_a_sliding_block_pressed_down_loses_what_friction_takes_of_it() -> None:
    """Its friction is no row that the mode holds: the projection onto the ground alone would leave v_x as it is."""
    friction = 0.3
    gap = cs.Gap(
        gap=lambda t, q: q[1],
        normal=lambda t, q: np.array([0.0, 1.0]),
        tangent=lambda t, q: np.array([[1.0, 0.0]]),
        friction=friction,
        name="block",
    )
    weight = np.array([0.0, -9.81])
    system = cs.ContactSystem(cs.Mechanism(2, lambda q: np.eye(2), lambda t, q, v: weight, [gap]))
    for way in (1.0, -1.0):
        start = cs.State([0.0, 0.0], [way * 2.0, 0.0])
        matrix = derivative(system, start, 0.1).matrix()
        assert matrix[2, 3] == pytest.approx(way * friction, abs=1e-9)
        for h in (1e-4, -1e-4):
            assert np.abs(one_sided(system, start, np.eye(4)[3], h, 0.1) - matrix[:, 3]).max() < 1e-4


@pytest.mark.parametrize("h", [OF_FEET, -OF_FEET])
def test_feet_that_stand_and_are_pushed_any_way_agree_with_differences(h: float) -> None:
    """Sideways, up or down: of 24 velocities each was wrong by 0.6 to 1."""
    robot = cs.load_robot("hexapod")
    system = cs.ContactSystem(robot, controller=cs.PD(robot, robot.nominal, kp=150.0, kd=6.0))
    landed = cs.simulate(system, cs.State(robot.nominal, np.zeros(robot.nv)), (0.0, 1.0))
    assert all(mode is cs.Mode.STICK for mode in landed.mode_at(1.0).values())
    lin = derivative(system, landed.final, 0.05)
    rng = np.random.default_rng(0)
    for dx in rng.normal(size=(2, robot.nv)):
        along = np.r_[np.zeros(robot.nv), dx / np.linalg.norm(dx)]
        found = lin(along)
        assert np.abs(one_sided(system, landed.final, along, h, 0.05) - found).max() < AGREES
        assert np.abs(found - lin.along(lin.stretches()[0]) @ along).max() > 0.1


def test_directions_of_the_mode_stay_as_they_are_and_the_others_follow_the_nearest_state() -> None:
    system = cs.ContactSystem(cs.Robot.box(1.0, (0.2, 0.2, 0.1)))
    start = cs.State(system.robot.nominal, np.zeros(6))
    lin, space = derivative(system, start), system.space()
    basis = lin.tangent()
    assert basis.shape == (12, 3)  # along the ground, and turned about its normal
    assert np.abs(lin.regained() @ basis - basis).max() < 1e-12
    assert np.abs(lin.regained() @ lin.regained() - lin.regained()).max() < 1e-12
    assert np.abs(lin.matrix(0.1, 0.3) @ lin.matrix(0.0, 0.1) - lin.matrix()).max() < 1e-9
    mode = cs.simulate(system, start, (0.0, SECONDS)).mode_at(0.0)
    for dx in np.eye(12):
        x = space.integrate(system.pack(start), 1e-5 * dx)
        moved = cs.simulate(system, system.project(system.state(x), mode), (0.0, SECONDS), mode=mode)
        end = cs.simulate(system, start, (0.0, SECONDS)).final_x
        assert np.abs(space.difference(end, moved.final_x) / 1e-5 - lin.matrix() @ dx).max() < 1e-4


def test_a_direction_off_the_ground_is_told() -> None:
    system = cs.ContactSystem(ball())
    lin = derivative(system, cs.State(system.robot.nominal, np.zeros(6)))
    up = np.eye(12)[2]
    with pytest.warns(UserWarning, match=r"'ball' off what it touches.*t = 0 s.*lin\.tangent\(\)"):
        assert np.abs(lin(up)).max() < 1e-9
    with pytest.warns(UserWarning, match="'ball' into what it touches"):
        lin(np.array([np.eye(12)[0], -up]))
    with pytest.warns(UserWarning, match=r"t = 0\.1 s"):
        lin(up, 0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lin(lin.tangent().T)
        lin(np.eye(12)[6:])  # velocities have a derivative
        lin.matrix()


def test_a_scatter_of_what_stands_does_not_spread() -> None:
    """It grew with the square of the time."""
    system = cs.ContactSystem(cs.Robot.box(1.0, (0.2, 0.2, 0.1)))
    scatter = derivative(system, cs.State(system.robot.nominal, np.zeros(6))).covariance(np.eye(12))
    held = [2, 3, 4, 6, 7, 8, 9, 10, 11]
    assert np.abs(scatter.P[:, held][:, :, held]).max() < 1e-12
    assert np.abs(np.diag(scatter.final)[[0, 1, 5]] - 1.0).max() < 1e-9


def test_what_static_friction_alone_holds_has_no_derivative_when_it_is_moved() -> None:
    """On a slope between both cones: a neighbour slips down and does not stop."""
    gap = cs.Gap(
        gap=lambda t, q: q[1],
        normal=lambda t, q: np.array([0.0, 1.0]),
        tangent=lambda t, q: np.array([[1.0, 0.0]]),
        friction=0.2,
        static_friction=0.6,
        name="foot",
    )
    weight = np.array([0.4 * 9.81, -9.81])
    system = cs.ContactSystem(cs.Mechanism(2, lambda q: np.eye(2), lambda t, q, v: weight, [gap]))
    start = cs.State([0.0, 0.0], [0.0, 0.0])
    lin = derivative(system, start)
    with pytest.raises(cs.NonDifferentiableError, match="'foot', which sticks by static friction alone at t = 0 s"):
        lin([0.0, 0.0, 1.0, 0.0])
    assert abs(one_sided(system, start, np.array([0.0, 0.0, 1.0, 0.0]), NEAR)[0]) > 1e3
    assert np.abs(lin([1.0, 0.0, 0.0, 0.0]) - [1.0, 0.0, 0.0, 0.0]).max() < 1e-12


def test_ground_that_a_parameter_moves_takes_along_what_stands_on_it() -> None:
    robot = cs.Robot.box(1.0, (0.2, 0.2, 0.1))
    system = cs.ContactSystem(robot, terrain=terrain.Flat(height=0.0))
    lin = derivative(system, cs.State(robot.nominal, np.zeros(6)))
    with pytest.warns(UserWarning, match=r"'terrain\.height' moves the ground of 'box/0'"):
        assert lin.parameter("terrain.height")[2] == pytest.approx(1.0, abs=1e-9)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lin.parameters(["gravity", "contact.box/0.friction"])
