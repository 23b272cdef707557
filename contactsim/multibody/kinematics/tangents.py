"""Tangents of contacts on a ground, as they follow its normal."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np

from ...common.arrays import Array
from ...common.lazy import NamedTuple
from ...errors import InputError, SingularError
from ..terrain.surface import Terrain, rise
from ..zero import ASIDE, DOWN
from .plane_ground import skew

EYE = np.eye(3)


class Turned(NamedTuple):
    """Tangents of a surface as functions of its normal.

    Attributes:
        axes: tangents e (k, d, 3).
        first: De (k, d, 3, 3) along the last index.
        second: () -> D2 e (k, d, 3, 3, 3) along the last two.
    """

    axes: Array
    first: Array
    second: Callable[[], Array]


class Tangents(ABC):
    """The `count` tangents of a contact, as they follow the normal."""

    count: int

    @abstractmethod
    def at(self, normals: Array) -> Turned:
        """Tangents for unit normals (k, 3), and their derivatives along normals that stay unit."""


class Held(Tangents):
    """Tangents (d, 3) of a normal that is always the same."""

    def __init__(self, axes: Array) -> None:
        self._axes, self.count = axes, len(axes)

    def at(self, normals: Array) -> Turned:
        """The same ones."""
        shape = (len(normals), self.count, 3)
        return Turned(np.broadcast_to(self._axes, shape), np.zeros((*shape, 3)), lambda: np.zeros((*shape, 3, 3)))


class InPlane(Tangents):
    """The one tangent of a robot that moves in a plane with unit normal `across`: e = across x n."""

    count = 1

    def __init__(self, across: Array) -> None:
        forward = np.cross(across, [0.0, 0.0, 1.0])
        self.across = -across if forward[np.abs(forward).argmax()] < 0.0 else across

    def at(self, normals: Array) -> Turned:
        """The tangent in the plane.

        Raises:
            InputError: the ground is inclined across the plane.
        """
        if np.abs(normals @ self.across).max(initial=0.0) > ASIDE:
            raise InputError(
                "the robot moves in a vertical plane, and the ground is inclined across it; give a ground that only"
                " rises and falls along the robot's plane"
            )
        k, first = len(normals), skew(self.across[None])
        turned = np.broadcast_to(first[:, None], (k, 1, 3, 3))
        return Turned((normals @ first[0].T)[:, None], turned, lambda: np.zeros((k, 1, 3, 3, 3)))


class Level(Tangents):
    """The two tangents of `terrain.level_axes`: t_i = x_i - a_i (e_z + n), a_i = n_i / (1 + n_z)."""

    count = 2

    def at(self, normals: Array) -> Turned:
        """Tangents that turn with the normal the shortest way from upwards.

        Raises:
            SingularError: a normal points straight down, where these tangents are not defined.
        """
        up = rise(normals)
        if np.any(up <= DOWN):
            raise SingularError("the ground's normal points straight down: the tangents there are not defined")
        b = 1.0 / up[:, None]
        a = normals[:, :2] * b
        middle = normals + EYE[2]
        change = b[:, :, None] * (EYE[:2] - a[:, :, None] * EYE[2])  # of a
        axes = EYE[:2] - a[:, :, None] * middle[:, None]
        first = -middle[:, None, :, None] * change[:, :, None] - a[:, :, None, None] * EYE

        def second() -> Array:
            mixed = EYE[:2, :, None] * EYE[2]
            bend = -(mixed + mixed.swapaxes(1, 2)) * b[:, :, None, None] ** 2
            bend = bend + 2.0 * (a * b**2)[:, :, None, None] * np.outer(EYE[2], EYE[2])
            cross = change[:, :, None, :, None] * EYE[:, None]
            return -middle[:, None, :, None, None] * bend[:, :, None] - cross - cross.swapaxes(3, 4)

        return Turned(axes, first, second)


def tangents_of(terrain: Terrain, basis: Array, motions: Array) -> Tangents:
    """The tangents that follow the normal of a ground, for a mechanism whose contacts move within `motions` (r, 3).

    Args:
        terrain: the ground.
        basis: rows (n, t...) where its normal is always the same.
        motions: orthonormal directions in which the contacts can move.
    """
    if terrain.constant_normal() is not None:
        return Held(basis[1:])
    if len(motions) == 2 and terrain.stays_within(across := np.cross(motions[0], motions[1])):
        return InPlane(across)
    return Level()


def axes(normal: Array, tangents: Tangents) -> Array:
    """Rows (1 + d, 3) of a contact: the normal (3,) and its tangents."""
    return np.vstack([normal, tangents.at(normal[None]).axes[0]])
