"""What a mode holds, and what becomes of a state that misses it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..common.arrays import Array
from ..common.lazy import lazy
from ..common.representation import Brief


@dataclass(frozen=True, repr=False)
class Held(Brief):
    """The constraints of a mode to first order, at a state that keeps them: those of places, then those of velocities.

    Attributes:
        names: what touches, one for each constraint of places (k,).
        rows: their derivatives by the state (m, n), those of places first.
        pull: (n, m), by what a state is moved, for each unit that it misses them, until the mode holds again.
        loose: {what stays at rest by static friction alone: its rows (d, n)}: moved, it slips on, however little.
        misses: system -> (m,), by how much this state misses them there: those of a system with other parameters.
    """

    names: tuple[str, ...]
    rows: Array
    pull: Array
    misses: Callable[[Any], Array]
    loose: Mapping[str, Array] = field(default_factory=dict)

    @property
    def gaps(self) -> Array:
        """Derivatives (k, n) of the constraints of places."""
        return self.rows[: len(self.names)]

    @lazy
    def regained(self) -> Array:
        """(n, n): what remains of a variation once the mode holds again; those that keep its constraints remain."""
        return np.eye(len(self.pull)) - self.pull @ self.rows
