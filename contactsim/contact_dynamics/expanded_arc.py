"""Accelerations of a mode while slips come to their stop, expanded around where that begins.

Friction turns with the slips within a fraction of a microsecond there, and many short steps follow it; the equations of
motion hardly change meanwhile. So M^-1 f, M^-1 J^T, J and J' v are written around the path that the mode would take if
its slips did not turn, v_p = v0 + a0 tau + b tau^2 / 2 with tau = t - t0:

    K(t, x) = K_0 + K_1 s + K_2 s^2 + sum_j (L_j c_j + N_j d_j),    s = tau / h,
    c = J_t (v - v_p),    d = J_t (q (-) q_p),

since friction that turns moves the robot only by P c and P d off that path, P = M^-1 J_t^T (J_t M^-1 J_t^T)^-1 with
what is constrained held. Each acceleration is then a small system in the contacts alone. What it misses is of second
order in the duration h, by which the velocities miss the third one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ..common.arrays import Array
from ..common.lazy import scipy
from ..contact.linear_algebra import solve_mass
from ..errors import SingularError
from ..hybrid.zero import TINY
from .rigid_arc import (
    Accelerations,
    References,
    RigidArc,
    accelerations,
    combine_with,
    forces_of,
    regularity_of,
    slip_direction,
)

LONGER = 1.2  # times its duration up to which an expansion may be asked: a step may run a little past a stop
PROBE, STEPS = 0.75, 4  # share of its duration at which it is held to the truth, and steps in which it leads there
LEAST_TURN = 0.5  # share of the largest turn of a slip with which any of them is turned to see what that does
MIDDLE = 1.0 / 3.0  # share of a time for which a change of velocity that grows evenly has acted
ORDER = 3  # in the duration, by which velocities miss less where it is shorter
FORESEEN = 0.03  # share that is missed of the second order in the change of the acceleration along the path
LEAST, MOST = 0.01, 0.8  # shares of a duration of which the next one to be tried is one


class _Parts(NamedTuple):
    """M^-1 f and M^-1 J^T as rows (1 + m, nv), J (m, nv) and J' v (m,)."""

    solved: Array
    rows: Array
    bias: Array

    @staticmethod
    def of(arc: RigidArc, flat: Array) -> _Parts:
        m, nv = arc.size, arc.world.nv
        first = (1 + m) * nv
        return _Parts(flat[:first].reshape(1 + m, nv), flat[first:-m].reshape(m, nv), flat[-m:])

    def directions(self, arc: RigidArc, v: Array, references: References) -> list[tuple[float, ...]]:
        """Of the slips at a velocity (nv,)."""
        rates = (self.rows @ v).tolist()
        return [slip_direction(arc, i, rates, references) for i, _ in arc.slips]

    def driven(self, arc: RigidArc, directions: list[tuple[float, ...]]) -> _Driven:
        """Accelerations where slips have these directions.

        Raises:
            SingularError: the constraints depend on each other there.
        """
        pushed = combine_with(arc, directions, arc.friction) @ self.solved[1:]
        held = self.rows[arc.constrained]
        matrix = held @ pushed.T
        _, _, negative, info = scipy.linalg.lapack.dgesv(matrix, held @ self.solved[0] + self.bias[arc.constrained])
        if info:
            raise SingularError(f"the contact constraints of mode {arc.mode} became dependent during an arc")
        return _Driven(self.solved[0] - negative @ pushed, negative, held, matrix)


class _Driven(NamedTuple):
    """An acceleration (nv,), the forces of the constrained rows with the sign turned (k,), C (k, nv), C M^-1 D^T."""

    acceleration: Array
    negative: Array
    held: Array
    matrix: Array


