"""Published walkers, bouncing balls and oscillators as hybrid systems, with the numbers they are known by (SI units).

Each case begins just after its event, so that its state is the published one; `later` moves it into the smooth part
of the orbit, where the flow map can be differenced. Sources of the numbers stand with each case; the digits were
recomputed by scripts that know nothing of contactsim.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pinocchio as pin
from builders import TIGHT, G, planar_joint, point_mass
from contactsim_robots.biped import Ahead

import contactsim as cs

Array = np.ndarray


class Given(cs.Flow):
    """A flow made of functions: its field, its guards by name, and its Jacobian where that is short."""

    def __init__(
        self,
        field: Callable[[float, Array], Array],
        guards: Mapping[str, Callable[[float, Array], float]],
        jacobian: Callable[[float, Array], Array] | None = None,
        smooth: bool = True,
    ) -> None:
        self._field, self._guards, self._jacobian = field, guards, jacobian
        self.guard_names = tuple(guards)
        self.guard_smooth = np.full(len(guards), smooth)

    def field(self, t: float, x: Array) -> Array:
        return self._field(t, x)

    def guards(self, t: float, x: Array) -> Array:
        return np.array([guard(t, x) for guard in self._guards.values()])

    def jacobian(self, t: float, x: Array) -> Array | None:
        return None if self._jacobian is None else self._jacobian(t, x)


@dataclass(frozen=True)
class Case:
    """A published run.

    Attributes:
        system: the hybrid system.
        x: plain state at the start.
        time: its period, or for a run that does not repeat its duration [s].
        source: where the case comes from.
        t0: time of the start [s].
        repeats: indices of the state that are the same after a period; the others move on with the walker.
        multipliers: of the Poincare map at the section of its event, or of the flow where the field depends on time.
        matrices: {what: matrix}: "saltation" of the event after a period, "flow" D_x phi, "map" from apex to apex.
        values: {what: number}.
    """

    system: cs.HybridSystem
    x: Array
    time: float
    source: str
    t0: float = 0.0
    repeats: tuple[int, ...] = (0, 1, 2, 3)
    multipliers: tuple[complex, ...] = ()
    matrices: Mapping[str, Array] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "x", np.array(self.x, dtype=float))


def later(case: Case, share: float) -> Case:
    """The same orbit, from the state that it reaches after `share` of its period; not at an event."""
    t = case.t0 + share * case.time
    traj = cs.simulate(case.system, case.x, (case.t0, t), tolerances=cs.Tolerances(**TIGHT))
    return replace(case, t0=t, x=traj.final_x)


# --- compass gait ---------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class CompassGait(cs.HybridSystem):
    """Compass gait of Goswami et al. 1997 as in Drake's `examples/compass_gait`: x = (st, sw, st', sw').

    Angles from the vertical, positive downhill; masses m at `a` from the foot and `b` from the hip, mH at the hip.
    """

    m: float = 5.0
    mH: float = 10.0
    a: float = 0.5
    b: float = 0.5
    slope: float = 0.0525

    def flow(self, mode: str) -> cs.Flow:
        return Given(self.field, {"heel": self.heel}, smooth=False)

    def heel(self, t: float, x: Array) -> float:
        """Zero at heel strike; where the legs cross, behind the slope's normal, the scuffing foot does not count."""
        return max(2.0 * self.slope - x[0] - x[1], self.slope - x[0])

    def field(self, t: float, x: Array) -> Array:
        st, sw, st_rate, sw_rate = x
        m, mH, a, b, length = self.m, self.mH, self.a, self.b, self.a + self.b
        coupling = m * length * b
        c, s = np.cos(sw - st), np.sin(sw - st)
        M = np.array([[mH * length**2 + m * (length**2 + a**2), -coupling * c], [-coupling * c, m * b**2]])
        gravity = G * np.array([(mH * length + m * (length + a)) * np.sin(st), -m * b * np.sin(sw)])
        return np.r_[x[2:], np.linalg.solve(M, gravity + coupling * s * np.array([-(sw_rate**2), st_rate**2]))]

    def transition(self, t: float, x: Array, mode: str, fired: frozenset) -> cs.Transition:
        """Angular momentum stays: of the walker about the foot that lands, of the leg that leaves about the hip."""
        st, sw, st_rate, sw_rate = x
        m, mH, a, b, length = self.m, self.mH, self.a, self.b, self.a + self.b
        c = np.cos(sw - st)
        walker = (mH * length**2 * c + 2.0 * m * a * length * c - m * a * b) * st_rate - m * a * b * sw_rate
        leg = -m * a * b * st_rate
        Q = [
            [mH * length**2 + m * (a**2 + length**2 - length * b * c), m * (b**2 - length * b * c)],
            [-m * length * b * c, m * b**2],
        ]
        return cs.Transition(np.r_[sw, st, np.linalg.solve(Q, [walker, leg])], mode, {"legs": ("swing", "stance")})

    def start(self, t: float, x: Array) -> cs.Transition:
        return cs.Transition(x, "step")


