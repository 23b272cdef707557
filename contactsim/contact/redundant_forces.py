"""Forces of redundant contacts: among many that do the same, those farthest inside their cones.

Where contacts slip redundantly, forces that all keep them closed move them along the ground in different ways: a choice
that has to be named. Along arcs it is the smallest admissible ones, which change without a leap as the state does.
"""

from __future__ import annotations

from enum import Enum
from math import copysign, hypot, inf, sqrt
from operator import mul

import numpy as np

from ..common.arrays import Array
from ..common.lazy import NamedTuple
from .linear_algebra import kernel
from .modes import Mode
from .problem import ContactProblem, islands, rows_of
from .zero import EDGE, SMALLEST_FORCE, rounding

MOST_CUTS = 100  # of the way along which margins are looked at; two or three are the rule
CLOSEST = 4.0 * float(np.finfo(float).eps)  # relative accuracy of a zero; brentq takes no less
CLAMPED = 1e-6  # weight of small forces against their margin, where that has no bound; both relative


def least_margin(problem: ContactProblem, modes: tuple[Mode, ...], forces: Array) -> float:
    """The least of the cone margins; infinite where all contacts are open."""
    return min(cone_margins(problem, modes, forces), default=np.inf)


def cone_margins(problem: ContactProblem, modes: tuple[Mode, ...], forces: Array) -> list[float]:
    """Distance of the force of each closed contact from the edge of its cone, negative outside [N]."""
    margins = []
    for i, mode in enumerate(modes):
        if mode is Mode.OPEN:
            continue
        normal = float(forces[problem.normal(i)])
        if i < problem.count and i not in problem.lifted:
            margins.append(normal - problem.least(i))
        if mode is Mode.STICK and problem.widths[i]:
            margins.append(problem.static_friction[i] * normal - hypot(*forces[problem.tangent(i)]))
    return margins


class Wanted(Enum):
    """Which of many forces that keep the closed contacts closed."""

    SAME_MOTION = "of the largest margin: among those with the motion of the given ones, else among all"
    SMALLEST = "the smallest admissible ones where contacts that slip leave the motion a choice, else the same motion"
    WIDEST = "of the largest margin among all"


def admissible(
    problem: ContactProblem,
    modes: tuple[Mode, ...],
    forces: Array,
    basis: Array,
    rows: list[int],
    wanted: Wanted = Wanted.SAME_MOTION,
    enough: float = 0.0,
) -> Array:
    """Among all forces that keep the closed contacts closed, admissible ones.

    Contacts that slip redundantly leave the motion a choice, too (those that stick do not: where a symmetric form
    vanishes, so does its gradient). The smallest admissible forces go on from `forces`, the smallest of all, and depend
    on the state without a jump; so does the motion under them. Where none is admissible any more, those that break
    their cones least go on from them. Contacts that do not push each other's bodies are looked at apart, and left alone
    where their margins are positive.

    Args:
        problem: the contact problem.
        modes: of its contacts.
        forces: that obey the modes (m,).
        basis, rows: E and the rows that are held, see `GivenModes`.
        wanted: which of them.
        enough: least margin with which contacts are left alone [N].
    """
    for island in islands(problem, [i for i, mode in enumerate(modes) if mode is not Mode.OPEN]):
        own = tuple(mode if i in island else Mode.OPEN for i, mode in enumerate(modes))
        if least_margin(problem, own, forces) >= enough:
            continue
        moved = np.any(basis[rows_of(problem, island)] != 0.0, axis=0)
        forces = _admissible_alone(problem, own, forces, basis[:, moved], rows, wanted)
    return forces


def _admissible_alone(
    problem: ContactProblem, modes: tuple[Mode, ...], forces: Array, basis: Array, rows: list[int], wanted: Wanted
) -> Array:
    """`admissible` of contacts that push each other."""
    still = basis @ kernel(problem.delassus @ basis)
    free = basis @ kernel(problem.delassus[rows] @ basis) if Mode.SLIP in modes else still
    if wanted is Wanted.SMALLEST and free.shape[1] > still.shape[1]:
        least = smallest_admissible(problem, modes, forces, free)
        return largest_margin(problem, modes, forces, free) if least is None else least
    best = None
    for null in (free,) if wanted is Wanted.WIDEST or free is still else (still, free):
        if null.shape[1]:
            found = largest_margin(problem, modes, forces, null)
            if least_margin(problem, modes, found) >= -rounding(found):
                return found
            best = found if best is None else best
    return forces if best is None else best


