"""A mechanism with closed loops: what an open one says of its motion, reduced to motions that keep the loops closed.

With the rows C of the loops, M a = f + tau + J^T lam + C^T kap and C a + C' v = 0. Eliminating kap gives

    M a = P^T (f + tau + J^T lam) - C^T Q C' v,    P = 1 - H C,  H = M^-1 C^T Q,  Q = (C M^-1 C^T)^+,

where P is the projector, orthogonal in the metric of M, onto the velocities with C v = 0. So the contact problem keeps
its form with the rows J P, and its Delassus matrix is J P M^-1 P^T J^T: that of the inverse mass which the loops leave.
Loops that say the same thing more than once share their forces in least squares (Featherstone 2008, ch. 8; Udwadia and
Kalaba 1992 for the redundant case).
"""

from __future__ import annotations

import threading
from dataclasses import replace
from math import isfinite
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy.linalg.lapack import dsyev

from ...common.arrays import Array
from ...common.lazy import NamedTuple
from ...contact.linear_algebra import RANK, solve_mass
from ...errors import InputError, SingularError
from ...hybrid.system import LOOP
from ..mechanism import ContactMechanism, TermDerivatives, Terms
from ..zero import CLOSED, EXACT, OPEN
from .around import Around
from .loop_rows import LoopRows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..loops import Loop
    from ..plain_robot import PlainRobot
    from ..robot_model import RobotModel

NEWTON_STEPS = 200
LONGEST = 0.3  # longest step of Newton's method [rad, m]
HALVINGS = 20  # of such a step, until the loops are less open
SHAKES = (0.01, 0.1, 0.3, 0.3, 1.0, 1.0, 1.0)  # random moves from which closing is tried again [rad, m]
ASIDE = 1e-2  # how far aside a singular position is told from a regular one [rad, m]


class LoopProjector(NamedTuple):
    """The loops at one configuration: C (m, n), Q (m, m) and H (n, m)."""

    rows: Array
    inverse: Array
    lift: Array

    def transmitted(self, force: Array) -> Array:
        """P^T f, for generalised forces (n,) or (n, k)."""
        return force - self.rows.T @ (self.lift.T @ force)


class Found(threading.local):
    """Findings of a thread about the loops.

    Attributes:
        rank: of their rows where a run has started: trial steps must not change it.
        key, last: the configuration that was asked last, and the loops there.
    """

    def __init__(self, rank: int | None = None) -> None:
        self.rank, self.key = rank, b""
        self.last: LoopProjector | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.rank,)


