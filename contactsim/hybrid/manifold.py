"""The spaces that states live in."""

from __future__ import annotations

from abc import ABC, abstractmethod

from ..common.arguments import INDEX, arguments
from ..common.arrays import Array


class Manifold(ABC):
    """The space a state lives in: `size` numbers describe a point, `dim` numbers a tangent vector."""

    size: int
    dim: int

    @abstractmethod
    def integrate(self, x: Array, dx: Array) -> Array:
        """Point reached from `x` (size,) along the tangent vector `dx` (dim,): x (+) dx."""

    @abstractmethod
    def difference(self, x0: Array, x1: Array) -> Array:
        """Tangent vector (dim,) that leads from `x0` to `x1`: x1 (-) x0."""

    @abstractmethod
    def chart_rate(self, dx: Array, rate: Array) -> Array:
        """Rate (dim,) of the chart coordinate dx of x0 (+) dx that moves with the body rate `rate` (dim,): dexp^-1."""

    def within_chart(self, dx: Array) -> bool:
        """True where the chart is still well conditioned at `dx`; elsewhere a new one is started."""
        return True

    def bracket(self, rate: Array) -> Array | None:
        """Matrix ad(rate) (dim, dim) of the Lie bracket: a variation obeys d(dx)/dt = D_x f dx - ad(f) dx.

        None where tangent vectors commute, as in R^n.
        """
        return None


class Euclidean(Manifold):
    """R^n: points and tangent vectors are plain arrays."""

    @arguments(dim=INDEX)
    def __init__(self, dim: int) -> None:
        self.size = self.dim = dim

    def integrate(self, x: Array, dx: Array) -> Array:
        """Sum of `x` and `dx`."""
        return x + dx

    def difference(self, x0: Array, x1: Array) -> Array:
        """Difference of `x1` and `x0`."""
        return x1 - x0

    def chart_rate(self, dx: Array, rate: Array) -> Array:
        """The rate itself: the chart of a vector space is flat."""
        return rate
