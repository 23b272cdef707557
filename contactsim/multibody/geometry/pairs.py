"""A pair of bodies that can touch each other, by the names of a contact point and of a solid."""

from __future__ import annotations

from collections.abc import Callable

from ...common.arguments import NAME, NOT_NEGATIVE, SHARE, arguments, optional
from ...common.arrays import Array
from ...common.lazy import dataclass
from ..mechanism import MARGIN, check_static

HULL_CORNERS = 24  # of the hull of a mesh, unless another number is asked for
CYLINDER_SIDES = 12  # points of a rim on which an end of a cylinder or cone stands that lies flat
EDGES = "/edges"  # behind the name of a solid: all its edges, against those of another one


@arguments(
    first=NAME,
    second=NAME,
    friction=optional(NOT_NEGATIVE),
    static_friction=optional(NOT_NEGATIVE),
    restitution=optional(SHARE),
    enabled=optional(MARGIN),
    rolling=optional(NOT_NEGATIVE),
    torsion=optional(NOT_NEGATIVE),
)
@dataclass(frozen=True)
class ContactPair:
    """Bodies that can touch each other: the contact points of one against the solid shapes of the other.

    Attributes:
        first: a contact point, or a part, frame or body all of whose contact points are meant.
        second: a solid, or a part or frame all of whose solids are meant.
        friction, static_friction, restitution: coefficients of the pair; None: by the rule of `pairing`.
        enabled: (t, q, v) -> margin: an open contact closes only where it is positive; None: always.
        rolling, torsion: coefficients of rolling and torsional friction [m]; None: the larger ones of the two bodies.
    """

    first: str
    second: str
    friction: float | None = None
    static_friction: float | None = None
    restitution: float | None = None
    enabled: Callable[[float, Array, Array], float] | None = None
    rolling: float | None = None
    torsion: float | None = None

    def __post_init__(self) -> None:
        check_static(self.name, self.friction or 0.0, self.static_friction)

    @property
    def name(self) -> str:
        """Name of the contact: FIRST+SECOND."""
        return f"{self.first}+{self.second}"

    @property
    def radius(self) -> float:
        """Of its mark in a picture [m]: none of its own."""
        return 0.0


def of_edges(pair: ContactPair) -> bool:
    """True of a pair that stands for all edges of two solids."""
    return pair.first.endswith(EDGES)
