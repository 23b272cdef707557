"""A six-legged walker: leg kinematics in closed form and the alternating tripod gait."""

from __future__ import annotations

from dataclasses import dataclass
from math import acos, atan2, cos, floor, hypot, pi, sin
from pathlib import Path
from typing import Any

import numpy as np

from .entry import Array, Demo, RobotEntry, foot

COXA, FEMUR, TIBIA = 0.05, 0.12, 0.19
"""Lengths of the leg's links, m."""
ROTOR_INERTIA = 0.012  # of each servo, reflected through its gear, as of a common 1:350 one [kg m^2]
FOOT_RADIUS = 0.02
REACH, DROP = 0.20, 0.135
"""Centre of a standing foot, m: out from the hip's yaw axis and down from the hip."""
STIFFNESS, DAMPING = 150.0, 3.0
"""Gains of every joint, N m / rad and N m s / rad."""

Vector = tuple[float, float, float]


@dataclass(frozen=True)
class Leg:
    """One leg: its name, the direction of its hip about z in the body (rad), and the tripod it belongs to (0, 1)."""

    name: str
    heading: float
    tripod: int

    @property
    def joints(self) -> tuple[str, str, str]:
        """Names of the three joints, from the body to the foot."""
        return f"{self.name}_hip_yaw", f"{self.name}_hip_pitch", f"{self.name}_knee"


LEGS = (
    Leg("lf", pi * 5 / 18, 0),
    Leg("lm", pi / 2, 1),
    Leg("lr", pi * 13 / 18, 0),
    Leg("rf", -pi * 5 / 18, 1),
    Leg("rm", -pi / 2, 0),
    Leg("rr", -pi * 13 / 18, 1),
)


def inverse_kinematics(p: Vector, dp: Vector) -> tuple[Vector, Vector]:
    """Joint angles (yaw, pitch, knee) and rates that put a foot at p with velocity dp.

    Args:
        p: centre of the foot in the hip's frame (x out, z up), m.
        dp: its velocity in the same frame, m/s.

    Returns:
        Angles, rad, with the knee bent (positive), and their rates, rad/s.
    """
    x, y, z = p
    dx, dy, dz = dp
    rho = hypot(x, y)
    out, d_out = rho - COXA, (x * dx + y * dy) / rho
    knee = acos((out * out + z * z - FEMUR * FEMUR - TIBIA * TIBIA) / (2.0 * FEMUR * TIBIA))
    pitch = atan2(-z, out) - atan2(TIBIA * sin(knee), FEMUR + TIBIA * cos(knee))
    d_knee = -(out * d_out + z * dz) / (FEMUR * TIBIA * sin(knee))
    d_pitch = (-dz - TIBIA * cos(pitch + knee) * d_knee) / out
    return (atan2(y, x), pitch, knee), ((x * dy - y * dx) / (rho * rho), d_pitch, d_knee)


def leg_posture(leg: Leg, shift: Vector, rate: Vector) -> tuple[Vector, Vector]:
    """Joint angles and rates with the foot `shift` (body axes, m) away from its standing place, moving at `rate`."""
    c, s = cos(leg.heading), sin(leg.heading)
    place = (REACH + c * shift[0] + s * shift[1], c * shift[1] - s * shift[0], shift[2] - DROP)
    return inverse_kinematics(place, (c * rate[0] + s * rate[1], c * rate[1] - s * rate[0], rate[2]))


