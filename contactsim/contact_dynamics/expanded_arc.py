"""Accelerations of a mode while slips come to their stop, expanded to first order around where that begins.

Friction turns with the slips within a fraction of a microsecond there, and many short steps follow it; the equations of
motion hardly change meanwhile. So M^-1 f, M^-1 J^T, J and J' v are polynomials of two quantities: of the time on the
path of constant acceleration a0, and of what the slips leave that path by,

    K(t, v) = K_0 + K_1 s + K_2 s^2 + sum_j L_j c_j,    s = (t - t0) / h,    c = J_t (v - v0 - a0 (t - t0)),

since friction moves the robot only by P c more, P = M^-1 J_t^T (J_t M^-1 J_t^T)^-1 with what is constrained held.
Each acceleration is then a small system in the contacts alone. What it misses is of second order in the duration h.
"""

from __future__ import annotations

import numpy as np

from ..common.arrays import Array
from ..common.lazy import NamedTuple, dataclass, scipy
from ..contact.linear_algebra import solve_mass
from ..errors import SingularError
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
from .zero import LEAST_TURN, LONGER, MIDDLE, PROBE


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


@dataclass(frozen=True, eq=False)
class Expansion:
    """The equations of motion of a mode around a state.

    Attributes:
        arc: the mode.
        t, duration: where it begins, and how long it is meant to hold [s].
        v, acceleration: velocity and acceleration (nv,) there.
        slips: J_t (k, nv) of the slips.
        parts: K_0, K_1, K_2 and L_j, in one array (3 + k, .).
        accuracy: by which velocities may miss those of the mode, at most [m/s, rad/s].
        evaluations: of the equations of motion that it took.
    """

    arc: RigidArc
    t: float
    duration: float
    v: Array
    acceleration: Array
    slips: Array
    parts: Array
    accuracy: float
    evaluations: int

    def holds(self, t: float) -> bool:
        """Whether it speaks of a time [s]."""
        return self.t <= t <= self.t + LONGER * self.duration

    def at(self, t: float, v: Array, references: References) -> Accelerations:
        """Accelerations and forces at a time [s] and a velocity (nv,), as `rigid_arc.accelerations` finds them."""
        arc = self.arc
        solved, rows, bias = self._parts(t, v)
        rates = rows @ v
        known = rates.tolist()
        directions = [slip_direction(arc, i, known, references) for i, _ in arc.slips]
        pushed = combine_with(arc, directions, arc.friction) @ solved[1:]
        held = rows[arc.constrained]
        matrix = held @ pushed.T
        _, _, negative, info = scipy.linalg.lapack.dgesv(matrix, held @ solved[0] + bias[arc.constrained])
        if info:
            raise SingularError(f"the contact constraints of mode {arc.mode} became dependent during an arc")

        def forces() -> Array:
            return forces_of(arc, negative, directions, arc.friction)

        def regularity() -> float:
            return regularity_of(held @ solved[1:][arc.constrained].T, matrix)

        return Accelerations(solved[0] - negative @ pushed, rates, forces, regularity=regularity)

    def is_off(self, t: float, v: Array, references: References, truth: Accelerations) -> bool:
        """Whether it misses the accelerations or the slips at a state by more than its accuracy."""
        found = self.at(t, v, references)
        missed = self.duration * float(np.abs(found.acceleration - truth.acceleration).max())
        return not max(missed, float(np.abs(found.rates - truth.rates).max())) <= self.accuracy

    def _parts(self, t: float, v: Array) -> _Parts:
        since = t - self.t
        s = since / self.duration
        weights = np.empty(len(self.parts))
        weights[:3] = 1.0, s, s * s
        weights[3:] = self.slips @ (v - self.v - since * self.acceleration)
        return _Parts.of(self.arc, weights @ self.parts)


def expanded(
    arc: RigidArc, t: float, x: Array, references: References, motion: Accelerations, duration: float, accuracy: float
) -> Expansion | None:
    """The expansion around a state for a time [s]; None where it would miss the velocities by more than `accuracy`.

    Args:
        arc: a mode in which forces are unique and contacts slip in their own directions.
        t, x: the state.
        references: slip directions there.
        motion: accelerations there.
        duration: for which it is to hold [s].
        accuracy: by which velocities may miss those of the mode at its end [m/s, rad/s].
    """
    try:
        return _expanded(_Tube(arc, t, x, motion.acceleration, duration), references, accuracy)
    except (SingularError, np.linalg.LinAlgError):  # where it is looked at; the run itself may not come there
        return None


@dataclass(frozen=True)
class _Tube:
    """The states that a mode may come to within some time, by constant acceleration but for the turn of slips."""

    arc: RigidArc
    t: float
    x: Array
    acceleration: Array
    duration: float

    def place(self, share: float, change: Array) -> tuple[float, Array, Array]:
        """Time, q and v at a share of the duration, with a change (nv,) of the velocity that grew evenly."""
        world, since = self.arc.world, share * self.duration
        v = world.v(self.x)
        moved = since * v + 0.5 * since**2 * self.acceleration + MIDDLE * self.duration * change
        q = self.arc.mechanism.space.integrate(world.q(self.x), moved)
        return self.t + since, q, v + since * self.acceleration + change

    def look(self, share: float, change: Array) -> Array:
        """M^-1 f, M^-1 J^T, J and J' v there, in one array."""
        t, q, v = self.place(share, change)
        terms = self.arc.terms(t, q, v)
        applied = self.arc.world.driving.applied_at(t, self.arc.world.moved(self.x, q, v))
        force = terms.force if applied is None else terms.force + applied
        solved = solve_mass(terms.mass, np.vstack([force, terms.rows]).T)
        return np.concatenate([solved.T.ravel(), terms.rows.ravel(), terms.bias])


def _expanded(tube: _Tube, references: References, accuracy: float) -> Expansion | None:
    arc, still = tube.arc, np.zeros(len(tube.acceleration))
    here, half, end = (tube.look(share, still) for share in (0.0, 0.5, 1.0))
    solved, rows, bias = _Parts.of(arc, here)
    free = [row for i, _ in arc.slips if i not in arc.held for row in range(arc.tangent[i].start, arc.tangent[i].stop)]
    turned = tube.duration * np.abs(rows[free] @ tube.acceleration + bias[free])
    if not turned.any():
        return None
    turned = np.maximum(turned, LEAST_TURN * turned.max())
    ways = _ways(solved[1:], rows, free, arc.constrained)
    lines = [(tube.look(0.0, size * way) - here) / size for way, size in zip(ways.T, turned, strict=True)]
    parts = np.array([here, 4.0 * half - 3.0 * here - end, 2.0 * (here + end) - 4.0 * half, *lines])
    v, evaluations = arc.world.v(tube.x).copy(), 4 + len(free)
    found = Expansion(arc, tube.t, tube.duration, v, tube.acceleration, rows[free], parts, accuracy, evaluations)
    t, q, v = tube.place(PROBE[0], PROBE[1] * ways @ turned)
    truth = accelerations(arc, t, arc.world.moved(tube.x, q, v), references)
    return None if found.is_off(t, v, references, truth) else found


def _ways(solved: Array, rows: Array, free: list[int], held: Array) -> Array:
    """Changes of the velocity (nv, k), of which each changes one of the `free` rows by one, and none that is held."""
    pushed, holding = solved[free], solved[held]
    pushed = pushed - np.linalg.solve(rows[held] @ holding.T, rows[held] @ pushed.T).T @ holding
    return np.linalg.solve(rows[free] @ pushed.T, pushed).T
