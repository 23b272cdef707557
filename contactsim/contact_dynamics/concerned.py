"""Which of the touching contacts an event concerns: those that hang together with what moves in it.

So an event of a heap costs what the part of it does that hangs together.
"""

from __future__ import annotations

import numpy as np

from ..common.arrays import Array
from .contact_rows import ContactEvent, without_margin
from .islands import together
from .rigid_arc import Accelerations, RigidArc, largest_other, motion_in, of_contacts
from .world import World


def concerned(world: World, x: Array, event: ContactEvent) -> ContactEvent:
    """The event with those of the touching contacts alone whose bodies it moves, where it is known which these are.

    What hops are followed through is such a part already, and a controller may answer the velocities of one body at
    another one. Of a mode whose forces are not unique it is looked at where they are not, and where a margin is used up
    that the guard of all of them tells of.
    """
    if world.controller is not None or event.slowest is not None or event.struck or not event.kinds:
        return event
    if event.mode.redundant and event.following:
        return event
    loose = frozenset[int]()
    if event.mode.redundant:
        arc, motion = motion_in(world, event.t, x, event.mode)
        event, loose = _with_names(world, x, event, arc, motion), motion.loose
    touching = event.touching
    begun = event.kinds.keys() | set(touching).difference(event.mode.closed)
    if not begun <= set(touching):
        return event
    moved = world.with_resistances(together(world, touching, begun)[0])
    apart = frozenset(touching).difference(moved)
    return event._replace(touching=moved, apart=apart, loosely_apart=not apart.isdisjoint(loose))


def _with_names(world: World, x: Array, event: ContactEvent, arc: RigidArc, motion: Accelerations) -> ContactEvent:
    """The event with the names of the contacts whose margins are used up, where the guard of all forces fired."""
    if event.kinds.get(-1) != "forces":
        return event
    before = of_contacts(arc, motion.forces)
    largest = float(np.abs(motion.forces).max(initial=0.0))
    others = motion.others
    if others is None:
        others = largest_other(world, event.t, x, arc.terms(event.t, world.q(x), world.v(x)))
    zero = world.force_rounding(largest, others, motion.known)
    named = without_margin(world, event.mode, before, zero)
    fired = {i: kind for i, kind in event.kinds.items() if i >= 0}
    return event._replace(kinds=named | fired) if named else event