def compass_gait() -> Case:
    """Stable walk with Drake's parameters (m = 5, mH = 10, a = b = 0.5, slope 0.0525), just after heel strike."""
    return Case(
        CompassGait(),
        x=[-0.21877461798032, 0.32377461798032, 1.09286681058010, 0.37613459353077],
        time=0.734460621336439,
        source="Drake, examples/compass_gait: parameters; Goswami, Espiau, Keramane 1997: equations",
        multipliers=(-0.2022161001482 + 0.5434149713532j, -0.2022161001482 - 0.5434149713532j, 0.1313867071906, 0.0),
        matrices={
            "saltation": np.array(
                [
                    [-0.21648054152578, 0.78351945847422, 0.0, 0.0],
                    [0.66112176025219, -0.33887823974781, 0.0, 0.0],
                    [-3.3916743028896, -1.0892299134442, 0.85075061712257, -0.099340885554562],
                    [-7.0448457913019, -0.84416139829288, 0.45715756104653, -0.17015012342451],
                ]
            )
        },
        values={"step": 0.535919318793802},
    )


def compass_model(m: float = 5.0, mH: float = 10.0, a: float = 0.5, b: float = 0.5) -> pin.Model:
    """Compass gait with q = (x, z of the hip, angle of the left leg, hip angle) and point masses only."""
    model = pin.Model()
    model.name = "compass"
    hip = pin.SE3.Identity()
    mass = pin.SE3(np.eye(3), np.array([0.0, 0.0, -b]))
    foot = pin.SE3(np.eye(3), np.array([0.0, 0.0, -a - b]))
    parent = 0
    for side, joint in (("left", planar_joint()), ("right", pin.JointModelRY())):
        parent = model.addJoint(parent, joint, hip, f"{side}_hip")
        model.appendBodyToJoint(parent, pin.Inertia(m, np.zeros(3), np.zeros((3, 3))), mass)
        model.addFrame(pin.Frame(f"{side}_foot", parent, 0, foot, pin.FrameType.OP_FRAME))
    model.appendBodyToJoint(1, pin.Inertia(mH, np.zeros(3), np.zeros((3, 3))), hip)
    return model


def compass_robot(slope: float = 0.0525, tolerances: cs.Tolerances | None = None) -> cs.ContactSystem:
    """The compass gait as a robot on a slope: point feet that grip (mu = 2), e = 0, and land ahead only.

    A run starts with the stance foot more than 0.1 ahead (in the first 0.29 of a step): behind, it may not be on the
    ground at a start, because the margins tell only from the angles which foot stands.
    """
    feet = [
        cs.ContactPoint(f"{name}_foot", friction=2.0, restitution=0.0, name=name, enabled=Ahead(side))
        for name, side in (("left", +1), ("right", -1))
    ]
    robot = cs.Robot(compass_model(), contacts=feet)
    return cs.ContactSystem(robot, terrain=cs.terrain.Slope(slope), law="coulomb", tolerances=tolerances)


def compass_to_robot(x: Array, stance: str = "left", foot: float = 0.0, slope: float = 0.0525) -> cs.State:
    """State of `compass_robot` for x = (st, sw, st', sw'), with its stance foot at `foot` along the slope."""
    st, sw, st_rate, sw_rate = x
    place = foot * np.array([np.cos(slope), -np.sin(slope)])
    hip = place + np.array([np.sin(st), np.cos(st)])
    speed = st_rate * np.array([np.cos(st), -np.sin(st)])
    left, right = ((st, st_rate), (sw, sw_rate))[:: 1 if stance == "left" else -1]
    return cs.State([*hip, left[0], right[0] - left[0]], [*speed, left[1], right[1] - left[1]])


