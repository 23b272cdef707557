"""What drives a robot: forces of its controller, of pushes and of actions; PD control, and references for it.

A drive with the law tau = k_p e + k_d (v_ref - v) + tau_ff asks for the velocity v_ref + k_p / k_d e. With limits it
asks for no more than the file's velocity, and gives no more than its effort:

    tau = clip(clip(k_p e + k_d v_ref, k_d v_max) - k_d v + tau_ff, tau_max).

References in pieces of polynomials are quick to follow, in Python and in compiled engines.
"""

from __future__ import annotations

import copy
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from itertools import accumulate, pairwise, repeat
from math import isfinite
from operator import mul
from typing import TYPE_CHECKING, Any

import numpy as np

from ..common.arguments import (
    FLAG,
    INDEX,
    NOT_NEGATIVE,
    POSITIVE,
    REAL,
    arguments,
    custom,
    function,
    numbers,
    optional,
    real_array,
)
from ..common.arrays import Array
from ..common.lazy import NamedTuple, dataclass, lazy
from ..common.user_calls import UserCall, answer, real
from ..errors import InputError
from ..hybrid.differences import tangent_derivative
from ..hybrid.manifold import Manifold
from .configuration_space import whole, with_pairs
from .controllers import Controller, Held, Holding, PlainGains, PlainPieces, holds, name_of, no_parameter
from .robot_model import RobotModel, joint_places

if TYPE_CHECKING:
    from ..hybrid.system import Push
    from .configuration_space import StateSpace
    from .mechanism import ContactMechanism

Reference = Callable[[float], tuple[Array, Array, Array]]

KP, KD = 10.0, 0.3  # gains of joints for which none are given
DEGREE = 7
NODES = np.cos(np.pi * (np.arange(DEGREE + 1) + 0.5) / (DEGREE + 1))  # of Chebyshev: where a piece meets the function
BETWEEN = np.array([-1.0 + 1e-6, -0.55, 0.2, 1.0 - 1e-6])  # where it is compared with it; at breaks from within
CLOSED = 1e-9  # rad, m; how far the last of waypoints that repeat may be from the first
HALVINGS = 20  # of a piece between two breaks, before it is said not to be smooth there


class AppliedJacobian(NamedTuple):
    """What controllers and pushes apply, differentiated by the state: forces (nv, dim), memory rates (own, dim)."""

    force_x: Array
    memory_x: Array


