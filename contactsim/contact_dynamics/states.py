"""States of systems with contacts: configuration, velocity and memory, as users and as flows see them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..common.arrays import Array
from ..common.doors import ANY_NUMBERS
from ..hybrid.manifold import Manifold


@dataclass(frozen=True)
class State:
    """State of a ContactSystem; of several instants at once where a trajectory is asked for them, each part (T, n).

    Attributes:
        q: configuration (nq,).
        v: velocity (nv,), in pinocchio's convention (a free-flyer's twist is in its own frame).
        z: memory of the controller and of the contact law, empty by default.
    """

    q: Array
    v: Array
    z: Array = field(default_factory=lambda: np.empty(0))

    def __post_init__(self) -> None:
        for name in ("q", "v", "z"):
            value = ANY_NUMBERS.check(f"State.{name}", getattr(self, name))
            object.__setattr__(self, name, np.atleast_1d(value) if value.size or value.ndim == 2 else np.empty(0))


class StateSpace(Manifold):
    """Configurations of a mechanism with velocities and memory."""

    def __init__(self, configurations: Manifold, nv: int, memory: int) -> None:
        self._configurations = configurations
        self._nq, self._nv = configurations.size, nv
        self.size, self.dim = configurations.size + nv + memory, configurations.dim + nv + memory

    def integrate(self, x: Array, dx: Array) -> Array:
        """(q (+) dq, v + dv, z + dz)."""
        q = self._configurations.integrate(x[: self._nq], dx[: self._nv])
        return np.concatenate((q, x[self._nq :] + dx[self._nv :]))

    def difference(self, x0: Array, x1: Array) -> Array:
        """(q1 (-) q0, v1 - v0, z1 - z0)."""
        dq = self._configurations.difference(x0[: self._nq], x1[: self._nq])
        return np.concatenate([dq, x1[self._nq :] - x0[self._nq :]])

    def chart_rate(self, dx: Array, rate: Array) -> Array:
        """Rate of the chart coordinates: only those of the configuration are curved."""
        own = rate[: self._nv]
        curved = self._configurations.chart_rate(dx, own)  # of which it reads the first numbers
        if curved is not own:
            own[:] = curved
        return rate

    def within_chart(self, dx: Array) -> bool:
        """True while the configuration's chart is well conditioned."""
        return self._configurations.within_chart(dx[: self._nv])

    def bracket(self, rate: Array) -> Array | None:
        """That of the configurations at the velocity in `rate` (v, a, z'); velocities and memory commute."""
        own = self._configurations.bracket(rate[: self._nv])
        if own is None:
            return None
        out = np.zeros((self.dim, self.dim))
        out[: self._nv, : self._nv] = own
        return out