def largest_margin(problem: ContactProblem, modes: tuple[Mode, ...], forces: Array, null: Array) -> Array:
    """Forces `forces` + `null` @ y whose least cone margin is largest: a small cone program.

    Variables (y, r); maximise r subject to mu_s lam_n - r in the second-order cone of lam_t, and lam_n >= r. Contacts
    that clamp a body may press as hard as they like: there r ends at the largest of `forces`, with a small y. Where the
    forces have one way to change, r is found along it.
    """
    if null.shape[1] == 1 and (highest := _highest(_along(problem, modes, forces, null[:, 0]))) is not None:
        return forces + highest * null[:, 0]
    from .cone_program import minimiser

    scale, width = _scale(problem, modes, forces), null.shape[1]
    blocks, limits, cones = _cones(problem, modes, forces / scale, null, scale)
    objective, matrix = _for_the_least(blocks, cones)
    best = minimiser(None, objective, matrix, limits, cones)
    if best is None:
        held = CLAMPED * np.diag(np.append(np.ones(width), 0.0))
        matrix, limits = np.vstack([matrix, -objective]), np.append(limits, 1.0)
        best = minimiser(held, objective, matrix, limits, [*cones, (False, 1)])
    return forces if best is None else forces + scale * (null @ best[:width])


def _for_the_least(blocks: Array, cones: list[tuple[bool, int]]) -> tuple[Array, Array]:
    """Objective and matrix of the program for (y, r) in which r, the least of the margins, is to be largest."""
    inwards = np.concatenate([np.eye(size)[0] for _, size in cones])
    return np.append(np.zeros(blocks.shape[1]), -1.0), -np.column_stack([blocks, -inwards])


class Widest(NamedTuple):
    """Forces whose least cone margin is largest.

    Attributes:
        forces: (m,).
        margin: the least of their margins [N].
        slope: (m,), the derivative of that by forces that move with what they depend on.
        by_friction: {contact: derivative by its coefficient of friction [N]}, of those that stick.
    """

    forces: Array
    margin: float
    slope: Array
    by_friction: dict[int, float]


def widest(problem: ContactProblem, modes: tuple[Mode, ...], forces: Array, null: Array) -> Widest | None:
    """Those of the largest margin among `forces` + `null` @ y, with its slope; None: it has no bound.

    With the multipliers z of the cones, and the rows C that take forces into them, the slope is C^T z: across `null`,
    so that it is the same along all forces that obey the equations of the mode as these change, whichever is
    followed (Danskin, The Theory of Max-Min, 1967).
    """
    from .cone_program import minimum

    scale = _scale(problem, modes, forces)
    rows, limits, cones = _cones(problem, modes, forces / scale, np.eye(len(forces)), scale)
    found = minimum(None, *_for_the_least(rows @ null, cones), limits, cones)
    if found is None:
        return None
    (*y, margin), multipliers = found
    best = forces + scale * (null @ np.array(y))
    first = np.cumsum([0, *(own for _, own in cones)])
    tops = [float(multipliers[k]) for k, (second, _) in zip(first.tolist(), cones, strict=False) if second]
    sticking = [i for i, mode in enumerate(modes) if mode is Mode.STICK and problem.widths[i]]
    by_friction = {i: top * float(best[problem.normal(i)]) for i, top in zip(sticking, tops, strict=True)}
    return Widest(best, scale * float(margin), multipliers @ rows, by_friction)


