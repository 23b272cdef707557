"""Position servos on the actuated joints of a robot, as actuators whose controls are setpoints."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..common.arrays import Array
from ..errors import InputError
from .actuators import Actuator


def servos(robot: Any, kp: Array, kd: Array) -> tuple[Actuator, ...]:
    """One servo for each actuated joint of a RobotModel, in the order of the velocities; see `Robot.with_servos`.

    Raises:
        InputError: a joint has no one angle, or the gains are of another number.
    """
    model, driven = robot.model, np.flatnonzero(robot.actuated)
    pairs = []
    for name, gains in (("kp", kp), ("kd", kd)):
        if gains.ndim and gains.shape != driven.shape:
            raise InputError(f"{name} has shape {gains.shape}; the robot has {len(driven)} actuated joints")
        pairs.append(np.broadcast_to(gains, driven.shape).tolist())
    owner = {k: j for j in range(1, model.njoints) for k in range(model.idx_vs[j], model.idx_vs[j] + model.nvs[j])}
    made = []
    for v, p, d in zip(driven.tolist(), *pairs, strict=True):
        joint = owner[v]
        if model.nqs[joint] != 1:
            raise InputError(f"joint '{model.names[joint]}' has no one angle to be held at; give torques by Inputs")
        gear, length = np.zeros(model.nv), np.zeros(model.nq)
        gear[v], length[model.idx_qs[joint]] = 1.0, 1.0
        home = float(robot.nominal[model.idx_qs[joint]])
        made.append(
            Actuator(
                model.names[joint], tuple(gear.tolist()), tuple(length.tolist()), (p, 0, 0), (0, -p, -d), home=home
            )
        )
    return tuple(made)
