"""A robot on its ground: equations of motion and contact rows by pinocchio, for all contacts at once."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pinocchio as pin

from ...common.arrays import Array
from ...common.lazy import NamedTuple, dataclass, lazy
from ...common.telling import tell
from ...common.user_calls import UserCall, answer, margin
from ...contact.modes import Mode, SystemMode
from ...errors import InputError
from ...hybrid.flow import Look
from ...hybrid.system import LIMIT
from ..forest import Workspace, data_of, generic, groups_of, roots_of
from ..mechanism import (
    ContactMechanism,
    GapBounds,
    JointPath,
    Overlap,
    Shortcut,
    TermDerivatives,
    Terms,
    TermsOf,
    Trees,
    kinetic_of,
    static_of,
)
from ..terrain import Plane, Terrain, tangents
from ..zero import ASIDE, IMMOBILE, MOTION, UNIT, UNLIMITED
from .plane_dynamics import (
    WORLD_AXES,
    ConstrainedDynamics,
    ContactWorkspace,
    Equations,
    FreeDynamics,
    Motions,
    NoRows,
    PartDynamics,
    PlaneRows,
    RollingDynamics,
    RowsOf,
    SplitDynamics,
    WithLimits,
)
from .plane_ground import PlaneDerivatives, add_points, simple_model, skew
from .reach import Sway, reach_of
from .tangents import axes, tangents_of

if TYPE_CHECKING:
    from ..geometry.overlaps import Overlaps
    from ..plain_robot import PlainJoint, PlainRobot
    from ..robot_model import RobotModel
    from ..springs import Passive, Springs

TURN = 1.0  # rotation within one step [rad]
MANY = 12  # points on the ground from which on they are looked at in arrays


def _passive_of(model: Any, springs: Springs | None) -> Passive | None:
    """Dampers, springs and counterweights; None: there are none."""
    if springs is None and not model.damping.any():
        return None
    from ..springs import Passive

    return Passive(model, springs) or None


class Watched(ContactMechanism):
    """A mechanism of a robot over its ground."""

    terrain: Terrain
    _robot: RobotModel
    _workspace: Workspace

    def overlaps(self, t: float, q: Array) -> list[Overlap]:
        """Bodies that are inside each other or in the ground, by their shapes alone."""
        if self._robot.shapeless:  # and what looks at shapes need not be loaded
            return []
        return self.overlaps_along(np.array([t]), self.joint_places(q)[None])

    @property
    def shapeless(self) -> bool:
        """Whether no shapes are watched."""
        return self._robot.shapeless

    def overlaps_along(self, times: Array, joints: Array) -> list[Overlap]:
        """Those at times (k,), where its joints are placed (k, joints, 4, 3)."""
        return list(self._shapes.found(times, joints[:, :, :3].swapaxes(2, 3), joints[:, :, 3], self.terrain))

    def joint_places(self, q: Array) -> Array:
        """Axes and origin (joints, 4, 3) of each of its joints, of which the first is the world."""
        self._workspace.data.forward_kinematics(q)
        return np.array([(*place.rotation.T, place.translation) for place in self._workspace.data.oMi])

    def all_joints(self, plain: Array) -> Array:
        """Those (k, joints, 4, 3), by those of its `plain_robot`."""
        world = np.tile(np.eye(4, 3), (len(plain), 1, 1, 1))
        assert self._plain_joints is not None
        return np.concatenate([plain, world], axis=1)[:, self._plain_joints[1]]

    @lazy
    def _plain_joints(self) -> tuple[tuple[PlainJoint, ...], list[int]] | None:
        """Its joints as its `plain_robot` has them, and the number of each among them, -1 of the world."""
        from ..plain_robot import plain_joints

        return plain_joints(self._robot.model)

    @lazy
    def _shapes(self) -> Overlaps:
        from ..geometry.bodies import bodies_of
        from ..geometry.overlaps import Overlaps

        return Overlaps(bodies_of(self._robot))


class CurvedRows(NamedTuple):
    """Rows of some points on curved or moving ground."""

    bound: BoundRobot
    contacts: tuple[int, ...]

    def __call__(self, t: float, v: Array) -> tuple[Array, Array, Array]:
        """Rows, velocities and bias, where the data is up to date."""
        return self.bound._rows(self.contacts, t, v)

    def rates(self, t: float, v: Array) -> Array:
        """Velocities alone, where places and velocities in the data are up to date."""
        return self.bound._row_rates(self.contacts, t)


def _gap_gradient(bound: BoundRobot, t: float, q: Array, v: Array, contact: int) -> Array:
    """D_q g = n^T J (nv,) of a point above a plane, J of its centre; of others by their rows."""
    if contact >= len(bound.names) or bound._plane is None:
        return ContactMechanism.gap_gradient(bound, t, q, v, contact)
    data = bound._workspace.data
    data.joint_jacobians(q)
    return np.asarray(bound._plane[1] @ data.frame_jacobian(bound._frames[contact], WORLD_AXES)[:3])


class BoundRobot(Watched):
    """A Robot with its ground and gravity: M, bias forces, and the rows of its contacts.

    The rows of a contact are those of the material point of its sphere that is nearest to the ground, in the frame
    (n, t1, t2) of the surface. A mechanism that can only move in a plane has one tangential row, one that can only
    move along the normal has none.
    """

    def __init__(self, robot: RobotModel, terrain: Terrain, gravity: Array, joint_limits: bool) -> None:
        self._robot = robot
        self._model = pin.Model(robot.model)
        self._model.gravity = pin.Motion(gravity, np.zeros(3))
        self.terrain = terrain
        self.nq, self.nv, self.space = robot.nq, robot.nv, robot.space
        points, self._limits = robot.contacts, joint_limit_rows(robot.model) if joint_limits else ()
        alone = np.zeros(len(self._limits))
        self.names = tuple(point.name for point in points)
        self.constraint_names = tuple(limit.name for limit in self._limits)
        self.friction = np.concatenate([[kinetic_of(point) for point in points], alone])
        self.static_friction = np.concatenate([[static_of(point) for point in points], alone])
        self.restitution = np.concatenate([[point.restitution for point in points], alone])
        self.enabled = tuple(margin(point.name, point.enabled) for point in points) + (None,) * len(self._limits)
        self._passive = _passive_of(self._model, robot.own_springs)
        self.autonomous = not terrain.moving
        self.timed = terrain.moving and not terrain.oscillates
        self._still = np.zeros(self.nv)
        self._turning = turning_velocities(self._model)
        self._place_contacts()
        self.bounded_steps = terrain.growth(0.0, 0.0, self._radius) is not None
        for point in points:
            terrain.check_sphere(point.name, point.radius)
        normal, motions = terrain.constant_normal(), self._motions()
        self._basis = np.eye(3) if normal is None else self._tangent_basis(normal, motions)
        self.tangents = tangents_of(terrain, self._basis, motions)
        self.dims = (1 + self.tangents.count,) * len(points) + (1,) * len(self._limits)
        self._limit_signs = np.array([limit.sign for limit in self._limits])
        self._limit_bounds = np.array([limit.bound for limit in self._limits])
        self._limit_q = np.array([limit.q for limit in self._limits], dtype=int)
        self._limit_v = np.array([limit.v for limit in self._limits], dtype=int)
        roots = roots_of(self._model)
        owner = roots[1:].repeat([joint.nv for joint in list(self._model.joints)[1:]])
        moved = np.concatenate([roots[self._joints], owner[self._limit_v]])
        self.trees = Trees(owner, np.column_stack([moved, np.zeros_like(moved)]))
        self.reach = reach_of(self._model)
        self._prepared: dict[tuple[int, ...], TermsOf] = {}
        self._sticking: dict[tuple[int, ...], Shortcut] = {}

    def _place_contacts(self) -> None:
        """Give each contact a frame at its centre, in the bound copy of the model."""
        points = self._robot.contacts
        frames = [self._model.frames[self._robot.frame_id(point.frame)] for point in points]
        self._joints = [int(frame.parentJoint) for frame in frames]
        self._centres = np.array(
            [frame.placement.act(np.asarray(p.offset, float)) for frame, p in zip(frames, points, strict=True)]
        ).reshape(-1, 3)
        self._frames = add_points(self._model, "contact", self._joints, self._centres)
        self._workspace = ContactWorkspace(self._model, self._frames)
        self._radius = np.array([point.radius for point in points])
        self._plane = self.terrain.plane()
        self._moving = bool(self.terrain.belt().any())
        self._plain = type(self.terrain).gaps is Plane.gaps

    def _motions(self) -> Array:
        """Orthonormal directions (r, 3) in which the contacts can move at all; none: it has no contacts."""
        if not len(self._joints):
            return np.zeros((0, 3))
        columns = []
        for step in generic(3, self.nv):
            q = self.space.integrate(pin.neutral(self._model), step)
            self._workspace.data.joint_jacobians(q)
            columns += [self._jacobian(i)[:3] for i in range(len(self._frames))]
        directions, values, _ = np.linalg.svd(np.hstack(columns), full_matrices=False)
        return directions[:, values > MOTION * max(float(values.max()), IMMOBILE)].T

    def _tangent_basis(self, normal: Array, motions: Array) -> Array:
        """Rows (n, t...) of the surface frame of one normal, of the directions in which the contacts can move."""
        if not len(motions) or float(np.linalg.norm(motions @ normal)) < MOTION:
            return np.vstack([normal, tangents(normal, np.eye(3))])
        if len(motions) == 2 and np.linalg.norm(normal - motions.T @ (motions @ normal)) > ASIDE:
            raise InputError(
                "the robot moves in a vertical plane that is not a plane of the slope; set the terrain's downhill"
                " direction into the robot's plane"
            )
        return np.vstack([normal, tangents(normal, motions)])

    # --- kinematics -------------------------------------------------------------------------------------------

    def _positions(self) -> Array:
        """Centres (nc, 3) of the contacts, where the frames are up to date."""
        if not self._frames:
            return np.zeros((0, 3))
        return np.array(self._workspace.centres)

    def _jacobian(self, contact: int) -> Array:
        """Jacobian (6, nv) of the centre of a contact, world axes."""
        return self._workspace.data.frame_jacobian(self._frames[contact], WORLD_AXES)

    def _drift(self, contact: int) -> pin.Motion:
        """Acceleration of the centre of a contact that the velocities alone cause, world axes."""
        return self._workspace.data.frame_acceleration(self._frames[contact], WORLD_AXES)

    def lowest_points(self, q: Array) -> Array:
        """Points (nc, 3) of the contacts nearest to the plane of the ground [m]."""
        self._workspace.data.frames_forward_kinematics(q)
        assert self._plane is not None
        return self._positions() - self._radius[:, None] * self._plane[1]

    def gaps(self, t: float, q: Array) -> Array:
        """Distances of the contacts to the ground [m], then of the joints to their limits [rad, m]."""
        self._workspace.data.frames_forward_kinematics(q)
        centres = self._positions()
        if self._plain:  # no ground of a user's that may fail
            gaps = self.terrain.gaps(t, centres, self._radius)
        else:
            ground = type(self.terrain).__name__
            with UserCall("the ground", ground, t):
                gaps = self.terrain.gaps(t, centres, self._radius)
            gaps = answer("the ground", ground, "distances", gaps, self._radius.shape, t, q)
        return np.concatenate([gaps, self.constraint_gaps(t, q)]) if self._limits else gaps

    def constraint_gaps(self, t: float, q: Array) -> Array:
        """Distances of the joints to their limits [rad, m]."""
        return self._limit_signs * (q[self._limit_q] - self._limit_bounds)

    def gap_bounds(self, contacts: Array) -> Callable[[JointPath], GapBounds] | None:
        """Bounds from the joints' motion and from that of the ground: |c''| + curvature |c'|^2."""
        if self.reach is None or not self.bounded_steps:
            return None
        reach, terrain = self.reach, self.terrain
        points, limits = contacts[contacts < len(self.names)], contacts[contacts >= len(self.names)] - len(self.names)
        hosts = reach.index[np.array(self._joints, dtype=int)[points]]
        arms, radii = np.linalg.norm(self._centres[points], axis=1), self._radius[points]
        joints, flat = self._limit_v[limits], self._plane is not None

        def at_least(gaps: Array) -> Array:
            return np.append(terrain.at_least(gaps[: len(points)], radii), gaps[len(points) :])

        def bounds(path: JointPath) -> GapBounds:
            if not len(points):
                return GapBounds(path.speed[joints], None, lambda: (path.acceleration[joints], path.error()[joints]))
            ground = terrain.growth(path.t, path.duration, radii)
            assert ground is not None
            sway = Sway(reach, path)
            speed = sway.speeds(hosts, arms) + ground.speed

            def closer() -> tuple[Array, Array]:
                bend = sway.accelerations(hosts, arms) + ground.acceleration + ground.curvature * speed * speed
                error = sway.errors().speeds(hosts, arms)
                return np.append(bend, path.acceleration[joints]), np.append(error, path.error()[joints])

            return GapBounds(np.append(speed, path.speed[joints]), None if flat else at_least, closer)

        return bounds

    def gap_motion(self, t: float, q: Array, v: Array, contact: int) -> Look:
        """The gap of a contact, or a lower bound of it high above hills, and its rate."""
        if contact >= len(self.names):
            limit = self._limits[contact - len(self.names)]
            return Look(limit.sign * float(q[limit.q] - limit.bound), limit.sign * float(v[limit.v]), ())
        data, frame = self._workspace.data, self._frames[contact]
        data.forward_kinematics(q, v)
        centre = data.update_frame_placement(frame).translation
        velocity = data.frame_velocity(frame, WORLD_AXES).linear
        gap, gradient = self.terrain.approach(t, centre, float(self._radius[contact]))
        if gradient is None:
            return Look(gap, 0.0, None)
        return Look(gap, float(gradient[0] + gradient[1:] @ velocity), ())

    gap_gradient = _gap_gradient

    # --- equations of motion ----------------------------------------------------------------------------------

    def terms(self, t: float, q: Array, v: Array, contacts: tuple[int, ...]) -> Terms:
        """M, forces and rows; z' = J a + bias with what a rolling sphere and a curved or moving ground add."""
        return self.prepared(contacts)(t, q, v)

    def rates(self, t: float, q: Array, v: Array, contacts: tuple[int, ...]) -> Array:
        """Contact velocities (m,), from the velocities of the centres."""
        equations = self.prepared(contacts)
        if not isinstance(equations, Equations):
            return np.zeros(0)
        self._workspace.data.forward_kinematics(q, v)
        return np.asarray(equations.rows.rates(t, v))

    def prepared(self, contacts: tuple[int, ...]) -> TermsOf:
        """The `terms` of `contacts`; what they fix is worked out once for all flows."""
        if contacts not in self._prepared:
            points = self._points(contacts)
            limits = [self._limits[i - len(self.names)] for i in contacts[len(points) :]]
            motion = Motions(self._model, self._workspace, self._passive)
            rows: RowsOf = NoRows(self.nv)
            if points and self._plane is not None:
                rows = self._on_plane(motion, list(points))
            elif points:
                rows = CurvedRows(self, points)
            if limits:
                rows = WithLimits(rows, self.nv, [limit.v for limit in limits], [limit.sign for limit in limits])
            self._prepared[contacts] = Equations(motion, rows) if contacts else motion
        return self._prepared[contacts]

    def _on_plane(self, motion: Motions, points: list[int]) -> RowsOf:
        """Rows of points on the plane."""
        assert self._plane is not None
        ground = self._basis, self._plane[1], self._radius[points], self.terrain.belt() if self._moving else None
        if len(points) < MANY:
            return PlaneRows(motion, [self._frames[i] for i in points], *ground)
        from .many_plane_rows import ManyPlaneRows

        return ManyPlaneRows(motion, [self._joints[i] for i in points], self._centres[points], *ground)

    def _rows(self, contacts: tuple[int, ...], t: float, v: Array) -> tuple[Array, Array, Array]:
        """Rows on curved or moving ground, from the ground's distance function: see `curved`."""
        from .curved_ground import PointKinematics, rows

        self._workspace.data.update_frame_placements()
        chosen = list(contacts)
        jacobians = np.array([self._jacobian(i) for i in contacts])
        drifts = np.array([self._drift(i).vector for i in contacts])
        centres, radius, velocities = self._positions()[chosen], self._radius[chosen], jacobians @ v
        motion = PointKinematics(centres, velocities[:, :3], velocities[:, 3:], drifts[:, :3], drifts[:, 3:])
        with UserCall("the ground", type(self.terrain).__name__, t):
            ground = self.terrain.near(t, centres, radius)
        return rows(ground, self.tangents, radius, jacobians, motion)

    def _row_rates(self, contacts: tuple[int, ...], t: float) -> Array:
        """Velocities alone of rows on curved or moving ground."""
        from .curved_ground import rates

        chosen, data = list(contacts), self._workspace.data
        data.update_frame_placements()
        velocities = np.array([data.frame_velocity(self._frames[i], WORLD_AXES).vector for i in contacts])
        with UserCall("the ground", type(self.terrain).__name__, t):
            ground = self.terrain.near(t, self._positions()[chosen], self._radius[chosen])
        return rates(ground, self.tangents, self._radius[chosen], velocities[:, :3], velocities[:, 3:])

    # --- derivatives ------------------------------------------------------------------------------------------

    @lazy
    def _derivatives(self) -> PlaneDerivatives | None:
        """Analytic derivatives; None for a joint that pinocchio cannot derive."""
        from .curved_ground import CurvedDerivatives

        simple = simple_model(self._model)
        if simple is None:
            return None
        model, index = simple
        joints = [index[joint] for joint in self._joints]
        if self._plane is None:
            return CurvedDerivatives(model, joints, self._centres, self._radius, self.terrain, self.tangents)
        return PlaneDerivatives(model, joints, self._centres, self._radius, self._plane[1], self._basis)

    def _points(self, contacts: tuple[int, ...]) -> tuple[int, ...]:
        """Those of `contacts` that are points; joint limits follow them."""
        if not contacts or contacts[-1] < len(self.names):
            return contacts
        return tuple(i for i in contacts if i < len(self.names))

    def term_derivatives(
        self, t: float, q: Array, v: Array, a: Array, contacts: tuple[int, ...], forces: Array
    ) -> TermDerivatives:
        """Derivatives of residual, rates and motion; from pinocchio's derivatives of inverse dynamics."""
        derivatives = self._derivatives
        if derivatives is None:
            return super().term_derivatives(t, q, v, a, contacts, forces)
        points = self._points(contacts)
        by_q, by_v = derivatives.inertial(q, v, a)
        if self._passive is not None:
            by_q, by_v = by_q + self._passive.stiffness(q), by_v + np.diag(self._passive.drag_slope(v))
        if not points:
            empty = np.zeros((3, len(contacts), self.nv))
            return TermDerivatives(by_q.copy(), by_v.copy(), *empty)
        size = len(points) * (1 + self.tangents.count)
        centres = derivatives.centres(points)
        residual_q = by_q - derivatives.contact_forces(points, centres, forces[:size], t)
        changes = derivatives.rows(points, centres, v, a, t)
        if len(points) < len(contacts):
            changes = np.concatenate([changes, np.zeros((3, len(contacts) - len(points), self.nv))], axis=1)
        return TermDerivatives(residual_q, by_v.copy(), *changes)

    def impulse_derivatives(self, t: float, q: Array, w: Array, contacts: tuple[int, ...], impulses: Array) -> Array:
        """Derivative (n, n) of M w - J^T Lam by q; from pinocchio's derivatives of inverse dynamics."""
        derivatives = self._derivatives
        if derivatives is None:
            return super().impulse_derivatives(t, q, w, contacts, impulses)
        by_q, points = derivatives.inertial_weightless(q, w), self._points(contacts)
        if not points:
            return by_q.copy()
        impulses = impulses[: len(points) * (1 + self.tangents.count)]
        return by_q - derivatives.contact_forces(points, derivatives.centres(points), impulses, t)

    def rate_derivatives(self, t: float, q: Array, v: Array, contacts: tuple[int, ...]) -> Array:
        """Derivative (m, n) of the contact velocities by q at fixed v."""
        derivatives = self._derivatives
        if derivatives is None:
            return super().rate_derivatives(t, q, v, contacts)
        points = self._points(contacts)
        if not points:
            return np.zeros((len(contacts), self.nv))
        derivatives.inertial(q, v, self._still)
        rates = derivatives.rows(points, derivatives.centres(points), v, self._still, t)[0]
        return np.concatenate([rates, np.zeros((len(contacts) - len(points), self.nv))])

    # --- what users see ---------------------------------------------------------------------------------------

    def joints_of(self, contact: int) -> tuple[int, int]:
        """The joint of the body of a contact, and the world."""
        return self._joints[contact], 0

    def frame_motion(self, t: float, q: Array, v: Array, contact: int) -> tuple[Array, Array]:
        """Frame (1 + d_t, 3) of a contact in world axes, and its rate: it does not turn on a plane."""
        if self._plane is not None:
            return self._basis, np.zeros_like(self._basis)
        data, frame = self._workspace.data, self._frames[contact]
        data.forward_kinematics(q, v)
        centre = data.update_frame_placement(frame).translation[None]
        ground = self.terrain.near(t, centre, self._radius[contact : contact + 1])
        turned, normal = self.tangents.at(ground.normal), ground.normal[0]
        rate = ground.normal_rate[0] + ground.hessian[0] @ data.frame_velocity(frame, WORLD_AXES).linear
        return np.vstack([normal, turned.axes[0]]), np.vstack([rate, turned.first[0] @ rate])

    def world_force(self, t: float, q: Array, contact: int, force: Array) -> Array:
        """The force in world axes (3,); of a joint limit the generalised force (1,)."""
        if contact >= len(self.names):
            return force
        if self._plane is not None:
            return force @ self._basis
        if not np.any(force):  # of an open contact, which may be too far away for a frame
            return np.zeros(3)
        self._workspace.data.frames_forward_kinematics(q)
        here = slice(contact, contact + 1)
        normal = self.terrain.near(t, self._positions()[here], self._radius[here]).normal[0]
        return force @ axes(normal, self.tangents)

    def energy(self, q: Array, v: Array) -> float:
        """Kinetic and potential energy [J], that of the joints' springs included."""
        energy = self._workspace.data.energy(q, v)
        return energy if self._passive is None else energy + self._passive.energy(q)

    def working_power(self, t: float, q: Array, v: Array) -> float:
        """Power of the joint damping [W], not positive."""
        return 0.0 if self._passive is None else self._passive.power(v)

    def longest_step(self, v: Array) -> float:
        """Time in which no joint turns by more than TURN [s]."""
        spin = float(np.abs(v[self._turning]).max(initial=0.0))
        return TURN / spin if spin > 0.0 else float("inf")

    def generalised_force(self, q: Array, frame: str, force: Array, point: Array) -> Array:
        """J^T f (nv,) of a force (3,) in world axes at a point (3,) of a frame."""
        index = self._robot.frame_id(frame)
        parent = self._model.frames[index].parentJoint
        data = self._workspace.data
        data.joint_jacobians(q)
        where = data.oMi[parent].act(self._model.frames[index].placement.act(point))
        jacobian = data.joint_jacobian(parent, pin.ReferenceFrame.WORLD)
        return (jacobian[:3] - skew(where[None])[0] @ jacobian[3:]).T @ force

    def validate(self, q: Array) -> None:
        """Raise InputError where a quaternion or an angle's (cos, sin) pair is not of unit length."""
        for joint, start, end in self._units:
            length = math.sqrt(q[start:end].dot(q[start:end]))
            if not abs(length - 1.0) <= UNIT:
                kind = "quaternion" if end - start == 4 else "(cos, sin) pair"
                raise InputError(f"the {kind} of joint '{joint}' has length {length:.6g}; normalise it")

    @lazy
    def _units(self) -> tuple[tuple[str, int, int], ...]:
        """Joints with a part of unit length, and where it begins and ends in a configuration."""
        kinds = {"JointModelFreeFlyer": (3, 7), "JointModelSpherical": (0, 4), "JointModelPlanar": (2, 4)}
        found = []
        for name, joint in list(zip(self._model.names, self._model.joints, strict=True))[1:]:
            start, end = kinds.get(joint.shortname(), (0, 2) if joint.nq == 2 and joint.nv == 1 else (0, 0))
            if end:
                found.append((name, joint.idx_q + start, joint.idx_q + end))
        return tuple(found)

    @lazy
    def _plain_robot(self) -> PlainRobot | None:
        """Plain arrays of it, for compiled engines; None on grounds by functions, and of joints that they lack."""
        from ..plain_robot import PlainContact, PlainRobot, plain_ground

        joints, springs = self._plain_joints, () if self._passive is None else self._passive.plain
        ground = plain_ground(self.terrain, self._basis, self.tangents)
        if ground is None or joints is None or springs is None:
            return None
        found, number = joints
        on_ground = zip(self._joints, self._centres, self._radius.tolist(), strict=True)
        hosts = [-1] * len(number) if self.reach is None else self.reach.index.tolist()
        points = [PlainContact(number[j], centre, radius, host=hosts[j]) for j, centre, radius in on_ground]
        still = np.zeros(3)
        limits = [PlainContact(-1, still, 0.0, limit.v, limit.sign, limit.q, limit.bound) for limit in self._limits]
        return PlainRobot(
            nq=self.nq,
            nv=self.nv,
            joints=found,
            gravity=np.array(self._model.gravity.linear),
            armature=np.array(self._model.armature),
            damping=np.zeros(self.nv) if self._passive is None else np.array(self._model.damping),
            springs=springs,
            contacts=(*points, *limits),
            ground=ground,
            turning=self._turning,
            reach=None if self.reach is None else self.reach.plain(),
        )

    def shortcut(self, mode: SystemMode) -> Shortcut | None:
        """Pinocchio's own dynamics: articulated bodies in flight, constrained dynamics where points stick."""
        closed = mode.closed
        if not closed:
            return self._free_dynamics()
        sticking = all(mode.contacts[i].mode is Mode.STICK for i in closed)
        plain = self._plane is not None and len(self._basis) == 3 and not self._moving
        points = all(i < len(self.names) and self.static_friction[i] > 0.0 for i in closed)
        if not (sticking and plain and points):
            return None
        if closed not in self._sticking:
            self._sticking[closed] = self._sticking_dynamics(list(closed))
        return self._sticking[closed]

    def _free_dynamics(self) -> Shortcut:
        return FreeDynamics(self._workspace, self._passive)

    def _sticking_dynamics(self, closed: list[int]) -> Shortcut:
        groups = groups_of(self._model)
        if not groups:
            numbers = {k: k for k in self._joints}, {k: k for k in self._frames}
            return self._held_dynamics(self._model, numbers, closed, self._passive)
        parts = []
        for group in groups:
            own = [k for k, i in enumerate(closed) if self._joints[i] in group.joints]
            held = [closed[k] for k in own]
            dynamics = self._held_dynamics(group.model, (group.joints, group.frames), held, None)
            parts.append(PartDynamics(dynamics, group.q, group.v, own))
        return SplitDynamics(parts, len(closed), self.nv, self._passive)

    def _held_dynamics(
        self, model: Any, numbers: tuple[dict[int, int], dict[int, int]], held: list[int], passive: Passive | None
    ) -> Shortcut:
        """The dynamics of a model in which some contacts stick; `numbers` are those of joints and frames in it."""
        if not held:
            return FreeDynamics(Workspace(model), passive)
        joints, frames = numbers
        points, radius = [(joints[self._joints[i]], self._centres[i]) for i in held], self._radius[held]
        if not radius.any():
            return ConstrainedDynamics(model, points, self._basis, passive)
        return RollingDynamics(model, points, [frames[self._frames[i]] for i in held], radius, self._basis, passive)


