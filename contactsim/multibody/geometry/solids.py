"""Solid shapes on the frames of a robot, which others touch; also those read off the collision geometry of a model."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import pinocchio as pin

from ...common.arguments import (
    NAME,
    NOT_NEGATIVE,
    SHARE,
    TEXT,
    TRIPLE,
    arguments,
    one_of,
    optional,
    several,
    tuples,
    whole,
)
from ...common.lazy import dataclass
from ...errors import InputError
from .closest_points.features import Ellipsoid, Feature, Plane, Point
from .pairs import CYLINDER_SIDES

if TYPE_CHECKING:
    from .cylinders import Drum, Taper
    from .hulls import Hull
    from .polyhedra import Polyhedron
    from .shapes import Shape

SHAPES = ("sphere", "box", "half_space", "hull", "capsule", "cylinder", "ellipsoid", "cone")
NUMBERS = {
    "sphere": ("its radius", 1),
    "box": ("its three sides", 3),
    "half_space": ("nothing", 0),
    "hull": ("nothing, but vertices", 0),
    "capsule": ("its radius and the length of its straight part", 2),
    "cylinder": ("its radius and its length", 2),
    "ellipsoid": ("its three radii", 3),
    "cone": ("the radius of its base and its height", 2),
}
CORNERS = ("box", "hull", "capsule", "cylinder", "cone")  # shapes with edges and corners, sharp or rounded
FLAT_FACED = ("box", "hull", "half_space")
FACETED = ("cylinder", "cone")  # round shapes whose flat ends stand on the corners of a prism or pyramid
VERTICES = several(TRIPLE, "a list of points, each three numbers in metres")


@arguments(
    frame=NAME,
    kind=one_of(*SHAPES),
    size=tuples(None),
    position=TRIPLE,
    quaternion=tuples(4),
    name=TEXT,
    friction=optional(NOT_NEGATIVE),
    static_friction=optional(NOT_NEGATIVE),
    restitution=optional(SHARE),
    vertices=VERTICES,
    sides=whole("a whole number, at least 3", ge=3),
)
@dataclass(frozen=True)
class Solid:
    """A shape fixed to a frame of a robot, against which contact points of other bodies press.

    Attributes:
        frame: frame of the model it is fixed to.
        kind: "sphere", "box", "hull", "ellipsoid", "capsule" or "cylinder" (along its z axis), "cone" (its tip along z,
            the origin half way up), or "half_space" (all below the plane z = 0 of its own axes).
        size: (radius,) of a sphere, the three sides of a box, the three radii of an ellipsoid, (radius, length) of a
            cylinder or cone, and of a capsule with the length of its straight part [m], nothing of a half-space or
            hull.
        position: its centre (of a half-space, a point of its plane) in the frame [m].
        quaternion: its axes in the frame (x, y, z, w).
        name: by default that of the frame.
        friction, static_friction, restitution: coefficients; None: those of the contact points of its body.
        vertices: points of which a hull is the convex hull [m].
        sides: so many points of the rim of a cylinder or cone hold an end of it that lies flat.
    """

    frame: str
    kind: str
    size: tuple[float, ...] = ()
    position: tuple[float, float, float] = (0.0, 0.0, 0.0)
    quaternion: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 1.0)
    name: str = ""
    friction: float | None = None
    static_friction: float | None = None
    restitution: float | None = None
    vertices: tuple[tuple[float, float, float], ...] = ()
    sides: int = CYLINDER_SIDES

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.name or self.frame)
        what, count = NUMBERS[self.kind]
        if len(self.size) != count or not all(s > 0.0 for s in self.size):
            raise InputError(f"solid '{self.name}' has size {self.size}; give {what}, positive numbers in metres")
        if bool(self.vertices) != (self.kind == "hull"):
            raise InputError(
                f"solid '{self.name}' is a {self.kind} with {len(self.vertices)} vertices; a hull has them"
            )
        if self.vertices:
            points = tuple((float(x), float(y), float(z)) for x, y, z in self.vertices)
            object.__setattr__(self, "vertices", points)
            self.polyhedron  # noqa: B018 - a hull without volume is refused here

    @property
    def shape(self) -> Shape:
        """Its distance function."""
        from .cylinders import Drum, Taper
        from .hulls import Hull
        from .shapes import Ball, Block, HalfSpace

        if self.kind == "sphere":
            return Ball(self.size[0])
        if self.kind in ("hull", "capsule"):
            return Hull(self.polyhedron, self.rounding)
        if self.kind in FACETED:
            return (Taper if self.kind == "cone" else Drum)(self.size[0], 0.5 * self.size[1])
        if self.kind == "ellipsoid":
            raise InputError(f"solid '{self.name}' is an ellipsoid, which has no distance function of its own")
        return Block(self.size) if self.kind == "box" else HalfSpace()

    @property
    def surface(self) -> tuple[Feature | Hull | Drum | Taper, float | None]:
        """What an ellipsoid meets (see `surfaces`), and its largest distance from the origin [m]."""
        from .cylinders import Drum, Taper
        from .hulls import Hull

        if self.kind in FACETED:
            turned = self.shape
            assert isinstance(turned, Drum | Taper)
            return turned, turned.extent
        if self.kind in CORNERS:
            core = Hull(self.polyhedron, self.rounding)
            return core, core.extent
        if self.kind == "half_space":
            return Plane(np.zeros(3), np.array([0.0, 0.0, 1.0])), None
        if self.kind == "sphere":
            return Point(np.zeros(3), self.size[0]), self.size[0]
        return Ellipsoid(np.zeros(3), np.eye(3), np.array(self.size)), max(self.size)

    @property
    def polyhedron(self) -> Polyhedron:
        """Faces, edges and corners of a box or hull, of a capsule's core, of the prism or pyramid in what is round."""
        from .polyhedra import polyhedron_of_box, polyhedron_of_hull, prism, pyramid, segment

        if self.kind == "capsule":
            return segment(self.size[1])
        if self.kind == "cylinder":
            return prism(*self.size, self.sides)
        if self.kind == "cone":
            return pyramid(*self.size, self.sides)
        return polyhedron_of_box(self.size) if self.kind == "box" else polyhedron_of_hull(self.vertices)

    @property
    def rounding(self) -> float:
        """How far its surface lies outside of the polyhedron that is its core [m]."""
        return self.size[0] if self.kind == "capsule" else 0.0


