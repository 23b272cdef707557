"""Data of the contact problem, and of its solution, on plain arrays.

Rows come contact by contact, each with its normal row first and then d_t = 0, 1 or 2 tangential rows. With the Delassus
matrix G and the free motion w0, forces (or impulses) lam and accelerations (or velocities) w obey

    w = G lam + w0
    0 <= w_n  _|_  lam_n >= 0
    STICK: w_t = 0 and |lam_t| <= mu_s lam_n
    SLIP:  lam_t = -mu_k lam_n s, with s given where the contact slides already, else w_t = kappa s, kappa >= 0

(Signorini's and Coulomb's laws, Leine and Nijmeijer 2004; the circular cone, no pyramid). Where a normal force is
given that acts in any case, as in the expansion of an impact, Signorini's law holds for what comes on top of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..common.arrays import Array
from .modes import Mode

Direction = Array | None

TOLERANCE = 1e-9  # forces and motions are zero below this fraction of the largest of their kind
NOTHING = 1e-300  # stands for the largest of values that are all zero, where one divides by it


def rounding(values: Array) -> float:
    """What counts as zero beside `values`."""
    return TOLERANCE * max(float(np.abs(values).max(initial=0.0)), NOTHING)


@dataclass(frozen=True)
class ContactProblem:
    """Data of one contact problem.

    Attributes:
        delassus: G (m, m), J M^-1 J^T.
        free: w0 (m,), motion of the contacts without contact forces.
        dims: rows of each contact, 1 + d_t.
        friction: kinetic coefficients (n,).
        static_friction: static coefficients (n,), at least the kinetic ones.
        sliding: unit slip direction (d_t,) of each contact that slides, None where its slip velocity is zero.
        guess: modes to try first; where several modes are admissible, those nearest to the guess are found.
        directions: unit slip directions to start from, for contacts that begin to slip.
        names: names of the contacts, for messages.
        slack: what counts as zero of each open contact's normal motion, for one whose force has just fallen to zero
            as closely as the time of an event can be met; empty: nothing.
        given: normal force of each contact that acts in any case: 0 <= w_n  _|_  lam_n - given >= 0, with the friction
            of the whole lam_n; empty: none.
        lifted: contacts that stick or slip under their given normal force while they part, to be tried first.
    """

    delassus: Array
    free: Array
    dims: tuple[int, ...]
    friction: Array
    static_friction: Array
    sliding: tuple[Direction, ...]
    guess: tuple[Mode, ...] | None = None
    directions: tuple[Direction, ...] | None = None
    names: tuple[str, ...] = ()
    slack: tuple[float, ...] = ()
    given: tuple[float, ...] = ()
    lifted: frozenset[int] = frozenset()

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """Index of the normal row of each contact."""
        return tuple(int(k) for k in np.cumsum((0, *self.dims[:-1])))

    def normal(self, i: int) -> int:
        """Row of the normal of contact `i`."""
        return self.starts[i]

    def tangent(self, i: int) -> slice:
        """Tangential rows of contact `i`."""
        return slice(self.starts[i] + 1, self.starts[i] + self.dims[i])

    def part(self, i: int) -> slice:
        """All rows of contact `i`."""
        return slice(self.starts[i], self.starts[i] + self.dims[i])

    @cached_property
    def speed(self) -> float:
        """Largest motion that the problem starts with, or that the given forces cause."""
        largest = float(np.abs(self.free).max(initial=NOTHING))
        if not self.given:
            return largest
        normals = list(self.starts)
        return max(largest, float(np.abs(self.delassus[:, normals] * np.array(self.given)).max()))

    def least(self, i: int) -> float:
        """Normal force of contact `i` that acts in any case."""
        return self.given[i] if self.given else 0.0


@dataclass(frozen=True)
class ContactSolution:
    """Modes, forces and motion that satisfy a contact problem.

    Attributes:
        modes: OPEN, STICK or SLIP of each contact.
        forces: lam (m,).
        motion: w (m,).
        directions: unit slip direction of each slipping contact, else None.
        unique: whether the forces are the only ones; the motion always is, unless contacts slip redundantly.
        residuals: {law: largest violation}, in the unit of w or lam.
        lifted: contacts that stick or slip under their given normal force while they part.
    """

    modes: tuple[Mode, ...]
    forces: Array
    motion: Array
    directions: tuple[Direction, ...]
    unique: bool
    residuals: Mapping[str, float]
    lifted: frozenset[int] = frozenset()
