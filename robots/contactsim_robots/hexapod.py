"""A six-legged walker: leg kinematics in closed form and the alternating tripod gait."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import acos, atan2, cos, floor, hypot, pi, sin, sqrt
from pathlib import Path
from typing import Any

import numpy as np

from .entry import Array, Demo, RobotEntry, foot

COXA, FEMUR, TIBIA = 0.05, 0.12, 0.21
"""Lengths of the leg's links, m; the last one reaches to the tip of the foot, where the leg touches the ground."""
FOOT_RADIUS = 0.02
ROTOR_INERTIA = 0.004  # of each motor, reflected through its gear: 5e-5 kg m^2 behind 1:9 [kg m^2]
REACH, DROP = 0.20, 0.155
"""Tip of a standing foot, m: out from the hip's yaw axis and down from the hip."""
STIFFNESS, DAMPING = 80.0, 1.5
"""Gains of every joint, N m / rad and N m s / rad; what the robot weighs is fed forward."""
KNOTS = 200  # of the feed-forward over a cycle
ACCURACY = {"rtol": 1e-6, "atol": 1e-8, "hop": 1e-8, "slip_speed": 1e-5}
"""Tolerances of the demonstration: what is above them can be seen, and the cascades of tiny hops below them cannot."""

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
        p: tip of the foot in the hip's frame (x out, z up), m.
        dp: its velocity in the same frame, m/s.

    Returns:
        Angles, rad, with the knee bent (positive), and their rates, rad/s.
    """
    x, y, z = p
    dx, dy, dz = dp
    rho = hypot(x, y)
    out, d_out = rho - COXA, (x * dx + y * dy) / rho
    reach = out * out + z * z
    bend = (reach - FEMUR * FEMUR - TIBIA * TIBIA) / (2.0 * FEMUR * TIBIA)  # cosine of the knee
    along, shin = FEMUR + TIBIA * bend, TIBIA * sqrt(1.0 - bend * bend)  # tip of the foot in axes of the femur
    level = out * along - z * shin  # reach cos(pitch)
    d_knee = -(out * d_out + z * dz) / (FEMUR * shin)
    d_pitch = (-dz - (out - FEMUR * level / reach) * d_knee) / out
    pitch = atan2(-z * along - out * shin, level)
    return (atan2(y, x), pitch, acos(bend)), ((x * dy - y * dx) / (rho * rho), d_pitch, d_knee)


def leg_posture(leg: Leg, shift: Vector, rate: Vector) -> tuple[Vector, Vector]:
    """Joint angles and rates with the foot `shift` (body axes, m) away from its standing place, moving at `rate`."""
    c, s = cos(leg.heading), sin(leg.heading)
    place = (REACH + c * shift[0] + s * shift[1], c * shift[1] - s * shift[0], shift[2] - DROP)
    return inverse_kinematics(place, (c * rate[0] + s * rate[1], c * rate[1] - s * rate[0], rate[2]))


TURNS = tuple((cos(leg.heading), sin(leg.heading)) for leg in LEGS)  # from the axes of the body to those of each hip


@dataclass(frozen=True)
class TripodGait:
    """Joint reference of a walk along +x in which two tripods take turns; twice continuously differentiable in time.

    The cycle count c(t) stays 0 until `start`, gathers pace over `ramp` seconds and then grows by 1 / period. A foot
    at phase p = c + offset (mod 1) is on the ground for p < duty and moves backwards at the walking speed. Then it
    swings forward on a quintic that meets the ground phase with equal velocity and acceleration; for the share
    `upright` of the swing at either end it stays above one point of the ground, so that it neither scrapes off nor on.

    Args:
        home: configuration whose root entries the reference keeps, (nq,).
        places: indices in q and in v of the three joints of each leg, two arrays (6, 3), legs in the order of LEGS.
        torques: the feed-forward as made by `feed_forward`, (n, 12, 18); None: no feed-forward.
        speed: walking speed, m/s.
        period: duration of a cycle, s.
        duty: part of the cycle that a foot spends on the ground, above 0.5.
        lift: height of a swinging foot, m.
        upright: part of the swing, at either end, without motion over the ground.
        start: time at which the feet begin to move, s.
        ramp: duration of the acceleration, s.
        landing: time at which the feet begin to carry the weight, s.
        uptake: duration until they carry it all, s.
    """

    home: Array
    places: tuple[Array, Array]
    torques: Array | None = None
    speed: float = 0.2
    period: float = 1.0
    duty: float = 0.65
    lift: float = 0.035
    upright: float = 0.15
    start: float = 0.6
    ramp: float = 0.4
    landing: float = 0.1
    uptake: float = 0.2

    def __call__(self, t: float) -> tuple[Array, Array, Array]:
        """Evaluate (q_ref, v_ref, tau_ff) at time t, s; the root's entries stand still at the origin."""
        q, v, tau = self.home.copy(), np.zeros(self.home.size - 1), np.zeros(self.home.size - 1)
        count, pace, gain = self.cycles(t)
        q[self.places[0]], v[self.places[1]] = self.posture(count, pace)
        if self.torques is not None:
            weight = _rise((t - self.landing) / self.uptake)[0]
            position = (count - floor(count)) * len(self.torques)
            k = int(position)
            h = position - k
            parts, powers = (weight, pace * pace, gain), (h * h * h, h * h, h, 1.0)
            tau[6:] = np.array([part * power for part in parts for power in powers]) @ self.torques[k]
        return q, v, tau

    def posture(self, count: float, pace: float) -> tuple[Array, Array]:
        """Angles and rates of all joints, each (6, 3), after `count` cycles at `pace` cycles a second."""
        moves = [self.step(count + offset) for offset in self.offsets()]
        angles: list[float] = []
        rates: list[float] = []
        for leg, (c, s) in zip(LEGS, TURNS, strict=True):
            x, z, dx, dz = moves[leg.tripod]
            speed = pace * dx
            place, rate = (REACH + c * x, -s * x, z - DROP), (c * speed, -s * speed, pace * dz)
            angle, turning = inverse_kinematics(place, rate)
            angles += angle
            rates += turning
        return np.array(angles).reshape(-1, 3), np.array(rates).reshape(-1, 3)

    def offsets(self) -> tuple[float, float]:
        """Phases of the two tripods at rest: both on the ground, the first one about to lift."""
        middle = 0.5 * (self.duty - 0.5)
        return self.duty - middle, middle

    def cycles(self, t: float) -> tuple[float, float, float]:
        """Cycles walked until t, their rate, 1/s, and its rate, 1/s^2: the integral of a quintic step to 1 / period."""
        s = min(max((t - self.start) / self.ramp, 0.0), 1.0)
        pace, gain = _rise(s)
        steady = max(t - self.start - self.ramp, 0.0)
        walked = self.ramp * s**4 * (2.5 - 3.0 * s + s * s) + steady
        return walked / self.period, pace / self.period, gain / (self.ramp * self.period)

    def breaks(self) -> tuple[list[float], float]:
        """Times between which all of it is smooth, and the one from which it repeats after the last of them [s].

        A foot changes its motion where it lifts, moves forward, moves no more, and lands; torques are cubic between
        their knots.
        """
        repeats = max(self.start + self.ramp, self.landing + self.uptake)
        times = {0.0, self.landing, self.landing + self.uptake, self.start, self.start + self.ramp, repeats}
        swing = 1.0 - self.duty
        turns = [self.duty + share * swing for share in (0.0, self.upright, 1.0 - self.upright, 1.0)]
        phases = {(turn - offset) % 1.0 for offset in self.offsets() for turn in turns}
        if self.torques is not None:
            phases |= {k / len(self.torques) for k in range(len(self.torques))}
        last = self.cycles(repeats + self.period)[0]
        counts = (cycle + phase for cycle in range(int(last) + 1) for phase in phases)
        times |= {self.time(count) for count in counts if 0.0 < count < last} | {repeats + self.period}
        return _apart(sorted(t for t in times if 0.0 <= t <= repeats + self.period), repeats), repeats

    def time(self, count: float) -> float:
        """When that many cycles have been walked [s]."""
        full = self.start + self.ramp
        steady = count * self.period - 0.5 * self.ramp
        if steady >= 0.0:
            return full + steady
        from scipy.optimize import brentq

        return float(brentq(lambda t: self.cycles(t)[0] - count, self.start, full, xtol=1e-15))

    def step(self, phase: float) -> tuple[float, float, float, float]:
        """Displacement (forward, up) of a foot from its standing place at a phase, m, and its phase derivative."""
        p = phase - floor(phase)
        slope = self.speed * self.period
        travel = slope * self.duty
        if p < self.duty:
            return 0.5 * travel - slope * p, 0.0, -slope, 0.0
        swing = 1.0 - self.duty
        s = (p - self.duty) / swing
        width = 1.0 - 2.0 * self.upright
        rise, d_rise = _rise((s - self.upright) / width)
        hump = 4.0 * s * (1.0 - s)
        d_hump = 12.0 * hump * hump * (1.0 - 2.0 * s)
        x, dx = slope * (rise - swing * s) - 0.5 * travel, slope * (d_rise / (width * swing) - 1.0)
        return x, self.lift * hump**3, dx, self.lift * d_hump / swing

    def load(self, phase: float) -> float:
        """Share of the robot's weight that the tripod of a foot carries at a phase."""
        p = phase - floor(phase)
        return min(max(min(p, self.duty - p) / (self.duty - 0.5), 0.0), 1.0)


