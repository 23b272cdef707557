"""Heights of hills: sinusoids, splines over a grid, and functions of a user's."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import combinations_with_replacement, permutations, product
from math import hypot, inf, perm, prod
from typing import Any

import numpy as np
from scipy.interpolate import RectBivariateSpline

from ...common.arguments import arguments, function, number, numbers, optional
from ...common.user_calls import UserCall, real
from ...errors import CallbackError, InputError, OutsideError
from ..zero import AGREES
from .hills import Hills, Number
from .plain_hills import PlainSinusoid, PlainSpline
from .surface import Array, finite, unknown_parameter

NAMES = ("height", "gradient", "hessian")  # of the functions of a ground, by order
FLAT_PART = 1e-3  # curvature of a whole cell, relative to the largest one, that is none
CURVATURE = 25.0  # bound of the curvature of a Function that says nothing [1/m]: hills of 4 cm radius


class Sinusoid(Hills):
    """Hills h = a1 sin(a2 x) cos(a3 y) [m].

    Args:
        a1: height of the hills [m].
        a2, a3: wave numbers along x and y [rad/m].
        velocity: horizontal velocity (2,) of the ground's material [m/s].
    """

    @arguments()
    def __init__(self, a1: float, a2: float, a3: float, velocity: tuple[float, float] = (0.0, 0.0)) -> None:
        self.a1, self.a2, self.a3 = (
            float(finite(f"{name} of the sinusoid", value)) for name, value in (("a1", a1), ("a2", a2), ("a3", a3))
        )
        super().__init__(abs(self.a1) * max(self.a2**2, self.a3**2), velocity)
        self._along = self.a1 * np.array([[1.0], [self.a2], [-(self.a2**2)], [-(self.a2**3)]])
        self._across = np.array([[1.0], [-self.a3], [-(self.a3**2)], [self.a3**3]])

    def jet(self, t: float, places: Array, order: int) -> list[Array]:
        """Products of derivatives of the sine and of the cosine."""
        x, y = self.a2 * places[:, 0], self.a3 * places[:, 1]
        (s, c), (p, q) = (np.sin(x), np.cos(x)), (np.cos(y), np.sin(y))
        along, across = self._along * np.array([s, c, s, c]), self._across * np.array([p, q, p, q])
        return static_jet(along[:, None] * across, order)

    def bends(self, t: float, x: Number, y: Number) -> tuple[Number, ...]:
        """The same products."""
        sin, cos = (math.sin, math.cos) if isinstance(x, float) else (np.sin, np.cos)
        x, y = self.a2 * x, self.a3 * y
        s, c, p, q = self.a1 * sin(x), self.a1 * self.a2 * cos(x), cos(y), -self.a3 * sin(y)
        return s * p, c * p, s * q, -(self.a2**2) * s * p, c * q, -(self.a3**2) * s * p

    def _plain_heights(self) -> PlainSinusoid | None:
        return PlainSinusoid(self.a1, self.a2, self.a3) if type(self) is Sinusoid else None

    def apart(self) -> float:
        """Half a wave length, along the direction in which it is the least."""
        waves = hypot(self.a2, self.a3)
        return math.pi / waves if waves > 0.0 else inf

    @property
    def flat_in_parts(self) -> bool:
        """Without waves."""
        return not (self.a1 and (self.a2 or self.a3))

    def parameters(self) -> dict[str, float]:
        """a1 [m], a2 and a3 [rad/m]."""
        return {"a1": self.a1, "a2": self.a2, "a3": self.a3}

    def with_parameter(self, name: str, value: float) -> Sinusoid:
        """Hills with one number changed."""
        if name not in self.parameters():
            raise unknown_parameter(self, name)
        return Sinusoid(**(self.parameters() | {name: value}), velocity=self.velocity)


class HeightField(Hills):
    """Heights on a grid, joined by a bicubic spline: C2 within the grid, not defined outside.

    Args:
        x: places (nx,) of the grid along x, growing, at least four [m].
        y: places (ny,) along y [m].
        heights: heights (nx, ny) [m].
        velocity: horizontal velocity (2,) of the ground's material [m/s].

    Raises:
        InputError: the grid does not grow, is too small, does not fit the heights, or holds NaN.
    """

    FINER = 4  # samples of the curvature within a cell, along each side
    FEWEST = 4  # places along each side that a cubic spline needs

    @arguments()
    def __init__(self, x: Any, y: Any, heights: Any, velocity: tuple[float, float] = (0.0, 0.0)) -> None:
        self.x, self.y = self._grid("x", x), self._grid("y", y)
        self.field = finite("heights of the height field", self._in_rows(heights), (len(self.x), len(self.y)))
        self._cells = self._coefficients()
        self._lines = self.x.tolist(), self.y.tolist()
        self._low = np.array([self.x[0], self.y[0]])
        self._high = np.array([self.x[-1], self.y[-1]])
        bends, step = self._bends(), self.FINER
        cells = np.lib.stride_tricks.sliding_window_view(bends, (step + 1, step + 1))[::step, ::step]
        self._least_of_cells = float(cells.max(axis=(-2, -1)).min())
        super().__init__(float(bends.max()), velocity)

    def _in_rows(self, heights: Any) -> Any:
        """The heights, if they have a row for each x."""
        wanted = len(self.x), len(self.y)
        try:
            shape = np.shape(heights)
        except ValueError:  # rows of unequal length, which are told with what else is no array
            return heights
        if len(shape) == 2 and shape != wanted:
            turned = ", such as their transpose" if shape[::-1] == wanted else ""
            raise InputError(
                f"the heights of the height field have shape {shape}; give a row for each of {wanted[0]} places x, with"
                f" a number for each of {wanted[1]} places y{turned}"
            )
        return heights

    def _grid(self, name: str, values: Any) -> Array:
        words = f"at least {self.FEWEST} growing numbers"
        places: Array = numbers(None, words=words).check(f"{name} of the height field", values)
        if len(places) < self.FEWEST or not np.all(np.diff(places) > 0.0):
            raise InputError(f"{name} of the height field must be at least {self.FEWEST} growing numbers")
        return places

    def _places(self) -> Sequence[tuple[float, float, float]]:
        return [(0.0, float(x), float(y)) for x in self.x for y in self.y]

    def _coefficients(self) -> Array:
        """Coefficients (nx - 1, ny - 1, 4, 4) of powers of the way from the lower corner of each cell."""
        spline = RectBivariateSpline(self.x, self.y, self.field)
        corners = np.array([[spline(self.x, self.y, dx=i, dy=j) for j in range(3)] for i in range(3)])
        along = np.diff(corners[2:], axis=2) / np.diff(self.x)[:, None]  # the second derivative is linear in a cell
        all_x = np.concatenate([corners[:, :, :-1], along])
        across = np.diff(all_x[:, 2:], axis=3) / np.diff(self.y)
        both = np.concatenate([all_x[:, :, :, :-1], across], axis=1)
        factorials = np.array([1.0, 1.0, 2.0, 6.0])
        return np.moveaxis(both, (0, 1), (2, 3)) / np.outer(factorials, factorials)

    @property
    def flat_in_parts(self) -> bool:
        """Whether a whole cell is flat, or as good as that beside the others."""
        return self._least_of_cells <= FLAT_PART * self.curvature

    def _bends(self) -> Array:
        """Norms (k, l) of the second derivatives, by samples within each cell."""
        fine = (
            np.interp(np.linspace(0, len(g) - 1, self.FINER * (len(g) - 1) + 1), np.arange(len(g)), g)
            for g in (self.x, self.y)
        )
        places = np.stack(np.meshgrid(*fine, indexing="ij"), axis=-1)
        bends = self.jet(0.0, places.reshape(-1, 2), 2)[2]
        return np.asarray(np.abs(np.linalg.eigvalsh(bends[:, 1:, 1:])).max(axis=-1).reshape(places.shape[:2]))

    def apart(self) -> float:
        """The least spacing of the grid."""
        return float(min(np.diff(self.x).min(), np.diff(self.y).min()))

    def heights(self, t: float, points: Array) -> Array:
        """Heights (...,) below points (..., 2), to draw them: beyond the grid those of its edge."""
        return super().heights(t, np.clip(points, self._low, self._high))

    def jet(self, t: float, places: Array, order: int) -> list[Array]:
        """Derivatives of the spline.

        Raises:
            OutsideError: a place lies outside the grid.
        """
        outside = (places < self._low) | (places > self._high)
        if outside.any():
            raise self._beyond(places[int(np.argmax(outside.any(axis=1)))])
        cell = [g[1:-1].searchsorted(places[:, k], "right") for k, g in enumerate((self.x, self.y))]
        along, across = (_powers(places[:, k] - g[cell[k]]) for k, g in enumerate((self.x, self.y)))
        table = along @ self._cells[cell[0], cell[1]] @ across.transpose(0, 2, 1)
        return static_jet(table.transpose(1, 2, 0), order)

    def bends(self, t: float, x: Number, y: Number) -> tuple[Number, ...]:
        """Those of one place by Horner's rule, along y and then along x."""
        if not isinstance(x, float):
            return super().bends(t, x, y)
        xs, ys = self._lines
        if not (xs[0] <= x <= xs[-1] and ys[0] <= y <= ys[-1]):
            raise self._beyond((x, y))
        i, j = bisect_right(xs, x, 1, len(xs) - 1) - 1, bisect_right(ys, y, 1, len(ys) - 1) - 1
        u, v = x - xs[i], y - ys[j]
        values, slopes, bends = zip(*[_cubic(row, v) for row in self._cells[i, j].tolist()], strict=True)
        (h, h_x, h_xx), (h_y, h_xy, _), (h_yy, _, _) = _cubic(values, u), _cubic(slopes, u), _cubic(bends, u)
        return h, h_x, h_y, h_xx, h_xy, h_yy

    def _plain_heights(self) -> PlainSpline | None:
        return PlainSpline(self.x, self.y, self._cells) if type(self) is HeightField else None

    def _beyond(self, place: Iterable[float]) -> OutsideError:
        here = ", ".join(f"{c:.4g}" for c in place)
        low, high = (
            " to ".join(f"{c:.4g}" for c in ends) for ends in ((self.x[0], self.x[-1]), (self.y[0], self.y[-1]))
        )
        return OutsideError(
            f"a contact is at ({here}) m, outside of the height field, which covers x = {low} m and y = {high} m;"
            " give a larger field or a shorter run"
        )


