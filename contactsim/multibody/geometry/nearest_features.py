"""Features that touch where they are nearest to each other: gap, point, normal and rates by their closest points.

These are roots of the equations in `closest_points`, found in real numbers to rounding; one step of Newton's method
from there, at places with leading axes and complex steps, gives their derivatives.
"""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property

import numpy as np

from ...common.arrays import Array
from .closest_points.equations import Settled, drift, settled
from .closest_points.features import Feature
from .features import Bodies, FeaturePair, Meet, Place, Recent, key_of, one_of, poses_of
from .shapes import Region


def around(features: tuple[Feature, Feature], place: Place | Bodies, y: Array) -> Settled:
    """Closest points at places with leading axes and complex steps around one place, of which y (4 + k,) is known."""
    return settled(*features, poses_of(place), np.broadcast_to(y, (*place.o_a.shape[:-1], len(y))))


def met(found: Settled, bodies: Bodies) -> Meet:
    """Point, normal and rates of closest points: see `closest_points.equations`."""
    rates = drift(found, (bodies.V_a, bodies.V_b))
    return Meet(found[0].x_a, rates.x_a, found[0].normal, rates.normal)


class NearestFeatures(FeaturePair):
    """Features whose gap is the distance of their closest points."""

    @abstractmethod
    def _settled(self, place: Place | Bodies, region: Region) -> Settled:
        """The closest points in a region, at places with leading axes and complex steps around one place."""

    def gap(self, place: Place, region: Region) -> Array:
        """The signed distance of the features of a region."""
        return self._settled(place, region)[0].gap

    def meet(self, bodies: Bodies, region: Region) -> Meet:
        """Point, normal and rates: see `closest_points.equations`."""
        return met(self._settled(bodies, region), bodies)


class RootedFeatures(NearestFeatures):
    """Features whose closest points are looked for; those of the last places are kept."""

    @abstractmethod
    def _features(self, region: Region) -> tuple[Feature, Feature]:
        """Those of A and B that touch in a region."""

    @abstractmethod
    def _root(self, place: Place, region: Region) -> Array:
        """y (4 + k,) of the closest points of one place in a region.

        Raises:
            SingularError: there are none.
        """

    @cached_property
    def _roots(self) -> Recent[tuple[Array, Settled]]:
        """Of the last places: y as it is found, and with sides, derivative and points to rounding."""
        return Recent()

    def _settled(self, place: Place | Bodies, region: Region) -> Settled:
        features, here = self._features(region), one_of(place)

        def find() -> tuple[Array, Settled]:
            y = self._root(here, region)
            return y, around(features, here, y)

        y, found = self._roots.of((region, key_of(here)), find)
        plain = place.o_a.ndim == 1 and not any(map(np.iscomplexobj, place[:4]))
        return found if plain else around(features, place, y)
