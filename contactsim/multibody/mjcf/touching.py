"""Contacts of a compiled MJCF file: its ground, contact points against it, and solids that meet each other whole.

And which of its geoms do not, each with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import combinations
from math import hypot
from typing import Any

import numpy as np
import pinocchio as pin

from ...common.lazy import dataclass
from ...errors import InputError
from ..contact_point import ContactEllipsoid, ContactPoint, with_standing_points
from ..geometry.bodies import MEANT
from ..geometry.meetings import Meeting, couples_of_edges, with_edges
from ..geometry.mesh_hulls import MeshHull, hulls_of
from ..geometry.pairing import MOST_EDGES
from ..geometry.solids import GEOMETRY, Solid, solids_of
from ..mechanism import GROUND
from ..robot_files.reading import CHOICES, FOOT, shape_contacts
from ..terrain import Flat, NoGround, Plane, Slope, Terrain
from ..zero import ASIDE
from .compiled import Compiled
from .rules import CONTACT_OFF, can_touch, excluded, friction_of, moments_of, named_pair, on_one_tree, related, root_of
from .shapes import PLANE, fixed_place, ground_of


@dataclass(frozen=True)
class Touching:
    """Shapes and points of a robot, and the couples of them that touch.

    Attributes:
        points: contact points on the ground.
        solids: the shapes of geoms, by their numbers.
        hulls: of meshes, among the solids.
        meetings: solids that touch each other.
        kept_apart: {names of two shapes, or of one and the ground: why they are left out, or MEANT}.
        left_out: moving geoms that collide in the file and have none.
    """

    points: tuple[ContactPoint, ...] = ()
    solids: Mapping[int, Solid] = field(default_factory=dict)
    hulls: tuple[MeshHull, ...] = ()
    meetings: tuple[Meeting, ...] = ()
    kept_apart: Mapping[frozenset[str], str] = field(default_factory=dict)
    left_out: tuple[int, ...] = ()


def terrain_of(source: Compiled) -> Terrain:
    """The ground of a file: its most level plane, or none."""
    ground = ground_of(source)
    if ground is None or source.m.opt.disableflags & CONTACT_OFF:
        return NoGround()
    place = fixed_place(source, ground)
    point, normal = place.translation, place.rotation[:, 2]
    if abs(normal[2] - 1.0) < ASIDE**2:
        return Flat(float(point[2]))
    if abs(float(normal @ point)) < ASIDE and normal[2] > ASIDE:
        angle = float(np.arctan2(hypot(normal[0], normal[1]), normal[2]))
        return Slope(angle, (float(normal[0]), float(normal[1])))
    return Plane(np.array(point), np.array(normal), np.zeros(3))


# --- contact points ---------------------------------------------------------------------------------------------


def touching(source: Compiled, model: Any, collision: Any, choice: str, own: bool) -> Touching:
    """Contact points of a file's geoms, and which of them meet each other.

    Args:
        source: the file.
        model: pinocchio's model of it.
        collision: its collision geometry.
        choice: "all" geoms touch the ground, those named as "feet" (they or their bodies), or "auto": of each tree of
            bodies the feet where there are any, else all.
        own: whether bodies of one tree meet each other.

    Raises:
        InputError: the choice is another one, or there are no feet.
    """
    numbers = {name: k for k, name in enumerate(source.geoms)}
    items = {numbers[item.name]: item for item in collision.geometryObjects}
    moving = [k for k in items if source.moves(source.m.geom_bodyid[k])]
    points = _points(source, model, {k: items[k] for k in _chosen(source, moving, choice)})
    known, ground = {k for k, _ in points}, ground_of(source)
    reasons = reasons_of(source, items, known, own)
    solids, hulls = _solids(
        source, model, items, {k for couple, reason in reasons.items() if not reason for k in couple}
    )
    reasons = affordable(reasons, solids)
    met = [couple for couple, reason in reasons.items() if not reason and all(k in solids for k in couple)]
    return Touching(
        tuple(_on_ground(source, k, ground, p) for k, p in points if ground is None or can_touch(source, k, ground)),
        solids,
        hulls,
        tuple(_meeting(source, solids, *couple) for couple in met),
        kept_apart(source, reasons, items, solids),
        tuple(k for k in moving if k not in known),
    )


def _chosen(source: Compiled, geoms: Sequence[int], choice: str) -> list[int]:
    if choice not in CHOICES:
        raise InputError(f"contacts is '{choice}'; give {', '.join(map(repr, CHOICES))} or a list of ContactPoint")
    if choice == "all":
        return list(geoms)
    names = {k: (source.geoms[k], source.bodies[source.m.geom_bodyid[k]]) for k in geoms}
    feet = [k for k in geoms if any(re.search(FOOT, name) for name in names[k])]
    if choice == "feet" and not feet:
        raise InputError(f"no geom or body of {source.path.name} is named as a foot; give contacts='all' or a list")
    standing = {root_of(source, k) for k in feet}
    return feet if choice == "feet" else [k for k in geoms if k in feet or root_of(source, k) not in standing]


def _points(source: Compiled, model: Any, items: Mapping[int, Any]) -> list[tuple[int, ContactPoint]]:
    """Contact points with their geoms; named by their body, and by a number where it has several."""
    found: list[tuple[int, ContactPoint]] = []
    for geom, item in items.items():
        frame = model.frames[item.parentFrame]
        place, leaf = frame.placement.actInv(item.placement), not model.children[frame.parentJoint]
        found += [(geom, point) for point in _points_of(source.bodies[source.m.geom_bodyid[geom]], item, place, leaf)]
    owners = [point.frame for _, point in found]
    named = [
        (geom, point if owners.count(owner) == 1 else replace(point, name=f"{owner}/{owners[:k].count(owner)}"))
        for k, ((geom, point), owner) in enumerate(zip(found, owners, strict=True))
    ]
    return [(geom, point) for geom, own in named for point in with_standing_points([own])]


def _points_of(body: str, item: Any, place: Any, leaf: bool) -> list[ContactPoint]:
    """Contact points of a geom at a place on its body: an ellipsoid whole, others by `shape_contacts`."""
    if type(item.geometry).__name__ == "Ellipsoid":
        x, y, z, *turn = (float(number) for number in pin.SE3ToXYZQUAT(place))
        first, second, third = (float(radius) for radius in item.geometry.radii)
        quaternion = turn[0], turn[1], turn[2], turn[3]
        return [ContactEllipsoid(body, (x, y, z), radii=(first, second, third), quaternion=quaternion)]
    return shape_contacts(body, item.geometry, place, leaf)


def _on_ground(source: Compiled, geom: int, ground: int | None, point: ContactPoint) -> ContactPoint:
    """The point with its friction on the ground."""
    return replace(point, friction=friction_of(source, geom, ground), **moments_of(source, geom, ground))


# --- solids that meet -------------------------------------------------------------------------------------------


def _solids(
    source: Compiled, model: Any, items: Mapping[int, Any], meeting: Collection[int]
) -> tuple[dict[int, Solid], tuple[MeshHull, ...]]:
    """{geom: solid}, each with its own friction, and the hulls of those meshes that meet others."""
    plain = [k for k, item in items.items() if type(item.geometry).__name__ in GEOMETRY]
    numbers = {source.geoms[k]: k for k in items}
    found = dict(zip(plain, solids_of(model, items.values()), strict=True))
    hulls = tuple(hulls_of(model, [items[k] for k in items if k in meeting]))
    found |= {numbers[hull.item]: hull.solid for hull in hulls}
    return {k: replace(solid, friction=friction_of(source, k, None)) for k, solid in found.items()}, hulls


def _meeting(source: Compiled, solids: Mapping[int, Solid], one: int, two: int) -> Meeting:
    """Two geoms that touch, with the coefficients of their contacts."""
    return Meeting(solids[one].name, solids[two].name, friction_of(source, one, two), **moments_of(source, one, two))


def not_exact(touch: Touching) -> Iterator[str]:
    """Properties of solids that meet others, of their shapes and friction, that are left out."""
    solids = {solid.name: solid for solid in touch.solids.values()}
    couples = [(solids[meeting.first], solids[meeting.second], meeting) for meeting in touch.meetings]
    if touch.hulls:
        added, missed = max(np.nan_to_num(hull.added) for hull in touch.hulls), max(hull.missed for hull in touch.hulls)
        yield (
            f"meshes between bodies, but as convex hulls that add up to {100.0 * added:.3g} % to their volume and leave"
            f" out up to {1e3 * missed:.3g} mm"
        )
    if any(with_edges(one, two) and max(meeting.torsion, meeting.rolling) > 0.0 for one, two, meeting in couples):
        yield "torsional and rolling friction between bodies that both have edges or a straight side"


SWITCHED_OFF = "the file switches contacts off"
EXCLUDED = "excluded by the file (<exclude>)"
RELATED = "parent and child in the file"
BITS = "contype and conaffinity of the file keep them apart"
ONE_TREE = "bodies of one tree of the file"
NO_POINTS = "no contact points were asked for"
TOO_MANY = "their edges make too many couples"
MANY_EDGES = ("cylinder", "hull")

Reasons = dict[tuple[int, int], str]


def reasons_of(source: Compiled, geoms: Collection[int], grounded: Collection[int], own: bool) -> Reasons:
    """{two geoms of which one moves: the reason why they are left out, or MEANT}.

    Args:
        source: the file.
        geoms: those that collide and have a shape.
        grounded: those that have contact points.
        own: whether bodies of one tree meet each other.
    """
    moving = {k for k in geoms if source.moves(source.m.geom_bodyid[k])}
    couples = (couple for couple in combinations(geoms, 2) if moving & set(couple))
    found = {couple: _between(source, *couple, grounded) for couple in couples}
    return found if own else found | {couple: ONE_TREE for couple in found if _of_one_tree(source, couple, moving)}


def _of_one_tree(source: Compiled, couple: tuple[int, int], moving: set[int]) -> bool:
    """True for two geoms of one tree that touch each other without being named as a pair by the file."""
    meet = moving.issuperset(couple) and can_touch(source, *couple) and on_one_tree(source, *couple)
    return meet and named_pair(source, *couple) is None


def _between(source: Compiled, one: int, two: int, grounded: Collection[int]) -> str:
    if not can_touch(source, one, two):
        return _by_file(source, one, two)
    wall = PLANE in (source.m.geom_type[one], source.m.geom_type[two])
    return NO_POINTS if wall and not {one, two} & set(grounded) else MEANT


def _by_file(source: Compiled, one: int, two: int) -> str:
    """Why two geoms do not touch in the file."""
    if source.m.opt.disableflags & CONTACT_OFF:
        return SWITCHED_OFF
    bodies = sorted((int(source.m.geom_bodyid[one]), int(source.m.geom_bodyid[two])))
    if excluded(source.m, *bodies):
        return EXCLUDED
    return RELATED if related(source.m, *bodies) else BITS


def affordable(reasons: Reasons, solids: Mapping[int, Solid]) -> Reasons:
    """The same without cylinders and hulls of meshes, where all edges make more couples than MOST_EDGES."""
    meant = [couple for couple, reason in reasons.items() if not reason and all(k in solids for k in couple)]
    if couples_of_edges((solids[one], solids[two]) for one, two in meant) <= MOST_EDGES:
        return reasons
    costly = [couple for couple in meant if any(solids[k].kind in MANY_EDGES for k in couple)]
    return reasons | dict.fromkeys(costly, TOO_MANY)


def kept_apart(
    source: Compiled, reasons: Reasons, geoms: Collection[int], solids: Mapping[int, Solid]
) -> dict[frozenset[str], str]:
    """{names of two shapes, or of one and the ground: the reason why they are left out, or MEANT}."""
    names = {k: solids[k].name if k in solids else source.geoms[k] for k in geoms}
    found = {frozenset((names[one], names[two])): reason for (one, two), reason in reasons.items()}
    ground = ground_of(source)
    if ground is None:
        return found
    moving = (k for k in geoms if source.moves(source.m.geom_bodyid[k]))
    apart = [k for k in moving if not can_touch(source, k, ground)]
    return found | {frozenset((names[k], GROUND)): _by_file(source, k, ground) for k in apart}
