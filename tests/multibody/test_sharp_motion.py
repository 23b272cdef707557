"""Ground moved by a function alone: its rates by differences, and what is said of one that jumps or bends."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import contactsim as cs
from contactsim.multibody.terrain.moving import Given

PEAK = 0.1  # s
# Of velocity, acceleration and jerk, relative, for a displacement rounded to 1e-16 of its size.
ERRORS = (1e-8, 1e-7, 1e-4)


def bump(width: float, height: float) -> Callable[[float], float]:
    """height exp(-((t - PEAK) / width)^2)."""
    return lambda t: height * float(np.exp(-(((t - PEAK) / width) ** 2)))


@pytest.mark.parametrize("width", [1e-1, 1e-2, 1e-3, 1e-4])
def test_rates_of_bumps(width: float) -> None:
    height, t = 1e-3, PEAK + 0.4 * width
    s = (t - PEAK) / width
    polynomials = (1.0, -2.0 * s, 4.0 * s**2 - 2.0, 12.0 * s - 8.0 * s**3)  # Hermite's
    exact = [height * np.exp(-(s**2)) * p / width**k for k, p in enumerate(polynomials)]
    found = Given(bump(width, height), None, None).at(t)
    assert not found[:, :2].any()
    assert found[0, 2] == bump(width, height)(t)
    for k, limit in enumerate(ERRORS, start=1):
        assert found[k, 2] == pytest.approx(exact[k], rel=limit)


def standing(motion: Callable[[float], float]) -> cs.Trajectory:
    """A box on ground that moves up and down."""
    box = cs.Robot.box(1.0, (0.2, 0.2, 0.2), friction=0.5)
    system = cs.ContactSystem(box, terrain=cs.terrain.Moving(cs.terrain.Flat(), motion))
    q = np.array(box.nominal)
    q[2] -= float(system.mechanism.gaps(0.0, q).min())
    return cs.simulate(system, cs.State(q, np.zeros(6)), (0.0, 0.15))


@pytest.mark.parametrize("width", [1e-2, 2e-3, 1e-3])
def test_a_bump_throws_a_box(width: float) -> None:
    run = standing(bump(width, 1e-3))
    assert run.status.complete, run.message
    run.check()
    assert run.events[0].time == pytest.approx(thrown_at(width, 1e-3), abs=1e-9)


def thrown_at(width: float, height: float) -> float:
    """When the ground falls away from the box first, its acceleration -g: s before the peak's turn."""
    low, high = -1.0 / np.sqrt(2.0), 0.0
    for _ in range(60):
        s = 0.5 * (low + high)
        falls = height / width**2 * (4.0 * s**2 - 2.0) * np.exp(-(s**2)) < -9.81
        low, high = (low, s) if falls else (s, high)
    return PEAK + low * width


def test_ground_that_jumps_is_named() -> None:
    run = standing(lambda t: 1e-4 * float(np.floor(200.0 * t)))
    assert run.status is cs.Status.EVENTS_WITHOUT_END
    assert "the displacement of the ground jumps or bends near t = 0" in run.message
    assert "Filippov" not in run.message


def test_a_check_names_ground_that_bends_within_a_step() -> None:
    run = standing(lambda t: 0.3 * max(0.0, t - PEAK))
    with pytest.raises(cs.CheckError, match=r"the ground moves by .* m more than its rates add up to"):
        run.check()
