"""Single bodies without a file, from balls to ellipsoids and hulls, with their inertia, contacts and looks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product
from typing import Any, TypeVar

import coal
import numpy as np
import pinocchio as pin

from ..common.doors import POSITIVE, tuples
from ..errors import InputError
from .contact_point import ContactEllipsoid, ContactPoint, ContactRim
from .geometry.polyhedra import Points, polyhedron_of_hull
from .geometry.solids import VERTICES, Solid
from .mechanism import COEFFICIENTS
from .robot_files.reading import root_joint
from .robot_model import RobotModel

R = TypeVar("R", bound=RobotModel)

COLOUR = (0.85, 0.45, 0.2, 1.0)  # red, green, blue, opacity
SHAPES = {
    "sphere": coal.Sphere,
    "box": coal.Box,
    "capsule": coal.Capsule,
    "cylinder": coal.Cylinder,
    "ellipsoid": coal.Ellipsoid,
    "cone": coal.Cone,
}

# Points of a rim on which a cylinder stands: it resists tipping as if R were smaller by 1 - cos(pi/8), 7.6 %.
STANDING = 8


@dataclass(frozen=True)
class PrimitiveGeometry:
    """The geometry of a body at the origin of its frame.

    Attributes:
        size: (radius,) of a ball, three sides of a box, (radius, length) of a capsule, cylinder or cone along z, three
            radii of an ellipsoid, nothing of a hull [m].
        colour: red, green, blue, opacity.
        kind: "sphere", "box", "capsule", "cylinder", "cone" or "ellipsoid"; "": a ball, box or hull, by what is given.
        vertices: of a hull [m].
    """

    size: tuple[float, ...]
    colour: tuple[float, ...] = COLOUR
    kind: str = ""
    vertices: Points = ()

    def __call__(self, model: Any) -> Any:
        """Pinocchio's geometry model."""
        geometry = pin.GeometryModel()
        frame = model.nframes - 1
        item = pin.GeometryObject(
            model.frames[frame].name, model.frames[frame].parentJoint, frame, pin.SE3.Identity(), self._shape()
        )
        item.meshColor = np.array(self.colour)
        geometry.addGeometryObject(item)
        return geometry

    def _shape(self) -> Any:
        if not self.vertices:
            return SHAPES[self.kind or ("sphere" if len(self.size) == 1 else "box")](*self.size)
        solid, mesh = polyhedron_of_hull(self.vertices), coal.BVHModelOBBRSS()
        faces = [(loop[0], one, two) for loop in solid.loops for one, two in pairwise(loop[1:])]
        mesh.beginModel(len(faces), len(solid.vertices))
        mesh.addVertices(solid.vertices)
        mesh.addTriangles(np.array(faces, dtype=np.int64))
        mesh.endModel()
        return mesh


def sphere(
    kind: type[R], mass: float, radius: float, name: str, root: Any, inertia: float, coefficients: dict[str, Any]
) -> R:
    """See `Robot.sphere`; `kind` is the class of the robot."""
    for what, value in (("mass", mass), ("radius", radius), ("inertia", inertia)):
        POSITIVE.check(f"the {what} of '{name}'", value)
    moment = inertia * mass * radius**2
    contacts = [ContactPoint(name, radius=radius, name=name, **coefficients)]
    inertia_of = pin.Inertia(mass, np.zeros(3), moment * np.eye(3))
    return _body(kind, name, root, inertia_of, PrimitiveGeometry((radius,)), contacts)


