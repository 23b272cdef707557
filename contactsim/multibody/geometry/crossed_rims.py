"""The point of a rim, its normal and their rates, where it touches lines or crosses another rim.

By the normal in general. Where a disc lies nearly flat its point runs over the rim as the inverse of the tilt while the
normal turns, and what is made of both would be rounding over the square of the tilt. There the places on the rims are
unknowns: the rims cross lines and each other as elsewhere. Equations that hold in real numbers hold to first order in
complex ones after one step of Newton's method.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...common.arrays import Array
from .closest_points.features import Circle
from .features import Bodies, Meet, at, cross, dot, turned
from .shapes import length_of, turning


class ByNormal(NamedTuple):
    """A rim at a normal n (..., 3) at an angle f around lines: its point x is the lowest one along that.

    Then g' and g'' by f (..., 1), the foot of the lines, n', the axis a and centre c of the rim, h = n . a, n - h a and
    its length T, n' . a and the radius R. It turns at f' = -(dg'/dt) / g'' as the bodies move.
    """

    slope: Array
    bend: Array
    n: Array
    x: Array
    foot: Array
    ahead: Array
    axis: Array
    c: Array
    h: Array
    across: Array
    T: Array
    up: Array
    R: float

    @property
    def height(self) -> Array:
        """Of the rim above the axis of the lines, along n (..., 1) [m]."""
        return dot(self.n, self.c - self.foot) - self.R * self.T

    def meet(self, bodies: Bodies) -> Meet:
        """Point, normal and their rates."""
        n, ahead, axis, h, up, T, R = self.n, self.ahead, self.axis, self.h, self.up, self.T, self.R
        spin_a, spin_b = bodies.V_a[..., 3:], bodies.V_b[..., 3:]
        n_carried, axis_rate = cross(spin_b, n), cross(spin_a, axis)
        h_rate = dot(n_carried, axis) + dot(n, axis_rate)
        ahead_rate, way_rate = cross(spin_b, ahead), at(bodies.V_a, self.c) - at(bodies.V_b, self.foot)
        up_rate = dot(ahead_rate, axis) + dot(ahead, axis_rate)
        slope_rate = dot(ahead_rate, self.c - self.foot) + dot(ahead, way_rate)
        slope_rate = slope_rate + R * ((h_rate * up + h * up_rate) / T + h * h * up * h_rate / T**3)
        n_rate = n_carried - slope_rate / self.bend * ahead
        leaning = dot(n_rate, axis) + dot(n, axis_rate)
        moved = n_rate - leaning * axis - h * axis_rate
        return Meet(self.x, at(bodies.V_a, self.c) - R * turning(self.across, moved), n, n_rate)


class OnRim(NamedTuple):
    """A point x (..., 3) of a rim, the ways r out to it and t along the rim, and its radius [m]."""

    x: Array
    r: Array
    t: Array
    R: float

    @staticmethod
    def at(R: Array, o: Array, circle: Circle, angle: Array | float) -> OnRim:
        """At an angle (..., 1) of a circle across z."""
        out, ahead = R[..., 0], R[..., 1]
        C, S = np.cos(angle), np.sin(angle)
        r, t = C * out + S * ahead, C * ahead - S * out
        return OnRim(o + turned(R, circle.centre) + circle.radius * r, r, t, circle.radius)


class Crossed(NamedTuple):
    """The normal n across a tangent t (..., 3) of a rim that leans by a sine s to lines along b (..., 3): n . b = s.

    With c = t . b, w = t x b and K^2 = |w|^2 - s^2 it is n = (s (b - c t) + K w) / |w|^2, w taken to its side.
    """

    t: Array
    b: Array
    sine: float
    sense: float

    @property
    def n(self) -> Array:
        """(..., 3)."""
        w = self.sense * cross(self.t, self.b)
        square, level = dot(w, w), self.b - dot(self.t, self.b) * self.t
        return (self.sine * level + np.sqrt(square - self.sine**2) * w) / square

    def turned(self, t_rate: Array, b_rate: Array) -> Array:
        """n' (..., 3) as t and b move."""
        w, c = self.sense * cross(self.t, self.b), dot(self.t, self.b)
        w_rate = self.sense * (cross(t_rate, self.b) + cross(self.t, b_rate))
        c_rate = dot(t_rate, self.b) + dot(self.t, b_rate)
        square, square_rate = dot(w, w), 2.0 * dot(w, w_rate)
        K = np.sqrt(square - self.sine**2)
        moved = self.sine * (b_rate - c_rate * self.t - c * t_rate) + 0.5 * square_rate / K * w + K * w_rate
        return (moved - square_rate * self.n) / square


class ByPlace(NamedTuple):
    """A rim at a place f on it: its point x, and the normal n (..., 3) there across rim and lines.

    They touch where x is above the line with that normal, (b x n) . (x - foot) = 0. That and its slope by f (..., 1),
    the foot of the lines, b x n, dn/df, and what n is made of. The place moves at the rate f' at which that stays so.
    """

    slope: Array
    bend: Array
    n: Array
    point: OnRim
    foot: Array
    leads: Array
    turn: Array
    normal: Crossed

    @property
    def x(self) -> Array:
        """(..., 3)."""
        return self.point.x

    @property
    def height(self) -> Array:
        """Of the point above the axis of the lines, along n (..., 1) [m]."""
        return dot(self.n, self.x - self.foot)

    def meet(self, bodies: Bodies) -> Meet:
        """Point, normal and their rates."""
        (x, _, t, R), b, way = self.point, self.normal.b, self.x - self.foot
        b_rate, x_held = cross(bodies.V_b[..., 3:], b), at(bodies.V_a, x)
        n_held = self.normal.turned(cross(bodies.V_a[..., 3:], t), b_rate)
        leads_rate = cross(b_rate, self.n) + cross(b, n_held)
        pace = -(dot(leads_rate, way) + dot(self.leads, x_held - at(bodies.V_b, self.foot))) / self.bend
        return Meet(x, x_held + R * pace * t, self.n, n_held + pace * self.turn)


class BothPlaces(NamedTuple):
    """Points of two rims, x_a and x_b: they are closest where t_a . (x_a - x_b) = t_b . (x_a - x_b) = 0.

    Their normal is along t_a x t_b, on the side that it is known to be on.
    """

    a: OnRim
    b: OnRim
    sense: float

    @staticmethod
    def at(poses: Sequence[tuple[Array, Array, Circle]], angles: Sequence[Array | float], side: Array) -> BothPlaces:
        """At angles of both."""
        a, b = (OnRim.at(*pose, angle) for pose, angle in zip(poses, angles, strict=True))
        across = np.cross(*(point.t.real.reshape(-1, 3)[0] for point in (a, b)))
        return BothPlaces(a, b, float(np.sign(across @ side)))

    @property
    def apart(self) -> Array:
        """x_a - x_b (..., 3)."""
        return self.a.x - self.b.x

    @property
    def n(self) -> Array:
        """The normal (..., 3)."""
        w = cross(self.a.t, self.b.t)
        return self.sense * w / length_of(w)

    @property
    def missed(self) -> tuple[Array, Array]:
        """Of both equations."""
        return dot(self.a.t, self.apart), dot(self.b.t, self.apart)

    def solve(self, right: tuple[Array, Array]) -> tuple[Array, Array]:
        """The changes of both angles (..., 1) that change the equations by a right side."""
        along = dot(self.a.t, self.b.t)
        aa, ab = self.a.R - dot(self.a.r, self.apart), -self.b.R * along
        ba, bb = self.a.R * along, -self.b.R - dot(self.b.r, self.apart)
        whole = aa * bb - ab * ba
        return (bb * right[0] - ab * right[1]) / whole, (aa * right[1] - ba * right[0]) / whole

    def meet(self, bodies: Bodies) -> Meet:
        """Point, normal and their rates: the places move so that the equations hold."""
        a, b = self.a, self.b
        held_a, held_b = at(bodies.V_a, a.x), at(bodies.V_b, b.x)
        carried_a, carried_b = cross(bodies.V_a[..., 3:], a.t), cross(bodies.V_b[..., 3:], b.t)
        way = held_a - held_b
        rates = dot(carried_a, self.apart) + dot(a.t, way), dot(carried_b, self.apart) + dot(b.t, way)
        pace_a, pace_b = (-pace for pace in self.solve(rates))
        t_a_rate, t_b_rate = carried_a - pace_a * a.r, carried_b - pace_b * b.r
        n_rate = self.sense * turning(cross(a.t, b.t), cross(t_a_rate, b.t) + cross(a.t, t_b_rate))
        return Meet(a.x, held_a + a.R * pace_a * a.t, self.n, n_rate)
