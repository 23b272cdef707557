"""Twin of the compliant hexapod of the SimSect manual as a robot: six legs of two hinges and a sprung slider each.

Springs, dampers and hip motors are joint torques; toes have mass and weight, and touch the ground under a contact law.
The demonstration is the manual's gait with its torque limit, under its gravity of 10 m/s^2.

Source: SimSect manual, 5.1 to 5.4, Table 2; leg 4 sits at y = 0, where the print has 0.2.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import copysign, cos, floor, pi
from pathlib import Path
from typing import Any

import numpy as np

from .entry import Array, Demo, RobotEntry, foot

LEGS = 6
LENGTH = 0.2  # of a leg at rest [m]
TILT = np.array([0.2, 0.2, 0.2, -0.2, -0.2, -0.2])  # theta of each leg at rest [rad]
STIFF = np.array([1.0, 2.0, 1.0, 1.0, 2.0, 1.0])  # the middle legs are twice as stiff
STIFFNESS = np.array([10.0, 100.0, 500.0])  # of phi, theta and rho [N m/rad, N m/rad, N/m]
DAMPING = np.array([0.5, 0.4, 10.0])  # of the same [N m s/rad, N m s/rad, N s/m]
FRICTION = 5.0  # toes hold, as in the manual's runs; with the 0.5 of Table 2 they slip, and runs take ten times as long
MAX_TORQUE = 3.0  # of a hip at standstill [N m]
NO_LOAD = 10000.0 * pi / 30.0 * 0.0333  # speed of a hip without load [rad/s]
GRAVITY = 10.0  # m/s^2, of Table 2
ACCURACY = {"rtol": 1e-6, "atol": 1e-8}
"""Tolerances of the demonstration."""


@dataclass(frozen=True)
class Tripods:
    """Open-loop reference: phi of legs 0, 2, 4 and of 1, 3, 5 half a turn apart, slow on the ground and fast above it.

    Profile p(t), from the middle of the slow phase: sweep / slow per second for `slow` seconds, then once around in the
    rest of the period. Its rate is led over linearly where it would jump, and the angles outside are the same: a run
    finds where feet lift off because forces pass through zero. A growing phi drives the body to -y.

    Args:
        home: configuration of the root, and of the legs at rest with phi = 0, (nq,).
        places: indices of cos(phi) in q and of phi in v, two arrays (6,).
        period: of a turn, s.
        slow: duration of the slow phase, s.
        sweep: angle of the slow phase, rad.
        ramp: duration of each change between slow and fast, s; in the manual it jumps.
        direction: +1, or -1 for the negated profile, which drives the body to +y.

    Source: SimSect manual, 5.2, Figure 8.
    """

    home: Array
    places: tuple[Array, Array]
    period: float = 1.0
    slow: float = 0.6
    sweep: float = 0.75
    ramp: float = 0.01
    direction: float = 1.0

    def __call__(self, t: float) -> tuple[Array, Array, Array]:
        """Evaluate (q_ref, v_ref, tau_ff) at time t, s; the root's entries stand still, springs are at rest."""
        q, v, tau = self.home.copy(), np.zeros(self.home.size - LEGS - 1), np.zeros(self.home.size - LEGS - 1)
        phi, v[self.places[1]] = self.angles(t)
        q[self.places[0]], q[self.places[0] + 1] = np.cos(phi), np.sin(phi)
        return q, v, tau

    def angles(self, t: float) -> tuple[Array, Array]:
        """References of phi, rad in [-pi, pi), and their rates, rad/s, each (6,)."""
        both = [self.profile(t), self.profile(t + 0.5 * self.period)]
        angles, rates = self.direction * np.array([both[leg % 2] for leg in range(LEGS)]).T
        return angles, rates

    def profile(self, t: float) -> tuple[float, float]:
        """Profile p, rad, and its rate, rad/s, at time t, s, from the middle of a slow phase."""
        s = t - self.period * floor(t / self.period + 0.5)
        rate = self.sweep / self.slow
        gain = (2.0 * pi - self.sweep) / (self.period - self.slow) - rate
        late = abs(s) - 0.5 * self.slow
        share = min(max(late / self.ramp + 0.5, 0.0), 1.0)
        more = 0.5 * self.ramp * share * share if share < 1.0 else late
        return copysign(rate * abs(s) + gain * more, s), rate + gain * share


