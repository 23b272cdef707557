"""Closed loops of a robot: bodies that are held together by a point, a hinge or all six directions.

A closure holds one point of two bodies together (a ball joint), two points (a hinge) or three (a weld).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pinocchio as pin

from ..common.arrays import Array
from ..errors import InputError

Triple = tuple[float, float, float]

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
