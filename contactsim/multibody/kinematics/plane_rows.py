"""Equations of motion of a robot with the rows of some contacts: what the contacts fix, prepared once.

One sweep over the joints gives mass matrix, forces, Jacobians and the accelerations that velocities alone cause.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pinocchio as pin

from ...common.arrays import Array
from ..forest import Workspace
from ..mechanism import Terms
from ..springs import Passive
from .plane_ground import skew

WORLD_AXES = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
RowsOf = Callable[[float, Array], tuple[Array, Array, Array]]  # (t, v) -> rows (m, nv), rates (m,), bias (m,)


class ContactWorkspace(Workspace):
    """Pinocchio's data, with views of where the contacts are.

    Args:
        model: with a frame at the centre of each contact.
        frames: these frames.
    """

    def __init__(self, model: Any, frames: Sequence[int]) -> None:
        super().__init__(model)
        self.frames = frames
        self.centres = [self.data.oMf[frame].translation for frame in frames]  # they follow the data

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.model, self.frames)


class Motions:
    """M and the forces of a model without contacts: (t, q, v) -> Terms."""

    def __init__(self, model: Any, workspace: Workspace, passive: Passive | None) -> None:
        self.model, self.workspace, self._passive = model, workspace, passive
        self.still = np.zeros(model.nv)
        self._none = np.zeros((0, model.nv)), np.zeros(0), np.zeros(0)

    def inertia(self, data: Any, q: Array, v: Array) -> tuple[Array, Array]:
        """M (nv, nv) and the forces (nv,); leaves the joint Jacobians in the data."""
        mass = data.crba(q)
        force = -data.nonlinear_effects(q, v)
        if self._passive is not None:
            force += self._passive.force(q, v)
        return mass, force

    def __call__(self, t: float, q: Array, v: Array) -> Terms:
        """Equations of motion at a state."""
        return Terms(*self.inertia(self.workspace.data, q, v), *self._none)


class Equations:
    """The same with rows of contacts."""

    def __init__(self, motion: Motions, rows: RowsOf) -> None:
        self._motion, self.rows = motion, rows

    def __call__(self, t: float, q: Array, v: Array) -> Terms:
        """Equations of motion and rows at a state."""
        data = self._motion.workspace.data
        mass, force = self._motion.inertia(data, q, v)
        data.forward_kinematics(q, v, self._motion.still)  # places, velocities, and what these accelerate
        rows, rates, bias = self.rows(t, v)
        return Terms(mass, force, rows, rates, bias)


class NoRows:
    """No contact."""

    def __init__(self, nv: int) -> None:
        self._nv = nv

    def __call__(self, t: float, v: Array) -> tuple[Array, Array, Array]:
        """None."""
        return np.zeros((0, self._nv)), np.zeros(0), np.zeros(0)


class PlaneRows:
    """Rows on a plane: a constant combination of the Jacobians and drift accelerations of the centres.

    Velocity of the contact point of a sphere: v_c + w x (-r n) = v_c + r n x w, and likewise for accelerations, since
    -r n does not turn with the sphere.

    Args:
        motion: the robot.
        frames: frames at the centres of the contacts.
        basis: normal and tangents (1 + d_t, 3).
        normal: of the plane (3,).
        radius: (k,) [m].
        belt: velocity (3,) of the ground's surface [m/s]; None: it does not move.
    """

    def __init__(
        self, motion: Motions, frames: Sequence[int], basis: Array, normal: Array, radius: Array, belt: Array | None
    ) -> None:
        self._motion, self._frames, self._nv = motion, list(frames), motion.model.nv
        self._round = bool(np.any(radius > 0.0))
        width = self._width = 6 if self._round else 3
        dim, turn = len(basis), skew(normal[None])[0]
        self._layout = np.zeros((dim * len(frames), width * len(frames)))
        for k, r in enumerate(radius.tolist()):
            block = self._layout[dim * k : dim * (k + 1), width * k : width * (k + 1)]
            block[:, :3] = basis
            if self._round:
                block[:, 3:] = r * basis @ turn
        self._belt = None if belt is None else np.tile(basis @ belt, len(frames))

    def __call__(self, t: float, v: Array) -> tuple[Array, Array, Array]:
        """Rows, velocities and bias, where the data is up to date."""
        data, width = self._motion.workspace.data, self._width
        jacobians, drifts = [], []
        for frame in self._frames:
            jacobians.append(data.frame_jacobian(frame, WORLD_AXES)[:width])
            drift = data.frame_acceleration(frame, WORLD_AXES)
            drifts.append(drift.vector if self._round else drift.linear)
        rows = self._layout @ np.concatenate(jacobians)
        rates = rows @ v
        if self._belt is not None:
            rates = rates - self._belt
        return rows, rates, self._layout @ np.concatenate(drifts)

    def rates(self, v: Array) -> Array:
        """Velocities alone, where places and velocities in the data are up to date."""
        data = self._motion.workspace.data
        speeds = [data.frame_velocity(frame, WORLD_AXES) for frame in self._frames]
        parts = [speed.vector for speed in speeds] if self._round else [speed.linear for speed in speeds]
        rates = self._layout @ np.concatenate(parts)
        return rates if self._belt is None else rates - self._belt


class WithLimits:
    """Rows of contacts, and behind them those of joint limits."""

    def __init__(self, rows: RowsOf, nv: int, velocities: Sequence[int], signs: Sequence[float]) -> None:
        self._own, self._rows = rows, np.zeros((len(velocities), nv))
        self._rows[range(len(velocities)), list(velocities)] = signs
        self._bias = np.zeros(len(velocities))

    def __call__(self, t: float, v: Array) -> tuple[Array, Array, Array]:
        """Rows, velocities and bias, those of the limits last."""
        rows, rates, bias = self._own(t, v)
        own = self._rows
        return (
            np.concatenate([rows, own]),
            np.concatenate([rates, own @ v]),
            np.concatenate([bias, self._bias]),
        )
