"""Slip directions of contacts that begin to slip: w_t = kappa s with kappa >= 0 and lam_t = -mu lam_n s.

In the plane a direction is a sign. In space Newton's method turns all directions until each is that of its own motion;
where it fails they are turned one by one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import atan2, cos, hypot, pi, sin
from typing import Protocol

import numpy as np

from ...common.arrays import Array
from ...common.lazy import NamedTuple, scipy
from ..limits import AGREEMENTS, FARTHEST_TURN, FOLLOWED, LEAP, NEWTON_STEPS, ON_CIRCLE, QUICK_STEPS, STALLED_TURN
from ..modes import Mode
from ..problem import ContactProblem, Direction
from ..redundant_forces import least_margin
from ..zero import ACROSS, ACROSS_SINGULAR, CREEP, NOTHING, TOLERANCE, TURNED, rounding

ALIGNMENTS = 3  # rounds over the contacts in which each slip direction is turned alone, where Newton's method fails
COMPASS = 12  # directions tried in such a turn, where forces are not unique
SAMPLES = 5  # that tell a trigonometric polynomial of second degree
SAMPLED = [2.0 * pi * k / SAMPLES for k in range(SAMPLES)]


Directions = list[Direction] | Mapping[int, Array]  # of contacts, by their numbers
Factors = tuple[Array, Array]  # of a regular matrix: its triangular factors in one, and its pivots


class GivenForces(NamedTuple):
    """Forces in given modes and slip directions.

    Attributes:
        forces: lam (m,).
        unique: whether they are the only ones.
        basis: E (m, k), from unknowns to forces.
        factors: of the matrix of the unknowns; None where it is singular, or nothing is held.
    """

    forces: Array
    unique: bool
    basis: Array
    factors: Factors | None


class Equations(Protocol):
    """The linear system of a problem in given modes, for any slip directions."""

    @property
    def problem(self) -> ContactProblem:
        """The contact problem."""
        ...

    @property
    def modes(self) -> tuple[Mode, ...]:
        """Mode of each contact."""
        ...

    def forces(self, slips: list[Direction]) -> GivenForces:
        """Forces (m,) that make the constrained rows of the motion vanish."""
        ...

    def response(self, given: GivenForces, pushed: Array) -> Array:
        """Forces (m, p) that keep the constrained rows still where others move the contacts by `pushed` (m, p)."""
        ...

    def basis(self, slips: list[Direction]) -> tuple[Array, list[int]]:
        """The matrix E (m, k), and the k rows of the motion that must vanish."""
        ...

    def inside(self, forces: Array, slips: list[Direction], smallest: bool = False) -> Array:
        """Admissible forces beside redundant ones: of the largest margin, or the smallest where motion is a choice."""
        ...


def free_direction(problem: ContactProblem, i: int) -> Array:
    """Direction in which contact `i` would slip without forces."""
    tangential = problem.free[problem.tangent(i)]
    length = hypot(*tangential)
    return tangential / length if length > 0.0 else np.eye(problem.widths[i])[0]


def turned(
    equations: Equations,
    slips: list[Direction],
    unknown: list[int],
    given: GivenForces,
    quick: bool = False,
    held: bool = False,
) -> GivenForces:
    """Forces with each unknown direction in `slips` turned until it is that of its own motion; `given`: before that.

    With `held`, Newton's method may end where a contact moves against its direction, or is pulled: in a mode that is
    held, forces go on smoothly beyond its end. Without `quick`, directions are followed and then aligned one by one
    where Newton's method fails. Where all that fails, those are taken among what it led to whose contacts slip least
    off and against them: no solution, which those who look for modes refuse.
    """
    problem = equations.problem
    for i in (i for i in unknown if problem.widths[i] == 1):
        motion = problem.delassus @ given.forces + problem.free
        if float(motion[problem.tangent(i)] @ slips[i]) < -TOLERANCE * problem.speed:  # type: ignore[operator]
            slips[i] = -slips[i]  # type: ignore[operator]
            given = equations.forces(slips)
    spatial = [i for i in unknown if problem.widths[i] == 2]
    if not spatial:
        return given
    if quick:
        return _newton(equations, slips, spatial, given, QUICK_STEPS)[0]
    start = [slips[i] for i in spatial]
    given, arrived = _newton(equations, slips, spatial, given, backwards=held)
    arrived = arrived and (held or _press(problem, spatial, given.forces))
    tried = [_Tried.of(problem, slips, spatial, given)]
    if not arrived:
        for i, slip in zip(spatial, start, strict=True):
            slips[i] = slip
        _follow(equations, slips, spatial)
        given, arrived = _newton(equations, slips, spatial, equations.forces(slips))
        arrived = arrived and (held or _press(problem, spatial, given.forces))
        tried.append(_Tried.of(problem, slips, spatial, given))
    if not arrived:
        for _ in range(ALIGNMENTS):
            for i in spatial:
                _align(equations, slips, i)
        given, arrived = _newton(equations, slips, spatial, equations.forces(slips))
        if _Tried.of(problem, slips, spatial, given).against > TOLERANCE * problem.speed:
            given = _polished(equations, slips, spatial, given)
        tried.append(_Tried.of(problem, slips, spatial, given))
    if tried[-1].against > TOLERANCE * problem.speed:
        best = min(tried, key=lambda one: one.against)
        given, slips[:] = best.given, best.slips
    return given


def _press(problem: ContactProblem, contacts: list[int], forces: Array) -> bool:
    """Whether none of some contacts is pulled: near a pole of the forces there are directions on both sides of it."""
    least = min(float(forces[problem.normal(i)]) for i in contacts)
    return least >= -rounding(forces)


class _Tried(NamedTuple):
    """Slip directions, their forces, and the largest motion (off or against its direction) of a contact that slips."""

    against: float
    slips: list[Direction]
    given: GivenForces

    @classmethod
    def of(cls, problem: ContactProblem, slips: list[Direction], spatial: list[int], given: GivenForces) -> _Tried:
        along, across = _Tangents(problem, spatial).motion(slips, given.forces)
        against = max(hypot(min(a, 0.0), b) for a, b in zip(along, across, strict=True))
        return cls(against, list(slips), given)


def agreed(
    equations: Equations, slips: list[Direction], spatial: list[int], forces: Array, smallest: bool = False
) -> Array:
    """Admissible redundant forces whose motion has the slip directions that they were chosen with.

    Where contacts slip redundantly, which of the forces act decides on the motion along the ground. The directions are
    turned to those of the motion, and by Broyden's method where that turns them to and fro.
    """
    if not spatial:
        return forces
    problem = equations.problem
    off, turn, inverse = np.zeros(0), np.zeros(0), -np.eye(len(spatial))
    for _ in range(AGREEMENTS):
        motion = problem.delassus @ forces + problem.free
        aside = [float(_normal_to(slips[i]) @ motion[problem.tangent(i)]) for i in spatial]
        if max(map(abs, aside)) <= TOLERANCE * problem.speed:
            break
        before, off = off, _off(problem, slips, spatial, motion)
        if len(turn):
            change = inverse @ (off - before)
            inverse = inverse + np.outer(turn - change, turn @ inverse) / _nonzero(float(turn @ change))
        turn = np.array(_bounded((-inverse @ off).tolist()))
        _rotate(slips, spatial, turn.tolist())
        forces = equations.forces(slips).forces
        if least_margin(problem, equations.modes, forces) < 0.0:
            forces = equations.inside(forces, slips, smallest)
    return forces


def _off(problem: ContactProblem, slips: list[Direction], spatial: list[int], motion: Array) -> Array:
    """Angles (p,) from the slip directions to those of the motion [rad]."""
    angles = []
    for i in spatial:
        moved, slip = motion[problem.tangent(i)], slips[i]
        angles.append(atan2(float(_normal_to(slip) @ moved), float(slip @ moved)))  # type: ignore[operator]
    return np.array(angles)


def _nonzero(value: float) -> float:
    return value if abs(value) > NOTHING else NOTHING


def _newton(
    equations: Equations,
    slips: list[Direction],
    spatial: list[int],
    given: GivenForces,
    steps: int = NEWTON_STEPS,
    backwards: bool = False,
) -> tuple[GivenForces, bool]:
    """Newton's method on the angles of the slip directions in space, whose forces are `given`.

    Also says whether it converged, and unless they may go `backwards`, to where no contact slips against its direction.
    """
    problem = equations.problem
    tangents, farthest, stalled = _Tangents(problem, spatial), 1.0, False
    for step in range(steps + 1):
        along, across = tangents.motion(slips, given.forces)
        off, floor = max(map(abs, across)), (ACROSS if given.unique else ACROSS_SINGULAR) * problem.speed
        if step == steps or off <= floor or farthest < TURNED or stalled:
            break
        aside, pushed = tangents.turning(slips, given.forces)
        change = pushed[tangents.rows] + tangents.matrix @ equations.response(given, pushed)
        turn = _step(aside.T @ change, along, across)
        before, farthest = farthest, max(map(abs, turn))
        stalled = 0.5 * before < farthest < STALLED_TURN
        _rotate(slips, spatial, turn)
        given = equations.forces(slips)
    converged = off <= floor or farthest < TURNED or stalled
    if converged and (backwards or min(along) >= 0.0):
        return given, True
    limit = rounding(problem.delassus @ given.forces + problem.free)
    # Where slip begins at the edge of its cone, it begins without acceleration: known no better than the mode was.
    return given, (converged or off <= limit) and min(along) >= -max(limit, CREEP * problem.speed)


def farthest(before: Directions, slips: Directions, spatial: list[int]) -> float:
    """The largest turn [rad] of the slip directions of some contacts."""
    turns = [atan2(float(_normal_to(before[i]) @ slips[i]), float(before[i] @ slips[i])) for i in spatial]  # type: ignore[operator]
    return max(map(abs, turns), default=0.0)


def continued(equations: Equations, slips: list[Direction], spatial: list[int], before: Array) -> GivenForces | None:
    """Forces and slip directions together, from those of a state close by; None where that leads nowhere near.

        C (G E(s) y + w0) = 0,    s' . w_t = 0    (s' across s)

    Where contacts come to jam, the first of these becomes singular for given directions, and its forces have a pole at
    a direction beside the solution, which Newton's method on the directions alone must not step over. Both together
    are regular there: forces and directions stay smooth.

    Args:
        equations: those of the modes.
        slips: directions at the state close by, which are turned.
        spatial: contacts whose directions are to be found.
        before: forces (m,) there.
    """
    problem, tangents, begin = equations.problem, _Tangents(equations.problem, spatial), list(slips)
    basis, rows = equations.basis(slips)
    count, y, longest = len(rows), before[rows], np.inf
    for _ in range(QUICK_STEPS):
        forces = basis @ y
        along, across = tangents.motion(slips, forces)
        aside, pushed = tangents.turning(slips, forces)
        matrix = np.empty((count + len(spatial), count + len(spatial)))
        matrix[:count, :count], matrix[:count, count:] = problem.delassus[rows] @ basis, pushed[rows]
        matrix[count:, :count] = aside.T @ tangents.matrix @ basis
        matrix[count:, count:] = aside.T @ pushed[tangents.rows] - np.diag(along)
        _, _, step, info = scipy.linalg.lapack.dgesv(
            matrix, -np.concatenate([(problem.delassus @ forces + problem.free)[rows], across])
        )
        if info or not np.isfinite(step).all():
            return None
        y = y + step[:count]
        _rotate(slips, spatial, step[count:].tolist())
        basis = equations.basis(slips)[0]
        if farthest(begin, slips, spatial) > LEAP:
            return None
        change, turn = np.abs(step[:count]).max() / np.abs(y).max(), np.abs(step[count:]).max()
        previous, longest = longest, max(change, turn)
        if (change <= TOLERANCE**1.5 and turn < TURNED**0.75) or 0.5 * previous < longest < STALLED_TURN:
            return GivenForces(basis @ y, True, basis, None)
    return None


def _polished(equations: Equations, slips: list[Direction], spatial: list[int], given: GivenForces) -> GivenForces:
    """The forces, and the directions in `slips`, solved together: so close to a pole directions alone do not tell."""
    together = list(slips)
    found = continued(equations, together, spatial, given.forces) if given.unique else None
    if found is None:
        return given
    slips[:] = together
    return found


class _Tangents:
    """The tangential rows of some contacts in space, contact by contact."""

    def __init__(self, problem: ContactProblem, spatial: list[int]) -> None:
        self._normals = [problem.normal(i) for i in spatial]
        self.rows = [row for i in spatial for row in range(problem.tangent(i).start, problem.tangent(i).stop)]
        self.matrix, self._columns = problem.delassus[self.rows], problem.delassus[:, self.rows]
        self._free, self._spatial = problem.free[self.rows], spatial
        self._friction = [float(problem.friction[i]) for i in spatial]

    def motion(self, slips: list[Direction], forces: Array) -> tuple[list[float], list[float]]:
        """Motion of each contact along its slip direction, and across it."""
        motion = iter((self.matrix @ forces + self._free).tolist())
        along, across = [], []
        for i, x, y in zip(self._spatial, motion, motion, strict=True):
            a, b = slips[i].tolist()  # type: ignore[union-attr]
            along.append(a * x + b * y)
            across.append(a * y - b * x)
        return along, across

    def turning(self, slips: list[Direction], forces: Array) -> tuple[Array, Array]:
        """Unit vectors (2 p, p) across the slips, and the motion (m, p) by the friction that a turn of each adds."""
        aside, weights = np.zeros((len(self.rows), len(self._spatial))), []
        for k, (i, n, mu) in enumerate(zip(self._spatial, self._normals, self._friction, strict=True)):
            a, b = slips[i].tolist()  # type: ignore[union-attr]
            aside[2 * k, k], aside[2 * k + 1, k] = -b, a
            weights.append(-mu * float(forces[n]))
        return aside, self._columns @ (aside * weights)


def _step(jacobian: Array, along: list[float], across: list[float]) -> list[float]:
    """Turns of the slip directions in one step of Newton's method [rad]."""
    if len(along) == 1:
        slope = float(jacobian[0, 0]) - along[0]
        return _bounded([-across[0] / slope if slope else 0.0])
    matrix, right = jacobian - np.diag(along), -np.array(across)
    lu, _, turn, info = scipy.linalg.lapack.dgesv(matrix, right)
    if info or scipy.linalg.lapack.dgecon(lu, scipy.linalg.lapack.dlange("1", matrix))[0] <= ACROSS:
        turn = np.linalg.lstsq(matrix, right, rcond=ACROSS)[0]
    return _bounded(turn.tolist())


