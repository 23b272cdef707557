"""A mode of a compliant law as plain data, compiled, and kept by its world."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..common.lazy import NamedTuple
from ..contact.laws import CompliantLaw
from ..contact.modes import SystemMode
from .engines import CompiledArc, CompiledWatch, PlainArc, PlainClosed, PlainGuards
from .plain_arc import driven_arc, on_known_ground
from .rigid_guards import Margin

if TYPE_CHECKING:
    from ..multibody.plain_robot import PlainMargin, PlainRobot
    from .world import World

ARCS = 256  # compiled, of a world, that are kept
OF_GAPS = ("gap", "clear")
OPEN_GUARDS = (*OF_GAPS, "enable")  # those that look at no force or region of a closed contact


class CompiledMode(NamedTuple):
    """A mode by the engine of its world, without and with its guards; None: it runs in Python."""

    arc: CompiledArc | None = None
    watch: CompiledWatch | None = None


def compiled_mode(
    world: World, mode: SystemMode, watched: tuple[int, ...], guards: tuple[tuple[str, int], ...]
) -> CompiledMode:
    """A mode compiled; what it is made of is worked out once.

    Args:
        world: what moves.
        mode: the mode.
        watched: contacts that touch or are released, whose forces are asked for.
        guards: names of its guards.
    """
    found: CompiledMode | None = world.arcs.get(mode)
    if found is None:
        if len(world.arcs) >= ARCS:
            world.arcs.clear()
        found = world.arcs[mode] = _compiled(world, mode, watched, guards)
    return found


def _compiled(
    world: World, mode: SystemMode, watched: tuple[int, ...], guards: tuple[tuple[str, int], ...]
) -> CompiledMode:
    engine, plain = world.compiled_engine, _plain_arc(world, mode, watched)
    arc = None if engine is None or plain is None else engine.compiled(plain)
    if arc is None or plain is None:
        return CompiledMode()
    told = _plain_guards(world, plain.robot, mode, watched, guards)
    return CompiledMode(arc, None if told is None else arc.watched(told))


def _plain_arc(world: World, mode: SystemMode, watched: tuple[int, ...]) -> PlainArc | None:
    """A mode; None where plain data does not say it all, as under a law that remembers."""
    robot, engine, law = world.mechanism.plain_robot, world.compiled_engine, world.law
    assert isinstance(law, CompliantLaw)
    if robot is None or engine is None or not engine.gives_way or law.memory or not on_known_ground(robot, engine):
        return None
    closed, touching = [], len(mode.closed)
    for i in watched:
        acts, friction = mode.contacts[i].closed, float(world.friction[i])
        static = max(friction, float(world.static_friction[i]))
        contact, force = robot.contacts[i], law.plain(friction, static, touching if acts else touching + 1)
        if contact is None or force is None:
            return None
        region = mode.contacts[i].region if acts else ()
        closed.append(PlainClosed(contact, "yields" if acts else "released", friction, static, force, region=region))
    return driven_arc(world, robot, closed)


def _plain_guards(
    world: World, robot: PlainRobot, mode: SystemMode, watched: tuple[int, ...], guards: tuple[tuple[str, int], ...]
) -> PlainGuards | None:
    """The guards of a mode; None where steps have no bounds, or a gap is not known."""
    if not world.mechanism.bounded_steps or any(kind in OF_GAPS and robot.contacts[i] is None for kind, i in guards):
        return None
    margins: list[Margin | PlainMargin | None] = [
        Margin(world, mode, i).plain if kind == "enable" else None for kind, i in guards
    ]
    none = (0.0,) * len(guards)
    tolerances = world.tolerances
    return PlainGuards(
        kinds=tuple([kind for kind, _ in guards]),
        contacts=tuple([i for _, i in guards]),
        closed=tuple([-1 if kind in OPEN_GUARDS else watched.index(i) for kind, i in guards]),
        friction=none,
        directions=((0.0, 0.0),) * len(guards),
        margins=tuple(margins),
        limits_alone=False,
        left_out=np.zeros(0, dtype=int),
        slip_speed=tolerances.slip_speed,
        drift=tolerances.drift,
        gap=tolerances.gap,
        event_time=tolerances.event_time,
        sense=0.0,
        window=0.0,
    )
