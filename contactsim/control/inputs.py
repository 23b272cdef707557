"""Inputs held between samples, with feedback about a reference, as a controller."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np

from ..common.arguments import POSITIVE, REAL, arguments, custom, optional, real_array
from ..common.arrays import Array
from ..errors import InputError
from ..hybrid.differences import tangent_derivative
from ..hybrid.manifold import Manifold
from ..multibody.controllers import Holding
from .drives import HeldInputs, drive_of
from .references import Followed, Place
from .zero import ON_TIME


def _finite(dimensions: int) -> Any:
    def take(given: Any) -> Array:
        found = real_array(given)
        if found.ndim != dimensions or not len(found) or not np.isfinite(found).all():
            raise ValueError
        return np.array(found)

    return take


ROWS = custom("an array (N, nu) of finite numbers", _finite(2))
GAINS = custom("an array (N, nu, n) of finite numbers", _finite(3))


class Inputs(HeldInputs):
    """Inputs u_k held over [k dt, (k+1) dt), with feedback: u = U_k - K_k (x (-) x_ref,k) at each sample.

    Inputs are generalised forces on the actuated joints of a robot (all coordinates of a Mechanism), in the order of
    their velocities; of a robot whose MJCF file has actuators, their controls in the order of that file. Before the
    first row and after the last one those two hold. Its samples are the multiples of `dt` and the start of a run.

    Args:
        U: inputs (N, nu) [N m, N; or the unit of a control].
        dt: how long each is held [s].
        K: gains (N, nu, 2 nv) on the difference of configuration and velocity in tangent coordinates.
        reference: the run about which to feed back, or N states; a run is continued past its impacts, and the state
            compared with the nearer side of them.
        start: time of the first row [s], a multiple of dt.
        limits: least and largest inputs (nu,) each, within which feedback is cut; None: there are none.

    Raises:
        InputError: the shapes do not fit each other or the robot, or there are gains without a reference.
    """

    @arguments(U=ROWS, dt=POSITIVE, K=optional(GAINS), start=REAL)
    def __init__(
        self,
        U: Any,
        dt: float,
        K: Any = None,
        reference: Any = None,
        *,
        start: float = 0.0,
        limits: tuple[Array, Array] | None = None,
    ) -> None:
        if K is not None and K.shape[:2] != U.shape:
            raise InputError(f"K of Inputs has shape {K.shape}; give one gain for each of U, {(*U.shape, '2 nv')}")
        if (K is None) is not (reference is None):
            raise InputError("Inputs feed back by K about a reference; give both of them, or none")
        self.U, self.dt, self.K, self.reference = U, dt, K, reference
        self.period, self.inputs = dt, U.shape[1]
        self.memory = self.inputs
        self.start, self.limits = start, limits
        self._followed = None if reference is None else Followed(reference, start + np.arange(len(U)) * dt)
        self._space: Any = None

    def __repr__(self) -> str:
        return f"Inputs({len(self.U)} of {self.U.shape[1]}, {self.dt:.6g} s)"

    def driving(self, robot: Any) -> Inputs:
        """The inputs of a robot.

        Raises:
            InputError: it has another number of inputs, or the gains are of another size.
        """
        drive = drive_of(robot)
        if self.U.shape[1] != drive.count:
            raise InputError(f"U of Inputs has {self.U.shape[1]} columns; the robot has {drive.count} inputs")
        if self.K is not None and self.K.shape[2] != 2 * robot.nv:
            raise InputError(f"K of Inputs has {self.K.shape[2]} columns; this robot needs 2 nv = {2 * robot.nv}")
        made = copy.copy(self)
        made._drive, made._space = drive, robot.space
        made.memory = drive.count + drive.memory
        return made

    def number(self, t: float) -> int:
        """Number of the row of U that holds at `t`."""
        return min(max(math.floor((t - self.start) / self.dt + ON_TIME), 0), len(self.U) - 1)

    def holding(self) -> Holding | None:
        """The inputs themselves, where they are torques of joints."""
        driven = self._driven.driven
        return None if driven is None else Holding(0, driven)

    # --- the contract of a controller -------------------------------------------------------------------------

    def sample(self, t: float, q: Array, v: Array, z: Array) -> Array:
        """The inputs of the instant, followed by what actuators hold."""
        k = self.number(t)
        u = self.U[k]
        if self._followed is not None:
            place = self._followed.near(k, q, v, self._space)
            u = u - self.K[place.sample] @ self._apart(place, q, v)
            u = u if self.limits is None else np.clip(u, *self.limits)
        return np.concatenate([u, z[self.inputs :]])

    def sample_jacobian(self, t: float, q: Array, v: Array, z: Array, space: Manifold) -> Array:
        """The gains on the state; inputs that were held before are forgotten."""
        nv = len(v)
        matrix = np.zeros((self.memory, 2 * nv + self.memory))
        own = np.arange(self.inputs, self.memory)
        matrix[own, 2 * nv + own] = 1.0
        if self._followed is not None:
            place = self._followed.near(self.number(t), q, v, self._space)
            gain = self.K[place.sample]
            along_q = tangent_derivative(lambda point: self._space.difference(place.q, point), self._space, q)
            matrix[: self.inputs, :nv] = -gain[:, :nv] @ along_q
            matrix[: self.inputs, nv : 2 * nv] = -gain[:, nv:]
            if self.limits is not None:
                u = self.sample(t, q, v, z)[: self.inputs]
                matrix[: self.inputs] *= ((u > self.limits[0]) & (u < self.limits[1]))[:, None]
        return matrix

    def _apart(self, place: Place, q: Array, v: Array) -> Array:
        """x (-) x_ref (2 nv,)."""
        return np.concatenate([self._space.difference(place.q, q), v - place.v])
