"""Impacts pinned to samples: kinks of the cost, on which minima lie, and the moves from one to the next.

Inputs that are held jump at samples, and so does the derivative of the cost where an impact passes from one interval
to the next. The best inputs jump at the impact, which held ones can do at samples only: between two samples the cost
is higher, and at a sample it has a kink with a minimum. There the impact is held at its sample as a constraint, its
time by the derivative that the saltation matrix is made of; then it is tried at the samples on both sides.
"""

from __future__ import annotations

import numpy as np

from ..analysis.discrete import partial_to
from ..common.arrays import Array
from ..common.lazy import NamedTuple
from ..derivatives.linearized_event import EventLinearization
from ..errors import NonDifferentiableError
from ..hybrid.system import CLOCK
from ..hybrid.zero import TINY
from .backward import Policy
from .problem import Box, Model, Problem, Rollout
from .zero import HELD, ROUNDING

STEPS = 40  # towards a minimum with an impact at a sample
TRIAL = 8  # of them to see whether another sample is better
SHARES = tuple(0.5**k for k in range(8))  # of a step
SLOWER = 0.9  # share of the gradient that a step on the kink leaves, above which there are no more of them
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
    """Events of a run at which a contact takes an impulse, in order; not those that a sample itself brings about."""
    return [
        event
        for event in model.lin.all_events
        if any(record.impulses for record in event.events) and any(CLOCK not in group for group in event.data.groups)
    ]


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


class Pull(NamedTuple):
    """A policy that moves an impact to a time, and the multiplier of that constraint [cost / s]."""

    policy: Policy
    multiplier: float


def pinned_policy(model: Model, box: Box, to: Arrival, target: float) -> Pull | None:
    """The backward pass with the impact of `to` moved to the time `target`, to first order.

    An augmented Lagrangian, with its multiplier so that the model meets the constraint: the policy is affine in it.
    """
    away, dt = to.time - target, float(model.discrete.times[1] - model.discrete.times[0])
    stage = model.stages[to.interval]
    stiffness = max(sum(s.value for s in model.stages) + model.end.value, TINY) / dt**2

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
        policy = model._replace(stages=stages).policy(0.0, box)
        return None if policy is None else (policy, away + _shift(model, policy, to))

    unit = stiffness * dt
    first, second = solved(0.0), solved(unit)
    if first is None or second is None or first[1] == second[1]:
        return None
    multiplier = unit * first[1] / (first[1] - second[1])
    found = solved(multiplier)
    return None if found is None else Pull(found[0], multiplier)


def _shift(model: Model, policy: Policy, to: Arrival) -> float:
    """Delay of the impact under a policy, by the linear model [s]."""
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
    (now, model), best = start, None
    target = float(problem.times[sample])
    for _ in range(steps):
        pull = pinned_policy(model, problem.room(now.U), arrival(model, number, problem.times), target)
        found = None if pull is None else _pulled(problem, now, model, number, target, pull)
        if found is None:
            return best
        now, model = found
        if model.split == 1:
            continue
        here = _between_sides(problem, now, model, sample)
        if best is not None and np.abs(here.gradient).max() > SLOWER * np.abs(best.gradient).max():
            return min(best, here, key=lambda run: run.rollout.cost)
        best = here
        if np.abs(best.gradient).max() <= HELD:
            break
    return best


def _pulled(
    problem: Problem, now: Rollout, model: Model, number: int, target: float, pull: Pull
) -> tuple[Rollout, Model] | None:
    """The run after a step of a pull, as long as cost and distance of the impact (an exact penalty) fall by it."""
    weight = 2.0 * abs(pull.multiplier)
    merit = now.cost + weight * abs(impacts(model)[number].time - target)
    K = problem.fed_back(pull.policy.K)
    for share in SHARES:
        there = problem.run(now.U + share * pull.policy.k, K, now.trajectory)
        times = [] if there is None else _impact_times(there)
        if there is None or len(times) <= number:
            continue
        if there.cost + weight * abs(times[number] - target) > merit * (1.0 + ROUNDING):
            continue
        held = problem.run(there.U)  # without feedback, which jumps with an impact at a sample
        if held is None or len(_impact_times(held)) <= number:
            continue
        try:
            return held, problem.linearized(held, -1)
        except NonDifferentiableError:
            continue
    return None


def _impact_times(run: Rollout) -> list[float]:
    """Times of the impacts of a run that lie behind its start, those left out that `impacts` leaves out."""
    start, met = run.trajectory.arcs[0].t0, dict[float, bool]()
    for event in run.trajectory.all_events:
        met.setdefault(event.time, bool(event.fired - {CLOCK}))
    times = [event.time for event in run.trajectory.all_events if event.impulses and event.time > start]
    return [time for time in dict.fromkeys(times) if met[time]]


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
