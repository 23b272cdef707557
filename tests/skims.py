"""Seeded skims: bodies whose lowest point dips just below the ground, or just clears it, and what is true of them.

    python tests/skims.py --count 10000 --out FILE      all of them on this machine, a table, and the answers in a file
    python tests/skims.py --compare FILE FILE ...       the same answers under several sets of kernels

Half of the skims are rods over level ground, a quarter robots that tumble, a quarter rods, balls and robots over hills.
What is true comes from closed forms and, for robots, from an integration that shares nothing with the engine; neither
uses BLAS, so that the same problem is posed under every set of kernels.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import multiprocessing
import os
import sys
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache, lru_cache
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # the matrices are small

import numpy as np
import pinocchio as pin
from builders import planar_joint, single_body
from scipy.integrate._ivp import dop853_coefficients as dop853
from scipy.interpolate import RectBivariateSpline
from scipy.optimize import brentq, minimize_scalar

import contactsim as cs

Array = np.ndarray
KINDS = ("rod", "rod", "robot", "hills", "rod", "rod", "robot", "hills")  # by the seed
DEPTHS = (-9.0, -3.0)  # decimal logarithms of the depths [m]
ARMS = (-1.0, 0.0)  # of the lengths from the centre of a rod to its tip [m]
SPINS = (0.0, 2.5)  # of the speeds at which rods turn [rad/s]
START = 2e-3  # m, from which a run is to start clear of the ground
FEW = 10.0  # integration errors below which a dip may count as none, and the reverse
NEAR = 1e-2  # share by which a depth may miss the one that was drawn
SAMPLES = 9  # of the integration error within a step
ROUNDING = 1e-14  # m, to which what is true is known
CLOCK = 1e-9  # s, to which an event is timed at any speed
PER_TURN = 80  # places in a turn of a rod, at which its gaps are looked at
PER_WAVE = 40  # in a wave of the ground that a contact passes
PATIENCE = 50  # draws after which the flight of another robot is tried
ANOTHER = 10**6  # between its number and that of the flight before
SHARED = 64  # seeds in a row that share the flight of a robot
ROBOTS = ("hexapod", "solo12", "biped")
G = 9.81
WRONG = ("missed", "imagined", "mistimed", "stopped")


class UnfitError(Exception):
    """What was drawn does not skim the ground; another draw may."""


# --- grounds ----------------------------------------------------------------------------------------------------------
Jet = Callable[[Array, Array, Array], tuple[Array, ...]]  # (t, x, y) -> h, h_x, h_y, h_xx, h_xy, h_yy


@dataclass(frozen=True)
class Ground:
    """A terrain of the engine, and the distance from it by formulas of its own.

    Attributes:
        terrain: what the engine is given.
        jet: height with derivatives.
        bend: bound of the second derivatives [1/m].
        wave, frequency: length [m] and frequency [Hz] of what is fastest in it.
        numbers: what it was made from.
        shake: displacement (m, 3) of the ground at times (m,).
    """

    terrain: cs.terrain.Terrain
    jet: Jet
    bend: float = 0.0
    wave: float = math.inf
    frequency: float = 0.0
    numbers: tuple[float, ...] = ()
    shake: Callable[[Array], Array] | None = None

    def gaps(self, times: Array, centres: Array, radii: Array) -> Array:
        """Distances (m, k) of spheres (k,) with centres (m, k, 3) at times (m,)."""
        if self.shake is not None:
            centres = centres - self.shake(times)[:, None]
        t = np.repeat(times, centres.shape[1])
        return self._distances(t, centres.reshape(-1, 3)).reshape(centres.shape[:2]) - radii

    def _distances(self, t: Array, c: Array) -> Array:
        """Distances (n,) of points (n, 3); of those out of reach of the nearest point, a number with the same sign."""
        h, hx, hy, *_ = self.jet(t, c[:, 0], c[:, 1])
        out = (c[:, 2] - h) / np.sqrt(1.0 + hx**2 + hy**2)
        near = np.abs(c[:, 2] - h) * self.bend < 0.4
        if near.any():
            out[near] = self._nearest(t[near], c[near])
        return out

    def _nearest(self, t: Array, c: Array) -> Array:
        x, y = c[:, 0].copy(), c[:, 1].copy()
        for _ in range(50):
            h, hx, hy, hxx, hxy, hyy = self.jet(t, x, y)
            up = h - c[:, 2]
            ex, ey = x - c[:, 0] + up * hx, y - c[:, 1] + up * hy
            a, b, d = 1.0 + hx**2 + up * hxx, hx * hy + up * hxy, 1.0 + hy**2 + up * hyy
            dx, dy = (d * ex - b * ey) / (a * d - b * b), (a * ey - b * ex) / (a * d - b * b)
            x, y = x - dx, y - dy
            if max(np.abs(dx).max(), np.abs(dy).max()) < 1e-13:
                h, hx, hy, *_ = self.jet(t, x, y)
                return (c[:, 2] - h) * np.sqrt(1.0 + hx**2 + hy**2)
        raise UnfitError("no nearest point")


def level() -> Ground:
    return Ground(cs.terrain.Flat(0.0), plane_jet(0.0, 0.0))


def plane_jet(x_slope: float, y_slope: float) -> Jet:
    def jet(t: Array, x: Array, y: Array) -> tuple[Array, ...]:
        o = np.zeros_like(x)
        return x_slope * x + y_slope * y, o + x_slope, o + y_slope, o, o, o

    return jet


def slope(rng: np.random.Generator, planar: bool) -> Ground:
    angle, heading = rng.uniform(0.0, 0.6), 0.0 if planar else rng.uniform(-np.pi, np.pi)
    downhill = (math.cos(heading), math.sin(heading))
    steep = -math.tan(angle)
    terrain = cs.terrain.Slope(angle, downhill)
    return Ground(terrain, plane_jet(steep * downhill[0], steep * downhill[1]), numbers=(angle, *downhill))


def sinusoid(rng: np.random.Generator, planar: bool) -> Ground:
    kx, ky = 10 ** rng.uniform(0.5, 1.3), 0.0 if planar else 10 ** rng.uniform(0.5, 1.3)
    a = rng.uniform(0.1, 0.5) / max(kx, ky)

    def jet(t: Array, x: Array, y: Array) -> tuple[Array, ...]:
        s, c, p, q = np.sin(kx * x), np.cos(kx * x), np.cos(ky * y), -np.sin(ky * y)
        return a * s * p, a * kx * c * p, a * ky * s * q, -a * kx**2 * s * p, a * kx * ky * c * q, -a * ky**2 * s * p

    k = max(kx, ky)
    return Ground(cs.terrain.Sinusoid(a, kx, ky), jet, a * k * k, 2 * np.pi / k, 0.0, (a, kx, ky))


def travelling(rng: np.random.Generator, planar: bool) -> Ground:
    """Waves h = a sin(kx x + ky y - w t) that run, or stand still."""
    k, w = 10 ** rng.uniform(0.5, 1.1), rng.choice([0.0, 1.0]) * rng.uniform(-20.0, 20.0)
    heading = 0.0 if planar else rng.uniform(-np.pi, np.pi)
    kx, ky, a = k * math.cos(heading), k * math.sin(heading), rng.uniform(0.1, 0.5) / k
    waves = np.array([-w, kx, ky])

    def jet(t: Array, x: Array, y: Array) -> tuple[Array, ...]:
        s, c = a * np.sin(kx * x + ky * y - w * t), a * np.cos(kx * x + ky * y - w * t)
        return s, kx * c, ky * c, -kx * kx * s, -kx * ky * s, -ky * ky * s

    by = slice(0, 3) if w else slice(1, 3)
    terrain = cs.terrain.Function(
        lambda t, x, y: a * math.sin(kx * x + ky * y - w * t),
        gradient=lambda t, x, y: a * math.cos(kx * x + ky * y - w * t) * waves[by],
        hessian=lambda t, x, y: -a * math.sin(kx * x + ky * y - w * t) * waves[by, None] * waves[None, by],
        curvature=a * k * k,
        moving=bool(w),
    )
    return Ground(terrain, jet, a * k * k, 2 * np.pi / k, abs(w) / (2 * np.pi), (a, kx, ky, w))


def height_field(rng: np.random.Generator, planar: bool) -> Ground:
    places = np.linspace(-3.0, 3.0, 13)
    heights = rng.uniform(-0.03, 0.03, (13, 13))
    terrain = cs.terrain.HeightField(places, places, heights)
    spline = RectBivariateSpline(places, places, heights)

    def jet(t: Array, x: Array, y: Array) -> tuple[Array, ...]:
        if max(np.abs(x).max(), np.abs(y).max()) > 2.9:
            raise UnfitError("beyond the height field")
        orders = ((0, 0), (1, 0), (0, 1), (2, 0), (1, 1), (0, 2))
        return tuple(spline.ev(x, y, dx=i, dy=j) for i, j in orders)

    return Ground(terrain, jet, round(float(terrain.curvature), 6), 0.5, 0.0, tuple(heights.ravel()))


def shaken(rng: np.random.Generator, planar: bool) -> Ground:
    """A ground that oscillates as a whole."""
    ground = rng.choice(np.array([sinusoid, slope], dtype=object))(rng, planar)
    frequency, phase = 10 ** rng.uniform(-0.5, 1.3), rng.uniform(0.0, 2 * np.pi)
    amplitude = rng.uniform(-0.5, 0.5, 3) / (2 * np.pi * frequency)
    if planar:
        amplitude[1] = 0.0
    x, y, z = (float(a) for a in amplitude)
    terrain = cs.terrain.Moving(ground.terrain, cs.terrain.Oscillation((x, y, z), frequency, phase))

    def shake(times: Array) -> Array:
        return np.sin(2 * np.pi * frequency * times + phase)[:, None] * amplitude

    numbers = (*ground.numbers, x, y, z, frequency, phase)
    return replace(ground, terrain=terrain, frequency=frequency, shake=shake, numbers=numbers)


HILLS = (sinusoid, sinusoid, height_field, travelling, slope, shaken)


# --- bodies -----------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Body(ABC):
    """What moves above the ground, and where its contacts are at any time.

    Attributes:
        robot: what the engine is given.
        q, v: where and how it starts.
        gravity: downwards [m/s^2].
    """

    robot: cs.Robot
    q: Array
    v: Array
    gravity: float

    @property
    def radii(self) -> Array:
        return np.array([point.radius for point in self.robot.contacts])

    @property
    def names(self) -> list[str]:
        return [str(point.name) for point in self.robot.contacts]

    @property
    def planar(self) -> bool:
        return self.robot.model.joints[1].nv == 3

    @property
    def height(self) -> int:
        """The place in q of its height."""
        return 1 if self.planar else 2

    def lifted(self, rise: float) -> Body:
        q = self.q.copy()
        q[self.height] += rise
        return replace(self, q=q)

    @abstractmethod
    def times(self, end: float, ground: Ground) -> Array:
        """Times (m,) from 0 to about `end` between which no gap dips twice."""

    @abstractmethod
    def centres(self, times: Array) -> Array:
        """Centres (m, k, 3) of the contacts at times (m,)."""


@dataclass(frozen=True)
class Rod(Body):
    """A body of equal principal moments: its centre falls along a parabola, and it turns steadily.

    Attributes:
        offsets: of the contacts (k, 3), in the body.
        longest: until when it is looked at [s].
    """

    offsets: Array
    longest: float

    def times(self, end: float, ground: Ground) -> Array:
        spin = size(self._turn())
        speed = size(self._speed()) + self.gravity * end + spin * float(np.sqrt((self.offsets**2).sum(1)).max())
        rate = max(PER_TURN * spin / (2 * np.pi), PER_WAVE * speed / ground.wave, PER_TURN * ground.frequency)
        return np.linspace(0.0, end, 3 + int(rate * end) + PER_TURN)

    def centres(self, times: Array) -> Array:
        t = times[:, None]
        middle = self._place() + self._speed() * t - 0.5 * self.gravity * t**2 * np.array([0.0, 0.0, 1.0])
        arms, turn = np.array([turned(self._attitude(), offset) for offset in self.offsets]), self._turn()
        rate = size(turn)
        if rate == 0.0:
            return middle[:, None] + arms
        axis = turn / rate
        along = (arms * axis).sum(axis=1)[:, None] * axis
        side = np.array([cross(axis, arm) for arm in arms])
        angle = (rate * times)[:, None, None]
        return middle[:, None] + along + np.cos(angle) * (arms - along) + np.sin(angle) * side

    def _place(self) -> Array:
        return np.array([self.q[0], 0.0, self.q[1]]) if self.planar else self.q[:3]

    def _attitude(self) -> Array:
        """Quaternion (x, y, z, w)."""
        return np.array([0.0, math.sin(self.q[2] / 2), 0.0, math.cos(self.q[2] / 2)]) if self.planar else self.q[3:]

    def _speed(self) -> Array:
        return np.array([self.v[0], 0.0, self.v[1]]) if self.planar else turned(self.q[3:], self.v[:3])

    def _turn(self) -> Array:
        return np.array([0.0, self.v[2], 0.0]) if self.planar else turned(self.q[3:], self.v[3:])


def size(vector: Array) -> float:
    return math.sqrt(float((vector * vector).sum()))


def cross(a: Array, b: Array) -> Array:
    (a0, a1, a2), (b0, b1, b2) = a.tolist(), b.tolist()
    return np.array([a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0])


def turned(q: Array, vector: Array) -> Array:
    """A vector of the body, in the world, for a quaternion (x, y, z, w)."""
    (x, y, z, w), (a, b, c) = q.tolist(), vector.tolist()
    d, e, f = 2.0 * (y * c - z * b), 2.0 * (z * a - x * c), 2.0 * (x * b - y * a)
    return np.array([a + w * d + y * f - z * e, b + w * e + z * d - x * f, c + w * f + x * e - y * d])


def turned_back(q: Array, vector: Array) -> Array:
    return turned(q * np.array([-1.0, -1.0, -1.0, 1.0]), vector)


def rod(rng: np.random.Generator, ground: Ground, planar: bool, manner: str) -> Rod:
    """A rod or a ball.

    Args:
        rng: where its numbers come from.
        ground: under it.
        planar: whether it moves in the vertical plane alone.
        manner: "spun" about a centre at rest, "thrown" with or without gravity, or a "ball".
    """
    spin = float(rng.choice([-1.0, 1.0]) * 10 ** rng.uniform(*SPINS))
    arm = 10 ** rng.uniform(*ARMS) if manner != "ball" else float(rng.choice([0.0, 0.03]))
    radius = float(rng.choice([0.0, 1.0])) * rng.uniform(0.005, 0.05) if manner != "ball" else rng.uniform(0.005, 0.1)
    if ground.bend:
        radius = min(radius, 0.2 / ground.bend)
    offsets = np.array([[0.0, 0.0, -arm], [0.0, 0.0, arm]])[: 2 if arm and rng.random() < 0.25 else 1]
    robot = one_body(planar, offsets, radius)
    gravity = 0.0 if manner == "spun" else float(rng.choice([0.0, G]))
    speed = np.zeros(3) if manner == "spun" else rng.uniform(-3.0, 3.0, 3) * (1.0, not planar, 0.5)
    axis = unit(rng.normal(size=3))
    phase, place = rng.uniform(0.0, 2 * np.pi), rng.uniform(-0.5, 0.5, 3) * (1.0, not planar, 0.0)
    if planar:
        q, v = np.array([place[0], arm + 0.1, phase]), np.array([speed[0], speed[2], spin])
    else:
        attitude = unit(rng.normal(size=4))
        twist = [*turned_back(attitude, speed), *turned_back(attitude, axis * spin)]
        q, v = np.array([place[0], place[1], arm + 0.1, *attitude]), np.array(twist)
    period = 2 * np.pi / abs(spin)
    longest = max(period, min(rng.uniform(1.0, 4.0) * period, 1.0)) if arm else rng.uniform(0.2, 1.0)
    return Rod(robot, q, v, gravity, offsets, longest)


def unit(vector: Array) -> Array:
    return vector / size(vector)


def one_body(planar: bool, offsets: Array, radius: float) -> cs.Robot:
    joint = planar_joint() if planar else pin.JointModelFreeFlyer()
    points = [
        cs.ContactPoint("body", offset=tuple(offset), radius=radius, friction=0.0, restitution=0.5, name=f"tip{k}")
        for k, offset in enumerate(offsets.tolist())
    ]
    return cs.Robot(single_body(joint, 1.0, (0.1, 0.1, 0.1), "body"), contacts=points)


@dataclass(frozen=True)
class Flight:
    """A robot that tumbles without weight, at even times.

    Attributes:
        robot: what tumbles.
        step: between the times [s].
        states: the coordinates and velocities (m, nq + nv).
        places: centres (m, k, 3) of the contacts.
    """

    robot: cs.Robot
    step: float
    states: Array
    places: Array


class Tumble:
    """The motion of a robot without weight, in plain coordinates, by fixed steps of eighth order without BLAS."""

    def __init__(self, robot: cs.Robot) -> None:
        self.robot, self.model = robot, pin.Model(robot.model)
        self.model.gravity = pin.Motion.Zero()
        self.data, self.still = self.model.createData(), np.zeros(self.model.nv)
        self.floating = self.model.joints[1].nq == 7
        frames = [self.model.frames[robot.frame_id(point.frame)] for point in robot.contacts]
        offsets = [np.asarray(point.offset, dtype=float) for point in robot.contacts]
        self.points = [(f.parentJoint, f.placement.act(o)) for f, o in zip(frames, offsets, strict=True)]

    def rate(self, x: Array) -> Array:
        q, v = x[: self.model.nq], x[self.model.nq :]
        out = np.empty_like(x)
        out[self.model.nq :] = pin.aba(self.model, self.data, q, v, self.still)
        if not self.floating:
            out[: self.model.nq] = v
            return out
        x, y, z, w = q[3:7].tolist()
        a, b, c = v[3:6].tolist()
        out[:3] = turned(q[3:7], v[:3])
        out[3:7] = w * a + y * c - z * b, w * b + z * a - x * c, w * c + x * b - y * a, -(x * a + y * b + z * c)
        out[3:7] *= 0.5
        out[7 : self.model.nq] = v[6:]
        return out

    def stepped(self, x: Array, h: float) -> Array:
        """The state after one step of DOP853 (Hairer, Norsett, Wanner, Solving Ordinary Differential Equations I)."""
        rates = np.empty((dop853.N_STAGES, len(x)))
        rates[0] = self.rate(x)
        for k in range(1, dop853.N_STAGES):
            rates[k] = self.rate(x + h * (dop853.A[k, :k, None] * rates[:k]).sum(axis=0))
        x = x + h * (dop853.B[:, None] * rates).sum(axis=0)
        if self.floating:
            x[3:7] = unit(x[3:7])
        return x

    def centres(self, x: Array) -> Array:
        pin.forwardKinematics(self.model, self.data, x[: self.model.nq])
        return np.array([self.data.oMi[joint].act(offset) for joint, offset in self.points])


@cache
def smooth_robot(name: str) -> cs.Robot:
    """A robot of the catalogue without friction."""
    robot = cs.load_robot(name)
    return robot.with_contacts([replace(p, friction=0.0, static_friction=None, enabled=None) for p in robot.contacts])


@cache
def tumble(name: str) -> Tumble:
    return Tumble(smooth_robot(name))


FLIGHT = 3.0  # of a robot, over its speed [rad]
STEPS = 400  # of a flight


@lru_cache(maxsize=4)
def flight(number: int) -> Flight:
    """The flight of a number: another one, another robot and velocity."""
    rng = np.random.default_rng((1, number))
    motion = tumble(ROBOTS[number % len(ROBOTS)])
    speed = rng.uniform(0.5, 5.0)
    q, v = np.array(motion.robot.nominal), speed * rng.normal(size=motion.model.nv)
    v[: 3 if motion.floating else 2] = 0.0
    step = FLIGHT / speed / STEPS
    states = [np.concatenate([q, v])]
    for _ in range(STEPS):
        states.append(motion.stepped(states[-1], step))
    return Flight(motion.robot, step, np.array(states), np.array([motion.centres(x) for x in states]))


@dataclass(frozen=True)
class Tumbler(Body):
    """A robot in flight, from a state of its flight on; speed and gravity come on top.

    Attributes:
        flight, first: the flight, and the number of its state at the start.
        motion: that of the robot.
        speed: of the whole (3,), in the world.
        longest: until when it is looked at [s].
    """

    flight: Flight
    first: int
    motion: Tumble
    speed: Array
    longest: float

    def times(self, end: float, ground: Ground) -> Array:
        """Those of the flight."""
        return self.flight.step * np.arange(int(end / self.flight.step) + 2)

    def centres(self, times: Array) -> Array:
        own = self._own(times)
        original = self.flight.states[self.first, self.height]
        rise = np.array([0.0, 0.0, self.q[self.height] - original])
        t = times[:, None]
        return own + (rise + self.speed * t - 0.5 * self.gravity * t**2 * np.array([0.0, 0.0, 1.0]))[:, None]

    def _own(self, times: Array) -> Array:
        """Centres (m, k, 3) without the speed and gravity that come on top."""
        numbers = np.rint(times / self.flight.step).astype(int)
        rests = times - self.flight.step * numbers
        out = self.flight.places[self.first + numbers]
        for k in np.flatnonzero(rests):
            x = self.flight.states[self.first + numbers[k]]
            out[k] = self.motion.centres(self.motion.stepped(x, float(rests[k])))
        return out


def tumbler(rng: np.random.Generator, number: int) -> Tumbler:
    """A robot from a random instant of the flight of a number on."""
    found = flight(number)
    motion = tumble(found.robot.name)
    thrown, gravity = float(rng.choice([0.0, 1.0])), float(rng.choice([0.0, 0.0, G]))
    speed = thrown * rng.uniform(-1.0, 1.0, 3) * (1.0, motion.floating, 1.0)
    first = int(rng.integers(0, STEPS // 2))
    x = found.states[first]
    q, v = x[: motion.model.nq].copy(), x[motion.model.nq :].copy()
    if motion.floating:
        v[:3] += turned_back(q[3:7], speed)
    else:
        v[:2] += speed[[0, 2]]
    longest = found.step * rng.integers(STEPS // 20, STEPS // 2 - 2)
    return Tumbler(found.robot, q, v, gravity, found, first, motion, speed, longest)


# --- what is true -----------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Truth:
    """What is true of a skim.

    Attributes:
        lowest: the least gap [m].
        bottom: when [s].
        inside: whether that is between the ends.
        touch: when a contact first touches the ground [s]; None: never.
        speed: at which its gap closes there [m/s].
        contact: its number; that of the least gap where none touches.
    """

    lowest: float
    bottom: float
    inside: bool
    touch: float | None
    speed: float
    contact: int


def gap_of(body: Body, ground: Ground, contact: int, t: float) -> float:
    times = np.array([t])
    return float(ground.gaps(times, body.centres(times), body.radii)[0, contact])


def truth_of(body: Body, ground: Ground, end: float) -> Truth:
    """The least gap until `end`, by looking closer at every valley of the gaps that may be it, and the first touch."""
    times = body.times(end, ground)
    times = np.append(times[times < end], end)
    gaps = ground.gaps(times, body.centres(times), body.radii)
    knots = [valleys(body, ground, k, times, gaps[:, k], float(gaps.min())) for k in range(gaps.shape[1])]
    lows = [(float(g[j]), float(t[j]), k) for k, (t, g) in enumerate(knots) for j in [int(np.argmin(g))]]
    lowest, bottom, contact = min(lows)
    touches = [(touch, k) for k, (t, g) in enumerate(knots) if (touch := first_zero(body, ground, k, t, g)) is not None]
    inside = 0.0 < bottom < end
    if not touches:
        return Truth(lowest, bottom, inside, None, 0.0, contact)
    touch, contact = min(touches)
    h = 1e-3 * float(times[1])
    speed = abs(gap_of(body, ground, contact, touch + h) - gap_of(body, ground, contact, touch - h)) / (2 * h)
    return Truth(lowest, bottom, inside, touch, speed, contact)


def valleys(body: Body, ground: Ground, contact: int, times: Array, gaps: Array, lowest: float) -> tuple[Array, Array]:
    """Times and gaps of a contact, with the bottoms of its valleys that may lie below the ground or be the lowest."""
    t, g = list(times), list(gaps)
    inner = np.flatnonzero((gaps[1:-1] <= gaps[:-2]) & (gaps[1:-1] <= gaps[2:])) + 1
    for j in inner:
        drop = max(gaps[j - 1], gaps[j + 1]) - gaps[j]
        if gaps[j] - drop > max(lowest, 0.0):
            continue
        middle, reach = float(times[j]), float(times[j + 1] - times[j])
        best = minimize_scalar(
            lambda s, m=middle: gap_of(body, ground, contact, m + s),
            bounds=(float(times[j - 1]) - middle, reach),
            method="bounded",
            options={"xatol": 1e-6 * reach},
        )
        t.append(middle + float(best.x))
        g.append(float(best.fun))
    order = np.argsort(t, kind="stable")
    return np.array(t)[order], np.array(g)[order]


def first_zero(body: Body, ground: Ground, contact: int, times: Array, gaps: Array) -> float | None:
    below = np.flatnonzero(gaps <= 0.0)
    if not len(below):
        return None
    j = int(below[0])
    if j == 0:
        raise UnfitError("starts in the ground")
    root = brentq(lambda t: gap_of(body, ground, contact, t), times[j - 1], times[j], xtol=1e-15)
    return float(root)


# --- skims ------------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Skim:
    """A body over its ground from 0 to `end` [s], and what is true of it."""

    seed: int
    label: str
    body: Body
    ground: Ground
    end: float
    truth: Truth

    def system(self, terrain: cs.terrain.Terrain) -> cs.ContactSystem:
        gravity = (0.0, 0.0, -self.body.gravity)
        return cs.ContactSystem(self.body.robot, terrain=terrain, gravity=gravity, joint_limits=False)

    @property
    def start(self) -> cs.State:
        return cs.State(self.body.q, self.body.v)

    @property
    def digest(self) -> str:
        """The same for the same problem, to the last bit."""
        numbers = (*self.ground.numbers, self.body.gravity, self.end, self.truth.lowest, self.truth.touch or 0.0)
        parts = (self.body.q, self.body.v, self.body.radii, np.array(numbers))
        return hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()[:16]


def skim(seed: int) -> Skim:
    """The skim of a seed; its signed depth is drawn first, and the rest until it skims the ground."""
    rng = np.random.default_rng((0, seed))
    kind = KINDS[seed % len(KINDS)]
    depth = float(rng.choice([-1.0, 1.0]) * 10 ** rng.uniform(*DEPTHS))
    for attempt in range(20 * PATIENCE):
        number = seed // SHARED + ANOTHER * (attempt // PATIENCE)
        try:
            label, body, ground = drawn(kind, rng, number)
            return placed(seed, label, body, ground, depth, rng)
        except UnfitError:
            continue
    raise AssertionError(f"seed {seed} gives no skim")


def drawn(kind: str, rng: np.random.Generator, number: int) -> tuple[str, Body, Ground]:
    """A body of a kind over its ground, with a name; a robot is in the flight of the number."""
    if kind == "rod":
        planar, manner = bool(rng.random() < 0.75), str(rng.choice(["spun", "thrown"]))
        ground = level()
        return f"{manner} rod", rod(rng, ground, planar, manner), ground
    if kind == "robot":
        body = tumbler(rng, number)
        return body.robot.name, body, level()
    what = str(rng.choice(["spun rod", "thrown rod", "ball", "robot"], p=[0.3, 0.3, 0.2, 0.2]))
    name = ROBOTS[number % len(ROBOTS)]
    planar = name == "biped" if what == "robot" else bool(rng.random() < 0.3)
    make = rng.choice(np.array([h for h in HILLS if not (planar and h is height_field)], dtype=object))
    ground = make(rng, planar)
    body = tumbler(rng, number) if what == "robot" else rod(rng, ground, planar, what.split()[0])
    return f"{what if what != 'robot' else name} over {make.__name__.replace('_', ' ')}", body, ground


def placed(seed: int, label: str, body: Body, ground: Ground, depth: float, rng: np.random.Generator) -> Skim:
    """The body lifted or lowered until its least gap is minus `depth`.

    Raises:
        UnfitError: it has no valley to skim the ground with, or starts too low.
    """
    body, end = in_reach(body, ground, rng)
    slope, miss, rise = 1.0, 0.0, 0.0
    for _ in range(10):
        truth, before = truth_of(body, ground, end), miss
        miss = truth.lowest + depth
        if not truth.inside:
            raise UnfitError("lowest at an end")
        if abs(miss) <= NEAR * abs(depth):
            break
        if rise:
            slope = min(max((miss - before) / rise, 0.5), 1.5)
        rise = -miss / slope
        body = body.lifted(rise)
    else:
        raise UnfitError("not as deep as it should be")
    start = np.zeros(1)
    if ground.gaps(start, body.centres(start), body.radii).min() < START:
        raise UnfitError("starts too low")
    return Skim(seed, label, body, ground, end, truth)


def in_reach(body: Body, ground: Ground, rng: np.random.Generator) -> tuple[Body, float]:
    """The body lowered so that a valley of its gaps about touches the ground, and a time after that valley."""
    times = body.times(body.longest, ground)
    for _ in range(4):
        low = ground.gaps(times, body.centres(times), body.radii).min(axis=1)
        before = np.minimum.accumulate(low)
        record = (low[1:-1] < before[:-2]) & (low[1:-1] <= low[2:]) & (low[0] > low[1:-1] + START)
        found = np.flatnonzero(record) + 1
        if not len(found):
            raise UnfitError("no valley")
        j = int(found[np.argmin(np.abs(low[found]))])
        if abs(low[j]) < 1e-2:
            break
        j = int(rng.choice(found))
        body = body.lifted(-float(low[j]))
    falling = np.flatnonzero(low[j + 1 :] < low[j:-1])
    falling = falling[falling > 0]
    last = j + int(falling[0]) if len(falling) else len(low) - 1
    return body, float(times[j] + rng.uniform(0.2, 0.9) * (times[last] - times[j]))


# --- answers ----------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Answer:
    """What the engine says to a skim.

    Attributes:
        seed, label, digest: of the skim.
        lowest: the true least gap [m].
        error: of the integration, in the gap [m].
        touched, time: whether the engine has a contact touch, and when first [s].
        verdict: "right", "either", or one of `WRONG`.
        note: what was wrong.
    """

    seed: int
    label: str
    digest: str
    lowest: float
    error: float
    touched: bool
    time: float | None
    verdict: str
    note: str = ""

    def __str__(self) -> str:
        return f"seed {self.seed}: {self.label}, lowest {self.lowest:.3g} m, error {self.error:.2g} m"


@dataclass(frozen=True)
class Run:
    """How far the engine came: its first touch, the contacts in it, and why it stopped otherwise."""

    time: float | None = None
    contacts: tuple[str, ...] = ()
    stopped: str = ""


def answer(seed: int, tolerances: cs.Tolerances | None = None) -> Answer:
    """The engine's answer to the skim of a seed."""
    case = skim(seed)
    error = integration_error(case, tolerances)
    run = first_touch(case, tolerances)
    verdict, note = judged(case, run, error)
    return Answer(
        seed, case.label, case.digest, case.truth.lowest, error, run.time is not None, run.time, verdict, note
    )


