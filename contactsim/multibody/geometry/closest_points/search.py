"""The closest points of two features from a rough normal, to rounding.

Over the unit normals that the slides allow, g(n) = n . (p_A - p_B) - r_A - r_B has the gradient Q^T (p_A - p_B) and the
second derivative -Q^T K Q, where Q spans what is left across n and the slides (see `equations`). Newton's method on
the sphere climbs to its maximum: K is positive definite there while the bodies are apart, or overlap by less than
their radii of curvature. Steps are halved until g grows, so that any normal on the side of A will do as a start.

Rims of discs above straight lines have one angle to search for, wherever that begins. The normals of a straight edge,
and of the side of a cylinder or capsule, make one angle with its axis, n . b = s with s = 0 (of a cone s > 0), and
touch the planes n . x = n . c + r, with c a point of the axis. On this circle of normals

    n(f) = s b + sqrt(1 - s^2) (u cos f + v sin f)

with u, v across b. A rim with the centre c_A, the axis a and the radius R is above it by

    g(f) = n . (c_A - c) - R T - r,    T = sqrt(1 - h^2), h = n . a,

and nearest where g is largest: g' = n' . w + R h h' / T = 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ....common.arrays import Array
from ....common.lazy import dataclass
from ....errors import SimulationError, SingularError
from ...zero import ALONG, FLAT, ROUGH
from .equations import Nearest, Pose, Side, side
from .features import Circle, Feature

ROUNDS = 60  # of Newton's method; some six do
HALVINGS = 40
BESIDE = 1e-3  # rad: largest turn from the axis of a disc at which the search begins anew
NEAR_AXIS = 0.1  # sine to the axis of a disc below which steps past it are looked at
SETTLED = 1e-12  # rad: a turn that is rounding however near the axis of a disc, where turns count by the sine to that
KINK = 1e-13  # rad: from the axis of a disc, where g is largest on it
SAMPLES = 24  # normals around straight lines
AROUND = 2.0 * np.pi * np.arange(SAMPLES) / SAMPLES
TURNED = 1e-13  # rad: a step that is rounding
SIDEWAYS = 1e-9  # cosine to the axis of a rim of normals that are taken to be across it
TINY = 1e-30
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
        if not len(slides) and (beside := _off_axis(a, b, poses, n, sides)) is not None:
            n, sides = _climb(a, b, poses, beside, _sides(a, b, poses, beside), across)
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
    """The normal of largest g among those that `across` (3, f) spans, and the sides there.

    Raises:
        SimulationError: it was not found in ROUNDS steps.
    """
    radii, halfway = a.offset + b.offset, -np.inf
    for k in range(ROUNDS):
        apart = sides[0].p - sides[1].p
        tangents = _tangents(n, across)
        slope, g = tangents.T @ apart, float(n @ apart)
        halfway = g if k == ROUNDS // 2 else halfway
        if np.abs(slope).max() <= EXACT * _rounding(sides):
            return n, sides
        bend = tangents.T @ (sides[0].S + sides[1].S) @ tangents + g * np.eye(len(slope))
        values, vectors = np.linalg.eigh(bend)
        values = np.maximum(np.abs(values), np.finfo(float).eps * (np.abs(values).max() + radii))
        step = tangents @ (vectors @ ((vectors.T @ slope) / values))
        size = float(np.linalg.norm(step))
        if len(across.T) == 3 and (jump := _past_axis(a, b, poses, n, size)) is not None:
            there = _sides(a, b, poses, jump.n)
            if float(jump.n @ (there[0].p - there[1].p)) > g + EXACT * _rounding(sides):
                n, sides = jump.n, there
                if jump.flat:
                    return n, sides
                continue
            if jump.flat and np.abs(jump.n - n).max() <= SETTLED:  # n is on the kink already, where g is largest
                return n, sides
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
        if size < max(ROUGH * _least_sine(a, b, poses, n), SETTLED):  # the next turn would be rounding
            return n, sides
    if abs(float(n @ (sides[0].p - sides[1].p)) - halfway) <= ROUNDS * EXACT * _rounding(sides):
        return n, sides  # the distance has long been known to rounding, of which alone the normal turns
    raise SimulationError(
        f"the closest points of a {type(a).__name__.lower()} and a {type(b).__name__.lower()} were not found in"
        f" {ROUNDS} steps, of which the last one turned their normal by {size:.1e} rad; report the scene, and change"
        " the start a little"
    )


def _least_sine(a: Feature, b: Feature, poses: tuple[Pose, Pose], n: Array) -> float:
    """Sine of the smallest angle between n and the axis of a disc; 1: there is none."""
    axes = [pose.R @ f.axis for f, pose in zip((a, b), poses, strict=True) if isinstance(f, Circle)]
    return min((float(np.linalg.norm(np.cross(axis, n))) for axis in axes), default=1.0)


class _Jump(NamedTuple):
    """A normal by the axis of a disc; `flat`: g is largest on the axis, along which that normal is."""

    n: Array
    flat: bool


def _past_axis(a: Feature, b: Feature, poses: tuple[Pose, Pose], n: Array, size: float) -> _Jump | None:
    """Where a step of some size [rad] from n leads past the axis of a disc: the best normal by that.

    Steps would be halved again and again there: g rises beside the kink in a narrow sector alone. Of two discs the one
    whose axis is nearer counts: n may be on that.
    """
    nearest: tuple[float, int, Array] | None = None
    for number, (feature, pose) in enumerate(zip((a, b), poses, strict=True)):
        if isinstance(feature, Circle):
            axis = pose.R @ feature.axis
            axis = axis if axis @ n > 0.0 else -axis
            sine = float(np.linalg.norm(np.cross(axis, n)))
            if 0.0 < sine < min(NEAR_AXIS, size) and (nearest is None or sine < nearest[0]):
                nearest = sine, number, axis
    if nearest is None:
        return None
    sine, number, axis = nearest
    disc = (a, b)[number]
    assert isinstance(disc, Circle)
    beside = _beside(disc, poses[number], _sides(a, b, poses, axis)[1 - number], axis, 1.0 - 2.0 * (1 - number))
    if beside is None:
        return _Jump(_unit(axis + KINK / sine * (n - axis * (axis @ n))), True)
    return _Jump(beside, False)


def _off_axis(a: Feature, b: Feature, poses: tuple[Pose, Pose], n: Array, sides: tuple[Side, Side]) -> Array | None:
    """Where n is along the axis of a disc that the other feature is beside: a normal off that kink of g, uphill."""
    for feature, pose, other, sense in ((a, poses[0], sides[1], -1.0), (b, poses[1], sides[0], 1.0)):
        flat = isinstance(feature, Circle) and np.linalg.norm(np.cross(pose.R @ feature.axis, n)) < FLAT
        if isinstance(feature, Circle) and flat and (beside := _beside(feature, pose, other, n, sense)) is not None:
            return beside
    return None


def _beside(disc: Circle, pose: Pose, other: Side, n: Array, sense: float) -> Array | None:
    """From n along the axis of a disc: the normal near it of the largest g, if the other feature is beside the disc.

    With the part w across the axis of the way from the centre to the other feature, turns by a small angle t towards w
    (away from it, where the disc is that of A) change g by (|w| - R) t - K t^2 / 2, K the other feature's bend and the
    distance: it is largest at t = (|w| - R) / K, and no other direction is as good. Where |w| <= R, n itself is best.
    """
    axis, way = pose.R @ disc.axis, other.p - pose.o - pose.R @ disc.centre
    height, way = float(axis @ way), way - axis * (axis @ way)
    size = float(np.linalg.norm(way))
    if not size > disc.radius:
        return None
    way = sense / size * way
    bend = float(way @ other.S @ way) + abs(height)
    turn = (size - disc.radius) / bend if bend > 0.0 else BESIDE  # of a disc with the same axis the bend is no number
    return _unit(n + min(turn, BESIDE) * way)


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


# --- rims above straight lines ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Ruled:
    """A surface of straight lines: an edge, or the side of a cylinder or cone.

    Attributes:
        centre: c (3,), a point of its axis, of a cone its tip [m].
        axis: b (3,), unit; of a cone towards its tip.
        sine: s, of the angle between its normals and planes across the axis.
        radius: r of a cylinder [m].
    """

    centre: Array
    axis: Array
    sine: float = 0.0
    radius: float = 0.0

    @cached_property
    def frame(self) -> Array:
        """u, v and b (3, 3), one a row."""
        first = np.cross(self.axis, np.eye(3)[np.argmin(np.abs(self.axis))])
        first = first / np.linalg.norm(first)
        return np.array([first, np.cross(self.axis, first), self.axis])

    @cached_property
    def cosine(self) -> float:
        """sqrt(1 - s^2)."""
        return float(np.sqrt(1.0 - self.sine**2))

    def normal(self, angle: Array) -> Array:
        """n (..., 3) at angles f (...)."""
        u, v, b = self.frame
        around = np.cos(angle)[..., None] * u + np.sin(angle)[..., None] * v
        return np.asarray(self.sine * b + self.cosine * around)


class RimsAbove:
    """Rims above ruled surfaces, many at once.

    Args:
        surfaces: (k,).
        radii: R of the rims (k,) [m].
        ends: 1 or -1 (k,): the bodies of the rims are on the other side along their axes, so normals, which point into
            them, lie there; 0: on either side, that of a thin disc.
        leans: sines (k,) of the angles by which they may lean to this side, those of cones; none.
    """

    def __init__(self, surfaces: Sequence[Ruled], radii: Array, ends: Array, leans: Array | float = 0.0) -> None:
        self._frames = np.array([surface.frame for surface in surfaces]).reshape(-1, 3, 3)
        self._centres = np.array([surface.centre for surface in surfaces]).reshape(-1, 3)
        numbers = [(surface.sine, surface.cosine, surface.radius) for surface in surfaces]
        self._sine, self._cosine, self._radius = np.array(numbers).reshape(-1, 3).T
        self._rims, self._ends, self._leans = radii, ends, np.broadcast_to(leans, radii.shape)

    def nearest(self, centre: Array, axis: Array, own: Array) -> tuple[Array, Array]:
        """Angles (n,) of the normals at which some rims touch; nan: they lie flat, or have none on their side.

        Args:
            centre, axis: of the rims (n, 3), in axes of the bodies of the surfaces.
            own: which these are (n,).

        Returns:
            The angles, and the normals (n, 3) there.
        """
        way = (self._frames[own] @ (centre - self._centres[own])[..., None])[..., 0]
        lean = (self._frames[own] @ axis[..., None])[..., 0]
        bodies = self._rims[own], self._ends[own], self._leans[own]
        curve = _Curve(way, lean, self._sine[own], self._cosine[own], *bodies)
        angle = curve.highest()
        around = np.column_stack([np.cos(angle), np.sin(angle)]) * self._cosine[own, None]
        local = np.column_stack([around, self._sine[own]])
        return angle, (local[:, None, :] @ self._frames[own])[:, 0]


class _Curve(NamedTuple):
    """g over the angle: w and a (n, 3) in axes (u, v, b) of lines, sines and cosines; radii, ends and leans of rims."""

    way: Array
    lean: Array
    sine: Array
    cosine: Array
    radius: Array
    end: Array
    most: Array

    def height(self, angle: Array) -> Array:
        """g (n, m) + r at angles (n, m); -inf where normals lie on the wrong side of the rim."""
        C, S = self.cosine[:, None] * np.cos(angle), self.cosine[:, None] * np.sin(angle)
        n = np.stack([C, S, np.broadcast_to(self.sine[:, None], C.shape)], axis=-1)
        h, _, T = across_axis(n, self.lean[:, None])
        height = (n @ self.way[..., None])[..., 0] - self.radius[:, None] * T
        return np.where(self.end[:, None] * h > self.most[:, None] + SIDEWAYS, -np.inf, height)

    def slopes(self, angle: Array) -> tuple[Array, Array]:
        """g' and g'' (n,)."""
        C, S = self.cosine * np.cos(angle), self.cosine * np.sin(angle)
        w, a, R = self.way, self.lean, self.radius
        h, _, T = across_axis(np.column_stack([C, S, self.sine]), a)
        T = np.maximum(T, TINY)
        up, bent = C * a[:, 1] - S * a[:, 0], -C * a[:, 0] - S * a[:, 1]
        first = C * w[:, 1] - S * w[:, 0] + R * h * up / T
        second = -C * w[:, 0] - S * w[:, 1] + R * ((up * up + h * bent) / T + (h * up) ** 2 / T**3)
        return first, second

    def _rises_beyond(self, here: Array, first: Array, low: Array, high: Array) -> Array:
        """Mask (n,) of those that rise from here (n,) to the end of their bracket and on: g is largest at no angle.

        The best of the samples is the last one on its side of the rim then, beyond which normals lie on the wrong one.
        """
        end = np.where(first > 0.0, high, low)
        free = self._replace(end=np.zeros(len(end)))  # whatever the side
        both = free.height(np.column_stack([here, end]))
        return np.asarray((first * free.slopes(end)[0] > 0.0) & (both[:, 1] > both[:, 0]) & (end != here))

    def highest(self) -> Array:
        """The angles (n,) of the largest g, from the best of samples on; nan where g has an edge there."""
        toward = np.arctan2(self.lean[:, 1], self.lean[:, 0])[:, None]
        tried = np.hstack([np.broadcast_to(AROUND, (len(toward), SAMPLES)), toward, toward + np.pi])
        best = np.argmax(self.height(tried), axis=1)
        angle = tried[np.arange(len(tried)), best].copy()
        spread = 2.0 * np.pi / SAMPLES
        low, high, step = angle - spread, angle + spread, np.full(len(angle), np.inf)
        going = np.arange(len(angle))
        for _ in range(ROUNDS):
            part = _Curve(*(numbers[going] for numbers in self))
            here = angle[going]
            first, second = part.slopes(here)
            low[going] = np.where(first > 0.0, here, low[going])
            high[going] = np.where(first > 0.0, high[going], here)
            with np.errstate(all="ignore"):
                there = here - first / second
            newton = (second < 0.0) & (there >= low[going]) & (there <= high[going])
            if not newton.all():
                on = newton | ~part._rises_beyond(here, first, low[going], high[going])
                angle[going[~on]] = np.nan
                going, there, newton, here = going[on], there[on], newton[on], here[on]
            there = np.where(newton, there, 0.5 * (low[going] + high[going]))
            step[going] = np.where(newton, np.abs(there - here), np.inf)
            angle[going] = there
            going = going[step[going] > TURNED]
            if not len(going):
                return angle
        angle[going] = np.nan
        return angle


def across_axis(n: Array, axis: Array) -> tuple[Array, Array, Array]:
    """h = n . a (...), n - h a (..., 3), and its length (...), analytic, of unit vectors (..., 3)."""
    h = (n * axis).sum(axis=-1)
    across = n - h[..., None] * axis
    return h, across, np.sqrt((across * across).sum(axis=-1))
