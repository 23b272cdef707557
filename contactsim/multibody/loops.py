"""Closed loops of a robot: bodies that are held together by a point, a hinge or all six directions.

A closure holds one point of two bodies together (a ball joint), two points (a hinge) or three (a weld).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pinocchio as pin

from ..common.arguments import NAME, REAL, TEXT, TRIPLE, arguments, instance, one_of, several
from ..common.arrays import Array
from ..common.lazy import dataclass
from ..errors import InputError

Triple = tuple[float, float, float]

LEVER = 1.0  # distance of the further points of a hinge or weld [m]: a radian counts like a metre
POINTS = {
    "point": ((0.0, 0.0, 0.0),),
    "hinge": ((0.0, 0.0, 0.0), (0.0, 0.0, LEVER)),
    "pose": ((0.0, 0.0, 0.0), (0.0, 0.0, LEVER), (LEVER, 0.0, 0.0)),
}
WORLD = "universe"  # pinocchio's name of the frame that does not move


@arguments(
    frame_a=NAME,
    frame_b=NAME,
    offset_a=TRIPLE,
    offset_b=TRIPLE,
    rotation_a=TRIPLE,
    rotation_b=TRIPLE,
    kind=one_of(*POINTS),
    name=TEXT,
)
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

    def points(self, side: str) -> list[Array]:
        """Points (3,) of the closure in its frame "a" or "b" [m]."""
        place = pin.SE3(
            pin.exp3(np.array(getattr(self, f"rotation_{side}"))), np.array(getattr(self, f"offset_{side}"))
        )
        return [place.act(np.array(point)) for point in POINTS[self.kind]]


@arguments(
    joints=several(NAME, "a list of names of joints"),
    factors=several(REAL, "a list of finite numbers"),
    value=REAL,
    name=TEXT,
)
@dataclass(frozen=True)
class JointCoupling:
    """A linear equation between hinges and slides: sum of c_k q_k = value, such as a gear or the fingers of a gripper.

    Attributes:
        joints: names of the joints.
        factors: c_k of each.
        value: the right-hand side [rad, m].
        name: name of the coupling; by default those of the joints.
    """

    joints: tuple[str, ...]
    factors: tuple[float, ...]
    value: float = 0.0
    name: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "joints", tuple(self.joints))
        object.__setattr__(self, "factors", tuple(float(factor) for factor in self.factors))
        object.__setattr__(self, "name", self.name or "-".join(self.joints))
        if not self.joints or len(self.joints) != len(self.factors):
            raise InputError(
                f"coupling '{self.name}' has {len(self.joints)} joints and {len(self.factors)} factors; give one each"
            )
        if not np.isfinite([*self.factors, self.value]).all() or not any(self.factors):
            raise InputError(f"coupling '{self.name}' has factors {self.factors}; give finite ones that are not zero")


Loop = LoopClosure | JointCoupling


LOOPS = several(instance((LoopClosure, JointCoupling), "a loop"), "LoopClosure or JointCoupling objects, in a list")


def checked(loops: Any) -> tuple[Loop, ...]:
    """The closures of an iterable.

    Raises:
        InputError: something else is among them.
    """
    return (loops,) if isinstance(loops, Loop) else LOOPS.check("loops", loops)


def followed(model: Any, loops: Sequence[Loop], q: Array) -> Array:
    """The configuration (nq,) with the first joint of each coupling where the others put it."""
    couplings = [loop for loop in loops if isinstance(loop, JointCoupling) and loop.factors[0]]
    q = q.copy()
    for _ in couplings:  # chains of followers
        for coupling in couplings:
            joints = [model.joints[model.getJointId(name)] for name in coupling.joints if model.existJointName(name)]
            if len(joints) == len(coupling.joints) and all(joint.nq == joint.nv == 1 for joint in joints):
                rest = sum(c * q[joint.idx_q] for c, joint in zip(coupling.factors[1:], joints[1:], strict=True))
                q[joints[0].idx_q] = (coupling.value - rest) / coupling.factors[0]
    return q


def stored_loop(data: Mapping[str, Any]) -> Loop:
    """The closure of the data of its fields."""
    return JointCoupling(**data) if "joints" in data else LoopClosure(**data)
