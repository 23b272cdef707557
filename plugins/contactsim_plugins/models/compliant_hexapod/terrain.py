"""The three grounds of the manual: height and normal as functions of x and y.

Source: SimSect manual, Table 3.
"""

from __future__ import annotations

import numpy as np

from contactsim.common.arrays import Array
from contactsim.common.lazy import NamedTuple


class Ground(NamedTuple):
    """Ground h(x, y) [m] of a kind with three arguments.

    Attributes:
        kind: "flat", h = 0; "sinusoid", h = a1 sin(a2 x) cos(a3 y); "sloped", h = a1 x + a2 y + a3 for y > 0, else a3.
        a1, a2, a3: arguments, in the units that make h metres.
    """

    kind: str
    a1: float = 0.0
    a2: float = 0.0
    a3: float = 0.0

    def height(self, points: Array) -> Array:
        """Height (...) below points (..., 3) [m]."""
        x, y = points[..., 0], points[..., 1]
        if self.kind == "flat":
            return np.zeros(x.shape)
        if self.kind == "sinusoid":
            return self.a1 * np.sin(self.a2 * x) * np.cos(self.a3 * y)
        return np.where(y > 0.0, self.a1 * x + self.a2 * y, 0.0) + self.a3

    def normal(self, points: Array) -> Array:
        """Unit normal (..., 3) of the ground below points (..., 3), upwards."""
        x, y = points[..., 0], points[..., 1]
        out = np.zeros(points.shape)
        out[..., 2] = 1.0
        if self.kind == "sinusoid":
            out[..., 0] = -self.a1 * self.a2 * np.cos(self.a2 * x) * np.cos(self.a3 * y)
            out[..., 1] = self.a1 * self.a3 * np.sin(self.a2 * x) * np.sin(self.a3 * y)
        elif self.kind == "sloped":
            out[..., 0] = np.where(y > 0.0, -self.a1, 0.0)
            out[..., 1] = np.where(y > 0.0, -self.a2, 0.0)
        return out / np.linalg.norm(out, axis=-1, keepdims=True)