def _follow(equations: Equations, slips: list[Direction], spatial: list[int]) -> None:
    """Turn all slip directions some times to those of their motion, which leads to where contacts move along them."""
    problem = equations.problem
    for _ in range(FOLLOWED):
        motion = problem.delassus @ equations.forces(slips).forces + problem.free
        for i in spatial:
            slip = motion[problem.tangent(i)]
            size = hypot(*slip)
            if size > 0.0:
                slips[i] = slip / size


def _align(equations: Equations, slips: list[Direction], i: int) -> None:
    """Turn the slip direction of contact `i` alone, the others held, to where the contact moves along it.

    Of several directions that with a force that presses, and the fastest motion. Where forces are not unique there is
    no telling but by a look around.
    """
    problem, best, begin = equations.problem, (False, -np.inf), slips[i]
    found = begin
    angles = _roots(equations, slips, i)
    for angle in _changes(equations, slips, i) if angles is None else angles:
        slips[i] = np.array([cos(angle), sin(angle)])
        forces = equations.forces(slips).forces
        motion = (problem.delassus @ forces + problem.free)[problem.tangent(i)]
        rank = bool(forces[problem.normal(i)] >= 0.0), float(motion @ slips[i])  # type: ignore[operator]
        if rank > best:
            best, found = rank, slips[i]
    slips[i] = found