# Weights of central differences of fourth order, by the number of derivatives along an axis: {point: weight}.
STENCILS: tuple[dict[int, float], ...] = (
    {0: 1.0},
    {-2: 1 / 12, -1: -8 / 12, 1: 8 / 12, 2: -1 / 12},
    {-2: -1 / 12, -1: 16 / 12, 0: -30 / 12, 1: 16 / 12, 2: -1 / 12},
    {-3: 1 / 8, -2: -8 / 8, -1: 13 / 8, 1: -13 / 8, 2: 8 / 8, 3: -1 / 8},
)
Place = tuple[float, ...]  # (t, x, y)

# (4, 16): with 1, u, u^2, u^3 before it, their derivatives of the orders 0 to 3, one after the other.
FALLING_POWERS = np.array(
    [[perm(p, i) if p - i == power else 0 for i in range(4) for p in range(4)] for power in range(4)], dtype=float
)


class Function(Hills):
    """A ground by a function of yours.

    Args:
        height: (t, x, y) -> h [m], of plain numbers.
        gradient: (t, x, y) -> its derivatives (2,) by (x, y), or (3,) by (t, x, y); differenced where not given.
        hessian: (t, x, y) -> second derivatives (2, 2) by (x, y), or (3, 3) by (t, x, y); differenced where not given.
        curvature: bound of the second derivatives by x and y [1/m]: near the ground, within a fraction of
            1 / curvature, distances are those from the nearest point.
        velocity: horizontal velocity (2,) of the ground's material [m/s]; vertically it moves with the surface.
        moving: whether the height depends on time.

    Differences take steps of 1e-3 to 1e-2 m (or s) and leave some 1e-10 of the height's own length scale; give the
    gradient for 1e-12, and the Hessian for more.

    Raises:
        InputError: a derivative is not that of the height, or a height that is said to be at rest moves.
    """

    STEPS = (1e-3, 3e-3, 1e-2)  # of first, second and third differences [m, s]

    @arguments(
        height=function("a function (t, x, y) -> height"),
        gradient=optional(function("a function (t, x, y) -> (2,) or (3,) numbers")),
        hessian=optional(function("a function (t, x, y) -> (2, 2) or (3, 3) numbers")),
        curvature=number("a positive bound of the second derivatives [1/m]", gt=0.0),
    )
    def __init__(
        self,
        height: Callable[[float, float, float], float],
        gradient: Callable[[float, float, float], Any] | None = None,
        hessian: Callable[[float, float, float], Any] | None = None,
        curvature: float = CURVATURE,
        velocity: tuple[float, float] = (0.0, 0.0),
        moving: bool = False,
    ) -> None:
        super().__init__(curvature, velocity, moving)
        self.height, self._given = height, [height, gradient, hessian]
        if gradient is None:
            self._given[2] = None
        self._check()

    def jet(self, t: float, places: Array, order: int) -> list[Array]:
        """The function and its derivatives, place by place."""
        rows = [[self._at(k, (t, float(x), float(y))) for x, y in places] for k in range(order + 1)]
        return [np.array(row, dtype=float).reshape(len(places), *(3,) * k) for k, row in enumerate(rows)]

    def _at(self, order: int, place: Place) -> Array:
        """Derivatives of one order at (t, x, y): given, or differences of the highest that are given."""
        given = max(k for k, function in enumerate(self._given[: order + 1]) if function is not None)
        if given == order:
            return self._asked(order, place)
        times = order - given
        step = self.STEPS[min(times, len(self.STEPS)) - 1]
        known: dict[tuple[int, ...], Array] = {}  # values that several differences share

        def near(offset: tuple[int, ...]) -> Array:
            if offset not in known:
                known[offset] = self._asked(given, tuple(c + k * step for c, k in zip(place, offset, strict=True)))
            return known[offset]

        found = np.zeros((3,) * order)
        for axes in combinations_with_replacement(range(0 if self.moving else 1, 3), times):
            stencils = [STENCILS[axes.count(axis)].items() for axis in range(3)]
            terms = (tuple(zip(*points, strict=True)) for points in product(*stencils))
            value = sum(prod(weights) * near(offset) for offset, weights in terms) / step**times
            for where in set(permutations(axes)):
                found[(Ellipsis, *where)] = value  # type: ignore[index]
        return found

    def _asked(self, order: int, place: Place) -> Array:
        """Derivatives of an order that is given, at (t, x, y)."""
        with UserCall("the function", NAMES[order], place[0]):
            values = self._given[order](*place)  # type: ignore[misc]
        return self._full(values, order, place[0])

    def _full(self, values: Any, order: int, t: float) -> Array:
        """Derivatives by (t, x, y) of what was given by (x, y) or by (t, x, y)."""
        name = NAMES[order]
        with UserCall("the function", name, t):
            array = real(values)
        if array.shape == (2,) * order and order and not self.moving:
            full = np.zeros((3,) * order)
            full[(slice(1, None),) * order] = array
            array = full
        if array.shape != (3,) * order:
            wanted = "derivatives by (t, x, y)" if self.moving else "derivatives by (x, y) or (t, x, y)"
            raise CallbackError(
                f"the {name} of the ground returns shape {array.shape} at t = {t:.6g} s; return"
                f" {wanted if order else 'one number'}"
            )
        if not np.isfinite(array).all():
            raise CallbackError(
                f"the {name} of the ground returns nan or infinity at t = {t:.6g} s; return finite numbers"
            )
        return array

    def _check(self) -> None:
        """Raise InputError where what is given contradicts the height."""
        for place in self.PLACES:
            if not self.moving and self._at(0, place) != self._at(0, (place[0] + 1.0, *place[1:])):
                raise InputError("the height of the ground depends on time; say moving=True")
            for order, name in ((1, "gradient"), (2, "hessian")):
                if self._given[order] is None:
                    continue
                own, self._given[order] = self._given[order], None
                differenced = self._at(order, place)
                self._given[order] = own
                error = np.abs(self._at(order, place) - differenced).max()
                if error > AGREES * max(1.0, float(np.abs(differenced).max())):
                    raise InputError(
                        f"the {name} of the ground is off by {error:.3g} at (t, x, y) = {place} from differences of the"
                        " order below; mend it or leave it out"
                    )


