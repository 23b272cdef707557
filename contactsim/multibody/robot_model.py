"""The data of a robot: a pinocchio model with its contact points, solids, pairs and loops, and what can be read off it.

Kinematics and the geometry of pairs know a robot by these data alone; `Robot` adds how it is made and put on a ground.
At the end: where its frames are and how they move, which sensors and samples of a run read.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

import numpy as np
import pinocchio as pin

from ..common.arguments import NAME, TEXT, VECTOR, arguments, instance, numbers, one_of, several
from ..common.arrays import Array
from ..common.lazy import NamedTuple, dataclass
from ..common.representation import counted
from ..errors import InputError
from .configuration_space import ConfigurationSpace, whole
from .contact_point import ContactPoint
from .forest import Computing, Workspace
from .geometry.pairs import of_edges
from .loops import Loop, checked, followed
from .mechanism import unique_names
from .model_checks import (
    check_masses,
    check_order,
    first_links,
    frame_id_of,
    inside,
    link_frame,
    unbounded,
    warn_about_dry_friction,
    warn_about_inertias,
)

if TYPE_CHECKING:
    from .actuators import Actuator
    from .controllers import Controller
    from .geometry.pairs import ContactPair
    from .geometry.solids import Solid
    from .springs import Springs
    from .terrain import Terrain

R_co = TypeVar("R_co", bound="RobotModel", covariant=True)


FRAMES = "frames"
POINTS = several(instance(ContactPoint, "a ContactPoint"), "a list of ContactPoint")
MODEL = instance(pin.Model, "a pinocchio model, or use Robot.from_urdf for files")


class RobotModel:
    """The data of a `Robot`, which says what they are; they stay as they are, and `Robot` changes them in copies."""

    @arguments(model=MODEL, name=TEXT)
    def __init__(
        self,
        model: Any,
        contacts: str | Sequence[ContactPoint] = "auto",
        *,
        nominal: Any = None,
        visual: Any = None,
        collision: Any = None,
        name: str = "",
        loops: Sequence[Loop] = (),
    ) -> None:
        self.model = pin.Model(model)
        self.name = name or model.name
        self._visual, self._collision = visual, collision
        self._solids: tuple[Solid, ...] | None = None
        self.parts: Mapping[str, Part[Any]] = {}
        self.pairs: tuple[ContactPair, ...] = ()
        self.groups: tuple[tuple[str, ...], ...] = ()
        self.kept_apart: Mapping[frozenset[str], str] = {}
        self.own_springs: Springs | None = None
        self.gravity: Array | None = None
        self.terrain: Terrain | None = None
        self.actuators: tuple[Actuator, ...] = ()
        self._actuated: Array | None = None
        self._inertia_scales: dict[str, float] = {}
        check_order(self.model)
        check_masses(self.model)
        warn_about_inertias(self.model)
        warn_about_dry_friction(self.model)
        self.nq, self.nv = self.model.nq, self.model.nv
        self.space = ConfigurationSpace(self.model)
        if isinstance(contacts, str):
            from .robot_files.reading import automatic_contacts

            contacts = automatic_contacts(self.model, collision, contacts)
        self.contacts, self.loops = self._checked_points(contacts), checked(loops)
        self._nominal = nominal
        if nominal is not None:
            self.nominal  # noqa: B018 - what is given is looked at here, not where it is first needed

    def __repr__(self) -> str:
        mass = sum(body.mass for body in self.model.inertias)
        size = f"nq {self.nq}, nv {self.nv}, {counted(len(self.contacts), 'contact')}, {mass:.4g} kg"
        return f"{type(self).__name__}({self.name!r}, {size})"

    def _with(self, **data: Any) -> Self:
        """A copy with other data, as they are given; what was read off the old ones is forgotten."""
        changed = copy.copy(self)
        for derived in ("nominal", "actuated", "_paired", "_workspace", "known"):
            changed.__dict__.pop(derived, None)
        changed.__dict__.update(data)
        return changed

    @cached_property
    def visual_model(self) -> Any:
        """Pinocchio's visual geometry, of a robot that has none what collides; None where there is neither."""
        from .robot_files.reading import load_geometry

        drawn = load_geometry(self.model, self._visual)
        if getattr(drawn, "ngeoms", 0):
            return drawn
        try:
            return self.collision_model
        except InputError:  # it cannot be read, which is told of where it is asked for
            return drawn

    @cached_property
    def collision_model(self) -> Any:
        """Pinocchio's collision geometry; None where there is none."""
        from .robot_files.reading import load_geometry

        return load_geometry(self.model, self._collision)

    @property
    def is_curved(self) -> bool:
        """True where contacts touch the ground with rims or ellipsoids, besides points and spheres."""
        return any(type(point) is not ContactPoint for point in self.contacts)

    def moment_coefficients(self) -> dict[str, tuple[float, float]]:
        """{contact: coefficients of torsional and rolling friction [m]} of the contacts that have any.

        Those of a pair are its own, or the larger ones of the contact points of its two bodies. Edges have none.
        """
        found = {point.name: (point.torsion, point.rolling) for point in self.contacts}
        frames = {solid.name: solid.frame for solid in self.solids} if self.pairs else {}
        on_frames: dict[str, list[str]] = {}
        for point in self.contacts:
            on_frames.setdefault(point.frame, []).append(point.name)
        own_points = set(found)
        for pair in (pair for pair in self.pairs if not of_edges(pair)):
            names = {pair.first, pair.second}
            bodies = {frames.get(name, name) for name in names}
            on = [name for body in bodies for name in on_frames.get(body, [])]
            of = [found[name] for name in {*on, *(names & own_points)}]
            torsion, rolling = (max([one[k] for one in of], default=0.0) for k in (0, 1))
            own = torsion if pair.torsion is None else pair.torsion, rolling if pair.rolling is None else pair.rolling
            found[pair.name] = own
        return {name: own for name, own in found.items() if any(own)}

    def ellipses(self) -> dict[str, tuple[int, Array, Array]]:
        """{contact: joint, axis on it (3,), coefficients by the larger one (2,)} of those with an elliptic cone.

        A pair with a friction of its own is circular; others have the axes and the ratio of the pair's contact point.
        """
        found: dict[str, tuple[int, Array, Array]] = {}
        for point in self.contacts:
            if isinstance(point.friction, tuple) and point.friction[0] != point.friction[1]:
                frame, axis = self.model.frames[self.frame_id(point.frame)], np.array(point.friction_axis)
                turned = frame.placement.rotation @ axis / np.linalg.norm(axis)
                found[point.name] = int(frame.parentJoint), turned, np.array(point.friction) / max(point.friction)
        firsts = {pair.name: pair.first for pair in self.pairs if pair.friction is None}
        return found | {name: found[first] for name, first in firsts.items() if first in found}

    def stribeck_speeds(self) -> dict[str, float]:
        """{contact: its Stribeck speed [m/s]}, where it is not zero; of a pair, that of its contact point."""
        found = {point.name: point.stribeck for point in self.contacts if point.stribeck > 0.0}
        return found | {pair.name: found[pair.first] for pair in self.pairs if pair.first in found}

    @property
    def springs(self) -> Array:
        """Stiffness of each joint (nv,) [N m/rad, N/m]."""
        return np.zeros(self.nv) if self.own_springs is None else self.own_springs.stiffness.copy()

    @property
    def solids(self) -> tuple[Solid, ...]:
        """Shapes against which contact points of other bodies press, read off the collision geometry."""
        from .geometry.solids import items_of, solids_of

        if self._solids is None:
            self._solids = solids_of(self.model, items_of(self.collision_model))
        return self._solids

    @property
    def shapeless(self) -> bool:
        """True for a robot without solids and collision geometry: nothing of it can be inside of anything."""
        try:
            return not self._solids and not getattr(self.collision_model, "ngeoms", 0)
        except InputError:  # it cannot be read, which is told of where it is asked for
            return False

    @cached_property
    def known(self) -> dict[str, Any]:
        """A cache for what others have read off its data; that of a changed copy is empty."""
        return {}

    @cached_property
    def nominal(self) -> Array:
        """A standing configuration (nq,) on level ground."""
        if self._nominal is not None:
            return whole(self.space, f"the nominal configuration of '{self.name}'", self._nominal)
        q = followed(self.model, self.loops, inside(self.model, pin.neutral(self.model)))
        return self._stand(q) if self.contacts else q

    def _stand(self, q: Array) -> Array:
        """The configuration, lifted until its lowest contact touches z = 0, where the root can move up."""
        lowest = float(self.contact_positions(q)[:, 2].min())
        vertical = {"JointModelFreeFlyer": 2, "JointModelComposite": 1, "JointModelTranslation": 2, "JointModelPZ": 0}
        index = vertical.get(self.model.joints[1].shortname()) if self.model.njoints > 1 else None
        if index is not None and unbounded(self.model, self.model.joints[1].idx_q + index):
            q[self.model.joints[1].idx_q + index] -= lowest
        return q

    @cached_property
    def actuated(self) -> Array:
        """Mask (nv,) of the velocities that have an actuator.

        Those that actuators of an MJCF file drive; where a file names none, all but those of a floating or planar root,
        and of joints of a URDF that mimic others.
        """
        mask = np.ones(self.nv, dtype=bool)
        if self._actuated is not None:
            return self._actuated
        if self.parts:
            return np.concatenate([part.robot.actuated for part in self.parts.values()])
        if self.model.njoints > 1 and self.model.joints[1].nv > 1:
            root = self.model.joints[1]
            mask[root.idx_v : root.idx_v + root.nv] = False
        return mask

    @cached_property
    def _workspace(self) -> Workspace:
        return Workspace(self.model)

    def _placed(self, q: Any) -> Any:
        """Pinocchio's algorithms on the model, its joints placed at a configuration."""
        data = self._workspace.data
        data.forward_kinematics(self._configuration(q))
        return data

    def joint_placements(self, q: Array) -> Array:
        """Placements (joints, 7) in the world, itself first: position [m] and unit quaternion x, y, z, w."""
        return np.array([pin.SE3ToXYZQUAT(place) for place in self._placed(q).oMi])

    def contact_positions(self, q: Array) -> Array:
        """Lowest points (nc, 3) of the contacts over level ground, world frame [m]."""
        data = self._placed(q)
        found = np.zeros((len(self.contacts), 3))
        for k, point in enumerate(self.contacts):
            frame = self.model.frames[self.frame_id(point.frame)]
            place = data.oMi[frame.parentJoint] * frame.placement
            down = place.rotation.T @ np.array([0.0, 0.0, -1.0])
            found[k] = place.act(point.feature.core(down))
            found[k, 2] -= point.radius
        return found

    @arguments(point=VECTOR)
    def point_position(self, frame: str, q: Array, point: Any = (0.0, 0.0, 0.0)) -> Array:
        """World position (3,) [m] of a `point` (3,) [m] of a frame.

        Raises:
            InputError: there is no such frame.
        """
        index, data = self.frame_id(frame), self._placed(q)
        return np.array(data.update_frame_placement(index).act(np.asarray(point, dtype=float)))

    def _configuration(self, q: Any) -> Array:
        return np.asarray(numbers(self.nq).check(f"the configuration of robot '{self.name}'", q))

    @property
    def marks(self) -> tuple[ContactPoint | ContactPair, ...]:
        """Contact points, then the points that touch other bodies: what a picture marks."""
        return (*self.contacts, *(pair for pair in self.pairs if not of_edges(pair)))

    @cached_property
    def bodies(self) -> dict[str, int]:
        """{name: joint that moves it} of the moving bodies.

        A body is all links that are fixed to each other, and goes by the first of them (the one next to its joint); a
        body of a model without links goes by its joint.
        """
        found = first_links(self.model)
        return {found.get(k, self.model.names[k]): k for k in range(1, self.model.njoints)}

    @arguments(body=NAME, kind=one_of("mass", "inertia_scale"))
    def body_parameter(self, body: str, kind: str) -> float:
        """Mass [kg] of a body, or the factor "inertia_scale" on its rotational inertia, 1 for the robot as it was made.

        Raises:
            InputError: there is no such body.
        """
        joint = self._body(body)
        return float(self.model.inertias[joint].mass) if kind == "mass" else self._inertia_scales.get(body, 1.0)

    def _body(self, name: str) -> int:
        if name in self.bodies:
            return self.bodies[name]
        joint = self.model.frames[link_frame(self.model, name)].parentJoint if self.model.existFrame(name) else 0
        owner = next((body for body, index in self.bodies.items() if index == joint), None)
        if owner is not None:
            raise InputError(f"'{name}' is fixed to the body '{owner}' and is a part of it; name that body")
        known = ", ".join(self.bodies) or "none"
        raise InputError(f"robot '{self.name}' has no moving body '{name}'; there are {known}")

    @arguments(name=NAME)
    def frame_id(self, name: str) -> int:
        """Pinocchio's index of a frame.

        Raises:
            InputError: there is no such frame; similar names are listed.
        """
        index = self._frame_numbers.get(name)
        return frame_id_of(self.model, name, f"robot '{self.name}'") if index is None else index

    @property
    def _frame_numbers(self) -> dict[str, int]:
        """{name: index} of the frames, that of the link where a joint has the same name."""
        if FRAMES not in self.known:
            kinds = [(frame.name, frame.type == pin.FrameType.BODY) for frame in self.model.frames]
            behind = sorted(enumerate(kinds), key=lambda item: (not item[1][1], item[0]), reverse=True)
            self.known[FRAMES] = {name: k for k, (name, _) in behind}
        found: dict[str, int] = self.known[FRAMES]
        return found

    @arguments(name=NAME)
    def joint_index(self, name: str) -> int:
        """First velocity index of a joint.

        Raises:
            InputError: there is no such joint; the joints are listed.
        """
        if not self.model.existJointName(name):
            known = ", ".join(joint_places(self.model))
            raise InputError(f"robot '{self.name}' has no joint '{name}'; its joints are {known}")
        return int(self.model.joints[self.model.getJointId(name)].idx_v)

    def _checked_points(self, contacts: Any) -> tuple[ContactPoint, ...]:
        """Contact points as a user gave them, each with a name of its own and a frame of the model."""
        given = POINTS.check(f"contacts of robot '{self.name}'", contacts)
        unique_names([point.name for point in given])
        for point in given:
            frame_id_of(self.model, point.frame, f"contact '{point.name}'")
        return given


