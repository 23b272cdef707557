"""Cylinders, cones and capsules land on other bodies by laws that give way: seeded runs of a second."""

from __future__ import annotations

import pytest
import soft_shapes

import contactsim as cs

BALANCE = 1e-9  # of energy, relative
SOME = (1, 2, 3, 4, 9, 14, 16, 24)  # of which none takes more than some seconds in C++


def finished(seed: int) -> None:
    """A run comes to its end, its check is content, and no body is deep in another one."""
    system, state, label = soft_shapes.scene(seed)
    run = cs.simulate(system, state, (0.0, soft_shapes.TIME), max_events=soft_shapes.MOST_EVENTS)
    assert run.status is cs.Status.FINISHED, f"{label}: {run.message}"
    assert run.check()["energy balance [relative]"] < BALANCE
    assert soft_shapes.deepest(run) < soft_shapes.DEEPEST


@pytest.mark.slow_in_python
@pytest.mark.parametrize("seed", SOME)
def test_some_landings_finish(seed: int) -> None:
    finished(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [seed for seed in range(soft_shapes.COUNT) if seed not in SOME])
def test_all_landings_finish(seed: int) -> None:
    finished(seed)