def first_touch(case: Skim, tolerances: cs.Tolerances | None) -> Run:
    """The run until its first event with a contact."""
    simulation = cs.Simulation(case.system(case.ground.terrain), case.start, tolerances=tolerances)

    def watch(t: float) -> None:
        if any(event.contacts for event in simulation.events_from(0)):
            simulation.interrupt()

    try:
        simulation.advance_to(case.end, watch)
    except Exception as error:  # an engine that breaks is one of the answers
        return Run(stopped=f"{type(error).__name__}: {error}")
    for event in simulation.events_from(0):
        if event.contacts:
            return Run(event.time, event.contacts)
    return Run(stopped="" if simulation.status.complete else simulation.message)


def integration_error(case: Skim, tolerances: cs.Tolerances | None) -> float:
    """By how much a run far above the ground misses the contact in the step around its lowest point, upwards [m]."""
    free = cs.simulate(case.system(cs.terrain.Flat(-1e3)), case.start, (0.0, case.end), tolerances=tolerances)
    body, truth = case.body, case.truth
    after = int(np.clip(np.searchsorted(free.t, truth.bottom), 1, len(free.t) - 1))
    times = np.linspace(free.t[after - 1], free.t[after], SAMPLES)
    times = np.append(times, [truth.bottom, truth.bottom if truth.touch is None else truth.touch])
    rise = np.array([0.0, 0.0, body.radii[truth.contact]])  # from the lowest point of a contact to its centre
    run = np.array([body.robot.contact_positions(free(float(t)).q)[truth.contact] + rise for t in times])
    miss = run - body.centres(times)[:, truth.contact]
    return max(ROUNDING, float(np.abs((miss * normal_of(case)).sum(axis=1)).max()))


