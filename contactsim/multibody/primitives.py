"""Single bodies without a file, from balls to ellipsoids and hulls, with their inertia, contacts and looks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise, product
from typing import TYPE_CHECKING, Any, Self

import coal
import numpy as np
import pinocchio as pin

from ..common.arguments import NAME, POSITIVE, arguments, tuples
from ..common.lazy import dataclass
from ..errors import InputError
from .contact_point import ContactEllipsoid, ContactPoint, ContactRim, with_standing_points
from .mechanism import COEFFICIENTS
from .robot_files.reading import root_joint
from .robot_model import RobotModel

if TYPE_CHECKING:
    from .geometry.polyhedra import Points
    from .geometry.solids import Solid

COLOUR = (0.85, 0.45, 0.2, 1.0)  # red, green, blue, opacity
SHAPES = {
    "sphere": coal.Sphere,
    "box": coal.Box,
    "capsule": coal.Capsule,
    "cylinder": coal.Cylinder,
    "ellipsoid": coal.Ellipsoid,
    "cone": coal.Cone,
}

SOLID_BALL = 0.4  # moment of inertia of a ball of even density, in units of m r^2


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
        from .geometry.polyhedra import polyhedron_of_hull

        solid, mesh = polyhedron_of_hull(self.vertices), coal.BVHModelOBBRSS()
        faces = [(loop[0], one, two) for loop in solid.loops for one, two in pairwise(loop[1:])]
        mesh.beginModel(len(faces), len(solid.vertices))
        mesh.addVertices(solid.vertices)
        mesh.addTriangles(np.array(faces, dtype=np.int64))
        mesh.endModel()
        return mesh


class SingleBodies(RobotModel):
    """Robots of one body each, by its shape; `Robot` has these functions."""

    @classmethod
    @arguments(name=NAME)
    def sphere(
        cls,
        mass: float,
        radius: float,
        name: str = "ball",
        root: Any = "free_flyer",
        inertia: float = SOLID_BALL,
        **coefficients: Any,
    ) -> Self:
        """A ball.

        Args:
            mass, radius: [kg], [m].
            name: of the robot, its link and its contact.
            root: as of `from_urdf`.
            inertia: moment of inertia in units of m r^2: 2/5 of even density, 2/3 a shell.
            coefficients: friction, static_friction, restitution; see ContactPoint.

        Raises:
            InputError: a number is not positive.
        """
        _positive(name, mass=mass, radius=radius, inertia=inertia)
        moment = inertia * mass * radius**2
        contacts = [ContactPoint(name, radius=radius, name=name, **coefficients)]
        own = _inertia(mass, moment, moment, moment)
        return cls._of_shape(name, root, own, PrimitiveGeometry((radius,)), contacts)

    @classmethod
    @arguments(name=NAME)
    def box(
        cls, mass: float, size: Sequence[float], name: str = "box", root: Any = "free_flyer", **coefficients: Any
    ) -> Self:
        """A box of even density with a contact point at each of its eight corners, the lower four first.

        Args:
            mass: [kg].
            size: its sides along x, y and z [m].
            name: of the robot and its link; its contacts are NAME/0 ... NAME/7.
            root: as of `from_urdf`.
            coefficients: friction, static_friction, restitution; see ContactPoint.

        Raises:
            InputError: a number is not positive.
        """
        POSITIVE.check(f"the mass of '{name}'", mass)
        sides = tuples(3, words="three sides in metres").check(f"the size of '{name}'", size)
        x, y, z = (POSITIVE.check(f"the side of '{name}'", side) for side in sides)
        moments = mass / 12.0 * np.array([y * y + z * z, z * z + x * x, x * x + y * y])
        corners = [(0.5 * a * x, 0.5 * b * y, 0.5 * c * z) for c, a, b in product((-1, 1), repeat=3)]
        contacts = [ContactPoint(name, offset=at, name=f"{name}/{k}", **coefficients) for k, at in enumerate(corners)]
        inertia = _inertia(mass, *moments)
        return cls._of_shape(name, root, inertia, PrimitiveGeometry((x, y, z)), contacts)

    @classmethod
    @arguments(name=NAME)
    def hull(
        cls,
        mass: float,
        vertices: Sequence[Sequence[float]],
        name: str = "hull",
        root: Any = "free_flyer",
        **coefficients: Any,
    ) -> Self:
        """The convex hull of points, of even density, with a contact point at each of its corners.

        Its frame is that in which the points are given; the centre of mass is where the shape has it.

        Args:
            mass: [kg].
            vertices: points (n, 3) [m]; those inside the hull of the others do not count.
            name: of the robot and its link; its contacts are NAME/0, NAME/1, ...
            root: as of `from_urdf`.
            coefficients: friction, static_friction, restitution; see ContactPoint.

        Raises:
            InputError: the mass is not positive, or the points lie in a plane.
        """
        from .geometry.polyhedra import polyhedron_of_hull
        from .geometry.solids import VERTICES, Solid

        POSITIVE.check(f"the mass of '{name}'", mass)
        given = VERTICES.check(f"the vertices of '{name}'", vertices)
        points: Points = tuple((float(x), float(y), float(z)) for x, y, z in given)
        solid = polyhedron_of_hull(points)
        corners = [(float(x), float(y), float(z)) for x, y, z in solid.vertices]
        contacts = [ContactPoint(name, offset=at, name=f"{name}/{k}", **coefficients) for k, at in enumerate(corners)]
        inertia = pin.Inertia(mass, solid.centre, mass / solid.volume * solid.inertia)
        shape = Solid(name, "hull", vertices=points)
        return cls._of_shape(name, root, inertia, PrimitiveGeometry((), vertices=points), contacts, shape)

    @classmethod
    @arguments(name=NAME)
    def capsule(
        cls,
        mass: float,
        radius: float,
        length: float,
        name: str = "capsule",
        root: Any = "free_flyer",
        **coefficients: Any,
    ) -> Self:
        """A cylinder along z with round ends, of even density.

        Args:
            mass, radius: [kg], [m].
            length: of the straight part, without the round ends [m].
            name: of the robot and its link; its contacts with the ground are NAME/0 and NAME/1, the ends.
            root: as of `from_urdf`.
            coefficients: friction, static_friction, restitution; see ContactPoint.

        Raises:
            InputError: a number is not positive.
        """
        _positive(name, mass=mass, radius=radius, length=length)
        share = length / (length + 4.0 / 3.0 * radius)  # of the mass in the straight part
        straight, ends = share * mass, (1.0 - share) * mass
        along = 0.5 * straight * radius**2 + 0.4 * ends * radius**2
        across = straight * (radius**2 / 4.0 + length**2 / 12.0)
        across += ends * (0.4 * radius**2 + length**2 / 4.0 + 0.375 * length * radius)
        contacts = end_contacts(name, radius, length, coefficients)
        geometry = PrimitiveGeometry((radius, length), kind="capsule")
        return cls._of_shape(name, root, _inertia(mass, across, across, along), geometry, contacts)

    @classmethod
    @arguments(name=NAME)
    def cylinder(
        cls,
        mass: float,
        radius: float,
        length: float,
        name: str = "cylinder",
        root: Any = "free_flyer",
        **coefficients: Any,
    ) -> Self:
        """A cylinder along z, of even density.

        It touches the ground with its rims, NAME/0 (below) and NAME/1. Where it stands on an end, eight points of the
        rim hold it, NAME/0/0 ... NAME/0/7: it resists tipping as if its radius were smaller by 1 - cos(pi/8), 7.6 %.

        Args:
            mass, radius, length: [kg], [m].
            name: of the robot and its link.
            root: as of `from_urdf`.
            coefficients: friction, static_friction, restitution; see ContactPoint.

        Raises:
            InputError: a number is not positive.
        """
        _positive(name, mass=mass, radius=radius, length=length)
        across = mass * (radius**2 / 4.0 + length**2 / 12.0)
        contacts = rim_contacts(name, radius, length, coefficients)
        geometry = PrimitiveGeometry((radius, length), kind="cylinder")
        inertia = _inertia(mass, across, across, 0.5 * mass * radius**2)
        return cls._of_shape(name, root, inertia, geometry, contacts)

    @classmethod
    @arguments(name=NAME)
    def cone(
        cls,
        mass: float,
        radius: float,
        length: float,
        name: str = "cone",
        root: Any = "free_flyer",
        **coefficients: Any,
    ) -> Self:
        """A cone of even density along z, its tip above, the origin half way up and its centre of mass a quarter.

        It touches the ground with its rim, NAME/0, and its tip, NAME/1, on which it rolls. Where it stands on its base,
        eight points of the rim hold it, NAME/0/0 ... NAME/0/7, as those of a cylinder.

        Args:
            mass: [kg].
            radius, length: of its base, and its height [m].
            name: of the robot and its link.
            root: as of `from_urdf`.
            coefficients: friction, static_friction, restitution; see ContactPoint.

        Raises:
            InputError: a number is not positive.
        """
        _positive(name, mass=mass, radius=radius, length=length)
        across, half = 0.0375 * mass * (4.0 * radius**2 + length**2), 0.5 * length
        rim = ContactRim(name, (0.0, 0.0, -half), name=f"{name}/0", axis=(0.0, 0.0, -1.0), rim=radius, **coefficients)
        tip = ContactPoint(name, (0.0, 0.0, half), name=f"{name}/1", **coefficients)
        inertia = _inertia(mass, across, across, 0.3 * mass * radius**2, centre=-0.5 * half)
        geometry = PrimitiveGeometry((radius, length), kind="cone")
        return cls._of_shape(name, root, inertia, geometry, with_standing_points([rim, tip]))

    @classmethod
    @arguments(name=NAME)
    def ellipsoid(
        cls, mass: float, radii: Sequence[float], name: str = "ellipsoid", root: Any = "free_flyer", **coefficients: Any
    ) -> Self:
        """An ellipsoid of even density.

        Args:
            mass: [kg].
            radii: along x, y and z [m].
            name: of the robot, its link and its contact.
            root: as of `from_urdf`.
            coefficients: friction, static_friction, restitution; see ContactPoint.

        Raises:
            InputError: a number is not positive.
        """
        a, b, c = tuples(3, words="three radii in metres").check(f"the radii of '{name}'", radii)
        _positive(name, mass=mass, radius=min(a, b, c))
        moments = mass / 5.0 * np.array([b * b + c * c, c * c + a * a, a * a + b * b])
        contacts = [ContactEllipsoid(name, radii=(a, b, c), name=name, **coefficients)]
        geometry = PrimitiveGeometry((a, b, c), kind="ellipsoid")
        return cls._of_shape(name, root, _inertia(mass, *moments), geometry, contacts)

    @classmethod
    def _of_shape(
        cls,
        name: str,
        root: Any,
        inertia: Any,
        geometry: PrimitiveGeometry,
        contacts: Sequence[ContactPoint],
        solid: Solid | None = None,
    ) -> Self:
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
            robot = cls(model, contacts, visual=geometry, collision=collision, name=name)
            return robot if solid is None else robot._with(_solids=(solid,))
        fixed = cls(model, [], visual=geometry, collision=collision, name=name)  # it cannot meet the ground
        given = {name: getattr(contacts[0], name) for name in COEFFICIENTS}
        if (
            isinstance(contacts[0].friction, tuple)
            or contacts[0].rolling
            or contacts[0].torsion
            or contacts[0].stribeck
        ):
            raise InputError(
                f"'{name}' does not move, and has one coefficient of friction; give rolling, torsion, stribeck or a"
                " second coefficient to what touches it, or rolling and torsion to their pair"
            )
        return fixed._with(_solids=tuple(replace(s, **given) for s in (fixed.solids if solid is None else (solid,))))


def _inertia(mass: float, xx: float, yy: float, zz: float, centre: float = 0.0) -> Any:
    """Inertia of a body whose centre is on the z axis [m], with its moments about axes through that [kg m^2]."""
    return pin.Inertia(mass, np.array([0.0, 0.0, centre]), np.diag(np.array([xx, yy, zz])))


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
    return [replace(rim, **coefficients) for rim in with_standing_points(rims)]