@dataclass(frozen=True, eq=False)
class Driving:
    """What moves a mechanism from outside: a controller, pushes, and an action; its states are (q, v, z).

    Attributes:
        robot: a Robot, or a Mechanism.
        mechanism: the robot on its ground, with its loops closed.
        space: of its states, whose memory z begins with the controller's.
        controller: what drives the joints; None: nothing does.
        pushes: what pushes for a while.
        action: generalised forces (nv,) that are given step by step, besides those of the controller; None: none.
    """

    robot: Any
    mechanism: ContactMechanism
    space: StateSpace
    controller: Controller | None
    pushes: tuple[Push, ...] = ()
    action: Array | None = None

    @lazy
    def nv(self) -> int:
        """Numbers of a velocity."""
        return self.mechanism.nv

    @lazy
    def memory(self) -> int:
        """Numbers of the controller's own state."""
        return self.controller.memory if self.controller else 0

    @lazy
    def held_torque(self) -> int:
        """Numbers at the end of the controller's own state that the engine keeps there: its torque since a sample."""
        return self.nv if isinstance(self.controller, Held) else 0

    def applied_at(self, t: float, x: Array) -> Array | None:
        """Generalised forces (nv,) of controller and pushes that move the mechanism; None where there are none."""
        given = self.given_force(t, x)
        if given is None or not self.mechanism.has_loops:
            return given
        return self.mechanism.admissible_force(x[: self.mechanism.nq], given)

    def given_force(self, t: float, x: Array) -> Array | None:
        """Generalised forces (nv,) of controller and pushes; None where there are none."""
        total = self._controlled(t, x)
        for push in self.pushes:
            pushed = self.mechanism.generalised_force(x[: self.mechanism.nq], push.frame, push.force, push.point)
            total = pushed if total is None else total + pushed
        if self.action is not None:
            total = self.action if total is None else total + self.action
        return total

    def _controlled(self, t: float, x: Array) -> Array | None:
        """Generalised forces (nv,) of the controller; None where there is none."""
        if (controller := self.controller) is None:
            return None
        q, v, z = self._given_to_controller(x)
        try:
            total: Array = controller.torque(t, q, v, z)
        except Exception:
            with UserCall("the controller", controller, t):
                raise
        plain = type(total) is np.ndarray and total.shape == (self.nv,) and total.dtype.char == "d"
        if plain and isfinite(total.dot(total)):
            return total.copy()  # a controller may fill one array again and again
        return answer("the controller", controller, "tau", total, (self.nv,), t, x[: self.mechanism.nq]).copy()

    def _given_to_controller(self, x: Array) -> tuple[Array, Array, Array]:
        """Configuration, velocity and memory for a controller: copies, on which it may write."""
        q, v, z = self.space.split(x.copy())
        return q, v, z[: self.memory]

    @lazy
    def _undriven(self) -> dict[str, list[int]]:
        """Velocities of the joints without an actuator of a robot that has some, where a controller may drive them."""
        if self.controller is None or self.controller.plain() is not None or not isinstance(self.robot, RobotModel):
            return {}
        driven, places = self.robot.actuated, joint_places(self.robot.model)
        if not driven.any():  # forces are all that can move it
            return {}
        rows = {name: [k for k in own if not driven[k]] for name, (_, own) in places.items()}
        return {name: found for name, found in rows.items() if found}

    def forced_from_outside(self, t: float, x: Array) -> list[tuple[str, list[int]]]:
        """Joints without an actuator to which the controller applies forces, each with its velocities."""
        if not self._undriven or (given := self._controlled(t, x)) is None:
            return []
        return [(name, rows) for name, rows in self._undriven.items() if given[rows].any()]

    @lazy
    def is_forced(self) -> bool:
        """Whether time alone may change what acts in the same state: forces, or gaps by functions of a user's."""
        return self._is_driven or self.mechanism.timed

    @lazy
    def _is_driven(self) -> bool:
        """Whether the controller may apply other forces at another time."""
        if self.controller is None or self.controller.holding() is not None or not self.controller.timed:
            return False
        gains = self.controller.plain()
        return gains is None or gains.posture is None

    def acting(self, t: float, x: Array) -> Array:
        """What time alone may change (k,): of the mechanism, and the controller's forces and rate of its memory."""
        q, v, _ = self.space.split(x)
        parts = [self.mechanism.by_time(t, q, v)] if self.mechanism.timed else []
        if self._is_driven:
            given = self.given_force(t, x)
            assert given is not None
            parts += [given, self.memory_rate(t, x)]
        return np.concatenate(parts)

    def memory_rate(self, t: float, x: Array) -> Array:
        """Rate (memory,) of the controller's memory, with the law's at rest."""
        rate, own = np.zeros(self.space.dim - 2 * self.nv), self.memory
        if self.controller is not None and own:
            with UserCall("the controller", self.controller, t):
                given = self.controller.rate(t, *self._given_to_controller(x))
            rate[:own] = answer("the controller", self.controller, "a rate", given, (own,), t, x)
        return rate

    def applied_jacobian(self, t: float, x: Array) -> AppliedJacobian:
        """Derivatives of `applied_at` and of the controller's memory rate with respect to the state."""
        nv, own = self.nv, self.memory
        q, v, z = self._given_to_controller(x)
        force, memory = np.zeros((nv, self.space.dim)), np.zeros((own, self.space.dim))
        if self.controller is not None:
            size = 2 * nv + own
            with UserCall("the controller", self.controller, t):
                force[:, :size] = self.controller.torque_jacobian(t, q, v, z, self.mechanism.space)
                if own:
                    memory[:, :size] = self.controller.rate_jacobian(t, q, v, z, self.mechanism.space)
        if self.pushes:
            force[:, :nv] += tangent_derivative(self._pushed, self.mechanism.space, q)
        given = self.given_force(t, x)
        if given is not None:
            force = self.mechanism.admissible_force_jacobian(q, given, force)
        return AppliedJacobian(force, memory)

    def _pushed(self, q: Array) -> Array:
        return np.sum([self.mechanism.generalised_force(q, p.frame, p.force, p.point) for p in self.pushes], axis=0)

    def next_time(self, t: float) -> float:
        """Next sampling instant of the controller."""
        if self.controller is None or self.controller.period is None:
            return float("inf")
        period = self.controller.period
        k = np.floor(t / period)
        while k * period <= t:  # the quotient of a multiple of the period may round to less
            k += 1.0
        return float(k * period)

    def is_sampling(self, t: float) -> bool:
        """True at an instant of the controller's sampling (a push may begin or end by the clock, too)."""
        if self.controller is None or self.controller.period is None:
            return False
        return abs(t - round(t / self.controller.period) * self.controller.period) <= 4.0 * float(np.spacing(abs(t)))

    def sampled(self, t: float, x: Array) -> Array:
        """The state with the controller's memory sampled."""
        if self.controller is None or self.controller.period is None:
            return x
        q, v, z = self.space.split(x)
        own = self.memory
        with UserCall("the controller", self.controller, t):
            given = self.controller.sample(t, *self._given_to_controller(x))
        new = answer("the controller", self.controller, "a sample", given, (own,), t, x[: self.mechanism.nq + self.nv])
        return np.concatenate([q, v, new, z[own:]])


