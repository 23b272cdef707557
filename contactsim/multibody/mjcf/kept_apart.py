"""Which geoms of a compiled MJCF file contacts keep apart here, and why the others are left out."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import combinations

from ..geometry.bodies import GROUND, MEANT
from ..geometry.solids import Solid
from .compiled import Compiled
from .shapes import MESH, ground_of
from .touching import CONTACT_OFF, can_touch, excluded, float_apart, named_pair, related

SWITCHED_OFF = "the file switches contacts off"
EXCLUDED = "excluded by the file (<exclude>)"
RELATED = "parent and child in the file"
BITS = "contype and conaffinity of the file keep them apart"
ONE_TREE = "bodies of one tree of the file"
NO_POINTS = "no contact points were asked for"
EXTREMES = "meshes touch by extreme points alone"


def kept_apart(
    source: Compiled, geoms: Sequence[int], solids: Mapping[int, Solid], touching: Collection[int]
) -> dict[frozenset[str], str]:
    """{names of two shapes, or of one and the ground: the reason why they are left out, or MEANT}.

    Args:
        source: the file.
        geoms: those that collide.
        solids: the solids that some of them are.
        touching: those that have contact points.
    """
    names = {k: solids[k].name if k in solids else source.geoms[k] for k in geoms}
    moving = {k for k in geoms if source.moves(source.m.geom_bodyid[k])}
    found = {
        frozenset((names[one], names[two])): _between(source, one, two, moving, touching)
        for one, two in combinations(geoms, 2)
        if one in moving or two in moving
    }
    ground = ground_of(source)
    if ground is not None:
        apart = [k for k in moving if not can_touch(source, k, ground)]
        found |= {frozenset((names[k], GROUND)): _by_file(source, k, ground) for k in apart}
    return found


def _between(source: Compiled, one: int, two: int, moving: set[int], touching: Collection[int]) -> str:
    if not can_touch(source, one, two):
        return _by_file(source, one, two)
    free = not {one, two} <= moving or float_apart(source, one, two)
    if not free and named_pair(source, one, two) is None:
        return ONE_TREE
    if not {one, two} & set(touching):
        return NO_POINTS
    return EXTREMES if MESH in (source.m.geom_type[one], source.m.geom_type[two]) else MEANT


def _by_file(source: Compiled, one: int, two: int) -> str:
    """Why two geoms do not touch in the file."""
    if source.m.opt.disableflags & CONTACT_OFF:
        return SWITCHED_OFF
    bodies = sorted((int(source.m.geom_bodyid[one]), int(source.m.geom_bodyid[two])))
    if excluded(source.m, *bodies):
        return EXCLUDED
    return RELATED if related(source.m, *bodies) else BITS
