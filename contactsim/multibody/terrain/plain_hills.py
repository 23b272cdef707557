"""Hills as plain data: all that a compiled engine has to know of them."""

from __future__ import annotations

from ...common.arrays import Array
from ...common.lazy import NamedTuple, dataclass


class PlainSinusoid(NamedTuple):
    """Heights a1 sin(a2 x) cos(a3 y) [m], wave numbers [rad/m]."""

    a1: float
    a2: float
    a3: float


class PlainSpline(NamedTuple):
    """Heights between lines x (nx,) and y (ny,) [m], in each cell a polynomial of the way from its lower corner.

    Attributes:
        x, y: the lines.
        cells: coefficients (nx - 1, ny - 1, 4, 4), the power along x first.
    """

    x: Array
    y: Array
    cells: Array


@dataclass(frozen=True, eq=False)
class PlainHills:
    """Hills z = h(x, y), whose material may run along them.

    Attributes:
        heights: h.
        curvature: bound of its second derivatives [1/m].
        velocity: horizontal velocity (2,) of the material [m/s].
        across: unit normal (3,) of the vertical plane in which the robot moves; None: it moves in space.
    """

    heights: PlainSinusoid | PlainSpline
    curvature: float
    velocity: tuple[float, float]
    across: Array | None = None
