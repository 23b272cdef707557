"""Equations of motion of a robot on a plane with the rows of some contacts: what the contacts fix, prepared once.

One sweep over the joints gives mass matrix, forces, Jacobians and the accelerations that velocities alone cause. Where
a mode allows it, Pinocchio's own dynamics are quicker: articulated bodies in flight, and points that stick.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pinocchio as pin

from ...common.arrays import Array
from ...common.lazy import NamedTuple
from ..forest import Workspace
from ..mechanism import Shortcut, Terms
from .plane_ground import skew

if TYPE_CHECKING:
    from ..springs import Passive

WORLD_AXES = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED


class RowsOf(Protocol):
    """Rows of some contacts, where places and velocities in pinocchio's data are up to date."""

    def __call__(self, t: float, v: Array) -> tuple[Array, Array, Array]:
        """Rows (m, nv), velocities (m,), and bias (m,), for which accelerations have to be up to date, too."""

    def rates(self, t: float, v: Array) -> Array:
        """Velocities (m,) alone."""


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

    def rates(self, t: float, v: Array) -> Array:
        """None."""
        return np.zeros(0)


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

    def rates(self, t: float, v: Array) -> Array:
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

    def rates(self, t: float, v: Array) -> Array:
        """Velocities alone, those of the limits last."""
        return np.concatenate([self._own.rates(t, v), self._rows @ v])


# --- the dynamics of Pinocchio itself: (q, v, applied) -> (acceleration, forces when asked) ---------------------------
def no_forces() -> Array:
    """Those of no contacts (0,)."""
    return np.zeros(0)


class FreeDynamics:
    """A robot in flight."""

    def __init__(self, workspace: Workspace, passive: Passive | None) -> None:
        self._workspace, self._passive = workspace, passive
        self._nothing = np.zeros(workspace.model.nv)

    def __call__(self, q: Array, v: Array, applied: Array | None) -> tuple[Array, Callable[[], Array]]:
        """Acceleration (nv,), and the forces (m,) when asked."""
        tau = self._nothing if applied is None else applied
        if self._passive is not None:
            tau = tau + self._passive.force(q, v)
        return self._workspace.data.aba(q, v, tau), no_forces


class PartDynamics(NamedTuple):
    """The dynamics of some trees of a model.

    Attributes:
        dynamics: without dampers and springs.
        q, v: their places in a configuration and in a velocity of the whole.
        contacts: places of their contacts among those that stick.
    """

    dynamics: Shortcut
    q: slice
    v: slice
    contacts: list[int]


class SplitDynamics:
    """A robot of many trees whose points stick to the ground: each group of trees by itself.

    Args:
        parts: the groups.
        count: number of points that stick.
        nv: of the whole.
        passive: dampers and springs of the joints; None: there are none.
    """

    def __init__(self, parts: Sequence[PartDynamics], count: int, nv: int, passive: Passive | None) -> None:
        self._parts, self._count, self._passive = parts, count, passive
        self._nothing = np.zeros(nv)

    def __call__(self, q: Array, v: Array, applied: Array | None) -> tuple[Array, Callable[[], Array]]:
        """Acceleration (nv,), and the forces (m,) when asked."""
        tau = self._nothing if applied is None else applied
        if self._passive is not None:
            tau = tau + self._passive.force(q, v)
        found = [part.dynamics(q[part.q], v[part.v], tau[part.v]) for part in self._parts]

        def forces() -> Array:
            along = np.zeros((self._count, 3))
            for part, (_, own) in zip(self._parts, found, strict=True):
                along[part.contacts] = own().reshape(-1, 3)
            return along.reshape(-1)

        return np.concatenate([acceleration for acceleration, _ in found]), forces


class Constraints(threading.local):
    """Pinocchio's data of some points that are held, for the thread that asks.

    Args:
        model: the robot.
        points: joint and place on it (3,) [m] of each.
    """

    def __init__(self, model: Any, points: Sequence[tuple[int, Array]]) -> None:
        self.model, self.data, self.points = model, pin.Data(model), points
        self.models, self.datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
        for joint, place in points:
            constraint = pin.RigidConstraintModel(
                pin.ContactType.CONTACT_3D,
                model,
                joint,
                pin.SE3(np.eye(3), place),
                pin.ReferenceFrame.LOCAL_WORLD_ALIGNED,
            )
            self.models.append(constraint)
            self.datas.append(constraint.createData())
        pin.initConstraintDynamics(model, self.data, self.models, self.datas)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.model, self.points)


