"""The guards of a mode of a rigid law: their names, laid out so that those of one kind are computed together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..common.arrays import Array
from ..common.user_calls import Margin as UsersMargin
from ..contact.modes import Mode, Phase, SystemMode
from ..hybrid.tolerances import Tolerances
from ..hybrid.zero import UNITS_A_SECOND
from ..multibody.plain_robot import PlainMargin, plain_margin
from .rigid_arc import Guards, RigidArc
from .zero import AT_STOP, OF_SLIP_SPEED, OF_TURNING, TURNING

if TYPE_CHECKING:
    from .engines import PlainGuards
    from .world import World

SIDE = "side"  # begins the name of a guard at which a contact leaves its region; the number of the side follows
OF_FORCES = ("force", "cone", "forces")  # kinds of guards that look at contact forces
WITH_ACCELERATIONS = (*OF_FORCES, "jam", "turn", "open")  # kinds that look at forces or accelerations
OF_MOTION = ("gap", "slow", "fast", "stop")  # kinds that look at places and velocities alone
GIVEN = ("close", "open", "arm")  # kinds by functions of a user's; so is "enable" where it is not told as data
SEAMLESS = {"slow", "enable"}  # kinds behind which the field goes on: what slips is held to the direction it has there
OF_SLIPS = ("slow", "stop", "fast")  # kinds that look at contact velocities


def guards_of(arc: RigidArc, watched: Array | None = None) -> Guards:
    """The guards of an arc, laid out so that those of one kind are computed together.

    Args:
        arc: the arc.
        watched: of the open contacts that are `skippable` those that are watched (k,); None: all.
    """
    if watched is not None:
        return _laid_out(arc, watched)
    if arc.pattern.guards is None:
        arc.pattern.guards = _laid_out(arc, None)
    return arc.pattern.guards


def _laid_out(arc: RigidArc, watched: Array | None) -> Guards:
    names, normal = _names(arc, watched), arc.normal
    by_kind: dict[str, list[int]] = {}
    for k, (kind, _) in enumerate(names):
        by_kind.setdefault(kind, []).append(k)
    together = [by_kind.get(kind, []) for kind in ("gap", "force", "cone")]
    others = [(k, kind, i) for k, (kind, i) in enumerate(names) if kind not in ("gap", "force", "cone")]
    gaps, forces, places = (np.array(found, dtype=int) for found in together)
    open_, closed, cones = ([names[k][1] for k in found] for found in together)
    gap_contacts = np.array(open_, dtype=int)
    limits = gap_contacts - len(arc.mechanism.names)
    starts, spatial = {i: arc.tangent[i].start for i in cones}, {i for i in cones if arc.world.widths[i] == 2}
    rows = [[normal[i], starts[i], starts[i] + 1 if i in spatial else arc.size] for i in cones]
    # Forces are known relative to the largest of them, which is worse than what the rounding of time leaves.
    paces, still = np.full(len(names), UNITS_A_SECOND), np.zeros(len(names), dtype=bool)
    paces[[k for kind in OF_FORCES for k in by_kind.get(kind, [])]] = 0.0
    if arc.mechanism.autonomous:
        still[[k for kind in OF_MOTION for k in by_kind.get(kind, [])]] = True
    smooth = np.ones(len(names), dtype=bool)
    smooth[by_kind.get("forces", [])] = False
    if arc.mechanism.kinked:
        smooth[[k for k, i in zip(together[0], open_, strict=True) if i in arc.mechanism.kinked]] = False
    given = [k for kind in GIVEN for k in by_kind.get(kind, [])]
    margins = [(k, Margin(arc.world, arc.mode, names[k][1]).plain) for k in by_kind.get("enable", [])]
    given += [k for k, margin in margins if isinstance(margin, Margin)]
    by_places = [k for kind, found in by_kind.items() if kind == "gap" or kind.startswith(SIDE) for k in found]
    return Guards(
        names,
        gaps,
        gap_contacts,
        limits if len(limits) and limits.min() >= 0 else None,
        forces,
        np.array([normal[i] for i in closed], dtype=int),
        places,
        np.array(rows, dtype=int).reshape(-1, 3),
        arc.world.static_friction[cones],
        tuple(others),
        bool(len(forces) or len(cones)) or any(kind in OF_FORCES for _, kind, _ in others),
        {kind: np.array(found) for kind, found in by_kind.items()},
        np.array([k for kind in OF_FORCES for k in by_kind.get(kind, [])], dtype=int),
        np.array(by_places, dtype=int),
        *_known_beforehand(arc.world.tolerances, by_kind, len(names)),
        paces,
        smooth,
        still,
        np.array(given, dtype=int),
    )


def _known_beforehand(tolerances: Tolerances, by_kind: Mapping[str, Sequence[int]], count: int) -> tuple[Array, Array]:
    """How well guards (count,) are known whatever the state, and how far below zero they may begin."""
    slow = OF_SLIP_SPEED * tolerances.slip_speed
    known = {
        "slow": (slow, slow),
        "fast": (slow, slow),
        "stop": (AT_STOP * tolerances.speed, tolerances.speed),
        "turn": (OF_TURNING * TURNING, np.inf),
        "gap": (tolerances.rearm, tolerances.start_depth),
        SIDE: (tolerances.rearm, tolerances.start_depth),
    }
    rounding, band = np.full(count, tolerances.rearm), np.full(count, tolerances.jump)
    for kind, places in by_kind.items():
        own = known.get(SIDE if kind.startswith(SIDE) else kind)
        if own is not None:
            rounding[places], band[places] = own
    return rounding, band


KNOWN = {"gap", "force", "cone", "forces", "slow", "stop", "fast", "jam", "turn", "enable"}  # to compiled engines


def plain_guards(arc: RigidArc, table: Guards, left_out: Array, sense: float, window: float) -> PlainGuards | None:
    """The guards of an arc that is plain, with what it knows of jams; None where plain data does not say it all."""
    from .engines import PlainGuards

    world = arc.world
    robot, tolerances = world.mechanism.plain_robot, world.tolerances
    known = all(kind in KNOWN or kind.startswith(SIDE) for kind in table.places)
    if robot is None or not world.mechanism.bounded_steps or not known:
        return None
    if any(robot.contacts[i] is None for i in table.gap_contacts.tolist()):
        return None
    count = len(table.names)
    closed, friction, directions = [-1] * count, [0.0] * count, [(0.0, 0.0)] * count
    margins: list[Margin | PlainMargin | None] = [None] * count
    for kind, places in table.places.items():
        for k in places.tolist() if kind not in ("gap", "forces", "jam") else ():
            i = table.names[k][1]
            if kind == "enable":
                margins[k] = Margin(world, arc.mode, i).plain
                continue
            closed[k], friction[k] = arc.closed.index(i), float(world.static_friction[i])
            if kind == "stop" and i in arc.incipient:
                directions[k] = tuple(arc.incipient[i].tolist())
    kinds, numbers = zip(*table.names, strict=True) if count else ((), ())
    return PlainGuards(
        kinds=kinds,
        contacts=numbers,
        closed=tuple(closed),
        friction=tuple(friction),
        directions=tuple(directions),
        margins=tuple(margins),
        limits_alone=table.limits is not None,
        left_out=left_out,
        slip_speed=tolerances.slip_speed,
        drift=tolerances.drift,
        gap=tolerances.gap,
        event_time=tolerances.event_time,
        sense=sense,
        window=window,
    )


class Margin:
    """The guard of an open contact that a function of the user's enables: that function, or its negative."""

    def __init__(self, world: World, mode: SystemMode, contact: int) -> None:
        self._world, self._margin = world, world.mechanism.enabled[contact]
        self._sign = 1.0 if mode.contacts[contact].enabled else -1.0

    def __call__(self, t: float, x: Array) -> float:
        """Its value at a state."""
        assert self._margin is not None
        return self._sign * float(self._margin(t, self._world.q(x), self._world.v(x)))

    @property
    def plain(self) -> Margin | PlainMargin:
        """The same as data, where the function says that it is of that form."""
        margin = self._margin
        told = (
            plain_margin(margin.contact, margin.function, self._world.nq) if isinstance(margin, UsersMargin) else None
        )
        return self if told is None else told.times(self._sign)


