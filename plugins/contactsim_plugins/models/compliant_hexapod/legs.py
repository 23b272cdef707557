"""Forces of the legs: springs, dampers, saturation, and the slip of toes in stance."""

from __future__ import annotations

from math import sqrt

import numpy as np
from scipy.optimize import brentq

from contactsim.common.arrays import Array
from contactsim.common.lazy import NamedTuple

from .controller import HipControl
from .geometry import Spherical
from .parameters import HexapodParameters

# Slips are looked for where mu N / |u| lies between these multiples of the damping of the leg.
STIFFEST, SOFTEST = 1e9, 1e-3


class Springs(NamedTuple):
    """Radial and angular springs and dampers of the legs, each array (6,).

        F_r = -k_r (rho - rho_0) - d_r rho' - saturation        tau_theta = -k_theta (theta - theta_0) - d_theta theta'
        saturation = K expm1((rho - rho_l) / length) for rho > rho_l

    With `length` zero the saturation is the printed one, K exp(rho - rho_0) for rho >= rho_l, which jumps there; a
    chart holds for each leg on which side of the jump it is.

    Source: SimSect manual, 5.1.2, eq. (2).
    """

    k_r: Array
    d_r: Array
    rho_0: Array
    k_theta: Array
    d_theta: Array
    theta_0: Array
    K: float = 0.0
    rho_l: float = 0.2
    length: float = 0.002

    @classmethod
    def of(cls, parameters: HexapodParameters) -> Springs:
        """The springs that the parameters of a model give."""
        names = ("rho{}_k", "rho{}_d", "rho{}_r0", "theta{}_k", "theta{}_d", "theta{}_r0")
        k_r, d_r, rho_0, k_theta, d_theta, theta_0 = (parameters.legs(name) for name in names)
        length = parameters.saturation_length if parameters.saturation == "continuous" else 0.0
        return cls(k_r, d_r, rho_0, k_theta, d_theta, theta_0, parameters.K, parameters.rho_l, length)

    @property
    def jumps(self) -> bool:
        """True where the force jumps at rho_l."""
        return self.K > 0.0 and not self.length

    def radial(self, rho: Array, rho_rate: Array, saturated: Array | None = None) -> Array:
        """Radial forces F_r (..., 6), positive where they press [N]; `saturated` as for `saturation`."""
        force = self.k_r * (self.rho_0 - rho) - self.d_r * rho_rate
        return force - self.saturation(rho, saturated) if self.K else force

    def saturation(self, rho: Array, saturated: Array | None = None) -> Array:
        """Addition of the saturation to the pull of springs of the lengths rho (..., 6) [N].

        `saturated` says which legs (6,) are beyond the jump of the printed form; None: those with rho >= rho_l.
        """
        if self.length:
            return self.K * np.expm1(np.maximum(rho - self.rho_l, 0.0) / self.length)
        beyond = rho.real >= self.rho_l if saturated is None else saturated
        return np.where(beyond, self.K * np.exp(rho - self.rho_0), 0.0)

    def angular(self, theta: Array, theta_rate: Array) -> Array:
        """Bending torques tau_theta (..., 6) [N m]."""
        return self.k_theta * (self.theta_0 - theta) - self.d_theta * theta_rate

    def energy(self, rho: Array, theta: Array) -> Array:
        """Energy (..., 6) stored in the springs of each leg [J]."""
        stored = 0.5 * self.k_r * (rho - self.rho_0) ** 2 + 0.5 * self.k_theta * (theta - self.theta_0) ** 2
        if not self.K:
            return stored
        over = np.maximum(rho - self.rho_l, 0.0)
        if self.length:
            return stored + self.K * (self.length * np.expm1(over / self.length) - over)
        return stored + np.where(over > 0.0, self.K * (np.exp(rho - self.rho_0) - np.exp(self.rho_l - self.rho_0)), 0.0)


def body_forces(v: Array, legs: Spherical, radial: Array, bending: Array, hip: Array) -> Array:
    """Forces of the legs on the body (..., 6, 3), in body axes [N].

        F_i = [ -sin theta            -cos theta              0        ]   [ F_r                         ]
              [ -cos theta sin phi     sin theta sin phi     -cos phi  ] . [ tau_theta / rho             ]
              [  cos theta cos phi    -sin theta cos phi     -sin phi  ]   [ tau_phi / (rho cos theta)   ]

    with sines and cosines from the Cartesian coordinates v (..., 6, 3). This is the ground's reaction, passed on by a
    massless leg: it presses the body upwards. (5.3.3 and 5.4.5 of the manual use the opposite sign.)

    Source: SimSect manual, 5.1.2.
    """
    x, y, z = v[..., 0], v[..., 1], v[..., 2]
    bend = bending / (legs.rho * legs.rho)
    along = bend * x / legs.swing - radial / legs.rho
    around = hip / (legs.swing * legs.swing)
    out = np.empty_like(v)
    out[..., 0] = -radial / legs.rho * x - bend * legs.swing
    out[..., 1] = along * y + around * z
    out[..., 2] = along * z - around * y
    return out


