"""A contact point of a robot and its coefficients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ..common.arrays import Array
from ..common.doors import NAME, NOT_NEGATIVE, SHARE, TEXT, TRIPLE, door, either, optional, tuples
from ..errors import InputError
from .mechanism import MARGIN, check_static, kinetic_of


@door(
    frame=NAME,
    offset=TRIPLE,
    radius=NOT_NEGATIVE,
    friction=either(NOT_NEGATIVE, tuples(2, words="two positive numbers")),
    static_friction=optional(NOT_NEGATIVE),
    restitution=SHARE,
    name=TEXT,
    enabled=optional(MARGIN),
    rolling=NOT_NEGATIVE,
    torsion=NOT_NEGATIVE,
    friction_axis=TRIPLE,
    stribeck=NOT_NEGATIVE,
)
@dataclass(frozen=True)
class ContactPoint:
    """A point (or small sphere) of a robot that can touch the ground.

    Attributes:
        frame: frame of the model it is fixed to.
        offset: its centre in the frame [m].
        radius: radius of the sphere around the centre [m]; zero for a point.
        friction: kinetic coefficient of friction; two of an elliptic cone, along `friction_axis` and across it.
        static_friction: static coefficient, at least the kinetic one; None: the same. Of an elliptic cone, along the
            axis with the larger kinetic one; the other is in proportion.
        restitution: Newton's coefficient in [0, 1].
        name: name of the contact; by default the frame's.
        enabled: (t, q, v) -> margin: an open contact closes only where it is positive; None: always.
        rolling: coefficient of rolling friction [m]: a moment of up to rolling times the normal force resists rolling.
        torsion: of torsional friction [m]: as much about the normal resists spinning.
        friction_axis: direction in the frame, laid onto the plane of contact, along which the first of two coefficients
            holds.
        stribeck: speed v_S [m/s] with which friction falls from the static to the kinetic coefficient under rigid laws,
            mu_k + (mu_s - mu_k) exp(-|z_t|^2 / v_S^2); zero: at once.

    Rigid laws carry rolling and torsion out as discs of their own beside the cone of friction, each of which sticks or
    slips by itself, |m_t| <= rolling lam_n and |m_n| <= torsion lam_n; their modes and moments go by NAME/rolling and
    NAME/torsion. Compliant laws do not have them.
    """

    frame: str
    offset: tuple[float, float, float] = (0.0, 0.0, 0.0)
    radius: float = 0.0
    friction: float | tuple[float, float] = 0.8
    static_friction: float | None = None
    restitution: float = 0.0
    name: str = ""
    enabled: Callable[[float, Array, Array], float] | None = field(default=None, compare=False)
    rolling: float = 0.0
    torsion: float = 0.0
    friction_axis: tuple[float, float, float] = (1.0, 0.0, 0.0)
    stribeck: float = 0.0

    def __post_init__(self) -> None:
        name = self.name or self.frame
        object.__setattr__(self, "name", name)
        if isinstance(self.friction, tuple):
            if not min(self.friction) > 0.0:
                raise InputError(
                    f"contact '{name}' has the friction {self.friction}; give two positive numbers, or one for both"
                )
            if not any(self.friction_axis):
                raise InputError(f"contact '{name}' has the friction_axis {self.friction_axis}; give a direction")
        check_static(name, kinetic_of(self), self.static_friction)