def robot_to_compass(state: cs.State, stance: str) -> Array:
    """(st, sw, st', sw') of a state of `compass_robot` that stands on the foot `stance`."""
    left = np.array([state.q[2], state.v[2]])
    right = left + np.array([state.q[3], state.v[3]])
    return np.column_stack([left, right] if stance == "left" else [right, left]).ravel()


def compass_foot(state: cs.State, foot: str, slope: float = 0.0525) -> float:
    """Place of a foot of `compass_robot` along the slope [m]."""
    angle = state.q[2] + (state.q[3] if foot == "right" else 0.0)
    place = state.q[:2] - [np.sin(angle), np.cos(angle)]
    return float(place @ [np.cos(slope), -np.sin(slope)])


# --- rimless wheel --------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class RimlessWheel(cs.HybridSystem):
    """Rimless wheel of McGeer as in Drake's `examples/rimless_wheel`: x = (theta, theta'), theta from the vertical."""

    spokes: int = 8
    slope: float = 0.08
    length: float = 1.0

    @property
    def half(self) -> float:
        """Half the angle between two spokes [rad]."""
        return np.pi / self.spokes

    def flow(self, mode: str) -> cs.Flow:
        rate = G / self.length
        return Given(
            lambda t, x: np.array([x[1], rate * np.sin(x[0])]),
            {
                "downhill": lambda t, x: self.slope + self.half - x[0],
                "uphill": lambda t, x: x[0] - self.slope + self.half,
            },
            lambda t, x: np.array([[0.0, 1.0], [rate * np.cos(x[0]), 0.0]]),
        )

    def transition(self, t: float, x: Array, mode: str, fired: frozenset) -> cs.Transition:
        turn = -2.0 * self.half if "downhill" in fired else 2.0 * self.half
        x_post = np.array([x[0] + turn, np.cos(2.0 * self.half) * x[1]])
        return cs.Transition(x_post, mode, {"spoke": tuple(fired) * 2})

    def start(self, t: float, x: Array) -> cs.Transition:
        return cs.Transition(x, "rolling")


def rimless_wheel() -> Case:
    """Rolling with Drake's parameters (8 spokes, slope 0.08, l = 1), just after a spoke has landed."""
    c = np.cos(np.pi / 4)
    return Case(
        RimlessWheel(),
        x=[0.08 - np.pi / 8, 1.0954628396476568],
        time=1.0345498114232793,
        source="Drake, examples/rimless_wheel: parameters; McGeer 1990; closed form of the speed",
        repeats=(0, 1),
        multipliers=(0.5,),
        matrices={"saltation": np.array([[c, 0.0], [-3.986562221891255, c]])},
    )


# --- simplest walker ------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class SimplestWalker(cs.HybridSystem):
    """Simplest walking model of Garcia et al. 1998 (feet without mass), time in sqrt(l / g): x = (th, ph, th', ph').

    theta'' = sin(theta - gamma); phi'' = theta'' + theta'^2 sin(phi) - cos(theta - gamma) sin(phi); theta is the
    stance leg's angle from the slope's normal, phi the angle between the legs.
    """

    gamma: float = 0.009
    pass_angle: float = 0.1

    def flow(self, mode: str) -> cs.Flow:
        return Given(self.field, {"heel": self.heel}, self.jacobian, smooth=False)

    def heel(self, t: float, x: Array) -> float:
        """Zero at heel strike; until theta = -`pass_angle` the foot may pass through the ground, as in pab47's file."""
        return max(2.0 * x[0] - x[1], x[0] + self.pass_angle)

    def field(self, t: float, x: Array) -> Array:
        fall = np.sin(x[0] - self.gamma)
        return np.array([x[2], x[3], fall, fall + (x[2] ** 2 - np.cos(x[0] - self.gamma)) * np.sin(x[1])])

    def jacobian(self, t: float, x: Array) -> Array:
        c, s = np.cos(x[0] - self.gamma), np.sin(x[0] - self.gamma)
        swing = [c + s * np.sin(x[1]), (x[2] ** 2 - c) * np.cos(x[1]), 2.0 * x[2] * np.sin(x[1]), 0.0]
        return np.array([[0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0], [c, 0.0, 0.0, 0.0], swing])

    def transition(self, t: float, x: Array, mode: str, fired: frozenset) -> cs.Transition:
        c = np.cos(2.0 * x[0])
        x_post = np.array([-x[0], -2.0 * x[0], c * x[2], c * (1.0 - c) * x[2]])
        return cs.Transition(x_post, mode, {"legs": ("swing", "stance")})

    def start(self, t: float, x: Array) -> cs.Transition:
        return cs.Transition(x, "step")


