"""The linear-quadratic regulator along a run, through its events."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..common.arrays import Array
from ..common.lazy import dataclass
from ..common.representation import Brief
from ..errors import InputError
from ..hybrid.trajectory import Trajectory
from .linearized_arcs import LinearizedArc, along, filled, linearized_arcs, stacked
from .matrices import symmetric, weight

if TYPE_CHECKING:
    from ..derivatives.linearized_event import EventLinearization
    from ..derivatives.run_derivative import RunDerivative

Weighting = Array | Callable[[float], Array]


@dataclass(frozen=True, repr=False)
class Policy(Brief):
    """Value and gain along one arc.

    Attributes:
        t0, t1: start and end of the arc [s].
        value: t -> P (n, n).
        gain: t -> K (nu, n).
    """

    t0: float
    t1: float
    value: Callable[[float], Array]
    gain: Callable[[float], Array]


@dataclass(frozen=True, repr=False)
class Riccati(Brief):
    """Linear-quadratic regulator about a run: u = u_ref - K (x (-) x_ref) costs (1/2) dx^T P dx from there on.

    Attributes:
        trajectory: the run.
        t: times (N,) [s]: the samples of the trajectory; both sides of an event share a time.
        P: matrices (N, n, n) of the value; padded with NaN where the dimension differs between modes.
        K: gains (N, nu, n), padded likewise.
        policies: value and gain of each arc that has a duration.
    """

    trajectory: Trajectory
    t: Array
    P: Array
    K: Array
    policies: tuple[Policy, ...]

    def value(self, t: float, side: str = "+") -> Array:
        """P (n, n) at `t`: right limit at an event, left limit with ``side="-"``.

        Raises:
            InputError: `t` lies outside the run.
        """
        return self._policy(t, side).value(t)

    def gain(self, t: float, side: str = "+") -> Array:
        """K (nu, n) at `t`, as `value`."""
        return self._policy(t, side).gain(t)

    def _policy(self, t: float, side: str) -> Policy:
        self.trajectory.arc_at(t, side)  # says what is wrong with them
        k = max(bisect_right([policy.t0 for policy in self.policies], t) - 1, 0)
        while side == "-" and k > 0 and self.policies[k].t0 == t:
            k -= 1
        return self.policies[k]


def riccati(
    lin: RunDerivative,
    Q: Weighting,
    R: Any,
    Q_final: Any,
    across: Callable[[EventLinearization], Array] | None = None,
) -> Riccati:
    """Value and gains that minimise (1/2) dx(T)^T Q_final dx(T) + (1/2) int dx^T Q dx + du^T R du dt along a run.

    -P' = A^T P + P A - P B R^-1 B^T P + Q along arcs, P- = Xi^T P+ Xi at events, K = R^-1 B^T P (Kong and others,
    eq. 40 and appendix D). A run and its neighbours are compared at equal times; what they cost while one has passed
    an event and the other has not is left out, so choose Q small near impacts or take its time-aligned cost with care.

    Args:
        lin: the linearized run.
        Q: weight (n, n) of the state [cost / s], or a function of time.
        R: weight (nu, nu) of the inputs [cost / s]: for a ContactSystem the generalised forces on actuated joints.
        Q_final: weight (n_end, n_end) of the last state [cost].
        across: event -> matrix to take in place of its saltation matrix, for comparisons.

    Raises:
        InputError: the system has no inputs, or a weight has the wrong shape or is not (semi-)definite.
        NonDifferentiableError: an event has no single saltation matrix.
    """
    way = list(linearized_arcs(lin, memory=across is None))
    inverse = np.linalg.inv(symmetric("R", R, _inputs(way[0], way[0].times[0]).shape[1], definite=True))
    P = symmetric("Q_final", Q_final, way[-1].dim)
    found: list[tuple[Array, list[Array], list[Array]]] = []
    policies: list[Policy] = []
    for piece in reversed(way):
        if piece.event is not None:
            matrix = piece.event.saltation if across is None else across(piece.event)
            P = matrix.T @ filled(P, len(matrix)) @ matrix
        if piece.variation is None:
            policy = _instant(piece, P[: piece.dim, : piece.dim], inverse)
        else:
            policy, P = _along_arc(lin, piece, filled(P, piece.variation.dim), inverse, Q)
            policies.append(policy)
        found.append((piece.times, [policy.value(t) for t in piece.times], [policy.gain(t) for t in piece.times]))
    found.reverse()
    times, values, gains = zip(*found, strict=True)
    return Riccati(
        lin.trajectory,
        np.concatenate(times),
        stacked([P for part in values for P in part]),
        stacked([K for part in gains for K in part]),
        tuple(reversed(policies)),
    )


def _along_arc(
    lin: RunDerivative, piece: LinearizedArc, P: Array, inverse: Array, Q: Weighting
) -> tuple[Policy, Array]:
    """Backwards along an arc that ends with `P` (dim, dim); with that where it begins.

    What its mode remembers costs nothing of itself, and nobody knows it: value and gain are those of the state.
    """
    arc, n = piece.variation, piece.dim
    assert arc is not None
    stage = weight(f"on the arc that ends at t = {arc.t1:.6g} s: Q", Q, n, arc.t1)
    _inputs(piece, arc.t1, len(inverse))

    def rate(t: float, P: Array) -> Array:
        A, B = arc.matrix(t), _inputs(piece, t)
        left = P[:, :n] @ B
        return left @ inverse @ left.T - A.T @ P - P @ A - filled(stage(t), len(P))

    whole = along(lin, rate, P, arc.t1, arc.t0)

    def value(t: float) -> Array:
        return whole(t)[:n, :n]

    return Policy(arc.t0, arc.t1, value, lambda t: inverse @ _inputs(piece, t).T @ value(t)), whole(arc.t0)


def _instant(piece: LinearizedArc, P: Array, inverse: Array) -> Policy:
    t = float(piece.times[0])
    gain = inverse @ _inputs(piece, t, len(inverse)).T @ P
    return Policy(t, t, lambda _: P, lambda _: gain)


def _inputs(piece: LinearizedArc, t: float, expected: int | None = None) -> Array:
    """B (n, nu) on an arc."""
    B = piece.input_matrix(t)
    name = type(piece.arc.system).__name__
    if B is None or B.shape[1] == 0:
        raise InputError(
            f"{name} has no inputs in the mode {piece.arc.mode} at t = {t:.6g} s; let Flow.input_matrix say D_u f, or"
            " give the robot actuated joints"
        )
    if expected is not None and B.shape[1] != expected:
        raise InputError(
            f"{name} has {B.shape[1]} inputs in the mode {piece.arc.mode}, and {expected} where the run starts; let all"
            " modes have the same"
        )
    return B
