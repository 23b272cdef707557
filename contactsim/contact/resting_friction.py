"""Friction of contacts without slip under given normal forces: which stick, and where the others begin to slip."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..common.arrays import Array
from ..common.lazy import scipy
from .problem import Direction
from .zero import EDGE, NOTHING, STILL

SWEEPS = 2000  # over the contacts; the forces of a few converge geometrically in some tens


def resting_friction(
    delassus: Array, free: Array, tangents: Sequence[slice], most: Sequence[float]
) -> tuple[Direction, ...]:
    """Unit slip directions in which contacts begin to slip, None for those that stick.

        min 1/2 f^T G_tt f + f^T w_t   over   |f_i| <= c_i

    With given normal forces Coulomb's law is this convex problem (Tresca's friction): it always has a solution, and
    its motion w_t + G_tt f is the only one. It is solved contact by contact, each exactly.

    Args:
        delassus: G (m, m).
        free: w (m,), rates of the contact velocities without the friction of these contacts.
        tangents: tangential rows of each of them.
        most: c, the largest friction of each [N].

    Source: Duvaut and Lions, Inequalities in Mechanics and Physics, 1976, Ch. III.
    """
    forces = [np.zeros(t.stop - t.start) for t in tangents]
    motion = free.copy()
    scale = max(*most, NOTHING)
    for _ in range(SWEEPS):
        moved = 0.0
        for k, t in enumerate(tangents):
            block = delassus[t, t]
            better = within(block, motion[t] - block @ forces[k], most[k])
            motion += delassus[:, t] @ (better - forces[k])
            moved = max(moved, float(np.abs(better - forces[k]).max()))
            forces[k] = better
        if moved <= STILL * scale:
            break
    return tuple(_slip(force, motion[t], c) for force, t, c in zip(forces, tangents, most, strict=True))


def within(block: Array, motion: Array, most: float) -> Array:
    """The force of one contact that stops it, or of the size `most`, against its motion under it."""
    if most <= 0.0:
        return np.zeros(len(motion))
    values, vectors = np.linalg.eigh(block)
    values = np.maximum(values, 0.0)  # rounding apart, a block of a singular matrix has no others
    along = vectors.T @ motion

    def size(shift: float) -> float:
        return float(np.linalg.norm(along / (values + shift)))

    if values[0] > EDGE * values[-1] and size(0.0) <= most:
        return -vectors @ (along / values)
    if not np.any(along):
        return np.zeros(len(motion))
    highest = 2.0 * float(np.linalg.norm(along)) / most  # the force is at most half of what it may be
    low = EDGE * float(values[-1])
    shift = (
        scipy.optimize.brentq(lambda s: size(s) - most, low, highest, xtol=1e-300, rtol=1e-14)
        if size(low) > most
        else low
    )
    return -vectors @ (along / (values + shift))


def _slip(force: Array, motion: Array, most: float) -> Direction:
    """The slip direction of a contact with this force and motion; None where it sticks."""
    size = float(np.linalg.norm(force))
    if most > 0.0:
        return -force / size if size >= most * (1.0 - EDGE) else None
    speed = float(np.linalg.norm(motion))
    return motion / speed if speed > 0.0 else None