def _cubic(coefficients: Sequence[float], u: float) -> tuple[float, float, float]:
    """A cubic at u, from its lowest coefficient on, and its first two derivatives."""
    a, b, c, d = coefficients
    return a + u * (b + u * (c + u * d)), b + u * (2.0 * c + 3.0 * u * d), 2.0 * c + 6.0 * u * d


def _powers(way: Array) -> Array:
    """Derivatives i of 1, u, u^2, u^3 at ways u (k,): (k, 4, 4), the order i first."""
    powers = np.ones((len(way), 4))
    powers[:, 1], powers[:, 2] = way, way * way
    powers[:, 3] = powers[:, 2] * way
    return (powers @ FALLING_POWERS).reshape(-1, 4, 4)


def static_jet(table: Array, order: int) -> list[Array]:
    """Derivatives by (t, x, y) up to an order of a height at rest, from the (4, 4, k) d^(i+j) h / dx^i dy^j."""
    k = table.shape[2]
    flat = np.concatenate([table.reshape(16, k), np.zeros((1, k))])
    found, ends = flat[_entries(order)].T, [(3**n - 1) // 2 for n in range(order + 2)]
    return [found[:, ends[n] : ends[n + 1]].reshape(k, *(3,) * n) for n in range(order + 1)]


@cache
def _entries(n: int) -> Array:
    """Rows of such a table, laid out flat, for the entries of the derivatives up to the n-th; that of time last."""
    counts = [(m, axes.count(1), axes.count(2)) for m in range(n + 1) for axes in product((0, 1, 2), repeat=m)]
    return np.array([4 * i + j if i + j == m else 16 for m, i, j in counts])