# --- PD control -------------------------------------------------------------------------------------------------------
class PD(Controller):
    """Joint PD control about a reference: tau = tau_ff + kp (q_ref (-) q) + kd (v_ref - v), on the actuated joints.

    Its parameters: "kp" and "kd", the gain of all actuated joints where they share one; "kp.JOINT" and "kd.JOINT" of
    one joint; "kp_scale" and "kd_scale", factors on the gains of all joints, 1 for those that were given.

    Args:
        robot: the Robot (or Mechanism) it drives; the root joint of a floating robot is not actuated.
        reference: configuration (nq,), or t -> (q_ref, v_ref, tau_ff), as a `PiecewiseReference` is, or t -> q_ref; by
            default the nominal one. The fixed one, and that of t -> q_ref, may give all continuous joints by angles.
        kp: stiffness, a number, (nv,), or {joint: number}, where other joints have the default [N m/rad, N/m].
        kd: damping, likewise [N m s/rad, N s/m].
        period: sampled with zero-order hold at this period [s]; None: continuous.
        limits: keep the limits of the robot's file: the torque within the effort, and the velocity that is asked for,
            v_ref + kp / kd (q_ref (-) q), within the velocity limit. The corners of both are no events.

    Raises:
        InputError: an argument does not fit the robot, or a limit is zero, or one of velocity meets no damping.
    """

    @arguments(period=optional(POSITIVE), limits=FLAG)
    def __init__(
        self,
        robot: Any,
        reference: Any = None,
        kp: Any = KP,
        kd: Any = KD,
        period: float | None = None,
        limits: bool = False,
    ) -> None:
        if not (hasattr(robot, "space") and hasattr(robot, "nominal")) or isinstance(robot, type):
            raise InputError(f"the robot of a PD controller is a {type(robot).__name__}; give a Robot or a Mechanism")
        self._space, nv = robot.space, robot.nv
        actuated = getattr(robot, "actuated", np.ones(nv, dtype=bool))
        self._joints = _driven(robot, actuated)
        self._kp = np.where(actuated, _gain("kp", kp, KP, nv, self._joints), 0.0)
        self._kd = np.where(actuated, _gain("kd", kd, KD, nv, self._joints), 0.0)
        self._scales = {"kp": 1.0, "kd": 1.0}
        self._actuated = actuated.astype(float)
        self._plain = bool(np.all(_plain_joints(robot)[actuated]))
        given = robot.nominal if reference is None else reference
        self._held = None if callable(given) else given
        self._reference = _reference(given, robot.space, robot.nq, nv)
        self._still = None if callable(given) else self._reference(0.0)[0]  # where it holds the robot
        self.period = period
        self.memory = nv if period is not None else 0
        self._limits = drive_limits(robot, actuated) if limits else None
        if self._limits is not None:
            self._limits.demand_damping(self._kd)

    @property
    def stiffness(self) -> Array:
        """Gains on the positions (nv,) [N m/rad, N/m]; zero where nothing is driven."""
        return np.array(self._kp)

    def as_data(self) -> dict[str, Any] | None:
        """Data for JSON from which `from_data` makes the controller again; None where its reference is a function."""
        if self._held is None:
            return None
        gains = {"kp": self._kp.tolist(), "kd": self._kd.tolist()}
        return {"reference": np.asarray(self._held, dtype=float).tolist(), **gains, "scales": self._scales} | (
            {} if self._limits is None else {"limits": True}
        )

    @classmethod
    def from_data(cls, robot: Any, data: Mapping[str, Any], period: float | None) -> PD:
        """The controller of `as_data`, of the same robot."""
        made = cls(robot, data["reference"], data["kp"], data["kd"], period, data.get("limits", False))
        made._scales = dict(data["scales"])
        return made

    def parameters(self) -> dict[str, float]:
        """Gains of all joints and of each, and their factors."""
        found = {f"{kind}_scale": scale for kind, scale in self._scales.items()}
        gains = {"kp": self._kp, "kd": self._kd}
        for kind, gain in gains.items():
            values = np.unique(gain[self._actuated > 0.0])
            if len(values) == 1:
                found[kind] = float(values[0])
        for kind, gain in gains.items():
            for joint, rows in self._joints.items():
                values = np.unique(gain[rows])
                if len(values) == 1:
                    found[f"{kind}.{joint}"] = float(values[0])
        return found

    def with_parameter(self, name: str, value: float) -> PD:
        """A copy with other gains.

        Raises:
            InputError: no such parameter, a factor that is not positive, or a number that is not finite.
        """
        kind, _, joint = name.partition(".")
        factor = kind in ("kp_scale", "kd_scale")
        kind = kind.removesuffix("_scale") if factor else kind
        if kind not in self._scales or (joint and (factor or joint not in self._joints)):
            raise no_parameter(self, name)
        value = (POSITIVE if factor else NOT_NEGATIVE).check(f"{name} of the PD controller", value)
        changed = copy.copy(self)
        gain = self._kp.copy() if kind == "kp" else self._kd.copy()
        if factor:
            gain *= value / self._scales[kind]
            changed._scales = self._scales | {kind: value}
        else:
            gain[self._joints[joint] if joint else self._actuated > 0.0] = value
        if kind == "kd" and self._limits is not None:
            self._limits.demand_damping(gain)
        setattr(changed, f"_{kind}", gain)
        return changed

    def plain(self) -> PlainGains | None:
        """Its gains and its reference, where it has neither limits nor samples."""
        if self._limits is not None or self.period is not None:
            return None
        pieces = self._reference.plain if isinstance(self._reference, PiecewiseReference) else None
        return PlainGains(self._kp, self._kd, self._still, self._reference, self._actuated, pieces)

    def holding(self) -> Holding | None:
        """Its memory is the torque, where it samples."""
        return None if self.period is None else Holding(0, np.arange(self.memory))

    @holds
    def torque(self, t: float, q: Array, v: Array, z: Array) -> Array:
        """The PD law at (t, q, v), or the value held since the last sample."""
        return z if self.period is not None else self._law(t, q, v)

    def sample(self, t: float, q: Array, v: Array, z: Array) -> Array:
        """The PD law, to be held until the next sample."""
        return self._law(t, q, v)

    def torque_jacobian(self, t: float, q: Array, v: Array, z: Array, space: Manifold) -> Array:
        """That of the PD law, or of the held value."""
        if self.period is None:
            return self._law_jacobian(t, q, v)
        return np.hstack([np.zeros((len(v), 2 * len(v))), np.eye(len(v))])

    def sample_jacobian(self, t: float, q: Array, v: Array, z: Array, space: Manifold) -> Array:
        """That of the PD law, whatever was held before."""
        return np.hstack([self._law_jacobian(t, q, v), np.zeros((len(v), len(z)))])

    def _law_jacobian(self, t: float, q: Array, v: Array) -> Array:
        q_ref = self._reference(t)[0]
        if self._plain:
            along_q = -np.diag(self._kp)
        else:
            along_q = tangent_derivative(lambda point: self._kp * self._space.difference(point, q_ref), self._space, q)
        both = np.hstack([along_q, -np.diag(self._kd)])
        if self._limits is None:
            return both
        asked, rest = self._parts(t, q, v)
        both[:, : len(v)] *= self._limits.within(asked, self._kd)[:, None]
        torque = self._limits.asked(asked, self._kd) + rest
        both *= (np.abs(torque) <= self._limits.effort)[:, None]
        return both

    def _law(self, t: float, q: Array, v: Array) -> Array:
        if self._limits is not None:
            asked, rest = self._parts(t, q, v)
            return self._limits.given(self._limits.asked(asked, self._kd) + rest)
        if self._still is not None:
            torque = self._kp * self._space.difference(q, self._still)
            torque -= self._kd * v
            return torque
        q_ref, v_ref, tau_ff = self._reference(t)
        torque = self._kp * self._space.difference(q, q_ref)
        torque += self._kd * (v_ref - v)
        torque += self._actuated * tau_ff
        return torque

    def _parts(self, t: float, q: Array, v: Array) -> tuple[Array, Array]:
        """kp (q_ref (-) q) + kd v_ref, and -kd v + tau_ff."""
        q_ref, v_ref, tau_ff = self._reference(t)
        asked = self._kp * self._space.difference(q, q_ref) + self._kd * v_ref
        return asked, self._actuated * tau_ff - self._kd * v