class ConstrainedDynamics:
    """A robot whose points stick to a plane with the normal and tangents `basis` (3, 3)."""

    def __init__(
        self,
        model: Any,
        points: Sequence[tuple[int, Array]],
        basis: Array,
        passive: Passive | None,
    ) -> None:
        self._model, self._basis, self._passive = model, basis, passive
        self._constraints, self._nothing = Constraints(model, points), np.zeros(model.nv)

    def __call__(self, q: Array, v: Array, applied: Array | None) -> tuple[Array, Callable[[], Array]]:
        """Acceleration (nv,), and the forces (m,) when asked."""
        held = self._constraints
        tau = self._nothing if applied is None else applied
        if self._passive is not None:
            tau = tau + self._passive.force(q, v)
        acceleration = pin.constraintDynamics(self._model, held.data, q, v, tau, held.models, held.datas)
        multipliers = held.data.lambda_c.copy()
        return acceleration, lambda: (multipliers.reshape(-1, 3) @ self._basis.T).reshape(-1)


class RollingConstraints(Constraints):
    """The same for points of spheres that roll: held at any one time where the spheres touch.

    Args:
        model: the robot, with a frame at the centre of each sphere.
        points: joint and centre on it (3,) [m] of each.
        frames: frames at the centres.
    """

    def __init__(self, model: Any, points: Sequence[tuple[int, Array]], frames: Sequence[int]) -> None:
        super().__init__(model, points)
        self.frames = frames
        self.factors = pin.ConstraintCholeskyDecomposition(model, self.data, self.models, self.datas)
        self.centres = [self.data.oMf[frame].translation for frame in frames]  # these follow the data
        self.touching = [state.oMc1.translation for state in self.datas]  # these set it

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.model, self.points, self.frames)


class RollingDynamics:
    """A robot whose spheres stick to a plane: they roll on it.

    The point of a sphere that touches has the velocity v_c + r n x w, whose rate is that of its centre's and spin's:

        [ 0    J ] [ -lam ]   [ -(drift of v_c + r n x w) ]
        [ J^T  M ] [   a  ] = [  tau - h                  ]

    solved by pinocchio's sparse Cholesky factors of the whole (Carpentier, Budhiraja, Mansard, RSS 2021).

    Args:
        model: the robot, with a frame at the centre of each sphere.
        points: joint and centre on it (3,) [m] of each.
        frames: frames at the centres.
        radius: radii (k,) [m].
        basis: normal and tangents (3, 3).
        passive: dampers and springs of the joints; None: there are none.
    """

    def __init__(
        self,
        model: Any,
        points: Sequence[tuple[int, Array]],
        frames: Sequence[int],
        radius: Array,
        basis: Array,
        passive: Passive | None,
    ) -> None:
        self._model, self._frames, self._basis, self._passive = model, frames, basis, passive
        self._held, self._still = RollingConstraints(model, points, frames), np.zeros(model.nv)
        self._below = list(radius[:, None] * basis[0])
        self._size = 3 * len(frames)
        self._against = np.zeros((self._size, 6 * len(frames)))
        for k, r in enumerate(radius.tolist()):
            block = self._against[3 * k : 3 * k + 3, 6 * k : 6 * k + 6]
            block[:, :3], block[:, 3:] = -np.eye(3), -r * pin.skew(basis[0])

    def __call__(self, q: Array, v: Array, applied: Array | None) -> tuple[Array, Callable[[], Array]]:
        """Acceleration (nv,), and the forces (m,) when asked."""
        model, held, data = self._model, self._held, self._held.data
        pin.crba(model, data, q, pin.Convention.WORLD)
        nonlinear = pin.nonLinearEffects(model, data, q, v)
        force = -nonlinear if applied is None else applied - nonlinear
        if self._passive is not None:
            force += self._passive.force(q, v)
        pin.forwardKinematics(model, data, q, v, self._still)
        drifts = [pin.getFrameClassicalAcceleration(model, data, frame, WORLD_AXES).vector for frame in self._frames]
        pin.updateFramePlacements(model, data)
        for place, centre, below in zip(held.touching, held.centres, self._below, strict=True):
            np.subtract(centre, below, out=place)
        held.factors.compute(model, data, held.models, held.datas)
        solution = held.factors.solve(np.concatenate((self._against @ np.concatenate(drifts), force)))
        return solution[self._size :], lambda: -(solution[: self._size].reshape(-1, 3) @ self._basis.T).reshape(-1)