@dataclass(frozen=True, eq=False)
class _Path:
    """Where a mode leads within some time if its acceleration changes evenly.

    Attributes:
        arc: the mode.
        t, x: time and state where it begins.
        acceleration: a0 (nv,).
        duration: h [s].
        jerk: b (nv,); zero where it is not known.
    """

    arc: RigidArc
    t: float
    x: Array
    acceleration: Array
    duration: float
    jerk: Array | float = 0.0

    def velocity(self, since: float) -> Array:
        """v_p (nv,) some time after the begin."""
        return self.arc.world.v(self.x) + since * (self.acceleration + 0.5 * since * self.jerk)

    def way(self, since: float) -> Array:
        """Tangent vector (nv,) from where it begins to q_p."""
        change = self.acceleration + since / 3.0 * self.jerk
        return since * (self.arc.world.v(self.x) + 0.5 * since * change)

    def left_by(self, t: float, x: Array) -> tuple[Array, Array]:
        """By what velocity and place (nv,) of a state are off it."""
        world, since = self.arc.world, t - self.t
        moved = self.arc.mechanism.space.difference(world.q(self.x), world.q(x))
        return world.v(x) - self.velocity(since), moved - self.way(since)

    def place(self, share: float, change: Array, shift: Array) -> tuple[float, Array]:
        """Time and state at a share of the duration, off the path by a `change` of velocity and a `shift` (nv,)."""
        world, since = self.arc.world, share * self.duration
        q = self.arc.mechanism.space.integrate(world.q(self.x), self.way(since) + shift)
        return self.t + since, world.moved(self.x, q, self.velocity(since) + change)

    def look(self, share: float, change: Array, shift: Array) -> Array:
        """M^-1 f, M^-1 J^T, J and J' v there, in one array."""
        t, x = self.place(share, change, shift)
        world = self.arc.world
        terms, applied = self.arc.terms(t, world.q(x), world.v(x)), world.applied_at(t, x)
        force = terms.force if applied is None else terms.force + applied
        solved = solve_mass(terms.mass, np.vstack([force, terms.rows]).T)
        return np.concatenate([solved.T.ravel(), terms.rows.ravel(), terms.bias])


@dataclass(frozen=True, eq=False)
class Expansion:
    """The equations of motion of a mode around a state.

    Attributes:
        path: along which they are known.
        slips: J_t (k, nv) of the slips.
        parts: K_0, K_1, K_2, L_j and N_j, in one array (3 + 2 k, .).
        accuracy: by which velocities may miss those of the mode, at most [m/s, rad/s].
        evaluations: of the equations of motion that it took.
    """

    path: _Path
    slips: Array
    parts: Array
    accuracy: float
    evaluations: int

    def holds(self, t: float) -> bool:
        """Whether it speaks of a time [s]."""
        return self.path.t <= t <= self.path.t + LONGER * self.path.duration

    def at(self, t: float, x: Array, references: References) -> Accelerations:
        """Accelerations and forces at a time [s] and a state, as `rigid_arc.accelerations` finds them."""
        arc, parts, v = self.path.arc, self._parts(t, x), self.path.arc.world.v(x)
        directions = parts.directions(arc, v, references)
        driven = parts.driven(arc, directions)

        def forces() -> Array:
            return forces_of(arc, driven.negative, directions, arc.friction)

        def regularity() -> float:
            return regularity_of(driven.held @ parts.solved[1:][arc.constrained].T, driven.matrix)

        return Accelerations(driven.acceleration, parts.rows @ v, forces, regularity=regularity)

    def missed(self, t: float, x: Array, references: References, truth: Accelerations) -> float:
        """By what it misses the velocities [m/s, rad/s]: by accelerations, or slips, at a state.

        What accelerations miss grows with the square of the time, so that a third of it acted, and is there until the
        end.
        """
        found, since = self.at(t, x, references), t - self.path.t
        acts = MIDDLE * since + abs(self.path.duration - since)
        by_force = acts * float(np.abs(found.acceleration - truth.acceleration).max())
        return max(by_force, float(np.abs(found.rates - truth.rates).max()))

    def is_off(self, t: float, x: Array, references: References, truth: Accelerations) -> bool:
        """Whether it misses the accelerations or the slips at a state by more than its accuracy."""
        return not self.missed(t, x, references, truth) <= self.accuracy

    def followed(self, references: References) -> tuple[float, Array]:
        """Time and state to which it leads, by a few steps of the midpoint rule: where it is held to the truth."""
        path, step = self.path, PROBE / STEPS
        change, shift = np.zeros((2, len(path.acceleration)))

        def bend(share: float, change: Array, shift: Array) -> Array:
            """By what the acceleration differs from that of the path."""
            here = self.at(*path.place(share, change, shift), references).acceleration
            return here - path.acceleration - share * path.duration * path.jerk

        for k in range(STEPS):
            half = 0.5 * step * path.duration
            middle = change + half * bend(k * step, change, shift), shift + half * change
            shift = shift + 2.0 * half * middle[0]
            change = change + 2.0 * half * bend((k + 0.5) * step, *middle)
        return path.place(PROBE, change, shift)

    def _parts(self, t: float, x: Array) -> _Parts:
        path, k = self.path, len(self.slips)
        change, shift = path.left_by(t, x)
        s = (t - path.t) / path.duration
        weights = np.empty(len(self.parts))
        weights[:3] = 1.0, s, s * s
        weights[3 : 3 + k], weights[3 + k :] = self.slips @ change, self.slips @ shift
        return _Parts.of(path.arc, weights @ self.parts)


