"""The whole shapes of a robot's bodies, which of them contacts keep apart, and which pairs are left out, and why.

A shape is kept apart from the ground where its contact points are all of it: the centre of a ball, the corners of a box
or hull, the ends of a capsule, the rims of a cylinder, an ellipsoid. Two shapes are kept apart where contacts between
their bodies are meant for all of them: those that `merge` pairs by itself, pairs that stand for whole bodies, and what
an MJCF file lets touch and its joints do not hold inside each other. All other pairs are left out and listed. What is
kept apart is watched: a start inside is refused, and the check measures depths by the shapes alone, whether contacts
carry them out or not.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pinocchio as pin

from ...common.arrays import Array
from ...common.lazy import dataclass
from ...errors import InputError
from ..mechanism import GROUND
from ..robot_model import RobotModel
from ..zero import ON_SOLID
from . import convex
from .closest_points.equations import Pose
from .closest_points.features import Circle, Ellipsoid, Feature, Point, on_axes
from .convex import Convex
from .pairs import EDGES
from .solids import CORNERS, GEOMETRY, Solid, items_of, placement_of

KNOWN = "bodies"
MEANT = ""  # instead of a reason: a pair that is kept apart
NEIGHBOURS = "neighbouring links"
ONE_ROBOT = "links of one robot"
NOT_PAIRED = "no pair was given for them"
OVERLAPPING = "inside each other in the nominal pose"
LEAST = 4  # vertices of a mesh with a volume
FLOATING = ("JointModelFreeFlyer", "JointModelPlanar")
ROUND = ("Capsule", "Cylinder", "Cone", "Ellipsoid")  # coal's shapes
MARGIN = "their contacts close only where a margin allows"


@dataclass(frozen=True)
class LeftOut:
    """Two shapes that pass through each other, by name (or one and the "ground"), and the reason."""

    first: str
    second: str
    reason: str

    def __str__(self) -> str:
        return f"{self.first} + {self.second}: {self.reason}"


@dataclass(frozen=True, eq=False)
class PlacedShape:
    """A shape on its joint.

    Attributes:
        name: of the solid, or of the collision geometry.
        frame, joint: that carry it.
        placement: on the joint (pin.SE3).
        source: the solid, or coal's shape.
    """

    name: str
    frame: str
    joint: int
    placement: Any
    source: Any

    @property
    def half_space(self) -> bool:
        """True of half-spaces, which have no body."""
        return isinstance(self.source, Solid) and self.source.kind == "half_space"

    @property
    def cornered(self) -> bool:
        """True of solids with corners and edges."""
        return isinstance(self.source, Solid) and self.source.kind in CORNERS

    @property
    def rimmed(self) -> bool:
        """True of cylinders and cones."""
        pieces = self.hull.pieces if isinstance(self.hull, convex.Round) else ()
        return any(isinstance(piece, Circle) for piece in pieces)

    @cached_property
    def hull(self) -> Convex | None:
        """The whole of it, a mesh as its convex hull; None of a mesh in a plane."""
        return _of_solid(self.source) if isinstance(self.source, Solid) else _of_geometry(self.source)

    @property
    def body(self) -> Convex:
        """The same, of a shape that has a volume."""
        assert self.hull is not None
        return self.hull


class Bodies(NamedTuple):
    """The shapes of a robot, the places of pairs that are kept apart, of those above ground, and what is left out."""

    shapes: tuple[PlacedShape, ...]
    pairs: tuple[tuple[int, int], ...]
    above_ground: tuple[int, ...]
    left_out: tuple[LeftOut, ...]


def bodies_of(robot: RobotModel) -> Bodies:
    """The shapes of a robot and how they meet, read off once."""
    if KNOWN not in robot.known:
        robot.known[KNOWN] = _read(robot)
    found: Bodies = robot.known[KNOWN]
    return found


def _read(robot: RobotModel) -> Bodies:
    try:
        shapes = shapes_of(robot)
    except InputError as error:  # contacts were given by hand, or are the origins of feet
        return Bodies((), (), (), (LeftOut(robot.name, GROUND, str(error)),))
    judge = _Judge(robot)
    pairs, above, left = [], [], []
    for i, shape in enumerate(shapes):
        if shape.joint and not shape.half_space:
            if reason := judge.on_ground(shape) or _flat(shape):
                left.append(LeftOut(shape.name, GROUND, reason))
            else:
                above.append(i)
    for i, j in combinations(range(len(shapes)), 2):
        one, two = shapes[i], shapes[j]
        if one.joint != two.joint and not (one.half_space and two.half_space):
            if reason := judge.between(one, two) or _flat(one, two):
                left.append(LeftOut(one.name, two.name, reason))
            else:
                pairs.append((i, j))
    return Bodies(shapes, tuple(pairs), tuple(above), tuple(left))


def _flat(*shapes: PlacedShape) -> str:
    """The reason why shapes that would be kept apart are not, if one of them has no volume."""
    flat = [shape.name for shape in shapes if not shape.half_space and shape.hull is None]
    return f"the mesh of {flat[0]} has no volume" if flat else MEANT


# --- shapes -----------------------------------------------------------------------------------------------------


def shapes_of(robot: RobotModel) -> tuple[PlacedShape, ...]:
    """All shapes of a robot: its solids, then other collision geometry."""
    found = []
    for solid in robot.solids:
        frame = robot.model.frames[robot.frame_id(solid.frame)]
        place, joint = frame.placement * placement_of(solid), int(frame.parentJoint)
        found.append(PlacedShape(solid.name, solid.frame, joint, place, solid))
    known = {(solid.frame, solid.kind) for solid in robot.solids}
    for item in items_of(robot.collision_model):
        kind, mesh = type(item.geometry).__name__, hasattr(item.geometry, "vertices")
        frame_name = robot.model.frames[item.parentFrame].name
        if (kind in ROUND or mesh) and (frame_name, "hull" if mesh else GEOMETRY.get(kind, kind)) not in known:
            found.append(PlacedShape(item.name, frame_name, int(item.parentJoint), item.placement, item.geometry))
    return tuple(found)


def _of_solid(solid: Solid) -> Convex:
    if solid.kind in ("box", "hull"):
        return convex.polyhedron(solid.polyhedron)
    if solid.kind == "sphere":
        return convex.ball(*solid.size)
    if solid.kind == "ellipsoid":
        return convex.ellipsoid(solid.size)
    return {"capsule": convex.capsule, "cylinder": convex.cylinder, "cone": convex.cone}[solid.kind](*solid.size)


def _of_geometry(shape: Any) -> Convex | None:
    kind = type(shape).__name__
    along = {"Capsule": convex.capsule, "Cylinder": convex.cylinder, "Cone": convex.cone}.get(kind)
    if along is not None:
        return along(float(shape.radius), float(2.0 * shape.halfLength))
    if kind == "Ellipsoid":
        return convex.ellipsoid(np.asarray(shape.radii).tolist())
    points = np.asarray(shape.vertices(), dtype=float)
    return convex.hull_of(points)


def depths_between(shapes: tuple[PlacedShape, PlacedShape], poses: tuple[Pose, Pose]) -> Array:
    """Depths (k,) [m] of two shapes in each other at poses (k,) in the order of time; negative where they are apart."""
    (one, two), (at_one, at_two) = shapes, poses
    if not one.half_space and not two.half_space:
        return -convex.distances((one.body, two.body), poses)
    (shape, pose), plane = ((one, at_one), at_two) if two.half_space else ((two, at_two), at_one)
    up = plane.R[:, None, :, 2]
    along = shape.body.support(-(up @ pose.R)[:, 0])
    return np.asarray(along - np.einsum("kij,kj->k", up, pose.o - plane.o))


def depth_between(shapes: tuple[PlacedShape, PlacedShape], poses: tuple[Pose, Pose]) -> float:
    """That at one pose."""
    one, two = (Pose(pose.R[None], pose.o[None]) for pose in poses)
    return float(depths_between(shapes, (one, two))[0])


# --- what is kept apart -----------------------------------------------------------------------------------------


class _Judge:
    """Says of two shapes why they are left out, or MEANT."""

    def __init__(self, robot: RobotModel) -> None:
        self._robot = robot
        self._parents = list(robot.model.parents)
        self._paired = {(pair.first, pair.second): pair.enabled is None for pair in robot.pairs}
        self._tips: dict[str, list[Any]] = {}
        if robot.pairs:
            from .pairing import tips

            for tip in tips(robot):
                self._tips.setdefault(tip.frame, []).append(tip)
        self._points: dict[str, list[Any]] = {}
        for point in robot.contacts:
            self._points.setdefault(point.frame, []).append(point)

    def on_ground(self, shape: PlacedShape) -> str:
        """Whether the contact points of a frame are all of a shape."""
        given = self._robot.kept_apart.get(frozenset((shape.name, GROUND)), MEANT)
        points = self._points.get(shape.frame, [])
        if given or not points:
            return given or "it has no contact points"
        found = self._by(shape, [(point.feature, point) for point in points])
        if found is None:
            return f"it touches by {len(points)} contact point{'s' if len(points) > 1 else ''} alone"
        return MARGIN if any(point.enabled is not None for point in found) else MEANT

    def between(self, one: PlacedShape, two: PlacedShape) -> str:
        """Of two shapes on different joints."""
        given = self._robot.kept_apart.get(frozenset((one.name, two.name)))
        if given is not None:
            return given or self._at_nominal(one, two)
        if any(_parted(one.name, two.name, group) for group in self._robot.groups):
            alone = [shape.name for shape in (one, two) if self._by_points(shape)]
            return f"{alone[0]} meets others through its contact points alone" if alone else MEANT
        found = [self._by_pairs(one, two), self._by_pairs(two, one)]
        if None not in found or any(reason is not None for reason in found):
            return MEANT if MEANT in found else next(reason for reason in found if reason is not None)
        if self._parents[one.joint] == two.joint or self._parents[two.joint] == one.joint:
            return NEIGHBOURS
        part = [name.partition("/")[0] for name in (one.name, two.name)]
        return NOT_PAIRED if self._robot.parts and part[0] != part[1] else ONE_ROBOT

    def _at_nominal(self, one: PlacedShape, two: PlacedShape) -> str:
        """The reason why shapes are left out that joints hold inside each other, the base of an arm and its links."""
        if one.half_space or two.half_space or None in (one.hull, two.hull):
            return MEANT
        roots = [self._root(shape.joint) for shape in (one, two)]
        if roots[0] != roots[1] and any(self._floats(root) for root in roots):
            return MEANT
        placed = [pin.XYZQUATToSE3(place) for place in self._nominal[[one.joint, two.joint]]]
        (p, q) = (place * shape.placement for place, shape in zip(placed, (one, two), strict=True))
        poses = Pose(p.rotation, p.translation), Pose(q.rotation, q.translation)
        return OVERLAPPING if depth_between((one, two), poses) > 0.0 else MEANT

    @cached_property
    def _nominal(self) -> Array:
        return self._robot.joint_placements(self._robot.nominal)

    def _root(self, joint: int) -> int:
        """The first joint of the tree of a joint; 0 is the world."""
        while self._parents[joint]:
            joint = self._parents[joint]
        return joint

    def _floats(self, root: int) -> bool:
        """Whether nothing holds a tree."""
        return bool(root) and self._robot.model.joints[root].shortname() in FLOATING

    def _by_points(self, shape: PlacedShape) -> bool:
        """Whether its body has contact points of its own that are not all of it."""
        points = self._points.get(shape.frame, [])
        if not points or shape.cornered:
            return False
        return self._by(shape, [(point.feature, point) for point in points]) is None

    def _by_pairs(self, one: PlacedShape, two: PlacedShape) -> str | None:
        """What pairs between the first, by its points or edges, and the second stand for; None: there are none."""
        if one.cornered and (two.cornered or two.half_space):
            always = self._paired.get((one.name + EDGES, two.name + EDGES))
            if always is not None:
                return MEANT if always else MARGIN
        own = [tip for tip in self._tips.get(one.frame, []) if (tip.name, two.name) in self._paired]
        if not own:
            return None
        found = self._by(one, [(Point(tip.offset, tip.radius), tip) for tip in own])
        if found is None or (one.cornered and not two.half_space):
            return f"{one.name} meets it through some of its points alone"
        always = all(self._paired[tip.name, two.name] and tip.enabled is None for tip in found)
        return MEANT if always else MARGIN

    def _by(self, shape: PlacedShape, given: Sequence[tuple[Feature, Any]]) -> list[Any] | None:
        """What carries each of the features whose hull a shape is; None where one has nothing."""
        mesh = hasattr(shape.source, "vertices") and not isinstance(shape.source, Solid)
        if mesh and len(given) < LEAST:
            return None
        frame = self._robot.model.frames[self._robot.frame_id(shape.frame)]
        place = frame.placement.actInv(shape.placement)
        if isinstance(shape.hull, convex.Round):
            return _carriers([on_axes(piece, place) for piece in shape.hull.pieces], given)
        if not isinstance(shape.hull, convex.Flat):
            return None
        return _carriers([Point(place.act(vertex)) for vertex in shape.hull.vertices], given)


def _parted(one: str, two: str, group: Sequence[str]) -> bool:
    """Whether names belong to two different ones of the parts of a group."""
    owners = [next((part for part in group if name.startswith(f"{part}/")), None) for name in (one, two)]
    return None not in owners and owners[0] != owners[1]


def _carriers(pieces: Sequence[Feature], given: Sequence[tuple[Feature, Any]]) -> list[Any] | None:
    """What carries each of the pieces; None where one has nothing."""
    if len(given) < len(pieces):
        return None
    found = []
    for piece in pieces:
        owner = next((owner for feature, owner in given if _alike(piece, feature)), None)
        if owner is None:
            return None
        found.append(owner)
    return found


def _alike(one: Feature, two: Feature) -> bool:
    if type(one) is not type(two) or float(np.abs(one.centre - two.centre).max()) > ON_SOLID:
        return False
    if isinstance(one, Circle) and isinstance(two, Circle):
        return abs(one.radius - two.radius) < ON_SOLID and abs(abs(float(one.axis @ two.axis)) - 1.0) < ON_SOLID
    if isinstance(one, Ellipsoid) and isinstance(two, Ellipsoid):
        squares = [(part.axes * part.radii**2) @ part.axes.T for part in (one, two)]
        return float(np.abs(squares[0] - squares[1]).max()) < ON_SOLID
    return abs(one.offset - two.offset) < ON_SOLID


def summary(left_out: Sequence[LeftOut]) -> str:
    """One line a reason, with the number of pairs."""
    counts: dict[str, int] = {}
    for pair in left_out:
        counts[pair.reason] = counts.get(pair.reason, 0) + 1
    return "; ".join(f"{reason} ({count})" for reason, count in counts.items())
