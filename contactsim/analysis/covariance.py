"""Covariance of the state along a run from a scattered start."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..common.arrays import Array
from ..common.lazy import dataclass
from ..common.representation import Brief
from ..derivatives.variational import ArcVariation
from .linearized_arcs import along, linearized_arcs, stacked
from .matrices import Weight, symmetric, weight

if TYPE_CHECKING:
    from ..derivatives.run_derivative import RunDerivative

Noise = Array | Callable[[float], Array]


@dataclass(frozen=True, repr=False)
class Covariance(Brief):
    """Covariance of the state along a run, in the tangent space at the run's own state.

    Attributes:
        t: times (N,) [s]: the samples of the trajectory; both sides of an event share a time.
        P: covariances (N, n, n); padded with NaN where the dimension differs between modes.
        final: the last one (n, n).
    """

    t: Array
    P: Array
    final: Array


def covariance(lin: RunDerivative, P0: Any, noise: Noise | None = None) -> Covariance:
    """Covariance along a run whose start is scattered, to first order.

    It begins with what remains of the scatter once the mode of the start holds again (`lin.regained()`).
    P' = A P + P A^T + W along arcs, P+ = Xi P- Xi^T at events (Kong and others, eq. 36 and 37; exact for linear arcs
    and resets). Units are those of the tangent coordinates (dq, dv, dz), one for each index.

    Args:
        lin: the linearized run.
        P0: covariance (n, n) of the start.
        noise: density W (n, n) of white noise on the rate of the state [1/s times the units of P], or a function of
            time where it changes; it acts on all directions, also on those that a contact holds. None: there is none,
            and P = Phi P0 Phi^T.

    Raises:
        InputError: a matrix has the wrong shape or is not symmetric and positive semi-definite.
        NonDifferentiableError: an event has no single saltation matrix.
    """
    regained = lin.regained()
    P = regained @ symmetric("P0", P0, lin.dim) @ regained.T
    times: list[Array] = []
    found: list[Array] = []
    for piece in linearized_arcs(lin):
        if piece.variation is None:
            found += [P] * len(piece.times)
        else:
            value = _along_arc(lin, piece.variation, P, noise)
            found += [value(t) for t in piece.times]
            P = found[-1]
        times.append(piece.times)
        if piece.event is not None:
            saltation = piece.event.saltation
            P = saltation @ P @ saltation.T
    return Covariance(np.concatenate(times), stacked(found), P)


def _along_arc(lin: RunDerivative, arc: ArcVariation, P: Array, noise: Noise | None) -> Callable[[float], Array]:
    """t -> covariance on an arc that starts with `P`."""
    if noise is None:
        transition = arc.dense(arc.t0, arc.t1, np.eye(arc.dim))
        return lambda t: _spread(transition(t), P)
    density = weight(f"on the arc from t = {arc.t0:.6g} s: noise", noise, arc.dim, arc.t0)
    return along(lin, partial(covariance_rate, arc, density), P, arc.t0, arc.t1)


def _spread(matrix: Array, P: Array) -> Array:
    spread = matrix @ P @ matrix.T
    return 0.5 * (spread + spread.T)


def covariance_rate(arc: ArcVariation, density: Weight, t: float, P: Array) -> Array:
    """P' = A P + P A^T + W (n, n) on an arc, with the density W of white noise."""
    A = arc.matrices(t)[0]
    return A @ P + P @ A.T + density(t)
