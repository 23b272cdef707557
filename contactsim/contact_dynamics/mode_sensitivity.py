"""First derivatives of the motion in one mode, and of an impact with its outcome held."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..common.arrays import Array
from ..common.lazy import dataclass
from ..contact.linear_algebra import kernel, pseudo_inverse, solve_mass
from ..contact.redundant_forces import Edges
from ..multibody.mechanism import Differentiated
from .zero import SINGULAR, SMALLEST


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

    def solve(self, force: Array, motion: Array, loose: Loose | Evenly | None = None) -> tuple[Array, Array]:
        """Derivatives (n, K) of a and (m, K) of lam, for derivatives F (n, K) of the force and c (m, K) of the motion.

        Args:
            force: derivative of the force, with what is known of the directions' turning.
            motion: derivative of all rows of the motion with a held.
            loose: for redundant constraints, how the smallest forces change within the null space, or those of contacts
                that yield alike; without it the change there, which leaves the motion of sticking contacts as it is,
                is left out.

        Raises:
            LinAlgError: the equations do not tell slip directions, as of contacts that slip without speed.
        """
        if not len(self.constrained) and not self.turns:
            return solve_mass(self.mass, force), np.zeros((len(self.rows), force.shape[1]))
        held, directions, speeds = self.matrices()
        width = force.shape[1]
        solved = solve_mass(self.mass, np.hstack([force, self.rows.T @ directions.T]))
        matrix = held @ solved[:, width:] - np.diag(speeds)
        right = -self.held(motion) - held @ solved[:, :width]
        unknowns = self._redundantly(matrix, right, loose) if self.redundant else np.linalg.solve(matrix, right)
        return solved[:, :width] + solved[:, width:] @ unknowns, directions.T @ unknowns

    def matrix(self) -> Array:
        """A = C M^-1 D^T (k, k), of the slip directions held."""
        return np.asarray(self.rows[self.constrained] @ solve_mass(self.mass, self.rows.T @ self.combine.T))

    def motion_is_a_choice(self) -> bool:
        """Whether forces that differ within the null space of A move the contacts differently, as where these slip."""
        moved = self.rows @ solve_mass(self.mass, self.rows.T @ self.combine.T)
        null = kernel(moved[self.constrained])
        return bool(np.abs(moved @ null).max(initial=0.0) > SMALLEST * np.abs(moved).max(initial=0.0))

    def _redundantly(self, matrix: Array, right: Array, loose: Loose | Evenly | None) -> Array:
        """Derivatives of the forces that act of many, and of the directions that turn with them."""
        k = len(self.constrained)
        if isinstance(loose, Evenly):
            base, slope = loose.moved(matrix[:k, :k], right[:k], matrix[:k, k:])
        else:
            inverse = pseudo_inverse(matrix[:k, :k])
            base, slope = inverse @ right[:k], -inverse @ matrix[:k, k:]
            if loose is not None:
                base, slope = loose.moved(matrix[:k, :k], inverse, base, slope)
        turning = matrix[k:, k:] + matrix[k:, :k] @ slope
        if len(turning) and np.linalg.cond(turning) > SINGULAR:
            raise np.linalg.LinAlgError("slip directions are not told")
        turns = np.linalg.solve(turning, right[k:] - matrix[k:, :k] @ base)
        return np.vstack([base + slope @ turns, turns])


@dataclass(frozen=True)
class Evenly:
    """How impulses change that are shared as by contacts that yield alike: A u = b, U^T u = 0, with U^T C = 0.

    See `contactsim.contact.even_sharing`. With u = C z, U^T du = U^T dC z.

    Attributes:
        null: U (k, d).
        turned: U^T dC z (d, K) by the state.
    """

    null: Array
    turned: Array

    @staticmethod
    def of(equations: ModeEquations, unknowns: Array, moved: Callable[[Array], Array]) -> Evenly | None:
        """The same of impulses u (k,), with `moved` z (n,) -> dC z (k, K); None where these are shared otherwise."""
        held = equations.rows[equations.constrained]
        pulled = solve_mass(equations.mass, held.T)
        null = kernel(held @ pulled)
        if np.abs(null.T @ unknowns).max(initial=0.0) > SMALLEST * np.abs(unknowns).max():
            return None
        return Evenly(null, null.T @ moved(pulled @ (pseudo_inverse(held @ pulled) @ unknowns)))

    def moved(self, matrix: Array, right: Array, turns: Array) -> tuple[Array, Array]:
        """Derivatives of u by the state (k, K) and by the turns (k, p), where A du + `turns` = `right`."""
        weight = float(np.abs(np.diag(matrix)).max())
        inverse = np.linalg.inv(matrix + weight * self.null @ self.null.T)

        def reached(given: Array) -> Array:
            return np.asarray(given - self.null @ (self.null.T @ given))

        return inverse @ (reached(right) + weight * self.null @ self.turned), -inverse @ reached(turns)


@dataclass(frozen=True)
class Loose:
    """How the smallest admissible forces change within the null space of A, where A u = b has many solutions.

    They are the smallest u with margins g(u) >= 0 of cones that they press against, with multipliers w,

        u = A^T y + P^T w,   A u = b,   g(u) = 0,   P = Dg(u),   w >= 0.

    Without any such margin du = A^+ (db - dA u) + (1 - A^+ A) dA^T A^+^T u (Golub and Pereyra 1973, eq. 4.12).

    Attributes:
        unknowns: u (k,).
        edges: the margins that are zero and are pressed against, with P.
        multipliers: w (j,).
        turned: A^+^T (u - P^T w) -> dA^T of that, (k, K) by the state and (k, p) by the turns.
    """

    unknowns: Array
    edges: Edges
    multipliers: Array
    turned: Callable[[Array], tuple[Array, Array]]

    @staticmethod
    def of(
        equations: ModeEquations, unknowns: Array, edges: Edges, turned: Callable[[Array], tuple[Array, Array]]
    ) -> Loose | None:
        """The same of forces; None where these are not the smallest admissible ones."""
        from scipy.optimize import nnls

        null = kernel(equations.matrix())
        size = float(np.abs(unknowns).max()) or 1.0
        pushes = null.T @ np.hstack([edges.gradients.T, -edges.gradients[~edges.signed].T])
        wanted = null.T @ unknowns / size
        if not pushes.shape[1]:
            pushed, left = np.zeros(0), float(np.linalg.norm(wanted))
        else:
            pushed, left = nnls(pushes, wanted)
        if left > SMALLEST:
            return None
        count = len(edges.signed)
        multipliers = size * pushed[:count]
        multipliers[~edges.signed] -= size * pushed[count:]
        pressed = (multipliers > 0.0) | ~edges.signed
        return Loose(unknowns, edges.taken(pressed), multipliers[pressed], turned)

    def moved(self, matrix: Array, inverse: Array, base: Array, slope: Array) -> tuple[Array, Array]:
        """Derivatives of u by the state (k, K) and by the turns (k, p), of what they are but for the null space.

        With Z that spans it, du = p + Z c, and W = -sum w D^2 g,

            Z^T (1 + W) (p + Z c) - Z^T P^T dw = Z^T dA^T y,   P (p + Z c) = 0.
        """
        by_state, by_turns = self.turned(inverse.T @ (self.unknowns - self.edges.gradients.T @ self.multipliers))
        gradients, null = self.edges.gradients, kernel(matrix)
        base, slope = base - null @ (null.T @ base), slope - null @ (null.T @ slope)
        bent = -np.tensordot(self.multipliers, self.edges.curvatures, axes=1)
        d, pressed = null.shape[1], gradients @ null
        system = np.block([[np.eye(d) + null.T @ bent @ null, -pressed.T], [pressed, np.zeros((len(pressed),) * 2)]])
        solved = pseudo_inverse(system)[:d]

        def within(given: Array, change: Array) -> Array:
            left = np.vstack([null.T @ (change - bent @ given), -gradients @ given])
            return np.asarray(given + null @ (solved @ left))

        return within(base, by_state), within(slope, by_turns)


def loose_forces(
    mechanism: Differentiated,
    t: float,
    q: Array,
    contacts: tuple[int, ...],
    equations: ModeEquations,
    pull: Array,
) -> tuple[Array, Array, Array]:
    """dA^T w with `pull` w (k,) held, for A = C M^-1 D^T: by q (k, n), by the turns (k, p), and y = M^-1 C^T w (n,).

    d(D M^-1 C^T) w = dD y + D M^-1 (dC^T w - dM y).
    """
    along = np.zeros(len(equations.rows))
    along[equations.constrained] = pull
    y = solve_mass(equations.mass, equations.rows.T @ along)
    inner = -mechanism.impulse_derivatives(t, q, y, contacts, along)
    still = mechanism.rate_derivatives(t, q, np.zeros_like(y), contacts)  # that of a moving ground
    moved = mechanism.rate_derivatives(t, q, y, contacts) - still
    by_state = equations.combine @ (moved + equations.rows @ solve_mass(equations.mass, inner))
    slip = equations.rows @ y
    by_turns = np.zeros((len(pull), len(equations.turns)))
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
