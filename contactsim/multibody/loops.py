"""Closed loops of a robot: points of two bodies that stay together, their rows, and the derivatives of those.

A closure holds one point of two bodies together (a ball joint), two points (a hinge) or three (a weld). So all closures
are made of pairs of points a, b with e = p_a - p_b = 0 in world axes: C = dp_a - dp_b, and C a + C' v = 0 for motions.
Rows that say the same (all pairs in a mechanism that moves in a plane) are told apart by their rank, see `closed`.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from xml.etree import ElementTree

import numpy as np
import pinocchio as pin

from ..common.arrays import Array
from ..errors import InputError
from .kinematics.plane_ground import PlaneDerivatives, simple_model
from .mechanism import unique_names
from .workspace import Workspace

if TYPE_CHECKING:
    from .robot import Robot

Triple = tuple[float, float, float]

WORLD_AXES = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
LEVER = 1.0  # distance of the further points of a hinge or weld [m]: a radian counts like a metre
POINTS = {
    "point": ((0.0, 0.0, 0.0),),
    "hinge": ((0.0, 0.0, 0.0), (0.0, 0.0, LEVER)),
    "pose": ((0.0, 0.0, 0.0), (0.0, 0.0, LEVER), (LEVER, 0.0, 0.0)),
}
WORLD = "universe"  # pinocchio's name of the frame that does not move


@dataclass(frozen=True)
class LoopClosure:
    """Two bodies of a robot that are held together, which closes a loop of its tree of joints.

    The closure has a place on each body: an origin and axes. "point" holds the origins together, as a ball joint does,
    or a pin in a mechanism that moves in a plane; "hinge" the origins and the z axes; "pose" all, as a weld.

    Attributes:
        frame_a, frame_b: frames of the model; "universe" is the world.
        offset_a, offset_b: origin in each frame [m].
        rotation_a, rotation_b: axes in each frame as a rotation vector [rad].
        kind: "point", "hinge" or "pose".
        name: name of the loop; by default those of the frames.
    """

    frame_a: str
    frame_b: str
    offset_a: Triple = (0.0, 0.0, 0.0)
    offset_b: Triple = (0.0, 0.0, 0.0)
    rotation_a: Triple = (0.0, 0.0, 0.0)
    rotation_b: Triple = (0.0, 0.0, 0.0)
    kind: str = "point"
    name: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.name or f"{self.frame_a}-{self.frame_b}")
        if self.kind not in POINTS:
            raise InputError(f"loop '{self.name}' is of kind '{self.kind}'; choose one of {', '.join(POINTS)}")
        for field in ("offset_a", "offset_b", "rotation_a", "rotation_b"):
            given = np.asarray(getattr(self, field), dtype=float)
            if given.shape != (3,) or not np.all(np.isfinite(given)):
                raise InputError(f"loop '{self.name}' has {field} {getattr(self, field)!r}; give three finite numbers")
            object.__setattr__(self, field, tuple(map(float, given)))

    def points(self, side: str) -> list[Array]:
        """Points (3,) of the closure in its frame "a" or "b" [m]."""
        place = pin.SE3(
            pin.exp3(np.array(getattr(self, f"rotation_{side}"))), np.array(getattr(self, f"offset_{side}"))
        )
        return [place.act(np.array(point)) for point in POINTS[self.kind]]


class _End(NamedTuple):
    """One end of a pair: the joint that moves the point, and the point there."""

    joint: int
    point: Array


class LoopRows:
    """Errors, rows and their derivatives of some closures of a robot, pair of points by pair of points.

    Attributes:
        names: name of each closure.
        parts: rows of each closure.
    """

    def __init__(self, robot: Robot, closures: Sequence[LoopClosure]) -> None:
        self._model, self.nv = pin.Model(robot.model), robot.nv
        self._model.gravity = pin.Motion.Zero()
        self.names = unique_names([closure.name for closure in closures], "loop")
        sizes = [3 * len(POINTS[closure.kind]) for closure in closures]
        ends = np.cumsum([0, *sizes])
        self.parts = tuple(slice(int(i), int(k)) for i, k in pairwise(ends))
        self.size = int(ends[-1])
        first, second = ([end for closure in closures for end in _ends(robot, closure, side)] for side in "ab")
        self._count = len(first)
        self._frames = [
            self._model.addFrame(
                pin.Frame(f"loop:{k}", end.joint, pin.SE3(np.eye(3), end.point), pin.FrameType.OP_FRAME), False
            )
            for k, end in enumerate((*first, *second))
        ]
        self._workspace = Workspace(self._model)
        self._still = np.zeros(self.nv)
        self._derivatives = _derivatives(self._model, (*first, *second))

    @property
    def _data(self) -> Any:
        """Pinocchio's data, for the thread that asks."""
        return self._workspace.data

    # --- at one state -----------------------------------------------------------------------------------------

    def errors(self, q: Array) -> Array:
        """e (m,): how far the points of each pair are apart, in world axes [m]."""
        pin.framesForwardKinematics(self._model, self._data, q)
        return _apart(np.concatenate([self._data.oMf[frame].translation for frame in self._frames]))

    def rows(self, q: Array) -> Array:
        """C (m, n): rates of the errors are C v [m/s]."""
        pin.computeJointJacobians(self._model, self._data, q)
        return self._stacked_rows()

    def motion(self, q: Array, v: Array) -> tuple[Array, Array]:
        """C (m, n), and C' v (m,) [m/s^2]."""
        pin.forwardKinematics(self._model, self._data, q, v, self._still)
        pin.computeJointJacobians(self._model, self._data, q)
        drifts = [
            pin.getFrameClassicalAcceleration(self._model, self._data, frame, WORLD_AXES).linear
            for frame in self._frames
        ]
        return self._stacked_rows(), _apart(np.concatenate(drifts))

    def _stacked_rows(self) -> Array:
        jacobians = [
            pin.getFrameJacobian(self._model, self._data, frame, WORLD_AXES).reshape(6, self.nv)[:3]
            for frame in self._frames
        ]
        return _apart(np.concatenate(jacobians))

    # --- derivatives ------------------------------------------------------------------------------------------

    @property
    def analytic(self) -> bool:
        """Whether the derivatives below exist: not for a joint that pinocchio cannot derive."""
        return self._derivatives is not None

    def derivatives(self, q: Array, v: Array, a: Array, forces: Array) -> LoopDerivatives:
        """What changes along the tangent directions of q, and along v, with v, a and `forces` (m,) held."""
        derivatives = self._derivatives
        assert derivatives is not None
        derivatives.inertial(q, v, a)
        ends = tuple(range(2 * self._count))
        centres = derivatives.centres(ends)
        rates, motion, by_v = (_apart(block) for block in derivatives.rows(ends, centres, v, a))
        pull = derivatives.contact_forces(ends, centres, np.concatenate([forces, -forces]))
        return LoopDerivatives(rates, motion, by_v, pull)

    # --- what users see ---------------------------------------------------------------------------------------

    def openings(self, q: Array) -> dict[str, float]:
        """{loop: largest distance of a pair of its points} [m]."""
        apart = np.linalg.norm(self.errors(q).reshape(-1, 3), axis=1)
        return {
            name: float(apart[part.start // 3 : part.stop // 3].max())
            for name, part in zip(self.names, self.parts, strict=True)
        }

    def wrenches(self, q: Array, forces: Array) -> dict[str, Array]:
        """{loop: force (3,) on its first body, or force and moment about its origin (6,), in world axes}."""
        pin.framesForwardKinematics(self._model, self._data, q)
        places = [self._data.oMf[frame].translation.copy() for frame in self._frames[: self._count]]
        found = {}
        for name, part in zip(self.names, self.parts, strict=True):
            pulls = forces[part].reshape(-1, 3)
            levers = np.array(places[part.start // 3 : part.stop // 3]) - places[part.start // 3]
            force, moment = pulls.sum(axis=0), np.cross(levers, pulls).sum(axis=0)
            found[name] = force if len(pulls) == 1 else np.concatenate([force, moment])
        return found


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


def _ends(robot: Robot, closure: LoopClosure, side: str) -> list[_End]:
    index = robot.frame_id(getattr(closure, f"frame_{side}"))
    frame = robot.model.frames[index]
    return [_End(int(frame.parentJoint), frame.placement.act(point)) for point in closure.points(side)]


def _derivatives(model: Any, ends: Sequence[_End]) -> PlaneDerivatives | None:
    simple = simple_model(model)
    if simple is None:
        return None
    plain, index = simple
    joints, places = [index[end.joint] for end in ends], np.array([end.point for end in ends])
    axes = np.eye(3)
    return PlaneDerivatives(plain, joints, places, np.zeros(len(ends)), axes[2], axes)


def checked(loops: Any) -> tuple[LoopClosure, ...]:
    """The closures of an iterable.

    Raises:
        InputError: something else is among them.
    """
    loops = (loops,) if isinstance(loops, LoopClosure) else tuple(loops)
    for loop in loops:
        if not isinstance(loop, LoopClosure):
            raise InputError(f"loops holds a {type(loop).__name__}; give LoopClosure objects")
    return loops


def from_constraints(model: Any, constraints: Iterable[Any]) -> tuple[LoopClosure, ...]:
    """The closures that pinocchio read from the equalities "connect" and "weld" of an MJCF file."""
    closures: list[LoopClosure] = []
    for constraint in constraints:
        kind = "point" if constraint.type == pin.ContactType.CONTACT_3D else "pose"
        values: dict[str, Any] = {"kind": kind}
        for side, number in (("a", 1), ("b", 2)):
            joint = int(getattr(constraint, f"joint{number}_id"))
            frame = _frame_of(model, joint)
            place = frame.placement.inverse() * getattr(constraint, f"joint{number}_placement")
            values |= {
                f"frame_{side}": frame.name,
                f"offset_{side}": tuple(place.translation),
                f"rotation_{side}": tuple(pin.log3(place.rotation)),
            }
        closure = LoopClosure(**values, name=constraint.name)
        taken = [other.name for other in closures]
        if closure.name in taken:
            closure = LoopClosure(**values, name=f"{closure.name}/{len(closures)}")
        closures.append(closure)
    return tuple(closures)


def warn_of_other_equalities(path: Path) -> None:
    """Say which equalities of an MJCF file are left out: pinocchio reads those between bodies only."""
    for group in ElementTree.parse(path).getroot().iter("equality"):
        for kind in sorted({element.tag for element in group} - {"connect", "weld"}):
            warnings.warn(
                f"the equality '{kind}' in {path} is not simulated; write it as 'connect' or 'weld', or leave it out",
                stacklevel=4,
            )


def _frame_of(model: Any, joint: int) -> Any:
    """A frame of a joint that its name finds: of a body where there is one."""
    own = [frame for frame in model.frames if frame.parentJoint == joint]
    own.sort(key=lambda frame: frame.type != pin.FrameType.BODY)
    names = [frame.name for frame in model.frames]
    return next(frame for frame in own if names.count(frame.name) == 1)