def _plain_joints(robot: Any) -> Array:
    """Mask (nv,) of the velocities that are rates of coordinates which simply add up."""
    plain = np.ones(robot.nv, dtype=bool)
    if (model := getattr(robot, "model", None)) is not None:
        for joint in list(model.joints)[1:]:
            plain[joint.idx_v : joint.idx_v + joint.nv] = joint.nv == 1
    return plain


def _driven(robot: Any, actuated: Array) -> dict[str, Array]:
    """Velocity indices of each actuated joint by its name; none for a mechanism, whose coordinates have no names."""
    if (model := getattr(robot, "model", None)) is None:
        return {}
    rows = {name: np.array(places) for name, (_, places) in joint_places(model).items() if places}
    return {name: found for name, found in rows.items() if actuated[found].all()}


def _gain(name: str, value: Any, default: float, nv: int, joints: Mapping[str, Array]) -> Array:
    words = f"a finite number that is zero or positive, an array ({nv},) of them, or {{joint: number}}"

    def take(given: Any) -> Array:
        gain = real_array(given)
        if gain.shape not in ((), (nv,)) or not (np.isfinite(gain).all() and (gain >= 0.0).all()):
            raise ValueError
        return gain

    if not isinstance(value, Mapping) or not value:
        return np.broadcast_to(custom(words, take).check(f"the gain {name}", value), (nv,))
    found = np.full(nv, default)
    for joint, own in value.items():
        if joint not in joints:
            known = ", ".join(joints) or "none"
            raise InputError(f"the gain {name} is given for '{joint}', which is no driven joint; there are {known}")
        found[joints[joint]] = NOT_NEGATIVE.check(f"the gain {name} of joint '{joint}'", own)
    return found


