"""Single bodies without a file: balls and boxes, with their inertia, contacts and looks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, TypeVar

import coal
import numpy as np
import pinocchio as pin

from ..common.arrays import Array
from ..common.doors import POSITIVE, tuples
from .contact_point import ContactPoint
from .mechanism import COEFFICIENTS
from .robot_files.reading import root_joint
from .robot_model import RobotModel

R = TypeVar("R", bound=RobotModel)

COLOUR = (0.85, 0.45, 0.2, 1.0)  # red, green, blue, opacity


@dataclass(frozen=True)
class PrimitiveGeometry:
    """The geometry of a ball (one size) or box (three sides) at the origin of frame 1."""

    size: tuple[float, ...]
    colour: tuple[float, ...] = COLOUR

    def __call__(self, model: Any) -> Any:
        """Pinocchio's geometry model."""
        geometry = pin.GeometryModel()
        shape = coal.Sphere(self.size[0]) if len(self.size) == 1 else coal.Box(*self.size)
        frame = model.nframes - 1
        item = pin.GeometryObject(
            model.frames[frame].name, model.frames[frame].parentJoint, frame, pin.SE3.Identity(), shape
        )
        item.meshColor = np.array(self.colour)
        geometry.addGeometryObject(item)
        return geometry


def sphere(
    kind: type[R], mass: float, radius: float, name: str, root: Any, inertia: float, coefficients: dict[str, Any]
) -> R:
    """See `Robot.sphere`; `kind` is the class of the robot."""
    for what, value in (("mass", mass), ("radius", radius), ("inertia", inertia)):
        POSITIVE.check(f"the {what} of '{name}'", value)
    moment = inertia * mass * radius**2
    contacts = [ContactPoint(name, radius=radius, name=name, **coefficients)]
    return _body(kind, name, root, mass, np.full(3, moment), (radius,), contacts)


def box(kind: type[R], mass: float, size: Sequence[float], name: str, root: Any, coefficients: dict[str, Any]) -> R:
    """See `Robot.box`; `kind` is the class of the robot."""
    POSITIVE.check(f"the mass of '{name}'", mass)
    sides = tuples(3, words="three sides in metres").check(f"the size of '{name}'", size)
    x, y, z = (POSITIVE.check(f"the side of '{name}'", side) for side in sides)
    moments = mass / 12.0 * np.array([y * y + z * z, z * z + x * x, x * x + y * y])
    corners = [(0.5 * a * x, 0.5 * b * y, 0.5 * c * z) for c, a, b in product((-1, 1), repeat=3)]
    contacts = [ContactPoint(name, offset=at, name=f"{name}/{k}", **coefficients) for k, at in enumerate(corners)]
    return _body(kind, name, root, mass, moments, (x, y, z), contacts)


def _body(
    kind: type[R],
    name: str,
    root: Any,
    mass: float,
    moments: Array,
    size: tuple[float, ...],
    contacts: list[ContactPoint],
) -> R:
    model = pin.Model()
    model.name = name
    joint = root_joint(root)
    index = 0
    if joint is not None:
        index = model.addJoint(0, joint, pin.SE3.Identity(), "root_joint")
        model.appendBodyToJoint(index, pin.Inertia(mass, np.zeros(3), np.diag(moments)), pin.SE3.Identity())
    model.addFrame(pin.Frame(name, index, 0, pin.SE3.Identity(), pin.FrameType.BODY))
    geometry = PrimitiveGeometry(size)
    if joint is not None:
        return kind(model, contacts, visual=geometry, collision=geometry, name=name)
    fixed = kind(model, [], visual=geometry, collision=geometry, name=name)  # it cannot meet the ground
    given = {name: getattr(contacts[0], name) for name in COEFFICIENTS}
    return fixed._with(_solids=tuple(replace(solid, **given) for solid in fixed.solids))