def _roots(equations: Equations, slips: list[Direction], i: int) -> list[float] | None:
    """Angles of the directions of contact `i` across which it does not move; None where forces are not unique.

    With the directions of the others, a normal force lam_n = r / (c + d . s) and a motion w_t = a + (b + B s) lam_n go
    with the direction s. So s' . w_t / lam_n, with s' across s, is a trigonometric polynomial of second degree, without
    the pole of lam_n: five values tell it, and it has four roots at most.
    """
    problem = equations.problem
    values = np.empty(SAMPLES)
    for k, angle in enumerate(SAMPLED):
        slips[i] = np.array([cos(angle), sin(angle)])
        given = equations.forces(slips)
        normal = float(given.forces[problem.normal(i)])
        if not given.unique or normal == 0.0:
            return None
        motion = (problem.delassus @ given.forces + problem.free)[problem.tangent(i)]
        values[k] = float(motion @ _normal_to(slips[i])) / normal
    harmonics = np.fft.fft(values)[[2, 1, 0, -1, -2]]  # of z^2 ... z^-2, z = exp(i angle)
    if not np.isfinite(values).all() or not np.any(harmonics):
        return None
    zeros = np.roots(harmonics)
    return [atan2(z.imag, z.real) for z in zeros.tolist() if abs(abs(z) - 1.0) <= ON_CIRCLE]


