"""Robots: made from URDF, MJCF, a name, single bodies or other robots, changed by copies, and put on a ground."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import pinocchio as pin

from ..common.arguments import (
    FLAG,
    NAME,
    NOT_NEGATIVE,
    PATH,
    POSITIVE,
    arguments,
    custom,
    instance,
    one_of,
    optional,
    real_array,
    several,
    whole,
)
from ..common.arrays import Array
from ..common.telling import tell
from ..errors import InputError
from .contact_point import ContactPoint
from .geometry.pairs import CYLINDER_SIDES, HULL_CORNERS, ContactPair
from .kinematics.bound_robot import BoundRobot
from .primitives import SingleBodies
from .robot_files.reading import GeometryFile, existing, given_folders, package_folders
from .robot_files.urdf import SOURCE, urdf_of
from .robot_model import Part, RobotModel, joint_places
from .terrain import Flat, Slope, Terrain

if TYPE_CHECKING:
    from .geometry.bodies import LeftOut
    from .kinematics.bound_world import BoundWorld
    from .mechanism import ContactMechanism

BOUND, PLANES = "bound", 8  # key of what is kept of a robot on planes, and on how many of them


def _gains(given: Any) -> Array:
    found = real_array(given)
    if found.ndim > 1 or not np.isfinite(found).all() or (found < 0.0).any():
        raise ValueError
    return found


COLUMNS = "joint", "q", "v, tau"
GAINS = custom("a number that is not negative, or one for each actuated joint", _gains)


def _range(places: range) -> str:
    """Places in an array, as they are written in Python: "7", "0:6"; nothing where there are none."""
    return f"{places.start}:{places.stop}" if len(places) > 1 else "".join(map(str, places))


class Robot(SingleBodies):
    """A pinocchio model with its contact points.

    Args:
        model: pinocchio's model; it is copied, never changed.
        contacts: contact points, or "auto", "all" or "feet": from the collision geometry, see `from_urdf`.
        nominal: a standing configuration (nq,); by default the neutral one, lifted until it touches level ground.
        visual: geometry model, or a function that loads it when it is first needed.
        collision: the same, from which contacts "auto" are taken.
        name: name of the robot; by default the model's.
        loops: what closes its loops.

    Attributes:
        parts: {name: part} of a robot that `merge` made; empty for others.
        pairs: contacts between its bodies, each of one contact point and one solid.
        own_springs: springs of its joints; None: it has none.
        gravity, terrain: those of its file, for a ContactSystem that is given none; None: the file says nothing.
        actuators: those of its file, see `Actuators`.
    """

    parts: Mapping[str, Part[Robot]]

    def __str__(self) -> str:
        joints = joint_places(self.model)
        rows = [COLUMNS, *((name, _range(q), _range(v)) for name, (q, v) in joints.items())]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)
        return "\n".join([repr(self), *lines])

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints in the order of q, v and tau, a floating root first; `print` shows the places of each."""
        return tuple(self.model.names)[1:]  # the first is the world

    # --- where robots come from -------------------------------------------------------------------------------

    @classmethod
    @arguments(path=SOURCE, package_dirs=optional(several(PATH, "a list of folders")), self_contacts=FLAG)
    def from_urdf(
        cls,
        path: str | Path | IO[Any],
        root: Any = None,
        package_dirs: Sequence[str | Path] | None = None,
        contacts: str | Sequence[ContactPoint] = "auto",
        nominal: Any = None,
        self_contacts: bool = False,
    ) -> Robot:
        """A robot from a URDF.

        Joints that mimic others are held to them by `JointCoupling` loops, and are not actuated. A continuous joint has
        the coordinates (cos, sin), or its angle where mimic relates it to others.

        Args:
            path: the file, its text, or a file open for reading.
            root: "free_flyer", "fixed", "planar" (vertical plane: x, z and pitch), or a pinocchio joint model. None:
                free_flyer, with a warning where the first link seems to be meant to stand still.
            package_dirs: folders in which meshes and package:// paths are looked up, before the file's own
                surroundings and those of ROS.
            contacts: contact points; or "all" collision geometry, that of links named as "feet", or "auto": the feet
                where there are any, else all. Geometry that has none is told.
            nominal: a standing configuration (nq,); continuous joints may all be given by their angles.
            self_contacts: whether links meet each other with their whole shape, but neighbours and those that are
                inside each other in the nominal configuration; `left_out` lists these.

        Raises:
            InputError: the file or a folder is missing; it cannot be read, names a mass that is not positive, or a
                mimic of what cannot be mimicked; or no links can meet.
        """
        source = urdf_of(path)
        for remark in source.remarks:
            tell(remark)
        if isinstance(contacts, str) and (unread := source.unread_coefficients()):
            tell(unread)
        if root is None and (reason := source.why_fixed()):
            tell(
                f"{source.place} is taken as a robot that floats, but {reason}; give root='fixed' to hold it, or"
                " root='free_flyer' if it is meant to float",
            )
        model = source.model("free_flyer" if root is None else root)
        folders = tuple(package_folders(source.path, package_dirs or ()))
        load = GeometryFile(str(source.path or ""), folders, urdf=source.text)
        visual = replace(load, visual=True)
        robot = cls(
            model, contacts, nominal=nominal, visual=visual, collision=load, name=model.name, loops=source.couplings
        )
        if source.followers:
            actuated = robot.actuated.copy()
            actuated[[robot.joint_index(name) for name in source.followers]] = False
            robot = robot._with(_actuated=actuated)
        if not self_contacts:
            return robot
        from .geometry.self_contacts import with_self_contacts

        return with_self_contacts(robot)

    @classmethod
    @arguments(path=PATH, package_dirs=optional(several(PATH, "a list of folders")), self_contacts=FLAG)
    def from_mjcf(
        cls,
        path: str | Path,
        package_dirs: Sequence[str | Path] | None = None,
        contacts: str | Sequence[ContactPoint] = "auto",
        nominal: Any = None,
        self_contacts: bool = False,
    ) -> Robot:
        """A robot from an MJCF file, as MuJoCo's own compiler reads it.

        Its q is MuJoCo's qpos with quaternions (x, y, z, w); the velocity of a free joint is in axes of its body. What
        of the file is not carried out is said in a warning. Gravity and ground of the file are those of a ContactSystem
        that is given none, its actuators those of `Actuators`, its equalities are loops.

        Args:
            path: the file.
            package_dirs: folders in which meshes are looked up that are not where the file says.
            contacts: contact points; or "all" geoms, those named as "feet", or "auto": feet of trees that have any.
            nominal: a standing configuration (nq,); by default the keyframe "home", else that of the file.
            self_contacts: whether bodies of one tree meet each other where the file lets them, but those that are
                inside each other in the nominal configuration; `left_out` lists these.

        Raises:
            InputError: the file or a folder is missing, MuJoCo is not installed or refuses it, or there are no feet.
        """
        from .geometry.meetings import paired
        from .mjcf.reading import read

        path, folders = existing(path, "MJCF"), tuple(map(str, given_folders(package_dirs or ())))
        found, load = read(path, contacts, folders, self_contacts), GeometryFile(str(path), folders)
        found.warn()
        start, visual = found.nominal if nominal is None else nominal, replace(load, visual=True)
        robot = cls(found.model, found.contacts, nominal=start, visual=visual, collision=load, loops=found.loops)
        robot = robot._with(
            own_springs=found.springs,
            gravity=found.gravity,
            terrain=found.terrain,
            actuators=found.actuators,
            kept_apart=found.kept_apart,
            _actuated=found.actuated,
            _solids=found.solids,
        )
        return robot._with(pairs=paired(robot, found.meetings)) if found.meetings else robot

    @staticmethod
    @arguments(
        robots=several(instance(RobotModel, "a Robot"), "a list of Robot"),
        names=optional(several(NAME, "a list of names")),
        hull_corners=whole("a whole number, at least 4", ge=4),
        cylinder_sides=whole("a whole number, at least 3", ge=3),
    )
    def merge(
        robots: Sequence[Robot],
        names: Sequence[str] | None = None,
        pairs: str | Sequence[ContactPair] = "auto",
        placements: Sequence[Any] | None = None,
        hull_corners: int = HULL_CORNERS,
        cylinder_sides: int = CYLINDER_SIDES,
    ) -> Robot:
        """Several robots and free bodies as one, whose joints, frames and contacts are called PART/...

        Args:
            robots: the parts.
            names: their names; by default those of the robots.
            pairs: which bodies touch each other: "auto", every contact point of each part, and the corners of its boxes
                and hulls, against the spheres, boxes, hulls, capsules and half-spaces of every other, and edges against
                edges; or a list. Coefficients: see `pairs`.
            placements: for each part where its own world stands in that of all, (x, y, z) [m] or a pinocchio SE3: its
                configuration counts from there. By default all are one world.
            hull_corners: meshes meet other parts as convex hulls of at most so many corners; a warning says how far
                they miss the mesh, and how much volume they add.
            cylinder_sides: an end of a cylinder or cone that lies flat stands on so many points of its rim. Where
                meshes and these make more than 60,000 couples of edges, meshes, cylinders and cones are left out, and
                a warning names them.

        Raises:
            InputError: two parts have one name, or a pair names nothing that can touch.
        """
        from .merge import merge

        return merge(Robot, robots, names, pairs, placements, hull_corners, cylinder_sides)

    @property
    def left_out(self) -> tuple[LeftOut, ...]:
        """Shapes that pass through each other or through the ground, by name, each with the reason."""
        from .geometry.bodies import bodies_of

        return bodies_of(self).left_out

    # --- on a ground ------------------------------------------------------------------------------------------

    def bind(self, terrain: Terrain, gravity: Array, joint_limits: bool = True) -> ContactMechanism:
        """The robot on a ground, under a gravity (3,) [m/s^2]: what a ContactSystem computes with."""
        if self.pairs:
            from .kinematics.bound_world import BoundWorld

            return BoundWorld(self, terrain, gravity, joint_limits)
        if self.is_curved:
            from .kinematics.bound_shapes import BoundShapes

            return BoundShapes(self, terrain, gravity, joint_limits)
        return self._on_plane(terrain, gravity, joint_limits)

    def _on_plane(self, terrain: Terrain, gravity: Array, joint_limits: bool) -> BoundRobot:
        """Points on a ground; those on the last planes are kept, as many systems of a robot may be made."""
        if type(terrain) not in (Flat, Slope):
            return BoundRobot(self, terrain, gravity, joint_limits)
        numbers = (*terrain.plane(), terrain.belt(), gravity)  # type: ignore[misc]
        key = type(terrain), joint_limits, *(given.tobytes() for given in numbers)
        kept: dict[Hashable, tuple[Any, BoundRobot]] = self.known.setdefault(BOUND, {})
        model, bound = kept.get(key, (None, None))
        if bound is None or model != self.model:
            if len(kept) >= PLANES:
                kept.clear()
            bound = BoundRobot(self, terrain, gravity, joint_limits)
            kept[key] = pin.Model(self.model), bound
        return bound

    def pack(self, states: Mapping[str, Any]) -> tuple[Array, Array]:
        """(q, v) of all parts from {part: (q, v)}; parts that are left out rest in their nominal pose.

        Raises:
            InputError: there is no such part, or a state has the wrong size.
        """
        from .merge import pack

        return pack(self, states)

    def unpack(self, state: Any) -> dict[str, tuple[Array, Array]]:
        """{part: (q, v)} of a state."""
        return {name: (state.q[part.q], state.v[part.v]) for name, part in self.parts.items()}

    def mark_positions(self, q: Array) -> Array:
        """Points (nc + pairs, 3) at which contacts touch, or would, in the world [m]: on the ground, then pairs."""
        own = self.contact_positions(q) if self.contacts else np.zeros((0, 3))
        return np.concatenate([own, self._paired.touch_points(np.asarray(q, dtype=float))]) if self.pairs else own

    @cached_property
    def _paired(self) -> BoundWorld:
        from .kinematics.bound_world import BoundWorld

        return BoundWorld(self, Flat(), np.array([0.0, 0.0, -9.81]), joint_limits=False)

    # --- copies -----------------------------------------------------------------------------------------------

    @arguments(pairs=several(instance(ContactPair, "a ContactPair"), "a list of ContactPair"))
    def with_pairs(self, pairs: Sequence[ContactPair]) -> Robot:
        """A copy with other contacts between its bodies; a pair of parts stands for all their points and solids.

        Raises:
            InputError: a pair names nothing that can touch.
        """
        from .geometry.pairing import expanded

        return self._with(pairs=expanded(self, pairs))

    def with_contacts(self, contacts: Sequence[ContactPoint]) -> Robot:
        """A copy with other contact points.

        Raises:
            InputError: these are no ContactPoints, two have one name, or a frame is not there.
        """
        return self._with(contacts=self._checked_points(contacts))

    @arguments(armature=NOT_NEGATIVE)
    def with_armature(self, armature: float) -> Robot:
        """A copy whose actuated joints carry a rotor inertia, reflected through the gear [kg m^2, kg]."""
        model = pin.Model(self.model)
        model.armature = np.where(self.actuated, armature, self.model.armature)
        return self._with(model=model)

    @arguments(kp=GAINS, kd=GAINS)
    def with_servos(self, kp: Any, kd: Any) -> Robot:
        """A copy whose actuated joints are driven by position servos, tau = kp (u - q) - kd v.

        Its inputs u, of `Inputs`, `ilqr`, `MPC` and `Actuators`, are the setpoints of the joints, in the order of their
        velocities: a motion begins from what the servos hold by themselves, where torques would let it fall.

        Args:
            kp: stiffness, one for all actuated joints or one for each (nu,) [N m/rad, N/m].
            kd: damping, likewise [N m s/rad, N s/m].

        Raises:
            InputError: the robot is made of parts, an actuated joint has no one angle, or the gains do not fit.
        """
        if self.parts:
            raise InputError(f"robot '{self.name}' is made of parts, of which none has servos; drive it by PD")
        from .actuators import servos

        return self._with(actuators=servos(self, kp, kd))

    @arguments(body=NAME, kind=one_of("mass", "inertia_scale"))
    def with_body_parameter(self, body: str, kind: str, value: float) -> Robot:
        """A copy with another "mass" [kg] or "inertia_scale" of a body.

        The centre of mass stays, and the rotational inertia about it grows in proportion to the mass, as if the body
        were of a denser material; `inertia_scale` multiplies that inertia alone, as if the mass were further out.

        Raises:
            InputError: there is no such body, it has no mass, or the value is not positive.
        """
        joint = self._body(body)
        before = self.body_parameter(body, kind)
        value = POSITIVE.check(f"body.{body}.{kind}", value)
        if not before > 0.0:
            raise InputError(f"body '{body}' has no mass that could be changed; give it one in the robot's file")
        model, own, factor = pin.Model(self.model), self.model.inertias[joint], value / before
        mass = value if kind == "mass" else own.mass
        model.inertias[joint] = pin.Inertia(mass, own.lever, factor * own.inertia)
        scales = {body: value} if kind == "inertia_scale" else {}
        return self._with(model=model, _inertia_scales=self._inertia_scales | scales)