@dataclass(frozen=True)
class _Fixed:
    """A reference that does not move: (q_ref, v_ref, tau_ff) at any time."""

    value: tuple[Array, Array, Array]

    def __call__(self, t: float) -> tuple[Array, Array, Array]:
        return self.value


@dataclass(frozen=True)
class _Posture:
    """A reference t -> q_ref that is followed without velocity and torque."""

    posture: Callable[[float], Any]
    zero: Array
    shape: tuple[int, ...]
    space: Any

    def __call__(self, t: float) -> tuple[Array, Array, Array]:
        posture = with_pairs(self.space, real(self.posture(t)))
        if posture.shape != self.shape:
            raise InputError(
                f"the reference of the PD controller, {name_of(self.posture)}, returns q_ref of shape {posture.shape}"
                f" at t = {t:.6g} s; return {self.shape}"
            )
        return posture, self.zero, self.zero


def _reference(given: Any, space: Any, nq: int, nv: int) -> Callable[[float], tuple[Array, Array, Array]]:
    zero = np.zeros(nv)
    if callable(given):
        with UserCall("the reference of the PD controller", name_of(given), 0.0):
            first = given(0.0)
        if isinstance(first, tuple) and len(first) == 3:
            _demand_shapes(first, nq, nv)
            return given
        with suppress(TypeError, ValueError):  # these are told by its shape
            first = with_pairs(space, np.asarray(first, dtype=float))
        _demand_shapes((first,), nq, nv)
        return _Posture(given, zero, (nq,), space)
    fixed = whole(space, "the reference", given, nq, f"a configuration ({nq},) or a function of time")
    return _Fixed((fixed, zero, zero))


