"""Events on moving ground against differences: what it changes while the state stands still is part of each of them."""

from __future__ import annotations

import numpy as np
from differenced_runs import largest_error

import contactsim as cs

SHAKES = cs.terrain.Moving(cs.terrain.Flat(), cs.terrain.Oscillation((0.05, 0.02, 0.0), 1.1))
ERROR = 1e-6  # of the derivative, relative to the differences' largest entry
OF_BOUNCES = 1e-6  # where bounces end: differences of runs that leave out hops lower than `Tolerances.hop`


def tumbling(q: list[float], v: list[float]) -> cs.State:
    turn = np.array(q[3:])
    return cs.State(np.append(q[:3], turn / np.linalg.norm(turn)), np.array(v))


def test_a_capsule_lands_slides_and_stops_on_shaking_ground() -> None:
    robot = cs.Robot.capsule(mass=0.5, radius=0.05, length=0.2, friction=0.37)
    start = tumbling([0.0, 0.0, 0.22, -0.1124, 0.6054, -0.781, 0.1045], [-0.126, 0.15, -0.172, 0.513, -3.878, -4.235])
    system = cs.ContactSystem(robot, terrain=SHAKES)
    kinds = [event.transitions for event in cs.simulate(system, start, (0.0, 0.18)).events]
    assert (cs.Mode.SLIP, cs.Mode.STICK) in kinds[-1].values()  # while the other end sticks: five rows are independent
    assert largest_error(system, start, 0.18) < ERROR


def test_bounces_of_a_ball_end_on_shaking_ground() -> None:
    ball = cs.Robot.sphere(mass=0.4, radius=0.05, friction=(0.267, 0.133), restitution=0.4)
    system = cs.ContactSystem(ball, terrain=SHAKES)
    start = tumbling([0.0, 0.0, 0.1306, 0.8957, 0.1575, -0.4048, 0.0951], [-0.137, -0.564, 0.2, 1.751, -3.118, -1.831])
    fine, space, x = cs.Tolerances(rtol=1e-11, atol=1e-13), system.space(), system.pack(start)
    direction = np.eye(space.dim)[2]

    def end(h: float) -> np.ndarray:
        state = system.state(space.integrate(x, h * direction))
        return cs.simulate(system, state, (0.0, 0.3), tolerances=fine).final_x

    middle = cs.simulate(system, start, (0.0, 0.3), tolerances=fine)
    assert middle.events[-1].transitions == {"ball": (cs.Mode.OPEN, cs.Mode.STICK)}
    wanted = (space.difference(middle.final_x, end(1e-6)) - space.difference(middle.final_x, end(-1e-6))) / 2e-6
    found = cs.linearize(middle)(direction)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=OF_BOUNCES * np.abs(wanted).max())
