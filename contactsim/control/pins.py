"""Impacts at samples: kinks of the cost, on which minima lie, and the way from one to the next.

Inputs that are held jump at samples, and so does the derivative of the cost where an impact passes from one interval
to the next. The best inputs jump at the impact, which held ones can do at samples only: between two samples the cost
is higher, and at a sample it has a kink with a minimum. There the impact is held at its sample as a constraint, its
time by the derivative that the saltation matrix is made of; then it is tried at the samples on both sides.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..analysis.discrete import partial_to
from ..common.arrays import Array
from ..derivatives.run_derivative import EventLinearization
from ..errors import NonDifferentiableError
from ..hybrid.system import CLOCK
from .backward import Policy
from .problem import Model, Problem, Rollout
from .zero import HELD

STEPS = 40  # towards a minimum with an impact at a sample
TRIAL = 6  # of them to see whether another sample is better
BETTER = 1e-9  # relative: by how much the cost must be lower there


class Arrival(NamedTuple):
    """The time of an impact, by the state and the inputs where its interval begins.

    Attributes:
        time: of the impact [s].
        interval: number of the interval.
        x, u: derivatives (n,) and (nu,) of its time [s].
    """

    time: float
    interval: int
    x: Array
    u: Array


def impacts(model: Model) -> list[EventLinearization]:
    """Events of a run at which a contact takes an impulse, in order."""
    return [event for event in model.lin.all_events if any(record.impulses for record in event.events)]


def interval_of(time: float, times: Array) -> int:
    """Number k of the interval t_k < time <= t_{k+1}."""
    return min(max(int(np.searchsorted(times, time, side="left")) - 1, 0), len(times) - 2)


def arrival(model: Model, number: int, times: Array) -> Arrival:
    """The time of the impact of a number, and its derivative."""
    event = impacts(model)[number]
    k = interval_of(event.time, times)
    groups = tuple(group for group in event.data.groups if CLOCK not in group)
    along = event.data.root.arrivals(groups)[0]
    x, u = partial_to(model.lin, float(times[k]), event, along)
    return Arrival(float(event.time), k, x, u)


def pinned_policy(model: Model, damping: float, box: tuple[Array, Array], to: Arrival, target: float) -> Policy | None:
    """The backward pass with the impact of `to` moved to the time `target`, to first order.

    An augmented Lagrangian: its multiplier, of which the policy is an affine function, is set so that the model meets
    the constraint.
    """
    away = to.time - target
    stage = model.stages[to.interval]
    stiffness = max(sum(s.value for s in model.stages) + model.end.value, 1e-300) / max(
        (model.discrete.times[1] - model.discrete.times[0]) ** 2, 1e-300
    )

    def solved(multiplier: float) -> tuple[Policy, float] | None:
        force = multiplier + stiffness * away
        bent = stage._replace(
            x=stage.x + force * to.x,
            u=stage.u + force * to.u,
            xx=stage.xx + stiffness * np.outer(to.x, to.x),
            uu=stage.uu + stiffness * np.outer(to.u, to.u),
            ux=stage.ux + stiffness * np.outer(to.u, to.x),
        )
        stages = [*model.stages[: to.interval], bent, *model.stages[to.interval + 1 :]]
        policy = model._replace(stages=stages).policy(damping, box)
        return None if policy is None else (policy, away + _shift(model, policy, to))

    first, second = solved(0.0), solved(stiffness * abs(model.discrete.times[1] - model.discrete.times[0]))
    if first is None or second is None or first[1] == second[1]:
        return None
    step = stiffness * abs(model.discrete.times[1] - model.discrete.times[0])
    found = solved(step * first[1] / (first[1] - second[1]))
    return None if found is None else found[0]


def _shift(model: Model, policy: Policy, to: Arrival) -> float:
    """How much later the impact comes under a policy, by the linear model [s]."""
    dx = np.zeros(model.discrete.A.shape[1])
    for k in range(to.interval):
        dx = model.discrete.A[k] @ dx + model.discrete.B[k] @ (policy.k[k] - policy.K[k] @ dx)
    du = policy.k[to.interval] - policy.K[to.interval] @ dx
    return float(to.x @ dx + to.u @ du)


class Pinned(NamedTuple):
    """A run with an impact at a sample.

    Attributes:
        rollout, model: the run.
        sample: number of the sample.
        gradient: the smallest of the gradients (N, nu) between those of both sides; zero at a minimum.
        share: that of the second side in it: 0 or 1 where the cost falls away from the sample.
    """

    rollout: Rollout
    model: Model
    sample: int
    gradient: Array
    share: float


def held_at(problem: Problem, start: tuple[Rollout, Model], number: int, sample: int, steps: int) -> Pinned | None:
    """The best run whose impact of a number is at a sample, as far as some steps lead; None: there is none."""
    now, model = start
    target, best = float(problem.times[sample]), None
    for _ in range(steps):
        to = arrival(model, number, problem.times)
        policy = pinned_policy(model, 0.0, problem.room(now.U), to, target)
        if policy is None:
            return best
        there = problem.run(now.U + policy.k, policy.K[:, :, : 2 * problem.system.nv], now.trajectory)
        if there is None:
            return best
        try:
            model = problem.linearized(there, -1)
        except NonDifferentiableError:
            return best
        if len(impacts(model)) <= number:
            return best
        now = there
        if model.split > 1:
            found = _between_sides(problem, now, model, sample)
            if best is not None and np.abs(found.gradient).max() > 0.9 * np.abs(best.gradient).max():
                return best if best.rollout.cost <= now.cost else found
            best = found
            if np.abs(best.gradient).max() <= HELD:
                return best
    return best


def _between_sides(problem: Problem, now: Rollout, model: Model, sample: int) -> Pinned:
    """The smallest gradient between those of the two sides of a kink."""
    one = problem.slope(model.gradient(), now.U)
    two = problem.slope(problem.linearized(now, -1, 1).gradient(), now.U)
    apart = (two - one).ravel()
    size = float(apart @ apart)
    share = 0.0 if size == 0.0 else float(np.clip(-(one.ravel() @ apart) / size, 0.0, 1.0))
    return Pinned(now, model, sample, one + share * (two - one), share)


def best_sample(problem: Problem, start: tuple[Rollout, Model], number: int) -> Pinned | None:
    """The best run with the impact of a number at a sample, going from sample to sample; None: there is none."""
    time = impacts(start[1])[number].time
    sample = int(np.argmin(np.abs(problem.times - time)))
    best = held_at(problem, start, number, sample, TRIAL)
    if best is None:
        return None
    stride, way, failed = 1, 1 if best.share > 0.5 else -1, 0
    while failed < 2:
        there = best.sample + way * stride
        found = None
        if 0 < there < len(problem.times) - 1:
            found = held_at(problem, (best.rollout, best.model), number, there, TRIAL)
        if found is not None and found.rollout.cost < best.rollout.cost * (1.0 - BETTER):
            best, stride, failed = found, 2 * stride, 0
        elif stride > 1:
            stride = 1
        else:
            way, failed = -way, failed + 1
    return held_at(problem, (best.rollout, best.model), number, best.sample, STEPS) or best
