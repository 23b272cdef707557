"""Grounds that are the graph of a height, z = h(t, x, y): the nearest point of the surface, and the distance from it.

The nearest point p = (xi, h) of a sphere's centre c obeys c = p + phi n, with the unit normal n of the surface at p.
With tau = (t, xi), y = (t, c), w = sqrt(1 + h_x^2 + h_y^2) and N = (-h_t, -h_x, -h_y, 1) / w the distance has the
derivatives

    phi_y = N(tau),   phi_yy = N_tau tau_y,   phi_yyy = N_tautau tau_y tau_y + N_tau tau_yy,

where tau_y and tau_yy follow from the derivatives of xi = c_xy - phi n_xy. At a fixed time phi_cc is the shape operator
S (1 + phi S)^-1 of the surface that is phi away (do Carmo 1976, section 3-3; Gilbarg and Trudinger 2001, lemma 14.16).

Only near the ground is the nearest point unique. The gap of a sphere of radius r is phi - r up to the height `reach`
above (and depth below) its place on the ground; higher up it passes over to the vertical clearance times n_z, which
has the same zero and the same gradient there, and is smooth everywhere.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from math import hypot, inf
from typing import Any

import numpy as np

from ...common.arguments import FLAG, NOT_NEGATIVE, arguments
from ...errors import InputError, SingularError
from ..zero import ASIDE, FOUND, RELATIVE
from .plain_hills import PlainHills, PlainSinusoid, PlainSpline
from .surface import Array, Growth, Surface, Terrain, Third, finite

REACH = 0.4  # height above ground, in radii of curvature less that of the sphere, up to which gaps are distances
ITERATIONS = 40  # of Newton's method for the nearest point; from within the reach it needs about five
LONGEST = 0.5  # step of Newton's method, in radii of curvature
UNIT, LEVEL, SPACE = np.eye(2), np.eye(2, 3), np.eye(4)[1:3]
FEW = 16  # places that are looked for one by one, in plain numbers: of more, arrays are quicker
ALL = slice(None)
Number = Any  # of one place, or of several (k,)
Equation = tuple[tuple[Number, Number], tuple[Number, Number, Number, Number]]  # two values, and their 2 x 2 matrix
NOT_UNIQUE = "the point of the ground nearest to a contact is not unique; make the ground smoother"


class Hills(Terrain):
    """A ground z = h(t, x, y), whose material may run along it.

    Args:
        curvature: bound of the second derivatives of the height by x and y [1/m], in the norm of matrices.
        velocity: horizontal velocity (2,) of the ground's material [m/s]; it follows the surface up and down.
        moving: whether the height depends on time.
    """

    @arguments(curvature=NOT_NEGATIVE, moving=FLAG)
    def __init__(self, curvature: float, velocity: tuple[float, float] = (0.0, 0.0), moving: bool = False) -> None:
        self._drift = np.concatenate([[1.0], finite("the velocity of the ground", velocity, (2,))])
        self.curvature, self.moving = float(curvature), moving
        self._last: tuple[tuple[float, bytes, bytes], _Distances] | None = None  # field and derivatives ask alike

    @abstractmethod
    def jet(self, t: float, places: Array, order: int) -> list[Array]:
        """The height (k,) at places (k, 2), and its derivatives (k, 3), (k, 3, 3), ... by (t, x, y) up to `order`."""

    def bends(self, t: float, x: Number, y: Number) -> tuple[Number, ...]:
        """h, h_x, h_y, h_xx, h_xy and h_yy at one place, plain numbers, or at places x, y (k,)."""
        height, slope, bend = self.jet(t, np.array([x, y]).T.reshape(-1, 2), 2)
        found = height, slope[:, 1], slope[:, 2], bend[:, 1, 1], bend[:, 1, 2], bend[:, 2, 2]
        return tuple([float(part[0]) for part in found]) if isinstance(x, float) else found

    @property
    def velocity(self) -> tuple[float, float]:
        """Horizontal velocity of the ground's material [m/s]."""
        return float(self._drift[1]), float(self._drift[2])

    def plane(self) -> None:
        """None: it may be curved."""
        return None

    def plain_hills(self) -> PlainHills | None:
        """Its heights as data; None of those that a user's class or function says."""
        heights = self._plain_heights()
        return None if heights is None else PlainHills(heights, self.curvature, self.velocity)

    def _plain_heights(self) -> PlainSinusoid | PlainSpline | None:
        return None

    PLACES = ((0.3, 0.11, -0.23), (0.0, -0.37, 0.41), (1.7, 0.05, 0.02))  # (t, x, y) where grounds are looked at

    def stays_within(self, across: Array) -> bool:
        """True if slopes and velocities across the plane are zero at a few places."""
        slopes = [self.jet(t, np.array([[x, y]]), 1)[1][0, 1:] for t, x, y in self._places()]
        return bool(np.abs(np.array([*slopes, self._drift[1:]]) @ across[:2]).max() <= ASIDE)

    def _places(self) -> Sequence[tuple[float, float, float]]:
        return self.PLACES

    def heights(self, t: float, points: Array) -> Array:
        """Heights (...,) below points (..., 2) [m]."""
        return self.jet(t, points.reshape(-1, 2), 0)[0].reshape(points.shape[:-1])

    def apart(self) -> float:
        """Least distance of two humps [m]: below a straight line that is no longer there is one, at most.

        Here that of hills as high as wide, which is all that their curvature tells.
        """
        return 1.0 / self.curvature if self.curvature > 0.0 else inf

    @property
    def flat_in_parts(self) -> bool:
        """Whether a disc may lie level on some part of it; True where that is not known."""
        return True

    def reach(self, radii: Array) -> Array:
        """Heights (k,) above ground up to which gaps of spheres are distances [m]."""
        return REACH * (1.0 / self.curvature - radii) if self.curvature > 0.0 else np.full(len(radii), inf)

    def check_sphere(self, name: str, radius: float) -> None:
        """Raise InputError where a sphere may be too large for the hollows of the ground."""
        if radius * self.curvature >= 1.0:
            raise InputError(
                f"contact '{name}' has radius {radius:.4g} m, and the ground bends with a radius of"
                f" {1.0 / self.curvature:.4g} m: the sphere could touch it in two places; make one of them smaller"
            )

    # --- distance ---------------------------------------------------------------------------------------------

    def gaps(self, t: float, centres: Array, radii: Array) -> Array:
        """Distances (k,) of spheres [m] near the ground; high above it the clearance times n_z."""
        feet, clearance, normals = self._standing(t, centres, radii)
        gaps = clearance * normals[:, 2]
        height = np.abs(clearance) / self.reach(radii)
        near = height < 2.0
        if near.any():
            found = self._nearest(t, centres[near], feet[near])
            height_there, slopes = self.jet(t, found, 1)
            distance = _along_normal(centres[near], found, height_there, slopes)
            share = np.clip(2.0 - height[near], 0.0, 1.0)
            share = share**3 * (10.0 - 15.0 * share + 6.0 * share**2)
            gaps[near] = share * (distance - radii[near]) + (1.0 - share) * gaps[near]
        return gaps

    def may_cover(self, t: float, points: Array) -> Array:
        """Whether they are lower than the height at their places."""
        return np.asarray(points[:, 2] < self.heights(t, points[:, :2]))

    def normals_below(self, t: float, centres: Array, radii: Array) -> Array:
        """Normals (k, 3) of the ground where spheres would touch it that were let down, or raised, vertically."""
        return self._standing(t, centres, radii)[2]

    def growth(self, t: float, duration: float, radii: Array) -> Growth | None:
        """The curvature of surfaces up to the reach above this one; None: its height depends on time.

        kappa / (1 - kappa phi), with phi at most r + reach.
        """
        if self.moving:
            return None
        return Growth(0.0, 0.0, self.curvature / ((1.0 - REACH) * (1.0 - self.curvature * radii)))

    def at_least(self, gaps: Array, radii: Array) -> Array:
        """Lower bounds (k,) of distances.

        Below a clearance C, next to a place of slope s, the ground rises by no more than s x + k x^2 / 2 within x. So
        the distance d obeys C <= (1 + s) d + k d^2 / 2; with gap <= C / sqrt(1 + s^2): gap <= sqrt(2) d + k d^2 / 2.
        """
        if not self.curvature > 0.0:
            return gaps / np.sqrt(2.0)
        bend = self.curvature / (1.0 - self.curvature * radii)
        high = np.maximum(gaps, 0.0)
        return np.where(gaps > 0.0, 2.0 * high / (np.sqrt(2.0) + np.sqrt(2.0 + 2.0 * bend * high)), gaps)

    def approach(self, t: float, centre: Array, radius: float) -> tuple[float, Array | None]:
        """The gap of one sphere, with its gradient where the gap is the distance."""
        centres, radii = centre[None], np.array([radius])
        if abs(self._standing(t, centres, radii)[1][0]) > self.reach(radii)[0]:
            return float(self.at_least(self.gaps(t, centres, radii), radii)[0]), None
        found = self.near(t, centres, radii)
        return float(found.distance[0]) - radius, found.gradient[0]

    def surface(self, t: float, points: Array) -> Surface:
        """The ground near points."""
        return self.near(t, points, np.zeros(len(points)))

    def near(self, t: float, centres: Array, radii: Array) -> Surface:
        """The ground near the centres of spheres.

        Raises:
            SingularError: a sphere is too far away, or too deep, for the nearest point to be unique.
        """
        found = self._derive(t, centres, radii, 2)
        gradient, curvature, velocity, change = found.gradient, found.curvature, found.velocity, found.change
        return Surface(
            found.distance,
            gradient[:, 1:],
            curvature[:, 1:, 1:],
            gradient[:, 0],
            curvature[:, 0, 1:],
            curvature[:, 0, 0],
            velocity,
            change[:, :, 0],
            change[:, :, 1:],
        )

    def third(self, t: float, centres: Array, radii: Array) -> Third:
        """Third derivatives of the distance near the centres of spheres that touch the ground."""
        found = self._derive(t, centres, radii, 3)
        assert found.third is not None
        return found.third

    # --- the nearest point ------------------------------------------------------------------------------------

    def _standing(self, t: float, centres: Array, radii: Array) -> tuple[Array, Array, Array]:
        """Touch of spheres let down vertically: places (k, 2), vertical clearances (k,), normals (k, 3)."""
        places = centres[:, :2].copy()
        round_ = radii > 0.0
        if round_.any():
            goal = centres[round_, :2]
            r, x, y = _by_number(radii[round_], *goal.T)

            def equation(k: Any, a: Number, b: Number) -> Equation:
                _, u, v, uu, uv, vv = self.bends(t, a, b)
                upward = (1.0 + u * u + v * v) ** -0.5
                turn = upward**3
                along, across = turn * (u * uu + v * uv), turn * (u * uv + v * vv)
                value = a - r[k] * upward * u - x[k], b - r[k] * upward * v - y[k]
                bends = 1.0 + r[k] * (u * along - upward * uu), r[k] * (u * across - upward * uv)
                return value, (*bends, r[k] * (v * along - upward * uv), 1.0 + r[k] * (v * across - upward * vv))

            places[round_] = self._newton(equation, goal)
        height, slopes = self.jet(t, places, 1)
        normals = _normals(slopes)
        return places, centres[:, 2] - height - radii * normals[:, 2], normals

    def _nearest(self, t: float, centres: Array, start: Array) -> Array:
        """Places (k, 2) of the points of the surface nearest to the centres."""
        x, y, z = _by_number(*centres.T)

        def equation(k: Any, a: Number, b: Number) -> Equation:
            height, u, v, uu, uv, vv = self.bends(t, a, b)
            above = height - z[k]
            across = u * v + above * uv
            matrix = 1.0 + u * u + above * uu, across, across, 1.0 + v * v + above * vv
            return (a - x[k] + above * u, b - y[k] + above * v), matrix

        return self._newton(equation, start)

    def _newton(self, equation: Callable[[Any, Number, Number], Equation], start: Array) -> Array:
        """Places (k, 2) where the two values of an equation vanish, asked of one place after the other if they are few.

        Args:
            equation: (number of the place, or a slice of all; x, y) -> its values.
            start: places (k, 2) from which they are looked for.
        """
        longest = LONGEST / self.curvature if self.curvature > 0.0 else inf
        small = FOUND * min(longest, 1.0)
        if len(start) <= FEW:
            found = [_newton_at(partial(equation, k), place, longest, small) for k, place in enumerate(start.tolist())]
            return np.array(found)
        xi = start.copy()
        for _ in range(ITERATIONS):
            (one, two), (a, b, c, d) = equation(ALL, *xi.T)
            determinant = _positive(a * d - b * c)
            step = np.array([b * two - d * one, c * one - a * two]) / determinant
            size = np.hypot(*step)
            largest = float(size.max())
            if largest > longest:
                step *= np.minimum(1.0, longest / np.maximum(size, longest))
            xi += step.T
            if largest <= small or largest <= RELATIVE * float(np.abs(xi).max()):
                return xi
        raise _not_found(xi[int(np.argmax(size))])

    def _derive(self, t: float, centres: Array, radii: Array, order: int) -> _Distances:
        key = (t, centres.tobytes(), radii.tobytes())
        last = self._last  # read once: other threads may set it
        known = last[1] if last is not None and last[0] == key else None
        if known is not None and known.order >= order:
            return known
        if known is not None:
            found = _Distances(self, t, centres, known.feet, order)
        else:
            found = _Distances(self, t, centres, self._feet(t, centres, radii), order)
            self._demand_near(centres, radii, found)
        self._last = key, found
        return found

    def _feet(self, t: float, centres: Array, radii: Array) -> Array:
        """Places (k, 2) of the points of the surface nearest to spheres that touch it."""
        start = centres[:, :2]
        if radii.any():
            start = start - radii[:, None] * _normals(self.jet(t, start, 1)[1])[:, :2]
        return self._nearest(t, centres, start)

    def _demand_near(self, centres: Array, radii: Array, found: _Distances) -> None:
        """Raise SingularError where a sphere is out of reach."""
        high = found.distance - radii
        far = np.abs(high) > self.reach(radii)
        if far.any():
            k = int(np.argmax(far))
            place = ", ".join(f"{c:.4g}" for c in centres[k])
            raise SingularError(
                f"a contact at ({place}) m is {abs(high[k]):.3g} m {'inside' if high[k] < 0 else 'above'} the ground,"
                f" where only up to {float(self.reach(radii)[k]):.3g} m the nearest point of hills that bend by"
                f" {self.curvature:.4g}/m is unique; make the contact stiffer or the hills smoother"
            )


