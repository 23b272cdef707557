"""The configuration manifold of a pinocchio model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin

from ..hybrid import Array, Manifold

CHART_RADIUS = 1.0  # rotation at which a new chart is started [rad]; exp is singular only at 2 pi


class ConfigurationSpace(Manifold):
    """Configurations of a model: a Lie group, whose tangent vectors are written in the body frames.

    The inverse differential of its exponential map is exact: pinocchio's Jlog6 for a free-flyer, Jlog3 for a spherical
    joint, that of SE(2) for a planar joint, and the identity where a joint commutes with itself.
    """

    def __init__(self, model: Any) -> None:
        self._model = model
        self.size, self.dim = model.nq, model.nv
        self._free: list[slice] = []
        self._spherical: list[slice] = []
        self._other: list[slice] = []
        rotations: list[int] = []
        for i in range(1, model.njoints):
            joint = model.joints[i]
            part = slice(joint.idx_v, joint.idx_v + joint.nv)
            kind = joint.shortname()
            if kind == "JointModelFreeFlyer":
                self._free.append(part)
                rotations += range(part.start + 3, part.stop)
            elif kind == "JointModelSpherical":
                self._spherical.append(part)
                rotations += range(part.start, part.stop)
            elif joint.nv > 1 and joint.nq != joint.nv:
                self._other.append(part)
                rotations += range(part.start, part.stop)
        self._rotations = np.array(rotations, dtype=int)
        self._flat = not (self._free or self._spherical or self._other)

    def integrate(self, x: Array, dx: Array) -> Array:
        """Configuration reached from `x` (nq,) along `dx` (nv,)."""
        return pin.integrate(self._model, x, dx)

    def difference(self, x0: Array, x1: Array) -> Array:
        """Tangent vector (nv,) from `x0` to `x1`."""
        return pin.difference(self._model, x0, x1)

    def chart_rate(self, dx: Array, rate: Array) -> Array:
        """dexp^-1 of `dx` on the body velocity `rate`."""
        if self._flat:
            return rate
        out = rate.copy()
        for part in self._free:
            out[part] = pin.Jlog6(pin.exp6(dx[part])) @ rate[part]
        for part in self._spherical:
            out[part] = pin.Jlog3(pin.exp3(dx[part])) @ rate[part]
        if self._other:
            # d(x0 (+) dx) = J d(dx) in the body frame, J the right Jacobian of the exponential.
            jacobian = pin.dIntegrate(self._model, pin.neutral(self._model), dx, pin.ArgumentPosition.ARG1)
            for part in self._other:
                out[part] = np.linalg.solve(jacobian[part, part], rate[part])
        return out

    def within_chart(self, dx: Array) -> bool:
        """Whether all rotations are smaller than CHART_RADIUS."""
        return self._flat or float(np.abs(dx[self._rotations]).max()) < CHART_RADIUS