def turning_velocities(model: pin.Model) -> Array:
    """Indices of the velocities that are rates of rotation."""
    columns = data_of(model).joint_jacobians(pin.neutral(model))[3:]
    return np.flatnonzero(np.abs(columns).max(axis=0, initial=0.0) > MOTION)


@dataclass(frozen=True)
class JointLimit:
    """A position limit of a joint as a unilateral constraint: sign (q - bound) >= 0."""

    name: str
    q: int
    v: int
    sign: float
    bound: float


def joint_limit_rows(model: pin.Model) -> tuple[JointLimit, ...]:
    """The finite position limits of a model's single joints; a joint without range is warned about and left free."""
    limits = []
    for i in range(1, model.njoints):
        joint, name = model.joints[i], model.names[i]
        if not joint.nq == joint.nv == 1:
            continue
        low, high = float(model.lowerPositionLimit[joint.idx_q]), float(model.upperPositionLimit[joint.idx_q])
        if low >= high:
            tell(f"joint '{name}' has no range ({low} to {high}); its limits are ignored")
            continue
        for side, sign, bound in (("lower", 1.0, low), ("upper", -1.0, high)):
            if abs(bound) < UNLIMITED:
                limits.append(JointLimit(f"{LIMIT}{name}/{side}", joint.idx_q, joint.idx_v, sign, bound))
    return tuple(limits)