@dataclass(frozen=True)
class TripodGait:
    """Joint reference of a walk along +x in which two tripods take turns; twice continuously differentiable in time.

    The cycle count c(t) stays 0 until `start`, gathers pace over `ramp` seconds and then grows by 1 / period. A foot
    at phase p = c + offset (mod 1) is on the ground for p < duty and moves backwards at the walking speed; then it
    swings forward on a quintic that meets the ground phase with equal velocity and acceleration.

    Args:
        home: configuration whose root entries the reference keeps, (nq,).
        places: indices in q and in v of the three joints of each leg, in the order of LEGS.
        speed: walking speed, m/s.
        period: duration of a cycle, s.
        duty: part of the cycle that a foot spends on the ground, above 0.5.
        lift: height of a swinging foot, m.
        start: time at which the feet begin to move, s.
        ramp: duration of the acceleration, s.
    """

    home: Array
    places: tuple[tuple[tuple[int, int], ...], ...]
    speed: float = 0.25
    period: float = 0.7
    duty: float = 0.6
    lift: float = 0.035
    start: float = 0.4
    ramp: float = 0.5

    def __call__(self, t: float) -> tuple[Array, Array, Array]:
        """Evaluate (q_ref, v_ref, tau_ff) at time t, s; the root's entries stand still at the origin."""
        q, v, tau = self.home.copy(), np.zeros(self.home.size - 1), np.zeros(self.home.size - 1)
        count, pace = self.cycles(t)
        steps = [self.step(count + offset) for offset in self.offsets()]
        for leg, places in zip(LEGS, self.places, strict=True):
            (x, z), (dx, dz) = steps[leg.tripod]
            angles, rates = leg_posture(leg, (x, 0.0, z), (dx * pace, 0.0, dz * pace))
            for (i, j), angle, rate in zip(places, angles, rates, strict=True):
                q[i], v[j] = angle, rate
        return q, v, tau

    def offsets(self) -> tuple[float, float]:
        """Phases of the two tripods at rest: both on the ground, the first one about to lift."""
        middle = 0.5 * (self.duty - 0.5)
        return self.duty - middle, middle

    def cycles(self, t: float) -> tuple[float, float]:
        """Cycles walked until t and their rate, 1/s: the integral of a quintic step from 0 to 1 / period."""
        s = min(max((t - self.start) / self.ramp, 0.0), 1.0)
        pace = s**3 * (10.0 - 15.0 * s + 6.0 * s * s) / self.period
        steady = max(t - self.start - self.ramp, 0.0)
        return (self.ramp * s**4 * (2.5 - 3.0 * s + s * s) + steady) / self.period, pace

    def step(self, phase: float) -> tuple[tuple[float, float], tuple[float, float]]:
        """Displacement (forward, up) of a foot from its standing place at a phase, m, and its phase derivative."""
        p = phase - floor(phase)
        travel = self.speed * self.duty * self.period
        slope = travel / self.duty
        if p < self.duty:
            return (0.5 * travel - slope * p, 0.0), (-slope, 0.0)
        swing = 1.0 - self.duty
        s = (p - self.duty) / swing
        back = slope * swing
        rise, d_rise = s**3 * (10.0 - 15.0 * s + 6.0 * s * s), 30.0 * (s * (1.0 - s)) ** 2
        x, dx = (travel + back) * rise - back * s - 0.5 * travel, (travel + back) * d_rise - back
        z, dz = 64.0 * (s * (1.0 - s)) ** 3, 192.0 * (s * (1.0 - s)) ** 2 * (1.0 - 2.0 * s)
        return (x, self.lift * z), (dx / swing, self.lift * dz / swing)


def joint_places(model: Any) -> tuple[tuple[tuple[int, int], ...], ...]:
    """Indices in q and in v of the three joints of each leg, in the order of LEGS."""
    ids = [[model.getJointId(joint) for joint in leg.joints] for leg in LEGS]
    return tuple(tuple((model.idx_qs[i], model.idx_vs[i]) for i in leg) for leg in ids)


def nominal(model: Any) -> Array:
    """All six feet on the floor at their standing places, body level."""
    import pinocchio as pin

    q: Array = pin.neutral(model)
    q[2] = DROP + FOOT_RADIUS
    still = (0.0, 0.0, 0.0)
    for leg, places in zip(LEGS, joint_places(model), strict=True):
        for (i, _), angle in zip(places, leg_posture(leg, still, still)[0], strict=True):
            q[i] = angle
    return q


def walk(model: Any) -> Demo:
    """Drop from 0.05 m, land on six feet, walk forward at 0.25 m/s."""
    gait = TripodGait(nominal(model), joint_places(model))
    q = gait(0.0)[0]
    q[2] += 0.05
    motors = np.r_[np.zeros(6), np.ones(model.nv - 6)]
    return Demo(q, np.zeros(model.nv), time=3.0, reference=gait, kp=STIFFNESS * motors, kd=DAMPING * motors)


ENTRY = RobotEntry(
    name="hexapod",
    description="six legs, 18 motors, 8 kg; drops, lands and walks with an alternating tripod gait",
    path=Path(__file__).with_name("hexapod.urdf"),
    root="free_flyer",
    package_dirs=(),
    feet=tuple(foot(f"{leg.name}_foot", leg.name, radius=FOOT_RADIUS) for leg in LEGS),
    nominal=nominal,
    demo=walk,
    armature=ROTOR_INERTIA,
)
