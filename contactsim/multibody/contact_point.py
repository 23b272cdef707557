"""A contact point of a robot and its coefficients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ..common.arrays import Array
from ..common.doors import NAME, NOT_NEGATIVE, SHARE, TEXT, TRIPLE, door, optional
from .mechanism import MARGIN, check_static


@door(
    frame=NAME,
    offset=TRIPLE,
    radius=NOT_NEGATIVE,
    friction=NOT_NEGATIVE,
    static_friction=optional(NOT_NEGATIVE),
    restitution=SHARE,
    name=TEXT,
    enabled=optional(MARGIN),
    rolling=NOT_NEGATIVE,
    torsion=NOT_NEGATIVE,
)
@dataclass(frozen=True)
class ContactPoint:
    """A point (or small sphere) of a robot that can touch the ground.

    Attributes:
        frame: frame of the model it is fixed to.
        offset: its centre in the frame [m].
        radius: radius of the sphere around the centre [m]; zero for a point.
        friction: kinetic coefficient of friction.
        static_friction: static coefficient, at least the kinetic one; None: the same.
        restitution: Newton's coefficient in [0, 1].
        name: name of the contact; by default the frame's.
        enabled: (t, q, v) -> margin: an open contact closes only where it is positive; None: always.
        rolling: coefficient of rolling friction [m]: a moment of up to rolling times the normal force resists rolling.
        torsion: of torsional friction [m]: as much about the normal resists spinning.

    Rigid laws carry rolling and torsion out as discs of their own beside the cone of friction, each of which sticks or
    slips by itself, |m_t| <= rolling lam_n and |m_n| <= torsion lam_n; their modes and moments go by NAME/rolling and
    NAME/torsion. Compliant laws do not have them.
    """

    frame: str
    offset: tuple[float, float, float] = (0.0, 0.0, 0.0)
    radius: float = 0.0
    friction: float = 0.8
    static_friction: float | None = None
    restitution: float = 0.0
    name: str = ""
    enabled: Callable[[float, Array, Array], float] | None = field(default=None, compare=False)
    rolling: float = 0.0
    torsion: float = 0.0

    def __post_init__(self) -> None:
        name = self.name or self.frame
        object.__setattr__(self, "name", name)
        check_static(name, self.friction, self.static_friction)
