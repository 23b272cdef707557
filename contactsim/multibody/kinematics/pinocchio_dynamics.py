"""The dynamics of Pinocchio itself, where a mode allows it: articulated bodies in flight, and points that stick.

Each is called as (q, v, applied) -> (acceleration, forces when asked).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pinocchio as pin

from ...common.arrays import Array
from ..forest import Workspace
from ..mechanism import Shortcut
from ..springs import Passive

WORLD_AXES = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED


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