class _Distances:
    """The distances of some points from a surface, with their derivatives by (t, x, y, z)."""

    third: Third | None

    def __init__(self, ground: Hills, t: float, centres: Array, feet: Array, order: int) -> None:
        self.feet, self.order, self.third = feet, order, None
        if order == 2 and len(feet) <= FEW and not ground.moving:
            points = zip(centres.tolist(), feet.tolist(), strict=True)
            found = [_still_distance(point, foot, ground.bends(t, *foot), ground.velocity) for point, foot in points]
            values, *parts = (np.array(part) for part in zip(*found, strict=True))
            self.distance, (self.gradient, self.curvature, self.velocity, self.change) = values, parts
            return
        jet = ground.jet(t, feet, order)
        n, n1, n2 = _normal_jet(jet)
        k = len(feet)
        arms = centres - feet @ LEVEL
        arms[:, 2] -= jet[0]
        self.distance = (arms * n[:, 1:]).sum(axis=1)
        self.gradient = n
        along = np.zeros((k, 3, 4))  # tau_y
        along[:, 0, 0] = 1.0
        phi = self.distance[:, None, None]
        matrix = UNIT + phi * n1[:, 1:3, 1:]
        right = SPACE - n[:, 1:3, None] * n[:, None, :]
        right[:, :, 0] -= phi[:, :, 0] * n1[:, 1:3, 0]
        along[:, 1:] = _inverse(matrix) @ right
        self.curvature = n1 @ along
        # Vertical velocity (k,) of the material, u . grad h, u = (1, u_x, u_y), and its derivatives by (t, x, y).
        drift = [derivatives @ ground._drift for derivatives in jet[1:]]
        self.velocity = np.empty((k, 3))
        self.velocity[:, :2], self.velocity[:, 2] = ground._drift[1:], drift[0]
        self.change = np.zeros((k, 3, 4))
        self.change[:, 2] = (drift[1][:, None] @ along)[:, 0]
        if order > 2:
            self.third = self._third(n, n1, n2, along, matrix, drift)

    def _third(self, n: Array, n1: Array, n2: Array, along: Array, matrix: Array, drift: list[Array]) -> Third:
        k = len(n)
        bent = np.einsum("kiab,kay,kbz->kiyz", n2, along, along)  # N_tautau tau_y tau_y
        turn = self.curvature  # N_y
        phi = self.distance[:, None, None, None]
        cross = n[:, None, :, None] * turn[:, 1:3, None, :]  # phi_y n_y
        right = -(n[:, 1:3, None, None] * turn[:, None] + cross + np.swapaxes(cross, 2, 3) + phi * bent[:, 1:3])
        bends = (_inverse(matrix) @ right.reshape(k, 2, 16)).reshape(k, 2, 4, 4)
        distance = bent + np.einsum("kia,kayz->kiyz", n1[:, :, 1:], bends)
        velocity = np.zeros((k, 3, 4, 4))
        velocity[:, 2] = np.einsum("kab,kay,kbz->kyz", drift[2], along, along)
        velocity[:, 2] += np.einsum("ka,kayz->kyz", drift[1][:, 1:], bends)
        return Third(distance, velocity)


