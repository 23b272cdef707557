"""A robot on a plane as plain arrays: all that a compiled engine has to know of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..common.arrays import Array

AXES = {"X": (1.0, 0.0, 0.0), "Y": (0.0, 1.0, 0.0), "Z": (0.0, 0.0, 1.0)}
KINDS = {  # of pinocchio's joints: whose motions are constant in the frame that they move
    **{f"JointModelR{axis}": "revolute" for axis in AXES},
    **{f"JointModelP{axis}": "prismatic" for axis in AXES},
    **{f"JointModelRUB{axis}": "unbounded" for axis in AXES},
    "JointModelRevoluteUnaligned": "revolute",
    "JointModelPrismaticUnaligned": "prismatic",
    "JointModelRevoluteUnboundedUnaligned": "unbounded",
    "JointModelFreeFlyer": "free_flyer",
    "JointModelSpherical": "spherical",
    "JointModelPlanar": "planar",
    "JointModelTranslation": "translation",
}


@dataclass(frozen=True, eq=False)
class PlainJoint:
    """A joint and the body it moves.

    Attributes:
        kind: one of the values of `KINDS`.
        parent: number of the joint that carries it; -1: the world.
        q, v: where its coordinates and velocities begin.
        size: numbers of its velocity.
        turn, place: rotation (3, 3) and origin (3,) [m] of its frame in that of its parent.
        axis: (3,), of a joint with one.
        mass, centre, inertia: of the body: mass [kg], centre (3,) [m], moments about it (3, 3) [kg m^2], in its frame.
    """

    kind: str
    parent: int
    q: int
    v: int
    size: int
    turn: Array
    place: Array
    axis: Array
    mass: float
    centre: Array
    inertia: Array


@dataclass(frozen=True, eq=False)
class PlainContact:
    """A sphere or point of a robot, or a joint at its limit.

    Attributes:
        joint: that it is fixed to; -1: it is a joint's limit.
        centre: (3,) [m] in the joint's frame.
        radius: [m].
        velocity, sign: of a limit: its row is `sign` at this velocity.
        coordinate, bound: of a limit: its gap is sign (q - bound).
        host: number of its joint among those of the robot's `reach`.
    """

    joint: int
    centre: Array
    radius: float = 0.0
    velocity: int = -1
    sign: float = 0.0
    coordinate: int = -1
    bound: float = 0.0
    host: int = -1


@dataclass(frozen=True, eq=False)
class PlainReach:
    """How far joints reach: arrays of `kinematics.reach.Reach`, of which joint 0 is the world."""

    parent: Array
    length: Array
    slides: Array
    turns: Array
    places: Array


@dataclass(frozen=True, eq=False)
class PlainRobot:
    """A robot on a plane.

    Attributes:
        nq, nv: numbers of a configuration and of a velocity.
        joints: parents first; the parts of composite joints one by one.
        gravity: (3,) [m/s^2].
        armature, damping: (nv,).
        springs: (q, v, stiffness, rest) of each spring of a plain coordinate.
        contacts: of the ground, between bodies (None: not known) and limits, by their numbers.
        basis: normal and tangents (1 to 3, 3) of the plane.
        belt: velocity of its surface (3,) [m/s].
        point: of the plane (3,) [m].
        turning: velocities that are rates of rotation (k,).
        reach: bounds of its motion; None: there are none.
    """

    nq: int
    nv: int
    joints: tuple[PlainJoint, ...]
    gravity: Array
    armature: Array
    damping: Array
    springs: tuple[tuple[int, int, float, float], ...]
    contacts: tuple[PlainContact | None, ...]
    basis: Array
    belt: Array
    point: Array
    turning: Array
    reach: PlainReach | None


def plain_joints(model: Any) -> tuple[tuple[PlainJoint, ...], list[int]] | None:
    """Joints of a pinocchio model, and the number of each of its own among them; None where a kind is not known."""
    found: list[PlainJoint] = []
    number = [-1] * model.njoints
    for i in range(1, model.njoints):
        joint, placement, parent = model.joints[i], model.jointPlacements[i], number[model.parents[i]]
        parts = [(joint, placement)]
        if joint.shortname() == "JointModelComposite":
            own = joint.extract()
            parts = [(part, placement * at if k == 0 else at) for k, (part, at) in enumerate(_parts(own))]
        q, v = joint.idx_q, joint.idx_v
        for k, (part, at) in enumerate(parts):
            kind = KINDS.get(part.shortname())
            if kind is None:
                return None
            body = model.inertias[i] if k == len(parts) - 1 else None
            found.append(_joint(part, kind, parent, (q, v), at, body))
            parent, q, v = len(found) - 1, q + part.nq, v + part.nv
        number[i] = parent
    return tuple(found), number


def _parts(composite: Any) -> list[tuple[Any, Any]]:
    return list(zip(composite.joints, composite.jointPlacements, strict=True))


def _joint(joint: Any, kind: str, parent: int, where: tuple[int, int], placement: Any, body: Any) -> PlainJoint:
    name = joint.shortname()
    axis = AXES.get(name[-1]) if name[-1] in AXES else getattr(joint.extract(), "axis", (0.0, 0.0, 1.0))
    mass, centre, inertia = (
        (0.0, np.zeros(3), np.zeros((3, 3))) if body is None else (body.mass, body.lever, body.inertia)
    )
    return PlainJoint(
        kind,
        parent,
        *where,
        joint.nv,
        np.array(placement.rotation),
        np.array(placement.translation),
        np.array(axis, dtype=float),
        float(mass),
        np.array(centre),
        np.array(inertia),
    )
