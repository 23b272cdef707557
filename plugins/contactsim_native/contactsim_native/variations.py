"""Variations along an arc in C++, with the methods and the choice of steps of contactsim."""

from __future__ import annotations

from math import factorial
from typing import Any

import numpy as np

from contactsim.errors import StepSizeError
from contactsim.hybrid.chart_path import ChartPath
from contactsim.hybrid.integrators import collocation
from contactsim.hybrid.integrators.collocation import SINGULAR, defect_of, radau
from contactsim.hybrid.integrators.interpolation import EVEN
from contactsim.hybrid.zero import SMALLEST_STEP, TINY

from . import _native

Array = np.ndarray
REACHED, STUCK = 0, 1


def _scheme(stages: int) -> _native.Scheme:
    """The Radau IIA method, whose estimates take what the stages have changed by, h a f, in place of the rates f.

    A step of y' = z y by 1 misses s! (s - 1)! / ((2 s - 1)! (2 s)!) z^(2 s) (Hairer and Wanner, ODE II, IV.3).
    """
    scheme, defect, s = radau(stages), defect_of(stages), stages
    error = factorial(s) * factorial(s - 1) / (factorial(2 * s - 1) * factorial(2 * s))
    estimates = scheme.estimates @ np.linalg.inv(scheme.matrix)
    return _native.Scheme(scheme.nodes, scheme.matrix, estimates, error, *defect)


SCHEMES = [_scheme(stages) for stages in (2, 3, 4, 5, 6, 7, 8)]
CONTROL = _native.Control(
    growth=collocation.GROWTH,
    shrinkage=collocation.SHRINKAGE,
    safety=collocation.SAFETY,
    smallest=SMALLEST_STEP,
    tiny=TINY,
    even=EVEN,
    passes=collocation.PASSES,
    spread=collocation.SPREAD,
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
    ending, t = _native.propagate(*motion, along, SCHEMES, CONTROL, *accuracy, t0, t1, step, found)
    if ending == STUCK:
        raise StepSizeError(f"the variations cannot be followed at t = {t:.12g} s: {SINGULAR}", t=t)
    return found if ending == REACHED else None
