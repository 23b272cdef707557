"""What the check of a run sees of its steps."""

from __future__ import annotations

from ..common.arrays import Array
from ..common.lazy import NamedTuple


class Survey(NamedTuple):
    """What the check of a run asks of steps of one mode: seen at the same places of each, of which the last is its end.

    Integrals are over all of the steps. Work is that of all forces but the conservative ones.

    Attributes:
        forces, rates: forces and velocities of the closed contacts (steps, places, m).
        by_forces: integral (nv,) of M^-1 of all forces, with those of the contacts as they are told, however found.
        without_contacts: integral of the largest component of the same without those of the contacts.
        work, moved: integral of the power, and of its absolute value [J].
        force, speed: the largest of all forces but the contacts', and of all velocities.
        depth: the largest one of what is open and acts, or distance of what is closed [m].
        opening: of a loop [m]; None: there are none.
        joints: axes and origin (steps, places, joints, 4, 3) of each joint of a `PlainRobot`; None: it has no shapes.
    """

    forces: Array
    rates: Array
    by_forces: Array
    without_contacts: float
    work: float
    moved: float
    force: float
    speed: float
    depth: float
    opening: float | None = None
    joints: Array | None = None