def box(kind: type[R], mass: float, size: Sequence[float], name: str, root: Any, coefficients: dict[str, Any]) -> R:
    """See `Robot.box`; `kind` is the class of the robot."""
    POSITIVE.check(f"the mass of '{name}'", mass)
    sides = tuples(3, words="three sides in metres").check(f"the size of '{name}'", size)
    x, y, z = (POSITIVE.check(f"the side of '{name}'", side) for side in sides)
    moments = mass / 12.0 * np.array([y * y + z * z, z * z + x * x, x * x + y * y])
    corners = [(0.5 * a * x, 0.5 * b * y, 0.5 * c * z) for c, a, b in product((-1, 1), repeat=3)]
    contacts = [ContactPoint(name, offset=at, name=f"{name}/{k}", **coefficients) for k, at in enumerate(corners)]
    inertia = pin.Inertia(mass, np.zeros(3), np.diag(moments))
    return _body(kind, name, root, inertia, PrimitiveGeometry((x, y, z)), contacts)


def hull(
    kind: type[R], mass: float, vertices: Sequence[Sequence[float]], name: str, root: Any, coefficients: dict[str, Any]
) -> R:
    """See `Robot.hull`; `kind` is the class of the robot."""
    POSITIVE.check(f"the mass of '{name}'", mass)
    given = VERTICES.check(f"the vertices of '{name}'", vertices)
    points: Points = tuple((float(x), float(y), float(z)) for x, y, z in given)
    solid = polyhedron_of_hull(points)
    corners = [(float(x), float(y), float(z)) for x, y, z in solid.vertices]
    contacts = [ContactPoint(name, offset=at, name=f"{name}/{k}", **coefficients) for k, at in enumerate(corners)]
    inertia = pin.Inertia(mass, solid.centre, mass / solid.volume * solid.inertia)
    shape = Solid(name, "hull", vertices=points)
    return _body(kind, name, root, inertia, PrimitiveGeometry((), vertices=points), contacts, shape)


def capsule(
    kind: type[R], mass: float, radius: float, length: float, name: str, root: Any, coefficients: dict[str, Any]
) -> R:
    """See `Robot.capsule`; `kind` is the class of the robot."""
    _positive(name, mass=mass, radius=radius, length=length)
    share = length / (length + 4.0 / 3.0 * radius)  # of the mass in the straight part
    straight, ends = share * mass, (1.0 - share) * mass
    along = 0.5 * straight * radius**2 + 0.4 * ends * radius**2
    across = straight * (radius**2 / 4.0 + length**2 / 12.0)
    across += ends * (0.4 * radius**2 + length**2 / 4.0 + 0.375 * length * radius)
    contacts = end_contacts(name, radius, length, coefficients)
    geometry = PrimitiveGeometry((radius, length), kind="capsule")
    return _body(
        kind, name, root, pin.Inertia(mass, np.zeros(3), np.diag(np.array([across, across, along]))), geometry, contacts
    )


def cylinder(
    kind: type[R], mass: float, radius: float, length: float, name: str, root: Any, coefficients: dict[str, Any]
) -> R:
    """See `Robot.cylinder`; `kind` is the class of the robot."""
    _positive(name, mass=mass, radius=radius, length=length)
    across = mass * (radius**2 / 4.0 + length**2 / 12.0)
    contacts = rim_contacts(name, radius, length, coefficients)
    geometry = PrimitiveGeometry((radius, length), kind="cylinder")
    return _body(
        kind,
        name,
        root,
        pin.Inertia(mass, np.zeros(3), np.diag(np.array([across, across, 0.5 * mass * radius**2]))),
        geometry,
        contacts,
    )


def cone(
    kind: type[R], mass: float, radius: float, length: float, name: str, root: Any, coefficients: dict[str, Any]
) -> R:
    """See `Robot.cone`; `kind` is the class of the robot."""
    _positive(name, mass=mass, radius=radius, length=length)
    across, half = 0.0375 * mass * (4.0 * radius**2 + length**2), 0.5 * length
    rim = ContactRim(name, (0.0, 0.0, -half), name=f"{name}/0", axis=(0.0, 0.0, -1.0), rim=radius, **coefficients)
    tip = ContactPoint(name, (0.0, 0.0, half), name=f"{name}/1", **coefficients)
    inertia = pin.Inertia(
        mass, np.array([0.0, 0.0, -0.5 * half]), np.diag(np.array([across, across, 0.3 * mass * radius**2]))
    )
    geometry = PrimitiveGeometry((radius, length), kind="cone")
    return _body(kind, name, root, inertia, geometry, [rim, tip, *standing_points(rim)])