def _rise(s: float) -> tuple[float, float]:
    """The quintic step from 0 to 1, at rest at both ends, and its derivative."""
    s = min(max(s, 0.0), 1.0)
    return s**3 * (10.0 - 15.0 * s + 6.0 * s * s), 30.0 * (s * (1.0 - s)) ** 2


def _apart(times: list[float], kept: float, least: float = 1e-9) -> list[float]:
    """The same, without those that rounding alone holds apart from the one before or from the one that is kept."""
    found = times[:1]
    for t in times[1:]:
        if t == kept and kept - found[-1] < least:
            found[-1] = t
        elif t - found[-1] >= least:
            found.append(t)
    return found


def feed_forward(model: Any, gait: TripodGait) -> Array:
    """Joint torques of the gait on level ground, by inverse dynamics: cubic pieces over one cycle.

    The root's six equations are balanced by the foot forces of least sum |f_i|^2 / load_i. The torques are linear in
    (1, pace^2, gain): weight, inertia at constant pace, and acceleration.

    Returns:
        (KNOTS, 12, 18): for each piece the coefficients of h^3, h^2, h, 1, h from 0 to 1, of each of the three parts.
    """
    import pinocchio as pin
    from scipy.interpolate import CubicSpline

    model = pin.Model(model)
    tips = [_add_tip(model, leg) for leg in LEGS]
    data, at_rest = pin.Data(model), np.zeros(model.nv)
    table = np.empty((KNOTS + 1, 3, model.nv - 6))
    for count in range(KNOTS):
        q, v, parts = gait.home.copy(), np.zeros(model.nv), np.empty((model.nv, 3))
        q[gait.places[0]], v[gait.places[1]] = gait.posture(count / KNOTS, 1.0)
        curve = _second_derivative(gait, count / KNOTS)
        forward = v.copy()
        forward[0] = gait.speed * gait.period
        parts[:, 0] = pin.rnea(model, data, q, at_rest, at_rest)
        parts[:, 1] = pin.rnea(model, data, q, v, curve) - parts[:, 0]
        parts[:, 2] = pin.rnea(model, data, q, at_rest, forward) - parts[:, 0]
        rows = [pin.computeFrameJacobian(model, data, q, tip, pin.LOCAL_WORLD_ALIGNED)[:3] for tip in tips]
        jacobian = np.vstack(rows)
        shares = [gait.load(count / KNOTS + offset) for offset in gait.offsets()]
        root, weights = jacobian[:, :6].T, np.repeat([shares[leg.tripod] for leg in LEGS], 3)
        forces = weights[:, None] * (root.T @ np.linalg.solve(root * weights @ root.T, parts[:6]))
        table[count] = (parts - jacobian.T @ forces)[6:].T
    table[-1] = table[0]
    pieces = CubicSpline(np.arange(KNOTS + 1), table, bc_type="periodic").c  # (4, KNOTS, 3, 18)
    return np.ascontiguousarray(pieces.transpose(1, 2, 0, 3)).reshape(KNOTS, 12, -1)


