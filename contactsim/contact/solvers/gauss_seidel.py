"""Gauss and Seidel's sweeps over the contacts of a contact problem: forces of moderate accuracy where others fail.

Contact by contact, the forces of all others held, the contact's own problem is solved,

    w_i = G_ii lam_i + r_i,   r_i = w_i(others),   Signorini's and Coulomb's laws between w_i and lam_i,

directly where it is open, sticks, or slips in a known direction, and else by the fixed point of
lam = P(lam - rho (w + mu |w_t| n)), P the projection onto the cone. The sweeps converge slowly but hardly ever run in
circles; what they are used for is to tell the modes, and forces where no linear system tells them.

Source: Jourdan, Alart and Jean, A Gauss-Seidel like algorithm to solve frictional contact problems, 1998; Acary and
    Brogliato, Numerical Methods for Nonsmooth Dynamical Systems, 2008, Sec. 13.7.
"""

from __future__ import annotations

from contextlib import suppress
from math import hypot

import numpy as np

from ...common.arrays import Array
from ...common.lazy import NamedTuple, dataclass, scipy
from ..compiled import Unknown
from ..limits import DRIFTING, INNER, RUNAWAY, SETTLING
from ..modes import Mode
from ..problem import ContactProblem, ContactSolution
from ..resting_friction import within
from ..zero import NOTHING, STILL, SWEPT
from .contract import ContactSolver, Start


@dataclass(frozen=True)
class GaussSeidel(ContactSolver):
    """Sweeps over the contacts, and those who go on from the modes of their forces.

    Attributes:
        rounds: numbers of sweeps, one after the other, behind each of which the modes are looked at.
        then: who is asked for the solution in these modes, in turn.
        after: sweeps before the first of them.
    """

    rounds: tuple[int, ...]
    then: tuple[ContactSolver, ...]
    after: int = 0

    def solve(self, problem: ContactProblem, start: Start) -> ContactSolution | None:
        """The first solution that one of `then` finds."""
        forces = swept(problem, self.after) if self.after else None
        for rounds in self.rounds:
            forces = swept(problem, rounds, forces)
            for modes in Start.read_off(problem, forces):
                for solver in self.then:
                    if (solution := solver.solve(problem, modes)) is not None:
                        return solution
        return None


@dataclass(frozen=True)
class Sweeps(ContactSolver):
    """Sweeps over the contacts, until their forces fulfil the laws themselves.

    Where contacts slip redundantly, the forces that are told by their modes need not be admissible, and which of the
    others act decides on how they slip. Any that fulfil all laws to rounding are a solution; none is told as unique.
    Where G is singular, forces drift along what moves nothing, straight on and by little a sweep, until a contact has
    none left: there the sweeps are led ahead, see `ahead`.

    Attributes:
        leaps: how often, at most.
    """

    leaps: int

    def solve(self, problem: ContactProblem, start: Start) -> ContactSolution | None:
        """That solution; None where the sweeps do not arrive at one, or contacts have given forces or resistances."""
        if problem.given or problem.hosts:
            return None
        first = swept(problem, SETTLING)
        best = least_broken(problem, first)
        for _ in range(self.leaps):
            second = swept(problem, DRIFTING, first)
            third = swept(problem, DRIFTING, second)
            best = min(best, least_broken(problem, third), key=lambda found: found.residual)
            if best.residual <= STILL:
                break
            first = swept(problem, SETTLING, ahead(problem, first, second, third))
        return best if best.residual <= SWEPT else None


def ahead(problem: ContactProblem, first: Array, second: Array, third: Array) -> Array:
    """Forces (m,) to which three behind equal numbers of sweeps lead, as far as no normal force ends before.

    Changes that shrink by q from one to the next sum up to q / (1 - q) of the last one (Aitken's extrapolation, along
    one direction as the slowest mode of the sweeps dominates); those that do not shrink go on to the end of a force.
    """
    before, change, normals = float(np.linalg.norm(second - first)), third - second, list(problem.starts)
    size = float(np.linalg.norm(change))
    pressed, lost = third[normals], -change[normals]
    ends = pressed[lost > 0.0] / lost[lost > 0.0]
    farthest = float(ends.min(initial=np.inf))
    if size < before:
        farthest = min(farthest, size / (before - size))
    return third + farthest * change if np.isfinite(farthest) else third


def least_broken(problem: ContactProblem, forces: Array) -> ContactSolution:
    """Each contact in the mode whose law its force and its motion break least."""
    motion, force, speed = problem.delassus @ forces + problem.free, problem.force(forces), problem.speed
    modes, directions = [], []
    for i, (slip, (n, t)) in enumerate(zip(problem.sliding, problem.rows, strict=True)):
        mu, pressed, rate = problem.friction[i], forces[n], hypot(*motion[t])
        if slip is None and rate > 0.0:
            slip = motion[t] / rate
        broken = {Mode.OPEN: hypot(pressed, *forces[t]) / force}
        if problem.sliding[i] is None:
            broken[Mode.STICK] = rate / speed + max(hypot(*forces[t]) - mu * pressed, 0.0) / force
        if slip is not None and problem.widths[i]:
            broken[Mode.SLIP] = hypot(*(forces[t] + mu * pressed * np.asarray(slip))) / force
        modes.append(min(broken, key=lambda mode: broken[mode]))
        directions.append(slip if modes[-1] is Mode.SLIP else None)
    return ContactSolution(problem, tuple(modes), forces, tuple(directions), unique=False)


