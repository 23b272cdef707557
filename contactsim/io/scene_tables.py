"""The tables of a scene file, those of further robots and free bodies among them, and a scene as TOML again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import tomli_w
from pydantic import ConfigDict, Field, PrivateAttr, field_validator, model_validator

from ..common.arrays import Array
from ..common.lazy import NamedTuple
from ..common.schemas import Flag, Real, Whole
from ..errors import InputError
from ..multibody.contact_point import rotation
from ..multibody.geometry.pairs import ContactPair
from ..multibody.mechanism import COEFFICIENTS
from ..multibody.robot import Robot
from .terrain_schema import GROUNDS, Ground, Table

Coefficient = Annotated[Real, Field(ge=0.0)]
Friction = Coefficient | tuple[Coefficient, Coefficient]


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
        return rotation(self.orientation).T @ np.array(vector)


class PairTable(Coefficients):
    """[[pairs]]: coefficients of the contacts between two parts, bodies, or a contact point and a body."""

    first: str
    second: str

    def build(self) -> ContactPair:
        """The pair."""
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


Gain = Real | list[Real] | dict[str, Real]
CONTROLLERS = ("none", "pd", "demo")  # kinds of controllers that are no plugins


class ContactTable(Coefficients):
    """[contact]: coefficients of all contacts, and in tables below it those of one contact by name."""

    OTHERS: ClassVar[type[Table]] = Coefficients
    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Coefficients]

    @property
    def named(self) -> dict[str, Coefficients]:
        """The tables of single contacts."""
        return dict(self.__pydantic_extra__ or {})


class BodyTable(Table):
    """[body.NAME]: what a body of the robot has instead of what its file says; see Robot.with_body_parameter."""

    mass: Real | None = Field(default=None, gt=0.0)
    inertia_scale: Real | None = Field(default=None, gt=0.0)


class PointTable(Table):
    """[[robot.contacts]]: one contact point; see ContactPoint."""

    frame: str
    offset: tuple[Real, Real, Real] = (0.0, 0.0, 0.0)
    radius: Real = Field(default=0.0, ge=0.0)
    friction: Friction = 0.8
    static_friction: Real | None = Field(default=None, ge=0.0)
    restitution: Real = Field(default=0.0, ge=0.0, le=1.0)
    rolling: Real = Field(default=0.0, ge=0.0)
    torsion: Real = Field(default=0.0, ge=0.0)
    stribeck: Real = Field(default=0.0, ge=0.0)
    friction_axis: tuple[Real, Real, Real] = (1.0, 0.0, 0.0)
    name: str = ""


class RobotTable(Table):
    """[robot]: one of the catalogue by `name`, or a URDF or MJCF `file`."""

    name: str | None = None
    file: str | None = None
    root: Literal["free_flyer", "fixed", "planar"] | None = None
    package_dirs: list[str] = Field(default_factory=list)
    contacts: Literal["auto", "all", "feet"] | list[PointTable] | None = None
    self_contacts: Flag = False

    @model_validator(mode="after")
    def _one_source(self) -> RobotTable:
        if (self.name is None) == (self.file is None):
            raise ValueError("give either the name of a robot or a file")
        if self.name is not None and self._of_files:
            raise ValueError(
                "root, package_dirs, self_contacts and contacts by a word go with a file; a robot by name has its own"
            )
        return self

    @property
    def _of_files(self) -> bool:
        """True where it has keys that go with a file alone."""
        return bool(self.root or self.package_dirs or self.self_contacts) or isinstance(self.contacts, str)


class OtherRobotTable(RobotTable):
    """[robots.NAME]: a further robot, moved by `shift` (x, y) [m], `height` [m] above ground in its nominal pose or q.

    With `hold` a joint PD holds that pose, with gains that carry its weight.
    """

    shift: tuple[Real, Real] = (0.0, 0.0)
    height: Real | None = Field(default=None, ge=0.0)
    q: list[Real] | None = None
    v: list[Real] | None = None
    hold: Flag = True


class LawTable(Table):
    """[law]: the name of a contact law, and its parameters beside it."""

    model_config = ConfigDict(extra="allow")
    name: str = "coulomb"

    @property
    def parameters(self) -> dict[str, Any]:
        """All keys but the name."""
        return dict(self.__pydantic_extra__ or {})


class ControllerTable(Table):
    """[controller]: none, joint PD about a reference, the demonstration's, or a plugin with its parameters.

    The period is that of zero-order hold [s]. With `limits` joint PD keeps effort and velocity limits of the file.

    A demonstration may have a controller of its own, without gains; joint PD then takes its place by kind = "pd".

    A gain is one number, an array (nv,), or a table of single joints, where the others keep what they have without it.
    """

    kind: str | None = None
    parameters: dict[str, Any] = Field(default_factory=dict)
    kp: Gain | None = None
    kd: Gain | None = None
    kp_scale: Real | None = Field(default=None, gt=0.0)
    kd_scale: Real | None = Field(default=None, gt=0.0)
    reference: Literal["nominal", "demo"] | list[Real] | None = None
    period: Real | None = Field(default=None, gt=0.0)
    limits: Flag | None = None


class LoopTable(Table):
    """[[loop]]: two bodies that are held together; see LoopClosure."""

    frame_a: str
    frame_b: str
    offset_a: tuple[Real, Real, Real] = (0.0, 0.0, 0.0)
    offset_b: tuple[Real, Real, Real] = (0.0, 0.0, 0.0)
    rotation_a: tuple[Real, Real, Real] = (0.0, 0.0, 0.0)
    rotation_b: tuple[Real, Real, Real] = (0.0, 0.0, 0.0)
    kind: Literal["point", "hinge", "pose"] = "point"
    name: str = ""


class LatchTable(Table):
    """[[latch]]: a joint or two frames that are held together from one event to another; see Latch.

    closes and opens are times [s]; closes_at and opens_at contacts, at whose touch-down they do.
    """

    joint: str = ""
    value: Real = 0.0
    frame_a: str = ""
    frame_b: str = ""
    offset_a: tuple[Real, Real, Real] = (0.0, 0.0, 0.0)
    offset_b: tuple[Real, Real, Real] = (0.0, 0.0, 0.0)
    kind: Literal["point", "hinge", "pose"] = "pose"
    hold: Flag = False
    direction: Literal[1, -1] = 1
    closes: Real | None = None
    opens: Real | None = None
    closes_at: str = ""
    opens_at: str = ""
    strength: Real | None = Field(default=None, gt=0.0)
    closed: Flag = False
    name: str = ""


class StartTable(Table):
    """[start]: a pose or q, the height [m] of the lowest contact point above ground, and v.

    A pose is moved to the nearest one that closes the loops; q and v are taken as they are, or so with close = true.
    """

    pose: Literal["nominal", "demo"] | None = None
    q: list[Real] | None = None
    v: list[Real] | None = None
    height: Real | None = Field(default=None, ge=0.0)
    close: Flag = False

    @model_validator(mode="after")
    def _one_pose(self) -> StartTable:
        if self.pose and self.q:
            raise ValueError("give either pose or q")
        return self


class RunTable(Table):
    """[run]: duration [s], accuracy and limits."""

    time: Real | None = Field(default=None, gt=0.0)
    rtol: Real | None = Field(default=None, gt=0.0)
    atol: Real | None = Field(default=None, gt=0.0)
    integrator: str | None = None
    max_step: Real | None = Field(default=None, gt=0.0)
    record_period: Real | None = Field(default=None, gt=0.0)
    max_events: Whole = Field(default=100_000, gt=0)
    accumulation: Literal["pass", "stop"] = "pass"


class Scene(Table):
    """A scene file; `_home` names it in errors of what is built from it."""

    _home: str = PrivateAttr("")
    robot: RobotTable | None = None
    contact: ContactTable = ContactTable.model_validate({})
    terrain: Ground | None = None
    law: LawTable = LawTable()
    controller: ControllerTable = ControllerTable()
    start: StartTable = StartTable()
    run: RunTable = RunTable()
    body: dict[str, BodyTable] = Field(default_factory=dict)
    loop: list[LoopTable] = Field(default_factory=list)
    latch: list[LatchTable] = Field(default_factory=list)
    gravity: tuple[Real, Real, Real] = (0.0, 0.0, -9.81)
    joint_limits: Flag = True
    robots: dict[str, OtherRobotTable] = Field(default_factory=dict)
    bodies: list[BodiesTable] = Field(default_factory=list)
    pairs: list[PairTable] = Field(default_factory=list)

    @field_validator("terrain", mode="before")
    @classmethod
    def _with_kind(cls, value: Any) -> Any:
        """The kind of ground is clear where the other keys belong to one kind only."""
        if not isinstance(value, dict) or "kind" in value:
            return value
        fitting = [table for table in GROUNDS if set(value) <= set(table.model_fields)]
        if not fitting:
            kinds = (
                f"'{table.model_fields['kind'].default}' ({', '.join(list(table.model_fields)[1:])})"
                for table in GROUNDS
            )
            raise ValueError(f"give the kind of the ground: {' or '.join(kinds)}")
        return value | {"kind": fitting[0].model_fields["kind"].default}

    @field_validator("body", mode="before")
    @classmethod
    def _of_the_robot(cls, value: Any) -> Any:
        """[body.NAME] is easily taken for [[bodies]]."""
        if isinstance(value, list):
            raise ValueError("[[body]] is a list; give [body.NAME] to change a body, or [[bodies]] to add bodies")
        return value

    @field_validator("gravity", mode="before")
    @classmethod
    def _downward(cls, value: Any) -> Any:
        """One number is the magnitude of gravity that points down."""
        if isinstance(value, (list, tuple)):
            return value
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0.0:
            raise ValueError("give a positive magnitude [m/s^2], or three numbers")
        return (0.0, 0.0, -value)

    @model_validator(mode="after")
    def _somebody(self) -> Scene:
        if self.robot is None and not (self.robots or self.bodies):
            raise ValueError("a robot is required: give [robot], [robots.NAME] or [[bodies]]")
        if self.robot is None and (self.controller != ControllerTable() or self.start != StartTable()):
            raise ValueError("controller and start go with [robot]; bodies and [robots.NAME] have their own")
        if self.pairs and not self.is_world:
            raise ValueError("pairs go with [[bodies]] or [robots.NAME]")
        return self

    @model_validator(mode="after")
    def _no_height_above_nothing(self) -> Scene:
        heights = {"start": self.start.height} | {f"robots.{name}": table.height for name, table in self.robots.items()}
        given = [name for name, height in heights.items() if height is not None]
        if self.terrain is not None and self.terrain.kind == "none" and given:
            raise ValueError(f"{given[0]}.height is above ground, and terrain.kind is 'none'; leave one of them out")
        return self

    @property
    def is_world(self) -> bool:
        """True if there is more than one robot, or a free body."""
        return self.robot is None or bool(self.robots or self.bodies)

    @property
    def main(self) -> str:
        """Name of the robot in [robot] or of its file; empty where there is none."""
        return "" if self.robot is None else self.robot.name or Path(self.robot.file or "").stem

    @property
    def title(self) -> str:
        """A short name: that of the robot or of its file, or of all others."""
        return self.main or "+".join([*self.robots, *(body.name for body in self.bodies)])

    def text(self) -> str:
        """The scene as TOML; what was left to its default is left out."""
        return tomli_w.dumps(self.model_dump(mode="json", exclude_unset=True, exclude_none=True))