def simplest_walker(period: str = "long") -> Case:
    """The "long" (stable) or the "short" (unstable) period-one gait on the slope 0.009, just after heel strike."""
    roots = {
        "long": (0.2003109005442471, -0.1998324730049524, 3.882463752851374),
        "short": (0.1939373698101818, -0.2038669274420070, 3.0961058680782),
    }
    multipliers = {
        "long": (-0.1900998410658881 + 0.5575987766820683j, -0.1900998410658881 - 0.5575987766820683j, 0.0, 0.0),
        "short": (4.00386435892971, 0.459589589797672, 0.0, 0.0),
    }
    theta, rate, time = roots[period]
    return Case(
        SimplestWalker(),
        x=[theta, 2.0 * theta, rate, (1.0 - np.cos(2.0 * theta)) * rate],
        time=time,
        source="Garcia, Chatterjee, Ruina, Coleman 1998; pab47, simplestwalker.m",
        multipliers=multipliers[period],
    )


# --- bouncing balls -------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class BallOnTable(cs.HybridSystem):
    """Ball above the table A sin(w t), Newton's law on the relative velocity: x = (q, v)."""

    restitution: float
    amplitude: float = 0.0
    frequency: float = 0.0

    def table(self, t: float) -> tuple[float, float]:
        """Height and velocity of the table."""
        w = 2.0 * np.pi * self.frequency
        return self.amplitude * np.sin(w * t), self.amplitude * w * np.cos(w * t)

    def flow(self, mode: str) -> cs.Flow:
        return Given(
            lambda t, x: np.array([x[1], -G]),
            {"table": lambda t, x: x[0] - self.table(t)[0]},
            lambda t, x: np.array([[0.0, 1.0], [0.0, 0.0]]),
        )

    def transition(self, t: float, x: Array, mode: str, fired: frozenset) -> cs.Transition:
        e, (_, speed) = self.restitution, self.table(t)
        return cs.Transition(np.array([x[0], (1.0 + e) * speed - e * x[1]]), mode, {"ball": (mode, mode)})

    def start(self, t: float, x: Array) -> cs.Transition:
        return cs.Transition(x, "air")


def vibrating_table() -> Case:
    """Period-one bounce (A = 0.0027, f = 10 Hz, e = 0.5), just after the impact."""
    system, t0 = BallOnTable(0.5, 0.0027, 10.0), 0.0042971414883010
    return Case(
        system,
        x=[system.table(t0)[0], 0.4905],
        time=0.1,
        t0=t0,
        source="Holmes 1982: the model; closed form of the period-one orbit",
        repeats=(0, 1),
        multipliers=(0.298955347641 + 0.400781361988j, 0.298955347641 - 0.400781361988j),
        matrices={"saltation": np.array([[-0.5, 0.0], [15.97910695282, -0.5]])},
        values={"v_pre": -0.4905},
    )


def siconos_ball() -> Case:
    """Siconos' BouncingBallED (h0 = 1, e = 0.9) from rest to t = 2: three impacts."""
    return Case(
        BallOnTable(0.9),
        x=[1.0, 0.0],
        time=2.0,
        source="Siconos, BouncingBallED",
        matrices={"flow": np.array([[-3.17353781885747, -0.324895227435528], [11.4036110905713, 1.0]])},
        values={"impacts": (0.451523640985731, 1.264266194760047, 1.995734493156931)},
    )


