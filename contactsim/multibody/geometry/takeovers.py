"""Contacts of two bodies that take over from each other where both have one point and one normal.

Side, rims and ends of a cylinder, axis and round ends of a capsule, corners of a body that lies on a face and slides
over its edge, and the faces, edges and corners that they meet, end a little beyond the place where the next of them
begins to touch. There the gap of the one that is still open is that of the closed one, but for the square of the way
beyond that place: it says nothing new, and would fire as a guard by rounding. So it is hidden while the closed one
lasts, and closes where that ends.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

import numpy as np

from ...common.arrays import Array
from ..zero import ONE_NORMAL, ONE_POINT
from .features import Bodies, PairShape, Place
from .shapes import Region

STILL = np.zeros(6)
Met = tuple[Array, Array]  # a point (3,) and the normal (3,) there, from one body to the other


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
        return [k for k in acting if self._is_one(self._met(k, place(k)), held[self._couple(k)])]

    def _met(self, k: int, place: Place, region: Region | None = None) -> Met:
        features = self._pairs[k].features
        region = features.open_region(place) if region is None else region
        found = features.meet(Bodies(*place, STILL, STILL, STILL, STILL), region)
        return found.x, found.n if self._pairs[k].joint_a < self._pairs[k].joint_b else -found.n

    @staticmethod
    def _is_one(met: Met, others: Iterable[Met]) -> bool:
        x, n = met
        return any(
            float(np.linalg.norm(x - y)) <= ONE_POINT and float(np.linalg.norm(n - m)) <= ONE_NORMAL for y, m in others
        )