class ClosedMechanism(Around):
    """A mechanism whose loops are closed.

    Terms hold off the closed states, too, as a smooth extension on which C v is constant; rows and velocities of
    contacts are those of the nearest motion that keeps the loops closed.

    Args:
        mechanism: the open mechanism, of the robot's tree of joints.
        robot: the robot.
        closures: what closes its loops.
    """

    has_loops = True

    def __init__(self, mechanism: ContactMechanism, robot: RobotModel, closures: Sequence[Loop]) -> None:
        self.inner, self.loops = mechanism, LoopRows(robot, closures)
        self.adopt(mechanism)
        self.trees = None  # loops join them
        self._still = np.zeros(self.nv)
        self._found = Found()
        self._plain: dict[int | None, PlainRobot] = {}

    @property
    def rank(self) -> int | None:
        """The rank of the rows of the loops where a run of this thread has started; None: no run has."""
        return self._found.rank

    @property
    def plain_robot(self) -> PlainRobot | None:
        """Plain arrays of the open mechanism, and what closes its loops."""
        open_ = self.inner.plain_robot
        if open_ is None:
            return None
        found = self._plain.get(self.rank)
        if found is None:
            found = self._plain[self.rank] = replace(open_, loops=self.loops.plain(self.rank))
        return found

    def keep_rank_of(self, other: ContactMechanism) -> None:
        """Take over the rank of the loops that another one has found where its run started."""
        if isinstance(other, ClosedMechanism):
            self._found.rank = other._found.rank

    # --- the loops at one configuration -----------------------------------------------------------------------

    def _hold(self, q: Array, mass: Array, rows: Array) -> LoopProjector:
        key = q.tobytes()
        if self._found.last is None or key != self._found.key:
            solved = solve_mass(mass, rows.T)
            values, vectors = _eigen(rows @ solved)
            rank = self._found.rank if self._found.rank is not None else _rank(values)
            kept = vectors[:, len(values) - rank :]
            inverse = (kept / values[len(values) - rank :]) @ kept.T
            self._found.last, self._found.key = LoopProjector(rows, inverse, solved @ inverse), key
        return self._found.last

    def hold(self, q: Array) -> LoopProjector:
        """The loops at a configuration."""
        if self._found.last is None or q.tobytes() != self._found.key:
            self._hold(q, self.inner.terms(0.0, q, self._still, ()).mass, self.loops.rows(q))
        assert self._found.last is not None
        return self._found.last

    # --- equations of motion ----------------------------------------------------------------------------------

    def terms(self, t: float, q: Array, v: Array, contacts: tuple[int, ...]) -> Terms:
        """M, P^T f - C^T Q C' v, J P, and the rates and the bias that belong to them."""
        if self._found.rank is None and np.abs(self.loops.errors(q)).max() <= OPEN:  # of a run that another one began
            self._found.rank = self._rank_at(q)
        mass, force, rows, rates, bias = self.inner.terms(t, q, v, contacts)
        loops, drift = self.loops.motion(q, v)
        hold = self._hold(q, mass, loops)
        force = force - loops.T @ (hold.lift.T @ force + hold.inverse @ drift)
        if not len(rows):
            return Terms(mass, force, rows, rates, bias)
        across = rows @ hold.lift
        return Terms(mass, force, rows - across @ loops, rates - across @ (loops @ v), bias - across @ drift)

    def admissible_force(self, q: Array, force: Array) -> Array:
        """P^T f: what is left of generalised forces (nv,) or (nv, k) when the loops have taken up their part."""
        return self.hold(q).transmitted(force)

    def admissible_force_jacobian(self, q: Array, force: Array, force_x: Array) -> Array:
        """Derivative (nv, dim) of what moves the mechanism, by the state, with the acceleration held."""
        hold = self.hold(q)
        moved = force_x.copy()
        if self.loops.analytic:
            pull = -hold.lift.T @ force
            moved[:, : self.nv] += self.loops.derivatives(q, self._still, self._still, pull).pull_q
            return hold.transmitted(moved)
        fixed = self._along_q(lambda point: self.admissible_force(point, force), q)
        moved = hold.transmitted(moved)
        moved[:, : self.nv] += fixed
        return moved

    # --- derivatives ------------------------------------------------------------------------------------------

    def term_derivatives(
        self, t: float, q: Array, v: Array, a: Array, contacts: tuple[int, ...], forces: Array
    ) -> TermDerivatives:
        """Derivatives of the reduced equations of motion, from those of the open mechanism and of the loops.

        With kap held, M da = P^T (-dr + C^T_q kap dq + J^T dlam) - C^T Q d(C a + C' v), and J da likewise.
        """
        if not self.loops.analytic:
            return super().term_derivatives(t, q, v, a, contacts, forces)
        terms, hold = self.inner.terms(t, q, v, contacts), self.hold(q)
        pull = hold.lift.T @ (terms.mass @ a - terms.force - terms.rows.T @ forces)
        of = self.inner.term_derivatives(t, q, v, a, contacts, forces)
        loops = self.loops.derivatives(q, v, a, pull)
        across = terms.rows @ hold.lift
        return TermDerivatives(
            self._reduced(hold, of.residual_q - loops.pull_q, loops.motion_q),
            self._reduced(hold, of.residual_v, loops.motion_v),
            of.rates_q - across @ loops.rates_q,
            of.motion_q - across @ loops.motion_q,
            of.motion_v - across @ loops.motion_v,
        )

    def impulse_derivatives(self, t: float, q: Array, w: Array, contacts: tuple[int, ...], impulses: Array) -> Array:
        """Derivative (n, n) of M w - P^T J^T Lam by q, where that is zero and w keeps the loops closed."""
        if not self.loops.analytic:
            return super().impulse_derivatives(t, q, w, contacts, impulses)
        terms, hold = self.inner.terms(t, q, self._still, contacts), self.hold(q)
        pull = -hold.lift.T @ (terms.rows.T @ impulses)
        loops = self.loops.derivatives(q, w, self._still, pull)
        of = self.inner.impulse_derivatives(t, q, w, contacts, impulses)
        return self._reduced(hold, of - loops.pull_q, loops.rates_q)

    def rate_derivatives(self, t: float, q: Array, v: Array, contacts: tuple[int, ...]) -> Array:
        """Derivative (m, n) of the contact velocities by q: v turns with q so that the loops stay closed."""
        if not self.loops.analytic:
            return super().rate_derivatives(t, q, v, contacts)
        terms, hold = self.inner.terms(t, q, v, contacts), self.hold(q)
        loops = self.loops.derivatives(q, v, self._still, np.zeros(self.loops.size))
        return self.inner.rate_derivatives(t, q, v, contacts) - terms.rows @ (hold.lift @ loops.rates_q)

    def _reduced(self, hold: LoopProjector, residual: Array, motion: Array) -> Array:
        """P^T dr + C^T Q d(C a + C' v)."""
        return hold.transmitted(residual) + hold.rows.T @ (hold.inverse @ motion)

    # --- staying closed ---------------------------------------------------------------------------------------

    def is_closed(self, q: Array, v: Array, tolerance: float) -> bool:
        """True where the loops are closed, and stay so, within `tolerance` [m, m/s]."""
        off = max(float(np.abs(self.loops.errors(q)).max()), float(np.abs(self.loops.rows(q) @ v).max()))
        return off <= tolerance

    def on_loops(self, q: Array, v: Array, tolerance: float) -> tuple[Array, Array]:
        """The nearest closed state, in the metric of M; q and v themselves where they are within `tolerance`.

        Raises:
            SingularError: the loops came to a position in which their rows depend on each other.
        """
        hold = self.hold(q)
        errors = self.loops.errors(q)
        if (opening := float(np.abs(errors).max())) > tolerance:
            q = self.space.integrate(q, -hold.lift @ errors)
            if np.abs(self.loops.errors(q)).max() > max(0.5 * opening, tolerance):
                name, _ = _widest(self.loops.openings(q))
                raise SingularError(
                    f"the loop '{name}' came to a singular position, in which it cannot be kept closed; let the"
                    " mechanism stop short of it, by a joint limit or a controller"
                )
            hold = self.hold(q)
        slip = hold.rows @ v
        return q, v - hold.lift @ slip if np.abs(slip).max() > tolerance else v

    def close(self, q: Array, v: Array) -> tuple[Array, Array]:
        """A closed state near (q, v): Gauss and Newton's method in the metric of M, then v projected.

        Raises:
            InputError: the loops cannot be closed from there.
        """
        found = self._closed_near(q)
        rng = np.random.default_rng(0)
        for size in SHAKES:  # where bars lie in one line, the method sees no way to move
            if max(self.loops.openings(found).values()) <= CLOSED:
                break
            found = self._closed_near(self.space.integrate(q, size * rng.normal(size=self.nv)))
        name, left = _widest(self.loops.openings(found))
        if left > CLOSED:
            raise InputError(
                f"the loop '{name}' cannot be closed from this configuration: {left:.3g} {self.loops.unit(name)} are"
                " left; start nearer to a closed one, or check the offsets of the loop"
            )
        hold = self.hold(found)
        return found, v - hold.lift @ (hold.rows @ v)

    def _closed_near(self, q: Array) -> Array:
        """Configuration in which Gauss and Newton's method ends, closed or not."""
        errors = self.loops.errors(q)
        floor = EXACT * max(1.0, float(np.abs(q).max(initial=0.0)))
        for _ in range(NEWTON_STEPS):
            if float(np.abs(errors).max()) <= floor:
                break
            moved, errors_then = self._towards(q, errors)
            if not np.linalg.norm(errors_then) < np.linalg.norm(errors):
                break
            q, errors = moved, errors_then
        return q

    def _towards(self, q: Array, errors: Array) -> tuple[Array, Array]:
        """A step of Gauss and Newton's method, shortened until the loops are less open."""
        step = -self.hold(q).lift @ errors
        step *= min(1.0, LONGEST / max(float(np.abs(step).max()), LONGEST))
        for _ in range(HALVINGS):
            moved = self.space.integrate(q, step)
            errors_then = self.loops.errors(moved)
            if np.linalg.norm(errors_then) < np.linalg.norm(errors):
                break
            step *= 0.5
        return moved, errors_then

    def begin(self, q: Array, v: Array) -> None:
        """Take a state as a start: the loops must be closed there, in a position that is not singular.

        Raises:
            InputError: a loop is open, opens, or is at a singular position.
        """
        self.validate(q)
        remedy = "start from system.close(q, v), the nearest state that closes it"
        name, opening = _widest(self.loops.openings(q))
        if opening > OPEN:
            wide = f"{opening:.3g} {self.loops.unit(name)}"
            raise InputError(f"the loop '{name}' is open by {wide} at the start; {remedy}")
        speeds = np.abs(self.loops.rows(q) @ v)
        row = int(np.argmax(speeds))
        if speeds[row] > OPEN:
            name = next(name for name, part in zip(self.loops.names, self.loops.parts, strict=True) if row < part.stop)
            speed = f"{speeds[row]:.3g} {self.loops.unit(name, '/s')}"
            raise InputError(f"the loop '{name}' opens with {speed} at the start; {remedy}")
        self._found.rank = None
        q, _ = self.close(q, v)
        rank = self._rank_at(q)
        asides = self._aside(q)
        held = any(np.abs(self.space.difference(q, aside)).max() < 0.5 * ASIDE for aside in asides)
        if held or any(self._rank_at(aside) > rank for aside in asides):
            raise InputError(
                f"the loop '{name}' starts in a singular position, from which it may go on in more than one way or not"
                " at all; turn it a little, and close it with system.close(q, v)"
            )
        self._found.rank, self._found.last = rank, None

    def _rank_at(self, q: Array) -> int:
        mass, rows = self.inner.terms(0.0, q, self._still, ()).mass, self.loops.rows(q)
        return _rank(_eigen(rows @ solve_mass(mass, rows.T))[0])

    def _aside(self, q: Array) -> list[Array]:
        """Closed configurations on both sides of one, along a motion of the closed mechanism; itself where none is."""
        way = np.random.default_rng(0).normal(size=self.nv)
        hold = self.hold(q)
        way -= hold.lift @ (hold.rows @ way)
        size = float(np.abs(way).max())
        if size < ASIDE:  # nothing can move
            return []
        found = []
        for sign in (1.0, -1.0):
            aside = self._closed_near(self.space.integrate(q, sign * ASIDE / size * way))
            closed = max(self.loops.openings(aside).values()) <= CLOSED
            found.append(aside if closed else q)
        return found

    def admissible(self, q: Array, v: Array) -> Array:
        """Basis (2 nv, k) of the variations (dq, dv) that keep the loops closed: C dq = 0 and C dv + (C v)_q dq = 0."""
        hold = self.hold(q)
        n = self.nv
        if self.loops.analytic:
            turned = self.loops.derivatives(q, v, self._still, np.zeros(self.loops.size)).rates_q
        else:
            turned = self._along_q(lambda point: self.loops.rows(point) @ v, q)
        directions, values, _ = np.linalg.svd(np.eye(n) - hold.lift @ hold.rows)
        free = directions[:, values > 0.5]
        basis = np.zeros((2 * n, 2 * free.shape[1]))
        basis[:n, : free.shape[1]] = free
        basis[n:, : free.shape[1]] = -hold.lift @ (turned @ free)
        basis[n:, free.shape[1] :] = free
        return basis

    # --- what users see ---------------------------------------------------------------------------------------

    def loop_forces(
        self, t: float, q: Array, v: Array, a: Array, contacts: tuple[int, ...], forces: Array, applied: Array | None
    ) -> dict[str, Array]:
        """{loop: force on its first body (3,) [N], with a moment about its origin (6,) [N m], in world axes}."""
        terms = self.inner.terms(t, q, v, contacts)
        rest = terms.mass @ a - terms.force - terms.rows.T @ forces
        return self.loops.wrenches(q, self.hold(q).lift.T @ (rest if applied is None else rest - applied))

    def loop_impulses(self, t: float, q: Array, contacts: tuple[int, ...], impulses: Array) -> dict[str, Array]:
        """{loop:NAME: impulse on its first body} under contact impulses (m,) along the rows of `contacts`."""
        terms = self.inner.terms(t, q, self._still, contacts)
        pull = -self.hold(q).lift.T @ (terms.rows.T @ impulses)
        return {f"{LOOP}{name}": wrench for name, wrench in self.loops.wrenches(q, pull).items()}

    def within(self, regions: Mapping[int, tuple[int, ...]]) -> Self:
        """The same with the regions of some contacts held; it looks for its own places."""
        held = super().within(regions)
        if held is not self:
            held._found, held._plain = Found(self._found.rank), {}
        return held


def _eigen(matrix: Array) -> tuple[Array, Array]:
    """Eigenvalues, rising, and eigenvectors of C M^-1 C^T.

    Raises:
        SingularError: a trial step went so far that it is not finite.
    """
    if not isfinite(matrix.sum()):
        raise SingularError("the rows of the closed loops are not finite; take a smaller step")
    values, vectors, _ = dsyev(matrix)
    return values, vectors


def _rank(values: Array) -> int:
    return int(np.sum(values > RANK * max(float(values[-1]), 0.0)))


def _widest(openings: dict[str, float]) -> tuple[str, float]:
    name = max(openings, key=lambda loop: openings[loop])
    return name, openings[name]
