"""Controllers: what drives the joints, with memory and a sampling period if they need them."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..common.arguments import COUNT, FLAG, NOT_NEGATIVE, POSITIVE, arguments, custom, function, optional, real_array
from ..common.arrays import Array
from ..common.user_calls import UserCall, answer, reads, real
from ..errors import InputError
from ..hybrid.differences import tangent_derivative
from ..hybrid.manifold import Euclidean, Manifold
from .configuration_space import whole, with_pairs
from .piecewise_reference import PiecewiseReference

if TYPE_CHECKING:
    from .drive_limits import DriveLimits


class PlainGains(NamedTuple):
    """tau = kp (q_ref (-) q) + kd (v_ref - v) + tau_ff, as data.

    Attributes:
        kp, kd: gains (nv,).
        posture: q_ref (nq,) where it stands still, and is all of the reference; else None.
        reference: t -> (q_ref, v_ref, tau_ff), of which the driven joints follow tau_ff.
        driven: 1.0 of each velocity (nv,) that is driven, else 0.0.
        pieces: the reference, where it is one of polynomials.
    """

    kp: Array
    kd: Array
    posture: Array | None
    reference: Callable[[float], tuple[Array, Array, Array]]
    driven: Array
    pieces: PiecewiseReference | None


class Holding(NamedTuple):
    """Torques that are held, as data.

    Attributes:
        first: place in the memory, which stands still, of the first of them.
        velocities: which one each drives (count,).
    """

    first: int
    velocities: Array


class Controller(ABC):
    """Generalised forces from the state.

    A controller with a period is asked at its sampling instants alone, which are the multiples of the period and the
    start of a run: first `sample` for the new memory, then `torque` with that memory at the same (t, q, v). What
    `torque` says there is held until the next sample, whatever else it reads; there is no further delay.

    A controller may have numeric parameters by name: it lists them in `parameters` and gives a changed copy of itself
    in `with_parameter`. They are then parameters of its system, "controller.NAME": for `Simulation.set`, for the
    settings of a scene, and for derivatives, which ask for copies with values close by.

    Attributes:
        memory: numbers of own state z; in the state of a run they come before the (nv,) torques that are held.
        period: sampling period [s]; the instants of sampling are events. None: continuous.
        timed: whether its torque may change by the time alone, in the same state.
        inputs: numbers at the begin of z that are inputs held between samples, by which `lin.discrete` differentiates.
    """

    memory: int = 0
    period: float | None = None
    inputs: int = 0
    timed: bool = True

    @abstractmethod
    def torque(self, t: float, q: Array, v: Array, z: Array) -> Array:
        """Generalised force (nv,) [N, N m]."""

    def __repr__(self) -> str:
        return type(self).__qualname__

    def driving(self, robot: Any) -> Controller:
        """The controller as it drives a robot, where it has to know that; a system takes it in its place."""
        return self

    def parameters(self) -> dict[str, float]:
        """Numbers that `with_parameter` changes, by name; none unless overridden."""
        return {}

    def with_parameter(self, name: str, value: float) -> Controller:
        """A copy with one parameter changed; it must leave this controller as it is.

        Raises:
            InputError: no such parameter (the known ones are listed), or its value is out of range.
        """
        raise no_parameter(self, name)

    def plain(self) -> PlainGains | None:
        """Its torque as constant gains, for compiled engines; None where it is more than that."""
        return None

    def holding(self) -> Holding | None:
        """Its torque as numbers of its memory, for compiled engines; None where it is another one."""
        return None

    def rate(self, t: float, q: Array, v: Array, z: Array) -> Array:
        """Rate of the memory (memory,); at rest unless overridden."""
        return np.zeros(self.memory)

    def sample(self, t: float, q: Array, v: Array, z: Array) -> Array:
        """Memory (memory,) after a sampling instant; unchanged unless overridden."""
        return z

    def torque_jacobian(self, t: float, q: Array, v: Array, z: Array, space: Manifold) -> Array:
        """D tau (nv, 2 nv + memory) along tangent directions of q, then v, then z; differenced unless overridden."""
        return _differenced(self.torque, t, q, v, z, space)

    def rate_jacobian(self, t: float, q: Array, v: Array, z: Array, space: Manifold) -> Array:
        """D z' (memory, 2 nv + memory); differenced unless overridden."""
        return _differenced(self.rate, t, q, v, z, space)

    def sample_jacobian(self, t: float, q: Array, v: Array, z: Array, space: Manifold) -> Array:
        """D sample (memory, 2 nv + memory); differenced unless overridden."""
        return _differenced(self.sample, t, q, v, z, space)


