"""The closest points of two features from a rough normal, to rounding.

Over the unit normals that the slides allow, g(n) = n . (p_A - p_B) - r_A - r_B has the gradient Q^T (p_A - p_B) and the
second derivative -Q^T K Q, where Q spans what is left across n and the slides (see `equations`). Newton's method on
the sphere climbs to its maximum: K is positive definite there while the bodies are apart, or overlap by less than
their radii of curvature. Steps are halved until g grows, so that any normal on the side of A will do as a start.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ....common.arrays import Array
from ....errors import SingularError
from ...zero import ALONG, ROUGH
from .equations import Nearest, Pose, Side, side
from .features import Feature

ROUNDS = 60  # of Newton's method; some six do
HALVINGS = 40
EXACT = 4.0  # units of rounding of the places, below which the points are aligned with the normal


class Found(NamedTuple):
    """Closest points, and how well they are determined.

    Attributes:
        nearest: the points.
        regularity: smallest relative radius of curvature K across the normal [m]: at zero a whole line touches;
            infinite where the slides leave the normal no freedom.
    """

    nearest: Nearest
    regularity: float


def closest(a: Feature, b: Feature, poses: tuple[Pose, Pose], towards: Array) -> Found:
    """Closest points of two features.

    Args:
        a, b: the features.
        poses: of their bodies (3, 3), (3,).
        towards: any vector (3,) on the side of the normal: from B to A.

    Raises:
        SingularError: the features run along each other, or the centres are the same: there is no one normal.
    """
    slides = np.concatenate([f.slides @ pose.R.T for f, pose in zip((a, b), poses, strict=True)])
    across = complement(slides)
    n = _unit(across @ (across.T @ towards))
    sides = _sides(a, b, poses, n)
    if len(across.T) > 1:
        n, sides = _climb(a, b, poses, n, sides, across)
    y = _slid(n, sides, a.offset + b.offset, len(slides))
    count, least = len(a.slides), _regularity(n, sides, y[3] + a.offset + b.offset, across)
    x_a = sides[0].p + y[4 : 4 + count] @ sides[0].D - a.offset * n
    x_b = sides[1].p + y[4 + count :] @ sides[1].D + b.offset * n
    return Found(Nearest(y, x_a, x_b), least)


def complement(slides: Array) -> Array:
    """Orthonormal directions (3, f) across all slides (k, 3).

    Raises:
        SingularError: two of them are parallel, or they leave no direction.
    """
    if not len(slides):
        return np.eye(3)
    _, values, right = np.linalg.svd(slides)
    if len(slides) > 2 or values[-1] < ALONG:
        raise SingularError("two lines or planes run along each other; their closest points are not unique")
    return right[len(slides) :].T


def _climb(
    a: Feature, b: Feature, poses: tuple[Pose, Pose], n: Array, sides: tuple[Side, Side], across: Array
) -> tuple[Array, tuple[Side, Side]]:
    """The normal of largest g among those that `across` (3, f) spans, and the sides there."""
    radii = a.offset + b.offset
    for _ in range(ROUNDS):
        apart = sides[0].p - sides[1].p
        tangents = _tangents(n, across)
        slope, g = tangents.T @ apart, float(n @ apart)
        if np.abs(slope).max() <= EXACT * _rounding(sides):
            return n, sides
        bend = tangents.T @ (sides[0].S + sides[1].S) @ tangents + g * np.eye(len(slope))
        values, vectors = np.linalg.eigh(bend)
        values = np.maximum(np.abs(values), np.finfo(float).eps * (np.abs(values).max() + radii))
        step = tangents @ (vectors @ ((vectors.T @ slope) / values))
        size = float(np.linalg.norm(step))
        step, gained = step / max(size, 1.0), False
        for _ in range(HALVINGS):
            trial = _unit(n + step)
            there = _sides(a, b, poses, trial)
            ahead = float(trial @ (there[0].p - there[1].p))
            if ahead > g - EXACT * _rounding(sides):
                gained = True
                break
            step = 0.5 * step
        if not gained:
            return n, sides
        n, sides = trial, there
        if size < ROUGH:  # the next turn would be rounding
            return n, sides
    return n, sides


def _slid(n: Array, sides: tuple[Side, Side], radii: float, count: int) -> Array:
    """y = (n, g, s): what is left of the cores' distance across n is taken up by the slides."""
    apart = sides[0].p - sides[1].p
    if not count:
        return np.append(n, float(n @ apart) - radii)
    columns = np.column_stack([n, -np.vstack([sides[0].D, -sides[1].D]).T])
    solved = np.linalg.lstsq(columns, apart, rcond=None)[0]
    return np.concatenate([n, [solved[0] - radii], solved[1:]])


def _regularity(n: Array, sides: tuple[Side, Side], distance: float, across: Array) -> float:
    tangents = _tangents(n, across)
    if not tangents.size:
        return float("inf")
    bend = tangents.T @ (sides[0].S + sides[1].S) @ tangents + distance * np.eye(tangents.shape[1])
    return float(np.abs(np.linalg.eigvalsh(bend)).min())


def _sides(a: Feature, b: Feature, poses: tuple[Pose, Pose], n: Array) -> tuple[Side, Side]:
    return side(a, poses[0], -n), side(b, poses[1], n)


def _tangents(n: Array, across: Array) -> Array:
    """Orthonormal directions (3, f - 1) among `across` perpendicular to n."""
    own = across.T @ n
    return across @ np.linalg.svd(own[None])[2][1:].T


def _rounding(sides: tuple[Side, Side]) -> float:
    return float(np.finfo(float).eps * max(np.abs(sides[0].p).max(), np.abs(sides[1].p).max(), np.finfo(float).tiny))


def _unit(vector: Array) -> Array:
    length = float(np.linalg.norm(vector))
    if length == 0.0:
        raise SingularError("the closest points have no normal: the centres are the same")
    return vector / length
