"""Lyapunov exponents of a run."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ..common.arguments import POSITIVE, arguments, optional
from ..common.arrays import Array
from ..derivatives.linearized_event import EventLinearization
from ..derivatives.run_derivative import RunDerivative
from ..errors import InputError
from ..hybrid.trajectory import Trajectory
from .linearization import linearize
from .zero import LOST


@arguments(interval=optional(POSITIVE))
def lyapunov_exponents(run: RunDerivative | Trajectory, interval: float | None = None) -> Array:
    """Mean rates (k,) [1/s] at which neighbours of a run part from it along its k fastest directions, largest first.

    lambda_i = (1 / T) sum log |R_ii| over the pieces of the run, with Q R = D x Q for each arc and each saltation
    matrix (Benettin and others 1980; through events as in Mueller 1995). Exponents of a run in finite time depend on
    where it starts; repeat a periodic orbit, or take a long run. A direction that an event takes away has -infinity.

    Args:
        run: a trajectory, or its linearization.
        interval: arcs are cut into parts of this length [s], for ones on which neighbours part by more than 1e8.

    Returns:
        As many exponents as the smallest dimension of the state along the run.

    Raises:
        InputError: `run` is neither of them, or `interval` is not positive.
        NonDifferentiableError: an event has no single saltation matrix.
    """
    lin = run if isinstance(run, RunDerivative) else linearize(run)
    if not lin.t1 > lin.t0:
        raise InputError(f"the run ends where it starts, at t = {lin.t0:.6g} s; give one that lasts")
    matrices = _matrices(lin, interval)
    kept = min((min(matrix.shape) for matrix in matrices), default=lin.dim)
    frame = lin.widened(np.eye(lin.dim), None).T[:, :kept]
    growth = np.zeros(kept)
    with np.errstate(divide="ignore"):
        for matrix in matrices:
            frame, triangle = np.linalg.qr(matrix @ frame)
            kept_length = np.abs(np.diag(triangle))
            growth += np.log(np.where(kept_length > LOST * np.abs(triangle).max(), kept_length, 0.0))
    return np.sort(growth / (lin.t1 - lin.t0))[::-1]


def _matrices(lin: RunDerivative, interval: float | None) -> list[Array]:
    """The derivative of the run, piece by piece."""
    found = []
    for piece in map(lin.with_memory, lin.pieces):
        if isinstance(piece, EventLinearization):
            found.append(piece.saltation)
            continue
        parts = 1 if interval is None else int(np.ceil((piece.t1 - piece.t0) / interval))
        grid = np.linspace(piece.t0, piece.t1, parts + 1)
        found += [piece.propagate(a, b, np.eye(piece.dim)) for a, b in pairwise(grid)]
    return found
