"""What a controller or a reference of a user's runs or asks for while a run waits for it does not disturb that run."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from thirty_scenes import held, standing

import contactsim as cs

pytest.importorskip("contactsim_native._native")  # its sources alone are no package

Array = np.ndarray
KP, KD = 30.0, 0.8  # N m/rad, N m s/rad


class Forecast:
    """Asks for the future of another robot of the same kind, at each of so many calls."""

    def __init__(self, robot: cs.Robot, every: int) -> None:
        self._system = cs.ContactSystem(robot, controller=held(robot, KP, KD))
        self._state = cs.State(standing(robot, 0.0), np.full(robot.nv, 0.1))
        self._every, self.calls = every, 0

    def look(self) -> None:
        self.calls += 1
        if self.calls % self._every == 0:
            cs.simulate(self._system, self._state, (0.0, 0.002), engine="native")


def controlled(robot: cs.Robot, look: Callable[[], None]) -> cs.ContactSystem:
    """A function that holds the joints where they are."""

    def torque(t: float, q: Array, v: Array) -> Array:
        look()
        force = np.zeros(robot.nv)
        force[6:] = -KP * (q[7:] - robot.nominal[7:]) - KD * v[6:]
        return force

    return cs.ContactSystem(robot, controller=torque)


def referred(robot: cs.Robot, look: Callable[[], None]) -> cs.ContactSystem:
    """Joint PD to a reference that a function tells."""

    def reference(t: float) -> Array:
        look()
        return robot.nominal

    return cs.ContactSystem(robot, controller=cs.PD(robot, reference, kp=KP, kd=KD))


@pytest.mark.parametrize("made", [controlled, referred])
def test_a_run_within_a_run_leaves_it_as_it_is(
    made: Callable[[cs.Robot, Callable[[], None]], cs.ContactSystem],
) -> None:
    robot = cs.load_robot("solo12")
    start = cs.State(standing(robot, 0.002, (0.05, 0.02, 0.0)), np.zeros(robot.nv))
    forecast = Forecast(robot, every=40)
    runs = [cs.simulate(made(robot, look), start, (0.0, 0.05), engine="native") for look in (int, forecast.look)]
    assert forecast.calls > 400
    assert len(runs[0].all_events) >= 2
    assert [event.time for event in runs[1].all_events] == [event.time for event in runs[0].all_events]
    np.testing.assert_array_equal(runs[1].final_x, runs[0].final_x)
    tangents = [cs.linearize(run).matrix() for run in runs]
    np.testing.assert_array_equal(tangents[1], tangents[0])