def ellipsoid(
    kind: type[R], mass: float, radii: Sequence[float], name: str, root: Any, coefficients: dict[str, Any]
) -> R:
    """See `Robot.ellipsoid`; `kind` is the class of the robot."""
    a, b, c = tuples(3, words="three radii in metres").check(f"the radii of '{name}'", radii)
    _positive(name, mass=mass, radius=min(a, b, c))
    moments = mass / 5.0 * np.array([b * b + c * c, c * c + a * a, a * a + b * b])
    contacts = [ContactEllipsoid(name, radii=(a, b, c), name=name, **coefficients)]
    return _body(
        kind,
        name,
        root,
        pin.Inertia(mass, np.zeros(3), np.diag(moments)),
        PrimitiveGeometry((a, b, c), kind="ellipsoid"),
        contacts,
    )


def _positive(name: str, **numbers: float) -> None:
    for what, value in numbers.items():
        POSITIVE.check(f"the {what} of '{name}'", value)


def end_contacts(frame: str, radius: float, length: float, coefficients: dict[str, Any]) -> list[ContactPoint]:
    """The two round ends of a capsule along z, the lower one first."""
    ends = (-0.5 * length, 0.5 * length)
    return [ContactPoint(frame, (0.0, 0.0, z), radius, name=f"{frame}/{k}", **coefficients) for k, z in enumerate(ends)]


def rim_contacts(frame: str, radius: float, length: float, coefficients: dict[str, Any]) -> list[ContactPoint]:
    """The rims of a cylinder along z, the lower one first, then the points of each on which it stands."""
    rims = [
        ContactRim(frame, (0.0, 0.0, sign * 0.5 * length), name=f"{frame}/{k}", axis=(0.0, 0.0, sign), rim=radius)
        for k, sign in enumerate((-1.0, 1.0))
    ]
    return [replace(rim, **coefficients) for rim in (*rims, *(point for rim in rims for point in standing_points(rim)))]


def standing_points(rim: ContactRim) -> list[ContactRim]:
    """The fixed points of a rim on which its disc stands, NAME/0 and so on."""
    return [replace(rim, name=f"{rim.name}/{k}", angle=2.0 * np.pi * k / STANDING) for k in range(STANDING)]


def _body(
    kind: type[R],
    name: str,
    root: Any,
    inertia: Any,
    geometry: PrimitiveGeometry,
    contacts: Sequence[ContactPoint],
    solid: Solid | None = None,
) -> R:
    """A body with its contacts; `solid` is its shape where that cannot be read off its geometry."""
    model = pin.Model()
    model.name = name
    joint = root_joint(root)
    index = 0
    if joint is not None:
        index = model.addJoint(0, joint, pin.SE3.Identity(), "root_joint")
        model.appendBodyToJoint(index, inertia, pin.SE3.Identity())
    model.addFrame(pin.Frame(name, index, 0, pin.SE3.Identity(), pin.FrameType.BODY))
    collision = geometry if solid is None else None
    if joint is not None:
        robot = kind(model, contacts, visual=geometry, collision=collision, name=name)
        return robot if solid is None else robot._with(_solids=(solid,))
    fixed = kind(model, [], visual=geometry, collision=collision, name=name)  # it cannot meet the ground
    given = {name: getattr(contacts[0], name) for name in COEFFICIENTS}
    if isinstance(contacts[0].friction, tuple) or contacts[0].rolling or contacts[0].torsion or contacts[0].stribeck:
        raise InputError(
            f"'{name}' does not move, and has one coefficient of friction; give rolling, torsion, stribeck or a second"
            " coefficient to what touches it, or rolling and torsion to their pair"
        )
    return fixed._with(_solids=tuple(replace(s, **given) for s in (fixed.solids if solid is None else (solid,))))
