"""Controllers: what drives the joints, with memory and a sampling period if they need them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from ..common.arguments import COUNT, POSITIVE, arguments, function
from ..common.arrays import Array
from ..common.lazy import NamedTuple, dataclass
from ..common.user_calls import answer, reads, real
from ..errors import InputError
from ..hybrid.differences import tangent_derivative
from ..hybrid.manifold import Euclidean, Manifold


@dataclass(frozen=True, eq=False)
class PlainPieces:
    """A reference of polynomials between knots, as data: the attributes of `driving.PiecewiseReference`."""

    knots: Array
    coefficients: Array
    nq: int
    again: int | None


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
    pieces: PlainPieces | None


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

    They act on all velocities that they are given for, those of a floating base, too; a run of a robot with motors
    notes once where none of these could apply them.

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
    def asked(at_q: Array, at_v: Array, at_z: Array) -> Array:
        """The function may write on what it is given."""
        return np.array(function(t, at_q.copy(), at_v.copy(), at_z.copy()))

    along_q = tangent_derivative(lambda point: asked(point, v, z), space, q)
    along_v = tangent_derivative(lambda velocity: asked(q, velocity, z), Euclidean(len(v)), v)
    along_z = tangent_derivative(lambda memory: asked(q, v, memory), Euclidean(len(z)), z)
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
        given = self.own.sample(t, q.copy(), v.copy(), z[: self.own.memory].copy())
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


TORQUES = function("a function (t, q, v) -> tau (nv,)")


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


class Sampled(Controller):
    """Any function (t, q, v) -> tau held constant (zero-order hold) over each sampling period.

    Args:
        function: (t, q, v) -> tau (nv,) [N, N m].
        period: of the samples, at its multiples and at the start of a run [s].
        nv: number of velocities of the robot.
    """

    @arguments(function=TORQUES, period=POSITIVE, nv=COUNT)
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


def as_controller(given: Any) -> Controller | None:
    """A Controller from one, from a plain function, or None.

    Raises:
        InputError: it is none of them.
    """
    if given is None or isinstance(given, Controller):
        return given
    if isinstance(given, type) and issubclass(given, Controller):
        raise InputError(f"the controller is {given.__name__}, a class; give an object of it: {given.__name__}(...)")
    if callable(given):
        return FunctionController(TORQUES.check("the controller", given))
    raise InputError(f"the controller is a {type(given).__name__}; give a function (t, q, v) -> tau or a Controller")
