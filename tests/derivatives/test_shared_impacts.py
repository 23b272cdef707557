"""Derivatives of impacts with several outcomes: a ball drops on a box that slides and spins on its four corners."""

from __future__ import annotations

from functools import cache

import numpy as np
import pinocchio as pin
import pytest

import contactsim as cs

TIME = 0.012  # s, behind the only impact
SHARP = cs.Tolerances(rtol=1e-12, atol=1e-13)
PLANAR = (0, 1, 5, 12, 13, 17)  # changes of the box that leave it on the ground
STEP = 1e-4
BORNE = 5  # contacts that take an impulse where no corner parts: the four of the box, and the ball
OWN = 1e-8  # error of differences, of entries up to ten


@cache
def dropped(height: float, friction: float, restitution: float, aside: float) -> tuple[cs.ContactSystem, cs.State]:
    """The ball strikes off the middle of a box of some height, obliquely and with a spin."""
    surface = {"friction": friction, "restitution": restitution}
    bodies = [cs.Robot.box(0.5, (0.3, 0.2, height), **surface), cs.Robot.sphere(0.3, 0.05, **surface)]
    world, turn = cs.Robot.merge(bodies, ["box", "ball"]), pin.exp3(np.array([0.0, 0.0, 0.2]))
    places = [pin.SE3(turn, np.array([0, 0, 0.5 * height])), pin.SE3(np.eye(3), np.array([aside, 0.02, height + 0.06]))]
    speeds = [np.r_[turn.T @ [0.5, 0.2, 0.0], 0.0, 0.0, 3.0], np.array([0.3, 0.1, -1.0, 0.5, 0.2, 1.0])]
    parts = zip(["box", "ball"], places, speeds, strict=True)
    state = {name: (pin.SE3ToXYZQUAT(place), speed) for name, place, speed in parts}
    return cs.ContactSystem(world), cs.State(*world.pack(state))


@pytest.mark.parametrize(
    ("height", "friction", "restitution", "aside", "several"),
    [
        pytest.param(0.1, 0.3, 0.0, 0.03, True, marks=pytest.mark.slow_in_python),
        (0.1, 0.3, 0.4, 0.03, True),
        pytest.param(0.16, 0.4, 0.0, 0.03, True, marks=pytest.mark.slow_in_python),
        (0.1, 0.3, 0.0, 0.135, False),
    ],
    ids=str,
)
def test_the_derivative_is_that_of_the_outcome_of_contacts_that_yield(
    height: float, friction: float, restitution: float, aside: float, several: bool
) -> None:
    """By position, turn and speed of both, as far as the box stays on the ground; the event tells of the choice.

    The last one strikes so far outside that a corner parts which would be pulled: the others bear what they have to.
    """
    system, state = dropped(height, friction, restitution, aside)
    space, x = system.world.space, system.pack(state)

    def end(change: np.ndarray) -> cs.Trajectory:
        moved = system.state(space.integrate(x, change))
        return cs.simulate(system, moved, (0.0, TIME), tolerances=SHARP)

    traj = end(np.zeros(space.dim))
    (event,) = traj.events
    assert several == any("several outcomes" in note and "yield alike" in note for note in event.notes)
    assert several == (sum(impulse[2] > 1e-6 for impulse in event.impulses.values()) == BORNE)
    derivative = cs.linearize(traj)
    for k in (*PLANAR, *range(6, 12), *range(18, 24)):
        unit = np.eye(space.dim)[k]
        coarse, fine = (
            (
                space.difference(traj.final_x, end(h * unit).final_x)
                - space.difference(traj.final_x, end(-h * unit).final_x)
            )
            / (2.0 * h)
            for h in (STEP, 0.5 * STEP)
        )
        np.testing.assert_allclose(derivative(unit), (4.0 * fine - coarse) / 3.0, atol=OWN)
