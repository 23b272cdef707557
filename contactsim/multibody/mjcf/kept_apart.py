"""Which geoms of a compiled MJCF file meet each other here, and why the others are left out."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import combinations

from ..geometry.bodies import MEANT
from ..geometry.meetings import couples_of_edges
from ..geometry.pairing import MOST_EDGES
from ..geometry.solids import Solid
from ..mechanism import GROUND
from .compiled import Compiled
from .rules import CONTACT_OFF, can_touch, excluded, named_pair, on_one_tree, related
from .shapes import PLANE, ground_of

SWITCHED_OFF = "the file switches contacts off"
EXCLUDED = "excluded by the file (<exclude>)"
RELATED = "parent and child in the file"
BITS = "contype and conaffinity of the file keep them apart"
ONE_TREE = "bodies of one tree of the file"
NO_POINTS = "no contact points were asked for"
TOO_MANY = "their edges make too many couples"
MANY_EDGES = ("cylinder", "hull")

Reasons = dict[tuple[int, int], str]


def reasons_of(source: Compiled, geoms: Collection[int], grounded: Collection[int]) -> Reasons:
    """{two geoms of which one moves: the reason why they are left out, or MEANT}.

    Args:
        source: the file.
        geoms: those that collide and have a shape.
        grounded: those that have contact points.
    """
    moving = {k for k in geoms if source.moves(source.m.geom_bodyid[k])}
    couples = (couple for couple in combinations(geoms, 2) if moving & set(couple))
    return {couple: _between(source, *couple, moving, grounded) for couple in couples}


def _between(source: Compiled, one: int, two: int, moving: set[int], grounded: Collection[int]) -> str:
    if not can_touch(source, one, two):
        return _by_file(source, one, two)
    if {one, two} <= moving and named_pair(source, one, two) is None and on_one_tree(source, one, two):
        return ONE_TREE
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