def _still_distance(
    centre: Sequence[float], foot: Sequence[float], bends: Sequence[float], drift: tuple[float, float]
) -> tuple[float, list[float], list[list[float]], list[float], list[list[float]]]:
    """Distance of one point from ground whose height stays; N, N_y, the material's velocity and its derivatives.

    What `_Distances` says, in plain numbers: n_xi = ((-h_x, -h_y, 1) w)_xi, and xi_c = (1 + phi n_xi)^-1 (1 - n n).
    """
    (x, y, z), (h, u, v, uu, uv, vv) = centre, bends
    w = 1.0 / math.sqrt(1.0 + u * u + v * v)
    n = (-u * w, -v * w, w)
    phi = (x - foot[0]) * n[0] + (y - foot[1]) * n[1] + (z - h) * n[2]
    along, across = -(w**3) * (u * uu + v * uv), -(w**3) * (u * uv + v * vv)  # of w by the foot
    turn = (-uu * w - u * along, -uv * w - u * across), (-uv * w - v * along, -vv * w - v * across), (along, across)
    a, b, c, d = 1.0 + phi * turn[0][0], phi * turn[0][1], phi * turn[1][0], 1.0 + phi * turn[1][1]
    determinant = a * d - b * c
    if not determinant > 0.0:
        raise SingularError(NOT_UNIQUE)
    one = (1.0 - n[0] * n[0], -n[0] * n[1], -n[0] * n[2])
    two = (-n[1] * n[0], 1.0 - n[1] * n[1], -n[1] * n[2])
    first = [(d * p - b * q) / determinant for p, q in zip(one, two, strict=True)]
    second = [(a * q - c * p) / determinant for p, q in zip(one, two, strict=True)]
    curvature = [[0.0, *[p * f + q * s for f, s in zip(first, second, strict=True)]] for p, q in turn]
    rise = drift[0] * uu + drift[1] * uv, drift[0] * uv + drift[1] * vv
    change = [0.0, *[rise[0] * f + rise[1] * s for f, s in zip(first, second, strict=True)]]
    still = [0.0, 0.0, 0.0, 0.0]
    velocity = [*drift, drift[0] * u + drift[1] * v]
    return phi, [0.0, *n], [still, *curvature], velocity, [still, still, change]


