"""Edges, faces and rims of bodies on hills in C++."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from contactsim.multibody import zero
from contactsim.multibody.geometry import discs_on_hills, hill_features, nearest_on_hills
from contactsim.multibody.geometry.plain_flats import CompiledFlats, PlainFlat, PlainLowest
from contactsim.multibody.plain_robot import PlainFeature
from contactsim.multibody.terrain.plain_hills import PlainHills

from . import _native
from .rules import filled

Array = np.ndarray
KINDS = ("plain", "arc", "face")
RULES = {
    "rounds": nearest_on_hills.ROUNDS,
    "settled_way": zero.SETTLED_WAY,
    "rim": zero.RIM,
    "level": nearest_on_hills.LEVEL,
    "straight": nearest_on_hills.STRAIGHT,
    "beyond": nearest_on_hills.BEYOND,
    "held": nearest_on_hills.HELD,
    "seen": nearest_on_hills.SEEN,
    "off": zero.OFF,
    "tiny_way": hill_features.TINY_WAY,
    "same": discs_on_hills.SAME,
    "tiny": discs_on_hills.TINY,
    "later": hill_features.LATER,
    "nearly": hill_features.NEARLY,
    "loose": zero.LOOSE,
    "one_point": zero.ONE_POINT,
    "one_normal": zero.ONE_NORMAL,
}


@lru_cache(maxsize=1)
def flat_rules() -> _native.FlatRules:
    """The thresholds of the search."""
    return filled(_native.FlatRules(), RULES)


def native_flat(flat: PlainFlat, hills: _native.Hills) -> _native.Flat:
    """A feature as the extension has it."""
    along = np.ascontiguousarray(flat.along, dtype=float)
    room = flat.room.tolist()
    tables = [np.ascontiguousarray(part, dtype=float) for part in (flat.into, flat.onward, flat.samples)]
    into, onward, samples = tables
    kind = KINDS.index(flat.kind)
    sizes = flat.spacing, flat.radius, flat.taper, flat.least, list(flat.leasts)
    made = _native.Flat(kind, hills, flat_rules(), flat.centre.tolist(), along, into, room, onward, samples, *sizes)
    if flat.disc is not None:
        axis, rim, alone, side, off = flat.disc
        made.on_disc(axis.tolist(), rim, alone, side, off.tolist())
    return made


@lru_cache(maxsize=1024)
def native_feature(feature: PlainFeature, hills: PlainHills) -> _native.HillFeature:
    """What of a body touches hills."""
    from . import native_hills

    flat = native_flat(feature.flat, native_hills(hills))
    return _native.HillFeature(flat, feature.turn.ravel().tolist(), feature.place.tolist(), feature.corner)


class NativeFlats(CompiledFlats):
    """Features of one robot.

    Args:
        flats: the features.
        hills: their ground.
    """

    def __init__(self, flats: Sequence[PlainFlat], hills: _native.Hills) -> None:
        self._flats = [native_flat(flat, hills) for flat in flats]

    def look(self, number: int, pose: Array) -> tuple[float, bool, PlainLowest | None] | None:
        """What is seen of a feature."""
        return self._flats[number].look(pose)

    def nearest(self, number: int, pose: Array) -> PlainLowest | None:
        """The point of a closed one."""
        return self._flats[number].nearest(pose)

    def looks(self, numbers: Sequence[int], poses: Array) -> Array | None:
        """What is seen of several."""
        found = np.empty((len(numbers), 4))
        chosen = [self._flats[number] for number in numbers]
        return found if _native.look_at_flats(chosen, np.ascontiguousarray(poses), found) else None
