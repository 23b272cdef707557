"""First derivatives of the motion in one mode, and of an impact with its outcome held."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..common.arrays import Array
from ..contact.linear_algebra import pseudo_inverse, solve_mass
from ..multibody.mechanism import ContactMechanism

# (A^+)^T -> dA^T A^+^T u: (k, K) by the state and (k, p) by the turns
Loose = Callable[[Array], tuple[Array, Array]]


@dataclass(frozen=True)
class Turn:
    """A slip direction that is an unknown of its own: it follows the motion w_t = kappa s.

    Attributes:
        rows: tangential rows of the contact.
        normal_to: unit vector (2,) across the slip direction.
        unknown: which of the unknown forces is the normal force of the contact; None where that is given.
        friction: mu.
        pull: what a turn by one radian adds to the tangential force, along `normal_to`: -mu lam_n.
        speed: kappa, size of the motion.
    """

    rows: slice
    normal_to: Array
    unknown: int | None
    friction: float
    pull: float
    speed: float


@dataclass(frozen=True)
class ModeEquations:
    """The linear equations of one mode: M a - D^T u = F with C a + c = 0.

    At an impact v+ - v- stands for the acceleration a, and impulses for forces.

    Attributes:
        mass: M (n, n).
        rows: J (m, n) of the closed contacts.
        constrained: which rows are held, C = J[constrained].
        combine: (k, m), force directions D = combine J, so that lam = combine^T u.
        turns: slip directions that are unknown.
        redundant: whether the constraints depend on each other.
    """

    mass: Array
    rows: Array
    constrained: Array
    combine: Array
    turns: tuple[Turn, ...] = ()
    redundant: bool = False

    def matrices(self) -> tuple[Array, Array, Array]:
        """B (k + p, n) whose image is held, E (k + p, m) from unknowns to forces, and the diagonal K (k + p,)."""
        held, forces = [self.rows[self.constrained]], [self.combine]
        for turn in self.turns:
            direction = np.zeros((1, len(self.rows)))
            direction[0, turn.rows] = turn.normal_to
            held.append(direction @ self.rows)
            forces.append(turn.pull * direction)
        speeds = np.array([0.0] * len(self.constrained) + [turn.speed for turn in self.turns])
        return np.vstack(held), np.vstack(forces), speeds

    def held(self, motion: Array) -> Array:
        """Rows (k + p, ...) of a derivative of the motion (m, ...) that the mode holds at zero."""
        turning = [(turn.normal_to @ motion[turn.rows])[None] for turn in self.turns]
        return np.concatenate([motion[self.constrained], *turning])

    def solve(self, force: Array, motion: Array, loose: Loose | None = None) -> tuple[Array, Array]:
        """Derivatives (n, K) of a and (m, K) of lam, for derivatives F (n, K) of the force and c (m, K) of the motion.

        Args:
            force: derivative of the force, with what is known of the directions' turning.
            motion: derivative of all rows of the motion with a held.
            loose: for redundant constraints, how the smallest forces change within the null space; see `_smallest`.
        """
        if not len(self.constrained) and not self.turns:
            return solve_mass(self.mass, force), np.zeros((len(self.rows), force.shape[1]))
        held, directions, speeds = self.matrices()
        width = force.shape[1]
        solved = solve_mass(self.mass, np.hstack([force, self.rows.T @ directions.T]))
        matrix = held @ solved[:, width:] - np.diag(speeds)
        right = -self.held(motion) - held @ solved[:, :width]
        unknowns = self._smallest(matrix, right, loose) if self.redundant else np.linalg.solve(matrix, right)
        return solved[:, :width] + solved[:, width:] @ unknowns, directions.T @ unknowns

    def _smallest(self, matrix: Array, right: Array, loose: Loose | None) -> Array:
        """Derivatives of the smallest forces u = A^+ b, and of the directions that turn with them.

        du = A^+ (db - dA u) + (1 - A^+ A) dA^T A^+^T u (Golub and Pereyra 1973, eq. 4.12, where A u = b has solutions);
        without `loose` the last term, which leaves the motion of sticking contacts as it is, is left out.
        """
        k = len(self.constrained)
        inverse = pseudo_inverse(matrix[:k, :k])
        base, slope = inverse @ right[:k], -inverse @ matrix[:k, k:]
        if loose is not None:
            by_state, by_turns = loose(inverse.T)
            base = base + by_state - inverse @ (matrix[:k, :k] @ by_state)
            slope = slope + by_turns - inverse @ (matrix[:k, :k] @ by_turns)
        turns = np.linalg.solve(matrix[k:, k:] + matrix[k:, :k] @ slope, right[k:] - matrix[k:, :k] @ base)
        return np.vstack([base + slope @ turns, turns])


def loose_forces(
    mechanism: ContactMechanism,
    t: float,
    q: Array,
    contacts: tuple[int, ...],
    equations: ModeEquations,
    unknowns: Array,
    inverse: Array,
) -> tuple[Array, Array, Array]:
    """dA^T w with w = A^+^T u held, for A = C M^-1 D^T: by q (k, n), by the turns (k, p), and y = M^-1 C^T w (n,).

    d(D M^-1 C^T) w = dD y + D M^-1 (dC^T w - dM y).
    """
    along = np.zeros(len(equations.rows))
    along[equations.constrained] = inverse @ unknowns
    y = solve_mass(equations.mass, equations.rows.T @ along)
    inner = -mechanism.impulse_derivatives(t, q, y, contacts, along)
    still = mechanism.rate_derivatives(t, q, np.zeros_like(y), contacts)  # that of a moving ground
    moved = mechanism.rate_derivatives(t, q, y, contacts) - still
    by_state = equations.combine @ (moved + equations.rows @ solve_mass(equations.mass, inner))
    slip = equations.rows @ y
    by_turns = np.zeros((len(unknowns), len(equations.turns)))
    for column, turn in enumerate(equations.turns):
        if turn.unknown is None:
            continue
        by_turns[turn.unknown, column] = -turn.friction * float(turn.normal_to @ slip[turn.rows])
    return by_state, by_turns, y


def turned(direction: Array, speed: float, rates_x: Array) -> Array:
    """Derivative (2, K) of a slip direction s = z / |z| (2,) from `rates_x` (2, K), that of z: (I - s s^T) / |z| dz."""
    return (rates_x - np.outer(direction, direction @ rates_x)) / speed


def across(direction: Array) -> Array:
    """Unit vector (2,) across a direction, a quarter turn on."""
    return np.array([-direction[1], direction[0]])
