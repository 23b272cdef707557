"""A contact point of a robot and its coefficients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING

import numpy as np

from ..common.arguments import (
    NAME,
    NOT_NEGATIVE,
    POSITIVE,
    REAL,
    SHARE,
    TEXT,
    TRIPLE,
    arguments,
    either,
    optional,
    tuples,
)
from ..common.arrays import Array
from ..common.lazy import dataclass
from ..errors import InputError
from .mechanism import MARGIN, check_static, kinetic_of
from .zero import UNIT

if TYPE_CHECKING:
    from .geometry.closest_points.features import Circle, Feature

# Points of a rim on which a cylinder stands: it resists tipping as if R were smaller by 1 - cos(pi/8), 7.6 %.
STANDING = 8
ARGUMENTS = {
    "frame": NAME,
    "offset": TRIPLE,
    "radius": NOT_NEGATIVE,
    "friction": either(NOT_NEGATIVE, tuples(2, words="two numbers from zero up")),
    "static_friction": optional(NOT_NEGATIVE),
    "restitution": SHARE,
    "name": TEXT,
    "enabled": optional(MARGIN),
    "rolling": NOT_NEGATIVE,
    "torsion": NOT_NEGATIVE,
    "friction_axis": TRIPLE,
    "stribeck": NOT_NEGATIVE,
}


@arguments(**ARGUMENTS)
@dataclass(frozen=True)
class ContactPoint:
    """A point (or small sphere) of a robot that can touch the ground.

    Attributes:
        frame: frame of the model it is fixed to.
        offset: its centre in the frame [m].
        radius: radius of the sphere around the centre [m]; zero for a point.
        friction: kinetic coefficient of friction; two of an elliptic cone, along `friction_axis` and across it;
            where one is zero, a blade or an ideal roller, which glides that way and sticks while the other holds it.
        static_friction: static coefficient, at least the kinetic one; None: the same. Of an elliptic cone, along the
            axis with the larger kinetic one; the other is in proportion.
        restitution: Newton's coefficient in [0, 1].
        name: name of the contact; by default the frame's.
        enabled: (t, q, v) -> margin: an open contact closes only where it is positive; None: always.
        rolling: coefficient of rolling friction [m]: a moment of up to rolling times the normal force resists rolling.
        torsion: of torsional friction [m]: as much about the normal resists spinning.
        friction_axis: direction in the frame, laid onto the plane of contact, along which the first of two coefficients
            holds.
        stribeck: speed v_S [m/s] with which friction falls from the static to the kinetic coefficient under rigid laws,
            mu_k + (mu_s - mu_k) exp(-|z_t|^2 / v_S^2); zero: at once.

    Rigid laws carry rolling and torsion out as discs of their own beside the cone of friction, each of which sticks or
    slips by itself, |m_t| <= rolling lam_n and |m_n| <= torsion lam_n; their modes and moments go by NAME/rolling and
    NAME/torsion. Compliant laws do not have them.
    """

    frame: str
    offset: tuple[float, float, float] = (0.0, 0.0, 0.0)
    radius: float = 0.0
    friction: float | tuple[float, float] = 0.8
    static_friction: float | None = None
    restitution: float = 0.0
    name: str = ""
    enabled: Callable[[float, Array, Array], float] | None = field(default=None, compare=False)
    rolling: float = 0.0
    torsion: float = 0.0
    friction_axis: tuple[float, float, float] = (1.0, 0.0, 0.0)
    stribeck: float = 0.0

    def __post_init__(self) -> None:
        name = self.name or self.frame
        object.__setattr__(self, "name", name)
        if isinstance(self.friction, tuple):
            if not min(self.friction) >= 0.0:
                raise InputError(
                    f"contact '{name}' has the friction {self.friction}; give two numbers from zero up, or one for both"
                )
            if not any(self.friction_axis):
                raise InputError(f"contact '{name}' has the friction_axis {self.friction_axis}; give a direction")
        check_static(name, kinetic_of(self), self.static_friction)

    @property
    def feature(self) -> Feature:
        """The shape that touches, in axes of the frame."""
        from .geometry.closest_points.features import Point

        return Point(np.array(self.offset), self.radius)


@arguments(**ARGUMENTS, axis=TRIPLE, rim=POSITIVE, angle=optional(REAL))
@dataclass(frozen=True)
class ContactRim(ContactPoint):
    """The rim of a disc, wheel or cylinder of a robot: while it is tilted it touches the ground with its lowest point.

    A disc that lies flat on the ground touches it everywhere. Then fixed points of its rim hold it, contacts of their
    own that are told by their `angle`: n of them resist tipping as a regular polygon does, whose edges are nearer to
    the centre than the rim by R (1 - cos(pi / n)). Under compliant laws rim and points touch at any tilt, the points at
    R / sqrt(2) from the centre. What is not told here is as of ContactPoint.

    Attributes:
        offset: the centre of the rim in the frame [m].
        axis: (3,) of the disc, in axes of the frame, unit.
        rim: its radius R [m].
        angle: of a fixed point about the axis [rad], which touches while the disc lies flat; None: the lowest point,
            which touches while it is tilted.
    """

    axis: tuple[float, float, float] = (0.0, 0.0, 1.0)
    rim: float = 1.0
    angle: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        length = float(np.linalg.norm(self.axis))
        if abs(length - 1.0) > UNIT:
            raise InputError(f"the axis of contact '{self.name}' has length {length:.6g}; give a unit vector")

    @property
    def circle(self) -> Circle:
        """The whole rim, in axes of the frame."""
        from .geometry.closest_points.features import Circle

        return Circle(np.array(self.offset), np.array(self.axis) / np.linalg.norm(self.axis), self.rim, self.radius)

    @property
    def feature(self) -> Feature:
        """The rim, or its fixed point."""
        from .geometry.closest_points.features import Point

        if self.angle is None:
            return self.circle
        first, second = perpendicular(np.array(self.axis))
        arm = np.cos(self.angle) * first + np.sin(self.angle) * second
        return Point(np.array(self.offset) + self.rim * arm, self.radius)


def with_standing_points(points: Sequence[ContactPoint]) -> list[ContactPoint]:
    """The points, and behind them those of each rim on which its disc stands, NAME/0 and so on."""
    rims = [point for point in points if isinstance(point, ContactRim)]
    steps = 2.0 * np.pi * np.arange(STANDING) / STANDING
    held = [replace(rim, name=f"{rim.name}/{k}", angle=float(angle)) for rim in rims for k, angle in enumerate(steps)]
    return [*points, *held]


@arguments(**ARGUMENTS, radii=TRIPLE, quaternion=tuples(4))
@dataclass(frozen=True)
class ContactEllipsoid(ContactPoint):
    """An ellipsoid of a robot that can touch the ground with its lowest point.

    What is not told here is as of ContactPoint; with a `radius` the ellipsoid is that much thicker all around.

    Attributes:
        offset: its centre in the frame [m].
        radii: along its axes [m].
        quaternion: its axes in the frame (x, y, z, w).
    """

    radii: tuple[float, float, float] = (1.0, 1.0, 1.0)
    quaternion: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 1.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not min(self.radii) > 0.0:
            raise InputError(f"contact '{self.name}' has radii {self.radii}; give three positive numbers in metres")

    @property
    def feature(self) -> Feature:
        """The ellipsoid."""
        from .geometry.closest_points.features import Ellipsoid

        return Ellipsoid(np.array(self.offset), rotation(self.quaternion), np.array(self.radii), self.radius)


def perpendicular(axis: Array) -> Array:
    """Two unit vectors (2, 3) perpendicular to a unit vector (3,) and to each other, right-handed with it."""
    first = np.cross(np.eye(3)[(int(np.argmax(np.abs(axis))) + 1) % 3], axis)
    first = first / np.linalg.norm(first)
    return np.array([first, np.cross(axis, first)])


def rotation(quaternion: tuple[float, float, float, float]) -> Array:
    """The rotation matrix (3, 3) of a quaternion (x, y, z, w) of any length."""
    x, y, z, w = np.array(quaternion) / np.linalg.norm(quaternion)
    v = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.asarray(np.eye(3) + 2.0 * w * v + 2.0 * v @ v)
