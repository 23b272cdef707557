"""Joint PD control about a posture or a reference, within the limits of effort and velocity of a robot's file.

A drive with the law tau = k_p e + k_d (v_ref - v) + tau_ff asks for the velocity v_ref + k_p / k_d e. With limits it
asks for no more than the file's velocity, and gives no more than its effort:

    tau = clip(clip(k_p e + k_d v_ref, k_d v_max) - k_d v + tau_ff, tau_max).
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from ..common.arguments import FLAG, NOT_NEGATIVE, POSITIVE, arguments, custom, optional, real_array
from ..common.arrays import Array
from ..common.lazy import dataclass
from ..common.user_calls import UserCall, real
from ..errors import InputError
from ..hybrid.differences import tangent_derivative
from ..hybrid.manifold import Manifold
from .configuration_space import whole, with_pairs
from .controllers import Controller, Holding, PlainGains, holds, name_of, no_parameter
from .piecewise_reference import PiecewiseReference
from .robot_model import joint_places

KP, KD = 10.0, 0.3  # gains of joints for which none are given


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
        pieces = self._reference if isinstance(self._reference, PiecewiseReference) else None
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
