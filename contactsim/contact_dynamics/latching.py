"""Events of latches: what closes and opens at an instant, and the plastic impact along what closes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..common.arrays import Array
from ..common.lazy import NamedTuple
from ..common.user_calls import UserCall
from ..contact.modes import Latched, Mode, SystemMode
from ..errors import InputError, NonDifferentiableError
from ..hybrid.differences import tangent_derivative
from .world import World
from .zero import OFF_LATCH

# Kinds of guards of latches, whose numbers follow those of all contacts: they close, open, or have risen to close.
CLOSE, OPEN, ARM = KINDS = ("close", "open", "arm")


class LatchEvents(NamedTuple):
    """Numbers of the latches that close and that open at an instant, and of those that wait behind it."""

    closing: tuple[int, ...]
    opening: tuple[int, ...]
    waiting: tuple[int, ...]

    def __bool__(self) -> bool:
        return bool(self.closing or self.opening)


def events_of(world: World, t: float, x: Array, mode: SystemMode, kinds: Mapping[int, str]) -> LatchEvents:
    """What latches do when these guards have fired."""
    first, names = len(world.mechanism.dims), world.mechanism.all_names
    landed = {names[i] for i, kind in kinds.items() if kind == "gap" and i < first}
    closed = {k for k, _ in mode.latched}
    closing, opening, waiting = [], [], set(mode.waiting)
    for k, latch in enumerate(world.latches):
        kind = kinds.get(first + k, "")
        if k in closed:
            if kind == OPEN or latch.opens_at in landed:
                opening.append(k)
                waiting.add(k)
        elif kind == ARM:
            waiting.discard(k)
        elif kind == CLOSE or latch.closes_at in landed:
            if _enabled(world, k, t, x):
                closing.append(k)
            else:
                waiting.add(k)
    return LatchEvents(tuple(closing), tuple(opening), tuple(sorted(waiting - set(closing))))


def waiting_at(world: World, t: float, x: Array) -> tuple[int, ...]:
    """The latches whose function is not above zero where a run starts."""
    found = []
    for k, latch in enumerate(world.latches):
        closing = latch.closing(world.robot)
        with UserCall("the function of latch", latch.name, t):
            if closing is not None and not float(closing(t, world.q(x).copy(), world.v(x).copy())) > 0.0:
                found.append(k)
    return tuple(found)


def _enabled(world: World, k: int, t: float, x: Array) -> bool:
    """Whether a latch may close: where its `enabled` is positive, and so is its `opens`."""
    latch = world.latches[k]
    margins = [margin for margin in (latch.enabled, latch.opening()) if margin is not None]
    with UserCall("the function 'enabled' or 'opens' of latch", latch.name, t):
        return all(float(margin(t, world.q(x).copy(), world.v(x).copy())) > 0.0 for margin in margins)


def with_closed(world: World, x: Array, latched: Latched, closing: tuple[int, ...]) -> Latched:
    """The closed latches with those that close at a state, and what these hold."""
    new = [(k, world.latches[k].found(world.robot, world.q(x))) for k in closing]
    return tuple(sorted([*latched, *new]))


def without(latched: Latched, opening: tuple[int, ...]) -> Latched:
    """The closed latches without those that open."""
    return tuple(one for one in latched if one[0] not in opening)


def held(world: World, t: float, x: Array) -> Array:
    """The state behind the plastic impact along the latches of a world: v - M^-1 C^T (C M^-1 C^T)^+ C v.

    Raises:
        InputError: a latch closes while its frames are apart.
    """
    mechanism = world.closed_loops
    assert mechanism is not None
    q, v = world.q(x), world.v(x)
    openings = mechanism.loops.openings(q)
    widest = max(openings, key=lambda name: openings[name])
    if openings[widest] > OFF_LATCH:
        raise InputError(
            f"latch '{widest}' closes at t = {t:.6g} s while what it holds is {openings[widest]:.3g} m or rad apart;"
            " let it close where that is zero, or give Latch(..., hold=True)"
        )
    q, _ = mechanism.on_loops(q, v, world.tolerances.drift)
    hold = mechanism.hold(q)
    return world.moved(x, q, v - hold.lift @ (hold.rows @ v))


def held_derivative(before: World, world: World, t: float, x: Array) -> Array:
    """D_x (dim, dim) of `held`, where the latches that close hold a joint, or a place of their own.

    Raises:
        NonDifferentiableError: one of them holds frames where it finds them.
    """
    known = {k for k, _ in before.latched}
    new = [world.latches[k] for k, _ in world.latched if k not in known]
    if clamping := [latch.name for latch in new if latch.hold and not latch.joint]:
        raise NonDifferentiableError(
            f"the event at t = {t:.9g} s has no derivative: latch {', '.join(clamping)} holds frames where it finds"
            " them; hold a joint, or a place of their own"
        )
    mechanism, nv = world.closed_loops, world.nv
    assert mechanism is not None
    q, v = world.q(x), world.v(x)

    def after(moved: Array) -> Array:
        hold = mechanism.hold(moved)
        return v - hold.lift @ (hold.rows @ v)

    jacobian, hold = np.eye(world.tangent_size), mechanism.hold(q)
    jacobian[nv : 2 * nv, :nv] = tangent_derivative(after, mechanism.space, q)
    jacobian[nv : 2 * nv, nv : 2 * nv] -= hold.lift @ hold.rows
    return jacobian


def impulses(before: World, world: World, x: Array, after: Array) -> dict[str, Array]:
    """{latch: impulse} of those that close: the moment or force of a joint (1,), of frames as of a closed loop."""
    mechanism, known = world.closed_loops, {k for k, _ in before.latched}
    assert mechanism is not None
    q = world.q(after)
    mass = mechanism.inner.terms(0.0, q, world.v(x), ()).mass
    pull = mechanism.hold(q).lift.T @ (mass @ (world.v(after) - world.v(x)))
    names = {world.latches[k].name for k, _ in world.latched if k not in known}
    return {name: wrench for name, wrench in mechanism.loops.wrenches(q, pull).items() if name in names}


def changes(world: World, events: LatchEvents) -> dict[str, tuple[Mode, Mode]]:
    """{latch: (before, after)}."""
    found = {world.latches[k].name: (Mode.OPEN, Mode.CLOSED) for k in events.closing}
    return found | {world.latches[k].name: (Mode.CLOSED, Mode.OPEN) for k in events.opening}
