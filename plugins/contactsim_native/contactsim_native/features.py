"""Features that meet by functions of places in C++."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from contactsim.multibody import zero
from contactsim.multibody.geometry import cylinder_points, edges, rims, smooth, yielding_rims, yielding_rounds
from contactsim.multibody.geometry.closest_points import equations, search
from contactsim.multibody.geometry.plain_features import (
    PlainConeOnLine,
    PlainCones,
    PlainFeatures,
    PlainPart,
    PlainPoint,
    PlainRimOnPart,
    PlainRounds,
    PlainStanding,
    PlainSurface,
    PlainTip,
    PlainYieldingRim,
)
from contactsim.multibody.plain_robot import PlainMet

from . import _native
from .rules import filled
from .solids import native_polyhedron, sharp_rules

PARTS = ("face", "cap", "endless", "ridge", "side", "slope", "rim")
POINTS = ("ball", "corner", "tip")
ROUNDS = ("cylinder", "cone", "capsule")
CONVEX = ("hull", "cylinder", "cone", "capsule")


@lru_cache(maxsize=1)
def smooth_rules() -> _native.SmoothRules:
    """The thresholds of closest points."""
    closest = _native.ClosestRules(
        rough=zero.ROUGH,
        settled=search.SETTLED,
        flat=zero.FLAT,
        rounds=search.ROUNDS,
        halvings=search.HALVINGS,
        newton_rounds=equations.ROUNDS,
        exact=search.EXACT,
    )
    return _native.SmoothRules(closest=closest, tied=zero.TIED, far_bodies=zero.FAR_BODIES, steps=smooth.STEPS)


def native_piece(body: PlainSurface) -> _native.SmoothPiece:
    """A body of one piece as the extension has it."""
    if body.kind == "ellipsoid":
        return _native.SmoothPiece.ellipsoid(list(body.sizes))
    return _native.SmoothPiece.ball(*body.sizes) if body.kind == "ball" else _native.SmoothPiece.half_space()


def native_round(body: PlainSurface) -> _native.RoundShape:
    """A cylinder or cone."""
    return _native.RoundShape(body.kind == "cone", *body.sizes)


@lru_cache(maxsize=256)
def native_surface(body: PlainSurface) -> _native.SmoothSurface:
    """A body by its smooth pieces."""
    if body.hull is not None:
        return _native.SmoothSurface.hull(native_polyhedron(body.hull), *body.sizes, sharp_rules())
    if body.kind in ("cylinder", "cone"):
        return _native.SmoothSurface.round(native_round(body))
    return _native.SmoothSurface.whole(native_piece(body))


@lru_cache(maxsize=1)
def rim_rules() -> _native.RimRules:
    """The thresholds of rims."""
    values = {
        "closest": smooth_rules().closest,
        "begins": rims.BEGINS,
        "ends": rims.ENDS,
        "lies": rims.LIES,
        "rise": rims.RISE,
        "smoothly_begin": rims.SMOOTHLY[0],
        "smoothly_end": rims.SMOOTHLY[1],
        "rim": zero.RIM,
        "off": zero.OFF,
        "deep": zero.DEEP,
        "far_side": zero.FAR_SIDE,
        "far_bodies": zero.FAR_BODIES,
        "parallel": zero.PARALLEL_RIMS,
        "parallel_edges": zero.PARALLEL_EDGES,
        "nearly_flat": rims.NEARLY_FLAT,
        "sideways": search.SIDEWAYS,
        "turned": search.TURNED,
    }
    return filled(_native.RimRules(), values)


def native_convex(body: PlainSurface) -> _native.ConvexBody:
    """A whole body."""
    if body.hull is not None:
        return _native.ConvexBody.hull(native_polyhedron(body.hull))
    return _native.ConvexBody.round(CONVEX.index(body.kind), *body.sizes)


@lru_cache(maxsize=1024)
def native_rim_part(part: PlainPart) -> _native.RimPart:
    """A part of a body that a rim touches."""
    sizes = [part.sine, part.radius, part.half, part.around, *part.body, part.extent, part.least]
    tables = np.ascontiguousarray(part.rows), np.ascontiguousarray(part.limits)
    other = None if part.other is None else _native.RimOfBody(*part.other)
    whole = None if part.whole is None else native_convex(part.whole)
    place = PARTS.index(part.kind), part.centre.tolist(), part.axis.tolist(), sizes, part.middle.tolist()
    return _native.RimPart(*place, *tables, other, whole)


def native_yielding(own: PlainYieldingRim) -> _native.FeaturePair:
    """A rim against all of a body that gives way."""
    parts = []
    for part, frame, span, beside in own.parts:
        normals = None if frame is None else [*frame, span]
        parts.append(_native.YieldingPart(native_rim_part(part), normals, list(beside)))
    rules = _native.YieldingRules(rim_rules(), zero.BULGE, yielding_rims.ROUNDS, yielding_rims.TURNED)
    return _native.YieldingRim(_native.RimOfBody(*own.rim), parts, own.reach, rules)


def native_rounds(pair: PlainRounds) -> _native.FeaturePair:
    """Two round bodies that give way."""
    rims = _native.YieldingRules(rim_rules(), zero.BULGE, yielding_rims.ROUNDS, yielding_rims.TURNED)
    ends = yielding_rounds.ONE_WAY_OUT, yielding_rounds.BEYOND, zero.ROUND_RIM, zero.TIED
    rules = _native.RoundPairRules(rims, *ends, yielding_rounds.POLISHES)
    own, other = (
        _native.RoundBody(ROUNDS.index(kind), radius, half, zero.BULGE) for kind, radius, half in (pair.own, pair.other)
    )
    return _native.RoundOnRound(own, other, rules)


def native_point(point: PlainPoint) -> _native.FeaturePair:
    """A point or sphere on a cylinder or cone."""
    beside = np.ascontiguousarray(point.edges).reshape(-1, 3)
    own = _native.PointKind(POINTS.index(point.kind), point.radius, beside, point.axis.tolist(), point.sine)
    return _native.PointOnRound(native_round(point.other), own, sharp_rules())


def native_standing(point: PlainStanding) -> _native.FeaturePair:
    """A point on which a disc stands."""
    half = None if point.box is None else point.box.tolist()
    hull = shape = None
    if point.other is not None:
        hull = None if point.other.hull is None else native_polyhedron(point.other.hull)
        if point.other.kind in ("cylinder", "cone"):
            shape = native_round(point.other)
    rules = _native.StandingRules(sharp_rules(), edges.RISE, cylinder_points.STANDS)
    body = _native.FacedBody(half, hull, shape)
    return _native.StandingPoint(body, point.inner.tolist(), point.axis.tolist(), point.flat, rules)


@lru_cache(maxsize=1)
def cone_rules() -> _native.ConeRules:
    """The thresholds of sides of cones."""
    values = {
        "smoothly_begin": rims.SMOOTHLY[0],
        "smoothly_end": rims.SMOOTHLY[1],
        "rim": zero.RIM,
        "round_rim": zero.ROUND_RIM,
        "off": zero.OFF,
        "deep": zero.DEEP,
        "far_side": zero.FAR_SIDE,
        "far_bodies": zero.FAR_BODIES,
        "parallel": zero.PARALLEL_EDGES,
        "arc": zero.ARC,
    }
    return filled(_native.ConeRules(), values)


def native_of_cone(features: PlainConeOnLine | PlainCones | PlainTip) -> _native.FeaturePair:
    """The side of a cone across a line or another one, or the tip of one on a capsule."""
    if isinstance(features, PlainConeOnLine):
        edge = _native.EdgeOfBody(native_polyhedron(features.hull), *features[2:])
        return _native.ConeSideOnLine(_native.Cone(*features.cone), edge, cone_rules())
    if isinstance(features, PlainCones):
        return _native.ConeSideOnCone(_native.Cone(*features.own), _native.Cone(*features.other), cone_rules())
    core = native_polyhedron(features.hull)
    return _native.TipOnCapsule(core, features.around, list(features.axis), features.sine, sharp_rules())


@lru_cache(maxsize=8192)
def native_features(features: PlainFeatures) -> _native.FeaturePair:
    """Features of two bodies."""
    if isinstance(features, PlainRimOnPart):
        return _native.rim_on(_native.RimOfBody(*features.rim), native_rim_part(features.part), rim_rules())
    if isinstance(features, PlainYieldingRim):
        return native_yielding(features)
    if isinstance(features, PlainRounds):
        return native_rounds(features)
    if isinstance(features, PlainPoint):
        return native_point(features)
    if isinstance(features, PlainStanding):
        return native_standing(features)
    if isinstance(features, PlainConeOnLine | PlainCones | PlainTip):
        return native_of_cone(features)
    own, other = native_piece(features.own), native_surface(features.other)
    return _native.SmoothOnSolid(own, other, features.reach, smooth_rules())


def native_met(met: PlainMet) -> _native.Met:
    """Features, and the axes of their body."""
    return _native.Met(native_features(met.features), met.turn.ravel().tolist(), met.disc)