def normal_of(case: Skim) -> Array:
    """The gradient (3,) of the gap where it is least."""
    bottom, contact = np.full(3, case.truth.bottom), case.truth.contact
    here, shift = case.body.centres(bottom), 1e-5 * np.eye(3)[:, None]
    ahead, behind = (case.ground.gaps(bottom, here + sign * shift, case.body.radii) for sign in (1.0, -1.0))
    return (ahead - behind)[:, contact] / 2e-5


def judged(case: Skim, run: Run, error: float) -> tuple[str, str]:
    """The verdict on a run, and what was wrong."""
    truth = case.truth
    if run.stopped:
        return "stopped", run.stopped
    if abs(truth.lowest) <= FEW * error:
        return "either", ""
    if truth.touch is None:
        return ("right", "") if run.time is None else ("imagined", f"at {run.time:.9g} s, {run.contacts}")
    if run.time is None:
        return "missed", f"from {truth.touch:.9g} s"
    name = case.body.names[truth.contact]
    late = run.time - truth.touch
    if name not in run.contacts or abs(late) > FEW * error / truth.speed + CLOCK:
        return "mistimed", f"{late:.3g} s late, {run.contacts} instead of {name}"
    return "right", ""


# --- all of them ------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Record:
    """The answers under one set of kernels, and the time that they took [s]."""

    kernels: str
    seconds: float
    answers: tuple[Answer, ...]

    def save(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self), indent=0) + "\n")

    @staticmethod
    def load(path: Path) -> Record:
        plain = json.loads(path.read_text())
        return Record(plain["kernels"], plain["seconds"], tuple(Answer(**a) for a in plain["answers"]))