def _by_number(*parts: Array) -> tuple[Any, ...]:
    """Numbers (k,) as they are asked for: plain ones of few places, or arrays."""
    return tuple([part.tolist() for part in parts]) if len(parts[0]) <= FEW else parts


def _newton_at(
    equation: Callable[[float, float], Equation], start: list[float], longest: float, small: float
) -> tuple[float, float]:
    """`Hills._newton` of one place."""
    x, y = start
    for _ in range(ITERATIONS):
        (one, two), (a, b, c, d) = equation(x, y)
        determinant = a * d - b * c
        if not determinant > 0.0:
            raise SingularError(NOT_UNIQUE)
        along, across = (b * two - d * one) / determinant, (c * one - a * two) / determinant
        size = hypot(along, across)
        share = longest / size if size > longest else 1.0
        x, y = x + share * along, y + share * across
        if size <= small or size <= RELATIVE * max(abs(x), abs(y)):
            return x, y
    raise _not_found((x, y))


def _not_found(near: Iterable[float]) -> SingularError:
    place = ", ".join(f"{c:.4g}" for c in near)
    return SingularError(
        f"the point of the ground nearest to a contact near ({place}) m is not found; check the curvature that the"
        " ground was given, or make its hills smoother"
    )


def _inverse(matrix: Array) -> Array:
    """Inverses of small matrices (k, 2, 2)."""
    a, b, c, d = matrix.reshape(-1, 4).T
    return (np.array([d, -b, -c, a]) / _positive(a * d - b * c)).T.reshape(-1, 2, 2)