def _demand_shapes(parts: tuple[Any, ...], nq: int, nv: int) -> None:
    """Raise InputError where what a reference function returns at t = 0 cannot be used."""
    for name, part, size in zip(("q_ref", "v_ref", "tau_ff"), parts, (nq, nv, nv), strict=False):
        try:
            shape = np.asarray(part, dtype=float).shape
        except (TypeError, ValueError):
            shape = None
        if shape != (size,):
            found = "not an array of numbers" if shape is None else f"of shape {shape}"
            raise InputError(
                f"the reference of the PD controller returns {name} {found} at t = 0; return q_ref ({nq},), or"
                f" (q_ref, v_ref, tau_ff) of ({nq},), ({nv},) and ({nv},) numbers"
            )


@dataclass(frozen=True)
class DriveLimits:
    """Limits of the drives of a robot; infinite where a joint has none, or no drive.

    Attributes:
        effort: (nv,) [N m, N].
        velocity: (nv,) [rad/s, m/s].
        owners: name of the joint of each velocity (nv,).
    """

    effort: Array
    velocity: Array
    owners: tuple[str, ...]

    def asked(self, asked: Array, kd: Array) -> Array:
        """The part k_p e + k_d v_ref of the torque (nv,), for no more than the velocity limit."""
        bound = self._bound(kd)
        return np.clip(asked, -bound, bound)

    def within(self, asked: Array, kd: Array) -> Array:
        """Mask (nv,) of the joints that ask for less than their velocity limit."""
        return np.asarray(np.abs(asked) <= self._bound(kd))

    def _bound(self, kd: Array) -> Array:
        bound = np.full(len(kd), np.inf)
        np.multiply(kd, self.velocity, out=bound, where=np.isfinite(self.velocity))
        return bound

    def given(self, torque: Array) -> Array:
        """The torque (nv,), no larger than the effort."""
        return np.clip(torque, -self.effort, self.effort)

    def demand_damping(self, kd: Array) -> None:
        """Raise InputError where a joint has a velocity limit and no damping to keep it by."""
        slack = np.flatnonzero(np.isfinite(self.velocity) & ~(kd > 0.0))
        if len(slack):
            raise InputError(
                f"joint '{self.owners[slack[0]]}' has a velocity limit and kd = {kd[slack[0]]:g}; give a positive kd,"
                " by which PD keeps that limit, or limits=False"
            )


def drive_limits(robot: Any, actuated: Array) -> DriveLimits:
    """Limits of the driven joints as the robot's file has them.

    Raises:
        InputError: the robot is of no file, or a driven joint has a limit of zero.
    """
    model = getattr(robot, "model", None)
    if model is None:
        raise InputError(f"a {type(robot).__name__} has no limits of effort and velocity; leave limits=True out")
    owners = [""] * robot.nv
    for name, (_, places) in joint_places(model).items():
        owners[places.start : places.stop] = [name] * len(places)
    found = []
    for kind, own in (("effort", model.effortLimit), ("velocity", model.velocityLimit)):
        limit = np.where(actuated, np.asarray(own, dtype=float), np.inf)
        if len(wrong := np.flatnonzero(~(limit > 0.0))):
            raise InputError(
                f"joint '{owners[wrong[0]]}' of robot '{robot.name}' has the {kind} limit {limit[wrong[0]]:g}; give a"
                " positive one in its file, or limits=False"
            )
        found.append(limit)
    return DriveLimits(found[0], found[1], tuple(owners))