def _changes(equations: Equations, slips: list[Direction], i: int) -> list[float]:
    """The same angles roughly, where the motion across changes its sign from one of some directions to the next."""
    problem, wide = equations.problem, 2.0 * np.pi / COMPASS
    across = []
    for k in range(COMPASS + 1):
        slips[i] = np.array([cos(k * wide), sin(k * wide)])
        motion = (problem.delassus @ equations.forces(slips).forces + problem.free)[problem.tangent(i)]
        across.append(float(motion @ _normal_to(slips[i])))
    parts = enumerate(pairwise(across))
    return [(k + a / (a - b)) * wide for k, (a, b) in parts if a * b <= 0.0 and a != b]


def _bounded(turn: list[float]) -> list[float]:
    """Turns, all of them shortened where one is too far."""
    farthest = max(map(abs, turn))
    return turn if farthest <= FARTHEST_TURN else [angle * (FARTHEST_TURN / farthest) for angle in turn]


def _rotate(slips: list[Direction], spatial: list[int], turn: Sequence[float]) -> None:
    for angle, i in zip(turn, spatial, strict=True):
        slips[i] = _rotated(slips[i], angle)


def _rotated(direction: Direction, angle: float) -> Array:
    a, b = direction.tolist()  # type: ignore[union-attr]
    x, y = cos(angle) * a - sin(angle) * b, cos(angle) * b + sin(angle) * a
    size = hypot(x, y)
    return np.array([x / size, y / size])


def _normal_to(direction: Direction) -> Array:
    assert direction is not None
    return np.array([-direction[1], direction[0]])
