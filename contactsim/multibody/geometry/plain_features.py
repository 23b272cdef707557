"""Features of two bodies that meet by functions of both places, as plain data: see `features.FeaturePair`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from ...common.lazy import NamedTuple
from .closest_points.features import Ellipsoid, Plane, Point
from .cylinders import Drum, Taper
from .hulls import Hull
from .smooth import SmoothOnSolid

if TYPE_CHECKING:
    from .closest_points.features import Feature
    from .features import FeaturePair
    from .polyhedra import Polyhedron

UP = np.array([0.0, 0.0, 1.0])


class PlainSurface(NamedTuple):
    """A body, around the origin of its axes; what is round about one is so about z, the tip of a cone above.

    Attributes:
        kind: what it is; a capsule is a hull of two points.
        sizes: its radius, or radii, of a hull that of what is rounded around it; half the length of a cylinder or cone
            behind its radius [m].
        hull: of a hull.
    """

    kind: Literal["ball", "ellipsoid", "half_space", "hull", "cylinder", "cone"]
    sizes: tuple[float, ...]
    hull: Polyhedron | None = None


class PlainSmooth(NamedTuple):
    """An ellipsoid or a ball against a body: see `smooth.SmoothOnSolid`.

    Attributes:
        own, other: both.
        reach: largest distance of the other one from its origin [m]; None: it has no end.
    """

    own: PlainSurface
    other: PlainSurface
    reach: float | None


def plain_features(features: FeaturePair) -> PlainSmooth | None:
    """Features as plain data; None of those that no engine knows."""
    if type(features) is SmoothOnSolid:
        own, other = _surface(features.own), _surface(features.other)
        return None if own is None or other is None else PlainSmooth(own, other, features.reach)
    return None


def _surface(body: Feature | Hull | Drum | Taper) -> PlainSurface | None:
    """A body; None where it is not around its origin, or a piece of a surface alone."""
    if isinstance(body, Hull):
        return PlainSurface("hull", (body.rounding,), body.solid)
    if isinstance(body, Drum | Taper):
        return PlainSurface("cone" if isinstance(body, Taper) else "cylinder", (body.radius, body.half))
    if body.centre.any():
        return None
    if isinstance(body, Point):
        return PlainSurface("ball", (body.offset,))
    if isinstance(body, Ellipsoid) and not body.offset and np.array_equal(body.axes, np.eye(3)):
        return PlainSurface("ellipsoid", tuple(body.radii.tolist()))
    upwards = isinstance(body, Plane) and not body.offset and np.array_equal(body.normal, UP)
    return PlainSurface("half_space", ()) if upwards else None