# --- ball on a slope ------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class SlopeBall(cs.HybridSystem):
    """Point mass that lands on the ground y = 1 - x without rebound: x = (x, y, x', y'); then it slides or sticks."""

    sticks: bool

    def flow(self, mode: str) -> cs.Flow:
        acceleration = {"air": (0.0, -G), "slide": (0.5 * G, -0.5 * G), "stick": (0.0, 0.0)}[mode]
        ground = {"ground": lambda t, x: x[0] + x[1] - 1.0} if mode == "air" else {}
        drift = np.kron([[0.0, 1.0], [0.0, 0.0]], np.eye(2))
        return Given(lambda t, x: np.r_[x[2:], acceleration], ground, lambda t, x: drift)

    def transition(self, t: float, x: Array, mode: str, fired: frozenset) -> cs.Transition:
        along = 0.0 if self.sticks else 0.5 * (x[2] - x[3])
        after = "stick" if self.sticks else "slide"
        return cs.Transition(np.array([x[0], x[1], along, -along]), after, {"ball": (mode, after)})

    def start(self, t: float, x: Array) -> cs.Transition:
        return cs.Transition(x, "air")


def slope_ball(sticks: bool) -> Case:
    """Flight to a slope of 45 degrees and frictionless sliding, or sticking, from there to t = 1.1."""
    D_slide = np.array([[0.5, -0.5, 0.55, -0.55], [-0.5, 0.5, -0.55, 0.55], [0, 0, 0.5, -0.5], [0, 0, -0.5, 0.5]])
    block = np.array([[1.0547091714148, 0.0547091714148], [-1.0547091714148, -0.0547091714148]])
    return Case(
        SlopeBall(sticks),
        x=[0.25, 5.0, 0.5, -0.125],
        time=1.1,
        source="Kong, Payne, Zhu, Johnson, tutorial on saltation matrices: ball on a slope",
        matrices={"saltation, positions": block} if sticks else {"flow": D_slide},
        values={"impact": 0.969850710632744},
    )


def slope_robot(sticks: bool) -> cs.ContactSystem:
    """The ball on the slope as a robot: a point mass with mu = 2 (it sticks) or 0, e = 0, ground z = -x."""
    return cs.ContactSystem(point_mass(friction=2.0 if sticks else 0.0), terrain=cs.terrain.Slope(np.pi / 4))


def slope_to_robot(x: Array) -> cs.State:
    """State of `slope_robot` for x = (x, y, x', y'): its ground lies one metre lower."""
    return cs.State([x[0], 0.0, x[1] - 1.0], [x[2], 0.0, x[3]])


def robot_to_slope(state: cs.State) -> Array:
    """(x, y, x', y') of a state of `slope_robot`."""
    return np.array([state.q[0], state.q[2] + 1.0, state.v[0], state.v[2]])


# --- stick-slip oscillator ------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class StickSlip(cs.HybridSystem):
    """Mass on a spring and a belt (Leine et al. 1998): x = (x, v), friction -Fs sgn(w) / (1 + 3 abs(w)), w = v - belt.

    The friction is set-valued in the mode "stick"; k = m = Fs = 1.
    """

    belt: float = 0.2
    decay: float = 3.0

    def flow(self, mode: str) -> cs.Flow:
        if mode == "stick":
            guards = {"behind": lambda t, x: 1.0 - x[0], "ahead": lambda t, x: 1.0 + x[0]}
            return Given(lambda t, x: np.array([x[1], 0.0]), guards, lambda t, x: np.array([[0.0, 1.0], [0.0, 0.0]]))
        sign = 1.0 if mode == "ahead" else -1.0

        def field(t: float, x: Array) -> Array:
            return np.array([x[1], -x[0] - sign / (1.0 + self.decay * sign * (x[1] - self.belt))])

        def jacobian(t: float, x: Array) -> Array:
            return np.array([[0.0, 1.0], [-1.0, self.decay / (1.0 + self.decay * sign * (x[1] - self.belt)) ** 2]])

        return Given(field, {"belt": lambda t, x: sign * (x[1] - self.belt)}, jacobian)

    def transition(self, t: float, x: Array, mode: str, fired: frozenset) -> cs.Transition:
        after = next(iter(fired)) if mode == "stick" else self._on_belt(x)
        return cs.Transition(np.array([x[0], self.belt]), after, {"mass": (mode, after)})

    def start(self, t: float, x: Array) -> cs.Transition:
        if x[1] == self.belt:
            return cs.Transition(x, self._on_belt(x))
        return cs.Transition(x, "ahead" if x[1] > self.belt else "behind")

    def _on_belt(self, x: Array) -> str:
        """What a mass at the belt's speed does: it sticks where friction can hold the spring."""
        if abs(x[0]) < 1.0:
            return "stick"
        return "behind" if x[0] > 0.0 else "ahead"