def kernels() -> str:
    """The sets of kernels that BLAS has chosen."""
    from threadpoolctl import threadpool_info

    return ", ".join(sorted({str(i.get("architecture")) for i in threadpool_info() if i["user_api"] == "blas"}))


@dataclass(frozen=True)
class Chunk:
    """Seeds in a row, for one process."""

    seeds: range
    tolerances: cs.Tolerances | None = None
    seconds: Counter[str] = field(default_factory=Counter)

    def answers(self) -> tuple[list[Answer], Counter[str]]:
        """The answers, and the time by kind [s]."""
        out = []
        for seed in self.seeds:
            begin = time.perf_counter()
            out.append(answer(seed, self.tolerances))
            self.seconds[KINDS[seed % len(KINDS)]] += time.perf_counter() - begin
        return out, self.seconds


def run_all(seeds: range, processes: int, tolerances: cs.Tolerances | None = None) -> Record:
    """The answers to all seeds, shared out over processes, with a table of what was wrong."""
    begin, answers, seconds = time.perf_counter(), [], Counter[str]()
    starts = range(seeds.start - seeds.start % SHARED, seeds.stop, SHARED)
    chunks = [Chunk(range(max(s, seeds.start), min(s + SHARED, seeds.stop)), tolerances) for s in starts]
    with multiprocessing.Pool(processes) as pool:
        for some, spent in pool.imap_unordered(Chunk.answers, chunks):
            answers += some
            seconds.update(spent)
    record = Record(kernels(), time.perf_counter() - begin, tuple(sorted(answers, key=lambda a: a.seed)))
    print(table(record, seconds))
    return record


