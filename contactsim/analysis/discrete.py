"""A run in discrete time: how the state at each instant depends on the last one and on the inputs held between them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ..common.arguments import NUMBERS
from ..common.arrays import Array
from ..common.lazy import dataclass
from ..common.representation import Brief
from ..common.telling import tell
from ..common.threads import one_thread
from ..derivatives.linearized_event import EventLinearization
from ..errors import InputError
from .matrices import symmetric

if TYPE_CHECKING:
    from ..derivatives.run_derivative import RunDerivative

Choice = Callable[[EventLinearization], Array]


@dataclass(frozen=True, repr=False)
class Discrete(Brief):
    """dx_{k+1} = A_k dx_k + B_k du_k between instants of a run, through the events between them.

    Attributes:
        times: the instants (N + 1,) [s].
        A: (N, n, n), n numbers (dq, dv, memory) without the inputs that are held.
        B: (N, n, nu).
    """

    times: Array
    A: Array
    B: Array

    def lqr(self, Q: Any, R: Any, Q_final: Any) -> DiscreteGains:
        """Gains that minimise (1/2) sum (dx_k' Q dx_k + du_k' R du_k) + (1/2) dx_N' Q_final dx_N.

        P_k = Q + A^T P A - A^T P B K, K = (R + B^T P B)^-1 B^T P A, from the end backwards; du_k = -K_k dx_k.

        Args:
            Q: weight (n, n) of the state at each instant but the last.
            R: weight (nu, nu) of the inputs of each interval, positive definite.
            Q_final: weight (n, n) of the state at the last instant.

        Raises:
            InputError: a weight has the wrong shape or is not (semi-)definite.
        """
        n, nu = self.B.shape[1:]
        Q, P = symmetric("Q", Q, n), symmetric("Q_final", Q_final, n)
        R = symmetric("R", R, nu, definite=True)
        values, gains = [P], []
        for A, B in zip(self.A[::-1], self.B[::-1], strict=True):
            K = np.linalg.solve(R + B.T @ P @ B, B.T @ P @ A)
            P = Q + A.T @ P @ (A - B @ K)
            P = 0.5 * (P + P.T)
            values.append(P)
            gains.append(K)
        return DiscreteGains(self.times, np.array(values[::-1]), np.array(gains[::-1]))


@dataclass(frozen=True, repr=False)
class DiscreteGains(Brief):
    """Linear-quadratic regulator in discrete time: du_k = -K_k dx_k costs (1/2) dx_k' P_k dx_k from there on.

    Attributes:
        times: the instants (N + 1,) [s].
        P: (N + 1, n, n).
        K: (N, nu, n).
    """

    times: Array
    P: Array
    K: Array


def discrete(lin: RunDerivative, times: Any, choice: Choice | None = None) -> Discrete:
    """The run in discrete time; see `Linearization.discrete`.

    Args:
        lin: the linearized run.
        times: instants (N + 1,) [s], rising.
        choice: event -> the matrix to take of it; by default its saltation matrix, with what modes remember.
    """
    grid = np.asarray(NUMBERS.check("the times of discrete", times), dtype=float)
    if grid.ndim != 1 or len(grid) < 2 or (np.diff(grid) <= 0.0).any():
        raise InputError("the times of discrete are not a rising series of at least two numbers; give the samples of U")
    _tell_of_memories(lin, grid)
    held, kept = layout(lin.trajectory.system)
    A, B, by_state, by_input = [], [], np.ix_(kept, kept), np.ix_(kept, held)
    with one_thread():
        for start, end in pairwise(grid.tolist()):
            matrix = _between(lin, start, end, held, choice)
            A.append(matrix[by_state])
            B.append(matrix[by_input])
    return Discrete(grid, np.array(A), np.array(B))


def _tell_of_memories(lin: RunDerivative, times: Array) -> None:
    """Warn of instants between the first and the last one at which the state of a neighbour is not all of it."""
    for k, t in enumerate(times[:-1].tolist()):
        if k and lin.remembers(t):
            tell(
                f"times[{k}] = {t:.9g} s lies where the mode remembers its begin, as that of a slip does which stops"
                f" along a held direction: A[{k}] leaves out how neighbours turn that; leave this instant out of times",
            )


def layout(system: Any) -> tuple[Array, Array]:
    """Places of the held inputs in a tangent state, and those of its other numbers.

    Raises:
        InputError: the controller of the system holds no inputs.
    """
    controller = getattr(getattr(system, "world", None), "controller", None)
    count = 0 if controller is None else controller.inputs
    if not count:
        raise InputError("the run is not one under inputs that are held; drive it by cs.Inputs(U, dt)")
    first = 2 * system.nv
    held = np.arange(first, first + count)
    return held, np.setdiff1d(np.arange(system.tangent_size), held)


def _between(lin: RunDerivative, start: float, end: float, held: Array, choice: Choice | None) -> Array:
    """Derivative (dim, dim) of the state at `end` by that behind `start`, samples between them left out."""
    matrix, inputs = np.eye(lin.dim), slice(held[0], held[-1] + 1)
    take = choice or (lambda event: event.saltation)
    if choice is None:
        matrix = lin.widened(matrix, start).T
    for stretch in lin.followed(start, end) if choice is None else lin.stretches(start, end):
        if not isinstance(stretch.piece, EventLinearization):
            matrix = lin.along(stretch) @ matrix
            continue
        event = np.array(take(stretch.piece))
        event[inputs] = 0.0
        if _samples(stretch.piece):
            event[:, inputs] = 0.0
        event[held, held] = 1.0
        matrix = event @ matrix
    return lin.narrowed(matrix.T, end).T


def partial_to(lin: RunDerivative, start: float, event: EventLinearization, along: Array) -> tuple[Array, Array]:
    """A linear form (dim,) of the state before an event, as one of the state (n,) and the held inputs (nu,) at `start`.

    Args:
        lin: the linearized run.
        start: time before the event [s], with no other sample between them.
        event: the event.
        along: the form.
    """
    held, kept = layout(lin.trajectory.system)
    matrix = lin.widened(np.eye(lin.dim), start).T
    for stretch in lin.stretches(start, float(event.time)):
        if stretch.piece is event:
            break
        stretch = lin.with_memory_in(stretch)
        piece = stretch.piece
        matrix = (piece.saltation if isinstance(piece, EventLinearization) else lin.along(stretch)) @ matrix
    whole = along @ matrix[: len(along)]
    return whole[kept], whole[held]


def _samples(event: EventLinearization) -> bool:
    """True where a controller takes a sample at an event."""
    world = event.data.root.system.world  # type: ignore[attr-defined]
    return bool(event.data.root.clock and world.driving.is_sampling(event.time))
