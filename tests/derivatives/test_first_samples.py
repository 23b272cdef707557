"""Derivatives of runs that begin with a sample of their controller, which is not linear in its memory."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from builders import point_mass

import contactsim as cs
from contactsim.hybrid.differences import derivative

TIGHT = cs.Tolerances(rtol=1e-11, atol=1e-12)
STEP = 1e-5  # of differences
ERROR = 1e-7  # of what is of the order of 1; 0.1 where the memory behind the first sample is taken, or none at all
MEMORY = np.array([0.7])
Array = np.ndarray


class Curved(cs.Controller):
    """Lifts by the square of a memory whose samples are curved in it, and in the height."""

    period, memory = 0.01, 1

    def __init__(self, gain: float = 0.8) -> None:
        self.gain = gain

    def parameters(self) -> dict[str, float]:
        return {"gain": self.gain}

    def with_parameter(self, name: str, value: float) -> Curved:
        return Curved(value)

    def sample(self, t: float, q: Array, v: Array, z: Array) -> Array:
        return self.gain * np.sin(2.0 * z) + 0.5 * np.sin(3.0 * q[2:]) * z**2 + 3.0 * v[2:]

    def torque(self, t: float, q: Array, v: Array, z: Array) -> Array:
        return np.array([0.0, 0.0, 3.0 * z[0] ** 2])


def run(t0: float, z: Array | None, moved: Array | None = None, gain: float = 0.8) -> cs.Trajectory:
    """A bounce, from a start with the memory z, or without one, that is `moved` (6 or 7,)."""
    system = cs.ContactSystem(point_mass(restitution=0.5), controller=Curved(gain))
    dx = np.zeros(7) if moved is None else np.resize(np.append(moved, 0.0), 7)
    q, v = np.array([0.0, 0.0, 0.004]) + dx[:3], np.array([0.4, 0.0, -0.3]) + dx[3:6]
    start = cs.State(q, v) if z is None else cs.State(q, v, z + dx[6:])
    return cs.simulate(system, start, (t0, t0 + 0.035), tolerances=TIGHT)


@pytest.mark.parametrize("t0", [0.0, 0.005])
@pytest.mark.parametrize("z", [MEMORY, None])
def test_by_the_start_and_by_a_parameter(t0: float, z: Array | None) -> None:
    """A sample is taken at multiples of the period, and wherever no memory is given."""
    trajectory = run(t0, z)
    assert trajectory.events and (t0 == 0.0 or np.isnan(trajectory.given).any())  # the held torque is never given
    lin, count = cs.linearize(trajectory, tolerances=TIGHT), 6 if z is None else 7
    differences = [derivative(lambda h, e=e: run(t0, z, h * e).final_x, STEP) for e in np.eye(count)]  # type: ignore[misc]
    np.testing.assert_allclose(lin.matrix()[:, :count], np.transpose(differences), atol=ERROR)
    by_gain = derivative(lambda h: run(t0, z, gain=0.8 + h).final_x, STEP)
    np.testing.assert_allclose(lin.parameter("controller.gain"), by_gain, atol=ERROR)


def test_a_file_keeps_what_was_given(tmp_path: Path) -> None:
    trajectory = run(0.0, MEMORY)
    path = trajectory.save(tmp_path / "run.nc")
    again = cs.Trajectory.load(path, trajectory.system)
    assert np.array_equal(again.given, trajectory.given, equal_nan=True)
    assert np.array_equal(cs.linearize(again).matrix(), cs.linearize(trajectory).matrix())


def test_a_run_that_does_not_tell_is_told_of() -> None:
    bare = replace(run(0.0, MEMORY), given=None)
    with pytest.warns(UserWarning, match="does not tell the memory with which it began.*; make the run again"):
        cs.linearize(bare).matrix()
