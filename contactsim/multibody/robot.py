"""Robots: a pinocchio model with contact points, from URDF, MJCF, a name, or a model made in memory."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pinocchio as pin

from ..common.arrays import Array
from ..errors import InputError
from .configuration_space import ConfigurationSpace
from .contact_point import ContactPoint
from .geometry.pairs import ContactPair, expanded, solids_of
from .geometry.solids import Solid
from .kinematics.bound_robot import BoundRobot
from .kinematics.bound_world import BoundWorld
from .loops import LoopClosure, checked, from_constraints, warn_of_other_equalities
from .mechanism import ContactMechanism, unique_names
from .model_checks import (
    check_masses,
    check_order,
    frame_id_of,
    link_frame,
    unbounded,
    warn_about_dry_friction,
    within_limits,
)
from .robot_files.geometry_files import automatic_contacts, load_geometry
from .robot_files.reading import GeometryFile, check_urdf, existing, package_folders, root_joint
from .terrain import Terrain

if TYPE_CHECKING:
    from .merge import Part

SOLID_BALL = 0.4  # moment of inertia of a ball of even density, in units of m r^2


class Robot:
    """A pinocchio model with its contact points.

    Args:
        model: pinocchio's model; it is copied, never changed.
        contacts: contact points, or "auto": from the collision geometry.
        nominal: a standing configuration (nq,); by default the neutral one, lifted until it touches level ground.
        visual: geometry model, or a function that loads it when it is first needed.
        collision: the same, from which contacts "auto" are taken.
        name: name of the robot; by default the model's.
        loops: what closes its loops.

    Attributes:
        parts: {name: part} of a robot that `merge` made; empty for others.
        pairs: contacts between its bodies, each of one contact point and one solid.
    """

    def __init__(
        self,
        model: Any,
        contacts: str | Sequence[ContactPoint] = "auto",
        *,
        nominal: Any = None,
        visual: Any = None,
        collision: Any = None,
        name: str = "",
        loops: Sequence[LoopClosure] = (),
    ) -> None:
        if not isinstance(model, pin.Model):
            raise InputError(
                f"Robot needs a pinocchio model, not a {type(model).__name__}; use Robot.from_urdf for files"
            )
        self.model = pin.Model(model)
        self.name = name or model.name
        self._visual, self._collision = visual, collision
        self._solids: tuple[Solid, ...] | None = None
        self.parts: dict[str, Part] = {}
        self.pairs: tuple[ContactPair, ...] = ()
        self._inertia_scales: dict[str, float] = {}
        check_order(self.model)
        check_masses(self.model)
        warn_about_dry_friction(self.model)
        self.nq, self.nv = self.model.nq, self.model.nv
        self.space = ConfigurationSpace(self.model)
        if isinstance(contacts, str):
            if contacts != "auto":
                raise InputError(f"contacts is '{contacts}'; give 'auto' or a list of ContactPoint")
            contacts = automatic_contacts(self.model, collision)
        self.contacts, self.loops = self._checked_points(contacts), checked(loops)
        self._nominal = nominal

    # --- where robots come from -------------------------------------------------------------------------------

    @classmethod
    def from_urdf(
        cls,
        path: str | Path,
        root: Any = "free_flyer",
        package_dirs: Sequence[str | Path] | None = None,
        contacts: str | Sequence[ContactPoint] = "auto",
        nominal: Any = None,
    ) -> Robot:
        """A robot from a URDF file.

        Args:
            path: the file.
            root: "free_flyer", "fixed", "planar" (vertical plane: x, z and pitch), or a pinocchio joint model.
            package_dirs: folders in which package:// paths are looked up; the file's own surroundings by default.
            contacts: contact points, or "auto": links named as feet, else the collision geometry.
            nominal: a standing configuration (nq,).

        Raises:
            InputError: the file is missing or cannot be read, or names a mass that is not positive.
        """
        path = existing(path, "URDF")
        check_urdf(path)
        joint = root_joint(root)
        try:
            model = pin.buildModelFromUrdf(str(path)) if joint is None else pin.buildModelFromUrdf(str(path), joint)
        except (ValueError, RuntimeError) as error:
            raise InputError(f"the URDF file {path} cannot be read ({error}); check its XML and its joints") from error
        folders = [str(folder) for folder in package_dirs] if package_dirs else package_folders(path)
        load = GeometryFile(str(path), tuple(folders))
        return cls(model, contacts, nominal=nominal, visual=replace(load, visual=True), collision=load, name=model.name)

    @classmethod
    def from_mjcf(cls, path: str | Path, contacts: str | Sequence[ContactPoint] = "auto", nominal: Any = None) -> Robot:
        """A robot from an MJCF file; its own root joint, armature and damping are kept.

        The equalities "connect" and "weld" between bodies become its loops.

        Raises:
            InputError: the file is missing or cannot be read.
        """
        path = existing(path, "MJCF")
        try:
            model, constraints = pin.buildModelAndLegacyConstraintsFromMJCF(str(path))
        except (ValueError, RuntimeError) as error:
            raise InputError(f"the MJCF file {path} cannot be read ({error}); check its XML") from error
        load = GeometryFile(str(path), (str(path.parent),))
        warn_of_other_equalities(path)
        loops, visual = from_constraints(model, constraints), replace(load, visual=True)
        return cls(model, contacts, nominal=nominal, visual=visual, collision=load, name=path.stem, loops=loops)

    @classmethod
    def sphere(
        cls,
        mass: float,
        radius: float,
        name: str = "ball",
        root: Any = "free_flyer",
        inertia: float = SOLID_BALL,
        **coefficients: Any,
    ) -> Robot:
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
        from .primitives import sphere

        return sphere(mass, radius, name, root, inertia, coefficients)

    @classmethod
    def box(
        cls, mass: float, size: Sequence[float], name: str = "box", root: Any = "free_flyer", **coefficients: Any
    ) -> Robot:
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
        from .primitives import box

        return box(mass, size, name, root, coefficients)

    @staticmethod
    def merge(
        robots: Sequence[Robot],
        names: Sequence[str] | None = None,
        pairs: str | Sequence[ContactPair] = "auto",
        placements: Sequence[Any] | None = None,
    ) -> Robot:
        """Several robots and free bodies as one, whose joints, frames and contacts are called PART/...

        Args:
            robots: the parts.
            names: their names; by default those of the robots.
            pairs: which bodies touch each other: "auto", every contact point of each part against the spheres, boxes
                and half-spaces in the collision geometry of every other; or a list. Coefficients: see `pairs`.
            placements: for each part where its own world stands in that of all, (x, y, z) [m] or a pinocchio SE3: its
                configuration counts from there. By default all are one world.

        Raises:
            InputError: two parts have one name, or a pair names nothing that can touch.
        """
        from .merge import merge

        return merge(robots, names, pairs, placements)

    # --- what a robot knows -----------------------------------------------------------------------------------

    @cached_property
    def visual_model(self) -> Any:
        """Pinocchio's visual geometry; None where there is none."""
        return load_geometry(self.model, self._visual)

    @cached_property
    def collision_model(self) -> Any:
        """Pinocchio's collision geometry; None where there is none."""
        return load_geometry(self.model, self._collision)

    @property
    def solids(self) -> tuple[Solid, ...]:
        """Shapes against which contact points of other bodies press, read off the collision geometry."""
        if self._solids is None:
            self._solids = solids_of(self.model, self.collision_model)
        return self._solids

    @cached_property
    def nominal(self) -> Array:
        """A standing configuration (nq,) on level ground."""
        if self._nominal is not None:
            q = np.asarray(self._nominal, dtype=float)
            if q.shape != (self.nq,):
                raise InputError(f"the nominal configuration has shape {q.shape}; this robot needs ({self.nq},)")
            if not np.isfinite(q).all():
                raise InputError(
                    f"the nominal configuration of '{self.name}' holds NaN or infinity; give finite numbers"
                )
            return q
        q = pin.neutral(self.model)
        return np.clip(q, *within_limits(self.model, q)) if not self.contacts else self._stand(q)

    def _stand(self, q: Array) -> Array:
        """The neutral configuration, lifted until its lowest contact touches z = 0, where the root can move up."""
        q = np.clip(q, *within_limits(self.model, q))
        lowest = float(self.contact_positions(q)[:, 2].min())
        vertical = {"JointModelFreeFlyer": 2, "JointModelComposite": 1, "JointModelTranslation": 2, "JointModelPZ": 0}
        index = vertical.get(self.model.joints[1].shortname()) if self.model.njoints > 1 else None
        if index is not None and unbounded(self.model, self.model.joints[1].idx_q + index):
            q[self.model.joints[1].idx_q + index] -= lowest
        return q

    @cached_property
    def actuated(self) -> Array:
        """Which velocities (nv,) have an actuator: all but those of a floating or planar root."""
        mask = np.ones(self.nv, dtype=bool)
        if self.parts:
            return np.concatenate([part.robot.actuated for part in self.parts.values()])
        if self.model.njoints > 1 and self.model.joints[1].nv > 1:
            root = self.model.joints[1]
            mask[root.idx_v : root.idx_v + root.nv] = False
        return mask

    def contact_positions(self, q: Array) -> Array:
        """Lowest points (nc, 3) of the contacts over level ground, world frame [m]."""
        return self._level.lowest_points(np.asarray(q, dtype=float))

    def point_position(self, frame: str, q: Array, point: Any = (0.0, 0.0, 0.0)) -> Array:
        """Where a `point` (3,) [m] of a frame is, (3,) in the world [m].

        Raises:
            InputError: there is no such frame.
        """
        data, index = self.model.createData(), self.frame_id(frame)
        pin.forwardKinematics(self.model, data, np.asarray(q, dtype=float))
        return np.array(pin.updateFramePlacement(self.model, data, index).act(np.asarray(point, dtype=float)))

    @property
    def marks(self) -> tuple[ContactPoint | ContactPair, ...]:
        """Contact points, then the contacts between bodies: what a picture marks."""
        return (*self.contacts, *self.pairs)

    def mark_positions(self, q: Array) -> Array:
        """Where contacts touch, or would (nc + pairs, 3), world frame [m]: those of the ground, then pairs."""
        own = self.contact_positions(q) if self.contacts else np.zeros((0, 3))
        return np.concatenate([own, self._paired.touch_points(np.asarray(q, dtype=float))]) if self.pairs else own

    @cached_property
    def _paired(self) -> BoundWorld:
        from .terrain import Flat

        return BoundWorld(self, Flat(), np.array([0.0, 0.0, -9.81]), joint_limits=False)

    @cached_property
    def _level(self) -> BoundRobot:
        from .terrain import Flat

        return BoundRobot(self, Flat(), np.array([0.0, 0.0, -9.81]), joint_limits=False)

    def bind(self, terrain: Terrain, gravity: Array, joint_limits: bool = True) -> ContactMechanism:
        """The robot on a ground, under a gravity (3,) [m/s^2]: what a ContactSystem computes with."""
        if self.pairs:
            return BoundWorld(self, terrain, gravity, joint_limits)
        return BoundRobot(self, terrain, gravity, joint_limits)

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

    def with_pairs(self, pairs: Sequence[ContactPair]) -> Robot:
        """A copy with other contacts between its bodies; a pair of parts stands for all their points and solids.

        Raises:
            InputError: a pair names nothing that can touch.
        """
        changed = copy.copy(self)
        changed.__dict__.pop("_paired", None)
        changed.pairs = expanded(self, pairs)
        return changed

    def with_contacts(self, contacts: Sequence[ContactPoint]) -> Robot:
        """A copy with other contact points.

        Raises:
            InputError: these are no ContactPoints, two have one name, or a frame is not there.
        """
        changed = copy.copy(self)
        for cached in ("_level", "_paired", "nominal"):
            changed.__dict__.pop(cached, None)
        changed.contacts = self._checked_points(contacts)
        return changed

    def _checked_points(self, contacts: Any) -> tuple[ContactPoint, ...]:
        """Contact points as a user gave them, each with a name of its own and a frame of the model."""
        given = list(contacts) if isinstance(contacts, Iterable) and not isinstance(contacts, str) else [contacts]
        strange = [point for point in given if not isinstance(point, ContactPoint)]
        if strange or not isinstance(contacts, Iterable):
            raise InputError(
                f"robot '{self.name}' cannot touch by {(strange or given)[0]!r}; give a list of ContactPoint"
            )
        unique_names([point.name for point in given])
        for point in given:
            frame_id_of(self.model, point.frame, f"contact '{point.name}'")
        return tuple(given)

    def with_armature(self, armature: float) -> Robot:
        """A copy whose actuated joints carry a rotor inertia, reflected through the gear [kg m^2, kg]."""
        if not (np.isfinite(armature) and armature >= 0.0):
            raise InputError(
                f"the armature of robot '{self.name}' is {armature}; give a number that is zero or positive"
            )
        changed = self._remodelled(pin.Model(self.model))
        changed.model.armature = np.where(self.actuated, armature, self.model.armature)
        return changed

    def _remodelled(self, model: Any) -> Robot:
        """A copy with another model of the same joints and frames."""
        changed = copy.copy(self)
        for cached in ("_level", "_paired"):
            changed.__dict__.pop(cached, None)
        changed.model = model
        return changed

    @cached_property
    def bodies(self) -> dict[str, int]:
        """{name: joint that moves it} of the moving bodies.

        A body is all links that are fixed to each other, and goes by the first of them (the one next to its joint); a
        body of a model without links goes by its joint.
        """
        found: dict[int, str] = {}
        for frame in self.model.frames:
            if frame.type == pin.FrameType.BODY and frame.parentJoint > 0:
                found.setdefault(int(frame.parentJoint), frame.name)
        return {found.get(k, self.model.names[k]): k for k in range(1, self.model.njoints)}

    def body_parameter(self, body: str, kind: str) -> float:
        """Mass [kg] of a body, or the factor "inertia_scale" on its rotational inertia, 1 for the robot as it was made.

        Raises:
            InputError: there is no such body.
        """
        joint = self._body(body)
        return float(self.model.inertias[joint].mass) if kind == "mass" else self._inertia_scales.get(body, 1.0)

    def with_body_parameter(self, body: str, kind: str, value: float) -> Robot:
        """A copy with another "mass" [kg] or "inertia_scale" of a body.

        The centre of mass stays, and the rotational inertia about it grows in proportion to the mass, as if the body
        were of a denser material; `inertia_scale` multiplies that inertia alone, as if the mass were further out.

        Raises:
            InputError: there is no such body, it has no mass, or the value is not positive.
        """
        joint = self._body(body)
        before = self.body_parameter(body, kind)
        if not (isinstance(value, Real) and np.isfinite(value) and value > 0.0):
            raise InputError(f"body.{body}.{kind} is {value!r}; give a positive number")
        if not before > 0.0:
            raise InputError(f"body '{body}' has no mass that could be changed; give it one in the robot's file")
        changed = self._remodelled(pin.Model(self.model))
        own, factor = self.model.inertias[joint], value / before
        mass = value if kind == "mass" else own.mass
        changed.model.inertias[joint] = pin.Inertia(mass, own.lever, factor * own.inertia)
        if kind == "inertia_scale":
            changed._inertia_scales = self._inertia_scales | {body: value}
        return changed

    def _body(self, name: str) -> int:
        if name in self.bodies:
            return self.bodies[name]
        joint = self.model.frames[link_frame(self.model, name)].parentJoint if self.model.existFrame(name) else 0
        owner = next((body for body, index in self.bodies.items() if index == joint), None)
        if owner is not None:
            raise InputError(f"'{name}' is fixed to the body '{owner}' and is a part of it; name that body")
        known = ", ".join(self.bodies) or "none"
        raise InputError(f"robot '{self.name}' has no moving body '{name}'; there are {known}")

    def frame_id(self, name: str) -> int:
        """Pinocchio's index of a frame.

        Raises:
            InputError: there is no such frame; similar names are listed.
        """
        return frame_id_of(self.model, name, f"robot '{self.name}'")

    def joint_index(self, name: str) -> int:
        """First velocity index of a joint.

        Raises:
            InputError: there is no such joint; the joints are listed.
        """
        if not self.model.existJointName(name):
            known = ", ".join(list(self.model.names)[1:])
            raise InputError(f"robot '{self.name}' has no joint '{name}'; its joints are {known}")
        return int(self.model.joints[self.model.getJointId(name)].idx_v)