# --- references in pieces of polynomials ------------------------------------------------------------------------------
@arguments()
@dataclass(frozen=True, eq=False)
class PiecewiseReference:
    """A reference (q_ref, v_ref, tau_ff) of time, for `cs.PD`, whose numbers are polynomials between knots.

    On the piece from knot k to the next all numbers are sum_j coefficients[k, j] s^j, where s goes from -1 to 1.
    Before the first knot and after the last one the posture of that knot is held, without velocity.

    A compiled engine evaluates it by itself; any other function of time is called back. `fit` makes one from a
    function, `through` from waypoints.

    Attributes:
        knots: times, growing (n + 1,) [s].
        coefficients: (n, degree + 1, nq + 2 nv), q_ref, v_ref and tau_ff behind each other.
        nq: how many of them are q_ref.
        again: knot, by its number, from which it repeats after the last one; None: it ends.
    """

    knots: Array
    coefficients: Array
    nq: int
    again: int | None = None
    _times: list[float] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        times, given = _growing(self.knots), "PiecewiseReference"
        words = f"an array ({len(times) - 1}, degree + 1, nq + 2 nv) of finite numbers"
        shape = numbers(len(times) - 1, None, None, words=words)
        coefficients = shape.check(f"coefficients of {given}", self.coefficients)
        size, nq = coefficients.shape[2], INDEX.check(f"nq of {given}", self.nq)
        if nq > size or (size - nq) % 2:
            raise InputError(f"nq of {given} is {nq}; give that of its {size} numbers, nq + 2 nv")
        again = optional(INDEX).check(f"again of {given}", self.again)
        if again is not None and again >= len(times) - 1:
            raise InputError(
                f"again of PiecewiseReference is {again}; give a knot before the last one, {len(times) - 1}"
            )
        for name, value in (("knots", np.array(times)), ("coefficients", coefficients), ("_times", times)):
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        return f"PiecewiseReference({self._times[0]:.4g} to {self._times[-1]:.4g} s, {len(self.coefficients)} pieces)"

    def __call__(self, t: float) -> tuple[Array, Array, Array]:
        """Evaluate (q_ref (nq,), v_ref (nv,), tau_ff (nv,)) at t [s]."""
        times, nq = self._times, self.nq
        if self.again is not None and t > times[-1]:
            first = times[self.again]
            t = first + (t - first) % (times[-1] - first)
        inside = min(max(t, times[0]), times[-1])
        k = min(bisect_right(times, inside), len(times) - 1) - 1
        s = (2.0 * inside - times[k] - times[k + 1]) / (times[k + 1] - times[k])
        powers = list(accumulate(repeat(s, self.coefficients.shape[1] - 1), mul, initial=1.0))
        values = np.array(powers) @ self.coefficients[k]
        nv = (len(values) - nq) // 2
        speed = values[nq : nq + nv]
        return values[:nq], speed if inside == t else np.zeros(nv), values[nq + nv :]

    @lazy
    def plain(self) -> PlainPieces:
        """The same as data, for compiled engines."""
        return PlainPieces(self.knots, self.coefficients, self.nq, self.again)

    @classmethod
    @arguments(reference=function("a function t -> (q_ref, v_ref, tau_ff)"), repeat=optional(REAL), accuracy=POSITIVE)
    def fit(
        cls, reference: Reference, breaks: Sequence[float], repeat: float | None = None, accuracy: float = 1e-12
    ) -> PiecewiseReference:
        """The same as a function, to `accuracy` of the largest of 1 and its numbers in each piece.

        Args:
            reference: t -> (q_ref (nq,), v_ref (nv,), tau_ff (nv,)).
            breaks: the times between which it is smooth, from its start to its end [s].
            repeat: that of the breaks from which it repeats after the last one [s]; None: it does not.
            accuracy: relative; pieces are halved until it is reached.

        Raises:
            InputError: the times do not grow, `repeat` is none of them, or the function is not smooth between two.
        """
        times = _growing(breaks)
        if repeat is not None and repeat not in times[:-1]:
            raise InputError(f"repeat = {repeat:.6g} s is none of the breaks before the last; give one of them")
        knots, pieces = [times[0]], []
        for piece in pairwise(times):
            for end, coefficients in _pieces(reference, *piece, accuracy):
                knots.append(end)
                pieces.append(coefficients)
        first = None if repeat is None else knots.index(repeat)
        return cls(np.array(knots), np.array(pieces), len(reference(times[0])[0]), first)

    @classmethod
    @arguments(repeat=FLAG)
    def through(cls, robot: Any, times: Sequence[float], q: Any, repeat: bool = False) -> PiecewiseReference:
        """The cubic spline of the joints through configurations, at rest at its ends or periodic, without torque.

        Args:
            robot: the Robot.
            times: growing (n,) [s].
            q: configurations (n, nq), of which only joints of one degree of freedom may differ.
            repeat: whether it goes round; the last configuration is then the first.

        Raises:
            InputError: shapes do not fit, a joint of several degrees of freedom moves, or its ends differ.
        """
        from scipy.interpolate import CubicSpline

        if not (hasattr(robot, "space") and hasattr(robot, "model")) or isinstance(robot, type):
            raise InputError(f"the robot of PiecewiseReference.through is a {type(robot).__name__}; give a Robot")
        grown, space = _growing(times), robot.space
        words = f"an array ({len(grown)}, {robot.nq}) of finite numbers, a configuration a time"
        points = numbers(len(grown), robot.nq, words=words).check("waypoints q of PiecewiseReference.through", q)
        steps = np.array([space.difference(*pair) for pair in pairwise(points)])
        for joint in list(robot.model.joints)[1:]:
            if joint.nv > 1 and np.any(steps[:, joint.idx_v : joint.idx_v + joint.nv]):
                raise InputError(
                    f"waypoints q move the joint '{robot.model.names[joint.id]}', which has {joint.nv} degrees of"
                    " freedom; leave it where it is, splines are of joints with one"
                )
        ways = np.vstack([np.zeros(robot.nv), np.cumsum(steps, axis=0)])
        slope = np.zeros(robot.nv)  # rad/s, of joints that go round and round
        if repeat:
            if np.abs(space.difference(points[0], points[-1])).max() > CLOSED:
                raise InputError("the last of the waypoints q is not the first; a reference that repeats ends there")
            slope = np.round(ways[-1] / (2.0 * np.pi)) * 2.0 * np.pi / (grown[-1] - grown[0])
        past = np.subtract(grown, grown[0])
        ways -= past[:, None] * slope
        if repeat:
            ways[-1] = ways[0]
        spline, still = CubicSpline(past, ways, bc_type="periodic" if repeat else "clamped"), np.zeros(robot.nv)

        def reference(t: float) -> tuple[Array, Array, Array]:
            s = t - grown[0]
            return space.integrate(points[0], spline(s) + slope * s), spline(s, 1) + slope, still

        return cls.fit(reference, grown, grown[0] if repeat else None)


