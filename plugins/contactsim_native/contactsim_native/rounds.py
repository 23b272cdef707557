"""Rims of discs, points on which these stand, and ellipsoids on planes in C++."""

from __future__ import annotations

from functools import lru_cache

from contactsim.multibody.kinematics import curved_contacts
from contactsim.multibody.plain_robot import PlainRound

from . import _native


@lru_cache(maxsize=1)
def round_rules() -> _native.RoundRules:
    """The thresholds of discs that may lie flat."""
    (rim_begins, points_begin), (rim_ends, points_end) = curved_contacts.BEGIN, curved_contacts.ENDS
    return _native.RoundRules(
        rim_begins=rim_begins,
        points_begin=points_begin,
        rim_ends=rim_ends,
        points_end=points_end,
        rise=curved_contacts.RISE,
        off=curved_contacts.OFF,
        steep=curved_contacts.STEEP,
    )


@lru_cache(maxsize=1024)
def native_round(body: PlainRound) -> _native.Rounded:
    """A rounded body as the extension has it."""
    made = _native.Rounded(body.root.ravel().tolist(), body.bend, round_rules())
    if body.disc is not None:
        number, axis, lying, flat = body.disc
        made.on_disc(number, axis.tolist(), lying, flat)
    return made