def _second_derivative(gait: TripodGait, count: float) -> Array:
    """Second derivative of the posture by the cycle count, (nv,), by central differences."""
    h, curve = 1e-5, np.zeros(gait.home.size - 1)
    curve[gait.places[1]] = (gait.posture(count + h, 1.0)[1] - gait.posture(count - h, 1.0)[1]) / (2.0 * h)
    return curve


def _add_tip(model: Any, leg: Leg) -> int:
    """Add a frame at the tip of a foot to the model; returns its index."""
    import pinocchio as pin

    ball = model.frames[model.getFrameId(f"{leg.name}_foot")]
    placement = ball.placement * pin.SE3(np.eye(3), np.array([FOOT_RADIUS, 0.0, 0.0]))
    return int(model.addFrame(pin.Frame(f"{leg.name}_tip", ball.parentJoint, placement, pin.OP_FRAME)))


def joint_places(model: Any) -> tuple[Array, Array]:
    """Indices in q and in v of the three joints of each leg, two arrays (6, 3), legs in the order of LEGS."""
    ids = [[model.getJointId(joint) for joint in leg.joints] for leg in LEGS]
    in_q, in_v = ([[indices[i] for i in row] for row in ids] for indices in (model.idx_qs, model.idx_vs))
    return np.array(in_q), np.array(in_v)