def _positive(determinants: Array) -> Array:
    """Determinants of matrices that have to have positive ones."""
    if not determinants.min() > 0.0:
        raise SingularError(NOT_UNIQUE)
    return determinants


def _normals(slopes: Array) -> Array:
    """Unit normals (k, 3) from derivatives (k, 3) of the height by (t, x, y)."""
    normals = -slopes
    out = np.concatenate([normals[:, 1:], np.ones((len(slopes), 1))], axis=1)
    return out / np.sqrt((out**2).sum(axis=1, keepdims=True))


def _along_normal(centres: Array, feet: Array, height: Array, slopes: Array) -> Array:
    """Distances (k,) of centres along the normals at their feet."""
    arms = np.concatenate([centres[:, :2] - feet, (centres[:, 2] - height)[:, None]], axis=1)
    return np.einsum("ki,ki->k", arms, _normals(slopes))


def _normal_jet(jet: list[Array]) -> tuple[Array, Array, Array]:
    """N (k, 4) and its first and second derivatives (k, 4, 3), (k, 4, 3, 3) by (t, x, y); the last needs h_xxx."""
    k, slope, bend = len(jet[0]), jet[1], jet[2]
    g, g1 = np.ones((k, 4)), np.zeros((k, 4, 3))
    g[:, :3], g1[:, :3] = -slope, -bend
    u = 1.0 / np.sqrt(1.0 + slope[:, 1] ** 2 + slope[:, 2] ** 2)
    size1 = 2.0 * (slope[:, None, 1:] @ bend[:, 1:])[:, 0]
    u1 = -0.5 * (u**3)[:, None] * size1
    n, n1 = g * u[:, None], g1 * u[:, None, None] + g[:, :, None] * u1[:, None]
    if len(jet) < 4:
        return n, n1, np.zeros((k, 4, 3, 3))
    third = jet[3]
    size2 = 2.0 * np.einsum("kia,kib->kab", bend[:, 1:], bend[:, 1:])
    size2 += 2.0 * np.einsum("ki,kiab->kab", slope[:, 1:], third[:, 1:])
    u2 = 0.75 * (u**5)[:, None, None] * size1[:, :, None] * size1[:, None] - 0.5 * (u**3)[:, None, None] * size2
    g2 = np.concatenate([-third, np.zeros((k, 1, 3, 3))], axis=1)
    cross = g1[:, :, :, None] * u1[:, None, None]
    n2 = g2 * u[:, None, None, None] + cross + np.swapaxes(cross, 2, 3) + g[:, :, None, None] * u2[:, None]
    return n, n1, n2
