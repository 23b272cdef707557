"""Latches: bodies or joints that are held together from one event to another.

A closed latch is a closed loop as in `loops`: of a joint, or of two frames. What closes and opens it are functions
(t, q, v) -> value that fall through zero, touch-downs of contacts, or a force beyond what it can bear.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import field
from typing import Any, cast

import numpy as np
import pinocchio as pin

from ..common.arguments import (
    FLAG,
    POSITIVE,
    REAL,
    TEXT,
    TRIPLE,
    arguments,
    either,
    function,
    instance,
    one_of,
    optional,
    several,
    whole,
)
from ..common.arrays import Array
from ..common.lazy import dataclass
from ..errors import InputError
from .forest import data_of
from .loops import POINTS, JointCoupling, Loop, LoopClosure
from .robot_model import RobotModel

Guard = Callable[[float, Array, Array], float]
GUARD = function("a function (t, q, v) -> value")


@arguments(
    joint=TEXT,
    value=REAL,
    frame_a=TEXT,
    frame_b=TEXT,
    offset_a=TRIPLE,
    offset_b=TRIPLE,
    kind=one_of(*POINTS),
    hold=FLAG,
    direction=whole("1 or -1", ge=-1, le=1),
    closes=optional(either(REAL, GUARD)),
    opens=optional(either(REAL, GUARD)),
    closes_at=TEXT,
    opens_at=TEXT,
    enabled=optional(GUARD),
    strength=optional(POSITIVE),
    closed=FLAG,
    name=TEXT,
)
@dataclass(frozen=True)
class Latch:
    """A bilateral constraint that an event closes or opens: a knee that locks, a gripper that clamps, a docking.

    Closing is an impact, perfectly plastic along the rows of the latch, together with the contacts that touch. Either
    `joint` is held, or `frame_b` at `frame_a`; with `hold` where they are when it closes. A joint without `closes` and
    `closes_at` latches where it comes to its value in the direction of `direction`.

    Attributes:
        joint: a hinge or slide.
        value: of the joint [rad, m].
        frame_a, frame_b: frames of the model; "universe" is the world.
        offset_a, offset_b: origin in each frame [m].
        kind: "point", "hinge" or "pose"; see LoopClosure.
        hold: whether it holds what it finds when it closes, not a value or a place of its own.
        direction: 1: a joint latches as it rises to its value, -1: as it falls to it.
        closes, opens: (t, q, v) -> value that falls through zero where the latch closes, or opens; or a time [s].
        closes_at, opens_at: contact at whose touch-down it closes, or opens; it opens behind the impact.
        enabled: (t, q, v) -> margin: it closes only where that is positive; None: always. Nor does it close where
            `opens` is not positive.
        strength: it opens where it has to bear more [N, N m]: the force of frames, the moment or force of a joint.
        closed: whether a run starts with it closed.
        name: of the latch; by default that of its joint or its frames.
    """

    joint: str = ""
    value: float = 0.0
    frame_a: str = ""
    frame_b: str = ""
    offset_a: tuple[float, float, float] = (0.0, 0.0, 0.0)
    offset_b: tuple[float, float, float] = (0.0, 0.0, 0.0)
    kind: str = "pose"
    hold: bool = False
    direction: int = 1
    closes: Guard | float | None = field(default=None, compare=False)
    opens: Guard | float | None = field(default=None, compare=False)
    closes_at: str = ""
    opens_at: str = ""
    enabled: Guard | None = field(default=None, compare=False)
    strength: float | None = None
    closed: bool = False
    name: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.name or self.joint or f"{self.frame_a}-{self.frame_b}")
        frames = self.frame_a or self.frame_b
        if bool(self.joint and frames) or not (self.joint or (self.frame_a and self.frame_b)):
            raise InputError(f"latch '{self.name}' holds {self._ends()}; give joint=, or frame_a= and frame_b=")
        for name in ("closes", "opens"):
            if isinstance(given := getattr(self, name), float):
                object.__setattr__(self, name, AtTime(given))
        if self.direction == 0:
            raise InputError(f"latch '{self.name}' has direction 0; give 1 or -1")
        by_value = bool(self.joint) and not self.hold
        if not (self.closes is not None or self.closes_at or by_value or self.closed):
            raise InputError(f"nothing closes latch '{self.name}'; give closes=, closes_at= or closed=True")

    def _ends(self) -> str:
        return "a joint and frames" if self.joint else "neither a joint nor two frames"

    def found(self, robot: RobotModel, q: Array) -> tuple[float, ...]:
        """The values held by a latch that closes at a configuration, of which `closure` makes a loop."""
        if self.joint:
            return (float(q[_joint(robot, self).idx_q]) if self.hold else self.value,)
        if not self.hold:
            return ()
        data = data_of(robot.model)
        data.frames_forward_kinematics(q)
        places = [
            data.oMf[robot.frame_id(frame)] * pin.SE3(np.eye(3), np.array(offset))
            for frame, offset in ((self.frame_a, self.offset_a), (self.frame_b, self.offset_b))
        ]
        between = places[1].actInv(places[0])
        return (*between.translation.tolist(), *pin.log3(between.rotation).tolist())

    def closure(self, held: tuple[float, ...]) -> Loop:
        """The closed loop that it is while it is closed on what it `found`."""
        if self.joint:
            return JointCoupling((self.joint,), (1.0,), held[0], self.name)
        x, y, z, *turn = held or (0.0,) * 6
        a, b, c = self.offset_b
        own: dict[str, Any] = {"offset_b": (a + x, b + y, c + z), "rotation_b": tuple(turn)}
        return LoopClosure(self.frame_a, self.frame_b, self.offset_a, kind=self.kind, name=self.name, **own)

    def opening(self) -> Guard | None:
        """The function that opens it where it falls through zero; None: a touch-down or its strength does."""
        return cast("Guard | None", self.opens)

    def closing(self, robot: RobotModel) -> Guard | None:
        """The function that closes it where it falls through zero; None: a touch-down does, or nothing."""
        if self.closes is not None or self.closes_at or not self.joint or self.hold:
            return cast("Guard | None", self.closes)
        return ComesTo(_joint(robot, self).idx_q, self.value, self.direction)


@dataclass(frozen=True)
class AtTime:
    """t_0 - t: falls through zero at a time [s], for latches that close or open by the clock."""

    time: float

    def __call__(self, t: float, q: Array, v: Array) -> float:
        """Time that is left [s]."""
        return self.time - t


@dataclass(frozen=True)
class ComesTo:
    """direction (value - q_k): falls through zero where a joint comes to its value."""

    index: int
    value: float
    direction: int

    def __call__(self, t: float, q: Array, v: Array) -> float:
        """Distance that the joint has to go [rad, m]."""
        return self.direction * (self.value - float(q[self.index]))


def _joint(robot: RobotModel, latch: Latch) -> Any:
    robot.joint_index(latch.joint)  # raises where there is none
    joint = robot.model.joints[robot.model.getJointId(latch.joint)]
    if not joint.nq == joint.nv == 1:
        raise InputError(f"latch '{latch.name}': joint '{latch.joint}' is neither a hinge nor a slide")
    return joint


GIVEN = several(instance(Latch, "a Latch"), "Latch objects, in a list")


def checked_latches(given: Any, robot: Any, contacts: Iterable[str]) -> tuple[Latch, ...]:
    """The latches of a system, whose joints, frames and contacts its robot has.

    Raises:
        InputError: one of them is not there, or a name is used twice.
    """
    latches: tuple[Latch, ...] = (given,) if isinstance(given, Latch) else tuple(GIVEN.check("latches", given))
    known = tuple(contacts)
    if latches and not isinstance(robot, RobotModel):
        raise InputError(f"a {type(robot).__name__} has no joints or bodies that a latch could hold; give a Robot")
    names = [latch.name for latch in latches]
    for latch in latches:
        if names.count(latch.name) > 1:
            raise InputError(f"two latches are called '{latch.name}'; give each a name of its own")
        if latch.joint:
            _joint(robot, latch)
        else:
            for frame in (latch.frame_a, latch.frame_b):
                robot.frame_id(frame)
        for contact in (latch.closes_at, latch.opens_at):
            if contact and contact not in known:
                there = ", ".join(known) or "none"
                raise InputError(f"latch '{latch.name}' waits for the contact '{contact}'; there are {there}")
    return latches
