"""Which bodies touch each other: pairs of a point and a solid and of edges, by name or from the geometry; their rule.

The coefficients of a pair follow from those of the two bodies unless it has its own: friction (static friction
likewise) is the geometric mean sqrt(mu_a mu_b), so that a smooth body is smooth against anything; restitution is the
smaller one, so that a soft body is soft against anything. A solid has its own coefficients, or those of the contact
points of its body, or, where there are none, those of what it touches.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import combinations, product
from math import sqrt
from typing import Any, NamedTuple

import numpy as np
import pinocchio as pin

from ...common.arrays import Array
from ...common.lazy import dataclass
from ...common.representation import several
from ...common.telling import tell
from ...errors import InputError
from ..contact_point import ContactPoint
from ..mechanism import check_static, kinetic_of, static_of
from ..robot_model import RobotModel
from ..zero import EVEN, ON_SOLID
from .closest_points.features import Circle, Feature, Point
from .cylinder_pairs import Named, of_round, on_capsule, on_flats, on_half_space, yielding_on, yielding_round
from .cylinder_points import ConeTip, CornerOnRound, StandingPoint
from .edges import EdgeOnEdge
from .features import PairShape, PointOnSolid
from .mesh_hulls import MeshHull
from .pairs import EDGES, ContactPair, of_edges
from .smooth import SmoothOnSolid
from .solids import CORNERS, FACETED, FLAT_FACED, Solid, items_of, placement_of

MOST_EDGES = 60_000  # couples of edges with which meshes and cylinders are still carried out
Numbers = tuple[float, float, float]  # friction, static friction and restitution
DEFAULT = 0.8  # friction of two bodies of which neither says anything, as that of a ContactPoint


ON_ROUND = {"capsule": on_capsule, "box": on_flats, "hull": on_flats, "half_space": on_half_space}
JOINTS, SOLIDS = "joints of frames", "solids of frames"


class Tip(NamedTuple):
    """A point or sphere that touches solids: a contact point, a corner of a solid, or a spherical solid without any.

    Attributes:
        solid: name of the solid whose corner it is, if it is no contact point.
        whole: an ellipsoid, which touches with all of its surface.
    """

    name: str
    frame: str
    offset: Array
    radius: float
    enabled: Callable[[float, Array, Array], float] | None
    solid: str = ""
    whole: Solid | None = None


class _Named:
    """Contact points or solids, found by their own name, that of their frame, or what comes before a / in theirs."""

    def __init__(self, items: Iterable[Any]) -> None:
        self._found: dict[str, list[Any]] = {}
        for item in items:
            parts = item.name.split("/")
            for key in {item.frame, *("/".join(parts[:k]) for k in range(1, len(parts) + 1))}:
                self._found.setdefault(key, []).append(item)

    def by(self, wanted: str) -> list[Any]:
        """Those that go by a name, in their order."""
        return self._found.get(wanted, [])


class _Names(NamedTuple):
    """What pairs of a robot can name."""

    everything: dict[str, Tip]
    tips: _Named
    solids: _Named
    order: dict[str, int]


@dataclass(frozen=True)
class ResolvedPair:
    """A contact of a pair with its shapes and coefficients."""

    kinematics: PairShape
    friction: float
    static_friction: float
    restitution: float
    enabled: Callable[[float, Array, Array], float] | None

    @property
    def name(self) -> str:
        """Name of the contact."""
        return self.kinematics.name


# --- which pairs ------------------------------------------------------------------------------------------------


def expanded(robot: RobotModel, pairs: Iterable[ContactPair]) -> tuple[ContactPair, ...]:
    """Pairs of one contact point and one solid each, then of the edges of two solids.

    A later one that says more takes the place of an earlier one.

    Raises:
        InputError: nothing goes by a name, or both are on one body.
    """
    found: dict[tuple[str, str], ContactPair] = {}
    everything = {tip.name: tip for tip in tips(robot)}
    order = {solid.name: k for k, solid in enumerate(robot.solids)}
    names = _Names(everything, _Named(everything.values()), _Named(robot.solids), order)
    for pair in pairs:
        for first, second in _meetings(robot, pair, names):
            found[first, second] = replace(pair, first=first, second=second)
    return tuple(sorted(found.values(), key=of_edges))


def _meetings(robot: RobotModel, pair: ContactPair, known: _Names) -> list[tuple[str, str]]:
    """Names of the points and solids, and of the edges and edges, that a pair stands for."""
    points: Sequence[Tip] = () if of_edges(pair) else _tips(robot, pair.first, known)
    solids, order = _solids(robot, pair.second.removesuffix(EDGES), known), known.order
    met = [(p, s) for p in points for s in solids if meet_at_points(p, _surface(robot, p), s)]
    apart = [(p.name, s.name) for p, s in met if _apart(robot, p.frame, s.frame)]
    apart = [_ball_first(robot, known.everything, *names) for names in apart]
    for one, two in product(known.solids.by(pair.first.removesuffix(EDGES)), solids):
        if with_edges(one, two) and _apart(robot, one.frame, two.frame):
            names = sorted((one.name, two.name), key=order.__getitem__)
            apart.append((names[0] + EDGES, names[1] + EDGES))
    if not apart:
        raise InputError(f"'{pair.first}' and '{pair.second}' are on one body, which cannot touch itself")
    return apart


def _ball_first(robot: RobotModel, everything: Mapping[str, Tip], first: str, second: str) -> tuple[str, str]:
    """A ball meets a capsule through its own centre, not through the ends of that; an ellipsoid all with corners."""
    owner, ball = _surface(robot, everything[first]), everything.get(second)
    if owner is None or owner.kind not in CORNERS:
        return first, second
    if owner.rounding and ball is not None and ball.radius > 0.0:
        return second, owner.name
    for tip in everything.values():
        if tip.whole is not None and tip.whole.name == second:
            return tip.name, owner.name
    return first, second


def _apart(robot: RobotModel, one: str, two: str) -> bool:
    """Whether two frames are on bodies that can move against each other."""
    return _joint(robot, one) != _joint(robot, two)


def tips(robot: RobotModel) -> tuple[Tip, ...]:
    """All points that can touch a solid of another body."""
    points = [
        Tip(p.name, p.frame, np.asarray(p.offset, float), p.radius, p.enabled)
        for p in robot.contacts
        if type(p) is ContactPoint
    ]
    taken = {point.name for point in robot.contacts}
    bare = [point for point in points if _surface(robot, point) is None]
    balls = [
        Tip(_free(s.name, taken), s.frame, np.array(s.position), s.size[0], None, s.name)
        for s in robot.solids
        if s.kind == "sphere" and not _holds(bare, s) and not any(is_tip_of(point, s) for point in points)
    ]
    rounds = [
        Tip(_free(s.name, taken), s.frame, np.array(s.position), 0.0, None, s.name, s)
        for s in robot.solids
        if s.kind == "ellipsoid"
    ]
    return (*points, *balls, *rounds, *(corner for solid in robot.solids for corner in _corners(points, solid)))


def _free(name: str, taken: Container[str]) -> str:
    """The name of a solid for its own surface, where no contact point has it."""
    return f"{name}/surface" if name in taken else name


def _corners(points: Sequence[Tip], solid: Solid) -> list[Tip]:
    """The corners of a solid at which its body has no contact point."""
    if solid.kind not in CORNERS:
        return []
    alike = [p for p in points if p.frame == solid.frame and abs(p.radius - solid.rounding) < ON_SOLID]
    own = np.array([p.offset for p in alike]).reshape(-1, 3)
    found, placement = [], placement_of(solid)
    for k, vertex in enumerate(solid.polyhedron.vertices):
        place = placement.act(vertex)
        if not (np.abs(own - place).max(axis=1) < ON_SOLID).any():
            found.append(Tip(f"{solid.name}/corner{k}", solid.frame, place, solid.rounding, None, solid.name))
    return found


def automatic(robot: RobotModel) -> tuple[ContactPair, ...]:
    """Every contact point of each part against the solids of every other part, each meeting counted once, and edges.

    Two balls meet once; a ball meets a box or hull through its own centre, not through the corners of that. A foot with
    a contact point in it meets others through that point alone. Boxes and hulls meet by the corners of each against the
    faces of the other, and by their edges. Spheres without contact points count as such.
    """
    chosen: list[ContactPair] = []
    seen: set[frozenset[str]] = set()
    everything = tips(robot)
    owners = {tip.name: _surface(robot, tip) for tip in everything}
    order = {solid.name: k for k, solid in enumerate(robot.solids)}
    held = {solid.name for solid in robot.solids if _holds(everything, solid)}
    balls = {solid.name for solid in owners.values() if solid is not None and solid.kind == "sphere"}
    for tip, solid in product(everything, robot.solids):
        owner = owners[tip.name]
        if (
            solid.kind == "ellipsoid"
            and owner is not None
            and (owner.kind != "ellipsoid" or order[owner.name] < order[solid.name])
        ):
            continue
        if not meet_at_points(tip, owner, solid):
            continue
        fixed = not (_joint(robot, tip.frame) or _joint(robot, solid.frame))
        if fixed or _part(tip.name) == _part(solid.name) or (solid.name not in balls and solid.name in held):
            continue
        if owner is not None and solid.name in balls:
            meeting = frozenset((owner.name, solid.name))
            if owner.kind in CORNERS or meeting in seen:
                continue
            seen.add(meeting)
        chosen.append(ContactPair(tip.name, solid.name))
    return (*chosen, *_automatic_edges(robot))


def _automatic_edges(robot: RobotModel) -> list[ContactPair]:
    """The edges of all boxes and hulls of each part against those of every other."""
    return [
        ContactPair(one.name + EDGES, two.name + EDGES)
        for one, two in combinations(robot.solids, 2)
        if with_edges(one, two)
        and _part(one.name) != _part(two.name)
        and (_joint(robot, one.frame) or _joint(robot, two.frame))
    ]


def warn_of_other_shapes(world: RobotModel, robots: Sequence[RobotModel], names: Sequence[str]) -> None:
    """Warn of collision shapes that other bodies pass through, and of bodies that have none."""
    known = {solid.frame for solid in world.solids}
    for robot, name in zip(robots, names, strict=True):
        touching = known | {f"{name}/{point.frame}" for point in robot.contacts if type(point) is ContactPoint}
        shapes = {
            f"{name}/{robot.model.frames[item.parentFrame].name}": type(item.geometry).__name__
            for item in items_of(robot.collision_model)
        }
        kinds = {kind for frame, kind in shapes.items() if frame not in touching}
        if kinds:
            tell(
                f"part '{name}' has collision shapes ({', '.join(sorted(kinds))}) through which other parts pass;"
                " only its contact points and other shapes meet them",
            )
        model, met = robot.model, {_joint(world, frame) for frame in (*touching, *shapes)}
        bodies = [frame for frame in model.frames if model.inertias[frame.parentJoint].mass > 0.0]
        links = {frame.parentJoint: frame.name for frame in reversed(bodies) if frame.type == pin.FrameType.BODY}
        bare = [link for link in links.values() if _joint(world, f"{name}/{link}") not in met]
        if bare:
            tell(
                f"other parts pass through {several(sorted(bare))} of part '{name}', which has neither collision shapes"
                " nor contact points there; give it a <collision> in its file, or a cs.Solid",
            )


def affordable(solids: Sequence[Solid], names: Sequence[str]) -> bool:
    """Whether the edges of solids, by their parts, meet those of others in no more than MOST_EDGES couples."""
    count = Counter[str]()
    for solid in solids:
        count[_part(solid.name)] += len(solid.polyhedron.edges) if solid.kind in CORNERS else 0
    total = sum(count.values())
    return sum(count[name] * (total - count[name]) for name in names) // 2 <= MOST_EDGES


def tell_of_stand_ins(hulls: Sequence[MeshHull], name: str) -> None:
    """Warn of what of a part meets others as hulls, and of what these add or miss.

    Args:
        hulls: that stand for meshes of the part.
        name: of the part.
    """
    if hulls:
        most, least = max(hulls, key=lambda h: h.surplus), max(hulls, key=lambda h: h.missed)
        tell(
            f"part '{name}' meets other parts with its meshes as convex hulls, which add up to"
            f" {most.surplus:.3g} % to their volume ('{most.solid.frame}') and leave out up to"
            f" {1e3 * least.missed:.3g} mm ('{least.solid.frame}'; hull_corners)",
        )


def _part(name: str) -> str:
    return name.partition("/")[0]


def _joint(robot: RobotModel, frame: str) -> int:
    known = robot.known.setdefault(JOINTS, {})
    if frame not in known:
        known[frame] = int(robot.model.frames[robot.frame_id(frame)].parentJoint)
    return int(known[frame])


def _surface(robot: RobotModel, tip: Tip) -> Solid | None:
    """The solid of its own body whose corner a contact point is, or the whole of it."""
    return next((solid for solid in _on_frame(robot, tip.frame) if is_tip_of(tip, solid)), None)


def is_tip_of(tip: Tip, solid: Solid) -> bool:
    """Whether a solid touches others by a tip: its corner, or the whole of it."""
    if solid.frame != tip.frame or solid.kind == "half_space":
        return False
    if tip.whole is not None or solid.kind == "ellipsoid":
        return tip.whole is solid
    own = placement_of(solid).actInv(tip.offset)
    if solid.kind == "sphere":
        return bool(np.linalg.norm(own) < ON_SOLID and abs(tip.radius - solid.size[0]) < ON_SOLID)
    at_corner = np.abs(solid.polyhedron.vertices - own).max(axis=1).min() < ON_SOLID
    return bool(at_corner and abs(tip.radius - solid.rounding) < ON_SOLID)


def _on_frame(robot: RobotModel, frame: str) -> list[Solid]:
    """The solids of a frame."""
    if SOLIDS not in robot.known:
        found: dict[str, list[Solid]] = {}
        for solid in robot.solids:
            found.setdefault(solid.frame, []).append(solid)
        robot.known[SOLIDS] = found
    return list(robot.known[SOLIDS].get(frame, []))


def with_edges(one: Solid, two: Solid) -> bool:
    """Whether two solids meet by edges, too, or by rims."""
    kinds = {one.kind, two.kind}
    return kinds <= set(CORNERS) or kinds in ({"cylinder", "half_space"}, {"cone", "half_space"})


def meet_at_points(tip: Tip, owner: Solid | None, solid: Solid) -> bool:
    """Whether a solid touches another one with a corner: a cylinder has none, but for those on which a disc stands.

    A cone has that at its tip.
    """
    if owner is None or owner.kind not in FACETED or solid.kind != "capsule":
        return True
    return owner.kind == "cone" and not _is_below(tip, owner)


def _is_below(tip: Tip, owner: Solid) -> bool:
    """Whether a corner of a cylinder or cone is on its lower end."""
    return bool(placement_of(owner).actInv(tip.offset)[2] < 0.0)


def _holds(everything: Sequence[Tip], solid: Solid) -> bool:
    """True if a contact point of the same body lies in the solid, and it is a sphere."""
    if solid.kind != "sphere":
        return False
    centre, reach = np.array(solid.position), solid.size[0] + ON_SOLID
    own = (tip.offset for tip in everything if tip.frame == solid.frame)
    return any(float(np.linalg.norm(offset - centre)) <= reach for offset in own)


def _matches(name: str, frame: str, wanted: str) -> bool:
    return wanted in (name, frame) or name.startswith(f"{wanted}/")


def _tips(robot: RobotModel, wanted: str, names: _Names) -> list[Tip]:
    found = names.tips.by(wanted)
    if not found:
        known = ", ".join([*robot.parts, *names.everything]) or "none"
        raise InputError(f"no contact point goes by '{wanted}'; parts and contact points are {known}")
    return found


def _solids(robot: RobotModel, wanted: str, names: _Names) -> list[Solid]:
    if found := names.solids.by(wanted):
        return found
    frames, items = robot.model.frames, items_of(robot.collision_model)
    others = [item for item in items if _matches(item.name, frames[item.parentFrame].name, wanted)]
    if others:
        other = ", ".join(sorted({type(item.geometry).__name__ for item in others}))
        raise InputError(
            f"'{wanted}' has the shape {other}, against which contacts are not supported; give it spheres, boxes or"
            " half-spaces, or name it first in the pair"
        )
    known = ", ".join([*robot.parts, *(solid.name for solid in robot.solids)]) or "none"
    raise InputError(f"no solid shape goes by '{wanted}'; parts and solids are {known}")


# --- coefficients -----------------------------------------------------------------------------------------------


def resolved(robot: RobotModel, yielding: bool = False) -> tuple[ResolvedPair, ...]:
    """The contacts of the pairs of a robot with their shapes and coefficients; `yielding`: under laws that give way."""
    by_name = {tip.name: tip for tip in tips(robot)}
    solids = {solid.name: solid for solid in robot.solids}
    edged = {name + EDGES: solid for name, solid in solids.items()}
    found, of_body = list[ResolvedPair](), cache(partial(_of_body, robot))
    for pair in robot.pairs:
        points: Mapping[str, Tip | Solid] = edged if of_edges(pair) else by_name
        second = pair.second.removesuffix(EDGES)
        if pair.first not in points or second not in solids:
            gone = second if pair.first in points else pair.first
            raise InputError(f"pair '{pair.name}': there is no '{gone}' any more; pair others by with_pairs")
        one, two = points[pair.first], solids[second]
        numbers = _coefficients(pair, one, two, of_body)
        check_static(pair.name, *numbers[:2])
        if isinstance(one, Solid):
            found += [ResolvedPair(shape, *numbers, pair.enabled) for shape in _edges(robot, pair, one, two, yielding)]
        else:
            enabled = pair.enabled or one.enabled
            found.append(ResolvedPair(_point(robot, pair, one, two, yielding), *numbers, enabled))
    return tuple(found)


def _coefficients(
    pair: ContactPair, first: Tip | Solid, solid: Solid, of_body: Callable[[str, str], Numbers | None]
) -> Numbers:
    """Friction, static friction and restitution of a pair: its own, or by the rule at the head of this module."""
    name = first.solid or first.name if isinstance(first, Tip) else first.name
    one, two = of_body(name, first.frame), of_body(solid.name, solid.frame)
    given = one or two or (DEFAULT, DEFAULT, 0.0)
    (mu_a, static_a, e_a), (mu_b, static_b, e_b) = one or given, two or given
    friction = sqrt(mu_a * mu_b) if pair.friction is None else pair.friction
    static = sqrt(static_a * static_b) if pair.friction is None else friction
    static = static if pair.static_friction is None else pair.static_friction
    return friction, static, min(e_a, e_b) if pair.restitution is None else pair.restitution


def _of_body(robot: RobotModel, name: str, frame: str) -> Numbers | None:
    """Friction, static friction and restitution of a contact point, or of the solid or else the points of a frame."""
    points = [point for point in robot.contacts if point.frame == frame]
    own = [point for point in points if point.name == name]
    solids = [solid for solid in robot.solids if solid.name == name and solid.friction is not None]
    for found in (*own, *solids, *points):
        return _numbers(found)
    return None


def _numbers(found: Any) -> Numbers:
    return float(kinetic_of(found)), float(static_of(found)), float(found.restitution or 0.0)


def _point(robot: RobotModel, pair: ContactPair, point: Tip, solid: Solid, yielding: bool) -> PairShape:
    """A contact point against a solid."""
    owner = _surface(robot, point)
    stands = yielding and owner is not None and _stands(owner, solid, _is_below(point, owner))
    if stands and owner is not None:
        point = _evenly(point, owner)
    one, two = (robot.model.frames[robot.frame_id(shape.frame)] for shape in (point, solid))
    joint, centre = int(one.parentJoint), one.placement.act(point.offset)
    place_b = two.placement * placement_of(solid)
    if point.whole is not None or solid.kind == "ellipsoid":
        own = Point(np.zeros(3), float(point.radius)) if point.whole is None else point.whole.surface[0]
        place_a = one.placement * (
            pin.SE3(np.eye(3), point.offset) if point.whole is None else placement_of(point.whole)
        )
        assert isinstance(own, Feature)
        smooth = SmoothOnSolid(own, *solid.surface)
        return PairShape(pair.name, joint, place_a, int(two.parentJoint), place_b, smooth)
    inner = robot.model.inertias[joint].lever - centre
    up = None if owner is None else (one.placement * placement_of(owner)).rotation[:, 2]
    features = PointOnSolid(solid.shape, 0.0, inner) if stands else _of_point(robot, point, solid, inner, up)
    return PairShape(pair.name, joint, pin.SE3(np.eye(3), centre), int(two.parentJoint), place_b, features)


def _of_point(robot: RobotModel, point: Tip, solid: Solid, inner: Array, up: Array | None) -> PointOnSolid:
    """What it is against a solid, with the centre of its body and the z axis of its own solid in axes of its joint."""
    owner, met, radius = _surface(robot, point), solid.shape, float(point.radius)
    if owner is None and solid.kind == "cone" and not radius:
        return CornerOnRound(met, radius, inner)
    if owner is not None and up is not None:
        below = _is_below(point, owner)
        if _stands(owner, solid, below):
            flat = Circle(np.zeros(3), up, owner.size[0]).flat
            return StandingPoint(met, radius, inner, axis=-up if below else up, flat=flat)
        if owner.kind == "cone" and solid.kind in CORNERS:
            base, height = owner.size
            return ConeTip(met, radius, inner, axis=-up, sine=base / float(np.hypot(base, height)))
        if owner.kind in CORNERS and solid.kind in FACETED:
            return CornerOnRound(met, radius, inner, edges=_edges_of(robot, point, owner))
    return PointOnSolid(met, radius, inner, **_as_corner(robot, point, solid))


def _evenly(point: Tip, owner: Solid) -> Tip:
    """A point on which a disc stands, where it is as hard to tip as one that presses evenly."""
    placement = placement_of(owner)
    own = placement.actInv(np.asarray(point.offset)) * np.array([EVEN, EVEN, 1.0])
    return point._replace(offset=placement.act(own))


def _stands(owner: Solid, solid: Solid, below: bool) -> bool:
    """Whether a corner of what is in a cylinder or cone is one of those on which its flat end stands."""
    if owner.kind == "cone" and not below:
        return False
    return owner.kind in FACETED and solid.kind in (*FACETED, *FLAT_FACED)


def _as_corner(robot: RobotModel, point: Tip, solid: Solid) -> dict[str, Any]:
    """The edges that take over from a corner of a rounded shape, or on one, and whether it meets the other's corners.

    Of two shapes the one that is rounded meets the corners of the other, and of two such ones the first.
    """
    owner = _surface(robot, point)
    if owner is None or owner.kind not in CORNERS or solid.kind not in CORNERS or not owner.rounding + solid.rounding:
        return {}
    order = [known.name for known in robot.solids]
    first = owner.rounding > 0.0 and (not solid.rounding or order.index(owner.name) < order.index(solid.name))
    return {"edges": _edges_of(robot, point, owner), "corners": first}


def _edges_of(robot: RobotModel, point: Tip, owner: Solid) -> Array:
    """Directions (k, 3) of the edges that lead away from a corner of a solid, in axes of its joint."""
    core, placement = owner.polyhedron, placement_of(owner)
    corner = int(np.argmin(np.abs(core.vertices - placement.actInv(point.offset)).max(axis=1)))
    turn = robot.model.frames[robot.frame_id(point.frame)].placement.rotation @ placement.rotation
    return np.array([sense * turn @ core.directions[e] for e, sense in core.edges_of_vertices[corner]])


def _edges(robot: RobotModel, pair: ContactPair, one: Solid, two: Solid, yielding: bool) -> list[PairShape]:
    """All edges, sides, rims and faces by which two solids meet, besides points."""
    frames = [robot.model.frames[robot.frame_id(solid.frame)] for solid in (one, two)]
    joints = [int(frame.parentJoint) for frame in frames]
    places = [frame.placement * placement_of(solid) for frame, solid in zip(frames, (one, two), strict=True)]
    forth, back = (joints[0], places[0], joints[1], places[1]), (joints[1], places[1], joints[0], places[0])
    along, against = _features(one, two, yielding)
    shapes = [(name, *forth, features) for name, features in along]
    shapes += [(name, *back, features) for name, features in against]
    return [PairShape(*shape, pair.enabled is None) for shape in shapes]


def _features(one: Solid, two: Solid, yielding: bool) -> tuple[Iterable[Named], Iterable[Named]]:
    """Features of the first solid that meet the second, by name, and such of the second that meet the first."""
    if one.kind in FACETED and two.kind in FACETED:
        return (yielding_round if yielding else of_round)(one, two)
    if two.kind in FACETED and one.kind in ON_ROUND:
        return (), (yielding_on if yielding else ON_ROUND[one.kind])(two, one)
    if one.kind in FACETED and two.kind in ON_ROUND:
        return (yielding_on if yielding else ON_ROUND[two.kind])(one, two), ()
    a, b, names = one.polyhedron, two.polyhedron, (one.name, two.name)
    return (
        (f"{names[0]}/edge{i}+{names[1]}/edge{j}", EdgeOnEdge(a, i, b, j, one.rounding, two.rounding))
        for i, j in product(range(len(a.edges)), range(len(b.edges)))
    ), ()