@dataclass(frozen=True)
class Part(Generic[R_co]):
    """A robot that was merged into a world.

    Attributes:
        name: its name there; its joints, frames and contacts are called NAME/...
        robot: the robot as it was merged.
        placement: where its own world stands in that of all (pin.SE3).
        q, v: its places in a configuration and in a velocity of the world.
    """

    name: str
    robot: R_co
    placement: Any
    q: slice
    v: slice

    def drive(self, controller: Any) -> Controller:
        """A controller of the whole world from one of this part, or from a function (t, q, v) -> tau of its own."""
        from .controllers import as_controller
        from .part_controllers import PartController, PartPlace

        return PartController(PartPlace(self.name, self.q, self.v, self.robot.space), as_controller(controller))


PARTS = {
    "JointModelFreeFlyer": (("x", "y", "z", "qx", "qy", "qz", "qw"), ("vx", "vy", "vz", "wx", "wy", "wz")),
    "JointModelSpherical": (("qx", "qy", "qz", "qw"), ("wx", "wy", "wz")),
    "JointModelPlanar": (("x", "y", "cos", "sin"), ("vx", "vy", "wz")),
    "JointModelTranslation": (("x", "y", "z"), ("vx", "vy", "vz")),
}


class FrameMotion(NamedTuple):
    """Motion of a frame, in its own axes.

    Attributes:
        rotation: (3, 3), of its axes to those of the world.
        angular: velocity (3,) [rad/s].
        linear: velocity (3,) of its origin [m/s].
        acceleration: (3,) of its origin as a point of the body [m/s^2].
    """

    rotation: Array
    angular: Array
    linear: Array
    acceleration: Array


