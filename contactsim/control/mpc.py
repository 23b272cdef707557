"""A receding horizon: at each sample, inputs that are optimal for the time ahead."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from ..common.arguments import COUNT, POSITIVE, Kind, arguments, either
from ..common.arrays import Array
from ..common.lazy import NamedTuple
from ..contact.modes import Mode
from ..contact_dynamics.contact_rows import closed_terms
from ..contact_dynamics.contact_system import ContactSystem, State
from ..contact_dynamics.zero import OFF_MODE
from ..errors import InputError, NonDifferentiableError, SimulationError
from ..hybrid.manifold import Manifold
from ..hybrid.tolerances import Tolerances
from .costs import Cost
from .drives import HeldInputs, drive_of
from .ilqr import ilqr
from .inputs import ROWS
from .problem import OPTIMAL, Plan
from .zero import ON_TIME

HORIZON: Kind = either(COUNT, POSITIVE)
MOST_SAMPLES = 100_000  # of a horizon; nobody waits for more


class Answer(NamedTuple):
    """Inputs found at a sample.

    Attributes:
        t: the sample [s].
        U: inputs from there on (N, nu).
        K: gain (nu, 2 nv) at the sample.
        plan: the plan; None where there was none, and the inputs are those planned before.
        failure: why there was none.
    """

    t: float
    U: Array
    K: Array
    plan: Plan | None
    failure: str = ""


class MPC(HeldInputs):
    """Model predictive control by `ilqr`: each sample plans a horizon ahead from the present state, and applies a row.

    A plan starts from the last one moved on by what has passed, with its last row repeated. Where no plan is found (the
    model's run does not reach its end, or has an event without a derivative), the last one is gone on with, and
    `failures` says so. Contacts of the model begin as the state has them: what touches and does not move sticks.

    It keeps its plans: a run that goes on from its middle, or is differentiated, is given the same answers as before.

    Args:
        system: the model, a ContactSystem without a controller.
        cost: what to minimise over the horizon, with goals by the time of the run; see `QuadraticCost`.
        horizon: how far it looks ahead: a whole number of samples, or a time [s].
        dt: sampling period [s].
        U: inputs to start the first plan from (nu,) or (N, nu); by default zero.
        limits: least and largest inputs, as of `ilqr`.
        iterations: of each plan, at most; the first one takes ten times as many.
        tolerances: accuracy of the plans; by default that of `Tolerances(rtol=1e-6, atol=1e-8)`.

    Attributes:
        answers: what was found at each sample so far.

    Raises:
        InputError: an argument does not fit.
    """

    @arguments(**OPTIMAL, horizon=HORIZON)
    def __init__(
        self,
        system: ContactSystem,
        cost: Cost,
        horizon: float,
        dt: float,
        *,
        U: Any = None,
        limits: Any = None,
        iterations: int = 3,
        tolerances: Tolerances | None = None,
    ) -> None:
        self._system, self._cost, self._limits, self._iterations = system, cost, limits, iterations
        self._tolerances = tolerances or Tolerances(rtol=1e-6, atol=1e-8)
        self._drive = drive_of(system.world.robot)
        self.period, self.dt, self.inputs = dt, dt, self._drive.count
        self.memory = self._drive.count + self._drive.memory
        self._count = horizon if isinstance(horizon, int) else max(round(horizon / dt), 1)
        if self._count > MOST_SAMPLES:
            raise InputError(
                f"the horizon has more than {MOST_SAMPLES} samples; give a shorter one, in seconds or samples"
            )
        given = np.zeros(self.inputs) if U is None else np.asarray(U, dtype=float)
        if given.ndim == 1:
            given = np.tile(given, (self._count, 1))
        self._first = ROWS.check("U of MPC", given)
        if self._first.shape != (self._count, self.inputs):
            raise InputError(f"U of MPC has shape {given.shape}; give ({self._count}, {self.inputs}) or one row")
        self.answers: list[Answer] = []
        self._known: dict[tuple[float, bytes], Answer] = {}

    def __repr__(self) -> str:
        return f"MPC({self._count} samples of {self.dt:.6g} s)"

    def __deepcopy__(self, memo: dict[int, Any]) -> MPC:
        other = copy.copy(self)
        other.answers, other._known = list(self.answers), dict(self._known)
        return other

    def driving(self, robot: Any) -> MPC:
        """Itself, for a robot with the inputs of its model.

        Raises:
            InputError: it has others.
        """
        if drive_of(robot).count != self.inputs or robot.nv != self._system.nv:
            raise InputError("the robot of an MPC has other joints or inputs than its model; give one of that robot")
        return self

    @property
    def failures(self) -> list[str]:
        """For each sample without a plan of its own, why."""
        return [f"t = {answer.t:.6g} s: {answer.failure}" for answer in self.answers if answer.plan is None]

    @property
    def plans(self) -> list[Plan]:
        """The plans so far."""
        return [answer.plan for answer in self.answers if answer.plan is not None]

    # --- the contract of a controller -------------------------------------------------------------------------

    def sample(self, t: float, q: Array, v: Array, z: Array) -> Array:
        """The first inputs of the plan, followed by what actuators hold."""
        return np.concatenate([self._answer(t, q, v, z).U[0], z[self.inputs :]])

    def sample_jacobian(self, t: float, q: Array, v: Array, z: Array, space: Manifold) -> Array:
        """The first gain of the plan: how its optimal inputs change with the state, to first order."""
        matrix = np.zeros((self.memory, 2 * len(v) + self.memory))
        own = np.arange(self.inputs, self.memory)
        matrix[own, 2 * len(v) + own] = 1.0
        matrix[: self.inputs, : 2 * len(v)] = -self._answer(t, q, v, z).K
        return matrix

    # --- plans --------------------------------------------------------------------------------------------------

    def _answer(self, t: float, q: Array, v: Array, z: Array) -> Answer:
        """The answer at a sample, as it was given before, or a new one."""
        key = (t, np.concatenate([q, v, z[self.inputs :]]).tobytes())
        if key not in self._known:
            self._known[key] = self._planned(t, q, v, z)
            self.answers.append(self._known[key])
        return self._known[key]

    def _planned(self, t: float, q: Array, v: Array, z: Array) -> Answer:
        start = self._moved_on(t)
        state = State(q, v, np.concatenate([np.zeros(self.inputs), z[self.inputs :]]))
        begin = round(np.floor(t / self.dt + ON_TIME)) * self.dt
        try:
            mode = touching(self._system, q, v)
            plan = ilqr(
                self._system,
                state,
                self._cost,
                start,
                self.dt,
                limits=self._limits,
                mode=mode,
                start=float(begin),
                iterations=self._iterations if self.answers else 10 * self._iterations,
                improvement=1e-3,
                tolerances=self._tolerances,
            )
        except (SimulationError, NonDifferentiableError) as error:
            gain = np.zeros((self.inputs, 2 * len(v)))
            return Answer(t, start, gain, None, str(error))
        return Answer(t, plan.U, plan.K[0], plan)

    def _moved_on(self, t: float) -> Array:
        """The inputs of the last plan before `t` from there on, with the last row repeated."""
        before = [answer for answer in self.answers if answer.t < t]
        if not before:
            return self._first
        passed = min(round((t - before[-1].t) / self.dt), self._count)
        kept = before[-1].U[passed:]
        return np.vstack([kept, np.tile(before[-1].U[-1], (self._count - len(kept), 1))])


def touching(system: ContactSystem, q: Array, v: Array) -> dict[str, Mode]:
    """{contact: Mode} of the contacts of a rigid law that touch and move neither apart nor closer."""
    world = system.world
    x = system.pack(State(q, v))
    gaps = world.mechanism.gaps(0.0, q)[: len(world.mechanism.names)]
    near = tuple(int(i) for i in np.flatnonzero(np.abs(gaps) <= OFF_MODE))
    if not near:
        return {}
    touch, found = closed_terms(world, 0.0, x, near), {}
    for i in near:
        rates = touch.terms.rates[touch.where[i]]
        if abs(rates[0]) <= OFF_MODE:
            slips = np.linalg.norm(rates[1:]) > OFF_MODE or not world.tangent_rows[i]
            found[world.mechanism.names[i]] = Mode.SLIP if slips else Mode.STICK
    return found