@dataclass(frozen=True)
class Drive:
    """Joint torques (t, q, v) -> tau (nv,): springs, dampers, and hips within the limit of their motors.

        tau_phi = clip(KP wrap(ref - phi) + KD (ref' - phi'), lower, upper)
        upper = max_torque clip(1 - phi' / w0, 0, 1),    lower = -max_torque clip(1 + phi' / w0, 0, 1)

    Args:
        tripods: the reference.
        max_torque: of a hip at standstill, N m.
        no_load: speed w0 of a hip without load, rad/s.

    Source: SimSect manual, 5.1.2, 5.1.6 and 5.5.4.
    """

    tripods: Tripods = field(repr=False)
    max_torque: float = MAX_TORQUE
    no_load: float = NO_LOAD

    def __call__(self, t: float, q: Array, v: Array) -> Array:
        """Evaluate tau (nv,), N m and N; zero on the root."""
        in_q, in_v = self.tripods.places
        angles, rates = self.tripods.angles(t)
        phi, speed = np.arctan2(q[in_q + 1], q[in_q]), v[in_v]
        error = angles - phi
        error -= 2.0 * pi * np.ceil(error / (2.0 * pi) - 0.5)
        wanted = STIFFNESS[0] * error + DAMPING[0] * (rates - speed)
        tau = np.zeros(v.size)
        upper = self.max_torque * np.clip(1.0 - speed / self.no_load, 0.0, 1.0)
        lower = -self.max_torque * np.clip(1.0 + speed / self.no_load, 0.0, 1.0)
        tau[in_v] = np.clip(wanted, lower, upper)
        tau[in_v + 1] = STIFF * (STIFFNESS[1] * (TILT - q[in_q + 2]) - DAMPING[1] * v[in_v + 1])
        tau[in_v + 2] = -STIFF * (STIFFNESS[2] * q[in_q + 3] + DAMPING[2] * v[in_v + 2])
        return tau


def hip_places(model: Any) -> tuple[Array, Array]:
    """Indices of cos(phi) in q and of phi in v, two arrays (6,); sin(phi), theta and rho - LENGTH follow in q."""
    ids = [model.getJointId(f"leg{i}_phi") for i in range(LEGS)]
    return np.array([model.idx_qs[i] for i in ids]), np.array([model.idx_vs[i] for i in ids])


def nominal(model: Any) -> Array:
    """All legs downwards at their rest lengths and angles, unloaded toes on the floor, body level."""
    import pinocchio as pin

    q: Array = pin.neutral(model)
    q[2] = LENGTH * cos(TILT[0])
    q[hip_places(model)[0] + 2] = TILT
    return q


def gains(model: Any) -> tuple[Array, Array]:
    """Stiffness and damping of the hips' control, the springs and the dampers, (nv,) each, zero on the root."""
    kp, kd, rows = np.zeros(model.nv), np.zeros(model.nv), hip_places(model)[1]
    for k, factor in enumerate((np.ones(LEGS), STIFF, STIFF)):
        kp[rows + k], kd[rows + k] = factor * STIFFNESS[k], factor * DAMPING[k]
    return kp, kd


def drive(model: Any) -> Drive:
    """The manual's open-loop controller with its torque limit, for `ContactSystem(..., controller=...)`."""
    return Drive(Tripods(nominal(model), hip_places(model)))


def run(model: Any) -> Demo:
    """Start on the unloaded springs of legs 0, 2, 4 and run to -y; joint control in its place has no torque limit."""
    motors = drive(model)
    tripods = motors.tripods
    kp, kd = gains(model)
    return Demo(
        tripods(0.0)[0],
        np.zeros(model.nv),
        time=2.0,
        reference=tripods,
        kp=kp,
        kd=kd,
        tolerances=ACCURACY,
        controller=motors,
        gravity=GRAVITY,
    )


ENTRY = RobotEntry(
    name="compliant-hexapod-twin",
    description="six springy legs, 6 hip motors, 6.06 kg; the model compliant-hexapod as a robot with contacts",
    path=Path(__file__).with_name("compliant_hexapod.urdf"),
    root="free_flyer",
    package_dirs=(),
    feet=tuple(foot(f"leg{i}_toe", f"toe{i}", friction=FRICTION) for i in range(LEGS)),
    nominal=nominal,
    demo=run,
)
