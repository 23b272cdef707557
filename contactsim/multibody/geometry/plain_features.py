"""Features of two bodies that meet by functions of both places, as plain data: see `features.FeaturePair`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ...common.arrays import Array
from ...common.lazy import NamedTuple, dataclass
from .closest_points.features import Ellipsoid, Plane, Point
from .cone_sides import ConeSideOnCone, ConeSideOnLine
from .cylinder_points import ConeTip, CornerOnRound, StandingPoint
from .cylinders import Drum, Taper
from .features import FeaturePair, PointOnSolid
from .hulls import Hull
from .rims import SMOOTHLY, End, Endless, Face, Lined, Part, Ridge, Rim, RimOnPart, Side, Slope
from .shapes import Block, HalfSpace
from .smooth import SmoothOnSolid

if TYPE_CHECKING:
    from .closest_points.features import Feature
    from .polyhedra import Polyhedron
    from .yielding_rims import YieldingRim

UP = np.array([0.0, 0.0, 1.0])
KINDS = {Face: "face", End: "cap", Endless: "endless", Ridge: "ridge", Side: "side", Slope: "slope", Rim: "rim"}


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


@dataclass(frozen=True, eq=False)
class PlainPoint:
    """A point or sphere on a cylinder or cone: see `features.PointOnSolid`, `cylinder_points.CornerOnRound`, `ConeTip`.

    Attributes:
        kind: "corner" of a box or hull or the round end of a capsule, "tip" of a cone, or "ball".
        radius: around it [m].
        edges: directions (k, 3) of those that take over from it, in axes of A.
        axis, sine: of a tip.
        other: what it touches.
    """

    kind: Literal["ball", "corner", "tip"]
    radius: float
    edges: Array
    axis: Array
    sine: float
    other: PlainSurface


@dataclass(frozen=True, eq=False)
class PlainStanding:
    """A point of a rim on which its disc stands: see `cylinder_points.StandingPoint`.

    Attributes:
        inner, axis, flat: of it.
        box: half of the sides of a box that it stands on (3,) [m]; None: it is none.
        other: what else it stands on; None: a box.
    """

    inner: Array
    axis: Array
    flat: float
    box: Array | None
    other: PlainSurface | None


class PlainRim(NamedTuple):
    """A rim: see `rims.Rim`; `flat` as of its circle."""

    radius: float
    half: float
    end: float
    lean: float
    flat: float


@dataclass(frozen=True, eq=False)
class PlainPart:
    """A part of a body that a rim touches: see `rims.Part` and `rims.Lined`.

    Attributes:
        kind: which one.
        centre, axis: a point of its plane or line (3,) [m], of a slope its tip; its normal or direction (3,).
        sine, radius: of the normals of a slope, and of what is around the line of a side [m].
        middle, half, around: of what is made of lines.
        body: the radius of the cylinder or cone that it is of, and half of the length [m]; zero of others.
        rows, limits: margins (m, 7) and (m, 2) that are linear in point and normal.
        other: of a rim.
        extent, least: of it [m].
        whole: the body that it is a part of; None: it is without end.
    """

    kind: Literal["face", "cap", "endless", "ridge", "side", "slope", "rim"]
    centre: Array
    axis: Array
    sine: float
    radius: float
    middle: Array
    half: float
    around: float
    body: tuple[float, float]
    rows: Array
    limits: Array
    other: PlainRim | None
    extent: float
    least: float
    whole: PlainSurface | None


@dataclass(frozen=True, eq=False)
class PlainRimOnPart:
    """A rim against a part of another body: see `rims.RimOnPart`."""

    rim: PlainRim
    part: PlainPart


class PlainYieldingPart(NamedTuple):
    """A part with its normals, if it is an edge: see `yielding_rims.Normals`.

    Attributes:
        part: it.
        frame, span: of its normals, (9,) numbers; None of others.
        beside: of a face, the numbers of the edges behind its margins.
    """

    part: PlainPart
    frame: tuple[float, ...] | None
    span: float
    beside: tuple[int, ...]


class PlainYieldingRim(NamedTuple):
    """A rim against all of a body that gives way: see `yielding_rims.YieldingRim`.

    Attributes:
        rim, parts: both.
        reach: largest distance of the other body from its origin [m]; None: it has no end.
    """

    rim: PlainRim
    parts: tuple[PlainYieldingPart, ...]
    reach: float | None


class PlainConeOnLine(NamedTuple):
    """The side of a cone across an edge, or the axis of a capsule or cylinder: see `cone_sides.ConeSideOnLine`.

    Attributes:
        cone: the radius of its base, and half of its height [m].
        hull, number, around: of the edge, and the radius around it [m].
        extent, least: its largest distance from the origin, and the least width of the polyhedron [m].
    """

    cone: tuple[float, float]
    hull: Polyhedron
    number: int
    around: float
    extent: float
    least: float


class PlainCones(NamedTuple):
    """The sides of two cones across each other: the radii of their bases, and half of their heights [m]."""

    own: tuple[float, float]
    other: tuple[float, float]


class PlainTip(NamedTuple):
    """The tip of a cone on a capsule, the core of which is a hull: see `cylinder_points.ConeTip`."""

    hull: Polyhedron
    around: float
    axis: tuple[float, ...]
    sine: float


class PlainRounds(NamedTuple):
    """Two round bodies that give way: see `yielding_rounds.RoundOnRound`.

    Attributes:
        own, other: "cylinder", "cone" or "capsule", the radius, and half of the distance of the pieces of each [m].
    """

    own: tuple[str, float, float]
    other: tuple[str, float, float]


PlainFeatures = (
    PlainSmooth
    | PlainPoint
    | PlainStanding
    | PlainRimOnPart
    | PlainYieldingRim
    | PlainRounds
    | PlainConeOnLine
    | PlainCones
    | PlainTip
)


class PlainFeaturesOf:
    """Features as plain data, parts of bodies once each."""

    def __init__(self) -> None:
        self._parts = dict[Part, PlainPart]()

    def of(self, features: FeaturePair) -> PlainFeatures | None:
        """Those of a contact; None where no engine knows them."""
        if type(features) is SmoothOnSolid:
            own, other = _surface(features.own), _surface(features.other)
            return None if own is None or other is None else PlainSmooth(own, other, features.reach)
        if isinstance(features, StandingPoint):
            return _standing(features)
        if isinstance(features, PointOnSolid):
            return _point(features)
        if isinstance(features, ConeSideOnLine | ConeSideOnCone):
            return _of_cone(features)
        if isinstance(features, RimOnPart):
            return PlainRimOnPart(_rim(features.rim), self._part(features.part))
        from .yielding_rims import YieldingRim  # which laws that give way have
        from .yielding_rounds import RoundOnRound

        if isinstance(features, RoundOnRound):
            both = features.a, features.b
            return PlainRounds(*((body.kind, body.radius, body.half) for body in both))
        return self._yielding(features) if isinstance(features, YieldingRim) else None

    def _yielding(self, features: YieldingRim) -> PlainYieldingRim:
        """A rim under laws that give way."""
        parts = []
        for k, part in enumerate(features.parts):
            normals = features.normals_around.get(k)
            frame, span = (None, 0.0) if normals is None else (tuple(normals.frame.ravel().tolist()), normals.span)
            parts.append(PlainYieldingPart(self._part(part), frame, span, features.beside(k)))
        return PlainYieldingRim(_rim(features.rim), tuple(parts), features.extent_b)

    def _part(self, part: Part) -> PlainPart:
        if part not in self._parts:
            self._parts[part] = _part(part)
        return self._parts[part]


def _of_cone(features: ConeSideOnLine | ConeSideOnCone) -> PlainConeOnLine | PlainCones:
    """The side of a cone."""
    if isinstance(features, ConeSideOnCone):
        other = features.other_radius, 0.5 * features.other_height
        return PlainCones((features.radius, 0.5 * features.height), other)
    cone, solid = (features.radius, features.half), features.solid
    least = np.inf if features.around else solid.thickness
    return PlainConeOnLine(cone, solid, features.number, features.around, features.extent_b, least)


def _point(features: PointOnSolid) -> PlainPoint | PlainSmooth | PlainTip | None:
    """A point or sphere on a cylinder, a cone or a half-space, or the tip of a cone on a capsule; None on others."""
    shape = features.shape
    if type(features) is PointOnSolid and isinstance(shape, HalfSpace) and not len(features.edges):
        return PlainSmooth(PlainSurface("ball", (features.radius,)), PlainSurface("half_space", ()), None)
    if type(features) is ConeTip and isinstance(shape, Hull) and not shape.solid.loops and not features.radius:
        return PlainTip(shape.solid, shape.rounding, tuple(features.axis.tolist()), features.sine)
    if not isinstance(features.shape, Drum | Taper):
        return None
    kind: Literal["ball", "corner", "tip"] = "corner" if type(features) is CornerOnRound else "ball"
    axis, sine = UP, 0.0
    if type(features) is ConeTip:
        kind, axis, sine = "tip", features.axis, features.sine
    elif type(features) not in (CornerOnRound, PointOnSolid):
        return None
    other = _surface(features.shape)
    return None if other is None else PlainPoint(kind, features.radius, features.edges, axis, sine, other)


def _standing(features: StandingPoint) -> PlainStanding | None:
    """A point on which a disc stands; None where it has a radius, or the other body is rounded."""
    if features.rounding or features.radius:
        return None
    shape, own = features.shape, (features.inner, features.axis, features.flat)
    if isinstance(shape, Block):
        return PlainStanding(*own, shape.half, None)
    if isinstance(shape, Hull | Drum | Taper):
        return PlainStanding(*own, None, _surface(shape))
    return PlainStanding(*own, None, PlainSurface("half_space", ())) if isinstance(shape, HalfSpace) else None


def _rim(rim: Rim) -> PlainRim:
    return PlainRim(rim.radius, rim.half, rim.end, rim.lean, rim.feature.flat)


def _part(part: Part) -> PlainPart:
    """A part of a body."""
    kind: Any = KINDS[type(part)]
    centre, axis, sine, radius = np.zeros(3), UP, 0.0, 0.0
    middle, half, around, rows, limits = np.zeros(3), 0.0, 0.0, np.zeros((0, 7)), np.zeros((0, 2))
    body, whole, other = (0.0, 0.0), None, None
    if isinstance(part, Lined):
        ruled = part.ruled
        centre, axis, sine, radius = ruled.centre, ruled.axis, ruled.sine, ruled.radius
        middle, half, around, rows, limits = part.middle, part.half, part.around, part.rows, part.limits
    elif isinstance(part.feature, Plane):
        centre, axis = part.feature.centre, part.feature.normal
    if isinstance(part, Face):
        starts, into = part.border
        heights = -np.sum(starts * into, axis=1)[:, None]
        rows, limits = np.hstack([into, np.zeros_like(into), heights]), np.array([SMOOTHLY] * len(into))
    if isinstance(part, Rim | End | Side | Slope):
        body = part.radius, part.half
        whole = PlainSurface("cone" if part.lean else "cylinder", body)
    elif isinstance(part, Face | Ridge):
        whole = PlainSurface("hull", (0.0,), part.solid)
    if isinstance(part, Rim):
        other = _rim(part)
    lines = sine, radius, middle, half, around
    return PlainPart(kind, centre, axis, *lines, body, rows, limits, other, part.extent, part.least, whole)


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