def _growing(times: Any) -> list[float]:
    def take(given: Any) -> list[float]:
        found = real_array(given)
        if found.ndim != 1 or len(found) < 2 or not np.isfinite(found).all() or not (np.diff(found) > 0.0).all():
            raise ValueError
        return [float(t) for t in found]

    return custom("two or more finite times that grow", take).check("the times of a reference", times)


def _pieces(reference: Reference, start: float, end: float, accuracy: float) -> list[tuple[float, Array]]:
    """Ends and coefficients of the pieces that follow a function between two times."""

    def values(nodes: Array, t0: float, t1: float) -> Array:
        return np.array([np.concatenate(reference(0.5 * (t0 + t1 + s * (t1 - t0)))) for s in nodes])

    powers = np.arange(DEGREE + 1)
    found, left = [], [(start, end, 0)]
    while left:
        t0, t1, halvings = left.pop()
        coefficients = np.linalg.solve(NODES[:, None] ** powers, values(NODES, t0, t1))
        wanted = values(BETWEEN, t0, t1)
        wrong = np.abs(BETWEEN[:, None] ** powers @ coefficients - wanted).max()
        if wrong <= accuracy * max(1.0, np.abs(wanted).max()):
            found.append((t1, coefficients))
        elif halvings == HALVINGS:
            raise InputError(
                f"the reference is not smooth between {start:.6g} and {end:.6g} s, near {t0:.9g} s, or not to"
                f" {accuracy} of itself; name the time in breaks, or ask for less accuracy"
            )
        else:
            middle = 0.5 * (t0 + t1)
            left += [(middle, t1, halvings + 1), (t0, middle, halvings + 1)]
    return found
