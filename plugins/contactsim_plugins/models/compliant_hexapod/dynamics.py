"""Motion of the compliant hexapod in one chart: forces of the legs, the body, the toes.

Arrays may have leading axes (...) that hold many states at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from contactsim.common.arrays import Array
from contactsim.common.lazy import NamedTuple

from .controller import HipControl
from .geometry import Spherical, axial, skew, spherical
from .legs import SlippingLeg, Springs, body_forces, damping, lever
from .parameters import HexapodParameters
from .state import DIM, FEET, FEET_RATE, PLACE, REFERENCE, ROTATION, SPEED, SPIN
from .terrain import Ground

BODY = np.ones((1, 6))  # sums over the legs


class Setting(NamedTuple):
    """Constants of a chart.

    Attributes:
        stance: which legs stand (6,).
        stands, flies: the same as factors one and zero (6, 1).
        speeds: rates of the references (6,) [rad/s].
        saturated: which springs (6,) are beyond the jump of the printed saturation; None: their lengths say so.
    """

    stance: Array
    stands: Array
    flies: Array
    speeds: Array
    saturated: Array | None = None

    @classmethod
    def of(cls, stance: Any, speeds: Array, saturated: Array | None = None) -> Setting:
        """The setting of given standing legs (6,), rates of the references (6,) and saturated springs (6,)."""
        flags = np.array(stance, dtype=bool)
        stands = flags[:, None].astype(float)
        return cls(flags, stands, 1.0 - stands, speeds, saturated)


class Evaluation(NamedTuple):
    """The legs at a state.

    Attributes:
        R: body orientation (..., 3, 3).
        turn: J(w) (..., 3, 3) of the angular velocity [rad/s].
        arms: toes from the centre of the body (..., 6, 3) in the world [m].
        v, v_rate: legs in body axes and their rates (..., 6, 3) [m, m/s].
        legs: the same in spherical coordinates.
        radial, bending, hip: F_r [N], tau_theta and tau_phi [N m] (..., 6).
        force: R F_i (..., 6, 3), the force of each leg on the body if it stands, in the world [N].
        normal: its component <n, R F_i> (..., 6) along the normal of the ground below the toe [N].
        toe_rate: velocity of each toe (..., 6, 3) [m/s].
    """

    R: Array
    turn: Array
    arms: Array
    v: Array
    v_rate: Array
    legs: Spherical
    radial: Array
    bending: Array
    hip: Array
    force: Array
    normal: Array
    toe_rate: Array


class Dynamics:
    """Forces and rates of the model with given parameters."""

    def __init__(self, parameters: HexapodParameters) -> None:
        p = parameters
        self.springs, self.control = Springs.of(p), HipControl.of(p)
        self.ground = Ground(p.terrain_type, p.terrain_arg1, p.terrain_arg2, p.terrain_arg3)
        self.attach = np.column_stack([p.legs(f"attach{{}}_{axis}") for axis in "xyz"])
        self.body_mass, self.toe_mass, self.mu = p.body_mass, p.leg_mass, p.friction_coeff
        self.gravity = np.array([0.0, 0.0, -p.g])
        self.inertia, self.inverse_inertia = p.inertia(), np.linalg.inv(p.inertia())
        self.slips = p.friction == "slip"
        self.flat = p.terrain_type == "flat"

    def evaluate(self, x: Array, setting: Setting) -> Evaluation:
        """The legs at states x (..., 60) in a chart."""
        toe_rate = x[..., FEET_RATE].reshape(*x.shape[:-1], 6, 3) * setting.flies
        found = self._legs(x, setting, toe_rate)
        if self.slips and setting.stance.any():
            return self._slipping(x, setting, found)
        return found

    def _legs(self, x: Array, setting: Setting, toe_rate: Array) -> Evaluation:
        """The legs with given velocities of the toes (..., 6, 3)."""
        shape = x.shape[:-1]
        R, turn = x[..., ROTATION].reshape(*shape, 3, 3), skew(x[..., SPIN])
        feet = x[..., FEET].reshape(*shape, 6, 3)
        arms = feet - x[..., None, PLACE]
        v = arms @ R - self.attach
        v_rate = (toe_rate - x[..., None, SPEED] + arms @ turn) @ R
        legs = spherical(v, v_rate)
        radial = self.springs.radial(legs.rho, legs.rho_rate, setting.saturated)
        bending = self.springs.angular(legs.theta, legs.theta_rate)
        hip = self.control.torque(x[..., REFERENCE], setting.speeds, legs.phi, legs.phi_rate)
        force = body_forces(v, legs, radial, bending, hip) @ R.swapaxes(-1, -2)
        normal = force[..., 2] if self.flat else np.sum(force * self.ground.normal(feet.real), axis=-1)
        return Evaluation(R, turn, arms, v, v_rate, legs, radial, bending, hip, force, normal, toe_rate)

    def _slipping(self, x: Array, setting: Setting, resting: Evaluation) -> Evaluation:
        """The legs with the standing toes in quasi-static slip, where the force leaves the friction cone."""
        if x.ndim > 1:
            flat = x.reshape(-1, x.shape[-1])
            each = [self.evaluate(point, setting) for point in flat]
            return _stacked(each, x.shape[:-1])
        R, v, legs, control = resting.R, resting.v, resting.legs, self.control
        normals = self.ground.normal(x[FEET].reshape(6, 3))
        D = R @ damping(v, legs, self.springs) @ R.T
        levers = lever(v, legs) @ R.T
        rest = -resting.force - levers * resting.hip[:, None]
        free = control.unlimited(x[REFERENCE], setting.speeds, legs.phi, np.zeros(6))
        toe_rate = resting.toe_rate.copy()
        for i in np.flatnonzero(setting.stance):
            rate = float(legs.phi_rate[i])
            leg = SlippingLeg(rest[i], levers[i], D[i], normals[i], rate, float(free[i]), control, self.mu)
            if not leg.sticks():
                toe_rate[i] = leg.slip()
        return self._legs(x, setting, toe_rate)

    def rate(self, x: Array, setting: Setting, found: Evaluation) -> Array:
        """Rate of states (..., 60) in tangent coordinates (..., 54).

            r'' = F_T / m_b,    M w' = -J(w) M w + tau_T,    M = R M_0 R^-1
            toe in flight: f'' = -R F_i / m_t,    in stance: f'' = 0

        The print lacks the rotation R before F_i. Toes have no weight and the body does not feel legs in flight.

        Source: SimSect manual, 5.1.3 to 5.1.5.
        """
        R, back, shape = found.R, found.R.swapaxes(-1, -2), x.shape[:-1]
        standing = setting.stands * found.force
        torque = axial(found.arms.swapaxes(-1, -2) @ standing)[..., None, :]
        momentum = x[..., None, SPIN] @ R @ self.inertia @ back
        out = np.empty((*shape, DIM), dtype=x.dtype)
        out[..., :3] = x[..., SPIN]
        out[..., None, 3:6] = (torque + momentum @ found.turn) @ R @ self.inverse_inertia @ back
        out[..., 6:9] = x[..., SPEED]
        out[..., None, 9:12] = BODY @ standing / self.body_mass + self.gravity
        out[..., 12:30] = found.toe_rate.reshape(*shape, 18)
        out[..., 30:48] = ((standing - found.force) / self.toe_mass).reshape(*shape, 18)
        out[..., 48:] = setting.speeds
        return out

    def clearance(self, x: Array) -> Array:
        """Height of the toes above ground (..., 6), f_z - h(f_x, f_y) [m]."""
        feet = x[..., FEET].reshape(*x.shape[:-1], 6, 3)
        return feet[..., 2] if self.flat else feet[..., 2] - self.ground.height(feet)


def _stacked(each: list[Evaluation], shape: tuple[int, ...]) -> Evaluation:
    """Evaluations at single states as one with leading axes."""

    def stack(values: list[Array]) -> Array:
        return np.array(values).reshape(*shape, *np.shape(values[0]))

    columns: list[Any] = []
    for name in Evaluation._fields:
        values = [getattr(found, name) for found in each]
        if name == "legs":
            columns.append(Spherical(*(stack(list(part)) for part in zip(*values, strict=True))))
        else:
            columns.append(stack(values))
    return Evaluation(*columns)
