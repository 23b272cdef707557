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
from .linearized_arcs import along, filled, linearized_arcs, stacked
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
    and resets). What is carried is a root B of P = B B^T, so that rounding makes no variance negative. Units are those
    of the tangent coordinates (dq, dv, dz), one for each index.

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
    root = lin.widened((lin.regained() @ _root(symmetric("P0", P0, lin.dim))).T, None).T
    times: list[Array] = []
    found: list[Array] = []
    for piece in linearized_arcs(lin):
        roots = [root] * len(piece.times)
        if piece.variation is not None:
            value = _along_arc(lin, piece.variation, root, noise)
            roots = [value(t) for t in piece.times]
        found += [_square(one[: piece.dim]) for one in roots]
        times.append(piece.times)
        root = roots[-1] if piece.event is None else piece.event.saltation @ roots[-1]
    return Covariance(np.concatenate(times), stacked(found), _square(lin.narrowed(root.T, None).T))


def _along_arc(lin: RunDerivative, arc: ArcVariation, root: Array, noise: Noise | None) -> Callable[[float], Array]:
    """t -> root of the covariance on an arc that starts with one of it, `root`."""
    if noise is None:
        transition = arc.dense(arc.t0, arc.t1, np.eye(arc.dim))
        return lambda t: transition(t) @ root
    own = weight(f"on the arc from t = {arc.t0:.6g} s: noise", noise, arc.space.dim, arc.t0)
    rate = partial(covariance_rate, arc, lambda t: filled(own(t), arc.dim))
    value = along(lin, rate, _square(root), arc.t0, arc.t1)
    return lambda t: _root(value(t))


def _root(P: Array) -> Array:
    """B (n, n) with B B^T = P, whose negative eigenvalues are rounding; by that of the correlations, free of units."""
    scale = np.sqrt(np.maximum(np.diag(P), 0.0))
    units = np.where(scale > 0.0, scale, 1.0)
    values, vectors = np.linalg.eigh(P / np.outer(units, units))
    return np.asarray(units[:, None] * vectors * np.sqrt(np.maximum(values, 0.0)))


def _square(root: Array) -> Array:
    """P = B B^T, no variance of which is negative."""
    return np.asarray(root @ root.T)


def covariance_rate(arc: ArcVariation, density: Weight, t: float, P: Array) -> Array:
    """P' = A P + P A^T + W (n, n) on an arc, with the density W of white noise."""
    A = arc.matrix(t)
    return A @ P + P @ A.T + density(t)