def _differenced(
    function: Callable[[float, Array, Array, Array], Array], t: float, q: Array, v: Array, z: Array, space: Manifold
) -> Array:
    along_q = tangent_derivative(lambda point: function(t, point, v, z), space, q)
    along_v = tangent_derivative(lambda velocity: function(t, q, velocity, z), Euclidean(len(v)), v)
    along_z = tangent_derivative(lambda memory: function(t, q, v, memory), Euclidean(len(z)), z)
    return np.hstack([along_q, along_v, along_z])


def holds(torque: Callable[..., Array]) -> Callable[..., Array]:
    """Marks a `torque` that, where there is a period, gives back what `sample` has put into the memory, and only that.

    A subclass that writes another `torque` loses the mark: the engine then holds what that says.
    """
    torque.holds = True  # type: ignore[attr-defined]
    return torque


class Held(Controller):
    """A controller with a period whose torque is held from one sample to the next: its memory, then the torque (nv,).

    Args:
        own: the controller; its `sample` is asked first, then its `torque` with the memory that it has sampled.
        nv: numbers of its torque.
    """

    def __init__(self, own: Controller, nv: int) -> None:
        self.own, self.period, self.memory = own, own.period, own.memory + nv
        self._nv = nv

    def __repr__(self) -> str:
        return repr(self.own)

    def parameters(self) -> dict[str, float]:
        """Those of the controller."""
        return self.own.parameters()

    def with_parameter(self, name: str, value: float) -> Held:
        """A copy with one parameter of the controller changed; the next sample follows it."""
        return Held(self.own.with_parameter(name, value), self._nv)

    @holds
    def torque(self, t: float, q: Array, v: Array, z: Array) -> Array:
        """The torque held since the last sample."""
        return z[self.own.memory :]

    def holding(self) -> Holding | None:
        """Behind the controller's own memory, where that stands still."""
        still = type(self.own).rate is Controller.rate
        return Holding(self.own.memory, np.arange(self._nv)) if still else None

    def rate(self, t: float, q: Array, v: Array, z: Array) -> Array:
        """That of the controller's memory; the torque stands still."""
        return np.concatenate([self._rate(t, q, v, z[: self.own.memory]), np.zeros(self._nv)])

    def _rate(self, t: float, q: Array, v: Array, z: Array) -> Array:
        size = (self.own.memory,)
        return answer("the controller", self.own, "a rate", self.own.rate(t, q, v, z), size, t, q)

    def sample(self, t: float, q: Array, v: Array, z: Array) -> Array:
        """The controller's memory after the instant, and its torque with that memory."""
        given = self.own.sample(t, q, v, z[: self.own.memory])
        kept = answer("the controller", self.own, "a sample", given, (self.own.memory,), t, q)
        torque = answer("the controller", self.own, "tau", self.own.torque(t, q, v, kept), (self._nv,), t, q)
        return np.concatenate([kept, torque])

    def torque_jacobian(self, t: float, q: Array, v: Array, z: Array, space: Manifold) -> Array:
        """That of the held value."""
        return np.hstack([np.zeros((self._nv, len(z) - self._nv + 2 * len(v))), np.eye(self._nv)])

    def rate_jacobian(self, t: float, q: Array, v: Array, z: Array, space: Manifold) -> Array:
        """That of the controller's memory; zero for the torque."""
        own = self.own.rate_jacobian(t, q, v, z[: self.own.memory], space)
        return np.pad(own, ((0, self._nv), (0, self._nv)))

    def sample_jacobian(self, t: float, q: Array, v: Array, z: Array, space: Manifold) -> Array:
        """That of the memory, and by the chain rule that of the torque; what was held before is forgotten."""
        before, moved = z[: self.own.memory], 2 * len(v)
        sampled = self.own.sample_jacobian(t, q, v, before, space)
        kept = answer("the controller", self.own, "a sample", self.own.sample(t, q, v, before), before.shape, t, q)
        torque = np.array(self.own.torque_jacobian(t, q, v, kept, space), dtype=float)
        whole = torque[:, moved:] @ sampled
        whole[:, :moved] += torque[:, :moved]
        return np.pad(np.vstack([sampled, whole]), ((0, 0), (0, self._nv)))


def held(controller: Controller | None, nv: int) -> Controller | None:
    """The controller, with its torque (nv,) held between its samples where it has a period and does not do so itself.

    Raises:
        InputError: its period is no positive number.
    """
    if controller is None or controller.period is None or getattr(controller.torque, "holds", False):
        return controller
    return Held(controller, nv)


def controller_of(given: Any, robot: Any) -> Controller | None:
    """The controller of a system, from what a user gave for its robot.

    Raises:
        InputError: it is no controller, or does not fit the robot.
    """
    own = as_controller(given)
    return None if own is None else held(own.driving(robot), robot.nv)


def no_parameter(controller: Controller, name: str) -> InputError:
    """The error of a parameter that a controller does not have."""
    known = ", ".join(controller.parameters()) or "none"
    return InputError(f"the controller {controller!r} has no parameter '{name}'; there are {known}")


