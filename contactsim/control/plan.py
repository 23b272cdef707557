"""What an optimisation of inputs found, and how."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..common.arrays import Array
from ..common.representation import Brief
from ..hybrid.trajectory import Trajectory


@dataclass(frozen=True)
class Piece:
    """The linear piece that was taken of an event whose derivative has several.

    Attributes:
        iteration: in which iteration.
        time: of the event [s].
        word: the order in which its guards are met, by contact.
        of: how many pieces there are.
    """

    iteration: int
    time: float
    word: Any
    of: int


@dataclass(frozen=True, repr=False)
class Plan(Brief):
    """Inputs that an optimisation found, with the run under them.

    Attributes:
        U: inputs (N, nu).
        K: gains (N, nu, n) about the run: u = U_k - K_k (x (-) x_k).
        k: what the last backward pass would still change (N, nu).
        costs: cost of the run at the start and after each iteration.
        gradients: largest derivative of the cost by an input that is free, likewise.
        trajectory: the run under the inputs.
        timings: processor time by what it was spent on [s].
        converged: whether the last run is a minimum as exactly as was asked.
        message: how it ended.
        pieces: linear pieces that were taken where events have several.
        dt: how long each input is held [s].
        moves: iterations that went on from a run beside the last one, found by samples.
    """

    U: Array
    K: Array
    k: Array
    costs: tuple[float, ...]
    gradients: tuple[float, ...]
    trajectory: Trajectory
    timings: Mapping[str, float]
    converged: bool
    message: str
    pieces: tuple[Piece, ...]
    dt: float
    moves: tuple[int, ...] = ()

    @property
    def cost(self) -> float:
        """Cost of the run."""
        return self.costs[-1]

    @property
    def iterations(self) -> int:
        """Iterations that were made."""
        return len(self.costs) - 1
