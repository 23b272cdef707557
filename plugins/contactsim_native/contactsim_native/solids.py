"""Solids that spheres touch in C++."""

from __future__ import annotations

from functools import lru_cache

from contactsim.multibody.plain_robot import PlainSolid

from . import _native


@lru_cache(maxsize=1024)
def native_solid(solid: PlainSolid) -> _native.Solid:
    """A solid as the extension has it."""
    half = None if solid.half is None else solid.half.tolist()
    return _native.Solid(solid.joint, solid.turn.ravel().tolist(), solid.place.tolist(), solid.radius, half)