def expanded(
    arc: RigidArc, t: float, x: Array, references: References, motion: Accelerations, duration: float, accuracy: float
) -> tuple[Expansion | None, float]:
    """The expansion around a state for a time [s]; None where it would miss the velocities by more than `accuracy`.

    Args:
        arc: a mode in which forces are unique and contacts slip in their own directions.
        t, x: the state.
        references: slip directions there.
        motion: accelerations there.
        duration: for which it is to hold [s].
        accuracy: by which velocities may miss those of the mode at its end [m/s, rad/s].

    Returns:
        It, and the duration for which one may hold where it does not.
    """
    try:
        found, missed = _expanded(_Path(arc, t, x, motion.acceleration, duration), references, accuracy)
    except (SingularError, np.linalg.LinAlgError):  # where it is looked at; the run itself may not come there
        found, missed = None, math.inf
    return found, duration * min(max((accuracy / max(missed, TINY)) ** (1.0 / ORDER), LEAST), MOST)


def _expanded(path: _Path, references: References, accuracy: float) -> tuple[Expansion | None, float]:
    """The expansion around a path that is not bent yet, and by what it misses velocities; None: that is too much."""
    arc, still = path.arc, np.zeros(len(path.acceleration))
    here, ahead = (path.look(share, still, still) for share in (0.0, 1.0))
    solved, rows, bias = _Parts.of(arc, here)
    directions = _Parts.of(arc, here).directions(arc, path.velocity(0.0), references)
    change = _Parts.of(arc, ahead).driven(arc, directions).acceleration - path.acceleration
    largest = float(np.abs(change).max())
    foreseen = FORESEEN * path.duration * largest**2 / max(float(np.abs(path.acceleration).max()), TINY)
    free = [row for i, _ in arc.slips if i not in arc.held for row in range(arc.tangent[i].start, arc.tangent[i].stop)]
    turned = path.duration * np.abs(rows[free] @ path.acceleration + bias[free])
    if not turned.any() or not foreseen <= accuracy:
        return None, foreseen
    path = replace(path, jerk=change / path.duration)
    half, end = (path.look(share, still, still) for share in (0.5, 1.0))
    ways = _ways(solved[1:], rows, free, arc.constrained)
    steps = [(size, MIDDLE * path.duration * size) for size in np.maximum(turned, LEAST_TURN * turned.max()).tolist()]
    faster = [(path.look(0.0, by * way, still) - here) / by for way, (by, _) in zip(ways.T, steps, strict=True)]
    farther = [(path.look(0.0, still, by * way) - here) / by for way, (_, by) in zip(ways.T, steps, strict=True)]
    parts = np.array([here, 4.0 * half - 3.0 * here - end, 2.0 * (here + end) - 4.0 * half, *faster, *farther])
    found = Expansion(path, rows[free], parts, accuracy, 5 + 2 * len(free))
    t, x = found.followed(references)
    missed = found.missed(t, x, references, accelerations(arc, t, x, references)) / PROBE**2
    return (found if missed <= accuracy else None), missed


def _ways(solved: Array, rows: Array, free: list[int], held: Array) -> Array:
    """Changes of the velocity (nv, k), of which each changes one of the `free` rows by one, and none that is held."""
    pushed, holding = solved[free], solved[held]
    pushed = pushed - np.linalg.solve(rows[held] @ holding.T, rows[held] @ pushed.T).T @ holding
    return np.linalg.solve(rows[free] @ pushed.T, pushed).T
