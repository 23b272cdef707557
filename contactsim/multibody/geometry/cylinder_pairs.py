"""The contacts of a cylinder or cone with another solid by sides, rims, faces and edges, by name.

    against            side                rims                           polygon on the rims of discs that lie flat
    cylinder           side                side, ends, rims               side, polygon
    capsule            side                side                           side
    box, hull          edges               faces, edges                   edges
    half-space                             plane

A cone, with one rim, meets all but cylinders likewise.

Points meet besides: those on which a disc stands, and corners and round ends of the other body (see `cylinder_points`).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from .cone_sides import ConeSideOnLine
from .edges import EdgeOnEdge
from .features import FeaturePair
from .polyhedra import Polyhedron, segment
from .rims import Endless, Rim, RimOnPart, Side, Z, flats_of, parts_of, rim_of_cone, rim_on, rims_of
from .solids import Solid

Named = tuple[str, FeaturePair]


def of_cylinders(one: Solid, two: Solid) -> tuple[list[Named], list[Named]]:
    """Contacts of two cylinders, those of the first on the second, and those of the second on the first."""
    others = (named for named in _rims(two, one) if not isinstance(named[1].part, Rim))
    return [*_edges_of_cylinders(one, two), *_rims(one, two)], list(others)


def on_capsule(drum: Solid, capsule: Solid) -> Iterator[Named]:
    """Contacts of a cylinder or cone with the straight part of a capsule."""
    (radius, length), side, axis = capsule.size, f"{capsule.name}/side", segment(capsule.size[1])
    yield f"{drum.name}/side+{side}", _side_on(drum, axis, 0, radius)
    for k, rim in enumerate(_own_rims(drum)):
        yield f"{drum.name}/rim{k}+{side}", rim_on(rim, Side(radius, 0.5 * length))
    for i in around(drum):
        features = EdgeOnEdge(drum.polyhedron, i, axis, 0, 0.0, radius, True, standing=Z)
        yield f"{drum.name}/edge{i}+{side}", features


def on_flats(drum: Solid, solid: Solid) -> Iterator[Named]:
    """Contacts of a cylinder or cone with the faces and edges of a box or hull."""
    other = solid.polyhedron
    for j in range(len(other.edges)):
        yield f"{drum.name}/side+{solid.name}/edge{j}", _side_on(drum, other, j)
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


def _edges_of_cylinders(one: Solid, two: Solid) -> Iterator[Named]:
    """Sides of two cylinders across each other, and the polygons on which their ends stand on both."""
    names, lines = (one.name, two.name), [segment(solid.size[1]) for solid in (one, two)]
    (a, b), (r_a, r_b) = (one.polyhedron, two.polyhedron), (one.size[0], two.size[0])
    yield f"{names[0]}/side+{names[1]}/side", EdgeOnEdge(lines[0], 0, lines[1], 0, r_a, r_b, True)
    for i in around(one):
        yield f"{names[0]}/edge{i}+{names[1]}/side", EdgeOnEdge(a, i, lines[1], 0, 0.0, r_b, True)
    for j in around(two):
        yield f"{names[0]}/side+{names[1]}/edge{j}", EdgeOnEdge(lines[0], 0, b, j, r_a, 0.0, True)
    for i, j in product(around(one), around(two)):
        yield f"{names[0]}/edge{i}+{names[1]}/edge{j}", EdgeOnEdge(a, i, b, j)


def _rims(one: Solid, two: Solid) -> Iterator[tuple[str, RimOnPart]]:
    """The rims of a cylinder against side, ends and rims of another."""
    radius, length = two.size
    parts = {**parts_of(radius, length), **{f"rim{k}": rim for k, rim in enumerate(rims_of(radius, length))}}
    for (k, rim), (name, part) in product(enumerate(rims_of(*one.size)), parts.items()):
        yield f"{one.name}/rim{k}+{two.name}/{name}", rim_on(rim, part)
