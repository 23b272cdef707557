"""A controller that follows a run with the gains of its linear-quadratic regulator."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ..common.arguments import NOT_NEGATIVE, arguments, optional
from ..common.arrays import Array
from ..common.lazy import dataclass
from ..errors import InputError, SimulationError
from ..hybrid.trajectory import Arc
from ..multibody.controllers import Controller
from .riccati import Policy, Riccati
from .zero import JUMP

if TYPE_CHECKING:
    from ..contact_dynamics.contact_system import ContactSystem

REACH = 0.25  # how far an arc is continued past its events, relative to its length
HALVINGS = 10  # of that, where the motion does not lead as far: what is damped grows without bound backwards in time


@dataclass(frozen=True)
class Branch:
    """An arc of the reference, continued past its events by its own flow where the state jumps there.

    Attributes:
        t0, t1: times of its events [s].
        first, last: times until which it is continued [s].
        arc: the arc, so extended.
        policy: its gains; beyond its ends those at the ends.
    """

    t0: float
    t1: float
    first: float
    last: float
    arc: Arc
    policy: Policy

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
        reach: how far arcs are continued [s]; by default a quarter of their length, or half of that, and so on, where
            the motion does not lead as far.

    Raises:
        InputError: the run is not one of a ContactSystem, or its state has memory.
        SimulationError: the motion does not lead as far as `reach`.
    """

    @arguments(reach=optional(NOT_NEGATIVE))
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
        x_ref = branch.arc(t)
        applied = branch.arc.system.applied_force(t, x_ref)  # type: ignore[attr-defined]
        torque = np.zeros(len(v)) if applied is None else np.array(applied, dtype=float)
        torque[self._system.actuated] -= branch.gain(t) @ self._space.difference(x_ref, x)
        return torque

    def _followed(self, t: float, x: Array) -> Branch:
        """The branch that holds `t` and is nearest to the state."""
        holding = [branch for branch in self._branches if branch.first <= t <= branch.last]
        if len(holding) == 1:
            return holding[0]
        return min(holding, key=lambda branch: float(np.linalg.norm(self._space.difference(branch.arc(t), x))))


def _branch(arc: Arc, policy: Policy, reach: float | None, jumps_in: bool, jumps_out: bool) -> Branch:
    longest = REACH * (arc.t1 - arc.t0) if reach is None else reach
    before, after = longest if jumps_in else 0.0, longest if jumps_out else 0.0
    before, after, extended = _extended(arc, before, after, HALVINGS if reach is None else 0)
    return Branch(arc.t0, arc.t1, arc.t0 - before, arc.t1 + after, extended, policy)


def _extended(arc: Arc, before: float, after: float, halvings: int) -> tuple[float, float, Arc]:
    """How far an arc is continued before its begin and after its end [s], and what that makes of it."""
    try:
        return before, after, arc.extended(before, after)
    except SimulationError:
        if not halvings:
            raise
    return _extended(arc, 0.5 * before, 0.5 * after, halvings - 1)
