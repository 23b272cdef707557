"""Variations along an arc in C++, with the methods and the choice of steps of contactsim."""

from __future__ import annotations

from typing import Any

import numpy as np

from contactsim.errors import StepSizeError
from contactsim.hybrid.chart_path import ChartPath
from contactsim.hybrid.integrators import collocation
from contactsim.hybrid.integrators.collocation import FEWER, SCHEMES, STAGES, Scheme
from contactsim.hybrid.zero import SMALLEST_STEP, TINY

from . import _native

Array = np.ndarray
REACHED, STUCK = 0, 1


def _scheme(scheme: Scheme) -> _native.Scheme:
    """A method whose estimates take what the stages have changed by, h a f, in place of the rates f."""
    return _native.Scheme(scheme.nodes, scheme.matrix, scheme.estimates @ np.linalg.inv(scheme.matrix))


FEW, MANY = (_scheme(SCHEMES[stages]) for stages in (FEWER, STAGES))
CONTROL = _native.Control(
    growth=collocation.GROWTH,
    shrinkage=collocation.SHRINKAGE,
    safety=collocation.SAFETY,
    smallest=SMALLEST_STEP,
    tiny=TINY,
    error_of_few=collocation.ERROR_OF_FEW,
)


def propagated(
    path: ChartPath, t0: float, t1: float, variations: Array, accuracy: tuple[float, float], motion: tuple[Any, ...]
) -> Array | None:
    """Variations at `t1` of those at `t0`; None where the rows of the mode depend on each other.

    Raises:
        StepSizeError: the tolerance cannot be met.
    """
    part = path.between(t0, t1)
    steps = part.step[0]
    step = max(steps[1] - t0, 0.1 * (steps[1] - steps[0]))
    columns = (np.ascontiguousarray(times) for times in (*part.interval.T, part.start, *part.step.T))
    along = _native.Path(*columns, part.base, part.series)
    found = np.array(variations, dtype=float, order="C")
    ending, t = _native.propagate(*motion, along, FEW, MANY, CONTROL, *accuracy, t0, t1, step, found)
    if ending == STUCK:
        raise StepSizeError(f"the variations cannot be followed at t = {t:.12g} s: the run is singular there", t=t)
    return found if ending == REACHED else None
