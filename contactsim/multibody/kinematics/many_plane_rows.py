"""Rows of many points and spheres on a plane, in arrays: see `PlaneRows`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...common.arrays import Array
from ..geometry.features import at, cross
from .plane_dynamics import Motions
from .plane_ground import skew, supports


class ManyPlaneRows:
    """Rows on a plane: x = c - r n is where a contact touches, z = E (v + w x x).

    Args:
        motion: the robots.
        joints: joint (k,) of each contact.
        centres: centres (k, 3) on their joints.
        basis, normal, radius, belt: as of `PlaneRows`.
    """

    def __init__(
        self,
        motion: Motions,
        joints: Sequence[int],
        centres: Array,
        basis: Array,
        normal: Array,
        radius: Array,
        belt: Array | None,
    ) -> None:
        self._motion, self._centres, self._basis = motion, centres, basis
        self._shift = -radius[:, None] * normal
        self._belt = None if belt is None else np.tile(basis @ belt, len(joints))
        chosen, self._place = np.unique(joints, return_inverse=True)
        self._joints, self._supports = chosen.tolist(), supports(motion.model)[list(joints)][:, None, :]

    def __call__(self, t: float, v: Array) -> tuple[Array, Array, Array]:
        """Rows, velocities and bias, where the data is up to date."""
        data = self._motion.workspace.data
        centres, factors = self._touch()
        rows = (factors.reshape(-1, 6) @ data.J).reshape(*factors.shape[:2], -1) * self._supports
        V, A = self._twists(data.v), self._twists(data.a)
        change = at(A, centres) + cross(V[:, 3:], at(V, centres)) + cross(A[:, 3:], self._shift)
        return rows.reshape(-1, rows.shape[-1]), self._rates(factors, V), (change @ self._basis.T).ravel()

    def rates(self, t: float, v: Array) -> Array:
        """Velocities alone, where places and velocities in the data are up to date."""
        return self._rates(self._touch()[1], self._twists(self._motion.workspace.data.v))

    def _rates(self, factors: Array, V: Array) -> Array:
        rates = (factors @ V[..., None]).ravel()
        return rates if self._belt is None else rates - self._belt

    def _touch(self) -> tuple[Array, Array]:
        """Centres (k, 3), and what makes velocities of contacts of twists at the world's origin (k, 1 + d_t, 6)."""
        places = [self._motion.workspace.data.oMi[joint] for joint in self._joints]
        turns = np.array([place.rotation for place in places])[self._place]
        shifts = np.array([place.translation for place in places])[self._place]
        centres = (turns @ self._centres[..., None])[..., 0] + shifts
        moments = -self._basis @ skew(centres + self._shift)
        return centres, np.concatenate([np.broadcast_to(self._basis, moments.shape), moments], axis=-1)

    def _twists(self, motions: Any) -> Array:
        """Twists (k, 6) at the world's origin, or their rates, of the bodies of the contacts."""
        places = self._motion.workspace.data.oMi
        return np.array([places[joint].act(motions[joint]).vector for joint in self._joints])[self._place]