def nominal(model: Any) -> Array:
    """All six feet on the floor at their standing places, body level."""
    import pinocchio as pin

    q: Array = pin.neutral(model)
    q[2] = DROP
    still = (0.0, 0.0, 0.0)
    q[joint_places(model)[0]] = [leg_posture(leg, still, still)[0] for leg in LEGS]
    return q


def walk(model: Any) -> Demo:
    """Drop from 0.05 m, land on six feet, walk forward at 0.2 m/s."""
    gait = TripodGait(nominal(model), joint_places(model))
    gait = replace(gait, torques=feed_forward(model, gait))
    q = gait(0.0)[0]
    q[2] += 0.05
    motors = np.r_[np.zeros(6), np.ones(model.nv - 6)]
    kp, kd = STIFFNESS * motors, DAMPING * motors
    return Demo(q, np.zeros(model.nv), 3.0, reference=gait, breaks=gait.breaks(), kp=kp, kd=kd, tolerances=ACCURACY)


ENTRY = RobotEntry(
    name="hexapod",
    description="six legs, 18 motors, 8 kg; drops, lands and walks with an alternating tripod gait",
    path=Path(__file__).with_name("hexapod.urdf"),
    root="free_flyer",
    package_dirs=(),
    feet=tuple(foot(f"{leg.name}_foot", leg.name, offset=(FOOT_RADIUS, 0.0, 0.0)) for leg in LEGS),
    nominal=nominal,
    demo=walk,
    armature=ROTOR_INERTIA,
    landing=Path(__file__).with_name("hexapod_landing.toml"),
)
