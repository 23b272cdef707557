"""The directions in which a mode lets the state move: those that its constraints allow."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..common.arrays import Array
from .differences import map_derivative
from .flow import Flow
from .manifold import Euclidean, Manifold
from .system import HybridSystem
from .zero import KEPT

PROJECTIONS = 5  # by which a state is put onto the constraints of its mode


def space_of(system: HybridSystem, mode: Any, x: Array) -> Manifold:
    """The manifold of a mode, R^n where the system names none."""
    return system.space(mode) or Euclidean(len(x))


def flow_at(system: HybridSystem, mode: Any, t: float, x: Array) -> Flow:
    """The flow of a mode from (t, x) on."""
    return system.flow(mode).rebased(t, x)


def field_at(system: HybridSystem, mode: Any, t: float, x: Array) -> Array:
    """F (dim,) of a mode from (t, x) on."""
    flow = system.flow(mode)
    return flow.rebased(t, x).field(t, x.copy()) if flow.first_rate is None else flow.first_rate(t, x)


def on_constraints(system: HybridSystem, mode: Any, t: float, x: Array) -> Array:
    """The state (size,) put back onto the constraints of its mode."""
    for _ in range(PROJECTIONS):
        nearer = flow_at(system, mode, t, x).project(t, x)
        if np.array_equal(nearer, x):
            break
        x = nearer
    return x


def projector(system: HybridSystem, mode: Any, t: float, x: Array) -> Array:
    """Derivative (n, n) of the projection onto the constraints of a mode: variations that it keeps, and no others."""
    space, flow = space_of(system, mode, x), flow_at(system, mode, t, x)
    if type(flow).project is Flow.project:
        return np.eye(space.dim)
    return map_derivative(lambda point: flow.project(t, point), space, x, space)


def directions(projector: Array) -> Array:
    """Orthonormal basis (n, r) of what a projector keeps."""
    if np.array_equal(projector, np.eye(len(projector))):
        return projector
    basis, values, _ = np.linalg.svd(projector)
    return np.asarray(basis[:, values > KEPT])
