"""A robot on its ground as plain arrays: all that a compiled engine has to know of it."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..common.arrays import Array
from ..common.lazy import NamedTuple, dataclass
from ..errors import InputError
from .kinematics.tangents import InPlane, Tangents, axes
from .terrain.surface import Plane, Terrain

if TYPE_CHECKING:
    from .geometry.plain_features import PlainFeatures
    from .geometry.plain_flats import PlainFlat
    from .geometry.polyhedra import Polyhedron
    from .terrain.plain_hills import PlainHills

UP = np.array([0.0, 0.0, 1.0])
KINDS = {  # of pinocchio's joints: whose motions are constant in the frame that they move
    **{f"JointModelR{axis}": "revolute" for axis in "XYZ"},
    **{f"JointModelP{axis}": "prismatic" for axis in "XYZ"},
    **{f"JointModelRUB{axis}": "unbounded" for axis in "XYZ"},
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
class PlainSolid:
    """A sphere, a capsule, a box or a hull that another body touches.

    Attributes:
        joint: that it is fixed to; -1: the world.
        turn, place: its axes (3, 3) and origin (3,) [m] in the joint's frame.
        radius: of a sphere, or of what is rounded around a hull [m].
        half: half of the sides of a box (3,) [m]; None: it is none.
        hull: a hull, or a box by its vertices, faces and edges, or the axis of a capsule; None: it is a sphere.
        host: number of its joint among those of the robot's `reach`.
    """

    joint: int
    turn: Array
    place: Array
    radius: float
    half: Array | None
    hull: Polyhedron | None
    host: int


class PlainEdges(NamedTuple):
    """An edge of a solid against one of the solid that it touches: numbers of `geometry.edges.EdgeOnEdge`.

    Attributes:
        solid: of the own edge.
        own, other: numbers of both edges.
        extent, lever, deepest, held, rim: of these [m].
        blunt, standing: of these.
    """

    solid: PlainSolid
    own: int
    other: int
    extent: float
    lever: float
    deepest: float
    held: float
    rim: float
    blunt: bool
    standing: Array | None


class PlainCorner(NamedTuple):
    """A corner of a solid: a point or sphere beside edges of its own body.

    Attributes:
        edges: directions (k, 3) in the joint's frame of those that take over from it.
        meets_corners: whether it touches the corners of the other solid.
    """

    edges: Array
    meets_corners: bool


@dataclass(frozen=True, eq=False)
class PlainFeature:
    """What of a body with edges and faces touches hills.

    Attributes:
        flat: the feature.
        turn, place: its axes (3, 3) and their origin (3,) [m] in the joint's frame.
        extent: largest distance of what touches of it from there [m].
        corner: whether it is that of a corner, which as a contact is a sphere.
    """

    flat: PlainFlat
    turn: Array
    place: Array
    extent: float
    corner: bool


class PlainDisc(NamedTuple):
    """The disc that a rim or one of its fixed points belongs to: see `kinematics.curved_contacts`.

    Attributes:
        number: of the disc, among those of the robot.
        axis: (3,) in the joint's frame.
        lying: whether the contact acts while the disc lies flat: a fixed point.
        flat: sine of the tilt below which it does.
    """

    number: int
    axis: Array
    lying: bool
    flat: float


@dataclass(frozen=True, eq=False)
class PlainRound:
    """A rim, a fixed point of one, or an ellipsoid, around the centre of its contact, that touches a plane.

    Attributes:
        root: B (3, 3) of the support function c . m + |B m| of its core, in axes of the joint [m].
        extent: largest distance of what touches of it from the joint, with what its gap is raised by [m].
        bend: largest radius of curvature over which its nearest point moves where its gap is smooth [m].
        disc: that may lie flat; None: it is an ellipsoid.
    """

    root: Array
    extent: float
    bend: float
    disc: PlainDisc | None


class PlainMet(NamedTuple):
    """Features that meet those of a solid.

    Attributes:
        turn: axes (3, 3) of their body in those of the joint.
        features: both.
        extent: largest distance of what touches of it from the origin of these axes [m].
        disc: number of the disc that stands by them, or whose rim they are, on that solid; -1: of none.
    """

    turn: Array
    features: PlainFeatures
    extent: float
    disc: int


class PlainFrame(NamedTuple):
    """The frame of a contact between bodies: in space turned with its normal from a fixed one, in a plane (n, m x n).

    Attributes:
        start, tangents: the normal (3,) of the fixed one, and its tangents (2, 3).
        across: m (3,); zero in space and along a line.
    """

    start: Array
    tangents: Array
    across: Array


@dataclass(frozen=True, eq=False)
class PlainContact:
    """A sphere, a point or an edge of a robot, or a joint at its limit.

    Attributes:
        joint: that it is fixed to; -1: the world, or it is a joint's limit.
        centre: (3,) [m] in the joint's frame; of an edge the origin of its solid.
        radius: [m].
        velocity, sign: of a limit: its row is `sign` at this velocity; of others -1.
        coordinate, bound: of a limit: its gap is sign (q - bound).
        host: number of its joint among those of the robot's `reach`.
        other: the solid that it touches; None: the ground.
        inner: from a point without radius that touches a box or a hull, to the centre of its body (3,) [m]; None: it is
            none.
        edges: of an edge that touches one of the other solid; None: it is none.
        corner: of one from which edges take over, where it or the other solid is rounded; None: it is none.
        feature: of an edge, a face or a corner that touches hills, among others of its body; None: it is none. An edge
            or a face has the origin of its axes for a centre.
        met: of other features that meet those of the solid, of which it says where that is; the centre is the origin of
            the axes of their body. None: it is none.
        round: of a rim, a fixed point of one or an ellipsoid on a plane; None: it is a sphere, or none of these.
        idle: gap of one that never touches, since others are in its place [m]; None: it may touch.
    """

    joint: int
    centre: Array
    radius: float = 0.0
    velocity: int = -1
    sign: float = 0.0
    coordinate: int = -1
    bound: float = 0.0
    host: int = -1
    other: PlainSolid | None = None
    inner: Array | None = None
    edges: PlainEdges | None = None
    corner: PlainCorner | None = None
    feature: PlainFeature | None = None
    met: PlainMet | None = None
    round: PlainRound | None = None
    idle: float | None = None

    @property
    def is_limit(self) -> bool:
        """Whether it is a joint at its limit."""
        return self.velocity >= 0


class Sine(NamedTuple):
    """amplitude sin(sum of factor q[coordinate] + phase), by the (coordinate, factor) of it."""

    amplitude: float
    phase: float
    angles: tuple[tuple[int, float], ...]


@dataclass(frozen=True)
class PlainMargin:
    """A margin that is a sum of sines of the configuration: such as how far a foot is ahead in a plane of hinges.

    Attributes:
        constant: what is added to the sines.
        sines: these.
    """

    constant: float
    sines: tuple[Sine, ...]

    def __call__(self, t: float, x: Array) -> float:
        """Its value at a state."""
        angles = (sum(factor * float(x[k]) for k, factor in sine.angles) + sine.phase for sine in self.sines)
        return self.constant + sum(sine.amplitude * math.sin(a) for sine, a in zip(self.sines, angles, strict=True))

    def times(self, sign: float) -> PlainMargin:
        """The margin times a number."""
        sines = tuple([sine._replace(amplitude=sign * sine.amplitude) for sine in self.sines])
        return PlainMargin(sign * self.constant, sines)


def plain_margin(contact: str, function: Any, nq: int) -> PlainMargin | None:
    """The `enabled` function of a contact as data, where it says by an attribute `sines` that it is a sum of them.

    That is (constant, ((amplitude, phase, ((coordinate, factor), ...)), ...)). Compiled engines compute it then instead
    of calling the function.

    Raises:
        InputError: it has another form, or names a coordinate that the robot does not have.
    """
    given = getattr(function, "sines", None)
    if given is None:
        return None
    try:
        constant, terms = given
        sines = [Sine(float(a), float(p), tuple([(int(k), float(f)) for k, f in angles])) for a, p, angles in terms]
        known = all(0 <= k < nq for sine in sines for k, _ in sine.angles)
    except (TypeError, ValueError):
        known = False
    if not known:
        raise InputError(
            f"'enabled' of contact '{contact}' has an attribute 'sines' of another form; give (constant, ((amplitude,"
            f" phase, ((coordinate, factor), ...)), ...)) with coordinates from 0 to {nq - 1}, or leave it out"
        )
    return PlainMargin(float(constant), tuple(sines))


class PlainOscillation(NamedTuple):
    """Motion of a ground as a whole by amplitude sin(pace t + phase): amplitude (3,) [m], pace [rad/s], phase [rad]."""

    amplitude: tuple[float, float, float]
    pace: float
    phase: float


@dataclass(frozen=True, eq=False)
class PlainReach:
    """Bounds of the motion of joints: arrays of `kinematics.reach.Reach`, of which joint 0 is the world."""

    parent: Array
    length: Array
    slides: Array
    turns: Array
    places: Array


class PlainGround(NamedTuple):
    """A plane or hills, and their motion as a whole.

    Attributes:
        basis: normal and tangents (1 to 3, 3) of a plane; of hills where they are level.
        point: of a plane (3,) [m]; of hills the origin.
        belt: velocity of a plane's surface (3,) [m/s]; of hills zero.
        motion: None: it stands still.
        hills: None: it is a plane.
    """

    basis: Array
    point: Array
    belt: Array
    motion: PlainOscillation | None
    hills: PlainHills | None


def plain_ground(terrain: Terrain, basis: Array, tangents: Tangents) -> PlainGround | None:
    """A ground that is a plane or hills, standing still or oscillating; None of any other.

    Args:
        terrain: the ground.
        basis: normal and tangents (1 to 3, 3) of a plane.
        tangents: how they follow the normal.
    """
    motion = None
    if terrain.moving:
        from .terrain.moving import Moving, Oscillation

        if type(terrain) is not Moving or type(terrain.motion) is not Oscillation:
            return None
        given, terrain = terrain.motion, terrain.ground
        motion = PlainOscillation(given.amplitude, 2.0 * math.pi * given.frequency, given.phase)
    plane = terrain.plane()
    if plane is not None and type(terrain).gaps is Plane.gaps:
        return PlainGround(basis, np.array(plane[0]), np.array(terrain.belt()), motion, None)
    hills = terrain.plain_hills()
    if hills is None:
        return None
    across = tangents.across if isinstance(tangents, InPlane) else None
    return PlainGround(axes(UP, tangents), np.zeros(3), np.zeros(3), motion, replace(hills, across=across))


class PlainLoops(NamedTuple):
    """What closes the loops of a robot.

    Attributes:
        pins: pairs of points that are held together, each by (joint, place in its frame (3,)).
        couplings: (((coordinate, velocity, factor), ...), value): factors times joint positions add up to the value.
        rank: of their rows where the run started; None: no run has.
    """

    pins: tuple[tuple[tuple[int, Array], tuple[int, Array]], ...]
    couplings: tuple[tuple[tuple[tuple[int, int, float], ...], float], ...]
    rank: int | None


@dataclass(frozen=True, eq=False)
class PlainRobot:
    """A robot on its ground.

    Attributes:
        nq, nv: numbers of a configuration and of a velocity.
        joints: parents first; the parts of composite joints one by one.
        gravity: (3,) [m/s^2].
        armature, damping: (nv,).
        springs: (q, v, stiffness, rest) of each spring of a plain coordinate.
        contacts: of the ground, between bodies (None: not known) and limits, by their numbers.
        ground: what these touch.
        turning: velocities that are rates of rotation (k,).
        reach: bounds of its motion; None: there are none.
        frame: of contacts between bodies; None: there are none.
        arms: largest distance of what touches other bodies from the origin of each joint of `reach` (joints,) [m];
            None: that is not known.
        loops: what closes its loops; None: it has none.
    """

    nq: int
    nv: int
    joints: tuple[PlainJoint, ...]
    gravity: Array
    armature: Array
    damping: Array
    springs: tuple[tuple[int, int, float, float], ...]
    contacts: tuple[PlainContact | None, ...]
    ground: PlainGround
    turning: Array
    reach: PlainReach | None
    frame: PlainFrame | None = None
    arms: Array | None = None
    loops: PlainLoops | None = None

    @cached_property
    def knows_all(self) -> bool:
        """Whether none of its contacts is left out."""
        return all(contact is not None for contact in self.contacts)


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
    axis = np.array([0.0, 0.0, 1.0])
    if joint.nv == 1:  # the only column of its motion subspace; not all of pinocchio's joints say their axis
        slides, turns = np.array(joint.createData().S).reshape(2, 3)
        axis = slides if kind == "prismatic" else turns
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
        axis,
        float(mass),
        np.array(centre),
        np.array(inertia),
    )
