"""The closest points of an ellipsoid and the side of a cone, or a rim, from nothing but where both are.

The side of a cone has the normals n(f) = s b + c (u cos f + v sin f), c = sqrt(1 - s^2), and is below the ellipsoid,
whose centre is at x from the tip, by g(f) = n . x - |D n|, largest where both are nearest. A rim is nearest to the
ellipsoid at that of its points x which has the smallest signed distance: in axes of the ellipsoid the nearest point is
p_i = r_i^2 x_i / (r_i^2 + t), t the root of sum (r_i x_i / (r_i^2 + t))^2 = 1 above -min r_i^2, the distance
t |p / r^2|. Samples around either circle, closer and closer, are where Newton's method begins.
Source: D. Eberly, Distance from a Point to an Ellipse, an Ellipsoid, or a Hyperellipsoid, 2013.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ....common.arrays import Array
from .equations import Pose, root
from .features import Ellipsoid, Ring, Slant

ZOOMS = 3  # after which an angle is known to 2e-3 rad
SAMPLES = np.linspace(-1.0, 1.0, 25)
ROUNDS = 60  # of Newton's method to t; some ten do
CLOSE = 1e-9  # a step of it, relative to t, that is small enough to begin with


def on_slant(a: Ellipsoid, b: Slant, poses: tuple[Pose, Pose]) -> Array | None:
    """y (5,) of an ellipsoid above the side of a cone, see `equations`; None where they have no such points."""
    x, square = _seen(a, b.centre, poses)
    u, v = Ring(b.centre, b.axis, 1.0).frame
    cosine = np.sqrt(1.0 - b.sine**2)

    def normals(angles: Array) -> Array:
        around = np.cos(angles)[:, None] * u + np.sin(angles)[:, None] * v
        return np.asarray(b.sine * b.axis + cosine * around)

    def height(angles: Array) -> Array:
        n = normals(angles)
        return np.asarray(n @ x - np.sqrt(((n @ square) * n).sum(axis=1)))

    n = normals(np.array([_highest(height)]))[0]
    apart = x - square @ n / np.sqrt(n @ square @ n)
    (above, slide), *_ = np.linalg.lstsq(np.column_stack([n, b.axis]), apart, rcond=None)
    return root(a, b, poses, np.concatenate([poses[1].R @ n, [above + b.sine * slide, slide]]))


def on_ring(a: Ellipsoid, b: Ring, poses: tuple[Pose, Pose]) -> Array | None:
    """y (5,) of an ellipsoid and a rim, likewise."""
    turn = (poses[0].R @ a.axes).T
    centre = turn @ (poses[1].o + poses[1].R @ b.centre - poses[0].o - poses[0].R @ a.centre)
    u, v = (turn @ poses[1].R @ way for way in b.frame)

    def points(angles: Array) -> Array:
        return np.asarray(centre + b.radius * (np.cos(angles)[:, None] * u + np.sin(angles)[:, None] * v))

    angle = _highest(lambda angles: -_from_ellipsoid(points(angles), a.radii)[0])
    distance, outward = _from_ellipsoid(points(np.array([angle])), a.radii)
    return root(a, b, poses, np.concatenate([-turn.T @ outward[0], distance, [b.radius * angle]]))


def _seen(a: Ellipsoid, origin: Array, poses: tuple[Pose, Pose]) -> tuple[Array, Array]:
    """Centre (3,) of an ellipsoid from a point of B, and its D^2 (3, 3), in axes of B."""
    turn = poses[1].R.T @ poses[0].R
    axes = turn @ a.axes
    x = turn @ a.centre + poses[1].R.T @ (poses[0].o - poses[1].o) - origin
    return x, (axes * a.radii**2) @ axes.T


def _highest(height: Callable[[Array], Array]) -> float:
    """The angle about which a function of angles (n,) is largest."""
    middle, spread = 0.0, np.pi
    for _ in range(ZOOMS):
        angles = middle + spread * SAMPLES
        middle, spread = float(angles[int(np.argmax(height(angles)))]), spread * float(SAMPLES[1] - SAMPLES[0])
    return middle


def _from_ellipsoid(x: Array, radii: Array) -> tuple[Array, Array]:
    """Signed distances (n,) of points (n, 3) from an ellipsoid along the axes, and its normals (n, 3) there."""
    square, tiny = radii**2, np.finfo(float).eps * radii.min()
    # Left of the root, where one of the terms is 1: from there Newton's method climbs to it, the sum being convex.
    t = (radii * np.maximum(np.abs(x), tiny) - square).max(axis=1)
    for _ in range(ROUNDS):
        share = radii * x / (square + t[:, None])
        F, slope = (share**2).sum(axis=1) - 1.0, -2.0 * (share**2 / (square + t[:, None])).sum(axis=1)
        step = np.where(slope < 0.0, -F / np.where(slope < 0.0, slope, -1.0), 0.0)
        t = t + step
        if np.all(np.abs(step) <= CLOSE * np.maximum(np.abs(t), square.min())):
            break
    outward = x / (square + t[:, None])  # p / r^2
    size = np.linalg.norm(outward, axis=1)
    size = np.where(size > 0.0, size, 1.0)
    return t * size, outward / size[:, None]