def smallest_admissible(problem: ContactProblem, modes: tuple[Mode, ...], forces: Array, null: Array) -> Array | None:
    """The smallest admissible forces `forces` + `null` @ y, where `forces` are the smallest of all; None if none is.

    "Smallest" is said of the unknowns: normal forces, and tangential ones of contacts that stick. So |y| is to be least
    with cone margins that are not negative, see `smallest_in_cones`.
    """
    from .smallest_in_cones import Cone, smallest_in_cones

    scale = _scale(problem, modes, forces)
    blocks, values, kinds = _cones(problem, modes, forces / scale, null, scale)
    ends = np.cumsum([size for _, size in kinds])[:-1]
    parts = zip(np.split(blocks, ends), np.split(values, ends), kinds, strict=True)
    y = smallest_in_cones([Cone(rows, own, second) for rows, own, (second, _) in parts], null.shape[1])
    return None if y is None else np.asarray(forces + scale * (null @ y))


class Edges(NamedTuple):
    """Cone margins that are zero, of forces by k unknowns: their gradients (j, k) and second derivatives (j, k, k).

    At the tip of a cone, where a margin has no gradient, each tangential force is held instead: `signed` (j,) says
    which rows are margins, that push one way.
    """

    gradients: Array
    curvatures: Array
    signed: Array

    def taken(self, chosen: Array) -> Edges:
        """Some of them."""
        return Edges(self.gradients[chosen], self.curvatures[chosen], self.signed[chosen])


def edges(problem: ContactProblem, modes: tuple[Mode, ...], forces: Array, basis: Array) -> Edges:
    """The edges of cones that `forces` (m,) lie on, for changes `basis` (m, k) @ u of them."""
    blocks, values, cones = _cones(problem, modes, forces, basis, 1.0)
    zero, start, width = EDGE * float(np.abs(forces).max(initial=0.0)), 0, basis.shape[1]
    gradients, curvatures, signed = list[Array](), list[Array](), list[bool]()
    for second, size in cones:
        rows, (top, *aside) = blocks[start : start + size], values[start : start + size]
        start, length = start + size, hypot(*aside)
        if top - length > zero:
            continue
        if second and length <= zero:
            gradients += [*rows[1:]]
            curvatures += [np.zeros((width, width))] * (size - 1)
            signed += [False] * (size - 1)
            continue
        along = np.array(aside) / length if second else np.zeros(0)
        inwards = along @ rows[1:] if second else np.zeros(width)
        across = rows[1:] - np.outer(along, inwards)
        gradients.append(rows[0] - inwards)
        curvatures.append(-across.T @ across / (length or 1.0))
        signed.append(True)
    return Edges(
        np.array(gradients).reshape(-1, width),
        np.array(curvatures).reshape(-1, width, width),
        np.array(signed, dtype=bool),
    )


def _scale(problem: ContactProblem, modes: tuple[Mode, ...], forces: Array) -> float:
    """What forces are divided by, so that a program is one of numbers of about one."""
    closed = rows_of(problem, [i for i, mode in enumerate(modes) if mode is not Mode.OPEN])
    return max(float(np.abs(forces[closed]).max()), max(problem.given, default=0.0), SMALLEST_FORCE)


def _cones(
    problem: ContactProblem, modes: tuple[Mode, ...], forces: Array, null: Array, scale: float
) -> tuple[Array, Array, list[tuple[bool, int]]]:
    """Rows (r, k) and values (r,) of what lies in the cones of the closed contacts, and (second-order or not, rows)."""
    blocks, values, cones = [], [], []
    for i, mode in enumerate(modes):
        if mode is Mode.OPEN:
            continue
        n, t = problem.normal(i), problem.tangent(i)
        if i < problem.count and i not in problem.lifted:
            blocks.append(null[n : n + 1])
            values.append(forces[n : n + 1] - problem.least(i) / scale)
            cones.append((False, 1))
        if mode is Mode.STICK and problem.widths[i]:
            mu = problem.static_friction[i]
            blocks.append(np.vstack([mu * null[n], null[t]]))
            values.append(np.append(mu * forces[n], forces[t]))
            cones.append((True, 1 + problem.widths[i]))
    return np.vstack(blocks), np.concatenate(values), cones


