"""Further robots and free bodies of a scene file, and the world they make with its robot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np
from pydantic import Field, model_validator

from ..common.arrays import Array
from ..common.schemas import Flag, Real
from ..errors import InputError
from ..multibody.mechanism import COEFFICIENTS
from ..multibody.robot import Robot
from .terrain_schema import Table

if TYPE_CHECKING:
    from ..multibody.geometry.pairs import ContactPair

Friction = Annotated[Real, Field(ge=0.0)] | tuple[Annotated[Real, Field(gt=0.0)], Annotated[Real, Field(gt=0.0)]]


class Coefficients(Table):
    """Coefficients of a contact; what is not given stays as it is."""

    friction: Friction | None = None
    static_friction: Real | None = Field(default=None, ge=0.0)
    restitution: Real | None = Field(default=None, ge=0.0, le=1.0)
    rolling: Real | None = Field(default=None, ge=0.0)
    torsion: Real | None = Field(default=None, ge=0.0)
    stribeck: Real | None = Field(default=None, ge=0.0)
    friction_axis: tuple[Real, Real, Real] | None = None

    def given(self) -> dict[str, Any]:
        """The coefficients that are set."""
        return self.model_dump(include=set(Coefficients.model_fields), exclude_none=True)


class BallTable(Table):
    """sphere = {mass [kg], radius [m], inertia [m r^2]}."""

    mass: Real = Field(gt=0.0)
    radius: Real = Field(gt=0.0)
    inertia: Real = Field(default=0.4, gt=0.0)


class BoxTable(Table):
    """box = {mass [kg], size [m]}."""

    mass: Real = Field(gt=0.0)
    size: tuple[Real, Real, Real]


class HullTable(Table):
    """hull = {mass [kg], vertices [m]}: a convex hull, the centre of whose frame is where the vertices have it."""

    mass: Real = Field(gt=0.0)
    vertices: list[tuple[Real, Real, Real]]


class RoundTable(Table):
    """capsule, cylinder or cone = {mass [kg], radius [m], length [m]}, along z; a capsule's length without ends."""

    mass: Real = Field(gt=0.0)
    radius: Real = Field(gt=0.0)
    length: Real = Field(gt=0.0)


class EllipsoidTable(Table):
    """ellipsoid = {mass [kg], radii [m]}."""

    mass: Real = Field(gt=0.0)
    radii: tuple[Real, Real, Real]


KINDS = ("sphere", "box", "capsule", "cylinder", "cone", "ellipsoid", "hull")


class BodiesTable(Coefficients):
    """[[bodies]]: a body of one of the KINDS, where it starts, and its coefficients.

    The velocity is of the centre in world axes [m/s], the spin about world axes [rad/s]; the orientation is a
    quaternion (x, y, z, w). A body that is `fixed` does not move.
    """

    name: str
    sphere: BallTable | None = None
    box: BoxTable | None = None
    capsule: RoundTable | None = None
    cylinder: RoundTable | None = None
    cone: RoundTable | None = None
    ellipsoid: EllipsoidTable | None = None
    hull: HullTable | None = None
    position: tuple[Real, Real, Real]
    orientation: tuple[Real, Real, Real, Real] = (0.0, 0.0, 0.0, 1.0)
    velocity: tuple[Real, Real, Real] = (0.0, 0.0, 0.0)
    spin: tuple[Real, Real, Real] = (0.0, 0.0, 0.0)
    fixed: Flag = False

    @model_validator(mode="after")
    def _one_shape(self) -> BodiesTable:
        if len(self._shapes()) != 1:
            raise ValueError(f"give one of {', '.join(f'{kind} = {{...}}' for kind in KINDS)}")
        if self.fixed and (any(self.velocity) or any(self.spin)):
            raise ValueError("a fixed body has no velocity")
        if abs(float(np.linalg.norm(self.orientation)) - 1.0) > 1e-6:
            raise ValueError("the orientation is not of unit length")
        return self

    def build(self, shared: Mapping[str, Any]) -> Member:
        """The body with its start; what it does not say of friction and restitution is `shared`."""
        root = "fixed" if self.fixed else "free_flyer"
        shared = {name: value for name, value in shared.items() if not self.fixed or name in COEFFICIENTS}
        coefficients = {**shared, **self.given()}
        ((kind, shape),) = self._shapes().items()
        given = {name: getattr(shape, name) for name in type(shape).model_fields}
        robot = getattr(Robot, kind)(name=self.name, root=root, **given, **coefficients)
        if self.fixed:
            return Member(self.name, robot, np.zeros(0), np.zeros(0), (self.position, self.orientation))
        q = np.array([*self.position, *self.orientation])
        return Member(self.name, robot, q, np.concatenate([self._own(self.velocity), self._own(self.spin)]))

    def _shapes(self) -> dict[str, Table]:
        """{kind: its table} of those that are given."""
        return {kind: table for kind in KINDS if (table := getattr(self, kind)) is not None}

    def _own(self, vector: Sequence[float]) -> Array:
        """A vector in axes of the body."""
        part, w = -np.array(self.orientation[:3]), self.orientation[3]
        turned = 2.0 * np.cross(part, np.cross(part, vector) + w * np.array(vector))
        return np.array(vector) + turned


class PairTable(Coefficients):
    """[[pairs]]: coefficients of the contacts between two parts, bodies, or a contact point and a body."""

    first: str
    second: str

    def build(self) -> ContactPair:
        """The pair."""
        from ..multibody.geometry.pairs import ContactPair

        return ContactPair(self.first, self.second, **self.given())

    @model_validator(mode="after")
    def _of_pairs(self) -> PairTable:
        if isinstance(self.friction, tuple) or self.stribeck is not None or self.friction_axis is not None:
            raise ValueError("two coefficients, friction_axis and stribeck belong to contact points, not to pairs")
        return self


class Member(NamedTuple):
    """A part of a world with its start; `place` (position, quaternion) is that of a fixed one."""

    name: str
    robot: Robot
    q: Array
    v: Array
    place: tuple[Sequence[Real], Sequence[Real]] | None = None


def world_of(members: Sequence[Member], pairs: Sequence[PairTable]) -> Robot:
    """All members in one robot; everything touches everything, with the coefficients that `pairs` give.

    Raises:
        InputError: two have one name, or a pair names nothing that can touch.
    """
    from ..multibody.merge import placed

    placements = [None if member.place is None else placed(*member.place) for member in members]
    world = Robot.merge([m.robot for m in members], [m.name for m in members], placements=placements)
    return world.with_pairs([*world.pairs, *(pair.build() for pair in pairs)]) if pairs else world


def start_of(world: Robot, members: Sequence[Member]) -> tuple[Array, Array]:
    """(q, v) of the world."""
    return world.pack({member.name: (member.q, member.v) for member in members if member.robot.nq})


def shifted(robot: Robot, q: Array, shift: Sequence[float]) -> Array:
    """A configuration moved along x and y by the root's own coordinates.

    Raises:
        InputError: the root of the robot does not move that way.
    """
    from ..contact_dynamics.placement import along

    moved = q.copy()
    for axis, distance in enumerate(shift):
        index = along(robot, q, axis) if distance else None
        if distance and index is None:
            raise InputError(
                f"the robot '{robot.name}' cannot be moved along {'xy'[axis]}: no coordinate of its root does that"
            )
        if index is not None:
            moved[index] += distance
    return moved
