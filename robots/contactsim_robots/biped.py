"""The compass gait of McGeer and Goswami: two straight legs that walk down a slope without a motor."""

from __future__ import annotations

from dataclasses import dataclass
from math import cos, sin
from pathlib import Path
from typing import Any

import numpy as np

from .entry import Array, Demo, RobotEntry, foot

SLOPE = 0.0525
"""Angle of the slope, rad."""
STANCE_ANGLE = -0.21877461798032
"""Angle of the leading leg just after heel strike, rad from the vertical, positive downhill."""
STANCE_RATE = 1.09286681058010
SWING_RATE = 0.37613459353077
"""Angular velocities of the leading and of the trailing leg just after heel strike, rad/s."""
CLEARANCE = 0.1
"""Distance by which a foot has to be ahead of the other one before it may land, m."""
STRADDLE = 0.25
"""Angle of each leg from the vertical in the nominal configuration, rad."""


@dataclass(frozen=True)
class Ahead:
    """Margin that lets a foot land only well ahead of the other foot: x_foot - x_other - CLEARANCE, m.

    Legs of equal length scuff: the swinging foot dips below the slope behind the stance foot and emerges where the
    legs cross. From there to heel strike it is above the ground, and a foot that has just lifted off is behind, so
    the margin is negative while the foot rises and scuffs and positive from well before the strike on.

    Args:
        side: +1 for the left foot, -1 for the right one.
    """

    side: int

    def __call__(self, t: float, q: Array, v: Array) -> float:
        """Evaluate the margin, m, at q = (x, z, left angle, hip angle)."""
        return float(self.side * (sin(q[2] + q[3]) - sin(q[2])) - CLEARANCE)

    @property
    def sines(self) -> tuple[float, tuple[Any, ...]]:
        """The same as data: -CLEARANCE + side sin(q_2 + q_3) - side sin(q_2)."""
        return -CLEARANCE, ((self.side, 0.0, ((2, 1.0), (3, 1.0))), (-self.side, 0.0, ((2, 1.0),)))


def nominal(model: Any) -> Array:
    """Both feet on the floor, the left one ahead: q = (x, z, left angle, hip angle), m and rad."""
    return np.array([0.0, cos(STRADDLE), -STRADDLE, 2.0 * STRADDLE])


def walk(model: Any) -> Demo:
    """The limit cycle from just after heel strike, left foot at the origin, right foot behind and rising.

    Source: parameters of Drake's ``examples/compass_gait``; fixed point, period 0.734460621336439 s and step length
    0.535919318793802 m recomputed to all digits (multipliers -0.2022 +- 0.5434i and 0.1314: the walk is stable).
    """
    swing_angle = 2.0 * SLOPE - STANCE_ANGLE
    q = np.array([sin(STANCE_ANGLE), cos(STANCE_ANGLE), STANCE_ANGLE, swing_angle - STANCE_ANGLE])
    v = np.array([cos(STANCE_ANGLE), -sin(STANCE_ANGLE), 1.0, -1.0]) * STANCE_RATE
    v[3] += SWING_RATE
    return Demo(q, v, time=5.0, slope=SLOPE, feet=_feet(Ahead(+1), Ahead(-1)))


def _feet(left: Ahead | None, right: Ahead | None) -> tuple[dict[str, Any], ...]:
    """The two contacts, with margins that say when each of them may land."""
    return (
        foot("left_foot", "left", friction=2.0, enabled=left),
        foot("right_foot", "right", friction=2.0, enabled=right),
    )


ENTRY = RobotEntry(
    name="biped",
    description="planar compass-gait walker, 20 kg, walks down a slope of 0.0525 rad",
    path=Path(__file__).with_name("biped.urdf"),
    root="planar",
    package_dirs=(),
    feet=_feet(None, None),
    nominal=nominal,
    demo=walk,
)
