"""The equations of the closest points of two features, and how their solution moves.

With n the unit normal from body B to body A, the surface points are

    x_A = o_A + R_A (p_A(-R_A^T n) + s_A D_A) - r_A n,    x_B = o_B + R_B (p_B(R_B^T n) + s_B D_B) + r_B n,

and y = (n, g, s_A, s_B) solves F = 0: x_A - x_B = g n, (n . n - 1) / 2 = 0, n . d = 0 for each slide d. The gap g is
the signed distance, stationary in n: n . (x_A - x_B) is the largest over all normals while the bodies are apart.
Its derivative by y is, but for signs, the saddle matrix

    [ K  N ]    K = S_A + S_B + (r_A + r_B + g) 1,
    [ N^T 0 ]    N = (n, d, ...),

Of a cone, the balls r = -sigma s around the points of its axis that lie at s from the tip make its side, sigma the sine
of half the angle there: n . d = sigma then, for which sigma (n . n + 1) / 2 stands, so that the matrix is symmetric.
Along a rim d turns with the slide, and n . dd/ds stands in the last corner.

The matrix is regular where the features do not run along each other: N has full rank (no parallel edges), and K, the
radii of relative curvature, is not singular across N (no disc flat on a plane, no equal centres). Rates are those of
implicit functions, F_y y' = -F_t, with the bodies' twists V = (l, w) at the world's origin; second derivatives are a
complex step through the rates. Source: U. Dini, implicit functions; for distances D. Montana, The kinematics of contact
and grasp, 1988.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ....common.arrays import Array
from ...zero import ROUGH
from .features import Feature

ROUNDS = 12  # of Newton's method from a rough normal; three do
EPS = float(np.finfo(float).eps)
NEXT, LAST = np.array([1, 2, 0]), np.array([2, 0, 1])  # axis after each, and before it


class Pose(NamedTuple):
    """Axes R (..., 3, 3) and origin o (..., 3) of a body in the world."""

    R: Array
    o: Array


class Nearest(NamedTuple):
    """Closest points of two features.

    Attributes:
        y: n (..., 3), gap (..., 1) [m], then the slides of A and those of B [m], one after the other.
        x_a, x_b: the points (..., 3) on the surfaces [m].
    """

    y: Array
    x_a: Array
    x_b: Array

    @property
    def normal(self) -> Array:
        """From B to A (..., 3)."""
        return self.y[..., :3]

    @property
    def gap(self) -> Array:
        """Signed distance (...) [m]."""
        return self.y[..., 3]

    def slides(self, count_a: int) -> tuple[Array, Array]:
        """Those of A, of which there are `count_a`, and those of B [m]."""
        return self.y[..., 4 : 4 + count_a], self.y[..., 4 + count_a :]


class Side(NamedTuple):
    """One body at a normal and slides, in world axes.

    Attributes:
        p: the core (..., 3), with the slides.
        S: its bend (..., 3, 3).
        D, C: dp/ds and dD/ds (..., k, 3).
        r: radius (..., 1) around the core [m].
        sines: (k,) of the slides.
    """

    p: Array
    S: Array
    D: Array
    C: Array
    r: Array
    sines: Array


def side(feature: Feature, pose: Pose, m: Array, s: Array | None = None) -> Side:
    """A feature at the outward normal m (..., 3), world axes, and at slides s (..., k); None: zero."""
    R, o = pose
    local, back = turn_back(R, m), np.swapaxes(R, -1, -2)
    s = np.zeros((*m.shape[:-1], len(feature.sines))) if s is None else s
    shift, along, turning = feature.slid(s)
    return Side(
        o + turn(R, feature.core(local) + shift),
        R @ feature.bend(local) @ back,
        along @ back,
        turning @ back,
        feature.offset - (s * feature.sines).sum(axis=-1, keepdims=True),
        feature.sines,
    )


def sides_at(a: Feature, b: Feature, poses: tuple[Pose, Pose], y: Array) -> tuple[Side, Side]:
    """Both at y (..., 4 + k)."""
    n, count = y[..., :3], 4 + len(a.sines)
    return side(a, poses[0], -n, y[..., 4:count]), side(b, poses[1], n, y[..., count:])


def residual(sides: tuple[Side, Side], y: Array) -> tuple[Array, Array]:
    """F (..., 4 + k) and its derivative (..., 4 + k, 4 + k) by y, of both sides there."""
    one, two = sides
    n, g, count = y[..., :3], y[..., 3:4], y.shape[-1]
    around = g + one.r + two.r
    # The columns of the slides carry the signs of their bodies: x_A + s_A D_A - x_B - s_B D_B.
    slides, sines = np.concatenate([one.D, -two.D], axis=-2), np.concatenate([one.sines, two.sines])
    square = (n * n).sum(axis=-1, keepdims=True)
    leaning = turn(slides, n) + 0.5 * sines * (square + 1.0)
    F = np.concatenate([one.p - two.p - around * n, 0.5 * (square - 1.0), leaning], axis=-1)
    J = np.zeros((*y.shape[:-1], count, count), dtype=np.result_type(y, one.S, slides))
    J[..., :3, :3] = -one.S - two.S - around[..., None] * np.eye(3)
    columns = slides + sines[:, None] * n[..., None, :]
    J[..., :3, 3], J[..., 3, :3] = -n, n
    J[..., :3, 4:], J[..., 4:, :3] = np.swapaxes(columns, -1, -2), columns
    own = np.arange(4, count)
    J[..., own, own] = turn(np.concatenate([one.C, -two.C], axis=-2), n)
    return F, J


def root(a: Feature, b: Feature, poses: tuple[Pose, Pose], y: Array) -> Array | None:
    """The root near y (4 + k,), to rounding, where Newton's method finds it at once."""
    last = np.inf
    for _ in range(ROUNDS):
        F, J = residual(sides_at(a, b, poses, y), y)
        step = np.linalg.solve(J, F)
        y, size = y - step, float(np.abs(step[:3]).max())
        if size < ROUGH and (size >= last or size < EPS):
            return y
        last = size
    return None


