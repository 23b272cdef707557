"""Hybrid iterative linear-quadratic regulator: inputs that minimise a cost through contact, whose events are found.

Forward, each run is simulated event by event, so contacts begin and end where the inputs lead them. Backward, the value
goes through saltation matrices, and where a run meets an event earlier or later than the one it is compared with, that
one is continued past it (Kong, Li, Council and Johnson, "Hybrid iLQR model predictive control for contact implicit
stabilization on legged robots", 2023).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..common.arguments import INDEX, NOT_NEGATIVE, REAL, arguments, function, optional
from ..common.arrays import Array
from ..common.threads import one_thread
from ..contact_dynamics.contact_system import ContactSystem
from ..errors import InputError
from ..hybrid.tolerances import Tolerances
from .costs import Cost
from .descent import Descent, Ends
from .drives import drive_of
from .inputs import ROWS
from .problem import OPTIMAL, Box, Plan, Problem
from .zero import ON_TIME


@arguments(
    **OPTIMAL,
    U=ROWS,
    start=REAL,
    tolerance=NOT_NEGATIVE,
    improvement=NOT_NEGATIVE,
    samples=INDEX,
    progress=optional(function("a function of (iteration, cost, gradient)")),
)
def ilqr(
    system: ContactSystem,
    state: Any,
    cost: Cost,
    U: Any,
    dt: float,
    *,
    limits: Any = None,
    mode: Any = None,
    start: float = 0.0,
    continuation: Sequence[Any] = (),
    iterations: int = 100,
    tolerance: float = 1e-8,
    improvement: float = 1e-9,
    samples: int = 0,
    tolerances: Tolerances | None = None,
    progress: Callable[[int, float, float], None] | None = None,
) -> Plan:
    """Inputs that minimise a cost through contact; when contacts begin and end is found, not given.

    Each iteration linearizes the run through its events, solves the linear-quadratic problem about it backwards, and
    simulates with the inputs and gains of that, in a step that is shortened until the cost falls (Gauss and Newton).
    Where an event has several linear pieces, one is taken, and the next one where that leads nowhere (`plan.pieces`).

    Args:
        system: a ContactSystem without a controller; inputs are those of `Inputs`.
        state: where it starts.
        cost: what to minimise; see `QuadraticCost`.
        U, dt: inputs to start from (N, nu), and how long each is held [s].
        limits: least and largest inputs, (nu,) or one number each; by default the ranges of a file's actuators.
        mode: in which it starts, as of `simulate`.
        start: time of the start [s], a multiple of dt.
        continuation: easier problems, each solved from the inputs of the last one, and then the problem itself:
            compliant laws, from soft to stiff, for contacts that no step reaches, other costs for goals too far off.
        iterations: at most so many, for each problem.
        tolerance: it has converged where no derivative of the cost by a free input is larger [cost / unit].
        improvement: or where an iteration makes the cost smaller by less than this share of it.
        samples: so many runs at a time with inputs drawn about the last ones are tried where it gets no further, for
            contact sequences of which no derivative knows; it goes on from one that is better by a hundredth.
        tolerances: accuracy of runs and derivatives; None: that of `Tolerances()`.
        progress: is given (iteration, cost, gradient) after each.

    Returns:
        The plan: .U .K .k .costs .trajectory .timings.

    Raises:
        InputError: something given does not fit.
        SimulationError: the first run does not reach its end.
        NonDifferentiableError: the first run has an event without a derivative.
    """
    if abs(start / dt - round(start / dt)) > ON_TIME:
        raise InputError(f"start is {start} s; give a multiple of dt, {dt} s")
    times = (round(start / dt) + np.arange(len(U) + 1)) * dt
    box = _box(limits, drive_of(system.world.robot).ranges, U)
    problem = Problem(system, state, mode, cost, times, dt, box, tolerances or Tolerances())
    ends = Ends(iterations, tolerance, improvement, progress, samples)
    with one_thread():
        for other in continuation:
            U = Descent(_easier(problem, other), U, ends).minimise().U
        return Descent(problem, U, ends).minimise()


def _easier(problem: Problem, other: Any) -> Problem:
    """The problem with another cost, or under another law."""
    if isinstance(other, Cost):
        return replace(problem, cost=other)
    return replace(problem, system=problem.system.with_law(other), mode=None)


def _box(limits: Any, ranges: Array, U: Array) -> Box:
    """Least and largest inputs (nu,) of `U` (N, nu): those given, within the ranges of the drive."""
    if U.shape[1] != len(ranges):
        raise InputError(f"U has {U.shape[1]} inputs at a time; the system has {len(ranges)}, its driven joints")
    if limits is None:
        return ranges[:, 0], ranges[:, 1]
    try:
        low, high = (np.broadcast_to(np.asarray(side, dtype=float), (len(ranges),)) for side in limits)
    except (TypeError, ValueError):
        raise InputError(f"limits are {limits!r}; give (least, largest), each a number or ({len(ranges)},)") from None
    if np.isnan(low).any() or np.isnan(high).any() or (low > high).any():
        raise InputError("limits has a least input above the largest one; give (least, largest)")
    return np.maximum(low, ranges[:, 0]), np.minimum(high, ranges[:, 1])