def swept(problem: ContactProblem, rounds: int, forces: Array | None = None) -> Array:
    """Forces (m,) after `rounds` rounds over all contacts, from `forces` or from none."""
    matrix = problem.delassus
    forces = np.zeros(len(problem.free)) if forces is None else forces.copy()
    if problem.compiled is not None and (plain := problem.plain) is not None:
        with suppress(Unknown):
            return problem.compiled.swept(plain, rounds, forces)
    motion = matrix @ forces + problem.free
    bound = RUNAWAY * float(np.abs(problem.free).max()) / max(float(matrix.diagonal().min()), NOTHING)
    parts = [problem.part(i) for i in range(len(problem.dims))]
    contacts = [(part, matrix[:, part], _Contact.of(problem, i)) for i, part in enumerate(parts[: problem.count])]
    resisting = [_Resistance.of(problem, i) for i in range(problem.count, len(parts))]
    for _ in range(rounds):
        before = forces.copy()
        for resistance in resisting:
            motion += resistance.swept(matrix, motion, forces)
        for part, columns, contact in contacts:
            now = forces[part]
            found = contact.alone((motion[part] - columns[part] @ now).tolist(), now.tolist())
            change = found - now
            if change.any():
                forces[part] = found
                motion += columns @ change
        largest = np.abs(forces).max()
        if largest > bound:
            return before
        if np.abs(forces - before).max() <= STILL * largest:
            break
    return forces


class _Resistance(NamedTuple):
    """A resistance while the normal force of its host is held.

    Attributes:
        part: its rows.
        normal: the normal row of its host.
        friction: mu [m].
        slip: known slip direction; None: it is at rest.
    """

    part: slice
    normal: int
    friction: float
    slip: Array | None

    @classmethod
    def of(cls, problem: ContactProblem, i: int) -> _Resistance:
        """Resistance `i` of a problem."""
        slip = problem.sliding[i]
        known = None if slip is None else np.asarray(slip)
        return cls(problem.tangent(i), problem.normal(i), float(problem.friction[i]), known)

    def swept(self, matrix: Array, motion: Array, forces: Array) -> Array:
        """Give its own forces their new values; the change (m,) of the motion by it."""
        now, most = forces[self.part].copy(), max(self.friction * float(forces[self.normal]), 0.0)
        if self.slip is not None:
            found = -most * self.slip
        else:
            block = matrix[self.part, self.part]
            found = within(block, motion[self.part] - block @ now, most)
        forces[self.part] = found
        return matrix[:, self.part] @ (found - now)


class _Contact(NamedTuple):
    """One contact while all others are held.

    Attributes:
        block: G_ii (1 + d_t, 1 + d_t).
        friction: mu.
        least: the normal force that acts in any case.
        slip: known slip direction, without which it is empty.
        lift: normal motion by a unit of normal force with the friction of the slip.
        step: rho.
    """

    block: Array
    friction: float
    least: float
    slip: tuple[float, ...]
    lift: float
    step: float

    @classmethod
    def of(cls, problem: ContactProblem, i: int) -> _Contact:
        """Contact `i` of a problem."""
        block, mu = problem.delassus[problem.part(i), problem.part(i)], float(problem.friction[i])
        known: tuple[float, ...] = ()
        if problem.sliding[i] is not None:
            known = tuple(np.asarray(problem.sliding[i]).tolist())
        direction = [1.0, *(-mu * part for part in known)]
        lift = float(block[0, : len(direction)] @ direction)
        size = float(np.linalg.norm(block))
        return cls(block, mu, problem.least(i), known, lift, 1.0 / size if size > 0.0 else 0.0)

    def alone(self, rest: list[float], now: list[float]) -> list[float]:
        """Forces that solve the contact's own problem; those it has, `now`, where there are none."""
        if self.step == 0.0:
            return now  # no force moves it
        if len(rest) == 1:
            return [max(self.least, -rest[0] / self.lift)]
        if self.slip:
            if self.lift <= 0.0:
                return now  # friction turns it into the ground
            normal = max(self.least, -rest[0] / self.lift)
            return [normal, *[-self.friction * part * normal for part in self.slip]]
        if self.least == 0.0 and rest[0] >= 0.0:
            return [0.0] * len(rest)
        stuck = self._at_rest(rest)
        if stuck[0] >= self.least and hypot(*stuck[1:]) <= self.friction * stuck[0]:
            return stuck
        return self._sliding(rest, now) if len(rest) == 3 else self._sliding([*rest, 0.0], [*now, 0.0])[:2]

    def _at_rest(self, rest: list[float]) -> list[float]:
        """Forces that bring the contact to rest; the smallest ones where it cannot move in every direction."""
        right = -np.array(rest)
        _, _, forces, info = scipy.linalg.lapack.dgesv(self.block, right)
        if info:
            forces = np.linalg.lstsq(self.block, right, rcond=None)[0]
        return forces.tolist()

    def _sliding(self, rest: list[float], now: list[float]) -> list[float]:
        """The fixed point of the contact's forces, from `now`; its motion without them is `rest`.

        P takes the point of the cone that is nearest, its normal part no less than the one that acts in any case.
        """
        (a, b, c), (n, x, y) = rest, now
        mu, rho, least, table = self.friction, self.step, self.least, np.zeros((3, 3))
        table[: len(self.block), : len(self.block)] = self.block
        (nn, nx, ny), (xn, xx, xy), (yn, yx, yy) = table.tolist()
        for _ in range(INNER):
            u, v = xn * n + xx * x + xy * y + b, yn * n + yx * x + yy * y + c
            n -= rho * (nn * n + nx * x + ny * y + a + mu * hypot(u, v))
            x, y = x - rho * u, y - rho * v
            size = hypot(x, y)
            if size > mu * n:
                n = max((n + mu * size) / (1.0 + mu * mu), 0.0)
            n = max(n, least)
            if size > mu * n:
                x, y = x * (mu * n / size), y * (mu * n / size)
        return [n, x, y]
