"""The mean of a filter after a measurement, kept on its side of the guards."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from ..common.arrays import Array
from ..common.lazy import dataclass
from ..common.representation import Brief
from ..derivatives.event_linearization import NO_PARAMETERS, Node
from ..derivatives.variational import ArcVariation
from ..errors import SimulationError
from ..hybrid.flow import Flow
from ..hybrid.integrators import AUTOMATIC
from ..hybrid.mode_directions import flow_at, space_of
from ..hybrid.segments import continued
from ..hybrid.system import HybridSystem
from ..hybrid.tolerances import Tolerances
from ..hybrid.trajectory import Arc

EVALUATIONS = 3000  # of a field, to continue an arc by some milliseconds
STEPS = 8  # Newton's, towards a guard
AHEAD = 1e-7  # how long before its event a mean is put that has to meet it [s]
ON_GROUND = 1e-13  # [m]


@dataclass(frozen=True, repr=False)
class Admitted(Brief):
    """A mean that a run can go on from.

    Attributes:
        t: time [s]; earlier than that of the measurement where an event is to be met first.
        x: plain state (size,).
        P: covariance (n, n) there.
    """

    t: float
    x: Array
    P: Array


def admitted(
    system: HybridSystem, mode: Any, t: float, x: Array, P: Array, tolerances: Tolerances, reach: float
) -> Admitted:
    """The mean (t, x) on its side of the guards of gaps, those of a ContactSystem.

    Beyond a guard towards which it moves, it is taken back along its arc to just before that: the run from there meets
    it. Beyond one from which it comes, or further than `reach` [s], it is moved onto it by the least change in the
    metric of P, dx = -P G^T (G P G^T)^+ g.
    """
    late = _passed(_beyond(system, mode, t, x, tolerances), reach)
    if late is not None:
        return _taken_back(system, mode, t, x, P, tolerances, late)
    for _ in range(STEPS):
        node = Node(system, t, x, mode, tolerances)
        below = {name: value for name, value in _gaps(node).items() if value < -ON_GROUND}
        if not below:
            break
        x = _lifted(node, below, P)
    late = _passed(_beyond(system, mode, t, x, tolerances, touching=True), reach)
    return Admitted(t, x, P) if late is None else _taken_back(system, mode, t, x, P, tolerances, late)


def _gaps(node: Node) -> dict[Hashable, float]:
    """Gaps that are guards of the mode."""
    names = node.flow.guard_names
    if not any(isinstance(name, tuple) and name[0] == "gap" for name in names):
        return {}
    values = node.flow.guards(node.t, node.x)
    return {name: float(values[k]) for k, name in enumerate(names) if isinstance(name, tuple) and name[0] == "gap"}


def _beyond(
    system: HybridSystem, mode: Any, t: float, x: Array, tolerances: Tolerances, touching: bool = False
) -> dict[float, Hashable]:
    """{time since it was met: guard} of the gaps that are below zero and fall; with those at zero if `touching`."""
    node = Node(system, t, x, mode, tolerances)
    limit = tolerances.start_depth if touching else 0.0
    found = {}
    for name, value in _gaps(node).items():
        if value < limit and (rate := node.rate(name)) < -tolerances.speed:
            found[max(value / rate, 0.0)] = name
    return found


def _passed(found: dict[float, Hashable], reach: float) -> float | None:
    """Time since the first of the guards was met [s]; None where none was, or longer than `reach` ago."""
    return max(found) if found and max(found) <= reach else None


def _taken_back(
    system: HybridSystem, mode: Any, t: float, x: Array, P: Array, tolerances: Tolerances, late: float
) -> Admitted:
    """The mean before all of its gaps were met."""
    for _ in range(STEPS):
        arc = continued_arc(system, mode, t, x, t - late - AHEAD)
        node = Node(system, arc.t0, arc(arc.t0), mode, tolerances)
        below = {name: value for name, value in _gaps(node).items() if value <= 0.0 and node.rate(name) < 0.0}
        if not below:
            break
        late += max(value / node.rate(name) for name, value in below.items())
    back = np.linalg.inv(variation(arc, tolerances))
    return Admitted(arc.t0, arc(arc.t0), back @ P @ back.T)


class _Watched(Flow):
    """A flow that is given up where its motion cannot be followed, such as a slip in space past its stop."""

    def __init__(self, flow: Flow) -> None:
        self._flow, self._left = flow, EVALUATIONS

    def field(self, t: float, x: Array) -> Array:
        """Rate of the state.

        Raises:
            SimulationError: it was asked too often.
        """
        self._left -= 1
        if self._left < 0:
            raise SimulationError(f"the arc cannot be continued past t = {t:.9g} s; its field is singular there")
        return self._flow.field(t, x)


def continued_arc(system: HybridSystem, mode: Any, t: float, x: Array, end: float) -> Arc:
    """The arc of a mode between (t, x) and `end` [s], before or after it, whatever its guards say.

    Raises:
        SimulationError: the motion does not go on so far.
    """
    flow = _Watched(flow_at(system, mode, t, x))
    return Arc(mode, (continued(flow, space_of(system, mode, x), t, x, end),), None, system)


def variation(arc: Arc, tolerances: Tolerances) -> Array:
    """D x(t1) / D x(t0) (n, n) of an arc."""
    along = ArcVariation(arc, NO_PARAMETERS, tolerances, AUTOMATIC)
    return along.propagate(arc.t0, arc.t1, np.eye(along.dim))


def _lifted(node: Node, below: dict[Hashable, float], P: Array) -> Array:
    """The nearest state at which these gaps are closed, in the metric of P; in that of the plain state if P is zero."""
    G = np.array([node.gradient(name) for name in below])
    values = np.array(list(below.values()))
    shared = G @ P @ G.T
    metric = P if np.diag(shared).min() > 0.0 else np.eye(len(P))
    step = -metric @ G.T @ np.linalg.pinv(G @ metric @ G.T) @ values
    return space_of(node.system, node.mode, node.x).integrate(node.x, step)
