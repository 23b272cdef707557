"""The contacts of a cylinder or cone with another solid by sides, rims, faces and edges, by name.

    against            side                rims                           polygon on the rims of discs that lie flat
    cylinder, cone     side                side, ends, rims               side, polygon
    capsule            side                side                           side
    box, hull          edges               faces, edges                   edges
    half-space                             plane

Under laws that give way rims meet a box, hull or half-space as a whole, in the place of its faces and edges: see
`yielding_rims`. Cylinders, cones and capsules meet by one contact of both bodies: see `yielding_rounds`. There is no
polygon.

A cone has one rim and one flat end. Points meet besides: those on which a disc stands, the tips of cones, and corners
and round ends of the other body (see `cylinder_points`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np

from .cone_sides import ConeSideOnCone, ConeSideOnLine
from .edges import EdgeOnEdge
from .features import FeaturePair
from .polyhedra import Polyhedron, segment
from .rims import (
    Endless,
    Part,
    Rim,
    RimOnPart,
    Side,
    Z,
    flats_of,
    parts_of,
    parts_of_cone,
    rim_of_cone,
    rim_on,
    rims_of,
)
from .solids import Solid
from .yielding_rims import yielding
from .yielding_rounds import RoundBody, RoundOnRound

Named = tuple[str, FeaturePair]


def of_round(one: Solid, two: Solid) -> tuple[list[Named], list[Named]]:
    """Contacts of two cylinders or cones, those of the first on the second, and those of the second on the first."""
    (forth, back), (a, b) = _sides_of(one, two), (one.polyhedron, two.polyhedron)
    forth += ((f"{one.name}/side+{two.name}/edge{j}", _side_on(one, b, j)) for j in around(two))
    for i, j in product(around(one), around(two)):
        forth.append((f"{one.name}/edge{i}+{two.name}/edge{j}", EdgeOnEdge(a, i, b, j)))
    forth += _rims(one, two)
    return forth, [*back, *(named for named in _rims(two, one) if not isinstance(named[1].part, Rim))]


def yielding_round(one: Solid, two: Solid) -> tuple[list[Named], list[Named]]:
    """The one contact of both under laws that give way."""
    return [(f"{one.name}/whole+{two.name}", RoundOnRound(_round_body(one), _round_body(two)))], []


def _round_body(solid: Solid) -> RoundBody:
    """A cylinder, cone or capsule as it is under laws that give way."""
    radius, length = solid.size
    return RoundBody(solid.kind, radius, 0.5 * length)


def yielding_on(drum: Solid, other: Solid) -> Iterator[Named]:
    """Contacts of a cylinder or cone with a capsule, box, hull or half-space under laws that give way."""
    if other.kind == "capsule":
        yield from yielding_round(drum, other)[0]
        return
    if other.kind != "half_space":
        yield from _side_on_edges(drum, other)
    yield from _yielding_rims(drum, other, list(_all_parts(other).values()))


def _yielding_rims(drum: Solid, other: Solid, parts: Sequence[Part]) -> Iterator[Named]:
    for k, rim in enumerate(_own_rims(drum)):
        yield f"{drum.name}/rim{k}+{other.name}", yielding(rim, parts)


def _all_parts(other: Solid) -> dict[str, Part]:
    """The plane and straight parts of a half-space, box or hull."""
    if other.kind == "half_space":
        return {"": Endless()}
    return flats_of(other.polyhedron)


def _side_on_capsule(drum: Solid, capsule: Solid) -> Named:
    (radius, length), name = capsule.size, f"{drum.name}/side+{capsule.name}/side"
    return name, _side_on(drum, segment(length), 0, radius)


def _side_on_edges(drum: Solid, solid: Solid) -> Iterator[Named]:
    for j in range(len(solid.polyhedron.edges)):
        yield f"{drum.name}/side+{solid.name}/edge{j}", _side_on(drum, solid.polyhedron, j)


def on_capsule(drum: Solid, capsule: Solid) -> Iterator[Named]:
    """Contacts of a cylinder or cone with the straight part of a capsule."""
    (radius, length), side, axis = capsule.size, f"{capsule.name}/side", segment(capsule.size[1])
    yield _side_on_capsule(drum, capsule)
    for k, rim in enumerate(_own_rims(drum)):
        yield f"{drum.name}/rim{k}+{side}", rim_on(rim, Side(radius, 0.5 * length))
    for i in around(drum):
        features = EdgeOnEdge(drum.polyhedron, i, axis, 0, 0.0, radius, True, standing=Z)
        yield f"{drum.name}/edge{i}+{side}", features


def on_flats(drum: Solid, solid: Solid) -> Iterator[Named]:
    """Contacts of a cylinder or cone with the faces and edges of a box or hull."""
    other = solid.polyhedron
    yield from _side_on_edges(drum, solid)
    for (k, rim), (name, part) in product(enumerate(_own_rims(drum)), flats_of(other).items()):
        yield f"{drum.name}/rim{k}+{solid.name}/{name}", rim_on(rim, part)
    for i, j in product(around(drum), range(len(other.edges))):
        features = EdgeOnEdge(drum.polyhedron, i, other, j, standing=Z)
        yield f"{drum.name}/edge{i}+{solid.name}/edge{j}", features


def on_half_space(drum: Solid, plane: Solid) -> Iterator[Named]:
    """The rims of a cylinder, or that of a cone, on a half-space, on which it stands by points besides."""
    for k, rim in enumerate(_own_rims(drum)):
        yield f"{drum.name}/rim{k}+{plane.name}", rim_on(rim, Endless())


def _own_rims(solid: Solid) -> tuple[Rim, ...]:
    """Those of a cylinder, or that of a cone."""
    return (rim_of_cone(*solid.size),) if solid.kind == "cone" else rims_of(*solid.size)


def _side_on(round_one: Solid, other: Polyhedron, edge: int, radius: float = 0.0) -> FeaturePair:
    """The side of a cylinder or cone against an edge with a radius around it [m]."""
    own, length = round_one.size
    if round_one.kind == "cone":
        return ConeSideOnLine(own, 0.5 * length, other, edge, radius)
    return EdgeOnEdge(segment(length), 0, other, edge, own, radius, True)


def around(drum: Solid) -> list[int]:
    """The edges of its prism or pyramid that lie in its ends."""
    solid = drum.polyhedron
    return np.flatnonzero(np.ptp(solid.vertices[solid.edges, 2], axis=1) == 0.0).tolist()


def _sides_of(one: Solid, two: Solid) -> tuple[list[Named], list[Named]]:
    """Sides across each other, and on that of the second the polygon on which an end of the first stands.

    The side of a cone is the first of both.
    """
    (radius, length), line = two.size, segment(one.size[1])
    if two.kind == "cylinder":
        across: FeaturePair = _side_on(one, segment(length), 0, radius)
        standing = [EdgeOnEdge(one.polyhedron, i, segment(length), 0, 0.0, radius, True) for i in around(one)]
        forth = [(f"{one.name}/edge{i}+{two.name}/side", edge) for i, edge in zip(around(one), standing, strict=True)]
        return [(f"{one.name}/side+{two.name}/side", across), *forth], []
    back = [(f"{two.name}/side+{one.name}/edge{i}", _side_on(two, one.polyhedron, i)) for i in around(one)]
    if one.kind == "cylinder":
        return [], [(f"{two.name}/side+{one.name}/side", _side_on(two, line, 0, one.size[0])), *back]
    return [(f"{one.name}/side+{two.name}/side", ConeSideOnCone(*one.size, *two.size))], back


def _rims(one: Solid, two: Solid) -> Iterator[tuple[str, RimOnPart]]:
    """The rims of a cylinder or cone against side, ends and rims of another."""
    parts = (parts_of_cone if two.kind == "cone" else parts_of)(*two.size)
    parts |= {f"rim{k}": rim for k, rim in enumerate(_own_rims(two))}
    for (k, rim), (name, part) in product(enumerate(_own_rims(one)), parts.items()):
        yield f"{one.name}/rim{k}+{two.name}/{name}", rim_on(rim, part)
