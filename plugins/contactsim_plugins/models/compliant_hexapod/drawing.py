"""Drawing of the compliant hexapod: a body, six springy legs from hip to toe, and the ground.

Source: SimSect manual, 5.4.7.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from contactsim.common.arrays import Array
from contactsim.common.drawing import (
    BLUE,
    DARK,
    GREEN,
    PINK,
    RED,
    Arrow,
    Box,
    Drawing,
    Part,
    Rod,
    Sphere,
    Spring,
    newton_per_metre,
)

from .parameters import LEGS
from .state import FEET, PLACE, ROTATION
from .terrain import Ground

BODY_HEIGHT, COIL, TOE, HIP = 0.05, 0.012, 0.014, 0.018  # of the body, and radii [m]
ARROW = 0.06  # arrow of a sixth of the weight [m]
OVERHANG = 0.04  # of the body over the hips at both ends [m]


def draw(x: Array, stance: Sequence[bool], attach: Array, ground: Ground, force: Array, weight: float) -> Drawing:
    """The robot at a state x (60,); toes and caption say which legs stand.

    The hips are at `attach` (6, 3) in the body [m]; `force` (6, 3) is that of the ground on each toe that stands [N],
    and `weight` that of the body [N].
    """
    R, place, feet = x[ROTATION].reshape(3, 3), x[PLACE], x[FEET].reshape(LEGS, 3)
    hips = attach @ R.T + place
    scale = newton_per_metre(weight / LEGS, ARROW)
    low, high = attach.min(axis=0), attach.max(axis=0)
    sides = high - low + [-HIP, 2.0 * OVERHANG, BODY_HEIGHT]
    parts: dict[str, Part] = {"body": Box(place + R @ (low + high) / 2.0, np.maximum(sides, 2.0 * HIP), R, BLUE)}
    for i in range(LEGS):
        inner = place + R @ (attach[i] * [0.4, 1.0, 1.0])
        parts[f"axle{i}"] = Rod(inner, hips[i], HIP / 2.0, DARK)
        parts[f"leg{i}"] = Spring(feet[i], hips[i], COIL, coils=6, colour=DARK)
        parts[f"toe{i}"] = Sphere(feet[i], TOE, GREEN if stance[i] else RED)
        parts[f"force{i}"] = Arrow(feet[i], force[i] / scale if stance[i] else np.zeros(3), TOE / 3.0)
    standing = ", ".join(str(i) for i in range(LEGS) if stance[i])
    return Drawing(
        parts,
        focus=place,
        caption=f"stance: legs {standing}" if standing else "flight",
        legend={"toe in flight": RED, "in stance": GREEN, f"force, 1 m = {scale:g} N": PINK},
        ground=ground.height,
        sight=(1.0, -0.9, 0.6),
    )