Settled = tuple[Nearest, tuple[Side, Side], Array]  # closest points, sides and F_y there


def settled(a: Feature, b: Feature, poses: tuple[Pose, Pose], y: Array) -> Settled:
    """The solution near y by one step of Newton's method, exact to first order in what y is off; sides and F_y there.

    From a converged y at poses that carry a complex step it is the solution there.
    """
    F, J = residual(sides_at(a, b, poses, y), y)
    y = y - np.linalg.solve(J, F[..., None])[..., 0]
    sides, n = sides_at(a, b, poses, y), y[..., :3]
    return Nearest(y, sides[0].p - sides[0].r * n, sides[1].p + sides[1].r * n), sides, residual(sides, y)[1]


class Drift(NamedTuple):
    """Rates of a normal n' (..., 3) [1/s] and of the point x_A' (..., 3) on the surface of A [m/s]."""

    normal: Array
    x_a: Array


def drift(found: Settled, twists: tuple[Array, Array]) -> Drift:
    """How the closest points move with the bodies' twists V (..., 6), linear first, at the world's origin."""
    nearest, (one, two), J = found
    n, (l_a, w_a), (l_b, w_b) = nearest.normal, *(np.split(V, 2, axis=-1) for V in twists)
    core_a, core_b = nearest.x_a + one.r * n, nearest.x_b - two.r * n
    # At held y: the cores are carried along, and each body sees the normal turn by -w x n.
    moved_a = l_a + cross(w_a, core_a) + turn(one.S, cross(w_a, n))
    moved_b = l_b + cross(w_b, core_b) - turn(two.S, cross(w_b, n))
    turned = np.concatenate([turn(one.D, cross(n, w_a)), -turn(two.D, cross(n, w_b))], axis=-1)
    held = np.zeros((*n.shape[:-1], 1), dtype=n.dtype)
    y_rate = -np.linalg.solve(J, np.concatenate([moved_a - moved_b, held, turned], axis=-1)[..., None])[..., 0]
    n_rate, slid = y_rate[..., :3], y_rate[..., 4 : 4 + one.D.shape[-2]]
    thinner = (one.sines * slid).sum(axis=-1, keepdims=True)
    return Drift(n_rate, moved_a - turn(one.S, n_rate) + turn_back(one.D, slid) - one.r * n_rate + thinner * n)


def across_slants(b: Array, sine_b: float | Array, c: Array, sine_c: float | Array) -> tuple[Array, Array, Array]:
    """The normals n = u +- w from one cone to another where their sides cross, with the axes c and b (..., 3).

    With n . b = -s_b, n . c = s_c, d = b . c, D = 1 - d^2 and K^2 = D - s_b^2 - s_c^2 - 2 d s_b s_c,

        u = (-(s_b + d s_c) b + (s_c + d s_b) c) / D,    w = K b x c / D.

    Returns:
        u and w (..., 3), and K^2 (..., 1): where it is negative, one side is steeper than the other and w is none.
    """
    d = (b * c).sum(axis=-1, keepdims=True)
    D = 1.0 - d * d
    D = np.where(D.real > 0.0, D, 1.0)
    square = 1.0 - d * d - sine_b**2 - sine_c**2 - 2.0 * d * sine_b * sine_c
    level = (-(sine_b + d * sine_c) * b + (sine_c + d * sine_b) * c) / D
    return level, np.sqrt(np.where(square.real > 0.0, square, 1.0)) / D * cross(b, c), square


def turn(matrix: Array, vector: Array) -> Array:
    """A v (...,)."""
    return (matrix @ vector[..., None])[..., 0]


def turn_back(matrix: Array, vector: Array) -> Array:
    """A^T v (...,)."""
    return (vector[..., None, :] @ matrix)[..., 0, :]


def cross(a: Array, b: Array) -> Array:
    """a x b along the last axis, analytic."""
    return a.take(NEXT, -1) * b.take(LAST, -1) - a.take(LAST, -1) * b.take(NEXT, -1)
