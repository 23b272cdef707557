"""A problem of optimal control through contact: runs and their costs, the quadratic model about one, and the plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field
from time import process_time
from typing import Any

import numpy as np

from ..analysis.discrete import Discrete, discrete, layout
from ..analysis.linearization import linearize
from ..common.arguments import COUNT, POSITIVE, custom, instance, optional
from ..common.arrays import Array
from ..common.lazy import NamedTuple, dataclass
from ..common.representation import Brief
from ..contact_dynamics.contact_system import ContactSystem
from ..derivatives.linearized_event import EventLinearization
from ..derivatives.run_derivative import RunDerivative
from ..errors import ContactSimError
from ..hybrid.outcomes import Status
from ..hybrid.simulate import Simulation
from ..hybrid.tolerances import TOLERANCES, Tolerances
from ..hybrid.trajectory import Trajectory
from .backward import Policy, backward, gradient
from .costs import Cost, Expansion
from .inputs import Inputs

Box = tuple[Array, Array]


def _undriven(given: Any) -> Any:
    if not isinstance(given, ContactSystem) or given.world.controller is not None:
        raise ValueError
    return given


OPTIMAL = {  # what `ilqr` and `MPC` are given alike
    "system": custom("a ContactSystem without a controller: system.with_controller(None)", _undriven),
    "cost": instance(Cost, "a Cost such as cs.QuadraticCost(Q, R, Q_final, goal)"),
    "dt": POSITIVE,
    "iterations": COUNT,
    "tolerances": optional(TOLERANCES),
}
CHANGES = 2  # of each contact within an interval, in the mean, with which a run still gets on
EVALUATIONS = 1000  # of the field within an interval, in the mean


@dataclass(frozen=True)
class Piece:
    """The linear piece that was taken of an event whose derivative has several.

    Attributes:
        iteration: in which iteration.
        time: of the event [s].
        word: the order in which its guards are met, by contact.
        of: how many pieces there are.
    """

    iteration: int
    time: float
    word: Any
    of: int


@dataclass(frozen=True, repr=False)
class Plan(Brief):
    """Inputs that an optimisation found, with the run under them.

    Attributes:
        U: inputs (N, nu).
        K: gains (N, nu, n) about the run: u = U_k - K_k (x (-) x_k).
        k: what the last backward pass would still change (N, nu).
        costs: cost of the run at the start and after each iteration.
        gradients: largest derivative of the cost by an input that is free, likewise.
        trajectory: the run under the inputs.
        timings: processor time by what it was spent on [s].
        converged: whether the last run is a minimum as exactly as was asked.
        message: how it ended.
        pieces: linear pieces that were taken where events have several.
        dt: how long each input is held [s].
        moves: iterations that went on from a run beside the last one, found by samples.
    """

    U: Array
    K: Array
    k: Array
    costs: tuple[float, ...]
    gradients: tuple[float, ...]
    trajectory: Trajectory
    timings: Mapping[str, float]
    converged: bool
    message: str
    pieces: tuple[Piece, ...]
    dt: float
    moves: tuple[int, ...] = ()

    @property
    def cost(self) -> float:
        """Cost of the run."""
        return self.costs[-1]

    @property
    def iterations(self) -> int:
        """Iterations that were made."""
        return len(self.costs) - 1


class Rollout(NamedTuple):
    """A run with its cost.

    Attributes:
        trajectory: the run.
        U: inputs as they were applied (N, nu).
        stages, end: expansions of the cost along it.
        cost: the cost.
    """

    trajectory: Trajectory
    U: Array
    stages: list[Expansion]
    end: Expansion
    cost: float


class Model(NamedTuple):
    """The quadratic model about a run.

    Attributes:
        lin: the linearized run.
        discrete: the run in discrete time.
        stages, end: the cost by states without the inputs that are held in them.
        split: the largest number of linear pieces of an event; one where all are differentiable.
    """

    lin: RunDerivative
    discrete: Discrete
    stages: list[Expansion]
    end: Expansion
    split: int

    def gradient(self) -> Array:
        """Derivative (N, nu) of the cost by the inputs."""
        return gradient(self.stages, self.end, self.discrete.A, self.discrete.B)

    def policy(self, damping: float, box: Box) -> Policy | None:
        """The backward pass."""
        return backward(self.stages, self.end, self.discrete.A, self.discrete.B, damping, box)


@dataclass
class Problem:
    """A system with its start, its cost and the samples, and what is counted on the way.

    Attributes:
        system: without a controller.
        state, mode: where it starts.
        cost: what is minimised.
        times: samples and end (N + 1,) [s].
        dt: between them [s].
        box: least and largest inputs (nu,) each.
        tolerances: of runs and derivatives.
        timings: processor time [s] by what it was spent on.
        pieces: linear pieces that were taken.
        complaint: why the last run did not reach its end.
    """

    system: ContactSystem
    state: Any
    mode: Any
    cost: Cost
    times: Array
    dt: float
    box: Box
    tolerances: Tolerances
    timings: dict[str, float] = field(default_factory=dict)
    pieces: list[Piece] = field(default_factory=list)
    complaint: str = ""

    @contextmanager
    def timed(self, what: str) -> Iterator[None]:
        """Count processor time."""
        start = process_time()
        try:
            yield
        finally:
            self.timings[what] = self.timings.get(what, 0.0) + process_time() - start

    def run(self, U: Array, K: Array | None = None, about: Trajectory | None = None) -> Rollout | None:
        """The run under inputs, with feedback about another one; None where it does not reach its end."""
        with self.timed("rollouts"):
            inputs = Inputs(U, self.dt, K, about, start=float(self.times[0]), limits=self.box)
            system = self.system.with_controller(inputs)
            run = self._simulated(system, len(U))
        if run is None:
            return None
        with self.timed("costs"):
            return self._costed(run)

    def _simulated(self, system: ContactSystem, count: int) -> Trajectory | None:
        """The run of a system; None, with the complaint, where it rattles or leads where the system says nothing."""
        start = float(self.times[0])
        most = CHANGES * (count + 1) * (1 + len(system.mechanism.all_names))
        run = Simulation(system, self.state, start, tolerances=self.tolerances, mode=self.mode, max_events=most)

        def look(t: float) -> None:
            if run.evaluations > EVALUATIONS * (count + 1):
                run.interrupt()

        try:
            run.advance_to(float(self.times[-1]), look)
        except ContactSimError as error:
            self.complaint = str(error)
            return None
        if run.trajectory.status is not Status.FINISHED:
            self.complaint = run.trajectory.message
            return None
        return run.trajectory

    def _costed(self, run: Trajectory) -> Rollout:
        system: Any = run.system
        count, samples = system.world.controller.inputs, self.times[:-1].tolist()
        xs = [run.arc_at(t)(t) for t in samples]
        U = np.array([system.z(x)[:count] for x in xs])
        stages = [self.cost.stage(system, t, self.dt, x, u) for t, x, u in zip(samples, xs, U, strict=True)]
        end = self.cost.final(system, float(self.times[-1]), run.final_x)
        return Rollout(run, U, stages, end, sum(stage.value for stage in stages) + end.value)

    def linearized(self, rollout: Rollout, iteration: int, turn: int = 0) -> Model:
        """The quadratic model about a run; `turn` counts which piece to take of events that have several.

        Raises:
            NonDifferentiableError: an event has no derivative.
        """
        split = 1

        def taken(event: EventLinearization) -> Array:
            nonlocal split
            if event.differentiable:
                return event.saltation
            pieces = list(event.pieces().items())
            split = max(split, len(pieces))
            word, matrix = pieces[turn % len(pieces)]
            self.pieces.append(Piece(iteration, float(event.time), word, len(pieces)))
            return matrix

        with self.timed("derivatives"):
            lin = linearize(rollout.trajectory, tolerances=self.tolerances)
            found = discrete(lin, self.times, taken)
        return Model(lin, found, *_without_inputs(rollout), split)

    def room(self, U: Array) -> Box:
        """Least and largest changes of inputs (N, nu)."""
        return self.box[0] - U, self.box[1] - U

    def fed_back(self, K: Array) -> Array:
        """Gains (N, nu, 2 nv) of those (N, nu, n) of a policy: memories of actuators and law are not fed back."""
        return K[:, :, : 2 * self.system.nv]

    def slope(self, gradient: Array, U: Array) -> Array:
        """The gradient (N, nu) where the limits leave an input free to go down it, else zero."""
        held = ((self.box[0] >= U) & (gradient > 0.0)) | ((self.box[1] <= U) & (gradient < 0.0))
        return np.where(held, 0.0, gradient)


def _without_inputs(rollout: Rollout) -> tuple[list[Expansion], Expansion]:
    """The cost by the state without the inputs that are held in it."""
    _, kept = layout(rollout.trajectory.system)

    def of(part: Expansion) -> Expansion:
        return part._replace(x=part.x[kept], xx=part.xx[np.ix_(kept, kept)], ux=part.ux[:, kept])

    return [of(stage) for stage in rollout.stages], of(rollout.end)
