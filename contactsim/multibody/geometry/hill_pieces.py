"""Which features of a robot's bodies meet hills besides its contact points, and into which pieces these are cut.

Corners of boxes and hulls, and the ends of capsules, are contact points already; their edges, faces and sides join
them. Carried out are bodies whose contact points are their corners, all alike, on hills that stay and whose material
does. A piece of an edge or face is no longer than two humps of the ground are apart, so that there is one below it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from math import ceil, hypot, sqrt

import numpy as np
import pinocchio as pin

from ...common.arrays import Array
from ...common.lazy import dataclass
from ..contact_point import ContactPoint, ContactRim, perpendicular
from ..mechanism import kinetic_of, static_of
from ..robot_model import RobotModel
from ..terrain import Terrain
from ..terrain.hills import Hills
from ..zero import LEAST_HUMP, ON_SOLID, RULED, STRAIGHT_HUMP
from .bodies import PlacedShape, bodies_of
from .closest_points.features import Circle, Point
from .convex import Flat, Round
from .discs_on_hills import ALONE, WHOLE, ArcOnHills, FaceOnHills
from .features import PairShape
from .hill_features import FlatOnHills
from .polyhedra import Polyhedron, polyhedron_of_hull, segment
from .solids import Solid

SAMPLES = 5  # along each direction of a piece
MOST = 12, 6  # pieces of an edge, and of a face along each of its directions
SECTORS = 8, 24  # of a rim: at least, and at most
FITS = 0.9  # radius of what is round, in units of the least radius of hollows, up to which its side fits into them
RINGS = 3  # of samples on a disc
NOTHING = np.zeros((0, 3))


@dataclass(frozen=True)
class OnHills:
    """A body whose edges and faces meet the ground.

    Attributes:
        shape: the body.
        core: its corners, edges and faces.
        radius: by how much it is rounded, at the beginning of its core [m].
        points: the contact point at each of its corners, by their numbers among those of the robot. Of a cone that is
            the tip, where its core begins.
        discs: of a cylinder or cone its ends, which it meets the ground with. With its side it does where its core is
            the axis, of a cone as far as to the middle of the ball that touches the side all along the rim.
        rims: of these the contacts, rims and their points, in whose place its features are.
        taper: sine of the angle between side and axis.
    """

    shape: PlacedShape
    core: Polyhedron | None
    radius: float
    points: tuple[int, ...]
    discs: tuple[Circle, ...] = ()
    rims: tuple[int, ...] = ()
    taper: float = 0.0

    @property
    def cosine(self) -> float:
        """Of that angle: what of a way along the axis is one along the side."""
        return sqrt(1.0 - self.taper**2)


def carried(robot: RobotModel, terrain: Terrain) -> list[OnHills]:
    """Bodies whose edges and faces meet a ground; none on planes, and on hills that move or are not known as such."""
    if not isinstance(terrain, Hills) or terrain.moving or any(terrain.velocity) or not terrain.curvature > 0.0:
        return []
    found = bodies_of(robot)
    return [body for k in found.above_ground if (body := _on_hills(robot, found.shapes[k], terrain)) is not None]


def _on_hills(robot: RobotModel, shape: PlacedShape, terrain: Hills) -> OnHills | None:
    """The body, where it is carried out; None: it is not, or no hump is as high as LEAST_HUMP."""
    if shape.rimmed:
        return _rimmed(robot, shape, terrain)
    core, radius = _core(shape)
    if core is None or 0.5 * terrain.curvature * shape.body.reach**2 <= LEAST_HUMP:
        return None
    own = _contacts_on(robot, shape)
    places = np.array(list(own.values())).reshape(-1, 3)
    corners = np.array([shape.placement.act(vertex) for vertex in core.vertices])
    near = np.abs(places[None] - corners[:, None]).max(axis=-1) < ON_SOLID
    if len(own) != len(corners) or not (near.sum(axis=1) == 1).all():
        return None
    points = tuple(list(own)[int(np.argmax(row))] for row in near)
    if any(not _plain(robot.contacts[i], robot.contacts[points[0]], radius) for i in points):
        return None
    return OnHills(shape, core, radius, points)


def _contacts_on(robot: RobotModel, shape: PlacedShape) -> dict[int, Array]:
    """{number of a contact on the frame of a body: its place (3,), in axes of the joint [m]}."""
    placement = robot.model.frames[robot.frame_id(shape.frame)].placement
    own = [i for i, point in enumerate(robot.contacts) if point.frame == shape.frame]
    return {i: placement.act(np.array(robot.contacts[i].offset)) for i in own}


def _rimmed(robot: RobotModel, shape: PlacedShape, terrain: Hills) -> OnHills | None:
    """A cylinder or cone, where its rims are contacts of the robot; its side where no hollow bends more than it."""
    if terrain.flat_in_parts or 0.5 * terrain.curvature * shape.body.reach**2 <= LEAST_HUMP:
        return None
    assert isinstance(shape.body, Round)
    discs = tuple(piece for piece in shape.body.pieces if isinstance(piece, Circle))
    turn, own = robot.model.frames[robot.frame_id(shape.frame)].placement.rotation, dict[int, int]()
    for i, centre in _contacts_on(robot, shape).items():
        if isinstance(point := robot.contacts[i], ContactRim):
            axis = turn @ np.array(point.axis)
            for k, disc in enumerate(discs):
                far = np.abs(shape.placement.act(disc.centre) - centre).max() + abs(point.rim - disc.radius)
                if far < ON_SOLID and abs(axis @ shape.placement.rotation @ disc.axis) > 1.0 - ON_SOLID:
                    own[i] = k
    rims = {k for i, k in own.items() if robot.contacts[i].angle is None}  # type: ignore[attr-defined]
    first = robot.contacts[min(own)] if own else None
    if first is None or len(rims) < len(discs):
        return None
    if any(not _plain(robot.contacts[i], first, 0.0, ContactRim) for i in own):
        return None
    alone = OnHills(shape, None, 0.0, (), discs, tuple(sorted(own)))
    if len(discs) == 1:
        return _with_side_of_cone(alone, robot, terrain)
    radius = discs[0].radius
    if radius * terrain.curvature >= FITS:
        return alone
    length = float(np.linalg.norm(discs[1].centre - discs[0].centre))
    return replace(alone, core=segment(length), radius=radius)


def _with_side_of_cone(body: OnHills, robot: RobotModel, ground: Hills) -> OnHills:
    """A cone with its side, where its tip is a contact point like the rim.

    The balls within that touch its side have the radius c s at the way s from the tip along the axis, and touch it at
    the way b s along the side, with the sine c and the cosine b of the angle between both.
    """
    assert isinstance(body.shape.body, Round)
    (tip,) = (piece.centre for piece in body.shape.body.pieces if isinstance(piece, Point))
    (disc,), first, at_tip = body.discs, robot.contacts[body.rims[0]], body.shape.placement.act(tip)
    near = [i for i, place in _contacts_on(robot, body.shape).items() if np.abs(place - at_tip).max() < ON_SOLID]
    tips = [i for i in near if _plain(robot.contacts[i], first, 0.0)]
    axis = disc.centre - tip
    height = float(np.linalg.norm(axis))
    slant = hypot(height, disc.radius)
    if len(tips) != 1 or disc.radius * slant / height * ground.curvature >= FITS:
        return body
    core = replace(segment(1.0), vertices=np.array([tip, tip + (slant / height) ** 2 * axis]))
    return replace(body, core=core, points=tuple(tips), taper=disc.radius / slant)


def _core(shape: PlacedShape) -> tuple[Polyhedron | None, float]:
    """Corners, edges and faces of a body, and by how much it is rounded [m]; None of what has other surfaces."""
    source = shape.source
    if isinstance(source, Solid):
        return (source.polyhedron, source.rounding) if source.kind in ("box", "hull", "capsule") else (None, 0.0)
    if isinstance(shape.hull, Flat):
        return polyhedron_of_hull(tuple((x, y, z) for x, y, z in shape.hull.vertices.tolist())), 0.0
    return None, 0.0


def _plain(point: ContactPoint, first: ContactPoint, radius: float, kind: type = ContactPoint) -> bool:
    """Whether a contact is one of a kind like the first one, without friction that has axes, moments or a margin."""
    if type(point) is not kind or abs(point.radius - radius) > ON_SOLID:
        return False
    if isinstance(point.friction, tuple) or point.rolling or point.torsion or point.stribeck or point.enabled:
        return False
    alike = [(kinetic_of(p), static_of(p), p.restitution) for p in (point, first)]
    return alike[0] == alike[1]


# --- features -----------------------------------------------------------------------------------------------------


def least_bend(ground: Hills, length: float) -> float:
    """Of the ground along a length [m], from which on that meets a hump of its own [1/m]: h = M L^2 / 8."""
    return max(RULED * ground.curvature, 8.0 * STRAIGHT_HUMP / length**2)


def _across(core: Polyhedron) -> float:
    """Length from corner to corner of its faces, at most [m]."""
    return 2.0 * float(np.linalg.norm(core.vertices - core.vertices.mean(axis=0), axis=1).max())


def features_of(body: OnHills, ground: Hills) -> Iterator[PairShape]:
    """Its edges and faces, piece by piece."""
    core, apart = body.core, ground.apart()
    for k, disc in enumerate(body.discs):
        yield from _of_disc(body, k, disc, ground)
    if core is None:
        return
    for k in range(len(core.edges)):
        yield from _named(body, f"edge{k}", _of_edge(body, core, k, ground, apart))
    for k in range(len(core.loops)):
        yield from _named(body, f"face{k}", _of_face(core, k, ground, apart))


def corners_of(body: OnHills, ground: Hills) -> list[PairShape]:
    """Its corners, in the order of its contact points."""
    core, found = body.core, list[PairShape]()
    if core is None:
        return found
    for k in range(len(body.points)):
        edges = core.edges_of_vertices[k]
        onward = np.array([sense * core.directions[e] for e, sense in edges]) / body.cosine
        leasts = [least_bend(ground, body.cosine * float(core.lengths[e])) for e, _ in edges]
        features = ground, core.vertices[k], NOTHING, np.zeros((0, 0)), np.zeros(0), onward, np.zeros((1, 0)), 0.0
        corner = FlatOnHills(*features, body.radius, body.taper, leasts=leasts)
        found.append(_pair(body, f"corner{k}", corner))
    return found


def _pair(body: OnHills, name: str, features: FlatOnHills) -> PairShape:
    shape = body.shape
    return PairShape(f"{shape.name}/{name}", shape.joint, shape.placement, 0, pin.SE3.Identity(), features)


def _named(body: OnHills, name: str, pieces: Sequence[FlatOnHills]) -> Iterator[PairShape]:
    for k, piece in enumerate(pieces):
        yield _pair(body, name if len(pieces) == 1 else f"{name}.{k}", piece)


def _of_disc(body: OnHills, k: int, disc: Circle, ground: Hills) -> Iterator[PairShape]:
    """The rim of a disc, whole and in sectors, and its face."""
    outward = disc.axis if disc.axis @ disc.centre > 0.0 else -disc.axis
    along, r = perpendicular(outward), disc.radius
    least = ALONE * r * ground.curvature
    tilt = least if least <= WHOLE else None
    parts = int(np.clip(ceil(2.0 * np.pi * r / ground.apart()), *SECTORS))
    half = np.pi * r / parts
    into, room = np.array([[1.0], [-1.0]]), np.array([half, half])
    samples = np.linspace(-half, half, SAMPLES)[:, None]
    side = None if body.core is None else body.taper
    onward = np.zeros((1 if side is None else 2, 3))  # of the face and the side: they turn with the way
    lengths = [2.0 * r] if body.core is None else [2.0 * r, body.cosine * float(body.core.lengths[0])]
    leasts = RULED * ground.curvature, [least_bend(ground, length) for length in lengths]

    def arc(angle: float, into: Array, room: Array, samples: Array) -> ArcOnHills:
        first = np.cos(angle) * along[1] - np.sin(angle) * along[0]
        spacing = half / (SAMPLES - 1)
        features = ground, disc.centre, first[None], into, room, onward, samples, spacing
        return ArcOnHills(*features, 0.0, 0.0, *leasts, axis=outward, rim=r, alone=tilt, side=side)

    if tilt is not None:
        around = np.linspace(-np.pi * r, np.pi * r, parts * (SAMPLES - 1), endpoint=False)[:, None]
        yield _pair(body, f"rim{k}", arc(0.0, into[:0], room[:0], around))
    for j in range(parts):
        yield _pair(body, f"rim{k}.{j}", arc(2.0 * np.pi * j / parts, into, room, samples))
    yield _pair(body, f"end{k}", _disc_face(ground, disc.centre, along, r))


def _disc_face(ground: Hills, centre: Array, along: Array, r: float) -> FaceOnHills:
    rings = r * np.arange(1, RINGS + 1) / RINGS
    angles = 2.0 * np.pi * np.arange(4 * RINGS) / (4 * RINGS)
    ways = np.stack([np.outer(rings, np.cos(angles)), np.outer(rings, np.sin(angles))], axis=-1).reshape(-1, 2)
    samples = np.concatenate([np.zeros((1, 2)), ways])
    none = np.zeros((0, 2)), np.zeros(0), NOTHING
    least = least_bend(ground, 2.0 * r)
    return FaceOnHills(ground, centre, along, *none, samples, r / RINGS, least=least, rim=r, off=np.zeros(2))


def _cuts(low: float, high: float, apart: float, most: int) -> Array:
    """Where a length is cut into equal pieces that are no longer than `apart`, of which there are so many at most."""
    return np.linspace(low, high, 1 + min(max(ceil((high - low) / apart), 1), most))


def _of_edge(body: OnHills, core: Polyhedron, k: int, ground: Hills, apart: float) -> list[FlatOnHills]:
    start, along = core.vertices[core.edges[k, 0]], core.directions[k]
    onward = core.into[k] if core.loops else NOTHING
    least, leasts = least_bend(ground, float(core.lengths[k])), len(onward) * [least_bend(ground, _across(core))]
    cuts, found = _cuts(0.0, float(core.lengths[k]), apart, MOST[0]), []
    half = 0.5 * float(cuts[1])
    into, room = body.cosine * np.array([[1.0], [-1.0]]), body.cosine * np.array([half, half])
    samples = np.linspace(-half, half, SAMPLES)[:, None]
    for middle in 0.5 * (cuts[1:] + cuts[:-1]):
        centre, spacing = start + middle * along, half / (SAMPLES - 1)
        features = ground, centre, along[None], into, room, onward, samples, spacing
        round_ = body.radius + body.taper * float(middle)
        found.append(FlatOnHills(*features, round_, body.taper, least, leasts))
    return found


def _of_face(core: Polyhedron, k: int, ground: Hills, apart: float) -> list[FlatOnHills]:
    corners = core.vertices[list(core.loops[k])]
    first = corners[1] - corners[0]
    first = first / np.linalg.norm(first)
    along, found = np.array([first, np.cross(core.normals[k], first)]), []
    flat = (corners - corners[0]) @ along.T
    cuts = [_cuts(low, high, apart, MOST[1]) for low, high in zip(flat.min(axis=0), flat.max(axis=0), strict=True)]
    for i, j in product(*(range(len(cut) - 1) for cut in cuts)):
        low, high = (np.array([cuts[0][i + n], cuts[1][j + n]]) for n in (0, 1))
        piece = _clipped(flat, low, high)
        if len(piece) > 2:
            whole = _piece(ground, corners[0], along, piece, 0.5 * (low + high), 0.5 * (high - low))
            found.append(replace(whole, least=least_bend(ground, _across(core))))
    return found


def _clipped(polygon: Array, low: Array, high: Array) -> Array:
    """The part (m, 2) of a convex polygon, counter-clockwise, in a rectangle. Source: Sutherland and Hodgman, 1974."""
    for axis, (bound, sense) in product((0, 1), ((low, 1.0), (high, -1.0))):
        inside, kept = sense * (polygon[:, axis] - bound[axis]), list[Array]()
        for p, q, a, b in zip(polygon, np.roll(polygon, -1, 0), inside, np.roll(inside, -1), strict=True):
            kept += [p] if a >= 0.0 else []
            kept += [p + a / (a - b) * (q - p)] if a * b < 0.0 else []
        polygon = np.array(kept).reshape(-1, 2)
    far = np.linalg.norm(polygon - np.roll(polygon, 1, 0), axis=1) > ON_SOLID if len(polygon) else []
    return np.asarray(polygon[far])


def _piece(ground: Hills, origin: Array, along: Array, polygon: Array, middle: Array, half: Array) -> FlatOnHills:
    """A convex polygon (m, 2) of a face, in a rectangle around `middle`."""
    ways, sides = polygon - middle, np.roll(polygon, -1, 0) - polygon
    into = np.column_stack([-sides[:, 1], sides[:, 0]]) / np.linalg.norm(sides, axis=1)[:, None]
    room = -(into * ways).sum(axis=1)
    grid = np.stack(np.meshgrid(*(np.linspace(-h, h, SAMPLES) for h in half)), axis=-1).reshape(-1, 2)
    grid = grid[(grid @ into.T + room >= 0.0).all(axis=1)]
    samples = np.concatenate([grid, ways, ways.mean(axis=0)[None]])
    spacing = 2.0 * float(np.linalg.norm(half)) / (SAMPLES - 1)
    return FlatOnHills(ground, origin + middle @ along, along, into, room, NOTHING, samples, spacing)


def more_humps(bodies: Sequence[OnHills], terrain: Terrain) -> list[PlacedShape]:
    """Bodies below a piece of which there can be more than one hump, as they would be cut into too many otherwise."""
    apart = terrain.apart() if isinstance(terrain, Hills) else 0.0
    return [body.shape for body in bodies if _longest(body) > apart]


def _longest(body: OnHills) -> float:
    """Length of its longest pieces [m]."""
    edges = 0.0 if body.core is None else float(body.core.lengths.max()) / min(MOST)
    return max([edges, *(2.0 * disc.radius for disc in body.discs)])