GEOMETRY = {
    "Sphere": "sphere",
    "Box": "box",
    "Halfspace": "half_space",
    "Capsule": "capsule",
    "Cylinder": "cylinder",
    "Ellipsoid": "ellipsoid",
    "Cone": "cone",
}


def items_of(geometry: Any) -> list[Any]:
    """The objects of a geometry model; none where there is no model."""
    return [] if geometry is None else list(geometry.geometryObjects)


def solids_of(model: Any, items: Iterable[Any]) -> tuple[Solid, ...]:
    """Spheres, boxes, capsules, cylinders, cones, ellipsoids and half-spaces among the objects of a geometry model."""
    found: list[Solid] = []
    for item in items:
        kind = GEOMETRY.get(type(item.geometry).__name__)
        if kind is not None:
            found.append(_solid(model, item, kind))
    names = [solid.frame for solid in found]
    return tuple(
        Solid(s.frame, s.kind, s.size, s.position, s.quaternion, f"{s.frame}/{names[:k].count(s.frame)}")
        if names.count(s.frame) > 1
        else s
        for k, s in enumerate(found)
    )


def _solid(model: Any, item: Any, kind: str) -> Solid:
    frame = model.frames[item.parentFrame]
    placement = frame.placement.actInv(item.placement)
    shape = item.geometry
    size: tuple[float, ...] = ()
    if kind == "sphere":
        size = (float(shape.radius),)
    elif kind == "box":
        size = tuple(float(2.0 * side) for side in shape.halfSide)
    elif kind == "ellipsoid":
        size = tuple(float(radius) for radius in shape.radii)
    elif kind in ("capsule", "cylinder", "cone"):
        size = float(shape.radius), float(2.0 * shape.halfLength)
    else:  # all below n . x = d
        turn = pin.Quaternion.FromTwoVectors(np.array([0.0, 0.0, 1.0]), np.asarray(shape.n, float)).toRotationMatrix()
        placement = placement * pin.SE3(turn, float(shape.d) * np.asarray(shape.n, float))
    numbers = [float(number) for number in pin.SE3ToXYZQUAT(placement)]
    return Solid(frame.name, kind, size, tuple(numbers[:3]), tuple(numbers[3:]))  # type: ignore[arg-type]


def placement_of(solid: Solid) -> Any:
    """Placement of a solid on its frame (pin.SE3)."""
    return pin.XYZQUATToSE3(np.array([*solid.position, *solid.quaternion]))
