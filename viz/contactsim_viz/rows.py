"""Rows of a picture: what each node of the page is told of one moment.

A row has eleven numbers; NaN leaves what it stands for as it is:

    x, y, z [m]   quaternion x, y, z, w   scale along x, y, z   visible (0 or 1)
"""

from __future__ import annotations

import numpy as np

from .commands import turn_from_z
from .protocols import Array

COLUMNS = 11
PLACE, TURN, SCALE, VISIBLE = slice(0, 3), slice(3, 7), slice(7, 10), 10
_SHORTEST = 1e-6  # metres; an arrow without length cannot be drawn


def untold(count: int) -> Array:
    """Rows (count, COLUMNS) that leave everything as it is."""
    return np.full((count, COLUMNS), np.nan)


def fill_arrows(rows: Array, vectors: Array, length: Array) -> None:
    """Let arrows have the directions of `vectors` (n, 3) and a `length` (n,) [m].

    The `rows` (n, 3, COLUMNS) are those of each arrow, of its shaft and of its head.
    """
    if not len(rows):
        return
    still = np.zeros((len(length), 2))
    rows[:, 0, TURN] = turn_from_z(vectors)
    rows[:, 1, SCALE] = np.column_stack([still + 1.0, np.maximum(length, _SHORTEST)])
    rows[:, 2, PLACE] = np.column_stack([still, length])