def damping(v: Array, legs: Spherical, springs: Springs) -> Array:
    """Damping matrices D (6, 3, 3) of springs and dampers in body axes [N s/m], without that of the hip control.

    D = d_r e_rho e_rho^T + d_theta / rho^2 e_theta e_theta^T, for legs v (6, 3): the force on the toe has slope -D.
    """
    x, y, z = v.T
    rho, swing = legs.rho, legs.swing
    radial = v / rho[:, None]
    bending = np.stack([swing, -x * y / swing, -x * z / swing], axis=-1) / rho[:, None]
    parts = ((springs.d_r, radial), (springs.d_theta / rho**2, bending))
    return sum(weight[:, None, None] * axis[:, :, None] * axis[:, None, :] for weight, axis in parts)  # type: ignore


def lever(v: Array, legs: Spherical) -> Array:
    """Forces c (6, 3) on the toes of a hip torque of one, e_phi / (rho cos theta), in body axes [1/m]."""
    return np.stack([np.zeros(6), -v[:, 2], v[:, 1]], axis=-1) / (legs.swing**2)[:, None]


class SlippingLeg(NamedTuple):
    """The leg of a toe that may slip along the ground: its force on the toe, as a function of the slip u (3,).

        G(u) = G_0 + c tau(phi' + c . u) - D u,    N(u) = -n . G(u)

    Attributes:
        rest: force G_0 (3,) at rest without the hip torque [N].
        lever: force c (3,) of a hip torque of one [1/m].
        damping: D (3, 3) [N s/m].
        normal: unit normal n (3,) of the ground.
        phi_rate: speed phi' of the leg with its toe at rest [rad/s].
        free: hip torque at phi' = 0 before it is limited [N m].
        control: the hip control.
        mu: friction coefficient.
    """

    rest: Array
    lever: Array
    damping: Array
    normal: Array
    phi_rate: float
    free: float
    control: HipControl
    mu: float

    def sticks(self) -> bool:
        """True where the force on the resting toe lies in the friction cone, |G_t| <= mu N."""
        turning = self.control.limited(self.free - self.control.KD * self.phi_rate, self.phi_rate)
        force = self.rest + self.lever * turning
        N = -float(self.normal @ force)
        tangential = force + N * self.normal
        return sqrt(float(tangential @ tangential)) <= self.mu * N

    def slip(self) -> Array:
        """Velocity u (3,) of the toe in quasi-static slip, G_t(u) = mu N(u) u / |u|.

        With s = mu N / |u| the tangential balance G_t(u) = s u has one solution u(s), and s is a zero of a function of
        one number. Where it has several, that which a toe reaches first from rest counts: the largest s. A toe that
        nothing presses down moves freely, s = 0.
        """
        n = self.normal
        first = np.cross(n, [1.0, 0.0, 0.0] if abs(n[0]) < 0.9 else [0.0, 1.0, 0.0])
        first /= np.linalg.norm(first)
        T = np.column_stack([first, np.cross(n, first)])
        a, axes = np.linalg.eigh(T.T @ self.damping @ T)
        T = T @ axes
        numbers = [a, self.rest @ T, self.lever @ T, n @ self.damping @ T]
        (a1, a2), (b1, b2), (c1, c2), (m1, m2) = (pair.tolist() for pair in numbers)
        N, lift = -float(n @ self.rest), float(n @ self.lever)

        def velocity(s: float) -> tuple[float, float, float]:
            k1, k2 = 1.0 / (s + a1), 1.0 / (s + a2)
            start = self.phi_rate + c1 * k1 * b1 + c2 * k2 * b2
            tau = self.control.torque_through(self.free, start, c1 * c1 * k1 + c2 * c2 * k2)
            return k1 * (b1 + c1 * tau), k2 * (b2 + c2 * tau), tau

        def excess(s: float) -> float:
            u1, u2, tau = velocity(s)
            return s * sqrt(u1 * u1 + u2 * u2) - self.mu * (N + m1 * u1 + m2 * u2 - lift * tau)

        high, s = STIFFEST * (a1 + a2), 0.0
        while high > SOFTEST * (a1 + a2):
            low = 0.5 * high
            if excess(low) < 0.0:
                s = brentq(excess, low, high, xtol=1e-14 * high, rtol=1e-14) if excess(high) > 0.0 else high
                break
            high = low
        return T @ np.array(velocity(s)[:2])
