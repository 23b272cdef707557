"""What a robot measures: joints, inertial units at frames, contact forces and modes, poses of frames, as arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..common.arguments import FLAG, NAME, arguments, several
from ..common.arrays import Array
from ..contact.modes import Mode
from ..errors import InputError
from ..hybrid.trajectory import Arc
from ..multibody.robot_model import FrameKinematics, RobotModel, turning_joints
from . import is_contact_system
from .contact_system import ContactSystem

NAMES = several(NAME, "a list of names")
MODE_NUMBERS = {Mode.OPEN: 0, Mode.STICK: 1, Mode.SLIP: 2, Mode.CLOSED: 3}


class Sensors:
    """Sensors of a robot, read from a Simulation at its present time, or from a Trajectory at any time.

    A reading is {name: array}, in this order:

    joint_position (n,), joint_velocity (n,): of all joints of one degree of freedom, or of those that are named [rad,
        rad/s; m, m/s]; of a joint that turns without end the angle in (-pi, pi].
    imu.FRAME (6,): angular velocity [rad/s], then specific force R^T (a - g) [m/s^2], both in the axes of the frame, as
        gyroscope and accelerometer at its origin measure them: at rest the force is that of the ground, upwards.
    contact_force (nc, 3): in world axes [N]. contact_mode (nc,): 0 open, 1 stick, 2 slip, 3 closed.
    pose.FRAME (4, 4): from the axes of the frame to those of the world [m].

    Accelerations and forces are those of the instant, solved for in its contact mode under the inputs of the last step;
    an impact, in which they are no functions of time, shows in the velocities before and after it.

    Args:
        system: the ContactSystem of a Robot.
        joints: whether to read the joints; or names of joints.
        imu: names of frames with an inertial unit.
        contacts: whether to read contact forces and modes.
        poses: names of frames whose pose is read.

    Raises:
        InputError: there is no such joint or frame, or the system is none of a Robot.
    """

    @arguments(imu=NAMES, contacts=FLAG, poses=NAMES)
    def __init__(
        self,
        system: Any,
        joints: bool | Sequence[str] = True,
        imu: Sequence[str] = (),
        contacts: bool = True,
        poses: Sequence[str] = (),
    ) -> None:
        robot = getattr(system, "robot", None)
        if not isinstance(robot, RobotModel):
            raise InputError(f"sensors of a {type(system).__name__} are unknown; give the ContactSystem of a Robot")
        self._frames, self.imu, self.poses = FrameKinematics(robot), tuple(imu), tuple(poses)
        for name in (*self.imu, *self.poses):
            robot.frame_id(name)
        self._joints = _chosen(turning_joints(robot.model), joints)
        self.joints = tuple(self._joints)
        self.contacts: tuple[str, ...] = tuple(point.name for point in robot.marks) if contacts else ()

    def __repr__(self) -> str:
        counts = f"{len(self.joints)} joints, {len(self.imu)} imu, {len(self.contacts)} contacts"
        return f"Sensors({counts}, {len(self.poses)} poses)"

    def __call__(self, run: Any, t: float | None = None, side: str = "+") -> dict[str, Array]:
        """The reading {name: array} of a Simulation now, or of a Trajectory at `t` [s].

        Args:
            run: a Simulation or a Trajectory of the robot.
            t: when; by default the present time of a Simulation, or the end of a Trajectory.
            side: of a jump, for a Trajectory: "+" after it, "-" before.

        Raises:
            InputError: `t` lies outside the run.
        """
        live = hasattr(run, "advance_to")
        when = (run.t if live else run.arcs[-1].t1) if t is None else t
        arc = run.arc_at(when) if live else run.arc_at(when, side)
        if not is_contact_system(arc.system):
            raise InputError(f"sensors cannot read a run of a {type(arc.system).__name__}; give one of a ContactSystem")
        return self._read(arc, arc.system, float(when))

    def vector(self, run: Any, t: float | None = None, side: str = "+") -> Array:
        """All numbers of a reading (n,), one array after the other."""
        return np.concatenate([own.ravel() for own in self(run, t, side).values()] or [np.zeros(0)])

    def _read(self, arc: Arc, system: ContactSystem, t: float) -> dict[str, Array]:
        x = arc(t)
        q, v = system.q(x), system.v(x)
        found: dict[str, Array] = {}
        if self.joints:
            found["joint_position"] = np.array([_position(q, place, size) for place, size, _ in self._joints.values()])
            found["joint_velocity"] = np.array([v[row] for _, _, row in self._joints.values()])
        if self.imu:
            rate = system.flow(arc.mode).rebased(t, x).field(t, x)
            acceleration = rate[system.nv : 2 * system.nv]
            found |= {f"imu.{name}": self._inertial(system, q, v, acceleration, name) for name in self.imu}
        if self.contacts:
            forces: Mapping[str, Array] = system.forces(t, x, arc.mode)  # type: ignore[arg-type]
            modes = system.named_modes(arc.mode)  # type: ignore[arg-type]
            found["contact_force"] = np.array([forces[name] for name in self.contacts])
            found["contact_mode"] = np.array([MODE_NUMBERS[modes[name]] for name in self.contacts])
        return found | {f"pose.{name}": pose for name, pose in self._frames.poses(q, self.poses).items()}

    def _inertial(self, system: ContactSystem, q: Array, v: Array, a: Array, frame: str) -> Array:
        """Angular velocity and specific force (6,) of a frame, in its axes."""
        moving = self._frames.motion(q, v, a, frame)
        return np.concatenate([moving.angular, moving.acceleration - moving.rotation.T @ system.gravity])


def _chosen(known: dict[str, tuple[int, int, int]], joints: Any) -> dict[str, tuple[int, int, int]]:
    """Joints with their places that are read."""
    if isinstance(joints, bool):
        return known if joints else {}
    names = NAMES.check("joints of Sensors", joints)
    for name in names:
        if name not in known:
            raise InputError(f"there is no joint '{name}' of one degree of freedom; there are {', '.join(known)}")
    return {name: known[name] for name in names}


def _position(q: Array, place: int, size: int) -> float:
    """Position of a joint, of which (cos, sin) is kept where it turns without end."""
    return float(q[place]) if size == 1 else float(np.arctan2(q[place + 1], q[place]))
