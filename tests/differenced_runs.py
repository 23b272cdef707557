"""The derivative of a run against Richardson's differences of the simulation itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

import contactsim as cs

Array = np.ndarray

RUN = cs.Tolerances(rtol=1e-12, atol=1e-13)
STEP = 1e-4  # first step, of three that are halved
OWN = 1e-7  # error of the difference above which it is no test


def run(system: cs.ContactSystem, state: cs.State, duration: float) -> cs.Trajectory:
    """The run, so exact that it can be differenced; it passes its own check."""
    found = cs.simulate(system, state, (0.0, duration), tolerances=RUN)
    assert found.status is cs.Status.FINISHED, found.message
    return found


def kinds_of_events(traj: cs.Trajectory) -> list[dict[str, tuple[cs.Mode, cs.Mode]]]:
    """What each event of a run changes."""
    return [dict(event.transitions) for event in traj.events]


def largest_error(
    system: cs.ContactSystem,
    state: cs.State,
    duration: float,
    directions: int = 1,
    parameters: Sequence[str] = (),
    step: float = STEP,
) -> float:
    """Largest error of lin(dx) and lin.parameter(name) relative to the differences' largest entry (at least one).

    The first `step` of the differences is the larger, the less their own rounding is to count.

    Neighbouring runs are demanded to meet the same events.
    """
    traj = run(system, state, duration)
    traj.check()
    derivative, space, start = cs.linearize(traj), system.world.space, system.pack(state)
    events = [set(event) for event in kinds_of_events(traj)]

    def moved(other: cs.Trajectory) -> Array:
        assert [set(event) for event in kinds_of_events(other)] == events
        return space.difference(traj.final_x, other.final_x)

    errors = []
    for direction in np.random.default_rng(0).normal(size=(directions, space.dim)):
        unit = direction / np.linalg.norm(direction)
        wanted = _richardson(
            lambda h, e=unit: moved(run(system, system.state(space.integrate(start, h * e)), duration)), step
        )
        errors.append(_relative(derivative(unit), wanted))
    for name in parameters:
        value = system.parameter(name)
        wanted = _richardson(
            lambda h, name=name, value=value: moved(
                run(system.with_parameter(name, value * (1.0 + h)), state, duration)
            ),
            step,
        )
        errors.append(_relative(derivative.parameter(name) * value, wanted))
    return max(errors)


def _richardson(function: Callable[[float], Array], step: float) -> Array:
    rough = [(function(h) - function(-h)) / (2.0 * h) for h in (step, step / 2.0, step / 4.0)]
    better = [(4.0 * fine - coarse) / 3.0 for coarse, fine in pairwise(rough)]
    best = (16.0 * better[1] - better[0]) / 15.0
    assert np.abs(best - better[1]).max() <= OWN * max(1.0, float(np.abs(best).max()))
    return best


def _relative(found: Array, wanted: Array) -> float:
    return float(np.abs(found - wanted).max() / max(1.0, float(np.abs(wanted).max())))