class _Margin(NamedTuple):
    """A cone margin a + b y - |c + d y| of forces that change along a line, or a + b y."""

    a: float
    b: float
    c: tuple[float, ...] = ()
    d: tuple[float, ...] = ()

    def at(self, y: float) -> float:
        normal = self.a + self.b * y
        return normal - hypot(*self._tangential(y)) if self.d else normal

    def slope(self, y: float) -> float:
        """Its derivative; at the tip of its cone that of the normal force."""
        if not self.d:
            return self.b
        tangential = self._tangential(y)
        size = hypot(*tangential)
        return self.b - (sum(map(mul, tangential, self.d)) / size if size > 0.0 else 0.0)

    def farthest_slope(self, sense: float) -> float:
        """Its derivative where y goes to plus or minus infinity."""
        return self.b - sense * hypot(*self.d)

    def top(self) -> float:
        """Where it is largest, of one that rises and falls, or where it begins to be level, but for rounding."""
        size = hypot(*self.d)
        lowest = -sum(map(mul, self.c, self.d)) / size**2
        left, fall = hypot(*self._tangential(lowest)), (size - self.b) * (size + self.b)
        if left == 0.0:
            return lowest
        return lowest + self.b * left / (size * sqrt(fall)) if fall > 0.0 else copysign(inf, self.b)

    def _tangential(self, y: float) -> list[float]:
        return [c + d * y for c, d in zip(self.c, self.d, strict=True)]


def _along(problem: ContactProblem, modes: tuple[Mode, ...], forces: Array, way: Array) -> list[_Margin]:
    """Margins of the forces `forces` + y `way`, as functions of y: see `cone_margins`."""
    blocks, values, cones = _cones(problem, modes, forces, way[:, None], 1.0)
    now, change, found, start = values.tolist(), blocks[:, 0].tolist(), [], 0
    for _, size in cones:
        aside = slice(start + 1, start + size)
        found.append(_Margin(now[start], change[start], tuple(now[aside]), tuple(change[aside])))
        start += size
    return found


def _highest(margins: list[_Margin]) -> float | None:
    """The y at which the least of the margins is largest; None where it has no bound.

    The least one is concave. Between a y where it rises and one where it falls it is looked at where the two that are
    the least ones there meet, or at the top of the one that is so at both.
    """
    if not min(m.farthest_slope(1.0) for m in margins) < 0.0 < max(m.farthest_slope(-1.0) for m in margins):
        return None
    (low, left), (high, right) = _beyond(margins, -1.0), _beyond(margins, 1.0)
    for _ in range(MOST_CUTS):
        y = min(max(left.top() if left is right else _meeting(left, right, low, high), low), high)
        here = _least(margins, y)
        if here.at(y) >= min(left.at(y), right.at(y)):
            falls, rises = left.slope(y) < 0.0, right.slope(y) > 0.0
            if left is right or not (falls or rises):
                return y
            here = left if falls else right
        if here.slope(y) > 0.0:
            low, left = y, here
        else:
            high, right = y, here
    return None


def _least(margins: list[_Margin], y: float) -> _Margin:
    return min(margins, key=lambda margin: margin.at(y))


def _beyond(margins: list[_Margin], sense: float) -> tuple[float, _Margin]:
    """A y behind the place where the least margin is largest, and the margin that is the least one there."""
    size = max(abs(m.a) + hypot(*m.c) for m in margins)
    y = sense * (size or 1.0) / max(abs(m.b) + hypot(*m.d) for m in margins)
    while (least := _least(margins, y)).slope(y) * sense >= 0.0:
        y *= 2.0
    return y, least


def _meeting(left: _Margin, right: _Margin, low: float, high: float) -> float:
    """Where two margins are the same, of which the one is the lower one at `low`, the other one at `high`.

    That is one of these places where rounding has it the other way round there: they meet in it.
    """
    if not left.d and not right.d:
        return (right.a - left.a) / (left.b - right.b)
    if left.at(low) >= right.at(low):
        return low
    if left.at(high) <= right.at(high):
        return high
    from scipy.optimize import brentq

    return float(brentq(lambda y: left.at(y) - right.at(y), low, high, xtol=SMALLEST_FORCE, rtol=CLOSEST))
