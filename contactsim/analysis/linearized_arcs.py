"""The arcs of a linearized run with their samples, and matrix equations along them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from ..common.arrays import Array
from ..common.lazy import dataclass, scipy
from ..common.representation import Brief
from ..derivatives.variational import ArcVariation
from ..errors import InputError, SimulationError
from ..hybrid.integrators import method
from ..hybrid.mode_directions import flow_at, space_of
from ..hybrid.trajectory import Arc

if TYPE_CHECKING:
    from ..derivatives.linearized_event import EventLinearization
    from ..derivatives.run_derivative import RunDerivative


@dataclass(frozen=True, repr=False)
class LinearizedArc(Brief):
    """An arc of the trajectory with its samples, its variational equation, and the event behind it.

    Attributes:
        arc: the arc.
        times: samples (k,) of the arc [s].
        variation: None for an arc without duration; with what its mode remembers, see `RunDerivative.with_memory`.
        event: None where none follows; events at one instant are one, and the first arc has it. Likewise.
    """

    arc: Arc
    times: Array
    variation: ArcVariation | None
    event: EventLinearization | None

    @property
    def dim(self) -> int:
        """Numbers of a variation on the arc."""
        return space_of(self.arc.system, self.arc.mode, self.arc(self.arc.t0)).dim

    def input_matrix(self, t: float) -> Array | None:
        """D_u f (dim, nu), or None where the system has no inputs."""
        if self.variation is not None:
            return self.variation.input_matrix(t)
        x = self.arc(t)
        return flow_at(self.arc.system, self.arc.mode, t, x).input_matrix(t, x)


def linearized_arcs(lin: RunDerivative, memory: bool = True) -> Iterator[LinearizedArc]:
    """The arcs of a linearized run in order; their samples, one after the other, are those of the trajectory.

    With `memory` they are those of variations of what modes remember, too.

    Raises:
        InputError: the linearization carries parameters.
    """
    if lin.carried:
        raise InputError(
            f"this linearization carries the parameters {', '.join(lin.carried)} with its state; take that of"
            " cs.linearize(trajectory), and lin.parameter(name) for a parameter"
        )
    trajectory = lin.trajectory
    pieces = [lin.with_memory(piece) for piece in lin.pieces] if memory else lin.pieces
    variations = iter([piece for piece in pieces if isinstance(piece, ArcVariation)])
    first = {id(piece.events[0]): piece for piece in pieces if not isinstance(piece, ArcVariation)}
    for arc in trajectory.arcs:
        times = np.array([t for t, _ in arc.sample(trajectory.record_period, trajectory.arcs[0].t0)])
        variation = next(variations) if arc.t1 > arc.t0 else None
        event = first.get(id(arc.event))
        yield LinearizedArc(arc, times, variation, event)


def along(
    lin: RunDerivative, rate: Callable[[float, Array], Array], start: Array, t0: float, t1: float
) -> Callable[[float], Array]:
    """t -> symmetric matrix between `t0` and `t1`, in either order, that starts as `start` (n, n) with the rate `rate`.

    Raises:
        SimulationError: it diverges.
    """
    n = len(start)

    def flat_rate(t: float, flat: Array) -> Array:
        return rate(t, flat.reshape(n, n)).ravel()

    with np.errstate(over="ignore", invalid="ignore"):  # a step that is too long is tried, overflows and is refused
        solution = scipy.integrate.solve_ivp(
            flat_rate,
            (t0, t1),
            start.ravel(),
            method=method(lin.integrator),
            dense_output=True,
            rtol=lin.tolerances.rtol,
            atol=lin.tolerances.atol,
            max_step=lin.tolerances.max_step,
        )
    if not (solution.success and np.isfinite(solution.y[:, -1]).all()):
        raise SimulationError(
            f"the matrix equation between t = {t0:.6g} s and {t1:.6g} s diverges ({solution.message}); loosen the"
            " tolerances of linearize or lower the weights"
        )

    def value(t: float) -> Array:
        matrix = solution.sol(t).reshape(n, n)
        return 0.5 * (matrix + matrix.T)

    return value


def filled(matrix: Array, size: int) -> Array:
    """A matrix with zeros behind its rows and columns, up to (size, size)."""
    found = np.zeros((size, size))
    found[: matrix.shape[0], : matrix.shape[1]] = matrix
    return found


def stacked(matrices: list[Array]) -> Array:
    """Matrices (N, rows, columns) as one array, padded with NaN where the dimension differs between modes."""
    rows, columns = (max(matrix.shape[axis] for matrix in matrices) for axis in (0, 1))
    out = np.full((len(matrices), rows, columns), np.nan)
    for k, matrix in enumerate(matrices):
        out[k, : matrix.shape[0], : matrix.shape[1]] = matrix
    return out