def stick_slip() -> Case:
    """Leine's limit cycle (belt 0.2), from where the mass begins to slip."""
    return Case(
        StickSlip(),
        x=[1.0, 0.2],
        time=12.001031294830579,
        source="Leine, van Campen, de Kraker, van den Steen 1998; Leine, Nijmeijer 2004",
        repeats=(0, 1),
        multipliers=(0.0,),
        matrices={"flow": np.array([[1.0, -7.509239775748984], [0.0, 0.0]])},
        values={
            "slip": 4.295999525480155,
            "stick": 7.705031769350424,
            "x_max": 1.133944676441657,
            "x_stick": -0.541006353870085,
        },
    )


# --- SLIP -----------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class SlipHopper(cs.HybridSystem):
    """Spring-loaded inverted pendulum of pab47's `slipHopper.m`: x = (x, y, x', y', x of the foot).

    The leg has a constant angle in flight; the foot's place is a state, chosen at touchdown.
    """

    mass: float = 100.0
    stiffness: float = 1e4
    gravity: float = 10.0
    length: float = 1.0
    angle: float = float(np.deg2rad(5.0))

    def flow(self, mode: str) -> cs.Flow:
        if mode == "stance":
            return Given(self.push, {"liftoff": lambda t, x: self.length - np.hypot(x[0] - x[4], x[1])})
        guards = {
            "ascent": {"apex": lambda t, x: x[3]},
            "descent": {"touchdown": lambda t, x: x[1] - self.length * np.cos(self.angle)},
        }[mode]
        drift = np.zeros((5, 5))
        drift[0, 2] = drift[1, 3] = 1.0
        return Given(lambda t, x: np.array([x[2], x[3], 0.0, -self.gravity, 0.0]), guards, lambda t, x: drift)

    def push(self, t: float, x: Array) -> Array:
        """Rate in stance: m r'' = k (l - |r|) r / |r| - m g."""
        leg = np.array([x[0] - x[4], x[1]])
        size = np.hypot(*leg)
        force = self.stiffness * (self.length - size) / self.mass * leg / size
        return np.array([x[2], x[3], force[0], force[1] - self.gravity, 0.0])

    def transition(self, t: float, x: Array, mode: str, fired: frozenset) -> cs.Transition:
        after = {"ascent": "descent", "descent": "stance", "stance": "ascent"}[mode]
        foot = x[0] + self.length * np.sin(self.angle) if mode == "descent" else x[4]
        return cs.Transition(np.r_[x[:4], foot], after, {"leg": (mode, after)})

    def start(self, t: float, x: Array) -> cs.Transition:
        above = x[1] > self.length * np.cos(self.angle)
        if np.hypot(x[0] - x[4], x[1]) < self.length and (x[3] > 0.0 or not above):
            return cs.Transition(x, "stance")
        return cs.Transition(x, "ascent" if x[3] > 0.0 else "descent")


def slip_hopper() -> Case:
    """Unstable hop of pab47's `slipHopper.m` from its apex; the map is that of (x', y) from apex to apex."""
    return Case(
        SlipHopper(),
        x=[0.0, 1.238312718078524, 0.513806075894484, 0.0, 0.0],
        time=0.836957108399169,
        source="pab47, slipHopper.m (m = 100, k = 1e4, g = 10, l = 1, 5 degrees)",
        repeats=(1, 2, 3),
        multipliers=(4.180740889132211, 1.0),
        matrices={"map": np.array([[4.139099450171836, -0.810450497065105], [-0.161288837033532, 1.041641438960376]])},
    )


ORBITS: Mapping[str, Callable[[], Case]] = {
    "compass gait": compass_gait,
    "rimless wheel": rimless_wheel,
    "simplest walker, long": lambda: simplest_walker("long"),
    "simplest walker, short": lambda: simplest_walker("short"),
    "vibrating table": vibrating_table,
    "stick-slip": stick_slip,
    "slip hopper": slip_hopper,
}
"""Periodic cases by name."""
