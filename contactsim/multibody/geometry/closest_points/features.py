"""Smooth pieces of the surfaces of convex bodies, each by the point that is farthest along its normal.

A feature in axes of its body is a set {p(m) + s_1 d_1 + ... + r m} of surface points with outward unit normal m:

    point    p = c                              sphere, end of a capsule, vertex (r = 0)
    line     p = c, slides along d, m . d = 0   side of a cylinder or capsule, edge (r = 0)
    slant    likewise, r = -sigma s, m . d = sigma   side of a cone, d its axis, from its tip
    ring     p = c + R e(s / R), slides on      rim on which the normal may lean to either side
    plane    p = c, slides along d_1, d_2       face; m is its normal, or the opposite one
    circle   p = c + R m_t / |m_t|              rim of a cylinder, m_t the part of m across its axis
    ellipsoid p = c + D^2 m / |D m|             with D = diag(radii) in its axes

p(m) is the gradient of the support function h(m) = max m . p, of which S(m) is the second derivative: symmetric, with
S m = 0. Everything is analytic in m, so that complex steps through it give derivatives to rounding.
Source: R. Schneider, Convex Bodies: The Brunn-Minkowski Theory, section 1.7 (support functions).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from ....common.arrays import Array
from ....common.lazy import dataclass
from ...zero import FLAT, LEVEL

F = TypeVar("F", bound="Feature")
NO_SLIDES = np.zeros((0, 3))


class Feature(ABC):
    """A smooth piece of a surface.

    Attributes:
        centre: c (3,) [m].
        offset: r, by which the surface lies outside of the core along m [m].
        slides: unit vectors d (k, 3), perpendicular to each other, along which the nearest point moves freely.
    """

    centre: Array
    offset: float

    @property
    def slides(self) -> Array:
        """None, but of lines and planes."""
        return NO_SLIDES

    @cached_property
    def sines(self) -> Array:
        """By how much (k,) it gets thinner along its slides: not at all, but for cones."""
        return np.zeros(len(self.slides))

    def slid(self, s: Array) -> tuple[Array, Array, Array]:
        """How far (..., 3) its core is moved by slides s (..., k), dp/ds and its derivative (..., k, 3)."""
        along = np.broadcast_to(self.slides, (*s.shape[:-1], *self.slides.shape))
        return s @ self.slides, along, np.zeros_like(along)

    @abstractmethod
    def core(self, m: Array) -> Array:
        """p (..., 3) at normals m (..., 3) of any length."""

    @abstractmethod
    def bend(self, m: Array) -> Array:
        """S = dp/dm (..., 3, 3) at unit m (..., 3) [m]."""


class _Flat(Feature):
    """A core that does not turn with its normal."""

    def core(self, m: Array) -> Array:
        """c."""
        return np.broadcast_to(self.centre, m.shape)

    def bend(self, m: Array) -> Array:
        """Zero."""
        return np.zeros((*m.shape, 3), dtype=m.dtype)


@dataclass(frozen=True, eq=False)
class Point(_Flat):
    """A sphere around a point, or a vertex."""

    centre: Array
    offset: float = 0.0


@dataclass(frozen=True, eq=False)
class Line(_Flat):
    """A straight line, or the cylinder around it.

    Attributes:
        axis: d (3,), unit.
    """

    centre: Array
    axis: Array
    offset: float = 0.0

    @cached_property
    def slides(self) -> Array:  # type: ignore[override]
        """Its axis."""
        return self.axis[None]


@dataclass(frozen=True, eq=False)
class Slant(_Flat):
    """The side of a cone: lines through its tip. The normals are bound to one angle with its axis.

    Attributes:
        axis: b (3,), unit, towards the tip c.
        sine: of n . b = s.
    """

    centre: Array
    axis: Array
    sine: float
    offset: float = 0.0

    @cached_property
    def slides(self) -> Array:  # type: ignore[override]
        """Its axis."""
        return self.axis[None]

    @cached_property
    def sines(self) -> Array:  # type: ignore[override]
        """That of half the angle at its tip."""
        return np.array([self.sine])


@dataclass(frozen=True, eq=False)
class Plane(_Flat):
    """A plane.

    Attributes:
        normal: (3,) outward, unit.
    """

    centre: Array
    normal: Array
    offset: float = 0.0

    @cached_property
    def slides(self) -> Array:  # type: ignore[override]
        """Two directions in it."""
        first = np.cross(self.normal, np.eye(3)[np.argmin(np.abs(self.normal))])
        first = first / np.linalg.norm(first)
        return np.array([first, np.cross(self.normal, first)])


@dataclass(frozen=True, eq=False)
class Circle(Feature):
    """The rim of a disc.

    Attributes:
        axis: of the disc (3,), unit.
        radius: R of the circle [m].
    """

    centre: Array
    axis: Array
    radius: float
    offset: float = 0.0

    @property
    def flat(self) -> float:
        """Tilt below which it lies flat on a plane: its low side is no lower than LEVEL below its middle [rad]."""
        return min(FLAT, LEVEL / self.radius)

    @cached_property
    def _across(self) -> Array:
        return np.eye(3) - np.outer(self.axis, self.axis)

    def core(self, m: Array) -> Array:
        """c + R m_t / |m_t|; c where m is along the axis."""
        across = m @ self._across
        square = (across * across).sum(axis=-1, keepdims=True)
        return self.centre + self.radius * across / np.sqrt(np.where(square.real > 0.0, square, 1.0))

    def bend(self, m: Array) -> Array:
        """R (1 - a a^T - e e^T) / |m_t| with e = m_t / |m_t|."""
        across = m @ self._across
        length = _length(across)
        e = across / length
        return (self.radius / length)[..., None] * (self._across - e[..., :, None] * e[..., None, :])


@dataclass(frozen=True, eq=False)
class Ring(_Flat):
    """The rim of a disc as a curve: it is touched with any normal across it.

    Attributes:
        axis: of the disc (3,), unit.
        radius: R [m].
    """

    centre: Array
    axis: Array
    radius: float
    offset: float = 0.0

    @cached_property
    def sines(self) -> Array:  # type: ignore[override]
        """One slide along the rim."""
        return np.zeros(1)

    @cached_property
    def frame(self) -> Array:
        """u and v (2, 3) across the axis, from the first of which the slide counts."""
        first = np.cross(self.axis, np.eye(3)[np.argmin(np.abs(self.axis))])
        first = first / np.linalg.norm(first)
        return np.array([first, np.cross(self.axis, first)])

    def slid(self, s: Array) -> tuple[Array, Array, Array]:
        """R e, its tangent, and -e / R."""
        u, v = self.frame
        C, S = np.cos(s / self.radius), np.sin(s / self.radius)
        e, ahead = C * u + S * v, C * v - S * u
        return self.radius * e, ahead[..., None, :], -e[..., None, :] / self.radius


@dataclass(frozen=True, eq=False)
class Ellipsoid(Feature):
    """An ellipsoid.

    Attributes:
        axes: its axes (3, 3), column by column.
        radii: (3,) [m].
    """

    centre: Array
    axes: Array
    radii: Array
    offset: float = 0.0

    @cached_property
    def _square(self) -> Array:
        return (self.axes * self.radii**2) @ self.axes.T

    def core(self, m: Array) -> Array:
        """c + D^2 m / |D m|."""
        square = m @ self._square
        return self.centre + square / np.sqrt((m * square).sum(axis=-1, keepdims=True))

    def bend(self, m: Array) -> Array:
        """(D^2 - p p^T) / |D m| with p = D^2 m / |D m|."""
        square = m @ self._square
        length = np.sqrt((m * square).sum(axis=-1, keepdims=True))
        p = square / length
        return (self._square - p[..., :, None] * p[..., None, :]) / length[..., None]


def on_axes(feature: F, placement: Any) -> F:
    """A point, line, circle or ellipsoid in the axes in which its body is placed (pin.SE3)."""
    moved: dict[str, Any] = {"centre": placement.act(feature.centre)}
    for name in ("axis", "axes"):
        if hasattr(feature, name):
            moved[name] = placement.rotation @ getattr(feature, name)
    return replace(feature, **moved)  # type: ignore[type-var]


def _length(vector: Array) -> Array:
    """|v| (..., 1), analytic."""
    return np.sqrt((vector * vector).sum(axis=-1, keepdims=True))
