"""Corners, edges, faces and rims against hills as plain data, and what a compiled engine may take over of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

from ...common.arrays import Array
from ...common.lazy import NamedTuple

if TYPE_CHECKING:
    from ..terrain.plain_hills import PlainHills


class PlainDisc(NamedTuple):
    """What a rim, or the face inside it, has besides: see `discs_on_hills`.

    Attributes:
        axis: of the disc (3,), outward; of a face it is not asked for.
        rim: its radius [m].
        alone: tilt from which on a rim touches whole; None: its sectors always do.
        side: sine of the angle between the side of its body and the axis; None: that does not meet the ground.
        off: from the centre of the disc to that of a face (2,) [m].
    """

    axis: Array
    rim: float
    alone: float | None
    side: float | None
    off: Array


class PlainFlat(NamedTuple):
    """A feature: see `hill_features.FlatOnHills`.

    Attributes:
        kind: "plain", or "arc" and "face" of a disc.
        centre, along, into, room, onward, samples, spacing, radius, taper, least, leasts: as there.
        disc: of what is no plain one.
    """

    kind: Literal["plain", "arc", "face"]
    centre: Array
    along: Array
    into: Array
    room: Array
    onward: Array
    samples: Array
    spacing: float
    radius: float
    taper: float
    least: float
    leasts: tuple[float, ...]
    disc: PlainDisc | None


class PlainLowest(NamedTuple):
    """The point nearest to the ground, as `nearest_on_hills.Nearest`; H row by row."""

    way: Sequence[float]
    core: Sequence[float]
    distance: float
    normal: Sequence[float]
    hessian: Sequence[float]


class CompiledFlats(ABC):
    """The searches of features for their nearest points, compiled; poses are axes R, row by row, and origins (k, 12).

    None: there is no ground, or no such point; Python tells what is wrong.
    """

    @abstractmethod
    def look(self, number: int, pose: Array) -> tuple[float, bool, PlainLowest | None] | None:
        """Of one feature at a pose (1, 12): `Search.low`, whether it acts, and the nearest point within its borders."""

    @abstractmethod
    def nearest(self, number: int, pose: Array) -> PlainLowest | None:
        """The point of a closed contact, within its borders or beyond."""

    @abstractmethod
    def looks(self, numbers: Sequence[int], poses: Array) -> Array | None:
        """Of some features the distance of the ball, whether that is near, then the gap, and whether it acts (k, 4)."""


Compile = Callable[[Sequence[PlainFlat], "PlainHills"], CompiledFlats | None]


class Searches:
    """The features of one robot on one ground, whose nearest points a compiled engine looks for, if there is one.

    Args:
        ground: the hills; None: no engine knows them.
        compile_: compiles the features.
    """

    def __init__(self, ground: PlainHills | None, compile_: Compile | None) -> None:
        self._ground, self._compile = ground, compile_
        self._flats, self._compiled = list[PlainFlat](), list[CompiledFlats | None]()

    def add(self, flat: PlainFlat) -> int:
        """The number of a feature that joins the others."""
        self._flats.append(flat)
        return len(self._flats) - 1

    @property
    def compiled(self) -> CompiledFlats | None:
        """What the engine knows of them, made when it is first asked for."""
        if not self._compiled:
            known = self._compile is not None and self._ground is not None
            self._compiled.append(self._compile(self._flats, self._ground) if known else None)  # type: ignore[misc,arg-type]
        return self._compiled[0]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_compiled": []}