def table(record: Record, seconds: Counter[str]) -> str:
    """Counts of the verdicts by kind, and every wrong answer in a line."""
    columns = ("skims", "right", "either", *WRONG)
    lines = [f"kernels {record.kernels}, {record.seconds:.0f} s", f"{'':8}" + "".join(f"{c:>10}" for c in columns)]
    for kind in (*dict.fromkeys(KINDS), "all"):
        chosen = [a for a in record.answers if kind in (KINDS[a.seed % len(KINDS)], "all")]
        counts = Counter(a.verdict for a in chosen) + Counter(skims=len(chosen))
        spent = seconds[kind] if kind != "all" else sum(seconds.values())
        each = f"   {1e3 * spent / max(len(chosen), 1):.1f} ms each"
        lines.append(f"{kind:8}" + "".join(f"{counts[c]:10d}" for c in columns) + each)
    lines += [f"{a}: {a.verdict} {a.note}" for a in record.answers if a.verdict in WRONG]
    return "\n".join(lines)


def differences(records: Sequence[Record]) -> list[str]:
    """Every skim to which two sets of kernels give two answers, or that they were not posed alike."""
    first, *others = records
    found = []
    for other in others:
        if [a.seed for a in first.answers] != [a.seed for a in other.answers]:
            found.append(f"{first.kernels} and {other.kernels}: not the same seeds")
            continue
        for a, b in zip(first.answers, other.answers, strict=True):
            if a.digest != b.digest:
                found.append(f"{a}: another problem under {first.kernels} than under {other.kernels}")
            elif a.touched != b.touched:
                found.append(f"{a}: {a.touched} under {first.kernels}, {b.touched} under {other.kernels}")
    return found


def main() -> int:
    """Run skims or compare records; the status is 1 where an answer is wrong or two differ."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000, help="how many skims")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--out", type=Path, help="file for the answers")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--max-step", type=float, default=math.inf, help="longest step of the engine [s]")
    parser.add_argument("--rtol", type=float, help="relative tolerance of the engine; the absolute one is a tenth")
    parser.add_argument("--compare", type=Path, nargs="+", metavar="FILE", help="compare these records instead")
    given = parser.parse_args()
    if given.compare:
        records = [Record.load(path) for path in given.compare]
        found = differences(records)
        names = " / ".join(record.kernels for record in records)
        print("\n".join([*found, f"{names}: {len(records[0].answers)} skims, {len(found)} differences"]))
        return int(bool(found))
    tolerances = cs.Tolerances(max_step=given.max_step)
    if given.rtol:
        tolerances = replace(tolerances, rtol=given.rtol, atol=0.1 * given.rtol)
    record = run_all(range(given.first, given.first + given.count), given.processes, tolerances)
    if given.out:
        record.save(given.out)
    return int(any(a.verdict in WRONG for a in record.answers))


if __name__ == "__main__":
    sys.exit(main())
