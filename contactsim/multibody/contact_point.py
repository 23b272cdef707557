"""A contact point of a robot and its coefficients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ..common.arrays import Array
from ..errors import InputError
from .mechanism import check_coefficients


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
    """

    frame: str
    offset: tuple[float, float, float] = (0.0, 0.0, 0.0)
    radius: float = 0.0
    friction: float = 0.8
    static_friction: float | None = None
    restitution: float = 0.0
    name: str = ""
    enabled: Callable[[float, Array, Array], float] | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        name = self.name or self.frame
        object.__setattr__(self, "name", name)
        check_coefficients(name, self.friction, self.static_friction, self.restitution)
        offset = np.asarray(self.offset, dtype=float)
        if offset.shape != (3,) or not np.all(np.isfinite(offset)):
            raise InputError(f"contact '{name}' has offset {self.offset!r}; give three finite numbers in metres")
        if not (np.isfinite(self.radius) and self.radius >= 0.0):
            raise InputError(f"contact '{name}' has radius {self.radius}; give a number that is zero or positive")
