"""Solids that spheres, points and edges touch in C++."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from contactsim.multibody import zero
from contactsim.multibody.plain_robot import PlainContact, PlainSolid

from . import _native
from .rules import filled

if TYPE_CHECKING:
    from contactsim.multibody.geometry.polyhedra import Polyhedron

RULES = {
    "rim": zero.RIM,
    "beside": zero.BESIDE,
    "sunk": zero.SUNK,
    "off": zero.OFF,
    "round_rim": zero.ROUND_RIM,
    "deep": zero.DEEP,
    "far_side": zero.FAR_SIDE,
    "near_edge": zero.NEAR_EDGE,
    "on_solid": zero.ON_SOLID,
    "one_point": zero.ONE_POINT,
    "one_normal": zero.ONE_NORMAL,
    "arc": zero.ARC,
    "parallel": zero.PARALLEL_EDGES,
    "loose": zero.LOOSE,
    "flat": zero.FLAT,
}


NONE_BESIDE = np.zeros((0, 3))


@lru_cache(maxsize=1)
def sharp_rules() -> _native.SharpRules:
    """The thresholds of sharp edges and corners."""
    from contactsim.multibody.geometry.edges import RISE  # which only solids need

    return filled(_native.SharpRules(), {**RULES, "rise": RISE})


@lru_cache(maxsize=1024)
def native_polyhedron(solid: Polyhedron) -> _native.Polyhedron:
    """A polyhedron as the extension has it."""
    tables = np.ascontiguousarray(solid.vertices), np.ascontiguousarray(solid.normals), np.array(solid.offsets)
    into = np.ascontiguousarray(solid.into).reshape(-1, 3)
    sides = solid.sides.tolist() if solid.loops else []
    return _native.Polyhedron(*tables, solid.edges.tolist(), sides, into)


@lru_cache(maxsize=1024)
def native_solid(solid: PlainSolid) -> _native.Solid:
    """A solid as the extension has it."""
    half = None if solid.half is None else solid.half.tolist()
    hull = None if solid.hull is None else native_polyhedron(solid.hull)
    placed = solid.joint, solid.turn.ravel().tolist(), solid.place.tolist()
    return _native.Solid(*placed, solid.radius, half, hull, sharp_rules())


def native_sharp(contact: PlainContact) -> _native.Sharp | None:
    """What of a polyhedron touches a solid; None: it is a sphere of its own."""
    own, corner = contact.edges, contact.corner
    if own is not None:
        numbers = own.own, own.other, own.lever, own.deepest, own.held, own.rim, own.blunt
        standing = None if own.standing is None else own.standing.tolist()
        made = _native.EdgeOnEdge(native_solid(own.solid), *numbers, standing)
        return _native.Sharp(None, made, own.extent, NONE_BESIDE, True)
    if contact.inner is None and corner is None:
        return None
    inner = None if contact.inner is None else contact.inner.tolist()
    beside, meets_corners = (NONE_BESIDE, True) if corner is None else (corner.edges, corner.meets_corners)
    return _native.Sharp(inner, None, 0.0, np.ascontiguousarray(beside), meets_corners)


def padded(region: tuple[int, ...]) -> list[int] | None:
    """A region as the extension has it; None where there is none."""
    return [*region, 0, 0][:3] if region else None
