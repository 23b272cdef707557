"""Properties of a model: its derivatives, its guards and its runs from the state it starts with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property

import numpy as np

from ..analysis.linearization import linearize
from ..common.arrays import Array
from ..common.lazy import dataclass
from ..errors import CheckError, InputError, NonDifferentiableError
from ..hybrid.charts import Model, check_jacobians
from ..hybrid.manifold import Manifold
from ..hybrid.mode_directions import space_of
from ..hybrid.simulate import simulate
from ..hybrid.tolerances import Tolerances
from ..hybrid.trajectory import Arc, Trajectory
from . import checks
from .report import Finding, Outcome

DURATION, EVENTS = 2.0, 6  # of the run that is looked at: s, and events at most
RESTARTS = 3  # arcs in which it is started again
GUARD = 1e-9  # below zero by more than this a guard contradicts its chart, in its unit
RESTART = 1e-6  # between a run and one that was started again within it, relative to the largest change
DERIVATIVE = 1e-5  # of a run, relative to its largest entry
DIRECTIONS, STEP = 2, 1e-5  # variations of the start that are followed by differences, and their size
REACH = 10.0 * STEP  # further than a random direction leads
TIGHT = Tolerances(rtol=1e-10, atol=1e-11)


class StartRefused(Exception):
    """A model does not start next to its default state, so that its run cannot be differenced."""


@dataclass
class ModelRun:
    """A model and its run from the default state, made once; it ends in the middle of its last arc."""

    model: Model

    @cached_property
    def end(self) -> float:
        """End of the run [s]."""
        whole = simulate(self.model, self.model.initial_state(), (0.0, DURATION), max_events=EVENTS, tolerances=TIGHT)
        last = [arc for arc in whole.arcs if arc.t1 > arc.t0][-1]
        return 0.5 * (last.t0 + last.t1)

    @cached_property
    def trajectory(self) -> Trajectory:
        """The run."""
        return simulate(self.model, self.model.initial_state(), (0.0, self.end), tolerances=TIGHT)

    @property
    def arcs(self) -> list[Arc]:
        """Arcs that take time."""
        return [arc for arc in self.trajectory.arcs if arc.t1 > arc.t0]


def _ended(run: ModelRun) -> Iterator[Finding]:
    if not run.trajectory.status.complete:
        yield np.inf, f"the run from the default state ends: {run.trajectory.message}", {}


def _jacobians(run: ModelRun) -> Iterator[Finding]:
    """D_x f, D_x g and D_x R that the model gives, in the middle and at the end of every arc."""
    for arc in run.arcs:
        for t in (0.5 * (arc.t0 + arc.t1), arc.t1):
            try:
                yield max(check_jacobians(run.model, t, arc(t), arc.mode).values(), default=0.0), "", {}
            except CheckError as error:
                yield np.inf, str(error), {"time": t}


def _guards(run: ModelRun) -> Iterator[Finding]:
    for arc in run.arcs:
        flow = arc.system.flow(arc.mode)
        for segment in arc.segments:
            for t in (segment.t0, 0.5 * (segment.t0 + segment.t1)):
                values = np.asarray(flow.guards(t, segment(t)), dtype=float)
                for name, value in zip(flow.guard_names, values, strict=True):
                    text = f"the boundary '{name}' is passed by {-value:.3g} in chart {arc.mode} at t = {t:.6g} s"
                    yield float(-value), f"{text}; let `reset` choose a chart in which the state lies", {"time": t}


def _twice(run: ModelRun) -> Iterator[Finding]:
    again = simulate(run.model, run.model.initial_state(), (0.0, run.end), tolerances=TIGHT)
    same = np.array_equal(run.trajectory.final_x, again.final_x)
    yield 0.0 if same else np.inf, "two runs differ; let the model depend on nothing but time, state and parameters", {}


def _restart(run: ModelRun) -> Iterator[Finding]:
    size = max(1.0, float(np.abs(run.trajectory.final_x).max()))
    for arc in sorted(run.arcs, key=lambda arc: arc.t0 - arc.t1)[:RESTARTS]:
        t = 0.5 * (arc.t0 + arc.t1)
        if run.model.start(t, arc(t)).mode != arc.mode:
            text = f"a run started at t = {t:.6g} s in chart {arc.mode} begins in {run.model.start(t, arc(t)).mode}"
            yield np.inf, f"{text}; let `start` find the chart of a state", {"time": t}
            continue
        again = simulate(run.model, arc(t), (t, run.end), tolerances=TIGHT)
        off = float(np.abs(again.final_x - run.trajectory.final_x).max()) / size
        yield off, f"a run started again at t = {t:.6g} s in chart {arc.mode} ends elsewhere, by {off:.3g}", {"time": t}


def _derivative(run: ModelRun) -> Iterator[Finding]:
    model, trajectory = run.model, run.trajectory
    start = trajectory.arcs[0].segments[0].base
    space = space_of(model, trajectory.arcs[0].mode, start)
    behind = space_of(model, trajectory.arcs[-1].mode, trajectory.final_x)
    matrix = linearize(trajectory, tolerances=TIGHT).matrix()

    def final(dx: Array) -> Array:
        moved = space.integrate(start, dx)
        try:
            model.start(0.0, moved)
        except InputError as error:
            raise StartRefused(str(error)) from error
        there = simulate(model, moved, (0.0, run.end), tolerances=TIGHT).final_x
        return behind.difference(trajectory.final_x, there)

    what, free = "the derivative of the run through its events", _free(model, space, start)
    return checks.differenced(what, matrix, final, DIRECTIONS, STEP, free)


def _free(model: Model, space: Manifold, start: Array) -> Array:
    """Mask (n,) of the components of a state on both sides of which a run may start.

    A toe that stands on the ground may not start in it, and its velocity is set to zero where a run starts.
    """
    mode, free, reason = model.start(0.0, start).mode, np.zeros(space.dim), ""
    for k, direction in enumerate(np.eye(space.dim)):
        try:
            moved = [space.integrate(start, h * direction) for h in (-REACH, REACH)]
            begun = [model.start(0.0, x) for x in moved]
            free[k] = all(b.mode == mode and np.array_equal(b.x, x) for b, x in zip(begun, moved, strict=True))
        except InputError as error:
            reason = str(error)
    if not free.any():
        raise StartRefused(reason)
    return free


CHECKS: Mapping[str, tuple[Callable[[ModelRun], Iterator[Finding]], float]] = {
    "runs": (_ended, 0.0),
    "derivatives": (_jacobians, 1e-6),
    "boundaries agree with charts": (_guards, GUARD),
    "same run twice": (_twice, 0.0),
    "restart in any chart": (_restart, RESTART),
    "derivative of runs": (_derivative, DERIVATIVE),
}


UNASKED = {
    NonDifferentiableError: "there is none: {}",
    StartRefused: "a state next to the default one is refused as a start: {}",
}


def named(model: Model) -> dict[str, Callable[[], Outcome]]:
    """{property: what tries it} of a model, with its run made once."""
    return checks.named(CHECKS, ModelRun(model), "run", UNASKED)
