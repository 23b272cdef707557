"""Places of robots above their ground: how far the lowest contact is from it, and the start at a height."""

from __future__ import annotations

import numpy as np

from ..common.arrays import Array
from ..common.lazy import scipy
from ..errors import InputError
from ..multibody.model_checks import inside, unbounded
from ..multibody.robot import Robot
from ..multibody.terrain import NoGround
from .contact_system import ContactSystem, State
from .zero import ALONG_AXIS, PLACED

DROP = 0.1  # height above ground at which a robot without a demonstration starts [m]
UP = 2  # the vertical axis of the world


def default_start(system: ContactSystem) -> State:
    """The nominal pose at rest, DROP above ground where there is one and the root can be lifted; its loops closed."""
    q, v = inside(system.robot.model, system.robot.nominal), np.zeros(system.robot.nv)
    q = system.close(q).q if system.loops else q
    grounded = not isinstance(system.terrain, NoGround)
    q = lifted(system, q, DROP) if grounded and lifting(system.robot, q) is not None else q
    return system.close(q, v) if system.loops else State(q, v)


def clearance(system: ContactSystem, q: Array) -> float:
    """Distance of the lowest contact from the ground [m]."""
    return float(system.mechanism.gaps(0.0, q)[: len(system.mechanism.names)].min())


def lifted(system: ContactSystem, q: Array, height: float) -> Array:
    """`q` with the root moved up or down until the lowest contact is `height` [m] from the ground."""
    index = lifting(system.robot, q)
    if index is None:
        name = system.robot.name
        raise InputError(f"the robot '{name}' cannot be put at a height: its root does not move up; give start.q")
    raised = q.copy()
    if system.terrain.constant_normal() is not None:
        gap = clearance(system, raised)
        raised[index] += 1.0
        if not (rise := clearance(system, raised) - gap) > 0.0:
            raise InputError(f"the robot '{system.robot.name}' is {gap:.3g} m above ground, where a metre is rounding")
        raised[index] = q[index] + (height - gap) / rise
        return raised
    return _let_down(system, raised, index, height)


def _let_down(system: ContactSystem, q: Array, index: int, height: float) -> Array:
    """`q` at a height above hills: from clear above all of them down to the first place that is as low as that."""

    def at(z: float) -> float:
        moved = q.copy()
        moved[index] = z
        return clearance(system, moved) - height

    high = q[index] + height
    while at(high) < 0.0:  # a contact is in the ground: it is above when as far up again
        high += 1.0 - at(high)
    low = high
    while at(low) > 0.0:
        high, low = low, low - at(low)
        if high - low < PLACED:
            break
    raised = q.copy()
    raised[index] = high if at(low) > 0.0 else scipy.optimize.brentq(at, low, high, xtol=PLACED)
    return raised


def lifting(robot: Robot, q: Array) -> int | None:
    """Index of the coordinate that lifts every contact of the robot straight up; None where there is none."""
    return along(robot, q, UP)


def along(robot: Robot, q: Array, axis: int) -> int | None:
    """Index of the coordinate that moves every contact along a world axis (0, 1, 2); None where there is none."""
    if not robot.contacts:
        return None
    here = robot.contact_positions(q)
    for index in range(min(3, robot.nq)):
        if not unbounded(robot.model, index):
            continue
        there = q.copy()
        there[index] += 1.0
        if np.allclose(robot.contact_positions(there) - here, np.eye(3)[axis], atol=ALONG_AXIS):
            return index
    return None
