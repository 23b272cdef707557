"""LuGre: friction of bristles that bend before they slip, on a spring and a damper along the normal."""

from __future__ import annotations

import numpy as np
from pydantic import Field

from contactsim.common.lazy import NamedTuple
from contactsim.contact.law_parameters import LawParameters
from contactsim.contact.laws import CompliantLaw, CompliantPoint

LINEAR = 1e-4  # below it tanh(x) / x is 1 - x^2 / 3, to 1e-17


class LuGreParameters(LawParameters):
    """Parameters of the LuGre law; those of the bristles are relative to the normal force."""

    stiffness: float = Field(2e4, gt=0.0, description="normal stiffness [N/m]")
    damping: float = Field(2e2, ge=0.0, description="normal damping [N s/m]")
    bristle_stiffness: float = Field(1e3, gt=0.0, description="stiffness of the bristles, sigma_0 [1/m]")
    bristle_damping: float = Field(10.0, ge=0.0, description="damping of the bristles, sigma_1 [s/m]")
    viscous: float = Field(0.0, ge=0.0, description="viscous friction, sigma_2 [s/m]")
    stribeck_speed: float = Field(2e-2, gt=0.0, description="speed at which 1/e of static over kinetic is left [m/s]")
    damping_limit: float = Field(1.0, gt=0.0, description="largest damping over friction, L; 1e9: none [-]")


class _Bristles(NamedTuple):
    """Terms of the law: v = z_t and its size over g, the share h of the damping, and derivatives by v."""

    slip: np.ndarray
    ratio: float
    ratio_slope: np.ndarray
    share: float
    share_slope: np.ndarray
    rate: np.ndarray


class LuGre(CompliantLaw):
    """Bristles z (d_t,) [m] as internal state; friction builds up as they bend, and has a memory of the slip v = z_t.

        lam_n = -k g - c z_n,  lam_t = -lam_n (sigma_0 z + sigma_1 h z' + sigma_2 v),
        z' = v - sigma_0 |v| / g(v) z,  g(v) = mu_k + (mu_s - mu_k) exp(-(|v| / v_S)^2),
        h = tanh(x) / x,  x = sigma_1 |v| / (L g(v)).

    With L without bound h = 1, and along a line under a constant normal force this is the published law, whose force
    sigma_1 v of a contact that has just begun to slip is unbounded. The spatial law is isotropic, and sigma_0 |z|
    never leaves the ball mu_s. For L <= 1 and sigma_2 = 0 the force is a mean of sigma_0 z and g(v) v / |v|, and stays
    within the static cone. For L <= 4 it is passive under a constant normal force, with the energy
    lam_n sigma_0 |z|^2 / 2 in the bristles: -lam_t v >= d/dt of it, since sigma_1 h |v| / g <= 4.

    The bristles of a contact that touches down are straight: they take hold of new ground. In the air they are at
    rest. A contact without friction has no bristles. The rate has a kink at v = 0, as the published one has.

    Source: Canudas de Wit, Olsson, Astrom, Lischinsky, A new model for control of systems with friction, IEEE Trans.
    Automatic Control 40, 1995, eq. (1) to (5); Olsson, Control systems with friction, 1996 (damping that decays).
    """

    Parameters = LuGreParameters
    memory = 2
    integrator = "Radau9"  # bristles are stiff: sigma_0 |v| / mu a second, and their damping on light feet

    def force(self, point: CompliantPoint) -> tuple[np.ndarray, np.ndarray]:
        """Force along the normal and of the bristles, and the rate of the bristles [m/s]."""
        size = len(point.velocity) - 1
        force, rate = np.zeros(1 + size), np.zeros(self.memory)
        force[0] = self._normal(point)
        if point.friction > 0.0 and size:
            bristles = self._bristles(point)
            force[1:], rate[:size] = -force[0] * self._pull(point, bristles), bristles.rate
        return force, rate

    def jacobian(self, point: CompliantPoint) -> np.ndarray:
        """With a = |v| / g: dz' = (I - sigma_0 z da^T) dv - sigma_0 a dz, and lam_t by the product rule."""
        p, size = self.parameters, len(point.velocity) - 1
        matrix = np.zeros((1 + size + self.memory, 2 + size + self.memory))
        matrix[0, :2] = -p.stiffness, -p.damping
        if not (point.friction > 0.0 and size):
            return matrix
        bristles, eye, normal = self._bristles(point), np.eye(size), self._normal(point)
        by_slip = eye - p.bristle_stiffness * np.outer(point.memory[:size], bristles.ratio_slope)
        by_bend = -p.bristle_stiffness * bristles.ratio * eye
        force, rate, slip, bend = slice(1, 1 + size), slice(1 + size, 1 + 2 * size), slice(2, 2 + size), 2 + size
        matrix[rate, slip], matrix[rate, bend : bend + size] = by_slip, by_bend
        matrix[force, :2] = -np.outer(self._pull(point, bristles), matrix[0, :2])
        damped = bristles.share * by_slip + np.outer(bristles.rate, bristles.share_slope)
        matrix[force, slip] = -normal * (p.bristle_damping * damped + p.viscous * eye)
        matrix[force, bend : bend + size] = -normal * (
            p.bristle_stiffness * eye + p.bristle_damping * bristles.share * by_bend
        )
        return matrix

    def _normal(self, point: CompliantPoint) -> float:
        return -self.parameters.stiffness * point.gap - self.parameters.damping * float(point.velocity[0])

    def _pull(self, point: CompliantPoint, bristles: _Bristles) -> np.ndarray:
        """Friction over normal force (d_t,), along the slip."""
        p = self.parameters
        bend = point.memory[: len(bristles.slip)]
        damped = bristles.share * bristles.rate
        return p.bristle_stiffness * bend + p.bristle_damping * damped + p.viscous * bristles.slip

    def _bristles(self, point: CompliantPoint) -> _Bristles:
        p, slip = self.parameters, point.velocity[1:]
        speed = float(np.sqrt(slip @ slip))
        direction = slip / speed if speed > 0.0 else slip
        excess = max(point.static_friction - point.friction, 0.0) * float(np.exp(-((speed / p.stribeck_speed) ** 2)))
        level = point.friction + excess
        ratio = speed / level
        ratio_slope = direction / level + ratio / level * 2.0 * excess / p.stribeck_speed**2 * slip
        x = p.bristle_damping * ratio / p.damping_limit
        share = float(np.tanh(x)) / x if x > LINEAR else 1.0 - x**2 / 3.0
        steep = (1.0 - float(np.tanh(x)) ** 2 - share) / x if x > LINEAR else -2.0 * x / 3.0
        rate = slip - p.bristle_stiffness * ratio * point.memory[: len(slip)]
        share_slope = steep * p.bristle_damping / p.damping_limit * ratio_slope
        return _Bristles(slip, ratio, ratio_slope, share, share_slope, rate)
