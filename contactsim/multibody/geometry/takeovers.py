"""Contacts of two bodies that take over from each other where both have one point and one normal.

Side, rims and ends of a cylinder, axis and round ends of a capsule, corners of a body that lies on a face and slides
over its edge, and the faces, edges and corners that they meet, end a little beyond the place where the next of them
begins to touch. There the gap of the one that is still open is that of the closed one, but for the square of the way
beyond that place: it says nothing new, and would fire as a guard by rounding. So it is hidden while the closed one
lasts, and closes where that ends. So is an edge on hills that is nearly too straight to act between its ends, while one
of these is closed: its point is anywhere between them, on the line on which they are.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ...common.arrays import Array
from ..zero import ONE_NORMAL, ONE_POINT
from .features import Bodies, PairShape, Place
from .shapes import Region

STILL = np.zeros(6)


class Met(NamedTuple):
    """Where a feature touches.

    Attributes:
        x: a point (3,).
        n: the normal (3,) there, from one body to the other.
        end: whether edges begin there.
    """

    x: Array
    n: Array
    end: bool


class Takeovers:
    """Which of some pairs can take over from each other.

    Args:
        pairs: the contacts.
    """

    def __init__(self, pairs: Sequence[PairShape]) -> None:
        self._pairs = pairs
        self._couples: dict[tuple[int, int], list[int]] = {}
        for k, pair in enumerate(pairs):
            if pair.features.takes_over:
                self._couples.setdefault(self._couple(k), []).append(k)
        self._last: tuple[tuple[int, ...], Array] = (), np.zeros(len(pairs), dtype=bool)

    def _couple(self, k: int) -> tuple[int, int]:
        """The joints of both bodies."""
        one, two = sorted((self._pairs[k].joint_a, self._pairs[k].joint_b))
        return one, two

    def beside(self, closed: Collection[int]) -> Array:
        """Which contacts (k,) may take over from closed ones: open ones of the same bodies. The last ones are kept."""
        key, last = tuple(closed), self._last
        if last[0] != key:
            couples = {self._couple(k) for k in key if self._pairs[k].features.takes_over}
            found = np.zeros(len(self._pairs), dtype=bool)
            found[[k for couple in couples for k in self._couples[couple]]] = True
            found[list(key)] = False
            self._last = last = key, found
        return last[1]

    def with_same(
        self, closed: Mapping[int, Region], near: Collection[int], place: Callable[[int], Place]
    ) -> list[int]:
        """Those of some open contacts that touch where one of the closed contacts does.

        Args:
            closed: regions of the closed contacts.
            near: open ones, all among those `beside` these, whose gaps are less than OFF.
            place: where the solids of a contact are.
        """
        couples = {self._couple(k) for k in near}
        held: dict[tuple[int, int], list[Met]] = {couple: [] for couple in couples}
        for k, region in closed.items():
            if self._pairs[k].features.takes_over and self._couple(k) in couples:
                held[self._couple(k)].append(self._met(k, place(k), region))
        acting = [k for k in near if not self._pairs[k].features.lifted(place(k))]
        return [k for k in acting if self._is_one(k, place(k), held[self._couple(k)])]

    def _met(self, k: int, place: Place, region: Region | None = None) -> Met:
        features = self._pairs[k].features
        region = features.open_region(place) if region is None else region
        found = features.meet(Bodies(*place, STILL, STILL, STILL, STILL), region)
        n = found.n if self._pairs[k].joint_a < self._pairs[k].joint_b else -found.n
        return Met(found.x, n, features.ends_edges)

    def _is_one(self, k: int, place: Place, others: Iterable[Met]) -> bool:
        own, along = self._met(k, place), self._pairs[k].features.runs_along(place)

        def far(there: Met) -> float:
            way = own.x - there.x
            if along is not None and there.end:
                way = way - (way @ along) * along
            return float(np.linalg.norm(way))

        return any(far(m) <= ONE_POINT and float(np.linalg.norm(own.n - m.n)) <= ONE_NORMAL for m in others)
