"""The descent: backward passes, each with a line search along its step, until no step lowers the cost."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..common.arrays import Array
from ..common.lazy import NamedTuple, scipy
from ..errors import NonDifferentiableError, SimulationError
from .backward import Policy
from .pins import best_sample, impacts, interval_of
from .problem import Model, Plan, Problem, Rollout
from .zero import ROUNDING

SHARES = tuple(0.5**k for k in range(14))  # of a step that the line search tries
KEPT = 1e-4  # share of the promised decrease that a step has to keep
LEAST_DAMPING, MOST_DAMPING, FACTOR = 1e-2, 1e8, 10.0  # relative to the weights of the inputs
PINS = 5  # how often, without a fall of the cost between, impacts are looked at for being held at samples
SLOW = 1e-2  # relative decrease of the cost below which a change of an impact's interval holds the iteration up

SMALL, NO_STEP, NO_FALL = (
    "the gradient is as small as asked",
    "no step makes the cost smaller",
    "the cost falls no more",
)
AT_SAMPLE = "an impact is at a sample, and the cost rises to both sides"
SPREADS = (1e-5, 1e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1)  # of the cost: what inputs add to it by the quadratic model
BETTER = 1e-2  # relative: how much less a run beside another one has to cost


class Ends(NamedTuple):
    """Conditions under which an iteration ends.

    Attributes:
        iterations: at most so many.
        tolerance: a gradient as small as this is zero [cost / unit of input].
        improvement: a relative decrease of the cost that is as good as none.
        progress: is told (iteration, cost, gradient).
        samples: how many runs beside one that gets no better are tried at a time; 0: none.
    """

    iterations: int
    tolerance: float
    improvement: float
    progress: Callable[[int, float, float], None] | None = None
    samples: int = 0


class Descent:
    """The iteration from given inputs on.

    Args:
        problem: what is minimised.
        U: inputs (N, nu).
        ends: where to stop.

    Raises:
        SimulationError: the run under the inputs does not reach its end.
    """

    def __init__(self, problem: Problem, U: Array, ends: Ends) -> None:
        first = problem.run(np.clip(U, *problem.box))
        if first is None:
            raise SimulationError(f"the run under the first inputs does not reach its end: {problem.complaint}")
        self.problem, self.ends, self.now = problem, ends, first
        self.model = problem.linearized(first, 0)
        self.costs, self.gradients = [first.cost], [self._slope()]
        self._scale = float(np.mean([np.trace(stage.uu) / len(stage.uu) for stage in first.stages]))
        self._alone, self._moves = np.inf, list[int]()
        self._generator = np.random.default_rng(0)
        self._begin()

    def _begin(self) -> None:
        """Forget what was found about steps from the last run."""
        self._damping, self._turn, self._pins, self._fall = 0.0, 0, PINS, np.inf
        self.converged, self.message = False, f"{self.ends.iterations} iterations were made; give more of them"

    def minimise(self) -> Plan:
        """Iterate to the end."""
        for iteration in range(1, self.ends.iterations + 1):
            if (self._ended() or self._fall < BETTER) and self._moved(iteration):
                continue
            if self._ended() or not self._advanced(iteration):
                break
        self._ended()
        return self._plan()

    def _ended(self) -> bool:
        if not self.converged and self.gradients[-1] <= self.ends.tolerance:
            self.converged, self.message = True, SMALL
        return self.converged

    def _advanced(self, iteration: int) -> bool:
        """Make the cost smaller by a step of the backward pass; False: there is no way to go on."""
        while (found := self._searched(iteration)) is None:
            if self._turn + 1 < self.model.split:
                self._turn += 1  # the next piece of an event, about the same run
                self.model = self.problem.linearized(self.now, iteration, self._turn)
            elif self._moved(iteration):
                return True
            elif self._damping >= MOST_DAMPING:
                self.message = NO_STEP
                return self._pinned(iteration)
            else:
                self._damping, self._turn = max(self._damping * FACTOR, LEAST_DAMPING), 0
        before, passed = self.now.cost, self._intervals()
        self.now, self.model, share = found
        self._damping, self._turn = 0.0 if self._damping <= LEAST_DAMPING else self._damping / FACTOR, 0
        self._keep()
        self._fall = (before - self.now.cost) / max(abs(before), 1e-300)
        if self._fall >= SLOW:
            self._pins = PINS
        if self._fall < SLOW and passed != self._intervals() and self._pinned(iteration):
            return True
        if self.gradients[-1] > self.ends.tolerance and self._fall <= self.ends.improvement and share == 1.0:
            self.converged, self.message = True, NO_FALL
        return True

    def _searched(self, iteration: int) -> tuple[Rollout, Model, float] | None:
        """A run with a smaller cost, its model, and the share of the step; None where the policy leads to none."""
        problem, now = self.problem, self.now
        with problem.timed("backward"):
            policy = self.model.policy(self._damping * self._scale, problem.room(now.U))
        if policy is None:
            return None
        K = problem.fed_back(policy.K)
        for share in SHARES:
            promised = share * policy.slope + 0.5 * share**2 * policy.bend
            there = problem.run(now.U + share * policy.k, K, now.trajectory)
            if there is None or there.cost - now.cost > KEPT * promised + ROUNDING * abs(now.cost):
                continue
            if (found := self._modelled(there, iteration)) is not None:
                return *found, share
        return None

    def _modelled(self, there: Rollout, iteration: int) -> tuple[Rollout, Model] | None:
        """A run and the model about it; without feedback, where that jumps with an impact at a sample."""
        for _ in range(2):
            try:
                return there, self.problem.linearized(there, iteration)
            except NonDifferentiableError:
                held = self.problem.run(there.U)
                if held is None or held.cost > there.cost:
                    return None
                there = held
        return None

    # --- impacts at samples -----------------------------------------------------------------------------------

    def _intervals(self) -> tuple[int, ...]:
        """The intervals between samples in which impacts lie."""
        return tuple(interval_of(event.time, self.problem.times) for event in impacts(self.model))

    def _pinned(self, iteration: int) -> bool:
        """Hold the impact at a sample that is nearest to one, where the cost has a minimum; True where it is better."""
        events = impacts(self.model)
        if not self._pins or not events:
            return False
        self._pins -= 1
        off = [float(np.abs(self.problem.times - event.time).min()) for event in events]
        found = best_sample(self.problem, (self.now, self.model), int(np.argmin(off)))
        if found is None or found.rollout.cost > self.now.cost:
            return False
        self.now, self.model = found.rollout, found.model
        self._keep(float(np.abs(found.gradient).max()))
        if 0.0 < found.share < 1.0:
            self.converged, self.message = True, AT_SAMPLE
        return True

    # --- runs beside one that gets no better ------------------------------------------------------------------

    def _moved(self, iteration: int) -> bool:
        """Go on from a run beside this one, where a better one is found; there is no looking twice at one cost."""
        if not self.ends.samples or self.now.cost > (1.0 - BETTER) * self._alone:
            return False
        policy = self.model.policy(0.0, self.problem.room(self.now.U))
        found = None
        if policy is not None:
            found = better_neighbour(self.problem, self.now, policy, self.ends.samples, self._generator)
        there = None if found is None else self._modelled(found, iteration)
        if there is None:
            self._alone = self.now.cost
            return False
        self.now, self.model = there
        self._moves.append(iteration)
        self._begin()
        self._keep()
        return True

    # --- what is kept -----------------------------------------------------------------------------------------

    def _slope(self) -> float:
        """Largest derivative of the cost by an input that its limits leave free to go down it."""
        return float(np.abs(self.problem.slope(self.model.gradient(), self.now.U)).max())

    def _keep(self, gradient: float | None = None) -> None:
        self.costs.append(self.now.cost)
        self.gradients.append(self._slope() if gradient is None else gradient)
        if self.ends.progress:
            self.ends.progress(len(self.costs) - 1, self.costs[-1], self.gradients[-1])

    def _plan(self) -> Plan:
        now, model, problem = self.now, self.model, self.problem
        policy = model.policy(self._damping * self._scale, problem.room(now.U)) or _nothing(now, model)
        return Plan(
            now.U,
            problem.fed_back(policy.K),
            policy.k,
            tuple(self.costs),
            tuple(self.gradients),
            now.trajectory,
            dict(problem.timings),
            self.converged,
            self.message,
            tuple(problem.pieces),
            problem.dt,
            tuple(self._moves),
        )


def _nothing(now: Rollout, model: Model) -> Policy:
    """The policy that changes no input."""
    count, nu = now.U.shape
    gains = np.zeros((count, nu, model.discrete.A.shape[2]))
    return Policy(np.zeros((count, nu)), gains, 0.0, 0.0, np.zeros((count, nu, nu)))


# --- runs with another contact sequence -------------------------------------------------------------------------


def better_neighbour(
    problem: Problem, now: Rollout, policy: Policy, count: int, generator: np.random.Generator
) -> Rollout | None:
    """The cheapest of `count` runs with inputs drawn about those of a run, where it is better; None: there is none.

    With other inputs contacts begin and end in another order. A derivative knows nothing of a lift-off that a run
    nearly makes, so a descent may stand still where a run with another contact sequence, not far off, costs less.
    Inputs are drawn with a covariance in proportion to the inverse of the second derivative of the cost to come, with
    its feedback: far where that changes the cost little (So, Wang and Theodorou, "Maximum entropy differential dynamic
    programming", 2022). The spread grows until a run is better, or until most runs no longer reach their end.

    Args:
        problem: what is minimised.
        now: the run.
        policy: of the backward pass about it.
        count: how many runs are made of each spread.
        generator: of random numbers.
    """
    K = problem.fed_back(policy.K)
    factors = [np.linalg.cholesky(curvature).T for curvature in policy.curvature]
    for spread in SPREADS:
        size = np.sqrt(2.0 * spread * now.cost / now.U.size)
        draws = size * generator.normal(size=(count, *now.U.shape))
        runs = _runs(problem, now, K, [_shaped(factors, draw) for draw in draws])
        if runs is None:
            return None
        best = min(runs, key=lambda run: run.cost)
        if best.cost < (1.0 - BETTER) * now.cost:
            return best
    return None


def _shaped(factors: list[Array], draw: Array) -> Array:
    """Independent numbers (N, nu) with the covariance of the inverse of L L^T, by the factors L^T."""
    return np.array([scipy.linalg.solve_triangular(factor, row) for factor, row in zip(factors, draw, strict=True)])


def _runs(problem: Problem, now: Rollout, K: Array, changes: list[Array]) -> list[Rollout] | None:
    """The runs with changed inputs that reach their end; None where those are the lesser half."""
    found: list[Rollout] = []
    for tried, change in enumerate(changes, 1):
        run = problem.run(now.U + change, K, now.trajectory)
        found += [] if run is None else [run]
        if 2 * (tried - len(found)) > len(changes):
            return None
    return found
