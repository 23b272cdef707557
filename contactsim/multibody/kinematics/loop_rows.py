"""Rows of closed loops, and their derivatives.

All closures are made of pairs of points a, b with e = p_a - p_b = 0 in world axes: C = dp_a - dp_b, and C a + C' v = 0
for motions. Rows that say the same (all pairs in a mechanism that moves in a plane) are told apart by their rank, see
`closed_loops`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pinocchio as pin

from ...common.arrays import Array
from ...common.lazy import NamedTuple
from ...errors import InputError
from ..forest import Computing, Workspace
from ..loops import POINTS, JointCoupling, Loop, LoopClosure
from ..mechanism import unique_names
from ..robot_model import RobotModel
from .plane_ground import PlaneDerivatives, add_points, simple_model

if TYPE_CHECKING:
    from ..plain_robot import PlainLoops

WORLD_AXES = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED


class LoopRows(Computing):
    """Errors, rows and their derivatives of some closures of a robot, pair of points by pair of points.

    Attributes:
        names: name of each closure.
        parts: rows of each closure.
    """

    def __init__(self, robot: RobotModel, loops: Sequence[Loop]) -> None:
        self._model, self.nv = pin.Model(robot.model), robot.nv
        self._model.gravity = pin.Motion.Zero()
        closures = [loop for loop in loops if isinstance(loop, LoopClosure)]
        couplings = [loop for loop in loops if isinstance(loop, JointCoupling)]
        self.names = unique_names([*(loop.name for loop in closures), *(loop.name for loop in couplings)], "loop")
        sizes = [3 * len(POINTS[closure.kind]) for closure in closures]
        ends = np.cumsum([0, *sizes, *(1 for _ in couplings)])
        self.parts = tuple(slice(int(i), int(k)) for i, k in pairwise(ends))
        self.size = int(ends[-1])
        first, second = ([end for closure in closures for end in _ends(robot, closure, side)] for side in "ab")
        self._count = len(first)
        self._coupled = Coupled(robot, couplings)
        joints, points = zip(*first, *second, strict=True) if first else ((), ())
        self._joints, self._points = joints, points
        self._frames = add_points(self._model, "loop", joints, points)
        self._workspace = Workspace(self._model)
        self._still = np.zeros(self.nv)
        self._derivatives = _derivatives(self._model, joints, np.array(points).reshape(-1, 3))

    # --- at one state -----------------------------------------------------------------------------------------

    def errors(self, q: Array) -> Array:
        """e (m,): how far the points of each pair are apart, in world axes [m], then the couplings are off [rad, m]."""
        self._data.frames_forward_kinematics(q)
        places = [self._data.oMf[frame].translation for frame in self._frames]
        return np.concatenate([_apart(np.concatenate([np.zeros(0), *places])), self._coupled.errors(q)])

    def rows(self, q: Array) -> Array:
        """C (m, n): rates of the errors are C v [m/s]."""
        self._data.joint_jacobians(q)
        return self._stacked_rows()

    def motion(self, q: Array, v: Array) -> tuple[Array, Array]:
        """C (m, n), and C' v (m,) [m/s^2]."""
        self._data.forward_kinematics(q, v, self._still)
        self._data.joint_jacobians(q)
        drifts = [self._data.frame_acceleration(frame, WORLD_AXES).linear for frame in self._frames]
        drift = _apart(np.concatenate([np.zeros(0), *drifts]))
        return self._stacked_rows(), np.concatenate([drift, np.zeros(self._coupled.size)])

    def _stacked_rows(self) -> Array:
        jacobians = [self._data.frame_jacobian(frame, WORLD_AXES)[:3] for frame in self._frames]
        return np.concatenate([_apart(np.concatenate([np.zeros((0, self.nv)), *jacobians])), self._coupled.rows])

    # --- derivatives ------------------------------------------------------------------------------------------

    @property
    def analytic(self) -> bool:
        """True if the derivatives below exist: not for a joint that pinocchio cannot derive."""
        return self._derivatives is not None

    def derivatives(self, q: Array, v: Array, a: Array, forces: Array) -> LoopDerivatives:
        """First derivatives along the tangent directions of q, and along v, with v, a and `forces` (m,) held."""
        derivatives = self._derivatives
        assert derivatives is not None
        if not self._count:
            still = np.zeros((self.size, self.nv))
            return LoopDerivatives(still, still, still, np.zeros((self.nv, self.nv)))
        derivatives.inertial(q, v, a)
        ends = tuple(range(2 * self._count))
        centres = derivatives.centres(ends)
        rates, motion, by_v = (_apart(block) for block in derivatives.rows(ends, centres, v, a))
        own = forces[: 3 * self._count]
        pull = derivatives.contact_forces(ends, centres, np.concatenate([own, -own]))
        still = np.zeros((self._coupled.size, self.nv))
        padded = [np.concatenate([block, still]) for block in (rates, motion, by_v)]
        return LoopDerivatives(padded[0], padded[1], padded[2], pull)

    # --- for compiled engines ---------------------------------------------------------------------------------

    def plain(self, rank: int | None) -> PlainLoops:
        """Plain arrays of them, of a robot whose joints engines know."""
        from ..plain_robot import PlainLoops, plain_joints

        known = plain_joints(self._model)
        assert known is not None
        _, number = known
        ends = [(number[j], np.array(point)) for j, point in zip(self._joints, self._points, strict=True)]
        return PlainLoops(tuple(zip(ends[: self._count], ends[self._count :], strict=True)), self._coupled.plain, rank)

    # --- what users see ---------------------------------------------------------------------------------------

    def openings(self, q: Array) -> dict[str, float]:
        """{loop: largest distance of a pair of its points [m], or how far a coupling is off [rad, m]}."""
        errors = self.errors(q)
        return {
            name: float(np.linalg.norm(errors[part].reshape(-1, min(3, part.stop - part.start)), axis=1).max())
            for name, part in zip(self.names, self.parts, strict=True)
        }

    def unit(self, name: str, per: str = "") -> str:
        """That of how far a loop is open: of points metres, of a coupling that of its joints, which turn or slide."""
        is_of_points = self.parts[self.names.index(name)].start < 3 * self._count
        return f"m{per}" if is_of_points else f"rad{per} or m{per}"

    def wrenches(self, q: Array, forces: Array) -> dict[str, Array]:
        """{loop: force (3,) on its first body, or force and moment about its origin (6,), in world axes}.

        Of a coupling: the number (1,) that its factors make generalised forces of.
        """
        self._data.frames_forward_kinematics(q)
        places = [self._data.oMf[frame].translation.copy() for frame in self._frames[: self._count]]
        found = {}
        for name, part in zip(self.names, self.parts, strict=True):
            if part.start >= 3 * self._count:
                found[name] = forces[part]
                continue
            pulls = forces[part].reshape(-1, 3)
            levers = np.array(places[part.start // 3 : part.stop // 3]) - places[part.start // 3]
            force, moment = pulls.sum(axis=0), np.cross(levers, pulls).sum(axis=0)
            found[name] = force if len(pulls) == 1 else np.concatenate([force, moment])
        return found


class Coupled:
    """The rows of couplings between joints, which are constant.

    Attributes:
        rows: (k, nv).
        size: k.
        plain: ((coordinate, velocity, factor) of each joint, value) of each.
    """

    def __init__(self, robot: RobotModel, couplings: Sequence[JointCoupling]) -> None:
        self.size = len(couplings)
        self.rows, self._lengths = np.zeros((self.size, robot.nv)), np.zeros((self.size, robot.nq))
        self._values = np.array([coupling.value for coupling in couplings])
        plain = []
        for k, coupling in enumerate(couplings):
            parts = []
            for name, factor in zip(coupling.joints, coupling.factors, strict=True):
                v = robot.joint_index(name)
                joint = robot.model.joints[robot.model.getJointId(name)]
                if not joint.nq == joint.nv == 1:
                    raise InputError(f"coupling '{coupling.name}': joint '{name}' is neither a hinge nor a slide")
                self.rows[k, v] += factor
                self._lengths[k, joint.idx_q] += factor
                parts.append((int(joint.idx_q), v, float(factor)))
            plain.append((tuple(parts), float(coupling.value)))
        self.plain = tuple(plain)

    def errors(self, q: Array) -> Array:
        """How far they are off (k,) [rad, m]."""
        return self._lengths @ q - self._values


class LoopDerivatives(NamedTuple):
    """First derivatives of the rows of loops.

    Attributes:
        rates_q: (m, n) of C v by q.
        motion_q, motion_v: (m, n) of C a + C' v by q and by v.
        pull_q: (n, n) of C^T kap by q.
    """

    rates_q: Array
    motion_q: Array
    motion_v: Array
    pull_q: Array


def _apart(stacked: Array) -> Array:
    """Rows of the points on the first bodies less those of their partners, which follow."""
    half = len(stacked) // 2
    return stacked[:half] - stacked[half:]


def _ends(robot: RobotModel, closure: LoopClosure, side: str) -> list[tuple[int, Array]]:
    """Ends of the pairs of a closure: the joint that moves each point, and the point (3,) there."""
    index = robot.frame_id(getattr(closure, f"frame_{side}"))
    frame = robot.model.frames[index]
    return [(int(frame.parentJoint), frame.placement.act(point)) for point in closure.points(side)]


def _derivatives(model: Any, joints: Sequence[int], points: Array) -> PlaneDerivatives | None:
    simple = simple_model(model)
    if simple is None:
        return None
    plain, index = simple
    axes = np.eye(3)
    return PlaneDerivatives(plain, [index[k] for k in joints], points, np.zeros(len(points)), axes[2], axes)