class FrameKinematics(Computing):
    """Poses and motions of the frames of a robot, by their names."""

    def __init__(self, robot: RobotModel) -> None:
        self._robot, self._workspace = robot, Workspace(robot.model)

    def poses(self, q: Array, frames: Sequence[str]) -> dict[str, Array]:
        """{frame: (4, 4), from its axes to those of the world} at a configuration (nq,) [m].

        Raises:
            InputError: there is no such frame.
        """
        data = self._data
        indices = {name: self._robot.frame_id(name) for name in frames}
        data.forward_kinematics(q)
        return {name: data.update_frame_placement(k).homogeneous.copy() for name, k in indices.items()}

    def motion(self, q: Array, v: Array, a: Array, frame: str) -> FrameMotion:
        """Motion of a frame at a configuration (nq,), velocity (nv,) and acceleration (nv,).

        Raises:
            InputError: there is no such frame.
        """
        data, index = self._data, self._robot.frame_id(frame)
        data.forward_kinematics(q, v, a)
        rotation = np.array(data.update_frame_placement(index).rotation)
        moving = data.frame_velocity(index, pin.LOCAL)
        acceleration = data.frame_acceleration(index, pin.LOCAL).linear
        return FrameMotion(rotation, np.array(moving.angular), np.array(moving.linear), np.array(acceleration))


