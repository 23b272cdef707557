"""A controller that follows a run with the gains of its linear-quadratic regulator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.integrate import solve_ivp

from ..common.arrays import Array
from ..common.doors import NOT_NEGATIVE, door, optional
from ..errors import InputError
from ..hybrid.manifold import Euclidean
from ..hybrid.trajectory import Arc
from ..multibody.controllers import Controller
from .riccati import Policy, Riccati
from .zero import JUMP

if TYPE_CHECKING:
    from ..contact_dynamics.contact_system import ContactSystem

REACH = 0.25  # how far an arc is continued past its events, relative to its length


@dataclass(frozen=True)
class Branch:
    """An arc of the reference, continued past its events by its own flow.

    Attributes:
        t0, t1: times of its events [s].
        first, last: times until which it is continued; those of its events where the state does not jump there [s].
        before, after: t -> state (size,) beyond its ends.
        arc: the arc.
        policy: its gains; beyond its ends those at the ends.
    """

    t0: float
    t1: float
    first: float
    last: float
    before: Callable[[float], Array]
    after: Callable[[float], Array]
    arc: Arc
    policy: Policy

    def state(self, t: float) -> Array:
        """Reference state (size,)."""
        if t < self.t0:
            return self.before(t)
        return self.after(t) if t > self.t1 else self.arc(t)

    def gain(self, t: float) -> Array:
        """K (nu, n)."""
        return self.policy.gain(min(max(t, self.t0), self.t1))


class Tracking(Controller):
    """Follows a run: tau = tau_ref(t) - K(t) (x (-) x_ref(t)), with the gains on the actuated joints.

    A robot that is disturbed meets its events earlier or later than the reference does. Near an event at which the
    state jumps, both arcs of the reference are continued past it, and the one nearer to the robot's state is followed:
    so the error does not peak there (reference spreading: Rijnen, Saccon and Nijmeijer 2015). Before the run begins
    and after it ends, the first and the last state are held.

    Args:
        gains: what `lin.riccati` returns for the run of a ContactSystem without memory of controller or law.
        reach: how far arcs are continued [s]; by default a quarter of their length.

    Raises:
        InputError: the run is not one of a ContactSystem, or its state has memory.
    """

    @door(reach=optional(NOT_NEGATIVE))
    def __init__(self, gains: Riccati, reach: float | None = None) -> None:
        if not isinstance(gains, Riccati):
            raise InputError(f"gains is a {type(gains).__name__}; give what lin.riccati(...) returns")
        run = gains.trajectory
        system: Any = run.system
        if not hasattr(system, "actuated"):
            raise InputError(f"Tracking follows runs of a ContactSystem, not of a {type(system).__name__}")
        if system.memory:
            raise InputError("Tracking follows runs without memory; leave out sampled controllers and laws with memory")
        self._system: ContactSystem = system
        self._space = system.space()
        arcs = [arc for arc in run.arcs if arc.t1 > arc.t0]
        self._t0, self._t1 = arcs[0].t0, arcs[-1].t1
        jumps = [False] + [self._jumps(a, b) for a, b in pairwise(arcs)] + [False]
        self._branches = [
            _branch(arc, policy, reach, jumps[k], jumps[k + 1])
            for k, (arc, policy) in enumerate(zip(arcs, gains.policies, strict=True))
        ]

    def _jumps(self, before: Arc, after: Arc) -> bool:
        change = self._space.difference(before(before.t1), after(after.t0))
        return bool(np.abs(change).max() > JUMP)

    def torque(self, t: float, q: Array, v: Array, z: Array) -> Array:
        """Generalised force (nv,)."""
        t = min(max(t, self._t0), self._t1)
        x = np.concatenate([q, v])
        branch = self._followed(t, x)
        x_ref = branch.state(t)
        applied = branch.arc.system.applied_force(t, x_ref)  # type: ignore[attr-defined]
        torque = np.zeros(len(v)) if applied is None else np.array(applied, dtype=float)
        torque[self._system.actuated] -= branch.gain(t) @ self._space.difference(x_ref, x)
        return torque

    def _followed(self, t: float, x: Array) -> Branch:
        """The branch that holds `t` and is nearest to the state."""
        holding = [branch for branch in self._branches if branch.first <= t <= branch.last]
        if len(holding) == 1:
            return holding[0]
        return min(holding, key=lambda branch: float(np.linalg.norm(self._space.difference(branch.state(t), x))))


def _branch(arc: Arc, policy: Policy, reach: float | None, jumps_in: bool, jumps_out: bool) -> Branch:
    reach = REACH * (arc.t1 - arc.t0) if reach is None else reach
    first = arc.t0 - reach if jumps_in else arc.t0
    last = arc.t1 + reach if jumps_out else arc.t1
    return Branch(
        arc.t0, arc.t1, first, last, _continued(arc, arc.t0, first), _continued(arc, arc.t1, last), arc, policy
    )


def _continued(arc: Arc, t: float, end: float) -> Callable[[float], Array]:
    """t -> state on the flow of an arc past its end at `t`, in a chart around the state there."""
    x = arc(t)
    if end == t:
        return lambda _: x
    space = arc.system.space(arc.mode) or Euclidean(len(x))
    flow = arc.system.flow(arc.mode).rebased(t, x)

    def rate(at: float, dx: Array) -> Array:
        return np.array(space.chart_rate(dx, flow.field(at, space.integrate(x, dx))))

    solution = solve_ivp(rate, (t, end), np.zeros(space.dim), method="DOP853", dense_output=True, rtol=1e-9, atol=1e-11)
    return lambda at: space.integrate(x, solution.sol(at))