def _names(arc: RigidArc, watched: Array | None) -> tuple[tuple[str, int], ...]:
    names: list[tuple[str, int]] = []
    mode, mechanism, world = arc.mode, arc.mechanism, arc.world
    looked_at = np.arange(len(mode.contacts))
    if watched is not None:
        always = np.delete(looked_at, mechanism.skippable)
        looked_at = np.unique(np.concatenate([always, watched, np.array(mode.closed, dtype=int)]))
    for i in looked_at.tolist():
        state = mode.contacts[i]
        if state.mode is Mode.OPEN:
            if i >= world.count:  # it closes with its host
                continue
            names += [("gap", i)] if state.enabled else []
            names += [("enable", i)] if mechanism.enabled[i] is not None else []
            continue
        if not mode.redundant and i < world.count:
            names.append(("force", i))
        if state.region:
            names += [(f"{SIDE}{side}", i) for side in mechanism.region_sides(i, state.region)]
        frictional = world.tangent_rows[i] > 0
        if state.mode is Mode.STICK and frictional and not mode.redundant:
            names.append(("cone", i))
        if state.mode is Mode.SLIP and frictional:
            names += {
                Phase.FREE: [("slow", i)],
                Phase.DIRECTED: [("stop", i), ("fast", i)] if world.widths[i] == 2 else [("stop", i)],
                Phase.INCIPIENT: [("stop", i), ("fast", i), ("turn", i)],
            }[state.phase]
    if mode.redundant and arc.closed:
        names.append(("forces", -1))
    first, closed = len(world.mechanism.dims), {k for k, _ in world.latched}
    for k, latch in enumerate(world.latches):
        if k in closed:
            names += [("open", first + k)] if latch.opens is not None or latch.strength is not None else []
        elif latch.closing(world.robot) is not None:
            names.append(("arm" if k in mode.waiting else "close", first + k))
    if arc.slips and not mode.redundant and getattr(arc.world.law, "jams", False):
        names.append(("jam", -1))
    return tuple(names)
