"""Features that meet by functions of places in C++."""

from __future__ import annotations

from functools import lru_cache

from contactsim.multibody import zero
from contactsim.multibody.geometry import smooth
from contactsim.multibody.geometry.closest_points import equations, search
from contactsim.multibody.geometry.plain_features import PlainSmooth, PlainSurface
from contactsim.multibody.plain_robot import PlainMet

from . import _native
from .solids import native_polyhedron, sharp_rules


@lru_cache(maxsize=1)
def smooth_rules() -> _native.SmoothRules:
    """The thresholds of closest points."""
    closest = _native.ClosestRules(
        rough=zero.ROUGH,
        settled=search.SETTLED,
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


@lru_cache(maxsize=256)
def native_surface(body: PlainSurface) -> _native.SmoothSurface:
    """A body by its smooth pieces."""
    if body.hull is not None:
        return _native.SmoothSurface.hull(native_polyhedron(body.hull), *body.sizes, sharp_rules())
    if body.kind in ("cylinder", "cone"):
        return _native.SmoothSurface.round(_native.RoundShape(body.kind == "cone", *body.sizes))
    return _native.SmoothSurface.whole(native_piece(body))


@lru_cache(maxsize=1024)
def native_features(features: PlainSmooth) -> _native.FeaturePair:
    """Features of two bodies."""
    own, other = native_piece(features.own), native_surface(features.other)
    return _native.SmoothOnSolid(own, other, features.reach, smooth_rules())


def native_met(met: PlainMet) -> _native.Met:
    """Features, and the axes of their body."""
    return _native.Met(native_features(met.features), met.turn.ravel().tolist())
