"""The vertical-plane biped of Council, Revzen and Burden (Sec. 3.2.4), with its saltation matrices in closed form.

Coordinates (x, y, theta), y downward: gravity drives the gaps of both feet to zero. The paper's (18) prints a second
foot that contradicts its (19); here it mirrors the first: with beta = theta - s psi, s = 1 (right) or -1 (left),

    a(x, y, theta) = -y - (x + s l cos beta)^2 - s l sin beta.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

import contactsim as cs

Array = np.ndarray
SIDES = {"right": 1.0, "left": -1.0}


@dataclass(frozen=True)
class Biped:
    """Body of mass m [kg] and moment J [kg m^2] with two massless legs of length l [m] at the angles -+psi [rad]."""

    m: float = 1.0
    J: float = 1.0
    l: float = 1.0  # noqa: E741 - the paper's letter
    psi: float = 0.5
    g: float = 9.81

    @property
    def masses(self) -> Array:
        return np.array([self.m, self.m, self.J])

    def gap(self, foot: str, q: Array) -> float:
        s = SIDES[foot]
        beta = q[2] - s * self.psi
        return float(-q[1] - (q[0] + s * self.l * np.cos(beta)) ** 2 - s * self.l * np.sin(beta))

    def normal(self, foot: str, q: Array) -> Array:
        """Gradient (3,) of the gap."""
        s = SIDES[foot]
        c, w = s * self.l * np.cos(q[2] - s * self.psi), s * self.l * np.sin(q[2] - s * self.psi)
        return np.array([-2 * (q[0] + c), -1.0, 2 * (q[0] + c) * w - c])

    def mechanism(self) -> cs.Mechanism:
        """The biped for a ContactSystem, contacts 'right' and 'left'."""
        mass, weight = np.diag(self.masses), np.array([0.0, self.m * self.g, 0.0])
        return cs.Mechanism(
            n=3,
            mass=lambda q: mass,
            force=lambda t, q, v: weight,
            contacts=[
                cs.Gap(lambda t, q, f=f: self.gap(f, q), lambda t, q, f=f: self.normal(f, q), name=f) for f in SIDES
            ],
            potential=lambda q: -self.m * self.g * q[1],
        )

    def both_touch(self) -> Array:
        """The upright configuration (3,) in which both gaps are zero."""
        return np.array([0.0, self.l * np.sin(self.psi) - (self.l * np.cos(self.psi)) ** 2, 0.0])

    def saltation(
        self, q: Array, v: Array, foot: str, before: Mapping[str, float], after: Mapping[str, float]
    ) -> Array:
        """Saltation matrix (6, 6) where the gap of `foot` crosses zero and the damping of each foot changes.

        S = I + [0; M^-1 df] [Da_j 0] / (Da_j v), df = -sum_i (c_i(+) - c_i(-)) (Da_i v) Da_i^T; springs do not jump.
        Eq. (17) is the case in which only the damping of `foot` changes, from 0 (touching) or to 0 (leaving).
        """
        change = np.zeros(3)
        for name in SIDES:
            row = self.normal(name, q)
            change -= (after.get(name, 0.0) - before.get(name, 0.0)) * (row @ v) * row
        surface = self.normal(foot, q)
        matrix = np.eye(6)
        matrix[3:, :3] += np.outer(change / self.masses, surface) / (surface @ v)
        return matrix

    def in_order(self, q: Array, v: Array, first: str, second: str, alone: float, together: float) -> Array:
        """Product (6, 6) of two touch-downs one after the other, with the damping of a foot alone and of both."""
        one, both = {first: alone}, {first: together, second: together}
        return self.saltation(q, v, second, one, both) @ self.saltation(q, v, first, {}, one)