def coordinate_names(model: Any) -> tuple[list[str], list[str]]:
    """Names of the numbers of a configuration (nq,) and of a velocity (nv,): that of the joint, and which of several.

    A free joint has x, y, z, qx, qy, qz, qw and vx, vy, vz, wx, wy, wz, in pinocchio's order; a joint that turns
    without end cos and sin; a joint made of several the kind of each: px, pz, ry.
    """
    q_names: list[str] = []
    v_names: list[str] = []
    for name, joint in list(zip(model.names, model.joints, strict=True))[1:]:
        q_parts, v_parts = _parts(joint)
        q_names += [f"{name}.{part}" if part else name for part in q_parts]
        v_names += [f"{name}.{part}" if part else name for part in v_parts]
    return q_names, v_names


def _parts(joint: Any) -> tuple[Sequence[str], Sequence[str]]:
    """Parts of the coordinates of a joint; an empty name where there is one only."""
    kind = joint.shortname()
    if kind in PARTS:
        return PARTS[kind]
    if kind == "JointModelComposite":
        inner = [own.shortname().removeprefix("JointModel").lower() for own in joint.extract().joints]
        if len(inner) == joint.nq == joint.nv:
            return inner, inner
    if joint.nq == 2 and joint.nv == 1:
        return ("cos", "sin"), ("",)
    return _numbered(joint.nq), _numbered(joint.nv)


def _numbered(count: int) -> list[str]:
    return [""] if count == 1 else [str(k) for k in range(count)]


def joint_places(model: Any) -> dict[str, tuple[range, range]]:
    """{joint: its places in a configuration, and in velocities and forces} in the order of these."""
    joints = list(zip(model.names, model.joints, strict=True))[1:]  # the first is the world
    return {
        name: (range(joint.idx_q, joint.idx_q + joint.nq), range(joint.idx_v, joint.idx_v + joint.nv))
        for name, joint in joints
    }


def turning_joints(model: Any) -> dict[str, tuple[int, int, int]]:
    """{joint: (first of its numbers in q, how many, its number in v)} of the joints of one degree of freedom."""
    joints = list(zip(model.names, model.joints, strict=True))[1:]
    return {name: (joint.idx_q, joint.nq, joint.idx_v) for name, joint in joints if joint.nv == 1}