def name_of(function: Any) -> str:
    """A readable name of a function or an object, without addresses."""
    text = repr(function)
    return getattr(function, "__qualname__", type(function).__qualname__) if " at 0x" in text else text


class FunctionController(Controller):
    """A plain function (t, q, v) -> tau (nv,)."""

    def __init__(self, function: Callable[[float, Array, Array], Any]) -> None:
        self._function = function
        self.timed = reads(function, 0)

    def __repr__(self) -> str:
        return name_of(self._function)

    def torque(self, t: float, q: Array, v: Array, z: Array) -> Array:
        """The function's value."""
        return real(self._function(t, q, v))


class PD(Controller):
    """Joint PD control about a reference: tau = tau_ff + kp (q_ref (-) q) + kd (v_ref - v), on the actuated joints.

    Its parameters: "kp" and "kd", the gain of all actuated joints where they share one; "kp.JOINT" and "kd.JOINT" of
    one joint; "kp_scale" and "kd_scale", factors on the gains of all joints, 1 for those that were given.

    Args:
        robot: the Robot (or Mechanism) it drives; the root joint of a floating robot is not actuated.
        reference: configuration (nq,), or t -> (q_ref, v_ref, tau_ff), as a `PiecewiseReference` is, or t -> q_ref; by
            default the nominal one. The fixed one, and that of t -> q_ref, may give all continuous joints by angles.
        kp: stiffness, a number or (nv,) [N m/rad, N/m].
        kd: damping, a number or (nv,) [N m s/rad, N s/m].
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
        kp: Any = 10.0,
        kd: Any = 0.3,
        period: float | None = None,
        limits: bool = False,
    ) -> None:
        if not (hasattr(robot, "space") and hasattr(robot, "nominal")) or isinstance(robot, type):
            raise InputError(f"the robot of a PD controller is a {type(robot).__name__}; give a Robot or a Mechanism")
        self._space, nv = robot.space, robot.nv
        actuated = getattr(robot, "actuated", np.ones(nv, dtype=bool))
        self._kp = np.where(actuated, _gain("kp", kp, nv), 0.0)
        self._kd = np.where(actuated, _gain("kd", kd, nv), 0.0)
        self._scales = {"kp": 1.0, "kd": 1.0}
        self._joints = _driven(robot, actuated)
        self._actuated = actuated.astype(float)
        self._plain = bool(np.all(_plain_joints(robot)[actuated]))
        given = robot.nominal if reference is None else reference
        self._held = None if callable(given) else given
        self._reference = _reference(given, robot.space, robot.nq, nv)
        self._still = None if callable(given) else self._reference(0.0)[0]  # where it holds the robot
        self.period = period
        self.memory = nv if period is not None else 0
        self._limits: DriveLimits | None = None
        if limits:
            from .drive_limits import drive_limits

            self._limits = drive_limits(robot, actuated)
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


class Sampled(Controller):
    """Any function (t, q, v) -> tau held constant (zero-order hold) over each sampling period [s]."""

    @arguments(function=function("a function (t, q, v) -> tau (nv,)"), period=POSITIVE, nv=COUNT)
    def __init__(self, function: Callable[[float, Array, Array], Any], period: float, nv: int) -> None:
        self._function, self.period, self.memory = function, period, nv

    def __repr__(self) -> str:
        return f"Sampled({name_of(self._function)})"

    def holding(self) -> Holding | None:
        """Its memory is the torque."""
        return Holding(0, np.arange(self.memory))

    @holds
    def torque(self, t: float, q: Array, v: Array, z: Array) -> Array:
        """The value held since the last sample."""
        return z

    def sample(self, t: float, q: Array, v: Array, z: Array) -> Array:
        """The function's value, to be held."""
        return real(self._function(t, q, v))


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
    joints = list(zip(model.names, model.joints, strict=True))[1:]  # the first is the world
    rows = {name: np.arange(j.idx_v, j.idx_v + j.nv) for name, j in joints if j.nv}
    return {name: found for name, found in rows.items() if actuated[found].all()}


def as_controller(given: Any) -> Controller | None:
    """A Controller from one, from a plain function, or None.

    Raises:
        InputError: it is none of them.
    """
    if given is None or isinstance(given, Controller):
        return given
    if callable(given):
        return FunctionController(given)
    raise InputError(f"the controller is a {type(given).__name__}; give a function (t, q, v) -> tau or a Controller")


def _gain(name: str, value: Any, nv: int) -> Array:
    words = f"a finite number that is zero or positive, or an array ({nv},) of them"

    def take(given: Any) -> Array:
        gain = real_array(given)
        if gain.shape not in ((), (nv,)) or not (np.isfinite(gain).all() and (gain >= 0.0).all()):
            raise ValueError
        return gain

    return np.broadcast_to(custom(words, take).check(f"the gain {name}", value), (nv,))


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
