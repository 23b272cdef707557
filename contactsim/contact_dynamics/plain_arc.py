"""A contact mode of a world as plain data, for compiled engines."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Literal

import numpy as np

from ..common.arrays import Array
from ..common.user_calls import UserCall
from ..contact.modes import ContactState, Mode, Phase, SystemMode
from ..multibody.controllers import PlainGains
from ..multibody.plain_robot import PlainRobot
from .engines import Engine, PlainArc, PlainClosed
from .world import World

State = Literal["smooth", "stick", "slip", "directed", "begins"]


def plain_arc(world: World, mode: SystemMode) -> PlainArc | None:
    """A mode; None where plain data does not say it all."""
    robot, engine = world.mechanism.plain_robot, world.compiled_engine
    if robot is None or not on_known_ground(robot, engine):
        return None
    closed = []
    for i in mode.closed:
        contact, state = robot.contacts[i], _state(mode.contacts[i], world.tangent_rows[i])
        if contact is None or state is None or (i in world.curves and state in ("slip", "directed", "begins")):
            return None
        region = mode.contacts[i].region
        friction = float(world.friction[i]), float(world.static_friction[i])
        closed.append(PlainClosed(contact, state, *friction, region=region))
    return driven_arc(world, robot, closed, mode.redundant)


def driven_arc(world: World, robot: PlainRobot, closed: Sequence[PlainClosed], redundant: bool = False) -> PlainArc:
    """Closed contacts of a robot, and what drives it."""
    holding = gains = None
    alone = not world.pushes and world.action is None
    if world.controller is not None and alone:
        holding, gains = world.controller.holding(), world.controller.plain()
    told = world.controller is None and alone and not world.memory
    drive = None if told or holding is not None or gains is not None else Drive(world)
    if holding is not None:
        holding = holding._replace(first=world.nq + world.nv + holding.first)
    called = gains is not None and gains.posture is None and gains.pieces is None
    followed = Followed(world, gains) if gains is not None and called else None
    return PlainArc(robot, tuple(closed), world.memory, holding, gains, followed, drive, redundant)


def on_known_ground(robot: PlainRobot, engine: Engine | None) -> bool:
    """Whether an engine knows the ground of a robot."""
    still, flat = robot.ground.motion is None, robot.ground.hills is None
    return (still or (engine is not None and engine.moves_ground)) and (
        flat or (engine is not None and engine.knows_hills)
    )


def _state(state: ContactState, tangents: int) -> State | None:
    """What an engine has to know of the state of a closed contact; None where it begins to slip in the plane."""
    if not tangents or state.mode is Mode.CLOSED:
        return "smooth"
    if state.mode is Mode.STICK:
        return "stick"
    if state.phase is Phase.INCIPIENT:
        return "begins" if tangents == 2 else None
    return {Phase.FREE: "slip", Phase.DIRECTED: "directed"}.get(state.phase)  # type: ignore[return-value]


class Drive:
    """What controllers and pushes of a world do, for engines that do not know them: (t, x) -> (nv + memory,)."""

    def __init__(self, world: World) -> None:
        self._world = world

    def __call__(self, t: float, x: Array) -> Array:
        """Applied forces, then the rates of the memory."""
        world = self._world
        applied = world.driving.applied_at(t, x)
        force = np.zeros(world.nv) if applied is None else applied
        return np.concatenate((force, world.driving.memory_rate(t, x))) if world.memory else np.ascontiguousarray(force)


class Followed:
    """The reference of plain gains, for engines: t -> (q_ref, v_ref, tau_ff) in one array (nq + 2 nv,)."""

    def __init__(self, world: World, gains: PlainGains) -> None:
        self._world, self._gains, self._size = world, gains, world.nq + 2 * world.nv

    def __call__(self, t: float) -> Array:
        """Where the reference is at a time; what is wrong with it is told as of the controller."""
        world = self._world
        try:
            q_ref, v_ref, tau_ff = self._gains.reference(t)
            joined = np.concatenate((q_ref, v_ref, tau_ff))
        except Exception:
            with UserCall("the controller", world.controller, t):
                raise
        if len(joined) != self._size or not isfinite(joined.dot(joined)):
            world.driving.given_force(t, np.concatenate([world.robot.nominal, np.zeros(world.nv + world.memory)]))
        return joined
